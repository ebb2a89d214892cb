/* frontend/lang/loop.c -- loops, and the jumps out of them.
 *
 * All loops have one shape:
 *     loop (carried) { if cond { yield } else { break carried }  body  continue next }
 * The steps of a for, and the condition of a do, are lowered again before each continue. A range counts once, in front of
 * the body, if that has a continue: all ways into the next round bring one value, so threads that part keep one counter.
 */
#include "frontend/lang/control.h"

static FeVars loop_vars(const FeLoop *loop) { return (FeVars){loop->carried, loop->ncarried, loop->ncarried}; }

static void emit_break(FeLower *L, FeLoop *loop) {
  FeVars vars = loop_vars(loop);
  loop->has_break = true;
  hdir_ender(L->b, IR_break, vars.n, hdfe_carried_now(L, &vars, 0));
}

/* Leave the loop unless c. */
static void emit_test(FeLower *L, FeLoop *loop, IrValue *c) {
  if (hdir_is_const(c) && hdir_const_i64(c)) return;
  IrInst *i = hdir_if_begin(L->b, c, 0, NULL);
  hdir_ender(L->b, IR_yield, 0, NULL);
  hdir_if_else(L->b, i);
  emit_break(L, loop);
  hdir_end(L->b, i);
}

static IrValue *count(FeLower *L, const FeLoop *loop) {
  return hdir_bin(L->b, IR_add, loop->counter, hdir_const_int(L->b->fn, loop->counter->type, 1));
}

/* May a round of the loop whose body holds s end early? */
static bool has_continue(const FeStmt *s) {
  if (!s) return false;
  if (s->kind == FE_CONTINUE) return true;
  if (s->kind == FE_IF || s->kind == FE_STATIC_IF) return has_continue(s->body) || has_continue(s->other);
  for (uint32_t i = 0; s->kind == FE_BLOCK && i < s->nlist; i++)
    if (has_continue(s->list[i])) return true;
  return false;
}

/* The end of a round: what the loop itself does between two of them. */
static void emit_continue(FeLower *L, FeLoop *loop) {
  FeStmt *s = loop->stmt;
  uint32_t nvars = L->nvars;
  FeVars vars = loop_vars(loop);
  IrValue **before = hdfe_carried_now(L, &vars, 0); /* the steps are no part of the statement at hand */
  L->nvars = loop->scope;                           /* the steps see what stands outside of the body */
  if (s->kind == FE_FOR)
    for (uint32_t i = 0; i < s->nlist; i++) hdfe_stmt(L, s->list[i]);
  if (s->kind == FE_DO && s->a) {
    IrValue *c = hdfe_condition(L, s->a);
    hdfe_at(L, s->span);
    emit_test(L, loop, c);
  }
  L->nvars = nvars;
  hdfe_at(L, s->span);
  IrValue **next = hdfe_carried_now(L, &vars, 1);
  if (s->kind == FE_RANGE) next[vars.n++] = loop->next ? loop->next : count(L, loop);
  hdir_ender(L->b, IR_continue, vars.n, next);
  vars.n = loop->ncarried;
  hdfe_carried_set(&vars, before);
}

/* --- a loop that can only end if another thread changes memory --- */

static bool has_call_of(const FeExpr *e, const char *prefix) {
  if (!e) return false;
  if (e->kind == FE_CALL && strncmp(e->name, prefix, strlen(prefix)) == 0) return true;
  for (uint32_t i = 0; i < e->nargs; i++)
    if (has_call_of(e->args[i], prefix)) return true;
  return has_call_of(e->a, prefix) || has_call_of(e->b, prefix) || has_call_of(e->c, prefix);
}

static bool reads_memory(const FeExpr *e) {
  if (!e) return false;
  if (e->kind == FE_INDEX) return true;
  for (uint32_t i = 0; i < e->nargs; i++)
    if (reads_memory(e->args[i])) return true;
  return reads_memory(e->a) || reads_memory(e->b) || reads_memory(e->c);
}

/* Anything by which a body makes progress. */
static bool does_something(const FeStmt *s) {
  if (!s) return false;
  switch (s->kind) {
  case FE_EMPTY:
  case FE_DECL:
  case FE_CONTINUE: return false;
  case FE_BLOCK:
    for (uint32_t i = 0; i < s->nlist; i++)
      if (does_something(s->list[i])) return true;
    return false;
  case FE_IF: return does_something(s->body) || does_something(s->other);
  default: return true;
  }
}

static void warn_spin(FeLower *L, FeStmt *s, uint32_t carried) {
  if ((s->kind != FE_WHILE && s->kind != FE_DO) || carried || !s->a) return;
  if ((has_call_of(s->a, "atomic_") || reads_memory(s->a)) && !does_something(s->body))
    hdfe_report(L->fe, L->unit, s->span, FE_D_spin_loop);
}

/* --- ranges --- */

/* The ends of a range, of one integer type; false after a report. */
static bool range_ends(FeLower *L, FeStmt *s, IrValue **from, IrValue **to) {
  FeEx x = hdfe_expr(L, s->a), y = s->b ? hdfe_expr(L, s->b) : hdfe_ex_error();
  if (x.kind == FE_X_ERROR || y.kind == FE_X_ERROR) return false;
  const IrType *t = x.kind == FE_X_VALUE ? x.v->type : y.kind == FE_X_VALUE ? y.v->type : hdfe_scalar(L, IR_I32);
  bool fits = hdir_is_int(t) && (x.kind == FE_X_VALUE || x.kind == FE_X_INT) &&
              (y.kind == FE_X_INT || (y.kind == FE_X_VALUE && y.v->type == t));
  if (!fits) {
    FeReport *r = hdfe_error(L, s->a->span, FE_D_range_types, hdfe_shown(L, x), hdfe_shown(L, y));
    if (x.kind == FE_X_VALUE && y.kind == FE_X_VALUE) hdfe_hint(L->fe, r, "convert one of them: i32(..)");
    return false;
  }
  *from = hdfe_coerce(L, x, t, s->a->span);
  *to = hdfe_coerce(L, y, t, s->b->span);
  return *from && *to;
}

void hdfe_static_for(FeLower *L, FeStmt *s) {
  IrValue *from, *to;
  if (!s->b || !range_ends(L, s, &from, &to)) return;
  FeKonst *a = hdfe_konst_of(L, hdfe_ex(from)), *b = hdfe_konst_of(L, hdfe_ex(to));
  if (!a || !b) {
    hdfe_error(L, a ? s->b->span : s->a->span, FE_D_not_constant);
    return;
  }
  FeLoop none = {.outer = L->loop};
  int64_t end = hdir_i64_of(from->type, b->bits);
  L->loop = &none;
  for (int64_t i = hdir_i64_of(from->type, a->bits); i < end; i++) {
    if (L->rounds++ >= FE_MAX_UNROLL) {
      hdfe_error(L, s->span, FE_D_unroll_limit, FE_MAX_UNROLL);
      break;
    }
    FeBlock block = hdfe_block_begin(L);
    FeVar *v = hdfe_declare(L, s->name, s->name_span, FE_VAR_KONST, from->type);
    v->used = true;
    v->locked = "the counter of a loop";
    v->konst = hdfe_konst_of(L, hdfe_ex(hdir_const_int(L->b->fn, from->type, i)));
    hdfe_stmt(L, s->body);
    hdfe_block_end(L, block);
    if (hdir_ended(L->b) || L->fe->full) break;
  }
  L->loop = none.outer;
}

/* --- all other loops --- */

static void lower_loop(FeLower *L, FeStmt *s, IrValue *from, IrValue *to) {
  FeVars vars = {0};
  FeStmt without_init = *s; /* which has run already */
  without_init.init = NULL;
  hdfe_assigned_stmt(L, &without_init, &vars);
  warn_spin(L, s, vars.n);
  FeCarried c = hdfe_carried(L, vars);
  IrValue **init = hdfe_carried_now(L, &vars, 1);
  if (from) init[vars.n] = from;
  FeLoop loop = {.outer = L->loop, .stmt = s, .carried = vars.list, .ncarried = vars.n, .scope = L->nvars};
  hdfe_at(L, s->span);
  IrInst *inst = hdir_loop_begin(L->b, vars.n + (from != NULL), init, vars.n, c.types);
  L->loop = &loop;
  hdfe_carried_set(&vars, L->b->at->params);
  FeBlock block = hdfe_block_begin(L);
  if (from) {
    loop.counter = L->b->at->params[vars.n];
    loop.counter->name = s->name;
    emit_test(L, &loop, hdir_bin(L->b, IR_lt, loop.counter, to));
    FeVar *v = hdfe_declare(L, s->name, s->name_span, FE_VAR_VALUE, from->type);
    v->value = loop.counter;
    v->used = true;
    v->locked = "the counter of a loop";
    if (has_continue(s->body)) loop.next = count(L, &loop);
  } else if (s->kind != FE_DO && s->a) {
    IrValue *cond = hdfe_condition(L, s->a);
    hdfe_at(L, s->span);
    emit_test(L, &loop, cond);
  }
  if (s->body) hdfe_scoped(L, s->body);
  if (!hdir_ended(L->b)) emit_continue(L, &loop);
  hdfe_block_end(L, block);
  L->loop = loop.outer;
  hdir_end(L->b, inst);
  hdfe_carried_set(&vars, inst->res);
  hdfe_at(L, s->span);
  if (!loop.has_break) hdir_ender(L->b, IR_unreachable, 0, NULL);
}

void hdfe_loop(FeLower *L, FeStmt *s) {
  FeBlock block = hdfe_block_begin(L);
  IrValue *from = NULL, *to = NULL;
  bool ok = true;
  if (s->kind == FE_RANGE) ok = s->b && range_ends(L, s, &from, &to);
  if (s->init) hdfe_stmt(L, s->init);
  if (ok) {
    lower_loop(L, s, from, to);
  } else if (s->kind == FE_RANGE && s->name && s->body) { /* look into the body all the same */
    hdfe_declare(L, s->name, s->name_span, FE_VAR_ERROR, NULL);
    FeLoop none = {.outer = L->loop, .silent = true};
    L->loop = &none;
    hdfe_scoped(L, s->body);
    L->loop = none.outer;
  }
  hdfe_block_end(L, block);
}

void hdfe_jump(FeLower *L, FeStmt *s) {
  const char *word = s->kind == FE_BREAK ? "break" : "continue";
  hdfe_at(L, s->span);
  if (!L->loop) {
    hdfe_error(L, s->span, FE_D_break_outside, word);
  } else if (!L->loop->stmt) {
    if (!L->loop->silent) hdfe_error(L, s->span, FE_D_break_static_for, word);
  } else if (s->kind == FE_BREAK) {
    emit_break(L, L->loop);
  } else {
    emit_continue(L, L->loop);
  }
}
