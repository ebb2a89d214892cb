/* runtime/hash.c -- XXH3 from the header-only xxHash. */
#include "runtime/hash.h"

#include <stdio.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

void hdrt_hash_hex(const void *p, size_t n, char out[33]) {
  XXH128_hash_t h = XXH3_128bits(p, n);
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

uint64_t hdrt_hash64(const void *p, size_t n) { return XXH3_64bits(p, n); }
