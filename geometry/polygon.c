/* geometry/polygon.c -- polygons cut into triangles, ear by ear.
 *
 * Meisters, "Polygons Have Ears", Amer. Math. Monthly 82(6), 1975. Corners are seen along the polygon's normal (Newell's), so one that is
 * not quite flat will do. Where rounding or a crossing leaves no ear, the corner that turns most is taken.
 */
#include <math.h>

#include "geometry/mesh_file.h"

/* Twice the area of p q r seen along n. */
static double area(const double n[3], const float *p, const float *q, const float *r) {
  double u[3], v[3], a = 0;
  for (int k = 0; k < 3; k++) {
    u[k] = (double)q[k] - p[k];
    v[k] = (double)r[k] - p[k];
  }
  for (int k = 0; k < 3; k++) a += n[k] * (u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]);
  return a;
}

static bool holds(const double n[3], const float *p, const float *q, const float *r, const float *x) {
  return area(n, p, q, x) >= 0 && area(n, q, r, x) >= 0 && area(n, r, p, x) >= 0;
}

static bool is_ear(const double n[3], const float points[], int count, const int32_t at[], int k) {
  int before = (k + count - 1) % count, after = (k + 1) % count;
  const float *p = points + 3 * (int64_t)at[before], *q = points + 3 * (int64_t)at[k],
              *r = points + 3 * (int64_t)at[after];
  for (int i = 0; i < count; i++)
    if (i != before && i != k && i != after && holds(n, p, q, r, points + 3 * (int64_t)at[i])) return false;
  return true;
}

void hdgeo_polygon(const float points[], int count, int32_t at[], int32_t faces[]) {
  double n[3] = {0, 0, 0};
  for (int i = 1; i + 1 < count; i++)
    for (int k = 0; k < 3; k++) {
      const double e[3] = {k == 0, k == 1, k == 2};
      n[k] += area(e, points + 3 * (int64_t)at[0], points + 3 * (int64_t)at[i], points + 3 * (int64_t)at[i + 1]);
    }
  while (count > 3) {
    int best = 1, ear = -1;
    double most = -INFINITY, most_of_ears = 0;
    for (int k = 0; k < count; k++) {
      double a = area(n, points + 3 * (int64_t)at[(k + count - 1) % count], points + 3 * (int64_t)at[k],
                      points + 3 * (int64_t)at[(k + 1) % count]);
      if (a > most) {
        most = a;
        best = k;
      }
      if (a <= most_of_ears || !is_ear(n, points, count, at, k)) continue;
      most_of_ears = a;
      ear = k;
    }
    if (ear >= 0) best = ear;
    *faces++ = at[(best + count - 1) % count];
    *faces++ = at[best];
    *faces++ = at[(best + 1) % count];
    for (int k = best; k + 1 < count; k++) at[k] = at[k + 1];
    count--;
  }
  for (int k = 0; k < 3; k++) *faces++ = at[k];
}
