/* api/device.c -- the devices of a context, and what this machine is. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "api/api.h"

static const struct {
  HdDeviceKind kind;
  const char  *name;
} devices[API_NDEVICES] = {{HD_DEVICE_CPU, "cpu"}, {HD_DEVICE_INTERP, "interp"}};

_Static_assert((int)HD_DEVICE_CPU == 1 && (int)HD_DEVICE_INTERP == (int)API_NDEVICES, "a kind less one is an index");

const char *hdapi_device_name(HdDevice device) {
  return device.kind >= 1 && (int)device.kind <= API_NDEVICES ? devices[device.kind - 1].name : "no device";
}

HdStatus hdapi_device(HdContext *ctx, HdDevice device, const char *arg, RtDevice **out) {
  if (device.kind < 1 || (int)device.kind > API_NDEVICES || device.index != 0)
    return hdb_fail(&ctx->err, HD_ERR_DEVICE, arg, "kind %d, index %d is no device of this context; hd_device_find makes one",
                    (int)device.kind, device.index);
  *out = &ctx->device[device.kind - 1];
  return HD_OK;
}

int32_t hd_device_count(const HdContext *ctx) { return ctx ? API_NDEVICES : 0; }

HdStatus hd_device_at(HdContext *ctx, int32_t i, HdDevice *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  HdStatus status = HD_OK;
  if (!out) status = hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  else if (i < 0 || i >= API_NDEVICES)
    status = hdb_fail(&ctx->err, HD_ERR_ARG, "i", "wanted 0 to %d, got %d", API_NDEVICES - 1, i);
  else *out = (HdDevice){devices[i].kind, 0};
  return hdapi_end(ctx, "hd_device_at", status);
}

HdStatus hd_device_find(HdContext *ctx, const char *name, HdDevice *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  HdStatus status = HD_ERR_NOT_FOUND;
  if (!name || !out) {
    status = hdb_fail(&ctx->err, HD_ERR_ARG, name ? "out" : "name", "it is NULL");
  } else {
    for (int i = 0; i < API_NDEVICES && status != HD_OK; i++) {
      if (strcmp(name, devices[i].name) != 0) continue;
      *out = (HdDevice){devices[i].kind, 0};
      status = HD_OK;
    }
    if (status != HD_OK)
      hdb_fail(&ctx->err, status, "name", "'%.60s' is no device; there are 'cpu' and 'interp'", name);
  }
  return hdapi_end(ctx, "hd_device_find", status);
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
  CpuTarget  host;
  char       name[64];
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
  static const char *const dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
                                     "/usr/local/lib"};
  HdContext  *ctx = job;
  const char *named = getenv("HEDDLE_LLVM");
  char        path[256];
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
  RtDevice        *d;
  const CpuTarget *host;
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  *out = (HdDeviceInfo){"interp", "reference interpreter", "", 1};
  if (device.kind == HD_DEVICE_INTERP) return HD_OK;
  HD_TRY(hdapi_host(ctx, &host));
  *out = (HdDeviceInfo){"cpu", ctx->cpu_text, level_text(host->isa), hdrt_threads_count(ctx->threads)};
  return HD_OK;
}

HdStatus hd_device_info(HdContext *ctx, HdDevice device, HdDeviceInfo *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_device_info", device_info(ctx, device, out));
}
