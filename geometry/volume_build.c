/* geometry/volume_build.c -- the host side of volume_build.hd: the device sorts keys of leaves, the host goes through those that differ
 * and lays the tables out, and the device writes them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "geometry/geometry.h"
#include "geometry/nanovdb.h"
#include "heddle/algorithms.h"

enum { VOXEL_KEYS, POINT_KEYS, FILL, NODES, LEAVES, MARK_VOXELS, MARK_POINTS, COUNT_ACTIVE, NKERNELS };
static const char *const kernel_names[] = {"voxel_keys", "point_keys",  "fill",        "nodes",
                                           "leaves",     "mark_voxels", "mark_points", "count_active"};
static const char CALL[] = "hd_volume_new";
enum { KEY_BITS = 63, LOWER_BITS = 12, UPPER_BITS = 15 };
/* The format's numbers: what is written, and flags for boxes and for nodes that lie in order. */
enum { VERSION = 32 << 21 | 8 << 10, FLAGS = 2 | 32 };

typedef struct Node { /* of volume_build.hd, as the next */
  int32_t low[3], high[3], parent, place;
} Node;
typedef struct NodeTable {
  int32_t first, node, head, place, mask;
} NodeTable;

typedef struct Build {
  HdContext *ctx;
  HdStream *stream;
  const HdVolumeOptions *options;
  const NanoLayout *layout;
  HdArray voxels;
  bool points;
  HdModule *module;
  HdAlgorithms *algorithms;
  double map[22]; /* as of NANO_MAP */
  uint64_t *key;  /* of leaves, on the host */
  int64_t room;   /* bytes of `key`         */
  Node *node;     /* of leaves, lower nodes and upper nodes, one after the other, and the uppers' keys */
  int64_t leaves, lowers, uppers;
  HdArray words;
  int64_t node_at[3], first[3]; /* of leaves, lower and upper nodes: in `node`, and in words */
} Build;

/* --- what is given --- */

static HdStatus bad(const Build *b, const char *arg, const char *detail) {
  return hd_context_fail(b->ctx, HD_ERR_ARG, CALL, arg, detail);
}

static HdStatus invert(Build *b) {
  const double *m = b->options->to_world;
  double *map = b->map, *inverse = map + 9;
  memcpy(map, m, 9 * sizeof *m);
  memcpy(map + 18, b->options->origin, 3 * sizeof *m);
  map[21] = 1;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) { /* the minor without row j and column i */
      int r = (j + 1) % 3, s = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
      inverse[3 * i + j] = m[3 * r + c] * m[3 * s + d] - m[3 * r + d] * m[3 * s + c];
    }
  double det = m[0] * inverse[0] + m[1] * inverse[3] + m[2] * inverse[6];
  for (int i = 0; i < 9; i++) {
    inverse[i] /= det;
    if (!isfinite((float)inverse[i]) || !isfinite((float)m[i]))
      return bad(b, "options.to_world", "it has no inverse, or is not finite");
  }
  for (int i = 0; i < 3; i++)
    if (!isfinite((float)map[18 + i])) return bad(b, "options.origin", "wanted finite numbers");
  return HD_OK;
}

static HdStatus check(Build *b) {
  static const int32_t types[] = {0, NANO_F32, NANO_I32, NANO_VEC3};
  if (b->options->type < HD_VOLUME_F32 || b->options->type > HD_VOLUME_VEC3)
    return bad(b, "options.type", "wanted one of HdVolumeType");
  b->layout = hdgeo_nano_layout(types[b->options->type]);
  b->points = b->voxels.type.scalar == HD_F32;
  HD_TRY(hdgeo_check(b->ctx, b->stream, CALL, "voxels", b->voxels, hd_type_vec(b->points ? HD_F32 : HD_I32, 3)));
  if (b->voxels.length[0] >= INT32_MAX)
    return hd_context_fail(b->ctx, HD_ERR_SHAPE, CALL, "voxels", "more than 2^31 - 2");
  return invert(b);
}

/* --- which leaves --- */

static HdStatus kernel(const Build *b, int which, HdKernel **out) {
  return hd_module_kernel(b->module, kernel_names[which], hd_stream_device(b->stream), out);
}

static HdStatus key_kernel(const Build *b, HdArray *keys) {
  HdKernel *k;
  float to_index[9], origin[3];
  HD_TRY(kernel(b, b->points ? POINT_KEYS : VOXEL_KEYS, &k));
  HdArg voxels = hd_arg_array(&b->voxels), out = hd_arg_array(keys);
  if (!b->points) return HDHOST_RUN1(k, b->stream, b->voxels.length[0], voxels, out);
  for (int i = 0; i < 9; i++) to_index[i] = (float)b->map[9 + i];
  for (int i = 0; i < 3; i++) origin[i] = (float)b->map[18 + i];
  return HDHOST_RUN1(k, b->stream, b->voxels.length[0], voxels, hd_arg_value(hd_type_mat(HD_F32, 3, 3), to_index),
                     hdhost_vec(3, origin), out);
}

/* Keys, the different ones among them, how long their runs are, and how many there are. */
enum { KEYS, DIFFERENT, LENGTHS, COUNT, NSCRATCH };

static HdStatus sort_keys(Build *b, HdArray a[NSCRATCH]) {
  int64_t n = b->voxels.length[0], one = 1;
  const HdType types[] = {hd_type_scalar(HD_U64), hd_type_scalar(HD_U64), hd_type_scalar(HD_I32),
                          hd_type_scalar(HD_I32)};
  for (int i = 0; i < NSCRATCH; i++)
    HD_TRY(hd_array_new(b->ctx, hd_stream_device(b->stream), types[i], 1, i == COUNT ? &one : &n, &a[i]));
  HD_TRY(key_kernel(b, &a[KEYS]));
  HdSortOptions sort = HD_SORT_OPTIONS_INIT;
  sort.bits = KEY_BITS + 1;
  HD_TRY(hd_sort_keys(b->algorithms, a[KEYS], &sort));
  HD_TRY(hd_run_lengths(b->algorithms, a[KEYS], a[DIFFERENT], a[LENGTHS], a[COUNT]));
  int32_t count;
  HdArray different;
  HD_TRY(hdgeo_read(b->ctx, b->stream, a[COUNT], &count));
  HD_TRY(hd_array_slice(b->ctx, a[DIFFERENT], 0, 0, count, 1, &different));
  b->room = (int64_t)count * (int64_t)sizeof *b->key;
  b->key = hdhost_alloc(b->ctx, (size_t)b->room);
  if (!b->key) return hd_context_fail(b->ctx, HD_ERR_NOMEM, CALL, "", "");
  b->leaves = count;
  return hdgeo_read(b->ctx, b->stream, different, b->key);
}

static HdStatus find_leaves(Build *b) {
  HdArray a[NSCRATCH] = {{0}};
  if (b->voxels.length[0] == 0) return HD_OK;
  HdStatus status = sort_keys(b, a);
  for (int i = 0; i < NSCRATCH; i++) hd_array_free(b->ctx, &a[i]);
  HD_TRY(status);
  if (b->key[b->leaves - 1] == UINT64_MAX)
    return bad(b, "voxels",
               b->points ? "a point is not finite, or its index is not from -2^23 to 2^23 - 1"
                         : "an index is not from -2^23 to 2^23 - 1");
  return HD_OK;
}

/* --- the tables --- */

/* The first voxel of a node at a place of its parent, which begins at `in`. */
static void place_to_voxel(uint32_t place, int log, int bits, const int32_t in[3], int32_t out[3]) {
  for (int a = 0; a < 3; a++) out[a] = in[a] + (int32_t)((place >> (2 - a) * log & ((1u << log) - 1)) << bits);
}

static void root_voxel(uint64_t root, int32_t out[3]) {
  for (int a = 0; a < 3; a++) {
    uint32_t cube = (uint32_t)(root >> (2 - a) * 12 & 4095);
    out[a] = ((int32_t)cube - (cube > 2047 ? 4096 : 0)) * 4096;
  }
}

static void widen(Node *to, const Node *by) {
  for (int a = 0; a < 3; a++) {
    if (by->low[a] < to->low[a]) to->low[a] = by->low[a];
    if (by->high[a] > to->high[a]) to->high[a] = by->high[a];
  }
}

/* Sorted leaves have their parents in order: a node begins where the key's upper part changes. */
static void find_nodes(Build *b) {
  Node *leaf = b->node, *lower = leaf + b->leaves, *upper = lower + b->leaves;
  for (int64_t i = 0; i < b->leaves; i++) {
    uint64_t k = b->key[i], above = i ? b->key[i - 1] : ~k;
    int32_t at[3];
    root_voxel(k >> (LOWER_BITS + UPPER_BITS), at);
    uint32_t in_upper = (uint32_t)(k >> LOWER_BITS & ((1 << UPPER_BITS) - 1)), in_lower = k & ((1 << LOWER_BITS) - 1);
    place_to_voxel(in_upper, 5, 7, at, at);
    place_to_voxel(in_lower, 4, 3, at, leaf[i].low);
    for (int a = 0; a < 3; a++) leaf[i].high[a] = leaf[i].low[a] + 7;
    if (k >> (LOWER_BITS + UPPER_BITS) != above >> (LOWER_BITS + UPPER_BITS)) upper[b->uppers++] = leaf[i];
    if (k >> LOWER_BITS != above >> LOWER_BITS) {
      lower[b->lowers] = leaf[i];
      lower[b->lowers].parent = (int32_t)b->uppers - 1;
      lower[b->lowers++].place = (int32_t)in_upper;
    }
    leaf[i].parent = (int32_t)b->lowers - 1;
    leaf[i].place = (int32_t)in_lower;
    widen(&lower[b->lowers - 1], &leaf[i]);
    widen(&upper[b->uppers - 1], &leaf[i]);
  }
}

/* Where tables are, and memory for them. */
static HdStatus lay_out(Build *b) {
  const NanoLayout *l = b->layout;
  int64_t at = NANO_HEAD + l->root + NANO_ROOT_TILE * b->uppers;
  const int64_t counts[] = {b->leaves, b->lowers, b->uppers}, sizes[] = {l->leaf, l->lower, l->upper};
  for (int i = 2; i >= 0; i--) {
    b->first[i] = at / 4;
    at += counts[i] * sizes[i];
    b->node_at[i] = i * b->leaves;
  }
  int64_t words = at / 4;
  if (words > INT32_MAX) {
    char detail[96];
    snprintf(detail, sizeof detail, "%lld leaves; volumes of less than 2^33 bytes are", (long long)b->leaves);
    return hd_context_fail(b->ctx, HD_ERR_UNSUPPORTED, CALL, "voxels", detail);
  }
  return hd_array_zeros(b->ctx, hd_stream_device(b->stream), hd_type_scalar(HD_U32), 1, &words, &b->words);
}

/* --- what the host writes: the heads and the root --- */

static void put(uint8_t *head, size_t at, const void *from, size_t n) { memcpy(head + at, from, n); }

static void put_value(const Build *b, uint8_t *to) {
  for (int k = 0; k < (b->layout->type == NANO_VEC3 ? 3 : 1); k++) {
    double x = b->options->background[k];
    float f = (float)x;
    int32_t i = !(x > INT32_MIN) ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : (int32_t)x;
    memcpy(to + 4 * k, b->layout->type == NANO_I32 ? (const void *)&i : (const void *)&f, 4);
  }
}

static void put_map(const Build *b, uint8_t *head, const Node *all) {
  float f[22];
  double box[6], step[3];
  for (int i = 0; i < 22; i++) f[i] = (float)b->map[i];
  put(head, NANO_MAP_F, f, sizeof f);
  put(head, NANO_MAP, b->map, sizeof b->map);
  for (int a = 0; a < 3; a++) {
    step[a] = sqrt(b->map[a] * b->map[a] + b->map[3 + a] * b->map[3 + a] + b->map[6 + a] * b->map[6 + a]);
    box[a] = INFINITY;
    box[3 + a] = -INFINITY;
  }
  for (int corner = 0; corner < 8 && b->leaves; corner++)
    for (int a = 0; a < 3; a++) {
      double x = b->map[18 + a];
      for (int c = 0; c < 3; c++) x += b->map[3 * a + c] * (corner >> c & 1 ? (double)all->high[c] + 1 : all->low[c]);
      box[a] = fmin(box[a], x);
      box[3 + a] = fmax(box[3 + a], x);
    }
  put(head, NANO_BOX, box, sizeof box);
  put(head, NANO_STEP, step, sizeof step);
}

static void put_root(const Build *b, uint8_t *root, const Node *all) {
  const Node *upper = b->node + b->node_at[2];
  uint32_t count = (uint32_t)b->uppers;
  put(root, 0, all->low, 12);
  put(root, 12, all->high, 12);
  put(root, NANO_ROOT_TILES, &count, 4);
  put_value(b, root + NANO_BACKGROUND);
  for (int64_t i = 0; i < b->uppers; i++) {
    uint8_t *tile = root + b->layout->root + NANO_ROOT_TILE * i;
    uint64_t key = 0;
    for (int a = 0; a < 3; a++) key = key << 21 | (uint32_t)upper[i].low[a] >> 12;
    int64_t child = 4 * b->first[2] + i * b->layout->upper - NANO_HEAD;
    put(tile, 0, &key, 8);
    put(tile, 8, &child, 8);
  }
}

static void put_head(const Build *b, uint8_t *head) {
  const uint64_t none = UINT64_MAX, size = (uint64_t)b->words.length[0] * 4;
  const uint32_t version = VERSION, flags = FLAGS, one = 1, type = (uint32_t)b->layout->type;
  const uint32_t counts[] = {(uint32_t)b->leaves, (uint32_t)b->lowers, (uint32_t)b->uppers};
  int64_t offsets[4] = {0, 0, 0, NANO_HEAD - NANO_TREE};
  for (int i = 0; i < 3; i++) offsets[i] = 4 * b->first[i] - NANO_TREE;
  put(head, 0, "NanoVDB1", 8);
  put(head, NANO_CHECKSUM, &none, 8);
  put(head, NANO_VERSION, &version, 4);
  put(head, NANO_FLAGS, &flags, 4);
  put(head, NANO_NUMBERS, &one, 4);
  put(head, NANO_SIZE, &size, 8);
  if (b->options->name) snprintf((char *)head + NANO_NAME, 256, "%s", b->options->name);
  put(head, NANO_TYPE, &type, 4);
  put(head, NANO_BLIND, &size, 8);
  put(head, NANO_TREE, offsets, sizeof offsets);
  put(head, NANO_NODES, counts, sizeof counts);
  Node all = {{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}, 0, 0};
  for (int64_t i = 0; i < b->uppers; i++) widen(&all, &b->node[b->node_at[2] + i]);
  put_map(b, head, &all);
  put_root(b, head + NANO_HEAD, &all);
}

static HdStatus write_head(Build *b, HdVolume **out) {
  int64_t size = 4 * b->first[2];
  uint8_t *head = hdhost_alloc(b->ctx, (size_t)size);
  if (!head) return hd_context_fail(b->ctx, HD_ERR_NOMEM, CALL, "", "");
  put_head(b, head);
  HdArray words;
  HdStatus status = hd_array_slice(b->ctx, b->words, 0, 0, b->first[2], 1, &words);
  if (status == HD_OK) status = hdgeo_write(b->ctx, b->stream, head, words);
  if (status == HD_OK) status = hdgeo_volume_take(b->ctx, b->stream, b->words, head, out);
  if (status == HD_OK) b->words = (HdArray){0};
  hdhost_release(b->ctx, head, (size_t)size);
  return status;
}

/* --- what the device writes: everything below --- */

static HdStatus write_nodes(Build *b) {
  const NanoLayout *l = b->layout;
  int32_t tile = (int32_t)l->tile / 4, value = (int32_t)l->value / 4;
  const int64_t counts[] = {b->leaves, b->lowers, b->uppers};
  /* of leaves there is no child; the masks of children lie behind those of values */
  const NodeTable tables[] = {{(int32_t)b->first[0], (int32_t)l->leaf / 4, (int32_t)l->leaf_head / 4, value, 0},
                              {(int32_t)b->first[1], (int32_t)l->lower / 4, NANO_LOWER_HEAD / 4, tile,
                               (NANO_MASKS + NANO_LOWER_PLACES / 8) / 4},
                              {(int32_t)b->first[2], (int32_t)l->upper / 4, NANO_UPPER_HEAD / 4, tile,
                               (NANO_MASKS + NANO_UPPER_PLACES / 8) / 4}};
  const int64_t places[] = {512, NANO_LOWER_PLACES, NANO_UPPER_PLACES};
  HdArray nodes[3] = {{0}};
  HdKernel *fill, *inner, *leaf;
  uint32_t background[3] = {0};
  put_value(b, (uint8_t *)background);
  HD_TRY(kernel(b, FILL, &fill));
  HD_TRY(kernel(b, NODES, &inner));
  HD_TRY(kernel(b, LEAVES, &leaf));
  HdArg words = hd_arg_array(&b->words);
  HdStatus status = HD_OK;
  for (int i = 2; i >= 0 && status == HD_OK; i--) {
    const NodeTable *t = &tables[i], *parents = &tables[i < 2 ? i + 1 : 2];
    HdArg up = hd_arg_value(hd_type_struct(sizeof *parents), parents);
    HdArg first = hd_arg_i32(t->first), node = hd_arg_i32(t->node);
    status = hd_array_new(b->ctx, hd_stream_device(b->stream), hd_type_struct(sizeof(Node)), 1, &counts[i], &nodes[i]);
    if (status == HD_OK) status = hdgeo_write(b->ctx, b->stream, b->node + b->node_at[i], nodes[i]);
    if (status == HD_OK)
      status = HDHOST_RUN2(fill, b->stream, counts[i], places[i], words, hd_arg_i32(t->first + t->head), node,
                           hd_arg_i32(t->place), hd_arg_i32(value), hd_arg_value(hd_type_vec(HD_U32, 3), background));
    if (status == HD_OK)
      status = HDHOST_RUN1(i ? inner : leaf, b->stream, counts[i], words, hd_arg_array(&nodes[i]), first, node, up,
                           hd_arg_bool(i ? i == 2 : b->options->whole));
  }
  HdStatus waited = status == HD_OK ? hd_stream_wait(b->stream) : HD_OK;
  for (int i = 0; i < 3; i++) hd_array_free(b->ctx, &nodes[i]);
  return status != HD_OK ? status : waited;
}

/* Marks the voxels that were named, and sums them up. */
static HdStatus mark(Build *b, HdVolume *v) {
  HdArg args[HD_VOLUME_ARGS + 1];
  int32_t n = hd_volume_args(v, args);
  HdKernel *marker, *counter;
  HdArray words = *args[0].array, counts = {0}, sum = {0}, place;
  int64_t one = 1, active = 512 * b->leaves;
  HdDevice device = hd_stream_device(b->stream);
  if (!b->options->whole && b->leaves) {
    HD_TRY(kernel(b, b->points ? MARK_POINTS : MARK_VOXELS, &marker));
    HD_TRY(kernel(b, COUNT_ACTIVE, &counter));
    args[n] = hd_arg_array(&b->voxels);
    HD_TRY(hd_launch(marker, b->stream, 1, b->voxels.length, n + 1, args));
    HdStatus status = hd_array_new(b->ctx, device, hd_type_scalar(HD_I32), 1, &b->leaves, &counts);
    if (status == HD_OK) status = hd_array_new(b->ctx, device, hd_type_scalar(HD_I32), 1, &one, &sum);
    if (status == HD_OK)
      status = HDHOST_RUN1(counter, b->stream, b->leaves, args[0], hd_arg_i32((int32_t)b->first[0]),
                           hd_arg_i32((int32_t)b->layout->leaf / 4), hd_arg_array(&counts));
    if (status == HD_OK) status = hd_reduce(b->algorithms, HD_REDUCE_SUM, counts, sum);
    int32_t total = 0;
    if (status == HD_OK) status = hdgeo_read(b->ctx, b->stream, sum, &total);
    hd_array_free(b->ctx, &counts);
    hd_array_free(b->ctx, &sum);
    HD_TRY(status);
    active = total;
  }
  hdgeo_volume_set_active(v, active);
  HD_TRY(hd_array_slice(b->ctx, words, 0, NANO_ACTIVE / 4, NANO_ACTIVE / 4 + 2, 1, &place));
  return hdgeo_write(b->ctx, b->stream, &active, place);
}

static HdStatus build(Build *b, HdVolume **out) {
  HD_TRY(check(b));
  HD_TRY(hdhost_open(b->ctx, "geometry/volume_build.hd", hdgeo_source("volume_build"), NULL, &b->module));
  HD_TRY(hd_algorithms_new(b->ctx, b->stream, NULL, &b->algorithms));
  HD_TRY(find_leaves(b));
  b->node = hdhost_alloc(b->ctx, (size_t)(3 * b->leaves + 1) * sizeof *b->node);
  if (!b->node) return hd_context_fail(b->ctx, HD_ERR_NOMEM, CALL, "", "");
  find_nodes(b);
  HD_TRY(lay_out(b));
  HD_TRY(write_nodes(b));
  HD_TRY(write_head(b, out));
  HdStatus status = mark(b, *out);
  if (status != HD_OK) hd_volume_free(*out);
  return status;
}

HdStatus hd_volume_new(HdContext *ctx, HdStream *stream, const HdVolumeOptions *options, HdArray voxels,
                       HdVolume **out) {
  HdVolumeOptions defaults = HD_VOLUME_OPTIONS_INIT;
  Build b = {.ctx = ctx, .stream = stream, .options = options ? options : &defaults, .voxels = voxels};
  HdVolume *made = NULL;
  HdStatus status = build(&b, &made);
  if (status == HD_OK) *out = made;
  hd_array_free(ctx, &b.words);
  if (b.key) hdhost_release(ctx, b.key, (size_t)b.room);
  if (b.node) hdhost_release(ctx, b.node, (size_t)(3 * b.leaves + 1) * sizeof *b.node);
  hd_algorithms_free(b.algorithms);
  hd_module_free(b.module);
  return status;
}
