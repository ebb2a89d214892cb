// tests/passes/preserve_test.cc -- passes keep every bit of what a program computes.
//
// Random programs run on the interpreter as they are after `canon`, and again after the passes named by the test. What
// `canon` itself does is a matter of definition, so nothing here can judge it: tests/golden/contract shows it.
#include <gtest/gtest.h>

#include "passes/passes.h"
#include "tests/fuzz/gen.h"

namespace {

// Enough that every way through every pass is taken; ./dev fuzz goes on from there.
constexpr uint64_t kPrograms = 150;

class Preserve : public testing::TestWithParam<const char *> {};

TEST_P(Preserve, EveryBitOfRandomPrograms) {
  diff::CheckOptions options;
  options.pipelines = {GetParam()};
  for (uint64_t seed = 1; seed <= kPrograms; seed++) {
    auto          p = fuzz::Generate(seed);
    diff::Verdict v = diff::Check(p->c, options);
    ASSERT_TRUE(v.valid) << "seed " << seed << ": " << v.failure;
    ASSERT_EQ(v.failure, "") << "seed " << seed << "\n" << diff::Text(p->c.module);
  }
}

const char *const kLists[] = {
    "inline",
    "scalarise",
    "promote",
    "simplify",
    "unroll",
    "gvn",
    "forward",
    "licm",
    "flatten",
    "scalarise,legalise",
    "scalarise,promote",
    "gvn,forward",
    "simplify,licm,simplify",
    "scalarise,promote,simplify,unroll,promote,simplify",
    "inline,simplify,licm,flatten,gvn",
    "cpu",
    "cpu,cpu",
};

std::string NameOf(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  for (char &c : name)
    if (c == ',') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Passes, Preserve, testing::ValuesIn(kLists), NameOf);

// --- what is left after "cpu" ---

bool IsHalf(const IrType *t) { return t->kind == IR_F16 || t->kind == IR_BF16; }

// "" or why the CPU backend would not take the instruction.
std::string Objection(const IrInst *i) {
  if (i->op == IR_call) return "a call";
  for (uint32_t k = 0; k < i->nres; k++) {
    const IrType *t = i->res[k]->type;
    if (hdir_is_composite(t) && i->op != IR_extract) return "a composite result";
    if (i->op == IR_extract && i->args[0]->def && i->args[0]->def->op != IR_extract) return "extract of no parameter";
    if ((t->kind == IR_PTR || t->kind == IR_ARRAY) && i->nsubs) return "an address out of a region";
  }
  if (hdir_ops[i->op].effect != FX_PURE || i->op == IR_select || i->op == IR_bitcast || i->op == IR_extract) return "";
  const bool half = (i->nargs && IsHalf(i->args[0]->type)) || (i->nres && IsHalf(i->res[0]->type));
  if (!half) return "";
  if (i->op != IR_cvt) return "half arithmetic";
  return i->args[0]->type->kind == IR_F32 || i->res[0]->type->kind == IR_F32 ? "" : "a conversion not by way of f32";
}

TEST(Cpu, LeavesOnlyWhatTheBackendTakes) {
  for (uint64_t seed = 1; seed <= kPrograms; seed++) {
    auto       p = fuzz::Generate(seed);
    diff::Copy copy(p->c.module);
    ASSERT_EQ(copy.Run("cpu"), "");
    for (uint32_t k = 0; k < copy.module->nfuncs; k++) {
      const IrFunc *fn = copy.module->funcs[k];
      ASSERT_TRUE(fn->is_kernel);
      for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
        ASSERT_EQ(Objection(i), "") << "seed " << seed << ", " << hdir_ops[i->op].name << "\n" << diff::Text(copy.module);
      }
    }
  }
}

// The same module gives the same text: nothing depends on addresses.
TEST(Cpu, IsDeterministic) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    auto       p = fuzz::Generate(seed);
    diff::Copy a(p->c.module), b(p->c.module);
    a.Run("cpu");
    b.Run("cpu");
    ASSERT_EQ(diff::Text(a.module), diff::Text(b.module)) << "seed " << seed;
  }
}

} // namespace
