/* tests/fakecuda/fake_context.c -- contexts, the stack of them that each thread has, their limits and peers. */
#include <stdlib.h>

#include "tests/fakecuda/fake.h"

typedef struct Stack {
  FkContext *v[FK_STACK];
  int n;
} Stack;
static __thread Stack stack;

/* Of this thread; others may still have contexts that are gone, which no call then finds. */
void fk_contexts_forget(void) { stack.n = 0; }

FkContext *fk_current(void) { return stack.n ? stack.v[stack.n - 1] : NULL; }

FkContext *fk_context(void *handle) {
  for (FkContext *c = fk.contexts; c; c = c->next)
    if (c == handle) return c;
  return NULL;
}

FkContext *fk_context_new(int device, bool primary) {
  FkContext *c = FK_NEW(FkContext);
  c->kind = FK_CONTEXT, c->device = device, c->primary = primary;
  c->legacy = (FkStream){.kind = FK_STREAM, .context = c, .id = ++fk.ids, .slot = fk.slots++};
  c->limits[0] = 1024, c->limits[1] = 1 << 20, c->limits[2] = 8 << 20;
  c->next = fk.contexts;
  fk.contexts = c;
  return c;
}

void fk_context_free(FkContext *c) {
  for (FkContext *o = fk.contexts; o; o = o->next)
    for (FkEvent *e = o->events; e; e = e->next)
      if (e->stream && e->stream->context == c) e->stream = NULL;
  for (FkExec *e = fk.execs; e; e = e->next)
    if (e->stream && e->stream->context == c) e->stream = NULL;
  fk_stream_end(&c->legacy);
  for (FkStream *s = c->streams, *next; s; s = next) next = s->next, fk_stream_end(s), free(s);
  for (FkEvent *e = c->events, *next; e; e = next) next = e->next, free(e->nodes), fk_clock_free(&e->clock), free(e);
  for (FkModule *m = c->modules, *next; m; m = next) {
    next = m->next;
    for (FkFunction *f = m->functions, *after; f; f = after) after = f->next, free(f);
    ptx_module_free(m->ptx);
    free(m);
  }
  fk_textures_of(c);
  fk_blocks_of(c, true);
  for (FkContext **p = &fk.contexts; *p; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
  for (int k = 0; k < stack.n; k++)
    if (stack.v[k] == c) stack.v[k] = NULL;
  free(c);
}

FK_API int cuDevicePrimaryCtxRetain(void **out, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!out) return CU_INVALID_VALUE;
  if (!d->primary) d->primary = fk_context_new(dev, true);
  d->retained++;
  *out = d->primary;
  return CU_OK;
}
static int primary_release(FkDevice *d, bool all) {
  if (d->retained == 0 && !all) return CU_INVALID_CONTEXT;
  if (!all && --d->retained > 0) return CU_OK;
  if (!d->primary) return CU_OK;
  fk_drain_all(d->primary);
  fk_context_free(d->primary);
  d->primary = NULL;
  return CU_OK;
}
FK_API int cuDevicePrimaryCtxRelease_v2(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, false);
}
FK_API int cuDevicePrimaryCtxRelease(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, false);
}
FK_API int cuDevicePrimaryCtxReset_v2(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, true);
}
FK_API int cuDevicePrimaryCtxReset(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, true);
}
FK_API int cuDevicePrimaryCtxGetState(CuDevice dev, unsigned *flags, int *active) {
  ENTER_DEVICE(dev);
  if (!flags || !active) return CU_INVALID_VALUE;
  *flags = d->flags, *active = d->primary != NULL;
  return CU_OK;
}
FK_API int cuDevicePrimaryCtxSetFlags_v2(CuDevice dev, unsigned flags) {
  ENTER_DEVICE(dev);
  d->flags = flags;
  return CU_OK;
}
FK_API int cuDevicePrimaryCtxSetFlags(CuDevice dev, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

FK_API int cuCtxCreate_v2(void **out, unsigned flags, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!out || stack.n == FK_STACK) return CU_INVALID_VALUE;
  FkContext *c = fk_context_new(d->index, false);
  c->flags = flags;
  stack.v[stack.n++] = c;
  *out = c;
  return CU_OK;
}
FK_API int cuCtxDestroy_v2(void *ctx) {
  ENTER(true);
  FkContext *c = fk_context(ctx);
  if (!c || c->primary) return CU_INVALID_CONTEXT;
  fk_drain_all(c);
  if (fk_current() == c) stack.n--;
  fk_context_free(c);
  return CU_OK;
}
FK_API int cuCtxGetCurrent(void **out) {
  ENTER(true);
  if (!out) return CU_INVALID_VALUE;
  *out = fk_current();
  return CU_OK;
}
FK_API int cuCtxSetCurrent(void *ctx) {
  ENTER(true);
  if (ctx && !fk_context(ctx)) return CU_INVALID_CONTEXT;
  if (stack.n) stack.n--;
  if (ctx) stack.v[stack.n++] = ctx;
  return CU_OK;
}
FK_API int cuCtxPushCurrent_v2(void *ctx) {
  ENTER(true);
  if (!fk_context(ctx)) return CU_INVALID_CONTEXT;
  if (stack.n == FK_STACK) return CU_INVALID_VALUE;
  stack.v[stack.n++] = ctx;
  return CU_OK;
}
FK_API int cuCtxPopCurrent_v2(void **out) {
  ENTER(true);
  if (!stack.n) return CU_INVALID_CONTEXT;
  FkContext *c = stack.v[--stack.n];
  if (out) *out = c;
  return CU_OK;
}
FK_API int cuCtxGetDevice(CuDevice *out) {
  ENTER(true);
  FkContext *c = fk_current();
  if (!c) return CU_INVALID_CONTEXT;
  if (!out) return CU_INVALID_VALUE;
  *out = c->device;
  return CU_OK;
}
FK_API int cuCtxGetFlags(unsigned *out) {
  ENTER_CONTEXT();
  if (!out) return CU_INVALID_VALUE;
  *out = ctx->flags;
  return CU_OK;
}
FK_API int cuCtxGetApiVersion(void *handle, unsigned *out) {
  ENTER(true);
  if (!out) return CU_INVALID_VALUE;
  if (handle ? !fk_context(handle) : !fk_current()) return CU_INVALID_CONTEXT;
  *out = 3020;
  return CU_OK;
}
FK_API int cuCtxSynchronize(void) {
  ENTER_CONTEXT();
  UNSAFE();
  int code = fk_drain_all(ctx);
  fk_race_host(&ctx->legacy.clock);
  for (const FkStream *s = ctx->streams; s; s = s->next) fk_race_host(&s->clock);
  fk_race_trim();
  return code;
}
FK_API int cuCtxGetLimit(size_t *out, int which) {
  ENTER_CONTEXT();
  if (!out || which < 0 || which > 7) return CU_INVALID_VALUE;
  *out = ctx->limits[which];
  return CU_OK;
}
FK_API int cuCtxSetLimit(int which, size_t value) {
  ENTER_CONTEXT();
  if (which < 0 || which > 7) return CU_INVALID_VALUE;
  ctx->limits[which] = value;
  return CU_OK;
}
FK_API int cuCtxGetCacheConfig(int *out) {
  ENTER_CONTEXT();
  if (!out) return CU_INVALID_VALUE;
  *out = 0;
  return CU_OK;
}
FK_API int cuCtxSetCacheConfig(int config) {
  ENTER_CONTEXT();
  return config < 0 || config > 3 ? CU_INVALID_VALUE : CU_OK;
}
FK_API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER_CONTEXT();
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CU_OK;
}
FK_API int cuCtxEnablePeerAccess(void *peer, unsigned flags) {
  ENTER_CONTEXT();
  FkContext *other = fk_context(peer);
  if (!other) return CU_INVALID_CONTEXT;
  if (flags) return CU_INVALID_VALUE;
  if (!fk.config.peer || other->device == ctx->device) return CU_PEER_UNSUPPORTED;
  if (ctx->peers[other->device]) return CU_PEER_ON;
  ctx->peers[other->device] = true;
  fk_see_peer(ctx->device, other->device, true);
  return CU_OK;
}
FK_API int cuCtxDisablePeerAccess(void *peer) {
  ENTER_CONTEXT();
  FkContext *other = fk_context(peer);
  if (!other) return CU_INVALID_CONTEXT;
  if (!ctx->peers[other->device]) return CU_PEER_OFF;
  fk_drain_all(ctx);
  ctx->peers[other->device] = false;
  fk_see_peer(ctx->device, other->device, false);
  return CU_OK;
}
FK_API int cuProfilerStart(void) {
  ENTER(true);
  return CU_OK;
}
FK_API int cuProfilerStop(void) {
  ENTER(true);
  return CU_OK;
}
