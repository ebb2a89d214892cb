/* geometry/hull.c -- convex hulls of points, on the host.
 *
 * Barber, Dobkin and Huhdanpaa, "The Quickhull Algorithm for Convex Hulls", ACM TOMS 22(4), 1996: each face keeps the points outside
 * of it; the farthest of one face's becomes a corner, in place of the faces that see it. Planes are in f64, in which the
 * differences of floats are nearly exact. A point whose horizon is not one simple loop, or would turn a face over, which rounding
 * can bring about, is left out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "geometry/geometry.h"

typedef struct HullFace {
  int32_t v[3];    /* points                                                  */
  int32_t next[3]; /* the face behind the edge from v[k] to v[(k + 1) % 3]    */
  double n[3], d;  /* n x - d is the distance, n of length 1                  */
  int32_t outside; /* the first of the points outside, -1 for none            */
  int32_t mark;    /* of the last search that saw it; -1: it is no more       */
} HullFace;

typedef struct Hull {
  const float *points;
  int64_t npoints;
  double eps;      /* how far outside a point has to be */
  float inside[3]; /* the middle of the first tetrahedron */
  HullFace *faces;
  int32_t nfaces, room;
  int32_t *list;    /* of points: the next one outside of the same face           */
  int32_t *start;   /* of points: the new face whose first edge begins there      */
  int32_t *seen;    /* faces that see the point, up to `room`; then to be looked at */
  int32_t *horizon; /* edges: pairs of a face that stays and its edge              */
  int32_t search;
} Hull;

static double distance(const HullFace *f, const float p[3]) {
  return f->n[0] * p[0] + f->n[1] * p[1] + f->n[2] * p[2] - f->d;
}

static void set_plane(Hull *h, HullFace *f) {
  const float *a = h->points + 3 * (int64_t)f->v[0], *b = h->points + 3 * (int64_t)f->v[1];
  const float *c = h->points + 3 * (int64_t)f->v[2];
  double u[3], v[3], l = 0;
  for (int k = 0; k < 3; k++) {
    u[k] = (double)b[k] - a[k];
    v[k] = (double)c[k] - a[k];
  }
  for (int k = 0; k < 3; k++) {
    f->n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    l += f->n[k] * f->n[k];
  }
  l = sqrt(l);
  f->d = 0;
  for (int k = 0; k < 3; k++) {
    f->n[k] = l > 0 ? f->n[k] / l : 0;
    f->d += f->n[k] * a[k];
  }
}

/* Whether point i, which is farther out by `m`, is to be a corner rather than `best` with `most`. Of equally far ones that with the
 * greatest coordinates: it is not in the middle of a side. */
static bool is_better(const Hull *h, double m, int32_t i, double most, int32_t best) {
  double tie = 0.01 * h->eps;
  if (fabs(m - most) > tie) return m > most;
  const float *p = h->points + 3 * (int64_t)i, *q = h->points + 3 * (int64_t)best;
  for (int k = 0; k < 3; k++)
    if (p[k] != q[k]) return p[k] > q[k];
  return false;
}

/* --- the first tetrahedron --- */

/* The point that is farthest by `measure`; *most is by how much. */
typedef double Measure(const Hull *h, const int32_t at[3], const float p[3]);
static int32_t farthest(const Hull *h, const int32_t at[3], Measure *measure, double *most) {
  int32_t best = 0;
  *most = -1;
  for (int64_t i = 0; i < h->npoints; i++) {
    double m = measure(h, at, h->points + 3 * i);
    if (is_better(h, m, (int32_t)i, *most, best)) {
      *most = m;
      best = (int32_t)i;
    }
  }
  return best;
}

static void edge_of(const Hull *h, int32_t from, const float p[3], double out[3]) {
  for (int k = 0; k < 3; k++) out[k] = (double)p[k] - h->points[3 * (int64_t)from + k];
}
static void cross(const double a[3], const double b[3], double out[3]) {
  for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}
static double length(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static double from_point(const Hull *h, const int32_t at[3], const float p[3]) {
  double u[3];
  edge_of(h, at[0], p, u);
  return length(u);
}
static double from_line(const Hull *h, const int32_t at[3], const float p[3]) {
  double u[3], v[3], n[3];
  edge_of(h, at[0], h->points + 3 * (int64_t)at[1], u);
  edge_of(h, at[0], p, v);
  cross(u, v, n);
  return length(n) / length(u);
}
static double from_plane(const Hull *h, const int32_t at[3], const float p[3]) {
  double u[3], v[3], n[3], w[3];
  edge_of(h, at[0], h->points + 3 * (int64_t)at[1], u);
  edge_of(h, at[0], h->points + 3 * (int64_t)at[2], v);
  edge_of(h, at[0], p, w);
  cross(u, v, n);
  return fabs(n[0] * w[0] + n[1] * w[1] + n[2] * w[2]) / length(n);
}

static HdStatus flat(HdContext *ctx, const char *what) {
  return hd_context_fail(ctx, HD_ERR_ARG, "hd_convex_hull_new", "points", what);
}

/* Four corners, the last one behind the face of the first three. */
static HdStatus first_corners(HdContext *ctx, Hull *h, int32_t v[4]) {
  double most, size;
  v[0] = 0;
  v[0] = farthest(h, v, from_point, &size);
  v[1] = farthest(h, v, from_point, &size);
  if (!(size > 0)) return flat(ctx, "they are all in one place");
  h->eps = 1e-9 * size;
  v[2] = farthest(h, v, from_line, &most);
  if (!(most > h->eps)) return flat(ctx, "they are all on one line");
  v[3] = farthest(h, v, from_plane, &most);
  if (!(most > h->eps)) return flat(ctx, "they are all in one plane");
  HullFace f = {.v = {v[0], v[1], v[2]}};
  set_plane(h, &f);
  if (distance(&f, h->points + 3 * (int64_t)v[3]) > 0) {
    int32_t t = v[1];
    v[1] = v[2];
    v[2] = t;
  }
  return HD_OK;
}

/* --- growing --- */

/* Gives the points of a list to the first of `count` faces from `first` on that has them outside. */
static void hand_out(Hull *h, int32_t list, int32_t first, int32_t count) {
  while (list >= 0) {
    int32_t i = list;
    list = h->list[i];
    for (int32_t k = 0; k < count; k++) {
      HullFace *f = &h->faces[first + k];
      if (!(distance(f, h->points + 3 * (int64_t)i) > h->eps)) continue;
      h->list[i] = f->outside;
      f->outside = i;
      break;
    }
  }
}

static void start(Hull *h, const int32_t v[4]) {
  static const int32_t corner[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
  static const int32_t next[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
  for (int k = 0; k < 4; k++) {
    HullFace *f = &h->faces[k];
    for (int j = 0; j < 3; j++) {
      f->v[j] = v[corner[k][j]];
      f->next[j] = next[k][j];
    }
    f->outside = -1;
    f->mark = 0;
    set_plane(h, f);
  }
  h->nfaces = 4;
  for (int k = 0; k < 12; k++) h->inside[k % 3] += h->points[3 * (int64_t)v[k / 3] + k % 3] / 4;
  int32_t all = -1;
  for (int64_t i = h->npoints - 1; i >= 0; i--) {
    h->list[i] = all;
    all = (int32_t)i;
  }
  hand_out(h, all, 0, 4);
}

/* The point of a face's that is farthest outside, taken out of its list. */
static int32_t take_farthest(Hull *h, HullFace *f) {
  int32_t best = f->outside, before = -1, last = -1;
  double most = -1;
  for (int32_t i = f->outside; i >= 0; last = i, i = h->list[i]) {
    double d = distance(f, h->points + 3 * (int64_t)i);
    if (is_better(h, d, i, most, best)) {
      most = d;
      best = i;
      before = last;
    }
  }
  if (before >= 0)
    h->list[before] = h->list[best];
  else
    f->outside = h->list[best];
  return best;
}

/* The faces that see a point, from one of them on, and the edges around them. One sees it that has it farther out than `limit`. */
static void look(Hull *h, int32_t from, const float p[3], double limit, int32_t *nseen, int32_t *nhorizon) {
  h->search++;
  *nseen = 1;
  *nhorizon = 0;
  h->seen[0] = from;
  h->faces[from].mark = h->search;
  for (int32_t i = 0; i < *nseen; i++)
    for (int k = 0; k < 3; k++) {
      int32_t at = h->faces[h->seen[i]].next[k];
      HullFace *g = &h->faces[at];
      if (g->mark == h->search) continue;
      if (distance(g, p) > limit) {
        g->mark = h->search;
        h->seen[(*nseen)++] = at;
      }
    }
  for (int32_t i = 0; i < *nseen; i++)
    for (int k = 0; k < 3; k++) {
      int32_t at = h->faces[h->seen[i]].next[k];
      if (h->faces[at].mark == h->search) continue;
      h->horizon[2 * *nhorizon] = h->seen[i];
      h->horizon[2 * (*nhorizon)++ + 1] = k;
    }
}

/* Whether the horizon is one loop that meets no point twice; start[] then has, by point, which edge begins there. */
static bool is_loop(Hull *h, int32_t n) {
  bool ok = n >= 3;
  for (int32_t e = 0; e < n; e++) {
    int32_t from = h->faces[h->horizon[2 * e]].v[h->horizon[2 * e + 1]];
    ok &= h->start[from] < 0;
    h->start[from] = e;
  }
  int32_t e = 0, steps = 0;
  while (ok && steps < n) {
    int32_t k = h->horizon[2 * e + 1], to = h->faces[h->horizon[2 * e]].v[(k + 1) % 3];
    steps++;
    e = h->start[to];
    ok = e >= 0 && (e != 0 || steps == n);
  }
  ok &= steps == n && e == 0;
  return ok;
}
static void forget(Hull *h, int32_t n) {
  for (int32_t e = 0; e < n; e++) h->start[h->faces[h->horizon[2 * e]].v[h->horizon[2 * e + 1]]] = -1;
}

/* Whether faces from the point to each edge of the horizon have the inside behind them. */
static bool looks_out(Hull *h, int32_t point, int32_t nhorizon) {
  for (int32_t e = 0; e < nhorizon; e++) {
    const int32_t *v = h->faces[h->horizon[2 * e]].v;
    int32_t k = h->horizon[2 * e + 1];
    HullFace f = {.v = {v[k], v[(k + 1) % 3], point}};
    set_plane(h, &f);
    if (!(distance(&f, h->inside) < 0)) return false;
  }
  return true;
}

/* New faces from the point to each edge of the horizon. */
static void cap(Hull *h, int32_t point, int32_t nhorizon) {
  int32_t first = h->nfaces;
  for (int32_t e = 0; e < nhorizon; e++) {
    int32_t old = h->horizon[2 * e], k = h->horizon[2 * e + 1], a = h->faces[old].v[k],
            b = h->faces[old].v[(k + 1) % 3];
    int32_t beyond = h->faces[old].next[k];
    HullFace *f = &h->faces[first + e], *g = &h->faces[beyond];
    *f = (HullFace){.v = {a, b, point}, .outside = -1};
    set_plane(h, f);
    f->next[0] = beyond;
    for (int j = 0; j < 3; j++)
      if (g->v[j] == b && g->v[(j + 1) % 3] == a) g->next[j] = first + e;
    f->next[1] = first + h->start[b];
  }
  for (int32_t e = 0; e < nhorizon; e++) h->faces[h->faces[first + e].next[1]].next[2] = first + e;
  h->nfaces += nhorizon;
}

/* Room for n more faces. */
static HdStatus reserve(HdContext *ctx, Hull *h, int32_t n) {
  if (h->nfaces <= h->room - n) return HD_OK;
  int64_t room = 2 * ((int64_t)h->room + n) + 64;
  HullFace *faces = hdhost_alloc(ctx, (size_t)room * sizeof *faces);
  int32_t *more = hdhost_alloc(ctx, (size_t)room * 7 * sizeof *more); /* seen, and three edges a face */
  if (room > INT32_MAX || !faces || !more) {
    hdhost_release(ctx, faces, (size_t)room * sizeof *faces);
    hdhost_release(ctx, more, (size_t)room * 7 * sizeof *more);
    return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_convex_hull_new", "", "");
  }
  if (h->faces) memcpy(faces, h->faces, (size_t)h->nfaces * sizeof *faces);
  if (h->seen) memcpy(more, h->seen, (size_t)h->room * sizeof *more);
  if (h->seen) memcpy(more + room, h->horizon, (size_t)h->room * 6 * sizeof *more);
  hdhost_release(ctx, h->faces, (size_t)h->room * sizeof *faces);
  hdhost_release(ctx, h->seen, (size_t)h->room * 7 * sizeof *more);
  h->faces = faces;
  h->seen = more;
  h->horizon = more + room;
  h->room = (int32_t)room;
  return HD_OK;
}

/* Makes a point a corner. Faces in whose plane it lies go too, so that no new one is without area; where that leaves no clean
 * horizon, they stay. */
static HdStatus add(HdContext *ctx, Hull *h, int32_t face, int32_t point) {
  const double limits[] = {-0.01 * h->eps, 0};
  for (int t = 0; t < 2; t++) {
    int32_t nseen, nhorizon, first = h->nfaces;
    look(h, face, h->points + 3 * (int64_t)point, limits[t], &nseen, &nhorizon);
    bool ok = is_loop(h, nhorizon) && looks_out(h, point, nhorizon);
    HdStatus status = ok ? reserve(ctx, h, nhorizon) : HD_OK;
    if (ok && status == HD_OK) cap(h, point, nhorizon);
    forget(h, nhorizon);
    HD_TRY(status);
    if (!ok) continue;
    for (int32_t k = 0; k < nseen; k++) {
      HullFace *f = &h->faces[h->seen[k]];
      hand_out(h, f->outside, first, nhorizon);
      f->outside = -1;
      f->mark = -1;
    }
    break;
  }
  return HD_OK;
}

static HdStatus grow(HdContext *ctx, Hull *h) {
  for (int32_t i = 0; i < h->nfaces; i++)
    while (h->faces[i].mark >= 0 && h->faces[i].outside >= 0) HD_TRY(add(ctx, h, i, take_farthest(h, &h->faces[i])));
  return HD_OK;
}

/* --- the public calls --- */

static HdStatus check(HdContext *ctx, int64_t n, const float points[]) {
  if (n < 4) return flat(ctx, "they are fewer than four");
  if (n > GEO_MOST) return hd_context_fail(ctx, HD_ERR_SHAPE, "hd_convex_hull_new", "points", "more than 2^28");
  if (!points) return flat(ctx, "it is NULL");
  for (int64_t i = 0; i < n; i++) {
    if (isfinite(points[3 * i]) && isfinite(points[3 * i + 1]) && isfinite(points[3 * i + 2])) continue;
    char arg[48];
    snprintf(arg, sizeof arg, "points[%lld]", (long long)i);
    return hd_context_fail(ctx, HD_ERR_ARG, "hd_convex_hull_new", arg, "it is not finite");
  }
  return HD_OK;
}

/* Corners in the order of the given points, faces in the order in which they were made. */
static HdStatus collect(HdContext *ctx, Hull *h, HdConvexHull *out) {
  HdConvexHull r = {0, 0, NULL, NULL, NULL};
  for (int32_t i = 0; i < h->nfaces; i++) {
    if (h->faces[i].mark < 0) continue;
    r.nfaces++;
    for (int k = 0; k < 3; k++) h->start[h->faces[i].v[k]] = 0;
  }
  for (int64_t i = 0; i < h->npoints; i++)
    if (h->start[i] == 0) h->start[i] = (int32_t)r.npoints++;
  r.points = hdhost_alloc(ctx, (size_t)r.npoints * 12);
  r.source = hdhost_alloc(ctx, (size_t)r.npoints * 4);
  r.faces = hdhost_alloc(ctx, (size_t)r.nfaces * 12);
  if (!r.points || !r.source || !r.faces) {
    hd_convex_hull_free(ctx, &r);
    return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_convex_hull_new", "", "");
  }
  for (int64_t i = 0; i < h->npoints; i++) {
    if (h->start[i] < 0) continue;
    memcpy(r.points + 3 * (int64_t)h->start[i], h->points + 3 * i, 12);
    r.source[h->start[i]] = (int32_t)i;
  }
  int32_t *to = r.faces;
  for (int32_t i = 0; i < h->nfaces; i++)
    for (int k = 0; k < 3 && h->faces[i].mark >= 0; k++) *to++ = h->start[h->faces[i].v[k]];
  *out = r;
  return HD_OK;
}

HdStatus hd_convex_hull_new(HdContext *ctx, int64_t npoints, const float points[], HdConvexHull *out) {
  HD_TRY(check(ctx, npoints, points));
  Hull h = {.points = points, .npoints = npoints};
  int32_t v[4] = {0, 0, 0, 0};
  HD_TRY(first_corners(ctx, &h, v));
  size_t size = (size_t)npoints * 2 * sizeof(int32_t);
  h.list = hdhost_alloc(ctx, size);
  if (!h.list) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_convex_hull_new", "", "");
  h.start = h.list + npoints;
  memset(h.start, -1, (size_t)npoints * sizeof *h.start);
  HdStatus status = reserve(ctx, &h, 4);
  if (status == HD_OK) {
    start(&h, v);
    status = grow(ctx, &h);
  }
  if (status == HD_OK) status = collect(ctx, &h, out);
  hdhost_release(ctx, h.faces, (size_t)h.room * sizeof *h.faces);
  hdhost_release(ctx, h.seen, (size_t)h.room * 7 * sizeof *h.seen);
  hdhost_release(ctx, h.list, size);
  return status;
}

void hd_convex_hull_free(HdContext *ctx, HdConvexHull *h) {
  if (!h) return;
  hdhost_release(ctx, h->points, (size_t)h->npoints * 12);
  hdhost_release(ctx, h->source, (size_t)h->npoints * 4);
  hdhost_release(ctx, h->faces, (size_t)h->nfaces * 12);
  *h = (HdConvexHull){0, 0, NULL, NULL, NULL};
}
