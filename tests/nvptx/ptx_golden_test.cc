// tests/nvptx/ptx_golden_test.cc -- IR in, the LLVM text of a kernel out, for every file of tests/golden/ptx/.
//
// A file is "# ptx: TARGET [strided] [large] [fast]", a module, a line "---- expect" and the text for its kernel. The text
// is compared and not the PTX, which each LLVM writes a little differently. `./dev accept` writes what comes out.
#include <algorithm>
#include <filesystem>

#include "nvptx_testing.h"

using namespace nvptx_test;
namespace fs = std::filesystem;

namespace {

constexpr char kRoot[] = "tests/golden/ptx";
constexpr char kMark[] = "---- expect\n";

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  if (!fs::exists(kRoot)) return files;
  for (const auto &f : fs::directory_iterator(kRoot)) files.push_back(f.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string Read(const fs::path &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Options Head(const std::string &text) {
  Options o;
  std::istringstream words(text.substr(0, text.find('\n')));
  std::string hash, ptx;
  words >> hash >> ptx >> o.target;
  EXPECT_EQ(hash + ptx, "#ptx:");
  for (std::string word; words >> word;) {
    if (word == "strided") o.ptx.dense = false;
    if (word == "large") o.ptx.small = false;
    if (word == "fast") o.ptx.fast = true;
  }
  return o;
}

class PtxGolden : public testing::TestWithParam<fs::path> {};

TEST_P(PtxGolden, GivesTheExpectedText) {
  std::string text = Read(GetParam()), input = text.substr(0, text.find(kMark));
  std::string want = text.size() > input.size() ? text.substr(input.size() + sizeof kMark - 1) : "";
  std::string got = Llvm(input, Head(text));
  if (const char *accept = getenv("HEDDLE_ACCEPT"); accept && *accept && got != want) {
    std::ofstream(GetParam()) << input << kMark << got;
    return;
  }
  EXPECT_EQ(got, want) << GetParam();
  Options o = Head(text);
  EXPECT_NE(Ptx(input, o).find(".entry"), std::string::npos); // LLVM takes it
}

INSTANTIATE_TEST_SUITE_P(File, PtxGolden, testing::ValuesIn(Files()),
                         [](const testing::TestParamInfo<fs::path> &i) { return i.param.stem().string(); });

} // namespace
