// tests/cpu/widen_c_test.cc -- C functions called from kernels: how each type travels, which lanes call, and how often.
#include <atomic>

#include "tests/cpu/harness.h"

namespace {

using namespace cpu_test;

struct Body {
  double mass;
  float x[3];
  bool fixed;
  int8_t kind;
};

extern "C" {

// One of each scalar type; the result tells all of them apart.
static double all_types(bool b, int8_t i8, int16_t i16, int32_t i32, int64_t i64, uint8_t u8, uint16_t u16,
                        uint32_t u32, uint64_t u64, uint16_t f16, uint16_t bf16, float f32, double f64) {
  return (b ? 1 : 0) + 3.0 * i8 + 5.0 * i16 + 7.0 * i32 + 11.0 * (double)i64 + 13.0 * u8 + 17.0 * u16 + 19.0 * u32 +
         23.0 * (double)u64 + 29.0 * f16 + 31.0 * bf16 + 37.0 * f32 + 41.0 * f64;
}

static bool give_bool(int32_t x) { return x % 3 == 0; }
static int8_t give_i8(int32_t x) { return (int8_t)(x * 77); }
static uint16_t give_u16(int32_t x) { return (uint16_t)(x * 777); }
static int64_t give_i64(int32_t x) { return x * INT64_C(-77777777777); }
static uint16_t give_f16(int32_t x) { return (uint16_t)(0x3c00 + x); }
static float give_f32(int32_t x) { return (float)x * 0.5f; }

static float length2(const float v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }
static void turned(const float v[3], float by, float out[3]) { out[0] = v[1] * by, out[1] = v[2] - by, out[2] = -v[0]; }
static void grown(const Body *b, int32_t by, Body *out) {
  *out = *b;
  out->mass += by;
  for (float &x : out->x) x *= (float)by;
  out->fixed = !b->fixed;
  out->kind = (int8_t)(b->kind - by);
}

struct View {
  float *data;
  int64_t length[2], stride[2];
};
static float at_last(const View *v, int32_t row) {
  return v->data[row * v->stride[0] + (v->length[1] - 1) * v->stride[1]];
}

static std::atomic<int> calls;
static float counted(float x) { return calls++, x * x; }
static std::atomic<int64_t> sum;
static void note(int32_t x) { sum += x; }

} // extern "C"

#define C(f)                                                                                                           \
  InterpFunction { #f, (void (*)(void))f }
const std::vector<InterpFunction> kFunctions = {C(all_types), C(give_bool), C(give_i8), C(give_u16), C(give_i64),
                                                C(give_f16),  C(give_f32),  C(length2), C(turned),   C(grown),
                                                C(at_last),   C(counted),   C(note)};

std::vector<Arg> AgreeOn(const std::string &text, const std::vector<Arg> &args, std::vector<int64_t> dim) {
  Kernel k(text);
  k.functions = kFunctions;
  return Agree(&k, args, dim);
}

template <class T> std::vector<T> Ramp(size_t n, T from = 0, T step = 1) {
  std::vector<T> v(n);
  for (size_t k = 0; k < n; k++) v[k] = (T)(from + (T)k * step);
  return v;
}

TEST(WidenC, PassesEveryScalarType) {
  const char *text = R"(
    extern @all_types(%a: bool, %b: i8, %c: i16, %d: i32, %e: i64, %f: u8, %g: u16, %h: u32, %i: u64, %j: f16, %k: bf16,
                      %l: f32, %m: f64) -> f64
    kernel @k(%r: array<f64, 1>, %one: bool, %two: f16) {
      %t: i32 = tid 0
      %n: i32 = sub 3i32, %t
      %a: bool = gt %t, 4i32
      %b: i8 = cvt %n
      %c: i16 = cvt %n
      %e: i64 = cvt %n
      %f: u8 = cvt %n
      %g: u16 = cvt %n
      %h: u32 = cvt %t
      %i: u64 = cvt %t
      %j: f16 = cvt %t
      %k: bf16 = cvt %n
      %l: f32 = cvt %n
      %m: f64 = cvt %t
      %x: f64 = call @all_types %a, %b, %c, %n, %e, %f, %g, %h, %i, %j, %k, %l, %m
      %y: f64 = call @all_types %one, -5i8, %c, %n, %e, 200u8, %g, %h, %i, %two, %k, 1.5f32, 2.5f64
      %z: f64 = add %x, %y
      %p: ptr<f64> = index %r, %t
      store %p, %z
      return
    })";
  auto r = AgreeOn(text, {Array(std::vector<double>(37)), Value(true), Value((uint16_t)0x3c00)}, {37});
  double x0 = all_types(false, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0x4040, 3, 0);
  EXPECT_EQ(As<double>(r[0])[0], x0 + all_types(true, -5, 3, 3, 3, 200, 3, 0, 0, 0x3c00, 0x4040, 1.5f, 2.5));
}

TEST(WidenC, TakesEveryKindOfResult) {
  const char *text = R"(
    extern @give_bool(%x: i32) -> bool pure
    extern @give_i8(%x: i32) -> i8
    extern @give_u16(%x: i32) -> u16
    extern @give_i64(%x: i32) -> i64
    extern @give_f16(%x: i32) -> f16
    extern @give_f32(%x: i32) -> f32 pure
    kernel @k(%r: array<f32, 1>, %q: array<i64, 1>, %n: i32) {
      %t: i32 = tid 0
      %b: bool = call @give_bool %t
      %c: i8 = call @give_i8 %t
      %u: u16 = call @give_u16 %t
      %i: i64 = call @give_i64 %t
      %h: f16 = call @give_f16 %t
      %f: f32 = call @give_f32 %t
      %same: f32 = call @give_f32 %n
      %even: bool = call @give_bool %n
      %ci: i64 = cvt %c
      %ui: i64 = cvt %u
      %s: i64 = add %ci, %ui
      %s2: i64 = add %s, %i
      %hf: f32 = cvt %h
      %g: f32 = add %hf, %f
      %g2: f32 = add %g, %same
      %z: f32 = select %b, %g2, %f
      %z2: f32 = select %even, %z, 0.0f32
      %p: ptr<f32> = index %r, %t
      store %p, %z2
      %o: ptr<i64> = index %q, %t
      store %o, %s2
      return
    })";
  auto r = AgreeOn(text, {Array(std::vector<float>(37)), Array(std::vector<int64_t>(37)), Value(6)}, {37});
  EXPECT_EQ(As<float>(r[0])[2], 1.0f) << "not a multiple of three: f alone";
  EXPECT_EQ(As<int64_t>(r[1])[2], (int64_t)give_i8(2) + give_u16(2) + give_i64(2));
}

TEST(WidenC, PassesCompositesByAddressAndTakesThemBack) {
  const char *text = R"(
    struct %Body { mass: f64, x: vec<f32, 3>, fixed: bool, kind: i8 }
    extern @length2(%v: vec<f32, 3>) -> f32 pure
    extern @turned(%v: vec<f32, 3>, %by: f32) -> vec<f32, 3> pure
    extern @grown(%b: %Body, %by: i32) -> %Body
    kernel @k(%v: array<vec<f32, 3>, 1>, %b: array<%Body, 1>, %r: array<f32, 1>, %by: f32, %w: vec<f32, 3>, %one: %Body) {
      %t: i32 = tid 0
      %pv: ptr<vec<f32, 3>> = index %v, %t
      %x: vec<f32, 3> = load %pv
      %x2: vec<f32, 3> = call @turned %x, %by
      %x3: vec<f32, 3> = call @turned %x2, 2.0f32
      %w2: vec<f32, 3> = call @turned %w, %by
      %x4: vec<f32, 3> = add %x3, %w2
      %w3: vec<f32, 3> = call @turned %w2, %by
      %l: f32 = call @length2 %x4
      %lw: f32 = call @length2 %w3
      store %pv, %x4
      %pb: ptr<%Body> = index %b, %t
      %body: %Body = load %pb
      %body2: %Body = call @grown %body, %t
      %c: bool = gt %t, 5i32
      %body4: %Body = if %c {
        %body3: %Body = call @grown %one, %t
        %ox: vec<f32, 3> = extract %body3, 1
        %mix: %Body = insert %body2, 1, %ox
        %body5: %Body = call @grown %mix, 2i32
        yield %body5
      } else {
        yield %body2
      }
      store %pb, %body4
      %s: f32 = add %l, %lw
      %pr: ptr<f32> = index %r, %t
      store %pr, %s
      return
    })";
  std::vector<Body> bodies(37);
  memset((void *)bodies.data(), 0, sizeof(Body) * bodies.size());
  for (int k = 0; k < 37; k++) bodies[(size_t)k] = {k * 1.25, {(float)k, 1, -2}, k % 2 == 0, (int8_t)k};
  Body one = {100, {1, 2, 3}, true, 7};
  struct Vec3 {
    float x[3];
  } w = {{4, 5, 6}};
  auto r = AgreeOn(
      text,
      {Array(Ramp<float>(111), {37}), Array(bodies), Array(std::vector<float>(37)), Value(2.0f), Value(w), Value(one)},
      {37});
  // Element 1, by hand: turned twice, and the other added.
  float x[3] = {3, 4, 5}, a[3], b[3], c[3];
  turned(x, 2, a), turned(a, 2, b), turned(w.x, 2, c);
  for (int k = 0; k < 3; k++) EXPECT_EQ(As<float>(r[0])[(size_t)(3 + k)], b[k] + c[k]);
  Body grown1, want = bodies[9];
  grown(&bodies[9], 9, &want), grown(&one, 9, &grown1);
  memcpy(want.x, grown1.x, sizeof want.x);
  grown(&want, 2, &grown1);
  Body got = As<Body>(r[1])[9];
  EXPECT_EQ(got.mass, grown1.mass);
  EXPECT_EQ(got.x[2], grown1.x[2]);
  EXPECT_EQ(got.fixed, grown1.fixed);
  EXPECT_EQ(got.kind, grown1.kind);
}

TEST(WidenC, PassesArraysByTheirDescription) {
  const char *text = R"(
    struct %In { n: i32, grid: array<f32, 2> }
    extern @at_last(%v: array<f32, 2>, %row: i32) -> f32
    func @inner(%g: array<f32, 2>, %t: i32) -> f32 {
      %x: f32 = call @at_last %g, %t
      return %x
    }
    kernel @k(%a: array<f32, 2>, %in: %In, %r: array<f32, 1>) {
      %t: i32 = tid 0
      %x: f32 = call @at_last %a, %t
      %g: array<f32, 2> = extract %in, 1
      %y: f32 = call @inner %g, %t
      %z: f32 = add %x, %y
      %p: ptr<f32> = index %r, %t
      store %p, %z
      return
    })";
  std::vector<float> other = Ramp<float>(37 * 2, 1000);
  struct In {
    int32_t n;
    View grid;
  } in = {0, {other.data(), {37, 2}, {2, 1}}};
  auto r = AgreeOn(text, {Array(Ramp<float>(37 * 3), {37, 3}), Value(in), Array(std::vector<float>(37))}, {37});
  EXPECT_EQ(As<float>(r[2])[5], 17.0f + 1011.0f);
}

// The lanes that are on, and no others; a pure function as often as the program asks at the most.
TEST(WidenC, CallsOnceForEachThreadThatAsks) {
  const char *head = "extern @counted(%x: f32) -> f32";
  const char *body = R"(
    kernel @k(%r: array<f32, 1>, %u: f32) {
      %t: i32 = tid 0
      %three: i32 = rem %t, 3i32
      %c: bool = eq %three, 0i32
      %f: f32 = cvt %t
      if %c {
        %x: f32 = call @counted %f
        %x2: f32 = call @counted %f
        %y: f32 = call @counted %u
        %unused: f32 = call @counted 7.0f32
        %s: f32 = add %x, %y
        %s2: f32 = add %s, %x2
        %p: ptr<f32> = index %r, %t
        store %p, %s2
        yield
      }
      return
    })";
  struct {
    const char *what;
    int calls[3]; // the interpreter, and gangs of 8 and 16 for 30 threads
  } cases[] = {{"", {40, 40, 40}}, {" pure", {40, 10 + 4, 10 + 2}}};
  for (auto &c : cases) {
    Kernel k(std::string(head) + c.what + body);
    k.functions = kFunctions;
    int n = 0;
    for (int width : {0, 8, 16}) {
      Way way{"x86-64-v3", width};
      std::vector<Arg> args = {Array(std::vector<float>(30)), Value(2.0f)};
      if (width && Ways().size() < 6) continue; // no AVX2 here
      calls = 0;
      k.Run(way, &args, {30});
      EXPECT_EQ(calls, c.calls[n]) << c.what << " " << way.name();
      EXPECT_EQ(As<float>(args[0])[27], 27.0f * 27 * 2 + 4);
      n++;
    }
  }
}

// A loop whose rounds differ by lane, with a call that has no result.
TEST(WidenC, CallsInDivergentLoops) {
  Kernel k(R"(
    extern @note(%x: i32)
    kernel @k(%r: array<i32, 1>) {
      %t: i32 = tid 0
      %n: i32 = rem %t, 5i32
      loop (%i: i32 = 0i32) {
        %more: bool = lt %i, %n
        if %more { yield } else { break }
        %x: i32 = add %t, %i
        call @note %x
        %i2: i32 = add %i, 1i32
        continue %i2
      }
      return
    })");
  k.functions = kFunctions;
  int64_t want = 0;
  for (int t = 0; t < 43; t++)
    for (int i = 0; i < t % 5; i++) want += t + i;
  for (Way way : Ways()) {
    std::vector<Arg> args = {Array(std::vector<int32_t>(43))};
    sum = 0;
    k.Run(way, &args, {43});
    EXPECT_EQ(sum, want) << way.name();
  }
}

} // namespace
