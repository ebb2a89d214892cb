// bench/floors.cc -- the figures that Heddle promises, each beside its limit.
//
//     floors [--json=FILE] [--rounds=N]
//
// Every figure is a median over rounds; what is compared runs alternately in each round, so that a slow moment of the
// machine meets both. BENCH_PEERS names the library made of peers.c by clang; without it the ratios are left out.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "heddle/heddle.h"

extern char **environ;

namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Figure {
  std::string name, unit;
  double median = 0, low = 0, high = 0;  // quartiles
  double limit = 0;
  bool at_least = false;
  bool Met() const { return at_least ? median >= limit : median <= limit; }
};

Figure Make(const std::string &name, const std::string &unit, std::vector<double> samples, double limit, bool at_least) {
  std::sort(samples.begin(), samples.end());
  size_t n = samples.size();
  return {name, unit, samples[n / 2], samples[n / 4], samples[n * 3 / 4], limit, at_least};
}

// Times of a and b in turn, in seconds; the first round is thrown away.
void Alternate(int rounds, const std::function<void()> &a, const std::function<void()> &b, std::vector<double> *ta,
               std::vector<double> *tb) {
  for (int i = 0; i <= rounds; i++) {
    double t0 = Now();
    a();
    double t1 = Now();
    b();
    double t2 = Now();
    if (i == 0) continue;
    ta->push_back(t1 - t0);
    tb->push_back(t2 - t1);
  }
}

std::vector<double> Ratios(const std::vector<double> &over, const std::vector<double> &under) {
  std::vector<double> r;
  for (size_t i = 0; i < over.size(); i++) r.push_back(over[i] / under[i]);
  return r;
}

class Bench {
 public:
  Bench(const std::string &source_path, const std::string &warm_path) : warm_(warm_path), source_path_(source_path) {
    std::ifstream in(source_path);
    std::stringstream text;
    text << in.rdbuf();
    source_ = text.str();
    char dir[] = "/tmp/heddle-bench-XXXXXX";
    if (!mkdtemp(dir)) Die("no temporary folder");
    dir_ = dir;
    if (const char *peers = getenv("BENCH_PEERS")) peers_ = dlopen(peers, RTLD_NOW);
  }
  ~Bench() {
    std::string rm = "rm -rf '" + dir_ + "'";
    if (system(rm.c_str()) != 0) fprintf(stderr, "cannot remove %s\n", dir_.c_str());
  }

  void Cold(int rounds) {
    HdContext *ctx = Context(1, true);
    Kernel(ctx, "eight", nullptr);  // loads LLVM
    std::vector<double> t;
    for (int i = 0; i < rounds; i++) {
      double start = Now();
      RunTrivial(ctx);
      t.push_back(1e3 * (Now() - start));
    }
    Add(Make("trivial kernel, cold, source to result, LLVM loaded", "ms", t, 15, false));
    hd_context_free(ctx);
  }

  void Warm(int rounds) {
    std::vector<double> t;
    Process();  // fills the cache
    for (int i = 0; i < rounds; i++) {
      double start = Now();
      int rc = Process();
      t.push_back(1e3 * (Now() - start));
      if (rc != 0) Die("warm: exit status " + std::to_string(rc) + " with a warm cache");
    }
    Add(Make("process start to result, warm cache", "ms", t, 8, false));
  }

  void Launch(int rounds) {
    HdContext *ctx = Context(2, true);
    HdStream *stream = Stream(ctx);
    HdKernel *empty = Kernel(ctx, "empty", nullptr), *eight = Kernel(ctx, "eight", nullptr);
    HdArray a = Array(ctx, HD_F32, {1000});
    const int64_t one = 1;
    HdArg args[] = {hd_arg_array(&a), hd_arg_array(&a), hd_arg_array(&a), hd_arg_array(&a),
                    hd_arg_f32(1),    hd_arg_f32(2),    hd_arg_i32(3),    hd_arg_i32(4)};
    std::vector<double> t0, t8;
    enum { N = 20000 };
    Alternate(
        rounds, [&] { for (int i = 0; i < N; i++) Check(ctx, hd_launch(empty, stream, 1, &one, 0, nullptr)); },
        [&] { for (int i = 0; i < N; i++) Check(ctx, hd_launch(eight, stream, 1, &one, 8, args)); }, &t0, &t8);
    for (double &t : t0) t *= 1e9 / N;
    for (double &t : t8) t *= 1e9 / N;
    Add(Make("launch of an empty kernel", "ns", t0, 500, false));
    Add(Make("launch with eight arguments", "ns", t8, 500, false));
    hd_array_free(ctx, &a);
    hd_stream_free(stream);
    FreeModules();
    hd_context_free(ctx);
  }

  void Saxpy(int rounds) {
    auto peer = reinterpret_cast<void (*)(int64_t, float, const float *, float *)>(Peer("peer_saxpy"));
    if (!peer) return;
    HdContext *ctx = Context(2, true);
    HdStream *stream = Stream(ctx);
    HdKernel *k = Kernel(ctx, "saxpy", nullptr);
    const int64_t n = 10000000;
    HdArray x = Array(ctx, HD_F32, {n}), y = Array(ctx, HD_F32, {n});
    HdArg args[] = {hd_arg_f32(1e-3f), hd_arg_array(&x), hd_arg_array(&y)};
    std::vector<double> ours, theirs;
    Alternate(
        rounds, [&] { Check(ctx, hd_launch(k, stream, 1, &n, 3, args)); },
        [&] { peer(n, 1e-3f, static_cast<float *>(x.data), static_cast<float *>(y.data)); }, &ours, &theirs);
    Add(Make("saxpy, 10 million, 2 threads: times clang -O3 OpenMP", "x", Ratios(theirs, ours), 0.95, true));
    hd_array_free(ctx, &x);
    hd_array_free(ctx, &y);
    hd_stream_free(stream);
    FreeModules();
    hd_context_free(ctx);
  }

  void Mandelbrot(int rounds, const char *target, const char *label, double limit) {
    auto peer = reinterpret_cast<void (*)(int, int, int, int32_t *)>(Peer("peer_mandelbrot"));
    if (!peer) return;
    HdContext *ctx = Context(1, true);
    HdStream *stream = Stream(ctx);
    HdKernel *k = Kernel(ctx, "mandelbrot", target);
    const int64_t dims[] = {1024, 1024};
    HdArray out = Array(ctx, HD_I32, {1024, 1024});
    std::vector<int32_t> want(1024 * 1024);
    HdArg args[] = {hd_arg_i32(256), hd_arg_array(&out)};
    std::vector<double> ours, theirs;
    Alternate(
        rounds, [&] { Check(ctx, hd_launch(k, stream, 2, dims, 2, args)); }, [&] { peer(1024, 1024, 256, want.data()); },
        &ours, &theirs);
    int64_t differ = 0;
    for (size_t i = 0; i < want.size(); i++) differ += want[i] != static_cast<int32_t *>(out.data)[i];
    if (differ > 1024 * 1024 / 100) Die("mandelbrot: " + std::to_string(differ) + " pixels differ from the peer's");
    Add(Make(std::string("mandelbrot, 1 thread, ") + label + ": times scalar clang -O3", "x", Ratios(theirs, ours), limit,
             true));
    hd_array_free(ctx, &out);
    hd_stream_free(stream);
    FreeModules();
    hd_context_free(ctx);
  }

  int Report(const char *json) const {
    int missed = 0;
    for (const Figure &f : figures_) {
      printf("%-62s %10.3f %-2s  [%.3f .. %.3f]  %s %g %s\n", f.name.c_str(), f.median, f.unit.c_str(), f.low, f.high,
             f.at_least ? "at least" : "at most", f.limit, f.Met() ? "met" : "MISSED");
      missed += !f.Met();
    }
    if (json) {
      FILE *out = fopen(json, "w");
      if (!out) Die(std::string("cannot write ") + json);
      fprintf(out, "[\n");
      for (size_t i = 0; i < figures_.size(); i++) {
        const Figure &f = figures_[i];
        fprintf(out,
                "  {\"name\": \"%s\", \"unit\": \"%s\", \"median\": %.6g, \"low\": %.6g, \"high\": %.6g, \"limit\": %g, "
                "\"met\": %s}%s\n",
                f.name.c_str(), f.unit.c_str(), f.median, f.low, f.high, f.limit, f.Met() ? "true" : "false",
                i + 1 < figures_.size() ? "," : "");
      }
      fprintf(out, "]\n");
      fclose(out);
    }
    return missed ? 1 : 0;
  }

 private:
  [[noreturn]] static void Die(const std::string &why) {
    fprintf(stderr, "floors: %s\n", why.c_str());
    exit(2);
  }
  static void Check(HdContext *ctx, HdStatus status) {
    if (status == HD_OK) return;
    char line[1024];
    Die(std::string(hd_error_format(hd_context_error(ctx), line, sizeof line)) + hd_context_diagnostics(ctx));
  }
  void Add(Figure f) { figures_.push_back(std::move(f)); }
  void *Peer(const char *name) { return peers_ ? dlsym(peers_, name) : nullptr; }

  HdContext *Context(int threads, bool no_cache) {
    HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    options.no_cache = no_cache;
    HdContext *ctx = nullptr;
    if (hd_context_new(&options, &ctx) != HD_OK) Die("no context");
    return ctx;
  }
  HdDevice Cpu(HdContext *ctx) {
    HdDevice cpu;
    Check(ctx, hd_device_find(ctx, "cpu", &cpu));
    return cpu;
  }
  HdStream *Stream(HdContext *ctx) {
    HdStream *s;
    Check(ctx, hd_stream_new(ctx, Cpu(ctx), HD_STREAM_SYNC, &s));
    return s;
  }
  HdKernel *Kernel(HdContext *ctx, const char *name, const char *target) {
    HdModuleOptions options = HD_MODULE_OPTIONS_INIT;
    options.target = target;
    HdModule *m;
    HdKernel *k;
    Check(ctx, hd_module_load_source(ctx, "floors.hd", source_.data(), source_.size(), &options, &m));
    Check(ctx, hd_module_kernel(m, name, Cpu(ctx), &k));
    modules_.push_back(m);
    return k;
  }
  void FreeModules() {
    for (HdModule *m : modules_) hd_module_free(m);
    modules_.clear();
  }
  HdArray Array(HdContext *ctx, HdScalar type, std::vector<int64_t> shape) {
    HdArray a;
    Check(ctx, hd_array_zeros(ctx, Cpu(ctx), hd_type_scalar(type), int32_t(shape.size()), shape.data(), &a));
    return a;
  }
  // A module of the trivial kernel alone: from its text to its first result.
  void RunTrivial(HdContext *ctx) {
    static const char text[] = "kernel trivial(f32 x[], f32 y[]) {\n  let i = tid();\n  y[i] = 2 * x[i] + 1;\n}\n";
    HdModule *m;
    HdKernel *k;
    HdStream *s = Stream(ctx);
    float x[4] = {1, 2, 3, 4}, y[4];
    const int64_t n = 4;
    HdArray ax, ay;
    Check(ctx, hd_module_load_source(ctx, "trivial.hd", text, sizeof text - 1, nullptr, &m));
    Check(ctx, hd_module_kernel(m, "trivial", Cpu(ctx), &k));
    Check(ctx, hd_array_borrow(ctx, Cpu(ctx), hd_type_scalar(HD_F32), 1, &n, nullptr, x, &ax));
    Check(ctx, hd_array_borrow(ctx, Cpu(ctx), hd_type_scalar(HD_F32), 1, &n, nullptr, y, &ay));
    HdArg args[] = {hd_arg_array(&ax), hd_arg_array(&ay)};
    Check(ctx, hd_launch(k, s, 1, &n, 2, args));
    if (y[3] != 9) Die("trivial: wrong result");
    hd_module_free(m);
    hd_stream_free(s);
  }
  int Process() {
    const char *argv[] = {warm_.c_str(), source_path_.c_str(), dir_.c_str(), nullptr};
    pid_t pid;
    if (posix_spawn(&pid, warm_.c_str(), nullptr, nullptr, const_cast<char **>(argv), environ) != 0) Die("cannot run warm");
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string warm_, source_path_, source_, dir_;
  void *peers_ = nullptr;
  std::vector<HdModule *> modules_;
  std::vector<Figure> figures_;
};

}  // namespace

int main(int argc, char **argv) {
  const char *json = nullptr, *source = getenv("BENCH_SOURCE"), *warm = getenv("BENCH_WARM");
  int rounds = 21;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--json=", 7) == 0) json = argv[i] + 7;
    else if (strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::max(3, atoi(argv[i] + 9));
    else {
      fprintf(stderr, "usage: floors [--json=FILE] [--rounds=N]   (./dev bench runs it)\n");
      return 2;
    }
  }
  if (!source || !warm) {
    fprintf(stderr, "floors: BENCH_SOURCE and BENCH_WARM must name floors.hd and the warm program; ./dev bench does it\n");
    return 2;
  }
  Bench bench(source, warm);
  bench.Cold(rounds);
  bench.Warm(rounds);
  bench.Launch(rounds);
  bench.Saxpy(rounds);
  bench.Mandelbrot(std::max(3, rounds / 3), "x86-64-v3", "AVX2", 4);
  bench.Mandelbrot(std::max(3, rounds / 3), nullptr, "this machine", 4);
  return bench.Report(json);
}
