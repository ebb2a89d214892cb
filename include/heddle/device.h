/* heddle/device.h -- what kernels run on. */
#ifndef HEDDLE_DEVICE_H
#define HEDDLE_DEVICE_H

#include "heddle/context.h"
HD_BEGIN_DECLS

typedef enum HdDeviceKind {
  HD_DEVICE_CPU = 1, /* SIMD code on the context's threads                            */
  HD_DEVICE_INTERP,  /* the reference interpreter: slow, and right by construction    */
  HD_DEVICE_CUDA,    /* an NVIDIA GPU, by way of PTX                                  */
} HdDeviceKind;

/* A device of one context, passed by value. */
typedef struct HdDevice {
  HdDeviceKind kind;
  int32_t      index;
} HdDevice;

typedef struct HdDeviceInfo {
  const char *name;    /* "cpu", "interp", "cuda:0": what hd_device_find takes         */
  const char *text;    /* "AMD EPYC .., AVX-512", lent for the context's life         */
  const char *target;  /* "x86-64-v4", "sm_90"; "" for the interpreter                */
  int32_t     threads; /* of the host that run a launch; 0 for a GPU                  */
  const char *uuid;    /* of a GPU: "GPU-..", as nvidia-smi -L lists it; else ""      */
  const char *pci;     /* of a GPU: "0000:81:00.0"; else ""                           */
} HdDeviceInfo;

/* The host's devices, then the GPUs that the driver shows (CUDA_VISIBLE_DEVICES is the driver's to read), if there is a
 * driver. The first of these calls that may concern GPUs opens it. */
HD_API int32_t  hd_device_count(HdContext *ctx);
HD_API HdStatus hd_device_at(HdContext *ctx, int32_t i, HdDevice *out);
/* `name` is "cpu", "interp", "cuda:N", or the UUID or PCI address of a GPU.
 *
 * Errors     HD_ERR_NOT_FOUND lists the names there are; HD_ERR_CUDA, where a GPU is asked for and none can be had, says
 *            which step failed and what to do. */
HD_API HdStatus hd_device_find(HdContext *ctx, const char *name, HdDevice *out);
HD_API HdStatus hd_device_info(HdContext *ctx, HdDevice device, HdDeviceInfo *out);

/* Bytes. Of the memory of a device on the host only what is used and kept is told; the others are 0. */
typedef struct HdDeviceMemory {
  uint64_t total; /* that the device has                                        */
  uint64_t free;  /* that anyone may still have                                 */
  uint64_t used;  /* that this context's arrays hold                            */
  uint64_t kept;  /* that this context has from freed arrays, to be used again  */
} HdDeviceMemory;
HD_API HdStatus hd_device_memory(HdContext *ctx, HdDevice device, HdDeviceMemory *out);
/* Give back what is kept for reuse beyond `keep` bytes. On a GPU this waits for its work. */
HD_API HdStatus hd_device_trim(HdContext *ctx, HdDevice device, uint64_t keep);

HD_END_DECLS
#endif
