// Each public header stands alone, as C11 and as C++17, under both compilers, without a warning; and the shared library has
// just the functions that the headers declare.
#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

std::vector<std::string> Headers() {
  std::vector<std::string> names;
  DIR *d = opendir("include/heddle");
  if (!d) return names;
  while (dirent *e = readdir(d)) {
    std::string n = e->d_name;
    if (n.size() > 2 && n.substr(n.size() - 2) == ".h") names.push_back(n);
  }
  closedir(d);
  std::sort(names.begin(), names.end());
  return names;
}

// What the command printed, and its exit status.
std::pair<int, std::string> Shell(const std::string &command) {
  std::string out;
  FILE *p = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) out.append(buffer, n);
  return {pclose(p), out};
}

bool Has(const std::string &program) { return Shell("command -v " + program).first == 0; }

struct Compiler {
  const char *name, *command, *extension;
};
const Compiler compilers[] = {{"GccC11", "gcc -std=c11", "c"},
                              {"GccCxx17", "g++ -std=c++17", "cc"},
                              {"ClangC11", "clang-22 -std=c11", "c"},
                              {"ClangCxx17", "clang++-22 -std=c++17", "cc"}};

class Header : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(Header, CompilesAlone) {
  const Compiler &c = compilers[std::get<1>(GetParam())];
  if (!Has(std::string(c.command).substr(0, std::string(c.command).find(' ')))) GTEST_SKIP() << c.command;
  std::string path = std::string(testing::TempDir()) + "/alone." + c.extension;
  // Twice: the guard must hold. The declaration is there because ISO C wants a translation unit to have one.
  std::ofstream(path) << "#include \"heddle/" << std::get<0>(GetParam()) << "\"\n#include \"heddle/"
                      << std::get<0>(GetParam()) << "\"\nextern int heddle_header_is_alone;\n";
  auto [status, out] =
      Shell(std::string(c.command) + " -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude " + path);
  EXPECT_EQ(status, 0) << out;
}

INSTANTIATE_TEST_SUITE_P(Include, Header, testing::Combine(testing::ValuesIn(Headers()), testing::Range(0, 4)),
                         [](auto &info) {
                           std::string name = std::get<0>(info.param).substr(0, std::get<0>(info.param).size() - 2);
                           return name + compilers[std::get<1>(info.param)].name;
                         });

TEST(Headers, AreFound) { EXPECT_GE(Headers().size(), 10u); }

TEST(Headers, AreAllInHeddleH) {
  std::ifstream f("include/heddle/heddle.h");
  std::string all((std::istreambuf_iterator<char>(f)), {});
  for (auto &h : Headers()) {
    if (h == "heddle.h" || h == "abi.h") continue;
    // These stand on top of the rest.
    if (h == "algorithms.h" || h == "geometry.h" || h == "sim.h" || h == "sparse.h" || h == "texture.h") continue;
    EXPECT_NE(all.find("\"heddle/" + h + "\""), std::string::npos) << h;
  }
}

std::set<std::string> Declared() {
  std::set<std::string> names;
  std::regex function(R"(HD_API[^;{]*?\b(hd_\w+)\s*\()");
  for (auto &h : Headers()) {
    std::ifstream f("include/heddle/" + h);
    std::string text((std::istreambuf_iterator<char>(f)), {});
    for (std::sregex_iterator i(text.begin(), text.end(), function), end; i != end; ++i) names.insert((*i)[1]);
  }
  return names;
}

TEST(SharedLibrary, ExportsWhatTheHeadersDeclareAndNothingElse) {
  std::set<std::string> exported, declared = Declared();
  auto [status, out] = Shell("nm -D --defined-only --format=posix libheddle.so");
  ASSERT_EQ(status, 0) << out;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) exported.insert(line.substr(0, line.find(' ')));
  ASSERT_GT(declared.size(), 40u);
  for (auto &name : declared) EXPECT_TRUE(exported.count(name)) << name << " is declared but not exported";
  for (auto &name : exported) EXPECT_TRUE(declared.count(name)) << name << " is exported but not declared";
}

TEST(SharedLibrary, DoesNotNeedLlvm) {
  auto [status, out] = Shell("readelf -d libheddle.so");
  ASSERT_EQ(status, 0) << out;
  EXPECT_NE(out.find("libheddle.so.0"), std::string::npos) << "the soname";
  EXPECT_EQ(out.find("LLVM"), std::string::npos) << out;
}

} // namespace
