// tests/diff/kernels_test.cc -- each kernel of tests/diff/kernels on the interpreter and as machine code: the same bits.
//
// A kernel takes a few of the ways (target, width, layout, threads), chosen in turn, so that all of them get their share
// over all files; with HEDDLE_LONG=1 in the environment each takes every way. kernels/README.md describes the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "diff.h"
#include "tests/frontend/lang_testing.h"

namespace {

namespace fs = std::filesystem;

constexpr char kRoot[] = "tests/diff/kernels";
constexpr int kWays = 3;

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const auto &f : fs::directory_iterator(kRoot))
    if (f.path().extension() == ".hd") files.push_back(f.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string OptionsIn(const std::string &text) {
  const std::string head = "// options: ";
  size_t at = text.find(head);
  if (at == std::string::npos) return "";
  at += head.size();
  return text.substr(at, text.find('\n', at) - at);
}

class Kernel : public testing::TestWithParam<fs::path> {};

// The sizes around a gang of each width, and the one that the file gives.
diff::CheckOptions OptionsFor(int turn, const diff::Case &c) {
  const char *whole = getenv("HEDDLE_LONG");
  diff::CheckOptions o = whole && whole[0] == '1' ? diff::AllOptions() : diff::SomeOptions(turn, kWays);
  o.inner.push_back(c.dim.back());
  return o;
}

TEST_P(Kernel, GivesTheSameBitsEverywhere) {
  const std::string text = ReadFile(GetParam());
  Compiled compiled(GetParam().string(), text, OptionsIn(text));
  ASSERT_EQ(compiled.diagnostics, "");
  std::vector<fs::path> files = Files();
  int turn = (int)(std::find(files.begin(), files.end(), GetParam()) - files.begin());
  for (uint32_t k = 0; k < compiled.result.module->nfuncs; k++) {
    const IrFunc *fn = compiled.result.module->funcs[k];
    if (!fn->is_kernel) continue;
    diff::Case c;
    c.name = fn->name;
    c.module = compiled.result.module;
    ASSERT_EQ(diff::ReadDescription(text, fn, &c), "");
    diff::Verdict v = diff::Check(c, OptionsFor(turn, c));
    EXPECT_TRUE(v.valid) << v.failure;
    EXPECT_EQ(v.failure, "") << "kernel " << fn->name;
  }
}

std::string NameOf(const testing::TestParamInfo<fs::path> &info) { return info.param.stem().string(); }

INSTANTIATE_TEST_SUITE_P(File, Kernel, testing::ValuesIn(Files()), NameOf);

TEST(Kernels, AreMany) { EXPECT_GE(Files().size(), 45u); }

// In turn, all ways are taken: each target with each width.
TEST(SomeOptions, TakeEveryWayInTheEnd) {
  auto names = [](const diff::CheckOptions &o) {
    std::set<std::string> n;
    for (const diff::CpuWay &w : o.ways) n.insert(diff::Name(w));
    return n;
  };
  std::set<std::string> seen;
  for (int turn = 0; turn < (int)Files().size(); turn++) seen.merge(names(diff::SomeOptions(turn, kWays)));
  EXPECT_EQ(seen, names(diff::AllOptions()));
}

} // namespace
