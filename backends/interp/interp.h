/* backends/interp/interp.h -- the oracle: runs IR as it is written, one thread after the other. */
#ifndef INTERP_H
#define INTERP_H

#include "ir/ir.h"
HD_BEGIN_DECLS

/* A C function that the kernel may call. */
typedef struct InterpFunction {
  const char *name;
  void      (*address)(void);
} InterpFunction;

/* One launch of a kernel: its argument block (runtime/artifact.h describes the layout; ir_type.h the parts) and the
 * extents. Threads run in row-major order. A failed assert or check is reported to `report` and the thread goes on. */
typedef struct InterpLaunch {
  const IrFunc *kernel;
  const void   *args;
  int32_t       ndim;
  int64_t       dim[HD_MAX_DIMS];
  int64_t       at[HD_MAX_DIMS]; /* the outer coordinates of the row to run */
  int64_t       begin, end;      /* the threads of that row; whole groups   */
  void (*report)(void *user, const IrInst *inst, const int64_t tid[HD_MAX_DIMS], int64_t index, int64_t limit);
  /* NULL: what is printed is lost. */
  void (*print)(void *user, const char *format, const int64_t tid[HD_MAX_DIMS], uint32_t n, const uint64_t values[]);
  void         *user;
  uint64_t      max_steps;       /* instructions a thread may run; 0 is no limit   */
  uint32_t      nfunctions;
  const InterpFunction *functions;
  /* Asked before each access to memory that is not the thread's own; false ends the run with HD_ERR_FAULT. NULL: all
   * addresses are taken to be good. */
  bool (*may_access)(void *user, const void *address, size_t size);
} InterpLaunch;

/* Whether C functions can be called here: HD_ERR_UNSUPPORTED if libffi cannot be opened. */
HdStatus hdinterp_calls_c(HdError *err);

/* HD_ERR_NOMEM; HD_ERR_FAULT when a thread passes max_steps, leaves its local memory, or may not access an address;
 * HD_ERR_UNSUPPORTED for what it cannot run (recursion); HD_ERR_NOT_FOUND names a C function that `functions` lacks. The IR
 * must be valid (hdir_verify). */
HdStatus hdinterp_run(const InterpLaunch *launch, const HdAllocator *mem, HdError *err);

HD_END_DECLS
#endif
