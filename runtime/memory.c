/* runtime/memory.c -- size classes with free lists over the context's allocator.
 *
 * Four classes to each doubling waste at most a fifth. A simulation allocates the same few sizes again and again, so a
 * freed block goes to the front of its class and the next request of that size takes it while it is still in the cache.
 */
#include "runtime/memory.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

/* Stands at the front of the allocation; its last pad keeps the data's padding out of it. */
struct HdBlock {
  RtPool *pool;  /* NULL: the memory goes to `give`                 */
  HdBlock *next; /* in a free list, or among those that leave       */
  void *raw;     /* as the allocator gave it                        */
  size_t raw_size;
  size_t size;     /* bytes of data: the class's, or as asked         */
  uint64_t ticket; /* of one that leaves                              */
  union {
    int32_t cls; /* -1: not of a class                              */
    void *user;
  };
  void (*give)(void *user, void *raw);
};

static_assert(sizeof(HdBlock) <= RT_ALIGN, "the header fills one line");
enum { FRONT = RT_ALIGN + RT_PAD };

/* The smallest class that holds `size`: 64 * (4 + c % 4) / 4 << c / 4 bytes. */
static size_t class_size(int32_t c) { return (size_t)(16 * (4 + c % 4)) << (c / 4); }

static int32_t class_of(size_t size) {
  if (size <= 64) return 0;
  int32_t log = 63 - __builtin_clzll((unsigned long long)(size - 1)); /* 2^log <= size - 1 */
  int32_t c = 4 * (log - 6);
  while (class_size(c) < size) c++;
  return c;
}

void hdrt_pool_init(RtPool *p, const HdAllocator *mem) {
  memset(p, 0, sizeof *p);
  p->mem = mem;
}

static void give_back(RtPool *p, HdBlock *b) { p->mem->resize(p->mem->user, b->raw, b->raw_size, 0); }

void hdrt_pool_trim(RtPool *p, size_t keep) {
  for (int32_t c = RT_CLASSES - 1; c >= 0; c--) {
    while (p->free[c] && p->kept > keep) {
      HdBlock *b = p->free[c];
      p->free[c] = b->next;
      p->kept -= b->size;
      give_back(p, b);
    }
  }
}

size_t hdrt_block_room(size_t size) {
  size_t room = RT_ALIGN - 1 + FRONT + size + RT_PAD;
  return room < size ? 0 : room;
}

static HdBlock *aligned(void *raw) { return (HdBlock *)(((uintptr_t)raw + RT_ALIGN - 1) & ~(uintptr_t)(RT_ALIGN - 1)); }

HdBlock *hdrt_block_in(void *raw, size_t size, void (*give)(void *user, void *raw), void *user) {
  HdBlock *b = aligned(raw);
  *b = (HdBlock){.raw = raw, .size = size, .user = user, .give = give};
  return b;
}

enum { HUGE_PAGE = 2 << 20 };

/* Where the system has large pages for whoever asks, a kernel that goes through a large array misses fewer translations. */
static void ask_for_huge_pages(void *raw, size_t size) {
  uintptr_t mask = ~(uintptr_t)(HUGE_PAGE - 1), first = ((uintptr_t)raw + HUGE_PAGE - 1) & mask;
  uintptr_t end = ((uintptr_t)raw + size) & mask;
  if (end > first + HUGE_PAGE) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

static HdBlock *block_make(RtPool *p, size_t size, int32_t cls) {
  size_t raw_size = hdrt_block_room(size);
  if (!raw_size) return NULL;
  void *raw = p->mem->resize(p->mem->user, NULL, 0, raw_size);
  if (!raw && p->kept) {
    hdrt_pool_trim(p, 0);
    raw = p->mem->resize(p->mem->user, NULL, 0, raw_size);
  }
  if (!raw) return NULL;
  ask_for_huge_pages(raw, raw_size);
  HdBlock *b = aligned(raw);
  *b = (HdBlock){.pool = p, .raw = raw, .raw_size = raw_size, .size = size, .cls = cls};
  return b;
}

HdStatus hdrt_block_new(RtPool *p, size_t size, HdError *err, HdBlock **out) {
  int32_t cls = size <= RT_LARGEST ? class_of(size) : -1;
  HdBlock *b = cls >= 0 ? p->free[cls] : NULL;
  if (b) {
    p->free[cls] = b->next;
    p->kept -= b->size;
  } else {
    b = block_make(p, cls >= 0 ? class_size(cls) : size, cls);
    if (!b)
      return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for an array could not be had; arrays hold %zu now", size,
                      p->used);
  }
  p->used += b->size;
  *out = b;
  return HD_OK;
}

void hdrt_block_free(HdBlock *b) {
  if (!b) return;
  RtPool *p = b->pool;
  if (!p) {
    b->give(b->user, b->raw);
    return;
  }
  p->used -= b->size;
  if (b->cls < 0 || p->kept + b->size > RT_KEEP) {
    give_back(p, b);
    return;
  }
  b->next = p->free[b->cls];
  p->free[b->cls] = b;
  p->kept += b->size;
}

void hdrt_block_leave(RtLeaving *q, HdBlock *b, uint64_t ticket) {
  b->ticket = ticket;
  b->next = NULL;
  if (q->first)
    q->last->next = b;
  else
    q->first = b;
  q->last = b;
}

void hdrt_blocks_left(RtLeaving *q, uint64_t done) {
  while (q->first && q->first->ticket <= done) {
    HdBlock *b = q->first;
    q->first = b->next;
    hdrt_block_free(b);
  }
}

void *hdrt_block_data(HdBlock *b) { return (char *)b + FRONT; }

RtPool *hdrt_block_pool(HdBlock *b) { return b->pool; }
