// tests/ir/parse_test.cc -- malformed text: the message and the place, and never a crash.
#include <random>
#include <vector>

#include "ir/layout.h"
#include "tests/ir/ir_testing.h"

namespace {

struct Bad {
  const char *text;
  int line, column;
  const char *message;
};

const Bad kBad[] = {
    // --- tokens ---
    {"func @f() { return ; }", 1, 20, "a character that starts nothing"},
    {"func @f() {\n  % }", 2, 3, "a '%' without a name"},
    {"file 0 \"abc", 1, 8, "a text without its closing '\"'"},
    {"file 0 \"a\nb\"", 1, 8, "a text without its closing '\"'"},
    {"file 0 \"a\\q\"", 1, 8, "an unknown escape in a text; there are \\n \\t \\\\ \\\" \\xHH"},
    {"file 0 \"a\\x0\"", 1, 8, "an unknown escape in a text; there are \\n \\t \\\\ \\\" \\xHH"},
    {"file 0 \"a\\x00\"", 1, 8, "a zero byte in a text"},
    {"\x80", 1, 1, "a character that starts nothing"},
    // --- the top level ---
    {"fun @f() {}", 1, 1, "expected 'file', 'struct', 'func', 'kernel' or 'extern', found 'fun'"},
    {"}", 1, 1, "expected 'file', 'struct', 'func', 'kernel' or 'extern', found '}'"},
    {"func", 1, 5, "expected the function's @name, found the end of the text"},
    {"func f() {}", 1, 6, "expected the function's @name, found 'f'"},
    {"func @f {}", 1, 9, "expected '(' and the parameters, found '{'"},
    {"func @f(a: f32) {}", 1, 9, "expected a parameter's %name, found 'a'"},
    {"func @f(%a f32) {}", 1, 12, "expected ':' and the parameter's type, found 'f32'"},
    {"func @f(%a: f32 %b: f32) {}", 1, 17, "expected ',' or ')', found '%b'"},
    {"func @f(%a: f32, %a: f32) { return }", 1, 18, "%a is already defined in this function"},
    {"func @f() -> { return }", 1, 14, "expected a type, found '{'"},
    {"func @f() { return }\nfunc @f() { return }", 2, 6, "the function @f is there already"},
    {"func @f() { return", 1, 19, "expected an instruction, found the end of the text"},
    {"file 1 \"a\"", 1, 6, "files are numbered from 0 in order, each path once"},
    {"file 0 \"a\" file 1 \"a\"", 1, 17, "files are numbered from 0 in order, each path once"},
    {"file 0 a", 1, 8, "expected the file's path, found 'a'"},
    {"file x \"a\"", 1, 6, "expected the file's number, found 'x'"},
    {"file 0x0 \"a\"", 1, 6, "expected the file's number, found '0x0'"},
    // --- structs and types ---
    {"struct S { a: f32 }", 1, 8, "expected the struct's %name, found 'S'"},
    {"struct %S { }", 1, 13, "expected a field's name, found '}'"},
    {"struct %S { a f32 }", 1, 15, "expected ':' and the field's type, found 'f32'"},
    {"struct %S { a: f32, a: f32 }", 1, 21, "the field 'a' is there already"},
    {"struct %S { a: f32 } struct %S { a: f32 }", 1, 29, "the struct %S is there already"},
    {"struct %S { a: %S }", 1, 16, "no struct %S before this place"},
    {"struct %S { a: ptr<f32> }", 1, 13, "a field cannot be a pointer"},
    {"struct %S { a: fixed<u8, 60000000>, b: fixed<u8, 60000000> }", 1, 37, "the struct is larger than 67108864 bytes"},
    {"func @f(%a: float) {}", 1, 13, "no type is called 'float'"},
    {"func @f(%a: void) {}", 1, 13, "no type is called 'void'"},
    {"func @f(%a: vec<f32>) {}", 1, 20, "expected ',' and a size, found '>'"},
    {"func @f(%a: vec<f32, 0>) {}", 1, 22, "a size must be from 1 to 64, and is 0"},
    {"func @f(%a: vec<f32, 65>) {}", 1, 22, "a size must be from 1 to 64, and is 65"},
    {"func @f(%a: vec<vec<f32, 2>, 2>) {}", 1, 17, "this type holds scalars only"},
    {"func @f(%a: mat<f32, 2>) {}", 1, 23, "expected ',' and the columns, found '>'"},
    {"func @f(%a: array<f32, 5>) {}", 1, 24, "the dimensions must be from 1 to 4, and is 5"},
    {"func @f(%a: array<array<f32, 1>, 1>) {}", 1, 19, "arrays and pointers cannot be stored"},
    {"func @f(%a: fixed<f32, 99999999>) {}", 1, 24, "the elements must be from 1 to 16777216, and is 99999999"},
    {"func @f(%a: ptr<f32, common>) {}", 1, 22, "expected 'local' or 'shared', found 'common'"},
    {"kernel @k() group 16 { return }", 1, 19, "the threads of a group must be from 32 to 1024, and is 16"},
    {"func @f(%a: quat<f32) {}", 1, 21, "expected '>', found ')'"},
    {"func @f(%a: vec f32) {}", 1, 17, "expected '<', found 'f32'"},
    // --- instructions ---
    {"func @f() { ad 1i32, 2i32 }", 1, 13, "no op is called 'ad'; did you mean 'add'?"},
    {"func @f() { frobnicate }", 1, 13, "no op is called 'frobnicate'"},
    {"func @f() { %a = add 1i32, 2i32 }", 1, 16, "expected ':' and the result's type, found '='"},
    {"func @f() { %a: i32 add 1i32 }", 1, 21, "expected '=' after the results, found 'add'"},
    {"func @f() { %a: i32, = add 1i32, 2i32 }", 1, 22, "expected the next result's name, found '='"},
    {"func @f(%velocity: f32) { return %velocty }", 1, 34,
     "%velocty is not defined before this place; did you mean %velocity?"},
    {"func @f() { return %unheard }", 1, 20, "%unheard is not defined before this place"},
    {"func @f() { %x: i32 = add %x, 1i32 }", 1, 27, "%x is not defined before this place"},
    {"func @f() { %x: i32 = add 1i32, }", 1, 33, "expected a value, found '}'"},
    {"func @f() { %x: i32 = add 1i32, 1i32 %x: i32 = add 1i32, 1i32 }", 1, 38,
     "%x is already defined in this function"},
    {"func @f() { %x: i32 = tid }", 1, 27, "expected a number, found '}'"},
    {"func @f() { %x: bool = has }", 1, 28, "expected a unit, mma, tex or dmma, found '}'"},
    {"func @f() { %x: bool = has wings }", 1, 28, "expected a unit, mma, tex or dmma, found 'wings'"},
    {"func @f() { %x: i32 = tid 0i32 }", 1, 27, "expected a number, found '0i32'"},
    {"func @f() { %x: i32 = tid -1 }", 1, 27, "a number must be from 0 to 2147483647, and is -1"},
    {"func @f(%v: vec<f32, 2>) { %x: f32 = extract %v }", 1, 49, "expected ',' and a number, found '}'"},
    {"func @f(%v: vec<f32, 2>) { %x: f32 = extract 0 }", 1, 46,
     "'0' is no constant: it needs a type, as in 7i32, 1.5f32 or 0x7fc00000f32"},
    {"func @f(%c: bool) { assert %c }", 1, 31, "expected ',' and a text, found '}'"},
    {"func @f() { call f }", 1, 18, "expected a function's @name, found 'f'"},
    {"func @f() { call @g return }", 1, 18, "no function is called @g"},
    {"func @f(%c: bool) { if %c }", 1, 27, "expected '{', found '}'"},
    {"func @f(%c: bool) { if { return } }", 1, 24, "expected a value, found '{'"},
    {"func @f() { loop (%a: i32) { } }", 1, 26, "expected '=' and the first value, found ')'"},
    {"func @f() { loop (%a = 1i32) { } }", 1, 22, "expected ':' and a type, found '='"},
    {"func @f() { loop (%a: i32 = 1i32 { } }", 1, 34, "expected ')', found '{'"},
    {"func @f() { return @ 0:1:1 }", 1, 22, "a file's number must be from 0 to -1, and is 0"},
    {"file 0 \"a\" func @f() { return @ 0:0:1 }", 1, 35, "a line must be from 1 to 2147483647, and is 0"},
    {"file 0 \"a\" func @f() { return @ 0:1 }", 1, 37, "expected ':' and a column, found '}'"},
    // --- constants ---
    {"func @f() -> i32 { return 7 }", 1, 27,
     "'7' is no constant: it needs a type, as in 7i32, 1.5f32 or 0x7fc00000f32"},
    {"func @f() -> i8 { return 128i8 }", 1, 26, "'128i8' is out of the type's range"},
    {"extern @f(%a: i8, %a: i8)", 1, 19, "%a is already defined in this function"},
    {"extern @f() extern @f()", 1, 20, "the function @f is there already"},
    {"extern @f() { return }", 1, 13, "expected 'file', 'struct', 'func', 'kernel' or 'extern', found '{'"},
    {"func @f() -> i8 { return -129i8 }", 1, 26, "'-129i8' is out of the type's range"},
    {"func @f() -> u8 { return -1u8 }", 1, 26, "'-1u8' is out of the type's range"},
    {"func @f() -> u64 { return 18446744073709551616u64 }", 1, 27,
     "'18446744073709551616u64' is out of the type's range"},
    {"func @f() -> i32 { return 1.5i32 }", 1, 27, "'1.5i32' is no integer"},
    {"func @f() -> f32 { return 1e99f32 }", 1, 27, "'1e99f32' is out of the type's range"},
    {"func @f() -> f16 { return 65520.0f16 }", 1, 27, "'65520.0f16' is out of the type's range"},
    {"func @f() -> f32 { return 1.2.3f32 }", 1, 27, "'1.2.3f32' is no number"},
    {"func @f() -> f32 { return 1ef32 }", 1, 27, "'1ef32' is no number"},
    {"func @f() -> f32 { return 0x7fc0f32 }", 1, 27,
     "'0x7fc0f32' is no constant: it needs a type, as in 7i32, 1.5f32 or 0x7fc00000f32"},
    {"func @f() -> i32 { return 0x10i32 }", 1, 27,
     "'0x10i32' is no constant: it needs a type, as in 7i32, 1.5f32 or 0x7fc00000f32"},
};

struct ParseTest : IrTest {};

TEST_F(ParseTest, MalformedTextIsAnErrorWithItsPlace) {
  for (const Bad &bad : kBad) {
    SCOPED_TRACE(bad.text);
    hdb_error_clear(&err);
    EXPECT_EQ(Parse(bad.text), nullptr);
    EXPECT_EQ(err.status, HD_ERR_IR);
    EXPECT_STREQ(err.detail, bad.message);
    EXPECT_STREQ(err.where.file, "t.ir");
    EXPECT_EQ(err.where.line, bad.line);
    EXPECT_EQ(err.where.column, bad.column);
  }
  EXPECT_GE(sizeof kBad / sizeof *kBad, 40u);
}

TEST_F(ParseTest, OutputIsUntouchedOnFailure) {
  IrModule *out = m;
  EXPECT_EQ(hdir_parse(&arena, "x", "bad", 3, &err, &out), HD_ERR_IR);
  EXPECT_EQ(out, m);
}

TEST_F(ParseTest, NestingIsBounded) {
  auto nested = [](const char *open, int n) {
    std::string text = "func @f() { ";
    for (int k = 0; k < n; k++) text += open;
    return text;
  };
  EXPECT_EQ(Parse(nested("loop { ", 100000)), nullptr);
  EXPECT_STREQ(err.detail, "regions are nested more than 256 deep");
  EXPECT_EQ(Parse(nested("if true { ", 100000)), nullptr);
  EXPECT_STREQ(err.detail, "regions are nested more than 256 deep");
  std::string type = "func @f(%a: ";
  for (int k = 0; k < 100000; k++) type += "fixed<";
  EXPECT_EQ(Parse(type), nullptr);
  EXPECT_STREQ(err.detail, "types are nested more than 32 deep");
  std::string deep = nested("scope { ", 255);
  for (int k = 0; k < 255; k++) deep += "yield }";
  EXPECT_NE(ParseGood(deep + " return }"), nullptr) << "255 regions and the body are allowed";
}

TEST_F(ParseTest, TypesInDeepRegionsAreNotDeepTypes) {
  std::string deep = "func @f(%x: f32) { ";
  for (int k = 0; k < 250; k++) deep += "scope { ";
  deep += "%v: vec<f32, 2> = make %x, %x ";
  for (int k = 0; k < 250; k++) deep += "yield }";
  EXPECT_NE(ParseGood(deep + " return }"), nullptr);
}

TEST_F(ParseTest, LongNumbersAreBounded) {
  std::string digits(900, '1');
  EXPECT_EQ(Parse("func @f() -> f64 { return 0." + digits + "f64 }"), nullptr);
  EXPECT_STREQ(err.detail, "a number has at most 800 digits");
  EXPECT_NE(ParseGood("func @f() -> f64 { return 0." + digits.substr(0, 799) + "f64 }"), nullptr);
  EXPECT_EQ(Parse("func @f() -> f64 { return 1e99999999999999999999f64 }"), nullptr);
}

TEST_F(ParseTest, TheRankOfALaunchIsKeptWhereItCannotBeSeen) {
  const char *seen = "kernel @k() {\n  %i: i32 = tid 1\n  return\n}\n",
             *hidden = "kernel @k() rank 3 fast {\n  return\n}\n";
  IrModule *a = ParseGood(seen), *b = ParseGood(hidden);
  hdir_keep_rank(a->funcs[0]);
  EXPECT_EQ(hdir_launch_rank(a->funcs[0]), 2);
  EXPECT_EQ(Print(a), seen);
  EXPECT_EQ(hdir_launch_rank(b->funcs[0]), 3);
  EXPECT_EQ(Print(b), hidden);
  hdir_unlink(a->funcs[0]->body->first);
  EXPECT_EQ(hdir_launch_rank(a->funcs[0]), 2);
  EXPECT_EQ(Parse("kernel @k() rank 5 { return }"), nullptr);
  EXPECT_EQ(Parse("func @f() rank 1 { return }"), nullptr);
}

// Every prefix of a module, and the module with bytes changed: an error or a module, and what is a module is printed and
// verified without harm.
TEST_F(ParseTest, BrokenModulesAreErrorsOrModules) {
  const std::string text =
      "file 0 \"a\"\nstruct %P { x: vec<f32, 3>, n: i32 }\n"
      "func @g(%p: ptr<f32, local>, %y: f32) -> f32, bool fast { @ 0:1:1\n  %v: f32 = load %p\n"
      "  %c: bool = lt %v, -1.5e-3f32\n  return %v, %c @ 0:2:3\n}\n"
      "kernel @k(%x: array<f32, 2>, %n: i32) {\n  %i: i32 = tid 0\n  %p: ptr<f32> = index %x, %i, %n\n"
      "  %s: f32 = loop (%a: f32 = 0.5f32, %j: i32 = 0i32) {\n    %d: bool = ge %j, %n\n"
      "    if %d { break %a } else { yield }\n    check %d, 1i64, 2i64, \"t\\n\"\n"
      "    %j2: i32 = add %j, 1i32\n    continue %a, %j2\n  }\n  store %p, %s\n"
      "  %l: ptr<f32, local> = alloca\n  %r: f32, %b: bool = call @g %l, %s\n  return\n}\n";
  ASSERT_NE(ParseGood(text), nullptr);
  std::mt19937 rng(1);
  const char alphabet[] = "%@{}()<>,:=-\"#.0123456789abfilnorstux \n\\";
  int modules = 0, valid = 0;
  auto try_one = [&](const std::string &t) {
    ArenaMark mark = hdb_mark(&arena);
    IrModule *x = Parse(t);
    if (x) {
      modules++;
      HdStatus status = hdir_verify(x, &err);
      if (status == HD_OK) {
        valid++;
        std::string once = Print(x);
        IrModule *again = ParseGood(once);
        ASSERT_NE(again, nullptr);
        ASSERT_EQ(Print(again), once);
      } else {
        ASSERT_NE(err.detail[0], 0);
      }
    } else {
      ASSERT_GT(err.where.line, 0);
      ASSERT_GT(err.where.column, 0);
      ASSERT_NE(err.detail[0], 0);
    }
    hdb_reset(&arena, mark);
  };
  for (size_t n = 0; n < text.size(); n++) try_one(text.substr(0, n));
  for (int round = 0; round < 6000; round++) {
    std::string t = text;
    for (int k = (int)(rng() % 3); k >= 0; k--) {
      size_t at = rng() % t.size();
      switch (rng() % 4) {
      case 0: t[at] = alphabet[rng() % (sizeof alphabet - 1)]; break;
      case 1: t.erase(at, 1 + rng() % 8); break;
      case 2: t.insert(at, t.substr(rng() % t.size(), rng() % 12)); break;
      default: t[at] = (char)rng(); break;
      }
      if (t.empty()) t = " ";
    }
    try_one(t);
  }
  EXPECT_GT(modules, 100);
  EXPECT_GT(valid, 20);
}

} // namespace
