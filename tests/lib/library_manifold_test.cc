// tests/lib/library_manifold_test.cc -- contacts in several points: counts that are known, points on both surfaces, either order, the same
// bits.
#include <cmath>

#include "convex_kinds.h"

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

// The area of the hull of points that lie about it in a plane across n.
double Area(const std::vector<V> &points, V n) {
  V middle = {0, 0, 0};
  for (V p : points) middle = middle + p * (1.0 / double(points.size()));
  V s = Unit(Cross(n, std::fabs(n.x) < 0.6 ? V{1, 0, 0} : V{0, 1, 0})), t = Cross(n, s);
  std::vector<std::pair<double, V>> around;
  for (V p : points) around.push_back({std::atan2(Dot(p - middle, t), Dot(p - middle, s)), p - middle});
  std::sort(around.begin(), around.end(), [](auto &x, auto &y) { return x.first < y.first; });
  double area = 0;
  for (size_t k = 0; k < around.size(); k++)
    area += Dot(n, Cross(around[k].second, around[(k + 1) % around.size()].second)) / 2;
  return area;
}

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
    if (c.points) { EXPECT_NEAR(normal_[3 * i + 1], 1, 1e-4) << i; }
    for (size_t k = 0; k < size_t(count_[i]); k++) {
      EXPECT_NEAR(d_[8 * i + k], c.gap, 2e-6) << i;
      EXPECT_NEAR(at_[24 * i + 3 * k + 1], 2 + c.gap / 2, 2e-6) << i;
      EXPECT_LE(std::fabs(at_[24 * i + 3 * k]), 1.001) << i;
      EXPECT_LE(std::fabs(at_[24 * i + 3 * k + 2]), 1.501) << i;
    }
    if (!c.points) continue;
    // the whole overlap, as points of a grid find it
    int inside = 0;
    for (int u = 0; u < 400; u++)
      for (int v = 0; v < 400; v++) {
        double x = (u + 0.5) / 200 - 1 - c.x, z = ((v + 0.5) / 200 - 1) * 1.5 - c.z;
        inside += std::fabs(x * std::cos(c.turn) - z * std::sin(c.turn)) < 1 &&
                  std::fabs(x * std::sin(c.turn) + z * std::cos(c.turn)) < 1.5;
      }
    std::vector<V> points;
    for (int k = 0; k < count_[i]; k++) points.push_back(At(at_, int(8 * i) + k));
    EXPECT_NEAR(Area(points, {0, 1, 0}), inside * 6.0 / 160000, 0.03) << i;
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
      EXPECT_LT(Dot(x - n * (d / 2), n) - a(n), 2e-5) << i;
      EXPECT_LT(-Dot(x + n * (d / 2), n) - b(n * -1), 2e-5) << i;
    }
    met += count_[i] > 0;
    if (count_[i]) { EXPECT_NEAR(least, -a(n) - b(n * -1), 2e-5) << i; }
    EXPECT_GE(plane_[i], 4) << i;
    for (int k = 0; k < plane_[i]; k++) low = std::min<double>(low, pd_[8 * i + size_t(k)]);
    EXPECT_NEAR(low, -a(up * -1) - Dot(tb.p, up), 1e-4) << i;
    EXPECT_NEAR(pd_[8 * i], low, 1e-5) << i;
  }
  EXPECT_GT(met, 200);
}

// --- all kinds ----------------------------------------------------------------------------------------------------------

// Of each pair 31 quadruples: the normal of A and B and the sum of a hull's distances from a plane; how many points the next have; the
// plane's normal; points with distances of A and B, of four of them, of B and A, of a plane through 0 and A.
const std::string kAll =
    std::string(kMake) +
    "kernel k(i32 ka[], i32 kb[], Numbers a[], Numbers b[], vec3 hulls[], vec4 out[]) {\n"
    "  let i = tid(); let o = i * 31; let margin = b[i].r[14];\n"
    "  var x = made(ka[i], a[i].r); var y = made(kb[i], b[i].r); vec3 p[8]; f32 s[8]; var n = vec3(0); i32 count[4];\n"
    "  for (turn in 0..2) {\n"
    "    let c = convex_contacts(x, y, hulls, margin, p, s, n);\n"
    "    for (k in 0..c) { out[o + (turn == 0 ? 3 : 15) + k] = vec4(p[k], s[k]); }\n"
    "    count[2 * turn] = c;\n"
    "    if (turn == 0) {\n"
    "      out[o] = vec4(n, 0); count[1] = contact_reduce(p, s, c, n);\n"
    "      for (k in 0..count[1]) { out[o + 11 + k] = vec4(p[k], s[k]); }\n"
    "      let t = x; x = y; y = t;\n"
    "    }\n"
    "  }\n"
    "  var up = normalize(vec3(b[i].r[0], b[i].r[1], b[i].r[2])); if (b[i].r[15] == 1) up = vec3(0, 1, 0);\n"
    "  count[3] = contact_plane_convex(vec3(0), up, y, hulls, margin, p, s, n);\n"
    "  for (k in 0..count[3]) { out[o + 23 + k] = vec4(p[k], s[k]); }\n"
    "  out[o + 1] = vec4(f32(count[0]), f32(count[1]), f32(count[2]), f32(count[3])); out[o + 2] = vec4(up, 0);\n"
    "  let m = contact_plane_hull(vec3(0), up, transform(y.p, y.q), hulls, 3, 12, 100, p, s, n);\n"
    "  for (k in 0..m) { out[o].w += s[k]; }\n"
    "}\n";

class AllKinds : public Geometry {
protected:
  // Every second pair stands upright, one above the other.
  void Random(int n) {
    for (int i = 0; i < n; i++) {
      ka.push_back(i % kKinds);
      kb.push_back(i / kKinds % kKinds);
      for (std::vector<float> *v : {&a, &b}) {
        for (int k = 0; k < 16; k++) v->push_back(static_cast<float>(u_(gen_) * (k < 3 ? 0.8 : k < 7 ? 1 : 0.6)));
        float *r = &v->back() - 15;
        r[14] = 100;
        if (i & 1) r[3] = r[5] = 0, r[0] *= 0.3f, r[2] *= 0.3f, r[1] = v == &a ? 0.f : 2.f, r[15] = 1;
        if ((i & 3) == 1) r[11] = 0; // and a triangle's third corner
      }
    }
    hulls = Points(16, 0.7);
    out.assign(size_t(n) * 124, 0);
  }
  // B is moved along the normal to be so far from A.
  void Move(Program &p, const float *wants, int count) {
    int n = static_cast<int>(ka.size());
    p.Run(n, ka, kb, a, b, hulls, out);
    for (int i = 0; i < n; i++) {
      float *r = &b[16 * i], *o = &out[124 * i];
      float d = INFINITY;
      for (int k = 0; k < int(o[4]); k++) d = std::min(d, o[4 * (3 + k) + 3]);
      r[14] = 0.01f;
      for (int k = 0; k < 3; k++) {
        float t = o[k] * (wants[i % count] - d);
        r[k] += t;
        if (kb[i] == 6) r[7 + k] += t, r[10 + k] += t;
      }
    }
    out.assign(out.size(), 0);
  }
  static V Point(const float *o, int k) { return {o[4 * k], o[4 * k + 1], o[4 * k + 2]}; }
  static std::vector<V> List(const float *o, int from, int count) {
    std::vector<V> v;
    for (int k = 0; k < count; k++) v.push_back(Point(o, from + k));
    return v;
  }
  std::vector<int32_t> ka, kb;
  std::vector<float> a, b, hulls, out;
};

TEST_F(AllKinds, HavePointsOnBothThatAreAsManyAndAsDeepInEitherOrder) {
  constexpr int n = 1620;
  const float wants[] = {-0.002f, -0.02f, 0.005f, -0.0001f, 0.02f};
  Random(n);
  Program p(machine_, kAll, machine_.cpu);
  Move(p, wants, 5);
  p.Run(n, ka, kb, a, b, hulls, out);
  int faces = 0, reduced = 0, on_plane = 0, differ = 0;
  for (int i = 0; i < n; i++) {
    const float *o = &out[124 * size_t(i)];
    Body x = Make(ka[i], &a[16 * i], hulls), y = Make(kb[i], &b[16 * i], hulls);
    V m = Point(o, 0), up = Point(o, 2);
    double d = Gap(x, y, m);
    int c = int(o[4]), r = int(o[5]), t = int(o[6]), q = int(o[7]);
    std::string what = std::to_string(i) + ", kinds " + std::to_string(ka[i]) + " " + std::to_string(kb[i]);
    if (c > 0) { EXPECT_LE(d, 0.01 + 1e-5) << what; }
    EXPECT_EQ(t > 0, c > 0) << what;
    double least = INFINITY, other = INFINITY;
    for (int k = 0; k < c; k++) {
      double g = o[4 * (3 + k) + 3];
      least = std::min(least, g);
      EXPECT_LE(g, 0.01f) << what;
      EXPECT_LT(Outside(x, Point(o, 3 + k) - m * (g / 2)), 5e-4) << what << " " << k;
      EXPECT_LT(Outside(y, Point(o, 3 + k) + m * (g / 2)), 5e-4) << what << " " << k;
    }
    for (int k = 0; k < t; k++) other = std::min<double>(other, o[4 * (15 + k) + 3]);
    if (c > 0) {
      EXPECT_NEAR(least, d, 2e-5) << what;
      EXPECT_NEAR(other, d, 2e-5) << what;
    }
    differ += c != t;
    if (c > 2) {
      faces++;
      double whole = Area(List(o, 3, c), m), four = Area(List(o, 11, r), m);
      EXPECT_GE(four, whole * 0.55) << what;
      if (t > 2) { EXPECT_NEAR(Area(List(o, 15, t), m), whole, 0.02 * whole + 1e-4) << what; }
    }
    reduced += c > 4;
    EXPECT_LE(r, std::min(c, 4)) << what;
    if (c > 0) { EXPECT_GE(r, 1); }
    for (int k = 0; k < r; k++) { // each is one of them
      bool found = false;
      for (int j = 0; j < c; j++) found = found || !memcmp(&o[4 * (11 + k)], &o[4 * (3 + j)], 16);
      EXPECT_TRUE(found) << what;
    }
    // planes
    double low = -x(up * -1);
    if (std::fabs(low - 0.01) > 1e-5) { EXPECT_EQ(q > 0, low <= 0.01) << what; }
    if (q > 0) { EXPECT_NEAR(o[4 * 23 + 3], low, 2e-6) << what; }
    on_plane += q > 2;
    for (int k = 0; k < q; k++) {
      V at = Point(o, 23 + k);
      double g = o[4 * (23 + k) + 3];
      EXPECT_LE(g, 0.01f) << what;
      EXPECT_NEAR(Dot(at, up), g / 2, 2e-6) << what;
      EXPECT_LT(Outside(x, at + up * (g / 2)), 2e-6) << what;
    }
  }
  EXPECT_GT(faces, 60);
  EXPECT_GT(reduced, 30);
  EXPECT_GT(on_plane, 100);
  EXPECT_LT(differ, n / 50);
}

TEST_F(AllKinds, HaveTheSameBitsEverywhere) {
  Random(81);
  for (int i = 0; i < 81; i++) {
    if (i % 5 == 0) b[size_t(16 * i + i / 5 % 16)] = i % 2 ? NAN : INFINITY;
    if (i % 7 == 0) std::fill(&a[16 * size_t(i) + 7], &a[16 * size_t(i) + 14], 0.f); // no size
    if (i % 11 == 0) std::copy(&a[16 * size_t(i)], &a[16 * size_t(i)] + 16, &b[16 * size_t(i)]);
  }
  Everywhere::AndOnGpu().Run(kAll, 81, ka, kb, a, b, hulls, out);
}

} // namespace
