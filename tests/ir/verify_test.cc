// tests/ir/verify_test.cc -- each rule has an instruction that breaks it, and the message names it.
#include <set>
#include <vector>

#include "tests/ir/ir_testing.h"

namespace {

struct Broken {
  const char *params, *body, *message; // the function is @f, and returns nothing
};

const Broken kBroken[] = {
    // --- operands ---
    {"%a: f32", "%x: f32 = add %a return", "@f: add: takes 2 operands, and has 1; in '%x: f32 = add %a'"},
    {"%a: f32", "%x: f32 = neg %a, %a return", "@f: neg: takes 1 operand, and has 2; in '%x: f32 = neg %a, %a'"},
    {"%a: f32, %b: f64", "%x: f32 = add %a, %b return",
     "@f: add: operands 1 and 2 must have one type, and are f32 and f64; in '%x: f32 = add %a, %b'"},
    {"%a: bool", "%x: bool = add %a, %a return", "@f: add: operand 1 must be of integers or floats, and is bool;"},
    {"%a: f32", "%x: f32 = rem %a, %a return", "@f: rem: operand 1 must be of integers, and is f32;"},
    {"%a: i32", "%x: i32 = sqrt %a return", "@f: sqrt: operand 1 must be of floats, and is i32;"},
    {"%a: f32", "%x: f32 = and %a, %a return", "@f: and: operand 1 must be of integers or bool, and is f32;"},
    {"%a: array<f32, 1>", "%x: array<f32, 1> = neg %a return",
     "@f: neg: operand 1 must be of integers or floats, and is array<f32, 1>;"},
    {"%a: f16", "%x: f16 = fma %a, %a, %a return", "@f: fma: works on f32 and f64, not on f16;"},
    {"%a: f32", "%x: f32 = load %a return", "@f: load: operand 1 must be a pointer, and is f32;"},
    {"%a: f32", "%x: i32 = length %a, 0 return", "@f: length: operand 1 must be an array, and is f32;"},
    {"%a: vec<f32, 2>, %i: u32", "%x: f32 = extract_at %a, %i return",
     "@f: extract_at: operand 2 must be an i32 or i64, and is u32;"},
    {"%a: vec<f32, 2>", "%x: u64 = bitcast %a return", "@f: bitcast: operand 1 must be a scalar, and is vec<f32, 2>;"},
    {"%a: i32", "if %a { yield } return", "@f: if: operand 1 must be a bool, and is i32; in 'if %a'"},
    {"", "print \"%d\" return", "@f: print: the text asks for 1 operands, and gets 0;"},
    {"%a: i32", "print %a, \"%d\" return", "@f: print: operand 1 must be i64 for %d, and is i32;"},
    {"%a: i64", "print %a, \"%5u\" return", "@f: print: operand 1 must be u64 for %5u, and is i64;"},
    {"%a: f32", "print %a, \"%g\" return", "@f: print: operand 1 must be f64 for %g, and is f32;"},
    {"", "print \"so %s\" return", "@f: print: the text has a % at 3 that is no conversion;"},
    {"%a: vec<bool, 2>", "assert %a, \"t\" return", "@f: assert: operand 1 must be a bool, and is vec<bool, 2>;"},
    // --- results ---
    {"%a: f32", "%x: f64 = add %a, %a return", "@f: add: the result must be f32, and is f64;"},
    {"%a: f32", "%x: f32 = lt %a, %a return", "@f: lt: the result must be bool shaped as f32, and is f32;"},
    {"%a: vec<f32, 2>", "%x: bool = lt %a, %a return",
     "@f: lt: the result must be bool shaped as vec<f32, 2>, and is bool;"},
    {"%a: f32", "add %a, %a return", "@f: add: has one result, and 0 are named; in 'add %a, %a'"},
    {"%a: f32", "%x: f32, %y: f32 = add %a, %a return", "@f: add: has one result, and 2 are named;"},
    {"%a: ptr<f32>", "%x: f32 = store %a, 1.0f32 return", "@f: store: has no result;"},
    // --- choice and conversion ---
    {"%c: bool, %a: f32, %b: f64", "%x: f32 = select %c, %a, %b return",
     "@f: select: operands 2 and 3 must have one type, and are f32 and f64;"},
    {"%c: bool, %a: ptr<f32>", "%x: ptr<f32> = select %c, %a, %a return",
     "@f: select: cannot choose between arrays or pointers;"},
    {"%c: vec<bool, 2>, %a: f32", "%x: f32 = select %c, %a, %a return",
     "@f: select: operand 1 must be a bool, or bools shaped as f32, and is vec<bool, 2>;"},
    {"%c: vec<bool, 3>, %a: vec<f32, 2>", "%x: vec<f32, 2> = select %c, %a, %a return",
     "@f: select: operand 1 must be a bool, or bools shaped as vec<f32, 2>, and is vec<bool, 3>;"},
    {"%a: vec<f32, 2>", "%x: f32 = cvt %a return",
     "@f: cvt: the result must have the shape of vec<f32, 2>, and is f32;"},
    {"%a: vec<f32, 4>", "%x: quat<f32> = cvt %a return",
     "@f: cvt: the result must have the shape of vec<f32, 4>, and is quat<f32>;"},
    {"%a: f32", "%x: i64 = bitcast %a return",
     "@f: bitcast: goes between scalars of one size but bool, not from f32 to i64;"},
    {"%a: bool", "%x: u8 = bitcast %a return",
     "@f: bitcast: goes between scalars of one size but bool, not from bool to u8;"},
    // --- composites ---
    {"%a: f32", "%x: vec<f32, 3> = make %a, %a return", "@f: make: vec<f32, 3> has 3 parts, and gets 2;"},
    {"%a: f32, %b: f64", "%x: vec<f32, 2> = make %a, %b return",
     "@f: make: operand 2 must be f32 as part 1 of vec<f32, 2> is, and is f64;"},
    {"%a: f32", "%x: f32 = make %a return", "@f: make: f32 has no parts;"},
    {"%a: f32", "%x: f32 = extract %a, 0 return", "@f: extract: f32 has no parts;"},
    {"%a: vec<f32, 3>", "%x: f32 = extract %a, 3 return", "@f: extract: part 3 of vec<f32, 3>, which has 3;"},
    {"%a: vec<f32, 3>", "%x: f64 = extract %a, 0 return",
     "@f: extract: the result must be f32 as part 0 of vec<f32, 3> is, and is f64;"},
    {"%a: vec<f32, 3>, %b: i32", "%x: vec<f32, 3> = insert %a, 0, %b return",
     "@f: insert: operand 2 must be f32 as part 0 of vec<f32, 3> is, and is i32;"},
    {"%a: quat<f32>, %i: i32", "%x: f32 = extract_at %a, %i return",
     "@f: extract_at: wants a vector, matrix or fixed array, and gets quat<f32>;"},
    {"%a: vec<f32, 3>, %i: i32", "%x: vec<f32, 3> = insert_at %a, %i, %i return",
     "@f: insert_at: operand 3 must be f32 as part 0 of vec<f32, 3> is, and is i32;"},
    {"%x: f32", "%y: f32 = gang_min %x return", "@f: gang_min: works on integers, not on f32;"},
    {"%x: bool", "%y: u32 = gang_count %x return", "@f: gang_count: the result must be i32, and is u32;"},
    {"%x: bool", "%y: bool = gang_max %x return", "@f: gang_max: works on integers, not on bool;"},
    {"%i: i32", "%x: f32 = table %i return", "@f: table: has no constants;"},
    {"%i: f32", "%x: f32 = table %i, 1.0f32 return", "@f: table: operand 1 must be an i32 or i64, and is f32;"},
    {"%i: i32, %a: f32", "%x: f32 = table %i, 1.0f32, %a return", "@f: table: operand 3 must be a constant;"},
    {"%i: i32", "%x: f32 = table %i, 1.0f32, 2i32 return",
     "@f: table: operand 3 must be f32 as the result is, and is i32;"},
    {"%i: i32", "%x: vec<f32, 2> = table %i, 1.0f32 return",
     "@f: table: the result must be a scalar, and is vec<f32, 2>;"},
    // --- memory ---
    {"%a: array<f32, 2>", "%x: i32 = length %a, 2 return", "@f: length: axis 2 of 2;"},
    {"%a: array<f32, 2>", "%x: u32 = length %a, 0 return", "@f: length: the result must be i32 or i64, and is u32;"},
    {"%a: array<f32, 2>, %i: i32", "%x: ptr<f32> = index %a, %i return",
     "@f: index: array<f32, 2> takes 2 indices, and gets 1;"},
    {"%a: array<f32, 1>, %i: u32", "%x: ptr<f32> = index %a, %i return",
     "@f: index: index 1 must be an i32 or i64, and is u32;"},
    {"%a: array<f32, 1>, %i: i32", "%x: ptr<i32> = index %a, %i return",
     "@f: index: the result must be ptr<f32>, and is ptr<i32>;"},
    {"%a: array<f32, 1>, %i: i32", "%x: ptr<f32, local> = index %a, %i return",
     "@f: index: the result must be ptr<f32>, and is ptr<f32, local>;"},
    {"", "%x: ptr<f32> = alloca return", "@f: alloca: the result must be a ptr<.., local>, and is ptr<f32>;"},
    {"%p: ptr<vec<f32, 2>, local>", "%x: ptr<f32> = member %p, 0 return",
     "@f: member: the result must be ptr<f32, local>, and is ptr<f32>;"},
    {"%p: ptr<vec<f32, 2>>", "%x: ptr<f32> = member %p, 2 return", "@f: member: part 2 of vec<f32, 2>, which has 2;"},
    {"%p: ptr<quat<f32>>", "%x: ptr<f32> = elem %p, 0i32 return",
     "@f: elem: wants a vector, matrix or fixed array, and gets quat<f32>;"},
    {"%p: ptr<f32>", "%x: f64 = load %p return", "@f: load: the result must be f32 as the pointer says, and is f64;"},
    {"%p: ptr<f32>", "store %p, 1i32 return", "@f: store: operand 2 must be f32 as the pointer says, and is i32;"},
    // --- atomics ---
    {"%p: ptr<f32, local>", "%x: f32 = atomic_add %p, 1.0f32 return",
     "@f: atomic_add: the pointer must be to an array's element or shared memory, not to local memory;"},
    {"%p: ptr<i16>", "%x: i16 = atomic_add %p, 1i16 return",
     "@f: atomic_add: works on 32- and 64-bit scalars, not on i16;"},
    {"%p: ptr<bool>", "%x: bool = atomic_xchg %p, true return",
     "@f: atomic_xchg: works on 32- and 64-bit scalars, not on bool;"},
    {"%p: ptr<f32>", "%x: f32 = atomic_or %p, 1.0f32 return", "@f: atomic_or: works on integers, not on f32;"},
    {"%p: ptr<f32>", "%x: f32 = atomic_cas %p, 1.0f32, 2.0f32 return",
     "@f: atomic_cas: works on integers, not on f32;"},
    {"%p: ptr<i32>", "%x: i64 = atomic_add %p, 1i64 return",
     "@f: atomic_add: operand 2 must be i32 as the pointer says, and is i64;"},
    {"%p: ptr<i32>", "%x: i32 = atomic_cas %p, 1i32, 2i64 return",
     "@f: atomic_cas: operands 2 and 3 must have one type, and are i32 and i64;"},
    // --- the launch ---
    {"", "%x: i32 = tid 4 return", "@f: tid: axis 4 of 4;"},
    {"", "%x: i64 = dim 0 return", "@f: dim: the result must be i32, and is i64;"},
    {"%c: bool", "check %c, 1i32, 2i32, \"t\" return", "@f: check: index and limit must be i64;"},
    // --- calls ---
    {"%a: f32", "call @k return", "@f: call: a kernel cannot be called; in 'call @k'"},
    {"%a: f32", "%r: f32 = call @g return", "@f: call: @g takes 1 operands, and gets 0;"},
    {"%a: f64", "%r: f32 = call @g %a return", "@f: call: operand 1 must be f32, and is f64;"},
    {"%a: f32", "%r: f64 = call @g %a return", "@f: call: result 1 is f32, and is named as f64;"},
    {"%a: f32", "call @g %a return", "@f: call: @g has 1 results, and 0 are named;"},
    {"%a: f32", "call @f %a return", "@f: call: is recursion, which there is not; in 'call @f %a'"},
    // --- regions ---
    {"%c: bool", "%r: f32 = if %c { yield } else { yield 1.0f32 } return",
     "@f: yield: the number of results has 1, and gets 0; in 'yield'"},
    {"%c: bool", "%r: f32 = if %c { yield 1i32 } else { yield 1.0f32 } return",
     "@f: yield: operand 1 must be f32, and is i32;"},
    {"", "%r: f32 = loop { break } return", "@f: break: the number of results has 1, and gets 0;"},
    {"", "loop (%i: i32 = 0i32) { continue } return",
     "@f: continue: the number of the loop's carried values has 1, and gets 0;"},
    {"", "loop (%i: i32 = 0i32) { continue 1i64 } return", "@f: continue: operand 1 must be i32, and is i64;"},
    {"", "loop (%i: i32 = 0i64) { break } return", "@f: loop: carried value 1 is i32, and starts as i64;"},
    {"%p: ptr<f32>", "loop (%q: ptr<f32> = %p) { break } return",
     "@f: loop: carried value 1 cannot be an array or a pointer;"},
    {"%p: ptr<f32>, %c: bool", "%q: ptr<f32> = if %c { yield %p } else { yield %p } return",
     "@f: if: result 1 cannot be an array or a pointer;"},
    {"", "break", "@f: break: stands in no loop;"},
    {"", "scope { continue } return", "@f: continue: stands in no loop;"},
    {"", "loop { leave } return", "@f: leave: stands in no scope;"},
    {"", "yield", "@f: yield: ends a region of an if, scope or threads only;"},
    {"", "loop { yield } return", "@f: yield: ends a region of an if, scope or threads only;"},
    {"", "return 1i32", "@f: return: the function has 0 results, and gets 1;"},
    {"", "unreachable", "@f: unreachable: stands behind an if, loop or scope that nothing leaves, and only there;"},
    {"%c: bool", "if %c { return } else { yield } unreachable",
     "@f: unreachable: stands behind an if, loop or scope that nothing leaves, and only there;"},
    {"", "loop { break } unreachable",
     "@f: unreachable: stands behind an if, loop or scope that nothing leaves, and only there;"},
    {"%c: bool", "scope { loop { leave } unreachable } unreachable",
     "@f: unreachable: stands behind an if, loop or scope that nothing leaves, and only there;"},
    {"", "return return", "@f: return: ends a region, and something stands behind it;"},
    {"%a: f32", "%x: f32 = neg %a", "@f: neg: is the last of its region and no ender;"},
    {"%c: bool", "if %c { } return", "@f: if: a region is empty: it needs an ender; in 'if %c'"},
    {"%o: u64, %x: f32", "%v: f32 = tex %o, 0, %x return",
     "@f: tex: takes an object, one to three coordinates and a level, not 2 operands;"},
    {"%o: u64, %x: f32", "%v: f32 = tex %o, 0, %x, %x, %x, %x, %x return",
     "@f: tex: takes an object, one to three coordinates and a level, not 6 operands;"},
    {"%o: u64, %x: f32", "%v: f32 = tex %o, 4, %x, %x return", "@f: tex: number 4 of 4;"},
    {"%o: i64, %x: f32", "%v: f32 = tex %o, 0, %x, %x return", "@f: tex: operand 1 must be u64, and is i64;"},
    {"%o: u64, %x: f32, %y: f64", "%v: f32 = tex %o, 0, %x, %y return", "@f: tex: operand 3 must be f32, and is f64;"},
    {"%o: u64, %x: f32", "%v: u32 = tex %o, 0, %x, %x return", "@f: tex: the result must be f32, and is u32;"},
    {"", "%x: i32 = has tex return", "@f: has: the result must be bool, and is i32;"},
    // --- groups ---
    {"", "%x: f32 = ltid return", "@f: ltid: the result must be i32, and is f32;"},
    {"", "%x: u32 = gid return", "@f: gid: the result must be i32, and is u32;"},
    {"", "%x: i64 = gdim return", "@f: gdim: the result must be i32, and is i64;"},
    {"", "%x: ptr<f32, local> = shared return",
     "@f: shared: the result must be a ptr<.., shared>, and is ptr<f32, local>;"},
    {"%a: vec<f32, 2>, %i: i32", "%x: vec<f32, 2> = shuffle %a, %i return",
     "@f: shuffle: operand 1 must be a scalar, and is vec<f32, 2>;"},
    {"%c: bool", "%x: u64 = ballot %c return", "@f: ballot: the result must be u32, and is u64;"},
    {"%a: vec<f16, 8>, %b: vec<bf16, 4>, %c: vec<f32, 4>", "%x: vec<f32, 4> = mma %a, %b, %c return",
     "@f: mma: no matrices of vec<f16, 8>, vec<bf16, 4> and vec<f32, 4> are known;"},
    {"%a: f32, %c: vec<f32, 2>", "%x: vec<f32, 2> = mma %a, %a, %c return",
     "@f: mma: no matrices of f32, f32 and vec<f32, 2> are known;"},
    {"%a: f64, %c: vec<f64, 2>", "%x: f64 = mma %a, %a, %c return",
     "@f: mma: the result must be vec<f64, 2>, and is f64;"},
    {"", "threads { threads { yield } yield } return", "@f: threads: stands in a region of threads;"},
    {"", "threads { return } barrier %x: i32 = tid 0 return",
     "@f: return: stands in a region of threads that is not the kernel's last;"},
    {"", "loop { threads { break } break } return", "@f: break: stands in no loop;"},
    // --- visibility ---
    {"%c: bool", "if %c { %x: i32 = tid 0 yield } %y: i32 = neg %x return",
     "@f: neg: operand 1 is used where its definition cannot be seen; in '%y: i32 = neg %x'"},
    {"%c: bool", "if %c { %x: i32 = tid 0 yield } else { %y: i32 = neg %x yield } return",
     "@f: neg: operand 1 is used where its definition cannot be seen;"},
    {"", "loop (%i: i32 = 0i32) { break } %y: i32 = neg %i return",
     "@f: neg: operand 1 is used where its definition cannot be seen;"},
};

struct VerifyTest : IrTest {};

TEST_F(VerifyTest, BrokenRulesAreNamed) {
  for (const Broken &b : kBroken) {
    SCOPED_TRACE(b.body);
    std::string text = std::string("func @g(%x: f32) -> f32 { return %x }\nkernel @k() { return }\n") + "func @f(" +
                       b.params + ") { " + b.body + " }\n";
    IrModule *x = Parse(text);
    ASSERT_NE(x, nullptr) << err.detail;
    std::string before = Print(x);
    EXPECT_EQ(hdir_verify(x, &err), HD_ERR_IR);
    EXPECT_EQ(std::string(err.detail).substr(0, strlen(b.message)), b.message);
    EXPECT_EQ(Print(x), before) << "verifying changes nothing";
  }
}

TEST_F(VerifyTest, WhatNeedsAGroupIsReachedFromKernelsWithGroupsOnly) {
  const char kFunctions[] = "func @deep() { barrier return }\nfunc @f() { call @deep return }\n";
  auto check = [&](const char *kernel) {
    IrModule *x = Parse(std::string(kFunctions) + kernel);
    return x ? hdir_verify(x, &err) : HD_ERR_SOURCE;
  };
  EXPECT_EQ(check("kernel @k() group 32 { call @f return }"), HD_OK) << err.detail;
  EXPECT_EQ(check("kernel @k() { return }"), HD_OK) << err.detail;
  EXPECT_EQ(check("kernel @k() { call @f return }"), HD_ERR_IR);
  EXPECT_STREQ(err.detail, "@k: call: the kernel has no groups; in 'call @f'");
  EXPECT_EQ(check("kernel @k() { %x: i32 = ltid return }"), HD_ERR_IR);
  EXPECT_STREQ(err.detail, "@k: ltid: the kernel has no groups; in '%x: i32 = ltid'");
}

TEST_F(VerifyTest, EveryOpHasABrokenCase) {
  // Those with no rule of their own beyond the letters that the others show.
  std::set<std::string> shown = {"sub",        "mul",   "div",    "abs",      "min",        "max",        "mulhi",
                                 "floor",      "ceil",  "trunc",  "rint",     "copysign",   "or",         "xor",
                                 "not",        "shl",   "shr",    "popcount", "clz",        "ctz",        "eq",
                                 "ne",         "le",    "gt",     "ge",       "atomic_min", "atomic_max", "atomic_and",
                                 "atomic_xor", "scope", "barrier"};
  for (const Broken &b : kBroken) {
    std::string msg = b.message;
    shown.insert(msg.substr(4, msg.find(':', 4) - 4));
  }
  for (const IrOpRow &row : hdir_ops) EXPECT_TRUE(shown.count(row.name)) << row.name;
}

TEST_F(VerifyTest, FunctionsHaveRulesToo) {
  const struct {
    const char *text, *message;
  } cases[] = {
      {"kernel @k() -> f32 { return 1.0f32 }", "@k: a kernel returns nothing"},
      {"kernel @k(%p: ptr<f32>) { return }", "@k: parameter 1 cannot be ptr<f32>"},
      {"func @f(%a: array<f32, 1>) -> array<f32, 1> { return %a }", "@f: result 1 cannot be array<f32, 1>"},
      {"func @f() { }", "@f: a region is empty: it needs an ender"},
      {"func @a() { call @b return } func @b() { call @c return } func @c() { call @b return }",
       "@c: call: is recursion, which there is not; in 'call @b'"},
      {"extern @\"a b\"()", "@a b: a C function's name is letters, digits and _"},
      {"extern @f() -> f32, f32", "@f: a C function has one result at the most, and this has 2"},
      {"extern @f(%x: f32) pure", "@f: a pure function has a result"},
      {"extern @f(%x: f32, %a: array<f32, 1>) -> f32 pure",
       "@f: parameter 2 of a pure function cannot be an array, whose elements may change"},
      {"extern @f(%x: ptr<f32>)", "@f: parameter 1 of a C function cannot be ptr<f32>"},
      {"struct %S { a: array<f32, 1> } extern @f(%x: %S)", "@f: parameter 1 of a C function cannot be %S"},
      {"extern @f() -> array<f32, 1>", "@f: result 1 cannot be array<f32, 1>"},
      {"extern @f(%x: f32) -> f32 func @g() { %x: f32 = call @f 1i32 return }",
       "@g: call: operand 1 must be f32, and is i32; in '%x: f32 = call @f 1i32'"},
  };
  for (const auto &c : cases) {
    IrModule *x = Parse(c.text);
    ASSERT_NE(x, nullptr) << err.detail;
    EXPECT_EQ(hdir_verify(x, &err), HD_ERR_IR);
    EXPECT_STREQ(err.detail, c.message);
  }
}

TEST_F(VerifyTest, GoodControlIsAccepted) {
  ParseGood("func @f(%c: bool) -> i32 {\n"
            "  %r: i32 = scope {\n"
            "    loop (%i: i32 = 0i32) {\n"
            "      if %c { leave %i } else { yield }\n"
            "      if %c { return 3i32 } else { continue 5i32 }\n"
            "      unreachable\n"
            "    }\n"
            "    unreachable\n"
            "  }\n"
            "  loop {\n"
            "    scope { if %c { break } else { leave } unreachable }\n"
            "    continue\n"
            "  }\n"
            "  scope { return %r }\n"
            "  unreachable\n"
            "}\n");
}

TEST_F(VerifyTest, DiamondsOfCallsAreNoRecursion) {
  ParseGood("func @a() { call @b call @c return } func @b() { call @d return } func @c() { call @d call @b return } "
            "func @d() { return }");
}

TEST_F(VerifyTest, LongChainsOfCallsNeedNoDeepStack) {
  std::string text;
  for (int k = 0; k < 20000; k++) {
    text += "func @f" + std::to_string(k) + "() { call @f" + std::to_string(k + 1) + " return }\n";
  }
  ParseGood(text + "func @f20000() { return }");
}

TEST_F(VerifyTest, ThePlaceOfTheInstructionIsGiven) {
  IrModule *x = Parse("file 0 \"a.hd\" func @f(%a: f32) { %x: f64 = neg %a @ 0:12:7 return }");
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(hdir_verify(x, &err), HD_ERR_IR);
  EXPECT_STREQ(err.where.file, "a.hd");
  EXPECT_EQ(err.where.line, 12);
  EXPECT_EQ(err.where.column, 7);
}

// --- modules that only code can build wrong ---

struct VerifyRaw : IrTest {
  IrFunc *Func(const char *name) {
    const IrType *t = Scalar(IR_F32);
    return hdir_func_new(m, name, false, 1, &t, 0, nullptr);
  }
  void Expect(const IrFunc *fn, const char *message) {
    EXPECT_EQ(hdir_verify_func(fn, &err), HD_ERR_IR);
    EXPECT_EQ(std::string(err.detail).substr(0, strlen(message)), message);
  }
};

TEST_F(VerifyRaw, ValuesOfAnotherFunctionAreFound) {
  IrFunc *g = Func("g"), *h = Func("h");
  IrBuilder b;
  hdir_build_begin(&b, h);
  b.no_fold = true;
  hdir_un(&b, IR_neg, hdir_const_float(g, Scalar(IR_F32), 2));
  hdir_ender(&b, IR_return, 0, nullptr);
  Expect(h, "@h: neg: operand 1 is a constant of another function");
}

TEST_F(VerifyRaw, NullOperandsAreFound) {
  IrFunc *f = Func("f");
  IrValue *none = nullptr;
  hdir_append(f->body, hdir_inst_new(f, IR_neg, 1, &none, 1, &f->body->params[0]->type));
  Expect(f, "@f: neg: operand 1 is no value of this function; in '%1: f32 = neg <null>'");
}

TEST_F(VerifyRaw, BrokenListsAreFound) {
  IrFunc *f = Func("f");
  IrBuilder b;
  hdir_build_begin(&b, f);
  IrValue *x = hdir_un(&b, IR_neg, f->body->params[0]);
  hdir_ender(&b, IR_return, 0, nullptr);
  EXPECT_EQ(hdir_verify_func(f, &err), HD_OK) << err.detail;
  IrInst *ret = x->def->next;
  ret->prev = nullptr;
  Expect(f, "@f: neg: the list of instructions is broken here");
  ret->prev = x->def;
  x->index = 3;
  Expect(f, "@f: neg: result 1 is out of place");
}

TEST_F(VerifyRaw, AMissingRegionIsFound) {
  IrFunc *f = Func("f");
  IrValue *c = hdir_const_bool(f, true);
  IrInst *i = hdir_inst_new(f, IR_if, 1, &c, 0, nullptr);
  IrBuilder b;
  hdir_append(f->body, i);
  hdir_build_begin(&b, f);
  hdir_ender(&b, IR_return, 0, nullptr);
  Expect(f, "@f: if: has 2 regions, and is given 0");
}

TEST_F(VerifyRaw, CallsIntoAnotherModuleAreFound) {
  IrModule *other = hdir_module_new(&arena, "other");
  IrFunc *callee = hdir_func_new(other, "g", false, 0, nullptr, 0, nullptr);
  IrFunc *f = Func("f");
  IrBuilder b;
  hdir_build_begin(&b, f);
  hdir_call(&b, callee, nullptr);
  hdir_ender(&b, IR_return, 0, nullptr);
  Expect(f, "@f: call: the callee is no function of this module");
}

} // namespace
