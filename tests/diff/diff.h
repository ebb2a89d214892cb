// tests/diff/diff.h -- one kernel, many ways to run it, and the same bytes each time.
//
// A Case is a kernel with a description of its arguments: how long each array is for given extents of the launch, and
// what is in it. Inputs are made from that and a seed; a run changes them; two runs are compared byte by byte, where a NaN
// equals any other NaN of its type. Around and between the elements lie bytes that nobody may change.
#ifndef DIFF_H
#define DIFF_H

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/printer.h"
#include "ir/ir.h"

namespace diff {

// SplitMix64 (Steele et al., OOPSLA 2014): small, and the same everywhere.
class Rng {
public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int  Below(int n) { return (int)(Next() % (uint64_t)n); } // 0 .. n-1
  int  In(int lo, int hi) { return lo + Below(hi - lo + 1); } // both ends included
  bool Chance(int percent) { return Below(100) < percent; }
  double Unit() { return (double)(Next() >> 11) * 0x1p-53; }

private:
  uint64_t state_;
};

// A C function that kernels may call, on the interpreter and the CPU.
struct CFunction {
  const char *name, *ir; // ir: its declaration as text
  void      (*address)(void);
};
const std::vector<CFunction> &CFunctions();

// The length of an axis: per * n + extra, n being the launch's extent along `axis`.
struct Extent {
  static constexpr int kNone = -1; // n is 0
  static constexpr int kAll = -2;  // n is the number of threads
  int axis = kNone, per = 1, extra = 0;
};

enum class Role {
  kRead,   // nobody writes it
  kOwn,    // each thread reads and writes elements of its own
  kAtomic, // changed by atomics whose order does not matter
};

// What an array or value holds: any bits at all, special values among them, or numbers of a range.
struct Fill {
  bool   wild = true;
  double lo = 0, hi = 1; // integers: lo <= x < hi
};

struct ArraySpec {
  Role                role = Role::kRead;
  std::vector<Extent> extent;
  Fill                fill;
};

struct Param {
  std::vector<ArraySpec> arrays; // one for each array in the parameter's type, in order
  Fill                   fill;   // of what is not an array
  int                    alias = -1; // an array that is the one of this earlier parameter
};

struct Case {
  std::string          name;   // for messages
  IrModule            *module = nullptr;
  std::string          kernel;
  std::vector<Param>   params;
  std::vector<int64_t> dim;    // of a launch; the last axis also takes ragged sizes
  bool                 ragged = true;
  bool                 faults = false; // asserts and checks may fail: what they report is compared too
  uint64_t             seed = 1;
};

// --- the description as text: lines that begin with "diff:" in comments of the file (kernels/README.md) ---
std::string Describe(const Case &c, const char *comment); // each line after `comment`
// Reads every "diff:" line for `kernel`, whose parameters `fn` has. Returns a message, or "".
std::string ReadDescription(const std::string &text, const IrFunc *fn, Case *c);

// --- inputs ---
enum class Layout { kDense, kStrided };

struct Buffer {
  std::vector<uint8_t> bytes;
  int64_t              origin = 0; // of element 0, in bytes
  const IrType        *elem = nullptr;
  Role                 role = Role::kRead;
  std::vector<int64_t> length, stride;
  int                  alias = -1; // the buffer that it shares
};

struct Inputs {
  std::vector<Buffer>   buffers;
  std::vector<uint8_t>  args; // the argument block
  std::vector<uint32_t> patch; // where in `args` each buffer's description stands
  std::vector<int64_t>  dim;
  std::string           printed; // by the kernel, when it ran

  void *Bind(); // write the addresses; the argument block
};

Inputs MakeInputs(const Case &c, const std::vector<int64_t> &dim, Layout layout, uint64_t seed);

// Collects what a kernel prints, and gives it to the inputs that it ran on.
class Printed {
public:
  Printed() { hdrt_printer_init(&printer); }
  ~Printed() { hdrt_printer_end(&printer); }
  Printed(const Printed &) = delete;
  void TakeTo(Inputs *in) { Take(&printer, in); }
  static void Take(RtPrinter *p, Inputs *in);
  RtPrinter printer;
};

// "" where all agrees, else what differs first.
std::string Compare(const Inputs &want, const Inputs &got);

// What asserts and checks reported, spelled: text, thread, index and limit.
using Faults = std::set<std::string>;

// --- ways to run; each returns "" or what went wrong. A fault is wrong, unless there is a set
// of faults. `owners`: an element of a kOwn array that two threads use is wrong too. ---
std::string RunInterp(const IrFunc *kernel, Inputs *in, Faults *faults = nullptr, bool owners = false);

std::string Text(const IrModule *m);
std::string SpellFault(const char *text, const int64_t *tid, int64_t index, int64_t limit);

// A copy of a module in an arena of its own, through text and back.
class Copy {
public:
  explicit Copy(const IrModule *m) : Copy(Text(m)) {}
  explicit Copy(const std::string &text);
  ~Copy();
  Copy(const Copy &) = delete;
  std::string Run(const std::string &passes, uint32_t units = 0); // hdopt_run and a verifier; "" or the error
  IrFunc     *Find(const std::string &name) const { return hdir_func_find(module, name.c_str()); }

  IrModule   *module = nullptr;
  std::string problem; // of the copy itself, "" if none

private:
  Arena arena_;
};

// One way to compile a kernel and to run it.
struct CpuWay {
  const char *target = "host"; // hdcpu_target's names
  int         width = 8;
  bool        dense = true;    // the variant that takes dense arrays only
  int         opt_level = 2;
  int         threads = 1;
};

std::string Name(const CpuWay &way);
// The targets, of those that hdcpu_target knows, that this machine runs.
std::vector<const char *> CpuTargets();

class CpuCode {
public:
  // `kernel` has been through the "cpu" pipeline. `problem` says why it could not be compiled.
  CpuCode(const IrFunc *kernel, const CpuWay &way);
  ~CpuCode();
  CpuCode(const CpuCode &) = delete;
  std::string Run(Inputs *in, Faults *faults = nullptr) const; // the first fault, of those there are

  std::string problem;

private:
  CpuWay way_;
  int64_t  group_;
  void  *base_ = nullptr, *entry_ = nullptr;
  size_t size_ = 0;
};

// --- the whole comparison ---

// What is compared with the truth.
struct Rival {
  std::string name;
  std::function<std::string(Inputs *, Faults *)> run;
  bool dense_only = false;
  std::string problem; // why it could not be made
};

struct CheckOptions {
  std::vector<std::string> pipelines = {"cpu"}; // each after "canon", whose result on the interpreter is the truth
  std::vector<CpuWay>      ways;                // each after the "cpu" pipeline
  std::vector<std::function<Rival(const IrFunc *)>> others; // more of them: each is given the kernel after it
  std::vector<int64_t>     inner = {0, 1, 19};  // extents of the last axis, for ragged cases
  std::vector<Layout>      layouts = {Layout::kDense, Layout::kStrided};
};

// `ways` of the compiled ways that this machine has, chosen by the seed, and the sizes of launches that suit them.
CheckOptions RandomOptions(uint64_t seed, int ways);
// All of them: each target and width, dense and general, one thread and two.
CheckOptions AllOptions();
// `ways` of all of them, others for each `turn`: all have had theirs after some turns.
CheckOptions SomeOptions(int turn, int ways);

struct Verdict {
  bool        valid = true; // the truth could be had: no access out of bounds, no assert that fails
  std::string failure;      // "" if all agree
};

Verdict Check(const Case &c, const CheckOptions &options);

} // namespace diff

#endif
