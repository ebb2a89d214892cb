/* ir/ir.h -- the structured SSA that everything between a front end and a backend works on.
 *
 * A module has types and functions. A function is a region; a region is a list of instructions that ends with
 * an ender; if, loop and scope are instructions that contain regions. A value is defined once: by an
 * instruction, as a parameter of a region, or as a scalar constant of the function. It may be used after its
 * definition in the same region and in the regions inside that one.
 *
 * Everything lives in the module's arena; nobody frees an instruction. Ids are dense for side tables, and stay
 * when things are removed. After Click and Paleczny, "A Simple Graph-Based Intermediate Representation" (1995)
 * for folding and value numbering while building; the structured regions are those of Mesa's NIR and MLIR's scf.
 */
#ifndef IR_IR_H
#define IR_IR_H

#include "base/fail.h"
#include "ir/ir_type.h"
HD_BEGIN_DECLS

typedef enum IrOp {
#define IR_OP(name, operands, result, effect, imm, laws, meaning) IR_##name,
#include "ir/ops.def"
  IR_NOPS
} IrOp;

typedef enum IrEffect {
  FX_PURE,    /* depends on operands only: may be folded, numbered, moved, dropped                */
  FX_LAUNCH,  /* the same, and fixed during one thread's life (tid, dim, length)                  */
  FX_LOCAL,   /* alloca, shared                                                                   */
  FX_READS,   /* load                                                                             */
  FX_WRITES,  /* store                                                                            */
  FX_ATOMIC,  /* reads and writes, seen by other threads                                          */
  FX_GROUP,   /* barrier, shuffle, ballot, mma: reads and writes, and never moves, nor goes where fewer threads run */
  FX_REPORT,  /* assert, check, print: order among themselves and against control is kept                */
  FX_CALL,    /* whatever the callee does                                                         */
  FX_CONTROL, /* whatever its regions do                                                          */
  FX_END,     /* ends a region                                                                    */
} IrEffect;
typedef enum IrImm { IR_IMM_NONE, IR_IMM_AXIS, IR_IMM_FIELD, IR_IMM_TEXT, IR_IMM_UNIT } IrImm;
typedef enum IrUnit { IR_UNIT_mma, IR_UNIT_tex, IR_UNIT_dmma, IR_UNIT_gang, IR_NUNITS } IrUnit; /* hardware units, and gangs; a set of them has bit 1 << unit */
extern const char *const hdir_unit_names[IR_NUNITS];

typedef enum IrLaw {
  COMM = 1,         /* a op b = b op a                                 */
  ASSOC_I = 2,      /* (a op b) op c = a op (b op c), integers         */
  ID_ZERO = 4,      /* a op 0 = a on both sides; floats: add of -0.0   */
  RID_ZERO = 8,     /* a op 0 = a; floats: sub of +0.0                 */
  ID_ONE = 16,      /* a op 1 = a on both sides                        */
  RID_ONE = 32,     /* a op 1 = a                                      */
  ZERO_I = 64,      /* a op 0 = 0, integers                            */
  SELF_ZERO_I = 128, /* a op a = 0, integers                           */
  IDEM = 256,       /* op op a = op a                                  */
  IDEM2 = 512,      /* a op a = a                                      */
  INVOL = 1024,     /* op op a = a                                     */
} IrLaw;

typedef struct IrOpRow {
  const char *name, *operands, *result;
  IrEffect    effect;
  IrImm       imm;
  uint32_t    laws;
  const char *meaning;
} IrOpRow;

extern const IrOpRow hdir_ops[IR_NOPS];

typedef struct IrValue  IrValue;
typedef struct IrInst   IrInst;
typedef struct IrRegion IrRegion;
typedef struct IrFunc   IrFunc;
typedef struct IrModule IrModule;

/* A place in a source file; file indexes the module's files, line 0 means unknown. */
typedef struct IrLoc {
  uint32_t file, line, column;
} IrLoc;

struct IrValue {
  const IrType *type;
  uint32_t      id;    /* dense in the function                                                     */
  uint32_t      index; /* which result of `def`, or which parameter of `region`                     */
  IrInst       *def;   /* the instruction; NULL for a parameter or constant                         */
  IrRegion     *region; /* of a parameter, else NULL; a constant has neither                        */
  uint64_t      bits;  /* of a constant: its bits, zero-extended; f16 and bf16 in the low 16        */
  const char   *name;  /* a hint for dumps, or NULL                                                 */
};

struct IrInst {
  IrOp          op;
  uint32_t      id;   /* dense in the function */
  uint32_t      nargs, nres, nsubs;
  IrValue     **args;
  IrValue     **res;
  IrRegion     *sub[2];  /* if: then, else; loop, scope, threads: body                              */
  int64_t       imm;     /* axis or part                                                            */
  const char   *text;    /* assert, check: the message; print: the format                           */
  IrFunc       *callee;  /* call                                                                    */
  IrRegion     *region;  /* where it stands                                                         */
  IrInst       *prev, *next;
  IrLoc         loc;
};

struct IrRegion {
  IrFunc   *fn;
  IrInst   *parent; /* the if, loop or scope; NULL for the function's own region */
  IrInst   *first, *last;
  IrValue **params; /* the function's parameters, a loop's carried values        */
  uint32_t  nparams;
};

enum { IR_MAX_PRINT = 64 };  /* operands of a print */
enum { IR_MAX_TEX = 5 };     /* operands of a tex   */
enum { IR_NEIGHBOURS = 32 }; /* threads of a group that shuffles, ballots and mma reach */

/* 32, 64, .. HD_MAX_GROUP threads. */
static inline bool hdir_is_group_size(int64_t n) { return n > 0 && n <= HD_MAX_GROUP && n % IR_NEIGHBOURS == 0; }

struct IrFunc {
  IrModule      *module;
  const char    *name;
  bool           is_kernel; /* kernels return nothing                                                */
  bool           is_extern; /* a C function: its body has parameters and no instruction              */
  bool           is_pure;   /* of a C function: its result depends on its operands, and that is all  */
  bool           fast;      /* may use approximations (DESIGN: fast mode)                            */
  int32_t        rank;      /* axes of a launch, of which passes may drop some uses; 0 not noted     */
  int32_t        group;     /* of a kernel: threads of a group, a multiple of 32 up to 1024; 0: it has no groups */
  IrRegion      *body;      /* its params are the function's                                         */
  uint32_t       nresults;
  const IrType **results;
  uint32_t       nvalues, ninsts; /* next free ids                                                   */
  Map            consts;          /* (type, bits) to IrValue                                         */
  IrLoc          loc;
};

struct IrModule {
  Arena       *arena;
  const char  *name;
  IrTypes      types;
  IrFunc     **funcs;
  uint32_t     nfuncs, cap_funcs;
  const char **files;
  uint32_t     nfiles, cap_files;
  Map          by_name; /* of functions; kept by func_new and func_remove */
};

/* --- modules and functions --- */
IrModule *hdir_module_new(Arena *a, const char *name); /* lives in `a`, which everything in it uses too  */
uint32_t  hdir_file(IrModule *m, const char *path);    /* index of a file, added if new                  */
IrFunc   *hdir_func_new(IrModule *m, const char *name, bool is_kernel, uint32_t nparams, const IrType *const params[],
                        uint32_t nresults, const IrType *const results[]);
IrFunc   *hdir_func_find(const IrModule *m, const char *name);
void      hdir_func_rename(IrFunc *fn, const char *name); /* to one that is free                         */
void      hdir_func_remove(IrModule *m, IrFunc *fn); /* out of the list                                */
/* Deep copy, types and callees included, into another module; returns the one there if it has the name. */
IrFunc   *hdir_func_import(IrModule *to, const IrFunc *fn);

/* --- constants --- */
IrValue *hdir_const(IrFunc *fn, const IrType *scalar, uint64_t bits);
IrValue *hdir_const_int(IrFunc *fn, const IrType *scalar, int64_t x);   /* wraps to the type             */
IrValue *hdir_const_float(IrFunc *fn, const IrType *scalar, double x);  /* rounds to the type            */
IrValue *hdir_const_bool(IrFunc *fn, bool x);
static inline bool hdir_is_const(const IrValue *v) { return !v->def && !v->region; }
bool    hdir_const_is_int(const IrValue *v, int64_t x);  /* an integer constant equal to x               */
int64_t hdir_const_i64(const IrValue *v);                /* sign- or zero-extended by its type           */
double  hdir_const_f64(const IrValue *v);

/* --- raw editing: no folding, no checks; the builder (build.h) is the usual way --- */
IrValue  *hdir_value_new(IrFunc *fn, const IrType *type);
IrInst   *hdir_inst_new(IrFunc *fn, IrOp op, uint32_t nargs, IrValue *const args[], uint32_t nres,
                        const IrType *const res[]); /* not yet in a region */
/* Not attached yet: put it into parent->sub[] and count it in parent->nsubs. */
IrRegion *hdir_region_new(IrFunc *fn, IrInst *parent, uint32_t nparams, const IrType *const params[]);
void      hdir_append(IrRegion *r, IrInst *i);
void      hdir_insert_before(IrInst *at, IrInst *i);
void      hdir_unlink(IrInst *i); /* may be put elsewhere afterwards */

/* --- walking --- */
static inline bool hdir_is_ender(IrOp op) { return hdir_ops[op].effect == FX_END; }
static inline bool hdir_calls_c(const IrInst *i) { return i->op == IR_call && i->callee->is_extern; }
/* A call that may be dropped, or made once for all with the same operands, but not where the program does not make it. */
static inline bool hdir_calls_pure(const IrInst *i) { return hdir_calls_c(i) && i->callee->is_pure; }
IrInst *hdir_inst_next(const IrInst *i); /* pre-order over the whole function: into regions, then on; NULL at the end */
/* The `if` at a loop's head of which one side ends by leaving the loop, behind what is pure or of the launch; or NULL. */
const IrInst *hdir_head_test(const IrInst *loop);
bool    hdir_region_contains(const IrRegion *outer, const IrRegion *inner); /* equal counts as inside          */
/* Replace every use: map[v->id] gives the new value, NULL keeps the old; chains are followed. */
void     hdir_replace_uses(IrFunc *fn, IrValue **map);
/* How often each value is used, by id; in `a`. */
uint32_t *hdir_count_uses(const IrFunc *fn, Arena *a);

/* --- text (print.c, parse.c) --- */
typedef struct IrPrint {
  bool         locations;                                   /* @ file:line:column after instructions             */
  void       (*note)(Buf *b, const IrValue *v, void *user); /* puts what the line's comment says of v; or NULL   */
  void        *user;
} IrPrint;
/* The name each value is printed with, by id, without the '%'; NULL for constants and for what stands nowhere. */
const char **hdir_names(const IrFunc *fn, Arena *a);
void hdir_print_value(Buf *b, const IrValue *v, const char *const names[]); /* "%x" or a constant           */
void hdir_print_module(Buf *b, const IrModule *m, const IrPrint *how); /* how may be NULL: locations on, no notes */
void hdir_print_func(Buf *b, const IrFunc *fn, const IrPrint *how);
void hdir_print_signature(Buf *b, const IrFunc *fn);                    /* "clamp(f32, i32) -> f32"         */
void hdir_print_inst(Buf *b, const IrInst *i);                         /* one line, for messages                */
/* Parse a whole module. On failure err has the place and *out is untouched. */
HdStatus hdir_parse(Arena *a, const char *name, const char *text, size_t len, HdError *err, IrModule **out);

/* --- checks (verify.c) --- */
HdStatus hdir_verify(const IrModule *m, HdError *err); /* HD_ERR_IR: op, rule and place */
HdStatus hdir_verify_func(const IrFunc *fn, HdError *err);
/* One instruction by itself, before it is put into a region: its operands' and result's types, and its op's own rules; no
 * enders, no control. */
HdStatus hdir_verify_inst(const IrFunc *fn, const IrInst *i, HdError *err);

/* --- the meaning of scalar ops (eval.c): what folding and the interpreter compute --- */
/* Pure ops on scalars (add .. bitcast, not composites): bits in, bits out, in the encoding of IrValue.bits.
 * `type` is the operands' (select, copysign: the value's), `res` the result's. */
uint64_t hdir_eval(IrOp op, const IrType *type, const IrType *res, const uint64_t args[]);
uint64_t hdir_bits_of(const IrType *scalar, double x); /* rounds */
double   hdir_f64_of(const IrType *scalar, uint64_t bits);
int64_t  hdir_i64_of(const IrType *scalar, uint64_t bits);

HD_END_DECLS
#endif
