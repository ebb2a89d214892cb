/* runtime/bytes.h -- writing and reading plain binary data, little endian, checked.
 *
 * A writer grows in the context's allocator and remembers that memory ran out; a reader remembers that it was asked for
 * more than there is. So callers check once, at the end.
 */
#ifndef RT_BYTES_H
#define RT_BYTES_H

#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct RtWriter RtWriter;
typedef struct RtReader RtReader;

struct RtWriter {
  const HdAllocator *mem;
  uint8_t           *data;
  size_t             len, cap;
  bool               failed;
};

void hdrt_put(RtWriter *w, const void *p, size_t n);
void hdrt_put_u32(RtWriter *w, uint32_t x);
void hdrt_put_u64(RtWriter *w, uint64_t x);
void hdrt_put_str(RtWriter *w, const char *s); /* length, bytes, a zero */
void hdrt_writer_free(RtWriter *w);

struct RtReader {
  const uint8_t *at, *end;
  bool           failed;
};

const void *hdrt_get(RtReader *r, size_t n); /* n bytes, lent; NULL after a failure */
uint32_t    hdrt_get_u32(RtReader *r);       /* 0 after a failure                   */
uint64_t    hdrt_get_u64(RtReader *r);
const char *hdrt_get_str(RtReader *r);       /* lent, zero-terminated; "" after a failure */

HD_END_DECLS
#endif
