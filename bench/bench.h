// bench/bench.h -- what the measurements share: time, samples, figures, and a small face for the library.
//
// What is compared runs in turn, round after round, so that a slow moment of the machine meets all of it; a ratio is taken
// inside each round, and its median over the rounds is what counts.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <sys/mman.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/report.h"
#include "heddle/heddle.h"

namespace bench {

double           Now();      // seconds
double           CpuTime();  // of the whole process, seconds
[[noreturn]] void Die(const std::string &why);

Spread Of(std::vector<double> samples);  // without those that are NaN
std::vector<double> Scaled(const std::vector<double> &samples, double factor);
std::vector<double> Ratios(const std::vector<double> &over, const std::vector<double> &under);

// So many rounds of turns after one that is thrown away, each round in another order; a turn gives its seconds, NaN for none.
// [turn][round]
std::vector<std::vector<double>> Turns(int rounds, const std::vector<std::function<double()>> &turns);
// A turn: one run, timed; `warm`: after some that are not.
std::function<double()> Timed(const std::function<void()> &run, double (*clock)(), bool warm = false);

// Seconds of each of `runs` in turn, for so many rounds after one that is thrown away: [run][round]. `clock` is Now, or
// CpuTime where one thread works: that leaves out the time that other programs had.
std::vector<std::vector<double>> Alternate(int rounds, const std::vector<std::function<void()>> &runs, double (*clock)() = Now);

// A context with its stream and the kernels that were asked of it.
class Engine {
 public:
  Engine(int threads, bool fast = false, const std::string &target = "", int width = 0, const char *device = "cpu");
  ~Engine();
  Engine(const Engine &) = delete;
  HdContext *ctx() const { return ctx_; }
  HdStream  *stream() const { return stream_; }
  HdDevice   device() const { return device_; }
  void       Check(HdStatus status) const;
  // Kernels of a file; milliseconds that compiling the named one took.
  double    Load(const std::string &path, const std::vector<HdDefine> &defines = {});
  HdKernel *Kernel(const std::string &name) const;
  void      Run(const std::string &kernel, std::vector<int64_t> dim, const std::vector<HdArg> &args) const;
  HdArray   Lend(HdType type, std::vector<int64_t> length, void *data) const;

 private:
  HdContext                        *ctx_ = nullptr;
  HdStream                         *stream_ = nullptr;
  HdDevice                          device_;
  bool                              fast_;
  std::string                       target_;
  int                               width_;
  std::vector<HdModule *>           modules_;
  std::map<std::string, HdKernel *> kernels_;
};

// Memory for arrays, at the start of a cache line; in huge pages where it is large, as NumPy has its arrays and with them the
// peers in Python.
template <class T>
class Memory {
 public:
  explicit Memory(size_t n) : n_(n) {
    const size_t page = 2 << 20, size = n * sizeof(T) + 64;
    size_t align = size >= 2 * page ? page : 64;
    data_ = static_cast<T *>(aligned_alloc(align, (size + align - 1) / align * align));
    if (align == page) madvise(data_, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++) data_[i] = T();
  }
  ~Memory() { free(data_); }
  Memory(const Memory &) = delete;
  T       *data() { return data_; }
  const T *data() const { return data_; }
  size_t   size() const { return n_; }
  T       &operator[](size_t i) { return data_[i]; }
  const T &operator[](size_t i) const { return data_[i]; }

 private:
  size_t n_;
  T     *data_;
};

struct Options {
  int         rounds = 15;
  std::string only;          // names that contain it
  std::string folder;        // of bench/: kernels are in it
  std::string warm;          // the program
  std::string nodriver;      // a CUDA driver that does nothing
  std::string venvs;         // a folder with a Python in each peer's folder
  std::vector<std::string> peers;  // that run beside ours: a _peer.py of each is in peers/
  std::vector<int> threads = {1, 2};
  int         width = 0;  // of gangs in workloads; 0: as the compiler likes
  std::string target;     // of workloads; empty: this machine
};

void *Peer(const char *name);  // a function of peers.c, of the build in use; NULL if there is none
// Use the build of peers.c with which `run` is quickest: clang's code for wider registers is not always.
void PickPeer(const std::function<void()> &run);

void Floors(const Options &options, std::vector<Figure> *out);
void Workloads(const Options &options, std::vector<Figure> *out);
void Algorithms(const Options &options, std::vector<Figure> *out);
void GeometryRows(const Options &options, std::vector<Figure> *out);
void TextureRows(const Options &options, std::vector<Figure> *out);

}  // namespace bench

#endif
