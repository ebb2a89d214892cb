/* backends/cpu/widen_fast.c -- what `fast` allows on f32 vectors: x / sqrt(y) by the hardware's estimate of 1 / sqrt(y).
 *
 * An estimate has 12 bits on AVX2 and SSE4, 14 on AVX-512; one step of Newton's method doubles them. Results are within 4
 * ulps for y from 2^-126 on; below, they may be infinite. Zero, infinities and NaN give what exact operations give: the step
 * makes NaN of them, and then the estimate stands. Estimates differ between makers of CPUs. Division alone stays exact: the
 * estimate and its step took longer (measured on Zen 5, Black-Scholes 5 % slower).
 */
#include "backends/cpu/widen.h"

static const IrType f32_type = {.kind = IR_F32};

static const char *number(CpuWiden *w, float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return hdcpu_const(w, &f32_type, true, bits);
}

/* Lanes that one estimate works on; 0 if there is none. */
static uint32_t native_lanes(const CpuWiden *w) {
  uint32_t most = w->target->isa == CPU_AVX512 ? 16
                  : w->target->isa == CPU_AVX2 ? 8
                  : w->target->isa == CPU_SSE4 ? 4
                                               : 0;
  if (w->width < 4) return 0;
  return w->width < most ? w->width : most;
}

/* "rcp" or "rsqrt" of n lanes. */
static const char *estimate_piece(CpuWiden *w, const char *what, uint32_t n, const char *x) {
  const char *ty = hdcpu_fmt(w, "<%u x float>", n);
  if (w->target->isa == CPU_AVX512) {
    const char *mask = n == 16 ? "i16 -1" : "i8 -1", *name = hdcpu_fmt(w, "llvm.x86.avx512.%s14.ps.%u", what, n * 32);
    return hdcpu_call(w, ty, name, hdcpu_fmt(w, "%s, %s, %s", ty, ty, n == 16 ? "i16" : "i8"),
                      "%s %s, %s zeroinitializer, %s", ty, x, ty, mask);
  }
  const char *name = hdcpu_fmt(w, n == 8 ? "llvm.x86.avx.%s.ps.256" : "llvm.x86.sse.%s.ps", what);
  return hdcpu_call(w, ty, name, ty, "%s %s", ty, x);
}

static const char *part(CpuWiden *w, uint32_t from, const char *a, const char *b, uint32_t na, uint32_t n) {
  Buf m;
  hdb_buf_init(&m, w->a);
  for (uint32_t k = 0; k < n; k++) hdb_putf(&m, "%si32 %u", k ? ", " : "", from + k);
  return hdcpu_ins(w, "shufflevector <%u x float> %s, <%u x float> %s, <%u x i32> <%s>", na, a, na, b, n, m.data);
}

static const char *estimate(CpuWiden *w, const char *what, const char *x) {
  uint32_t n = native_lanes(w), count = n ? w->width / n : 0;
  const char *piece[8] = {NULL};
  if (count == 1) return estimate_piece(w, what, n, x);
  for (uint32_t k = 0; k < count; k++) piece[k] = estimate_piece(w, what, n, part(w, k * n, x, "poison", w->width, n));
  for (; count > 1; count /= 2, n *= 2)
    for (uint32_t k = 0; k < count / 2; k++) piece[k] = part(w, 0, piece[2 * k], piece[2 * k + 1], n, 2 * n);
  return piece[0];
}

static const char *fma3(CpuWiden *w, const char *a, const char *b, const char *c) {
  const char *const x[] = {a, b, c};
  if (w->target->isa != CPU_SSE4) return hdcpu_op(w, IR_fma, &f32_type, &f32_type, true, x);
  const char *ty = w->vt[IR_F32]; /* rounded twice, which is near enough */
  return hdcpu_ins(w, "fadd %s %s, %s", ty, hdcpu_ins(w, "fmul %s %s, %s", ty, a, b), c);
}

/* r + k r e, or r where e is NaN. */
static const char *step(CpuWiden *w, const char *r, const char *kr, const char *e) {
  const char *ty = w->vt[IR_F32], *better = fma3(w, kr, e, r);
  const char *ok = hdcpu_ins(w, "fcmp ord %s %s, %s", ty, e, e);
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", w->bt, ok, ty, better, ty, r);
}

static const char *negated(CpuWiden *w, const char *x) { return hdcpu_ins(w, "fneg %s %s", w->vt[IR_F32], x); }

/* r' = r + r/2 (1 - y r r) */
static const char *reciprocal_root(CpuWiden *w, const char *y) {
  const char *ty = w->vt[IR_F32], *r = estimate(w, "rsqrt", y), *yr = hdcpu_ins(w, "fmul %s %s, %s", ty, y, r);
  const char *half = hdcpu_ins(w, "fmul %s %s, %s", ty, r, number(w, 0.5f));
  return step(w, r, half, fma3(w, negated(w, yr), r, number(w, 1)));
}

const char *hdcpu_fast_div(CpuWiden *w, const IrInst *i) {
  if (!(w->options.fast || w->fn->fast) || i->op != IR_div || i->res[0]->type->kind != IR_F32 ||
      !hdcpu_is_vec(w, i->res[0]) || !native_lanes(w) || !hdcpu_is_vec(w, i->args[1]))
    return NULL;
  const IrValue *x = i->args[0], *y = i->args[1];
  if (!y->def || y->def->op != IR_sqrt) return NULL;
  const char *r = reciprocal_root(w, hdcpu_v(w, y->def->args[0]));
  if (hdir_is_const(x) && hdir_const_f64(x) == 1) return r;
  return hdcpu_ins(w, "fmul %s %s, %s", w->vt[IR_F32], hdcpu_v(w, x), r);
}
