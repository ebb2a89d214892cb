// tests/diff/run_interp.cc -- a whole launch on the interpreter, and copies of modules for passes to work on.
#include <algorithm>
#include <cstring>
#include <functional>

#include "backends/interp/interp.h"
#include "diff.h"
#include "passes/passes.h"

namespace diff {
namespace {

struct Watch {
  const Inputs *in;
  Faults failed; // asserts and checks that did
  int32_t thread = 0;
  std::vector<std::vector<int32_t>> owner; // of each byte of each array that has such: a thread and 1, or 0
  bool shared = false;                     // two threads met at an element that should belong to one
  Printed printed;
};

void Print(void *user, const char *format, const int64_t *tid, uint32_t n, const uint64_t *values) {
  Watch *w = (Watch *)user;
  int64_t thread = 0;
  for (size_t k = 0; k < w->in->dim.size(); k++) thread = thread * w->in->dim[k] + tid[k];
  hdrt_printer_add(&w->printed.printer, thread, format, n, values);
}

void Report(void *user, const IrInst *i, const int64_t *tid, int64_t index, int64_t limit) {
  ((Watch *)user)->failed.insert(SpellFault(i->text, tid, index, limit));
}

bool Owned(Watch *w, size_t which, size_t at, size_t size) {
  std::vector<int32_t> &owner = w->owner[which];
  if (owner.empty()) owner.resize(w->in->buffers[which].bytes.size());
  for (size_t k = at; k < at + size; k++) {
    if (owner[k] && owner[k] != w->thread) w->shared = true;
    owner[k] = w->thread;
  }
  return !w->shared;
}

// Whether an address lies in the memory of an array, between its first and its last element, and may be used by this thread.
bool MayAccess(void *user, const void *address, size_t size) {
  Watch *w = (Watch *)user;
  for (size_t k = 0; k < w->in->buffers.size(); k++) {
    const Buffer &b = w->in->buffers[k];
    if (b.alias >= 0) continue;
    int64_t at = (const uint8_t *)address - b.bytes.data();
    if (at >= 128 && at + (int64_t)size <= (int64_t)b.bytes.size() - 128)
      return b.role != Role::kOwn || w->owner.empty() || Owned(w, k, (size_t)at, size);
  }
  return false;
}

// One row; thread by thread, or group by group, if it matters which one it is.
HdStatus RunRow(InterpLaunch *launch, Watch *w, int64_t n, HdError *err) {
  const bool whole = w->owner.empty();
  for (int64_t x = 0; x < n; x = launch->end) {
    launch->begin = x;
    launch->end = whole ? n : x + std::max(1, launch->kernel->group);
    w->thread++;
    HD_TRY(hdinterp_run(launch, &hdb_system_allocator, err));
  }
  return HD_OK;
}

// Runs f, which may allocate in `a`; false if there was no memory.
__attribute__((noinline)) bool Guarded(Arena *a, const std::function<void()> &f) {
  jmp_buf jb;
  HDB_GUARD(a, jb) {
    f();
    return true;
  }
  return false;
}

} // namespace

std::string SpellFault(const char *text, const int64_t *tid, int64_t index, int64_t limit) {
  std::string at;
  for (int k = 0; k < HD_MAX_DIMS; k++) at += (k ? ", " : "") + std::to_string(tid[k]);
  return std::string(text ? text : "") + " failed in thread " + at + ": index " + std::to_string(index) + ", limit " +
         std::to_string(limit);
}

std::string RunInterp(const IrFunc *kernel, Inputs *in, Faults *faults, bool owners) {
  Watch watch;
  watch.in = in;
  if (owners) watch.owner.resize(in->buffers.size());
  HdError err = {};
  InterpLaunch launch = {};
  launch.kernel = kernel;
  launch.args = in->Bind();
  launch.ndim = (int32_t)in->dim.size();
  launch.print = Print;
  launch.report = Report;
  launch.user = &watch;
  launch.max_steps = 4000000;
  launch.may_access = MayAccess;
  std::vector<InterpFunction> functions;
  for (const CFunction &f : CFunctions()) functions.push_back({f.name, f.address});
  launch.functions = functions.data();
  launch.nfunctions = (uint32_t)functions.size();
  int64_t rows = 1;
  for (size_t k = 0; k < in->dim.size(); k++) launch.dim[k] = in->dim[k];
  for (size_t k = 0; k + 1 < in->dim.size(); k++) rows *= in->dim[k];
  for (int64_t row = 0; row < rows; row++) {
    int64_t rest = row;
    for (size_t k = in->dim.size() - 1; k-- > 0;) launch.at[k] = rest % in->dim[k], rest /= in->dim[k];
    HdStatus status = RunRow(&launch, &watch, in->dim.back(), &err);
    if (watch.shared) return "two threads use an element that should belong to one";
    if (status != HD_OK) return std::string("interpreter: ") + err.detail;
  }
  watch.printed.TakeTo(in);
  if (faults) *faults = watch.failed;
  return faults || watch.failed.empty() ? "" : *watch.failed.begin();
}

std::string Text(const IrModule *m) {
  Arena a;
  std::string out;
  hdb_arena_init(&a, &hdb_system_allocator);
  Guarded(&a, [&] {
    Buf b;
    hdb_buf_init(&b, &a);
    hdir_print_module(&b, m, nullptr);
    out.assign(b.data ? b.data : "", b.len);
  });
  hdb_arena_free(&a);
  return out;
}

Copy::Copy(const std::string &text) {
  hdb_arena_init(&arena_, &hdb_system_allocator);
  HdError err = {};
  HdStatus status = HD_ERR_NOMEM;
  Guarded(&arena_, [&] {
    char *kept = hdb_strndup(&arena_, text.data(), text.size());
    status = hdir_parse(&arena_, "copy", kept, text.size(), &err, &module);
  });
  if (status != HD_OK) problem = std::string("the printed text does not parse: ") + err.detail;
}

Copy::~Copy() { hdb_arena_free(&arena_); }

std::string Copy::Run(const std::string &passes, uint32_t units) {
  if (!problem.empty()) return problem;
  HdError err = {};
  OptContext cx = {};
  HdStatus status = HD_ERR_NOMEM;
  cx.err = &err;
  cx.units = units;
  cx.verify = true;
  Guarded(&arena_, [&] { status = hdopt_run(module, passes.c_str(), &cx); });
  return status == HD_OK ? "" : passes + ": " + err.detail;
}

} // namespace diff
