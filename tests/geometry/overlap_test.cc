// tests/geometry/overlap_test.cc -- triangles and boxes that touch, against sampling and edges that pierce.
#include <algorithm>

#include "geometry_fixture.h"

namespace {

using namespace geo;

class Overlap : public Geometry {
protected:
  // out[i] of "kernel k(vec3 a[], i32 out[])", where query i has `per` points.
  std::vector<int32_t> Run(const char *text, const std::vector<V> &points, int per) {
    HdArray a = place_.New(points), out = place_.New(hd_type_scalar(HD_I32), int64_t(points.size()) / per);
    place_.Run(place_.Kernel(text), int64_t(points.size()) / per, {hd_arg_array(&a), hd_arg_array(&out)});
    return place_.Get<int32_t>(out);
  }
  Place place_{"cpu"};
};

const char kBox[] = "kernel k(vec3 a[], i32 out[]) { let i = tid(); let j = 5 * i;\n"
                    "  out[i] = triangle_box_overlap(a[j], a[j + 1], a[j + 2], a[j + 3], a[j + 4]) ? 1 : 0; }";
const char kTriangles[] = "fn wide(vec3 a) -> vec3d { return vec3d(a); }\n"
                          "kernel k(vec3 a[], i32 out[]) { let i = tid(); let j = 6 * i;\n"
                          "  let f = triangle_overlap(a[j], a[j + 1], a[j + 2], a[j + 3], a[j + 4], a[j + 5]);\n"
                          "  let g = triangle_overlap(wide(a[j + 3]), wide(a[j + 5]), wide(a[j + 4]), wide(a[j]), "
                          "wide(a[j + 2]), wide(a[j + 1]));\n"
                          "  out[i] = (f ? 1 : 0) + (g ? 2 : 0); }";

TEST_F(Overlap, OfTriangleAndBoxIsWhatSamplesOfTheTriangleSay) {
  const int n = 3000, grid = 60;
  std::vector<V> p;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 3; k++) p.push_back(Point(1.5f));
    V c = Point(), h = {std::fabs(U()), std::fabs(U()), std::fabs(U())};
    p.push_back(c - h * 0.5f);
    p.push_back(c + h * 0.5f);
  }
  std::vector<int32_t> got = Run(kBox, p, 5);
  int yes = 0, no = 0;
  for (int i = 0; i < n; i++) {
    const V *q = &p[5 * i];
    double nearest = INFINITY, longest = std::max({Length(q[1] - q[0]), Length(q[2] - q[0]), Length(q[2] - q[1])});
    for (int s = 0; s <= grid; s++)
      for (int t = 0; s + t <= grid; t++) {
        V x = q[0] + (q[1] - q[0]) * (float(s) / grid) + (q[2] - q[0]) * (float(t) / grid);
        double dx = std::max({0.f, q[3].x - x.x, x.x - q[4].x}), dy = std::max({0.f, q[3].y - x.y, x.y - q[4].y});
        double dz = std::max({0.f, q[3].z - x.z, x.z - q[4].z});
        nearest = std::min(nearest, std::sqrt(dx * dx + dy * dy + dz * dz));
      }
    if (nearest == 0) {
      ASSERT_EQ(got[i], 1) << i;
      yes++;
    } else if (nearest > longest / grid) {
      ASSERT_EQ(got[i], 0) << i;
      no++;
    }
  }
  EXPECT_GT(yes, 300);
  EXPECT_GT(no, 300);
}

// Does the segment from p to q pierce a b c by a margin? 1 yes, 0 no, -1 too close to say.
int Pierces(V p, V q, V a, V b, V c) {
  auto six = [](V o, V x, V y, V z) { // six times the volume
    V u = x - o, v = y - o, w = z - o;
    return double(u.x) * (double(v.y) * w.z - double(v.z) * w.y) +
           double(u.y) * (double(v.z) * w.x - double(v.x) * w.z) +
           double(u.z) * (double(v.x) * w.y - double(v.y) * w.x);
  };
  double s = six(a, b, c, p), t = six(a, b, c, q), u = six(p, q, a, b), v = six(p, q, b, c), w = six(p, q, c, a);
  for (double x : {s, t, u, v, w})
    if (std::fabs(x) < 1e-5) return -1;
  return (s > 0) != (t > 0) && (u > 0) == (v > 0) && (v > 0) == (w > 0);
}

TEST_F(Overlap, OfTwoTrianglesIsThatAnEdgeOfOnePiercesTheOther) {
  const int n = 20000;
  std::vector<V> p = Points(6 * n);
  std::vector<int32_t> got = Run(kTriangles, p, 6);
  int yes = 0, no = 0;
  for (int i = 0; i < n; i++) {
    const V *a = &p[6 * i], *b = a + 3;
    bool any = false, doubt = false;
    for (int k = 0; k < 3; k++)
      for (int r : {Pierces(a[k], a[(k + 1) % 3], b[0], b[1], b[2]), Pierces(b[k], b[(k + 1) % 3], a[0], a[1], a[2])}) {
        any |= r == 1;
        doubt |= r < 0;
      }
    if (doubt) continue;
    ASSERT_EQ(got[i], any ? 3 : 0) << i;
    (any ? yes : no)++;
  }
  EXPECT_GT(yes, 2000);
  EXPECT_GT(no, 2000);
}

TEST_F(Overlap, OfTrianglesThatTouchOrLieInOnePlane) {
  const V a = {0, 0, 0}, b = {1, 0, 0}, c = {0, 1, 0}, up = {0, 0, 1};
  const struct {
    std::vector<V> with;
    bool touch;
  } cases[] = {
      {{a, b, c}, true},                                                     // itself
      {{a, up, {-1, 0, 0}}, true},                                           // a corner in common
      {{{0.5f, 0.5f, 0}, {1, 1, 0}, {1, 1, 1}}, true},                       // a corner on an edge
      {{{0.2f, 0.2f, 0}, {0.2f, 0.2f, 1}, {1, 1, 1}}, true},                 // a corner on the face
      {{{0.2f, 0.2f, 0.001f}, {0.2f, 0.2f, 1}, {1, 1, 1}}, false},           // hardly above it
      {{{0.1f, 0.1f, 0}, {0.3f, 0.1f, 0}, {0.1f, 0.3f, 0}}, true},           // within
      {{{0.6f, 0.6f, 0}, {1, 0.6f, 0}, {0.6f, 1, 0}}, false},                // in the plane, beside the long edge
      {{{-1, 0.2f, 0}, {2, 0.2f, 0}, {2, 0.3f, 0}}, true},                   // in the plane, across
      {{{0, 0, 1}, {1, 0, 1}, {0, 1, 1}}, false},                            // parallel
      {{{0.2f, 0.2f, -1}, {0.2f, 0.2f, 1}, {0.2f, 0.2f, 0}}, true},          // no area: a segment through it
      {{{0.7f, 0.7f, -1}, {0.7f, 0.7f, 1}, {0.7f, 0.7f, 0}}, false},         // beside it
      {{{0.2f, 0.2f, 0}, {0.2f, 0.2f, 0}, {0.2f, 0.2f, 0}}, true},           // a point on it
      {{{0.2f, 0.2f, 0.5f}, {0.2f, 0.2f, 0.5f}, {0.2f, 0.2f, 0.5f}}, false}, // above it
      {{{kNan, 0, 0}, b, c}, false},
  };
  std::vector<V> p;
  for (auto &k : cases) {
    p.insert(p.end(), {a, b, c});
    p.insert(p.end(), k.with.begin(), k.with.end());
  }
  std::vector<int32_t> got = Run(kTriangles, p, 6);
  for (size_t i = 0; i < std::size(cases); i++) EXPECT_EQ(got[i], cases[i].touch ? 3 : 0) << i;
}

TEST_F(Overlap, OfABoxAndATriangleWithoutArea) {
  const V lo = {0, 0, 0}, hi = {1, 1, 1}, in = {0.5f, 0.5f, 0.5f}, out = {2, 2, 2}, past = {1.6f, 0.6f, 0.5f};
  std::vector<V> p = {in,
                      in,
                      in,
                      lo,
                      hi,
                      out,
                      out,
                      out,
                      lo,
                      hi,
                      {-1, 0.5f, 0.5f},
                      {3, 0.5f, 0.5f},
                      {1, 0.5f, 0.5f},
                      lo,
                      hi,
                      past,
                      {0.6f, 1.6f, 0.5f},
                      past,
                      lo,
                      hi,
                      {0, 0, 1},
                      {5, 5, 1},
                      {5, 0, 1},
                      lo,
                      hi};
  EXPECT_EQ(Run(kBox, p, 5), (std::vector<int32_t>{1, 0, 1, 0, 1}));
}

} // namespace
