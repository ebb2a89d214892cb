/* ir/lex.h -- the tokens of the IR's text; used by parse.c alone. */
#ifndef IR_LEX_H
#define IR_LEX_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef enum TokenKind {
  TOK_END,
  TOK_WORD,   /* func, add, f32, x        text is the word                        */
  TOK_VALUE,  /* %x  %"odd name"          text is the name                        */
  TOK_FUNC,   /* @f  @"odd name"          text is the name; '@' alone is a mark   */
  TOK_NUMBER, /* 7  7i32  -1.5f32  0x..f32                                        */
  TOK_STRING, /* "text", escapes resolved                                         */
  TOK_MARK,   /* one of { } ( ) < > , : = @                                       */
  TOK_ARROW,  /* ->                                                               */
  TOK_BAD,    /* text says what is wrong                                          */
} TokenKind;

typedef struct Token {
  TokenKind   kind;
  char        mark;
  const char *text; /* zero-terminated, in the arena; of an END or MARK: as written */
  int32_t     line, column;
} Token;

typedef struct Lexer {
  Arena      *arena;
  const char *at, *end, *line_start;
  int32_t     line;
} Lexer;

void  hdir_lex_begin(Lexer *lx, Arena *a, const char *text, size_t len);
Token hdir_lex(Lexer *lx);

HD_END_DECLS
#endif
