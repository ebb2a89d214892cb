// tests/interp/interp_control_test.cc -- every shape of control flow, calls, reports and the launch.
#include "interp_kernel.h"

namespace {

using Ints = std::vector<int32_t>;

// Runs a kernel of "%o: array<i32, 1>" on n threads; o[i] begins as i.
Ints RunOn(int n, const std::string &body) {
  InterpKernel k(body);
  Ints o(n);
  for (int i = 0; i < n; i++) o[i] = i;
  k.Array(o);
  EXPECT_EQ(k.Run({n}), HD_OK) << k.error.detail;
  return o;
}

const char *kHead = R"(
kernel @k(%o: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %o, %i
)";

TEST(InterpControl, IfGivesTheResultsOfTheSideTaken) {
  EXPECT_EQ(RunOn(4, std::string(kHead) + R"(
  %c: bool = lt %i, 2i32
  %r: i32, %s: i32 = if %c {
    yield 10i32, %i
  } else {
    %n: i32 = neg %i
    yield %n, 20i32
  }
  %t: i32 = add %r, %s
  store %p, %t
  return
})"),
            (Ints{10, 11, 18, 17}));
}

TEST(InterpControl, LoopCarriesAndPermutesValues) {
  // Fibonacci: `continue` swaps what it reads.
  EXPECT_EQ(RunOn(8, std::string(kHead) + R"(
  %f: i32 = loop (%a: i32 = 0i32, %b: i32 = 1i32, %n: i32 = %i) {
    %z: bool = eq %n, 0i32
    if %z { break %a } else { yield }
    %s: i32 = add %a, %b
    %m: i32 = sub %n, 1i32
    continue %b, %s, %m
  }
  store %p, %f
  return
})"),
            (Ints{0, 1, 1, 2, 3, 5, 8, 13}));
}

TEST(InterpControl, ContinueAndBreakFromDeepInside) {
  // The sum of the odd numbers below 10 * i, but it stops at 5 of them.
  EXPECT_EQ(RunOn(3, std::string(kHead) + R"(
  %limit: i32 = mul %i, 10i32
  %r: i32 = loop (%j: i32 = 0i32, %sum: i32 = 0i32, %n: i32 = 0i32) {
    %done: bool = ge %j, %limit
    %k: i32 = add %j, 1i32
    if %done {
      break %sum
    } else {
      %bit: i32 = and %j, 1i32
      %even: bool = eq %bit, 0i32
      if %even {
        continue %k, %sum, %n
      } else {
        %five: bool = ge %n, 5i32
        if %five { break %sum } else { yield }
        yield
      }
      yield
    }
    %t: i32 = add %sum, %j
    %m: i32 = add %n, 1i32
    continue %k, %t, %m
  }
  store %p, %r
  return
})"),
            (Ints{0, 25, 25}));
}

TEST(InterpControl, ScopeIsLeftFromInsideALoop) {
  EXPECT_EQ(RunOn(4, std::string(kHead) + R"(
  %r: i32 = scope {
    loop (%j: i32 = 0i32) {
      %sq: i32 = mul %j, %j
      %big: bool = gt %sq, %i
      if %big { leave %j } else { yield }
      %k: i32 = add %j, 1i32
      continue %k
    }
    unreachable
  }
  store %p, %r
  return
})"),
            (Ints{1, 2, 2, 2}));
}

TEST(InterpControl, ScopeThatEndsYields) {
  EXPECT_EQ(RunOn(2, std::string(kHead) + R"(
  %r: i32 = scope {
    %c: bool = eq %i, 0i32
    if %c { leave 5i32 } else { yield }
    yield 6i32
  }
  store %p, %r
  return
})"),
            (Ints{5, 6}));
}

TEST(InterpControl, ReturnFromInsideLoopsEndsTheThread) {
  EXPECT_EQ(RunOn(3, std::string(kHead) + R"(
  loop (%j: i32 = 0i32) {
    loop (%l: i32 = 0i32) {
      %c: bool = ge %l, %i
      if %c {
        store %p, 77i32
        return
      } else { yield }
      %m: i32 = add %l, 1i32
      continue %m
    }
    unreachable
  }
  unreachable
})"),
            (Ints{77, 77, 77}));
}

TEST(InterpControl, CallsReturnSeveralValuesFromAnyDepth) {
  EXPECT_EQ(RunOn(4, R"(
func @inner(%x: i32) -> i32, i32 {
  %c: bool = lt %x, 2i32
  if %c { return 1i32, %x } else { yield }
  %y: i32 = mul %x, 10i32
  return %y, 3i32
}
func @outer(%x: i32, %q: ptr<i32>) -> i32 {
  %a: i32, %b: i32 = call @inner %x
  store %q, %b
  %s: i32 = add %a, %b
  return %s
}
kernel @k(%o: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %o, %i
  %x: i32 = call @outer %i, %p
  %t: i32 = load %p
  %u: i32 = mul %t, 100i32
  %v: i32 = add %u, %x
  store %p, %v
  return
})"),
            (Ints{1, 102, 323, 333}));
}

TEST(InterpControl, CalleesOfOneFunctionAreCalledAgain) {
  EXPECT_EQ(RunOn(2, R"(
func @twice(%x: i32) -> i32 {
  %y: i32 = add %x, %x
  return %y
}
kernel @k(%o: array<i32, 1>) {
  %i: i32 = tid 0
  %p: ptr<i32> = index %o, %i
  %a: i32 = call @twice 3i32
  %b: i32 = call @twice %a
  %c: i32 = add %a, %b
  store %p, %c
  return
})"),
            (Ints{18, 18}));
}

TEST(InterpControl, DeepNestsDoNotUseTheStack) {
  std::string text = kHead;
  const int depth = 200;
  for (int d = 0; d < depth; d++) text += "if true {\n";
  text += "store %p, 9i32\nyield\n";
  for (int d = 0; d < depth; d++) text += d + 1 < depth ? "} else { yield }\nyield\n" : "} else { yield }\n";
  text += "return\n}\n";
  EXPECT_EQ(RunOn(1, text), (Ints{9}));
}

TEST(InterpControl, CoordinatesAndExtentsOfEveryAxis) {
  InterpKernel k(R"(
kernel @k(%o: array<i32, 3>) {
  %a: i32 = tid 0
  %b: i32 = tid 1
  %c: i32 = tid 2
  %z: i32 = tid 3
  %d0: i32 = dim 0
  %d3: i32 = dim 3
  %p: ptr<i32> = index %o, %a, %b, %c
  %x: i32 = mul %a, %d0
  %y: i32 = add %x, %b
  %u: i32 = mul %y, 10i32
  %v: i32 = add %u, %c
  %w: i32 = add %v, %z
  %r: i32 = mul %w, %d3
  store %p, %r
  return
})");
  Ints o(2 * 2 * 3, -1);
  k.Array(o.data(), {2, 2, 3}, {6, 3, 1});
  ASSERT_EQ(k.Run({2, 2, 3}), HD_OK) << k.error.detail;
  EXPECT_EQ(o, (Ints{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}));
}

struct Report {
  const IrInst *inst;
  int64_t tid[4], index, limit;
};

TEST(InterpControl, ReportsFailuresAndGoesOn) {
  InterpKernel k(R"(
file 0 "a.hd"
kernel @k(%o: array<i32, 1>) {
  %i: i32 = tid 0
  %c: bool = lt %i, 2i32
  assert %c, "too far"      @ 0:7:3
  %w: i64 = cvt %i
  check %c, %w, 2i64, "index out of bounds"
  %p: ptr<i32> = index %o, %i
  store %p, 1i32
  return
})");
  Ints o(4);
  std::vector<Report> reports;
  k.Array(o);
  k.launch.user = &reports;
  k.launch.report = [](void *user, const IrInst *i, const int64_t tid[4], int64_t index, int64_t limit) {
    ((std::vector<Report> *)user)->push_back({i, {tid[0], tid[1], tid[2], tid[3]}, index, limit});
  };
  ASSERT_EQ(k.Run({4}), HD_OK) << k.error.detail;
  EXPECT_EQ(o, (Ints{1, 1, 1, 1}));
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_STREQ(reports[0].inst->text, "too far");
  EXPECT_EQ(reports[0].inst->loc.line, 7u);
  EXPECT_EQ(reports[0].tid[0], 2);
  EXPECT_EQ(reports[3].inst->op, IR_check);
  EXPECT_EQ(reports[3].tid[0], 3);
  EXPECT_EQ(reports[3].index, 3);
  EXPECT_EQ(reports[3].limit, 2);
}

TEST(InterpControl, EndlessThreadsAreStopped) {
  InterpKernel k(R"(
kernel @k() {
  loop () { continue }
  unreachable
})");
  k.launch.max_steps = 1000;
  EXPECT_EQ(k.Run({1}), HD_ERR_FAULT);
  EXPECT_NE(strstr(k.error.detail, "longer"), nullptr);
}

} // namespace
