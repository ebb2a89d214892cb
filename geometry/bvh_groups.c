/* geometry/bvh_groups.c -- trees over groups of primitives: who is in which, and the host's builder.
 *
 * A group is a subtree of its own, so a walk that begins there meets nothing else. Above the groups, nodes halve them by number.
 */
#include <stdio.h>
#include <string.h>

#include "geometry/geometry.h"

static const uint32_t BOX = 6 * sizeof(float);

/* Counts into first[1 ..], then places: a counting sort, which keeps primitives of a group in their order. */
static HdStatus sort(HdContext *ctx, const char *call, int64_t n, const int32_t group[], GeoGroups *g) {
  int32_t *first = g->host, *by_group = g->host + g->count + 1;
  for (int64_t i = 0; i < n; i++) {
    if (group[i] >= 0 && group[i] < g->count) {
      first[group[i] + 1]++;
      continue;
    }
    char arg[48], detail[96];
    snprintf(arg, sizeof arg, "group[%lld]", (long long)i);
    snprintf(detail, sizeof detail, "wanted 0 to %d, got %d", g->count - 1, group[i]);
    return hd_context_fail(ctx, HD_ERR_ARG, call, arg, detail);
  }
  for (int32_t k = 0; k < g->count; k++) first[k + 1] += first[k];
  for (int64_t i = 0; i < n; i++) by_group[first[group[i]]++] = (int32_t)i;
  for (int32_t k = g->count; k > 0; k--) first[k] = first[k - 1];
  first[0] = 0;
  return HD_OK;
}

static int32_t blocks_of(const GeoGroups *g, int32_t leaf, int32_t start[]) {
  int32_t count = 0;
  for (int32_t k = 0; k < g->count; k++)
    for (int32_t at = g->host[k]; at < g->host[k + 1]; at += leaf, count++)
      if (start) start[count] = at;
  if (start) start[count] = g->host[g->count];
  return count;
}

static HdStatus arrays(HdContext *ctx, HdStream *stream, int64_t n, GeoGroups *g) {
  HdType i32 = hd_type_scalar(HD_I32);
  const struct {
    HdArray *array;
    HdType type;
    int64_t length;
  } all[] = {{&g->of, i32, n},
             {&g->by_group, i32, n},
             {&g->first, i32, (int64_t)g->count + 1},
             {&g->start, i32, (int64_t)g->nblocks + 1},
             {&g->root, i32, g->count},
             {&g->extent, hd_type_struct(BOX), g->count},
             {&g->key, hd_type_scalar(HD_U32), g->nblocks}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    HD_TRY(hd_array_new(ctx, hd_stream_device(stream), all[i].type, 1, &all[i].length, all[i].array));
  return HD_OK;
}

static HdStatus fill(HdContext *ctx, HdStream *stream, const char *call, HdArray group, int32_t leaf, GeoGroups *g) {
  int64_t n = group.length[0];
  size_t size = ((size_t)n + 1) * sizeof(int32_t);
  int32_t *scratch = hdhost_alloc(ctx, size); /* the groups' numbers, then where blocks start */
  if (!scratch) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  HdStatus status = hdgeo_read(ctx, stream, group, scratch);
  if (status == HD_OK) status = sort(ctx, call, n, scratch, g);
  if (status == HD_OK) {
    g->nblocks = blocks_of(g, leaf, NULL);
    status = arrays(ctx, stream, n, g);
  }
  if (status == HD_OK) status = hd_array_copy(stream, group, g->of);
  if (status == HD_OK) status = hdgeo_write(ctx, stream, g->host, g->first);
  if (status == HD_OK) status = hdgeo_write(ctx, stream, g->host + g->count + 1, g->by_group);
  if (status == HD_OK) {
    blocks_of(g, leaf, scratch);
    status = hdgeo_write(ctx, stream, scratch, g->start);
  }
  hdhost_release(ctx, scratch, size);
  return status;
}

HdStatus hdgeo_groups_new(HdContext *ctx, HdStream *stream, const char *call, HdArray group, int32_t count,
                          int32_t leaf, GeoGroups *out) {
  if (count < 1 || count > GEO_MOST_GROUPS)
    return hd_context_fail(ctx, HD_ERR_ARG, call, "ngroups", "wanted 1 to 2^20 groups");
  out->count = count;
  out->host_size = ((size_t)count + 1 + (size_t)group.length[0]) * sizeof(int32_t);
  out->host = hdhost_alloc(ctx, out->host_size);
  if (!out->host) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  return fill(ctx, stream, call, group, leaf, out);
}

void hdgeo_groups_free(HdContext *ctx, GeoGroups *g) {
  HdArray *all[] = {&g->of, &g->by_group, &g->first, &g->start, &g->root, &g->extent, &g->key};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_array_free(ctx, all[i]);
  if (g->host) hdhost_release(ctx, g->host, g->host_size);
}

/* --- the host's builder --- */

static int32_t leaf_code(int32_t first, int32_t count) { return ~(first * 8 + count); }

typedef struct Groups {
  HdContext *ctx;
  const GeoGroups *of;
  const float *lo, *hi;
  float *side; /* boxes of one group: (2 x largest x 3) */
  int32_t leaf, most, nnodes, depth;
  bool failed;            /* without memory */
  int32_t *order, *local; /* places within a group */
  GeoNode *nodes;
} Groups;

static int32_t shift(int32_t child, int32_t nodes, int32_t first) {
  return child >= 0 ? child + nodes : leaf_code((~child >> 3) + first, ~child & 7);
}

/* The child that is over group k. */
static int32_t build_group(Groups *b, int32_t k, int32_t level) {
  int32_t first = b->of->host[k], n = b->of->host[k + 1] - first;
  const int32_t *member = b->of->host + b->of->count + 1 + first;
  if (n == 0) return leaf_code(0, 0);
  if (n <= b->leaf) {
    memcpy(b->order + first, member, (size_t)n * sizeof *member);
    return leaf_code(first, n);
  }
  float *lo = b->side, *hi = b->side + 3 * (int64_t)n;
  for (int32_t i = 0; i < n; i++) {
    memcpy(lo + 3 * i, b->lo + 3 * (int64_t)member[i], 12);
    memcpy(hi + 3 * i, b->hi + 3 * (int64_t)member[i], 12);
  }
  int32_t base = b->nnodes, depth;
  int32_t count = hdgeo_sah(b->ctx, n, lo, hi, b->leaf, b->most, b->local, b->nodes + base, &depth);
  if (count < 0) {
    b->failed = true;
    return leaf_code(0, 0);
  }
  for (int32_t i = 0; i < n; i++) b->order[first + i] = member[b->local[i]];
  for (GeoNode *node = b->nodes + base; node < b->nodes + base + count; node++) {
    node->child0 = shift(node->child0, base, first);
    node->child1 = shift(node->child1, base, first);
    node->first += first;
    node->end += first;
  }
  b->nnodes += count;
  if (depth + level > b->depth) b->depth = depth + level;
  return base;
}

typedef struct Span { /* groups that become the subtree `node` */
  int32_t from, to, node, level;
} Span;

/* Nodes above the groups, and those of each. */
static void build(Groups *b, int32_t root[]) {
  const int32_t *first = b->of->host;
  Span stack[24] = {{0, b->of->count, 0, 1}};
  int32_t top = 1;
  b->nnodes = 1;
  while (top > 0) {
    Span s = stack[--top];
    if (s.level > b->depth) b->depth = s.level;
    int32_t middle = s.from + (s.to - s.from + 1) / 2, child[2] = {leaf_code(0, 0), leaf_code(0, 0)};
    const int32_t bound[3] = {s.from, middle, s.to};
    for (int k = 0; k < 2; k++) {
      int32_t from = bound[k], to = bound[k + 1];
      if (from == to || first[from] == first[to]) {
        for (int32_t g = from; g < to; g++) root[g] = leaf_code(0, 0);
      } else if (to - from == 1) {
        child[k] = root[from] = build_group(b, from, s.level);
      } else {
        child[k] = b->nnodes++;
        stack[top++] = (Span){from, to, child[k], s.level + 1};
      }
    }
    b->nodes[s.node] = (GeoNode){.child0 = child[0], .child1 = child[1], .first = first[s.from], .end = first[s.to]};
  }
}

int32_t hdgeo_groups_sah(HdContext *ctx, const GeoGroups *g, const float lo[], const float hi[], int32_t leaf,
                         int32_t order[], GeoNode nodes[], int32_t root[], int32_t *depth) {
  int32_t largest = 1, above = 1;
  for (int32_t k = 0; k < g->count; k++)
    if (g->host[k + 1] - g->host[k] > largest) largest = g->host[k + 1] - g->host[k];
  while ((int64_t)1 << (above - 1) < g->count) above++;
  size_t size = (size_t)largest * (6 * sizeof(float) + sizeof(int32_t));
  float *side = hdhost_alloc(ctx, size);
  if (!side) return -1;
  Groups b = {.ctx = ctx,
              .of = g,
              .lo = lo,
              .hi = hi,
              .side = side,
              .leaf = leaf,
              .most = GEO_DEPTH - above,
              .order = order,
              .local = (int32_t *)(side + 6 * (int64_t)largest),
              .nodes = nodes};
  build(&b, root);
  hdhost_release(ctx, side, size);
  *depth = b.depth;
  return b.failed ? -1 : b.nnodes;
}
