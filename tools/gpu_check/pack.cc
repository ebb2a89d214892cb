// tools/gpu_check/pack.cc -- the file of compiled kernels, and the report.
#include <time.h>

#include <cstring>

#include "gpu_check.h"

namespace gpu_check {

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string KeyOf(const std::string &file, const std::string &kernel, const gpu::Way &way) {
  return file + "/" + kernel + " " + gpu::Name(way);
}

const std::string *Pack::Find(const std::string &name) const {
  auto it = all_.find(name);
  return it == all_.end() ? nullptr : &it->second;
}

static constexpr char kMagic[] = "heddle gpu_check 1\n";

static void PutText(FILE *f, const std::string &text) {
  uint64_t n = text.size();
  fwrite(&n, sizeof n, 1, f);
  fwrite(text.data(), 1, text.size(), f);
}

static bool GetText(FILE *f, std::string *out) {
  uint64_t n = 0;
  if (fread(&n, sizeof n, 1, f) != 1 || n > (64u << 20)) return false;
  out->resize(n);
  return n == 0 || fread(&(*out)[0], 1, n, f) == n;
}

std::string Pack::Write(const std::string &path) const {
  FILE *f = fopen(path.c_str(), "wb");
  if (!f) return "cannot write " + path;
  fputs(kMagic, f);
  for (const auto &[name, bytes] : all_) {
    PutText(f, name);
    PutText(f, bytes);
  }
  bool bad = ferror(f) != 0;
  return fclose(f) != 0 || bad ? "cannot write all of " + path : "";
}

std::string Pack::Read(const std::string &path) {
  FILE *f = fopen(path.c_str(), "rb");
  if (!f) return "cannot read " + path;
  char magic[sizeof kMagic] = "";
  std::string name, bytes, problem;
  if (!fgets(magic, sizeof magic, f) || strcmp(magic, kMagic) != 0) problem = path + " is of another version";
  while (problem.empty() && GetText(f, &name)) {
    if (!GetText(f, &bytes))
      problem = path + " is cut short";
    else
      all_[name] = bytes;
  }
  fclose(f);
  return problem;
}

void Report::Say(const char *format, ...) {
  va_list list;
  for (FILE *f : {stdout, file_}) {
    va_start(list, format);
    vfprintf(f, format, list);
    va_end(list);
    fflush(f);
  }
}

void Report::Check(const std::string &what, const std::string &problem) {
  (problem.empty() ? passed : failed)++;
  if (problem.empty())
    Say("ok     %s\n", what.c_str());
  else
    Say("FAILED %s: %s\n", what.c_str(), problem.c_str());
}

} // namespace gpu_check
