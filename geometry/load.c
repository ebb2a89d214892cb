/* geometry/load.c -- loading kernels, and arrays to and from the host. */
#include "geometry/geometry.h"

#include <string.h>

HdStatus hdgeo_load(HdContext *ctx, const char *source, HdDevice device, const char *const names[], HdModule **module,
                    HdKernel *kernels[]) {
  const char *text = hdgeo_source(source);
  if (!text) return hd_context_fail(ctx, HD_ERR_NOT_FOUND, "hdgeo_load", source, "no such embedded module");
  char name[64] = "geometry/";
  strncat(name, source, sizeof name - 16);
  strcat(name, ".hd");
  HD_TRY(hd_module_load_source(ctx, name, text, strlen(text), NULL, module));
  for (int i = 0; names[i]; i++) HD_TRY(hd_module_kernel(*module, names[i], device, &kernels[i]));
  return HD_OK;
}

static HdStatus copy(HdContext *ctx, HdStream *stream, HdArray device, void *host, bool to_host) {
  if (hd_array_count(device) == 0) return HD_OK;
  HdDevice cpu;
  HdArray here;
  HD_TRY(hd_device_find(ctx, "cpu", &cpu));
  HD_TRY(hd_array_borrow(ctx, cpu, device.type, device.ndim, device.length, NULL, host, &here));
  HD_TRY(to_host ? hd_array_copy(stream, device, here) : hd_array_copy(stream, here, device));
  return hd_stream_wait(stream);
}

HdStatus hdgeo_read(HdContext *ctx, HdStream *stream, HdArray from, void *to) {
  return copy(ctx, stream, from, to, true);
}

HdStatus hdgeo_write(HdContext *ctx, HdStream *stream, const void *from, HdArray to) {
  return copy(ctx, stream, to, (void *)from, false);
}

HdStatus hdgeo_array(HdContext *ctx, HdStream *stream, HdType type, int64_t n, HdArray *a) {
  if (a->ndim == 1 && a->length[0] == n && hd_type_equal(a->type, type)) return HD_OK;
  hd_array_free(ctx, a);
  return hd_array_new(ctx, hd_stream_device(stream), type, 1, &n, a);
}

HdStatus hdgeo_check(HdContext *ctx, HdStream *stream, const char *call, const char *arg, HdArray a, HdType type) {
  HdDevice device = hd_stream_device(stream);
  if (a.ndim != 1) return hd_context_fail(ctx, HD_ERR_SHAPE, call, arg, "wanted an array of one axis");
  if (!hd_type_equal(a.type, type))
    return hd_context_fail(ctx, HD_ERR_TYPE, call, arg,
                           type.scalar == HD_F32 ? "wanted elements vec<f32, 3>" : "wanted elements vec<i32, 3>");
  if (a.device.kind != device.kind || a.device.index != device.index)
    return hd_context_fail(ctx, HD_ERR_DEVICE, call, arg, "it is not on the stream's device");
  return HD_OK;
}

void *hdgeo_alloc(HdContext *ctx, size_t size) {
  const HdAllocator *mem = hd_context_allocator(ctx);
  void *p = mem->resize(mem->user, NULL, 0, size ? size : 1);
  if (p) memset(p, 0, size);
  return p;
}

void hdgeo_release(HdContext *ctx, void *p, size_t size) {
  const HdAllocator *mem = hd_context_allocator(ctx);
  if (p) mem->resize(mem->user, p, size ? size : 1, 0);
}
