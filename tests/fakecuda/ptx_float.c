/* tests/fakecuda/ptx_float.c -- the formats of floats, with integers only: rounding and conversion in every direction. */
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

const PtxFormat ptx_f16 = {16, 10, 15}, ptx_bf16 = {16, 7, 127}, ptx_f32 = {32, 23, 127}, ptx_f64 = {64, 52, 1023};

static uint64_t infinity_of(PtxFormat f) { return ((1ull << (f.bits - f.mantissa - 1)) - 1) << f.mantissa; }

/* Does `rest` of a number between two neighbours, in units of `half`, go away from zero? */
static bool goes_up(bool sign, bool odd, uint64_t rest, uint64_t half, bool sticky, PtxRound r) {
  bool any = rest || sticky;
  switch (r) {
  case RN: return rest > half || (rest == half && (sticky || odd));
  case RNA: return rest >= half;
  case RM: return sign && any;
  case RP: return !sign && any;
  default: return false;
  }
}

uint64_t ptx_round(PtxFormat f, bool sign, uint64_t sig, int exp, bool sticky, PtxRound r) {
  uint64_t top = (uint64_t)sign << (f.bits - 1), inf = infinity_of(f);
  if (sig == 0 && !sticky) return top;
  if (sig == 0) sig = 1, exp = -100000; /* something below every number */
  /* Put the leading one at bit 62; then the value is sig * 2^(exp), 1.x * 2^(exp + 62). */
  int up = __builtin_clzll(sig) - 1;
  if (up < 0) {
    sticky |= sig & 1;
    sig >>= 1, exp++;
  } else {
    sig <<= up, exp -= up;
  }
  int e = exp + 62 + f.bias; /* biased */
  int drop = 62 - f.mantissa;
  if (e < 1) drop += 1 - e, e = 0;
  uint64_t kept, rest, half;
  if (drop > 63) {
    kept = 0, rest = 0, half = 1, sticky = true; /* below a quarter of the smallest number */
  } else {
    kept = sig >> drop, rest = sig & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  }
  if (e > 0) kept &= (1ull << f.mantissa) - 1; /* the leading one is in the exponent */
  if (e >= (1 << (f.bits - f.mantissa - 1)) - 1) {
    bool to_inf = r == RN || r == RNA || (r == RM && sign) || (r == RP && !sign);
    return top | (to_inf ? inf : inf - 1);
  }
  uint64_t bits = (uint64_t)e << f.mantissa | kept;
  if (goes_up(sign, kept & 1, rest, half, sticky, r)) bits++; /* a carry goes into the exponent, as far as infinity */
  return top | bits;
}

uint64_t ptx_convert(PtxFormat to, PtxFormat from, uint64_t bits, PtxRound r) {
  bool sign = bits >> (from.bits - 1) & 1;
  uint64_t inf = infinity_of(from), mag = bits & ((1ull << (from.bits - 1)) - 1);
  if (mag > inf) {
    /* A double keeps the payload of a NaN; all others have one NaN. */
    if (to.bits == 64) return from.bits == 64 ? bits | 1ull << 51 : 0x7ff8000000000000ull;
    return (1ull << (to.bits - 1)) - 1;
  }
  if (mag == inf) return (uint64_t)sign << (to.bits - 1) | infinity_of(to);
  int e = (int)(mag >> from.mantissa);
  uint64_t sig = mag & ((1ull << from.mantissa) - 1);
  if (e)
    sig |= 1ull << from.mantissa;
  else
    e = 1;
  return ptx_round(to, sign, sig, e - from.bias - from.mantissa, false, r);
}

static double value(PtxFormat f, uint64_t bits) {
  uint64_t b = ptx_convert(ptx_f64, f, bits, RN);
  double x;
  memcpy(&x, &b, 8);
  return x;
}
double ptx_f16_value(uint16_t h) { return value(ptx_f16, h); }
double ptx_bf16_value(uint16_t h) { return value(ptx_bf16, h); }
