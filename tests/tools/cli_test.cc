// Golden sessions of the heddle tool: tests/golden/cli/*.txt. A line "$ command" is run by sh in a fresh folder that holds the
// .hd and .ir files found beside the sessions; what it prints, both streams, and its exit status if that is not 0, are
// compared as a whole. Lines that begin with "; " are remarks. HEDDLE_ACCEPT=1 rewrites the sessions.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

const char folder[] = "tests/golden/cli";

std::vector<std::string> Files(const std::string &ending) {
  std::vector<std::string> names;
  if (DIR *d = opendir(folder)) {
    while (dirent *e = readdir(d)) {
      std::string n = e->d_name;
      if (n.size() > ending.size() && n.substr(n.size() - ending.size()) == ending) names.push_back(n);
    }
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Slurp(const std::string &path) {
  std::ifstream f(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(f)), {});
}

std::string Cwd() {
  char buffer[4096];
  return getcwd(buffer, sizeof buffer) ? buffer : ".";
}

class Session : public testing::TestWithParam<std::string> {};

TEST_P(Session, PrintsWhatIsExpected) {
#ifdef __SANITIZE_THREAD__
  if (GetParam() == "inputs.txt") GTEST_SKIP() << "ThreadSanitizer does not run under a limit on the size of files";
#endif
  std::string path = std::string(folder) + "/" + GetParam(), top = Cwd(), want = Slurp(path), got;
  std::string room = std::string(testing::TempDir()) + "/" + GetParam() + ".d";
  ASSERT_EQ(mkdir(room.c_str(), 0777), 0) << room;
  for (const char *ending : {".hd", ".ir"})
    for (auto &n : Files(ending))
      std::ofstream(room + "/" + n, std::ios::binary) << Slurp(std::string(folder) + "/" + n);
  std::istringstream lines(want);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("; ", 0) == 0) got += line + "\n"; // a remark
    if (line.rfind("$ ", 0) != 0) continue;
    std::string script = "cd '" + room + "' && PATH='" + top + "/tools/heddle':$PATH HOME='" + room +
                         "' HEDDLE_CACHE='" + room + "/cache' HEDDLE_LIBCUDA=/no/driver GPU='" + top +
                         "/tests/fakecuda/libfakecuda.so' && export PATH HOME HEDDLE_CACHE HEDDLE_LIBCUDA GPU && { " +
                         line.substr(2) + "\n} 2>&1 </dev/null";
    got += line + "\n";
    FILE *p = popen(script.c_str(), "r");
    ASSERT_NE(p, nullptr);
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) got.append(buffer, n);
    if (got.back() != '\n') got += '\n';
    int status = pclose(p);
    if (status != 0) got += WIFEXITED(status) ? "[exit " + std::to_string(WEXITSTATUS(status)) + "]\n" : "[signal]\n";
  }
  if (getenv("HEDDLE_ACCEPT")) {
    std::ofstream(path, std::ios::binary) << got;
    return;
  }
  EXPECT_EQ(got, want);
}

INSTANTIATE_TEST_SUITE_P(Cli, Session, testing::ValuesIn(Files(".txt")), [](auto &info) {
  std::string name = info.param.substr(0, info.param.size() - 4);
  for (char &c : name)
    if (!isalnum((unsigned char)c)) c = '_';
  return name;
});

TEST(Cli, HasSessions) { EXPECT_GE(Files(".txt").size(), 5u); }

} // namespace
