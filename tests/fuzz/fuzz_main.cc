// tests/fuzz/fuzz_main.cc -- random programs without end: ./dev fuzz [--seed=N] [--count=N] [--out=DIR] [FILE.ir ..]
//
// Each program is checked as tests/diff does it. A failure prints its seed, is shrunk, and is written to DIR. Files are
// checked instead of random programs if they are given, and shrunk too if --shrink is.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "backends/llvm/llvm_door.h"
#include "gen.h"
#include "shrink.h"

namespace {

struct Options {
  uint64_t seed = 1, count = UINT64_MAX;
  std::string out = ".";
  bool print = false, keep = false;
  int shrink_seconds = -1; // 120 for random programs, none for files
  std::string passes;      // instead of "cpu"
  int ways = 1;            // to compile each program
  bool all = false;
  std::vector<std::string> files;
};

bool ReadOption(const char *arg, const char *name, const char **value) {
  size_t n = strlen(name);
  if (strncmp(arg, name, n) != 0 || arg[n] != '=') return false;
  *value = arg + n + 1;
  return true;
}

bool ReadOptions(int argc, char **argv, Options *o) {
  for (int k = 1; k < argc; k++) {
    const char *v;
    if (ReadOption(argv[k], "--seed", &v))
      o->seed = strtoull(v, nullptr, 0);
    else if (ReadOption(argv[k], "--count", &v))
      o->count = strtoull(v, nullptr, 0);
    else if (ReadOption(argv[k], "--out", &v))
      o->out = v;
    else if (ReadOption(argv[k], "--shrink", &v))
      o->shrink_seconds = atoi(v);
    else if (ReadOption(argv[k], "--passes", &v))
      o->passes = v, o->ways = 0;
    else if (ReadOption(argv[k], "--ways", &v))
      o->ways = atoi(v);
    else if (!strcmp(argv[k], "--all"))
      o->all = true;
    else if (!strcmp(argv[k], "--print"))
      o->print = true;
    else if (!strcmp(argv[k], "--keep-going"))
      o->keep = true;
    else if (argv[k][0] != '-')
      o->files.push_back(argv[k]);
    else
      return false;
  }
  return true;
}

diff::Verdict Judged(const Options &o, const diff::Case &c) {
  diff::CheckOptions check = o.all ? diff::AllOptions() : diff::RandomOptions(c.seed, o.ways);
  if (!o.passes.empty()) check.pipelines = {o.passes};
  return diff::Check(c, check);
}

int CheckFile(const Options &o, const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::unique_ptr<diff::Copy> copy;
  diff::Case c;
  std::string problem = file ? fuzz::LoadCase(text.str(), &copy, &c) : "cannot be read";
  diff::Verdict v = {true, problem};
  fuzz::Judge judge = [&](const diff::Case &x) { return Judged(o, x); };
  if (problem.empty()) v = fuzz::JudgeApart(c, judge, 60);
  printf("%s: %s%s\n", path.c_str(), v.valid ? "" : "not valid: ", v.failure.empty() ? "agrees" : v.failure.c_str());
  if (v.valid && !v.failure.empty() && problem.empty() && o.shrink_seconds > 0)
    printf("%s", fuzz::Shrink(c, judge, o.shrink_seconds).c_str());
  return v.failure.empty() ? 0 : 1;
}

void WriteFailure(const Options &o, uint64_t seed, const diff::Case &c, const fuzz::Judge &judge) {
  std::string path = o.out + "/seed_" + std::to_string(seed) + ".ir",
              text = fuzz::Shrink(c, judge, o.shrink_seconds < 0 ? 120 : o.shrink_seconds);
  std::ofstream file(path);
  file << text;
  printf("%s\nwritten to %s\n", text.c_str(), path.c_str());
}

int Random(const Options &o) {
  fuzz::Judge judge = [&](const diff::Case &c) { return Judged(o, c); };
  int failed = 0;
  for (uint64_t k = 0; k < o.count; k++) {
    auto p = fuzz::Generate(o.seed + k);
    if (o.print) printf("%s%s", diff::Describe(p->c, "#").c_str(), diff::Text(p->c.module).c_str());
    diff::Verdict v = fuzz::JudgeApart(p->c, judge, 60);
    if (!v.failure.empty()) {
      printf("seed %llu: %s%s\n", (unsigned long long)(o.seed + k),
             v.valid ? "" : "the program is not valid: ", v.failure.c_str());
      if (v.valid) WriteFailure(o, o.seed + k, p->c, judge);
      failed++;
      if (!o.keep) return 1;
    }
    if (k % 100 == 99) fprintf(stderr, "\r%llu programs, %d failed", (unsigned long long)(k + 1), failed);
  }
  fprintf(stderr, "\n");
  return failed != 0;
}

} // namespace

int main(int argc, char **argv) {
  Options o;
  if (!ReadOptions(argc, argv, &o)) {
    fprintf(stderr, "fuzz [--seed=N] [--count=N] [--out=DIR] [--shrink=SECONDS] [--passes=A,B] [--ways=N] [--all]\n"
                    "     [--print] [--keep-going] [FILE.ir ..]\n");
    return 2;
  }
  HdError err = {};
  if ((o.ways || o.all) && hdllvm_open(&err) != HD_OK) return fprintf(stderr, "fuzz: %s\n", err.detail), 1;
  if (o.files.empty()) return Random(o);
  int failed = 0;
  for (const std::string &f : o.files) failed |= CheckFile(o, f);
  return failed;
}
