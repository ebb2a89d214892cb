/* frontend/lang/ast.h -- what the parser makes of a file, and nothing that types have to do with.
 *
 * A generic function's body is lowered once for each set of arguments, straight from this tree, so the tree is
 * never changed after parsing. Names are interned in the compilation (FeCompiler.names): equal names are equal pointers.
 */
#ifndef FE_AST_H
#define FE_AST_H

#include "ir/ir.h"
#include "frontend/lang/token.h"
HD_BEGIN_DECLS

typedef struct FeTypeRef FeTypeRef;
typedef struct FeExpr    FeExpr;
typedef struct FeStmt    FeStmt;
typedef struct FeUnit    FeUnit;

/* --- types as they are written --- */
typedef enum FeTypeKind {
  FE_TYPE_NAME,  /* name<args>                                                                  */
  FE_TYPE_SIZE,  /* a compile-time size among the arguments: `size`                             */
  FE_TYPE_FIXED, /* elem name[size]                                                             */
  FE_TYPE_ARRAY, /* elem name[,]: ndim axes                                                     */
} FeTypeKind;

struct FeTypeRef {
  FeTypeKind   kind;
  FeSpan       span;
  const char  *name;
  FeTypeRef  **args;
  uint32_t     nargs, ndim;
  FeTypeRef   *elem;
  FeExpr      *size;
};

/* --- expressions --- */
typedef enum FeExprKind {
  FE_ERROR_EXPR, /* what did not parse; already reported                  */
  FE_NAME,       /* name                                                  */
  FE_INT,        /* integer, suffix                                       */
  FE_FLOAT,      /* text, number, suffix                                  */
  FE_BOOL,       /* integer                                               */
  FE_STRING,     /* text                                                  */
  FE_UNARY,      /* op a                                                  */
  FE_BINARY,     /* a op b; && and || too                                 */
  FE_COND,       /* a ? b : c                                             */
  FE_CALL,       /* callee(args)                                          */
  FE_INDEX,      /* a[args]                                               */
  FE_FIELD,      /* a.name                                                */
  FE_METHOD,     /* a.name(args)                                          */
  FE_INIT,       /* callee{names: args}                                   */
  FE_LIST,       /* {args}                                                */
} FeExprKind;

struct FeExpr {
  FeExprKind   kind;
  FeTok        op;
  uint16_t     depth;   /* of the tree below, so that nothing recurses too far           */
  FeSpan       span;    /* all of it, as far as it stands on its first line              */
  FeSpan       at;      /* the operator, or the field's name                             */
  const char  *name;    /* of a name or field                                            */
  const char  *text;    /* of a literal                                                  */
  const char  *suffix;  /* of a number, or NULL                                          */
  uint64_t     integer;
  double       number;
  FeExpr      *a, *b, *c;
  FeExpr     **args;
  const char **names;   /* of an init's fields                                           */
  FeSpan      *name_spans;
  uint32_t     nargs;
  FeTypeRef   *callee;  /* of a call or init: a function's or a type's name with its generic arguments */
};

/* --- statements --- */
typedef enum FeStmtKind {
  FE_EMPTY,
  FE_DECL,          /* how, type or NULL, name, a or NULL      */
  FE_ASSIGN,        /* a op b                                  */
  FE_STEP,          /* a++, a--                                */
  FE_IF,            /* a, body, other                          */
  FE_STATIC_IF,
  FE_WHILE,         /* a, body                                 */
  FE_DO,            /* body, a                                 */
  FE_FOR,           /* init, a or NULL, steps, body            */
  FE_RANGE,         /* name, a, b, body                        */
  FE_STATIC_FOR,
  FE_BREAK,
  FE_CONTINUE,
  FE_RETURN,        /* a or NULL                               */
  FE_BLOCK,         /* list                                    */
  FE_EXPR,          /* a                                       */
  FE_STATIC_ASSERT, /* a, text                                 */
} FeStmtKind;

typedef enum FeDeclKind { FE_LET, FE_VAR, FE_CONST } FeDeclKind;

struct FeStmt {
  FeStmtKind   kind;
  FeDeclKind   how;
  FeTok        op;
  FeSpan       span, name_span, end; /* end: the closing brace of a block */
  bool         shared; /* of a declaration: of the group                   */
  const char  *name, *text;
  FeTypeRef   *type;
  FeExpr      *a, *b;
  FeStmt      *init, *body, *other;
  FeStmt     **list; /* a block's statements; a for's steps */
  uint32_t     nlist;
};

/* --- items --- */
typedef enum FeClass { FE_ANY, FE_NUMBER, FE_FLOATS, FE_INTEGER, FE_SIGNED, FE_SIZE } FeClass;

typedef struct FeGeneric {
  const char *name;
  FeSpan      span;
  FeClass     cls;
} FeGeneric;

typedef struct FeParam {
  const char *name;
  FeSpan      span;
  FeTypeRef  *type;
  bool        is_ref, is_const;
  bool        is_shared; /* the group's own object, by its address; is_ref too */
} FeParam;

typedef struct FeFn FeFn;
struct FeFn {
  const char *name; /* "operator*" for operators */
  FeSpan      span;
  FeUnit     *unit;
  bool        is_kernel, fast;
  bool        is_extern, pure; /* a C function, which has no body */
  FeExpr     *group; /* of @group(..), or NULL */
  FeGeneric  *generics;
  uint32_t    ngenerics;
  FeParam    *params;
  uint32_t    nparams;
  FeTypeRef  *result; /* NULL for none */
  FeStmt     *body;
  FeFn       *next;   /* the next of this name in the unit */
  bool        broken; /* its head has errors, so calls of it are silent */
};

typedef struct FeStruct {
  const char   *name;
  FeSpan        span;
  FeUnit       *unit;
  FeParam      *fields;
  uint32_t      nfields;
  const IrType *type; /* once it was asked for */
  enum { FE_STRUCT_NEW, FE_STRUCT_BUSY, FE_STRUCT_DONE, FE_STRUCT_BAD } state;
} FeStruct;

typedef struct FeKonst FeKonst;

typedef struct FeConstItem {
  const char *name;
  FeSpan      span;
  FeUnit     *unit;
  FeTypeRef  *type; /* or NULL */
  FeExpr     *value;
  FeKonst    *konst; /* once it was asked for */
  enum { FE_CONST_NEW, FE_CONST_BUSY, FE_CONST_DONE, FE_CONST_BAD } state;
} FeConstItem;

typedef struct FeImport {
  const char *name;
  FeSpan      span;
  bool        is_file;
} FeImport;

HD_END_DECLS
#endif
