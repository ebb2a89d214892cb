/* tests/fakecuda/fake_capture.c -- work of streams recorded as graphs, and what may not happen meanwhile.
 *
 * A stream in capture has a tail: the nodes that its next one depends on. Recording an event keeps the tail, waiting for
 * it adds that to the tail of the waiting stream, which joins the capture if it was in none.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED, MODES };
enum { STATUS_NONE, STATUS_ACTIVE, STATUS_INVALID };
enum { NON_BLOCKING = 1 };

static __thread int thread_mode;
static __thread char thread_here; /* its address names the thread */

static int fail(FkCapture *c, int code) {
  c->invalid = true;
  fk_log("the capture is invalid: %d", code);
  return code;
}

static bool forbids(const FkCapture *c) {
  bool mine = c->thread == &thread_here;
  if (thread_mode == MODE_RELAXED || c->mode == MODE_RELAXED) return false;
  return mine || (thread_mode == MODE_GLOBAL && c->mode == MODE_GLOBAL);
}

int fk_unsafe(void) {
  int code = CU_OK;
  for (FkCapture *c = fk.captures; c; c = c->next)
    if (forbids(c)) code = fail(c, CU_CAPTURE_UNSUPPORTED);
  return code;
}

int fk_capture_legacy(const FkContext *c) {
  for (const FkStream *s = c->streams; s; s = s->next)
    if (s->capture && !(s->flags & NON_BLOCKING)) return CU_CAPTURE_IMPLICIT;
  return CU_OK;
}

int fk_capture_blocks(FkStream *s) {
  if (s->capture) return s->capture->invalid ? CU_CAPTURE_INVALIDATED : fail(s->capture, CU_CAPTURE_UNSUPPORTED);
  if (s != &s->context->legacy || !fk_capture_legacy(s->context)) return CU_OK;
  for (FkStream *o = s->context->streams; o; o = o->next)
    if (o->capture && !(o->flags & NON_BLOCKING)) (void)fail(o->capture, CU_CAPTURE_IMPLICIT);
  return CU_CAPTURE_IMPLICIT;
}

/* --- tails --- */

static void tail_set(FkStream *s, FkNode *const *nodes, uint32_t n) {
  FkNode **v = fk_new((n + 1) * sizeof *v);
  if (n) memcpy(v, nodes, n * sizeof(FkNode *));
  free(s->tail);
  s->tail = v, s->ntail = n;
}

static void tail_add(FkStream *s, FkNode *const *nodes, uint32_t n) {
  FkNode **v = fk_new((s->ntail + n + 1) * sizeof *v);
  uint32_t k = s->ntail;
  if (k) memcpy(v, s->tail, k * sizeof(FkNode *));
  for (uint32_t i = 0; i < n; i++) {
    bool has = false;
    for (uint32_t j = 0; j < k; j++) has |= v[j] == nodes[i];
    if (!has) v[k++] = nodes[i];
  }
  free(s->tail);
  s->tail = v, s->ntail = k;
}

static void add_node(FkStream *s, FkNode *node) { tail_set(s, &node, 1); }

int fk_capture_op(FkStream *s, FkOp *op, FkNodeType type) {
  if (s->capture->invalid) {
    fk_op_free(op);
    return CU_CAPTURE_INVALIDATED;
  }
  FkEvent *event = op->event;
  if (type == NODE_EMPTY || type == NODE_RECORD || type == NODE_WAIT) fk_op_free(op), op = NULL;
  FkNode *node = fk_node_new(s->capture->graph, type, op, s->tail, s->ntail);
  node->event = event;
  add_node(s, node);
  return CU_OK;
}

int fk_capture_graph(FkStream *s, const FkGraph *g) {
  if (s->capture->invalid) return CU_CAPTURE_INVALIDATED;
  FkNode *node = fk_node_new(s->capture->graph, NODE_GRAPH, NULL, s->tail, s->ntail);
  node->child = fk_graph_copy(g, true);
  add_node(s, node);
  return CU_OK;
}

int fk_capture_record(FkStream *s, FkEvent *e) {
  if (s->capture->invalid) return CU_CAPTURE_INVALIDATED;
  free(e->nodes);
  e->nodes = fk_new((s->ntail + 1) * sizeof *e->nodes);
  if (s->ntail) memcpy(e->nodes, s->tail, s->ntail * sizeof(FkNode *));
  e->nnodes = s->ntail, e->captured = s->capture->id, e->stream = NULL;
  return CU_OK;
}

static FkCapture *capture_of(uint64_t id) {
  for (FkCapture *c = fk.captures; c; c = c->next)
    if (c->id == id) return c;
  return NULL;
}

int fk_capture_wait(FkStream *s, FkEvent *e, bool external) {
  FkCapture *c = s->capture;
  if (c && c->invalid) return CU_CAPTURE_INVALIDATED;
  if (external) {
    if (!c) return CU_ILLEGAL_STATE;
    FkOp *op = fk_op(FK_NOTHING);
    op->event = e;
    return fk_capture_op(s, op, NODE_WAIT);
  }
  if (!e->captured) return e->stream ? fail(c, CU_CAPTURE_ISOLATION) : CU_OK;
  FkCapture *other = capture_of(e->captured);
  if (!other) return c ? fail(c, CU_CAPTURE_MERGE) : CU_CAPTURED_EVENT;
  if (other->invalid) return CU_CAPTURE_INVALIDATED;
  if (c && c != other) {
    (void)fail(other, CU_CAPTURE_MERGE);
    return fail(c, CU_CAPTURE_MERGE);
  }
  if (s == &s->context->legacy) return fail(other, CU_CAPTURE_IMPLICIT);
  if (!c) s->capture = other, tail_set(s, NULL, 0);
  tail_add(s, e->nodes, e->nnodes);
  return CU_OK;
}

/* --- beginning and ending --- */

static int begin(FkStream *s, int mode, FkGraph *into, FkNode *const *deps, size_t ndeps) {
  if (mode < 0 || mode >= MODES) return CU_INVALID_VALUE;
  if (s == &s->context->legacy) return CU_CAPTURE_UNSUPPORTED;
  if (s->capture) return CU_ILLEGAL_STATE;
  for (size_t k = 0; k < ndeps; k++)
    if (!into || !fk_node(deps[k]) || deps[k]->graph != into) return CU_INVALID_VALUE;
  FkCapture *c = FK_NEW(FkCapture);
  *c = (FkCapture){.id = ++fk.ids,
                   .mode = mode,
                   .origin = s,
                   .thread = &thread_here,
                   .graph = into ? into : fk_graph_new(true),
                   .borrowed = into != NULL,
                   .next = fk.captures};
  fk.captures = c;
  s->capture = c;
  tail_set(s, deps, (uint32_t)ndeps);
  return CU_OK;
}
FK_API int cuStreamBeginCapture_v2(void *stream, int mode) {
  ENTER_ANY_STREAM(stream);
  return begin(s, mode, NULL, NULL, 0);
}
FK_API int cuStreamBeginCapture(void *stream) {
  ENTER_ANY_STREAM(stream);
  return begin(s, MODE_GLOBAL, NULL, NULL, 0);
}
FK_API int cuStreamBeginCaptureToGraph(void *stream, void *graph, void *const *deps, const CuEdge *edges, size_t n,
                                       int mode) {
  ENTER_ANY_STREAM(stream);
  FkGraph *g = fk_graph(graph);
  if (!g || (n && !deps) || fk_captures_into(g)) return CU_INVALID_VALUE;
  for (size_t k = 0; edges && k < n; k++)
    if (edges[k].type || edges[k].from_port || edges[k].to_port) return CU_NOT_SUPPORTED;
  return begin(s, mode, g, (FkNode *const *)deps, n);
}

bool fk_captures_into(const FkGraph *g) {
  for (const FkCapture *c = fk.captures; c; c = c->next)
    if (c->graph == g) return true;
  return false;
}

/* Does `node` come before or stand in the tail of s? */
static bool reached(const FkNode *node, FkNode *const *from, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (from[k] == node || reached(node, from[k]->deps, from[k]->ndeps)) return true;
  return false;
}

static bool is_joined(const FkCapture *c) {
  for (const FkContext *x = fk.contexts; x; x = x->next)
    for (const FkStream *s = x->streams; s; s = s->next)
      for (uint32_t k = 0; s->capture == c && k < s->ntail; k++)
        if (!reached(s->tail[k], c->origin->tail, c->origin->ntail)) return false;
  return true;
}

/* The streams of a capture are free again; its events stay bound to what is over. */
static void over(FkCapture *c) {
  for (FkContext *x = fk.contexts; x; x = x->next)
    for (FkStream *s = x->streams; s; s = s->next)
      if (s->capture == c) s->capture = NULL, tail_set(s, NULL, 0);
  for (FkCapture **p = &fk.captures; *p; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
  free(c);
}

FK_API int cuStreamEndCapture(void *stream, void **graph) {
  ENTER_ANY_STREAM(stream);
  FkCapture *c = s->capture;
  if (!graph) return CU_INVALID_VALUE;
  if (!c) return CU_ILLEGAL_STATE;
  if (c->origin != s) return fail(c, CU_CAPTURE_UNMATCHED);
  if (c->mode != MODE_RELAXED && c->thread != &thread_here) return fail(c, CU_CAPTURE_WRONG_THREAD);
  int code = c->invalid ? CU_CAPTURE_INVALIDATED : is_joined(c) ? CU_OK : CU_CAPTURE_UNJOINED;
  if (code && !c->borrowed) fk_graph_free(c->graph);
  *graph = code ? NULL : c->graph;
  over(c);
  return code;
}

void fk_capture_end_of(FkStream *s) {
  FkCapture *c = s->capture;
  if (!c) return;
  s->capture = NULL, s->ntail = 0;
  c->invalid = true;
  if (c->origin != s) return;
  if (!c->borrowed) fk_graph_free(c->graph);
  over(c);
}

/* --- what a stream says about it --- */

static int status(const FkStream *s) {
  return !s->capture ? STATUS_NONE : s->capture->invalid ? STATUS_INVALID : STATUS_ACTIVE;
}

static bool is_blocked(const FkStream *s) { return s == &s->context->legacy && fk_capture_legacy(s->context); }

FK_API int cuStreamIsCapturing(void *stream, int *out) {
  ENTER_ANY_STREAM(stream);
  if (!out) return CU_INVALID_VALUE;
  if (is_blocked(s)) return CU_CAPTURE_IMPLICIT;
  *out = status(s);
  return CU_OK;
}

static int info(const FkStream *s, int *out, uint64_t *id, void **graph, void ***deps, size_t *n) {
  if (!out) return CU_INVALID_VALUE;
  if (is_blocked(s)) return CU_CAPTURE_IMPLICIT;
  *out = status(s);
  if (*out != STATUS_ACTIVE) return CU_OK;
  if (id) *id = s->capture->id;
  if (graph) *graph = s->capture->graph;
  if (deps) *deps = (void **)s->tail;
  if (n) *n = s->ntail;
  return CU_OK;
}
FK_API int cuStreamGetCaptureInfo(void *stream, int *out, uint64_t *id) {
  ENTER_ANY_STREAM(stream);
  return info(s, out, id, NULL, NULL, NULL);
}
FK_API int cuStreamGetCaptureInfo_v2(void *stream, int *out, uint64_t *id, void **graph, void ***deps, size_t *n) {
  ENTER_ANY_STREAM(stream);
  return info(s, out, id, graph, deps, n);
}
/* All edges are plain: their data is a row of zeros. */
FK_API int cuStreamGetCaptureInfo_v3(void *stream, int *out, uint64_t *id, void **graph, void ***deps,
                                     const CuEdge **edges, size_t *n) {
  static const CuEdge plain[64];
  ENTER_ANY_STREAM(stream);
  if (edges && (!deps || s->ntail > 64)) return CU_INVALID_VALUE;
  if (edges) *edges = plain;
  return info(s, out, id, graph, deps, n);
}

static int update(FkStream *s, void *const *deps, size_t n, unsigned flags) {
  enum { ADD = 0, SET = 1 };
  if (!s->capture) return CU_ILLEGAL_STATE;
  if (flags > SET || (n && !deps)) return CU_INVALID_VALUE;
  for (size_t k = 0; k < n; k++)
    if (!fk_node(deps[k]) || fk_node(deps[k])->graph != s->capture->graph) return CU_INVALID_VALUE;
  if (flags == SET)
    tail_set(s, (FkNode *const *)deps, (uint32_t)n);
  else
    tail_add(s, (FkNode *const *)deps, (uint32_t)n);
  return CU_OK;
}
FK_API int cuStreamUpdateCaptureDependencies(void *stream, void **deps, size_t n, unsigned flags) {
  ENTER_ANY_STREAM(stream);
  return update(s, deps, n, flags);
}
FK_API int cuStreamUpdateCaptureDependencies_v2(void *stream, void **deps, const CuEdge *edges, size_t n,
                                                unsigned flags) {
  ENTER_ANY_STREAM(stream);
  (void)edges;
  return update(s, deps, n, flags);
}

FK_API int cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER(true);
  if (!mode || *mode < 0 || *mode >= MODES) return CU_INVALID_VALUE;
  int was = thread_mode;
  thread_mode = *mode;
  *mode = was;
  return CU_OK;
}
