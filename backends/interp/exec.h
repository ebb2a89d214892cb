/* backends/interp/exec.h -- one instruction of a thread. */
#ifndef INTERP_EXEC_H
#define INTERP_EXEC_H

#include "backends/interp/frame.h"
HD_BEGIN_DECLS

typedef struct InterpThread {
  const InterpLaunch *launch;
  InterpFrames       *frames;
  int64_t             tid[HD_MAX_DIMS];
  char               *shared; /* the group's memory, frames->shared_size bytes */
  HdError            *err;
  InterpFrame        *frame; /* of the function that runs                                   */
  const IrInst       *at;    /* what it runs next; NULL at its end                          */
  uint64_t            steps;
} InterpThread;

/* Run an instruction that is neither control, a call nor an ender. */
HdStatus hdinterp_exec(InterpThread *t, InterpFrame *f, const IrInst *i);
/* The n threads of a group have come to what all run together, or to their ends: run it. `scratch` has room for
 * IR_MMA_MOST_C results each. */
HdStatus hdinterp_meet(InterpThread t[], uint32_t n, uint64_t scratch[]);
/* HD_ERR_FAULT at an instruction's place in the source. */
HdStatus hdinterp_fault(const InterpThread *t, const IrInst *i, const char *what);

HD_END_DECLS
#endif
