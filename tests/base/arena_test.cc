// tests/base/arena_test.cc -- arenas: zeroed and aligned blocks, marks, poisoned gaps, and running out of memory.
#include "base/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include "base/buf.h"
#include "base/intern.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace {

// An allocator that counts what is out, and fails at the n-th call for memory (from 0; -1 never).
struct Counting {
  int64_t out = 0, calls = 0, fail_at = -1;
  size_t bytes = 0;
  HdAllocator mem = {Resize, this};

  static void *Resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    Counting *c = static_cast<Counting *>(user);
    if (new_size == 0) {
      if (ptr) c->out--;
      c->bytes -= old_size;
      free(ptr);
      return nullptr;
    }
    if (c->calls++ == c->fail_at) return nullptr;
    void *r = realloc(ptr, new_size);
    if (!ptr) c->out++;
    c->bytes += new_size - old_size;
    return r;
  }
};

TEST(Arena, BlocksAreZeroedAlignedAndApart) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, nullptr);
  HDB_GUARD(&a, jb) {
    char *before = nullptr;
    for (size_t size : {0u, 1u, 15u, 16u, 17u, 100u, 5000u, 40000u, 3000000u}) {
      char *p = static_cast<char *>(hdb_alloc(&a, size));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 16, 0u);
      EXPECT_NE(p, before);
      for (size_t k = 0; k < size; k++) ASSERT_EQ(p[k], 0);
      memset(p, 0xab, size);
      before = p;
    }
  }
  else { FAIL() << "out of memory"; }
  hdb_arena_free(&a);
}

TEST(Arena, MemoryAfterAResetIsZeroAgain) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, nullptr);
  HDB_GUARD(&a, jb) {
    hdb_alloc(&a, 10);
    ArenaMark m = hdb_mark(&a);
    void *p = hdb_alloc(&a, 64);
    memset(p, 1, 64);
    hdb_reset(&a, m);
    char *q = static_cast<char *>(hdb_alloc(&a, 64));
    EXPECT_EQ(p, q);
    for (int k = 0; k < 64; k++) EXPECT_EQ(q[k], 0);
  }
  hdb_arena_free(&a);
}

TEST(Arena, AResetGivesChunksBack) {
  Counting c;
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, &c.mem);
  HDB_GUARD(&a, jb) {
    ArenaMark empty = hdb_mark(&a);
    hdb_alloc(&a, 100);
    ArenaMark m = hdb_mark(&a);
    EXPECT_EQ(c.out, 1);
    for (int k = 0; k < 10; k++) hdb_alloc(&a, 100000);
    EXPECT_GT(c.out, 2);
    hdb_reset(&a, m);
    EXPECT_EQ(c.out, 1);
    hdb_reset(&a, empty);
    EXPECT_EQ(c.out, 0);
    EXPECT_NE(hdb_alloc(&a, 8), nullptr);
  }
  hdb_arena_free(&a);
  EXPECT_EQ(c.out, 0);
  EXPECT_EQ(c.bytes, 0u);
}

TEST(Arena, IsReadyForUseAgainAfterFree) {
  Counting c;
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, &c.mem);
  HDB_GUARD(&a, jb) {
    hdb_alloc(&a, 8);
    hdb_arena_free(&a);
    hdb_arena_free(&a);
    EXPECT_STREQ(hdb_printf(&a, "%d-%s", 7, "x"), "7-x");
  }
  hdb_arena_free(&a);
  EXPECT_EQ(c.out, 0);
}

#ifdef HAS_ASAN
TEST(Arena, GapsAndFreedBlocksArePoisoned) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, nullptr);
  HDB_GUARD(&a, jb) {
    hdb_alloc(&a, 1);
    ArenaMark m = hdb_mark(&a);
    char *p = static_cast<char *>(hdb_alloc(&a, 24));
    char *q = static_cast<char *>(hdb_alloc(&a, 24));
    EXPECT_FALSE(__asan_address_is_poisoned(p + 23));
    for (int k = 24; k < 48; k++) EXPECT_TRUE(__asan_address_is_poisoned(p + k)) << k;
    EXPECT_GT(q - p, 48);
    hdb_reset(&a, m);
    EXPECT_TRUE(__asan_address_is_poisoned(p));
    EXPECT_TRUE(__asan_address_is_poisoned(q));
  }
  hdb_arena_free(&a);
}
#endif

// HDB_PUSH in C++, which wants the cast.
template <typename T> void push(Arena *a, T *&list, uint32_t &n, uint32_t &cap, T x) {
  if (n == cap) list = static_cast<T *>(hdb_grow(a, list, sizeof(T), n, &cap));
  list[n++] = x;
}

// Something of each kind that base allocates.
void work(Arena *a) {
  Buf b;
  Map m;
  hdb_buf_init(&b, a);
  hdb_map_init(&m, a);
  for (int k = 0; k < 3000; k++) {
    char name[16];
    snprintf(name, sizeof name, "name%d", k);
    hdb_map_set_str(&m, name, &b);
    hdb_putf(&b, "%s, ", name);
  }
  int *list = nullptr;
  uint32_t n = 0, cap = 0;
  for (int k = 0; k < 10000; k++) push(a, list, n, cap, k);
}

enum Outcome { kDone, kOutOfMemory };

Outcome run(Counting *c) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, &c->mem);
  volatile Outcome r = kOutOfMemory;
  HDB_GUARD(&a, jb) {
    work(&a);
    r = kDone;
  }
  hdb_arena_free(&a);
  return r;
}

TEST(Arena, JumpsToTheGuardWhereverMemoryRunsOut) {
  Counting whole;
  ASSERT_EQ(run(&whole), kDone);
  ASSERT_GT(whole.calls, 5);
  for (int64_t n = 0; n < whole.calls; n++) {
    Counting c;
    c.fail_at = n;
    EXPECT_EQ(run(&c), kOutOfMemory) << "with call " << n << " failing";
    EXPECT_EQ(c.out, 0) << n;
    EXPECT_EQ(c.bytes, 0u) << n;
  }
}

TEST(Arena, AnAbsurdSizeIsOutOfMemoryToo) {
  Arena a;
  jmp_buf jb;
  volatile int jumped = 0;
  hdb_arena_init(&a, nullptr);
  HDB_GUARD(&a, jb) { hdb_alloc(&a, SIZE_MAX - 8); }
  else { jumped = 1; }
  EXPECT_EQ(jumped, 1);
  hdb_arena_free(&a);
}

TEST(Arena, PushKeepsWhatWasThere) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, nullptr);
  HDB_GUARD(&a, jb) {
    uint64_t *list = nullptr;
    uint32_t n = 0, cap = 0;
    for (uint64_t k = 0; k < 1000; k++) push(&a, list, n, cap, k * k);
    ASSERT_EQ(n, 1000u);
    EXPECT_GE(cap, n);
    for (uint64_t k = 0; k < 1000; k++) ASSERT_EQ(list[k], k * k);
  }
  hdb_arena_free(&a);
}

TEST(Arena, CopiesStrings) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, nullptr);
  HDB_GUARD(&a, jb) {
    EXPECT_STREQ(hdb_strndup(&a, "abcdef", 3), "abc");
    EXPECT_STREQ(hdb_strdup(&a, ""), "");
    const int x[2] = {3, 4};
    int *y = static_cast<int *>(hdb_copy(&a, x, sizeof x));
    EXPECT_EQ(y[1], 4);
    std::string big(100000, 'q');
    EXPECT_EQ(hdb_printf(&a, "%s!", big.c_str()), big + "!");
  }
  hdb_arena_free(&a);
}

} // namespace
