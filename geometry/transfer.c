/* geometry/transfer.c -- arrays to and from the host, and whether they are what was asked for. */
#include "geometry/geometry.h"

static HdStatus copy(HdContext *ctx, HdStream *stream, HdArray device, void *host, bool to_host) {
  if (hd_array_count(device) == 0) return HD_OK;
  HdDevice cpu;
  HdArray here;
  HD_TRY(hd_device_find(ctx, "cpu", &cpu));
  HD_TRY(hd_array_borrow(ctx, cpu, device.type, device.ndim, device.length, NULL, host, &here));
  HD_TRY(to_host ? hd_array_copy(stream, device, here) : hd_array_copy(stream, here, device));
  return hd_stream_wait(stream);
}

HdStatus hdgeo_read(HdContext *ctx, HdStream *stream, HdArray from, void *to) {
  return copy(ctx, stream, from, to, true);
}

HdStatus hdgeo_write(HdContext *ctx, HdStream *stream, const void *from, HdArray to) {
  return copy(ctx, stream, to, (void *)from, false);
}

HdStatus hdgeo_check(HdContext *ctx, HdStream *stream, const char *call, const char *arg, HdArray a, HdType type) {
  HdDevice device = hd_stream_device(stream);
  if (a.ndim != 1) return hd_context_fail(ctx, HD_ERR_SHAPE, call, arg, "wanted an array of one axis");
  if (!hd_type_equal(a.type, type))
    return hd_context_fail(ctx, HD_ERR_TYPE, call, arg,
                           type.scalar == HD_F32 ? "wanted elements vec<f32, 3>" : "wanted elements vec<i32, 3>");
  if (a.device.kind != device.kind || a.device.index != device.index)
    return hd_context_fail(ctx, HD_ERR_DEVICE, call, arg, "it is not on the stream's device");
  return HD_OK;
}

HdStatus hdgeo_check_group(HdContext *ctx, HdStream *stream, const char *call, HdArray group, HdArray of) {
  HdDevice device = hd_stream_device(stream);
  if (group.ndim != 1 || of.ndim != 1 || group.length[0] != of.length[0])
    return hd_context_fail(ctx, HD_ERR_SHAPE, call, "group", "wanted one number for each");
  if (!hd_type_equal(group.type, hd_type_scalar(HD_I32)))
    return hd_context_fail(ctx, HD_ERR_TYPE, call, "group", "wanted elements i32");
  if (group.device.kind != device.kind || group.device.index != device.index)
    return hd_context_fail(ctx, HD_ERR_DEVICE, call, "group", "it is not on the stream's device");
  return HD_OK;
}
