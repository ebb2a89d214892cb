// tests/fakecuda/fake_memory_test.cc -- memory of the simulated driver: allocations, pools, the host's, peers', and pointers.
#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

TEST_F(Driver, AllocatesUntilTheDeviceIsFull) {
  Open("mem=1M");
  CuPtr p = 0, q = 0;
  size_t left = 0, total = 0;
  EXPECT_EQ(cuMemAlloc_v2(&p, 600 << 10), 0);
  EXPECT_EQ(cuMemAlloc_v2(&q, 600 << 10), kNoMemory);
  EXPECT_EQ(q, 0u) << "an output is written only on success";
  EXPECT_EQ(cuMemGetInfo_v2(&left, &total), 0);
  EXPECT_EQ(left, 424u << 10);
  EXPECT_EQ(total, 1u << 20);
  EXPECT_EQ(cuMemFree_v2(p), 0);
  EXPECT_EQ(cuMemAlloc_v2(&q, 600 << 10), 0);
  EXPECT_NE(p, q) << "addresses are not used again";
  EXPECT_EQ(cuMemAlloc_v2(&q, 0), kInvalidValue);
  EXPECT_EQ(cuMemAlloc_v2(nullptr, 8), kInvalidValue);
}

TEST_F(Driver, FreesWhatItAllocatedOnce) {
  Open();
  CuPtr p = Words(10);
  EXPECT_EQ(p % 256, 0u);
  EXPECT_EQ(cuMemFree_v2(p + 4), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(12345), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(p), 0);
  EXPECT_EQ(cuMemFree_v2(p), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(0), 0);
  EXPECT_EQ(fakecuda_live("blocks"), 0u);
}

TEST_F(Driver, PitchesRows) {
  Open();
  CuPtr p = 0, base = 0;
  size_t pitch = 0, size = 0;
  EXPECT_EQ(cuMemAllocPitch_v2(&p, &pitch, 100, 3, 4), 0);
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &size, p + 700), 0);
  EXPECT_EQ(base, p);
  EXPECT_EQ(size, 1536u);
  EXPECT_EQ(cuMemAllocPitch_v2(&p, &pitch, 100, 3, 5), kInvalidValue);
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &size, 64), kNotFound);
}

// --- memory of the host ---

TEST_F(Driver, PinsAndMapsHostMemory) {
  Open();
  Load();
  void *p = nullptr;
  unsigned flags = 0;
  EXPECT_EQ(cuMemHostAlloc(&p, 64, 2), 0);
  EXPECT_EQ(cuMemHostAlloc(&p, 64, 8), kInvalidValue);
  EXPECT_EQ(cuMemHostAlloc(&p, 0, 0), kInvalidValue);
  memset(p, 0, 64);
  CuPtr there = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&there, p, 0), 0);
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&there, p, 1), kInvalidValue);
  EXPECT_EQ(cuMemHostGetFlags(&flags, p), 0);
  EXPECT_EQ(flags, 2u);
  EXPECT_EQ(Add(there, 16, 3), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0);
  EXPECT_EQ(static_cast<uint32_t *>(p)[15], 3u);
  EXPECT_EQ(cuMemFree_v2(there), kInvalidValue);
  EXPECT_EQ(cuMemFreeHost(p), 0);
  EXPECT_EQ(cuMemFreeHost(p), kInvalidValue);
}

TEST_F(Driver, RegistersHostMemoryOnce) {
  Open();
  Load();
  std::vector<uint32_t> v(64, 1);
  CuPtr there = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&there, v.data(), 0), kInvalidValue);
  EXPECT_EQ(cuMemHostRegister_v2(v.data(), 256, 2), 0);
  EXPECT_EQ(cuMemHostRegister_v2(v.data() + 8, 8, 2), kHostOn);
  EXPECT_EQ(cuMemHostRegister_v2(nullptr, 8, 2), kInvalidValue);
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&there, v.data(), 0), 0);
  EXPECT_EQ(Add(there, 64, 41), 0);
  EXPECT_EQ(cuMemHostUnregister(v.data() + 8), kHostOff);
  EXPECT_EQ(cuMemHostUnregister(v.data()), 0) << "which waits for the device";
  EXPECT_EQ(v[63], 42u);
  EXPECT_EQ(cuMemHostUnregister(v.data()), kHostOff);
}

TEST_F(Driver, ManagesMemoryWhereItCan) {
  Open();
  Load();
  CuPtr p = 0;
  EXPECT_EQ(cuMemAllocManaged(&p, 64, 3), kInvalidValue);
  ASSERT_EQ(cuMemAllocManaged(&p, 64, 1), 0);
  uint32_t *words = reinterpret_cast<uint32_t *>(p);
  for (int i = 0; i < 16; i++) words[i] = 5;
  EXPECT_EQ(cuMemPrefetchAsync(p, 64, 0, nullptr), 0);
  EXPECT_EQ(cuMemAdvise(p, 64, 1, 0), 0);
  EXPECT_EQ(cuMemAdvise(p, 65, 1, 0), kInvalidValue);
  EXPECT_EQ(Add(p, 16, 2), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0);
  EXPECT_EQ(words[15], 7u);
  EXPECT_EQ(cuMemFree_v2(p), 0);
  Open("managed=0");
  EXPECT_EQ(cuMemAllocManaged(&p, 64, 1), kNotSupported);
}

// --- pools ---

uint64_t Of(void *pool, int which) {
  uint64_t x = 99;
  EXPECT_EQ(cuMemPoolGetAttribute(pool, which, &x), 0);
  return x;
}

TEST_F(Driver, CountsWhatAPoolHolds) {
  Open("mem=1M");
  enum { kThreshold = 4, kReserved = 5, kUsed = 7, kMostUsed = 8 };
  void *pool = nullptr, *s = Stream();
  ASSERT_EQ(cuDeviceGetDefaultMemPool(&pool, 0), 0);
  CuPtr p = 0, q = 0;
  EXPECT_EQ(cuMemAllocAsync(&p, 1000, s), 0);
  EXPECT_EQ(cuMemAllocAsync(&q, 500, s), 0);
  EXPECT_EQ(Of(pool, kUsed), 1500u);
  EXPECT_EQ(cuMemFreeAsync(p, s), 0);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(Of(pool, kUsed), 500u);
  EXPECT_EQ(Of(pool, kMostUsed), 1500u);
  uint64_t x = 0;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, kMostUsed, &x), 0);
  EXPECT_EQ(Of(pool, kMostUsed), 500u);
  x = 1;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, kMostUsed, &x), kInvalidValue);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, kUsed, &x), kInvalidValue);
  x = 1 << 20;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, kThreshold, &x), 0);
  EXPECT_EQ(Of(pool, kThreshold), 1u << 20);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, 9, &x), kInvalidValue);
  EXPECT_EQ(cuMemPoolTrimTo(pool, 0), 0);
  EXPECT_EQ(cuMemPoolTrimTo(&x, 0), kInvalidValue);
  EXPECT_EQ(cuMemAllocAsync(&p, 2 << 20, s), kNoMemory);
  EXPECT_EQ(cuMemAllocAsync(&p, 0, s), kInvalidValue);
  EXPECT_EQ(cuMemAllocAsync(&p, 8, &x), kInvalidHandle);
}

TEST_F(Driver, FreesInTheOrderOfTheStream) {
  Open();
  Load();
  void *s = Stream();
  CuPtr p = 0;
  ASSERT_EQ(cuMemAllocAsync(&p, 256, s), 0);
  EXPECT_EQ(cuMemsetD32Async(p, 4, 64, s), 0);
  EXPECT_EQ(Add(p, 64, 1, s), 0);
  uint32_t *out = Pinned(64);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(out, p, 256, s), 0);
  EXPECT_EQ(cuMemFreeAsync(p, s), 0);
  EXPECT_EQ(cuMemFreeAsync(p, s), kInvalidValue) << "twice";
  EXPECT_EQ(cuMemFree_v2(p), kInvalidValue);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(out[63], 5u);
  EXPECT_EQ(fakecuda_live("blocks"), 1u);
  EXPECT_EQ(Add(p, 64, 1, s), 0);
  EXPECT_EQ(cuStreamSynchronize(s), kIllegalAddress);
  EXPECT_NE(std::string(fakecuda_fault()).find("freed memory"), std::string::npos) << fakecuda_fault();
}

TEST_F(Driver, MakesPools) {
  Open("devices=2");
  CuPoolProps props = {};
  props.type = 1;
  props.location = {1, 1};
  void *pool = nullptr, *p = nullptr;
  ASSERT_EQ(cuMemPoolCreate(&pool, &props), 0);
  CuPtr a = 0;
  int device = -1, flags = -1;
  EXPECT_EQ(cuMemAllocFromPoolAsync(&a, 64, pool, nullptr), 0) << "a stream of one device, a pool of another";
  EXPECT_EQ(cuPointerGetAttribute(&device, 9, a), 0);
  EXPECT_EQ(device, 1);
  void *of = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&of, 17, a), 0);
  EXPECT_EQ(of, pool);
  CuLocation first = {1, 0};
  EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &first), 0);
  EXPECT_EQ(flags, 0);
  Load();
  CuAccess access = {first, 3};
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), 0);
  EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &first), 0);
  EXPECT_EQ(flags, 3);
  EXPECT_EQ(cuMemsetD32_v2(a, 1, 16), 0);
  EXPECT_EQ(Add(a, 16, 1), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0);
  EXPECT_EQ(Fetch(a, 16)[15], 2u);
  EXPECT_EQ(cuDeviceSetMemPool(1, pool), 0);
  EXPECT_EQ(cuDeviceSetMemPool(0, pool), kInvalidValue);
  EXPECT_EQ(cuDeviceGetMemPool(&p, 1), 0);
  EXPECT_EQ(p, pool);
  EXPECT_EQ(cuMemPoolDestroy(pool), 0);
  EXPECT_EQ(cuMemPoolDestroy(pool), kInvalidValue);
  EXPECT_EQ(cuDeviceGetMemPool(&p, 1), 0);
  EXPECT_NE(p, pool);
  EXPECT_EQ(cuMemPoolDestroy(p), kInvalidValue) << "a device's own";
  props.location = {1, 2};
  EXPECT_EQ(cuMemPoolCreate(&pool, &props), kInvalidDevice);
  props.type = 0;
  EXPECT_EQ(cuMemPoolCreate(&pool, &props), kInvalidValue);
}

TEST_F(Driver, HasNoPoolsWhereItIsToldSo) {
  Open("pools=0");
  CuPtr p;
  void *pool;
  int has = 1;
  EXPECT_EQ(cuDeviceGetAttribute(&has, 115, 0), 0);
  EXPECT_EQ(has, 0);
  EXPECT_EQ(cuMemAllocAsync(&p, 8, nullptr), kNotSupported);
  EXPECT_EQ(cuDeviceGetDefaultMemPool(&pool, 0), kNotSupported);
}

// --- what a pointer is, and who may use it ---

TEST_F(Driver, KnowsPointers) {
  Open();
  enum {
    kContext = 1,
    kKind = 2,
    kDevicePointer = 3,
    kHostPointer = 4,
    kManaged = 8,
    kOrdinal = 9,
    kStart = 11,
    kSize = 12
  };
  CuPtr p = Words(8), x = 0;
  uint32_t *h = Pinned(4);
  CuPtr hp = reinterpret_cast<uintptr_t>(h);
  int kind = 0;
  void *c = nullptr;
  size_t size = 0;
  EXPECT_EQ(cuPointerGetAttribute(&kind, kKind, p + 5), 0);
  EXPECT_EQ(kind, 2);
  EXPECT_EQ(cuPointerGetAttribute(&kind, kKind, hp), 0);
  EXPECT_EQ(kind, 1);
  EXPECT_EQ(cuPointerGetAttribute(&c, kContext, p), 0);
  EXPECT_EQ(c, ctx);
  EXPECT_EQ(cuPointerGetAttribute(&x, kStart, p + 5), 0);
  EXPECT_EQ(x, p);
  EXPECT_EQ(cuPointerGetAttribute(&size, kSize, p), 0);
  EXPECT_EQ(size, 32u);
  EXPECT_EQ(cuPointerGetAttribute(&x, kHostPointer, p), kInvalidValue);
  EXPECT_EQ(cuPointerGetAttribute(&x, kHostPointer, hp), 0);
  EXPECT_EQ(cuPointerGetAttribute(&kind, kKind, 64), kInvalidValue);
  EXPECT_EQ(cuPointerGetAttribute(nullptr, kKind, p), kInvalidValue);
  const int which[] = {kKind, kOrdinal, kManaged};
  int kinds = 9, ordinal = 9, managed = 9;
  void *out[] = {&kinds, &ordinal, &managed};
  EXPECT_EQ(cuPointerGetAttributes(3, which, out, p), 0);
  EXPECT_EQ(kinds, 2);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cuPointerGetAttributes(3, which, out, 64), 0) << "of memory that it does not know, nothing";
  EXPECT_EQ(kinds, 0);
  EXPECT_EQ(ordinal, -2);
}

TEST_F(Driver, FindsAKernelThatUsesAnotherDevicesMemory) {
  Open("devices=2");
  CuPtr mine = Words(16);
  void *other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  Load();
  EXPECT_EQ(cuCtxEnablePeerAccess(ctx, 0), 0);
  EXPECT_EQ(Add(mine, 16, 1), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0) << fakecuda_fault();
  EXPECT_EQ(cuCtxDisablePeerAccess(ctx), 0);
  EXPECT_EQ(Add(mine, 16, 1), 0);
  EXPECT_EQ(cuCtxSynchronize(), kIllegalAddress);
}

TEST_F(Driver, DamagesCopiesBetweenPeersWhereItIsToldSo) {
  Open("devices=2,peer=wrong");
  void *other = nullptr;
  int can = 0;
  CuPtr mine = Words(2, 1), near = Words(2);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  CuPtr theirs = Words(2, 2);
  ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), 0);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cuMemcpyPeer(mine, ctx, theirs, other, 8), 0);
  EXPECT_EQ(Fetch(mine, 2)[1], 2u) << "through the host it is right";
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), 0);
  EXPECT_EQ(cuMemcpyPeer(mine, ctx, theirs, other, 8), 0);
  EXPECT_EQ(Fetch(mine, 2)[1], 2u ^ 0x55555555u);
  EXPECT_EQ(cuMemcpyDtoD_v2(near, mine, 8), 0);
  EXPECT_EQ(Fetch(near, 2)[1], 2u ^ 0x55555555u) << "within a device it is right";
  EXPECT_EQ(cuCtxDisablePeerAccess(other), 0);
  EXPECT_EQ(cuMemcpyPeer(mine, ctx, theirs, other, 8), 0);
  EXPECT_EQ(Fetch(mine, 2)[1], 2u);
}

TEST_F(Driver, KeepsGapsBetweenAllocations) {
  Open();
  Load();
  CuPtr p = Words(64);
  Words(64);
  EXPECT_EQ(Add(p, 65, 1), 0);
  EXPECT_EQ(cuCtxSynchronize(), kIllegalAddress);
  const std::string fault = fakecuda_fault();
  EXPECT_NE(fault.find("kernel 'add'"), std::string::npos) << fault;
  EXPECT_NE(fault.find("0 bytes behind the end of memory cuMemAlloc of 256 bytes"), std::string::npos) << fault;
}

} // namespace
} // namespace fake
