/* runtime/streams.c -- streams of devices on the host: synchronous ones do the work in the call,
 * asynchronous ones pass it through a ring to a thread.
 *
 * The ring is allocated with the stream, so giving work never allocates; when it is full the giver waits for a place.
 * Only the giver's thread moves `given`, only the stream's thread moves `taken`; one mutex guards both.
 */
#include "runtime/streams.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

typedef enum WorkKind { WORK_LAUNCH, WORK_COPY, WORK_CLEAR } WorkKind;

typedef struct Work {
  WorkKind kind;
  union {
    struct {
      RtLaunch launch;
      _Alignas(16) char args[RT_MAX_ARGS];
    };
    RtView view[2];
  };
} Work;

enum { PLACES = 64 };

typedef struct HostStream {
  RtStream base;
  RtFaultCopy fault; /* of an asynchronous stream: guarded by the mutex */

  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed; /* given, taken or stop */
  uint64_t given, taken;
  bool stop;
  Work *ring; /* PLACES */
} HostStream;

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
  s->base.device->ops->run(s->base.device, l, mem, fault);
}

static void do_work(HostStream *s, Work *w) {
  RtFault fault;
  switch (w->kind) {
  case WORK_LAUNCH:
    w->launch.args = w->args;
    /* The context's allocator belongs to the thread that calls into the context. */
    run_launch(s, &w->launch, NULL, &fault);
    if (fault.state) {
      pthread_mutex_lock(&s->lock);
      keep_fault(&s->fault, &w->launch, &fault);
      pthread_mutex_unlock(&s->lock);
    }
    return;
  case WORK_COPY: hdrt_view_copy(&w->view[0], &w->view[1]); return;
  case WORK_CLEAR: hdrt_view_clear(&w->view[0]); return;
  }
}

static void *stream_main(void *arg) {
  HostStream *s = arg;
  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (s->taken == s->given && !s->stop) pthread_cond_wait(&s->changed, &s->lock);
    if (s->taken == s->given) break;
    Work *w = &s->ring[s->taken % PLACES];
    pthread_mutex_unlock(&s->lock);
    do_work(s, w);
    pthread_mutex_lock(&s->lock);
    s->taken++;
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* --- giving --- */

/* The next place of the ring, once there is one; only the giver's thread comes here. */
static Work *place(HostStream *s) {
  pthread_mutex_lock(&s->lock);
  while (s->given - s->taken == PLACES) pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
  return &s->ring[s->given % PLACES];
}

static void give(HostStream *s) {
  pthread_mutex_lock(&s->lock);
  s->given++;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static HdStatus host_launch(RtStream *base, const RtLaunch *l, size_t args_size, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  if (!base->async) {
    RtFault fault;
    run_launch(s, l, base->device->mem, &fault);
    if (fault.state) {
      keep_fault(&s->fault, l, &fault);
      base->faulted = true;
    }
    return HD_OK;
  }
  Work *w = place(s);
  w->kind = WORK_LAUNCH;
  w->launch = *l;
  memcpy(w->args, l->args, args_size);
  give(s);
  return HD_OK;
}

static HdStatus on_host(const RtView *v, const char *arg, HdError *err) {
  if (!v->on) return HD_OK;
  return hdb_fail(err, HD_ERR_DEVICE, arg, "it is in the memory of device '%s'; use a stream of that device",
                  v->on->ops->name);
}

static HdStatus host_copy(RtStream *base, const RtView *from, const RtView *to, HdError *err) {
  HostStream *s = (HostStream *)base;
  HD_TRY(on_host(from, "from", err));
  HD_TRY(on_host(to, "to", err));
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
  HD_TRY(on_host(v, "a", err));
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

static HdStatus host_wait(RtStream *base, RtFaultCopy *fault, HdError *err) {
  HostStream *s = (HostStream *)base;
  (void)err;
  if (base->async) {
    pthread_mutex_lock(&s->lock);
    while (s->taken != s->given) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
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
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int rc = pthread_create(&s->thread, NULL, stream_main, s);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (rc == 0) return HD_OK;
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
  mem->resize(mem->user, s->ring, PLACES * sizeof(Work), 0);
  return hdb_fail(err, HD_ERR_SYSTEM, "", "the stream's thread could not be started: %s", strerror(rc));
}

static void host_stream_free(RtStream *base) {
  HostStream *s = (HostStream *)base;
  RtDevice *d = base->device;
  if (base->async) {
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    d->mem->resize(d->mem->user, s->ring, PLACES * sizeof(Work), 0);
  }
  __atomic_fetch_sub(&d->async, base->async, __ATOMIC_RELAXED);
  d->mem->resize(d->mem->user, s, sizeof *s, 0);
}

static const RtStreamOps host_stream_ops = {host_stream_free, host_launch, host_copy, host_clear, host_wait};

HdStatus hdrt_host_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out) {
  HostStream *s = d->mem->resize(d->mem->user, NULL, 0, sizeof *s);
  if (!s) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for a stream", sizeof *s);
  memset(s, 0, sizeof *s);
  s->base = (RtStream){&host_stream_ops, d, async, false};
  HdStatus status = async ? start_thread(s, err) : HD_OK;
  if (status != HD_OK) {
    d->mem->resize(d->mem->user, s, sizeof *s, 0);
    return status;
  }
  __atomic_fetch_add(&d->async, async, __ATOMIC_RELAXED);
  *out = &s->base;
  return HD_OK;
}
