/* backends/nvptx/lower.h -- the printer's state and the functions that its files share.
 *
 * One logical thread is one GPU thread, so every value is an LLVM scalar. Operands are text ("%v12", "true", "-1")
 * without the type, and live in the arena.
 *
 *     lower.c       the function around the body: which thread, parameters
 *     lower_flow.c  if, loop, scope and enders as blocks and phis      lower_rounds.c  loops with several rounds in a row
 *     lower_ops.c   pure operations                 lower_cvt.c     conversions
 *     lower_mem.c   addresses, loads, stores        lower_atomic.c  atomics
 *     lower_approx.c the hardware's approximations
 *     lower_report.c assert, check, print              lower_group.c   shared memory, barriers, shuffles
 *     lower_tex.c   texture units                   lower_mma.c     products of matrices by units
 *     ptx_text.c    text, constants, declarations
 */
#ifndef NVPTX_LOWER_H
#define NVPTX_LOWER_H

#include "backends/nvptx/nvptx.h"
HD_BEGIN_DECLS

/* base + off. */
typedef struct PtxAddr {
  IrSpace     space;
  const char *base; /* of the space's type of pointer (hdptx_space) */
  int64_t     off;
  uint32_t    align; /* of base, if it is known to be more than that of a scalar; else 0 */
} PtxAddr;

typedef struct PtxEdge {
  const char  *block;
  const char **x;
} PtxEdge;

/* A place where paths meet; a phi is made for each of the n values. */
typedef struct PtxJoin {
  const char *label;
  PtxEdge    *edges;
  uint32_t    nedges, cap;
} PtxJoin;

/* Metadata of the module, by number. */
enum { PTX_MD_KERNEL, PTX_MD_SELDOM, PTX_MD_NONE, PTX_MD_FOUR, PTX_MD_TWO, PTX_MD_FREE };

typedef struct PtxCon { /* a construct around the place at hand */
  const IrInst  *inst;
  PtxJoin        end, head; /* head: of a loop */
  const char    *again;     /* of a loop: metadata of the jump back to its head */
  struct PtxCon *up;
} PtxCon;

typedef struct PtxLower {
  Arena           *a;
  const IrFunc    *fn;
  const PtxTarget *target;
  PtxOptions       options;
  HdError         *err;
  HdStatus         status; /* the first failure */
  PtxSites        *sites;
  int32_t          rank;   /* nvptx.h: r        */
  uint32_t        *uses;   /* by value id       */
  uint32_t        *args_at; /* offset of each parameter */
  bool            *written; /* by type id: arrays with such elements are written to */
  /* text */
  Buf     *out, allocas, entry, decls;
  Map      declared, consts, params;
  uint32_t next_name, next_md;
  uint32_t shared_at; /* bytes of dynamic shared memory given away */
  /* the place at hand */
  const char  *block;
  bool         live;
  PtxCon      *con;
  const char **val;  /* by value id           */
  PtxAddr    **addr; /* by value id: pointers */
  uint32_t    *place; /* by value id: arrays and composite parameters, the offset in the argument block */
  const char  *tid[HD_MAX_DIMS]; /* i32, made at the first use */
  const char  *rest[HD_MAX_DIMS]; /* i32: n / (len[k] .. len[r-1]), by k */
  const IrInst *asked; /* the last tex, and the four numbers that it gave */
  const char   *texel;
} PtxLower;

/* --- text (ptx_text.c) --- */
const char *hdptx_fmt(PtxLower *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *hdptx_name(PtxLower *g);
const char *hdptx_label(PtxLower *g);
const char *hdptx_ins(PtxLower *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* "%v = .."      */
const char *hdptx_entry(PtxLower *g, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* before the body */
void        hdptx_line(PtxLower *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *hdptx_call(PtxLower *g, const char *ret, const char *name, const char *params, const char *fmt, ...)
    __attribute__((format(printf, 5, 6))); /* declares it */
void        hdptx_declare(PtxLower *g, const char *ret, const char *name, const char *params);
void        hdptx_open(PtxLower *g, const char *label);
void        hdptx_fail(PtxLower *g, const IrInst *i, HdStatus st, const char *what);
const char *hdptx_type(const IrType *t);     /* of a value: i1, i8 .. i64, float, double; halves are i16 */
const char *hdptx_mem_type(const IrType *t); /* of a scalar in memory: bool is i8                         */
const char *hdptx_int(PtxLower *g, uint32_t bits, int64_t x);
const char *hdptx_const(PtxLower *g, const IrType *t, uint64_t bits);
/* c ? x : y, of values of LLVM's type `ty`. */
const char *hdptx_choose(PtxLower *g, const char *c, const char *ty, const char *x, const char *y);
const char *hdptx_get(PtxLower *g, const IrValue *v);
static inline void hdptx_set(PtxLower *g, const IrValue *v, const char *x) { g->val[v->id] = x; }

/* --- parts of the walk --- */
const char *hdptx_symbol(const IrFunc *kernel, Arena *a); /* lower.c */
int32_t     hdptx_rank(const IrFunc *kernel);
int32_t     hdptx_block(const IrFunc *kernel, const PtxOptions *options); /* the most threads of a block */
void hdptx_region(PtxLower *g, const IrRegion *r); /* lower_flow.c */
const char *hdptx_rounds(PtxLower *g, const IrInst *loop); /* lower_rounds.c: metadata for the jump back, or "" */
const char *hdptx_tid(PtxLower *g, int32_t axis);  /* lower.c: i32 */
const char *hdptx_param(PtxLower *g, const char *type, uint32_t align, uint32_t offset);  /* loaded once, before the body */
const char *hdptx_launch(PtxLower *g, const char *type, uint32_t align, uint32_t offset); /* the same, of the launch     */
const char *hdptx_printing(PtxLower *g, const char *type, uint32_t align, uint32_t offset); /* of an entry that prints */
void hdptx_launch_inst(PtxLower *g, const IrInst *i); /* tid, dim, length, extract of a parameter */
void hdptx_pure(PtxLower *g, const IrInst *i);        /* lower_ops.c */
const char *hdptx_op(PtxLower *g, IrOp op, const IrType *t, const IrType *res, const char *const x[]);
const char *hdptx_cvt(PtxLower *g, const IrType *from, const IrType *to, const char *x); /* lower_cvt.c */
bool hdptx_is_approx(const IrInst *i); /* lower_approx.c: a call of one of the hardware's approximations */
void hdptx_approx(PtxLower *g, const IrInst *i);
void hdptx_index(PtxLower *g, const IrInst *i); /* lower_mem.c */
const char *hdptx_space(const PtxAddr *a);       /* "ptr addrspace(1)" */
void hdptx_table(PtxLower *g, const IrInst *i);
void hdptx_alloca(PtxLower *g, const IrInst *i);
void hdptx_member(PtxLower *g, const IrInst *i);
void hdptx_elem(PtxLower *g, const IrInst *i);
void hdptx_load(PtxLower *g, const IrInst *i);
void hdptx_store(PtxLower *g, const IrInst *i);
const char *hdptx_point(PtxLower *g, const IrInst *i, const PtxAddr **addr); /* of a load, store or atomic */
void hdptx_writes(PtxLower *g);                  /* fills in g->written */
void hdptx_atomic(PtxLower *g, const IrInst *i); /* lower_atomic.c */
void hdptx_tex(PtxLower *g, const IrInst *i);    /* lower_tex.c */
void hdptx_report(PtxLower *g, const IrInst *i); /* lower_report.c */
void hdptx_group_id(PtxLower *g, const IrInst *i); /* lower_group.c: ltid, gid, gdim */
void hdptx_shared(PtxLower *g, const IrInst *i);
uint32_t hdptx_shared_size(const IrFunc *kernel); /* of all its shared objects */
void hdptx_group(PtxLower *g, const IrInst *i);  /* what all threads run together */
void hdptx_mma(PtxLower *g, const IrInst *i);    /* lower_mma.c */
const char *hdptx_mma_part(PtxLower *g, const IrValue *v, uint32_t k); /* of a product */
const char *hdptx_param_part(PtxLower *g, const IrValue *v, uint32_t k); /* lower.c: a scalar of a composite parameter */

HD_END_DECLS
#endif
