/* tests/fakecuda/ptx_lex.c -- tokens of PTX, and what names mean in which brace. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_text.h"

const PtxTypeInfo ptx_types[PTX_NTYPES] = {{"none", 0, 0},
#define X(id, name, bytes, kind) {name, bytes, kind},
                                           PTX_TYPES(X)
#undef X
};

bool ptx_error_at(Parser *p, uint32_t line, const char *format, ...) {
  if (p->failed) return false;
  char what[400];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  ptx_fail(p->err, PTX_BAD_TEXT, line, "PTX line %u: %s", line, what);
  p->failed = true;
  p->tok.kind = TOK_END;
  p->at = p->end;
  return false;
}

/* --- tokens --- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
static bool is_name(char c) { return is_name_start(c) || is_digit(c); }

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

static char peek(const Parser *p, uint32_t k) { return (size_t)(p->end - p->at) > k ? p->at[k] : '\0'; }

static void skip_space(Parser *p) {
  while (p->at < p->end) {
    char c = *p->at;
    if (c == '\n') p->line++;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      p->at++;
    } else if (c == '/' && peek(p, 1) == '/') {
      while (p->at < p->end && *p->at != '\n') p->at++;
    } else if (c == '/' && peek(p, 1) == '*') {
      uint32_t line = p->line;
      p->at += 2;
      while (p->at < p->end && !(*p->at == '*' && peek(p, 1) == '/')) p->line += *p->at++ == '\n';
      if (p->at >= p->end) {
        ptx_error_at(p, line, "a comment without end");
        return;
      }
      p->at += 2;
    } else {
      return;
    }
  }
}

/* Digits of a base; false if there is none or the value does not fit 64 bits. */
static bool digits(Parser *p, int base, uint64_t *value) {
  const char *start = p->at;
  *value = 0;
  while (p->at < p->end && hex_value(*p->at) < base) {
    if (__builtin_mul_overflow(*value, (uint64_t)base, value)) return false;
    if (__builtin_add_overflow(*value, (uint64_t)hex_value(*p->at), value)) return false;
    p->at++;
  }
  return p->at > start;
}

static void float_bits(Parser *p, uint32_t n) {
  Token *t = &p->tok;
  p->at += 2;
  const char *start = p->at;
  if (!digits(p, 16, &t->bits) || p->at - start != (int)n || is_name(peek(p, 0)))
    FAIL(p, "0%c needs %u hexadecimal digits", n == 8 ? 'f' : 'd', n);
  t->kind = n == 8 ? TOK_F32 : TOK_F64;
}

static void number(Parser *p) {
  Token *t = &p->tok;
  char c = peek(p, 1);
  t->kind = TOK_INT;
  if (*p->at == '0' && (c == 'f' || c == 'F')) {
    float_bits(p, 8);
    return;
  }
  if (*p->at == '0' && (c == 'd' || c == 'D')) {
    float_bits(p, 16);
    return;
  }
  int base = 10;
  if (*p->at == '0' && (c == 'x' || c == 'X'))
    base = 16, p->at += 2;
  else if (*p->at == '0' && (c == 'b' || c == 'B'))
    base = 2, p->at += 2;
  else if (*p->at == '0' && is_digit(c))
    base = 8;
  const char *q = p->at;
  while (is_digit(*q) && q + 1 < p->end) q++;
  if (base != 16 && base != 2 && (*q == '.' || *q == 'e' || *q == 'E')) {
    char text[64] = {0}, *end;
    size_t n = (size_t)(p->end - p->at) < sizeof text - 1 ? (size_t)(p->end - p->at) : sizeof text - 1;
    memcpy(text, p->at, n);
    double x = strtod(text, &end);
    p->at += end - text;
    memcpy(&t->bits, &x, 8);
    t->kind = TOK_F64;
    t->n = (uint32_t)(p->at - t->at);
    return;
  }
  if (!digits(p, base, &t->bits)) {
    FAIL(p, "a number that is not one, or does not fit 64 bits");
    return;
  }
  if (peek(p, 0) == 'U') p->at++;
  if (is_name(peek(p, 0))) FAIL(p, "a number runs into a name");
}

void ptx_next(Parser *p) {
  Token *t = &p->tok;
  skip_space(p);
  *t = (Token){.at = p->at, .line = p->line};
  if (p->at >= p->end) return;
  char c = *p->at;
  if (is_name_start(c)) {
    while (p->at < p->end && is_name(*p->at)) p->at++;
    t->kind = TOK_NAME;
    t->n = (uint32_t)(p->at - t->at);
  } else if (is_digit(c)) {
    number(p);
  } else if (c == '.' && is_name(peek(p, 1))) {
    t->at = ++p->at;
    while (p->at < p->end && (is_name(*p->at) || (*p->at == ':' && peek(p, 1) == ':' && is_name(peek(p, 2)))))
      p->at += *p->at == ':' ? 2 : 1;
    t->kind = TOK_DOT;
    t->n = (uint32_t)(p->at - t->at);
  } else if (c == '"') {
    t->at = ++p->at;
    while (p->at < p->end && *p->at != '"' && *p->at != '\n') p->at++;
    if (peek(p, 0) != '"') FAIL(p, "a string without end");
    t->n = (uint32_t)(p->at - t->at);
    if (!p->failed) p->at++, t->kind = TOK_STRING;
  } else if (strchr("[](){}<>,;:+-*/@!|=&~^?.", c)) {
    p->at++;
    t->kind = TOK_PUNCT;
    t->bits = (uint8_t)c;
  } else {
    FAIL(p, "a character that PTX has no use for (code %u)", (uint8_t)c);
  }
}

bool ptx_is(const Parser *p, char c) { return p->tok.kind == TOK_PUNCT && p->tok.bits == (uint8_t)c; }

bool ptx_skip(Parser *p, char c) {
  if (!ptx_is(p, c)) return false;
  ptx_next(p);
  return true;
}

bool ptx_want(Parser *p, char c) {
  if (ptx_skip(p, c)) return true;
  if (p->tok.kind == TOK_END) return FAIL(p, "'%c' expected, and the text ends", c);
  if (p->tok.kind == TOK_PUNCT) return FAIL(p, "'%c' expected, found '%c'", c, (char)p->tok.bits);
  return FAIL(p, "'%c' expected, found '%.*s'", c, (int)(p->tok.n ? p->tok.n : 8), p->tok.at);
}

bool ptx_word(const Token *t, const char *word) { return strlen(word) == t->n && memcmp(word, t->at, t->n) == 0; }
bool ptx_is_dot(const Parser *p, const char *word) { return p->tok.kind == TOK_DOT && ptx_word(&p->tok, word); }

bool ptx_skip_dot(Parser *p, const char *word) {
  if (!ptx_is_dot(p, word)) return false;
  ptx_next(p);
  return true;
}

PtxType ptx_type_of(const char *text, uint32_t n) {
  for (uint32_t i = 1; i < PTX_NTYPES; i++)
    if (strlen(ptx_types[i].name) == n && memcmp(ptx_types[i].name, text, n) == 0) return (PtxType)i;
  return PTX_NOTYPE;
}

/* --- names --- */

static void rehash(Parser *p) {
  free(p->table);
  p->table_size = p->table_size ? 2 * p->table_size : 256;
  p->table = calloc(p->table_size, sizeof *p->table);
  for (uint32_t i = 0; i < p->nnames; i++) {
    uint32_t h = p->names[i].hash & (p->table_size - 1);
    while (p->table[h]) h = (h + 1) & (p->table_size - 1);
    p->table[h] = i + 1;
  }
}

/* The index of a name; UINT32_MAX if it is new and must not be made. */
static uint32_t lookup(Parser *p, const char *text, uint32_t n, bool make) {
  uint32_t hash = 2166136261u;
  for (uint32_t i = 0; i < n; i++) hash = (hash ^ (uint8_t)text[i]) * 16777619u;
  if (2 * p->nnames >= p->table_size) rehash(p);
  uint32_t h = hash & (p->table_size - 1);
  for (; p->table[h]; h = (h + 1) & (p->table_size - 1)) {
    const Name *e = &p->names[p->table[h] - 1];
    if (e->hash == hash && e->n == n && memcmp(e->text, text, n) == 0) return p->table[h] - 1;
  }
  if (!make) return UINT32_MAX;
  GROW(p->names, p->nnames, p->names_room);
  char *copy = ptx_arena(p->m, n + 1);
  memcpy(copy, text, n);
  p->names[p->nnames] = (Name){copy, n, hash, NULL};
  p->table[h] = ++p->nnames;
  return p->nnames - 1;
}

uint32_t ptx_name(Parser *p, const char *text, uint32_t n) { return lookup(p, text, n, true); }

Symbol *ptx_declare(Parser *p, uint32_t name, SymKind kind) {
  Name *e = &p->names[name];
  if (e->symbol && e->symbol->scope == p->scope) return NULL;
  Symbol *s = ptx_arena(p->m, sizeof *s);
  *s = (Symbol){.kind = kind, .scope = p->scope, .name = name, .hidden = e->symbol};
  e->symbol = s;
  if (p->scope == 0) return s; /* a function's name, between its results and its parameters, is not of their braces */
  GROW(p->scoped, p->nscoped, p->scoped_room);
  p->scoped[p->nscoped++] = name;
  return s;
}

/* A name, or an element of a row of registers: %r12 of %r<100>. The inner of both wins. */
Symbol *ptx_find(Parser *p, const char *text, uint32_t n) {
  uint32_t whole = lookup(p, text, n, false);
  Symbol *s = whole == UINT32_MAX ? NULL : p->names[whole].symbol;
  if (s && s->kind == SYM_REGS) s = NULL; /* the row itself is no operand */
  Symbol *r = NULL;
  uint32_t first = n, stem = n, k = 0;
  while (first > 0 && is_digit(text[first - 1])) first--;
  while (!r && stem-- > first) {
    if (n - stem > 9 || (n - stem > 1 && text[stem] == '0')) continue;
    uint32_t row = lookup(p, text, stem, false);
    k = (uint32_t)strtoul(text + stem, NULL, 10);
    if (row != UINT32_MAX) r = p->names[row].symbol;
    if (r && (r->kind != SYM_REGS || k >= r->count)) r = NULL;
  }
  if (!r || (s && s->scope >= r->scope)) return s;
  Symbol *one = ptx_declare(p, ptx_name(p, text, n), SYM_REG);
  if (!one) return s;
  /* Made in the scope of use, so that it is forgotten there; the row stays. */
  one->type = r->type;
  uint32_t bytes = ptx_types[r->type].bytes;
  one->at = r->at + k * (r->type == PT_PRED ? 4 : LANES * (bytes < 2 ? 2 : bytes));
  return one;
}
