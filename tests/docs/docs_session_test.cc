// The pages that are sessions, the tour among them: a page's files are written into a fresh folder, and its sh blocks are run there in order against an
// installed tree. In the answer to a command a line "..." stands for any lines.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "page.h"

namespace {

std::pair<int, std::string> Shell(const std::string &command) {
  std::string out;
  FILE *p = popen(("{ " + command + "\n} 2>&1 </dev/null").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) out.append(buffer, n);
  return {pclose(p), out};
}

// Does `got` fit `want`, in which a line "..." stands for any number of lines?
bool Fits(const std::string &got, const std::string &want) {
  size_t at = 0, from = 0;
  bool open = false; // a "..." came before this part
  while (true) {
    size_t dots = want.find("...\n", from);
    while (dots != std::string::npos && dots > 0 && want[dots - 1] != '\n') dots = want.find("...\n", dots + 1);
    std::string part = want.substr(from, dots == std::string::npos ? dots : dots - from);
    if (dots == std::string::npos)
      return open ? got.size() >= at + part.size() && got.compare(got.size() - part.size(), part.size(), part) == 0
                  : got.substr(at) == part;
    size_t found = open ? got.find(part, at) : got.compare(at, part.size(), part) == 0 ? at : std::string::npos;
    if (found == std::string::npos) return false;
    at = found + part.size();
    from = dots + 4;
    open = true;
  }
}

TEST(Fits, KnowsDots) {
  EXPECT_TRUE(Fits("a\nb\n", "a\nb\n"));
  EXPECT_TRUE(Fits("a\nb\nc\n", "a\n...\nc\n"));
  EXPECT_TRUE(Fits("a\nc\n", "a\n...\nc\n"));
  EXPECT_TRUE(Fits("a\nb\nc\nd\ne\n", "a\n...\nc\n...\n"));
  EXPECT_FALSE(Fits("a\nb\nc\n", "a\nc\n"));
  EXPECT_FALSE(Fits("a\nb\nd\n", "a\n...\nc\n"));
  EXPECT_FALSE(Fits("a\n", ""));
}

// "heat.hd" of ```hd heat.hd
std::string FileOf(const Block &b) {
  for (const std::string &w : b.words)
    if (w.find('.') != std::string::npos && w.find('=') == std::string::npos) return w;
  return "";
}

struct Room {
  explicit Room(const std::string &name) {
    char buffer[4096];
    top = getcwd(buffer, sizeof buffer);
    folder = testing::TempDir() + "/" + name;
    prefix = folder + "/prefix";
    EXPECT_EQ(mkdir(folder.c_str(), 0777), 0) << folder;
    auto [status, said] = Shell("tools/build/install.sh '" + prefix + "'");
    EXPECT_EQ(status, 0) << said;
  }
  std::string Run(const std::string &command) const {
    auto [status, out] = Shell("cd '" + folder + "' && PATH='" + prefix + "/bin':$PATH HEDDLE_CACHE='" + folder +
                               "/cache' PKG_CONFIG_PATH='" + prefix + "/lib/pkgconfig' LD_LIBRARY_PATH='" + prefix +
                               "/lib' && export PATH HEDDLE_CACHE PKG_CONFIG_PATH LD_LIBRARY_PATH && " + command);
    if (!out.empty() && out.back() != '\n') out += '\n';
    if (status != 0) out += "[exit " + std::to_string(WEXITSTATUS(status)) + "]\n";
    return out;
  }
  std::string top, folder, prefix;
};

void RunBlock(const Room &room, const Block &b) {
  std::istringstream lines(b.text);
  std::string command, want;
  auto check = [&] {
    if (command.empty()) return;
    std::string got = room.Run(command);
    EXPECT_TRUE(Fits(got, want)) << b.page << ":" << b.line << "\n$ " << command << "\n"
                                 << got << "instead of\n"
                                 << want;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("$ ", 0) == 0) {
      check();
      command = line.substr(2);
      want = "";
    } else {
      want += line + "\n";
    }
  }
  check();
}

// How many commands the page has.
int RunPage(const std::string &name) {
  Room room(name);
  int commands = 0;
  for (const Block &b : Blocks("docs/" + name + ".md")) {
    if (!FileOf(b).empty()) std::ofstream(room.folder + "/" + FileOf(b)) << b.text;
    if (b.kind != "sh") continue;
    RunBlock(room, b);
    commands++;
  }
  return commands;
}

TEST(Tour, AnswersAsItSays) { EXPECT_GE(RunPage("tour"), 5); }

TEST(Algorithms, AnswerAsThePageSays) { EXPECT_EQ(RunPage("algorithms"), 1); }

} // namespace
