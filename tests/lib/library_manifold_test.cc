// tests/lib/library_manifold_test.cc -- contacts in several points: counts that are known, points on both surfaces, the same bits.
#include <cmath>

#include "bodies.h"

namespace {

// A box with half size 1, 2, 1.5 as a box (0) or as the hull of its corners (1), on a plane, or on its like.
const char kKernel[] =
    "fn made(i32 kind, transform t) -> Convex { if (kind == 1) return convex_hull(t, 2, 8); return convex_box(t, "
    "vec3(1, 2, 1.5)); }\n"
    "struct Numbers { f32 r[16]; }\n"
    "kernel k(i32 ka[], i32 kb[], Numbers r[], vec3 hulls[], i32 count[], vec3 at[], f32 d[], vec3 normal[], i32 "
    "plane[], f32 pd[]) {\n"
    "  let i = tid(); let x = r[i];\n"
    "  let ta = transform(vec3(x.r[0], x.r[1], x.r[2]), normalize(quat(x.r[3], x.r[4], x.r[5], x.r[6])));\n"
    "  let tb = transform(vec3(x.r[7], x.r[8], x.r[9]), normalize(quat(x.r[10], x.r[11], x.r[12], x.r[13])));\n"
    "  vec3 p[8]; f32 s[8]; var n = vec3(0); for (k in 0..8) { p[k] = vec3(0); s[k] = 0; }\n"
    "  count[i] = convex_contacts(made(ka[i], ta), made(kb[i], tb), hulls, x.r[14], p, s, n);\n"
    "  for (k in 0..8) { at[8 * i + k] = p[k]; d[8 * i + k] = s[k]; }\n"
    "  normal[i] = n;\n"
    "  plane[i] = contact_plane_hull(tb.p, rotate(tb.q, vec3(0, 1, 0)), ta, hulls, 2, 8, 100, p, s, n);\n"
    "  for (k in 0..8) pd[8 * i + k] = s[k];\n"
    "}\n";

class Manifold : public Geometry {
protected:
  void SetUp() override {
    hulls_.assign(6, 0.25f);
    for (int k = 0; k < 8; k++)
      for (float h : {k & 1 ? 1.f : -1.f, k & 2 ? 2.f : -2.f, k & 4 ? 1.5f : -1.5f}) hulls_.push_back(h);
  }
  void Add(int ka, int kb, const std::vector<float> &r) {
    ka_.push_back(ka), kb_.push_back(kb);
    r_.insert(r_.end(), r.begin(), r.end());
  }
  void Room() {
    size_t n = ka_.size();
    count_.resize(n), plane_.resize(n), normal_.resize(3 * n), at_.resize(24 * n), d_.resize(8 * n), pd_.resize(8 * n);
  }
  std::vector<int32_t> ka_, kb_, count_, plane_;
  std::vector<float> r_, hulls_, at_, d_, normal_, pd_;
};

// B stands `gap` above A, turned about the vertical by `turn` and moved by half a length.
std::vector<float> Stacked(double gap, double turn, double x, double z) {
  return {0,
          0,
          0,
          0,
          0,
          0,
          1,
          float(x),
          float(4 + gap),
          float(z),
          0,
          float(std::sin(turn / 2)),
          0,
          float(std::cos(turn / 2)),
          0.01f,
          0};
}

TEST_F(Manifold, OfStackedBoxesIsTheOverlapOfTheirFaces) {
  const struct {
    double gap, turn, x, z;
    int points;
  } cases[] = {{0, 0, 0.5, 0.5, 4},
               {-0.01, 0, 0, 0, 4},
               {0.005, 0.7853981634, 0, 0, 8},
               {0.02, 0, 0, 0, 0},
               {-0.005, 1.2, 0.4, 0.9, 6}};
  for (int kinds = 0; kinds < 4; kinds++)
    for (auto &c : cases) Add(kinds & 1, kinds >> 1, Stacked(c.gap, c.turn, c.x, c.z));
  Room();
  Program p(machine_, kKernel, machine_.cpu);
  p.Run(int64_t(ka_.size()), ka_, kb_, r_, hulls_, count_, at_, d_, normal_, plane_, pd_);
  for (size_t i = 0; i < ka_.size(); i++) {
    auto &c = cases[i % 5];
    EXPECT_EQ(count_[i], c.points) << i;
    if (c.points) {
      EXPECT_NEAR(normal_[3 * i + 1], 1, 1e-4) << i;
    }
    for (size_t k = 0; k < size_t(count_[i]); k++) {
      EXPECT_NEAR(d_[8 * i + k], c.gap, 1e-3) << i;
      EXPECT_NEAR(at_[24 * i + 3 * k + 1], 2 + c.gap / 2, 1e-3) << i;
      EXPECT_LE(std::fabs(at_[24 * i + 3 * k]), 1.001) << i;
      EXPECT_LE(std::fabs(at_[24 * i + 3 * k + 2]), 1.501) << i;
    }
  }
}

// Boxes anyhow: points lie on both, have no more than the margin, and one is as deep as the shapes are; hulls against a plane too.
TEST_F(Manifold, OfAnyTwoLiesOnBothAndHasTheDeepestPoint) {
  for (int i = 0; i < 400; i++) {
    std::vector<float> r;
    for (int k = 0; k < 16; k++) r.push_back(float(u_(gen_) * (k < 3 || (k >= 7 && k < 10) ? 1.5 : 1)));
    r[14] = 0.1f;
    Add(i & 1, i >> 1 & 1, r);
  }
  Room();
  Program p(machine_, kKernel, machine_.cpu);
  p.Run(int64_t(ka_.size()), ka_, kb_, r_, hulls_, count_, at_, d_, normal_, plane_, pd_);
  int met = 0;
  for (size_t i = 0; i < ka_.size(); i++) {
    const float *r = &r_[16 * i];
    Pose ta = MakePose({r[0], r[1], r[2]}, r[3], r[4], r[5], r[6]),
         tb = MakePose({r[7], r[8], r[9]}, r[10], r[11], r[12], r[13]);
    Body a = Placed(ta, Box({1, 2, 1.5})), b = Placed(tb, Box({1, 2, 1.5}));
    V n = At(normal_, int(i)), up = tb.y;
    double least = INFINITY, low = INFINITY;
    for (size_t k = 0; k < size_t(count_[i]); k++) {
      V x = {at_[24 * i + 3 * k], at_[24 * i + 3 * k + 1], at_[24 * i + 3 * k + 2]};
      double d = d_[8 * i + k];
      least = std::min(least, d);
      EXPECT_LE(d, 0.1f);
      EXPECT_LT(Dot(x - n * (d / 2), n) - a(n), 2e-2) << i;
      EXPECT_LT(-Dot(x + n * (d / 2), n) - b(n * -1), 2e-2) << i;
    }
    met += count_[i] > 0;
    if (count_[i]) {
      EXPECT_NEAR(least, -a(n) - b(n * -1), 2e-2) << i;
    }
    EXPECT_GE(plane_[i], 4) << i;
    for (int k = 0; k < plane_[i]; k++) low = std::min<double>(low, pd_[8 * i + size_t(k)]);
    EXPECT_NEAR(low, -a(up * -1) - Dot(tb.p, up), 1e-4) << i;
    EXPECT_NEAR(pd_[8 * i], low, 1e-5) << i;
  }
  EXPECT_GT(met, 200);
}

TEST_F(Manifold, HasTheSameBitsEverywhere) {
  for (int i = 0; i < 60; i++) {
    std::vector<float> r;
    for (int k = 0; k < 16; k++) r.push_back(float(u_(gen_)));
    if (i % 3 == 0) r = Stacked(-0.005, r[0], r[1], r[2]);
    if (i % 7 == 0) r[size_t(i / 7)] = NAN;
    Add(i & 1, i >> 1 & 1, r);
  }
  Room();
  Everywhere::It().Run(kKernel, int(ka_.size()), ka_, kb_, r_, hulls_, count_, at_, d_, normal_, plane_, pd_);
}

} // namespace
