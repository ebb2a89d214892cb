/* runtime/memory.h -- memory for arrays on the host: blocks of size classes that are kept for reuse.
 *
 * Every block is aligned to 64 bytes and has 64 readable bytes before and after it, so that a wide load may reach past
 * an array's ends. One thread uses a pool at a time.
 */
#ifndef RT_MEMORY_H
#define RT_MEMORY_H

#include "base/fail.h"
#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct HdBlock    HdBlock;
typedef struct RtPool     RtPool;

enum { RT_ALIGN = 64, RT_PAD = 64 };
enum { RT_CLASSES = 4 * 32 }; /* four to each doubling, up to RT_LARGEST */
#define RT_LARGEST ((size_t)64 << 20) /* larger blocks go straight to the allocator and back */
#define RT_KEEP ((size_t)512 << 20)   /* bytes kept for reuse                               */

struct RtPool {
  const HdAllocator *mem;
  HdBlock           *free[RT_CLASSES]; /* by class, the latest first  */
  size_t             kept;             /* bytes in the free lists     */
  size_t             used;             /* bytes in blocks handed out  */
};

void hdrt_pool_init(RtPool *p, const HdAllocator *mem); /* allocates nothing yet                            */
void hdrt_pool_trim(RtPool *p, size_t keep);            /* give back what is kept beyond it; at the end: 0 */

/* A block of `size` bytes, its contents undefined. HD_ERR_NOMEM gives the bytes asked for. */
HdStatus hdrt_block_new(RtPool *p, size_t size, HdError *err, HdBlock **out);
void     hdrt_block_free(HdBlock *b); /* to its pool; NULL is fine */
void    *hdrt_block_data(HdBlock *b);
RtPool  *hdrt_block_pool(HdBlock *b); /* NULL if it is in no pool */

/* A block in memory that is not the allocator's: `raw`, of at least hdrt_block_room(size) bytes, which goes to give(user, raw)
 * when the block is freed. It belongs to no pool. */
size_t   hdrt_block_room(size_t size); /* 0 if that is more than there can be */
HdBlock *hdrt_block_in(void *raw, size_t size, void (*give)(void *user, void *raw), void *user);

/* Blocks that are freed when a stream has come so far, in the order of their tickets. Zero is empty. */
typedef struct RtLeaving {
  HdBlock *first, *last;
} RtLeaving;
void hdrt_block_leave(RtLeaving *q, HdBlock *b, uint64_t ticket);
void hdrt_blocks_left(RtLeaving *q, uint64_t done); /* free those with tickets up to `done` */

HD_END_DECLS
#endif
