/* runtime/waits.h -- waiting for another thread: first with pauses, then giving way, then asleep.
 *
 * Waking a sleeper takes the system tens of microseconds, so whoever waits spins about as long before it sleeps: a wait then
 * takes at most twice what the better choice would have. The first RT_PAUSE_NS are pauses alone. From then on the core is
 * offered to others between looks, and one that was taken ends the spinning, for then cores are scarce. With one core there
 * is no spinning at all.
 */
#ifndef RT_WAITS_H
#define RT_WAITS_H

#include "base/fail.h"
HD_BEGIN_DECLS

enum { RT_PAUSE_NS = 10000, RT_SPIN_NS = 50000 };

int64_t hdrt_now(void); /* monotonic [ns] */
int32_t hdrt_cores(void); /* that this process may use */

/* How long a thread of this process may spin [ns]: RT_SPIN_NS, or 0 with one core. */
int64_t hdrt_spin_time(void);

/* One wait: RtSpin s = {time}, then look and call hdrt_spin in turn until it says that it is time to sleep. */
typedef struct RtSpin {
  int64_t  time;
  int64_t  since; /* 0: the clock was not read yet */
  uint32_t looks;
} RtSpin;

bool hdrt_spin_on(RtSpin *s);

static inline bool hdrt_spin(RtSpin *s) {
  if (s->time == 0) return false;
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  return ++s->looks % 64 != 0 || hdrt_spin_on(s);
}

/* Sleep while the word is `seen`, perhaps less long. Wake up to n of those who sleep. */
void hdrt_sleep_while(uint32_t *word, uint32_t seen);
void hdrt_wake(uint32_t *word, int32_t n);

/* A count that one thread moves and others wait for. Two counts that are compared lie less than 2^31 apart. */
typedef struct RtMark {
  uint32_t at;
  uint32_t sleepers;
} RtMark;

static inline uint32_t hdrt_mark_at(const RtMark *m) { return __atomic_load_n(&m->at, __ATOMIC_ACQUIRE); }
void hdrt_mark_move(RtMark *m, uint32_t to);
void hdrt_mark_await(RtMark *m, uint32_t to, int64_t spin_time); /* until it has come to `to`, or beyond */

HD_END_DECLS
#endif
