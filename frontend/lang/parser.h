/* frontend/lang/parser.h -- what the parser's three files share: parse_item.c, parse_stmt.c, parse_expr.c.
 *
 * Recursive descent. After an error the parser is in panic and silent until a point where it knows again where it
 * is: the end of a statement, or the start of an item. What does not parse becomes an error node.
 */
#ifndef FE_PARSER_H
#define FE_PARSER_H

#include "frontend/lang/fe.h"
HD_BEGIN_DECLS

typedef struct FeParser {
  FeCompiler *fe;
  FeUnit     *u;
  uint32_t    at;    /* the next token                                        */
  uint32_t    depth; /* of what is being parsed                               */
  bool        panic; /* an error was reported; be silent until the next sync  */
  bool        dead;  /* too deep: everything that follows is skipped          */
  const char *sizeof_name;
} FeParser;

/* --- tokens (parse_item.c) --- */
static inline FeToken *hdfe_tok(const FeParser *p) { return &p->u->tokens[p->at]; }
static inline FeTok    hdfe_peek(const FeParser *p) { return p->u->tokens[p->at].kind; }
static inline FeTok    hdfe_peek_at(const FeParser *p, uint32_t ahead) {
  uint32_t i = p->at + ahead;
  return p->u->tokens[i < p->u->ntokens ? i : p->u->ntokens - 1].kind;
}
static inline void hdfe_advance(FeParser *p) {
  if (p->at + 1 < p->u->ntokens) p->at++;
}
bool        hdfe_accept(FeParser *p, FeTok t);
bool        hdfe_expect(FeParser *p, FeTok t);                  /* reports and panics if it is another */
bool        hdfe_close(FeParser *p, FeTok t, FeSpan opened);    /* the same, with a note on the opening */
const char *hdfe_expect_name(FeParser *p, const char *what, FeSpan *span); /* NULL after an error */
void        hdfe_syntax_error(FeParser *p, FeDiagId id, const char *what); /* message with the token at hand */
const char *hdfe_token_shown(FeParser *p);                      /* "'foo'", "the end of the file" */
FeSpan      hdfe_span_to_here(const FeParser *p, FeSpan start); /* up to the token before */
bool        hdfe_at_item(const FeParser *p);                    /* a word that only an item begins with: a brace is missing */
bool        hdfe_enter(FeParser *p); /* one level deeper; false if that is too deep. Pair with p->depth-- */

/* --- types (parse_item.c) --- */
/* The index of the token behind the > that closes the < at `at`, if what stands between may be generic arguments; else 0. */
uint32_t    hdfe_skip_generics(const FeParser *p, uint32_t at);
FeTypeRef  *hdfe_parse_type(FeParser *p);                       /* without the [..] that follow a name */
FeTypeRef **hdfe_parse_type_args(FeParser *p, uint32_t *n);     /* < .. > */
FeTypeRef  *hdfe_parse_axes(FeParser *p, FeTypeRef *elem, bool arrays); /* the [..] behind a name */
bool        hdfe_at_shared(const FeParser *p); /* at the word `shared`, with a type and a name behind it */

/* --- expressions (parse_expr.c) --- */
FeExpr *hdfe_expr_new(FeParser *p, FeExprKind kind, FeSpan span);
FeExpr *hdfe_parse_expr(FeParser *p);          /* reports an assignment inside */
FeExpr *hdfe_parse_place_or_expr(FeParser *p); /* at the start of a statement: assignments may follow */
FeExpr *hdfe_parse_size(FeParser *p);          /* no comparison: for the inside of < > */
FeExpr *hdfe_parse_initialiser(FeParser *p);   /* an expression or a list in braces */

/* --- statements (parse_stmt.c) --- */
FeStmt *hdfe_parse_block(FeParser *p);
FeStmt *hdfe_parse_static_assert(FeParser *p); /* also an item */
void    hdfe_sync_stmt(FeParser *p); /* to the next statement, if in panic */

HD_END_DECLS
#endif
