/* api/array.c -- arrays, their views, and moving their elements. */
#include <stdarg.h>
#include <stdio.h>

#include "api/api.h"

/* --- checks --- */

bool hdapi_type_valid(HdType t) {
  HdScalar s = (HdScalar)t.scalar;
  if (t.kind != HD_KIND_STRUCT && (s < HD_BOOL || s > HD_F64)) return false;
  switch ((HdKind)t.kind) {
  case HD_KIND_SCALAR: return hd_type_equal(t, hd_type_scalar(s));
  case HD_KIND_VEC: return t.rows >= 1 && hd_type_equal(t, hd_type_vec(s, t.rows));
  case HD_KIND_MAT: return t.rows >= 1 && t.cols >= 1 && hd_type_equal(t, hd_type_mat(s, t.rows, t.cols));
  case HD_KIND_QUAT: return hd_type_equal(t, hd_type_quat(s));
  case HD_KIND_TRANSFORM: return hd_type_equal(t, hd_type_transform(s));
  case HD_KIND_SPATIAL: return hd_type_equal(t, hd_type_spatial(s));
  case HD_KIND_STRUCT: return t.size > 0 && hd_type_equal(t, hd_type_struct(t.size));
  }
  return false;
}

const char *hdapi_shape_text(HdType type, int32_t ndim, const int64_t length[], char *out, size_t size) {
  char name[64];
  size_t n = (size_t)snprintf(out, size, "%s[", hd_type_name(type, name));
  for (int32_t k = 0; k < ndim && n < size; k++)
    n += (size_t)snprintf(out + n, size - n, "%s%lld", k ? ", " : "", (long long)length[k]);
  if (n < size) snprintf(out + n, size - n, "]");
  return out;
}

static HdStatus null_arg(HdContext *ctx, const char *arg) { return hdb_fail(&ctx->err, HD_ERR_ARG, arg, "it is NULL"); }

static HdStatus too_large(HdContext *ctx, const char *arg, int32_t axis, int64_t length) {
  HdStatus status = hdb_fail(&ctx->err, HD_ERR_SHAPE, arg,
                             "with axis %d of length %lld the array has more than 2^63 bytes", axis, (long long)length);
  ctx->err.remedy = "make the array smaller";
  return status;
}

static HdStatus check_shape(HdContext *ctx, HdType type, int32_t ndim, const int64_t length[], int64_t *bytes) {
  if (!hdapi_type_valid(type))
    return hdb_fail(&ctx->err, HD_ERR_TYPE, "type", "it is no element type; hd_type_scalar and its like make one");
  if (ndim < 1 || ndim > HD_MAX_DIMS)
    return hdb_fail(&ctx->err, HD_ERR_SHAPE, "ndim", "wanted 1 to %d axes, got %d", HD_MAX_DIMS, ndim);
  if (!length) return null_arg(ctx, "length");
  int64_t total = type.size;
  bool empty = false;
  for (int32_t k = 0; k < ndim; k++) {
    char arg[32];
    snprintf(arg, sizeof arg, "length[%d]", k);
    if (length[k] < 0)
      return hdb_fail(&ctx->err, HD_ERR_SHAPE, arg, "axis %d has length %lld; wanted 0 or more", k,
                      (long long)length[k]);
    if (length[k] == 0)
      empty = true;
    else if (__builtin_mul_overflow(total, length[k], &total))
      return too_large(ctx, arg, k, length[k]);
  }
  *bytes = empty ? 0 : total;
  return HD_OK;
}

/* Every offset in bytes fits an int64_t, so that no view of the array can overflow. */
static HdStatus check_strides(HdContext *ctx, HdType type, int32_t ndim, const int64_t length[], const int64_t stride[],
                              const char *arg) {
  int64_t reach = type.size, step;
  for (int32_t k = 0; k < ndim; k++) {
    if (length[k] < 2) continue;
    bool fits = stride[k] != INT64_MIN &&
                !__builtin_mul_overflow(stride[k] < 0 ? -stride[k] : stride[k], length[k] - 1, &step) &&
                !__builtin_mul_overflow(step, (int64_t)type.size, &step) &&
                !__builtin_add_overflow(reach, step, &reach);
    if (!fits)
      return hdb_fail(&ctx->err, HD_ERR_SHAPE, arg,
                      "with stride %lld and length %lld axis %d reaches further than 2^63 bytes", (long long)stride[k],
                      (long long)length[k], k);
  }
  return HD_OK;
}

/* An array that was passed by value: hd_array_new and its like made it, or a careless program did. */
static HdStatus check_array(HdContext *ctx, const HdArray *a, const char *arg) {
  RtDevice *d;
  int64_t bytes;
  if (a->ndim < 1 || a->ndim > HD_MAX_DIMS || !hdapi_type_valid(a->type))
    return hdb_fail(&ctx->err, HD_ERR_ARG, arg, "it is no array (%d axes); was it freed, or never made?", a->ndim);
  HD_TRY(hdapi_device(ctx, a->device, arg, &d));
  HD_TRY(check_shape(ctx, a->type, a->ndim, a->length, &bytes));
  if (!a->data && bytes) return hdb_fail(&ctx->err, HD_ERR_ARG, arg, "its memory is NULL");
  return bytes ? check_strides(ctx, a->type, a->ndim, a->length, a->stride, arg) : HD_OK;
}

static HdStatus check_axis(HdContext *ctx, const HdArray *a, int32_t axis) {
  if (axis >= 0 && axis < a->ndim) return HD_OK;
  return hdb_fail(&ctx->err, HD_ERR_SHAPE, "axis", "wanted 0 to %d, got %d", a->ndim - 1, axis);
}

/* --- life --- */

static void dense_strides(int32_t ndim, const int64_t length[], int64_t stride[]) {
  uint64_t step = 1;
  for (int32_t k = ndim - 1; k >= 0; k--) {
    stride[k] = (int64_t)step;
    step *= length[k] ? (uint64_t)length[k] : 1;
  }
}

static HdArray describe(HdDevice device, HdType type, int32_t ndim, const int64_t length[]) {
  HdArray a;
  memset(&a, 0, sizeof a);
  a.ndim = ndim;
  a.type = type;
  a.device = device;
  for (int32_t k = 0; k < ndim; k++) a.length[k] = length[k];
  dense_strides(ndim, length, a.stride);
  return a;
}

static HdStatus array_new(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[], bool zero,
                          HdArray *out) {
  RtDevice *d;
  int64_t bytes;
  if (!out) return null_arg(ctx, "out");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  HD_TRY(check_shape(ctx, type, ndim, length, &bytes));
  HdArray a = describe(device, type, ndim, length);
  HD_TRY(d->ops->alloc(d, (size_t)bytes, &ctx->err, &a.owner, &a.data));
  HdStatus status = zero && bytes ? d->ops->clear(d, a.data, (size_t)bytes, &ctx->err) : HD_OK;
  if (status == HD_OK)
    *out = a;
  else
    d->ops->free(d, a.owner);
  return status;
}

HdStatus hd_array_new(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                      HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_new", array_new(ctx, device, type, ndim, length, false, out));
}

HdStatus hd_array_zeros(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                        HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_zeros", array_new(ctx, device, type, ndim, length, true, out));
}

static uint32_t alignment(HdType t) { return t.kind == HD_KIND_STRUCT ? 1 : hd_type_scalar((HdScalar)t.scalar).size; }

static HdStatus array_borrow(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                             const int64_t stride[], void *data, HdArray *out) {
  RtDevice *d;
  int64_t bytes;
  if (!out) return null_arg(ctx, "out");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  HD_TRY(check_shape(ctx, type, ndim, length, &bytes));
  if (!data && bytes) return null_arg(ctx, "data");
  if ((uintptr_t)data % alignment(type))
    return hdb_fail(&ctx->err, HD_ERR_ARG, "data", "%p is not aligned to the %u bytes of its scalars", data,
                    alignment(type));
  if (stride && bytes) HD_TRY(check_strides(ctx, type, ndim, length, stride, "stride"));
  HdArray a = describe(device, type, ndim, length);
  if (stride)
    for (int32_t k = 0; k < ndim; k++) a.stride[k] = stride[k];
  a.data = data;
  *out = a;
  return HD_OK;
}

HdStatus hd_array_borrow(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                         const int64_t stride[], void *data, HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_borrow", array_borrow(ctx, device, type, ndim, length, stride, data, out));
}

void hd_array_free(HdContext *ctx, HdArray *array) {
  if (!ctx || !array || !array->owner) return;
  RtDevice *d;
  if (hdapi_device(ctx, array->device, "array", &d) == HD_OK) d->ops->free(d, array->owner);
  memset(array, 0, sizeof *array);
}

static HdStatus new_pinned(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                           HdArray *out) {
  const HdDevice cpu = {HD_DEVICE_CPU, 0};
  RtDevice *d;
  int64_t bytes;
  if (!out) return null_arg(ctx, "out");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  if (device.kind != HD_DEVICE_CUDA) return array_new(ctx, cpu, type, ndim, length, false, out);
  HD_TRY(check_shape(ctx, type, ndim, length, &bytes));
  HdArray a = describe(cpu, type, ndim, length);
  HD_TRY(hdcu_host_block_new((CudaDevice *)d, (size_t)bytes, &ctx->err, &a.owner));
  a.data = hdrt_block_data(a.owner);
  *out = a;
  return HD_OK;
}

HdStatus hd_array_new_pinned(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                             HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_new_pinned", new_pinned(ctx, device, type, ndim, length, out));
}

static HdStatus new_on(HdStream *s, HdType type, int32_t ndim, const int64_t length[], HdArray *out) {
  int64_t bytes;
  if (!out) return null_arg(s->ctx, "out");
  if (s->rt->keeping) return hdapi_keeping(s);
  HD_TRY(check_shape(s->ctx, type, ndim, length, &bytes));
  HdArray a = describe(s->device, type, ndim, length);
  HD_TRY(s->rt->ops->alloc(s->rt, (size_t)bytes, &s->ctx->err, &a.owner, &a.data));
  *out = a;
  return HD_OK;
}

HdStatus hd_array_new_on(HdStream *stream, HdType type, int32_t ndim, const int64_t length[], HdArray *out) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_array_new_on", new_on(stream, type, ndim, length, out));
}

static HdStatus free_on(HdStream *s, HdArray *a) {
  if (!a || !a->owner) return HD_OK;
  if (s->rt->keeping) return hdapi_keeping(s);
  if (a->device.kind != s->device.kind || a->device.index != s->device.index)
    return hdb_fail(&s->ctx->err, HD_ERR_DEVICE, "array", "it is on device '%s', the stream was made for '%s'",
                    hdapi_device_name(a->device), hdapi_device_name(s->device));
  s->rt->ops->release(s->rt, a->owner);
  memset(a, 0, sizeof *a);
  return HD_OK;
}

HdStatus hd_array_free_on(HdStream *stream, HdArray *array) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_array_free_on", free_on(stream, array));
}

/* --- facts --- */

int64_t hd_array_count(HdArray a) {
  int64_t n = 1;
  for (int32_t k = 0; k < a.ndim; k++) n *= a.length[k];
  return a.ndim > 0 ? n : 0;
}

bool hd_array_is_dense(HdArray a) {
  int64_t step = 1;
  for (int32_t k = a.ndim - 1; k >= 0; k--) {
    if (a.length[k] != 1 && a.stride[k] != step) return hd_array_count(a) == 0;
    step *= a.length[k];
  }
  return true;
}

/* --- views --- */

static void move_data(HdArray *a, int64_t elements) {
  if (elements) a->data = (char *)a->data + elements * (int64_t)a->type.size;
}

static HdStatus slice(HdContext *ctx, HdArray a, int32_t axis, int64_t begin, int64_t end, int64_t step, HdArray *out) {
  if (!out) return null_arg(ctx, "out");
  HD_TRY(check_array(ctx, &a, "a"));
  HD_TRY(check_axis(ctx, &a, axis));
  int64_t n = a.length[axis];
  if (step == 0) return hdb_fail(&ctx->err, HD_ERR_SHAPE, "step", "it is 0; wanted 1 or more, or -1 or less");
  bool ok = step > 0 ? begin >= 0 && begin <= end && end <= n : end >= -1 && end <= begin && begin < n;
  if (!ok)
    return hdb_fail(&ctx->err, HD_ERR_SHAPE, "begin, end",
                    "%lld to %lld by %lld does not lie in axis %d of length %lld", (long long)begin, (long long)end,
                    (long long)step, axis, (long long)n);
  uint64_t distance = step > 0 ? (uint64_t)(end - begin) : (uint64_t)(begin - end);
  uint64_t size = step > 0 ? (uint64_t)step : -(uint64_t)step;
  a.length[axis] = (int64_t)(distance / size + (distance % size != 0));
  if (a.length[axis]) move_data(&a, begin * a.stride[axis]);
  /* With at most one element the stride means nothing, and the product might not fit. */
  if (a.length[axis] > 1) a.stride[axis] *= step;
  a.owner = NULL;
  *out = a;
  return HD_OK;
}

HdStatus hd_array_slice(HdContext *ctx, HdArray a, int32_t axis, int64_t begin, int64_t end, int64_t step,
                        HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_slice", slice(ctx, a, axis, begin, end, step, out));
}

static HdStatus transpose(HdContext *ctx, HdArray a, const int32_t order[], HdArray *out) {
  if (!out) return null_arg(ctx, "out");
  if (!order) return null_arg(ctx, "order");
  HD_TRY(check_array(ctx, &a, "a"));
  HdArray r = a;
  unsigned seen = 0;
  for (int32_t k = 0; k < a.ndim; k++) {
    char arg[32];
    snprintf(arg, sizeof arg, "order[%d]", k);
    if (order[k] < 0 || order[k] >= a.ndim || (seen & 1u << order[k]))
      return hdb_fail(&ctx->err, HD_ERR_SHAPE, arg, "axis %d; wanted each of 0 to %d once", order[k], a.ndim - 1);
    seen |= 1u << order[k];
    r.length[k] = a.length[order[k]];
    r.stride[k] = a.stride[order[k]];
  }
  r.owner = NULL;
  *out = r;
  return HD_OK;
}

HdStatus hd_array_transpose(HdContext *ctx, HdArray a, const int32_t order[], HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_transpose", transpose(ctx, a, order, out));
}

/* Strides for r's lengths over a's memory, or false if a's gaps do not allow it: groups of axes of equal size on both
 * sides are matched, and each group of a must be one run (as in NumPy). Neither is empty. */
static bool regroup(const HdArray *a, HdArray *r) {
  int64_t length[HD_MAX_DIMS], stride[HD_MAX_DIMS];
  int32_t n = 0;
  for (int32_t k = 0; k < a->ndim; k++) {
    if (a->length[k] == 1) continue;
    length[n] = a->length[k];
    stride[n++] = a->stride[k];
  }
  int32_t i = 0, j = 0;
  while (i < n) {
    int32_t j0 = j;
    int64_t have = length[i++], want = r->length[j++];
    while (have != want) {
      if (have < want) {
        if (stride[i - 1] != stride[i] * length[i]) return false;
        have *= length[i++];
      } else {
        want *= r->length[j++];
      }
    }
    int64_t step = stride[i - 1];
    for (int32_t k = j - 1; k >= j0; k--) {
      r->stride[k] = step;
      step *= r->length[k];
    }
  }
  for (; j < r->ndim; j++) r->stride[j] = 1; /* lengths of 1 */
  return true;
}

static HdStatus reshape(HdContext *ctx, HdArray a, int32_t ndim, const int64_t length[], HdArray *out) {
  int64_t bytes;
  char from[160], to[160];
  if (!out) return null_arg(ctx, "out");
  HD_TRY(check_array(ctx, &a, "a"));
  HD_TRY(check_shape(ctx, a.type, ndim, length, &bytes));
  HdArray r = describe(a.device, a.type, ndim, length);
  r.data = a.data;
  if (hd_array_count(r) != hd_array_count(a))
    return hdb_fail(&ctx->err, HD_ERR_SHAPE, "length", "%s has %lld elements, %s has %lld",
                    hdapi_shape_text(a.type, a.ndim, a.length, from, sizeof from), (long long)hd_array_count(a),
                    hdapi_shape_text(a.type, ndim, length, to, sizeof to), (long long)hd_array_count(r));
  if (bytes && !regroup(&a, &r)) {
    HdStatus status = hdb_fail(&ctx->err, HD_ERR_SHAPE, "a",
                               "%s cannot be viewed as %s: its strides leave gaps between the axes to join",
                               hdapi_shape_text(a.type, a.ndim, a.length, from, sizeof from),
                               hdapi_shape_text(a.type, ndim, length, to, sizeof to));
    ctx->err.remedy = "copy it into a dense array with hd_array_copy first";
    return status;
  }
  *out = r;
  return HD_OK;
}

HdStatus hd_array_reshape(HdContext *ctx, HdArray a, int32_t ndim, const int64_t length[], HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_reshape", reshape(ctx, a, ndim, length, out));
}

static HdStatus expand(HdContext *ctx, HdArray a, int32_t axis, int64_t length, HdArray *out) {
  int64_t bytes;
  if (!out) return null_arg(ctx, "out");
  HD_TRY(check_array(ctx, &a, "a"));
  HD_TRY(check_axis(ctx, &a, axis));
  if (a.length[axis] != 1) {
    HdStatus status =
        hdb_fail(&ctx->err, HD_ERR_SHAPE, "axis", "axis %d has length %lld; only an axis of length 1 can be repeated",
                 axis, (long long)a.length[axis]);
    ctx->err.remedy = "slice the axis to one element, or reshape the array to have an axis of length 1 there";
    return status;
  }
  a.length[axis] = length;
  HD_TRY(check_shape(ctx, a.type, a.ndim, a.length, &bytes));
  a.stride[axis] = 0;
  a.owner = NULL;
  *out = a;
  return HD_OK;
}

HdStatus hd_array_expand(HdContext *ctx, HdArray a, int32_t axis, int64_t length, HdArray *out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_array_expand", expand(ctx, a, axis, length, out));
}

/* --- moving elements --- */

/* Of a checked array. */
static RtView view_of(HdContext *ctx, const HdArray *a) {
  RtView v = {.data = a->data, .ndim = a->ndim, .elem = a->type.size};
  if (a->device.kind == HD_DEVICE_CUDA) v.on = &ctx->cuda.device[a->device.index].base;
  for (int32_t k = 0; k < a->ndim; k++) {
    v.length[k] = a->length[k];
    v.stride[k] = a->stride[k];
  }
  return v;
}

HdStatus hdapi_array_view(HdContext *ctx, const HdArray *a, const char *arg, RtView *out) {
  HD_TRY(check_array(ctx, a, arg));
  *out = view_of(ctx, a);
  return HD_OK;
}

static bool same_shape(const HdArray *a, const HdArray *b) {
  if (a->ndim != b->ndim) return false;
  for (int32_t k = 0; k < a->ndim; k++)
    if (a->length[k] != b->length[k]) return false;
  return true;
}

static HdStatus copy(HdStream *s, const HdArray *from, const HdArray *to) {
  HdContext *ctx = s->ctx;
  char want[160], got[160];
  HD_TRY(check_array(ctx, from, "from"));
  HD_TRY(check_array(ctx, to, "to"));
  HdStatus bad = !hd_type_equal(from->type, to->type) ? HD_ERR_TYPE : !same_shape(from, to) ? HD_ERR_SHAPE : HD_OK;
  if (bad != HD_OK)
    return hdb_fail(&ctx->err, bad, "to", "wanted %s as 'from' is, got %s",
                    hdapi_shape_text(from->type, from->ndim, from->length, want, sizeof want),
                    hdapi_shape_text(to->type, to->ndim, to->length, got, sizeof got));
  RtView f = view_of(ctx, from), t = view_of(ctx, to);
  return hdrt_stream_copy(s->rt, &f, &t, &ctx->err);
}

HdStatus hd_array_copy(HdStream *stream, HdArray from, HdArray to) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_array_copy", copy(stream, &from, &to));
}

static HdStatus clear(HdStream *s, const HdArray *a) {
  HD_TRY(check_array(s->ctx, a, "a"));
  RtView v = view_of(s->ctx, a);
  return hdrt_stream_clear(s->rt, &v, &s->ctx->err);
}

HdStatus hd_array_clear(HdStream *stream, HdArray a) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_array_clear", clear(stream, &a));
}
