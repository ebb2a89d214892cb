/* passes/inline.c -- puts the callee's body in place of every call but those of C functions.
 *
 * A callee whose one return ends its body goes in as it is; otherwise it is wrapped in a scope that its returns
 * leave. A return inside a scope of the callee's own would leave that one instead, so such a scope gets one more
 * result, which says that the callee has returned, and the callee's results after it. Array and pointer arguments
 * stand for the parameters directly. The language has no recursion, so calls inside callees are followed here.
 *
 * needs   no recursion        keeps   every result bit
 * breaks  nothing             cost    linear in the code that comes out, which may be much longer
 */
#include "passes/passes.h"
#include "passes/rebuild.h"

typedef struct Inliner Inliner;
struct Inliner { /* one per callee being written, so that its returns know where to go */
  Inliner *up;
  const IrFunc *callee; /* NULL for the function at hand                                 */
  bool straight;        /* no scope: the one return is at the end                        */
  bool *returns;        /* by the callee's instruction ids: a scope with a return inside */
  OptFrame *outer;      /* frames from here outwards are the caller's                    */
  uint32_t left;        /* leaves of the scope that stands for the callee                */
};

static Inliner *inliner(OptRebuild *rb) { return rb->self; }

/* --- what the callee does --- */

static bool has_calls(const IrFunc *fn) {
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if (i->op == IR_call && !hdir_calls_c(i)) return true;
  }
  return false;
}

/* Marks the scopes around each return; returns whether the only one is the end of the body. */
static bool find_returns(const IrFunc *fn, bool *returns) {
  bool straight = fn->body->last && fn->body->last->op == IR_return;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if (i->op != IR_return) continue;
    if (i->region->parent) straight = false;
    for (const IrInst *p = i->region->parent; p; p = p->region->parent) {
      if (p->op == IR_scope) returns[p->id] = true;
    }
  }
  return straight;
}

/* --- emission --- */

/* The callee's results (now, already new values) go out from where we stand: into the nearest scope of the callee
 * that has a return inside, or out of the scope that stands for the whole callee. */
static void send_return(OptRebuild *rb, uint32_t n, IrValue *const now[]) {
  Inliner *in = inliner(rb);
  OptFrame *f = rb->frame;
  while (f != in->outer && f->old->op != IR_scope) f = f->up;
  OptVals list = {0};
  if (f != in->outer) {
    for (uint32_t k = 0; k < f->old->nres; k++) hdopt_push_val(rb, &list, hdir_zero(&rb->b, f->old->res[k]->type));
    hdopt_push_val(rb, &list, hdir_const_bool(rb->fn, true));
    f->again++; /* kept apart from the ordinary ways out */
  } else {
    in->left++;
  }
  for (uint32_t k = 0; k < n; k++) hdopt_push_val(rb, &list, now[k]);
  hdir_ender(&rb->b, IR_leave, list.n, list.v);
}

static void emit_return(OptRebuild *rb, const IrInst *i) {
  OptVals list = {0};
  for (uint32_t k = 0; k < i->nargs; k++) hdopt_push_val(rb, &list, hdopt_get(rb, i->args[k]));
  send_return(rb, list.n, list.v);
}

static bool returns_inside(OptRebuild *rb, const IrInst *scope) {
  Inliner *in = inliner(rb);
  return in->callee && !in->straight && in->returns[scope->id];
}

/* A scope of the callee with a return inside. */
static void emit_returning_scope(OptRebuild *rb, const IrInst *i) {
  Inliner *in = inliner(rb);
  const uint32_t extra = in->callee->nresults, n = i->nres + 1 + extra;
  const IrType **types = HDB_NEW_N(rb->scratch, const IrType *, n);
  for (uint32_t k = 0; k < i->nres; k++) types[k] = i->res[k]->type;
  types[i->nres] = hdir_scalar(&rb->fn->module->types, IR_BOOL);
  for (uint32_t k = 0; k < extra; k++) types[i->nres + 1 + k] = in->callee->results[k];

  IrInst *now = hdir_scope_begin(&rb->b, n, types);
  OptFrame f;
  hdopt_push(rb, &f, i);
  hdopt_walk(rb, i->sub[0]->first);
  hdopt_pop(rb);
  hdir_end(&rb->b, now);
  if (!f.left && !f.again) {
    hdir_ender(&rb->b, IR_unreachable, 0, NULL);
    return;
  }
  if (!f.left) {
    send_return(rb, extra, now->res + i->nres + 1);
    return;
  }
  for (uint32_t k = 0; k < i->nres; k++) hdopt_set(rb, i->res[k], now->res[k]);
  IrInst *test = hdir_if_begin(&rb->b, now->res[i->nres], 0, NULL);
  send_return(rb, extra, now->res + i->nres + 1);
  hdir_if_else(&rb->b, test);
  hdir_ender(&rb->b, IR_yield, 0, NULL);
  hdir_end(&rb->b, test);
}

/* What leaves or ends such a scope in the ordinary way says so. */
static void args_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[],
                      OptVals *out) {
  for (uint32_t k = 0; k < n; k++) hdopt_push_val(rb, out, hdopt_get(rb, old[k]));
  if (!target || target->op != IR_scope || which != OPT_RESULTS || !returns_inside(rb, target)) return;
  const IrFunc *callee = inliner(rb)->callee;
  hdopt_push_val(rb, out, hdir_const_bool(rb->fn, false));
  for (uint32_t k = 0; k < callee->nresults; k++) hdopt_push_val(rb, out, hdir_zero(&rb->b, callee->results[k]));
}

/* --- one call --- */

/* Writes the callee's body; the results are new values. */
static void walk_callee(OptRebuild *rb, const IrFunc *callee, OptVals *results) {
  Inliner *in = inliner(rb);
  if (in->straight) {
    hdopt_walk(rb, callee->body->first);
    if (hdir_ended(&rb->b)) return; /* an endless loop on the way */
    const IrInst *ret = callee->body->last;
    for (uint32_t k = 0; k < ret->nargs; k++) hdopt_push_val(rb, results, hdopt_get(rb, ret->args[k]));
    return;
  }
  IrInst *scope = hdir_scope_begin(&rb->b, callee->nresults, callee->results);
  hdopt_walk(rb, callee->body->first);
  hdir_end(&rb->b, scope);
  for (uint32_t k = 0; k < scope->nres; k++) hdopt_push_val(rb, results, scope->res[k]);
  if (!in->left) hdir_ender(&rb->b, IR_unreachable, 0, NULL);
}

static void emit_call(OptRebuild *rb, const IrInst *call) {
  const IrFunc *callee = call->callee;
  Inliner in = {.up = inliner(rb), .callee = callee, .outer = rb->frame};
  in.returns = HDB_NEW_N(rb->scratch, bool, callee->ninsts);
  in.straight = find_returns(callee, in.returns);

  OptRebuild caller = *rb;
  IrValue **map = HDB_NEW_N(rb->scratch, IrValue *, callee->nvalues);
  for (uint32_t k = 0; k < call->nargs; k++) map[callee->body->params[k]->id] = hdopt_get(rb, call->args[k]);
  rb->self = &in;
  rb->map = map;
  rb->nmap = callee->nvalues;
  rb->foreign = true;
  OptVals results = {0};
  walk_callee(rb, callee, &results);

  rb->self = in.up;
  rb->map = caller.map;
  rb->nmap = caller.nmap;
  rb->foreign = caller.foreign;
  for (uint32_t k = 0; k < results.n; k++) hdopt_set(rb, call->res[k], results.v[k]);
  rb->changed = true;
}

static bool visit(OptRebuild *rb, IrInst *i) {
  Inliner *in = inliner(rb);
  switch (i->op) {
  case IR_call:
    if (hdir_calls_c(i)) return false;
    emit_call(rb, i);
    return true;
  case IR_return:
    if (!in->callee) return false;
    if (!in->straight) emit_return(rb, i);
    return true;
  case IR_scope:
    if (!returns_inside(rb, i)) return false;
    emit_returning_scope(rb, i);
    return true;
  default: return false;
  }
}

static const OptHooks hooks = {.visit = visit, .args = args_hook};

/* Objects of the group go to the front, so that no later copy of the code around them makes more of them. */
static bool lift_shared(const IrFunc *fn) {
  bool changed = false;
  for (IrInst *i = fn->body->first, *next; i; i = next) {
    next = hdir_inst_next(i);
    if (i->op != IR_shared || i->region == fn->body) continue;
    hdir_unlink(i);
    hdir_insert_before(fn->body->first, i);
    changed = true;
  }
  return changed;
}

bool hdopt_inline(IrFunc *fn, OptContext *cx) {
  if (!has_calls(fn)) return lift_shared(fn);
  Inliner top = {0};
  OptRebuild rb = {.hooks = &hooks, .self = &top};
  hdopt_rebuild(&rb, fn, cx->scratch);
  lift_shared(fn);
  return true;
}
