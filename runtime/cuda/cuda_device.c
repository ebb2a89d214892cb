/* runtime/cuda/cuda_device.c -- finding a device out, its context, its failures. */
#include "runtime/cuda/cuda_device.h"

#include <stdio.h>
#include <string.h>

/* --- what it is --- */

static HdStatus attribute(CudaDevice *d, CuAttribute a, int *value, HdError *err) {
  CuResult code = d->driver->cuDeviceGetAttribute(value, a, d->handle);
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuDeviceGetAttribute", NULL, err);
}

static bool has_pools(CudaDevice *d) {
  const CuDriver *cu = d->driver;
  int yes = 0;
  return cu->cuMemPoolCreate && cu->cuMemPoolDestroy && cu->cuMemPoolSetAttribute && cu->cuMemPoolGetAttribute &&
         cu->cuMemPoolTrimTo && cu->cuMemAllocFromPoolAsync && cu->cuMemFreeAsync &&
         cu->cuDeviceGetAttribute(&yes, CU_MEMORY_POOLS_SUPPORTED, d->handle) == CU_SUCCESS && yes;
}

static void describe(CudaDevice *d) {
  const CuDriver *cu = d->driver;
  CuUuid u;
  char model[96] = "GPU";
  cu->cuDeviceGetName(model, sizeof model, d->handle);
  if (cu->cuDeviceTotalMem(&d->memory, d->handle) != CU_SUCCESS) d->memory = 0;
  if (cu->cuDeviceGetPCIBusId(d->pci, sizeof d->pci, d->handle) != CU_SUCCESS) d->pci[0] = 0;
  if (cu->cuDeviceGetUuid && cu->cuDeviceGetUuid(&u, d->handle) == CU_SUCCESS) {
    size_t n = (size_t)snprintf(d->uuid, sizeof d->uuid, "GPU-");
    for (int i = 0; i < 16; i++)
      n += (size_t)snprintf(d->uuid + n, sizeof d->uuid - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                            u.bytes[i]);
  }
  snprintf(d->text, sizeof d->text, "%.80s, %.1f GiB, PCI %s", model, (double)d->memory / (1024.0 * 1024.0 * 1024.0),
           d->pci);
}

HdStatus hdcu_device_init(CudaDevice *d, const CuDriver *driver, int32_t ordinal, const HdAllocator *mem,
                          HdError *err) {
  int major, minor;
  memset(d, 0, sizeof *d);
  hdrt_device_init(&d->base, &hdcu_ops, mem, NULL);
  d->driver = driver;
  d->ordinal = ordinal;
  snprintf(d->name, sizeof d->name, "cuda:%d", ordinal);
  CuResult code = driver->cuDeviceGet(&d->handle, ordinal);
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuDeviceGet", NULL, err);
  HD_TRY(attribute(d, CU_COMPUTE_CAPABILITY_MAJOR, &major, err));
  HD_TRY(attribute(d, CU_COMPUTE_CAPABILITY_MINOR, &minor, err));
  d->sm = 10 * major + minor;
  snprintf(d->target, sizeof d->target, "sm_%d", d->sm % 1000);
  describe(d);
  d->pool.ordered = has_pools(d);
  d->pool.keep = d->memory / 4;
  d->print_room = CUDA_PRINT;
  return HD_OK;
}

void hdcu_device_end(CudaDevice *d) {
  if (d->context) {
    bool entered = hdcu_enter(d, NULL) == HD_OK;
    if (!entered && d->lost.status == HD_OK)
      d->lost.status = HD_ERR_CUDA; /* a forked child: nothing of it is ours to free */
    hdcu_pool_end(d);
    if (entered && d->home) d->driver->cuStreamDestroy(d->home);
    if (entered) hdcu_leave(d);
    if (hdcu_is_ours(d->driver)) d->driver->cuDevicePrimaryCtxRelease(d->handle);
  }
  hdrt_device_end(&d->base);
  memset(d, 0, sizeof *d);
}

/* --- its context --- */

HdStatus hdcu_enter(CudaDevice *d, HdError *err) {
  if (d->lost.status != HD_OK) {
    if (err) *err = d->lost;
    return d->lost.status;
  }
  const CuDriver *cu = d->driver;
  if (!hdcu_is_ours(cu)) return hdcu_fail(cu, CU_NOT_INITIALIZED, "cuCtxPushCurrent", (CuWhere){d->name, NULL}, err);
  if (!d->context) {
    CuContext context;
    CuResult code = cu->cuDevicePrimaryCtxRetain(&context, d->handle);
    if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuDevicePrimaryCtxRetain", NULL, err);
    d->context = context;
  }
  CuResult code = cu->cuCtxPushCurrent(d->context);
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuCtxPushCurrent", NULL, err);
  if (d->home) return HD_OK;
  code = cu->cuStreamCreate(&d->home, CU_STREAM_NON_BLOCKING);
  if (code == CU_SUCCESS) return HD_OK;
  hdcu_leave(d);
  d->home = NULL;
  return hdcu_device_fail(d, code, "cuStreamCreate", NULL, err);
}

void hdcu_leave(CudaDevice *d) {
  CuContext context;
  d->driver->cuCtxPopCurrent(&context);
}

/* --- failures --- */

static bool loses_context(CuResult code) {
  return code == 201 || code == 214 || code == 220 || code == 700 || code == 702 || code == 709 || code == 710 ||
         (code >= 714 && code <= 719);
}

HdStatus hdcu_device_fail(CudaDevice *d, CuResult code, const char *call, const char *detail, HdError *err) {
  HdError record;
  HdStatus status = hdcu_fail(d->driver, code, call, (CuWhere){d->name, detail}, &record);
  if (loses_context(code) && d->lost.status == HD_OK) d->lost = record;
  d->unsure = true;
  if (err) *err = record;
  return status;
}

/* --- the device's functions --- */

static HdStatus cuda_alloc(RtDevice *base, size_t size, HdError *err, HdBlock **out, void **data) {
  CudaDevice *d = (CudaDevice *)base;
  CudaBlock *b = NULL;
  HD_TRY(hdcu_enter(d, err));
  HdStatus status = hdcu_block_new(d, NULL, size, err, &b);
  hdcu_leave(d);
  HD_TRY(status);
  *out = (HdBlock *)b;
  *data = (void *)(uintptr_t)b->data;
  return HD_OK;
}

/* An array of another context on the same device goes back there. */
static void cuda_free(RtDevice *base, HdBlock *b) {
  (void)base;
  hdcu_block_free(NULL, (CudaBlock *)b);
}

static HdStatus cuda_clear(RtDevice *base, void *data, size_t size, HdError *err) {
  CudaDevice *d = (CudaDevice *)base;
  HD_TRY(hdcu_enter(d, err));
  CuResult code = d->driver->cuMemsetD8Async((CuPtr)(uintptr_t)data, 0, size, d->home);
  HdStatus status = code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuMemsetD8Async", NULL, err);
  if (status == HD_OK && (code = d->driver->cuStreamSynchronize(d->home)) != CU_SUCCESS)
    status = hdcu_device_fail(d, code, "cuStreamSynchronize", NULL, err);
  hdcu_leave(d);
  return status;
}

const RtDeviceOps hdcu_ops = {"cuda",      cuda_alloc,      cuda_free,      cuda_clear, hdcu_load,
                              hdcu_unload, hdcu_stream_new, hdcu_event_new, NULL};
