/* backends/interp/interp.c -- runs a row of threads: control flow and calls.
 *
 * The region tree is walked with one pointer to the instruction at hand: the parents that regions know are all the
 * stack there is, so depth of nesting costs nothing.
 */
#include "backends/interp/interp.h"

#include "backends/interp/c_call.h"
#include "ir/layout.h"
#include "ir/mma.h"

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

/* The region of `threads` ran for one thread; now the next, or what follows it. */
static const IrInst *next_thread(InterpThread *t, const IrInst *threads) {
  int64_t *x = &t->tid[t->launch->ndim - 1], size = t->launch->kernel->group;
  if (++*x % size) return threads->sub[0]->first;
  *x -= size;
  return threads->next;
}

static const IrInst *yield(InterpThread *t, InterpFrame *f, const IrInst *i) {
  const IrInst *from = i->region->parent;
  return from->op == IR_threads ? next_thread(t, from) : finish(t, f, i, from);
}

/* The end of the function, or of the thread's turn in a region of threads. */
static const IrInst *give_back(InterpThread *t, const IrInst *i) {
  const IrInst *p = i->region->parent;
  while (p && p->op != IR_threads) p = p->region->parent;
  return p ? next_thread(t, p) : come_back(t, &t->frame, i);
}

static HdStatus step(InterpThread *t) {
  const IrInst *i = t->at;
  InterpFrame *f = t->frame;
  switch (i->op) {
  case IR_if: t->at = i->sub[*hdinterp_leaves(f, i->args[0]) ? 0 : 1]->first; break;
  case IR_loop: t->at = next_round(t, f, i, i); break;
  case IR_scope:
  case IR_threads: t->at = i->sub[0]->first; break;
  case IR_call: return enter(t, &t->frame, &t->at);
  case IR_yield: t->at = yield(t, f, i); break;
  case IR_break: t->at = finish(t, f, i, enclosing(i, IR_loop)); break;
  case IR_leave: t->at = finish(t, f, i, enclosing(i, IR_scope)); break;
  case IR_continue: t->at = next_round(t, f, i, enclosing(i, IR_loop)); break;
  case IR_return: t->at = give_back(t, i); break;
  case IR_unreachable: return hdinterp_fault(t, i, "this place is said never to be reached");
  default: t->at = i->next; return hdinterp_exec(t, f, i);
  }
  return HD_OK;
}

/* --- threads --- */

static void start(InterpThread *t) {
  t->frame = t->frames->all[0];
  t->frame->running = true;
  t->at = t->frame->fn->body->first;
  t->steps = 0;
}

/* Until the thread's end, or an instruction that all threads of its group run together. */
static HdStatus run_thread(InterpThread *t) {
  uint64_t limit = t->launch->max_steps;
  for (; t->at && hdir_ops[t->at->op].effect != FX_GROUP; t->steps++) {
    if (limit && t->steps == limit) return hdinterp_fault(t, t->at, "the thread runs longer than it may");
    HD_TRY(step(t));
  }
  return HD_OK;
}

static HdStatus run_group(InterpThread t[], uint32_t n, uint64_t scratch[]) {
  for (uint32_t k = 0; k < n; k++) start(&t[k]);
  do {
    for (uint32_t k = 0; k < n; k++) HD_TRY(run_thread(&t[k]));
    HD_TRY(hdinterp_meet(t, n, scratch));
  } while (t[0].at);
  return HD_OK;
}

static void bind_args(const InterpFrames *fs, const InterpLaunch *launch, const uint32_t offset[]) {
  const InterpFrame *f = fs->all[0];
  for (uint32_t k = 0; k < f->fn->body->nparams; k++) {
    const IrValue *p = f->fn->body->params[k];
    hdinterp_read(fs, p->type, (const char *)launch->args + offset[k], hdinterp_leaves(f, p));
  }
}

/* What is not promised is neither zero nor what the last group left. */
static void spoil(char *shared, uint64_t size) { memset(shared, 0xa5, size); }

static HdStatus run_row(const InterpLaunch *launch, Arena *a, HdError *err) {
  uint32_t group = launch->kernel->group ? (uint32_t)launch->kernel->group : 1;
  uint32_t n = hdir_is_split(launch->kernel) ? 1 : group, inner = (uint32_t)launch->ndim - 1;
  InterpThread *t = HDB_NEW_N(a, InterpThread, n);
  uint64_t *scratch = HDB_NEW_N(a, uint64_t, IR_MMA_MOST_C *(size_t)n);
  uint32_t *offset = HDB_NEW_N(a, uint32_t, launch->kernel->body->nparams + 1);
  hdir_args_layout(launch->kernel, offset);
  for (uint32_t k = 0; k < n; k++) {
    t[k] = (InterpThread){.launch = launch, .frames = HDB_NEW(a, InterpFrames), .err = err};
    hdinterp_frames_init(t[k].frames, launch->kernel, a);
    HD_TRY(hdinterp_c_bind(t[k].frames, launch, err));
    bind_args(t[k].frames, launch, offset);
    for (uint32_t axis = 0; axis < inner; axis++) t[k].tid[axis] = launch->at[axis];
  }
  uint64_t shared_size = t->frames->shared_size;
  char *shared = hdb_alloc(a, shared_size + 16);
  for (int64_t x = launch->begin; x < launch->end; x += group) {
    if (shared_size) spoil(shared, shared_size);
    for (uint32_t k = 0; k < n; k++) {
      t[k].shared = shared;
      t[k].tid[inner] = x + k;
    }
    HD_TRY(run_group(t, n, scratch));
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
