// tests/lib/library_bits_test.cc -- each function of lib/math has the same bits on the interpreter and on the CPU at each
// lane width and instruction set. HEDDLE_EXHAUSTIVE=1 crosses them all.
#include <cmath>
#include <limits>
#include <random>

#include "library_testing.h"

namespace {

struct Row {
  const char *name, *arguments, *result;
};
const Row rows[] = {
#define IR_BUILTIN(name, arguments, result, f32, f64, meaning) {#name, arguments, result},
#include "ir/builtins.def"
};

// Several functions in one kernel: out[i * k + j] is the j-th of x[i], y[i], z[i].
template <typename T> std::string Source(const std::vector<Row> &group) {
  std::string t = HdScalarOf<T>::name, k = std::to_string(group.size()), body;
  for (size_t j = 0; j < group.size(); j++) {
    const Row &r = group[j];
    std::string at = "out[i * " + k + " + " + std::to_string(j) + "] = ", name = r.name;
    size_t n = strlen(r.arguments);
    std::string call = name + (n == 1 ? "(a)" : n == 2 ? "(a, b)" : "(a, b, c)");
    if (name == "sincos") {
      body += "  var " + t + " s = 0; var " + t + " co = 0; sincos(a, s, co); " + at + "s * 2 + co;\n";
    } else {
      body += "  " + at + call + (r.result[0] == 'B' ? " ? 1 : 0" : "") + ";\n";
    }
  }
  return "kernel run(" + t + " x[], " + t + " y[], " + t + " z[], " + t +
         " out[]) {\n  let i = tid(); let a = x[i]; let b = y[i]; let c = z[i];\n" + body + "}\n";
}

template <typename T> void Inputs(std::vector<T> &x, std::vector<T> &y, std::vector<T> &z) {
  using L = std::numeric_limits<T>;
  using Bits = typename HdScalarOf<T>::Bits;
  std::mt19937_64 rng(11);
  std::vector<T> special = {0,        L::denorm_min(), L::min(),      T(0.5), 1, T(1.5), 2, 3, 171, 1 / L::epsilon(),
                            L::max(), L::infinity(),   L::quiet_NaN()};
  for (T a : special)
    for (T b : special) {
      x.push_back(rng() % 2 ? a : -a);
      y.push_back(rng() % 2 ? b : -b);
    }
  auto range = [&](double size) { return static_cast<T>(size * (static_cast<double>(rng() >> 11) * 0x1p-52 - 1)); };
  for (int i = 0; i < 500; i++)
    for (double size : {1.0, 6.0, 100.0, 1100.0}) {
      x.push_back(range(size));
      y.push_back(range(i % 2 ? size : 10));
    }
  for (int i = 0; i < 1500; i++) {
    x.push_back(FromBits<T>(static_cast<Bits>(rng())));
    y.push_back(i % 2 ? FromBits<T>(static_cast<Bits>(rng())) : range(20));
  }
  for (size_t i = 0; i < x.size(); i++) z.push_back(range(2));
}

template <typename T> void ExpectSameBits() {
  Machine m(1);
  std::vector<T> x, y, z;
  Inputs(x, y, z);
  int64_t n = static_cast<int64_t>(x.size());
  int ran = 0;
  for (size_t from = 0; from < std::size(rows); from += 8) {
    std::vector<Row> group(rows + from, rows + std::min(from + 8, std::size(rows)));
    std::string text = Source<T>(group);
    std::vector<T> want(x.size() * group.size()), got(want.size());
    {
      Program p(m, text, m.interp);
      p.Run(n, x, y, z, want);
    }
    for (const Code &c : Codes()) {
      HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
      o.width = c.width;
      o.target = c.target;
      if (!Program::CanRun(m, o)) continue;
      Program p(m, text, m.cpu, o);
      p.Run(n, x, y, z, got);
      ran++;
      for (size_t i = 0; i < want.size(); i++) {
        size_t at = i / group.size();
        ASSERT_TRUE(Same(want[i], got[i]))
            << group[i % group.size()].name << " at " << x[at] << ", " << y[at] << ", " << z[at] << ": " << want[i]
            << " but " << got[i] << " with " << c.width << " lanes of " << c.target;
      }
    }
  }
  EXPECT_GT(ran, 0);
}

TEST(LibraryBits, AreTheSameOnTheInterpreterAndInAllMachineCodeInF32) { ExpectSameBits<float>(); }
TEST(LibraryBits, AreTheSameOnTheInterpreterAndInAllMachineCodeInF64) { ExpectSameBits<double>(); }

} // namespace
