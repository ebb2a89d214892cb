// tests/interp/interp_kernel.h -- a kernel from IR text, its arguments, and a run of it on the interpreter.
#ifndef INTERP_KERNEL_H
#define INTERP_KERNEL_H

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/interp/interp.h"
#include "ir/layout.h"

struct F16 { uint16_t bits; };
struct BF16 { uint16_t bits; };

// How a C++ type is spelt in IR text.
template <class T> struct IrName;
template <> struct IrName<bool> { static constexpr const char *name = "bool"; };
template <> struct IrName<int8_t> { static constexpr const char *name = "i8"; };
template <> struct IrName<int16_t> { static constexpr const char *name = "i16"; };
template <> struct IrName<int32_t> { static constexpr const char *name = "i32"; };
template <> struct IrName<int64_t> { static constexpr const char *name = "i64"; };
template <> struct IrName<uint8_t> { static constexpr const char *name = "u8"; };
template <> struct IrName<uint16_t> { static constexpr const char *name = "u16"; };
template <> struct IrName<uint32_t> { static constexpr const char *name = "u32"; };
template <> struct IrName<uint64_t> { static constexpr const char *name = "u64"; };
template <> struct IrName<F16> { static constexpr const char *name = "f16"; };
template <> struct IrName<BF16> { static constexpr const char *name = "bf16"; };
template <> struct IrName<float> { static constexpr const char *name = "f32"; };
template <> struct IrName<double> { static constexpr const char *name = "f64"; };

class InterpKernel {
public:
  explicit InterpKernel(const std::string &text) {
    hdb_arena_init(&arena_, &hdb_system_allocator);
    if (!Parse(text)) return;
    for (uint32_t n = 0; n < module_->nfuncs; n++)
      if (module_->funcs[n]->is_kernel) kernel_ = module_->funcs[n];
    offsets_.resize(kernel_->body->nparams + 1);
    args_.resize((hdir_args_layout(kernel_, offsets_.data()) + 16) / 8);
  }
  ~InterpKernel() { hdb_arena_free(&arena_); }
  InterpKernel(const InterpKernel &) = delete;

  template <class T> InterpKernel &Value(T x) {
    memcpy(Next(), &x, sizeof x);
    return *this;
  }
  InterpKernel &Array(const void *data, std::vector<int64_t> length, std::vector<int64_t> stride) {
    char *at = Next();
    memcpy(at, &data, 8);
    memcpy(at + 8, length.data(), 8 * length.size());
    memcpy(at + 8 + 8 * length.size(), stride.data(), 8 * stride.size());
    return *this;
  }
  template <class T> InterpKernel &Array(std::vector<T> &v) { return Array(v.data(), {(int64_t)v.size()}, {1}); }

  // Every row of the launch, one after the other.
  HdStatus Run(std::vector<int64_t> dim) {
    if (!kernel_) return HD_ERR_IR;
    launch.kernel = kernel_;
    launch.args = args_.data();
    launch.ndim = (int32_t)dim.size();
    for (size_t k = 0; k < dim.size(); k++) launch.dim[k] = dim[k];
    launch.begin = 0;
    launch.end = dim.back();
    int64_t rows = 1;
    for (size_t k = 0; k + 1 < dim.size(); k++) rows *= dim[k];
    for (int64_t r = 0; r < rows; r++) {
      int64_t rest = r;
      for (size_t k = dim.size() - 1; k-- > 0;) launch.at[k] = rest % dim[k], rest /= dim[k];
      HdStatus status = hdinterp_run(&launch, &hdb_system_allocator, &error);
      if (status != HD_OK) return status;
    }
    return HD_OK;
  }

  InterpLaunch launch = {};
  HdError      error = {};

private:
  bool Parse(const std::string &text) {
    jmp_buf jb;
    HDB_GUARD(&arena_, jb) {
      HdStatus status = hdir_parse(&arena_, "test", text.data(), text.size(), &error, &module_);
      if (status == HD_OK) status = hdir_verify(module_, &error);
      EXPECT_EQ(status, HD_OK) << error.detail << "\n" << text;
      return status == HD_OK;
    }
    return false;
  }
  char *Next() {
    static uint64_t nowhere[512]; // of a kernel that did not parse
    return kernel_ ? (char *)args_.data() + offsets_[next_++] : (char *)nowhere;
  }

  Arena                 arena_;
  IrModule             *module_ = nullptr;
  IrFunc               *kernel_ = nullptr;
  std::vector<uint32_t> offsets_;
  std::vector<uint64_t> args_;
  size_t                next_ = 0;
};

#endif
