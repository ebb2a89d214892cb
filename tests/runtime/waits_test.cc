// tests/runtime/waits_test.cc -- waiting for another thread: nothing is missed between spinning and sleep, and nobody spins long.
#include "runtime/waits.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/arena.h"
#include "runtime/streams.h"

namespace {

int64_t cpu_time() {
  struct timespec ts;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

void busy(int64_t ns) {
  for (int64_t until = hdrt_now() + ns; hdrt_now() < until;) continue;
}

TEST(Waits, EndTheSpinningAfterItsTime) {
  RtSpin s = {RT_SPIN_NS, 0, 0}, none = {0, 0, 0};
  int64_t start = cpu_time();
  while (hdrt_spin(&s)) continue;
  EXPECT_LT(cpu_time() - start, 20 * RT_SPIN_NS);
  EXPECT_FALSE(hdrt_spin(&none));
  EXPECT_EQ(none.looks, 0u);
}

// Two threads answer one another across the time at which they fall asleep.
TEST(Waits, MissNoMoveWhileFallingAsleep) {
  RtMark ping = {0, 0}, pong = {UINT32_MAX - 100, 0}; // the counts pass their largest value
  const uint32_t from = pong.at;
  enum { ROUNDS = 400 };
  std::thread other([&] {
    for (uint32_t i = 1; i <= ROUNDS; i++) {
      hdrt_mark_await(&ping, i, i % 3 ? RT_SPIN_NS : 0);
      busy(i % 7 * 10000);
      hdrt_mark_move(&pong, from + i);
    }
  });
  for (uint32_t i = 1; i <= ROUNDS; i++) {
    hdrt_mark_move(&ping, i);
    hdrt_mark_await(&pong, from + i, i % 2 ? RT_SPIN_NS : 0);
    ASSERT_EQ(hdrt_mark_at(&pong), from + i);
  }
  other.join();
  EXPECT_EQ(ping.sleepers, 0u);
  EXPECT_EQ(pong.sleepers, 0u);
}

TEST(Waits, LeaveTheCoresToOthersWhenNothingIsGiven) {
  HdError err = {};
  RtThreads *pool;
  RtDevice d;
  RtStream *s;
  ASSERT_EQ(hdrt_threads_new(&hdb_system_allocator, 2, &err, &pool), HD_OK);
  hdrt_device_init(&d, &hdrt_cpu_ops, &hdb_system_allocator, pool);
  ASSERT_EQ(hdrt_stream_new(&d, true, &err, &s), HD_OK);
  int64_t start = cpu_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(cpu_time() - start, 10000000);
  hdrt_stream_free(s);
  hdrt_device_end(&d);
  hdrt_threads_free(pool);
}

// Work that comes a little before, at, and after the time at which a stream's thread falls asleep.
TEST(Waits, LetAStreamDoWorkWheneverItComes) {
  HdError err = {};
  RtDevice d;
  RtStream *s;
  RtFaultCopy fault;
  hdrt_device_init(&d, &hdrt_cpu_ops, &hdb_system_allocator, nullptr);
  ASSERT_EQ(hdrt_stream_new(&d, true, &err, &s), HD_OK);
  std::vector<char> from(64), to(64);
  RtView a = {}, b = {};
  a.data = from.data(), b.data = to.data();
  a.ndim = b.ndim = 1;
  a.length[0] = b.length[0] = 64;
  a.stride[0] = b.stride[0] = 1;
  a.elem = b.elem = 1;
  for (int i = 0; i < 200; i++) {
    from[63] = char(i);
    for (int k = 0; k <= i % 70; k++)
      ASSERT_EQ(hdrt_stream_copy(s, &a, &b, &err), HD_OK); // more than the ring has places
    ASSERT_EQ(hdrt_stream_wait(s, &fault, &err), HD_OK);
    ASSERT_EQ(to[63], char(i));
    busy(i % 20 * 5000);
  }
  hdrt_stream_free(s);
  hdrt_device_end(&d);
}

TEST(Waits, DoNotSpinWithOneCore) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(hdrt_spin_time(), 0);
  EXPECT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

} // namespace
