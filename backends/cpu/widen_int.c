/* backends/cpu/widen_int.c -- integer division and the upper half of products.
 *
 * LLVM divides integer vectors lane by lane. Up to 32 bits the quotient of the operands as floats of at least twice the
 * digits, truncated, is exact: a quotient that is not whole lies further below the next integer than rounding can move
 * it. So vectors divide as f32 (8 and 16 bits) or f64 (32 bits). The divisor is made 1 where the IR defines the result
 * by itself (x / 0 is 0, MIN / -1 is MIN), also in lanes that are off.
 */
#include "backends/cpu/widen.h"

#include <stdlib.h>

static const IrType f64_type = {.kind = IR_F64};

/* The value of an operand that is a constant (the same in all lanes). */
static bool constant(const char *x, int64_t *out) {
  if (x[0] == '%' || !strcmp(x, "zeroinitializer")) return false;
  if (x[0] == '<') { /* "<i32 7, i32 7>": a splat, or the ramp that no operand is */
    const char *space = strchr(x, ' '), *comma = strchr(x, ',');
    if (!space || (comma && comma < space)) return false;
    x = space + 1;
  }
  *out = strtoll(x, NULL, 10);
  return true;
}

static const char *select_i(CpuWiden *w, bool vec, const char *c, const char *ty, const char *x, const char *y) {
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", vec ? w->bt : "i1", c, ty, x, ty, y);
}

static const char *quotient_f32(CpuWiden *w, const IrType *t, const char *x, const char *y) {
  const char *ty = w->vt[t->kind], *f = w->vt[IR_F32], *i = w->vt[IR_I32];
  const char *to = hdir_is_signed(t) ? "sitofp" : "uitofp";
  x = hdcpu_ins(w, "%s %s %s to %s", to, ty, x, f);
  y = hdcpu_ins(w, "%s %s %s to %s", to, ty, y, f);
  const char *q = hdcpu_ins(w, "fdiv %s %s, %s", f, x, y);
  return hdcpu_ins(w, "trunc %s %s to %s", i, hdcpu_ins(w, "fptosi %s %s to %s", f, q, i), ty);
}

static const char *quotient_f64(CpuWiden *w, const IrType *t, const char *x, const char *y) {
  const char *ty = w->vt[t->kind], *d = w->vt[IR_F64], *l = w->vt[IR_I64];
  const char *to = hdir_is_signed(t) ? "sitofp" : "uitofp";
  x = hdcpu_ins(w, "%s %s %s to %s", to, ty, x, d);
  y = hdcpu_ins(w, "%s %s %s to %s", to, ty, y, d);
  const char *q = hdcpu_ins(w, "fdiv %s %s, %s", d, x, y);
  if (hdir_is_signed(t)) return hdcpu_ins(w, "fptosi %s %s to %s", d, q, ty);
  if (w->target->isa == CPU_AVX512) return hdcpu_ins(w, "fptoui %s %s to %s", d, q, ty);
  /* no unsigned conversion: 2^52 plus a whole number below 2^32 has that number in its low bits */
  const char *name = hdcpu_fmt(w, "llvm.trunc.%s", hdcpu_suffix(w, 'f', 64, true));
  q = hdcpu_call(w, d, name, d, "%s %s", d, q);
  q = hdcpu_ins(w, "fadd %s %s, %s", d, q, hdcpu_const(w, &f64_type, true, 0x433ull << 52));
  return hdcpu_ins(w, "trunc %s %s to %s", l, hdcpu_ins(w, "bitcast %s %s to %s", d, q, l), ty);
}

static const char *divide(CpuWiden *w, const IrType *t, bool vec, const char *x, const char *y) {
  const char *ty = hdcpu_type(w, t, vec);
  if (vec && hdir_bits(t) <= 16) return quotient_f32(w, t, x, y);
  if (vec && hdir_bits(t) == 32) return quotient_f64(w, t, x, y);
  return hdcpu_ins(w, "%s %s %s, %s", hdir_is_signed(t) ? "sdiv" : "udiv", ty, x, y);
}

const char *hdcpu_div(CpuWiden *w, const IrType *t, bool vec, const char *x, const char *y, bool rem) {
  const char *ty = hdcpu_type(w, t, vec);
  uint32_t bits = hdir_bits(t);
  bool sign = hdir_is_signed(t);
  int64_t c;
  if (constant(y, &c) && c != 0 && c != -1) /* LLVM multiplies by the inverse */
    return hdcpu_ins(w, "%s %s %s, %s", rem ? (sign ? "srem" : "urem") : (sign ? "sdiv" : "udiv"), ty, x, y);
  const char *zero = hdcpu_int(w, bits, vec, 0), *one = hdcpu_int(w, bits, vec, 1);
  const char *none = hdcpu_ins(w, "icmp eq %s %s, %s", ty, y, zero), *bad = none;
  if (sign) {
    const char *min =
        hdcpu_ins(w, "icmp eq %s %s, %s", ty, x, hdcpu_int(w, bits, vec, (int64_t)(UINT64_C(1) << (bits - 1))));
    const char *neg = hdcpu_ins(w, "icmp eq %s %s, %s", ty, y, hdcpu_int(w, bits, vec, -1));
    const char *b = vec ? w->bt : "i1";
    bad = hdcpu_ins(w, "or %s %s, %s", b, none, hdcpu_ins(w, "and %s %s, %s", b, min, neg));
  }
  const char *q = divide(w, t, vec, x, select_i(w, vec, bad, ty, one, y));
  q = select_i(w, vec, none, ty, zero, q);
  if (!rem) return q;
  return hdcpu_ins(w, "sub %s %s, %s", ty, x, hdcpu_ins(w, "mul %s %s, %s", ty, q, y));
}

/* --- upper half --- */

static const char *high(CpuWiden *w, const char *ty, const char *wide, const char *shift, bool sign, const char *x,
                        const char *y) {
  const char *ext = sign ? "sext" : "zext";
  x = hdcpu_ins(w, "%s %s %s to %s", ext, ty, x, wide);
  y = hdcpu_ins(w, "%s %s %s to %s", ext, ty, y, wide);
  const char *p = hdcpu_ins(w, "lshr %s %s, %s", wide, hdcpu_ins(w, "mul %s %s, %s", wide, x, y), shift);
  return hdcpu_ins(w, "trunc %s %s to %s", wide, p, ty);
}

const char *hdcpu_mulhi(CpuWiden *w, const IrType *t, bool vec, const char *x, const char *y) {
  uint32_t bits = hdir_bits(t);
  bool sign = hdir_is_signed(t);
  const char *ty = hdcpu_type(w, t, vec);
  if (bits < 64) return high(w, ty, hdcpu_ity(w, 2 * bits, vec), hdcpu_int(w, 2 * bits, vec, bits), sign, x, y);
  if (!vec) return high(w, "i64", "i128", "64", sign, x, y);
  const char *all = "zeroinitializer"; /* lane by lane: vectors of i128 suit no legaliser */
  for (uint32_t k = 0; k < w->width; k++) {
    const char *a = hdcpu_ins(w, "extractelement %s %s, i32 %u", ty, x, k);
    const char *b = hdcpu_ins(w, "extractelement %s %s, i32 %u", ty, y, k);
    all = hdcpu_ins(w, "insertelement %s %s, i64 %s, i32 %u", ty, all, high(w, "i64", "i128", "64", sign, a, b), k);
  }
  return all;
}
