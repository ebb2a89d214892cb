// tests/diff/run_cpu.cc -- a kernel as machine code: compiled, loaded, and run by one thread or by two at once.
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

#include "backends/cpu/cpu.h"
#include "diff.h"
#include "runtime/artifact.h"
#include "runtime/loader.h"

namespace diff {
namespace {

__attribute__((noinline)) bool Guarded(Arena *a, const std::function<void()> &f) {
  jmp_buf jb;
  HDB_GUARD(a, jb) {
    f();
    return true;
  }
  return false;
}

// The object, loaded; "" or what went wrong.
std::string Compile(const IrFunc *kernel, const CpuWay &way, Arena *a, RtImage *image) {
  HdError err = {};
  CpuTarget target;
  CpuOptions options = {};
  ::CpuCode code = {};
  options.width = way.width;
  options.dense = way.dense;
  options.padded = true;
  options.opt_level = way.opt_level;
  if (hdcpu_target(way.target, a, &err, &target) != HD_OK) return err.detail;
  if (hdcpu_compile(kernel, &target, &options, CPU_EMIT_OBJECT, a, &err, &code) != HD_OK) return err.detail;
  std::vector<RtImport> imports;
  for (const CFunction &f : CFunctions()) imports.push_back({f.name, "", f.address});
  HdStatus status = hdrt_image_load(code.object, code.object_size, code.symbol, (uint32_t)imports.size(),
                                    imports.data(), &err, image);
  return status == HD_OK ? "" : err.detail;
}

// Share `part` of `parts` of every row. The cuts fall between groups, and else anywhere, not on multiples of a gang.
void RunPart(RtEntry entry, const void *args, const std::vector<int64_t> &dim, int64_t group, int part, int parts,
             RtFault *fault, RtPrinter *printer) {
  RtSpan span = {};
  int64_t rows = 1, n = dim.back();
  span.ndim = (int32_t)dim.size();
  span.serial = parts == 1;
  span.fault = fault;
  span.print = hdrt_print;
  span.printer = printer;
  span.begin = n / group * part / parts * group;
  span.end = n / group * (part + 1) / parts * group;
  for (int64_t &d : span.dim) d = 1;
  for (size_t k = 0; k < dim.size(); k++) span.dim[k] = dim[k];
  for (size_t k = 0; k + 1 < dim.size(); k++) rows *= dim[k];
  for (int64_t row = 0; row < rows; row++) {
    int64_t rest = row;
    for (size_t k = dim.size() - 1; k-- > 0;) span.at[k] = rest % dim[k], rest /= dim[k];
    entry(args, &span, nullptr);
  }
}

} // namespace

std::string Name(const CpuWay &way) {
  return std::string(way.target) + " width " + std::to_string(way.width) + (way.dense ? " dense" : " general") + " -O" +
         std::to_string(way.opt_level) + ", " + std::to_string(way.threads) + " threads";
}

std::vector<const char *> CpuTargets() {
  std::vector<const char *> t = {"x86-64-v2"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) t.push_back("x86-64-v3");
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    t.push_back("x86-64-v4");
  return t;
}

CpuCode::CpuCode(const IrFunc *kernel, const CpuWay &way) : way_(way), group_(std::max(1, kernel->group)) {
  Arena a;
  RtImage image = {};
  hdb_arena_init(&a, &hdb_system_allocator);
  problem = "out of memory";
  Guarded(&a, [&] { problem = Compile(kernel, way, &a, &image); });
  hdb_arena_free(&a);
  base_ = image.base, size_ = image.size, entry_ = image.entry;
}

CpuCode::~CpuCode() {
  RtImage image = {base_, size_, entry_};
  hdrt_image_free(&image);
}

std::string CpuCode::Run(Inputs *in, Faults *faults) const {
  RtFault fault = {};
  const void *args = in->Bind();
  RtEntry entry = (RtEntry)entry_;
  Printed printed;
  if (way_.threads == 1) {
    RunPart(entry, args, in->dim, group_, 0, 1, &fault, &printed.printer);
  } else {
    std::vector<std::thread> threads;
    for (int k = 0; k < way_.threads; k++)
      threads.emplace_back(
          [&, k] { RunPart(entry, args, in->dim, group_, k, way_.threads, &fault, &printed.printer); });
    for (std::thread &t : threads) t.join();
  }
  printed.TakeTo(in);
  if (faults) faults->clear();
  if (fault.state == 0) return "";
  std::string text = SpellFault(fault.text, fault.tid, fault.index, fault.limit);
  if (!faults) return "a fault: " + text;
  faults->insert(text);
  return "";
}

} // namespace diff
