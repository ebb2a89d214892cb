// tests/lib/library_geometry_test.cc -- nearest points against dense sampling, rays against distance fields.
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "library_testing.h"
#include "points.h"

namespace {

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

// Zero, tiny, huge and infinite numbers and NaN anywhere, and shapes without size: a ray misses or meets at a number that is not negative.
TEST_F(Geometry, OddRaysAndShapesHaveAnswersThatAreTheSameEverywhere) {
  const char kernel[] =
      "struct Five { vec3 v[5]; f32 r; }\n"
      "kernel k(Five x[], f32 hit[], f32 share[], f32 near[]) {\n"
      "  let i = tid(); let o = x[i].v[0]; let d = x[i].v[1]; let a = x[i].v[2]; let b = x[i].v[3]; let c = "
      "x[i].v[4];\n"
      "  let h = i * 6; let r = x[i].r; var w = vec3(0);\n"
      "  hit[h] = ray_plane(o, d, a, b); hit[h + 1] = ray_sphere(o, d, a, r); hit[h + 2] = ray_box(o, d, a, b);\n"
      "  hit[h + 3] = ray_triangle(o, d, a, b, c, w); hit[h + 4] = ray_capsule(o, d, a, b, r);\n"
      "  var shear = vec3(0); let axis = ray_shear(d, shear); hit[h + 5] = ray_crosses(o, axis, shear, a, b, c);\n"
      "  let u = nearest_on_triangle(o, a, b, c); var s = 0.0; var t = s; nearest_of_segments(o, d, a, b, s, t);\n"
      "  share[h] = nearest_on_segment(o, a, b); share[h + 1] = u.x; share[h + 2] = u.y; share[h + 3] = u.z;\n"
      "  share[h + 4] = s; share[h + 5] = t;\n"
      "  var n = vec3(0); let e = nearest_on_ellipsoid(o, abs(a), n); let y = nearest_on_box(o, min(a, b), max(a, "
      "b));\n"
      "  let two = triangle_overlap(o, d, a, b, c, o + vec3(r)) ? 1.0 : 0; let box = triangle_box_overlap(a, b, c, o, "
      "o + abs(d)) ? 1.0 : 0;\n"
      "  near[h] = e.x + e.y + e.z; near[h + 1] = n.x + n.y + n.z; near[h + 2] = y.x + y.y + y.z; near[h + 3] = two;\n"
      "  near[h + 4] = box; near[h + 5] = w.x + w.y + w.z;\n"
      "}\n";
  const float odd[] = {0, -0.f, 1, -1, 1e-30f, 1e-45f, 1e19f, 3e38f, INFINITY, -INFINITY, NAN};
  constexpr int n = 2000;
  std::vector<float> x = Points(16 * n / 3 + 1);
  x.resize(16 * n);
  std::mt19937 random(3);
  for (int i = 0; i < n; i++) {
    float *v = &x[16 * i];
    v[15] = std::fabs(v[15]);
    if (i % 4 == 1) std::copy(v + 6, v + 9, v + 9);                              // no length, no area
    if (i % 8 == 2) std::fill(v + 3, v + 6, 0.f);                                // no direction
    if (i % 8 == 3) v[15] = 0;                                                   // no radius
    if (i % 8 == 5) std::copy(v + 6, v + 9, v), std::copy(v + 6, v + 9, v + 12); // from the corner; a point
    if (i % 8 == 7)
      for (int k = 0; k < 4; k++) v[random() % 16] = odd[random() % 8];
    if (i % 8 == 6) v[random() % 15] = odd[8 + random() % 3];
  }
  std::vector<float> hit(6 * n), share(6 * n), near(6 * n);
  Everywhere::It().Run(kernel, n, x, hit, share, near);
  int met = 0;
  for (int i = 0; i < 6 * n; i++) {
    ASSERT_TRUE(hit[i] >= 0 || hit[i] == -1) << i << " " << hit[i];
    met += hit[i] >= 0;
    if (i / 6 % 8 >= 6) continue;
    ASSERT_TRUE(share[i] >= 0 && share[i] <= 1) << i << " " << share[i];
    ASSERT_TRUE(std::isfinite(near[i])) << i << " " << near[i];
  }
  EXPECT_GT(met, n / 4);
}

} // namespace
