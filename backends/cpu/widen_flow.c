/* backends/cpu/widen_flow.c -- regions to blocks: branches, masks, joins.
 *
 * The mask of the lanes that run is variable 0; what enders bring to a construct's end are variables too. A jump takes a
 * copy of all variables along, and where jumps meet, those that differ become phis. A construct `waits` when lanes can
 * be done with it, or with its round, while others still run; then its enders only record what the leaving lanes bring
 * and take them out of the mask, and control goes on to the nearest place where lanes may wait. Otherwise an ender is a
 * plain jump, and code for uniform loops looks as a scalar compiler would write it.
 *
 * Code runs only while some lane is on: after a construct that lanes may have left for good, what follows is skipped if
 * none is. So uniform loads are safe, and uniform loops end.
 *
 * Blends stand only at exits and merges: what a lane that left computes in the meantime is never looked at. No value here
 * is ever undefined, so a mask cannot be poisoned by it.
 */
#include "backends/cpu/widen.h"

#include <assert.h>

static void region(CpuWiden *w, const IrRegion *r);

/* --- variables and joins --- */

static uint32_t var_new(CpuWiden *w, const char *type, const char *cur) {
  uint32_t at = w->nvars;
  HDB_PUSH(w->a, w->vars, w->nvars, w->cap_vars, ((CpuVar){type, cur, false}));
  return at;
}

static uint32_t result_vars(CpuWiden *w, const IrInst *i) {
  uint32_t first = w->nvars;
  for (uint32_t k = 0; k < i->nres; k++) var_new(w, hdcpu_type(w, i->res[k]->type, hdcpu_is_vec(w, i->res[k])), NULL);
  return first;
}

static CpuJoin join_new(CpuWiden *w) { return (CpuJoin){.label = hdcpu_label(w), .nvars = w->nvars}; }

static void set_on(CpuWiden *w, const char *mask, bool some) {
  w->vars[0].cur = mask;
  w->vars[0].some = some || mask == w->all;
}

/* Note that control goes from here to `j`; the caller writes the branch. */
static void edge(CpuWiden *w, CpuJoin *j) {
  CpuEdge e = {w->block, hdb_copy(w->a, w->vars, sizeof *w->vars * j->nvars)};
  HDB_PUSH(w->a, j->edges, j->n, j->cap, e);
}

static void jump(CpuWiden *w, CpuJoin *j) {
  edge(w, j);
  hdcpu_line(w, "br label %%%s", j->label);
  w->live = false;
}

static const char *or_zero(const char *opnd) { return opnd ? opnd : "zeroinitializer"; }

/* The value of variable `k` where the edges meet: one for all, or a phi. */
static CpuVar meet(CpuWiden *w, const CpuJoin *j, uint32_t k) {
  CpuVar v = j->edges[0].vars[k];
  bool differ = false;
  for (uint32_t e = 1; e < j->n; e++) {
    differ |= j->edges[e].vars[k].cur != v.cur;
    v.some &= j->edges[e].vars[k].some;
  }
  if (!differ) return v;
  Buf b;
  hdb_buf_init(&b, w->a);
  for (uint32_t e = 0; e < j->n; e++)
    hdb_putf(&b, "%s[ %s, %%%s ]", e ? ", " : "", or_zero(j->edges[e].vars[k].cur), j->edges[e].block);
  v.cur = hdcpu_name(w);
  hdcpu_line(w, "%s = phi %s %s", v.cur, v.type, b.data);
  return v;
}

/* Go on where the edges of `j` meet; false if nothing leads there. */
static bool join_open(CpuWiden *w, CpuJoin *j) {
  w->nvars = j->nvars;
  w->live = j->n > 0;
  if (!w->live) return false;
  hdcpu_open(w, j->label);
  for (uint32_t k = 0; k < j->nvars; k++) w->vars[k] = meet(w, j, k);
  return true;
}

/* --- when no lane is left here --- */

/* The nearest place where lanes may wait, with the mask set for going there; NULL inside a side without branches. */
static CpuJoin *skip_join(CpuWiden *w) {
  set_on(w, w->none, false);
  for (CpuCon *c = w->con; c; c = c->up) {
    if (c->kind == CON_SIDE) return c->inlined ? NULL : &c->end;
    if (c->kind == CON_FUNC || c->kind == CON_THREADS || (c->kind == CON_SCOPE && c->waits)) return &c->end;
    if (c->kind == CON_LOOP && c->waits) {
      const CpuVar *next = &w->vars[c->cont];
      if (next->cur == w->none) return &c->end; /* no lane goes on: out of the loop */
      set_on(w, next->cur, next->some);
      return next->some ? &c->head : &c->latch;
    }
  }
  return NULL;
}

static void skip(CpuWiden *w) {
  CpuJoin *j = skip_join(w);
  if (j) jump(w, j);
}

/* Go on here only if a lane is on. */
static void need_some(CpuWiden *w) {
  CpuVar on = w->vars[0];
  if (on.some || on.cur == w->all) return;
  const char *any = hdcpu_any(w, on.cur), *label = hdcpu_label(w);
  CpuJoin *j = skip_join(w);
  edge(w, j);
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", any, label, j->label);
  hdcpu_open(w, label);
  set_on(w, on.cur, true);
}

/* --- what is cheap enough to run for nothing --- */

static bool cheap(const IrInst *i) {
  if (hdir_is_ender(i->op) || i->op == IR_member) return true;
  if (i->op == IR_div || i->op == IR_rem || i->op == IR_sqrt || i->op == IR_index || i->op == IR_elem) return false;
  return hdir_ops[i->op].effect == FX_PURE || hdir_ops[i->op].effect == FX_LAUNCH;
}

static bool all_cheap(const IrInst *from, uint32_t limit) {
  for (const IrInst *i = from; i; i = i->next)
    if (!cheap(i) || limit-- == 0) return false;
  return true;
}

enum { INLINE_SIDE = 8 }; /* pure instructions; spmd.md section 2: small arms blend, big ones branch */

/* --- if --- */

static void set_results(CpuWiden *w, const IrInst *i, uint32_t first) {
  for (uint32_t k = 0; k < i->nres; k++) hdcpu_set(w, i->res[k], or_zero(w->vars[first + k].cur));
}

/* The values of a yield, break or leave, in the form of the construct's results. */
static void bring(CpuWiden *w, const IrInst *ender, const IrInst *to, uint32_t first) {
  for (uint32_t k = 0; k < ender->nargs; k++)
    w->vars[first + k].cur = hdcpu_get(w, ender->args[k], hdcpu_is_vec(w, to->res[k]));
}

static void uniform_if(CpuWiden *w, const IrInst *i) {
  CpuCon con = {.kind = CON_UNIFORM_IF, .inst = i, .up = w->con};
  const char *c = hdcpu_s(w, i->args[0]), *label[2] = {hdcpu_label(w), hdcpu_label(w)};
  con.results = result_vars(w, i);
  con.end = join_new(w);
  CpuVar *before = hdb_copy(w->a, w->vars, sizeof *w->vars * w->nvars);
  uint32_t n = w->nvars;
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", c, label[0], label[1]);
  w->con = &con;
  for (int s = 0; s < 2; s++) {
    uint32_t mark = hdcpu_mark(w);
    w->nvars = n;
    memcpy(w->vars, before, sizeof *before * n);
    hdcpu_open(w, label[s]);
    region(w, i->sub[s]);
    hdcpu_forget(w, mark);
  }
  w->con = con.up;
  if (join_open(w, &con.end)) set_results(w, i, con.results);
  w->nvars = con.results;
}

/* One side of a varying if, for the lanes of `mask`. Afterwards variable 0 is what is left of them. */
static void side(CpuWiden *w, const IrInst *i, int s, const char *mask, uint32_t results) {
  const IrRegion *r = i->sub[s];
  CpuCon con = {.kind = CON_SIDE, .inst = i, .results = results, .leavers = w->leaves_out[i->id], .up = w->con};
  con.inlined = all_cheap(r->first, INLINE_SIDE);
  if (con.inlined) {
    set_on(w, mask, false);
    w->con = &con;
    region(w, r);
    w->con = con.up;
    return;
  }
  const char *any = hdcpu_any(w, mask), *label = hdcpu_label(w);
  uint32_t mark = hdcpu_mark(w);
  con.end = join_new(w);
  set_on(w, w->none, false);
  edge(w, &con.end);
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", any, label, con.end.label);
  hdcpu_open(w, label);
  set_on(w, mask, true);
  w->con = &con;
  region(w, r);
  w->con = con.up;
  hdcpu_forget(w, mark);
  join_open(w, &con.end);
}

static void varying_if(CpuWiden *w, const IrInst *i) {
  CpuVar on = w->vars[0];
  const char *c = hdcpu_v(w, i->args[0]);
  const char *then = hdcpu_mask_and(w, on.cur, c), *els = hdcpu_mask_andnot(w, on.cur, c);
  uint32_t base = w->nvars, a = result_vars(w, i), b = result_vars(w, i);
  side(w, i, 0, then, a);
  const char *left = w->vars[0].cur;
  side(w, i, 1, els, b);
  if (w->leaves_out[i->id])
    set_on(w, hdcpu_mask_or(w, left, w->vars[0].cur), false);
  else
    w->vars[0] = on;
  bool yields[2] = {i->sub[0]->last->op == IR_yield, i->sub[1]->last->op == IR_yield};
  for (uint32_t k = 0; k < i->nres; k++) {
    const IrType *t = i->res[k]->type;
    const char *x = or_zero(w->vars[a + k].cur), *y = or_zero(w->vars[b + k].cur);
    if (yields[0] && yields[1] && hdcpu_is_vec(w, i->res[k]))
      x = hdcpu_pick(w, c, t, x, y);
    else if (yields[0] && yields[1])
      x = hdcpu_s(w, i->sub[0]->last->args[k]); /* both sides yield this one value */
    hdcpu_set(w, i->res[k], yields[0] ? x : y);
  }
  w->nvars = base;
}

/* --- loop --- */

/* Does an ender in `r` go to a scope outside of it? */
static bool leaves_scope(const IrRegion *r) {
  for (const IrInst *i = r->first; i; i = i->next) {
    if (i->op == IR_leave) return true;
    if (i->op == IR_scope) continue; /* what leaves in there goes no further: a return is no leave */
    for (uint32_t s = 0; s < i->nsubs; s++)
      if (leaves_scope(i->sub[s])) return true;
  }
  return false;
}

typedef struct Header { /* the phis of a loop's head, written when its back edges are known */
  const char **var;     /* by variable: the phi's name, or NULL                             */
  const char **param;
} Header;

static void mark_var(CpuWiden *w, Header *h, uint32_t k) {
  h->var[k] = hdcpu_name(w);
  w->vars[k].cur = h->var[k];
}

/* Which variables may change in the body get a phi. */
static void header_vars(CpuWiden *w, CpuCon *con, Header *h) {
  if (con->waits || con->leavers) mark_var(w, h, 0);
  set_on(w, w->vars[0].cur, true);
  if (con->waits) {
    for (uint32_t k = 0; k < con->inst->nres; k++) mark_var(w, h, con->results + k);
    if (con->out) mark_var(w, h, con->out);
  }
  if (!con->leavers || !leaves_scope(con->inst->sub[0])) return;
  CpuCon *scope = con->up;
  while (scope && scope->kind != CON_SCOPE) scope = scope->up;
  if (!scope) return;
  for (uint32_t k = 0; k < scope->inst->nres; k++) mark_var(w, h, scope->results + k);
  if (scope->out) mark_var(w, h, scope->out);
}

static void write_header(CpuWiden *w, const CpuCon *con, const Header *h, const CpuEdge *from,
                         const char *const *init) {
  const IrRegion *body = con->inst->sub[0];
  hdb_putf(w->out, "%s:\n", con->head.label);
  for (uint32_t k = 0; k < con->head.nvars; k++) {
    if (!h->var[k]) continue;
    hdb_putf(w->out, "  %s = phi %s [ %s, %%%s ]", h->var[k], w->vars[k].type, or_zero(from->vars[k].cur), from->block);
    for (uint32_t e = 0; e < con->head.n; e++)
      hdb_putf(w->out, ", [ %s, %%%s ]", or_zero(con->head.edges[e].vars[k].cur), con->head.edges[e].block);
    hdb_putc(w->out, '\n');
  }
  for (uint32_t k = 0; k < body->nparams; k++) {
    const char *type = hdcpu_type(w, body->params[k]->type, hdcpu_is_vec(w, body->params[k]));
    hdb_putf(w->out, "  %s = phi %s [ %s, %%%s ]", h->param[k], type, init[k], from->block);
    for (uint32_t e = 0; e < con->head.n; e++)
      hdb_putf(w->out, ", [ %s, %%%s ]", or_zero(con->head.edges[e].vars[con->next + k].cur), con->head.edges[e].block);
    hdb_putc(w->out, '\n');
  }
}

/* The next round if a lane goes on, else out. */
static void write_latch(CpuWiden *w, CpuCon *con) {
  if (!join_open(w, &con->latch)) return;
  const char *any = hdcpu_any(w, hdcpu_on(w));
  w->vars[0].some = true;
  edge(w, &con->head);
  set_on(w, w->none, false);
  edge(w, &con->end);
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", any, con->head.label, con->end.label);
  w->live = false;
}

static void loop_body(CpuWiden *w, CpuCon *con, Header *h) {
  const IrRegion *body = con->inst->sub[0];
  header_vars(w, con, h);
  for (uint32_t k = 0; k < body->nparams; k++) {
    h->param[k] = hdcpu_name(w);
    hdcpu_set(w, body->params[k], h->param[k]);
  }
  w->con = con;
  region(w, body);
  w->con = con->up;
  write_latch(w, con);
}

/* Vectors of values from outside that the loop uses are made before it, while they are few: LLVM would make them anew in
 * each round. */
static void hoist_splats(CpuWiden *w, const IrRegion *loop, const IrRegion *r, uint32_t *left) {
  for (const IrInst *i = r->first; i && *left; i = i->next) {
    for (uint32_t s = 0; s < i->nsubs; s++) hoist_splats(w, loop, i->sub[s], left);
    if (hdir_ops[i->op].effect != FX_PURE || i->nres != 1 || !hdir_is_scalar(i->res[0]->type) ||
        !hdcpu_is_vec(w, i->res[0]))
      continue;
    for (uint32_t k = 0; k < i->nargs && *left; k++) {
      const IrValue *v = i->args[k];
      if (hdir_is_const(v) || hdcpu_is_vec(w, v) || !hdir_is_scalar(v->type) || v->type->kind == IR_BOOL) continue;
      if (w->val[v->id].v || hdir_region_contains(loop, v->def ? v->def->region : v->region)) continue;
      hdcpu_v(w, v);
      --*left;
    }
  }
}

static void loop(CpuWiden *w, const IrInst *i) {
  const IrRegion *body = i->sub[0];
  CpuCon con = {
      .kind = CON_LOOP, .inst = i, .waits = w->facts->divergent[i->id], .leavers = w->leaves_out[i->id], .up = w->con};
  uint32_t base = w->nvars, mark;
  CpuVar on = w->vars[0];
  const char **init = HDB_NEW_N(w->a, const char *, body->nparams + 1);
  uint32_t room = w->target->isa == CPU_AVX512 || w->target->isa == CPU_NEON ? 12 : 4;
  hoist_splats(w, body, body, &room);
  for (uint32_t k = 0; k < body->nparams; k++) init[k] = hdcpu_get(w, i->args[k], hdcpu_is_vec(w, body->params[k]));
  con.results = result_vars(w, i);
  if (con.waits && con.leavers) con.out = var_new(w, w->mt, w->none);
  con.end = join_new(w);
  if (con.waits) con.cont = var_new(w, w->mt, w->none);
  con.next = w->nvars;
  for (uint32_t k = 0; k < body->nparams; k++)
    var_new(w, hdcpu_type(w, body->params[k]->type, hdcpu_is_vec(w, body->params[k])), NULL);
  con.head = join_new(w);
  con.latch = join_new(w);

  CpuEdge from = {w->block, hdb_copy(w->a, w->vars, sizeof *w->vars * w->nvars)};
  hdcpu_line(w, "br label %%%s", con.head.label);
  Header h = {HDB_NEW_N(w->a, const char *, w->nvars + 1), HDB_NEW_N(w->a, const char *, body->nparams + 1)};
  Buf *outer = w->out, inner;
  hdb_buf_init(&inner, w->a);
  w->out = &inner;
  w->block = con.head.label;
  w->nmemo = 0;
  mark = hdcpu_mark(w);
  loop_body(w, &con, &h);
  hdcpu_forget(w, mark);
  w->out = outer;
  write_header(w, &con, &h, &from, init);
  if (inner.len) hdb_putn(w->out, inner.data, inner.len);

  if (join_open(w, &con.end)) {
    if (con.waits) w->vars[0] = con.leavers ? w->vars[con.out] : on;
    set_results(w, i, con.results);
  }
  w->nvars = base;
}

/* --- scope --- */

static void scope(CpuWiden *w, const IrInst *i) {
  CpuCon con = {
      .kind = CON_SCOPE, .inst = i, .waits = w->facts->divergent[i->id], .leavers = w->leaves_out[i->id], .up = w->con};
  CpuVar on = w->vars[0];
  uint32_t base = w->nvars, mark = hdcpu_mark(w);
  con.results = result_vars(w, i);
  if (con.waits && con.leavers) con.out = var_new(w, w->mt, w->none);
  con.end = join_new(w);
  w->con = &con;
  region(w, i->sub[0]);
  w->con = con.up;
  hdcpu_forget(w, mark);
  if (join_open(w, &con.end)) {
    if (con.waits) w->vars[0] = con.leavers ? w->vars[con.out] : on;
    set_results(w, i, con.results);
  }
  w->nvars = base;
}

/* --- threads of a group --- */

/* for (local0 = 0; local0 < group; local0 += width) region: lanes are all on, as they are around it. */
static void threads(CpuWiden *w, const IrInst *i) {
  CpuCon con = {.kind = CON_THREADS, .inst = i, .up = w->con};
  const char *head = hdcpu_label(w), *done = hdcpu_label(w), *next = hdcpu_name(w), *from = w->block;
  const char *lane0 = w->lane0;
  uint32_t mark = hdcpu_mark(w);
  hdcpu_line(w, "br label %%%s", head);
  Buf *outer = w->out, inner;
  hdb_buf_init(&inner, w->a);
  w->out = &inner;
  w->block = head;
  w->nmemo = 0;
  w->local0 = hdcpu_name(w);
  w->lane0 = hdcpu_ins(w, "add i64 %s, %s", w->group0, w->local0);
  con.end = join_new(w);
  w->con = &con;
  region(w, i->sub[0]);
  w->con = con.up;
  hdcpu_forget(w, mark);
  const bool ends = join_open(w, &con.end); /* or no thread comes out of the region */
  set_on(w, w->all, true);
  if (ends) {
    hdcpu_line(w, "%s = add i64 %s, %u", next, w->local0, w->width);
    const char *more = hdcpu_ins(w, "icmp ult i64 %s, %d", next, w->fn->group);
    hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", more, head, done);
  }
  w->out = outer;
  hdb_putf(w->out, "%s:\n  %s = phi i64 [ 0, %%%s ]", head, w->local0, from);
  if (ends) hdb_putf(w->out, ", [ %s, %%%s ]", next, w->block);
  hdb_putc(w->out, '\n');
  hdb_putn(w->out, inner.data, inner.len);
  hdcpu_open(w, done);
  w->lane0 = lane0;
  w->local0 = NULL;
}

/* --- enders --- */

/* The lanes that are on bring the ender's values to a construct that waits. */
static void record(CpuWiden *w, CpuCon *con, const IrInst *ender) {
  const char *on = hdcpu_on(w);
  for (uint32_t k = 0; k < ender->nargs; k++) {
    const IrValue *res = con->inst->res[k];
    CpuVar *v = &w->vars[con->results + k];
    bool vec = hdcpu_is_vec(w, res);
    const char *x = hdcpu_get(w, ender->args[k], vec);
    v->cur = vec && v->cur ? hdcpu_pick(w, on, res->type, x, v->cur) : x;
  }
  if (con->out) w->vars[con->out].cur = hdcpu_mask_or(w, w->vars[con->out].cur, on);
}

static void next_round(CpuWiden *w, CpuCon *con, const IrInst *ender) {
  const IrRegion *body = con->inst->sub[0];
  const char *on = hdcpu_on(w);
  if (!con->waits) need_some(w);
  for (uint32_t k = 0; k < ender->nargs; k++) {
    CpuVar *v = &w->vars[con->next + k];
    bool vec = hdcpu_is_vec(w, body->params[k]);
    const char *x = hdcpu_get(w, ender->args[k], vec);
    v->cur = con->waits && vec && v->cur ? hdcpu_pick(w, on, body->params[k]->type, x, v->cur) : x;
  }
  if (!con->waits) {
    jump(w, &con->head);
    return;
  }
  CpuVar *cont = &w->vars[con->cont];
  cont->some |= w->vars[0].some;
  cont->cur = hdcpu_mask_or(w, cont->cur, on);
  skip(w);
}

static CpuCon *target(CpuWiden *w, CpuConKind kind) {
  CpuCon *c = w->con;
  while (c && c->kind != kind) c = c->up;
  assert(c); /* the verifier has seen to it */
  return c;
}

/* A break, leave, or the yield of a scope. */
static void leave(CpuWiden *w, CpuCon *con, const IrInst *ender) {
  if (con->waits) {
    record(w, con, ender);
    skip(w);
  } else {
    bring(w, ender, con->inst, con->results);
    jump(w, &con->end);
  }
}

static void yield(CpuWiden *w, const IrInst *i) {
  CpuCon *con = w->con;
  if (con->kind == CON_SCOPE) {
    leave(w, con, i);
    return;
  }
  bring(w, i, con->inst, con->results);
  if (con->kind == CON_UNIFORM_IF || con->kind == CON_THREADS) {
    jump(w, &con->end);
  } else if (!con->inlined) {
    if (!con->leavers) set_on(w, w->none, false); /* the mask afterwards is the one before */
    jump(w, &con->end);
  }
}

static void ender(CpuWiden *w, const IrInst *i) {
  switch (i->op) {
  case IR_yield: yield(w, i); break;
  case IR_break: leave(w, target(w, CON_LOOP), i); break;
  case IR_leave: leave(w, target(w, CON_SCOPE), i); break;
  case IR_continue: next_round(w, target(w, CON_LOOP), i); break;
  default: skip(w); /* return, unreachable */
  }
}

/* --- regions --- */

static void simple(CpuWiden *w, const IrInst *i) {
  switch (hdir_ops[i->op].effect) {
  case FX_PURE:
    switch (i->op) {
    case IR_index: hdcpu_index(w, i); break;
    case IR_member: hdcpu_member(w, i); break;
    case IR_elem: hdcpu_elem(w, i); break;
    case IR_extract: hdcpu_launch(w, i); break;
    case IR_make: break; /* for a C function, which looks through it */
    default: hdcpu_pure(w, i);
    }
    break;
  case FX_LAUNCH: hdcpu_launch(w, i); break;
  case FX_LOCAL:
    if (i->op == IR_shared)
      hdcpu_shared(w, i);
    else
      hdcpu_alloca(w, i);
    break;
  case FX_READS: hdcpu_load(w, i); break;
  case FX_WRITES: hdcpu_store(w, i); break;
  case FX_ATOMIC: hdcpu_atomic(w, i); break;
  case FX_REPORT: hdcpu_report(w, i); break;
  case FX_END: ender(w, i); break;
  default:
    if (hdir_calls_c(i))
      hdcpu_c_call(w, i);
    else
      hdcpu_fail(w, i, HD_ERR_COMPILE, "calls must be inlined before widening");
  }
}

static void region(CpuWiden *w, const IrRegion *r) {
  for (const IrInst *i = r->first; i && w->live && w->status == HD_OK; i = i->next) {
    switch (i->op) {
    case IR_if:
      if (w->facts->divergent[i->id])
        varying_if(w, i);
      else
        uniform_if(w, i);
      break;
    case IR_loop: loop(w, i); break;
    case IR_scope: scope(w, i); break;
    case IR_threads: threads(w, i); break;
    default:
      if (!w->done[i->id]) simple(w, i);
      continue;
    }
    if (w->live && i->next && !all_cheap(i->next, INLINE_SIDE)) need_some(w);
  }
}

void hdcpu_body(CpuWiden *w, const char *mask, bool some) {
  CpuCon func = {.kind = CON_FUNC};
  w->nvars = 0;
  var_new(w, w->mt, mask);
  set_on(w, mask, some);
  func.end = join_new(w);
  w->con = &func;
  region(w, w->fn->body);
  w->con = NULL;
  hdcpu_forget(w, 0);
  if (w->live) jump(w, &func.end);
  join_open(w, &func.end);
}

/* --- which constructs do lanes leave to places beyond? --- */

static bool goes_beyond(const IrInst *ender, const IrInst *con) {
  switch (ender->op) {
  case IR_break:
  case IR_continue: return con->op != IR_loop;
  case IR_leave: return con->op != IR_scope;
  default: return ender->op == IR_return && con->op != IR_threads; /* which ends the thread's turn */
  }
}

/* Where lanes wait at the end of what is around a return, they must be told from those that returned. */
static bool goes_past_waiting(const CpuWiden *w, const IrInst *ret) {
  for (const IrInst *c = ret->region->parent; c; c = c->region->parent)
    if (c->op != IR_if && w->facts->divergent[c->id]) return true;
  return false;
}

void hdcpu_leavers(CpuWiden *w) {
  for (const IrInst *i = w->fn->body->first; i; i = hdir_inst_next(i)) {
    if (!hdir_is_ender(i->op) || i->op == IR_yield || i->op == IR_unreachable) continue;
    /* all lanes go together, and nobody waits on the way */
    if (i->op == IR_return && !w->facts->masked[i->id] && !goes_past_waiting(w, i)) continue;
    for (const IrInst *c = i->region->parent; c && goes_beyond(i, c); c = c->region->parent)
      w->leaves_out[c->id] = true;
  }
}
