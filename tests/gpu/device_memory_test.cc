// tests/gpu/device_memory_test.cc -- memory of a simulated GPU: in the order of streams, kept for reuse, given back, and what is
// left when a call of the driver or an allocation fails; with the driver's pools and without.
#include "device_fixture.h"

namespace {

class Pools : public Gpu, public testing::WithParamInterface<const char *> {
protected:
  std::string With(const std::string &more) const { return std::string("sm=90,") + GetParam() + "," + more; }
  bool InDriver() const { return strcmp(GetParam(), "pools=1") == 0; }
  HdStatus NewOn(HdStream *s, int64_t n, HdArray *out) {
    return hd_array_new_on(s, hd_type_scalar(HD_I32), 1, &n, out);
  }
  HdDeviceMemory Memory() {
    HdDeviceMemory m = {};
    EXPECT_EQ(hd_device_memory(ctx, gpu, &m), HD_OK) << Why();
    return m;
  }
};

TEST_P(Pools, GiveMemoryInTheOrderOfAStreamWithoutAWait) {
  Open(With("seed=3").c_str());
  HdArray sum = New(gpu, {64}), a;
  uint64_t before = 0;
  for (int i = 0; i < 5; i++) {
    if (i == 1) before = Calls("cuStreamSynchronize") + Calls("cuCtxSynchronize") + Calls("cuEventSynchronize");
    ASSERT_EQ(NewOn(stream, 64, &a), HD_OK) << Why();
    ASSERT_EQ(hd_array_clear(stream, a), HD_OK);
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&a), hd_arg_i32(i)}), HD_OK) << Why();
    if (i == 4) { ASSERT_EQ(hd_array_copy(stream, a, sum), HD_OK); }
    ASSERT_EQ(hd_array_free_on(stream, &a), HD_OK) << Why();
    EXPECT_EQ(a.data, nullptr);
  }
  EXPECT_EQ(Calls("cuStreamSynchronize") + Calls("cuCtxSynchronize") + Calls("cuEventSynchronize"), before);
  if (!InDriver()) { EXPECT_EQ(Calls("cuMemAlloc_v2"), 2u) << "one block served all rounds"; }
  EXPECT_EQ(Fetch(sum), std::vector<int32_t>(64, 4));
}

TEST_P(Pools, LetAnotherStreamHaveWhatOneHasLeft) {
  for (const char *seed : {"seed=1", "seed=2", "seed=3", "seed=4", "seed=5"}) {
    Open(With(seed).c_str());
    HdStream *other;
    HdArray a, b, one = New(gpu, {64}), two = New(gpu, {64});
    ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &other), HD_OK);
    ASSERT_EQ(NewOn(stream, 64, &a), HD_OK) << Why();
    void *first = a.data;
    ASSERT_EQ(hd_array_clear(stream, a), HD_OK);
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&a), hd_arg_i32(5)}), HD_OK);
    ASSERT_EQ(hd_array_copy(stream, a, one), HD_OK);
    ASSERT_EQ(hd_array_free_on(stream, &a), HD_OK);
    // Outside any order it is not to be had: nobody has waited.
    HdArray c = New(gpu, {64});
    EXPECT_NE(c.data, first);
    ASSERT_EQ(NewOn(other, 64, &b), HD_OK) << Why();
    if (!InDriver()) { EXPECT_EQ(b.data, first) << "the block that was let go"; }
    ASSERT_EQ(hd_array_clear(other, b), HD_OK);
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&b), hd_arg_i32(7)}, other), HD_OK);
    ASSERT_EQ(hd_array_copy(other, b, two), HD_OK);
    ASSERT_EQ(hd_array_free_on(other, &b), HD_OK);
    ASSERT_EQ(hd_stream_wait(other), HD_OK) << Why();
    EXPECT_EQ(Fetch(one), std::vector<int32_t>(64, 5));
    EXPECT_EQ(Fetch(two), std::vector<int32_t>(64, 7));
    hd_stream_free(other); // what it let go outlives it
    ASSERT_EQ(NewOn(stream, 64, &a), HD_OK) << Why();
    ASSERT_EQ(hd_array_clear(stream, a), HD_OK);
    EXPECT_EQ(Fetch(a), std::vector<int32_t>(64, 0));
    hd_array_free(ctx, &a);
    Close();
  }
}

TEST_P(Pools, TellWhatIsUsedAndKept) {
  Open(With("mem=8M").c_str());
  int64_t n = 256 << 10; // a MiB
  New(gpu, {n}), New(gpu, {n});
  HdDeviceMemory m = Memory();
  EXPECT_EQ(m.total, 8u << 20);
  EXPECT_EQ(m.used, 2u << 20);
  EXPECT_EQ(m.kept, 0u);
  EXPECT_EQ(m.free, 6u << 20);
  hd_array_free(ctx, &arrays[0]);
  m = Memory();
  EXPECT_EQ(m.used, 1u << 20);
  if (!InDriver()) { EXPECT_EQ(m.kept, 1u << 20); }
  ASSERT_EQ(hd_device_trim(ctx, gpu, 2 << 20), HD_OK) << Why();
  if (!InDriver()) { EXPECT_EQ(Memory().kept, 1u << 20) << "less than may be kept"; }
  ASSERT_EQ(hd_device_trim(ctx, gpu, 0), HD_OK) << Why();
  m = Memory();
  EXPECT_EQ(m.kept, 0u);
  EXPECT_EQ(m.free, 7u << 20);
  HdDevice none = {HD_DEVICE_CUDA, 7};
  EXPECT_EQ(hd_device_trim(ctx, none, 0), HD_ERR_DEVICE);
  EXPECT_EQ(hd_device_memory(ctx, none, &m), HD_ERR_DEVICE);
  EXPECT_EQ(hd_device_memory(ctx, gpu, nullptr), HD_ERR_ARG);
}

TEST_P(Pools, KeepNoMoreThanTheyMay) {
  options.gpu_keep = 1 << 20;
  Open(With("mem=8M").c_str());
  int64_t n = 192 << 10; // 768 KiB: two of them are too many
  New(gpu, {n}), New(gpu, {n});
  for (HdArray &a : arrays) hd_array_free(ctx, &a);
  EXPECT_LE(Memory().kept, 1u << 20);
  if (!InDriver()) { EXPECT_EQ(Memory().kept, 768u << 10); }
  Close();
  options.gpu_keep = -1;
  Open(With("mem=8M").c_str());
  New(gpu, {n});
  hd_array_free(ctx, &arrays[0]);
  EXPECT_EQ(Memory().kept, 0u);
  options.gpu_keep = -2;
  HdContext *c;
  EXPECT_EQ(hd_context_new(&options, &c), HD_ERR_OPTION);
}

TEST_P(Pools, AreFullWithFiguresAndWorkAgain) {
  Open(With("mem=1M").c_str());
  HdArray a = New(gpu, {150 << 10}), b; // 600 KiB
  EXPECT_EQ(NewOn(stream, 150 << 10, &b), HD_ERR_NOMEM);
  EXPECT_NE(Why().find("hd_array_new_on: cuda:0: "), std::string::npos) << Why();
  EXPECT_NE(Why().find("asked for 600 KiB; free "), std::string::npos) << Why();
  EXPECT_NE(Why().find(" of 1 MiB; this context's arrays hold 6"), std::string::npos) << Why();
  EXPECT_NE(Why().find(" are kept for reuse; the largest: 1 of 6"), std::string::npos) << Why();
  // What a stream has yet to let go is waited for before the device counts as full.
  ASSERT_EQ(hd_array_clear(stream, a), HD_OK);
  ASSERT_EQ(hd_array_free_on(stream, &arrays[0]), HD_OK);
  EXPECT_EQ(NewOn(stream, 140 << 10, &b), HD_OK) << Why();
  ASSERT_EQ(hd_array_free_on(stream, &b), HD_OK);
  int64_t huge = INT64_C(1) << 60;
  EXPECT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_U8), 1, &huge, &b), HD_ERR_NOMEM);
}

TEST_P(Pools, NameTheLargestBlocksWhenTheyAreFull) {
  Open(With("mem=64M").c_str());
  HdArray b;
  for (int64_t kib : {64, 8192, 1024, 8192, 64, 64, 2048, 128, 64}) New(gpu, {kib << 8});
  EXPECT_EQ(NewOn(stream, 12 << 20, &b), HD_ERR_NOMEM);
  EXPECT_NE(Why().find("; the largest: 2 of 8 MiB, 1 of 2 MiB, 1 of 1 MiB, 1 of 128 KiB; the newest is of 64 KiB;"),
            std::string::npos)
      << Why();
  hd_array_free(ctx, &arrays[8]); // the newest, one in between, and the oldest
  hd_array_free(ctx, &arrays[1]);
  hd_array_free(ctx, &arrays[0]);
  EXPECT_EQ(NewOn(stream, 15 << 20, &b), HD_ERR_NOMEM);
  EXPECT_NE(Why().find("; the largest: 1 of 8 MiB, 1 of 2 MiB, 1 of 1 MiB, 1 of 128 KiB; the newest is of 128 KiB;"),
            std::string::npos)
      << Why();
}

TEST_P(Pools, SayWhatTheyCannotTake) {
  Open(With("devices=2").c_str());
  HdArray a, host = New(cpu, {4});
  New(gpu, {64});
  EXPECT_EQ(NewOn(stream, -1, &a), HD_ERR_SHAPE);
  EXPECT_EQ(hd_array_new_on(stream, hd_type_scalar(HD_I32), 1, nullptr, &a), HD_ERR_ARG);
  EXPECT_EQ(NewOn(stream, 4, nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_array_free_on(stream, &host), HD_ERR_DEVICE);
  EXPECT_NE(Why().find("it is on device 'cpu', the stream was made for 'cuda:0'"), std::string::npos) << Why();
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  EXPECT_EQ(NewOn(stream, 4, &a), HD_ERR_BUSY);
  EXPECT_EQ(hd_array_free_on(stream, &arrays[1]), HD_ERR_BUSY);
  HdGraph *g;
  ASSERT_EQ(hd_graph_end(stream, &g), HD_OK);
  hd_graph_free(g);
  EXPECT_EQ(hd_array_free_on(stream, nullptr), HD_OK);
  EXPECT_EQ(hd_array_free_on(nullptr, &host), HD_ERR_ARG);
  ASSERT_EQ(NewOn(stream, 0, &a), HD_OK) << Why();
  EXPECT_EQ(hd_array_free_on(stream, &a), HD_OK);
}

// What memory can be asked for, one after the other; the first failure.
HdStatus UseMemory(HdContext *ctx, HdDevice gpu) {
  HdStream *s = nullptr, *t = nullptr;
  HdArray a = {}, b = {}, c = {};
  const int64_t n = 100;
  const HdType type = hd_type_scalar(HD_F32);
  HdDeviceMemory m;
  HdStatus status = hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &s);
  if (status == HD_OK) status = hd_stream_new(ctx, gpu, HD_STREAM_SYNC, &t);
  if (status == HD_OK) status = hd_array_zeros(ctx, gpu, type, 1, &n, &a);
  for (int i = 0; i < 2 && status == HD_OK; i++) {
    status = hd_array_new_on(s, type, 1, &n, &b);
    if (status == HD_OK) status = hd_array_copy(s, a, b);
    if (status == HD_OK) status = hd_array_free_on(s, &b);
    if (status == HD_OK) status = hd_array_new_on(t, type, 1, &n, &c);
    if (status == HD_OK) status = hd_array_copy(t, a, c);
    if (status == HD_OK) status = hd_array_free_on(t, &c);
  }
  if (status == HD_OK) status = hd_device_memory(ctx, gpu, &m);
  if (status == HD_OK) status = hd_device_trim(ctx, gpu, 0);
  // The failure that counts is the first.
  const HdError first = *hd_context_error(ctx);
  if (s) { hd_stream_wait(s); }
  if (status != HD_OK) { hd_context_fail(ctx, status, first.call, "", first.detail); }
  hd_array_free(ctx, &a);
  hd_array_free(ctx, &b);
  hd_array_free(ctx, &c);
  hd_stream_free(s);
  hd_stream_free(t);
  return status;
}

TEST_P(Pools, LeaveNothingBehindWhenACallFails) {
  const char *calls[] = {"cuMemPoolCreate",  "cuMemPoolSetAttribute",   "cuMemPoolGetAttribute",
                         "cuMemPoolTrimTo",  "cuMemAllocFromPoolAsync", "cuMemAlloc_v2",
                         "cuStreamCreate",   "cuEventCreate",           "cuEventQuery",
                         "cuEventRecord",    "cuStreamWaitEvent",       "cuStreamSynchronize",
                         "cuCtxSynchronize", "cuMemsetD8Async",         "cuMemcpyDtoDAsync_v2",
                         "cuMemGetInfo_v2",  "cuCtxPushCurrent_v2"};
  int failed = 0;
  for (const char *call : calls) {
    for (int n = 1; n <= 3; n++) {
      for (int code : {1, 2}) {
        const std::string rule = std::string(call) + "@" + std::to_string(n) + "=" + std::to_string(code);
        OpenContext(With(rule).c_str());
        ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
        HdStatus status = UseMemory(ctx, gpu);
        failed += status != HD_OK;
        EXPECT_TRUE(status == HD_OK || status == HD_ERR_CUDA || status == HD_ERR_NOMEM) << rule << ": " << Why();
        if (status != HD_OK) {
          EXPECT_NE(Why().find(" gave "), std::string::npos) << rule << ": " << Why();
          EXPECT_EQ(UseMemory(ctx, gpu), HD_OK) << rule << ", once more: " << Why();
        }
        Close();
        if (HasFailure()) FAIL() << rule;
      }
    }
  }
  EXPECT_GT(failed, 20);
}

TEST_P(Pools, LeaveNothingBehindWhenTheHostIsFull) {
  int64_t n = 1;
  for (; n < 200; n++) {
    FailingMemory memory;
    OpenContext(With("seed=1").c_str(), &memory);
    ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
    memory.asked = 0;
    memory.refuse = n;
    HdStatus status = UseMemory(ctx, gpu);
    memory.refuse = 0;
    if (status != HD_OK) {
      EXPECT_EQ(status, HD_ERR_NOMEM) << Why();
      EXPECT_EQ(UseMemory(ctx, gpu), HD_OK) << Why();
    }
    Close();
    EXPECT_EQ(memory.out, 0) << n;
    if (status == HD_OK) break;
  }
  EXPECT_GT(n, 4);
}

std::string NameOf(const testing::TestParamInfo<const char *> &info) {
  static const char *const names[] = {"Has", "Lacks", "LacksInTheDriver", "SaysSoWrongly"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Device, Pools,
                         testing::Values("pools=1", "pools=0", "missing=cuMemPool*", "cuMemPoolCreate=801"), NameOf);

} // namespace
