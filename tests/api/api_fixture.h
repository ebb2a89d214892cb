// tests/api/api_fixture.h -- a context with a cache folder of its own, and short ways to the things tests need.
#ifndef API_FIXTURE_H
#define API_FIXTURE_H

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "heddle/heddle.h"

struct Folder {
  Folder() {
    char name[] = "/tmp/heddle-api-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(path + "/" + name, std::ios::binary | std::ios::trunc) << text;
    return path + "/" + name;
  }
  std::string path;
};

class Api : public testing::Test {
 protected:
  void SetUp() override { open(2); }
  void TearDown() override { close(); }

  void open(int threads) {
    HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
    std::string      dir = folder.path + "/cache";
    o.threads = threads;
    o.cache_dir = dir.c_str();
    o.log = [](void *user, HdLogLevel level, const char *text) {
      static_cast<Api *>(user)->log.push_back({level, text});
    };
    o.log_user = this;
    ASSERT_EQ(hd_context_new(&o, &ctx), HD_OK);
    ASSERT_EQ(hd_device_find(ctx, "cpu", &cpu), HD_OK);
    ASSERT_EQ(hd_device_find(ctx, "interp", &interp), HD_OK);
  }
  void close() {
    for (auto *s : streams) hd_stream_free(s);
    for (auto *m : modules) hd_module_free(m);
    for (auto &a : arrays) hd_array_free(ctx, &a);
    streams.clear();
    modules.clear();
    arrays.clear();
    hd_context_free(ctx);
    ctx = nullptr;
  }

  std::string error() const {
    char text[1400];
    return hd_error_format(hd_context_error(ctx), text, sizeof text);
  }
  // What the last failed call left, all of it.
  void expect_error(HdStatus status, HdStatus returned, const std::string &call, const std::string &arg,
                    const std::string &detail) const {
    const HdError *e = hd_context_error(ctx);
    EXPECT_EQ(returned, status) << error();
    EXPECT_EQ(e->status, status);
    EXPECT_STREQ(e->call, call.c_str());
    EXPECT_EQ(std::string(e->arg), arg);
    EXPECT_NE(std::string(e->detail).find(detail), std::string::npos) << e->detail << "\n  lacks: " << detail;
    EXPECT_TRUE(e->remedy && *e->remedy);
  }

  HdModule *source(const std::string &text, const HdModuleOptions *options = nullptr) {
    HdModule *m = nullptr;
    EXPECT_EQ(hd_module_load_source(ctx, "test.hd", text.data(), text.size(), options, &m), HD_OK)
        << error() << "\n" << hd_context_diagnostics(ctx);
    if (m) modules.push_back(m);
    return m;
  }
  HdModule *ir(const std::string &text, const HdModuleOptions *options = nullptr) {
    HdModule *m = nullptr;
    EXPECT_EQ(hd_module_load_ir(ctx, "test.ir", text.data(), text.size(), options, &m), HD_OK) << error();
    if (m) modules.push_back(m);
    return m;
  }
  HdKernel *kernel(HdModule *m, const char *name, HdDevice device) {
    HdKernel *k = nullptr;
    EXPECT_EQ(hd_module_kernel(m, name, device, &k), HD_OK) << error();
    return k;
  }
  HdStream *stream(HdDevice device, HdStreamMode mode = HD_STREAM_SYNC) {
    HdStream *s = nullptr;
    EXPECT_EQ(hd_stream_new(ctx, device, mode, &s), HD_OK) << error();
    streams.push_back(s);
    return s;
  }
  HdArray zeros(HdDevice device, HdType type, std::vector<int64_t> length) {
    HdArray a;
    EXPECT_EQ(hd_array_zeros(ctx, device, type, static_cast<int32_t>(length.size()), length.data(), &a), HD_OK)
        << error();
    arrays.push_back(a);
    return a;
  }
  template <typename T>
  static T *data(const HdArray &a) {
    return static_cast<T *>(a.data);
  }

  Folder                  folder;
  HdContext              *ctx = nullptr;
  HdDevice                cpu, interp;
  std::vector<HdStream *> streams;
  std::vector<HdModule *> modules;
  std::vector<HdArray>    arrays;
  struct Line {
    HdLogLevel  level;
    std::string text;
  };
  std::vector<Line> log;
};

#endif
