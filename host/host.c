/* host/host.c -- opening embedded modules, arrays as the host sees them, memory from the context's allocator. */
#include "host/host.h"

#include <string.h>

HdStatus hdhost_open(HdContext *ctx, const char *name, const char *text, const HdModuleOptions *options,
                     HdModule **out) {
  if (!text) return hd_context_fail(ctx, HD_ERR_NOT_FOUND, "hdhost_open", name, "no such embedded module");
  return hd_module_load_source(ctx, name, text, strlen(text), options, out);
}

HdStatus hdhost_load(HdContext *ctx, const char *name, const char *text, HdDevice device, const char *const names[],
                     HdModule **module, HdKernel *kernels[]) {
  HD_TRY(hdhost_open(ctx, name, text, NULL, module));
  for (int i = 0; names[i]; i++) HD_TRY(hd_module_kernel(*module, names[i], device, &kernels[i]));
  return HD_OK;
}

HdStatus hdhost_view(HdContext *ctx, HdStream *stream, HdArray a, HostView *out) {
  HostView v = {.stream = stream, .of = a, .host = a, .data = a.data};
  if (a.device.kind == HD_DEVICE_CUDA) {
    HdDevice cpu;
    HD_TRY(hd_device_find(ctx, "cpu", &cpu));
    HD_TRY(hd_array_new(ctx, cpu, a.type, a.ndim, a.length, &v.host));
    HdStatus status = hd_array_copy(stream, a, v.host);
    if (status != HD_OK) {
      hd_array_free(ctx, &v.host);
      return status;
    }
    v.data = v.host.data;
  }
  HdStatus status = hd_stream_wait(stream);
  if (status == HD_OK)
    *out = v;
  else if (v.data != a.data)
    hd_array_free(ctx, &v.host);
  return status;
}

HdStatus hdhost_unview(HdContext *ctx, HostView *v, bool changed) {
  if (v->data == v->of.data) return HD_OK;
  HdStatus status = changed ? hd_array_copy(v->stream, v->host, v->of) : HD_OK;
  if (status == HD_OK) status = hd_stream_wait(v->stream);
  hd_array_free(ctx, &v->host);
  return status;
}

void *hdhost_alloc(HdContext *ctx, size_t size) {
  const HdAllocator *mem = hd_context_allocator(ctx);
  void *p = mem->resize(mem->user, NULL, 0, size);
  if (p) memset(p, 0, size);
  return p;
}

void hdhost_release(HdContext *ctx, void *p, size_t size) {
  const HdAllocator *mem = hd_context_allocator(ctx);
  if (p) mem->resize(mem->user, p, size, 0);
}

HdStatus hdhost_check_new(HdContext *ctx, const HdStream *stream, const char *call, const void *out) {
  if (!ctx) return HD_ERR_ARG;
  if (!stream) return hd_context_fail(ctx, HD_ERR_ARG, call, "stream", "it is NULL");
  if (!out) return hd_context_fail(ctx, HD_ERR_ARG, call, "out", "it is NULL");
  return HD_OK;
}
