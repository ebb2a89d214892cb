/* tests/fakecuda/ptx_alu.c -- integers, bits and moves, a row of lanes at a time.
 *
 * The processor's own arithmetic, with what C leaves undefined spelled out: shifts past the width, division by zero,
 * the overflow of signed numbers.
 */
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

#ifdef __clang__
#define NO_ALIAS
#else
#define NO_ALIAS _Pragma("GCC ivdep")
#endif

/* `body` for each lane of m, in `l`. Columns are the same or apart, so lanes do not depend on each other. */
#define EACH_LANE(body)                                                                                                \
  if (m == FULL) {                                                                                                     \
    NO_ALIAS for (int l = 0; l < LANES; l++) { body; }                                                                 \
  } else {                                                                                                             \
    for (u32 rest = m; rest; rest &= rest - 1) {                                                                       \
      int l = __builtin_ctz(rest);                                                                                     \
      body;                                                                                                            \
    }                                                                                                                  \
  }

#define HANDLER(name, D, A, B, C, expr)                                                                                \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    D *d = COL(D, i->d);                                                                                               \
    const A *pa = COL(A, i->a);                                                                                        \
    const B *pb = COL(B, i->b);                                                                                        \
    const C *pc = COL(C, i->c);                                                                                        \
    EACH_LANE(A a = pa[l]; B b = pb[l]; C c = pc[l]; (void)a; (void)b; (void)c; d[l] = (D)(expr))                      \
    return true;                                                                                                       \
  }
#define ONE(name, T, expr) HANDLER(name, T, T, T, T, expr)

/* One handler for each width, or for each width and sign. */
#define BITS3(name, expr) ONE(name##_16, u16, expr) ONE(name##_32, u32, expr) ONE(name##_64, u64, expr)
#define SIGNED3(name, expr) ONE(name##_s16, i16, expr) ONE(name##_s32, i32, expr) ONE(name##_s64, i64, expr)
#define ROW_BITS(op, name)                                                                                             \
  [op][PT_B16] = name##_16, [op][PT_U16] = name##_16, [op][PT_S16] = name##_16, [op][PT_B32] = name##_32,              \
  [op][PT_U32] = name##_32, [op][PT_S32] = name##_32, [op][PT_B64] = name##_64, [op][PT_U64] = name##_64,              \
  [op][PT_S64] = name##_64
#define ROW_INT(op, name)                                                                                              \
  [op][PT_U16] = name##_16, [op][PT_S16] = name##_16, [op][PT_U32] = name##_32, [op][PT_S32] = name##_32,              \
  [op][PT_U64] = name##_64, [op][PT_S64] = name##_64
#define ROW_SIGN(op, name)                                                                                             \
  [op][PT_U16] = name##_16, [op][PT_U32] = name##_32, [op][PT_U64] = name##_64, [op][PT_S16] = name##_s16,             \
  [op][PT_S32] = name##_s32, [op][PT_S64] = name##_s64

/* --- plain arithmetic --- */

BITS3(add, a + b)
BITS3(sub, a - b)
BITS3(mul, (u64)a *b)
BITS3(mad, (u64)a *b + c)
ONE(neg_16, u16, 0u - a)
ONE(neg_32, u32, 0u - a)
ONE(neg_64, u64, 0u - a)
SIGNED3(abs, a < 0 ? 0 - (u64)a : (u64)a)
BITS3(min, a < b ? a : b)
BITS3(max, a > b ? a : b)
SIGNED3(min, a < b ? a : b)
SIGNED3(max, a > b ? a : b)

static i32 saturated(i64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (i32)x; }
ONE(add_sat, i32, saturated((i64)a + b))
ONE(sub_sat, i32, saturated((i64)a - b))

/* Halves of a register, each by itself. */
#define PAIR(expr_lo, expr_hi) ((u32)(u16)(expr_lo) | (u32)(u16)(expr_hi) << 16)
ONE(add_x2, u32, PAIR(a + b, (a >> 16) + (b >> 16)))
static u32 lesser(u32 a, u32 b) { return a < b ? a : b; }
static i32 lesser_s(i32 a, i32 b) { return a < b ? a : b; }
ONE(min_ux2, u32, PAIR(lesser((u16)a, (u16)b), lesser(a >> 16, b >> 16)))
ONE(max_ux2, u32, PAIR(~lesser((u16)~a, (u16)~b), ~lesser(~a >> 16, ~b >> 16)))
ONE(min_sx2, u32, PAIR(lesser_s((i16)a, (i16)b), lesser_s((i16)(a >> 16), (i16)(b >> 16))))
ONE(max_sx2, u32, PAIR(~lesser_s(~(i16)a, ~(i16)b), ~lesser_s(~(i16)(a >> 16), ~(i16)(b >> 16))))

static i32 positive(i32 x) { return x > 0 ? x : 0; }
ONE(min_relu, i32, positive(a < b ? a : b))
ONE(max_relu, i32, positive(a > b ? a : b))

HANDLER(mul_wide_u16, u32, u16, u16, u32, (u32)a *b)
HANDLER(mul_wide_s16, i32, i16, i16, u32, (i32)a *b)
HANDLER(mul_wide_u32, u64, u32, u32, u64, (u64)a *b)
HANDLER(mul_wide_s32, i64, i32, i32, u64, (i64)a *b)
HANDLER(mad_wide_u16, u32, u16, u16, u32, (u32)a *b + c)
HANDLER(mad_wide_s16, u32, i16, i16, u32, (u32)((i32)a * b) + c)
HANDLER(mad_wide_u32, u64, u32, u32, u64, (u64)a *b + c)
HANDLER(mad_wide_s32, u64, i32, i32, u64, (u64)((i64)a * b) + c)

static u64 high_u64(u64 a, u64 b) { return (u64)((u128)a * b >> 64); }
static i64 high_s64(i64 a, i64 b) { return (i64)((i128)a * b >> 64); }
ONE(mul_hi_16, u16, (u32)a *b >> 16)
ONE(mul_hi_32, u32, (u64)a *b >> 32)
ONE(mul_hi_64, u64, high_u64(a, b))
ONE(mul_hi_s16, i16, (i32)a *b >> 16)
ONE(mul_hi_s32, i32, (i64)a *b >> 32)
ONE(mul_hi_s64, i64, high_s64(a, b))
ONE(mad_hi_16, u16, ((u32)a * b >> 16) + c)
ONE(mad_hi_32, u32, ((u64)a * b >> 32) + c)
ONE(mad_hi_64, u64, high_u64(a, b) + c)
ONE(mad_hi_s16, i16, ((i32)a * b >> 16) + c)
ONE(mad_hi_s32, i32, (u32)((i64)a * b >> 32) + (u32)c)
ONE(mad_hi_s64, i64, (u64)high_s64(a, b) + (u64)c)

static u32 u24(u32 x) { return x & 0xffffff; }
static i32 s24(i32 x) { return (i32)((u32)x << 8) >> 8; }
ONE(mul24_lo_32, u32, (u64)u24(a) * u24(b))
ONE(mul24_lo_s32, i32, (i64)s24(a) * s24(b))
ONE(mul24_hi_32, u32, (u64)u24(a) * u24(b) >> 16)
ONE(mul24_hi_s32, i32, (i64)s24(a) * s24(b) >> 16)
ONE(mad24_lo_32, u32, (u64)u24(a) * u24(b) + c)
ONE(mad24_lo_s32, i32, (i64)s24(a) * s24(b) + c)
ONE(mad24_hi_32, u32, ((u64)u24(a) * u24(b) >> 16) + c)
ONE(mad24_hi_s32, i32, ((i64)s24(a) * s24(b) >> 16) + c)

/* Division by zero is left open by the manual; hardware gives all ones, and the dividend as the remainder. */
BITS3(div, b ? a / b : ~(u64)0)
BITS3(rem, b ? a % b : a)
static i64 quotient(i64 a, i64 b) { return b == 0 ? -1 : b == -1 ? (i64)(0 - (u64)a) : a / b; }
static i64 remainder_of(i64 a, i64 b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
SIGNED3(div, quotient(a, b))
SIGNED3(rem, remainder_of(a, b))

HANDLER(sad_16, u16, u16, u16, u16, c + (a < b ? b - a : a - b))
HANDLER(sad_32, u32, u32, u32, u32, c + (a < b ? b - a : a - b))
HANDLER(sad_64, u64, u64, u64, u64, c + (a < b ? b - a : a - b))
HANDLER(sad_s16, u16, i16, i16, u16, c + (a < b ? b - a : a - b))
HANDLER(sad_s32, u32, i32, i32, u32, c + (a < b ? (u32)b - (u32)a : (u32)a - (u32)b))
HANDLER(sad_s64, u64, i64, i64, u64, c + (a < b ? (u64)b - (u64)a : (u64)a - (u64)b))

/* --- chains of carries: one bit for each lane, in the warp --- */

typedef enum Chain { IN_BIT = 1, OUT_BIT = 2 } Chain;

static inline void set_carry(Warp *w, int l, bool c) { w->carry = (w->carry & ~(1u << l)) | (u32)c << l; }

#define CARRY(name, T, D, wide, chain, expr, leaves)                                                                   \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    D *d = COL(D, i->d);                                                                                               \
    const T *pa = COL(T, i->a), *pb = COL(T, i->b), *pc = COL(T, i->c);                                                \
    for (u32 rest = m; rest; rest &= rest - 1) {                                                                       \
      int l = __builtin_ctz(rest);                                                                                     \
      T a = pa[l], b = pb[l], c = pc[l];                                                                               \
      bool in = (chain) & IN_BIT ? w->carry >> l & 1 : false;                                                          \
      wide r = (expr);                                                                                                 \
      (void)c, (void)in;                                                                                               \
      d[l] = (D)r;                                                                                                     \
      if ((chain) & OUT_BIT) set_carry(w, l, leaves);                                                                  \
    }                                                                                                                  \
    return true;                                                                                                       \
  }
/* Subtraction sets the condition code to the borrow, and takes it. */
#define CARRIES(bits, T, S, wide, swide)                                                                               \
  CARRY(add_cc_##bits, T, T, wide, OUT_BIT, (wide)a + b, r >> bits & 1)                                                \
  CARRY(addc_##bits, T, T, wide, IN_BIT, (wide)a + b + in, false)                                                      \
  CARRY(addc_cc_##bits, T, T, wide, IN_BIT | OUT_BIT, (wide)a + b + in, r >> bits & 1)                                 \
  CARRY(sub_cc_##bits, T, T, wide, OUT_BIT, (wide)a - b, r >> bits & 1)                                                \
  CARRY(subc_##bits, T, T, wide, IN_BIT, (wide)a - b - in, false)                                                      \
  CARRY(subc_cc_##bits, T, T, wide, IN_BIT | OUT_BIT, (wide)a - b - in, r >> bits & 1)                                 \
  CARRY(mad_lo_cc_##bits, T, T, wide, OUT_BIT, (wide)(T)((wide)a * b) + c, r >> bits & 1)                              \
  CARRY(madc_lo_##bits, T, T, wide, IN_BIT, (wide)(T)((wide)a * b) + c + in, false)                                    \
  CARRY(madc_lo_cc_##bits, T, T, wide, IN_BIT | OUT_BIT, (wide)(T)((wide)a * b) + c + in, r >> bits & 1)               \
  CARRY(mad_hi_cc_##bits, T, T, wide, OUT_BIT, (wide)(T)((wide)a * b >> bits) + c, r >> bits & 1)                      \
  CARRY(madc_hi_##bits, T, T, wide, IN_BIT, (wide)(T)((wide)a * b >> bits) + c + in, false)                            \
  CARRY(madc_hi_cc_##bits, T, T, wide, IN_BIT | OUT_BIT, (wide)(T)((wide)a * b >> bits) + c + in, r >> bits & 1)       \
  CARRY(mad_hi_cc_s##bits, T, T, wide, OUT_BIT, (wide)(T)((swide)(S)a * (S)b >> bits) + c, r >> bits & 1)              \
  CARRY(madc_hi_s##bits, T, T, wide, IN_BIT, (wide)(T)((swide)(S)a * (S)b >> bits) + c + in, false)                    \
  CARRY(madc_hi_cc_s##bits, T, T, wide, IN_BIT | OUT_BIT, (wide)(T)((swide)(S)a * (S)b >> bits) + c + in, r >> bits & 1)
CARRIES(32, u32, i32, u64, i64)
CARRIES(64, u64, i64, u128, i128)

#define ROW_CARRY(op, name)                                                                                            \
  [op][PT_U32] = name##_32, [op][PT_S32] = name##_32, [op][PT_U64] = name##_64, [op][PT_S64] = name##_64
#define ROW_CARRY_SIGN(op, name)                                                                                       \
  [op][PT_U32] = name##_32, [op][PT_S32] = name##_s32, [op][PT_U64] = name##_64, [op][PT_S64] = name##_s64

/* --- bits --- */

BITS3(and, a &b)
BITS3(or, a | b)
BITS3(xor, a ^ b)
BITS3(not, ~a)
BITS3(cnot, a == 0)
/* Amounts beyond the width behave like the width. */
HANDLER(shl_16, u16, u16, u32, u16, b > 15 ? 0 : (u32)a << b)
HANDLER(shl_32, u32, u32, u32, u32, b > 31 ? 0 : a << (b & 31))
HANDLER(shl_64, u64, u64, u32, u64, b > 63 ? 0 : a << (b & 63))
HANDLER(shr_16, u16, u16, u32, u16, b > 15 ? 0 : a >> b)
HANDLER(shr_32, u32, u32, u32, u32, b > 31 ? 0 : a >> (b & 31))
HANDLER(shr_64, u64, u64, u32, u64, b > 63 ? 0 : a >> (b & 63))
HANDLER(shr_s16, i16, i16, u32, u16, a >> (b > 15 ? 15 : b))
HANDLER(shr_s32, i32, i32, u32, u32, a >> (b > 31 ? 31 : b))
HANDLER(shr_s64, i64, i64, u32, u64, a >> (b > 63 ? 63 : b))

/* The funnel: c bits are shifted through the pair b:a. */
static u32 funnel_l(u32 lo, u32 hi, u32 n) { return n == 0 ? hi : n > 31 ? lo : hi << n | lo >> (32 - n); }
static u32 funnel_r(u32 lo, u32 hi, u32 n) { return n == 0 ? lo : n > 31 ? hi : hi << (32 - n) | lo >> n; }
ONE(shf_l_wrap, u32, funnel_l(a, b, c & 31))
ONE(shf_l_clamp, u32, funnel_l(a, b, c))
ONE(shf_r_wrap, u32, funnel_r(a, b, c & 31))
ONE(shf_r_clamp, u32, funnel_r(a, b, c))

static u32 lop3_of(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 k = 0; k < 8; k++)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}
ONE(lop3, u32, lop3_of(a, b, c, (u32)i->imm))

static u32 permuted(u32 a, u32 b, u32 c, int mode) {
  static const uint8_t rows[7][4][4] = {
      {{0}},
      {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}, /* f4e, lowest byte first */
      {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}, /* b4e */
      {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, /* rc8 */
      {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}, /* ecl */
      {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}, /* ecr */
      {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}, /* rc16 */
  };
  u64 pair = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 k = 0; k < 4; k++) {
    u32 pick = mode ? rows[mode][c & 3][k] : c >> 4 * k & 15;
    u32 byte = (u32)(pair >> 8 * (pick & 7)) & 255;
    if (pick & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << 8 * k;
  }
  return r;
}
ONE(prmt, u32, permuted(a, b, c, i->op))

/* b: position, c: length, of each the low byte. */
static u64 extract(u64 a, u32 pos, u32 len, u32 bits, bool sign) {
  pos &= 255, len &= 255;
  u64 top = pos + len > bits ? bits : pos + len; /* one past the highest bit of the field */
  bool s = sign && len && (a >> (top ? (top - 1 < bits - 1 ? top - 1 : bits - 1) : 0) & 1);
  if (sign && len && pos >= bits) s = a >> (bits - 1) & 1;
  u64 r = 0;
  for (u32 k = 0; k < bits; k++) {
    bool bit = k < len && pos + k < bits ? a >> (pos + k) & 1 : s;
    r |= (u64)bit << k;
  }
  return r;
}
HANDLER(bfe_32, u32, u32, u32, u32, extract(a, b, c, 32, false))
HANDLER(bfe_s32, u32, u32, u32, u32, extract(a, b, c, 32, true))
HANDLER(bfe_64, u64, u64, u32, u32, extract(a, b, c, 64, false))
HANDLER(bfe_s64, u64, u64, u32, u32, extract(a, b, c, 64, true))

static u64 inserted(u64 a, u64 b, u32 pos, u32 len, u32 bits) {
  pos &= 255, len &= 255;
  for (u32 k = 0; k < len && pos + k < bits; k++) b = (b & ~(1ull << (pos + k))) | (a >> k & 1) << (pos + k);
  return b;
}
HANDLER(bfi_32, u32, u32, u32, u32, inserted(a, b, c, COL(u32, i->e)[l], 32))
HANDLER(bfi_64, u64, u64, u64, u32, inserted(a, b, c, COL(u32, i->e)[l], 64))

static u32 leading(u64 x, u32 bits) { return x ? (u32)__builtin_clzll(x) - (64 - bits) : bits; }
/* The highest bit that is not a copy of the sign. */
static u32 find_high(u64 x, u32 bits, bool sign, bool shift) {
  if (sign && x >> (bits - 1) & 1) x = ~x;
  if (bits == 32) x = (u32)x;
  u32 r = x ? 63 - (u32)__builtin_clzll(x) : FULL;
  return shift && r != FULL ? bits - 1 - r : r;
}
HANDLER(clz_32, u32, u32, u32, u32, leading(a, 32))
HANDLER(clz_64, u32, u64, u32, u32, leading(a, 64))
HANDLER(popc_32, u32, u32, u32, u32, __builtin_popcount(a))
HANDLER(popc_64, u32, u64, u32, u32, __builtin_popcountll(a))
HANDLER(bfind_32, u32, u32, u32, u32, find_high(a, 32, false, false))
HANDLER(bfind_s32, u32, u32, u32, u32, find_high(a, 32, true, false))
HANDLER(bfind_64, u32, u64, u32, u32, find_high(a, 64, false, false))
HANDLER(bfind_s64, u32, u64, u32, u32, find_high(a, 64, true, false))
HANDLER(bfind_shift_32, u32, u32, u32, u32, find_high(a, 32, false, true))
HANDLER(bfind_shift_s32, u32, u32, u32, u32, find_high(a, 32, true, true))
HANDLER(bfind_shift_64, u32, u64, u32, u32, find_high(a, 64, false, true))
HANDLER(bfind_shift_s64, u32, u64, u32, u32, find_high(a, 64, true, true))

static u64 reversed(u64 x, u32 bits) {
  u64 r = 0;
  for (u32 k = 0; k < bits; k++) r |= (x >> k & 1) << (bits - 1 - k);
  return r;
}
ONE(brev_32, u32, reversed(a, 32))
ONE(brev_64, u64, reversed(a, 64))

static u32 field(u32 pos, u32 len, bool wrap) {
  if (wrap) pos &= 31, len &= 31;
  if (pos > 31 || len == 0) return 0;
  u32 ones = len > 31 ? FULL : (1u << len) - 1;
  return ones << pos;
}
ONE(bmsk_clamp, u32, field(a, b, false))
ONE(bmsk_wrap, u32, field(a, b, true))

static u32 extended(u32 a, u32 n, bool wrap, bool sign) {
  if (wrap) n &= 31;
  if (n > 31) return a;
  if (n == 0) return 0;
  u32 low = a & ((1u << n) - 1);
  return sign && (low >> (n - 1) & 1) ? low | ~((1u << n) - 1) : low;
}
ONE(szext_clamp_32, u32, extended(a, b, false, false))
ONE(szext_clamp_s32, u32, extended(a, b, false, true))
ONE(szext_wrap_32, u32, extended(a, b, true, false))
ONE(szext_wrap_s32, u32, extended(a, b, true, true))

/* The n-th set bit from a base, upwards or downwards. */
static u32 find_nth(u32 mask, u32 base, i32 n) {
  if (n == 0) return base < 32 && (mask >> base & 1) ? base : FULL;
  i32 step = n > 0 ? 1 : -1, count = n > 0 ? n : -n;
  for (i32 k = (i32)base; k >= 0 && k < 32; k += step)
    if ((mask >> k & 1) && --count == 0) return (u32)k;
  return FULL;
}
HANDLER(fns, u32, u32, u32, i32, find_nth(a, b, c))

static i64 part(u32 x, u32 bits, u32 k, bool sign) {
  u32 v = x >> bits * k & ((1u << bits) - 1);
  return sign && (v >> (bits - 1)) ? (i64)v - (1ll << bits) : (i64)v;
}
bool ptx_dp4a(Warp *w, Ins *i, u32 m) {
  const u32 *pa = COL(u32, i->a), *pb = COL(u32, i->b), *pc = COL(u32, i->c);
  EACH_LANE(u32 r = pc[l]; for (u32 k = 0; k < 4; k++) r +=
                           (u32)(part(pa[l], 8, k, i->type == PT_S32) * part(pb[l], 8, k, i->type2 == PT_S32));
            COL(u32, i->d)[l] = r)
  return true;
}
bool ptx_dp2a(Warp *w, Ins *i, u32 m) {
  const u32 *pa = COL(u32, i->a), *pb = COL(u32, i->b), *pc = COL(u32, i->c);
  EACH_LANE(u32 r = pc[l]; for (u32 k = 0; k < 2; k++) r += (u32)(part(pa[l], 16, k, i->type == PT_S32) *
                                                                  part(pb[l], 8, 2 * i->op + k, i->type2 == PT_S32));
            COL(u32, i->d)[l] = r)
  return true;
}

/* --- predicates: a bit for each lane --- */

#define PREDICATE(name, expr)                                                                                          \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    u32 a = *COL(u32, i->a), b = *COL(u32, i->b), *d = COL(u32, i->d);                                                 \
    (void)b;                                                                                                           \
    *d = (*d & ~m) | ((expr) & m);                                                                                     \
    return true;                                                                                                       \
  }
PREDICATE(and_pred, a &b)
PREDICATE(or_pred, a | b)
PREDICATE(xor_pred, a ^ b)
PREDICATE(not_pred, ~a)
PREDICATE(mov_pred, a)

#define SELECT(name, T)                                                                                                \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    const T *a = COL(T, i->a), *b = COL(T, i->b);                                                                      \
    T *d = COL(T, i->d);                                                                                               \
    u32 c = *COL(u32, i->c);                                                                                           \
    EACH_LANE(d[l] = c >> l & 1 ? a[l] : b[l])                                                                         \
    return true;                                                                                                       \
  }
SELECT(selp_16, u16)
SELECT(selp_32, u32)
SELECT(selp_64, u64)

HANDLER(slct_s_16, u16, u16, u16, i32, c >= 0 ? a : b)
HANDLER(slct_s_32, u32, u32, u32, i32, c >= 0 ? a : b)
HANDLER(slct_s_64, u64, u64, u64, i32, c >= 0 ? a : b)
HANDLER(slct_f_16, u16, u16, u16, float, c >= 0 ? a : b)
HANDLER(slct_f_32, u32, u32, u32, float, c >= 0 ? a : b)
HANDLER(slct_f_64, u64, u64, u64, float, c >= 0 ? a : b)

bool ptx_set(Warp *w, Ins *i, u32 m) {
  u32 p = *COL(u32, i->a), one = i->type2 == PT_F32 ? 0x3f800000u : FULL;
  EACH_LANE(COL(u32, i->d)[l] = p >> l & 1 ? one : 0)
  return true;
}

/* --- moves --- */

BITS3(mov, a)

static u64 get(const Warp *w, u32 at, u32 bytes, int l) {
  return bytes == 2 ? COL(u16, at)[l] : bytes == 4 ? COL(u32, at)[l] : COL(u64, at)[l];
}
static void put(const Warp *w, u32 at, u32 bytes, int l, u64 x) {
  if (bytes == 2)
    COL(u16, at)[l] = (u16)x;
  else if (bytes == 4)
    COL(u32, at)[l] = (u32)x;
  else
    COL(u64, at)[l] = x;
}

bool ptx_pack(Warp *w, Ins *i, u32 m) {
  const u32 *list = w->run->m->lists + i->list;
  EACH_LANE(u64 x = 0; for (u32 k = 0; k < i->nlist; k++) x |= get(w, list[k], i->size2, l) << 8 * i->size2 * k;
            put(w, i->d, i->size1, l, x))
  return true;
}
bool ptx_unpack(Warp *w, Ins *i, u32 m) {
  const u32 *list = w->run->m->lists + i->list;
  EACH_LANE(u64 x = get(w, i->a, i->size1, l);
            for (u32 k = 0; k < i->nlist; k++) put(w, list[k], i->size2, l, x >> 8 * i->size2 * k))
  return true;
}

bool ptx_frame_address(Warp *w, Ins *i, u32 m) {
  EACH_LANE(put(w, i->d, i->size1, l, w->sp[l] + (u64)i->imm))
  return true;
}

/* A clock that ticks with the instructions of the launch. */
bool ptx_clock(Warp *w, Ins *i, u32 m) {
  u64 t = w->run->stats.steps;
  bool high = i->a == ptx_special_at(SR_CLOCK_HI, 0) || i->a == ptx_special_at(SR_TIMER_HI, 0);
  EACH_LANE(put(w, i->d, i->size1, l, high ? t >> 32 : t))
  return true;
}

/* --- the table --- */

static PtxFn *const table[AL_COUNT][PTX_NTYPES] = {
    ROW_INT(AL_ADD, add),
    ROW_INT(AL_SUB, sub),
    ROW_INT(AL_MUL_LO, mul),
    ROW_INT(AL_MAD_LO, mad),
    [AL_ADD][PT_U16X2] = add_x2,
    [AL_ADD][PT_S16X2] = add_x2,
    [AL_MIN_RELU][PT_S32] = min_relu,
    [AL_MAX_RELU][PT_S32] = max_relu,
    [AL_MIN][PT_U16X2] = min_ux2,
    [AL_MAX][PT_U16X2] = max_ux2,
    [AL_MIN][PT_S16X2] = min_sx2,
    [AL_MAX][PT_S16X2] = max_sx2,
    [AL_ADD_SAT][PT_S32] = add_sat,
    [AL_SUB_SAT][PT_S32] = sub_sat,
    ROW_SIGN(AL_MUL_HI, mul_hi),
    ROW_SIGN(AL_MAD_HI, mad_hi),
    ROW_SIGN(AL_DIV, div),
    ROW_SIGN(AL_REM, rem),
    ROW_SIGN(AL_MIN, min),
    ROW_SIGN(AL_MAX, max),
    ROW_SIGN(AL_SAD, sad),
    [AL_NEG][PT_S16] = neg_16,
    [AL_NEG][PT_S32] = neg_32,
    [AL_NEG][PT_S64] = neg_64,
    [AL_ABS][PT_S16] = abs_s16,
    [AL_ABS][PT_S32] = abs_s32,
    [AL_ABS][PT_S64] = abs_s64,
    [AL_MUL_WIDE][PT_U16] = mul_wide_u16,
    [AL_MUL_WIDE][PT_S16] = mul_wide_s16,
    [AL_MUL_WIDE][PT_U32] = mul_wide_u32,
    [AL_MUL_WIDE][PT_S32] = mul_wide_s32,
    [AL_MAD_WIDE][PT_U16] = mad_wide_u16,
    [AL_MAD_WIDE][PT_S16] = mad_wide_s16,
    [AL_MAD_WIDE][PT_U32] = mad_wide_u32,
    [AL_MAD_WIDE][PT_S32] = mad_wide_s32,
    [AL_MUL24_LO][PT_U32] = mul24_lo_32,
    [AL_MUL24_LO][PT_S32] = mul24_lo_s32,
    [AL_MUL24_HI][PT_U32] = mul24_hi_32,
    [AL_MUL24_HI][PT_S32] = mul24_hi_s32,
    [AL_MAD24_LO][PT_U32] = mad24_lo_32,
    [AL_MAD24_LO][PT_S32] = mad24_lo_s32,
    [AL_MAD24_HI][PT_U32] = mad24_hi_32,
    [AL_MAD24_HI][PT_S32] = mad24_hi_s32,
    ROW_CARRY(AL_ADD_CC, add_cc),
    ROW_CARRY(AL_ADDC, addc),
    ROW_CARRY(AL_ADDC_CC, addc_cc),
    ROW_CARRY(AL_SUB_CC, sub_cc),
    ROW_CARRY(AL_SUBC, subc),
    ROW_CARRY(AL_SUBC_CC, subc_cc),
    ROW_CARRY(AL_MAD_LO_CC, mad_lo_cc),
    ROW_CARRY(AL_MADC_LO, madc_lo),
    ROW_CARRY(AL_MADC_LO_CC, madc_lo_cc),
    ROW_CARRY_SIGN(AL_MAD_HI_CC, mad_hi_cc),
    ROW_CARRY_SIGN(AL_MADC_HI, madc_hi),
    ROW_CARRY_SIGN(AL_MADC_HI_CC, madc_hi_cc),
    ROW_BITS(AL_AND, and),
    ROW_BITS(AL_OR, or),
    ROW_BITS(AL_XOR, xor),
    ROW_BITS(AL_NOT, not),
    ROW_BITS(AL_CNOT, cnot),
    [AL_AND][PT_PRED] = and_pred,
    [AL_OR][PT_PRED] = or_pred,
    [AL_XOR][PT_PRED] = xor_pred,
    [AL_NOT][PT_PRED] = not_pred,
    ROW_BITS(AL_SHL, shl),
    ROW_SIGN(AL_SHR, shr),
    [AL_SHR][PT_B16] = shr_16,
    [AL_SHR][PT_B32] = shr_32,
    [AL_SHR][PT_B64] = shr_64,
    [AL_SHF_L_WRAP][PT_B32] = shf_l_wrap,
    [AL_SHF_L_CLAMP][PT_B32] = shf_l_clamp,
    [AL_SHF_R_WRAP][PT_B32] = shf_r_wrap,
    [AL_SHF_R_CLAMP][PT_B32] = shf_r_clamp,
    [AL_LOP3][PT_B32] = lop3,
    [AL_PRMT][PT_B32] = prmt,
    [AL_BFE][PT_U32] = bfe_32,
    [AL_BFE][PT_S32] = bfe_s32,
    [AL_BFE][PT_U64] = bfe_64,
    [AL_BFE][PT_S64] = bfe_s64,
    [AL_BFI][PT_B32] = bfi_32,
    [AL_BFI][PT_B64] = bfi_64,
    [AL_BFIND][PT_U32] = bfind_32,
    [AL_BFIND][PT_S32] = bfind_s32,
    [AL_BFIND][PT_U64] = bfind_64,
    [AL_BFIND][PT_S64] = bfind_s64,
    [AL_BFIND_SHIFT][PT_U32] = bfind_shift_32,
    [AL_BFIND_SHIFT][PT_S32] = bfind_shift_s32,
    [AL_BFIND_SHIFT][PT_U64] = bfind_shift_64,
    [AL_BFIND_SHIFT][PT_S64] = bfind_shift_s64,
    [AL_CLZ][PT_B32] = clz_32,
    [AL_CLZ][PT_B64] = clz_64,
    [AL_POPC][PT_B32] = popc_32,
    [AL_POPC][PT_B64] = popc_64,
    [AL_BREV][PT_B32] = brev_32,
    [AL_BREV][PT_B64] = brev_64,
    [AL_BMSK_CLAMP][PT_B32] = bmsk_clamp,
    [AL_BMSK_WRAP][PT_B32] = bmsk_wrap,
    [AL_SZEXT_CLAMP][PT_U32] = szext_clamp_32,
    [AL_SZEXT_CLAMP][PT_S32] = szext_clamp_s32,
    [AL_SZEXT_WRAP][PT_U32] = szext_wrap_32,
    [AL_SZEXT_WRAP][PT_S32] = szext_wrap_s32,
    [AL_FNS][PT_B32] = fns,
    ROW_BITS(AL_MOV, mov),
    [AL_MOV][PT_F32] = mov_32,
    [AL_MOV][PT_F64] = mov_64,
    [AL_MOV][PT_PRED] = mov_pred,
    ROW_BITS(AL_SELP, selp),
    [AL_SELP][PT_F32] = selp_32,
    [AL_SELP][PT_F64] = selp_64,
    ROW_BITS(AL_SLCT_S32, slct_s),
    [AL_SLCT_S32][PT_F32] = slct_s_32,
    [AL_SLCT_S32][PT_F64] = slct_s_64,
    ROW_BITS(AL_SLCT_F32, slct_f),
    [AL_SLCT_F32][PT_F32] = slct_f_32,
    [AL_SLCT_F32][PT_F64] = slct_f_64,
};

PtxFn *ptx_alu(PtxAlu op, PtxType t) { return table[op][t]; }
