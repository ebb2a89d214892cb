// The tables in docs/ir.md and docs/passes.md are those that tools/irdoc makes. HEDDLE_ACCEPT=1 rewrites the pages.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "page.h"

namespace {

class MadePages : public testing::TestWithParam<const char *> {};

TEST_P(MadePages, AreUpToDate) {
  std::string page = std::string("docs/") + GetParam(), made;
  FILE *p = popen(("tools/irdoc/irdoc " + page).c_str(), "r");
  ASSERT_NE(p, nullptr);
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) made.append(buffer, n);
  ASSERT_EQ(pclose(p), 0);
  ASSERT_NE(made.find("<!-- made by tools/irdoc: "), std::string::npos);
  if (getenv("HEDDLE_ACCEPT")) {
    std::ofstream(std::filesystem::canonical(page)) << made; // through the runfiles link, into the tree
    return;
  }
  EXPECT_EQ(Slurp(page), made) << "./dev accept //tests/docs/... rewrites it";
}

INSTANTIATE_TEST_SUITE_P(Docs, MadePages, testing::Values("ir.md", "passes.md"), [](auto &info) {
  return std::string(info.param).substr(0, std::string(info.param).find('.'));
});

} // namespace
