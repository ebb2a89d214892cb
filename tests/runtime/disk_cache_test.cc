// tests/runtime/disk_cache_test.cc -- entries come back whole or not at all.
#include "runtime/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/arena.h"

namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    char name[] = "/tmp/heddle-cache-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all, ignored);
    fs::remove_all(path, ignored);
  }
  std::string path;
};

struct Cache {
  explicit Cache(const std::string &dir, const HdAllocator *mem = &hdb_system_allocator) {
    EXPECT_EQ(hdrt_cache_open(&c, mem, dir.c_str(), &err), HD_OK);
    c.warn = [](void *user, const char *text) { static_cast<Cache *>(user)->warnings.push_back(text); };
    c.user = this;
  }
  ~Cache() { hdrt_cache_close(&c); }
  HdStatus put(const char *fields, const std::string &payload, RtCacheKind kind = RT_CACHE_CODE) {
    return hdrt_cache_put(&c, kind, fields, "saxpy", "znver5 w16", payload.data(), payload.size(), &err);
  }
  // The payload; "-" if there is none.
  std::string get(const char *fields, RtCacheKind kind = RT_CACHE_CODE) {
    bool found = false;
    RtEntryFile f = {};
    EXPECT_EQ(hdrt_cache_get(&c, kind, fields, &err, &found, &f), HD_OK);
    if (!found) return "-";
    std::string r(reinterpret_cast<const char *>(f.payload.at), static_cast<size_t>(f.payload.end - f.payload.at));
    hdrt_entry_free(&c, &f);
    return r;
  }
  RtCache c = {};
  HdError err = {};
  std::vector<std::string> warnings;
};

std::string only_file(const std::string &dir) {
  std::string r;
  for (auto &e : fs::directory_iterator(dir)) {
    EXPECT_TRUE(r.empty()) << "more than one file";
    r = e.path();
  }
  return r;
}

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(DiskCache, GivesBackWhatWasPut) {
  Folder f;
  Cache c(f.path + "/a/b/c");
  EXPECT_EQ(c.get("x=1\n"), "-");
  EXPECT_EQ(c.put("x=1\n", "one"), HD_OK);
  EXPECT_EQ(c.put("x=2\n", std::string(100000, 'z')), HD_OK);
  EXPECT_EQ(c.get("x=1\n"), "one");
  EXPECT_EQ(c.get("x=2\n"), std::string(100000, 'z'));
  EXPECT_EQ(c.get("x=3\n"), "-");
  EXPECT_EQ(c.get("x=1\n", RT_CACHE_SOURCE), "-") << "kinds are apart";
  EXPECT_EQ(c.put("x=1\n", "uno"), HD_OK);
  EXPECT_EQ(c.get("x=1\n"), "uno");
  Cache again(f.path + "/a/b/c");
  EXPECT_EQ(again.get("x=1\n"), "uno");
  struct stat st;
  ASSERT_EQ(stat((f.path + "/a/b/c").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  EXPECT_TRUE(c.warnings.empty());
}

TEST(DiskCache, IsEmptyWithoutAFolder) {
  Cache c("");
  EXPECT_EQ(c.put("x=1\n", "one"), HD_OK);
  EXPECT_EQ(c.get("x=1\n"), "-");
  int64_t n = -1;
  EXPECT_EQ(hdrt_cache_clear(&c.c, &n, &c.err), HD_OK);
  EXPECT_EQ(n, 0);
}

TEST(DiskCache, TakesNoTruncatedFile) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "the payload of it");
  std::string path = only_file(f.path), whole = read_file(path);
  for (size_t n = 0; n < whole.size(); n++) {
    write_file(path, whole.substr(0, n));
    ASSERT_EQ(c.get("x=1\n"), "-") << n << " bytes";
  }
  write_file(path, whole + "x");
  EXPECT_EQ(c.get("x=1\n"), "-") << "a byte too many";
  write_file(path, whole);
  EXPECT_EQ(c.get("x=1\n"), "the payload of it");
}

TEST(DiskCache, TakesNoFlippedBit) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "the payload of it");
  std::string path = only_file(f.path), whole = read_file(path);
  for (size_t i = 0; i < whole.size(); i++) {
    for (int bit = 0; bit < 8; bit++) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      write_file(path, bad);
      ASSERT_EQ(c.get("x=1\n"), "-") << "byte " << i << " bit " << bit;
    }
  }
  EXPECT_EQ(c.put("x=1\n", "again"), HD_OK);
  EXPECT_EQ(c.get("x=1\n"), "again") << "a damaged entry is replaced";
}

TEST(DiskCache, TakesNoFileOfOthers) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "one");
  std::string path = only_file(f.path);
  ASSERT_EQ(chmod(path.c_str(), 0622), 0);
  EXPECT_EQ(c.get("x=1\n"), "-") << "others may write to it";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  fs::rename(path, path + ".real");
  fs::create_symlink(path + ".real", path);
  EXPECT_EQ(c.get("x=1\n"), "-") << "a link may lead anywhere";
}

TEST(DiskCache, TellsEqualHashesApart) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "one");
  std::string one = only_file(f.path);
  c.put("x=2\n", "two");
  std::string two;
  for (auto &e : fs::directory_iterator(f.path))
    if (e.path() != one) two = e.path();
  fs::rename(one, two); // now the file that x=2 asks for holds x=1
  EXPECT_EQ(c.get("x=2\n"), "-");
}

TEST(DiskCache, WarnsOnceWhereItCannotWrite) {
  if (geteuid() == 0) { // root may write anywhere: take a place that is no folder
    Folder f;
    write_file(f.path + "/file", "x");
    Cache c(f.path + "/file/cache");
    EXPECT_EQ(c.put("x=1\n", "one"), HD_OK);
    EXPECT_EQ(c.put("x=2\n", "two"), HD_OK);
    EXPECT_EQ(c.get("x=1\n"), "-");
    ASSERT_EQ(c.warnings.size(), 1u);
    EXPECT_NE(c.warnings[0].find("/file/cache"), std::string::npos) << c.warnings[0];
    return;
  }
  Folder f;
  fs::permissions(f.path, fs::perms::owner_read | fs::perms::owner_exec);
  Cache c(f.path);
  EXPECT_EQ(c.put("x=1\n", "one"), HD_OK);
  EXPECT_EQ(c.put("x=2\n", "two"), HD_OK);
  EXPECT_EQ(c.get("x=1\n"), "-");
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_NE(c.warnings[0].find(f.path), std::string::npos) << c.warnings[0];
}

TEST(DiskCache, LeavesNothingHalfWrittenOnAFullDisk) {
  // A limit on the size of files stands for the full disk: the write stops in the middle.
  Folder f;
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    struct rlimit limit = {1000, 1000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    int bad = 0;
    {
      Cache c(f.path);
      bad |= c.put("x=1\n", std::string(5000, 'a')) != HD_OK;
      bad |= c.warnings.size() != 1;
      bad |= c.get("x=1\n") != "-";
    }
    _exit(bad);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(f.path));
}

TEST(DiskCache, ServesProcessesAtOnce) {
  Folder f;
  std::vector<pid_t> children;
  for (int p = 0; p < 3; p++) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      int bad = 0;
      {
        Cache c(f.path + "/new");
        for (int round = 0; round < 200; round++) {
          std::string fields = "x=" + std::to_string(round % 5) + "\n", want(2000 + 100 * (round % 5), 'a');
          if (round % 3 == p) c.put(fields.c_str(), want);
          std::string got = c.get(fields.c_str());
          if (got != "-" && got != want) bad = 1;
          int64_t removed;
          if (p == 2 && round % 20 == 0) hdrt_cache_clear(&c.c, &removed, &c.err);
        }
      }
      _exit(bad);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (auto &e : fs::directory_iterator(f.path + "/new"))
    EXPECT_EQ(e.path().string().find(".tmp-"), std::string::npos) << e.path();
}

TEST(DiskCache, SurvivesWritersThatAreKilled) {
  // Writers die at any time. What is there is whole, and what they left behind is in no one's way.
  Folder f;
  Cache c(f.path);
  for (int round = 0; round < 20; round++) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      Cache mine(f.path);
      for (int i = 0;; i++) mine.put(("x=" + std::to_string(i % 7) + "\n").c_str(), std::string(200000, 'a' + i % 7));
    }
    usleep(static_cast<useconds_t>(1000 + 700 * round));
    kill(pid, SIGKILL);
    int status;
    waitpid(pid, &status, 0);
    for (int i = 0; i < 7; i++) {
      std::string got = c.get(("x=" + std::to_string(i) + "\n").c_str());
      ASSERT_TRUE(got == "-" || got == std::string(200000, 'a' + i)) << i;
    }
  }
  int64_t whole = 0;
  auto bad = [](void *, const char *file, const char *why) { return ADD_FAILURE() << file << why, true; };
  EXPECT_EQ(hdrt_cache_verify(&c.c, bad, nullptr, &whole, &c.err), HD_OK);
  EXPECT_EQ(c.put("x=0\n", "new"), HD_OK);
  EXPECT_EQ(c.get("x=0\n"), "new");
}

TEST(DiskCache, ServesAFolderThatItMayOnlyRead) {
  if (geteuid() != 0) GTEST_SKIP() << "root only: it becomes another user";
  // root's cache, seen by an ordinary user.
  Folder f;
  {
    Cache c(f.path);
    c.put("x=1\n", "one");
  }
  ASSERT_EQ(chmod(f.path.c_str(), 0755), 0);
  ASSERT_EQ(chmod(only_file(f.path).c_str(), 0644), 0);
  pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    int bad = setgid(65534) != 0 || setuid(65534) != 0;
    {
      Cache c(f.path);
      bad |= c.get("x=1\n") != "one" || !c.warnings.empty();
      bad |= c.put("x=2\n", "two") != HD_OK || c.put("x=3\n", "three") != HD_OK;
      bad |= c.warnings.size() != 1 || c.warnings[0].find("Permission denied") == std::string::npos;
      bad |= c.get("x=2\n") != "-";
    }
    _exit(bad);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

void last_used(const std::string &path, int64_t seconds_ago) {
  struct timespec times[2] = {{time(nullptr) - seconds_ago, 0}, {time(nullptr) - seconds_ago, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// Enough writing for a sweep to come by.
void write_much(Cache *c, const std::string &payload) {
  for (int i = 0; i < 400; i++) c->put(("y=" + std::to_string(i) + "\n").c_str(), payload);
}

TEST(DiskCache, SweepsWhatNobodyUses) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "one");
  std::string old = only_file(f.path), left = old + ".tmp-1-2-3", other = f.path + "/notes.txt";
  write_file(left, "half of it");
  write_file(other, "mine");
  last_used(old, 61 * 24 * 3600);
  last_used(left, 25 * 3600);
  last_used(other, 1000 * 24 * 3600);
  write_much(&c, "y");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(left)) << "what a dead writer left";
  EXPECT_TRUE(fs::exists(other)) << "not ours";
  EXPECT_EQ(c.get("y=399\n"), "y");
}

TEST(DiskCache, KeepsToItsLimit) {
  Folder f;
  Cache c(f.path);
  c.c.limit = 100000;
  c.put("x=1\n", "one");
  std::string rarely = only_file(f.path), other = f.path + "/large.txt";
  c.put("x=2\n", "two");
  write_file(other, std::string(200000, 'm'));
  last_used(rarely, 1000);
  for (int i = 0; i < 500; i++) {
    c.put(("y=" + std::to_string(i) + "\n").c_str(), std::string(1000, 'y'));
    if (i % 10 == 0) { ASSERT_EQ(c.get("x=2\n"), "two") << "what is used stays"; }
  }
  EXPECT_FALSE(fs::exists(rarely)) << "what was used longest ago goes first";
  uint64_t total = 0;
  for (auto &e : fs::directory_iterator(f.path))
    if (e.path() != other) total += e.file_size();
  EXPECT_LT(total, 300000u) << "500 entries of more than 1000 bytes were written";
  EXPECT_GT(total, 50000u);
  EXPECT_TRUE(fs::exists(other)) << "not ours";
}

TEST(DiskCache, TellsWhatIsNotWhole) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "one");
  std::string one = only_file(f.path);
  c.put("x=1\n", "source", RT_CACHE_SOURCE);
  c.put("x=2\n", "two");
  std::string name = f.path + "/hd-0123456789abcdef0123456789abcdef";
  write_file(name + ".code", "rubbish");
  fs::copy_file(one, name + ".source");
  write_file(f.path + "/hd-ff23456789abcdef0123456789abcdef.code.tmp-1-2-3", "being written");
  ASSERT_EQ(chmod(one.c_str(), 0666), 0);
  std::vector<std::string> bad;
  auto note = [](void *user, const char *file, const char *why) {
    static_cast<std::vector<std::string> *>(user)->push_back(std::string(file).substr(3, 4) + " " + why);
    return true;
  };
  int64_t whole = 0;
  ASSERT_EQ(hdrt_cache_verify(&c.c, note, &bad, &whole, &c.err), HD_OK);
  EXPECT_EQ(whole, 2);
  std::sort(bad.begin(), bad.end());
  ASSERT_EQ(bad.size(), 3u);
  EXPECT_EQ(bad[0], "0123 it has the name of another entry");
  EXPECT_EQ(bad[1], "0123 it is damaged: its size or its checksum is wrong");
  EXPECT_NE(bad[2].find("others may write"), std::string::npos) << bad[2];
  auto stop = [](void *user, const char *, const char *) { return ++*static_cast<int *>(user) < 2; };
  int count = 0;
  ASSERT_EQ(hdrt_cache_verify(&c.c, stop, &count, &whole, &c.err), HD_OK);
  EXPECT_EQ(count, 2);
}

TEST(DiskCache, ListsAndClearsItsOwnFilesOnly) {
  Folder f;
  Cache c(f.path);
  c.put("x=1\n", "one");
  c.put("x=2\n", "two");
  c.put("x=1\n", "source", RT_CACHE_SOURCE);
  write_file(f.path + "/notes.txt", "mine");
  write_file(f.path + "/hd-0123456789abcdef0123456789abcdef.code", "rubbish");
  write_file(f.path + "/hd-0123456789abcdef0123456789abcdef.code.tmp-1-2-3", "rubbish");
  write_file(f.path + "/hd-0123.code", "foreign");
  std::vector<std::string> rows;
  auto visit = [](void *user, const RtCacheRow *row) {
    static_cast<std::vector<std::string> *>(user)->push_back(std::string(row->kernel) + "|" + row->target);
    EXPECT_EQ(strlen(row->key), 32u);
    EXPECT_GT(row->used, 1000000000);
    return true;
  };
  ASSERT_EQ(hdrt_cache_list(&c.c, visit, &rows, &c.err), HD_OK);
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"(damaged)|", "saxpy|znver5 w16", "saxpy|znver5 w16"}));
  int count = 0;
  auto stop = [](void *user, const RtCacheRow *) { return ++*static_cast<int *>(user) < 2; };
  ASSERT_EQ(hdrt_cache_list(&c.c, stop, &count, &c.err), HD_OK);
  EXPECT_EQ(count, 2);
  int64_t removed = 0;
  ASSERT_EQ(hdrt_cache_clear(&c.c, &removed, &c.err), HD_OK);
  EXPECT_EQ(removed, 3);
  std::vector<std::string> left;
  for (auto &e : fs::directory_iterator(f.path)) left.push_back(e.path().filename());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"hd-0123.code", "notes.txt"}));
}

TEST(DiskCache, HasNoEntriesWhereItHasNoFolder) {
  Folder f;
  Cache c(f.path + "/none");
  int count = 0;
  auto visit = [](void *user, const RtCacheRow *) { return ++*static_cast<int *>(user) > 0; };
  EXPECT_EQ(hdrt_cache_list(&c.c, visit, &count, &c.err), HD_OK);
  EXPECT_EQ(count, 0);
  EXPECT_FALSE(fs::exists(f.path + "/none")) << "reading makes no folder";
}

TEST(DiskCache, ReportsMemoryThatRanOut) {
  Folder f;
  {
    Cache c(f.path);
    c.put("x=1\n", "one");
  }
  int left = 1;
  HdAllocator few = {[](void *user, void *p, size_t, size_t n) -> void * {
                       if (n == 0) return free(p), nullptr;
                       return (*static_cast<int *>(user))-- > 0 ? realloc(p, n) : nullptr;
                     },
                     &left};
  Cache c(f.path, &few);
  bool found;
  RtEntryFile file;
  EXPECT_EQ(hdrt_cache_get(&c.c, RT_CACHE_CODE, "x=1\n", &c.err, &found, &file), HD_ERR_NOMEM);
  EXPECT_EQ(c.put("x=2\n", "two"), HD_ERR_NOMEM);
}

} // namespace
