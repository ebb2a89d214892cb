/* ir/eval.c -- the meaning of every pure op on scalars, bits in and bits out.
 *
 * Folding and the interpreter both compute with this file, so it decides what an op means; ops.def says the same in
 * words. f16 and bf16 compute in f32 and round the result. Compile it without contraction (-ffp-contract=off): a fused
 * multiply-add here would change bits.
 */
#include "ir/ir.h"

#include <assert.h>
#include <math.h>

static float f32_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static uint32_t bits_f32(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  return b;
}
static double f64_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, 8);
  return x;
}
static uint64_t bits_f64(double x) {
  uint64_t b;
  memcpy(&b, &x, 8);
  return b;
}

/* --- halves --- */

/* To nearest, ties to even. A NaN stays one, quiet, with the upper bits of its payload. */
static uint16_t f16_from_f32(float x) {
  uint32_t b = bits_f32(x), sign = b >> 16 & 0x8000, mag = b & 0x7fffffff;
  if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff));
  if (mag >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and above: half way to 2^16 */
  if (mag < 0x38800000) {                                  /* below 2^-14: a multiple of 2^-24  */
    /* 0.5 has its last place at 2^-24, so this addition rounds where the half does. */
    return (uint16_t)(sign | (bits_f32(f32_of(mag) + 0.5f) - bits_f32(0.5f)));
  }
  uint32_t odd = mag >> 13 & 1;
  return (uint16_t)(sign | ((mag + 0xfff + odd - 0x38000000) >> 13));
}

static float f32_from_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  if (e == 31) return f32_of(sign | 0x7f800000 | m << 13);
  if (e == 0) return f32_of(bits_f32((float)m * 0x1p-24f) | sign);
  return f32_of(sign | (e + 112) << 23 | m << 13);
}

static uint16_t bf16_from_f32(float x) {
  uint32_t b = bits_f32(x);
  if ((b & 0x7fffffff) > 0x7f800000) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

/* --- between bits and C's numbers --- */

static uint64_t low_bits(uint32_t n) { return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1; }

int64_t hdir_i64_of(const IrType *t, uint64_t bits) {
  uint32_t n = hdir_bits(t);
  if (hdir_is_signed(t) && n < 64 && bits >> (n - 1) & 1) bits |= ~low_bits(n);
  return (int64_t)bits;
}

/* f16, bf16 and f32 as an f32. */
static float small_float(const IrType *t, uint64_t bits) {
  if (t->kind == IR_F16) return f32_from_f16((uint16_t)bits);
  if (t->kind == IR_BF16) return f32_of((uint32_t)bits << 16);
  return f32_of((uint32_t)bits);
}

static uint64_t from_f32(const IrType *t, float x) {
  if (t->kind == IR_F16) return f16_from_f32(x);
  if (t->kind == IR_BF16) return bf16_from_f32(x);
  return bits_f32(x);
}

double hdir_f64_of(const IrType *t, uint64_t bits) {
  if (t->kind == IR_F64) return f64_of(bits);
  if (hdir_is_float(t)) return (double)small_float(t, bits);
  return hdir_is_signed(t) ? (double)hdir_i64_of(t, bits) : (double)bits;
}

/* Truncated towards zero and held to the type's range; NaN gives 0. */
static uint64_t saturate(const IrType *t, double x) {
  uint32_t n = hdir_bits(t);
  if (isnan(x)) return 0;
  if (!hdir_is_signed(t)) {
    if (x <= 0) return 0;
    return x >= ldexp(1, (int)n) ? low_bits(n) : (uint64_t)x;
  }
  double end = ldexp(1, (int)n - 1);
  if (x >= end) return low_bits(n - 1);
  return (x <= -end ? (uint64_t)1 << (n - 1) : (uint64_t)(int64_t)x) & low_bits(n);
}

uint64_t hdir_bits_of(const IrType *t, double x) {
  if (t->kind == IR_F64) return bits_f64(x);
  if (hdir_is_float(t)) return from_f32(t, (float)x);
  return t->kind == IR_BOOL ? x != 0 : saturate(t, x);
}

/* --- integers and bool --- */

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

static uint64_t divide(const IrType *t, uint64_t x, uint64_t y) {
  if (y == 0) return 0;
  if (!hdir_is_signed(t)) return x / y;
  int64_t a = hdir_i64_of(t, x), b = hdir_i64_of(t, y);
  return b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static uint64_t mulhi(const IrType *t, uint64_t x, uint64_t y) {
  uint32_t n = hdir_bits(t);
  if (hdir_is_signed(t)) return (uint64_t)((Wide)hdir_i64_of(t, x) * hdir_i64_of(t, y) >> n);
  return (uint64_t)((UWide)x * y >> n);
}

static bool int_less(const IrType *t, uint64_t x, uint64_t y) {
  return hdir_is_signed(t) ? hdir_i64_of(t, x) < hdir_i64_of(t, y) : x < y;
}

static uint64_t count_leading(uint32_t n, uint64_t x) { return x ? (uint64_t)__builtin_clzll(x) - (64 - n) : n; }

/* Also of bool, whose one bit is the number. The caller cuts the result to the type's bits. */
static uint64_t eval_int(IrOp op, const IrType *t, const uint64_t a[]) {
  uint32_t n = hdir_bits(t);
  uint64_t x = a[0], y = a[1], s = y & (n - 1);
  switch (op) {
  case IR_add: return x + y;
  case IR_sub: return x - y;
  case IR_mul: return x * y;
  case IR_div: return divide(t, x, y);
  case IR_rem: return x - divide(t, x, y) * y;
  case IR_neg: return 0 - x;
  case IR_abs: return hdir_i64_of(t, x) < 0 && hdir_is_signed(t) ? 0 - x : x;
  case IR_min: return int_less(t, x, y) ? x : y;
  case IR_max: return int_less(t, y, x) ? x : y;
  case IR_mulhi: return mulhi(t, x, y);
  case IR_and: return x & y;
  case IR_or: return x | y;
  case IR_xor: return x ^ y;
  case IR_not: return ~x;
  case IR_shl: return x << s;
  case IR_shr: return hdir_is_signed(t) ? (uint64_t)(hdir_i64_of(t, x) >> s) : x >> s;
  case IR_popcount: return (uint64_t)__builtin_popcountll(x);
  case IR_clz: return count_leading(n, x);
  case IR_ctz: return x ? (uint64_t)__builtin_ctzll(x) : n;
  case IR_eq: return x == y;
  case IR_ne: return x != y;
  case IR_lt: return int_less(t, x, y);
  case IR_le: return !int_less(t, y, x);
  case IR_gt: return int_less(t, y, x);
  case IR_ge: return !int_less(t, x, y);
  default: assert(!"no integer op"); return 0;
  }
}

/* --- floats --- */

/* What is settled by the bits or by a comparison, for every float type alike: min and max give back an operand as it
 * is, and signs flip even on a NaN. */
static bool eval_float_bits(IrOp op, const IrType *t, const uint64_t a[], uint64_t *r) {
  uint64_t sign = UINT64_C(1) << (hdir_bits(t) - 1);
  double x = hdir_f64_of(t, a[0]), y = 0;
  if (hdir_ops[op].operands[1]) y = hdir_f64_of(t, a[1]);
  switch (op) {
  case IR_neg: *r = a[0] ^ sign; return true;
  case IR_abs: *r = a[0] & ~sign; return true;
  case IR_copysign: *r = (a[0] & ~sign) | (a[1] & sign); return true;
  case IR_min: *r = x < y ? a[0] : a[1]; return true;
  case IR_max: *r = x > y ? a[0] : a[1]; return true;
  case IR_eq: *r = x == y; return true;
  case IR_ne: *r = x != y; return true;
  case IR_lt: *r = x < y; return true;
  case IR_le: *r = x <= y; return true;
  case IR_gt: *r = x > y; return true;
  case IR_ge: *r = x >= y; return true;
  default: return false;
  }
}

static double eval_f64(IrOp op, double x, double y, double z) {
  switch (op) {
  case IR_add: return x + y;
  case IR_sub: return x - y;
  case IR_mul: return x * y;
  case IR_div: return x / y;
  case IR_fma: return fma(x, y, z);
  case IR_sqrt: return sqrt(x);
  case IR_floor: return floor(x);
  case IR_ceil: return ceil(x);
  case IR_trunc: return trunc(x);
  case IR_rint: return nearbyint(x);
  default: assert(!"no float op"); return 0;
  }
}

static float eval_f32(IrOp op, float x, float y, float z) {
  switch (op) {
  case IR_add: return x + y;
  case IR_sub: return x - y;
  case IR_mul: return x * y;
  case IR_div: return x / y;
  case IR_fma: return fmaf(x, y, z);
  case IR_sqrt: return sqrtf(x);
  case IR_floor: return floorf(x);
  case IR_ceil: return ceilf(x);
  case IR_trunc: return truncf(x);
  case IR_rint: return nearbyintf(x);
  default: assert(!"no float op"); return 0;
  }
}

static uint64_t eval_float(IrOp op, const IrType *t, const uint64_t a[]) {
  uint64_t r;
  size_t n = strlen(hdir_ops[op].operands);
  if (eval_float_bits(op, t, a, &r)) return r;
  if (t->kind == IR_F64) {
    return bits_f64(eval_f64(op, f64_of(a[0]), n > 1 ? f64_of(a[1]) : 0, n > 2 ? f64_of(a[2]) : 0));
  }
  float x = small_float(t, a[0]), y = n > 1 ? small_float(t, a[1]) : 0, z = n > 2 ? small_float(t, a[2]) : 0;
  return from_f32(t, eval_f32(op, x, y, z));
}

/* --- conversion --- */

static uint64_t convert(const IrType *from, const IrType *to, uint64_t bits) {
  if (from == to) return bits;
  if (hdir_is_float(from)) {
    double x = hdir_f64_of(from, bits); /* exact */
    return hdir_bits_of(to, x);         /* by way of f32 for halves */
  }
  if (to->kind == IR_BOOL) return bits != 0;
  if (!hdir_is_float(to)) return (uint64_t)hdir_i64_of(from, bits) & low_bits(hdir_bits(to));
  /* Straight from the integer: 64 bits do not fit a double, and going there first would round twice. */
  bool is_signed = hdir_is_signed(from);
  int64_t i = hdir_i64_of(from, bits);
  if (to->kind == IR_F64) return bits_f64(is_signed ? (double)i : (double)bits);
  return from_f32(to, is_signed ? (float)i : (float)bits);
}

uint64_t hdir_eval(IrOp op, const IrType *type, const IrType *res, const uint64_t args[]) {
  assert(hdir_is_scalar(type) && hdir_is_scalar(res));
  switch (op) {
  case IR_select: return args[0] & 1 ? args[1] : args[2];
  case IR_cvt: return convert(type, res, args[0]);
  case IR_bitcast: return args[0];
  default: break;
  }
  if (hdir_is_float(type)) return eval_float(op, type, args);
  uint64_t two[2] = {args[0], hdir_ops[op].operands[1] ? args[1] : 0};
  return eval_int(op, type, two) & low_bits(hdir_bits(res));
}
