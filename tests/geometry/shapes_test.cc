// tests/geometry/shapes_test.cc -- distances and contacts of shapes are the same on every device, the simulated GPU too, odd numbers
// included. What they are is tested in tests/lib.
#include "geometry_fixture.h"

namespace {

using namespace geo;

std::vector<V> Odd(int n) {
  std::mt19937 gen(5);
  std::uniform_real_distribution<float> u(-1, 1);
  std::vector<V> v;
  for (int i = 0; i < n; i++) v.push_back({u(gen), u(gen), u(gen)});
  for (int i = 0; i + 9 < n; i += 10) v[size_t(i)] = v[size_t(i) + 3];
  v[1] = {kNan, 0, 1};
  v[3] = {0, kInf, 1};
  v[5] = {0, 0, 0};
  v[12] = {1e30f, -1e30f, 1};
  return v;
}

// `body` sets d and n from a, b, s (sizes, not negative) and t, a pose at b.
void SameOnAll(const std::string &body) {
  const int n = 60;
  std::vector<V> points = Odd(n + 2);
  SameEverywhere([&](Place &place) {
    HdArray p = place.New(points), d = place.New(hd_type_scalar(HD_F32), n),
            normal = place.New(hd_type_vec(HD_F32, 3), n);
    place.Run(
        place.Kernel(
            "kernel k(vec3 p[], f32 out[], vec3 normal[]) { let i = tid(); var n = vec3(0); var at = n; var d = 0.0;\n"
            " let a = p[i]; let b = p[i + 1]; let s = abs(p[i + 2]);\n"
            " let t = transform(b, quat(0.5, -0.5, 0.5, 0.5)); let q = transform(a, quat(0, 0.6, 0, 0.8));\n" +
            body + "\n out[i] = d + at.x; normal[i] = n; assert(t.p.x == t.p.x || q.p.x != 7, \"\"); }"),
        n, {hd_arg_array(&p), hd_arg_array(&d), hd_arg_array(&normal)});
    // any NaN is as good as another
    std::vector<float> all = place.Get<float>(d), more = place.Get<float>(normal);
    all.insert(all.end(), more.begin(), more.end());
    std::vector<int32_t> bits(all.size());
    for (float &x : all)
      if (x != x) x = kNan;
    memcpy(bits.data(), all.data(), 4 * all.size());
    return bits;
  });
}

TEST(Shapes, HaveDistancesThatAreTheSameEverywhere) {
  SameOnAll(
      " d = sd_round_box(a, s, s.x / 2, n) + sd_box_frame(a, s, s.x / 2, n) + sd_capped_cone(a, s.x, s.y, s.z, n) +\n"
      "   sd_round_cone(a, b, s, s.x, s.y, n) + sd_hex_prism(a, s.x, s.y, n); at = n; d += sd_ellipsoid_exact(a, s, "
      "n);");
}

TEST(Shapes, HaveContactsThatAreTheSameEverywhere) {
  SameOnAll(" vec3 x[8]; f32 e[8]; vec3 y[2]; f32 f[2];\n"
            " let c = contact_box_box(q, s, t, s.zxy, 0.5, x, e, n);\n"
            " for (k in 0..c) d += e[k] + x[k].x - x[k].y;\n"
            " let m = contact_capsule_box(a, b, s.x, t, s, 0.5, y, f, at);\n"
            " for (k in 0..m) d += f[k] + y[k].z;");
}

TEST(Shapes, OfAnyTwoConvexKindsHaveContactsThatAreTheSameEverywhere) {
  SameOnAll(" var u = convex_box(q, s); var v = convex_cylinder(t, s.x, s.y);\n"
            " if (i % 5 == 1) u = convex_capsule(a, s, 0.1);\n"
            " if (i % 5 == 2) u = convex_triangle(a, b, s);\n"
            " if (i % 3 == 1) v = convex_cone(t, s.x, s.y);\n"
            " if (i % 3 == 2) v = convex_ellipsoid(t, s);\n"
            " d = convex_contact(u, v, at, n);");
}

} // namespace
