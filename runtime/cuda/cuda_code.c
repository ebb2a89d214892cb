/* runtime/cuda/cuda_code.c -- PTX into a device, by the driver's compiler. */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };                                  /* CUjit_option         */
enum { FUNCTION_LOCAL_BYTES = 3, FUNCTION_REGISTERS = 4, FUNCTION_MOST_SHARED = 8 }; /* CUfunction_attribute */

/* The code's own memory: the record, the sites, their texts. */
static CudaCode *new_code(const HdAllocator *mem, const RtArtifact *a) {
  size_t size = sizeof(CudaCode) + a->nsites * sizeof(RtSite);
  for (uint32_t i = 0; i < a->nsites; i++) size += strlen(a->sites[i].text) + strlen(a->sites[i].file) + 2;
  CudaCode *c = mem->resize(mem->user, NULL, 0, size);
  if (!c) return NULL;
  memset(c, 0, sizeof *c);
  c->size = size;
  c->rank = a->rank;
  c->nsites = a->nsites;
  c->sites = (RtSite *)(c + 1);
  char *text = (char *)(c->sites + a->nsites);
  for (uint32_t i = 0; i < a->nsites; i++) {
    RtSite s = a->sites[i];
    size_t n = strlen(s.text) + 1, m = strlen(s.file) + 1;
    memcpy(text, s.text, n);
    memcpy(text + n, s.file, m);
    c->sites[i] = (RtSite){text, text + n, s.line, s.column, s.prints};
    c->prints |= s.prints;
    text += n + m;
  }
  return c;
}

/* What stands behind ".version " or ".target " at the head of PTX; empty for machine code. */
static void ptx_head(const RtArtifact *a, const char *word, char out[16]) {
  size_t head = a->code_size < 4096 ? a->code_size : 4096;
  const char *at = memmem(a->code, head, word, strlen(word));
  *out = 0;
  if (at)
    snprintf(out, 16, "%.*s", (int)strspn(at + strlen(word), "0123456789._abcdefghijklmnopqrstuvwxyz"),
             at + strlen(word));
}

/* Where PTX that the driver refuses can be seen: a file in the cache's folder, else how to have it again. */
static int describe_text(const CudaDevice *d, const RtArtifact *a, char *out, size_t size) {
  char path[200], target[16];
  if (d->cache && hdrt_cache_leave(d->cache, a->code, a->code_size - 1, path, sizeof path))
    return snprintf(out, size, ", which is left in '%s'", path);
  ptx_head(a, ".target ", target);
  return snprintf(out, size, ", which 'heddle compile --emit=ptx --target=%s --kernel=%.60s FILE' prints", target,
                  a->sig.kernel);
}

/* What is refused, and what for: the kernel, its version of PTX beside the driver's, the driver's own words. */
static void describe_module(const CudaDevice *d, const RtArtifact *a, CuResult code, const char *log, char *out,
                            size_t size) {
  char version[16];
  ptx_head(a, ".version ", version);
  int n = snprintf(out, size, "kernel '%.100s'", a->sig.kernel), cuda = d->driver->version;
  if (*version) n += snprintf(out + n, size - (size_t)n, " in PTX %s", version);
  if (*version && code == CU_INVALID_PTX) n += describe_text(d, a, out + n, size - (size_t)n);
  if (*version)
    n += snprintf(out + n, size - (size_t)n, "%s the driver is of CUDA %d.%d", code == CU_INVALID_PTX ? ";" : ",",
                  cuda / 1000, cuda % 1000 / 10);
  snprintf(out + n, size - (size_t)n, "%s%s", *log ? ": " : "", log);
}

static HdStatus load_module(CudaDevice *d, const RtArtifact *a, CuModule *out, HdError *err) {
  char log[400] = "", detail[900];
  int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CuResult code = d->driver->cuModuleLoadDataEx(out, a->code, 2, options, values);
  if (code == CU_SUCCESS) return HD_OK;
  log[sizeof log - 1] = 0;
  for (char *s = log; *s; s++)
    if (*s == '\n') *s = ' ';
  describe_module(d, a, code, log, detail, sizeof detail);
  return hdcu_device_fail(d, code, "cuModuleLoadDataEx", detail, err);
}

/* More shared memory than a block has by itself is asked for, within what the device has. */
static HdStatus ask_for_shared(CudaDevice *d, const RtArtifact *a, CudaCode *c, const char *detail, HdError *err) {
  const CuDriver *cu = d->driver;
  int most = 0;
  c->shared = a->shared;
  if (!c->shared) return HD_OK;
  CuResult code = cu->cuDeviceGetAttribute(&most, CU_SHARED_OF_A_BLOCK, d->handle);
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuDeviceGetAttribute", detail, err);
  if (c->shared > (uint32_t)most) {
    HdStatus status =
        hdb_fail(err, HD_ERR_UNSUPPORTED, d->name, "a group of %s shares %u bytes; the device has %d KiB for one",
                 detail, c->shared, most / 1024);
    if (err) err->remedy = "share less, or use a device with more";
    return status;
  }
  code = cu->cuFuncSetAttribute(c->function, FUNCTION_MOST_SHARED, (int)c->shared);
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuFuncSetAttribute", detail, err);
}

static HdStatus find_function(CudaDevice *d, const RtArtifact *a, CudaCode *c, HdError *err) {
  const CuDriver *cu = d->driver;
  char detail[96];
  int grid, block = 0;
  snprintf(detail, sizeof detail, "kernel '%s'", a->sig.kernel);
  CuResult code = cu->cuModuleGetFunction(&c->function, c->module, a->symbol);
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuModuleGetFunction", detail, err);
  HD_TRY(ask_for_shared(d, a, c, detail, err));
  if (!a->sig.group) { /* a group is a block */
    code = cu->cuOccupancyMaxPotentialBlockSize(&grid, &block, c->function, NULL, 0, a->block);
    if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuOccupancyMaxPotentialBlockSize", detail, err);
  }
  c->block = block < 1 || block > a->block ? a->block : block;
  cu->cuFuncGetAttribute(&c->registers, FUNCTION_REGISTERS, c->function);
  cu->cuFuncGetAttribute(&c->spilled, FUNCTION_LOCAL_BYTES, c->function);
  return HD_OK;
}

HdStatus hdcu_load(RtDevice *base, const RtArtifact *a, HdError *err, RtCode *out) {
  CudaDevice *d = (CudaDevice *)base;
  CudaCode *c = new_code(base->mem, a);
  if (!c) return hdb_fail(err, HD_ERR_NOMEM, "", "the record of kernel '%s'", a->sig.kernel);
  RtCode code = {
      .device = base, .kernel = a->sig.kernel, .own = c, .width = 1, .group = a->sig.group, .kind = RT_CODE_PTX};
  HdStatus status = hdcu_enter(d, err);
  if (status == HD_OK) {
    status = load_module(d, a, &c->module, err);
    if (status == HD_OK) status = find_function(d, a, c, err);
    hdcu_leave(d);
  }
  if (status == HD_OK)
    *out = code;
  else
    hdcu_unload(base, &code);
  return status;
}

void hdcu_unload(RtDevice *base, RtCode *code) {
  CudaDevice *d = (CudaDevice *)base;
  CudaCode *c = code->own;
  if (!c) return;
  if (c->module && hdcu_enter(d, NULL) == HD_OK) {
    d->driver->cuModuleUnload(c->module);
    hdcu_leave(d);
  }
  base->mem->resize(base->mem->user, c, c->size, 0);
  code->own = NULL;
}
