/* passes/passes.h -- IR to IR. One pass a file; passes.def has a row for each, with its contract.
 *
 * A pass works on one function, allocates what it keeps in the module's arena, and what it only needs while it runs in
 * the scratch arena, which is reset after it. It returns whether it changed anything.
 */
#ifndef PASSES_H
#define PASSES_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef struct OptDefine { /* a value for a const parameter is bound by the front end, not here; kept for IR input */
  const char *name;
  int64_t     value;
} OptDefine;

typedef struct OptContext {
  Arena   *scratch;      /* may be NULL: the manager brings one                       */
  HdError *err;
  int32_t  unroll_limit; /* instructions a loop may become; 0 takes the default       */
  uint32_t units;        /* hardware units that a fast kernel finds, and gangs: a bit 1 << unit for each IrUnit */
  bool     verify;       /* verify after each pass                                    */
  HdStatus status;       /* a pass that refuses the function sets it, and *err: the run ends with it */
  void   (*after)(void *user, const char *pass, const IrFunc *fn, bool changed, double ms); /* or NULL */
  void    *user;
} OptContext;

typedef bool (*OptPassFn)(IrFunc *fn, OptContext *cx);

typedef struct OptPass {
  const char *name;
  OptPassFn   run;
  const char *summary;
} OptPass;

extern const OptPass hdopt_passes[]; /* ends with a NULL name */

#define OPT_PASS(name, summary) bool hdopt_##name(IrFunc *fn, OptContext *cx);
#include "passes/passes.def"

/* Run passes by name, separated by commas, on every function of a module; also the named pipelines
 *     "canon"  what fixes the meaning of floating-point code: fma formation. Every backend runs it first.
 *     "cpu"    canon, then everything down to scalar code without calls for the CPU's widening; functions that no
 *              kernel needs are removed.
 *     "gpu"    the same for a GPU, whose threads meet at barriers by themselves.
 * A kernel that split has been through no pass changes any more.
 * HD_ERR_OPTION names an unknown pass and the known ones, HD_ERR_SOURCE what a pass refuses of a kernel. */
HdStatus hdopt_run(IrModule *m, const char *pipeline, OptContext *cx);

HD_END_DECLS
#endif
