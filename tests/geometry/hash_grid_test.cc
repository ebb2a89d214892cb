// tests/geometry/hash_grid_test.cc -- the points within a distance, against looking at all.
#include <algorithm>

#include "geometry_fixture.h"

namespace {

using namespace geo;

// For each query up to 400 numbers of points in the order of the walk, closed by -1; or how many, in the first place, and a sum.
const char kWalk[] =
    "kernel k(HashGrid g, vec3 p[], f32 radius, i32 out[]) {\n"
    "  let i = tid(); var at = i * 400; var q = hash_grid_near(g, p[i], radius);\n"
    "  while (hash_grid_next_cells(g, q)) for (j in q.at..q.end) {\n"
    "    let d = p[i] - g.points[j]; if (dot(d, d) <= q.limit) { out[at] = g.ids[j]; at++; } } out[at] = -1; }";
const char kCount[] = "kernel k(HashGrid g, vec3 p[], f32 radius, i32 out[]) {\n"
                      "  let i = tid(); var q = hash_grid_near(g, p[i], radius); var n = 0; var sum = 0;\n"
                      "  while (true) { let j = hash_grid_next(g, q); if (j < 0) break; let d = p[i] - g.points[j];\n"
                      "    if (dot(d, d) <= q.limit) { n++; sum += g.ids[j] * 7 + 1; } }\n"
                      "  out[i * 400] = n; out[i * 400 + 1] = sum; }";

class HashGridTest : public Geometry {
protected:
  HdHashGrid *Grid(Place &p, float cell, int dims = 16) {
    HdHashGridOptions o = HD_HASH_GRID_OPTIONS_INIT;
    o.cell = cell;
    for (int a = 0; a < 3; a++) o.dims[a] = dims >> (a == 1);
    o.origin[0] = 0.1f;
    HdHashGrid *g = nullptr;
    EXPECT_EQ(hd_hash_grid_new(p.ctx, p.stream, &o, &g), HD_OK) << p.Why();
    return g;
  }
  std::vector<int32_t> Ask(Place &p, HdHashGrid *g, const char *text, const std::vector<V> &at, float radius) {
    std::vector<HdArg> args(HD_HASH_GRID_ARGS);
    hd_hash_grid_args(g, args.data());
    HdArray x = p.New(at), out = p.New(hd_type_scalar(HD_I32), int64_t(at.size()) * 400);
    args.insert(args.end(), {hd_arg_array(&x), hd_arg_f32(radius), hd_arg_array(&out)});
    p.Run(p.Kernel(text), int64_t(at.size()), args);
    return p.Get<int32_t>(out);
  }
  // As kCount.
  void ExpectRight(Place &p, HdHashGrid *g, const std::vector<V> &points, const std::vector<V> &at, float radius) {
    std::vector<int32_t> got = Ask(p, g, kCount, at, radius);
    for (size_t q = 0; q < at.size(); q++) {
      int sure = 0, maybe = 0, sum = 0;
      for (size_t i = 0; i < points.size(); i++) {
        double d = Length(points[i] - at[q]);
        if (d <= double(radius) * (1 - 1e-6)) sure++;
        if (d <= double(radius) * (1 + 1e-6)) {
          maybe++;
          sum += int(i) * 7 + 1;
        }
      }
      ASSERT_GE(got[q * 400], sure) << q << ", radius " << radius;
      ASSERT_LE(got[q * 400], maybe) << q << ", radius " << radius;
      ASSERT_EQ(sure == maybe ? got[q * 400 + 1] : sum, sum) << q;
    }
  }
};

TEST_F(HashGridTest, FindsAllWithinAnyRadius) {
  Place p("cpu");
  HdHashGrid *g = Grid(p, 0.2f);
  for (int n : {0, 1, 2, 1500, 700}) {
    std::vector<V> points = Points(n, 3), at = Points(60, 3.5f);
    GEO_OK(p, hd_hash_grid_build(g, p.New(points)));
    for (float radius : {0.0f, 0.05f, 0.2f, 0.7f, 100.0f}) ExpectRight(p, g, points, at, radius);
  }
  hd_hash_grid_free(g);
}

TEST_F(HashGridTest, WalksTheSameWayOnEveryDeviceAndWidth) {
  std::vector<V> points = Points(500), at = Points(37);
  SameEverywhere([&](Place &p) {
    HdHashGrid *g = Grid(p, 0.25f, 8);
    EXPECT_EQ(hd_hash_grid_build(g, p.New(points)), HD_OK) << p.Why();
    std::vector<int32_t> all = Ask(p, g, kWalk, at, 0.3f);
    hd_hash_grid_free(g);
    return all;
  });
}

TEST_F(HashGridTest, HoldsPointsOfOnePlaceInTheOrderOfTheirNumbers) {
  Place p("cpu");
  HdHashGrid *g = Grid(p, 1);
  GEO_OK(p, hd_hash_grid_build(g, p.New(std::vector<V>(300, V{1, 2, 3}))));
  std::vector<int32_t> got = Ask(p, g, kWalk, {{1, 2, 3}, {1, 2, 3.5f}}, 0.25f);
  for (int i = 0; i < 300; i++) ASSERT_EQ(got[i], i);
  EXPECT_EQ(got[300], -1);
  EXPECT_EQ(got[400], -1);
  hd_hash_grid_free(g);
}

TEST_F(HashGridTest, ReachesPointsFarOutAndAcrossZero) {
  Place p("cpu");
  HdHashGrid *g = Grid(p, 1e-3f);
  std::vector<V> points = {{1e9f, 0, 0}, {-1e9f, 0, 0}, {1e30f, -1e30f, 1e30f}, {-1e-4f, 1e-4f, 0}, {3e-4f, 0, -1e-4f}};
  GEO_OK(p, hd_hash_grid_build(g, p.New(points)));
  for (float radius : {1e-3f, 1.0f, 3e9f}) ExpectRight(p, g, points, points, radius);
  hd_hash_grid_free(g);
}

TEST_F(HashGridTest, PointsThatAreNotFiniteAreFoundByNobody) {
  Place p("cpu");
  HdHashGrid *g = Grid(p, 1);
  GEO_OK(p, hd_hash_grid_build(g, p.New(std::vector<V>{{kNan, 0, 0}, {0, kInf, 0}, {0, 0, 0}})));
  std::vector<int32_t> got = Ask(p, g, kWalk, {{0, 0, 0}, {kNan, 0, 0}, {0, kInf, 0}}, 1e20f);
  EXPECT_EQ(got[0], 2);
  EXPECT_EQ(got[1], -1);
  EXPECT_EQ(got[400], -1);
  EXPECT_EQ(got[800], -1);
  for (float radius : {-1.0f, kNan}) EXPECT_EQ(Ask(p, g, kWalk, {{0, 0, 0}}, radius)[0], -1);
  hd_hash_grid_free(g);
}

TEST_F(HashGridTest, OfOneCellIsJustAList) {
  Place p("cpu");
  HdHashGridOptions o = HD_HASH_GRID_OPTIONS_INIT;
  for (int &d : o.dims) d = 1;
  HdHashGrid *g = nullptr;
  GEO_OK(p, hd_hash_grid_new(p.ctx, p.stream, &o, &g));
  std::vector<V> points = Points(100, 5), at = Points(20, 5);
  GEO_OK(p, hd_hash_grid_build(g, p.New(points)));
  for (float radius : {0.5f, 4.0f}) ExpectRight(p, g, points, at, radius);
  hd_hash_grid_free(g);
}

TEST_F(HashGridTest, RefusesOptionsOutOfRange) {
  Place p("cpu");
  HdHashGrid *g = nullptr;
  HdHashGridOptions o = HD_HASH_GRID_OPTIONS_INIT;
  o.dims[1] = 48;
  EXPECT_EQ(hd_hash_grid_new(p.ctx, p.stream, &o, &g), HD_ERR_ARG);
  EXPECT_NE(p.Why().find("options.dims"), std::string::npos) << p.Why();
  o = HD_HASH_GRID_OPTIONS_INIT;
  for (float cell : {0.0f, -1.0f, kNan, kInf}) {
    o.cell = cell;
    EXPECT_EQ(hd_hash_grid_new(p.ctx, p.stream, &o, &g), HD_ERR_ARG) << cell;
  }
  EXPECT_EQ(g, nullptr);
}

} // namespace
