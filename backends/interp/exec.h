/* backends/interp/exec.h -- one instruction of a thread. */
#ifndef INTERP_EXEC_H
#define INTERP_EXEC_H

#include "backends/interp/frame.h"
HD_BEGIN_DECLS

typedef struct InterpThread {
  const InterpLaunch *launch;
  InterpFrames       *frames;
  int64_t             tid[HD_MAX_DIMS];
  HdError            *err;
} InterpThread;

/* Run an instruction that is neither control, a call nor an ender. */
HdStatus hdinterp_exec(InterpThread *t, InterpFrame *f, const IrInst *i);
/* HD_ERR_FAULT at an instruction's place in the source. */
HdStatus hdinterp_fault(const InterpThread *t, const IrInst *i, const char *what);

HD_END_DECLS
#endif
