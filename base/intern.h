/* base/intern.h -- one pointer for each distinct string, and a map from bytes to pointers. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/arena.h"
HD_BEGIN_DECLS

/* Open addressing over byte-string keys, which are copied into the arena; no removal. */
typedef struct MapSlot {
  const char *key;
  uint32_t    len, hash;
  void       *value;
} MapSlot;

typedef struct Map {
  Arena   *arena;
  MapSlot *slots;
  uint32_t count, cap; /* cap is a power of two, or 0 */
} Map;

void     hdb_map_init(Map *m, Arena *a);
void    *hdb_map_get(const Map *m, const void *key, size_t len);       /* NULL where absent            */
MapSlot *hdb_map_slot(Map *m, const void *key, size_t len);            /* found or made, value NULL    */
void    *hdb_map_get_str(const Map *m, const char *key);
void     hdb_map_set_str(Map *m, const char *key, void *value);

const char *hdb_intern(Map *m, const char *s, size_t len); /* equal strings give equal pointers    */
uint32_t    hdb_hash(const void *p, size_t n);             /* 32-bit FNV-1a                        */

/* Levenshtein distance, capped; for "did you mean". */
int hdb_edit_distance(const char *a, const char *b, int cap);

HD_END_DECLS
#endif
