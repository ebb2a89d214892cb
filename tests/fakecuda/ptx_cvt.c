/* tests/fakecuda/ptx_cvt.c -- conversions between all types, in all modes.
 *
 * Frequent ones have a row of their own; the rest goes through one description: a value is a sign, a significand and an
 * exponent, or an integer, and is rounded once with integers only.
 */
#include <math.h>
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

static PtxFormat format_of(PtxType t) {
  return t == PT_F16 ? ptx_f16 : t == PT_BF16 ? ptx_bf16 : t == PT_F32 ? ptx_f32 : ptx_f64;
}
static bool is_float(PtxType t) { return ptx_types[t].kind == 'f'; }
static u64 low(u64 x, u32 bits) { return bits >= 64 ? x : x & ((1ull << bits) - 1); }
static u64 sign_extended(u64 x, u32 bits) { return bits >= 64 ? x : (u64)((int64_t)(x << (64 - bits)) >> (64 - bits)); }

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

static u64 int_to_int(const Ins *i, u64 x) {
  const PtxTypeInfo *from = &ptx_types[i->type2], *to = &ptx_types[i->type];
  u32 fb = 8 * from->bytes, tb = 8 * to->bytes;
  x = from->kind == 's' ? sign_extended(x, fb) : low(x, fb);
  if (i->sat) {
    bool negative = from->kind == 's' && (int64_t)x < 0;
    if (to->kind == 's') {
      int64_t most = (int64_t)(low(~0ull, tb) >> 1), least = -most - 1;
      if (negative ? (int64_t)x < least : x > (u64)most) x = negative ? (u64)least : (u64)most;
    } else if (negative) {
      x = 0;
    } else if (x > low(~0ull, tb)) {
      x = low(~0ull, tb);
    }
  }
  return low(x, tb);
}

static u64 int_to_float(const Ins *i, u64 x) {
  const PtxTypeInfo *from = &ptx_types[i->type2];
  x = from->kind == 's' ? sign_extended(x, 8 * from->bytes) : low(x, 8 * from->bytes);
  bool negative = from->kind == 's' && (int64_t)x < 0;
  return ptx_round(format_of((PtxType)i->type), negative, negative ? 0 - x : x, 0, false, (PtxRound)i->round);
}

typedef struct Parts {
  bool sign, nan, inf;
  u64 sig;
  int exp;
} Parts;

static Parts split(PtxFormat f, u64 x) {
  Parts p = {.sign = x >> (f.bits - 1) & 1};
  u64 mag = low(x, (u32)f.bits - 1);
  int e = (int)(mag >> f.mantissa), top = (1 << (f.bits - f.mantissa - 1)) - 1;
  p.sig = low(mag, (u32)f.mantissa);
  p.nan = e == top && p.sig, p.inf = e == top && !p.sig;
  if (e)
    p.sig |= 1ull << f.mantissa;
  else
    e = 1;
  p.exp = e - f.bias - f.mantissa;
  return p;
}

/* The magnitude as an integer, rounded; *big if it has more than 64 bits. */
static u64 integral(Parts p, PtxRound r, bool *big) {
  *big = false;
  if (p.exp >= 0) {
    *big = p.sig && (p.exp > 63 || (p.exp > 0 && p.sig >> (64 - p.exp)));
    return *big ? ~0ull : p.sig << p.exp;
  }
  int drop = -p.exp;
  u64 kept = drop > 63 ? 0 : p.sig >> drop, rest = drop > 63 ? p.sig : low(p.sig, (u32)drop);
  bool half_or_more = drop <= 63 && rest >> (drop - 1), exact_half = half_or_more && low(rest, (u32)drop - 1) == 0;
  bool up = r == RN   ? half_or_more && (!exact_half || (kept & 1))
            : r == RM ? p.sign && rest
            : r == RP ? !p.sign && rest
                      : false;
  return kept + up;
}

static u64 flush_f32(u64 x) { return x & 0x7f800000u ? x : x & 0x80000000u; }

static u64 float_to_int(const Ins *i, u64 x) {
  const PtxTypeInfo *to = &ptx_types[i->type];
  u32 bits = 8 * to->bytes;
  if (i->ftz && i->type2 == PT_F32) x = flush_f32(x);
  Parts p = split(format_of((PtxType)i->type2), x);
  /* NaN gives 0; from f64 or to 64 bits hardware gives the integer with only the top bit. */
  if (p.nan) return i->type2 == PT_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
  bool big = p.inf;
  u64 n = big ? ~0ull : integral(p, (PtxRound)i->round, &big);
  u64 most = to->kind == 's' ? low(~0ull, bits) >> 1 : low(~0ull, bits);
  if (!p.sign) return big || n > most ? most : n;
  if (to->kind != 's') return 0;
  return low(big || n > most + 1 ? 0 - (most + 1) : 0 - n, bits);
}

static u64 float_to_float(const Ins *i, u64 x) {
  PtxFormat from = format_of((PtxType)i->type2), to = format_of((PtxType)i->type);
  if (i->ftz && i->type2 == PT_F32) x = flush_f32(x);
  if (i->op) { /* to an integral value of the same type */
    Parts p = split(from, x);
    bool big;
    if (!p.nan && !p.inf && p.exp < 0)
      x = ptx_round(from, p.sign, integral(p, (PtxRound)i->round, &big), 0, false, RN);
    else if (p.nan)
      x = ptx_convert(to, from, x, RN);
  } else {
    x = ptx_convert(to, from, x, (PtxRound)i->round);
  }
  if (i->ftz && i->type == PT_F32) x = flush_f32(x);
  if (i->sat) {
    Parts p = split(to, x);
    u64 one = (u64)to.bias << to.mantissa;
    if (p.nan || p.sign)
      x = 0;
    else if (x > one)
      x = one;
  }
  return x;
}

static bool any_cvt(Warp *w, Ins *i, u32 m) {
  bool f_from = is_float((PtxType)i->type2), f_to = is_float((PtxType)i->type);
  u32 tb = 8 * ptx_types[i->type].bytes;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 x = get(w, i->a, i->size2, l);
    if (f_from) x = low(x, 8 * ptx_types[i->type2].bytes);
    u64 r = f_from ? (f_to ? float_to_float(i, x) : float_to_int(i, x)) : f_to ? int_to_float(i, x) : int_to_int(i, x);
    if (f_to && !f_from && i->sat) {
      Parts p = split(format_of((PtxType)i->type), r);
      u64 one = (u64)format_of((PtxType)i->type).bias << format_of((PtxType)i->type).mantissa;
      r = p.sign ? 0 : r > one ? one : r;
    }
    if (ptx_types[i->type].kind == 's') r = sign_extended(r, tb); /* a wider register gets the sign too */
    put(w, i->d, i->size1, l, r);
  }
  return true;
}

#define FAST(name, D, A, expr)                                                                                         \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    D *d = COL(D, i->d);                                                                                               \
    const A *pa = COL(A, i->a);                                                                                        \
    if (m == FULL)                                                                                                     \
      for (int l = 0; l < LANES; l++) {                                                                                \
        A a = pa[l];                                                                                                   \
        d[l] = (D)(expr);                                                                                              \
      }                                                                                                                \
    else                                                                                                               \
      for (u32 rest = m; rest; rest &= rest - 1) {                                                                     \
        int l = __builtin_ctz(rest);                                                                                   \
        A a = pa[l];                                                                                                   \
        d[l] = (D)(expr);                                                                                              \
      }                                                                                                                \
    return true;                                                                                                       \
  }
/* clang-format off */
FAST(u64_u32, u64, u32, a)           FAST(s64_s32, int64_t, int32_t, a)    FAST(u32_u64, u32, u64, a)
FAST(f32_s32, float, int32_t, a)     FAST(f32_u32, float, u32, a)          FAST(f64_s32, double, int32_t, a)
FAST(f64_u32, double, u32, a)        FAST(f32_s64, float, int64_t, a)      FAST(f32_u64, float, u64, a)
FAST(s32_f32, int32_t, float, a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int32_t)a)
FAST(u32_f32, u32, float, !(a > 0) ? 0 : a >= 0x1p32f ? FULL : (u32)(int64_t)a)
    /* clang-format on */
    static bool f64_f32(Warp *w, Ins *i, u32 m) {
  double *d = COL(double, i->d);
  const float *a = COL(float, i->a);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 nan = 0x7ff8000000000000ull;
    d[l] = a[l];
    if (a[l] != a[l]) memcpy(&d[l], &nan, 8);
  }
  return true;
}
static bool f32_f64(Warp *w, Ins *i, u32 m) {
  float *d = COL(float, i->d);
  const double *a = COL(double, i->a);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u32 nan = 0x7fffffffu;
    d[l] = (float)a[l];
    if (a[l] != a[l]) memcpy(&d[l], &nan, 4);
  }
  return true;
}

PtxFn *ptx_cvt(const Ins *i) {
  static const struct {
    uint8_t to, from, round;
    bool integral;
    PtxFn *fn;
  } rows[] = {
      {PT_U64, PT_U32, RN, false, u64_u32}, {PT_S64, PT_S32, RN, false, s64_s32}, {PT_U32, PT_U64, RN, false, u32_u64},
      {PT_S32, PT_S64, RN, false, u32_u64}, {PT_F32, PT_S32, RN, false, f32_s32}, {PT_F32, PT_U32, RN, false, f32_u32},
      {PT_F64, PT_S32, RN, false, f64_s32}, {PT_F64, PT_U32, RN, false, f64_u32}, {PT_F32, PT_S64, RN, false, f32_s64},
      {PT_F32, PT_U64, RN, false, f32_u64}, {PT_S32, PT_F32, RZ, true, s32_f32},  {PT_U32, PT_F32, RZ, true, u32_f32},
      {PT_F64, PT_F32, RN, false, f64_f32}, {PT_F32, PT_F64, RN, false, f32_f64},
  };
  if (ptx_types[i->type].bytes == 0 || ptx_types[i->type2].bytes == 0) return NULL;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (rows[k].to == i->type && rows[k].from == i->type2 && rows[k].round == i->round && rows[k].integral == i->op &&
        !i->ftz && !i->sat && i->size1 == ptx_types[i->type].bytes && i->size2 == ptx_types[i->type2].bytes)
      return rows[k].fn;
  return any_cvt;
}

/* d = {a, b}: a becomes the upper half. */
bool ptx_cvt_pack(Warp *w, Ins *i, u32 m) {
  PtxFormat f = i->type == PT_F16X2 ? ptx_f16 : ptx_bf16;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 hi = ptx_convert(f, ptx_f32, COL(u32, i->a)[l], (PtxRound)i->round);
    u64 lo = ptx_convert(f, ptx_f32, COL(u32, i->b)[l], (PtxRound)i->round);
    if (i->op && hi >> 15 && hi != 0x7fff) hi = 0;
    if (i->op && lo >> 15 && lo != 0x7fff) lo = 0;
    COL(u32, i->d)[l] = (u32)(hi << 16 | lo);
  }
  return true;
}
