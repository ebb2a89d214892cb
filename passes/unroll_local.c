/* passes/unroll_local.c -- counted loops that pick parts of small local arrays become straight code.
 *
 * On a GPU a local array is memory, unless each of its parts is reached by constants: then promote makes values of them, and
 * values have registers. So a loop is written out, as unroll does it but up to more code, if in its rounds a part of an
 * array is picked by nothing but constants and the counters of such loops, and all else that reaches the array is as well
 * known. The array must be small enough for registers.
 *
 * needs   nothing        keeps   every result bit
 * breaks  nothing        cost    linear in what comes out
 */
#include "passes/live.h"
#include "passes/passes.h"
#include "passes/unroll.h"

enum {
  LIMIT = 4000,     /* instructions of one loop's rounds */
  BUDGET = 16000,   /* of a whole function's             */
  MOST_SIZE = 1024, /* bytes of an array: a GPU's thread has 255 registers of four */
};

typedef struct Local {
  OptLive live;
  bool *only; /* by instruction id: the loops to be written out */
} Local;

static const IrInst *loop_of(const IrValue *p) {
  const IrInst *loop = p->region ? p->region->parent : NULL;
  return loop && loop->op == IR_loop ? loop : NULL;
}

static bool from_counters(const Local *lo, const IrValue *v, int depth);

/* Carried from a constant on, or another counter, by constant steps. */
static bool is_counter(const Local *lo, const IrValue *p, int depth) {
  const IrInst *loop = loop_of(p);
  if (!loop || !from_counters(lo, loop->args[p->index], depth)) return false;
  for (const OptEnder *e = lo->live.repeats[loop->id]; e; e = e->next) {
    const IrInst *add = e->inst->args[p->index]->def;
    if (!add || (add->op != IR_add && add->op != IR_sub) || add->args[0] != p || !hdir_is_const(add->args[1]))
      return false;
  }
  return true;
}

/* Known once the loops around are written out. */
static bool from_counters(const Local *lo, const IrValue *v, int depth) {
  enum { DEEPEST = 8 };
  if (hdir_is_const(v)) return true;
  if (depth == DEEPEST) return false;
  if (!v->def) return is_counter(lo, v, depth + 1);
  if (hdir_ops[v->def->op].effect != FX_PURE || v->def->nargs > 3) return false;
  for (uint32_t k = 0; k < v->def->nargs; k++)
    if (!from_counters(lo, v->def->args[k], depth + 1)) return false;
  return true;
}

/* The object that a local address lies in, and whether the indices on the way to it are known. */
static const IrInst *object_of(const Local *lo, const IrValue *p, bool *is_known, bool *is_const) {
  const IrInst *i = p->def;
  for (*is_known = *is_const = true; i && (i->op == IR_elem || i->op == IR_member); i = i->args[0]->def) {
    if (i->op != IR_elem) continue;
    *is_known &= from_counters(lo, i->args[1], 0);
    *is_const &= hdir_is_const(i->args[1]);
  }
  return i && i->op == IR_alloca ? i : NULL;
}

/* Marks the loops around each part of an array that a counter picks, if all that reaches the array is as well known. */
static bool find_local(Local *lo, const IrFunc *fn, Arena *a) {
  bool *loose = HDB_NEW_N(a, bool, fn->ninsts), is_known, is_const, found = false;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    const IrInst *object = i->op == IR_elem ? object_of(lo, i->res[0], &is_known, &is_const) : NULL;
    if (object && (!is_known || object->res[0]->type->elem->size > MOST_SIZE)) loose[object->id] = true;
  }
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    const IrInst *object = i->op == IR_elem ? object_of(lo, i->res[0], &is_known, &is_const) : NULL;
    if (!object || loose[object->id] || is_const) continue;
    for (const IrInst *p = i; p; p = p->region->parent)
      if (p->op == IR_loop) found = lo->only[p->id] = true;
  }
  return found;
}

bool hdopt_unroll_local(IrFunc *fn, OptContext *cx) {
  if (!hdopt_has_loop(fn)) return false;
  Local lo = {.only = HDB_NEW_N(cx->scratch, bool, fn->ninsts)};
  hdopt_live(&lo.live, fn, cx->scratch);
  return find_local(&lo, fn, cx->scratch) && hdopt_write_out(fn, &lo.live, LIMIT, BUDGET, lo.only, cx->scratch);
}
