// tests/diff/kernels_test.cc -- each kernel of tests/diff/kernels on the interpreter and as machine code: the same bits.
//
// A kernel takes a few of the ways (target, width, layout, threads), chosen in turn, so that all of them get their share
// over all files; with HEDDLE_LONG=1 in the environment each takes every way. kernels/README.md describes the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernel_files.h"

namespace {

constexpr int kWays = 3;

class Kernel : public testing::TestWithParam<diff::KernelFile> {};

// The sizes around a gang of each width, and the one that the file gives.
diff::CheckOptions OptionsFor(int turn, const diff::Case &c) {
  const char *whole = getenv("HEDDLE_LONG");
  diff::CheckOptions o = whole && whole[0] == '1' ? diff::AllOptions() : diff::SomeOptions(turn, kWays);
  o.inner.push_back(c.dim.back());
  return o;
}

TEST_P(Kernel, GivesTheSameBitsEverywhere) {
  const std::string problem = GetParam().ForEachCase([&](const diff::Case &c) {
    diff::Verdict v = diff::Check(c, OptionsFor(GetParam().turn, c));
    EXPECT_TRUE(v.valid) << v.failure;
    EXPECT_EQ(v.failure, "") << "kernel " << c.name;
  });
  EXPECT_EQ(problem, "");
}

INSTANTIATE_TEST_SUITE_P(File, Kernel, testing::ValuesIn(diff::KernelFiles()),
                         [](const testing::TestParamInfo<diff::KernelFile> &info) { return info.param.Name(); });

TEST(Kernels, AreMany) { EXPECT_GE(diff::KernelFiles().size(), 45u); }

// In turn, all ways are taken: each target with each width.
TEST(SomeOptions, TakeEveryWayInTheEnd) {
  auto names = [](const diff::CheckOptions &o) {
    std::set<std::string> n;
    for (const diff::CpuWay &w : o.ways) n.insert(diff::Name(w));
    return n;
  };
  std::set<std::string> seen;
  for (int turn = 0; turn < (int)diff::KernelFiles().size(); turn++) seen.merge(names(diff::SomeOptions(turn, kWays)));
  EXPECT_EQ(seen, names(diff::AllOptions()));
}

} // namespace
