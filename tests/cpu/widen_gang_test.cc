// tests/cpu/widen_gang_test.cc -- gang_min, gang_max and gang_count: of those lanes that run, whichever the gang is.
#include <algorithm>
#include <random>

#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

// Threads with an odd number in `y` write the least and the greatest x of their gang's odd ones.
std::string Extremes(const std::string &type) {
  return "kernel @k(%x: array<" + type + ", 1>, %y: array<i32, 1>, %lo: array<" + type + ", 1>, %hi: array<" + type +
         ", 1>) {\n"
         "  %i: i32 = tid 0\n"
         "  %px: ptr<" +
         type + "> = index %x, %i\n  %v: " + type +
         " = load %px\n"
         "  %py: ptr<i32> = index %y, %i\n  %w: i32 = load %py\n"
         "  %odd: i32 = and %w, 1i32\n  %c: bool = ne %odd, 0i32\n"
         "  if %c {\n"
         "    %a: " +
         type + " = gang_min %v\n    %b: " + type +
         " = gang_max %v\n"
         "    %pa: ptr<" +
         type +
         "> = index %lo, %i\n    store %pa, %a\n"
         "    %pb: ptr<" +
         type +
         "> = index %hi, %i\n    store %pb, %b\n"
         "    yield\n  }\n  return\n}\n";
}

template <class T> void Check(const std::string &type) {
  Kernel k(Extremes(type));
  std::mt19937_64 random(7);
  const size_t n = 117;
  std::vector<T> x(n), none(n, T(0));
  std::vector<int32_t> y(n);
  for (size_t i = 0; i < n; i++) x[i] = T(random()), y[i] = int32_t(random() & 0xff);
  for (const Way &w : Ways()) {
    std::vector<Arg> args = {Array(x), Array(y), Array(none), Array(none)};
    k.Run(w, &args, {(int64_t)n});
    std::vector<T> lo = As<T>(args[2]), hi = As<T>(args[3]);
    const size_t gang = w.width ? size_t(w.width) : 1;
    for (size_t i = 0; i < n; i++) {
      if (!(y[i] & 1)) continue;
      T least = x[i], most = x[i];
      for (size_t j = i / gang * gang; j < std::min(n, i / gang * gang + gang); j++)
        if (y[j] & 1) least = std::min(least, x[j]), most = std::max(most, x[j]);
      ASSERT_EQ(lo[i], least) << w.name() << " " << type << " thread " << i;
      ASSERT_EQ(hi[i], most) << w.name() << " " << type << " thread " << i;
    }
  }
}

TEST(WidenGang, ExtremesAreThoseOfTheLanesThatRun) {
  Check<int8_t>("i8");
  Check<uint16_t>("u16");
  Check<int32_t>("i32");
  Check<uint32_t>("u32");
  Check<int64_t>("i64");
  Check<uint64_t>("u64");
}

TEST(WidenGang, ThoseThatRunAreCounted) {
  Kernel k(R"(
kernel @k(%y: array<i32, 1>, %n: array<i32, 1>) {
  %i: i32 = tid 0
  %py: ptr<i32> = index %y, %i
  %w: i32 = load %py
  %low: i32 = and %w, 1i32
  %c: bool = ne %low, 0i32
  if %c {
    %high: bool = gt %w, 99i32
    %a: i32 = gang_count %high
    %all: i32 = gang_count true
    %b: i32 = mul %all, 100i32
    %s: i32 = add %a, %b
    %p: ptr<i32> = index %n, %i
    store %p, %s
    yield
  }
  return
}
)");
  std::mt19937 random(7);
  std::vector<int32_t> y(117);
  for (int32_t &v : y) v = int32_t(random() & 0xff);
  for (const Way &w : Ways()) {
    std::vector<Arg> args = {Array(y), Array(std::vector<int32_t>(y.size()))};
    k.Run(w, &args, {(int64_t)y.size()});
    std::vector<int32_t> n = As<int32_t>(args[1]);
    const size_t gang = size_t(w.width);
    for (size_t i = 0; i < y.size(); i++) {
      int32_t want = 0;
      for (size_t j = i / gang * gang; j < std::min(y.size(), i / gang * gang + gang); j++)
        if (y[j] & 1) want += 100 + (y[j] > 99);
      EXPECT_EQ(n[i], y[i] & 1 ? want : 0) << w.name() << " thread " << i;
    }
  }
}

// Whether they lie in one place, near, or far apart.
TEST(WidenGang, RangesOfNeighboursGiveTheSameBits) {
  const char text[] = R"(
kernel @k(%first: array<i32, 1>, %x: array<vec<f32, 3>, 1>, %out: array<f32, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %first, %i
  %lo: i32 = load %p
  %hi: i32 = add %lo, 8i32
  %s: f32 = loop (%sum: f32 = 0.0f32, %j: i32 = %lo) {
    %c: bool = lt %j, %hi
    if %c { yield } else { break %sum }
    %q: ptr<vec<f32, 3>> = index %x, %j
    %py: ptr<f32> = member %q, 1
    %v: f32 = load %py
    %t: f32 = add %sum, %v
    %k: i32 = add %j, 1i32
    continue %t, %k
  }
  %o: ptr<f32> = index %out, %i
  store %o, %s
  return
}
)";
  Kernel k(text);
  std::vector<int32_t> first(67);
  std::vector<float> x(3 * 1000);
  for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 17) - 8.25f;
  for (int32_t spread : {1, 5, 900}) {
    for (size_t i = 0; i < first.size(); i++) first[i] = int32_t(i * 37 % size_t(spread));
    Agree(&k, {Array(first), Array(x, {1000}), Array(std::vector<float>(first.size()))}, {67});
  }
}

} // namespace
