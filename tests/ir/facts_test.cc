// tests/ir/facts_test.cc -- what the lanes of a gang have in common of a thread's place in its group.
#include "ir/facts.h"
#include "ir_testing.h"

namespace {

class FactsTest : public IrTest {
protected:
  // The fact about %v in a kernel of groups of 96, computed by `code` from %t, the place in the group, and %n, an argument:
  // "uniform", "affine STRIDE" or "varying". A kernel that is not split has no regions of threads.
  std::string Of(const std::string &code, bool is_split = true, uint32_t lanes = IR_NEIGHBOURS) {
    std::string body = "%t: i32 = ltid\n" + code + "\n";
    if (is_split) body = "threads {\n" + body + "yield\n}\n";
    IrModule *x = ParseGood("kernel @k(%n: i32) group 96 {\n" + body + "return\n}\n");
    if (!x) return "";
    IrFacts *f = hdir_facts(x->funcs[0], 0, lanes, &arena);
    const IrInst *first = x->funcs[0]->body->first;
    for (const IrInst *i = is_split ? first->sub[0]->first : first; i; i = i->next)
      if (i->nres == 1 && i->res[0]->name && strcmp(i->res[0]->name, "v") == 0) {
        IrFact v = f->of[i->res[0]->id];
        return v.cls == IR_UNIFORM ? "uniform" : v.cls == IR_AFFINE ? "affine " + std::to_string(v.stride) : "varying";
      }
    ADD_FAILURE() << "no %v in " << code;
    return "";
  }
};

TEST_F(FactsTest, LanesOfAGangLieInOneBlockOf32) {
  EXPECT_EQ(Of("%v: i32 = shr %t, 5i32"), "uniform");
  EXPECT_EQ(Of("%v: i32 = div %t, 32i32"), "uniform");
  EXPECT_EQ(Of("%v: bool = has mma"), "uniform");
  EXPECT_EQ(Of("%v: i32 = div %t, 96i32"), "uniform");
  EXPECT_EQ(Of("%v: i32 = and %t, 31i32"), "affine 1");
  EXPECT_EQ(Of("%v: i32 = and %t, 63i32"), "affine 1");
  EXPECT_EQ(Of("%v: i32 = rem %t, 64i32"), "affine 1");
}

TEST_F(FactsTest, LanesOfANarrowGangLieInASmallerBlock) {
  for (uint32_t lanes : {1u, 4u, 16u}) {
    EXPECT_EQ(Of("%v: i32 = shr %t, 4i32", true, lanes), "uniform");
    EXPECT_EQ(Of("%v: i32 = and %t, 15i32", true, lanes), "affine 1");
    EXPECT_EQ(Of("%m: i32 = mul %n, 48i32\n%a: i32 = add %m, %t\n%v: i32 = and %a, 15i32", true, lanes), "affine 1");
    EXPECT_EQ(Of("%s: i32 = shl %n, 4i32\n%a: i32 = add %s, %t\n%v: i32 = shr %a, 5i32", true, lanes), "uniform");
  }
  EXPECT_EQ(Of("%v: i32 = shr %t, 3i32", true, 16), "varying");
  EXPECT_EQ(Of("%v: i32 = and %t, 7i32", true, 16), "varying");
  EXPECT_EQ(Of("%s: i32 = shl %n, 3i32\n%a: i32 = add %s, %t\n%v: i32 = shr %a, 4i32", true, 16), "varying");
}

TEST_F(FactsTest, AMultipleOf32MayBeAdded) {
  const std::string u = "%m: i32 = mul %n, 96i32\n%a: i32 = add %m, %t\n%u: u32 = cvt %a\n";
  EXPECT_EQ(Of(u + "%v: u32 = div %u, 64u32"), "uniform");
  EXPECT_EQ(Of(u + "%r: u32 = rem %u, 64u32\n%v: i64 = cvt %r"), "affine 1");
  EXPECT_EQ(Of(u + "%v: i64 = cvt %u"), "affine 1");
  EXPECT_EQ(Of(u + "%v: i32 = shr %a, 6i32"), "uniform");
  EXPECT_EQ(Of(u + "%v: i32 = div %a, 64i32"), "varying") << "it may be negative, and division goes towards zero";
}

TEST_F(FactsTest, ExtremesOfAGangAreTheSameInItsLanes) {
  EXPECT_EQ(Of("%v: i32 = gang_min %t"), "uniform");
  EXPECT_EQ(Of("%v: i32 = gang_max %t"), "uniform");
  EXPECT_EQ(Of("%c: bool = gt %t, 3i32\n%v: i32 = gang_count %c"), "uniform");
  EXPECT_EQ(Of("%v: i32 = gang_max %t", false), "varying") << "a group has several gangs";
}

TEST_F(FactsTest, WhatCutsABlockIsVarying) {
  EXPECT_EQ(Of("%v: i32 = shr %t, 4i32"), "varying");
  EXPECT_EQ(Of("%v: i32 = and %t, 15i32"), "varying");
  EXPECT_EQ(Of("%v: i32 = and %t, 96i32"), "varying");
  EXPECT_EQ(Of("%v: i32 = rem %t, 48i32"), "varying");
  EXPECT_EQ(Of("%v: i32 = div %t, 0i32"), "varying");
  EXPECT_EQ(Of("%a: i32 = add %t, %n\n%v: i32 = shr %a, 5i32"), "varying");
  EXPECT_EQ(Of("%a: i32 = add %t, 8i32\n%v: i32 = and %a, 31i32"), "varying");
  EXPECT_EQ(Of("%a: i32 = mul %t, 2i32\n%v: i32 = shr %a, 5i32"), "varying");
}

TEST_F(FactsTest, OfAWholeGroupTheyAreNot) {
  EXPECT_EQ(Of("%v: i32 = shr %t, 5i32", false), "varying");
  EXPECT_EQ(Of("%v: i32 = and %t, 31i32", false), "varying");
}

} // namespace
