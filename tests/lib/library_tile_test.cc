// tests/lib/library_tile_test.cc -- tiles against plain loops, in the order that the library states, and against transforms
// and factors computed in double precision; everywhere with the same bits.
#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "library_testing.h"

namespace {

std::mt19937_64 rng(5);

template <typename T> std::vector<T> Numbers(int n, double low, double high) {
  std::vector<T> v(static_cast<size_t>(n));
  for (T &x : v) x = static_cast<T>(std::uniform_real_distribution<double>(low, high)(rng));
  return v;
}

std::string Kernel(int group, const std::string &head, const std::string &body) {
  return "@group(" + std::to_string(group) + ") kernel k(" + head + ") { let i = group_tid(); " + body + " }";
}

// Copies a dense array of the kernel to the tile t, or back.
std::string In(const std::string &t, const std::string &a, int m, int n) {
  std::string size = std::to_string(m * n), row = std::to_string(n);
  return "for (var e = i; e < " + size + "; e += group_size()) " + t + "[e / " + row + "][e % " + row + "] = " + a +
         "[e]; barrier(); ";
}
std::string Out(const std::string &a, const std::string &t, int m, int n) {
  std::string size = std::to_string(m * n), row = std::to_string(n);
  return "for (var e = i; e < " + size + "; e += group_size()) " + a + "[e] = " + t + "[e / " + row + "][e % " + row +
         "]; ";
}
std::string Shape(int m, int n) { return "[" + std::to_string(m) + "][" + std::to_string(n) + "]; "; }

struct Product {
  int group, m, n, k;
};
class Products : public testing::TestWithParam<Product> {};

template <typename T> void TestProduct(const Product &p, const std::string &type) {
  auto a = Numbers<T>(p.m * p.k, -1, 1), b = Numbers<T>(p.k * p.n, -1, 1), c = Numbers<T>(p.m * p.n, -1, 1), want = c;
  for (int r = 0; r < p.m; r++)
    for (int s = 0; s < p.n; s++)
      for (int k = 0; k < p.k; k++) {
        T &sum = want[static_cast<size_t>(r * p.n + s)];
        sum = std::fma(a[static_cast<size_t>(r * p.k + k)], b[static_cast<size_t>(k * p.n + s)], sum);
      }
  Everywhere::AndOnGpu().Run(Kernel(p.group, type + " a[], " + type + " b[], " + type + " c[]",
                                    "shared " + type + " x" + Shape(p.m, p.k) + "shared " + type + " y" +
                                        Shape(p.k, p.n) + "shared " + type + " z" + Shape(p.m, p.n) +
                                        In("x", "a", p.m, p.k) + In("y", "b", p.k, p.n) + In("z", "c", p.m, p.n) +
                                        "tile_matmul(z, x, y);" + Out("c", "z", p.m, p.n)),
                             p.group, a, b, c);
  for (size_t e = 0; e < c.size(); e++) ASSERT_EQ(BitsOf(c[e]), BitsOf(want[e])) << e;
}

TEST_P(Products, AreChainsOfFma) {
  TestProduct<float>(GetParam(), "f32");
  TestProduct<double>(GetParam(), "f64");
}

INSTANTIATE_TEST_SUITE_P(Of, Products,
                         testing::Values(Product{32, 1, 1, 1}, Product{64, 16, 16, 16}, Product{96, 7, 33, 5},
                                         Product{64, 37, 65, 3}, Product{256, 32, 64, 16}, Product{32, 5, 40, 9}),
                         [](const auto &i) {
                           const Product &p = i.param;
                           return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + "by" +
                                  std::to_string(p.group);
                         });

TEST(Products, OfHalvesAreSummedInFloats) {
  // small integers: exact in f16 and bf16, and so are the sums in f32
  for (const char *type : {"f16", "bf16"}) {
    auto a = Numbers<int32_t>(9 * 20, -8, 8), b = Numbers<int32_t>(20 * 40, -8, 8);
    std::vector<float> c(9 * 40);
    std::string t(type), fill = "for (var e = i; e < 180; e += 64) x[e / 20][e % 20] = " + t +
                                "(a[e]); "
                                "for (var e = i; e < 800; e += 64) y[e / 40][e % 40] = " +
                                t + "(b[e]); ";
    Everywhere::AndOnGpu().Run(Kernel(64, "i32 a[], i32 b[], f32 c[]",
                                      "shared " + t + " x[9][20]; shared " + t + " y[20][40]; shared f32 z[9][40]; " +
                                          fill + "tile_fill(z, 0); tile_matmul(z, x, y); " + Out("c", "z", 9, 40)),
                               64, a, b, c);
    for (int r = 0; r < 9; r++)
      for (int s = 0; s < 40; s++) {
        int sum = 0;
        for (int k = 0; k < 20; k++) sum += a[static_cast<size_t>(r * 20 + k)] * b[static_cast<size_t>(k * 40 + s)];
        ASSERT_EQ(c[static_cast<size_t>(r * 40 + s)], static_cast<float>(sum)) << type;
      }
  }
}

TEST(Tiles, AreZeroOutsideOfTheArrayAndStoreNothingThere) {
  auto a = Numbers<float>(10, 1, 2);
  std::vector<float> b(10, -1.0f);
  for (int first : {-40, -3, 0, 4, 9, 10, 50}) {
    std::vector<float> t(7), back = b;
    std::vector<int32_t> at{first};
    Everywhere::AndOnGpu().Run(Kernel(32, "f32 a[], i32 at[], f32 t[], f32 b[]",
                                      "shared f32 x[7]; tile_load(x, a, at[0]); if (i < 7) t[i] = x[i]; barrier(); "
                                      "tile_store(x, b, at[0]);"),
                               32, a, at, t, back);
    for (int k = 0; k < 7; k++) {
      bool inside = first + k >= 0 && first + k < 10;
      ASSERT_EQ(t[static_cast<size_t>(k)], inside ? a[static_cast<size_t>(first + k)] : 0.0f);
    }
    for (int k = 0; k < 10; k++)
      ASSERT_EQ(back[static_cast<size_t>(k)], k >= first && k < first + 7 ? a[static_cast<size_t>(k)] : -1.0f);
  }
}

TEST(Tiles, AreReducedAndScannedInOrder) {
  constexpr int m = 13, n = 37;
  auto a = Numbers<float>(m * n, -1, 1);
  std::vector<float> rows(m), least(m), most(m), column(n), low(n), high(n), scan(m * n), before(m * n), turned(m * n);
  std::string head =
      "f32 a[], f32 scan[], f32 before[], f32 turned[], f32 rows[], f32 least[], f32 most[], f32 column[], "
      "f32 low[], f32 high[]";
  Everywhere::AndOnGpu().Run(
      Kernel(64, head,
             "shared f32 t[13][37]; shared f32 u[37][13]; shared f32 r[13]; shared f32 c[37]; " + In("t", "a", m, n) +
                 "tile_transpose(u, t); " + Out("turned", "u", n, m) +
                 "tile_sum_rows(r, t); tile_store(r, rows, 0); tile_min_rows(r, t); tile_store(r, least, 0); "
                 "tile_max_rows(r, t); tile_store(r, most, 0); tile_sum_columns(c, t); tile_store(c, column, 0); "
                 "tile_min_columns(c, t); tile_store(c, low, 0); tile_max_columns(c, t); tile_store(c, high, 0); "
                 "tile_scan_rows(t); " +
                 Out("scan", "t", m, n) + "barrier(); " + In("t", "a", m, n) + "tile_scan_rows_exclusive(t); " +
                 Out("before", "t", m, n)),
      64, a, scan, before, turned, rows, least, most, column, low, high);
  auto at = [&](int r, int c) { return a[static_cast<size_t>(r * n + c)]; };
  for (int r = 0; r < m; r++) {
    float sum = 0, lo = at(r, 0), hi = lo;
    for (int c = 0; c < n; c++) {
      const size_t e = static_cast<size_t>(r * n + c);
      ASSERT_EQ(before[e], sum);
      sum += at(r, c);
      ASSERT_EQ(scan[e], sum);
      ASSERT_EQ(turned[static_cast<size_t>(c * m + r)], at(r, c));
      lo = std::min(lo, at(r, c));
      hi = std::max(hi, at(r, c));
    }
    const size_t k = static_cast<size_t>(r);
    ASSERT_EQ(rows[k], sum);
    ASSERT_EQ(least[k], lo);
    ASSERT_EQ(most[k], hi);
  }
  for (int c = 0; c < n; c++) {
    float sum = at(0, c), lo = sum, hi = sum;
    for (int r = 1; r < m; r++) {
      sum += at(r, c);
      lo = std::min(lo, at(r, c));
      hi = std::max(hi, at(r, c));
    }
    const size_t k = static_cast<size_t>(c);
    ASSERT_EQ(column[k], sum);
    ASSERT_EQ(low[k], lo);
    ASSERT_EQ(high[k], hi);
  }
}

TEST(Tiles, OfAnyLengthAreSortedWithTheirValues) {
  for (int n : {1, 2, 31, 64, 100, 257}) {
    auto key = Numbers<int32_t>(n, -1000000, 1000000), value = key; // no two are equal
    std::string size = std::to_string(n), load = "tile_load(k, key, 0); tile_load(v, value, 0); ";
    auto sorted = key;
    std::sort(sorted.begin(), sorted.end());
    Everywhere::AndOnGpu().Run(Kernel(64, "i32 key[], i32 value[]",
                                      "shared i32 k[" + size + "]; shared i32 v[" + size + "]; " + load +
                                          "tile_sort(k, v); tile_store(k, key, 0); tile_store(v, value, 0); "
                                          "tile_load(v, key, 0); tile_sort(v); for (var e = i; e < " +
                                          size + "; e += 64) assert(v[e] == k[e], \"stays\");"),
                               64, key, value);
    EXPECT_EQ(key, sorted);
    EXPECT_EQ(value, sorted);
  }
}

// --- systems ---

template <typename T> void TestSystem(int n, int group, const std::string &type) {
  auto at = [n](int r, int c) { return static_cast<size_t>(r * n + c); };
  auto g = Numbers<double>(n * n, -1, 1), x = Numbers<double>(n, -1, 1);
  std::vector<T> a(g.size()), b(static_cast<size_t>(n)), l(g.size()), columns(static_cast<size_t>(n * 3));
  for (int r = 0; r < n; r++)
    for (int c = 0; c <= r; c++) {
      double sum = r == c ? n : 0;
      for (int k = 0; k < n; k++) sum += g[at(r, k)] * g[at(c, k)];
      a[at(r, c)] = static_cast<T>(sum);
      a[at(c, r)] = r == c ? a[at(r, c)] : std::numeric_limits<T>::quiet_NaN(); // is not read
    }
  for (int r = 0; r < n; r++) {
    double sum = 0;
    for (int c = 0; c < n; c++)
      sum += static_cast<double>(a[at(std::max(r, c), std::min(r, c))]) * x[static_cast<size_t>(c)];
    b[static_cast<size_t>(r)] = static_cast<T>(sum);
    for (size_t c = 0; c < 3; c++) columns[static_cast<size_t>(r) * 3 + c] = static_cast<T>(sum * (1.0 + double(c)));
  }
  std::string size = std::to_string(n);
  Everywhere::AndOnGpu().Run(Kernel(group, type + " a[], " + type + " b[], " + type + " l[], " + type + " columns[]",
                                    "shared " + type + " t" + Shape(n, n) + "shared " + type + " v[" + size +
                                        "]; shared " + type + " w" + Shape(n, 3) + In("t", "a", n, n) +
                                        In("w", "columns", n, 3) + "tile_load(v, b, 0); tile_cholesky(t); " +
                                        Out("l", "t", n, n) +
                                        "tile_cholesky_solve(t, v); tile_store(v, b, 0); tile_solve_lower(t, w); "
                                        "tile_solve_lower_transposed(t, w); " +
                                        Out("columns", "w", n, 3)),
                             group, a, b, l, columns);
  const double eps = std::numeric_limits<T>::epsilon();
  for (int r = 0; r < n; r++) {
    for (int c = 0; c <= r; c++) {
      double sum = 0;
      for (int k = 0; k <= c; k++) sum += static_cast<double>(l[at(r, k)]) * static_cast<double>(l[at(c, k)]);
      ASSERT_NEAR(sum, static_cast<double>(a[at(r, c)]), 2 * n * n * eps);
      ASSERT_EQ(BitsOf(l[at(r, c)]), BitsOf(l[at(c, r)]));
    }
    const size_t k = static_cast<size_t>(r);
    ASSERT_NEAR(static_cast<double>(b[k]), x[k], 40 * n * eps);
    for (size_t c = 0; c < 3; c++)
      ASSERT_NEAR(static_cast<double>(columns[k * 3 + c]), x[k] * (1.0 + double(c)), 120 * n * eps);
  }
}

TEST(Tiles, ThatArePositiveDefiniteSolveSystems) {
  for (int n : {1, 6, 16, 33, 48}) {
    TestSystem<float>(n, n < 32 ? 32 : 64, "f32");
    TestSystem<double>(n, 32, "f64");
  }
}

TEST(Tiles, ThatAreNotPositiveDefiniteHaveNaNInTheirFactor) {
  std::vector<float> a{1, 2, 2, 1};
  Everywhere::AndOnGpu().Run(
      Kernel(32, "f32 a[]", "shared f32 t[2][2]; " + In("t", "a", 2, 2) + "tile_cholesky(t); " + Out("a", "t", 2, 2)),
      32, a);
  EXPECT_EQ(a[0], 1);
  EXPECT_EQ(a[2], 2);
  EXPECT_TRUE(std::isnan(a[3]));
}

// --- Fourier transforms ---

using Exact = std::complex<long double>;

// The sum itself, with exact angles.
std::vector<Exact> Transformed(const std::vector<Exact> &x) {
  const size_t n = x.size();
  std::vector<Exact> root(n), out(n);
  for (size_t k = 0; k < n; k++) {
    long double angle =
        -2 * 3.14159265358979323846264338327950288L * static_cast<long double>(k) / static_cast<long double>(n);
    root[k] = {std::cos(angle), std::sin(angle)};
  }
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < n; j++) { // the product without the care for infinities
      const Exact a = x[j], w = root[k * j % n];
      out[k] += Exact(a.real() * w.real() - a.imag() * w.imag(), a.real() * w.imag() + a.imag() * w.real());
    }
  return out;
}

template <typename T> void TestTransform(int n, int group, const std::string &type, bool wholly) {
  auto x = Numbers<T>(2 * n, -1, 1);
  std::vector<T> y(x.size()), z(x.size());
  std::string vec = "vec<" + type + ", 2>", size = std::to_string(n);
  std::string text = Kernel(group, vec + " x[], " + vec + " y[], " + vec + " z[]",
                            "shared " + vec + " t[" + size + "]; shared " + vec + " r[" + std::to_string(n / 2) +
                                "]; tile_load(t, x, 0); tile_fft_roots(r); tile_fft(t, r); "
                                "tile_store(t, y, 0); tile_fft_inverse(t, r); tile_store(t, z, 0);");
  if (wholly)
    Everywhere::AndOnGpu().Run(text, group, x, y, z);
  else
    Everywhere::AndOnGpu().RunOnce(text, group, x, y, z);
  std::vector<Exact> in(static_cast<size_t>(n));
  for (size_t k = 0; k < in.size(); k++)
    in[k] = {static_cast<long double>(x[2 * k]), static_cast<long double>(x[2 * k + 1])};
  auto want = Transformed(in);
  double square = 0;
  for (Exact w : want) square += static_cast<double>(std::norm(w));
  const double bound = std::sqrt(square / n) * std::numeric_limits<T>::epsilon() * std::log2(2.0 * n);
  for (size_t k = 0; k < in.size(); k++) {
    ASSERT_NEAR(static_cast<double>(y[2 * k]), static_cast<double>(want[k].real()), bound) << n << " " << k;
    ASSERT_NEAR(static_cast<double>(y[2 * k + 1]), static_cast<double>(want[k].imag()), bound) << n << " " << k;
    ASSERT_NEAR(static_cast<double>(z[2 * k]), static_cast<double>(in[k].real()),
                8 * std::numeric_limits<T>::epsilon());
    ASSERT_NEAR(static_cast<double>(z[2 * k + 1]), static_cast<double>(in[k].imag()),
                8 * std::numeric_limits<T>::epsilon());
  }
}

TEST(Tiles, AreTransformedByFourier) {
  for (int n : {2, 64, 512}) TestTransform<float>(n, 64, "f32", true);
  for (int n : {4, 8, 16, 32, 128, 256}) TestTransform<float>(n, 32, "f32", false);
  for (int n : {1024, 2048, 4096}) TestTransform<float>(n, n / 16, "f32", false);
  for (int n : {16, 256}) TestTransform<double>(n, 96, "f64", true);
  TestTransform<double>(2048, 128, "f64", false);
}

} // namespace
