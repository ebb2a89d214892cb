// tests/base/intern_test.cc -- the map, interning, the hash and the edit distance.
#include "base/intern.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>

namespace {

struct MapTest : testing::Test {
  Arena a;
  jmp_buf jb;
  Map m;
  MapTest() {
    hdb_arena_init(&a, nullptr);
    a.on_oom = &jb;
    hdb_map_init(&m, &a);
  }
  ~MapTest() override { hdb_arena_free(&a); }
};

TEST_F(MapTest, FindsNothingInAnEmptyMap) {
  EXPECT_EQ(hdb_map_get(&m, "x", 1), nullptr);
  EXPECT_EQ(hdb_map_get_str(&m, ""), nullptr);
}

TEST_F(MapTest, AgreesWithTheStandardMapOnRandomKeys) {
  std::mt19937 rng(7);
  std::unordered_map<std::string, void *> want;
  for (int k = 0; k < 20000; k++) {
    std::string key(rng() % 6, 0);
    for (char &c : key) c = (char)(rng() % 5); // short keys over few bytes, zero among them: many collisions
    void *value = reinterpret_cast<void *>((uintptr_t)(k + 1));
    hdb_map_slot(&m, key.data(), key.size())->value = value;
    want[key] = value;
  }
  EXPECT_EQ(m.count, want.size());
  for (const auto &[key, value] : want) ASSERT_EQ(hdb_map_get(&m, key.data(), key.size()), value);
  EXPECT_EQ(hdb_map_get_str(&m, "absent"), nullptr);
}

TEST_F(MapTest, CopiesItsKeys) {
  char key[4] = "abc";
  hdb_map_set_str(&m, key, &m);
  key[0] = 'x';
  EXPECT_EQ(hdb_map_get_str(&m, "abc"), &m);
  EXPECT_EQ(hdb_map_get_str(&m, "xbc"), nullptr);
}

TEST_F(MapTest, SlotOfANewKeyHasNoValue) {
  MapSlot *s = hdb_map_slot(&m, "k", 1);
  EXPECT_EQ(s->value, nullptr);
  s->value = &m;
  EXPECT_EQ(hdb_map_slot(&m, "k", 1), s);
}

TEST_F(MapTest, InternsEqualStringsToOnePointer) {
  const char *one = hdb_intern(&m, "hello world", 5);
  EXPECT_STREQ(one, "hello");
  std::string again = "hello";
  EXPECT_EQ(hdb_intern(&m, again.data(), 5), one);
  EXPECT_NE(hdb_intern(&m, "hell", 4), one);
}

TEST(Hash, IsFnv1a) { // the reference values of Fowler, Noll and Vo
  EXPECT_EQ(hdb_hash("", 0), 0x811c9dc5u);
  EXPECT_EQ(hdb_hash("a", 1), 0xe40c292cu);
  EXPECT_EQ(hdb_hash("foobar", 6), 0xbf9cf968u);
}

TEST(EditDistance, CountsChanges) {
  EXPECT_EQ(hdb_edit_distance("", "", 5), 0);
  EXPECT_EQ(hdb_edit_distance("abc", "abc", 5), 0);
  EXPECT_EQ(hdb_edit_distance("abc", "abd", 5), 1);
  EXPECT_EQ(hdb_edit_distance("abc", "ab", 5), 1);
  EXPECT_EQ(hdb_edit_distance("kitten", "sitting", 5), 3);
  EXPECT_EQ(hdb_edit_distance("saturday", "sunday", 5), 3);
  EXPECT_EQ(hdb_edit_distance("abcdef", "uvwxyz", 3), 3) << "capped";
  EXPECT_EQ(hdb_edit_distance("a", "abcdefgh", 3), 3) << "capped by the lengths alone";
  std::string longer(500, 'x');
  EXPECT_EQ(hdb_edit_distance(longer.c_str(), longer.c_str(), 3), 0) << "long names do no harm";
}

} // namespace
