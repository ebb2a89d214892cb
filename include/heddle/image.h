/* heddle/image.h -- images for the texture units of a GPU.
 *
 * An image has texels of its own in the memory of a GPU, a filter, and what lies beyond its edges. A fast kernel asks it by its object
 * (a u64) with texture_unit(object, place, level): places are normalised, 0 and 1 are the edges. heddle/texture.h has textures for
 * all devices, which keep an image where there are units.
 */
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include "heddle/array.h"
HD_BEGIN_DECLS

typedef struct HdImage HdImage;

typedef struct HdImageOptions {
  HdScalar scalar;        /* HD_F32, HD_F16, or HD_U8, which is read as 0 to 1                          */
  int32_t  channels;      /* 1, 2 or 4                                                                  */
  int32_t  ndim;          /* 1 to 3                                                                     */
  int32_t  levels;        /* 1 or more; level l has max(1, n >> l) texels along an axis of n            */
  int32_t  size[3];       /* of level 0: width, height, depth                                     (ndim) */
  int32_t  wrap[3];       /* beyond [0, 1]: 0 repeat, 1 clamp, 2 mirror, 3 border                 (ndim) */
  bool     linear;        /* in a level; else the nearest texel                                         */
  bool     linear_levels; /* between levels; else the nearest level                                     */
  float    border[4];     /* of the channels                                                            */
} HdImageOptions;

/* Make an image whose texels are not yet written. *out is NULL where units cannot do it: on a device that is no GPU, beyond the sizes
 * of its units, or with a border that such texels cannot have; the context's log says which.
 *
 * Ownership  the caller owns *out, until hd_image_free, at which streams must be done with it.
 * Errors     HD_ERR_ARG names the option that is out of range; HD_ERR_NOMEM; HD_ERR_CUDA. */
HD_API HdStatus hd_image_new(HdContext *ctx, HdDevice device, const HdImageOptions *options, HdImage **out);
HD_API void     hd_image_free(HdImage *image); /* NULL is fine */
HD_API uint64_t hd_image_object(const HdImage *image); /* never 0; of NULL it is 0 */
/* All texels of a level, from the first bytes of a dense array on the image's device, in stream order: x fastest, then y, then z.
 *
 * Errors     HD_ERR_ARG for a level that is not there, HD_ERR_SHAPE for an array that is too small or not dense, HD_ERR_DEVICE. */
HD_API HdStatus hd_image_write(HdStream *stream, HdImage *image, int32_t level, HdArray from);

HD_END_DECLS
#endif
