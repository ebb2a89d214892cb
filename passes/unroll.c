/* passes/unroll.c -- counted loops with few constant rounds become straight code.
 *
 * A loop counts if its head tests a carried value, which begins at a constant and grows by a constant, against a
 * constant. Its rounds are found by counting. It is written out if that makes at most `unroll_limit` instructions in at
 * most MAX_ROUNDS rounds. Whether a value is constant is asked while writing, so an inner loop may count once the
 * outer one is written out; a budget for the whole function bounds what such nests come to. Other breaks than the
 * head's become leaves of a scope around all rounds, other continues than the last leaves of a scope around each; a
 * loop with both, or with scopes of its own in the way, stays.
 *
 * needs   nothing        keeps   every result bit
 * breaks  nothing        cost    linear in what comes out
 */
#include "passes/unroll.h"
#include "passes/live.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_ROUNDS = 32, DEFAULT_LIMIT = 300, BUDGET = 10 /* times the limit, for a whole function */ };

typedef struct Unroller {
  const OptLive *live;
  uint32_t *size; /* by instruction id: instructions in a loop's body */
  uint32_t limit;
  int64_t budget;
  const bool *only; /* by instruction id: the loops that may be written out; NULL: all */
} Unroller;

typedef struct Count { /* a counted loop */
  const IrInst *test;
  uint32_t rounds;  /* that pass the test            */
  const IrValue *p; /* the carried value that counts */
  uint64_t i, step;
} Count;

/* --- how often --- */

/* v is constant and the same in all rounds. What stands in the loop may have an entry from an outer loop's round. */
static bool known(OptRebuild *rb, const IrInst *loop, const IrValue *v, uint64_t *bits) {
  if (!hdir_is_const(v)) {
    if (hdir_region_contains(loop->sub[0], v->def ? v->def->region : v->region)) return false;
    v = rb->map[v->id];
    if (!v || !hdir_is_const(v)) return false;
  }
  *bits = v->bits;
  return true;
}

/* What each continue adds to carried value k. */
static bool find_step(OptRebuild *rb, const Unroller *un, const IrInst *loop, uint32_t k, uint64_t *step) {
  const IrValue *p = loop->sub[0]->params[k];
  bool first = true;
  for (const OptEnder *e = un->live->repeats[loop->id]; e; e = e->next) {
    const IrInst *add = e->inst->args[k]->def;
    uint64_t x;
    if (!add || (add->op != IR_add && add->op != IR_sub) || add->args[0] != p || !known(rb, loop, add->args[1], &x))
      return false;
    if (add->op == IR_sub) x = (uint64_t)0 - x;
    if (!first && x != *step) return false;
    *step = x;
    first = false;
  }
  return !first;
}

static bool count_rounds(OptRebuild *rb, const Unroller *un, const IrInst *loop, Count *count) {
  const IrInst *test = count->test = hdir_head_test(loop);
  const IrInst *cmp = test ? test->args[0]->def : NULL;
  bool negate = false;
  while (cmp && cmp->op == IR_not) {
    negate = !negate;
    cmp = cmp->args[0]->def;
  }
  if (!cmp || cmp->op < IR_eq || cmp->op > IR_ge) return false;
  const uint32_t side = cmp->args[0]->region == loop->sub[0] ? 0 : 1;
  const IrValue *p = count->p = cmp->args[side];
  uint64_t i, end;
  if (p->region != loop->sub[0] || !hdir_is_int(p->type) || !known(rb, loop, cmp->args[1 - side], &end)) return false;
  if (!known(rb, loop, loop->args[p->index], &i) || !find_step(rb, un, loop, p->index, &count->step)) return false;
  count->i = i;
  const IrType *b = hdir_scalar(&rb->fn->module->types, IR_BOOL);
  const bool stop = (test->sub[0]->last->op == IR_break) != negate;
  for (count->rounds = 0; count->rounds <= MAX_ROUNDS; count->rounds++) {
    const uint64_t args[2] = {side ? end : i, side ? i : end};
    if ((hdir_eval(cmp->op, p->type, b, args) != 0) == stop) return true;
    i = hdir_eval(IR_add, p->type, p->type, (uint64_t[]){i, count->step});
  }
  return false;
}

/* --- whether --- */

/* No scope of the loop's own stands between it and one of the enders, which are to become leaves. */
static bool can_leave(const OptEnder *e, const IrInst *loop) {
  for (; e; e = e->next) {
    for (const IrInst *p = e->inst->region->parent; p != loop; p = p->region->parent) {
      if (p->op == IR_scope) return false;
    }
  }
  return true;
}

static bool has_outer_leave(const IrInst *loop) {
  for (const IrInst *i = loop->sub[0]->first; i != loop->next; i = hdir_inst_next(i)) {
    if (i->op != IR_leave) continue;
    const IrInst *target = hdopt_target(i->region, IR_leave);
    if (!hdir_region_contains(loop->sub[0], target->region)) return true;
  }
  return false;
}

typedef struct Shape { /* what is needed around the rounds */
  bool scope_all, scope_each, possible;
} Shape;

static Shape find_shape(const Unroller *un, const IrInst *loop, const IrInst *test) {
  const OptEnder *breaks = un->live->exits[loop->id], *continues = un->live->repeats[loop->id];
  Shape s = {.possible = true};
  for (const OptEnder *e = breaks; e; e = e->next) s.scope_all |= e->inst->region->parent != test;
  for (const OptEnder *e = continues; e; e = e->next) s.scope_each |= e->inst != loop->sub[0]->last;
  if (s.scope_all && s.scope_each) s.possible = false;
  if ((s.scope_all || s.scope_each) && has_outer_leave(loop)) s.possible = false;
  if (s.scope_all && !can_leave(breaks, loop)) s.possible = false;
  if (s.scope_each && !can_leave(continues, loop)) s.possible = false;
  return s;
}

/* --- writing --- */

/* One round; its continue enters the next round's parameters in the map. Returns how often it leaves the loop. */
static uint32_t write_round(OptRebuild *rb, const IrInst *loop, const Count *count, Shape shape) {
  const IrRegion *body = loop->sub[0];
  IrInst *scope = NULL;
  if (shape.scope_each) {
    const IrType **types = HDB_NEW_N(rb->scratch, const IrType *, body->nparams);
    for (uint32_t k = 0; k < body->nparams; k++) types[k] = body->params[k]->type;
    scope = hdir_scope_begin(&rb->b, body->nparams, types);
  }
  OptFrame f;
  hdopt_push(rb, &f, loop);
  f.cont = shape.scope_each ? IR_leave : IR_NOPS;
  f.brk = shape.scope_all ? IR_leave : IR_NOPS;
  hdopt_walk(rb, body->first);
  hdopt_pop(rb);
  rb->stop = false;
  if (!scope) return f.left;
  hdir_end(&rb->b, scope);
  hdopt_bind(rb, loop, OPT_PARAMS, scope->nres, scope->res);
  const uint64_t next = hdir_eval(IR_add, count->p->type, count->p->type, (uint64_t[]){count->i, count->step});
  hdopt_set(rb, count->p, hdir_const(rb->fn, count->p->type, next));
  if (!f.again) hdir_ender(&rb->b, IR_unreachable, 0, NULL);
  return f.left;
}

static void write_rounds(OptRebuild *rb, IrInst *loop, Count count, Shape shape) {
  OptVals init = {0};
  uint32_t n, left = 0;
  const IrType *const *types;
  IrInst *scope = NULL;
  hdopt_args(rb, loop, OPT_PARAMS, loop->nargs, loop->args, &init);
  hdopt_bind(rb, loop, OPT_PARAMS, init.n, init.v);
  hdopt_result_types(rb, loop, &n, &types);
  if (shape.scope_all) scope = hdir_scope_begin(&rb->b, n, types);
  for (uint32_t r = 0; r < count.rounds && !hdir_ended(&rb->b); r++) {
    left += write_round(rb, loop, &count, shape);
    count.i = hdir_eval(IR_add, count.p->type, count.p->type, (uint64_t[]){count.i, count.step});
  }
  shape.scope_each = false; /* the last round takes the head's break */
  if (!hdir_ended(&rb->b)) left += write_round(rb, loop, &count, shape);
  if (!scope) return;
  hdir_end(&rb->b, scope);
  hdopt_bind(rb, loop, OPT_RESULTS, scope->nres, scope->res);
  if (!left) hdir_ender(&rb->b, IR_unreachable, 0, NULL);
}

static bool visit(OptRebuild *rb, IrInst *i) {
  Unroller *un = rb->self;
  Count count;
  if (i->op != IR_loop || (un->only && !un->only[i->id]) || !count_rounds(rb, un, i, &count)) return false;
  const int64_t size = (int64_t)un->size[i->id] * count.rounds;
  const Shape shape = find_shape(un, i, count.test);
  if (!shape.possible || size > un->limit || size > un->budget) return false;
  un->budget -= size;
  write_rounds(rb, i, count, shape);
  rb->changed = true;
  return true;
}

static const OptHooks hooks = {.visit = visit};

static uint32_t measure(Unroller *un, const IrRegion *r) {
  uint32_t n = 0;
  for (const IrInst *i = r->first; i; i = i->next) {
    uint32_t inside = 0;
    for (uint32_t k = 0; k < i->nsubs; k++) inside += measure(un, i->sub[k]);
    if (i->op == IR_loop) un->size[i->id] = inside;
    n += 1 + inside;
  }
  return n;
}

bool hdopt_has_loop(const IrFunc *fn) {
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if (i->op == IR_loop) return true;
  }
  return false;
}

bool hdopt_write_out(IrFunc *fn, const OptLive *live, uint32_t limit, int64_t budget, const bool *only,
                     Arena *scratch) {
  Unroller un = {.live = live, .limit = limit, .budget = budget, .only = only};
  un.size = HDB_NEW_N(scratch, uint32_t, fn->ninsts);
  measure(&un, fn->body);
  OptRebuild rb = {.hooks = &hooks, .self = &un};
  hdopt_rebuild(&rb, fn, scratch);
  return rb.changed;
}

bool hdopt_unroll(IrFunc *fn, OptContext *cx) {
  if (!hdopt_has_loop(fn)) return false;
  OptLive live;
  hdopt_live(&live, fn, cx->scratch);
  uint32_t limit = cx->unroll_limit > 0 ? (uint32_t)cx->unroll_limit : DEFAULT_LIMIT;
  return hdopt_write_out(fn, &live, limit, (int64_t)limit * BUDGET, NULL, cx->scratch);
}
