// tests/api/context_test.cc -- contexts, devices, streams and the error record.
#include <thread>

#include "api_fixture.h"

namespace {

TEST(Context, RefusesBadOptions) {
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  HdContext *ctx = nullptr;
  o.threads = -1;
  EXPECT_EQ(hd_context_new(&o, &ctx), HD_ERR_OPTION);
  o.threads = 1 << 20;
  EXPECT_EQ(hd_context_new(&o, &ctx), HD_ERR_OPTION);
  EXPECT_EQ(hd_context_new(nullptr, nullptr), HD_ERR_ARG);
  EXPECT_EQ(ctx, nullptr);
  hd_context_free(nullptr);
  EXPECT_NE(hd_context_error(nullptr), nullptr);
}

TEST(Context, FindsItsCacheFolder) {
  struct Variables { // of the environment, put back at the end
    Variables() {
      for (const char *n : {"HEDDLE_CACHE", "XDG_CACHE_HOME", "HOME"}) {
        const char *v = getenv(n);
        old.push_back({n, v ? v : "", v != nullptr});
        unsetenv(n);
      }
    }
    ~Variables() {
      for (auto &v : old) v.was_set ? setenv(v.name, v.value.c_str(), 1) : unsetenv(v.name);
    }
    struct Old {
      const char *name;
      std::string value;
      bool was_set;
    };
    std::vector<Old> old;
  } variables;
  auto dir = [](const HdContextOptions *o) {
    HdContext *ctx = nullptr;
    EXPECT_EQ(hd_context_new(o, &ctx), HD_OK);
    std::string d = hd_cache_dir(ctx);
    hd_context_free(ctx);
    return d;
  };
  EXPECT_EQ(dir(nullptr), "");
  setenv("HOME", "/tmp/home", 1);
  EXPECT_EQ(dir(nullptr), "/tmp/home/.cache/heddle");
  setenv("XDG_CACHE_HOME", "/tmp/xdg", 1);
  EXPECT_EQ(dir(nullptr), "/tmp/xdg/heddle");
  setenv("HEDDLE_CACHE", "/tmp/mine", 1);
  EXPECT_EQ(dir(nullptr), "/tmp/mine");
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  o.cache_dir = "/tmp/given";
  EXPECT_EQ(dir(&o), "/tmp/given");
  o.no_cache = true;
  EXPECT_EQ(dir(&o), "");
}

class ContextApi : public Api {
public:
  ContextApi() { setenv("HEDDLE_LIBCUDA", "/no/driver", 1); } // whatever this machine has
};

TEST_F(ContextApi, ListsItsDevices) {
  ASSERT_EQ(hd_device_count(ctx), 2);
  std::vector<std::string> names;
  for (int i = 0; i < 2; i++) {
    HdDevice d;
    HdDeviceInfo info;
    ASSERT_EQ(hd_device_at(ctx, i, &d), HD_OK);
    ASSERT_EQ(hd_device_info(ctx, d, &info), HD_OK) << error();
    names.push_back(info.name);
    EXPECT_NE(std::string(info.text), "");
    EXPECT_EQ(info.threads, i == 0 ? 2 : 1);
    EXPECT_EQ(std::string(info.target) == "", i == 1);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "interp"}));
  HdDevice d;
  expect_error(HD_ERR_ARG, hd_device_at(ctx, 2, &d), "hd_device_at", "i", "0 to 1, got 2");
  expect_error(HD_ERR_ARG, hd_device_at(ctx, -1, &d), "hd_device_at", "i", "got -1");
  expect_error(HD_ERR_NOT_FOUND, hd_device_find(ctx, "tpu", &d), "hd_device_find", "name", "'cpu', 'interp'");
  expect_error(HD_ERR_CUDA, hd_device_find(ctx, "cuda:0", &d), "hd_device_find", "'cuda:0'",
               "no NVIDIA driver was found: /no/driver");
  expect_error(HD_ERR_ARG, hd_device_find(ctx, nullptr, &d), "hd_device_find", "name", "NULL");
  HdDeviceInfo info;
  HdDevice none = {static_cast<HdDeviceKind>(9), 0};
  expect_error(HD_ERR_DEVICE, hd_device_info(ctx, none, &info), "hd_device_info", "device", "kind 9");
}

TEST_F(ContextApi, RecordIsOkAfterASuccess) {
  HdDevice d;
  EXPECT_EQ(hd_device_find(ctx, "x", &d), HD_ERR_NOT_FOUND);
  EXPECT_EQ(hd_context_error(ctx)->status, HD_ERR_NOT_FOUND);
  EXPECT_EQ(hd_device_find(ctx, "cpu", &d), HD_OK);
  EXPECT_EQ(hd_context_error(ctx)->status, HD_OK);
}

TEST_F(ContextApi, FormatsTheRecordInOneLine) {
  HdDevice d;
  hd_device_find(ctx, "x", &d);
  EXPECT_EQ(error(),
            "hd_device_find: name: 'x' is no device; there are 'cpu', 'interp'; check the spelling against the "
            "names listed");
  char tiny[10];
  EXPECT_STREQ(hd_error_format(hd_context_error(ctx), tiny, sizeof tiny), "hd_device");
  EXPECT_STREQ(hd_error_format(nullptr, tiny, sizeof tiny), "");
  HdError e = *hd_context_error(ctx);
  e.where = {"k.hd", 3, 7};
  char text[1000];
  EXPECT_NE(std::string(hd_error_format(&e, text, sizeof text)).find("(k.hd:3:7)"), std::string::npos);
}

TEST_F(ContextApi, LendsItsRecordToLibrariesOnTop) {
  EXPECT_EQ(hd_context_fail(ctx, HD_ERR_ARG, "my_call", "x", "wanted more"), HD_ERR_ARG);
  EXPECT_EQ(error(), "my_call: x: wanted more; see the function's header for what it accepts");
  EXPECT_NE(hd_context_allocator(ctx)->resize, nullptr);
}

TEST_F(ContextApi, RefusesBadStreams) {
  HdStream *s = nullptr;
  expect_error(HD_ERR_ARG, hd_stream_new(ctx, cpu, HD_STREAM_SYNC, nullptr), "hd_stream_new", "out", "NULL");
  expect_error(HD_ERR_ARG, hd_stream_new(ctx, cpu, static_cast<HdStreamMode>(7), &s), "hd_stream_new", "mode", "got 7");
  HdDevice none = {HD_DEVICE_CPU, 3};
  expect_error(HD_ERR_DEVICE, hd_stream_new(ctx, none, HD_STREAM_SYNC, &s), "hd_stream_new", "device", "index 3");
  EXPECT_EQ(s, nullptr);
  EXPECT_EQ(hd_stream_wait(nullptr), HD_ERR_ARG);
  hd_stream_free(nullptr);
  EXPECT_EQ(hd_stream_device(stream(interp)).kind, HD_DEVICE_INTERP);
}

TEST_F(ContextApi, RefusesWhatIsAnothers) {
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  HdContext *other = nullptr;
  HdStream *theirs = nullptr;
  o.no_cache = true, o.threads = 1;
  ASSERT_EQ(hd_context_new(&o, &other), HD_OK);
  ASSERT_EQ(hd_stream_new(other, cpu, HD_STREAM_SYNC, &theirs), HD_OK);
  HdKernel *k = kernel(source("kernel k() { }"), "k", cpu);
  int64_t n = 1;
  expect_error(HD_ERR_DEVICE, hd_launch(k, theirs, 1, &n, 0, nullptr), "hd_launch", "stream", "another context");
  EXPECT_EQ(hd_context_error(other)->status, HD_OK) << "the record is in the context of the kernel";
  hd_stream_free(theirs);
  hd_context_free(other);
}

TEST_F(ContextApi, BearsNothingInTheWayOfAnything) {
  HdDevice d;
  HdArray a = {};
  int64_t n = 1;
  EXPECT_EQ(hd_device_count(nullptr), 0);
  EXPECT_EQ(hd_device_find(nullptr, "cpu", &d), HD_ERR_ARG);
  EXPECT_EQ(hd_array_new(nullptr, cpu, hd_type_scalar(HD_F32), 1, &n, &a), HD_ERR_ARG);
  EXPECT_EQ(hd_array_copy(nullptr, a, a), HD_ERR_ARG);
  EXPECT_EQ(hd_array_clear(nullptr, a), HD_ERR_ARG);
  EXPECT_EQ(hd_stream_device(nullptr).kind, 0);
  EXPECT_EQ(hd_context_allocator(nullptr), nullptr);
  EXPECT_STREQ(hd_context_diagnostics(nullptr), "");
  EXPECT_EQ(hd_context_fail(nullptr, HD_ERR_IO, "me", "", ""), HD_ERR_IO);
  EXPECT_EQ(hd_kernel_param_count(nullptr), 0);
  EXPECT_EQ(hd_kernel_name(nullptr), nullptr);
  EXPECT_EQ(hd_kernel_param(nullptr, 0).name, nullptr);
  EXPECT_EQ(hd_kernel_width(nullptr), 0);
  EXPECT_FALSE(hd_kernel_from_cache(nullptr));
  EXPECT_EQ(hd_kernel_times(nullptr).load, 0);
  EXPECT_STREQ(hd_cache_dir(nullptr), "");
  EXPECT_EQ(hd_cache_clear(nullptr, nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_builder_finish(nullptr, nullptr, nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_build_int(nullptr, HD_I32, 1), nullptr);
  EXPECT_EQ(hd_build_param(nullptr, 0), nullptr);
  EXPECT_EQ(hd_build_result(nullptr, 0), nullptr);
  EXPECT_EQ(hd_build_carried(nullptr, 0), nullptr);
  hd_build_end(nullptr);
  hd_builder_free(nullptr);
  hd_module_free(nullptr);
}

TEST_F(ContextApi, OtherThreadsHaveOtherContexts) {
  std::vector<std::thread> all;
  for (int i = 0; i < 3; i++)
    all.emplace_back([] {
      for (int k = 0; k < 20; k++) {
        HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
        o.no_cache = true;
        o.threads = 2;
        HdContext *c = nullptr;
        ASSERT_EQ(hd_context_new(&o, &c), HD_OK);
        HdDevice d;
        HdArray a;
        int64_t n = 1000;
        ASSERT_EQ(hd_device_find(c, "cpu", &d), HD_OK);
        ASSERT_EQ(hd_array_zeros(c, d, hd_type_scalar(HD_F32), 1, &n, &a), HD_OK);
        hd_array_free(c, &a);
        hd_context_free(c);
      }
    });
  for (auto &t : all) t.join();
}

} // namespace
