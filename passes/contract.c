/* passes/contract.c -- forms fused multiply-adds.
 *
 *     a*b + c, c + a*b  ->  fma(a, b, c)       a*b - c  ->  fma(a, b, -c)       c - a*b  ->  fma(-a, b, c)
 *
 * for f32 and f64, also element by element, where the product has no other use and stands in the same region; of two
 * such products the left one is taken. This is the one pass that changes results, so it is part of what a program
 * means: it runs once, on the code as the front end made it, before every backend and every other pass. Running it
 * again finds nothing.
 *
 * needs   nothing        keeps   everything but the rounding of contracted products
 * breaks  nothing        cost    linear
 */
#include "ir/ir.h"
#include "passes/passes.h"

static bool contractible(const IrType *t) {
  const IrType *s = hdir_elem_scalar(t);
  return s && (s->kind == IR_F32 || s->kind == IR_F64);
}

static bool is_product(const IrValue *v, const IrInst *user, const uint32_t *uses) {
  return v->def && v->def->op == IR_mul && uses[v->id] == 1 && v->def->region == user->region;
}

static IrValue *negated(IrInst *before, IrValue *x) {
  IrFunc *fn = before->region->fn;
  if (hdir_is_const(x)) return hdir_const(fn, x->type, x->bits ^ (1ull << (hdir_bits(x->type) - 1)));
  IrInst *neg = hdir_inst_new(fn, IR_neg, 1, &x, 1, &x->type);
  neg->loc = before->loc;
  hdir_insert_before(before, neg);
  return neg->res[0];
}

static void fuse(IrInst *i, unsigned side) {
  IrInst *mul = i->args[side]->def;
  IrValue *a = mul->args[0], *b = mul->args[1], *c = i->args[1 - side];
  if (i->op == IR_sub && side == 0) c = negated(i, c);
  if (i->op == IR_sub && side == 1) a = negated(i, a);
  i->op = IR_fma;
  i->nargs = 3;
  i->args = hdir_inst_new(i->region->fn, IR_fma, 3, (IrValue *[]){a, b, c}, 0, NULL)->args;
  hdir_unlink(mul);
}

bool hdopt_contract(IrFunc *fn, OptContext *cx) {
  const uint32_t *uses = hdir_count_uses(fn, cx->scratch);
  const uint32_t counted = fn->nvalues; /* what this pass makes is never a product */
  bool changed = false;
  for (IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if ((i->op != IR_add && i->op != IR_sub) || !contractible(i->res[0]->type)) continue;
    for (unsigned side = 0; side < 2; side++) {
      if (i->args[side]->id >= counted || !is_product(i->args[side], i, uses)) continue;
      fuse(i, side);
      changed = true;
      break;
    }
  }
  return changed;
}
