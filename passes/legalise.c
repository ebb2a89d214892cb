/* passes/legalise.c -- arithmetic of f16 and bf16 becomes arithmetic of f32.
 *
 * Their ops are defined so: convert the operands to f32, operate, round the result; conversions go by way of f32 too.
 * neg, abs and copysign work on the bits. What is left for f16 and bf16 is cvt from and to f32, load, store, bitcast,
 * select, tables and being carried. Folding again would join the conversions, so nothing that folds comes after this pass.
 *
 * needs   scalars (scalarise)    keeps   every result bit, except NaN payloads
 * breaks  nothing                cost    linear
 */
#include "passes/passes.h"
#include "passes/rebuild.h"

static bool is_half(const IrType *t) { return t->kind == IR_F16 || t->kind == IR_BF16; }

static const IrType *scalar(OptRebuild *rb, IrKind kind) { return hdir_scalar(&rb->fn->module->types, kind); }

static IrValue *bin(OptRebuild *rb, IrOp op, IrValue *x, IrValue *y) { return hdir_bin(&rb->b, op, x, y); }

static IrValue *to_f32(OptRebuild *rb, IrValue *x) { return hdir_cvt(&rb->b, scalar(rb, IR_F32), x); }

static IrValue *bits_of(OptRebuild *rb, IrValue *x) { return hdir_bitcast(&rb->b, scalar(rb, IR_U16), x); }

/* --- the sign bit --- */

static IrValue *emit_sign_op(OptRebuild *rb, IrOp op, IrValue *x, IrValue *y) {
  const IrType *u16 = scalar(rb, IR_U16);
  IrValue *sign = hdir_const(rb->fn, u16, 0x8000), *rest = hdir_const(rb->fn, u16, 0x7fff), *u = bits_of(rb, x);
  IrValue *r = bin(rb, op == IR_neg ? IR_xor : IR_and, u, op == IR_neg ? sign : rest);
  if (op == IR_copysign) r = bin(rb, IR_or, r, bin(rb, IR_and, bits_of(rb, y), sign));
  return hdir_bitcast(&rb->b, x->type, r);
}

/* --- conversion --- */

static IrValue *emit_cvt(OptRebuild *rb, const IrType *to, IrValue *x) {
  IrValue *middle = to_f32(rb, x);
  rb->b.no_fold = !hdir_is_const(x); /* folding would take out the step by way of f32 again */
  IrValue *r = hdir_cvt(&rb->b, to, middle);
  rb->b.no_fold = false;
  return r;
}

/* --- instructions --- */

static IrValue *emit_op(OptRebuild *rb, const IrInst *i, IrValue *const x[]) {
  const IrType *t = i->args[0]->type;
  if (i->op == IR_neg || i->op == IR_abs || i->op == IR_copysign) return emit_sign_op(rb, i->op, x[0], x[1]);
  IrValue *a = to_f32(rb, x[0]);
  IrValue *r = i->nargs == 1 ? hdir_un(&rb->b, i->op, a) : bin(rb, i->op, a, to_f32(rb, x[1]));
  return i->res[0]->type->kind == IR_BOOL ? r : hdir_cvt(&rb->b, t, r);
}

static bool is_kept(IrOp op) {
  return op == IR_select || op == IR_bitcast || op == IR_load || hdir_ops[op].effect != FX_PURE;
}

static bool needs_work(const IrInst *i) {
  if (is_kept(i->op) || i->nres != 1 || i->nargs == 0) return false;
  const IrType *from = i->args[0]->type, *to = i->res[0]->type;
  if (i->op == IR_cvt) return (is_half(from) && to->kind != IR_F32) || (is_half(to) && from->kind != IR_F32);
  return is_half(from) && hdir_is_scalar(to);
}

static bool visit(OptRebuild *rb, IrInst *i) {
  if (!needs_work(i)) return false;
  IrValue *x[3] = {NULL};
  for (uint32_t k = 0; k < i->nargs; k++) x[k] = hdopt_get(rb, i->args[k]);
  hdopt_set(rb, i->res[0], i->op == IR_cvt ? emit_cvt(rb, i->res[0]->type, x[0]) : emit_op(rb, i, x));
  return true;
}

static const OptHooks hooks = {.visit = visit};

bool hdopt_legalise(IrFunc *fn, OptContext *cx) {
  bool any = false;
  for (const IrInst *i = fn->body->first; i && !any; i = hdir_inst_next(i)) any = needs_work(i);
  if (!any) return false;
  OptRebuild rb = {.hooks = &hooks};
  hdopt_rebuild(&rb, fn, cx->scratch);
  return true;
}
