// tests/gpu/gpu_kernels_test.cc -- each kernel of tests/diff/kernels as PTX on the interpreter of PTX: the same bits again.
//
// A kernel takes two of the ways, chosen in turn; with HEDDLE_LONG=1 in the environment it takes all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "on_interpreter.h"
#include "tests/diff/kernel_files.h"

namespace {

struct Choice {
  gpu::Way way;
  gpu::Schedule schedule;
};

std::vector<Choice> Choices() {
  std::vector<Choice> all;
  const int sms[] = {70, 75, 80, 90, 100, 120};
  int k = 0;
  for (int sm : sms)
    for (bool dense : {true, false}) {
      gpu::Way way = {sm, dense, k % 4 == 3 ? 0 : 2, k % 3 ? 64 : 96};
      all.push_back({way, {static_cast<PtxSchedule>(k % 3), static_cast<uint64_t>(k + 1)}});
      k++;
    }
  return all;
}

class GpuKernel : public testing::TestWithParam<diff::KernelFile> {};

TEST_P(GpuKernel, GivesTheSameBitsAsPtx) {
  const std::vector<Choice> all = Choices();
  const char *whole = getenv("HEDDLE_LONG");
  const bool every = whole && whole[0] == '1';
  const std::string problem = GetParam().ForEachCase([&](const diff::Case &c) {
    diff::CheckOptions o;
    o.pipelines.clear();
    o.inner = {0, 1, 33, c.dim.back()};
    for (size_t k = 0; k < (every ? all.size() : 2); k++) {
      const Choice &choice = all[(static_cast<size_t>(GetParam().turn) * 2 + k) * 5 % all.size()];
      o.others.push_back(
          [choice](const IrFunc *kernel) { return gpu::OnInterpreter(kernel, choice.way, choice.schedule); });
    }
    diff::Verdict v = diff::Check(c, o);
    EXPECT_TRUE(v.valid) << v.failure;
    EXPECT_EQ(v.failure, "") << "kernel " << c.name;
  });
  EXPECT_EQ(problem, "");
}

INSTANTIATE_TEST_SUITE_P(File, GpuKernel, testing::ValuesIn(diff::KernelFiles()),
                         [](const testing::TestParamInfo<diff::KernelFile> &info) { return info.param.Name(); });

} // namespace
