/* passes/together.c -- threads of a gang walk ranges that overlap together.
 *
 * In `for (j in a..b)` with ranges of its own for each thread, what is loaded at j is gathered. Often the ranges of neighbours are
 * nearly the same: particles sorted by cell look through the same cells. Then one counter runs over the hull of the ranges, what
 * is loaded at it is loaded once for the gang, and a thread takes part where its own range has the counter: in the same order, so
 * with the same bits. Which way is taken is asked before each loop, of the ranges at hand:
 *
 *     lo = gang_min(a), hi = gang_max(b)                     of the ranges that are not empty
 *     if ((hi - lo) / 2 <= gang_max(b - a))                  at most twice the longest range
 *       for (u in lo..hi) if (u - a < b - a) body(u)         unsigned: a <= u < b
 *     else
 *       for (j in a..b) body(j)
 *
 * A loop qualifies if its counter goes up by one from where threads differ, if it loads from an array at a place that the counter
 * alone decides, and if it neither reports, nor uses atomics, nor has a loop in it.
 *
 * needs   scalars, no calls (scalarise, inline)    keeps   every result bit
 * breaks  nothing                                  cost    linear, and the facts of a kernel that has such a loop
 */
#include "ir/facts.h"
#include "passes/live.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_BODY = 200 /* instructions of a loop that is written twice */ };

typedef struct Together {
  const IrFunc *fn;
  const IrFacts *facts; /* NULL until a loop asks */
  Arena *a;
  OptLive live;
} Together;

typedef struct Range {             /* a loop over lo..hi */
  const IrInst *loop, *test, *out; /* its head's test, and the break in that */
  const IrValue *counter;          /* a parameter of the loop */
  IrValue *lo, *hi;
} Range;

/* --- which loops --- */

static bool is_inside(const IrInst *loop, const IrValue *v) {
  if (hdir_is_const(v)) return false;
  return hdir_region_contains(loop->sub[0], v->def ? v->def->region : v->region);
}

static bool may_count(const IrType *t) {
  return t->kind == IR_I32 || t->kind == IR_U32 || t->kind == IR_I64 || t->kind == IR_U64;
}

static bool adds_one(const IrInst *again, const IrValue *counter) {
  const IrInst *step = again->args[counter->index]->def;
  return step && step->op == IR_add && step->args[0] == counter && hdir_const_is_int(step->args[1], 1);
}

/* The head's test: its break, and in *stay the comparison under which the loop goes on, as one with `<` or `>`. */
static const IrInst *find_break(const IrInst *test, IrOp *stay) {
  const IrInst *cmp = test && !test->nres ? test->args[0]->def : NULL;
  if (!cmp) return NULL;
  const bool leaves = test->sub[0]->first->op == IR_break; /* when the comparison holds */
  const IrInst *out = test->sub[leaves ? 0 : 1]->first, *in = test->sub[leaves ? 1 : 0]->first;
  *stay = cmp->op != IR_ge && cmp->op != IR_le ? cmp->op : cmp->op == IR_ge ? IR_lt : IR_gt;
  if (leaves == (cmp->op == *stay) || (*stay != IR_lt && *stay != IR_gt)) return NULL;
  return out->op == IR_break && in->op == IR_yield ? out : NULL;
}

/* for (counter in lo..hi), by its shape: other ways out and on may be further down. */
static bool find_range(const Together *t, const IrInst *loop, Range *r) {
  const IrRegion *body = loop->sub[0];
  const IrInst *test = hdir_head_test(loop);
  IrOp stay;
  const IrInst *out = find_break(test, &stay);
  if (!out || body->last->op != IR_continue) return false;
  IrValue **sides = test->args[0]->def->args, *hi = sides[stay == IR_lt];
  const IrValue *p = sides[stay == IR_gt];
  if (p->region != body || !may_count(p->type) || is_inside(loop, hi)) return false;
  for (const OptEnder *e = t->live.repeats[loop->id]; e; e = e->next)
    if (!adds_one(e->inst, p)) return false;
  for (uint32_t k = 0; k < out->nargs; k++)
    if (out->args[k] == p || (is_inside(loop, out->args[k]) && out->args[k]->region != body)) return false;
  *r = (Range){loop, test, out, p, loop->args[p->index], hi};
  return true;
}

/* Threads may run the body in rounds of their own, and it is short enough to be written twice. */
static bool may_wait(const IrInst *loop) {
  uint32_t n = 0;
  for (const IrInst *i = loop->sub[0]->first; i != loop->sub[0]->last; i = hdir_inst_next(i)) {
    const IrEffect e = hdir_ops[i->op].effect;
    const bool plain = e == FX_PURE || e == FX_LAUNCH || e == FX_READS || e == FX_WRITES || e == FX_END ||
                       i->op == IR_if || i->op == IR_scope;
    if (!plain || ++n > MAX_BODY) return false;
  }
  return true;
}

/* Does the loop load anything at a place that the counter decides, and nothing else that differs from thread to thread? */
static bool loads_by_counter(const Together *t, const Range *r) {
  bool *shared = HDB_NEW_N(t->a, bool, t->fn->nvalues + 1); /* by value id: made of the counter and of what all have */
  shared[r->counter->id] = true;
  for (const IrInst *i = r->loop->sub[0]->first; i != r->loop->sub[0]->last; i = hdir_inst_next(i)) {
    const IrEffect e = hdir_ops[i->op].effect;
    if ((e != FX_PURE && e != FX_READS) || i->nres != 1) continue;
    bool by_counter = false, all = true;
    for (uint32_t k = 0; k < i->nargs; k++) {
      const IrValue *v = i->args[k];
      if (hdir_is_const(v)) continue;
      by_counter |= shared[v->id];
      all &= shared[v->id] || t->facts->of[v->id].cls == IR_UNIFORM;
    }
    shared[i->res[0]->id] = by_counter && all;
    if (i->op == IR_load && i->args[0]->type->space != IR_LOCAL && shared[i->res[0]->id]) return true;
  }
  return false;
}

static bool qualifies(Together *t, const IrInst *loop, Range *r) {
  if (!find_range(t, loop, r) || !may_wait(loop)) return false;
  const int32_t rank = t->fn->rank > 0 ? t->fn->rank : 1;
  if (!t->facts) t->facts = hdir_facts(t->fn, rank - 1, IR_NEIGHBOURS, t->a);
  return !hdir_is_const(r->lo) && t->facts->of[r->lo->id].cls != IR_UNIFORM && loads_by_counter(t, r);
}

/* --- both ways --- */

typedef struct Hull { /* of the threads' ranges */
  IrValue *lo, *hi;
  IrValue *own, *length; /* of one thread's range: where it begins, how long it is, unsigned */
  IrValue *longest;
} Hull;

/* if (counter < hi) yield; else break; */
static void write_test(OptRebuild *rb, const Range *r, IrValue *counter, IrValue *hi) {
  OptVals results = {0};
  IrInst *test = hdir_if_begin(&rb->b, hdir_bin(&rb->b, IR_lt, counter, hi), 0, NULL);
  hdir_ender(&rb->b, IR_yield, 0, NULL);
  hdir_if_else(&rb->b, test);
  for (uint32_t k = 0; k < r->out->nargs; k++) hdopt_push_val(rb, &results, hdopt_get(rb, r->out->args[k]));
  hdir_ender(&rb->b, IR_break, results.n, results.v);
  hdir_end(&rb->b, test);
}

/* One round of the threads whose range has the counter; gives what is carried on, the counter left out. */
static IrInst *write_round(OptRebuild *rb, const Range *r, const Hull *h, IrValue *const params[]) {
  const IrInst *again = r->loop->sub[0]->last;
  const uint32_t n = r->loop->nargs, at = r->counter->index;
  const IrType **types = HDB_NEW_N(rb->scratch, const IrType *, n);
  OptVals next = {0}, same = {0};
  for (uint32_t k = 0; k < n; k++) {
    if (k == at) continue;
    types[same.n] = params[k]->type;
    hdopt_push_val(rb, &same, params[k]);
  }
  IrValue *place = hdir_bitcast(&rb->b, h->length->type, hdir_bin(&rb->b, IR_sub, params[at], h->own));
  IrInst *mine = hdir_if_begin(&rb->b, hdir_bin(&rb->b, IR_lt, place, h->length), same.n, types);
  for (const IrInst *i = r->loop->sub[0]->first; i != again; i = i->next)
    if (i != r->test) hdir_clone_inst(&rb->b, i, rb->map);
  for (uint32_t k = 0; k < n; k++)
    if (k != at) hdopt_push_val(rb, &next, hdopt_get(rb, again->args[k]));
  hdir_ender(&rb->b, IR_yield, next.n, next.v);
  hdir_if_else(&rb->b, mine);
  hdir_ender(&rb->b, IR_yield, same.n, same.v);
  hdir_end(&rb->b, mine);
  return mine;
}

static IrInst *write_walk(OptRebuild *rb, const Range *r, const Hull *h) {
  const uint32_t n = r->loop->nargs, at = r->counter->index;
  uint32_t nres;
  const IrType *const *types;
  OptVals init = {0}, next = {0};
  for (uint32_t k = 0; k < n; k++) hdopt_push_val(rb, &init, k == at ? h->lo : hdopt_get(rb, r->loop->args[k]));
  hdopt_result_types(rb, r->loop, &nres, &types);
  IrInst *walk = hdir_loop_begin(&rb->b, n, init.v, nres, types);
  IrValue *const *params = walk->sub[0]->params;
  hdopt_bind(rb, r->loop, OPT_PARAMS, n, params);
  write_test(rb, r, params[at], h->hi);
  /* numbered before the round, where each `continue` finds it again: one value for all threads */
  IrValue *one_on = hdir_bin(&rb->b, IR_add, params[at], hdir_const_int(rb->fn, params[at]->type, 1));
  IrInst *mine = write_round(rb, r, h, params);
  for (uint32_t k = 0; k < n; k++) hdopt_push_val(rb, &next, k == at ? one_on : mine->res[k - (k > at)]);
  hdir_ender(&rb->b, IR_continue, next.n, next.v);
  hdir_end(&rb->b, walk);
  return walk;
}

static Hull find_hull(OptRebuild *rb, const Range *r) {
  IrBuilder *b = &rb->b;
  const IrType *t = r->counter->type;
  const IrType *u = hdir_scalar(&rb->fn->module->types, hdir_bits(t) == 64 ? IR_U64 : IR_U32);
  const uint64_t all = ~(uint64_t)0 >> (64 - hdir_bits(t)), least = hdir_is_signed(t) ? all ^ all >> 1 : 0;
  IrValue *lo = hdopt_get(rb, r->lo), *hi = hdopt_get(rb, r->hi), *some = hdir_bin(b, IR_lt, lo, hi);
  Hull h = {.own = lo};
  h.lo = hdir_un(b, IR_gang_min, hdir_select(b, some, lo, hdir_const(rb->fn, t, least ^ all)));
  h.hi = hdir_un(b, IR_gang_max, hdir_select(b, some, hi, hdir_const(rb->fn, t, least)));
  h.length = hdir_select(b, some, hdir_bitcast(b, u, hdir_bin(b, IR_sub, hi, lo)), hdir_const(rb->fn, u, 0));
  h.longest = hdir_un(b, IR_gang_max, h.length);
  return h;
}

static void write_both(OptRebuild *rb, IrInst *loop, const Range *r) {
  IrBuilder *b = &rb->b;
  uint32_t n;
  const IrType *const *types;
  OptVals results = {0};
  const Hull h = find_hull(rb, r);
  IrValue *span = hdir_bitcast(b, h.length->type, hdir_bin(b, IR_sub, h.hi, h.lo));
  IrValue *half = hdir_bin(b, IR_shr, span, hdir_const_int(rb->fn, span->type, 1));
  hdopt_result_types(rb, loop, &n, &types);
  IrInst *way = hdir_if_begin(b, hdir_bin(b, IR_le, half, h.longest), n, types);
  IrInst *walk = write_walk(rb, r, &h);
  hdir_ender(b, IR_yield, walk->nres, walk->res);
  hdir_if_else(b, way);
  hdopt_emit(rb, loop);
  for (uint32_t k = 0; k < loop->nres; k++) hdopt_push_val(rb, &results, hdopt_get(rb, loop->res[k]));
  hdir_ender(b, IR_yield, results.n, results.v);
  hdir_end(b, way);
  hdopt_bind(rb, loop, OPT_RESULTS, way->nres, way->res);
}

static bool visit(OptRebuild *rb, IrInst *i) {
  Range r;
  if (i->op != IR_loop || !qualifies(rb->self, i, &r)) return false;
  write_both(rb, i, &r);
  rb->changed = true;
  return true;
}

static const OptHooks hooks = {.visit = visit};

bool hdopt_together(IrFunc *fn, OptContext *cx) {
  Together t = {.fn = fn, .a = cx->scratch};
  Range r;
  bool any = false;
  hdopt_live(&t.live, fn, cx->scratch);
  for (IrInst *i = fn->body->first; i && !any; i = hdir_inst_next(i)) any = i->op == IR_loop && qualifies(&t, i, &r);
  if (!any) return false;
  OptRebuild rb = {.hooks = &hooks, .self = &t};
  IrInst *first = hdopt_rebuild_begin(&rb, fn, cx->scratch);
  rb.b.no_laws = true; /* they would join the conversions that legalise made */
  hdopt_walk(&rb, first);
  return rb.changed;
}
