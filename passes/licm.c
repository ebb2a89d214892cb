/* passes/licm.c -- what does not change in a loop moves before it.
 *
 * Pure instructions and tid, dim, length move whenever their operands stand outside the loop, also out of an `if` in
 * it: every op is total, so running one more than asked does no harm. A load moves if nothing in the loop may write to
 * its place and if the first round surely runs it, and so does a call of a pure C function. Inner loops go first, and
 * what they give up may leave the outer ones too. The usual loop asks at its head whether to go on, so its loads are not
 * sure; such a loop, if it has a load worth it, is put into an `if` that asks for the first round beforehand.
 *
 * needs   nothing        keeps   every result bit, the order of stores and reports
 * breaks  nothing        cost    linear in the code times the depth of loops; loads look at the stores in their loop
 */
#include "passes/alias.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_HEAD = 8 }; /* instructions before a loop's test that may be repeated before the loop */

typedef struct Hoister {
  Arena *scratch;
  IrFunc *fn;
  IrInst **writes; /* of the loop at hand: stores, atomics, calls */
  uint32_t nwrites, cap_writes;
  uint32_t *depth; /* by value id: of the region that defines it; constants 0 */
  uint32_t ndepth, cap_depth;
  bool changed;
} Hoister;

/* --- depth --- */

static uint32_t depth_of(const Hoister *h, const IrValue *v) { return hdir_is_const(v) ? 0 : h->depth[v->id]; }

static void set_value_depth(Hoister *h, const IrValue *v, uint32_t depth) {
  while (h->ndepth <= v->id) HDB_PUSH(h->scratch, h->depth, h->ndepth, h->cap_depth, 0);
  h->depth[v->id] = depth;
}

static void set_depth(Hoister *h, const IrInst *i, uint32_t depth) {
  for (uint32_t k = 0; k < i->nres; k++) set_value_depth(h, i->res[k], depth);
}

static bool is_invariant(const Hoister *h, const IrInst *i, uint32_t depth) {
  for (uint32_t k = 0; k < i->nargs; k++) {
    if (depth_of(h, i->args[k]) > depth) return false;
  }
  return true;
}

/* --- pure instructions --- */

static void move_before(Hoister *h, IrInst *at, IrInst *i, uint32_t depth) {
  hdir_unlink(i);
  hdir_insert_before(at, i);
  set_depth(h, i, depth);
  h->changed = true;
}

static void hoist_pure(Hoister *h, IrInst *loop, uint32_t depth) {
  const IrInst *end = loop->next;
  for (IrInst *i = loop->sub[0]->first, *next; i != end; i = next) {
    next = hdir_inst_next(i);
    const IrEffect fx = hdir_ops[i->op].effect;
    if ((fx == FX_PURE || fx == FX_LAUNCH) && is_invariant(h, i, depth)) move_before(h, loop, i, depth);
  }
}

/* --- loads, and calls of pure C functions --- */

static void find_writes(Hoister *h, const IrInst *loop) {
  h->nwrites = 0;
  for (IrInst *i = loop->sub[0]->first; i != loop->next; i = hdir_inst_next(i)) {
    const IrEffect fx = hdir_ops[i->op].effect;
    if (fx == FX_WRITES || fx == FX_ATOMIC || fx == FX_GROUP || (fx == FX_CALL && !hdir_calls_pure(i)))
      HDB_PUSH(h->scratch, h->writes, h->nwrites, h->cap_writes, i);
  }
}

static bool is_written(const Hoister *h, const IrValue *p) {
  for (uint32_t k = 0; k < h->nwrites; k++) {
    const IrInst *w = h->writes[k];
    bool everywhere = w->op == IR_call && !hdir_calls_c(w); /* C and atomics do not reach local memory */
    if (w->op == IR_store ? hdopt_may_alias(w->args[0], p) : everywhere || !hdopt_is_local(p)) return true;
  }
  return false;
}

/* Whether control may not come out behind i. */
static bool may_exit(const IrInst *i) {
  if (i->op == IR_loop || i->op == IR_scope || hdir_is_ender(i->op)) return true;
  if (i->op != IR_if) return false;
  for (const IrInst *j = i->sub[0]->first; j != i->next; j = hdir_inst_next(j)) {
    if (j->op == IR_loop || j->op == IR_scope || (hdir_is_ender(j->op) && j->op != IR_yield)) return true;
  }
  return false;
}

static bool is_movable(const Hoister *h, const IrInst *i, uint32_t depth) {
  if (!is_invariant(h, i, depth)) return false;
  return i->op == IR_load ? !is_written(h, i->args[0]) : hdir_calls_pure(i);
}

/* Whether a load or call that moves is sure to run once i is reached. */
static bool has_movable(const Hoister *h, const IrInst *i, uint32_t depth) {
  for (; i && !may_exit(i); i = i->next) {
    if (is_movable(h, i, depth)) return true;
  }
  return false;
}

/* Moves those before the loop, then what only depended on them, and so on. */
static void hoist_loads(Hoister *h, IrInst *loop, IrInst *from, uint32_t depth) {
  while (has_movable(h, from, depth)) {
    for (IrInst *i = from, *next; i && !may_exit(i); i = next) {
      next = i->next;
      if (!is_movable(h, i, depth)) continue;
      if (i == from) from = next;
      move_before(h, loop, i, depth);
    }
    IrInst *stay = from; /* an ender, an `if`, a load or a call stays; a pure instruction may go */
    while (hdir_ops[stay->op].effect == FX_PURE && is_invariant(h, stay, depth)) stay = stay->next;
    from = stay;
    hoist_pure(h, loop, depth);
  }
}

/* --- the guard: the head's test for the first round, before the loop --- */

/* The `if` at the head that breaks or goes on, with nothing but a few pure instructions before it. */
static IrInst *find_head_test(const IrInst *loop) {
  IrInst *i = loop->sub[0]->first;
  for (uint32_t n = 0; hdir_ops[i->op].effect == FX_PURE; i = i->next) {
    if (++n > MAX_HEAD) return NULL;
  }
  if (i->op != IR_if || i->nres) return NULL;
  const IrInst *a = i->sub[0]->first, *b = i->sub[1]->first;
  const bool fits = (a->op == IR_break && b->op == IR_yield) || (a->op == IR_yield && b->op == IR_break);
  return fits ? i : NULL;
}

static IrValue *at_start(IrValue **map, uint32_t nmap, IrValue *v) {
  return !hdir_is_const(v) && v->id < nmap && map[v->id] ? map[v->id] : v;
}

static IrRegion *new_side(Hoister *h, IrInst *parent) {
  IrRegion *r = hdir_region_new(h->fn, parent, 0, NULL);
  parent->sub[parent->nsubs++] = r;
  return r;
}

static void yield_to(Hoister *h, IrRegion *r, uint32_t n, IrValue *const v[]) {
  hdir_append(r, hdir_inst_new(h->fn, IR_yield, n, v, 0, NULL));
}

/* Puts the loop into an `if` on the head's test with the values of the first round; the `if` takes over the loop's
 * results, which get new values to be yielded. */
static void guard(Hoister *h, IrInst *loop, const IrInst *test, uint32_t depth) {
  IrFunc *fn = h->fn;
  const uint32_t nmap = fn->nvalues, breaks = test->sub[0]->first->op == IR_break ? 0 : 1;
  IrValue **map = HDB_NEW_N(h->scratch, IrValue *, nmap);
  for (uint32_t k = 0; k < loop->nargs; k++) map[loop->sub[0]->params[k]->id] = loop->args[k];
  for (const IrInst *i = loop->sub[0]->first; i != test; i = i->next) {
    IrInst *copy = hdir_inst_new(fn, i->op, i->nargs, i->args, 1, &i->res[0]->type);
    copy->imm = i->imm;
    copy->loc = i->loc;
    for (uint32_t k = 0; k < i->nargs; k++) copy->args[k] = at_start(map, nmap, i->args[k]);
    hdir_insert_before(loop, copy);
    set_depth(h, copy, depth);
    map[i->res[0]->id] = copy->res[0];
  }
  IrValue *c = at_start(map, nmap, test->args[0]);
  IrInst *around = hdir_inst_new(fn, IR_if, 1, &c, 0, NULL);
  around->loc = loop->loc;
  hdir_insert_before(loop, around);
  hdir_unlink(loop);

  const IrInst *brk = test->sub[breaks]->first;
  IrValue **first = HDB_NEW_N(h->scratch, IrValue *, brk->nargs);
  for (uint32_t k = 0; k < brk->nargs; k++) first[k] = at_start(map, nmap, brk->args[k]);
  IrRegion *side[2] = {new_side(h, around), new_side(h, around)};
  yield_to(h, side[breaks], brk->nargs, first);
  hdir_append(side[1 - breaks], loop);

  around->nres = loop->nres;
  around->res = loop->res;
  loop->res = hdb_copy(fn->module->arena, loop->res, sizeof *loop->res * loop->nres);
  for (uint32_t k = 0; k < loop->nres; k++) {
    IrValue *v = hdir_value_new(fn, around->res[k]->type);
    v->def = loop;
    v->index = k;
    loop->res[k] = v;
    set_value_depth(h, v, depth + 1);
    around->res[k]->def = around;
  }
  yield_to(h, side[1 - breaks], loop->nres, loop->res);
}

/* --- loops --- */

static void hoist_from(Hoister *h, IrInst *loop, uint32_t depth) {
  hoist_pure(h, loop, depth);
  find_writes(h, loop);
  hoist_loads(h, loop, loop->sub[0]->first, depth);
  IrInst *test = find_head_test(loop);
  if (!test || !has_movable(h, test->next, depth)) return;
  guard(h, loop, test, depth);
  hoist_loads(h, loop, test->next, depth);
}

static void visit_region(Hoister *h, IrRegion *r, uint32_t depth) {
  for (uint32_t k = 0; k < r->nparams; k++) set_value_depth(h, r->params[k], depth);
  for (IrInst *i = r->first, *next; i; i = next) {
    next = i->next;
    set_depth(h, i, depth);
    for (uint32_t k = 0; k < i->nsubs; k++) visit_region(h, i->sub[k], depth + 1);
    if (i->op == IR_loop) hoist_from(h, i, depth);
  }
}

bool hdopt_licm(IrFunc *fn, OptContext *cx) {
  Hoister h = {.scratch = cx->scratch, .fn = fn, .depth = HDB_NEW_N(cx->scratch, uint32_t, fn->nvalues)};
  h.ndepth = h.cap_depth = fn->nvalues;
  visit_region(&h, fn->body, 0);
  return h.changed;
}
