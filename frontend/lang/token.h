/* frontend/lang/token.h -- the words of the language and where they stand. */
#ifndef FE_TOKEN_H
#define FE_TOKEN_H

#include "base/intern.h"
HD_BEGIN_DECLS

/* Lines and columns count from 1, columns in bytes. */
typedef struct FeSpan {
  uint32_t line, col, len;
} FeSpan;

/* Punctuation, longest first within one first character: the lexer takes the first that fits. */
#define FE_PUNCTUATION(X)                                                                                      \
  X(SHL_SET, "<<=") X(SHR_SET, ">>=") X(SHL, "<<") X(LE, "<=") X(LT, "<") X(SHR, ">>") X(GE, ">=") X(GT, ">")   \
  X(ADD_SET, "+=") X(INC, "++") X(PLUS, "+") X(SUB_SET, "-=") X(DEC, "--") X(ARROW, "->") X(MINUS, "-")         \
  X(MUL_SET, "*=") X(STAR, "*") X(DIV_SET, "/=") X(SLASH, "/") X(REM_SET, "%=") X(PERCENT, "%")                 \
  X(AND_SET, "&=") X(ANDAND, "&&") X(AMP, "&") X(OR_SET, "|=") X(OROR, "||") X(BAR, "|") X(XOR_SET, "^=")       \
  X(CARET, "^") X(EQ, "==") X(SET, "=") X(NE, "!=") X(BANG, "!") X(TILDE, "~") X(QUESTION, "?") X(COLON, ":")   \
  X(SEMI, ";") X(COMMA, ",") X(RANGE, "..") X(DOT, ".") X(LPAREN, "(") X(RPAREN, ")") X(LBRACK, "[")            \
  X(RBRACK, "]") X(LBRACE, "{") X(RBRACE, "}") X(AT, "@")

#define FE_KEYWORDS(X)                                                                                         \
  X(break) X(const) X(continue) X(do) X(else) X(extern) X(false) X(fn) X(for) X(if) X(import) X(in) X(kernel) X(let)      \
  X(operator) X(ref) X(return) X(static) X(static_assert) X(struct) X(true) X(var) X(while)

typedef enum FeTok {
  TK_END,
  TK_NAME,
  TK_INT,
  TK_FLOAT,
  TK_STRING,
#define X(id, text) TK_##id,
  FE_PUNCTUATION(X)
#undef X
#define X(word) TK_##word,
      FE_KEYWORDS(X)
#undef X
  TK_COUNT
} FeTok;

typedef struct FeToken {
  FeTok       kind;
  FeSpan      span;
  uint32_t    off;    /* in the text                                          */
  const char *text;   /* names: interned; literals: the digits or the content */
  const char *suffix; /* numbers: "f64", or NULL                              */
  uint64_t    integer;
  bool        bad; /* it, or what stood before it, was reported: the parser says no more */
} FeToken;

const char *hdfe_token_text(FeTok t); /* "+=", "while", "a name" */

HD_END_DECLS
#endif
