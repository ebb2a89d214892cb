/* heddle/texture.h -- textures for kernels: texels with a format, wrapping, filters and mip levels.
 *
 * A texture lives on the device of the stream that it was made with, and is changed in that stream's order. A kernel takes it as a
 * parameter `Texture1D`, `Texture2D` or `Texture3D` and asks it with the functions of lib/texture/sampler.hd. Such a struct is
 * passed as its fields, one argument each, which hd_texture_args writes. Texels in host memory lie side by side along x, then
 * y, then z, without gaps, each as its channels. Errors are written to the context's record.
 */
#ifndef HEDDLE_TEXTURE_H
#define HEDDLE_TEXTURE_H

#include "heddle/heddle.h"
HD_BEGIN_DECLS

typedef struct HdTexture HdTexture;

typedef enum HdTextureFormat {
  HD_TEXTURE_F32 = 0,
  HD_TEXTURE_F16, /* uint16_t with the bits of a half                            */
  HD_TEXTURE_U8,  /* 0 to 255 stand for 0 to 1: b / 255, rounded once            */
} HdTextureFormat;

/* What lies beyond [0, 1]. */
typedef enum HdTextureWrap {
  HD_TEXTURE_REPEAT = 0, /* the texture again         */
  HD_TEXTURE_CLAMP,      /* the texel at the edge     */
  HD_TEXTURE_MIRROR,     /* the texture mirrored      */
  HD_TEXTURE_BORDER,     /* the border color          */
} HdTextureWrap;

typedef enum HdTextureFilter {
  HD_TEXTURE_NEAREST = 0,
  HD_TEXTURE_LINEAR,
} HdTextureFilter;

typedef struct HdTextureOptions {
  HdTextureFormat format;
  int32_t         channels;   /* 1, 2 or 4                                                        */
  HdTextureWrap   wrap[3];    /* along x, y, z                                                    */
  HdTextureFilter filter;     /* in a level                                                       */
  HdTextureFilter mip_filter; /* between levels                                                   */
  int32_t         levels;     /* at most down to a single texel; 0: all of these                  */
  int32_t         given;      /* levels whose texels are given, one behind the other; the rest are made as
                                 by hd_texture_make_levels                                        */
  float           border[4];  /* of the channels, whatever the format can hold                    */
  bool            no_units;   /* do not keep a second copy of the texels for a GPU's texture units,
                                 which fast kernels ask                                           */
} HdTextureOptions;
#define HD_TEXTURE_OPTIONS_INIT                                                                                        \
  { HD_TEXTURE_F32, 1, {HD_TEXTURE_CLAMP, HD_TEXTURE_CLAMP, HD_TEXTURE_CLAMP}, HD_TEXTURE_LINEAR, HD_TEXTURE_NEAREST, 1, 1, {0, 0, 0, 0}, false }

/* Make a texture of size[0..ndim) texels: its width, then height, then depth, for ndim from 1 to 3. Level l has max(1, n >> l) texels
 * along an axis of n; the last one that there can be is a single texel. A size of 0 makes a texture without texels or levels, which is its
 * border color everywhere. `options` may be NULL, `texels` if no level is given; those are 0.
 *
 * Ownership  the caller owns *out, until hd_texture_free, at which the stream must be done with it; the texels are copied.
 * Order      waits for the stream.
 * Errors     HD_ERR_ARG names the option that is out of range, or texels that are NULL; HD_ERR_SHAPE for ndim that is not 1 to 3, a size that
 *            is not 0 to 2^24, or 2^31 numbers or more in all levels together; HD_ERR_NOMEM. */
HD_API HdStatus hd_texture_new(HdContext *ctx, HdStream *stream, const HdTextureOptions *options, int32_t ndim,
                               const int64_t size[], const void *texels, HdTexture **out);
HD_API void     hd_texture_free(HdTexture *t); /* NULL is fine */
HD_API int32_t  hd_texture_levels(const HdTexture *t);
/* The texels of a level along each axis, 1 along those that there are not, and the bytes of all of them: 0 if there is no such level.
 * `size` may be NULL. */
HD_API int64_t  hd_texture_size(const HdTexture *t, int32_t level, int32_t size[3]);

/* All texels of one level, from and to host memory. Both wait for the stream.
 *
 * Errors     HD_ERR_ARG for a level that is not there, or texels that are NULL; HD_ERR_NOMEM. */
HD_API HdStatus hd_texture_write(HdTexture *t, int32_t level, const void *texels);
HD_API HdStatus hd_texture_read(HdTexture *t, int32_t level, void *texels);

/* Make all levels above level 0 anew, each of the one below it, on the device. A texel is the mean of what it covers: along an
 * axis of n = 2m texels that is half of 2i and half of 2i + 1; of n = 2m + 1 with m > 0, (m - i) / n of 2i, m / n of 2i + 1 and
 * (i + 1) / n of 2i + 2; an axis of one texel keeps it. Sums are in f32, along x, then y, then z, from the lowest texel, as
 * w0 * a, then fma(w, b, sum). Bytes are averaged as 0 to 255 and rounded to the nearest, ties to even; halves are rounded once.
 *
 * Order      in stream order; nobody waits, but a first call compiles. */
HD_API HdStatus hd_texture_make_levels(HdTexture *t);

/* The texture as the arguments for a parameter of its type: HD_TEXTURE_ARGS of them, which is what it returns. Lent until the end. */
#define HD_TEXTURE_ARGS 11
HD_API int32_t  hd_texture_args(const HdTexture *t, HdArg args[]);

HD_END_DECLS
#endif
