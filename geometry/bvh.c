/* geometry/bvh.c -- trees of boxes: built by sah.c, boxes by bvh_build.hd. */
#include "geometry/geometry.h"

enum { GROUP_BOXES, PAIR_BOXES, REFIT, NKERNELS };
static const char *const kernel_names[] = {"group_boxes", "pair_boxes", "refit", NULL};

struct HdBvh {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdBvhOptions options;
  int64_t n, nnodes;
  int32_t depth;
  HdArray nodes, order; /* (nnodes x GeoNode), (n x i32)                                 */
  HdArray tree;         /* unions of neighbours, level after level (x Box of bvh_build.hd) */
};

static const uint32_t BOX = 6 * sizeof(float);

/* --- checks --- */

static HdStatus check_boxes(HdContext *ctx, HdStream *stream, const char *call, HdArray low, HdArray high) {
  HdType vec3 = hd_type_vec(HD_F32, 3);
  HD_TRY(hdgeo_check(ctx, stream, call, "low", low, vec3));
  HD_TRY(hdgeo_check(ctx, stream, call, "high", high, vec3));
  if (low.length[0] != high.length[0])
    return hd_context_fail(ctx, HD_ERR_SHAPE, call, "high", "low and high differ in length");
  if (low.length[0] > GEO_MOST) return hd_context_fail(ctx, HD_ERR_SHAPE, call, "low", "more than 2^28 boxes");
  return HD_OK;
}

static HdStatus check_options(HdContext *ctx, const HdBvhOptions *o) {
  if (o->builder != HD_BVH_SAH)
    return hd_context_fail(ctx, HD_ERR_ARG, "hd_bvh_new", "options.builder", "wanted one of HdBvhBuilder");
  if (o->leaf < 1 || o->leaf > 7)
    return hd_context_fail(ctx, HD_ERR_ARG, "hd_bvh_new", "options.leaf", "wanted 1 to 7 primitives");
  return HD_OK;
}

/* --- the boxes --- */

int64_t hdgeo_levels(int64_t n) {
  int64_t all = 0;
  for (int64_t count = (n + 3) / 4; count; count = count > 1 ? (count + 1) / 2 : 0) all += count;
  return all;
}

HdStatus hdgeo_pair_levels(HdStream *stream, HdKernel *pair, HdArray *entries, int64_t n) {
  int64_t from = 0;
  for (int64_t count = (n + 3) / 4; count > 1; count = (count + 1) / 2) {
    HD_TRY(HDGEO_RUN(pair, stream, (count + 1) / 2, hd_arg_array(entries), hd_arg_i32((int32_t)from),
                     hd_arg_i32((int32_t)count), hd_arg_i32((int32_t)(from + count))));
    from += count;
  }
  return HD_OK;
}

static HdStatus fit(HdBvh *b, HdArray low, HdArray high) {
  HdArg lo = hd_arg_array(&low), hi = hd_arg_array(&high), order = hd_arg_array(&b->order);
  HdArg tree = hd_arg_array(&b->tree);
  HD_TRY(HDGEO_RUN(b->kernel[GROUP_BOXES], b->stream, (b->n + 3) / 4, lo, hi, order, tree));
  HD_TRY(hdgeo_pair_levels(b->stream, b->kernel[PAIR_BOXES], &b->tree, b->n));
  return HDGEO_RUN(b->kernel[REFIT], b->stream, b->nnodes, lo, hi, order, tree, hd_arg_array(&b->nodes));
}

/* --- building --- */

static void free_arrays(HdContext *ctx, HdArray *nodes, HdArray *order, HdArray *tree) {
  hd_array_free(ctx, nodes);
  hd_array_free(ctx, order);
  hd_array_free(ctx, tree);
}

/* Memory for another tree in place of the old one, which stays if there is none. */
static HdStatus arrays(HdBvh *b, int64_t n, int64_t nnodes) {
  HdArray nodes = {0}, order = {0}, tree = {0};
  int64_t ntree = hdgeo_levels(n);
  HdDevice device = hd_stream_device(b->stream);
  HdStatus status = hd_array_new(b->ctx, device, hd_type_struct(sizeof(GeoNode)), 1, &nnodes, &nodes);
  if (status == HD_OK) status = hd_array_new(b->ctx, device, hd_type_scalar(HD_I32), 1, &n, &order);
  if (status == HD_OK) status = hd_array_new(b->ctx, device, hd_type_struct(BOX), 1, &ntree, &tree);
  if (status != HD_OK) {
    free_arrays(b->ctx, &nodes, &order, &tree);
    return status;
  }
  free_arrays(b->ctx, &b->nodes, &b->order, &b->tree);
  b->nodes = nodes;
  b->order = order;
  b->tree = tree;
  b->n = n;
  b->nnodes = nnodes;
  return HD_OK;
}

static HdStatus build_on_host(HdBvh *b, const char *call, HdArray low, HdArray high) {
  int64_t n = low.length[0];
  size_t side = (size_t)n * 3 * sizeof(float), order_size = (size_t)n * sizeof(int32_t);
  size_t nodes_size = (size_t)(n ? n : 1) * sizeof(GeoNode), size = nodes_size + 2 * side + order_size;
  char *memory = hdgeo_alloc(b->ctx, size);
  if (!memory) return hd_context_fail(b->ctx, HD_ERR_NOMEM, call, "", "");
  GeoNode *nodes = (GeoNode *)memory;
  float *lo = (float *)(memory + nodes_size), *hi = lo + 3 * n;
  int32_t *order = (int32_t *)(hi + 3 * n);
  HdStatus status = hdgeo_read(b->ctx, b->stream, low, lo);
  if (status == HD_OK) status = hdgeo_read(b->ctx, b->stream, high, hi);
  if (status == HD_OK) {
    int32_t count = hdgeo_sah(b->ctx, (int32_t)n, lo, hi, b->options.leaf, order, nodes, &b->depth);
    status = count < 0 ? hd_context_fail(b->ctx, HD_ERR_NOMEM, call, "", "") : arrays(b, n, count);
  }
  if (status == HD_OK) status = hdgeo_write(b->ctx, b->stream, order, b->order);
  if (status == HD_OK) status = hdgeo_write(b->ctx, b->stream, nodes, b->nodes);
  hdgeo_release(b->ctx, memory, size);
  return status == HD_OK ? fit(b, low, high) : status;
}

/* --- the public calls --- */

HdStatus hd_bvh_new(HdContext *ctx, HdStream *stream, const HdBvhOptions *options, HdArray low, HdArray high,
                    HdBvh **out) {
  HdBvhOptions defaults = HD_BVH_OPTIONS_INIT;
  if (!options) options = &defaults;
  HD_TRY(check_options(ctx, options));
  HD_TRY(check_boxes(ctx, stream, "hd_bvh_new", low, high));
  HdBvh *b = hdgeo_alloc(ctx, sizeof *b);
  if (!b) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_bvh_new", "", "");
  b->ctx = ctx;
  b->stream = stream;
  b->options = *options;
  HdStatus status = hdgeo_load(ctx, "bvh_build", hd_stream_device(stream), kernel_names, &b->module, b->kernel);
  if (status == HD_OK) status = build_on_host(b, "hd_bvh_new", low, high);
  if (status == HD_OK)
    *out = b;
  else
    hd_bvh_free(b);
  return status;
}

void hd_bvh_free(HdBvh *b) {
  if (!b) return;
  free_arrays(b->ctx, &b->nodes, &b->order, &b->tree);
  hd_module_free(b->module);
  hdgeo_release(b->ctx, b, sizeof *b);
}

HdStatus hd_bvh_refit(HdBvh *b, HdArray low, HdArray high) {
  HD_TRY(check_boxes(b->ctx, b->stream, "hd_bvh_refit", low, high));
  if (low.length[0] != b->n)
    return hd_context_fail(b->ctx, HD_ERR_SHAPE, "hd_bvh_refit", "low",
                           "the tree has another number of boxes; use hd_bvh_rebuild");
  return fit(b, low, high);
}

HdStatus hd_bvh_rebuild(HdBvh *b, HdArray low, HdArray high) {
  HD_TRY(check_boxes(b->ctx, b->stream, "hd_bvh_rebuild", low, high));
  return build_on_host(b, "hd_bvh_rebuild", low, high);
}

int32_t hd_bvh_args(const HdBvh *b, HdArg args[]) {
  args[0] = hd_arg_array(&b->nodes);
  args[1] = hd_arg_array(&b->order);
  return HD_BVH_ARGS;
}

int64_t hd_bvh_count(const HdBvh *b) { return b->n; }
int32_t hd_bvh_depth(const HdBvh *b) { return b->depth; }
HdArray hdgeo_bvh_nodes(const HdBvh *b) { return b->nodes; }
HdArray hdgeo_bvh_order(const HdBvh *b) { return b->order; }
