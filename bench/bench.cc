// bench/bench.cc -- the figures that Heddle promises and the workloads beside plain C.
//
//     bench [floors|workloads|algorithms|geometry] [--only=NAME] [--threads=N] [--rounds=N] [--width=N] [--target=NAME] [--json=FILE] [--compare=OLD.json]
//
// BENCH_PEERS names the library made of peers.c by clang; without it comparisons are left out. BENCH_FOLDER is this folder
// BENCH_WARM the program made of warm.c, and BENCH_NODRIVER the library made of nodriver.c. `./dev bench` sets them.
#include "bench/bench.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace bench {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double CpuTime() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

void Die(const std::string &why) {
  fprintf(stderr, "bench: %s\n", why.c_str());
  exit(2);
}

Spread Of(std::vector<double> s) {
  std::sort(s.begin(), s.end());
  size_t n = s.size();
  return n ? Spread{s[n / 2], s[n / 4], s[n * 3 / 4], s[0]} : Spread{};
}

std::vector<double> Scaled(const std::vector<double> &samples, double factor) {
  std::vector<double> r;
  for (double x : samples) r.push_back(x * factor);
  return r;
}

std::vector<double> Ratios(const std::vector<double> &over, const std::vector<double> &under) {
  std::vector<double> r;
  for (size_t i = 0; i < over.size(); i++) r.push_back(over[i] / under[i]);
  return r;
}

std::vector<std::vector<double>> Alternate(int rounds, const std::vector<std::function<void()>> &runs,
                                           double (*clock)()) {
  std::vector<std::vector<double>> t(runs.size());
  for (int i = 0; i <= rounds; i++)
    for (size_t n = 0; n < runs.size(); n++) {
      size_t k = (n + i) % runs.size(); // what one leaves in the caches, another finds
      double start = clock();
      runs[k]();
      if (i > 0) t[k].push_back(clock() - start);
    }
  return t;
}

// --- Engine ---

Engine::Engine(int threads, bool fast, const std::string &target, int width, const char *device)
    : fast_(fast), target_(target), width_(width) {
  HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  options.no_cache = true;
  if (hd_context_new(&options, &ctx_) != HD_OK) Die("no context");
  Check(hd_device_find(ctx_, device, &device_));
  Check(hd_stream_new(ctx_, device_, device_.kind == HD_DEVICE_CUDA ? HD_STREAM_ASYNC : HD_STREAM_SYNC, &stream_));
}

Engine::~Engine() {
  for (HdModule *m : modules_) hd_module_free(m);
  hd_stream_free(stream_);
  hd_context_free(ctx_);
}

void Engine::Check(HdStatus status) const {
  if (status == HD_OK) return;
  char line[1024];
  Die(std::string(hd_error_format(hd_context_error(ctx_), line, sizeof line)) + hd_context_diagnostics(ctx_));
}

double Engine::Load(const std::string &path, const std::vector<HdDefine> &defines) {
  HdModuleOptions options = HD_MODULE_OPTIONS_INIT;
  options.ndefines = int32_t(defines.size());
  options.defines = defines.data();
  options.fast = fast_;
  options.width = width_;
  options.target = target_.empty() ? nullptr : target_.c_str();
  double start = Now();
  HdModule *m;
  Check(hd_module_load_file(ctx_, path.c_str(), &options, &m));
  modules_.push_back(m);
  for (int32_t i = 0; i < hd_module_kernel_count(m); i++) {
    const char *name = hd_module_kernel_name(m, i);
    Check(hd_module_kernel(m, name, device_, &kernels_[name]));
  }
  return 1e3 * (Now() - start);
}

HdKernel *Engine::Kernel(const std::string &name) const {
  auto it = kernels_.find(name);
  if (it == kernels_.end()) Die("no kernel '" + name + "' was loaded");
  return it->second;
}

void Engine::Run(const std::string &kernel, std::vector<int64_t> dim, const std::vector<HdArg> &args) const {
  Check(hd_launch(Kernel(kernel), stream_, int32_t(dim.size()), dim.data(), int32_t(args.size()), args.data()));
}

HdArray Engine::Lend(HdType type, std::vector<int64_t> length, void *data) const {
  HdArray a;
  Check(hd_array_borrow(ctx_, device_, type, int32_t(length.size()), length.data(), nullptr, data, &a));
  return a;
}

void *Peer(const char *name) {
  static void *library = [] {
    const char *path = getenv("BENCH_PEERS");
    return path ? dlopen(path, RTLD_NOW) : nullptr;
  }();
  return library ? dlsym(library, name) : nullptr;
}

namespace {

// --- report ---

void PutJson(const std::vector<Figure> &figures, const char *path) {
  FILE *out = fopen(path, "w");
  if (!out) Die(std::string("cannot write ") + path);
  fprintf(out, "[\n");
  for (size_t i = 0; i < figures.size(); i++) {
    const Figure &f = figures[i];
    fprintf(out,
            "  {\"name\": \"%s\", \"unit\": \"%s\", \"more_is_better\": %s, \"median\": %.6g, \"low\": %.6g, \"high\": "
            "%.6g, \"best\": %.6g",
            f.name.c_str(), f.unit.c_str(), f.at_least ? "true" : "false", f.value.median, f.value.low, f.value.high,
            f.value.best);
    if (f.limit != 0) fprintf(out, ", \"limit\": %g, \"met\": %s", f.limit, f.Reaches(f.limit) ? "true" : "false");
    if (f.goal != 0) fprintf(out, ", \"goal\": %g, \"reached\": %s", f.goal, f.Reaches(f.goal) ? "true" : "false");
    fprintf(out, "}%s\n", i + 1 < figures.size() ? "," : "");
  }
  fprintf(out, "]\n");
  if (fclose(out) != 0) Die(std::string("cannot write ") + path);
}

// Rows that are worse than in an older report by more than the spread of both; the report has one row a line.
int Compare(const std::vector<Figure> &figures, const char *path) {
  std::ifstream in(path);
  if (!in) Die(std::string("cannot read ") + path);
  std::map<std::string, Spread> old;
  for (std::string line; std::getline(in, line);) {
    char name[256], *at;
    const char *from = line.c_str();
    Spread s;
    if (sscanf(from, " {\"name\": \"%255[^\"]\"", name) != 1) continue;
    auto number = [&](const char *key) {
      return (at = strstr(const_cast<char *>(from), key)) ? atof(at + strlen(key)) : 0;
    };
    s.median = number("\"median\": "), s.low = number("\"low\": "), s.high = number("\"high\": ");
    old[name] = s;
  }
  int worse = 0;
  for (const Figure &f : figures) {
    auto it = old.find(f.name);
    if (it == old.end()) continue;
    const Spread &o = it->second;
    bool bad = f.at_least ? f.value.high < o.low : f.value.low > o.high;
    if (!bad) continue;
    printf("worse: %s: %.4g [%.4g .. %.4g], was %.4g [%.4g .. %.4g]\n", f.name.c_str(), f.value.median, f.value.low,
           f.value.high, o.median, o.low, o.high);
    worse++;
  }
  if (!worse) printf("nothing is worse than in %s by more than the spread\n", path);
  return worse;
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
  bench::Options options;
  const char *json = nullptr, *old = nullptr, *folder = getenv("BENCH_FOLDER"), *warm = getenv("BENCH_WARM");
  bool floors = true, workloads = true, algorithms = true, geometry = true, bad = false;
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i];
    auto value = [&](const char *key) { return a.compare(0, strlen(key), key) == 0 ? argv[i] + strlen(key) : nullptr; };
    if (const char *v = value("--json="))
      json = v;
    else if (const char *v2 = value("--compare="))
      old = v2;
    else if (const char *v3 = value("--only="))
      options.only = v3;
    else if (const char *v4 = value("--rounds="))
      options.rounds = std::max(3, atoi(v4));
    else if (const char *v5 = value("--threads="))
      options.threads = {std::max(1, atoi(v5))};
    else if (const char *v6 = value("--width="))
      options.width = atoi(v6);
    else if (const char *v7 = value("--target="))
      options.target = v7;
    else if (a == "floors")
      workloads = algorithms = geometry = false;
    else if (a == "workloads")
      floors = algorithms = geometry = false;
    else if (a == "algorithms")
      floors = workloads = geometry = false;
    else if (a == "geometry")
      floors = workloads = algorithms = false;
    else
      bad = true;
  }
  if (bad || !folder || !warm) {
    fprintf(stderr, bad ? "usage: bench [floors|workloads|algorithms|geometry] [--only=NAME] [--threads=N] "
                          "[--rounds=N] [--width=N] "
                          "[--target=NAME] [--json=FILE] [--compare=OLD.json]\n"
                        : "bench: BENCH_FOLDER and BENCH_WARM are not set; ./dev bench does it\n");
    return 2;
  }
  // The workers of OpenMP spin after a loop, on cores that ours then want.
  setenv("KMP_BLOCKTIME", "0", 1);
  options.folder = folder;
  options.warm = warm;
  if (const char *library = getenv("BENCH_NODRIVER")) options.nodriver = library;
  std::vector<bench::Figure> figures;
  if (floors) bench::Floors(options, &figures);
  if (workloads) bench::Workloads(options, &figures);
  if (algorithms) bench::Algorithms(options, &figures);
  if (geometry) bench::GeometryRows(options, &figures);
  int missed = 0;
  for (const bench::Figure &f : figures) missed += !f.Reaches(f.limit);
  if (json) bench::PutJson(figures, json);
  if (old && bench::Compare(figures, old)) return 1;
  return missed ? 1 : 0;
}
