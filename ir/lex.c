/* ir/lex.c -- the tokens of the IR's text. Any bytes are taken; what makes no token becomes TOK_BAD with a reason. */
#include "ir/lex.h"

#include "ir/text.h"

void hdir_lex_begin(Lexer *lx, Arena *a, const char *text, size_t len) {
  *lx = (Lexer){.arena = a, .at = text, .end = text + len, .line_start = text, .line = 1};
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const Lexer *lx, size_t ahead) { return (size_t)(lx->end - lx->at) > ahead ? lx->at[ahead] : 0; }

static void skip_blanks(Lexer *lx) {
  for (; lx->at < lx->end; lx->at++) {
    char c = *lx->at;
    if (c == '#') {
      while (lx->at < lx->end && *lx->at != '\n') lx->at++;
      if (lx->at == lx->end) return;
      c = '\n';
    }
    if (c == '\n') {
      lx->line++;
      lx->line_start = lx->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

static Token token(TokenKind kind, const char *text) { return (Token){.kind = kind, .text = text}; }

static Token bad(Lexer *lx, const char *why) {
  lx->at = lx->end; /* nothing behind it is trusted */
  return token(TOK_BAD, why);
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Behind the opening quote. */
static Token quoted(Lexer *lx, TokenKind kind) {
  Buf b;
  hdb_buf_init(&b, lx->arena);
  hdb_put(&b, "");
  for (;;) {
    if (lx->at == lx->end || *lx->at == '\n') return bad(lx, "a text without its closing '\"'");
    char c = *lx->at++;
    if (c == '"') return token(kind, b.data);
    if (c == 0) return bad(lx, "a zero byte in a text");
    if (c != '\\') {
      hdb_putc(&b, c);
      continue;
    }
    c = peek(lx, 0);
    if (lx->at < lx->end) lx->at++;
    if (c == 'n')
      hdb_putc(&b, '\n');
    else if (c == 't')
      hdb_putc(&b, '\t');
    else if (c == '"' || c == '\\')
      hdb_putc(&b, c);
    else if (c == 'x' && hex_digit(peek(lx, 0)) >= 0 && hex_digit(peek(lx, 1)) >= 0) {
      int code = hex_digit(peek(lx, 0)) * 16 + hex_digit(peek(lx, 1));
      if (code == 0) return bad(lx, "a zero byte in a text");
      hdb_putc(&b, (char)code);
      lx->at += 2;
    } else {
      return bad(lx, "an unknown escape in a text; there are \\n \\t \\\\ \\\" \\xHH");
    }
  }
}

static Token word(Lexer *lx, TokenKind kind) {
  const char *start = lx->at;
  while (lx->at < lx->end && hdir_name_char(*lx->at)) lx->at++;
  return token(kind, hdb_strndup(lx->arena, start, (size_t)(lx->at - start)));
}

/* Digits, letters and points; a sign only in front and behind the e of an exponent. */
static Token number(Lexer *lx) {
  const char *start = lx->at;
  if (*lx->at == '-') lx->at++;
  bool hex = peek(lx, 0) == '0' && peek(lx, 1) == 'x';
  while (lx->at < lx->end && hdir_name_char(*lx->at)) {
    bool exponent = !hex && *lx->at == 'e';
    lx->at++;
    if (exponent && (peek(lx, 0) == '-' || peek(lx, 0) == '+')) lx->at++;
  }
  return token(TOK_NUMBER, hdb_strndup(lx->arena, start, (size_t)(lx->at - start)));
}

static Token scan(Lexer *lx) {
  if (lx->at == lx->end) return token(TOK_END, "the end of the text");
  char c = *lx->at, next = peek(lx, 1);
  if (c == '%' || (c == '@' && (next == '"' || (hdir_name_char(next) && !is_digit(next))))) {
    TokenKind kind = c == '%' ? TOK_VALUE : TOK_FUNC;
    lx->at++;
    if (next == '"') {
      lx->at++;
      return quoted(lx, kind);
    }
    return hdir_name_char(next) ? word(lx, kind) : bad(lx, "a '%' without a name");
  }
  if (c == '"') {
    lx->at++;
    return quoted(lx, TOK_STRING);
  }
  if (c == '-' && next == '>') {
    lx->at += 2;
    return token(TOK_ARROW, "->");
  }
  if (is_digit(c) || (c == '-' && is_digit(next))) return number(lx);
  if (hdir_name_char(c)) return word(lx, TOK_WORD);
  if (c && strchr("{}()<>,:=@", c)) {
    Token t = token(TOK_MARK, hdb_strndup(lx->arena, lx->at++, 1));
    t.mark = c;
    return t;
  }
  return bad(lx, "a character that starts nothing");
}

Token hdir_lex(Lexer *lx) {
  skip_blanks(lx);
  int32_t line = lx->line, column = (int32_t)(lx->at - lx->line_start) + 1;
  Token t = scan(lx);
  t.line = line;
  t.column = column;
  return t;
}
