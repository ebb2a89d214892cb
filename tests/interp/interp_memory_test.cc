// tests/interp/interp_memory_test.cc -- composites, arrays, local memory, atomics and the argument block.
#include "interp_kernel.h"

namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST(InterpMemory, VectorsWorkElementByElement) {
  InterpKernel k(R"(
kernel @k(%x: array<vec<f32, 3>, 1>, %y: array<vec<f32, 3>, 1>, %m: array<vec<bool, 3>, 1>) {
  %p: ptr<vec<f32, 3>> = index %x, 0i32
  %a: vec<f32, 3> = load %p
  %q: ptr<vec<f32, 3>> = index %y, 0i32
  %b: vec<f32, 3> = load %q
  %c: vec<bool, 3> = lt %a, %b
  %s: vec<f32, 3> = select %c, %a, %b
  %d: vec<f32, 3> = mul %s, %b
  store %q, %d
  %r: ptr<vec<bool, 3>> = index %m, 0i32
  store %r, %c
  return
})");
  Floats x = {1, 5, 3}, y = {2, 4, 3};
  uint8_t m[4] = {9, 9, 9, 9};
  k.Array(x.data(), {1}, {1}).Array(y.data(), {1}, {1}).Array(m, {1}, {1});
  ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
  EXPECT_EQ(y, (Floats{2, 16, 9}));
  EXPECT_EQ(m[0], 1);
  EXPECT_EQ(m[1], 0);
  EXPECT_EQ(m[2], 0);
  EXPECT_EQ(m[3], 9);
}

TEST(InterpMemory, PartsAreTakenAndReplaced) {
  InterpKernel k(R"(
struct %S { a: i32, b: fixed<vec<i32, 2>, 3>, c: i32 }
kernel @k(%o: array<i32, 1>, %i: i32) {
  %v0: vec<i32, 2> = make 1i32, 2i32
  %v1: vec<i32, 2> = make 3i32, 4i32
  %v2: vec<i32, 2> = insert %v1, 0, 5i32
  %f: fixed<vec<i32, 2>, 3> = make %v0, %v1, %v2
  %s: %S = make 10i32, %f, 20i32
  %s2: %S = insert %s, 2, 30i32
  %g: fixed<vec<i32, 2>, 3> = extract %s2, 1
  %h: vec<i32, 2> = extract_at %g, %i
  %e0: i32 = extract %h, 0
  %e1: i32 = extract %h, 1
  %c: i32 = extract %s2, 2
  %w: vec<i32, 2> = insert_at %h, %i, 99i32
  %e2: i32 = extract %w, 1
  %p0: ptr<i32> = index %o, 0i32
  store %p0, %e0
  %p1: ptr<i32> = index %o, 1i32
  store %p1, %e1
  %p2: ptr<i32> = index %o, 2i32
  store %p2, %c
  %p3: ptr<i32> = index %o, 3i32
  store %p3, %e2
  return
})");
  Ints o(4);
  k.Array(o).Value(1);
  ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
  EXPECT_EQ(o, (Ints{3, 4, 30, 99}));
}

TEST(InterpMemory, DynamicPartsOutsideAreTotal) {
  for (int i : {-1, 3, 1 << 30}) {
    InterpKernel k(R"(
kernel @k(%o: array<i32, 1>, %i: i32) {
  %v: vec<i32, 3> = make 7i32, 8i32, 9i32
  %a: i32 = extract_at %v, %i
  %w: vec<i32, 3> = insert_at %v, %i, 1i32
  %b: i32 = extract %w, 0
  %p: ptr<i32> = index %o, 0i32
  store %p, %a
  %q: ptr<i32> = index %o, 1i32
  store %q, %b
  return
})");
    Ints o(2);
    k.Array(o).Value(i);
    ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
    EXPECT_EQ(o, (Ints{7, 7})) << i;
  }
}

TEST(InterpMemory, StridesCountElements) {
  InterpKernel k(R"(
kernel @k(%x: array<i32, 2>, %y: array<i64, 2>) {
  %i: i32 = tid 0
  %j: i32 = tid 1
  %p: ptr<i32> = index %x, %i, %j
  %v: i32 = load %p
  %w: i64 = cvt %v
  %n: i64 = length %x, 0
  %u: i64 = add %w, %n
  %q: ptr<i64> = index %y, %i, %j
  store %q, %u
  return
})");
  Ints x = {0, 1, 2, 3, 4, 5};
  std::vector<int64_t> y(12, -1);
  k.Array(x.data() + 5, {2, 3}, {-3, -1}).Array(y.data(), {2, 3}, {1, 4});
  ASSERT_EQ(k.Run({2, 3}), HD_OK) << k.error.detail;
  EXPECT_EQ(y, (std::vector<int64_t>{7, 4, -1, -1, 6, 3, -1, -1, 5, 2, -1, -1}));
}

TEST(InterpMemory, StoresLeavePaddingAlone) {
  InterpKernel k(R"(
struct %S { a: i8, b: i32 }
kernel @k(%o: array<%S, 1>) {
  %s: %S = make 1i8, 2i32
  %p: ptr<%S> = index %o, 0i32
  store %p, %s
  return
})");
  uint8_t o[9];
  memset(o, 0x77, sizeof o);
  k.Array(o, {1}, {1});
  ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
  const uint8_t want[9] = {1, 0x77, 0x77, 0x77, 2, 0, 0, 0, 0x77};
  EXPECT_EQ(memcmp(o, want, sizeof o), 0);
}

TEST(InterpMemory, LocalObjectsAreZeroedEachTimeTheyAreReached) {
  InterpKernel k(R"(
kernel @k(%o: array<i32, 1>) {
  %n: i32 = loop (%j: i32 = 0i32) {
    %a: ptr<fixed<i32, 4>, local> = alloca
    %e: ptr<i32, local> = elem %a, %j
    %old: i32 = load %e
    store %e, 5i32
    %p: ptr<i32> = index %o, %j
    %first: ptr<i32, local> = elem %a, 0i64
    %f: i32 = load %first
    %s: i32 = add %f, %old
    store %p, %s
    %k: i32 = add %j, 1i32
    %c: bool = ge %k, 3i32
    if %c { break %k } else { yield }
    continue %k
  }
  %p3: ptr<i32> = index %o, 3i32
  store %p3, %n
  return
})");
  Ints o(4, -1);
  k.Array(o);
  ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
  EXPECT_EQ(o, (Ints{5, 0, 0, 3}));
}

TEST(InterpMemory, MembersOfStructsInMemory) {
  struct S {
    int8_t a;
    double b;
    struct {
      float x[2];
      int16_t h;
    } c[2];
  };
  InterpKernel k(R"(
struct %C { x: vec<f32, 2>, h: i16 }
struct %S { a: i8, b: f64, c: fixed<%C, 2> }
kernel @k(%o: array<%S, 1>) {
  %i: i32 = tid 0
  %p: ptr<%S> = index %o, %i
  %b: ptr<f64> = member %p, 1
  store %b, 2.5f64
  %c: ptr<fixed<%C, 2>> = member %p, 2
  %c1: ptr<%C> = elem %c, 1i32
  %h: ptr<i16> = member %c1, 1
  store %h, -3i16
  %x: ptr<vec<f32, 2>> = member %c1, 0
  %y: ptr<f32> = elem %x, 1i32
  store %y, 4.0f32
  return
})");
  S o[2] = {};
  k.Array(o, {2}, {1});
  ASSERT_EQ(k.Run({2}), HD_OK) << k.error.detail;
  for (const S &s : o) {
    EXPECT_EQ(s.a, 0);
    EXPECT_EQ(s.b, 2.5);
    EXPECT_EQ(s.c[1].h, -3);
    EXPECT_EQ(s.c[1].x[1], 4.0f);
    EXPECT_EQ(s.c[0].h, 0);
  }
}

TEST(InterpMemory, ArraysInsideStructParameters) {
  struct {
    int32_t n;
    int32_t pad;
    void *data;
    int64_t length, stride;
  } g;
  Ints x = {3, 4, 5};
  g = {2, 0, x.data(), 3, 1};
  InterpKernel k(R"(
struct %G { n: i32, x: array<i32, 1> }
func @get(%x: array<i32, 1>, %i: i32) -> i32 {
  %p: ptr<i32> = index %x, %i
  %v: i32 = load %p
  return %v
}
kernel @k(%g: %G, %o: array<i32, 1>) {
  %x: array<i32, 1> = extract %g, 1
  %n: i32 = extract %g, 0
  %v: i32 = call @get %x, %n
  %p: ptr<i32> = index %o, 0i32
  store %p, %v
  return
})");
  Ints o(1);
  k.Value(g).Array(o);
  ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
  EXPECT_EQ(o[0], 5);
}

struct AtomicCase {
  const char *op;
  int32_t b, c, want;
};

TEST(InterpMemory, AtomicsReturnTheOldValue) {
  const AtomicCase cases[] = {
      {"atomic_add %p, %b", 3, 0, -2}, {"atomic_min %p, %b", -9, 0, -9},    {"atomic_max %p, %b", -9, 0, -5},
      {"atomic_and %p, %b", 6, 0, 2},  {"atomic_or %p, %b", 4, 0, -1},      {"atomic_xor %p, %b", -1, 0, 4},
      {"atomic_xchg %p, %b", 8, 0, 8}, {"atomic_cas %p, %b, %c", -5, 7, 7}, {"atomic_cas %p, %b, %c", 5, 7, -5}};
  for (const AtomicCase &a : cases) {
    InterpKernel k(std::string(R"(
kernel @k(%x: array<i32, 1>, %b: i32, %c: i32) {
  %p: ptr<i32> = index %x, 0i32
  %old: i32 = )") + a.op +
                   R"(
  %q: ptr<i32> = index %x, 1i32
  store %q, %old
  return
})");
    Ints x = {-5, 0};
    k.Array(x).Value(a.b).Value(a.c);
    ASSERT_EQ(k.Run({1}), HD_OK) << k.error.detail;
    EXPECT_EQ(x, (Ints{a.want, -5})) << a.op;
  }
}

TEST(InterpMemory, AtomicsOfThreadsAddUp) {
  InterpKernel k(R"(
kernel @k(%x: array<f64, 1>) {
  %i: i32 = tid 1
  %v: f64 = cvt %i
  %p: ptr<f64> = index %x, 0i32
  %old: f64 = atomic_add %p, %v
  return
})");
  std::vector<double> x = {0.5};
  k.Array(x);
  ASSERT_EQ(k.Run({3, 5}), HD_OK) << k.error.detail;
  EXPECT_EQ(x[0], 30.5);
}

TEST(InterpMemory, AccessOutsideIsRefusedWhereTheCallerAsks) {
  InterpKernel k(R"(
kernel @k(%x: array<i32, 1>, %i: i32) {
  %p: ptr<i32> = index %x, %i
  store %p, 1i32
  return
})");
  static Ints x(4);
  k.Array(x).Value(4);
  k.launch.may_access = [](void *, const void *p, size_t n) {
    auto at = (const char *)p - (const char *)x.data();
    return at >= 0 && at + n <= 16;
  };
  EXPECT_EQ(k.Run({1}), HD_ERR_FAULT);
  EXPECT_NE(strstr(k.error.detail, "store"), nullptr);
}

TEST(InterpMemory, LocalAccessOutsideIsAFault) {
  InterpKernel k(R"(
kernel @k(%i: i32) {
  %a: ptr<fixed<i32, 4>, local> = alloca
  %e: ptr<i32, local> = elem %a, %i
  store %e, 1i32
  return
})");
  k.Value(1000);
  EXPECT_EQ(k.Run({1}), HD_ERR_FAULT);
}

TEST(InterpMemory, RunningOutOfMemoryIsAnError) {
  struct Meter {
    int left;
  } meter = {0};
  HdAllocator mem = {[](void *user, void *p, size_t old, size_t size) -> void * {
                       if (size && ((Meter *)user)->left-- <= 0) return nullptr;
                       return hdb_system_allocator.resize(hdb_system_allocator.user, p, old, size);
                     },
                     &meter};
  InterpKernel k(R"(
kernel @k() {
  %a: ptr<fixed<i32, 1000000>, local> = alloca
  return
})");
  ASSERT_EQ(k.Run({1}), HD_OK);
  HdStatus last = HD_ERR_NOMEM;
  int n = 0;
  for (; n < 100 && last != HD_OK; n++) {
    meter.left = n;
    last = hdinterp_run(&k.launch, &mem, &k.error);
    EXPECT_TRUE(last == HD_OK || last == HD_ERR_NOMEM);
  }
  EXPECT_EQ(last, HD_OK);
  EXPECT_GT(n, 1);
}

} // namespace
