// tests/passes/preserve_test.cc -- passes keep every bit of what a program computes.
//
// Random programs run on the interpreter as they are after `canon`, and again after the passes named by the test. What
// `canon` itself does is a matter of definition, so nothing here can judge it: tests/golden/contract shows it.
#include <gtest/gtest.h>

#include "passes/passes.h"
#include "tests/fuzz/gen.h"

namespace {

// Enough that every way through every pass is taken; ./dev fuzz goes on from there.
constexpr uint64_t kPrograms = 150;

class Preserve : public testing::TestWithParam<const char *> {};

TEST_P(Preserve, EveryBitOfRandomPrograms) {
  diff::CheckOptions options;
  options.pipelines = {GetParam()};
  for (uint64_t seed = 1; seed <= kPrograms; seed++) {
    auto p = fuzz::Generate(seed);
    diff::Verdict v = diff::Check(p->c, options);
    ASSERT_TRUE(v.valid) << "seed " << seed << ": " << v.failure;
    ASSERT_EQ(v.failure, "") << "seed " << seed << "\n" << diff::Text(p->c.module);
  }
}

const char *const kLists[] = {
    "inline",
    "expand",
    "scalarise",
    "promote",
    "simplify",
    "unroll",
    "gvn",
    "forward",
    "licm",
    "flatten",
    "scalarise,legalise",
    "scalarise,promote",
    "gvn,forward",
    "simplify,licm,simplify",
    "scalarise,promote,simplify,unroll,promote,simplify",
    "inline,scalarise,promote,simplify,unroll_local,promote,simplify",
    "inline,simplify,licm,flatten,gvn",
    "cpu",
    "inline,units,scalarise,promote,simplify,unroll,gvn,forward,licm,flatten,inline,scalarise,promote,simplify,unroll,"
    "gvn",
};

std::string NameOf(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  for (char &c : name)
    if (c == ',') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Passes, Preserve, testing::ValuesIn(kLists), NameOf);

// --- what random programs seldom come to ---

struct Rare {
  const char *name, *passes, *text;
};

const Rare kRare[] = {
    // Just above, at and just below the middle between neighbours: where each rounding shows. And all kinds of sources.
    {"HalfConversions", "legalise", R"(
# diff: dims 600 fixed
# diff: u read d0
# diff: e read d0 -3..4
# diff: f read d0
# diff: i read d0
# diff: j read d0
# diff: w read d0
# diff: oh own d0
# diff: ob own d0
# diff: ph own d0
# diff: pb own d0
# diff: qh own d0
# diff: qb own d0
# diff: rh own d0
# diff: rb own d0
# diff: sh own d0
# diff: sb own d0
# diff: th own d0
# diff: tb own d0
# diff: back own d0
kernel @k(%u: array<u16, 1>, %e: array<i32, 1>, %f: array<f64, 1>, %i: array<i64, 1>, %j: array<u32, 1>, %w: array<i32, 1>,
          %oh: array<f16, 1>, %ob: array<bf16, 1>, %ph: array<f16, 1>, %pb: array<bf16, 1>, %qh: array<f16, 1>, %qb: array<bf16, 1>,
          %rh: array<f16, 1>, %rb: array<bf16, 1>, %sh: array<f16, 1>, %sb: array<bf16, 1>, %th: array<f16, 1>, %tb: array<bf16, 1>,
          %back: array<i64, 1>) {
  %t: i32 = tid 0
  %pu: ptr<u16> = index %u, %t
  %pe: ptr<i32> = index %e, %t
  %u0: u16 = load %pu
  %u1: u16 = add %u0, 1u16
  %e0: i32 = load %pe
  %e1: f64 = cvt %e0
  %e2: f64 = mul %e1, 9.094947017729282e-13f64
  %e3: f64 = add %e2, 1.0f64
  %h0: f16 = bitcast %u0
  %h1: f16 = bitcast %u1
  %hl: f64 = cvt %h0
  %hh: f64 = cvt %h1
  %hs: f64 = add %hl, %hh
  %hm: f64 = mul %hs, 0.5f64
  %hx: f64 = mul %hm, %e3
  %hr: f16 = cvt %hx
  %b0: bf16 = bitcast %u0
  %b1: bf16 = bitcast %u1
  %bl: f64 = cvt %b0
  %bh: f64 = cvt %b1
  %bs: f64 = add %bl, %bh
  %bm: f64 = mul %bs, 0.5f64
  %bx: f64 = mul %bm, %e3
  %br: bf16 = cvt %bx
  %q0: ptr<f16> = index %oh, %t
  %q1: ptr<bf16> = index %ob, %t
  store %q0, %hr
  store %q1, %br
  %pf: ptr<f64> = index %f, %t
  %f0: f64 = load %pf
  %f1: f16 = cvt %f0
  %f2: bf16 = cvt %f0
  %q2: ptr<f16> = index %ph, %t
  %q3: ptr<bf16> = index %pb, %t
  store %q2, %f1
  store %q3, %f2
  %pi: ptr<i64> = index %i, %t
  %i0: i64 = load %pi
  %i1: f16 = cvt %i0
  %i2: bf16 = cvt %i0
  %q4: ptr<f16> = index %qh, %t
  %q5: ptr<bf16> = index %qb, %t
  store %q4, %i1
  store %q5, %i2
  %pj: ptr<u32> = index %j, %t
  %j0: u32 = load %pj
  %j1: f16 = cvt %j0
  %j2: bf16 = cvt %j0
  %q6: ptr<f16> = index %rh, %t
  %q7: ptr<bf16> = index %rb, %t
  store %q6, %j1
  store %q7, %j2
  %k0: u64 = bitcast %i0
  %k1: f16 = cvt %k0
  %k2: bf16 = cvt %k0
  %q8: ptr<f16> = index %sh, %t
  %q9: ptr<bf16> = index %sb, %t
  store %q8, %k1
  store %q9, %k2
  %pw: ptr<i32> = index %w, %t
  %w0: i32 = load %pw
  %w1: f16 = cvt %w0
  %w2: bf16 = cvt %w0
  %q10: ptr<f16> = index %th, %t
  %q11: ptr<bf16> = index %tb, %t
  store %q10, %w1
  store %q11, %w2
  %z0: i64 = cvt %h0
  %z1: i16 = cvt %b0
  %z2: i64 = cvt %z1
  %z3: i64 = xor %z0, %z2
  %pz: ptr<i64> = index %back, %t
  store %pz, %z3
  return
}
)"},
    {"ReturnsInsideScopes", "inline", R"(
# diff: dims 40
# diff: x read d0 -6..6
# diff: o own d0
func @g(%x: i32) -> i32, i32 {
  %s: i32 = scope {
    %a: bool = lt %x, -2i32
    if %a { return %x, 1i32 } else { yield }
    %t: i32 = loop (%i: i32 = %x) {
      %r: i32 = scope {
        %b: bool = gt %i, 3i32
        if %b { return %i, 2i32 } else { yield }
        %c: bool = eq %i, 2i32
        if %c { leave 5i32 } else { yield }
        %d: bool = eq %i, 0i32
        if %d { break 7i32 } else { yield }
        yield 1i32
      }
      %j: i32 = add %i, %r
      continue %j
    }
    %e: bool = lt %x, 0i32
    if %e { leave 9i32 } else { yield }
    yield %t
  }
  %u: i32 = mul %s, %x
  return %u, 3i32
}

kernel @k(%x: array<i32, 1>, %o: array<i32, 1>) {
  %t: i32 = tid 0
  %p: ptr<i32> = index %x, %t
  %v: i32 = load %p
  %a: i32, %b: i32 = call @g %v
  %c: i32 = mul %b, 1000i32
  %d: i32 = add %a, %c
  %q: ptr<i32> = index %o, %t
  store %q, %d
  return
}
)"},
    {"PartsByIndexOfManyParts", "scalarise", R"(
# diff: dims 60
# diff: i read d0 -3..24
# diff: x read d0
# diff: o own d0*2
kernel @k(%i: array<i32, 1>, %x: array<fixed<vec<f32, 2>, 19>, 1>, %o: array<f32, 1>) {
  %t: i32 = tid 0
  %p: ptr<i32> = index %i, %t
  %n: i32 = load %p
  %r: ptr<fixed<vec<f32, 2>, 19>> = index %x, %t
  %v: fixed<vec<f32, 2>, 19> = load %r
  %e: vec<f32, 2> = extract_at %v, %n
  %d: vec<f32, 2> = add %e, %e
  %m: i32 = sub 12i32, %n
  %w: fixed<vec<f32, 2>, 19> = insert_at %v, %m, %d
  %f: vec<f32, 2> = extract %w, 11
  %l: i64 = cvt %n
  %g: vec<f32, 2> = extract_at %w, %l
  %h: vec<f32, 2> = mul %f, %g
  %a: f32 = extract %h, 0
  %b: f32 = extract %h, 1
  %t2: i32 = mul %t, 2i32
  %t3: i32 = add %t2, 1i32
  %q: ptr<f32> = index %o, %t2
  %s: ptr<f32> = index %o, %t3
  store %q, %a
  store %s, %b
  return
}
)"},
    {"EqualCarriedValues", "gvn,simplify", R"(
# diff: dims 20
# diff: n read d0 -1..9
# diff: o own d0
kernel @k(%n: array<i32, 1>, %o: array<i32, 1>) {
  %t: i32 = tid 0
  %p: ptr<i32> = index %n, %t
  %m: i32 = load %p
  %r: i32 = loop (%i: i32 = 0i32, %j: i32 = 0i32, %k: i32 = 0i32, %l: i32 = 0i32, %s: i32 = 1i32) {
    %c: bool = ge %i, %m
    if %c { break %s } else { yield }
    %i2: i32 = add %i, 1i32
    %j2: i32 = add %j, 1i32
    %k2: i32 = add %i, 1i32
    %l2: i32 = add %l, %j
    %u: i32 = mul %s, 3i32
    %v: i32 = add %u, %j
    %w: i32 = mul %v, %k
    %x: i32 = add %w, %l
    %odd: bool = eq %x, 5i32
    if %odd { continue %i2, %j2, %k2, 7i32, %x } else { yield }
    continue %i2, %j2, %k2, %l2, %x
  }
  %q: ptr<i32> = index %o, %t
  store %q, %r
  return
}
)"},
    {"AliasedParameters", "gvn,forward,licm", R"(
# diff: dims 16 fixed
# diff: a own d0+1 0..4
# diff: b alias a
# diff: n read d0 0..4
kernel @k(%a: array<f32, 1>, %b: array<f32, 1>, %n: array<i32, 1>) {
  %t: i32 = tid 0
  %pn: ptr<i32> = index %n, %t
  %m: i32 = load %pn
  %p: ptr<f32> = index %a, %t
  %q: ptr<f32> = index %b, %t
  loop (%i: i32 = 0i32) {
    %c: bool = ge %i, %m
    if %c { break } else { yield }
    %x: f32 = load %p
    %y: f32 = load %q
    store %q, 2.5f32
    %z: f32 = load %p
    %s: f32 = add %x, %y
    %u: f32 = add %s, %z
    store %p, %u
    %j: i32 = add %i, 1i32
    continue %j
  }
  return
}
)"},
};

class PreserveRare : public testing::TestWithParam<Rare> {};

TEST_P(PreserveRare, EveryBit) {
  std::string text = GetParam().text;
  diff::Copy copy(text);
  ASSERT_EQ(copy.problem, "");
  diff::Case c;
  c.module = copy.module;
  ASSERT_EQ(diff::ReadDescription(text, copy.Find("k"), &c), "");
  diff::CheckOptions options;
  options.pipelines = {GetParam().passes, "cpu"};
  diff::Verdict v = diff::Check(c, options);
  EXPECT_TRUE(v.valid) << v.failure;
  EXPECT_EQ(v.failure, "");
}

INSTANTIATE_TEST_SUITE_P(Passes, PreserveRare, testing::ValuesIn(kRare),
                         [](const testing::TestParamInfo<Rare> &info) { return std::string(info.param.name); });

// --- what is left after "cpu" ---

bool IsHalf(const IrType *t) { return t->kind == IR_F16 || t->kind == IR_BF16; }

// "" or why the CPU backend would not take the instruction.
std::string Objection(const IrInst *i) {
  if (i->op == IR_make || hdir_calls_c(i)) return ""; // a composite for a C function
  if (i->op == IR_call) return "a call";
  for (uint32_t k = 0; k < i->nres; k++) {
    const IrType *t = i->res[k]->type;
    if (hdir_is_composite(t) && i->op != IR_extract) return "a composite result";
    if (i->op == IR_extract && i->args[0]->def && i->args[0]->def->op != IR_extract && !hdir_calls_c(i->args[0]->def))
      return "extract of no parameter";
    if ((t->kind == IR_PTR || t->kind == IR_ARRAY) && i->nsubs) return "an address out of a region";
  }
  const bool moves = i->op == IR_select || i->op == IR_bitcast || i->op == IR_extract || i->op == IR_table;
  if (hdir_ops[i->op].effect != FX_PURE || moves) return "";
  const bool half = (i->nargs && IsHalf(i->args[0]->type)) || (i->nres && IsHalf(i->res[0]->type));
  if (!half) return "";
  if (i->op != IR_cvt) return "half arithmetic";
  return i->args[0]->type->kind == IR_F32 || i->res[0]->type->kind == IR_F32 ? "" : "a conversion not by way of f32";
}

TEST(Cpu, LeavesOnlyWhatTheBackendTakes) {
  for (uint64_t seed = 1; seed <= kPrograms; seed++) {
    auto p = fuzz::Generate(seed);
    diff::Copy copy(p->c.module);
    ASSERT_EQ(copy.Run("cpu"), "");
    for (uint32_t k = 0; k < copy.module->nfuncs; k++) {
      const IrFunc *fn = copy.module->funcs[k];
      ASSERT_TRUE(fn->is_kernel || fn->is_extern);
      for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
        ASSERT_EQ(Objection(i), "") << "seed " << seed << ", " << hdir_ops[i->op].name << "\n"
                                    << diff::Text(copy.module);
      }
    }
  }
}

// The same module gives the same text: nothing depends on addresses.
TEST(Cpu, IsDeterministic) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    auto p = fuzz::Generate(seed);
    diff::Copy a(p->c.module), b(p->c.module);
    a.Run("cpu");
    b.Run("cpu");
    ASSERT_EQ(diff::Text(a.module), diff::Text(b.module)) << "seed " << seed;
  }
}

} // namespace
