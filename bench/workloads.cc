// bench/workloads.cc -- the kernels of workloads/ beside the same work in C, in the default mode and in `fast`.
//
// Both sides work on the same memory, one after the other: which pages an array has makes a tenth of a memory-bound row, and
// up to a half of it. Their results must agree. A row is the median time of one repetition, CPU time with one thread and wall
// time with more; a ratio is clang's time over ours, above 1 where Heddle is faster.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "bench/bench.h"
#include "bench/worker.h"

namespace bench {
namespace {

const HdType F32 = hd_type_scalar(HD_F32), I32 = hd_type_scalar(HD_I32), VEC3 = hd_type_vec(HD_F32, 3);

using Floats = Memory<float>;
using Ints = Memory<int32_t>;

using Result = std::vector<float>;

// One workload, its memory included. `ours` and `peer` do one repetition.
class Work {
public:
  virtual ~Work() {}
  virtual void ours(const Engine &e) = 0;
  virtual bool peer() = 0;                 // false: there is no peer library
  virtual void give(Inputs *in) const = 0; // what a worker needs for it
  virtual Result result() = 0;             // a copy
  virtual double off(const Result &a, const Result &b) { return Off(a, b); }
  virtual void again() {} // undo what repetitions accumulate, before results are compared

protected:
  // The largest difference over the size of what is compared: of the mean magnitude too, so that cancellation near 0 counts
  // little.
  static double Off(const Result &a, const Result &b);
  static double Differ(const Result &a, const Result &b, double eps); // the part of elements that differ
  template <class T> static Result Copy(const Memory<T> &m) { return Result(m.data(), m.data() + m.size()); }
};

template <class F> F *Find(const char *name) { return reinterpret_cast<F *>(Peer(name)); }

void Fill(Floats *m, float low, float high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> in(low, high);
  for (size_t i = 0; i < m->size(); i++) (*m)[i] = in(random);
}

double Work::Off(const Result &a, const Result &b) {
  double scale = 0, worst = 0;
  for (float x : b) scale += std::fabs(x);
  scale = scale / double(b.size()) + 1e-30;
  for (size_t i = 0; i < b.size(); i++) {
    double d = std::fabs(double(a[i]) - double(b[i])) / (scale + std::fabs(b[i]));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

double Work::Differ(const Result &a, const Result &b, double eps) {
  size_t n = 0;
  for (size_t i = 0; i < b.size(); i++) n += !(std::fabs(double(a[i]) - double(b[i])) <= eps);
  return double(n) / double(b.size());
}

class Saxpy : public Work {
public:
  Saxpy() { again(); }
  void again() override { Fill(&x_, 0, 1, 1), Fill(&y_, 0, 1, 2); }
  void ours(const Engine &e) override {
    HdArray x = e.Lend(F32, {N}, x_.data()), y = e.Lend(F32, {N}, y_.data());
    e.Run("saxpy", {N}, {hd_arg_f32(A), hd_arg_array(&x), hd_arg_array(&y)});
  }
  bool peer() override {
    auto f = Find<void(int64_t, float, const float *, float *)>("peer_saxpy");
    if (f) f(N, A, x_.data(), y_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Number("a", A);
    in->Array("x", {N}, x_);
    in->Array("y", {N}, y_);
  }
  Result result() override { return Copy(y_); }

private:
  enum : int64_t { N = 10000000 };
  static constexpr float A = 1e-3f;
  Floats x_{N}, y_{N};
};

class BlackScholes : public Work {
public:
  BlackScholes() { Fill(&s_, 5, 30, 3), Fill(&k_, 1, 100, 4), Fill(&t_, 0.25, 10, 5); }
  void ours(const Engine &e) override {
    HdArray s = e.Lend(F32, {N}, s_.data()), k = e.Lend(F32, {N}, k_.data()), t = e.Lend(F32, {N}, t_.data());
    HdArray call = e.Lend(F32, {N}, call_.data()), put = e.Lend(F32, {N}, put_.data());
    e.Run("black_scholes", {N},
          {hd_arg_array(&s), hd_arg_array(&k), hd_arg_array(&t), hd_arg_f32(R), hd_arg_f32(V), hd_arg_array(&call),
           hd_arg_array(&put)});
  }
  bool peer() override {
    auto f = Find<void(int64_t, const float *, const float *, const float *, float, float, float *, float *)>(
        "peer_black_scholes");
    if (f) f(N, s_.data(), k_.data(), t_.data(), R, V, call_.data(), put_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("s", {N}, s_);
    in->Array("k", {N}, k_);
    in->Array("t", {N}, t_);
    in->Number("r", R);
    in->Number("v", V);
  }
  Result result() override {
    Result r = Copy(call_), put = Copy(put_);
    r.insert(r.end(), put.begin(), put.end());
    return r;
  }

private:
  enum : int64_t { N = 4000000 };
  static constexpr float R = 0.02f, V = 0.3f;
  Floats s_{N}, k_{N}, t_{N}, call_{N}, put_{N};
};

class Mandelbrot : public Work {
public:
  void ours(const Engine &e) override {
    HdArray out = e.Lend(I32, {N, N}, out_.data());
    e.Run("mandelbrot", {N, N}, {hd_arg_i32(LIMIT), hd_arg_array(&out)});
  }
  bool peer() override {
    auto f = Find<void(int, int, int, int32_t *)>("peer_mandelbrot");
    if (f) f(N, N, LIMIT, out_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Number("n", N);
    in->Number("limit", LIMIT);
  }
  Result result() override { return Copy(out_); }
  double off(const Result &a, const Result &b) override { return Differ(a, b, 0.5); }

private:
  enum : int64_t { N = 1024, LIMIT = 256 };
  Ints out_{N * N};
};

class NBody : public Work {
public:
  NBody() { Fill(&x_, -1, 1, 6); }
  void ours(const Engine &e) override {
    HdArray x = e.Lend(VEC3, {N}, x_.data()), a = e.Lend(VEC3, {N}, a_.data());
    e.Run("nbody", {N}, {hd_arg_array(&x), hd_arg_f32(SOFTENING), hd_arg_array(&a)});
  }
  bool peer() override {
    auto f = Find<void(int, const float *, float, float *)>("peer_nbody");
    if (f) f(N, x_.data(), SOFTENING, a_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("x", {N, 3}, x_);
    in->Number("softening", SOFTENING);
  }
  Result result() override { return Copy(a_); }

private:
  enum : int64_t { N = 4096 };
  static constexpr float SOFTENING = 1e-3f;
  Floats x_{3 * N}, a_{3 * N};
};

class Jacobi : public Work {
public:
  Jacobi() { again(); }
  void again() override { Fill(&u_, 0, 1, 7), Fill(&v_, 0, 1, 7); }
  void ours(const Engine &e) override {
    HdArray u = e.Lend(F32, {N, N}, u_.data()), v = e.Lend(F32, {N, N}, v_.data());
    for (int k = 0; k < SWEEPS; k++)
      e.Run("jacobi", {N - 2, N - 2}, {hd_arg_array(k % 2 ? &v : &u), hd_arg_array(k % 2 ? &u : &v)});
  }
  bool peer() override {
    auto f = Find<void(int, int, const float *, float *)>("peer_jacobi");
    for (int k = 0; f && k < SWEEPS; k++) f(N, N, k % 2 ? v_.data() : u_.data(), k % 2 ? u_.data() : v_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("u", {N, N}, u_);
    in->Number("sweeps", SWEEPS);
  }
  Result result() override { return Copy(u_); }

private:
  enum : int64_t { N = 2048, SWEEPS = 10 };
  Floats u_{N * N}, v_{N * N};
};

class Particles : public Work {
public:
  Particles() { Fill(&x_, 0, 1, 8), Fill(&v_, -0.5, 0.5, 9); }
  void ours(const Engine &e) override {
    HdArray x = e.Lend(VEC3, {N}, x_.data()), v = e.Lend(VEC3, {N}, v_.data()), x2 = e.Lend(VEC3, {N}, x2_.data());
    HdArray cell = e.Lend(I32, {N}, cell_.data()), count = e.Lend(I32, {CELLS}, count_.data());
    HdArray first = e.Lend(I32, {CELLS + 1}, first_.data()), next = e.Lend(I32, {CELLS}, next_.data());
    HdArray sorted = e.Lend(VEC3, {N}, sorted_.data()), id = e.Lend(I32, {N}, id_.data()),
            rho = e.Lend(F32, {N}, rho_.data());
    HdArg res = hd_arg_i32(RES);
    e.Run("move", {N},
          {hd_arg_array(&x), hd_arg_array(&v), hd_arg_f32(DT), res, hd_arg_array(&x2), hd_arg_array(&cell),
           hd_arg_array(&count)});
    e.Run("prefix", {1}, {hd_arg_array(&count), hd_arg_array(&first), hd_arg_array(&next)});
    e.Run("sort", {N},
          {hd_arg_array(&x2), hd_arg_array(&cell), hd_arg_array(&next), hd_arg_array(&sorted), hd_arg_array(&id)});
    e.Run("density", {N},
          {hd_arg_array(&sorted), hd_arg_array(&id), hd_arg_array(&first), res, hd_arg_f32(H), hd_arg_array(&rho)});
  }
  bool peer() override {
    auto f = Find<void(int, const float *, const float *, float, int, float, float *, int32_t *, int32_t *, int32_t *,
                       float *, int32_t *, float *)>("peer_particles");
    if (f)
      f(N, x_.data(), v_.data(), DT, RES, H, x2_.data(), cell_.data(), first_.data(), next_.data(), sorted_.data(),
        id_.data(), rho_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("x", {N, 3}, x_);
    in->Array("v", {N, 3}, v_);
    in->Number("dt", DT);
    in->Number("res", RES);
    in->Number("h", H);
  }
  Result result() override { return Copy(rho_); }

private:
  enum : int64_t { N = 100000, RES = 24, CELLS = RES * RES * RES };
  static constexpr float DT = 0.01f, H = 0.0415f;
  Floats x_{3 * N}, v_{3 * N}, x2_{3 * N}, sorted_{3 * N}, rho_{N};
  Ints cell_{N}, count_{CELLS}, first_{CELLS + 1}, next_{CELLS}, id_{N};
};

class Sdf : public Work {
public:
  void ours(const Engine &e) override {
    HdArray image = e.Lend(F32, {N, N}, image_.data());
    e.Run("sdf", {N, N}, {hd_arg_array(&image)});
  }
  bool peer() override {
    auto f = Find<void(int, int, float *)>("peer_sdf");
    if (f) f(N, N, image_.data());
    return f;
  }
  void give(Inputs *in) const override { in->Number("n", N); }
  Result result() override { return Copy(image_); }
  double off(const Result &a, const Result &b) override { return Differ(a, b, 1e-2); }

private:
  enum : int64_t { N = 512 };
  Floats image_{N * N};
};

class Transforms : public Work {
public:
  Transforms() {
    std::mt19937 random(10);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < BODIES; i++) {
      float q[4], s = 0;
      for (float &x : q) x = normal(random), s += x * x;
      for (int k = 0; k < 3; k++) pose_[7 * i + k] = normal(random);
      for (int k = 0; k < 4; k++) pose_[7 * i + 3 + k] = q[k] / std::sqrt(s);
    }
    for (int64_t i = 0; i < N; i++) body_[i] = int32_t(random() % BODIES);
    Fill(&x_, -1, 1, 11);
  }
  void ours(const Engine &e) override {
    HdArray pose = e.Lend(hd_kernel_param(e.Kernel("transforms"), 0).type, {BODIES}, pose_.data());
    HdArray body = e.Lend(I32, {N}, body_.data()), x = e.Lend(VEC3, {N}, x_.data()),
            out = e.Lend(VEC3, {N}, out_.data());
    e.Run("transforms", {N}, {hd_arg_array(&pose), hd_arg_array(&body), hd_arg_array(&x), hd_arg_array(&out)});
  }
  bool peer() override {
    auto f = Find<void(int, const float *, const int32_t *, const float *, float *)>("peer_transforms");
    if (f) f(N, pose_.data(), body_.data(), x_.data(), out_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("pose", {BODIES, 7}, pose_);
    in->Array("body", {N}, body_);
    in->Array("x", {N, 3}, x_);
  }
  Result result() override { return Copy(out_); }

private:
  enum : int64_t { N = 1000000, BODIES = 4096 };
  Floats pose_{7 * BODIES}, x_{3 * N}, out_{3 * N};
  Ints body_{N};
};

class Histogram : public Work {
public:
  Histogram() {
    std::mt19937 random(12);
    for (int64_t i = 0; i < N; i++) key_[i] = int32_t(random() % BINS);
  }
  void ours(const Engine &e) override {
    memset(bin_.data(), 0, 4 * BINS);
    HdArray key = e.Lend(I32, {N}, key_.data()), bin = e.Lend(I32, {BINS}, bin_.data());
    e.Run("histogram", {N}, {hd_arg_array(&key), hd_arg_array(&bin)});
  }
  bool peer() override {
    auto f = Find<void(int64_t, const int32_t *, int, int32_t *)>("peer_histogram");
    memset(bin_.data(), 0, 4 * BINS);
    if (f) f(N, key_.data(), BINS, bin_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("key", {N}, key_);
    in->Number("bins", BINS);
  }
  Result result() override { return Copy(bin_); }
  double off(const Result &a, const Result &b) override { return Differ(a, b, 0.5); }

private:
  enum : int64_t { N = 10000000, BINS = 256 };
  Ints key_{N}, bin_{BINS};
};

class Sum : public Work {
public:
  Sum() { Fill(&x_, 0, 1, 13); }
  void ours(const Engine &e) override {
    HdArray x = e.Lend(F32, {BLOCKS, N / BLOCKS}, x_.data()), part = e.Lend(F32, {BLOCKS, LANES}, part_.data());
    HdArray out = e.Lend(F32, {LANES}, out_.data());
    e.Run("sum_blocks", {BLOCKS, LANES}, {hd_arg_array(&x), hd_arg_array(&part)});
    e.Run("sum_parts", {LANES}, {hd_arg_array(&part), hd_arg_array(&out)});
    sum_[0] = 0;
    for (int64_t i = 0; i < LANES; i++) sum_[0] += out_[i];
  }
  bool peer() override {
    auto f = Find<float(int64_t, const float *)>("peer_sum");
    if (f) sum_[0] = f(N, x_.data());
    return f;
  }
  void give(Inputs *in) const override { in->Array("x", {N}, x_); }
  Result result() override { return Copy(sum_); }

private:
  enum : int64_t { BLOCKS = 250, LANES = 16, N = BLOCKS * LANES * 2560 };
  Floats x_{N}, part_{BLOCKS * LANES}, out_{LANES}, sum_{1};
};

template <int64_t M> class Cholesky : public Work {
public:
  Cholesky() {
    Floats r(M * M);
    for (int64_t i = 0; i < N; i++) { // a = r r^T + M 1
      Fill(&r, -1, 1, unsigned(i % 64) + 14);
      for (int64_t p = 0; p < M; p++)
        for (int64_t q = 0; q < M; q++) {
          float s = p == q ? float(M) : 0;
          for (int64_t k = 0; k < M; k++) s += r[p * M + k] * r[q * M + k];
          a_[(i * M + p) * M + q] = s;
        }
    }
    Fill(&b_, 0, 1, 15);
  }
  void ours(const Engine &e) override {
    HdArray a = e.Lend(F32, {N, M, M}, a_.data()), b = e.Lend(F32, {N, M}, b_.data()),
            x = e.Lend(F32, {N, M}, x_.data());
    e.Run("cholesky", {N}, {hd_arg_array(&a), hd_arg_array(&b), hd_arg_array(&x)});
  }
  bool peer() override {
    auto f = Find<void(int, const float *, const float *, float *)>(M == 6 ? "peer_cholesky6" : "peer_cholesky12");
    if (f) f(N, a_.data(), b_.data(), x_.data());
    return f;
  }
  void give(Inputs *in) const override {
    in->Array("a", {N, M, M}, a_);
    in->Array("b", {N, M}, b_);
  }
  Result result() override { return Copy(x_); }

private:
  enum : int64_t { N = 100000 };
  Floats a_{N * M * M}, b_{N * M}, x_{N * M};
};

template <class T> std::unique_ptr<Work> New() { return std::unique_ptr<Work>(new T); }

struct Row {
  const char *name, *file;
  std::unique_ptr<Work> (*make)();
  double tolerance; // of Work::off
  const char *n;    // the constant N, or NULL
  bool memory;      // bound by it
};

// What fast math on either side may change: rounding, and through it which way a few chaotic lanes go.
const Row rows[] = {
    {"saxpy", "saxpy", New<Saxpy>, 1e-5, nullptr, true},
    {"Black-Scholes", "black_scholes", New<BlackScholes>, 1e-4, nullptr, false},
    {"mandelbrot", "mandelbrot", New<Mandelbrot>, 1e-2, nullptr, false},
    {"n-body", "nbody", New<NBody>, 1e-3, nullptr, false},
    {"Jacobi stencil", "jacobi", New<Jacobi>, 1e-5, nullptr, true},
    {"particles, grid", "particles", New<Particles>, 1e-3, nullptr, false},
    {"sphere tracing", "sdf", New<Sdf>, 1e-2, nullptr, false},
    {"transform gather", "transforms", New<Transforms>, 1e-4, nullptr, true},
    {"histogram", "histogram", New<Histogram>, 0, nullptr, true},
    {"sum", "sum", New<Sum>, 1e-3, nullptr, true},
    {"Cholesky 6", "cholesky", New<Cholesky<6>>, 1e-3, "6", false},
    {"Cholesky 12", "cholesky", New<Cholesky<12>>, 1e-3, "12", false},
};

void Add(std::vector<Figure> *out, const std::string &name, const char *unit, const std::vector<double> &samples,
         double limit, double goal, bool at_least) {
  out->push_back(Figure{name, unit, Of(samples), limit, goal, at_least});
}

// One repetition of each, and whether they agree; false if there is no peer.
bool Agree(const Row &row, Work *work, const Engine &e, const char *mode) {
  work->again();
  work->ours(e);
  Result ours = work->result();
  work->again();
  if (!work->peer()) return false;
  double off = work->off(ours, work->result());
  if (!(off <= row.tolerance))
    Die(std::string(row.name) + ", " + mode + ": results differ from the peer's by " + std::to_string(off));
  return true;
}

// How many times as fast as a peer the goal is: Warp runs scalar code.
double Goal(const Row &row, const std::string &peer) { return peer != "warp" ? 1 : row.memory ? 2.5 : 8; }

// The line of one peer below ours, with its turns and ours in the two modes; or why there is none.
void Report(const Row &row, const std::string &name, const Guest &guest, const std::vector<double> &theirs,
            const std::vector<double> &plain, const std::vector<double> &fast, std::vector<Figure> *out) {
  const std::string &peer = guest.worker()->name();
  printf("  %-16s %2s ", peer.c_str(), "");
  if (!guest.why().empty()) {
    printf("%9s   %s\n", "-", guest.why().c_str());
    return;
  }
  double goal = Goal(row, peer);
  Spread t = Of(theirs), d = Of(Ratios(theirs, plain)), f = Of(Ratios(theirs, fast));
  Add(out, name + ", " + peer, "ms", Scaled(theirs, 1e3), 0, 0, false);
  Add(out, name + ": times " + peer, "x", Ratios(theirs, plain), 0, 0, true);
  Add(out, name + ", fast: times " + peer, "x", Ratios(theirs, fast), 0, goal, true);
  printf("%9s %9s %9.2f   %6.2f [%5.2f ..%6.2f] %6.2f [%5.2f ..%6.2f]   %5s %9.0f %s\n", "", "", 1e3 * t.median,
         d.median, d.low, d.high, f.median, f.low, f.high, "", 1e3 * guest.first(),
         out->back().Reaches(goal) ? "" : ("below " + std::to_string(goal).substr(0, 3)).c_str());
}

void Measure(const Row &row, Work *work, const Options &options, int threads, Workers *workers,
             std::vector<Figure> *out) {
  Engine plain(threads, false, options.target, options.width), fast(threads, true, options.target, options.width);
  std::vector<HdDefine> defines;
  if (row.n) defines.push_back({"N", row.n});
  std::string path = options.folder + "/workloads/" + row.file + ".hd",
              name = std::string(row.name) + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  std::vector<double> compile;
  plain.Load(path, defines); // the first opens LLVM
  for (int i = 0; i < 5; i++) {
    double start = CpuTime();
    Engine(1, false, options.target, options.width).Load(path, defines);
    compile.push_back(1e3 * (CpuTime() - start));
  }
  fast.Load(path, defines);
  PickPeer([&] {
    if (auto set = Find<void(int)>("peer_threads")) set(threads);
    work->again();
    work->peer();
  });

  bool has_peer = Agree(row, work, plain, "default");
  if (has_peer) Agree(row, work, fast, "fast");
  std::vector<Guest> guests;
  if (!options.peers.empty()) {
    work->again();
    Inputs inputs;
    work->give(&inputs);
    work->ours(plain);
    const Result ours = work->result();
    auto same = [&](const Result &theirs) -> std::string {
      if (theirs.size() != ours.size()) return "its result has another size";
      double off = work->off(ours, theirs);
      return off <= row.tolerance ? "" : "its result differs by " + std::to_string(off);
    };
    for (Worker *w : workers->With(threads)) guests.emplace_back(w, row.file, inputs, same);
  }

  auto clock = threads == 1 ? CpuTime : Now;
  bool warm = !guests.empty(); // each of them finds the caches full of another's data
  std::vector<std::function<double()>> turns = {Timed([&] { work->ours(plain); }, clock, warm),
                                                Timed([&] { work->ours(fast); }, clock, warm)};
  if (has_peer) turns.push_back(Timed([&] { work->peer(); }, clock, warm));
  for (Guest &g : guests) turns.push_back([&] { return g.Turn(); });
  auto t = Turns(options.rounds, turns);
  Spread d = Of(t[0]), f = Of(t[1]), price = Of(Ratios(t[0], t[1])), c = Of(compile);
  Add(out, name, "ms", Scaled(t[0], 1e3), 0, 0, false);
  Add(out, name + ", fast", "ms", Scaled(t[1], 1e3), 0, 0, false);
  if (threads == options.threads.front()) Add(out, std::string(row.name) + ", compile", "ms", compile, 0, 60, false);
  printf("%-18s %2d %9.2f %9.2f", row.name, threads, 1e3 * d.median, 1e3 * f.median);
  if (has_peer) {
    Spread p = Of(t[2]), rd = Of(Ratios(t[2], t[0])), rf = Of(Ratios(t[2], t[1]));
    Add(out, name + ": times clang", "x", Ratios(t[2], t[0]), 0, 0, true);
    Add(out, name + ", fast: times clang", "x", Ratios(t[2], t[1]), 0, 1, true);
    printf(" %9.2f   %6.2f [%5.2f ..%6.2f] %6.2f [%5.2f ..%6.2f]", 1e3 * p.median, rd.median, rd.low, rd.high,
           rf.median, rf.low, rf.high);
  }
  printf("   %5.2f %9.1f\n", price.median, c.median);
  for (size_t i = 0; i < guests.size(); i++)
    Report(row, name, guests[i], t[t.size() - guests.size() + i], t[0], t[1], out);
  fflush(stdout);
}

} // namespace

void Workloads(const Options &options, std::vector<Figure> *out) {
  printf("%-18s %2s %9s %9s %9s   %-23s %-23s   %5s %9s\n", "milliseconds", "t", "default", "fast", "peer",
         "peer / default", "peer / fast", "price", "compile");
  Workers workers(options);
  for (const Row &row : rows) {
    if (std::string(row.name).find(options.only) == std::string::npos) continue;
    std::unique_ptr<Work> work = row.make();
    for (int threads : options.threads) Measure(row, work.get(), options, threads, &workers, out);
  }
}

} // namespace bench
