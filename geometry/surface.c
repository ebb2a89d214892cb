/* geometry/surface.c -- the host side of surface.hd: counts for each sample, their scans, then points and faces in their places. */
#include <stdio.h>

#include "geometry/geometry.h"
#include "heddle/algorithms.h"

enum { COUNT, PLACE, CONNECT, NKERNELS };
static const char *const kernel_names[] = {"count", "place", "connect", NULL};

/* What grids may have at most: a cell has up to five triangles, and their number is an i32. */
enum { MOST_SAMPLES = 1 << 28 };

/* Scratch by sample, the last two with one more; then the results. */
enum { EDGES, FIRST_POINT, FIRST_FACE, POINTS, NORMALS, FACES, NARRAYS };

struct HdSurface {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdAlgorithms *algorithms;
  HdArray array[NARRAYS]; /* only ever longer               */
  HdArray view[NARRAYS];  /* what the last extraction wants */
};

static HdType type_of(int i) {
  if (i == EDGES) return hd_type_scalar(HD_U8);
  if (i == POINTS || i == NORMALS) return hd_type_vec(HD_F32, 3);
  return i == FACES ? hd_type_vec(HD_I32, 3) : hd_type_scalar(HD_I32);
}

/* Room for n elements in arrays first to last, of which nothing is kept; views are of n. */
static HdStatus make_room(HdSurface *s, int first, int last, int64_t n) {
  for (int i = first; i <= last; i++) {
    int64_t room = s->array[i].ndim ? s->array[i].length[0] : -1;
    if (n > room) {
      HdArray made;
      int64_t more = n > room + room / 3 ? n : room + room / 3;
      HD_TRY(hd_array_new(s->ctx, hd_stream_device(s->stream), type_of(i), 1, &more, &made));
      hd_array_free(s->ctx, &s->array[i]);
      s->array[i] = made;
    }
    HD_TRY(hd_array_slice(s->ctx, s->array[i], 0, 0, n, 1, &s->view[i]));
  }
  return HD_OK;
}

/* Makes no call, so that the record of an error stays. */
static void empty(HdSurface *s) {
  for (int i = POINTS; i <= FACES; i++) s->view[i].length[0] = 0;
}

/* Counts to places, in place; their sum to *total. */
static HdStatus scan(HdSurface *s, int i, int64_t n, int64_t *total) {
  HdArray counts, last;
  int32_t sum;
  HD_TRY(hd_array_slice(s->ctx, s->view[i], 0, 0, n, 1, &counts));
  HD_TRY(hd_scan(s->algorithms, HD_SCAN_EXCLUSIVE, counts, s->view[i]));
  HD_TRY(hd_array_slice(s->ctx, s->view[i], 0, n, n + 1, 1, &last));
  HD_TRY(hdgeo_read(s->ctx, s->stream, last, &sum));
  *total = sum;
  return HD_OK;
}

static HdStatus extract(HdSurface *s, const HdDenseGrid *grid, float level, int64_t n) {
  HdArray cube[3]; /* scratch in the shape of the grid */
  HdArg args[HD_DENSE_GRID_ARGS + 5];
  const int64_t *dim = grid->values.length;
  HD_TRY(make_room(s, EDGES, EDGES, n));
  HD_TRY(make_room(s, FIRST_POINT, FIRST_FACE, n + 1));
  for (int i = EDGES; i <= FIRST_FACE; i++) {
    HD_TRY(hd_array_slice(s->ctx, s->view[i], 0, 0, n, 1, &cube[i]));
    HD_TRY(hd_array_reshape(s->ctx, cube[i], 3, dim, &cube[i]));
  }
  int32_t k = hd_dense_grid_args(grid, args);
  args[k++] = hd_arg_f32(level);
  for (int i = EDGES; i <= FIRST_FACE; i++) args[k + i] = hd_arg_array(&cube[i]);
  HD_TRY(hd_launch(s->kernel[COUNT], s->stream, 3, dim, k + 3, args));
  int64_t points, faces;
  HD_TRY(scan(s, FIRST_POINT, n, &points));
  HD_TRY(scan(s, FIRST_FACE, n, &faces));
  HD_TRY(make_room(s, POINTS, NORMALS, points));
  HD_TRY(make_room(s, FACES, FACES, faces));
  args[k + 3] = hd_arg_array(&s->view[FACES]);
  HD_TRY(hd_launch(s->kernel[CONNECT], s->stream, 3, dim, k + 4, args));
  args[k + 2] = hd_arg_array(&s->view[POINTS]);
  args[k + 3] = hd_arg_array(&s->view[NORMALS]);
  return hd_launch(s->kernel[PLACE], s->stream, 3, dim, k + 4, args);
}

/* --- the public calls --- */

static HdStatus start(HdSurface *s) {
  HD_TRY(hdhost_load(s->ctx, "geometry/surface.hd", hdgeo_source("surface"), hd_stream_device(s->stream), kernel_names,
                     &s->module, s->kernel));
  HD_TRY(hd_algorithms_new(s->ctx, s->stream, NULL, &s->algorithms));
  return make_room(s, POINTS, FACES, 0);
}

HdStatus hd_surface_new(HdContext *ctx, HdStream *stream, HdSurface **out) {
  HD_TRY(hdhost_check_new(ctx, stream, "hd_surface_new", out));
  HdSurface *s = hdhost_alloc(ctx, sizeof *s);
  if (!s) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_surface_new", "", "");
  s->ctx = ctx;
  s->stream = stream;
  HdStatus status = start(s);
  if (status == HD_OK)
    *out = s;
  else
    hd_surface_free(s);
  return status;
}

void hd_surface_free(HdSurface *s) {
  if (!s) return;
  hd_algorithms_free(s->algorithms);
  for (int i = 0; i < NARRAYS; i++) hd_array_free(s->ctx, &s->array[i]);
  hd_module_free(s->module);
  hdhost_release(s->ctx, s, sizeof *s);
}

HdStatus hd_surface_extract(HdSurface *s, const HdDenseGrid *grid, float level) {
  if (!s) return HD_ERR_ARG;
  const char *call = "hd_surface_extract";
  HD_TRY(hdgeo_check_grid(s->ctx, s->stream, call, grid));
  const int64_t *dim = grid->values.length;
  int64_t n = dim[0] * dim[1]; /* of numbers below 2^31 */
  if (n > MOST_SAMPLES || n * dim[2] > MOST_SAMPLES)
    return hd_context_fail(s->ctx, HD_ERR_SHAPE, call, "grid.values", "more than 2^28 samples");
  empty(s);
  if (dim[0] < 2 || dim[1] < 2 || dim[2] < 2) return HD_OK;
  HdStatus status = hd_stream_wait(s->stream); /* what may be freed is in use until then */
  if (status == HD_OK) status = extract(s, grid, level, n * dim[2]);
  if (status != HD_OK) empty(s);
  return status;
}

HdArray hd_surface_points(const HdSurface *s) { return s ? s->view[POINTS] : (HdArray){.ndim = 1}; }
HdArray hd_surface_normals(const HdSurface *s) { return s ? s->view[NORMALS] : (HdArray){.ndim = 1}; }
HdArray hd_surface_faces(const HdSurface *s) { return s ? s->view[FACES] : (HdArray){.ndim = 1}; }
