// tools/gpu_check/main.cc -- gpu_check make FILE, gpu_check run FILE REPORT; run.sh is what one types on the far machine.
#include <cstdlib>
#include <cstring>

#include "gpu_check.h"
#include "tests/gpu/on_driver.h"

using namespace gpu_check;

static int Usage() {
  fprintf(stderr, "usage: gpu_check make PACK [--targets=70,90] [--only=NAME,..]\n"
                  "       gpu_check run PACK REPORT [--only=NAME,..] [--seconds=N]\n");
  return 2;
}

static bool ReadOptions(int argc, char **argv, int first, Options *o) {
  for (int i = first; i < argc; i++) {
    const std::string a = argv[i];
    if (a.rfind("--only=", 0) == 0) {
      for (const char *p = a.c_str() + 7, *end; *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, ",");
        o->only.emplace_back(p, end);
      }
    } else if (a.rfind("--seconds=", 0) == 0) {
      o->seconds = atof(a.c_str() + 10);
    } else if (a.rfind("--targets=", 0) == 0) {
      o->targets.clear();
      for (const char *p = a.c_str() + 10; *p; p += strcspn(p, ","), p += *p == ',') o->targets.push_back(atoi(p));
    } else {
      return false;
    }
  }
  return true;
}

static int MakeAll(const std::string &path, const Options &o) {
  Pack pack;
  std::string problem = Make(o, &pack);
  if (problem.empty()) problem = pack.Write(path);
  if (!problem.empty()) fprintf(stderr, "gpu_check: %s\n", problem.c_str());
  return problem.empty() ? 0 : 1;
}

static int RunAll(const std::string &path, const std::string &report_path, Options o) {
  const double start = Now();
  Report r(report_path);
  Pack pack;
  if (!r.Ok()) {
    fprintf(stderr, "gpu_check: cannot write %s\n", report_path.c_str());
    return 1;
  }
  std::string problem = pack.Read(path);
  const gpu::Gpu &g = gpu::Gpu::Get();
  std::vector<int> made;
  for (int t : o.targets)
    if (pack.Find(KeyOf("gpu_check", "empty", {t, true, 2, kBlock}))) made.push_back(t);
  o.targets = made;
  if (problem.empty()) problem = g.problem;
  r.Check("the driver and a device", problem);
  if (problem.empty()) {
    r.Say("device %s, sm_%d; the driver %s supports CUDA %d.%d; %d devices; pools: %s\n", g.device.text, g.device.sm,
          g.driver.path, g.driver.version / 1000, g.driver.version % 1000 / 10, g.driver.count,
          g.device.pool.ordered ? "the driver's" : "lists");
    RunChecks(o, pack, &r);
    RunTimings(o, pack, &r);
    RunKernels(o, pack, &r);
  }
  r.Say("%s: %d passed, %d failed, %.1f s\n", r.failed ? "FAILED" : "all is well", r.passed, r.failed, Now() - start);
  return r.failed ? 1 : 0;
}

int main(int argc, char **argv) {
  Options o;
  if (argc >= 3 && strcmp(argv[1], "make") == 0 && ReadOptions(argc, argv, 3, &o)) return MakeAll(argv[2], o);
  if (argc >= 4 && strcmp(argv[1], "run") == 0 && ReadOptions(argc, argv, 4, &o)) return RunAll(argv[2], argv[3], o);
  return Usage();
}
