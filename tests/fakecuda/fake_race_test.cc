// tests/fakecuda/fake_race_test.cc -- work that uses the memory of other work is found in whatever order it comes, and work that
// waits is left alone.
#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

class Races : public Driver {
protected:
  // Each seed is another order; all of them are judged alike.
  template <typename F> void Everywhere(F body, const char *config = "") {
    for (int seed = 1; seed < 9; seed++) {
      Open((std::string(config) + ",seed=" + std::to_string(seed)).c_str());
      Load();
      a = Stream(), b = Stream(), p = Words(64), q = Words(64);
      body();
    }
  }
  void Found(const std::string &first, const std::string &second) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuCtxSynchronize(), kLaunchFailed);
    const std::string said = testing::internal::GetCapturedStderr(), fault = fakecuda_fault();
    EXPECT_NE(said.find("a race of streams"), std::string::npos) << said;
    EXPECT_NE(fault.find(first), std::string::npos) << fault;
    EXPECT_NE(fault.find(second), std::string::npos) << fault;
  }
  void *a = nullptr, *b = nullptr;
  CuPtr p = 0, q = 0;
};

TEST_F(Races, OfTwoKernels) {
  Everywhere([&] {
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(Fill(p, 8, 1, b), 0);
    Found("kernel 'add'", "kernel 'fill'");
    EXPECT_NE(std::string(fakecuda_fault()).find("32 bytes at 0 bytes into memory cuMemAlloc"), std::string::npos);
  });
}

TEST_F(Races, NotOfReaders) {
  Everywhere([&] {
    CuPtr r = Words(64);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(q, p, 256, a), 0);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(r, p, 256, b), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0);
  });
}

TEST_F(Races, NotOfNeighbours) {
  Everywhere([&] {
    EXPECT_EQ(Add(p, 32, 1, a), 0);
    EXPECT_EQ(Add(p + 128, 32, 1, b), 0);
    EXPECT_EQ(cuMemsetD8Async(q + 3, 1, 1, a), 0);
    EXPECT_EQ(cuMemsetD8Async(q + 4, 1, 1, b), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0) << fakecuda_fault();
  });
}

TEST_F(Races, OfACopyAndAKernel) {
  Everywhere([&] {
    uint32_t *host = Pinned(64);
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, p + 252, 4, b), 0);
    Found("kernel 'add'", "a copy");
  });
}

TEST_F(Races, OfCopiesInPinnedMemory) {
  Everywhere([&] {
    uint32_t *host = Pinned(64);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, p, 256, a), 0);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(q, host, 256, b), 0);
    Found("a copy", "a copy");
    EXPECT_NE(std::string(fakecuda_fault()).find("pinned memory"), std::string::npos);
  });
}

TEST_F(Races, NotAfterAnEvent) {
  Everywhere([&] {
    void *e = Event(), *c = Stream(), *f = Event();
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(cuEventRecord(e, a), 0);
    EXPECT_EQ(cuStreamWaitEvent(b, e, 0), 0);
    EXPECT_EQ(cuMemsetD32Async(p, 0, 64, b), 0);
    EXPECT_EQ(cuEventRecord(f, b), 0);
    EXPECT_EQ(cuStreamWaitEvent(c, f, 0), 0) << "through two";
    EXPECT_EQ(Add(p, 64, 1, c), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0) << fakecuda_fault();
  });
}

TEST_F(Races, OfWorkBehindTheEvent) {
  Everywhere([&] {
    void *e = Event();
    EXPECT_EQ(cuEventRecord(e, a), 0);
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(cuStreamWaitEvent(b, e, 0), 0);
    EXPECT_EQ(cuMemsetD32Async(p, 0, 64, b), 0);
    Found("kernel 'add'", "a memset");
  });
}

TEST_F(Races, NotAfterTheHostWaited) {
  Everywhere([&] {
    void *e = Event();
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(cuStreamSynchronize(a), 0);
    EXPECT_EQ(Add(p, 64, 1, b), 0);
    EXPECT_EQ(cuEventRecord(e, b), 0);
    EXPECT_EQ(cuEventSynchronize(e), 0);
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    while (cuStreamQuery(a) == kNotReady) {}
    EXPECT_EQ(Add(p, 64, 1, b), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0) << fakecuda_fault();
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0);
  });
}

TEST_F(Races, OfWhatWasAskedForBeforeTheHostWaited) {
  Everywhere([&] {
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    EXPECT_EQ(Add(p, 64, 1, b), 0);
    testing::internal::CaptureStderr();
    int first = cuStreamSynchronize(a), second = cuStreamSynchronize(b);
    testing::internal::GetCapturedStderr();
    EXPECT_TRUE(first == kLaunchFailed || second == kLaunchFailed);
  });
}

TEST_F(Races, OfACopyByTheHostAndAStreamThatDoesNotBlock) {
  Everywhere([&] {
    uint32_t word;
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    testing::internal::CaptureStderr();
    (void)cuMemcpyDtoH_v2(&word, p, 4);
    EXPECT_EQ(cuStreamSynchronize(a), kLaunchFailed);
    testing::internal::GetCapturedStderr();
  });
}

TEST_F(Races, NotOfTheDefaultStreamAndBlockingOnes) {
  Everywhere([&] {
    void *c = Stream(0), *d = Stream(0);
    EXPECT_EQ(Add(p, 64, 1, c), 0);
    EXPECT_EQ(Add(p, 64, 1, nullptr), 0);
    EXPECT_EQ(Add(p, 64, 1, d), 0);
    uint32_t word;
    EXPECT_EQ(cuMemcpyDtoH_v2(&word, p, 4), 0) << fakecuda_fault();
    EXPECT_EQ(word, 3u);
  });
}

TEST_F(Races, OfAFreeAndItsUsers) {
  Everywhere([&] {
    CuPtr r = 0;
    ASSERT_EQ(cuMemAllocAsync(&r, 256, a), 0);
    EXPECT_EQ(cuMemsetD32Async(r, 0, 64, a), 0);
    EXPECT_EQ(cuStreamSynchronize(a), 0);
    uint32_t *host = Pinned(64);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, r, 256, b), 0);
    EXPECT_EQ(cuStreamQuery(b) == 0, false);
    EXPECT_EQ(cuMemFreeAsync(r, a), 0);
    testing::internal::CaptureStderr();
    int code = cuCtxSynchronize();
    testing::internal::GetCapturedStderr();
    EXPECT_TRUE(code == kLaunchFailed || code == kIllegalAddress) << "freed in use, or used when freed";
  });
}

TEST_F(Races, OfAnAllocationAndAnotherStream) {
  Everywhere([&] {
    CuPtr r = 0;
    ASSERT_EQ(cuMemAllocAsync(&r, 256, a), 0);
    EXPECT_EQ(Fill(r, 64, 1, b), 0);
    Found("cuMemAllocAsync", "kernel 'fill'");
  });
}

TEST_F(Races, NotOfAtomics) {
  const char atomic[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry count(.param .u64 p)\n{\n"
                        ".reg .b64 %a; .reg .b32 %r;\nld.param.u64 %a, [p]; atom.global.add.u32 %r, [%a], 1; ret;\n}\n";
  Everywhere([&] {
    void *m = nullptr, *f = nullptr;
    ASSERT_EQ(cuModuleLoadData(&m, atomic), 0);
    ASSERT_EQ(cuModuleGetFunction(&f, m, "count"), 0);
    void *args[] = {&p};
    EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, a, args, nullptr), 0);
    EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, b, args, nullptr), 0);
    EXPECT_EQ(cuCtxSynchronize(), 0) << fakecuda_fault();
    EXPECT_EQ(Fetch(p, 1)[0], 128u);
    EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, a, args, nullptr), 0);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(q, p, 4, b), 0);
    Found("kernel 'count'", "a copy");
  });
}

TEST_F(Races, OfTwoDevices) {
  Everywhere(
      [&] {
        void *other = nullptr;
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
        EXPECT_EQ(Add(p, 64, 1, a), 0);
        ASSERT_EQ(cuCtxSetCurrent(other), 0);
        CuPtr far = Words(64);
        void *c = Stream();
        EXPECT_EQ(cuMemcpyPeerAsync(far, other, p, ctx, 256, c), 0);
        testing::internal::CaptureStderr();
        int second = cuStreamSynchronize(c);
        ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
        int first = cuStreamSynchronize(a);
        testing::internal::GetCapturedStderr();
        EXPECT_TRUE(first == kLaunchFailed || second == kLaunchFailed);
      },
      "devices=2");
}

TEST_F(Races, InsideAGraph) {
  for (bool ordered : {false, true})
    Everywhere([&] {
      void *g = nullptr, *one, *two, *e = nullptr;
      ASSERT_EQ(cuGraphCreate(&g, 0), 0);
      CuSetNode set = {p, 0, 1, 4, 8, 1};
      EXPECT_EQ(cuGraphAddMemsetNode(&one, g, nullptr, 0, &set, ctx), 0);
      EXPECT_EQ(cuGraphAddMemsetNode(&two, g, &one, ordered, &set, ctx), 0);
      EXPECT_EQ(cuGraphInstantiateWithFlags(&e, g, 0), 0);
      EXPECT_EQ(cuGraphLaunch(e, a), 0);
      EXPECT_EQ(cuGraphLaunch(e, b), 0) << "launches of one graph wait for each other";
      if (ordered) {
        EXPECT_EQ(cuCtxSynchronize(), 0) << fakecuda_fault();
      } else {
        Found("a memset of a graph", "a memset of a graph");
      }
    });
}

TEST_F(Races, OfAGraphAndAStream) {
  Everywhere([&] {
    void *g = nullptr, *e = nullptr;
    ASSERT_EQ(cuStreamBeginCapture_v2(a, 0), 0);
    EXPECT_EQ(Add(p, 64, 1, a), 0);
    ASSERT_EQ(cuStreamEndCapture(a, &g), 0);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&e, g, 0), 0);
    EXPECT_EQ(cuGraphLaunch(e, a), 0);
    EXPECT_EQ(Fill(p, 8, 1, b), 0);
    Found("kernel 'add' of a graph", "kernel 'fill'");
  });
}

TEST_F(Races, GoUnseenWhereNobodyAsked) {
  Open("race=0");
  Load();
  p = Words(64);
  EXPECT_EQ(Add(p, 64, 1, Stream()), 0);
  EXPECT_EQ(Add(p, 64, 1, Stream()), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0);
}

} // namespace
} // namespace fake
