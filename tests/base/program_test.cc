// tests/base/program_test.cc -- running another program.
#include "base/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

int Shell(const char *script, char *said, size_t size) {
  char shell[] = "/bin/sh", flag[] = "-c";
  std::string text = script;
  char *argv[] = {shell, flag, text.data(), nullptr};
  return hdb_program_run(argv, said, size);
}

TEST(Program, GivesItsStatusAndWhatItPrintsOnEitherStream) {
  char said[64];
  EXPECT_EQ(Shell("echo out; echo err >&2; exit 3", said, sizeof said), 3);
  EXPECT_STREQ(said, "out\nerr\n");
}

TEST(Program, ThatPrintsMoreThanThereIsRoomForIsNotHeldUp) {
  char said[8];
  EXPECT_EQ(Shell("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done", said, sizeof said), 0);
  EXPECT_STREQ(said, "0123456");
}

TEST(Program, ThatASignalEndsOrThatIsNotThereHasNoStatus) {
  char said[8], none[] = "/no/such/program";
  EXPECT_EQ(Shell("kill -9 $$", said, sizeof said), -1);
  char *argv[] = {none, nullptr};
  EXPECT_EQ(hdb_program_run(argv, said, sizeof said), -1);
  EXPECT_STREQ(said, "");
}

TEST(Program, IsFoundInTheFirstFolderThatHasItAsAFileToRun) {
  std::string top = testing::TempDir() + "/program", a = top + "/a", b = top + "/b";
  for (const std::string &d : {top, a, b, a + "/tool"}) mkdir(d.c_str(), 0777); // a/tool is a folder
  std::ofstream(b + "/tool") << "#!/bin/sh\n";
  std::string folders = a + "::" + b;
  char path[512];
  EXPECT_FALSE(hdb_program_find("tool", folders.c_str(), path, sizeof path)) << "it may not be run";
  EXPECT_STREQ(path, "");
  chmod((b + "/tool").c_str(), 0755);
  EXPECT_TRUE(hdb_program_find("tool", folders.c_str(), path, sizeof path));
  EXPECT_EQ(path, b + "/tool");
  EXPECT_FALSE(hdb_program_find("tool", folders.c_str(), path, 4)) << "no room for its name";
  EXPECT_FALSE(hdb_program_find("tool", nullptr, path, sizeof path));
  EXPECT_TRUE(hdb_program_find((b + "/tool").c_str(), nullptr, path, sizeof path));
}

TEST(Program, IsGivenFilesThatHoldTheData) {
  char path[512];
  HdError err = {};
  ASSERT_EQ(hdb_program_file("abc", 3, path, sizeof path, &err), HD_OK) << err.detail;
  std::ifstream f(path);
  std::string got((std::istreambuf_iterator<char>(f)), {});
  EXPECT_EQ(got, "abc");
  EXPECT_EQ(unlink(path), 0);
  const char *tmp = getenv("TMPDIR");
  std::string keep = tmp ? tmp : "";
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_EQ(hdb_program_file("abc", 3, path, sizeof path, &err), HD_ERR_IO);
  EXPECT_NE(std::string(err.detail).find("/no/such/folder/heddle-"), std::string::npos) << err.detail;
  tmp ? setenv("TMPDIR", keep.c_str(), 1) : unsetenv("TMPDIR");
}

} // namespace
