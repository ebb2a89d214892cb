/* frontend/lang/expr.c -- expressions: names, literals, choices; and how types are shown in messages. */
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>

#include "frontend/lang/lower.h"

/* --- messages --- */

static const char *binding_text(FeLower *L) {
  Buf b;
  hdb_buf_init(&b, L->fe->arena);
  hdb_putf(&b, "%s '%s'", L->fn->is_kernel ? "kernel" : "function", L->fn->name);
  for (uint32_t i = 0; L->binds && i < L->fn->ngenerics; i++) {
    hdb_putf(&b, "%s%s = ", i ? ", " : " with ", L->fn->generics[i].name);
    if (L->binds[i].type)
      hdb_put(&b, hdfe_shown_type(L, L->binds[i].type));
    else
      hdb_putf(&b, "%lld", (long long)L->binds[i].size);
  }
  return b.data;
}

FeReport *hdfe_error(FeLower *L, FeSpan span, FeDiagId id, ...) {
  va_list ap;
  va_start(ap, id);
  const char *text = hdfe_format(L->fe, id, ap);
  va_end(ap);
  FeReport *r = hdfe_report_text(L->fe, L->unit, span, id, text);
  int shown = 0;
  for (FeLower *at = L; r && at->caller && shown < 6; at = at->caller)
    if (at->fn && (at->fn->ngenerics || at->unit->library) && ++shown)
      hdfe_note(L->fe, r, at->caller->unit, at->call_span, FE_D_called_from, binding_text(at));
  return r;
}

static void put_type(FeLower *L, Buf *b, const IrType *t) {
  static const char *const shorts[] = {[IR_QUAT] = "quat", [IR_TRANSFORM] = "transform", [IR_SPATIAL] = "spatial"};
  const char *tail = t->elem && t->elem->kind == IR_F32   ? ""
                     : t->elem && t->elem->kind == IR_F64 ? "d"
                     : t->kind != IR_VEC || !t->elem      ? NULL
                     : t->elem->kind == IR_I32            ? "i"
                     : t->elem->kind == IR_U32            ? "u"
                                                          : NULL;
  switch (t->kind) {
  case IR_VEC:
    if (tail && t->rows >= 2 && t->rows <= 4) {
      hdb_putf(b, "vec%u%s", t->rows, tail);
      return;
    }
    break;
  case IR_MAT:
    if (tail && t->rows >= 2 && t->rows <= 4 && t->cols >= 2 && t->cols <= 4) {
      hdb_putf(b, "mat%u%u%s", t->rows, t->cols, tail);
      return;
    }
    break;
  case IR_QUAT:
  case IR_TRANSFORM:
  case IR_SPATIAL:
    if (tail) {
      hdb_putf(b, "%s%s", shorts[t->kind], tail);
      return;
    }
    break;
  case IR_STRUCT: hdb_put(b, t->name); return;
  case IR_FIXED: {
    const IrType *inner = t;
    while (inner->kind == IR_FIXED) inner = inner->elem;
    put_type(L, b, inner);
    for (; t->kind == IR_FIXED; t = t->elem) hdb_putf(b, "[%u]", t->rows);
    return;
  }
  case IR_ARRAY:
    put_type(L, b, t->elem);
    hdb_putf(b, "[%.*s]", (int)t->rows - 1, ",,,");
    return;
  default: break;
  }
  hdir_type_print(b, t);
}

const char *hdfe_shown_type(FeLower *L, const IrType *t) {
  Buf b;
  hdb_buf_init(&b, L->fe->arena);
  put_type(L, &b, t);
  return b.data;
}

const char *hdfe_shown(FeLower *L, FeEx x) {
  switch (x.kind) {
  case FE_X_INT: return "an integer literal";
  case FE_X_FLOAT: return "a float literal";
  case FE_X_VOID: return "nothing";
  case FE_X_VALUE: return hdfe_shown_type(L, x.v->type);
  default: return "an error";
  }
}

const char *hdfe_shown_args(FeLower *L, uint32_t n, const FeEx args[]) {
  Buf b;
  hdb_buf_init(&b, L->fe->arena);
  for (uint32_t i = 0; i < n; i++) hdb_putf(&b, "%s%s", i ? ", " : "", hdfe_shown(L, args[i]));
  return b.len ? b.data : "";
}

static void put_ref(Buf *b, const FeTypeRef *t) {
  if (t->kind == FE_TYPE_SIZE || (t->kind == FE_TYPE_FIXED && !t->elem)) {
    if (t->size && t->size->kind == FE_INT)
      hdb_putf(b, "%llu", (unsigned long long)t->size->integer);
    else
      hdb_put(b, t->size && t->size->name ? t->size->name : "..");
    return;
  }
  if (t->kind != FE_TYPE_NAME) {
    put_ref(b, t->elem);
    return;
  }
  hdb_put(b, t->name ? t->name : "?");
  for (uint32_t i = 0; i < t->nargs; i++) {
    hdb_put(b, i ? ", " : "<");
    put_ref(b, t->args[i]);
  }
  if (t->nargs) hdb_putc(b, '>');
}

/* The [..] behind a parameter's name. */
static void put_axes(Buf *b, const FeTypeRef *t) {
  for (; t && t->kind != FE_TYPE_NAME && t->kind != FE_TYPE_SIZE; t = t->elem) {
    if (t->kind == FE_TYPE_ARRAY) {
      hdb_putf(b, "[%.*s]", (int)t->ndim - 1, ",,,");
      continue;
    }
    FeTypeRef size = {.kind = FE_TYPE_SIZE, .size = t->size};
    hdb_putc(b, '[');
    put_ref(b, &size);
    hdb_putc(b, ']');
  }
}

const char *hdfe_shown_fn(FeLower *L, const FeFn *f) {
  Buf b;
  hdb_buf_init(&b, L->fe->arena);
  hdb_putf(&b, "%s %s", f->is_kernel ? "kernel" : "fn", f->name);
  for (uint32_t i = 0; i < f->ngenerics; i++) hdb_putf(&b, "%s%s", i ? ", " : "<", f->generics[i].name);
  hdb_put(&b, f->ngenerics ? ">(" : "(");
  for (uint32_t i = 0; i < f->nparams; i++) {
    hdb_put(&b, i ? ", " : "");
    if (f->params[i].is_ref) hdb_put(&b, f->params[i].is_shared ? "shared " : "ref ");
    put_ref(&b, f->params[i].type);
    hdb_putf(&b, " %s", f->params[i].name);
    put_axes(&b, f->params[i].type);
  }
  hdb_putc(&b, ')');
  if (f->result) hdb_put(&b, " -> ");
  if (f->result) put_ref(&b, f->result);
  return b.data;
}

/* --- names --- */

FeVar *hdfe_find_var(const FeLower *L, const char *name) {
  for (uint32_t i = L->nvars; i-- > 0;)
    if (L->vars[i]->name == name) return L->vars[i];
  return NULL;
}

static FeEx read_var(FeLower *L, FeVar *v, FeExpr *e) {
  v->used = true;
  switch (v->kind) {
  case FE_VAR_ERROR: return hdfe_ex_error();
  case FE_VAR_KONST: return hdfe_konst_ex(L, v->konst);
  case FE_VAR_MEMORY: hdfe_at(L, e->span); return hdfe_ex(hdir_load(L->b, v->value));
  default: return hdfe_ex(v->value);
  }
}

static FeFn *find_fn(FeLower *L, const char *name) {
  FeFn *f = hdb_map_get_str(&L->unit->fns, name);
  for (uint32_t i = 0; !f && i < L->unit->nimports; i++) f = hdb_map_get_str(&L->unit->imports[i]->fns, name);
  return f;
}

static FeEx unknown_name(FeLower *L, FeExpr *e) {
  bool type = hdfe_type_named(L, e->name) || hdfe_is_type_family(e->name) || hdfe_find_struct(L, e->name);
  FeFn *f = type ? NULL : find_fn(L, e->name);
  if (type || f || hdfe_is_core(e->name)) {
    FeReport *r = hdfe_error(L, e->span, FE_D_not_a_value, e->name,
                             type                ? "type"
                             : f && f->is_kernel ? "kernel"
                                                 : "function");
    if (!f || !f->is_kernel) hdfe_hint(L->fe, r, "write %s(..)", e->name);
    return hdfe_ex_error();
  }
  FeReport *r = hdfe_error(L, e->span, FE_D_unknown_name, e->name);
  FeNearest n;
  hdfe_nearest_begin(&n, e->name);
  for (uint32_t i = L->nvars; i-- > 0;) hdfe_nearest_offer(&n, L->vars[i]->name);
  for (uint32_t i = 0; i < L->unit->nconsts; i++) hdfe_nearest_offer(&n, L->unit->const_list[i]->name);
  for (uint32_t u = 0; u < L->unit->nimports; u++)
    for (uint32_t i = 0; i < L->unit->imports[u]->nconsts; i++)
      hdfe_nearest_offer(&n, L->unit->imports[u]->const_list[i]->name);
  hdfe_nearest_hint(L->fe, r, &n);
  return hdfe_ex_error();
}

static FeEx expr_name(FeLower *L, FeExpr *e) {
  FeVar *v = hdfe_find_var(L, e->name);
  if (v) return read_var(L, v, e);
  int g = hdfe_find_generic(L, e->name);
  if (g >= 0 && L->fn->generics[g].cls == FE_SIZE) {
    if (!L->binds[g].bound) return hdfe_ex_error();
    return hdfe_ex_int(L->binds[g].size);
  }
  FeConstItem *c = hdfe_find_const(L, e->name);
  if (!c) return unknown_name(L, e);
  FeKonst *k = hdfe_const_item(L->fe, c);
  hdfe_at(L, e->span);
  return k ? hdfe_konst_ex(L, k) : hdfe_ex_error();
}

/* --- literals --- */

static FeEx expr_number(FeLower *L, FeExpr *e) {
  FeEx x = {.kind = FE_X_INT, .i = e->integer};
  if (e->kind == FE_FLOAT)
    x = (FeEx){.kind = FE_X_FLOAT, .text = e->text, .f = strtod_l(e->text, NULL, (locale_t)L->fe->c_locale)};
  if (!e->suffix) return x;
  const char *name = strcmp(e->suffix, "u") == 0 ? "u32" : e->suffix;
  const IrType *t = hdfe_type_named(L, hdfe_name(L->fe, name));
  IrValue *v = hdfe_literal(L, x, t, e->span);
  return hdfe_ex(v);
}

/* --- choices --- */

/* Nothing that can be felt if it runs although it need not: no calls, no memory, few operations. */
static int cheap_cost(const FeLower *L, const FeExpr *e) {
  switch (e->kind) {
  case FE_NAME: {
    FeVar *v = hdfe_find_var(L, e->name);
    return v && v->kind == FE_VAR_MEMORY ? 100 : 0;
  }
  case FE_INT:
  case FE_FLOAT:
  case FE_BOOL: return 0;
  case FE_UNARY: return 1 + cheap_cost(L, e->a);
  case FE_BINARY: return (e->op == TK_SLASH || e->op == TK_PERCENT ? 4 : 1) + cheap_cost(L, e->a) + cheap_cost(L, e->b);
  case FE_COND: return 1 + cheap_cost(L, e->a) + cheap_cost(L, e->b) + cheap_cost(L, e->c);
  case FE_FIELD: return cheap_cost(L, e->a);
  default: return 100;
  }
}

static bool is_cheap(const FeLower *L, const FeExpr *e) { return e->depth < 8 && cheap_cost(L, e) <= 4; }

/* An if whose sides are expressions. Its results are the variables that they assign and, last, their own value, the
 * type of which is known only once both are lowered: so it is added to the finished instruction. */
typedef struct Choice {
  FeLower *L;
  IrInst *inst;
  FeVars vars;
  IrValue **old;
  IrInst *yield[2];
} Choice;

static void choice_begin(Choice *c, FeLower *L, IrValue *cond, FeExpr *a, FeExpr *b) {
  *c = (Choice){.L = L};
  if (a) hdfe_assigned_expr(L, a, &c->vars);
  if (b) hdfe_assigned_expr(L, b, &c->vars);
  const IrType **types = HDB_NEW_N(L->fe->arena, const IrType *, c->vars.n + 1);
  c->old = HDB_NEW_N(L->fe->arena, IrValue *, c->vars.n + 1);
  for (uint32_t i = 0; i < c->vars.n; i++) {
    types[i] = c->vars.list[i]->type;
    c->old[i] = c->vars.list[i]->value;
  }
  c->inst = hdir_if_begin(L->b, cond, c->vars.n, types);
}

/* End a side with its value, which may be replaced later. */
static void choice_side(Choice *c, int side) {
  FeLower *L = c->L;
  IrValue **args = HDB_NEW_N(L->fe->arena, IrValue *, c->vars.n + 1);
  for (uint32_t i = 0; i < c->vars.n; i++) {
    args[i] = c->vars.list[i]->value;
    c->vars.list[i]->value = c->old[i];
  }
  args[c->vars.n] = hdfe_i32(L, 0);
  hdir_ender(L->b, IR_yield, c->vars.n + 1, args);
  c->yield[side] = L->b->at->last;
  if (side == 0) hdir_if_else(L->b, c->inst);
}

static FeEx choice_end(Choice *c, IrValue *x, IrValue *y) {
  FeLower *L = c->L;
  IrInst *inst = c->inst;
  hdir_end(L->b, inst);
  for (uint32_t i = 0; i < c->vars.n; i++) c->vars.list[i]->value = inst->res[i];
  if (!x || !y) {
    c->yield[0]->nargs = c->yield[1]->nargs = c->vars.n;
    return hdfe_ex_error();
  }
  c->yield[0]->args[c->vars.n] = x;
  c->yield[1]->args[c->vars.n] = y;
  IrValue **res = HDB_NEW_N(L->fe->arena, IrValue *, inst->nres + 1);
  if (inst->nres) memcpy(res, inst->res, sizeof *res * inst->nres);
  IrValue *v = hdir_value_new(L->b->fn, x->type);
  v->def = inst;
  v->index = inst->nres;
  res[inst->nres++] = v;
  inst->res = res;
  return hdfe_ex(v);
}

/* Back to the end of the first side, for what has its type only now: a choice of numbers without one asks a condition that is
 * known on that side alone. */
static void reopen_first(Choice *c) {
  if (!c) return;
  hdir_unlink(c->yield[0]);
  c->L->b->at = c->inst->sub[0];
}

static void close_first(Choice *c) {
  if (!c) return;
  hdir_append(c->inst->sub[0], c->yield[0]);
  c->L->b->at = c->inst->sub[1];
}

/* Both sides of ?: to one type. `c`: the second side is at hand; NULL: there are no sides. */
static bool unify(FeLower *L, Choice *c, FeEx x, FeEx y, FeExpr *e, const IrType *wanted, IrValue **vx, IrValue **vy) {
  *vx = *vy = NULL;
  if (x.kind == FE_X_ERROR || y.kind == FE_X_ERROR) return false;
  bool lx = x.kind != FE_X_VALUE, ly = y.kind != FE_X_VALUE;
  if (lx && ly && x.kind != FE_X_VOID && y.kind != FE_X_VOID) {
    bool ints = x.kind == FE_X_INT && y.kind == FE_X_INT;
    const IrType *t = wanted && (ints || hdir_is_float(wanted)) ? wanted : hdfe_scalar(L, ints ? IR_I32 : IR_F32);
    reopen_first(c);
    *vx = hdfe_literal(L, x, t, e->b->span);
    close_first(c);
    *vy = hdfe_literal(L, y, t, e->c->span);
    return *vx && *vy;
  }
  const IrType *t = lx ? (ly ? NULL : y.v->type) : x.v->type;
  bool fits = t && (lx   ? (x.kind != FE_X_VOID && hdfe_is_number(t))
                    : ly ? (y.kind != FE_X_VOID && hdfe_is_number(t))
                         : x.v->type == y.v->type);
  if (fits && (x.kind == FE_X_FLOAT || y.kind == FE_X_FLOAT) && !hdir_is_float(t)) fits = false;
  if (!fits) {
    hdfe_error(L, e->span, FE_D_branch_types, hdfe_shown(L, x), hdfe_shown(L, y));
    return false;
  }
  if (hdfe_has_array(t)) {
    hdfe_error(L, e->span, FE_D_mixed_arrays);
    return false;
  }
  reopen_first(c);
  *vx = hdfe_coerce(L, x, t, e->b->span);
  close_first(c);
  *vy = hdfe_coerce(L, y, t, e->c->span);
  return *vx && *vy;
}

static bool is_untyped(FeEx x) { return x.kind == FE_X_INT || x.kind == FE_X_FLOAT; }

static FeEx untyped_choice(FeLower *L, IrValue *c, FeEx a, FeEx b) {
  FeChoice *choice = HDB_NEW(L->fe->arena, FeChoice);
  *choice = (FeChoice){c, a, b};
  return (FeEx){.kind = a.kind == FE_X_INT ? b.kind : a.kind, .choice = choice};
}

static FeEx side(FeLower *L, FeExpr *e, const IrType *wanted) {
  L->wanted = e->kind == FE_COND ? wanted : NULL;
  return hdfe_expr(L, e);
}

static FeEx expr_cond(FeLower *L, FeExpr *e) {
  const IrType *wanted = L->wanted;
  L->wanted = NULL;
  IrValue *c = hdfe_condition(L, e->a);
  if (hdir_is_const(c)) return side(L, hdir_const_i64(c) ? e->b : e->c, wanted);
  IrValue *x, *y;
  if (is_cheap(L, e->b) && is_cheap(L, e->c)) {
    FeEx ex = hdfe_expr(L, e->b), ey = hdfe_expr(L, e->c);
    hdfe_at(L, e->span);
    if (is_untyped(ex) && is_untyped(ey)) return untyped_choice(L, c, ex, ey);
    return unify(L, NULL, ex, ey, e, NULL, &x, &y) ? hdfe_ex(hdir_select(L->b, c, x, y)) : hdfe_ex_error();
  }
  Choice choice;
  hdfe_at(L, e->span);
  choice_begin(&choice, L, c, e->b, e->c);
  FeEx ex = side(L, e->b, wanted);
  choice_side(&choice, 0);
  FeEx ey = side(L, e->c, wanted);
  unify(L, &choice, ex, ey, e, wanted, &x, &y);
  choice_side(&choice, 1);
  return choice_end(&choice, x, y);
}

IrValue *hdfe_condition(FeLower *L, FeExpr *e) {
  FeEx x = hdfe_expr(L, e);
  if (x.kind == FE_X_VALUE && x.v->type->kind == IR_BOOL) return x.v;
  if (x.kind != FE_X_ERROR) {
    FeReport *r = hdfe_error(L, e->span, FE_D_condition_type, hdfe_shown(L, x));
    if (x.kind == FE_X_VALUE && x.v->type->kind == IR_VEC && x.v->type->elem->kind == IR_BOOL)
      hdfe_hint(L->fe, r, "write any(..) or all(..)");
    else if (x.kind == FE_X_INT || (x.kind == FE_X_VALUE && hdfe_is_number(x.v->type)))
      hdfe_hint(L->fe, r, "compare it: .. != 0");
  }
  return hdir_const_bool(L->b->fn, false);
}

static FeEx expr_logic(FeLower *L, FeExpr *e) {
  bool is_and = e->op == TK_ANDAND;
  IrValue *a = hdfe_condition(L, e->a);
  if (hdir_is_const(a)) {
    bool left = hdir_const_i64(a) != 0;
    return left == is_and ? hdfe_ex(hdfe_condition(L, e->b)) : hdfe_ex(a);
  }
  if (is_cheap(L, e->b)) {
    IrValue *b = hdfe_condition(L, e->b);
    hdfe_at(L, e->at);
    return hdfe_ex(hdir_bin(L->b, is_and ? IR_and : IR_or, a, b));
  }
  Choice choice;
  IrValue *known = hdir_const_bool(L->b->fn, !is_and), *b = known;
  hdfe_at(L, e->at);
  choice_begin(&choice, L, a, e->b, NULL);
  if (is_and) b = hdfe_condition(L, e->b);
  choice_side(&choice, 0);
  if (!is_and) b = hdfe_condition(L, e->b);
  choice_side(&choice, 1);
  return is_and ? choice_end(&choice, b, known) : choice_end(&choice, known, b);
}

/* --- all --- */

static bool has_value(FeLower *L, FeEx x, const FeExpr *e) {
  if (x.kind == FE_X_VOID) hdfe_error(L, e->span, FE_D_void_value, e->name ? e->name : "the function");
  return x.kind != FE_X_VOID && x.kind != FE_X_ERROR;
}

static FeEx expr_binary(FeLower *L, FeExpr *e) {
  if (e->op == TK_ANDAND || e->op == TK_OROR) return expr_logic(L, e);
  FeEx x = hdfe_expr(L, e->a), y = hdfe_expr(L, e->b);
  bool left = has_value(L, x, e->a), right = has_value(L, y, e->b); /* both speak up */
  if (!left || !right) return hdfe_ex_error();
  hdfe_at(L, e->at);
  return hdfe_binary(L, e->op, x, y, e);
}

static FeEx expr_unary(FeLower *L, FeExpr *e) {
  FeEx x = hdfe_expr(L, e->a);
  if (!has_value(L, x, e->a)) return hdfe_ex_error();
  hdfe_at(L, e->span);
  return hdfe_unary(L, e->op, x, e);
}

FeEx hdfe_expr(FeLower *L, FeExpr *e) {
  switch (e->kind) {
  case FE_NAME: return expr_name(L, e);
  case FE_INT:
  case FE_FLOAT: return expr_number(L, e);
  case FE_BOOL: return hdfe_ex(hdir_const_bool(L->b->fn, e->integer != 0));
  case FE_STRING: hdfe_error(L, e->span, FE_D_string_place); return hdfe_ex_error();
  case FE_UNARY: return expr_unary(L, e);
  case FE_BINARY: return expr_binary(L, e);
  case FE_COND: return expr_cond(L, e);
  case FE_CALL:
  case FE_METHOD: return hdfe_call(L, e);
  case FE_INDEX:
  case FE_FIELD: {
    FePlace p = hdfe_place(L, e);
    hdfe_at(L, e->span);
    if (p.kind == FE_PLACE_UNTYPED) return p.ex;
    return hdfe_ex(p.kind == FE_PLACE_ERROR ? NULL : hdfe_place_read(L, &p));
  }
  case FE_INIT: return hdfe_init(L, e);
  case FE_LIST: hdfe_error(L, e->span, FE_D_list_place); return hdfe_ex_error();
  default: return hdfe_ex_error();
  }
}

IrValue *hdfe_value(FeLower *L, FeExpr *e, const IrType *want) {
  if (e->kind == FE_LIST) return hdfe_list(L, want, e);
  FeEx x = side(L, e, want && hdfe_is_number(want) ? want : NULL);
  if (x.kind == FE_X_VOID) {
    const char *name = e->name ? e->name : "the function";
    hdfe_error(L, e->span, FE_D_void_value, name);
    return NULL;
  }
  return want ? hdfe_coerce(L, x, want, e->span) : hdfe_default(L, x, e->span);
}
