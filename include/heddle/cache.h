/* heddle/cache.h -- the compiled code on disk: listing it and clearing it. */
#ifndef HEDDLE_CACHE_H
#define HEDDLE_CACHE_H

#include "heddle/context.h"
HD_BEGIN_DECLS

typedef struct HdCacheEntry {
  const char *kernel;
  const char *target;  /* CPU name and width, "znver5 w16"  */
  uint64_t    size;    /* bytes on disk                     */
  int64_t     used;    /* last use, seconds since the epoch */
  char        key[33]; /* hexadecimal                       */
} HdCacheEntry;

/* The folder in use; "" if the context has no cache. */
HD_API const char *hd_cache_dir(const HdContext *ctx);
/* Call `visit` for each entry, until it returns false. An entry that cannot be read has kernel "(damaged)". */
HD_API HdStatus hd_cache_list(HdContext *ctx, bool (*visit)(void *user, const HdCacheEntry *entry), void *user);
/* Remove every entry; *removed may be NULL. Nothing but Heddle's own files is touched. */
HD_API HdStatus hd_cache_clear(HdContext *ctx, int64_t *removed);

HD_END_DECLS
#endif
