/* geometry/hash_grid.c -- the host side of hash_grid_build.hd. */
#include <math.h>

#include "geometry/geometry.h"
#include "heddle/algorithms.h"

enum { CELLS, STARTS, GATHER, NKERNELS };
static const char *const kernel_names[] = {"cells", "starts", "gather_points", NULL};

enum { START_CELLS = 64 }; /* const CELLS of hash_grid_build.hd */
enum { FIRST, IDS, POINTS, KEYS, NARRAYS };

struct HdHashGrid {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdAlgorithms *algorithms;
  HdHashGridOptions options;
  float scale;
  int32_t bits;           /* of a cell's number                                      */
  int64_t n, room;        /* points, and those that the arrays have room for         */
  HdArray array[NARRAYS]; /* (cells + 1), (room), (room), (room)                     */
  HdArray view[NARRAYS];  /* the first n of each                                     */
};

static HdStatus bad(HdContext *ctx, const char *arg, const char *detail) {
  return hd_context_fail(ctx, HD_ERR_ARG, "hd_hash_grid_new", arg, detail);
}

static HdStatus check_options(HdContext *ctx, const HdHashGridOptions *o) {
  if (!(o->cell > 0) || !isfinite(1 / o->cell) || !isfinite(o->cell))
    return bad(ctx, "options.cell", "wanted a positive width");
  int64_t cells = 1;
  for (int a = 0; a < 3; a++) {
    if (!isfinite(o->origin[a])) return bad(ctx, "options.origin", "wanted finite numbers");
    if (o->dims[a] < 1 || o->dims[a] > 1 << 20 || (o->dims[a] & (o->dims[a] - 1)))
      return bad(ctx, "options.dims", "wanted powers of two, at most 2^20");
    cells *= o->dims[a];
    if (cells > 1 << 28) return bad(ctx, "options.dims", "more than 2^28 cells");
  }
  return HD_OK;
}

/* Room for n points; a third more than before at least, so that numbers that creep up seldom need it. */
static HdStatus make_room(HdHashGrid *g, int64_t n) {
  HdDevice device = hd_stream_device(g->stream);
  HdType i32 = hd_type_scalar(HD_I32);
  if (n > g->room || !g->array[IDS].ndim) {
    int64_t room = n > g->room + g->room / 3 ? n : g->room + g->room / 3;
    const HdType types[NARRAYS] = {i32, i32, hd_type_vec(HD_F32, 3), hd_type_scalar(HD_U32)};
    HdArray made[NARRAYS] = {{0}};
    HdStatus status = HD_OK;
    for (int i = IDS; i < NARRAYS && status == HD_OK; i++)
      status = hd_array_new(g->ctx, device, types[i], 1, &room, &made[i]);
    if (status == HD_OK) status = hd_stream_wait(g->stream);
    for (int i = IDS; i < NARRAYS; i++) {
      hd_array_free(g->ctx, status == HD_OK ? &g->array[i] : &made[i]);
      if (status == HD_OK) g->array[i] = made[i];
    }
    HD_TRY(status);
    g->room = room;
  }
  g->view[FIRST] = g->array[FIRST];
  for (int i = IDS; i < NARRAYS; i++) HD_TRY(hd_array_slice(g->ctx, g->array[i], 0, 0, n, 1, &g->view[i]));
  g->n = n;
  return HD_OK;
}

static HdStatus start(HdHashGrid *g) {
  HdDevice device = hd_stream_device(g->stream);
  int64_t cells = (int64_t)g->options.dims[0] * g->options.dims[1] * g->options.dims[2], length = cells + 1;
  while ((int64_t)1 << g->bits < cells) g->bits++;
  HD_TRY(hdhost_load(g->ctx, "geometry/hash_grid_build.hd", hdgeo_source("hash_grid_build"), device, kernel_names,
                     &g->module, g->kernel));
  HD_TRY(hd_algorithms_new(g->ctx, g->stream, NULL, &g->algorithms));
  HD_TRY(hd_array_zeros(g->ctx, device, hd_type_scalar(HD_I32), 1, &length, &g->array[FIRST]));
  return make_room(g, 0);
}

HdStatus hd_hash_grid_new(HdContext *ctx, HdStream *stream, const HdHashGridOptions *options, HdHashGrid **out) {
  HdHashGridOptions defaults = HD_HASH_GRID_OPTIONS_INIT;
  if (!options) options = &defaults;
  HD_TRY(hdhost_check_new(ctx, stream, "hd_hash_grid_new", out));
  HD_TRY(check_options(ctx, options));
  HdHashGrid *g = hdhost_alloc(ctx, sizeof *g);
  if (!g) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_hash_grid_new", "", "");
  g->ctx = ctx;
  g->stream = stream;
  g->options = *options;
  g->scale = 1 / options->cell;
  HdStatus status = start(g);
  if (status == HD_OK)
    *out = g;
  else
    hd_hash_grid_free(g);
  return status;
}

void hd_hash_grid_free(HdHashGrid *g) {
  if (!g) return;
  hd_algorithms_free(g->algorithms);
  for (int i = 0; i < NARRAYS; i++) hd_array_free(g->ctx, &g->array[i]);
  hd_module_free(g->module);
  hdhost_release(g->ctx, g, sizeof *g);
}

HdStatus hd_hash_grid_build(HdHashGrid *g, HdArray points) {
  if (!g) return HD_ERR_ARG;
  HD_TRY(hdgeo_check(g->ctx, g->stream, "hd_hash_grid_build", "points", points, hd_type_vec(HD_F32, 3)));
  int64_t n = points.length[0];
  if (n >= INT32_MAX)
    return hd_context_fail(g->ctx, HD_ERR_SHAPE, "hd_hash_grid_build", "points", "more than 2^31 - 2");
  HD_TRY(make_room(g, n));
  const HdHashGridOptions *o = &g->options;
  HdArg at = hd_arg_array(&points), key = hd_arg_array(&g->view[KEYS]), ids = hd_arg_array(&g->view[IDS]);
  HD_TRY(HDHOST_RUN1(g->kernel[CELLS], g->stream, n, at, hdhost_vec(3, o->origin), hd_arg_f32(g->scale),
                     hd_arg_value(hd_type_vec(HD_I32, 3), o->dims), key, ids));
  HdSortOptions sort = HD_SORT_OPTIONS_INIT;
  sort.bits = g->bits;
  if (n > 1 && g->bits > 0) HD_TRY(hd_sort_pairs(g->algorithms, g->view[KEYS], g->view[IDS], &sort));
  HD_TRY(HDHOST_RUN1(g->kernel[STARTS], g->stream, (g->array[FIRST].length[0] + START_CELLS - 1) / START_CELLS, key,
                     hd_arg_array(&g->array[FIRST])));
  return HDHOST_RUN1(g->kernel[GATHER], g->stream, n, at, ids, hd_arg_array(&g->view[POINTS]));
}

int32_t hd_hash_grid_args(const HdHashGrid *g, HdArg args[]) {
  for (int i = FIRST; i <= POINTS; i++) args[i] = hd_arg_array(&g->view[i]);
  args[3] = hdhost_vec(3, g->options.origin);
  args[4] = hd_arg_f32(g->scale);
  args[5] = hd_arg_value(hd_type_vec(HD_I32, 3), g->options.dims);
  return HD_HASH_GRID_ARGS;
}

HdArray hd_hash_grid_ids(const HdHashGrid *g) { return g ? g->view[IDS] : (HdArray){.ndim = 1}; }
