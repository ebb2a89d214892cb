// tests/geometry/mass_test.cc -- volume, center and inertia of meshes and of shapes against closed forms and each other.
#include "geometry_fixture.h"

namespace {

using namespace geo;

Shape Moved(Shape s, V by, float scale = 1) {
  for (V &p : s.points) p = p * scale + by;
  return s;
}

HdMassProperties MassOf(Place &place, const Shape &s) {
  HdMassProperties p = {};
  HdMesh *m = place.Mesh(s, false);
  EXPECT_EQ(hd_mesh_mass(m, &p), HD_OK) << place.Why();
  hd_mesh_free(m);
  return p;
}

TEST(Mass, OfACubeIsExact) {
  Place place("cpu");
  HdMassProperties p = MassOf(place, Moved(Cube(), {16, -8, 4}, 0.5f)); // of side 1
  EXPECT_NEAR(p.volume, 1, 1e-12);
  EXPECT_NEAR(p.center[0], 16, 1e-12);
  EXPECT_NEAR(p.center[1], -8, 1e-12);
  EXPECT_NEAR(p.center[2], 4, 1e-12);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) EXPECT_NEAR(p.inertia[i][j], i == j ? 1.0 / 6 : 0, 1e-12);
}

TEST(Mass, OfATorusTendsToThatOfTheRoundOne) {
  Place place("cpu");
  const double R = 0.7, r = 0.25, volume = 2 * M_PI * M_PI * R * r * r;
  double before = 0;
  for (int n : {24, 48, 96}) {
    HdMassProperties p = MassOf(place, Moved(Torus(n, n), {1, 2, 3}));
    double error = std::fabs(p.volume / volume - 1);
    if (before > 0) { EXPECT_NEAR(before / error, 4, 0.2); }
    before = error;
    EXPECT_NEAR(p.inertia[2][2] / p.volume, R * R + 0.75 * r * r, 20.0 / (n * n));
    EXPECT_NEAR(p.inertia[0][0] / p.volume, R * R / 2 + 0.625 * r * r, 20.0 / (n * n));
    EXPECT_NEAR(p.center[2], 3, 1e-6);
  }
}

TEST(Mass, OfOddMeshesIsDefined) {
  Place place("cpu");
  HdMassProperties p = MassOf(place, Shape());
  EXPECT_EQ(p.volume, 0);
  EXPECT_EQ(p.center[0], 0);
  Shape inward = Cube();
  for (Face &f : inward.faces) std::swap(f.b, f.c);
  p = MassOf(place, inward);
  EXPECT_NEAR(p.volume, -8, 1e-12);
  Shape broken = Cube();
  broken.points.push_back({kNan, 0, 0});
  broken.points.insert(broken.points.begin(), {kInf, 0, 0});
  for (Face &f : broken.faces) f.a++, f.b++, f.c++;
  broken.faces.push_back({1, 2, int32_t(broken.points.size()) - 1});
  p = MassOf(place, broken);
  EXPECT_NEAR(p.volume, 8, 1e-12);
}

TEST(Mass, OfAMeshIsTheSameEverywhere) {
  Shape s = Sphere(12, 17, 0.1f);
  SameEverywhere([&](Place &place) {
    HdMassProperties p = MassOf(place, s);
    std::vector<int32_t> bits(sizeof p / 4);
    memcpy(bits.data(), &p, sizeof p);
    return bits;
  });
}

// A mesh about y from a profile of (radius, height), from the lowest to the highest.
Shape Turned(const std::vector<std::pair<double, double>> &profile, V squeeze = {1, 1, 1}) {
  const int n = 300, rows = int(profile.size());
  Shape s;
  for (auto &[r, y] : profile)
    for (int j = 0; j < n; j++) {
      double t = -2 * M_PI * j / n;
      s.points.push_back(
          {float(r * std::cos(t)) * squeeze.x, float(y) * squeeze.y, float(r * std::sin(t)) * squeeze.z});
    }
  for (int i = 0; i + 1 < rows; i++)
    for (int j = 0; j < n; j++) {
      int k = (j + 1) % n;
      s.Quad(i * n + j, i * n + k, (i + 1) * n + k, (i + 1) * n + j);
    }
  return s;
}

std::vector<std::pair<double, double>> Arc(double r, double half) {
  std::vector<std::pair<double, double>> v;
  for (int i = 0; i <= 400; i++) {
    double t = M_PI * (i / 400.0 - 0.5);
    v.push_back({r * std::cos(t), r * std::sin(t) + (i < 200 ? -half : half)});
    if (i == 200) v.push_back({r, -half}), std::swap(v[v.size() - 1], v[v.size() - 2]);
  }
  return v;
}

TEST(Mass, OfShapesIsThatOfTheirMeshes) {
  struct {
    const char *call;
    Shape mesh;
  } const cases[] = {
      {"mass_of_box(vec3d(0.5, 1, 1.5), c, m)",
       [] {
         Shape s = Cube();
         for (V &p : s.points) p = {p.x * 0.5f, p.y, p.z * 1.5f};
         return s;
       }()},
      {"mass_of_sphere(0.8, c, m)", Turned(Arc(0.8, 0))},
      {"mass_of_ellipsoid(vec3d(0.5, 1, 0.75), c, m)", Turned(Arc(1, 0), {0.5f, 1, 0.75f})},
      {"mass_of_cylinder(0.5, 0.75, c, m)", Turned({{0, -0.75}, {0.5, -0.75}, {0.5, 0.75}, {0, 0.75}})},
      {"mass_of_cone(0.5, 0.75, c, m)", Turned({{0, -0.75}, {0.5, -0.75}, {0, 0.75}})},
      {"mass_of_capsule(0.5, 0.75, c, m)", Turned(Arc(0.5, 0.75))},
  };
  Place place("cpu");
  for (auto &c : cases) {
    HdArray out = place.New(hd_type_scalar(HD_F64), 13);
    place.Run(place.Kernel(std::string("kernel k(f64 x[]) { vec3d c; mat33d m; x[0] = ") + c.call +
                           "; for (i in 0..3) { x[1 + i] = c[i]; for (j in 0..3) x[4 + 3 * i + j] = m[i][j]; } }"),
              1, {hd_arg_array(&out)});
    std::vector<double> x = place.Get<double>(out);
    HdMassProperties p = MassOf(place, c.mesh);
    EXPECT_NEAR(x[0] / p.volume, 1, 3e-4) << c.call;
    for (int i = 0; i < 3; i++) {
      EXPECT_NEAR(x[1 + i], p.center[i], 1e-5) << c.call;
      for (int j = 0; j < 3; j++) EXPECT_NEAR(x[4 + 3 * i + j], p.inertia[i][j], 5e-4 * p.volume) << c.call << i << j;
    }
  }
}

// In a kernel, over a mesh's faces: what the host says, on every device the same.
TEST(Mass, OfAMeshInAKernelIsThatOfTheHost) {
  Shape s = Moved(Sphere(8, 11, 0.2f), {0.5f, 0.25f, -0.5f});
  std::vector<double> last;
  SameEverywhere([&](Place &place) {
    HdMesh *m = place.Mesh(s, false);
    HdArray out = place.New(hd_type_scalar(HD_F64), 13);
    place.Run(
        place.Kernel(
            "kernel k(Mesh m, f64 x[]) { f64 s[10]; vec3 a; vec3 b; vec3 p; vec3d c; mat33d w;\n"
            " for (f in 0..m.faces.length) { mesh_corners(m, f, a, b, p); mass_add_triangle(s, vec3d(a), vec3d(b), "
            "vec3d(p)); }\n"
            " x[0] = mass_from_integrals(s, c, w);\n"
            " w = inertia_turned(inertia_turned(w, quatd(0.6, 0, 0, 0.8)), quatd(-0.6, 0, 0, 0.8));\n"
            " w = inertia_about(w, x[0], c) - inertia_about(zero<mat33d>(), x[0], c);\n"
            " for (i in 0..3) { x[1 + i] = c[i]; for (j in 0..3) x[4 + 3 * i + j] = w[i][j]; } }"),
        1, Place::Args(m, {hd_arg_array(&out)}));
    last = place.Get<double>(out);
    hd_mesh_free(m);
    std::vector<int32_t> bits(26);
    memcpy(bits.data(), last.data(), 104);
    return bits;
  });
  Place place("cpu");
  HdMassProperties p = MassOf(place, s);
  EXPECT_NEAR(last[0], p.volume, 1e-12);
  for (int i = 0; i < 3; i++) {
    EXPECT_NEAR(last[1 + i], p.center[i], 1e-12);
    for (int j = 0; j < 3; j++) EXPECT_NEAR(last[4 + 3 * i + j], p.inertia[i][j], 1e-12);
  }
}

} // namespace
