/* tests/fakecuda/fake_memory.c -- allocations, and copies and settings as work of streams. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

enum { GAP = 512, PATTERN = 0xcd };

/* --- blocks --- */

FkBlock *fk_block_at(uint64_t address, uint64_t size) {
  for (FkBlock *b = fk.blocks; b; b = b->next)
    if (address >= b->at && address - b->at <= b->size && size <= b->size - (address - b->at)) return b;
  return NULL;
}

bool fk_is_device(uint64_t address) {
  for (int k = 0; k < fk.config.devices; k++)
    if (address >= fk.device[k].base && address < fk.device[k].end) return true;
  return false;
}

uint8_t *fk_host_of(uint64_t address, uint64_t size) {
  if (!fk_is_device(address)) return (uint8_t *)(uintptr_t)address;
  FkBlock *b = fk_block_at(address, size);
  return b ? b->host + (address - b->at) : NULL;
}

static bool sees(const FkContext *c, const FkBlock *b) {
  return b->where != FK_ON_DEVICE || b->device == c->device || c->peers[b->device];
}

FkBlock *fk_block_new(FkContext *c, FkWhere where, uint64_t size, uint64_t align, FkPool *pool, const char *what,
                      int *code) {
  FkDevice *d = &fk.device[c->device];
  uint64_t room = (size + GAP - 1) / GAP * GAP, step = align > GAP ? align : GAP;
  uint64_t at = (d->top + step - 1) / step * step;
  *code = CU_OUT_OF_MEMORY;
  if (where == FK_ON_DEVICE && (size > d->mem - d->used || room > d->end - at || at + room + GAP > d->end)) return NULL;
  FkBlock *b = FK_NEW(FkBlock);
  *b = (FkBlock){.where = where, .device = c->device, .size = size, .context = c, .pool = pool};
  b->host = aligned_alloc(GAP, room ? room : GAP);
  if (!b->host) abort();
  memset(b->host, PATTERN, room ? room : GAP); /* what nobody has written is noticed */
  b->at = where == FK_ON_DEVICE ? at : (uint64_t)(uintptr_t)b->host;
  if (where == FK_ON_DEVICE) d->top = at + room + GAP, d->used += size;
  for (int k = 0; k < fk.config.devices; k++) {
    FkContext *user = fk.device[k].primary;
    bool seen = k == c->device || where != FK_ON_DEVICE || (user && sees(user, b));
    if (seen) ptx_space_add(fk.device[k].space, b->at, size, b->host, 0, what);
  }
  b->next = fk.blocks;
  fk.blocks = b;
  *code = CU_OK;
  return b;
}

void fk_block_free(FkBlock *b) {
  for (int k = 0; k < fk.config.devices; k++) ptx_space_drop(fk.device[k].space, b->at);
  if (b->where == FK_ON_DEVICE) fk.device[b->device].used -= b->size;
  for (FkBlock **p = &fk.blocks; *p; p = &(*p)->next)
    if (*p == b) {
      *p = b->next;
      break;
    }
  free(b->host);
  free(b);
}

void fk_blocks_of(FkContext *c, bool modules_too) {
  for (FkBlock *b = fk.blocks, *next; b; b = next) {
    next = b->next;
    if (b->context == c && (modules_too || !b->module)) fk_block_free(b);
  }
}

void fk_see_peer(int from, int to, bool on) {
  for (FkBlock *b = fk.blocks; b; b = b->next) {
    if (b->where != FK_ON_DEVICE || b->device != to) continue;
    if (on)
      ptx_space_add(fk.device[from].space, b->at, b->size, b->host, 0, "a peer's memory");
    else
      ptx_space_drop(fk.device[from].space, b->at);
  }
}

/* --- allocating --- */

FK_API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  ENTER_CONTEXT();
  const FkDevice *d = &fk.device[ctx->device];
  if (free_bytes) *free_bytes = d->mem - d->used;
  if (total) *total = d->mem;
  return CU_OK;
}

FK_API int cuMemAlloc_v2(CuPtr *out, size_t size) {
  ENTER_CONTEXT();
  if (!out || !size) return CU_INVALID_VALUE;
  int code = fk_rule(__func__, NULL, ctx->device, size);
  if (code) return code;
  FkBlock *b = fk_block_new(ctx, FK_ON_DEVICE, size, 512, NULL, "cuMemAlloc", &code);
  if (b) *out = b->at;
  return code;
}

static int free_block(uint64_t at, FkWhere where) {
  for (FkBlock *b = fk.blocks; b; b = b->next) {
    if (b->at != at || b->where != where || b->module) continue;
    fk_drain_all(b->context); /* as the driver, which waits for the device */
    fk_block_free(b);
    return CU_OK;
  }
  return CU_INVALID_VALUE;
}

FK_API int cuMemFree_v2(CuPtr p) {
  ENTER_CONTEXT();
  return p ? free_block(p, FK_ON_DEVICE) : CU_OK;
}

static int host_new(FkContext *c, void **out, size_t size) {
  int code;
  if (!out || !size) return CU_INVALID_VALUE;
  FkBlock *b = fk_block_new(c, FK_ON_HOST, size, 512, NULL, "pinned memory", &code);
  if (b) *out = b->host;
  return code;
}
FK_API int cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  ENTER_CONTEXT();
  return flags > 7 ? CU_INVALID_VALUE : host_new(ctx, out, size);
}
FK_API int cuMemAllocHost_v2(void **out, size_t size) {
  ENTER_CONTEXT();
  return host_new(ctx, out, size);
}
FK_API int cuMemFreeHost(void *p) {
  ENTER_CONTEXT();
  return free_block((uint64_t)(uintptr_t)p, FK_ON_HOST);
}

FK_API int cuMemGetAddressRange_v2(CuPtr *base, size_t *size, CuPtr p) {
  ENTER_CONTEXT();
  const FkBlock *b = fk_block_at(p, 1);
  if (!b || b->where != FK_ON_DEVICE) return CU_NOT_FOUND;
  if (base) *base = b->at;
  if (size) *size = b->size;
  return CU_OK;
}

/* --- copies --- */

/* Is the memory what the call says that it is? */
static bool is_there(uint64_t at, uint64_t size, bool device) {
  if (device != fk_is_device(at)) return false;
  return !device || fk_block_at(at, size);
}

/* Rows of `width` bytes; pageable memory of the host is read when the call is made. */
static int copy(FkContext *c, void *stream, bool wait, uint64_t to, bool to_device, uint64_t to_pitch, uint64_t from,
                bool from_device, uint64_t from_pitch, uint64_t width, uint64_t height) {
  FkStream *s = fk_stream(c, stream);
  if (!s) return CU_INVALID_HANDLE;
  if (!width || !height) return CU_OK;
  if (!is_there(to, (height - 1) * to_pitch + width, to_device)) return CU_INVALID_VALUE;
  if (!is_there(from, (height - 1) * from_pitch + width, from_device)) return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_COPY);
  op->to = to, op->from = from, op->width = width, op->height = height, op->to_pitch = to_pitch,
  op->from_pitch = from_pitch;
  if (!from_device && !fk_block_at(from, 1)) {
    op->staged = fk_new(width * height);
    for (uint64_t k = 0; k < height; k++)
      memcpy(op->staged + k * width, (const uint8_t *)(uintptr_t)(from + k * from_pitch), width);
    op->from_pitch = width;
  }
  fk_submit(s, op);
  return wait ? fk_drain(s, s->submitted) : CU_OK;
}

FK_API int cuMemcpyHtoDAsync_v2(CuPtr to, const void *from, size_t size, void *stream) {
  ENTER_CONTEXT();
  return copy(ctx, stream, false, to, true, size, (uint64_t)(uintptr_t)from, false, size, size, 1);
}
FK_API int cuMemcpyHtoD_v2(CuPtr to, const void *from, size_t size) {
  ENTER_CONTEXT();
  return copy(ctx, NULL, true, to, true, size, (uint64_t)(uintptr_t)from, false, size, size, 1);
}
FK_API int cuMemcpyDtoHAsync_v2(void *to, CuPtr from, size_t size, void *stream) {
  ENTER_CONTEXT();
  return copy(ctx, stream, false, (uint64_t)(uintptr_t)to, false, size, from, true, size, size, 1);
}
FK_API int cuMemcpyDtoH_v2(void *to, CuPtr from, size_t size) {
  ENTER_CONTEXT();
  return copy(ctx, NULL, true, (uint64_t)(uintptr_t)to, false, size, from, true, size, size, 1);
}
FK_API int cuMemcpyDtoDAsync_v2(CuPtr to, CuPtr from, size_t size, void *stream) {
  ENTER_CONTEXT();
  return copy(ctx, stream, false, to, true, size, from, true, size, size, 1);
}
FK_API int cuMemcpyDtoD_v2(CuPtr to, CuPtr from, size_t size) {
  ENTER_CONTEXT();
  return copy(ctx, NULL, true, to, true, size, from, true, size, size, 1);
}
FK_API int cuMemcpyPeerAsync(CuPtr to, void *to_context, CuPtr from, void *from_context, size_t size, void *stream) {
  ENTER_CONTEXT();
  if (!fk_context(to_context) || !fk_context(from_context)) return CU_INVALID_CONTEXT;
  return copy(ctx, stream, false, to, true, size, from, true, size, size, 1);
}

typedef struct Copy2D {
  size_t from_x, from_y;
  unsigned from_kind;
  const void *from_host;
  CuPtr from_device;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  unsigned to_kind;
  void *to_host;
  CuPtr to_device;
  void *to_array;
  size_t to_pitch;
  size_t width, height;
} Copy2D;

FK_API int cuMemcpy2DAsync_v2(const Copy2D *c, void *stream) {
  enum { HOST = 1, DEVICE = 2 };
  ENTER_CONTEXT();
  if (!c || (c->from_kind != HOST && c->from_kind != DEVICE) || (c->to_kind != HOST && c->to_kind != DEVICE))
    return CU_INVALID_VALUE;
  if (c->height > 1 && (c->from_pitch < c->width + c->from_x || c->to_pitch < c->width + c->to_x))
    return CU_INVALID_VALUE;
  if (c->from_pitch > INT32_MAX || c->to_pitch > INT32_MAX) return CU_INVALID_VALUE;
  uint64_t from = c->from_kind == HOST ? (uint64_t)(uintptr_t)c->from_host : c->from_device;
  uint64_t to = c->to_kind == HOST ? (uint64_t)(uintptr_t)c->to_host : c->to_device;
  return copy(ctx, stream, false, to + c->to_y * c->to_pitch + c->to_x, c->to_kind == DEVICE, c->to_pitch,
              from + c->from_y * c->from_pitch + c->from_x, c->from_kind == DEVICE, c->from_pitch, c->width, c->height);
}

/* --- setting --- */

static int set(FkContext *c, void *stream, bool wait, CuPtr to, uint64_t pitch, uint32_t value, uint32_t bytes,
               uint64_t width, uint64_t height) {
  FkStream *s = fk_stream(c, stream);
  if (!s) return CU_INVALID_HANDLE;
  if (!width || !height) return CU_OK;
  if (to % bytes || (height > 1 && pitch < width) || !is_there(to, (height - 1) * pitch + width * bytes, true))
    return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_SET);
  op->to = to, op->to_pitch = pitch, op->value = value, op->value_bytes = bytes, op->width = width, op->height = height;
  fk_submit(s, op);
  return wait ? fk_drain(s, s->submitted) : CU_OK;
}

FK_API int cuMemsetD8Async(CuPtr to, unsigned char value, size_t n, void *stream) {
  ENTER_CONTEXT();
  return set(ctx, stream, false, to, n, value, 1, n, 1);
}
FK_API int cuMemsetD8_v2(CuPtr to, unsigned char value, size_t n) {
  ENTER_CONTEXT();
  return set(ctx, NULL, true, to, n, value, 1, n, 1);
}
FK_API int cuMemsetD32Async(CuPtr to, unsigned value, size_t n, void *stream) {
  ENTER_CONTEXT();
  return set(ctx, stream, false, to, n * 4, value, 4, n, 1);
}
FK_API int cuMemsetD2D8Async(CuPtr to, size_t pitch, unsigned char value, size_t width, size_t height, void *stream) {
  ENTER_CONTEXT();
  return set(ctx, stream, false, to, pitch, value, 1, width, height);
}
