/* backends/interp/frame.h -- where the values of a running function live.
 *
 * Every value is a row of 64-bit leaves, one for each scalar in it, in the order of its parts and in the encoding of
 * IrValue.bits. A pointer is one leaf, its address. An array is one leaf too, the address of its description
 * (ir_type.h): arrays only come from parameters, so the description always stands in memory.
 *
 * There is no recursion, so a function has one frame, made before the first thread runs. Nothing is allocated
 * while threads run.
 */
#ifndef INTERP_FRAME_H
#define INTERP_FRAME_H

#include "backends/interp/interp.h"
HD_BEGIN_DECLS

/* One leaf of a type as it lies in memory. */
typedef struct InterpLeaf {
  uint64_t      offset; /* bytes */
  const IrType *type;   /* a scalar, an array or a pointer */
} InterpLeaf;

typedef struct InterpFrame InterpFrame;
typedef struct InterpC     InterpC;

struct InterpFrame {
  const IrFunc *fn;
  uint64_t     *leaves;
  uint64_t     *first;    /* by value id: its first leaf                               */
  uint64_t     *local_at; /* by instruction id: an alloca's offset in `locals`; of a `shared`, in the group's memory */
  char         *locals;
  uint64_t      local_size;
  InterpFrame **callee;   /* by instruction id: the frame of a call's function         */
  InterpFrame  *caller;   /* while it runs: who waits for it, and at which instruction */
  const IrInst *call;
  bool          running;
  InterpC      *c; /* of a C function, whose frame has its parameters: how to call it (c_call.c) */
};

typedef struct InterpFrames {
  Arena        *arena;
  InterpFrame **all; /* the kernel's first */
  uint32_t      count, cap;
  Map           by_fn;
  InterpLeaf  **shape;   /* by type id: the leaves of each type that is loaded or stored, else NULL */
  uint64_t     *scratch; /* room for what a loop carries                                             */
  char         *locals;  /* of all frames                                                            */
  uint64_t      local_size, shared_size;
} InterpFrames;

/* Frames for a kernel and all it calls. */
void hdinterp_frames_init(InterpFrames *fs, const IrFunc *kernel, Arena *a);
/* Before a type is read or written that the kernel neither loads nor stores nor takes. */
void hdinterp_shape(InterpFrames *fs, const IrType *t);

static inline uint64_t *hdinterp_leaves(const InterpFrame *f, const IrValue *v) { return f->leaves + f->first[v->id]; }

/* The first leaf of part `i` among the leaves of a composite. */
uint64_t hdinterp_part_leaf(const IrType *t, uint32_t i);

/* --- memory: exactly the bytes of the leaves are touched, never padding --- */
void hdinterp_read(const InterpFrames *fs, const IrType *t, const void *from, uint64_t *leaves);
void hdinterp_write(const InterpFrames *fs, const IrType *t, void *to, const uint64_t *leaves);

HD_END_DECLS
#endif
