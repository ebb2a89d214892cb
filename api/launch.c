/* api/launch.c -- checking a launch's arguments and putting them into the kernel's argument block.
 *
 * On the way of a launch that is right there is no allocation, no lock and no call that is not needed: a launch of little
 * work costs well under a microsecond.
 */
#include <stdio.h>

#include "api/modules.h"
#include "backends/nvptx/nvptx.h"

/* --- what is wrong, in words --- */

static const char *wanted_text(const RtParam *p, char *out, size_t size) {
  static const char *const axes[] = {"", "[]", "[,]", "[,,]", "[,,,]"};
  char name[64];
  snprintf(out, size, p->ndim ? "an array %s%s" : "a value of type %s%s", hd_type_name(p->type, name), axes[p->ndim]);
  return out;
}

static const char *got_text(const HdArg *arg, char *out, size_t size) {
  char name[64];
  if (!arg->array)
    snprintf(out, size, "a value of type %s", hd_type_name(arg->type, name));
  else if (arg->array->ndim < 1 || arg->array->ndim > HD_MAX_DIMS)
    snprintf(out, size, "an array that was freed or never made");
  else
    hdapi_shape_text(arg->array->type, arg->array->ndim, arg->array->length, out, size);
  return out;
}

static HdStatus bad_arg(HdContext *ctx, HdStatus status, int32_t i, const RtParam *p, const HdArg *arg) {
  char label[64], want[128], got[192];
  snprintf(label, sizeof label, "args[%d] '%.40s'", i, p->name);
  return hdb_fail(&ctx->err, status, label, "wanted %s, got %s", wanted_text(p, want, sizeof want),
                  got_text(arg, got, sizeof got));
}

static HdStatus bad_device(HdContext *ctx, int32_t i, const RtParam *p, HdDevice want, HdDevice got) {
  char label[64];
  snprintf(label, sizeof label, "args[%d] '%.40s'", i, p->name);
  return hdb_fail(&ctx->err, HD_ERR_DEVICE, label, "wanted an array on device '%s', got one on '%s'",
                  hdapi_device_name(want), hdapi_device_name(got));
}

static HdStatus bad_count(HdContext *ctx, const RtSignature *s, int32_t nargs) {
  char list[300] = "";
  size_t n = 0;
  for (uint32_t i = 0; i < s->nparams && n < sizeof list; i++)
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", s->params[i].name);
  return hdb_fail(&ctx->err, HD_ERR_COUNT, "nargs", "kernel '%s' wants %u (%s), got %d", s->kernel, s->nparams, list,
                  nargs);
}

static HdStatus bad_group(HdContext *ctx, const RtSignature *s, int32_t ndim, int64_t got) {
  char arg[32];
  snprintf(arg, sizeof arg, "dim[%d]", ndim - 1);
  return hdb_fail(&ctx->err, HD_ERR_DIM, arg, "kernel '%s' runs in groups of %d threads: wanted a multiple, got %lld",
                  s->kernel, s->group, (long long)got);
}

/* --- checks --- */

static HdStatus check_dims(HdContext *ctx, const RtSignature *s, int32_t ndim, const int64_t dim[], RtLaunch *l) {
  if (ndim < 1 || ndim > HD_MAX_DIMS)
    return hdb_fail(&ctx->err, HD_ERR_DIM, "ndim", "wanted 1 to %d dimensions, got %d", HD_MAX_DIMS, ndim);
  if (!dim) return hdb_fail(&ctx->err, HD_ERR_ARG, "dim", "it is NULL");
  if (s->rank > 0 && ndim != s->rank)
    return hdb_fail(&ctx->err, HD_ERR_DIM, "ndim", "kernel '%s' uses %d axes of the launch, got %d", s->kernel, s->rank,
                    ndim);
  if (s->group && dim[ndim - 1] % s->group) return bad_group(ctx, s, ndim, dim[ndim - 1]);
  int64_t total = 1;
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) {
    l->dim[k] = k < ndim ? dim[k] : 1;
    if (l->dim[k] < 0 || l->dim[k] > INT32_MAX) {
      char arg[32];
      snprintf(arg, sizeof arg, "dim[%d]", k);
      return hdb_fail(&ctx->err, HD_ERR_DIM, arg, "wanted 0 to %d, got %lld", INT32_MAX, (long long)l->dim[k]);
    }
    if (l->dim[k] && __builtin_mul_overflow(total, l->dim[k], &total))
      return hdb_fail(&ctx->err, HD_ERR_DIM, "dim", "the launch has more than 2^63 threads");
  }
  l->ndim = ndim;
  /* A kernel that never asks where it is runs along one axis, if that is long enough to hold all. */
  for (int32_t k = 0; s->rank == 0 && k < ndim; k++) total = l->dim[k] ? total : 0;
  if (s->rank == 0 && total <= INT32_MAX) {
    l->ndim = 1;
    l->dim[0] = total;
    l->dim[1] = l->dim[2] = l->dim[3] = 1;
  }
  return HD_OK;
}

/* An array into the block; *dense becomes false if its elements leave gaps. */
static HdStatus put_array(const HdKernel *k, int32_t i, const RtParam *p, const HdArg *arg, char *block, bool *dense) {
  HdContext *ctx = k->module->ctx;
  const HdArray *a = arg->array;
  if (a->ndim != p->ndim || !hd_type_equal(a->type, p->type))
    return bad_arg(ctx, a->ndim != p->ndim && hd_type_equal(a->type, p->type) ? HD_ERR_SHAPE : HD_ERR_TYPE, i, p, arg);
  if (a->device.kind != k->device.kind || a->device.index != k->device.index)
    return bad_device(ctx, i, p, k->device, a->device);
  char *at = block + p->offset;
  int64_t step = 1;
  bool gaps = false, empty = false;
  for (int32_t d = a->ndim - 1; d >= 0; d--) {
    if (a->length[d] != 1 && a->stride[d] != step) gaps = true;
    if (a->length[d] <= 0) empty = true;
    step = (int64_t)((uint64_t)step * (uint64_t)a->length[d]); /* of an array that nobody made, it might overflow */
  }
  for (int32_t d = 0; empty && d < a->ndim; d++)
    if (a->length[d] < 0) return bad_arg(ctx, HD_ERR_SHAPE, i, p, arg);
  if (!a->data && !empty) return bad_arg(ctx, HD_ERR_ARG, i, p, arg);
  /* The dense variant of a GPU's code computes in 32 bits, and loads and stores parts of an element at once. */
  if (!gaps && k->device.kind == HD_DEVICE_CUDA)
    gaps = step > PTX_SMALL || (uintptr_t)a->data % hdptx_array_align(p->type.size) != 0;
  if (gaps && !empty) *dense = false;
  memcpy(at, &a->data, 8);
  memcpy(at + 8, a->length, (size_t)a->ndim * 8);
  memcpy(at + 8 + (size_t)a->ndim * 8, a->stride, (size_t)a->ndim * 8);
  return HD_OK;
}

HdStatus hdapi_put_args(const HdKernel *k, int32_t nargs, const HdArg args[], char *block, int *variant) {
  bool dense = true;
  const RtSignature *s = &k->of->sig;
  HdContext *ctx = k->module->ctx;
  if (nargs < 0 || (uint32_t)nargs != s->nparams) return bad_count(ctx, s, nargs);
  if (nargs && !args) return hdb_fail(&ctx->err, HD_ERR_ARG, "args", "it is NULL");
  for (int32_t i = 0; i < nargs; i++) {
    const RtParam *p = &s->params[i];
    const HdArg *arg = &args[i];
    if ((arg->array != NULL) != (p->ndim > 0)) return bad_arg(ctx, HD_ERR_TYPE, i, p, arg);
    if (p->ndim) {
      HD_TRY(put_array(k, i, p, arg, block, &dense));
      continue;
    }
    if (!hd_type_equal(arg->type, p->type)) return bad_arg(ctx, HD_ERR_TYPE, i, p, arg);
    if (!arg->data && p->type.size > sizeof arg->inl) return bad_arg(ctx, HD_ERR_ARG, i, p, arg);
    /* A small scalar stands in the low bytes of the union: little endian. */
    memcpy(block + p->offset, arg->data ? arg->data : &arg->inl, p->type.size);
  }
  *variant = dense ? CODE_DENSE : CODE_GENERAL;
  return HD_OK;
}

static HdStatus check_stream(const HdKernel *k, const HdStream *stream) {
  HdContext *ctx = k->module->ctx;
  if (!stream) return hdb_fail(&ctx->err, HD_ERR_ARG, "stream", "it is NULL");
  if (stream->ctx != ctx) return hdb_fail(&ctx->err, HD_ERR_DEVICE, "stream", "it belongs to another context");
  if (stream->device.kind != k->device.kind || stream->device.index != k->device.index)
    return hdb_fail(&ctx->err, HD_ERR_DEVICE, "stream", "kernel '%s' was made for device '%s', the stream for '%s'",
                    k->of->sig.kernel, hdapi_device_name(k->device), hdapi_device_name(stream->device));
  return HD_OK;
}

/* --- the launch --- */

static HdStatus launch(HdKernel *k, HdStream *stream, int32_t ndim, const int64_t dim[], int32_t nargs,
                       const HdArg args[]) {
  _Alignas(64) char block[RT_MAX_ARGS];
  RtLaunch l;
  RtFaultCopy fault;
  int variant;
  HD_TRY(check_stream(k, stream));
  HD_TRY(check_dims(k->module->ctx, &k->of->sig, ndim, dim, &l));
  HD_TRY(hdapi_put_args(k, nargs, args, block, &variant));
  HD_TRY(hdapi_kernel_code(k, variant, &l.code));
  l.args = block;
  HdContext *ctx = k->module->ctx;
  HD_TRY(hdrt_stream_launch(stream->rt, &l, k->of->sig.args_size, &ctx->err));
  if (!stream->rt->async) hdapi_take_text(stream);
  if (!stream->rt->faulted) return HD_OK;
  HdStatus status = hdrt_stream_wait(stream->rt, &fault, &ctx->err);
  return fault.status != HD_OK ? hdapi_fault(ctx, &fault) : status;
}

HdStatus hd_launch(HdKernel *kernel, HdStream *stream, int32_t ndim, const int64_t dim[], int32_t nargs,
                   const HdArg args[]) {
  if (!kernel) return HD_ERR_ARG;
  HdContext *ctx = kernel->module->ctx;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_launch", launch(kernel, stream, ndim, dim, nargs, args));
}
