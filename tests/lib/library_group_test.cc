// tests/lib/library_group_test.cc -- what the threads of a group find out together, against plain loops in the order that the
// library states; everywhere with the same bits.
#include <algorithm>
#include <random>

#include "library_testing.h"

namespace {

constexpr int kGroups = 3; // of a launch

std::string Kernel(int group, const std::string &head, const std::string &body) {
  return "@group(" + std::to_string(group) + ") kernel k(" + head + ") { let i = tid(); " + body + " }";
}

template <typename T> std::vector<T> Numbers(int n, T low, T high) {
  static std::mt19937_64 rng(11);
  std::vector<T> v(static_cast<size_t>(n));
  for (T &x : v) x = static_cast<T>(std::uniform_real_distribution<double>(low, high)(rng));
  return v;
}

// The sum of n neighbours, n a power of two: of their halves' sums.
float Tree(const float *x, int n) { return n == 1 ? *x : Tree(x, n / 2) + Tree(x + n / 2, n / 2); }

// The sums of the 32s one after the other.
float InOrder(const float *x, int n) {
  float s = Tree(x, 32);
  for (int k = 32; k < n; k += 32) s += Tree(x + k, 32);
  return s;
}

class Group : public testing::TestWithParam<int> {
protected:
  const int size = GetParam(), n = size * kGroups;
  static const int *Of(const std::vector<int32_t> &x, int group, int size) {
    return &x[static_cast<size_t>(group * size)];
  }
};

TEST_P(Group, SumsAndExtremesAndCounts) {
  auto x = Numbers<int32_t>(n, -1000, 1000);
  std::vector<int32_t> sum(x.size()), least(x.size()), most(x.size()), count(x.size()), votes(x.size());
  Everywhere::AndOnGpu().Run(
      Kernel(size, "i32 x[], i32 sum[], i32 least[], i32 most[], i32 count[], i32 votes[]",
             "sum[i] = group_sum(x[i]); least[i] = group_min(x[i]); most[i] = group_max(x[i]); count[i] = "
             "group_count(x[i] > 300); votes[i] = (group_any(x[i] > 990) ? 1 : 0) + (group_all(x[i] > -990) ? 2 : 0);"),
      n, x, sum, least, most, count, votes);
  for (int i = 0; i < n; i++) {
    const int32_t *first = Of(x, i / size, size), *last = first + size;
    const size_t at = static_cast<size_t>(i);
    int total = 0;
    for (const int32_t *p = first; p < last; p++) total += *p;
    ASSERT_EQ(sum[at], total);
    ASSERT_EQ(least[at], *std::min_element(first, last));
    ASSERT_EQ(most[at], *std::max_element(first, last));
    ASSERT_EQ(count[at], std::count_if(first, last, [](int v) { return v > 300; }));
    ASSERT_EQ(votes[at], std::any_of(first, last, [](int v) { return v > 990; }) +
                             2 * std::all_of(first, last, [](int v) { return v > -990; }));
  }
}

TEST_P(Group, SumsOfFloatsHaveTheStatedOrder) {
  auto x = Numbers<float>(n, -1, 1);
  std::vector<float> sum(x.size()), scan(x.size());
  Everywhere::AndOnGpu().Run(
      Kernel(size, "f32 x[], f32 sum[], f32 scan[]", "sum[i] = group_sum(x[i]); scan[i] = group_scan(x[i]);"), n, x,
      sum, scan);
  for (int i = 0; i < n; i++) {
    const int first = i / size * size;
    const size_t at = static_cast<size_t>(i);
    ASSERT_EQ(BitsOf(sum[at]), BitsOf(InOrder(&x[static_cast<size_t>(first)], size))) << i;
    double exact = 0;
    for (int k = first; k <= i; k++) exact += x[static_cast<size_t>(k)];
    ASSERT_NEAR(scan[at], exact, 1e-4);
    if (i + 1 == first + size) { ASSERT_EQ(BitsOf(scan[at]), BitsOf(sum[at])) << "the last thread's"; }
  }
}

TEST_P(Group, RunningSumsAndValuesOfOneThread) {
  auto x = Numbers<int32_t>(n, -50, 50);
  std::vector<int32_t> scan(x.size()), before(x.size()), one(x.size());
  Everywhere::AndOnGpu().Run(Kernel(size, "i32 x[], i32 scan[], i32 before[], i32 one[]",
                                    "scan[i] = group_scan(x[i]); before[i] = group_scan_exclusive(x[i]); "
                                    "for (k in 0..3) one[i] += group_broadcast(x[i], 40 * k - 7);"),
                             n, x, scan, before, one);
  for (int i = 0; i < n; i++) {
    const int first = i / size * size;
    const size_t at = static_cast<size_t>(i);
    int total = 0, ones = 0;
    for (int k = first; k < i; k++) total += x[static_cast<size_t>(k)];
    for (int k = 0; k < 3; k++) ones += x[static_cast<size_t>(first + ((40 * k - 7) % size + size) % size)];
    ASSERT_EQ(before[at], total) << i;
    ASSERT_EQ(scan[at], total + x[at]) << i;
    ASSERT_EQ(one[at], ones);
  }
}

TEST_P(Group, Sorts) {
  auto x = Numbers<int32_t>(n, -40, 40); // many are equal
  auto y = Numbers<float>(n, -1, 1);
  std::vector<int32_t> sorted(x.size());
  std::vector<float> ordered(x.size());
  Everywhere::AndOnGpu().Run(Kernel(size, "i32 x[], f32 y[], i32 sorted[], f32 ordered[]",
                                    "sorted[i] = group_sort(x[i]); ordered[i] = group_sort(y[i]);"),
                             n, x, y, sorted, ordered);
  for (int g = 0; g < kGroups; g++) {
    std::sort(x.begin() + g * size, x.begin() + (g + 1) * size);
    std::sort(y.begin() + g * size, y.begin() + (g + 1) * size);
  }
  EXPECT_EQ(sorted, x);
  EXPECT_EQ(ordered, y);
}

INSTANTIATE_TEST_SUITE_P(Of, Group, testing::Values(32, 96, 256, 1024),
                         [](const auto &i) { return std::to_string(i.param) + "Threads"; });

} // namespace
