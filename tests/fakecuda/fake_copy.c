/* tests/fakecuda/fake_copy.c -- copies and settings as work of streams, in all their shapes. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- copies --- */

/* Is the memory what the call says that it is? What both see may stand for either. */
static bool is_there(uint64_t at, uint64_t size, unsigned side) {
  if (side == CU_HOST_SIDE) return !fk_is_device(at);
  if (side == CU_DEVICE_SIDE || fk_is_device(at)) return fk_block_at(at, size);
  return true;
}

/* Does a copy end before its call does? The manual: only between memory of one kind, or with pageable memory. */
static bool is_pageable(uint64_t at) { return !fk_is_device(at) && !fk_block_at(at, 1); }

static uint64_t extent(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice) {
  return (depth - 1) * slice + (height - 1) * pitch + width;
}

/* Pageable memory of the host is read when the call is made. */
static void stage(FkOp *op) {
  op->staged = fk_new(op->width * op->height * op->depth);
  for (uint64_t z = 0; z < op->depth; z++)
    for (uint64_t y = 0; y < op->height; y++)
      memcpy(op->staged + (z * op->height + y) * op->width,
             (const uint8_t *)(uintptr_t)(op->from + z * op->from_slice + y * op->from_pitch), op->width);
  op->from_pitch = op->width, op->from_slice = op->width * op->height;
}

int fk_copy_op(const FkOp *o, unsigned to, unsigned from, FkOp **out) {
  if (!is_there(o->to, extent(o->width, o->height, o->depth, o->to_pitch, o->to_slice), to)) return CU_INVALID_VALUE;
  if (!is_there(o->from, extent(o->width, o->height, o->depth, o->from_pitch, o->from_slice), from))
    return CU_INVALID_VALUE;
  *out = fk_op(FK_COPY);
  **out = *o;
  (*out)->work = FK_COPY;
  return CU_OK;
}

static int copy(FkContext *c, void *stream, bool wait, const FkOp *shape, unsigned to, unsigned from) {
  FkStream *s = fk_stream_of_any(c, stream);
  FkOp *op;
  if (!s) return CU_INVALID_HANDLE;
  if (wait && !fk_capture_legacy(c)) UNSAFE();
  if (!shape->width || !shape->height || !shape->depth) return CU_OK;
  int code = fk_copy_op(shape, to, from, &op);
  if (code) return code;
  if (is_pageable(op->from) && !s->capture) stage(op);
  code = fk_submit(s, op);
  if (!wait || code) return code;
  code = fk_drain(s, s->submitted);
  fk_race_host(&s->clock);
  return code;
}

static int line(FkContext *c, void *stream, bool wait, uint64_t to, unsigned to_side, uint64_t from, unsigned from_side,
                size_t n) {
  FkOp op = {.to = to, .from = from, .width = n, .height = 1, .depth = 1};
  return copy(c, stream, wait, &op, to_side, from_side);
}
#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))

FK_API int cuMemcpyHtoDAsync_v2(CuPtr to, const void *from, size_t n, void *stream) {
  ENTER_CONTEXT();
  return line(ctx, stream, false, to, CU_DEVICE_SIDE, ADDRESS(from), CU_HOST_SIDE, n);
}
FK_API int cuMemcpyHtoD_v2(CuPtr to, const void *from, size_t n) {
  ENTER_CONTEXT();
  return line(ctx, NULL, true, to, CU_DEVICE_SIDE, ADDRESS(from), CU_HOST_SIDE, n);
}
FK_API int cuMemcpyDtoHAsync_v2(void *to, CuPtr from, size_t n, void *stream) {
  ENTER_CONTEXT();
  return line(ctx, stream, false, ADDRESS(to), CU_HOST_SIDE, from, CU_DEVICE_SIDE, n);
}
FK_API int cuMemcpyDtoH_v2(void *to, CuPtr from, size_t n) {
  ENTER_CONTEXT();
  return line(ctx, NULL, true, ADDRESS(to), CU_HOST_SIDE, from, CU_DEVICE_SIDE, n);
}
/* Within a device the call does not wait, whatever its name. */
FK_API int cuMemcpyDtoDAsync_v2(CuPtr to, CuPtr from, size_t n, void *stream) {
  ENTER_CONTEXT();
  return line(ctx, stream, false, to, CU_DEVICE_SIDE, from, CU_DEVICE_SIDE, n);
}
FK_API int cuMemcpyDtoD_v2(CuPtr to, CuPtr from, size_t n) {
  ENTER_CONTEXT();
  return line(ctx, NULL, false, to, CU_DEVICE_SIDE, from, CU_DEVICE_SIDE, n);
}
FK_API int cuMemcpyAsync(CuPtr to, CuPtr from, size_t n, void *stream) {
  ENTER_CONTEXT();
  return line(ctx, stream, false, to, CU_ANY_SIDE, from, CU_ANY_SIDE, n);
}
FK_API int cuMemcpy(CuPtr to, CuPtr from, size_t n) {
  ENTER_CONTEXT();
  return line(ctx, NULL, true, to, CU_ANY_SIDE, from, CU_ANY_SIDE, n);
}
FK_API int cuMemcpyPeerAsync(CuPtr to, void *to_context, CuPtr from, void *from_context, size_t n, void *stream) {
  ENTER_CONTEXT();
  if (!fk_context(to_context) || !fk_context(from_context)) return CU_INVALID_CONTEXT;
  return line(ctx, stream, false, to, CU_DEVICE_SIDE, from, CU_DEVICE_SIDE, n);
}
FK_API int cuMemcpyPeer(CuPtr to, void *to_context, CuPtr from, void *from_context, size_t n) {
  ENTER_CONTEXT();
  if (!fk_context(to_context) || !fk_context(from_context)) return CU_INVALID_CONTEXT;
  return line(ctx, NULL, true, to, CU_DEVICE_SIDE, from, CU_DEVICE_SIDE, n);
}

static int rows(FkContext *ctx, const CuCopy2D *c, void *stream, bool wait) {
  if (!c || c->from_kind < CU_HOST_SIDE || c->from_kind > CU_ANY_SIDE || c->to_kind < CU_HOST_SIDE ||
      c->to_kind > CU_ANY_SIDE)
    return CU_INVALID_VALUE;
  if (c->from_kind == CU_ARRAY_SIDE || c->to_kind == CU_ARRAY_SIDE) return CU_NOT_SUPPORTED;
  if (c->height > 1 && (c->from_pitch < c->width + c->from_x || c->to_pitch < c->width + c->to_x))
    return CU_INVALID_VALUE;
  if (c->from_pitch > INT32_MAX || c->to_pitch > INT32_MAX) return CU_INVALID_VALUE;
  uint64_t from = c->from_kind == CU_HOST_SIDE ? ADDRESS(c->from_host) : c->from_device;
  uint64_t to = c->to_kind == CU_HOST_SIDE ? ADDRESS(c->to_host) : c->to_device;
  FkOp op = {.to = to + c->to_y * c->to_pitch + c->to_x,
             .from = from + c->from_y * c->from_pitch + c->from_x,
             .width = c->width,
             .height = c->height,
             .depth = 1,
             .to_pitch = c->to_pitch,
             .from_pitch = c->from_pitch};
  return copy(ctx, stream, wait, &op, c->to_kind, c->from_kind);
}
FK_API int cuMemcpy2DAsync_v2(const CuCopy2D *c, void *stream) {
  ENTER_CONTEXT();
  return rows(ctx, c, stream, false);
}
FK_API int cuMemcpy2D_v2(const CuCopy2D *c) {
  ENTER_CONTEXT();
  return rows(ctx, c, NULL, true);
}
FK_API int cuMemcpy2DUnaligned_v2(const CuCopy2D *c) {
  ENTER_CONTEXT();
  return rows(ctx, c, NULL, true);
}

/* An array as memory: where it lies, and how. Its x and widths are in bytes, of whole texels. */
static int array_side(void *handle, size_t x, size_t y, size_t z, const CuCopy3D *c, uint64_t *at, uint64_t *pitch,
                      uint64_t *height) {
  const FkLevel *l = fk_level(handle);
  if (!l) return CU_INVALID_HANDLE;
  uint64_t texel = fk_texel_bytes(&l->shape), rows = l->shape.height ? l->shape.height : 1;
  uint64_t depth = l->shape.depth ? l->shape.depth : 1;
  if (x % texel || c->width % texel || x + c->width > l->shape.width * texel || y + c->height > rows ||
      z + c->depth > depth)
    return CU_INVALID_VALUE;
  *at = l->at, *pitch = l->shape.width * texel, *height = rows;
  return CU_OK;
}

int fk_copy_shape(const CuCopy3D *given, FkOp *out) {
  if (!given || given->from_kind < CU_HOST_SIDE || given->from_kind > CU_ANY_SIDE || given->to_kind < CU_HOST_SIDE ||
      given->to_kind > CU_ANY_SIDE)
    return CU_INVALID_VALUE;
  CuCopy3D copy = *given, *c = &copy;
  int code = CU_OK;
  if (c->from_level || c->to_level) return CU_INVALID_VALUE; /* the manual: they must be 0 */
  if (c->from_kind == CU_ARRAY_SIDE)
    code =
        array_side(c->from_array, c->from_x, c->from_y, c->from_z, c, &c->from_device, &c->from_pitch, &c->from_height);
  if (!code && c->to_kind == CU_ARRAY_SIDE)
    code = array_side(c->to_array, c->to_x, c->to_y, c->to_z, c, &c->to_device, &c->to_pitch, &c->to_height);
  if (code) return code;
  if (c->height > 1 && (c->from_pitch < c->width + c->from_x || c->to_pitch < c->width + c->to_x))
    return CU_INVALID_VALUE;
  if (c->depth > 1 && (c->from_height < c->height + c->from_y || c->to_height < c->height + c->to_y))
    return CU_INVALID_VALUE;
  uint64_t from = c->from_kind == CU_HOST_SIDE ? ADDRESS(c->from_host) : c->from_device;
  uint64_t to = c->to_kind == CU_HOST_SIDE ? ADDRESS(c->to_host) : c->to_device;
  *out = (FkOp){.width = c->width,
                .height = c->height,
                .depth = c->depth,
                .to_pitch = c->to_pitch,
                .from_pitch = c->from_pitch,
                .to_slice = c->to_pitch * c->to_height,
                .from_slice = c->from_pitch * c->from_height};
  out->to = to + c->to_z * out->to_slice + c->to_y * c->to_pitch + c->to_x;
  out->from = from + c->from_z * out->from_slice + c->from_y * c->from_pitch + c->from_x;
  return CU_OK;
}

static int slices(FkContext *ctx, const CuCopy3D *c, void *stream, bool wait) {
  FkOp op;
  int code = fk_copy_shape(c, &op);
  return code ? code : copy(ctx, stream, wait, &op, c->to_kind, c->from_kind);
}
FK_API int cuMemcpy3DAsync_v2(const CuCopy3D *c, void *stream) {
  ENTER_CONTEXT();
  return slices(ctx, c, stream, false);
}
FK_API int cuMemcpy3D_v2(const CuCopy3D *c) {
  ENTER_CONTEXT();
  return slices(ctx, c, NULL, true);
}

/* --- setting: never waits --- */

int fk_set_op(CuPtr to, uint64_t pitch, uint32_t value, uint32_t bytes, uint64_t width, uint64_t height, FkOp **out) {
  uint64_t row = width * bytes;
  if (to % bytes || (height > 1 && (pitch < row || pitch % bytes)) ||
      !is_there(to, (height - 1) * pitch + row, CU_DEVICE_SIDE))
    return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_SET);
  op->to = to, op->to_pitch = pitch, op->value = value, op->value_bytes = bytes, op->width = width, op->height = height;
  *out = op;
  return CU_OK;
}

static int set(FkContext *c, void *stream, CuPtr to, uint64_t pitch, uint32_t value, uint32_t bytes, uint64_t width,
               uint64_t height) {
  FkStream *s = fk_stream_of_any(c, stream);
  FkOp *op;
  if (!s) return CU_INVALID_HANDLE;
  if (!width || !height) return CU_OK;
  int code = fk_set_op(to, pitch, value, bytes, width, height, &op);
  return code ? code : fk_submit(s, op);
}

#define SETS(bits, T)                                                                                                  \
  FK_API int cuMemsetD##bits##Async(CuPtr to, T value, size_t n, void *stream) {                                       \
    ENTER_CONTEXT();                                                                                                   \
    return set(ctx, stream, to, 0, value, bits / 8, n, 1);                                                             \
  }                                                                                                                    \
  FK_API int cuMemsetD##bits##_v2(CuPtr to, T value, size_t n) {                                                       \
    ENTER_CONTEXT();                                                                                                   \
    return set(ctx, NULL, to, 0, value, bits / 8, n, 1);                                                               \
  }                                                                                                                    \
  FK_API int cuMemsetD2D##bits##Async(CuPtr to, size_t pitch, T value, size_t width, size_t height, void *stream) {    \
    ENTER_CONTEXT();                                                                                                   \
    return set(ctx, stream, to, pitch, value, bits / 8, width, height);                                                \
  }                                                                                                                    \
  FK_API int cuMemsetD2D##bits##_v2(CuPtr to, size_t pitch, T value, size_t width, size_t height) {                    \
    ENTER_CONTEXT();                                                                                                   \
    return set(ctx, NULL, to, pitch, value, bits / 8, width, height);                                                  \
  }
SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned)
