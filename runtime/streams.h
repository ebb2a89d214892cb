/* runtime/streams.h -- work in order, at once or on a thread of its own. */
#ifndef RT_STREAMS_H
#define RT_STREAMS_H

#include "runtime/devices.h"
HD_BEGIN_DECLS

typedef struct RtStream RtStream;

enum { RT_MAX_ARGS = 4096 }; /* bytes of an argument block */

/* The first fault since the last wait, copied out of the code's reach. */
typedef struct RtFaultCopy {
  HdStatus status; /* HD_OK: none */
  char     kernel[64], text[192], file[192];
  int32_t  line, column, ndim, has_index;
  int64_t  index, limit, tid[HD_MAX_DIMS];
} RtFaultCopy;

HdStatus hdrt_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out);
void     hdrt_stream_free(RtStream *s); /* waits first */

/* Launch arguments are copied; on a synchronous stream the work is done on return. */
void hdrt_stream_launch(RtStream *s, const RtLaunch *l, size_t args_size);
void hdrt_stream_copy(RtStream *s, const RtView *from, const RtView *to);
void hdrt_stream_clear(RtStream *s, const RtView *v);

/* True, and *out is filled in, if a kernel failed since the last call. */
bool hdrt_stream_wait(RtStream *s, RtFaultCopy *out);
/* The same for a synchronous stream after a launch: no waiting, and quick if there is nothing to say. */
bool hdrt_stream_faulted(const RtStream *s);

HD_END_DECLS
#endif
