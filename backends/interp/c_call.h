/* backends/interp/c_call.h -- calls of C functions, by libffi. */
#ifndef INTERP_C_CALL_H
#define INTERP_C_CALL_H

#include "backends/interp/exec.h"
HD_BEGIN_DECLS

/* Find the address of each C function among the frames and prepare for calling it. HD_ERR_NOT_FOUND names one that the
 * launch lacks. */
HdStatus hdinterp_c_bind(InterpFrames *fs, const InterpLaunch *launch, HdError *err);
/* Run the call `i` of frame `f`, whose operands are in the frame of the callee. */
void hdinterp_c_call(InterpThread *t, const InterpFrame *f, const IrInst *i);

HD_END_DECLS
#endif
