// tests/lib/library_contact_test.cc -- contacts of simple shapes in closed form, against the greatest gap that directions find
// between them (bodies.h), and by what a contact is.
#include <limits>

#include "bodies.h"

namespace {

// The pairs of one contact: the call, and both bodies, from twenty random numbers of 0 to 1.
struct Pair {
  const char *name, *call;
  std::function<void(const double *, Body *, Body *)> make;
};

Pose PoseOf(const double *r) {
  return MakePose({2 * r[0] - 1, 2 * r[1] - 1, 2 * r[2] - 1}, r[3] - 0.5, r[4] - 0.5, r[5] - 0.5, r[6] - 0.5);
}
V PointOf(const double *r) { return {2 * r[0] - 1, 2 * r[1] - 1, 2 * r[2] - 1}; }
Body Half(V p, V n) { // a plane's: a long box below it would do, but only its normal can have a gap
  return [=](V u) {
    return Dot(u, n) > 1 - 1e-12 ? Dot(p, n) : Length(u - n) < 1e-5 ? Dot(p, n) + 1e3 * Length(u - n) : 1e9;
  };
}

// In the kernels: r is the numbers, P(i) a point, T(i) a pose of seven numbers, both from the i-th on.
const Pair pairs[] = {
    {"SphereSphere", "contact_sphere_sphere(P(0), r[3], P(4), r[7], at, n)",
     [](const double *r, Body *a, Body *b) { *a = Ball(PointOf(r), r[3]), *b = Ball(PointOf(r + 4), r[7]); }},
    {"SphereCapsule", "contact_sphere_capsule(P(0), r[3], P(4), P(7), r[10], at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Ball(PointOf(r), r[3]), *b = Rounded(HullOf({PointOf(r + 4), PointOf(r + 7)}), r[10]);
     }},
    {"SphereBox", "contact_sphere_box(P(0), r[3], T(4), X(11), at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Ball(PointOf(r), r[3]), *b = Placed(PoseOf(r + 4), Box({r[11], r[12], r[13]}));
     }},
    {"SphereCylinder", "contact_sphere_cylinder(P(0), r[3], T(4), r[11], r[12], at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Ball(PointOf(r), r[3]), *b = Placed(PoseOf(r + 4), Cylinder(r[11], r[12]));
     }},
    {"SphereCone", "contact_sphere_cone(P(0), r[3], T(4), r[11], r[12], at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Ball(PointOf(r), r[3]), *b = Placed(PoseOf(r + 4), Cone(r[11], r[12]));
     }},
    {"SphereEllipsoid", "contact_sphere_ellipsoid(P(0), r[3], T(4), 0.1 + X(11), at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Ball(PointOf(r), r[3]), *b = Placed(PoseOf(r + 4), Ellipsoid({0.1 + r[11], 0.1 + r[12], 0.1 + r[13]}));
     }},
    {"SphereTriangle", "contact_sphere_triangle(P(0), r[3], P(4), P(7), P(10), at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Ball(PointOf(r), r[3]), *b = HullOf({PointOf(r + 4), PointOf(r + 7), PointOf(r + 10)});
     }},
    {"PlaneSphere", "contact_plane_sphere(P(0), normalize(P(3)), P(6), r[9], at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Half(PointOf(r), Unit(PointOf(r + 3))), *b = Ball(PointOf(r + 6), r[9]);
     }},
    {"PlaneEllipsoid", "contact_plane_ellipsoid(P(0), normalize(P(3)), T(6), X(13), at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Half(PointOf(r), Unit(PointOf(r + 3))), *b = Placed(PoseOf(r + 6), Ellipsoid({r[13], r[14], r[15]}));
     }},
    {"CapsuleCapsule", "contact_capsule_capsule(P(0), P(3), r[6], P(7), P(10), r[13], at, n)",
     [](const double *r, Body *a, Body *b) {
       *a = Rounded(HullOf({PointOf(r), PointOf(r + 3)}), r[6]),
       *b = Rounded(HullOf({PointOf(r + 7), PointOf(r + 10)}), r[13]);
     }},
};

const char kNumbers[] =
    "fn P(f64 r[20], i32 i) -> vec3d { return vec3d(2 * r[i] - 1, 2 * r[i + 1] - 1, 2 * r[i + 2] - 1); }\n"
    "fn X(f64 r[20], i32 i) -> vec3d { return vec3d(r[i], r[i + 1], r[i + 2]); }\n"
    "fn T(f64 r[20], i32 i) -> transformd { return transformd(P(r, i), normalize(quatd(r[i + 3] - 0.5, "
    "r[i + 4] - 0.5, r[i + 5] - 0.5, r[i + 6] - 0.5))); }\n";

// P(4) as P(r, 4)
std::string Spelled(std::string call) {
  for (size_t i = 0; i + 1 < call.size(); i++)
    if (call[i + 1] == '(' && strchr("PXT", call[i]) && (i == 0 || !isalnum(call[i - 1]))) call.insert(i + 2, "r, ");
  return call;
}

class Contacts : public Geometry {
protected:
  std::vector<double> Numbers(int n) {
    std::vector<double> v;
    for (int i = 0; i < 20 * n; i++) v.push_back(0.5 * (u_(gen_) + 1));
    return v;
  }
};

class OneContact : public Contacts, public testing::WithParamInterface<size_t> {};

TEST_P(OneContact, HasTheGreatestGapAndLiesOnBothSurfaces) {
  const Pair &pair = pairs[GetParam()];
  constexpr int n = 100;
  Program p(machine_,
            kNumbers + ("struct Numbers { f64 r[20]; }\n"
                        "kernel k(Numbers numbers[], f64 d[], vec3d at[], vec3d normal[]) {\n"
                        " let i = tid(); let r = numbers[i].r; var point = vec3d(0); var n = point; d[i] = " +
                        Spelled(pair.call).replace(Spelled(pair.call).rfind("at, n)"), 6, "point, n)") +
                        "; at[i] = point; normal[i] = n; }"),
            machine_.cpu);
  std::vector<double> r = Numbers(n), d(n), at(3 * n), normal(3 * n);
  p.Run(n, r, d, at, normal);
  int deep = 0;
  for (int i = 0; i < n; i++) {
    Body a, b;
    pair.make(&r[20 * i], &a, &b);
    V x = {at[3 * i], at[3 * i + 1], at[3 * i + 2]}, m = {normal[3 * i], normal[3 * i + 1], normal[3 * i + 2]};
    deep += d[i] < 0;
    ASSERT_NEAR(Length(m), 1, 1e-9) << i;
    ASSERT_NEAR(Gap(a, b, m), d[i], 1e-7) << i;
    if (!strstr(pair.name, "Plane")) { ASSERT_LE(Distance(a, b, m), d[i] + 2e-7) << i; }
    ASSERT_LT(Outside(b, x + m * (d[i] / 2)), 1e-7) << i;
    ASSERT_NEAR(Dot(x + m * (d[i] / 2), m), -b(m * -1), 1e-7) << i;
    if (strstr(pair.name, "Plane")) continue;
    ASSERT_LT(Outside(a, x - m * (d[i] / 2)), 1e-7) << i;
    ASSERT_NEAR(Dot(x - m * (d[i] / 2), m), a(m), 1e-7) << i;
  }
  EXPECT_GT(deep, n / 10);
  EXPECT_LT(deep, n);
}

INSTANTIATE_TEST_SUITE_P(All, OneContact, testing::Range(size_t(0), std::size(pairs)),
                         [](auto &info) { return pairs[info.param].name; });

// --- several points ---

struct Many {
  std::vector<int32_t> count;
  std::vector<double> points, distances, normals; // eight a pair
  V At(int i, int k) const { return {points[24 * i + 3 * k], points[24 * i + 3 * k + 1], points[24 * i + 3 * k + 2]}; }
  double D(int i, int k) const { return distances[8 * i + k]; }
  V N(int i) const { return {normals[3 * i], normals[3 * i + 1], normals[3 * i + 2]}; }
};

Many Find(Machine &machine, const char *call, int slots, std::vector<double> numbers) {
  std::string s = std::to_string(slots);
  Program p(machine,
            kNumbers + ("struct Numbers { f64 r[20]; }\n"
                        "kernel k(Numbers numbers[], i32 count[], vec3d at[], f64 d[], vec3d normal[]) {\n"
                        " let i = tid(); let r = numbers[i].r; vec3d points[" +
                        s + "]; f64 distances[" + s +
                        "]; var n = vec3d(0);\n"
                        " count[i] = " +
                        Spelled(call) +
                        ";\n"
                        " for (k in 0.." +
                        s + ") { at[8 * i + k] = points[k]; d[8 * i + k] = distances[k]; } normal[i] = n; }"),
            machine.cpu);
  const int n = static_cast<int>(numbers.size() / 20);
  Many m = {std::vector<int32_t>(n), std::vector<double>(24 * n), std::vector<double>(8 * n),
            std::vector<double>(3 * n)};
  p.Run(n, numbers, m.count, m.points, m.distances, m.normals);
  return m;
}

const char kBoxes[] = "contact_box_box(T(0), X(7), T(10), X(17), 0.0, points, distances, n)";
void Boxes(const double *r, Body *a, Body *b) {
  *a = Placed(PoseOf(r), Box({r[7], r[8], r[9]})), *b = Placed(PoseOf(r + 10), Box({r[17], r[18], r[19]}));
}

TEST_F(Contacts, OfBoxesHaveTheLeastOverlapAndLieInBoth) {
  constexpr int n = 200;
  std::vector<double> r = Numbers(n);
  for (int i = 0; i < n; i += 4) // nearly in line with each other
    for (int k = 0; k < 4; k++) r[20 * i + 13 + k] = r[20 * i + 3 + k] + (i % 8 ? 1e-5 * r[20 * i + k] : 0);
  Many m = Find(machine_, kBoxes, 8, r);
  int deepest = 0, touching = 0, many = 0;
  for (int i = 0; i < n; i++) {
    Body a, b;
    Boxes(&r[20 * i], &a, &b);
    if (m.count[i] == 0) {
      EXPECT_GT(Distance(a, b), -1e-3) << i;
      continue;
    }
    double want = Gap(a, b, m.N(i));
    ASSERT_LE(want, 1e-9) << i;
    ASSERT_LE(Distance(a, b, m.N(i)), want + 4e-5) << i;
    touching++;
    many += m.count[i] >= 4;
    double least = 0;
    for (int k = 0; k < m.count[i]; k++) {
      V x = m.At(i, k);
      least = std::min(least, m.D(i, k));
      ASSERT_LE(m.D(i, k), 0) << i;
      V half = m.N(i) * (m.D(i, k) / 2);
      ASSERT_LT(Outside(a, x - half), 1e-6) << i << " " << k;
      ASSERT_LT(Outside(b, x + half), 1e-6) << i << " " << k;
      for (int j = 0; j < k; j++) ASSERT_GT(Length(x - m.At(i, j)), 1e-12) << i << ": twice the same";
    }
    ASSERT_GT(least, want - 4e-5) << i;
    deepest += least < want + 4e-5;
  }
  EXPECT_GT(touching, n / 3);
  EXPECT_GT(many, touching / 4);
  EXPECT_GT(deepest, touching * 9 / 10);
}

// Boxes that stand on each other, turned about the vertical: as many points as the faces' common part has corners.
TEST_F(Contacts, OfStackedBoxesAreTheCornersOfWhatTheyShare) {
  struct {
    double turn, dx, size;
    int count;
  } const cases[] = {{0, 0, 1, 4}, {0, 0.5, 1, 4},  {0, 0, 0.3, 4},      {M_PI / 4, 0, 1, 8}, {0.1, 0, 1, 8},
                     {0, 2, 1, 4}, {0, 2.01, 1, 0}, {M_PI / 2, 0, 1, 4}, {0.3, 0, 0.2, 4}};
  for (auto &c : cases) {
    std::vector<double> r(20, 0.5);
    r[6] = 1; // A: at 0
    r[7] = r[8] = r[9] = 1;
    r[10] = 0.5 + c.dx / 2, r[11] = 0.5 + (0.99 + c.size) / 2; // B: 0.01 deep
    r[14] = 0.5 + std::sin(c.turn / 2), r[16] = 0.5 + std::cos(c.turn / 2);
    r[17] = r[18] = r[19] = c.size;
    Many m = Find(machine_, kBoxes, 8, r);
    EXPECT_EQ(m.count[0], c.count) << c.turn << " " << c.dx << " " << c.size;
    for (int k = 0; k < m.count[0]; k++) {
      if (c.dx != 2) {
        EXPECT_NEAR(m.D(0, k), -0.01, 1e-9);
        EXPECT_NEAR(m.At(0, k).y, 0.995, 1e-9);
        EXPECT_NEAR(m.N(0).y, 1, 1e-9);
      }
    }
  }
}

TEST_F(Contacts, OfCapsuleAndBoxHaveTheGreatestGapOrTheLeastOverlap) {
  constexpr int n = 200;
  std::vector<double> r = Numbers(n);
  for (int i = 0; i < n; i++) r[20 * i + 6] *= 0.4;
  Many m = Find(machine_, "contact_capsule_box(P(0), P(3), r[6], T(7), X(14), 10.0, points, distances, n)", 2, r);
  int deep = 0, through = 0;
  for (int i = 0; i < n; i++) {
    const double *q = &r[20 * i];
    Body a = Rounded(HullOf({PointOf(q), PointOf(q + 3)}), q[6]), b = Placed(PoseOf(q + 7), Box({q[14], q[15], q[16]}));
    ASSERT_GT(m.count[i], 0);
    double least = std::min(m.D(i, 0), m.count[i] > 1 ? m.D(i, 1) : INFINITY);
    deep += least < 0;
    through += least < -q[6];
    ASSERT_NEAR(Gap(a, b, m.N(i)), least, 1e-6) << i;
    ASSERT_LE(Distance(a, b, m.N(i)), least + 2e-4) << i;
    for (int k = 0; k < m.count[i]; k++) {
      if (m.D(i, k) <= 0 && m.D(i, k) > -q[6]) {
        ASSERT_LT(Outside(b, m.At(i, k) + m.N(i) * (m.D(i, k) / 2)), 1e-6) << i;
      }
      ASSERT_LT(Outside(a, m.At(i, k) - m.N(i) * (m.D(i, k) / 2)), 1e-6) << i;
    }
  }
  EXPECT_GT(deep, n / 4);
  EXPECT_GT(through, n / 20);
}

TEST_F(Contacts, OfPlanesAreTheLowestPoints) {
  struct {
    const char *call;
    int slots;
    std::function<Body(const double *)> make;
  } const cases[] = {
      {"contact_plane_capsule(P(0), normalize(P(3)), P(6), P(9), r[12], 10.0, points, distances, n)", 2,
       [](const double *r) { return Rounded(HullOf({PointOf(r + 6), PointOf(r + 9)}), r[12]); }},
      {"contact_plane_box(P(0), normalize(P(3)), T(6), X(13), 10.0, points, distances, n)", 8,
       [](const double *r) { return Placed(PoseOf(r + 6), Box({r[13], r[14], r[15]})); }},
      {"contact_plane_triangle(P(0), normalize(P(3)), P(6), P(9), P(12), 10.0, points, distances, n)", 3,
       [](const double *r) { return HullOf({PointOf(r + 6), PointOf(r + 9), PointOf(r + 12)}); }},
      {"contact_plane_cylinder(P(0), normalize(P(3)), T(6), r[13], r[14], 10.0, points, distances, n)", 4,
       [](const double *r) { return Placed(PoseOf(r + 6), Cylinder(r[13], r[14])); }},
      {"contact_plane_cone(P(0), normalize(P(3)), T(6), r[13], r[14], 10.0, points, distances, n)", 4,
       [](const double *r) { return Placed(PoseOf(r + 6), Cone(r[13], r[14])); }},
  };
  constexpr int n = 200;
  for (auto &c : cases) {
    std::vector<double> r = Numbers(n);
    Many m = Find(machine_, c.call, c.slots, r);
    for (int i = 0; i < n; i++) {
      const double *q = &r[20 * i];
      Body b = c.make(q);
      V p = PointOf(q), normal = Unit(PointOf(q + 3));
      ASSERT_EQ(m.count[i], c.slots);
      double least = INFINITY;
      for (int k = 0; k < c.slots; k++) {
        least = std::min(least, m.D(i, k));
        V x = m.At(i, k) + normal * (m.D(i, k) / 2);
        ASSERT_NEAR(Dot(x - p, normal), m.D(i, k), 1e-9) << c.call << i;
        ASSERT_LT(Outside(b, x), 1e-7) << c.call << i;
      }
      ASSERT_NEAR(least, -b(normal * -1) - Dot(p, normal), 1e-9) << c.call << i;
    }
  }
}

TEST_F(Contacts, OfParallelCapsulesAreTheEndsOfWhatTheyShare) {
  std::vector<double> r(20, 0.5);
  auto set = [&](int at, V p) { r[at] = p.x / 2 + 0.5, r[at + 1] = p.y / 2 + 0.5, r[at + 2] = p.z / 2 + 0.5; };
  const char *call = "contact_capsule_capsule(P(0), P(3), r[6], P(7), P(10), r[13], 0.0, points, distances, n)";
  set(0, {0, 0, 0}), set(3, {4, 0, 0});
  struct {
    V a, b;
    int count;
    double from, to;
  } const cases[] = {{{2, 0.9, 0}, {9, 0.9, 0}, 2, 2, 4},  {{9, 0.9, 0}, {-3, 0.9, 0}, 2, 0, 4},
                     {{1, 0.9, 0}, {1, 0.9, 0}, 1, 1, 1},  {{4.5, 0.2, 0}, {9, 0.2, 0}, 1, 4.25, 4.25},
                     {{1, 0.9, -1}, {1, 0.9, 1}, 1, 1, 1}, {{1, 1.1, 0}, {3, 1.1, 0}, 0, 0, 0}};
  for (auto &c : cases) {
    set(7, c.a), set(10, c.b);
    Many m = Find(machine_, call, 2, r);
    ASSERT_EQ(m.count[0], c.count) << c.a.x;
    if (c.count == 0) continue;
    EXPECT_NEAR(m.At(0, 0).x, c.from, 1e-9);
    EXPECT_NEAR(m.At(0, c.count - 1).x, c.to, 1e-9);
  }
}

double FromTriangle(V p, V a, V b, V c) {
  V n = Unit(Cross(b - a, c - a));
  bool over = Dot(Cross(b - a, p - a), n) > 0 && Dot(Cross(c - b, p - b), n) > 0 && Dot(Cross(a - c, p - c), n) > 0;
  if (over) return std::fabs(Dot(p - a, n));
  return std::min({SdCapsule(p, a, b, 0), SdCapsule(p, b, c, 0), SdCapsule(p, c, a, 0)});
}

TEST_F(Contacts, SweptSpheresStopWhereTheyTouch) {
  constexpr int n = 200;
  Program p(machine_,
            kNumbers +
                std::string(
                    "struct Numbers { f64 r[20]; }\n"
                    "kernel k(Numbers numbers[], f64 t[]) { let i = tid(); let r = numbers[i].r; let o = 2 * P(r, 0);\n"
                    " let d = (P(r, 7) + P(r, 10) + P(r, 13)) / 3 + P(r, 4) / 2 - o;\n"
                    " t[i] = sweep_sphere_triangle(o, 0.3 * r[3], d, P(r, 7), P(r, 10), P(r, 13)); }"),
            machine_.cpu);
  std::vector<double> r = Numbers(n), t(n);
  p.Run(n, r, t);
  int hits = 0;
  for (int i = 0; i < n; i++) {
    const double *q = &r[20 * i];
    V o = PointOf(q) * 2,
      d = (PointOf(q + 7) + PointOf(q + 10) + PointOf(q + 13)) * (1.0 / 3) + PointOf(q + 4) * 0.5 - o;
    auto apart = [&](double s) {
      return FromTriangle(o + d * s, PointOf(q + 7), PointOf(q + 10), PointOf(q + 13)) - 0.3 * q[3];
    };
    if (t[i] > 0) {
      hits++;
      ASSERT_NEAR(apart(t[i]), 0, 1e-6) << i;
      for (int k = 1; k < 8; k++) ASSERT_GT(apart(t[i] * k / 8), -1e-9) << i;
    } else if (t[i] < 0) {
      for (int k = 0; k <= 8; k++) ASSERT_GT(apart(k / 4.0), 0) << i;
    } else {
      ASSERT_LE(apart(0), 1e-9) << i;
    }
  }
  EXPECT_GT(hits, n / 10);
}

// All of them on odd numbers: no size, the same place, NaN, far away. The same bits everywhere, and unit normals where numbers are
// tame.
TEST_F(Contacts, OfOddShapesAreTheSameEverywhere) {
  const char *const calls[] = {
      "contact_sphere_sphere(p, s.x, q, s.y, at, n)",
      "contact_sphere_capsule(p, s.x, q, s, s.y, at, n)",
      "contact_sphere_box(p, s.x, t, s, at, n)",
      "contact_sphere_cylinder(p, s.x, t, s.y, s.z, at, n)",
      "contact_sphere_cone(p, s.x, t, s.y, s.z, at, n)",
      "contact_sphere_ellipsoid(p, s.x, t, s, at, n)",
      "contact_sphere_triangle(p, s.x, q, s, p, at, n)",
      "contact_capsule_capsule(p, q, s.x, q, s, s.y, at, n)",
      "f32(contact_capsule_capsule(p, q, s.x, q, s, s.y, s.z, a2, d2, n)) + d2[0] + d2[1] + a2[0].x",
      "f32(contact_plane_cylinder(p, vec3(0, 1, 0), t, s.x, s.y, s.z, a4, d4, n)) + d4[0] + d4[3] + a4[2].x",
      "f32(contact_plane_cone(p, vec3(0, 1, 0), t, s.x, s.y, s.z, a4, d4, n)) + d4[0] + d4[3] + a4[2].x",
      "f32(contact_capsule_box(p, q, s.x, t, s, s.y, a2, d2, n)) + d2[0] + d2[1] + a2[0].x",
      "f32(contact_box_box(u, s, t, s.zxy, s.x, a8, d8, n)) + d8[0] + d8[3] + d8[7] + a8[0].x + a8[1].y + a8[7].z",
      "sweep_sphere_triangle(p, s.x, q, s, q, p - q)"};
  std::vector<float> p, q, s;
  auto add = [&](V a, V b, V c) {
    p.insert(p.end(), {float(a.x), float(a.y), float(a.z)});
    q.insert(q.end(), {float(b.x), float(b.y), float(b.z)});
    s.insert(s.end(), {float(c.x), float(c.y), float(c.z)});
  };
  int tame = 0;
  for (double size : {1.0, 1e-8, 1e8})
    for (int i = 0; i < 16; i++, tame++) {
      V a = Point(size), b = Point(size), c = Point(size);
      c = {std::fabs(c.x), std::fabs(c.y), std::fabs(c.z)};
      if (i % 8 == 1) a = b;
      if (i % 8 == 2) c = {0, 0, 0};
      if (i % 8 == 3) c.x = 0;
      if (i % 8 == 4) a = b = c;
      if (i % 8 == 5) a = {b.x, b.y + c.y, b.z};
      add(a, b, c);
    }
  for (double odd : {std::nan(""), HUGE_VAL, 1e38, -1e38, 1e-45}) {
    add({odd, 1, 2}, {1, 1, 1}, {1, 1, 1});
    add({1, 2, 3}, {1, odd, 1}, {1, 1, 1});
    add({1, 2, 3}, {1, 1, 1}, {1, 1, odd});
    add({odd, odd, odd}, {odd, odd, odd}, {odd, odd, odd});
  }
  const int n = static_cast<int>(p.size() / 3);
  for (const char *call : calls) {
    std::vector<float> d(n), normal(3 * n);
    Everywhere::It().Run(
        std::string(
            "kernel k(vec3 ps[], vec3 qs[], vec3 ss[], f32 d[], vec3 normal[]) { let i = tid(); var n = vec3(0); "
            "var at = n; let p = ps[i]; let q = qs[i]; let s = ss[i];\n"
            "let t = transform(q, quat(0.5, 0.5, -0.5, 0.5)); let u = transform(p, quat(0, 0.6, 0, 0.8));\n"
            "vec3 a2[2]; f32 d2[2]; vec3 a4[4]; f32 d4[4]; vec3 a8[8]; f32 d8[8];\n"
            "d[i] = ") +
            call +
            " + at.x * 0 + a2[0].x * 0 + d2[0] * 0 + a4[0].x * 0 + d4[0] * 0 + a8[0].x * 0 + d8[0] * 0 + u.p.x * 0 + "
            "t.p.x * 0;"
            " normal[i] = n; }",
        n, p, q, s, d, normal);
    for (int i = 0; i < tame; i++) {
      ASSERT_TRUE(std::isfinite(d[i])) << call << " " << i;
      double l = Length(At(normal, i));
      ASSERT_TRUE(std::fabs(l - 1) < 1e-5 || (l == 0 && !strstr(call, "at, n"))) << call << " " << i << " " << l;
    }
  }
}

} // namespace
