// tests/lib/library_linalg_test.cc -- linear algebra against plain loops in double, and by what must hold; random numbers
// against their published answers and their moments.
#include <cmath>
#include <random>

#include "library_testing.h"

namespace {

class Linalg : public testing::Test {
protected:
  // Numbers in [-2, 2].
  std::vector<double> Numbers(size_t n) {
    std::vector<double> v(n);
    for (double &x : v) x = u_(gen_);
    return v;
  }
  std::vector<double> UnitQuats(int n) {
    std::vector<double> q = Numbers(4 * static_cast<size_t>(n));
    for (int i = 0; i < n; i++) {
      double *p = &q[4 * static_cast<size_t>(i)], l = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
      for (int k = 0; k < 4; k++) p[k] /= l;
    }
    return q;
  }
  std::mt19937 gen_{5};
  std::uniform_real_distribution<double> u_{-2, 2};
  Machine machine_;
};

constexpr int kRows = 200;

TEST_F(Linalg, ProductsAreSumsOfProducts) {
  Program p(machine_,
            "kernel k(mat<f64, 2, 3> a[], mat<f64, 3, 4> b[], mat<f64, 2, 4> c[], vec<f64, 3> x[], vec<f64, 2> y[], "
            "vec<f64, 3> z[]) {"
            " let i = tid(); c[i] = a[i] * b[i]; y[i] = a[i] * x[i]; z[i] = vec<f64, 2>(1, 2) * a[i]; }",
            machine_.cpu);
  auto a = Numbers(6 * kRows), b = Numbers(12 * kRows), x = Numbers(3 * kRows);
  std::vector<double> c(8 * kRows), y(2 * kRows), z(3 * kRows);
  p.Run(kRows, a, b, c, x, y, z);
  for (int n = 0; n < kRows; n++)
    for (int i = 0; i < 2; i++) {
      double s = 0;
      for (int k = 0; k < 3; k++) s += a[6 * n + 3 * i + k] * x[3 * n + k];
      EXPECT_NEAR(y[2 * n + i], s, 1e-14);
      for (int j = 0; j < 4; j++) {
        s = 0;
        for (int k = 0; k < 3; k++) s += a[6 * n + 3 * i + k] * b[12 * n + 4 * k + j];
        EXPECT_NEAR(c[8 * n + 4 * i + j], s, 1e-14);
      }
      for (int k = 0; k < 3; k++) EXPECT_NEAR(z[3 * n + k], a[6 * n + k] + 2 * a[6 * n + 3 + k], 1e-14);
    }
}

// By expansion along the first row.
double Determinant(const double *m, int n, int stride) {
  if (n == 1) return m[0];
  double sum = 0, minor[9];
  for (int c = 0; c < n; c++) {
    int at = 0;
    for (int i = 1; i < n; i++)
      for (int j = 0; j < n; j++)
        if (j != c) minor[at++] = m[i * stride + j];
    sum += (c % 2 ? -1 : 1) * m[c] * Determinant(minor, n - 1, n - 1);
  }
  return sum;
}

TEST_F(Linalg, InversesUndoAndDeterminantsExpand) {
  for (int n = 2; n <= 4; n++) {
    std::string s = std::to_string(n), type = "mat<f64, " + s + ", " + s + ">";
    Program p(machine_,
              "kernel k(" + type + " a[], " + type +
                  " b[], f64 d[]) { let i = tid(); b[i] = inverse(a[i]) * a[i]; d[i] = determinant(a[i]); }",
              machine_.cpu);
    auto a = Numbers(static_cast<size_t>(n * n * kRows));
    std::vector<double> b(a.size()), d(kRows);
    p.Run(kRows, a, b, d);
    for (int k = 0; k < kRows; k++) {
      double det = Determinant(&a[static_cast<size_t>(k * n * n)], n, n);
      EXPECT_NEAR(d[k], det, 1e-13 * std::pow(8.0, n));
      if (std::fabs(det) < 0.1) continue;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) EXPECT_NEAR(b[k * n * n + i * n + j], i == j, 1e-9) << n;
    }
  }
}

TEST_F(Linalg, QuaternionsRotateAsTheirMatrices) {
  Program p(
      machine_,
      "kernel k(quat<f64> q[], quat<f64> r[], vec<f64, 3> v[], vec<f64, 3> a[], vec<f64, 3> b[], vec<f64, 3> c[], f64 "
      "same[], vec<f64, 3> e[]) {"
      " let i = tid(); a[i] = rotate(q[i] * r[i], v[i]); b[i] = quat_to_matrix(q[i]) * (quat_to_matrix(r[i]) * v[i]);"
      " c[i] = rotate_inv(q[i], rotate(q[i], v[i])); same[i] = abs(dot(quat_from_matrix(quat_to_matrix(q[i])), q[i])); "
      "e[i] = rotate(r[i], v[i]); }",
      machine_.cpu);
  auto q = UnitQuats(kRows), r = UnitQuats(kRows), v = Numbers(3 * kRows);
  std::vector<double> a(3 * kRows), b(3 * kRows), c(3 * kRows), same(kRows), e(3 * kRows);
  p.Run(kRows, q, r, v, a, b, c, same, e);
  for (int i = 0; i < 3 * kRows; i++) {
    EXPECT_NEAR(a[i], b[i], 1e-13);
    EXPECT_NEAR(c[i], v[i], 1e-13);
  }
  for (int i = 0; i < kRows; i++) {
    EXPECT_NEAR(same[i], 1, 1e-13);
    // Rodrigues' formula from the axis and the angle of r, which shares nothing with a product of quaternions.
    double angle = 2 * std::acos(r[4 * i + 3]), s = std::sin(angle / 2), axis[3], w[3];
    for (int k = 0; k < 3; k++) axis[k] = r[4 * i + k] / s, w[k] = v[3 * i + k];
    double d = axis[0] * w[0] + axis[1] * w[1] + axis[2] * w[2], out[3];
    for (int k = 0; k < 3; k++) {
      int x = (k + 1) % 3, y = (k + 2) % 3;
      out[k] = w[k] * std::cos(angle) + (axis[x] * w[y] - axis[y] * w[x]) * std::sin(angle) +
               axis[k] * d * (1 - std::cos(angle));
    }
    for (int k = 0; k < 3; k++) EXPECT_NEAR(e[3 * i + k], out[k], 1e-11) << i;
  }
}

TEST_F(Linalg, AxesAndAnglesComeBack) {
  Program p(machine_,
            "kernel k(vec<f64, 3> n[], f64 angle[], vec<f64, 3> m[], f64 back[], vec<f64, 3> turned[]) { let i = tid();"
            " let q = quat_from_axis_angle(normalize(n[i]), angle[i]); var x = n[i]; var t = 0.0f64; "
            "quat_to_axis_angle(q, x, t);"
            " m[i] = x; back[i] = t; turned[i] = rotate(quat_between(normalize(n[i]), vec<f64, 3>(0, 0, 1)), "
            "normalize(n[i])); }",
            machine_.cpu);
  auto n = Numbers(3 * kRows), angle = Numbers(kRows);
  for (double &x : angle) x = 0.05 + std::fabs(x);
  std::vector<double> m(3 * kRows), back(kRows), turned(3 * kRows);
  p.Run(kRows, n, angle, m, back, turned);
  for (int i = 0; i < kRows; i++) {
    EXPECT_NEAR(back[i], angle[i], 1e-12);
    double l = std::sqrt(n[3 * i] * n[3 * i] + n[3 * i + 1] * n[3 * i + 1] + n[3 * i + 2] * n[3 * i + 2]);
    for (int k = 0; k < 3; k++) EXPECT_NEAR(m[3 * i + k], n[3 * i + k] / l, 1e-12);
    EXPECT_NEAR(turned[3 * i], 0, 1e-12);
    EXPECT_NEAR(turned[3 * i + 1], 0, 1e-12);
    EXPECT_NEAR(turned[3 * i + 2], 1, 1e-12);
  }
}

TEST_F(Linalg, TransformsComposeAndInvert) {
  Program p(machine_,
            "kernel k(quat<f64> q[], vec<f64, 3> t[], vec<f64, 3> x[], vec<f64, 3> a[], vec<f64, 3> b[], vec<f64, 3> "
            "c[], vec<f64, 3> d[]) {"
            " let i = tid(); let f = transform<f64>(t[i], q[i]); let g = transform<f64>(x[i], conjugate(q[i]));"
            " a[i] = transform_point(f * g, x[i]); b[i] = transform_point(f, transform_point(g, x[i]));"
            " c[i] = transform_point(inverse(f), transform_point(f, x[i])); d[i] = "
            "transform_point(transform_to_matrix(f), x[i]) - transform_point(f, x[i]); }",
            machine_.cpu);
  auto q = UnitQuats(kRows), t = Numbers(3 * kRows), x = Numbers(3 * kRows);
  std::vector<double> a(3 * kRows), b(3 * kRows), c(3 * kRows), d(3 * kRows);
  p.Run(kRows, q, t, x, a, b, c, d);
  for (int i = 0; i < 3 * kRows; i++) {
    EXPECT_NEAR(a[i], b[i], 1e-12);
    EXPECT_NEAR(c[i], x[i], 1e-12);
    EXPECT_NEAR(d[i], 0, 1e-12);
  }
}

TEST_F(Linalg, HalvesAreNumbersToo) {
  for (const char *t : {"f16", "bf16"}) {
    std::string h = t, m = "mat<" + h + ", 3, 3>", v = "vec<" + h + ", 3>";
    Program p(machine_,
              "kernel k(mat33 a[], vec3 x[], vec3 s[], f32 d[], vec3 e[], mat33 i[]) { let n = tid(); let a16 = " + m +
                  "(a[n]); let x16 = " + v +
                  "(x[n]); d[n] = f32(dot(x16, x16)) + f32(length(x16)); i[n] = mat33(inverse(a16) * a16);"
                  " var u = a16; var w = a16; var q = x16; svd(a16, u, q, w); s[n] = vec3(q); e[n] = vec3(fma(x16, "
                  "x16, x16)); }",
              machine_.cpu);
    std::vector<float> a = {2, 1, 0, 0, 3, 1, 1, 0, 1}, x = {1, 2, 2}, s(3), d(1), e(3), i(9);
    p.Run(1, a, x, s, d, e, i);
    float eps = h == "f16" ? 0x1p-10f : 0x1p-7f;
    EXPECT_EQ(d[0], 12);
    EXPECT_EQ(e, (std::vector<float>{2, 6, 6}));
    for (int k = 0; k < 9; k++) EXPECT_NEAR(i[k], k % 4 == 0, 8 * eps);
    EXPECT_NEAR(s[0] * s[1] * s[2], 7, 40 * eps) << "the determinant";
  }
}

// The answers of Random123's own tests for Philox 4x32 with 10 rounds.
TEST_F(Linalg, PhiloxGivesThePublishedAnswers) {
  Program p(machine_,
            "kernel k(vec<u32, 4> c[], vec<u32, 2> k[], vec<u32, 4> r[]) { let i = tid(); r[i] = philox(c[i], k[i]); }",
            machine_.cpu);
  std::vector<uint32_t> c = {0, 0, 0, 0, ~0u, ~0u, ~0u, ~0u, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  std::vector<uint32_t> k = {0, 0, ~0u, ~0u, 0xa4093822, 0x299f31d0}, r(12);
  p.Run(3, c, k, r);
  EXPECT_EQ(r, (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x408f276d, 0x41c83b0e,
                                      0xa20bc7c6, 0x6d5451fd, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST_F(Linalg, RandomNumbersHaveTheirMoments) {
  constexpr int n = 1 << 18;
  Program p(machine_,
            "kernel k(f32 u[], f32 g[], vec3 s[], i32 bin[]) { let i = tid(); var r = rand_init(7, i); u[i] = "
            "randf(r); g[i] = randn(r);"
            " s[i] = rand_on_sphere(r); atomic_add(bin[randi(r, 0, 64)], 1); }",
            machine_.cpu);
  std::vector<float> u(n), g(n), s(3 * n);
  std::vector<int32_t> bin(64);
  p.Run(n, u, g, s, bin);
  double mean = 0, square = 0, gm = 0, gv = 0, g4 = 0, z = 0, zz = 0, chi = 0;
  for (int i = 0; i < n; i++) {
    ASSERT_TRUE(u[i] >= 0 && u[i] < 1);
    mean += u[i], square += double(u[i]) * u[i];
    gm += g[i], gv += double(g[i]) * g[i], g4 += std::pow(double(g[i]), 4);
    ASSERT_NEAR(s[3 * i] * s[3 * i] + s[3 * i + 1] * s[3 * i + 1] + s[3 * i + 2] * s[3 * i + 2], 1, 1e-5);
    z += s[3 * i + 2], zz += double(s[3 * i + 2]) * s[3 * i + 2];
  }
  for (int b : bin) chi += (b - n / 64.0) * (b - n / 64.0) / (n / 64.0);
  EXPECT_NEAR(mean / n, 0.5, 4 * 0.2887 / 512);
  EXPECT_NEAR(square / n, 1.0 / 3, 4 * 0.298 / 512);
  EXPECT_NEAR(gm / n, 0, 4.0 / 512);
  EXPECT_NEAR(gv / n, 1, 4 * 1.4142 / 512);
  EXPECT_NEAR(g4 / n, 3, 4 * 9.8 / 512);
  EXPECT_NEAR(z / n, 0, 4 * 0.577 / 512);
  EXPECT_NEAR(zz / n, 1.0 / 3, 4 * 0.298 / 512);
  EXPECT_LT(chi, 63 + 5 * std::sqrt(2 * 63.0));
}

TEST_F(Linalg, NoiseIsZeroAtTheLatticeAndSmoothBetween) {
  constexpr int n = 4096;
  Program p(machine_,
            "kernel k(vec3 x[], f32 at[], f32 v[], f32 near[]) { let i = tid(); at[i] = noise(3u, floor(x[i])); v[i] = "
            "noise(3u, x[i]);"
            " near[i] = noise(3u, x[i] + vec3(1e-3, 0, 0)); }",
            machine_.cpu);
  std::vector<float> x, at(n), v(n), near(n);
  for (int i = 0; i < 3 * n; i++) x.push_back(static_cast<float>(10 * u_(gen_)));
  p.Run(n, x, at, v, near);
  double square = 0;
  for (int i = 0; i < n; i++) {
    EXPECT_EQ(at[i], 0);
    EXPECT_LE(std::fabs(v[i]), 1.0f);
    EXPECT_LT(std::fabs(v[i] - near[i]), 5e-3);
    square += v[i] * v[i];
  }
  EXPECT_GT(square / n, 0.02) << "it is not flat";
}

} // namespace
