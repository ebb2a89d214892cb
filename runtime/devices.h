/* runtime/devices.h -- a device: its memory, its threads, and the table of functions that all kinds implement.
 *
 * Code is loaded onto a device once and then launched by streams (streams.h). The memory of a device is the host's, or its
 * own; a view says which.
 */
#ifndef RT_DEVICES_H
#define RT_DEVICES_H

#include "runtime/artifact.h"
#include "runtime/loader.h"
#include "runtime/memory.h"
#include "runtime/threads.h"
#include "runtime/view.h"
HD_BEGIN_DECLS

/* Code that is ready to run on one device. */
typedef struct RtCode {
  RtDevice   *device;
  const char *kernel; /* its name; lent by whoever loaded it, for as long */
  RtEntry     entry;
  void       *host_user;
  RtImage     image; /* zero for HOST code */
  void       *own;   /* what a device of another kind keeps of it */
  void       *owner; /* whoever loaded it, if that is of use to them */
  int32_t     width;
  int32_t     group; /* threads that run together, or 0 (artifact.h) */
  RtCodeKind  kind;
} RtCode;

typedef struct RtLaunch {
  const RtCode *code;
  const void   *args;
  int64_t       dim[HD_MAX_DIMS]; /* 1 beyond ndim; their product fits an int64_t */
  int32_t       ndim;
} RtLaunch;

typedef struct RtStream    RtStream;
typedef struct RtStreamOps RtStreamOps; /* streams.h */
typedef struct RtEvent     RtEvent;     /* events.h  */

typedef struct RtDeviceOps {
  const char *name;
  HdStatus (*alloc)(RtDevice *d, size_t size, HdError *err, HdBlock **out, void **data);
  void (*free)(RtDevice *d, HdBlock *b);
  HdStatus (*clear)(RtDevice *d, void *data, size_t size, HdError *err); /* done on return */
  HdStatus (*load)(RtDevice *d, const RtArtifact *a, HdError *err, RtCode *out);
  void (*unload)(RtDevice *d, RtCode *code);
  HdStatus (*stream_new)(RtDevice *d, bool async, HdError *err, RtStream **out);
  HdStatus (*event_new)(RtDevice *d, HdError *err, RtEvent **out);
  /* Of devices on the host: run a launch to its end. `mem` is memory that the code may use meanwhile. */
  void (*run)(RtDevice *d, const RtLaunch *l, const HdAllocator *mem, RtFault *fault, RtPrinter *printer);
} RtDeviceOps;

struct RtDevice {
  const RtDeviceOps *ops;
  const HdAllocator *mem;
  RtPool             pool;
  RtThreads         *threads;       /* NULL where launches run on the caller's thread alone  */
  int32_t            async;         /* asynchronous streams alive; while there are none, no two launches run at once; atomic */
};

extern const RtDeviceOps hdrt_cpu_ops;    /* machine code, on all threads        */
extern const RtDeviceOps hdrt_interp_ops; /* HOST code, thread after thread      */

/* `threads` is lent. Allocates nothing. */
void hdrt_device_init(RtDevice *d, const RtDeviceOps *ops, const HdAllocator *mem, RtThreads *threads);
void hdrt_device_end(RtDevice *d);

HD_END_DECLS
#endif
