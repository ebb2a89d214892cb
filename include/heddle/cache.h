/* heddle/cache.h -- the compiled code on disk: listing it, checking it, clearing it, and why it was not used. */
#ifndef HEDDLE_CACHE_H
#define HEDDLE_CACHE_H

#include "heddle/module.h"
HD_BEGIN_DECLS

typedef struct HdCacheEntry {
  const char *kernel;
  const char *target;  /* CPU name and width, "znver5 w16"                                                  */
  const char *fields;  /* lines "name=value": what shaped the code, and must agree for it to be used again  */
  uint64_t    size;    /* bytes on disk                                                                     */
  int64_t     used;    /* last use, seconds since the epoch                                                 */
  char        key[33]; /* hexadecimal                                                                       */
} HdCacheEntry;

/* The folder in use; "" if the context has no cache. */
HD_API const char *hd_cache_dir(const HdContext *ctx);
/* Call `visit` for each entry, until it returns false. An entry that cannot be read has kernel "(damaged)". */
HD_API HdStatus hd_cache_list(HdContext *ctx, bool (*visit)(void *user, const HdCacheEntry *entry), void *user);
/* Read every file of the cache, and call `visit` for each that would not be used, with its name and the reason, until it
 * returns false. *whole counts the others; it may be NULL. */
HD_API HdStatus hd_cache_verify(HdContext *ctx, bool (*visit)(void *user, const char *file, const char *why), void *user,
                                int64_t *whole);
/* The fields that an entry must have to serve a kernel of this module on the CPU, for arrays without gaps.
 *
 * Ownership  *fields is the module's. */
HD_API HdStatus hd_cache_fields(HdModule *module, const char *kernel, const char **fields);
/* Remove every entry; *removed may be NULL. Nothing but Heddle's own files is touched. */
HD_API HdStatus hd_cache_clear(HdContext *ctx, int64_t *removed);

HD_END_DECLS
#endif
