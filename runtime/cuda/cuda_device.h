/* runtime/cuda/cuda_device.h -- CUDA devices as devices of the runtime.
 *
 * A device's primary context is retained at its first use and released at its end. Every entrance makes it the calling
 * thread's current one and puts back what was there, so that other users of CUDA in the process are not disturbed.
 *
 * After a failure that loses the context, the first record is kept and every later call gives it again at once.
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "runtime/cuda/driver.h"
#include "runtime/devices.h"
#include "runtime/streams.h"
HD_BEGIN_DECLS

/* Memory of a device; what the rest of the runtime holds as an HdBlock. */
typedef struct CudaBlock {
  struct CudaBlock *next; /* in a free list */
  CuPtr             data;
  size_t            size; /* its class's    */
} CudaBlock;

enum { CUDA_CLASSES = 4 * 48 }; /* four to each doubling from 512 bytes on */

typedef struct CudaPool {
  CudaBlock *free[CUDA_CLASSES];
  size_t     used, kept; /* bytes in blocks handed out, and in free lists */
} CudaPool;

typedef struct CudaDevice {
  RtDevice        base;
  const CuDriver *driver;
  int32_t         ordinal;
  char            name[16];  /* "cuda:0"                                       */
  char            text[160]; /* "NVIDIA H200, 139.8 GiB, PCI 0000:81:00.0"       */
  char            uuid[44];  /* "GPU-.."; "" where the driver has none         */
  char            pci[20];
  CuDevice        handle;
  int32_t         sm;        /* 90 for compute capability 9.0                  */
  char            target[8]; /* "sm_90"                                        */
  size_t          memory;    /* bytes in all                                   */
  CuContext       context;   /* NULL until the first use                       */
  CudaPool        pool;
  HdError         lost;      /* status HD_OK while the device is well          */
} CudaDevice;

extern const RtDeviceOps hdcu_ops;

/* Describe device `ordinal` of the driver; no context is made yet. */
HdStatus hdcu_device_init(CudaDevice *d, const CuDriver *driver, int32_t ordinal, const HdAllocator *mem, HdError *err);
void     hdcu_device_end(CudaDevice *d);

/* Every use of a device stands between these. */
HdStatus hdcu_enter(CudaDevice *d, HdError *err);
void     hdcu_leave(CudaDevice *d);

/* The record of a failed call, as hdcu_fail; and if the code means that the context is lost, the device is too. */
HdStatus hdcu_device_fail(CudaDevice *d, CuResult code, const char *call, const char *detail, HdError *err);

/* --- memory (cuda_pool.c); between enter and leave --- */
HdStatus hdcu_block_new(CudaDevice *d, size_t size, HdError *err, CudaBlock **out);
void     hdcu_block_free(CudaDevice *d, CudaBlock *b);
void     hdcu_pool_trim(CudaDevice *d);

/* --- code (cuda_code.c) --- */
typedef struct CudaCode {
  CuModule   module;
  CuFunction function;
  int32_t    rank, block;
  int32_t    registers, spilled; /* a thread: registers, bytes of local memory */
  uint32_t   nsites;
  RtSite    *sites; /* with their texts behind them */
  size_t     size;  /* of all of this               */
} CudaCode;

HdStatus hdcu_load(RtDevice *d, const RtArtifact *a, HdError *err, RtCode *out);
void     hdcu_unload(RtDevice *d, RtCode *code);

/* --- events (cuda_event.c) --- */
typedef struct CudaEvent {
  RtEvent base;
  CuEvent handle;
  bool    recorded;
} CudaEvent;

HdStatus hdcu_event_new(RtDevice *d, HdError *err, RtEvent **out);

/* --- streams (cuda_stream.c) --- */
HdStatus hdcu_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out);

/* --- copies (cuda_copy.c); between enter and leave --- */
HdStatus hdcu_copy(CudaDevice *d, CuStream stream, const RtView *from, const RtView *to, HdError *err);
HdStatus hdcu_clear(CudaDevice *d, CuStream stream, const RtView *v, HdError *err);

HD_END_DECLS
#endif
