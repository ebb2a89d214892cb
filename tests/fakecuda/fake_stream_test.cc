// tests/fakecuda/fake_stream_test.cc -- streams of the simulated driver: order, events, callbacks, copies of every shape.
#include <algorithm>
#include <numeric>

#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

// --- order ---

TEST_F(Driver, OrdersAStreamAndNothingElse) {
  bool early = false, late = false;
  for (int seed = 1; seed < 20; seed++) {
    Open(("race=0,seed=" + std::to_string(seed)).c_str());
    Load();
    CuPtr p = Words(1);
    uint32_t *out = Pinned(1);
    void *a = Stream(), *b = Stream();
    EXPECT_EQ(Add(p, 1, 1, a), 0);
    EXPECT_EQ(Add(p, 1, 1, a), 0);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(out, p, 4, b), 0); // nothing orders it
    EXPECT_EQ(cuStreamSynchronize(b), 0);
    EXPECT_LE(*out, 2u);
    early |= *out == 0, late |= *out == 2;
    EXPECT_EQ(cuStreamSynchronize(a), 0);
    EXPECT_EQ(Fetch(p, 1)[0], 2u);
  }
  EXPECT_TRUE(early && late) << "both orders are met";
}

TEST_F(Driver, LetsAStreamWaitForAnEvent) {
  for (int seed = 1; seed < 20; seed++) {
    Open(("seed=" + std::to_string(seed)).c_str());
    Load();
    CuPtr p = Words(1);
    uint32_t *out = Pinned(1);
    void *a = Stream(), *b = Stream(), *e = Event();
    EXPECT_EQ(Add(p, 1, 1, a), 0);
    EXPECT_EQ(cuEventRecord(e, a), 0);
    EXPECT_EQ(cuStreamWaitEvent(b, e, 0), 0);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(out, p, 4, b), 0);
    EXPECT_EQ(cuStreamSynchronize(b), 0);
    EXPECT_EQ(*out, 1u);
  }
}

TEST_F(Driver, OrdersBlockingStreamsWithTheDefaultOne) {
  for (int seed = 1; seed < 20; seed++) {
    Open(("seed=" + std::to_string(seed)).c_str());
    Load();
    CuPtr p = Words(1);
    uint32_t *out = Pinned(1);
    void *a = Stream(0), *b = Stream(0);
    EXPECT_EQ(Add(p, 1, 1, a), 0);
    EXPECT_EQ(Add(p, 1, 10, nullptr), 0);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(out, p, 4, b), 0);
    EXPECT_EQ(cuStreamSynchronize(b), 0);
    EXPECT_EQ(*out, 11u);
  }
}

TEST_F(Driver, KnowsStreams) {
  Open("devices=2");
  void *s = nullptr, *c = nullptr, *other = nullptr, *theirs = nullptr;
  unsigned flags = 9;
  unsigned long long id = 0, id2 = 0;
  CuDevice d = -1;
  int capturing = 9;
  EXPECT_EQ(cuStreamCreate(&s, 2), kInvalidValue);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), kInvalidValue);
  s = Stream(1);
  EXPECT_EQ(cuStreamGetFlags(s, &flags), 0);
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(cuStreamGetCtx(s, &c), 0);
  EXPECT_EQ(c, ctx);
  EXPECT_EQ(cuStreamGetId(s, &id), 0);
  EXPECT_EQ(cuStreamGetId(Stream(), &id2), 0);
  EXPECT_NE(id, id2);
  EXPECT_EQ(cuStreamIsCapturing(s, &capturing), 0);
  EXPECT_EQ(capturing, 0);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  theirs = Stream();
  EXPECT_EQ(cuStreamGetDevice(theirs, &d), 0);
  EXPECT_EQ(d, 1);
  ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  Load();
  CuPtr p = Words(1);
  EXPECT_EQ(Add(p, 1, 1, theirs), kInvalidHandle) << "a launch into another context's stream";
  EXPECT_EQ(cuMemsetD32Async(p, 3, 1, theirs), 0) << "a copy may";
  EXPECT_EQ(cuStreamSynchronize(theirs), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 3u);
  EXPECT_EQ(cuStreamDestroy_v2(s), 0);
  EXPECT_EQ(cuStreamDestroy_v2(s), kInvalidHandle);
  EXPECT_EQ(cuStreamSynchronize(s), kInvalidHandle);
  EXPECT_EQ(cuStreamDestroy_v2(nullptr), kInvalidHandle);
}

TEST_F(Driver, SaysWhenAStreamIsNotDone) {
  Open();
  Load();
  CuPtr p = Words(1);
  void *s = Stream();
  EXPECT_EQ(cuStreamQuery(s), 0);
  EXPECT_EQ(Add(p, 1, 1, s), 0);
  EXPECT_EQ(cuStreamQuery(s), kNotReady);
  int rounds = 0;
  while (cuStreamQuery(s) == kNotReady && rounds < 1000) rounds++;
  EXPECT_LT(rounds, 1000) << "asking helps";
  EXPECT_EQ(Add(p, 1, 1, s), 0);
  EXPECT_EQ(cuStreamDestroy_v2(s), 0) << "what was queued is still done";
  EXPECT_EQ(cuCtxSynchronize(), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 2u);
}

TEST_F(Driver, OrdersAChainOfStreamsWhicheverIsWaitedFor) {
  for (int seed = 1; seed < 40; seed++) {
    Open(("seed=" + std::to_string(seed)).c_str());
    Load();
    CuPtr p = Words(1, 1), q = Words(1);
    void *s[4], *e;
    for (void *&x : s) x = Stream();
    EXPECT_EQ(Add(p, 1, 1, s[0]), 0);
    for (int k = 1; k < 4; k++) { // each takes what the one before it left
      e = Event();
      EXPECT_EQ(cuEventRecord(e, s[k - 1]), 0);
      EXPECT_EQ(cuStreamWaitEvent(s[k], e, 0), 0);
      EXPECT_EQ(cuMemcpyDtoDAsync_v2(q, p, 4, s[k]), 0);
      EXPECT_EQ(cuMemsetD32Async(p, 10 * k, 1, s[k]), 0);
    }
    for (void *x : {s[seed % 4], s[1], s[3]}) EXPECT_EQ(cuStreamSynchronize(x), 0) << fakecuda_fault();
    EXPECT_EQ(Fetch(q, 1)[0], 20u);
  }
}

// --- events ---

TEST_F(Driver, MeasuresTheTimeBetweenEvents) {
  Open();
  void *a = Event(), *b = Event(), *quiet = Event(2), *s = Stream();
  float ms = -1;
  EXPECT_EQ(cuEventElapsedTime(&ms, a, b), kInvalidHandle) << "never recorded";
  EXPECT_EQ(cuEventQuery(a), 0);
  EXPECT_EQ(cuEventSynchronize(a), 0);
  EXPECT_EQ(cuEventRecord(a, s), 0);
  EXPECT_EQ(cuEventRecord(b, s), 0);
  EXPECT_EQ(cuEventRecordWithFlags(quiet, s, 0), 0);
  EXPECT_EQ(cuEventRecordWithFlags(quiet, s, 2), kInvalidValue);
  EXPECT_EQ(cuEventElapsedTime(&ms, a, b), kNotReady);
  EXPECT_EQ(cuEventQuery(b), kNotReady);
  EXPECT_EQ(cuEventSynchronize(b), 0);
  EXPECT_EQ(cuEventQuery(b), 0);
  EXPECT_EQ(cuEventElapsedTime(&ms, a, b), 0);
  EXPECT_GE(ms, 0);
  EXPECT_EQ(cuEventElapsedTime_v2(&ms, b, a), 0);
  EXPECT_LE(ms, 0);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(cuEventElapsedTime(&ms, a, quiet), kInvalidHandle) << "made without timing";
  EXPECT_EQ(cuEventElapsedTime(nullptr, a, b), kInvalidValue);
  EXPECT_EQ(cuEventCreate(&a, 8), kInvalidValue);
  EXPECT_EQ(cuEventDestroy_v2(b), 0);
  EXPECT_EQ(cuEventDestroy_v2(b), kInvalidHandle);
  EXPECT_EQ(cuEventRecord(b, s), kInvalidHandle);
}

TEST_F(Driver, KeepsEventsAndStreamsOfOneContextTogether) {
  Open("devices=2");
  void *mine = Event(), *other = nullptr, *s = Stream();
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  void *theirs = Event(), *t = Stream();
  float ms;
  EXPECT_EQ(cuEventRecord(mine, t), kInvalidHandle);
  EXPECT_EQ(cuEventRecord(theirs, t), 0);
  ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  EXPECT_EQ(cuEventRecord(mine, s), 0);
  EXPECT_EQ(cuStreamWaitEvent(s, theirs, 0), 0) << "waiting across devices is what events are for";
  EXPECT_EQ(cuStreamWaitEvent(s, theirs, 2), kInvalidValue);
  EXPECT_EQ(cuStreamWaitEvent(s, s, 0), kInvalidHandle);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(cuEventQuery(theirs), 0);
  EXPECT_EQ(cuEventElapsedTime(&ms, mine, theirs), kInvalidHandle) << "of two devices";
}

// --- callbacks ---

TEST_F(Driver, CallsTheHostInOrder) {
  Open();
  Load();
  void *s = Stream();
  uint32_t *out = Pinned(1, 7);
  CuPtr p = Words(1);
  struct Seen {
    uint32_t *out, then;
    int code;
  } seen = {out, 0, 0};
  EXPECT_EQ(Add(p, 1, 5, s), 0);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(out, p, 4, s), 0);
  auto look = [](void *user) {
    Seen *x = static_cast<Seen *>(user);
    x->then = *x->out;
    x->code = cuCtxSynchronize();
  };
  EXPECT_EQ(cuLaunchHostFunc(s, look, &seen), 0);
  EXPECT_EQ(seen.then, 0u) << "not yet";
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(seen.then, 5u);
  EXPECT_EQ(seen.code, kNotPermitted) << "a callback may not call the driver";
  EXPECT_EQ(cuLaunchHostFunc(s, nullptr, nullptr), kInvalidValue);
}

TEST_F(Driver, CallsNobodyAfterAFault) {
  Open();
  Load();
  bool called = false;
  EXPECT_EQ(cuLaunchKernel(Function("broken"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(cuLaunchHostFunc(nullptr, [](void *p) { *static_cast<bool *>(p) = true; }, &called), 0);
  EXPECT_EQ(cuCtxSynchronize(), kIllegalAddress);
  EXPECT_FALSE(called);
}

// --- copies ---

TEST_F(Driver, CopiesBetweenAllMemories) {
  Open("devices=2");
  void *other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  CuPtr far = Words(4);
  ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  CuPtr near = Words(4), near2 = Words(4);
  const uint32_t data[4] = {1, 2, 3, 4};
  std::vector<uint32_t> back(4);
  EXPECT_EQ(cuMemcpyHtoD_v2(near, data, 16), 0);
  EXPECT_EQ(cuMemcpyDtoD_v2(near2, near, 16), 0);
  EXPECT_EQ(cuMemcpyPeer(far, other, near2, ctx, 16), 0);
  EXPECT_EQ(cuMemsetD32_v2(near, 0, 4), 0);
  EXPECT_EQ(cuMemcpy(near, far, 16), 0);
  EXPECT_EQ(cuMemcpy(reinterpret_cast<uintptr_t>(back.data()), near, 16), 0);
  EXPECT_EQ(back, std::vector<uint32_t>(data, data + 4));
  EXPECT_EQ(cuMemcpyPeerAsync(far, other, near, nullptr, 16, nullptr), kInvalidContext);
  EXPECT_EQ(cuMemcpyDtoD_v2(near, near2 + 4, 16), kInvalidValue) << "past the end";
  EXPECT_EQ(cuMemcpyHtoD_v2(near, reinterpret_cast<void *>(near2), 16), kInvalidValue) << "no memory of the host";
  EXPECT_EQ(cuMemcpyDtoH_v2(back.data(), reinterpret_cast<uintptr_t>(data), 16), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(near, data, 16, &back), kInvalidHandle);
  EXPECT_EQ(cuMemcpyHtoD_v2(near, data, 0), 0);
}

TEST_F(Driver, ReadsPageableMemoryWhenTheCallIsMade) {
  Open();
  CuPtr p = Words(1), q = Words(1);
  uint32_t local = 5, *pinned = Pinned(1, 5);
  void *s = Stream();
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(p, &local, 4, s), 0);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(q, pinned, 4, s), 0);
  local = 6, *pinned = 6;
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 5u);
  EXPECT_EQ(Fetch(q, 1)[0], 6u) << "pinned memory is read when the stream gets there";
}

TEST_F(Driver, CopiesPlanesAndBoxes) {
  Open();
  std::vector<uint32_t> from(6 * 5 * 4), to(from.size(), 0);
  std::iota(from.begin(), from.end(), 0);
  CuPtr p = Words(from.size());
  CuCopy3D c = {};
  c.from_kind = CU_HOST_SIDE, c.from_host = from.data(), c.from_pitch = 24, c.from_height = 5;
  c.to_kind = CU_DEVICE_SIDE, c.to_device = p, c.to_pitch = 24, c.to_height = 5;
  c.from_x = 4, c.from_y = 1, c.from_z = 1;
  c.to_x = 8, c.to_y = 2, c.to_z = 0;
  c.width = 12, c.height = 3, c.depth = 2;
  EXPECT_EQ(cuMemcpy3D_v2(&c), 0);
  std::vector<uint32_t> got = Fetch(p, from.size());
  for (size_t z = 0; z < 2; z++)
    for (size_t y = 0; y < 3; y++)
      for (size_t x = 0; x < 3; x++)
        EXPECT_EQ(got[z * 30 + (y + 2) * 6 + x + 2], from[(z + 1) * 30 + (y + 1) * 6 + x + 1]);
  EXPECT_EQ(std::count(got.begin(), got.end(), 0u), static_cast<long>(got.size()) - 18);
  c.to_pitch = 16;
  EXPECT_EQ(cuMemcpy3DAsync_v2(&c, nullptr), kInvalidValue) << "rows overlap";
  c.to_pitch = 24, c.to_kind = CU_ARRAY_SIDE;
  EXPECT_EQ(cuMemcpy3DAsync_v2(&c, nullptr), kInvalidHandle) << "no array";
  CuCopy2D d = {};
  d.from_kind = CU_DEVICE_SIDE, d.from_device = p, d.from_pitch = 24;
  d.to_kind = CU_HOST_SIDE, d.to_host = to.data(), d.to_pitch = 16;
  d.from_x = 8, d.from_y = 2, d.width = 12, d.height = 3;
  EXPECT_EQ(cuMemcpy2D_v2(&d), 0);
  EXPECT_EQ(to[4], from[30 + 12 + 1]);
  d.to_kind = 0;
  EXPECT_EQ(cuMemcpy2DUnaligned_v2(&d), kInvalidValue);
  d.to_kind = CU_HOST_SIDE, d.height = 40;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&d, nullptr), kInvalidValue) << "past the end";
}

TEST_F(Driver, SetsBytesWordsAndPlanes) {
  Open();
  CuPtr p = Words(8);
  EXPECT_EQ(cuMemsetD8_v2(p, 1, 4), 0);
  EXPECT_EQ(cuMemsetD16_v2(p + 4, 2, 2), 0);
  EXPECT_EQ(cuMemsetD32Async(p + 8, 3, 2, nullptr), 0);
  EXPECT_EQ(cuMemsetD2D8_v2(p + 16, 8, 4, 3, 2), 0);
  EXPECT_EQ(Fetch(p, 8), (std::vector<uint32_t>{0x01010101, 0x00020002, 3, 3, 0x040404, 0, 0x040404, 0}));
  EXPECT_EQ(cuMemsetD32_v2(p + 1, 0, 1), kInvalidValue) << "not aligned";
  EXPECT_EQ(cuMemsetD16_v2(p, 0, 17), kInvalidValue) << "past the end";
  EXPECT_EQ(cuMemsetD2D32_v2(p, 4, 0, 2, 2), kInvalidValue) << "rows overlap";
  EXPECT_EQ(cuMemsetD2D16Async(p, 16, 7, 1, 2, nullptr), 0);
  EXPECT_EQ(cuMemsetD2D32Async(p, 16, 9, 1, 2, nullptr), 0);
  EXPECT_EQ(cuMemsetD2D8Async(p, 16, 9, 1, 2, nullptr), 0);
  EXPECT_EQ(Fetch(p, 5)[4], 9u);
  EXPECT_EQ(cuMemsetD8Async(0, 0, 1, nullptr), kInvalidValue);
}

TEST_F(Driver, LosesTheContextWhenACopyMeetsFreedMemory) {
  Open();
  CuPtr p = 0;
  void *s = Stream(), *t = Stream();
  ASSERT_EQ(cuMemAllocAsync(&p, 64, s), 0);
  EXPECT_EQ(cuMemFreeAsync(p, s), 0);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(cuMemsetD32Async(p, 0, 1, t), kInvalidValue) << "known when the call is made";
  ASSERT_EQ(cuMemAllocAsync(&p, 64, s), 0);
  EXPECT_EQ(cuMemFreeAsync(p, s), 0);
  EXPECT_EQ(cuMemsetD32Async(p, 0, 1, s), 0) << "only the stream will tell";
  EXPECT_EQ(cuStreamSynchronize(s), kIllegalAddress);
}

} // namespace
} // namespace fake
