// tests/base/fail_test.cc -- the error record and errors.def.
#include "base/fail.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace {

TEST(Fail, FillsInTheRecord) {
  HdError e;
  HdStatus s = hdb_fail(&e, HD_ERR_SHAPE, "args[2] 'x'", "wanted %d, got %d", 3, 4);
  EXPECT_EQ(s, HD_ERR_SHAPE);
  EXPECT_EQ(e.status, HD_ERR_SHAPE);
  EXPECT_STREQ(e.arg, "args[2] 'x'");
  EXPECT_STREQ(e.detail, "wanted 3, got 4");
  EXPECT_STREQ(e.remedy, "make the lengths equal, or repeat an axis with hd_array_expand");
  EXPECT_EQ(e.call, nullptr);
  EXPECT_EQ(e.where.line, 0);
}

TEST(Fail, GivesThePlace) {
  HdError e;
  HdSpan where = {"a.hd", 3, 4};
  EXPECT_EQ(hdb_fail_at(&e, HD_ERR_IR, where, "no"), HD_ERR_IR);
  EXPECT_STREQ(e.where.file, "a.hd");
  EXPECT_EQ(e.where.line, 3);
  EXPECT_EQ(e.where.column, 4);
  EXPECT_STREQ(e.arg, "");
}

TEST(Fail, CutsWhatIsTooLong) {
  HdError e;
  std::string longer(2000, 'x');
  hdb_fail(&e, HD_ERR_ARG, longer.c_str(), "%s", longer.c_str());
  EXPECT_EQ(strlen(e.arg), sizeof e.arg - 1);
  EXPECT_EQ(strlen(e.detail), sizeof e.detail - 1);
}

TEST(Fail, MayQuoteTheRecordItReplaces) {
  HdError e;
  hdb_fail(&e, HD_ERR_ARG, nullptr, "inner");
  hdb_fail(&e, HD_ERR_IO, e.detail, "outer: %s", e.detail);
  EXPECT_STREQ(e.detail, "outer: inner");
  EXPECT_STREQ(e.arg, "inner");
}

TEST(Fail, TakesNoRecord) { EXPECT_EQ(hdb_fail(nullptr, HD_ERR_ARG, nullptr, "x"), HD_ERR_ARG); }

TEST(Fail, ClearEmptiesTheRecord) {
  HdError e;
  hdb_fail(&e, HD_ERR_ARG, "a", "b");
  hdb_error_clear(&e);
  EXPECT_EQ(e.status, HD_OK);
  EXPECT_STREQ(e.detail, "");
  EXPECT_EQ(e.remedy, nullptr);
}

HdStatus twice(HdStatus first, int *reached) {
  HD_TRY(first);
  *reached = 1;
  return HD_OK;
}

TEST(Fail, TryPassesFailuresUp) {
  int reached = 0;
  EXPECT_EQ(twice(HD_ERR_IO, &reached), HD_ERR_IO);
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(twice(HD_OK, &reached), HD_OK);
  EXPECT_EQ(reached, 1);
}

TEST(Errors, NumbersNeverChange) {
  EXPECT_EQ(HD_ERR_NOMEM, 1);
  EXPECT_EQ(HD_ERR_IR, 4);
  EXPECT_EQ(HD_ERR_SHAPE, 12);
  EXPECT_EQ(HD_ERR_FAULT, 17);
  EXPECT_EQ(HD_ERR_UNSUPPORTED, 20);
}

TEST(Errors, EveryRowIsComplete) {
  std::set<int> numbers;
#define HD_ERROR(name, number, text, remedy)                                                                           \
  EXPECT_TRUE(numbers.insert(number).second) << #name " has a number twice";                                           \
  EXPECT_STREQ(hd_status_name(HD_ERR_##name), #name);                                                                  \
  EXPECT_STREQ(hd_status_text(HD_ERR_##name), text);                                                                   \
  EXPECT_STREQ(hdb_status_remedy(HD_ERR_##name), remedy);                                                              \
  EXPECT_GT(strlen(text), 5u);                                                                                         \
  EXPECT_GT(strlen(remedy), 5u);
#include "heddle/errors.def"
  EXPECT_GE(numbers.size(), 20u);
}

TEST(Errors, OtherNumbersHaveNoRow) {
  EXPECT_STREQ(hd_status_name(HD_OK), "OK");
  EXPECT_STREQ(hd_status_name((HdStatus)9999), "UNKNOWN");
  EXPECT_STREQ(hd_status_text((HdStatus)9999), "");
  EXPECT_EQ(hdb_status_remedy((HdStatus)-1), nullptr);
}

} // namespace
