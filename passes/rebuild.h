/* passes/rebuild.h -- writing a function anew: the frame that most passes hang their work on.
 *
 * The old instructions are taken out of the body and walked in order; each is emitted again at the end of the new
 * body through the folding builder, with its operands looked up in `map`. A pass gives hooks for what it wants to do
 * otherwise. An `if` whose condition has become constant is replaced by the side taken, and what follows an `if`,
 * loop or scope that is never left at its end is dropped.
 *
 * Frames stand for the old constructs that are open, and say what their enders turn into: a loop that became
 * straight code has no `break` of its own any more.
 */
#ifndef PASSES_REBUILD_H
#define PASSES_REBUILD_H

#include "ir/build.h"
HD_BEGIN_DECLS

typedef struct OptRebuild OptRebuild;
typedef struct OptFrame   OptFrame;

typedef struct OptVals { /* a growing list in the scratch arena */
  IrValue **v;
  uint32_t  n, cap;
} OptVals;

/* What goes in and out of a construct: the values of an ender or of a loop's start. */
typedef enum OptList { OPT_RESULTS, OPT_PARAMS } OptList;

/* Each may be NULL. `target` is the old if, loop or scope; NULL is the function. */
typedef struct OptHooks {
  /* Emit something else for `i` and enter its results in the map; false leaves it to the default. */
  bool (*visit)(OptRebuild *rb, IrInst *i);
  /* The new values for the old ones that go to `which` of target. */
  void (*args)(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[], OptVals *out);
  /* The types of target's new results: one value of each type stands for it, only `type` is read. */
  void (*types)(OptRebuild *rb, const IrInst *target, uint32_t *n, const IrType *const **types);
  /* Enter new results or loop parameters in the map. */
  void (*bind)(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const now[]);
} OptHooks;

struct OptFrame {
  OptFrame     *up;
  const IrInst *old;
  IrOp          yield, leave, brk, cont; /* what these enders become; IR_NOPS: their values become the results */
  uint32_t      left;                    /* emitted enders that reach the end of the construct                 */
  uint32_t      again;                   /* emitted continues; of a scope, for the pass to use                   */
};

struct OptRebuild {
  IrBuilder       b;
  IrFunc         *fn;
  Arena          *scratch;
  const OptHooks *hooks;
  void           *self;    /* the pass's own state                                            */
  OptFrame       *frame;   /* the innermost open construct                                    */
  IrValue       **map;     /* old id to new value, nmap long                                  */
  uint32_t        nmap;
  bool            foreign; /* the instructions come from another function of the module      */
  bool            stop;    /* the code at hand ended with a break, continue or leave that has become nothing:
                              walks end, until whoever made the frame says that they may go on */
  bool            changed;
};

/* Prepare `rb` (zeroed by the caller but for hooks and self); the walk starts at what is returned. */
IrInst *hdopt_rebuild_begin(OptRebuild *rb, IrFunc *fn, Arena *scratch);
/* begin and walk. */
void hdopt_rebuild(OptRebuild *rb, IrFunc *fn, Arena *scratch);

void hdopt_walk(OptRebuild *rb, IrInst *i);  /* i and what follows it in its region, until the new region has ended */
void hdopt_emit(OptRebuild *rb, IrInst *i);  /* the default for one instruction, the hook `visit` not asked         */
void hdopt_visit(OptRebuild *rb, IrInst *i); /* the hook, then the default                                          */
void hdopt_splice(OptRebuild *rb, const IrInst *i, const IrRegion *side); /* the side's code in place of an `if`    */
void hdopt_emit_ender(OptRebuild *rb, const IrInst *e);

/* Stand between push and pop while old->sub is walked. A frame starts with its enders as they are. */
void hdopt_push(OptRebuild *rb, OptFrame *f, const IrInst *old);
void hdopt_pop(OptRebuild *rb);
/* After hdir_end: nothing comes out of `f`, so nothing follows it. */
void hdopt_dead_end(OptRebuild *rb, const OptFrame *f);

IrValue *hdopt_get(OptRebuild *rb, IrValue *old);
void     hdopt_set(OptRebuild *rb, const IrValue *old, IrValue *now);
void     hdopt_push_val(OptRebuild *rb, OptVals *list, IrValue *v);
/* The hooks or their defaults. */
void     hdopt_args(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[], OptVals *out);
void     hdopt_bind(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const now[]);
void     hdopt_result_types(OptRebuild *rb, const IrInst *i, uint32_t *n, const IrType *const **types);

/* --- walking old code --- */
/* The construct that an ender of the given op ends or repeats, seen from region r; NULL for the function. */
const IrInst *hdopt_target(const IrRegion *r, IrOp ender);
uint32_t      hdopt_count(const IrFunc *fn);                     /* instructions, enders included */
uint32_t      hdopt_leaf_offset(const IrType *t, uint32_t part); /* leaves before a part of a composite */

HD_END_DECLS
#endif
