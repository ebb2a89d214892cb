/* backends/nvptx/lower_ops.c -- pure operations on scalars, each with the meaning of ops.def.
 *
 * No flag of LLVM's is set that would make results undefined or free to change; so additions and products come out as
 * `.rn`, which ptxas must not fuse, and division and square root as the correctly rounded ones. `fast` marks f32 division
 * and square root as approximate.
 */
#include "backends/nvptx/lower.h"

#include <stdlib.h>

/* --- small pieces --- */

static const char *binary(PtxLower *g, const char *name, const char *ty, const char *x, const char *y) {
  return hdptx_ins(g, "%s %s %s, %s", name, ty, x, y);
}

static const char *convert(PtxLower *g, const char *how, const char *from, const char *x, const char *to) {
  return hdptx_ins(g, "%s %s %s to %s", how, from, x, to);
}

static const char *flt(PtxLower *g, const char *name, const IrType *t) {
  return hdptx_fmt(g, "llvm.%s.%s", name, t->kind == IR_F64 ? "f64" : "f32");
}

static const char *unary_call(PtxLower *g, const char *name, const IrType *t, const char *x) {
  const char *ty = hdptx_type(t);
  return hdptx_call(g, ty, flt(g, name, t), ty, "%s %s", ty, x);
}

static bool is_half(const IrType *t) { return t->kind == IR_F16 || t->kind == IR_BF16; }

/* --- arithmetic --- */

static const char *min_max(PtxLower *g, IrOp op, const IrType *t, const char *const x[]) {
  const char *ty = hdptx_type(t);
  const char *cmp = hdir_is_float(t)    ? (op == IR_min ? "fcmp olt" : "fcmp ogt")
                    : hdir_is_signed(t) ? (op == IR_min ? "icmp slt" : "icmp sgt")
                                        : (op == IR_min ? "icmp ult" : "icmp ugt");
  return hdptx_choose(g, hdptx_ins(g, "%s %s %s, %s", cmp, ty, x[0], x[1]), ty, x[0], x[1]);
}

static const char *negate(PtxLower *g, const IrType *t, const char *x) {
  const char *ty = hdptx_type(t);
  return hdir_is_float(t) ? hdptx_ins(g, "fneg %s %s", ty, x) : hdptx_ins(g, "sub %s 0, %s", ty, x);
}

static const char *absolute(PtxLower *g, const IrType *t, const char *x) {
  if (hdir_is_float(t)) return unary_call(g, "fabs", t, x);
  if (!hdir_is_signed(t)) return x;
  const char *ty = hdptx_type(t);
  return hdptx_choose(g, hdptx_ins(g, "icmp slt %s %s, 0", ty, x), ty, hdptx_ins(g, "sub %s 0, %s", ty, x), x);
}

static const char *fma3(PtxLower *g, const IrType *t, const char *const x[]) {
  const char *ty = hdptx_type(t), *params = hdptx_fmt(g, "%s, %s, %s", ty, ty, ty);
  return hdptx_call(g, ty, flt(g, "fma", t), params, "%s %s, %s %s, %s %s", ty, x[0], ty, x[1], ty, x[2]);
}

static const char *sign_from(PtxLower *g, const IrType *t, const char *const x[]) {
  const char *ty = hdptx_type(t), *params = hdptx_fmt(g, "%s, %s", ty, ty);
  return hdptx_call(g, ty, flt(g, "copysign", t), params, "%s %s, %s %s", ty, x[0], ty, x[1]);
}

static const char *root(PtxLower *g, const IrType *t, const char *x) {
  const char *ty = hdptx_type(t), *name = flt(g, "sqrt", t);
  hdptx_declare(g, ty, name, ty);
  return hdptx_ins(g, "call%s %s @%s(%s %s)", g->options.fast && t->kind == IR_F32 ? " afn" : "", ty, name, ty, x);
}

static const char *quotient(PtxLower *g, const IrType *t, const char *const x[]) {
  return binary(g, g->options.fast && t->kind == IR_F32 ? "fdiv arcp afn" : "fdiv", hdptx_type(t), x[0], x[1]);
}

/* --- integer division: x / 0 is 0, MIN / -1 is MIN --- */

static bool is_number(const char *x, int64_t *out) {
  if (x[0] == '%') return false;
  *out = strtoll(x, NULL, 10);
  return true;
}

static const char *small_division(PtxLower *g, const IrType *t, const char *x, const char *y) {
  const char *ty = hdptx_type(t), *ext = hdir_is_signed(t) ? "sext" : "zext";
  x = convert(g, ext, ty, x, "i32"); /* there MIN / -1 is a number like others */
  y = convert(g, ext, ty, y, "i32");
  return convert(g, "trunc", "i32", binary(g, hdir_is_signed(t) ? "sdiv" : "udiv", "i32", x, y), ty);
}

static const char *division(PtxLower *g, const IrType *t, const char *x, const char *y, bool rem) {
  const char *ty = hdptx_type(t);
  uint32_t bits = hdir_bits(t);
  bool sign = hdir_is_signed(t);
  int64_t c;
  if (is_number(y, &c) && c != 0 && c != -1) /* LLVM multiplies by the inverse */
    return binary(g, rem ? (sign ? "srem" : "urem") : (sign ? "sdiv" : "udiv"), ty, x, y);
  const char *none = hdptx_ins(g, "icmp eq %s %s, 0", ty, y), *bad = none;
  if (sign && bits >= 32) {
    const char *min =
        hdptx_ins(g, "icmp eq %s %s, %s", ty, x, hdptx_int(g, bits, (int64_t)((uint64_t)1 << (bits - 1))));
    const char *neg = hdptx_ins(g, "icmp eq %s %s, -1", ty, y);
    bad = binary(g, "or", "i1", none, binary(g, "and", "i1", min, neg));
  }
  y = hdptx_choose(g, bad, ty, "1", y);
  const char *q = bits < 32 ? small_division(g, t, x, y) : binary(g, sign ? "sdiv" : "udiv", ty, x, y);
  if (rem) { /* of the guarded divisor it is right but for x % 0, which is x */
    const char *r = binary(g, "sub", ty, x, binary(g, "mul", ty, q, y));
    return hdptx_choose(g, none, ty, x, r);
  }
  return hdptx_choose(g, none, ty, "0", q);
}

static const char *upper_half(PtxLower *g, const IrType *t, const char *x, const char *y) {
  const char *ty = hdptx_type(t), *ext = hdir_is_signed(t) ? "sext" : "zext";
  uint32_t bits = hdir_bits(t);
  if (bits >= 32) {
    const char *name = bits == 32 ? (hdir_is_signed(t) ? "i" : "ui") : (hdir_is_signed(t) ? "ll" : "ull");
    return hdptx_call(g, ty, hdptx_fmt(g, "llvm.nvvm.mulhi.%s", name), hdptx_fmt(g, "%s, %s", ty, ty), "%s %s, %s %s",
                      ty, x, ty, y);
  }
  const char *p = binary(g, "mul", "i32", convert(g, ext, ty, x, "i32"), convert(g, ext, ty, y, "i32"));
  return convert(g, "trunc", "i32", hdptx_ins(g, "lshr i32 %s, %u", p, bits), ty);
}

/* --- bits: 8 and 16 bits in 32 --- */

static const char *count_bits(PtxLower *g, IrOp op, const IrType *t, const char *x) {
  uint32_t bits = hdir_bits(t);
  const char *wide = bits == 64 ? "i64" : "i32", *ty = hdptx_type(t), *suffix = bits == 64 ? "i64" : "i32", *r;
  if (bits < 32) x = convert(g, "zext", ty, x, "i32");
  if (op == IR_popcount) {
    r = hdptx_call(g, wide, hdptx_fmt(g, "llvm.ctpop.%s", suffix), wide, "%s %s", wide, x);
  } else {
    if (op == IR_ctz && bits < 32) x = hdptx_ins(g, "or i32 %s, %u", x, 1u << bits);
    const char *name = hdptx_fmt(g, "llvm.%s.%s", op == IR_clz ? "ctlz" : "cttz", suffix);
    r = hdptx_call(g, wide, name, hdptx_fmt(g, "%s, i1", wide), "%s %s, i1 false", wide, x);
    if (op == IR_clz && bits < 32) r = hdptx_ins(g, "sub i32 %s, %u", r, 32 - bits);
  }
  return bits < 32 ? convert(g, "trunc", "i32", r, ty) : r;
}

static const char *shift(PtxLower *g, IrOp op, const IrType *t, const char *const x[]) {
  const char *ty = hdptx_type(t), *by = hdptx_ins(g, "and %s %s, %u", ty, x[1], hdir_bits(t) - 1);
  return binary(g, op == IR_shl ? "shl" : hdir_is_signed(t) ? "ashr" : "lshr", ty, x[0], by);
}

/* --- comparison: of bool as of a number of one bit --- */

static const char *compare(PtxLower *g, IrOp op, const IrType *t, const char *const x[]) {
  static const char *const flt_name[] = {"oeq", "une", "olt", "ole", "ogt", "oge"};
  static const char *const sig_name[] = {"eq", "ne", "slt", "sle", "sgt", "sge"};
  static const char *const uns_name[] = {"eq", "ne", "ult", "ule", "ugt", "uge"};
  _Static_assert(IR_ge - IR_eq == 5 && IR_ne - IR_eq == 1 && IR_lt - IR_eq == 2 && IR_le - IR_eq == 3 &&
                     IR_gt - IR_eq == 4,
                 "the tables follow ops.def");
  uint32_t at = (uint32_t)(op - IR_eq);
  const char *ty = hdptx_type(t);
  if (hdir_is_float(t)) return hdptx_ins(g, "fcmp %s %s %s, %s", flt_name[at], ty, x[0], x[1]);
  return hdptx_ins(g, "icmp %s %s %s, %s", (hdir_is_signed(t) ? sig_name : uns_name)[at], ty, x[0], x[1]);
}

/* --- halves: in f32, rounded; signs in the bits --- */

static const IrType f32_type = {.kind = IR_F32};

static const char *half_op(PtxLower *g, IrOp op, const IrType *t, const IrType *res, const char *const x[]) {
  if (op == IR_neg) return binary(g, "xor", "i16", x[0], "-32768");
  if (op == IR_abs) return binary(g, "and", "i16", x[0], "32767");
  if (op == IR_copysign)
    return binary(g, "or", "i16", binary(g, "and", "i16", x[0], "32767"), binary(g, "and", "i16", x[1], "-32768"));
  const char *wide[3] = {"0", "0", "0"};
  for (size_t k = 0; k < strlen(hdir_ops[op].operands) && k < 3; k++) wide[k] = hdptx_cvt(g, t, &f32_type, x[k]);
  if (op == IR_min || op == IR_max)
    return hdptx_choose(g, compare(g, op == IR_min ? IR_lt : IR_gt, &f32_type, wide), "i16", x[0], x[1]);
  bool is_test = res->kind == IR_BOOL;
  const char *r = hdptx_op(g, op, &f32_type, is_test ? res : &f32_type, wide);
  return is_test || !r ? r : hdptx_cvt(g, &f32_type, t, r);
}

const char *hdptx_op(PtxLower *g, IrOp op, const IrType *t, const IrType *res, const char *const x[]) {
  const char *ty = hdptx_type(t);
  bool f = hdir_is_float(t);
  if (op == IR_cvt) return hdptx_cvt(g, t, res, x[0]);
  if (op == IR_bitcast) {
    if (!strcmp(ty, hdptx_type(res))) return x[0];
    return convert(g, "bitcast", ty, x[0], hdptx_type(res));
  }
  if (is_half(t)) return half_op(g, op, t, res, x);
  switch (op) {
  case IR_add: return binary(g, f ? "fadd" : "add", ty, x[0], x[1]);
  case IR_sub: return binary(g, f ? "fsub" : "sub", ty, x[0], x[1]);
  case IR_mul: return binary(g, f ? "fmul" : "mul", ty, x[0], x[1]);
  case IR_div: return f ? quotient(g, t, x) : division(g, t, x[0], x[1], false);
  case IR_rem: return division(g, t, x[0], x[1], true);
  case IR_neg: return negate(g, t, x[0]);
  case IR_abs: return absolute(g, t, x[0]);
  case IR_min:
  case IR_max: return min_max(g, op, t, x);
  case IR_mulhi: return upper_half(g, t, x[0], x[1]);
  case IR_fma: return fma3(g, t, x);
  case IR_sqrt: return root(g, t, x[0]);
  case IR_floor: return unary_call(g, "floor", t, x[0]);
  case IR_ceil: return unary_call(g, "ceil", t, x[0]);
  case IR_trunc: return unary_call(g, "trunc", t, x[0]);
  case IR_rint: return unary_call(g, "rint", t, x[0]);
  case IR_copysign: return sign_from(g, t, x);
  case IR_and: return binary(g, "and", ty, x[0], x[1]);
  case IR_or: return binary(g, "or", ty, x[0], x[1]);
  case IR_xor: return binary(g, "xor", ty, x[0], x[1]);
  case IR_not: return binary(g, "xor", ty, x[0], hdptx_int(g, hdir_bits(t), -1));
  case IR_shl:
  case IR_shr: return shift(g, op, t, x);
  case IR_gang_min:
  case IR_gang_max: return x[0]; /* of a thread alone */
  case IR_gang_count: return hdptx_choose(g, x[0], "i32", "1", "0");
  case IR_popcount:
  case IR_clz:
  case IR_ctz: return count_bits(g, op, t, x[0]);
  case IR_eq:
  case IR_ne:
  case IR_lt:
  case IR_le:
  case IR_gt:
  case IR_ge: return compare(g, op, t, x);
  default: return NULL;
  }
}

void hdptx_pure(PtxLower *g, const IrInst *i) {
  if (i->op == IR_table) {
    hdptx_table(g, i);
    return;
  }
  const char *x[3] = {"0", "0", "0"}, *r = NULL;
  if (i->nres == 1 && i->nargs >= 1 && i->nargs <= 3 && hdir_is_scalar(i->args[0]->type) &&
      hdir_is_scalar(i->res[0]->type)) {
    for (uint32_t k = 0; k < i->nargs; k++) x[k] = hdptx_get(g, i->args[k]);
    if (i->op == IR_select)
      r = hdptx_choose(g, x[0], hdptx_type(i->res[0]->type), x[1], x[2]);
    else
      r = hdptx_op(g, i->op, i->args[0]->type, i->res[0]->type, x);
  }
  if (r)
    hdptx_set(g, i->res[0], r);
  else
    hdptx_fail(g, i, HD_ERR_COMPILE, "an operation that passes should have taken apart");
}
