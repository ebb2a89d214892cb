// tests/algorithms/dense_test.cc -- products of matrices and Fourier transforms of rows: against plain loops, exactly, and
// against sums in long double; the same bits on every device.
#include <cmath>
#include <complex>

#include "tests/algorithms/algorithms_fixture.h"

namespace {

class Dense : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Algorithms, Dense, testing::ValuesIn(Ways()), WayName);

template <class T> std::vector<T> Random(int64_t n) {
  static std::mt19937_64 rng(3);
  std::vector<T> v(static_cast<size_t>(n));
  for (T &x : v) x = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(rng));
  return v;
}

// A dense array seen as rows of elements of a type.
HdArray Matrix(HdArray a, HdType type, int64_t rows, int64_t cols) {
  a.ndim = 2;
  a.type = type;
  a.length[0] = rows;
  a.length[1] = cols;
  a.stride[0] = cols;
  a.stride[1] = 1;
  return a;
}
HdArray Turned(HdArray a) {
  std::swap(a.length[0], a.length[1]);
  std::swap(a.stride[0], a.stride[1]);
  return a;
}

template <class T> void TestProduct(const Way &way, int m, int n, int k, bool turned) {
  Machine machine(way);
  auto a = Random<T>(m * k), b = Random<T>(k * n);
  HdType type = hd_type_scalar(ScalarOf<T>());
  HdArray x = Matrix(machine.Of(a), type, m, k), flat = machine.New<T>(static_cast<size_t>(m * n));
  HdArray y = turned ? Turned(Matrix(machine.Of(b), type, n, k)) : Matrix(machine.Of(b), type, k, n);
  ASSERT_EQ(hd_matmul(machine.algorithms, x, y, Matrix(flat, type, m, n)), HD_OK) << machine.Why();
  auto got = machine.Fetch<T>(flat);
  for (int r = 0; r < m; r++)
    for (int c = 0; c < n; c++) {
      T sum = 0;
      for (int j = 0; j < k; j++)
        sum = std::fma(a[static_cast<size_t>(r * k + j)], b[static_cast<size_t>(turned ? c * k + j : j * n + c)], sum);
      ASSERT_EQ(got[static_cast<size_t>(r * n + c)], sum) << r << " " << c;
    }
}

TEST_P(Dense, ProductsAreChainsOfFma) {
  TestProduct<float>(GetParam(), 65, 70, 40, false);
  TestProduct<float>(GetParam(), 3, 130, 33, true);
  TestProduct<float>(GetParam(), 2, 2, 0, false);
  TestProduct<double>(GetParam(), 66, 35, 34, false);
  TestProduct<double>(GetParam(), 1, 1, 1, true);
}

template <class T> void TestTransform(const Way &way, int rows, int n) {
  Machine machine(way);
  auto x = Random<T>(2 * rows * n);
  HdArray flat = machine.Of(x), row = Matrix(flat, hd_type_vec(ScalarOf<T>(), 2), rows, n);
  ASSERT_EQ(hd_fft(machine.algorithms, HD_FFT_FORWARD, row), HD_OK) << machine.Why();
  auto y = machine.Fetch<T>(flat);
  ASSERT_EQ(hd_fft(machine.algorithms, HD_FFT_INVERSE, row), HD_OK) << machine.Why();
  auto z = machine.Fetch<T>(flat);
  const long double pi = 3.14159265358979323846264338327950288L;
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < n; k += 1 + n / 16) { // some of the elements
      std::complex<long double> sum = 0;
      const size_t first = static_cast<size_t>(2 * r * n), at = first + static_cast<size_t>(2 * k);
      for (int j = 0; j < n; j++) {
        const long double angle = -2 * pi * static_cast<long double>(int64_t(j) * k % n) / n;
        const size_t from = first + static_cast<size_t>(2 * j);
        sum += std::complex<long double>(x[from], x[from + 1]) *
               std::complex<long double>(std::cos(angle), std::sin(angle));
      }
      const long double bound = std::numeric_limits<T>::epsilon() * std::sqrt(0.7L * n) * std::log2(2.0L * n);
      ASSERT_NEAR(y[at], static_cast<double>(sum.real()), static_cast<double>(bound)) << n << " " << r << " " << k;
      ASSERT_NEAR(y[at + 1], static_cast<double>(sum.imag()), static_cast<double>(bound)) << n << " " << r << " " << k;
    }
  for (size_t e = 0; e < x.size(); e++) ASSERT_NEAR(z[e], x[e], 8 * std::numeric_limits<T>::epsilon());
}

TEST_P(Dense, RowsAreTransformed) {
  TestTransform<float>(GetParam(), 3, 2);
  TestTransform<float>(GetParam(), 2, 64);
  TestTransform<float>(GetParam(), 2, 256);
  TestTransform<double>(GetParam(), 2, 32);
  TestTransform<double>(GetParam(), 1, 512);
}

TEST(Dense, EveryLengthUpToTheGreatestIsTransformed) {
  for (int n = 1; n <= 4096; n *= 2) TestTransform<float>(Way{}, 1, n);
  for (int n = 1; n <= 2048; n *= 2) TestTransform<double>(Way{}, 1, n);
}

TEST(Dense, WhatDoesNotFitIsRefused) {
  Machine m;
  HdType f32 = hd_type_scalar(HD_F32), f64 = hd_type_scalar(HD_F64), pair = hd_type_vec(HD_F32, 2);
  HdArray a = m.New<float>(24), d = m.New<double>(24), big = m.New<float>(4 * 8192);
  EXPECT_EQ(hd_matmul(m.algorithms, a, a, a), HD_ERR_SHAPE);
  EXPECT_EQ(hd_matmul(m.algorithms, Matrix(a, f32, 4, 6), Matrix(a, f32, 4, 6), Matrix(a, f32, 4, 6)), HD_ERR_SHAPE);
  EXPECT_EQ(hd_matmul(m.algorithms, Matrix(a, f32, 4, 6), Matrix(a, f32, 6, 4), Matrix(a, f32, 4, 6)), HD_ERR_SHAPE);
  EXPECT_EQ(hd_matmul(m.algorithms, Matrix(a, f32, 4, 6), Matrix(d, f64, 6, 4), Matrix(a, f32, 4, 4)), HD_ERR_TYPE);
  EXPECT_NE(m.Why().find("y: wanted f32"), std::string::npos) << m.Why();
  EXPECT_EQ(hd_fft(m.algorithms, HD_FFT_FORWARD, Matrix(a, f32, 3, 8)), HD_ERR_TYPE);
  EXPECT_EQ(hd_fft(m.algorithms, HD_FFT_FORWARD, Matrix(a, pair, 2, 6)), HD_ERR_SHAPE);
  EXPECT_EQ(hd_fft(m.algorithms, HD_FFT_FORWARD, Matrix(big, pair, 1, 8192)), HD_ERR_SHAPE);
  EXPECT_EQ(hd_fft(m.algorithms, static_cast<HdFft>(0), Matrix(a, pair, 1, 4)), HD_ERR_ARG);
}

} // namespace
