// tests/gpu/device_graph_test.cc -- graphs on a simulated GPU, as graphs of the driver's and piece by piece: the same results, the
// same faults; other arguments; the host's memory in them; and what is left when a call or an allocation fails.
#include "device_fixture.h"

namespace {

class Graphs : public Gpu, public testing::WithParamInterface<const char *> {
protected:
  std::string With(const std::string &more) const { return std::string(GetParam()) + "," + more; }
  bool InPlace() const { return strstr(GetParam(), "driver="); }
  bool Whole() const { return InPlace() || strstr(GetParam(), "CaptureInfo"); }
  HdGraph *End() {
    HdGraph *g = nullptr;
    EXPECT_EQ(hd_graph_end(stream, &g), HD_OK) << Why();
    return g;
  }
  std::vector<int32_t> All(int32_t x, int64_t n = 64) { return std::vector<int32_t>(static_cast<size_t>(n), x); }
};

TEST_P(Graphs, GiveWhatTheirPiecesGive) {
  Open(With("seed=4").c_str());
  HdArray x = New(gpu, {64}), y = New(gpu, {64}), h = Numbers({64}), p, out = New(cpu, {64});
  const int64_t n = 64;
  ASSERT_EQ(hd_array_new_pinned(ctx, gpu, x.type, 1, &n, &p), HD_OK);
  arrays.push_back(p);
  HdArray odd, half, back, tail = New(cpu, {32}), liat;
  ASSERT_EQ(hd_array_slice(ctx, y, 0, 1, 64, 2, &odd), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, out, 0, 63, -1, -2, &half), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, y, 0, 63, 0, -2, &back), HD_OK); // odd, backwards
  ASSERT_EQ(hd_array_slice(ctx, tail, 0, 31, -1, -1, &liat), HD_OK);
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(hd_array_copy(stream, h, x), HD_OK) << Why(); // pageable memory is read when the graph is done
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(2)}), HD_OK) << Why();
  ASSERT_EQ(hd_array_copy(stream, x, y), HD_OK);
  ASSERT_EQ(Launch("add", {32}, {hd_arg_array(&odd), hd_arg_i32(100)}), HD_OK) << Why(); // arrays with gaps
  ASSERT_EQ(hd_array_copy(stream, odd, half), HD_OK);                                    // to pageable memory
  ASSERT_EQ(hd_array_copy(stream, y, p), HD_OK);                                         // and to pinned
  ASSERT_EQ(hd_array_copy(stream, back, liat), HD_OK);                                   // backwards to backwards
  ASSERT_EQ(hd_array_clear(stream, odd), HD_OK);
  HdGraph *g = End();
  EXPECT_EQ(hd_graph_count(g), 8);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 64; i++) Of(h)[i] = 1000 * round + i;
    ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
    // What the graph brings to the host is there for what comes after it.
    HdArray z = New(gpu, {64});
    ASSERT_EQ(hd_array_copy(stream, out, z), HD_OK) << Why();
    std::vector<int32_t> seen = Fetch(z);
    for (int i = 0; i < 32; i++) {
      EXPECT_EQ(seen[static_cast<size_t>(63 - 2 * i)], 1000 * round + 2 * i + 1 + 102) << round;
      EXPECT_EQ(seen[static_cast<size_t>(62 - 2 * i)], 0);
      EXPECT_EQ(Of(p)[2 * i], 1000 * round + 2 * i + 2);
      EXPECT_EQ(Of(tail)[i], 1000 * round + 2 * i + 1 + 102);
      EXPECT_EQ(Of(p)[2 * i + 1], 1000 * round + 2 * i + 1 + 102);
    }
    EXPECT_EQ(Fetch(y)[5], 0);
  }
  EXPECT_EQ(Calls("cuGraphLaunch"), Whole() ? 3u : 0u);
  EXPECT_EQ(Calls("cuGraphInstantiateWithFlags"), Whole() ? 1u : 0u) << "once for all";
  hd_graph_free(g);
}

TEST_P(Graphs, TakeOtherArgumentsInPlace) {
  Open(With("seed=2").c_str());
  HdArray x = New(gpu, {64}), y = New(gpu, {64}), wide = New(gpu, {128}), gaps;
  ASSERT_EQ(hd_array_slice(ctx, wide, 0, 0, 128, 2, &gaps), HD_OK);
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}), HD_OK) << Why();
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(10)}), HD_OK);
  HdGraph *g = End();
  ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  HdArg five[] = {hd_arg_array(&x), hd_arg_i32(5)}, other[] = {hd_arg_array(&y), hd_arg_i32(7)},
        apart[] = {hd_arg_array(&gaps), hd_arg_i32(3)};
  ASSERT_EQ(hd_graph_set_args(g, 1, 2, five), HD_OK) << Why();
  ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(x), All(11 + 6));
  ASSERT_EQ(hd_graph_set_args(g, 0, 2, other), HD_OK);
  ASSERT_EQ(hd_graph_set_args(g, 0, 2, other), HD_OK) << "twice";
  ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(x), All(17 + 5));
  EXPECT_EQ(Fetch(y), All(7));
  EXPECT_EQ(Calls("cuGraphInstantiateWithFlags"), InPlace() ? 1u : Whole() ? 3u : 0u);
  ASSERT_EQ(hd_graph_set_args(g, 0, 2, apart), HD_OK) << "with another variant of the code: " << Why();
  for (int i = 0; i < 2; i++) ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(x), All(22 + 10));
  EXPECT_EQ(Fetch(gaps), All(6));
  EXPECT_EQ(Fetch(wide)[1], 0);
  EXPECT_EQ(hd_graph_set_args(g, 0, 1, five), HD_ERR_COUNT);
  EXPECT_EQ(hd_graph_set_args(g, 2, 2, five), HD_ERR_ARG);
  hd_graph_free(g);
}

TEST_P(Graphs, TellTheFaultsOfTheirKernels) {
  Open(With("seed=2").c_str()); // two streams launch one graph, and nothing else orders them
  HdArray x = New(gpu, {64}), one = Numbers({64}), y = New(gpu, {64});
  HdStream *other;
  ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &other), HD_OK);
  ASSERT_EQ(hd_array_copy(stream, one, y), HD_OK); // thread 0 of it is not positive
  HdArray rest;
  ASSERT_EQ(hd_array_slice(ctx, y, 0, 1, 64, 1, &rest), HD_OK);
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}), HD_OK) << Why();
  ASSERT_EQ(Launch("positive", {63}, {hd_arg_array(&rest)}), HD_OK) << Why();
  ASSERT_EQ(Launch("positive", {64}, {hd_arg_array(&y)}), HD_OK) << Why();
  HdGraph *g = End();
  const char *text = "kernel 'positive', thread (0): not positive (t.hd:3:";
  for (int round = 0; round < 3; round++) {
    ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
    ASSERT_EQ(hd_graph_launch(g, other), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_ERR_FAULT);
    EXPECT_NE(Why().find(text), std::string::npos) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << "it is told once";
    EXPECT_EQ(hd_stream_wait(other), HD_ERR_FAULT) << "to each stream that did it";
  }
  HdArg good[] = {hd_arg_array(&x)};
  ASSERT_EQ(hd_graph_set_args(g, 2, 1, good), HD_OK) << Why();
  ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  // On a synchronous stream the call tells.
  HdStream *sync;
  HdArg bad[] = {hd_arg_array(&y)};
  ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_SYNC, &sync), HD_OK);
  EXPECT_EQ(hd_graph_launch(g, sync), HD_OK) << Why();
  ASSERT_EQ(hd_graph_set_args(g, 2, 1, bad), HD_OK) << Why();
  EXPECT_EQ(hd_graph_launch(g, sync), HD_ERR_FAULT);
  EXPECT_NE(Why().find(text), std::string::npos) << Why();
  // More records than a stream has: piece by piece.
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  for (int i = 0; i < 150; i++) ASSERT_EQ(Launch("positive", {63}, {hd_arg_array(&rest)}), HD_OK);
  ASSERT_EQ(Launch("positive", {64}, {hd_arg_array(&y)}), HD_OK);
  HdGraph *many = End();
  for (int i = 0; i < 2; i++) {
    ASSERT_EQ(hd_graph_launch(many, stream), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_ERR_FAULT);
    EXPECT_NE(Why().find(text), std::string::npos) << Why();
  }
  hd_graph_free(many);
  hd_graph_free(g);
  hd_stream_free(sync);
  hd_stream_free(other);
}

TEST_P(Graphs, NameTheSuspectsWhenTheDeviceIsLost) {
  Open(With("cuStreamSynchronize@4=700").c_str());
  HdArray x = New(gpu, {64});
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  for (int i = 0; i < 5; i++) ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}), HD_OK) << Why();
  ASSERT_EQ(Launch("fill", {64}, {hd_arg_array(&x)}), HD_OK) << Why();
  HdGraph *g = End();
  ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  HdStatus status = HD_OK;
  for (int i = 0; i < 4 && status == HD_OK; i++) {
    status = hd_stream_wait(stream);
    if (status == HD_OK) { ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why(); }
  }
  EXPECT_EQ(status, HD_ERR_CUDA);
  EXPECT_NE(Why().find("launched since the last wait: 'fill', 'add', 'add', 'add' and 2 more"), std::string::npos)
      << Why();
  const std::string first = hd_context_error(ctx)->detail;
  EXPECT_EQ(hd_graph_launch(g, stream), HD_ERR_CUDA);
  EXPECT_EQ(first, hd_context_error(ctx)->detail);
  hd_graph_free(g);
  live_ = nullptr; // what the device held went with it
}

TEST_P(Graphs, MayBeEmpty) {
  Open(With("seed=1").c_str());
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  HdGraph *g = End();
  EXPECT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  hd_graph_free(g);
  HdArray x = New(gpu, {64});
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(Launch("add", {0}, {hd_arg_array(&x), hd_arg_i32(1)}), HD_OK) << Why(); // no threads
  g = End();
  EXPECT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(x), All(0));
  hd_graph_free(g);
}

TEST_P(Graphs, AreDoneSomehowWhenACallFails) {
  const char *calls[] = {"cuStreamBeginCapture*", "cuStreamEndCapture", "cuStreamGetCaptureInfo*",
                         "cuGraphInstantiate*",   "cuGraphLaunch",      "cuGraphExecKernelNodeSetParams",
                         "cuStreamCreate",        "cuEventCreate",      "cuEventRecord",
                         "cuLaunchKernel",        "cuLaunchHostFunc",   "cuMemHostAlloc",
                         "cuMemcpyDtoDAsync_v2",  "cuMemsetD8Async",    "cuMemAllocFromPoolAsync",
                         "cuMemcpyHtoDAsync_v2"};
  Cache();
  for (const char *call : calls) {
    for (int n = 1; n <= 4; n++) {
      const std::string rule = std::string(call) + "@" + std::to_string(n) + "=" + (n % 2 ? "1" : "2");
      OpenContext(With(rule).c_str());
      ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
      if (hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &stream) != HD_OK) {
        Close();
        continue;
      }
      ASSERT_EQ(hd_module_load_source(ctx, "t.hd", kKernels, strlen(kKernels), nullptr, &module), HD_OK) << Why();
      HdKernel *add = nullptr, *positive = nullptr;
      ASSERT_EQ(hd_module_kernel(module, "add", gpu, &add), HD_OK) << Why();
      ASSERT_EQ(hd_module_kernel(module, "positive", gpu, &positive), HD_OK) << Why();
      const int64_t size = 64;
      HdArray x = {}, h = Numbers({64}), out = New(cpu, {64});
      for (int i = 0; i < 3 && hd_array_new(ctx, gpu, h.type, 1, &size, &x) != HD_OK; i++) {}
      ASSERT_NE(x.data, nullptr) << rule;
      HdGraph *g = nullptr;
      HdArg one[] = {hd_arg_array(&x), hd_arg_i32(1)}, two[] = {hd_arg_array(&x), hd_arg_i32(2)};
      ASSERT_EQ(hd_graph_begin(stream), HD_OK);
      ASSERT_EQ(hd_array_copy(stream, h, x), HD_OK);
      ASSERT_EQ(hd_launch(add, stream, 1, &size, 2, one), HD_OK) << Why();
      ASSERT_EQ(hd_launch(positive, stream, 1, &size, 1, one), HD_OK) << Why();
      ASSERT_EQ(hd_array_copy(stream, x, out), HD_OK);
      g = End();
      HdStatus status = HD_OK;
      for (int round = 0; round < 5; round++) {
        ASSERT_EQ(hd_graph_set_args(g, 1, 2, round % 2 ? two : one), HD_OK);
        status = hd_graph_launch(g, stream);
        HdStatus wait = hd_stream_wait(stream);
        EXPECT_TRUE(status == HD_OK || status == HD_ERR_CUDA || status == HD_ERR_NOMEM) << rule << ": " << Why();
        EXPECT_TRUE(wait == HD_OK || wait == HD_ERR_CUDA || wait == HD_ERR_NOMEM) << rule << ": " << Why();
        if (status != HD_OK || wait != HD_OK) { continue; }
        for (int i = 0; i < 64; i++) ASSERT_EQ(Of(out)[i], i + 1 + round % 2) << rule;
      }
      EXPECT_EQ(status, HD_OK) << rule << ": " << Why();
      hd_graph_free(g);
      hd_array_free(ctx, &x);
      Close();
      if (HasFailure()) { FAIL() << rule; }
    }
  }
}

TEST_P(Graphs, AreDoneSomehowWhenTheHostIsFull) {
  FailingMemory memory;
  OpenContext(With("seed=1").c_str(), &memory);
  ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
  ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &stream), HD_OK) << Why();
  ASSERT_EQ(hd_module_load_source(ctx, "t.hd", kKernels, strlen(kKernels), nullptr, &module), HD_OK) << Why();
  HdArray x = New(gpu, {64}), one = New(gpu, {64});
  HdKernel *positive = Kernel("positive");
  HdArg args[] = {hd_arg_array(&one)};
  const int64_t size = 64;
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&one), hd_arg_i32(1)}), HD_OK);
  int64_t refused = 0;
  for (int64_t n = 1; n < 12; n++) {
    HdGraph *g;
    ASSERT_EQ(hd_graph_begin(stream), HD_OK);
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}), HD_OK);
    ASSERT_EQ(hd_launch(positive, stream, 1, &size, 1, args), HD_OK);
    g = End();
    memory.asked = 0, memory.refuse = n;
    HdStatus status = hd_graph_launch(g, stream);
    refused += memory.asked >= n;
    memory.refuse = 0;
    if (status != HD_OK) {
      EXPECT_EQ(status, HD_ERR_NOMEM) << Why();
      ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
    }
    EXPECT_EQ(Fetch(x), All(static_cast<int32_t>(n)));
    hd_graph_free(g);
  }
  EXPECT_GT(refused, Whole() ? 2 : 0);
  Close();
  EXPECT_EQ(memory.out, 0);
}

std::string NameOf(const testing::TestParamInfo<const char *> &info) {
  static const char *const names[] = {"New", "Old", "Lacks", "Refuses", "Untold"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Device, Graphs,
                         testing::Values("sm=90,driver=12040", "sm=75,driver=11040", "missing=cuGraph*",
                                         "cuStreamEndCapture=901", "missing=cuStreamGetCaptureInfo*"),
                         NameOf);

} // namespace
