/* heddle/device.h -- what kernels run on. */
#ifndef HEDDLE_DEVICE_H
#define HEDDLE_DEVICE_H

#include "heddle/context.h"
HD_BEGIN_DECLS

typedef enum HdDeviceKind {
  HD_DEVICE_CPU = 1, /* SIMD code on the context's threads                            */
  HD_DEVICE_INTERP,  /* the reference interpreter: slow, and right by construction    */
} HdDeviceKind;

/* A device of one context, passed by value. */
typedef struct HdDevice {
  HdDeviceKind kind;
  int32_t      index;
} HdDevice;

typedef struct HdDeviceInfo {
  const char *name;    /* "cpu", "interp": what hd_device_find takes                  */
  const char *text;    /* "AMD EPYC .., AVX-512", lent for the context's life         */
  const char *target;  /* "x86-64-v4"; "" for the interpreter                         */
  int32_t     threads; /* that run a launch                                           */
} HdDeviceInfo;

HD_API int32_t  hd_device_count(const HdContext *ctx);
HD_API HdStatus hd_device_at(HdContext *ctx, int32_t i, HdDevice *out);
/* Errors     HD_ERR_NOT_FOUND lists the names there are. */
HD_API HdStatus hd_device_find(HdContext *ctx, const char *name, HdDevice *out);
HD_API HdStatus hd_device_info(HdContext *ctx, HdDevice device, HdDeviceInfo *out);

HD_END_DECLS
#endif
