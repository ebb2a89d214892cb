/* geometry/sah.c -- trees of boxes by the surface area heuristic, on the host.
 *
 * Wald, "On fast Construction of SAH-based Bounding Volume Hierarchies", RT 2007: at each node the centres fall into bins along
 * each axis, and the cut between bins with the least expected cost wins. Where the heuristic has no say (all centres in one
 * place), or would make the tree deeper than it may be, primitives are halved by number.
 */
#include <math.h>
#include <string.h>

#include "geometry/geometry.h"

enum { BINS = 16 };

typedef struct Box {
  float lo[3], hi[3];
} Box;

typedef struct Bin {
  Box box;
  int32_t count;
} Bin;

typedef struct Builder {
  int32_t n, leaf, most; /* levels */
  const float *lo, *hi;
  float *center; /* (n x 3) */
  int32_t *order;
  GeoNode *nodes;
  int32_t nnodes, depth;
} Builder;

typedef struct Task { /* a range of `order` that becomes the subtree `node` */
  int32_t first, end, node, depth;
} Task;

static const Box EMPTY = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static bool usable(const float lo[3], const float hi[3]) {
  for (int a = 0; a < 3; a++)
    if (!(lo[a] <= hi[a]) || !isfinite(lo[a]) || !isfinite(hi[a])) return false;
  return true;
}

static void grow(Box *b, const float lo[3], const float hi[3]) {
  for (int a = 0; a < 3; a++) {
    b->lo[a] = fminf(b->lo[a], lo[a]);
    b->hi[a] = fmaxf(b->hi[a], hi[a]);
  }
}

/* Half of the surface; 0 for a box without points. */
static double area(const Box *b) {
  double x = (double)b->hi[0] - b->lo[0], y = (double)b->hi[1] - b->lo[1], z = (double)b->hi[2] - b->lo[2];
  return x >= 0 ? x * y + y * z + z * x : 0;
}

static int bin_of(const Builder *b, int32_t i, int axis, float low, float scale) {
  int k = (int)((b->center[3 * i + axis] - low) * scale);
  return k < 0 ? 0 : k >= BINS ? BINS - 1 : k;
}

typedef struct Cut {
  int axis, bin; /* bins below `bin` go to the first child; bin 0: no cut */
  float low, scale;
  double cost;
} Cut;

static void best_of_axis(const Builder *b, const Task *t, int axis, float low, float high, Cut *best) {
  float scale = (float)BINS / (high - low);
  if (!(high > low) || !isfinite(scale)) return;
  Bin bins[BINS];
  for (int k = 0; k < BINS; k++) bins[k] = (Bin){EMPTY, 0};
  for (int32_t at = t->first; at < t->end; at++) {
    int32_t i = b->order[at];
    Bin *bin = &bins[bin_of(b, i, axis, low, scale)];
    bin->count++;
    if (usable(b->lo + 3 * i, b->hi + 3 * i)) grow(&bin->box, b->lo + 3 * i, b->hi + 3 * i);
  }
  double below[BINS];
  Box box = EMPTY;
  int32_t count = 0;
  for (int k = 0; k < BINS - 1; k++) {
    grow(&box, bins[k].box.lo, bins[k].box.hi);
    count += bins[k].count;
    below[k + 1] = count ? area(&box) * count : -1;
  }
  box = EMPTY;
  count = 0;
  for (int k = BINS - 1; k > 0; k--) {
    grow(&box, bins[k].box.lo, bins[k].box.hi);
    count += bins[k].count;
    double cost = area(&box) * count + below[k];
    if (count && below[k] >= 0 && cost < best->cost) *best = (Cut){axis, k, low, scale, cost};
  }
}

/* Reorders the task's range; returns where the second child begins. */
static int32_t split(Builder *b, const Task *t, bool by_number) {
  int32_t middle = t->first + (t->end - t->first + 1) / 2;
  Box centers = EMPTY;
  for (int32_t at = t->first; at < t->end; at++)
    grow(&centers, b->center + 3 * b->order[at], b->center + 3 * b->order[at]);
  Cut cut = {.cost = INFINITY};
  for (int axis = 0; axis < 3 && !by_number; axis++) best_of_axis(b, t, axis, centers.lo[axis], centers.hi[axis], &cut);
  if (cut.bin == 0) return middle;
  int32_t l = t->first, r = t->end;
  while (l < r) {
    int32_t i = b->order[l];
    if (bin_of(b, i, cut.axis, cut.low, cut.scale) < cut.bin) {
      l++;
    } else {
      b->order[l] = b->order[--r];
      b->order[r] = i;
    }
  }
  return l;
}

/* Nodes above the leaves when ranges are halved. */
static int32_t levels(int32_t count, int32_t leaf) {
  int32_t d = 0;
  for (int64_t room = leaf; room < count; room *= 2) d++;
  return d;
}

static int32_t leaf_code(int32_t first, int32_t count) { return ~(first * 8 + count); }

static int32_t build(Builder *b) {
  GeoNode *root = &b->nodes[b->nnodes++];
  if (b->n <= b->leaf) {
    *root = (GeoNode){.child0 = leaf_code(0, b->n), .child1 = leaf_code(0, 0), .end = b->n};
    return 1;
  }
  Task stack[GEO_DEPTH + 2] = {{0, b->n, 0, 1}};
  int32_t top = 1;
  while (top > 0) {
    Task t = stack[--top];
    if (t.depth > b->depth) b->depth = t.depth;
    int32_t middle = split(b, &t, false);
    int32_t most = middle - t.first > t.end - middle ? middle - t.first : t.end - middle;
    if (t.depth + levels(most, b->leaf) > b->most) middle = split(b, &t, true);
    const int32_t bound[3] = {t.first, middle, t.end};
    int32_t child[2];
    for (int k = 0; k < 2; k++) {
      int32_t count = bound[k + 1] - bound[k];
      child[k] = count <= b->leaf ? leaf_code(bound[k], count) : b->nnodes++;
    }
    b->nodes[t.node] = (GeoNode){.child0 = child[0], .child1 = child[1], .first = t.first, .end = t.end};
    for (int k = 1; k >= 0; k--)
      if (child[k] >= 0) stack[top++] = (Task){bound[k], bound[k + 1], child[k], t.depth + 1};
  }
  return b->nnodes;
}

int32_t hdgeo_sah(HdContext *ctx, int32_t n, const float lo[], const float hi[], int32_t leaf, int32_t most,
                  int32_t order[], GeoNode nodes[], int32_t *depth) {
  size_t bytes = (size_t)(n ? n : 1) * 3 * sizeof(float);
  Builder b = {.n = n, .leaf = leaf, .most = most, .lo = lo, .hi = hi, .order = order, .nodes = nodes, .depth = 1};
  b.center = hdhost_alloc(ctx, bytes);
  if (!b.center) return -1;
  for (int32_t i = 0; i < n; i++) {
    order[i] = i;
    if (!usable(lo + 3 * i, hi + 3 * i)) continue; /* its centre stays 0: it must stand somewhere */
    for (int a = 0; a < 3; a++) b.center[3 * i + a] = 0.5f * lo[3 * i + a] + 0.5f * hi[3 * i + a];
  }
  int32_t count = build(&b);
  *depth = b.depth;
  hdhost_release(ctx, b.center, bytes);
  return count;
}
