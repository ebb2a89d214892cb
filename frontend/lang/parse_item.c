/* frontend/lang/parse_item.c -- the parser's way through tokens; types; what stands at the top of a file. */
#include "frontend/lang/parser.h"

/* --- tokens --- */

bool hdfe_accept(FeParser *p, FeTok t) {
  if (hdfe_peek(p) != t) return false;
  hdfe_advance(p);
  return true;
}

const char *hdfe_token_shown(FeParser *p) {
  FeToken *t = hdfe_tok(p);
  if (t->kind == TK_END) return hdfe_token_text(t->kind);
  if (t->kind == TK_STRING) return "a string";
  uint32_t n = t->span.len > 40 ? 40 : t->span.len;
  return hdb_printf(p->fe->arena, "'%.*s'", (int)n, p->u->text + t->off);
}

/* A missing token is shown behind the one before it, where it belongs. */
static FeSpan span_behind_last(const FeParser *p) {
  FeSpan here = hdfe_tok(p)->span;
  if (p->at == 0) return here;
  FeSpan last = p->u->tokens[p->at - 1].span;
  if (last.line == here.line) return here;
  return (FeSpan){last.line, last.col + last.len, 1};
}

/* The lexer has reported something here already. */
static bool beside_bad(const FeParser *p) { return hdfe_tok(p)->bad || (p->at > 0 && p->u->tokens[p->at - 1].bad); }

void hdfe_syntax_error(FeParser *p, FeDiagId id, const char *what) {
  if (!p->panic && !beside_bad(p)) {
    FeSpan span = id == FE_D_expected ? span_behind_last(p) : hdfe_tok(p)->span;
    if (what)
      hdfe_report(p->fe, p->u, span, id, what, hdfe_token_shown(p));
    else
      hdfe_report(p->fe, p->u, span, id, hdfe_token_shown(p));
  }
  p->panic = true;
}

static const char *quoted(FeParser *p, FeTok t) {
  const char *s = hdfe_token_text(t);
  return t <= TK_STRING ? s : hdb_printf(p->fe->arena, "'%s'", s);
}

bool hdfe_expect(FeParser *p, FeTok t) {
  if (p->panic) return false;
  if (hdfe_accept(p, t)) return true;
  hdfe_syntax_error(p, FE_D_expected, quoted(p, t));
  return false;
}

bool hdfe_close(FeParser *p, FeTok t, FeSpan opened) {
  if (p->panic) return false;
  if (hdfe_accept(p, t)) return true;
  if (beside_bad(p)) {
    p->panic = true;
    return false;
  }
  if (hdfe_peek(p) == TK_END) {
    const char *open = t == TK_RPAREN ? "(" : t == TK_RBRACE ? "{" : "[";
    hdfe_report(p->fe, p->u, opened, FE_D_not_closed, open);
  } else {
    FeReport *r = hdfe_report(p->fe, p->u, span_behind_last(p), FE_D_expected, quoted(p, t), hdfe_token_shown(p));
    if (opened.line != hdfe_tok(p)->span.line) hdfe_note(p->fe, r, p->u, opened, FE_D_opened_here);
  }
  p->panic = true;
  return false;
}

const char *hdfe_expect_name(FeParser *p, const char *what, FeSpan *span) {
  if (p->panic) return NULL;
  FeToken *t = hdfe_tok(p);
  *span = t->span;
  if (t->kind == TK_NAME) {
    hdfe_advance(p);
    return t->text;
  }
  if (t->kind >= TK_break && !beside_bad(p)) {
    FeReport *r = hdfe_report(p->fe, p->u, t->span, FE_D_expected, what, hdfe_token_shown(p));
    hdfe_hint(p->fe, r, "%s is a word of the language", hdfe_token_shown(p));
    p->panic = true;
  }
  hdfe_syntax_error(p, FE_D_expected, what);
  return NULL;
}

FeSpan hdfe_span_to_here(const FeParser *p, FeSpan start) {
  if (p->at == 0) return start;
  FeSpan last = p->u->tokens[p->at - 1].span;
  if (last.line == start.line && last.col + last.len > start.col) start.len = last.col + last.len - start.col;
  return start;
}

bool hdfe_at_item(const FeParser *p) {
  FeTok t = hdfe_peek(p);
  return t == TK_kernel || t == TK_fn || t == TK_extern || t == TK_struct || t == TK_import;
}

bool hdfe_enter(FeParser *p) {
  if (p->dead) return false;
  if (p->depth < FE_MAX_DEPTH) {
    p->depth++;
    return true;
  }
  hdfe_report(p->fe, p->u, hdfe_tok(p)->span, FE_D_too_deep, FE_MAX_DEPTH);
  p->panic = p->dead = true;
  p->at = p->u->ntokens - 1;
  return false;
}

/* --- types --- */

uint32_t hdfe_skip_generics(const FeParser *p, uint32_t at) {
  int depth = 0;
  for (uint32_t i = at; i < p->u->ntokens; i++) {
    switch (p->u->tokens[i].kind) {
    case TK_LT: depth++; break;
    case TK_GT: depth--; break;
    case TK_SHR: depth -= 2; break;
    case TK_NAME:
    case TK_INT:
    case TK_COMMA:
    case TK_PLUS:
    case TK_MINUS:
    case TK_STAR:
    case TK_SLASH: break;
    default: return 0;
    }
    if (depth < 0) return 0;
    if (depth == 0) return i + 1;
  }
  return 0;
}

/* Takes one >, half a >> too. */
static bool close_generics(FeParser *p, FeSpan opened) {
  FeToken *t = hdfe_tok(p);
  if (t->kind == TK_SHR) {
    t->kind = TK_GT;
    t->span.col++;
    t->span.len--;
    t->off++;
    return true;
  }
  return hdfe_close(p, TK_GT, opened);
}

static FeTypeRef *type_new(FeParser *p, FeTypeKind kind, FeSpan span) {
  FeTypeRef *t = HDB_NEW(p->fe->arena, FeTypeRef);
  t->kind = kind;
  t->span = span;
  return t;
}

/* A type or a size. A lone name may be either, which only its declaration tells: it gets both readings. */
static FeTypeRef *parse_type_arg(FeParser *p) {
  FeToken *t = hdfe_tok(p);
  FeTok next = hdfe_peek_at(p, 1);
  bool name = t->kind == TK_NAME && (next == TK_COMMA || next == TK_GT || next == TK_SHR || next == TK_LT);
  if (name) {
    FeTypeRef *type = hdfe_parse_type(p);
    if (type->kind == FE_TYPE_NAME && type->nargs == 0) {
      type->size = hdfe_expr_new(p, FE_NAME, type->span);
      type->size->name = type->name;
    }
    return type;
  }
  FeTypeRef *type = type_new(p, FE_TYPE_SIZE, t->span);
  type->size = hdfe_parse_size(p);
  type->span = type->size->span;
  return type;
}

FeTypeRef **hdfe_parse_type_args(FeParser *p, uint32_t *n) {
  FeTypeRef **args = NULL;
  uint32_t cap = 0;
  FeSpan opened = hdfe_tok(p)->span;
  *n = 0;
  hdfe_advance(p);
  do {
    FeTypeRef *arg = parse_type_arg(p);
    HDB_PUSH(p->fe->arena, args, *n, cap, arg);
  } while (!p->panic && hdfe_accept(p, TK_COMMA));
  close_generics(p, opened);
  return args;
}

FeTypeRef *hdfe_parse_type(FeParser *p) {
  FeToken *t = hdfe_tok(p);
  FeTypeRef *type = type_new(p, FE_TYPE_NAME, t->span);
  if (!hdfe_enter(p)) return type;
  if (t->kind == TK_NAME) {
    type->name = t->text;
    hdfe_advance(p);
    if (hdfe_peek(p) == TK_LT) type->args = hdfe_parse_type_args(p, &type->nargs);
    type->span = hdfe_span_to_here(p, t->span);
  } else {
    hdfe_syntax_error(p, FE_D_expected_type, NULL);
  }
  p->depth--;
  return type;
}

FeTypeRef *hdfe_parse_axes(FeParser *p, FeTypeRef *elem, bool arrays) {
  if (p->panic || hdfe_peek(p) != TK_LBRACK) return elem;
  if (!hdfe_enter(p)) return elem;
  FeSpan opened = hdfe_tok(p)->span;
  FeTok next = hdfe_peek_at(p, 1);
  hdfe_advance(p);
  FeTypeRef *type = type_new(p, FE_TYPE_FIXED, opened);
  if (arrays && (next == TK_RBRACK || next == TK_COMMA)) {
    type->kind = FE_TYPE_ARRAY;
    type->ndim = 1;
    while (hdfe_accept(p, TK_COMMA)) type->ndim++;
    if (type->ndim > HD_MAX_DIMS) hdfe_report(p->fe, p->u, opened, FE_D_too_many_axes);
    if (type->ndim > HD_MAX_DIMS) type->ndim = HD_MAX_DIMS;
  } else {
    type->size = hdfe_parse_expr(p);
  }
  hdfe_close(p, TK_RBRACK, opened);
  type->span = hdfe_span_to_here(p, opened);
  type->elem = hdfe_parse_axes(p, elem, false); /* m[3][4] is 3 of 4 */
  p->depth--;
  return type;
}

/* --- items --- */

static FeClass class_of(FeParser *p, const char *name, FeSpan span) {
  static const struct {
    const char *name;
    FeClass cls;
  } all[] = {{"any", FE_ANY},         {"number", FE_NUMBER}, {"float", FE_FLOATS},
             {"integer", FE_INTEGER}, {"signed", FE_SIGNED}, {"int", FE_SIZE}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) return all[i].cls;
  hdfe_report(p->fe, p->u, span, FE_D_unknown_class, name);
  return FE_ANY;
}

/* <T: float, N: int>; a class left out is any */
static void parse_generics(FeParser *p, FeFn *f) {
  uint32_t cap = 0;
  FeSpan opened = hdfe_tok(p)->span;
  hdfe_advance(p);
  do {
    FeGeneric g = {.cls = FE_ANY};
    g.name = hdfe_expect_name(p, "the name of a generic parameter", &g.span);
    if (!g.name) return;
    if (hdfe_accept(p, TK_COLON)) {
      FeSpan span;
      const char *cls = hdfe_expect_name(p, "any, number, float, integer, signed or int", &span);
      if (cls) g.cls = class_of(p, cls, span);
    }
    HDB_PUSH(p->fe->arena, f->generics, f->ngenerics, cap, g);
  } while (!p->panic && hdfe_accept(p, TK_COMMA));
  hdfe_close(p, TK_GT, opened);
}

static void parse_param(FeParser *p, FeFn *f, uint32_t *cap) {
  FeParam a = {0};
  a.span = hdfe_tok(p)->span;
  if (hdfe_accept(p, TK_const)) {
    a.is_const = true;
    if (!f->is_kernel) hdfe_report(p->fe, p->u, a.span, FE_D_const_param_fn);
    a.is_const = f->is_kernel;
  } else if (hdfe_accept(p, TK_ref)) {
    a.is_ref = true;
    if (f->is_kernel) hdfe_report(p->fe, p->u, a.span, FE_D_kernel_ref);
  } else if (hdfe_at_shared(p)) {
    hdfe_advance(p);
    a.is_ref = a.is_shared = true;
    if (f->is_kernel) hdfe_report(p->fe, p->u, a.span, FE_D_kernel_shared);
  }
  a.type = hdfe_parse_type(p);
  a.name = hdfe_expect_name(p, "the name of a parameter", &a.span);
  if (!a.name) return;
  a.type = hdfe_parse_axes(p, a.type, true);
  HDB_PUSH(p->fe->arena, f->params, f->nparams, *cap, a);
}

static const char *parse_operator_name(FeParser *p) {
  static const FeTok allowed[] = {TK_PLUS, TK_MINUS, TK_STAR, TK_SLASH, TK_PERCENT, TK_AMP, TK_BAR, TK_CARET, TK_SHL,
                                  TK_SHR,  TK_TILDE, TK_BANG, TK_EQ,    TK_NE,      TK_LT,  TK_LE,  TK_GT,    TK_GE};
  FeTok t = hdfe_peek(p);
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
    if (allowed[i] == t) {
      hdfe_advance(p);
      return hdfe_name(p->fe, hdb_printf(p->fe->arena, "operator%s", hdfe_token_text(t)));
    }
  hdfe_syntax_error(p, FE_D_bad_operator, NULL);
  return NULL;
}

static void check_operator(FeParser *p, const FeFn *f) {
  const char *op = f->name + strlen("operator");
  bool unary = strcmp(op, "~") == 0 || strcmp(op, "!") == 0, either = strcmp(op, "-") == 0;
  bool ok = unary ? f->nparams == 1 : either ? f->nparams == 1 || f->nparams == 2 : f->nparams == 2;
  if (!ok)
    hdfe_report(p->fe, p->u, f->span, FE_D_operator_params, op,
                unary    ? "one parameter"
                : either ? "one or two parameters"
                         : "two parameters",
                f->nparams);
}

static void add_fn(FeParser *p, FeFn *f) {
  FeUnit *u = p->u;
  HDB_PUSH(p->fe->arena, u->fn_list, u->nfns, u->cap_fns, f);
  FeFn *first = hdb_map_get_str(&u->fns, f->name);
  if (!first) {
    hdb_map_set_str(&u->fns, f->name, f);
    return;
  }
  while (first->next) first = first->next;
  first->next = f;
}

typedef struct Attributes {
  bool fast, pure;
  FeExpr *group;
  FeSpan fast_at, pure_at, group_at;
} Attributes;

/* Of an item that takes none. */
static void refuse_attributes(FeParser *p, const Attributes *a, const char *item) {
  if (a->pure) hdfe_report(p->fe, p->u, a->pure_at, FE_D_attribute_place, "pure", item);
  if (a->fast) hdfe_report(p->fe, p->u, a->fast_at, FE_D_attribute_place, "fast", item);
  if (a->group) hdfe_report(p->fe, p->u, a->group_at, FE_D_attribute_place, "group", item);
}

static void take_attributes(FeParser *p, FeFn *f, const Attributes *a) {
  f->fast = a->fast;
  f->pure = a->pure;
  f->group = f->is_kernel ? a->group : NULL;
  if (a->pure && !f->is_extern) hdfe_report(p->fe, p->u, a->pure_at, FE_D_attribute_place, "pure", f->name);
  if (a->fast && f->is_extern) hdfe_report(p->fe, p->u, a->fast_at, FE_D_attribute_place, "fast", f->name);
  if (a->group && !f->is_kernel) hdfe_report(p->fe, p->u, a->group_at, FE_D_attribute_place, "group", f->name);
}

/* What stands behind the head of a function. */
static void parse_body(FeParser *p, FeFn *f) {
  if (f->is_extern && hdfe_peek(p) == TK_LBRACE) {
    hdfe_report(p->fe, p->u, f->span, FE_D_extern_body, f->name);
    f->broken = true;
  } else if (f->is_extern) {
    hdfe_expect(p, TK_SEMI);
    return;
  } else if (hdfe_peek(p) == TK_SEMI) {
    hdfe_report(p->fe, p->u, f->span, FE_D_missing_body, f->name);
    f->broken = true;
    hdfe_advance(p);
    return;
  }
  f->body = hdfe_parse_block(p);
}

static void parse_fn(FeParser *p, const Attributes *a) {
  FeFn *f = HDB_NEW(p->fe->arena, FeFn);
  uint32_t cap = 0;
  f->unit = p->u;
  f->is_extern = hdfe_accept(p, TK_extern);
  if (f->is_extern && hdfe_peek(p) != TK_fn) {
    hdfe_expect(p, TK_fn);
    return;
  }
  f->is_kernel = hdfe_peek(p) == TK_kernel;
  hdfe_advance(p);
  f->span = hdfe_tok(p)->span;
  bool op = !f->is_kernel && !f->is_extern && hdfe_accept(p, TK_operator);
  f->name = op ? parse_operator_name(p)
               : hdfe_expect_name(p, f->is_kernel ? "the name of the kernel" : "the name of the function", &f->span);
  if (!f->name) return;
  if (op) f->span = hdfe_span_to_here(p, f->span);
  take_attributes(p, f, a);
  if (hdfe_peek(p) == TK_LT) parse_generics(p, f);
  if (f->is_extern && f->ngenerics) {
    hdfe_report(p->fe, p->u, f->span, FE_D_extern_parameter, "generic parameters");
    f->broken = true;
  }
  if (f->is_kernel && f->ngenerics) hdfe_report(p->fe, p->u, f->span, FE_D_kernel_generic);
  FeSpan opened = hdfe_tok(p)->span;
  if (!hdfe_expect(p, TK_LPAREN)) return;
  while (!p->panic && hdfe_peek(p) != TK_RPAREN && hdfe_peek(p) != TK_END) {
    parse_param(p, f, &cap);
    if (!hdfe_accept(p, TK_COMMA)) break;
  }
  hdfe_close(p, TK_RPAREN, opened);
  if (!p->panic && hdfe_peek(p) == TK_ARROW) {
    if (f->is_kernel) hdfe_report(p->fe, p->u, hdfe_tok(p)->span, FE_D_kernel_result);
    hdfe_advance(p);
    f->result = hdfe_parse_type(p);
    f->result = hdfe_parse_axes(p, f->result, false);
    if (f->is_kernel) f->result = NULL;
  }
  if (p->panic) {
    f->broken = true;
    add_fn(p, f);
    return;
  }
  if (op) check_operator(p, f);
  parse_body(p, f);
  add_fn(p, f);
}

static void parse_struct(FeParser *p) {
  FeStruct *s = HDB_NEW(p->fe->arena, FeStruct);
  uint32_t cap = 0, before_fields = p->fe->nerrors;
  s->unit = p->u;
  hdfe_advance(p);
  s->name = hdfe_expect_name(p, "the name of the struct", &s->span);
  if (!s->name) return;
  FeSpan opened = hdfe_tok(p)->span;
  if (!hdfe_expect(p, TK_LBRACE)) return;
  while (!p->panic && hdfe_peek(p) != TK_RBRACE && hdfe_peek(p) != TK_END && !hdfe_at_item(p)) {
    FeTypeRef *type = hdfe_parse_type(p);
    do {
      FeParam f = {0};
      f.name = hdfe_expect_name(p, "the name of a field", &f.span);
      if (!f.name) break;
      f.type = hdfe_parse_axes(p, type, true);
      for (uint32_t i = 0; i < s->nfields; i++)
        if (s->fields[i].name == f.name) {
          FeReport *r = hdfe_report(p->fe, p->u, f.span, FE_D_redefinition, f.name);
          hdfe_note(p->fe, r, p->u, s->fields[i].span, FE_D_declared_here, f.name);
        }
      HDB_PUSH(p->fe->arena, s->fields, s->nfields, cap, f);
    } while (!p->panic && hdfe_accept(p, TK_COMMA));
    hdfe_expect(p, TK_SEMI);
    hdfe_sync_stmt(p);
  }
  hdfe_close(p, TK_RBRACE, opened);
  if (p->fe->nerrors != before_fields)
    s->state = FE_STRUCT_BAD; /* reported; its uses are silent */
  else if (!s->nfields) {
    hdfe_report(p->fe, p->u, s->span, FE_D_struct_empty, s->name);
    s->state = FE_STRUCT_BAD;
  }
  hdfe_accept(p, TK_SEMI); /* as in C, if someone writes it */
  FeStruct *before = hdb_map_get_str(&p->u->structs, s->name);
  if (before) {
    FeReport *r = hdfe_report(p->fe, p->u, s->span, FE_D_redefinition, s->name);
    hdfe_note(p->fe, r, p->u, before->span, FE_D_declared_here, s->name);
    return;
  }
  HDB_PUSH(p->fe->arena, p->u->struct_list, p->u->nstructs, p->u->cap_structs, s);
  hdb_map_set_str(&p->u->structs, s->name, s);
}

static void parse_const(FeParser *p) {
  FeConstItem *c = HDB_NEW(p->fe->arena, FeConstItem);
  c->unit = p->u;
  hdfe_advance(p);
  FeTok next = hdfe_peek_at(p, 1);
  if (next == TK_NAME || next == TK_LT) c->type = hdfe_parse_type(p);
  c->name = hdfe_expect_name(p, "the name of the constant", &c->span);
  if (!c->name) return;
  if (hdfe_peek(p) == TK_LBRACK) c->type = hdfe_parse_axes(p, c->type, false);
  if (hdfe_accept(p, TK_SET)) c->value = hdfe_parse_initialiser(p);
  if (!c->value && !c->type && !p->panic) hdfe_report(p->fe, p->u, c->span, FE_D_const_without_value, c->name);
  hdfe_expect(p, TK_SEMI);
  FeConstItem *before = hdb_map_get_str(&p->u->consts, c->name);
  if (before) {
    FeReport *r = hdfe_report(p->fe, p->u, c->span, FE_D_redefinition, c->name);
    hdfe_note(p->fe, r, p->u, before->span, FE_D_declared_here, c->name);
    return;
  }
  if (p->panic || (!c->value && !c->type)) c->state = FE_CONST_BAD; /* reported; its uses are silent */
  HDB_PUSH(p->fe->arena, p->u->const_list, p->u->nconsts, p->u->cap_consts, c);
  hdb_map_set_str(&p->u->consts, c->name, c);
}

/* import geometry; import math.trig; import "own/file.hd"; */
static void parse_import(FeParser *p) {
  FeImport i = {0};
  hdfe_advance(p);
  i.span = hdfe_tok(p)->span;
  if (hdfe_peek(p) == TK_STRING) {
    i.is_file = true;
    i.name = hdfe_tok(p)->text;
    hdfe_advance(p);
  } else {
    FeSpan span;
    const char *part = hdfe_expect_name(p, "a module's name, or a file's in quotes", &span);
    i.name = part;
    while (part && (hdfe_accept(p, TK_DOT) || hdfe_accept(p, TK_SLASH))) {
      part = hdfe_expect_name(p, "a module's name", &span);
      if (part) i.name = hdb_printf(p->fe->arena, "%s/%s", i.name, part);
    }
    if (!part) return;
    i.span = hdfe_span_to_here(p, i.span);
  }
  hdfe_expect(p, TK_SEMI);
  HDB_PUSH(p->fe->arena, p->u->import_list, p->u->nimport_list, p->u->cap_import_list, i);
}

/* (threads) */
static void parse_group(FeParser *p, Attributes *a) {
  FeSpan opened = hdfe_tok(p)->span;
  if (!hdfe_expect(p, TK_LPAREN)) return;
  a->group = hdfe_parse_expr(p);
  hdfe_close(p, TK_RPAREN, opened);
}

static Attributes parse_attributes(FeParser *p) {
  Attributes a = {0};
  while (!p->panic && hdfe_accept(p, TK_AT)) {
    FeSpan span;
    const char *name = hdfe_expect_name(p, "the name of an attribute", &span);
    if (!name) return a;
    if (strcmp(name, "fast") == 0)
      a.fast = true, a.fast_at = span;
    else if (strcmp(name, "pure") == 0)
      a.pure = true, a.pure_at = span;
    else if (strcmp(name, "group") == 0 && a.group)
      hdfe_report(p->fe, p->u, span, FE_D_attribute_twice, name), parse_group(p, &a);
    else if (strcmp(name, "group") == 0)
      a.group_at = span, parse_group(p, &a);
    else
      hdfe_report(p->fe, p->u, span, FE_D_unknown_attribute, name);
  }
  return a;
}

static void sync_item(FeParser *p) {
  if (!p->panic) return;
  while (hdfe_peek(p) != TK_END) {
    if (hdfe_at_item(p) || hdfe_peek(p) == TK_AT) break;
    if (hdfe_peek(p) == TK_const && hdfe_tok(p)->span.col == 1) break;
    hdfe_advance(p);
  }
  p->panic = p->dead;
}

static void parse_item(FeParser *p) {
  Attributes a = parse_attributes(p);
  if (p->panic) return;
  FeTok t = hdfe_peek(p);
  if (t == TK_struct || t == TK_const || t == TK_import || t == TK_static_assert || t == TK_SEMI)
    refuse_attributes(p, &a, hdfe_token_text(t));
  switch (t) {
  case TK_extern:
  case TK_kernel:
  case TK_fn: parse_fn(p, &a); break;
  case TK_struct: parse_struct(p); break;
  case TK_const: parse_const(p); break;
  case TK_import: parse_import(p); break;
  case TK_SEMI: hdfe_advance(p); break;
  case TK_static_assert: {
    FeStmt *s = hdfe_parse_static_assert(p);
    HDB_PUSH(p->fe->arena, p->u->assert_list, p->u->nasserts, p->u->cap_asserts, s);
    break;
  }
  default: hdfe_syntax_error(p, FE_D_expected_item, NULL); break;
  }
}

static FeParser parser_new(FeCompiler *fe, FeUnit *u) {
  return (FeParser){.fe = fe, .u = u, .sizeof_name = hdfe_name(fe, "sizeof")};
}

void hdfe_parse(FeCompiler *fe, FeUnit *u) {
  FeParser p = parser_new(fe, u);
  while (hdfe_peek(&p) != TK_END) {
    uint32_t before = p.at;
    parse_item(&p);
    if (p.at == before) hdfe_advance(&p);
    sync_item(&p);
  }
}

FeExpr *hdfe_parse_value(FeCompiler *fe, FeUnit *u) {
  FeParser p = parser_new(fe, u);
  FeExpr *e = hdfe_parse_initialiser(&p);
  if (!p.panic && hdfe_peek(&p) != TK_END) hdfe_syntax_error(&p, FE_D_expected, "the end of the value");
  return e;
}
