/* runtime/cuda/cuda_launch.c -- a launch as calls of the driver: one, unless it has more threads than one can hold. */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* How to divide n < 2^31 by `len` (RtGpuLaunch). */
static void set_division(RtGpuLaunch *g, int32_t k) {
  uint64_t len = g->len[k];
  uint32_t shift = len > 1 ? 64 - (uint32_t)__builtin_clzll(len - 1) : 0; /* 2^shift >= len */
  g->shift[k] = shift;
  g->mul[k] = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << shift) - len)) / len + 1);
}

typedef struct Piece {
  CudaDevice *d;
  CuStream stream;
  const RtLaunch *l;
  RtGpuLaunch g;
  const RtGpuPrinting *printing;
  uint64_t repeat; /* times that the same coordinates are run: axes that the code does not tell apart */
} Piece;

enum { MAX_GRID_Y = 65535 };

/* Threads, INT64_MAX if they are too many to count. */
static int64_t count_of(const Piece *p) {
  const CudaCode *c = p->l->code->own;
  int64_t count = 1;
  for (int32_t k = 0; k < c->rank; k++)
    if (__builtin_mul_overflow(count, (int64_t)p->g.len[k], &count)) count = INT64_MAX;
  return count;
}

static void make_call(const Piece *p, uint64_t repeat, CudaCall *out) {
  const CudaCode *c = p->l->code->own;
  out->function = c->function;
  out->g = p->g;
  out->g.count = count_of(p);
  for (int32_t k = 0; k < c->rank; k++) set_division(&out->g, k);
  out->blocks = (unsigned)((out->g.count + c->block - 1) / c->block);
  out->repeat = (unsigned)repeat;
  out->block = (unsigned)c->block;
  out->shared = c->shared;
}

static HdStatus run_piece(const Piece *p, HdError *err) {
  const CudaCode *c = p->l->code->own;
  CudaCall f;
  void *params[] = {(void *)p->l->args, &f.g, (void *)p->printing}; /* the driver reads as many as the entry has */
  make_call(p, 0, &f);
  for (uint64_t done = 0; done < p->repeat; done += MAX_GRID_Y) {
    f.repeat = (unsigned)(p->repeat - done < MAX_GRID_Y ? p->repeat - done : MAX_GRID_Y);
    CuResult code = p->d->driver->cuLaunchKernel(f.function, f.blocks, f.repeat, 1, f.block, 1, 1, f.shared, p->stream,
                                                 params, NULL);
    if (code == CU_SUCCESS) continue;
    char detail[200];
    snprintf(detail, sizeof detail, "kernel '%s', %lld threads in blocks of %d with %d registers each",
             p->l->code->kernel, (long long)f.g.count, c->block, c->registers);
    return hdcu_device_fail(p->d, code, "cuLaunchKernel", detail, err);
  }
  return HD_OK;
}

/* Cut a piece of more than 2^31 - 1 threads in two along its outermost axis that can be cut. */
static HdStatus run_cut(Piece *p, HdError *err) {
  int64_t count = count_of(p);
  if (count == 0) return HD_OK;
  if (count <= INT32_MAX) return run_piece(p, err);
  int32_t k = 0;
  while (p->g.len[k] == 1) k++;
  Piece half = *p;
  half.g.len[k] = p->g.len[k] / 2;
  HD_TRY(run_cut(&half, err));
  half.g.at[k] = p->g.at[k] + (int32_t)(p->g.len[k] / 2);
  half.g.len[k] = p->g.len[k] - p->g.len[k] / 2;
  return run_cut(&half, err);
}

static void start(Piece *p, CudaDevice *d, CuStream stream, const RtLaunch *l, CuPtr fault) {
  const CudaCode *c = l->code->own;
  memset(p, 0, sizeof *p);
  p->d = d;
  p->stream = stream;
  p->l = l;
  p->g.fault = fault;
  p->repeat = 1;
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) {
    p->g.dim[k] = l->dim[k];
    p->g.len[k] = (uint32_t)l->dim[k];
    if (k >= c->rank) p->repeat *= (uint64_t)l->dim[k];
  }
}

HdStatus hdcu_launch(CudaDevice *d, CuStream stream, const RtLaunch *l, CuPtr fault, const RtGpuPrinting *printing,
                     HdError *err) {
  Piece p;
  start(&p, d, stream, l, fault);
  p.printing = printing;
  return run_cut(&p, err);
}

bool hdcu_launch_call(const RtLaunch *l, CuPtr fault, CudaCall *out) {
  Piece p;
  start(&p, NULL, NULL, l, fault);
  return count_of(&p) > 0 && count_of(&p) <= INT32_MAX && p.repeat > 0 && p.repeat <= MAX_GRID_Y &&
         (make_call(&p, p.repeat, out), true);
}
