// tests/runtime/view_test.cc -- copies between views of all strides, against element by element.
#include "runtime/view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

char *element(const RtView &v, const int64_t at[]) {
  char *p = v.data;
  for (int k = 0; k < v.ndim; k++) p += at[k] * v.stride[k] * static_cast<int64_t>(v.elem);
  return p;
}

template <typename F> void each(const RtView &v, F f) {
  int64_t at[4] = {0, 0, 0, 0};
  for (int k = 0; k < v.ndim; k++)
    if (v.length[k] == 0) return;
  for (;;) {
    f(at);
    int k = v.ndim - 1;
    while (k >= 0 && ++at[k] == v.length[k]) at[k--] = 0;
    if (k < 0) return;
  }
}

struct Random {
  std::mt19937 gen{7};
  int operator()(int n) { return static_cast<int>(gen() % static_cast<unsigned>(n)); }
};

// A view with gaps, permuted and reversed axes, in memory of its own.
struct Memory {
  std::vector<char> bytes;
  RtView view;
  Memory(Random &r, int ndim, const int64_t length[], uint32_t elem, int fill) {
    std::vector<int> order;
    for (int k = 0; k < ndim; k++) order.insert(order.begin() + r(k + 1), k);
    view = {nullptr, {}, {}, ndim, elem, nullptr, nullptr};
    int64_t step = 1 + r(2), low = 0;
    for (int k : order) {
      view.length[k] = length[k];
      view.stride[k] = r(4) == 0 ? -step : step;
      if (view.stride[k] < 0) low += step * std::max<int64_t>(length[k] - 1, 0);
      step = step * std::max<int64_t>(length[k], 1) + r(2) * r(3);
    }
    bytes.assign(static_cast<size_t>((step + low + 8) * elem), static_cast<char>(fill));
    view.data = bytes.data() + low * elem;
  }
};

TEST(View, CopiesWhateverTheStrides) {
  Random r;
  for (int round = 0; round < 3000; round++) {
    int ndim = 1 + r(4);
    int64_t length[4];
    const uint32_t sizes[] = {1, 2, 4, 8, 12, 16, 24, 36};
    uint32_t elem = sizes[r(8)];
    for (int k = 0; k < ndim; k++) length[k] = r(12) == 0 ? 0 : 1 + r(5);
    Memory from(r, ndim, length, elem, 0), to(r, ndim, length, elem, 0x55);
    for (auto &b : from.bytes) b = static_cast<char>(r(256));
    std::vector<char> expected = to.bytes;
    RtView want = to.view;
    want.data = expected.data() + (to.view.data - to.bytes.data());
    each(want, [&](const int64_t at[]) { memcpy(element(want, at), element(from.view, at), elem); });
    hdrt_view_copy(&from.view, &to.view);
    ASSERT_EQ(to.bytes, expected) << "round " << round;
  }
}

TEST(View, ClearsOnlyItsElements) {
  Random r;
  for (int round = 0; round < 1000; round++) {
    int ndim = 1 + r(4);
    int64_t length[4];
    for (int k = 0; k < ndim; k++) length[k] = r(12) == 0 ? 0 : 1 + r(5);
    Memory v(r, ndim, length, 1 + static_cast<uint32_t>(r(9)), 0x55);
    std::vector<char> expected = v.bytes;
    RtView want = v.view;
    want.data = expected.data() + (v.view.data - v.bytes.data());
    each(want, [&](const int64_t at[]) { memset(element(want, at), 0, want.elem); });
    hdrt_view_clear(&v.view);
    ASSERT_EQ(v.bytes, expected) << "round " << round;
  }
}

TEST(View, RepeatsAnElementOfStrideZero) {
  float x = 3, y[6] = {};
  RtView from = {reinterpret_cast<char *>(&x), {2, 3}, {0, 0}, 2, 4, nullptr, nullptr};
  RtView to = {reinterpret_cast<char *>(y), {2, 3}, {3, 1}, 2, 4, nullptr, nullptr};
  hdrt_view_copy(&from, &to);
  for (float v : y) EXPECT_EQ(v, 3);
}

} // namespace
