/* runtime/cuda/cuda_graph.c -- kept work as a graph of the driver's.
 *
 * The first time that a graph is launched its pieces are given to a stream that captures them, and what was captured is
 * instantiated; from then on it is launched as a whole. Other arguments go to the launch's node in place; where the driver
 * does not take that (another variant of the code, a launch of several calls), the graph is captured anew.
 *
 * A fault needs a record for each launch at an address that stays: the graph has its own. Pageable memory goes through pinned
 * memory of the graph's, with calls on the host in the order of the graph.
 *
 * Whatever goes wrong on the way, the pieces can still be given one by one; then that is done, for this graph, from then on.
 */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

#define MOST_STAGED ((size_t)64 << 20)

static bool has_graphs(const CuDriver *cu) {
  return cu->cuStreamBeginCapture && cu->cuStreamEndCapture && cu->cuGraphInstantiateWithFlags && cu->cuGraphDestroy &&
         cu->cuGraphExecDestroy && cu->cuGraphLaunch;
}

/* --- its life --- */

static void drop_exec(CudaDevice *d, CudaGraph *c) {
  if (c->exec) d->driver->cuGraphExecDestroy(c->exec);
  if (c->graph) d->driver->cuGraphDestroy(c->graph);
  c->exec = NULL;
  c->graph = NULL;
}

static void end(RtGraph *g) {
  CudaDevice *d = (CudaDevice *)g->device;
  CudaGraph *c = g->own;
  const HdAllocator *mem = d->base.mem;
  if (hdcu_enter(d, NULL) == HD_OK) {
    if (c->done) {
      d->driver->cuEventSynchronize(c->done);
      d->driver->cuEventDestroy(c->done);
    }
    drop_exec(d, c);
    hdcu_leave(d);
  }
  hdcu_block_free(NULL, c->faults);
  hdrt_block_free(c->stage);
  if (c->piece) mem->resize(mem->user, c->piece, (size_t)c->count * sizeof *c->piece, 0);
  mem->resize(mem->user, c, sizeof *c, 0);
}

static bool wants_fault(const RtNode *n) {
  return n->kind == RT_NODE_LAUNCH && ((const CudaCode *)n->launch.code->own)->nsites > 0;
}

/* Room for all that stays where it is; false if there is none. */
static bool make_room(CudaDevice *d, const RtGraph *g, CudaGraph *c) {
  const HdAllocator *mem = d->base.mem;
  size_t staged = 0;
  int32_t nfaults = 0;
  if (!c->piece) c->piece = mem->resize(mem->user, NULL, 0, (size_t)g->count * sizeof *c->piece);
  if (!c->piece) return false;
  c->count = g->count;
  for (int32_t i = 0; i < g->count; i++) {
    const RtNode *n = &g->nodes[i];
    size_t size = n->kind == RT_NODE_COPY ? hdcu_staged(d, &n->view[0], &n->view[1]) : 0;
    if (n->kind == RT_NODE_LAUNCH && ((const CudaCode *)n->launch.code->own)->prints) return false; /* by its number */
    c->piece[i] = (CudaPiece){NULL, size, wants_fault(n) ? nfaults++ : -1};
    staged += c->piece[i].staged;
    if (staged > MOST_STAGED) return false;
  }
  if (nfaults > CUDA_SLOTS) return false;
  if (staged && !c->stage && hdcu_host_block_new(d, staged, NULL, &c->stage) != HD_OK) return false;
  if (nfaults == c->nfaults) return true;
  hdcu_block_free(NULL, c->faults);
  c->faults = NULL;
  c->nfaults = 0;
  if (nfaults == 0) return true;
  if (hdcu_block_new(d, NULL, (size_t)nfaults * sizeof(RtGpuFault), NULL, &c->faults) != HD_OK) return false;
  c->nfaults = nfaults;
  return d->driver->cuMemsetD8Async(c->faults->data, 0, (size_t)nfaults * sizeof(RtGpuFault), d->home) == CU_SUCCESS &&
         d->driver->cuStreamSynchronize(d->home) == CU_SUCCESS;
}

/* The address of a launch's record, or 0. */
static CuPtr record_of(const CudaGraph *c, int32_t i) {
  int32_t k = c->piece[i].fault;
  return k < 0 ? 0 : c->faults->data + (CuPtr)k * sizeof(RtGpuFault);
}

/* --- capture --- */

/* The node that was captured last, if the driver tells. */
static CuGraphNode last_node(const CudaDevice *d, CuStream stream) {
  int status = 0;
  uint64_t id;
  CuGraph graph;
  const CuGraphNode *last = NULL;
  size_t n = 0;
  if (!d->driver->cuStreamGetCaptureInfo || !d->driver->cuGraphExecKernelNodeSetParams) return NULL;
  if (d->driver->cuStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &n) != CU_SUCCESS) return NULL;
  return n == 1 ? last[0] : NULL;
}

static HdStatus give_pieces(CudaDevice *d, CuStream stream, const RtGraph *g, CudaGraph *c) {
  char *stage = c->stage ? hdrt_block_data(c->stage) : NULL;
  CudaCall call;
  c->fetches = c->launches = 0;
  for (int32_t i = 0; i < g->count; i++) {
    const RtNode *n = &g->nodes[i];
    switch (n->kind) {
    case RT_NODE_LAUNCH:
      HD_TRY(hdcu_launch(d, stream, &n->launch, record_of(c, i), NULL, NULL));
      if (hdcu_launch_call(&n->launch, 0, &call)) c->piece[i].node = last_node(d, stream);
      c->launches++;
      break;
    case RT_NODE_COPY:
      if (c->piece[i].staged) {
        HD_TRY(hdcu_staged_copy(d, stream, stage, &n->view[0], &n->view[1], NULL));
        stage += c->piece[i].staged;
        c->fetches += n->view[0].on != NULL;
      } else {
        HD_TRY(hdcu_copy(d, stream, NULL, &n->view[0], &n->view[1], NULL));
      }
      break;
    case RT_NODE_CLEAR: HD_TRY(hdcu_clear(d, stream, &n->view[0], NULL)); break;
    }
  }
  c->tail = g->count;
  for (int32_t left = CUDA_RECENT; left && c->tail > 0;) left -= g->nodes[--c->tail].kind == RT_NODE_LAUNCH;
  return HD_OK;
}

/* Capturing forbids calls that wait, so what waits the first time is done before. */
static void ask_peers(CudaDevice *d, const RtGraph *g) {
  for (int32_t i = 0; i < g->count; i++) {
    const RtView *v = g->nodes[i].view;
    if (g->nodes[i].kind != RT_NODE_COPY) continue;
    for (int k = 0; k < 2; k++)
      if (v[k].on && v[k].on != g->device && v[k].on->ops == &hdcu_ops) hdcu_peer(d, (CudaDevice *)v[k].on);
  }
}

static void capture(CudaDevice *d, const RtGraph *g, CudaGraph *c) {
  const CuDriver *cu = d->driver;
  CuStream stream;
  ask_peers(d, g);
  if (!make_room(d, g, c)) return;
  if (cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CU_SUCCESS) return;
  if (cu->cuStreamBeginCapture(stream, CU_CAPTURE_THREAD_LOCAL) == CU_SUCCESS) {
    bool whole = give_pieces(d, stream, g, c) == HD_OK;
    if (cu->cuStreamEndCapture(stream, &c->graph) != CU_SUCCESS) c->graph = NULL;
    whole = whole && c->graph && cu->cuGraphInstantiateWithFlags(&c->exec, c->graph, 0) == CU_SUCCESS;
    if (!whole) {
      c->exec = NULL;
      drop_exec(d, c);
    }
  }
  cu->cuStreamDestroy(stream);
}

/* --- other arguments --- */

/* In place; false if the driver wants to be given all of it again. */
static bool update(CudaDevice *d, RtGraph *g, CudaGraph *c) {
  for (int32_t i = 0; i < g->count; i++) {
    RtNode *n = &g->nodes[i];
    CudaCall call;
    if (!n->changed) continue;
    void *params[] = {(void *)n->launch.args, &call.g};
    bool same =
        wants_fault(n) == (c->piece[i].fault >= 0); /* another variant may have asserts where the old had none */
    if (!same || !c->piece[i].node || !hdcu_launch_call(&n->launch, record_of(c, i), &call)) return false;
    CuKernelNode k = {call.function, {call.blocks, call.repeat, 1}, {call.block, 1, 1}, call.shared, params, NULL};
    if (d->driver->cuGraphExecKernelNodeSetParams(c->exec, c->piece[i].node, &k) != CU_SUCCESS) return false;
    n->changed = false;
  }
  return true;
}

static void forget_changes(RtGraph *g) {
  for (int32_t i = 0; i < g->count; i++) g->nodes[i].changed = false;
  g->changed = false;
}

/* --- as a whole --- */

static CudaGraph *made(CudaDevice *d, RtGraph *g) {
  const HdAllocator *mem = d->base.mem;
  if (g->own) return g->own;
  CudaGraph *c = mem->resize(mem->user, NULL, 0, sizeof *c);
  if (!c) return NULL;
  memset(c, 0, sizeof *c);
  c->refused = !has_graphs(d->driver);
  g->own = c;
  g->end = end;
  return c;
}

static void make_whole(CudaDevice *d, RtGraph *g, CudaGraph *c) {
  if (c->exec && g->changed && !update(d, g, c)) {
    if (c->done) d->driver->cuEventSynchronize(c->done);
    drop_exec(d, c);
  }
  if (!c->exec) capture(d, g, c);
  forget_changes(g);
  c->refused = !c->exec;
}

HdStatus hdcu_graph_begin(CudaDevice *d, RtGraph *g, const CudaOrder *order, HdError *err, CudaGraph **out) {
  const CuDriver *cu = d->driver;
  CuResult code = CU_SUCCESS;
  CudaGraph *c = made(d, g);
  if (!c) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for a graph", sizeof *c);
  if (!c->refused && g->count) make_whole(d, g, c);
  if (!c->done && (code = cu->cuEventCreate(&c->done, CU_EVENT_NO_TIMING)) != CU_SUCCESS) {
    c->done = NULL;
    return hdcu_device_fail(d, code, "cuEventCreate", NULL, err);
  }
  if (c->by && c->by != order->number && (code = cu->cuStreamWaitEvent(order->handle, c->done, 0)) != CU_SUCCESS)
    return hdcu_device_fail(d, code, "cuStreamWaitEvent", NULL, err);
  *out = c;
  return HD_OK;
}

HdStatus hdcu_graph_launch(CudaDevice *d, CudaGraph *c, const CudaOrder *order, HdError *err) {
  CuResult code = d->driver->cuGraphLaunch(c->exec, order->handle);
  if (code != CU_SUCCESS) return hdcu_device_fail(d, code, "cuGraphLaunch", NULL, err);
  d->fetches += (uint64_t)c->fetches;
  return HD_OK;
}

CuResult hdcu_graph_done(CudaDevice *d, CudaGraph *c, const CudaOrder *order) {
  c->by = order->number;
  return d->driver->cuEventRecord(c->done, order->handle);
}
