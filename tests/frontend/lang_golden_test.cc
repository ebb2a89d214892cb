// tests/frontend/lang_golden_test.cc -- source in, diagnostics out (tests/golden/lang), or IR out (tests/golden/lower).
//
// A file is kernel source, perhaps with "// options: .." as its first line, then a line "---- expect" and the whole output.
// With HEDDLE_ACCEPT=1 in the environment what comes out is written into the files; `./dev accept` does that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/frontend/lang_testing.h"

namespace {

namespace fs = std::filesystem;

constexpr char kMark[] = "---- expect\n";
constexpr char kOptions[] = "// options: ";

std::vector<fs::path> Files(const char *folder) {
  std::vector<fs::path> files;
  for (const auto &f : fs::directory_iterator(fs::path("tests/golden") / folder))
    if (f.path().extension() == ".hd") files.push_back(f.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string NameOf(const testing::TestParamInfo<fs::path> &info) { return info.param.stem().string(); }

struct Golden {
  explicit Golden(const fs::path &path) {
    std::string text = ReadFile(path);
    size_t mark = text.find(kMark);
    source = text.substr(0, mark);
    if (mark != std::string::npos) expect = text.substr(mark + sizeof kMark - 1);
    if (source.rfind(kOptions, 0) == 0)
      options = source.substr(sizeof kOptions - 1, source.find('\n') - sizeof kOptions + 1);
  }
  std::string source, options, expect;
};

void Compare(const fs::path &path, const Golden &g, const std::string &got) {
  if (getenv("HEDDLE_ACCEPT") && got != g.expect) {
    std::ofstream(fs::canonical(path)) << g.source << kMark << got; // through the runfiles link, into the tree
    return;
  }
  EXPECT_EQ(got, g.expect) << path;
}

// The file's name as it is shown: without the folders of the test.
std::string Short(std::string s) {
  for (const std::string folder : {"tests/golden/lang/", "tests/golden/lower/"})
    for (size_t at; (at = s.find(folder)) != std::string::npos;) s.erase(at, folder.size());
  return s;
}

class LangGolden : public testing::TestWithParam<fs::path> {};

TEST_P(LangGolden, SaysWhatIsExpected) {
  Golden g(GetParam());
  Compiled c(GetParam().string(), g.source, g.options);
  EXPECT_NE(c.result.ndiags, 0u);
  Compare(GetParam(), g, Short(c.diagnostics));
  bool errors = c.diagnostics.find(": error: ") != std::string::npos;
  EXPECT_EQ(c.status, errors ? HD_ERR_SOURCE : HD_OK);
  EXPECT_EQ(c.result.module == nullptr, errors);
  EXPECT_EQ(errors, c.error.where.line != 0);
}

INSTANTIATE_TEST_SUITE_P(Diagnostics, LangGolden, testing::ValuesIn(Files("lang")), NameOf);

class LowerGolden : public testing::TestWithParam<fs::path> {};

TEST_P(LowerGolden, MakesTheExpectedIr) {
  Golden g(GetParam());
  Compiled c(GetParam().string(), g.source, g.options);
  EXPECT_EQ(c.diagnostics, "");
  ASSERT_EQ(c.status, HD_OK) << c.diagnostics;
  HdError err = {};
  EXPECT_EQ(hdir_verify(c.result.module, &err), HD_OK) << err.detail;
  Compare(GetParam(), g, c.ir);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LowerGolden, testing::ValuesIn(Files("lower")), NameOf);

const struct {
  const char *id;
  bool note;
} kRows[] = {
#define ERROR false
#define WARNING false
#define NOTE true
#define FE_DIAG(id, severity, message, hint) {#id, severity},
#include "frontend/lang/diagnostics.def"
#undef ERROR
#undef WARNING
#undef NOTE
};

TEST(Diagnostics, EachHasAGoldenFile) {
  for (const auto &row : kRows) {
    if (row.note || std::string(row.id) == "file_too_large") continue; // LangLimits has that one
    fs::path path = fs::path("tests/golden/lang") / (std::string(row.id) + ".hd");
    Golden g(path);
    EXPECT_NE(g.expect.find("[" + std::string(row.id) + "]"), std::string::npos) << path;
  }
}

TEST(Diagnostics, ThereAreManyKinds) { EXPECT_GE(std::size(kRows), 60u); }

} // namespace
