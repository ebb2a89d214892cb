/* texture/texture.c -- textures: checked, made, read, written, passed to kernels. */
#include "heddle/texture.h"

#include <stdio.h>
#include <string.h>

#include "host/host.h"

const char *hdtex_source(const char *name); /* the text of texture/<name>.hd, embedded by the build */

enum { MOST_LEVELS = 25, MOST_SIZE = 1 << 24, ALIGN = 4 }; /* a level begins at a multiple of ALIGN words */

struct HdTexture {
  HdContext *ctx;
  HdStream *stream;
  HdTextureOptions options;
  int32_t levels, ndim;
  int32_t size[3], wrap[3];
  int32_t first[MOST_LEVELS + 1]; /* words */
  HdArray words, level_first;     /* u32, i32 */
  HdImage *image;                 /* for the texture units of a GPU; NULL: they are not asked */
  HdModule *module;               /* opened when levels are first made */
  HdKernel *mip;
};

/* --- shapes --- */

static int32_t bytes_of(HdTextureFormat f) { return f == HD_TEXTURE_F32 ? 4 : f == HD_TEXTURE_F16 ? 2 : 1; }

static int32_t level_axis(int32_t n, int32_t level) { return n >> level > 1 ? n >> level : 1; }

static int64_t level_texels(const HdTexture *t, int32_t level) {
  int64_t n = 1;
  for (int a = 0; a < 3; a++) n *= level_axis(t->size[a], level);
  return n;
}

static int64_t level_bytes(const HdTexture *t, int32_t level) {
  return level_texels(t, level) * t->options.channels * bytes_of(t->options.format);
}

static int64_t level_words(const HdTexture *t, int32_t level) { return (level_bytes(t, level) + 3) / 4; }

/* Levels down to a single texel. */
static int32_t levels_of(const int32_t size[3]) {
  int32_t n = 1;
  while (level_axis(size[0], n - 1) > 1 || level_axis(size[1], n - 1) > 1 || level_axis(size[2], n - 1) > 1) n++;
  return n;
}

static HdStatus out_of_range(HdContext *ctx, const char *arg, const char *wanted, int64_t got) {
  char why[256];
  snprintf(why, sizeof why, "wanted %s, got %lld", wanted, (long long)got);
  return hd_context_fail(ctx, HD_ERR_ARG, "hd_texture_new", arg, why);
}

static HdStatus check_options(HdContext *ctx, const HdTextureOptions *o) {
  const int64_t format = o->format, filter = o->filter, mip = o->mip_filter;
  if (format < HD_TEXTURE_F32 || format > HD_TEXTURE_U8)
    return out_of_range(ctx, "options->format", "HD_TEXTURE_F32, _F16 or _U8", format);
  if (o->channels != 1 && o->channels != 2 && o->channels != 4)
    return out_of_range(ctx, "options->channels", "1, 2 or 4", o->channels);
  for (int a = 0; a < 3; a++) {
    const int64_t wrap = o->wrap[a];
    if (wrap < HD_TEXTURE_REPEAT || wrap > HD_TEXTURE_BORDER)
      return out_of_range(ctx, "options->wrap", "HD_TEXTURE_REPEAT, _CLAMP, _MIRROR or _BORDER", wrap);
  }
  if (filter != HD_TEXTURE_NEAREST && filter != HD_TEXTURE_LINEAR)
    return out_of_range(ctx, "options->filter", "HD_TEXTURE_NEAREST or _LINEAR", filter);
  if (mip != HD_TEXTURE_NEAREST && mip != HD_TEXTURE_LINEAR)
    return out_of_range(ctx, "options->mip_filter", "HD_TEXTURE_NEAREST or _LINEAR", mip);
  return HD_OK;
}

/* Sizes and levels, and where each level begins. */
static HdStatus lay_out(HdTexture *t, int32_t ndim, const int64_t size[]) {
  const char *call = "hd_texture_new";
  const HdTextureOptions *o = &t->options;
  char why[160];
  int64_t word = 0, numbers = 0;
  if (ndim < 1 || ndim > 3) return hd_context_fail(t->ctx, HD_ERR_SHAPE, call, "ndim", "wanted 1, 2 or 3 axes");
  t->ndim = ndim;
  for (int a = 0; a < 3; a++) {
    if (a < ndim && (size[a] < 0 || size[a] > MOST_SIZE)) {
      snprintf(why, sizeof why, "wanted 0 to 2^24 texels along axis %d, got %lld", a, (long long)size[a]);
      return hd_context_fail(t->ctx, HD_ERR_SHAPE, call, "size", why);
    }
    t->size[a] = a < ndim ? (int32_t)size[a] : 1;
    t->wrap[a] = (int32_t)o->wrap[a];
  }
  bool none = !t->size[0] || !t->size[1] || !t->size[2];
  int32_t most = none ? 0 : levels_of(t->size);
  if (!none && (o->levels < 0 || o->levels > most)) {
    snprintf(why, sizeof why, "0 to %d levels", most);
    return out_of_range(t->ctx, "options->levels", why, o->levels);
  }
  t->levels = none || o->levels == 0 ? most : o->levels;
  if (!none && (o->given < 0 || o->given > t->levels)) {
    snprintf(why, sizeof why, "0 to %d given levels", t->levels);
    return out_of_range(t->ctx, "options->given", why, o->given);
  }
  for (int l = 0; l < t->levels; l++) {
    bool flat =
        (int64_t)level_axis(t->size[0], l) * level_axis(t->size[1], l) <= INT32_MAX; /* the third axis fits, too */
    numbers += flat ? level_texels(t, l) * o->channels : (int64_t)1 << 31;
    if (numbers > INT32_MAX)
      return hd_context_fail(t->ctx, HD_ERR_SHAPE, call, "size",
                             "wanted less than 2^31 numbers in all levels together");
    t->first[l] = (int32_t)word;
    word += (level_words(t, l) + ALIGN - 1) / ALIGN * ALIGN;
  }
  t->first[t->levels] = (int32_t)word;
  return HD_OK;
}

/* --- texels --- */

static HdStatus slice(HdTexture *t, int32_t level, HdArray *out) {
  return hd_array_slice(t->ctx, t->words, 0, t->first[level], t->first[level] + level_words(t, level), 1, out);
}

/* A level goes from the words to the image, if there is one. */
static HdStatus to_image(HdTexture *t, int32_t level) {
  HdArray part;
  if (!t->image) return HD_OK;
  HD_TRY(slice(t, level, &part));
  return hd_image_write(t->stream, t->image, level, part);
}

/* A level's bytes between the host and the words. */
static HdStatus transfer(HdTexture *t, int32_t level, const void *from, void *to) {
  HdArray part;
  HostView view;
  HD_TRY(slice(t, level, &part));
  HD_TRY(hdhost_view(t->ctx, t->stream, part, &view));
  if (from) memcpy(view.data, from, (size_t)level_bytes(t, level));
  if (to) memcpy(to, view.data, (size_t)level_bytes(t, level));
  return hdhost_unview(t->ctx, &view, from != NULL);
}

static HdStatus check_level(HdTexture *t, const char *call, int32_t level, const void *texels) {
  char why[96];
  if (level < 0 || level >= t->levels) {
    snprintf(why, sizeof why, "wanted a level below %d, got %d", t->levels, level);
    return hd_context_fail(t->ctx, HD_ERR_ARG, call, "level", why);
  }
  if (!texels) return hd_context_fail(t->ctx, HD_ERR_ARG, call, "texels", "it is NULL");
  return HD_OK;
}

HdStatus hd_texture_write(HdTexture *t, int32_t level, const void *texels) {
  if (!t) return HD_ERR_ARG;
  HD_TRY(check_level(t, "hd_texture_write", level, texels));
  HD_TRY(transfer(t, level, texels, NULL));
  HD_TRY(to_image(t, level));
  return t->image ? hd_stream_wait(t->stream) : HD_OK;
}

HdStatus hd_texture_read(HdTexture *t, int32_t level, void *texels) {
  if (!t) return HD_ERR_ARG;
  HD_TRY(check_level(t, "hd_texture_read", level, texels));
  return transfer(t, level, NULL, texels);
}

static HdStatus make_level(HdTexture *t, int32_t level) {
  int32_t below[3];
  for (int a = 0; a < 3; a++) below[a] = level_axis(t->size[a], level - 1);
  return HDHOST_RUN1(t->mip, t->stream, level_words(t, level), hd_arg_array(&t->words), hd_arg_i32(t->first[level - 1]),
                     hd_arg_i32(t->first[level]), hd_arg_value(hd_type_vec(HD_I32, 3), below),
                     hd_arg_i32((int32_t)level_texels(t, level)), hd_arg_i32((int32_t)t->options.format),
                     hd_arg_i32(t->options.channels));
}

static HdStatus make_levels(HdTexture *t, int32_t from) {
  static const char *const names[] = {"mip", NULL};
  if (from >= t->levels) return HD_OK;
  if (!t->mip) {
    HdKernel *kernel[1];
    hd_module_free(t->module); /* of a call that failed */
    t->module = NULL;
    HD_TRY(hdhost_load(t->ctx, "texture/mip.hd", hdtex_source("mip"), t->words.device, names, &t->module, kernel));
    t->mip = kernel[0];
  }
  for (int32_t l = from; l < t->levels; l++) {
    HD_TRY(make_level(t, l));
    HD_TRY(to_image(t, l));
  }
  return HD_OK;
}

HdStatus hd_texture_make_levels(HdTexture *t) { return t ? make_levels(t, 1) : HD_ERR_ARG; }

/* --- making --- */

static HdStatus fill(HdTexture *t, const void *texels) {
  HdDevice device = hd_stream_device(t->stream);
  const int64_t words = t->first[t->levels], levels = t->levels;
  const uint8_t *at = texels;
  int32_t given = t->options.given < t->levels ? t->options.given : t->levels;
  HostView view;
  if (given > 0 && !texels)
    return hd_context_fail(t->ctx, HD_ERR_ARG, "hd_texture_new", "texels", "it is NULL, and levels are given");
  HD_TRY(hd_array_zeros(t->ctx, device, hd_type_scalar(HD_U32), 1, &words, &t->words));
  HD_TRY(hd_array_new(t->ctx, device, hd_type_scalar(HD_I32), 1, &levels, &t->level_first));
  if (t->levels == 0) return HD_OK;
  HD_TRY(hdhost_view(t->ctx, t->stream, t->level_first, &view));
  memcpy(view.data, t->first, (size_t)levels * sizeof *t->first);
  HD_TRY(hdhost_unview(t->ctx, &view, true));
  for (int32_t l = 0; l < given; at += level_bytes(t, l), l++) HD_TRY(transfer(t, l, at, NULL));
  if (given == 0) return HD_OK; /* all of it is 0 */
  HD_TRY(make_levels(t, given));
  return hd_stream_wait(t->stream);
}

/* Without memory for a second copy of the texels units are not asked. */
static HdStatus make_image(HdTexture *t) {
  const HdTextureOptions *o = &t->options;
  HdImageOptions is = {.scalar = o->format == HD_TEXTURE_F32   ? HD_F32
                                 : o->format == HD_TEXTURE_F16 ? HD_F16
                                                               : HD_U8,
                       .channels = o->channels,
                       .ndim = t->ndim,
                       .levels = t->levels,
                       .linear = o->filter == HD_TEXTURE_LINEAR,
                       .linear_levels = o->mip_filter == HD_TEXTURE_LINEAR};
  if (t->levels == 0 || o->no_units) return HD_OK;
  memcpy(is.size, t->size, sizeof is.size);
  memcpy(is.wrap, t->wrap, sizeof is.wrap);
  memcpy(is.border, o->border, sizeof is.border);
  HdStatus status = hd_image_new(t->ctx, t->words.device, &is, &t->image);
  if (status == HD_ERR_NOMEM && t->words.device.kind == HD_DEVICE_CUDA) return HD_OK;
  HD_TRY(status);
  for (int32_t l = 0; t->image && l < t->levels; l++) HD_TRY(to_image(t, l));
  return t->image ? hd_stream_wait(t->stream) : HD_OK;
}

HdStatus hd_texture_new(HdContext *ctx, HdStream *stream, const HdTextureOptions *options, int32_t ndim,
                        const int64_t size[], const void *texels, HdTexture **out) {
  const char *call = "hd_texture_new";
  const HdTextureOptions usual = HD_TEXTURE_OPTIONS_INIT;
  HD_TRY(hdhost_check_new(ctx, stream, call, out));
  if (!size) return hd_context_fail(ctx, HD_ERR_ARG, call, "size", "it is NULL");
  if (!options) options = &usual;
  HD_TRY(check_options(ctx, options));
  HdTexture *t = hdhost_alloc(ctx, sizeof *t);
  if (!t) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  t->ctx = ctx;
  t->stream = stream;
  t->options = *options;
  HdStatus status = lay_out(t, ndim, size);
  if (status == HD_OK) status = fill(t, texels);
  if (status == HD_OK) status = make_image(t);
  if (status == HD_OK)
    *out = t;
  else
    hd_texture_free(t);
  return status;
}

void hd_texture_free(HdTexture *t) {
  if (!t) return;
  hd_image_free(t->image);
  hd_module_free(t->module);
  hd_array_free(t->ctx, &t->words);
  hd_array_free(t->ctx, &t->level_first);
  hdhost_release(t->ctx, t, sizeof *t);
}

int32_t hd_texture_levels(const HdTexture *t) { return t->levels; }

int64_t hd_texture_size(const HdTexture *t, int32_t level, int32_t size[3]) {
  bool there = level >= 0 && level < t->levels;
  for (int a = 0; size && a < 3; a++) size[a] = there ? level_axis(t->size[a], level) : 0;
  return there ? level_bytes(t, level) : 0;
}

int32_t hd_texture_args(const HdTexture *t, HdArg args[]) {
  const HdType vec3i = hd_type_vec(HD_I32, 3);
  args[0] = hd_arg_array(&t->words);
  args[1] = hd_arg_array(&t->level_first);
  args[2] = hd_arg_value(vec3i, t->size);
  args[3] = hd_arg_value(vec3i, t->wrap);
  args[4] = hd_arg_i32((int32_t)t->options.format);
  args[5] = hd_arg_i32(t->options.channels);
  args[6] = hd_arg_i32(t->levels);
  args[7] = hd_arg_i32((int32_t)t->options.filter);
  args[8] = hd_arg_i32((int32_t)t->options.mip_filter);
  args[9] = hdhost_vec(4, t->options.border);
  args[10] = hd_arg_u64(hd_image_object(t->image));
  return HD_TEXTURE_ARGS;
}
