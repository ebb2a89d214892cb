/* runtime/launches.h -- running a launch: on the calling thread alone, or shared among the device's threads. */
#ifndef RT_LAUNCHES_H
#define RT_LAUNCHES_H

#include "runtime/devices.h"
HD_BEGIN_DECLS

/* Both run every thread of the launch once, with the floating-point environment that kernels are promised: rounding to
 * nearest, denormals kept, no traps. */
void hdrt_run_serial(RtDevice *d, const RtLaunch *l, const HdAllocator *mem, RtFault *fault, RtPrinter *printer);
void hdrt_run_shared(RtDevice *d, const RtLaunch *l, const HdAllocator *mem, RtFault *fault, RtPrinter *printer);

HD_END_DECLS
#endif
