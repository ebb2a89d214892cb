// tests/nvptx/ptx_kernels_test.cc -- the kernels of the tree become PTX, which ptxas takes.
//
// Each file takes two of the targets in turn, and one of those is assembled; with HEDDLE_LONG=1 in the environment all
// nine, and three are assembled.
#include <algorithm>

#include "nvptx_testing.h"
#include "tests/frontend/lang_testing.h"

using namespace nvptx_test;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const char *root : {"algorithms", "geometry", "sim", "bench", "examples", "tests/diff/kernels"}) {
    if (!fs::exists(root)) continue;
    for (const auto &f : fs::recursive_directory_iterator(root))
      if (f.path().extension() == ".hd") files.push_back(f.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "// options: -D N=3", or for const parameters without one, a value that suits any.
std::string OptionsFor(const std::string &text) {
  const std::string head = "// options: ";
  size_t at = text.find(head);
  std::string options =
      at == std::string::npos ? "" : text.substr(at + head.size(), text.find('\n', at) - at - head.size());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t end = line.find(';');
    if (line.rfind("const ", 0) != 0 || line.find('=') != std::string::npos || end == std::string::npos) continue;
    std::string name = line.substr(line.rfind(' ', end) + 1, end - line.rfind(' ', end) - 1);
    if (options.find(name + "=") == std::string::npos) options += " -D " + name + "=4";
  }
  return options;
}

size_t TurnOf(const fs::path &path) {
  std::vector<fs::path> files = Files();
  return (size_t)(std::find(files.begin(), files.end(), path) - files.begin());
}

class InFile : public testing::TestWithParam<fs::path> {};

std::vector<std::string> TargetsFor(size_t turn) {
  std::vector<std::string> all = Targets();
  if (IsLong()) return all;
  return {all[turn % all.size()], all[(turn + 4) % all.size()]};
}

bool IsAssembled(const std::string &target, size_t turn) {
  const std::string three[] = {"sm_75", "sm_90", "sm_120"};
  if (IsLong()) return std::count(three, three + 3, target) > 0;
  return target != "sm_70" && target == TargetsFor(turn)[0] && turn % 4 == 1;
}

TEST_P(InFile, KernelsBecomePtx) {
  const std::string text = ReadFile(GetParam());
  size_t turn = TurnOf(GetParam());
  Compiled compiled(GetParam().string(), text, OptionsFor(text));
  ASSERT_EQ(compiled.status, HD_OK) << compiled.diagnostics;
  for (bool dense : {true, false}) {
    Module m(compiled.ir);
    for (const std::string &target : TargetsFor(turn)) {
      Options o;
      std::string all;
      o.target = target;
      o.ptx.dense = o.ptx.small = dense;
      for (uint32_t k = 0; k < m.m->nfuncs; k++) {
        PtxCode c = m.Compile(m.m->funcs[k], o);
        ASSERT_EQ(m.status, HD_OK) << target << ": " << m.err.detail;
        all += all.empty() ? c.ptx : strchr(strstr(c.ptx, ".address_size"), '\n');
        for (const char *banned : {".ftz", ".approx", "call.uni", " call "})
          EXPECT_EQ(std::string(c.ptx).find(banned), std::string::npos) << banned << "\n" << c.ptx;
      }
      if (!Ptxas().empty() && IsAssembled(target, turn)) { EXPECT_EQ(Assemble(all, target), "") << target; }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tree, InFile, testing::ValuesIn(Files()), [](const testing::TestParamInfo<fs::path> &i) {
  std::string name = i.param.parent_path().string() + "_" + i.param.stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return !isalnum((unsigned char)c); }, '_');
  return name;
});

TEST(Kernels, OfTheTreeAreFound) { EXPECT_GE(Files().size(), 50u); }

} // namespace
