// tests/geometry/bvh_groups_test.cc -- trees over groups: a walk from a group's root meets what looking at its boxes finds.
#include <algorithm>

#include "geometry_fixture.h"

namespace {

using namespace geo;

constexpr int kRoom = 1024;
// Kind 0, 1, 2: boxes, rays, balls. Those in group g of each, or with g < 0 in all.
const char kWalk[] = "kernel k(Bvh b, i32 roots[], vec3 lo[], vec3 hi[], i32 group[], i32 out[]) {\n"
                     "  let i = tid(); var at = i * 1024; let g = group[i]; let r = g < 0 ? 0 : bvh_root(roots, g);\n"
                     "  var q = bvh_box(b, lo[i], hi[i], r);\n"
                     "  while (true) { let p = bvh_next(b, q); out[at] = p; if (p < 0) break; at++; } }";
const char kCounts[] = "kernel k(Bvh b, i32 roots[], vec3 lo[], vec3 hi[], i32 group[], i32 out[]) {\n"
                       "  let i = tid(); let r = bvh_root(roots, group[i]); var n = 0; var sum = 0;\n"
                       "  var q = bvh_ray(b, lo[i], hi[i] - lo[i], 1, r);\n"
                       "  while (true) { let p = bvh_next(b, q); if (p < 0) break; n += 1; sum += p; }\n"
                       "  var s = bvh_point(b, lo[i], 0.3, r);\n"
                       "  while (true) { let p = bvh_next(b, s); if (p < 0) break; n += 1000; sum += p; }\n"
                       "  out[2 * i] = n; out[2 * i + 1] = sum; }";

struct World {
  std::vector<V> low, high;
  std::vector<int32_t> group;
};

class BvhGroups : public Geometry {
protected:
  World Boxes(int n, int ngroups) {
    World w;
    for (int i = 0; i < n; i++) {
      V c = Point(), h = {std::fabs(U()) * 0.1f, std::fabs(U()) * 0.1f, std::fabs(U()) * 0.1f};
      w.low.push_back(c - h);
      w.high.push_back(c + h);
      int g = int(gen_() % unsigned(ngroups));
      w.group.push_back(g % 5 == 3 ? 0 : g); // some are empty, one is large
    }
    return w;
  }
  HdBvh *Tree(Place &p, const World &w, int ngroups, HdBvhBuilder builder, int leaf) {
    HdBvhOptions o = {builder, leaf};
    HdBvh *b = nullptr;
    EXPECT_EQ(hd_bvh_new_groups(p.ctx, p.stream, &o, p.New(w.low), p.New(w.high),
                                p.New(hd_type_scalar(HD_I32), w.group), ngroups, &b),
              HD_OK)
        << p.Why();
    return b;
  }
  std::vector<int32_t> Ask(Place &p, HdBvh *b, const char *text, const std::vector<V> &lo, const std::vector<V> &hi,
                           const std::vector<int32_t> &group, int per) {
    HdArray roots = hd_bvh_roots(b), x = p.New(lo), y = p.New(hi), g = p.New(hd_type_scalar(HD_I32), group);
    HdArray out = p.New(hd_type_scalar(HD_I32), int64_t(lo.size()) * per);
    p.Run(p.Kernel(text), int64_t(lo.size()),
          p.Args(b, {hd_arg_array(&roots), hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&g), hd_arg_array(&out)}));
    return p.Get<int32_t>(out);
  }
  // A walk gives all of the group whose boxes are met, each once, and none of another group.
  void ExpectRight(Place &p, HdBvh *b, const World &w, int ngroups) {
    const int n = 100;
    std::vector<V> lo = Points(n), hi;
    std::vector<int32_t> group;
    for (int i = 0; i < n; i++) {
      hi.push_back(lo[size_t(i)] + V{0.3f, 0.5f, 0.4f});
      group.push_back(i % 10 == 9 ? -1 : int(gen_() % unsigned(ngroups + 1))); // the last one is not there
    }
    std::vector<int32_t> flat = Ask(p, b, kWalk, lo, hi, group, kRoom);
    for (size_t i = 0; i < n; i++) {
      std::vector<int32_t> got;
      for (size_t k = i * kRoom; flat[k] >= 0; k++) got.push_back(flat[k]);
      std::sort(got.begin(), got.end());
      EXPECT_EQ(std::adjacent_find(got.begin(), got.end()), got.end());
      for (int32_t q : got) ASSERT_TRUE(group[i] < 0 || w.group[size_t(q)] == group[i]) << q;
      for (size_t q = 0; q < w.low.size(); q++) {
        V l = w.low[q], h = w.high[q];
        bool met =
            l.x <= hi[i].x && lo[i].x <= h.x && l.y <= hi[i].y && lo[i].y <= h.y && l.z <= hi[i].z && lo[i].z <= h.z;
        if (met && (group[i] < 0 || w.group[q] == group[i])) {
          ASSERT_TRUE(std::binary_search(got.begin(), got.end(), int32_t(q))) << i << " " << q;
        }
      }
    }
  }
};

TEST_F(BvhGroups, WalksStayInTheirGroupAndMissNothing) {
  Place p("cpu");
  for (HdBvhBuilder builder : {HD_BVH_SAH, HD_BVH_MORTON})
    for (int leaf : {1, 4, 7})
      for (auto [n, ngroups] : {std::pair{600, 1}, {600, 7}, {600, 100}, {50, 400}, {1, 1}, {3, 3}, {0, 2}}) {
        World w = Boxes(n, ngroups);
        HdBvh *b = Tree(p, w, ngroups, builder, leaf);
        ASSERT_NE(b, nullptr);
        ExpectRight(p, b, w, ngroups);
        World moved = Boxes(n, ngroups); // the groups stay
        moved.group = w.group;
        GEO_OK(p, hd_bvh_refit(b, p.New(moved.low), p.New(moved.high)));
        ExpectRight(p, b, moved, ngroups);
        GEO_OK(p, hd_bvh_rebuild(b, p.New(w.low), p.New(w.high)));
        ExpectRight(p, b, w, ngroups);
        EXPECT_LE(hd_bvh_depth(b), 54);
        hd_bvh_free(b);
      }
}

TEST_F(BvhGroups, HaveTheSameBitsEverywhere) {
  World w = Boxes(300, 12);
  std::vector<V> lo = Points(50), hi = Points(50);
  std::vector<int32_t> group;
  for (int i = 0; i < 50; i++) group.push_back(i % 13);
  for (HdBvhBuilder builder : {HD_BVH_SAH, HD_BVH_MORTON})
    SameEverywhere([&](Place &p) {
      HdBvh *b = Tree(p, w, 12, builder, 4);
      auto got = Ask(p, b, kCounts, lo, hi, group, 2);
      hd_bvh_free(b);
      return got;
    });
}

TEST_F(BvhGroups, RefuseGroupsThatAreNotThere) {
  Place p("cpu");
  World w = Boxes(10, 4);
  HdArray lo = p.New(w.low), hi = p.New(w.high), g = p.New(hd_type_scalar(HD_I32), w.group);
  HdBvh *b = nullptr;
  EXPECT_EQ(hd_bvh_new_groups(p.ctx, p.stream, nullptr, lo, hi, g, 0, &b), HD_ERR_ARG);
  EXPECT_EQ(hd_bvh_new_groups(p.ctx, p.stream, nullptr, lo, hi, p.New(hd_type_scalar(HD_I32), 9), 4, &b), HD_ERR_SHAPE);
  EXPECT_EQ(hd_bvh_new_groups(p.ctx, p.stream, nullptr, lo, hi, p.New(hd_type_scalar(HD_F32), 10), 4, &b), HD_ERR_TYPE);
  w.group[6] = 4;
  EXPECT_EQ(hd_bvh_new_groups(p.ctx, p.stream, nullptr, lo, hi, p.New(hd_type_scalar(HD_I32), w.group), 4, &b),
            HD_ERR_ARG);
  EXPECT_NE(p.Why().find("group[6]"), std::string::npos) << p.Why();
  EXPECT_EQ(b, nullptr);
}

TEST_F(BvhGroups, AndTreesWithoutThemRefuseNull) {
  Place p("cpu");
  HdArray lo = p.New(std::vector<V>{{0, 0, 0}}), faces = p.New(hd_type_vec(HD_I32, 3), 1);
  HdArray g = p.New(hd_type_scalar(HD_I32), 1);
  HdBvh *b = nullptr;
  HdMesh *m = nullptr;
  EXPECT_EQ(hd_bvh_new(p.ctx, p.stream, nullptr, lo, lo, nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_bvh_new_groups(p.ctx, p.stream, nullptr, lo, lo, g, 1, nullptr), HD_ERR_ARG);
  EXPECT_NE(p.Why().find("out"), std::string::npos) << p.Why();
  EXPECT_EQ(hd_bvh_new_groups(p.ctx, nullptr, nullptr, lo, lo, g, 1, &b), HD_ERR_ARG);
  EXPECT_EQ(hd_bvh_new_groups(nullptr, p.stream, nullptr, lo, lo, g, 1, &b), HD_ERR_ARG);
  EXPECT_EQ(hd_mesh_new(p.ctx, p.stream, nullptr, lo, faces, nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_mesh_new_groups(p.ctx, p.stream, nullptr, lo, faces, g, 1, nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_mesh_new_groups(p.ctx, nullptr, nullptr, lo, faces, g, 1, &m), HD_ERR_ARG);
  EXPECT_EQ(hd_mesh_new_groups(nullptr, p.stream, nullptr, lo, faces, g, 1, &m), HD_ERR_ARG);
}

TEST_F(BvhGroups, AndWhatIsAskedOfNoStructureAreEmpty) {
  EXPECT_EQ(hd_array_count(hd_bvh_roots(nullptr)), 0);
  EXPECT_EQ(hd_array_count(hd_mesh_roots(nullptr)), 0);
  EXPECT_EQ(hd_array_count(hd_hash_grid_ids(nullptr)), 0);
  EXPECT_EQ(hd_array_count(hd_surface_points(nullptr)), 0);
  EXPECT_EQ(hd_array_count(hd_surface_normals(nullptr)), 0);
  EXPECT_EQ(hd_array_count(hd_surface_faces(nullptr)), 0);
  EXPECT_EQ(hd_bvh_roots(nullptr).data, nullptr);
  EXPECT_EQ(hd_bvh_count(nullptr), 0);
  EXPECT_EQ(hd_bvh_depth(nullptr), 0);
  EXPECT_EQ(hd_mesh_report(nullptr).not_finite, 0);
  EXPECT_EQ(hd_volume_info(nullptr).active, 0);
}

TEST_F(BvhGroups, OfAMeshAreAskedApart) {
  Place p("cpu");
  Shape s; // the same triangle, a step higher in each group
  std::vector<int32_t> group;
  for (int g = 0; g < 5; g++) {
    for (V v : {V{0, 0, 0}, V{1, 0, 0}, V{0, 1, 0}}) s.points.push_back(v + V{0, 0, float(g)});
    s.faces.push_back({3 * g, 3 * g + 1, 3 * g + 2});
    group.push_back(4 - g);
  }
  HdMesh *m = nullptr;
  GEO_OK(p, hd_mesh_new_groups(p.ctx, p.stream, nullptr, p.New(s.points), p.New(s.faces),
                               p.New(hd_type_scalar(HD_I32), group), 5, &m));
  HdArray roots = hd_mesh_roots(m), out = p.New(hd_type_scalar(HD_F32), 5);
  p.Run(p.Kernel("kernel k(Mesh m, i32 roots[], f32 t[]) { let i = tid(); MeshHit h;\n"
                 "  var q = bvh_ray(m.bvh, vec3(0.2, 0.2, -1), vec3(0, 0, 1), 100, bvh_root(roots, i));\n"
                 "  while (mesh_next(m, q, h)) { t[i] = h.t; q.limit = h.t; } }"),
        5, p.Args(m, {hd_arg_array(&roots), hd_arg_array(&out)}));
  EXPECT_EQ(p.Get<float>(out), (std::vector<float>{5, 4, 3, 2, 1}));
  hd_mesh_free(m);
}

// Questions to a group of one mesh give what the same questions to a mesh of that group's faces alone give, bit for bit, with those
// faces' numbers.
const char kAskGroup[] =
    "kernel k(Mesh m, i32 roots[], vec3 p[], vec3 d[], i32 group[], i32 out[]) {\n"
    "  let i = tid(); let r = bvh_root(roots, group[i]); let o = 12 * i;\n"
    "  let h = mesh_ray(m, p[i], d[i], 10, r); let x = mesh_nearest(m, p[i], 2, r);\n"
    "  out[o] = h.face; out[o + 1] = bitcast<i32>(h.t); out[o + 2] = bitcast<i32>(h.weights.y); out[o + 3] = "
    "i32(h.sign);\n"
    "  out[o + 4] = mesh_ray_any(m, p[i], d[i], 0.5, r) ? 1 : 0; out[o + 5] = mesh_ray_count(m, p[i], d[i], 10, r);\n"
    "  out[o + 6] = x.face; out[o + 7] = bitcast<i32>(x.distance); out[o + 8] = bitcast<i32>(x.weights.x);\n"
    "  static for (k in 0..3) out[o + 9 + k] = bitcast<i32>(x.point[k]); }";
const char kAskAlone[] =
    "kernel k(Mesh m, vec3 p[], vec3 d[], i32 out[]) {\n"
    "  let i = tid(); let o = 12 * i; let h = mesh_ray(m, p[i], d[i], 10); let x = mesh_nearest(m, p[i], 2);\n"
    "  out[o] = h.face; out[o + 1] = bitcast<i32>(h.t); out[o + 2] = bitcast<i32>(h.weights.y); out[o + 3] = "
    "i32(h.sign);\n"
    "  out[o + 4] = mesh_ray_any(m, p[i], d[i], 0.5) ? 1 : 0; out[o + 5] = mesh_ray_count(m, p[i], d[i], 10);\n"
    "  out[o + 6] = x.face; out[o + 7] = bitcast<i32>(x.distance); out[o + 8] = bitcast<i32>(x.weights.x);\n"
    "  static for (k in 0..3) out[o + 9 + k] = bitcast<i32>(x.point[k]); }";

class MeshGroups : public Geometry {
protected:
  static constexpr int kGroups = 5, kRays = 60;
  Shape all_;
  std::vector<int32_t> group_;
  std::vector<V> p_ = Points(kRays, 1.5f), d_ = Points(kRays);
  std::vector<int32_t> asked_;

  // Spheres that go through each other, their faces mixed; group 3 is empty.
  void SetUp() override {
    std::vector<std::pair<Face, int>> mixed;
    for (int g = 0; g < kGroups; g++) {
      if (g == 3) continue;
      Shape s = Sphere(6 + g, 9, 0.2f);
      int base = int(all_.points.size());
      for (V v : s.points) all_.points.push_back(v * (0.6f + 0.1f * float(g)));
      for (Face f : s.faces) mixed.push_back({{f.a + base, f.b + base, f.c + base}, g});
    }
    std::shuffle(mixed.begin(), mixed.end(), gen_);
    for (auto &[f, g] : mixed) {
      all_.faces.push_back(f);
      group_.push_back(g);
    }
    for (int i = 0; i < kRays; i++) asked_.push_back(i % (kGroups + 2) - 1); // -1 and 5 are not there
  }
  std::vector<int32_t> AskGroups(Place &p) {
    HdMesh *m = nullptr;
    EXPECT_EQ(hd_mesh_new_groups(p.ctx, p.stream, nullptr, p.New(all_.points), p.New(all_.faces),
                                 p.New(hd_type_scalar(HD_I32), group_), kGroups, &m),
              HD_OK)
        << p.Why();
    HdArray roots = hd_mesh_roots(m), x = p.New(p_), y = p.New(d_), g = p.New(hd_type_scalar(HD_I32), asked_);
    HdArray out = p.New(hd_type_scalar(HD_I32), 12 * kRays);
    p.Run(p.Kernel(kAskGroup), kRays,
          p.Args(m, {hd_arg_array(&roots), hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&g), hd_arg_array(&out)}));
    hd_mesh_free(m);
    return p.Get<int32_t>(out);
  }
};

TEST_F(MeshGroups, AnswerAsMeshesOfTheirFacesAlone) {
  Place p("cpu");
  std::vector<int32_t> got = AskGroups(p);
  int hits = 0;
  for (int g = -1; g <= kGroups; g++) {
    Shape s;
    std::vector<int32_t> number;
    s.points = all_.points;
    for (size_t f = 0; f < group_.size(); f++)
      if (group_[f] == g) s.faces.push_back(all_.faces[f]), number.push_back(int32_t(f));
    HdMesh *m = p.Mesh(s);
    HdArray x = p.New(p_), y = p.New(d_), out = p.New(hd_type_scalar(HD_I32), 12 * kRays);
    p.Run(p.Kernel(kAskAlone), kRays, p.Args(m, {hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&out)}));
    std::vector<int32_t> want = p.Get<int32_t>(out);
    for (size_t i = 0; i < kRays; i++) {
      if (asked_[i] != g) continue;
      for (size_t k = 0; k < 12; k++) {
        int32_t w = want[12 * i + k];
        if ((k == 0 || k == 6) && w >= 0) w = number[size_t(w)], hits++;
        EXPECT_EQ(got[12 * i + k], w) << "ray " << i << ", group " << g << ", " << k;
      }
    }
    hd_mesh_free(m);
  }
  EXPECT_GT(hits, 30);
}

TEST_F(MeshGroups, AnswerTheSameEverywhere) {
  SameEverywhere([&](Place &p) { return AskGroups(p); });
}

// Group 0 is not finite, 1 has no area, 2 is one triangle, 3 empty.
TEST_F(MeshGroups, OfDegenerateFacesAndQueriesHaveAnswers) {
  all_.points = {{NAN, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 1}};
  all_.faces = {{0, 1, 2}, {3, 4, 3}, {1, 2, 3}};
  group_ = {0, 1, 2};
  for (size_t i = 0; i < kRays; i++) {
    asked_[i] = int(i % 4);
    p_[i] = {0.9f, 0.9f, 0.9f};
    d_[i] = {-1, -1, -1};
    if (i >= 4) (i & 8 ? p_[i].y : d_[i].x) = i & 16 ? INFINITY : NAN;
  }
  Place p("cpu");
  std::vector<int32_t> got = AskGroups(p);
  for (size_t i = 0; i < kRays; i++) {
    const int32_t *x = &got[12 * i];
    bool place = i < 4 || !(i & 8);
    EXPECT_EQ(x[0], i == 2 ? 2 : -1) << i;
    EXPECT_EQ(x[4], 0) << i; // farther than a half
    EXPECT_EQ(x[5], i == 2 ? 1 : 0) << i;
    EXPECT_EQ(x[6], place && asked_[i] == 1 ? 1 : place && asked_[i] == 2 ? 2 : -1) << i;
  }
  all_.faces.clear();
  group_.clear();
  got = AskGroups(p);
  for (size_t i = 0; i < kRays; i++)
    EXPECT_TRUE(got[12 * i] == -1 && got[12 * i + 5] == 0 && got[12 * i + 6] == -1) << i;
}

} // namespace
