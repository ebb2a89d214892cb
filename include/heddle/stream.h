/* heddle/stream.h -- work in order. A stream runs what it is given one after the other; two streams run apart.
 *
 * A synchronous stream does each piece of work before the call returns. An asynchronous one has a thread that does it
 * later, on the device's own threads; the caller waits with hd_stream_wait. On the host that thread spins for up to 50 us
 * for more work before it sleeps, and who waits for it does so too; with one core neither spins.
 */
#ifndef HEDDLE_STREAM_H
#define HEDDLE_STREAM_H

#include "heddle/device.h"
HD_BEGIN_DECLS

typedef struct HdStream HdStream;

typedef enum HdStreamMode { HD_STREAM_SYNC, HD_STREAM_ASYNC } HdStreamMode;

/* Ownership  the caller owns *out, until hd_stream_free, which waits for its work first. */
HD_API HdStatus hd_stream_new(HdContext *ctx, HdDevice device, HdStreamMode mode, HdStream **out);
HD_API void     hd_stream_free(HdStream *stream);

/* The device the stream was made for. */
HD_API HdDevice hd_stream_device(const HdStream *stream);

/* Wait until all work given so far is done. What its kernels printed goes to the context's `print`, or standard output.
 *
 * Errors     HD_ERR_FAULT: the first assert or bounds check that failed in a kernel since the last wait, with the
 *            kernel's name, the message and the place. */
HD_API HdStatus hd_stream_wait(HdStream *stream);

HD_END_DECLS
#endif
