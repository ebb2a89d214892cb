// tests/lib/library_linalg_test.cc -- linear algebra against plain loops in double, and by what must hold.
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

// Every sequence of axes, also where two of them coincide: the angles make the quaternion again and lie in their ranges.
TEST_F(Linalg, EulerAnglesComeBackInEveryOrderOfAxes) {
  auto q = UnitQuats(kRows);
  const double r = std::sqrt(0.5);
  for (auto v : std::vector<std::vector<double>>{{0, 0, 0, 1},
                                                 {1, 0, 0, 0},
                                                 {0, 1, 0, 0},
                                                 {0, 0, 1, 0},
                                                 {r, 0, 0, r},
                                                 {0, r, 0, r},
                                                 {0, 0, r, r},
                                                 {0, -r, 0, r},
                                                 {.5, .5, .5, .5},
                                                 {.5, -.5, .5, .5},
                                                 {-.5, .5, .5, -.5},
                                                 {r, r, 0, 0},
                                                 {0, r, -r, 0}})
    q.insert(q.end(), v.begin(), v.end());
  int64_t n = static_cast<int64_t>(q.size()) / 4;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 3; k++) {
        if (i == j || j == k) continue;
        SCOPED_TRACE(100 * i + 10 * j + k);
        std::vector<double> e(q.size() / 4 * 3), back(q.size());
        std::vector<int32_t> axes = {i, j, k};
        Everywhere::It().Run(
            "kernel k(quat<f64> q[], vec3i a[], vec<f64, 3> e[], quat<f64> b[]) { let i = tid(); let s = a[0]; "
            "e[i] = quat_to_euler(q[i], s.x, s.y, s.z); b[i] = quat_from_euler(e[i], s.x, s.y, s.z); }",
            n, q, axes, e, back);
        for (size_t a = 0; a < q.size() / 4; a++) {
          double same = 0;
          for (size_t c = 0; c < 4; c++) same += q[4 * a + c] * back[4 * a + c];
          EXPECT_NEAR(std::fabs(same), 1, 1e-13) << a;
          EXPECT_LE(std::fabs(e[3 * a]), 3.1415926535897936);
          EXPECT_LE(std::fabs(e[3 * a + 2]), 3.1415926535897936);
          EXPECT_GE(e[3 * a + 1], i == k ? 0 : -1.5707963267948968);
          EXPECT_LE(e[3 * a + 1], i == k ? 3.1415926535897936 : 1.5707963267948968);
        }
      }
}

TEST_F(Linalg, RollPitchYawTurnAboutAxesAtRest) {
  std::vector<double> e = {0.3, 0, 0, 0, 0.4, 0, 0, 0, 0.5, 0.3, 0.4, 0.5, -1, 1.5707963267948966, 2}, v(15), back(15);
  Everywhere::It().Run(
      "kernel k(vec<f64, 3> e[], vec<f64, 3> v[], vec<f64, 3> b[]) { let i = tid(); let q = quat_from_rpy(e[i].x, "
      "e[i].y, e[i].z); v[i] = rotate(q, vec<f64, 3>(1, 2, 3)); b[i] = quat_to_rpy(q); }",
      5, e, v, back);
  for (size_t i = 0; i < 5; i++) {
    double x = 1, y = 2, z = 3, t, c, s;
    c = std::cos(e[3 * i]), s = std::sin(e[3 * i]), t = y, y = c * y - s * z, z = s * t + c * z;
    c = std::cos(e[3 * i + 1]), s = std::sin(e[3 * i + 1]), t = x, x = c * x + s * z, z = -s * t + c * z;
    c = std::cos(e[3 * i + 2]), s = std::sin(e[3 * i + 2]), t = x, x = c * x - s * y, y = s * t + c * y;
    EXPECT_NEAR(v[3 * i], x, 1e-14);
    EXPECT_NEAR(v[3 * i + 1], y, 1e-14);
    EXPECT_NEAR(v[3 * i + 2], z, 1e-14);
    for (size_t k = 0; k < 3 && i < 4; k++) EXPECT_NEAR(back[3 * i + k], e[3 * i + k], 1e-14);
  }
  EXPECT_EQ(back[12], 0) << "at the pole roll is 0";
  EXPECT_NEAR(std::remainder(back[14] - 3, 2 * M_PI), 0, 1e-7) << "and yaw has both";
}

TEST_F(Linalg, TwistSwingAndRotationVectorsTakeRotationsApart) {
  auto q = UnitQuats(kRows), n = Numbers(3 * kRows);
  std::vector<double> off(3 * kRows), angle(2 * kRows);
  Everywhere::It().Run(
      "kernel k(quat<f64> q[], vec<f64, 3> n[], vec<f64, 3> off[], vec<f64, 2> angle[]) { let i = tid(); let a = "
      "normalize(n[i]); "
      "let t = quat_twist(a, q[i]); let s = quat_swing(a, q[i]); let m = s * t; let w = quat_twist_angle(a, q[i]);"
      " let c = quat_from_axis_angle(a, w); let r = quat_to_rotation_vector(q[i]); let b = "
      "quat_from_rotation_vector(r);"
      " off[i] = vec<f64, 3>(length(m - q[i]), dot(vec<f64, 3>(s.x, s.y, s.z), a), 1 - abs(dot(c, t)));"
      " angle[i] = vec<f64, 2>(length(r), 1 - abs(dot(b, q[i]))); }",
      kRows, q, n, off, angle);
  for (double d : off) EXPECT_NEAR(d, 0, 1e-13);
  for (int i = 0; i < kRows; i++) {
    EXPECT_NEAR(angle[2 * i], 2 * std::acos(std::fabs(q[4 * i + 3])), 1e-7);
    EXPECT_NEAR(angle[2 * i + 1], 0, 1e-14);
  }
}

TEST_F(Linalg, TransformsAreMadeOfMatricesAndTakenApart) {
  auto q = UnitQuats(kRows), p = Numbers(3 * kRows), s = Numbers(3 * kRows);
  for (double &x : s) x = 0.5 + std::fabs(x);
  for (int i = 0; i < 3 * kRows; i += 9) s[i] = -s[i];
  std::vector<double> back(9 * kRows), half(kRows);
  Everywhere::It().Run(
      "kernel k(quat<f64> q[], vec<f64, 3> p[], vec<f64, 3> s[], vec<f64, 9> back[], f64 half[]) { let i = tid(); let "
      "m = "
      "transform_compose(p[i], q[i], s[i]); var a = p[i]; var b = q[i]; var c = s[i]; transform_decompose(m, a, b, c);"
      " let t = transform_from_matrix(transform_to_matrix(transform<f64>(p[i], q[i])));"
      " back[i] = vec<f64, 9>(a - p[i], 1 - abs(dot(b, q[i])), c - s[i], length(t.p - p[i]), 1 - abs(dot(t.q, q[i])));"
      " let u = transform_point(m, vec<f64, 3>(1, 2, 3)) - (rotate(q[i], s[i] * vec<f64, 3>(1, 2, 3)) + p[i]);"
      " let one = identity<transform<f64>>(); let h = slerp(one, transform<f64>(p[i], q[i]), 0.5);"
      " half[i] = length(u) + length(h.p * 2 - p[i]) + 1 - abs(dot(h.q * h.q, q[i])); }",
      kRows, q, p, s, back, half);
  for (double d : back) EXPECT_NEAR(d, 0, 1e-13);
  for (double d : half) EXPECT_NEAR(d, 0, 1e-12);
}

TEST_F(Linalg, SpatialMatricesDoWhatTheFunctionsDo) {
  auto q = UnitQuats(kRows), p = Numbers(3 * kRows), a = Numbers(6 * kRows), b = Numbers(6 * kRows);
  std::vector<double> off(5 * kRows);
  Everywhere::It().Run(
      "kernel k(quat<f64> q[], vec<f64, 3> p[], spatial<f64> a[], spatial<f64> b[], vec<f64, 5> off[]) { let i = "
      "tid(); let t = "
      "transform<f64>(p[i], q[i]); let m = transform_motion(t, a[i]); let f = transform_force(t, b[i]);"
      " let x = spatial_adjoint(t) * a[i] - m; let y = transform_motion_inv(t, m) - a[i]; let z = "
      "transform_force_inv(t, f) - b[i];"
      " let inertia = mat<f64, 3, 3>(3, 1, 0, 1, 4, 2, 0, 2, 5);"
      " let w = spatial_inertia(2f64, p[i], inertia) * a[i] - spatial_momentum(2f64, p[i], inertia, a[i]);"
      " off[i] = vec<f64, 5>(sqrt(spatial_dot(x, x)), sqrt(spatial_dot(y, y)), sqrt(spatial_dot(z, z)), "
      "sqrt(spatial_dot(w, w)), "
      "spatial_dot(m, f) - spatial_dot(a[i], b[i])); }",
      kRows, q, p, a, b, off);
  for (double d : off) EXPECT_NEAR(d, 0, 1e-12);
}

TEST_F(Linalg, NormsAnglesAndMatricesOfColumns) {
  std::vector<double> v = {3, -4, 0}, out(12);
  Everywhere::It().Run("kernel k(vec<f64, 3> v[], f64 o[]) { let a = v[0]; o[0] = norm_l1(a); o[1] = norm_inf(a); o[2] "
                       "= norm_huber(a, 10f64); o[3] = "
                       "norm_huber(a, 2f64); o[4] = norm_pseudo_huber(a, 2f64); o[5] = length(smooth_normalize(a, "
                       "12f64)); o[6] = triple(a, vec<f64, "
                       "3>(0, 1, 0), vec<f64, 3>(0, 0, 2)); o[7] = angle_between(a, vec<f64, 3>(-4, -3, 0)); o[8] = "
                       "angle_between(a.xy, perp(a.xy)); "
                       "o[9] = face_forward(a, vec<f64, 3>(1, 0, 0)).x; let m = mat_from_columns(a, 2 * a, a); o[10] = "
                       "m[0][1] + 10 * m[1][2]; o[11] = "
                       "norm_frobenius(m); }",
                       1, v, out);
  const double want[] = {7,  4,   12.5,          8, 4 * (std::sqrt(7.25) - 1), 5 / 13.0, 6, M_PI / 2, M_PI / 2,
                         -3, -34, std::sqrt(150)};
  for (int k = 0; k < 12; k++) EXPECT_NEAR(out[k], want[k], 1e-14) << k;
}

TEST_F(Linalg, MatricesSayWhereTheyAreNotFinite) {
  std::vector<float> m = {1, 2, INFINITY, NAN};
  std::vector<int32_t> out(6);
  Everywhere::It().Run("kernel k(mat22 m[], i32 o[]) { let a = m[0]; o[0] = isnan(a)[1][1] ? 1 : 0; o[1] = "
                       "isinf(a)[1][0] ? 1 : 0; o[2] = "
                       "isfinite(a)[0][1] ? 1 : 0; o[3] = any(isnan(a)) ? 1 : 0; o[4] = all(isfinite(a)) ? 1 : 0; o[5] "
                       "= any(isinf(a * 0)) ? 1 : 0; }",
                       1, m, out);
  EXPECT_EQ(out, (std::vector<int32_t>{1, 1, 1, 1, 0, 0}));
}

} // namespace
