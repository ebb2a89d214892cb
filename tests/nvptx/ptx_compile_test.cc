// tests/nvptx/ptx_compile_test.cc -- targets, options, the launch's layout, sites of asserts, and what is refused.
#include <cstddef>

#include "nvptx_testing.h"
#include "runtime/artifact.h"

using namespace nvptx_test;

namespace {

const char kCopy[] = R"(
kernel @copy(%x: array<f32, 1>, %y: array<f32, 1>) {
  %i: i32 = tid 0
  %p: ptr<f32> = index %x, %i
  %q: ptr<f32> = index %y, %i
  %v: f32 = load %p
  store %q, %v
  return
}
)";

TEST(Layout, IsTheRuntimes) {
  EXPECT_EQ((size_t)PTX_LAUNCH_DIM, offsetof(RtGpuLaunch, dim));
  EXPECT_EQ((size_t)PTX_LAUNCH_COUNT, offsetof(RtGpuLaunch, count));
  EXPECT_EQ((size_t)PTX_LAUNCH_FAULT, offsetof(RtGpuLaunch, fault));
  EXPECT_EQ((size_t)PTX_LAUNCH_AT, offsetof(RtGpuLaunch, at));
  EXPECT_EQ((size_t)PTX_LAUNCH_LEN, offsetof(RtGpuLaunch, len));
  EXPECT_EQ((size_t)PTX_LAUNCH_MUL, offsetof(RtGpuLaunch, mul));
  EXPECT_EQ((size_t)PTX_LAUNCH_SHIFT, offsetof(RtGpuLaunch, shift));
  EXPECT_EQ((size_t)PTX_LAUNCH_SIZE, sizeof(RtGpuLaunch));
  EXPECT_EQ((size_t)PTX_FAULT_STATE, offsetof(RtGpuFault, state));
  EXPECT_EQ((size_t)PTX_FAULT_SITE, offsetof(RtGpuFault, site));
  EXPECT_EQ((size_t)PTX_FAULT_HAS_INDEX, offsetof(RtGpuFault, has_index));
  EXPECT_EQ((size_t)PTX_FAULT_INDEX, offsetof(RtGpuFault, index));
  EXPECT_EQ((size_t)PTX_FAULT_LIMIT, offsetof(RtGpuFault, limit));
  EXPECT_EQ((size_t)PTX_FAULT_TID, offsetof(RtGpuFault, tid));
  EXPECT_EQ((size_t)PTX_FAULT_SIZE, sizeof(RtGpuFault));
}

TEST(Target, HasTheOldestPtxVersionThatKnowsWhatIsUsed) {
  const std::pair<const char *, const char *> want[] = {{"sm_70", "6.0"},  {"sm_75", "7.0"},  {"sm_80", "7.0"},
                                                        {"sm_86", "7.1"},  {"sm_89", "7.8"},  {"sm_90", "7.8"},
                                                        {"sm_100", "8.6"}, {"sm_103", "8.8"}, {"sm_120", "8.7"}};
  ASSERT_EQ(Targets().size(), std::size(want));
  for (const auto &[target, version] : want) {
    if (!IsNewLlvm() && atoi(target + 3) >= 100) continue;
    Options o;
    o.target = target;
    std::string ptx = Ptx(kCopy, o);
    EXPECT_NE(ptx.find(std::string(".version ") + version + "\n.target " + target + "\n"), std::string::npos) << ptx;
  }
}

TEST(Target, HasMatrixUnitsFromTuringOnAndTextureUnitsAlways) {
  const std::string text = R"(kernel @k(%out: array<f32, 1>){FAST} {
    %i: i32 = tid 0
    %p: ptr<f32> = index %out, %i
    %t: bool = has tex
    %m: bool = has mma
    %x: f32 = select %t, 10.0f32, 20.0f32
    %y: f32 = select %m, 1.0f32, 2.0f32
    %s: f32 = add %x, %y
    store %p, %s
    return
  })";
  for (bool fast : {false, true}) {
    std::string in = text;
    in.replace(in.find("{FAST}"), 6, fast ? " fast" : "");
    for (const std::string &name : Targets()) {
      Memory memory;
      HdError err = {};
      PtxTarget target;
      ASSERT_EQ(hdptx_target(name.c_str(), &memory.a, &err, &target), HD_OK);
      const char *want = !fast             ? "], 1102053376;" /* 22.0 */
                         : name == "sm_70" ? "], 1094713344;" /* 12.0 */
                                           : "], 1093664768;" /* 11.0 */;
      Options o;
      o.target = name;
      // the pass, and the lowering of what has not been through it
      for (const char *passes : {"gpu", ""}) {
        Module m(in, passes, hdptx_units(&target));
        PtxCode c = m.Compile(m.Kernel(), o);
        ASSERT_EQ(m.status, HD_OK) << m.err.detail;
        EXPECT_NE(std::string(c.ptx).find(want), std::string::npos) << name << fast << passes << "\n" << c.ptx;
      }
    }
  }
}

// LLVM would end the process on a target that it does not know.
TEST(Target, ThatLlvmDoesNotKnowGetsCodeForAnOlderOne) {
  Module m(kCopy);
  Options o;
  o.target = "sm_120";
  PtxCode c = m.Compile(m.Kernel(), o);
  ASSERT_EQ(m.status, HD_OK) << m.err.detail;
  if (IsNewLlvm())
    EXPECT_EQ(c.sm, 120);
  else
    EXPECT_EQ(c.sm, 90);
  EXPECT_NE(std::string(c.ptx).find(".target sm_" + std::to_string(c.sm)), std::string::npos) << c.ptx;
}

TEST(Target, ThatIsUnknownIsRefusedWithAllNames) {
  Module m(kCopy);
  Options o;
  for (const char *name : {"sm_60", "sm_9", "sm_900", "90", "", "host"}) {
    o.target = name;
    m.Compile(m.Kernel(), o);
    EXPECT_EQ(m.status, HD_ERR_TARGET) << name;
    for (const std::string &t : Targets())
      EXPECT_NE(std::string(m.err.detail).find(t), std::string::npos) << m.err.detail;
  }
}

TEST(Code, NamesItsEntryAndItsRank) {
  Module m("kernel @f(%x: array<f32, 2>) {\n %i: i32 = tid 1\n %p: ptr<f32> = index %x, %i, %i\n store %p, 0.0f32\n "
           "return\n}\n");
  PtxCode c = m.Compile(m.Kernel(), Options());
  EXPECT_EQ(c.rank, 2);
  EXPECT_STREQ(c.symbol, "hd_f");
  EXPECT_NE(std::string(c.ptx).find(".visible .entry hd_f("), std::string::npos) << c.ptx;
  EXPECT_EQ(c.ptx_size, strlen(c.ptx));
  EXPECT_EQ(c.sm, 75);
}

TEST(Code, SpellsNamesThatPtxLacks) {
  Module m("kernel @\"a.b c\"(%x: array<f32, 1>) {\n return\n}\n");
  PtxCode c = m.Compile(m.Kernel(), Options());
  ASSERT_EQ(m.status, HD_OK) << m.err.detail;
  EXPECT_STREQ(c.symbol, "hd_a$2eb$20c");
  EXPECT_NE(std::string(c.ptx).find(".entry hd_a$2eb$20c("), std::string::npos) << c.ptx;
  if (!Ptxas().empty()) { EXPECT_EQ(Assemble(c.ptx, "sm_75"), ""); }
}

TEST(Code, SaysHowLargeABlockMayBe) {
  Options o;
  EXPECT_NE(Ptx(kCopy, o).find(".maxntid 256"), std::string::npos);
  o.ptx.block = 1024;
  EXPECT_NE(Ptx(kCopy, o).find(".maxntid 1024"), std::string::npos);
  Module m(kCopy);
  for (int32_t block : {-1, 1025}) {
    o.ptx.block = block;
    m.Compile(m.Kernel(), o);
    EXPECT_EQ(m.status, HD_ERR_OPTION);
  }
}

TEST(Code, WithoutParametersIsAKernelToo) {
  std::string ptx = Ptx("kernel @none() {\n return\n}\n");
  EXPECT_NE(ptx.find("hd_none_param_0[8]"), std::string::npos) << ptx;
}

TEST(Code, RefusesMoreParametersThanFit) {
  std::string text = "kernel @many(%a0: i64";
  for (int k = 1; k < 600; k++) text += ", %a" + std::to_string(k) + ": i64";
  Module m(text + ") {\n return\n}\n");
  Options o;
  m.Compile(m.Kernel(), o);
  EXPECT_EQ(m.status, HD_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(m.err.detail).find("4800 bytes"), std::string::npos) << m.err.detail;
  if (!IsNewLlvm()) return;
  o.target = "sm_100";
  m.Compile(m.Kernel(), o);
  EXPECT_EQ(m.status, HD_OK) << m.err.detail;
}

TEST(Code, RefusesAFunction) {
  Module m("func @f(%x: f32) -> f32 {\n return %x\n}\n", "");
  m.Compile(m.m->funcs[0], Options());
  EXPECT_EQ(m.status, HD_ERR_COMPILE);
}

TEST(Code, RefusesACallAndSaysWhere) {
  Module m("file 0 \"k.hd\"\nfunc @g() {\n return\n}\nkernel @k() {\n call @g @ 0:7:3\n return\n}\n", "");
  m.Compile(m.Kernel(), Options());
  EXPECT_EQ(m.status, HD_ERR_COMPILE);
  EXPECT_EQ(m.err.where.line, 7) << m.err.detail;
  EXPECT_STREQ(m.err.where.file, "k.hd");
}

TEST(Code, RefusesALocalVariableThatNoThreadHasRoomFor) {
  Module m("kernel @k(%x: array<f32, 1>, %i: i32) {\n %a: ptr<fixed<f32, 200000>, local> = alloca\n %e: ptr<f32, "
           "local> = elem %a, %i\n"
           " store %e, 1.0f32\n %v: f32 = load %e\n %p: ptr<f32> = index %x, %i\n store %p, %v\n return\n}\n",
           "");
  m.Compile(m.Kernel(), Options());
  EXPECT_EQ(m.status, HD_ERR_UNSUPPORTED) << m.err.detail;
}

TEST(Sites, AreOneForEachAssertAndCheck) {
  Module m("file 0 \"s.hd\"\nkernel @k(%a: bool, %i: i64) {\n assert %a, \"first\" @ 0:3:9\n check %a, %i, %i, \"x\" @ "
           "0:4:2\n return\n}\n");
  PtxCode c = m.Compile(m.Kernel(), Options());
  ASSERT_EQ(c.sites.n, 2u);
  EXPECT_STREQ(c.sites.at[0].text, "first");
  EXPECT_STREQ(c.sites.at[0].file, "s.hd");
  EXPECT_EQ(c.sites.at[0].line, 3);
  EXPECT_EQ(c.sites.at[0].column, 9);
  EXPECT_STREQ(c.sites.at[1].text, "x");
}

// --- the default mode leaves nothing to the GPU's taste ---

TEST(Exact, EveryFloatOperationIsRoundedAsSaid) {
  for (size_t t : {(size_t)11, (size_t)12}) {
    std::vector<size_t> outputs;
    std::string ptx = Ptx(AllOps(t, &outputs)), f = t == 11 ? "f32" : "f64";
    for (const char *op : {"add", "sub", "mul", "div", "sqrt", "fma"}) {
      EXPECT_NE(ptx.find(std::string(op) + ".rn." + f), std::string::npos) << op << "\n" << ptx;
      EXPECT_EQ(ptx.find(std::string(op) + "." + f), std::string::npos) << op << "\n" << ptx;
    }
    EXPECT_EQ(ptx.find(".ftz"), std::string::npos);
    EXPECT_EQ(ptx.find("approx"), std::string::npos);
  }
}

TEST(Exact, ProductsAndSumsAreNotJoinedHere) {
  const char text[] = "kernel @k(%x: array<f32, 1>, %a: f32, %b: f32) {\n %i: i32 = tid 0\n %p: ptr<f32> = index %x, "
                      "%i\n %v: f32 = load %p\n"
                      " %m: f32 = mul %v, %a\n %s: f32 = add %m, %b\n store %p, %s\n return\n}\n";
  Options o;
  o.passes = "inline";
  EXPECT_EQ(Ptx(text, o).find("fma"), std::string::npos);
  o.ptx.fast = true;
  EXPECT_EQ(Ptx(text, o).find("fma"), std::string::npos);
}

TEST(Fast, TakesApproximateDivisionAndRoots) {
  if (!IsNewLlvm()) GTEST_SKIP() << "LLVM 19 rounds them correctly in either mode";
  std::vector<size_t> outputs;
  Options o;
  o.ptx.fast = true;
  std::string ptx = Ptx(AllOps(11, &outputs), o);
  EXPECT_NE(ptx.find("div.approx.ftz.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("sqrt.approx.ftz.f32"), std::string::npos) << ptx;
  EXPECT_NE(Ptx(AllOps(12, &outputs), o).find("div.rn.f64"), std::string::npos);
}

TEST(Loads, TakeWhatLiesTogetherAtOnceWhereItIsAligned) {
  auto copy = [](const std::string &type, int parts, bool dense) {
    std::string text = "kernel @k(%x: array<" + type + ", 1>, %y: array<" + type +
                       ", 1>) {\n %i: i32 = tid 0\n"
                       " %p: ptr<" +
                       type + "> = index %x, %i\n %q: ptr<" + type + "> = index %y, %i\n";
    for (int k = 0; k < parts; k++) {
      std::string n = std::to_string(k);
      text += " %p" + n + ": ptr<f32> = member %p, " + n + "\n %v" + n + ": f32 = load %p" + n + "\n";
    }
    for (int k = 0; k < parts; k++) {
      std::string n = std::to_string(k);
      text += " %q" + n + ": ptr<f32> = member %q, " + n + "\n store %q" + n + ", %v" + n + "\n";
    }
    Options o;
    o.ptx.dense = o.ptx.small = dense;
    return Ptx(text + " return\n}\n", o);
  };
  for (const char *what : {"ld.global.v4.", "st.global.v4."}) {
    EXPECT_NE(copy("vec<f32, 4>", 4, true).find(what), std::string::npos) << what;
    EXPECT_NE(copy("mat<f32, 2, 4>", 8, true).find(what), std::string::npos) << what;
    EXPECT_EQ(copy("vec<f32, 4>", 4, false).find(what), std::string::npos) << what;
    EXPECT_EQ(copy("vec<f32, 6>", 6, true).find(what), std::string::npos) << what;
  }
  EXPECT_NE(copy("vec<f32, 2>", 2, true).find("ld.global.v2."), std::string::npos);
  EXPECT_NE(copy("vec<f32, 6>", 6, true).find("st.global.v2."), std::string::npos);
  EXPECT_EQ(copy("vec<f32, 3>", 3, true).find("global.v"), std::string::npos) << "12 bytes lie on 4";
}

TEST(Loads, TakeTheReadOnlyPathWhereNothingOfTheTypeIsWritten) {
  EXPECT_EQ(Ptx(kCopy).find("ld.global.nc"), std::string::npos) << "both arrays may be one";
  std::string other = kCopy;
  size_t at = other.find("%y: array<f32, 1>");
  other.replace(at, 17, "%y: array<u32, 1>");
  at = other.find("%q: ptr<f32> = index %y");
  other.replace(at, 23, "%q: ptr<u32> = index %y");
  at = other.find("store %q, %v");
  other.replace(at, 12, "%u: u32 = bitcast %v\n  store %q, %u");
  EXPECT_NE(Ptx(other).find("ld.global.nc."), std::string::npos) << Ptx(other);
}

} // namespace
