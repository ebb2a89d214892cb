/* backends/cpu/widen_ops.c -- pure operations on scalars, for one value or for all lanes: the text is the same.
 *
 * No flag of LLVM's is ever set: no-wrap, exact and the fast-math family would make results undefined or free to change,
 * and IR values are neither.
 */
#include "backends/cpu/widen.h"

/* --- small pieces --- */

static const char *binary(CpuWiden *w, const char *name, const char *ty, const char *x, const char *y) {
  return hdcpu_ins(w, "%s %s %s, %s", name, ty, x, y);
}

static char letter(const IrType *t) { return hdir_is_int(t) ? 'i' : 'f'; }

static const char *intrinsic1(CpuWiden *w, const char *name, const IrType *t, bool vec, const char *x,
                              const char *more) {
  const char *ty = hdcpu_type(w, t, vec);
  const char *full = hdcpu_fmt(w, "llvm.%s.%s", name, hdcpu_suffix(w, letter(t), hdir_bits(t), vec));
  return hdcpu_call(w, ty, full, more ? hdcpu_fmt(w, "%s, i1", ty) : ty, "%s %s%s", ty, x, more ? more : "");
}

/* A choice by an i1 or a vector of i1. */
static const char *choose(CpuWiden *w, bool vec, const char *c, const char *ty, const char *x, const char *y) {
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", vec ? w->bt : "i1", c, ty, x, ty, y);
}

/* --- arithmetic --- */

static const char *min_max(CpuWiden *w, IrOp op, const IrType *t, bool vec, const char *const x[]) {
  const char *ty = hdcpu_type(w, t, vec);
  const char *cmp = hdir_is_float(t)    ? (op == IR_min ? "fcmp olt" : "fcmp ogt")
                    : hdir_is_signed(t) ? (op == IR_min ? "icmp slt" : "icmp sgt")
                                        : (op == IR_min ? "icmp ult" : "icmp ugt");
  return choose(w, vec, hdcpu_ins(w, "%s %s %s, %s", cmp, ty, x[0], x[1]), ty, x[0], x[1]);
}

static const char *negate(CpuWiden *w, const IrType *t, bool vec, const char *x) {
  const char *ty = hdcpu_type(w, t, vec);
  return hdir_is_float(t) ? hdcpu_ins(w, "fneg %s %s", ty, x)
                          : hdcpu_ins(w, "sub %s %s, %s", ty, hdcpu_zero(w, t, vec), x);
}

static const char *absolute(CpuWiden *w, const IrType *t, bool vec, const char *x) {
  if (hdir_is_float(t)) return intrinsic1(w, "fabs", t, vec, x, NULL);
  return hdir_is_signed(t) ? intrinsic1(w, "abs", t, vec, x, ", i1 false") : x;
}

static const char *fma3(CpuWiden *w, const IrType *t, bool vec, const char *const x[]) {
  if (w->target->isa == CPU_SSE4) return hdcpu_fma_by_parts(w, t, vec, x);
  const char *ty = hdcpu_type(w, t, vec);
  const char *name = hdcpu_fmt(w, "llvm.fma.%s", hdcpu_suffix(w, 'f', hdir_bits(t), vec));
  return hdcpu_call(w, ty, name, hdcpu_fmt(w, "%s, %s, %s", ty, ty, ty), "%s %s, %s %s, %s %s", ty, x[0], ty, x[1], ty,
                    x[2]);
}

static const char *sign_from(CpuWiden *w, const IrType *t, bool vec, const char *const x[]) {
  const char *ty = hdcpu_type(w, t, vec);
  const char *name = hdcpu_fmt(w, "llvm.copysign.%s", hdcpu_suffix(w, 'f', hdir_bits(t), vec));
  return hdcpu_call(w, ty, name, hdcpu_fmt(w, "%s, %s", ty, ty), "%s %s, %s %s", ty, x[0], ty, x[1]);
}

/* --- bits and comparisons --- */

static const char *bool_logic(CpuWiden *w, IrOp op, bool vec, const char *const x[]) {
  if (!vec) {
    if (op == IR_not) return hdcpu_ins(w, "xor i1 %s, true", x[0]);
    return binary(w, op == IR_and ? "and" : op == IR_or ? "or" : "xor", "i1", x[0], x[1]);
  }
  switch (op) {
  case IR_and: return hdcpu_mask_and(w, x[0], x[1]);
  case IR_or: return hdcpu_mask_or(w, x[0], x[1]);
  case IR_xor: return hdcpu_mask_xor(w, x[0], x[1]);
  default: return hdcpu_mask_not(w, x[0]);
  }
}

/* false < true */
static const char *bool_compare(CpuWiden *w, IrOp op, bool vec, const char *const x[]) {
  const char *a = x[0], *b = x[1], *r;
  if (op == IR_gt || op == IR_ge) a = x[1], b = x[0];
  switch (op) {
  case IR_ne: return bool_logic(w, IR_xor, vec, x);
  case IR_eq: r = bool_logic(w, IR_xor, vec, x); break;
  case IR_lt:
  case IR_gt: /* not a, and b */
    r = bool_logic(w, IR_not, vec, &a);
    return bool_logic(w, IR_and, vec, (const char *[]){r, b});
  default: /* not (b < a) */ r = bool_logic(w, IR_not, vec, &b); r = bool_logic(w, IR_and, vec, (const char *[]){r, a});
  }
  return bool_logic(w, IR_not, vec, &r);
}

static const char *compare(CpuWiden *w, IrOp op, const IrType *t, bool vec, const char *const x[]) {
  static const char *const flt[] = {"oeq", "une", "olt", "ole", "ogt", "oge"};
  static const char *const sig[] = {"eq", "ne", "slt", "sle", "sgt", "sge"};
  static const char *const uns[] = {"eq", "ne", "ult", "ule", "ugt", "uge"};
  _Static_assert(IR_ge - IR_eq == 5 && IR_ne - IR_eq == 1 && IR_lt - IR_eq == 2 && IR_le - IR_eq == 3 &&
                     IR_gt - IR_eq == 4,
                 "the tables follow ops.def");
  if (t->kind == IR_BOOL) return bool_compare(w, op, vec, x);
  uint32_t at = (uint32_t)(op - IR_eq);
  const char *ty = hdcpu_type(w, t, vec), *r;
  if (hdir_is_float(t))
    r = hdcpu_ins(w, "fcmp %s %s %s, %s", flt[at], ty, x[0], x[1]);
  else
    r = hdcpu_ins(w, "icmp %s %s %s, %s", (hdir_is_signed(t) ? sig : uns)[at], ty, x[0], x[1]);
  return vec ? hdcpu_mask(w, r) : r;
}

static const char *shift(CpuWiden *w, IrOp op, const IrType *t, bool vec, const char *const x[]) {
  const char *ty = hdcpu_type(w, t, vec);
  const char *by = binary(w, "and", ty, x[1], hdcpu_int(w, hdir_bits(t), vec, hdir_bits(t) - 1));
  return binary(w, op == IR_shl ? "shl" : hdir_is_signed(t) ? "ashr" : "lshr", ty, x[0], by);
}

const char *hdcpu_op(CpuWiden *w, IrOp op, const IrType *t, const IrType *res, bool vec, const char *const x[]) {
  const char *ty = hdcpu_type(w, t, vec);
  bool f = hdir_is_float(t);
  if (t->kind == IR_BOOL && (op == IR_and || op == IR_or || op == IR_xor || op == IR_not))
    return bool_logic(w, op, vec, x);
  switch (op) {
  case IR_add: return binary(w, f ? "fadd" : "add", ty, x[0], x[1]);
  case IR_sub: return binary(w, f ? "fsub" : "sub", ty, x[0], x[1]);
  case IR_mul: return binary(w, f ? "fmul" : "mul", ty, x[0], x[1]);
  case IR_div: return f ? binary(w, "fdiv", ty, x[0], x[1]) : hdcpu_div(w, t, vec, x[0], x[1], false);
  case IR_rem: return hdcpu_div(w, t, vec, x[0], x[1], true);
  case IR_neg: return negate(w, t, vec, x[0]);
  case IR_abs: return absolute(w, t, vec, x[0]);
  case IR_min:
  case IR_max: return min_max(w, op, t, vec, x);
  case IR_mulhi: return hdcpu_mulhi(w, t, vec, x[0], x[1]);
  case IR_fma: return fma3(w, t, vec, x);
  case IR_sqrt: return intrinsic1(w, "sqrt", t, vec, x[0], NULL);
  case IR_floor: return intrinsic1(w, "floor", t, vec, x[0], NULL);
  case IR_ceil: return intrinsic1(w, "ceil", t, vec, x[0], NULL);
  case IR_trunc: return intrinsic1(w, "trunc", t, vec, x[0], NULL);
  case IR_rint: return intrinsic1(w, "rint", t, vec, x[0], NULL);
  case IR_copysign: return sign_from(w, t, vec, x);
  case IR_and: return binary(w, "and", ty, x[0], x[1]);
  case IR_or: return binary(w, "or", ty, x[0], x[1]);
  case IR_xor: return binary(w, "xor", ty, x[0], x[1]);
  case IR_not: return binary(w, "xor", ty, x[0], hdcpu_int(w, hdir_bits(t), vec, -1));
  case IR_shl:
  case IR_shr: return shift(w, op, t, vec, x);
  case IR_popcount: return intrinsic1(w, "ctpop", t, vec, x[0], NULL);
  case IR_clz: return intrinsic1(w, "ctlz", t, vec, x[0], ", i1 false");
  case IR_ctz: return intrinsic1(w, "cttz", t, vec, x[0], ", i1 false");
  case IR_eq:
  case IR_ne:
  case IR_lt:
  case IR_le:
  case IR_gt:
  case IR_ge: return compare(w, op, t, vec, x);
  case IR_cvt: return hdcpu_cvt(w, t, res, vec, x[0]);
  case IR_bitcast:
    if (!strcmp(ty, hdcpu_type(w, res, vec))) return x[0];
    return hdcpu_ins(w, "bitcast %s %s to %s", ty, x[0], hdcpu_type(w, res, vec));
  default: return NULL;
  }
}

/* --- instructions --- */

static void select_inst(CpuWiden *w, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  bool vec = hdcpu_is_vec(w, i->res[0]);
  const char *x = hdcpu_get(w, i->args[1], vec), *y = hdcpu_get(w, i->args[2], vec);
  if (vec && hdcpu_is_vec(w, i->args[0])) {
    hdcpu_set(w, i->res[0], hdcpu_pick(w, hdcpu_v(w, i->args[0]), t, x, y));
    return;
  }
  if (!vec && hdcpu_is_vec(w, i->args[0])) { /* both sides are one value */
    hdcpu_set(w, i->res[0], x);
    return;
  }
  const char *ty = hdcpu_type(w, t, vec);
  /* LLVM makes a branch of a vector chosen by a scalar: blend instead */
  if (vec)
    hdcpu_set(w, i->res[0], hdcpu_pick(w, hdcpu_v(w, i->args[0]), t, x, y));
  else
    hdcpu_set(w, i->res[0], choose(w, false, hdcpu_s(w, i->args[0]), ty, x, y));
}

/* Of the lanes that are on: the others take part with the number that no other loses to. */
static void gang_extreme(CpuWiden *w, const IrInst *i) {
  const IrValue *x = i->args[0];
  const IrType *t = x->type;
  const bool least = i->op == IR_gang_min, is_signed = hdir_is_signed(t);
  if (!hdcpu_differs(w, x)) {
    hdcpu_set(w, i->res[0], hdcpu_s(w, x));
    return;
  }
  const uint32_t bits = hdir_bits(t);
  const uint64_t low = is_signed ? (uint64_t)1 << (bits - 1) : 0, all = ~(uint64_t)0 >> (64 - bits);
  const char *loser = hdcpu_int(w, bits, true, (int64_t)(least ? low ^ all : low));
  const char *v = hdcpu_pick(w, hdcpu_on(w), t, hdcpu_v(w, x), loser);
  const char *name = hdcpu_fmt(w, "llvm.vector.reduce.%c%s.%s", is_signed ? 's' : 'u', least ? "min" : "max",
                               hdcpu_suffix(w, 'i', bits, true));
  hdcpu_set(
      w, i->res[0],
      hdcpu_call(w, hdcpu_ity(w, bits, false), name, hdcpu_ity(w, bits, true), "%s %s", hdcpu_ity(w, bits, true), v));
}

static void gang_count(CpuWiden *w, const IrInst *i) {
  const char *bits = hdcpu_bits(w, hdcpu_mask_and(w, hdcpu_on(w), hdcpu_v(w, i->args[0])));
  hdcpu_set(w, i->res[0], hdcpu_call(w, "i32", "llvm.ctpop.i32", "i32", "i32 %s", bits));
}

void hdcpu_pure(CpuWiden *w, const IrInst *i) {
  switch (i->op) {
  case IR_gang_count: gang_count(w, i); return;
  case IR_gang_min:
  case IR_gang_max: gang_extreme(w, i); return;
  case IR_select: select_inst(w, i); return;
  case IR_table: hdcpu_table(w, i); return;
  case IR_tex: /* there are no units */
    hdcpu_set(w, i->res[0], hdcpu_zero(w, i->res[0]->type, hdcpu_is_vec(w, i->res[0])));
    return;
  default: break;
  }
  const char *x[3] = {NULL, NULL, NULL}, *r = NULL;
  bool vec = i->nres == 1 && hdcpu_is_vec(w, i->res[0]);
  if (i->op == IR_div && (r = hdcpu_fast_div(w, i))) {
    hdcpu_set(w, i->res[0], r);
    return;
  }
  if (i->nres == 1 && i->nargs >= 1 && i->nargs <= 3 && hdir_is_scalar(i->args[0]->type) &&
      hdir_is_scalar(i->res[0]->type)) {
    for (uint32_t k = 0; k < i->nargs; k++) x[k] = hdcpu_get(w, i->args[k], vec);
    r = hdcpu_op(w, i->op, i->args[0]->type, i->res[0]->type, vec, x);
  }
  if (r)
    hdcpu_set(w, i->res[0], r);
  else
    hdcpu_fail(w, i, HD_ERR_COMPILE, "an operation that passes should have taken apart");
}
