// tests/geometry/hull_test.cc -- hulls are closed and convex, hold all points, and have just the corners that they need.
#include <algorithm>
#include <set>

#include "geometry_fixture.h"
#include "tools/npy/npy.h"

namespace {

using namespace geo;

double Outside(const HdConvexHull &h, int64_t face, V p) {
  double x[3][3], u[3], v[3], n[3];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[k][i] = h.points[3 * h.faces[3 * face + k] + i];
  for (int i = 0; i < 3; i++) u[i] = x[1][i] - x[0][i], v[i] = x[2][i] - x[0][i];
  for (int i = 0; i < 3; i++) n[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
  double l = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  return (n[0] * (p.x - x[0][0]) + n[1] * (p.y - x[0][1]) + n[2] * (p.z - x[0][2])) / l;
}

class Hull : public Geometry {
protected:
  HdStatus Make(const std::vector<V> &points) {
    hd_convex_hull_free(place_.ctx, &hull_);
    return hd_convex_hull_new(place_.ctx, int64_t(points.size()), points.empty() ? nullptr : &points[0].x, &hull_);
  }
  ~Hull() override { hd_convex_hull_free(place_.ctx, &hull_); }

  // Closed, of one piece, all points within.
  void Check(const std::vector<V> &points, const std::string &what) {
    double size = 0;
    for (V p : points) size = std::max(size, Length(p - points[0]));
    std::set<std::pair<int, int>> edges;
    for (int64_t f = 0; f < hull_.nfaces; f++)
      for (int k = 0; k < 3; k++)
        ASSERT_TRUE(edges.insert({hull_.faces[3 * f + k], hull_.faces[3 * f + (k + 1) % 3]}).second) << what;
    for (auto [a, b] : edges) ASSERT_EQ(edges.count({b, a}), 1u) << what;
    ASSERT_EQ(hull_.nfaces, 2 * hull_.npoints - 4) << what; // Euler, for triangles
    for (int64_t i = 0; i < hull_.npoints; i++)
      ASSERT_EQ(memcmp(hull_.points + 3 * i, &points[hull_.source[i]], 12), 0) << what;
    ASSERT_TRUE(std::is_sorted(hull_.source, hull_.source + hull_.npoints)) << what;
    for (int64_t f = 0; f < hull_.nfaces; f++)
      for (V p : points) ASSERT_LE(Outside(hull_, f, p), 1e-6 * size) << what << " " << f;
  }

  Place place_{"cpu"};
  HdConvexHull hull_ = {0, 0, nullptr, nullptr, nullptr};
};

TEST_F(Hull, OfRandomPointsHoldsThemAndIsConvex) {
  for (int n : {4, 5, 8, 30, 200, 1000}) {
    std::vector<V> p = Points(n);
    GEO_OK(place_, Make(p));
    Check(p, std::to_string(n));
    // each corner is needed: without it there is a face that it is outside of
    if (n > 30 || n < 5) continue;
    HdConvexHull whole = hull_;
    hull_ = {0, 0, nullptr, nullptr, nullptr};
    for (int64_t i = 0; i < whole.npoints; i++) {
      std::vector<V> rest = p;
      rest.erase(rest.begin() + whole.source[i]);
      if (rest.size() < 4) continue;
      GEO_OK(place_, Make(rest));
      double most = -1;
      for (int64_t f = 0; f < hull_.nfaces; f++) most = std::max(most, Outside(hull_, f, p[whole.source[i]]));
      EXPECT_GT(most, 0) << n << " " << i;
    }
    hd_convex_hull_free(place_.ctx, &whole);
  }
}

TEST_F(Hull, OfPointsOnASphereHasThemAll) {
  std::vector<V> p;
  for (int i = 0; i < 2000; i++) {
    V q = Point();
    p.push_back(q * float(1 / Length(q)));
  }
  GEO_OK(place_, Make(p));
  Check(p, "sphere");
  EXPECT_EQ(hull_.npoints, 2000);
}

TEST_F(Hull, OfGridsAndShapesWithFlatSidesHasTheirCorners) {
  std::vector<V> p;
  for (int i = 0; i <= 6; i++)
    for (int j = 0; j <= 6; j++)
      for (int k = 0; k <= 6; k++) p.push_back({float(i), float(j), float(k)});
  std::shuffle(p.begin(), p.end(), gen_);
  p.insert(p.end(), p.begin(), p.begin() + 100); // twice
  GEO_OK(place_, Make(p));
  Check(p, "grid");
  EXPECT_EQ(hull_.npoints, 8);
  // turned, so that the sides are flat only nearly
  const float c = 0.8f, s = 0.6f;
  for (V &q : p) q = {c * q.x - s * q.y, s * (c * q.x * 0 + s * q.x + c * q.y) + c * q.z, q.z * 0.3f + q.x};
  GEO_OK(place_, Make(p));
  Check(p, "turned grid");
  for (const Shape &shape : {Torus(20, 30), Sphere(15, 20), Sphere(15, 20, 0.3f), Cube()}) {
    GEO_OK(place_, Make(shape.points));
    Check(shape.points, "shape");
  }
}

TEST_F(Hull, OfTinyHugeAndThinSetsIsRight) {
  for (float size : {1e-15f, 1e-6f, 1e6f, 1e15f}) {
    std::vector<V> p = Points(60, size);
    GEO_OK(place_, Make(p));
    Check(p, std::to_string(size));
  }
  std::vector<V> p = Points(60);
  for (V &q : p) q.z *= 1e-4f;
  GEO_OK(place_, Make(p));
  Check(p, "thin");
  for (V &q : p) q = {q.x + 1000, q.y, q.z};
  GEO_OK(place_, Make(p));
  Check(p, "far away");
}

TEST_F(Hull, OfTooFewFlatOrBrokenPointsIsAnErrorThatSaysWhy) {
  struct {
    std::vector<V> points;
    const char *why;
  } cases[] = {{{}, "fewer than four"},
               {Points(3), "fewer than four"},
               {std::vector<V>(9, V{1, 2, 3}), "in one place"},
               {{{0, 0, 0}, {1, 2, 3}, {2, 4, 6}, {-1, -2, -3}, {0.5f, 1, 1.5f}}, "on one line"},
               {{{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {5, 2, 1}}, "in one plane"},
               {{{0, 0, 0}, {1, 0, 0}, {0, kNan, 0}, {0, 0, 1}, {1, 1, 1}}, "points[2]"},
               {{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, kInf}, {1, 1, 1}}, "points[3]"}};
  for (auto &c : cases) {
    EXPECT_EQ(Make(c.points), HD_ERR_ARG) << c.why;
    EXPECT_NE(place_.Why().find(c.why), std::string::npos) << place_.Why();
    EXPECT_NE(place_.Why().find("hd_convex_hull_new"), std::string::npos) << place_.Why();
    EXPECT_EQ(hull_.points, nullptr);
  }
  EXPECT_EQ(hd_convex_hull_new(place_.ctx, 5, nullptr, &hull_), HD_ERR_ARG);
  EXPECT_NE(place_.Why().find("it is NULL"), std::string::npos) << place_.Why();
}

// Places in and around the cube from -1 to 1.
std::vector<V> Ring(int n) {
  std::vector<V> v;
  for (int i = 0; i < n; i++) {
    float t = float(i) * 2.4f, r = 2.0f * float(i) / float(n);
    v.push_back({r * std::cos(t), r * std::sin(1.7f * t), r * std::sin(t)});
  }
  return v;
}

TEST_F(Hull, BecomesAMeshAndAConvexShape) {
  std::vector<V> p = Points(100);
  GEO_OK(place_, Make(p));
  Shape s;
  for (int64_t i = 0; i < hull_.npoints; i++)
    s.points.push_back({hull_.points[3 * i], hull_.points[3 * i + 1], hull_.points[3 * i + 2]});
  for (int64_t f = 0; f < hull_.nfaces; f++)
    s.faces.push_back({hull_.faces[3 * f], hull_.faces[3 * f + 1], hull_.faces[3 * f + 2]});
  SameEverywhere([&](Place &place) {
    HdMesh *m = place.Mesh(s);
    EXPECT_EQ(hd_mesh_report(m).open_edges, 0);
    EXPECT_EQ(hd_mesh_report(m).turned_edges, 0);
    HdMassProperties mass;
    EXPECT_EQ(hd_mesh_mass(m, &mass), HD_OK);
    EXPECT_GT(mass.volume, 0);
    // a ball's distance from the hull is that from the mesh
    const int n = 64;
    HdArray x = place.New(Ring(n)), hull = place.New(s.points), d = place.New(hd_type_scalar(HD_F32), n),
            e = place.New(hd_type_scalar(HD_F32), n);
    place.Run(
        place.Kernel(
            "kernel k(Mesh m, vec3 x[], vec3 hull[], f32 d[], f32 e[]) { let i = tid(); var at = vec3(0); var n = at;\n"
            " let h = convex_hull(transform(vec3(0), quat(0, 0, 0, 1)), 0, hull.length);\n"
            " d[i] = convex_contact(convex_sphere(x[i], 0.1), h, hull, at, n);\n"
            " let near = mesh_nearest(m, x[i], inf<f32>());\n"
            " e[i] = near.distance * mesh_sign_by_normal(m, x[i], near) - 0.1; }"),
        n, Place::Args(m, {hd_arg_array(&x), hd_arg_array(&hull), hd_arg_array(&d), hd_arg_array(&e)}));
    std::vector<float> got = place.Get<float>(d), want = place.Get<float>(e);
    for (int i = 0; i < n; i++) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
    hd_mesh_free(m);
    return place.Get<int32_t>(d);
  });
}

template <class T> std::vector<T> Stored(const std::string &name) {
  NpyReader r;
  char why[OUT_WHY];
  std::string path = "tests/geometry/data/hull_" + name + ".npy";
  EXPECT_EQ(npy_open(path.c_str(), &r, why), HD_OK) << why;
  std::vector<T> v(r.size / sizeof(T));
  EXPECT_EQ(npy_read(&r, path.c_str(), v.data(), why), HD_OK) << why;
  npy_close(&r);
  return v;
}

// data/hull.py: SciPy's Qhull has the same corners, and trimesh the same mass properties.
TEST_F(Hull, AndItsMassAreWhatSciPyAndTrimeshFind) {
  for (std::string name : {"ball", "bent"}) {
    std::vector<V> points = Stored<V>(name + "_points");
    std::vector<int32_t> corners = Stored<int32_t>(name + "_corners");
    std::vector<double> want = Stored<double>(name + "_mass");
    ASSERT_EQ(points.size(), 300u);
    ASSERT_EQ(want.size(), 13u);
    GEO_OK(place_, Make(points));
    EXPECT_EQ(std::vector<int32_t>(hull_.source, hull_.source + hull_.npoints), corners) << name;
    Shape s;
    for (int64_t i = 0; i < hull_.npoints; i++)
      s.points.push_back({hull_.points[3 * i], hull_.points[3 * i + 1], hull_.points[3 * i + 2]});
    for (int64_t f = 0; f < hull_.nfaces; f++)
      s.faces.push_back({hull_.faces[3 * f], hull_.faces[3 * f + 1], hull_.faces[3 * f + 2]});
    HdMesh *m = place_.Mesh(s, false);
    HdMassProperties got = {};
    GEO_OK(place_, hd_mesh_mass(m, &got));
    hd_mesh_free(m);
    EXPECT_NEAR(got.volume / want[0], 1, 1e-6) << name;
    for (int k = 0; k < 3; k++) EXPECT_NEAR(got.center[k], want[size_t(1 + k)], 1e-5) << name;
    for (int k = 0; k < 9; k++)
      EXPECT_NEAR(got.inertia[k / 3][k % 3], want[size_t(4 + k)], 1e-5 * want[0]) << name << " " << k;
  }
}

} // namespace
