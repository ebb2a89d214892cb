/* runtime/cuda/cuda_stream.c -- launches and copies in a stream of the driver's, and what their failures say.
 *
 * A kernel that has asserts or checks gets a record of its own in the device's memory for each launch, so that a fault
 * names its kernel; the records are read back when the stream is waited for. A failure of the device itself comes with a
 * later call, which may be any: the record then names the kernels that were launched since the last wait.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "runtime/cuda/cuda_device.h"

enum { SLOTS = CUDA_SLOTS, RECENT = CUDA_RECENT };

typedef struct CudaStream {
  RtStream base;
  CudaOrder order;           /* with the driver's handle                         */
  CudaStage stage;           /* of an asynchronous one                           */
  CudaBlock *faults;         /* RtGpuFault[SLOTS]; NULL until a kernel wants one */
  const RtCode *slot[SLOTS]; /* whose record it is                               */
  int32_t ndim[SLOTS];
  int64_t dim[SLOTS][HD_MAX_DIMS];
  CudaBlock *printed; /* an RtGpuPrinted and the device's print_room; NULL until a kernel prints */
  bool prints;        /* a kernel that was launched since the last wait                   */
  int32_t used;
  char recent[RECENT][40]; /* kernels launched since the last wait, a ring     */
  uint32_t launched;       /* how many                                         */
  RtFaultCopy fault;       /* found, and not yet reported                      */
} CudaStream;

static CudaDevice *device_of(const CudaStream *s) { return (CudaDevice *)s->base.device; }
/* A synchronous stream waits anyway. */
static CudaStage *stage_of(CudaStream *s) { return s->base.async ? &s->stage : NULL; }

/* --- failures --- */

/* "launched since the last wait: 'a', 'b' and 3 more" */
static const char *suspects(const CudaStream *s, char *out, size_t size) {
  uint32_t shown = s->launched < RECENT ? s->launched : RECENT;
  size_t n = (size_t)snprintf(
      out, size, s->launched ? "launched since the last wait:" : "nothing was launched since the last wait");
  for (uint32_t i = 0; i < shown && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, "%s '%s'", i ? "," : "", s->recent[(s->launched - 1 - i) % RECENT]);
  if (s->launched > shown && n < size) snprintf(out + n, size - n, " and %u more", s->launched - shown);
  return out;
}

static HdStatus fail(CudaStream *s, CuResult code, const char *call, HdError *err) {
  char text[300];
  return hdcu_device_fail(device_of(s), code, call, suspects(s, text, sizeof text), err);
}

/* --- faults of kernels --- */

static void copy_text(char *to, size_t size, const char *from) {
  size_t n = from ? strnlen(from, size - 1) : 0;
  if (n) memcpy(to, from, n);
  to[n] = 0;
}

static void keep_fault(CudaStream *s, int32_t i, const RtGpuFault *f) {
  const CudaCode *c = s->slot[i]->own;
  RtFaultCopy r;
  memset(&r, 0, sizeof r);
  r.status = HD_ERR_FAULT;
  copy_text(r.kernel, sizeof r.kernel, s->slot[i]->kernel);
  if (f->site >= 0 && (uint32_t)f->site < c->nsites) {
    const RtSite *site = &c->sites[f->site];
    copy_text(r.text, sizeof r.text, site->text);
    copy_text(r.file, sizeof r.file, site->file);
    r.line = site->line;
    r.column = site->column;
  }
  r.ndim = s->ndim[i];
  r.has_index = f->has_index != 0;
  r.index = f->index;
  r.limit = f->limit;
  memcpy(r.tid, f->tid, sizeof r.tid);
  s->fault = r;
}

/* Records that cannot be cleared are given up: they would tell of faults that were not, or were told. */
static HdStatus clear_records(CudaStream *s, size_t bytes, HdError *err) {
  CuResult code = device_of(s)->driver->cuMemsetD8Async(s->faults->data, 0, bytes, s->order.handle);
  if (code == CU_SUCCESS) return HD_OK;
  hdcu_block_free(&s->order, s->faults);
  s->faults = NULL;
  return fail(s, code, "cuMemsetD8Async", err);
}

/* --- what kernels print --- */

/* Its records are in the order of the launches: the stream did one after the other. */
static void read_records(CudaStream *s, const char *at, uint64_t size) {
  int64_t last = -1;
  while (size >= sizeof(RtGpuPrint)) {
    const RtGpuPrint *r = (const RtGpuPrint *)at;
    if (r->site == 0 || r->launch >= (uint32_t)s->used) break;
    const CudaCode *c = s->slot[r->launch]->own;
    if (r->site > c->nsites) break;
    const char *format = c->sites[r->site - 1].text;
    uint32_t n = hdb_conversions(format);
    uint64_t bytes = sizeof *r + 8 * (uint64_t)n;
    if (bytes > size) break;
    int64_t thread = 0;
    for (int32_t k = 0; k < HD_MAX_DIMS; k++) thread = thread * s->dim[r->launch][k] + r->tid[k];
    if (last >= 0 && last != r->launch) hdrt_printer_launch_ends(&s->base.printer);
    last = r->launch;
    hdrt_printer_add(&s->base.printer, thread, format, n, (const uint64_t *)(r + 1));
    at += bytes;
    size -= bytes;
  }
  hdrt_printer_launch_ends(&s->base.printer);
}

/* All work is done: take the records. */
static HdStatus take_prints(CudaStream *s, HdError *err) {
  const CuDriver *cu = device_of(s)->driver;
  const HdAllocator *mem = device_of(s)->base.mem;
  RtGpuPrinted head;
  CuPtr from = s->printed->data;
  s->prints = false;
  CuResult code = cu->cuMemcpyDtoHAsync(&head, from, sizeof head, s->order.handle);
  if (code != CU_SUCCESS) return fail(s, code, "cuMemcpyDtoHAsync", err);
  code = cu->cuStreamSynchronize(s->order.handle);
  if (code != CU_SUCCESS) return fail(s, code, "cuStreamSynchronize", err);
  if (head.used == 0) return HD_OK;
  size_t room = device_of(s)->print_room, size = head.used < room ? (size_t)head.used : room;
  char *records = mem->resize(mem->user, NULL, 0, size);
  if (!records) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for what kernels printed", size);
  code = cu->cuMemcpyDtoHAsync(records, from + sizeof head, size, s->order.handle);
  if (code == CU_SUCCESS) code = cu->cuMemsetD8Async(from, 0, sizeof head + size, s->order.handle);
  if (code == CU_SUCCESS) code = cu->cuStreamSynchronize(s->order.handle);
  if (code == CU_SUCCESS) {
    read_records(s, records, size);
    s->base.printer.lost += (int64_t)head.lost;
  }
  mem->resize(mem->user, records, size, 0);
  return code == CU_SUCCESS ? HD_OK : fail(s, code, "cuMemcpyDtoHAsync", err);
}

static HdStatus make_printed(CudaStream *s, HdError *err) {
  CudaDevice *d = device_of(s);
  size_t size = sizeof(RtGpuPrinted) + d->print_room;
  s->prints = true;
  if (s->printed) return HD_OK;
  HD_TRY(hdcu_block_new(d, &s->order, size, err, &s->printed));
  CuResult code = d->driver->cuMemsetD8Async(s->printed->data, 0, size, s->order.handle);
  if (code == CU_SUCCESS) return HD_OK;
  hdcu_block_free(&s->order, s->printed);
  s->printed = NULL;
  s->prints = false;
  return fail(s, code, "cuMemsetD8Async", err);
}

/* Wait, and look through the records that were handed out. */
static HdStatus collect(CudaStream *s, HdError *err) {
  const CuDriver *cu = device_of(s)->driver;
  RtGpuFault f[SLOTS];
  size_t bytes = (size_t)s->used * sizeof *f;
  CuResult code = bytes ? cu->cuMemcpyDtoHAsync(f, s->faults->data, bytes, s->order.handle) : CU_SUCCESS;
  if (code != CU_SUCCESS) return fail(s, code, "cuMemcpyDtoHAsync", err);
  code = cu->cuStreamSynchronize(s->order.handle);
  if (code != CU_SUCCESS) return fail(s, code, "cuStreamSynchronize", err);
  for (int32_t i = 0; i < s->used; i++)
    if (f[i].state && s->fault.status == HD_OK) keep_fault(s, i, &f[i]);
  HdStatus printed = s->prints ? take_prints(s, err) : HD_OK;
  s->used = 0;
  s->launched = 0;
  HD_TRY(bytes ? clear_records(s, bytes, err) : HD_OK);
  return printed;
}

/* Room for `n` more records. */
static HdStatus make_slots(CudaStream *s, int32_t n, HdError *err) {
  CudaDevice *d = device_of(s);
  if (!s->faults) {
    HD_TRY(hdcu_block_new(d, &s->order, SLOTS * sizeof(RtGpuFault), err, &s->faults));
    HD_TRY(clear_records(s, SLOTS * sizeof(RtGpuFault), err));
  }
  return s->used + n > SLOTS ? collect(s, err) : HD_OK;
}

static CuPtr use_slot(CudaStream *s, const RtLaunch *l) {
  s->slot[s->used] = l->code;
  s->ndim[s->used] = l->ndim;
  memcpy(s->dim[s->used], l->dim, sizeof s->dim[0]);
  return s->faults->data + (CuPtr)s->used++ * sizeof(RtGpuFault);
}

/* --- launches --- */

static void remember(CudaStream *s, const RtLaunch *l) {
  copy_text(s->recent[s->launched++ % RECENT], sizeof s->recent[0], l->code->kernel);
}

static HdStatus launch(CudaStream *s, const RtLaunch *l, HdError *err) {
  const CudaCode *c = l->code->own;
  RtGpuPrinting printing = {0};
  CuPtr fault = 0;
  if (c->nsites) {
    HD_TRY(make_slots(s, 1, err));
    if (c->prints) {
      HD_TRY(make_printed(s, err));
      printing = (RtGpuPrinting){s->printed->data, device_of(s)->print_room, (uint64_t)s->used};
    }
    fault = use_slot(s, l);
  }
  remember(s, l);
  return hdcu_launch(device_of(s), s->order.handle, l, fault, &printing, err);
}

/* --- the stream's functions --- */

/* On a synchronous stream the work is done on return. */
static HdStatus finish(CudaStream *s, HdStatus status, HdError *err) {
  if (status == HD_OK && !s->base.async) status = collect(s, err);
  s->base.faulted = !s->base.async && s->fault.status != HD_OK;
  hdcu_leave(device_of(s));
  return status;
}

static HdStatus cuda_launch(RtStream *base, const RtLaunch *l, size_t args_size, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  (void)args_size; /* the driver copies what the entry's signature says */
  HD_TRY(hdcu_enter(device_of(s), err));
  return finish(s, launch(s, l, err), err);
}

static HdStatus cuda_copy(RtStream *base, const RtView *from, const RtView *to, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  HD_TRY(hdcu_enter(device_of(s), err));
  return finish(s, hdcu_copy(device_of(s), s->order.handle, stage_of(s), from, to, err), err);
}

static HdStatus cuda_clear(RtStream *base, const RtView *v, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  HD_TRY(hdcu_enter(device_of(s), err));
  return finish(s, hdcu_clear(device_of(s), s->order.handle, v, err), err);
}

/* The records of a graph's launches become the stream's own, so that the graph can be launched again. */
static HdStatus take_records(CudaStream *s, const RtGraph *g, CudaGraph *c, HdError *err) {
  const CuDriver *cu = device_of(s)->driver;
  size_t bytes = (size_t)c->nfaults * sizeof(RtGpuFault);
  CuPtr to = s->faults->data + (CuPtr)s->used * sizeof(RtGpuFault);
  CuResult code = cu->cuMemcpyDtoDAsync(to, c->faults->data, bytes, s->order.handle);
  if (code != CU_SUCCESS) return fail(s, code, "cuMemcpyDtoDAsync", err);
  for (int32_t i = 0; i < g->count; i++) {
    const RtNode *n = &g->nodes[i];
    if (n->kind == RT_NODE_LAUNCH && ((const CudaCode *)n->launch.code->own)->nsites) use_slot(s, &n->launch);
  }
  code = cu->cuMemsetD8Async(c->faults->data, 0, bytes, s->order.handle);
  if (code == CU_SUCCESS) return HD_OK;
  c->refused = true; /* its records would tell of these faults again */
  return fail(s, code, "cuMemsetD8Async", err);
}

static HdStatus do_whole(CudaStream *s, const RtGraph *g, CudaGraph *c, HdError *err) {
  if (c->nfaults) HD_TRY(make_slots(s, c->nfaults, err));
  if (c->launches > RECENT) s->launched += (uint32_t)(c->launches - RECENT);
  for (int32_t i = c->tail; i < g->count; i++)
    if (g->nodes[i].kind == RT_NODE_LAUNCH) remember(s, &g->nodes[i].launch);
  HD_TRY(hdcu_graph_launch(device_of(s), c, &s->order, err));
  return c->nfaults ? take_records(s, g, c, err) : HD_OK;
}

/* Piece by piece: the driver queues them as they come. */
static HdStatus do_pieces(CudaStream *s, const RtGraph *g, HdError *err) {
  for (int32_t i = 0; i < g->count; i++) {
    const RtNode *n = &g->nodes[i];
    switch (n->kind) {
    case RT_NODE_LAUNCH: HD_TRY(launch(s, &n->launch, err)); break;
    case RT_NODE_COPY:
      HD_TRY(hdcu_copy(device_of(s), s->order.handle, stage_of(s), &n->view[0], &n->view[1], err));
      break;
    case RT_NODE_CLEAR: HD_TRY(hdcu_clear(device_of(s), s->order.handle, &n->view[0], err)); break;
    }
  }
  return HD_OK;
}

static HdStatus graph(CudaStream *s, RtGraph *g, HdError *err) {
  CudaGraph *c;
  HD_TRY(hdcu_graph_begin(device_of(s), g, &s->order, err, &c));
  HdStatus status = c->exec && !c->refused ? do_whole(s, g, c, err) : do_pieces(s, g, err);
  CuResult code = hdcu_graph_done(device_of(s), c, &s->order);
  return status == HD_OK && code != CU_SUCCESS ? fail(s, code, "cuEventRecord", err) : status;
}

static HdStatus cuda_graph(RtStream *base, RtGraph *g, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  HD_TRY(hdcu_enter(device_of(s), err));
  return finish(s, graph(s, g, err), err);
}

static HdStatus cuda_record(RtStream *base, RtEvent *e, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  CudaEvent *event = (CudaEvent *)e;
  HD_TRY(hdcu_enter(device_of(s), err));
  CuResult code = device_of(s)->driver->cuEventRecord(event->handle, s->order.handle);
  HdStatus status = code == CU_SUCCESS ? HD_OK : fail(s, code, "cuEventRecord", err);
  if (status == HD_OK) event->recorded = true;
  hdcu_leave(device_of(s));
  return status;
}

static HdStatus cuda_await(RtStream *base, RtEvent *e, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  const CuDriver *cu = device_of(s)->driver;
  CudaEvent *event = (CudaEvent *)e;
  /* Only the other device knows what is on its way from there to the host. */
  bool wait = !base->async || (e->device != base->device && hdcu_is_fetching((CudaDevice *)e->device));
  HD_TRY(hdcu_enter(device_of(s), err));
  CuResult code =
      wait ? cu->cuEventSynchronize(event->handle) : cu->cuStreamWaitEvent(s->order.handle, event->handle, 0);
  HdStatus status = code == CU_SUCCESS ? HD_OK : fail(s, code, wait ? "cuEventSynchronize" : "cuStreamWaitEvent", err);
  hdcu_leave(device_of(s));
  return status;
}

static HdStatus cuda_wait(RtStream *base, RtFaultCopy *fault, HdError *err) {
  CudaStream *s = (CudaStream *)base;
  fault->status = HD_OK;
  HD_TRY(hdcu_enter(device_of(s), err));
  HdStatus status = collect(s, err);
  hdcu_leave(device_of(s));
  *fault = s->fault;
  s->fault.status = HD_OK;
  base->faulted = false;
  return fault->status != HD_OK ? fault->status : status;
}

/* --- memory --- */

static HdStatus cuda_alloc(RtStream *base, size_t size, HdError *err, HdBlock **out, void **data) {
  CudaStream *s = (CudaStream *)base;
  CudaBlock *b = NULL;
  HD_TRY(hdcu_enter(device_of(s), err));
  HdStatus status = hdcu_block_new(device_of(s), &s->order, size, err, &b);
  hdcu_leave(device_of(s));
  HD_TRY(status);
  *out = (HdBlock *)b;
  *data = (void *)(uintptr_t)b->data;
  return HD_OK;
}

static void cuda_release(RtStream *base, HdBlock *b) {
  CudaStream *s = (CudaStream *)base;
  CudaBlock *block = (CudaBlock *)b;
  bool ours = block->of == device_of(s);
  /* Another context counts streams by itself. */
  if (!ours && hdcu_enter(device_of(s), NULL) == HD_OK) {
    device_of(s)->driver->cuStreamSynchronize(s->order.handle);
    hdcu_leave(device_of(s));
  }
  hdcu_block_free(ours ? &s->order : NULL, block);
}

/* --- life --- */

static void cuda_stream_free(RtStream *base) {
  CudaStream *s = (CudaStream *)base;
  CudaDevice *d = device_of(s);
  if (hdcu_enter(d, NULL) == HD_OK) {
    d->driver->cuStreamSynchronize(s->order.handle);
    hdcu_stage_end(d, &s->stage);
    d->driver->cuStreamDestroy(s->order.handle);
    hdcu_leave(d);
  }
  hdcu_block_free(NULL, s->faults);
  hdcu_block_free(NULL, s->printed);
  hdrt_printer_end(&base->printer);
  d->base.mem->resize(d->base.mem->user, s, sizeof *s, 0);
}

static const RtStreamOps cuda_stream_ops = {cuda_stream_free, cuda_launch, cuda_copy, cuda_clear, cuda_graph,
                                            cuda_record,      cuda_await,  cuda_wait, cuda_alloc, cuda_release};

HdStatus hdcu_stream_new(RtDevice *base, bool async, HdError *err, RtStream **out) {
  CudaDevice *d = (CudaDevice *)base;
  CudaStream *s = base->mem->resize(base->mem->user, NULL, 0, sizeof *s);
  if (!s) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for a stream", sizeof *s);
  memset(s, 0, sizeof *s);
  s->base = (RtStream){.ops = &cuda_stream_ops, .device = base, .async = async};
  hdrt_printer_init(&s->base.printer);
  HdStatus status = hdcu_enter(d, err);
  if (status == HD_OK) {
    CuResult code = d->driver->cuStreamCreate(&s->order.handle, CU_STREAM_NON_BLOCKING);
    s->order.number = ++d->streams;
    if (code != CU_SUCCESS) status = hdcu_device_fail(d, code, "cuStreamCreate", NULL, err);
    hdcu_leave(d);
  }
  if (status == HD_OK) {
    *out = &s->base;
  } else {
    hdrt_printer_end(&s->base.printer);
    base->mem->resize(base->mem->user, s, sizeof *s, 0);
  }
  return status;
}
