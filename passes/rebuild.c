/* passes/rebuild.c -- writing a function anew (rebuild.h). */
#include "passes/rebuild.h"

#include <assert.h>

/* --- values --- */

IrValue *hdopt_get(OptRebuild *rb, IrValue *old) {
  if (hdir_is_const(old)) return rb->foreign ? hdir_const(rb->fn, old->type, old->bits) : old;
  IrValue *now = old->id < rb->nmap ? rb->map[old->id] : NULL;
  assert(now || (!rb->foreign && !old->def));
  return now ? now : old;
}

void hdopt_set(OptRebuild *rb, const IrValue *old, IrValue *now) {
  assert(old->id < rb->nmap);
  rb->map[old->id] = now;
  if (old->name && !now->name && !hdir_is_const(now)) now->name = old->name;
}

void hdopt_push_val(OptRebuild *rb, OptVals *list, IrValue *v) {
  HDB_PUSH(rb->scratch, list->v, list->n, list->cap, v);
}

void hdopt_args(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[], OptVals *out) {
  if (rb->hooks->args) {
    rb->hooks->args(rb, target, which, n, old, out);
    return;
  }
  for (uint32_t k = 0; k < n; k++) hdopt_push_val(rb, out, hdopt_get(rb, old[k]));
}

void hdopt_bind(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const now[]) {
  if (rb->hooks->bind) {
    rb->hooks->bind(rb, target, which, n, now);
    return;
  }
  IrValue *const *old = which == OPT_PARAMS ? target->sub[0]->params : target->res;
  for (uint32_t k = 0; k < n; k++) hdopt_set(rb, old[k], now[k]);
}

void hdopt_result_types(OptRebuild *rb, const IrInst *i, uint32_t *n, const IrType *const **types) {
  if (rb->hooks->types) {
    rb->hooks->types(rb, i, n, types);
    return;
  }
  const IrType **t = HDB_NEW_N(rb->scratch, const IrType *, i->nres);
  for (uint32_t k = 0; k < i->nres; k++) t[k] = i->res[k]->type;
  *n = i->nres;
  *types = t;
}

/* --- frames --- */

void hdopt_push(OptRebuild *rb, OptFrame *f, const IrInst *old) {
  *f = (OptFrame){
      .up = rb->frame, .old = old, .yield = IR_yield, .leave = IR_leave, .brk = IR_break, .cont = IR_continue};
  rb->frame = f;
}

void hdopt_pop(OptRebuild *rb) { rb->frame = rb->frame->up; }

void hdopt_dead_end(OptRebuild *rb, const OptFrame *f) {
  if (!f->left) hdir_ender(&rb->b, IR_unreachable, 0, NULL);
}

static bool takes(const OptFrame *f, IrOp ender) {
  switch (ender) {
  case IR_yield: return true;
  case IR_break:
  case IR_continue: return f->old->op == IR_loop;
  case IR_leave: return f->old->op == IR_scope;
  default: return false;
  }
}

void hdopt_emit_ender(OptRebuild *rb, const IrInst *e) {
  OptFrame *f = rb->frame;
  while (f && !takes(f, e->op)) f = f->up;
  rb->b.loc = e->loc;
  if (e->op == IR_unreachable) {
    hdir_ender(&rb->b, IR_unreachable, 0, NULL);
    return;
  }
  OptVals list = {0};
  const IrInst *target = f ? f->old : NULL;
  const OptList which = e->op == IR_continue ? OPT_PARAMS : OPT_RESULTS;
  hdopt_args(rb, target, which, e->nargs, e->args, &list);
  if (!f) {
    hdir_ender(&rb->b, e->op, list.n, list.v);
    return;
  }
  const IrOp op = e->op == IR_yield ? f->yield : e->op == IR_leave ? f->leave : e->op == IR_break ? f->brk : f->cont;
  if (e->op == IR_continue)
    f->again++;
  else
    f->left++;
  if (op == IR_NOPS) {
    hdopt_bind(rb, target, which, list.n, list.v);
    rb->stop |= e->op != IR_yield;
  } else {
    hdir_ender(&rb->b, op, list.n, list.v);
  }
}

/* --- instructions --- */

void hdopt_splice(OptRebuild *rb, const IrInst *i, const IrRegion *side) {
  OptFrame f;
  hdopt_push(rb, &f, i);
  f.yield = IR_NOPS;
  hdopt_walk(rb, side->first);
  hdopt_pop(rb);
  rb->changed = true;
}

static void emit_if(OptRebuild *rb, IrInst *i) {
  IrValue *c = hdopt_get(rb, i->args[0]);
  if (hdir_is_const(c)) {
    hdopt_splice(rb, i, i->sub[c->bits ? 0 : 1]);
    return;
  }
  uint32_t n;
  const IrType *const *types;
  hdopt_result_types(rb, i, &n, &types);
  IrInst *now = hdir_if_begin(&rb->b, c, n, types);
  OptFrame f;
  hdopt_push(rb, &f, i);
  hdopt_walk(rb, i->sub[0]->first);
  hdir_if_else(&rb->b, now);
  hdopt_walk(rb, i->sub[1]->first);
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  hdopt_bind(rb, i, OPT_RESULTS, now->nres, now->res);
  hdopt_dead_end(rb, &f);
}

static void emit_loop(OptRebuild *rb, IrInst *i) {
  uint32_t n;
  const IrType *const *types;
  OptVals init = {0};
  hdopt_args(rb, i, OPT_PARAMS, i->nargs, i->args, &init);
  hdopt_result_types(rb, i, &n, &types);
  IrInst *now = hdir_loop_begin(&rb->b, init.n, init.v, n, types);
  hdopt_bind(rb, i, OPT_PARAMS, now->sub[0]->nparams, now->sub[0]->params);
  OptFrame f;
  hdopt_push(rb, &f, i);
  hdopt_walk(rb, i->sub[0]->first);
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  hdopt_bind(rb, i, OPT_RESULTS, now->nres, now->res);
  hdopt_dead_end(rb, &f);
}

static void emit_scope(OptRebuild *rb, IrInst *i) {
  uint32_t n;
  const IrType *const *types;
  hdopt_result_types(rb, i, &n, &types);
  IrInst *now = hdir_scope_begin(&rb->b, n, types);
  OptFrame f;
  hdopt_push(rb, &f, i);
  hdopt_walk(rb, i->sub[0]->first);
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  hdopt_bind(rb, i, OPT_RESULTS, now->nres, now->res);
  hdopt_dead_end(rb, &f);
}

static void emit_plain(OptRebuild *rb, IrInst *i) {
  if (rb->foreign) {
    for (uint32_t k = 0; k < i->nargs; k++) {
      if (hdir_is_const(i->args[k])) rb->map[i->args[k]->id] = hdopt_get(rb, i->args[k]);
    }
  }
  hdir_clone_inst(&rb->b, i, rb->map);
}

void hdopt_emit(OptRebuild *rb, IrInst *i) {
  rb->b.loc = i->loc;
  switch (i->op) {
  case IR_if: emit_if(rb, i); break;
  case IR_loop: emit_loop(rb, i); break;
  case IR_scope: emit_scope(rb, i); break;
  default:
    if (hdir_is_ender(i->op))
      hdopt_emit_ender(rb, i);
    else
      emit_plain(rb, i);
  }
}

void hdopt_visit(OptRebuild *rb, IrInst *i) {
  rb->b.loc = i->loc;
  if (!rb->hooks->visit || !rb->hooks->visit(rb, i)) hdopt_emit(rb, i);
}

void hdopt_walk(OptRebuild *rb, IrInst *i) {
  for (; i && !rb->stop && !hdir_ended(&rb->b); i = i->next) hdopt_visit(rb, i);
}

IrInst *hdopt_rebuild_begin(OptRebuild *rb, IrFunc *fn, Arena *scratch) {
  IrInst *first = fn->body->first;
  fn->body->first = fn->body->last = NULL;
  rb->fn = fn;
  rb->scratch = scratch;
  rb->nmap = fn->nvalues;
  rb->map = HDB_NEW_N(scratch, IrValue *, rb->nmap);
  hdir_build_begin(&rb->b, fn);
  return first;
}

void hdopt_rebuild(OptRebuild *rb, IrFunc *fn, Arena *scratch) { hdopt_walk(rb, hdopt_rebuild_begin(rb, fn, scratch)); }

/* --- walking old code --- */

const IrInst *hdopt_target(const IrRegion *r, IrOp ender) {
  const IrInst *p = r->parent;
  if (ender == IR_yield) return p;
  if (ender == IR_return || ender == IR_unreachable) return NULL;
  const IrOp op = ender == IR_leave ? IR_scope : IR_loop;
  while (p && p->op != op) p = p->region->parent;
  return p;
}

uint32_t hdopt_count(const IrFunc *fn) {
  uint32_t n = 0;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) n++;
  return n;
}

uint32_t hdopt_leaf_offset(const IrType *t, uint32_t part) {
  if (hdir_is_packed(t)) return part;
  if (t->kind == IR_FIXED) return part * t->elem->nleaves;
  uint32_t n = 0;
  for (uint32_t k = 0; k < part; k++) n += t->fields[k].type->nleaves;
  return n;
}
