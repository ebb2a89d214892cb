// tests/algorithms/sort_test.cc -- radix sort against std::stable_sort.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/algorithms/algorithms_fixture.h"

namespace {

// The place of a key in its order, as an unsigned number: written apart from the kernels' way.
uint64_t Place(uint32_t k) { return k; }
uint64_t Place(uint64_t k) { return k; }
uint64_t Place(int32_t k) { return uint64_t(int64_t(k) + (1ll << 31)); }
uint64_t Place(int64_t k) { return uint64_t(k) + (1ull << 63); }
uint64_t Place(float k) {
  int32_t bits;
  memcpy(&bits, &k, 4);
  return bits < 0 ? uint32_t(~bits) : uint32_t(bits) + 0x80000000u;
}
uint64_t Place(double k) {
  int64_t bits;
  memcpy(&bits, &k, 8);
  return bits < 0 ? uint64_t(~bits) : uint64_t(bits) + (1ull << 63);
}

template <class K> uint64_t Looked(K key, const HdSortOptions &o) {
  uint64_t p = Place(key) >> o.first_bit;
  int bits = o.bits ? o.bits : int(8 * sizeof(K)) - o.first_bit;
  return bits == 64 ? p : p & ((1ull << bits) - 1);
}

template <class K, class V>
void Expect(Machine &m, const std::vector<K> &keys, const std::vector<V> &values,
            const HdSortOptions &o = HD_SORT_OPTIONS_INIT) {
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    uint64_t x = Looked(keys[a], o), y = Looked(keys[b], o);
    return o.descending ? x > y : x < y;
  });
  std::vector<K> want_keys;
  std::vector<V> want_values;
  for (size_t i : order) {
    want_keys.push_back(keys[i]);
    want_values.push_back(values[i]);
  }
  HdArray k = m.Of(keys), v = m.Of(values);
  OK(m, hd_sort_pairs(m.algorithms, k, v, &o));
  EXPECT_TRUE(SameBits(m.Fetch<K>(k), want_keys)) << keys.size() << " keys of " << sizeof(K) << " bytes";
  EXPECT_TRUE(SameBits(m.Fetch<V>(v), want_values)) << keys.size() << " values of " << sizeof(V) << " bytes";
  HdArray alone = m.Of(keys);
  OK(m, hd_sort_keys(m.algorithms, alone, &o));
  EXPECT_TRUE(SameBits(m.Fetch<K>(alone), want_keys)) << keys.size() << " keys alone";
}

template <class T> std::vector<T> Numbers(size_t n) {
  std::vector<T> x(n);
  for (size_t i = 0; i < n; i++) x[i] = T(i);
  return x;
}

template <class K> std::vector<K> Special(size_t n) { return Random<K>(n, 5); }
template <> std::vector<float> Special<float>(size_t n) {
  using L = std::numeric_limits<float>;
  const float all[] = {0.0f, -0.0f, L::infinity(),   -L::infinity(),   L::quiet_NaN(), -L::quiet_NaN(),
                       1,    -1,    L::denorm_min(), -L::denorm_min(), L::max(),       L::lowest()};
  std::vector<float> x;
  for (size_t i = 0; i < n; i++) x.push_back(all[i * 7 % 12]);
  return x;
}

class Sort : public testing::TestWithParam<Way> {};

TEST_P(Sort, OrdersEveryTypeAndCarriesValuesAlong) {
  Machine m(GetParam());
  const size_t n = 5000;
  Expect(m, Random<uint32_t>(n, 1), Numbers<uint32_t>(n));
  Expect(m, Random<int32_t>(n, 2), Numbers<double>(n));
  Expect(m, Random<uint64_t>(n, 3), Numbers<uint64_t>(n));
  Expect(m, Random<int64_t>(n, 4), Numbers<int32_t>(n));
  Expect(m, Random<float>(n, 5), Numbers<float>(n)); // NaN of either sign among them
  Expect(m, Random<double>(n, 6), Numbers<int64_t>(n));
}

TEST_P(Sort, KeepsEqualKeysInOrder) {
  Machine m(GetParam());
  const size_t n = 4500;
  auto few = Random<uint32_t>(n, 7);
  for (auto &k : few) k %= 3;
  HdSortOptions down = HD_SORT_OPTIONS_INIT;
  down.descending = true;
  Expect(m, few, Numbers<uint32_t>(n));
  Expect(m, few, Numbers<uint32_t>(n), down);
  Expect(m, std::vector<int32_t>(n, -1), Numbers<uint32_t>(n));
  Expect(m, Special<float>(n), Numbers<uint32_t>(n));
  Expect(m, Special<float>(n), Numbers<uint32_t>(n), down);
}

INSTANTIATE_TEST_SUITE_P(Ways, Sort, testing::ValuesIn(Ways()), WayName);

TEST(Sort, TakesEverySize) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n : {0, 1, 2, 3, 63, 64, 65, 2047, 2048, 2049, 4096, 131071, 131072, 131073, 140000}) {
    Expect(m, Random<uint32_t>(n, n), Numbers<uint32_t>(n));
    Expect(m, Random<int64_t>(n, n), Numbers<uint64_t>(n));
  }
}

TEST(Sort, TakesEverySizeAndAnyBitsByGroups) {
  Machine m({"cuda:0", 1, 0, true});
  for (size_t n : {2, 31, 32, 33, 511, 513, 4095, 4096, 4097, 9000})
    Expect(m, Random<uint32_t>(n, n), Numbers<uint32_t>(n));
  for (auto [first, bits] : {std::pair(0, 1), {2, 10}, {0, 17}, {31, 1}, {27, 0}})
    for (bool descending : {false, true}) {
      HdSortOptions o = {first, bits, descending};
      Expect(m, Random<int32_t>(700, 9), Numbers<uint32_t>(700), o);
      Expect(m, Random<double>(700, 10), Numbers<uint64_t>(700), o);
    }
}

class SortSegments : public testing::TestWithParam<Way> {};

// Against sorting each by std::stable_sort.
template <class K, class V>
void ExpectSegments(Machine &m, const std::vector<int32_t> &starts, const std::vector<K> &keys,
                    const std::vector<V> &values, const HdSortOptions &o = HD_SORT_OPTIONS_INIT) {
  std::vector<size_t> order(keys.size()), cuts = {0, keys.size()};
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  for (int32_t s : starts)
    if (s >= 0 && size_t(s) < keys.size()) cuts.push_back(size_t(s));
  std::sort(cuts.begin(), cuts.end());
  for (size_t c = 0; c + 1 < cuts.size(); c++)
    std::stable_sort(order.begin() + long(cuts[c]), order.begin() + long(cuts[c + 1]), [&](size_t a, size_t b) {
      uint64_t x = Looked(keys[a], o), y = Looked(keys[b], o);
      return o.descending ? x > y : x < y;
    });
  std::vector<K> want_keys;
  std::vector<V> want_values;
  for (size_t i : order) want_keys.push_back(keys[i]), want_values.push_back(values[i]);
  HdArray s = m.Of(starts), k = m.Of(keys), v = m.Of(values), alone = m.Of(keys);
  OK(m, hd_sort_segments(m.algorithms, s, k, &v, &o));
  OK(m, hd_sort_segments(m.algorithms, s, alone, nullptr, &o));
  EXPECT_TRUE(SameBits(m.Fetch<K>(k), want_keys)) << keys.size() << " keys, " << starts.size() << " starts";
  EXPECT_TRUE(SameBits(m.Fetch<V>(v), want_values)) << keys.size() << " values, " << starts.size() << " starts";
  EXPECT_TRUE(SameBits(m.Fetch<K>(alone), want_keys)) << keys.size() << " keys alone";
}

TEST_P(SortSegments, AreEachInOrderAndStayWhereTheyAre) {
  Machine m(GetParam());
  const size_t n = 2500;
  auto few = Random<int32_t>(n, 31);
  for (auto &k : few) k %= 5;
  std::vector<int32_t> starts = {0, 1, 7, 7, 900, 901, 2499};
  HdSortOptions down = {0, 0, true}, low_bits = {0, 9, false};
  ExpectSegments(m, starts, few, Numbers<uint32_t>(n));
  ExpectSegments(m, {2000, -1, 2500, 300, 1 << 30, 300}, Random<float>(n, 32), Numbers<double>(n), down);
  ExpectSegments(m, {}, few, Numbers<uint32_t>(n));
  ExpectSegments(m, {5}, Random<uint64_t>(n, 33), Numbers<uint64_t>(n), low_bits);
  ExpectSegments(m, Numbers<int32_t>(n), few, Numbers<uint32_t>(n)); // each alone
}

INSTANTIATE_TEST_SUITE_P(Ways, SortSegments, testing::ValuesIn(Ways()), WayName);

TEST(Sort, OfSegmentsTakesEverySizeAndViews) {
  Machine m({"cpu", 2, 0, true});
  for (size_t n : {0, 1, 2, 3, 1000}) ExpectSegments(m, {1, 2}, Random<int64_t>(n, n), Numbers<uint32_t>(n));
  auto keys = Random<uint32_t>(600, 41);
  HdArray all = m.Of(keys), starts = m.Of(std::vector<int32_t>{100}), k;
  OK(m, hd_array_slice(m.ctx, all, 0, 599, -1, -3, &k));
  OK(m, hd_sort_segments(m.algorithms, starts, k, nullptr, nullptr));
  std::vector<uint32_t> want;
  for (size_t i = 0; i < 200; i++) want.push_back(keys[599 - 3 * i]);
  std::sort(want.begin(), want.begin() + 100);
  std::sort(want.begin() + 100, want.end());
  EXPECT_EQ(m.Fetch<uint32_t>(k), want);
  HdArray floats = m.New<float>(3);
  EXPECT_EQ(hd_sort_segments(m.algorithms, floats, k, nullptr, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(hd_sort_segments(m.algorithms, starts, k, &starts, nullptr), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sort_segments(nullptr, starts, k, nullptr, nullptr), HD_ERR_ARG);
}

TEST(Sort, LooksAtTheBitsThatAreNamed) {
  Machine m;
  const size_t n = 3000;
  for (auto [first, bits] : {std::pair(0, 1),
                             {0, 7},
                             {0, 8},
                             {0, 9},
                             {2, 10},
                             {0, 11},
                             {0, 17},
                             {4, 20},
                             {0, 21},
                             {3, 24},
                             {31, 1},
                             {5, 0},
                             {31, 0}})
    for (bool descending : {false, true}) {
      HdSortOptions o = {first, bits, descending};
      Expect(m, Random<uint32_t>(n, 8), Numbers<uint32_t>(n), o);
      Expect(m, Random<int32_t>(n, 9), Numbers<uint32_t>(n), o);
      Expect(m, Random<double>(n, 10), Numbers<uint32_t>(n), o);
    }
}

TEST(Sort, TakesViews) {
  Machine m;
  auto keys = Random<uint32_t>(6000, 11);
  HdArray all = m.Of(keys), values = m.Of(Numbers<uint32_t>(4000)), k, v;
  OK(m, hd_array_slice(m.ctx, all, 0, 0, 6000, 3, &k));
  OK(m, hd_array_slice(m.ctx, values, 0, 3999, -1, -2, &v));
  std::vector<std::pair<uint32_t, uint32_t>> want;
  for (size_t i = 0; i < 2000; i++) want.emplace_back(keys[3 * i], 3999 - 2 * i);
  std::stable_sort(want.begin(), want.end(), [](auto &a, auto &b) { return a.first < b.first; });
  OK(m, hd_sort_pairs(m.algorithms, k, v, nullptr));
  auto got_k = m.Fetch<uint32_t>(k), got_v = m.Fetch<uint32_t>(v), rest = m.Fetch<uint32_t>(all);
  for (size_t i = 0; i < 2000; i++) {
    ASSERT_EQ(got_k[i], want[i].first);
    ASSERT_EQ(got_v[i], want[i].second);
    ASSERT_EQ(rest[3 * i + 1], keys[3 * i + 1]) << "between the view's elements";
  }
}

TEST(Sort, TakesViewsInAnOddNumberOfPasses) {
  Machine m;
  auto keys = Random<uint32_t>(5000, 15);
  for (auto &k : keys) k &= 0xffffff;
  HdArray all = m.Of(keys), k;
  OK(m, hd_array_slice(m.ctx, all, 0, 4999, -1, -2, &k));
  HdSortOptions three_bytes = {0, 24, false};
  OK(m, hd_sort_keys(m.algorithms, k, &three_bytes));
  std::vector<uint32_t> want;
  for (size_t i = 1; i < 5000; i += 2) want.push_back(keys[i]);
  std::sort(want.begin(), want.end());
  EXPECT_EQ(m.Fetch<uint32_t>(k), want);
  auto rest = m.Fetch<uint32_t>(all);
  for (size_t i = 0; i < 5000; i += 2) ASSERT_EQ(rest[i], keys[i]);
}

TEST(Sort, RefusesWhatItCannotSort) {
  Machine m;
  HdArray keys = m.New<uint32_t>(10), shorter = m.New<uint32_t>(9), bytes = m.New<uint8_t>(10);
  HdArray vectors = m.New(m.device, hd_type_vec(HD_F32, 2), 10), triples = m.New(m.device, hd_type_vec(HD_F32, 3), 10);
  EXPECT_EQ(hd_sort_keys(m.algorithms, bytes, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(m.Why(),
            "hd_sort_keys: keys: wanted i32, u32, i64, u64, f32 or f64, got u8; pass a value of the type that was "
            "wanted, or convert it");
  EXPECT_EQ(hd_sort_keys(m.algorithms, vectors, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(hd_sort_pairs(m.algorithms, keys, shorter, nullptr), HD_ERR_SHAPE);
  EXPECT_STREQ(hd_context_error(m.ctx)->detail, "wanted 10 elements, got 9");
  EXPECT_EQ(hd_sort_pairs(m.algorithms, keys, bytes, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(hd_sort_pairs(m.algorithms, keys, triples, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(hd_sort_pairs(m.algorithms, keys, vectors, nullptr), HD_OK) << m.Why();
  HdArray square, other = keys;
  const int64_t lengths[] = {2, 5};
  OK(m, hd_array_reshape(m.ctx, keys, 2, lengths, &square));
  EXPECT_EQ(hd_sort_keys(m.algorithms, square, nullptr), HD_ERR_SHAPE);
  other.device.kind = HD_DEVICE_INTERP;
  EXPECT_EQ(hd_sort_keys(m.algorithms, other, nullptr), HD_ERR_DEVICE);
  for (HdSortOptions o : {HdSortOptions{-1, 0, false}, {32, 0, false}, {0, -1, false}, {0, 33, false}, {20, 13, false}})
    EXPECT_EQ(hd_sort_keys(m.algorithms, keys, &o), HD_ERR_OPTION);
}

TEST(Sort, IsKeptByAGraph) {
  Machine m;
  auto first = Random<uint32_t>(3000, 12), second = Random<uint32_t>(3000, 13);
  HdArray source = m.Of(first), keys = m.New<uint32_t>(3000);
  OK(m, hd_graph_begin(m.stream));
  OK(m, hd_array_copy(m.stream, source, keys));
  OK(m, hd_sort_keys(m.algorithms, keys, nullptr));
  HdGraph *graph;
  OK(m, hd_graph_end(m.stream, &graph));
  // A larger call does not take away the scratch memory that the graph uses.
  HdArray more = m.Of(Random<uint32_t>(9000, 14));
  OK(m, hd_sort_keys(m.algorithms, more, nullptr));
  for (auto &x : {first, second}) {
    OK(m, hd_stream_wait(m.stream));
    memcpy(source.data, x.data(), x.size() * sizeof(uint32_t));
    OK(m, hd_graph_launch(graph, m.stream));
    auto want = x;
    std::sort(want.begin(), want.end());
    EXPECT_EQ(m.Fetch<uint32_t>(keys), want);
  }
  hd_graph_free(graph);
}

TEST(Sort, RunsOnTwoStreamsAtOnce) {
  Machine m({"cpu", 3, 0, false});
  HdStream *second;
  HdAlgorithms *apart;
  OK(m, hd_stream_new(m.ctx, m.cpu, HD_STREAM_ASYNC, &second));
  OK(m, hd_algorithms_new(m.ctx, second, nullptr, &apart));
  const size_t n = 200000;
  auto x = Random<uint64_t>(n, 21), y = Random<uint64_t>(n, 22);
  for (int round = 0; round < 3; round++) {
    HdArray a = m.Of(x), b = m.Of(y);
    OK(m, hd_sort_keys(m.algorithms, a, nullptr));
    OK(m, hd_sort_keys(apart, b, nullptr));
    OK(m, hd_stream_wait(second));
    auto want_x = x, want_y = y;
    std::sort(want_x.begin(), want_x.end());
    std::sort(want_y.begin(), want_y.end());
    EXPECT_EQ(m.Fetch<uint64_t>(a), want_x);
    EXPECT_EQ(m.Fetch<uint64_t>(b), want_y);
  }
  hd_algorithms_free(apart);
  hd_stream_free(second);
}

} // namespace
