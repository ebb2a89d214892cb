// tests/gpu/entry_points_test.cc -- the forms of the driver's functions that are asked for, against the toolkit's own list of them,
// where there is a toolkit: a real driver knows no form by another version, and says no more than that there is none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace {

TEST(EntryPoints, AreAskedForByVersionsThatExist) {
  const char *home = getenv("CUDA_HOME");
  std::ifstream file(std::string(home ? home : "/usr/local/cuda") + "/include/cudaTypedefs.h");
  if (!file) { GTEST_SKIP() << "there is no toolkit"; }
  std::stringstream text;
  text << file.rdbuf();
  int rows = 0;
#define CU_ENTRY(name, version, symbol, need, params)                                                                  \
  rows++;                                                                                                              \
  EXPECT_NE(text.str().find("PFN_" #name "_v" #version ")"), std::string::npos) << #name << " of " << version;
#include "runtime/cuda/entry_points.def"
  EXPECT_GT(rows, 40);
}

} // namespace
