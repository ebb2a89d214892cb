// tests/geometry/mesh_sweep_test.cc -- spheres that move against meshes: every face tried, and small steps in f64.
#include <algorithm>

#include "geometry_fixture.h"

namespace {

using namespace geo;

struct Sweep {
  float t, face, px, py, pz, nx, ny, nz;
};
const char kSweep[] = "kernel k(Mesh m, vec3 o[], vec3 d[], f32 radius, f32 limit, vec<f32, 8> out[]) {\n"
                      "  let i = tid(); let h = mesh_sweep_sphere(m, o[i], radius, d[i], limit); let p = h.point;\n"
                      "  out[i] = vec<f32, 8>(h.t, f32(h.face), p.x, p.y, p.z, h.normal.x, h.normal.y, h.normal.z); }";
const char kSweepAll[] = "kernel k(Mesh m, vec3 o[], vec3 d[], f32 radius, f32 limit, vec<f32, 8> out[]) {\n"
                         "  let i = tid(); var t = limit; var face = -1;\n"
                         "  for (f in 0..m.faces.length) { vec3 a; vec3 b; vec3 c; mesh_corners(m, f, a, b, c);\n"
                         "    if (!all(a + b + c - (a + b + c) == 0)) continue;\n"
                         "    let s = sweep_sphere_triangle(o[i], radius, d[i], a, b, c);\n"
                         "    if (s >= 0 && s <= t && (s < t || face < 0)) { t = s; face = f; } }\n"
                         "  out[i] = vec<f32, 8>(face < 0 ? -1 : t, f32(face), 0, 0, 0, 0, 0, 0); }";

class MeshSweepTest : public Geometry {
protected:
  std::vector<Sweep> Ask(Place &p, const char *text, HdMesh *m, const std::vector<V> &o, const std::vector<V> &d,
                         float radius, float limit) {
    HdArray out = p.New(hd_type_vec(HD_F32, 8), int64_t(o.size())), a = p.New(o), c = p.New(d);
    p.Run(p.Kernel(text), int64_t(o.size()),
          p.Args(m, {hd_arg_array(&a), hd_arg_array(&c), hd_arg_f32(radius), hd_arg_f32(limit), hd_arg_array(&out)}));
    return p.Get<Sweep>(out);
  }
  // Random triangles, some without area.
  Shape Soup(int n) {
    Shape s;
    for (int i = 0; i < n; i++) {
      V c = Point();
      for (int k = 0; k < 3; k++) s.points.push_back(c + Point(0.2f));
      if (i % 17 == 3) s.points[size_t(3 * i + 1)] = s.points[size_t(3 * i)];
      if (i % 19 == 4) s.points[size_t(3 * i + 1)] = s.points[size_t(3 * i + 2)] = s.points[size_t(3 * i)];
      if (i % 23 == 5) s.points[size_t(3 * i + i % 3)].y = i % 2 ? kNan : kInf;
      s.faces.push_back({3 * i, 3 * i + 1, 3 * i + 2});
    }
    return s;
  }
};

double FromSegment(V p, V a, V b) {
  double l = Dot(b - a, b - a), t = l > 0 ? std::clamp(Dot(p - a, b - a) / l, 0.0, 1.0) : 0, s = 0;
  const float *x = &p.x, *y = &a.x, *z = &b.x;
  for (int k = 0; k < 3; k++) s += std::pow(y[k] + t * (double(z[k]) - y[k]) - x[k], 2);
  return std::sqrt(s);
}

// From a triangle, which may have no area, in f64.
double Distance(V p, V a, V b, V c) {
  if (!std::isfinite(Length(a + b + c))) return INFINITY; // such a face is not found
  double best = std::min({FromSegment(p, a, b), FromSegment(p, b, c), FromSegment(p, c, a)});
  auto cross = [](V u, V v) {
    return std::array<double, 3>{double(u.y) * v.z - double(u.z) * v.y, double(u.z) * v.x - double(u.x) * v.z,
                                 double(u.x) * v.y - double(u.y) * v.x};
  };
  auto dot = [](const std::array<double, 3> &x, const std::array<double, 3> &y) {
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  };
  auto n = cross(b - a, c - a);
  double l = std::sqrt(dot(n, n));
  if (!(l > 1e-12)) return best;
  if (dot(cross(b - a, p - a), n) < 0 || dot(cross(c - b, p - b), n) < 0 || dot(cross(a - c, p - c), n) < 0)
    return best;
  V u = p - a;
  return std::fabs(n[0] * u.x + n[1] * u.y + n[2] * u.z) / l;
}

TEST_F(MeshSweepTest, FindsWhatTryingEveryFaceFinds) {
  Place p("cpu");
  for (const Shape &s : {Soup(400), Torus(20, 16), Sphere(20, 24, 0.2f)}) {
    HdMesh *m = p.Mesh(s, false);
    std::vector<V> o = Points(400, 1.5f), d = Points(400);
    for (size_t i = 0; i < d.size(); i += 3) (&d[i].x)[i / 3 % 3] = 0;
    for (float radius : {0.0f, 0.02f, 0.3f})
      for (float limit : {0.4f, 3.0f, 50.0f}) {
        auto got = Ask(p, kSweep, m, o, d, radius, limit), want = Ask(p, kSweepAll, m, o, d, radius, limit);
        for (size_t i = 0; i < got.size(); i++) {
          ASSERT_EQ(got[i].t, want[i].t) << i << " " << radius << " " << limit;
          ASSERT_EQ(got[i].face, want[i].face) << i;
        }
      }
    hd_mesh_free(m);
  }
}

TEST_F(MeshSweepTest, StopsWhereTheNearestFaceIsAtTheRadius) {
  Place p("cpu");
  Shape s = Soup(60);
  HdMesh *m = p.Mesh(s, false);
  std::vector<V> o = Points(300, 1.5f), d = Points(300);
  const float radius = 0.15f, limit = 2;
  auto got = Ask(p, kSweep, m, o, d, radius, limit);
  auto distance = [&](V at) {
    double best = INFINITY;
    for (auto f : s.faces)
      best = std::min(best, Distance(at, s.points[size_t(f.a)], s.points[size_t(f.b)], s.points[size_t(f.c)]));
    return best;
  };
  int hits = 0, touching = 0;
  for (size_t i = 0; i < o.size(); i++) {
    float t = got[i].t;
    double until = t >= 0 ? t : limit, step = 0.01;
    for (double x = 0; x < until; x += step) // not before
      ASSERT_GT(distance(o[i] + d[i] * float(x)), radius - 2e-5) << i << " at " << x << " of " << t;
    if (t < 0) continue;
    double at = distance(o[i] + d[i] * t);
    if (t == 0) {
      touching++;
      EXPECT_LE(at, radius + 1e-6);
    } else {
      hits++;
      EXPECT_NEAR(at, radius, 2e-5) << i;
      V n = {got[i].nx, got[i].ny, got[i].nz}, x = {got[i].px, got[i].py, got[i].pz};
      EXPECT_NEAR(Length(n), 1, 1e-5);
      EXPECT_NEAR(Length(x + n * radius - (o[i] + d[i] * t)), 0, 5e-5) << i;
    }
  }
  EXPECT_GT(hits, 60);
  EXPECT_GT(touching, 10);
  hd_mesh_free(m);
}

TEST_F(MeshSweepTest, HasAnAnswerForWhatIsDegenerate) {
  Place p("cpu");
  HdMesh *cube = p.Mesh(Cube());
  auto one = [&](HdMesh *m, V o, V d, float radius, float limit) {
    return Ask(p, kSweep, m, {o}, {d}, radius, limit)[0];
  };
  EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, 0.5f, 10).t, 1.5f);                             // a face
  EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -2}, 0.5f, 10).t, 0.75f);                            // in units of d
  EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, 0.5f, 1.4f).t, -1);                             // beyond the limit
  EXPECT_NEAR(one(cube, {0, 3, 3}, {0, -1, -1}, 0.5f, 10).t, 2 - 0.5 / std::sqrt(2), 1e-6);  // an edge
  EXPECT_NEAR(one(cube, {3, 3, 3}, {-1, -1, -1}, 0.5f, 10).t, 2 - 0.5 / std::sqrt(3), 1e-6); // a corner
  EXPECT_EQ(one(cube, {0, 0, 1.2f}, {0, 0, 1}, 0.5f, 10).t, 0);                              // it touches at once
  EXPECT_EQ(one(cube, {0, 0, 1.2f}, {0, 0, 0}, 0.5f, 10).t, 0);                              // without moving
  EXPECT_EQ(one(cube, {0, 0, 2}, {0, 0, 0}, 0.5f, 10).t, -1);
  EXPECT_EQ(one(cube, {0, 0, 2}, {0, 0, -1}, 0.5f, 0).t, -1);
  EXPECT_EQ(one(cube, {0, 0, 0}, {0, 0, 1}, 0.5f, 10).t, 0.5f); // from inside
  EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, 0, 10).t, 2);      // a point
  EXPECT_EQ(one(cube, {0, 0, 1}, {0, 0, -1}, 0, 10).t, 0);
  EXPECT_EQ(Length({one(cube, {0, 0, 1}, {0, 0, -1}, 0, 10).nx, 0, 0}), 0);
  for (float bad : {kNan, kInf}) {
    EXPECT_EQ(one(cube, {0, 0, bad}, {0, 0, -1}, 0.5f, 10).t, -1) << bad;
    EXPECT_EQ(one(cube, {0, 0, 3}, {0, bad, -1}, 0.5f, 10).t, -1) << bad;
    EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, bad, 10).t, -1) << bad;
    EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, 0.5f, bad).t, -1) << bad;
  }
  EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, -0.5f, 10).t, -1);
  EXPECT_EQ(one(cube, {0, 0, 3}, {0, 0, -1}, 0.5f, -1).t, -1);
  hd_mesh_free(cube);

  HdMesh *none = p.Mesh(Shape());
  EXPECT_EQ(one(none, {0, 0, 3}, {0, 0, -1}, 0.5f, 10).t, -1);
  hd_mesh_free(none);
  HdMesh *flat = p.Mesh({{{0, 0, 0}, {2, 0, 0}, {1, 0, 0}}, {{0, 1, 2}, {0, 0, 0}}}); // a segment and a point
  EXPECT_NEAR(one(flat, {1.5f, 0, 3}, {0, 0, -1}, 0.5f, 10).t, 2.5, 1e-6);
  EXPECT_NEAR(one(flat, {-3, 0, 0}, {1, 0, 0}, 0.5f, 10).t, 2.5, 1e-6);
  EXPECT_EQ(one(flat, {1.5f, 1, 3}, {0, 0, -1}, 0.5f, 10).t, -1);
  hd_mesh_free(flat);
}

TEST_F(MeshSweepTest, HasTheSameBitsEverywhere) {
  Shape s = Soup(80);
  std::vector<V> o = Points(60, 1.5f), d = Points(60);
  SameEverywhere([&](Place &p) {
    HdMesh *m = p.Mesh(s, false);
    auto got = Ask(p, kSweep, m, o, d, 0.1f, 2);
    hd_mesh_free(m);
    std::vector<int32_t> bits(got.size() * 8);
    memcpy(bits.data(), got.data(), bits.size() * 4);
    return bits;
  });
}

} // namespace
