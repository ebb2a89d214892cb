// tests/cpu/widen_private_test.cc -- atomics on a copy of the array that is the span's own.
#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

std::string Text(const std::string &op, const std::string &type, bool masked) {
  std::string s = "kernel @k(%key: array<i32, 1>, %bin: array<" + type +
                  ", 1>) {\n  %i: i32 = tid 0\n"
                  "  %kp: ptr<i32> = index %key, %i\n  %k: i32 = load %kp\n";
  if (masked) s += "  %odd: i32 = and %i, 1i32\n  %c: bool = eq %odd, 1i32\n  if %c {\n";
  s += "  %p: ptr<" + type + "> = index %bin, %k\n  %v: " + type + " = " + (type == "i32" ? "add %i, 0i32" : "cvt %i") +
       "\n  %o: " + type + " = " + op + " %p, %v\n";
  if (masked) s += "  yield\n  } else {\n  yield\n  }\n";
  return s + "  return\n}\n";
}

std::vector<Way> SomeWays() {
  std::vector<Way> ways;
  for (const Way &w : Ways())
    if (w.width != 8) ways.push_back(w);
  return ways;
}

TEST(WidenPrivate, LongSpansCountAsShortOnesDo) {
  std::vector<int32_t> key;
  for (int i = 0; i < 6000; i++) key.push_back(i * 7919 % 61);
  for (const char *op : {"atomic_add", "atomic_or", "atomic_xor", "atomic_max", "atomic_min"})
    for (const char *type : {"i32", "u32", "u64"})
      for (bool masked : {false, true}) {
        Kernel k(Text(op, type, masked));
        Arg bins;
        bins.length = {64};
        bins.bytes.assign(64 * (type[1] == '6' ? 8 : 4), 3);
        SCOPED_TRACE(Text(op, type, masked));
        Agree(&k, {Array(key), bins}, {6000}, SomeWays());
      }
}

// Keys that lie in memory are read one by one; those that were changed in between, or are used again, are not.
TEST(WidenPrivate, KeysFromMemoryAndKeysThatWereComputed) {
  std::string text = Text("atomic_add", "i32", false), stored = text, used = text;
  stored.insert(stored.find("  %p: "), "  store %kp, 0i32\n");
  used.insert(used.find("  return"), "  store %kp, %v\n  %k2: ptr<i32> = index %key, %k\n  store %k2, 7i32\n");
  std::vector<int32_t> key;
  for (int i = 0; i < 3000; i++) key.push_back(i * 31 % 60);
  for (const std::string &s : {text, stored, used}) {
    SCOPED_TRACE(s);
    Kernel k(s);
    std::vector<Way> ways = SomeWays();
    for (Way &w : ways) w.serial = true;
    Agree(&k, {Array(key), Array(std::vector<int32_t>(60))}, {3000}, ways);
    if (s != used) Agree(&k, {Array(key), Array(std::vector<int32_t>(60))}, {3000}, SomeWays());
  }
}

// An array larger than a copy may be.
TEST(WidenPrivate, LargeArraysStayShared) {
  std::vector<int32_t> key;
  for (int i = 0; i < 30000; i++) key.push_back(i * 7919 % 20000);
  Kernel k(Text("atomic_add", "i32", false));
  Agree(&k, {Array(key), Array(std::vector<int32_t>(20000, 5))}, {30000}, SomeWays());
}

// The first keys are the bins: what a gang adds, later ones read.
TEST(WidenPrivate, ArraysThatOverlapAreSeenAtOnce) {
  Kernel k(R"(
kernel @k(%key: array<i32, 1>, %bin: array<i32, 1>) {
  %i: i32 = tid 0
  %kp: ptr<i32> = index %key, %i
  %k: i32 = load %kp
  %low: i32 = and %k, 63i32
  %at: i32 = add %low, 64i32
  %p: ptr<i32> = index %bin, %at
  %o: i32 = atomic_add %p, 1i32
  return
}
)");
  for (const Way &way : SomeWays()) {
    std::vector<int32_t> got(4000), want;
    for (int i = 0; i < 4000; i++) got[(size_t)i] = i * 7 % 64;
    want = got;
    // One gang after the other reads its keys, then adds.
    for (int g = 0; g < 4000; g += way.width) {
      std::vector<int32_t> keys(want.begin() + g, want.begin() + g + way.width);
      for (int l = 0; l < way.width && g + l < 4000; l++) want[(size_t)(keys[(size_t)l] & 63) + 64]++;
    }
    int64_t desc[6] = {(int64_t)(uintptr_t)got.data(), 4000, 1, (int64_t)(uintptr_t)got.data(), 128, 1};
    RtSpan s = {};
    RtFault f = {};
    s.dim[0] = s.end = 4000;
    s.dim[1] = s.dim[2] = s.dim[3] = 1;
    s.ndim = 1;
    s.fault = &f;
    RtEntry entry = k.Entry(way);
    ASSERT_NE(entry, nullptr);
    entry(desc, &s, nullptr);
    EXPECT_EQ(got, want) << way.name();
  }
}

TEST(WidenPrivate, OnlyWhereNobodySeesTheDelay) {
  Way way{"x86-64-v3", 8};
  EXPECT_NE(Kernel(Text("atomic_add", "i32", false)).Llvm(way).find("%flush"), std::string::npos);
  EXPECT_EQ(Kernel(Text("atomic_min", "i32", false)).Llvm(way).find("%flush"), std::string::npos);
  std::string reads = Text("atomic_add", "i32", false), uses = reads;
  reads.insert(reads.find("  return"), "  %z: i32 = load %p\n  store %kp, %z\n");
  EXPECT_EQ(Kernel(reads).Llvm(way).find("%flush"), std::string::npos);
  uses.insert(uses.find("  return"), "  store %kp, %o\n");
  EXPECT_EQ(Kernel(uses).Llvm(way).find("%flush"), std::string::npos);
  way.dense = false;
  EXPECT_EQ(Kernel(Text("atomic_add", "i32", false)).Llvm(way).find("%flush"), std::string::npos);
}

} // namespace
