/* runtime/streams.h -- work in order, at once or later. */
#ifndef RT_STREAMS_H
#define RT_STREAMS_H

#include "runtime/devices.h"
#include "runtime/events.h"
#include "runtime/printer.h"
HD_BEGIN_DECLS

typedef struct RtGraph RtGraph; /* graphs.h */

enum { RT_MAX_ARGS = 4096 }; /* bytes of an argument block */

/* The first fault since the last wait, copied out of the code's reach. */
typedef struct RtFaultCopy {
  HdStatus status; /* HD_OK: none */
  char     kernel[64], text[192], file[192];
  int32_t  line, column, ndim, has_index;
  int64_t  index, limit, tid[HD_MAX_DIMS];
} RtFaultCopy;

/* What a stream of one kind of device does; the functions below call it. */
struct RtStreamOps {
  void (*free)(RtStream *s);
  HdStatus (*launch)(RtStream *s, const RtLaunch *l, size_t args_size, HdError *err);
  HdStatus (*copy)(RtStream *s, const RtView *from, const RtView *to, HdError *err);
  HdStatus (*clear)(RtStream *s, const RtView *v, HdError *err);
  HdStatus (*graph)(RtStream *s, RtGraph *g, HdError *err);       /* do all of a graph                                */
  HdStatus (*record)(RtStream *s, RtEvent *e, HdError *err);      /* an event of the same device                      */
  HdStatus (*await)(RtStream *s, RtEvent *e, HdError *err);       /* the same; what is given from now on comes after it */
  HdStatus (*wait)(RtStream *s, RtFaultCopy *fault, HdError *err);
  /* Memory of the stream's device, for what is given to the stream from now on; and back, after what it was given so far. */
  HdStatus (*alloc)(RtStream *s, size_t size, HdError *err, HdBlock **out, void **data);
  void (*release)(RtStream *s, HdBlock *b);
};

/* The front of every kind's own structure. */
struct RtStream {
  const RtStreamOps *ops;
  RtDevice          *device;
  bool               async;
  bool               faulted; /* of a synchronous stream: a wait would report a fault */
  RtGraph           *keeping; /* work goes into this graph instead of being done; NULL as a rule */
  RtPrinter          printer; /* its text is the program's to take while the stream has no work     */
};

static inline HdStatus hdrt_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out) {
  return d->ops->stream_new(d, async, err, out);
}
static inline void hdrt_stream_free(RtStream *s) { s->ops->free(s); } /* waits first */

/* Launch arguments are copied; on a synchronous stream the work is done on return. A status that is not HD_OK says that
 * the work was not taken. */
HdStatus hdrt_stream_launch(RtStream *s, const RtLaunch *l, size_t args_size, HdError *err);
HdStatus hdrt_stream_copy(RtStream *s, const RtView *from, const RtView *to, HdError *err);
HdStatus hdrt_stream_clear(RtStream *s, const RtView *v, HdError *err);
HdStatus hdrt_stream_graph(RtStream *s, RtGraph *g, HdError *err);

/* Wait for all work. fault->status is HD_OK unless an assert or a check failed in a kernel since the last call; then it is
 * what is returned. Another status, in the record, is the device's own. */
static inline HdStatus hdrt_stream_wait(RtStream *s, RtFaultCopy *fault, HdError *err) { return s->ops->wait(s, fault, err); }

/* --- streams of devices on the host (streams.c) --- */
HdStatus hdrt_host_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out);

HD_END_DECLS
#endif
