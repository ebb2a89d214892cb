// tests/gpu/gpu_ops_test.cc -- every op on every type as PTX: the bits that the interpreter of the IR gives, for any
// operands and beside constants, where LLVM has rules of its own.
#include <gtest/gtest.h>

#include "on_interpreter.h"
#include "tests/nvptx/nvptx_testing.h"

using namespace nvptx_test;

namespace {

// Constants that rules are about.
std::vector<std::string> Constants(size_t t) {
  std::string ty = Types()[t];
  if (t == 0) return {"true", "false"};
  if (ty == "f16") return {"0x0000f16", "0x8000f16", "0x3c00f16", "0xbc00f16", "0x7c00f16", "0x7e00f16"};
  if (ty == "bf16") return {"0x0000bf16", "0x8000bf16", "0x3f80bf16", "0xbf80bf16", "0x7f80bf16", "0x7fc0bf16"};
  if (IsFloat(t))
    return {"0.0" + ty,
            "-0.0" + ty,
            "1.0" + ty,
            "-1.0" + ty,
            "2.0" + ty,
            "3.0" + ty,
            ty == "f32" ? "0x7f800000f32" : "0x7ff0000000000000f64",
            ty == "f32" ? "0x7fc00000f32" : "0x7ff8000000000000f64",
            ty == "f32" ? "0x00000001f32" : "0x0000000000000001f64"};
  std::vector<std::string> c = {"0" + ty, "1" + ty, "2" + ty, "7" + ty, "31" + ty};
  if (ty[0] == 'i') {
    c.push_back("-1" + ty);
    c.push_back(std::to_string(INT64_MIN >> (64 - 8 * SizeOf(t))) + ty);
  } else {
    c.push_back(std::to_string(UINT64_MAX >> (64 - 8 * SizeOf(t))) + ty);
  }
  return c;
}

diff::Case CaseOf(const Module &m, size_t outputs, uint64_t seed) {
  diff::Case c;
  diff::ArraySpec in, out;
  diff::Extent all_threads;
  all_threads.axis = 0;
  in.extent = {all_threads};
  out = in;
  out.role = diff::Role::kOwn;
  c.module = m.m;
  c.kernel = c.name = m.Kernel()->name;
  c.dim = {256};
  c.ragged = false;
  c.seed = seed;
  for (size_t k = 0; k < 3 + outputs; k++) {
    diff::Param p;
    p.arrays = {k < 3 ? in : out};
    c.params.push_back(p);
  }
  return c;
}

std::string Problem(const std::string &text, size_t outputs, int sm, int opt_level, uint64_t seed) {
  Module m(text, "");
  gpu::Way way;
  way.sm = sm;
  way.opt_level = opt_level;
  diff::CheckOptions o;
  o.pipelines.clear();
  o.layouts = {diff::Layout::kDense};
  o.others.push_back([&](const IrFunc *kernel) { return gpu::OnInterpreter(kernel, way, gpu::Schedule()); });
  diff::Verdict v = diff::Check(CaseOf(m, outputs, seed), o);
  return v.valid ? v.failure : "no truth: " + v.failure;
}

class OnType : public testing::TestWithParam<size_t> {};

TEST_P(OnType, OpsGiveTheSameBits) {
  std::vector<size_t> outputs;
  const std::string text = AllOps(GetParam(), &outputs);
  for (int sm : {70, 75, 90})
    for (int opt_level : {0, 2})
      for (uint64_t seed = 1; seed <= (IsLong() ? 40u : 3u); seed++)
        ASSERT_EQ(Problem(text, outputs.size(), sm, opt_level, seed), "") << "sm_" << sm << " -O" << opt_level;
}

TEST_P(OnType, OpsBesideConstantsGiveTheSameBits) {
  for (const std::string &c : Constants(GetParam()))
    for (bool first : {true, false}) {
      std::vector<size_t> outputs;
      const std::string text = AllOps(GetParam(), &outputs, nullptr, first ? c : "%a", first ? "%b" : c);
      ASSERT_EQ(Problem(text, outputs.size(), 75, 2, 5), "") << (first ? "first " : "second ") << c;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, OnType, testing::Range((size_t)0, Types().size()),
                         [](const testing::TestParamInfo<size_t> &i) { return Types()[i.param]; });

} // namespace
