// tests/runtime/threads_test.cc -- workers that share jobs: every item once, under contention, from several callers.
#include "runtime/threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/arena.h"

namespace {

struct Pool {
  explicit Pool(int n) { EXPECT_EQ(hdrt_threads_new(&hdb_system_allocator, n, &err, &t), HD_OK); }
  ~Pool() { hdrt_threads_free(t); }
  HdError err = {};
  RtThreads *t = nullptr;
};

struct Counts {
  explicit Counts(int64_t n) : of(new std::atomic<int>[n]), n(n) {
    for (int64_t i = 0; i < n; i++) of[i] = 0;
  }
  static void add(void *job, int64_t i) { static_cast<Counts *>(job)->of[i]++; }
  bool all_one() const {
    for (int64_t i = 0; i < n; i++)
      if (of[i] != 1) return false;
    return true;
  }
  std::unique_ptr<std::atomic<int>[]> of;
  int64_t n;
};

TEST(Threads, RunEveryItemOnce) {
  for (int n : {1, 2, 3, 8}) {
    Pool p(n);
    EXPECT_EQ(hdrt_threads_count(p.t), n);
    for (int64_t items : {0, 1, 2, 7, 64, 1000}) {
      Counts c(items);
      hdrt_threads_run(p.t, items, items % 2 == 0, Counts::add, &c);
      EXPECT_TRUE(c.all_one()) << n << " threads, " << items << " items";
    }
  }
}

TEST(Threads, KeepJobsApartWhenTheyFollowQuickly) {
  Pool p(4);
  for (int round = 0; round < 20000; round++) {
    struct Job {
      std::atomic<int64_t> sum{0};
      int64_t scale;
      static void run(void *job, int64_t i) {
        auto *j = static_cast<Job *>(job);
        j->sum += i * j->scale;
      }
    } job;
    job.scale = round;
    int64_t items = 2 + round % 30;
    hdrt_threads_run(p.t, items, round % 64 == 0, Job::run, &job);
    ASSERT_EQ(job.sum, items * (items - 1) / 2 * round);
  }
}

TEST(Threads, ServeSeveralCallersAtOnce) {
  Pool p(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; c++)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; round++) {
        Counts counts(1 + round % 50);
        hdrt_threads_run(p.t, counts.n, round % 16 == 0, Counts::add, &counts);
        if (!counts.all_one()) wrong++;
      }
    });
  for (auto &c : callers) c.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, WakeSleepersForLongWork) {
  Pool p(2);
  usleep(20000); // the worker sleeps by now
  std::atomic<int> others{0};
  struct Job {
    std::thread::id caller;
    std::atomic<int> *others;
    static void run(void *job, int64_t) {
      auto *j = static_cast<Job *>(job);
      if (std::this_thread::get_id() != j->caller) (*j->others)++;
      usleep(2000);
    }
  } job{std::this_thread::get_id(), &others};
  hdrt_threads_run(p.t, 40, true, Job::run, &job);
  EXPECT_GT(others, 0);
  others = 0;
  usleep(20000);
  hdrt_threads_run(p.t, 40, false, Job::run, &job); // found to be long on the way
  EXPECT_GT(others, 0);
}

TEST(Threads, RefuseBadCounts) {
  HdError err = {};
  RtThreads *t = nullptr;
  EXPECT_EQ(hdrt_threads_new(&hdb_system_allocator, 0, &err, &t), HD_ERR_OPTION);
  EXPECT_EQ(hdrt_threads_new(&hdb_system_allocator, RT_MAX_THREADS + 1, &err, &t), HD_ERR_OPTION);
  HdAllocator none = {[](void *, void *, size_t, size_t) -> void * { return nullptr; }, nullptr};
  EXPECT_EQ(hdrt_threads_new(&none, 2, &err, &t), HD_ERR_NOMEM);
  EXPECT_EQ(t, nullptr);
  hdrt_threads_free(nullptr);
}

} // namespace
