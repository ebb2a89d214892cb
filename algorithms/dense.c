/* algorithms/dense.c -- the host side of algorithms/dense.hd and fft.hd. */
#include <stdio.h>

#include "algorithms/room.h"

enum { GROUP = 256, ROWS = 64 }; /* const GROUP and ROWS of dense.hd */

/* Two axes of fewer than 2^31 elements each, on the stream's device. */
static HdStatus check_matrix(HdAlgorithms *a, const char *call, const char *arg, HdArray x) {
  if (x.ndim != 2) return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted two axes, got %d", x.ndim);
  for (int k = 0; k < 2; k++)
    if (x.length[k] > INT32_MAX)
      return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted fewer than 2^31 elements along axis %d, got %lld", k,
                        (long long)x.length[k]);
  if (x.device.kind != a->device.kind || x.device.index != a->device.index)
    return hdalg_fail(a, HD_ERR_DEVICE, call, arg, "it lies on another device than the stream's");
  return HD_OK;
}

static HdStatus check_axis(HdAlgorithms *a, const char *call, const char *arg, HdArray x, int axis, int64_t length) {
  if (x.length[axis] == length) return HD_OK;
  return hdalg_fail(a, HD_ERR_SHAPE, call, arg, "wanted %lld elements along axis %d, got %lld", (long long)length, axis,
                    (long long)x.length[axis]);
}

HdStatus hd_matmul(HdAlgorithms *a, HdArray x, HdArray y, HdArray out) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_matmul";
  const HdArray arrays[] = {x, y, out};
  const char *const names[] = {"x", "y", "out"};
  char wanted[64], got[64];
  HdKernel *kernel;
  for (int k = 0; k < 3; k++) {
    HD_TRY(check_matrix(a, call, names[k], arrays[k]));
    if (k == 0 && !hdalg_is_scalar(x.type, HD_F32) && !hdalg_is_scalar(x.type, HD_F64))
      return hdalg_fail(a, HD_ERR_TYPE, call, "x", "wanted f32 or f64, got %s", hd_type_name(x.type, got));
    if (!hd_type_equal(arrays[k].type, x.type))
      return hdalg_fail(a, HD_ERR_TYPE, call, names[k], "wanted %s, got %s", hd_type_name(x.type, wanted),
                        hd_type_name(arrays[k].type, got));
  }
  HD_TRY(check_axis(a, call, "y", y, 0, x.length[1]));
  HD_TRY(check_axis(a, call, "out", out, 0, x.length[0]));
  HD_TRY(check_axis(a, call, "out", out, 1, y.length[1]));
  int64_t cols = hdalg_is_scalar(x.type, HD_F32) ? 64 : 32; /* of a block */
  int64_t groups = (out.length[0] + ROWS - 1) / ROWS * ((out.length[1] + cols - 1) / cols);
  if (groups > INT32_MAX / GROUP)
    return hdalg_fail(a, HD_ERR_SHAPE, call, "out", "wanted fewer than 2^23 blocks of 64 x %lld elements, got %lld",
                      (long long)cols, (long long)groups);
  if (groups == 0) return HD_OK;
  HD_TRY(hdalg_number_kernel(a, ALG_DENSE, "matmul", x.type, &kernel));
  return HDHOST_RUN1(kernel, a->stream, groups * GROUP, hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&out));
}

/* The module for rows of n, a power of two. */
static HdStatus fft_kernel(HdAlgorithms *a, int64_t n, const char *name, HdKernel **out) {
  HdModule **module = &a->fft[__builtin_ctzll((unsigned long long)n)];
  if (!*module) {
    char value[24];
    snprintf(value, sizeof value, "%lld", (long long)n);
    HdModuleOptions options = a->options;
    options.ndefines = 1;
    options.defines = &(HdDefine){"N", value};
    HD_TRY(hdhost_open(a->ctx, "algorithms/fft.hd", hdalg_source("fft"), &options, module));
  }
  return hd_module_kernel(*module, name, a->device, out);
}

/* On a stream of its own: the caller's may be recording a graph. */
static HdStatus fill_roots(HdAlgorithms *a, int64_t n, bool single, HdArray roots) {
  HdKernel *kernel;
  HdStream *stream;
  HD_TRY(fft_kernel(a, n, single ? "roots_f32" : "roots_f64", &kernel));
  HD_TRY(hd_stream_new(a->ctx, a->device, HD_STREAM_ASYNC, &stream));
  HdStatus status = HDHOST_RUN1(kernel, stream, roots.length[0], hd_arg_array(&roots));
  if (status == HD_OK) status = hd_stream_wait(stream);
  hd_stream_free(stream);
  return status;
}

/* Those of the longest rows, of which the others need the first ones. */
static HdStatus fft_roots(HdAlgorithms *a, int64_t n, bool single, int64_t most, HdArray *out) {
  HdArray *have = &a->roots[single], made;
  if (!have->data) {
    int64_t count = most / 2;
    HD_TRY(hd_array_new(a->ctx, a->device, hd_type_vec(single ? HD_F32 : HD_F64, 2), 1, &count, &made));
    HdStatus status = fill_roots(a, n, single, made);
    if (status != HD_OK) {
      hd_array_free(a->ctx, &made);
      return status;
    }
    *have = made;
  }
  *out = *have;
  return HD_OK;
}

HdStatus hd_fft(HdAlgorithms *a, HdFft direction, HdArray x) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_fft";
  char name[64];
  HdKernel *kernel;
  if (direction != HD_FFT_FORWARD && direction != HD_FFT_INVERSE)
    return hdalg_fail(a, HD_ERR_ARG, call, "direction", "wanted an HD_FFT_.., got %d", (int)direction);
  HD_TRY(check_matrix(a, call, "x", x));
  bool single = hd_type_equal(x.type, hd_type_vec(HD_F32, 2));
  if (!single && !hd_type_equal(x.type, hd_type_vec(HD_F64, 2)))
    return hdalg_fail(a, HD_ERR_TYPE, call, "x", "wanted vectors of two f32 or f64, got %s",
                      hd_type_name(x.type, name));
  int64_t n = x.length[1], most = single ? 4096 : 2048, group = n / 16 < 32 ? 32 : n / 16;
  if (n < 1 || n > most || (n & (n - 1)) != 0)
    return hdalg_fail(a, HD_ERR_SHAPE, call, "x", "wanted 1, 2, 4, .. or %lld elements along axis 1, got %lld",
                      (long long)most, (long long)n);
  if (x.length[0] > INT32_MAX / group)
    return hdalg_fail(a, HD_ERR_SHAPE, call, "x", "wanted at most %lld rows, got %lld", (long long)(INT32_MAX / group),
                      (long long)x.length[0]);
  if (n == 1 || x.length[0] == 0) return HD_OK;
  HdArray roots;
  HD_TRY(fft_roots(a, n, single, most, &roots));
  HD_TRY(fft_kernel(a, n, single ? "fft_f32" : "fft_f64", &kernel));
  return HDHOST_RUN1(kernel, a->stream, x.length[0] * group, hd_arg_bool(direction == HD_FFT_INVERSE),
                     hd_arg_array(&roots), hd_arg_array(&x));
}
