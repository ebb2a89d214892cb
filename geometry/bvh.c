/* geometry/bvh.c -- trees of boxes: built by sah.c or bvh_build.hd, their boxes by bvh_build.hd. */
#include <string.h>

#include "geometry/geometry.h"
#include "heddle/algorithms.h"

enum {
  GROUP_BOXES,
  PAIR_BOXES,
  REFIT,
  NUMBER,
  MORTON,
  HIERARCHY,
  ONLY_NODE,
  EXTENTS,
  MORTON_IN_GROUPS,
  BLOCK_KEYS,
  FROM_BLOCKS,
  NO_ROOTS,
  ROOTS,
  NKERNELS
};
static const char *const kernel_names[] = {
    "group_boxes", "pair_boxes",       "refit",      "number",      "morton",   "hierarchy", "only_node",
    "extents",     "morton_in_groups", "block_keys", "from_blocks", "no_roots", "roots",     NULL};

/* Nodes and order as in bvh.hd; unions of neighbours, level after level (Box of bvh_build.hd); keys (n x u32) if it sorts. */
enum { NODES, ORDER, TREE, KEYS, NARRAYS };

struct HdBvh {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdBvhOptions options;
  HdAlgorithms *algorithms; /* NULL until it sorts */
  int64_t n, nnodes;
  int32_t depth;
  GeoGroups groups;
  HdArray array[NARRAYS];
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
  if (o->builder != HD_BVH_SAH && o->builder != HD_BVH_MORTON)
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
    HD_TRY(HDHOST_RUN1(pair, stream, (count + 1) / 2, hd_arg_array(entries), hd_arg_i32((int32_t)from),
                       hd_arg_i32((int32_t)count), hd_arg_i32((int32_t)(from + count))));
    from += count;
  }
  return HD_OK;
}

static HdStatus fit(HdBvh *b, HdArray low, HdArray high) {
  HdArg lo = hd_arg_array(&low), hi = hd_arg_array(&high), order = hd_arg_array(&b->array[ORDER]);
  HdArg tree = hd_arg_array(&b->array[TREE]);
  HD_TRY(HDHOST_RUN1(b->kernel[GROUP_BOXES], b->stream, (b->n + 3) / 4, lo, hi, order, tree));
  HD_TRY(hdgeo_pair_levels(b->stream, b->kernel[PAIR_BOXES], &b->array[TREE], b->n));
  return HDHOST_RUN1(b->kernel[REFIT], b->stream, b->nnodes, lo, hi, order, tree, hd_arg_array(&b->array[NODES]));
}

/* --- building --- */

static void free_arrays(HdContext *ctx, HdArray of[]) {
  for (int i = 0; i < NARRAYS; i++) hd_array_free(ctx, &of[i]);
}

/* Memory for a tree of this size; if there is none, the old tree stays. */
static HdStatus arrays(HdBvh *b, int64_t n, int64_t nnodes) {
  if (b->array[NODES].ndim && n == b->n && nnodes == b->nnodes) return HD_OK;
  const struct {
    HdType type;
    int64_t length;
  } wanted[NARRAYS] = {{hd_type_struct(sizeof(GeoNode)), nnodes},
                       {hd_type_scalar(HD_I32), n},
                       {hd_type_struct(BOX), hdgeo_levels(n)},
                       {hd_type_scalar(HD_U32), b->options.builder == HD_BVH_MORTON ? n : 0}};
  HdArray made[NARRAYS] = {{0}};
  for (int i = 0; i < NARRAYS; i++) {
    HdStatus status = hd_array_new(b->ctx, hd_stream_device(b->stream), wanted[i].type, 1, &wanted[i].length, &made[i]);
    if (status == HD_OK) continue;
    free_arrays(b->ctx, made);
    return status;
  }
  for (int i = 0; i < NARRAYS; i++)
    if (b->array[i].owner) HD_TRY(hd_array_free_on(b->stream, &b->array[i]));
  memcpy(b->array, made, sizeof made);
  b->n = n;
  b->nnodes = nnodes;
  return HD_OK;
}

static HdStatus build_on_host(HdBvh *b, const char *call, HdArray low, HdArray high) {
  int64_t n = low.length[0];
  size_t side = (size_t)n * 3 * sizeof(float), order_size = (size_t)n * sizeof(int32_t);
  size_t nodes_size = (size_t)(n + b->groups.count + 1) * sizeof(GeoNode);
  size_t roots_size = (size_t)b->groups.count * sizeof(int32_t), size = nodes_size + 2 * side + order_size + roots_size;
  char *memory = hdhost_alloc(b->ctx, size);
  if (!memory) return hd_context_fail(b->ctx, HD_ERR_NOMEM, call, "", "");
  GeoNode *nodes = (GeoNode *)memory;
  float *lo = (float *)(memory + nodes_size), *hi = lo + 3 * n;
  int32_t *order = (int32_t *)(hi + 3 * n), *root = order + n;
  HdStatus status = hdgeo_read(b->ctx, b->stream, low, lo);
  if (status == HD_OK) status = hdgeo_read(b->ctx, b->stream, high, hi);
  if (status == HD_OK) {
    int32_t leaf = b->options.leaf;
    int32_t count = b->groups.count ? hdgeo_groups_sah(b->ctx, &b->groups, lo, hi, leaf, order, nodes, root, &b->depth)
                                    : hdgeo_sah(b->ctx, (int32_t)n, lo, hi, leaf, GEO_DEPTH, order, nodes, &b->depth);
    status = count < 0 ? hd_context_fail(b->ctx, HD_ERR_NOMEM, call, "", "") : arrays(b, n, count);
  }
  if (status == HD_OK) status = hdgeo_write(b->ctx, b->stream, order, b->array[ORDER]);
  if (status == HD_OK) status = hdgeo_write(b->ctx, b->stream, nodes, b->array[NODES]);
  if (status == HD_OK && b->groups.count) status = hdgeo_write(b->ctx, b->stream, root, b->groups.root);
  hdhost_release(b->ctx, memory, size);
  return status == HD_OK ? fit(b, low, high) : status;
}

/* Nodes between the root and a leaf are at most one for each bit of a key and each bit of a group's number. */
static int32_t bits_of(int64_t groups, int32_t *depth) {
  int32_t number = 0;
  while ((int64_t)1 << number < groups) number++;
  int32_t bits = (GEO_DEPTH - number) / 3 < 10 ? (GEO_DEPTH - number) / 3 : 10;
  *depth = 3 * bits + number > 0 ? 3 * bits + number : 1;
  return bits;
}

/* Boxes of neighbours in `order`, level after level. */
static HdStatus level_boxes(HdBvh *b, HdArray low, HdArray high, HdArray order) {
  HD_TRY(HDHOST_RUN1(b->kernel[GROUP_BOXES], b->stream, (b->n + 3) / 4, hd_arg_array(&low), hd_arg_array(&high),
                     hd_arg_array(&order), hd_arg_array(&b->array[TREE])));
  return hdgeo_pair_levels(b->stream, b->kernel[PAIR_BOXES], &b->array[TREE], b->n);
}

static HdStatus sort_pairs(HdBvh *b, int32_t bits) {
  if (!b->algorithms) HD_TRY(hd_algorithms_new(b->ctx, b->stream, NULL, &b->algorithms));
  HdSortOptions o = HD_SORT_OPTIONS_INIT;
  o.bits = bits;
  return hd_sort_pairs(b->algorithms, b->array[KEYS], b->array[ORDER], &o);
}

static HdStatus sort_along_curve(HdBvh *b, HdArray low, HdArray high, int32_t bits) {
  HdArg tree = hd_arg_array(&b->array[TREE]), key = hd_arg_array(&b->array[KEYS]);
  int32_t root = (int32_t)b->array[TREE].length[0] - 1;
  HD_TRY(HDHOST_RUN1(b->kernel[NUMBER], b->stream, b->n, hd_arg_array(&b->array[ORDER])));
  HD_TRY(level_boxes(b, low, high, b->array[ORDER]));
  HD_TRY(HDHOST_RUN1(b->kernel[MORTON], b->stream, b->n, hd_arg_array(&low), hd_arg_array(&high), tree,
                     hd_arg_i32(root), hd_arg_i32(bits), key));
  return sort_pairs(b, 3 * bits);
}

static HdStatus build_on_device(HdBvh *b, HdArray low, HdArray high) {
  int64_t n = low.length[0], groups = (n + b->options.leaf - 1) / b->options.leaf;
  HD_TRY(arrays(b, n, groups > 1 ? groups - 1 : 1));
  HdArg nodes = hd_arg_array(&b->array[NODES]);
  int32_t bits = bits_of(groups, &b->depth);
  if (groups <= 1) {
    HD_TRY(HDHOST_RUN1(b->kernel[ONLY_NODE], b->stream, 1, hd_arg_i32((int32_t)n), nodes));
    HD_TRY(HDHOST_RUN1(b->kernel[NUMBER], b->stream, n, hd_arg_array(&b->array[ORDER])));
    return fit(b, low, high);
  }
  HD_TRY(sort_along_curve(b, low, high, bits));
  HD_TRY(HDHOST_RUN1(b->kernel[HIERARCHY], b->stream, groups - 1, hd_arg_array(&b->array[KEYS]),
                     hd_arg_i32(b->options.leaf), hd_arg_i32((int32_t)groups), nodes));
  return fit(b, low, high);
}

/* The same with groups: keys begin with their numbers, and no leaf has primitives of two. */
static HdStatus sort_in_groups(HdBvh *b, HdArray low, HdArray high) {
  GeoGroups *g = &b->groups;
  int32_t number = 0, blocks = 0;
  while (1 << number < g->count) number++;
  while (1 << blocks < g->nblocks) blocks++;
  int32_t bits = (32 - number) / 3 < 10 ? (32 - number) / 3 : 10;
  if (number + 3 * bits + blocks > GEO_DEPTH) bits = (GEO_DEPTH - number - blocks) / 3;
  b->depth = number + 3 * bits + blocks > 0 ? number + 3 * bits + blocks : 1;
  HdArg lo = hd_arg_array(&low), hi = hd_arg_array(&high), key = hd_arg_array(&b->array[KEYS]);
  HdArg extent = hd_arg_array(&g->extent);
  HD_TRY(level_boxes(b, low, high, g->by_group));
  HD_TRY(HDHOST_RUN1(b->kernel[EXTENTS], b->stream, g->count, lo, hi, hd_arg_array(&g->by_group),
                     hd_arg_array(&b->array[TREE]), hd_arg_array(&g->first), extent));
  HD_TRY(HDHOST_RUN1(b->kernel[MORTON_IN_GROUPS], b->stream, b->n, lo, hi, hd_arg_array(&g->of), extent,
                     hd_arg_i32(bits), key));
  HD_TRY(HDHOST_RUN1(b->kernel[NUMBER], b->stream, b->n, hd_arg_array(&b->array[ORDER])));
  return sort_pairs(b, number + 3 * bits > 0 ? number + 3 * bits : 1);
}

static HdStatus build_groups_on_device(HdBvh *b, HdArray low, HdArray high) {
  GeoGroups *g = &b->groups;
  HD_TRY(arrays(b, low.length[0], g->nblocks > 1 ? g->nblocks - 1 : 1));
  HdArg nodes = hd_arg_array(&b->array[NODES]), order = hd_arg_array(&b->array[ORDER]), of = hd_arg_array(&g->of);
  HdArg first = hd_arg_array(&g->first), root = hd_arg_array(&g->root), start = hd_arg_array(&g->start);
  if (g->nblocks > 1) {
    HdArg block = hd_arg_array(&g->key);
    HD_TRY(sort_in_groups(b, low, high));
    HD_TRY(HDHOST_RUN1(b->kernel[BLOCK_KEYS], b->stream, g->nblocks, hd_arg_array(&b->array[KEYS]), start, block));
    HD_TRY(HDHOST_RUN1(b->kernel[HIERARCHY], b->stream, g->nblocks - 1, block, hd_arg_i32(1), hd_arg_i32(g->nblocks),
                       nodes));
    HD_TRY(HDHOST_RUN1(b->kernel[FROM_BLOCKS], b->stream, g->nblocks - 1, start, nodes));
  } else {
    b->depth = 1;
    HD_TRY(HDHOST_RUN1(b->kernel[ONLY_NODE], b->stream, 1, hd_arg_i32((int32_t)b->n), nodes));
    HD_TRY(HDHOST_RUN1(b->kernel[NUMBER], b->stream, b->n, order));
  }
  HD_TRY(HDHOST_RUN1(b->kernel[NO_ROOTS], b->stream, g->count, first, hd_arg_i32((int32_t)b->n), root));
  HD_TRY(HDHOST_RUN1(b->kernel[ROOTS], b->stream, b->nnodes, order, of, first, nodes, root));
  return fit(b, low, high);
}

static HdStatus build(HdBvh *b, const char *call, HdArray low, HdArray high) {
  if (b->options.builder == HD_BVH_SAH) return build_on_host(b, call, low, high);
  return b->groups.count ? build_groups_on_device(b, low, high) : build_on_device(b, low, high);
}

/* --- the public calls --- */

HdStatus hdgeo_bvh_new(HdContext *ctx, HdStream *stream, const char *call, const HdBvhOptions *options, HdArray low,
                       HdArray high, const HdArray *group, int32_t ngroups, HdBvh **out) {
  HD_TRY(hdhost_check_new(ctx, stream, call, out));
  HdBvhOptions defaults = HD_BVH_OPTIONS_INIT;
  if (!options) options = &defaults;
  HD_TRY(check_options(ctx, options));
  HD_TRY(check_boxes(ctx, stream, call, low, high));
  if (group) HD_TRY(hdgeo_check_group(ctx, stream, call, *group, low));
  HdBvh *b = hdhost_alloc(ctx, sizeof *b);
  if (!b) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  b->ctx = ctx;
  b->stream = stream;
  b->options = *options;
  HdStatus status = hdhost_load(ctx, "geometry/bvh_build.hd", hdgeo_source("bvh_build"), hd_stream_device(stream),
                                kernel_names, &b->module, b->kernel);
  if (status == HD_OK && group)
    status = hdgeo_groups_new(ctx, stream, call, *group, ngroups, options->leaf, &b->groups);
  if (status == HD_OK) status = build(b, call, low, high);
  if (status == HD_OK)
    *out = b;
  else
    hd_bvh_free(b);
  return status;
}

HdStatus hd_bvh_new(HdContext *ctx, HdStream *stream, const HdBvhOptions *options, HdArray low, HdArray high,
                    HdBvh **out) {
  return hdgeo_bvh_new(ctx, stream, "hd_bvh_new", options, low, high, NULL, 0, out);
}

HdStatus hd_bvh_new_groups(HdContext *ctx, HdStream *stream, const HdBvhOptions *options, HdArray low, HdArray high,
                           HdArray group, int32_t ngroups, HdBvh **out) {
  return hdgeo_bvh_new(ctx, stream, "hd_bvh_new_groups", options, low, high, &group, ngroups, out);
}

void hd_bvh_free(HdBvh *b) {
  if (!b) return;
  hd_algorithms_free(b->algorithms);
  free_arrays(b->ctx, b->array);
  hdgeo_groups_free(b->ctx, &b->groups);
  hd_module_free(b->module);
  hdhost_release(b->ctx, b, sizeof *b);
}

HdStatus hd_bvh_refit(HdBvh *b, HdArray low, HdArray high) {
  if (!b) return HD_ERR_ARG;
  HD_TRY(check_boxes(b->ctx, b->stream, "hd_bvh_refit", low, high));
  if (low.length[0] != b->n)
    return hd_context_fail(b->ctx, HD_ERR_SHAPE, "hd_bvh_refit", "low",
                           "the tree has another number of boxes; use hd_bvh_rebuild");
  return fit(b, low, high);
}

HdStatus hd_bvh_rebuild(HdBvh *b, HdArray low, HdArray high) {
  if (!b) return HD_ERR_ARG;
  HD_TRY(check_boxes(b->ctx, b->stream, "hd_bvh_rebuild", low, high));
  if (b->groups.count && low.length[0] != b->n)
    return hd_context_fail(b->ctx, HD_ERR_SHAPE, "hd_bvh_rebuild", "low", "the groups are of another number of boxes");
  return build(b, "hd_bvh_rebuild", low, high);
}

int32_t hd_bvh_args(const HdBvh *b, HdArg args[]) {
  args[0] = hd_arg_array(&b->array[NODES]);
  args[1] = hd_arg_array(&b->array[ORDER]);
  return HD_BVH_ARGS;
}

int64_t hd_bvh_count(const HdBvh *b) { return b ? b->n : 0; }
HdArray hd_bvh_roots(const HdBvh *b) { return b ? b->groups.root : (HdArray){.ndim = 1}; }
int32_t hd_bvh_depth(const HdBvh *b) { return b ? b->depth : 0; }
HdArray hdgeo_bvh_nodes(const HdBvh *b) { return b->array[NODES]; }
HdArray hdgeo_bvh_order(const HdBvh *b) { return b->array[ORDER]; }
