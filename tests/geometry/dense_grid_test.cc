// tests/geometry/dense_grid_test.cc -- fields on dense grids, against formulas and differences.
#include "geometry_fixture.h"

namespace {

using namespace geo;

// Value, nearest, value or 9 outside, nearest or 9 outside, value beside the gradient, gradient.
const char kAll[] = "kernel k(DenseGrid g, vec3 p[], f32 out[]) {\n"
                    "  let i = tid(); var v = 0.0; let d = grid_gradient(g, p[i], v);\n"
                    "  out[8 * i] = grid_linear(g, p[i]); out[8 * i + 1] = grid_nearest(g, p[i]);\n"
                    "  out[8 * i + 2] = grid_linear(g, p[i], 9); out[8 * i + 3] = grid_nearest(g, p[i], 9);\n"
                    "  out[8 * i + 4] = v; out[8 * i + 5] = d.x; out[8 * i + 6] = d.y; out[8 * i + 7] = d.z; }";

class DenseGridTest : public Geometry {
protected:
  // 4 x 5 x 6 samples from (-1, 2, 0.5) on.
  HdDenseGrid Grid(Place &p, const std::function<double(V)> &f, std::array<int64_t, 3> n = {4, 5, 6}) {
    HdDenseGrid g = {};
    const float origin[3] = {-1, 2, 0.5f}, spacing[3] = {0.5f, 0.25f, 2};
    EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n.data(), origin, spacing, &g), HD_OK) << p.Why();
    std::vector<float> v;
    for (int i = 0; i < n[0]; i++)
      for (int j = 0; j < n[1]; j++)
        for (int k = 0; k < n[2]; k++)
          v.push_back(float(f({origin[0] + spacing[0] * i, origin[1] + spacing[1] * j, origin[2] + spacing[2] * k})));
    p.Set(g.values, v);
    return g;
  }
  std::vector<float> Ask(Place &p, const HdDenseGrid &g, const std::vector<V> &at) {
    std::vector<HdArg> args(HD_DENSE_GRID_ARGS);
    EXPECT_EQ(hd_dense_grid_args(&g, args.data()), HD_DENSE_GRID_ARGS);
    HdArray x = p.New(at), out = p.New(hd_type_scalar(HD_F32), 8 * int64_t(at.size()));
    args.insert(args.end(), {hd_arg_array(&x), hd_arg_array(&out)});
    p.Run(p.Kernel(kAll), int64_t(at.size()), args);
    return p.Get<float>(out);
  }
  // In the grid's box.
  V Within() { return {-0.25f + 0.75f * U(), 2.5f + 0.5f * U(), 5.5f + 5 * U()}; }
};

// Linear along each axis.
double Cubic(V p) {
  double x = p.x, y = p.y, z = p.z;
  return 1 + 2 * x - y + 0.5 * z + x * y - 0.3 * y * z + 0.2 * x * z - 0.7 * x * y * z;
}
V CubicGradient(V p) {
  return {float(2 + p.y + 0.2 * p.z - 0.7 * p.y * p.z), float(-1 + p.x - 0.3 * p.z - 0.7 * p.x * p.z),
          float(0.5 - 0.3 * p.y + 0.2 * p.x - 0.7 * p.x * p.y)};
}

TEST_F(DenseGridTest, HasFieldsThatAreLinearAlongEachAxis) {
  Place p("cpu");
  HdDenseGrid g = Grid(p, Cubic);
  std::vector<V> at;
  for (int i = 0; i < 500; i++) at.push_back(Within());
  std::vector<float> got = Ask(p, g, at);
  for (size_t i = 0; i < at.size(); i++) {
    EXPECT_NEAR(got[8 * i], Cubic(at[i]), 2e-5);
    EXPECT_EQ(got[8 * i], got[8 * i + 2]);
    EXPECT_EQ(got[8 * i], got[8 * i + 4]);
    V d = CubicGradient(at[i]);
    EXPECT_NEAR(got[8 * i + 5], d.x, 2e-4);
    EXPECT_NEAR(got[8 * i + 6], d.y, 2e-4);
    EXPECT_NEAR(got[8 * i + 7], d.z, 2e-4);
  }
  hd_dense_grid_free(p.ctx, &g);
}

TEST_F(DenseGridTest, HasItsSamplesBitForBit) {
  Place p("cpu");
  std::vector<float> v;
  HdDenseGrid g = Grid(p, [&](V) { return v.push_back(U()), v.back(); });
  std::vector<V> at;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++)
      for (int k = 0; k < 6; k++) at.push_back({-1 + 0.5f * i, 2 + 0.25f * j, 0.5f + 2 * k});
  std::vector<float> got = Ask(p, g, at);
  for (size_t i = 0; i < at.size(); i++)
    for (int k = 0; k < 5; k++) EXPECT_EQ(got[8 * i + k], v[i]) << i << " " << k;
  // and a little beside them the nearest is the same
  for (V &a : at) a = {a.x + 0.2f * U(), a.y + 0.1f * U(), a.z + 0.9f * U()};
  got = Ask(p, g, at);
  for (size_t i = 0; i < at.size(); i++) EXPECT_EQ(got[8 * i + 1], v[i]) << i;
  hd_dense_grid_free(p.ctx, &g);
}

TEST_F(DenseGridTest, GoesOnBeyondItsSamplesOrGivesTheOutsidesValue) {
  Place p("cpu");
  HdDenseGrid g = Grid(p, Cubic);
  const V beyond[] = {
      {-7, 2.6f, 3}, {0.5f + 1e-4f, 2.6f, 3}, {-0.3f, 9, 3}, {-0.3f, 2.6f, -kInf}, {kInf, -kInf, 1e30f}};
  std::vector<V> at(beyond, beyond + 5);
  std::vector<float> got = Ask(p, g, at);
  for (size_t i = 0; i < at.size(); i++) {
    V q = {std::min(std::max(at[i].x, -1.0f), 0.5f), std::min(std::max(at[i].y, 2.0f), 3.0f),
           std::min(std::max(at[i].z, 0.5f), 10.5f)};
    EXPECT_NEAR(got[8 * i], Cubic(q), 2e-5) << i;
    EXPECT_EQ(got[8 * i + 4], got[8 * i]) << i;
    EXPECT_EQ(got[8 * i + 2], 9) << i;
    EXPECT_EQ(got[8 * i + 3], 9) << i;
    V d = CubicGradient(q);
    EXPECT_NEAR(got[8 * i + 5], q.x == at[i].x ? d.x : 0, 1e-4) << i;
    EXPECT_NEAR(got[8 * i + 6], q.y == at[i].y ? d.y : 0, 1e-4) << i;
    EXPECT_NEAR(got[8 * i + 7], q.z == at[i].z ? d.z : 0, 1e-4) << i;
  }
  hd_dense_grid_free(p.ctx, &g);
}

TEST_F(DenseGridTest, GivesNanForNan) {
  Place p("cpu");
  HdDenseGrid g = Grid(p, Cubic);
  for (V at : {V{kNan, 2.5f, 3}, V{0, kNan, 3}, V{0, 2.5f, kNan}}) {
    std::vector<float> got = Ask(p, g, {at});
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]) && std::isnan(got[4])) << got[0] << " " << got[1];
    EXPECT_EQ(got[2], 9);
    EXPECT_EQ(got[3], 9);
  }
  hd_dense_grid_free(p.ctx, &g);
}

TEST_F(DenseGridTest, MayHaveOneSampleOrNone) {
  Place p("cpu");
  HdDenseGrid one = Grid(p, [](V) { return 7; }, {1, 1, 1}), flat = Grid(p, [](V q) { return q.y + q.z; }, {1, 5, 6});
  std::vector<float> got = Ask(p, one, {{-1, 2, 0.5f}, {5, 5, 5}});
  EXPECT_EQ(got, (std::vector<float>{7, 7, 7, 7, 7, 0, 0, 0, 7, 7, 9, 9, 7, 0, 0, 0}));
  got = Ask(p, flat, {{-1, 2.5f, 5}});
  EXPECT_EQ(got[0], 7.5f);
  EXPECT_EQ((std::vector<float>(got.begin() + 5, got.end())), (std::vector<float>{0, 1, 1}));
  for (std::array<int64_t, 3> n : {std::array<int64_t, 3>{0, 5, 6}, {4, 0, 6}, {4, 5, 0}}) {
    HdDenseGrid none = Grid(p, Cubic, n);
    got = Ask(p, none, {{-1, 2, 0.5f}});
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]) && std::isnan(got[4]));
    EXPECT_EQ(got[2], 9);
    EXPECT_EQ(got[3], 9);
    hd_dense_grid_free(p.ctx, &none);
  }
  hd_dense_grid_free(p.ctx, &one);
  hd_dense_grid_free(p.ctx, &flat);
}

TEST_F(DenseGridTest, MayBeAView) {
  Place p("cpu");
  HdDenseGrid g = Grid(p, Cubic), half = g;
  GEO_OK(p, hd_array_slice(p.ctx, g.values, 2, 0, 6, 2, &half.values));
  half.spacing[2] *= 2;
  V at = {-0.3f, 2.6f, 7};
  EXPECT_NEAR(Ask(p, half, {at})[0], Cubic(at), 2e-5);
  hd_dense_grid_free(p.ctx, &g);
}

TEST_F(DenseGridTest, IsReadTheSameWayOnEveryDeviceAndWidth) {
  std::vector<V> at = Points(301, 4);
  for (V &a : at) a = a + V{-0.25f, 2.5f, 5.5f};
  std::vector<float> v;
  for (int i = 0; i < 120; i++) v.push_back(U());
  SameEverywhere([&](Place &p) {
    HdDenseGrid g = Grid(p, Cubic);
    p.Set(g.values, v);
    std::vector<float> got = Ask(p, g, at);
    hd_dense_grid_free(p.ctx, &g);
    std::vector<int32_t> bits(got.size());
    memcpy(bits.data(), got.data(), got.size() * sizeof(float));
    return bits;
  });
}

TEST_F(DenseGridTest, OfVectorsIsReadAsAnArray) {
  Place p("cpu");
  HdArray field = {};
  const int64_t n[3] = {2, 2, 2};
  GEO_OK(p, hd_array_zeros(p.ctx, p.device, hd_type_vec(HD_F32, 3), 3, n, &field));
  std::vector<V> v;
  for (int i = 0; i < 8; i++) v.push_back({float(i >> 2), float(i >> 1 & 1), float(i & 1)}); // the place itself
  p.Set(field, v);
  std::vector<V> at = {{0.25f, 0.5f, 0.75f}, {1, 0, 0.5f}, {3, -1, 0.125f}};
  HdArray x = p.New(at), out = p.New(hd_type_vec(HD_F32, 3), 3);
  p.Run(p.Kernel("kernel k(vec3 a[,,], vec3 p[], vec3 out[]) { let i = tid(); out[i] = grid_linear(a, p[i]); }"), 3,
        {hd_arg_array(&field), hd_arg_array(&x), hd_arg_array(&out)});
  std::vector<V> got = p.Get<V>(out);
  at[2] = {1, 0, 0.125f};
  for (int i = 0; i < 3; i++) EXPECT_EQ(Length(got[i] - at[i]), 0) << i;
  hd_array_free(p.ctx, &field);
}

TEST_F(DenseGridTest, RefusesASpacingThatIsNone) {
  Place p("cpu");
  const int64_t n[3] = {2, 2, 2}, wrong[3] = {2, -1, 2};
  const float ok[3] = {1, 1, 1};
  HdDenseGrid g = {};
  for (float s : {0.0f, -1.0f, kNan, kInf, 1e-45f}) {
    const float spacing[3] = {1, s, 1};
    EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n, ok, spacing, &g), HD_ERR_ARG) << s;
    EXPECT_NE(p.Why().find("hd_dense_grid_new: spacing"), std::string::npos) << p.Why();
  }
  const float nowhere[3] = {0, 0, kNan};
  EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n, nowhere, ok, &g), HD_ERR_ARG);
  EXPECT_NE(p.Why().find("origin"), std::string::npos) << p.Why();
  EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, wrong, ok, ok, &g), HD_ERR_SHAPE);
  EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n, nullptr, ok, &g), HD_ERR_ARG);
  EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n, ok, nullptr, &g), HD_ERR_ARG);
  EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n, ok, ok, nullptr), HD_ERR_ARG);
  EXPECT_EQ(g.values.data, nullptr);
}

} // namespace
