/* runtime/hash.h -- XXH3, for cache keys and checksums. The one door to xxHash. */
#ifndef RT_HASH_H
#define RT_HASH_H

#include "heddle/abi.h"
HD_BEGIN_DECLS

void     hdrt_hash_hex(const void *p, size_t n, char out[33]); /* 128 bits as hexadecimal digits */
uint64_t hdrt_hash64(const void *p, size_t n);

HD_END_DECLS
#endif
