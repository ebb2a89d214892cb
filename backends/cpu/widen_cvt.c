/* backends/cpu/widen_cvt.c -- conversions between scalars, and fma where there is no such instruction.
 *
 * Everything is made of operations that LLVM selects without a library call on every target. Conversions that would round
 * twice go through a value rounded to odd: rounding it again, to at least two bits less, gives what one rounding of the
 * exact value gives (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
 * The half-precision sequences are Giesen's, "float->half variants" (2012).
 */
#include "backends/cpu/widen.h"

typedef struct Form { /* scalar or for each lane */
  CpuWiden *w;
  bool vec;
} Form;

static const char *ity(Form f, uint32_t bits) { return hdcpu_ity(f.w, bits, f.vec); }
static const char *fty(Form f, uint32_t bits) { return hdcpu_fty(f.w, bits, f.vec); }
static const char *iconst(Form f, uint32_t bits, int64_t x) { return hdcpu_int(f.w, bits, f.vec, x); }
static const char *bty(Form f) { return f.vec ? f.w->bt : "i1"; }

static const IrType f32_type = {.kind = IR_F32}, f64_type = {.kind = IR_F64};

static const char *fconst(Form f, uint32_t bits, double x) {
  uint64_t b = 0;
  float s = (float)x;
  memcpy(&b, bits == 64 ? (const void *)&x : (const void *)&s, bits / 8);
  return hdcpu_const(f.w, bits == 64 ? &f64_type : &f32_type, f.vec, b);
}

static const char *op2(Form f, const char *name, const char *ty, const char *x, const char *y) {
  return hdcpu_ins(f.w, "%s %s %s, %s", name, ty, x, y);
}
static const char *conv(Form f, const char *name, const char *from, const char *x, const char *to) {
  return hdcpu_ins(f.w, "%s %s %s to %s", name, from, x, to);
}
static const char *choose(Form f, const char *c, const char *ty, const char *x, const char *y) {
  return hdcpu_ins(f.w, "select %s %s, %s %s, %s %s", bty(f), c, ty, x, ty, y);
}

/* Round to odd: `s` is an f64 rounded to nearest whose error has the sign of `e` (both f64; e is 0 or NaN when `s` is
 * exact or no number): step an even s towards the exact value. */
static const char *to_odd(Form f, const char *s, const char *e) {
  const char *d = fty(f, 64), *i = ity(f, 64);
  const char *bits = conv(f, "bitcast", d, s, i);
  const char *inexact = op2(f, "fcmp one", d, e, fconst(f, 64, 0));
  const char *even = op2(f, "icmp eq", i, op2(f, "and", i, bits, iconst(f, 64, 1)), iconst(f, 64, 0));
  const char *ebits = conv(f, "bitcast", d, e, i);
  const char *apart = op2(f, "icmp slt", i, op2(f, "xor", i, bits, ebits), iconst(f, 64, 0));
  const char *step = choose(f, apart, i, iconst(f, 64, -1), iconst(f, 64, 1)); /* magnitude: away from or to zero */
  const char *go = op2(f, "and", bty(f), inexact, even);
  const char *moved = op2(f, "add", i, bits, choose(f, go, i, step, iconst(f, 64, 0)));
  return conv(f, "bitcast", i, moved, d);
}

/* f32: the product of two f32 is exact in f64; its sum with c, rounded to odd, rounds to f32 as the exact sum does. */
static const char *fma_f32(Form f, const char *const x[]) {
  const char *s = fty(f, 32), *d = fty(f, 64), *v[3];
  for (int k = 0; k < 3; k++) v[k] = conv(f, "fpext", s, x[k], d);
  const char *p = op2(f, "fmul", d, v[0], v[1]), *c = v[2], *sum = op2(f, "fadd", d, p, c);
  const char *bb = op2(f, "fsub", d, sum, p); /* Knuth's TwoSum */
  const char *aa = op2(f, "fsub", d, sum, bb);
  const char *e = op2(f, "fadd", d, op2(f, "fsub", d, p, aa), op2(f, "fsub", d, c, bb));
  return conv(f, "fptrunc", d, to_odd(f, sum, e), s);
}

/* f64: the C library's, lane by lane. */
static const char *fma_f64(Form f, const char *const x[]) {
  CpuWiden *w = f.w;
  if (!f.vec)
    return hdcpu_call(w, "double", "fma", "double, double, double", "double %s, double %s, double %s", x[0], x[1],
                      x[2]);
  const char *all = "zeroinitializer", *ty = fty(f, 64);
  for (uint32_t k = 0; k < w->width; k++) {
    const char *v[3];
    for (int n = 0; n < 3; n++) v[n] = hdcpu_ins(w, "extractelement %s %s, i32 %u", ty, x[n], k);
    const char *r = fma_f64((Form){w, false}, v);
    all = hdcpu_ins(w, "insertelement %s %s, double %s, i32 %u", ty, all, r, k);
  }
  return all;
}

const char *hdcpu_fma_by_parts(CpuWiden *w, const IrType *t, bool vec, const char *const x[]) {
  Form f = {w, vec};
  return t->kind == IR_F32 ? fma_f32(f, x) : fma_f64(f, x);
}

/* --- 16-bit floats, as i16 --- */

static const char *bf16_to_f32(Form f, const char *x) {
  const char *i = ity(f, 32), *wide = conv(f, "zext", ity(f, 16), x, i);
  return conv(f, "bitcast", i, op2(f, "shl", i, wide, iconst(f, 32, 16)), fty(f, 32));
}

static const char *f32_to_bf16(Form f, const char *x) {
  const char *s = fty(f, 32), *i = ity(f, 32), *b = conv(f, "bitcast", s, x, i);
  const char *up = op2(f, "lshr", i, b, iconst(f, 32, 16));
  const char *odd = op2(f, "and", i, up, iconst(f, 32, 1));
  const char *r = op2(f, "add", i, op2(f, "add", i, b, iconst(f, 32, 0x7fff)), odd);
  r = op2(f, "lshr", i, r, iconst(f, 32, 16));
  const char *nan = op2(f, "or", i, up, iconst(f, 32, 0x40));
  r = choose(f, op2(f, "fcmp uno", s, x, x), i, nan, r);
  return conv(f, "trunc", i, r, ity(f, 16));
}

static bool has_f16c(const CpuWiden *w) { return w->target->isa == CPU_AVX2 || w->target->isa == CPU_AVX512; }

static const char *f16_to_f32(Form f, const char *x) {
  if (has_f16c(f.w)) {
    const char *h = f.vec ? hdcpu_fmt(f.w, "<%u x half>", f.w->width) : "half";
    return conv(f, "fpext", h, conv(f, "bitcast", ity(f, 16), x, h), fty(f, 32));
  }
  const char *i = ity(f, 32), *s = fty(f, 32), *h = conv(f, "zext", ity(f, 16), x, i);
  const char *o = op2(f, "shl", i, op2(f, "and", i, h, iconst(f, 32, 0x7fff)), iconst(f, 32, 13));
  const char *exp = op2(f, "and", i, o, iconst(f, 32, 0x7c00 << 13));
  const char *norm = op2(f, "add", i, o, iconst(f, 32, (127 - 15) << 23));
  const char *inf = op2(f, "add", i, norm, iconst(f, 32, (128 - 16) << 23));
  const char *sub = conv(f, "bitcast", i, op2(f, "add", i, norm, iconst(f, 32, 1 << 23)), s);
  sub = op2(f, "fsub", s, sub, fconst(f, 32, 0x1p-14));
  const char *r = choose(f, op2(f, "icmp eq", i, exp, iconst(f, 32, 0)), i, conv(f, "bitcast", s, sub, i), norm);
  r = choose(f, op2(f, "icmp eq", i, exp, iconst(f, 32, 0x7c00 << 13)), i, inf, r);
  const char *sign = op2(f, "shl", i, op2(f, "and", i, h, iconst(f, 32, 0x8000)), iconst(f, 32, 16));
  return conv(f, "bitcast", i, op2(f, "or", i, r, sign), s);
}

static const char *f32_to_f16(Form f, const char *x) {
  const char *i = ity(f, 32), *s = fty(f, 32);
  if (has_f16c(f.w)) {
    const char *h = f.vec ? hdcpu_fmt(f.w, "<%u x half>", f.w->width) : "half";
    return conv(f, "bitcast", h, conv(f, "fptrunc", s, x, h), ity(f, 16));
  }
  const char *b = conv(f, "bitcast", s, x, i);
  const char *sign = op2(f, "and", i, b, iconst(f, 32, INT32_MIN));
  const char *m = op2(f, "xor", i, b, sign); /* the magnitude */
  const char *odd = op2(f, "and", i, op2(f, "lshr", i, m, iconst(f, 32, 13)), iconst(f, 32, 1));
  const char *norm = op2(f, "add", i, m, iconst(f, 32, (int64_t)(15 - 127) * (1 << 23) + 0xfff));
  norm = op2(f, "lshr", i, op2(f, "add", i, norm, odd), iconst(f, 32, 13));
  /* below the normal range: adding 2^-1 in f32 rounds at the last place of a half */
  const char *magic = fconst(f, 32, 0.5), *mf = conv(f, "bitcast", i, m, s);
  const char *sub = conv(f, "bitcast", s, op2(f, "fadd", s, mf, magic), i);
  sub = op2(f, "sub", i, sub, iconst(f, 32, 0x3f000000));
  const char *r = choose(f, op2(f, "icmp ult", i, m, iconst(f, 32, 113 << 23)), i, sub, norm);
  const char *nan = op2(f, "icmp ugt", i, m, iconst(f, 32, 0x7f800000));
  const char *big = choose(f, nan, i, iconst(f, 32, 0x7e00), iconst(f, 32, 0x7c00));
  r = choose(f, op2(f, "icmp uge", i, m, iconst(f, 32, (127 + 16) << 23)), i, big, r);
  r = op2(f, "or", i, r, op2(f, "lshr", i, sign, iconst(f, 32, 16)));
  return conv(f, "trunc", i, r, ity(f, 16));
}

static const char *f32_to_short(Form f, const IrType *to, const char *x) {
  return to->kind == IR_F16 ? f32_to_f16(f, x) : f32_to_bf16(f, x);
}

/* f64 to f32 rounded to odd: a step for a conversion that rounds again. */
static const char *f64_to_f32_odd(Form f, const char *x) {
  const char *d = fty(f, 64), *s = fty(f, 32), *i = ity(f, 32), *l = ity(f, 64);
  const char *r = conv(f, "fptrunc", d, x, s), *back = conv(f, "fpext", s, r, d);
  const char *bits = conv(f, "bitcast", s, r, i);
  const char *magnitude = iconst(f, 64, INT64_MAX);
  const char *a = op2(f, "and", l, conv(f, "bitcast", d, back, l), magnitude);
  const char *b = op2(f, "and", l, conv(f, "bitcast", d, x, l), magnitude);
  const char *above = op2(f, "icmp ugt", l, a, b); /* rounded away from zero: take it back */
  const char *down = op2(f, "sub", i, bits, choose(f, above, i, iconst(f, 32, 1), iconst(f, 32, 0)));
  const char *inexact = op2(f, "fcmp one", d, back, x);
  const char *odd = choose(f, inexact, i, op2(f, "or", i, down, iconst(f, 32, 1)), bits);
  return conv(f, "bitcast", i, odd, s);
}

/* --- integers --- */

/* A 64-bit integer as f64 such that rounding it to 24 bits or less rounds the integer itself. */
static const char *i64_to_f64_sticky(Form f, bool sign, const char *x) {
  const char *l = ity(f, 64);
  const char *low = op2(f, "and", l, x, iconst(f, 64, 0x7ff));
  const char *sticky =
      choose(f, op2(f, "icmp ne", l, low, iconst(f, 64, 0)), l, iconst(f, 64, 0x800), iconst(f, 64, 0));
  const char *cut = op2(f, "or", l, op2(f, "and", l, x, iconst(f, 64, -0x800)), sticky);
  const char *size = x;
  if (sign) {
    const char *s = op2(f, "ashr", l, x, iconst(f, 64, 63));
    size = op2(f, "xor", l, x, s);
  }
  const char *big = op2(f, "icmp uge", l, size, iconst(f, 64, 1ll << 53));
  return conv(f, sign ? "sitofp" : "uitofp", l, choose(f, big, l, cut, x), fty(f, 64));
}

static const char *int_to_float(Form f, const IrType *from, const IrType *to, const char *x) {
  const char *name = hdir_is_signed(from) ? "sitofp" : "uitofp", *ty = ity(f, hdir_bits(from));
  if (to->kind == IR_F32 || to->kind == IR_F64) return conv(f, name, ty, x, fty(f, hdir_bits(to)));
  if (hdir_bits(from) <= 16) return f32_to_short(f, to, conv(f, name, ty, x, fty(f, 32)));
  const char *d =
      hdir_bits(from) == 64 ? i64_to_f64_sticky(f, hdir_is_signed(from), x) : conv(f, name, ty, x, fty(f, 64));
  return f32_to_short(f, to, f64_to_f32_odd(f, d));
}

/* LLVM's saturating conversions are taken apart lane by lane on x86, so: clamp first, then convert what is in range. */
static const char *saturate(Form f, uint32_t fbits, uint32_t ibits, bool sign, const char *x) {
  const char *s = fty(f, fbits), *i = ity(f, ibits);
  double low = sign ? (ibits == 64 ? -0x1p63 : -0x1p31) : 0;
  double high = ibits == 64 ? (sign ? 0x1p63 : 0x1p64) : (sign ? 0x1p31 : 0x1p32);
  const char *top = fconst(f, fbits, high), *bottom = fconst(f, fbits, low);
  const char *in = choose(f, op2(f, "fcmp olt", s, x, top), s, x, fconst(f, fbits, 0)); /* NaN becomes 0 */
  in = choose(f, op2(f, "fcmp ogt", s, in, bottom), s, in, bottom);
  const char *r = conv(f, sign ? "fptosi" : "fptoui", s, in, i);
  int64_t max = sign ? (ibits == 64 ? INT64_MAX : INT32_MAX) : -1;
  return choose(f, op2(f, "fcmp oge", s, x, top), i, iconst(f, ibits, max), r);
}

static const char *float_to_int(Form f, uint32_t fbits, const IrType *to, const char *x) {
  uint32_t bits = hdir_bits(to);
  bool sign = hdir_is_signed(to);
  if (bits >= 32) return saturate(f, fbits, bits, sign, x);
  const char *i = ity(f, 32), *r = saturate(f, fbits, 32, true, x);
  const char *low = iconst(f, 32, sign ? -(1ll << (bits - 1)) : 0);
  const char *high = iconst(f, 32, sign ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1);
  r = choose(f, op2(f, "icmp sgt", i, r, low), i, r, low);
  r = choose(f, op2(f, "icmp slt", i, r, high), i, r, high);
  return conv(f, "trunc", i, r, ity(f, bits));
}

static const char *int_to_int(Form f, const IrType *from, const IrType *to, const char *x) {
  uint32_t a = hdir_bits(from), b = hdir_bits(to);
  if (a == b) return x;
  return conv(f, a > b ? "trunc" : hdir_is_signed(from) ? "sext" : "zext", ity(f, a), x, ity(f, b));
}

/* --- bool --- */

static const char *from_bool(Form f, const IrType *to, const char *x) {
  const char *i1 = f.vec ? hdcpu_i1(f.w, x) : x;
  if (hdir_is_int(to)) return conv(f, "zext", bty(f), i1, ity(f, hdir_bits(to)));
  uint64_t one = to->kind == IR_F16    ? 0x3c00
                 : to->kind == IR_BF16 ? 0x3f80
                 : to->kind == IR_F32  ? 0x3f800000
                                       : 0x3ffull << 52;
  return choose(f, i1, hdcpu_type(f.w, to, f.vec), hdcpu_const(f.w, to, f.vec, one), hdcpu_zero(f.w, to, f.vec));
}

static const char *to_bool(Form f, const IrType *from, const char *x) {
  const char *ty = hdcpu_type(f.w, from, f.vec), *r;
  if (from->kind == IR_F32 || from->kind == IR_F64) {
    r = op2(f, "fcmp une", ty, x, hdcpu_zero(f.w, from, f.vec));
  } else {
    if (hdir_is_float(from)) x = op2(f, "and", ty, x, iconst(f, 16, 0x7fff));
    r = op2(f, "icmp ne", ty, x, iconst(f, hdir_bits(from), 0));
  }
  return f.vec ? hdcpu_mask(f.w, r) : r;
}

/* --- float to float --- */

static const char *widen_short(Form f, const IrType *from, const char *x) {
  return from->kind == IR_F16 ? f16_to_f32(f, x) : bf16_to_f32(f, x);
}

static const char *float_to_float(Form f, const IrType *from, const IrType *to, const char *x) {
  bool short_from = from->kind == IR_F16 || from->kind == IR_BF16, short_to = to->kind == IR_F16 || to->kind == IR_BF16;
  if (short_from) {
    x = widen_short(f, from, x);
    if (short_to) return f32_to_short(f, to, x);
    return to->kind == IR_F32 ? x : conv(f, "fpext", fty(f, 32), x, fty(f, 64));
  }
  if (short_to) return f32_to_short(f, to, from->kind == IR_F32 ? x : f64_to_f32_odd(f, x));
  return from->kind == IR_F32 ? conv(f, "fpext", fty(f, 32), x, fty(f, 64))
                              : conv(f, "fptrunc", fty(f, 64), x, fty(f, 32));
}

const char *hdcpu_cvt(CpuWiden *w, const IrType *from, const IrType *to, bool vec, const char *x) {
  Form f = {w, vec};
  if (from->kind == to->kind) return x;
  if (from->kind == IR_BOOL) return from_bool(f, to, x);
  if (to->kind == IR_BOOL) return to_bool(f, from, x);
  if (hdir_is_int(from)) return hdir_is_int(to) ? int_to_int(f, from, to, x) : int_to_float(f, from, to, x);
  if (hdir_is_float(to)) return float_to_float(f, from, to, x);
  if (from->kind == IR_F16 || from->kind == IR_BF16) return float_to_int(f, 32, to, widen_short(f, from, x));
  return float_to_int(f, hdir_bits(from), to, x);
}
