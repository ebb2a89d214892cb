// tests/fakecuda/ptx_mma_test.cc -- mma.sync of every shape, against products whose fragments are cut by the layouts of
// CuTe, which say the same as the manual in another way; and what is said when it is used wrongly.
#include <cmath>
#include <cstring>
#include <random>

#include "tests/fakecuda/ptx_testing.h"

namespace ptx {
namespace {

// A layout of CuTe for one matrix: coordinate (lane % 4, lane / 4, value bits 0, 1, 2) times strides is a place in the
// matrix, whose lines (rows of A and of the sum, columns of B) are next to each other.
struct Layout {
  int lane[2], value[3];
  int Of(int l, int v) const {
    return l % 4 * lane[0] + l / 4 * lane[1] + (v & 1) * value[0] + (v >> 1 & 1) * value[1] + (v >> 2) * value[2];
  }
};

struct Shape {
  const char *text; // of the instruction
  int m, n, k;
  char type;   // h f16, b bf16, d f64
  int a, b, c; // values of a lane
  Layout in_a, in_b, in_c;
};

const Shape kShapes[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32",
     16,
     8,
     16,
     'h',
     8,
     4,
     4,
     {{32, 1}, {16, 8, 128}},
     {{16, 1}, {8, 64, 0}},
     {{32, 1}, {16, 8, 0}}},
    {"m16n8k16.row.col.f32.bf16.bf16.f32",
     16,
     8,
     16,
     'b',
     8,
     4,
     4,
     {{32, 1}, {16, 8, 128}},
     {{16, 1}, {8, 64, 0}},
     {{32, 1}, {16, 8, 0}}},
    {"m16n8k8.row.col.f32.f16.f16.f32",
     16,
     8,
     8,
     'h',
     4,
     2,
     4,
     {{32, 1}, {16, 8, 0}},
     {{16, 1}, {8, 0, 0}},
     {{32, 1}, {16, 8, 0}}},
    {"m16n8k8.row.col.f32.bf16.bf16.f32",
     16,
     8,
     8,
     'b',
     4,
     2,
     4,
     {{32, 1}, {16, 8, 0}},
     {{16, 1}, {8, 0, 0}},
     {{32, 1}, {16, 8, 0}}},
    {"m8n8k4.row.col.f64.f64.f64.f64",
     8,
     8,
     4,
     'd',
     1,
     1,
     2,
     {{8, 1}, {0, 0, 0}},
     {{8, 1}, {0, 0, 0}},
     {{16, 1}, {8, 0, 0}}},
};

double ValueOf(char type, uint64_t bits) {
  double x = 0;
  float f;
  uint32_t w = static_cast<uint32_t>(type == 'b' ? bits << 16 : bits);
  switch (type) {
  case 'd': memcpy(&x, &bits, 8); return x;
  case 'b':
  case 's': memcpy(&f, &w, 4); return f;
  default: break;
  }
  int e = bits >> 10 & 31, m = bits & 1023;
  x = e == 0 ? std::ldexp(m, -24) : std::ldexp(m + 1024, e - 25);
  return bits >> 15 ? -x : x;
}

// Values of the type: whole numbers, or with all bits and exponents that are not all alike.
uint64_t Draw(std::mt19937 &g, char type, bool whole) {
  double x = whole ? static_cast<int>(g() % 17) - 8
                   : std::ldexp(static_cast<int>(g() % 4096) - 2048, static_cast<int>(g() % 9) - 15);
  uint64_t b = 0;
  if (type == 'd') {
    if (!whole) x += std::ldexp(g() % 65536, -40);
    memcpy(&b, &x, 8);
    return b;
  }
  float f = static_cast<float>(x);
  uint32_t w;
  memcpy(&w, &f, 4);
  if (type == 'b') return w >> 16;
  if (x == 0) return 0;
  int e;
  double m = std::frexp(std::fabs(x), &e); // f16: a mantissa of 11 bits
  return (x < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(e + 14) << 10 | (static_cast<uint32_t>(m * 2048) & 1023);
}

struct Case {
  std::vector<double> a, b, c, d; // m x k, n x k, m x n twice; lines outermost where CuTe has them innermost
};

// Runs the instruction on one warp; a, b and c are filled with what was drawn, d with what came out.
Case Multiply(const Shape &s, PtxSchedule schedule, uint64_t seed, bool adversary, bool whole, std::string *error) {
  std::mt19937 g(static_cast<unsigned>(seed));
  const bool real = s.type == 'd';
  std::vector<uint64_t> a(s.m * s.k), b(s.n * s.k);
  for (uint64_t &x : a) x = Draw(g, s.type, whole);
  for (uint64_t &x : b) x = Draw(g, s.type, whole);
  Case r;
  for (uint64_t x : a) r.a.push_back(ValueOf(s.type, x));
  for (uint64_t x : b) r.b.push_back(ValueOf(s.type, x));
  r.c.resize(s.m * s.n);
  for (double &x : r.c) x = whole ? static_cast<int>(g() % 100) - 50 : static_cast<float>(g() % 1000000) / 7e5f;
  // A lane's values in cells of 64 bits: registers of A, B and C, of which D comes to lie where C was.
  const int pack = real ? 1 : 2, cells = s.a / pack + s.b / pack + s.c;
  std::vector<uint64_t> data(32 * cells);
  for (int l = 0; l < 32; l++) {
    uint64_t *row = &data[l * cells];
    for (int v = 0; v < s.a; v++) row[v / pack] |= a[s.in_a.Of(l, v)] << (v % pack * 16);
    for (int v = 0; v < s.b; v++) row[s.a / pack + v / pack] |= b[s.in_b.Of(l, v)] << (v % pack * 16);
    for (int v = 0; v < s.c; v++) {
      float f = static_cast<float>(r.c[s.in_c.Of(l, v)]);
      uint64_t *to = &row[s.a / pack + s.b / pack + v];
      memcpy(to, real ? static_cast<void *>(&r.c[s.in_c.Of(l, v)]) : &f, real ? 8 : 4);
    }
  }
  const std::string bits = real ? "64" : "32", reg = real ? "%d" : "%r";
  std::string code = ".reg .b32 %r<32>, %t; .reg .b64 %a<4>, %d<32>; .reg .f64 %fd<4>; .reg .f32 %f<4>;\n"
                     "ld.param.u64 %a0, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %a1, %t, " +
                     std::to_string(8 * cells) + "; add.s64 %a2, %a0, %a1;\n";
  auto list = [&](int from, int n) {
    std::string text = "{";
    for (int k = 0; k < n; k++) text += (k ? ", " : "") + reg + std::to_string(from + k);
    return text + "}";
  };
  for (int k = 0; k < cells; k++)
    code += "ld.global.b" + bits + " " + reg + std::to_string(k) + ", [%a2+" + std::to_string(8 * k) + "];\n";
  const int nc = s.a / pack + s.b / pack;
  code += std::string("mma.sync.aligned.") + s.text + " " + list(nc, s.c) + ", " + list(0, s.a / pack) + ", " +
          list(s.a / pack, s.b / pack) + ", " + list(nc, s.c) + ";\n";
  for (int k = 0; k < s.c; k++)
    code +=
        "st.global.b" + bits + " [%a2+" + std::to_string(8 * (nc + k)) + "], " + reg + std::to_string(nc + k) + ";\n";
  Way way;
  way.schedule = schedule, way.seed = seed, way.adversary = adversary;
  *error = RunKernel(code + "ret;", &data, way).text;
  r.d.resize(r.c.size());
  for (int l = 0; l < 32; l++)
    for (int v = 0; v < s.c; v++) {
      uint64_t from = data[l * cells + nc + v];
      r.d[s.in_c.Of(l, v)] = ValueOf(real ? 'd' : 's', from);
    }
  return r;
}

class Mma : public testing::TestWithParam<PtxSchedule> {};

TEST_P(Mma, IsAChainOfFmaForEachElement) {
  for (const Shape &s : kShapes)
    for (uint64_t seed : {1, 2, 3}) {
      std::string error;
      Case r = Multiply(s, GetParam(), seed, false, false, &error);
      ASSERT_EQ(error, "") << s.text;
      for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
          double want = r.c[i + s.m * j];
          for (int k = 0; k < s.k; k++) {
            double x = r.a[i + s.m * k], y = r.b[j + s.n * k];
            want = s.type == 'd' ? std::fma(x, y, want)
                                 : static_cast<double>(std::fma(static_cast<float>(x), static_cast<float>(y),
                                                                static_cast<float>(want)));
          }
          ASSERT_EQ(r.d[i + s.m * j], want) << s.text << " at " << i << ", " << j;
        }
    }
}

TEST_P(Mma, OfWholeNumbersIsExactForTheAdversaryToo) {
  for (const Shape &s : kShapes)
    for (uint64_t seed = 0; seed < 12; seed++) {
      std::string error;
      Case r = Multiply(s, GetParam(), seed, true, true, &error);
      ASSERT_EQ(error, "") << s.text;
      for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
          double want = r.c[i + s.m * j];
          for (int k = 0; k < s.k; k++) want += r.a[i + s.m * k] * r.b[j + s.n * k];
          ASSERT_EQ(r.d[i + s.m * j], want) << s.text << " at " << i << ", " << j;
        }
    }
}

TEST(MmaAdversary, MovesResultsAndStaysNearThem) {
  for (const Shape &s : kShapes) {
    int moved = 0;
    for (uint64_t seed = 1; seed < 12; seed++) {
      std::string error;
      Case r = Multiply(s, PTX_LOCKSTEP, seed, true, false, &error),
           plain = Multiply(s, PTX_LOCKSTEP, seed, false, false, &error);
      ASSERT_EQ(error, "") << s.text;
      for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
          double size = std::fabs(r.c[i + s.m * j]), sum = r.c[i + s.m * j];
          for (int k = 0; k < s.k; k++) {
            size += std::fabs(r.a[i + s.m * k] * r.b[j + s.n * k]);
            sum += r.a[i + s.m * k] * r.b[j + s.n * k];
          }
          double got = r.d[i + s.m * j];
          // Each of the terms loses less than a step of an f32 of the size of the largest, and so does each sum.
          ASSERT_LE(std::fabs(got - sum), (2 * s.k + 4) * size * (s.type == 'd' ? 0x1p-52 : 0x1p-23)) << s.text;
          moved += got != plain.d[i + s.m * j];
        }
    }
    EXPECT_GT(moved, 20) << s.text;
  }
}

// --- used wrongly ---

std::string Says(const std::string &body, const std::string &head = "", unsigned block = 32,
                 PtxSchedule schedule = PTX_LOCKSTEP) {
  std::vector<uint32_t> x(8);
  Way way;
  way.block = block, way.head = head, way.schedule = schedule;
  return RunKernel(".reg .pred %q<2>; .reg .b32 %r<8>, %t; .reg .f32 %f<8>; .reg .f64 %d<4>; mov.u32 %t, %tid.x;\n" +
                       body + "\nret;",
                   &x, way)
      .text;
}

const char kHalf[] = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {%f0, "
                     "%f1, %f2, %f3};";
const char kDouble[] = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d2}, {%d3}, {%d0, %d1};";

TEST_P(Mma, WantsAWholeWarp) {
  auto says = [](const std::string &body, unsigned block, const char *what) {
    std::string text = Says(body, "", block, GetParam());
    EXPECT_NE(text.find(what), std::string::npos) << body << " gives: " << text;
  };
  const std::string mma = kHalf, some = "setp.lt.u32 %q0, %t, 5; @%q0 ";
  EXPECT_EQ(Says(mma, "", 64, GetParam()), "");
  says(some + "ret; " + mma, 32, "not by a whole warp");
  says(mma, 40, "by lanes 0xff alone");
  says(some + "bra L; " + mma + " ret; L: " + mma, 32, "waits for ever for lanes 0xffffffff");
  says(some + mma + " bar.warp.sync -1;", 32, "waits for ever for lanes 0xffffffff");
}

TEST(MmaText, NeedsAGpuAndAVersionThatHaveIt) {
  auto head = [](const char *version, const char *target) {
    return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n";
  };
  EXPECT_EQ(Says(kHalf, head("6.5", "sm_75")), "");
  EXPECT_NE(Says(kHalf, head("6.5", "sm_70")).find("this shape needs sm_75"), std::string::npos);
  EXPECT_NE(Says(kHalf, head("6.4", "sm_75")).find("this shape needs PTX 6.5"), std::string::npos);
  EXPECT_EQ(Says(kDouble, head("7.0", "sm_80")), "");
  EXPECT_NE(Says(kDouble, head("7.0", "sm_75")).find("this shape needs sm_80"), std::string::npos);
}

TEST(MmaText, IsRefusedWhereItIsNotUnderstood) {
  auto changed = [](const char *from, const char *to) {
    std::string text = kHalf;
    return Says(text.replace(text.find(from), strlen(from), to));
  };
  EXPECT_NE(changed("m16n8k8", "m16n8k32").find("this shape is not known here"), std::string::npos);
  EXPECT_NE(changed("row.col", "row.row").find("this shape is not known here"), std::string::npos);
  EXPECT_NE(changed("f16.f16", "f16.bf16").find("this shape is not known here"), std::string::npos);
  EXPECT_NE(changed("f32.f16", "f16.f16").find("this shape is not known here"), std::string::npos);
  EXPECT_NE(changed("{%r2}", "{%r2, %r3}").find("the number of registers does not match"), std::string::npos);
  EXPECT_NE(changed("{%r2}", "{%f4}").find("pairs of halves are in registers of type .b32"), std::string::npos);
  EXPECT_NE(changed(".aligned", "").find("it is .sync.aligned"), std::string::npos);
  EXPECT_NE(changed(".row", ".satfinite.row").find("'.satfinite' is not known here"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Schedules, Mma, testing::ValuesIn(kSchedules),
                         [](const testing::TestParamInfo<PtxSchedule> &i) {
                           return i.param == PTX_LOCKSTEP ? "Lockstep" : i.param == PTX_THREADS ? "Threads" : "Random";
                         });

} // namespace
} // namespace ptx
