// tests/gpu/gpu_random_test.cc -- random programs as PTX: the same bits as on the interpreter of the IR.
#include <gtest/gtest.h>

#include <cstdlib>

#include "on_interpreter.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/shrink.h"

namespace {

constexpr int kBlocks = 20;

// 400 in all, or 8,000 with HEDDLE_LONG=1 in the environment.
int Programs() {
  const char *whole = getenv("HEDDLE_LONG");
  return whole && whole[0] == '1' ? 400 : 20;
}

diff::CheckOptions OptionsFor(uint64_t seed) {
  static const int sms[] = {70, 75, 80, 86, 90, 100, 120};
  diff::Rng r(seed * 31 + 7);
  gpu::Way way;
  gpu::Schedule schedule;
  way.sm = sms[r.Below(7)];
  way.dense = r.Chance(40);
  way.opt_level = r.Chance(30) ? 0 : 2;
  way.block = r.Chance(50) ? 64 : 40;
  schedule.kind = static_cast<PtxSchedule>(r.Below(3));
  schedule.seed = seed;
  diff::CheckOptions o;
  o.pipelines.clear();
  o.inner = {0, 1, 37, 70};
  o.others.push_back([=](const IrFunc *kernel) { return gpu::OnInterpreter(kernel, way, schedule); });
  return o;
}

bool Agrees(const diff::Verdict &v) { return v.valid && v.failure.empty(); }

class GpuRandom : public testing::TestWithParam<int> {};

TEST_P(GpuRandom, ProgramsMeanTheSameAsPtx) {
  const uint64_t n = static_cast<uint64_t>(Programs()), first = static_cast<uint64_t>(GetParam()) * n + 1;
  for (uint64_t seed = first; seed < first + n; seed++) {
    fuzz::GenOptions options;
    options.c_functions = false;
    auto p = fuzz::Generate(seed, options);
    diff::Verdict v = fuzz::Apart([&] { return diff::Check(p->c, OptionsFor(seed)); }, 60);
    if (Agrees(v)) continue;
    auto judge = [&](const diff::Case &c) { return diff::Check(c, OptionsFor(seed)); };
    ADD_FAILURE() << "seed " << seed << ": " << v.failure << "\n" << fuzz::Shrink(p->c, judge, 30);
  }
}

INSTANTIATE_TEST_SUITE_P(Block, GpuRandom, testing::Range(0, kBlocks));

} // namespace
