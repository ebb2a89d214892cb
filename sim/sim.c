/* sim/sim.c -- loading a simulation's kernels, and host memory from the context's allocator. */
#include "sim/sim.h"

#include <string.h>

HdStatus hdsim_load(HdContext *ctx, const char *source, HdDevice device, const char *const names[], HdModule **module,
                    HdKernel *kernels[]) {
  const char *text = hdsim_source(source);
  if (!text) return hd_context_fail(ctx, HD_ERR_NOT_FOUND, "hdsim_load", source, "no such embedded module");
  char name[64] = "sim/";
  strncat(name, source, sizeof name - 8);
  strcat(name, ".hd");
  HD_TRY(hd_module_load_source(ctx, name, text, strlen(text), NULL, module));
  for (int i = 0; names[i]; i++) HD_TRY(hd_module_kernel(*module, names[i], device, &kernels[i]));
  return HD_OK;
}

HdStatus hdsim_open(HdContext *ctx, HdStream *stream, HdArray a, HdSimView *out) {
  HdSimView v = {.stream = stream, .of = a, .host = a, .data = a.data};
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

HdStatus hdsim_close(HdContext *ctx, HdSimView *v, bool changed) {
  if (v->data == v->of.data) return HD_OK;
  HdStatus status = changed ? hd_array_copy(v->stream, v->host, v->of) : HD_OK;
  if (status == HD_OK) status = hd_stream_wait(v->stream);
  hd_array_free(ctx, &v->host);
  return status;
}

void *hdsim_alloc(HdContext *ctx, size_t size) {
  const HdAllocator *mem = hd_context_allocator(ctx);
  void *p = mem->resize(mem->user, NULL, 0, size);
  if (p) memset(p, 0, size);
  return p;
}

void hdsim_release(HdContext *ctx, void *p, size_t size) {
  const HdAllocator *mem = hd_context_allocator(ctx);
  if (p) mem->resize(mem->user, p, size, 0);
}
