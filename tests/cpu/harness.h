// tests/cpu/harness.h -- run one kernel on the interpreter and as machine code, and compare what they leave in memory.
//
// Arrays stand at the very end of their pages, before one that cannot be touched, so that a read past the end is a
// crash and no luck.
#ifndef TESTS_CPU_HARNESS_H
#define TESTS_CPU_HARNESS_H

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/cpu.h"
#include "backends/interp/interp.h"
#include "ir/layout.h"
#include "passes/passes.h"
#include "runtime/artifact.h"
#include "runtime/loader.h"

namespace cpu_test {

struct Arg {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> length;  // of an array; empty for a value
  std::vector<int64_t> stride;  // in elements; empty: dense
};

template <class T>
Arg Value(T x) {
  Arg a;
  a.bytes.resize(sizeof x);
  memcpy(a.bytes.data(), &x, sizeof x);
  return a;
}

template <class T>
Arg Array(const std::vector<T> &v, std::vector<int64_t> length = {}, std::vector<int64_t> stride = {}) {
  Arg a;
  a.bytes.resize(v.size() * sizeof(T));
  if (!v.empty()) memcpy(a.bytes.data(), v.data(), a.bytes.size());
  a.length = length.empty() ? std::vector<int64_t>{(int64_t)v.size()} : length;
  a.stride = stride;
  return a;
}

template <class T>
std::vector<T> As(const Arg &a) {
  std::vector<T> v(a.bytes.size() / sizeof(T));
  if (!v.empty()) memcpy(v.data(), a.bytes.data(), v.size() * sizeof(T));
  return v;
}

// Memory that ends where its pages end.
class Guarded {
 public:
  explicit Guarded(const std::vector<uint8_t> &from) : size_(from.size()) {
    size_t pages = (size_ + 4095) / 4096 * 4096;
    map_size_ = pages + 8192;
    map_ = (uint8_t *)mmap(nullptr, map_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages) mprotect(map_ + 4096, pages, PROT_READ | PROT_WRITE);
    at_ = map_ + 4096 + pages - size_;
    if (size_) memcpy(at_, from.data(), size_);
  }
  ~Guarded() { munmap(map_, map_size_); }
  Guarded(const Guarded &) = delete;
  uint8_t *at() const { return at_; }
  void     save(std::vector<uint8_t> *to) const {
    if (size_) memcpy(to->data(), at_, size_);
  }

 private:
  uint8_t *map_, *at_;
  size_t   map_size_, size_;
};

struct Fault {
  int         count = 0;
  std::string text;
  int64_t     tid[4] = {}, index = 0, limit = 0;
  int         line = 0, column = 0;
};

struct Way { // of running: the interpreter if width is 0
  std::string target;
  int         width = 0;
  bool        dense = true, padded = false, serial = false, piped = true;
  int         opt_level = 2;
  bool        fast = false;
  std::string name() const {
    return width ? target + " w" + std::to_string(width) + (dense ? "" : " strided") + (serial ? " serial" : "") : "interp";
  }
};

class Kernel {
 public:
  explicit Kernel(const std::string &text, const char *name = nullptr) {
    hdb_arena_init(&arena_, &hdb_system_allocator);
    arena_.on_oom = &oom_;
    HdStatus st = hdir_parse(&arena_, "test", text.data(), text.size(), &err_, &module_);
    EXPECT_EQ(st, HD_OK) << err_.detail << " line " << err_.where.line << "\n" << text;
    if (st != HD_OK) return;
    EXPECT_EQ(hdir_verify(module_, &err_), HD_OK) << err_.detail << " line " << err_.where.line << "\n" << text;
    for (uint32_t k = 0; k < module_->nfuncs; k++)
      if (module_->funcs[k]->is_kernel && (!name || !strcmp(name, module_->funcs[k]->name))) fn_ = module_->funcs[k];
    text_ = text;
    name_ = fn_->name;
  }
  ~Kernel() {
    for (auto &c : code_) hdrt_image_free(&c.image);
    hdb_arena_free(&arena_);
  }
  Kernel(const Kernel &) = delete;

  // Run over `dim`; arrays in `args` take the results.
  Fault Run(const Way &way, std::vector<Arg> *args, std::vector<int64_t> dim) {
    Fault fault;
    std::vector<std::unique_ptr<Guarded>> memory;
    std::vector<uint8_t>                  block = Block(*args, &memory);
    RtFault rf = {};
    RtEntry entry = nullptr;
    if (way.width) {
      entry = Entry(way);
      if (!entry) return fault;
    }
    int64_t outer[3] = {1, 1, 1}, rows = 1;
    for (size_t k = 0; k + 1 < dim.size(); k++) outer[k] = dim[k], rows *= dim[k];
    for (int64_t r = 0; r < rows; r++) {
      RtSpan  s = {};
      int64_t rest = r;
      for (int k = 0; k < 4; k++) s.dim[k] = k < (int)dim.size() ? dim[k] : 1;
      for (int k = (int)dim.size() - 2; k >= 0; k--) s.at[k] = rest % outer[k], rest /= outer[k];
      s.begin = 0;
      s.end = dim.back();
      s.ndim = (int32_t)dim.size();
      s.serial = way.serial;
      s.fault = &rf;
      if (way.width) entry(block.data(), &s, nullptr);
      else Interp(block.data(), s, &fault);
    }
    if (rf.state == 2) {
      fault.count = 1;
      fault.text = rf.text;
      memcpy(fault.tid, rf.tid, sizeof rf.tid);
      fault.index = rf.index, fault.limit = rf.limit, fault.line = rf.line, fault.column = rf.column;
    }
    for (size_t k = 0; k < args->size(); k++)
      if (memory[k]) memory[k]->save(&(*args)[k].bytes);
    return fault;
  }

  std::string Llvm(const Way &way) { // for messages
    Compiled *c = Compile(way);
    return c ? c->llvm : "(none)";
  }
  const IrFunc *fn() const { return fn_; }
  std::vector<InterpFunction> functions;  // C functions that the kernel may call
  RtEntry Entry(const Way &way) {
    Compiled *c = Compile(way);
    return c ? (RtEntry)(uintptr_t)c->image.entry : nullptr;
  }

 private:
  struct Compiled {
    Way         way;
    RtImage     image;
    std::string llvm;
  };

  std::vector<uint8_t> Block(const std::vector<Arg> &args, std::vector<std::unique_ptr<Guarded>> *memory) {
    std::vector<uint32_t> at(args.size() + 1);
    std::vector<uint8_t>  block(hdir_args_layout(fn_, at.data()) + 8);
    for (size_t k = 0; k < args.size(); k++) {
      const Arg &a = args[k];
      memory->emplace_back(a.length.empty() ? nullptr : new Guarded(a.bytes));
      if (a.length.empty()) {
        memcpy(&block[at[k]], a.bytes.data(), a.bytes.size());
        continue;
      }
      int64_t desc[9] = {(int64_t)(uintptr_t)memory->back()->at()}, n = (int64_t)a.length.size(), step = 1;
      for (int64_t d = n - 1; d >= 0; d--) {
        desc[1 + d] = a.length[d];
        desc[1 + n + d] = a.stride.empty() ? step : a.stride[d];
        step *= a.length[d];
      }
      memcpy(&block[at[k]], desc, sizeof(int64_t) * (1 + 2 * n));
    }
    return block;
  }

  void Interp(const void *args, const RtSpan &s, Fault *fault) {
    InterpLaunch l = {};
    l.kernel = fn_;
    l.args = args;
    l.ndim = s.ndim;
    memcpy(l.dim, s.dim, sizeof s.dim);
    memcpy(l.at, s.at, sizeof s.at);
    l.begin = s.begin, l.end = s.end;
    l.max_steps = 100000000;
    l.nfunctions = (uint32_t)functions.size();
    l.functions = functions.data();
    l.user = fault;
    l.report = [](void *user, const IrInst *i, const int64_t tid[HD_MAX_DIMS], int64_t index, int64_t limit) {
      Fault *f = (Fault *)user;
      if (f->count++) return;
      f->text = i->text;
      memcpy(f->tid, tid, sizeof f->tid);
      f->index = index, f->limit = limit, f->line = (int)i->loc.line, f->column = (int)i->loc.column;
    };
    EXPECT_EQ(hdinterp_run(&l, &hdb_system_allocator, &err_), HD_OK) << err_.detail;
  }

  Compiled *Compile(const Way &way) {
    for (auto &c : code_)
      if (c.way.name() == way.name() && c.way.padded == way.padded && c.way.piped == way.piped && c.way.fast == way.fast) return &c;
    IrModule *m = nullptr;
    EXPECT_EQ(hdir_parse(&arena_, "test", text_.data(), text_.size(), &err_, &m), HD_OK);
    if (way.piped) {
      OptContext cx = {};
      cx.err = &err_;
      cx.verify = true;
      HdStatus st = hdopt_run(m, "cpu", &cx);
      EXPECT_EQ(st, HD_OK) << err_.detail;
      if (st != HD_OK) return nullptr;
    }
    CpuTarget  target;
    CpuOptions options = {way.width, way.dense, way.padded, way.fast, way.opt_level};
    CpuCode    code = {};
    EXPECT_EQ(hdcpu_target(way.target.c_str(), &arena_, &err_, &target), HD_OK);
    HdStatus st = hdcpu_compile(hdir_func_find(m, name_.c_str()), &target, &options, CPU_EMIT_LLVM | CPU_EMIT_OBJECT, &arena_,
                                &err_, &code);
    EXPECT_EQ(st, HD_OK) << way.name() << ": " << err_.detail;
    if (st != HD_OK) {
      hdcpu_compile(hdir_func_find(m, name_.c_str()), &target, &options, CPU_EMIT_LLVM, &arena_, &err_, &code);
      if (getenv("SHOW_LLVM") && code.llvm) fprintf(stderr, "%s\n", code.llvm);
      return nullptr;
    }
    Compiled c = {way, {}, code.llvm};
    if (getenv("SHOW_LLVM")) fprintf(stderr, "%s\n", code.llvm);
    std::vector<RtImport> imports;
    for (const InterpFunction &f : functions) imports.push_back({f.name, "", f.address});
    st = hdrt_image_load(code.object, code.object_size, code.symbol, (uint32_t)imports.size(), imports.data(), &err_, &c.image);
    EXPECT_EQ(st, HD_OK) << way.name() << ": " << err_.detail;
    if (st != HD_OK) return nullptr;
    code_.push_back(c);
    return &code_.back();
  }

  Arena                 arena_;
  jmp_buf               oom_;
  HdError               err_ = {};
  IrModule             *module_ = nullptr;
  IrFunc               *fn_ = nullptr;
  std::string           text_, name_;
  std::vector<Compiled> code_;
};

// NaNs are one value: their payloads are not promised.
inline bool SameLeaf(const IrType *t, const uint8_t *a, const uint8_t *b) {
  if (!hdir_is_float(t)) return !memcmp(a, b, t->size);
  uint64_t x = 0, y = 0;
  memcpy(&x, a, t->size), memcpy(&y, b, t->size);
  return x == y || (std::isnan(hdir_f64_of(t, x)) && std::isnan(hdir_f64_of(t, y)));
}

inline bool Same(const IrType *t, const uint8_t *a, const uint8_t *b) {
  if (hdir_is_scalar(t)) return SameLeaf(t, a, b);
  for (uint32_t k = 0; k < t->nparts; k++) {
    uint32_t o = hdir_part_offset(t, k);
    if (!Same(hdir_part(t, k), a + o, b + o)) return false;
  }
  return true;
}

inline std::string Hex(const uint8_t *p, uint32_t n) {
  std::string s;
  char        c[4];
  for (uint32_t k = n; k-- > 0;) snprintf(c, sizeof c, "%02x", p[k]), s += c;
  return s;
}

inline std::vector<Way> Ways() {
  std::vector<Way> ways;
  Arena            a;
  hdb_arena_init(&a, &hdb_system_allocator);
  for (const char *t : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    HdError   e = {};
    CpuTarget target;
    if (hdcpu_target(t, &a, &e, &target) != HD_OK || !target.is_host) continue;
    for (int w : {4, 8, 16}) ways.push_back(Way{t, w});
  }
  hdb_arena_free(&a);
  return ways;
}

// All ways give what the interpreter gives. Returns the interpreter's results.
inline std::vector<Arg> Agree(Kernel *k, const std::vector<Arg> &args, std::vector<int64_t> dim, std::vector<Way> ways = Ways()) {
  std::vector<Arg> want = args;
  if (!k->fn()) return want;
  Fault f0 = k->Run(Way{}, &want, dim);
  for (const Way &w : ways) {
    std::vector<Arg> got = args;
    Fault            f1 = k->Run(w, &got, dim);
    EXPECT_EQ(f0.count > 0, f1.count > 0) << w.name();
    bool bad = false;
    for (size_t n = 0; n < args.size() && !bad; n++) {
      const IrType *t = k->fn()->body->params[n]->type;
      if (t->kind != IR_ARRAY) continue;
      for (size_t e = 0; (e + 1) * t->elem->size <= want[n].bytes.size() && !bad; e++) {
        const uint8_t *x = &want[n].bytes[e * t->elem->size], *y = &got[n].bytes[e * t->elem->size];
        bad = !Same(t->elem, x, y);
        EXPECT_FALSE(bad) << w.name() << " dim " << dim.back() << ": parameter " << n << " element " << e << ": wanted "
                          << Hex(x, t->elem->size) << " got " << Hex(y, t->elem->size);
      }
    }
    if (bad && getenv("SHOW_BAD")) fprintf(stderr, "%s\n", k->Llvm(w).c_str());
    if (bad) break;
  }
  return want;
}

} // namespace cpu_test

#endif
