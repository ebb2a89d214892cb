/* frontend/lang/stmt.c -- statements: declarations, assignments, choices and jumps; and a function's body. loop.c has
 * the loops.
 *
 * Variables are SSA values that assignments replace. What a region assigns, it carries out: assigned.c says which
 * variables those are before the region begins.
 */
#include "frontend/lang/control.h"

/* --- variables --- */

void hdfe_var_set(FeLower *L, FeVar *v, IrValue *x) {
  (void)L;
  if (!x->name && x->def && !hdir_is_const(x)) x->name = v->name;
  v->value = x;
}

static void check_name(FeLower *L, const char *name, FeSpan span) {
  if (hdfe_find_generic(L, name) >= 0 || hdfe_type_named(L, name) || hdfe_is_type_family(name) ||
      hdb_map_get_str(&L->unit->structs, name)) {
    hdfe_error(L, span, FE_D_name_is_type, name);
    return;
  }
  for (uint32_t i = L->nvars; i-- > 0;) {
    FeVar *v = L->vars[i];
    if (v->name != name) continue;
    FeReport *r = i >= L->block ? hdfe_error(L, span, FE_D_redeclared, name)
                                : hdfe_report(L->fe, L->unit, span, FE_D_shadowing, name);
    hdfe_note(L->fe, r, L->unit, v->span, FE_D_declared_here, name);
    return;
  }
}

FeVar *hdfe_declare(FeLower *L, const char *name, FeSpan span, FeVarKind kind, const IrType *type) {
  FeVar *v = HDB_NEW(L->fe->arena, FeVar);
  *v = (FeVar){.name = name, .span = span, .kind = kind, .type = type};
  if (name) check_name(L, name, span);
  HDB_PUSH(L->fe->arena, L->vars, L->nvars, L->cap_vars, v);
  return v;
}

FeBlock hdfe_block_begin(FeLower *L) {
  FeBlock b = {L->block};
  L->block = L->nvars;
  return b;
}

void hdfe_block_end(FeLower *L, FeBlock b) {
  for (uint32_t i = L->block; i < L->nvars; i++) {
    FeVar *v = L->vars[i];
    if (!v->used && !v->is_param && v->kind != FE_VAR_ERROR && v->name && v->name[0] != '_')
      hdfe_report(L->fe, L->unit, v->span, FE_D_unused_variable, v->name);
  }
  L->nvars = L->block;
  L->block = b.outer;
}

void hdfe_scoped(FeLower *L, FeStmt *s) {
  FeBlock b = hdfe_block_begin(L);
  hdfe_stmt(L, s);
  hdfe_block_end(L, b);
}

static bool needs_memory(const IrType *t) { return hdfe_has_fixed(t) && !hdfe_has_array(t); }

/* A variable that holds x, or zero; in memory if it has to be. */
static FeVar *declare_value(FeLower *L, const FeStmt *s, const IrType *t, IrValue *x) {
  bool memory = needs_memory(t);
  FeVar *v = hdfe_declare(L, s->name, s->name_span, memory ? FE_VAR_MEMORY : FE_VAR_VALUE, t);
  if (!memory) {
    hdfe_var_set(L, v, x ? x : hdir_zero(L->b, t));
    return v;
  }
  v->value = hdir_alloca(L->b, t); /* zero already */
  v->value->name = s->name;
  if (x) hdir_store(L->b, v->value, x);
  return v;
}

/* An object of the group: shared T name[n]; */
static void decl_shared(FeLower *L, FeStmt *s, const IrType *t) {
  if (!hdfe_needs_group(L, s->span, "shared memory")) t = NULL;
  if (s->a) {
    hdfe_error(L, s->a->span, FE_D_shared_value, s->name);
    t = NULL;
  }
  FeVar *v = hdfe_declare(L, s->name, s->name_span, t ? FE_VAR_MEMORY : FE_VAR_ERROR, t);
  if (!t) return;
  v->value = hdir_shared(L->b, t);
  v->value->name = s->name;
}

static void decl_const(FeLower *L, FeStmt *s, const IrType *t, bool ok) {
  FeEx x = !ok ? hdfe_ex_error() : t ? hdfe_ex(hdfe_value(L, s->a, t)) : hdfe_expr(L, s->a);
  FeKonst *k = hdfe_konst_of(L, x);
  if (!k && x.kind != FE_X_ERROR) hdfe_error(L, s->a->span, FE_D_not_constant);
  FeVar *v = hdfe_declare(L, s->name, s->name_span, k ? FE_VAR_KONST : FE_VAR_ERROR, NULL);
  v->konst = k;
  v->locked = "a constant";
}

static void stmt_decl(FeLower *L, FeStmt *s) {
  if (!s->name) return;
  const IrType *t = s->type ? hdfe_type(L, s->type) : NULL;
  bool ok = t || !s->type;
  if (s->how == FE_CONST) {
    if (s->a) decl_const(L, s, t, ok);
    return;
  }
  if (t && hdfe_has_array(t) && s->how == FE_VAR) {
    hdfe_error(L, s->type->span, FE_D_array_place);
    ok = false;
  }
  if (s->shared) {
    decl_shared(L, s, ok ? t : NULL);
    return;
  }
  IrValue *x = NULL;
  if (s->a && (ok || s->a->kind != FE_LIST)) x = hdfe_value(L, s->a, t);
  hdfe_at(L, s->name_span);
  if (x && ok && s->how == FE_VAR && hdfe_has_array(x->type)) {
    FeReport *r = hdfe_error(L, s->name_span, FE_D_mixed_arrays);
    hdfe_hint(L->fe, r, "let %s = ..; gives it another name", s->name);
    ok = false;
  }
  if (!ok || !(s->a ? x != NULL : t != NULL)) { /* without both it did not parse */
    hdfe_declare(L, s->name, s->name_span, FE_VAR_ERROR, NULL);
    return;
  }
  FeVar *v = declare_value(L, s, x ? x->type : t, x);
  if (s->how == FE_LET) v->locked = "a let variable";
}

/* --- assignments --- */

static FeTok plain_op(FeTok op) {
  switch (op) {
  case TK_ADD_SET: return TK_PLUS;
  case TK_SUB_SET: return TK_MINUS;
  case TK_MUL_SET: return TK_STAR;
  case TK_DIV_SET: return TK_SLASH;
  case TK_REM_SET: return TK_PERCENT;
  case TK_AND_SET: return TK_AMP;
  case TK_OR_SET: return TK_BAR;
  case TK_XOR_SET: return TK_CARET;
  case TK_SHL_SET: return TK_SHL;
  case TK_SHR_SET: return TK_SHR;
  case TK_INC: return TK_PLUS;
  default: return TK_MINUS;
  }
}

/* place op= y: the place is found once. */
static void assign_op(FeLower *L, FeStmt *s, FePlace *p, FeEx y) {
  FeExpr whole = {.kind = FE_ERROR_EXPR, .a = s->a, .b = s->b ? s->b : s->a, .span = s->span, .at = s->span};
  hdfe_at(L, s->span);
  FeEx x = hdfe_ex(hdfe_place_read(L, p));
  FeEx r = hdfe_binary(L, plain_op(s->op), x, y, &whole);
  if (r.kind == FE_X_ERROR) return;
  IrValue *v = hdfe_coerce(L, r, p->type, s->span);
  hdfe_at(L, s->span);
  if (v) hdfe_place_write(L, p, v);
}

/* Writing a variable does not count as using it. */
static FePlace target(FeLower *L, FeExpr *e) {
  FeVar *v = e->kind == FE_NAME ? hdfe_find_var(L, e->name) : NULL;
  bool used = v && v->used;
  FePlace p = hdfe_place(L, e);
  if (v) v->used = used;
  return p;
}

static void stmt_assign(FeLower *L, FeStmt *s) {
  if (s->op == TK_SET && s->a->kind == FE_NAME && s->b->kind == FE_NAME && s->a->name == s->b->name)
    hdfe_report(L->fe, L->unit, s->span, FE_D_self_assign);
  FePlace p = target(L, s->a);
  if (!hdfe_place_assignable(L, &p, s->a)) {
    if (s->b->kind != FE_LIST) hdfe_expr(L, s->b); /* for its own errors */
    return;
  }
  if (s->op != TK_SET) {
    FeEx y = hdfe_expr(L, s->b);
    if (y.kind != FE_X_ERROR) assign_op(L, s, &p, y);
    return;
  }
  IrValue *x = hdfe_value(L, s->b, p.type);
  hdfe_at(L, s->span);
  if (x) hdfe_place_write(L, &p, x);
}

static void stmt_step(FeLower *L, FeStmt *s) {
  FePlace p = target(L, s->a);
  if (hdfe_place_assignable(L, &p, s->a)) assign_op(L, s, &p, hdfe_ex_int(1));
}

/* --- if --- */

FeCarried hdfe_carried(FeLower *L, FeVars vars) {
  FeCarried c = {.vars = vars};
  c.old = HDB_NEW_N(L->fe->arena, IrValue *, vars.n + 1);
  c.types = HDB_NEW_N(L->fe->arena, const IrType *, vars.n + 1);
  for (uint32_t i = 0; i < vars.n; i++) {
    c.old[i] = vars.list[i]->value;
    c.types[i] = vars.list[i]->type;
  }
  return c;
}

IrValue **hdfe_carried_now(FeLower *L, const FeVars *vars, uint32_t more) {
  IrValue **now = HDB_NEW_N(L->fe->arena, IrValue *, vars->n + more + 1);
  for (uint32_t i = 0; i < vars->n; i++) now[i] = vars->list[i]->value;
  return now;
}

void hdfe_carried_set(const FeVars *vars, IrValue *const values[]) {
  for (uint32_t i = 0; i < vars->n; i++) {
    if (values[i]->def || values[i]->region)
      if (!values[i]->name) values[i]->name = vars->list[i]->name;
    vars->list[i]->value = values[i];
  }
}

/* One side of an if; true if its end is reached. */
static bool if_side(FeLower *L, const FeCarried *c, FeStmt *s) {
  if (s) hdfe_scoped(L, s);
  bool reached = !hdir_ended(L->b);
  if (reached) hdir_ender(L->b, IR_yield, c->vars.n, hdfe_carried_now(L, &c->vars, 0));
  hdfe_carried_set(&c->vars, c->old);
  return reached;
}

static void stmt_if(FeLower *L, FeStmt *s) {
  IrValue *cond = hdfe_condition(L, s->a);
  FeVars vars = {0};
  hdfe_assigned_stmt(L, s->body, &vars);
  hdfe_assigned_stmt(L, s->other, &vars);
  FeCarried c = hdfe_carried(L, vars);
  hdfe_at(L, s->span);
  IrInst *inst = hdir_if_begin(L->b, cond, vars.n, c.types);
  bool reached = if_side(L, &c, s->body);
  hdir_if_else(L->b, inst);
  reached |= if_side(L, &c, s->other);
  hdir_end(L->b, inst);
  hdfe_carried_set(&vars, inst->res);
  hdfe_at(L, s->span);
  if (!reached) hdir_ender(L->b, IR_unreachable, 0, NULL);
}

static void stmt_static_if(FeLower *L, FeStmt *s) {
  bool c;
  if (!hdfe_const_bool(L, s->a, &c)) return;
  FeStmt *chosen = c ? s->body : s->other;
  if (chosen) hdfe_scoped(L, chosen);
}

static void stmt_static_assert(FeLower *L, FeStmt *s) {
  bool c;
  if (s->a && hdfe_const_bool(L, s->a, &c) && !c) hdfe_error(L, s->a->span, FE_D_static_assert_failed, s->text);
}

/* --- return --- */

/* The function's results: its value, then what the ref parameters have become. */
static void emit_return(FeLower *L, IrValue *x) {
  uint32_t n = 0;
  IrValue **args = HDB_NEW_N(L->fe->arena, IrValue *, L->nrefs + 2);
  if (L->instance->result) args[n++] = x ? x : hdir_zero(L->b, L->instance->result); /* zero: after an error */
  for (uint32_t i = 0; i < L->nrefs; i++) args[n++] = L->refs[i]->value;
  hdir_ender(L->b, IR_return, n, args);
}

static void stmt_return(FeLower *L, FeStmt *s) {
  const IrType *want = L->instance->result;
  IrValue *x = NULL;
  if (s->a && !want) {
    FeEx ex = hdfe_expr(L, s->a);
    if (ex.kind != FE_X_ERROR) hdfe_error(L, s->a->span, FE_D_return_value, L->fn->name);
  } else if (s->a) {
    x = hdfe_value(L, s->a, want);
  } else if (want) {
    hdfe_error(L, s->span, FE_D_return_missing, hdfe_shown_type(L, want));
  }
  hdfe_at(L, s->span);
  emit_return(L, x);
}

/* --- all --- */

static void stmt_expr(FeLower *L, FeStmt *s) {
  FeEx x = hdfe_expr(L, s->a);
  if (x.kind != FE_X_VALUE || s->a->kind != FE_CALL || strncmp(s->a->name, "atomic_", 7) == 0) return;
  const IrInst *call = x.v->def;
  if (call && call->op == IR_call) {
    if (call->nres > 1 || (hdir_calls_c(call) && !hdir_calls_pure(call))) return;
    for (uint32_t i = 0; i < call->nargs; i++)
      if (hdfe_has_array(call->args[i]->type) || call->args[i]->type->kind == IR_PTR)
        return; /* called for its effect */
  }
  hdfe_report(L->fe, L->unit, s->a->span, FE_D_unused_result, s->a->name);
}

static void stmt_block(FeLower *L, FeStmt *s) {
  FeBlock b = hdfe_block_begin(L);
  for (uint32_t i = 0; i < s->nlist; i++) {
    hdfe_stmt(L, s->list[i]);
    if (!hdir_ended(L->b)) continue;
    bool decided = s->list[i]->kind == FE_STATIC_IF || s->list[i]->kind == FE_STATIC_FOR || (L->fn && L->fn->ngenerics);
    if (i + 1 < s->nlist && !decided) hdfe_report(L->fe, L->unit, s->list[i + 1]->span, FE_D_unreachable_code);
    for (uint32_t k = L->block; i + 1 < s->nlist && k < L->nvars; k++) L->vars[k]->used = true; /* perhaps there */
    break;
  }
  hdfe_block_end(L, b);
}

bool hdfe_count(FeLower *L, uint32_t nstmts, FeSpan span) {
  FeCompiler *fe = L->fe;
  if (fe->full) return false; /* nothing more would be shown; every region is left well formed */
  fe->nstmts += nstmts;
  if (fe->nstmts <= FE_MAX_STMTS) return true;
  hdfe_error(L, span, FE_D_too_much_code, FE_MAX_STMTS);
  fe->full = true;
  return false;
}

void hdfe_stmt(FeLower *L, FeStmt *s) {
  if (!hdfe_count(L, 1, s->span)) return;
  switch (s->kind) {
  case FE_EMPTY: break;
  case FE_DECL: stmt_decl(L, s); break;
  case FE_ASSIGN: stmt_assign(L, s); break;
  case FE_STEP: stmt_step(L, s); break;
  case FE_IF: stmt_if(L, s); break;
  case FE_STATIC_IF: stmt_static_if(L, s); break;
  case FE_WHILE:
  case FE_DO:
  case FE_FOR:
  case FE_RANGE: hdfe_loop(L, s); break;
  case FE_STATIC_FOR: hdfe_static_for(L, s); break;
  case FE_BREAK:
  case FE_CONTINUE: hdfe_jump(L, s); break;
  case FE_RETURN: stmt_return(L, s); break;
  case FE_BLOCK: stmt_block(L, s); break;
  case FE_EXPR: stmt_expr(L, s); break;
  case FE_STATIC_ASSERT: stmt_static_assert(L, s); break;
  }
}

/* --- a function's body --- */

static void declare_param(FeLower *L, uint32_t k, IrValue *x) {
  const FeParam *p = &L->fn->params[k];
  const IrType *t = L->instance->params[k];
  bool memory = p->is_shared || (hdfe_has_fixed(t) && !hdfe_has_array(t));
  if (p->is_shared) hdfe_needs_group(L, p->span, "shared memory");
  FeVar *v = hdfe_declare(L, p->name, p->span, memory ? FE_VAR_MEMORY : FE_VAR_VALUE, t);
  v->is_param = true;
  v->value = x;
  x->name = p->name;
  if (t->kind == IR_ARRAY || hdfe_has_array(t)) v->locked = "an array";
  if (memory && !p->is_ref) { /* its own copy, which can be indexed */
    v->value = hdir_alloca(L->b, t);
    hdir_store(L->b, v->value, x);
  }
  if (p->is_ref && !memory) L->refs[L->nrefs++] = v;
}

static void declare_const_param(FeLower *L, uint32_t k) {
  const FeParam *p = &L->fn->params[k];
  FeKonst *value = hdfe_define(L, p->name, L->instance->params[k], p->span);
  FeVar *v = hdfe_declare(L, p->name, p->span, value ? FE_VAR_KONST : FE_VAR_ERROR, NULL);
  v->konst = value;
  v->is_param = true;
  v->locked = "a const parameter";
}

void hdfe_lower_body(FeLower *L) {
  uint32_t ir = 0;
  L->refs = HDB_NEW_N(L->fe->arena, FeVar *, L->fn->nparams + 1);
  hdfe_at(L, L->fn->span);
  FeBlock b = hdfe_block_begin(L);
  for (uint32_t k = 0; k < L->fn->nparams; k++) {
    if (L->fn->params[k].is_const)
      declare_const_param(L, k);
    else
      declare_param(L, k, L->instance->ir->body->params[ir++]);
  }
  if (L->fn->body) hdfe_stmt(L, L->fn->body);
  hdfe_block_end(L, b);
  if (hdir_ended(L->b)) return;
  if (L->instance->result && L->fn->body && !L->fe->full)
    hdfe_error(L, L->fn->body->end, FE_D_missing_return, L->fn->name);
  hdfe_at(L, L->fn->body ? L->fn->body->end : L->fn->span);
  emit_return(L, NULL);
}
