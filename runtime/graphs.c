/* runtime/graphs.c -- keeping work. Streams do it (streams.h). */
#include "runtime/graphs.h"

#include <string.h>

#include "runtime/events.h"

HdStatus hdrt_graph_new(RtDevice *d, HdError *err, RtGraph **out) {
  RtGraph *g = d->mem->resize(d->mem->user, NULL, 0, sizeof *g);
  if (!g) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for a graph", sizeof *g);
  memset(g, 0, sizeof *g);
  g->device = d;
  *out = g;
  return HD_OK;
}

void hdrt_graph_await(const RtGraph *g) {
  if (g->done) hdrt_host_event_await(g->done, hdrt_host_event_need(g->done));
}

void hdrt_graph_free(RtGraph *g) {
  if (!g) return;
  const HdAllocator *mem = g->device->mem;
  hdrt_graph_await(g);
  if (g->done) g->done->ops->free(g->done);
  if (g->end) g->end(g);
  for (int32_t i = 0; i < g->count; i++)
    if (g->nodes[i].kind == RT_NODE_LAUNCH)
      mem->resize(mem->user, (void *)g->nodes[i].launch.args, g->nodes[i].args_size, 0);
  if (g->nodes) mem->resize(mem->user, g->nodes, (size_t)g->cap * sizeof *g->nodes, 0);
  mem->resize(mem->user, g, sizeof *g, 0);
}

static HdStatus no_memory(RtGraph *g, HdError *err) {
  g->failed = HD_ERR_NOMEM;
  return hdb_fail(err, HD_ERR_NOMEM, "", "the work could not be kept");
}

static RtNode *new_node(RtGraph *g) {
  const HdAllocator *mem = g->device->mem;
  if (g->count == g->cap) {
    int32_t cap = g->cap ? 2 * g->cap : 16;
    RtNode *more = mem->resize(mem->user, g->nodes, (size_t)g->cap * sizeof *more, (size_t)cap * sizeof *more);
    if (!more) return NULL;
    g->nodes = more;
    g->cap = cap;
  }
  return memset(&g->nodes[g->count], 0, sizeof(RtNode));
}

HdStatus hdrt_graph_add_launch(RtGraph *g, const RtLaunch *l, size_t args_size, HdError *err) {
  const HdAllocator *mem = g->device->mem;
  RtNode *n = new_node(g);
  size_t size = args_size ? args_size : 8;
  void *args = n ? mem->resize(mem->user, NULL, 0, size) : NULL;
  if (!args) return no_memory(g, err);
  memcpy(args, l->args, args_size);
  n->kind = RT_NODE_LAUNCH;
  n->launch = *l;
  n->launch.args = args;
  n->args_size = size;
  g->count++;
  return HD_OK;
}

HdStatus hdrt_graph_add_copy(RtGraph *g, const RtView *from, const RtView *to, HdError *err) {
  RtNode *n = new_node(g);
  if (!n) return no_memory(g, err);
  n->kind = RT_NODE_COPY;
  n->view[0] = *from;
  n->view[1] = *to;
  g->count++;
  return HD_OK;
}

HdStatus hdrt_graph_add_clear(RtGraph *g, const RtView *v, HdError *err) {
  RtNode *n = new_node(g);
  if (!n) return no_memory(g, err);
  n->kind = RT_NODE_CLEAR;
  n->view[0] = *v;
  g->count++;
  return HD_OK;
}

void hdrt_graph_set_launch(RtGraph *g, int32_t i, const RtCode *code, const void *args) {
  hdrt_graph_await(g);
  RtNode *n = &g->nodes[i];
  n->changed = g->changed = true;
  n->launch.code = code;
  memcpy((void *)n->launch.args, args, n->args_size);
}
