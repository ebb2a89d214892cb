/* runtime/launches.c -- a launch as rows of segments, and how many threads it deserves.
 *
 * The innermost axis is cut at multiples of 64 threads, which no gang crosses and which keeps neighbours' stores in
 * different cache lines, or of the kernel's group if that is more. What a thread of the kernel costs is not known, so the
 * caller starts alone, in growing steps, and looks at the clock: a launch that is over within microseconds never pays for
 * company, a longer one is shared in pieces of at least a few microseconds, and sleeping workers are woken only for work
 * that outweighs it (threads.c).
 */
#include "runtime/launches.h"

#include "runtime/printer.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { SEGMENT = 64 };
enum { ALONE_NS = 5000, PIECE_NS = 5000, WAKE_WORTH_NS = 50000, PIECES_PER_THREAD = 16 };

/* --- the floating-point environment --- */

#if defined(__SSE__)
enum { MXCSR_FLAGS = 0x3f, MXCSR_DEFAULT = 0x1f80 };

static inline unsigned fp_begin(void) {
  unsigned old = _mm_getcsr();
  if ((old & ~(unsigned)MXCSR_FLAGS) != MXCSR_DEFAULT) _mm_setcsr(MXCSR_DEFAULT);
  return old;
}

static inline void fp_end(unsigned old) {
  if ((old & ~(unsigned)MXCSR_FLAGS) != MXCSR_DEFAULT) _mm_setcsr(old);
}
#else
static inline unsigned fp_begin(void) { return 0; }
static inline void fp_end(unsigned old) { (void)old; }
#endif

/* --- segments --- */

typedef struct Plan {
  const RtLaunch *launch;
  void *user;
  RtFault *fault;
  RtPrinter *printer;
  int64_t length;  /* of a row                         */
  int64_t segment; /* threads of one                   */
  int64_t per_row; /* segments                         */
  int64_t total;   /* segments of the launch           */
  int64_t first;   /* of the part that is shared       */
  int64_t piece;   /* segments that are claimed at once */
} Plan;

static bool plan_launch(Plan *p, const RtLaunch *l, void *user, RtFault *fault, RtPrinter *printer) {
  int64_t rows = 1;
  for (int32_t k = 0; k < l->ndim - 1; k++) rows *= l->dim[k];
  int64_t segment = l->code->group > SEGMENT ? l->code->group : SEGMENT;
  *p = (Plan){
      .launch = l, .user = user, .fault = fault, .printer = printer, .length = l->dim[l->ndim - 1], .segment = segment};
  p->per_row = (p->length + segment - 1) / segment;
  p->total = rows * p->per_row;
  return p->total > 0;
}

static void span_begin(const Plan *p, RtSpan *s, int64_t row, int32_t serial) {
  const RtLaunch *l = p->launch;
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) {
    s->dim[k] = l->dim[k];
    s->at[k] = 0;
  }
  for (int32_t k = l->ndim - 2; k > 0; k--) {
    s->at[k] = row % l->dim[k];
    row /= l->dim[k];
  }
  if (l->ndim > 1) s->at[0] = row;
  s->ndim = l->ndim;
  s->serial = serial;
  s->fault = p->fault;
  s->print = hdrt_print;
  s->printer = p->printer;
}

static void next_row(RtSpan *s) {
  for (int32_t k = s->ndim - 2; k >= 0; k--) {
    if (++s->at[k] < s->dim[k]) return;
    s->at[k] = 0;
  }
}

/* Segments begin..end, each row's part in one call. */
static void run_segments(const Plan *p, int64_t begin, int64_t end, int32_t serial) {
  RtSpan s;
  int64_t row = begin / p->per_row, in_row = begin % p->per_row;
  RtEntry entry = p->launch->code->entry;
  span_begin(p, &s, row, serial);
  while (begin < end) {
    int64_t n = p->per_row - in_row;
    if (n > end - begin) n = end - begin;
    s.begin = in_row * p->segment;
    s.end = s.begin + n * p->segment;
    if (s.end > p->length) s.end = p->length;
    entry(p->launch->args, &s, p->user);
    begin += n;
    in_row = 0;
    next_row(&s);
  }
}

static void run_piece(void *job, int64_t item) {
  const Plan *p = job;
  int64_t begin = p->first + item * p->piece, end = begin + p->piece;
  unsigned fp = fp_begin();
  run_segments(p, begin, end < p->total ? end : p->total, 0);
  fp_end(fp);
}

/* --- how many threads --- */

/* Run from the front until the launch is over or the clock says that it is worth company; returns the segments done and
 * the time they took. */
static int64_t run_alone(const Plan *p, int32_t serial, int64_t *ns) {
  int64_t done = 0, start = hdrt_now();
  *ns = 0;
  while (done < p->total && *ns < ALONE_NS) {
    int64_t step = done ? done : 1;
    if (step > p->total - done) step = p->total - done;
    run_segments(p, done, done + step, serial);
    done += step;
    *ns = hdrt_now() - start;
  }
  return done;
}

static void share(RtDevice *d, Plan *p, int32_t serial) {
  int64_t ns, done = run_alone(p, serial, &ns), rest = p->total - done;
  if (rest == 0) return;
  double each = (double)ns / (double)done, expected = each * (double)rest;
  if (expected < ALONE_NS) {
    run_segments(p, done, p->total, serial);
    return;
  }
  int64_t piece = rest / ((int64_t)hdrt_threads_count(d->threads) * PIECES_PER_THREAD);
  int64_t least = (int64_t)(PIECE_NS / each);
  p->piece = piece > least ? piece : least > 0 ? least : 1;
  p->first = done;
  hdrt_threads_run(d->threads, (rest + p->piece - 1) / p->piece, expected > WAKE_WORTH_NS, run_piece, p);
}

/* Whether atomics may be plain while one thread works: no other launch of the context can run, or begin, meanwhile. */
static int32_t is_alone(RtDevice *d) { return __atomic_load_n(&d->async, __ATOMIC_RELAXED) == 0; }

void hdrt_run_serial(RtDevice *d, const RtLaunch *l, const HdAllocator *mem, RtFault *fault, RtPrinter *printer) {
  RtHost host = {l->code->host_user, mem};
  Plan p;
  if (!plan_launch(&p, l, l->code->kind == RT_CODE_HOST ? &host : NULL, fault, printer)) return;
  unsigned fp = fp_begin();
  run_segments(&p, 0, p.total, is_alone(d));
  fp_end(fp);
}

void hdrt_run_shared(RtDevice *d, const RtLaunch *l, const HdAllocator *mem, RtFault *fault, RtPrinter *printer) {
  Plan p;
  (void)mem;
  if (!plan_launch(&p, l, NULL, fault, printer)) return;
  unsigned fp = fp_begin();
  if (p.total == 1 || hdrt_threads_count(d->threads) == 1) {
    run_segments(&p, 0, p.total, is_alone(d));
  } else {
    share(d, &p, is_alone(d));
  }
  fp_end(fp);
}
