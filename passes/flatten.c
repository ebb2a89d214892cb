/* passes/flatten.c -- a cheap `if` without effects becomes selects.
 *
 * Both sides must be pure and come back, and together cost at most MAX_COST. Arithmetic costs 1, division and square
 * root 6, so that a lane group does not pay for both sides of anything worth a branch; an `if` inside that becomes
 * selects itself counts with what it turns into. Loads are never run on speculation: their address may be bad.
 *
 * needs   nothing        keeps   every result bit (every op is total)
 * breaks  what an `if` tells about which accesses run: forward and licm come before
 * cost    linear
 */
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_COST = 8, COST_DIVIDE = 6, NEVER = 1000 };

typedef struct Flattener {
  bool *flat; /* by instruction id: the if becomes selects */
} Flattener;

static uint32_t cost_of_op(const IrInst *i) {
  if (hdir_ops[i->op].effect == FX_LAUNCH) return 1;
  if (hdir_ops[i->op].effect != FX_PURE) return NEVER;
  switch (i->op) {
  case IR_div:
  case IR_rem:
  case IR_sqrt:
  case IR_tex: return COST_DIVIDE;
  case IR_index:
  case IR_member:
  case IR_elem:
  case IR_bitcast:
  case IR_extract: return 0;
  default: return 1;
  }
}

static uint32_t cost_of_region(Flattener *fl, const IrRegion *r);

static uint32_t cost_of_if(Flattener *fl, const IrInst *i) {
  uint32_t cost = cost_of_region(fl, i->sub[0]) + cost_of_region(fl, i->sub[1]) + i->nres;
  for (uint32_t k = 0; k < i->nres; k++) {
    if (!hdir_is_scalar(i->res[k]->type) && !hdir_is_composite(i->res[k]->type)) cost = NEVER;
  }
  fl->flat[i->id] = cost <= MAX_COST;
  return fl->flat[i->id] ? cost : NEVER;
}

static uint32_t cost_of_region(Flattener *fl, const IrRegion *r) {
  uint32_t cost = r->last->op == IR_yield ? 0 : NEVER;
  for (const IrInst *i = r->first; i != r->last; i = i->next) {
    if (i->op == IR_if) {
      cost += cost_of_if(fl, i);
    } else {
      for (uint32_t k = 0; k < i->nsubs; k++) cost_of_region(fl, i->sub[k]);
      cost += cost_of_op(i);
    }
    if (cost > NEVER) cost = NEVER; /* the walk goes on: there may be an if inside that can go */
  }
  return cost;
}

static bool visit(OptRebuild *rb, IrInst *i) {
  Flattener *fl = rb->self;
  if (i->op != IR_if || !fl->flat[i->id]) return false;
  IrValue *c = hdopt_get(rb, i->args[0]);
  IrValue **side[2];
  for (uint32_t s = 0; s < 2; s++) {
    hdopt_splice(rb, i, i->sub[s]);
    side[s] = HDB_NEW_N(rb->scratch, IrValue *, i->nres);
    for (uint32_t k = 0; k < i->nres; k++) side[s][k] = hdopt_get(rb, i->res[k]);
  }
  rb->b.loc = i->loc;
  for (uint32_t k = 0; k < i->nres; k++) { hdopt_set(rb, i->res[k], hdir_select(&rb->b, c, side[0][k], side[1][k])); }
  return true;
}

static const OptHooks hooks = {.visit = visit};

bool hdopt_flatten(IrFunc *fn, OptContext *cx) {
  Flattener fl = {.flat = HDB_NEW_N(cx->scratch, bool, fn->ninsts)};
  cost_of_region(&fl, fn->body);
  bool any = false;
  for (uint32_t k = 0; k < fn->ninsts; k++) any |= fl.flat[k];
  if (!any) return false;
  OptRebuild rb = {.hooks = &hooks, .self = &fl};
  hdopt_rebuild(&rb, fn, cx->scratch);
  return true;
}
