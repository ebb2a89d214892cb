// tests/frontend/limits_test.cc -- source that wants too much of the compiler is told so, in little time and memory.
#include <gtest/gtest.h>

#include "tests/frontend/lang_testing.h"

namespace {

std::string Repeat(const std::string &s, int n) {
  std::string all;
  for (int i = 0; i < n; i++) all += s;
  return all;
}

// `i` in place of each '#', for i from 0 on.
std::string Numbered(const std::string &s, int n) {
  std::string all;
  for (int i = 0; i < n; i++)
    for (char c : s) all += c == '#' ? std::to_string(i) : c == '$' ? std::to_string(i + 1) : std::string(1, c);
  return all;
}

std::string Kernel(const std::string &body) { return "kernel k(f32 x[]) { " + body + " }\n"; }

void Refuses(const std::string &source, const std::string &id) {
  Compiled c("limit.hd", source);
  EXPECT_EQ(c.status, HD_ERR_SOURCE);
  EXPECT_TRUE(c.Has(id)) << c.diagnostics.substr(0, 1000);
}

void Takes(const std::string &source) {
  Compiled c("limit.hd", source);
  EXPECT_EQ(c.status, HD_OK) << c.diagnostics.substr(0, 1000);
}

TEST(LangLimits, FileTooLarge) {
  Arena arena;
  hdb_arena_init(&arena, &hdb_system_allocator);
  HdError err = {};
  FeResult result = {};
  jmp_buf jb;
  HDB_GUARD(&arena, jb) {
    EXPECT_EQ(hdfe_compile(&arena, "large.hd", "", (size_t{64} << 20) + 1, nullptr, &err, &result), HD_ERR_SOURCE);
    EXPECT_STREQ(result.diags[0].id, "file_too_large");
  }
  hdb_arena_free(&arena);
}

TEST(LangLimits, NestingOfTheSource) {
  Refuses(Kernel("x[0] = " + Repeat("(", 100000)), "too_deep");
  Refuses(Kernel("x[0] = " + Repeat("!", 100000)), "too_deep");
  Refuses(Kernel(Repeat("if (true) ", 100000)), "too_deep");
  Refuses(Kernel("x[0] = 1" + Repeat(" + 1", 100000) + ";"), "too_deep");
  Takes(Kernel("x[0] = x[1]" + Repeat(" + x[2]", 900) + ";"));
  Takes(Kernel(Repeat("{", 150) + Repeat("}", 150)));
}

// Whatever is repeated: the parser neither runs out of stack nor stands still.
TEST(LangLimits, RepetitionOfAnyOpening) {
  for (const char *open : {"[",
                           "{",
                           "- ",
                           "--",
                           "++",
                           "~",
                           "f(",
                           "f<",
                           "x[",
                           "x.",
                           "for (;;) ",
                           "do ",
                           "1 ? ",
                           "1 ? 1 : ",
                           "S{a: ",
                           "vec<",
                           "static if (true) ",
                           "if (",
                           "x (",
                           "else ",
                           "ref ",
                           "struct S {",
                           "@",
                           "a = ",
                           "f32 a[",
                           "/*"}) {
    Compiled body("limit.hd", Kernel("x[0] = " + Repeat(open, 20000))), stmt("limit.hd", Kernel(Repeat(open, 50000))),
        item("limit.hd", Repeat(open, 20000));
    EXPECT_EQ(body.status, HD_ERR_SOURCE) << open;
    EXPECT_EQ(stmt.status, HD_ERR_SOURCE) << open;
    EXPECT_EQ(item.status, HD_ERR_SOURCE) << open;
  }
}

TEST(LangLimits, CallsInsideOneAnother) {
  Takes(Numbered("fn h#(f32 a) -> f32 { return h$(a) + h$(a) * h$(a); }\n", 90) +
        "fn h90(f32 a) -> f32 { return a; }\nkernel k(f32 x[]) { x[0] = h0(x[1]); }\n");
  Refuses("fn f<N: int>() -> i32 { return f<N + 1>(); }\nkernel k(i32 x[]) { x[0] = f<0>(); }\n", "call_depth");
}

TEST(LangLimits, CodeThatGenericsAndStaticForBecome) {
  Refuses(
      "fn f<N: int>(i32 a) -> i32 { static if (N < 1000000000) { return f<2 * N>(a) + f<2 * N + 1>(a); } return a; }\n"
      "kernel k(i32 x[]) { x[0] = f<1>(x[1]); }\n",
      "too_much_code");
  Refuses(Kernel("static for (a in 0..256) { static for (b in 0..255) {" + Repeat("x[a] = x[b];", 10) + "} }"),
          "too_much_code");
  Refuses(Kernel("static for (i in 0..2000000000) { }"), "unroll_limit");
}

TEST(LangLimits, SizesOfTypes) {
  std::string doubling = "struct S0 { f32 a[1024]; }\n" + Numbered("struct S$ { S# a, b, c, d; }\n", 40);
  Refuses(doubling + "kernel k(S40 s[]) { }\n", "struct_size");
  Refuses(Kernel("f32 a[65537]; a[0] = 1; x[0] = a[1];"), "size_range");
  Refuses(Kernel("f32 a[1024][1024]; a[0][0] = 1; x[0] = a[1][1];"), "size_range");
  Refuses(Kernel("f32 a[9223372036854775807]; a[0] = 1; x[0] = a[1];"), "size_range");
  Refuses(Kernel("vec<f32, 65> v; x[0] = v[0];"), "size_range");
}

TEST(LangLimits, ManyVariablesCarriedThroughALoop) {
  Takes(Kernel(Numbered("var a# = x[#]; ", 1000) + "for (i in 0..9) {" + Numbered("a# += 1;", 1000) + "}" +
               Numbered("x[#] = a#;", 1000)));
}

} // namespace
