/* tests/fakecuda/fake_graph.c -- graphs: their nodes and edges, clones, questions about them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- handles --- */

FkGraph *fk_graph(void *handle) {
  for (FkGraph *g = fk.graphs; g; g = g->next)
    if (g == handle) return g;
  return NULL;
}

FkNode *fk_node(void *handle) {
  for (FkGraph *g = fk.graphs; g; g = g->next)
    for (uint32_t k = 0; k < g->n; k++)
      if (g->nodes[k] == handle) return g->nodes[k];
  return NULL;
}

/* --- making --- */

FkGraph *fk_graph_new(bool listed) {
  FkGraph *g = FK_NEW(FkGraph);
  g->kind = FK_GRAPH_KIND;
  if (listed) g->next = fk.graphs, fk.graphs = g;
  return g;
}

FkNode *fk_node_new(FkGraph *g, FkNodeType type, FkOp *op, FkNode *const *deps, uint32_t ndeps) {
  FkNode *node = FK_NEW(FkNode);
  *node = (FkNode){.kind = FK_NODE, .type = type, .id = ++fk.ids, .graph = g, .op = op, .ndeps = ndeps};
  node->deps = fk_new((ndeps + 1) * sizeof *node->deps);
  if (ndeps) memcpy(node->deps, deps, ndeps * sizeof(FkNode *));
  if (g->n == g->room) {
    FkNode **more = realloc(g->nodes, (g->room = g->room ? 2 * g->room : 8) * sizeof *more);
    if (!more) abort();
    g->nodes = more;
  }
  return g->nodes[g->n++] = node;
}

static void node_free(FkNode *node) {
  if (node->op) fk_op_free(node->op);
  if (node->child) fk_graph_free(node->child);
  free(node->deps), free(node->shown), free(node);
}

void fk_graph_free(FkGraph *g) {
  for (FkGraph **p = &fk.graphs; *p; p = &(*p)->next)
    if (*p == g) {
      *p = g->next;
      break;
    }
  for (uint32_t k = 0; k < g->n; k++) node_free(g->nodes[k]);
  free(g->nodes);
  free(g);
}

static uint32_t index_of(const FkGraph *g, const FkNode *node) {
  uint32_t k = 0;
  while (g->nodes[k] != node) k++;
  return k;
}

FkGraph *fk_graph_copy(const FkGraph *g, bool listed) {
  FkGraph *copy = fk_graph_new(listed);
  for (uint32_t k = 0; k < g->n; k++) {
    const FkNode *from = g->nodes[k];
    FkNode *to = fk_node_new(copy, from->type, from->op ? fk_op_copy(from->op) : NULL, NULL, 0);
    to->id = from->id, to->event = from->event, to->disabled = from->disabled;
    if (from->child) to->child = fk_graph_copy(from->child, listed);
  }
  for (uint32_t k = 0; k < g->n; k++) {
    const FkNode *from = g->nodes[k];
    FkNode *to = copy->nodes[k];
    free(to->deps);
    to->deps = fk_new((from->ndeps + 1) * sizeof *to->deps);
    to->ndeps = from->ndeps;
    for (uint32_t d = 0; d < from->ndeps; d++) to->deps[d] = copy->nodes[index_of(g, from->deps[d])];
  }
  return copy;
}

/* Graphs in nodes go with these. */
static bool is_child(const FkGraph *g) {
  for (const FkGraph *o = fk.graphs; o; o = o->next)
    for (uint32_t k = 0; k < o->n; k++)
      if (o->nodes[k]->child == g) return true;
  return false;
}

void fk_graphs_end(void) {
  for (FkExec *e = fk.execs, *next; e; e = next)
    next = e->next, fk_graph_free(e->graph), fk_clock_free(&e->clock), free(e);
  fk.execs = NULL;
  for (FkCapture *c = fk.captures; c; c = c->next) c->borrowed = true; /* the graphs end here, not there */
  while (fk.graphs) {
    FkGraph *g = fk.graphs;
    while (is_child(g)) g = g->next;
    fk_graph_free(g);
  }
}

FK_API int cuGraphCreate(void **out, unsigned flags) {
  ENTER(true);
  if (!out || flags) return CU_INVALID_VALUE;
  *out = fk_graph_new(true);
  return CU_OK;
}

#define ENTER_GRAPH(handle)                                                                                            \
  ENTER(true);                                                                                                         \
  FkGraph *g = fk_graph(handle);                                                                                       \
  if (!g) return CU_INVALID_VALUE
#define ENTER_NODE(handle)                                                                                             \
  ENTER(true);                                                                                                         \
  FkNode *node = fk_node(handle);                                                                                      \
  if (!node) return CU_INVALID_VALUE

FK_API int cuGraphDestroy(void *graph) {
  ENTER_GRAPH(graph);
  if (is_child(g) || fk_captures_into(g)) return CU_INVALID_VALUE;
  for (FkExec *e = fk.execs; e; e = e->next)
    if (e->source == g) e->source = NULL;
  fk_graph_free(g);
  return CU_OK;
}
FK_API int cuGraphClone(void **out, void *graph) {
  ENTER_GRAPH(graph);
  if (!out) return CU_INVALID_VALUE;
  *out = fk_graph_copy(g, true);
  return CU_OK;
}
FK_API int cuGraphNodeFindInClone(void **out, void *original, void *clone) {
  ENTER_GRAPH(clone);
  const FkNode *node = fk_node(original);
  if (!out || !node || node->graph == g) return CU_INVALID_VALUE;
  for (uint32_t k = 0; k < g->n; k++)
    if (g->nodes[k]->id == node->id) return *out = g->nodes[k], CU_OK;
  return CU_INVALID_VALUE;
}

/* --- edges --- */

static bool depends(const FkNode *node, const FkNode *on) {
  for (uint32_t k = 0; k < node->ndeps; k++)
    if (node->deps[k] == on) return true;
  return false;
}

static bool comes_behind(const FkNode *node, const FkNode *other) {
  for (uint32_t k = 0; k < node->ndeps; k++)
    if (node->deps[k] == other || comes_behind(node->deps[k], other)) return true;
  return false;
}

static int edges_right(const FkGraph *g, void *const *from, void *const *to, size_t n, bool there) {
  if (n && (!from || !to)) return CU_INVALID_VALUE;
  for (size_t k = 0; k < n; k++) {
    const FkNode *a = fk_node(from[k]), *b = fk_node(to[k]);
    if (!a || !b || a == b || a->graph != g || b->graph != g || depends(b, a) != there) return CU_INVALID_VALUE;
    if (!there && comes_behind(a, b)) return CU_INVALID_VALUE; /* a circle */
  }
  return CU_OK;
}

static int edges_add(const FkGraph *g, void *const *from, void *const *to, size_t n) {
  int code = edges_right(g, from, to, n, false);
  for (size_t k = 0; k < n && !code; k++) {
    FkNode *node = to[k];
    FkNode **more = realloc(node->deps, (node->ndeps + 1) * sizeof *more);
    if (!more) abort();
    node->deps = more;
    node->deps[node->ndeps++] = from[k];
  }
  return code;
}

static void edge_drop(FkNode *node, const FkNode *on) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < node->ndeps; k++)
    if (node->deps[k] != on) node->deps[n++] = node->deps[k];
  node->ndeps = n;
}

static int edges_remove(const FkGraph *g, void *const *from, void *const *to, size_t n) {
  int code = edges_right(g, from, to, n, true);
  for (size_t k = 0; k < n && !code; k++) edge_drop(to[k], from[k]);
  return code;
}

FK_API int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t n) {
  ENTER_GRAPH(graph);
  return edges_add(g, from, to, n);
}
FK_API int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const CuEdge *edges, size_t n) {
  ENTER_GRAPH(graph);
  (void)edges;
  return edges_add(g, from, to, n);
}
FK_API int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t n) {
  ENTER_GRAPH(graph);
  return edges_remove(g, from, to, n);
}
FK_API int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const CuEdge *edges,
                                        size_t n) {
  ENTER_GRAPH(graph);
  (void)edges;
  return edges_remove(g, from, to, n);
}

FK_API int cuGraphDestroyNode(void *handle) {
  ENTER_NODE(handle);
  FkGraph *g = node->graph;
  if (fk_captures_into(g)) return CU_INVALID_VALUE;
  uint32_t at = index_of(g, node);
  for (uint32_t k = 0; k < g->n; k++) edge_drop(g->nodes[k], node);
  memmove(g->nodes + at, g->nodes + at + 1, (g->n - at - 1) * sizeof *g->nodes);
  g->n--;
  node_free(node);
  return CU_OK;
}

/* --- questions --- */

/* Lists are cut to the room there is, and filled up with NULL. */
typedef struct Answer {
  void **to;
  size_t room, n;
} Answer;
static void answer(Answer *a, void *x) {
  if (a->to && a->n < a->room) a->to[a->n] = x;
  a->n++;
}
static int answered(Answer *a, size_t *n) {
  for (size_t k = a->n; a->to && k < a->room; k++) a->to[k] = NULL;
  *n = a->to && a->n > a->room ? a->room : a->n;
  return CU_OK;
}

FK_API int cuGraphGetNodes(void *graph, void **nodes, size_t *n) {
  ENTER_GRAPH(graph);
  if (!n) return CU_INVALID_VALUE;
  Answer a = {nodes, *n, 0};
  for (uint32_t k = 0; k < g->n; k++) answer(&a, g->nodes[k]);
  return answered(&a, n);
}
FK_API int cuGraphGetRootNodes(void *graph, void **nodes, size_t *n) {
  ENTER_GRAPH(graph);
  if (!n) return CU_INVALID_VALUE;
  Answer a = {nodes, *n, 0};
  for (uint32_t k = 0; k < g->n; k++)
    if (!g->nodes[k]->ndeps) answer(&a, g->nodes[k]);
  return answered(&a, n);
}

static int edges(const FkGraph *g, void **from, void **to, CuEdge *data, size_t *n) {
  if (!n || !from != !to || (data && !from)) return CU_INVALID_VALUE;
  Answer a = {from, *n, 0}, b = {to, *n, 0};
  if (data) memset(data, 0, *n * sizeof *data);
  for (uint32_t k = 0; k < g->n; k++)
    for (uint32_t d = 0; d < g->nodes[k]->ndeps; d++) answer(&a, g->nodes[k]->deps[d]), answer(&b, g->nodes[k]);
  size_t same = 0;
  (void)answered(&b, &same);
  return answered(&a, n);
}
FK_API int cuGraphGetEdges(void *graph, void **from, void **to, size_t *n) {
  ENTER_GRAPH(graph);
  return edges(g, from, to, NULL, n);
}
FK_API int cuGraphGetEdges_v2(void *graph, void **from, void **to, CuEdge *data, size_t *n) {
  ENTER_GRAPH(graph);
  return edges(g, from, to, data, n);
}

static int neighbours(const FkNode *node, bool behind, void **nodes, CuEdge *data, size_t *n) {
  if (!n || (data && !nodes)) return CU_INVALID_VALUE;
  Answer a = {nodes, *n, 0};
  if (data) memset(data, 0, *n * sizeof *data);
  const FkGraph *g = node->graph;
  for (uint32_t k = 0; !behind && k < node->ndeps; k++) answer(&a, node->deps[k]);
  for (uint32_t k = 0; behind && k < g->n; k++)
    if (depends(g->nodes[k], node)) answer(&a, g->nodes[k]);
  return answered(&a, n);
}
FK_API int cuGraphNodeGetDependencies(void *handle, void **nodes, size_t *n) {
  ENTER_NODE(handle);
  return neighbours(node, false, nodes, NULL, n);
}
FK_API int cuGraphNodeGetDependencies_v2(void *handle, void **nodes, CuEdge *data, size_t *n) {
  ENTER_NODE(handle);
  return neighbours(node, false, nodes, data, n);
}
FK_API int cuGraphNodeGetDependentNodes(void *handle, void **nodes, size_t *n) {
  ENTER_NODE(handle);
  return neighbours(node, true, nodes, NULL, n);
}
FK_API int cuGraphNodeGetDependentNodes_v2(void *handle, void **nodes, CuEdge *data, size_t *n) {
  ENTER_NODE(handle);
  return neighbours(node, true, nodes, data, n);
}
FK_API int cuGraphNodeGetType(void *handle, int *type) {
  ENTER_NODE(handle);
  if (!type) return CU_INVALID_VALUE;
  *type = (int)node->type;
  return CU_OK;
}

static void dot_label(FILE *f, const FkNode *node) {
  static const char *const types[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait", "record"};
  fprintf(f, "%s", types[node->type]);
  if (node->type == NODE_KERNEL) fprintf(f, " %s", node->op->launch.entry);
}
FK_API int cuGraphDebugDotPrint(void *graph, const char *path, unsigned flags) {
  ENTER_GRAPH(graph);
  (void)flags;
  FILE *f = path ? fopen(path, "w") : NULL;
  if (!f) return path ? CU_OPERATING_SYSTEM : CU_INVALID_VALUE;
  fprintf(f, "digraph dot {\n");
  for (uint32_t k = 0; k < g->n; k++) {
    fprintf(f, "n%u [label=\"", k);
    dot_label(f, g->nodes[k]);
    fprintf(f, "\"];\n");
    for (uint32_t d = 0; d < g->nodes[k]->ndeps; d++) fprintf(f, "n%u -> n%u;\n", index_of(g, g->nodes[k]->deps[d]), k);
  }
  fprintf(f, "}\n");
  return fclose(f) ? CU_OPERATING_SYSTEM : CU_OK;
}
