// tests/fakecuda/ptxrun_test.cc -- the tool that runs one kernel of a file.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

std::string Shell(const std::string &arguments) {
  std::string out;
  FILE *f = popen(("tests/fakecuda/ptxrun " + arguments + " 2>&1").c_str(), "r");
  char part[256];
  while (f && fgets(part, sizeof part, f)) out += part;
  if (f) pclose(f);
  return out;
}

TEST(Ptxrun, PrintsWhatAKernelLeaves) {
  std::string out = Shell("tests/fakecuda/data/reduce.ptx --grid=2 --block=64 'f32[128]=iota' 'f32[2]' 128");
  EXPECT_NE(out.find("f32[2] 2016 6112\n"), std::string::npos) << out;
}

TEST(Ptxrun, ReadsArraysFromFiles) {
  const std::string path = testing::TempDir() + "in.raw";
  const float v[4] = {1, 2, 3, 4.5f};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(v), sizeof v);
  std::string out = Shell("tests/fakecuda/data/reduce.ptx --block=32 'f32[4]=@" + path + "' 'f32[1]' 4");
  EXPECT_NE(out.find("f32[1] 10.5\n"), std::string::npos) << out;
  out = Shell("tests/fakecuda/data/reduce.ptx --block=32 'f32[5]=@" + path + "' 'f32[1]' 5");
  EXPECT_NE(out.find("too short"), std::string::npos) << out;
}

TEST(Ptxrun, SaysWhatWentWrong) {
  std::string out = Shell("tests/fakecuda/data/reduce.ptx --block=32 'f32[4]' 'f32[1]' 40");
  EXPECT_NE(out.find("behind the end"), std::string::npos) << out;
}

} // namespace
