// tests/passes/manager_test.cc -- passes by name.
#include "passes/passes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

constexpr char kText[] = R"(
func @twice(%x: f32) -> f32 {
  %y: f32 = add %x, %x
  return %y
}

kernel @k(%a: array<f32, 1>) {
  %i: i32 = tid 0
  %p: ptr<f32> = index %a, %i
  %x: f32 = load %p
  %y: f32 = call @twice %x
  store %p, %y
  return
}
)";

class Manager : public testing::Test {
protected:
  void SetUp() override { hdb_arena_init(&arena_, &hdb_system_allocator); }
  void TearDown() override { hdb_arena_free(&arena_); }

  HdStatus Run(const char *passes) {
    volatile HdStatus status = HD_ERR_NOMEM;
    jmp_buf jb;
    cx_.err = &err_;
    HDB_GUARD(&arena_, jb) {
      if (!module_)
        status = hdir_parse(&arena_, "m", kText, sizeof kText - 1, &err_, &module_);
      else
        status = HD_OK;
      if (status == HD_OK) status = hdopt_run(module_, passes, &cx_);
    }
    return status;
  }

  Arena arena_;
  HdError err_ = {};
  OptContext cx_ = {};
  IrModule *module_ = nullptr;
};

TEST_F(Manager, NamesUnknownPassesAndTheKnownOnes) {
  EXPECT_EQ(Run("gvn,frobnicate"), HD_ERR_OPTION);
  const std::string detail = err_.detail;
  EXPECT_NE(detail.find("'frobnicate'"), std::string::npos) << detail;
  for (const OptPass *p = hdopt_passes; p->name; p++) EXPECT_NE(detail.find(p->name), std::string::npos) << detail;
  EXPECT_NE(detail.find("canon cpu"), std::string::npos) << detail;
  EXPECT_STREQ(err_.arg, "passes");
}

TEST_F(Manager, RunsNothingIfOneNameIsUnknown) {
  EXPECT_EQ(Run("inline,frobnicate"), HD_ERR_OPTION);
  EXPECT_EQ(module_->nfuncs, 2u);
  bool call = false;
  for (const IrInst *i = hdir_func_find(module_, "k")->body->first; i; i = hdir_inst_next(i)) call |= i->op == IR_call;
  EXPECT_TRUE(call);
}

TEST_F(Manager, TakesBlanksAndEmptyLists) {
  EXPECT_EQ(Run(""), HD_OK);
  EXPECT_EQ(Run(" gvn , simplify "), HD_OK);
}

TEST_F(Manager, TellsAboutEachPassOnEachFunction) {
  std::vector<std::string> seen;
  cx_.user = &seen;
  cx_.after = [](void *user, const char *pass, const IrFunc *fn, bool changed, double ms) {
    EXPECT_GE(ms, 0);
    ((std::vector<std::string> *)user)->push_back(std::string(pass) + " " + fn->name + (changed ? " changed" : ""));
  };
  EXPECT_EQ(Run("gvn,inline"), HD_OK);
  EXPECT_EQ(seen, (std::vector<std::string>{"gvn twice", "gvn k", "inline twice", "inline k changed"}));
}

TEST_F(Manager, CpuKeepsOnlyKernels) {
  EXPECT_EQ(Run("cpu"), HD_OK);
  ASSERT_EQ(module_->nfuncs, 1u);
  EXPECT_STREQ(module_->funcs[0]->name, "k");
}

TEST_F(Manager, CanonKeepsFunctions) {
  EXPECT_EQ(Run("canon"), HD_OK);
  EXPECT_EQ(module_->nfuncs, 2u);
}

TEST_F(Manager, VerifiesAfterEachPassIfAsked) {
  cx_.verify = true;
  ASSERT_EQ(Run("contract"), HD_OK);
  hdir_unlink(hdir_func_find(module_, "k")->body->first); // others use its value; contract does not mind
  EXPECT_EQ(Run("contract"), HD_ERR_IR);
  cx_.verify = false;
  EXPECT_EQ(Run("contract"), HD_OK);
}

TEST_F(Manager, UsesTheScratchArenaItIsGiven) {
  Arena scratch;
  jmp_buf jb;
  hdb_arena_init(&scratch, &hdb_system_allocator);
  HDB_GUARD(&scratch, jb) {
    cx_.scratch = &scratch;
    const char *before = hdb_strdup(&scratch, "mine");
    EXPECT_EQ(Run("cpu"), HD_OK);
    EXPECT_STREQ(before, "mine");
  }
  else { FAIL(); }
  hdb_arena_free(&scratch);
}

} // namespace
