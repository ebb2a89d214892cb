// tests/gpu/device_shared_test.cc -- groups that share more than 48 KiB on the simulated driver, up to what each GPU has.
#include "tests/gpu/device_fixture.h"

namespace {

// Each thread of a group stores to its own places and reads those of its opposite.
const char kShare[] = "const i32 WORDS;\n"
                      "@group(64) kernel share(i32 x[], i32 y[]) {\n"
                      "  shared i32 first[4];\n"
                      "  shared i32 a[WORDS - 4];\n"
                      "  let l = group_tid();\n"
                      "  if (l == 0) first[3] = x[tid()];\n"
                      "  var k = l;\n"
                      "  while (k < WORDS - 4) { a[k] = x[tid()] + k; k += 64; }\n"
                      "  barrier();\n"
                      "  var s = first[3];\n"
                      "  k = 63 - l;\n"
                      "  while (k < WORDS - 4) { s = s * 31 + a[k]; k += 64; }\n"
                      "  y[tid()] = s + a[WORDS - 5];\n"
                      "}\n";

class Shared : public Gpu {
protected:
  HdStatus Load(int words) {
    const std::string text = std::to_string(words);
    HdDefine define = {"WORDS", text.c_str()};
    HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
    o.defines = &define, o.ndefines = 1;
    hd_module_free(module);
    module = nullptr;
    return hd_module_load_source(ctx, "share.hd", kShare, strlen(kShare), &o, &module);
  }
  std::vector<int32_t> Run(HdDevice d) {
    HdStream *s;
    HdKernel *k;
    std::vector<int32_t> got;
    HdArray x = Numbers({128}), here = x, y;
    EXPECT_EQ(hd_stream_new(ctx, d, HD_STREAM_SYNC, &s), HD_OK);
    if (d.kind != HD_DEVICE_CPU) {
      here = New(d, {128});
      EXPECT_EQ(hd_array_copy(s, x, here), HD_OK) << Why();
    }
    y = New(d, {128});
    const int64_t n = 128;
    HdArg args[] = {hd_arg_array(&here), hd_arg_array(&y)};
    EXPECT_EQ(hd_module_kernel(module, "share", d, &k), HD_OK) << Why();
    EXPECT_EQ(hd_launch(k, s, 1, &n, 2, args), HD_OK) << Why();
    HdArray back = New(cpu, {128});
    EXPECT_EQ(hd_array_copy(s, y, back), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(s), HD_OK) << Why();
    got.assign(Of(back), Of(back) + 128);
    hd_stream_free(s);
    return got;
  }
};

TEST_F(Shared, IsUpToWhatEachGpuHas) {
  const struct {
    const char *config, *target;
    int kib;
  } gpus[] = {{"sm=70", "sm_70", 96}, {"sm=75", "sm_75", 64}, {"sm=80", "sm_80", 163},
              {"sm=86", "sm_86", 99}, {"sm=89", "sm_89", 99}, {"sm=90", "sm_90", 227}};
  for (const auto &g : gpus) {
    Open(g.config);
    for (int words : {48 * 256, 48 * 256 + 4, g.kib * 256}) {
      ASSERT_EQ(Load(words), HD_OK) << Why();
      uint64_t asked = Calls("cuFuncSetAttribute");
      EXPECT_EQ(Run(gpu), Run(cpu)) << g.target << ", " << words << " words";
      EXPECT_EQ(Calls("cuFuncSetAttribute") - asked, words > 48 * 256 ? 1u : 0u);
    }
    if (g.kib < 227) {
      HdKernel *k;
      ASSERT_EQ(Load(g.kib * 256 + 4), HD_OK) << Why();
      EXPECT_EQ(hd_module_kernel(module, "share", gpu, &k), HD_ERR_UNSUPPORTED);
      EXPECT_NE(Why().find("share: a group shares " + std::to_string(g.kib * 1024 + 16) + " bytes; " + g.target +
                           " has " + std::to_string(g.kib) +
                           " KiB for one; share less, or compile for a GPU with more"),
                std::string::npos)
          << Why();
      Run(cpu); // which has it
    }
    Close();
  }
}

TEST_F(Shared, IsTheSameOnTheInterpreterAndNoMoreThanTheLargestGpusHave) {
  HdDevice interp;
  HdKernel *k;
  Open("sm=90");
  ASSERT_EQ(hd_device_find(ctx, "interp", &interp), HD_OK);
  ASSERT_EQ(Load(227 * 256), HD_OK) << Why();
  EXPECT_EQ(Run(interp), Run(cpu));
  ASSERT_EQ(Load(227 * 256 + 4), HD_OK) << Why();
  for (HdDevice d : {cpu, gpu}) {
    EXPECT_NE(hd_module_kernel(module, "share", d, &k), HD_OK);
    EXPECT_NE(Why().find("with this a group shares more than the 227 KiB"), std::string::npos) << Why();
  }
}

// A device with less than others of its target: it has the last word.
TEST_F(Shared, IsRefusedWhenLoadedIfTheDeviceHasLess) {
  HdKernel *k;
  Open("sm=90,shared=64");
  ASSERT_EQ(Load(100 * 256), HD_OK) << Why();
  EXPECT_EQ(hd_module_kernel(module, "share", gpu, &k), HD_ERR_UNSUPPORTED);
  EXPECT_NE(
      Why().find(
          "cuda:0: a group of kernel 'share' shares 102400 bytes; the device has 64 KiB for one; share less, or use "
          "a device with more"),
      std::string::npos)
      << Why();
  EXPECT_EQ(live_("modules"), 0u);
}

TEST_F(Shared, IsAskedForOnceAndARefusalIsSaid) {
  HdKernel *k;
  Open("sm=90,cuFuncSetAttribute@1=1");
  ASSERT_EQ(Load(100 * 256), HD_OK) << Why();
  EXPECT_EQ(hd_module_kernel(module, "share", gpu, &k), HD_ERR_CUDA);
  EXPECT_NE(Why().find("cuFuncSetAttribute gave 1"), std::string::npos) << Why();
  EXPECT_NE(Why().find("kernel 'share'"), std::string::npos) << Why();
  EXPECT_EQ(Run(gpu), Run(cpu)) << "the device is well";
}

TEST_F(Shared, IsThereInAGraphToo) {
  Open("sm=80");
  ASSERT_EQ(Load(120 * 256), HD_OK) << Why();
  std::vector<int32_t> want = Run(cpu);
  HdArray x = Numbers({128}), there = New(gpu, {128}), y = New(gpu, {128}), z = New(gpu, {128});
  ASSERT_EQ(hd_array_copy(stream, x, there), HD_OK);
  HdGraph *graph;
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(Launch("share", {128}, {hd_arg_array(&there), hd_arg_array(&y)}), HD_OK) << Why();
  ASSERT_EQ(hd_graph_end(stream, &graph), HD_OK);
  ASSERT_EQ(hd_graph_launch(graph, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(y), want);
  HdArg other[] = {hd_arg_array(&there), hd_arg_array(&z)};
  ASSERT_EQ(hd_graph_set_args(graph, 0, 2, other), HD_OK) << Why();
  ASSERT_EQ(hd_graph_launch(graph, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(z), want);
  hd_graph_free(graph);
}

} // namespace
