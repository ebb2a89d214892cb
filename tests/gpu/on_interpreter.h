// tests/gpu/on_interpreter.h -- kernels as PTX, run by the PTX interpreter without a driver in between.
#ifndef GPU_ON_INTERPRETER_H
#define GPU_ON_INTERPRETER_H

#include "artifact.h"
#include "tests/diff/diff.h"
#include "tests/fakecuda/ptx.h"

namespace gpu {

struct Schedule {
  PtxSchedule kind = PTX_LOCKSTEP;
  uint64_t    seed = 1;
};

// The kernel, compiled one way and run by one schedule. Every address that it touches is checked.
diff::Rival OnInterpreter(const IrFunc *kernel, const Way &way, const Schedule &schedule);

} // namespace gpu

#endif
