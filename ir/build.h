/* ir/build.h -- appending instructions, folded and value-numbered on the way.
 *
 * A pure instruction whose operands are constants becomes a constant; the laws of ops.def are applied; an equal
 * pure instruction that dominates is used again. So what a front end or a pass asks for and what it gets may
 * differ: use the value returned. Types must be right (a wrong one is an assertion here, an error in verify).
 */
#ifndef IR_BUILD_H
#define IR_BUILD_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef struct IrScopeTable IrScopeTable; /* value numbering, one per open region */

typedef struct IrBuilder {
  IrFunc       *fn;
  IrRegion     *at;      /* instructions are appended to its end            */
  IrLoc         loc;     /* given to each new instruction                   */
  bool          no_fold; /* emit what is asked for, literally               */
  bool          no_laws; /* equal pure instructions still become one, but none becomes another */
  IrScopeTable *scope;
} IrBuilder;

void hdir_build_begin(IrBuilder *b, IrFunc *fn); /* at the function's region */

IrValue *hdir_un(IrBuilder *b, IrOp op, IrValue *x);               /* neg .. trunc, not, popcount ..  */
IrValue *hdir_bin(IrBuilder *b, IrOp op, IrValue *x, IrValue *y);  /* add .., comparisons             */
IrValue *hdir_fma(IrBuilder *b, IrValue *x, IrValue *y, IrValue *z);
IrValue *hdir_select(IrBuilder *b, IrValue *c, IrValue *x, IrValue *y);
IrValue *hdir_cvt(IrBuilder *b, const IrType *to, IrValue *x);     /* x itself if it has the type     */
IrValue *hdir_bitcast(IrBuilder *b, const IrType *to, IrValue *x);
IrValue *hdir_make(IrBuilder *b, const IrType *t, IrValue *const parts[]); /* t->nparts               */
IrValue *hdir_splat(IrBuilder *b, const IrType *t, IrValue *x);    /* packed type, all parts x        */
IrValue *hdir_zero(IrBuilder *b, const IrType *t);                 /* any value type                  */
IrValue *hdir_extract(IrBuilder *b, IrValue *x, uint32_t part);
IrValue *hdir_insert(IrBuilder *b, IrValue *x, uint32_t part, IrValue *y);
IrValue *hdir_extract_at(IrBuilder *b, IrValue *x, IrValue *i);
IrValue *hdir_insert_at(IrBuilder *b, IrValue *x, IrValue *i, IrValue *y);
IrValue *hdir_table(IrBuilder *b, IrValue *i, uint32_t n, IrValue *const constants[]);             /* scalars of one type */

IrValue *hdir_length(IrBuilder *b, IrValue *array, uint32_t axis, const IrType *as); /* i32 or i64    */
IrValue *hdir_index(IrBuilder *b, IrValue *array, uint32_t n, IrValue *const at[]);
IrValue *hdir_alloca(IrBuilder *b, const IrType *t);
IrValue *hdir_member(IrBuilder *b, IrValue *p, uint32_t part);
IrValue *hdir_elem(IrBuilder *b, IrValue *p, IrValue *i);
IrValue *hdir_load(IrBuilder *b, IrValue *p);
void     hdir_store(IrBuilder *b, IrValue *p, IrValue *x);
IrValue *hdir_atomic(IrBuilder *b, IrOp op, IrValue *p, IrValue *x, IrValue *y /* of cas, else NULL */);
IrValue *hdir_tid(IrBuilder *b, uint32_t axis);
IrValue *hdir_dim(IrBuilder *b, uint32_t axis);
IrValue *hdir_tex(IrBuilder *b, uint32_t n, IrValue *const args[], uint32_t channel); /* object, coordinates, level */
IrValue *hdir_gang_count(IrBuilder *b, IrValue *c);
IrValue *hdir_has(IrBuilder *b, IrUnit unit);
IrValue *hdir_ltid(IrBuilder *b);
IrValue *hdir_gid(IrBuilder *b);
IrValue *hdir_gdim(IrBuilder *b); /* a constant in a kernel */
IrValue *hdir_shared(IrBuilder *b, const IrType *t);
void     hdir_barrier(IrBuilder *b);
IrValue *hdir_shuffle(IrBuilder *b, IrValue *x, IrValue *lane);
IrValue *hdir_ballot(IrBuilder *b, IrValue *c);
IrValue *hdir_mma(IrBuilder *b, IrValue *x, IrValue *y, IrValue *z); /* of the types that ir/mma.h has */
void     hdir_assert(IrBuilder *b, IrValue *c, const char *text);
void     hdir_check(IrBuilder *b, IrValue *c, IrValue *index, IrValue *limit, const char *text);
void     hdir_printf(IrBuilder *b, const char *format, uint32_t n, IrValue *const args[]); /* op print */
IrInst  *hdir_call(IrBuilder *b, IrFunc *callee, IrValue *const args[]); /* results in ->res           */

/* Control. begin opens a region and moves there; finish each region with an ender, then call end, which moves
 * back behind the instruction. Results are in inst->res; their types are stated at the start. */
IrInst *hdir_if_begin(IrBuilder *b, IrValue *c, uint32_t nres, const IrType *const res[]); /* in `then` */
void    hdir_if_else(IrBuilder *b, IrInst *i);                                             /* in `else` */
IrInst *hdir_loop_begin(IrBuilder *b, uint32_t n, IrValue *const init[], uint32_t nres, const IrType *const res[]);
IrInst *hdir_scope_begin(IrBuilder *b, uint32_t nres, const IrType *const res[]);
IrInst *hdir_threads_begin(IrBuilder *b);
void    hdir_end(IrBuilder *b, IrInst *i); /* an if without an else given gets an empty one that yields nothing */
void    hdir_ender(IrBuilder *b, IrOp op, uint32_t n, IrValue *const args[]); /* yield .. unreachable           */
bool    hdir_ended(const IrBuilder *b); /* the region at hand has its ender already                             */

/* Append a copy of `i` (and all in it) to b, operands through map[old id] (old values of b->fn's own may be used
 * as they are where map has NULL); results are entered in map. Folds and numbers like everything else. */
void hdir_clone_inst(IrBuilder *b, const IrInst *i, IrValue **map);
void hdir_clone_region_body(IrBuilder *b, const IrRegion *r, IrValue **map); /* all, with the ender */

HD_END_DECLS
#endif
