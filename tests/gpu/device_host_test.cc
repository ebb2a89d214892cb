// tests/gpu/device_host_test.cc -- copies between the host and a simulated GPU: pinned arrays, pageable memory by way of pinned,
// the order of what is on its way, and copies between two GPUs.
#include "device_fixture.h"

namespace {

class Host : public Gpu {
protected:
  HdArray Pinned(std::vector<int64_t> n) {
    HdArray a;
    EXPECT_EQ(hd_array_new_pinned(ctx, gpu, hd_type_scalar(HD_I32), static_cast<int32_t>(n.size()), n.data(), &a),
              HD_OK)
        << Why();
    arrays.push_back(a);
    return a;
  }
  HdStream *Stream(HdDevice d, HdStreamMode mode) {
    HdStream *s = nullptr;
    EXPECT_EQ(hd_stream_new(ctx, d, mode, &s), HD_OK) << Why();
    return s;
  }
  uint64_t Waits() const {
    return Calls("cuStreamSynchronize") + Calls("cuCtxSynchronize") + Calls("cuEventSynchronize");
  }
};

TEST_F(Host, ArraysMayBePinned) {
  Open("sm=90");
  HdArray p = Pinned({3, 5}), there = New(gpu, {3, 5}), back = Pinned({3, 5});
  EXPECT_EQ(p.device.kind, HD_DEVICE_CPU);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p.data) % 64, 0u);
  EXPECT_EQ(Calls("cuMemHostAlloc"), 2u);
  for (int i = 0; i < 15; i++) Of(p)[i] = i, Of(back)[i] = -1;
  HdArray x = New(gpu, {1}); // the first wait for the device's own stream is behind us
  uint64_t before = Waits();
  ASSERT_EQ(hd_array_copy(stream, p, there), HD_OK) << Why();
  ASSERT_EQ(hd_array_copy(stream, there, back), HD_OK) << Why();
  EXPECT_EQ(Waits(), before);
  EXPECT_EQ(Calls("cuLaunchHostFunc"), 0u) << "nothing is staged";
  ASSERT_EQ(hd_stream_wait(stream), HD_OK);
  for (int i = 0; i < 15; i++) EXPECT_EQ(Of(back)[i], i);
  // It is an array of the CPU like any other.
  HdStream *host = Stream(cpu, HD_STREAM_SYNC);
  ASSERT_EQ(hd_array_clear(host, p), HD_OK);
  EXPECT_EQ(Of(p)[7], 0);
  EXPECT_EQ(hd_array_free_on(host, &arrays[0]), HD_OK) << Why();
  hd_stream_free(host);
  HdArray plain;
  int64_t n = 4;
  ASSERT_EQ(hd_array_new_pinned(ctx, cpu, x.type, 1, &n, &plain), HD_OK) << "of the host, any memory will do";
  arrays.push_back(plain);
  EXPECT_EQ(plain.device.kind, HD_DEVICE_CPU);
  HdDevice none = {HD_DEVICE_CUDA, 3};
  EXPECT_EQ(hd_array_new_pinned(ctx, none, x.type, 1, &n, &plain), HD_ERR_DEVICE);
  n = -1;
  EXPECT_EQ(hd_array_new_pinned(ctx, gpu, x.type, 1, &n, &plain), HD_ERR_SHAPE);
  n = INT64_MAX / 4;
  EXPECT_EQ(hd_array_new_pinned(ctx, gpu, x.type, 1, &n, &plain), HD_ERR_NOMEM);
}

TEST_F(Host, CannotAlwaysBePinned) {
  Open("sm=90,cuMemHostAlloc@1=2,cuMemHostAlloc@1=304");
  HdArray a;
  int64_t n = 4;
  EXPECT_EQ(hd_array_new_pinned(ctx, gpu, hd_type_scalar(HD_I32), 1, &n, &a), HD_ERR_NOMEM);
  EXPECT_NE(Why().find("could not pin"), std::string::npos) << Why();
  EXPECT_EQ(hd_array_new_pinned(ctx, gpu, hd_type_scalar(HD_I32), 1, &n, &a), HD_ERR_CUDA);
  EXPECT_NE(Why().find("cuMemHostAlloc gave 304"), std::string::npos) << Why();
  EXPECT_NE(Why().find("ulimit -l"), std::string::npos) << Why();
  Pinned({4});
}

TEST_F(Host, MemoryIsReadAtOnceAndWrittenInOrder) {
  for (const char *config : {"sm=90,seed=1", "sm=90,seed=2", "sm=90,cuMemHostAlloc=2", "sm=90,cuEventCreate=2"}) {
    Open(config);
    bool staged = !strchr(config, '_') && !strstr(config, "=2,") && strstr(config, "seed");
    HdArray from = Numbers({40, 50}), there = New(gpu, {40, 50}), to = New(cpu, {40, 50}), rows, columns;
    ASSERT_EQ(hd_array_slice(ctx, from, 1, 49, -1, -1, &rows),
              HD_OK); // backwards: the driver would go element by element
    ASSERT_EQ(hd_array_slice(ctx, to, 1, 49, -1, -1, &columns), HD_OK);
    uint64_t before = Waits(), copies = Calls("cuMemcpy*");
    ASSERT_EQ(hd_array_copy(stream, rows, there), HD_OK) << Why();
    if (staged) { memset(from.data, 0xff, 40 * 50 * 4); }
    HdArray flat;
    const int64_t n = 2000;
    ASSERT_EQ(hd_array_reshape(ctx, there, 1, &n, &flat), HD_OK);
    ASSERT_EQ(Launch("add", {2000}, {hd_arg_array(&flat), hd_arg_i32(1)}), HD_OK) << Why();
    ASSERT_EQ(hd_array_copy(stream, there, columns), HD_OK) << Why();
    if (staged) {
      EXPECT_EQ(Waits(), before);
      EXPECT_EQ(Calls("cuMemcpy*"), copies + 2) << "packed, they go in one piece each";
    }
    ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    for (int i = 0; i < 2000; i++) ASSERT_EQ(Of(to)[i], i + 1) << config;
    Close();
  }
}

TEST_F(Host, ViewsThatGoBackwardsAreFewPieces) {
  Open("sm=90");
  HdArray from = Numbers({40, 50}), there = New(gpu, {40, 50}), to = New(cpu, {40, 50}), same = New(gpu, {40, 50}), v,
          w;
  ASSERT_EQ(hd_array_slice(ctx, there, 1, 49, -1, -1, &v), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, v, 0, 39, -1, -2, &v), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, from, 0, 0, 40, 2, &w), HD_OK);
  uint64_t before = Calls("cuMemcpy*");
  ASSERT_EQ(hd_array_copy(stream, w, v), HD_OK) << Why(); // staged
  ASSERT_EQ(hd_array_slice(ctx, to, 0, 0, 40, 2, &w), HD_OK);
  ASSERT_EQ(hd_array_copy(stream, v, w), HD_OK) << Why();
  HdArray other;
  ASSERT_EQ(hd_array_slice(ctx, same, 1, 49, -1, -1, &other), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, other, 0, 39, -1, -2, &other), HD_OK);
  ASSERT_EQ(hd_array_copy(stream, v, other), HD_OK) << Why(); // both backwards
  EXPECT_EQ(Calls("cuMemcpy*") - before, 3u);
  ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  std::vector<int32_t> got = Fetch(there), again = Fetch(same);
  for (int i = 0; i < 40; i++)
    for (int k = 0; k < 50; k++) {
      ASSERT_EQ(Of(to)[50 * i + k], i % 2 ? 0 : 50 * i + k);
      // Row 39 - i of the device has row i of the host backwards.
      ASSERT_EQ(got[static_cast<size_t>(50 * (39 - i) + 49 - k)], i % 2 ? 0 : 50 * i + k);
    }
  EXPECT_EQ(got, again);
  before = Calls("cuMemset*");
  ASSERT_EQ(hd_array_clear(stream, v), HD_OK) << Why();
  EXPECT_EQ(Calls("cuMemset*") - before, 1u);
  EXPECT_EQ(Fetch(there), std::vector<int32_t>(2000, 0));
}

TEST_F(Host, MemoryThatIsOnItsWayIsNotReadBefore) {
  for (const char *config : {"devices=2,sm=90,seed=1", "devices=2,sm=90,seed=2", "devices=2,sm=90,seed=3"}) {
    Open(config);
    HdDevice second;
    ASSERT_EQ(hd_device_find(ctx, "cuda:1", &second), HD_OK);
    HdStream *other = Stream(gpu, HD_STREAM_ASYNC), *sync = Stream(gpu, HD_STREAM_SYNC),
             *far = Stream(second, HD_STREAM_ASYNC);
    HdEvent *e;
    ASSERT_EQ(hd_event_new(ctx, gpu, &e), HD_OK);
    for (int64_t n : {10, 600 << 10}) { // the second is more than is staged
      HdArray from = Numbers({n}), a = New(gpu, {n}), h = New(cpu, {n}), b = New(gpu, {n}), c = New(gpu, {n}),
              d = New(gpu, {n}), f = New(second, {n});
      ASSERT_EQ(hd_array_copy(stream, from, a), HD_OK);
      ASSERT_EQ(hd_array_copy(stream, a, h), HD_OK);
      if (n > 10) { ASSERT_EQ(hd_stream_wait(stream), HD_OK); } // the simulated driver does not wait, as one must
      ASSERT_EQ(hd_array_copy(stream, h, b), HD_OK) << Why();   // what came in the same stream
      ASSERT_EQ(hd_event_record(e, stream), HD_OK);
      ASSERT_EQ(hd_stream_wait_event(other, e), HD_OK);
      ASSERT_EQ(hd_array_copy(other, h, c), HD_OK) << Why(); // or in another before
      ASSERT_EQ(hd_stream_wait_event(far, e), HD_OK);
      ASSERT_EQ(hd_array_copy(far, h, f), HD_OK) << Why(); // or on another device
      ASSERT_EQ(hd_stream_wait_event(sync, e), HD_OK);
      ASSERT_EQ(hd_array_copy(sync, h, d), HD_OK) << Why();
      ASSERT_EQ(hd_stream_wait(other), HD_OK);
      std::vector<int32_t> want(Of(from), Of(from) + n);
      EXPECT_EQ(Fetch(b), want);
      EXPECT_EQ(Fetch(c), want);
      EXPECT_EQ(Fetch(d), want);
      HdArray back = New(cpu, {n});
      ASSERT_EQ(hd_array_copy(far, f, back), HD_OK);
      ASSERT_EQ(hd_stream_wait(far), HD_OK);
      EXPECT_EQ(std::vector<int32_t>(Of(back), Of(back) + n), want);
    }
    hd_event_free(e);
    for (HdStream *s : {other, sync, far}) hd_stream_free(s);
    Close();
  }
}

TEST_F(Host, StageServesAnyNumberOfCopies) {
  Open("sm=90,mem=64M");
  HdArray x = New(gpu, {256 << 10}), part;
  std::vector<int32_t> want(256 << 10, 0);
  std::vector<HdArray> sent;
  int64_t at = 0;
  for (int i = 0; i < 60; i++) { // of many sizes, some almost as large as the ring takes
    int64_t n = 1 + i * 4391 % (200 << 10);
    if (at + n > 256 << 10) { at = 0; }
    HdArray h = Numbers({n});
    for (int64_t k = 0; k < n; k++) want[static_cast<size_t>(at + k)] = Of(h)[k] = i * 1000000 + static_cast<int>(k);
    ASSERT_EQ(hd_array_slice(ctx, x, 0, at, at + n, 1, &part), HD_OK);
    ASSERT_EQ(hd_array_copy(stream, h, part), HD_OK) << Why();
    memset(h.data, 0, static_cast<size_t>(n) * 4);
    at += n;
  }
  HdArray all = New(cpu, {256 << 10});
  for (int64_t k = 0; k < 64; k++) { // 16 KiB each: more than there are events
    HdArray from, to;
    ASSERT_EQ(hd_array_slice(ctx, x, 0, k << 12, (k + 1) << 12, 1, &from), HD_OK);
    ASSERT_EQ(hd_array_slice(ctx, all, 0, k << 12, (k + 1) << 12, 1, &to), HD_OK);
    ASSERT_EQ(hd_array_copy(stream, from, to), HD_OK) << Why();
  }
  ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  EXPECT_EQ(std::vector<int32_t>(Of(all), Of(all) + want.size()), want);
}

TEST_F(Host, LeavesNothingBehindWhenACallFails) {
  for (const char *call :
       {"cuPointerGetAttribute", "cuLaunchHostFunc", "cuEventCreate", "cuEventRecord", "cuEventSynchronize",
        "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuMemcpyPeerAsync",
        "cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess", "cuMemPoolSetAccess"}) {
    for (int n = 1; n <= 4; n++) {
      const std::string rule =
          "devices=2,sm=90," + std::string(call) + "@" + std::to_string(n) + "=" + (n % 2 ? "1" : "2");
      OpenContext(rule.c_str());
      ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
      HdDevice second = {HD_DEVICE_CUDA, 1};
      HdArray from = Numbers({100}), to = New(cpu, {100}), pinned = {};
      HdStatus status = HD_OK;
      for (int round = 0; round < 3; round++) { // at last it works
        HdArray a = {}, b = {};
        const int64_t size = 100;
        status = hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &stream);
        if (status == HD_OK) { status = hd_array_new(ctx, gpu, from.type, 1, &size, &a); }
        if (status == HD_OK) { status = hd_array_new(ctx, second, from.type, 1, &size, &b); }
        if (status == HD_OK) { status = hd_array_new_pinned(ctx, gpu, from.type, 1, &size, &pinned); }
        for (int k = 0; k < 2 && status == HD_OK; k++) {
          status = hd_array_copy(stream, from, a);
          if (status == HD_OK) { status = hd_array_copy(stream, a, b); }
          if (status == HD_OK) { status = hd_array_clear(stream, a); }
          if (status == HD_OK) { status = hd_array_copy(stream, b, a); }
          if (status == HD_OK) { status = hd_array_copy(stream, a, to); }
          if (status == HD_OK) { status = hd_array_copy(stream, to, a); }
          if (status == HD_OK) { status = hd_array_copy(stream, a, pinned); }
        }
        EXPECT_TRUE(status == HD_OK || status == HD_ERR_CUDA || status == HD_ERR_NOMEM) << rule << ": " << Why();
        HdStatus wait = stream ? hd_stream_wait(stream) : HD_OK;
        if (status == HD_OK) { status = wait; }
        hd_array_free(ctx, &a);
        hd_array_free(ctx, &b);
        if (status == HD_OK) {
          EXPECT_EQ(memcmp(to.data, from.data, 400), 0) << rule;
          EXPECT_EQ(memcmp(pinned.data, from.data, 400), 0) << rule;
        }
        hd_array_free(ctx, &pinned);
        hd_stream_free(stream);
        stream = nullptr;
      }
      EXPECT_EQ(status, HD_OK) << rule << ": " << Why();
      Close();
      if (HasFailure()) { FAIL() << rule; }
    }
  }
}

TEST_F(Host, IsNotNeededBetweenDevicesThatReachEachOther) {
  struct Machine {
    const char *config;
    uint64_t enabled, disabled;
  } const machines[] = {{"devices=2,sm=90,peer=all", 1, 0},
                        {"devices=2,sm=90,peer=all,pools=0", 1, 0},
                        {"devices=2,sm=90,peer=none", 0, 0},
                        {"devices=2,sm=90,peer=wrong", 1, 1},
                        {"devices=2,sm=90,peer=all,cuMemcpyPeerAsync@2=1", 1, 1}};
  for (const Machine &m : machines) {
    Open(m.config);
    HdDevice second;
    ASSERT_EQ(hd_device_find(ctx, "cuda:1", &second), HD_OK);
    HdArray x = Numbers({64}), a = New(gpu, {64}), b = New(second, {64}), c = New(gpu, {64});
    ASSERT_EQ(hd_array_copy(stream, x, a), HD_OK);
    for (int i = 0; i < 3; i++) {
      ASSERT_EQ(hd_array_copy(stream, a, b), HD_OK) << Why();
      ASSERT_EQ(hd_array_copy(stream, b, c), HD_OK) << Why();
    }
    EXPECT_EQ(Fetch(c), std::vector<int32_t>(Of(x), Of(x) + 64));
    EXPECT_EQ(Calls("cuCtxEnablePeerAccess"), m.enabled) << m.config;
    EXPECT_EQ(Calls("cuCtxDisablePeerAccess"), m.disabled) << "access that does not work is not used: " << m.config;
    Close();
  }
}

} // namespace
