// tests/fakecuda/ptx_run_test.cc -- the interpreter of PTX: operations against C, warps, refusals.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/fakecuda/ptx_testing.h"

namespace {

using ptx::kHead;
using ptx::kSchedules;
using ptx::RunPtx;

// Each thread has a row of four 64-bit cells: loads a, b, c, runs the code, stores r.
std::string Row(const std::string &bits, const std::string &code) {
  return ".reg .pred %q<4>; .reg .b32 %t<8>; .reg .b64 %a<8>; .reg .b" + bits +
         " %x, %y, %z, %r; .reg .b16 %h<4>;\n"
         "ld.param.u64 %a0, [p]; mov.u32 %t0, %tid.x; mul.wide.u32 %a1, %t0, 32; add.s64 %a2, %a0, %a1;\n"
         "ld.b" +
         bits + " %x, [%a2]; ld.b" + bits + " %y, [%a2+8]; ld.b" + bits + " %z, [%a2+16];\n" + code + "\nst.b" + bits +
         " [%a2+24], %r;\nret;";
}

template <typename T> T As(uint64_t bits) {
  T x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
template <typename T> uint64_t Bits(T x) {
  uint64_t b = 0;
  memcpy(&b, &x, sizeof x);
  return b;
}

// Random words, many of them the hard ones of their type.
uint64_t Word(std::mt19937_64 &g, bool is_double) {
  static const uint32_t hard[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                  0x3f800000, 0x3f7fffff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                  0x00ffffff, 0x4b800000, 0xcf000000, 0x4f000000, 0xffffffff};
  static const uint64_t hard64[] = {0,
                                    1ull << 63,
                                    1,
                                    0x000fffffffffffff,
                                    0x0010000000000000,
                                    0x3ff0000000000000,
                                    0x3fefffffffffffff,
                                    0x7fefffffffffffff,
                                    0x7ff0000000000000,
                                    0xfff0000000000000,
                                    0x7ff8000000000000};
  if (g() % 3) return is_double ? g() : g() & 0xffffffff;
  return is_double ? hard64[g() % 11] : hard[g() % 17];
}

template <typename F> void Compare(const std::string &bits, const std::string &code, bool is_double, F expect) {
  std::mt19937_64 g(11);
  std::vector<uint64_t> cells(4 * 512);
  for (uint64_t &c : cells) c = Word(g, is_double);
  std::vector<uint64_t> got = cells;
  ASSERT_EQ(RunPtx(Row(bits, code), &got, 512), "") << code;
  const uint64_t mask = bits == "64" ? ~0ull : 0xffffffff;
  for (size_t i = 0; i < cells.size(); i += 4)
    ASSERT_EQ(got[i + 3] & mask, expect(cells[i], cells[i + 1], cells[i + 2]) & mask)
        << code << std::hex << " of " << cells[i] << ", " << cells[i + 1] << ", " << cells[i + 2];
}

TEST(PtxRun, Integers) {
  Compare("32", "mul.hi.u32 %r, %x, %y;", false,
          [](uint64_t a, uint64_t b, uint64_t) { return uint64_t{uint32_t(a)} * uint32_t(b) >> 32; });
  Compare("32", "mad.lo.s32 %r, %x, %y, %z;", false,
          [](uint64_t a, uint64_t b, uint64_t c) { return uint32_t(a) * uint32_t(b) + uint32_t(c); });
  Compare("64", "mul.hi.s64 %r, %x, %y;", false,
          [](uint64_t a, uint64_t b, uint64_t) { return uint64_t((__int128)(int64_t)a * (int64_t)b >> 64); });
  Compare("64", "add.cc.u64 %a3, %x, %y; addc.u64 %r, %z, 0;", true,
          [](uint64_t a, uint64_t b, uint64_t c) { return c + (a + b < a); });
  Compare("32", "shl.b32 %r, %x, %y;", false,
          [](uint64_t a, uint64_t b, uint64_t) { return uint32_t(b) > 31 ? 0 : uint32_t(a) << b; });
  Compare("32", "shr.s32 %r, %x, %y;", false,
          [](uint64_t a, uint64_t b, uint64_t) { return uint32_t(int32_t(a) >> (uint32_t(b) > 31 ? 31 : b)); });
  Compare("32", "shf.l.wrap.b32 %r, %x, %y, %z;", false, [](uint64_t a, uint64_t b, uint64_t c) {
    return uint32_t((uint64_t{uint32_t(b)} << 32 | uint32_t(a)) << (c & 31) >> 32);
  });
  Compare("32", "prmt.b32 %r, %x, %y, 0x3610;", false, [](uint64_t a, uint64_t b, uint64_t) {
    uint64_t both = uint64_t{uint32_t(b)} << 32 | uint32_t(a);
    auto byte = [&](int k) { return both >> (8 * k) & 255; };
    return byte(0) | byte(1) << 8 | byte(6) << 16 | byte(3) << 24;
  });
  Compare("32", "popc.b32 %r, %x;", false,
          [](uint64_t a, uint64_t, uint64_t) { return uint64_t(__builtin_popcount(uint32_t(a))); });
  Compare("32", "clz.b32 %r, %x;", false,
          [](uint64_t a, uint64_t, uint64_t) { return uint64_t(uint32_t(a) ? __builtin_clz(uint32_t(a)) : 32); });
  Compare("32", "max.relu.s32 %r, %x, %y;", false,
          [](uint64_t a, uint64_t b, uint64_t) { return uint64_t(std::max({int32_t(a), int32_t(b), 0})); });
}

float Quiet(float x) { return x != x ? As<float>(0x7fffffff) : x; }

TEST(PtxRun, FloatsInEveryRounding) {
  const struct {
    const char *name;
    int mode;
  } rounds[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (const auto &r : rounds) {
    const std::string n = r.name;
    auto with = [&](float (*op)(float, float, float)) {
      return [=](uint64_t a, uint64_t b, uint64_t c) {
        fesetround(r.mode);
        volatile float x = op(As<float>(a), As<float>(b), As<float>(c));
        fesetround(FE_TONEAREST);
        return Bits(Quiet(x));
      };
    };
    Compare("32", "add." + n + ".f32 %r, %x, %y;", false, with([](float a, float b, float) {
              volatile float x = a, y = b;
              return x + y;
            }));
    Compare("32", "mul." + n + ".f32 %r, %x, %y;", false, with([](float a, float b, float) {
              volatile float x = a, y = b;
              return x * y;
            }));
    Compare("32", "div." + n + ".f32 %r, %x, %y;", false, with([](float a, float b, float) {
              volatile float x = a, y = b;
              return x / y;
            }));
    Compare("32", "fma." + n + ".f32 %r, %x, %y, %z;", false,
            with([](float a, float b, float c) { return fmaf(a, b, c); }));
    Compare("32", "sqrt." + n + ".f32 %r, %x;", false, with([](float a, float, float) {
              volatile float x = a;
              return sqrtf(x);
            }));
    Compare("64", "mul." + n + ".f64 %r, %x, %y;", true, [&](uint64_t a, uint64_t b, uint64_t) {
      fesetround(r.mode);
      volatile double x = As<double>(a), y = As<double>(b), z = x * y;
      fesetround(FE_TONEAREST);
      return z != z ? Bits(z) : Bits(double(z)); // the bits of a NaN are the operand's, here as there
    });
  }
}

// The largest error of an instruction with the adversary, in units of what the manual allows; nothing is left unmoved.
double WorstError(const char *op, double from, double to, double (*exact)(double), double (*allowed)(double, double)) {
  double worst = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    std::vector<uint64_t> cells(32 * 4);
    for (int k = 0; k < 32; k++) {
      double t = (k + static_cast<double>(seed) / 41) / 32;
      cells[k * 4] = Bits(static_cast<float>(from + (to - from) * t));
    }
    ptx::Way way;
    way.seed = seed, way.adversary = true;
    std::string code = std::string(op) + " %r, %x;";
    EXPECT_EQ(ptx::RunKernel(Row("32", code), &cells, way).text, "") << op;
    for (int k = 0; k < 32; k++) {
      double x = static_cast<double>(As<float>(cells[k * 4])), want = exact(x);
      worst = std::fmax(worst, std::fabs(static_cast<double>(As<float>(cells[k * 4 + 3])) - want) / allowed(x, want));
    }
  }
  return worst;
}

double UlpOf(double x) { return std::ldexp(1.0, std::ilogb(x) - 23); }

TEST(PtxRun, TheAdversaryGoesToTheBoundsOfTheManualAndNotBeyond) {
  struct {
    const char *op;
    double from, to;
    double (*exact)(double);
    double (*allowed)(double, double);
  } rows[] = {
      {"ex2.approx.ftz.f32", -20, 20, exp2, [](double, double y) { return 2.5 * UlpOf(y); }},
      {"lg2.approx.ftz.f32", 0.51, 1.99, log2, [](double, double) { return 0x1p-22; }},
      {"lg2.approx.ftz.f32", 2, 1e6, log2, [](double, double y) { return y * 0x1p-22; }},
      {"sin.approx.ftz.f32", -6.28, 6.28, sin, [](double, double) { return 0x1p-20 / sqrt(2.0); }},
      {"cos.approx.ftz.f32", -314, 314, cos, [](double, double) { return std::exp2(-14.7); }},
      {"tanh.approx.f32", -4, 4, tanh, [](double, double y) { return fabs(y) * 0x1p-11; }},
      {"rsqrt.approx.ftz.f32", 0.01, 100, [](double x) { return 1 / sqrt(x); },
       [](double, double y) { return 1.5 * UlpOf(y); }},
      {"rcp.approx.ftz.f32", 0.01, 100, [](double x) { return 1 / x; },
       [](double, double y) { return 1.5 * UlpOf(y); }},
      {"sqrt.approx.ftz.f32", 0.01, 100, sqrt, [](double, double y) { return 1.5 * UlpOf(y); }},
  };
  for (const auto &r : rows) {
    double worst = WorstError(r.op, r.from, r.to, r.exact, r.allowed);
    EXPECT_LE(worst, 1) << r.op;
    EXPECT_GT(worst, 0.7) << r.op;
  }
}

TEST(PtxRun, MinimaAndConversions) {
  Compare("32", "min.f32 %r, %x, %y;", false, [](uint64_t a, uint64_t b, uint64_t) {
    float x = As<float>(a), y = As<float>(b);
    if (x != x || y != y) return Bits(Quiet(x != x ? y : x));
    if (x == y) return Bits(std::signbit(x) ? x : y); // -0 is less than 0
    return Bits(x < y ? x : y);
  });
  Compare("32", "cvt.rzi.s32.f32 %r, %x;", false, [](uint64_t a, uint64_t, uint64_t) {
    float x = As<float>(a);
    return uint64_t(uint32_t(x != x ? 0 : x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : int32_t(x)));
  });
  Compare("32", "cvt.rn.f32.s32 %r, %x;", false,
          [](uint64_t a, uint64_t, uint64_t) { return Bits(float(int32_t(a))); });
  Compare("32", "cvt.rn.f16.f32 %h0, %x; cvt.f32.f16 %r, %h0;", false,
          [](uint64_t a, uint64_t, uint64_t) { return Bits(Quiet(float(_Float16(As<float>(a))))); });
  Compare("32", "cvt.rn.f16.f32 %h0, %x; add.rn.f32.f16 %r, %h0, %y;", false,
          [](uint64_t a, uint64_t b, uint64_t) { return Bits(Quiet(float(_Float16(As<float>(a))) + As<float>(b))); });
}

TEST(PtxRun, BlocksReduceInSharedMemory) {
  const std::string body =
      ".reg .pred %q<4>; .reg .b32 %t<16>; .reg .b64 %a<8>; .shared .align 4 .b8 s[1024];\n"
      "ld.param.u64 %a0, [p]; mov.u32 %t0, %tid.x; mov.u32 %t9, %ctaid.x; mad.lo.u32 %t1, %t9, 256, %t0;\n"
      "mul.wide.u32 %a1, %t1, 4; add.s64 %a2, %a0, %a1; ld.global.u32 %t2, [%a2];\n"
      "shl.b32 %t3, %t0, 2; mov.u32 %t4, s; add.u32 %t4, %t4, %t3; st.shared.u32 [%t4], %t2; mov.u32 %t5, 128;\n"
      "L: bar.sync 0; setp.ge.u32 %q0, %t0, %t5; @%q0 bra N;\n"
      "shl.b32 %t6, %t5, 2; add.u32 %t6, %t6, %t4; ld.shared.u32 %t7, [%t6]; ld.shared.u32 %t8, [%t4];\n"
      "add.u32 %t8, %t8, %t7; st.shared.u32 [%t4], %t8;\n"
      "N: shr.u32 %t5, %t5, 1; setp.ne.u32 %q1, %t5, 0; @%q1 bra L;\n"
      "setp.ne.u32 %q2, %t0, 0; @%q2 ret; ld.shared.u32 %t8, [%t4]; st.global.u32 [%a2], %t8; ret;";
  for (PtxSchedule schedule : kSchedules) {
    std::vector<uint32_t> x(512);
    uint32_t want[2] = {0, 0};
    for (uint32_t i = 0; i < 512; i++) x[i] = i * i, want[i / 256] += i * i;
    ASSERT_EQ(RunPtx(body, &x, 256, 2, schedule, 5), "") << schedule;
    EXPECT_EQ(x[0], want[0]) << schedule;
    EXPECT_EQ(x[256], want[1]) << schedule;
  }
}

TEST(PtxRun, AtomicsAddUpInAnyOrder) {
  const std::string body =
      ".reg .b32 %t<4>; .reg .b64 %a<4>; ld.param.u64 %a0, [p]; mov.u32 %t0, %tid.x; and.b32 %t1, %t0, 3;\n"
      "mul.wide.u32 %a1, %t1, 4; add.s64 %a2, %a0, %a1; atom.global.add.u32 %t2, [%a2], %t0; ret;";
  for (PtxSchedule schedule : kSchedules) {
    std::vector<uint32_t> x(4, 0), want(4, 0);
    for (uint32_t i = 0; i < 200; i++) want[i % 4] += 2 * i;
    ASSERT_EQ(RunPtx(body, &x, 200, 2, schedule, 3), "");
    EXPECT_EQ(x, want) << schedule;
  }
}

TEST(PtxRun, LanesExchangeAndVote) {
  const std::string body =
      ".reg .pred %q<4>; .reg .b32 %t<8>; .reg .b64 %a<4>; ld.param.u64 %a0, [p]; mov.u32 %t0, %tid.x;\n"
      "shfl.sync.bfly.b32 %t1, %t0, 5, 31, 0xffffffff; setp.lt.u32 %q0, %t0, 7; vote.sync.ballot.b32 %t2, %q0, "
      "0xffffffff;\n"
      "xor.b32 %t3, %t1, %t2; mul.wide.u32 %a1, %t0, 4; add.s64 %a2, %a0, %a1; st.global.u32 [%a2], %t3; ret;";
  std::vector<uint32_t> x(32);
  ASSERT_EQ(RunPtx(body, &x, 32), "");
  for (uint32_t i = 0; i < 32; i++) EXPECT_EQ(x[i], (i ^ 5) ^ 0x7f);
}

// The text says what, and where.
void Refused(const std::string &body, const std::string &why, unsigned block = 32) {
  std::vector<uint32_t> x(8);
  const std::string head =
      ".reg .pred %q<4>; .reg .b32 %t<8>; .reg .b64 %a<4>; .reg .f32 %f<4>; ld.param.u64 %a0, [p];\n";
  std::string text = RunPtx(head + body, &x, block);
  EXPECT_NE(text.find(why), std::string::npos) << body << " gives: " << text;
}

TEST(PtxRun, RefusesWhatItDoesNotKnow) {
  Refused("frobnicate.u32 %t0, %t1; ret;", "frobnicate");
  Refused("add.banana.u32 %t0, %t1, %t2; ret;", "banana");
  Refused("add.u32 %t0, %nothing, %t2; ret;", "nothing");
  Refused("add.f32 %a0, %f1, %f2; ret;", "a register of type .b64 where .f32 is meant");
  Refused("ld.global.u32 %t0, [%a0+400]; ret;", "368 bytes behind the end of memory data");
  Refused("ld.global.u32 %t0, [%a0+2]; ret;", "no multiple of 4");
  Refused("bra NOWHERE; ret;", "NOWHERE");
  Refused("mov.u32 %t0, %tid.x; setp.lt.u32 %q0, %t0, 5; @%q0 bra L; bar.sync 0; L: bar.sync 0; trap; ret;",
          "barrier in divergent code");
}

TEST(PtxRun, SurvivesDamagedText) {
  const std::string good = std::string(kHead) + ".visible .entry k(.param .u64 p)\n{\n" +
                           Row("32", "fma.rn.f32 %r, %x, %y, %z; @%q0 bra L; L:") + "\n}\n";
  PtxError err = {};
  PtxModule *m = ptx_parse(good.c_str(), good.size(), &err);
  ASSERT_TRUE(m) << err.text;
  ptx_module_free(m);
  std::mt19937 g(3);
  int refused = 0;
  for (int k = 0; k < 4000; k++) {
    std::string bad = good;
    for (int i = 0; i < 3; i++) bad[g() % bad.size()] = "%.;,[]{}@+-abr0139 \n"[g() % 20];
    if (k % 4 == 0) bad.resize(g() % bad.size());
    m = ptx_parse(bad.c_str(), bad.size(), &err);
    if (m)
      ptx_module_free(m);
    else
      refused += err.code != 0 && err.text[0];
  }
  EXPECT_GT(refused, 2000);
}

} // namespace
