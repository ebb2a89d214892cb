/* base/intern.c -- a map from bytes to pointers, and interning on top of it. */
#include "base/intern.h"

#include <stdlib.h>

void hdb_map_init(Map *m, Arena *a) { *m = (Map){.arena = a}; }

uint32_t hdb_hash(const void *p, size_t n) {
  const unsigned char *s = p;
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 16777619u;
  return h;
}

/* The slot that has the key, or the free one where it belongs; the map is not full. */
static MapSlot *probe(const Map *m, const void *key, size_t len, uint32_t hash) {
  uint32_t at = hash & (m->cap - 1);
  for (;; at = (at + 1) & (m->cap - 1)) {
    MapSlot *s = &m->slots[at];
    if (!s->key) return s;
    if (s->hash == hash && s->len == len && memcmp(s->key, key, len) == 0) return s;
  }
}

void *hdb_map_get(const Map *m, const void *key, size_t len) {
  return m->cap ? probe(m, key, len, hdb_hash(key, len))->value : NULL;
}

static void double_slots(Map *m) {
  Map bigger = {.arena = m->arena, .cap = m->cap ? m->cap * 2 : 16, .count = m->count};
  bigger.slots = HDB_NEW_N(m->arena, MapSlot, bigger.cap);
  for (uint32_t i = 0; i < m->cap; i++) {
    const MapSlot *s = &m->slots[i];
    if (s->key) *probe(&bigger, s->key, s->len, s->hash) = *s;
  }
  *m = bigger;
}

MapSlot *hdb_map_slot(Map *m, const void *key, size_t len) {
  uint32_t hash = hdb_hash(key, len);
  if (m->cap) {
    MapSlot *s = probe(m, key, len, hash);
    if (s->key) return s;
  }
  if (m->count >= m->cap / 4 * 3) double_slots(m);
  const char *copy = hdb_strndup(m->arena, key, len);
  MapSlot *s = probe(m, key, len, hash);
  *s = (MapSlot){.key = copy, .len = (uint32_t)len, .hash = hash};
  m->count++;
  return s;
}

void *hdb_map_get_str(const Map *m, const char *key) { return hdb_map_get(m, key, strlen(key)); }

void hdb_map_set_str(Map *m, const char *key, void *value) { hdb_map_slot(m, key, strlen(key))->value = value; }

const char *hdb_intern(Map *m, const char *s, size_t len) {
  MapSlot *slot = hdb_map_slot(m, s, len);
  slot->value = (void *)(uintptr_t)slot->key;
  return slot->key;
}

enum { LONGEST_NAME = 63 }; /* longer names are cut: a suggestion need not be exact */

int hdb_edit_distance(const char *a, const char *b, int cap) {
  size_t na = strlen(a), nb = strlen(b);
  if (na > LONGEST_NAME) na = LONGEST_NAME;
  if (nb > LONGEST_NAME) nb = LONGEST_NAME;
  if (abs((int)na - (int)nb) >= cap) return cap;
  int row[LONGEST_NAME + 1]; /* Wagner and Fischer's table, one row at a time */
  for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int best = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[nb] < cap ? row[nb] : cap;
}
