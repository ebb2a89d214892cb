// tests/algorithms/select_test.cc -- run lengths, compaction and histograms against plain loops.
#include "tests/algorithms/algorithms_fixture.h"

namespace {

template <class T> void ExpectCompact(Machine &m, const std::vector<T> &flags) {
  std::vector<int32_t> want;
  for (size_t i = 0; i < flags.size(); i++)
    if (flags[i] != T(0)) want.push_back(int32_t(i));
  HdArray in = m.Of(flags), indices = m.Of(std::vector<int32_t>(flags.size() + 3, -7)), count = m.Of<int32_t>({99});
  OK(m, hd_compact(m.algorithms, in, indices, count));
  EXPECT_EQ(m.Fetch<int32_t>(count)[0], int32_t(want.size())) << flags.size();
  want.resize(flags.size() + 3, -7); // behind the last nothing is written
  EXPECT_EQ(m.Fetch<int32_t>(indices), want) << flags.size();
}

template <class T> void ExpectRuns(Machine &m, const std::vector<T> &x) {
  std::vector<T> values;
  std::vector<int32_t> lengths;
  for (size_t i = 0; i < x.size(); i++)
    if (i > 0 && memcmp(&x[i], &x[i - 1], sizeof(T)) == 0)
      lengths.back()++;
    else
      values.push_back(x[i]), lengths.push_back(1);
  HdArray in = m.Of(x), v = m.New<T>(x.size()), l = m.Of(std::vector<int32_t>(x.size(), -7)),
          count = m.Of<int32_t>({99});
  OK(m, hd_run_lengths(m.algorithms, in, v, l, count));
  EXPECT_EQ(m.Fetch<int32_t>(count)[0], int32_t(values.size())) << x.size();
  values.resize(x.size());
  lengths.resize(x.size(), -7);
  EXPECT_TRUE(SameBits(m.Fetch<T>(v), values)) << x.size();
  EXPECT_EQ(m.Fetch<int32_t>(l), lengths) << x.size();
}

// n numbers in runs of up to `longest`.
template <class T> std::vector<T> Runs(size_t n, size_t longest) {
  std::mt19937 random{uint32_t(n + longest)};
  std::vector<T> x;
  while (x.size() < n)
    x.insert(x.end(), std::min<size_t>(random() % longest + 1, n - x.size()), T(random() % 3) - T(1));
  return x;
}

template <class T> std::vector<T> Flags(size_t n, uint32_t one_in) {
  std::mt19937 random{uint32_t(n)};
  std::vector<T> x;
  for (size_t i = 0; i < n; i++) x.push_back(random() % one_in == 0 ? T(random() | 1) : T(0));
  return x;
}

constexpr size_t kSizes[] = {0, 1, 2, 15, 16, 17, 1023, 1024, 1025, 2048, 40000};

TEST(Select, CompactsEverySizeAndType) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n : kSizes) {
    ExpectCompact(m, Flags<uint8_t>(n, 2));
    ExpectCompact(m, Flags<int32_t>(n, 10));
    ExpectCompact(m, std::vector<uint32_t>(n, 0));
    ExpectCompact(m, std::vector<uint32_t>(n, 1u << 31));
  }
  ExpectCompact(m, Flags<uint8_t>(5000, 3000));
  HdArray flags = m.New<bool>(3), index = m.New<int32_t>(3), count = m.New<int32_t>(1);
  static_cast<bool *>(flags.data)[1] = true;
  OK(m, hd_compact(m.algorithms, flags, index, count));
  EXPECT_EQ(m.Fetch<int32_t>(count)[0], 1);
  EXPECT_EQ(m.Fetch<int32_t>(index)[0], 1);
}

TEST(Select, FindsRunsOfEverySizeAndType) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n : kSizes) {
    for (size_t longest : {1, 3, 100, 5000}) ExpectRuns(m, Runs<int32_t>(n, longest));
    ExpectRuns(m, Runs<double>(n, 10));
    ExpectRuns(m, std::vector<uint64_t>(n, 5));
  }
  // By bits: zeros differ, a NaN equals itself.
  const float nan = std::nanf("");
  ExpectRuns(m, std::vector<float>{0.0f, -0.0f, -0.0f, nan, nan, 0.0f, 0.0f});
}

class SelectWays : public testing::TestWithParam<Way> {};

TEST_P(SelectWays, GivesTheSame) {
  Machine m(GetParam());
  ExpectCompact(m, Flags<uint8_t>(5000, 3));
  ExpectCompact(m, Flags<uint32_t>(3000, 2));
  ExpectRuns(m, Runs<float>(5000, 4));
  ExpectRuns(m, Runs<int64_t>(3000, 2000));
  std::vector<int32_t> x(4000), want(7);
  for (size_t i = 0; i < x.size(); i++) x[i] = int32_t(i * i % 11) - 2;
  for (int32_t v : x)
    if (v >= 0 && v < 7) want[size_t(v)]++;
  HdArray in = m.Of(x), bins = m.Of(std::vector<int32_t>(7, 5));
  OK(m, hd_histogram(m.algorithms, in, bins));
  EXPECT_EQ(m.Fetch<int32_t>(bins), want);
}

INSTANTIATE_TEST_SUITE_P(Ways, SelectWays, testing::ValuesIn(Ways()), WayName);

TEST(Select, CountsIntoFewAndManyBins) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n : {0, 1, 1000, 32768, 100000})
    for (size_t count : {0, 1, 10, 4096, 4097}) {
      auto x = Random<uint32_t>(n, n + count);
      std::vector<int32_t> want(count);
      for (auto &v : x) {
        v = v % 5 ? v % uint32_t(count + 1) : v;
        if (v < count) want[v]++;
      }
      HdArray in = m.Of(x), bins = m.Of(std::vector<int32_t>(count, 3));
      OK(m, hd_histogram(m.algorithms, in, bins));
      EXPECT_EQ(m.Fetch<int32_t>(bins), want) << n << " into " << count;
    }
}

TEST(Select, RefusesWhatItCannotTake) {
  Machine m;
  HdArray x = m.New<float>(10), i = m.New<int32_t>(10), u = m.New<uint32_t>(10), few = m.New<int32_t>(9);
  HdArray one = m.New<int32_t>(1), triples = m.New(m.device, hd_type_vec(HD_F32, 3), 10), f9 = m.New<float>(9);
  EXPECT_EQ(hd_compact(m.algorithms, x, i, one), HD_ERR_TYPE);
  EXPECT_EQ(hd_compact(m.algorithms, u, u, one), HD_ERR_TYPE);
  EXPECT_EQ(hd_compact(m.algorithms, u, few, one), HD_ERR_SHAPE);
  EXPECT_STREQ(hd_context_error(m.ctx)->detail, "wanted room for 10 elements, got 9");
  EXPECT_EQ(hd_compact(m.algorithms, u, i, i), HD_ERR_SHAPE);
  EXPECT_EQ(hd_run_lengths(m.algorithms, triples, triples, i, one), HD_ERR_TYPE);
  EXPECT_EQ(hd_run_lengths(m.algorithms, x, u, i, one), HD_ERR_TYPE);
  EXPECT_EQ(hd_run_lengths(m.algorithms, x, f9, i, one), HD_ERR_SHAPE);
  EXPECT_EQ(hd_run_lengths(m.algorithms, x, x, few, one), HD_ERR_SHAPE);
  EXPECT_EQ(hd_histogram(m.algorithms, x, i), HD_ERR_TYPE);
  EXPECT_EQ(hd_histogram(m.algorithms, i, u), HD_ERR_TYPE);
}

} // namespace
