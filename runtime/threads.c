/* runtime/threads.c -- persistent workers that claim items of a job from one 64-bit cursor.
 *
 * The cursor holds the job's number above and the next item below, so that one compare-and-swap both claims an item and
 * proves that the job is still the one whose record was read (nanothread and the study of launches agree on the shape).
 * The record is guarded like a seqlock: the caller closes the cursor, then writes the record with release stores; a
 * worker that has seen any of the new record sees the closed cursor too, and its claim on the old one fails.
 * Completion counts items, not workers. Whoever has to wait spins a little, then sleeps (waits.h).
 */
#include "runtime/threads.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* Waking a sleeper costs the caller 10 us on a virtual machine: work shorter than this is not worth it. */
enum { WAKE_NS = 50000 };

enum { INDEX_BITS = 24 };
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)
#define CLOSED INDEX_MASK /* an index that no job reaches */
static_assert(RT_MAX_ITEMS < (int64_t)CLOSED, "the closed cursor must lie beyond every job");

struct RtThreads {
  _Alignas(64) _Atomic uint64_t cursor;
  /* The record of the job. */
  _Alignas(64) _Atomic(RtItemFn) fn;
  _Atomic(void *) job;
  _Atomic uint32_t count;
  /* Written by those who work. */
  _Alignas(64) uint32_t done; /* items; the caller sleeps on it */
  _Atomic uint32_t caller_sleeps;
  _Alignas(64) uint32_t signal; /* idle workers sleep on it */
  _Atomic uint32_t sleepers;
  _Atomic uint32_t stop;
  _Atomic uint32_t taken; /* a caller has the workers */

  uint64_t epoch; /* of the caller that has the workers */
  int64_t spin_time;
  HdAllocator mem;
  void *raw; /* the allocation, before alignment */
  size_t raw_size;
  int32_t nworkers;
  pthread_t worker[];
};

/* --- claiming --- */

typedef struct Claim {
  RtItemFn fn;
  void *job;
  uint32_t item, count;
} Claim;

static bool claim(RtThreads *t, Claim *out) {
  uint64_t at = atomic_load_explicit(&t->cursor, memory_order_acquire);
  for (;;) {
    out->item = (uint32_t)(at & INDEX_MASK);
    out->count = atomic_load_explicit(&t->count, memory_order_acquire);
    out->fn = atomic_load_explicit(&t->fn, memory_order_acquire);
    out->job = atomic_load_explicit(&t->job, memory_order_acquire);
    if (out->item >= out->count) return false;
    if (atomic_compare_exchange_weak_explicit(&t->cursor, &at, at + 1, memory_order_acq_rel, memory_order_acquire))
      return true;
  }
}

static void work(RtThreads *t, const Claim *c) {
  uint32_t count = c->count;
  c->fn(c->job, c->item);
  /* From here on the job may be over and its memory gone; only the pool itself may be touched. */
  if (__atomic_add_fetch(&t->done, 1, __ATOMIC_SEQ_CST) == count && atomic_load(&t->caller_sleeps))
    hdrt_wake(&t->done, 1);
}

/* --- workers --- */

static bool spin_for_work(RtThreads *t, Claim *c) {
  RtSpin s = {.time = t->spin_time};
  do {
    if (claim(t, c)) return true;
  } while (hdrt_spin(&s) && !atomic_load_explicit(&t->stop, memory_order_relaxed));
  return false;
}

static void *worker_main(void *arg) {
  RtThreads *t = arg;
  Claim c;
  for (;;) {
    while (spin_for_work(t, &c)) work(t, &c);
    /* Announce the sleep, then look once more: the caller stores the cursor before it counts sleepers. */
    uint32_t seen = __atomic_load_n(&t->signal, __ATOMIC_SEQ_CST);
    atomic_fetch_add(&t->sleepers, 1);
    bool found = claim(t, &c);
    if (!found && !atomic_load(&t->stop)) hdrt_sleep_while(&t->signal, seen);
    atomic_fetch_sub(&t->sleepers, 1);
    if (found) work(t, &c);
    if (atomic_load(&t->stop)) return NULL;
  }
}

static void wake_workers(RtThreads *t, int64_t wanted) {
  if (atomic_load(&t->sleepers) == 0) return;
  __atomic_fetch_add(&t->signal, 1, __ATOMIC_SEQ_CST);
  hdrt_wake(&t->signal, wanted > INT_MAX ? INT_MAX : (int)wanted);
}

/* --- the caller's side --- */

static void wait_done(RtThreads *t, uint32_t count) {
  RtSpin s = {.time = t->spin_time};
  do {
    if (__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) == count) return;
  } while (hdrt_spin(&s));
  atomic_store(&t->caller_sleeps, 1);
  for (uint32_t done; (done = __atomic_load_n(&t->done, __ATOMIC_SEQ_CST)) != count;) hdrt_sleep_while(&t->done, done);
  atomic_store(&t->caller_sleeps, 0);
}

static void publish(RtThreads *t, uint32_t count, RtItemFn fn, void *job) {
  __atomic_store_n(&t->done, 0, __ATOMIC_RELAXED);
  atomic_store_explicit(&t->fn, fn, memory_order_release);
  atomic_store_explicit(&t->job, job, memory_order_release);
  atomic_store_explicit(&t->count, count, memory_order_release);
  t->epoch++;
  atomic_store(&t->cursor, t->epoch << INDEX_BITS);
}

void hdrt_threads_run(RtThreads *t, int64_t items, bool wake, RtItemFn fn, void *job) {
  assert(items <= RT_MAX_ITEMS);
  bool alone = t->nworkers == 0 || items <= 1 || atomic_exchange_explicit(&t->taken, 1, memory_order_acquire);
  if (alone) {
    for (int64_t i = 0; i < items; i++) fn(job, i);
    return;
  }
  publish(t, (uint32_t)items, fn, job);
  if (wake) wake_workers(t, items - 1);
  int64_t wake_at = wake ? INT64_MAX : hdrt_now() + WAKE_NS;
  for (Claim c; claim(t, &c);) {
    work(t, &c);
    if (wake_at != INT64_MAX && hdrt_now() > wake_at) {
      wake_workers(t, items - 1 - c.item);
      wake_at = INT64_MAX;
    }
  }
  wait_done(t, (uint32_t)items);
  atomic_store_explicit(&t->cursor, t->epoch << INDEX_BITS | CLOSED, memory_order_relaxed);
  atomic_store_explicit(&t->taken, 0, memory_order_release);
}

/* --- life --- */

static void stop_workers(RtThreads *t) {
  atomic_store(&t->stop, 1);
  __atomic_fetch_add(&t->signal, 1, __ATOMIC_SEQ_CST);
  hdrt_wake(&t->signal, INT_MAX);
  for (int32_t i = 0; i < t->nworkers; i++) pthread_join(t->worker[i], NULL);
}

/* Workers take no signals: a handler of the program's must not run on a thread that it does not know. */
static int start_worker(RtThreads *t, pthread_t *out) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int rc = pthread_create(out, NULL, worker_main, t);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return rc;
}

HdStatus hdrt_threads_new(const HdAllocator *mem, int32_t count, HdError *err, RtThreads **out) {
  if (count < 1 || count > RT_MAX_THREADS)
    return hdb_fail(err, HD_ERR_OPTION, "threads", "wanted 1 to %d threads, got %d", RT_MAX_THREADS, count);
  size_t size = sizeof(RtThreads) + (size_t)(count - 1) * sizeof(pthread_t) + 64;
  char *raw = mem->resize(mem->user, NULL, 0, size);
  if (!raw) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for %d threads", size, count);
  RtThreads *t = (RtThreads *)(((uintptr_t)raw + 63) & ~(uintptr_t)63);
  memset(t, 0, sizeof *t);
  t->mem = *mem;
  t->raw = raw;
  t->raw_size = size;
  t->spin_time = count <= hdrt_cores() ? hdrt_spin_time() : 0;
  atomic_store(&t->cursor, CLOSED);
  for (int32_t i = 0; i < count - 1; i++) {
    int rc = start_worker(t, &t->worker[i]);
    if (rc != 0) {
      hdrt_threads_free(t);
      return hdb_fail(err, HD_ERR_SYSTEM, "threads", "thread %d of %d could not be started: %s", i + 2, count,
                      strerror(rc));
    }
    t->nworkers++;
  }
  *out = t;
  return HD_OK;
}

void hdrt_threads_free(RtThreads *t) {
  if (!t) return;
  stop_workers(t);
  HdAllocator mem = t->mem;
  mem.resize(mem.user, t->raw, t->raw_size, 0);
}

int32_t hdrt_threads_count(const RtThreads *t) { return t->nworkers + 1; }
