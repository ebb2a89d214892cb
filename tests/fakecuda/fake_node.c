/* tests/fakecuda/fake_node.c -- adding nodes to graphs, and what they do. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- the work of a node --- */

static int kernel_op(FkContext *c, const CuKernelNode *k, FkOp **out) {
  if (k->context && !(c = fk_context(k->context))) return CU_INVALID_CONTEXT;
  FkShape s = {{k->gx, k->gy, k->gz}, {k->bx, k->by, k->bz}, k->shared, false};
  int code = fk_launch_op(c, k->function, &s, k->params, k->extra, out);
  return code == CU_INVALID_HANDLE ? CU_INVALID_VALUE : code;
}

static int copy_op(const CuCopy3D *c, FkOp **out) {
  FkOp shape;
  int code = fk_copy_shape(c, &shape);
  if (code) return code;
  if (!shape.width || !shape.height || !shape.depth) return CU_INVALID_VALUE;
  return fk_copy_op(&shape, c->to_kind, c->from_kind, out);
}

static int set_op(const CuSetNode *s, FkOp **out) {
  if ((s->bytes != 1 && s->bytes != 2 && s->bytes != 4) || !s->width || !s->height) return CU_INVALID_VALUE;
  return fk_set_op(s->to, s->pitch, s->value, s->bytes, s->width, s->height, out);
}

static int host_op(const CuHostNode *h, FkOp **out) {
  if (!h->call) return CU_INVALID_VALUE;
  *out = fk_op(FK_CALL);
  (*out)->call = h->call, (*out)->user = h->user;
  return CU_OK;
}

int fk_node_op(const FkNodeParams *p, FkOp **out) {
  if (p->kernel) return kernel_op(p->context, p->kernel, out);
  if (p->copy) return copy_op(p->copy, out);
  if (p->set) return set_op(p->set, out);
  return p->host ? host_op(p->host, out) : CU_INVALID_VALUE;
}

static CuKernelNode of_v1(const CuKernelNodeV1 *p) {
  CuKernelNode k = {0};
  memcpy(&k, p, sizeof *p);
  return k;
}

/* --- adding --- */

/* Each once, and all of this graph. */
static bool deps_right(const FkGraph *g, void *const *deps, size_t n) {
  if (n && !deps) return false;
  for (size_t k = 0; k < n; k++) {
    const FkNode *node = fk_node(deps[k]);
    if (!node || node->graph != g) return false;
    for (size_t j = 0; j < k; j++)
      if (deps[j] == deps[k]) return false;
  }
  return true;
}

#define ENTER_ADD()                                                                                                    \
  ENTER_CONTEXT();                                                                                                     \
  FkGraph *g = fk_graph(graph);                                                                                        \
  if (!g || !out || !deps_right(g, deps, n)) return CU_INVALID_VALUE

static int add_work(FkGraph *g, void **out, FkNodeType type, void *const *deps, size_t n, const FkNodeParams *p) {
  FkOp *op;
  int code = fk_node_op(p, &op);
  if (!code) *out = fk_node_new(g, type, op, (FkNode *const *)deps, (uint32_t)n);
  return code;
}

FK_API int cuGraphAddKernelNode_v2(void **out, void *graph, void *const *deps, size_t n, const CuKernelNode *p) {
  ENTER_ADD();
  return add_work(g, out, NODE_KERNEL, deps, n, &(FkNodeParams){.context = ctx, .kernel = p});
}
FK_API int cuGraphAddKernelNode(void **out, void *graph, void *const *deps, size_t n, const CuKernelNodeV1 *p) {
  ENTER_ADD();
  if (!p) return CU_INVALID_VALUE;
  CuKernelNode k = of_v1(p);
  return add_work(g, out, NODE_KERNEL, deps, n, &(FkNodeParams){.context = ctx, .kernel = &k});
}
FK_API int cuGraphAddMemcpyNode(void **out, void *graph, void *const *deps, size_t n, const CuCopy3D *p,
                                void *context) {
  ENTER_ADD();
  if (!fk_context(context)) return CU_INVALID_CONTEXT;
  return add_work(g, out, NODE_COPY, deps, n, &(FkNodeParams){.context = ctx, .copy = p});
}
FK_API int cuGraphAddMemsetNode(void **out, void *graph, void *const *deps, size_t n, const CuSetNode *p,
                                void *context) {
  ENTER_ADD();
  if (!fk_context(context)) return CU_INVALID_CONTEXT;
  return add_work(g, out, NODE_SET, deps, n, &(FkNodeParams){.context = ctx, .set = p});
}
FK_API int cuGraphAddHostNode(void **out, void *graph, void *const *deps, size_t n, const CuHostNode *p) {
  ENTER_ADD();
  return add_work(g, out, NODE_HOST, deps, n, &(FkNodeParams){.context = ctx, .host = p});
}
FK_API int cuGraphAddEmptyNode(void **out, void *graph, void *const *deps, size_t n) {
  ENTER_ADD();
  *out = fk_node_new(g, NODE_EMPTY, NULL, (FkNode *const *)deps, (uint32_t)n);
  return CU_OK;
}
FK_API int cuGraphAddChildGraphNode(void **out, void *graph, void *const *deps, size_t n, void *child) {
  ENTER_ADD();
  const FkGraph *from = fk_graph(child);
  if (!from || from == g) return CU_INVALID_VALUE;
  FkGraph *copy = fk_graph_copy(from, true);
  FkNode *node = fk_node_new(g, NODE_GRAPH, NULL, (FkNode *const *)deps, (uint32_t)n);
  node->child = copy;
  *out = node;
  return CU_OK;
}
static int add_event(FkGraph *g, void **out, FkNodeType type, void *const *deps, size_t n, void *event) {
  FkEvent *e = fk_event(event);
  if (!e) return CU_INVALID_VALUE;
  FkNode *node = fk_node_new(g, type, NULL, (FkNode *const *)deps, (uint32_t)n);
  node->event = e;
  *out = node;
  return CU_OK;
}
FK_API int cuGraphAddEventRecordNode(void **out, void *graph, void *const *deps, size_t n, void *event) {
  ENTER_ADD();
  return add_event(g, out, NODE_RECORD, deps, n, event);
}
FK_API int cuGraphAddEventWaitNode(void **out, void *graph, void *const *deps, size_t n, void *event) {
  ENTER_ADD();
  return add_event(g, out, NODE_WAIT, deps, n, event);
}

/* --- what is in a node --- */

#define ENTER_NODE(handle, wanted, p)                                                                                  \
  ENTER_CONTEXT();                                                                                                     \
  FkNode *node = fk_node(handle);                                                                                      \
  if (!node || node->type != (wanted) || !(p)) return CU_INVALID_VALUE

static int renew(FkNode *node, const FkNodeParams *p) {
  FkOp *op;
  int code = fk_node_op(p, &op);
  if (code) return code;
  fk_op_free(node->op);
  free(node->shown);
  node->op = op, node->shown = NULL;
  return CU_OK;
}

static void **shown(FkNode *node) {
  const PtxEntry *e = node->op->function->entry;
  if (!node->shown) {
    node->shown = fk_new((e->nparams + 1) * sizeof *node->shown);
    for (uint32_t k = 0; k < e->nparams; k++) node->shown[k] = (char *)node->op->params + e->params[k].offset;
  }
  return node->shown;
}

static CuKernelNode kernel_of(FkNode *node, bool parameters) {
  const PtxLaunch *l = &node->op->launch;
  return (CuKernelNode){.function = node->op->function,
                        .gx = l->grid[0],
                        .gy = l->grid[1],
                        .gz = l->grid[2],
                        .bx = l->block[0],
                        .by = l->block[1],
                        .bz = l->block[2],
                        .shared = l->shared_bytes,
                        .params = parameters ? shown(node) : NULL,
                        .context = node->op->function->module->context};
}

FK_API int cuGraphKernelNodeGetParams_v2(void *handle, CuKernelNode *p) {
  ENTER_NODE(handle, NODE_KERNEL, p);
  *p = kernel_of(node, true);
  return CU_OK;
}
FK_API int cuGraphKernelNodeGetParams(void *handle, CuKernelNodeV1 *p) {
  ENTER_NODE(handle, NODE_KERNEL, p);
  CuKernelNode k = kernel_of(node, true);
  memcpy(p, &k, sizeof *p);
  return CU_OK;
}
FK_API int cuGraphKernelNodeSetParams_v2(void *handle, const CuKernelNode *p) {
  ENTER_NODE(handle, NODE_KERNEL, p);
  return renew(node, &(FkNodeParams){.context = ctx, .kernel = p});
}
FK_API int cuGraphKernelNodeSetParams(void *handle, const CuKernelNodeV1 *p) {
  ENTER_NODE(handle, NODE_KERNEL, p);
  CuKernelNode k = of_v1(p);
  return renew(node, &(FkNodeParams){.context = ctx, .kernel = &k});
}

/* The same copy, though not in the words in which it was asked for. */
FK_API int cuGraphMemcpyNodeGetParams(void *handle, CuCopy3D *p) {
  ENTER_NODE(handle, NODE_COPY, p);
  const FkOp *op = node->op;
  *p = (CuCopy3D){.from_kind = fk_is_device(op->from) ? CU_DEVICE_SIDE : CU_HOST_SIDE,
                  .from_host = (const void *)(uintptr_t)op->from,
                  .from_device = op->from,
                  .from_pitch = op->from_pitch,
                  .from_height = op->from_pitch ? op->from_slice / op->from_pitch : 0,
                  .to_kind = fk_is_device(op->to) ? CU_DEVICE_SIDE : CU_HOST_SIDE,
                  .to_host = (void *)(uintptr_t)op->to,
                  .to_device = op->to,
                  .to_pitch = op->to_pitch,
                  .to_height = op->to_pitch ? op->to_slice / op->to_pitch : 0,
                  .width = op->width,
                  .height = op->height,
                  .depth = op->depth};
  return CU_OK;
}
FK_API int cuGraphMemcpyNodeSetParams(void *handle, const CuCopy3D *p) {
  ENTER_NODE(handle, NODE_COPY, p);
  return renew(node, &(FkNodeParams){.context = ctx, .copy = p});
}
FK_API int cuGraphMemsetNodeGetParams(void *handle, CuSetNode *p) {
  ENTER_NODE(handle, NODE_SET, p);
  const FkOp *op = node->op;
  *p = (CuSetNode){op->to, op->to_pitch, op->value, op->value_bytes, op->width, op->height};
  return CU_OK;
}
FK_API int cuGraphMemsetNodeSetParams(void *handle, const CuSetNode *p) {
  ENTER_NODE(handle, NODE_SET, p);
  return renew(node, &(FkNodeParams){.context = ctx, .set = p});
}
FK_API int cuGraphHostNodeGetParams(void *handle, CuHostNode *p) {
  ENTER_NODE(handle, NODE_HOST, p);
  *p = (CuHostNode){node->op->call, node->op->user};
  return CU_OK;
}
FK_API int cuGraphHostNodeSetParams(void *handle, const CuHostNode *p) {
  ENTER_NODE(handle, NODE_HOST, p);
  return renew(node, &(FkNodeParams){.context = ctx, .host = p});
}
FK_API int cuGraphChildGraphNodeGetGraph(void *handle, void **graph) {
  ENTER_NODE(handle, NODE_GRAPH, graph);
  *graph = node->child;
  return CU_OK;
}
FK_API int cuGraphEventRecordNodeGetEvent(void *handle, void **event) {
  ENTER_NODE(handle, NODE_RECORD, event);
  *event = node->event;
  return CU_OK;
}
FK_API int cuGraphEventWaitNodeGetEvent(void *handle, void **event) {
  ENTER_NODE(handle, NODE_WAIT, event);
  *event = node->event;
  return CU_OK;
}
static int new_event(FkNode *node, void *event) {
  if (!fk_event(event)) return CU_INVALID_VALUE;
  node->event = event;
  return CU_OK;
}
FK_API int cuGraphEventRecordNodeSetEvent(void *handle, void *event) {
  ENTER_NODE(handle, NODE_RECORD, event);
  return new_event(node, event);
}
FK_API int cuGraphEventWaitNodeSetEvent(void *handle, void *event) {
  ENTER_NODE(handle, NODE_WAIT, event);
  return new_event(node, event);
}
