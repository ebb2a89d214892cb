// tests/fuzz/random_test.cc -- 2,000 random programs, and what the generator and the shrinker promise.
#include <gtest/gtest.h>

#include "gen.h"
#include "passes/passes.h"
#include "shrink.h"

namespace {

constexpr int kBlocks = 40, kPrograms = 50; // 2,000 in all

const char *const kAlone[] = {"inline", "scalarise", "promote", "simplify", "gvn",   "forward",
                              "licm",   "unroll",    "flatten", "legalise", "expand"};

class Random : public testing::TestWithParam<int> {};

// Each program after the whole "cpu" pipeline, after one pass alone, after a few in any order, and as machine code made in
// one or two ways.
diff::CheckOptions OptionsFor(uint64_t seed) {
  diff::Rng r(seed);
  diff::CheckOptions o = diff::RandomOptions(seed, seed % 4 ? 1 : 2);
  std::string few = "inline";
  for (int k = 0; k < 4; k++) few += std::string(",") + kAlone[r.Below(11)];
  o.pipelines = {"cpu", kAlone[r.Below(11)], few};
  return o;
}

diff::Verdict CheckSeed(uint64_t seed) { return diff::Check(fuzz::Generate(seed)->c, OptionsFor(seed)); }

bool Agrees(const diff::Verdict &v) { return v.valid && v.failure.empty(); }

void Explain(uint64_t seed) {
  diff::Verdict v = fuzz::Apart([&] { return CheckSeed(seed); }, 60);
  if (Agrees(v)) return;
  auto p = fuzz::Generate(seed);
  auto judge = [&](const diff::Case &c) { return diff::Check(c, OptionsFor(seed)); };
  ADD_FAILURE() << "seed " << seed << ": " << v.failure << "\n"
                << (v.valid ? "smaller (./dev fuzz FILE runs it):\n" + fuzz::Shrink(p->c, judge, 30)
                            : "the program is not valid");
}

// A child runs the block, since a program may crash what it finds wrong; only then each is run by itself.
TEST_P(Random, ProgramsMeanTheSameEverywhere) {
  uint64_t first = (uint64_t)GetParam() * kPrograms + 1;
  auto all = [&] {
    diff::Verdict v;
    for (uint64_t seed = first; seed < first + kPrograms && Agrees(v); seed++) v = CheckSeed(seed);
    return v;
  };
  if (Agrees(fuzz::Apart(all, 600))) return;
  for (uint64_t seed = first; seed < first + kPrograms; seed++) Explain(seed);
  EXPECT_TRUE(HasFailure()) << "the block fails, but none of its programs by itself";
}

INSTANTIATE_TEST_SUITE_P(Block, Random, testing::Range(0, kBlocks));

TEST(Generator, GivesTheSameProgramForTheSameSeed) {
  for (uint64_t seed = 1; seed < 20; seed++) {
    auto a = fuzz::Generate(seed), b = fuzz::Generate(seed);
    EXPECT_EQ(diff::Text(a->c.module), diff::Text(b->c.module));
    EXPECT_EQ(diff::Describe(a->c, "#"), diff::Describe(b->c, "#"));
  }
}

TEST(Generator, UsesEveryOp) {
  std::vector<int> count(IR_NOPS, 0);
  for (uint64_t seed = 1; seed <= 300; seed++) {
    auto p = fuzz::Generate(seed);
    for (uint32_t f = 0; f < p->c.module->nfuncs; f++)
      for (const IrInst *i = p->c.module->funcs[f]->body->first; i; i = hdir_inst_next(i)) count[i->op]++;
  }
  for (IrOp op : {IR_threads, IR_gang_min, IR_gang_max, IR_gang_count}) count[op] = 1; // which nothing but a pass makes
  for (int op = 0; op < IR_NOPS; op++) EXPECT_GT(count[op], 0) << hdir_ops[op].name;
}

TEST(Generator, TextComesBackTheSame) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    auto p = fuzz::Generate(seed);
    std::string text = diff::Text(p->c.module);
    diff::Copy copy(text);
    ASSERT_EQ(copy.problem, "");
    EXPECT_EQ(diff::Text(copy.module), text) << "seed " << seed;
  }
}

TEST(Generator, DescriptionsComeBackTheSame) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    auto p = fuzz::Generate(seed);
    std::string described = diff::Describe(p->c, "#");
    std::unique_ptr<diff::Copy> copy;
    diff::Case c;
    ASSERT_EQ(fuzz::LoadCase(described + diff::Text(p->c.module), &copy, &c), "");
    EXPECT_EQ(diff::Describe(c, "#"), described);
  }
}

// A pass that is wrong on purpose is found, and little is left of the program.
TEST(Shrinker, FindsTheInstructionThatMatters) {
  int shrunk = 0;
  for (uint64_t seed = 1; seed < 40 && shrunk < 3; seed++) {
    auto p = fuzz::Generate(seed);
    auto judge = [](const diff::Case &c) { // "fails" if a thread's result depends on a multiplication of i32
      diff::Copy good(c.module), bad(c.module);
      for (uint32_t f = 0; f < bad.module->nfuncs; f++)
        for (IrInst *i = bad.module->funcs[f]->body->first; i; i = hdir_inst_next(i))
          if (i->op == IR_mul && i->res[0]->type->kind == IR_I32) i->op = IR_add;
      diff::Inputs want = diff::MakeInputs(c, c.dim, diff::Layout::kDense, c.seed), got = want;
      if (!diff::RunInterp(good.Find(c.kernel), &want).empty()) return diff::Verdict{false, "not valid"};
      std::string why = diff::RunInterp(bad.Find(c.kernel), &got);
      return diff::Verdict{true, why.empty() ? diff::Compare(want, got) : "wanted another address: " + why};
    };
    if (judge(p->c).failure.empty() || !judge(p->c).valid) continue;
    std::string text = fuzz::Shrink(p->c, judge, 60);
    size_t lines = 0;
    for (char ch : text) lines += ch == '\n';
    EXPECT_NE(text.find("mul"), std::string::npos);
    EXPECT_LT(lines, 40u) << text;
    shrunk++;
  }
  EXPECT_EQ(shrunk, 3);
}

} // namespace
