// tests/passes/golden_test.cc -- IR in, IR out, for every file of tests/golden/<pass>/.
//
// A file is "# pass: NAMES", a module, a line "---- expect" and the whole module after those passes. Run with
// HEDDLE_ACCEPT=1 in the environment, from the tree, to write what comes out into the files; `./dev accept` does that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "passes/passes.h"

namespace {

namespace fs = std::filesystem;

constexpr char kRoot[] = "tests/golden";
constexpr char kMark[] = "---- expect\n";

struct Golden {
  std::string passes, input, expect;
};

std::string Read(const fs::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Split(const std::string &text, Golden *g) {
  const std::string head = "# pass: ";
  size_t end = text.find('\n'), mark = text.find(kMark);
  if (text.compare(0, head.size(), head) != 0 || end == std::string::npos) return false;
  g->passes = text.substr(head.size(), end - head.size());
  g->input = text.substr(0, mark);
  g->expect = mark == std::string::npos ? "" : text.substr(mark + sizeof kMark - 1);
  return true;
}

// The module after the passes, or the error.
std::string After(const Golden &g, const std::string &name) {
  Arena a;
  jmp_buf jb;
  HdError err = {};
  std::string out;
  hdb_arena_init(&a, &hdb_system_allocator);
  HDB_GUARD(&a, jb) {
    IrModule *m = nullptr;
    OptContext cx = {};
    cx.err = &err;
    cx.verify = true;
    cx.units = UINT32_MAX; // a fast kernel has them all
    HdStatus s = hdir_parse(&a, name.c_str(), g.input.data(), g.input.size(), &err, &m);
    if (s == HD_OK) s = hdir_verify(m, &err);
    if (s == HD_OK) s = hdopt_run(m, g.passes.c_str(), &cx);
    if (s == HD_OK) {
      Buf b;
      hdb_buf_init(&b, &a);
      hdir_print_module(&b, m, nullptr);
      out = b.data ? b.data : "";
    } else {
      out = std::string("error: ") + err.detail + "\n";
    }
  }
  hdb_arena_free(&a);
  return out;
}

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const OptPass *p = hdopt_passes; p->name; p++) {
    fs::path dir = fs::path(kRoot) / p->name;
    if (!fs::exists(dir)) continue;
    for (const auto &f : fs::directory_iterator(dir))
      if (f.path().extension() == ".hdir") files.push_back(f.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class GoldenFile : public testing::TestWithParam<fs::path> {};

TEST_P(GoldenFile, IsWhatThePassMakes) {
  const std::string text = Read(GetParam());
  Golden g;
  ASSERT_TRUE(Split(text, &g)) << GetParam() << " does not begin with '# pass: NAMES'";
  const std::string got = After(g, GetParam().filename().string());
  if (getenv("HEDDLE_ACCEPT") && got != g.expect) {
    std::ofstream(fs::canonical(GetParam())) << g.input << kMark << got; // through the runfiles link, into the tree
    return;
  }
  EXPECT_EQ(got, g.expect) << GetParam();
}

std::string NameOf(const testing::TestParamInfo<fs::path> &info) {
  return info.param.parent_path().filename().string() + "_" + info.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Passes, GoldenFile, testing::ValuesIn(Files()), NameOf);

TEST(GoldenFiles, EveryPassHasSome) {
  std::map<std::string, int> n;
  for (const fs::path &f : Files()) n[f.parent_path().filename().string()]++;
  for (const OptPass *p = hdopt_passes; p->name; p++) EXPECT_GE(n[p->name], 6) << p->name;
}

} // namespace
