// tests/cpu/widen_test.cc -- control flow, memory and launches: machine code against the interpreter.
#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

std::vector<float> Ramp(int n, float scale = 1) {
  std::vector<float> v;
  for (int k = 0; k < n; k++) v.push_back(scale * (float)(k % 37) - 5);
  return v;
}

const int64_t kSizes[] = {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100};

TEST(Widen, StraightCodeAndContiguousAccess) {
  Kernel k(R"(
kernel @k(%x: array<f32, 1>, %y: array<f32, 1>, %a: f32) {
  %i: i32 = tid 0
  %px: ptr<f32> = index %x, %i
  %v: f32 = load %px
  %m: f32 = mul %v, %a
  %py: ptr<f32> = index %y, %i
  %w: f32 = load %py
  %s: f32 = add %m, %w
  store %py, %s
  return
}
)");
  for (int64_t n : kSizes) Agree(&k, {Array(Ramp((int)n)), Array(Ramp((int)n, 3)), Value(2.5f)}, {n});
}

TEST(Widen, EarlyReturnMasksTheTail) {
  Kernel k(R"(
kernel @k(%x: array<f32, 1>, %n: i32) {
  %i: i32 = tid 0
  %c: bool = ge %i, %n
  if %c {
    return
  } else {
    yield
  }
  %p: ptr<f32> = index %x, %i
  %v: f32 = load %p
  %s: f32 = mul %v, %v
  store %p, %s
  return
}
)");
  for (int32_t n : {0, 1, 5, 16, 20, 40}) Agree(&k, {Array(Ramp(n)), Value(n)}, {40});
}

TEST(Widen, DivergentIfWithResultsAndStores) {
  Kernel k(R"(
kernel @k(%x: array<f32, 1>, %y: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<f32> = index %x, %i
  %v: f32 = load %p
  %c: bool = gt %v, 3.0f32
  %r: f32, %q: i32 = if %c {
    %a: f32 = sqrt %v
    store %p, %a
    %d: bool = gt %v, 9.0f32
    %z: i32 = if %d {
      store %p, 77.0f32
      yield 5i32
    } else {
      yield %i
    }
    yield %a, %z
  } else {
    %b: f32 = sub 0.0f32, %v
    store %p, %b
    yield %b, 3i32
  }
  %py: ptr<i32> = index %y, %i
  %t: i32 = cvt %r
  %u: i32 = add %t, %q
  store %py, %u
  return
}
)");
  for (int64_t n : kSizes) Agree(&k, {Array(Ramp((int)n)), Array(std::vector<int32_t>((size_t)n, 1))}, {n});
}

TEST(Widen, UniformLoopStaysScalar) {
  Kernel k(R"(
kernel @k(%x: array<f32, 1>, %y: array<f32, 1>, %n: i32) {
  %i: i32 = tid 0
  %p: ptr<f32> = index %x, %i
  %v: f32 = load %p
  %s: f32 = loop (%j: i32 = 0i32, %a: f32 = %v) {
    %c: bool = ge %j, %n
    if %c {
      break %a
    } else {
      yield
    }
    %q: ptr<f32> = index %x, %j
    %w: f32 = load %q
    %b: f32 = mul %a, 0.5f32
    %d: f32 = add %b, %w
    %k: i32 = add %j, 1i32
    continue %k, %d
  }
  %py: ptr<f32> = index %y, %i
  store %py, %s
  return
}
)");
  for (int32_t n : {0, 1, 7, 33}) Agree(&k, {Array(Ramp(80)), Array(Ramp(80)), Value(n)}, {77});
}

TEST(Widen, ThreadsOfAGroupThatNeverComeBackAreCompiled) {
  Kernel k("kernel @k() group 64 { threads { loop { continue } unreachable } return }");
  for (Way w : Ways()) {
    w.piped = false;
    EXPECT_NE(k.Entry(w), nullptr) << w.name();
  }
}

TEST(Widen, DivergentLoopKeepsWhatLanesLeftWith) {
  Kernel k(R"(
kernel @k(%x: array<f32, 1>, %y: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<f32> = index %x, %i
  %v: f32 = load %p
  %s: f32, %n: i32 = loop (%a: f32 = %v, %j: i32 = 0i32) {
    %c: bool = gt %a, 30.0f32
    if %c {
      break %a, %j
    } else {
      yield
    }
    %l: bool = ge %j, 20i32
    if %l {
      break 1.5f32, %j
    } else {
      yield
    }
    %b: f32 = mul %a, 1.25f32
    %d: f32 = add %b, 0.25f32
    %m: i32 = add %j, 1i32
    continue %d, %m
  }
  store %p, %s
  %q: ptr<i32> = index %y, %i
  store %q, %n
  return
}
)");
  for (int64_t n : kSizes) Agree(&k, {Array(Ramp((int)n)), Array(std::vector<int32_t>((size_t)n, 1))}, {n});
}

TEST(Widen, DivergentContinueAndReturnInsideALoop) {
  Kernel k(R"(
kernel @k(%x: array<i32, 1>, %y: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %x, %i
  %v: i32 = load %p
  %q: ptr<i32> = index %y, %i
  %s: i32 = loop (%a: i32 = %v, %j: i32 = 0i32) {
    %c: bool = ge %j, 12i32
    if %c {
      break %a
    } else {
      yield
    }
    %k: i32 = add %j, 1i32
    %r: i32 = and %a, 1i32
    %odd: bool = ne %r, 0i32
    if %odd {
      %t: i32 = mul %a, 3i32
      %u: i32 = add %t, 1i32
      continue %u, %k
    } else {
      yield
    }
    %big: bool = gt %a, 400i32
    if %big {
      store %q, -7i32
      return
    } else {
      yield
    }
    %h: i32 = div %a, 2i32
    %w: i32 = load %q
    %w2: i32 = add %w, %h
    store %q, %w2
    continue %h, %k
  }
  store %p, %s
  return
}
)");
  std::vector<int32_t> v;
  for (int k = 0; k < 100; k++) v.push_back(k * 7 - 50);
  for (int64_t n : kSizes) {
    std::vector<int32_t> x(v.begin(), v.begin() + n);
    Agree(&k, {Array(x), Array(std::vector<int32_t>((size_t)n, 1))}, {n});
  }
}

// A return that all lanes take together goes past places where, in other rows or rounds, lanes wait for each other.
TEST(Widen, UniformReturnPassesWhereLanesWait) {
  Kernel scope(R"(
kernel @k(%x: array<i32, 2>) {
  %row: i32 = tid 0
  %i: i32 = tid 1
  %p: ptr<i32> = index %x, %row, %i
  %u: bool = eq %row, 1i32
  scope {
    if %u { return } else { yield }
    %v: bool = eq %i, 3i32
    if %v { leave } else { yield }
    store %p, 7i32
    yield
  }
  %y: i32 = load %p
  %y2: i32 = add %y, 100i32
  store %p, %y2
  return
}
)");
  // In the third round all lanes that are left return; those that left before go on behind the scope.
  Kernel rounds(R"(
kernel @k(%x: array<i32, 2>) {
  %row: i32 = tid 0
  %i: i32 = tid 1
  %p: ptr<i32> = index %x, %row, %i
  scope {
    loop (%k: i32 = 0i32) {
      %u: bool = eq %k, 2i32
      if %u { return } else { yield }
      %v: bool = eq %i, %k
      if %v { leave } else { yield }
      store %p, %k
      %k2: i32 = add %k, 1i32
      continue %k2
    }
    unreachable
  }
  %y: i32 = load %p
  %y2: i32 = add %y, 100i32
  store %p, %y2
  return
}
)");
  // The other way about: lanes return one after the other, and the rest leave together.
  Kernel leave(R"(
kernel @k(%x: array<i32, 2>) {
  %row: i32 = tid 0
  %i: i32 = tid 1
  %p: ptr<i32> = index %x, %row, %i
  scope {
    loop (%k: i32 = 0i32) {
      %v: bool = eq %i, %k
      if %v { return } else { yield }
      store %p, %k
      %u: bool = eq %k, %row
      if %u { leave } else { yield }
      %k2: i32 = add %k, 1i32
      continue %k2
    }
    unreachable
  }
  %y: i32 = load %p
  %y2: i32 = add %y, 100i32
  store %p, %y2
  return
}
)");
  std::vector<Way> ways = Ways();
  for (Way w : Ways()) ways.push_back(w), ways.back().piped = false;
  for (Kernel *k : {&scope, &rounds, &leave})
    for (int64_t n : {1, 3, 8, 21}) Agree(k, {Array(std::vector<int32_t>((size_t)(3 * n), -1), {3, n})}, {3, n}, ways);
}

TEST(Widen, NestedDivergentLoopsAndScopes) {
  Kernel k(R"(
kernel @k(%x: array<i32, 1>, %y: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %x, %i
  %v: i32 = load %p
  %r: i32 = scope {
    %s: i32 = loop (%a: i32 = 0i32, %j: i32 = 0i32) {
      %c: bool = ge %j, %v
      if %c {
        break %a
      } else {
        yield
      }
      %t: i32 = loop (%b: i32 = %a, %k: i32 = 0i32) {
        %d: bool = gt %k, %j
        if %d {
          break %b
        } else {
          yield
        }
        %e: i32 = mul %b, 3i32
        %f: i32 = add %e, %k
        %big: bool = gt %f, 5000i32
        if %big {
          leave %f
        } else {
          yield
        }
        %k1: i32 = add %k, 1i32
        continue %f, %k1
      }
      %odd: i32 = and %t, 7i32
      %seven: bool = eq %odd, 7i32
      if %seven {
        return
      } else {
        yield
      }
      %j1: i32 = add %j, 1i32
      continue %t, %j1
    }
    %neg: bool = lt %s, 3i32
    if %neg {
      leave -1i32
    } else {
      yield
    }
    %s2: i32 = add %s, 100i32
    yield %s2
  }
  %q: ptr<i32> = index %y, %i
  store %q, %r
  return
}
)");
  std::vector<int32_t> v;
  for (int k = 0; k < 100; k++) v.push_back(k * 5 % 13);
  for (int64_t n : kSizes) {
    std::vector<int32_t> x(v.begin(), v.begin() + n);
    Agree(&k, {Array(x), Array(std::vector<int32_t>((size_t)n, 9))}, {n});
  }
}

TEST(Widen, GatherAndScatter) {
  Kernel k(R"(
kernel @k(%at: array<i32, 1>, %x: array<f32, 1>, %y: array<f64, 1>, %b: array<u8, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %at, %i
  %j: i32 = load %p
  %c: bool = ne %j, 3i32
  if %c {
    %px: ptr<f32> = index %x, %j
    %v: f32 = load %px
    %py: ptr<f64> = index %y, %j
    %w: f64 = cvt %v
    store %py, %w
    %pb: ptr<u8> = index %b, %j
    %u: u8 = load %pb
    %u2: u8 = mul %u, 3u8
    store %pb, %u2
    yield
  } else {
    yield
  }
  return
}
)");
  for (int64_t n : kSizes) {
    std::vector<int32_t> at;
    for (int64_t k = 0; k < n; k++) at.push_back((int32_t)((n - 1 - k) ^ (n > 8 && k < 8 ? 0 : 0)));
    std::vector<uint8_t> b;
    for (int64_t k = 0; k < n; k++) b.push_back((uint8_t)(k * 11));
    Agree(&k, {Array(at), Array(Ramp((int)n)), Array(std::vector<double>((size_t)n, 1)), Array(b)}, {n});
  }
}

TEST(Widen, NarrowAndBoolArraysUnderMasks) {
  Kernel k(R"(
kernel @k(%a: array<i8, 1>, %b: array<u16, 1>, %c: array<bool, 1>, %d: array<i64, 1>) {
  %i: i32 = tid 0
  %pa: ptr<i8> = index %a, %i
  %va: i8 = load %pa
  %pc: ptr<bool> = index %c, %i
  %f: bool = load %pc
  %g: bool = lt %va, 20i8
  %h: bool = xor %f, %g
  store %pc, %h
  if %h {
    %pb: ptr<u16> = index %b, %i
    %vb: u16 = load %pb
    %w: u16 = cvt %va
    %s: u16 = add %vb, %w
    store %pb, %s
    %na: i8 = neg %va
    store %pa, %na
    %pd: ptr<i64> = index %d, %i
    %vd: i64 = load %pd
    %wd: i64 = cvt %s
    %sd: i64 = mul %vd, %wd
    store %pd, %sd
    yield
  } else {
    yield
  }
  return
}
)");
  for (int64_t n : kSizes) {
    std::vector<int8_t> a;
    std::vector<uint16_t> b;
    std::vector<uint8_t> c;
    std::vector<int64_t> d;
    for (int64_t k = 0; k < n; k++) {
      a.push_back((int8_t)(k * 13)), b.push_back((uint16_t)(k * 4000)), c.push_back(k % 3 == 0);
      d.push_back(k * 0x123456789ll);
    }
    Agree(&k, {Array(a), Array(b), Array(c), Array(d)}, {n});
  }
}

TEST(Widen, StructsAndVectorsInArrays) {
  Kernel k(R"(
struct %P { x: vec<f32, 3>, v: vec<f32, 3>, r: f32, k: u8 }
kernel @k(%p: array<%P, 1>, %q: array<vec<f32, 3>, 1>, %n: i32) {
  %i: i32 = tid 0
  %e: ptr<%P> = index %p, %i
  %px: ptr<vec<f32, 3>> = member %e, 0
  %x0p: ptr<f32> = member %px, 0
  %x1p: ptr<f32> = member %px, 1
  %x2p: ptr<f32> = member %px, 2
  %pv: ptr<vec<f32, 3>> = member %e, 1
  %v0p: ptr<f32> = member %pv, 0
  %v1p: ptr<f32> = member %pv, 1
  %v2p: ptr<f32> = member %pv, 2
  %x0: f32 = load %x0p
  %x1: f32 = load %x1p
  %x2: f32 = load %x2p
  %v0: f32 = load %v0p
  %v1: f32 = load %v1p
  %v2: f32 = load %v2p
  %s0: f32 = add %x0, %v0
  %s1: f32 = add %x1, %v1
  %s2: f32 = add %x2, %v2
  store %x0p, %s0
  store %x1p, %s1
  store %x2p, %s2
  %kp: ptr<u8> = member %e, 3
  %kv: u8 = load %kp
  %kw: u8 = add %kv, 1u8
  store %kp, %kw
  %f: ptr<vec<f32, 3>> = index %q, %i
  %f0p: ptr<f32> = member %f, 0
  %f1p: ptr<f32> = member %f, 1
  %f2p: ptr<f32> = member %f, 2
  %f0: f32 = load %f0p
  %f1: f32 = load %f1p
  %f2: f32 = load %f2p
  %g0: f32 = mul %f0, %s1
  %g1: f32 = mul %f1, %s2
  %g2: f32 = mul %f2, %s0
  store %f0p, %g0
  store %f1p, %g1
  store %f2p, %g2
  %c: bool = lt %i, %n
  if %c {
    %h: f32 = load %f1p
    %h2: f32 = load %f2p
    %h3: f32 = add %h, %h2
    store %f0p, %h3
    yield
  } else {
    yield
  }
  return
}
)");
  for (int64_t n : kSizes) {
    std::vector<float> p;
    for (int64_t k = 0; k < 8 * n; k++) p.push_back((float)(k % 91) - 40.5f);
    Arg a = Array(p, {n});
    Agree(&k, {a, Array(Ramp(3 * (int)n), {n}), Value((int32_t)(n / 2))}, {n});
  }
}

TEST(Widen, TwoDimensionsAndStrides) {
  std::vector<Way> strided = Ways();
  for (Way &w : strided) w.dense = false;
  for (int64_t n : {1, 5, 16, 21}) {
    std::vector<Arg> args = {Array(Ramp(3 * (int)n), {3, n}), Array(Ramp(3 * (int)n, 2), {n, 3}), Array(Ramp((int)n))};
    std::vector<Arg> strided_args = {Array(Ramp(3 * 2 * (int)n), {3, n}, {2 * n, 2}),
                                     Array(Ramp(3 * (int)n, 2), {n, 3}, {3, 1}), Array(Ramp(3 * (int)n), {n}, {3})};
    Kernel r(R"(
kernel @k(%x: array<f32, 2>, %y: array<f32, 2>, %z: array<f32, 1>) {
  %i: i32 = tid 0
  %j: i32 = tid 1
  %p: ptr<f32> = index %x, %i, %j
  %v: f32 = load %p
  %d: i32 = dim 1
  %n: i32 = sub %d, 1i32
  %m: i32 = sub %n, %j
  %zp: ptr<f32> = index %z, %m
  %o: f32 = load %zp
  %q: ptr<f32> = index %y, %j, %i
  %w: f32 = load %q
  %s: f32 = sub %v, %w
  %t: f32 = mul %s, %o
  store %q, %t
  %c: bool = gt %t, 4.0f32
  if %c {
    store %p, %o
    yield
  } else {
    yield
  }
  return
}
)");
    Agree(&r, args, {3, n});
    Agree(&r, strided_args, {3, n}, strided);
    Agree(&r, args, {3, n}, strided);
  }
}

// Neighbours of tid and of a loop's counter, in both directions; borders are skipped by a mask.
TEST(Widen, ConstantsOfIndicesGoToTheAddress) {
  Kernel k(R"(
kernel @k(%x: array<f32, 2>, %y: array<f32, 2>, %n: i32) {
  %r: i32 = tid 0
  %i: i32 = tid 1
  %m: i32 = sub %n, 2i32
  %lo: bool = ge %i, 2i32
  %hi: bool = lt %i, %m
  %in: bool = and %lo, %hi
  if %in {
    %l: i32 = sub %i, 2i32
    %u: i32 = add %i, 3i32
    %v: i32 = sub %u, 1i32
    %r1: i32 = add %r, 1i32
    %pl: ptr<f32> = index %x, %r, %l
    %pr: ptr<f32> = index %x, %r1, %v
    %a: f32 = load %pl
    %b: f32 = load %pr
    %s: f32 = loop (%t: f32 = %a, %j: i32 = %i, %c: i32 = -3i32) {
      %go: bool = lt %c, 2i32
      if %go {
        yield
      } else {
        break %t
      }
      %j4: i32 = add %j, 2i32
      %j5: i32 = sub %j4, 1i32
      %c3: i32 = add %c, 3i32
      %pj: ptr<f32> = index %x, %c3, %j5
      %w: f32 = load %pj
      %t2: f32 = sub %w, %t
      %c1: i32 = add %c, 1i32
      continue %t2, %j, %c1
    }
    %d: f32 = mul %s, %b
    %q: ptr<f32> = index %y, %r, %i
    store %q, %d
    yield
  } else {
    yield
  }
  return
}
)");
  for (int64_t n : kSizes)
    if (n > 0) Agree(&k, {Array(Ramp((int)n * 6), {6, n}), Array(Ramp((int)n * 5), {5, n}), Value((int32_t)n)}, {5, n});
}

TEST(Widen, LocalArrays) {
  Kernel k(R"(
struct %S { a: fixed<f32, 4>, b: u8, c: f64 }
kernel @k(%x: array<i32, 1>, %y: array<f32, 1>) {
  %i: i32 = tid 0
  %s: ptr<%S, local> = alloca
  %p: ptr<i32> = index %x, %i
  %v: i32 = load %p
  %sa: ptr<fixed<f32, 4>, local> = member %s, 0
  %m: i32 = and %v, 3i32
  %e: ptr<f32, local> = elem %sa, %m
  store %e, 2.5f32
  %sb: ptr<u8, local> = member %s, 1
  %u: u8 = cvt %v
  store %sb, %u
  %sc: ptr<f64, local> = member %s, 2
  %c: bool = gt %v, 10i32
  if %c {
    store %sc, 3.25f64
    %e1: ptr<f32, local> = elem %sa, 1i32
    store %e1, 8.0f32
    %e2: ptr<f32, local> = elem %sa, %m
    %w: f32 = load %e2
    %w2: f32 = add %w, 1.0f32
    store %e2, %w2
    yield
  } else {
    yield
  }
  %sum: f32 = loop (%j: i32 = 0i32, %a: f32 = 0.0f32) {
    %d: bool = ge %j, 4i32
    if %d {
      break %a
    } else {
      yield
    }
    %f: ptr<f32, local> = elem %sa, %j
    %g: f32 = load %f
    %a3: f32 = mul %a, 3.0f32
    %a2: f32 = add %a3, %g
    %j2: i32 = add %j, 1i32
    continue %j2, %a2
  }
  %ub: u8 = load %sb
  %uf: f32 = cvt %ub
  %cd: f64 = load %sc
  %cf: f32 = cvt %cd
  %t: f32 = add %sum, %uf
  %t2: f32 = add %t, %cf
  %q: ptr<f32> = index %y, %i
  store %q, %t2
  return
}
)");
  for (int64_t n : kSizes) {
    std::vector<int32_t> v;
    for (int64_t k = 0; k < n; k++) v.push_back((int32_t)(k * 7 % 23));
    Agree(&k, {Array(v), Array(Ramp((int)n))}, {n});
  }
}

TEST(Widen, AtomicsInLaneOrder) {
  Kernel k(R"(
kernel @k(%x: array<i32, 1>, %s: array<i32, 1>, %f: array<f32, 1>, %o: array<i32, 1>, %u: array<u64, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %x, %i
  %v: i32 = load %p
  %s0: ptr<i32> = index %s, 0i32
  %r0: i32 = atomic_add %s0, %v
  %s1: ptr<i32> = index %s, 1i32
  %r1: i32 = atomic_min %s1, %v
  %s2: ptr<i32> = index %s, 2i32
  %r2: i32 = atomic_max %s2, %v
  %m: i32 = and %v, 7i32
  %fp: ptr<f32> = index %f, %m
  %vf: f32 = cvt %v
  %vg: f32 = mul %vf, 0.1f32
  %c: bool = ne %m, 2i32
  if %c {
    %rf: f32 = atomic_add %fp, %vg
    %fx: ptr<f32> = index %f, 8i32
    %rx: f32 = atomic_max %fx, %rf
    %s3: ptr<i32> = index %s, 3i32
    %r3: i32 = atomic_add %s3, 1i32
    %q: ptr<i32> = index %o, %i
    store %q, %r3
    %s4: ptr<i32> = index %s, 4i32
    %r4: i32 = atomic_xor %s4, %v
    yield
  } else {
    yield
  }
  %w: u64 = cvt %v
  %up: ptr<u64> = index %u, 0i32
  %ru: u64 = atomic_or %up, %w
  %up1: ptr<u64> = index %u, 1i32
  %rv: u64 = atomic_xchg %up1, %w
  %up2: ptr<u64> = index %u, 2i32
  %rw: u64 = atomic_cas %up2, %rv, %w
  return
}
)");
  std::vector<Way> ways = Ways();
  for (Way w : Ways()) w.serial = true, ways.push_back(w);
  for (int64_t n : {0, 1, 7, 16, 33, 100}) {
    std::vector<int32_t> v;
    for (int64_t k = 0; k < n; k++) v.push_back((int32_t)(k * 37 % 101) - 20);
    Agree(&k,
          {Array(v), Array(std::vector<int32_t>(5, 5)), Array(std::vector<float>(9, 0.5f)),
           Array(std::vector<int32_t>((size_t)n, -1)), Array(std::vector<uint64_t>(3, 1))},
          {n}, ways);
  }
}

TEST(Widen, ReportsTheFirstFailedCheck) {
  Kernel k(R"(
file 0 "k.hd"
kernel @k(%x: array<f32, 1>, %n: i32) {
  %i: i32 = tid 0
  %j: i32 = mul %i, 3i32
  %c: bool = lt %j, %n
  %j8: i64 = cvt %j
  %n8: i64 = cvt %n
  check %c, %j8, %n8, "x[j]" @ 0:7:3
  %z: i32 = select %c, %j, 0i32
  %p: ptr<f32> = index %x, %z
  store %p, 1.0f32
  %d: bool = ge %n, 0i32
  assert %d, "never"
  return
}
)");
  for (const Way &w : Ways()) {
    std::vector<Arg> args = {Array(Ramp(50)), Value((int32_t)50)};
    Fault f = k.Run(w, &args, {40});
    EXPECT_EQ(f.count, 1) << w.name();
    EXPECT_EQ(f.text, "x[j]");
    EXPECT_EQ(f.tid[0], 17);
    EXPECT_EQ(f.index, 51);
    EXPECT_EQ(f.limit, 50);
    EXPECT_EQ(f.line, 7);
    EXPECT_EQ(f.column, 3);
    args = {Array(Ramp(50)), Value((int32_t)50)};
    EXPECT_EQ(k.Run(w, &args, {17}).count, 0) << w.name();
  }
}

TEST(Widen, LaunchRecordIsWhereTheCodeReadsIt) {
  Kernel k(R"(
kernel @k(%y: array<i32, 3>) {
  %a: i32 = tid 0
  %b: i32 = tid 1
  %c: i32 = tid 2
  %d0: i32 = dim 0
  %d1: i32 = dim 1
  %d2: i32 = dim 2
  %l: i32 = length %y, 1
  %p: ptr<i32> = index %y, %a, %b, %c
  %t0: i32 = mul %a, 1000i32
  %t1: i32 = mul %b, 100i32
  %t2: i32 = add %t0, %t1
  %t3: i32 = add %t2, %c
  %t4: i32 = mul %d0, %d1
  %t5: i32 = mul %t4, %d2
  %t6: i32 = add %t5, %l
  %t7: i32 = xor %t3, %t6
  store %p, %t7
  return
}
)");
  Agree(&k, {Array(std::vector<int32_t>(2 * 3 * 21), {2, 3, 21})}, {2, 3, 21});
  EXPECT_EQ(offsetof(RtSpan, at), 32u);
  EXPECT_EQ(offsetof(RtSpan, begin), 64u);
  EXPECT_EQ(offsetof(RtSpan, end), 72u);
  EXPECT_EQ(offsetof(RtSpan, serial), 84u);
  EXPECT_EQ(offsetof(RtSpan, fault), 88u);
  EXPECT_EQ(offsetof(RtSpan, print), 96u);
  EXPECT_EQ(offsetof(RtFault, index), 16u);
  EXPECT_EQ(offsetof(RtFault, tid), 32u);
  EXPECT_EQ(offsetof(RtFault, text), 64u);
  EXPECT_EQ(offsetof(RtFault, file), 72u);
}

} // namespace
