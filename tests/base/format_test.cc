// tests/base/format_test.cc -- formats of printf: what they ask for, and their text beside the C library's.
#include "base/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::string Text(const char *format, std::vector<uint64_t> values = {}) {
  std::string out;
  values.push_back(0);
  hdb_format(
      format, values.data(),
      [](void *user, const char *s, size_t n) { static_cast<std::string *>(user)->append(s, n); }, &out);
  return out;
}

uint64_t Bits(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

TEST(Format, KnowsItsConversions) {
  const struct {
    const char *format;
    HdbConversionKind kind;
    size_t at, len;
  } cases[] = {{"", HDB_CONV_END, 0, 0},
               {"100%%", HDB_CONV_END, 5, 0},
               {"a %d", HDB_CONV_INT, 2, 2},
               {"%%%5u", HDB_CONV_UINT, 2, 3},
               {"%-+ #08.3f", HDB_CONV_FLOAT, 0, 10},
               {"%s", HDB_CONV_BAD, 0, 2},
               {"%", HDB_CONV_BAD, 0, 1},
               {"%ld", HDB_CONV_BAD, 0, 2},
               {"%.999g", HDB_CONV_FLOAT, 0, 6},
               {"%1000d", HDB_CONV_BAD, 0, 1},
               {"%n", HDB_CONV_BAD, 0, 2},
               {"%*d", HDB_CONV_BAD, 0, 2},
               {"%c", HDB_CONV_UINT, 0, 2},
               {"%---------d", HDB_CONV_BAD, 0, 10}};
  for (auto &c : cases) {
    HdbConversion got = hdb_conversion(c.format);
    EXPECT_EQ(got.kind, c.kind) << c.format;
    EXPECT_EQ(static_cast<size_t>(got.at - c.format), c.at) << c.format;
    EXPECT_TRUE(c.kind == HDB_CONV_BAD || got.len == c.len) << c.format << got.len;
  }
  EXPECT_EQ(hdb_conversions("%d %% %5.1f%x"), 3u);
}

TEST(Format, MakesTheTextOfC) {
  char want[4096];
  for (const char *f : {"%d", "%5d|", "%-8d|", "%+d", "%08d", "% d", "%.7d", "%i"}) {
    for (long long x : {0ll, -1ll, 42ll, 9223372036854775807ll, -9223372036854775807ll - 1}) {
      std::string wide = std::string(f).insert(strcspn(f, "di"), "ll");
      snprintf(want, sizeof want, wide.c_str(), x);
      EXPECT_EQ(Text(f, {static_cast<uint64_t>(x)}), want) << f;
    }
  }
  for (const char *f : {"%u", "%x", "%#X", "%o", "%016x"}) {
    std::string wide = std::string(f).insert(strcspn(f, "uxXo"), "ll");
    snprintf(want, sizeof want, wide.c_str(), 0xfedcba9876543210ull);
    EXPECT_EQ(Text(f, {0xfedcba9876543210ull}), want) << f;
  }
  for (const char *f : {"%f", "%.3e", "%g", "%12.4G|", "%-12a|", "%#.0f", "%.999f", "%999.999f"}) {
    for (double x : {0.0, -0.0, 0.1, 1e300, -2.5e-310, HUGE_VAL}) {
      snprintf(want, sizeof want, f, x);
      EXPECT_EQ(Text(f, {Bits(x)}), want) << f;
    }
  }
  EXPECT_EQ(Text("%g", {Bits(-std::nan(""))}), "nan") << "its sign says nothing";
  EXPECT_EQ(Text("%c%c%%|%%", {'h', 'i'}), "hi%|%");
  EXPECT_EQ(Text("no value"), "no value");
}

} // namespace
