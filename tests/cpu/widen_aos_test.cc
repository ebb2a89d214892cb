// tests/cpu/widen_aos_test.cc -- neighbouring scalars that are loaded and stored together.
#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

struct Case {
  std::vector<const char *> fields; // types of the struct's fields
  unsigned loads, stores;           // which of them
  bool gather = false, masked = false, scatter = false;
};

// for each i: read fields of a[j], add 1, write fields of b[i] (or b[k[i]]); j is i or k[i]
std::string Text(const Case &c) {
  std::string s = "struct %S { ";
  for (size_t f = 0; f < c.fields.size(); f++) s += (f ? ", f" : "f") + std::to_string(f) + ": " + c.fields[f];
  s += " }\nkernel @k(%a: array<%S, 1>, %b: array<%S, 1>, %k: array<i32, 1>) {\n  %i: i32 = tid 0\n  %kp: ptr<i32> = "
       "index %k, %i\n"
       "  %kv: i32 = load %kp\n";
  if (c.masked) s += "  %c: bool = lt %kv, 20i32\n  if %c {\n";
  s += std::string("  %pa: ptr<%S> = index %a, ") + (c.gather ? "%kv" : "%i") + "\n  %pb: ptr<%S> = index %b, " +
       (c.scatter ? "%kv" : "%i") + "\n";
  std::string last[8];
  for (size_t f = 0; f < c.fields.size(); f++) {
    if (!(c.loads >> f & 1)) continue;
    std::string n = std::to_string(f), t = c.fields[f],
                one = t == "i32" || t == "i64" || t == "u8" ? "1" + t : "1.0" + t;
    s += "  %p" + n + ": ptr<" + t + "> = member %pa, " + n + "\n  %v" + n + ": " + t + " = load %p" + n + "\n";
    s += "  %w" + n + ": " + t + " = add %v" + n + ", " + one + "\n";
    last[f] = "%w" + n;
  }
  for (size_t f = 0; f < c.fields.size(); f++) {
    if (!(c.stores >> f & 1)) continue;
    std::string n = std::to_string(f), t = c.fields[f], v;
    for (size_t g = 0; g < c.fields.size(); g++) // a loaded value of this type
      if (!last[g].empty() && t == c.fields[g]) v = last[g];
    if (!last[f].empty()) v = last[f];
    s += "  %q" + n + ": ptr<" + t + "> = member %pb, " + n + "\n  store %q" + n + ", " + v + "\n";
  }
  if (c.masked) s += "  yield\n  } else {\n  yield\n  }\n";
  return s + "  return\n}\n";
}

std::vector<Way> FewWays() {
  std::vector<Way> ways;
  for (const Way &w : Ways())
    if ((w.target == "x86-64-v2" && w.width == 4) || (w.target == "x86-64-v3" && w.width >= 8) ||
        (w.target == "x86-64-v4" && w.width == 16))
      ways.push_back(w);
  return ways;
}

void Check(const Case &c, const std::vector<int64_t> &sizes) {
  SCOPED_TRACE(Text(c));
  Kernel k(Text(c));
  uint32_t size = k.fn()->body->params[0]->type->elem->size;
  for (int64_t n : sizes) {
    Arg a, b;
    std::vector<int32_t> order;
    a.length = b.length = {n};
    for (size_t i = 0; i < (size_t)n * size; i++)
      a.bytes.push_back((uint8_t)(i % 4 == 3 ? 64 : i * 7)), b.bytes.push_back((uint8_t)i);
    for (int64_t i = 0; i < n; i++) order.push_back((int32_t)((i * 7 + 3) % n));
    Agree(&k, {a, b, Array(order)}, {n}, FewWays());
  }
}

const std::vector<int64_t> kSizes = {0, 1, 5, 16, 37};

TEST(WidenAos, VectorsOfThree) {
  Check({{"f32", "f32", "f32"}, 7, 7}, {0, 1, 4, 8, 15, 16, 17, 48, 101});
  Check({{"f32", "f32", "f32"}, 7, 7, false, true}, kSizes);
  Check({{"f32", "f32", "f32"}, 7, 7, true}, kSizes);
  Check({{"f32", "f32", "f32"}, 7, 7, true, false, true}, kSizes);
  Check({{"f32", "f32", "f32"}, 5, 5}, kSizes);
  Check({{"f32", "i32", "f32"}, 7, 7}, kSizes);
}

TEST(WidenAos, StructsOfSeveral) {
  Check({{"f32", "f32"}, 3, 3}, kSizes);
  Check({{"f32", "f32", "f32", "f32"}, 15, 15}, kSizes);
  Check({{"f32", "f32", "f32", "f32", "f32", "f32", "f32"}, 127, 127, true}, kSizes);
  Check({{"f32", "f32", "f32", "f32", "f32", "f32", "f32"}, 0x63, 0x1c, true, true}, kSizes);
  Check({{"f32", "i32", "f32", "i32", "f32"}, 31, 31, false, false, true}, kSizes);
}

TEST(WidenAos, FieldsOfOtherSizesBetween) {
  Check({{"f32", "u8", "f32", "f64"}, 15, 15}, kSizes);
  Check({{"f64", "f64", "f32", "f32"}, 15, 15, true}, kSizes);
  Check({{"f64", "i64", "f64"}, 7, 7}, kSizes);
  Check({{"f64", "f64"}, 3, 3, false, true}, kSizes);
}

// Rows of a matrix a thread: their distance is known at the launch only.
TEST(WidenAos, RowsOfMatrices) {
  Kernel k(R"(
kernel @k(%x: array<f32, 3>, %y: array<f32, 2>) {
  %i: i32 = tid 0
  %p0: ptr<f32> = index %x, %i, 1i32, 0i32
  %p1: ptr<f32> = index %x, %i, 1i32, 1i32
  %p2: ptr<f32> = index %x, %i, 1i32, 2i32
  %p3: ptr<f32> = index %x, %i, 1i32, 3i32
  %p4: ptr<f32> = index %x, %i, 1i32, 4i32
  %v0: f32 = load %p0
  %v1: f32 = load %p1
  %v2: f32 = load %p2
  %v3: f32 = load %p3
  %v4: f32 = load %p4
  %a: f32 = sub %v0, %v1
  %b: f32 = sub %v2, %v3
  %c: f32 = sub %a, %v4
  %q0: ptr<f32> = index %y, %i, 0i32
  %q1: ptr<f32> = index %y, %i, 1i32
  %q2: ptr<f32> = index %y, %i, 2i32
  store %q2, %c
  store %q0, %a
  store %q1, %b
  return
}
)");
  for (int64_t n : kSizes) {
    std::vector<float> x, y((size_t)n * 3, 7);
    for (int64_t i = 0; i < n * 10; i++) x.push_back((float)(i * i % 101));
    Agree(&k, {Array(x, {n, 2, 5}), Array(y, {n, 3})}, {n});
  }
}

TEST(WidenAos, VectorsOfTwoAreReadAndWrittenAsTheyLie) {
  for (const char *type : {"f32", "i32", "f64"}) {
    const Case pair{{type, type}, 3, 3};
    const std::string text = Kernel(Text(pair)).Llvm({"x86-64-v4", 16});
    EXPECT_NE(text.find("load <16 x "), std::string::npos) << type;
    Check(pair, kSizes);
    Check({{type, type, type, type}, 3, 3}, kSizes); // with gaps
  }
}

// The second store to a place wins, and a load between stores sees the first.
TEST(WidenAos, OrderIsKept) {
  Kernel k(R"(
kernel @k(%x: array<vec<f32, 2>, 1>) {
  %i: i32 = tid 0
  %p: ptr<vec<f32, 2>> = index %x, %i
  %p0: ptr<f32> = member %p, 0
  %p1: ptr<f32> = member %p, 1
  store %p0, 1.0f32
  store %p1, 2.0f32
  %v: f32 = load %p0
  store %p0, 5.0f32
  store %p1, %v
  store %p1, 3.0f32
  store %p0, %v
  return
}
)");
  Agree(&k, {Array(std::vector<float>(66))}, {33});
}

// Neighbouring lanes may write one place: the last lane wins.
TEST(WidenAos, LanesThatMeetStoreInOrder) {
  Kernel k(R"(
kernel @k(%x: array<vec<f32, 3>, 1>, %k: array<i32, 1>) {
  %i: i32 = tid 0
  %kp: ptr<i32> = index %k, %i
  %kv: i32 = load %kp
  %f: f32 = cvt %i
  %p: ptr<vec<f32, 3>> = index %x, %kv
  %p0: ptr<f32> = member %p, 0
  %p1: ptr<f32> = member %p, 1
  %p2: ptr<f32> = member %p, 2
  store %p0, %f
  store %p1, %f
  store %p2, %f
  return
}
)");
  std::vector<int32_t> to;
  for (int i = 0; i < 48; i++) to.push_back(i / 5);
  Agree(&k, {Array(std::vector<float>(30)), Array(to)}, {48});
}

// What is read of a row must end with the array: Check has arrays that end with their page.
TEST(WidenAos, WholeRowsAreReadWhereTheArrayGoesOn) {
  const std::string whole = "load <4 x float>", three = "llvm.masked.load.v4f32";
  auto has = [](const Case &c, const std::string &what) {
    return Kernel(Text(c)).Llvm({"x86-64-v4", 16}).find(what) != std::string::npos;
  };
  const Case triple{{"f32", "f32", "f32"}, 7, 7, true}, inside{{"f32", "f32", "f32", "f32"}, 7, 7, true};
  EXPECT_TRUE(has(triple, whole) && has(triple, three));
  EXPECT_TRUE(has(inside, whole) && !has(inside, three));
  Check(inside, kSizes);
  Check({{"i32", "f32", "f32", "f32"}, 14, 14, true}, kSizes);
  Check({{"i64", "f32", "f32", "f32"}, 14, 14, true, true}, kSizes);
  std::vector<int64_t> all;
  for (int64_t n = 1; n < 40; n++) all.push_back(n); // the last element in each lane in turn
  Check(triple, all);
}

TEST(WidenAos, VectorsNeedNoGather) {
  Kernel k(Text({{"f32", "f32", "f32"}, 7, 7}));
  EXPECT_EQ(k.Llvm({"x86-64-v4", 16}).find("masked.gather"), std::string::npos);
  Kernel g(Text({{"f32", "f32", "f32"}, 7, 7, true}));
  EXPECT_EQ(g.Llvm({"x86-64-v4", 16}).find("masked.gather"), std::string::npos);
}

} // namespace
