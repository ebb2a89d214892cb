// tests/cpu/width_test.cc -- how many lanes the compiler chooses.
#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

int Width(const std::string &text, const char *target) {
  Arena a;
  jmp_buf oom;
  HdError err = {};
  IrModule *m = nullptr;
  CpuTarget t;
  Buf out;
  int32_t width = 0;
  hdb_arena_init(&a, &hdb_system_allocator);
  a.on_oom = &oom;
  hdb_buf_init(&out, &a);
  CpuOptions options = {0, true, false, false, 2};
  EXPECT_EQ(hdir_parse(&a, "test", text.data(), text.size(), &err, &m), HD_OK)
      << err.detail << " line " << err.where.line;
  if (m) {
    EXPECT_EQ(hdcpu_target(target, &a, &err, &t), HD_OK);
    EXPECT_EQ(hdcpu_widen(m->funcs[0], &t, &options, &out, &err, &width), HD_OK) << err.detail;
  }
  hdb_arena_free(&a);
  return width;
}

// for (s = x; s < 100; ) s = s * s + x [+ x[..]]
std::string Loop(bool memory) {
  return std::string(R"(
kernel @k(%x: array<f32, 1>) {
  %i: i32 = tid 0
  %p: ptr<f32> = index %x, %i
  %v: f32 = load %p
  %r: f32 = loop (%s: f32 = %v) {
    %c: bool = lt %s, 100.0f32
    if %c {
      yield
    } else {
      break %s
    }
)") + (memory ? "    %w: f32 = load %p\n" : "    %w: f32 = mul %s, %v\n") +
         R"(    %n: f32 = fma %s, %s, %w
    continue %n
  }
  store %p, %r
  return
}
)";
}

TEST(Width, TwoRegistersAValueHideLatency) {
  EXPECT_EQ(Width(Loop(false), "x86-64-v4"), 32);
  EXPECT_EQ(Width(Loop(false), "x86-64-v3"), 16);
  EXPECT_EQ(Width(Loop(false), "x86-64-v2"), 4);
}

TEST(Width, MemoryInTheLoopTakesOneRegister) { EXPECT_EQ(Width(Loop(true), "x86-64-v4"), 16); }

TEST(Width, LocalObjectsLeaveRoomInTheFirstCache) {
  std::string text = R"(
kernel @k(%x: array<f32, 1>) {
  %i: i32 = tid 0
  %a: ptr<fixed<f32, 300>, local> = alloca
  %j: i32 = rem %i, 300i32
  %e: ptr<f32, local> = elem %a, %j
  store %e, 1.0f32
  %v: f32 = load %e
  %p: ptr<f32> = index %x, %i
  store %p, %v
  return
}
)";
  EXPECT_EQ(Width(text, "x86-64-v4"), 8);
  EXPECT_EQ(Width(text, "x86-64-v3"), 8);
}

// 30 values that are all alive in a loop.
TEST(Width, ManyLiveValuesTakeOneRegisterOnAvx2) {
  std::string text = "kernel @k(%x: array<f32, 2>) {\n  %i: i32 = tid 0\n  %t: i32 = tid 1\n", use;
  for (int k = 0; k < 30; k++) {
    std::string n = std::to_string(k);
    text += "  %p" + n + ": ptr<f32> = index %x, " + n + "i32, %t\n  %v" + n + ": f32 = load %p" + n + "\n";
    use += "    %s" + n + ": f32 = fma " + (k ? "%s" + std::to_string(k - 1) : "%s") + ", %v" + n + ", %v" + n + "\n";
  }
  text += "  %r: f32 = loop (%s: f32 = %v0, %j: i32 = 0i32) {\n    %c: bool = lt %j, %i\n    if %c {\n      yield\n    "
          "} else {\n"
          "      break %s\n    }\n" +
          use + "    %n: i32 = add %j, 1i32\n    continue %s29, %n\n  }\n  store %p0, %r\n  return\n}\n";
  EXPECT_EQ(Width(text, "x86-64-v3"), 8);
  EXPECT_EQ(Width(text, "x86-64-v4"), 16);
}

} // namespace
