/* runtime/threads.h -- the workers of a device, kept between launches, and how they share one job.
 *
 * A job is a function and a number of items. Whoever has time claims the next item; the caller works too and returns
 * when all items are done, so a worker that is late costs nothing. Any thread may be the caller; one that finds the
 * workers taken by another does its job alone, for then the cores are busy already.
 */
#ifndef RT_THREADS_H
#define RT_THREADS_H

#include "runtime/waits.h"
#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct RtThreads RtThreads;
typedef void (*RtItemFn)(void *job, int64_t item);

#define RT_MAX_THREADS 1024
#define RT_MAX_ITEMS ((1 << 24) - 2)

/* `count` threads run a job, the caller's among them. HD_ERR_NOMEM; HD_ERR_SYSTEM if a thread cannot be had. */
HdStatus hdrt_threads_new(const HdAllocator *mem, int32_t count, HdError *err, RtThreads **out);
void     hdrt_threads_free(RtThreads *t); /* NULL is fine; no job may be running */
int32_t  hdrt_threads_count(const RtThreads *t);

/* Run fn(job, i) once for each i in 0..items, at most RT_MAX_ITEMS. `wake` says that the work is long enough to wake
 * sleeping workers at once; otherwise they are woken only if it turns out to be. */
void hdrt_threads_run(RtThreads *t, int64_t items, bool wake, RtItemFn fn, void *job);

HD_END_DECLS
#endif
