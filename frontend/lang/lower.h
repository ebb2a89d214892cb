/* frontend/lang/lower.h -- from the tree to IR, and the types on the way. Shared by the files that lower.
 *
 * Checking and lowering are one walk: a function is lowered for given arguments, so every type is known when it is
 * needed. Errors give an error value, which silences whatever it flows into.
 */
#ifndef FE_LOWER_H
#define FE_LOWER_H

#include "frontend/lang/fe.h"
HD_BEGIN_DECLS

__extension__ typedef __int128 FeBig; /* untyped integers: wide enough for every literal and its negative */

/* --- values --- */
typedef enum FeExKind {
  FE_X_ERROR, /* reported already                                                 */
  FE_X_VOID,  /* a call without a result                                          */
  FE_X_INT,   /* an untyped integer: takes the type of what it meets              */
  FE_X_FLOAT, /* an untyped float                                                 */
  FE_X_VALUE, /* v                                                                */
} FeExKind;

typedef struct FeChoice FeChoice;

typedef struct FeEx {
  FeExKind    kind;
  IrValue    *v;
  FeBig       i;
  double      f;
  const char *text; /* of a float literal as written: rounded once, to the type it takes */
  bool        negative; /* text was negated                                              */
  const FeChoice *choice; /* c ? 1 : 2, which is still untyped: FLOAT if either side is    */
} FeEx;

struct FeChoice {
  IrValue *c;
  FeEx     a, b;
};

/* A value known when the kernel is compiled, outside of any function. */
struct FeKonst {
  FeExKind      kind; /* INT, FLOAT, or VALUE: bits, or parts of a composite */
  FeBig         i;
  double        f;
  const char   *text;
  bool          negative;
  const IrType *type;
  uint64_t      bits;
  FeKonst     **parts;
};

typedef struct FeBind { /* of one generic parameter */
  const IrType *type;
  int64_t       size;
  bool          bound;
} FeBind;

/* --- variables --- */
typedef enum FeVarKind {
  FE_VAR_VALUE,  /* value: the current one; assignments replace it              */
  FE_VAR_MEMORY, /* value: the address of a fixed array, or what contains one   */
  FE_VAR_KONST,  /* konst                                                       */
  FE_VAR_ERROR,  /* its initialiser had an error; silent                        */
} FeVarKind;

typedef struct FeVar {
  const char   *name;
  FeSpan        span;
  FeVarKind     kind;
  const IrType *type;
  IrValue      *value;
  FeKonst      *konst;
  const char   *locked; /* why it cannot be assigned: "a let variable"; NULL if it can */
  bool          used, is_param;
} FeVar;

typedef struct FeLoop FeLoop;
struct FeLoop {
  FeLoop  *outer;
  FeStmt  *stmt;      /* NULL for a static for: nothing may leave it           */
  FeVar  **carried;
  uint32_t ncarried;
  uint32_t scope;     /* variables visible to the condition and the steps      */
  IrValue *counter, *limit; /* of a range                                      */
  IrValue *next;     /* the counter of the next round; NULL: each end counts   */
  bool     has_break;
  bool     silent;    /* its head had an error: jumps say nothing              */
};

struct FeInstance {
  FeFn          *fn;
  FeBind        *binds;
  const IrType **params;
  const IrType  *result; /* NULL for none */
  IrFunc        *ir;
  bool           busy, broken;
  bool           needs_group; /* a function for kernels with groups only */
};

typedef struct FeLower FeLower;
struct FeLower {
  FeCompiler   *fe;
  FeUnit       *unit;
  FeFn         *fn;       /* NULL outside of functions      */
  FeInstance   *instance;
  const FeBind *binds;
  IrBuilder    *b;
  FeVar       **vars;
  uint32_t      nvars, cap_vars, block; /* block: where the innermost block's variables begin */
  FeLoop       *loop;
  FeLower      *caller;   /* whose call caused this lowering */
  FeSpan        call_span;
  uint32_t      depth, rounds;
  const IrType *wanted;   /* of the ?: that is lowered next, if its sides are untyped; or NULL */
  FeVar       **refs;     /* ref parameters that are returned */
  uint32_t      nrefs;
};

/* --- reporting from inside a function: adds the calls that led there --- */
FeReport   *hdfe_error(FeLower *L, FeSpan span, FeDiagId id, ...);
const char *hdfe_shown(FeLower *L, FeEx x);                /* "f32", "an integer literal" */
const char *hdfe_shown_type(FeLower *L, const IrType *t);  /* as the language spells it   */
const char *hdfe_shown_args(FeLower *L, uint32_t n, const FeEx args[]);
const char *hdfe_shown_fn(FeLower *L, const FeFn *f);      /* "fn dot(vec<T, N> a, ..)"   */

/* --- small helpers --- */
static inline const IrType *hdfe_scalar(FeLower *L, IrKind k) { return hdir_scalar(&L->fe->module->types, k); }
static inline IrTypes *hdfe_types(FeLower *L) { return &L->fe->module->types; }
static inline IrValue *hdfe_i32(FeLower *L, int64_t x) { return hdir_const_int(L->b->fn, hdfe_scalar(L, IR_I32), x); }
static inline void hdfe_at(FeLower *L, FeSpan s) { L->b->loc = (IrLoc){L->unit->file, s.line, s.col}; }
static inline FeEx hdfe_ex(IrValue *v) { return v ? (FeEx){.kind = FE_X_VALUE, .v = v} : (FeEx){.kind = FE_X_ERROR}; }
static inline FeEx hdfe_ex_error(void) { return (FeEx){.kind = FE_X_ERROR}; }
static inline FeEx hdfe_ex_int(FeBig i) { return (FeEx){.kind = FE_X_INT, .i = i}; }
static inline bool hdfe_is_number(const IrType *t) { return hdir_is_int(t) || hdir_is_float(t); }
FeLower hdfe_outside(FeCompiler *fe, FeUnit *u, const FeBind *binds, FeFn *fn); /* for constants and types */

/* --- types (type.c) --- */
const IrType *hdfe_type(FeLower *L, const FeTypeRef *t); /* NULL after a report */
const IrType *hdfe_type_named(FeLower *L, const char *name); /* builtin or generic parameter without arguments, else NULL; quiet */
bool          hdfe_is_type_family(const char *name);     /* vec mat quat transform spatial array */
FeStruct     *hdfe_find_struct(FeLower *L, const char *name);
const IrType *hdfe_struct_type(FeCompiler *fe, FeStruct *s); /* NULL after a report */
int           hdfe_find_generic(const FeLower *L, const char *name); /* index, or -1 */
bool          hdfe_has_array(const IrType *t);
bool          hdfe_has_fixed(const IrType *t);
void          hdfe_offer_types(FeLower *L, FeNearest *n);

/* --- constants (konst.c) --- */
FeKonst     *hdfe_konst_of(FeLower *L, FeEx x);          /* NULL if it is not constant; quiet */
FeEx         hdfe_konst_ex(FeLower *L, const FeKonst *k);
/* Is this lowered for a kernel with groups, or for a function that then is for such kernels only? Reports that `what` needs one. */
bool         hdfe_needs_group(FeLower *L, FeSpan span, const char *what);
bool         hdfe_const_int(FeLower *L, FeExpr *e, FeBig *out);   /* reports */
bool         hdfe_const_bool(FeLower *L, FeExpr *e, bool *out);   /* reports */
FeConstItem *hdfe_find_const(FeLower *L, const char *name);
FeKonst     *hdfe_const_item(FeCompiler *fe, FeConstItem *c);    /* NULL after a report */
FeKonst     *hdfe_define(FeLower *L, const char *name, const IrType *type, FeSpan span); /* the value of -D; NULL after a report */
FeEx         hdfe_fold(FeLower *L, FeTok op, FeEx x, FeEx y, FeSpan span); /* of two untyped numbers */
const char  *hdfe_big_text(FeLower *L, FeBig i);

/* --- conversion (convert.c) --- */
IrValue *hdfe_coerce(FeLower *L, FeEx x, const IrType *want, FeSpan span); /* no change of type but a literal's; NULL after a report */
IrValue *hdfe_literal(FeLower *L, FeEx x, const IrType *scalar, FeSpan span); /* INT or FLOAT to a number type */
IrValue *hdfe_default(FeLower *L, FeEx x, FeSpan span);                    /* i32, f32 for untyped; NULL after a report */
FeEx     hdfe_construct(FeLower *L, const IrType *t, uint32_t n, FeEx args[], FeExpr *e); /* T(args) */
FeEx     hdfe_init(FeLower *L, FeExpr *e);                                 /* S{a: 1} */
IrValue *hdfe_list(FeLower *L, const IrType *t, FeExpr *e);                /* {1, 2}; NULL after a report */

/* --- expressions (expr.c, operator.c, place.c) --- */
FeEx     hdfe_expr(FeLower *L, FeExpr *e);
IrValue *hdfe_value(FeLower *L, FeExpr *e, const IrType *want); /* want may be NULL; lists too; NULL after a report */
IrValue *hdfe_condition(FeLower *L, FeExpr *e);                 /* a bool; never NULL */
FeVar   *hdfe_find_var(const FeLower *L, const char *name);
FeEx     hdfe_binary(FeLower *L, FeTok op, FeEx x, FeEx y, FeExpr *e);
FeEx     hdfe_unary(FeLower *L, FeTok op, FeEx x, FeExpr *e);

typedef enum FePlaceKind { FE_PLACE_ERROR, FE_PLACE_VAR, FE_PLACE_VALUE, FE_PLACE_MEMORY, FE_PLACE_UNTYPED } FePlaceKind;

typedef struct FePlaceStep {
  uint32_t part;
  IrValue *index; /* NULL: part */
} FePlaceStep;

/* A variable, an element or a part of one. A row of a matrix, a swizzle and the halves of a transform are several
 * parts of one packed composite: `parts` then has their flat indices, constant or not. */
typedef struct FePlace {
  FePlaceKind   kind;
  FeVar        *var;
  IrValue      *value;  /* VALUE: the root; MEMORY: the address             */
  IrValue      *ok;     /* MEMORY: a bool, whether the index is in bounds   */
  FePlaceStep  *steps;  /* VAR, VALUE: the way from the root                */
  uint32_t      nsteps, cap_steps;
  IrValue     **parts;
  uint32_t      nparts;
  bool          row;    /* parts follow one another                         */
  bool          device; /* in an array                                      */
  bool          repeated; /* a swizzle names a part twice                   */
  const IrType *type;
  const char   *name;   /* of the array or variable, for reports            */
  FeEx          ex;     /* UNTYPED: a literal                               */
} FePlace;

FePlace  hdfe_place(FeLower *L, FeExpr *e);
IrValue *hdfe_place_read(FeLower *L, FePlace *p);
void     hdfe_place_write(FeLower *L, FePlace *p, IrValue *x);
bool     hdfe_place_assignable(FeLower *L, const FePlace *p, FeExpr *e); /* reports */
IrValue *hdfe_place_pointer(FeLower *L, FePlace *p); /* NULL if it is not one object in memory */
IrValue *hdfe_place_part(FeLower *L, FePlace *p, uint32_t i); /* the address of an element of a vector or the like in memory */

/* --- calls (call.c, overload.c, core.c) --- */
typedef struct FeMatch {
  FeFn          *fn;
  FeBind        *binds;
  const IrType **params;
  int            penalty, specific;
  bool           tie;
} FeMatch;

typedef struct FeOverloads { /* why nothing matched */
  uint32_t    count;
  FeFn       *first[4];
  const char *reason; /* of the only candidate */
  const char *infer;  /* a generic parameter that could not be found */
  bool        broken;
} FeOverloads;

/* The best of the functions of a chain, joined into *best; false if none fits. */
bool hdfe_overload(FeLower *L, FeFn *chain, uint32_t nargs, const FeEx args[], const FeTypeRef *callee, FeMatch *best,
                   FeOverloads *all);
FeEx hdfe_call(FeLower *L, FeExpr *e);
FeEx hdfe_call_named(FeLower *L, const char *name, uint32_t n, FeEx args[], FeExpr *e, bool *found); /* operators, fmod */
bool hdfe_calls_with_ref(FeLower *L, const FeExpr *call, uint32_t arg); /* may the callee change it?  */
FeInstance *hdfe_instance(FeLower *L, const FeMatch *m, FeSpan span);
bool hdfe_is_core(const char *name);
/* A core function; false if there is none of the name, or it does not take these arguments and others may. */
bool hdfe_core(FeLower *L, FeExpr *e, uint32_t n, FeEx args[], FeEx *out);
bool hdfe_core_first(FeLower *L, FeExpr *e, FeEx *out); /* those that do not evaluate their arguments */
void hdfe_offer_core(FeNearest *n);

/* --- statements (stmt.c, assigned.c) --- */
typedef struct FeVars {
  FeVar  **list;
  uint32_t n, cap;
} FeVars;

void   hdfe_stmt(FeLower *L, FeStmt *s);
bool   hdfe_count(FeLower *L, uint32_t nstmts, FeSpan span); /* before lowering; false after a report if it is too much */
FeVar *hdfe_declare(FeLower *L, const char *name, FeSpan span, FeVarKind kind, const IrType *type);
void   hdfe_lower_body(FeLower *L);
/* The variables declared so far that a statement or expression may assign. */
void hdfe_assigned_stmt(FeLower *L, const FeStmt *s, FeVars *out);
void hdfe_assigned_expr(FeLower *L, const FeExpr *e, FeVars *out);
void hdfe_var_set(FeLower *L, FeVar *v, IrValue *x);

HD_END_DECLS
#endif
