// tests/gpu/print_test.cc -- what kernels print is one text on every device, for any lanes, threads and schedule.
#include <algorithm>

#include "heddle/builder.h"
#include "heddle/graph.h"
#include "tests/gpu/device_fixture.h"

namespace {

const char kText[] = R"(
struct Pair { i32 a; f32 b; }
fn helper(f32 x) -> f32 { if (x > 30) printf("big %g\n", x); return x * 2; }
kernel values(i32 o[]) {
  let i = tid();
  if (i % 3 == 0) printf("%3d: %g %u %x %c|%%\n", i, vec3(f32(i) * 1.5, 1, 2.5), u8(300 + i), -i, 65 + i % 26);
  for (n in 0..i) if (n % 4 == 3) printf("  %d in %d: %5.2f\n", n, i, f64(n) / 3);
  o[i] = i32(helper(f32(i)));
}
kernel plane(i32 o[]) { if ((tid(0) + tid(1)) % 2 == 0) printf("%d,%d\n", tid(0), tid(1)); }
kernel once(i32 o[]) { printf("hello\n"); }
kernel halves() { printf("%g %g %d %d\n", f16(0.5) + f16(tid()), bf16(2), i8(-3), tid() > 1); }
@group(64) kernel groups(i32 o[]) {
  shared i32 s[64];
  s[group_tid()] = tid();
  barrier();
  if (group_tid() % 16 == 5) printf("%d sees %d\n", tid(), s[63 - group_tid()]);
  barrier();
  if (group_tid() == 63) printf("end of %d\n", group_id());
}
kernel many(i32 o[]) { for (n in 0..o[tid()]) printf("%d\n", n); }
)";

class Print : public Gpu {
protected:
  struct Place {
    const char *device, *driver;
    int32_t width, threads;
    HdStreamMode mode;
  };

  // The text of a launch, or of `times` launches of a graph that has it twice.
  std::string Printed(const Place &p, const char *name, std::vector<int64_t> dim, int graph = 0, int32_t fill = 0) {
    HdContext *c = nullptr;
    HdDevice device, cpu;
    HdStream *s = nullptr;
    HdModule *m = nullptr;
    HdKernel *k = nullptr;
    HdGraph *g = nullptr;
    HdArray o = {}, h = {};
    std::string text;
    HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
    HdModuleOptions how = HD_MODULE_OPTIONS_INIT;
    OpenContext(p.driver);
    options.threads = p.threads;
    options.no_cache = true;
    options.print = [](void *user, const char *t, size_t n) { static_cast<std::string *>(user)->append(t, n); };
    options.print_user = &text;
    options.gpu_print = this->options.gpu_print;
    how.width = p.width;
    EXPECT_EQ(hd_context_new(&options, &c), HD_OK);
    EXPECT_EQ(hd_device_find(c, p.device, &device), HD_OK);
    EXPECT_EQ(hd_device_find(c, "cpu", &cpu), HD_OK);
    EXPECT_EQ(hd_stream_new(c, device, p.mode, &s), HD_OK);
    EXPECT_EQ(hd_module_load_source(c, "p.hd", kText, strlen(kText), &how, &m), HD_OK) << hd_context_diagnostics(c);
    EXPECT_EQ(hd_module_kernel(m, name, device, &k), HD_OK) << hd_context_error(c)->detail;
    int64_t n = 4096;
    EXPECT_EQ(hd_array_zeros(c, device, hd_type_scalar(HD_I32), 1, &n, &o), HD_OK);
    EXPECT_EQ(hd_array_zeros(c, cpu, hd_type_scalar(HD_I32), 1, &n, &h), HD_OK);
    std::fill_n(static_cast<int32_t *>(h.data), n, fill);
    EXPECT_EQ(hd_array_copy(s, h, o), HD_OK);
    EXPECT_EQ(hd_stream_wait(s), HD_OK);
    HdArg args[] = {hd_arg_array(&o)};
    int32_t nargs = hd_kernel_param_count(k);
    auto launch = [&] {
      EXPECT_EQ(hd_launch(k, s, int32_t(dim.size()), dim.data(), nargs, args), HD_OK) << hd_context_error(c)->detail;
    };
    if (graph) {
      EXPECT_EQ(hd_graph_begin(s), HD_OK);
      launch();
      launch();
      EXPECT_EQ(hd_graph_end(s, &g), HD_OK);
      EXPECT_EQ(text, "");
      for (int i = 0; i < graph; i++) EXPECT_EQ(hd_graph_launch(g, s), HD_OK) << hd_context_error(c)->detail;
    } else {
      launch();
    }
    EXPECT_TRUE(p.mode == HD_STREAM_SYNC || text.empty()) << "before the wait";
    EXPECT_EQ(hd_stream_wait(s), HD_OK) << hd_context_error(c)->detail;
    std::string told = text;
    hd_graph_free(g);
    hd_array_free(c, &o);
    hd_array_free(c, &h);
    hd_module_free(m);
    hd_stream_free(s);
    EXPECT_EQ(text, told) << "it is given once";
    hd_context_free(c);
    Close();
    return told;
  }
};

const char kPlain[] = "sm=90";

TEST_F(Print, IsTheSameEverywhere) {
  const Place places[] = {{"interp", kPlain, 0, 1, HD_STREAM_SYNC},
                          {"cpu", kPlain, 1, 1, HD_STREAM_SYNC},
                          {"cpu", kPlain, 4, 2, HD_STREAM_ASYNC},
                          {"cpu", kPlain, 8, 1, HD_STREAM_ASYNC},
                          {"cpu", kPlain, 16, 2, HD_STREAM_SYNC},
                          {"cuda:0", kPlain, 0, 1, HD_STREAM_SYNC},
                          {"cuda:0", "sm=75,schedule=threads", 0, 1, HD_STREAM_ASYNC},
                          {"cuda:0", "sm=90,schedule=random,seed=3", 0, 1, HD_STREAM_ASYNC}};
  const struct {
    const char *kernel;
    std::vector<int64_t> dim;
  } cases[] = {{"values", {40}}, {"values", {1}},   {"plane", {5, 7}}, {"once", {3, 2, 2}},
               {"halves", {3}},  {"groups", {192}}, {"many", {100}}};
  for (auto &c : cases) {
    for (int graph : {0, 2}) {
      std::string want;
      for (const Place &p : places) {
        std::string got = Printed(p, c.kernel, c.dim, graph, 3);
        if (&p == places) want = got;
        EXPECT_FALSE(want.empty());
        EXPECT_EQ(got, want) << c.kernel << " on " << p.device << ", width " << p.width << ", " << p.driver;
      }
    }
  }
}

TEST_F(Print, IsInTheOrderOfTheThreads) {
  const Place cpu = {"cpu", kPlain, 8, 2, HD_STREAM_SYNC};
  EXPECT_EQ(Printed(cpu, "plane", {2, 3}), "0,0\n0,2\n1,1\n");
  EXPECT_EQ(Printed(cpu, "halves", {3}), "0.5 2 -3 0\n1.5 2 -3 0\n2.5 2 -3 1\n");
  EXPECT_EQ(Printed(cpu, "once", {2}, 2), "hello\nhello\nhello\nhello\nhello\nhello\nhello\nhello\n");
  EXPECT_EQ(Printed(cpu, "groups", {64}), "5 sees 58\n21 sees 42\n37 sees 26\n53 sees 10\nend of 0\n");
}

TEST_F(Print, SaysHowMuchOfAGpuIsLost) {
  std::string cpu = Printed({"cpu", kPlain, 0, 2, HD_STREAM_SYNC}, "many", {4096}, 0, 20);
  EXPECT_EQ(std::count(cpu.begin(), cpu.end(), '\n'), 4096 * 20);
  std::string gpu = Printed({"cuda:0", kPlain, 0, 1, HD_STREAM_ASYNC}, "many", {4096}, 0, 20);
  int64_t room = (1 << 20) / 32; // a record of one value
  EXPECT_EQ(std::count(gpu.begin(), gpu.end(), '\n'), room + 1);
  EXPECT_NE(gpu.find("(" + std::to_string(4096 * 20 - room) + " more printf of kernels are lost"), std::string::npos)
      << gpu.substr(gpu.size() - 100);
}

TEST_F(Print, HasTheRoomThatWasAskedFor) {
  for (int64_t room : {int64_t{4} << 10, int64_t{3} << 20}) {
    options.gpu_print = room + 5; // whole numbers of 8 bytes
    std::string gpu = Printed({"cuda:0", kPlain, 0, 1, HD_STREAM_ASYNC}, "many", {4096}, 0, 20);
    bool all = room / 32 >= 4096 * 20;
    EXPECT_EQ(std::count(gpu.begin(), gpu.end(), '\n'), all ? 4096 * 20 : room / 32 + 1) << room;
    EXPECT_EQ(gpu.find("more printf") == std::string::npos, all);
  }
  HdContext *c;
  for (int64_t wrong : {int64_t{-1}, int64_t{4095}, (int64_t{1} << 30) + 1}) {
    options.gpu_print = wrong;
    EXPECT_EQ(hd_context_new(&options, &c), HD_ERR_OPTION) << wrong;
  }
}

TEST_F(Print, IsBuiltToo) {
  std::string text;
  options.print = [](void *user, const char *t, size_t n) { static_cast<std::string *>(user)->append(t, n); };
  options.print_user = &text;
  Open(kPlain);
  for (bool wrong : {false, true}) {
    HdBuilder *b = nullptr;
    HdModule *m = nullptr;
    HdKernel *k = nullptr;
    int64_t n = 2;
    ASSERT_EQ(hd_builder_new(ctx, "b", &b), HD_OK);
    hd_build_kernel(b, "k", 0, nullptr, nullptr);
    HdIrValue *i = hd_build_tid(b, 0);
    if (!wrong) i = hd_build_convert(b, hd_build_type(b, hd_type_scalar(HD_I64)), i);
    hd_build_printf(b, "[%d]\n", 1, &i);
    hd_build_return(b, 0, nullptr);
    hd_build_end(b);
    EXPECT_EQ(hd_builder_finish(b, nullptr, &m), wrong ? HD_ERR_TYPE : HD_OK) << Why();
    hd_builder_free(b);
    if (wrong) {
      EXPECT_NE(Why().find("operand 1 must be i64 for %d"), std::string::npos) << Why();
      continue;
    }
    ASSERT_EQ(hd_module_kernel(m, "k", gpu, &k), HD_OK) << Why();
    ASSERT_EQ(hd_launch(k, stream, 1, &n, 0, nullptr), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    EXPECT_EQ(text, "[0]\n[1]\n");
    hd_module_free(m);
  }
}

} // namespace
