/* passes/forward.c -- a load takes the value of the store or load before it; stores nobody sees go.
 *
 * A walk in order with a short list of facts "at this address is this value". A store drops the facts that it may
 * change (alias.h) and adds its own, a load adds one. Facts enter both sides of an `if`, and what neither side changes
 * holds after it; a loop drops beforehand what its body may change. A store that writes what is there already goes, as
 * does one that is overwritten later in the same region with no read, control or end of the region between. Atomics
 * and calls drop everything that other threads or the callee may reach.
 *
 * needs   equal addresses as equal values (gvn)    keeps   every result bit, the order of what stays
 * breaks  nothing
 * cost    linear; each access looks at no more than MAX_FACTS facts, and a loop at the stores in it
 */
#include "passes/alias.h"
#include "passes/passes.h"

enum { MAX_FACTS = 64, MAX_PENDING = 16 };

typedef struct Fact {
  const IrValue *at;
  IrValue *value;
  bool dead; /* something may have changed it */
} Fact;

typedef struct Forwarder {
  Arena *scratch;
  IrValue **map; /* by value id: what a load is replaced with */
  Fact facts[MAX_FACTS];
  uint32_t nfacts;
  uint32_t base, victim; /* when the list is full, facts from base on make room in turn */
  uint32_t *dropped;     /* facts as they die, so that a side can be taken back */
  uint32_t ndropped, cap_dropped;
  IrInst *pending[MAX_PENDING]; /* stores of this region that nothing has read yet */
  uint32_t npending;
  bool changed;
} Forwarder;

static IrValue *find(const Forwarder *fw, IrValue *v) {
  while (!hdir_is_const(v) && fw->map[v->id]) v = fw->map[v->id];
  return v;
}

/* --- facts --- */

static Fact *fact_at(Forwarder *fw, const IrValue *p) {
  for (uint32_t k = fw->nfacts; k-- > 0;) {
    if (fw->facts[k].at == p && !fw->facts[k].dead) return &fw->facts[k];
  }
  return NULL;
}

static void learn(Forwarder *fw, const IrValue *p, IrValue *v) {
  uint32_t k = fw->nfacts;
  if (k == MAX_FACTS) { /* older facts than base must stay in place: they are taken back to */
    if (fw->base == MAX_FACTS) return;
    if (fw->victim < fw->base || fw->victim >= MAX_FACTS) fw->victim = fw->base;
    k = fw->victim++;
  } else {
    fw->nfacts++;
  }
  fw->facts[k] = (Fact){p, v, false};
}

static void drop_fact(Forwarder *fw, uint32_t k) {
  fw->facts[k].dead = true;
  HDB_PUSH(fw->scratch, fw->dropped, fw->ndropped, fw->cap_dropped, k);
}

static void drop_aliases(Forwarder *fw, const IrValue *p) {
  for (uint32_t k = 0; k < fw->nfacts; k++) {
    if (!fw->facts[k].dead && hdopt_may_alias(fw->facts[k].at, p)) drop_fact(fw, k);
  }
}

static void drop_shared(Forwarder *fw, bool local_too) {
  for (uint32_t k = 0; k < fw->nfacts; k++) {
    if (!fw->facts[k].dead && (local_too || !hdopt_is_local(fw->facts[k].at))) drop_fact(fw, k);
  }
}

static void drop_for(Forwarder *fw, const IrInst *i) {
  switch (hdir_ops[i->op].effect) {
  case FX_WRITES: drop_aliases(fw, i->args[0]); break;
  case FX_GROUP:
  case FX_ATOMIC: drop_shared(fw, false); break;
  case FX_CALL:
    if (!hdir_calls_pure(i)) drop_shared(fw, !hdir_calls_c(i));
    break;
  default: break;
  }
}

/* --- stores that nothing has read --- */

static void forget_pending(Forwarder *fw, uint32_t k) { fw->pending[k] = fw->pending[--fw->npending]; }

static void note_read(Forwarder *fw, const IrValue *p) {
  for (uint32_t k = fw->npending; k-- > 0;) {
    if (hdopt_may_alias(fw->pending[k]->args[0], p)) forget_pending(fw, k);
  }
}

static void kill_overwritten(Forwarder *fw, IrInst *store) {
  for (uint32_t k = fw->npending; k-- > 0;) {
    if (fw->pending[k]->args[0] != store->args[0]) continue;
    hdir_unlink(fw->pending[k]);
    forget_pending(fw, k);
    fw->changed = true;
  }
  if (fw->npending == MAX_PENDING) forget_pending(fw, 0);
  fw->pending[fw->npending++] = store;
}

/* --- instructions --- */

static void visit_load(Forwarder *fw, IrInst *i) {
  const Fact *f = fact_at(fw, i->args[0]);
  if (!f) {
    note_read(fw, i->args[0]);
    learn(fw, i->args[0], i->res[0]);
    return;
  }
  fw->map[i->res[0]->id] = f->value;
  hdir_unlink(i);
  fw->changed = true;
}

static void visit_store(Forwarder *fw, IrInst *i) {
  const Fact *f = fact_at(fw, i->args[0]);
  if (f && f->value == i->args[1]) {
    hdir_unlink(i);
    fw->changed = true;
    return;
  }
  drop_aliases(fw, i->args[0]);
  learn(fw, i->args[0], i->args[1]);
  kill_overwritten(fw, i);
}

static void forward_region(Forwarder *fw, IrRegion *r);

/* Takes the list back to `nfacts` facts, and with `revive` also those that died since `ndropped`. */
static void back_to(Forwarder *fw, uint32_t nfacts, uint32_t ndropped, bool revive) {
  fw->nfacts = nfacts;
  if (!revive) return;
  while (fw->ndropped > ndropped) {
    const uint32_t k = fw->dropped[--fw->ndropped];
    if (k < nfacts) fw->facts[k].dead = false;
  }
}

static void visit_if(Forwarder *fw, IrInst *i) {
  const uint32_t nfacts = fw->nfacts, ndropped = fw->ndropped, base = fw->base;
  fw->base = nfacts;
  forward_region(fw, i->sub[0]);
  const uint32_t n = fw->ndropped - ndropped;
  uint32_t *first = hdb_copy(fw->scratch, fw->dropped ? fw->dropped + ndropped : NULL, sizeof *first * n);
  back_to(fw, nfacts, ndropped, true);
  forward_region(fw, i->sub[1]);
  /* What a side that does not come back has changed does not matter here. */
  back_to(fw, nfacts, ndropped, i->sub[1]->last->op != IR_yield);
  for (uint32_t k = 0; k < n && i->sub[0]->last->op == IR_yield; k++) {
    if (first[k] < nfacts && !fw->facts[first[k]].dead) drop_fact(fw, first[k]);
  }
  fw->base = base;
}

static void drop_for_all(Forwarder *fw, const IrInst *i) {
  for (const IrInst *j = i->sub[0]->first; j != i->next; j = hdir_inst_next(j)) drop_for(fw, j);
}

/* What a loop's body changes does not hold in its next round; what a scope's body changes may have been changed on a
 * way out that did not reach the end. */
static void visit_body(Forwarder *fw, IrInst *i) {
  if (i->op == IR_loop) drop_for_all(fw, i);
  const uint32_t nfacts = fw->nfacts, base = fw->base;
  fw->base = nfacts;
  forward_region(fw, i->sub[0]);
  back_to(fw, nfacts, 0, false);
  fw->base = base;
  if (i->op == IR_scope) drop_for_all(fw, i);
}

static void forward_region(Forwarder *fw, IrRegion *r) {
  fw->npending = 0;
  for (IrInst *i = r->first, *next; i; i = next) {
    next = i->next;
    for (uint32_t k = 0; k < i->nargs; k++) i->args[k] = find(fw, i->args[k]);
    switch (hdir_ops[i->op].effect) {
    case FX_READS: visit_load(fw, i); break;
    case FX_WRITES: visit_store(fw, i); break;
    case FX_ATOMIC:
    case FX_GROUP:
    case FX_CALL:
      drop_for(fw, i);
      if (!hdir_calls_pure(i)) fw->npending = 0;
      break;
    case FX_CONTROL:
      if (i->op == IR_if)
        visit_if(fw, i);
      else
        visit_body(fw, i);
      fw->npending = 0;
      break;
    default: break;
    }
  }
  fw->npending = 0;
}

bool hdopt_forward(IrFunc *fn, OptContext *cx) {
  Forwarder *fw = HDB_NEW(cx->scratch, Forwarder);
  fw->scratch = cx->scratch;
  fw->map = HDB_NEW_N(cx->scratch, IrValue *, fn->nvalues);
  forward_region(fw, fn->body);
  return fw->changed;
}
