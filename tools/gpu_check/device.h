// tools/gpu_check/device.h -- short ways to the runtime's CUDA device, for checks.cc and timings.cc. A failure is an exception that
// carries its text.
#ifndef GPU_CHECK_DEVICE_H
#define GPU_CHECK_DEVICE_H

#include <cstring>
#include <stdexcept>

#include "gpu_check.h"
#include "tests/gpu/on_driver.h"

namespace gpu_check {

inline void Try(HdStatus status, const HdError &err) {
  if (status != HD_OK) throw std::runtime_error(std::string(err.arg) + (err.arg[0] ? ": " : "") + err.detail);
}
inline void Want(bool good, const std::string &what) {
  if (!good) throw std::runtime_error(what);
}

inline RtView Line(void *data, int64_t n, int64_t stride, uint32_t elem, RtDevice *on) {
  RtView v = {};
  v.data = static_cast<char *>(data);
  v.length[0] = n;
  v.stride[0] = stride;
  v.ndim = 1;
  v.elem = elem;
  v.on = on;
  return v;
}

// n elements of 4 bytes on a device.
class Array {
public:
  Array(CudaDevice *d, int64_t n) : d_(&d->base), n_(n) {
    HdError err = {};
    Try(d_->ops->alloc(d_, static_cast<size_t>(n) * 4, &err, &block_, &data_), err);
  }
  ~Array() { d_->ops->free(d_, block_); }
  Array(const Array &) = delete;
  RtView  View(int64_t first = 0, int64_t step = 1) const {
    return Line(static_cast<char *>(data_) + 4 * first, (n_ - first + step - 1) / step, step, 4, d_);
  }
  void   *data() const { return data_; }
  int64_t size() const { return n_; }

private:
  RtDevice *d_;
  HdBlock  *block_ = nullptr;
  void     *data_ = nullptr;
  int64_t   n_;
};

// Pinned memory of the host.
class Pinned {
public:
  Pinned(CudaDevice *d, int64_t n) : n_(n) {
    HdError err = {};
    Try(hdcu_host_block_new(d, static_cast<size_t>(n) * 4, &err, &block_), err);
  }
  ~Pinned() { hdrt_block_free(block_); }
  Pinned(const Pinned &) = delete;
  int32_t *data() const { return static_cast<int32_t *>(hdrt_block_data(block_)); }
  RtView   View() const { return Line(data(), n_, 1, 4, nullptr); }

private:
  HdBlock *block_ = nullptr;
  int64_t  n_;
};

inline RtView ViewOf(std::vector<int32_t> &v, int64_t first = 0, int64_t step = 1) {
  return Line(v.data() + first, (static_cast<int64_t>(v.size()) - first + step - 1) / step, step, 4, nullptr);
}

class Stream {
public:
  explicit Stream(CudaDevice *d, bool async = true) {
    HdError err = {};
    Try(hdrt_stream_new(&d->base, async, &err, &s_), err);
  }
  ~Stream() { hdrt_stream_free(s_); }
  Stream(const Stream &) = delete;
  void Copy(const RtView &from, const RtView &to) {
    HdError err = {};
    Try(hdrt_stream_copy(s_, &from, &to, &err), err);
  }
  void Clear(const RtView &v) {
    HdError err = {};
    Try(hdrt_stream_clear(s_, &v, &err), err);
  }
  // What the kernels said is returned; other failures are thrown.
  std::string Wait() {
    HdError err = {};
    RtFaultCopy fault = {};
    HdStatus status = hdrt_stream_wait(s_, &fault, &err);
    if (fault.status != HD_OK) return std::string(fault.kernel) + ": " + fault.text;
    Try(status, err);
    return "";
  }
  RtStream *get() const { return s_; }

private:
  RtStream *s_ = nullptr;
};

class Event {
public:
  explicit Event(CudaDevice *d) {
    HdError err = {};
    Try(d->base.ops->event_new(&d->base, &err, &e_), err);
  }
  ~Event() { e_->ops->free(e_); }
  Event(const Event &) = delete;
  void Record(const Stream &s) {
    HdError err = {};
    Try(s.get()->ops->record(s.get(), e_, &err), err);
  }
  void MakeWait(const Stream &s) {
    HdError err = {};
    Try(s.get()->ops->await(s.get(), e_, &err), err);
  }
  double To(const Event &later) const {
    HdError err = {};
    double ms = 0;
    Try(e_->ops->elapsed(e_, later.e_, &ms, &err), err);
    return ms;
  }

private:
  RtEvent *e_ = nullptr;
};

struct ArrayArg {
  void   *data;
  int64_t length, stride;
};

// A kernel of kernels.hd.
class Kernel {
public:
  Kernel(CudaDevice *d, const Options &options, const Pack &pack, const char *name) : bytes_(Bytes(d, options, pack, name)), artifact_(bytes_) {
    HdError err = {};
    Want(artifact_.Ok(), "the pack's code cannot be read");
    Try(hdcu_load(&d->base, &artifact_.a, &err, &code_), err);
  }
  ~Kernel() { hdcu_unload(code_.device, &code_); }
  Kernel(const Kernel &) = delete;
  template <typename Args> void Launch(const Stream &s, int64_t n, const Args &args) const {
    HdError err = {};
    RtLaunch l = {};
    l.code = &code_;
    l.args = &args;
    l.ndim = 1;
    for (int64_t &d : l.dim) d = 1;
    l.dim[0] = n;
    Try(hdrt_stream_launch(s.get(), &l, sizeof args, &err), err);
  }
  const RtCode *code() const { return &code_; }

private:
  static std::string Bytes(const CudaDevice *d, const Options &options, const Pack &pack, const char *name) {
    int best = 0;
    for (int t : options.targets)
      if (t <= d->sm && t > best) best = t;
    const std::string *bytes = pack.Find(KeyOf("gpu_check", name, {best, true, 2, kBlock}));
    Want(bytes, std::string(name) + " is not in the pack");
    return *bytes;
  }

  std::string   bytes_;
  gpu::Artifact artifact_;
  RtCode        code_ = {};
};

struct AddArgs {
  ArrayArg x;
  int32_t  a;
};
struct PositiveArgs {
  ArrayArg x;
};
struct SaxpyArgs {
  float    a;
  ArrayArg x, y;
};
struct MatricesArgs {
  ArrayArg of_f16, of_bf16, of_f64;
};
inline ArrayArg ArgOf(const Array &a) { return {a.data(), a.size(), 1}; }

} // namespace gpu_check

#endif
