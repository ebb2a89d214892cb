/* algorithms/algorithms.c -- the object behind the algorithms, and the checks they share. */
#include <stdarg.h>
#include <stdio.h>

#include "algorithms/room.h"

static const char *const module_names[ALG_MODULES] = {"sort", "reduce", "scan", "select", "sparse", "solve", "dense"};

HdStatus hd_algorithms_new(HdContext *ctx, HdStream *stream, const HdModuleOptions *options, HdAlgorithms **out) {
  HD_TRY(hdhost_check_new(ctx, stream, "hd_algorithms_new", out));
  HdAlgorithms *a = hdhost_alloc(ctx, sizeof *a);
  if (!a) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_algorithms_new", "", "");
  a->ctx = ctx;
  a->stream = stream;
  a->device = hd_stream_device(stream);
  a->options = options ? *options : (HdModuleOptions)HD_MODULE_OPTIONS_INIT;
  *out = a;
  return HD_OK;
}

void hd_algorithms_trim(HdAlgorithms *a) {
  for (int s = 0; s < ALG_SLOTS; s++) {
    for (int32_t i = 0; i < a->scratch[s].count; i++) hd_array_free(a->ctx, &a->scratch[s].array[i]);
    a->scratch[s].count = 0;
  }
}

void hd_algorithms_free(HdAlgorithms *a) {
  if (!a) return;
  hd_algorithms_trim(a);
  for (int m = 0; m < ALG_MODULES; m++)
    if (a->module[m]) hd_module_free(a->module[m]);
  for (int k = 0; k < ALG_FFTS; k++)
    if (a->fft[k]) hd_module_free(a->fft[k]);
  for (int k = 0; k < 2; k++) hd_array_free(a->ctx, &a->roots[k]);
  hdhost_release(a->ctx, a, sizeof *a);
}

HdStatus hdalg_kernel(HdAlgorithms *a, AlgModule module, const char *name, HdKernel **out) {
  if (!a->module[module]) {
    char file[64];
    snprintf(file, sizeof file, "algorithms/%s.hd", module_names[module]);
    HD_TRY(hdhost_open(a->ctx, file, hdalg_source(module_names[module]), &a->options, &a->module[module]));
  }
  return hd_module_kernel(a->module[module], name, a->device, out);
}

HdStatus hdalg_scratch(HdAlgorithms *a, AlgSlot slot, HdType type, int64_t n, HdArray *out) {
  AlgScratch *s = &a->scratch[slot];
  int64_t words = (n * type.size + 7) / 8, have = s->count ? s->array[s->count - 1].length[0] : -1;
  if (words > have) {
    int64_t length = words > 2 * have ? words : 2 * have;
    HD_TRY(hd_array_new(a->ctx, a->device, hd_type_scalar(HD_U64), 1, &length, &s->array[s->count]));
    s->count++;
  }
  *out = s->array[s->count - 1];
  out->type = type;
  out->length[0] = n;
  out->owner = NULL;
  return HD_OK;
}

HdArray hdalg_part(HdArray x, int64_t begin, int64_t n) {
  x.data = (char *)x.data + begin * x.stride[0] * (int64_t)x.type.size;
  x.length[0] = n;
  x.owner = NULL;
  return x;
}

static const HdScalar numbers[] = {HD_I32, HD_U32, HD_I64, HD_F32, HD_F64};

static bool is_number(HdType type) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (hdalg_is_scalar(type, numbers[i])) return true;
  return false;
}

HdStatus hdalg_number_kernel(HdAlgorithms *a, AlgModule module, const char *name, HdType type, HdKernel **out) {
  char text[64], full[96];
  snprintf(full, sizeof full, "%s_%s", name, hd_type_name(type, text));
  return hdalg_kernel(a, module, full, out);
}

/* --- checks --- */

HdStatus hdalg_fail(HdAlgorithms *a, HdStatus status, const char *call, const char *arg, const char *format, ...) {
  char detail[256];
  va_list list;
  va_start(list, format);
  vsnprintf(detail, sizeof detail, format, list);
  va_end(list);
  return hd_context_fail(a->ctx, status, call, arg, detail);
}

HdStatus hdalg_check_array(HdAlgorithms *a, const char *call, const char *arg, HdArray x) {
  if (x.ndim != 1) return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted one axis, got %d", x.ndim);
  if (x.length[0] > INT32_MAX)
    return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted fewer than 2^31 elements, got %lld", (long long)x.length[0]);
  if (x.device.kind != a->device.kind || x.device.index != a->device.index)
    return hdalg_fail(a, HD_ERR_DEVICE, call, arg, "it lies on another device than the stream's");
  return HD_OK;
}

HdStatus hdalg_check_length(HdAlgorithms *a, const char *call, const char *arg, HdArray x, int64_t length) {
  HD_TRY(hdalg_check_array(a, call, arg, x));
  if (x.length[0] != length)
    return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted %lld elements, got %lld", (long long)length,
                      (long long)x.length[0]);
  return HD_OK;
}

bool hdalg_is_scalar(HdType type, HdScalar scalar) { return hd_type_equal(type, hd_type_scalar(scalar)); }

HdStatus hdalg_check_scalar(HdAlgorithms *a, const char *call, const char *arg, HdArray x, HdScalar scalar) {
  char wanted[64], got[64];
  HD_TRY(hdalg_check_array(a, call, arg, x));
  if (!hdalg_is_scalar(x.type, scalar))
    return hdalg_fail(a, HD_ERR_TYPE, call, arg, "wanted %s, got %s", hd_type_name(hd_type_scalar(scalar), wanted),
                      hd_type_name(x.type, got));
  return HD_OK;
}

HdStatus hdalg_check_number(HdAlgorithms *a, const char *call, const char *arg, HdArray x) {
  char got[64];
  HD_TRY(hdalg_check_array(a, call, arg, x));
  if (!is_number(x.type))
    return hdalg_fail(a, HD_ERR_TYPE, call, arg, "wanted i32, u32, i64, f32 or f64, got %s", hd_type_name(x.type, got));
  return HD_OK;
}

HdStatus hdalg_check_room(HdAlgorithms *a, const char *call, const char *arg, HdArray x, HdScalar scalar,
                          int64_t least) {
  HD_TRY(hdalg_check_scalar(a, call, arg, x, scalar));
  if (x.length[0] < least)
    return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted room for %lld elements, got %lld", (long long)least,
                      (long long)x.length[0]);
  return HD_OK;
}
