/* heddle/event.h -- points in the work of streams: to wait for, to order streams by, to measure between. */
#ifndef HEDDLE_EVENT_H
#define HEDDLE_EVENT_H

#include "heddle/stream.h"
HD_BEGIN_DECLS

typedef struct HdEvent HdEvent;

/* Ownership  the caller owns *out, until hd_event_free, which waits until no stream needs it. */
HD_API HdStatus hd_event_new(HdContext *ctx, HdDevice device, HdEvent **out);
HD_API void     hd_event_free(HdEvent *event); /* NULL is fine */

/* The event happens when the work given to `stream` so far is done. Recording again moves it.
 *
 * Errors     HD_ERR_DEVICE if the stream is of another device. */
HD_API HdStatus hd_event_record(HdEvent *event, HdStream *stream);

/* Work given to `stream` from now on begins after `event`, as it was last recorded. One that was never recorded has
 * happened. The caller waits itself where the stream is synchronous or of another kind of device. */
HD_API HdStatus hd_stream_wait_event(HdStream *stream, HdEvent *event);

/* Wait until the event has happened. */
HD_API HdStatus hd_event_wait(HdEvent *event);

/* The time between two events of one device that have happened [ms].
 *
 * Errors     HD_ERR_BUSY for one that has not, or was never recorded. */
HD_API HdStatus hd_event_elapsed(HdEvent *from, HdEvent *to, double *ms);

HD_END_DECLS
#endif
