/* runtime/streams.c -- streams: work is kept or done; and streams of devices on the host, where synchronous ones do the work
 * in the call and asynchronous ones pass it through a ring to a thread.
 *
 * The ring is allocated with the stream, so giving work never allocates; when it is full the giver waits for a place.
 * Only the giver's thread moves `given`, only the stream's thread moves `taken`, each after what it tells of is done. Both
 * spin a little before they sleep (waits.h): a thread that still spins has its work within a microsecond.
 */
#include "runtime/streams.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "runtime/graphs.h"

typedef enum WorkKind { WORK_LAUNCH, WORK_COPY, WORK_CLEAR, WORK_GRAPH, WORK_RECORD, WORK_AWAIT, WORK_STOP } WorkKind;

typedef struct Work {
  WorkKind kind;
  union {
    struct {
      RtLaunch launch;
      _Alignas(16) char args[RT_MAX_ARGS];
    };
    RtView view[2];
    RtGraph *graph;
    struct {
      RtEvent *event;
      uint64_t ticket;
    };
  };
} Work;

enum { PLACES = 64 };

typedef struct HostStream {
  RtStream base;
  RtFaultCopy fault; /* of an asynchronous stream: its thread's until all work is taken */

  pthread_t thread;
  int64_t spin_time;
  Work *ring;        /* PLACES */
  uint64_t count;    /* the giver's: of work given */
  RtLeaving leaving; /* the giver's: by the count of the work that comes before */
  RtMark given;
  char apart[64]; /* the two marks lie in lines of their own */
  RtMark taken;
} HostStream;

/* --- kept or done --- */

HdStatus hdrt_stream_launch(RtStream *s, const RtLaunch *l, size_t args_size, HdError *err) {
  return s->keeping ? hdrt_graph_add_launch(s->keeping, l, args_size, err) : s->ops->launch(s, l, args_size, err);
}

/* A stream of a device on the host moves the host's memory only. */
static HdStatus check_view(const RtStream *s, const RtView *v, const char *arg, HdError *err) {
  if (!v->on || !s->device->ops->run) return HD_OK;
  return hdb_fail(err, HD_ERR_DEVICE, arg, "it is in the memory of device '%s'; use a stream of that device",
                  v->on->ops->name);
}

HdStatus hdrt_stream_copy(RtStream *s, const RtView *from, const RtView *to, HdError *err) {
  HD_TRY(check_view(s, from, "from", err));
  HD_TRY(check_view(s, to, "to", err));
  return s->keeping ? hdrt_graph_add_copy(s->keeping, from, to, err) : s->ops->copy(s, from, to, err);
}

HdStatus hdrt_stream_clear(RtStream *s, const RtView *v, HdError *err) {
  HD_TRY(check_view(s, v, "a", err));
  return s->keeping ? hdrt_graph_add_clear(s->keeping, v, err) : s->ops->clear(s, v, err);
}

HdStatus hdrt_stream_graph(RtStream *s, RtGraph *g, HdError *err) {
  if (s->keeping)
    return hdb_fail(err, HD_ERR_UNSUPPORTED, "stream", "it is keeping work, and a graph cannot hold a graph");
  return s->ops->graph(s, g, err);
}

/* --- doing --- */

static void copy_text(char *to, size_t size, const char *from) {
  size_t n = from ? strnlen(from, size - 1) : 0;
  if (n) memcpy(to, from, n);
  to[n] = 0;
}

static void keep_fault(RtFaultCopy *to, const RtLaunch *l, const RtFault *f) {
  if (to->status != HD_OK) return;
  to->status = f->status ? (HdStatus)f->status : HD_ERR_FAULT;
  copy_text(to->kernel, sizeof to->kernel, l->code->kernel);
  copy_text(to->text, sizeof to->text, f->text);
  copy_text(to->file, sizeof to->file, f->file);
  to->line = f->line;
  to->column = f->column;
  to->has_index = f->has_index;
  to->index = f->index;
  to->limit = f->limit;
  to->ndim = l->ndim;
  memcpy(to->tid, f->tid, sizeof to->tid);
}

static void run_launch(HostStream *s, const RtLaunch *l, const HdAllocator *mem, RtFault *fault) {
  fault->state = 0;
  fault->status = 0;
  s->base.device->ops->run(s->base.device, l, mem, fault, &s->base.printer);
  hdrt_printer_launch_ends(&s->base.printer);
}

/* On the stream's own thread. The context's allocator belongs to the thread that calls into the context. */
static void launch_apart(HostStream *s, const RtLaunch *l) {
  RtFault fault;
  run_launch(s, l, NULL, &fault);
  if (fault.state) keep_fault(&s->fault, l, &fault);
}

static void launch_now(HostStream *s, const RtLaunch *l) {
  RtFault fault;
  run_launch(s, l, s->base.device->mem, &fault);
  if (!fault.state) return;
  keep_fault(&s->fault, l, &fault);
  s->base.faulted = true;
}

static void run_graph(HostStream *s, RtGraph *g, void (*launch)(HostStream *s, const RtLaunch *l)) {
  for (int32_t i = 0; i < g->count; i++) {
    const RtNode *n = &g->nodes[i];
    switch (n->kind) {
    case RT_NODE_LAUNCH: launch(s, &n->launch); break;
    case RT_NODE_COPY: hdrt_view_copy(&n->view[0], &n->view[1]); break;
    case RT_NODE_CLEAR: hdrt_view_clear(&n->view[0]); break;
    }
  }
}

static void do_work(HostStream *s, Work *w) {
  switch (w->kind) {
  case WORK_LAUNCH:
    w->launch.args = w->args;
    launch_apart(s, &w->launch);
    return;
  case WORK_COPY: hdrt_view_copy(&w->view[0], &w->view[1]); return;
  case WORK_CLEAR: hdrt_view_clear(&w->view[0]); return;
  case WORK_GRAPH: run_graph(s, w->graph, launch_apart); return;
  case WORK_RECORD: hdrt_host_event_happen(w->event, w->ticket); return;
  case WORK_AWAIT: hdrt_host_event_await(w->event, w->ticket); return;
  case WORK_STOP: return;
  }
}

static void *stream_main(void *arg) {
  HostStream *s = arg;
  for (uint32_t n = 0;; n++) {
    hdrt_mark_await(&s->given, n + 1, s->spin_time);
    Work *w = &s->ring[n % PLACES];
    if (w->kind == WORK_STOP) return NULL;
    do_work(s, w);
    hdrt_mark_move(&s->taken, n + 1);
  }
}

/* --- giving --- */

/* The next place of the ring, once there is one; only the giver's thread comes here. */
static Work *place(HostStream *s) {
  hdrt_mark_await(&s->taken, (uint32_t)s->count + 1 - PLACES, s->spin_time);
  return &s->ring[s->count % PLACES];
}

static void give(HostStream *s) { hdrt_mark_move(&s->given, (uint32_t)++s->count); }

static void wait_for_all(HostStream *s) { hdrt_mark_await(&s->taken, (uint32_t)s->count, s->spin_time); }

static HdStatus host_launch(RtStream *base, const RtLaunch *l, size_t args_size, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  if (!base->async) {
    launch_now(s, l);
    return HD_OK;
  }
  Work *w = place(s);
  w->kind = WORK_LAUNCH;
  w->launch = *l;
  memcpy(w->args, l->args, args_size);
  give(s);
  return HD_OK;
}

static HdStatus host_copy(RtStream *base, const RtView *from, const RtView *to, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  if (!base->async) {
    hdrt_view_copy(from, to);
    return HD_OK;
  }
  Work *w = place(s);
  w->kind = WORK_COPY;
  w->view[0] = *from;
  w->view[1] = *to;
  give(s);
  return HD_OK;
}

static HdStatus host_clear(RtStream *base, const RtView *v, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  if (!base->async) {
    hdrt_view_clear(v);
    return HD_OK;
  }
  Work *w = place(s);
  w->kind = WORK_CLEAR;
  w->view[0] = *v;
  give(s);
  return HD_OK;
}

static HdStatus host_record(RtStream *base, RtEvent *e, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  uint64_t ticket = hdrt_host_event_ticket(e);
  if (!base->async) {
    hdrt_host_event_happen(e, ticket);
    return HD_OK;
  }
  Work *w = place(s);
  w->kind = WORK_RECORD;
  w->event = e;
  w->ticket = ticket;
  give(s);
  return HD_OK;
}

static HdStatus host_await(RtStream *base, RtEvent *e, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  uint64_t ticket = hdrt_host_event_need(e);
  if (!base->async) {
    hdrt_host_event_await(e, ticket);
    return HD_OK;
  }
  Work *w = place(s);
  w->kind = WORK_AWAIT;
  w->event = e;
  w->ticket = ticket;
  give(s);
  return HD_OK;
}

/* Launches of one graph follow one another on whatever streams. */
static HdStatus host_graph(RtStream *base, RtGraph *g, HdError *err) {
  HostStream *s = (HostStream *)base;
  if (!base->async) {
    hdrt_graph_await(g);
    run_graph(s, g, launch_now);
    return HD_OK;
  }
  if (!g->done) HD_TRY(hdrt_host_event_new(base->device, err, &g->done));
  if (g->by && g->by != base) HD_TRY(host_await(base, g->done, err));
  Work *w = place(s);
  w->kind = WORK_GRAPH;
  w->graph = g;
  give(s);
  g->by = base;
  return host_record(base, g->done, err);
}

/* --- memory --- */

/* Only the giver's thread frees: the pool is its. */
static void let_go(HostStream *s) {
  if (!s->leaving.first) return;
  uint32_t behind = (uint32_t)s->count - hdrt_mark_at(&s->taken);
  hdrt_blocks_left(&s->leaving, s->count - behind);
}

static HdStatus host_alloc(RtStream *base, size_t size, HdError *err, HdBlock **out, void **data) {
  let_go((HostStream *)base);
  return base->device->ops->alloc(base->device, size, err, out, data);
}

static void host_release(RtStream *base, HdBlock *b) {
  HostStream *s = (HostStream *)base;
  if (!base->async) {
    base->device->ops->free(base->device, b);
    return;
  }
  hdrt_block_leave(&s->leaving, b, s->count);
  let_go(s);
}

static HdStatus host_wait(RtStream *base, RtFaultCopy *fault, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  if (base->async) {
    wait_for_all(s);
    hdrt_blocks_left(&s->leaving, s->count);
  }
  *fault = s->fault;
  s->fault.status = HD_OK;
  base->faulted = false;
  return fault->status;
}

/* --- life --- */

static HdStatus start_thread(HostStream *s, HdError *err) {
  const HdAllocator *mem = s->base.device->mem;
  s->ring = mem->resize(mem->user, NULL, 0, PLACES * sizeof(Work));
  if (!s->ring) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for a stream", PLACES * sizeof(Work));
  s->spin_time = hdrt_spin_time();
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int rc = pthread_create(&s->thread, NULL, stream_main, s);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (rc == 0) return HD_OK;
  mem->resize(mem->user, s->ring, PLACES * sizeof(Work), 0);
  return hdb_fail(err, HD_ERR_SYSTEM, "", "the stream's thread could not be started: %s", strerror(rc));
}

static void host_stream_free(RtStream *base) {
  HostStream *s = (HostStream *)base;
  RtDevice *d = base->device;
  if (base->async) {
    place(s)->kind = WORK_STOP;
    give(s);
    pthread_join(s->thread, NULL);
    hdrt_blocks_left(&s->leaving, s->count);
    d->mem->resize(d->mem->user, s->ring, PLACES * sizeof(Work), 0);
  }
  __atomic_fetch_sub(&d->async, base->async, __ATOMIC_RELAXED);
  hdrt_printer_end(&base->printer);
  d->mem->resize(d->mem->user, s, sizeof *s, 0);
}

static const RtStreamOps host_stream_ops = {host_stream_free, host_launch, host_copy, host_clear, host_graph,
                                            host_record,      host_await,  host_wait, host_alloc, host_release};

HdStatus hdrt_host_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out) {
  HostStream *s = d->mem->resize(d->mem->user, NULL, 0, sizeof *s);
  if (!s) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for a stream", sizeof *s);
  memset(s, 0, sizeof *s);
  s->base = (RtStream){.ops = &host_stream_ops, .device = d, .async = async};
  hdrt_printer_init(&s->base.printer);
  HdStatus status = async ? start_thread(s, err) : HD_OK;
  if (status != HD_OK) {
    hdrt_printer_end(&s->base.printer);
    d->mem->resize(d->mem->user, s, sizeof *s, 0);
    return status;
  }
  __atomic_fetch_add(&d->async, async, __ATOMIC_RELAXED);
  *out = &s->base;
  return HD_OK;
}
