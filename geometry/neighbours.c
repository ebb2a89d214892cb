/* geometry/neighbours.c -- which faces of a mesh meet at its points and edges.
 *
 * Files often name a point once for each face, so points with equal coordinates are taken for one. Edges are sorted by the two
 * points they join; those of one pair are tied into a ring, of one face at a border, two inside, more where surfaces meet.
 */
#include <stdlib.h>
#include <string.h>

#include "geometry/geometry.h"

typedef struct Edge {
  int32_t low, high, at; /* points; 3 face + k, that goes from low to high if it is not turned */
  bool turned;
} Edge;

static uint32_t hash_point(const float p[3]) {
  uint32_t h = 0;
  for (int a = 0; a < 3; a++) {
    float x = p[a] + 0.0f; /* -0 as 0 */
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    h = (h ^ b) * 0x9E3779B1u;
    h ^= h >> 15;
  }
  return h;
}

static bool same_place(const float a[3], const float b[3]) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static HdStatus find_groups(HdContext *ctx, int64_t n, const float points[], int32_t group[]) {
  size_t slots = 16;
  while (slots < (size_t)n * 2) slots *= 2;
  int32_t *table = hdhost_alloc(ctx, slots * sizeof *table); /* point + 1 */
  if (!table) return HD_ERR_NOMEM;
  for (int64_t i = 0; i < n; i++) {
    group[i] = (int32_t)i;
    if (!same_place(points + 3 * i, points + 3 * i)) continue; /* a NaN is like no other */
    size_t s = hash_point(points + 3 * i) & (slots - 1);
    while (table[s] && !same_place(points + 3 * (table[s] - 1), points + 3 * i)) s = (s + 1) & (slots - 1);
    if (!table[s]) table[s] = (int32_t)i + 1;
    group[i] = table[s] - 1;
  }
  hdhost_release(ctx, table, slots * sizeof *table);
  return HD_OK;
}

/* A counting sort of corners by group. */
static void find_corners(int64_t npoints, int64_t nfaces, const int32_t faces[], GeoNeighbours *of) {
  int32_t *first = of->first;
  memset(first, 0, ((size_t)npoints + 1) * sizeof *first);
  for (int64_t e = 0; e < 3 * nfaces; e++) first[of->group[faces[e]] + 1]++;
  for (int64_t i = 0; i < npoints; i++) first[i + 1] += first[i];
  for (int64_t e = 0; e < 3 * nfaces; e++) of->corner[first[of->group[faces[e]]]++] = (int32_t)e;
  for (int64_t i = npoints; i > 0; i--) first[i] = first[i - 1];
  first[0] = 0;
}

static int by_points(const void *x, const void *y) {
  const Edge *a = x, *b = y;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

static void count_ring(const Edge e[], int64_t n, HdMeshReport *report) {
  if (e->low == e->high) return; /* of a face without area */
  if (n == 1) report->open_edges++;
  if (n > 2) report->shared_edges++;
  if (n == 2 && e[0].turned == e[1].turned) report->turned_edges++;
}

static HdStatus find_edges(HdContext *ctx, int64_t nfaces, const int32_t faces[], GeoNeighbours *of,
                           HdMeshReport *report) {
  int64_t n = 3 * nfaces;
  if (n == 0) return HD_OK;
  Edge *edges = hdhost_alloc(ctx, (size_t)n * sizeof *edges);
  if (!edges) return HD_ERR_NOMEM;
  for (int64_t e = 0; e < n; e++) {
    int32_t a = of->group[faces[e]], b = of->group[faces[e % 3 == 2 ? e - 2 : e + 1]];
    edges[e] = (Edge){a < b ? a : b, a < b ? b : a, (int32_t)e, a > b};
  }
  qsort(edges, (size_t)n, sizeof *edges, by_points);
  for (int64_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && edges[j].low == edges[i].low && edges[j].high == edges[i].high; j++)
      of->edge_next[edges[j - 1].at] = edges[j].at;
    of->edge_next[edges[j - 1].at] = edges[i].at;
    count_ring(edges + i, j - i, report);
  }
  hdhost_release(ctx, edges, (size_t)n * sizeof *edges);
  return HD_OK;
}

HdStatus hdgeo_neighbours(HdContext *ctx, int64_t npoints, const float points[], int64_t nfaces, const int32_t faces[],
                          GeoNeighbours *out, HdMeshReport *report) {
  report->open_edges = report->shared_edges = report->turned_edges = 0;
  HD_TRY(find_groups(ctx, npoints, points, out->group));
  find_corners(npoints, nfaces, faces, out);
  return find_edges(ctx, nfaces, faces, out, report);
}
