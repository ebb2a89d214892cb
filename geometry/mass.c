/* geometry/mass.c -- volume, center of mass and inertia of closed meshes.
 *
 * Eberly, "Polyhedral Mass Properties (Revisited)", 2002: sums over the tetrahedra of a point near the mesh and each face.
 * lib/geometry/mass.hd has the same for kernels.
 */
#include <math.h>
#include <string.h>

#include "geometry/geometry.h"

enum { ONE, X, XX = 4, XY = 7, NINTEGRALS = 10 }; /* 1, x y z, xx yy zz, xy yz zx */

static double det(const double a[3], const double b[3], const double c[3]) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* The face's tetrahedron with `origin`; nothing if a corner is not finite. */
static void add_face(const float *const corner[3], const double origin[3], double sum[NINTEGRALS]) {
  double p[3][3], s[3];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) {
      if (!isfinite(corner[k][i])) return;
      p[k][i] = corner[k][i] - origin[i];
    }
  double d = det(p[0], p[1], p[2]);
  for (int i = 0; i < 3; i++) s[i] = p[0][i] + p[1][i] + p[2][i];
  sum[ONE] += d / 6;
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3;
    sum[X + i] += d / 24 * s[i];
    sum[XX + i] += d / 120 * (s[i] * s[i] + p[0][i] * p[0][i] + p[1][i] * p[1][i] + p[2][i] * p[2][i]);
    sum[XY + i] += d / 120 * (s[i] * s[j] + p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j]);
  }
}

static void from_integrals(const double sum[NINTEGRALS], const double origin[3], HdMassProperties *out) {
  double c[3] = {0, 0, 0}, square[3], mixed[3];
  memset(out, 0, sizeof *out);
  out->volume = sum[ONE];
  for (int i = 0; i < 3 && sum[ONE] != 0; i++) c[i] = sum[X + i] / sum[ONE];
  for (int i = 0; i < 3; i++) {
    out->center[i] = sum[ONE] != 0 ? c[i] + origin[i] : 0;
    square[i] = sum[XX + i] - c[i] * c[i] * sum[ONE];
    mixed[i] = sum[XY + i] - c[i] * c[(i + 1) % 3] * sum[ONE];
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3;
    out->inertia[i][i] = square[j] + square[(i + 2) % 3];
    out->inertia[i][j] = out->inertia[j][i] = -mixed[i];
  }
}

static void integrate(const float points[], int64_t npoints, const int32_t faces[], int64_t nfaces,
                      HdMassProperties *out) {
  double origin[3] = {0, 0, 0}, sum[NINTEGRALS] = {0};
  for (int64_t i = 0; i < npoints; i++) { /* the first point is near enough */
    const float *p = points + 3 * i;
    if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) continue;
    for (int k = 0; k < 3; k++) origin[k] = p[k];
    break;
  }
  for (int64_t f = 0; f < nfaces; f++) {
    const float *corner[3];
    for (int k = 0; k < 3; k++) corner[k] = points + 3 * (int64_t)faces[3 * f + k];
    add_face(corner, origin, sum);
  }
  from_integrals(sum, origin, out);
}

HdStatus hd_mesh_mass(const HdMesh *m, HdMassProperties *out) {
  if (!m) return HD_ERR_ARG;
  if (!out) return hd_context_fail(hdgeo_mesh_parts(m).ctx, HD_ERR_ARG, "hd_mesh_mass", "out", "it is NULL");
  GeoMeshParts of = hdgeo_mesh_parts(m);
  int64_t npoints = of.points.length[0], nfaces = of.faces.length[0];
  size_t points_size = (size_t)npoints * 12, size = points_size + (size_t)nfaces * 12 + 1;
  char *memory = hdhost_alloc(of.ctx, size);
  if (!memory) return hd_context_fail(of.ctx, HD_ERR_NOMEM, "hd_mesh_mass", "", "");
  float *points = (float *)memory;
  int32_t *faces = (int32_t *)(memory + points_size);
  HdStatus status = hdgeo_read(of.ctx, of.stream, of.points, points);
  if (status == HD_OK) status = hdgeo_read(of.ctx, of.stream, of.faces, faces);
  if (status == HD_OK) integrate(points, npoints, faces, nfaces, out);
  hdhost_release(of.ctx, memory, size);
  return status;
}
