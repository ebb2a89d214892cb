/* ir/parse.c -- text to a module, by recursive descent with one token of lookahead.
 *
 * Line breaks mean nothing: an operand list ends where no comma follows, and a name before a ':' begins the next
 * instruction. The parser checks what it must to build a module at all (names, types in range, known ops); the rules of
 * ops.def are the verifier's. It takes any bytes: depth and sizes are bounded, so that no input exhausts the stack.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/lex.h"
#include "ir/text.h"

enum {
  DEEPEST = 256,      /* nested regions                              */
  DEEPEST_TYPE = 32,  /* nested types                                */
  MOST_ELEMENTS = 64, /* of a vector, rows and columns of a matrix   */
  LARGEST = 1 << 26,  /* bytes of a type                             */
};

typedef struct PendingCall { /* of a function that may come later in the text */
  IrInst *inst;
  Token name;
} PendingCall;

typedef struct Parser {
  Arena *arena;
  const char *name;
  Lexer lx;
  Token tok, ahead;
  HdError *err;
  IrModule *m;
  Map ops; /* by name, to the row */
  IrFunc *fn;
  Map values; /* of fn, by name */
  PendingCall *calls;
  uint32_t ncalls, cap_calls;
  int depth, type_depth;
} Parser;

typedef struct List { /* operands, results or types while their number is not known */
  void **at;
  uint32_t n, cap;
} List;

static void push(Parser *p, List *l, const void *x) { HDB_PUSH(p->arena, l->at, l->n, l->cap, (void *)(uintptr_t)x); }

/* --- errors and tokens --- */

#define FAIL(p, token, ...)                                                                                            \
  (hdb_fail_at((p)->err, HD_ERR_IR, (HdSpan){(p)->name, (token).line, (token).column}, __VA_ARGS__), false)

static void advance(Parser *p) {
  p->tok = p->ahead;
  p->ahead = hdir_lex(&p->lx);
}

/* What stands there instead, in words; the quotes keep "expected X, found 'Y'" readable. */
static bool unexpected(Parser *p, const char *wanted) {
  if (p->tok.kind == TOK_BAD) return FAIL(p, p->tok, "%s", p->tok.text);
  if (p->tok.kind == TOK_END) return FAIL(p, p->tok, "expected %s, found the end of the text", wanted);
  const char *sigil = p->tok.kind == TOK_VALUE ? "%" : p->tok.kind == TOK_FUNC ? "@" : "";
  return FAIL(p, p->tok, "expected %s, found '%s%.60s'", wanted, sigil, p->tok.text);
}

static bool at_mark(const Parser *p, char c) { return p->tok.kind == TOK_MARK && p->tok.mark == c; }

static bool accept_mark(Parser *p, char c) {
  if (!at_mark(p, c)) return false;
  advance(p);
  return true;
}

static bool expect_mark(Parser *p, char c, const char *wanted) { return accept_mark(p, c) || unexpected(p, wanted); }

static bool at_word(const Parser *p, const char *w) { return p->tok.kind == TOK_WORD && strcmp(p->tok.text, w) == 0; }

static bool accept_word(Parser *p, const char *w) {
  if (!at_word(p, w)) return false;
  advance(p);
  return true;
}

static bool expect(Parser *p, TokenKind kind, const char *wanted, Token *out) {
  if (p->tok.kind != kind) return unexpected(p, wanted);
  *out = p->tok;
  advance(p);
  return true;
}

/* A plain count: decimal digits alone. */
static bool parse_count(Parser *p, const char *wanted, int64_t least, int64_t most, int64_t *out) {
  Token t;
  if (!expect(p, TOK_NUMBER, wanted, &t)) return false;
  char *end;
  errno = 0;
  long long x = strtoll(t.text, &end, 10);
  if (*end || errno) return FAIL(p, t, "expected %s, found '%.60s'", wanted, t.text);
  if (x < least || x > most) {
    return FAIL(p, t, "%s must be from %lld to %lld, and is %lld", wanted, (long long)least, (long long)most, x);
  }
  *out = x;
  return true;
}

/* --- types --- */

static bool parse_type(Parser *p, const IrType **out);

static const char *const scalar_names[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                           "u32",  "u64", "f16", "bf16", "f32", "f64"};

static const IrType *scalar_by_name(const Parser *p, const char *s) {
  for (uint32_t k = 0; k < sizeof scalar_names / sizeof *scalar_names; k++)
    if (strcmp(s, scalar_names[k]) == 0) return hdir_scalar(&p->m->types, (IrKind)(IR_BOOL + k));
  return NULL;
}

static bool holds_handle(const IrType *t) {
  if (t->kind == IR_ARRAY || t->kind == IR_PTR) return true;
  if (t->kind == IR_FIXED) return holds_handle(t->elem);
  for (uint32_t k = 0; t->kind == IR_STRUCT && k < t->nparts; k++)
    if (holds_handle(t->fields[k].type)) return true;
  return false;
}

static bool parse_packed(Parser *p, IrKind kind, const IrType **out) {
  Token start = p->tok;
  int64_t n = 1, m = 1;
  if (!parse_type(p, out)) return false;
  if (!hdir_is_scalar(*out)) return FAIL(p, start, "this type holds scalars only");
  if (kind == IR_VEC || kind == IR_MAT) {
    if (!expect_mark(p, ',', "',' and a size")) return false;
    if (!parse_count(p, "a size", 1, MOST_ELEMENTS, &n)) return false;
  }
  if (kind == IR_MAT) {
    if (!expect_mark(p, ',', "',' and the columns")) return false;
    if (!parse_count(p, "the columns", 1, MOST_ELEMENTS, &m)) return false;
  }
  IrTypes *ts = &p->m->types;
  switch (kind) {
  case IR_VEC: *out = hdir_vec(ts, *out, (uint32_t)n); break;
  case IR_MAT: *out = hdir_mat(ts, *out, (uint32_t)n, (uint32_t)m); break;
  case IR_QUAT: *out = hdir_quat(ts, *out); break;
  case IR_TRANSFORM: *out = hdir_transform(ts, *out); break;
  default: *out = hdir_spatial(ts, *out); break;
  }
  return true;
}

/* fixed, array, ptr: of anything that can lie in memory. */
static bool parse_holder(Parser *p, IrKind kind, const IrType **out) {
  Token start = p->tok;
  int64_t n = 1;
  if (!parse_type(p, out)) return false;
  if (holds_handle(*out)) return FAIL(p, start, "arrays and pointers cannot be stored");
  if (kind == IR_PTR) {
    IrSpace space = IR_GLOBAL;
    if (accept_mark(p, ',')) {
      space = at_word(p, "shared") ? IR_SHARED : IR_LOCAL;
      if (!accept_word(p, "local") && !accept_word(p, "shared")) return unexpected(p, "'local' or 'shared'");
    }
    *out = hdir_ptr(&p->m->types, *out, space);
    return true;
  }
  if (!expect_mark(p, ',', "',' and a number")) return false;
  if (kind == IR_ARRAY) {
    if (!parse_count(p, "the dimensions", 1, HD_MAX_DIMS, &n)) return false;
    *out = hdir_array(&p->m->types, *out, (uint32_t)n);
    return true;
  }
  if (!parse_count(p, "the elements", 1, LARGEST / (*out)->size, &n)) return false;
  *out = hdir_fixed(&p->m->types, *out, (uint32_t)n);
  return true;
}

static bool parse_type_inner(Parser *p, const IrType **out) {
  static const struct {
    const char *name;
    IrKind kind;
  } heads[] = {{"vec", IR_VEC},         {"mat", IR_MAT},     {"quat", IR_QUAT},   {"transform", IR_TRANSFORM},
               {"spatial", IR_SPATIAL}, {"fixed", IR_FIXED}, {"array", IR_ARRAY}, {"ptr", IR_PTR}};
  Token t = p->tok;
  if (t.kind == TOK_VALUE) {
    *out = hdir_struct_find(&p->m->types, t.text);
    if (!*out) return FAIL(p, t, "no struct %%%.60s before this place", t.text);
    advance(p);
    return true;
  }
  if (t.kind != TOK_WORD) return unexpected(p, "a type");
  if ((*out = scalar_by_name(p, t.text))) {
    advance(p);
    return true;
  }
  for (uint32_t k = 0; k < sizeof heads / sizeof *heads; k++) {
    if (strcmp(t.text, heads[k].name) != 0) continue;
    advance(p);
    if (!expect_mark(p, '<', "'<'")) return false;
    bool packed = heads[k].kind <= IR_SPATIAL;
    if (!(packed ? parse_packed(p, heads[k].kind, out) : parse_holder(p, heads[k].kind, out))) return false;
    return expect_mark(p, '>', "'>'");
  }
  return FAIL(p, t, "no type is called '%.60s'", t.text);
}

static bool parse_type(Parser *p, const IrType **out) {
  if (p->type_depth >= DEEPEST_TYPE) return FAIL(p, p->tok, "types are nested more than %d deep", DEEPEST_TYPE);
  p->type_depth++;
  bool ok = parse_type_inner(p, out);
  p->type_depth--;
  return ok;
}

/* --- constants --- */

static bool float_bits(Parser *p, Token t, const IrType *type, const char *body, uint64_t *bits) {
  char digits[HDIR_LONGEST_NUMBER + 1];
  int n = 0, exponent = 0;
  bool point = false, negative = *body == '-';
  const char *s = body + negative;
  for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
    if (*s == '.') {
      point = true;
      continue;
    }
    if (n == HDIR_LONGEST_NUMBER) return FAIL(p, t, "a number has at most %d digits", HDIR_LONGEST_NUMBER);
    digits[n++] = *s;
    exponent -= point;
  }
  if (*s == 'e') {
    char *end;
    long e = strtol(s + 1, &end, 10);
    if (end == s + 1) return FAIL(p, t, "'%.60s' is no number", t.text);
    exponent += (int)(e > 9999 ? 9999 : e < -9999 ? -9999 : e);
    s = end;
  }
  if (*s || n == 0) return FAIL(p, t, "'%.60s' is no number", t.text);
  if (!hdir_parse_float(type, negative, digits, n, exponent, bits)) {
    return FAIL(p, t, "'%.60s' is out of the type's range", t.text);
  }
  return true;
}

static bool int_bits(Parser *p, Token t, const IrType *type, const char *body, uint64_t *bits) {
  bool negative = *body == '-';
  char *end;
  uint32_t n = hdir_bits(type);
  errno = 0;
  const char *digits = body + negative;
  unsigned long long x = strtoull(digits, &end, 10);
  if (*end || end == digits || *digits < '0' || *digits > '9') return FAIL(p, t, "'%.60s' is no integer", t.text);
  uint64_t most = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
  if (hdir_is_signed(type))
    most = most / 2 + negative;
  else if (negative)
    most = 0;
  if (errno || x > most) return FAIL(p, t, "'%.60s' is out of the type's range", t.text);
  *bits = negative ? 0 - (uint64_t)x : x;
  return true;
}

/* 0x with just as many digits as the float type has: its bits, which the last letters of the token name. Since f and b
 * are digits too, the count decides where the type begins. */
static bool hex_bits(const char *digits, uint32_t n, uint64_t *bits) {
  char copy[20], *end;
  snprintf(copy, sizeof copy, "%.*s", (int)n, digits);
  *bits = strtoull(copy, &end, 16);
  return end == copy + n && strlen(copy) == n;
}

static bool parse_number(Parser *p, IrValue **out) {
  Token t = p->tok;
  size_t len = strlen(t.text);
  const char *body = t.text + (*t.text == '-');
  for (IrKind kind = IR_I8; kind <= IR_F64; kind++) {
    const IrType *type = hdir_scalar(&p->m->types, kind);
    const char *suffix = scalar_names[kind - IR_BOOL];
    size_t n = strlen(suffix);
    uint64_t bits;
    if (len <= n || strcmp(t.text + len - n, suffix) != 0) continue;
    if (strncmp(body, "0x", 2) == 0) {
      uint32_t ndigits = hdir_bits(type) / 4;
      if (!hdir_is_float(type) || body != t.text || len != 2 + ndigits + n) continue;
      if (!hex_bits(body + 2, ndigits, &bits)) continue;
    } else {
      if (kind == IR_F16 && t.text[len - n - 1] == 'b') continue; /* bf16 */
      const char *number = hdb_strndup(p->arena, t.text, len - n);
      if (!(hdir_is_float(type) ? float_bits(p, t, type, number, &bits) : int_bits(p, t, type, number, &bits))) {
        return false;
      }
    }
    *out = hdir_const(p->fn, type, bits);
    advance(p);
    return true;
  }
  return FAIL(p, t, "'%.60s' is no constant: it needs a type, as in 7i32, 1.5f32 or 0x7fc00000f32", t.text);
}

/* --- values --- */

static bool define(Parser *p, Token name, IrValue *v) {
  MapSlot *slot = hdb_map_slot(&p->values, name.text, strlen(name.text));
  if (slot->value) return FAIL(p, name, "%%%.60s is already defined in this function", name.text);
  slot->value = v;
  v->name = slot->key;
  return true;
}

/* The nearest name as a suggestion, if one is near; of several the first in the alphabet. */
static const char *nearest(const Map *names, const char *name) {
  const char *best = NULL;
  int distance = 3;
  for (uint32_t k = 0; k < names->cap; k++) {
    const char *key = names->slots[k].key;
    int d = key ? hdb_edit_distance(name, key, 3) : 3;
    if (d < distance || (best && d == distance && strcmp(key, best) < 0)) {
      distance = d;
      best = key;
    }
  }
  return best;
}

static bool parse_use(Parser *p, IrValue **out) {
  Token t = p->tok;
  if (t.kind == TOK_NUMBER) return parse_number(p, out);
  if (at_word(p, "true") || at_word(p, "false")) {
    *out = hdir_const_bool(p->fn, t.text[0] == 't');
    advance(p);
    return true;
  }
  if (t.kind != TOK_VALUE) return unexpected(p, "a value");
  *out = hdb_map_get_str(&p->values, t.text);
  if (!*out) {
    const char *near = nearest(&p->values, t.text);
    if (near) return FAIL(p, t, "%%%.60s is not defined before this place; did you mean %%%.60s?", t.text, near);
    return FAIL(p, t, "%%%.60s is not defined before this place", t.text);
  }
  advance(p);
  return true;
}

static bool at_use(const Parser *p) {
  if (p->tok.kind == TOK_VALUE) { /* unless it begins the next instruction: %a: or %a, %b: */
    return !(p->ahead.kind == TOK_MARK && p->ahead.mark == ':');
  }
  return p->tok.kind == TOK_NUMBER || at_word(p, "true") || at_word(p, "false");
}

/* --- instructions --- */

typedef struct Head { /* what stands in front of '=' */
  List names, types;
} Head;

static bool parse_body(Parser *p, IrRegion *r);

/* Results of a name and a type each, and the '='. */
static bool parse_results(Parser *p, Head *h) {
  while (p->tok.kind == TOK_VALUE) {
    const IrType *t;
    push(p, &h->names, hdb_copy(p->arena, &p->tok, sizeof p->tok));
    advance(p);
    if (!expect_mark(p, ':', "':' and the result's type")) return false;
    if (!parse_type(p, &t)) return false;
    push(p, &h->types, t);
    if (!accept_mark(p, ',')) break;
    if (p->tok.kind != TOK_VALUE) return unexpected(p, "the next result's name");
  }
  return h->names.n == 0 || expect_mark(p, '=', "'=' after the results");
}

static bool define_results(Parser *p, const Head *h, IrInst *i) {
  for (uint32_t k = 0; k < i->nres; k++)
    if (!define(p, *(const Token *)h->names.at[k], i->res[k])) return false;
  return true;
}

static bool parse_loc(Parser *p, IrLoc *loc) {
  int64_t file, line, column;
  if (!accept_mark(p, '@')) return true;
  if (!parse_count(p, "a file's number", 0, (int64_t)p->m->nfiles - 1, &file)) return false;
  if (!expect_mark(p, ':', "':' and a line")) return false;
  if (!parse_count(p, "a line", 1, INT32_MAX, &line)) return false;
  if (!expect_mark(p, ':', "':' and a column")) return false;
  if (!parse_count(p, "a column", 0, INT32_MAX, &column)) return false;
  *loc = (IrLoc){(uint32_t)file, (uint32_t)line, (uint32_t)column};
  return true;
}

static bool parse_uses(Parser *p, List *args) {
  do {
    IrValue *v;
    if (!parse_use(p, &v)) return false;
    push(p, args, v);
  } while (accept_mark(p, ','));
  return true;
}

typedef struct Tail { /* what stands behind the op */
  List args;
  int64_t imm;
  Token text;
  bool has_callee;
  Token callee;
} Tail;

static bool parse_imm(Parser *p, Tail *t) { return parse_count(p, "a number", 0, INT32_MAX, &t->imm); }

static bool parse_unit(Parser *p, Tail *t) {
  for (t->imm = 0; t->imm < IR_NUNITS; t->imm++)
    if (accept_word(p, hdir_unit_names[t->imm])) return true;
  return unexpected(p, "a unit, mma, tex or dmma");
}

/* assert %c, "text"; check %c, %i, %n, "text" */
static bool parse_text_tail(Parser *p, Tail *t) {
  while (p->tok.kind != TOK_STRING) {
    IrValue *v;
    if (!parse_use(p, &v)) return false;
    push(p, &t->args, v);
    if (!expect_mark(p, ',', "',' and a text")) return false;
  }
  return expect(p, TOK_STRING, "a text", &t->text);
}

static bool parse_tail(Parser *p, const IrOpRow *row, Tail *t) {
  const char *letters = row->operands;
  if (row->effect == FX_CALL) {
    t->has_callee = true;
    if (!expect(p, TOK_FUNC, "a function's @name", &t->callee)) return false;
  }
  if (row->imm == IR_IMM_TEXT) return parse_text_tail(p, t);
  if (row->imm == IR_IMM_UNIT) return parse_unit(p, t);
  if (row->imm != IR_IMM_NONE) {
    IrValue *v;
    if (letters[0] == '.') return parse_imm(p, t);
    if (!parse_use(p, &v)) return false;
    push(p, &t->args, v);
    if (!expect_mark(p, ',', "',' and a number") || !parse_imm(p, t)) return false;
    return accept_mark(p, ',') ? parse_uses(p, &t->args) : true;
  }
  if (letters[0] == '.') return true;
  return at_use(p) ? parse_uses(p, &t->args) : true;
}

/* (%a: f32 = 0.0f32, ..) */
static bool parse_loop_params(Parser *p, Head *h, List *init) {
  if (!accept_mark(p, '(')) return true;
  if (accept_mark(p, ')')) return true;
  do {
    Token name;
    const IrType *t;
    IrValue *v;
    if (!expect(p, TOK_VALUE, "a carried value's name", &name)) return false;
    if (!expect_mark(p, ':', "':' and a type") || !parse_type(p, &t)) return false;
    if (!expect_mark(p, '=', "'=' and the first value") || !parse_use(p, &v)) return false;
    push(p, &h->names, hdb_copy(p->arena, &name, sizeof name));
    push(p, &h->types, t);
    push(p, init, v);
  } while (accept_mark(p, ','));
  return expect_mark(p, ')', "')'");
}

static bool parse_sub(Parser *p, IrInst *i, const Head *params, bool with_loc) {
  if (!expect_mark(p, '{', "'{'")) return false;
  if (with_loc && !parse_loc(p, &i->loc)) return false;
  IrRegion *r = hdir_region_new(p->fn, i, params->types.n, (const IrType *const *)params->types.at);
  i->sub[i->nsubs++] = r;
  for (uint32_t k = 0; k < r->nparams; k++)
    if (!define(p, *(const Token *)params->names.at[k], r->params[k])) return false;
  return parse_body(p, r);
}

static void yield_nothing(Parser *p, IrInst *i) {
  IrRegion *r = hdir_region_new(p->fn, i, 0, NULL);
  i->sub[i->nsubs++] = r;
  hdir_append(r, hdir_inst_new(p->fn, IR_yield, 0, NULL, 0, NULL));
}

static bool parse_control(Parser *p, IrOp op, IrRegion *at, const Head *res) {
  List init = {0};
  Head params = {0}, none = {0};
  if (op == IR_loop && !parse_loop_params(p, &params, &init)) return false;
  if (op == IR_if) {
    IrValue *c;
    if (!parse_use(p, &c)) return false;
    push(p, &init, c);
  }
  IrInst *i =
      hdir_inst_new(p->fn, op, init.n, (IrValue *const *)init.at, res->types.n, (const IrType *const *)res->types.at);
  hdir_append(at, i);
  if (!parse_sub(p, i, &params, true)) return false;
  if (op == IR_if) {
    if (!accept_word(p, "else"))
      yield_nothing(p, i);
    else if (!parse_sub(p, i, &none, false))
      return false;
  }
  return define_results(p, res, i); /* behind its regions: they do not see the results */
}

static bool parse_plain(Parser *p, IrOp op, IrRegion *at, const Head *res) {
  Tail t = {0};
  if (!parse_tail(p, &hdir_ops[op], &t)) return false;
  IrInst *i = hdir_inst_new(p->fn, op, t.args.n, (IrValue *const *)t.args.at, res->types.n,
                            (const IrType *const *)res->types.at);
  i->imm = t.imm;
  if (hdir_ops[op].imm == IR_IMM_TEXT) i->text = t.text.text;
  hdir_append(at, i);
  if (t.has_callee) {
    PendingCall call = {i, t.callee};
    HDB_PUSH(p->arena, p->calls, p->ncalls, p->cap_calls, call);
  }
  return parse_loc(p, &i->loc) && define_results(p, res, i);
}

static bool parse_inst(Parser *p, IrRegion *at) {
  Head res = {0};
  Token name;
  if (!parse_results(p, &res)) return false;
  if (!expect(p, TOK_WORD, "an instruction", &name)) return false;
  const IrOpRow *row = hdb_map_get_str(&p->ops, name.text);
  if (!row) {
    const char *near = nearest(&p->ops, name.text);
    if (near) return FAIL(p, name, "no op is called '%.60s'; did you mean '%s'?", name.text, near);
    return FAIL(p, name, "no op is called '%.60s'", name.text);
  }
  IrOp op = (IrOp)(row - hdir_ops);
  return row->effect == FX_CONTROL ? parse_control(p, op, at, &res) : parse_plain(p, op, at, &res);
}

static bool parse_body(Parser *p, IrRegion *r) {
  if (p->depth >= DEEPEST) return FAIL(p, p->tok, "regions are nested more than %d deep", DEEPEST);
  p->depth++;
  while (!at_mark(p, '}'))
    if (!parse_inst(p, r)) return false;
  p->depth--;
  advance(p);
  return true;
}

/* --- the top level --- */

static bool parse_file(Parser *p) {
  int64_t n;
  Token t = p->tok, path;
  if (!parse_count(p, "the file's number", 0, INT32_MAX, &n)) return false;
  if (!expect(p, TOK_STRING, "the file's path", &path)) return false;
  if (hdir_file(p->m, path.text) != n || n + 1 != p->m->nfiles) {
    return FAIL(p, t, "files are numbered from 0 in order, each path once");
  }
  return true;
}

static bool parse_struct(Parser *p) {
  Token name;
  IrField *fields = NULL;
  uint32_t n = 0, cap = 0;
  uint64_t size = 0;
  if (!expect(p, TOK_VALUE, "the struct's %name", &name)) return false;
  if (!expect_mark(p, '{', "'{'")) return false;
  do {
    IrField f = {0};
    Token t = p->tok;
    if (t.kind != TOK_WORD && t.kind != TOK_STRING) return unexpected(p, "a field's name");
    f.name = t.text;
    advance(p);
    if (!expect_mark(p, ':', "':' and the field's type") || !parse_type(p, &f.type)) return false;
    if (f.type->kind == IR_PTR) return FAIL(p, t, "a field cannot be a pointer");
    for (uint32_t k = 0; k < n; k++)
      if (strcmp(fields[k].name, f.name) == 0) return FAIL(p, t, "the field '%.60s' is there already", f.name);
    size += f.type->size + 8;
    if (size > LARGEST) return FAIL(p, t, "the struct is larger than %d bytes", LARGEST);
    HDB_PUSH(p->arena, fields, n, cap, f);
  } while (accept_mark(p, ','));
  if (!expect_mark(p, '}', "',' or '}'")) return false;
  if (hdir_struct_find(&p->m->types, name.text)) return FAIL(p, name, "the struct %%%.60s is there already", name.text);
  hdir_struct(&p->m->types, name.text, n, fields);
  return true;
}

static bool parse_params(Parser *p, Head *h) {
  if (!expect_mark(p, '(', "'(' and the parameters")) return false;
  if (accept_mark(p, ')')) return true;
  do {
    Token name;
    const IrType *t;
    if (!expect(p, TOK_VALUE, "a parameter's %name", &name)) return false;
    if (!expect_mark(p, ':', "':' and the parameter's type") || !parse_type(p, &t)) return false;
    push(p, &h->names, hdb_copy(p->arena, &name, sizeof name));
    push(p, &h->types, t);
  } while (accept_mark(p, ','));
  return expect_mark(p, ')', "',' or ')'");
}

/* A C function ends with its head. */
static bool parse_extern_end(Parser *p, const Head *params) {
  p->fn->is_extern = true;
  p->fn->is_pure = accept_word(p, "pure");
  for (uint32_t k = 0; k < params->types.n; k++)
    if (!define(p, *(const Token *)params->names.at[k], p->fn->body->params[k])) return false;
  return parse_loc(p, &p->fn->loc);
}

static bool parse_func(Parser *p, bool is_kernel, bool is_extern) {
  Token name;
  Head params = {0};
  List results = {0};
  if (!expect(p, TOK_FUNC, "the function's @name", &name)) return false;
  if (!parse_params(p, &params)) return false;
  if (p->tok.kind == TOK_ARROW) {
    do {
      const IrType *t;
      advance(p);
      if (!parse_type(p, &t)) return false;
      push(p, &results, t);
    } while (at_mark(p, ','));
  }
  if (hdir_func_find(p->m, name.text)) return FAIL(p, name, "the function @%.60s is there already", name.text);
  p->fn = hdir_func_new(p->m, name.text, is_kernel, params.types.n, (const IrType *const *)params.types.at, results.n,
                        (const IrType *const *)results.at);
  hdb_map_init(&p->values, p->arena);
  if (is_extern) return parse_extern_end(p, &params);
  int64_t rank = 0;
  if (is_kernel && accept_word(p, "rank") && !parse_count(p, "the axes of a launch", 1, HD_MAX_DIMS, &rank))
    return false;
  p->fn->rank = (int32_t)rank;
  int64_t group = 0;
  if (is_kernel && accept_word(p, "group") &&
      !parse_count(p, "the threads of a group", IR_NEIGHBOURS, HD_MAX_GROUP, &group))
    return false;
  p->fn->group = (int32_t)group;
  p->fn->fast = accept_word(p, "fast");
  if (!expect_mark(p, '{', "'{'") || !parse_loc(p, &p->fn->loc)) return false;
  for (uint32_t k = 0; k < params.types.n; k++)
    if (!define(p, *(const Token *)params.names.at[k], p->fn->body->params[k])) return false;
  return parse_body(p, p->fn->body);
}

static bool resolve_calls(Parser *p) {
  for (uint32_t k = 0; k < p->ncalls; k++) {
    Token t = p->calls[k].name;
    IrFunc *callee = hdir_func_find(p->m, t.text);
    if (!callee) return FAIL(p, t, "no function is called @%.60s", t.text);
    p->calls[k].inst->callee = callee;
  }
  return true;
}

static bool parse_module(Parser *p) {
  while (p->tok.kind != TOK_END) {
    bool ok;
    if (accept_word(p, "file"))
      ok = parse_file(p);
    else if (accept_word(p, "struct"))
      ok = parse_struct(p);
    else if (accept_word(p, "func"))
      ok = parse_func(p, false, false);
    else if (accept_word(p, "kernel"))
      ok = parse_func(p, true, false);
    else if (accept_word(p, "extern"))
      ok = parse_func(p, false, true);
    else
      ok = unexpected(p, "'file', 'struct', 'func', 'kernel' or 'extern'");
    if (!ok) return false;
  }
  return resolve_calls(p);
}

HdStatus hdir_parse(Arena *a, const char *name, const char *text, size_t len, HdError *err, IrModule **out) {
  Parser *p = HDB_NEW(a, Parser);
  *p = (Parser){.arena = a, .name = hdb_strdup(a, name), .err = err, .m = hdir_module_new(a, name)};
  hdb_map_init(&p->ops, a);
  for (uint32_t op = 0; op < IR_NOPS; op++) {
    hdb_map_set_str(&p->ops, hdir_ops[op].name, (void *)(uintptr_t)&hdir_ops[op]);
  }
  hdir_lex_begin(&p->lx, a, text, len);
  p->ahead = hdir_lex(&p->lx);
  advance(p);
  if (!parse_module(p)) return HD_ERR_IR;
  *out = p->m;
  return HD_OK;
}
