/* api/image.c -- images for texture units: checked, made, written. */
#include <stdio.h>

#include "api/api.h"

struct HdImage {
  HdContext *ctx;
  HdDevice device;
  CudaImage *rt;
};

static HdStatus out_of_range(HdContext *ctx, const char *arg, const char *wanted, long long got) {
  return hdb_fail(&ctx->err, HD_ERR_ARG, arg, "wanted %s, got %lld", wanted, got);
}

static int32_t most_levels(const HdImageOptions *o) {
  int32_t most = 1;
  for (int32_t a = 0; a < o->ndim; a++)
    while (o->size[a] >> most > 0) most++;
  return most;
}

static HdStatus check(HdContext *ctx, const HdImageOptions *o) {
  if (o->scalar != HD_F32 && o->scalar != HD_F16 && o->scalar != HD_U8)
    return out_of_range(ctx, "options->scalar", "HD_F32, HD_F16 or HD_U8", o->scalar);
  if (o->channels != 1 && o->channels != 2 && o->channels != 4)
    return out_of_range(ctx, "options->channels", "1, 2 or 4", o->channels);
  if (o->ndim < 1 || o->ndim > 3) return out_of_range(ctx, "options->ndim", "1, 2 or 3", o->ndim);
  for (int32_t a = 0; a < o->ndim; a++) {
    if (o->size[a] < 1) return out_of_range(ctx, "options->size", "1 texel or more", o->size[a]);
    if (o->wrap[a] < 0 || o->wrap[a] > 3) return out_of_range(ctx, "options->wrap", "0 to 3", o->wrap[a]);
  }
  if (o->levels < 1 || o->levels > most_levels(o))
    return out_of_range(ctx, "options->levels", "1 or more, down to a single texel", o->levels);
  return HD_OK;
}

static HdStatus image_new(HdContext *ctx, HdDevice device, const HdImageOptions *o, HdImage **out) {
  RtDevice *d;
  CudaImage *rt;
  const char *why;
  if (!o || !out) return hdb_fail(&ctx->err, HD_ERR_ARG, o ? "out" : "options", "it is NULL");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  HD_TRY(check(ctx, o));
  *out = NULL;
  if (device.kind != HD_DEVICE_CUDA) return HD_OK;
  CudaTexels is = {.scalar = o->scalar,
                   .channels = o->channels,
                   .ndim = o->ndim,
                   .levels = o->levels,
                   .linear = o->linear,
                   .linear_levels = o->linear_levels};
  memcpy(is.size, o->size, sizeof is.size);
  memcpy(is.wrap, o->wrap, sizeof is.wrap);
  memcpy(is.border, o->border, sizeof is.border);
  HD_TRY(hdcu_image_new((CudaDevice *)d, &is, &ctx->err, &rt, &why));
  if (!rt) {
    hdapi_log(ctx, HD_LOG_INFO, "no image for the texture units of %s: %s", hdapi_device_name(device), why);
    return HD_OK;
  }
  HdImage *image = ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *image);
  if (!image) {
    hdcu_image_free(rt);
    return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for an image", sizeof *image);
  }
  *image = (HdImage){ctx, device, rt};
  *out = image;
  return HD_OK;
}

HdStatus hd_image_new(HdContext *ctx, HdDevice device, const HdImageOptions *options, HdImage **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_image_new", image_new(ctx, device, options, out));
}

void hd_image_free(HdImage *image) {
  if (!image) return;
  hdcu_image_free(image->rt);
  image->ctx->mem.resize(image->ctx->mem.user, image, sizeof *image, 0);
}

uint64_t hd_image_object(const HdImage *image) { return image ? image->rt->object : 0; }

static HdStatus image_write(HdStream *s, HdImage *image, int32_t level, const HdArray *from) {
  HdContext *ctx = s->ctx;
  RtView f;
  if (!image) return hdb_fail(&ctx->err, HD_ERR_ARG, "image", "it is NULL");
  if (level < 0 || level >= image->rt->is.levels)
    return hdb_fail(&ctx->err, HD_ERR_ARG, "level", "wanted a level below %d, got %d", image->rt->is.levels, level);
  if (image->ctx != ctx) return hdb_fail(&ctx->err, HD_ERR_DEVICE, "image", "it belongs to another context");
  HD_TRY(hdapi_array_view(ctx, from, "from", &f));
  RtView to = hdcu_image_view(image->rt, level);
  if (f.on != to.on || s->device.kind != image->device.kind || s->device.index != image->device.index)
    return hdb_fail(&ctx->err, HD_ERR_DEVICE, f.on != to.on ? "from" : "stream", "it is not of the image's device '%s'",
                    hdapi_device_name(image->device));
  int64_t bytes = to.length[0] * to.length[1] * to.length[2] * (int64_t)to.elem;
  if (!hd_array_is_dense(*from) || hd_array_count(*from) * (int64_t)from->type.size < bytes)
    return hdb_fail(&ctx->err, HD_ERR_SHAPE, "from", "wanted a dense array of %lld bytes or more", (long long)bytes);
  return hdrt_stream_copy(s->rt, &f, &to, &ctx->err);
}

HdStatus hd_image_write(HdStream *stream, HdImage *image, int32_t level, HdArray from) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_image_write", image_write(stream, image, level, &from));
}
