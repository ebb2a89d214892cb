/* frontend/lang/operator.c -- what + and its like mean for two types: an IR op, or an operator function. */
#include "frontend/lang/lower.h"

static FeEx wrong_types(FeLower *L, FeTok op, FeEx x, FeEx y, FeExpr *e) {
  FeReport *r = hdfe_error(L, e->span, FE_D_binary_types, hdfe_token_text(op), hdfe_shown(L, x), hdfe_shown(L, y));
  const IrType *a = x.kind == FE_X_VALUE ? hdir_elem_scalar(x.v->type) : NULL;
  const IrType *b = y.kind == FE_X_VALUE ? hdir_elem_scalar(y.v->type) : NULL;
  if (a && b && a != b && hdfe_is_number(a) && hdfe_is_number(b))
    hdfe_hint(L->fe, r, "convert one side: %s(..)", hdfe_shown_type(L, hdir_is_float(b) ? y.v->type : x.v->type));
  else if (x.kind == FE_X_FLOAT || y.kind == FE_X_FLOAT)
    hdfe_hint(L->fe, r, "convert the other side: f32(..)");
  else if ((op == TK_AMP || op == TK_BAR) && a && hdir_is_float(a))
    hdfe_hint(L->fe, r, "bits of a float: bitcast<u32>(x)");
  return hdfe_ex_error();
}

static bool is_comparison(FeTok op) {
  return op == TK_EQ || op == TK_NE || op == TK_LE || op == TK_LT || op == TK_GE || op == TK_GT;
}

static IrOp ir_op(FeTok op) {
  switch (op) {
  case TK_PLUS: return IR_add;
  case TK_MINUS: return IR_sub;
  case TK_STAR: return IR_mul;
  case TK_SLASH: return IR_div;
  case TK_PERCENT: return IR_rem;
  case TK_AMP: return IR_and;
  case TK_BAR: return IR_or;
  case TK_CARET: return IR_xor;
  case TK_SHL: return IR_shl;
  case TK_SHR: return IR_shr;
  case TK_EQ: return IR_eq;
  case TK_NE: return IR_ne;
  case TK_LT: return IR_lt;
  case TK_LE: return IR_le;
  case TK_GT: return IR_gt;
  default: return IR_ge;
  }
}

/* May the op work on this scalar at all? */
static bool scalar_takes(FeTok op, const IrType *t) {
  switch (op) {
  case TK_PLUS:
  case TK_MINUS:
  case TK_STAR:
  case TK_SLASH: return hdfe_is_number(t);
  case TK_AMP:
  case TK_BAR:
  case TK_CARET: return hdir_is_int(t) || t->kind == IR_BOOL;
  case TK_EQ:
  case TK_NE: return true;
  case TK_PERCENT:
  case TK_SHL:
  case TK_SHR: return hdir_is_int(t);
  default: return hdfe_is_number(t); /* < <= > >= */
  }
}

/* Two operands of one type that the op takes part by part. */
static bool elementwise(FeTok op, const IrType *t) {
  const IrType *s = hdir_elem_scalar(t);
  if (!s || !scalar_takes(op, s)) return false;
  if (hdir_is_scalar(t) || t->kind == IR_VEC) return true;
  if (op != TK_PLUS && op != TK_MINUS) return false; /* products of matrices are the library's */
  return t->kind == IR_MAT || t->kind == IR_QUAT || t->kind == IR_SPATIAL;
}

/* A packed operand and its scalar, which stands for each part. */
static bool broadcasts(FeTok op, const IrType *packed, bool scalar_right) {
  if (!hdir_is_packed(packed) || !scalar_takes(op, packed->elem)) return false;
  if (packed->kind == IR_VEC) return true;
  if (packed->kind == IR_TRANSFORM) return false;
  return op == TK_STAR || (op == TK_SLASH && scalar_right);
}

static bool is_untyped(FeEx x) { return x.kind == FE_X_INT || x.kind == FE_X_FLOAT; }

/* An untyped number takes the other side's scalar type; false if it cannot. */
static bool take_type(FeLower *L, FeEx *x, const IrType *other, FeSpan span, bool *failed) {
  const IrType *s = hdir_elem_scalar(other);
  if (!s || !hdfe_is_number(s) || (x->kind == FE_X_FLOAT && !hdir_is_float(s))) return false;
  IrValue *v = hdfe_literal(L, *x, s, span);
  *failed = v == NULL;
  *x = hdfe_ex(v);
  return true;
}

/* x < 0 for unsigned x and the like; and a variable against itself. */
static void warn_always(FeLower *L, FeTok op, IrValue *x, IrValue *y, FeExpr *e) {
  const char *known = NULL;
  bool same = e->a->kind == FE_NAME && e->b->kind == FE_NAME && e->a->name == e->b->name;
  if (L->fn && L->fn->ngenerics) return;
  if (same && !hdir_is_float(x->type))
    known = op == TK_EQ || op == TK_LE || op == TK_GE ? "true" : "false";
  else if (same && (op == TK_LT || op == TK_GT))
    known = "false";
  else if (hdir_is_int(x->type) && !hdir_is_signed(x->type) && hdir_is_const(y) && y->bits == 0 && !hdir_is_const(x))
    known = op == TK_LT ? "false" : op == TK_GE ? "true" : NULL;
  if (!known) return;
  hdfe_report(L->fe, L->unit, e->span, FE_D_always, known);
}

static FeEx emit(FeLower *L, FeTok op, IrValue *x, IrValue *y, FeExpr *e) {
  if (is_comparison(op) && hdir_is_scalar(x->type) && e->kind == FE_BINARY) warn_always(L, op, x, y, e);
  return hdfe_ex(hdir_bin(L->b, ir_op(op), x, y));
}

static FeEx by_function(FeLower *L, FeTok op, FeEx x, FeEx y, FeExpr *e) {
  FeEx args[2] = {x, y};
  bool found = false;
  const char *name = hdb_printf(L->fe->arena, "operator%s", hdfe_token_text(op));
  const IrType *s = x.kind == FE_X_VALUE ? hdir_elem_scalar(x.v->type) : NULL;
  if (op == TK_PERCENT && s && hdir_is_float(s)) name = "fmod";
  FeEx r = hdfe_call_named(L, hdfe_name(L->fe, name), 2, args, e, &found);
  return found ? r : wrong_types(L, op, x, y, e);
}

FeEx hdfe_binary(FeLower *L, FeTok op, FeEx x, FeEx y, FeExpr *e) {
  FeExpr *ea = e->a, *eb = e->b ? e->b : e->a;
  if (x.kind == FE_X_ERROR || y.kind == FE_X_ERROR) return hdfe_ex_error();
  if (is_untyped(x) && is_untyped(y) && (x.choice || y.choice)) { /* one of them settles it for both */
    FeEx *first = x.kind == FE_X_FLOAT || y.kind != FE_X_FLOAT ? &x : &y;
    *first = hdfe_ex(hdfe_default(L, *first, e->span));
    if (first->kind == FE_X_ERROR) return hdfe_ex_error();
  }
  if (is_untyped(x) && is_untyped(y)) return hdfe_fold(L, op, x, y, e->span);
  bool failed = false;
  if (is_untyped(x) && y.kind == FE_X_VALUE && !take_type(L, &x, y.v->type, ea->span, &failed))
    return by_function(L, op, x, y, e);
  if (is_untyped(y) && x.kind == FE_X_VALUE && !take_type(L, &y, x.v->type, eb->span, &failed))
    return by_function(L, op, x, y, e);
  if (failed) return hdfe_ex_error();
  if (x.kind != FE_X_VALUE || y.kind != FE_X_VALUE) return wrong_types(L, op, x, y, e);
  const IrType *a = x.v->type, *b = y.v->type;
  if (a == b && elementwise(op, a)) return emit(L, op, x.v, y.v, e);
  if (a->elem == b && broadcasts(op, a, true)) return emit(L, op, x.v, hdir_splat(L->b, a, y.v), e);
  if (b->elem == a && broadcasts(op, b, false)) return emit(L, op, hdir_splat(L->b, b, x.v), y.v, e);
  if (hdir_is_scalar(a) && hdir_is_scalar(b) && op != TK_PERCENT) return wrong_types(L, op, x, y, e);
  return by_function(L, op, x, y, e);
}

static FeEx unary_untyped(FeLower *L, FeTok op, FeEx x, FeExpr *e) {
  switch (op) {
  case TK_PLUS: return x;
  case TK_MINUS:
    if (x.kind == FE_X_INT) return hdfe_fold(L, TK_MINUS, hdfe_ex_int(0), x, e->span);
    x.f = -x.f;
    x.negative = !x.negative;
    return x;
  case TK_TILDE:
    if (x.kind == FE_X_INT) return hdfe_fold(L, TK_MINUS, hdfe_ex_int(-1), x, e->span);
    break;
  default: break;
  }
  hdfe_error(L, e->span, FE_D_unary_type, hdfe_token_text(op), hdfe_shown(L, x));
  return hdfe_ex_error();
}

FeEx hdfe_unary(FeLower *L, FeTok op, FeEx x, FeExpr *e) {
  if (x.choice) x = hdfe_ex(hdfe_default(L, x, e->span));
  if (x.kind == FE_X_ERROR) return x;
  if (is_untyped(x)) return unary_untyped(L, op, x, e);
  if (x.kind == FE_X_VALUE) {
    const IrType *t = x.v->type, *s = hdir_elem_scalar(t);
    bool flat = hdir_is_scalar(t) || t->kind == IR_VEC;
    if (op == TK_PLUS && s && hdfe_is_number(s)) return x;
    if (op == TK_MINUS && s && hdfe_is_number(s) && t->kind != IR_TRANSFORM) return hdfe_ex(hdir_un(L->b, IR_neg, x.v));
    if (op == TK_BANG && flat && s->kind == IR_BOOL) return hdfe_ex(hdir_un(L->b, IR_not, x.v));
    if (op == TK_TILDE && flat && (hdir_is_int(s) || s->kind == IR_BOOL)) return hdfe_ex(hdir_un(L->b, IR_not, x.v));
    bool found = false;
    const char *name = hdb_printf(L->fe->arena, "operator%s", hdfe_token_text(op));
    FeEx r = hdfe_call_named(L, hdfe_name(L->fe, name), 1, &x, e, &found);
    if (found) return r;
  }
  FeReport *r = hdfe_error(L, e->span, FE_D_unary_type, hdfe_token_text(op), hdfe_shown(L, x));
  if (op == TK_BANG && x.kind == FE_X_VALUE && hdfe_is_number(x.v->type)) hdfe_hint(L->fe, r, "compare it: x == 0");
  return hdfe_ex_error();
}
