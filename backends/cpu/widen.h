/* backends/cpu/widen.h -- the widener's state and the functions its files share.
 *
 * The widener walks a kernel once for each copy of its body and prints LLVM text for a gang of `width` lanes. Operands
 * are text ("%12", "true", "<4 x i32> .." without the type); every one lives in the arena. Values that facts calls
 * uniform are LLVM scalars, affine ones the scalar of lane 0, varying ones vectors.
 *
 *     widen.c       the function around the body: gangs, the tail, parameters
 *     widen_flow.c  if, loop, scope and enders: masks, joins, phis
 *     widen_ops.c   pure operations                 widen_cvt.c    conversions
 *     widen_int.c   division, wide products         widen_report.c assert, check, print
 *     widen_fast.c  what `fast` allows              widen_private.c  atomics on a copy
 *     widen_addr.c  addresses                       widen_mem.c    loads and stores
 *     widen_aos.c   neighbouring fields together    widen_atomic.c atomics
 *     widen_c.c     calls of C functions            widen_table.c  tables of constants
 *     emit.c        text, constants, declarations   mask.c         masks
 */
#ifndef CPU_WIDEN_H
#define CPU_WIDEN_H

#include "backends/cpu/cpu.h"
#include "ir/facts.h"
#include "ir/layout.h"
HD_BEGIN_DECLS

/* Where the fields of the launch record stand: RtSpan and RtFault of runtime/artifact.h, which this room may not see.
 * tests/cpu/widen_test.cc holds the two together. */
enum {
  CPU_SPAN_DIM = 0, CPU_SPAN_AT = 32, CPU_SPAN_BEGIN = 64, CPU_SPAN_END = 72, CPU_SPAN_SERIAL = 84, CPU_SPAN_FAULT = 88,
  CPU_SPAN_PRINT = 96,
  CPU_FAULT_STATE = 0, CPU_FAULT_LINE = 4, CPU_FAULT_COLUMN = 8, CPU_FAULT_HAS_INDEX = 12, CPU_FAULT_INDEX = 16,
  CPU_FAULT_LIMIT = 24, CPU_FAULT_TID = 32, CPU_FAULT_TEXT = 64, CPU_FAULT_FILE = 72,
};

typedef struct CpuVal {
  const char *s; /* uniform: the value; affine: lane 0's           */
  const char *v; /* for each lane; of a bool: a mask               */
} CpuVal;

/* What changes along the paths of the body: the mask, results on their way to a construct's end. */
typedef struct CpuVar {
  const char *type, *cur; /* cur is NULL until first set */
  bool        some;       /* of a mask: surely not empty */
} CpuVar;

typedef struct CpuEdge {
  const char *block;
  CpuVar     *vars;
} CpuEdge;

/* A place where paths meet; phis are made for the variables that differ. */
typedef struct CpuJoin {
  const char *label;
  CpuEdge    *edges;
  uint32_t    n, cap, nvars;
} CpuJoin;

typedef enum CpuConKind { CON_FUNC, CON_UNIFORM_IF, CON_SIDE, CON_LOOP, CON_SCOPE, CON_THREADS } CpuConKind;

typedef struct CpuCon {
  CpuConKind     kind;
  const IrInst  *inst;
  bool           waits;   /* lanes may wait at its end while others still run     */
  bool           inlined; /* a side without a branch around it                    */
  bool           leavers; /* lanes may leave to places beyond it                  */
  uint32_t       results, next, cont, out; /* its variables; cont, out: 0 is none */
  CpuJoin        end, head, latch;
  struct CpuCon *up;
} CpuCon;

/* --- addresses --- */
typedef enum CpuAt { AT_UNIFORM, AT_AFFINE, AT_VARYING } CpuAt;

/* base + off + what differs by lane. In local memory off and index count bytes of one thread's object; each scalar of
 * the object is a row of `width` of them, so object byte o stands at o * width. */
typedef struct CpuAddr {
  const IrValue *root;  /* the index or alloca that it was made from   */
  bool           local;
  CpuAt          at;
  const char    *base;  /* ptr                                         */
  int64_t        off;
  int64_t        stride;   /* AFFINE: bytes from lane to lane             */
  const char    *rstride;  /* the same where only the launch knows, i64   */
  const char    *index;    /* VARYING: one integer for each lane          */
  uint32_t       index_bits;
  int64_t        scale;    /* bytes that index counts                     */
  const IrInst  *loaded;   /* VARYING: the load that made index, or NULL  */
  uint32_t       length;   /* VARYING: index is below the i64 at this offset of the argument block; 0: not known */
} CpuAddr;

typedef struct CpuUndo {
  const IrValue *value;
  const char    *v;
} CpuUndo;

typedef struct CpuMemo { /* a mask in its two forms, both made in the block at hand */
  const char *mask, *i1;
} CpuMemo;

typedef struct CpuPrivate { /* of a span whose atomics work on a copy of the array, in the entry block */
  const IrInst *atomic;
  const char *on, *plain;                   /* i1: there is a copy; there is one or the launch has one thread    */
  const char *copy, *array, *bytes, *shift; /* ptr, ptr, i64, i64: from array to copy, 0 if there is none        */
} CpuPrivate;

typedef struct CpuWiden {
  Arena            *a;
  const IrFunc     *fn;
  IrFacts          *facts;
  const CpuTarget  *target;
  CpuOptions        options;
  HdError          *err;
  HdStatus          status;     /* the first failure */
  uint32_t          width;
  uint32_t          mask_bits;  /* 1, or the bits of a mask's integer lanes */
  int32_t           inner_axis;
  const char       *mt, *bt;    /* types of a mask, and of <width x i1>     */
  const char       *all, *none; /* masks                                    */
  const char       *st[IR_NKINDS], *vt[IR_NKINDS]; /* types of values       */
  bool             *leaves_out; /* by instruction id                        */
  uint32_t         *args_at;    /* offset of each parameter                 */
  /* text */
  Buf  *out, entry, globals, decls;
  Map   declared, consts, params;
  uint32_t next_name, next_global;
  /* the place at hand */
  const char *block;
  bool        live;
  CpuVar     *vars;
  uint32_t    nvars, cap_vars;
  CpuCon     *con;
  CpuVal     *val;  /* by value id */
  CpuAddr   **addr; /* by value id: of pointers */
  uint32_t   *place; /* by value id: of arrays and composite parameters, the offset in the argument block */
  const char ***leaves; /* by value id: of a composite that a C function gave, its scalars in the form of the value */
  CpuUndo    *undo;
  uint32_t    nundo, cap_undo;
  CpuMemo     memo[16];
  uint32_t    nmemo;
  const char *lane0; /* i64: the innermost coordinate of lane 0 */
  const char *group0, *local0; /* i64: of the group's first thread; lane 0's place in the group */
  const char *dummy; /* ptr: 64 readable zero bytes             */
  CpuPrivate *private; /* NULL: the kernel has none */
  const char *scratch[3]; /* ptr: a row of 64-bit lanes each    */
  uint32_t   *uses;  /* by value id                              */
  bool       *done;  /* by instruction id: emitted with another */
  const IrInst **group; /* by instruction id: the first of the stores that it is emitted with */
} CpuWiden;

/* --- text (emit.c) --- */
const char *hdcpu_name(CpuWiden *w);
const char *hdcpu_ins(CpuWiden *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void        hdcpu_line(CpuWiden *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *hdcpu_entry(CpuWiden *w, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* in the entry block */
const char *hdcpu_call(CpuWiden *w, const char *ret, const char *name, const char *params, const char *fmt, ...)
    __attribute__((format(printf, 5, 6))); /* declares it; ret "void" gives NULL */
void        hdcpu_declare(CpuWiden *w, const char *ret, const char *name, const char *params);
const char *hdcpu_fmt(CpuWiden *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *hdcpu_label(CpuWiden *w);
void        hdcpu_open(CpuWiden *w, const char *label);
void        hdcpu_fail(CpuWiden *w, const IrInst *i, HdStatus st, const char *what);
const char *hdcpu_ity(CpuWiden *w, uint32_t bits, bool vec);           /* "i32", "<8 x i32>"          */
const char *hdcpu_fty(CpuWiden *w, uint32_t bits, bool vec);           /* "float", "<8 x double>"     */
const char *hdcpu_suffix(CpuWiden *w, char kind, uint32_t bits, bool vec); /* "f32", "v8i16"          */
const char *hdcpu_int(CpuWiden *w, uint32_t bits, bool vec, int64_t x);
const char *hdcpu_ramp(CpuWiden *w, uint32_t bits, int64_t step);      /* <0, step, 2 step ..>        */
const char *hdcpu_const(CpuWiden *w, const IrType *t, bool vec, uint64_t bits);
const char *hdcpu_zero(CpuWiden *w, const IrType *t, bool vec);
const char *hdcpu_splat(CpuWiden *w, const char *scalar_type, const char *s);
const char *hdcpu_mem_type(const IrType *t); /* of a scalar in memory: bool is i8 */

/* --- values --- */
bool        hdcpu_is_vec(const CpuWiden *w, const IrValue *v);
bool        hdcpu_differs(const CpuWiden *w, const IrValue *v); /* from lane to lane: varying or affine */
const char *hdcpu_type(const CpuWiden *w, const IrType *t, bool vec);
const char *hdcpu_s(CpuWiden *w, const IrValue *v);
const char *hdcpu_v(CpuWiden *w, const IrValue *v);
const char *hdcpu_get(CpuWiden *w, const IrValue *v, bool vec);
void        hdcpu_set(CpuWiden *w, const IrValue *v, const char *opnd); /* in the form that facts says */
uint32_t    hdcpu_mark(const CpuWiden *w);
void        hdcpu_forget(CpuWiden *w, uint32_t mark); /* vectors made since, which do not dominate what follows */

/* --- masks (mask.c) --- */
const char *hdcpu_i1(CpuWiden *w, const char *mask);
const char *hdcpu_mask(CpuWiden *w, const char *i1);
const char *hdcpu_mask_and(CpuWiden *w, const char *a, const char *b);
const char *hdcpu_mask_or(CpuWiden *w, const char *a, const char *b);
const char *hdcpu_mask_xor(CpuWiden *w, const char *a, const char *b);
const char *hdcpu_mask_not(CpuWiden *w, const char *a);
const char *hdcpu_mask_andnot(CpuWiden *w, const char *a, const char *b); /* a and not b */
const char *hdcpu_any(CpuWiden *w, const char *mask);                     /* i1          */
const char *hdcpu_all(CpuWiden *w, const char *mask);
const char *hdcpu_bits(CpuWiden *w, const char *mask);                    /* i32         */
const char *hdcpu_pick(CpuWiden *w, const char *mask, const IrType *t, const char *x, const char *y); /* per lane */
static inline const char *hdcpu_on(const CpuWiden *w) { return w->vars[0].cur; } /* the lanes that run */

/* --- parts of the walk --- */
void hdcpu_body(CpuWiden *w, const char *mask, bool some); /* widen_flow.c: one copy of the kernel's region */
void hdcpu_leavers(CpuWiden *w);
void hdcpu_pure(CpuWiden *w, const IrInst *i);     /* widen_ops.c */
const char *hdcpu_op(CpuWiden *w, IrOp op, const IrType *t, const IrType *res, bool vec, const char *const x[]);
const char *hdcpu_cvt(CpuWiden *w, const IrType *from, const IrType *to, bool vec, const char *x); /* widen_cvt.c */
const char *hdcpu_fma_by_parts(CpuWiden *w, const IrType *t, bool vec, const char *const x[]);
const char *hdcpu_fast_div(CpuWiden *w, const IrInst *i); /* widen_fast.c: NULL if it is no division that fast changes */
const char *hdcpu_div(CpuWiden *w, const IrType *t, bool vec, const char *x, const char *y, bool rem);
const char *hdcpu_mulhi(CpuWiden *w, const IrType *t, bool vec, const char *x, const char *y);
void hdcpu_launch(CpuWiden *w, const IrInst *i);   /* widen.c: tid, dim, length, extract of a parameter */
const char *hdcpu_param(CpuWiden *w, const char *type, uint32_t align, uint32_t offset); /* loaded once, at entry */
void hdcpu_index(CpuWiden *w, const IrInst *i);    /* widen_addr.c */
void hdcpu_alloca(CpuWiden *w, const IrInst *i);
void hdcpu_shared(CpuWiden *w, const IrInst *i);
void hdcpu_member(CpuWiden *w, const IrInst *i);
void hdcpu_elem(CpuWiden *w, const IrInst *i);
const char *hdcpu_point(CpuWiden *w, const CpuAddr *p, int64_t more); /* ptr: base + off + more */
const char *hdcpu_offsets(CpuWiden *w, const CpuAddr *p, uint32_t size, bool safe); /* from hdcpu_point, i64 lanes    */
const char *hdcpu_safe_index(CpuWiden *w, const CpuAddr *p); /* of an AT_VARYING: 0 in the lanes that are off         */
/* Whether `user`, all lanes on, may take each lane's offset by a scalar load of its index: that lies in memory and has no
 * other use. The second gives it, i64, from hdcpu_point. */
bool        hdcpu_may_reload(CpuWiden *w, const CpuAddr *p, const IrInst *user);
const char *hdcpu_reload_offset(CpuWiden *w, const CpuAddr *p, uint32_t lane);
const char *hdcpu_lane_ptr(CpuWiden *w, const char *point, const char *offsets, uint32_t lane);
const char *hdcpu_ptrs(CpuWiden *w, const CpuAddr *p, uint32_t size);               /* <width x ptr>, for hardware    */
void hdcpu_load(CpuWiden *w, const IrInst *i);     /* widen_mem.c */
void hdcpu_store(CpuWiden *w, const IrInst *i);
const char *hdcpu_scratch(CpuWiden *w, int k);          /* stack rows for lane loops */
const char *hdcpu_scratch_lane(CpuWiden *w, int k, uint32_t size, const char *lane); /* ptr to a lane in it */
const char *hdcpu_to_mem(CpuWiden *w, const IrType *t, const char *v);   /* lanes as they are stored: bools as bytes */
const char *hdcpu_from_mem(CpuWiden *w, const IrType *t, const char *v);
const char *hdcpu_load_lanes(CpuWiden *w, const CpuAddr *p, const IrType *t); /* the lanes' values at p, in whatever form */
void hdcpu_table(CpuWiden *w, const IrInst *i);        /* widen_table.c */
bool hdcpu_load_fields(CpuWiden *w, const IrInst *i);  /* widen_aos.c: false if there is nothing to group */
bool hdcpu_store_fields(CpuWiden *w, const IrInst *i);
void hdcpu_atomic(CpuWiden *w, const IrInst *i);   /* widen_atomic.c */
bool hdcpu_may_be_private(const CpuWiden *w, const IrInst *atomic); /* widen_private.c */
const char *hdcpu_private_plain(CpuWiden *w, const IrInst *atomic, const char *serial); /* i1: atomics may be plain  */
const char *hdcpu_private_point(CpuWiden *w, const char *point); /* where plain atomics on `point` go              */
void hdcpu_private_begin(CpuWiden *w, Buf *text);                /* ends the entry block                           */
void hdcpu_private_end(CpuWiden *w, Buf *text);                  /* in the block exit; leaves the place to return  */
void hdcpu_report(CpuWiden *w, const IrInst *i);   /* widen_report.c */
void hdcpu_c_call(CpuWiden *w, const IrInst *i);   /* widen_c.c */
bool hdcpu_c_part(CpuWiden *w, const IrInst *extract); /* false if it is not from a C function's result */
bool hdcpu_all_on(const CpuWiden *w);
/* For each lane that is on, lowest first: opens blocks; `lane` is its number as i32. */
typedef struct CpuLanes {
  const char *head, *latch, *bits, *next, *lane;
} CpuLanes;
CpuLanes hdcpu_lanes_begin(CpuWiden *w, const char *bits); /* bits, i32, is not 0 */
void     hdcpu_lanes_end(CpuWiden *w, CpuLanes *l);

/* The widest gang that suits the kernel (width.c). */
uint32_t hdcpu_choose_width(const IrFunc *fn, const IrFacts *facts, const CpuTarget *target, Arena *a);
/* Undefined symbols of an ELF object that are not on the list; NULL if there are none (elf_check.c). */
const char *hdcpu_foreign_symbol(const void *object, size_t size, Arena *a);

HD_END_DECLS
#endif
