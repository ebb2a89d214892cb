/* passes/promote.c -- local memory that is only reached by constant parts becomes values.
 *
 * Every scalar of every alloca is a variable. One that some computed index, atomic, call or whole-composite access may
 * reach stays in memory; the others become values, which structured control carries along: an `if` gets a result for
 * each variable that one of its sides stores, a loop a carried value and a result, a scope a result. A variable is
 * zero where its alloca stands. There is no need for phi placement: the region tree says where values meet. What is
 * carried without use, simplify drops.
 *
 * needs   scalar loads and stores (scalarise); others keep their scalars in memory
 * keeps   every result bit
 * breaks  nothing
 * cost    linear in the code and in the variables that each construct stores
 */
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_LEAVES = 1024 }; /* an alloca with more stays in memory: the lists of carried values would grow too long */

typedef struct Var {
  const IrType *type;
  const IrInst *home;   /* its alloca                         */
  bool blocked;         /* stays in memory                    */
  struct Store *stores; /* all of them, newest first          */
  IrValue *now;         /* while rebuilding: the value at hand */
} Var;

typedef struct Store {
  struct Store *next;
  const IrInst *inst;
} Store;

typedef struct Place { /* what an address points to */
  uint32_t first;      /* its first variable                                   */
  bool known;          /* it is a part of an alloca that was taken apart       */
  bool computed;       /* somewhere in it: `first` is the start of the range   */
} Place;

typedef struct VarSet {
  uint32_t *v;
  uint32_t n, cap;
} VarSet;

typedef struct Promoter {
  Arena *scratch;
  Var *vars;
  uint32_t nvars, cap_vars;
  Place *places;  /* by value id                                  */
  VarSet *sets;   /* by instruction id: what a construct assigns  */
  uint32_t *mark; /* by instruction id: the last variable entered */
} Promoter;

/* --- finding the variables --- */

static void add_vars(Promoter *pr, const IrInst *home, const IrType *t) {
  if (hdir_is_composite(t)) {
    for (uint32_t k = 0; k < t->nparts; k++) add_vars(pr, home, hdir_part(t, k));
    return;
  }
  const Var v = {.type = t, .home = home};
  HDB_PUSH(pr->scratch, pr->vars, pr->nvars, pr->cap_vars, v);
}

static void block(Promoter *pr, const IrValue *p) {
  const Place *at = &pr->places[p->id];
  if (!at->known || at->computed) return; /* computed: blocked when it was computed */
  for (uint32_t k = 0; k < p->type->elem->nleaves; k++) pr->vars[at->first + k].blocked = true;
}

static void note_part(Promoter *pr, const IrInst *i) {
  const Place *from = &pr->places[i->args[0]->id];
  Place *to = &pr->places[i->res[0]->id];
  if (!from->known) return;
  *to = *from;
  if (from->computed) return;
  const IrType *t = i->args[0]->type->elem;
  const bool fixed = i->op == IR_member || hdir_is_const(i->args[1]);
  const int64_t part = i->op == IR_member ? i->imm : fixed ? hdir_const_i64(i->args[1]) : -1;
  if (part >= 0 && part < t->nparts) {
    to->first += hdopt_leaf_offset(t, (uint32_t)part);
  } else {
    block(pr, i->args[0]);
    to->computed = true;
  }
}

static void note_store(Promoter *pr, const IrInst *i) {
  const Place *at = &pr->places[i->args[0]->id];
  if (!at->known || at->computed) return;
  if (hdir_is_composite(i->args[1]->type)) {
    block(pr, i->args[0]);
    return;
  }
  Store *s = HDB_NEW(pr->scratch, Store);
  *s = (Store){pr->vars[at->first].stores, i};
  pr->vars[at->first].stores = s;
}

static void note_inst(Promoter *pr, const IrInst *i) {
  switch (i->op) {
  case IR_alloca: {
    const IrType *t = i->res[0]->type->elem;
    if (t->nleaves > MAX_LEAVES) return;
    pr->places[i->res[0]->id] = (Place){.first = pr->nvars, .known = true};
    add_vars(pr, i, t);
    return;
  }
  case IR_member:
  case IR_elem: note_part(pr, i); return;
  case IR_load:
    if (hdir_is_composite(i->res[0]->type)) block(pr, i->args[0]);
    return;
  case IR_store: note_store(pr, i); return;
  default:
    for (uint32_t k = 0; k < i->nargs; k++) {
      if (i->args[k]->type->kind == IR_PTR) block(pr, i->args[k]);
    }
  }
}

/* Enters each variable in the constructs around its stores, out to where its alloca stands. */
static void find_assigned(Promoter *pr) {
  for (uint32_t v = 0; v < pr->nvars; v++) {
    if (pr->vars[v].blocked) continue;
    for (const Store *s = pr->vars[v].stores; s; s = s->next) {
      for (const IrRegion *r = s->inst->region; r != pr->vars[v].home->region; r = r->parent->region) {
        if (pr->mark[r->parent->id] == v + 1) break;
        pr->mark[r->parent->id] = v + 1;
        VarSet *set = &pr->sets[r->parent->id];
        HDB_PUSH(pr->scratch, set->v, set->n, set->cap, v);
      }
    }
  }
}

/* --- rebuilding --- */

static Var *var_at(OptRebuild *rb, const IrValue *p) {
  Promoter *pr = rb->self;
  const Place *at = &pr->places[p->id];
  if (!at->known || at->computed || hdir_is_composite(p->type->elem)) return NULL;
  Var *v = &pr->vars[at->first];
  return v->blocked ? NULL : v;
}

/* Whether an address is needed no more: all that it reaches are values now. */
static bool is_gone(OptRebuild *rb, const IrValue *p) {
  Promoter *pr = rb->self;
  const Place *at = &pr->places[p->id];
  if (!at->known || at->computed) return false;
  for (uint32_t k = 0; k < p->type->elem->nleaves; k++) {
    if (pr->vars[at->first + k].blocked) return false;
  }
  return true;
}

/* Sides of an `if` begin with the same values. */
static void visit_if(OptRebuild *rb, IrInst *i) {
  Promoter *pr = rb->self;
  const VarSet *set = &pr->sets[i->id];
  IrValue **before = HDB_NEW_N(rb->scratch, IrValue *, set->n);
  IrInst *now;
  OptFrame f;
  uint32_t n;
  const IrType *const *types;
  for (uint32_t k = 0; k < set->n; k++) before[k] = pr->vars[set->v[k]].now;
  hdopt_result_types(rb, i, &n, &types);
  now = hdir_if_begin(&rb->b, hdopt_get(rb, i->args[0]), n, types);
  hdopt_push(rb, &f, i);
  hdopt_walk(rb, i->sub[0]->first);
  hdir_if_else(&rb->b, now);
  for (uint32_t k = 0; k < set->n; k++) pr->vars[set->v[k]].now = before[k];
  hdopt_walk(rb, i->sub[1]->first);
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  hdopt_bind(rb, i, OPT_RESULTS, now->nres, now->res);
  hdopt_dead_end(rb, &f);
}

static bool visit(OptRebuild *rb, IrInst *i) {
  Promoter *pr = rb->self;
  Var *v;
  switch (i->op) {
  case IR_alloca: {
    const Place *at = &pr->places[i->res[0]->id];
    if (!at->known) return false;
    for (uint32_t k = 0; k < i->res[0]->type->elem->nleaves; k++) {
      Var *leaf = &pr->vars[at->first + k];
      leaf->now = hdir_zero(&rb->b, leaf->type);
    }
    return is_gone(rb, i->res[0]);
  }
  case IR_member:
  case IR_elem: return is_gone(rb, i->res[0]);
  case IR_load:
    v = var_at(rb, i->args[0]);
    if (v) hdopt_set(rb, i->res[0], v->now);
    return v;
  case IR_store:
    v = var_at(rb, i->args[0]);
    if (v) v->now = hdopt_get(rb, i->args[1]);
    return v;
  case IR_if:
    if (hdir_is_const(hdopt_get(rb, i->args[0]))) return false;
    visit_if(rb, i);
    return true;
  default: return false;
  }
}

static void args_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[],
                      OptVals *out) {
  (void)which;
  Promoter *pr = rb->self;
  for (uint32_t k = 0; k < n; k++) hdopt_push_val(rb, out, hdopt_get(rb, old[k]));
  if (!target) return;
  const VarSet *set = &pr->sets[target->id];
  for (uint32_t k = 0; k < set->n; k++) hdopt_push_val(rb, out, pr->vars[set->v[k]].now);
}

static void types_hook(OptRebuild *rb, const IrInst *target, uint32_t *n, const IrType *const **types) {
  Promoter *pr = rb->self;
  const VarSet *set = &pr->sets[target->id];
  const IrType **t = HDB_NEW_N(rb->scratch, const IrType *, target->nres + set->n);
  for (uint32_t k = 0; k < target->nres; k++) t[k] = target->res[k]->type;
  for (uint32_t k = 0; k < set->n; k++) t[target->nres + k] = pr->vars[set->v[k]].type;
  *n = target->nres + set->n;
  *types = t;
}

static void bind_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const now[]) {
  Promoter *pr = rb->self;
  const VarSet *set = &pr->sets[target->id];
  IrValue *const *old = which == OPT_PARAMS ? target->sub[0]->params : target->res;
  const uint32_t count = n - set->n;
  for (uint32_t k = 0; k < count; k++) hdopt_set(rb, old[k], now[k]);
  for (uint32_t k = 0; k < set->n; k++) {
    Var *v = &pr->vars[set->v[k]];
    v->now = now[count + k];
    if (!v->now->name && !hdir_is_const(v->now)) v->now->name = v->home->res[0]->name;
  }
}

static const OptHooks hooks = {.visit = visit, .args = args_hook, .types = types_hook, .bind = bind_hook};

bool hdopt_promote(IrFunc *fn, OptContext *cx) {
  Promoter pr = {.scratch = cx->scratch, .places = HDB_NEW_N(cx->scratch, Place, fn->nvalues)};
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) note_inst(&pr, i);
  bool any = false;
  for (uint32_t v = 0; v < pr.nvars; v++) any |= !pr.vars[v].blocked;
  if (!any) return false;
  pr.sets = HDB_NEW_N(cx->scratch, VarSet, fn->ninsts);
  pr.mark = HDB_NEW_N(cx->scratch, uint32_t, fn->ninsts);
  find_assigned(&pr);
  OptRebuild rb = {.hooks = &hooks, .self = &pr};
  hdopt_rebuild(&rb, fn, cx->scratch);
  return true;
}
