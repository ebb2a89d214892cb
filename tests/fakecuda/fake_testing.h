// tests/fakecuda/fake_testing.h -- a test that talks to the simulated driver itself.
#ifndef FAKECUDA_FAKE_TESTING_H
#define FAKECUDA_FAKE_TESTING_H

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/fakecuda/fake_api.h"

namespace fake {

enum {
  kInvalidValue = 1, kNoMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101, kInvalidContext = 201,
  kNoBinary = 209, kPeerUnsupported = 217, kInvalidPtx = 218, kPtxTooNew = 222, kInvalidHandle = 400, kNotFound = 500,
  kNotReady = 600, kIllegalAddress = 700, kOutOfResources = 701, kPeerOn = 704, kPeerOff = 705, kHostOn = 712,
  kHostOff = 713, kLaunchFailed = 719, kTooLarge = 720, kNotPermitted = 800, kNotSupported = 801,
};

// add(p, n, k): p[i] += k for i < n. fill(p, k): p[tid] = k in one block.
inline constexpr char kKernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b32 counter = 5;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 k)\n{\n"
    ".reg .pred %q; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [k];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "setp.ge.u32 %q, %r5, %r0; @%q ret;\n"
    "mul.wide.u32 %a1, %r5, 4; add.s64 %a2, %a0, %a1; ld.global.u32 %r6, [%a2]; add.u32 %r6, %r6, %r1;\n"
    "st.global.u32 [%a2], %r6; ret;\n}\n"
    ".visible .entry fill(.param .u64 p, .param .u32 k)\n.maxntid 256, 1, 1\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %a<4>; .shared .align 4 .b8 s[1024];\n"
    "ld.param.u64 %a0, [p]; ld.param.u32 %r0, [k]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %a1, %r1, 4; add.s64 %a2, %a0, %a1; st.shared.u32 [s], %r0; st.global.u32 [%a2], %r0; ret;\n}\n"
    ".visible .entry broken()\n{\n.reg .b64 %a; .reg .b32 %r;\n"
    "mov.b64 %a, 64; ld.global.u32 %r, [%a]; st.global.u32 [%a], %r; ret;\n}\n";

class Driver : public testing::Test {
protected:
  // Begin anew as the text says, races looked for, with the first device's primary context current.
  void Open(const char *config = "") {
    fakecuda_configure(("race=1," + std::string(config)).c_str());
    ASSERT_EQ(cuInit(0), 0);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
    ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  }
  void TearDown() override { fakecuda_configure(""); }

  void Load() { ASSERT_EQ(cuModuleLoadData(&module, kKernels), 0); }
  void *Function(const char *name) {
    void *f = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&f, module, name), 0);
    return f;
  }
  static void *Stream(unsigned flags = 1) {
    void *s = nullptr;
    EXPECT_EQ(cuStreamCreate(&s, flags), 0);
    return s;
  }
  static void *Event(unsigned flags = 0) {
    void *e = nullptr;
    EXPECT_EQ(cuEventCreate(&e, flags), 0);
    return e;
  }
  // n words of the device, all `value`.
  static CuPtr Words(size_t n, uint32_t value = 0) {
    CuPtr p = 0;
    EXPECT_EQ(cuMemAlloc_v2(&p, 4 * n), 0);
    EXPECT_EQ(cuMemsetD32_v2(p, value, n), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0);
    return p;
  }
  static uint32_t *Pinned(size_t n, uint32_t value = 0) {
    void *p = nullptr;
    EXPECT_EQ(cuMemAllocHost_v2(&p, 4 * n), 0);
    for (size_t i = 0; i < n; i++) static_cast<uint32_t *>(p)[i] = value;
    return static_cast<uint32_t *>(p);
  }
  static std::vector<uint32_t> Fetch(CuPtr p, size_t n) {
    std::vector<uint32_t> v(n);
    EXPECT_EQ(cuMemcpyDtoH_v2(v.data(), p, 4 * n), 0);
    return v;
  }
  int Add(CuPtr p, uint32_t n, uint32_t k, void *stream = nullptr) {
    void *args[] = {&p, &n, &k};
    return cuLaunchKernel(Function("add"), (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, args, nullptr);
  }
  int Fill(CuPtr p, uint32_t n, uint32_t k, void *stream = nullptr) {
    void *args[] = {&p, &k};
    return cuLaunchKernel(Function("fill"), 1, 1, 1, n, 1, 1, 0, stream, args, nullptr);
  }

  void *ctx = nullptr, *module = nullptr;
};

} // namespace fake
#endif
