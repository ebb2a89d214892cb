/* api/context.c -- making and ending a context, and reading its error record. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"

const char *hd_version(void) { return HD_VERSION_TEXT; }

/* --- calls --- */

HdStatus hdapi_end(HdContext *ctx, const char *call, HdStatus status) {
  if (status == HD_OK) return HD_OK;
  if (ctx->err.status != status) hdb_fail(&ctx->err, status, "", "%s", hd_status_text(status));
  ctx->err.call = call;
  return status;
}

void hdapi_keep_where(HdContext *ctx) {
  const char *file = ctx->err.status == HD_OK ? NULL : ctx->err.where.file;
  if (!file || file == ctx->where_file) return;
  snprintf(ctx->where_file, sizeof ctx->where_file, "%s", file);
  ctx->err.where.file = ctx->where_file;
}

HdStatus hdapi_guard(HdContext *ctx, Arena *a, Arena *b, HdStatus (*fn)(void *job), void *job) {
  jmp_buf jb, *outer_a = a->on_oom, *outer_b = b ? b->on_oom : NULL;
  volatile HdStatus status = HD_ERR_NOMEM;
  if (b) b->on_oom = &jb;
  HDB_GUARD(a, jb) status = fn(job);
  else status = hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "the context's allocator has no more");
  a->on_oom = outer_a;
  if (b) b->on_oom = outer_b;
  return status;
}

void hdapi_log(HdContext *ctx, HdLogLevel level, const char *fmt, ...) {
  if (!ctx->log) return;
  char text[700];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  ctx->log(ctx->log_user, level, text);
}

/* --- life --- */

static void warn(void *user, const char *message) { hdapi_log(user, HD_LOG_WARNING, "%s", message); }

/* The folder of the cache as the environment has it; "" if there is no place for one. */
static void default_cache_dir(char *out, size_t size) {
  static const struct {
    const char *variable, *tail;
  } places[] = {{"HEDDLE_CACHE", ""}, {"XDG_CACHE_HOME", "/heddle"}, {"HOME", "/.cache/heddle"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    const char *value = getenv(places[i].variable);
    if (!value || !*value) continue;
    int n = snprintf(out, size, "%s%s", value, places[i].tail);
    if (n > 0 && (size_t)n < size) return;
  }
  *out = 0;
}

static HdStatus open_cache(HdContext *ctx, const HdContextOptions *o) {
  char found[4096] = "";
  const char *dir = o->no_cache ? NULL : o->cache_dir;
  if (!dir && !o->no_cache) {
    default_cache_dir(found, sizeof found);
    dir = found;
  }
  HdStatus status = hdrt_cache_open(&ctx->cache, &ctx->mem, dir, &ctx->err);
  ctx->cache.warn = warn;
  ctx->cache.user = ctx;
  return status;
}

/* What is not there is told, once: the driver assembles then. */
static void choose_ptxas(HdContext *ctx, const char *name) {
  ApiCuda *c = &ctx->cuda;
  if (!name) name = getenv("HEDDLE_PTXAS");
  if (!name || !*name) return;
  if (!hdcu_ptxas_find(name, c->ptxas, sizeof c->ptxas, c->ptxas_id, sizeof c->ptxas_id))
    hdapi_log(ctx, HD_LOG_WARNING, "no ptxas '%s'; the driver assembles", name);
}

static HdStatus start(HdContext *ctx, const HdContextOptions *o) {
  int32_t n = o->threads ? o->threads : hdrt_cores();
  if (!o->threads && n > RT_MAX_THREADS) n = RT_MAX_THREADS;
  HD_TRY(open_cache(ctx, o));
  HD_TRY(hdrt_threads_new(&ctx->mem, n, &ctx->err, &ctx->threads));
  hdrt_device_init(&ctx->device[HD_DEVICE_CPU - 1], &hdrt_cpu_ops, &ctx->mem, ctx->threads);
  hdrt_device_init(&ctx->device[HD_DEVICE_INTERP - 1], &hdrt_interp_ops, &ctx->mem, NULL);
  return HD_OK;
}

HdStatus hd_context_new(const HdContextOptions *options, HdContext **out) {
  static const HdContextOptions defaults = HD_CONTEXT_OPTIONS_INIT;
  const HdContextOptions *o = options ? options : &defaults;
  const HdAllocator *mem = o->allocator ? o->allocator : &hdb_system_allocator;
  if (!out || !mem->resize) return HD_ERR_ARG;
  if (o->threads < 0 || o->threads > RT_MAX_THREADS || o->gpu_keep < -1) return HD_ERR_OPTION;
  if (o->gpu_print != 0 && (o->gpu_print < CUDA_LEAST_PRINT || o->gpu_print > CUDA_MOST_PRINT)) return HD_ERR_OPTION;
  HdContext *ctx = mem->resize(mem->user, NULL, 0, sizeof *ctx);
  if (!ctx) return HD_ERR_NOMEM;
  memset(ctx, 0, sizeof *ctx);
  ctx->mem = *mem;
  ctx->log = o->log;
  ctx->log_user = o->log_user;
  ctx->print = o->print;
  ctx->print_user = o->print_user;
  ctx->cuda.keep = o->gpu_keep;
  ctx->cuda.print = o->gpu_print;
  choose_ptxas(ctx, o->ptxas);
  hdb_arena_init(&ctx->arena, &ctx->mem);
  HdStatus status = start(ctx, o);
  if (status != HD_OK) {
    hdapi_log(ctx, HD_LOG_ERROR, "hd_context_new: %s", ctx->err.detail);
    hd_context_free(ctx);
    return status;
  }
  *out = ctx;
  return HD_OK;
}

void hd_context_free(HdContext *ctx) {
  if (!ctx) return;
  HdAllocator mem = ctx->mem;
  hdrt_threads_free(ctx->threads);
  for (int32_t i = 0; i < ctx->cuda.count; i++) hdcu_device_end(&ctx->cuda.device[i]);
  hdcu_driver_close(&ctx->cuda.driver);
  for (int i = 0; i < API_NHOST; i++)
    if (ctx->device[i].ops) hdrt_device_end(&ctx->device[i]);
  hdrt_cache_close(&ctx->cache);
  if (ctx->diagnostics) mem.resize(mem.user, ctx->diagnostics, ctx->diagnostics_size, 0);
  hdb_arena_free(&ctx->arena);
  mem.resize(mem.user, ctx, sizeof *ctx, 0);
}

/* --- the record --- */

const HdError *hd_context_error(const HdContext *ctx) {
  static const HdError no_context = {.status = HD_ERR_ARG, .detail = "there is no context", .remedy = ""};
  return ctx ? &ctx->err : &no_context;
}

const char *hd_context_diagnostics(const HdContext *ctx) { return ctx && ctx->diagnostics ? ctx->diagnostics : ""; }

HdStatus hd_context_fail(HdContext *ctx, HdStatus status, const char *call, const char *arg, const char *detail) {
  if (!ctx || status == HD_OK) return status;
  hdb_fail(&ctx->err, status, arg, "%s", detail && *detail ? detail : hd_status_text(status));
  ctx->err.call = call;
  return status;
}

const HdAllocator *hd_context_allocator(const HdContext *ctx) { return ctx ? &ctx->mem : NULL; }

/* Append as far as there is room. */
static void append(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void append(char *out, size_t size, const char *fmt, ...) {
  size_t len = strlen(out);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(out + len, size - len, fmt, ap);
  va_end(ap);
}

const char *hd_error_format(const HdError *error, char *out, size_t size) {
  if (!out || size == 0) return "";
  *out = 0;
  if (!error) return out;
  if (error->call) append(out, size, "%s: ", error->call);
  if (error->arg[0]) append(out, size, "%s: ", error->arg);
  append(out, size, "%s", error->detail[0] ? error->detail : hd_status_text(error->status));
  if (error->where.file && error->where.line)
    append(out, size, " (%s:%d:%d)", error->where.file, error->where.line, error->where.column);
  if (error->remedy && *error->remedy) append(out, size, "; %s", error->remedy);
  return out;
}
