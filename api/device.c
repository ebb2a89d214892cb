/* api/device.c -- the devices of a context, and what this machine is. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "api/api.h"

/* --- names --- */

static const char *const host_names[API_NHOST] = {"cpu", "interp"};
static const char *const cuda_names[API_NCUDA] = {"cuda:0",  "cuda:1",  "cuda:2",  "cuda:3", "cuda:4",  "cuda:5",
                                                  "cuda:6",  "cuda:7",  "cuda:8",  "cuda:9", "cuda:10", "cuda:11",
                                                  "cuda:12", "cuda:13", "cuda:14", "cuda:15"};

_Static_assert((int)HD_DEVICE_CPU == 1 && (int)HD_DEVICE_INTERP == (int)API_NHOST, "a kind less one is an index");

const char *hdapi_device_name(HdDevice device) {
  if (device.kind >= 1 && (int)device.kind <= API_NHOST) return host_names[device.kind - 1];
  if (device.kind == HD_DEVICE_CUDA && device.index >= 0 && device.index < API_NCUDA) return cuda_names[device.index];
  return "no device";
}

/* --- the GPUs --- */

static HdStatus open_gpus(HdContext *ctx) {
  ApiCuda *c = &ctx->cuda;
  HD_TRY(hdcu_driver_open(&c->driver, &c->why));
  int32_t n = c->driver.count < API_NCUDA ? c->driver.count : API_NCUDA;
  for (; c->count < n; c->count++) {
    CudaDevice *d = &c->device[c->count];
    HD_TRY(hdcu_device_init(d, &c->driver, c->count, &ctx->mem, &c->why));
    d->cache = &ctx->cache;
    if (c->print) d->print_room = (size_t)c->print & ~(size_t)7;
    if (c->keep) d->pool.keep = c->keep < 0 ? 0 : (size_t)c->keep;
    if (!d->pool.ordered)
      hdapi_log(ctx, HD_LOG_INFO, "%s has no memory pools; freed arrays are kept in lists", d->name);
  }
  return HD_OK;
}

/* The GPUs, looked for once; ctx->cuda.why says why there are none. */
static ApiCuda *gpus(HdContext *ctx) {
  ApiCuda *c = &ctx->cuda;
  if (c->tried) return c;
  c->tried = true;
  HdStatus status = open_gpus(ctx);
  if (status != HD_OK) hdapi_log(ctx, HD_LOG_INFO, "no GPU: %s", c->why.detail);
  return c;
}

int32_t hdapi_gpu_level(const HdContext *ctx, HdDevice device) { return ctx->cuda.device[device.index].sm; }

/* --- devices --- */

HdStatus hdapi_device(HdContext *ctx, HdDevice device, const char *arg, RtDevice **out) {
  if (device.kind >= 1 && (int)device.kind <= API_NHOST && device.index == 0) {
    *out = &ctx->device[device.kind - 1];
    return HD_OK;
  }
  if (device.kind == HD_DEVICE_CUDA && device.index >= 0 && device.index < ctx->cuda.count) {
    *out = &ctx->cuda.device[device.index].base;
    return HD_OK;
  }
  return hdb_fail(&ctx->err, HD_ERR_DEVICE, arg,
                  "kind %d, index %d is no device of this context; hd_device_find makes one", (int)device.kind,
                  device.index);
}

int32_t hd_device_count(HdContext *ctx) { return ctx ? API_NHOST + gpus(ctx)->count : 0; }

static HdDevice device_number(int32_t i) {
  return i < API_NHOST ? (HdDevice){(HdDeviceKind)(i + 1), 0} : (HdDevice){HD_DEVICE_CUDA, i - API_NHOST};
}

HdStatus hd_device_at(HdContext *ctx, int32_t i, HdDevice *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  HdStatus status = HD_OK;
  int32_t n = hd_device_count(ctx);
  if (!out)
    status = hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  else if (i < 0 || i >= n)
    status = hdb_fail(&ctx->err, HD_ERR_ARG, "i", "wanted 0 to %d, got %d", n - 1, i);
  else
    *out = device_number(i);
  return hdapi_end(ctx, "hd_device_at", status);
}

static bool is_gpu_name(const char *name) { return strncmp(name, "cuda", 4) == 0 || strncmp(name, "GPU-", 4) == 0; }

static HdStatus no_such_device(HdContext *ctx, const char *name) {
  const ApiCuda *c = &ctx->cuda;
  char list[160] = "'cpu', 'interp'";
  size_t n = strlen(list);
  if (c->tried && c->count == 0 && is_gpu_name(name)) {
    ctx->err = c->why;
    snprintf(ctx->err.arg, sizeof ctx->err.arg, "'%.40s'", name);
    return ctx->err.status;
  }
  for (int32_t i = 0; i < c->count && n < sizeof list; i++)
    n += (size_t)snprintf(list + n, sizeof list - n, ", '%s'", cuda_names[i]);
  bool limited = c->count > 0 && c->driver.seen.limited;
  return hdb_fail(&ctx->err, HD_ERR_NOT_FOUND, "name", "'%.60s' is no device; there are %s%s%s%s", name, list,
                  limited ? ", as CUDA_VISIBLE_DEVICES='" : "", limited ? c->driver.seen.visible : "",
                  limited ? "' allows" : "");
}

static HdStatus find_device(HdContext *ctx, const char *name, HdDevice *out) {
  if (!name || !out) return hdb_fail(&ctx->err, HD_ERR_ARG, name ? "out" : "name", "it is NULL");
  for (int32_t i = 0; i < API_NHOST; i++) {
    if (strcmp(name, host_names[i]) != 0) continue;
    *out = device_number(i);
    return HD_OK;
  }
  const ApiCuda *c = gpus(ctx);
  for (int32_t i = 0; i < c->count && *name; i++) { /* a driver may not know a UUID or an address: it is "" then */
    const CudaDevice *d = &c->device[i];
    if (strcmp(name, d->name) != 0 && strcasecmp(name, d->uuid) != 0 && strcasecmp(name, d->pci) != 0) continue;
    *out = device_number(API_NHOST + i);
    return HD_OK;
  }
  return no_such_device(ctx, name);
}

HdStatus hd_device_find(HdContext *ctx, const char *name, HdDevice *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_device_find", find_device(ctx, name, out));
}

/* --- this machine --- */

static const char *isa_text(CpuIsa isa) {
  switch (isa) {
  case CPU_SSE4: return "SSE4";
  case CPU_AVX2: return "AVX2";
  case CPU_AVX512: return "AVX-512";
  case CPU_NEON: return "NEON";
  }
  return "";
}

static const char *level_text(CpuIsa isa) {
  switch (isa) {
  case CPU_SSE4: return "x86-64-v2";
  case CPU_AVX2: return "x86-64-v3";
  case CPU_AVX512: return "x86-64-v4";
  case CPU_NEON: return "aarch64";
  }
  return "";
}

/* The CPU's own name for itself. */
static void brand(char out[64]) {
  snprintf(out, 64, "CPU");
#if defined(__x86_64__)
  unsigned r[12];
  for (unsigned i = 0; i < 3; i++)
    if (!__get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3])) return;
  char text[49];
  memcpy(text, r, 48);
  text[48] = 0;
  size_t n = 0;
  for (const char *s = text; *s; s++)
    if (*s != ' ' || (n && out[n - 1] != ' ')) out[n++] = *s; /* it is padded with blanks */
  while (n && out[n - 1] == ' ') n--;
  out[n] = 0;
#endif
}

static HdStatus find_host(void *job) {
  HdContext *ctx = job;
  CpuTarget host;
  char name[64];
  HD_TRY(hdcpu_target("host", &ctx->arena, &ctx->err, &host));
  brand(name);
  ctx->cpu_text = hdb_printf(&ctx->arena, "%s, %s", name, isa_text(host.isa));
  ctx->host = host;
  return HD_OK;
}

HdStatus hdapi_host(HdContext *ctx, const CpuTarget **out) {
  if (!ctx->host.triple) HD_TRY(hdapi_guard(ctx, &ctx->arena, NULL, find_host, ctx));
  *out = &ctx->host;
  return HD_OK;
}

/* --- the compiler library's identity --- */

/* A key must name the LLVM that made the code, and a process whose kernels are all in the cache must not load it. So the
 * file that would be loaded is named: its path, size and time. The places are those where a loader looks on the systems
 * that we know; where none fits, the identity is "unknown", and only a changed LLVM in an unusual place goes unnoticed. */
static bool identify(Arena *a, const char *path, const char **out) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  *out = hdb_printf(a, "%s:%lld:%lld", path, (long long)st.st_size, (long long)st.st_mtime);
  return true;
}

static HdStatus find_llvm(void *job) {
  static const char *const dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                     "/usr/lib", "/usr/local/lib"};
  HdContext *ctx = job;
  const char *named = getenv("HEDDLE_LLVM");
  char path[256];
  ctx->llvm_id = "unknown";
  if (named && *named) {
    identify(&ctx->arena, named, &ctx->llvm_id);
    return HD_OK;
  }
  for (int version = 22; version >= 19; version--) {
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
      snprintf(path, sizeof path, "%s/libLLVM.so.%d.1", dirs[i], version);
      if (identify(&ctx->arena, path, &ctx->llvm_id)) return HD_OK;
    }
    snprintf(path, sizeof path, "/usr/lib/llvm-%d/lib/libLLVM.so.1", version);
    if (identify(&ctx->arena, path, &ctx->llvm_id)) return HD_OK;
  }
  return HD_OK;
}

HdStatus hdapi_llvm_id(HdContext *ctx, const char **out) {
  if (!ctx->llvm_id) HD_TRY(hdapi_guard(ctx, &ctx->arena, NULL, find_llvm, ctx));
  *out = ctx->llvm_id;
  return HD_OK;
}

/* --- info --- */

static HdStatus device_info(HdContext *ctx, HdDevice device, HdDeviceInfo *out) {
  RtDevice *d;
  const CpuTarget *host;
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  if (device.kind == HD_DEVICE_CUDA) {
    const CudaDevice *g = (const CudaDevice *)d;
    *out = (HdDeviceInfo){g->name, g->text, g->target, 0, g->uuid, g->pci};
    return HD_OK;
  }
  *out = (HdDeviceInfo){"interp", "reference interpreter", "", 1, "", ""};
  if (device.kind == HD_DEVICE_INTERP) return HD_OK;
  HD_TRY(hdapi_host(ctx, &host));
  *out = (HdDeviceInfo){"cpu", ctx->cpu_text, level_text(host->isa), hdrt_threads_count(ctx->threads), "", ""};
  return HD_OK;
}

HdStatus hd_device_info(HdContext *ctx, HdDevice device, HdDeviceInfo *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_device_info", device_info(ctx, device, out));
}

/* --- memory --- */

static HdStatus device_memory(HdContext *ctx, HdDevice device, HdDeviceMemory *out) {
  RtDevice *d;
  CudaMemory m;
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  if (device.kind != HD_DEVICE_CUDA) {
    *out = (HdDeviceMemory){0, 0, d->pool.used, d->pool.kept};
    return HD_OK;
  }
  CudaDevice *g = (CudaDevice *)d;
  HD_TRY(hdcu_enter(g, &ctx->err));
  HdStatus status = hdcu_memory(g, &ctx->err, &m);
  hdcu_leave(g);
  if (status == HD_OK) *out = (HdDeviceMemory){m.total, m.free, m.used, m.kept};
  return status;
}

HdStatus hd_device_memory(HdContext *ctx, HdDevice device, HdDeviceMemory *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_device_memory", device_memory(ctx, device, out));
}

static HdStatus device_trim(HdContext *ctx, HdDevice device, uint64_t keep) {
  RtDevice *d;
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  if (device.kind != HD_DEVICE_CUDA) {
    hdrt_pool_trim(&d->pool, keep);
    return HD_OK;
  }
  CudaDevice *g = (CudaDevice *)d;
  HD_TRY(hdcu_enter(g, &ctx->err));
  HdStatus status = hdcu_pool_trim(g, keep, &ctx->err);
  hdcu_leave(g);
  return status;
}

HdStatus hd_device_trim(HdContext *ctx, HdDevice device, uint64_t keep) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_device_trim", device_trim(ctx, device, keep));
}
