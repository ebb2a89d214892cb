// tests/cpu/widen_ops_test.cc -- every scalar op and conversion on every type: lanes and scalars against the interpreter.
//
// The kernels are made from ops.def, so that an op without a lowering fails here by name.
#include <random>
#include <set>

#include "tests/cpu/harness.h"

using namespace cpu_test;

namespace {

const char *const kTypes[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                              "u32",  "u64", "f16", "bf16", "f32", "f64"};
const int kSize[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
const int kNTypes = 13;

bool IsFloat(int t) { return t >= 9; }
bool IsInt(int t) { return t >= 1 && t <= 8; }

std::vector<uint64_t> Specials(int t) {
  if (t == 0) return {0, 1};
  if (IsInt(t)) {
    int bits = kSize[t] * 8;
    uint64_t top = 1ull << (bits - 1);
    return {0,
            1,
            2,
            3,
            7,
            (uint64_t)-1,
            (uint64_t)-2,
            (uint64_t)-3,
            top,
            top - 1,
            top + 1,
            10,
            (uint64_t)-10,
            0x55,
            1ull << 53,
            (1ull << 53) + 1,
            0x7ffffffffffffc01};
  }
  if (t == 9)
    return {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3800, 0x4248};
  if (t == 10)
    return {0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x0001, 0x807f, 0x0080, 0x7f7f, 0x3f00, 0x4049};
  std::vector<double> d = {0.0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           1.5,
                           2.5,
                           -2.5,
                           3.14159,
                           1e-300,
                           1e300,
                           1e30,
                           1e-40,
                           65504,
                           65520,
                           65519.99,
                           2147483647.0,
                           2147483648.0,
                           -2147483648.0,
                           -2147483649.0,
                           4294967295.0,
                           4294967296.0,
                           9223372036854775807.0,
                           -9223372036854775808.0,
                           18446744073709551615.0,
                           127.5,
                           128,
                           -128.9,
                           -129,
                           255.5,
                           256,
                           1e-8,
                           6e-8,
                           5.9604644775390625e-8,
                           0.1,
                           8388607.5,
                           8388608.5,
                           1.0000000001,
                           1.0009765625,
                           1.00048828125,
                           1.000488281250001,
                           3.3895313892515355e38,
                           INFINITY,
                           -INFINITY,
                           NAN};
  std::vector<uint64_t> v;
  for (double x : d) {
    uint64_t b = 0;
    float f = (float)x;
    if (t == 11)
      memcpy(&b, &f, 4);
    else
      memcpy(&b, &x, 8);
    v.push_back(b);
  }
  return v;
}

std::vector<uint64_t> Samples(int t, int n, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<uint64_t> sp = Specials(t), v;
  for (int k = 0; k < n; k++) {
    uint64_t r = rng();
    if (t == 0)
      r &= 1;
    else if (rng() % 3)
      r = sp[r % sp.size()];
    else if (IsInt(t) && rng() % 2)
      r = (uint64_t)((int64_t)r >> (rng() % 60));
    else if (t == 11 && rng() % 2) {
      float f = (float)((double)(int64_t)r * 1e-17);
      r = 0;
      memcpy(&r, &f, 4);
    } else if (t == 12 && rng() % 2) {
      double f = (double)(int64_t)r * 1e-17;
      memcpy(&r, &f, 8);
    }
    v.push_back(r);
  }
  return v;
}

Arg Bytes(int t, const std::vector<uint64_t> &v) {
  Arg a;
  for (uint64_t x : v)
    for (int k = 0; k < kSize[t]; k++) a.bytes.push_back((uint8_t)(x >> (8 * k)));
  a.length = {(int64_t)v.size()};
  return a;
}

Arg Zeros(int t, int n) { return Bytes(t, std::vector<uint64_t>((size_t)n, 0)); }

int Arity(const char *operands) { return (int)strlen(operands); }

// May `op` take type t by its row in ops.def? And-like ops and min, max of bool are told apart by the meaning.
bool Takes(const IrOpRow &op, int t) {
  std::string n = op.name;
  bool bits = n == "and" || n == "or" || n == "xor" || n == "not";
  if (op.operands[0] == 'F') return n == "fma" ? t >= 11 : IsFloat(t);
  if (op.operands[0] == 'I') return IsInt(t);
  if (bits) return t == 0 || IsInt(t);
  if (op.result[0] == 'b') return true;
  return t != 0;
}

bool IsScalarOp(int op) {
  const IrOpRow &r = hdir_ops[op];
  if (r.effect != FX_PURE || strspn(r.operands, "TIF") != strlen(r.operands)) return false;
  return r.result[0] == '1' || r.result[0] == 'b';
}

struct Program {
  std::string text;
  std::vector<Arg> args;
};

// All ops on one type: out_k[i] = op(a[i], b[i], c[i]); or on parameters, then out_k[0].
Program AllOps(int t, bool uniform, int n, uint64_t seed, std::set<int> *seen) {
  Program p;
  std::string ty = kTypes[t], head = "kernel @k(", body = "  %i: i32 = tid 0\n";
  for (const char *v : {"a", "b", "c"}) {
    std::vector<uint64_t> s = Samples(t, n, seed++);
    if (uniform) {
      head += std::string("%") + v + ": " + ty + ", ";
      Arg a = Bytes(t, {s[0]});
      a.length.clear();
      p.args.push_back(a);
      continue;
    }
    head += std::string("%x") + v + ": array<" + ty + ", 1>, ";
    body += std::string("  %p") + v + ": ptr<" + ty + "> = index %x" + v + ", %i\n  %" + v + ": " + ty + " = load %p" +
            v + "\n";
    p.args.push_back(Bytes(t, s));
  }
  int k = 0;
  for (int op = 0; op < IR_NOPS; op++) {
    const IrOpRow &r = hdir_ops[op];
    if (!IsScalarOp(op) || !Takes(r, t)) continue;
    if (seen) seen->insert(op);
    int res = r.result[0] == 'b' ? 0 : t;
    std::string s = std::to_string(k++), rt = kTypes[res];
    head += "%o" + s + ": array<" + rt + ", 1>, ";
    body += "  %r" + s + ": " + rt + " = " + r.name + " %a" + (Arity(r.operands) > 1 ? ", %b" : "") +
            (Arity(r.operands) > 2 ? ", %c" : "") + "\n";
    body += "  %q" + s + ": ptr<" + rt + "> = index %o" + s + ", %i\n  store %q" + s + ", %r" + s + "\n";
    p.args.push_back(Zeros(res, n));
  }
  // select: by a comparison
  head += "%os: array<" + ty + ", 1>) {\n";
  body += "  %rc: bool = ne %a, %b\n  %rs: " + ty + " = select %rc, %a, %c\n  %qs: ptr<" + ty +
          "> = index %os, %i\n  store %qs, %rs\n";
  p.args.push_back(Zeros(t, n));
  p.text = head + body + "  return\n}\n";
  return p;
}

Program AllConversions(int t, bool uniform, int n, uint64_t seed) {
  Program p;
  std::string ty = kTypes[t], head = "kernel @k(", body = "  %i: i32 = tid 0\n";
  if (uniform) {
    head += "%a: " + ty;
    Arg a = Bytes(t, {Samples(t, 1, seed)[0]});
    a.length.clear();
    p.args.push_back(a);
  } else {
    head += "%x: array<" + ty + ", 1>";
    body += "  %p: ptr<" + ty + "> = index %x, %i\n  %a: " + ty + " = load %p\n";
    p.args.push_back(Bytes(t, Samples(t, n, seed)));
  }
  for (int to = 0; to < kNTypes; to++)
    for (int bits = 0; bits < 2; bits++) {
      if (to == t || (bits && (kSize[to] != kSize[t] || to == 0 || t == 0))) continue;
      std::string s = std::to_string(to) + (bits ? "b" : "c"), rt = kTypes[to];
      head += ", %o" + s + ": array<" + rt + ", 1>";
      body += "  %r" + s + ": " + rt + " = " + (bits ? "bitcast" : "cvt") + " %a\n  %q" + s + ": ptr<" + rt +
              "> = index %o" + s + ", %i\n  store %q" + s + ", %r" + s + "\n";
      p.args.push_back(Zeros(to, n));
    }
  p.text = head + ") {\n" + body + "  return\n}\n";
  return p;
}

class OnType : public testing::TestWithParam<int> {};

TEST_P(OnType, OpsForEachLane) {
  Program p = AllOps(GetParam(), false, 2500, 1 + (uint64_t)GetParam(), nullptr);
  Kernel k(p.text);
  Agree(&k, p.args, {2500});
}

TEST_P(OnType, OpsOnUniformValues) {
  for (uint64_t seed = 0; seed < 1; seed++) {
    Program p = AllOps(GetParam(), true, 20, 77 * seed + 5, nullptr);
    Kernel k(p.text);
    std::vector<Way> ways;
    for (const Way &w : Ways())
      if (w.width == 8) ways.push_back(w);
    for (int run = 0; run < 200; run++) {
      for (int a = 0; a < 3; a++) {
        Arg x = Bytes(GetParam(), {Samples(GetParam(), 1, (uint64_t)(run * 3 + a))[0]});
        x.length.clear();
        p.args[(size_t)a] = x;
      }
      Agree(&k, p.args, {9}, ways);
      if (HasFailure()) return;
    }
  }
}

TEST_P(OnType, ConversionsForEachLane) {
  Program p = AllConversions(GetParam(), false, 4000, 1 + (uint64_t)GetParam());
  Kernel k(p.text);
  Agree(&k, p.args, {4000});
}

TEST_P(OnType, ConversionsOfUniformValues) {
  Program p = AllConversions(GetParam(), true, 20, 5);
  Kernel k(p.text);
  std::vector<Way> ways;
  for (const Way &w : Ways())
    if (w.width == 8) ways.push_back(w);
  for (int run = 0; run < 200; run++) {
    Arg x = Bytes(GetParam(), {Samples(GetParam(), 1, (uint64_t)run)[0]});
    x.length.clear();
    p.args[0] = x;
    Agree(&k, p.args, {9}, ways);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnType, testing::Range(0, kNTypes),
                         [](const testing::TestParamInfo<int> &i) { return std::string(kTypes[i.param]); });

TEST(Ops, EveryScalarRowIsTried) {
  std::set<int> seen;
  for (int t = 0; t < kNTypes; t++) AllOps(t, false, 1, 1, &seen);
  for (int op = 0; op < IR_NOPS; op++)
    if (IsScalarOp(op)) { EXPECT_TRUE(seen.count(op)) << hdir_ops[op].name; }
}

} // namespace
