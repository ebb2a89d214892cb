/* api/cache.c -- the cache on disk, as the public API shows it. */
#include "api/modules.h"

const char *hd_cache_dir(const HdContext *ctx) { return ctx && ctx->cache.dir ? ctx->cache.dir : ""; }

typedef struct Visitor {
  bool (*visit)(void *user, const HdCacheEntry *entry);
  void *user;
} Visitor;

static bool show(void *user, const RtCacheRow *row) {
  const Visitor *v = user;
  HdCacheEntry e = {
      .kernel = row->kernel, .target = row->target, .fields = row->fields, .size = row->size, .used = row->used};
  memcpy(e.key, row->key, sizeof e.key);
  return v->visit(v->user, &e);
}

HdStatus hd_cache_list(HdContext *ctx, bool (*visit)(void *user, const HdCacheEntry *entry), void *user) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  Visitor v = {visit, user};
  HdStatus status = visit ? hdrt_cache_list(&ctx->cache, show, &v, &ctx->err)
                          : hdb_fail(&ctx->err, HD_ERR_ARG, "visit", "it is NULL");
  return hdapi_end(ctx, "hd_cache_list", status);
}

HdStatus hd_cache_verify(HdContext *ctx, bool (*visit)(void *user, const char *file, const char *why), void *user,
                         int64_t *whole) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  int64_t n = 0;
  HdStatus status = visit ? hdrt_cache_verify(&ctx->cache, visit, user, &n, &ctx->err)
                          : hdb_fail(&ctx->err, HD_ERR_ARG, "visit", "it is NULL");
  if (whole) *whole = n;
  return hdapi_end(ctx, "hd_cache_verify", status);
}

HdStatus hd_cache_fields(HdModule *module, const char *kernel, const char **fields) {
  if (!module) return HD_ERR_ARG;
  HdContext *ctx = module->ctx;
  hdapi_begin(ctx);
  HdStatus status = kernel && fields ? hdapi_code_fields(module, kernel, fields)
                                     : hdb_fail(&ctx->err, HD_ERR_ARG, kernel ? "fields" : "kernel", "it is NULL");
  return hdapi_end(ctx, "hd_cache_fields", status);
}

HdStatus hd_cache_clear(HdContext *ctx, int64_t *removed) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  int64_t n = 0;
  HdStatus status = hdrt_cache_clear(&ctx->cache, &n, &ctx->err);
  if (removed) *removed = n;
  return hdapi_end(ctx, "hd_cache_clear", status);
}
