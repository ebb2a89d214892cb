// bench/worker.h -- compilers of other projects, each in a Python process of its own that bench/peers/worker.py serves.
//
// A worker has a workload's inputs as files and keeps them in its own kind of array; it does one repetition when asked, and says
// how long that took. Between requests its process is stopped, so that no pool of threads spins beside what is measured.
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <memory>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace bench {

// A workload's arrays and numbers as .npy files, in a folder that goes with it. Names are those of the .hd file.
class Inputs {
 public:
  Inputs();
  ~Inputs();
  Inputs(const Inputs &) = delete;
  void Array(const std::string &name, const std::vector<int64_t> &length, const Memory<float> &data);
  void Array(const std::string &name, const std::vector<int64_t> &length, const Memory<int32_t> &data);
  void Number(const std::string &name, double value);
  const std::string &folder() const { return folder_; }

 private:
  void Put(const std::string &name, char kind, uint32_t size, const std::vector<int64_t> &length, const void *data);
  std::string folder_;
};

class Worker {
 public:
  // `home`: a folder for what it caches.
  Worker(const std::string &name, int threads, const Options &options, const std::string &home);
  ~Worker();
  Worker(const Worker &) = delete;
  const std::string &name() const { return name_; }
  const std::string &version() const { return version_; }
  const std::string &why() const { return why_; }  // the last request gave nothing, or why there is no such peer

  // Takes a workload and does its first repetition; `first` is the CPU time that this took, compiling included.
  bool   Prepare(const std::string &workload, const Inputs &inputs, double *first);
  double Run();  // seconds of one repetition, after some that warm up: CPU time of its process with one thread, else wall time;
                 // NaN if it failed
  bool   Result(std::vector<float> *out);

 private:
  bool Ask(const std::string &request, std::string *answer);
  bool Listen(std::string *answer);
  int  End();  // ends the process; its status

  std::string name_, version_, why_, rest_;
  bool        wall_;
  int         pid_ = -1, to_ = -1, from_ = -1;
};

// The workers that the options ask for; each is started when it is first wanted.
class Workers {
 public:
  explicit Workers(const Options &options);
  ~Workers();
  std::vector<Worker *> With(int threads);

 private:
  const Options &options_;
  std::string    home_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Worker>> workers_;
};

// What one worker says to one workload, in turns with others.
class Guest {
 public:
  // `same` compares the worker's result with ours; the text is why it differs, or empty.
  Guest(Worker *worker, const std::string &workload, const Inputs &inputs,
        const std::function<std::string(const std::vector<float> &)> &same);
  Worker            *worker() const { return worker_; }
  const std::string &why() const { return why_; }  // why there are no turns; empty if there are
  double             first() const { return first_; }
  double             Turn();  // seconds, or NaN where it is so slow that it has had enough of them

 private:
  Worker     *worker_;
  std::string why_;
  double      first_ = 0, spent_ = 0;
  int         turns_ = 0;
};

}  // namespace bench

#endif
