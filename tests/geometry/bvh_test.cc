// tests/geometry/bvh_test.cc -- walks through trees of boxes against looking at every box, on every device.
#include <algorithm>
#include <set>

#include "geometry_fixture.h"

namespace {

using namespace geo;

struct Boxes {
  std::vector<V> low, high;
  size_t size() const { return low.size(); }
  void Add(V lo, V hi) {
    low.push_back(lo);
    high.push_back(hi);
  }
};

// What a walk gave for each query is out[q * room ..], closed by -1; the walk's own order.
constexpr int kRoom = 4096;
const char kRayWalk[] = "kernel k(Bvh b, vec3 o[], vec3 d[], f32 limit, i32 out[]) {\n"
                        "  let i = tid(); var at = i * 4096; var q = bvh_ray(b, o[i], d[i], limit);\n"
                        "  while (true) { let p = bvh_next(b, q); out[at] = p; if (p < 0) break; at++; } }";
const char kBoxWalk[] = "kernel k(Bvh b, vec3 lo[], vec3 hi[], f32 limit, i32 out[]) {\n"
                        "  let i = tid(); var at = i * 4096; var q = bvh_box(b, lo[i], hi[i]);\n"
                        "  while (true) { let p = bvh_next(b, q); out[at] = p; if (p < 0) break; at++; } }";
const char kPointWalk[] = "kernel k(Bvh b, vec3 p[], vec3 unused[], f32 limit, i32 out[]) {\n"
                          "  let i = tid(); var at = i * 4096; var q = bvh_point(b, p[i], limit);\n"
                          "  while (true) { let p = bvh_next(b, q); out[at] = p; if (p < 0) break; at++; } }";

using Walks = std::vector<std::vector<int32_t>>;

Walks Walk(Place &p, HdBvh *b, const char *text, const std::vector<V> &x, const std::vector<V> &y, float limit) {
  HdArray out = p.New(hd_type_scalar(HD_I32), int64_t(x.size()) * kRoom), a = p.New(x), c = p.New(y);
  p.Run(p.Kernel(text), int64_t(x.size()),
        p.Args(b, {hd_arg_array(&a), hd_arg_array(&c), hd_arg_f32(limit), hd_arg_array(&out)}));
  std::vector<int32_t> flat = p.Get<int32_t>(out);
  Walks w(x.size());
  for (size_t i = 0; i < x.size(); i++)
    for (const int32_t *q = &flat[i * kRoom]; *q >= 0; q++) w[i].push_back(*q);
  return w;
}

HdBvh *Tree(Place &p, const Boxes &boxes, int leaf = 4, HdBvhBuilder builder = HD_BVH_SAH) {
  HdBvhOptions o = HD_BVH_OPTIONS_INIT;
  o.leaf = leaf;
  o.builder = builder;
  HdBvh *b = nullptr;
  EXPECT_EQ(hd_bvh_new(p.ctx, p.stream, &o, p.New(boxes.low), p.New(boxes.high), &b), HD_OK) << p.Why();
  return b;
}

// In double: is the box met by o + t d with 0 <= t <= limit?
bool RayMeets(V o, V d, V lo, V hi, double limit) {
  double near = 0, far = limit;
  const float *O = &o.x, *D = &d.x, *L = &lo.x, *H = &hi.x;
  for (int a = 0; a < 3; a++) {
    if (D[a] == 0) {
      if (O[a] < L[a] || O[a] > H[a]) return false;
      continue;
    }
    double s = (double(L[a]) - O[a]) / D[a], t = (double(H[a]) - O[a]) / D[a];
    near = std::max(near, std::min(s, t));
    far = std::min(far, std::max(s, t));
  }
  return near <= far;
}
bool BoxMeets(V lo, V hi, V l, V h) {
  return lo.x <= h.x && l.x <= hi.x && lo.y <= h.y && l.y <= hi.y && lo.z <= h.z && l.z <= hi.z;
}
double Apart(V p, V lo, V hi) {
  double s = 0;
  const float *P = &p.x, *L = &lo.x, *H = &hi.x;
  for (int a = 0; a < 3; a++) {
    double d = std::max({0.0, double(L[a]) - P[a], double(P[a]) - H[a]});
    s += d * d;
  }
  return std::sqrt(s);
}

// Each walk gives all of `must`, nothing twice, and what is beside it shares a leaf with something.
void ExpectCovers(const Walks &walks, size_t n, const std::function<bool(size_t query, size_t box)> &must) {
  size_t needed = 0, given = 0;
  for (size_t q = 0; q < walks.size(); q++) {
    std::set<int32_t> got(walks[q].begin(), walks[q].end());
    ASSERT_EQ(got.size(), walks[q].size()) << "query " << q << " gave something twice";
    given += got.size();
    for (size_t i = 0; i < n; i++)
      if (must(q, i)) {
        needed++;
        ASSERT_TRUE(got.count(int32_t(i))) << "query " << q << " lost box " << i;
      }
  }
  EXPECT_LE(given, 12 * needed + (8 + n / 10) * walks.size()) << "the walks leave out too little";
}

class BvhTest : public Geometry {
protected:
  Boxes Random(int n, float size) {
    Boxes b;
    for (int i = 0; i < n; i++) {
      V c = Point(), h = {std::fabs(U()) * size, std::fabs(U()) * size, std::fabs(U()) * size};
      b.Add(c - h, c + h);
    }
    return b;
  }
  void ExpectRight(Place &p, HdBvh *b, const Boxes &boxes, int queries = 100) {
    std::vector<V> o = Points(queries, 1.5f), d = Points(queries), lo, hi;
    for (int i = 0; i < queries; i += 4) (&d[i].x)[i / 4 % 3] = 0;
    for (int i = 0; i < queries; i++) {
      V c = Point(), h = {std::fabs(U()) * 0.2f, std::fabs(U()) * 0.2f, std::fabs(U()) * 0.2f};
      lo.push_back(c - h);
      hi.push_back(c + h);
    }
    ExpectCovers(Walk(p, b, kRayWalk, o, d, 1.5f), boxes.size(),
                 [&](size_t q, size_t i) { return RayMeets(o[q], d[q], boxes.low[i], boxes.high[i], 1.5); });
    ExpectCovers(Walk(p, b, kBoxWalk, lo, hi, 0), boxes.size(),
                 [&](size_t q, size_t i) { return BoxMeets(lo[q], hi[q], boxes.low[i], boxes.high[i]); });
    ExpectCovers(Walk(p, b, kPointWalk, o, d, 0.5f), boxes.size(),
                 [&](size_t q, size_t i) { return Apart(o[q], boxes.low[i], boxes.high[i]) <= 0.5; });
  }
};

TEST_F(BvhTest, GivesAllThatLookingAtEveryBoxFindsAfterEachRebuild) {
  Place p("cpu");
  for (HdBvhBuilder builder : {HD_BVH_SAH, HD_BVH_MORTON})
    for (int leaf : {1, 4, 7}) {
      HdBvh *b = Tree(p, Random(50, 0.1f), leaf, builder);
      ASSERT_NE(b, nullptr);
      for (int n : {0, 1, 2, 3, 4, 5, 9, 100, 3000}) {
        Boxes boxes = Random(n, 0.03f);
        GEO_OK(p, hd_bvh_rebuild(b, p.New(boxes.low), p.New(boxes.high)));
        EXPECT_EQ(hd_bvh_count(b), n);
        ExpectRight(p, b, boxes, n > 1000 ? 30 : 100);
      }
      hd_bvh_free(b);
    }
}

TEST_F(BvhTest, WalksTheSameWayOnEveryDeviceAndWidth) {
  Boxes boxes = Random(300, 0.05f);
  std::vector<V> x = Points(37, 1.5f), y = Points(37);
  for (HdBvhBuilder builder : {HD_BVH_SAH, HD_BVH_MORTON})
    SameEverywhere([&](Place &p) {
      HdBvh *b = Tree(p, boxes, 2, builder);
      std::vector<int32_t> all;
      for (const char *text : {kRayWalk, kBoxWalk, kPointWalk})
        for (auto &w : Walk(p, b, text, x, y, 0.7f)) all.insert(all.end(), w.begin(), w.end());
      hd_bvh_free(b);
      return all;
    });
}

TEST_F(BvhTest, RaysMeetTheNearerBoxesFirst) {
  Place p("cpu");
  Boxes boxes;
  for (int i = 0; i < 64; i++) boxes.Add({float((i * 37) % 64), 0, 0}, {float((i * 37) % 64) + 0.5f, 1, 1});
  HdBvh *b = Tree(p, boxes, 1);
  auto w = Walk(p, b, kRayWalk, {{-1, 0.5f, 0.5f}, {70, 0.5f, 0.5f}}, {{1, 0, 0}, {-1, 0, 0}}, kInf);
  ASSERT_EQ(w[0].size(), 64u);
  ASSERT_EQ(w[1].size(), 64u);
  for (int i = 1; i < 64; i++) {
    EXPECT_LT(boxes.low[w[0][i - 1]].x, boxes.low[w[0][i]].x);
    EXPECT_GT(boxes.low[w[1][i - 1]].x, boxes.low[w[1][i]].x);
  }
  hd_bvh_free(b);
}

TEST_F(BvhTest, TakesTheUsersOwnPrimitivesAndStopsAtTheNearest) {
  Place p("cpu");
  const int n = 500;
  std::vector<V> c = Points(n);
  std::vector<float> r;
  Boxes boxes;
  for (int i = 0; i < n; i++) {
    r.push_back(0.02f + 0.05f * std::fabs(U()));
    boxes.Add(c[i] - V{r[i], r[i], r[i]}, c[i] + V{r[i], r[i], r[i]});
  }
  HdBvh *b = Tree(p, boxes);
  std::vector<V> o = Points(200, 2), d = Points(200);
  HdArray centers = p.New(c), radii = p.New(hd_type_scalar(HD_F32), r), from = p.New(o), along = p.New(d);
  HdArray t = p.New(hd_type_scalar(HD_F32), 200), all = p.New(hd_type_scalar(HD_F32), 200);
  p.Run(
      p.Kernel(
          "kernel k(Bvh b, vec3 c[], f32 r[], vec3 o[], vec3 d[], f32 walked[], f32 all[]) {\n"
          "  let i = tid(); var q = bvh_ray(b, o[i], d[i], inf<f32>()); while (true) {\n"
          "    let j = bvh_next(b, q); if (j < 0) break;\n"
          "    let t = ray_sphere(o[i], d[i], c[j], r[j]); if (t >= 0 && t < q.limit) q.limit = t; }\n"
          "  walked[i] = q.limit; var best = inf<f32>();\n"
          "  for (j in 0..c.length) { let t = ray_sphere(o[i], d[i], c[j], r[j]); if (t >= 0 && t < best) best = t; }\n"
          "  all[i] = best; }"),
      200,
      p.Args(b, {hd_arg_array(&centers), hd_arg_array(&radii), hd_arg_array(&from), hd_arg_array(&along),
                 hd_arg_array(&t), hd_arg_array(&all)}));
  EXPECT_EQ(p.Get<float>(t), p.Get<float>(all));
  hd_bvh_free(b);
}

TEST_F(BvhTest, RefitFollowsBoxesThatMove) {
  for (const char *device : {"cpu", "cuda:0"}) {
    Place p(device);
    Boxes boxes = Random(device[1] == 'p' ? 2500 : 133, 0.03f);
    HdBvh *b = Tree(p, boxes);
    for (int round = 0; round < 2; round++) {
      for (size_t i = 0; i < boxes.size(); i++) {
        V by = Point(0.4f);
        boxes.low[i] = boxes.low[i] + by;
        boxes.high[i] = boxes.high[i] + by;
      }
      GEO_OK(p, hd_bvh_refit(b, p.New(boxes.low), p.New(boxes.high)));
      std::vector<V> o = Points(30, 1.5f), d = Points(30);
      auto walks = Walk(p, b, kRayWalk, o, d, 2);
      for (size_t q = 0; q < walks.size(); q++)
        for (size_t i = 0; i < boxes.size(); i++) {
          if (!RayMeets(o[q], d[q], boxes.low[i], boxes.high[i], 2)) continue;
          EXPECT_NE(std::find(walks[q].begin(), walks[q].end(), int(i)), walks[q].end()) << q << " lost " << i;
        }
    }
    hd_bvh_free(b);
  }
}

TEST_F(BvhTest, BoxesThatAreNoneAreMetByNothing) {
  Place p("cpu");
  Boxes boxes = Random(60, 0.2f);
  std::set<int32_t> bad;
  for (int i = 0; i < 60; i += 3) {
    const V wrong[] = {{kNan, 0, 0}, {0, kInf, 0}, {0, 0, -kInf}};
    if (i % 2)
      boxes.low[i] = wrong[i % 9 / 3];
    else
      boxes.high[i] = boxes.low[i] - V{1, 1, 1};
    bad.insert(i);
  }
  std::vector<V> o = Points(50, 1.5f), d = Points(50);
  for (HdBvhBuilder builder : {HD_BVH_SAH, HD_BVH_MORTON}) {
    HdBvh *b = Tree(p, boxes, 1, builder);
    size_t met = 0;
    for (const char *text : {kRayWalk, kPointWalk, kBoxWalk})
      for (auto &w : Walk(p, b, text, o, d, 0.5f))
        for (int32_t i : w) {
          EXPECT_FALSE(bad.count(i)) << i;
          met++;
        }
    EXPECT_GT(met, 100u);
    hd_bvh_free(b);
  }
}

TEST_F(BvhTest, QueriesThatAreNotFiniteMeetNothing) {
  Place p("cpu");
  HdBvh *b = Tree(p, Random(200, 0.3f));
  std::vector<V> bad = {{kNan, 0, 0}, {0, kInf, 0}, {0, 0, kNan}}, good = {{1, 0, 0}, {0, 1, 0}, {1, 1, 1}};
  for (auto &w : Walk(p, b, kRayWalk, bad, good, 10)) EXPECT_TRUE(w.empty());
  for (auto &w : Walk(p, b, kRayWalk, good, bad, 10)) EXPECT_TRUE(w.empty());
  for (auto &w : Walk(p, b, kRayWalk, good, good, kNan)) EXPECT_TRUE(w.empty());
  for (auto &w : Walk(p, b, kPointWalk, bad, good, 10)) EXPECT_TRUE(w.empty());
  for (auto &w : Walk(p, b, kPointWalk, good, good, -1)) EXPECT_TRUE(w.empty());
  hd_bvh_free(b);
}

TEST_F(BvhTest, StaysShallowWhereTheHeuristicWouldNot) {
  Place p("cpu");
  Boxes boxes; // each ten times the one before: the best cut takes one box off, again and again
  float s = 1e-30f;
  for (int i = 0; i < 60; i++, s *= 10) boxes.Add({0, 0, 0}, {s, s, s});
  for (int i = 0; i < 3000; i++) boxes.Add({0, 0, 0}, {1e-30f, 1e-30f, 1e-30f}); // all in one place
  for (HdBvhBuilder builder : {HD_BVH_SAH, HD_BVH_MORTON}) {
    HdBvh *b = Tree(p, boxes, 1, builder);
    EXPECT_LE(hd_bvh_depth(b), 54);
    EXPECT_GT(hd_bvh_depth(b), 11);
    auto w = Walk(p, b, kRayWalk, {{-1, 0, 0}}, {{1, 0, 0}}, kInf);
    EXPECT_EQ(w[0].size(), boxes.size());
    hd_bvh_free(b);
  }
}

TEST_F(BvhTest, HoldsAtHugeAndTinyScales) {
  Place p("cpu");
  for (float scale : {1e-18f, 1e18f}) {
    Boxes boxes = Random(400, 0.05f);
    for (size_t i = 0; i < boxes.size(); i++)
      boxes.low[i] = boxes.low[i] * scale, boxes.high[i] = boxes.high[i] * scale;
    HdBvh *b = Tree(p, boxes);
    std::vector<V> o = Points(60, scale * 1.5f), d = Points(60);
    ExpectCovers(Walk(p, b, kRayWalk, o, d, kInf), boxes.size(),
                 [&](size_t q, size_t i) { return RayMeets(o[q], d[q], boxes.low[i], boxes.high[i], INFINITY); });
    hd_bvh_free(b);
  }
}

TEST_F(BvhTest, RefusesArraysThatDoNotFit) {
  Place p("cpu");
  HdArray three = p.New(Points(3)), four = p.New(Points(4)), ints = p.New(std::vector<Face>{{0, 1, 2}});
  HdBvh *b = nullptr;
  EXPECT_EQ(hd_bvh_new(p.ctx, p.stream, nullptr, three, four, &b), HD_ERR_SHAPE);
  EXPECT_EQ(hd_bvh_new(p.ctx, p.stream, nullptr, ints, ints, &b), HD_ERR_TYPE);
  EXPECT_NE(p.Why().find("low"), std::string::npos) << p.Why();
  HdBvhOptions o = HD_BVH_OPTIONS_INIT;
  o.leaf = 8;
  EXPECT_EQ(hd_bvh_new(p.ctx, p.stream, &o, three, three, &b), HD_ERR_ARG);
  EXPECT_EQ(b, nullptr);
  GEO_OK(p, hd_bvh_new(p.ctx, p.stream, nullptr, three, three, &b));
  EXPECT_EQ(hd_bvh_refit(b, four, four), HD_ERR_SHAPE);
  hd_bvh_free(b);
}

} // namespace
