/* tests/fakecuda/ptx_fpu.c -- arithmetic of floats: exact where the manual says so, else within its bounds.
 *
 * f32 and f64 use the processor's own operations, which IEEE 754 defines bit by bit, under the rounding that the
 * instruction names. Halves are computed exactly in a double and rounded once. f32 has one NaN, 0x7fffffff; f64 keeps
 * payloads, as the processor does.
 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#ifdef __clang__
#define NO_ALIAS
#else
#define NO_ALIAS _Pragma("GCC ivdep")
#endif

#define EACH_LANE(body)                                                                                                \
  if (m == FULL) {                                                                                                     \
    NO_ALIAS for (int l = 0; l < LANES; l++) { body; }                                                                 \
  } else {                                                                                                             \
    for (u32 rest = m; rest; rest &= rest - 1) {                                                                       \
      int l = __builtin_ctz(rest);                                                                                     \
      body;                                                                                                            \
    }                                                                                                                  \
  }

static inline u32 bits_of(float x) {
  u32 b;
  memcpy(&b, &x, 4);
  return b;
}
static inline float float_of(u32 b) {
  float x;
  memcpy(&x, &b, 4);
  return x;
}
static inline u64 bits_of_double(double x) {
  u64 b;
  memcpy(&b, &x, 8);
  return b;
}
static inline double double_of_bits(u64 b) {
  double x;
  memcpy(&x, &b, 8);
  return x;
}

static inline float one_nan(float x) { return x == x ? x : float_of(0x7fffffffu); }
static inline float flushed(float x) { return (bits_of(x) & 0x7f800000u) ? x : float_of(bits_of(x) & 0x80000000u); }
static inline double quiet(double x) { return x == x ? x : double_of_bits(bits_of_double(x) | 1ull << 51); }

/* The non-NaN operand; -0 below +0. */
static float min_f(float a, float b) {
  if (a != a) return one_nan(b);
  if (b != b) return a;
  return a == b ? float_of(bits_of(a) | bits_of(b)) : a < b ? a : b;
}
static float max_f(float a, float b) {
  if (a != a) return one_nan(b);
  if (b != b) return a;
  return a == b ? float_of(bits_of(a) & bits_of(b)) : a > b ? a : b;
}
static double min_d(double a, double b) {
  if (a != a) return quiet(b);
  if (b != b) return a;
  return a == b ? double_of_bits(bits_of_double(a) | bits_of_double(b)) : a < b ? a : b;
}
static double max_d(double a, double b) {
  if (a != a) return quiet(b);
  if (b != b) return a;
  return a == b ? double_of_bits(bits_of_double(a) & bits_of_double(b)) : a > b ? a : b;
}

/* --- the frequent ones: rounded to nearest, nothing flushed --- */

#define FAST(name, T, expr)                                                                                            \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    T *d = COL(T, i->d);                                                                                               \
    const T *pa = COL(T, i->a), *pb = COL(T, i->b), *pc = COL(T, i->c);                                                \
    EACH_LANE(T a = pa[l]; T b = pb[l]; T c = pc[l]; (void)a; (void)b; (void)c; d[l] = (expr))                         \
    return true;                                                                                                       \
  }
FAST(add_f32, float, one_nan(a + b))
FAST(sub_f32, float, one_nan(a - b))
FAST(mul_f32, float, one_nan(a *b))
FAST(div_f32, float, one_nan(a / b))
FAST(sqrt_f32, float, one_nan(sqrtf(a)))
FAST(rcp_f32, float, one_nan(1.0f / a))
FAST(abs_f32, float, float_of(bits_of(a) & 0x7fffffffu))
FAST(neg_f32, float, float_of(bits_of(a) ^ 0x80000000u))
FAST(min_f32, float, min_f(a, b))
FAST(max_f32, float, max_f(a, b))
FAST(copysign_f32, float, float_of((bits_of(b) & 0x7fffffffu) | (bits_of(a) & 0x80000000u)))
FAST(add_f64, double, a + b)
FAST(sub_f64, double, a - b)
FAST(mul_f64, double, a *b)
FAST(div_f64, double, a / b)
FAST(sqrt_f64, double, sqrt(a))
FAST(rcp_f64, double, 1.0 / a)
FAST(abs_f64, double, double_of_bits(bits_of_double(a) & ~(1ull << 63)))
FAST(neg_f64, double, double_of_bits(bits_of_double(a) ^ 1ull << 63))
FAST(min_f64, double, min_d(a, b))
FAST(max_f64, double, max_d(a, b))
FAST(copysign_f64, double, double_of_bits((bits_of_double(b) & ~(1ull << 63)) | (bits_of_double(a) & 1ull << 63)))

/* a * b is exact in a double. Its sum with c, rounded to odd, has what the last rounding needs (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums", IEEE TC 57, 2008). */
static inline double odd_sum(double p, double c) {
  double s = p + c;
  double t = s - p, err = (p - (s - t)) + (c - t);
  if (err != 0 && !(bits_of_double(s) & 1)) {
    u64 b = bits_of_double(s);
    s = double_of_bits((err > 0) == (s > 0) ? b + 1 : b - 1);
  }
  return s;
}
static inline float fma_of(float a, float b, float c) {
  double p = (double)a * b, s = odd_sum(p, c);
  return isfinite(s) ? (float)s : (float)(p + c);
}
static bool fma_f32(Warp *w, Ins *i, u32 m) {
  float *d = COL(float, i->d);
  const float *a = COL(float, i->a), *b = COL(float, i->b), *c = COL(float, i->c);
  /* Nearly always the sum is exact or far from the middle of two floats; the careful way is for the rest. */
  EACH_LANE(double p = (double)a[l] * b[l]; double s = p + c[l]; u64 k = bits_of_double(s) & 0x1fffffffu;
            bool tie = k == 0x10000000u; double size = fabs(s); bool small = size < 0x1p-125 || !(size < 0x1p127);
            d[l] = tie || small ? one_nan(fma_of(a[l], b[l], c[l])) : (float)s)
  return true;
}
static bool fma_f64(Warp *w, Ins *i, u32 m) {
  double *d = COL(double, i->d);
  const double *a = COL(double, i->a), *b = COL(double, i->b), *c = COL(double, i->c);
  EACH_LANE(d[l] = fma(a[l], b[l], c[l]))
  return true;
}

/* --- everything else, one lane at a time --- */

static const int fe_rounds[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* The adversary: a whole number of steps within [-most, most], the same for the same operand in one run. */
static int nudge(const Warp *w, const Ins *i, u64 operand, int most) {
  if (!w->run->launch->adversary) return 0;
  u64 s = w->run->launch->seed ^ operand * 0x9e3779b97f4a7c15ull ^ (u64)i->line << 40 ^ i->op;
  return (int)(ptx_random(&s) % (2u * (unsigned)most + 1)) - most;
}
static float move_ulps(float x, int n) {
  if (!isfinite(x) || x == 0) return x;
  for (; n > 0; n--) x = nextafterf(x, INFINITY);
  for (; n < 0; n++) x = nextafterf(x, -INFINITY);
  return x;
}
/* Moves by n quarters of the bound `step`. */
static double move_by(double x, int n, double step) { return isfinite(x) ? x + n * step / 4 : x; }

/* Of sine and cosine, without the rounding to f32: 2^-20.5 within [-2 pi, 2 pi], 2^-14.7 within [-100 pi, 100 pi], and
 * beyond nothing is promised. */
static double circle_error(float a) {
  double turns = fabs((double)a) / 6.283185307179586;
  return turns <= 1 ? 0x1p-20 * 0.7071 - 0x1p-24 : 0x1p-14 * 0.615 * (turns <= 50 ? 1 : turns / 50);
}

static float approx(const Warp *w, const Ins *i, float a, float b) {
  u64 key = (u64)bits_of(a) << 32 | bits_of(b);
  switch (i->op) {
  case FL_DIV_FULL: return move_ulps(a / b, nudge(w, i, key, 2));
  case FL_DIV_APPROX: {
    float size = fabsf(b);
    if (size > 0x1p126f && isfinite(b))
      return isinf(a) ? NAN : a != a ? a : copysignf(0, signbit(a) ^ signbit(b) ? -1.0f : 1.0f);
    return move_ulps(a / b, nudge(w, i, key, 2));
  }
  case FL_SQRT_APPROX: return move_ulps(sqrtf(a), nudge(w, i, bits_of(a), 1));
  case FL_RCP_APPROX: return move_ulps(1.0f / a, nudge(w, i, bits_of(a), 1));
  case FL_RSQRT_APPROX: return move_ulps((float)(1.0 / sqrt((double)a)), nudge(w, i, bits_of(a), 1));
  case FL_EX2: return move_ulps((float)exp2((double)a), a == 0 ? 0 : nudge(w, i, bits_of(a), 2));
  case FL_LG2: {
    double x = log2((double)a); /* 2^-22 absolute from 1/2 to 2, else relative; the rounding to f32 takes a part */
    double step = (a > 0.5f && a < 2 ? 1 : fabs(x)) * 0.75 * 0x1p-22;
    return (float)move_by(x, nudge(w, i, bits_of(a), 4), step);
  }
  case FL_SIN: return (float)move_by(sin((double)a), a == 0 ? 0 : nudge(w, i, bits_of(a), 4), circle_error(a));
  case FL_COS: return (float)move_by(cos((double)a), a == 0 ? 0 : nudge(w, i, bits_of(a), 4), circle_error(a));
  case FL_TANH: {
    double x = tanh((double)a);
    return (float)move_by(x, nudge(w, i, bits_of(a), 4), fabs(x) * (0x1p-11 - 0x1p-23));
  }
  default: return NAN;
  }
}

static float calc(const Warp *w, const Ins *i, float a, float b, float c) {
  switch (i->op) {
  case FL_ADD: return a + b;
  case FL_SUB: return a - b;
  case FL_MUL: return a * b;
  case FL_FMA: return fmaf(a, b, c);
  case FL_DIV: return a / b;
  case FL_SQRT: return sqrtf(a);
  case FL_RCP: return 1.0f / a;
  case FL_ABS: return fabsf(a);
  case FL_NEG: return float_of(bits_of(a) ^ 0x80000000u);
  case FL_MIN: return min_f(a, b);
  case FL_MAX: return max_f(a, b);
  case FL_MIN_NAN: return a != a || b != b ? NAN : min_f(a, b);
  case FL_MAX_NAN: return a != a || b != b ? NAN : max_f(a, b);
  default: return approx(w, i, a, b);
  }
}

static float saturate(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; } /* NaN and -0 become +0 */

static float finished(const Ins *i, float r) {
  if (i->ftz) r = flushed(r);
  if (i->sat) return saturate(r);
  return one_nan(r);
}

static bool any_f32(Warp *w, Ins *i, u32 m) {
  const float *pa = COL(float, i->a), *pb = COL(float, i->b), *pc = COL(float, i->c);
  if (i->round) fesetround(fe_rounds[i->round]);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    float a = i->ftz ? flushed(pa[l]) : pa[l], b = i->ftz ? flushed(pb[l]) : pb[l];
    float c = i->ftz ? flushed(pc[l]) : pc[l];
    volatile float r = calc(w, i, a, b, c);
    COL(float, i->d)[l] = finished(i, r);
  }
  if (i->round) fesetround(FE_TONEAREST);
  return true;
}

/* The common flushing forms. */
#define FLUSHING(name, expr)                                                                                           \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    float *d = COL(float, i->d);                                                                                       \
    const float *pa = COL(float, i->a), *pb = COL(float, i->b);                                                        \
    EACH_LANE(float a = flushed(pa[l]); float b = flushed(pb[l]); d[l] = one_nan(flushed(expr)))                       \
    return true;                                                                                                       \
  }
FLUSHING(add_ftz, a + b)
FLUSHING(sub_ftz, a - b)
FLUSHING(mul_ftz, a *b)

static bool any_f64(Warp *w, Ins *i, u32 m) {
  const double *pa = COL(double, i->a), *pb = COL(double, i->b), *pc = COL(double, i->c);
  fesetround(fe_rounds[i->round]);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    volatile double r;
    switch (i->op) {
    case FL_ADD: r = pa[l] + pb[l]; break;
    case FL_SUB: r = pa[l] - pb[l]; break;
    case FL_MUL: r = pa[l] * pb[l]; break;
    case FL_FMA: r = fma(pa[l], pb[l], pc[l]); break;
    case FL_DIV: r = pa[l] / pb[l]; break;
    case FL_SQRT: r = sqrt(pa[l]); break;
    default: r = 1.0 / pa[l]; break;
    }
    COL(double, i->d)[l] = r;
  }
  fesetround(FE_TONEAREST);
  return true;
}

/* rcp and rsqrt of doubles: of the upper 32 bits, to the upper 32 bits; subnormals are flushed. */
static bool about_f64(Warp *w, Ins *i, u32 m) {
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 b = COL(u64, i->a)[l];
    if (i->ftz) b &= 0xffffffff00000000ull;
    if (i->ftz && !(b >> 52 & 0x7ff)) b &= 1ull << 63;
    double x = double_of_bits(b), r = i->op == FL_RCP_APPROX ? 1.0 / x : 1.0 / sqrt(x);
    u64 out = bits_of_double(r);
    if (r != r)
      out = 0x7fffffff00000000ull;
    else if (i->ftz) {
      if (!(out >> 52 & 0x7ff)) out &= 1ull << 63;
      out &= 0xffffffff00000000ull;
      if (isfinite(r) && r != 0) out += (u64)((int64_t)nudge(w, i, b, 1)) << 32;
    } else if (isfinite(r) && r != 0) {
      out += (u64)((int64_t)nudge(w, i, b, 4)) << 24; /* 2^-23 relative is 2^29 of the last places */
    }
    COL(u64, i->d)[l] = out;
  }
  return true;
}

/* --- halves --- */

static double half_value(u16 h, bool bf, bool ftz) {
  double x = bf ? ptx_bf16_value(h) : ptx_f16_value(h);
  if (ftz && !bf && !(h & 0x7c00)) x = copysign(0, x);
  return x;
}

static u16 half_calc(const Warp *w, const Ins *i, u16 ha, u16 hb, u16 hc, bool bf) {
  PtxFormat f = bf ? ptx_bf16 : ptx_f16;
  double a = half_value(ha, bf, i->ftz), b = half_value(hb, bf, i->ftz), c = half_value(hc, bf, i->ftz), r;
  if (i->op == FL_ABS) return i->ftz && !(ha & 0x7c00) ? 0 : ha & 0x7fff;
  if (i->op == FL_NEG) return i->ftz && !(ha & 0x7c00) ? (ha & 0x8000) ^ 0x8000 : ha ^ 0x8000;
  switch (i->op) {
  case FL_ADD: r = odd_sum(a, b); break;
  case FL_SUB: r = odd_sum(a, -b); break;
  case FL_MUL: r = a * b; break;
  case FL_FMA:
  case FL_FMA_RELU: r = odd_sum(a * b, c); break;
  case FL_MIN: r = min_d(a, b); break;
  case FL_MAX: r = max_d(a, b); break;
  case FL_MIN_NAN: r = a != a || b != b ? NAN : min_d(a, b); break;
  case FL_MAX_NAN: r = a != a || b != b ? NAN : max_d(a, b); break;
  case FL_EX2:
    r = exp2(a);
    r = move_by(r, nudge(w, i, ha, 4), r * (bf ? 0x1p-7 : 0x1p-10));
    break;
  case FL_TANH:
    r = tanh(a);
    r = move_by(r, nudge(w, i, ha, 4), r * (bf ? 0x1p-8 : 0x1p-11));
    break;
  default: return 0;
  }
  if (!isfinite(a) || !isfinite(b) || ((i->op == FL_FMA || i->op == FL_FMA_RELU) && !isfinite(c))) {
    /* The correction of odd_sum makes no sense with infinities. */
    if (i->op == FL_ADD) r = a + b;
    if (i->op == FL_SUB) r = a - b;
    if (i->op == FL_FMA || i->op == FL_FMA_RELU) r = a * b + c;
  }
  if (i->op == FL_FMA_RELU && r < 0) r = 0;
  u16 h = (u16)ptx_convert(f, ptx_f64, bits_of_double(r), RN);
  if (i->ftz && !(h & 0x7c00)) h &= 0x8000;
  if (i->sat) {
    double x = half_value(h, bf, false);
    h = !(x > 0) ? 0 : x >= 1 ? 0x3c00 : h;
  }
  return h;
}

static bool half(Warp *w, Ins *i, u32 m) {
  bool bf = i->type == PT_BF16;
  EACH_LANE(COL(u16, i->d)[l] = half_calc(w, i, COL(u16, i->a)[l], COL(u16, i->b)[l], COL(u16, i->c)[l], bf))
  return true;
}
/* One or two halves and a float, rounded once. A half's value and a product of two are floats. */
bool ptx_mixed(Warp *w, Ins *i, u32 m) {
  bool bf = i->type2 == PT_BF16;
  fesetround(fe_rounds[i->round]);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    float a = (float)half_value(COL(u16, i->a)[l], bf, false);
    float b = i->op == FL_FMA ? (float)half_value(COL(u16, i->b)[l], bf, false) : COL(float, i->b)[l];
    volatile float r = calc(w, i, a, b, i->op == FL_FMA ? COL(float, i->c)[l] : 0);
    COL(float, i->d)[l] = finished(i, r);
  }
  fesetround(FE_TONEAREST);
  return true;
}

static bool half_pair(Warp *w, Ins *i, u32 m) {
  bool bf = i->type == PT_BF16X2;
  EACH_LANE(u32 a = COL(u32, i->a)[l]; u32 b = COL(u32, i->b)[l]; u32 c = COL(u32, i->c)[l];
            COL(u32, i->d)[l] = half_calc(w, i, (u16)a, (u16)b, (u16)c, bf) |
                                (u32)half_calc(w, i, (u16)(a >> 16), (u16)(b >> 16), (u16)(c >> 16), bf) << 16)
  return true;
}

static bool float_pair(Warp *w, Ins *i, u32 m) {
  fesetround(fe_rounds[i->round]);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 a = COL(u64, i->a)[l], b = COL(u64, i->b)[l], c = COL(u64, i->c)[l], r = 0;
    for (int k = 0; k < 64; k += 32) {
      float x = float_of((u32)(a >> k)), y = float_of((u32)(b >> k)), z = float_of((u32)(c >> k));
      if (i->ftz) x = flushed(x), y = flushed(y), z = flushed(z);
      volatile float v = calc(w, i, x, y, z);
      r |= (u64)bits_of(finished(i, v)) << k;
    }
    COL(u64, i->d)[l] = r;
  }
  fesetround(FE_TONEAREST);
  return true;
}

/* --- tables --- */

static PtxFn *const fast_f32[FL_COUNT] = {
    [FL_ADD] = add_f32, [FL_SUB] = sub_f32,   [FL_MUL] = mul_f32, [FL_FMA] = fma_f32,
    [FL_DIV] = div_f32, [FL_SQRT] = sqrt_f32, [FL_RCP] = rcp_f32, [FL_ABS] = abs_f32,
    [FL_NEG] = neg_f32, [FL_MIN] = min_f32,   [FL_MAX] = max_f32, [FL_COPYSIGN] = copysign_f32,
};
static PtxFn *const fast_f64[FL_COUNT] = {
    [FL_ADD] = add_f64, [FL_SUB] = sub_f64,   [FL_MUL] = mul_f64, [FL_FMA] = fma_f64,
    [FL_DIV] = div_f64, [FL_SQRT] = sqrt_f64, [FL_RCP] = rcp_f64, [FL_ABS] = abs_f64,
    [FL_NEG] = neg_f64, [FL_MIN] = min_f64,   [FL_MAX] = max_f64, [FL_COPYSIGN] = copysign_f64,
};

PtxFn *ptx_float(PtxFloat op, const Ins *i) {
  switch (i->type) {
  case PT_F32:
    if (op == FL_FMA_RELU) return NULL;
    if (!i->ftz && !i->sat && !i->round && fast_f32[op]) return fast_f32[op];
    if (i->ftz && !i->sat && !i->round) {
      if (op == FL_ADD) return add_ftz;
      if (op == FL_SUB) return sub_ftz;
      if (op == FL_MUL) return mul_ftz;
    }
    return any_f32;
  case PT_F64:
    if (op == FL_RCP_APPROX || op == FL_RSQRT_APPROX) return about_f64;
    if (!i->round) return fast_f64[op];
    return op == FL_ADD || op == FL_SUB || op == FL_MUL || op == FL_FMA || op == FL_DIV || op == FL_SQRT || op == FL_RCP
               ? any_f64
               : NULL;
  case PT_F32X2: return op == FL_ADD || op == FL_SUB || op == FL_MUL || op == FL_FMA ? float_pair : NULL;
  case PT_F16:
  case PT_BF16:
  case PT_F16X2:
  case PT_BF16X2:
    if ((op >= FL_DIV && op <= FL_RSQRT_APPROX) || op == FL_LG2 || op == FL_SIN || op == FL_COS || op == FL_COPYSIGN)
      return NULL;
    return i->type == PT_F16 || i->type == PT_BF16 ? half : half_pair;
  default: return NULL;
  }
}

/* --- comparisons --- */

bool ptx_testp(Warp *w, Ins *i, u32 m) {
  u32 r = 0;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    double x = i->type == PT_F32 ? COL(float, i->a)[l] : COL(double, i->a)[l];
    double least = i->type == PT_F32 ? 0x1p-126 : 0x1p-1022;
    bool yes = false;
    switch (i->op) {
    case 0: yes = isfinite(x); break;
    case 1: yes = isinf(x); break;
    case 2: yes = x == x; break;
    case 3: yes = x != x; break;
    case 4: yes = isfinite(x) && fabs(x) >= least; break;
    default: yes = fabs(x) < least && x != 0; break;
    }
    r |= (u32)yes << l;
  }
  *COL(u32, i->d) = (*COL(u32, i->d) & ~m) | r;
  return true;
}

static void combine(Warp *w, const Ins *i, u32 m, u32 yes) {
  u32 c = i->op2 ? *COL(u32, i->c) : 0, no = ~yes;
  if (i->op2 == BOOL_AND) yes &= c, no &= c;
  if (i->op2 == BOOL_OR) yes |= c, no |= c;
  if (i->op2 == BOOL_XOR) yes ^= c, no ^= c;
  *COL(u32, i->d) = (*COL(u32, i->d) & ~m) | (yes & m);
  if (i->e) *COL(u32, i->e) = (*COL(u32, i->e) & ~m) | (no & m);
}

/* All lanes are compared, also those that are off: nothing traps. */
#define COMPARE(name, T, expr)                                                                                         \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    const T *pa = COL(T, i->a), *pb = COL(T, i->b);                                                                    \
    uint8_t yes[LANES];                                                                                                \
    for (int l = 0; l < LANES; l++) {                                                                                  \
      T a = pa[l], b = pb[l];                                                                                          \
      yes[l] = (expr);                                                                                                 \
    }                                                                                                                  \
    u32 r = 0;                                                                                                         \
    for (int k = 0; k < LANES; k += 8) {                                                                               \
      u64 eight;                                                                                                       \
      memcpy(&eight, yes + k, 8);                                                                                      \
      r |= (u32)(eight * 0x0102040810204080ull >> 56) << k;                                                            \
    }                                                                                                                  \
    combine(w, i, m, r);                                                                                               \
    return true;                                                                                                       \
  }
#define COMPARE_EQ(name, T) COMPARE(eq_##name, T, a == b) COMPARE(ne_##name, T, a != b)
#define COMPARE_ORDER(name, T)                                                                                         \
  COMPARE(lt_##name, T, a < b) COMPARE(le_##name, T, a <= b) COMPARE(gt_##name, T, a > b) COMPARE(ge_##name, T, a >= b)
COMPARE_EQ(u16, u16)
COMPARE_EQ(u32, u32)
COMPARE_EQ(u64, u64)
COMPARE_ORDER(u16, u16)
COMPARE_ORDER(u32, u32)
COMPARE_ORDER(u64, u64)
COMPARE_ORDER(s16, int16_t)
COMPARE_ORDER(s32, int32_t)
COMPARE_ORDER(s64, int64_t)
COMPARE(feq_f32, float, a == b)
COMPARE(flt_f32, float, a < b)
COMPARE(fle_f32, float, a <= b)
COMPARE(fgt_f32, float, a > b)
COMPARE(fge_f32, float, a >= b)

static bool float_compare(u32 op, double a, double b) {
  bool nan = a != a || b != b;
  switch (op) {
  case CMP_EQ: return a == b;
  case CMP_NE: return a != b && !nan;
  case CMP_LT: return a < b;
  case CMP_LE: return a <= b;
  case CMP_GT: return a > b;
  case CMP_GE: return a >= b;
  case CMP_EQU: return a == b || nan;
  case CMP_NEU: return a != b;
  case CMP_LTU: return a < b || nan;
  case CMP_LEU: return a <= b || nan;
  case CMP_GTU: return a > b || nan;
  case CMP_GEU: return a >= b || nan;
  case CMP_NUM: return !nan;
  default: return nan;
  }
}

static double operand_value(const Warp *w, const Ins *i, u32 at, int l) {
  switch (i->type) {
  case PT_F32: return i->ftz ? flushed(COL(float, at)[l]) : COL(float, at)[l];
  case PT_F64: return COL(double, at)[l];
  default: return half_value(COL(u16, at)[l], i->type == PT_BF16, i->ftz);
  }
}

static bool any_compare(Warp *w, Ins *i, u32 m) {
  u32 r = 0;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    r |= (u32)float_compare(i->op, operand_value(w, i, i->a, l), operand_value(w, i, i->b, l)) << l;
  }
  combine(w, i, m, r);
  return true;
}

/* Pairs of halves: the first predicate is of the low one, the second of the high one. */
static bool pair_compare(Warp *w, Ins *i, u32 m) {
  bool bf = i->type == PT_BF16X2;
  u32 lo = 0, hi = 0, c = i->op2 ? *COL(u32, i->c) : 0;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u32 a = COL(u32, i->a)[l], b = COL(u32, i->b)[l];
    lo |= (u32)float_compare(i->op, half_value((u16)a, bf, i->ftz), half_value((u16)b, bf, i->ftz)) << l;
    hi |= (u32)float_compare(i->op, half_value((u16)(a >> 16), bf, i->ftz), half_value((u16)(b >> 16), bf, i->ftz))
          << l;
  }
  if (i->op2 == BOOL_AND) lo &= c, hi &= c;
  if (i->op2 == BOOL_OR) lo |= c, hi |= c;
  if (i->op2 == BOOL_XOR) lo ^= c, hi ^= c;
  *COL(u32, i->d) = (*COL(u32, i->d) & ~m) | (lo & m);
  *COL(u32, i->e) = (*COL(u32, i->e) & ~m) | (hi & m);
  return true;
}

PtxFn *ptx_setp(PtxCmp cmp, PtxType t, bool ftz) {
  static PtxFn *const floats[CMP_COUNT] = {
      [CMP_EQ] = feq_f32, [CMP_LT] = flt_f32, [CMP_LE] = fle_f32, [CMP_GT] = fgt_f32, [CMP_GE] = fge_f32};
  static PtxFn *const integers[][6] = {
      {eq_u16, ne_u16, lt_u16, le_u16, gt_u16, ge_u16}, {eq_u32, ne_u32, lt_u32, le_u32, gt_u32, ge_u32},
      {eq_u64, ne_u64, lt_u64, le_u64, gt_u64, ge_u64}, {eq_u16, ne_u16, lt_s16, le_s16, gt_s16, ge_s16},
      {eq_u32, ne_u32, lt_s32, le_s32, gt_s32, ge_s32}, {eq_u64, ne_u64, lt_s64, le_s64, gt_s64, ge_s64},
  };
  const PtxTypeInfo *info = &ptx_types[t];
  if (info->kind == 'x') return t == PT_F16X2 || t == PT_BF16X2 ? pair_compare : NULL;
  if (info->kind == 'f') return t == PT_F32 && !ftz && floats[cmp] ? floats[cmp] : any_compare;
  if (info->bytes < 2 || cmp > CMP_HS) return NULL;
  uint32_t row = (info->bytes == 2 ? 0 : info->bytes == 4 ? 1 : 2) + (info->kind == 's' ? 3 : 0);
  static const uint8_t same[] = {0, 1, 2, 3, 4, 5, 2, 3, 4, 5}; /* lo ls hi hs are lt le gt ge of unsigned numbers */
  return integers[row][same[cmp]];
}
