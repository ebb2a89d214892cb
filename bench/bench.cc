// bench/bench.cc -- the figures that Heddle promises and the workloads beside plain C.
//
//     bench [floors|workloads|algorithms|geometry|textures] [--only=NAME] [--threads=N] [--rounds=N]
//           [--width=N] [--target=NAME] [--peers=NAME,..] [--json=FILE] [--compare=OLD.json]
//     bench compare OLD.json NEW.json
//
// BENCH_PEERS names the libraries made of peers.c by clang, with a colon between; without them comparisons are left out. BENCH_FOLDER is this folder,
// BENCH_WARM the program made of warm.c, BENCH_NODRIVER the library made of nodriver.c, and in BENCH_VENVS there is a Python
// for each of the peers of --peers. `./dev bench` sets them.
#include "bench/bench.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace bench {

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

namespace {

// The builds of peers.c, and the one in use.
const std::vector<void *> &Builds() {
  static const std::vector<void *> builds = [] {
    std::vector<void *> all;
    const char *paths = getenv("BENCH_PEERS");
    std::istringstream in(paths ? paths : "");
    for (std::string path; std::getline(in, path, ':');)
      if (void *library = dlopen(path.c_str(), RTLD_NOW)) all.push_back(library);
    return all;
  }();
  return builds;
}

size_t build = 0;

} // namespace

void *Peer(const char *name) { return Builds().empty() ? nullptr : dlsym(Builds()[build], name); }

void PickPeer(const std::function<void()> &run) {
  size_t best = 0;
  double least = 0;
  for (build = 0; build < Builds().size(); build++) {
    run();
    double quickest = 0;
    for (int i = 0; i < 5; i++) {
      double start = Now();
      run();
      double took = Now() - start;
      if (i == 0 || took < quickest) quickest = took;
    }
    if (build == 0 || quickest < least) best = build, least = quickest;
  }
  build = best;
}

} // namespace bench

namespace {

const char usage[] =
    "usage: bench [floors|workloads|algorithms|geometry|textures] [--only=NAME] [--threads=N] [--rounds=N]\n"
    "             [--width=N] [--target=NAME] [--peers=NAME,..] [--json=FILE] [--compare=OLD.json]\n"
    "       bench compare OLD.json NEW.json";

std::vector<std::string> Names(const char *list) {
  std::vector<std::string> names;
  std::istringstream in(list);
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

std::vector<bench::Figure> Read(const char *path) {
  std::vector<bench::Figure> figures;
  std::string why;
  if (!bench::ReadReport(path, &figures, &why)) bench::Die(why);
  return figures;
}

// Prints what is worse; the exit status.
int ShowCompared(const std::vector<bench::Figure> &old, const std::vector<bench::Figure> &now) {
  bench::Comparison c = bench::Compare(old, now);
  fputs(c.text.c_str(), c.status == 2 ? stderr : stdout);
  return c.status;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "compare") == 0) return ShowCompared(Read(argv[2]), Read(argv[3]));
  bench::Options options;
  const char *json = nullptr, *folder = getenv("BENCH_FOLDER"), *warm = getenv("BENCH_WARM");
  std::vector<bench::Figure> figures, old;
  bool floors = true, workloads = true, algorithms = true, geometry = true, textures = true, bad = false;
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i];
    auto value = [&](const char *key) { return a.compare(0, strlen(key), key) == 0 ? argv[i] + strlen(key) : nullptr; };
    if (const char *v = value("--json="))
      json = v;
    else if (const char *v2 = value("--compare="))
      old = Read(v2); // before anything is measured
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
    else if (const char *v8 = value("--peers="))
      options.peers = Names(v8);
    else if (a == "floors")
      workloads = algorithms = geometry = textures = false;
    else if (a == "workloads")
      floors = algorithms = geometry = textures = false;
    else if (a == "algorithms")
      floors = workloads = geometry = textures = false;
    else if (a == "geometry")
      floors = workloads = algorithms = textures = false;
    else if (a == "textures")
      floors = workloads = algorithms = geometry = false;
    else
      bad = true;
  }
  if (bad || !folder || !warm) {
    fprintf(stderr, "%s\n", bad ? usage : "bench: BENCH_FOLDER and BENCH_WARM are not set; ./dev bench does it");
    return 2;
  }
  if (FILE *f = json ? fopen(json, "a") : nullptr)
    fclose(f);
  else if (json)
    bench::Die(std::string("cannot write ") + json); // before anything is measured
  // The workers of OpenMP spin after a loop, on cores that ours then want.
  setenv("KMP_BLOCKTIME", "0", 1);
  options.folder = folder;
  options.warm = warm;
  if (const char *library = getenv("BENCH_NODRIVER")) options.nodriver = library;
  if (const char *venvs = getenv("BENCH_VENVS")) options.venvs = venvs;
  if (floors) bench::Floors(options, &figures);
  if (workloads) bench::Workloads(options, &figures);
  if (algorithms) bench::Algorithms(options, &figures);
  if (geometry) bench::GeometryRows(options, &figures);
  if (textures) bench::TextureRows(options, &figures);
  int missed = 0;
  for (const bench::Figure &f : figures) missed += !f.Reaches(f.limit);
  if (json && !bench::WriteReport(figures, json)) bench::Die(std::string("cannot write ") + json);
  int status = old.empty() ? 0 : ShowCompared(old, figures);
  return status ? status : missed != 0;
}
