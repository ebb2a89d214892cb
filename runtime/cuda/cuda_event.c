/* runtime/cuda/cuda_event.c -- events are the driver's, with its timing. */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

static HdStatus cuda_event_wait(RtEvent *base, HdError *err) {
  CudaEvent *e = (CudaEvent *)base;
  CudaDevice *d = (CudaDevice *)base->device;
  HD_TRY(hdcu_enter(d, err));
  CuResult code = d->driver->cuEventSynchronize(e->handle);
  HdStatus status = code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuEventSynchronize", NULL, err);
  hdcu_leave(d);
  return status;
}

static HdStatus cuda_event_elapsed(RtEvent *from, RtEvent *to, double *ms, HdError *err) {
  CudaEvent *a = (CudaEvent *)from, *b = (CudaEvent *)to;
  CudaDevice *d = (CudaDevice *)from->device;
  float t = 0;
  if (!a->recorded || !b->recorded)
    return hdb_fail(err, HD_ERR_BUSY, a->recorded ? "to" : "from", "it has not happened");
  HD_TRY(hdcu_enter(d, err));
  CuResult code = d->driver->cuEventElapsedTime(&t, a->handle, b->handle);
  hdcu_leave(d);
  if (code == CU_NOT_READY) return hdb_fail(err, HD_ERR_BUSY, "", "one of the two has not happened");
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuEventElapsedTime", NULL, err);
  *ms = (double)t;
  return HD_OK;
}

/* The driver keeps what streams still need of a destroyed event. */
static void cuda_event_free(RtEvent *base) {
  CudaEvent *e = (CudaEvent *)base;
  CudaDevice *d = (CudaDevice *)base->device;
  if (hdcu_enter(d, NULL) == HD_OK) {
    d->driver->cuEventDestroy(e->handle);
    hdcu_leave(d);
  }
  d->base.mem->resize(d->base.mem->user, e, sizeof *e, 0);
}

static const RtEventOps cuda_event_ops = {cuda_event_free, cuda_event_wait, cuda_event_elapsed};

HdStatus hdcu_event_new(RtDevice *base, HdError *err, RtEvent **out) {
  CudaDevice *d = (CudaDevice *)base;
  CudaEvent *e = base->mem->resize(base->mem->user, NULL, 0, sizeof *e);
  if (!e) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for an event", sizeof *e);
  memset(e, 0, sizeof *e);
  e->base = (RtEvent){&cuda_event_ops, base};
  HdStatus status = hdcu_enter(d, err);
  if (status == HD_OK) {
    CuResult code = d->driver->cuEventCreate(&e->handle, 0);
    if (code != CU_SUCCESS) status = hdcu_device_fail(d, code, "cuEventCreate", NULL, err);
    hdcu_leave(d);
  }
  if (status == HD_OK)
    *out = &e->base;
  else
    base->mem->resize(base->mem->user, e, sizeof *e, 0);
  return status;
}
