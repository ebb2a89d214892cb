/* backends/interp/interp.c -- runs a row of threads: control flow and calls.
 *
 * The region tree is walked with one pointer to the instruction at hand: the parents that regions know are all the
 * stack there is, so depth of nesting costs nothing.
 */
#include "backends/interp/interp.h"

#include "backends/interp/c_call.h"
#include "ir/layout.h"

/* --- moving values --- */

static uint64_t gather(const InterpFrame *f, const IrInst *i, uint32_t skip, uint64_t *to) {
  uint64_t n = 0;
  for (uint32_t k = skip; k < i->nargs; k++) {
    memcpy(to + n, hdinterp_leaves(f, i->args[k]), i->args[k]->type->nleaves * sizeof *to);
    n += i->args[k]->type->nleaves;
  }
  return n;
}

/* The operands of `i` in frame `f` become the values `v` of frame `to`. They pass through the scratch row, because a
 * `continue` may permute the very values it sets. */
static void move(InterpThread *t, const InterpFrame *f, const IrInst *i, InterpFrame *to, IrValue *const v[],
                 uint32_t n) {
  const uint64_t *from = t->frames->scratch;
  gather(f, i, 0, t->frames->scratch);
  for (uint32_t k = 0; k < n; k++) {
    memcpy(hdinterp_leaves(to, v[k]), from, v[k]->type->nleaves * sizeof *from);
    from += v[k]->type->nleaves;
  }
}

/* --- control --- */

static const IrInst *enclosing(const IrInst *i, IrOp op) {
  const IrInst *p = i->region->parent;
  while (p && p->op != op) p = p->region->parent;
  return p;
}

/* An ender gives `i`, an instruction around it, its results; what follows runs next. */
static const IrInst *finish(InterpThread *t, InterpFrame *f, const IrInst *ender, const IrInst *i) {
  move(t, f, ender, f, i->res, i->nres);
  return i->next;
}

static const IrInst *next_round(InterpThread *t, InterpFrame *f, const IrInst *from, const IrInst *loop) {
  move(t, f, from, f, loop->sub[0]->params, loop->sub[0]->nparams);
  return loop->sub[0]->first;
}

static HdStatus enter(InterpThread *t, InterpFrame **f, const IrInst **i) {
  InterpFrame *callee = (*f)->callee[(*i)->id];
  if (callee->running) {
    return hdb_fail(t->err, HD_ERR_UNSUPPORTED, (*i)->callee->name, "function '%s' calls itself", (*i)->callee->name);
  }
  move(t, *f, *i, callee, callee->fn->body->params, callee->fn->body->nparams);
  if (callee->fn->is_extern) {
    hdinterp_c_call(t, *f, *i);
    *i = (*i)->next;
    return HD_OK;
  }
  callee->caller = *f;
  callee->call = *i;
  callee->running = true;
  *i = callee->fn->body->first;
  *f = callee;
  return HD_OK;
}

static const IrInst *come_back(InterpThread *t, InterpFrame **f, const IrInst *ret) {
  InterpFrame *callee = *f;
  callee->running = false;
  *f = callee->caller;
  if (!*f) return NULL;
  move(t, callee, ret, *f, callee->call->res, callee->call->nres);
  return callee->call->next;
}

static HdStatus step(InterpThread *t, InterpFrame **f, const IrInst **at) {
  const IrInst *i = *at;
  switch (i->op) {
  case IR_if: *at = i->sub[*hdinterp_leaves(*f, i->args[0]) ? 0 : 1]->first; break;
  case IR_loop: *at = next_round(t, *f, i, i); break;
  case IR_scope: *at = i->sub[0]->first; break;
  case IR_call: return enter(t, f, at);
  case IR_yield: *at = finish(t, *f, i, i->region->parent); break;
  case IR_break: *at = finish(t, *f, i, enclosing(i, IR_loop)); break;
  case IR_leave: *at = finish(t, *f, i, enclosing(i, IR_scope)); break;
  case IR_continue: *at = next_round(t, *f, i, enclosing(i, IR_loop)); break;
  case IR_return: *at = come_back(t, f, i); break;
  case IR_unreachable: return hdinterp_fault(t, i, "this place is said never to be reached");
  default: *at = i->next; return hdinterp_exec(t, *f, i);
  }
  return HD_OK;
}

/* --- threads --- */

static HdStatus run_thread(InterpThread *t) {
  InterpFrame *f = t->frames->all[0];
  const IrInst *i = f->fn->body->first;
  uint64_t limit = t->launch->max_steps;
  f->running = true;
  for (uint64_t n = 0; i; n++) {
    if (limit && n == limit) return hdinterp_fault(t, i, "the thread runs longer than it may");
    HD_TRY(step(t, &f, &i));
  }
  return HD_OK;
}

static void bind_args(const InterpFrames *fs, const InterpLaunch *launch, const uint32_t offset[]) {
  const InterpFrame *f = fs->all[0];
  for (uint32_t k = 0; k < f->fn->body->nparams; k++) {
    const IrValue *p = f->fn->body->params[k];
    hdinterp_read(fs, p->type, (const char *)launch->args + offset[k], hdinterp_leaves(f, p));
  }
}

static HdStatus run_row(const InterpLaunch *launch, Arena *a, HdError *err) {
  InterpFrames fs;
  hdinterp_frames_init(&fs, launch->kernel, a);
  HD_TRY(hdinterp_c_bind(&fs, launch, err));
  uint32_t *offset = HDB_NEW_N(a, uint32_t, launch->kernel->body->nparams + 1);
  hdir_args_layout(launch->kernel, offset);
  bind_args(&fs, launch, offset);
  InterpThread t = {launch, &fs, {0, 0, 0, 0}, err};
  for (int32_t k = 0; k + 1 < launch->ndim; k++) t.tid[k] = launch->at[k];
  for (int64_t x = launch->begin; x < launch->end; x++) {
    t.tid[launch->ndim - 1] = x;
    HD_TRY(run_thread(&t));
  }
  return HD_OK;
}

static HdStatus run_guarded(const InterpLaunch *launch, Arena *a, HdError *err) {
  jmp_buf jb;
  HDB_GUARD(a, jb) return run_row(launch, a, err);
  else return hdb_fail(err, HD_ERR_NOMEM, "", "no memory for the interpreter of kernel '%s'", launch->kernel->name);
}

HdStatus hdinterp_run(const InterpLaunch *launch, const HdAllocator *mem, HdError *err) {
  Arena a;
  hdb_arena_init(&a, mem);
  HdStatus status = run_guarded(launch, &a, err);
  hdb_arena_free(&a);
  return status;
}
