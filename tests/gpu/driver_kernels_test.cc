// tests/gpu/driver_kernels_test.cc -- each kernel of tests/diff/kernels by way of the runtime's CUDA device and the simulated
// driver, a third of them in graphs: the same bits as on the interpreter.
#include <gtest/gtest.h>

#include <cstdlib>

#include "on_driver.h"
#include "tests/diff/kernel_files.h"

namespace {

class DriverKernel : public testing::TestWithParam<diff::KernelFile> {
protected:
  static void SetUpTestSuite() {
    setenv("HEDDLE_LIBCUDA", "tests/fakecuda/libfakecuda.so", 1);
    setenv("HEDDLE_FAKECUDA", "sm=90,mem=256M,adversary=1,race=1", 1);
    ASSERT_EQ(gpu::Gpu::Get().problem, "");
  }
};

TEST_P(DriverKernel, GivesTheSameBitsOnADevice) {
  const std::string problem = GetParam().ForEachCase([&](const diff::Case &c) {
    diff::CheckOptions o;
    o.pipelines.clear();
    o.inner = {0, 1, 33, c.dim.back()};
    const gpu::Way way = {90, GetParam().turn % 2 == 0, 2, 64};
    const bool graph = GetParam().turn % 3 == 0;
    o.others.push_back([way, graph](const IrFunc *kernel) {
      std::string trouble, bytes = gpu::Compile(kernel, way, &trouble);
      diff::Rival r;
      if (trouble.empty()) return gpu::OnDriver(bytes, way, graph);
      r.problem = trouble;
      return r;
    });
    diff::Verdict v = diff::Check(c, o);
    EXPECT_TRUE(v.valid) << v.failure;
    EXPECT_EQ(v.failure, "") << "kernel " << c.name;
  });
  EXPECT_EQ(problem, "");
}

INSTANTIATE_TEST_SUITE_P(File, DriverKernel, testing::ValuesIn(diff::KernelFiles()),
                         [](const testing::TestParamInfo<diff::KernelFile> &info) { return info.param.Name(); });

} // namespace
