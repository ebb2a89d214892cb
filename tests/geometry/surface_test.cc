// tests/geometry/surface_test.cc -- surfaces of fields: what a closed surface must be, formulas, and scikit-image's points.
#include <algorithm>
#include <set>

#include "geometry_fixture.h"
#include "tools/npy/npy.h"

namespace {

using namespace geo;

struct Result {
  std::vector<V> points, normals;
  std::vector<Face> faces;
};

class SurfaceTest : public Geometry {
protected:
  using Size = std::array<int64_t, 3>;

  static HdDenseGrid Grid(Place &p, Size n, V origin, V spacing, const std::vector<float> &values) {
    HdDenseGrid g = {};
    const float o[3] = {origin.x, origin.y, origin.z}, s[3] = {spacing.x, spacing.y, spacing.z};
    EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n.data(), o, s, &g), HD_OK) << p.Why();
    p.Set(g.values, values);
    return g;
  }
  static std::vector<float> Sample(Size n, V origin, V spacing, const std::function<double(V)> &f) {
    std::vector<float> v;
    for (int i = 0; i < n[0]; i++)
      for (int j = 0; j < n[1]; j++)
        for (int k = 0; k < n[2]; k++)
          v.push_back(float(f({origin.x + spacing.x * i, origin.y + spacing.y * j, origin.z + spacing.z * k})));
    return v;
  }
  static Result Extract(Place &p, HdSurface *s, const HdDenseGrid &g, float level) {
    EXPECT_EQ(hd_surface_extract(s, &g, level), HD_OK) << p.Why();
    return {p.Get<V>(hd_surface_points(s)), p.Get<V>(hd_surface_normals(s)), p.Get<Face>(hd_surface_faces(s))};
  }
  static Result Once(Place &p, Size n, V origin, V spacing, const std::vector<float> &values, float level) {
    HdSurface *s = nullptr;
    EXPECT_EQ(hd_surface_new(p.ctx, p.stream, &s), HD_OK) << p.Why();
    HdDenseGrid g = Grid(p, n, origin, spacing, values);
    Result r = Extract(p, s, g, level);
    hd_dense_grid_free(p.ctx, &g);
    hd_surface_free(s);
    return r;
  }
  // -1 to 1, and 1 on the border.
  std::vector<float> ClosedNoise(Size n, bool whole) {
    std::vector<float> v;
    for (int i = 0; i < n[0]; i++)
      for (int j = 0; j < n[1]; j++)
        for (int k = 0; k < n[2]; k++) {
          bool border = i == 0 || j == 0 || k == 0 || i + 1 == n[0] || j + 1 == n[1] || k + 1 == n[2];
          v.push_back(border ? 1 : whole ? (U() < 0 ? -1.0f : 1.0f) : U());
        }
    return v;
  }
};

// Each edge has two faces, which go through it in opposite directions; every point is used. Returns V - E + F.
int ExpectClosed(const Result &r) {
  std::set<std::pair<int, int>> edges;
  std::set<int> used;
  for (const Face &f : r.faces) {
    const int c[3] = {f.a, f.b, f.c};
    for (int k = 0; k < 3; k++) {
      EXPECT_TRUE(c[k] >= 0 && c[k] < int(r.points.size()));
      EXPECT_TRUE(edges.insert({c[k], c[(k + 1) % 3]}).second) << "two faces go the same way from " << c[k];
      used.insert(c[k]);
    }
  }
  for (auto &e : edges)
    EXPECT_TRUE(edges.count({e.second, e.first})) << e.first << " to " << e.second << " has one face";
  EXPECT_EQ(used.size(), r.points.size());
  EXPECT_EQ(r.normals.size(), r.points.size());
  return int(r.points.size()) - int(edges.size() / 2) + int(r.faces.size());
}

double Volume(const Result &r) {
  double sum = 0;
  for (const Face &f : r.faces) {
    V a = r.points[f.a], b = r.points[f.b], c = r.points[f.c];
    sum +=
        (double(a.x) * (double(b.y) * c.z - double(b.z) * c.y) + double(a.y) * (double(b.z) * c.x - double(b.x) * c.z) +
         double(a.z) * (double(b.x) * c.y - double(b.y) * c.x)) /
        6;
  }
  return sum;
}

double Area(const Result &r) {
  double sum = 0;
  for (const Face &f : r.faces) {
    V u = r.points[f.b] - r.points[f.a], v = r.points[f.c] - r.points[f.a];
    double x = double(u.y) * v.z - double(u.z) * v.y, y = double(u.z) * v.x - double(u.x) * v.z,
           z = double(u.x) * v.y - double(u.y) * v.x;
    sum += std::sqrt(x * x + y * y + z * z) / 2;
  }
  return sum;
}

TEST_F(SurfaceTest, OfASphereConvergesWithOrderTwo) {
  Place p("cpu");
  double before[2] = {};
  for (int n : {17, 33, 65}) {
    float h = 2.6f / float(n - 1);
    auto sphere = [](V q) { return Length(q) - 1; };
    Result r = Once(p, {n, n, n}, {-1.3f, -1.3f, -1.3f}, {h, h, h},
                    Sample({n, n, n}, {-1.3f, -1.3f, -1.3f}, {h, h, h}, sphere), 0);
    EXPECT_EQ(ExpectClosed(r), 2);
    for (size_t i = 0; i < r.points.size(); i++) {
      EXPECT_NEAR(Length(r.points[i]), 1, h * h / 4);
      EXPECT_NEAR(Length(r.normals[i]), 1, 1e-5);
      EXPECT_GT(Dot(r.normals[i], r.points[i]), 1 - h * h);
    }
    double error[2] = {4 * M_PI / 3 - Volume(r), 4 * M_PI - Area(r)};
    for (int k = 0; k < 2; k++) {
      EXPECT_GT(error[k], 0);
      if (before[k] > 0) { EXPECT_NEAR(before[k] / error[k], 4, 0.4) << n << " " << k; }
      before[k] = error[k];
    }
  }
}

TEST_F(SurfaceTest, HasTheHolesOfTheShape) {
  Place p("cpu");
  auto torus = [](V q) { return std::hypot(std::hypot(double(q.x), double(q.y)) - 0.7, double(q.z)) - 0.25; };
  auto two = [](V q) { return std::min(Length(q - V{0.5f, 0, 0}), Length(q + V{0.5f, 0, 0})) - 0.4; };
  auto shell = [](V q) { return std::fabs(Length(q) - 0.7) - 0.2; };
  const Size n = {41, 40, 39};
  const V low = {-1.1f, -1.05f, -1.03f}, h = {0.055f, 0.055f, 0.055f};
  EXPECT_EQ(ExpectClosed(Once(p, n, low, h, Sample(n, low, h, torus), 0)), 0);
  EXPECT_EQ(ExpectClosed(Once(p, n, low, h, Sample(n, low, h, two), 0)), 4);
  EXPECT_EQ(ExpectClosed(Once(p, n, low, h, Sample(n, low, h, shell), 0)), 4);
}

TEST_F(SurfaceTest, OfNoiseIsClosedAndHoldsWhatIsInside) {
  Place p("cpu");
  const Size n = {11, 12, 13};
  for (bool whole : {true, false}) { // whole: all cells there are, from all sides
    std::vector<float> v = ClosedNoise(n, whole);
    Result r = Once(p, n, {0, 0, 0}, {1, 1, 1}, v, 0);
    ExpectClosed(r);
    std::set<std::array<float, 3>> places;
    for (V q : r.points) places.insert({q.x, q.y, q.z});
    EXPECT_EQ(places.size(), r.points.size()) << "points in one place";
    EXPECT_GT(Volume(r), 0);
    // corners that lie across from each other on a face are apart, so a piece is what is reached along edges: each sample
    // inside is wound round once, each outside never
    HdMesh *m = nullptr;
    GEO_OK(p, hd_mesh_new(p.ctx, p.stream, nullptr, p.New(r.points), p.New(r.faces), &m));
    HdMeshReport report = hd_mesh_report(m);
    EXPECT_EQ(report.open_edges, 0);
    EXPECT_EQ(report.turned_edges, 0);
    EXPECT_EQ(report.shared_edges, 0);
    std::vector<V> at;
    for (int i = 0; i < n[0]; i++)
      for (int j = 0; j < n[1]; j++)
        for (int k = 0; k < n[2]; k++) at.push_back({float(i), float(j), float(k)});
    HdArray x = p.New(at), sign = p.New(hd_type_scalar(HD_F32), int64_t(at.size()));
    p.Run(p.Kernel("kernel k(Mesh m, vec3 p[], f32 s[]) { let i = tid(); s[i] = mesh_winding(m, p[i], inf<f32>()); }"),
          int64_t(at.size()), Place::Args(m, {hd_arg_array(&x), hd_arg_array(&sign)}));
    std::vector<float> winding = p.Get<float>(sign);
    for (size_t i = 0; i < at.size(); i++) ASSERT_NEAR(winding[i], v[i] < 0 ? 1 : 0, 2e-3) << i;
    hd_mesh_free(m);
  }
}

TEST_F(SurfaceTest, OfEveryCellKeepsItsFacesApartFromCornersTheyDoNotCut) {
  Place p("cpu");
  HdSurface *s = nullptr;
  GEO_OK(p, hd_surface_new(p.ctx, p.stream, &s));
  for (int cell = 0; cell < 256; cell++) { // in the middle of 4 x 4 x 4 samples
    std::vector<float> v(64, 1);
    for (int c = 0; c < 8; c++)
      if (cell >> c & 1) v[size_t((1 + (c >> 2)) * 16 + (1 + (c >> 1 & 1)) * 4 + 1 + (c & 1))] = -1;
    HdDenseGrid g = Grid(p, {4, 4, 4}, {0, 0, 0}, {1, 1, 1}, v);
    Result r = Extract(p, s, g, 0);
    // pieces of what is inside, joined along edges of the cell
    int euler = ExpectClosed(r), pieces = 0, left = cell;
    while (left) {
      int piece = left & -left, grown = piece;
      do {
        piece = grown;
        for (int c = 0; c < 8; c++)
          if (piece >> c & 1)
            for (int b : {1, 2, 4}) grown |= 1 << (c ^ b) & cell;
      } while (grown != piece);
      left &= ~piece;
      pieces++;
      int corners = 0, edges = 0, faces = 0;
      for (int c = 0; c < 8; c++) {
        if (!(piece >> c & 1)) continue;
        corners++;
        for (int b : {1, 2, 4}) {
          if (c & b || !(piece >> (c | b) & 1)) continue;
          edges++;
          for (int d : {1, 2, 4})
            if (d > b && !(c & d) && (piece >> (c | d) & 1) && (piece >> (c | b | d) & 1)) faces++;
        }
      }
      int solid = corners - edges + faces - (piece == 255); // of the cubes about samples, joined
      if (piece == 126 || piece == 189 || piece == 219 || piece == 231)
        solid++; // a ring about two corners outside, across the cell: they are cut off, so its middle is filled
      euler -= 2 * solid;
    }
    EXPECT_EQ(euler, 0) << cell << ", pieces " << pieces;
    hd_dense_grid_free(p.ctx, &g);
  }
  hd_surface_free(s);
}

std::vector<float> Load(const char *name, std::vector<int64_t> *shape) {
  NpyReader r;
  char why[OUT_WHY];
  std::string path = std::string("tests/geometry/data/") + name + ".npy";
  EXPECT_EQ(npy_open(path.c_str(), &r, why), HD_OK) << why;
  shape->assign(r.length, r.length + r.ndim);
  std::vector<char> bytes(r.size);
  EXPECT_EQ(npy_read(&r, path.c_str(), bytes.data(), why), HD_OK) << why;
  npy_close(&r);
  std::vector<float> v;
  for (int64_t i = 0; i < r.count; i++) {
    double d;
    float f;
    if (r.type.size == 8)
      memcpy(&d, bytes.data() + 8 * i, 8);
    else
      memcpy(&f, bytes.data() + 4 * i, 4), d = f;
    v.push_back(float(d));
  }
  return v;
}

TEST_F(SurfaceTest, HasThePointsThatScikitImageFinds) {
  Place p("cpu");
  std::vector<int64_t> shape, count;
  std::vector<float> field = Load("surface_field", &shape), want = Load("surface_points", &count);
  float area = Load("surface_area", &shape)[0];
  Result r = Once(p, {14, 12, 13}, {0, 0, 0}, {0.5f, 0.25f, 2}, field, 0.1f);
  ASSERT_EQ(int64_t(r.points.size()), count[0]);
  for (V q : r.points) {
    double best = 1;
    for (int64_t i = 0; i < count[0]; i++)
      best = std::min(best, Length(q - V{want[3 * i], want[3 * i + 1], want[3 * i + 2]}));
    EXPECT_LT(best, 1e-5);
  }
  EXPECT_NEAR(Area(r), area, 0.02 * area); // ambiguous cells differ
}

TEST_F(SurfaceTest, IsTheSameOnEveryDeviceAndWidth) {
  std::vector<float> v = ClosedNoise({9, 8, 10}, false);
  v[200] = kNan, v[333] = kInf, v[401] = -kInf, v[402] = kNan, v[300] = 0;
  SameEverywhere([&](Place &p) {
    Result r = Once(p, {9, 8, 10}, {1, 2, 3}, {0.5f, 1, 2}, v, 0);
    std::vector<int32_t> all(r.faces.size() * 3 + r.points.size() * 6);
    memcpy(all.data(), r.faces.data(), r.faces.size() * 12);
    memcpy(all.data() + r.faces.size() * 3, r.points.data(), r.points.size() * 12);
    memcpy(all.data() + r.faces.size() * 3 + r.points.size() * 3, r.normals.data(), r.points.size() * 12);
    return all;
  });
}

TEST_F(SurfaceTest, StaysFiniteAndClosedWhereTheFieldDoesNot) {
  Place p("cpu");
  const Size n = {9, 8, 10};
  std::vector<float> v = ClosedNoise(n, false);
  const float odd[] = {kNan, kInf, -kInf, 3e38f, -3e38f, 0, 1e-45f};
  for (size_t i = 0; i < v.size(); i += 3)
    if (v[i] != 1) v[i] = odd[i / 3 % 7];
  Result r = Once(p, n, {1, 2, 3}, {0.5f, 1, 2}, v, 0);
  ExpectClosed(r);
  for (size_t i = 0; i < r.points.size(); i++) {
    V q = r.points[i];
    EXPECT_TRUE(q.x >= 1 && q.x <= 5 && q.y >= 2 && q.y <= 9 && q.z >= 3 && q.z <= 21)
        << q.x << " " << q.y << " " << q.z;
    double l = Length(r.normals[i]);
    EXPECT_TRUE(l == 0 || std::fabs(l - 1) < 1e-5) << l;
  }
}

TEST_F(SurfaceTest, MeetsTheGridsBorder) {
  Place p("cpu");
  Result r =
      Once(p, {3, 4, 5}, {0, 0, 0}, {1, 1, 1}, Sample({3, 4, 5}, {0, 0, 0}, {1, 1, 1}, [](V q) { return q.x; }), 0.25f);
  ASSERT_EQ(r.points.size(), 20u);
  ASSERT_EQ(r.faces.size(), 24u);
  for (int j = 0; j < 4; j++)
    for (int k = 0; k < 5; k++) { // in the order of the samples
      EXPECT_EQ(Length(r.points[j * 5 + k] - V{0.25f, float(j), float(k)}), 0);
      EXPECT_EQ(Length(r.normals[j * 5 + k] - V{1, 0, 0}), 0);
    }
  EXPECT_NEAR(Area(r), 12, 1e-5);
}

TEST_F(SurfaceTest, IsNoneWhereThereIsNothingToCut) {
  Place p("cpu");
  HdSurface *s = nullptr;
  GEO_OK(p, hd_surface_new(p.ctx, p.stream, &s));
  EXPECT_EQ(hd_array_count(hd_surface_points(s)), 0);
  for (Size n :
       {Size{0, 3, 3}, Size{3, 0, 3}, Size{3, 3, 0}, Size{1, 4, 4}, Size{4, 1, 4}, Size{4, 4, 1}, Size{4, 4, 4}})
    for (float value : {-1.0f, 1.0f, 0.0f, kNan, -kInf}) {
      std::vector<float> v(size_t(n[0] * n[1] * n[2]), value);
      if (n != Size{4, 4, 4} && v.size() > 2) v[1] = 0.5f; // a difference, but no cell
      HdDenseGrid g = Grid(p, n, {0, 0, 0}, {1, 1, 1}, v);
      Result r = Extract(p, s, g, 0);
      EXPECT_TRUE(r.points.empty() && r.faces.empty() && r.normals.empty()) << value;
      hd_dense_grid_free(p.ctx, &g);
    }
  // a level that is no number has nothing below it
  HdDenseGrid g = Grid(p, {4, 4, 4}, {0, 0, 0}, {1, 1, 1}, std::vector<float>(64, -1));
  EXPECT_TRUE(Extract(p, s, g, kNan).points.empty());
  hd_dense_grid_free(p.ctx, &g);
  // one cell
  HdDenseGrid one = Grid(p, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, {-1, 1, 1, 1, 1, 1, 1, 1});
  Result r = Extract(p, s, one, 0);
  EXPECT_EQ(r.points.size(), 3u);
  EXPECT_EQ(r.faces.size(), 1u);
  // and again, larger and smaller
  for (int n : {12, 3, 9}) {
    std::vector<float> v = ClosedNoise({n, n, n}, false);
    HdDenseGrid more = Grid(p, {n, n, n}, {0, 0, 0}, {1, 1, 1}, v);
    Result got = Extract(p, s, more, 0), fresh = Once(p, {n, n, n}, {0, 0, 0}, {1, 1, 1}, v, 0);
    EXPECT_EQ(got.points.size(), fresh.points.size());
    EXPECT_EQ(memcmp(got.faces.data(), fresh.faces.data(), fresh.faces.size() * 12), 0);
    hd_dense_grid_free(p.ctx, &more);
  }
  hd_dense_grid_free(p.ctx, &one);
  hd_surface_free(s);
}

TEST_F(SurfaceTest, RefusesWhatIsNoGrid) {
  Place p("cpu");
  HdSurface *s = nullptr;
  GEO_OK(p, hd_surface_new(p.ctx, p.stream, &s));
  HdDenseGrid g = Grid(p, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, {-1, 1, 1, 1, 1, 1, 1, 1}), bad = g;
  bad.spacing[2] = 0;
  EXPECT_EQ(hd_surface_extract(s, nullptr, 0), HD_ERR_ARG);
  EXPECT_EQ(hd_surface_extract(s, &bad, 0), HD_ERR_ARG);
  EXPECT_NE(p.Why().find("hd_surface_extract: spacing"), std::string::npos) << p.Why();
  bad = g;
  bad.values.length[0] = int64_t(1) << 27;
  EXPECT_EQ(hd_surface_extract(s, &bad, 0), HD_ERR_SHAPE);
  EXPECT_NE(p.Why().find("2^28 samples"), std::string::npos) << p.Why();
  hd_dense_grid_free(p.ctx, &g);
  hd_surface_free(s);
}

} // namespace
