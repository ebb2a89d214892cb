/* tests/fakecuda/ptx_text.h -- from text to decoded instructions: tokens, names, operands.
 *
 * After the first error every token is the end of the text, so that all loops come to their end.
 */
#ifndef FAKECUDA_PTX_TEXT_H
#define FAKECUDA_PTX_TEXT_H

#include "tests/fakecuda/ptx_core.h"

/* --- tokens --- */

typedef enum Tok { TOK_END, TOK_NAME, TOK_DOT, TOK_INT, TOK_F32, TOK_F64, TOK_STRING, TOK_PUNCT } Tok;

typedef struct Token {
  Tok         kind;
  const char *at;            /* text of a name, of a string without its quotes, of a word behind a dot         */
  uint32_t    n;
  uint64_t    bits;          /* of a number; the character of TOK_PUNCT                                        */
  uint32_t    line;
} Token;

/* --- names --- */

typedef enum SymKind {
  SYM_NONE, SYM_REG, SYM_REGS, SYM_VAR, SYM_FRAME, SYM_KPARAM, SYM_FUNC, SYM_LABEL, SYM_TARGETS, SYM_PROTO,
} SymKind;

typedef struct Symbol {
  SymKind        kind;
  PtxType        type;
  uint32_t       at;         /* column, frame offset, parameter offset, index, pc                              */
  uint32_t       count;      /* of SYM_REGS; of SYM_TARGETS                                                    */
  uint32_t       size, align;
  uint32_t       scope;      /* depth of the brace it was declared in                                          */
  uint32_t       name;
  struct Symbol *hidden;     /* what the name meant outside                                                    */
} Symbol;

typedef struct Name {
  const char *text;
  uint32_t    n, hash;
  Symbol     *symbol;
} Name;

typedef struct Fixup {       /* a label that was not known yet                                                 */
  uint32_t name, line, scope;
  uint32_t ins;              /* its target; or UINT32_MAX and                                                  */
  uint32_t list;             /* this element of the lists                                                      */
} Fixup;

/* --- growing arrays --- */

#define GROW(v, n, room) \
  ((n) < (room) ? (v) : ((room) = (room) ? 2 * (room) : 32, (v) = ptx_realloc((v), (size_t)(room) * sizeof *(v))))

/* --- operands --- */

typedef enum OpKind { OP_NONE, OP_REG, OP_INT, OP_F32, OP_F64, OP_VAR, OP_FRAME, OP_KPARAM, OP_FUNC, OP_SINK, OP_VEC } OpKind;

typedef struct Operand {
  OpKind   kind;
  PtxType  type;             /* of a register                                                                  */
  uint32_t at;               /* column, variable, offset, function                                             */
  uint64_t bits;             /* of a number; added to an address                                               */
  bool     negated;          /* !p                                                                             */
  uint32_t n;                /* of a vector                                                                    */
  struct Operand *part;
} Operand;

typedef struct Parser {
  PtxModule  *m;
  PtxError   *err;
  const char *at, *end;
  uint32_t    line;
  Token       tok;
  bool        failed;

  Name       *names;
  uint32_t    nnames, names_room;
  uint32_t   *table, table_size;
  uint32_t   *scoped, nscoped, scoped_room;   /* names declared in open braces, outermost first */
  uint32_t    scope;

  PtxFunc    *fn;            /* whose body it is, or NULL                                                      */
  uint32_t    reg_bytes, frame_bytes;
  uint32_t   *slots, nslots, slots_room;
  uint32_t   *fn_calls, nfn_calls, fn_calls_room, *fn_vars, nfn_vars, fn_vars_room;
  uint32_t    param_out;     /* bytes of kernel parameters                                                     */
  Fixup      *fixups;
  uint32_t    nfixups, fixups_room;

  uint32_t    code_room, lists_room, funcs_room, vars_room, consts_room, calls_room;
  uint32_t    const_bytes;

  /* The instruction at hand. */
  const char *op;
  uint32_t    op_n, op_line;
  Token       mods[24];
  bool        used[24];
  uint32_t    nmods;
  uint32_t    guard;
  bool        guard_not;
} Parser;

bool ptx_error_at(Parser *p, uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define FAIL(p, ...) ptx_error_at((p), (p)->tok.line, __VA_ARGS__)

void ptx_next(Parser *p);
bool ptx_is(const Parser *p, char c);                 /* is the token this character?                          */
bool ptx_skip(Parser *p, char c);                     /* if so, go on                                          */
bool ptx_want(Parser *p, char c);                     /* if not, an error                                      */
bool ptx_is_dot(const Parser *p, const char *word);
bool ptx_skip_dot(Parser *p, const char *word);
bool ptx_word(const Token *t, const char *word);

uint32_t ptx_name(Parser *p, const char *text, uint32_t n);
Symbol  *ptx_declare(Parser *p, uint32_t name, SymKind kind);   /* NULL: it is declared here already           */
Symbol  *ptx_find(Parser *p, const char *text, uint32_t n);
PtxType  ptx_type_of(const char *text, uint32_t n);

/* --- operands and instructions (ptx_decode.c, ptx_operand.c) --- */

bool     ptx_operand(Parser *p, Operand *o);
uint32_t ptx_const(Parser *p, uint32_t bytes, uint64_t bits);
uint32_t ptx_const_address(Parser *p, uint32_t bytes, uint64_t add, uint32_t var, uint32_t func, bool generic);
uint32_t ptx_new_reg(Parser *p, PtxType type);
Ins     *ptx_emit(Parser *p, PtxFn *fn);              /* valid until the next one                              */
/* The column of a source of this type: a register, or what stands for a number or an address. */
uint32_t ptx_source(Parser *p, const Operand *o, PtxType type);
uint32_t ptx_source_wide(Parser *p, const Operand *o, PtxType type, uint32_t *bytes);  /* or a wider register */
uint32_t ptx_result(Parser *p, const Operand *o, PtxType type);
uint32_t ptx_list_add(Parser *p, uint32_t value);

/* `[address]`: sets base, imm and the column a of `x`. */
bool ptx_memory(Parser *p, Ins *x);

void ptx_instruction(Parser *p);                      /* the token is its first                                */

void ptx_function(Parser *p, bool is_entry, bool is_extern);
void ptx_prototype(Parser *p, uint32_t name);
void ptx_call(Parser *p);
/* A declaration of registers or variables in a body or at the top; the token is the state space. */
bool ptx_declaration(Parser *p, bool is_extern);
void ptx_note_var(Parser *p, uint32_t var);
void ptx_label_target(Parser *p, uint32_t ins, uint32_t list);  /* the token is the label                       */

/* Lay out registers and frames, find recursion. */
bool ptx_finish(Parser *p);

#endif
