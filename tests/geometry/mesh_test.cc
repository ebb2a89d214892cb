// tests/geometry/mesh_test.cc -- questions to meshes against trying every face, and against what is known of the shape.
#include <algorithm>
#include <set>

#include "geometry_fixture.h"

namespace {

using namespace geo;

// Kernels write eight numbers for each query.
struct Answer {
  float f[8];
};

const char kRay[] = "kernel k(Mesh m, vec3 o[], vec3 d[], f32 limit, vec<f32, 8> out[]) {\n"
                    "  let i = tid(); let h = mesh_ray(m, o[i], d[i], limit); let w = h.weights;\n"
                    "  out[i] = vec<f32, 8>(h.t, f32(h.face), w.x, w.y, w.z, h.sign,\n"
                    "    mesh_ray_any(m, o[i], d[i], limit) ? 1 : 0, f32(mesh_ray_count(m, o[i], d[i], limit))); }";
// The same without the tree.
const char kRayAll[] = "kernel k(Mesh m, vec3 o[], vec3 d[], f32 limit, vec<f32, 8> out[]) {\n"
                       "  let i = tid(); var t = limit; var face = -1; vec3 w; var crossed = 0; vec3 shear; let axis = "
                       "ray_shear(d[i], shear);\n"
                       "  for (f in 0..m.faces.length) { vec3 a; vec3 b; vec3 c; mesh_corners(m, f, a, b, c); vec3 v;\n"
                       "    let s = ray_triangle(o[i], d[i], a, b, c, v); if (s >= 0 && s <= t && (s < t || face < 0)) "
                       "{ t = s; face = f; w = v; }\n"
                       "    let r = ray_crosses(o[i], axis, shear, a, b, c); if (r >= 0 && r <= limit) crossed++; }\n"
                       "  let front = face >= 0 ? (dot(mesh_normal(m, face), d[i]) <= 0 ? 1 : -1) : 0;\n"
                       "  out[i] = vec<f32, 8>(face < 0 ? -1 : t, f32(face), w.x, w.y, w.z, f32(front), face >= 0 ? 1 "
                       ": 0, f32(crossed)); }";
const char kNearest[] =
    "kernel k(Mesh m, vec3 p[], vec3 unused[], f32 limit, vec<f32, 8> out[]) {\n"
    "  let i = tid(); let h = mesh_nearest(m, p[i], limit); let w = h.weights;\n"
    "  out[i] = vec<f32, 8>(h.distance, f32(h.face), w.x, w.y, w.z, h.point.x, h.point.y, h.point.z); }";
const char kNearestAll[] =
    "kernel k(Mesh m, vec3 p[], vec3 unused[], f32 limit, vec<f32, 8> out[]) {\n"
    "  let i = tid(); var best = limit * limit; var face = -1; vec3 w; vec3 x;\n"
    "  for (f in 0..m.faces.length) { vec3 a; vec3 b; vec3 c; mesh_corners(m, f, a, b, c);\n"
    "    let v = nearest_on_triangle(p[i], a, b, c); let y = a * v.x + b * v.y + c * v.z; let d = length_sq(p[i] - "
    "y);\n"
    "    if (d <= best && (d < best || face < 0)) { best = d; face = f; w = v; x = y; } }\n"
    "  out[i] = vec<f32, 8>(face < 0 ? inf<f32>() : sqrt(best), f32(face), w.x, w.y, w.z, x.x, x.y, x.z); }";
const char kSigns[] =
    "kernel k(Mesh m, vec3 p[], vec3 unused[], f32 limit, vec<f32, 8> out[]) {\n"
    "  let i = tid(); let h = mesh_nearest(m, p[i], inf<f32>()); let n = mesh_nearest_normal(m, h);\n"
    "  out[i] = vec<f32, 8>(h.distance, mesh_sign_by_normal(m, p[i], h), mesh_sign_by_parity(m, p[i]),\n"
    "    mesh_sign_by_winding(m, p[i]), mesh_winding(m, p[i], inf<f32>()), mesh_winding(m, p[i], 2),\n"
    "    length(n), limit); }";
// Faces by a walk in a box (o to d), and in a ball around o: a count and a sum that tells which.
const char kOverlaps[] =
    "kernel k(Mesh m, vec3 o[], vec3 d[], f32 limit, vec<f32, 8> out[]) {\n"
    "  let i = tid(); vec<f32, 8> r; var q = bvh_box(m.bvh, o[i], d[i]); var f = mesh_next(m, q);\n"
    "  while (f >= 0) { r[0] += 1; r[1] += f32(f); f = mesh_next(m, q); }\n"
    "  var b = bvh_point(m.bvh, o[i], limit); f = mesh_next(m, b);\n"
    "  while (f >= 0) { r[2] += 1; r[3] += f32(f); f = mesh_next(m, b); }\n"
    "  var s = bvh_ray(m.bvh, o[i], d[i], limit); MeshHit h;\n"
    "  while (mesh_next(m, s, h)) { r[4] += 1; r[5] += f32(h.face); r[6] += h.sign; } out[i] = r; }";
const char kOverlapsAll[] =
    "kernel k(Mesh m, vec3 o[], vec3 d[], f32 limit, vec<f32, 8> out[]) {\n"
    "  let i = tid(); vec<f32, 8> r;\n"
    "  for (f in 0..m.faces.length) { vec3 a; vec3 b; vec3 c; mesh_corners(m, f, a, b, c);\n"
    "    if (triangle_box_overlap(a, b, c, o[i], d[i])) { r[0] += 1; r[1] += f32(f); }\n"
    "    let w = nearest_on_triangle(o[i], a, b, c);\n"
    "    if (length_sq(o[i] - (a * w.x + b * w.y + c * w.z)) <= limit * limit) { r[2] += 1; r[3] += f32(f); }\n"
    "    vec3 v; let t = ray_triangle(o[i], d[i], a, b, c, v);\n"
    "    if (t >= 0 && t <= limit) { r[4] += 1; r[5] += f32(f); r[6] += dot(mesh_normal(m, f), d[i]) <= 0 ? 1 : -1; } "
    "}\n"
    "  out[i] = r; }";

std::vector<Answer> Ask(Place &p, HdMesh *m, const char *text, const std::vector<V> &x, const std::vector<V> &y,
                        float limit = kInf) {
  HdArray out = p.New(hd_type_vec(HD_F32, 8), int64_t(x.size())), a = p.New(x), c = p.New(y);
  p.Run(p.Kernel(text), int64_t(x.size()),
        p.Args(m, {hd_arg_array(&a), hd_arg_array(&c), hd_arg_f32(limit), hd_arg_array(&out)}));
  return p.Get<Answer>(out);
}

void ExpectEqual(const std::vector<Answer> &a, const std::vector<Answer> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++)
    for (int k = 0; k < 8; k++) ASSERT_EQ(a[i].f[k], b[i].f[k]) << "query " << i << ", number " << k;
}

void AppendBits(const std::vector<Answer> &answers, std::vector<int32_t> *bits) {
  for (const Answer &a : answers) {
    size_t n = bits->size();
    bits->resize(n + 8);
    memcpy(&(*bits)[n], a.f, sizeof a.f);
  }
}

// A triangle soup: random, with some of any kind of trouble among it.
Shape Soup(Geometry *, std::mt19937 &gen, int n) {
  std::uniform_real_distribution<float> u(-1, 1);
  Shape s;
  for (int i = 0; i < n; i++) {
    V c = {u(gen), u(gen), u(gen)};
    for (int k = 0; k < 3; k++) s.points.push_back(c + V{u(gen), u(gen), u(gen)} * 0.15f);
    if (i % 17 == 3) s.points[3 * i + 1] = s.points[3 * i];                       // a segment
    if (i % 19 == 4) s.points[3 * i + 1] = s.points[3 * i + 2] = s.points[3 * i]; // a point
    if (i % 23 == 5) s.points[3 * i + i % 3].y = i % 2 ? kNan : kInf;
    s.faces.push_back({3 * i, 3 * i + 1, 3 * i + 2});
    if (i % 29 == 6) s.faces.push_back(s.faces.back()); // twice the same
  }
  return s;
}

class MeshTest : public Geometry {
protected:
  // Each kind of query against the same without the tree; faces that are not finite are found by neither.
  void ExpectRight(Place &p, HdMesh *m, float scale = 1, int n = 300) {
    std::vector<V> o = Points(n, 1.3f * scale), d = Points(n), hi;
    for (int i = 0; i < n; i += 3) (&d[i].x)[i / 3 % 3] = 0;
    for (V x : o) hi.push_back(x + V{std::fabs(U()), std::fabs(U()), std::fabs(U())} * (0.3f * scale));
    for (float limit : {kInf, 0.5f * scale}) {
      ExpectEqual(Ask(p, m, kRay, o, d, limit), Ask(p, m, kRayAll, o, d, limit));
      ExpectEqual(Ask(p, m, kNearest, o, d, limit), Ask(p, m, kNearestAll, o, d, limit));
    }
    ExpectEqual(Ask(p, m, kOverlaps, o, hi, 0.4f * scale), Ask(p, m, kOverlapsAll, o, hi, 0.4f * scale));
  }

  // Rays of a picture, of n by n places: threads go through the tree together. Every `odd`th of them goes elsewhere, or is none.
  void Picture(int n, int odd, std::vector<V> *o, std::vector<V> *d) {
    std::vector<V> other = Points(n * n);
    for (int i = 0; i < n * n; i++) {
      o->push_back({0.1f, 0.2f, 3});
      d->push_back({float(i % n) / float(n) - 0.5f, float(i / n) / float(n) - 0.5f, -1});
      if (odd && i % odd == 1) d->back() = other[i];
      if (odd && i % (3 * odd) == 2) d->back().x = kNan;
    }
  }
};

TEST_F(MeshTest, AnswersAsTryingEveryFaceDoes) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Sphere(20, 31, 0.2f));
  ExpectRight(p, m);
  hd_mesh_free(m);
}

TEST_F(MeshTest, AnswersAsTryingEveryFaceDoesWhateverTheTriangles) {
  Place p("cpu");
  Shape s = Soup(this, gen_, 600);
  HdMesh *m = p.Mesh(s);
  HdMeshReport r = hd_mesh_report(m);
  EXPECT_EQ(r.not_finite, 27); // one of them twice
  EXPECT_GT(r.no_area, 50);
  for (V &x : s.points) // a triangle that is not finite is as one that is not there
    if (!std::isfinite(x.y)) x = {kNan, kNan, kNan};
  HdMesh *clean = p.Mesh(s);
  ExpectRight(p, clean);
  std::vector<V> o = Points(300, 1.3f), d = Points(300);
  for (const char *text : {kRay, kNearest, kSigns}) ExpectEqual(Ask(p, m, text, o, d), Ask(p, clean, text, o, d));
  ExpectEqual(Ask(p, m, kOverlaps, o, d, 0.4f), Ask(p, clean, kOverlaps, o, d, 0.4f));
  hd_mesh_free(m);
  hd_mesh_free(clean);
}

// Through a corner all faces there are as far as rounding has it, and some a little nearer than their boxes.
TEST_F(MeshTest, AnswersAsTryingEveryFaceDoesThroughCorners) {
  Place p("cpu");
  for (const Shape &s : {Cube(), Torus(30, 20), Sphere(20, 30, 0.2f)}) {
    HdMesh *m = p.Mesh(s);
    std::vector<V> o = Points(3000, 3), d;
    for (size_t i = 0; i < o.size(); i++) {
      if (i % 3 == 0) o[i] = o[i] * 10;
      d.push_back(s.points[gen_() % s.points.size()] - o[i]);
    }
    ExpectEqual(Ask(p, m, kRay, o, d), Ask(p, m, kRayAll, o, d));
    for (V &x : o) x = s.points[gen_() % s.points.size()] * (1 + std::fabs(U()));
    ExpectEqual(Ask(p, m, kNearest, o, d), Ask(p, m, kNearestAll, o, d));
    hd_mesh_free(m);
  }
}

TEST_F(MeshTest, AnswersDoNotDependOnTheTree) {
  Place p("cpu");
  Shape s = Sphere(30, 40, 0.2f);
  HdMesh *a = p.Mesh(s), *b = nullptr;
  HdMeshOptions o = HD_MESH_OPTIONS_INIT;
  o.bvh.builder = HD_BVH_MORTON;
  o.bvh.leaf = 2;
  GEO_OK(p, hd_mesh_new(p.ctx, p.stream, &o, p.New(s.points), p.New(s.faces), &b));
  std::vector<V> x = Points(500, 1.3f), d = Points(500);
  for (const char *text : {kRay, kNearest, kOverlaps}) ExpectEqual(Ask(p, a, text, x, d, 1), Ask(p, b, text, x, d, 1));
  hd_mesh_free(a);
  hd_mesh_free(b);
}

TEST_F(MeshTest, HoldsAtHugeAndTinyScales) {
  Place p("cpu");
  for (float scale : {1e-7f, 1e7f}) {
    Shape s = Sphere(12, 17, 0.2f);
    for (V &x : s.points) x = x * scale;
    HdMesh *m = p.Mesh(s);
    ExpectRight(p, m, scale, 100);
    for (const Answer &a : Ask(p, m, kSigns, {{0, 0, 0}, {3 * scale, 0, 0}}, Points(2)))
      for (int k : {1, 2, 3}) EXPECT_EQ(a.f[k], a.f[0] < 1.5f * scale ? -1 : 1) << "sign " << k << ", scale " << scale;
    hd_mesh_free(m);
  }
}

TEST_F(MeshTest, AnswersTheSameBitsOnEveryDeviceAndWidth) {
  Shape s = Torus(12, 9);
  std::vector<V> o = Points(37, 1.2f), d = Points(37);
  SameEverywhere([&](Place &p) {
    HdMesh *m = p.Mesh(s);
    std::vector<int32_t> bits;
    for (const char *text : {kRay, kNearest, kSigns, kOverlaps}) AppendBits(Ask(p, m, text, o, d, 2), &bits);
    hd_mesh_free(m);
    return bits;
  });
}

TEST_F(MeshTest, RaysThatAreAlikeMeetWhatEachMeetsAlone) {
  Place p("cpu");
  for (const Shape &s : {Cube(), Torus(30, 20), Sphere(20, 30, 0.2f)}) {
    HdMesh *m = p.Mesh(s);
    for (int odd : {0, 5, 41}) {
      std::vector<V> o, d;
      Picture(40, odd, &o, &d);
      for (float limit : {kInf, 2.6f}) ExpectEqual(Ask(p, m, kRay, o, d, limit), Ask(p, m, kRayAll, o, d, limit));
    }
    std::vector<V> o(1000, V{0.3f, 0.1f, 4}), d; // through corners, neighbours' one after the other
    for (size_t i = 0; i < o.size(); i++) d.push_back(s.points[i / 3 % s.points.size()] - o[i]);
    ExpectEqual(Ask(p, m, kRay, o, d), Ask(p, m, kRayAll, o, d));
    hd_mesh_free(m);
  }
}

TEST_F(MeshTest, RaysThatAreAlikeMeetTheSameOnEveryDeviceAndWidth) {
  Shape s = Torus(12, 9);
  std::vector<V> o, d;
  Picture(9, 7, &o, &d);
  SameEverywhere([&](Place &p) {
    HdMesh *m = p.Mesh(s);
    std::vector<int32_t> bits;
    AppendBits(Ask(p, m, kRay, o, d, 4), &bits);
    hd_mesh_free(m);
    return bits;
  });
}

// Hits of a ray in double, by Moller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", JGT 2(1), 1997.
double Hit(V o, V d, V a, V b, V c, double margin) {
  double e[3] = {double(b.x) - a.x, double(b.y) - a.y, double(b.z) - a.z};
  double f[3] = {double(c.x) - a.x, double(c.y) - a.y, double(c.z) - a.z};
  double s[3] = {double(o.x) - a.x, double(o.y) - a.y, double(o.z) - a.z}, g[3] = {d.x, d.y, d.z};
  auto cross = [](const double *x, const double *y, double *z) {
    for (int k = 0; k < 3; k++) z[k] = x[(k + 1) % 3] * y[(k + 2) % 3] - x[(k + 2) % 3] * y[(k + 1) % 3];
  };
  auto dot = [](const double *x, const double *y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; };
  double p[3], q[3];
  cross(g, f, p);
  cross(s, e, q);
  double det = dot(e, p), u = dot(s, p) / det, v = dot(g, q) / det, t = dot(f, q) / det;
  return u >= -margin && v >= -margin && u + v <= 1 + margin && t >= 0 ? t : -1;
}

TEST_F(MeshTest, RaysMeetTheFirstFaceThatDoubleArithmeticFinds) {
  Place p("cpu");
  Shape s = Sphere(24, 24, 0.25f);
  HdMesh *m = p.Mesh(s);
  std::vector<V> o = Points(500, 1.5f), d = Points(500);
  auto got = Ask(p, m, kRay, o, d);
  int hits = 0;
  for (size_t i = 0; i < o.size(); i++) {
    double sure = INFINITY, maybe = INFINITY;
    for (Face f : s.faces) {
      double t = Hit(o[i], d[i], s.points[f.a], s.points[f.b], s.points[f.c], -1e-4);
      if (t >= 0) sure = std::min(sure, t);
      t = Hit(o[i], d[i], s.points[f.a], s.points[f.b], s.points[f.c], 1e-4);
      if (t >= 0) maybe = std::min(maybe, t);
    }
    if (got[i].f[1] < 0) {
      EXPECT_TRUE(std::isinf(sure)) << i;
      continue;
    }
    hits++;
    EXPECT_LE(got[i].f[0], sure * 1.0001 + 1e-5) << i;
    EXPECT_GE(got[i].f[0], maybe * 0.9999 - 1e-5) << i;
    Face f = s.faces[size_t(got[i].f[1])];
    V at = s.points[f.a] * got[i].f[2] + s.points[f.b] * got[i].f[3] + s.points[f.c] * got[i].f[4];
    EXPECT_LT(Length(at - (o[i] + d[i] * got[i].f[0])), 1e-5) << i;
  }
  EXPECT_GT(hits, 100);
  hd_mesh_free(m);
}

// One ray a thread: anywhere, through a point of the mesh, or through a place on an edge; from within, and from without. It
// begins at 0.3 times a random vector, or 4 times one. lost[0] counts rays from within that leave without meeting anything or
// cross an even number of times, lost[1] those from without that cross an odd number of times, lost[2] hits from without.
const char kThrough[] =
    "kernel k(Mesh m, i32 round, i32 lost[]) {\n"
    "  let i = tid(); var r = rand_init(i, round);\n"
    "  let face = m.faces[i % m.faces.length]; let a = m.points[face.x]; let b = m.points[face.y];\n"
    "  let u = vec3(randf(r, -1, 1), randf(r, -1, 1), randf(r, -1, 1));\n"
    "  var to = vec3(randf(r, -1, 1), randf(r, -1, 1), randf(r, -1, 1));\n"
    "  if (i % 3 == 1) to = a;\n"
    "  if (i % 3 == 2) to = a + (b - a) * randf(r, 0, 1);\n"
    "  let o = u * 0.3;\n"
    "  let h = mesh_ray(m, o, to - o, inf<f32>());\n"
    "  if (h.face < 0 || (mesh_ray_count(m, o, to - o, inf<f32>()) & 1) == 0) atomic_add(lost[0], 1);\n"
    "  let far = u * 4;\n"
    "  if (length(far) > 2) {\n"
    "    let n = mesh_ray_count(m, far, to - far, inf<f32>());\n"
    "    if ((n & 1) != 0) atomic_add(lost[1], 1);\n"
    "    if (n > 0) atomic_add(lost[2], 1); } }";

TEST_F(MeshTest, NoRaySlipsThroughAClosedMesh) {
  const char *s = getenv("HEDDLE_LONG");
  const int64_t rays = s && *s == '1' ? 10000000 : 100000, at_once = 100000;
  Place p("cpu");
  HdMesh *m = p.Mesh(Sphere(40, 50, 0.2f), false);
  HdArray lost = p.New(hd_type_scalar(HD_I32), 3);
  for (int64_t i = 0; i < rays; i += at_once)
    p.Run(p.Kernel(kThrough), at_once, p.Args(m, {hd_arg_i32(int32_t(i / at_once)), hd_arg_array(&lost)}));
  std::vector<int32_t> n = p.Get<int32_t>(lost);
  EXPECT_EQ(n[0], 0) << "from within";
  EXPECT_EQ(n[1], 0) << "from without";
  EXPECT_GT(n[2], rays / 3);
  hd_mesh_free(m);
}

TEST_F(MeshTest, RaysAlongAxesThroughPointsAndEdgesOfACubeMeetIt) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Cube());
  std::vector<V> o, d;
  for (float x : {-1.0f, -0.5f, 0.0f, 0.25f, 1.0f})
    for (float y : {-1.0f, 0.0f, 0.5f, 1.0f})
      for (int axis = 0; axis < 3; axis++)
        for (float side : {-3.0f, 3.0f}) {
          V from = {0, 0, 0}, to = {0, 0, 0};
          (&from.x)[axis] = side;
          (&to.x)[axis] = -side;
          (&from.x)[(axis + 1) % 3] = x;
          (&from.x)[(axis + 2) % 3] = y;
          o.push_back(from);
          d.push_back(to);
        }
  auto got = Ask(p, m, kRay, o, d);
  for (size_t i = 0; i < o.size(); i++) {
    EXPECT_NEAR(got[i].f[0], 2.0 / 3, 1e-6) << i;
    EXPECT_EQ(got[i].f[5], 1) << i;
    EXPECT_EQ(int(got[i].f[7]) % 2, 0) << i;
  }
  hd_mesh_free(m);
}

TEST_F(MeshTest, TellsInsideFromOutside) {
  Place p("cpu");
  struct {
    Shape shape;
    std::function<double(V)> distance; // of the smooth shape, or the cube
  } const cases[] = {
      {Sphere(40, 60), [](V x) { return Length(x) - 1; }},
      {Torus(60, 40), [](V x) { return std::hypot(std::hypot(x.x, x.y) - 0.7, x.z) - 0.25; }},
      {Cube(), [](V x) { return std::max({std::fabs(x.x), std::fabs(x.y), std::fabs(x.z)}) - 1; }},
  };
  for (auto &c : cases) {
    HdMesh *m = p.Mesh(c.shape);
    EXPECT_EQ(hd_mesh_report(m).open_edges, 0);
    EXPECT_EQ(hd_mesh_report(m).shared_edges, 0);
    EXPECT_EQ(hd_mesh_report(m).turned_edges, 0);
    std::vector<V> x = Points(3000, 1.4f);
    auto got = Ask(p, m, kSigns, x, x);
    for (size_t i = 0; i < x.size(); i++) {
      double d = c.distance(x[i]);
      if (std::fabs(d) < 0.01) continue;
      float want = d < 0 ? -1 : 1;
      EXPECT_EQ(got[i].f[1], want) << "normal, " << i;
      EXPECT_EQ(got[i].f[2], want) << "parity, " << i;
      EXPECT_EQ(got[i].f[3], want) << "winding, " << i;
      EXPECT_NEAR(got[i].f[4], d < 0 ? 1 : 0, 1e-4) << i;
      EXPECT_NEAR(got[i].f[5], got[i].f[4], 0.1) << i;
      EXPECT_LE(d < 0 ? got[i].f[0] : 0, std::fabs(d) + 2e-3) << i;
    }
    hd_mesh_free(m);
  }
}

// Where a face alone is asked, the sharp edge of a thin wedge gives the wrong sign for points beyond it.
TEST_F(MeshTest, TheSignBeyondSharpEdgesAndPointsIsThatOfAllFacesThere) {
  Shape s;
  s.points = {{0, 0, 0}, {-4, 1, 0.1f}, {-4, -1, 0.1f}, {-4, 0, -0.1f}};
  s.faces = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  for (Face &f : s.faces) std::swap(f.b, f.c);
  Place p("cpu");
  HdMesh *m = p.Mesh(s);
  ASSERT_EQ(hd_mesh_report(m).open_edges + hd_mesh_report(m).turned_edges, 0);
  std::vector<V> x;
  for (int i = 0; i < 400; i++) x.push_back(V{0.1f, 0, 0} + Point(0.09f));
  auto got = Ask(p, m, kSigns, x, x);
  auto inside = Ask(p, m, kSigns, {{-3, 0, 0}}, {{0, 0, 0}});
  EXPECT_EQ(inside[0].f[1], -1);
  for (size_t i = 0; i < x.size(); i++) ASSERT_EQ(got[i].f[1], 1) << i;
  hd_mesh_free(m);
}

TEST_F(MeshTest, ParityNeedsNoOrientationAndWindingNoClosedSurface) {
  Place p("cpu");
  Shape turned = Sphere(20, 30), open = turned;
  for (size_t i = 0; i < turned.faces.size(); i += 2) std::swap(turned.faces[i].b, turned.faces[i].c);
  open.faces.resize(open.faces.size() - 12); // a small hole
  HdMesh *t = p.Mesh(turned), *o = p.Mesh(open);
  EXPECT_GT(hd_mesh_report(t).turned_edges, 100);
  EXPECT_GT(hd_mesh_report(o).open_edges, 3);
  std::vector<V> x = Points(300, 1.4f);
  auto a = Ask(p, t, kSigns, x, x), b = Ask(p, o, kSigns, x, x);
  for (size_t i = 0; i < x.size(); i++) {
    if (std::fabs(Length(x[i]) - 1) < 0.15) continue;
    EXPECT_EQ(a[i].f[2], Length(x[i]) < 1 ? -1 : 1) << i;
    EXPECT_EQ(b[i].f[3], Length(x[i]) < 1 ? -1 : 1) << i;
  }
  hd_mesh_free(t);
  hd_mesh_free(o);
}

// --- meshes that are hardly any, each of its own ---

TEST_F(MeshTest, WithoutFacesIsFoundByNothing) {
  Place p("cpu");
  for (auto &points : {std::vector<V>{}, Points(3)}) {
    HdMesh *m = p.Mesh({points, {}});
    auto r = Ask(p, m, kRay, {{0, 0, 0}}, {{1, 0, 0}}), n = Ask(p, m, kNearest, {{0, 0, 0}}, {{1, 0, 0}});
    auto s = Ask(p, m, kSigns, {{0, 0, 0}}, {{1, 0, 0}}), o = Ask(p, m, kOverlaps, {{-9, -9, -9}}, {{9, 9, 9}}, 100);
    EXPECT_EQ(r[0].f[0], -1);
    EXPECT_EQ(r[0].f[1], -1);
    EXPECT_EQ(r[0].f[6] + r[0].f[7], 0);
    EXPECT_EQ(n[0].f[0], kInf);
    EXPECT_EQ(n[0].f[1], -1);
    for (int k : {1, 2, 3}) EXPECT_EQ(s[0].f[k], 1);
    EXPECT_EQ(s[0].f[4], 0);
    EXPECT_EQ(o[0].f[0] + o[0].f[2] + o[0].f[4], 0);
    hd_mesh_free(m);
  }
}

TEST_F(MeshTest, OfOneTriangleIsMetFromBothSides) {
  Place p("cpu");
  HdMesh *m = p.Mesh({{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}});
  EXPECT_EQ(hd_mesh_report(m).open_edges, 3);
  auto r =
      Ask(p, m, kRay, {{0.25f, 0.25f, 2}, {0.25f, 0.5f, -1}, {0.75f, 0.75f, 1}}, {{0, 0, -1}, {0, 0, 1}, {0, 0, -1}});
  EXPECT_EQ(r[0].f[0], 2);
  EXPECT_EQ(r[0].f[5], 1);
  EXPECT_EQ(r[1].f[0], 1);
  EXPECT_EQ(r[1].f[5], -1);
  EXPECT_EQ(r[2].f[0], -1);
  auto n = Ask(p, m, kNearest, {{-3, 4, 0}, {0.25f, 0.25f, 0.5f}}, {{0, 0, 0}, {0, 0, 0}});
  EXPECT_FLOAT_EQ(n[0].f[0], std::sqrt(18.0f));
  EXPECT_EQ(n[1].f[0], 0.5f);
  hd_mesh_free(m);
}

TEST_F(MeshTest, OfFacesWithoutAreaIsNearWhatItIsNearButMetByNoRay) {
  Place p("cpu");
  HdMesh *m = p.Mesh({{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {5, 5, 5}}, {{0, 1, 2}, {3, 3, 3}, {0, 0, 1}}});
  EXPECT_EQ(hd_mesh_report(m).no_area, 3);
  for (auto &a : Ask(p, m, kRay, {{0.5f, 0, 1}, {5, 5, 9}, {-1, 0, 0}}, {{0, 0, -1}, {0, 0, -1}, {1, 0, 0}}))
    EXPECT_EQ(a.f[0], -1);
  auto n = Ask(p, m, kNearest, {{1.5f, 3, 0}, {5, 5, 7}}, {{0, 0, 0}, {0, 0, 0}});
  EXPECT_EQ(n[0].f[0], 3);
  EXPECT_EQ(n[0].f[1], 0);
  EXPECT_EQ(n[1].f[0], 2);
  EXPECT_EQ(n[1].f[1], 1);
  auto s = Ask(p, m, kSigns, {{1.5f, 3, 0}}, {{0, 0, 0}});
  for (int k : {1, 2, 3}) EXPECT_EQ(s[0].f[k], 1);
  hd_mesh_free(m);
}

TEST_F(MeshTest, OfNothingButNansIsFoundByNothing) {
  Place p("cpu");
  Shape s = Sphere(6, 8);
  for (V &x : s.points) x.z = kNan;
  HdMesh *m = p.Mesh(s);
  EXPECT_EQ(hd_mesh_report(m).not_finite, int64_t(s.faces.size()));
  EXPECT_EQ(Ask(p, m, kRay, {{0, 0, 0}}, {{1, 0, 0}})[0].f[1], -1);
  EXPECT_EQ(Ask(p, m, kNearest, {{0, 0, 0}}, {{1, 0, 0}})[0].f[1], -1);
  EXPECT_EQ(Ask(p, m, kSigns, {{0, 0, 0}}, {{1, 0, 0}})[0].f[5], 0);
  EXPECT_EQ(Ask(p, m, kOverlaps, {{-9, -9, -9}}, {{9, 9, 9}}, kInf)[0].f[0], 0);
  hd_mesh_free(m);
}

TEST_F(MeshTest, WithAllPointsInOnePlaceIsAPoint) {
  Place p("cpu");
  Shape s = Torus(20, 20);
  for (V &x : s.points) x = {1, 2, 3};
  HdMesh *m = p.Mesh(s);
  EXPECT_EQ(Ask(p, m, kRay, {{1, 2, 0}}, {{0, 0, 1}})[0].f[1], -1);
  auto n = Ask(p, m, kNearest, {{1, 2, 5}}, {{0, 0, 0}});
  EXPECT_EQ(n[0].f[0], 2);
  EXPECT_EQ(n[0].f[1], 0); // of 800 the first
  hd_mesh_free(m);
}

TEST_F(MeshTest, WithThreeFacesAtAnEdgeAnswersAndReportsIt) {
  Place p("cpu");
  HdMesh *m = p.Mesh({{{0, 0, 0}, {0, 0, 1}, {1, 0, 0}, {-1, 1, 0}, {-1, -1, 0}}, {{0, 1, 2}, {0, 1, 3}, {1, 0, 4}}});
  HdMeshReport r = hd_mesh_report(m);
  EXPECT_EQ(r.shared_edges, 1);
  EXPECT_EQ(r.open_edges, 6);
  auto n = Ask(p, m, kNearest, {{0.5f, 0.001f, 0.2f}}, {{0, 0, 0}});
  EXPECT_EQ(n[0].f[1], 0);
  auto s = Ask(p, m, kSigns, {{0, 0, 0.5f}}, {{0, 0, 0}}); // on the edge itself
  EXPECT_EQ(s[0].f[0], 0);
  EXPECT_EQ(s[0].f[1], 1);
  hd_mesh_free(m);
}

TEST_F(MeshTest, QueriesThatAreNotFiniteFindNothing) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Sphere(10, 10));
  std::vector<V> bad = {{kNan, 0, 0}, {0, kInf, 0}}, ok = {{0, 0, 0.1f}, {0.1f, 0, 0}};
  for (auto &a : Ask(p, m, kRay, bad, ok)) EXPECT_EQ(a.f[1], -1);
  for (auto &a : Ask(p, m, kRay, ok, bad)) EXPECT_EQ(a.f[1], -1);
  for (auto &a : Ask(p, m, kRay, ok, {{0, 0, 0}, {0, 0, 0}})) EXPECT_EQ(a.f[1], -1);
  for (auto &a : Ask(p, m, kNearest, bad, ok)) EXPECT_EQ(a.f[1], -1);
  for (auto &a : Ask(p, m, kNearest, ok, ok, -1)) EXPECT_EQ(a.f[1], -1);
  for (auto &a : Ask(p, m, kSigns, bad, ok)) EXPECT_EQ(a.f[5], 0);
  hd_mesh_free(m);
}

// --- change ---

TEST_F(MeshTest, KeepsWhereItWasUntilARefitAndThenIsAsMadeAnew) {
  for (const char *device : {"cpu", "cuda:0"}) {
    Place p(device);
    Shape s = device[1] == 'p' ? Sphere(20, 30, 0.2f) : Sphere(6, 9, 0.2f);
    HdMesh *m = p.Mesh(s);
    std::vector<V> x = Points(60, 1.3f), d = Points(60);
    auto before = Ask(p, m, kNearest, x, d);
    for (V &q : s.points) q = {q.x + 0.3f * q.y, q.y * 1.5f, q.z - 0.4f};
    HdArray moved = p.New(s.points);
    ExpectEqual(before, Ask(p, m, kNearest, x, d));
    GEO_OK(p, hd_mesh_refit(m, moved));
    HdMesh *anew = p.Mesh(s);
    ExpectEqual(Ask(p, m, kRay, x, d), Ask(p, anew, kRay, x, d));
    ExpectEqual(Ask(p, m, kNearest, x, d), Ask(p, anew, kNearest, x, d));
    auto a = Ask(p, m, kSigns, x, d), b = Ask(p, anew, kSigns, x, d);
    for (size_t i = 0; i < a.size(); i++)
      for (int k : {0, 1, 2, 3}) EXPECT_EQ(a[i].f[k], b[i].f[k]) << i;
    hd_mesh_free(m);
    hd_mesh_free(anew);
  }
}

TEST_F(MeshTest, RefusesFacesWithPointsThatAreNotThere) {
  Place p("cpu");
  HdMesh *m = nullptr;
  for (int32_t wrong : {3, -1, 1 << 30}) {
    HdArray faces = p.New(std::vector<Face>{{0, 1, 2}, {0, wrong, 2}});
    EXPECT_EQ(hd_mesh_new(p.ctx, p.stream, nullptr, p.New(Points(3)), faces, &m), HD_ERR_ARG);
    EXPECT_NE(p.Why().find("faces[1]"), std::string::npos) << p.Why();
  }
  HdArray points = p.New(Points(3)), faces = p.New(std::vector<Face>{{0, 1, 2}});
  EXPECT_EQ(hd_mesh_new(p.ctx, p.stream, nullptr, faces, faces, &m), HD_ERR_TYPE);
  EXPECT_EQ(hd_mesh_new(p.ctx, p.stream, nullptr, points, points, &m), HD_ERR_TYPE);
  EXPECT_EQ(m, nullptr);
  GEO_OK(p, hd_mesh_new(p.ctx, p.stream, nullptr, points, faces, &m));
  EXPECT_EQ(hd_mesh_refit(m, p.New(Points(4))), HD_ERR_SHAPE);
  hd_mesh_free(m);
}

TEST_F(MeshTest, WithoutSignsTheyAreDefinedAllTheSame) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Sphere(10, 14), false);
  EXPECT_EQ(hd_mesh_report(m).open_edges, -1);
  auto s = Ask(p, m, kSigns, {{0, 0, 0.2f}}, {{0, 0, 0}});
  EXPECT_EQ(s[0].f[1], 1);
  EXPECT_EQ(s[0].f[2], -1); // parity needs nothing
  EXPECT_EQ(s[0].f[3], 1);
  EXPECT_EQ(s[0].f[5], 0);
  hd_mesh_free(m);
}

} // namespace
