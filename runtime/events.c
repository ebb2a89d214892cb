/* runtime/events.c -- events of devices on the host: a count of the times that one was recorded, and how far it came.
 *
 * A stream is given the number of the time it records or waits for, so recording again does not move what a stream is
 * waiting for already. Streams that hold such a number are counted: the event outlives them.
 */
#include "runtime/events.h"

#include <pthread.h>
#include <string.h>

#include "runtime/threads.h"

typedef struct HostEvent {
  RtEvent base;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t recorded, happened; /* times; the latter is looked at without the lock too */
  uint64_t needed;             /* streams that hold a ticket */
  int64_t spin_time;
  int64_t at; /* of the last time that it happened [ns] */
} HostEvent;

uint64_t hdrt_host_event_ticket(RtEvent *base) {
  HostEvent *e = (HostEvent *)base;
  pthread_mutex_lock(&e->lock);
  uint64_t ticket = ++e->recorded;
  e->needed++;
  pthread_mutex_unlock(&e->lock);
  return ticket;
}

void hdrt_host_event_happen(RtEvent *base, uint64_t ticket) {
  HostEvent *e = (HostEvent *)base;
  int64_t now = hdrt_now();
  pthread_mutex_lock(&e->lock);
  if (ticket > e->happened) { /* two streams may come in any order */
    e->at = now;
    __atomic_store_n(&e->happened, ticket, __ATOMIC_RELEASE);
  }
  e->needed--;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->lock);
}

uint64_t hdrt_host_event_need(RtEvent *base) {
  HostEvent *e = (HostEvent *)base;
  pthread_mutex_lock(&e->lock);
  uint64_t ticket = e->recorded;
  e->needed++;
  pthread_mutex_unlock(&e->lock);
  return ticket;
}

void hdrt_host_event_await(RtEvent *base, uint64_t ticket) {
  HostEvent *e = (HostEvent *)base;
  RtSpin s = {.time = e->spin_time};
  while (__atomic_load_n(&e->happened, __ATOMIC_ACQUIRE) < ticket && hdrt_spin(&s)) continue;
  pthread_mutex_lock(&e->lock);
  while (e->happened < ticket) pthread_cond_wait(&e->changed, &e->lock);
  e->needed--;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->lock);
}

static HdStatus host_wait(RtEvent *base, HdError *err) {
  (void)err;
  hdrt_host_event_await(base, hdrt_host_event_need(base));
  return HD_OK;
}

static bool when(HostEvent *e, int64_t *at) {
  pthread_mutex_lock(&e->lock);
  bool done = e->recorded && e->happened == e->recorded;
  *at = e->at;
  pthread_mutex_unlock(&e->lock);
  return done;
}

static HdStatus host_elapsed(RtEvent *from, RtEvent *to, double *ms, HdError *err) {
  int64_t a, b;
  if (!when((HostEvent *)from, &a)) return hdb_fail(err, HD_ERR_BUSY, "from", "it has not happened");
  if (!when((HostEvent *)to, &b)) return hdb_fail(err, HD_ERR_BUSY, "to", "it has not happened");
  *ms = (double)(b - a) * 1e-6;
  return HD_OK;
}

static void host_free(RtEvent *base) {
  HostEvent *e = (HostEvent *)base;
  const HdAllocator *mem = base->device->mem;
  pthread_mutex_lock(&e->lock);
  while (e->needed) pthread_cond_wait(&e->changed, &e->lock);
  pthread_mutex_unlock(&e->lock);
  pthread_cond_destroy(&e->changed);
  pthread_mutex_destroy(&e->lock);
  mem->resize(mem->user, e, sizeof *e, 0);
}

static const RtEventOps host_event_ops = {host_free, host_wait, host_elapsed};

HdStatus hdrt_host_event_new(RtDevice *d, HdError *err, RtEvent **out) {
  HostEvent *e = d->mem->resize(d->mem->user, NULL, 0, sizeof *e);
  if (!e) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for an event", sizeof *e);
  memset(e, 0, sizeof *e);
  e->base = (RtEvent){&host_event_ops, d};
  e->spin_time = hdrt_spin_time();
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->changed, NULL);
  *out = &e->base;
  return HD_OK;
}
