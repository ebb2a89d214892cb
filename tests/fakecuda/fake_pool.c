/* tests/fakecuda/fake_pool.c -- memory ordered by streams, memory of the host, and what a pointer is. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- pools --- */

static FkPool *pool_of(void *handle) {
  FkPool *p = handle;
  for (int k = 0; k < fk.config.devices; k++)
    if (p == &fk.device[k].default_pool) return p;
  for (FkPool *q = fk.pools; q; q = q->next)
    if (p == q) return p;
  return NULL;
}

#define ENTER_POOLS()                                                                                                  \
  ENTER_CONTEXT();                                                                                                     \
  if (!fk.config.pools) return CU_NOT_SUPPORTED

/* Memory of graphs is not simulated. */
static int alloc_async(FkContext *c, FkPool *pool, CuPtr *out, size_t size, void *stream, const char *call) {
  FkStream *s = fk_stream_of_any(c, stream);
  if (!out || !size) return CU_INVALID_VALUE;
  if (!s) return CU_INVALID_HANDLE;
  if (s->capture) return CU_NOT_SUPPORTED;
  int code = fk_rule(call, NULL, c->device, size);
  if (code) return code;
  FkBlock *b = fk_block_new(c, FK_ON_DEVICE, size, 512, pool, "a pool's memory", &code);
  if (!b) return code;
  pool->used += size;
  if (pool->used > pool->used_high) pool->used_high = pool->used;
  *out = b->at;
  if (!fk_watches()) return CU_OK;
  code = fk_submit(s, fk_op(FK_NOTHING)); /* it is there for what comes behind this */
  fk_race_whole(s, b, call);
  return code;
}

FK_API int cuMemAllocAsync(CuPtr *out, size_t size, void *stream) {
  ENTER_POOLS();
  return alloc_async(ctx, fk.device[ctx->device].pool, out, size, stream, __func__);
}
FK_API int cuMemAllocFromPoolAsync(CuPtr *out, size_t size, void *pool, void *stream) {
  ENTER_POOLS();
  FkPool *p = pool_of(pool);
  return p ? alloc_async(ctx, p, out, size, stream, __func__) : CU_INVALID_VALUE;
}

/* The memory is gone when the stream gets there; whoever still uses it then is found out. */
FK_API int cuMemFreeAsync(CuPtr p, void *stream) {
  ENTER_POOLS();
  FkStream *s = fk_stream(ctx, stream);
  FkBlock *b = fk_block_at(p, 1);
  if (!s) return CU_INVALID_HANDLE;
  if (!p) return CU_OK;
  if (s->capture) return CU_NOT_SUPPORTED;
  if (!b || b->at != p || b->freeing || b->module || b->where != FK_ON_DEVICE) return CU_INVALID_VALUE;
  b->freeing = true;
  FkOp *op = fk_op(FK_FREE);
  op->to = p;
  return fk_submit(s, op);
}

FK_API int cuMemPoolCreate(void **out, const CuPoolProps *props) {
  ENTER_POOLS();
  enum { PINNED = 1, ON_DEVICE = 1 };
  if (!out || !props || props->type != PINNED || props->location.type != ON_DEVICE) return CU_INVALID_VALUE;
  if (!fk_device(props->location.id)) return CU_INVALID_DEVICE;
  FkPool *p = FK_NEW(FkPool);
  *p = (FkPool){.kind = FK_POOL,
                .device = props->location.id,
                .values = {[1] = 1, [2] = 1, [3] = 1},
                .own = true,
                .next = fk.pools};
  fk.pools = p;
  *out = p;
  return CU_OK;
}
FK_API int cuMemPoolDestroy(void *pool) {
  ENTER_POOLS();
  FkPool *p = pool_of(pool);
  if (!p || !p->own) return CU_INVALID_VALUE;
  if (fk.device[p->device].pool == p) fk.device[p->device].pool = &fk.device[p->device].default_pool;
  for (FkBlock *b = fk.blocks; b; b = b->next)
    if (b->pool == p) b->pool = NULL; /* its memory lives on */
  for (FkPool **q = &fk.pools; *q; q = &(*q)->next)
    if (*q == p) {
      *q = p->next;
      break;
    }
  free(p);
  return CU_OK;
}
FK_API int cuMemPoolTrimTo(void *pool, size_t keep) {
  ENTER_POOLS();
  (void)keep; /* nothing is kept */
  return pool_of(pool) ? CU_OK : CU_INVALID_VALUE;
}

/* 1 to 3 are switches, the others 64-bit numbers: the threshold, and what is reserved and used, now and at most. */
FK_API int cuMemPoolSetAttribute(void *pool, int which, const void *value) {
  ENTER_POOLS();
  FkPool *p = pool_of(pool);
  if (!p || !value || which < 1 || which > 8 || which == 5 || which == 7) return CU_INVALID_VALUE;
  if (which >= 6) { /* the most so far, which may only begin anew */
    uint64_t zero;
    memcpy(&zero, value, 8);
    if (zero) return CU_INVALID_VALUE;
    p->used_high = p->used;
    return CU_OK;
  }
  memcpy(&p->values[which], value, which <= 3 ? 4 : 8);
  return CU_OK;
}
FK_API int cuMemPoolGetAttribute(void *pool, int which, void *value) {
  ENTER_POOLS();
  FkPool *p = pool_of(pool);
  if (!p || !value || which < 1 || which > 8) return CU_INVALID_VALUE;
  uint64_t x = which <= 4 ? p->values[which] : which % 2 ? p->used : p->used_high;
  memcpy(value, &x, which <= 3 ? 4 : 8);
  return CU_OK;
}

FK_API int cuMemPoolSetAccess(void *pool, const CuAccess *list, size_t n) {
  ENTER_POOLS();
  FkPool *p = pool_of(pool);
  if (!p || (n && !list)) return CU_INVALID_VALUE;
  for (size_t k = 0; k < n; k++) {
    if (!fk_device(list[k].location.id)) return CU_INVALID_DEVICE;
    if (list[k].location.id != p->device && !fk.config.peer) return CU_INVALID_DEVICE;
    if (list[k].flags != 0 && list[k].flags != 3) return CU_INVALID_VALUE;
  }
  for (size_t k = 0; k < n; k++) {
    int d = list[k].location.id;
    bool on = list[k].flags == 3;
    if (d == p->device || p->seen[d] == on) continue;
    p->seen[d] = on;
    for (FkBlock *b = fk.blocks; b; b = b->next)
      if (b->pool == p) fk_see_block(d, b, on);
  }
  return CU_OK;
}
FK_API int cuMemPoolGetAccess(int *flags, void *pool, const CuLocation *at) {
  ENTER_POOLS();
  FkPool *p = pool_of(pool);
  if (!p || !flags || !at || !fk_device(at->id)) return CU_INVALID_VALUE;
  *flags = at->id == p->device || p->seen[at->id] ? 3 : 0;
  return CU_OK;
}

static int device_pool(void **out, CuDevice dev, bool first) {
  if (!out) return CU_INVALID_VALUE;
  if (!fk_device(dev)) return CU_INVALID_DEVICE;
  if (!fk.config.pools) return CU_NOT_SUPPORTED;
  *out = first ? &fk.device[dev].default_pool : fk.device[dev].pool;
  return CU_OK;
}
FK_API int cuDeviceGetDefaultMemPool(void **out, CuDevice dev) {
  ENTER(true);
  return device_pool(out, dev, true);
}
FK_API int cuDeviceGetMemPool(void **out, CuDevice dev) {
  ENTER(true);
  return device_pool(out, dev, false);
}
FK_API int cuDeviceSetMemPool(CuDevice dev, void *pool) {
  ENTER(true);
  FkPool *p = pool_of(pool);
  if (!fk_device(dev)) return CU_INVALID_DEVICE;
  if (!p || p->device != dev) return CU_INVALID_VALUE;
  fk.device[dev].pool = p;
  return CU_OK;
}

/* --- memory that host and devices see --- */

FK_API int cuMemAllocManaged(CuPtr *out, size_t size, unsigned flags) {
  ENTER_CONTEXT();
  UNSAFE();
  int code;
  if (!out || !size || flags < 1 || flags > 2) return CU_INVALID_VALUE;
  if (!fk.config.managed) return CU_NOT_SUPPORTED;
  FkBlock *b = fk_block_new(ctx, FK_MANAGED, size, 512, NULL, "managed memory", &code);
  if (b) *out = b->at;
  return code;
}
FK_API int cuMemAdvise(CuPtr p, size_t size, int advice, CuDevice dev) {
  ENTER_CONTEXT();
  (void)advice, (void)dev;
  const FkBlock *b = fk_block_at(p, size);
  return b && b->where == FK_MANAGED ? CU_OK : CU_INVALID_VALUE;
}
FK_API int cuMemPrefetchAsync(CuPtr p, size_t size, CuDevice dev, void *stream) {
  ENTER_CONTEXT();
  (void)dev;
  const FkBlock *b = fk_block_at(p, size);
  if (!fk_stream(ctx, stream)) return CU_INVALID_HANDLE;
  return b && b->where == FK_MANAGED ? CU_OK : CU_INVALID_VALUE;
}

FK_API int cuMemHostRegister_v2(void *p, size_t size, unsigned flags) {
  ENTER_CONTEXT();
  UNSAFE();
  uint64_t at = (uint64_t)(uintptr_t)p;
  if (!p || !size || flags > 15) return CU_INVALID_VALUE;
  for (const FkBlock *b = fk.blocks; b; b = b->next)
    if (b->at < at + size && at < b->at + b->size) return CU_HOST_ON;
  FkBlock *b = FK_NEW(FkBlock);
  *b = (FkBlock){.where = FK_REGISTERED,
                 .device = ctx->device,
                 .at = at,
                 .size = size,
                 .host = p,
                 .context = ctx,
                 .next = fk.blocks};
  for (int k = 0; k < fk.config.devices; k++) ptx_space_add(fk.device[k].space, at, size, p, 0, "registered memory");
  fk.blocks = b;
  fk_race_watch(b);
  return CU_OK;
}
FK_API int cuMemHostUnregister(void *p) {
  ENTER_CONTEXT();
  UNSAFE();
  FkBlock *b = fk_block_at((uint64_t)(uintptr_t)p, 1);
  if (!b || b->host != p || b->where != FK_REGISTERED) return CU_HOST_OFF;
  fk_drain_all(ctx);
  fk_block_free(b);
  return CU_OK;
}
FK_API int cuMemHostGetDevicePointer_v2(CuPtr *out, void *p, unsigned flags) {
  ENTER_CONTEXT();
  const FkBlock *b = fk_block_at((uint64_t)(uintptr_t)p, 1);
  if (!out || flags || !b || (b->where != FK_ON_HOST && b->where != FK_REGISTERED)) return CU_INVALID_VALUE;
  *out = (CuPtr)(uintptr_t)p;
  return CU_OK;
}
FK_API int cuMemHostGetFlags(unsigned *flags, void *p) {
  ENTER_CONTEXT();
  const FkBlock *b = fk_block_at((uint64_t)(uintptr_t)p, 1);
  if (!flags || !b || b->where != FK_ON_HOST) return CU_INVALID_VALUE;
  *flags = 2; /* mapped */
  return CU_OK;
}

/* --- what a pointer is --- */

static int about(const FkBlock *b, int which, CuPtr p, void *out) {
  bool host = b->where == FK_ON_HOST || b->where == FK_REGISTERED;
  uint64_t x = 0, bytes = 4;
  switch (which) {
  case 1: x = (uint64_t)(uintptr_t)b->context, bytes = 8; break;
  case 2: x = host ? 1 : 2; break;
  case 3: x = p, bytes = 8; break;
  case 4:
    if (b->where == FK_ON_DEVICE) return CU_INVALID_VALUE;
    x = p, bytes = 8;
    break;
  case 6: x = 0; break;
  case 7: x = b->at, bytes = 8; break; /* an address is never used again */
  case 8: x = b->where == FK_MANAGED; break;
  case 9: x = (uint64_t)b->device; break;
  case 11: x = b->at, bytes = 8; break;
  case 12: x = b->size, bytes = 8; break;
  case 13: x = 1; break;
  case 17: x = (uint64_t)(uintptr_t)b->pool, bytes = 8; break;
  default: return CU_INVALID_VALUE;
  }
  memcpy(out, &x, bytes);
  return CU_OK;
}

FK_API int cuPointerGetAttribute(void *out, int which, CuPtr p) {
  ENTER_CONTEXT();
  const FkBlock *b = fk_block_at(p, 1);
  return out && b ? about(b, which, p, out) : CU_INVALID_VALUE;
}
/* Of memory that the driver does not know, everything is 0. */
FK_API int cuPointerGetAttributes(unsigned n, const int *which, void **out, CuPtr p) {
  ENTER_CONTEXT();
  const FkBlock *b = fk_block_at(p, 1);
  if (!which || !out) return CU_INVALID_VALUE;
  for (unsigned k = 0; k < n; k++) {
    memset(out[k], 0, which[k] == 2 || which[k] == 6 || which[k] == 8 || which[k] == 9 || which[k] == 13 ? 4 : 8);
    if (b && about(b, which[k], p, out[k]) && which[k] != 4) return CU_INVALID_VALUE;
    if (!b && which[k] == 9) memset(out[k], 0xfe, 1), memset((char *)out[k] + 1, 0xff, 3); /* -2: no device */
  }
  return CU_OK;
}
