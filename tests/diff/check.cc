// tests/diff/check.cc -- every way to run a case, against the interpreter.
#include "diff.h"

namespace diff {
namespace {

std::vector<std::vector<int64_t>> Launches(const Case &c, const CheckOptions &o) {
  if (!c.ragged) return {c.dim};
  std::vector<std::vector<int64_t>> all;
  for (int64_t n : o.inner) {
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

} // namespace

Verdict Check(const Case &c, const CheckOptions &o) {
  Copy canon(c.module);
  std::string problem = canon.Run("canon");
  if (!problem.empty()) return {true, problem};
  std::vector<std::unique_ptr<Copy>> copies;
  for (const std::string &pipeline : o.pipelines) {
    copies.push_back(std::make_unique<Copy>(canon.module));
    problem = copies.back()->Run(pipeline);
    if (!problem.empty()) return {true, problem};
  }
  for (const std::vector<int64_t> &dim : Launches(c, o)) {
    for (Layout layout : o.layouts) {
      const Inputs fresh = MakeInputs(c, dim, layout, c.seed);
      Inputs       want = fresh;
      problem = RunInterp(canon.Find(c.kernel), &want);
      if (!problem.empty()) return {false, Where(fresh, layout, "canon") + problem};
      for (size_t k = 0; k < copies.size(); k++) {
        Inputs got = fresh;
        problem = RunInterp(copies[k]->Find(c.kernel), &got);
        if (problem.empty()) problem = Compare(want, got);
        if (!problem.empty()) return {true, Where(fresh, layout, o.pipelines[k]) + problem};
      }
    }
  }
  return {};
}

} // namespace diff
