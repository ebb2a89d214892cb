// tools/embed: the text survives, and the index has the names at the top level.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <string>

namespace {

class Embed : public testing::Test {
protected:
  std::string room =
      std::string(testing::TempDir()) + "/lib_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string files, said, table;

  void SetUp() override { mkdir(room.c_str(), 0777); }
  void Put(const std::string &name, const std::string &text) {
    std::ofstream(room + "/" + name, std::ios::binary) << text;
    files += " '" + room + "/" + name + "'";
  }
  int Run() {
    std::string command = "tools/embed/embed '" + room + "/out.c' '" + room + "/'" + files + " 2>&1";
    FILE *p = popen(command.c_str(), "r");
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) said.append(buffer, n);
    int status = pclose(p);
    std::ifstream f(room + "/out.c");
    table.assign((std::istreambuf_iterator<char>(f)), {});
    return status;
  }
  bool Has(const std::string &name, const std::string &module) const {
    return table.find("{\"" + name + "\", \"" + module + "\"},") != std::string::npos;
  }
};

TEST_F(Embed, IndexesNamesAtTheTopLevel) {
  Put("a.hd", "// fn hidden() {}\n/* struct Hidden {} */\n"
              "const f32 PI = 3.14;\nconst f32 TABLE[2] = {1, 2};\n"
              "struct Ray { vec3 o; vec3 d; }\n"
              "fn dot<T: float, N: int>(vec<T, N> a, vec<T, N> b) -> T { const i32 inner = 1; let s = \"fn quoted() "
              "{\"; return a; }\n"
              "fn operator*(quat a, quat b) -> quat { return a; }\nfn operator<=(Ray a, Ray b) -> bool { return true; "
              "}\nfn _own() {}\n");
  ASSERT_EQ(Run(), 0) << said;
  for (const char *name : {"PI", "TABLE", "Ray", "dot", "operator*", "operator<="})
    EXPECT_TRUE(Has(name, "a")) << name << "\n" << table;
  EXPECT_NE(table.find("hd_lib_index_count = 6;"), std::string::npos) << table;
}

TEST_F(Embed, KeepsTheText) {
  std::string text = "a \"quoted\" \\ back?\?/slash\ttab \xc3\xa9\nlast line without end";
  Put("a.hd", text);
  Put("empty.hd", "");
  ASSERT_EQ(Run(), 0) << said;
  // Compiled and printed, it is what it was.
  std::string program = room + "/print";
  std::ofstream(room + "/main.c")
      << "#include \"out.c\"\n#include <stdio.h>\nint main(void) { fputs(hd_lib_modules[0].text, stdout); return "
         "hd_lib_module_count != 2 || *hd_lib_modules[1].text; }\n";
  ASSERT_EQ(system(("gcc -std=c11 -I. -Iinclude -o '" + program + "' '" + room + "/main.c'").c_str()), 0);
  FILE *p = popen(("'" + program + "'").c_str(), "r");
  char buffer[256];
  size_t n = fread(buffer, 1, sizeof buffer, p);
  EXPECT_EQ(pclose(p), 0);
  EXPECT_EQ(std::string(buffer, n), text);
}

TEST_F(Embed, NamesEveryModuleThatHasAnOverload) {
  Put("a.hd", "fn f() {}\nfn f(i32 x) {}\n");
  Put("b.hd", "fn f(f32 x) {}\n");
  ASSERT_EQ(Run(), 0) << said;
  EXPECT_TRUE(Has("f", "a b")) << table;
}

TEST_F(Embed, RefusesWhatCannotBeALibrary) {
  Put("a.hd", "fn f() {\n");
  EXPECT_NE(Run(), 0);
  EXPECT_NE(said.find("brackets"), std::string::npos) << said;
}

} // namespace
