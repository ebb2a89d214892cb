/* base/arena.h -- memory that ends all at once.
 *
 * A chain of chunks from an HdAllocator; nothing in it is freed by itself. `hdb_mark` and `hdb_reset` take it
 * back to an earlier point (a pass's scratch). When the allocator has no more, the arena jumps to `on_oom`,
 * which whoever began the work has set with HDB_GUARD: compile-time code allocates without a check on every
 * line, and the jump never leaves the library. No frame of a foreign library may lie between the two, and what
 * such code owns apart from arenas must be recorded where the guard's handler finds it.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <setjmp.h>
#include <string.h>

#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
  const HdAllocator *mem;
  ArenaChunk        *chunk;  /* the newest; chunks are linked backwards */
  char              *at, *end;
  jmp_buf           *on_oom; /* never NULL while something allocates    */
} Arena;

typedef struct ArenaMark {
  ArenaChunk *chunk;
  char       *at;
} ArenaMark;

extern const HdAllocator hdb_system_allocator; /* realloc and free */

/* --- life --- */
void      hdb_arena_init(Arena *a, const HdAllocator *mem); /* allocates nothing yet      */
void      hdb_arena_free(Arena *a);                         /* all chunks; ready for reuse */
ArenaMark hdb_mark(const Arena *a);
void      hdb_reset(Arena *a, ArenaMark m);                 /* what came later is gone    */

/* --- allocation: zeroed, aligned to 16, never NULL (jumps instead) --- */
void *hdb_alloc(Arena *a, size_t size);
void *hdb_copy(Arena *a, const void *p, size_t size);
char *hdb_strndup(Arena *a, const char *s, size_t n); /* adds the terminating zero */
char *hdb_strdup(Arena *a, const char *s);
char *hdb_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define HDB_NEW(a, T) ((T *)hdb_alloc((a), sizeof(T)))
#define HDB_NEW_N(a, T, n) ((T *)hdb_alloc((a), sizeof(T) * (size_t)(n)))

/* A growable array in an arena: pointer, count and capacity stand as three variables or fields.
 *     IrInst **list; uint32_t n, cap;      HDB_PUSH(arena, list, n, cap, inst);                              */
void *hdb_grow(Arena *a, void *p, size_t elem, uint32_t n, uint32_t *cap); /* room for one more */
#define HDB_PUSH(a, p, n, cap, x)                                                                              \
  ((n) == (cap) ? (void)((p) = hdb_grow((a), (p), sizeof *(p), (n), &(cap))) : (void)0, (void)((p)[(n)++] = (x)))

/* Run a block whose arenas jump here when memory runs out:
 *     jmp_buf jb;
 *     HDB_GUARD(arena, jb) { ...work... } else { ...out of memory... }
 * Locals that change in the block and are read in the else must be volatile.                                 */
#define HDB_GUARD(a, jb) if (((a)->on_oom = &(jb)), setjmp(jb) == 0)

HD_END_DECLS
#endif
