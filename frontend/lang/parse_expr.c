/* frontend/lang/parse_expr.c -- expressions, with the precedence of C. */
#include <stdlib.h>

#include "frontend/lang/parser.h"

FeExpr *hdfe_expr_new(FeParser *p, FeExprKind kind, FeSpan span) {
  FeExpr *e = HDB_NEW(p->fe->arena, FeExpr);
  e->kind = kind;
  e->span = e->at = span;
  return e;
}

/* One more than the deepest child; a tree that is too deep is reported once and cut. */
static FeExpr *with_depth(FeParser *p, FeExpr *e) {
  uint32_t d = 0;
  FeExpr *parts[3] = {e->a, e->b, e->c};
  for (int i = 0; i < 3; i++)
    if (parts[i] && parts[i]->depth > d) d = parts[i]->depth;
  for (uint32_t i = 0; i < e->nargs; i++)
    if (e->args[i]->depth > d) d = e->args[i]->depth;
  if (d + 1 > FE_MAX_TREE) {
    if (!p->panic && !p->dead) hdfe_report(p->fe, p->u, e->span, FE_D_too_deep, FE_MAX_TREE);
    p->panic = p->dead = true;
    p->at = p->u->ntokens - 1;
    return hdfe_expr_new(p, FE_ERROR_EXPR, e->span);
  }
  e->depth = (uint16_t)(d + 1);
  return e;
}

static FeExpr *parse_cond(FeParser *p);
static FeExpr *parse_unary(FeParser *p);

static int precedence(FeTok t) {
  switch (t) {
  case TK_OROR: return 1;
  case TK_ANDAND: return 2;
  case TK_BAR: return 3;
  case TK_CARET: return 4;
  case TK_AMP: return 5;
  case TK_EQ:
  case TK_NE: return 6;
  case TK_LT:
  case TK_LE:
  case TK_GT:
  case TK_GE: return 7;
  case TK_SHL:
  case TK_SHR: return 8;
  case TK_PLUS:
  case TK_MINUS: return 9;
  case TK_STAR:
  case TK_SLASH:
  case TK_PERCENT: return 10;
  default: return 0;
  }
}

/* Comma-separated expressions up to `close`, which is taken. */
static void parse_args(FeParser *p, FeExpr *e, FeTok close, FeSpan opened) {
  uint32_t cap = 0;
  while (!p->panic && hdfe_peek(p) != close && hdfe_peek(p) != TK_END) {
    if (hdfe_peek(p) == TK_ref) {
      hdfe_report(p->fe, p->u, hdfe_tok(p)->span, FE_D_ref_at_call);
      hdfe_advance(p);
    }
    FeExpr *arg = close == TK_RBRACE ? hdfe_parse_initialiser(p) : hdfe_parse_expr(p);
    HDB_PUSH(p->fe->arena, e->args, e->nargs, cap, arg);
    if (!hdfe_accept(p, TK_COMMA)) break;
  }
  hdfe_close(p, close, opened);
}

/* The fields of S{a: 1, b: 2}; the brace is at hand. */
static void parse_init_fields(FeParser *p, FeExpr *e) {
  FeSpan opened = hdfe_tok(p)->span;
  uint32_t cap = 0, ncap = 0, nnames = 0, scap = 0, nspans = 0;
  hdfe_advance(p);
  while (!p->panic && hdfe_peek(p) != TK_RBRACE && hdfe_peek(p) != TK_END) {
    FeSpan span;
    const char *name = hdfe_expect_name(p, "the name of a field", &span);
    if (!name || !hdfe_expect(p, TK_COLON)) break;
    FeExpr *value = hdfe_parse_initialiser(p);
    HDB_PUSH(p->fe->arena, e->names, nnames, ncap, name);
    HDB_PUSH(p->fe->arena, e->name_spans, nspans, scap, span);
    HDB_PUSH(p->fe->arena, e->args, e->nargs, cap, value);
    if (!hdfe_accept(p, TK_COMMA)) break;
  }
  hdfe_close(p, TK_RBRACE, opened);
}

/* A name, alone or with generic arguments, before ( or {: a call or an init. NULL if it is neither. */
static FeExpr *parse_applied_name(FeParser *p) {
  FeToken *t = hdfe_tok(p);
  uint32_t behind = hdfe_peek_at(p, 1) == TK_LT ? hdfe_skip_generics(p, p->at + 1) : p->at + 1;
  if (!behind) return NULL;
  FeTok next = p->u->tokens[behind].kind;
  bool init = next == TK_LBRACE;
  if (init) {
    const FeToken *f = &p->u->tokens[behind + 1]; /* S{} or S{name: ..; else the brace is a block's */
    init = f->kind == TK_RBRACE || (f->kind == TK_NAME && f[1].kind == TK_COLON);
  }
  if (next != TK_LPAREN && !init) return NULL;
  FeExpr *e = hdfe_expr_new(p, init ? FE_INIT : FE_CALL, t->span);
  FeTypeRef *callee = HDB_NEW(p->fe->arena, FeTypeRef);
  callee->name = e->name = t->text;
  callee->span = t->span;
  e->callee = callee;
  hdfe_advance(p);
  if (hdfe_peek(p) == TK_LT) callee->args = hdfe_parse_type_args(p, &callee->nargs);
  if (init) {
    parse_init_fields(p, e);
  } else {
    FeSpan opened = hdfe_tok(p)->span;
    if (!hdfe_expect(p, TK_LPAREN)) return e;
    if (e->name == p->sizeof_name && callee->nargs == 0) {
      callee->args = HDB_NEW_N(p->fe->arena, FeTypeRef *, 1);
      callee->args[callee->nargs++] = hdfe_parse_type(p);
    }
    parse_args(p, e, TK_RPAREN, opened);
  }
  e->span = hdfe_span_to_here(p, t->span);
  return with_depth(p, e);
}

static FeExpr *parse_literal(FeParser *p) {
  static const FeExprKind kinds[] = {[TK_INT] = FE_INT, [TK_FLOAT] = FE_FLOAT, [TK_STRING] = FE_STRING};
  FeToken *t = hdfe_tok(p);
  bool word = t->kind == TK_true || t->kind == TK_false;
  FeExpr *e = hdfe_expr_new(p, word ? FE_BOOL : kinds[t->kind], t->span);
  e->text = t->text;
  e->suffix = t->suffix;
  e->integer = word ? t->kind == TK_true : t->integer;
  hdfe_advance(p);
  return e;
}

static FeExpr *parse_primary(FeParser *p) {
  FeToken *t = hdfe_tok(p);
  switch (t->kind) {
  case TK_INT:
  case TK_FLOAT:
  case TK_STRING:
  case TK_true:
  case TK_false: return parse_literal(p);
  case TK_NAME: {
    FeExpr *applied = parse_applied_name(p);
    if (applied) return applied;
    FeExpr *e = hdfe_expr_new(p, FE_NAME, t->span);
    e->name = t->text;
    hdfe_advance(p);
    return e;
  }
  case TK_LPAREN: {
    hdfe_advance(p);
    FeExpr *e = hdfe_parse_expr(p);
    hdfe_close(p, TK_RPAREN, t->span);
    e->span = hdfe_span_to_here(p, t->span);
    return e;
  }
  case TK_LBRACE: {
    FeExpr *e = hdfe_expr_new(p, FE_LIST, t->span);
    hdfe_advance(p);
    parse_args(p, e, TK_RBRACE, t->span);
    e->span = hdfe_span_to_here(p, t->span);
    return with_depth(p, e);
  }
  default: hdfe_syntax_error(p, FE_D_expected_expression, NULL); return hdfe_expr_new(p, FE_ERROR_EXPR, t->span);
  }
}

static FeExpr *parse_field(FeParser *p, FeExpr *base) {
  FeSpan at;
  const char *name = hdfe_expect_name(p, "the name of a field", &at);
  if (!name) return hdfe_expr_new(p, FE_ERROR_EXPR, base->span);
  bool call = hdfe_peek(p) == TK_LPAREN;
  FeExpr *e = hdfe_expr_new(p, call ? FE_METHOD : FE_FIELD, base->span);
  e->at = at;
  e->a = base;
  e->name = name;
  if (call) {
    FeSpan opened = hdfe_tok(p)->span;
    hdfe_advance(p);
    parse_args(p, e, TK_RPAREN, opened);
  }
  return e;
}

static FeExpr *parse_postfix(FeParser *p) {
  FeExpr *e = parse_primary(p);
  while (!p->panic) {
    FeToken *t = hdfe_tok(p);
    FeSpan start = e->span;
    if (hdfe_accept(p, TK_DOT)) {
      e = parse_field(p, e);
    } else if (hdfe_accept(p, TK_LBRACK)) {
      FeExpr *x = hdfe_expr_new(p, FE_INDEX, start);
      x->at = t->span;
      x->a = e;
      if (hdfe_peek(p) == TK_RBRACK) hdfe_syntax_error(p, FE_D_expected_expression, NULL);
      parse_args(p, x, TK_RBRACK, t->span);
      e = x;
    } else {
      break;
    }
    e->span = hdfe_span_to_here(p, start);
    e = p->panic ? hdfe_expr_new(p, FE_ERROR_EXPR, start) : with_depth(p, e);
  }
  return e;
}

static FeExpr *parse_unary(FeParser *p) {
  FeToken *t = hdfe_tok(p);
  if (t->kind == TK_INC || t->kind == TK_DEC) {
    hdfe_report(p->fe, p->u, t->span, FE_D_step_in_expression, hdfe_token_text(t->kind));
    if (!hdfe_enter(p)) return hdfe_expr_new(p, FE_ERROR_EXPR, t->span);
    hdfe_advance(p);
    FeExpr *e = parse_unary(p);
    p->depth--;
    return e;
  }
  if (t->kind != TK_MINUS && t->kind != TK_BANG && t->kind != TK_TILDE && t->kind != TK_PLUS) return parse_postfix(p);
  if (!hdfe_enter(p)) return hdfe_expr_new(p, FE_ERROR_EXPR, t->span);
  hdfe_advance(p);
  FeExpr *e = hdfe_expr_new(p, FE_UNARY, t->span);
  e->op = t->kind;
  e->a = parse_unary(p);
  e->span = hdfe_span_to_here(p, t->span);
  p->depth--;
  return with_depth(p, e);
}

static FeExpr *parse_binary(FeParser *p, int least) {
  FeExpr *e = parse_unary(p);
  while (!p->panic) {
    FeToken *t = hdfe_tok(p);
    int prec = precedence(t->kind);
    if (prec == 0 || prec < least) break;
    hdfe_advance(p);
    FeExpr *x = hdfe_expr_new(p, FE_BINARY, e->span);
    x->op = t->kind;
    x->at = t->span;
    x->a = e;
    x->b = parse_binary(p, prec + 1);
    x->span = hdfe_span_to_here(p, e->span);
    e = with_depth(p, x);
  }
  return e;
}

static FeExpr *parse_cond(FeParser *p) {
  FeSpan start = hdfe_tok(p)->span;
  if (!hdfe_enter(p)) return hdfe_expr_new(p, FE_ERROR_EXPR, start);
  FeExpr *e = parse_binary(p, 1);
  if (!p->panic && hdfe_accept(p, TK_QUESTION)) {
    FeExpr *x = hdfe_expr_new(p, FE_COND, start);
    x->a = e;
    x->b = parse_cond(p);
    hdfe_expect(p, TK_COLON);
    x->c = parse_cond(p);
    x->span = hdfe_span_to_here(p, start);
    e = with_depth(p, x);
  }
  p->depth--;
  return e;
}

static bool is_assignment(FeTok t) {
  switch (t) {
  case TK_SET:
  case TK_ADD_SET:
  case TK_SUB_SET:
  case TK_MUL_SET:
  case TK_DIV_SET:
  case TK_REM_SET:
  case TK_AND_SET:
  case TK_OR_SET:
  case TK_XOR_SET:
  case TK_SHL_SET:
  case TK_SHR_SET: return true;
  default: return false;
  }
}

FeExpr *hdfe_parse_expr(FeParser *p) {
  FeExpr *e = parse_cond(p);
  if (p->panic) return e;
  FeToken *t = hdfe_tok(p);
  if (is_assignment(t->kind)) {
    hdfe_report(p->fe, p->u, t->span, FE_D_assign_in_expression);
    hdfe_advance(p);
    parse_cond(p);
    return hdfe_expr_new(p, FE_ERROR_EXPR, e->span);
  }
  if (t->kind == TK_INC || t->kind == TK_DEC) {
    hdfe_report(p->fe, p->u, t->span, FE_D_step_in_expression, hdfe_token_text(t->kind));
    hdfe_advance(p);
  }
  return e;
}

FeExpr *hdfe_parse_place_or_expr(FeParser *p) { return parse_cond(p); }

FeExpr *hdfe_parse_size(FeParser *p) {
  FeSpan start = hdfe_tok(p)->span;
  if (!hdfe_enter(p)) return hdfe_expr_new(p, FE_ERROR_EXPR, start);
  FeExpr *e = parse_binary(p, 9); /* + and above */
  p->depth--;
  return e;
}

FeExpr *hdfe_parse_initialiser(FeParser *p) {
  FeSpan start = hdfe_tok(p)->span;
  if (hdfe_peek(p) != TK_LBRACE) return hdfe_parse_expr(p);
  if (!hdfe_enter(p)) return hdfe_expr_new(p, FE_ERROR_EXPR, start);
  FeExpr *e = parse_primary(p);
  p->depth--;
  return e;
}
