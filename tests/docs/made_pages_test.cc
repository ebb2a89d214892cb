// What tools/irdoc and tools/libdoc make of docs/ir.md, docs/passes.md and docs/library.md stands in them. HEDDLE_ACCEPT=1
// rewrites the pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "page.h"

namespace {

class MadePages : public testing::TestWithParam<const char *> {};

std::string Output(const std::string &command, int *status) {
  std::string out;
  FILE *p = popen(command.c_str(), "r");
  if (!p) return "popen";
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) out.append(buffer, n);
  *status = pclose(p);
  return out;
}

// The library's files, as git lists them.
std::string Sources() {
  std::vector<std::string> files;
  for (const auto &e : std::filesystem::recursive_directory_iterator("lib"))
    if (e.path().extension() == ".hd") files.push_back(e.path().string());
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::string &f : files) all += " " + f;
  return all;
}

TEST_P(MadePages, AreUpToDate) {
  std::string page = std::string("docs/") + GetParam(), tool = page == "docs/library.md" ? "libdoc" : "irdoc";
  int status = -1;
  std::string made = Output("tools/" + tool + "/" + tool + " " + page + (tool == "libdoc" ? Sources() : ""), &status);
  ASSERT_EQ(status, 0);
  ASSERT_NE(made.find("<!-- made by tools/" + tool + ": "), std::string::npos);
  if (getenv("HEDDLE_ACCEPT")) {
    std::ofstream(std::filesystem::canonical(page)) << made; // through the runfiles link, into the tree
    return;
  }
  EXPECT_EQ(Slurp(page), made) << "./dev accept //tests/docs/... rewrites it";
}

INSTANTIATE_TEST_SUITE_P(Docs, MadePages, testing::Values("ir.md", "passes.md", "library.md"), [](auto &info) {
  return std::string(info.param).substr(0, std::string(info.param).find('.'));
});

TEST(Library, SaysOfEachFunctionWhatItIs) {
  int status = -1;
  std::string missing = Output("tools/libdoc/libdoc --check" + Sources(), &status);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(missing, "");
}

} // namespace
