// tests/lib/library_sdf_test.cc -- distance fields against what makes one: the right sign, no step farther than the point moves,
// and a gradient that leads to the surface in one step of the distance.
#include <cmath>
#include <functional>
#include <limits>

#include "points.h"

namespace {

bool InBox(V p, V h) { return std::fabs(p.x) < h.x && std::fabs(p.y) < h.y && std::fabs(p.z) < h.z; }
double Radius(V p) { return std::hypot(p.x, p.z); }

struct Field {
  const char *sd; // T is the type; without the gradient
  std::function<bool(V)> inside;
  bool exact;           // everywhere; else a bound
  const char *gradient; // the call with `g` for it; NULL: the same with g as the last argument
};

const char kBalls[] = "let a = sd_sphere(p, T(0.6), ga); let b = sd_sphere(p - vec<T, 3>(0.5, 0, 0), T(0.4), gb); ";

bool Ball(V p) { return Length(p) < 0.6; }
bool Other(V p) { return Length(p - V{0.5, 0, 0}) < 0.4; }
bool Frame(V p) {
  V q = {std::fabs(p.x), std::fabs(p.y), std::fabs(p.z)};
  int far = (q.x > 0.6) + (q.y > 0.4) + (q.z > 0.7);
  return InBox(p, {0.8, 0.6, 0.9}) && far >= 2;
}
bool Hexagon(V p) {
  for (int k = 0; k < 6; k++)
    if (p.x * std::cos(k * M_PI / 3) + p.z * std::sin(k * M_PI / 3) >= 0.7) return false;
  return true;
}
bool RoundCone(V p) { // a ball about each point of the segment
  for (int k = 0; k <= 4000; k++) {
    double t = k / 4000.0;
    if (Length(p - Lerp({-0.4, 0.1, 0}, {0.5, 0.2, 0.3}, t)) < 0.5 - 0.3 * t) return true;
  }
  return false;
}

const Field fields[] = {
    {"sd_sphere(p, T(0.7))", [](V p) { return Length(p) < 0.7; }, true, nullptr},
    {"sd_box(p, vec<T, 3>(0.5, 0.3, 0.7))", [](V p) { return InBox(p, {0.5, 0.3, 0.7}); }, true, nullptr},
    {"sd_round_box(p, vec<T, 3>(0.5, 0.3, 0.7), T(0.2))", [](V p) { return SdBox(p, {0.3, 0.1, 0.5}) < 0.2; }, true,
     nullptr},
    {"sd_box_frame(p, vec<T, 3>(0.8, 0.6, 0.9), T(0.2))", Frame, false, nullptr},
    {"sd_plane(p, vec<T, 3>(0.6, 0.8, 0))", [](V p) { return 0.6 * p.x + 0.8 * p.y < 0; }, true, nullptr},
    {"sd_slab(p, vec<T, 3>(0.6, 0.8, 0), T(0.3))", [](V p) { return std::fabs(0.6 * p.x + 0.8 * p.y) < 0.3; }, true,
     nullptr},
    {"sd_capsule(p, vec<T, 3>(-0.5, 0, 0.1), vec<T, 3>(0.5, 0.2, 0), T(0.3))",
     [](V p) { return SdCapsule(p, {-0.5, 0, 0.1}, {0.5, 0.2, 0}, 0.3) < 0; }, true, nullptr},
    {"sd_cylinder(p, T(0.4), T(0.6))", [](V p) { return Radius(p) < 0.4 && std::fabs(p.y) < 0.6; }, true, nullptr},
    {"sd_round(sd_disk(p, T(0.7)), T(0.2))", [](V p) { return std::hypot(std::max(Radius(p) - 0.7, 0.0), p.y) < 0.2; },
     false, "sd_disk(p, T(0.7), g) - T(0.2)"},
    {"sd_torus(p, T(0.7), T(0.2))", [](V p) { return std::hypot(Radius(p) - 0.7, p.y) < 0.2; }, true, nullptr},
    {"sd_cone(p, T(0.6), T(0.5))", [](V p) { return std::fabs(p.y) < 0.5 && Radius(p) < 0.6 * (0.5 - p.y); }, true,
     nullptr},
    {"sd_capped_cone(p, T(0.7), T(0.3), T(0.5))",
     [](V p) { return std::fabs(p.y) < 0.5 && Radius(p) < 0.5 - 0.4 * p.y; }, true, nullptr},
    {"sd_capped_cone(p, T(0.2), T(0.6), T(0.6))",
     [](V p) { return std::fabs(p.y) < 0.6 && Radius(p) < 0.4 + 0.4 / 1.2 * p.y; }, true, nullptr},
    {"sd_round_cone(p, vec<T, 3>(-0.4, 0.1, 0), vec<T, 3>(0.5, 0.2, 0.3), T(0.5), T(0.2))", RoundCone, true, nullptr},
    {"sd_round_cone(p, vec<T, 3>(-0.1, 0.1, 0), vec<T, 3>(0.1, 0.1, 0), T(0.2), T(0.7))", // one ball in the other
     [](V p) { return Length(p - V{0.1, 0.1, 0}) < 0.7; }, true, nullptr},
    {"sd_ellipsoid(p, vec<T, 3>(0.9, 0.4, 0.6))",
     [](V p) { return p.x * p.x / 0.81 + p.y * p.y / 0.16 + p.z * p.z / 0.36 < 1; }, false, nullptr},
    {"sd_ellipsoid_exact(p, vec<T, 3>(0.9, 0.4, 0.6))",
     [](V p) { return p.x * p.x / 0.81 + p.y * p.y / 0.16 + p.z * p.z / 0.36 < 1; }, true, nullptr},
    {"sd_ellipsoid_exact(p, vec<T, 3>(0.9, 0.05, 0.9))",
     [](V p) { return (p.x * p.x + p.z * p.z) / 0.81 + p.y * p.y / 0.0025 < 1; }, true, nullptr},
    {"sd_octahedron(p, T(0.8))", [](V p) { return std::fabs(p.x) + std::fabs(p.y) + std::fabs(p.z) < 0.8; }, true,
     nullptr},
    {"sd_hex_prism(p, T(0.7), T(0.5))", [](V p) { return std::fabs(p.y) < 0.5 && Hexagon(p); }, true, nullptr},
    {"sd_round(sd_triangle(p, vec<T, 3>(-0.5, 0, 0.1), vec<T, 3>(0.6, 0.1, 0), vec<T, 3>(0, 0.7, 0.2)), T(0.2))",
     [](V p) {
       for (int s = 0; s <= 60; s++)
         for (int t = 0; s + t <= 60; t++)
           if (Length(p - Lerp({-0.5, 0, 0.1}, {0.6, 0.1, 0}, s / 60.0) -
                      (V{0, 0.7, 0.2} - V{-0.5, 0, 0.1}) * (t / 60.0)) < 0.2)
             return true;
       return false;
     },
     false, "sd_triangle(p, vec<T, 3>(-0.5, 0, 0.1), vec<T, 3>(0.6, 0.1, 0), vec<T, 3>(0, 0.7, 0.2), g) - T(0.2)"},
    {"sd_union(a, b)", [](V p) { return Ball(p) || Other(p); }, false, "sd_union(a, ga, b, gb, g)"},
    {"sd_intersection(a, b)", [](V p) { return Ball(p) && Other(p); }, false, "sd_intersection(a, ga, b, gb, g)"},
    {"sd_difference(a, b)", [](V p) { return Ball(p) && !Other(p); }, false, "sd_difference(a, ga, b, gb, g)"},
    {"sd_xor(a, b)", [](V p) { return Ball(p) != Other(p); }, false, "sd_xor(a, ga, b, gb, g)"},
    {"sd_smooth_union(a, b, T(1e-3))", [](V p) { return Ball(p) || Other(p); }, false,
     "sd_smooth_union(a, ga, b, gb, T(1e-3), g)"},
    {"sd_smooth_intersection(a, b, T(1e-3))", [](V p) { return Ball(p) && Other(p); }, false,
     "sd_smooth_intersection(a, ga, b, gb, T(1e-3), g)"},
    {"sd_smooth_difference(a, b, T(1e-3))", [](V p) { return Ball(p) && !Other(p); }, false,
     "sd_smooth_difference(a, ga, b, gb, T(1e-3), g)"},
    {"sd_round(sd_box(p, vec<T, 3>(0.3)), T(0.2))", [](V p) { return SdBox(p, {0.3, 0.3, 0.3}) < 0.2; }, true,
     "sd_round(sd_box(p, vec<T, 3>(0.3), g), T(0.2))"},
    {"sd_onion(a, T(0.1))", [](V p) { return std::fabs(Length(p) - 0.6) < 0.1; }, true, "sd_onion(a, ga, T(0.1), g)"},
    {"sd_sphere(sd_elongate(p, vec<T, 3>(0.3, 0, 0.1)), T(0.4))", [](V p) { return SdBox(p, {0.3, 0, 0.1}) < 0.4; },
     false, "sd_sphere(sd_elongate(p, vec<T, 3>(0.3, 0, 0.1)), T(0.4), g)"},
    {"sd_sphere(sd_repeat(p, vec<T, 3>(0.8, 0, 0.9)), T(0.3))",
     [](V p) { return Length({p.x - 0.8 * std::rint(p.x / 0.8), p.y, p.z - 0.9 * std::rint(p.z / 0.9)}) < 0.3; }, true,
     "sd_sphere(sd_repeat(p, vec<T, 3>(0.8, 0, 0.9)), T(0.3), g)"},
    {"sd_extrude(sd_sphere(p.xy, T(0.6)), p.z, T(0.4))",
     [](V p) { return std::hypot(p.x, p.y) < 0.6 && std::fabs(p.z) < 0.4; }, true,
     "sd_cylinder(p.xzy, T(0.6), T(0.4), g); g = g.xzy"},
    {"sd_box(sd_revolve(p, T(0.7)), vec<T, 2>(0.2, 0.1))",
     [](V p) { return std::fabs(Radius(p) - 0.7) < 0.2 && std::fabs(p.y) < 0.1; }, true, ""}, // none
};

class Fields : public Geometry, public testing::WithParamInterface<size_t> {};

std::string WithGradient(const Field &f) {
  if (f.gradient) return f.gradient;
  std::string s = f.sd;
  return s.substr(0, s.size() - 1) + ", g)";
}

TEST_P(Fields, AreDistances) {
  const Field &f = fields[GetParam()];
  std::string balls = std::string(kBalls),
              text = "kernel k(vec<f64, 3> x[], f64 out[], vec<f64, 3> gradient[]) {\n"
                     " var g = zero<vec<f64, 3>>(); let i = tid(); out[i] = field(x[i]); let d = both(x[i], g);\n"
                     " gradient[i] = g; assert(!(abs(d - out[i]) > 1e-14), \"the same distance\"); }\n"
                     "fn field<T: float>(vec<T, 3> p) -> T { vec<T, 3> ga; vec<T, 3> gb; " +
                     balls + " return a + b > 1e30 ? a : " + f.sd +
                     "; }\n"
                     "fn both<T: float>(vec<T, 3> p, ref vec<T, 3> g) -> T { vec<T, 3> ga; vec<T, 3> gb; " +
                     balls + " let d = " + (WithGradient(f).empty() ? f.sd : WithGradient(f)) +
                     "; return a + b > 1e30 ? a : d; }";
  Program p(machine_, text, machine_.cpu);
  // Each point with a neighbour, near and far; and the neighbours along the axes.
  constexpr int n = 2000, per = 8;
  std::vector<double> x, out(per * n), gradient(3 * per * n);
  for (int i = 0; i < n; i++) {
    V a = Point(1.2), b = a + Point(i % 2 ? 1e-5 : 1);
    x.insert(x.end(), {a.x, a.y, a.z, b.x, b.y, b.z});
    for (int k = 0; k < 6; k++) {
      double e = k % 2 ? 1e-6 : -1e-6;
      x.insert(x.end(), {a.x + (k / 2 == 0 ? e : 0), a.y + (k / 2 == 1 ? e : 0), a.z + (k / 2 == 2 ? e : 0)});
    }
  }
  p.Run(per * n, x, out, gradient);
  auto at = [&](int i) { return V{x[3 * i], x[3 * i + 1], x[3 * i + 2]}; };
  std::vector<double> feet;
  int flat = 0, turned = 0;
  for (int i = 0; i < n; i++) {
    int j = per * i;
    if (std::fabs(out[j]) > 3e-3) { ASSERT_EQ(out[j] < 0, f.inside(at(j))) << i; }
    ASSERT_LE(std::fabs(out[j] - out[j + 1]), Length(at(j) - at(j + 1)) * (1 + 1e-9) + 1e-12) << i << ": too steep";
    // creases apart, the gradient is that of the differences, and of an exact field of length 1
    V g = {out[j + 3] - out[j + 2], out[j + 5] - out[j + 4], out[j + 7] - out[j + 6]};
    V given = {gradient[3 * j], gradient[3 * j + 1], gradient[3 * j + 2]};
    flat += std::fabs(Length(g) / 2e-6 - 1) > 1e-3;
    turned += Length(g * (1 / 2e-6) - given) > 1e-3;
    V foot = at(j) - given * out[j];
    feet.insert(feet.end(), {foot.x, foot.y, foot.z});
  }
  if (f.exact) { EXPECT_LT(flat, n / 100); }
  if (!WithGradient(f).empty()) { EXPECT_LT(turned, n / 100); }
  if (!f.exact || WithGradient(f).empty()) return;
  std::vector<double> zero(n), unused(3 * n);
  p.Run(n, feet, zero, unused);
  for (int i = 0; i < n; i++) ASSERT_NEAR(zero[i], 0, 1e-9) << i << ": the surface is not there";
}

INSTANTIATE_TEST_SUITE_P(All, Fields, testing::Range(size_t(0), std::size(fields)));

// The gradient has length 1 wherever a point is, in every size, and all numbers are the same everywhere.
TEST_F(Geometry, DistancesOfOddPointsToOddShapesAreTheSameEverywhere) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const char *const calls[] = {"sd_sphere(p, s.x, g)",
                               "sd_box(p, s, g)",
                               "sd_round_box(p, s, min_element(s), g)",
                               "sd_box_frame(p, s, min_element(s), g)",
                               "sd_capsule(p, s, s.zyx, s.x, g)",
                               "sd_cylinder(p, s.x, s.y, g)",
                               "sd_disk(p, s.x, g)",
                               "sd_torus(p, s.x, s.y, g)",
                               "sd_capped_cone(p, s.x, s.y, s.z, g)",
                               "sd_round_cone(p, s, s.yxz, s.x, s.y, g)",
                               "sd_ellipsoid_exact(p, s, g)",
                               "sd_octahedron(p, s.x, g)",
                               "sd_hex_prism(p, s.x, s.y, g)",
                               "sd_triangle(p, s, s.yzx, s.zxy, g)"};
  std::vector<float> p, s;
  auto add = [&](V a, V b) {
    p.insert(p.end(), {float(a.x), float(a.y), float(a.z)});
    s.insert(s.end(), {float(b.x), float(b.y), float(b.z)});
  };
  int tame = 0;
  for (double size : {1.0, 1e-12, 1e12})
    for (int i = 0; i < 40; i++, tame++) {
      V a = Point(size), b = Point(size);
      b = {std::fabs(b.x), std::fabs(b.y), std::fabs(b.z)};
      if (i % 4 == 1) b.x = 0;
      if (i % 8 == 2) b = {0, 0, 0};
      if (i % 8 == 3) a = {0, 0, 0};
      if (i % 8 == 4) a = b;
      if (i % 8 == 5) a = {0, b.y, 0};
      if (i % 8 == 6) b = {b.x, b.x, b.x};
      add(a, b);
    }
  for (double odd : {double(nan), double(inf), -double(inf), 1e38, 1e-45}) {
    add({odd, 1, 2}, {1, 1, 1});
    add({1, 2, odd}, {1, 2, 1});
    add({1, 2, 3}, {1, odd, 3});
    add({odd, odd, odd}, {odd, odd, odd});
  }
  const int n = static_cast<int>(p.size() / 3);
  for (const char *call : calls) {
    std::vector<float> d(n), g(3 * n);
    Everywhere::It().Run(
        std::string("kernel k(vec3 at[], vec3 size[], f32 d[], vec3 gradient[]) { let i = tid(); var g = vec3(0);"
                    " let p = at[i]; let s = size[i]; d[i] = ") +
            call + "; gradient[i] = g; }",
        n, p, s, d, g);
    for (int i = 0; i < tame; i++) {
      ASSERT_TRUE(std::isfinite(d[i])) << call << " " << i;
      ASSERT_NEAR(Length(At(g, i)), 1, 1e-5) << call << " " << i;
    }
  }
}

TEST_F(Geometry, EllipsoidsAreMetWhereSamplesAreNoNearer) {
  constexpr int n = 300, grid = 120;
  Program p(machine_,
            "kernel k(vec3d p[], vec3d s[], vec3d x[], vec3d n[]) { let i = tid(); var g = vec3d(0);"
            " x[i] = nearest_on_ellipsoid(p[i], s[i], g); n[i] = g; }",
            machine_.cpu);
  std::vector<double> at, size, x(3 * n), normal(3 * n);
  for (int i = 0; i < n; i++) {
    V a = Point(i % 2 ? 2 : 0.3);
    if (i % 5 == 0) a.x = 0;
    if (i % 7 == 0) a.z = 0;
    if (i % 35 == 0) a.y = 0;
    V s = {1, 0.02 + std::fabs(u_(gen_)), i % 3 ? 0.7 : 1};
    at.insert(at.end(), {a.x, a.y, a.z});
    size.insert(size.end(), {s.x, s.y, s.z});
  }
  p.Run(n, at, size, x, normal);
  auto get = [](const std::vector<double> &v, int i) { return V{v[3 * i], v[3 * i + 1], v[3 * i + 2]}; };
  for (int i = 0; i < n; i++) {
    V a = get(at, i), s = get(size, i), q = get(x, i), m = get(normal, i);
    ASSERT_NEAR(Length({q.x / s.x, q.y / s.y, q.z / s.z}), 1, 1e-12) << i;
    ASSERT_NEAR(Length(m), 1, 1e-12) << i;
    ASSERT_NEAR(std::fabs(Dot(a - q, m)), Length(a - q), 1e-7) << i << ": the normal leads to the point";
    for (int j = 0; j <= grid; j++)
      for (int k = 0; k < 2 * grid; k++) {
        double u = M_PI * j / grid, v = M_PI * k / grid;
        V c = {s.x * std::sin(u) * std::cos(v), s.y * std::cos(u), s.z * std::sin(u) * std::sin(v)};
        ASSERT_LE(Length(a - q), Length(a - c) + 1e-9) << i;
      }
  }
}

} // namespace
