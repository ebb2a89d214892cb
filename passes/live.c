/* passes/live.c -- what of a function anybody needs: liveness backwards over the region tree. */
#include "passes/live.h"

#include "passes/rebuild.h"

typedef struct Marker {
  OptLive *live;
  Arena *a;
  OptEnder **stores;    /* by instruction id of an alloca: stores into it */
  const IrInst **insts; /* to do */
  const IrValue **values;
  uint32_t ninsts, cap_insts, nvalues, cap_values;
} Marker;

static void mark_inst(Marker *m, const IrInst *i) {
  if (!i || m->live->inst[i->id]) return;
  m->live->inst[i->id] = true;
  HDB_PUSH(m->a, m->insts, m->ninsts, m->cap_insts, i);
}

static void mark_value(Marker *m, const IrValue *v) {
  if (hdir_is_const(v) || m->live->value[v->id]) return;
  m->live->value[v->id] = true;
  HDB_PUSH(m->a, m->values, m->nvalues, m->cap_values, v);
}

static void mark_args(Marker *m, const IrInst *i) {
  for (uint32_t k = 0; k < i->nargs; k++) mark_value(m, i->args[k]);
}

static void add(Arena *a, OptEnder **list, const IrInst *i) {
  OptEnder *e = HDB_NEW(a, OptEnder);
  *e = (OptEnder){*list, i};
  *list = e;
}

/* --- roots --- */

/* The alloca that an address is a part of, or NULL. */
static const IrInst *root_alloca(const IrValue *p) {
  while (p->def && (p->def->op == IR_member || p->def->op == IR_elem)) p = p->def->args[0];
  return p->def && p->def->op == IR_alloca ? p->def : NULL;
}

static void note_ender(Marker *m, const IrInst *i) {
  const IrInst *target = hdopt_target(i->region, i->op);
  if (i->op == IR_unreachable) return; /* what stands before it decides */
  if (!target) {                       /* return */
    mark_inst(m, i->region->parent);
    mark_args(m, i);
  } else if (i->op == IR_continue) {
    add(m->a, &m->live->repeats[target->id], i);
  } else {
    add(m->a, &m->live->exits[target->id], i);
  }
}

static void note_inst(Marker *m, const IrInst *i) {
  const IrInst *home;
  switch (hdir_ops[i->op].effect) {
  case FX_WRITES:
    home = root_alloca(i->args[0]);
    if (home)
      add(m->a, &m->stores[home->id], i);
    else
      mark_inst(m, i);
    break;
  case FX_ATOMIC:
  case FX_GROUP:
  case FX_REPORT: mark_inst(m, i); break;
  case FX_CALL:
    if (!hdir_calls_pure(i)) mark_inst(m, i);
    break;
  case FX_END: note_ender(m, i); break;
  default: break;
  }
}

/* --- marking --- */

/* An ender that jumps out of constructs decides, with them, how often the rest runs. */
static void mark_jumps(Marker *m, const OptEnder *e, const IrInst *target) {
  for (; e; e = e->next) {
    if (e->inst->region->parent != target) mark_inst(m, e->inst->region->parent);
  }
}

static void follow_inst(Marker *m, const IrInst *i) {
  mark_inst(m, i->region->parent);
  switch (i->op) {
  case IR_if: mark_value(m, i->args[0]); break;
  case IR_loop:
    mark_jumps(m, m->live->exits[i->id], i);
    mark_jumps(m, m->live->repeats[i->id], i);
    break;
  case IR_scope: mark_jumps(m, m->live->exits[i->id], i); break;
  case IR_alloca:
    for (const OptEnder *s = m->stores[i->id]; s; s = s->next) mark_inst(m, s->inst);
    break;
  default: mark_args(m, i);
  }
}

static void follow_value(Marker *m, const IrValue *v) {
  if (v->def) {
    mark_inst(m, v->def);
    if (hdir_ops[v->def->op].effect != FX_CONTROL) return;
    for (const OptEnder *e = m->live->exits[v->def->id]; e; e = e->next) mark_value(m, e->inst->args[v->index]);
  } else if (v->region->parent) {
    mark_value(m, v->region->parent->args[v->index]);
    for (const OptEnder *e = m->live->repeats[v->region->parent->id]; e; e = e->next) {
      mark_value(m, e->inst->args[v->index]);
    }
  }
}

void hdopt_live(OptLive *live, const IrFunc *fn, Arena *a) {
  *live = (OptLive){
      .inst = HDB_NEW_N(a, bool, fn->ninsts),
      .value = HDB_NEW_N(a, bool, fn->nvalues),
      .exits = HDB_NEW_N(a, OptEnder *, fn->ninsts),
      .repeats = HDB_NEW_N(a, OptEnder *, fn->ninsts),
  };
  Marker m = {.live = live, .a = a, .stores = HDB_NEW_N(a, OptEnder *, fn->ninsts)};
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    note_inst(&m, i);
    live->count++;
  }
  /* A loop that never ends stays: what follows it is never reached. */
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if (i->op == IR_loop && !live->exits[i->id]) mark_inst(&m, i);
  }
  while (m.ninsts || m.nvalues) {
    if (m.ninsts)
      follow_inst(&m, m.insts[--m.ninsts]);
    else
      follow_value(&m, m.values[--m.nvalues]);
  }
}
