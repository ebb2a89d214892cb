// tests/lib/library_geometry_test.cc -- nearest points against dense sampling, rays against the distance fields, distance
// fields against what makes one: zero on the surface, the right sign, a gradient of length 1.
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "library_testing.h"

namespace {

struct V {
  double x, y, z;
};
V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
V operator-(V a, V b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
V operator*(V a, double s) { return {a.x * s, a.y * s, a.z * s}; }
double Dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
double Length(V a) { return std::sqrt(Dot(a, a)); }
V Lerp(V a, V b, double t) { return a + (b - a) * t; }

class Geometry : public testing::Test {
protected:
  V Point(double size = 1) { return {u_(gen_) * size, u_(gen_) * size, u_(gen_) * size}; }
  // n points of three floats.
  std::vector<float> Points(int n, double size = 1) {
    std::vector<float> v;
    for (int i = 0; i < 3 * n; i++) v.push_back(static_cast<float>(u_(gen_) * size));
    return v;
  }
  static V At(const std::vector<float> &v, int i) { return {v[3 * i], v[3 * i + 1], v[3 * i + 2]}; }

  std::mt19937 gen_{7};
  std::uniform_real_distribution<double> u_{-1, 1};
  Machine machine_;
};

TEST_F(Geometry, NearestOnATriangleIsNearerThanAnySample) {
  constexpr int n = 2000, grid = 24;
  Program p(machine_,
            "kernel k(vec3 p[], vec3 a[], vec3 b[], vec3 c[], vec3 w[]) {"
            " let i = tid(); w[i] = nearest_on_triangle(p[i], a[i], b[i], c[i]); }",
            machine_.cpu);
  auto q = Points(n, 2), a = Points(n), b = Points(n), c = Points(n);
  for (int i = 0; i < 30; i++) { // no area: a segment, a point
    b[i] = a[i];
    for (int k = 90; k < 99; k++) c[k] = b[k] = a[k];
    for (int k = 120; k < 150; k++) c[k] = 0.5f * (a[k] + b[k]);
  }
  std::vector<float> w(3 * n);
  p.Run(n, q, a, b, c, w);
  for (int i = 0; i < n; i++) {
    V k = At(w, i);
    ASSERT_GE(std::min({k.x, k.y, k.z}), -1e-6) << i;
    ASSERT_NEAR(k.x + k.y + k.z, 1, 1e-5) << i;
    double got = Length(At(q, i) - (At(a, i) * k.x + At(b, i) * k.y + At(c, i) * k.z));
    for (int s = 0; s <= grid; s++)
      for (int t = 0; s + t <= grid; t++) {
        V at = At(a, i) + (At(b, i) - At(a, i)) * (double(s) / grid) + (At(c, i) - At(a, i)) * (double(t) / grid);
        ASSERT_LE(got, Length(At(q, i) - at) + 2e-6) << i;
      }
  }
}

TEST_F(Geometry, NearestOfSegmentsIsNearerThanAnySample) {
  constexpr int n = 3000, grid = 32;
  Program p(
      machine_,
      "kernel k(vec3 p[], vec3 q[], vec3 a[], vec3 b[], f32 s[], f32 t[]) { let i = tid(); var x = 0.0; var y = 0.0;"
      " nearest_of_segments(p[i], q[i], a[i], b[i], x, y); s[i] = x; t[i] = y; }",
      machine_.cpu);
  auto o = Points(n), q = Points(n), a = Points(n), b = Points(n);
  for (int i = 0; i < 3; i++) q[i] = o[i], b[3 + i] = a[3 + i], q[6 + i] = o[6 + i], b[6 + i] = a[6 + i]; // points
  for (int i = 30; i < 60; i++) b[i] = a[i] + (q[i] - o[i]);                                              // parallel
  std::vector<float> s(n), t(n);
  p.Run(n, o, q, a, b, s, t);
  for (int i = 0; i < n; i++) {
    ASSERT_TRUE(s[i] >= 0 && s[i] <= 1 && t[i] >= 0 && t[i] <= 1) << i << " " << s[i] << " " << t[i];
    double got = Length(Lerp(At(o, i), At(q, i), s[i]) - Lerp(At(a, i), At(b, i), t[i]));
    for (int x = 0; x <= grid; x++)
      for (int y = 0; y <= grid; y++)
        ASSERT_LE(got, Length(Lerp(At(o, i), At(q, i), double(x) / grid) - Lerp(At(a, i), At(b, i), double(y) / grid)) +
                           1e-5)
            << i;
  }
}

// A ray's shape, and the same as a distance field.
struct Shape {
  const char *ray;
  std::function<double(V)> sd;
};

double SdBox(V p, V h) {
  V q = {std::fabs(p.x) - h.x, std::fabs(p.y) - h.y, std::fabs(p.z) - h.z};
  V o = {std::max(q.x, 0.0), std::max(q.y, 0.0), std::max(q.z, 0.0)};
  return Length(o) + std::min(std::max({q.x, q.y, q.z}), 0.0);
}
double SdCapsule(V p, V a, V b, double r) {
  V d = b - a;
  double t = std::min(std::max(Dot(p - a, d) / Dot(d, d), 0.0), 1.0);
  return Length(p - a - d * t) - r;
}

TEST_F(Geometry, RaysMeetTheSurfaceWhereItIsAndNotBefore) {
  const Shape shapes[] = {
      {"ray_sphere(o[i], d[i], vec3(0.1, 0.2, 0.3), 0.8)", [](V p) { return Length(p - V{0.1, 0.2, 0.3}) - 0.8; }},
      {"ray_box(o[i], d[i], vec3(-0.5, -0.25, -0.75), vec3(0.5, 0.25, 0.75))",
       [](V p) { return SdBox(p, {0.5, 0.25, 0.75}); }},
      {"ray_capsule(o[i], d[i], vec3(-0.5, 0.1, 0), vec3(0.4, 0.2, 0.3), 0.3)",
       [](V p) { return SdCapsule(p, {-0.5, 0.1, 0}, {0.4, 0.2, 0.3}, 0.3); }},
  };
  constexpr int n = 3000, steps = 400;
  for (const Shape &shape : shapes) {
    Program p(machine_,
              std::string("kernel k(vec3 o[], vec3 d[], f32 t[]) { let i = tid(); t[i] = ") + shape.ray + "; }",
              machine_.cpu);
    auto o = Points(n, 2), d = Points(n);
    for (int i = 0; i < 12; i++) d[3 * i + i % 3] = 0; // along faces
    std::vector<float> t(n);
    p.Run(n, o, d, t);
    int hits = 0;
    for (int i = 0; i < n; i++) {
      double length = Length(At(d, i)), far = 8 / length, reach = t[i] >= 0 ? t[i] : far;
      bool inside = shape.sd(At(o, i)) < 0;
      if (t[i] >= 0) {
        hits++;
        ASSERT_NEAR(shape.sd(At(o, i) + At(d, i) * t[i]), 0, 2e-5) << shape.ray << " " << i;
      } else {
        ASSERT_FALSE(inside) << shape.ray << " " << i << ": it must leave";
      }
      for (int k = 0; k < steps; k++) {
        double sd = shape.sd(At(o, i) + At(d, i) * (reach * k / steps));
        ASSERT_GT(inside ? -sd : sd, -2e-5) << shape.ray << " " << i << ": the surface was passed before " << t[i];
      }
    }
    EXPECT_GT(hits, n / 40) << shape.ray;
  }
}

TEST_F(Geometry, RaysMeetPlanesFromEitherSide) {
  Program p(machine_,
            "kernel k(f32 t[]) { t[0] = ray_plane(vec3(0, 2, 0), vec3(1, -1, 0), vec3(5, 0, 5), vec3(0, 1, 0));"
            " t[1] = ray_plane(vec3(0, -2, 0), vec3(1, 1, 0), vec3(5, 0, 5), vec3(0, 1, 0));"
            " t[2] = ray_plane(vec3(0, 2, 0), vec3(1, 1, 0), vec3(5, 0, 5), vec3(0, 1, 0));"
            " t[3] = ray_plane(vec3(0, 2, 0), vec3(1, 0, 0), vec3(5, 0, 5), vec3(0, 1, 0)); }",
            machine_.cpu);
  std::vector<float> t(4);
  p.Run(1, t);
  EXPECT_EQ(t, (std::vector<float>{2, 2, -1, -1}));
}

// An icosahedron, each face cut in four `depth` times, on the unit sphere.
void Sphere(int depth, std::vector<float> *x, std::vector<int32_t> *tri) {
  const double g = (1 + std::sqrt(5.0)) / 2;
  std::vector<V> v = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                      {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  std::vector<int> t = {0, 11, 5,  0, 5,  1, 0, 1, 7, 0, 7,  10, 0, 10, 11, 1, 5, 9, 5, 11,
                        4, 11, 10, 2, 10, 7, 6, 7, 1, 8, 3,  9,  4, 3,  4,  2, 3, 2, 6, 3,
                        6, 8,  3,  8, 9,  4, 9, 5, 2, 4, 11, 6,  2, 10, 8,  6, 7, 9, 8, 1};
  for (int k = 0; k < depth; k++) {
    std::map<std::pair<int, int>, int> middle;
    auto mid = [&](int a, int b) {
      auto key = std::minmax(a, b);
      auto it = middle.find(key);
      if (it != middle.end()) return it->second;
      v.push_back((v[a] + v[b]) * 0.5);
      return middle[key] = static_cast<int>(v.size()) - 1;
    };
    std::vector<int> finer;
    for (size_t i = 0; i < t.size(); i += 3) {
      int a = t[i], b = t[i + 1], c = t[i + 2], ab = mid(a, b), bc = mid(b, c), ca = mid(c, a);
      for (int q : {a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca}) finer.push_back(q);
    }
    t = finer;
  }
  for (V p : v) {
    V q = p * (1 / Length(p));
    x->insert(x->end(), {float(q.x), float(q.y), float(q.z)});
  }
  tri->assign(t.begin(), t.end());
}

TEST_F(Geometry, NoRayLeavesAClosedMeshUnseen) {
  std::vector<float> x;
  std::vector<int32_t> tri;
  Sphere(2, &x, &tri);
  const int nx = static_cast<int>(x.size() / 3), nt = static_cast<int>(tri.size() / 3), n = 60000;
  Program p(machine_,
            "kernel k(vec3 o[], vec3 d[], vec3 x[], vec3i tri[], i32 hits[], f32 nearest[]) {\n"
            "  let i = tid(); var n = 0; var best = inf<f32>();\n"
            "  for (k in 0..tri.length) {\n"
            "    var w = vec3(0);\n"
            "    let t = ray_triangle(o[i], d[i], x[tri[k].x], x[tri[k].y], x[tri[k].z], w);\n"
            "    if (t >= 0) { n += 1; best = min(best, t); }\n"
            "  }\n"
            "  hits[i] = n; nearest[i] = best;\n"
            "}",
            machine_.cpu);
  std::vector<float> o = Points(n, 0.3), d;
  for (int i = 0; i < n; i++) {
    V to = Point();
    if (i % 3 == 0) to = At(x, i / 3 % nx) - At(o, i); // through a vertex
    if (i % 3 == 1) {                                  // through an edge
      int k = i / 3 % nt;
      to = Lerp(At(x, tri[3 * k]), At(x, tri[3 * k + 1]), 0.5 + 0.5 * u_(gen_)) - At(o, i);
    }
    d.insert(d.end(), {float(to.x), float(to.y), float(to.z)});
  }
  std::vector<int32_t> hits(n);
  std::vector<float> nearest(n);
  p.Run(n, o, d, x, tri, hits, nearest);
  for (int i = 0; i < n; i++) {
    ASSERT_GE(hits[i], 1) << i << ": it slipped through";
    double r = Length(At(o, i) + At(d, i) * nearest[i]);
    ASSERT_GT(r, 0.96) << i;
    ASSERT_LT(r, 1.0001) << i;
  }
}

TEST_F(Geometry, WeightsOfARayAndATriangleGiveThePoint) {
  constexpr int n = 4000;
  Program p(
      machine_,
      "kernel k(vec3 o[], vec3 d[], vec3 a[], vec3 b[], vec3 c[], vec3 w[], f32 t[]) { let i = tid(); var x = vec3(0);"
      " t[i] = ray_triangle(o[i], d[i], a[i], b[i], c[i], x); w[i] = x; }",
      machine_.cpu);
  auto o = Points(n, 2), a = Points(n), b = Points(n), c = Points(n);
  std::vector<float> d, w(3 * n), t(n);
  for (int i = 0; i < n; i++) {
    V to = (At(a, i) + At(b, i) + At(c, i)) * (1.0 / 3) + Point(0.2) - At(o, i);
    if (i < 10) to = to * -1; // behind
    d.insert(d.end(), {float(to.x), float(to.y), float(to.z)});
  }
  p.Run(n, o, d, a, b, c, w, t);
  int hits = 0;
  for (int i = 0; i < n; i++) {
    if (i < 10) { EXPECT_EQ(t[i], -1); }
    if (t[i] < 0) continue;
    hits++;
    V k = At(w, i), on = At(a, i) * k.x + At(b, i) * k.y + At(c, i) * k.z, at = At(o, i) + At(d, i) * t[i];
    EXPECT_GE(std::min({k.x, k.y, k.z}), 0) << i;
    double area = Length(
        V{(At(b, i) - At(a, i)).y * (At(c, i) - At(a, i)).z - (At(b, i) - At(a, i)).z * (At(c, i) - At(a, i)).y,
          (At(b, i) - At(a, i)).z * (At(c, i) - At(a, i)).x - (At(b, i) - At(a, i)).x * (At(c, i) - At(a, i)).z,
          (At(b, i) - At(a, i)).x * (At(c, i) - At(a, i)).y - (At(b, i) - At(a, i)).y * (At(c, i) - At(a, i)).x});
    if (area > 0.1) { EXPECT_LT(Length(on - at), 1e-4 * (1 + Length(at))) << i; }
  }
  EXPECT_GT(hits, n / 2);
}

struct Field {
  const char *sd;
  std::function<bool(V)> inside;
  bool exact;
};

TEST_F(Geometry, DistanceFieldsAreDistances) {
  const Field fields[] = {
      {"sd_sphere(p, T(0.7))", [](V p) { return Length(p) < 0.7; }, true},
      {"sd_box(p, vec<T, 3>(0.5, 0.3, 0.7))",
       [](V p) { return std::fabs(p.x) < 0.5 && std::fabs(p.y) < 0.3 && std::fabs(p.z) < 0.7; }, true},
      {"sd_plane(p, vec<T, 3>(0.6, 0.8, 0))", [](V p) { return 0.6 * p.x + 0.8 * p.y < 0; }, true},
      {"sd_capsule(p, vec<T, 3>(-0.5, 0, 0.1), vec<T, 3>(0.5, 0.2, 0), T(0.3))",
       [](V p) { return SdCapsule(p, {-0.5, 0, 0.1}, {0.5, 0.2, 0}, 0.3) < 0; }, true},
      {"sd_cylinder(p, T(0.4), T(0.6))", [](V p) { return std::hypot(p.x, p.z) < 0.4 && std::fabs(p.y) < 0.6; }, true},
      {"sd_torus(p, T(0.7), T(0.2))", [](V p) { return std::hypot(std::hypot(p.x, p.z) - 0.7, p.y) < 0.2; }, true},
      {"sd_cone(p, T(0.6), T(0.5))",
       [](V p) { return std::fabs(p.y) < 0.5 && std::hypot(p.x, p.z) < 0.6 * (0.5 - p.y); }, true},
      {"sd_ellipsoid(p, vec<T, 3>(0.9, 0.4, 0.6))",
       [](V p) { return p.x * p.x / 0.81 + p.y * p.y / 0.16 + p.z * p.z / 0.36 < 1; }, false},
      {"sd_union(sd_sphere(p, T(0.6)), sd_sphere(p - vec<T, 3>(0.5, 0, 0), T(0.4)))",
       [](V p) { return Length(p) < 0.6 || Length(p - V{0.5, 0, 0}) < 0.4; }, false},
      {"sd_intersection(sd_sphere(p, T(0.6)), sd_sphere(p - vec<T, 3>(0.5, 0, 0), T(0.4)))",
       [](V p) { return Length(p) < 0.6 && Length(p - V{0.5, 0, 0}) < 0.4; }, false},
      {"sd_difference(sd_sphere(p, T(0.6)), sd_sphere(p - vec<T, 3>(0.5, 0, 0), T(0.4)))",
       [](V p) { return Length(p) < 0.6 && !(Length(p - V{0.5, 0, 0}) < 0.4); }, false},
      {"sd_round(sd_box(p, vec<T, 3>(0.3)), T(0.2))", [](V p) { return SdBox(p, {0.3, 0.3, 0.3}) < 0.2; }, true},
      {"sd_onion(sd_sphere(p, T(0.6)), T(0.1))", [](V p) { return std::fabs(Length(p) - 0.6) < 0.1; }, true},
      {"sd_smooth_union(sd_sphere(p, T(0.6)), sd_sphere(p - vec<T, 3>(0.9, 0, 0), T(0.4)), T(1e-3))",
       [](V p) { return Length(p) < 0.6 || Length(p - V{0.9, 0, 0}) < 0.4; }, false},
  };
  constexpr int n = 3000;
  for (const Field &f : fields) {
    std::string text = std::string("kernel k(vec<f64, 3> x[], f64 out[]) { out[tid()] = field(x[tid()]); }\n"
                                   "fn field<T: float>(vec<T, 3> p) -> T { return ") +
                       f.sd + "; }";
    Program p(machine_, text, machine_.cpu);
    // Each point with a neighbour, near and far.
    std::vector<double> x, out(2 * n);
    for (int i = 0; i < n; i++) {
      V a = Point(1.2), b = a + Point(i % 2 ? 1e-5 : 1);
      x.insert(x.end(), {a.x, a.y, a.z, b.x, b.y, b.z});
    }
    p.Run(2 * n, x, out);
    int flat = 0;
    for (int i = 0; i < n; i++) {
      V a = {x[6 * i], x[6 * i + 1], x[6 * i + 2]}, b = {x[6 * i + 3], x[6 * i + 4], x[6 * i + 5]};
      if (std::fabs(out[2 * i]) > 2e-3) { ASSERT_EQ(out[2 * i] < 0, f.inside(a)) << f.sd << " " << i; }
      ASSERT_LE(std::fabs(out[2 * i] - out[2 * i + 1]), Length(a - b) * (1 + 1e-9) + 1e-12)
          << f.sd << " " << i << ": too steep";
    }
    // The gradient of an exact field has length 1 but for creases.
    std::vector<double> y, slope;
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 6; k++) {
        double e = k % 2 ? 1e-6 : -1e-6;
        y.insert(y.end(), {x[6 * i] + (k / 2 == 0 ? e : 0), x[6 * i + 1] + (k / 2 == 1 ? e : 0),
                           x[6 * i + 2] + (k / 2 == 2 ? e : 0)});
      }
    slope.resize(6 * n);
    p.Run(6 * n, y, slope);
    for (int i = 0; i < n; i++) {
      V g = {slope[6 * i + 1] - slope[6 * i], slope[6 * i + 3] - slope[6 * i + 2], slope[6 * i + 5] - slope[6 * i + 4]};
      flat += std::fabs(Length(g) / 2e-6 - 1) > 1e-3;
    }
    if (f.exact) { EXPECT_LT(flat, n / 100) << f.sd; }
  }
}

} // namespace
