// bench/floors.cc -- the figures that are promised, each beside its limit and the goal beyond it.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/arena.h"
#include "bench/bench.h"
#include "runtime/streams.h"

extern char **environ;

namespace bench {
namespace {

class Suite {
public:
  Suite(const Options &options, std::vector<Figure> *out)
      : options_(options), out_(out), kernels_(options.folder + "/floors.hd") {
    char dir[] = "/tmp/heddle-bench-XXXXXX";
    if (!mkdtemp(dir)) Die("no temporary folder");
    dir_ = dir;
  }
  ~Suite() {
    std::string rm = "rm -rf '" + dir_ + "'";
    if (system(rm.c_str()) != 0) fprintf(stderr, "cannot remove %s\n", dir_.c_str());
  }

  // A module of the trivial kernel alone: from its text to its first result, LLVM in the process.
  void Cold() {
    Engine e(1);
    e.Load(kernels_);
    std::vector<double> t;
    for (int i = 0; i < 3 * options_.rounds; i++) {
      double start = Now();
      Trivial(e);
      t.push_back(1e3 * (Now() - start));
    }
    Add("trivial kernel, cold, source to result, LLVM loaded", "ms", t, 15, 8, false);
  }

  void Warm() {
    std::vector<double> t;
    Process(); // fills the cache
    for (int i = 0; i < 3 * options_.rounds; i++) {
      double start = Now();
      int rc = Process();
      t.push_back(1e3 * (Now() - start));
      if (rc != 0) Die("warm: exit status " + std::to_string(rc) + " with a warm cache");
    }
    Add("process start to result, warm cache", "ms", t, 8, 4, false);
    Add("peak memory of that process", "MB", {Peak()}, 32, 16, false);
  }

  // A module of four kernels and its first kernel's code, in a context that has nothing in memory yet.
  void WarmLoad() {
    std::vector<double> t;
    for (int i = 0; i < 3 * options_.rounds; i++) {
      HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
      HdContext *ctx;
      HdDevice cpu;
      HdModule *m = nullptr;
      HdKernel *k = nullptr;
      options.threads = 1;
      options.cache_dir = dir_.c_str();
      if (hd_context_new(&options, &ctx) != HD_OK || hd_device_find(ctx, "cpu", &cpu) != HD_OK) Die("no context");
      double start = Now();
      bool ok = hd_module_load_file(ctx, kernels_.c_str(), nullptr, &m) == HD_OK &&
                hd_module_kernel(m, "trivial", cpu, &k) == HD_OK;
      t.push_back(1e3 * (Now() - start));
      if (!ok || !hd_kernel_from_cache(k)) Die("warm load: the kernel did not come from the cache");
      hd_module_free(m);
      hd_context_free(ctx);
    }
    Add("module load in process, warm cache", "ms", t, 0.5, 0.2, false);
  }

  // From the caller's publishing of a job of two pieces to a spinning worker's first instruction of one, and until the caller
  // knows that both are done. The caller's piece waits for the worker's to begin, or the caller would do both.
  void PoolHandOff() {
    struct Job {
      std::thread::id caller = std::this_thread::get_id();
      std::atomic<int64_t> begun{0};
      static void Piece(void *job, int64_t) {
        Job *j = static_cast<Job *>(job);
        if (std::this_thread::get_id() != j->caller) return j->begun.store(hdrt_now());
        while (!j->begun.load()) continue;
      }
    };
    HdError err = {};
    RtThreads *pool;
    if (hdrt_threads_new(&hdb_system_allocator, 2, &err, &pool) != HD_OK) Die("no threads");
    std::vector<double> there, back;
    for (int i = 0; i < HandOffs(); i++) {
      Job job;
      int64_t start = hdrt_now();
      hdrt_threads_run(pool, 2, true, Job::Piece, &job);
      there.push_back(1e-3 * double(job.begun - start));
      back.push_back(1e-3 * double(hdrt_now() - start));
    }
    hdrt_threads_free(pool);
    Add("pool, from the caller to a spinning worker", "us", there, 10, 2, false);
    Add("pool, a job of two pieces, there and back", "us", back, 20, 4, false);
  }

  // From the call that launches on an asynchronous stream to the kernel's first instruction, while the stream's thread spins,
  // and until the caller has waited for it.
  void StreamHandOff() {
    RtDevice d;
    HdError err = {};
    RtStream *stream;
    RtFaultCopy fault;
    RtCode code = {};
    int64_t begun = 0, *at = &begun;
    hdrt_device_init(&d, &hdrt_cpu_ops, &hdb_system_allocator, nullptr);
    if (hdrt_stream_new(&d, true, &err, &stream) != HD_OK) Die("no stream");
    code.device = &d;
    code.kernel = "begin";
    code.kind = RT_CODE_OBJECT;
    code.entry = [](const void *args, const RtSpan *, void *) { **static_cast<int64_t *const *>(args) = hdrt_now(); };
    std::vector<double> there;
    for (int i = 0; i < HandOffs(); i++) {
      RtLaunch l = {&code, &at, {1, 1, 1, 1}, 1};
      int64_t start = hdrt_now();
      if (hdrt_stream_launch(stream, &l, sizeof at, &err) != HD_OK || hdrt_stream_wait(stream, &fault, &err) != HD_OK)
        Die("a launch failed");
      there.push_back(1e-3 * double(begun - start));
    }
    hdrt_stream_free(stream);
    hdrt_device_end(&d);
    Add("asynchronous stream, from a launch to its kernel", "us", there, 10, 2, false);
  }

  // The same of a kernel, by the public functions, there and back.
  void HandOff() {
    Engine e(2);
    e.Load(kernels_);
    HdStream *stream;
    const int64_t one = 1;
    enum { N = 2000 };
    e.Check(hd_stream_new(e.ctx(), e.device(), HD_STREAM_ASYNC, &stream));
    auto t = Alternate(options_.rounds, {[&] {
                         for (int i = 0; i < N; i++) {
                           e.Check(hd_launch(e.Kernel("empty"), stream, 1, &one, 0, nullptr));
                           e.Check(hd_stream_wait(stream));
                         }
                       }});
    hd_stream_free(stream);
    Add("asynchronous stream, an empty launch and waiting for it", "us", Scaled(t[0], 1e6 / N), 100, 4, false);
  }

  void TwoThreads() {
    Engine e1(1), e2(2);
    Memory<int32_t> out(1024 * 1024);
    HdArray a = e1.Lend(hd_type_scalar(HD_I32), {1024, 1024}, out.data());
    std::string file = options_.folder + "/workloads/mandelbrot.hd";
    e1.Load(file), e2.Load(file);
    auto run = [&](const Engine &e) {
      return [&e, &a] { e.Run("mandelbrot", {1024, 1024}, {hd_arg_i32(256), hd_arg_array(&a)}); };
    };
    auto t = Alternate(3 * options_.rounds, {run(e1), run(e2)});
    Add("mandelbrot, two threads over one", "x", Ratios(t[0], t[1]), 1.2, 1.8, true);
  }

  // Nanoseconds an element from what fits the first cache to what fits none.
  void Scaling() {
    Engine e(2);
    e.Load(kernels_);
    for (int64_t n = 1000; n <= 100000000; n *= 10) {
      Memory<float> x(static_cast<size_t>(n)), y(static_cast<size_t>(n));
      HdArray ax = e.Lend(hd_type_scalar(HD_F32), {n}, x.data()), ay = e.Lend(hd_type_scalar(HD_F32), {n}, y.data());
      const int64_t times = std::max<int64_t>(1, 1000000 / n);
      auto t = Alternate(options_.rounds, {[&] {
                           for (int64_t i = 0; i < times; i++)
                             e.Run("saxpy", {n}, {hd_arg_f32(1e-3f), hd_arg_array(&ax), hd_arg_array(&ay)});
                         }});
      char name[64];
      snprintf(name, sizeof name, "saxpy of %lld, 2 threads, each element", static_cast<long long>(n));
      Add(name, "ns", Scaled(t[0], 1e9 / double(n * times)), 0, 0, false);
    }
  }

  // Launches one after the other: of an empty kernel, of one with eight arguments, of saxpy on 1000 elements.
  struct Launches {
    enum { N = 20000 };
    const int64_t one = 1, thousand = 1000;
    Engine &e;
    Memory<float> m{1000};
    HdArray a;
    HdKernel *saxpy;
    HdArg three[3];
    std::vector<std::vector<double>> seconds; // of N of each

    Launches(Engine &engine, const std::string &kernels, int rounds) : e(engine) {
      a = e.Lend(hd_type_scalar(HD_F32), {1000}, m.data());
      const HdArg array = hd_arg_array(&a);
      const HdArg eight[] = {array, array, array, array, hd_arg_f32(1), hd_arg_f32(2), hd_arg_i32(3), hd_arg_i32(4)};
      three[0] = hd_arg_f32(0.5f), three[1] = three[2] = array;
      e.Load(kernels);
      saxpy = e.Kernel("saxpy");
      auto many = [&](HdKernel *k, const int64_t *dim, int32_t n, const HdArg *args) {
        return [=, this] {
          for (int i = 0; i < N; i++) e.Check(hd_launch(k, e.stream(), 1, dim, n, args));
          e.Check(hd_stream_wait(e.stream()));
        };
      };
      seconds = Alternate(rounds, {many(e.Kernel("empty"), &one, 0, nullptr), many(e.Kernel("eight"), &one, 8, eight),
                                   many(saxpy, &thousand, 3, three)});
    }
    std::vector<double> Nanoseconds(int which) const { return Scaled(seconds[which], 1e9 / N); }
  };

  void Launch() {
    Engine e(2);
    Launches l(e, kernels_, options_.rounds);
    Add("launch of an empty kernel", "ns", l.Nanoseconds(0), 500, 150, false);
    Add("launch with eight arguments", "ns", l.Nanoseconds(1), 500, 250, false);
    Add("launch of saxpy on 1000 elements", "ns", l.Nanoseconds(2), 1000, 300, false);
  }

  // A launch with eight arguments that was checked once: as it is, and with other scalars and arrays each time.
  void PreparedLaunch() {
    Engine e(2);
    e.Load(kernels_);
    Memory<float> m{1000};
    HdArray a = e.Lend(hd_type_scalar(HD_F32), {1000}, m.data());
    const HdArg array = hd_arg_array(&a);
    HdArg eight[] = {array, array, array, array, hd_arg_f32(1), hd_arg_f32(2), hd_arg_i32(3), hd_arg_i32(4)};
    const int64_t one = 1;
    enum { N = 20000 };
    HdGraph *g;
    e.Check(hd_graph_begin(e.stream()));
    e.Check(hd_launch(e.Kernel("eight"), e.stream(), 1, &one, 8, eight));
    e.Check(hd_graph_end(e.stream(), &g));
    auto t = Alternate(options_.rounds, {[&] {
                                           for (int i = 0; i < N; i++) e.Check(hd_graph_launch(g, e.stream()));
                                         },
                                         [&] {
                                           for (int i = 0; i < N; i++) {
                                             eight[6] = hd_arg_i32(i);
                                             e.Check(hd_graph_set_args(g, 0, 8, eight));
                                             e.Check(hd_graph_launch(g, e.stream()));
                                           }
                                         }});
    hd_graph_free(g);
    Add("prepared launch, eight arguments", "ns", Scaled(t[0], 1e9 / double(N)), 500, 150, false);
    Add("prepared launch, eight other arguments", "ns", Scaled(t[1], 1e9 / double(N)), 500, 250, false);
  }

  // What a launch costs us on a GPU, beyond what its driver takes.
  void GpuLaunch() {
    if (options_.nodriver.empty()) return;
    setenv("HEDDLE_LIBCUDA", options_.nodriver.c_str(), 1);
    Engine e(1, false, "", 0, "cuda:0");
    Launches l(e, kernels_, options_.rounds);
    Add("GPU launch over no driver, empty kernel", "ns", l.Nanoseconds(0), 300, 100, false);
    Add("GPU launch over no driver, eight arguments", "ns", l.Nanoseconds(1), 300, 200, false);
    Add("GPU launch over no driver, saxpy", "ns", l.Nanoseconds(2), 300, 150, false);
    enum { N = Launches::N };
    HdGraph *g;
    e.Check(hd_graph_begin(e.stream()));
    for (int i = 0; i < 100; i++) e.Check(hd_launch(l.saxpy, e.stream(), 1, &l.thousand, 3, l.three));
    e.Check(hd_graph_end(e.stream(), &g));
    auto whole = [&] {
      for (int i = 0; i < N / 100; i++) e.Check(hd_graph_launch(g, e.stream()));
      e.Check(hd_stream_wait(e.stream()));
    };
    auto changed = [&] {
      for (int i = 0; i < N / 100; i++) {
        e.Check(hd_graph_set_args(g, i % 100, 3, l.three));
        e.Check(hd_graph_launch(g, e.stream()));
      }
      e.Check(hd_stream_wait(e.stream()));
    };
    auto u = Alternate(options_.rounds, {whole, changed});
    Add("GPU graph of 100 over no driver", "ns", Scaled(u[0], 1e9 / (N / 100)), 500, 100, false);
    Add("GPU graph of 100 over no driver, one launch changed", "ns", Scaled(u[1], 1e9 / (N / 100)), 1000, 500, false);
    hd_graph_free(g);
    unsetenv("HEDDLE_LIBCUDA");
  }

  void Saxpy() {
    auto peer = reinterpret_cast<void (*)(int64_t, float, const float *, float *)>(Peer("peer_saxpy"));
    if (!peer) return;
    const int64_t n = 10000000;
    Engine e(2);
    Memory<float> x(n), y(n);
    HdArray ax = e.Lend(hd_type_scalar(HD_F32), {n}, x.data()), ay = e.Lend(hd_type_scalar(HD_F32), {n}, y.data());
    e.Load(kernels_);
    Threads(2);
    auto t = Alternate(3 * options_.rounds,
                       {[&] { e.Run("saxpy", {n}, {hd_arg_f32(1e-3f), hd_arg_array(&ax), hd_arg_array(&ay)}); },
                        [&] { peer(n, 1e-3f, x.data(), y.data()); }});
    Add("saxpy, 10 million, 2 threads: times clang -O3 OpenMP", "x", Ratios(t[1], t[0]), 0.95, 1, true);
  }

  void Mandelbrot(const char *target, const char *label) {
    auto peer = reinterpret_cast<void (*)(int, int, int, int32_t *)>(Peer("peer_mandelbrot"));
    if (!peer) return;
    Engine e(1, false, target);
    Memory<int32_t> got(1024 * 1024), want(1024 * 1024);
    HdArray out = e.Lend(hd_type_scalar(HD_I32), {1024, 1024}, got.data());
    e.Load(options_.folder + "/workloads/mandelbrot.hd");
    Threads(1);
    auto t = Alternate(options_.rounds / 2,
                       {[&] { e.Run("mandelbrot", {1024, 1024}, {hd_arg_i32(256), hd_arg_array(&out)}); },
                        [&] { peer(1024, 1024, 256, want.data()); }},
                       CpuTime);
    size_t differ = 0;
    for (size_t i = 0; i < want.size(); i++) differ += want[i] != got[i];
    if (differ > want.size() / 100) Die("mandelbrot: " + std::to_string(differ) + " pixels differ from the peer's");
    Add(std::string("mandelbrot, 1 thread, ") + label + ": times scalar clang -O3", "x", Ratios(t[1], t[0]), 4, 8,
        true);
  }

private:
  int HandOffs() const { return 1000 * options_.rounds; }
  static void Threads(int n) {
    auto set = reinterpret_cast<void (*)(int)>(Peer("peer_threads"));
    if (set) set(n);
  }
  void Add(const std::string &name, const char *unit, const std::vector<double> &samples, double limit, double goal,
           bool at_least) {
    Figure f{name, unit, Of(samples), limit, goal, at_least};
    printf("%-60s %9.3f %-2s  %9.3f .. %-9.3f %9.3f", f.name.c_str(), f.value.median, f.unit.c_str(), f.value.low,
           f.value.high, f.value.best);
    if (limit != 0)
      printf("  %s %-5g %-6s  goal %-4g %s", at_least ? ">=" : "<=", limit, f.Reaches(limit) ? "met" : "MISSED", goal,
             f.Reaches(goal) ? "reached" : "not reached");
    printf("\n");
    fflush(stdout);
    out_->push_back(f);
  }
  void Trivial(Engine &e) {
    static const char text[] = "kernel trivial(f32 x[], f32 y[]) {\n  let i = tid();\n  y[i] = 2 * x[i] + 1;\n}\n";
    HdModule *m;
    HdKernel *k;
    float x[4] = {1, 2, 3, 4}, y[4];
    int64_t n = 4;
    e.Check(hd_module_load_source(e.ctx(), "trivial.hd", text, sizeof text - 1, nullptr, &m));
    e.Check(hd_module_kernel(m, "trivial", e.device(), &k));
    HdArray ax = e.Lend(hd_type_scalar(HD_F32), {n}, x), ay = e.Lend(hd_type_scalar(HD_F32), {n}, y);
    HdArg args[] = {hd_arg_array(&ax), hd_arg_array(&ay)};
    e.Check(hd_launch(k, e.stream(), 1, &n, 2, args));
    if (y[3] != 9) Die("trivial: wrong result");
    hd_module_free(m);
  }
  int Process() {
    const char *argv[] = {options_.warm.c_str(), kernels_.c_str(), dir_.c_str(), nullptr};
    pid_t pid;
    if (posix_spawn(&pid, argv[0], nullptr, nullptr, const_cast<char **>(argv), environ) != 0)
      Die("cannot run " + options_.warm);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // What the program says of itself: of a child, the kernel counts the parent's memory too.
  double Peak() {
    std::string command = "'" + options_.warm + "' '" + kernels_ + "' '" + dir_ + "' memory";
    FILE *p = popen(command.c_str(), "r");
    long kib = 0;
    if (!p || fscanf(p, "%ld", &kib) != 1 || pclose(p) != 0) Die("warm: no word of its memory");
    return double(kib) / 1024;
  }

  const Options &options_;
  std::vector<Figure> *out_;
  std::string kernels_, dir_;
};

} // namespace

void Floors(const Options &options, std::vector<Figure> *out) {
  printf("%-60s %12s  %22s %9s  limit\n", "", "median", "quartiles", "least");
  Suite s(options, out);
  s.Cold();
  s.Warm();
  s.WarmLoad();
  s.Launch();
  s.PreparedLaunch();
  s.PoolHandOff();
  s.StreamHandOff();
  s.HandOff();
  s.GpuLaunch();
  s.Saxpy();
  s.Scaling();
  s.TwoThreads();
  s.Mandelbrot("x86-64-v3", "AVX2");
  s.Mandelbrot("", "this machine");
}

} // namespace bench
