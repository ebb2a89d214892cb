/* tests/fakecuda/fake_launch.c -- launches: parameters, limits, and running them. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

int fk_run_launch(FkContext *c, const FkOp *op) {
  PtxError err = {0};
  PtxStats stats = {0};
  PtxLaunch l = op->launch;
  l.params = op->params;
  l.schedule = fk.config.schedule, l.seed = fk.config.seed + fk.launches, l.adversary = fk.config.adversary;
  l.stack_bytes = (uint32_t)(c->limits[0] > 65536 ? c->limits[0] : 0);
  fk.launches++;
  if (fk.config.null) return CU_OK;
  int code = ptx_run(op->function->module->ptx, &l, &stats, &err);
  fk.threads += stats.threads;
  if (code) fk_lose(c, code, err.text);
  return code;
}

/* The block of parameters: from pointers to each, or ready in `extra`. NULL: neither is right. */
static void *gather_params(const PtxEntry *e, void **params, void **extra) {
  enum { END = 0, BUFFER = 1, SIZE = 2 };
  if (params && extra) return NULL;
  uint8_t *block = fk_new(e->param_bytes + 1);
  const void *buffer = NULL;
  size_t size = 0;
  for (; extra && extra[0] != (void *)END; extra += 2) {
    if (extra[0] == (void *)BUFFER)
      buffer = extra[1];
    else if (extra[0] == (void *)SIZE)
      size = *(const size_t *)extra[1];
    else
      buffer = NULL;
  }
  if (params)
    for (uint32_t k = 0; k < e->nparams; k++) memcpy(block + e->params[k].offset, params[k], e->params[k].size);
  else if (buffer && size >= e->param_bytes)
    memcpy(block, buffer, e->param_bytes);
  else if (e->nparams)
    free(block), block = NULL;
  return block;
}

static int check(const FkContext *c, const FkFunction *f, const FkShape *s) {
  enum { BLOCK_SHARED = 8, BLOCK_OPT_IN = 97, MULTIPROCESSORS = 16 };
  const unsigned *g = s->grid, *b = s->block;
  uint64_t threads = (uint64_t)b[0] * b[1] * b[2], blocks = (uint64_t)g[0] * g[1] * g[2];
  if (!blocks || !threads || g[0] > INT32_MAX || g[1] > 65535 || g[2] > 65535) return CU_INVALID_VALUE;
  if (b[0] > 1024 || b[1] > 1024 || b[2] > 64 || threads > 1024) return CU_INVALID_VALUE;
  if (threads > (uint64_t)fk_most_threads(f)) return fk.config.registers ? CU_OUT_OF_RESOURCES : CU_INVALID_VALUE;
  const uint32_t *exact = f->entry->reqntid;
  if (exact[0] && (exact[0] != b[0] || exact[1] != b[1] || exact[2] != b[2])) return CU_INVALID_VALUE;
  int allowed = f->most_dynamic > fk_attribute(c->device, BLOCK_SHARED) ? BLOCK_OPT_IN : BLOCK_SHARED;
  if (s->shared > (unsigned)f->most_dynamic ||
      s->shared + f->entry->shared_bytes > (unsigned)fk_attribute(c->device, allowed))
    return CU_INVALID_VALUE;
  if (!s->cooperative) return CU_OK;
  return blocks > (uint64_t)fk_resident(c, f, (int)threads, s->shared) *
                      (uint64_t)fk_attribute(c->device, MULTIPROCESSORS)
             ? CU_COOPERATIVE_TOO_LARGE
             : CU_OK;
}

int fk_launch_op(FkContext *c, void *function, const FkShape *s, void **params, void **extra, FkOp **out) {
  FkFunction *f = fk_function(c, function);
  if (!f) return CU_INVALID_HANDLE;
  int code = check(c, f, s);
  if (code) return code;
  void *block = gather_params(f->entry, params, extra);
  if (!block) return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_LAUNCH);
  op->function = f;
  op->params = block;
  op->launch = (PtxLaunch){.entry = f->entry->name,
                           .shared_bytes = s->shared,
                           .param_bytes = f->entry->param_bytes,
                           .cooperative = s->cooperative,
                           .device = (uint32_t)c->device};
  memcpy(op->launch.grid, s->grid, sizeof s->grid);
  memcpy(op->launch.block, s->block, sizeof s->block);
  *out = op;
  return CU_OK;
}

static int launch(FkContext *c, void *function, const FkShape *s, void *stream, void **params, void **extra,
                  const char *call) {
  FkFunction *f = fk_function(c, function);
  FkStream *to = fk_stream(c, stream);
  FkOp *op;
  if (!f || !to) return CU_INVALID_HANDLE;
  const unsigned *g = s->grid;
  int code = fk_rule(call, f->entry->name, c->device, (uint64_t)g[0] * g[1] * g[2]);
  if (!code && fk.config.null && !to->capture) { /* nothing to queue: the caller's own cost is to be measured */
    code = check(c, f, s);
    fk.launches += !code;
    return code;
  }
  if (!code) code = fk_launch_op(c, function, s, params, extra, &op);
  return code ? code : fk_submit(to, op);
}

FK_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
  ENTER_CONTEXT();
  FkShape s = {{gx, gy, gz}, {bx, by, bz}, shared, false};
  return launch(ctx, function, &s, stream, params, extra, __func__);
}
FK_API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared, void *stream, void **params) {
  ENTER_CONTEXT();
  FkShape s = {{gx, gy, gz}, {bx, by, bz}, shared, true};
  return launch(ctx, function, &s, stream, params, NULL, __func__);
}

FK_API int cuLaunchKernelEx(const CuLaunchConfig *c, void *function, void **params, void **extra) {
  enum { IGNORE = 0, ACCESS_POLICY = 1, COOPERATIVE = 2, PRIORITY = 8 };
  ENTER_CONTEXT();
  if (!c || (c->nattributes && !c->attributes)) return CU_INVALID_VALUE;
  FkShape s = {{c->gx, c->gy, c->gz}, {c->bx, c->by, c->bz}, c->shared, false};
  for (unsigned k = 0; k < c->nattributes; k++) {
    int id = c->attributes[k].id;
    if (id == COOPERATIVE)
      s.cooperative = c->attributes[k].value.on != 0;
    else if (id != IGNORE && id != ACCESS_POLICY && id != PRIORITY)
      return CU_NOT_SUPPORTED;
  }
  return launch(ctx, function, &s, c->stream, params, extra, __func__);
}
