// tools/gpu_check/kernels.cc -- the kernels of tests/diff: compiled here, or run there and compared bit by bit.
#include <algorithm>

#include "backends/nvptx/nvptx.h"
#include "gpu_check.h"
#include "tests/diff/kernel_files.h"
#include "tests/frontend/lang_testing.h"
#include "tests/gpu/on_driver.h"

namespace gpu_check {

namespace {

gpu::Way WayOf(int target, bool dense) { return {target, dense, 2, kBlock}; }

bool IsWanted(const Options &o, const diff::KernelFile &file) {
  bool wanted = o.only.empty();
  for (const std::string &part : o.only) wanted = wanted || file.Name().find(part) != std::string::npos;
  return wanted;
}

// The units that fast kernels find there.
uint32_t UnitsOf(int target) {
  Arena a;
  PtxTarget t = {};
  HdError err = {};
  hdb_arena_init(&a, &hdb_system_allocator);
  hdptx_target(("sm_" + std::to_string(target)).c_str(), &a, &err, &t);
  hdb_arena_free(&a);
  return hdptx_units(&t);
}

// One kernel for all targets.
std::string MakeCase(const Options &o, const std::string &file, IrModule *module, const std::string &kernel,
                     Pack *out) {
  for (int target : o.targets) {
    diff::Copy copy(module);
    std::string problem = copy.Run("gpu", UnitsOf(target));
    for (bool dense : {true, false}) {
      const gpu::Way way = WayOf(target, dense);
      if (problem.empty()) out->Add(KeyOf(file, kernel, way), gpu::Compile(copy.Find(kernel), way, &problem));
      if (!problem.empty()) return file + ", kernel " + kernel + ": " + problem;
    }
  }
  return "";
}

std::string MakeOwn(const Options &o, Pack *out) {
  const std::string path = "tools/gpu_check/kernels.hd";
  Compiled compiled(path, ReadFile(path), "");
  std::string problem = compiled.diagnostics;
  if (!problem.empty()) return problem;
  const IrModule *m = compiled.result.module;
  for (uint32_t k = 0; k < m->nfuncs && problem.empty(); k++)
    if (m->funcs[k]->is_kernel) problem = MakeCase(o, "gpu_check", compiled.result.module, m->funcs[k]->name, out);
  return problem;
}

// The targets that the device takes: the newest, and the oldest, which its driver has most to do with.
std::vector<int> TargetsFor(const Options &o, int sm) {
  std::vector<int> fit;
  for (int t : o.targets)
    if (t <= sm) fit.push_back(t);
  std::sort(fit.begin(), fit.end());
  if (fit.size() > 1) return {fit.back(), fit.front()};
  return fit;
}

} // namespace

std::string Make(const Options &o, Pack *out) {
  std::string problem = MakeOwn(o, out);
  for (const diff::KernelFile &file : diff::KernelFiles()) {
    if (!IsWanted(o, file)) continue;
    std::string trouble = file.ForEachCase([&](const diff::Case &c) {
      if (problem.empty()) problem = MakeCase(o, file.Name(), c.module, c.kernel, out);
    });
    if (problem.empty()) problem = trouble;
    if (!problem.empty()) break;
  }
  return problem;
}

void RunKernels(const Options &o, const Pack &pack, Report *report) {
  const double start = Now();
  const std::vector<int> targets = TargetsFor(o, gpu::Gpu::Get().device.sm);
  if (targets.empty()) {
    report->Check("a target for the device",
                  "it is sm_" + std::to_string(gpu::Gpu::Get().device.sm) + ", older than all");
    return;
  }
  std::vector<double> loads;
  int left_out = 0;
  for (const diff::KernelFile &file : diff::KernelFiles()) {
    if (!IsWanted(o, file)) continue;
    if (Now() - start > o.seconds) {
      left_out++;
      continue;
    }
    std::string problem;
    int cases = 0;
    std::string trouble = file.ForEachCase([&](const diff::Case &c) {
      diff::CheckOptions d;
      d.pipelines.clear();
      d.inner = {0, 1, 33, 300};
      if (!c.dim.empty()) d.inner.push_back(c.dim.back());
      for (size_t t = 0; t < targets.size(); t++) {
        for (bool dense : {true, false}) {
          if (t > 0 && !dense) continue;
          const gpu::Way way = WayOf(targets[t], dense);
          const std::string *bytes = pack.Find(KeyOf(file.Name(), c.kernel, way));
          d.others.push_back([&, way, bytes, t](const IrFunc *) {
            diff::Rival r;
            r.name = gpu::Name(way);
            r.problem = "it is not in the pack";
            if (!bytes) return r;
            double before = Now();
            r = gpu::OnDriver(*bytes, way, t > 0);
            loads.push_back(1e3 * (Now() - before));
            return r;
          });
        }
      }
      diff::Verdict v = diff::Check(c, d);
      cases++;
      if (problem.empty() && (!v.valid || !v.failure.empty())) problem = "kernel " + c.name + ": " + v.failure;
    });
    report->Check(file.Name() + " (" + std::to_string(cases) + ")", problem.empty() ? trouble : problem);
  }
  if (left_out) report->Say("%d files were left out: the time was up\n", left_out);
  if (loads.empty()) return;
  std::sort(loads.begin(), loads.end());
  double sum = 0;
  for (double x : loads) sum += x;
  report->Say("time   %zu modules through the driver's compiler: median %.2f ms, longest %.2f ms, %.1f s in all\n",
              loads.size(), loads[loads.size() / 2], loads.back(), sum / 1e3);
}

} // namespace gpu_check
