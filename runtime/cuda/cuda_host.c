/* runtime/cuda/cuda_host.c -- pinned memory of the host, and copies from and to pageable memory by way of it.
 *
 * A device moves pinned memory by itself. Given pageable memory, the driver makes the caller wait: until it was read, or, on
 * the way to the host, until all before it in the stream is done. So on an asynchronous stream what goes to a device is first
 * copied into pinned memory of the stream's own, and the caller goes on; what comes from a device goes there, too, and a call
 * in the stream's order moves it on. Views with gaps are packed on the way. Copies larger than MOST go to the driver as they
 * are: they take so long that a second pass through memory would cost more than the wait.
 *
 * The stage is a ring of bytes. An event behind each use tells when its bytes are free again.
 */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* --- pinned memory --- */

static void unpin(void *user, void *raw) {
  CudaDevice *d = user;
  if (hdcu_enter(d, NULL) != HD_OK) return; /* it went with the context */
  d->driver->cuMemFreeHost(raw);
  hdcu_leave(d);
}

HdStatus hdcu_host_block_new(CudaDevice *d, size_t size, HdError *err, HdBlock **out) {
  size_t room = hdrt_block_room(size);
  void *raw = NULL;
  if (!room) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes of pinned memory", size);
  HD_TRY(hdcu_enter(d, err));
  CuResult code = d->driver->cuMemHostAlloc(&raw, room, CU_HOST_PORTABLE);
  hdcu_leave(d);
  if (code == CU_OUT_OF_MEMORY) {
    HdStatus status =
        hdb_fail(err, HD_ERR_NOMEM, d->name, "the driver could not pin %zu bytes of the host's memory", size);
    if (err) err->remedy = "free pinned arrays, or make plain ones: memory that is pinned is taken from all programs";
    return status;
  }
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuMemHostAlloc", NULL, err);
  *out = hdrt_block_in(raw, size, unpin, d);
  return HD_OK;
}

static bool is_pageable(const CudaDevice *d, const void *p) {
  unsigned type;
  return d->driver->cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, (CuPtr)(uintptr_t)p) != CU_SUCCESS;
}

/* --- the stage --- */

#define RING ((uint64_t)4 << 20)
#define MOST ((size_t)1 << 20)
enum { LINE = 256 };

static CuResult wait_oldest(const CudaDevice *d, CudaStage *g) {
  CuResult code = d->driver->cuEventSynchronize(g->use[g->first].done);
  if (code != CU_SUCCESS) return code;
  g->back = g->use[g->first].end;
  g->first = (g->first + 1) % CUDA_STAGED;
  g->count--;
  return code;
}

/* Memory and one event; false leaves the stage as it was. */
static bool open_use(const CudaDevice *d, CudaStage *g) {
  void *data = NULL;
  CuEvent *done = &g->use[(g->first + g->count) % CUDA_STAGED].done;
  if (!g->data && d->driver->cuMemHostAlloc(&data, RING, CU_HOST_PORTABLE) == CU_SUCCESS) g->data = data;
  if (!g->data) return false;
  if (!*done && d->driver->cuEventCreate(done, CU_EVENT_NO_TIMING) != CU_SUCCESS) *done = NULL;
  return *done != NULL;
}

/* `n` bytes of the ring, whole lines, once they are free; NULL: none can be had. */
static void *take(const CudaDevice *d, CudaStage *g, uint64_t n) {
  if (g->count == CUDA_STAGED && wait_oldest(d, g) != CU_SUCCESS) return NULL;
  if (!open_use(d, g)) return NULL;
  uint64_t at = g->given % RING + n > RING ? (g->given / RING + 1) * RING : g->given;
  while (g->count && at + n - g->back > RING)
    if (wait_oldest(d, g) != CU_SUCCESS) return NULL;
  if (!g->count) g->back = at;
  g->given = at + n;
  return g->data + at % RING;
}

/* Behind the work that uses what was taken last. */
static CuResult put_event(const CudaDevice *d, CuStream stream, CudaStage *g) {
  uint32_t i = (g->first + g->count) % CUDA_STAGED;
  CuResult code = d->driver->cuEventRecord(g->use[i].done, stream);
  if (code != CU_SUCCESS) return d->driver->cuStreamSynchronize(stream); /* its bytes are free, then */
  g->use[i].end = g->given;
  g->count++;
  return code;
}

void hdcu_stage_end(CudaDevice *d, CudaStage *g) {
  for (int i = 0; i < CUDA_STAGED; i++)
    if (g->use[i].done) d->driver->cuEventDestroy(g->use[i].done);
  if (g->data) d->driver->cuMemFreeHost(g->data);
  memset(g, 0, sizeof *g);
}

/* --- copies --- */

/* A copy on the host in a stream's order; stands in front of the bytes that it is about. */
typedef struct Transit {
  RtView from, to;
  uint64_t *fetched; /* counted then; or NULL */
} Transit;
enum { TRANSIT = (sizeof(Transit) + LINE - 1) / LINE * LINE };

/* On a thread of the driver's. */
static void pass(void *user) {
  const Transit *t = user;
  hdrt_view_copy(&t->from, &t->to);
  if (t->fetched) __atomic_fetch_add(t->fetched, 1, __ATOMIC_RELEASE);
}

static HdStatus pass_later(CudaDevice *d, CuStream stream, Transit *t, HdError *err) {
  CuResult code = d->driver->cuLaunchHostFunc(stream, pass, t);
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuLaunchHostFunc", NULL, err);
}

bool hdcu_is_fetching(const CudaDevice *d) { return __atomic_load_n(&d->fetched, __ATOMIC_ACQUIRE) != d->fetches; }

/* The elements of `v` behind each other at `data`. */
static RtView packed(const RtView *v, char *data) {
  RtView p = *v;
  int64_t step = 1;
  p.data = data;
  p.on = NULL;
  for (int32_t k = v->ndim - 1; k >= 0; k--) {
    p.stride[k] = step;
    step *= v->length[k];
  }
  return p;
}

/* Read in the order of the stream. */
static HdStatus send_later(CudaDevice *d, CuStream stream, Transit *t, const RtView *to, HdError *err) {
  HD_TRY(pass_later(d, stream, t, err));
  return hdcu_copy(d, stream, NULL, &t->to, to, err);
}

/* What is to be sent may be what is yet to come from a device, earlier in the order of the streams: then it is read in that
 * order too, not now. */
static HdStatus send(CudaDevice *d, CuStream stream, void *at, const RtView *from, const RtView *to, HdError *err) {
  Transit *t = at;
  *t = (Transit){*from, packed(from, (char *)at + TRANSIT), NULL};
  if (hdcu_is_fetching(d)) return send_later(d, stream, t, to, err);
  hdrt_view_copy(&t->from, &t->to);
  return hdcu_copy(d, stream, NULL, &t->to, to, err);
}

static HdStatus fetch(CudaDevice *d, CuStream stream, void *at, const RtView *from, const RtView *to, HdError *err) {
  Transit *t = at;
  *t = (Transit){packed(from, (char *)at + TRANSIT), *to, &d->fetched};
  HD_TRY(hdcu_copy(d, stream, NULL, from, &t->from, err));
  return pass_later(d, stream, t, err);
}

/* Bytes of a view's elements; 0 if there are none, or more than can be. */
static size_t bytes_of(const RtView *v) {
  size_t size = v->elem;
  for (int32_t k = 0; k < v->ndim; k++)
    if (__builtin_mul_overflow(size, (size_t)v->length[k], &size)) return 0;
  return size;
}

size_t hdcu_staged(const CudaDevice *d, const RtView *from, const RtView *to) {
  const RtView *host = !from->on ? from : to;
  size_t size = bytes_of(host);
  if (host->on || (!from->on && !to->on) || size == 0 || !is_pageable(d, host->data)) return 0;
  return (TRANSIT + size + LINE - 1) / LINE * LINE;
}

HdStatus hdcu_staged_copy(CudaDevice *d, CuStream stream, void *at, const RtView *from, const RtView *to,
                          HdError *err) {
  Transit *t = at;
  RtView f = *from, v = *to;
  hdcu_face_forward(&f, &v); /* before it is packed, so that what is packed goes forward too */
  if (f.on) return fetch(d, stream, at, &f, &v, err);
  *t = (Transit){f, packed(&f, (char *)at + TRANSIT), NULL};
  return send_later(d, stream, t, &v, err);
}

HdStatus hdcu_stage_copy(CudaDevice *d, CuStream stream, CudaStage *g, const RtView *from, const RtView *to,
                         HdError *err, bool *taken) {
  size_t size = hdcu_staged(d, from, to);
  *taken = false;
  if (size == 0) return HD_OK;
  void *at = size <= TRANSIT + MOST ? take(d, g, size) : NULL;
  if (!at) { /* the driver reads it now, so what is yet to come must have come */
    CuResult code = !from->on && hdcu_is_fetching(d) ? d->driver->cuCtxSynchronize() : CU_SUCCESS;
    return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, "cuCtxSynchronize", NULL, err);
  }
  *taken = true;
  HdStatus status = from->on ? fetch(d, stream, at, from, to, err) : send(d, stream, at, from, to, err);
  if (status == HD_OK && from->on) d->fetches++;
  CuResult code = put_event(d, stream, g);
  if (status == HD_OK && code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuStreamSynchronize", NULL, err);
  return status;
}
