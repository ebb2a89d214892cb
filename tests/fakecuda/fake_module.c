/* tests/fakecuda/fake_module.c -- modules, functions, launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- modules --- */

/* The newest PTX that a driver of this version of CUDA knows: 12.4 knows 8.4. */
static int newest_ptx(int driver) {
  int major = driver / 1000, minor = driver % 1000 / 10;
  return 10 * (major - 4) + (minor > 9 ? 9 : minor);
}

typedef struct Place {
  FkContext *context;
  int code;
} Place;

static int place(void *user, uint64_t size, uint64_t align, const char *name, uint64_t *address, void **host) {
  Place *p = user;
  FkBlock *b = fk_block_new(p->context, FK_ON_DEVICE, size, align, NULL, name, &p->code);
  if (!b) return p->code;
  b->module = true;
  *address = b->at;
  *host = b->host;
  return 0;
}

/* The log that the caller gave a buffer for. */
static void write_log(unsigned n, const int *options, void **values, const char *text) {
  enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
  char *to = NULL;
  size_t size = 0;
  for (unsigned k = 0; k < n; k++) {
    if (options[k] == ERROR_LOG) to = values[k];
    if (options[k] == ERROR_LOG_SIZE) size = (size_t)(uintptr_t)values[k];
  }
  if (to && size) snprintf(to, size, "%s", text);
}

static int load(FkContext *c, void **out, const void *image, unsigned n, const int *options, void **values) {
  PtxError err = {0};
  if (!out || !image) return CU_INVALID_VALUE;
  if (memcmp(image,
             "\x7f"
             "ELF",
             4) == 0)
    return CU_NO_BINARY;
  PtxModule *ptx = ptx_parse(image, strlen(image), &err);
  if (!ptx) {
    char text[600];
    snprintf(text, sizeof text, "ptxas application ptx input, line %u; error : %s", err.line, err.text);
    write_log(n, options, values, text);
    return CU_INVALID_PTX;
  }
  int code = ptx_version(ptx) > newest_ptx(fk.config.driver) ? CU_PTX_TOO_NEW
             : ptx_target(ptx) > fk.device[c->device].sm     ? CU_NO_BINARY
                                                             : CU_OK;
  Place p = {c, CU_OK};
  if (!code) code = ptx_link(ptx, fk.device[c->device].space, place, &p, &err);
  if (code) {
    ptx_module_free(ptx);
    return code;
  }
  FkModule *m = FK_NEW(FkModule);
  *m = (FkModule){.kind = FK_MODULE, .context = c, .ptx = ptx, .next = c->modules};
  c->modules = m;
  *out = m;
  return CU_OK;
}

FK_API int cuModuleLoadData(void **out, const void *image) {
  ENTER_CONTEXT();
  return load(ctx, out, image, 0, NULL, NULL);
}
FK_API int cuModuleLoadDataEx(void **out, const void *image, unsigned n, const int *options, void **values) {
  ENTER_CONTEXT();
  return load(ctx, out, image, n, options, values);
}

static FkModule *module_of(FkContext *c, void *handle) {
  for (FkModule *m = c->modules; m; m = m->next)
    if (m == handle) return m;
  return NULL;
}

FK_API int cuModuleUnload(void *module) {
  ENTER_CONTEXT();
  FkModule *m = module_of(ctx, module);
  if (!m) return CU_INVALID_HANDLE;
  fk_drain_all(ctx);
  for (FkModule **p = &ctx->modules; *p; p = &(*p)->next)
    if (*p == m) {
      *p = m->next;
      break;
    }
  for (uint32_t k = 0; k < ptx_global_count(m->ptx); k++) {
    FkBlock *b = fk_block_at(ptx_global_at(m->ptx, k)->address, 1);
    if (b && b->module) fk_block_free(b);
  }
  for (FkFunction *f = m->functions, *next; f; f = next) next = f->next, free(f);
  ptx_module_free(m->ptx);
  free(m);
  return CU_OK;
}

FK_API int cuModuleGetFunction(void **out, void *module, const char *name) {
  ENTER_CONTEXT();
  FkModule *m = module_of(ctx, module);
  if (!m) return CU_INVALID_HANDLE;
  if (!out || !name) return CU_INVALID_VALUE;
  const PtxEntry *e = ptx_entry(m->ptx, name);
  if (!e) return CU_NOT_FOUND;
  FkFunction *f = FK_NEW(FkFunction);
  *f = (FkFunction){.kind = FK_FUNCTION, .module = m, .entry = e, .most_dynamic = 48 << 10, .next = m->functions};
  m->functions = f;
  *out = f;
  return CU_OK;
}

FK_API int cuModuleGetGlobal_v2(CuPtr *at, size_t *size, void *module, const char *name) {
  ENTER_CONTEXT();
  FkModule *m = module_of(ctx, module);
  const PtxGlobal *g = m && name ? ptx_global(m->ptx, name) : NULL;
  if (!m) return CU_INVALID_HANDLE;
  if (!g) return CU_NOT_FOUND;
  if (at) *at = g->address;
  if (size) *size = g->size;
  return CU_OK;
}

/* --- functions --- */

static FkFunction *function_of(FkContext *c, void *handle) {
  for (FkModule *m = c->modules; m; m = m->next)
    for (FkFunction *f = m->functions; f; f = f->next)
      if (f == handle) return f;
  return NULL;
}

static int most_threads(const PtxEntry *e) {
  uint64_t n = (uint64_t)e->maxntid[0] * (e->maxntid[1] ? e->maxntid[1] : 1) * (e->maxntid[2] ? e->maxntid[2] : 1);
  return n && n < 1024 ? (int)n : 1024;
}

FK_API int cuFuncGetAttribute(int *value, int which, void *function) {
  ENTER_CONTEXT();
  FkFunction *f = function_of(ctx, function);
  if (!f) return CU_INVALID_HANDLE;
  if (!value) return CU_INVALID_VALUE;
  switch (which) {
  case 0: *value = most_threads(f->entry); return CU_OK;
  case 1: *value = (int)f->entry->shared_bytes; return CU_OK;
  case 2: *value = 0; return CU_OK;
  case 3: *value = (int)f->entry->local_bytes; return CU_OK;
  case 4: *value = f->entry->nregs < 255 ? (int)f->entry->nregs : 255; return CU_OK;
  case 5: *value = ptx_version(f->module->ptx); return CU_OK;
  case 6: *value = ptx_target(f->module->ptx); return CU_OK;
  default: return CU_INVALID_VALUE;
  }
}

FK_API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, void *shared_of_block, size_t shared,
                                            int limit) {
  ENTER_CONTEXT();
  (void)shared_of_block, (void)shared;
  FkFunction *f = function_of(ctx, function);
  if (!f || !grid || !block) return f ? CU_INVALID_VALUE : CU_INVALID_HANDLE;
  int most = most_threads(f->entry);
  *block = limit > 0 && limit < most ? limit : most;
  *grid = 2 * fk_attribute(ctx->device, 16);
  return CU_OK;
}

/* --- launches --- */

int fk_run_launch(FkContext *c, const FkOp *op) {
  PtxError err = {0};
  PtxStats stats = {0};
  PtxLaunch l = op->launch;
  l.params = op->params;
  int code = ptx_run(op->function->module->ptx, &l, &stats, &err);
  fk.launches++;
  fk.threads += stats.threads;
  if (code) fk_lose(c, code, err.text);
  return code;
}

static void *gather_params(const PtxEntry *e, void **params) {
  uint8_t *block = fk_new(e->param_bytes + 1);
  for (uint32_t k = 0; k < e->nparams; k++) memcpy(block + e->params[k].offset, params[k], e->params[k].size);
  return block;
}

FK_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
  ENTER_CONTEXT();
  FkFunction *f = function_of(ctx, function);
  FkStream *s = fk_stream(ctx, stream);
  if (!f || !s) return CU_INVALID_HANDLE;
  int code = fk_rule(__func__, f->entry->name, ctx->device, (uint64_t)gx * gy * gz);
  if (code) return code;
  if (!gx || !gy || !gz || !bx || !by || !bz || extra || (f->entry->nparams && !params)) return CU_INVALID_VALUE;
  if (gx > INT32_MAX || gy > 65535 || gz > 65535 || bx > 1024 || by > 1024 || bz > 64) return CU_INVALID_VALUE;
  uint64_t threads = (uint64_t)bx * by * bz;
  if (threads > 1024) return CU_INVALID_VALUE;
  if (threads > (uint64_t)most_threads(f->entry)) return CU_INVALID_VALUE;
  if (shared > (unsigned)f->most_dynamic) return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_LAUNCH);
  op->function = f;
  op->params = gather_params(f->entry, params);
  op->launch = (PtxLaunch){.entry = f->entry->name,
                           .grid = {gx, gy, gz},
                           .block = {bx, by, bz},
                           .shared_bytes = shared,
                           .param_bytes = f->entry->param_bytes,
                           .schedule = fk.config.schedule,
                           .seed = fk.config.seed + fk.launches,
                           .adversary = fk.config.adversary,
                           .device = (uint32_t)ctx->device};
  fk_submit(s, op);
  return CU_OK;
}
