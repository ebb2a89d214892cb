/* passes/units.c -- answers what a kernel asks about hardware units.
 *
 * `has` becomes a constant: true in a fast kernel for a unit of the target (OptContext.units), and for gangs in any kernel. An
 * `if` whose condition is thereby known becomes the side taken; what a unit that is not there would give is 0. Functions ask for
 * whatever kernel calls them, so they are left as they are.
 *
 * needs   a kernel without calls (inline), to reach what its functions ask
 * keeps   what the program computes on that target
 * breaks  nothing        cost    linear
 */
#include "passes/passes.h"
#include "passes/rebuild.h"

static bool asks(const IrFunc *fn) {
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
    if (i->op == IR_has || i->op == IR_tex) return true;
  return false;
}

static bool visit(OptRebuild *rb, IrInst *i) {
  const uint32_t *units = rb->self;
  switch (i->op) {
  case IR_has: hdopt_set(rb, i->res[0], hdir_const_bool(rb->fn, *units >> i->imm & 1)); return true;
  case IR_tex:
    if (*units >> IR_UNIT_tex & 1) return false;
    hdopt_set(rb, i->res[0], hdir_zero(&rb->b, i->res[0]->type));
    return true;
  default: return false;
  }
}

static const OptHooks hooks = {.visit = visit};

bool hdopt_units(IrFunc *fn, OptContext *cx) {
  const uint32_t always = 1u << IR_UNIT_gang;
  uint32_t units = fn->fast ? cx->units : cx->units & always;
  if (!fn->is_kernel || !asks(fn)) return false;
  OptRebuild rb = {.hooks = &hooks, .self = &units};
  hdopt_rebuild(&rb, fn, cx->scratch);
  return true;
}
