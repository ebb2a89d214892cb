// tests/ir/eval_test.cc -- each pure op against an expectation that is reached another way.
//
// Integers are computed without bounds in 128 bits and then cut; floats in a type so wide that rounding its result to the
// narrow one is rounding once (Figueroa, "When is double rounding innocuous?", 1995: 2p + 2 digits suffice for + - * /
// and sqrt). Halves are rounded by searching the sorted list of all of them.
#include <algorithm>
#include <cfloat>
#include <map>
#include <random>
#include <vector>

#include "tests/ir/ir_testing.h"

namespace {

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 Quad;
#else
typedef long double Quad; // 113 bits on AArch64
#endif
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

const IrKind kInts[] = {IR_I8, IR_I16, IR_I32, IR_I64, IR_U8, IR_U16, IR_U32, IR_U64};
const IrKind kFloats[] = {IR_F16, IR_BF16, IR_F32, IR_F64};

struct EvalTest : IrTest {
  std::mt19937_64 rng{20240607};

  uint64_t Eval(IrOp op, const IrType *t, const IrType *res, std::vector<uint64_t> args) {
    return hdir_eval(op, t, res, args.data());
  }
  uint64_t Eval(IrOp op, IrKind k, std::vector<uint64_t> args) { return Eval(op, Scalar(k), Scalar(k), args); }
  bool Test(IrOp op, IrKind k, std::vector<uint64_t> args) { return Eval(op, Scalar(k), Scalar(IR_BOOL), args) != 0; }
  uint64_t Cvt(IrKind from, IrKind to, uint64_t x) { return Eval(IR_cvt, Scalar(from), Scalar(to), {x}); }

  uint64_t Cut(IrKind k, Wide x) {
    uint32_t n = hdir_bits(Scalar(k));
    return n == 64 ? (uint64_t)x : (uint64_t)x & ((UINT64_C(1) << n) - 1);
  }
  Wide Number(IrKind k, uint64_t bits) {
    return hdir_is_signed(Scalar(k)) ? (Wide)hdir_i64_of(Scalar(k), bits) : (Wide)(UWide)bits;
  }
  uint64_t Random(IrKind k) { // half of them near the ends and zero
    uint64_t near = (rng() % 7) - 3;
    switch (rng() % 6) {
    case 0: return Cut(k, (Wide)near);
    case 1: return Cut(k, (Wide)((UINT64_C(1) << (hdir_bits(Scalar(k)) - 1)) + near));
    case 2: return Cut(k, (Wide)(UINT64_C(1) << (rng() % hdir_bits(Scalar(k)))));
    default: return Cut(k, (Wide)rng());
    }
  }
};

uint64_t F32(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  return b;
}
uint64_t F64(double x) {
  uint64_t b;
  memcpy(&b, &x, 8);
  return b;
}
float ToF32(uint64_t b) {
  uint32_t s = (uint32_t)b;
  float x;
  memcpy(&x, &s, 4);
  return x;
}
double ToF64(uint64_t b) {
  double x;
  memcpy(&x, &b, 8);
  return x;
}

// --- integers ---

TEST_F(EvalTest, IntegerArithmeticIsExactModuloTheWidth) {
  for (IrKind k : kInts) {
    uint32_t n = hdir_bits(Scalar(k));
    for (int round = 0; round < 4000; round++) {
      uint64_t a = Random(k), b = Random(k);
      Wide x = Number(k, a), y = Number(k, b);
      ASSERT_EQ(Eval(IR_add, k, {a, b}), Cut(k, x + y));
      ASSERT_EQ(Eval(IR_sub, k, {a, b}), Cut(k, x - y));
      ASSERT_EQ(Eval(IR_mul, k, {a, b}), Cut(k, (Wide)((UWide)x * (UWide)y)));
      ASSERT_EQ(Eval(IR_div, k, {a, b}), Cut(k, y == 0 ? 0 : x / y)); // MIN / -1 is 2^(n-1), cut to MIN
      ASSERT_EQ(Eval(IR_rem, k, {a, b}), Cut(k, y == 0 ? x : x % y));
      ASSERT_EQ(Eval(IR_neg, k, {a}), Cut(k, -x));
      ASSERT_EQ(Eval(IR_abs, k, {a}), Cut(k, x < 0 ? -x : x));
      ASSERT_EQ(Eval(IR_min, k, {a, b}), Cut(k, std::min(x, y)));
      ASSERT_EQ(Eval(IR_max, k, {a, b}), Cut(k, std::max(x, y)));
      ASSERT_EQ(Eval(IR_and, k, {a, b}), Cut(k, x & y));
      ASSERT_EQ(Eval(IR_or, k, {a, b}), Cut(k, x | y));
      ASSERT_EQ(Eval(IR_xor, k, {a, b}), Cut(k, x ^ y));
      ASSERT_EQ(Eval(IR_not, k, {a}), Cut(k, -1 - x));
      ASSERT_EQ(Eval(IR_shl, k, {a, b}), Cut(k, (Wide)((UWide)x << (b % n))));
      ASSERT_EQ(Eval(IR_shr, k, {a, b}), Cut(k, x >> (b % n)));
      ASSERT_EQ(Test(IR_eq, k, {a, b}), x == y);
      ASSERT_EQ(Test(IR_ne, k, {a, b}), x != y);
      ASSERT_EQ(Test(IR_lt, k, {a, b}), x < y);
      ASSERT_EQ(Test(IR_le, k, {a, b}), x <= y);
      ASSERT_EQ(Test(IR_gt, k, {a, b}), x > y);
      ASSERT_EQ(Test(IR_ge, k, {a, b}), x >= y);
    }
  }
}

TEST_F(EvalTest, DivisionHasAResultForEveryOperand) {
  EXPECT_EQ(Eval(IR_div, IR_I32, {7, 0}), 0u);
  EXPECT_EQ(Eval(IR_rem, IR_I32, {7, 0}), 7u);
  EXPECT_EQ(Eval(IR_div, IR_I32, {0x80000000, 0xffffffff}), 0x80000000u);
  EXPECT_EQ(Eval(IR_rem, IR_I32, {0x80000000, 0xffffffff}), 0u);
  EXPECT_EQ(Eval(IR_div, IR_I64, {UINT64_C(1) << 63, UINT64_MAX}), UINT64_C(1) << 63);
  EXPECT_EQ(Eval(IR_rem, IR_I64, {UINT64_C(1) << 63, UINT64_MAX}), 0u);
  EXPECT_EQ(Eval(IR_div, IR_I8, {0x80, 0xff}), 0x80u);
  EXPECT_EQ(Eval(IR_div, IR_U64, {UINT64_MAX, 0}), 0u);
  EXPECT_EQ(Eval(IR_rem, IR_U64, {UINT64_MAX, 0}), UINT64_MAX);
  EXPECT_EQ((int8_t)Eval(IR_div, IR_I8, {(uint8_t)-7, 2}), -3) << "towards zero";
  EXPECT_EQ((int8_t)Eval(IR_rem, IR_I8, {(uint8_t)-7, 2}), -1) << "the sign of a";
}

TEST_F(EvalTest, MulhiIsTheUpperHalf) {
  for (IrKind k : kInts) {
    uint32_t n = hdir_bits(Scalar(k));
    for (int round = 0; round < 2000; round++) {
      uint64_t a = Random(k), b = Random(k);
      if (n < 64) {
        ASSERT_EQ(Eval(IR_mulhi, k, {a, b}), Cut(k, (Number(k, a) * Number(k, b)) >> n));
        continue;
      }
      // Schoolbook in halves of 32 bits, and for signed operands the usual correction.
      uint64_t al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
      uint64_t mid = ah * bl + (al * bl >> 32);
      uint64_t low = al * bh + (mid & 0xffffffff);
      uint64_t high = ah * bh + (mid >> 32) + (low >> 32);
      if (k == IR_I64) high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
      ASSERT_EQ(Eval(IR_mulhi, k, {a, b}), high) << a << " " << b;
    }
  }
  EXPECT_EQ(Eval(IR_mulhi, IR_I64, {UINT64_C(1) << 63, UINT64_C(1) << 63}), UINT64_C(1) << 62);
  EXPECT_EQ(Eval(IR_mulhi, IR_U64, {UINT64_MAX, UINT64_MAX}), UINT64_MAX - 1);
}

TEST_F(EvalTest, BitCountsAgreeWithCountingOneByOne) {
  for (IrKind k : kInts) {
    uint32_t n = hdir_bits(Scalar(k));
    for (int round = 0; round < 500; round++) {
      uint64_t a = round ? Random(k) : 0, ones = 0, lead = n, trail = n;
      for (uint32_t bit = 0; bit < n; bit++) {
        if (!(a >> bit & 1)) continue;
        ones++;
        lead = n - 1 - bit;
        trail = std::min<uint64_t>(trail, bit);
      }
      ASSERT_EQ(Eval(IR_popcount, k, {a}), ones);
      ASSERT_EQ(Eval(IR_clz, k, {a}), lead);
      ASSERT_EQ(Eval(IR_ctz, k, {a}), trail);
    }
  }
}

TEST_F(EvalTest, ShiftCountsAreMasked) {
  EXPECT_EQ(Eval(IR_shl, IR_I32, {1, 32}), 1u);
  EXPECT_EQ(Eval(IR_shl, IR_I32, {1, 33}), 2u);
  EXPECT_EQ(Eval(IR_shr, IR_U8, {0x80, 15}), 1u);
  EXPECT_EQ(Eval(IR_shr, IR_I8, {0x80, 15}), 0xffu);
  EXPECT_EQ(Eval(IR_shl, IR_I32, {1, (uint32_t)-1}), 0x80000000u);
  EXPECT_EQ(Eval(IR_shl, IR_U64, {1, 64 + 63}), UINT64_C(1) << 63);
}

TEST_F(EvalTest, BoolIsOneBit) {
  for (uint64_t a : {0, 1}) {
    EXPECT_EQ(Eval(IR_not, IR_BOOL, {a}), !a);
    for (uint64_t b : {0, 1}) {
      EXPECT_EQ(Eval(IR_and, IR_BOOL, {a, b}), a && b);
      EXPECT_EQ(Eval(IR_or, IR_BOOL, {a, b}), a || b);
      EXPECT_EQ(Eval(IR_xor, IR_BOOL, {a, b}), a != b);
      EXPECT_EQ(Test(IR_eq, IR_BOOL, {a, b}), a == b);
      EXPECT_EQ(Test(IR_ne, IR_BOOL, {a, b}), a != b);
      EXPECT_EQ(Test(IR_lt, IR_BOOL, {a, b}), a < b);
      EXPECT_EQ(Test(IR_le, IR_BOOL, {a, b}), a <= b);
      EXPECT_EQ(Test(IR_gt, IR_BOOL, {a, b}), a > b);
      EXPECT_EQ(Test(IR_ge, IR_BOOL, {a, b}), a >= b);
    }
  }
}

// --- floats ---

TEST_F(EvalTest, F32ArithmeticIsRoundedOnce) {
  for (int round = 0; round < 40000; round++) {
    uint64_t a = (uint32_t)rng(), b = (uint32_t)rng();
    if (round % 3 == 0) b = (a & 0xff800000) | (b & 0x7fffff); // near exponents, so that sums cancel
    if (round % 5 == 0) a &= 0x80ffffff;                       // small ones and subnormals
    double x = ToF32(a), y = ToF32(b);
    const struct {
      IrOp op;
      double wide;
    } cases[] = {{IR_add, x + y}, {IR_sub, x - y}, {IR_mul, x * y}, {IR_div, x / y}};
    for (const auto &c : cases) {
      ASSERT_TRUE(SameBits(Scalar(IR_F32), Eval(c.op, IR_F32, {a, b}), F32((float)c.wide)))
          << hdir_ops[c.op].name << " " << x << " " << y;
    }
    ASSERT_TRUE(SameBits(Scalar(IR_F32), Eval(IR_sqrt, IR_F32, {a}), F32((float)std::sqrt(x)))) << x;
  }
}

TEST_F(EvalTest, F64ArithmeticIsRoundedOnce) {
  for (int round = 0; round < 40000; round++) {
    uint64_t a = rng(), b = rng();
    if (round % 3 == 0) b = (a & UINT64_C(0xfff0000000000000)) | (b & UINT64_C(0xfffffffffffff));
    if (round % 7 == 0) a &= UINT64_C(0x801fffffffffffff);
    Quad x = ToF64(a), y = ToF64(b);
    ASSERT_TRUE(SameBits(Scalar(IR_F64), Eval(IR_add, IR_F64, {a, b}), F64((double)(x + y))));
    ASSERT_TRUE(SameBits(Scalar(IR_F64), Eval(IR_sub, IR_F64, {a, b}), F64((double)(x - y))));
    ASSERT_TRUE(SameBits(Scalar(IR_F64), Eval(IR_mul, IR_F64, {a, b}), F64((double)(x * y))));
    ASSERT_TRUE(SameBits(Scalar(IR_F64), Eval(IR_div, IR_F64, {a, b}), F64((double)(x / y))));
  }
}

TEST_F(EvalTest, F64SqrtIsTheNearest) {
  for (int round = 0; round < 20000; round++) {
    uint64_t a = (rng() >> 2) + (UINT64_C(1) << 60); // positive, neither tiny nor infinite
    double x = ToF64(a), r = ToF64(Eval(IR_sqrt, IR_F64, {a}));
    Quad low = ((Quad)r + std::nextafter(r, 0)) / 2, high = ((Quad)r + std::nextafter(r, HUGE_VAL)) / 2;
    ASSERT_LT(low * low, (Quad)x); // 54 digits squared are exact; a square root is never half way
    ASSERT_GT(high * high, (Quad)x);
  }
  EXPECT_TRUE(std::isnan(ToF64(Eval(IR_sqrt, IR_F64, {F64(-1)}))));
  EXPECT_EQ(Eval(IR_sqrt, IR_F64, {F64(-0.0)}), F64(-0.0));
  EXPECT_EQ(Eval(IR_sqrt, IR_F64, {F64(INFINITY)}), F64(INFINITY));
}

TEST_F(EvalTest, FmaIsRoundedOnce) {
  auto random = [&](int digits, int exponents) {
    double x = std::ldexp((double)(rng() >> (64 - digits)), -digits + (int)(rng() % (2 * exponents + 1)) - exponents);
    return rng() & 1 ? -x : x;
  };
  for (int round = 0; round < 40000; round++) {
    float a = (float)random(24, 15), b = (float)random(24, 15), c = (float)random(24, 15);
    if (round % 2) c = -(a * b); // nearly cancels: what is left are the digits that two roundings lose
    Quad exact = (Quad)a * b + c;
    ASSERT_EQ(Eval(IR_fma, IR_F32, {F32(a), F32(b), F32(c)}), F32((float)exact)) << a << " " << b << " " << c;
    double x = random(53, 0), y = random(53, 0), z = round % 2 ? -(x * y) : random(53, 0);
    ASSERT_EQ(Eval(IR_fma, IR_F64, {F64(x), F64(y), F64(z)}), F64((double)((Quad)x * y + z)));
  }
  float one_up = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(Eval(IR_fma, IR_F32, {F32(one_up), F32(one_up), F32(-1)}), F32(0x1.000001p-22f));
  EXPECT_EQ(Eval(IR_fma, IR_F32, {F32(FLT_MAX), F32(2), F32(-FLT_MAX)}), F32(FLT_MAX)) << "no overflow on the way";
}

TEST_F(EvalTest, RoundingToIntegers) {
  const struct {
    double x, floor, ceil, trunc, rint;
  } cases[] = {{0.0, 0.0, 0.0, 0.0, 0.0},
               {-0.0, -0.0, -0.0, -0.0, -0.0},
               {0.5, 0, 1, 0, 0},
               {1.5, 1, 2, 1, 2},
               {2.5, 2, 3, 2, 2},
               {-0.5, -1, -0.0, -0.0, -0.0},
               {-1.5, -2, -1, -1, -2},
               {-2.5, -3, -2, -2, -2},
               {0.75, 0, 1, 0, 1},
               {-0.25, -1, -0.0, -0.0, -0.0},
               {7, 7, 7, 7, 7},
               {1e30, 1e30, 1e30, 1e30, 1e30},
               {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}};
  for (const auto &c : cases) {
    for (IrKind k : kFloats) {
      const IrType *t = Scalar(k);
      if (c.x == 1e30 && k == IR_F16) continue;
      uint64_t x = hdir_bits_of(t, c.x);
      double exact = hdir_f64_of(t, x);
      bool big = c.x == 1e30;
      EXPECT_EQ(Eval(IR_floor, k, {x}), hdir_bits_of(t, big ? exact : c.floor)) << c.x;
      EXPECT_EQ(Eval(IR_ceil, k, {x}), hdir_bits_of(t, big ? exact : c.ceil)) << c.x;
      EXPECT_EQ(Eval(IR_trunc, k, {x}), hdir_bits_of(t, big ? exact : c.trunc)) << c.x;
      EXPECT_EQ(Eval(IR_rint, k, {x}), hdir_bits_of(t, big ? exact : c.rint)) << c.x;
    }
  }
  EXPECT_EQ(Eval(IR_rint, IR_F64, {F64(4503599627370497.5)}), F64(4503599627370498.0));
  EXPECT_EQ(Eval(IR_floor, IR_F64, {F64(-4503599627370495.5)}), F64(-4503599627370496.0));
}

TEST_F(EvalTest, SignsAreBits) {
  for (IrKind k : kFloats) {
    uint64_t sign = UINT64_C(1) << (hdir_bits(Scalar(k)) - 1);
    for (int round = 0; round < 200; round++) { // NaNs too
      uint64_t a = Cut(k, (Wide)rng()), b = Cut(k, (Wide)rng());
      EXPECT_EQ(Eval(IR_neg, k, {a}), a ^ sign);
      EXPECT_EQ(Eval(IR_abs, k, {a}), a & ~sign);
      EXPECT_EQ(Eval(IR_copysign, k, {a, b}), (a & ~sign) | (b & sign));
    }
  }
}

TEST_F(EvalTest, MinAndMaxTakeTheSecondIfNotOrdered) {
  for (IrKind k : kFloats) {
    const IrType *t = Scalar(k);
    uint64_t nan = hdir_bits_of(t, NAN), one = hdir_bits_of(t, 1), two = hdir_bits_of(t, 2);
    uint64_t zero = 0, minus = hdir_bits_of(t, -0.0);
    for (IrOp op : {IR_min, IR_max}) {
      EXPECT_EQ(Eval(op, k, {nan, one}), one);
      EXPECT_EQ(Eval(op, k, {one, nan}), nan);
      EXPECT_EQ(Eval(op, k, {zero, minus}), minus);
      EXPECT_EQ(Eval(op, k, {minus, zero}), zero);
      EXPECT_EQ(Eval(op, k, {one, two}), op == IR_min ? one : two);
      EXPECT_EQ(Eval(op, k, {two, one}), op == IR_min ? one : two);
    }
  }
}

TEST_F(EvalTest, ComparisonsOfFloats) {
  const double values[] = {-INFINITY, -2, -0.0, 0.0, 1, 2, INFINITY, NAN};
  for (IrKind k : kFloats) {
    for (double x : values) {
      for (double y : values) {
        std::vector<uint64_t> args = {hdir_bits_of(Scalar(k), x), hdir_bits_of(Scalar(k), y)};
        bool ordered = !std::isnan(x) && !std::isnan(y);
        EXPECT_EQ(Test(IR_eq, k, args), ordered && x == y);
        EXPECT_EQ(Test(IR_ne, k, args), !ordered || x != y) << x << " " << y;
        EXPECT_EQ(Test(IR_lt, k, args), ordered && x < y);
        EXPECT_EQ(Test(IR_le, k, args), ordered && x <= y);
        EXPECT_EQ(Test(IR_gt, k, args), ordered && x > y);
        EXPECT_EQ(Test(IR_ge, k, args), ordered && x >= y);
      }
    }
  }
}

// --- halves ---

struct Half {
  IrKind kind;
  int mantissa, bias; // digits behind the point, exponent bias
};
const Half kHalves[] = {{IR_F16, 10, 15}, {IR_BF16, 7, 127}};

double half_value(const Half &h, uint32_t bits) { // positive finite, from the definition
  uint32_t e = bits >> h.mantissa, m = bits & ((1u << h.mantissa) - 1);
  if (e == 0) return std::ldexp((double)m, 1 - h.bias - h.mantissa);
  return std::ldexp((double)(m + (1u << h.mantissa)), (int)e - h.bias - h.mantissa);
}

TEST_F(EvalTest, EveryHalfHasItsValueAndComesBack) {
  for (const Half &h : kHalves) {
    const IrType *t = Scalar(h.kind);
    uint32_t infinity = 0x7fffu & ~((1u << h.mantissa) - 1);
    for (uint32_t bits = 0; bits < infinity; bits++) {
      ASSERT_EQ(hdir_f64_of(t, bits), half_value(h, bits)) << bits;
      ASSERT_EQ(hdir_f64_of(t, bits | 0x8000), -half_value(h, bits)) << bits;
      ASSERT_EQ(hdir_bits_of(t, half_value(h, bits)), bits);
      ASSERT_EQ(Cvt(h.kind, IR_F32, bits), F32((float)half_value(h, bits)));
    }
    EXPECT_EQ(hdir_f64_of(t, infinity), INFINITY);
    EXPECT_EQ(hdir_bits_of(t, -INFINITY), infinity | 0x8000u);
    for (uint32_t bits = infinity + 1; bits < 0x8000; bits++) {
      ASSERT_TRUE(std::isnan(hdir_f64_of(t, bits)));
      uint64_t back = Cvt(IR_F32, h.kind, Cvt(h.kind, IR_F32, bits));
      ASSERT_TRUE(std::isnan(hdir_f64_of(t, back)));
    }
  }
}

// The nearest half by search; ties go to the even one, past the last one to infinity.
uint32_t nearest_half(const Half &h, const std::vector<double> &all, double x) {
  double mag = std::fabs(x);
  uint32_t infinity = (uint32_t)all.size(), sign = std::signbit(x) ? 0x8000 : 0;
  double next_power = std::ldexp(1, h.kind == IR_F16 ? 16 : 128);
  auto value = [&](uint32_t k) { return k < infinity ? all[k] : next_power; };
  uint32_t up = (uint32_t)(std::lower_bound(all.begin(), all.end(), mag) - all.begin());
  if (up == 0) return sign;
  double below = mag - value(up - 1), above = value(up) - mag; // exact: neighbours of a float
  if (up == infinity && mag >= next_power) return infinity | sign;
  uint32_t pick = below < above || (below == above && (up - 1) % 2 == 0) ? up - 1 : up;
  return pick | sign;
}

TEST_F(EvalTest, HalvesRoundToNearestTiesToEven) {
  for (const Half &h : kHalves) {
    uint32_t infinity = 0x7fffu & ~((1u << h.mantissa) - 1);
    std::vector<double> all;
    for (uint32_t bits = 0; bits < infinity; bits++) all.push_back(half_value(h, bits));
    auto check = [&](float x) {
      ASSERT_EQ(Cvt(IR_F32, h.kind, F32(x)), nearest_half(h, all, x)) << std::hexfloat << x;
      ASSERT_EQ(Cvt(IR_F32, h.kind, F32(-x)), nearest_half(h, all, -x)) << std::hexfloat << -x;
    };
    for (uint32_t k = 0; k < infinity; k++) { // the midpoints, and just beside them
      double next = k + 1 < infinity ? all[k + 1] : std::ldexp(1, h.kind == IR_F16 ? 16 : 128);
      double half_way = (all[k] + next) / 2;
      float x = (float)half_way;
      if ((double)x != half_way) continue; // bf16's smallest are not halved in f32
      check(x);
      check(std::nextafterf(x, 0));
      if (std::isfinite(std::nextafterf(x, INFINITY))) check(std::nextafterf(x, INFINITY));
    }
    for (int round = 0; round < 100000; round++) {
      float x = ToF32((uint32_t)rng() & 0x7fffffff);
      if (std::isfinite(x)) check(x);
      check(std::ldexp((float)(rng() % 4096), (int)(rng() % 50) - 34));
    }
  }
}

TEST_F(EvalTest, HalfArithmeticGoesByWayOfF32) {
  for (const Half &h : kHalves) {
    const IrType *t = Scalar(h.kind);
    for (int round = 0; round < 20000; round++) {
      uint64_t a = rng() & 0xffff, b = rng() & 0xffff;
      float x = (float)hdir_f64_of(t, a), y = (float)hdir_f64_of(t, b);
      const struct {
        IrOp op;
        float wide;
      } cases[] = {{IR_add, x + y}, {IR_sub, x - y}, {IR_mul, x * y}, {IR_div, x / y}};
      for (const auto &c : cases) {
        ASSERT_TRUE(SameBits(t, Eval(c.op, h.kind, {a, b}), Cvt(IR_F32, h.kind, F32(c.wide))));
      }
      ASSERT_TRUE(SameBits(t, Eval(IR_sqrt, h.kind, {a}), Cvt(IR_F32, h.kind, F32(std::sqrt(x)))));
    }
  }
}

TEST_F(EvalTest, ConversionsToHalvesRoundInTwoSteps) {
  // 1 + 2^-11 + 2^-40: in one step above the midpoint of two f16, in f32 on it, so down to even.
  double x = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(Cvt(IR_F64, IR_F16, F64(x)), 0x3c00u);
  EXPECT_EQ(hdir_bits_of(Scalar(IR_F16), x), 0x3c00u);
  EXPECT_EQ(Cvt(IR_F32, IR_F16, F32(std::nextafterf(1 + 0x1p-11f, 2))), 0x3c01u);
  // 2^40 + 2^32 + 1 to bf16: the last one is lost in f32.
  uint64_t i = (UINT64_C(1) << 40) + (UINT64_C(1) << 32) + 1;
  EXPECT_EQ(Cvt(IR_I64, IR_BF16, i), 0x5380u);
  EXPECT_EQ(Cvt(IR_F16, IR_BF16, 0x3c01), 0x3f80u);
}

// --- conversion ---

TEST_F(EvalTest, IntegersWrapIntoIntegers) {
  for (IrKind from : kInts) {
    for (IrKind to : kInts) {
      for (int round = 0; round < 200; round++) {
        uint64_t a = Random(from);
        ASSERT_EQ(Cvt(from, to, a), Cut(to, Number(from, a)));
      }
    }
  }
}

TEST_F(EvalTest, IntegersRoundIntoFloatsOnce) {
  for (IrKind from : kInts) {
    for (int round = 0; round < 5000; round++) {
      uint64_t a = Random(from);
      Quad x = (Quad)Number(from, a);
      ASSERT_EQ(Cvt(from, IR_F64, a), F64((double)x));
      ASSERT_EQ(Cvt(from, IR_F32, a), F32((float)x)) << a;
      ASSERT_EQ(Cvt(from, IR_F16, a), Cvt(IR_F32, IR_F16, F32((float)x)));
      ASSERT_EQ(Cvt(from, IR_BF16, a), Cvt(IR_F32, IR_BF16, F32((float)x)));
    }
  }
  // 2^60 + 2^36 + 1 in f64 is a tie of two f32 that it is not.
  uint64_t trap = (UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1;
  EXPECT_EQ(Cvt(IR_I64, IR_F32, trap), F32(0x1.000002p60f));
  EXPECT_EQ(Cvt(IR_U64, IR_F32, UINT64_MAX), F32(0x1p64f));
  EXPECT_EQ(Cvt(IR_U32, IR_F16, 65519), 0x7bffu) << "the largest f16";
  EXPECT_EQ(Cvt(IR_U32, IR_F16, 65520), 0x7c00u) << "half way to 2^16: infinity";
}

TEST_F(EvalTest, FloatsTruncateAndSaturateIntoIntegers) {
  for (IrKind to : kInts) {
    const IrType *t = Scalar(to);
    Wide least = hdir_is_signed(t) ? -((Wide)1 << (hdir_bits(t) - 1)) : 0;
    Wide most = ((Wide)1 << (hdir_bits(t) - hdir_is_signed(t))) - 1;
    auto check = [&](double x) {
      Wide want = 0;
      if (!std::isnan(x)) {
        if (x >= 0x1p65)
          want = most;
        else if (x <= -0x1p65)
          want = least;
        else
          want = std::min(most, std::max(least, (Wide)x));
      }
      ASSERT_EQ(Cvt(IR_F64, to, F64(x)), Cut(to, want)) << x;
      float f = (float)x;
      Wide wide = std::isnan(f)   ? 0
                  : f >= 0x1p65f  ? most
                  : f <= -0x1p65f ? least
                                  : std::min(most, std::max(least, (Wide)f));
      ASSERT_EQ(Cvt(IR_F32, to, F32(f)), Cut(to, wide)) << f;
    };
    for (double x : {0.0, -0.0, 0.5, -0.5, 0.99999999, -0.99999999, 1.5, -1.5, 1e300, -1e300, (double)INFINITY,
                     -(double)INFINITY, (double)NAN, 5e-324}) {
      check(x);
    }
    for (int e = 5; e <= 66; e++) {
      for (double at : {std::ldexp(1, e), -std::ldexp(1, e)}) {
        check(at);
        check(std::nextafter(at, 0));
        check(std::nextafter(at, 2 * at));
        check(at + 1);
        check(at - 1);
      }
    }
    for (int round = 0; round < 2000; round++) check(std::ldexp((double)(int64_t)rng(), -(int)(rng() % 64)));
  }
  EXPECT_EQ(Cvt(IR_F16, IR_I8, 0x7c00), 127u);
  EXPECT_EQ(Cvt(IR_BF16, IR_U8, 0xff80), 0u);
}

TEST_F(EvalTest, BoolConversions) {
  for (IrKind k : kInts) {
    EXPECT_EQ(Cvt(IR_BOOL, k, 1), 1u);
    EXPECT_EQ(Cvt(k, IR_BOOL, 0), 0u);
    EXPECT_EQ(Cvt(k, IR_BOOL, UINT64_C(1) << (hdir_bits(Scalar(k)) - 1)), 1u);
  }
  for (IrKind k : kFloats) {
    EXPECT_EQ(Cvt(IR_BOOL, k, 1), hdir_bits_of(Scalar(k), 1));
    EXPECT_EQ(Cvt(IR_BOOL, k, 0), 0u);
    EXPECT_EQ(Cvt(k, IR_BOOL, hdir_bits_of(Scalar(k), -0.0)), 0u);
    EXPECT_EQ(Cvt(k, IR_BOOL, hdir_bits_of(Scalar(k), NAN)), 1u);
    EXPECT_EQ(Cvt(k, IR_BOOL, 1), 1u) << "the smallest subnormal is not zero";
  }
}

TEST_F(EvalTest, FloatsIntoFloats) {
  EXPECT_EQ(Cvt(IR_F64, IR_F32, F64(1e300)), F32(INFINITY));
  EXPECT_EQ(Cvt(IR_F64, IR_F32, F64(0x1p-149)), 1u) << "subnormals stay";
  EXPECT_EQ(Cvt(IR_F64, IR_F32, F64(0x1p-150)), 0u) << "a tie, to even";
  EXPECT_EQ(Cvt(IR_F64, IR_F32, F64(0x1.8p-150)), 1u);
  EXPECT_EQ(Cvt(IR_F32, IR_F64, F32(0.1f)), F64((double)0.1f));
  EXPECT_TRUE(std::isnan(ToF32(Cvt(IR_F64, IR_F32, F64(NAN)))));
}

TEST_F(EvalTest, SelectAndBitcastMoveBits) {
  for (IrKind k : {IR_I8, IR_U64, IR_F32, IR_BF16, IR_BOOL}) {
    uint64_t a = Cut(k, (Wide)rng()), b = Cut(k, (Wide)rng());
    EXPECT_EQ(Eval(IR_select, k, {1, a, b}), a);
    EXPECT_EQ(Eval(IR_select, k, {0, a, b}), b);
  }
  EXPECT_EQ(Eval(IR_bitcast, Scalar(IR_F32), Scalar(IR_U32), {F32(1)}), 0x3f800000u);
  EXPECT_EQ(Eval(IR_bitcast, Scalar(IR_I64), Scalar(IR_F64), {UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(Eval(IR_bitcast, Scalar(IR_I16), Scalar(IR_F16), {0x8000}), 0x8000u);
}

TEST_F(EvalTest, EveryPureScalarOpHasACase) { // an op that eval does not know asserts
  for (int op = 0; op < IR_make; op++) {
    const IrOpRow &row = hdir_ops[op];
    ASSERT_EQ(row.effect, FX_PURE) << row.name;
    uint64_t args[3] = {1, 1, 1};
    for (IrKind k : {IR_BOOL, IR_I8, IR_U64, IR_F32, IR_F64}) {
      const IrType *t = Scalar(k), *res = row.result[0] == 'b' ? Scalar(IR_BOOL) : t;
      char letter = row.operands[0];
      bool fits = letter == 'T' || letter == 'S' || letter == 'B' || (letter == 'N' && k != IR_BOOL) ||
                  (letter == 'I' && hdir_is_int(t)) || (letter == 'F' && hdir_is_float(t)) ||
                  (letter == 'L' && !hdir_is_float(t));
      if (!fits) continue;
      uint64_t bits = hdir_eval((IrOp)op, t, res, args);
      uint32_t n = hdir_bits(res);
      EXPECT_TRUE(n == 64 || bits >> n == 0) << row.name << ": bits above the type's";
    }
  }
}

} // namespace
