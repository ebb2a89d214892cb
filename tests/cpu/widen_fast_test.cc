// tests/cpu/widen_fast_test.cc -- what `fast` changes, against the true value.
#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

const char kRoot[] = R"(
kernel @k(%x: array<f32, 1>, %y: array<f32, 1>) {
  %i: i32 = tid 0
  %px: ptr<f32> = index %x, %i
  %py: ptr<f32> = index %y, %i
  %a: f32 = load %px
  %b: f32 = load %py
  %r: f32 = sqrt %b
  %q: f32 = div %a, %r
  store %py, %q
  return
}
)";

std::vector<Way> FastWays() {
  std::vector<Way> ways = Ways();
  ways.push_back(ways.back());
  ways.back().width = 32;
  for (Way &w : ways) w.fast = true;
  return ways;
}

TEST(WidenFast, QuotientsOfRootsAreWithinFourUlps) {
  Kernel k(kRoot);
  std::vector<float> x, y;
  for (int e = -125; e < 127; e++)
    for (float m : {1.0f, 1.0000001f, 1.3f, 1.7320508f, 1.9999999f})
      x.push_back(e % 7 - 3.5f), y.push_back(std::ldexp(m, e));
  for (const Way &w : FastWays()) {
    std::vector<Arg> args = {Array(x), Array(y)};
    k.Run(w, &args, {(int64_t)x.size()});
    std::vector<float> got = As<float>(args[1]);
    for (size_t i = 0; i < x.size(); i++) {
      double want = x[i] / std::sqrt((double)y[i]);
      ASSERT_LE(std::fabs(got[i] - want), 4 * std::ldexp(std::fabs(want), -23))
          << w.name() << ": " << x[i] << " / sqrt " << y[i];
    }
  }
}

TEST(WidenFast, SpecialValuesStay) {
  Kernel k(kRoot);
  const float inf = INFINITY, nan = NAN;
  std::vector<float> x = {1, -1, 0, 1, 0, 1, 1, inf, 2, 1, 0, nan, 1, 1, 1, 1, 1};
  std::vector<float> y = {0, 0, 0, inf, inf, nan, -1, 4, 4, 0.0f, 1, 1, -inf, 1, 16, 0.25f, -0.0f};
  for (const Way &w : FastWays()) {
    std::vector<Arg> args = {Array(x), Array(y)};
    k.Run(w, &args, {(int64_t)x.size()});
    std::vector<float> got = As<float>(args[1]);
    for (size_t i = 0; i < x.size(); i++) {
      float want = x[i] / std::sqrt(y[i]);
      bool same = std::isnan(want) ? std::isnan(got[i]) : got[i] == want || std::fabs(got[i] - want) <= 1e-6f;
      EXPECT_TRUE(same) << w.name() << ": " << x[i] << " / sqrt " << y[i] << " is " << got[i];
    }
  }
}

TEST(WidenFast, TheDefaultIsExact) {
  Kernel k(kRoot);
  std::vector<float> x, y;
  for (int i = 0; i < 100; i++) x.push_back(1 + (float)i / 7), y.push_back((float)i * (float)i / 3);
  Agree(&k, {Array(x), Array(y)}, {100});
}

} // namespace
