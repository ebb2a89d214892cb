/* runtime/waits.c -- the clock, spinning, and sleep on a futex. */
#include "runtime/waits.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TAKEN_NS = 20000 }; /* a core that was given away this long was needed by others */

int64_t hdrt_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int32_t hdrt_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int32_t)n : 1;
}

int64_t hdrt_spin_time(void) { return hdrt_cores() > 1 ? RT_SPIN_NS : 0; }

bool hdrt_spin_on(RtSpin *s) {
  int64_t now = hdrt_now();
  if (s->since == 0) s->since = now;
  if (now - s->since < RT_PAUSE_NS) return true;
  if (now - s->since >= s->time) return false;
  sched_yield();
  return hdrt_now() - now < TAKEN_NS;
}

void hdrt_sleep_while(uint32_t *word, uint32_t seen) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void hdrt_wake(uint32_t *word, int32_t n) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0); }

/* The mover stores the count before it looks for sleepers; a sleeper counts itself before it looks at the count. */
void hdrt_mark_move(RtMark *m, uint32_t to) {
  __atomic_store_n(&m->at, to, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&m->sleepers, __ATOMIC_SEQ_CST)) hdrt_wake(&m->at, INT_MAX);
}

static bool reached(const RtMark *m, uint32_t to) { return (int32_t)(hdrt_mark_at(m) - to) >= 0; }

void hdrt_mark_await(RtMark *m, uint32_t to, int64_t spin_time) {
  RtSpin s = {.time = spin_time};
  do {
    if (reached(m, to)) return;
  } while (hdrt_spin(&s));
  __atomic_fetch_add(&m->sleepers, 1, __ATOMIC_SEQ_CST);
  for (;;) {
    uint32_t seen = __atomic_load_n(&m->at, __ATOMIC_SEQ_CST);
    if ((int32_t)(seen - to) >= 0) break;
    hdrt_sleep_while(&m->at, seen);
  }
  __atomic_fetch_sub(&m->sleepers, 1, __ATOMIC_RELAXED);
}
