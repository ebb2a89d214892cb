/* runtime/disk_cache.h -- finished code on disk, one file an entry.
 *
 * An entry is found by its fields: lines "name=value" that state everything that shaped it, in a fixed order. The file is
 * named for their hash and holds the fields too, so that equal hashes of unequal fields are told apart and the tool can
 * say which field differs. Files are written under another name and renamed: a reader sees a whole entry or none, also
 * when several processes write at once or one of them dies. What cannot be read, or does not pass its checksum, is not
 * there. What cannot be written is mentioned once, through `warn`, and work goes on.
 */
#ifndef RT_DISK_CACHE_H
#define RT_DISK_CACHE_H

#include "base/fail.h"
#include "heddle/types.h"
#include "runtime/bytes.h"
HD_BEGIN_DECLS

typedef enum RtCacheKind {
  RT_CACHE_CODE = 1, /* an artifact                                           */
  RT_CACHE_SOURCE,   /* what a source file becomes: its kernels, by their IR  */
  RT_CACHE_CUBIN,    /* a GPU's machine code, of an artifact's PTX            */
} RtCacheKind;

#define RT_CACHE_LIMIT ((uint64_t)1 << 30) /* bytes on disk, unless something else is asked for */

typedef struct RtCache {
  const HdAllocator *mem;
  char              *dir; /* NULL: no cache */
  size_t             dir_size;
  uint64_t           limit; /* bytes; set by open, may be changed. It is kept to now and then, by removing what was
                               used longest ago */
  bool               warned, made;
  void             (*warn)(void *user, const char *message);
  void              *user;
  uint32_t           serial; /* of temporary names */
} RtCache;

/* The bytes of one file. */
typedef struct RtEntryFile {
  RtReader    payload;
  const char *fields, *kernel, *target;
  RtCacheKind kind;
  uint8_t    *data;
  size_t      size;
} RtEntryFile;

/* `dir` is copied; NULL or "" makes a cache that is always empty. HD_ERR_NOMEM. */
HdStatus hdrt_cache_open(RtCache *c, const HdAllocator *mem, const char *dir, HdError *err);
void     hdrt_cache_close(RtCache *c);

/* *found says whether there was one; the file is the caller's then. HD_ERR_NOMEM. */
HdStatus hdrt_cache_get(RtCache *c, RtCacheKind kind, const char *fields, HdError *err, bool *found, RtEntryFile *out);
void     hdrt_entry_free(RtCache *c, RtEntryFile *f);
/* `kernel` and `target` are for lists of the cache. HD_ERR_NOMEM only. */
HdStatus hdrt_cache_put(RtCache *c, RtCacheKind kind, const char *fields, const char *kernel, const char *target,
                        const void *payload, size_t size, HdError *err);

/* Leave a text for someone to look at; it goes with the cache, or after a day. Its path is written; false if there is no cache,
 * no room for the path, or no writing. */
bool hdrt_cache_leave(RtCache *c, const char *text, size_t size, char *path, size_t path_size);

typedef struct RtCacheRow {
  const char *kernel, *target; /* "(damaged)" and "" if the file cannot be read */
  const char *fields;
  uint64_t    size;
  int64_t     used; /* seconds since the epoch */
  char        key[33];
} RtCacheRow;

/* Entries of code, in no order, until `visit` returns false. HD_ERR_IO, HD_ERR_NOMEM. */
HdStatus hdrt_cache_list(RtCache *c, bool (*visit)(void *user, const RtCacheRow *row), void *user, HdError *err);
/* Read every file of ours. `bad` is told of each that no get would take, until it returns false; *whole counts the
 * others. HD_ERR_IO, HD_ERR_NOMEM. */
HdStatus hdrt_cache_verify(RtCache *c, bool (*bad)(void *user, const char *file, const char *why), void *user,
                           int64_t *whole, HdError *err);
/* Remove all of ours. HD_ERR_IO if one could not be removed. */
HdStatus hdrt_cache_clear(RtCache *c, int64_t *removed, HdError *err);

HD_END_DECLS
#endif
