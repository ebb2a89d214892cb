/* frontend/lang/lexer.c -- text to tokens, all at once. Any bytes will do: what is no token is reported and skipped. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/lang/fe.h"

typedef struct Lexer {
  FeCompiler *fe;
  FeUnit *u;
  const char *s;
  uint32_t at, end, line, line_start, cap;
  bool bad; /* what was skipped before the next token was reported */
} Lexer;

typedef struct Word {
  const char *text;
  FeTok kind;
} Word;

static const Word punctuation[] = {
#define X(id, text) {text, TK_##id},
    FE_PUNCTUATION(X)
#undef X
};
static const Word keywords[] = {
#define X(word) {#word, TK_##word},
    FE_KEYWORDS(X)
#undef X
};

const char *hdfe_token_text(FeTok t) {
  switch (t) {
  case TK_END: return "the end of the file";
  case TK_NAME: return "a name";
  case TK_INT:
  case TK_FLOAT: return "a number";
  case TK_STRING: return "a string";
  default: break;
  }
  for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++)
    if (punctuation[i].kind == t) return punctuation[i].text;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (keywords[i].kind == t) return keywords[i].text;
  return "?";
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const Lexer *x, uint32_t ahead) { return x->at + ahead < x->end ? x->s[x->at + ahead] : 0; }

static FeSpan span_from(const Lexer *x, uint32_t start) {
  return (FeSpan){x->line, start - x->line_start + 1, x->at - start};
}

static FeToken *push(Lexer *x, FeTok kind, uint32_t start) {
  HDB_PUSH(x->fe->arena, x->u->tokens, x->u->ntokens, x->cap, ((FeToken){.kind = kind}));
  FeToken *t = &x->u->tokens[x->u->ntokens - 1];
  t->span = span_from(x, start);
  t->off = start;
  t->bad = x->bad;
  x->bad = false;
  return t;
}

/* Over blanks and comments. */
static void skip_space(Lexer *x) {
  while (x->at < x->end) {
    char c = x->s[x->at];
    if (c == '\n') {
      x->at++;
      x->line++;
      x->line_start = x->at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      x->at++;
    } else if (c == '/' && peek(x, 1) == '/') {
      while (x->at < x->end && x->s[x->at] != '\n') x->at++;
    } else if (c == '/' && peek(x, 1) == '*') {
      FeSpan open = {x->line, x->at - x->line_start + 1, 2};
      x->at += 2;
      while (x->at < x->end && !(x->s[x->at] == '*' && peek(x, 1) == '/'))
        if (x->s[x->at++] == '\n') x->line++, x->line_start = x->at;
      if (x->at >= x->end) hdfe_report(x->fe, x->u, open, FE_D_comment_open);
      x->at = x->at + 2 < x->end ? x->at + 2 : x->end;
    } else {
      return;
    }
  }
}

static void lex_word(Lexer *x) {
  uint32_t start = x->at;
  while (is_letter(peek(x, 0)) || is_digit(peek(x, 0))) x->at++;
  const char *s = x->s + start;
  uint32_t n = x->at - start;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    const char *k = keywords[i].text;
    if (k[0] == s[0] && strlen(k) == n && memcmp(k, s, n) == 0) {
      push(x, keywords[i].kind, start);
      return;
    }
  }
  push(x, TK_NAME, start)->text = hdb_intern(&x->fe->names, s, n);
}

/* Digits of an integer in a base, underscores left out; false if they overflow or a digit is too large. */
static void int_value(Lexer *x, FeToken *t, uint32_t base) {
  uint64_t v = 0;
  bool over = false;
  for (const char *p = base == 10 ? t->text : t->text + 2; *p; p++) {
    uint32_t d = is_digit(*p) ? (uint32_t)(*p - '0') : ((uint32_t)*p | 32) - 'a' + 10;
    if (d >= base) {
      hdfe_report(x->fe, x->u, t->span, FE_D_bad_number, t->text);
      return;
    }
    over |= v > (UINT64_MAX - d) / base;
    v = v * base + d;
  }
  if (over) hdfe_report(x->fe, x->u, t->span, FE_D_number_too_large, t->text);
  t->integer = v;
}

static bool known_suffix(const char *s) {
  static const char *const all[] = {"u",   "i8",  "i16", "i32",  "i64", "u8", "u16",
                                    "u32", "u64", "f16", "bf16", "f32", "f64"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i], s) == 0) return true;
  return false;
}

/* Takes the digits of a decimal or hexadecimal number; returns whether it is a float. */
static bool scan_digits(Lexer *x, bool hex) {
  bool is_float = false;
  const char *exponent = hex ? "pP" : "eE";
  while (true) {
    char c = peek(x, 0);
    if (is_digit(c) || c == '_' || (hex && ((c | 32) >= 'a' && (c | 32) <= 'f') && is_letter(c))) {
      x->at++;
    } else if (c == '.' && !is_float && peek(x, 1) != '.' && (hex || !is_letter(peek(x, 1)))) {
      is_float = true;
      x->at++;
    } else if (c && strchr(exponent, c)) {
      uint32_t sign = peek(x, 1) == '+' || peek(x, 1) == '-';
      if (!is_digit(peek(x, 1 + sign))) return is_float;
      x->at += 2 + sign;
      while (is_digit(peek(x, 0))) x->at++;
      return true;
    } else {
      return is_float;
    }
  }
}

static void lex_number(Lexer *x) {
  uint32_t start = x->at, base = 10;
  char second = peek(x, 1) | 32;
  bool is_float = false;
  if (peek(x, 0) == '0' && (second == 'x' || second == 'b')) {
    base = second == 'x' ? 16 : 2;
    x->at += 2;
  }
  if (base == 2)
    while (is_digit(peek(x, 0)) || peek(x, 0) == '_') x->at++;
  else
    is_float = scan_digits(x, base == 16);
  uint32_t digits_end = x->at;
  while (is_letter(peek(x, 0)) || is_digit(peek(x, 0))) x->at++;
  FeToken *t = push(x, is_float ? TK_FLOAT : TK_INT, start);
  char *text = hdb_strndup(x->fe->arena, x->s + start, digits_end - start), *to = text;
  for (const char *p = text; *p; p++)
    if (*p != '_') *to++ = *p;
  *to = 0;
  t->text = text;
  if (x->at > digits_end) {
    t->suffix = hdb_strndup(x->fe->arena, x->s + digits_end, x->at - digits_end);
    if (!known_suffix(t->suffix)) {
      hdfe_report(x->fe, x->u, t->span, FE_D_bad_suffix, t->suffix);
      t->suffix = NULL;
    } else if (t->suffix[0] == 'f' || t->suffix[0] == 'b') {
      t->kind = TK_FLOAT; /* 1f32 */
    } else if (is_float) {
      hdfe_report(x->fe, x->u, t->span, FE_D_bad_suffix, t->suffix);
      t->suffix = NULL;
    }
  }
  if (base != 10 && !text[2]) hdfe_report(x->fe, x->u, t->span, FE_D_bad_number, text);
  if (t->kind == TK_INT) int_value(x, t, base);
}

static void lex_string(Lexer *x) {
  uint32_t start = x->at++;
  Buf b;
  hdb_buf_init(&b, x->fe->arena);
  while (x->at < x->end && x->s[x->at] != '"' && x->s[x->at] != '\n') {
    char c = x->s[x->at++];
    if (c == '\\' && x->at < x->end && x->s[x->at] != '\n') {
      c = x->s[x->at++];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    if (c) hdb_putc(&b, c);
  }
  bool closed = x->at < x->end && x->s[x->at] == '"';
  x->at += closed;
  FeToken *t = push(x, TK_STRING, start);
  t->text = b.len ? b.data : "";
  t->bad |= !closed;
  if (!closed) hdfe_report(x->fe, x->u, t->span, FE_D_string_open);
}

static void lex_other(Lexer *x) {
  for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++) {
    const char *p = punctuation[i].text;
    if (p[0] != x->s[x->at]) continue;
    uint32_t n = (uint32_t)strlen(p);
    if (x->at + n > x->end || memcmp(p, x->s + x->at, n) != 0) continue;
    x->at += n;
    push(x, punctuation[i].kind, x->at - n);
    return;
  }
  uint32_t start = x->at;
  unsigned char c = (unsigned char)x->s[x->at++];
  while (c >= 0x80 && x->at < x->end && (unsigned char)x->s[x->at] >= 0x80) x->at++; /* one report a run */
  char what[16] = "outside ASCII";
  if (c < 0x80) snprintf(what, sizeof what, c > ' ' && c < 127 ? "%c" : "\\x%02x", c);
  hdfe_report(x->fe, x->u, span_from(x, start), FE_D_bad_character, what);
  x->bad = true;
}

void hdfe_lex(FeCompiler *fe, FeUnit *u) {
  Lexer x = {.fe = fe, .u = u, .s = u->text, .end = u->len, .line = 1};
  if (x.end >= 3 && memcmp(x.s, "\xef\xbb\xbf", 3) == 0) x.at = x.line_start = 3; /* a byte order mark */
  while (skip_space(&x), x.at < x.end) {
    char c = x.s[x.at];
    if (is_letter(c))
      lex_word(&x);
    else if (is_digit(c) || (c == '.' && is_digit(peek(&x, 1))))
      lex_number(&x);
    else if (c == '"')
      lex_string(&x);
    else
      lex_other(&x);
  }
  push(&x, TK_END, x.at)->span.len = 1;
}
