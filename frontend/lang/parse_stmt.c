/* frontend/lang/parse_stmt.c -- statements and blocks. */
#include "frontend/lang/parser.h"

static FeStmt *parse_stmt(FeParser *p);

static FeStmt *stmt_new(FeParser *p, FeStmtKind kind) {
  FeStmt *s = HDB_NEW(p->fe->arena, FeStmt);
  s->kind = kind;
  s->span = hdfe_tok(p)->span;
  return s;
}

void hdfe_sync_stmt(FeParser *p) {
  if (!p->panic) return;
  uint32_t braces = 0, start = p->at;
  while (hdfe_peek(p) != TK_END && !hdfe_at_item(p)) {
    switch (hdfe_peek(p)) {
    case TK_SEMI:
      hdfe_advance(p);
      if (braces == 0) goto out;
      continue;
    case TK_LBRACE: braces++; break;
    case TK_RBRACE:
      if (braces == 0) goto out;
      if (--braces == 0) {
        hdfe_advance(p);
        goto out;
      }
      break;
    case TK_if:
    case TK_while:
    case TK_for:
    case TK_do:
    case TK_return:
    case TK_let:
    case TK_var:
    case TK_break:
    case TK_continue:
      if (braces == 0 && p->at > start) goto out;
      break;
    default: break;
    }
    hdfe_advance(p);
  }
out:
  p->panic = p->dead;
}

/* The body of an if or loop. A lone ; is most often a slip. */
static FeStmt *parse_body(FeParser *p, const char *what) {
  FeToken *t = hdfe_tok(p);
  FeStmt *s = parse_stmt(p);
  if (t->kind == TK_SEMI && !p->panic) hdfe_report(p->fe, p->u, t->span, FE_D_empty_body, what);
  return s;
}

/* A word that stands in no expression. */
static bool begins_statement(FeTok t) {
  switch (t) {
  case TK_break:
  case TK_continue:
  case TK_do:
  case TK_else:
  case TK_fn:
  case TK_for:
  case TK_if:
  case TK_import:
  case TK_kernel:
  case TK_return:
  case TK_struct:
  case TK_while: return true;
  default: return false;
  }
}

/* After an error in the parentheses that begin at the token `open`: to the one that closes them, or to the body's brace. */
static void sync_head(FeParser *p, uint32_t open) {
  uint32_t depth = 0, i = open;
  if (!p->panic || p->dead) return;
  for (;; i++) {
    FeTok t = p->u->tokens[i].kind;
    depth += t == TK_LPAREN;
    if (t == TK_RPAREN && --depth == 0) break;
    if (i < p->at) continue;
    if (t == TK_LBRACE) break;
    if (t == TK_RBRACE || t == TK_END || begins_statement(t)) return;
  }
  if (i >= p->at) p->at = i + (p->u->tokens[i].kind == TK_RPAREN);
  p->panic = false;
}

static FeExpr *parse_condition(FeParser *p) {
  FeSpan opened = hdfe_tok(p)->span;
  uint32_t open = p->at;
  if (!hdfe_expect(p, TK_LPAREN)) return hdfe_expr_new(p, FE_ERROR_EXPR, opened);
  FeExpr *e = hdfe_parse_expr(p);
  hdfe_close(p, TK_RPAREN, opened);
  if (p->panic) e = hdfe_expr_new(p, FE_ERROR_EXPR, opened);
  sync_head(p, open);
  return e;
}

/* A type and a name follow, rather than an expression. */
static bool at_declaration(const FeParser *p) {
  if (hdfe_peek(p) != TK_NAME) return false;
  FeTok next = hdfe_peek_at(p, 1);
  if (next == TK_NAME) return true;
  if (next >= TK_break) return p->u->tokens[p->at + 1].span.line == hdfe_tok(p)->span.line; /* f32 in; */
  if (next != TK_LT) return false;
  uint32_t behind = hdfe_skip_generics(p, p->at + 1);
  return behind && p->u->tokens[behind].kind == TK_NAME;
}

/* The word `shared`, a type and a name follow. */
bool hdfe_at_shared(const FeParser *p) {
  if (hdfe_peek(p) != TK_NAME || strcmp(hdfe_tok(p)->text, "shared") != 0 || hdfe_peek_at(p, 1) != TK_NAME)
    return false;
  return hdfe_peek_at(p, 2) == TK_NAME || hdfe_peek_at(p, 2) == TK_LT;
}

/* [let|var|const|shared] [type] name[axes] [= value], without the semicolon */
static FeStmt *parse_decl(FeParser *p) {
  FeStmt *s = stmt_new(p, FE_DECL);
  s->how = FE_VAR;
  if (hdfe_accept(p, TK_let))
    s->how = FE_LET;
  else if (hdfe_accept(p, TK_const))
    s->how = FE_CONST;
  else
    hdfe_accept(p, TK_var);
  if (s->how == FE_VAR && hdfe_at_shared(p)) {
    s->shared = true;
    hdfe_advance(p);
  }
  if (at_declaration(p)) s->type = hdfe_parse_type(p);
  s->name = hdfe_expect_name(p, "the name of a variable", &s->name_span);
  if (!s->name) return s;
  if (hdfe_peek(p) == TK_LBRACK) {
    if (!s->type) hdfe_syntax_error(p, FE_D_expected, "a type before the name of a fixed array");
    s->type = hdfe_parse_axes(p, s->type, false);
  }
  if (hdfe_accept(p, TK_SET))
    s->a = hdfe_parse_initialiser(p);
  else if (s->how != FE_VAR)
    hdfe_syntax_error(p, FE_D_expected,
                      s->how == FE_LET ? "= and the value of the variable" : "= and the value of the constant");
  else if (!s->type)
    hdfe_syntax_error(p, FE_D_expected, "= and a value, or a type before the name");
  return s;
}

/* An assignment, step or call, without the semicolon */
static FeStmt *parse_simple(FeParser *p) {
  FeStmt *s = stmt_new(p, FE_EXPR);
  if (hdfe_peek(p) == TK_INC || hdfe_peek(p) == TK_DEC) {
    s->kind = FE_STEP;
    s->op = hdfe_peek(p);
    hdfe_advance(p);
    s->a = hdfe_parse_place_or_expr(p);
    return s;
  }
  s->a = hdfe_parse_place_or_expr(p);
  FeTok t = hdfe_peek(p);
  if (p->panic) return s;
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
  case TK_SHR_SET:
    s->kind = FE_ASSIGN;
    s->op = t;
    hdfe_advance(p);
    s->b = hdfe_parse_initialiser(p);
    break;
  case TK_INC:
  case TK_DEC:
    s->kind = FE_STEP;
    s->op = t;
    hdfe_advance(p);
    break;
  default:
    if (s->a->kind == FE_CALL || s->a->kind == FE_METHOD || s->a->kind == FE_ERROR_EXPR) break;
    if (t == TK_SEMI || t == TK_COMMA || t == TK_RPAREN || t == TK_RBRACE)
      hdfe_report(p->fe, p->u, s->a->span, FE_D_no_effect);
    else
      s->kind = FE_EMPTY; /* it goes on with what nobody understands, which is reported */
    break;
  }
  s->span = hdfe_span_to_here(p, s->span);
  return s;
}

static FeStmt *parse_decl_or_simple(FeParser *p) {
  FeTok t = hdfe_peek(p);
  return t == TK_let || t == TK_var || t == TK_const || at_declaration(p) ? parse_decl(p) : parse_simple(p);
}

static FeStmt *parse_if(FeParser *p, FeStmtKind kind) {
  FeStmt *s = stmt_new(p, kind);
  hdfe_advance(p);
  s->a = parse_condition(p);
  s->body = parse_body(p, "if");
  if (hdfe_peek(p) == TK_else && !p->panic) {
    hdfe_advance(p);
    s->other = parse_body(p, "else");
  }
  return s;
}

/* for (i in a..b); the parenthesis was taken */
static void parse_range(FeParser *p, FeStmt *s) {
  s->name = hdfe_tok(p)->text;
  s->name_span = hdfe_tok(p)->span;
  hdfe_advance(p);
  hdfe_advance(p);
  s->a = hdfe_parse_expr(p);
  if (!p->panic && hdfe_peek(p) != TK_RANGE) hdfe_syntax_error(p, FE_D_bad_range_step, NULL);
  if (p->panic) return;
  hdfe_advance(p);
  s->b = hdfe_parse_expr(p);
}

static void parse_for_head(FeParser *p, FeStmt *s) {
  uint32_t cap = 0;
  if (hdfe_peek(p) != TK_SEMI) s->init = parse_decl_or_simple(p);
  hdfe_expect(p, TK_SEMI);
  if (!p->panic && hdfe_peek(p) != TK_SEMI) s->a = hdfe_parse_expr(p);
  hdfe_expect(p, TK_SEMI);
  while (!p->panic && hdfe_peek(p) != TK_RPAREN) {
    FeStmt *step = parse_simple(p);
    HDB_PUSH(p->fe->arena, s->list, s->nlist, cap, step);
    if (!hdfe_accept(p, TK_COMMA)) break;
  }
}

static FeStmt *parse_for(FeParser *p, bool is_static) {
  FeStmt *s = stmt_new(p, FE_FOR);
  hdfe_advance(p);
  FeSpan opened = hdfe_tok(p)->span;
  uint32_t open = p->at;
  if (!hdfe_expect(p, TK_LPAREN)) return s;
  if (hdfe_peek(p) == TK_NAME && hdfe_peek_at(p, 1) == TK_in) {
    s->kind = is_static ? FE_STATIC_FOR : FE_RANGE;
    parse_range(p, s);
  } else if (is_static) {
    hdfe_syntax_error(p, FE_D_expected, "a name and 'in': static for (i in 0..n)");
  } else {
    parse_for_head(p, s);
  }
  hdfe_close(p, TK_RPAREN, opened);
  if (p->panic && s->kind == FE_FOR) s->a = hdfe_expr_new(p, FE_ERROR_EXPR, opened);
  sync_head(p, open);
  s->body = parse_body(p, "for");
  return s;
}

static FeStmt *parse_do(FeParser *p) {
  FeStmt *s = stmt_new(p, FE_DO);
  hdfe_advance(p);
  s->body = parse_stmt(p);
  if (hdfe_expect(p, TK_while)) s->a = parse_condition(p);
  hdfe_expect(p, TK_SEMI);
  return s;
}

static FeStmt *parse_while(FeParser *p) {
  FeStmt *s = stmt_new(p, FE_WHILE);
  hdfe_advance(p);
  s->a = parse_condition(p);
  s->body = parse_body(p, "while");
  return s;
}

static FeStmt *parse_static(FeParser *p) {
  FeTok next = hdfe_peek_at(p, 1);
  if (next != TK_if && next != TK_for) {
    hdfe_advance(p);
    hdfe_syntax_error(p, FE_D_expected, "'if' or 'for' after static");
    return stmt_new(p, FE_EMPTY);
  }
  hdfe_advance(p);
  return next == TK_if ? parse_if(p, FE_STATIC_IF) : parse_for(p, true);
}

/* static_assert(cond, "message"); also an item */
FeStmt *hdfe_parse_static_assert(FeParser *p) {
  FeStmt *s = stmt_new(p, FE_STATIC_ASSERT);
  hdfe_advance(p);
  FeSpan opened = hdfe_tok(p)->span;
  if (!hdfe_expect(p, TK_LPAREN)) return s;
  s->a = hdfe_parse_expr(p);
  s->text = "the condition is false";
  if (hdfe_accept(p, TK_COMMA)) {
    if (hdfe_peek(p) != TK_STRING) hdfe_report(p->fe, p->u, hdfe_tok(p)->span, FE_D_needs_string, "static_assert");
    s->text = hdfe_peek(p) == TK_STRING ? hdfe_tok(p)->text : "";
    hdfe_parse_expr(p);
  }
  hdfe_close(p, TK_RPAREN, opened);
  hdfe_expect(p, TK_SEMI);
  return s;
}

static FeStmt *parse_jump(FeParser *p) {
  FeTok t = hdfe_peek(p);
  FeStmt *s = stmt_new(p, t == TK_break ? FE_BREAK : t == TK_continue ? FE_CONTINUE : FE_RETURN);
  hdfe_advance(p);
  if (t == TK_return && hdfe_peek(p) != TK_SEMI) s->a = hdfe_parse_expr(p);
  hdfe_expect(p, TK_SEMI);
  return s;
}

static FeStmt *parse_stmt_inner(FeParser *p) {
  switch (hdfe_peek(p)) {
  case TK_LBRACE: return hdfe_parse_block(p);
  case TK_if: return parse_if(p, FE_IF);
  case TK_while: return parse_while(p);
  case TK_do: return parse_do(p);
  case TK_for: return parse_for(p, false);
  case TK_static: return parse_static(p);
  case TK_static_assert: return hdfe_parse_static_assert(p);
  case TK_break:
  case TK_continue:
  case TK_return: return parse_jump(p);
  case TK_SEMI: {
    FeStmt *s = stmt_new(p, FE_EMPTY);
    hdfe_advance(p);
    return s;
  }
  default: {
    FeStmt *s = parse_decl_or_simple(p);
    hdfe_expect(p, TK_SEMI);
    return s;
  }
  }
}

static FeStmt *parse_stmt(FeParser *p) {
  if (!hdfe_enter(p)) return stmt_new(p, FE_EMPTY);
  FeStmt *s = parse_stmt_inner(p);
  hdfe_sync_stmt(p);
  p->depth--;
  return s;
}

FeStmt *hdfe_parse_block(FeParser *p) {
  FeStmt *s = stmt_new(p, FE_BLOCK);
  uint32_t cap = 0;
  FeSpan opened = s->span;
  if (!hdfe_expect(p, TK_LBRACE)) return s;
  while (hdfe_peek(p) != TK_RBRACE && hdfe_peek(p) != TK_END) {
    uint32_t before = p->at;
    if (hdfe_at_item(p)) break;
    FeStmt *inner = parse_stmt(p);
    HDB_PUSH(p->fe->arena, s->list, s->nlist, cap, inner);
    if (p->at == before) hdfe_advance(p); /* always forward */
  }
  s->end = hdfe_tok(p)->span;
  hdfe_close(p, TK_RBRACE, opened);
  return s;
}
