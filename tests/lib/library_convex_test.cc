// tests/lib/library_convex_test.cc -- distances and contacts of all pairs of convex shapes against the greatest gap that directions
// find (bodies.h), touching and odd ones, and the same bits everywhere.
#include <cstdint>

#include "convex_kinds.h"

namespace {

const std::string kKernel =
    std::string(kMake) +
    "kernel k(i32 ka[], i32 kb[], Numbers a[], Numbers b[], vec3 hulls[], f32 d[], vec3 at[], vec3 normal[]) {\n"
    "  let i = tid(); var x = vec3(0); var n = x; d[i] = convex_contact(made(ka[i], a[i].r), made(kb[i], b[i].r), "
    "hulls, x, n);\n"
    "  at[i] = x; normal[i] = n;\n"
    "}\n";

class Convex : public Geometry {
protected:
  void Random(int n, double spread) {
    for (int i = 0; i < n; i++) {
      ka.push_back(i % kKinds);
      kb.push_back(i / kKinds % kKinds);
      for (std::vector<float> *v : {&a, &b})
        for (int k = 0; k < 16; k++) v->push_back(static_cast<float>(u_(gen_) * (k < 3 ? spread : k < 7 ? 1 : 0.6)));
    }
    if (hulls.empty()) hulls = Points(16, 0.7);
    Room(n);
  }
  void Room(int n) { d.resize(n), at.resize(3 * n), normal.resize(3 * n); }
  std::vector<int32_t> ka, kb;
  std::vector<float> a, b, hulls, d, at, normal;
};

TEST_F(Convex, ContactsHaveTheGreatestGapAndLieOnBothSurfaces) {
  constexpr int n = 648;
  Random(n, 0.8);
  Program p(machine_, kKernel, machine_.cpu);
  p.Run(n, ka, kb, a, b, hulls, d, at, normal);
  int deep = 0;
  for (int i = 0; i < n; i++) {
    Body x = Make(ka[i], &a[16 * i], hulls), y = Make(kb[i], &b[16 * i], hulls);
    V m = At(normal, i), mid = At(at, i);
    deep += d[i] < 0;
    std::string what = std::to_string(i) + ", kinds " + std::to_string(ka[i]) + " " + std::to_string(kb[i]);
    // of the size of what is compared, which is about 3
    EXPECT_NEAR(Length(m), 1, 1e-6) << what;
    EXPECT_NEAR(Gap(x, y, m), d[i], 3e-6) << what;
    EXPECT_LE(Distance(x, y, Unit(m)), d[i] + (d[i] < -0.1 ? 2e-4 : 1e-5)) << what;
    EXPECT_LT(Outside(x, mid - m * (d[i] / 2)), 5e-4) << what;
    EXPECT_LT(Outside(y, mid + m * (d[i] / 2)), 5e-4) << what;
  }
  EXPECT_GT(deep, n / 4);
  EXPECT_LT(deep, n * 3 / 4);
}

// B moved along the normal until the two hardly touch: as far apart as it was moved, with a normal that shows it, however small that is.
TEST_F(Convex, TouchingShapesAreAsFarApartAsTheyWereMoved) {
  constexpr int n = 3240;
  const float wants[] = {1e-2f, -1e-2f, 1e-3f, -1e-3f, 1e-4f, -1e-4f, 1e-5f, -1e-5f, 0};
  Random(n, 0.8);
  Program p(machine_, kKernel, machine_.cpu);
  p.Run(n, ka, kb, a, b, hulls, d, at, normal);
  std::vector<float> first = normal;
  std::vector<int> which;
  for (int i = 0; i < n; i++) {
    float want = wants[i / 81 % 9];
    if (kb[i] == 1 || d[i] < -0.1 || (want <= 0 && d[i] > want)) continue; // a capsule's end is its radius, too
    which.push_back(i);
    float *r = &b[16 * i];
    for (int k = 0; k < 3; k++) {
      float t = normal[3 * i + k] * (want - d[i]);
      r[k] += t;
      if (kb[i] == 6) r[7 + k] += t, r[10 + k] += t;
    }
  }
  p.Run(n, ka, kb, a, b, hulls, d, at, normal);
  EXPECT_GT(which.size(), n / 3);
  for (int i : which) {
    Body x = Make(ka[i], &a[16 * i], hulls), y = Make(kb[i], &b[16 * i], hulls);
    V m = At(normal, i), mid = At(at, i);
    std::string what = std::to_string(i) + ", kinds " + std::to_string(ka[i]) + " " + std::to_string(kb[i]);
    EXPECT_NEAR(Length(m), 1, 1e-6) << what;
    EXPECT_NEAR(Gap(x, y, m), d[i], 2e-6) << what;
    EXPECT_GE(d[i], Gap(x, y, At(first, i)) - 1e-5) << what;
    EXPECT_LE(d[i], wants[i / 81 % 9] + 1e-5) << what;
    if (i % 7) continue;
    EXPECT_LT(Outside(x, mid - m * (d[i] / 2)), 3e-4) << what;
    EXPECT_LT(Outside(y, mid + m * (d[i] / 2)), 3e-4) << what;
  }
}

TEST_F(Convex, OddShapesHaveAnswersThatAreTheSameEverywhere) {
  Random(kKinds * kKinds * 2, 0.5);
  const int tame = static_cast<int>(ka.size());
  for (int i = 0; i < tame; i += 3) { // no size; the same place and turn; the same shape
    float *x = &a[16 * i], *y = &b[16 * i];
    if (i % 2) std::fill(x + 7, x + 14, 0.f);
    std::copy(x, x + 7, y);
    if (i % 5 == 0) std::copy(x, x + 16, y);
  }
  for (float size : {1e-6f, 1e6f})
    for (int i = 0; i < kKinds * kKinds; i++) {
      ka.push_back(ka[i]), kb.push_back(kb[i]);
      for (std::vector<float> *v : {&a, &b})
        for (int k = 0; k < 16; k++) v->push_back((*v)[16 * i + k] * (k >= 3 && k < 7 ? 1 : size));
    }
  const int finite = static_cast<int>(ka.size());
  const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, 1e-45f};
  for (int i = 0; i < 2 * kKinds * kKinds; i++) {
    ka.push_back(ka[i]), kb.push_back(kb[i]);
    for (std::vector<float> *v : {&a, &b})
      for (int k = 0; k < 16; k++) v->push_back(k == i % 13 && v == &a ? odd[i % 5] : (*v)[16 * i + k]);
  }
  const int n = static_cast<int>(ka.size());
  Room(n);
  Everywhere::It().Run(kKernel, n, ka, kb, a, b, hulls, d, at, normal);
  for (int i = 0; i < finite; i++) {
    ASSERT_TRUE(std::isfinite(d[i])) << i << ", kinds " << ka[i] << " " << kb[i];
    ASSERT_NEAR(Length(At(normal, i)), 1, 1e-4) << i << ", kinds " << ka[i] << " " << kb[i];
  }
}

// What is known: boxes that touch, stand in each other, lie far from the origin.
TEST_F(Convex, BoxesInLineAreAsFarApartAsTheyAre) {
  hulls = Points(16);
  const double dy[] = {2, 2.5, 1.9, 1, 2.001, 1.999};
  for (double far : {0.0, 1000.0}) {
    for (double y : dy) {
      ka.push_back(2), kb.push_back(2);
      for (std::vector<float> *v : {&a, &b}) {
        std::vector<float> r(16);
        r[0] = static_cast<float>(far), r[6] = 1, r[7] = r[8] = r[9] = 1;
        if (v == &b) r[0] += 0.125f, r[1] = static_cast<float>(y), r[2] = 0.25f;
        v->insert(v->end(), r.begin(), r.end());
      }
    }
  }
  const int n = static_cast<int>(ka.size());
  Room(n);
  Program p(machine_, kKernel, machine_.cpu);
  p.Run(n, ka, kb, a, b, hulls, d, at, normal);
  for (int i = 0; i < n; i++) {
    EXPECT_NEAR(d[i], dy[i % 6] - 2, 1e-5) << i;
    EXPECT_NEAR(normal[3 * i + 1], 1, 1e-5) << i;
    EXPECT_NEAR(at[3 * i + 1], dy[i % 6] / 2, 1e-4) << i;
  }
}

} // namespace
