// tests/runtime/launches_test.cc -- launches of code written in C++: every thread once, whatever the shape and threads;
// streams in order, faults kept until they are asked for.
#include "runtime/launches.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "base/arena.h"
#include "runtime/streams.h"

namespace {

// Machine code for the runtime is any function with the entry's type.
struct Device {
  explicit Device(int threads) {
    HdError err = {};
    EXPECT_EQ(hdrt_threads_new(&hdb_system_allocator, threads, &err, &pool), HD_OK);
    hdrt_device_init(&d, &hdrt_cpu_ops, &hdb_system_allocator, pool);
  }
  ~Device() {
    hdrt_device_end(&d);
    hdrt_threads_free(pool);
  }
  RtThreads *pool = nullptr;
  RtDevice d;
};

RtCode code_of(RtDevice *d, RtEntry entry) {
  RtCode c = {};
  c.device = d;
  c.kernel = "test";
  c.entry = entry;
  c.kind = RT_CODE_OBJECT;
  return c;
}

struct CountArgs {
  std::atomic<int> *count;
  std::atomic<int> *bad;
  int busy;  // rounds of work for each thread
  int whole; // what no cut goes through
};

void count_threads(const void *args, const RtSpan *s, void *user) {
  CountArgs a;
  memcpy(&a, args, sizeof a);
  if (user) (*a.bad)++;
  if (s->begin % a.whole || (s->end % a.whole && s->end != s->dim[s->ndim - 1]) || s->begin >= s->end) (*a.bad)++;
  int64_t base = 0;
  for (int k = 0; k < s->ndim - 1; k++) {
    if (s->at[k] < 0 || s->at[k] >= s->dim[k]) (*a.bad)++;
    base = base * s->dim[k] + s->at[k];
  }
  for (int64_t x = s->begin; x < s->end; x++) {
    for (volatile int i = 0; i < a.busy; i = i + 1) {}
    a.count[base * s->dim[s->ndim - 1] + x]++;
  }
}

void run_shape(RtDevice *d, std::vector<int64_t> dim, int busy, int group = 0) {
  int64_t n = 1;
  for (int64_t x : dim) n *= x;
  std::vector<std::atomic<int>> count(static_cast<size_t>(n ? n : 1));
  std::atomic<int> bad{0};
  CountArgs args = {count.data(), &bad, busy, std::max(group, 64)};
  RtCode code = code_of(d, count_threads);
  code.group = group;
  RtLaunch l = {&code, &args, {1, 1, 1, 1}, static_cast<int32_t>(dim.size())};
  RtFault fault = {};
  for (size_t k = 0; k < dim.size(); k++) l.dim[k] = dim[k];
  d->ops->run(d, &l, &hdb_system_allocator, &fault, nullptr);
  EXPECT_EQ(bad, 0);
  for (int64_t i = 0; i < n; i++) ASSERT_EQ(count[static_cast<size_t>(i)], 1) << "thread " << i << " of " << n;
}

TEST(Launches, AreCutBetweenGroups) {
  for (int threads : {1, 4}) {
    Device d(threads);
    for (int group : {32, 96, 256, 1024}) {
      for (int64_t n : {0, 1, 2, 7, 100}) run_shape(&d.d, {n * group}, 300, group);
      run_shape(&d.d, {5, 3 * group}, 300, group);
      run_shape(&d.d, {3, 2, 2 * group}, 300, group);
    }
  }
}

TEST(Launches, RunEveryThreadOnce) {
  for (int threads : {1, 2, 4}) {
    Device d(threads);
    for (int busy : {0, 300}) {
      for (int64_t n : {0, 1, 63, 64, 65, 127, 128, 1000, 5000}) run_shape(&d.d, {n}, busy);
      run_shape(&d.d, {7, 100}, busy);
      run_shape(&d.d, {100, 7}, busy);
      run_shape(&d.d, {3, 5, 70}, busy);
      run_shape(&d.d, {3, 2, 5, 65}, busy);
      run_shape(&d.d, {3, 0, 5, 65}, busy);
      run_shape(&d.d, {0, 5}, busy);
      run_shape(&d.d, {300, 1, 1}, busy);
    }
    run_shape(&d.d, {1 << 20}, 0);
  }
}

TEST(Launches, SayWhenTheyAreAlone) {
  Device d(1);
  RtCode code = code_of(&d.d, [](const void *args, const RtSpan *s, void *) {
    int *p;
    memcpy(&p, args, sizeof p);
    *p = s->serial;
  });
  int serial = -1, *p = &serial;
  HdError err = {};
  RtLaunch l = {&code, &p, {10, 1, 1, 1}, 1};
  RtStream *sync, *async;
  RtFaultCopy none;
  ASSERT_EQ(hdrt_stream_new(&d.d, false, &err, &sync), HD_OK);
  hdrt_stream_launch(sync, &l, sizeof p, &err);
  EXPECT_EQ(serial, 1);
  ASSERT_EQ(hdrt_stream_new(&d.d, true, &err, &async), HD_OK);
  hdrt_stream_launch(async, &l, sizeof p, &err);
  EXPECT_FALSE(hdrt_stream_wait(async, &none, &err));
  EXPECT_EQ(serial, 0) << "another stream could launch meanwhile";
  hdrt_stream_free(async);
  hdrt_stream_launch(sync, &l, sizeof p, &err);
  EXPECT_EQ(serial, 1);
  hdrt_stream_free(sync);
}

#if defined(__SSE__)
TEST(Launches, KeepTheFloatingPointEnvironmentToThemselves) {
  Device d(2);
  RtCode code = code_of(&d.d, [](const void *args, const RtSpan *, void *) {
    std::atomic<unsigned> *p;
    memcpy(&p, args, sizeof p);
    *p |= _mm_getcsr() & ~0x3fu;
  });
  std::atomic<unsigned> seen{0}, *p = &seen;
  RtLaunch l = {&code, &p, {100000, 1, 1, 1}, 1};
  RtFault fault = {};
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // flush to zero, denormals are zero
  d.d.ops->run(&d.d, &l, &hdb_system_allocator, &fault, nullptr);
  EXPECT_EQ(seen, 0x1f80u);
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u) << "the caller's own is given back";
  _mm_setcsr(before);
}
#endif

// --- streams ---

void append(const void *args, const RtSpan *s, void *) {
  struct {
    std::vector<int> *list;
    int value;
  } a;
  memcpy(&a, args, sizeof a);
  if (s->begin == 0) a.list->push_back(a.value);
}

TEST(Streams, WorkInOrder) {
  Device d(2);
  for (bool async : {false, true}) {
    std::vector<int> list;
    HdError err = {};
    RtStream *s;
    RtFaultCopy none;
    RtCode code = code_of(&d.d, append);
    ASSERT_EQ(hdrt_stream_new(&d.d, async, &err, &s), HD_OK);
    for (int i = 0; i < 500; i++) { // more than the ring holds
      struct {
        std::vector<int> *list;
        int value;
      } args = {&list, i};
      RtLaunch l = {&code, &args, {1, 1, 1, 1}, 1};
      hdrt_stream_launch(s, &l, sizeof args, &err);
      args.value = -1; // the arguments were copied
    }
    EXPECT_FALSE(hdrt_stream_wait(s, &none, &err));
    ASSERT_EQ(list.size(), 500u);
    for (int i = 0; i < 500; i++) ASSERT_EQ(list[i], i);
    hdrt_stream_free(s);
  }
}

TEST(Streams, DoCopiesBetweenLaunches) {
  Device d(1);
  HdError err = {};
  RtStream *s;
  ASSERT_EQ(hdrt_stream_new(&d.d, true, &err, &s), HD_OK);
  std::vector<int> a(100), b(100);
  for (int i = 0; i < 100; i++) a[i] = i;
  RtView va = {reinterpret_cast<char *>(a.data()), {100}, {1}, 1, 4, nullptr, nullptr};
  RtView vb = {reinterpret_cast<char *>(b.data()), {100}, {1}, 1, 4, nullptr, nullptr};
  hdrt_stream_copy(s, &va, &vb, &err);
  hdrt_stream_clear(s, &va, &err);
  RtFaultCopy none;
  EXPECT_FALSE(hdrt_stream_wait(s, &none, &err));
  for (int i = 0; i < 100; i++) {
    EXPECT_EQ(b[i], i);
    EXPECT_EQ(a[i], 0);
  }
  hdrt_stream_free(s);
}

void fail_at(const void *args, const RtSpan *s, void *) {
  int64_t bad;
  memcpy(&bad, args, sizeof bad);
  if (bad < s->begin || bad >= s->end) return;
  int expected = 0;
  if (!__atomic_compare_exchange_n(&s->fault->state, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  s->fault->line = 12;
  s->fault->column = 3;
  s->fault->has_index = 1;
  s->fault->index = bad;
  s->fault->limit = 10;
  memset(s->fault->tid, 0, sizeof s->fault->tid);
  s->fault->tid[0] = bad;
  s->fault->text = "too far";
  s->fault->file = "k.hd";
  __atomic_store_n(&s->fault->state, 2, __ATOMIC_RELEASE);
}

TEST(Streams, KeepTheFirstFaultUntilTheNextWait) {
  Device d(2);
  for (bool async : {false, true}) {
    HdError err = {};
    RtStream *s;
    RtCode code = code_of(&d.d, fail_at);
    ASSERT_EQ(hdrt_stream_new(&d.d, async, &err, &s), HD_OK);
    for (int64_t bad : {-1, 77, 5}) {
      RtLaunch l = {&code, &bad, {1000, 1, 1, 1}, 1};
      hdrt_stream_launch(s, &l, sizeof bad, &err);
    }
    RtFaultCopy f;
    ASSERT_TRUE(hdrt_stream_wait(s, &f, &err));
    EXPECT_EQ(f.status, HD_ERR_FAULT);
    EXPECT_EQ(f.index, 77);
    EXPECT_EQ(f.tid[0], 77);
    EXPECT_EQ(f.line, 12);
    EXPECT_STREQ(f.kernel, "test");
    EXPECT_STREQ(f.text, "too far");
    EXPECT_STREQ(f.file, "k.hd");
    EXPECT_FALSE(hdrt_stream_wait(s, &f, &err)) << "it is reported once";
    hdrt_stream_free(s);
  }
}

TEST(Streams, FinishTheirWorkBeforeTheyEnd) {
  Device d(1);
  HdError err = {};
  RtStream *s;
  std::atomic<int> done{0};
  auto *p = &done;
  RtCode code = code_of(&d.d, [](const void *args, const RtSpan *, void *) {
    std::atomic<int> *n;
    memcpy(&n, args, sizeof n);
    usleep(1000);
    (*n)++;
  });
  ASSERT_EQ(hdrt_stream_new(&d.d, true, &err, &s), HD_OK);
  RtLaunch l = {&code, &p, {1, 1, 1, 1}, 1};
  for (int i = 0; i < 10; i++) hdrt_stream_launch(s, &l, sizeof p, &err);
  hdrt_stream_free(s);
  EXPECT_EQ(done, 10);
}

TEST(Streams, ReportMemoryThatRanOut) {
  Device d(1);
  int left = 0;
  HdAllocator few = {[](void *user, void *p, size_t, size_t n) -> void * {
                       if (n == 0) return free(p), nullptr;
                       return (*static_cast<int *>(user))-- > 0 ? realloc(p, n) : nullptr;
                     },
                     &left};
  d.d.mem = &few;
  for (int n = 0; n < 2; n++) {
    HdError err = {};
    RtStream *s = nullptr;
    left = n;
    EXPECT_EQ(hdrt_stream_new(&d.d, true, &err, &s), HD_ERR_NOMEM);
    EXPECT_EQ(s, nullptr);
  }
  EXPECT_EQ(d.d.async, 0);
}

} // namespace
