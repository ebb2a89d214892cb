// tests/lib/library_decompose_test.cc -- factorisations: by reconstruction and orthogonality, against NumPy (tests/lib/numpy),
// and degenerate input. Everything runs on the interpreter and in machine code of several widths, with the same bits.
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "library_testing.h"
#include "tools/npy/npy.h"

namespace {

template <typename T> constexpr double kEps = std::numeric_limits<T>::epsilon();

template <typename T> std::string Mat(int r, int c) {
  return std::string("mat<") + HdScalarOf<T>::name + ", " + std::to_string(r) + ", " + std::to_string(c) + ">";
}
template <typename T> std::string Vec(int n) {
  return std::string("vec<") + HdScalarOf<T>::name + ", " + std::to_string(n) + ">";
}

// A matrix in double, to judge results with.
struct M {
  int r, c;
  std::vector<double> a;
  M(int rows, int cols) : r(rows), c(cols), a(static_cast<size_t>(rows * cols)) {}
  template <typename T>
  M(int rows, int cols, const std::vector<T> &from, int at)
      : r(rows), c(cols), a(from.begin() + at * rows * cols, from.begin() + (at + 1) * rows * cols) {}
  double &operator()(int i, int j) { return a[static_cast<size_t>(i * c + j)]; }
  double operator()(int i, int j) const { return a[static_cast<size_t>(i * c + j)]; }
};
M operator*(const M &x, const M &y) {
  M z(x.r, y.c);
  for (int i = 0; i < x.r; i++)
    for (int j = 0; j < y.c; j++)
      for (int k = 0; k < x.c; k++) z(i, j) += x(i, k) * y(k, j);
  return z;
}
M Transpose(const M &x) {
  M t(x.c, x.r);
  for (int i = 0; i < x.r; i++)
    for (int j = 0; j < x.c; j++) t(j, i) = x(i, j);
  return t;
}
M Diag(const std::vector<double> &d) {
  M m(static_cast<int>(d.size()), static_cast<int>(d.size()));
  for (int i = 0; i < m.r; i++) m(i, i) = d[static_cast<size_t>(i)];
  return m;
}
M Identity(int n) { return Diag(std::vector<double>(static_cast<size_t>(n), 1)); }
double Largest(const M &x) {
  double l = 0;
  for (double v : x.a) l = v != v ? INFINITY : std::max(l, std::fabs(v));
  return l;
}
double Distance(const M &x, const M &y) {
  M d = x;
  for (size_t i = 0; i < d.a.size(); i++) d.a[i] -= y.a[i];
  return Largest(d);
}
double OffOrthogonal(const M &q) { return Distance(Transpose(q) * q, Identity(q.c)); }
double Determinant(M m) { // by elimination with pivots
  double d = 1;
  for (int k = 0; k < m.r; k++) {
    int at = k;
    for (int i = k; i < m.r; i++)
      if (std::fabs(m(i, k)) > std::fabs(m(at, k))) at = i;
    if (m(at, k) == 0) return 0;
    if (at != k) d = -d;
    for (int j = 0; j < m.r; j++) std::swap(m(k, j), m(at, j));
    d *= m(k, k);
    for (int i = k + 1; i < m.r; i++) {
      double f = m(i, k) / m(k, k);
      for (int j = k; j < m.r; j++) m(i, j) -= f * m(k, j);
    }
  }
  return d;
}

std::vector<double> Stored(const std::string &name) {
  NpyReader r;
  char why[OUT_WHY];
  std::string path = "tests/lib/numpy/" + name + ".npy";
  EXPECT_EQ(npy_open(path.c_str(), &r, why), HD_OK) << why;
  std::vector<double> all(static_cast<size_t>(r.count));
  EXPECT_EQ(r.size, all.size() * sizeof(double));
  EXPECT_EQ(npy_read(&r, path.c_str(), all.data(), why), HD_OK) << why;
  npy_close(&r);
  return all;
}

// Runs kernels over many matrices; type by type, as each test asks.
template <typename T> class Decompose : public testing::Test {
protected:
  std::vector<T> Numbers(size_t n, double size = 2) {
    std::vector<T> v(n);
    for (T &x : v) x = static_cast<T>(size * u_(gen_));
    return v;
  }
  // Matrices of all kinds: any; whole numbers of little rank; nearly singular; some huge, some tiny.
  std::vector<T> Matrices(int count, int r, int c) {
    std::vector<T> all = Numbers(static_cast<size_t>(count * r * c));
    for (int k = 0; k < count; k++)
      for (int e = 0; e < r * c; e++) {
        T &x = all[static_cast<size_t>(k * r * c + e)];
        if (k % 5 == 1) x = std::rint(x);
        if (k % 5 == 2 && e >= c) x = all[static_cast<size_t>(k * r * c + e % c)] * (1 + T(1e-6) * x);
        if (k % 5 == 3) x *= std::is_same_v<T, float> ? T(1e30) : T(1e250);
        if (k % 5 == 4) x *= std::is_same_v<T, float> ? T(1e-30) : T(1e-250);
      }
    return all;
  }
  static size_t Of(int count, int r, int c) { return static_cast<size_t>(count * r * c); }

  struct Svd {
    std::vector<T> u, s, v;
  };
  Svd RunSvd(int n, std::vector<T> a) {
    int count = static_cast<int>(a.size()) / (n * n);
    Svd o{std::vector<T>(a.size()), std::vector<T>(Of(count, n, 1)), std::vector<T>(a.size())};
    std::string m = Mat<T>(n, n);
    Everywhere::It().Run("kernel k(" + m + " a[], " + m + " u[], " + Vec<T>(n) + " s[], " + m +
                             " v[]) { let i = tid(); svd(a[i], u[i], s[i], v[i]); }",
                         count, a, o.u, o.s, o.v);
    return o;
  }
  struct Eigen {
    std::vector<T> q, d;
  };
  Eigen RunEigen(int n, std::vector<T> a) {
    int count = static_cast<int>(a.size()) / (n * n);
    Eigen o{std::vector<T>(a.size()), std::vector<T>(Of(count, n, 1))};
    std::string m = Mat<T>(n, n);
    std::string text = "kernel k(" + m + " a[], " + m + " q[], " + Vec<T>(n) +
                       " d[]) { let i = tid(); eigen_symmetric(a[i], q[i], d[i]); }";
    if (n < 5)
      Everywhere::It().Run(text, count, a, o.q, o.d);
    else
      Everywhere::It().RunOnce(text, count, a, o.q, o.d);
    return o;
  }
  struct Polar {
    std::vector<T> r, s;
  };
  Polar RunPolar(int n, std::vector<T> a) {
    Polar o{std::vector<T>(a.size()), std::vector<T>(a.size())};
    std::string m = Mat<T>(n, n);
    Everywhere::It().Run("kernel k(" + m + " a[], " + m + " r[], " + m +
                             " s[]) { let i = tid(); polar(a[i], r[i], s[i]); }",
                         static_cast<int>(a.size()) / (n * n), a, o.r, o.s);
    return o;
  }

  // What svd promises of any finite matrix; `ulps` of its largest element.
  void ExpectSvd(int n, const std::vector<T> &a, const Svd &o, double ulps) {
    for (int k = 0; k < static_cast<int>(a.size()) / (n * n); k++) {
      SCOPED_TRACE("matrix " + std::to_string(k));
      M m(n, n, a, k), u(n, n, o.u, k), v(n, n, o.v, k), s(n, 1, o.s, k);
      EXPECT_LE(OffOrthogonal(u), 8 * kEps<T>);
      EXPECT_LE(OffOrthogonal(v), ulps * kEps<T>);
      EXPECT_NEAR(Determinant(u), 1, 1e-3);
      EXPECT_NEAR(Determinant(v), 1, 1e-3);
      double size = Largest(m);
      EXPECT_LE(Distance(u * Diag(s.a) * Transpose(v), m),
                ulps * kEps<T> * size + std::numeric_limits<T>::denorm_min());
      for (int i = 0; i + 1 < n; i++) {
        EXPECT_GE(s.a[static_cast<size_t>(i)], 0);
        EXPECT_GE(s.a[static_cast<size_t>(i)], std::fabs(s.a[static_cast<size_t>(i + 1)]) - ulps * kEps<T> * size);
      }
    }
  }

  std::mt19937 gen_{9};
  std::uniform_real_distribution<double> u_{-1, 1};
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Decompose, Floats);

// --- LU ---

constexpr int kCount = 40;

TYPED_TEST(Decompose, LuFactorsMultiplyToTheRowsInTheirOrder) {
  using T = TypeParam;
  for (int n : {1, 2, 3, 4, 6, 18}) {
    SCOPED_TRACE(n);
    std::string m = Mat<T>(n, n), i = "vec<i32, " + std::to_string(n) + ">";
    auto a = this->Matrices(kCount, n, n), f = a;
    std::vector<int32_t> order(this->Of(kCount, n, 1));
    std::vector<T> sign(kCount);
    std::string text = "kernel k(" + m + " a[], " + i + " order[], " + HdScalarOf<T>::name +
                       " sign[]) { let i = tid(); sign[i] = lu(a[i], order[i]); }";
    if (n < 5)
      Everywhere::It().Run(text, kCount, f, order, sign);
    else
      Everywhere::It().RunOnce(text, kCount, f, order, sign);
    for (int k = 0; k < kCount; k++) {
      M l(n, n), u(n, n), p(n, n), all(n, n, f, k);
      for (int r = 0; r < n; r++) {
        int o = order[static_cast<size_t>(k * n + r)];
        ASSERT_TRUE(o >= 0 && o < n);
        for (int c = 0; c < n; c++) (c < r ? l : u)(r, c) = all(r, c);
        l(r, r) = 1;
        p(r, o) = 1;
      }
      M want = p * M(n, n, a, k);
      EXPECT_LE(Largest(l), 1) << "the pivots were the largest";
      EXPECT_LE(Distance(l * u, want), 4 * n * kEps<T> * Largest(want));
      EXPECT_EQ(Determinant(p), sign[static_cast<size_t>(k)]);
    }
  }
}

TYPED_TEST(Decompose, SolutionsInversesAndDeterminantsAgree) {
  using T = TypeParam;
  for (int n : {1, 2, 3, 5}) {
    SCOPED_TRACE(n);
    std::string m = Mat<T>(n, n), v = Vec<T>(n), t = HdScalarOf<T>::name;
    auto a = this->Numbers(this->Of(kCount, n, n)), b = this->Numbers(this->Of(kCount, n, 1));
    auto x = b;
    auto inv = a, y = a;
    std::vector<T> d(kCount);
    std::string text = "kernel k(" + m + " a[], " + v + " b[], " + v + " x[], " + m + " inv[], " + m + " y[], " + t +
                       " d[]) { let i = tid(); x[i] = solve(a[i], b[i]); inv[i] = inverse(a[i]); "
                       "y[i] = solve(a[i], transpose(a[i])); d[i] = determinant(a[i]); }";
    if (n < 4)
      Everywhere::It().Run(text, kCount, a, b, x, inv, y, d);
    else
      Everywhere::It().RunOnce(text, kCount, a, b, x, inv, y, d);
    for (int k = 0; k < kCount; k++) {
      M am(n, n, a, k), xm(n, 1, x, k), bm(n, 1, b, k), im(n, n, inv, k), ym(n, n, y, k);
      double condition = Largest(am) * Largest(im) * n;
      EXPECT_LE(Distance(am * xm, bm), 8 * n * kEps<T> * (Largest(bm) + Largest(am) * Largest(xm)));
      EXPECT_LE(Distance(am * ym, Transpose(am)), 8 * n * kEps<T> * Largest(am) * (1 + Largest(ym)));
      EXPECT_LE(Distance(am * im, Identity(n)), 8 * n * kEps<T> * (1 + condition) * (n == 3 || n == 2 ? condition : 1));
      EXPECT_NEAR(d[static_cast<size_t>(k)], Determinant(am), 4 * n * kEps<T> * std::tgamma(n + 1) * std::pow(2, n));
    }
  }
}

TYPED_TEST(Decompose, ASingularSystemHasNoFiniteSolution) {
  using T = TypeParam;
  std::vector<T> a = {1, 2, 3, 2, 4, 6, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, x(6), d(2), sign(2);
  std::string m = Mat<T>(3, 3), v = Vec<T>(3), t = HdScalarOf<T>::name;
  Everywhere::It().Run(
      "kernel k(" + m + " a[], " + v + " x[], " + t + " d[], " + t + " s[]) { let i = tid(); x[i] = " + "solve(a[i], " +
          v +
          "(1, 2, 4)); var f = a[i]; var o = vec3i(0); s[i] = lu(f, o); d[i] = s[i] * f[0][0] * f[1][1] * f[2][2]; }",
      2, a, x, d, sign);
  for (T one : x) EXPECT_FALSE(std::isfinite(one));
  EXPECT_EQ(d[0], 0);
  EXPECT_EQ(d[1], 0);
}

// --- Cholesky ---

TYPED_TEST(Decompose, CholeskyFactorsMultiplyBackAndSolve) {
  using T = TypeParam;
  for (int n : {1, 2, 3, 6, 18}) {
    SCOPED_TRACE(n);
    std::string m = Mat<T>(n, n), v = Vec<T>(n);
    auto g = this->Numbers(this->Of(kCount, n, n));
    std::vector<T> a(g.size()), l(g.size()), b = this->Numbers(this->Of(kCount, n, 1)), x = b;
    for (int k = 0; k < kCount; k++) {
      M gm(n, n, g, k), s = gm * Transpose(gm);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
          a[static_cast<size_t>(k * n * n + i * n + j)] = j > i ? T(NAN) : static_cast<T>(s(i, j) + (i == j));
    }
    std::string text = "kernel k(" + m + " a[], " + m + " l[], " + v + " b[], " + v +
                       " x[]) { let i = tid(); l[i] = cholesky(a[i]); x[i] = cholesky_solve(l[i], b[i]); }";
    if (n < 5)
      Everywhere::It().Run(text, kCount, a, l, b, x);
    else
      Everywhere::It().RunOnce(text, kCount, a, l, b, x);
    for (int k = 0; k < kCount; k++) {
      M am(n, n, a, k), lm(n, n, l, k), xm(n, 1, x, k), bm(n, 1, b, k);
      for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
          am(i, j) = am(j, i);
          EXPECT_EQ(lm(i, j), 0);
        }
      EXPECT_LE(Distance(lm * Transpose(lm), am), 4 * n * kEps<T> * Largest(am));
      EXPECT_LE(Distance(am * xm, bm), 16 * n * kEps<T> * (Largest(bm) + n * Largest(am) * Largest(xm)));
      EXPECT_GT(lm(n - 1, n - 1), 0);
    }
  }
}

TYPED_TEST(Decompose, CholeskyTellsWhatIsNotPositiveDefinite) {
  using T = TypeParam;
  std::vector<T> a = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,      0, 0, 0, -1, 1,  1, 1, 1, 1, 1, 1, 1, 1,
                      1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, T(NAN), 0, 0, 0, 1,  -1, 0, 0, 0, 1, 0, 0, 0, 1},
                 l(a.size());
  std::string m = Mat<T>(3, 3);
  Everywhere::It().Run("kernel k(" + m + " a[], " + m + " l[]) { let i = tid(); l[i] = cholesky(a[i]); }", 6, a, l);
  for (size_t k = 0; k < 6; k++) EXPECT_FALSE(l[9 * k + 8] > 0) << k;
}

// --- QR ---

TYPED_TEST(Decompose, QrFactorsMultiplyBackWithOrthonormalColumns) {
  using T = TypeParam;
  const std::pair<int, int> shapes[] = {{1, 1}, {2, 2}, {3, 3}, {3, 1}, {4, 3}, {6, 6}, {20, 18}};
  for (auto [r, c] : shapes) {
    SCOPED_TRACE(std::to_string(r) + " by " + std::to_string(c));
    auto a = this->Matrices(kCount, r, c), q = a;
    std::vector<T> u(this->Of(kCount, c, c));
    std::string text = "kernel k(" + Mat<T>(r, c) + " a[], " + Mat<T>(r, c) + " q[], " + Mat<T>(c, c) +
                       " r[]) { let i = tid(); qr(a[i], q[i], r[i]); }";
    if (r < 4)
      Everywhere::It().Run(text, kCount, a, q, u);
    else
      Everywhere::It().RunOnce(text, kCount, a, q, u);
    for (int k = 0; k < kCount; k++) {
      SCOPED_TRACE(k);
      M am(r, c, a, k), qm(r, c, q, k), rm(c, c, u, k);
      EXPECT_LE(OffOrthogonal(qm), (6 + c) * kEps<T>);
      EXPECT_LE(Distance(qm * rm, am), (6 + r + c) * kEps<T> * Largest(am));
      for (int i = 0; i < c; i++) {
        EXPECT_GE(rm(i, i), 0);
        for (int j = 0; j < i; j++) EXPECT_EQ(rm(i, j), 0);
      }
    }
  }
}

TYPED_TEST(Decompose, QrOfZeroIdentityAndNan) {
  using T = TypeParam;
  std::vector<T> a = {0, 0, 0, 0,  0, 0, 0, 0, 0, 1, 0,      0, 0, 1, 0, 0,           0, 1, -1, 0, 0, 0, -1,
                      0, 0, 0, -1, 1, 0, 0, 0, 1, 0, T(NAN), 0, 1, 1, 0, T(INFINITY), 0, 1, 0,  0, 0, 1},
                 q(a.size()), r(a.size());
  std::string m = Mat<T>(3, 3);
  Everywhere::It().Run("kernel k(" + m + " a[], " + m + " q[], " + m + " r[]) { let i = tid(); qr(a[i], q[i], r[i]); }",
                       5, a, q, r);
  EXPECT_EQ(Largest(M(3, 3, r, 0)), 0);
  EXPECT_LE(OffOrthogonal(M(3, 3, q, 0)), 0);
  EXPECT_EQ(Distance(M(3, 3, q, 1), Identity(3)), 0);
  EXPECT_EQ(Distance(M(3, 3, q, 2), M(3, 3, a, 2)), 0);
  EXPECT_EQ(Distance(M(3, 3, r, 2), Identity(3)), 0);
  for (size_t i = 27; i < 45; i++) EXPECT_TRUE(std::isnan(q[i])) << i;
}

TYPED_TEST(Decompose, LeastSquaresLeaveAResidualAcrossTheColumns) {
  using T = TypeParam;
  auto a = this->Numbers(this->Of(kCount, 5, 3)), b = this->Numbers(this->Of(kCount, 5, 1));
  std::vector<T> x(this->Of(kCount, 3, 1));
  Everywhere::It().Run("kernel k(" + Mat<T>(5, 3) + " a[], " + Vec<T>(5) + " b[], " + Vec<T>(3) +
                           " x[]) { let i = tid(); " + Mat<T>(5, 3) + " q; " + Mat<T>(3, 3) +
                           " r; qr(a[i], q, r); x[i] = qr_solve(q, r, b[i]); }",
                       kCount, a, b, x);
  for (int k = 0; k < kCount; k++) {
    M am(5, 3, a, k), rest = am * M(3, 1, x, k);
    for (int i = 0; i < 5; i++) rest(i, 0) -= b[static_cast<size_t>(5 * k + i)];
    EXPECT_LE(Largest(Transpose(am) * rest), 500 * kEps<T>);
  }
}

// --- symmetric eigenvalues ---

TYPED_TEST(Decompose, EigenvectorsDiagonaliseAndAreARotation) {
  using T = TypeParam;
  for (int n : {1, 2, 3, 4, 6, 10}) {
    SCOPED_TRACE(n);
    auto a = this->Matrices(kCount, n, n);
    for (int k = 0; k < kCount; k++)
      for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
          a[static_cast<size_t>(k * n * n + j * n + i)] = T(NAN); // the upper triangle is not read
    auto o = this->RunEigen(n, a);
    for (int k = 0; k < kCount; k++) {
      SCOPED_TRACE(k);
      M am(n, n, a, k), q(n, n, o.q, k), d(n, 1, o.d, k);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) am(j, i) = am(i, j);
      EXPECT_LE(OffOrthogonal(q), (6 + 4 * n) * kEps<T>);
      EXPECT_NEAR(Determinant(q), 1, 1e-3);
      EXPECT_LE(Distance(q * Diag(d.a) * Transpose(q), am), (6 + 6 * n) * kEps<T> * Largest(am));
      for (int i = 1; i < n; i++) EXPECT_GE(d(i, 0), d(i - 1, 0));
    }
  }
}

TYPED_TEST(Decompose, EigenOfZeroIdentityMultiplesDiagonalAndNan) {
  using T = TypeParam;
  std::vector<T> a = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,      0, 0, 0, 1, 3, 0, 0, 0,           1, 0, 0, 0, 2,
                      2, 0, 0, 1, 2, 0, 1, 1, 2, 1, 0, 0, 0, T(NAN), 0, 0, 0, 1, 1, 0, 0, T(INFINITY), 1, 0, 0, 0, 1};
  auto o = this->RunEigen(3, a);
  EXPECT_EQ(Distance(M(3, 3, o.q, 0), Identity(3)), 0);
  EXPECT_EQ(Distance(M(3, 3, o.q, 1), Identity(3)), 0);
  EXPECT_EQ(std::vector<T>(o.d.begin(), o.d.begin() + 9), (std::vector<T>{0, 0, 0, 1, 1, 1, 1, 2, 3}));
  EXPECT_NEAR(o.d[9], 1, 8 * kEps<T>);
  EXPECT_NEAR(o.d[10], 1, 8 * kEps<T>) << "a double eigenvalue";
  EXPECT_NEAR(o.d[11], 4, 16 * kEps<T>);
  for (size_t i = 12; i < 18; i++) EXPECT_TRUE(std::isnan(o.d[i]));
  for (size_t i = 36; i < 54; i++) EXPECT_TRUE(std::isnan(o.q[i]));
}

// --- singular values ---

TYPED_TEST(Decompose, SingularValuesMultiplyBackWithRotations) {
  for (int n : {2, 3}) {
    SCOPED_TRACE(n);
    auto a = this->Matrices(400, n, n);
    this->ExpectSvd(n, a, this->RunSvd(n, a), 24);
  }
}

TYPED_TEST(Decompose, SvdOfZeroIsTheIdentity) {
  using T = TypeParam;
  for (int n : {2, 3}) {
    auto o = this->RunSvd(n, std::vector<T>(static_cast<size_t>(n * n)));
    EXPECT_EQ(Distance(M(n, n, o.u, 0), Identity(n)), 0);
    EXPECT_EQ(Distance(M(n, n, o.v, 0), Identity(n)), 0);
    for (T s : o.s) EXPECT_EQ(s, 0);
  }
}

TYPED_TEST(Decompose, SvdOfTheIdentityAndOfEqualSingularValuesIsExact) {
  using T = TypeParam;
  std::vector<T> a = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, -2, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 2, 0, 0, 0, 3};
  auto o = this->RunSvd(3, a);
  this->ExpectSvd(3, a, o, 0);
  EXPECT_EQ(o.s, (std::vector<T>{1, 1, 1, 2, 2, 2, 3, 2, 2}));
  auto p = this->RunSvd(2, {1, 0, 0, 1, 0, -3, 3, 0});
  EXPECT_EQ(p.s, (std::vector<T>{1, 1, 3, 3}));
}

TYPED_TEST(Decompose, SvdOfAReflectionHasANegativeLastValue) {
  using T = TypeParam;
  std::vector<T> a = {1, 0, 0, 0, 2, 0, 0, 0, -3, -1, 0, 0, 0, -1, 0, 0, 0, -1, 0, 5, 0, 4, 0, 0, 0, 0, 3};
  auto o = this->RunSvd(3, a);
  this->ExpectSvd(3, a, o, 4);
  EXPECT_EQ(o.s, (std::vector<T>{3, 2, -1, 1, 1, -1, 5, 4, -3}));
  auto p = this->RunSvd(2, {0, 1, 2, 0});
  EXPECT_EQ(p.s, (std::vector<T>{2, -1}));
}

TYPED_TEST(Decompose, SvdOfLittleRankKeepsItsRotations) {
  using T = TypeParam;
  std::vector<T> a = {1, 2, 3, 2, 4, 6, -1, -2, -3, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 2, 3, 4, 5,
                      6, 7, 8, 9, 0, 0, 0,  0,  0,  0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0};
  auto o = this->RunSvd(3, a);
  this->ExpectSvd(3, a, o, 16);
  for (size_t k : {0, 1, 3, 4}) EXPECT_LE(std::fabs(o.s[3 * k + 1]), 16 * kEps<T>);
  for (size_t k = 0; k < 5; k++) EXPECT_LE(std::fabs(o.s[3 * k + 2]), 32 * kEps<T>);
  std::vector<T> b = {1, 2, 2, 4, 0, 0, 0, -3, 0, 1, 0, 1};
  this->ExpectSvd(2, b, this->RunSvd(2, b), 8);
}

TYPED_TEST(Decompose, SvdOfHugeTinyAndDenormalNumbersIsScaled) {
  using T = TypeParam;
  std::vector<T> one = {1, 2, 3, 4, -5, 6, 7, 8, 10}, all;
  const T sizes[] = {std::numeric_limits<T>::max() / 32, std::numeric_limits<T>::min() * 8, 1};
  for (T size : sizes)
    for (T x : one) all.push_back(x * size);
  auto o = this->RunSvd(3, all);
  this->ExpectSvd(3, all, o, 24);
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < 2; k++) EXPECT_NEAR(o.s[3 * k + i] / sizes[k], o.s[6 + i], 24 * kEps<T> * 15);
  T d = std::numeric_limits<T>::denorm_min();
  auto p = this->RunSvd(3, {d, 0, 0, 0, 2 * d, 0, 0, 0, 3 * d});
  EXPECT_EQ(p.s, (std::vector<T>{3 * d, 2 * d, d}));
}

TYPED_TEST(Decompose, SvdKeepsSmallSingularValuesOfScaledColumns) {
  using T = TypeParam;
  // Orthogonal columns of very different lengths: one-sided rotations find each to its own last digits.
  double tiny = std::is_same_v<T, float> ? 1e-6 : 1e-12;
  std::vector<T> a = {T(2), T(1 * tiny), T(2e-3), T(1), T(2 * tiny), T(-2e-3), T(2), T(-2 * tiny), T(-1e-3)};
  auto o = this->RunSvd(3, a);
  EXPECT_NEAR(o.s[0], 3, 8 * kEps<T>);
  EXPECT_NEAR(o.s[1] / 3e-3, 1, 8 * kEps<T>);
  EXPECT_NEAR(std::fabs(o.s[2]) / (3 * tiny), 1, 64 * kEps<T>);
}

TYPED_TEST(Decompose, SvdOfNanAndInfinityIsNanEverywhere) {
  using T = TypeParam;
  for (int n : {2, 3})
    for (int at = 0; at < n * n; at++)
      for (T bad : {T(NAN), T(INFINITY), T(-INFINITY)}) {
        std::vector<T> a(static_cast<size_t>(n * n), 1);
        a[static_cast<size_t>(at)] = bad;
        if (at != 1 && at != n * n - 1) continue; // two places are enough here
        auto o = this->RunSvd(n, a);
        for (T x : o.u) EXPECT_TRUE(std::isnan(x));
        for (T x : o.s) EXPECT_TRUE(std::isnan(x));
        for (T x : o.v) EXPECT_TRUE(std::isnan(x));
      }
}

// --- polar decomposition ---

TYPED_TEST(Decompose, PolarFactorsAreARotationAndSymmetric) {
  for (int n : {2, 3}) {
    auto a = this->Matrices(200, n, n);
    auto o = this->RunPolar(n, a);
    for (int k = 0; k < 200; k++) {
      SCOPED_TRACE(k);
      M am(n, n, a, k), r(n, n, o.r, k), s(n, n, o.s, k);
      EXPECT_LE(OffOrthogonal(r), 30 * kEps<TypeParam>);
      EXPECT_NEAR(Determinant(r), 1, 1e-3);
      EXPECT_EQ(Distance(s, Transpose(s)), 0);
      EXPECT_LE(Distance(r * s, am), 40 * kEps<TypeParam> * Largest(am));
    }
  }
}

TYPED_TEST(Decompose, PolarOfZeroIsTheIdentityAndOfNanIsNan) {
  using T = TypeParam;
  for (int n : {2, 3}) {
    std::vector<T> a(static_cast<size_t>(2 * n * n));
    a.back() = T(NAN);
    auto o = this->RunPolar(n, a);
    EXPECT_EQ(Distance(M(n, n, o.r, 0), Identity(n)), 0);
    EXPECT_EQ(Largest(M(n, n, o.s, 0)), 0);
    for (size_t i = static_cast<size_t>(n * n); i < a.size(); i++) EXPECT_TRUE(std::isnan(o.r[i]));
  }
}

TYPED_TEST(Decompose, PolarOfAReflectionHasOneNegativeStretch) {
  using T = TypeParam;
  auto o = this->RunPolar(3, {2, 0, 0, 0, 3, 0, 0, 0, -1});
  EXPECT_LE(Distance(M(3, 3, o.r, 0), Identity(3)), 4 * kEps<T>);
  EXPECT_NEAR(o.s[8], -1, 4 * kEps<T>);
}

// --- against NumPy ---

class NumPy : public testing::Test {
protected:
  // `got` against the file, matrix by matrix; `bound[k]` is the error allowed in the k-th.
  void Expect(const std::string &file, const std::vector<double> &got, const std::vector<double> &bound) {
    SCOPED_TRACE(file);
    auto want = Stored(file);
    ASSERT_EQ(want.size(), got.size());
    size_t each = want.size() / bound.size();
    for (size_t i = 0; i < want.size(); i++) EXPECT_NEAR(got[i], want[i], bound[i / each]) << "matrix " << i / each;
  }
};

TEST_F(NumPy, AgreesOnSystemsFactorsAndEigenvalues) {
  for (int n : {2, 3, 6}) {
    std::string m = Mat<double>(n, n), v = Vec<double>(n), s = std::to_string(n), b = v + "(1";
    for (int i = 2; i <= n; i++) b += ", " + std::to_string(i);
    auto a = Stored("general" + s), positive = Stored("positive" + s), symmetric = Stored("symmetric" + s);
    size_t nn = static_cast<size_t>(n * n), count = a.size() / nn, half = count / 2;
    std::vector<double> x(half * nn / n), d(count), l(half * nn), e(count * nn / n), q(count * nn), o(half * nn),
        r(half * nn);
    Program(Everywhere::It().machine,
            "kernel k(" + m + " a[], " + m + " p[], " + v + " x[], " + m + " l[], " + m + " o[], " + m +
                " r[]) { let i = tid(); x[i] = solve(a[i], " + b + ")); l[i] = cholesky(p[i]); qr(a[i], o[i], r[i]); }",
            Everywhere::It().machine.cpu)
        .Run(static_cast<int64_t>(half), a, positive, x, l, o, r);
    Program(Everywhere::It().machine,
            "kernel k(" + m + " a[], " + m + " s[], f64 d[], " + m + " q[], " + v +
                " e[]) { let i = tid(); d[i] = determinant(a[i]); eigen_symmetric(s[i], q[i], e[i]); }",
            Everywhere::It().machine.cpu)
        .Run(static_cast<int64_t>(count), a, symmetric, d, q, e);
    std::vector<double> sv = Stored("singular_values" + s), condition(half), det(count), size(count), of_positive(half),
                        qr;
    for (size_t k = 0; k < count; k++) {
      double first = sv[k * nn / n], last = sv[(k + 1) * nn / n - 1];
      if (k < half) condition[k] = 8 * n * kEps<double> * first / last * std::max(1.0, std::sqrt(91) / last);
      if (k < half) of_positive[k] = 8 * n * kEps<double> * (first / last) * (first / last) * (first + 1);
      det[k] = 8 * n * kEps<double> * std::pow(first, n);
      size[k] = 16 * n * kEps<double> * first;
      if (k < half)
        for (int i = 0; i < n; i++)
          for (int j = 0; j < 2 * n; j++) qr.push_back((j < n ? o : r)[k * nn + static_cast<size_t>(i * n + j % n)]);
    }
    Expect("solve" + s, x, condition);
    Expect("determinant" + s, d, det);
    Expect("cholesky" + s, l, of_positive);
    Expect("eigenvalues" + s, e, size);
    Expect("qr" + s, qr, condition);
  }
}

TEST_F(NumPy, AgreesOnSingularValues) {
  for (int n : {2, 3}) {
    std::string m = Mat<double>(n, n), v = Vec<double>(n);
    auto a = Stored("general" + std::to_string(n)), u = a, w = a;
    size_t nn = static_cast<size_t>(n * n), count = a.size() / nn;
    std::vector<double> s(count * nn / n), bound(count);
    Program(Everywhere::It().machine,
            "kernel k(" + m + " a[], " + m + " u[], " + v + " s[], " + m +
                " v[]) { let i = tid(); svd(a[i], u[i], s[i], v[i]); s[i] = abs(s[i]); }",
            Everywhere::It().machine.cpu)
        .Run(static_cast<int64_t>(count), a, u, s, w);
    for (size_t k = 0; k < count; k++) bound[k] = 12 * kEps<double> * s[k * nn / n];
    Expect("singular_values" + std::to_string(n), s, bound);
  }
}

} // namespace
