/* runtime/cuda/cuda_image.c -- texels in arrays of the driver's, and the objects by which texture units know them.
 *
 * All images have levels for the driver, if only one: the limits of these are the lower ones, but there is one kind of object.
 */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* --- what the units can do --- */

static bool has_entries(const CuDriver *cu) {
  return cu->cuMipmappedArrayCreate && cu->cuMipmappedArrayGetLevel && cu->cuMipmappedArrayDestroy &&
         cu->cuMemcpy3DAsync && cu->cuTexObjectCreate && cu->cuTexObjectDestroy;
}

static bool is_within(const CudaDevice *d, const CudaTexels *is) {
  static const CuAttribute limits[3][3] = {
      {CU_TEXTURE1D_LEVELS_WIDTH},
      {CU_TEXTURE2D_LEVELS_WIDTH, CU_TEXTURE2D_LEVELS_HEIGHT},
      {CU_TEXTURE3D_WIDTH, CU_TEXTURE3D_HEIGHT, CU_TEXTURE3D_DEPTH},
  };
  for (int32_t a = 0; a < is->ndim; a++) {
    int most = 0;
    if (d->driver->cuDeviceGetAttribute(&most, limits[is->ndim - 1][a], d->handle) != CU_SUCCESS) return false;
    if (is->size[a] > most) return false;
  }
  return is->levels <= CUDA_LEVELS;
}

/* Whether such texels hold x as it is, so that units need not round a border; of bytes 0 and 1 alone are sure. */
static bool holds(HdScalar s, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (s == HD_F32) return true;
  if (s == HD_U8) return x == 0 || x == 1;
  uint32_t exponent = bits >> 23 & 255;
  return (bits << 1) == 0 || (exponent >= 127 - 14 && exponent <= 127 + 15 && (bits & 0x1fff) == 0);
}

static bool has_border(const CudaTexels *is) {
  bool wanted = false;
  for (int32_t a = 0; a < is->ndim; a++) wanted |= is->wrap[a] == 3;
  for (int32_t c = 0; wanted && c < is->channels; c++)
    if (!holds(is->scalar, is->border[c])) return false;
  return true;
}

/* --- life --- */

static CuResult make_levels(CudaImage *i, const char **call) {
  const CuDriver *cu = i->of->driver;
  const CudaTexels *is = &i->is;
  CuArrayShape shape = {.width = (size_t)is->size[0],
                        .height = is->ndim > 1 ? (size_t)is->size[1] : 0,
                        .depth = is->ndim > 2 ? (size_t)is->size[2] : 0,
                        .format = is->scalar == HD_U8    ? CU_FORMAT_U8
                                  : is->scalar == HD_F16 ? CU_FORMAT_F16
                                                         : CU_FORMAT_F32,
                        .channels = (unsigned)is->channels};
  *call = "cuMipmappedArrayCreate";
  CuResult code = cu->cuMipmappedArrayCreate(&i->levels, &shape, (unsigned)is->levels);
  if (code != CU_SUCCESS) {
    i->levels = NULL;
    return code;
  }
  *call = "cuMipmappedArrayGetLevel";
  for (int32_t l = 0; l < is->levels && code == CU_SUCCESS; l++)
    code = cu->cuMipmappedArrayGetLevel(&i->level[l], i->levels, (unsigned)l);
  return code;
}

static CuResult make_object(CudaImage *i, const char **call) {
  const CudaTexels *is = &i->is;
  CuResource of;
  CuTextureShape shape;
  memset(&of, 0, sizeof of);
  memset(&shape, 0, sizeof shape);
  of.kind = CU_RESOURCE_LEVELS;
  of.of.levels = i->levels;
  for (int a = 0; a < 3; a++) shape.wrap[a] = a < is->ndim ? is->wrap[a] : 1;
  shape.linear = is->linear;
  shape.linear_levels = is->linear_levels;
  shape.flags = CU_TEXTURE_NORMALIZED | CU_TEXTURE_EXACT_LEVELS;
  shape.most = (float)(is->levels - 1);
  memcpy(shape.border, is->border, sizeof shape.border);
  *call = "cuTexObjectCreate";
  CuResult code = i->of->driver->cuTexObjectCreate(&i->object, &of, &shape, NULL);
  if (code != CU_SUCCESS) i->object = 0;
  return code;
}

static void drop(CudaImage *i) {
  const CuDriver *cu = i->of->driver;
  if (i->object) cu->cuTexObjectDestroy(i->object);
  if (i->levels) cu->cuMipmappedArrayDestroy(i->levels);
  i->of->base.mem->resize(i->of->base.mem->user, i, sizeof *i, 0);
}

HdStatus hdcu_image_new(CudaDevice *d, const CudaTexels *is, HdError *err, CudaImage **out, const char **why) {
  const char *call = NULL;
  *out = NULL;
  *why = !has_entries(d->driver) ? "the driver has no textures"
         : !is_within(d, is)     ? "it is larger than the device's units take"
         : !has_border(is)       ? "its texels could not hold the border"
                                 : NULL;
  if (*why) return HD_OK;
  CudaImage *i = d->base.mem->resize(d->base.mem->user, NULL, 0, sizeof *i);
  if (!i) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for an image", sizeof *i);
  memset(i, 0, sizeof *i);
  i->of = d;
  i->is = *is;
  HdStatus status = hdcu_enter(d, err);
  if (status != HD_OK) {
    d->base.mem->resize(d->base.mem->user, i, sizeof *i, 0);
    return status;
  }
  CuResult code = make_levels(i, &call);
  if (code == CU_SUCCESS) code = make_object(i, &call);
  if (code == CU_SUCCESS) {
    *out = i;
  } else {
    status = hdcu_device_fail(d, code, call, NULL, err);
    drop(i);
  }
  hdcu_leave(d);
  return status;
}

void hdcu_image_free(CudaImage *i) {
  if (!i) return;
  CudaDevice *d = i->of;
  if (hdcu_enter(d, NULL) != HD_OK) { /* lost: the driver has nothing of it any more */
    d->base.mem->resize(d->base.mem->user, i, sizeof *i, 0);
    return;
  }
  drop(i);
  hdcu_leave(d);
}

/* --- texels --- */

RtView hdcu_image_view(const CudaImage *i, int32_t level) {
  RtView v;
  int64_t step = 1;
  memset(&v, 0, sizeof v);
  v.ndim = 3;
  v.elem = (uint32_t)i->is.channels * (i->is.scalar == HD_F32 ? 4 : i->is.scalar == HD_F16 ? 2 : 1);
  v.on = &i->of->base;
  v.image = i->level[level];
  for (int a = 0; a < 3; a++) {
    int32_t n = a < i->is.ndim ? i->is.size[a] >> level : 1;
    v.length[2 - a] = n > 1 ? n : 1;
    v.stride[2 - a] = step;
    step *= v.length[2 - a];
  }
  return v;
}

HdStatus hdcu_image_copy(CudaDevice *d, CuStream stream, const RtView *from, const RtView *to, HdError *err) {
  CuCopy3D c;
  memset(&c, 0, sizeof c);
  c.from_kind = CU_MEMORY_DEVICE;
  c.from_device = (CuPtr)(uintptr_t)from->data;
  c.to_kind = CU_MEMORY_ARRAY;
  c.to_array = to->image;
  c.width = c.from_pitch = (size_t)to->length[2] * to->elem;
  c.height = c.from_height = (size_t)to->length[1];
  c.depth = (size_t)to->length[0];
  CuResult code = d->driver->cuMemcpy3DAsync(&c, stream);
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuMemcpy3DAsync", NULL, err);
}
