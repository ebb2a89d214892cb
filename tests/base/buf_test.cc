// tests/base/buf_test.cc -- text buffers.
#include "base/buf.h"

#include <gtest/gtest.h>

namespace {

struct BufTest : testing::Test {
  Arena a;
  jmp_buf jb; // no test here runs out of memory
  Buf b;
  BufTest() {
    hdb_arena_init(&a, nullptr);
    a.on_oom = &jb;
    hdb_buf_init(&b, &a);
  }
  ~BufTest() override { hdb_arena_free(&a); }
};

TEST_F(BufTest, IsEmptyAtFirst) {
  EXPECT_EQ(b.len, 0u);
  hdb_put(&b, "");
  EXPECT_STREQ(b.data, "");
}

TEST_F(BufTest, PutsEveryKind) {
  hdb_put(&b, "ab");
  hdb_putn(&b, "cdef", 2);
  hdb_putc(&b, '!');
  hdb_putf(&b, "%d:%s", 42, "x");
  hdb_indent(&b, 3);
  hdb_putc(&b, '.');
  EXPECT_STREQ(b.data, "abcd!42:x   .");
  EXPECT_EQ(b.len, strlen(b.data));
}

TEST_F(BufTest, GrowsPastItsFirstSizeAtEveryLength) {
  std::string want;
  for (int k = 0; k < 600; k++) {
    std::string piece((size_t)k, (char)('a' + k % 26));
    hdb_putf(&b, "%s,", piece.c_str());
    want += piece + ",";
    ASSERT_EQ(b.len, want.size());
  }
  EXPECT_EQ(want, b.data);
}

TEST_F(BufTest, IndentsAnyWidth) {
  for (int k : {0, 1, 15, 16, 17, 100}) {
    hdb_buf_init(&b, &a);
    hdb_put(&b, "");
    hdb_indent(&b, k);
    EXPECT_EQ(std::string((size_t)k, ' '), b.data);
  }
}

} // namespace
