/* api/module.c -- loading modules, and what they hold. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/library.h"
#include "api/modules.h"
#include "frontend/lang/lang.h"

double hdapi_ms(void) { return (double)hdrt_now() * 1e-6; }

/* --- options --- */

static HdStatus check_options(HdContext *ctx, const HdModuleOptions *o) {
  if (o->width < 0 || o->width > 32 || (o->width & (o->width - 1)))
    return hdb_fail(&ctx->err, HD_ERR_OPTION, "options.width", "wanted 0, 1, 2, 4, 8, 16 or 32 lanes, got %d",
                    o->width);
  if (o->opt_level < 0 || o->opt_level > 3)
    return hdb_fail(&ctx->err, HD_ERR_OPTION, "options.opt_level", "wanted 0 to 3, got %d", o->opt_level);
  if (o->ndefines < 0 || (o->ndefines && !o->defines))
    return hdb_fail(&ctx->err, HD_ERR_OPTION, "options.defines", "%d of them, in %s", o->ndefines, "no list");
  if (o->npaths < 0 || (o->npaths && !o->paths))
    return hdb_fail(&ctx->err, HD_ERR_OPTION, "options.paths", "%d of them, in %s", o->npaths, "no list");
  for (int32_t i = 0; i < o->ndefines; i++)
    if (!o->defines[i].name || !o->defines[i].value)
      return hdb_fail(&ctx->err, HD_ERR_OPTION, "options.defines", "number %d has no %s", i,
                      o->defines[i].name ? "value" : "name");
  for (int32_t i = 0; i < o->npaths; i++)
    if (!o->paths[i]) return hdb_fail(&ctx->err, HD_ERR_OPTION, "options.paths", "number %d is NULL", i);
  return hdapi_check_functions(ctx, o);
}

static void copy_options(HdModule *m, const HdModuleOptions *o) {
  Arena *a = &m->arena;
  m->options = *o;
  HdDefine *defines = HDB_NEW_N(a, HdDefine, o->ndefines + 1);
  const char **paths = HDB_NEW_N(a, const char *, o->npaths + 1);
  for (int32_t i = 0; i < o->ndefines; i++)
    defines[i] = (HdDefine){hdb_strdup(a, o->defines[i].name), hdb_strdup(a, o->defines[i].value)};
  for (int32_t i = 0; i < o->npaths; i++) paths[i] = hdb_strdup(a, o->paths[i]);
  m->options.defines = defines;
  m->options.paths = paths;
  hdapi_copy_functions(m, o);
  if (o->target) m->options.target = hdb_strdup(a, o->target);
}

/* --- life --- */

typedef struct NewJob {
  HdModule *m;
  const char *name;
  const HdModuleOptions *options;
} NewJob;

static HdStatus fill_new(void *job) {
  NewJob *j = job;
  j->m->name = hdb_strdup(&j->m->arena, j->name);
  copy_options(j->m, j->options);
  return HD_OK;
}

HdStatus hdapi_module_new(HdContext *ctx, const char *name, const HdModuleOptions *options, HdModule **out) {
  static const HdModuleOptions defaults = HD_MODULE_OPTIONS_INIT;
  if (!options) options = &defaults;
  HD_TRY(check_options(ctx, options));
  HdModule *m = ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *m);
  if (!m) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for a module", sizeof *m);
  memset(m, 0, sizeof *m);
  m->ctx = ctx;
  hdb_arena_init(&m->arena, &ctx->mem);
  hdb_arena_init(&m->emitted, &ctx->mem);
  NewJob j = {m, name, options};
  HdStatus status = hdapi_guard(ctx, &m->arena, NULL, fill_new, &j);
  if (status == HD_OK)
    *out = m;
  else
    hd_module_free(m);
  return status;
}

void hd_module_free(HdModule *module) {
  if (!module) return;
  HdContext *ctx = module->ctx;
  hdapi_keep_where(ctx);
  for (HdKernel *k = module->made; k; k = k->next) hdapi_kernel_end(k);
  hdb_arena_free(&module->emitted);
  hdb_arena_free(&module->arena);
  ctx->mem.resize(ctx->mem.user, module, sizeof *module, 0);
}

/* --- the front ends --- */

static HdStatus keep_diagnostics(HdContext *ctx, const char *text, size_t size) {
  char *p = ctx->mem.resize(ctx->mem.user, NULL, 0, size + 1);
  if (!p) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for the diagnostics", size);
  memcpy(p, text, size);
  p[size] = 0;
  ctx->diagnostics = p;
  ctx->diagnostics_size = size + 1;
  return HD_OK;
}

static void drop_diagnostics(HdContext *ctx) {
  if (ctx->diagnostics) ctx->mem.resize(ctx->mem.user, ctx->diagnostics, ctx->diagnostics_size, 0);
  ctx->diagnostics = NULL;
}

static HdStatus compile_source(HdModule *m) {
  HdContext *ctx = m->ctx;
  FeResult r = {0};
  FeOptions o = {.ndefines = (uint32_t)m->options.ndefines,
                 .npaths = (uint32_t)m->options.npaths,
                 .paths = m->options.paths,
                 .bounds = m->options.bounds,
                 .fast = m->options.fast,
                 .library = hdapi_library_module,
                 .library_index = hdapi_library_index};
  FeDefine *defines = HDB_NEW_N(&m->arena, FeDefine, m->options.ndefines + 1);
  for (int32_t i = 0; i < m->options.ndefines; i++)
    defines[i] = (FeDefine){m->options.defines[i].name, m->options.defines[i].value};
  o.defines = defines;
  HdStatus status = hdfe_compile(&m->arena, m->name, m->text, m->size, &o, &ctx->err, &r);
  if (r.ndiags) {
    Buf b;
    hdb_buf_init(&b, &m->arena);
    hdfe_render(&b, &r, false);
    if (status != HD_OK)
      HD_TRY(keep_diagnostics(ctx, b.data ? b.data : "", b.len));
    else
      hdapi_log(ctx, HD_LOG_WARNING, "%s", b.data ? b.data : "");
  }
  m->ir = status == HD_OK ? r.module : NULL;
  return status;
}

static HdStatus parse_ir(HdModule *m) {
  HD_TRY(hdir_parse(&m->arena, m->name, m->text, m->size, &m->ctx->err, &m->ir));
  HD_TRY(hdir_verify(m->ir, &m->ctx->err));
  for (uint32_t i = 0; m->options.fast && i < m->ir->nfuncs; i++) m->ir->funcs[i]->fast = true;
  return HD_OK;
}

HdStatus hdapi_module_ir(HdModule *m) {
  if (m->ir) return HD_OK;
  double start = hdapi_ms();
  HdStatus status = m->from == MOD_SOURCE ? compile_source(m) : parse_ir(m);
  m->front_ms = hdapi_ms() - start;
  if (status != HD_OK) m->ir = NULL;
  return status;
}

HdStatus hdapi_module_describe(HdModule *m, Arena *scratch) {
  const IrModule *ir = m->ir;
  m->kernels = HDB_NEW_N(&m->arena, ModKernel, ir->nfuncs + 1);
  m->structs = HDB_NEW_N(&m->arena, ModStruct, ir->types.count + 1);
  m->nkernels = m->nstructs = 0;
  for (uint32_t i = 0; i < ir->nfuncs; i++) {
    if (!ir->funcs[i]->is_kernel) continue;
    ModKernel *k = &m->kernels[m->nkernels++];
    hdapi_signature(ir->funcs[i], &m->arena, &k->sig);
    hdapi_ir_hash(ir->funcs[i], scratch, k->ir);
  }
  for (uint32_t i = 0; i < ir->types.count; i++) {
    const IrType *t = ir->types.all[i];
    if (t && t->kind == IR_STRUCT) m->structs[m->nstructs++] = (ModStruct){t->name, t->size};
  }
  return HD_OK;
}

/* --- loading --- */

typedef struct LoadJob {
  HdModule *m;
  Arena scratch;
  const char *text;
  size_t size;
} LoadJob;

static HdStatus load(void *job) {
  LoadJob *j = job;
  HdModule *m = j->m;
  bool known = false;
  m->text = hdb_strndup(&m->arena, j->text, j->size);
  m->size = j->size;
  if (m->from == MOD_SOURCE) HD_TRY(hdapi_source_get(m, &j->scratch, &known));
  if (known) return HD_OK;
  HD_TRY(hdapi_module_ir(m));
  HD_TRY(hdapi_module_describe(m, &j->scratch));
  return m->from == MOD_SOURCE ? hdapi_source_put(m, &j->scratch) : HD_OK;
}

static HdStatus load_text(HdContext *ctx, ModFrom from, const char *name, const char *text, size_t size,
                          const HdModuleOptions *options, HdModule **out) {
  drop_diagnostics(ctx);
  if (!name || !text || !out)
    return hdb_fail(&ctx->err, HD_ERR_ARG, !name ? "name" : !text ? "text" : "out", "it is NULL");
  HdModule *m;
  HD_TRY(hdapi_module_new(ctx, name, options, &m));
  m->from = from;
  LoadJob j = {.m = m, .text = text, .size = size};
  hdb_arena_init(&j.scratch, &ctx->mem);
  HdStatus status = hdapi_guard(ctx, &m->arena, &j.scratch, load, &j);
  hdapi_keep_where(ctx);
  hdb_arena_free(&j.scratch);
  if (status == HD_OK)
    *out = m;
  else
    hd_module_free(m);
  return status;
}

HdStatus hd_module_load_source(HdContext *ctx, const char *name, const char *text, size_t size,
                               const HdModuleOptions *options, HdModule **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_module_load_source", load_text(ctx, MOD_SOURCE, name, text, size, options, out));
}

HdStatus hd_module_load_ir(HdContext *ctx, const char *name, const char *text, size_t size,
                           const HdModuleOptions *options, HdModule **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_module_load_ir", load_text(ctx, MOD_IR, name, text, size, options, out));
}

static HdStatus io_error(HdContext *ctx, const char *path, int error) {
  return hdb_fail(&ctx->err, HD_ERR_IO, "path", "'%.300s' could not be read: %s", path, strerror(error));
}

static HdStatus read_text(HdContext *ctx, const char *path, int fd, char *to, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = read(fd, to + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(ctx, path, errno);
    if (n == 0) return hdb_fail(&ctx->err, HD_ERR_IO, "path", "'%.300s' became shorter while it was read", path);
    done += (size_t)n;
  }
  return HD_OK;
}

static HdStatus load_fd(HdContext *ctx, const char *path, int fd, const HdModuleOptions *options, HdModule **out) {
  struct stat st;
  if (fstat(fd, &st) != 0) return io_error(ctx, path, errno);
  if (!S_ISREG(st.st_mode)) return io_error(ctx, path, S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
  if (st.st_size > (1 << 28)) return io_error(ctx, path, EFBIG);
  size_t size = (size_t)st.st_size;
  char *text = ctx->mem.resize(ctx->mem.user, NULL, 0, size + 1);
  if (!text) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for '%.300s'", size, path);
  HdStatus status = read_text(ctx, path, fd, text, size);
  if (status == HD_OK) status = load_text(ctx, MOD_SOURCE, path, text, size, options, out);
  ctx->mem.resize(ctx->mem.user, text, size + 1, 0);
  return status;
}

HdStatus hd_module_load_file(HdContext *ctx, const char *path, const HdModuleOptions *options, HdModule **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  drop_diagnostics(ctx);
  HdStatus status;
  if (!path || !out) {
    status = hdb_fail(&ctx->err, HD_ERR_ARG, path ? "out" : "path", "it is NULL");
  } else {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    status = fd < 0 ? io_error(ctx, path, errno) : load_fd(ctx, path, fd, options, out);
    if (fd >= 0) close(fd);
  }
  return hdapi_end(ctx, "hd_module_load_file", status);
}

/* --- what is in it --- */

int32_t hd_module_kernel_count(const HdModule *module) { return module ? (int32_t)module->nkernels : 0; }

const char *hd_module_kernel_name(const HdModule *module, int32_t i) {
  return module && i >= 0 && (uint32_t)i < module->nkernels ? module->kernels[i].sig.kernel : NULL;
}

HdStatus hd_module_struct(HdModule *module, const char *name, HdType *out) {
  if (!module) return HD_ERR_ARG;
  HdContext *ctx = module->ctx;
  hdapi_begin(ctx);
  HdStatus status = HD_ERR_NOT_FOUND;
  if (!name || !out) {
    status = hdb_fail(&ctx->err, HD_ERR_ARG, name ? "out" : "name", "it is NULL");
  } else {
    for (uint32_t i = 0; i < module->nstructs && status != HD_OK; i++) {
      if (strcmp(module->structs[i].name, name) != 0) continue;
      *out = hd_type_struct(module->structs[i].size);
      status = HD_OK;
    }
    if (status != HD_OK)
      hdb_fail(&ctx->err, status, "name", "no struct '%.60s' is used by a kernel of '%.200s'", name, module->name);
  }
  return hdapi_end(ctx, "hd_module_struct", status);
}
