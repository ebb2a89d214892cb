// tests/gpu/device_fixture.h -- a context on the simulated driver, told what to be, and short ways to the things tests need.
#ifndef GPU_DEVICE_FIXTURE_H
#define GPU_DEVICE_FIXTURE_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "heddle/sim.h"

constexpr char kDriver[] = "tests/fakecuda/libfakecuda.so";

const char kKernels[] = "kernel add(i32 x[], i32 a) { x[tid()] += a; }\n"
                        "kernel transpose(i32 a[,], i32 b[,]) { b[tid(1), tid(0)] = a[tid(0), tid(1)]; }\n"
                        "kernel positive(i32 x[]) { assert(x[tid()] > 0, \"not positive\"); }\n"
                        "kernel fill(i32 x[]) { x[3] = dim(); }\n"
                        "kernel twice(vec4 a[], vec4 b[]) { b[tid()] = a[tid()] * 2.0; }\n";

// An allocator that counts what is out, and refuses the n-th request.
struct FailingMemory {
  static void *Resize(void *user, void *p, size_t old_size, size_t new_size) {
    FailingMemory *m = static_cast<FailingMemory *>(user);
    if (new_size > old_size && ++m->asked == m->refuse) return nullptr;
    m->out += static_cast<int64_t>(new_size) - static_cast<int64_t>(old_size);
    if (new_size) return realloc(p, new_size);
    free(p);
    return nullptr;
  }
  HdAllocator allocator = {Resize, this};
  int64_t asked = 0, refuse = 0, out = 0;
};

class Gpu : public testing::Test {
protected:
  // A context on a driver that is told what to be.
  void Open(const char *config) {
    OpenContext(config);
    ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
    ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &stream), HD_OK) << Why();
    ASSERT_EQ(hd_module_load_source(ctx, "t.hd", kKernels, strlen(kKernels), nullptr, &module), HD_OK) << Why();
  }
  // No more than a context; `memory` may be NULL.
  void OpenContext(const char *config, FailingMemory *memory = nullptr) {
    setenv("HEDDLE_LIBCUDA", kDriver, 1);
    void *library = dlopen(kDriver, RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    void (*configure)(const char *) = nullptr;
    Find(library, "fakecuda_configure", &configure);
    Find(library, "fakecuda_live", &live_);
    Find(library, "fakecuda_calls", &calls_);
    configure(("race=1," + std::string(config)).c_str());
    options.no_cache = cache.empty();
    options.cache_dir = cache.c_str();
    options.threads = 1;
    options.allocator = memory ? &memory->allocator : nullptr;
    options.log = [](void *user, HdLogLevel, const char *text) { static_cast<Gpu *>(user)->log += text + std::string("\n"); };
    options.log_user = this;
    log.clear();
    ASSERT_EQ(hd_context_new(&options, &ctx), HD_OK);
    ASSERT_EQ(hd_device_find(ctx, "cpu", &cpu), HD_OK);
  }
  // All ends; the driver has everything back.
  void Close() {
    for (HdArray &a : arrays) hd_array_free(ctx, &a);
    arrays.clear();
    hd_stream_free(stream);
    hd_module_free(module);
    hd_context_free(ctx);
    stream = nullptr, module = nullptr, ctx = nullptr;
    if (!live_) return;
    for (const char *what : {"contexts", "streams", "events", "modules", "blocks", "arrays", "textures"}) EXPECT_EQ(live_(what), 0u) << what;
  }
  void TearDown() override {
    Close();
    std::error_code ignored;
    if (!cache.empty()) { std::filesystem::remove_all(cache, ignored); }
  }

  std::string Why() const {
    char line[1400];
    return hd_error_format(hd_context_error(ctx), line, sizeof line);
  }
  HdArray New(HdDevice d, std::vector<int64_t> n, HdScalar of = HD_I32) {
    HdArray a;
    EXPECT_EQ(hd_array_zeros(ctx, d, hd_type_scalar(of), static_cast<int32_t>(n.size()), n.data(), &a), HD_OK)
        << Why();
    arrays.push_back(a);
    return a;
  }
  // An array of the host with the numbers from 0 on.
  HdArray Numbers(std::vector<int64_t> n) {
    HdArray a = New(cpu, n);
    for (int64_t i = 0; i < hd_array_count(a); i++) Of(a)[i] = static_cast<int32_t>(i);
    return a;
  }
  static int32_t *Of(const HdArray &a) { return static_cast<int32_t *>(a.data); }
  HdKernel *Kernel(const char *name) {
    HdKernel *k = nullptr;
    EXPECT_EQ(hd_module_kernel(module, name, gpu, &k), HD_OK) << Why();
    return k;
  }
  HdStatus Launch(const char *name, std::vector<int64_t> dim, std::vector<HdArg> args, HdStream *s = nullptr) {
    return hd_launch(Kernel(name), s ? s : stream, static_cast<int32_t>(dim.size()), dim.data(),
                     static_cast<int32_t>(args.size()), args.data());
  }
  // What a view on the device holds, row-major.
  std::vector<int32_t> Fetch(const HdArray &a) {
    HdArray host = New(cpu, std::vector<int64_t>(a.length, a.length + a.ndim));
    EXPECT_EQ(hd_array_copy(stream, a, host), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    return std::vector<int32_t>(Of(host), Of(host) + hd_array_count(host));
  }

  // Calls of the driver so far.
  uint64_t Calls(const char *name) const { return calls_(name); }

  // A folder for compiled code, for tests that open many contexts; it goes with the test.
  void Cache() {
    char name[] = "/tmp/heddle-gpu-XXXXXX";
    cache = mkdtemp(name);
  }

  HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
  std::string cache; // empty: none
  std::string log;   // what the context said
  HdContext *ctx = nullptr;
  HdStream *stream = nullptr;
  HdModule *module = nullptr;
  HdDevice cpu = {}, gpu = {};
  std::vector<HdArray> arrays;
  uint64_t (*live_)(const char *) = nullptr, (*calls_)(const char *) = nullptr;

private:
  template <typename F> static void Find(void *library, const char *name, F *out) {
    void *symbol = dlsym(library, name);
    ASSERT_TRUE(symbol) << name;
    memcpy(out, &symbol, sizeof *out);
  }
};

#endif
