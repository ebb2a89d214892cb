/* tests/fakecuda/fake_module.c -- modules, functions, launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- modules --- */

/* The newest PTX that a driver of this version of CUDA knows. */
static int newest_ptx(int driver) {
  static const int rows[][2] = {{11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
                                {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80},
                                {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
                                {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}};
  int best = 65;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (rows[k][0] <= driver) best = rows[k][1];
  return best;
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

FK_API int cuModuleGetLoadingMode(int *out) {
  ENTER(true);
  if (!out) return CU_INVALID_VALUE;
  *out = 1; /* eager */
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

/* Of what the text declares: an upper bound, where a compiler would do with fewer. */
static int registers(const PtxEntry *e) {
  int n = e->nregs < 255 ? (int)e->nregs : 255;
  return e->maxnreg && (int)e->maxnreg < n ? (int)e->maxnreg : n;
}

#define ENTER_FUNCTION(handle)                                                                                         \
  ENTER_CONTEXT();                                                                                                     \
  FkFunction *f = function_of(ctx, handle);                                                                            \
  if (!f) return CU_INVALID_HANDLE

FK_API int cuFuncGetAttribute(int *value, int which, void *function) {
  ENTER_FUNCTION(function);
  if (!value) return CU_INVALID_VALUE;
  switch (which) {
  case 0: *value = most_threads(f->entry); return CU_OK;
  case 1: *value = (int)f->entry->shared_bytes; return CU_OK;
  case 2: *value = 0; return CU_OK;
  case 3: *value = (int)f->entry->local_bytes; return CU_OK;
  case 4: *value = registers(f->entry); return CU_OK;
  case 5: *value = ptx_version(f->module->ptx); return CU_OK;
  case 6: *value = ptx_target(f->module->ptx); return CU_OK;
  case 7: *value = 0; return CU_OK;
  case 8: *value = f->most_dynamic; return CU_OK;
  case 9: *value = -1; return CU_OK;
  default: return CU_INVALID_VALUE;
  }
}
FK_API int cuFuncSetAttribute(void *function, int which, int value) {
  enum { MOST_DYNAMIC = 8, CARVEOUT = 9, BLOCK_OPT_IN = 97 };
  ENTER_FUNCTION(function);
  if (which == CARVEOUT) return value < -1 || value > 100 ? CU_INVALID_VALUE : CU_OK;
  if (which != MOST_DYNAMIC || value < 0) return CU_INVALID_VALUE;
  if (value + (int)f->entry->shared_bytes > fk_attribute(ctx->device, BLOCK_OPT_IN)) return CU_INVALID_VALUE;
  f->most_dynamic = value;
  return CU_OK;
}
FK_API int cuFuncSetCacheConfig(void *function, int config) {
  ENTER_FUNCTION(function);
  return config < 0 || config > 3 ? CU_INVALID_VALUE : CU_OK;
}
FK_API int cuFuncGetModule(void **out, void *function) {
  ENTER_FUNCTION(function);
  if (!out) return CU_INVALID_VALUE;
  *out = f->module;
  return CU_OK;
}

/* --- occupancy --- */

static int least(int a, int b) { return a < b ? a : b; }

/* Warps that the registers of a multiprocessor are enough for: each of its four parts has its own, in units of 256. */
static int warps_by_registers(const FkContext *c, const FkFunction *f) {
  enum { OF_MULTIPROCESSOR = 82, PARTS = 4, UNIT = 256 };
  int of_warp = (registers(f->entry) * 32 + UNIT - 1) / UNIT * UNIT;
  int part = fk_attribute(c->device, OF_MULTIPROCESSOR) / PARTS;
  return of_warp ? PARTS * (part / of_warp) : INT32_MAX;
}

/* Blocks that a multiprocessor holds at once, as the occupancy calculator of the CUDA toolkit counts them. */
static int resident(const FkContext *c, const FkFunction *f, int threads, size_t dynamic) {
  enum { SHARED = 81, RESERVED = 111, THREADS = 39, BLOCKS = 106 };
  int warps = (threads + 31) / 32;
  uint64_t unit = fk.device[c->device].sm < 80 ? 256 : 128;
  uint64_t shared = f->entry->shared_bytes + dynamic + (uint64_t)fk_attribute(c->device, RESERVED);
  int n = least(fk_attribute(c->device, BLOCKS), fk_attribute(c->device, THREADS) / (32 * warps));
  n = least(n, warps_by_registers(c, f) / warps);
  shared = (shared + unit - 1) / unit * unit;
  if (shared) n = least(n, (int)((uint64_t)fk_attribute(c->device, SHARED) / shared));
  return n;
}

FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t dynamic) {
  ENTER_FUNCTION(function);
  if (!blocks || threads < 1) return CU_INVALID_VALUE;
  *blocks = threads > most_threads(f->entry) ? 0 : resident(ctx, f, threads, dynamic);
  return CU_OK;
}
FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads,
                                                                size_t dynamic, unsigned flags) {
  ENTER_FUNCTION(function);
  if (!blocks || threads < 1 || flags > 1) return CU_INVALID_VALUE;
  *blocks = threads > most_threads(f->entry) ? 0 : resident(ctx, f, threads, dynamic);
  return CU_OK;
}

/* The largest block of those that keep the most threads resident. */
static int best_block(FkContext *c, const FkFunction *f, int *grid, int *block, size_t (*shared_of)(int), size_t shared,
                      int limit) {
  enum { MULTIPROCESSORS = 16 };
  if (!grid || !block) return CU_INVALID_VALUE;
  int most = most_threads(f->entry), best = 0, best_blocks = 0;
  if (limit > 0 && limit < most) most = limit;
  for (int aligned = (most + 31) / 32 * 32; aligned > 0; aligned -= 32) {
    int t = least(aligned, most), n = resident(c, f, t, shared_of ? shared_of(t) : shared);
    if (n * t > best * best_blocks) best = t, best_blocks = n;
  }
  if (!best) return CU_INVALID_VALUE;
  *block = best, *grid = best_blocks * fk_attribute(c->device, MULTIPROCESSORS);
  return CU_OK;
}
FK_API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                            size_t shared, int limit) {
  ENTER_FUNCTION(function);
  return best_block(ctx, f, grid, block, shared_of, shared, limit);
}
FK_API int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                                     size_t shared, int limit, unsigned flags) {
  ENTER_FUNCTION(function);
  return flags > 1 ? CU_INVALID_VALUE : best_block(ctx, f, grid, block, shared_of, shared, limit);
}

/* --- launches --- */

int fk_run_launch(FkContext *c, const FkOp *op) {
  PtxError err = {0};
  PtxStats stats = {0};
  PtxLaunch l = op->launch;
  l.params = op->params;
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

typedef struct Shape {
  unsigned grid[3], block[3], shared;
  void *stream;
  bool cooperative;
} Shape;

static int check(const FkContext *c, const FkFunction *f, const Shape *s) {
  enum { BLOCK_SHARED = 8, BLOCK_OPT_IN = 97, MULTIPROCESSORS = 16 };
  const unsigned *g = s->grid, *b = s->block;
  uint64_t threads = (uint64_t)b[0] * b[1] * b[2], blocks = (uint64_t)g[0] * g[1] * g[2];
  if (!blocks || !threads || g[0] > INT32_MAX || g[1] > 65535 || g[2] > 65535) return CU_INVALID_VALUE;
  if (b[0] > 1024 || b[1] > 1024 || b[2] > 64 || threads > 1024) return CU_INVALID_VALUE;
  if (threads > (uint64_t)most_threads(f->entry)) return CU_INVALID_VALUE;
  const uint32_t *exact = f->entry->reqntid;
  if (exact[0] && (exact[0] != b[0] || exact[1] != b[1] || exact[2] != b[2])) return CU_INVALID_VALUE;
  int allowed = f->most_dynamic > fk_attribute(c->device, BLOCK_SHARED) ? BLOCK_OPT_IN : BLOCK_SHARED;
  if (s->shared > (unsigned)f->most_dynamic ||
      s->shared + f->entry->shared_bytes > (unsigned)fk_attribute(c->device, allowed))
    return CU_INVALID_VALUE;
  if (!s->cooperative) return CU_OK;
  return blocks > (uint64_t)resident(c, f, (int)threads, s->shared) * (uint64_t)fk_attribute(c->device, MULTIPROCESSORS)
             ? CU_COOPERATIVE_TOO_LARGE
             : CU_OK;
}

static int launch(FkContext *c, void *function, const Shape *s, void **params, void **extra, const char *call) {
  FkFunction *f = function_of(c, function);
  FkStream *stream = fk_stream(c, s->stream);
  if (!f || !stream) return CU_INVALID_HANDLE;
  const unsigned *g = s->grid;
  int code = fk_rule(call, f->entry->name, c->device, (uint64_t)g[0] * g[1] * g[2]);
  if (!code) code = check(c, f, s);
  if (code) return code;
  void *block = gather_params(f->entry, params, extra);
  if (!block) return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_LAUNCH);
  op->function = f;
  op->params = block;
  op->launch = (PtxLaunch){.entry = f->entry->name,
                           .shared_bytes = s->shared,
                           .param_bytes = f->entry->param_bytes,
                           .schedule = fk.config.schedule,
                           .seed = fk.config.seed + fk.launches,
                           .adversary = fk.config.adversary,
                           .cooperative = s->cooperative,
                           .device = (uint32_t)c->device};
  memcpy(op->launch.grid, s->grid, sizeof s->grid);
  memcpy(op->launch.block, s->block, sizeof s->block);
  fk_submit(stream, op);
  return CU_OK;
}

FK_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
  ENTER_CONTEXT();
  Shape s = {{gx, gy, gz}, {bx, by, bz}, shared, stream, false};
  return launch(ctx, function, &s, params, extra, __func__);
}
FK_API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared, void *stream, void **params) {
  ENTER_CONTEXT();
  Shape s = {{gx, gy, gz}, {bx, by, bz}, shared, stream, true};
  return launch(ctx, function, &s, params, NULL, __func__);
}

typedef struct Attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int on;
  } value;
} Attribute;
typedef struct LaunchConfig {
  unsigned gx, gy, gz, bx, by, bz, shared;
  void *stream;
  const Attribute *attributes;
  unsigned nattributes;
} LaunchConfig;

FK_API int cuLaunchKernelEx(const LaunchConfig *c, void *function, void **params, void **extra) {
  enum { IGNORE = 0, ACCESS_POLICY = 1, COOPERATIVE = 2, PRIORITY = 8 };
  ENTER_CONTEXT();
  if (!c || (c->nattributes && !c->attributes)) return CU_INVALID_VALUE;
  Shape s = {{c->gx, c->gy, c->gz}, {c->bx, c->by, c->bz}, c->shared, c->stream, false};
  for (unsigned k = 0; k < c->nattributes; k++) {
    int id = c->attributes[k].id;
    if (id == COOPERATIVE)
      s.cooperative = c->attributes[k].value.on != 0;
    else if (id != IGNORE && id != ACCESS_POLICY && id != PRIORITY)
      return CU_NOT_SUPPORTED;
  }
  return launch(ctx, function, &s, params, extra, __func__);
}
