/* tests/fakecuda/fake_exec.c -- graphs that can be launched: made, changed, launched.
 *
 * What is launched is taken down at that moment: later changes are those of later launches. The nodes of a launch run in
 * any order that their edges allow, drawn from the seed.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

static FkExec *exec_of(void *handle) {
  for (FkExec *e = fk.execs; e; e = e->next)
    if (e == handle) return e;
  return NULL;
}

/* --- a launch --- */

static bool is_alive(const FkNode *node) {
  if (node->event) return fk_event(node->event);
  if (node->type != NODE_KERNEL) return true;
  for (FkContext *c = fk.contexts; c; c = c->next)
    if (fk_function(c, node->op->function)) return true;
  return false;
}

FkSteps *fk_steps_new(const FkGraph *g) {
  FkSteps *s = FK_NEW(FkSteps);
  s->n = g->n;
  s->v = fk_new((g->n + 1) * sizeof *s->v);
  for (uint32_t k = 0; k < g->n; k++) {
    const FkNode *node = g->nodes[k];
    FkStep *step = &s->v[k];
    FkSteps *child = node->child ? fk_steps_new(node->child) : NULL;
    if (!is_alive(node) || (node->child && !child)) {
      fk_steps_free(s);
      return NULL;
    }
    if (node->op && !node->disabled) step->op = fk_op_copy(node->op);
    if (node->type == NODE_RECORD) step->op = fk_op(FK_RECORD), step->op->event = node->event;
    if (child) step->op = fk_op(FK_STEPS), step->op->steps = child;
    step->deps = fk_new((node->ndeps + 1) * sizeof *step->deps);
    step->ndeps = node->ndeps;
    for (uint32_t d = 0; d < node->ndeps; d++)
      while (g->nodes[step->deps[d]] != node->deps[d]) step->deps[d]++;
  }
  fk_race_steps(s);
  return s;
}

void fk_steps_free(FkSteps *s) {
  for (uint32_t k = 0; k < s->n; k++) {
    if (s->v[k].op) fk_op_free(s->v[k].op);
    free(s->v[k].deps), free(s->v[k].before);
  }
  free(s->v);
  free(s);
}

static bool is_ready(const FkSteps *s, uint32_t k) {
  for (uint32_t d = 0; d < s->v[k].ndeps; d++)
    if (!s->v[s->v[k].deps[d]].done) return false;
  return !s->v[k].done;
}

void fk_steps_run(FkContext *c, FkSteps *s) {
  bool outer = !fk.now.steps;
  if (outer) fk.now.steps = s;
  for (uint32_t left = s->n; left > 0; left--) {
    uint32_t k = fk_random() % s->n;
    while (!is_ready(s, k)) k = (k + 1) % s->n;
    if (outer) fk.now.step = k;
    if (s->v[k].op) fk_run_op(c, s->v[k].op);
    s->v[k].done = true;
  }
}

/* Events that a graph waits for, and that it records. */
static void wait_for_events(FkOp *op, const FkGraph *g) {
  for (uint32_t k = 0; k < g->n; k++) {
    const FkNode *node = g->nodes[k];
    if (node->type == NODE_WAIT && node->event->stream)
      fk_depend(op, node->event->stream, node->event->seq), fk_clock_join(&op->clock, &node->event->clock);
    if (node->child) wait_for_events(op, node->child);
  }
}
static void mark_events(FkStream *s, const FkGraph *g) {
  for (uint32_t k = 0; k < g->n; k++) {
    const FkNode *node = g->nodes[k];
    if (node->type == NODE_RECORD) {
      node->event->stream = s, node->event->seq = s->submitted;
      fk_clock_free(&node->event->clock);
      fk_clock_join(&node->event->clock, &s->clock);
    }
    if (node->child) mark_events(s, node->child);
  }
}
static void renew_events(FkContext *c, const FkGraph *g) {
  for (uint32_t k = 0; k < g->n; k++) {
    const FkNode *node = g->nodes[k];
    if (node->type == NODE_RECORD)
      fk_event_forget(c, node->event), node->event->done = false, node->event->captured = 0;
    if (node->child) renew_events(c, node->child);
  }
}

static int launch(FkStream *s, void *handle) {
  FkExec *e = exec_of(handle);
  if (!e) return CU_INVALID_VALUE;
  if (s->capture) return fk_capture_graph(s, e->graph);
  FkSteps *steps = fk_steps_new(e->graph);
  if (!steps) return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_STEPS);
  renew_events(s->context, e->graph);
  op->steps = steps;
  if (e->stream) fk_depend(op, e->stream, e->seq), fk_clock_join(&op->clock, &e->clock);
  wait_for_events(op, e->graph);
  int code = fk_submit(s, op);
  if (code) return code;
  mark_events(s, e->graph);
  e->stream = s, e->seq = s->submitted;
  fk_clock_join(&e->clock, &s->clock);
  return CU_OK;
}
FK_API int cuGraphLaunch(void *exec, void *stream) {
  ENTER_ANY_STREAM(stream);
  return launch(s, exec);
}
FK_API int cuGraphUpload(void *exec, void *stream) {
  ENTER_ANY_STREAM(stream);
  return exec_of(exec) ? fk_submit(s, fk_op(FK_NOTHING)) : CU_INVALID_VALUE;
}

/* --- making --- */

static int instantiate(void **out, void *graph, uint64_t flags) {
  enum { AUTO_FREE = 1, UPLOAD = 2, PRIORITY = 8 };
  FkGraph *g = fk_graph(graph);
  if (!g || !out || (flags & ~(uint64_t)(AUTO_FREE | UPLOAD | PRIORITY))) return CU_INVALID_VALUE;
  FkExec *e = FK_NEW(FkExec);
  *e = (FkExec){.kind = FK_EXEC, .graph = fk_graph_copy(g, false), .source = g, .flags = flags, .next = fk.execs};
  fk.execs = e;
  *out = e;
  return CU_OK;
}
FK_API int cuGraphInstantiateWithFlags(void **out, void *graph, uint64_t flags) {
  ENTER_CONTEXT();
  return flags & 2 ? CU_INVALID_VALUE : instantiate(out, graph, flags);
}
FK_API int cuGraphInstantiateWithParams(void **out, void *graph, CuInstantiate *p) {
  enum { UPLOAD = 2, OK = 0, FAILED = 1 };
  ENTER_CONTEXT();
  if (!p) return CU_INVALID_VALUE;
  int code =
      p->flags & UPLOAD && !fk_stream_of_any(ctx, p->stream) ? CU_INVALID_VALUE : instantiate(out, graph, p->flags);
  p->result = code ? FAILED : OK, p->wrong = NULL;
  return code;
}
static int instantiate_with_log(void **out, void *graph, void **wrong, char *log, size_t room) {
  if (wrong) *wrong = NULL;
  if (log && room) *log = '\0';
  return instantiate(out, graph, 0);
}
FK_API int cuGraphInstantiate(void **out, void *graph, void **wrong, char *log, size_t room) {
  ENTER_CONTEXT();
  return instantiate_with_log(out, graph, wrong, log, room);
}
FK_API int cuGraphInstantiate_v2(void **out, void *graph, void **wrong, char *log, size_t room) {
  ENTER_CONTEXT();
  return instantiate_with_log(out, graph, wrong, log, room);
}
FK_API int cuGraphExecDestroy(void *exec) {
  ENTER_CONTEXT();
  FkExec *e = exec_of(exec);
  if (!e) return CU_INVALID_VALUE;
  for (FkExec **p = &fk.execs; *p; p = &(*p)->next)
    if (*p == e) {
      *p = e->next;
      break;
    }
  fk_graph_free(e->graph);
  fk_clock_free(&e->clock);
  free(e);
  return CU_OK;
}
FK_API int cuGraphExecGetFlags(void *exec, uint64_t *flags) {
  ENTER_CONTEXT();
  const FkExec *e = exec_of(exec);
  if (!e || !flags) return CU_INVALID_VALUE;
  *flags = e->flags;
  return CU_OK;
}

/* --- changing --- */

/* What stands in `exec` for a node of the graph that it was made of. */
static FkNode *inside(void *exec, void *handle, FkNodeType type) {
  const FkExec *e = exec_of(exec);
  const FkNode *node = fk_node(handle);
  if (!e || !node || node->graph != e->source || node->type != type) return NULL;
  for (uint32_t k = 0; k < e->graph->n; k++)
    if (e->graph->nodes[k]->id == node->id) return e->graph->nodes[k];
  return NULL;
}

static bool is_flat(const FkOp *op) { return op->height == 1 && op->depth <= 1; }

/* Who owns the memory at an address, as far as that may not change. */
static uint64_t owner(uint64_t at) {
  const FkBlock *b = fk_block_at(at, 1);
  return fk_is_device(at) ? b ? 2 + (uint64_t)b->device : 1 : 0;
}

/* May a node that does `a` do `b` from now on? */
static bool may_become(const FkOp *a, const FkOp *b) {
  switch (a->work) {
  case FK_LAUNCH:
    return a->function->module->context == b->function->module->context &&
           a->launch.cooperative == b->launch.cooperative;
  case FK_COPY: return is_flat(a) && is_flat(b) && owner(a->to) == owner(b->to) && owner(a->from) == owner(b->from);
  case FK_SET:
    return owner(a->to) == owner(b->to) &&
           (a->height > 1 ? a->width == b->width && a->height == b->height && a->to_pitch == b->to_pitch &&
                                a->value_bytes == b->value_bytes
                          : b->height == 1);
  default: return true;
  }
}

static int change(FkNode *node, const FkNodeParams *p) {
  FkOp *op;
  if (!node) return CU_INVALID_VALUE;
  int code = fk_node_op(p, &op);
  if (code) return code;
  if (!may_become(node->op, op)) {
    fk_op_free(op);
    return CU_INVALID_VALUE;
  }
  fk_op_free(node->op);
  node->op = op;
  return CU_OK;
}

FK_API int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const CuKernelNode *p) {
  ENTER_CONTEXT();
  return change(inside(exec, node, NODE_KERNEL), &(FkNodeParams){.context = ctx, .kernel = p});
}
FK_API int cuGraphExecKernelNodeSetParams(void *exec, void *node, const CuKernelNodeV1 *p) {
  ENTER_CONTEXT();
  CuKernelNode k = {0};
  if (!p) return CU_INVALID_VALUE;
  memcpy(&k, p, sizeof *p);
  return change(inside(exec, node, NODE_KERNEL), &(FkNodeParams){.context = ctx, .kernel = &k});
}
FK_API int cuGraphExecMemcpyNodeSetParams(void *exec, void *node, const CuCopy3D *p, void *context) {
  ENTER_CONTEXT();
  if (!fk_context(context)) return CU_INVALID_CONTEXT;
  return change(inside(exec, node, NODE_COPY), &(FkNodeParams){.context = ctx, .copy = p});
}
FK_API int cuGraphExecMemsetNodeSetParams(void *exec, void *node, const CuSetNode *p, void *context) {
  ENTER_CONTEXT();
  if (!fk_context(context)) return CU_INVALID_CONTEXT;
  return change(inside(exec, node, NODE_SET), &(FkNodeParams){.context = ctx, .set = p});
}
FK_API int cuGraphExecHostNodeSetParams(void *exec, void *node, const CuHostNode *p) {
  ENTER_CONTEXT();
  return change(inside(exec, node, NODE_HOST), &(FkNodeParams){.context = ctx, .host = p});
}
static int change_event(FkNode *node, void *event) {
  if (!node || !fk_event(event)) return CU_INVALID_VALUE;
  node->event = event;
  return CU_OK;
}
FK_API int cuGraphExecEventRecordNodeSetEvent(void *exec, void *node, void *event) {
  ENTER_CONTEXT();
  return change_event(inside(exec, node, NODE_RECORD), event);
}
FK_API int cuGraphExecEventWaitNodeSetEvent(void *exec, void *node, void *event) {
  ENTER_CONTEXT();
  return change_event(inside(exec, node, NODE_WAIT), event);
}

static FkNode *switched(void *exec, void *handle) {
  const FkNode *node = fk_node(handle);
  bool can = node && (node->type == NODE_KERNEL || node->type == NODE_COPY || node->type == NODE_SET);
  return can ? inside(exec, handle, node->type) : NULL;
}
FK_API int cuGraphNodeSetEnabled(void *exec, void *handle, unsigned on) {
  ENTER_CONTEXT();
  FkNode *node = switched(exec, handle);
  if (!node) return CU_INVALID_VALUE;
  node->disabled = !on;
  return CU_OK;
}
FK_API int cuGraphNodeGetEnabled(void *exec, void *handle, unsigned *on) {
  ENTER_CONTEXT();
  const FkNode *node = switched(exec, handle);
  if (!node || !on) return CU_INVALID_VALUE;
  *on = !node->disabled;
  return CU_OK;
}

/* --- all at once --- */

enum { UPDATED = 0, FAILED = 1, TOPOLOGY = 2, TYPE = 3, PARAMETERS = 5, FUNCTION = 7 };

static uint32_t place(const FkGraph *g, const FkNode *node) {
  uint32_t k = 0;
  while (g->nodes[k] != node) k++;
  return k;
}

/* Nodes are paired in the order in which they were added. */
static CuUpdateResult compare(const FkGraph *old, const FkGraph *new) {
  if (old->n != new->n) return (CuUpdateResult){TOPOLOGY, NULL, NULL};
  for (uint32_t k = 0; k < new->n; k++) {
    const FkNode *a = old->nodes[k];
    FkNode *b = new->nodes[k];
    if (a->ndeps != b->ndeps) return (CuUpdateResult){TOPOLOGY, b, NULL};
    for (uint32_t d = 0; d < a->ndeps; d++)
      if (place(old, a->deps[d]) != place(new, b->deps[d])) return (CuUpdateResult){TOPOLOGY, b, b->deps[d]};
    if (a->type != b->type) return (CuUpdateResult){TYPE, b, NULL};
    if (a->op && !may_become(a->op, b->op)) {
      /* A copy in more dimensions may stay as it is. */
      bool same = a->op->work == FK_COPY && owner(a->op->to) == owner(b->op->to) &&
                  owner(a->op->from) == owner(b->op->from) && a->op->width == b->op->width &&
                  a->op->height == b->op->height && a->op->depth == b->op->depth;
      if (!same) return (CuUpdateResult){a->type == NODE_KERNEL ? FUNCTION : PARAMETERS, b, NULL};
    }
    CuUpdateResult r = a->child ? compare(a->child, b->child) : (CuUpdateResult){UPDATED, NULL, NULL};
    if (r.result) return r;
  }
  return (CuUpdateResult){UPDATED, NULL, NULL};
}

static void renew(const FkGraph *old, const FkGraph *new) {
  for (uint32_t k = 0; k < new->n; k++) {
    FkNode *a = old->nodes[k];
    const FkNode *b = new->nodes[k];
    if (a->op) fk_op_free(a->op), a->op = fk_op_copy(b->op);
    if (a->child) renew(a->child, b->child);
    a->event = b->event;
  }
}

static int update(void *exec, void *graph, CuUpdateResult *r) {
  const FkExec *e = exec_of(exec);
  const FkGraph *g = fk_graph(graph);
  *r = (CuUpdateResult){FAILED, NULL, NULL};
  if (!e || !g) return CU_INVALID_VALUE;
  *r = compare(e->graph, g);
  if (r->result) return CU_UPDATE_FAILURE;
  renew(e->graph, g);
  return CU_OK;
}
FK_API int cuGraphExecUpdate_v2(void *exec, void *graph, CuUpdateResult *r) {
  ENTER_CONTEXT();
  return r ? update(exec, graph, r) : CU_INVALID_VALUE;
}
FK_API int cuGraphExecUpdate(void *exec, void *graph, void **node, int *result) {
  CuUpdateResult r;
  ENTER_CONTEXT();
  if (!result) return CU_INVALID_VALUE;
  int code = update(exec, graph, &r);
  *result = r.result;
  if (node) *node = r.node;
  return code;
}
