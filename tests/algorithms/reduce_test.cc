// tests/algorithms/reduce_test.cc -- reductions and scans against plain loops, and against themselves run in other ways.
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/algorithms/algorithms_fixture.h"

namespace {

// Integers of any size; floats between -1 and 1, of many magnitudes.
template <class T> std::vector<T> Values(size_t n) {
  auto x = Random<T>(n, n + 1);
  if constexpr (std::is_floating_point_v<T>) {
    std::mt19937 random(17);
    for (auto &v : x) v = T(std::ldexp(int(random() % 2000) - 1000, -int(random() % 20) - 10));
  }
  return x;
}

template <class T, class R = T> R Reduce(Machine &m, HdReduce op, const std::vector<T> &x) {
  HdArray in = m.Of(x), out = m.New<R>(1);
  EXPECT_EQ(hd_reduce(m.algorithms, op, in, out), HD_OK) << m.Why();
  return m.Fetch<R>(out)[0];
}

template <class T> std::vector<T> Scan(Machine &m, HdScan scan, const std::vector<T> &x, size_t length) {
  HdArray in = m.Of(x), out = m.New<T>(length);
  EXPECT_EQ(hd_scan(m.algorithms, scan, in, out), HD_OK) << m.Why();
  return m.Fetch<T>(out);
}

// What an addition of integers gives; floats add in long double.
template <class T> auto Exact(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return (long double)a;
  else
    return std::make_unsigned_t<T>(a);
}

template <class T> void ExpectSum(T got, decltype(Exact(T())) want, size_t n, long double magnitude) {
  if constexpr (std::is_floating_point_v<T>)
    // Blocked sums: the error grows with the depth of the tree and the length of its chains, far below n.
    EXPECT_NEAR(double(got), double(want), double(std::numeric_limits<T>::epsilon() * 300 * magnitude)) << n;
  else
    EXPECT_EQ(got, T(want)) << n;
}

template <class T> void ExpectReductions(Machine &m, const std::vector<T> &x) {
  decltype(Exact(T())) sum = 0;
  long double magnitude = 0;
  int32_t least = -1, greatest = -1;
  for (size_t i = 0; i < x.size(); i++) {
    sum += Exact(x[i]);
    magnitude += std::fabs((long double)x[i]);
    if (x[i] != x[i]) continue;
    if (least < 0 || x[i] < x[size_t(least)]) least = int32_t(i);
    if (greatest < 0 || x[i] > x[size_t(greatest)]) greatest = int32_t(i);
  }
  using L = std::numeric_limits<T>;
  if (std::isfinite(double(magnitude))) ExpectSum<T>(Reduce(m, HD_REDUCE_SUM, x), sum, x.size(), magnitude);
  EXPECT_EQ(Reduce(m, HD_REDUCE_MIN, x), least < 0 ? L::has_infinity ? L::infinity() : L::max() : x[size_t(least)]);
  EXPECT_EQ(Reduce(m, HD_REDUCE_MAX, x),
            greatest < 0 ? L::has_infinity ? -L::infinity() : L::lowest() : x[size_t(greatest)]);
  EXPECT_EQ((Reduce<T, int32_t>(m, HD_REDUCE_ARGMIN, x)), least) << x.size();
  EXPECT_EQ((Reduce<T, int32_t>(m, HD_REDUCE_ARGMAX, x)), greatest) << x.size();
}

template <class T> void ExpectScans(Machine &m, const std::vector<T> &x) {
  auto inclusive = Scan(m, HD_SCAN_INCLUSIVE, x, x.size());
  auto exclusive = Scan(m, HD_SCAN_EXCLUSIVE, x, x.size());
  auto with_sum = Scan(m, HD_SCAN_EXCLUSIVE, x, x.size() + 1);
  EXPECT_TRUE(SameBits(exclusive, std::vector<T>(with_sum.begin(), with_sum.end() - 1)));
  decltype(Exact(T())) sum = 0;
  long double magnitude = 0;
  for (size_t i = 0; i < x.size(); i++) {
    ExpectSum<T>(exclusive[i], sum, i, magnitude);
    sum += Exact(x[i]);
    magnitude += std::fabs((long double)x[i]);
    ExpectSum<T>(inclusive[i], sum, i, magnitude);
    if (testing::Test::HasFailure()) return;
  }
  ExpectSum<T>(with_sum[x.size()], sum, x.size(), magnitude);
  HdArray in_place = m.Of(x);
  OK(m, hd_scan(m.algorithms, HD_SCAN_INCLUSIVE, in_place, in_place));
  EXPECT_TRUE(SameBits(m.Fetch<T>(in_place), inclusive)) << "in place";
}

template <class T> void ExpectAll(Machine &m, size_t n) {
  ExpectReductions(m, Values<T>(n));
  ExpectScans(m, Values<T>(n));
}

TEST(Reduce, TakesEverySizeAndType) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n :
       {0, 1, 2, 7, 8, 9, 127, 128, 256, 257, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097, 65536, 70001}) {
    ExpectAll<float>(m, n);
    ExpectAll<int32_t>(m, n);
  }
  for (size_t n : {0, 1, 600, 70001}) {
    ExpectAll<double>(m, n);
    ExpectAll<uint32_t>(m, n);
    ExpectAll<int64_t>(m, n);
  }
}

TEST(Reduce, PassesOverNanAndTakesTheFirstOfEquals) {
  Machine m;
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  ExpectReductions(m, std::vector<float>(1000, nan));
  ExpectReductions(m, std::vector<float>(5000, inf));
  ExpectReductions(m, std::vector<float>(5000, -inf));
  ExpectReductions(m, std::vector<int32_t>(5000, std::numeric_limits<int32_t>::max()));
  ExpectReductions(m, std::vector<int32_t>(5000, std::numeric_limits<int32_t>::min()));
  std::vector<double> x(20000, 3);
  for (size_t i = 0; i < x.size(); i += 3) x[i] = nan;
  x[4444] = x[17] = x[9001] = -2;
  x[12345] = x[19999] = 8;
  ExpectReductions(m, x);
  EXPECT_EQ((Reduce<double, int32_t>(m, HD_REDUCE_ARGMIN, x)), 17);
  EXPECT_EQ((Reduce<double, int32_t>(m, HD_REDUCE_ARGMAX, x)), 12345);
  EXPECT_TRUE(std::isnan(Reduce(m, HD_REDUCE_SUM, x)));
}

template <class T> T Dot(Machine &m, const std::vector<T> &x, const std::vector<T> &y) {
  HdArray a = m.Of(x), b = m.Of(y), out = m.New<T>(1);
  EXPECT_EQ(hd_dot(m.algorithms, a, b, out), HD_OK) << m.Why();
  return m.Fetch<T>(out)[0];
}

template <class T> void ExpectDot(Machine &m, size_t n) {
  auto x = Values<T>(n), y = Values<T>(n + 1);
  y.resize(n);
  decltype(Exact(T())) sum = 0;
  long double magnitude = 0;
  for (size_t i = 0; i < n; i++) {
    sum += Exact(x[i]) * Exact(y[i]);
    magnitude += std::fabs((long double)x[i] * (long double)y[i]);
  }
  ExpectSum<T>(Dot(m, x, y), sum, n, magnitude);
}

TEST(Reduce, SumsProducts) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n : {0, 1, 9, 511, 512, 513, 4096, 70001}) {
    ExpectDot<float>(m, n);
    ExpectDot<int32_t>(m, n);
  }
  ExpectDot<double>(m, 5000);
  ExpectDot<uint32_t>(m, 5000);
  ExpectDot<int64_t>(m, 5000);
}

TEST(Reduce, GoesOnAfterItsScratchMemoryIsGivenBack) {
  Machine m;
  auto x = Values<double>(20000);
  double before = Reduce(m, HD_REDUCE_SUM, x);
  OK(m, hd_stream_wait(m.stream));
  hd_algorithms_trim(m.algorithms);
  hd_algorithms_trim(m.algorithms);
  EXPECT_EQ(Reduce(m, HD_REDUCE_SUM, x), before);
}

class ReduceWays : public testing::TestWithParam<Way> {};

TEST_P(ReduceWays, GivesTheSameBits) {
  Machine m(GetParam());
  static Machine plain;
  for (size_t n : {1, 600, 5000}) {
    auto x = Values<float>(n);
    auto y = Values<double>(n);
    EXPECT_TRUE(SameBits(Scan(m, HD_SCAN_INCLUSIVE, x, n), Scan(plain, HD_SCAN_INCLUSIVE, x, n)));
    EXPECT_TRUE(SameBits(Scan(m, HD_SCAN_EXCLUSIVE, y, n + 1), Scan(plain, HD_SCAN_EXCLUSIVE, y, n + 1)));
    EXPECT_TRUE(SameBits<float>({Dot(m, x, x)}, {Dot(plain, x, x)}));
    x[n / 2] = -0.0f;
    x[n / 3] = std::numeric_limits<float>::quiet_NaN();
    for (HdReduce op : {HD_REDUCE_SUM, HD_REDUCE_MIN, HD_REDUCE_MAX}) {
      EXPECT_TRUE(SameBits<double>({Reduce(m, op, y)}, {Reduce(plain, op, y)}));
      if (op == HD_REDUCE_SUM) continue;
      EXPECT_TRUE(SameBits<float>({Reduce(m, op, x)}, {Reduce(plain, op, x)}));
    }
    ExpectReductions(m, Values<int32_t>(n));
    ExpectScans(m, Values<int32_t>(n));
    ExpectScans(m, Values<int64_t>(n + 424)); // 1024 among them, a whole block
    ExpectScans(m, Values<uint32_t>(n + 425));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ReduceWays, testing::ValuesIn(Ways()), WayName);

TEST(Reduce, TakesViews) {
  Machine m;
  auto x = Values<int32_t>(9000);
  HdArray all = m.Of(x), third, sum = m.New<int32_t>(1), out = m.New<int32_t>(3000);
  OK(m, hd_array_slice(m.ctx, all, 0, 8999, -1, -3, &third));
  OK(m, hd_reduce(m.algorithms, HD_REDUCE_SUM, third, sum));
  OK(m, hd_scan(m.algorithms, HD_SCAN_INCLUSIVE, third, out));
  auto got = m.Fetch<int32_t>(out);
  uint32_t want = 0;
  for (size_t i = 0; i < 3000; i++) {
    want += uint32_t(x[8999 - 3 * i]);
    ASSERT_EQ(got[i], int32_t(want)) << i;
  }
  EXPECT_EQ(m.Fetch<int32_t>(sum)[0], int32_t(want));
}

TEST(Reduce, RefusesWhatItCannotTake) {
  Machine m;
  HdArray x = m.New<float>(10), y = m.New<float>(11), z = m.New<float>(12), i = m.New<int32_t>(1),
          one = m.New<float>(1);
  HdArray wide = m.New<uint64_t>(10);
  EXPECT_EQ(hd_reduce(m.algorithms, HD_REDUCE_SUM, x, y), HD_ERR_SHAPE);
  EXPECT_EQ(hd_reduce(m.algorithms, HD_REDUCE_SUM, x, i), HD_ERR_TYPE);
  EXPECT_EQ(hd_reduce(m.algorithms, HD_REDUCE_ARGMIN, x, one), HD_ERR_TYPE);
  EXPECT_STREQ(hd_context_error(m.ctx)->detail, "wanted i32, got f32");
  EXPECT_EQ(hd_reduce(m.algorithms, HdReduce(0), x, one), HD_ERR_ARG);
  EXPECT_EQ(hd_reduce(m.algorithms, HD_REDUCE_SUM, wide, wide), HD_ERR_TYPE);
  EXPECT_EQ(hd_scan(m.algorithms, HD_SCAN_INCLUSIVE, x, y), HD_ERR_SHAPE);
  EXPECT_EQ(hd_scan(m.algorithms, HD_SCAN_EXCLUSIVE, x, z), HD_ERR_SHAPE);
  EXPECT_EQ(hd_scan(m.algorithms, HD_SCAN_EXCLUSIVE, x, wide), HD_ERR_TYPE);
  EXPECT_EQ(hd_scan(m.algorithms, HdScan(7), x, x), HD_ERR_ARG);
  EXPECT_EQ(hd_dot(m.algorithms, x, y, one), HD_ERR_SHAPE);
  EXPECT_EQ(hd_dot(m.algorithms, x, wide, one), HD_ERR_TYPE);
  EXPECT_EQ(hd_dot(m.algorithms, x, x, i), HD_ERR_TYPE);
  HdAlgorithms *none = nullptr;
  EXPECT_EQ(hd_algorithms_new(m.ctx, nullptr, nullptr, &none), HD_ERR_ARG);
  EXPECT_EQ(none, nullptr);
}

} // namespace
