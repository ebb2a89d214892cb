// tests/lib/library_testing.h -- runs kernels on the tests' own memory, on any device, and prints what went wrong.
#ifndef LIBRARY_TESTING_H
#define LIBRARY_TESTING_H

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "heddle/heddle.h"

template <typename T>
struct HdScalarOf;
template <>
struct HdScalarOf<float> {
  static constexpr HdScalar scalar = HD_F32;
  static constexpr const char *name = "f32";
  using Bits = uint32_t;
};
template <>
struct HdScalarOf<double> {
  static constexpr HdScalar scalar = HD_F64;
  static constexpr const char *name = "f64";
  using Bits = uint64_t;
};
template <>
struct HdScalarOf<int32_t> {
  static constexpr HdScalar scalar = HD_I32;
  using Bits = uint32_t;
};
template <>
struct HdScalarOf<uint32_t> {
  static constexpr HdScalar scalar = HD_U32;
  using Bits = uint32_t;
};

template <typename T>
typename HdScalarOf<T>::Bits BitsOf(T x) {
  typename HdScalarOf<T>::Bits b;
  memcpy(&b, &x, sizeof b);
  return b;
}
template <typename T>
T FromBits(typename HdScalarOf<T>::Bits b) {
  T x;
  memcpy(&x, &b, sizeof x);
  return x;
}

// The same bits, or both NaN.
template <typename T>
bool Same(T a, T b) {
  return BitsOf(a) == BitsOf(b) || (a != a && b != b);
}

// The machine code that results are compared in; HEDDLE_EXHAUSTIVE=1 crosses all widths and instruction sets.
struct Code {
  int width;
  const char *target;
};
inline std::vector<Code> Codes() {
  const char *s = getenv("HEDDLE_EXHAUSTIVE");
  if (!s || !*s || !strcmp(s, "0")) return {{4, "x86-64-v2"}, {8, "x86-64-v3"}, {16, "x86-64-v4"}};
  std::vector<Code> all;
  for (const char *t : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    for (int w : {1, 2, 4, 8, 16, 32}) all.push_back({w, t});
  return all;
}

// A context with the devices of the machine, and a simulated GPU if wanted; nothing is cached.
class Machine {
 public:
  explicit Machine(int threads = 0, bool with_gpu = false) {
    if (with_gpu) setenv("HEDDLE_LIBCUDA", "tests/fakecuda/libfakecuda.so", 1);
    HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
    o.threads = threads;
    o.no_cache = true;
    EXPECT_EQ(hd_context_new(&o, &ctx), HD_OK);
    EXPECT_EQ(hd_device_find(ctx, "cpu", &cpu), HD_OK);
    EXPECT_EQ(hd_device_find(ctx, "interp", &interp), HD_OK);
    if (with_gpu) {
      EXPECT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
    }
  }
  ~Machine() { hd_context_free(ctx); }
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  std::string Why() const {
    char line[1024];
    return std::string(hd_error_format(hd_context_error(ctx), line, sizeof line)) + "\n" + hd_context_diagnostics(ctx);
  }

  HdContext *ctx = nullptr;
  HdDevice cpu, interp, gpu = {};
};

// One kernel of a source, run on arrays in the tests' memory.
class Program {
 public:
  Program(Machine &m, const std::string &text, HdDevice device, HdModuleOptions options = HD_MODULE_OPTIONS_INIT,
          const char *name = nullptr)
      : machine_(m), device_(device) {
    EXPECT_EQ(hd_module_load_source(m.ctx, "test.hd", text.data(), text.size(), &options, &module_), HD_OK)
        << m.Why() << text;
    if (!module_) return;
    if (!name) name = hd_module_kernel_name(module_, 0);
    EXPECT_EQ(hd_module_kernel(module_, name, device, &kernel_), HD_OK) << m.Why() << text;
    EXPECT_EQ(hd_stream_new(m.ctx, device, HD_STREAM_SYNC, &stream_), HD_OK) << m.Why();
  }
  ~Program() {
    hd_stream_free(stream_);
    hd_module_free(module_);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  bool ok() const { return kernel_ && stream_; }

  // Whether this machine has the instructions that the options ask for.
  static bool CanRun(Machine &m, const HdModuleOptions &options) {
    static const char text[] = "kernel k(i32 x[]) { x[tid()] = 1; }";
    HdModule *module = nullptr;
    HdKernel *kernel = nullptr;
    EXPECT_EQ(hd_module_load_source(m.ctx, "probe.hd", text, strlen(text), &options, &module), HD_OK) << m.Why();
    HdStatus s = hd_module_kernel(module, "k", m.cpu, &kernel);
    EXPECT_TRUE(s == HD_OK || s == HD_ERR_TARGET) << m.Why();
    hd_module_free(module);
    return s == HD_OK;
  }

  // Each argument is a vector of scalars. The kernel's elements may be composites of several; an array may be longer
  // than the launch.
  template <typename... T>
  void Run(int64_t n, std::vector<T> &...args) {
    if (!ok()) return;
    constexpr int count = static_cast<int>(sizeof...(T));
    HdArray arrays[count];
    int at = 0;
    (Borrow(at++, args, arrays), ...);
    HdArg list[count];
    if (device_.kind == HD_DEVICE_CUDA) return RunOnGpu(n, count, arrays);
    for (int i = 0; i < count; i++) list[i] = hd_arg_array(&arrays[i]);
    ASSERT_EQ(hd_launch(kernel_, stream_, 1, &n, count, list), HD_OK) << machine_.Why();
  }

 private:
  // On copies of the arrays, which lie in the host's memory.
  void RunOnGpu(int64_t n, int count, HdArray host[]) {
    std::vector<HdArray> there(static_cast<size_t>(count));
    std::vector<HdArg> list;
    for (int i = 0; i < count; i++) {
      HdArray &a = there[static_cast<size_t>(i)];
      ASSERT_EQ(hd_array_zeros(machine_.ctx, device_, host[i].type, 1, host[i].length, &a), HD_OK) << machine_.Why();
      ASSERT_EQ(hd_array_copy(stream_, host[i], a), HD_OK) << machine_.Why();
      list.push_back(hd_arg_array(&a));
    }
    EXPECT_EQ(hd_launch(kernel_, stream_, 1, &n, count, list.data()), HD_OK) << machine_.Why();
    for (int i = 0; i < count; i++)
      EXPECT_EQ(hd_array_copy(stream_, there[static_cast<size_t>(i)], host[i]), HD_OK) << machine_.Why();
    EXPECT_EQ(hd_stream_wait(stream_), HD_OK) << machine_.Why();
    for (HdArray &a : there) hd_array_free(machine_.ctx, &a);
  }

  template <typename T>
  void Borrow(int at, std::vector<T> &v, HdArray arrays[]) {
    HdParam p = hd_kernel_param(kernel_, at);
    ASSERT_EQ(v.size() * sizeof(T) % p.type.size, 0u) << "argument " << at;
    int64_t n = static_cast<int64_t>(v.size() * sizeof(T) / p.type.size);
    HdDevice where = device_.kind == HD_DEVICE_CUDA ? machine_.cpu : device_;
    ASSERT_EQ(hd_array_borrow(machine_.ctx, where, p.type, 1, &n, nullptr, v.data(), &arrays[at]), HD_OK)
        << machine_.Why();
  }

  Machine &machine_;
  HdDevice device_;
  HdModule *module_ = nullptr;
  HdKernel *kernel_ = nullptr;
  HdStream *stream_ = nullptr;
};

// Runs sources on the interpreter and as all machine code, whose bits have to be the same. What it compiled it keeps.
class Everywhere {
 public:
  static Everywhere &It() {
    static Everywhere it(false);
    return it;
  }
  // The simulated GPU runs PTX slowly: for what threads do together.
  static Everywhere &AndOnGpu() {
    static Everywhere it(true);
    return it;
  }

  // The first kernel of `text`; with few codes only the one that the compiler would choose.
  template <typename... T>
  void Run(const std::string &text, int64_t n, std::vector<T> &...args) {
    RunIn(Kept(text, codes_), text, n, args...);
  }
  template <typename... T>
  void RunOnce(const std::string &text, int64_t n, std::vector<T> &...args) {
    RunIn(Kept(text, {{0, nullptr}}), text, n, args...);
  }
  Machine machine;

 private:
  using Programs = std::vector<std::unique_ptr<Program>>;

  explicit Everywhere(bool with_gpu) : machine(1, with_gpu) {
    for (const Code &c : Codes())
      if (Program::CanRun(machine, Options(c))) codes_.push_back(c);
    EXPECT_FALSE(codes_.empty());
  }
  static HdModuleOptions Options(const Code &c) {
    HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
    o.width = c.width;
    o.target = c.target;
    return o;
  }
  Programs &Kept(const std::string &text, const std::vector<Code> &codes) {
    Programs &p = programs_[text];
    if (!p.empty()) return p;
    p.push_back(std::make_unique<Program>(machine, text, machine.interp));
    for (const Code &c : codes) p.push_back(std::make_unique<Program>(machine, text, machine.cpu, Options(c)));
    if (machine.gpu.kind == HD_DEVICE_CUDA) p.push_back(std::make_unique<Program>(machine, text, machine.gpu));
    return p;
  }
  // The interpreter's results stay.
  template <typename... T>
  void RunIn(Programs &programs, const std::string &text, int64_t n, std::vector<T> &...args) {
    std::tuple<std::vector<T>...> before(args...);
    programs[0]->Run(n, args...);
    for (size_t p = 1; p < programs.size(); p++) {
      std::tuple<std::vector<T>...> copy = before;
      std::apply([&](std::vector<T> &...got) { programs[p]->Run(n, got...); }, copy);
      auto one = [&](const auto &want, const auto &got) {
        for (size_t i = 0; i < want.size(); i++)
          ASSERT_TRUE(Same(want[i], got[i])) << want[i] << " but " << got[i] << " in program " << p << ", number " << i
                                             << ", of " << text;
      };
      std::apply([&](std::vector<T> &...got) { (one(args, got), ...); }, copy);
    }
  }

  std::vector<Code> codes_;
  std::map<std::string, Programs> programs_;
};

#endif
