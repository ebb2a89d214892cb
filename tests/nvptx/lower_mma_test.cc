// tests/nvptx/lower_mma_test.cc -- products of matrices: by which units, for which GPUs, and what ptxas says.
#include "nvptx_testing.h"

using namespace nvptx_test;

namespace {

// Operands that are made of scalars, a parameter, and other products, also in a loop.
std::string Products(const std::string &type, bool fast) {
  const bool real = type == "f64";
  const std::string a = real ? "f64" : "vec<" + type + ", 8>", b = real ? "f64" : "vec<" + type + ", 4>",
                    c = real ? "vec<f64, 2>" : "vec<f32, 4>";
  return "kernel @k(%a: array<" + a + ", 1>, %b: array<" + b + ", 1>, %c: array<" + c + ", 1>, %z: " + c + ")" +
         " group 64" + (fast ? " fast" : "") + " {\n  %t: i32 = ltid\n  %p: ptr<" + a + "> = index %a, %t\n  %q: ptr<" +
         b + "> = index %b, %t\n  %x: " + a + " = load %p\n  %y: " + b + " = load %q\n  %r: " + c +
         " = mma %x, %y, %z\n  %s: " + c + " = mma %x, %y, %r\n  %l: " + c + " = loop (%i: i32 = 0i32, %u: " + c +
         " = %s) {\n    %d: bool = ge %i, 9i32\n    if %d { break %u }\n    %v: " + c +
         " = mma %x, %y, %u\n    %j: i32 = add %i, 1i32\n    continue %j, %v\n  }\n  %w: ptr<" + c +
         "> = index %c, %t\n  store %w, %l\n  return\n}\n";
}

size_t Count(const std::string &text, const std::string &what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
  return n;
}

// What one product becomes: an instruction, and how often it stands there; "" for shuffles.
struct Unit {
  std::string name;
  size_t times;
};

Unit UnitOf(const std::string &type, int sm, bool fast) {
  if (!fast || sm < 75 || (sm < 80 && type != "f16")) return {"", 0};
  if (type == "f64") return {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 1};
  const std::string shape = sm < 80 ? "m16n8k8" : "m16n8k16";
  return {"mma.sync.aligned." + shape + ".row.col.f32." + type + "." + type + ".f32", sm < 80 ? 2u : 1u};
}

TEST(Mma, GoesToTheUnitsThatATargetHasForTheType) {
  for (const char *type : {"f16", "bf16", "f64"})
    for (const std::string &name : Targets())
      for (bool fast : {false, true}) {
        Options o;
        o.target = name;
        for (int level : {0, 2}) {
          PtxTarget target;
          Memory memory;
          HdError err = {};
          o.ptx.opt_level = level;
          ASSERT_EQ(hdptx_target(name.c_str(), &memory.a, &err, &target), HD_OK);
          Module m(Products(type, fast), "gpu", hdptx_units(&target));
          PtxCode c = m.Compile(m.Kernel(), o);
          ASSERT_EQ(m.status, HD_OK) << m.err.detail;
          const std::string ptx = c.ptx;
          Unit unit = UnitOf(type, target.sm, fast);
          if (unit.times) {
            EXPECT_GE(Count(ptx, unit.name), 3 * unit.times) << name << "\n" << ptx;
            EXPECT_EQ(Count(ptx, unit.name) % unit.times, 0u) << name;
            EXPECT_EQ(Count(ptx, "mma.sync"), Count(ptx, unit.name)) << name;
            EXPECT_EQ(Count(ptx, "shfl"), 0u) << name;
          } else {
            EXPECT_EQ(Count(ptx, "mma.sync"), 0u) << type << " on " << name << (fast ? ", fast" : "");
            EXPECT_GE(Count(ptx, "shfl.sync"), 36u) << name;
          }
          const bool tried = level && (name == "sm_75" || name == "sm_80" || name == "sm_90" || name == "sm_120");
          if (tried && fast && !Ptxas().empty()) { EXPECT_EQ(Assemble(ptx, name), "") << ptx; }
        }
      }
}

// Two neighbouring halves of shared memory are one load, where their place is even.
TEST(Mma, LoadsPairsOfHalvesFromSharedMemoryAtOnce) {
  const std::string text = "kernel @k(%c: array<vec<f32, 4>, 1>) group 32 fast {\n"
                           "  %s: ptr<fixed<f16, 512>, shared> = shared\n  %t: i32 = ltid\n  %e: i32 = shl %t, 1i32\n";
  std::string parts = "%h0";
  std::string body;
  for (int k = 0; k < 8; k++) {
    const std::string n = std::to_string(k), at = std::to_string(k / 2 * 64 + k % 2);
    body += "  %i" + n + ": i32 = add %e, " + at + "i32\n  %p" + n + ": ptr<f16, shared> = elem %s, %i" + n + "\n  %h" +
            n + ": f16 = load %p" + n + "\n";
    if (k) parts += ", %h" + n;
  }
  body += "  %a: vec<f16, 8> = make " + parts +
          "\n  %b: vec<f16, 4> = make %h0, %h1, %h2, %h3\n"
          "  %q: ptr<vec<f32, 4>> = index %c, %t\n  %z: vec<f32, 4> = load %q\n  %r: vec<f32, 4> = mma %a, %b, %z\n"
          "  store %q, %r\n  return\n}\n";
  Options o;
  o.target = "sm_80";
  Module m(text + body, "gpu", UINT32_MAX);
  PtxCode c = m.Compile(m.Kernel(), o);
  ASSERT_EQ(m.status, HD_OK) << m.err.detail;
  EXPECT_EQ(Count(c.ptx, "ld.shared.b32"), 4u) << c.ptx;
  EXPECT_EQ(Count(c.ptx, "ld.shared.b16"), 0u) << c.ptx;
}

TEST(Mma, IsRefusedWhereThePassesLeftItWithoutAUnit) {
  for (const char *name : {"sm_70", "sm_75"}) {
    Options o;
    o.target = name;
    Module m(Products("bf16", true), "gpu", UINT32_MAX);
    m.Compile(m.Kernel(), o);
    EXPECT_EQ(m.status, HD_ERR_COMPILE);
    EXPECT_NE(std::string(m.err.detail).find("passes should have taken apart: mma"), std::string::npos) << m.err.detail;
  }
}

} // namespace
