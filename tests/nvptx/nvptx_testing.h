// tests/nvptx/nvptx_testing.h -- kernels to LLVM text and PTX, programs with every op, and ptxas where there is one.
#ifndef TESTS_NVPTX_TESTING_H
#define TESTS_NVPTX_TESTING_H

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "backends/llvm/llvm_door.h"
#include "backends/nvptx/nvptx.h"
#include "passes/passes.h"

namespace nvptx_test {

inline std::vector<std::string> Targets() {
  std::vector<std::string> names;
  for (uint32_t i = 0; hdptx_target_name(i); i++) names.push_back(hdptx_target_name(i));
  return names;
}

inline bool IsLong() {
  const char *s = getenv("HEDDLE_LONG");
  return s && *s && strcmp(s, "0") != 0;
}

// An arena whose end of memory fails the test.
class Memory {
public:
  Memory() { hdb_arena_init(&a, &hdb_system_allocator), a.on_oom = &jump_; }
  ~Memory() { hdb_arena_free(&a); }
  Memory(const Memory &) = delete;
  Arena a;

private:
  jmp_buf jump_;
};

struct Options {
  std::string target = "sm_75", passes = "gpu";
  PtxOptions ptx = {true, true, false, 2, 0};
  unsigned emit = PTX_EMIT_PTX;
};

// A module from IR text, after the passes.
class Module {
public:
  explicit Module(const std::string &text, const std::string &passes = "gpu", uint32_t units = 0) {
    OptContext cx = {};
    cx.err = &err;
    cx.units = units;
    status = hdir_parse(&memory.a, "test", text.data(), text.size(), &err, &m);
    if (status == HD_OK) status = hdir_verify(m, &err);
    if (status == HD_OK && !passes.empty()) status = hdopt_run(m, passes.c_str(), &cx);
    EXPECT_EQ(status, HD_OK) << err.detail << " line " << err.where.line << "\n" << text;
  }
  const IrFunc *Kernel(const char *name = nullptr) const {
    for (uint32_t k = 0; m && k < m->nfuncs; k++)
      if (m->funcs[k]->is_kernel && (!name || !strcmp(name, m->funcs[k]->name))) return m->funcs[k];
    return nullptr;
  }
  // The code, in this module's memory; `ptx` is NULL after an error, which `err` has.
  PtxCode Compile(const IrFunc *kernel, const Options &o) {
    PtxTarget target;
    PtxCode code = {};
    status = hdptx_target(o.target.c_str(), &memory.a, &err, &target);
    if (status == HD_OK) status = hdptx_compile(kernel, &target, &o.ptx, o.emit, &memory.a, &err, &code);
    return code;
  }

  Memory memory;
  HdError err = {};
  HdStatus status = HD_OK;
  IrModule *m = nullptr;
};

inline std::string Ptx(const std::string &text, const Options &o = Options()) {
  Module m(text, o.passes);
  PtxCode c = m.Compile(m.Kernel(), o);
  EXPECT_EQ(m.status, HD_OK) << o.target << ": " << m.err.detail;
  return c.ptx ? c.ptx : "";
}

inline std::string Llvm(const std::string &text, Options o = Options()) {
  Module m(text, o.passes);
  o.emit = PTX_EMIT_LLVM;
  PtxCode c = m.Compile(m.Kernel(), o);
  EXPECT_EQ(m.status, HD_OK) << o.target << ": " << m.err.detail;
  return c.llvm ? c.llvm : "";
}

// Before 22 not every target is known, and code for an older one is made instead.
inline bool IsNewLlvm() {
  HdError     err = {};
  const char *version = hdllvm_open(&err) == HD_OK ? hdllvm_version(nullptr) : nullptr;
  return version && atoi(version) >= 22;
}

// --- ptxas ---

inline const std::string &Ptxas() { // "" where there is none
  static const std::string path = [] {
    for (const char *p : {"/usr/local/cuda/bin/ptxas", "/usr/local/bin/ptxas", "/usr/bin/ptxas"})
      if (!access(p, X_OK)) return std::string(p);
    return std::string();
  }();
  return path;
}

#define NEEDS_PTXAS()                                                                                                  \
  if (Ptxas().empty()) GTEST_SKIP() << "ptxas, of the CUDA toolkit, is not here"

// Assembles the text for a GPU; "" or what ptxas says. Text for an older GPU than `sm` does too.
inline std::string Assemble(const std::string &ptx, const std::string &sm, std::string *verbose = nullptr) {
  const char *tmp = getenv("TEST_TMPDIR");
  std::string base = std::string(tmp ? tmp : "/tmp") + "/ptx_" + std::to_string(getpid());
  std::ofstream(base + ".ptx") << ptx;
  std::string command = Ptxas() + (verbose ? " -v" : "") + " -arch=" + sm + " " + base + ".ptx -o " + base +
                        ".cubin >" + base + ".log 2>&1";
  int rc = system(command.c_str());
  std::stringstream log;
  log << std::ifstream(base + ".log").rdbuf();
  if (verbose) *verbose = log.str();
  for (const char *end : {".ptx", ".cubin", ".log"}) unlink((base + end).c_str());
  return rc ? log.str() : "";
}

// --- every scalar op on one type, by ops.def ---

inline const std::vector<std::string> &Types() {
  static const std::vector<std::string> names = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                 "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return names;
}
inline int SizeOf(size_t t) { // bytes in memory
  static const int size[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return size[t];
}
inline bool IsFloat(size_t t) { return t >= 9; }
inline bool IsInt(size_t t) { return t >= 1 && t <= 8; }

inline bool Takes(const IrOpRow &op, size_t t) {
  std::string n = op.name;
  switch (op.operands[0]) {
  case 'F': return n == "fma" ? t >= 11 : IsFloat(t);
  case 'I': return IsInt(t);
  case 'L': return t == 0 || IsInt(t);
  case 'N': return t != 0;
  case 'T': return op.result[0] == 'b';
  default: return false;
  }
}

inline bool IsElementwise(int op) {
  return hdir_ops[op].effect == FX_PURE && op <= IR_ge; // arithmetic, bits, comparison; the rest has cases of its own
}

// A kernel with all ops on a type: inputs a, b, c, and an output for each op. `outputs` gets the types of these. `first`
// and `second` are the first two operands: a constant, or "%a", "%b".
inline std::string AllOps(size_t t, std::vector<size_t> *outputs, std::vector<std::string> *names = nullptr,
                          const std::string &first = "%a", const std::string &second = "%b") {
  outputs->clear();
  std::string ty = Types()[t], head = "kernel @ops_" + ty + "(", body = "  %i: i32 = tid 0\n";
  for (const char *v : {"a", "b", "c"}) {
    head += std::string("%x") + v + ": array<" + ty + ", 1>, ";
    body += std::string("  %p") + v + ": ptr<" + ty + "> = index %x" + v + ", %i\n  %" + v + ": " + ty + " = load %p" +
            v + "\n";
  }
  auto add = [&](const std::string &what, size_t res, const std::string &before, const std::string &expr) {
    std::string s = std::to_string(outputs->size()), rt = Types()[res];
    head += (outputs->empty() ? "%o" : ", %o") + s + ": array<" + rt + ", 1>";
    body += before + "  %r" + s + ": " + rt + " = " + expr + "\n  %q" + s + ": ptr<" + rt + "> = index %o" + s +
            ", %i\n  store %q" + s + ", %r" + s + "\n";
    outputs->push_back(res);
    if (names) names->push_back(what);
  };
  for (int op = 0; op < IR_NOPS; op++) {
    const IrOpRow &r = hdir_ops[op];
    if (!IsElementwise(op) || !Takes(r, t)) continue;
    size_t n = strlen(r.operands);
    add(r.name, r.result[0] == 'b' ? 0 : t, "",
        std::string(r.name) + " " + first + (n > 1 ? ", " + second : "") + (n > 2 ? ", %c" : ""));
  }
  add("select", t, "  %rc: bool = lt " + first + ", " + second + "\n", "select %rc, " + first + ", " + second);
  for (size_t to = 0; to < Types().size(); to++) {
    if (to == t) continue;
    add("cvt " + Types()[to], to, "", "cvt %a");
    if (SizeOf(to) == SizeOf(t) && to && t) add("bitcast " + Types()[to], to, "", "bitcast %a");
  }
  return head + ") {\n" + body + "  return\n}\n";
}

} // namespace nvptx_test

#endif
