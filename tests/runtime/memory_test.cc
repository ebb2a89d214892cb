// tests/runtime/memory_test.cc -- blocks: alignment, padding, reuse, and what happens when memory runs out.
#include "runtime/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cinttypes>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

// Knows every allocation, and can be told to have no more.
struct Watched {
  std::map<void *, size_t> live;
  size_t total = 0, limit = SIZE_MAX;
  HdAllocator mem = {resize, this};
  static void *resize(void *user, void *p, size_t old_size, size_t size) {
    auto *w = static_cast<Watched *>(user);
    if (size == 0) {
      EXPECT_EQ(w->live.at(p), old_size);
      w->total -= old_size;
      w->live.erase(p);
      free(p);
      return nullptr;
    }
    EXPECT_EQ(p, nullptr);
    if (w->total + size > w->limit) return nullptr;
    void *r = malloc(size);
    w->live[r] = size;
    w->total += size;
    return r;
  }
};

TEST(Memory, BlocksAreAlignedAndPadded) {
  Watched w;
  RtPool pool;
  HdError err = {};
  hdrt_pool_init(&pool, &w.mem);
  for (size_t size : {size_t(0), size_t(1), size_t(64), size_t(65), size_t(80), size_t(4097), size_t(1) << 20,
                      RT_LARGEST, RT_LARGEST + 1}) {
    HdBlock *b;
    ASSERT_EQ(hdrt_block_new(&pool, size, &err, &b), HD_OK);
    auto *data = static_cast<char *>(hdrt_block_data(b));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % RT_ALIGN, 0u);
    EXPECT_EQ(hdrt_block_pool(b), &pool);
    memset(data, 1, size);
    volatile char sum = 0; // AddressSanitizer watches
    for (int i = 1; i <= RT_PAD; i++) sum = sum + data[-i] + data[size + i - 1];
    hdrt_block_free(b);
  }
  hdrt_pool_trim(&pool, 0);
  EXPECT_TRUE(w.live.empty());
  EXPECT_EQ(pool.used, 0u);
}

TEST(Memory, ReusesTheBlockThatWasFreedLast) {
  Watched w;
  RtPool pool;
  HdError err = {};
  HdBlock *a, *b, *c;
  hdrt_pool_init(&pool, &w.mem);
  ASSERT_EQ(hdrt_block_new(&pool, 1000, &err, &a), HD_OK);
  ASSERT_EQ(hdrt_block_new(&pool, 1000, &err, &b), HD_OK);
  EXPECT_NE(a, b);
  hdrt_block_free(a);
  hdrt_block_free(b);
  ASSERT_EQ(hdrt_block_new(&pool, 990, &err, &c), HD_OK);
  EXPECT_EQ(c, b);
  size_t n = w.live.size();
  hdrt_block_free(c);
  EXPECT_EQ(w.live.size(), n) << "small blocks are kept";
  ASSERT_EQ(hdrt_block_new(&pool, RT_LARGEST + 1, &err, &c), HD_OK);
  hdrt_block_free(c);
  EXPECT_EQ(w.live.size(), n) << "large blocks go back at once";
  hdrt_pool_trim(&pool, 0);
  EXPECT_TRUE(w.live.empty());
}

TEST(Memory, GivesBackWhatItKeepsBeforeItFails) {
  Watched w;
  RtPool pool;
  HdError err = {};
  HdBlock *b, *big;
  w.limit = 100000;
  hdrt_pool_init(&pool, &w.mem);
  ASSERT_EQ(hdrt_block_new(&pool, 60000, &err, &b), HD_OK);
  hdrt_block_free(b);
  EXPECT_EQ(hdrt_block_new(&pool, 80000, &err, &big), HD_OK);
  EXPECT_EQ(hdrt_block_new(&pool, 80000, &err, &b), HD_ERR_NOMEM);
  EXPECT_EQ(err.status, HD_ERR_NOMEM);
  EXPECT_NE(strstr(err.detail, "80000 bytes"), nullptr) << err.detail;
  hdrt_block_free(big);
  hdrt_pool_trim(&pool, 0);
  EXPECT_TRUE(w.live.empty());
}

TEST(Memory, RefusesSizesThatOverflow) {
  Watched w;
  RtPool pool;
  HdError err = {};
  HdBlock *b;
  hdrt_pool_init(&pool, &w.mem);
  EXPECT_EQ(hdrt_block_new(&pool, SIZE_MAX, &err, &b), HD_ERR_NOMEM);
  EXPECT_EQ(hdrt_block_new(&pool, SIZE_MAX - 100, &err, &b), HD_ERR_NOMEM);
}

TEST(Memory, ClassesHoldWhatTheyAreAskedFor) {
  Watched w;
  RtPool pool;
  HdError err = {};
  hdrt_pool_init(&pool, &w.mem);
  for (size_t size = 1; size < 3000000; size = size * 9 / 8 + 1) {
    HdBlock *b;
    ASSERT_EQ(hdrt_block_new(&pool, size, &err, &b), HD_OK);
    EXPECT_LE(pool.used, std::max<size_t>(64, size + size / 4 + 64)) << size;
    memset(hdrt_block_data(b), 0, size);
    hdrt_block_free(b);
  }
  hdrt_pool_trim(&pool, 0);
}

TEST(Memory, LeavesInTheOrderOfTickets) {
  Watched w;
  RtPool pool;
  HdError err = {};
  RtLeaving q = {};
  hdrt_pool_init(&pool, &w.mem);
  for (uint64_t ticket : {1, 1, 4}) {
    HdBlock *b;
    ASSERT_EQ(hdrt_block_new(&pool, 64, &err, &b), HD_OK);
    hdrt_block_leave(&q, b, ticket);
  }
  hdrt_blocks_left(&q, 0);
  EXPECT_EQ(pool.used, 192u);
  hdrt_blocks_left(&q, 3);
  EXPECT_EQ(pool.used, 64u);
  HdBlock *late;
  ASSERT_EQ(hdrt_block_new(&pool, 64, &err, &late), HD_OK);
  hdrt_block_leave(&q, late, 5);
  hdrt_blocks_left(&q, 5);
  EXPECT_EQ(pool.used, 0u);
  EXPECT_EQ(q.first, nullptr);
  hdrt_pool_trim(&pool, 128);
  EXPECT_EQ(pool.kept, 128u);
  hdrt_pool_trim(&pool, 0);
  EXPECT_TRUE(w.live.empty());
}

// The kernel's flags of the mapping that p lies in; empty where it does not tell.
std::string MappingFlags(const void *p) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  uintptr_t at = reinterpret_cast<uintptr_t>(p), from = 0, to = 0;
  while (std::getline(maps, line)) {
    if (sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) continue;
    if (line.rfind("VmFlags:", 0) == 0 && from <= at && at < to) return line;
  }
  return "";
}

TEST(Memory, OfLargeBlocksIsAskedForInLargePages) {
  Watched w;
  RtPool pool;
  HdError err;
  HdBlock *large, *small;
  hdrt_pool_init(&pool, &w.mem);
  ASSERT_EQ(hdrt_block_new(&pool, 32 << 20, &err, &large), HD_OK);
  ASSERT_EQ(hdrt_block_new(&pool, 100, &err, &small), HD_OK);
  std::string flags = MappingFlags(static_cast<char *>(hdrt_block_data(large)) + (16 << 20)) + " ";
  std::string of_small = MappingFlags(hdrt_block_data(small)) + " ";
  hdrt_block_free(large);
  hdrt_block_free(small);
  hdrt_pool_trim(&pool, 0);
  if (flags == " " || access("/sys/kernel/mm/transparent_hugepage", F_OK))
    GTEST_SKIP() << "this system has no large pages, or does not tell";
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  EXPECT_EQ(of_small.find(" hg "), std::string::npos) << of_small;
}

TEST(Memory, MayLieInMemoryOfAnother) {
  std::vector<char> raw(hdrt_block_room(100));
  void *given = nullptr;
  auto give = [](void *user, void *p) { *static_cast<void **>(user) = p; };
  HdBlock *b = hdrt_block_in(raw.data(), 100, give, &given);
  auto *data = static_cast<char *>(hdrt_block_data(b));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % RT_ALIGN, 0u);
  EXPECT_GE(data - RT_PAD, raw.data());
  EXPECT_LE(data + 100 + RT_PAD, raw.data() + raw.size());
  EXPECT_EQ(hdrt_block_pool(b), nullptr);
  memset(data - RT_PAD, 1, 100 + 2 * RT_PAD);
  RtLeaving q = {};
  hdrt_block_leave(&q, b, 7);
  hdrt_blocks_left(&q, 7);
  EXPECT_EQ(given, raw.data());
  EXPECT_EQ(hdrt_block_room(SIZE_MAX - 10), 0u);
}

} // namespace
