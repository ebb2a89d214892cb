/* tests/fakecuda/fake_function.c -- functions of modules: what they need, and how many of their blocks fit on a device. */
#include "tests/fakecuda/fake.h"

FkFunction *fk_function(FkContext *c, void *handle) {
  for (FkModule *m = c->modules; m; m = m->next)
    for (FkFunction *f = m->functions; f; f = f->next)
      if (f == handle) return f;
  return NULL;
}

/* Of what the text declares, if nothing is known better: a compiler would do with fewer. */
int fk_registers(const FkFunction *f) {
  const PtxEntry *e = f->entry;
  int n = e->nregs < 255 ? (int)e->nregs : 255;
  if (fk.config.registers) n = fk.config.registers;
  return e->maxnreg && (int)e->maxnreg < n ? (int)e->maxnreg : n;
}

/* Warps that the registers of a multiprocessor are enough for: each of its four parts has its own, in units of 256. */
static int warps_by_registers(int registers) {
  enum { PARTS = 4, PART = 65536 / PARTS, UNIT = 256 };
  int of_warp = (registers * 32 + UNIT - 1) / UNIT * UNIT;
  return of_warp ? PARTS * (PART / of_warp) : 64;
}

int fk_most_threads(const FkFunction *f) {
  const uint32_t *m = f->entry->maxntid;
  uint64_t n = (uint64_t)m[0] * (m[1] ? m[1] : 1) * (m[2] ? m[2] : 1);
  int most = n && n < 1024 ? (int)n : 1024;
  int fit = fk.config.registers ? 32 * warps_by_registers(fk_registers(f)) : most;
  return fit < most ? fit : most;
}

FK_API int cuFuncGetAttribute(int *value, int which, void *function) {
  ENTER_FUNCTION(function);
  if (!value) return CU_INVALID_VALUE;
  switch (which) {
  case 0: *value = fk_most_threads(f); return CU_OK;
  case 1: *value = (int)f->entry->shared_bytes; return CU_OK;
  case 2: *value = 0; return CU_OK;
  case 3: *value = (int)f->entry->local_bytes; return CU_OK;
  case 4: *value = fk_registers(f); return CU_OK;
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

/* Blocks that a multiprocessor holds at once, as the occupancy calculator of the CUDA toolkit counts them. */
int fk_resident(const FkContext *c, const FkFunction *f, int threads, size_t dynamic) {
  enum { SHARED = 81, RESERVED = 111, THREADS = 39, BLOCKS = 106 };
  int warps = (threads + 31) / 32;
  uint64_t unit = fk.device[c->device].sm < 80 ? 256 : 128;
  uint64_t shared = f->entry->shared_bytes + dynamic + (uint64_t)fk_attribute(c->device, RESERVED);
  int n = least(fk_attribute(c->device, BLOCKS), fk_attribute(c->device, THREADS) / (32 * warps));
  n = least(n, warps_by_registers(fk_registers(f)) / warps);
  shared = (shared + unit - 1) / unit * unit;
  if (shared) n = least(n, (int)((uint64_t)fk_attribute(c->device, SHARED) / shared));
  return n;
}

FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t dynamic) {
  ENTER_FUNCTION(function);
  if (!blocks || threads < 1) return CU_INVALID_VALUE;
  *blocks = threads > fk_most_threads(f) ? 0 : fk_resident(ctx, f, threads, dynamic);
  return CU_OK;
}
FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads,
                                                                size_t dynamic, unsigned flags) {
  ENTER_FUNCTION(function);
  if (!blocks || threads < 1 || flags > 1) return CU_INVALID_VALUE;
  *blocks = threads > fk_most_threads(f) ? 0 : fk_resident(ctx, f, threads, dynamic);
  return CU_OK;
}

/* The largest block of those that keep the most threads resident. */
static int best_block(FkContext *c, const FkFunction *f, int *grid, int *block, size_t (*shared_of)(int), size_t shared,
                      int limit) {
  enum { MULTIPROCESSORS = 16 };
  if (!grid || !block) return CU_INVALID_VALUE;
  int most = fk_most_threads(f), best = 0, best_blocks = 0;
  if (limit > 0 && limit < most) most = limit;
  for (int aligned = (most + 31) / 32 * 32; aligned > 0; aligned -= 32) {
    int t = least(aligned, most), n = fk_resident(c, f, t, shared_of ? shared_of(t) : shared);
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
