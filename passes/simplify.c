/* passes/simplify.c -- folds again and drops what nobody needs.
 *
 * Per round: liveness (live.c), then a rebuild through the folding builder that
 *   - leaves out dead instructions, results and carried values, and checks that hold;
 *   - replaces carried values that never change by their start, and results that are the same on every way out;
 *   - takes the known side of an `if`, where a condition is also known inside its own sides and after a side that exits;
 *   - writes what stands in one side of an `if` behind it, if the other side does not come back;
 *   - turns a scope into nested ifs if all its leaves stand at the ends of ifs, and so a loop that never repeats.
 *
 * needs   nothing        keeps   every result bit
 * breaks  nothing        cost    linear per round, at most MAX_ROUNDS
 */
#include "passes/live.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_ROUNDS = 3 };

typedef struct Undo { /* a map entry that held before a condition became known */
  uint32_t id;
  IrValue *was;
} Undo;

typedef struct Simplifier {
  OptLive live;
  IrValue ***meet; /* by instruction id: the one value that each result has on every way out so far, or `differ` */
  IrValue differ;
  bool *fixed; /* by value id: a carried value that is replaced by its start */
  Undo *undo;
  uint32_t nundo, cap_undo;
  uint32_t kept; /* live instructions that were visited   */
  bool dropped;  /* dead ones were                        */
} Simplifier;

static Simplifier *state(OptRebuild *rb) { return rb->self; }

/* --- known conditions --- */

static void know_one(OptRebuild *rb, const IrValue *v, bool x) {
  Simplifier *s = state(rb);
  const Undo u = {v->id, rb->map[v->id]};
  HDB_PUSH(rb->scratch, s->undo, s->nundo, s->cap_undo, u);
  rb->map[v->id] = hdir_const_bool(rb->fn, x);
}

/* From here to the matching forget, the old condition is x. */
static void know(OptRebuild *rb, const IrValue *v, bool x) {
  if (hdir_is_const(v)) return;
  know_one(rb, v, x);
  if (!v->def || !hdir_is_scalar(v->type)) return;
  if (v->def->op == IR_not) know(rb, v->def->args[0], !x);
  if (v->def->op == (x ? IR_and : IR_or)) {
    know(rb, v->def->args[0], x);
    know(rb, v->def->args[1], x);
  }
}

static void forget(OptRebuild *rb, uint32_t mark) {
  Simplifier *s = state(rb);
  while (s->nundo > mark) {
    const Undo *u = &s->undo[--s->nundo];
    rb->map[u->id] = u->was;
  }
}

/* --- hooks for what goes in and out --- */

static bool wanted(OptRebuild *rb, const IrInst *target, OptList which, uint32_t k) {
  Simplifier *s = state(rb);
  const IrValue *v = which == OPT_PARAMS ? target->sub[0]->params[k] : target->res[k];
  return s->live.value[v->id] && !(which == OPT_PARAMS && s->fixed[v->id]);
}

static void meet(OptRebuild *rb, const IrInst *target, uint32_t k, IrValue *v) {
  Simplifier *s = state(rb);
  if (!s->meet[target->id]) s->meet[target->id] = HDB_NEW_N(rb->scratch, IrValue *, target->nres);
  IrValue **m = &s->meet[target->id][k];
  *m = !*m || *m == v ? v : &s->differ;
}

static void args_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[],
                      OptVals *out) {
  for (uint32_t k = 0; k < n; k++) {
    if (target && !wanted(rb, target, which, k)) continue;
    IrValue *v = hdopt_get(rb, old[k]);
    if (target && which == OPT_RESULTS) meet(rb, target, k, v);
    hdopt_push_val(rb, out, v);
  }
}

static void types_hook(OptRebuild *rb, const IrInst *target, uint32_t *n, const IrType *const **types) {
  const IrType **t = HDB_NEW_N(rb->scratch, const IrType *, target->nres);
  *n = 0;
  for (uint32_t k = 0; k < target->nres; k++) {
    if (wanted(rb, target, OPT_RESULTS, k)) t[(*n)++] = target->res[k]->type;
  }
  *types = t;
}

/* Whether v can be used where the builder stands, outside the construct that it came out of. */
static bool visible(OptRebuild *rb, const IrValue *v) {
  return hdir_is_const(v) || hdir_region_contains(v->def ? v->def->region : v->region, rb->b.at);
}

static void bind_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const now[]) {
  const uint32_t count = which == OPT_PARAMS ? target->sub[0]->nparams : target->nres;
  state(rb)->dropped |= count != n;
  for (uint32_t k = 0; k < count; k++) {
    if (!wanted(rb, target, which, k)) continue;
    if (which == OPT_PARAMS) {
      hdopt_set(rb, target->sub[0]->params[k], *now++);
      continue;
    }
    IrValue **all = state(rb)->meet[target->id];
    IrValue *one = all ? all[k] : NULL;
    const bool same = one && one != &state(rb)->differ && one != *now && visible(rb, one);
    hdopt_set(rb, target->res[k], same ? one : *now);
    rb->changed |= same;
    now++;
  }
}

/* --- scopes and loops that are straight code --- */

typedef struct Spine { /* a scope, or a loop that never repeats */
  const IrInst *target;
  IrOp exit; /* leave or break */
} Spine;

typedef struct Rest { /* what follows once a side of `inst` yields */
  const struct Rest *up;
  const IrInst *inst;
} Rest;

static bool is_exit(const Spine *sp, const IrInst *e) {
  return e->op == sp->exit && hdopt_target(e->region, e->op) == sp->target;
}

static bool splits(OptRebuild *rb, const Spine *sp, const IrInst *i) {
  return i->op == IR_if && state(rb)->live.inst[i->id] &&
         (is_exit(sp, i->sub[0]->last) || is_exit(sp, i->sub[1]->last));
}

/* Exits that walk_spine would meet. What follows a split is met once, in the side that yields. */
static uint32_t exits_on_spine(OptRebuild *rb, const Spine *sp, const IrInst *i, const Rest *rest) {
  for (;;) {
    if (hdir_is_ender(i->op)) {
      if (is_exit(sp, i)) return 1;
      if (i->op != IR_yield || !rest) return 0;
      i = rest->inst->next;
      rest = rest->up;
      continue;
    }
    if (splits(rb, sp, i)) {
      const Rest r = {rest, i};
      return exits_on_spine(rb, sp, i->sub[0]->first, &r) + exits_on_spine(rb, sp, i->sub[1]->first, &r);
    }
    i = i->next;
  }
}

static void walk_spine(OptRebuild *rb, const Spine *sp, IrInst *i, const Rest *rest, bool top);

/* The values leave the spine: as results of the whole, or as those of the new `if` around us. */
static void end_spine(OptRebuild *rb, const Spine *sp, const IrInst *e, bool top) {
  OptVals list = {0};
  hdopt_args(rb, sp->target, OPT_RESULTS, e->nargs, e->args, &list);
  if (top)
    hdopt_bind(rb, sp->target, OPT_RESULTS, list.n, list.v);
  else
    hdir_ender(&rb->b, IR_yield, list.n, list.v);
}

static bool yields(const IrInst *i, uint32_t side) { return i->sub[side]->last->op == IR_yield; }

static void split_spine(OptRebuild *rb, const Spine *sp, IrInst *i, const Rest *rest, bool top) {
  uint32_t n;
  const IrType *const *types;
  const Rest r = {rest, i};
  hdopt_result_types(rb, sp->target, &n, &types);
  IrInst *now = hdir_if_begin(&rb->b, hdopt_get(rb, i->args[0]), n, types);
  for (uint32_t side = 0; side < 2; side++) {
    const uint32_t mark = state(rb)->nundo;
    if (side) hdir_if_else(&rb->b, now);
    know(rb, i->args[0], !side);
    walk_spine(rb, sp, i->sub[side]->first, &r, false);
    forget(rb, mark);
  }
  hdir_end(&rb->b, now);
  if (now->sub[0]->last->op != IR_yield && now->sub[1]->last->op != IR_yield) {
    hdir_ender(&rb->b, IR_unreachable, 0, NULL);
  } else if (top) {
    hdopt_bind(rb, sp->target, OPT_RESULTS, now->nres, now->res);
  } else {
    hdir_ender(&rb->b, IR_yield, now->nres, now->res);
  }
}

static void walk_spine(OptRebuild *rb, const Spine *sp, IrInst *i, const Rest *rest, bool top) {
  while (!hdir_ended(&rb->b)) {
    if (i->op == IR_yield && rest) { /* an `if` on the spine has nothing that comes after it twice */
      OptVals list = {0};
      hdopt_args(rb, rest->inst, OPT_RESULTS, i->nargs, i->args, &list);
      hdopt_bind(rb, rest->inst, OPT_RESULTS, list.n, list.v);
      i = rest->inst->next;
      rest = rest->up;
    } else if (is_exit(sp, i) || i->op == IR_yield) {
      end_spine(rb, sp, i, top);
      return;
    } else if (splits(rb, sp, i) && hdir_is_const(hdopt_get(rb, i->args[0]))) {
      const Rest r = {rest, i};
      walk_spine(rb, sp, i->sub[hdopt_get(rb, i->args[0])->bits ? 0 : 1]->first, &r, top);
      return;
    } else if (splits(rb, sp, i)) {
      split_spine(rb, sp, i, rest, top);
      return;
    } else {
      hdopt_visit(rb, i);
      i = i->next;
    }
  }
}

/* Emits a scope or loop without it, if it can be done. */
static bool straighten(OptRebuild *rb, IrInst *i) {
  Simplifier *s = state(rb);
  const Spine sp = {i, i->op == IR_loop ? IR_break : IR_leave};
  uint32_t exits = 0;
  if (i->op == IR_loop && s->live.repeats[i->id]) return false;
  for (const OptEnder *e = s->live.exits[i->id]; e; e = e->next) exits += e->inst->op == sp.exit;
  if (exits_on_spine(rb, &sp, i->sub[0]->first, NULL) != exits) return false;
  if (i->op == IR_loop) {
    OptVals init = {0};
    hdopt_args(rb, i, OPT_PARAMS, i->nargs, i->args, &init);
    hdopt_bind(rb, i, OPT_PARAMS, init.n, init.v);
  }
  walk_spine(rb, &sp, i->sub[0]->first, NULL, true);
  rb->changed = true;
  return true;
}

/* --- control --- */

/* A carried value is fixed if every continue passes it on or passes what it began with. */
static void find_fixed(OptRebuild *rb, const IrInst *loop) {
  Simplifier *s = state(rb);
  for (uint32_t k = 0; k < loop->nargs; k++) {
    IrValue *p = loop->sub[0]->params[k];
    if (!s->live.value[p->id]) continue;
    IrValue *init = hdopt_get(rb, loop->args[k]);
    bool same = true;
    for (const OptEnder *e = s->live.repeats[loop->id]; same && e; e = e->next) {
      IrValue *a = e->inst->args[k], *now = hdir_is_const(a) ? a : rb->map[a->id];
      /* What is defined inside the loop is not in the map yet. */
      same = a == p || now == init || (a == init && !now);
    }
    if (!same) continue;
    s->fixed[p->id] = true;
    hdopt_set(rb, p, init);
    rb->changed = true;
  }
}

/* What is known at one way out of the body need not hold after it. */
static void emit_body(OptRebuild *rb, IrInst *i) {
  const uint32_t mark = state(rb)->nundo;
  if (!straighten(rb, i)) {
    if (i->op == IR_loop) find_fixed(rb, i);
    hdopt_emit(rb, i);
  }
  forget(rb, mark);
}

/* One side does not come back: the other side's code goes behind the `if`. */
static void emit_exiting_if(OptRebuild *rb, IrInst *i, uint32_t exiting) {
  IrInst *now = hdir_if_begin(&rb->b, hdopt_get(rb, i->args[0]), 0, NULL);
  OptFrame f;
  hdopt_push(rb, &f, i);
  for (uint32_t side = 0; side < 2; side++) {
    if (side) hdir_if_else(&rb->b, now);
    if (side != exiting) {
      hdir_ender(&rb->b, IR_yield, 0, NULL);
      continue;
    }
    const uint32_t mark = state(rb)->nundo;
    know(rb, i->args[0], !side);
    hdopt_walk(rb, i->sub[side]->first);
    forget(rb, mark);
  }
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  const bool was = rb->changed || i->sub[1 - exiting]->first->op != IR_yield || i->nres;
  know(rb, i->args[0], exiting);
  hdopt_splice(rb, i, i->sub[1 - exiting]);
  rb->changed = was;
}

static void emit_plain_if(OptRebuild *rb, IrInst *i) {
  uint32_t n;
  const IrType *const *types;
  hdopt_result_types(rb, i, &n, &types);
  IrInst *now = hdir_if_begin(&rb->b, hdopt_get(rb, i->args[0]), n, types);
  OptFrame f;
  hdopt_push(rb, &f, i);
  for (uint32_t side = 0; side < 2; side++) {
    const uint32_t mark = state(rb)->nundo;
    if (side) hdir_if_else(&rb->b, now);
    know(rb, i->args[0], !side);
    hdopt_walk(rb, i->sub[side]->first);
    forget(rb, mark);
  }
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  hdopt_bind(rb, i, OPT_RESULTS, now->nres, now->res);
  hdopt_dead_end(rb, &f);
}

static void emit_if(OptRebuild *rb, IrInst *i) {
  if (hdir_is_const(hdopt_get(rb, i->args[0])))
    hdopt_emit(rb, i);
  else if (yields(i, 0) == yields(i, 1))
    emit_plain_if(rb, i);
  else
    emit_exiting_if(rb, i, yields(i, 0));
}

static bool visit(OptRebuild *rb, IrInst *i) {
  if (hdir_is_ender(i->op)) return false;
  if (!state(rb)->live.inst[i->id]) {
    state(rb)->dropped = true;
    return true;
  }
  state(rb)->kept++;
  switch (i->op) {
  case IR_if: emit_if(rb, i); return true;
  case IR_loop:
  case IR_scope: emit_body(rb, i); return true;
  case IR_assert:
  case IR_check: {
    const IrValue *c = hdopt_get(rb, i->args[0]);
    return hdir_is_const(c) && c->bits;
  }
  default: return false;
  }
}

static const OptHooks hooks = {.visit = visit, .args = args_hook, .types = types_hook, .bind = bind_hook};

static uint32_t count_plain(const IrFunc *fn) {
  uint32_t n = 0;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) n += !hdir_is_ender(i->op);
  return n;
}

/* Returns whether another round may find more: what was dead is gone at once, but folding may leave new dead code. */
static bool simplify_once(IrFunc *fn, Arena *scratch, bool *changed) {
  Simplifier s = {.fixed = HDB_NEW_N(scratch, bool, fn->nvalues), .meet = HDB_NEW_N(scratch, IrValue **, fn->ninsts)};
  hdopt_live(&s.live, fn, scratch);
  OptRebuild rb = {.hooks = &hooks, .self = &s};
  hdopt_rebuild(&rb, fn, scratch);
  const bool again = rb.changed || count_plain(fn) != s.kept;
  *changed |= again || s.dropped;
  return again;
}

bool hdopt_simplify(IrFunc *fn, OptContext *cx) {
  bool changed = false;
  for (int round = 0; round < MAX_ROUNDS; round++) {
    const ArenaMark mark = hdb_mark(cx->scratch);
    const bool again = simplify_once(fn, cx->scratch, &changed);
    hdb_reset(cx->scratch, mark);
    if (!again) break;
  }
  return changed;
}
