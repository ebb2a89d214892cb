// tests/algorithms/algorithms_fixture.h -- the algorithms on a device, and host memory as its arrays.
#ifndef TESTS_ALGORITHMS_FIXTURE_H
#define TESTS_ALGORITHMS_FIXTURE_H

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "heddle/algorithms.h"

template <class T> constexpr HdScalar ScalarOf();
template <> constexpr HdScalar ScalarOf<bool>() { return HD_BOOL; }
template <> constexpr HdScalar ScalarOf<uint8_t>() { return HD_U8; }
template <> constexpr HdScalar ScalarOf<int32_t>() { return HD_I32; }
template <> constexpr HdScalar ScalarOf<uint32_t>() { return HD_U32; }
template <> constexpr HdScalar ScalarOf<int64_t>() { return HD_I64; }
template <> constexpr HdScalar ScalarOf<uint64_t>() { return HD_U64; }
template <> constexpr HdScalar ScalarOf<float>() { return HD_F32; }
template <> constexpr HdScalar ScalarOf<double>() { return HD_F64; }

// One way to run: a device, its threads, the width of its gangs, bounds checks.
struct Way {
  const char *device = "cpu";
  int threads = 1, width = 0;
  bool bounds = false;
};
// All that must give the same bits.
inline std::vector<Way> Ways() {
  return {{"cpu", 1, 0, false}, {"cpu", 2, 0, false},  {"cpu", 5, 4, false},     {"cpu", 1, 1, false},
          {"cpu", 2, 16, false}, {"interp", 1, 0, true}, {"cuda:0", 1, 0, false}};
}

inline std::string WayName(const testing::TestParamInfo<Way> &info) {
  return std::string(info.param.device).substr(0, 4) + std::to_string(info.param.threads) + "threads" +
         std::to_string(info.param.width) + "wide";
}

// A context with a stream of one device and the algorithms on it.
class Machine {
public:
  explicit Machine(const Way &way = {}) {
    if (std::string(way.device) == "cuda:0") setenv("HEDDLE_LIBCUDA", "tests/fakecuda/libfakecuda.so", 1);
    HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
    options.threads = way.threads;
    options.no_cache = true;
    EXPECT_EQ(hd_context_new(&options, &ctx), HD_OK);
    EXPECT_EQ(hd_device_find(ctx, "cpu", &cpu), HD_OK);
    EXPECT_EQ(hd_device_find(ctx, way.device, &device), HD_OK) << Why();
    EXPECT_EQ(hd_stream_new(ctx, device, HD_STREAM_ASYNC, &stream), HD_OK) << Why();
    HdModuleOptions module = HD_MODULE_OPTIONS_INIT;
    module.width = way.width;
    module.bounds = way.bounds;
    EXPECT_EQ(hd_algorithms_new(ctx, stream, &module, &algorithms), HD_OK) << Why();
  }
  ~Machine() {
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    for (HdArray &a : arrays_) hd_array_free(ctx, &a);
    hd_algorithms_free(algorithms);
    hd_stream_free(stream);
    hd_context_free(ctx);
  }
  Machine(const Machine &) = delete;

  std::string Why() const {
    char line[1024];
    return hd_error_format(hd_context_error(ctx), line, sizeof line);
  }
  HdArray New(HdDevice d, HdType type, int64_t n) {
    HdArray a;
    EXPECT_EQ(hd_array_zeros(ctx, d, type, 1, &n, &a), HD_OK) << Why();
    arrays_.push_back(a);
    return a;
  }
  template <class T> HdArray New(size_t n) { return New(device, hd_type_scalar(ScalarOf<T>()), int64_t(n)); }
  template <class T> HdArray Of(const std::vector<T> &x) {
    HdArray host = New(cpu, hd_type_scalar(ScalarOf<T>()), int64_t(x.size()));
    for (size_t i = 0; i < x.size(); i++) static_cast<T *>(host.data)[i] = x[i];
    if (device.kind != HD_DEVICE_CUDA) return Here(host);
    HdArray a = New<T>(x.size());
    EXPECT_EQ(hd_array_copy(stream, host, a), HD_OK) << Why();
    return a;
  }
  // What a view holds, after all work.
  template <class T> std::vector<T> Fetch(HdArray a) {
    HdArray host = New(cpu, a.type, a.length[0]);
    if (device.kind != HD_DEVICE_CUDA) host.device = device;
    EXPECT_EQ(hd_array_copy(stream, a, host), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    const T *p = static_cast<const T *>(host.data);
    return std::vector<T>(p, p + a.length[0]);
  }

  HdContext *ctx = nullptr;
  HdStream *stream = nullptr;
  HdAlgorithms *algorithms = nullptr;
  HdDevice cpu = {}, device = {};

private:
  // The devices of the host share its memory.
  HdArray Here(HdArray a) {
    a.device = device;
    a.owner = nullptr;
    return a;
  }
  std::vector<HdArray> arrays_;
};

#define OK(machine, call) ASSERT_EQ((call), HD_OK) << (machine).Why()

template <class T> std::vector<T> Random(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (auto &v : x) {
    uint64_t bits = random();
    memcpy(static_cast<void *>(&v), &bits, sizeof v);
  }
  return x;
}

// Equal bits, NaN among them.
template <class T> bool SameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

#endif
