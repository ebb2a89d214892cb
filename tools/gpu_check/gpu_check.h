// tools/gpu_check/gpu_check.h -- trying a real GPU: kernels that were compiled elsewhere, against the interpreter here.
//
// `make` runs where LLVM is, and writes PTX of every kernel of tests/diff for several targets into one file. `run` needs that file
// and the kernels' text, a driver, and nothing else: no LLVM, no toolkit, no tree.
#ifndef GPU_CHECK_H
#define GPU_CHECK_H

#include <cstdarg>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/artifact.h"

namespace gpu_check {

double Now(); // seconds

// Compiled kernels by name: "file/kernel sm_90 dense -O2 blocks of 128".
class Pack {
public:
  void               Add(const std::string &name, const std::string &bytes) { all_[name] = bytes; }
  const std::string *Find(const std::string &name) const;
  std::string        Write(const std::string &path) const; // "" or what is wrong
  std::string        Read(const std::string &path);
  size_t             Count() const { return all_.size(); }

private:
  std::map<std::string, std::string> all_;
};

std::string KeyOf(const std::string &file, const std::string &kernel, const gpu::Way &way);

// What is said, on the terminal and in the file.
class Report {
public:
  explicit Report(const std::string &path) : file_(fopen(path.c_str(), "w")) {}
  ~Report() {
    if (file_) fclose(file_);
  }
  Report(const Report &) = delete;
  bool Ok() const { return file_ != nullptr; }
  void Say(const char *format, ...) __attribute__((format(printf, 2, 3)));
  // One check: "" is a pass.
  void Check(const std::string &what, const std::string &problem);
  int  passed = 0, failed = 0;

private:
  FILE *file_;
};

struct Options {
  std::vector<int> targets = {70, 80, 90, 100, 120};
  std::vector<std::string> only;  // files whose name contains one of these; empty: all
  double           seconds = 200; // after which no more kernels are begun
};

// Threads of a block in the pack.
constexpr int kBlock = 128;

// kernels.cc
std::string Make(const Options &options, Pack *out);                   // "" or what is wrong
void        RunKernels(const Options &options, const Pack &pack, Report *report);

// checks.cc: copies, streams, events, graphs, memory, faults, refusals
void RunChecks(const Options &options, const Pack &pack, Report *report);

// timings.cc: a table; it judges nothing
void RunTimings(const Options &options, const Pack &pack, Report *report);

} // namespace gpu_check

#endif
