// tests/fuzz/corpus_main.cc -- runs a fuzzer's entry point without libFuzzer: over the files of the folders given as arguments,
// and over some thousands of seeded mutations of them (--mutations=N). An input that breaks a promise ends the program; its text was
// printed before.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

#include "fuzz_entry.h"

namespace {

namespace fs = std::filesystem;

constexpr int kSlow = 20; // seconds of the processor for one input of a few kilobytes, sanitizers included
constexpr rlim_t kMemory = rlim_t{2} << 30;

int mutations = 3000;
std::vector<std::string> folders;
std::string at_hand; // for the handler: what was run when the program died

void Died(int signal) {
  const char head[] = "\nthe input was:\n";
  if (write(2, head, sizeof head - 1) < 0 || write(2, at_hand.data(), at_hand.size()) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

std::vector<std::string> Seeds() {
  std::vector<fs::path> files;
  for (const auto &folder : folders)
    for (const auto &f : fs::recursive_directory_iterator(folder))
      if (f.is_regular_file()) files.push_back(f.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto &path : files) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    seeds.push_back(text.str().substr(0, text.str().find("---- expect\n")));
  }
  return seeds;
}

void TakeInput(const std::string &input) {
  at_hand = input;
  itimerval limit = {};
  limit.it_value.tv_sec = kSlow;
  setitimer(ITIMER_PROF, &limit, nullptr);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(input.data()), input.size());
}

// No input of this size may want much memory; a sanitizer itself does.
void LimitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit = {kMemory, kMemory};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

// --- mutations ---

using Random = std::mt19937_64;

size_t Below(Random &r, size_t n) { return n ? r() % n : 0; }

// A run of letters and digits, or one other byte, near a random place.
std::string Word(Random &r, const std::string &s) {
  if (s.empty()) return "x";
  size_t at = Below(r, s.size()), end = at + 1;
  while (at > 0 && isalnum(static_cast<unsigned char>(s[at])) && isalnum(static_cast<unsigned char>(s[at - 1]))) at--;
  while (end < s.size() && isalnum(static_cast<unsigned char>(s[end - 1])) &&
         isalnum(static_cast<unsigned char>(s[end])))
    end++;
  return s.substr(at, end - at);
}

void ReplaceWord(Random &r, std::string *s, const std::string &by) {
  std::string word = Word(r, *s);
  size_t at = s->find(word, Below(r, s->size()));
  if (at != std::string::npos) s->replace(at, word.size(), by);
}

const char *const kExtremes[] = {"0",
                                 "-1",
                                 "1",
                                 "64",
                                 "65",
                                 "65536",
                                 "2147483647",
                                 "4294967296",
                                 "9223372036854775807",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "1e400",
                                 "0x7fc00000f32",
                                 "1e-400"};

std::string Line(Random &r, const std::string &s) {
  size_t at = Below(r, s.size() + 1), start = at ? s.rfind('\n', at - 1) : std::string::npos;
  start = start == std::string::npos ? 0 : start + 1;
  return s.substr(start, s.find('\n', at) - start + 1);
}

void Mutate(Random &r, std::string *s, const std::string &other) {
  size_t at = Below(r, s->size() + 1), n = Below(r, 40);
  switch (Below(r, 9)) {
  case 0: s->insert(at, 1, static_cast<char>(r())); break;
  case 1: s->erase(at, 1 + Below(r, 8)); break;
  case 2: s->erase(at, n); break;
  case 3: s->insert(at, s->substr(Below(r, s->size() + 1), n)); break;
  case 4: s->insert(at, " " + Word(r, other) + " "); break;
  case 5: ReplaceWord(r, s, Word(r, *s)); break;
  case 6: ReplaceWord(r, s, Word(r, other)); break;
  case 7: ReplaceWord(r, s, kExtremes[Below(r, std::size(kExtremes))]); break;
  default: s->insert(at, Line(r, other)); break;
  }
}

TEST(Corpus, EachSeedKeepsThePromises) {
  std::vector<std::string> seeds = Seeds();
  ASSERT_GE(seeds.size(), 40u);
  for (const std::string &s : seeds) TakeInput(s);
}

TEST(Corpus, MutationsKeepThePromises) {
  std::vector<std::string> seeds = Seeds();
  ASSERT_FALSE(seeds.empty());
  for (int k = 0; k < mutations; k++) {
    Random r(static_cast<uint64_t>(k));
    std::string s = seeds[Below(r, seeds.size())];
    for (size_t i = 0, n = 1 + Below(r, 4); i < n; i++) Mutate(r, &s, seeds[Below(r, seeds.size())]);
    TakeInput(s);
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int k = 1; k < argc; k++) {
    if (strncmp(argv[k], "--mutations=", 12) == 0)
      mutations = atoi(argv[k] + 12);
    else
      folders.push_back(argv[k]);
  }
  for (int s : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGPROF}) std::signal(s, Died);
  LimitMemory();
  return RUN_ALL_TESTS();
}
