/* base/arena.c -- memory that ends all at once: a chain of growing chunks, and text made in it.
 *
 * Under AddressSanitizer every block is followed by a poisoned gap, and what is not handed out is poisoned too, so that
 * a write past a block or into memory that a reset has taken back is reported where it happens.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region((p), (n))
#define UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
enum { GAP = 32 };
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
enum { GAP = 0 };
#endif

enum { ALIGN = 16, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20 };

struct ArenaChunk {
  ArenaChunk *prev;
  size_t size; /* of the whole block that the allocator gave */
};

#define HEADER ((sizeof(ArenaChunk) + ALIGN - 1) / ALIGN * ALIGN)

static void *system_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size) return realloc(ptr, new_size);
  free(ptr);
  return NULL;
}

const HdAllocator hdb_system_allocator = {system_resize, NULL};

void hdb_arena_init(Arena *a, const HdAllocator *mem) { *a = (Arena){.mem = mem ? mem : &hdb_system_allocator}; }

static void drop_newest(Arena *a) {
  ArenaChunk *c = a->chunk;
  a->chunk = c->prev;
  UNPOISON(c, c->size);
  a->mem->resize(a->mem->user, c, c->size, 0);
}

void hdb_arena_free(Arena *a) {
  while (a->chunk) drop_newest(a);
  a->at = a->end = NULL;
}

ArenaMark hdb_mark(const Arena *a) { return (ArenaMark){a->chunk, a->at}; }

void hdb_reset(Arena *a, ArenaMark m) {
  while (a->chunk != m.chunk) {
    assert(a->chunk && "the mark belongs to this arena and was not passed by an earlier reset");
    drop_newest(a);
  }
  a->at = m.at;
  a->end = a->chunk ? (char *)a->chunk + a->chunk->size : NULL;
  if (a->chunk) POISON(a->at, (size_t)(a->end - a->at));
}

static void out_of_memory(Arena *a) {
  assert(a->on_oom && "an arena is used inside HDB_GUARD");
  longjmp(*a->on_oom, 1);
}

static void add_chunk(Arena *a, size_t need) {
  size_t size = a->chunk ? a->chunk->size * 2 : FIRST_CHUNK;
  if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
  if (need > SIZE_MAX - HEADER) out_of_memory(a);
  if (size < need + HEADER) size = need + HEADER;
  ArenaChunk *c = a->mem->resize(a->mem->user, NULL, 0, size);
  if (!c) out_of_memory(a);
  c->prev = a->chunk;
  c->size = size;
  a->chunk = c;
  a->at = (char *)c + HEADER;
  a->end = (char *)c + size;
  POISON(a->at, (size_t)(a->end - a->at));
}

void *hdb_alloc(Arena *a, size_t size) {
  if (size > SIZE_MAX / 2) out_of_memory(a);
  size_t need = (size + ALIGN - 1) / ALIGN * ALIGN + GAP;
  if (need == 0) need = ALIGN; /* distinct blocks have distinct addresses */
  if ((size_t)(a->end - a->at) < need) add_chunk(a, need);
  char *p = a->at;
  a->at += need;
  UNPOISON(p, size);
  memset(p, 0, size);
  return p;
}

void *hdb_copy(Arena *a, const void *p, size_t size) {
  void *r = hdb_alloc(a, size);
  if (size) memcpy(r, p, size);
  return r;
}

char *hdb_strndup(Arena *a, const char *s, size_t n) {
  char *r = hdb_alloc(a, n + 1);
  if (n) memcpy(r, s, n);
  return r;
}

char *hdb_strdup(Arena *a, const char *s) { return hdb_strndup(a, s, strlen(s)); }

char *hdb_printf(Arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *r = hdb_alloc(a, n < 0 ? 1 : (size_t)n + 1);
  if (n >= 0) vsnprintf(r, (size_t)n + 1, fmt, again);
  va_end(again);
  return r;
}

void *hdb_grow(Arena *a, void *p, size_t elem, uint32_t n, uint32_t *cap) {
  if (n < *cap) return p;
  if (*cap > UINT32_MAX / 2) out_of_memory(a);
  uint32_t want = *cap ? *cap * 2 : 8;
  void *r = hdb_alloc(a, elem * want);
  if (n) memcpy(r, p, elem * n);
  *cap = want;
  return r;
}
