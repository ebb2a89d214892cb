/* geometry/dense_grid.c -- fields on dense grids: made, checked, passed to kernels. */
#include <math.h>

#include "geometry/geometry.h"

static HdStatus check_space(HdContext *ctx, const char *call, const float origin[3], const float spacing[3]) {
  for (int a = 0; a < 3; a++) {
    if (!isfinite(origin[a])) return hd_context_fail(ctx, HD_ERR_ARG, call, "origin", "wanted finite numbers");
    if (!(spacing[a] > 0) || !isfinite(spacing[a]) || !isfinite(1 / spacing[a]))
      return hd_context_fail(ctx, HD_ERR_ARG, call, "spacing", "wanted positive widths of cells");
  }
  return HD_OK;
}

HdStatus hdgeo_check_grid(HdContext *ctx, HdStream *stream, const char *call, const HdDenseGrid *g) {
  HdDevice device = hd_stream_device(stream);
  if (!g) return hd_context_fail(ctx, HD_ERR_ARG, call, "grid", "it is NULL");
  if (g->values.ndim != 3)
    return hd_context_fail(ctx, HD_ERR_SHAPE, call, "grid.values", "wanted an array of three axes");
  if (!hd_type_equal(g->values.type, hd_type_scalar(HD_F32)))
    return hd_context_fail(ctx, HD_ERR_TYPE, call, "grid.values", "wanted elements f32");
  if (g->values.device.kind != device.kind || g->values.device.index != device.index)
    return hd_context_fail(ctx, HD_ERR_DEVICE, call, "grid.values", "it is not on the stream's device");
  for (int a = 0; a < 3; a++)
    if (g->values.length[a] >= INT32_MAX)
      return hd_context_fail(ctx, HD_ERR_SHAPE, call, "grid.values", "more than 2^31 - 2 samples along an axis");
  return check_space(ctx, call, g->origin, g->spacing);
}

HdStatus hd_dense_grid_new(HdContext *ctx, HdDevice device, const int64_t length[3], const float origin[3],
                           const float spacing[3], HdDenseGrid *out) {
  const char *call = "hd_dense_grid_new", *missing = !origin ? "origin" : !spacing ? "spacing" : !out ? "out" : NULL;
  if (missing) return hd_context_fail(ctx, HD_ERR_ARG, call, missing, "it is NULL");
  HD_TRY(check_space(ctx, call, origin, spacing));
  HdDenseGrid g = {.origin = {origin[0], origin[1], origin[2]}, .spacing = {spacing[0], spacing[1], spacing[2]}};
  HD_TRY(hd_array_zeros(ctx, device, hd_type_scalar(HD_F32), 3, length, &g.values));
  *out = g;
  return HD_OK;
}

void hd_dense_grid_free(HdContext *ctx, HdDenseGrid *g) {
  if (g) hd_array_free(ctx, &g->values);
}

int32_t hd_dense_grid_args(const HdDenseGrid *g, HdArg args[]) {
  args[0] = hd_arg_array(&g->values);
  args[1] = hdhost_vec(3, g->origin);
  args[2] = hdhost_vec(3, g->spacing);
  return HD_DENSE_GRID_ARGS;
}
