// tests/nvptx/ptx_ops_test.cc -- every op on every type becomes PTX for every target; LLVM would end the process on one
// that it cannot select, so a failure here may be a crash.
#include <set>

#include "nvptx_testing.h"

using namespace nvptx_test;

namespace {

class OnType : public testing::TestWithParam<size_t> {};

TEST_P(OnType, EveryOpIsSelectedForEveryTarget) {
  std::vector<size_t> outputs;
  Module m(AllOps(GetParam(), &outputs));
  for (const std::string &target : Targets()) {
    Options o;
    o.target = target;
    PtxCode c = m.Compile(m.Kernel(), o);
    ASSERT_EQ(m.status, HD_OK) << target << ": " << m.err.detail;
    const std::string made = IsNewLlvm() ? target : "sm_" + std::to_string(c.sm);
    ASSERT_NE(std::string(c.ptx).find(".target " + made + "\n"), std::string::npos) << c.ptx;
  }
}

// Before legalise too, and without LLVM's passes.
TEST_P(OnType, EveryOpIsSelectedWithoutPasses) {
  std::vector<size_t> outputs;
  Module m(AllOps(GetParam(), &outputs), "");
  for (const char *target : {"sm_70", "sm_120"}) {
    Options o;
    o.target = target;
    o.ptx.opt_level = 0;
    o.ptx.fast = true;
    m.Compile(m.Kernel(), o);
    ASSERT_EQ(m.status, HD_OK) << target << ": " << m.err.detail;
  }
}

TEST_P(OnType, EveryOpIsAssembled) {
  NEEDS_PTXAS();
  std::vector<std::string> archs = {"sm_75", "sm_90"};
  if (IsLong())
    archs = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"};
  else if (GetParam() % 4 != 3)
    archs = {"sm_90"};
  std::vector<size_t> outputs;
  std::string text = AllOps(GetParam(), &outputs);
  for (const std::string &arch : archs) {
    Options o;
    o.target = arch;
    EXPECT_EQ(Assemble(Ptx(text, o), arch), "") << arch;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnType, testing::Range((size_t)0, Types().size()),
                         [](const testing::TestParamInfo<size_t> &i) { return Types()[i.param]; });

TEST(Ops, EveryScalarRowIsTried) {
  std::set<std::string> seen;
  for (size_t t = 0; t < Types().size(); t++) {
    std::vector<size_t> outputs;
    std::vector<std::string> names;
    AllOps(t, &outputs, &names);
    for (const std::string &n : names) seen.insert(n.substr(0, n.find(' ')));
  }
  for (int op = 0; op <= IR_bitcast; op++) EXPECT_TRUE(seen.count(hdir_ops[op].name)) << hdir_ops[op].name;
}

// Of one to three coordinates, with the numbers of one texel by one instruction; only where the kernel is fast.
TEST(Ops, TexelsAreFetchedByTheTextureUnits) {
  const std::string places[] = {"%x", "%x, %y", "%x, %y, %z"}, shown[] = {"1d", "2d", "3d"};
  for (int axes = 1; axes <= 3; axes++)
    for (bool fast : {false, true}) {
      const std::string at = places[axes - 1];
      const std::string text =
          "kernel @k(%o: u64, %a: array<f32, 1>, %x: f32, %y: f32, %z: f32)" + std::string(fast ? " fast" : "") +
          " {\n  %i: i32 = tid 0\n" + "  %p: ptr<f32> = index %a, %i\n  %l: f32 = load %p\n  %r: f32 = tex %o, 0, " +
          at + ", %l\n  %b: f32 = tex %o, 3, " + at + ", %l\n  %s: f32 = add %r, %b\n  store %p, %s\n  return\n}\n";
      for (const std::string &target : Targets()) {
        Options o;
        o.target = target;
        for (int level : {0, 2}) {
          o.ptx.opt_level = level;
          Module m(text, "gpu", fast ? 1u << IR_UNIT_tex : 0);
          PtxCode c = m.Compile(m.Kernel(), o);
          ASSERT_EQ(m.status, HD_OK) << m.err.detail;
          const std::string ptx = c.ptx, name = "tex.level." + shown[axes - 1] + ".v4.f32.f32";
          const size_t first = ptx.find("tex.");
          EXPECT_EQ(first, fast ? ptx.find(name) : std::string::npos) << ptx;
          if (fast) { EXPECT_EQ(ptx.find("tex.", first + 5), std::string::npos) << ptx; }
          const bool tried = target == "sm_75" || target == "sm_90" || target == "sm_120";
          if (fast && tried && !Ptxas().empty()) { EXPECT_EQ(Assemble(ptx, target), "") << ptx; }
        }
      }
    }
}

// All atomics on the types that they take.
std::string Atomics(const char *ty) {
  std::string text = std::string("kernel @atomics(%x: array<") + ty + ", 1>, %v: " + ty + ") {\n  %i: i32 = tid 0\n";
  text += std::string("  %p: ptr<") + ty + "> = index %x, %i\n";
  bool is_float = ty[0] == 'f';
  std::string last = "%v";
  for (int op = IR_atomic_add; op <= IR_atomic_cas; op++) {
    std::string n = hdir_ops[op].name;
    if (is_float && (n == "atomic_and" || n == "atomic_or" || n == "atomic_xor" || n == "atomic_cas")) continue;
    text += "  %r" + std::to_string(op) + ": " + ty + " = " + n + " %p, " + last + (op == IR_atomic_cas ? ", %v" : "") +
            "\n";
    last = "%r" + std::to_string(op);
  }
  return text + "  %old: " + ty + " = atomic_add %p, " + last + "\n  return\n}\n";
}

TEST(Ops, AtomicsOfEveryTypeAreSelectedForEveryTarget) {
  for (const char *ty : {"i32", "u32", "i64", "u64", "f32", "f64"}) {
    for (const std::string &target : Targets()) {
      Options o;
      o.target = target;
      std::string ptx = Ptx(Atomics(ty), o);
      EXPECT_EQ(ptx.find("atom.global.sys"), std::string::npos) << ptx;
      EXPECT_EQ(ptx.find(".sys"), std::string::npos) << "the scope is the device\n" << ptx;
    }
    if (!Ptxas().empty()) { EXPECT_EQ(Assemble(Ptx(Atomics(ty)), "sm_75"), "") << ty; }
  }
}

} // namespace
