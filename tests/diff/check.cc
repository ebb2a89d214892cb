// tests/diff/check.cc -- every way to run a case, against the interpreter.
#include <algorithm>
#include <functional>

#include "diff.h"
#include "ir/layout.h"

namespace diff {
namespace {

using Dims = std::vector<int64_t>;

// A launch of a kernel with groups is of whole groups.
std::vector<Dims> Launches(const Case &c, const CheckOptions &o, int64_t group) {
  if (!c.ragged) return {c.dim};
  std::vector<Dims> all;
  for (int64_t n : group ? std::vector<int64_t>{0, group, 3 * group} : o.inner) {
    all.push_back(c.dim);
    all.back().back() = n;
  }
  return all;
}

std::string Where(const Inputs &in, Layout layout, const std::string &how) {
  std::string text = how + ", dims";
  for (int64_t n : in.dim) text += " " + std::to_string(n);
  return text + (layout == Layout::kDense ? ", dense: " : ", strided: ");
}

// Which of several faults is kept is not promised; that there is one, and that it is true, is.
std::string CompareFaults(const Faults &want, const Faults &got) {
  if (want.empty() != got.empty())
    return got.empty() ? "wanted a fault: " + *want.begin() : "wanted no fault, got: " + *got.begin();
  for (const std::string &f : got)
    if (!want.count(f)) return "wanted another fault, like: " + *want.begin() + "; got: " + f;
  return "";
}

class Checker {
public:
  Checker(const Case &c, const CheckOptions &o) : c_(c), o_(o), canon_(c.module) {}

  Verdict Run() {
    std::string problem = canon_.Run("canon");
    if (!problem.empty()) return {true, problem};
    int32_t rank = hdir_launch_rank(canon_.Find(c_.kernel));
    if (rank && rank != (int32_t)c_.dim.size())
      return {false, "the kernel uses " + std::to_string(rank) + " axes of the launch"};
    problem = MakeRivals();
    if (!problem.empty()) return {true, problem};
    for (const Dims &dim : Launches(c_, o_, canon_.Find(c_.kernel)->group)) {
      for (Layout layout : o_.layouts) {
        Verdict v = Launch(dim, layout);
        if (!v.valid || !v.failure.empty()) return v;
      }
    }
    return {};
  }

private:
  std::string AddPipeline(const std::string &pipeline) {
    copies_.push_back(std::make_unique<Copy>(canon_.module));
    std::string problem = copies_.back()->Run(pipeline);
    if (!problem.empty()) return problem;
    const IrFunc *kernel = copies_.back()->Find(c_.kernel);
    rivals_.push_back({pipeline, [=](Inputs *in, Faults *f) { return RunInterp(kernel, in, f); }, false, ""});
    return "";
  }

  std::string AddWay(const CpuWay &way) {
    codes_.push_back(std::make_unique<CpuCode>(copies_[0]->Find(c_.kernel), way));
    const CpuCode *code = codes_.back().get();
    if (!code->problem.empty()) return Name(way) + ": " + code->problem;
    rivals_.push_back({Name(way), [=](Inputs *in, Faults *f) { return code->Run(in, f); }, way.dense, ""});
    return "";
  }

  std::string MakeRivals() {
    std::string problem;
    bool compiled = !o_.ways.empty() || !o_.others.empty();
    if (compiled) problem = AddPipeline("cpu");
    for (const std::string &p : o_.pipelines)
      if (problem.empty() && (!compiled || p != "cpu")) problem = AddPipeline(p);
    for (const CpuWay &way : o_.ways)
      if (problem.empty()) problem = AddWay(way);
    if (problem.empty() && !o_.others.empty()) problem = AddPipeline("gpu");
    for (const auto &make : o_.others) {
      if (!problem.empty()) break;
      rivals_.push_back(make(copies_.back()->Find(c_.kernel)));
      const Rival &r = rivals_.back();
      if (!r.problem.empty()) problem = r.name + ": " + r.problem;
    }
    return problem;
  }

  Verdict Launch(const Dims &dim, Layout layout) const {
    const Inputs fresh = MakeInputs(c_, dim, layout, c_.seed);
    Inputs want = fresh;
    Faults true_faults, faults;
    std::string problem = RunInterp(canon_.Find(c_.kernel), &want, c_.faults ? &true_faults : nullptr, true);
    if (!problem.empty()) return {false, Where(fresh, layout, "canon") + problem};
    for (const Rival &r : rivals_) {
      if (r.dense_only && layout != Layout::kDense) continue;
      Inputs got = fresh;
      problem = r.run(&got, c_.faults ? &faults : nullptr);
      if (problem.empty()) problem = Compare(want, got);
      if (problem.empty() && c_.faults) problem = CompareFaults(true_faults, faults);
      if (!problem.empty()) return {true, Where(fresh, layout, r.name) + problem};
    }
    return {};
  }

  const Case &c_;
  const CheckOptions &o_;
  Copy canon_;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::vector<std::unique_ptr<CpuCode>> codes_;
  std::vector<Rival> rivals_;
};

} // namespace

namespace {

const int kWidths[] = {4, 8, 16, 1, 2, 32};

// 0, 1, around one gang of each width, and a few gangs with a rest.
void AddSizes(CheckOptions *o) {
  o->inner = {0, 1};
  int widest = 1;
  for (const CpuWay &w : o->ways) {
    for (int n = w.width - 1; n <= w.width + 1; n++)
      if (n > 1 && std::find(o->inner.begin(), o->inner.end(), n) == o->inner.end()) o->inner.push_back(n);
    widest = std::max(widest, w.width);
  }
  o->inner.push_back(widest * 3 + 5);
}

} // namespace

CheckOptions RandomOptions(uint64_t seed, int ways) {
  Rng r(seed * 77 + 5);
  CheckOptions o;
  std::vector<const char *> targets = CpuTargets();
  for (int k = 0; k < ways; k++) {
    CpuWay w;
    w.target = targets[(size_t)r.Below((int)targets.size())];
    w.width = kWidths[r.Below(8) % 6 < 3 ? r.Below(3) : r.Below(6)];
    w.dense = r.Chance(40);
    w.opt_level = r.Chance(60) ? 0 : r.In(1, 2);
    w.threads = r.In(1, 2);
    o.ways.push_back(w);
  }
  AddSizes(&o);
  return o;
}

static std::vector<CpuWay> AllWays() {
  std::vector<CpuWay> ways;
  const char *best = CpuTargets().back();
  for (const char *target : CpuTargets())
    for (int width : {4, 8, 16})
      for (bool dense : {false, true}) ways.push_back({target, width, dense, 2, 1});
  ways.push_back({best, 1, false, 2, 1});
  ways.push_back({best, 32, true, 2, 1});
  ways.push_back({best, 8, true, 2, 2});
  ways.push_back({best, 16, false, 0, 2});
  ways.push_back({"x86-64-v2", 4, false, 1, 2});
  return ways;
}

CheckOptions AllOptions() {
  CheckOptions o;
  o.ways = AllWays();
  AddSizes(&o);
  o.inner.push_back(300);
  return o;
}

CheckOptions SomeOptions(int turn, int ways) {
  CheckOptions o;
  std::vector<CpuWay> all = AllWays();
  // A step that shares no factor with the number of ways, so that neighbours are unlike.
  for (int k = 0; k < ways; k++) o.ways.push_back(all[(size_t)(turn * ways + k) * 5 % all.size()]);
  AddSizes(&o);
  return o;
}

Verdict Check(const Case &c, const CheckOptions &options) { return Checker(c, options).Run(); }

} // namespace diff
