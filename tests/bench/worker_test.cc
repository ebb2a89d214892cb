// The other side of a worker is a shell script here, in the place where a peer's Python would be: what it says is taken, and
// whatever goes wrong with it becomes a reason.
#include "bench/worker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tools/npy/npy.h"

namespace bench {
namespace {

// Answers as worker.py does: starts with `hello`, then goes through the requests with the cases of `answers`.
class Peer : public testing::Test {
protected:
  void Be(const std::string &hello, const std::string &answers) {
    std::string folder = std::string(testing::TempDir()) + "/venvs";
    options_.venvs = folder, options_.folder = "bench";
    for (const char *step : {"", "/fake", "/fake/bin"}) mkdir((folder + step).c_str(), 0777);
    std::string python = folder + "/fake/bin/python";
    std::ofstream(python) << "#!/bin/sh\nthreads=$3\n"
                          << hello << "\nwhile read -r request a b; do\n  case $request in\n"
                          << answers << "\n  esac\ndone\n";
    chmod(python.c_str(), 0755);
  }
  Options options_;
};

const char good[] = "prepare) echo \"ok 0.25\" ;;\n  run) echo \"ok 0.5 2\" ;;\n  result) printf '\\0\\0\\200\\077' "
                    ">$a; echo \"ok 1\" ;;";

TEST_F(Peer, SaysItsVersionTimesAndResult) {
  Be("echo ok fake 1.2", good);
  Worker one("fake", 1, options_, "/tmp"), two("fake", 2, options_, "/tmp");
  EXPECT_EQ(one.version(), "fake 1.2");
  EXPECT_EQ(one.why(), "");
  double first = 0;
  ASSERT_TRUE(one.Prepare("saxpy", Inputs(), &first)) << one.why();
  EXPECT_EQ(first, 0.25);
  EXPECT_EQ(one.Run(), 0.5) << "CPU time, with one thread";
  EXPECT_EQ(two.Run(), 2) << "wall time, with more";
  std::vector<float> result;
  ASSERT_TRUE(one.Result(&result)) << one.why();
  EXPECT_EQ(result, std::vector<float>{1});
}

TEST_F(Peer, ThatIsNotInstalledHasAReason) {
  options_.venvs = std::string(testing::TempDir()) + "/nothing";
  Worker w("fake", 1, options_, "/tmp");
  EXPECT_EQ(w.version(), "");
  EXPECT_EQ(w.why(), "not installed");
  EXPECT_TRUE(std::isnan(w.Run()));
  EXPECT_EQ(w.why(), "not installed");
}

TEST_F(Peer, ThatRefusesToStartHasItsReason) {
  Be("echo no ImportError: libLLVM is missing; exit", "");
  Worker w("fake", 1, options_, "/tmp");
  double first;
  EXPECT_FALSE(w.Prepare("saxpy", Inputs(), &first));
  EXPECT_EQ(w.why(), "ImportError: libLLVM is missing");
}

TEST_F(Peer, ThatDiesHasAReasonAndIsNotWaitedFor) {
  Be("echo ok fake", "prepare) echo ok 1 ;;\n  run) kill -SEGV $$ ;;");
  Worker w("fake", 1, options_, "/tmp");
  double first;
  ASSERT_TRUE(w.Prepare("saxpy", Inputs(), &first));
  EXPECT_TRUE(std::isnan(w.Run()));
  EXPECT_EQ(w.why(), "it ended: Segmentation fault");
  std::vector<float> result;
  EXPECT_FALSE(w.Result(&result));
}

TEST_F(Peer, ThatSpeaksNonsenseGivesNothing) {
  Be("echo ok fake", "run) echo ok soon ;;\n  result) echo ok 3 ;;");
  Worker w("fake", 1, options_, "/tmp");
  EXPECT_TRUE(std::isnan(w.Run()));
  std::vector<float> result;
  EXPECT_FALSE(w.Result(&result));
  EXPECT_EQ(w.why(), "its result cannot be read");
}

TEST_F(Peer, IsAGuestOnlyIfItsResultIsOurs) {
  Be("echo ok fake", good);
  Worker w("fake", 1, options_, "/tmp");
  auto same = [](const std::vector<float> &r) { return std::string(r[0] == 1 ? "" : "it differs"); };
  auto other = [](const std::vector<float> &) { return std::string("it differs"); };
  Guest yes(&w, "saxpy", Inputs(), same), no(&w, "saxpy", Inputs(), other);
  EXPECT_EQ(yes.why(), "");
  EXPECT_EQ(yes.Turn(), 0.5);
  EXPECT_EQ(no.why(), "it differs");
  EXPECT_TRUE(std::isnan(no.Turn()));
}

TEST_F(Peer, ThatIsSlowHasFewTurns) {
  Be("echo ok fake", "prepare) echo ok 9 ;;\n  run) echo ok 9 9 ;;\n  result) : >$a; echo ok 0 ;;");
  Worker w("fake", 1, options_, "/tmp");
  Guest g(&w, "saxpy", Inputs(), [](const std::vector<float> &) { return std::string(); });
  int turns = 0;
  for (int i = 0; i < 10; i++) turns += !std::isnan(g.Turn());
  EXPECT_EQ(turns, 4); // the one that is thrown away, and three
}

TEST(InputsOfAWorkload, AreFilesThatGoWithIt) {
  std::string folder;
  {
    Inputs in;
    folder = in.folder();
    Memory<int32_t> key(6);
    for (int i = 0; i < 6; i++) key[i] = i;
    in.Array("key", {2, 3}, key);
    in.Number("h", 0.5);
    char why[OUT_WHY];
    NpyReader r;
    ASSERT_EQ(npy_open((folder + "/key.npy").c_str(), &r, why), HD_OK) << why;
    EXPECT_EQ(r.ndim, 2);
    EXPECT_EQ(r.length[1], 3);
    npy_close(&r);
    ASSERT_EQ(npy_open((folder + "/h.npy").c_str(), &r, why), HD_OK) << why;
    EXPECT_EQ(r.ndim, 0);
    npy_close(&r);
  }
  EXPECT_NE(access(folder.c_str(), F_OK), 0);
}

TEST(Samples, ThatAreNotNumbersDoNotCount) {
  Spread s = Of(Ratios({4, NAN, 2, 9}, {2, 1, 2, 3}));
  EXPECT_EQ(s.median, 2);
  EXPECT_EQ(s.best, 1);
  EXPECT_EQ(Of({NAN}).median, 0);
}

TEST(Rounds, GiveEachItsTurnInChangingOrder) {
  std::vector<std::string> orders(1);
  auto turn = [&](char c) {
    return [&orders, c] {
      orders.back() += c;
      if (orders.back().size() == 3) orders.push_back("");
      return double(c);
    };
  };
  auto t = Turns(20, {turn('a'), turn('b'), turn('c')});
  EXPECT_EQ(t[1], std::vector<double>(20, 'b')) << "the first round does not count";
  ASSERT_EQ(orders.size(), 22u);
  orders.pop_back();
  std::set<std::string> different(orders.begin(), orders.end());
  EXPECT_EQ(different.size(), 6u);
  for (std::string o : different) {
    std::sort(o.begin(), o.end());
    EXPECT_EQ(o, "abc");
  }
}

} // namespace
} // namespace bench
