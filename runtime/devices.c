/* runtime/devices.c -- the two kinds of device that live on the host. */
#include "runtime/devices.h"

#include <string.h>

#include "runtime/events.h"
#include "runtime/launches.h"
#include "runtime/streams.h"

void hdrt_device_init(RtDevice *d, const RtDeviceOps *ops, const HdAllocator *mem, RtThreads *threads) {
  memset(d, 0, sizeof *d);
  d->ops = ops;
  d->mem = mem;
  d->threads = threads;
  hdrt_pool_init(&d->pool, mem);
}

void hdrt_device_end(RtDevice *d) { hdrt_pool_trim(&d->pool, 0); }

/* --- memory: the same for both --- */

static HdStatus host_alloc(RtDevice *d, size_t size, HdError *err, HdBlock **out, void **data) {
  HD_TRY(hdrt_block_new(&d->pool, size, err, out));
  *data = hdrt_block_data(*out);
  return HD_OK;
}

static void host_free(RtDevice *d, HdBlock *b) {
  (void)d;
  hdrt_block_free(b);
}

static HdStatus host_clear(RtDevice *d, void *data, size_t size, HdError *err) {
  (void)d, (void)err;
  memset(data, 0, size);
  return HD_OK;
}

/* --- code --- */

static HdStatus cpu_load(RtDevice *d, const RtArtifact *a, HdError *err, RtCode *out) {
  RtCode code = {
      .device = d, .kernel = a->sig.kernel, .width = a->width, .group = a->sig.group, .kind = RT_CODE_OBJECT};
  HD_TRY(hdrt_image_load(a->code, a->code_size, a->symbol, a->nimports, a->imports, err, &code.image));
  memcpy(&code.entry, &code.image.entry, sizeof code.entry);
  *out = code;
  return HD_OK;
}

static HdStatus interp_load(RtDevice *d, const RtArtifact *a, HdError *err, RtCode *out) {
  (void)err;
  *out = (RtCode){.device = d,
                  .kernel = a->sig.kernel,
                  .entry = a->host,
                  .host_user = a->host_user,
                  .width = 1,
                  .group = a->sig.group,
                  .kind = RT_CODE_HOST};
  return HD_OK;
}

static void host_unload(RtDevice *d, RtCode *code) {
  (void)d;
  hdrt_image_free(&code->image);
}

const RtDeviceOps hdrt_cpu_ops = {"cpu",       host_alloc,           host_free,           host_clear,     cpu_load,
                                  host_unload, hdrt_host_stream_new, hdrt_host_event_new, hdrt_run_shared};

const RtDeviceOps hdrt_interp_ops = {
    "interp",    host_alloc,           host_free,           host_clear,     interp_load,
    host_unload, hdrt_host_stream_new, hdrt_host_event_new, hdrt_run_serial};
