// tests/fakecuda/ptx_group_test.cc -- threads together: shared memory, barriers, exchanges, votes and atomics of PTX in every
// schedule against C++, and what is said when they are used wrongly.
#include <algorithm>
#include <cstring>
#include <functional>

#include "tests/fakecuda/ptx_testing.h"

namespace ptx {
namespace {

Way Block(unsigned n) {
  Way w;
  w.block = n;
  return w;
}

class Group : public testing::TestWithParam<PtxSchedule> {
protected:
  // `code` for each of `block` threads: %t is its number, %x the word of data at it, %r becomes that word.
  std::vector<uint32_t> Each(const std::string &code, std::vector<uint32_t> data, Way way = {}) const {
    way.schedule = GetParam();
    way.seed = 9;
    const std::string body =
        ".reg .pred %q<8>; .reg .b32 %t, %x, %r, %u<16>; .reg .b64 %a<8>; .reg .f32 %f<4>;\n"
        "ld.param.u64 %a0, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %a1, %t, 4; add.s64 %a2, %a0, %a1;\n"
        "ld.global.u32 %x, [%a2];\n" +
        code + "\nst.global.u32 [%a2], %r; ret;";
    Result result = RunKernel(body, &data, way);
    EXPECT_EQ(result.text, "") << code;
    return data;
  }
};

std::vector<uint32_t> Words(size_t n) {
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; i++) v[i] = static_cast<uint32_t>(i * 2654435761u ^ i << 7);
  return v;
}

// --- shared memory ---

TEST_P(Group, ExchangesThroughStaticAndDynamicSharedMemory) {
  Way w = Block(64);
  w.shared = 256;
  w.globals = ".extern .shared .align 16 .b8 dyn[];\n";
  std::vector<uint32_t> x = Words(64);
  std::vector<uint32_t> got =
      Each(".shared .align 4 .b8 own[256]; shl.b32 %u0, %t, 2; mov.u32 %u1, own; add.u32 %u2, %u1, %u0;\n"
           "st.shared.u32 [%u2], %x; mov.u32 %u3, dyn; add.u32 %u3, %u3, %u0; not.b32 %u4, %x;\n"
           "st.shared.u32 [%u3], %u4; bar.sync 0;\n"
           "sub.u32 %u5, 63, %t; shl.b32 %u5, %u5, 2; add.u32 %u6, %u1, %u5;\n"
           "ld.shared.u32 %u7, [%u6]; mov.u32 %u3, dyn; add.u32 %u3, %u3, %u5;\n"
           "cvt.u64.u32 %a3, %u3; cvta.shared.u64 %a3, %a3; ld.u32 %u8, [%a3];\n" // generic
           "sub.u32 %r, %u7, %u8;",
           x, w);
  for (size_t i = 0; i < 64; i++) EXPECT_EQ(got[i], x[63 - i] - ~x[63 - i]);
}

TEST_P(Group, MovesVectorsAndNarrowTypesInSharedMemory) {
  std::vector<uint32_t> got =
      Each(".shared .align 16 .b8 s[512]; shl.b32 %u0, %t, 4; mov.u32 %u1, s; add.u32 %u1, %u1, %u0;\n"
           "add.u32 %u2, %x, 1; add.u32 %u3, %x, 2; add.u32 %u4, %x, 3;\n"
           "st.shared.v4.u32 [%u1], {%x, %u2, %u3, %u4}; bar.warp.sync -1;\n"
           "xor.b32 %u0, %u0, 16; mov.u32 %u1, s; add.u32 %u1, %u1, %u0;\n"
           "ld.shared.v2.u32 {%u5, %u6}, [%u1+8]; ld.volatile.shared.u8 %u7, [%u1+4];\n"
           "ld.shared.s16 %u8, [%u1+2]; add.u32 %r, %u5, %u6; add.u32 %r, %r, %u7; add.u32 %r, %r, %u8;",
           Words(32));
  std::vector<uint32_t> x = Words(32);
  for (size_t i = 0; i < 32; i++) {
    uint32_t y = x[i ^ 1];
    EXPECT_EQ(got[i], (y + 2) + (y + 3) + ((y + 1) & 255) + uint32_t(int32_t(int16_t(y >> 16))));
  }
}

// --- shuffles: the manual's text, lane by lane ---

uint32_t Shuffled(const std::string &mode, const uint32_t *x, uint32_t lane, uint32_t b, uint32_t c, bool *in) {
  uint32_t clamp = c & 31, segment = c >> 8 & 31, most = (lane & segment) | (clamp & ~segment);
  uint32_t least = lane & segment;
  int j;
  b &= 31;
  if (mode == "up")
    j = int(lane) - int(b), *in = j >= int(most);
  else if (mode == "down")
    j = int(lane + b), *in = j <= int(most);
  else if (mode == "bfly")
    j = int(lane ^ b), *in = j <= int(most);
  else
    j = int(least | (b & ~segment)), *in = j <= int(most);
  return x[*in ? j : int(lane)];
}

TEST_P(Group, ShufflesInEveryMode) {
  for (const char *mode : {"up", "down", "bfly", "idx"})
    for (uint32_t width : {32, 16, 8, 2, 1})
      for (uint32_t b : {0, 1, 3, 7, 16, 31}) {
        uint32_t segment = 32 - width, clamp = std::string(mode) == "up" ? 0 : 31, c = segment << 8 | clamp;
        std::vector<uint32_t> x = Words(32);
        std::vector<uint32_t> got =
            Each(std::string("shfl.sync.") + mode + ".b32 %u0|%q0, %x, " + std::to_string(b) + ", " +
                     std::to_string(c) + ", 0xffffffff; selp.u32 %u1, 0x55, 0, %q0; xor.b32 %r, %u0, %u1;",
                 x);
        for (uint32_t l = 0; l < 32; l++) {
          bool in;
          uint32_t want = Shuffled(mode, x.data(), l, b, c, &in) ^ (in ? 0x55 : 0);
          ASSERT_EQ(got[l], want) << mode << " width " << width << " by " << b << " lane " << l;
        }
      }
}

TEST_P(Group, ShufflesByADifferentLaneEach) {
  std::vector<uint32_t> x = Words(32);
  std::vector<uint32_t> got = Each("mad.lo.u32 %u0, %t, 7, 3; shfl.sync.idx.b32 %r, %x, %u0, 31, -1;", x);
  for (uint32_t l = 0; l < 32; l++) EXPECT_EQ(got[l], x[(l * 7 + 3) & 31]);
}

TEST_P(Group, LetsHalvesOfAWarpMeetApart) {
  // Each side of a branch meets with its own mask, and the sides have rounds of different number.
  std::vector<uint32_t> got =
      Each("setp.lt.u32 %q0, %t, 20; mov.u32 %r, %x; @%q0 bra A; mov.u32 %u1, 3;\n"
           "B: shfl.sync.bfly.b32 %u0, %r, 1, 31, 0xfff00000; add.u32 %r, %r, %u0; sub.u32 %u1, %u1, 1;\n"
           "setp.ne.u32 %q1, %u1, 0; @%q1 bra B; bra E;\n"
           "A: shfl.sync.idx.b32 %r, %x, 0, 31, 0xfffff;\n"
           "E: bar.warp.sync 0xffffffff;",
           Words(32));
  std::vector<uint32_t> x = Words(32);
  for (uint32_t l = 0; l < 20; l++) EXPECT_EQ(got[l], x[0]);
  for (uint32_t l = 20; l < 32; l++) EXPECT_EQ(got[l], (x[l] + x[l ^ 1]) * 4);
}

// --- votes ---

TEST_P(Group, Votes) {
  for (uint32_t limit : {0, 1, 17, 31, 32}) {
    std::vector<uint32_t> got = Each("setp.lt.u32 %q0, %t, " + std::to_string(limit) +
                                         "; vote.sync.all.pred %q1, %q0, -1; vote.sync.any.pred %q2, %q0, -1;\n"
                                         "vote.sync.uni.pred %q3, %q0, -1; vote.sync.ballot.b32 %r, !%q0, -1;\n"
                                         "selp.u32 %u1, 1, 0, %q1; selp.u32 %u2, 2, 0, %q2; selp.u32 %u3, 4, 0, %q3;\n"
                                         "or.b32 %u1, %u1, %u2; or.b32 %u1, %u1, %u3; xor.b32 %r, %r, %u1;",
                                     Words(32));
    uint32_t ballot = limit == 32 ? 0 : ~0u << limit;
    uint32_t votes = (limit == 32) | (limit > 0) << 1 | (limit == 0 || limit == 32) << 2;
    EXPECT_EQ(got, std::vector<uint32_t>(32, ballot ^ votes)) << limit;
  }
}

TEST_P(Group, VotesAmongTheLivingOfAShortWarp) {
  std::vector<uint32_t> got =
      Each("setp.eq.u32 %q0, %t, 3; @%q0 ret; vote.sync.ballot.b32 %r, 1, -1;", Words(40), Block(40));
  EXPECT_EQ(got[0], 0xfffffff7u);
  EXPECT_EQ(got[35], 0xffu) << "eight lanes, of which none ends";
}

TEST_P(Group, MatchesValues) {
  std::vector<uint32_t> x(32), got;
  for (uint32_t i = 0; i < 32; i++) x[i] = i % 5;
  got = Each("match.any.sync.b32 %r, %x, -1;", x);
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t want = 0;
    for (uint32_t k = 0; k < 32; k++) want |= uint32_t{x[k] == x[i]} << k;
    EXPECT_EQ(got[i], want);
  }
  const std::string all = "cvt.u64.u32 %a3, %x; match.all.sync.b64 %u0|%q0, %a3, -1; selp.u32 %r, %u0, 7, %q0;";
  EXPECT_EQ(Each(all, x), std::vector<uint32_t>(32, 7));
  EXPECT_EQ(Each(all, std::vector<uint32_t>(32, 4)), std::vector<uint32_t>(32, ~0u));
}

TEST_P(Group, ReducesAcrossLanes) {
  const struct {
    const char *op;
    std::function<uint32_t(uint32_t, uint32_t)> f;
  } ops[] = {{"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
             {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
             {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
             {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
             {"min.s32", [](uint32_t a, uint32_t b) { return uint32_t(std::min(int32_t(a), int32_t(b))); }},
             {"max.s32", [](uint32_t a, uint32_t b) { return uint32_t(std::max(int32_t(a), int32_t(b))); }},
             {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
             {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
             {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }}};
  for (const auto &op : ops) {
    std::string name = op.op;
    name.insert(name.find('.'), ".sync");
    std::vector<uint32_t> x = Words(32), want(32);
    std::vector<uint32_t> got = Each("setp.lt.u32 %q0, %t, 10; @%q0 bra L; redux." + name +
                                         " %r, %x, 0xfffffc00; bra E; L: redux." + name + " %r, %x, 0x3ff; E:",
                                     x);
    for (uint32_t i = 0; i < 32; i++) {
      uint32_t r = x[i < 10 ? 0 : 10];
      for (uint32_t k = i < 10 ? 1 : 11; k < (i < 10 ? 10 : 32); k++) r = op.f(r, x[k]);
      want[i] = r;
    }
    EXPECT_EQ(got, want) << op.op;
  }
}

TEST_P(Group, ElectsOneLane) {
  std::vector<uint32_t> got =
      Each("setp.lt.u32 %q1, %t, 4; mov.u32 %r, 0; @%q1 bra E; elect.sync %u0|%q0, 0xfffffff0;\n"
           "selp.u32 %r, 100, %u0, %q0; E:",
           Words(32));
  EXPECT_EQ(std::count(got.begin(), got.end(), 100u), 1);
  for (uint32_t i = 4; i < 32; i++) EXPECT_TRUE(got[i] == 100 || got[got[i]] == 100) << "the others know it";
}

TEST_P(Group, KnowsItsLaneAndItsNeighbours) {
  std::vector<uint32_t> got =
      Each("mov.u32 %u0, %laneid; mov.u32 %u1, %lanemask_lt; popc.b32 %u1, %u1; mov.u32 %u2, %warpid;\n"
           "mov.u32 %u3, %lanemask_ge; popc.b32 %u3, %u3; mov.u32 %u4, %ntid.x;\n"
           "shl.b32 %r, %u0, 24; shl.b32 %u1, %u1, 16; shl.b32 %u2, %u2, 12; shl.b32 %u3, %u3, 6;\n"
           "or.b32 %r, %r, %u1; or.b32 %r, %r, %u2; or.b32 %r, %r, %u3; xor.b32 %r, %r, %u4;",
           Words(96), Block(96));
  for (uint32_t t = 0; t < 96; t++) {
    uint32_t l = t % 32;
    EXPECT_EQ(got[t], (l << 24 | l << 16 | t / 32 << 12 | (32 - l) << 6) ^ 96u);
  }
}

TEST_P(Group, SeesTheLanesThatAreWithIt) {
  std::vector<uint32_t> got = Each("activemask.b32 %r;", Words(32));
  for (uint32_t i = 0; i < 32; i++) EXPECT_TRUE(got[i] >> i & 1) << "at least itself";
  if (GetParam() != PTX_RANDOM) { EXPECT_EQ(got[5], GetParam() == PTX_LOCKSTEP ? ~0u : 1u << 5); }
}

// --- barriers of a block ---

TEST_P(Group, ReducesPredicatesAtABarrier) {
  std::vector<uint32_t> got =
      Each("setp.lt.u32 %q0, %t, 70; barrier.sync 0; bar.red.popc.u32 %u0, 0, %q0; bar.red.and.pred %q1, 1, %q0;\n"
           "barrier.red.or.pred %q2, 2, !%q0; bar.red.popc.u32 %u1, 0, 128, !%q0;\n"
           "selp.u32 %u2, 1000, 0, %q1; selp.u32 %u3, 5000, 0, %q2; add.u32 %r, %u0, %u2; add.u32 %r, %r, %u3;\n"
           "mad.lo.u32 %r, %u1, 100000, %r;",
           Words(128), Block(128));
  EXPECT_EQ(got, std::vector<uint32_t>(128, 58 * 100000 + 70 + 5000));
}

TEST_P(Group, HandsDataFromProducersToConsumers) {
  // The first warp fills, the second takes: arrive and sync on two barriers of 64 threads, four rounds.
  std::vector<uint32_t> got =
      Each(".shared .align 4 .b8 s[128]; mov.u32 %u9, s; and.b32 %u0, %t, 31; shl.b32 %u1, %u0, 2;\n"
           "add.u32 %u9, %u9, %u1; mov.u32 %r, 0; mov.u32 %u2, 0; setp.ge.u32 %q0, %t, 32; @%q0 bra C;\n"
           "P: setp.eq.u32 %q1, %u2, 0; @%q1 bra F; bar.sync 2, 64;\n"
           "F: mad.lo.u32 %u3, %u2, 1000, %t; st.shared.u32 [%u9], %u3; bar.arrive 1, 64;\n"
           "add.u32 %u2, %u2, 1; setp.lt.u32 %q2, %u2, 4; @%q2 bra P; bra E;\n"
           "C: bar.sync 1, 64; ld.shared.u32 %u4, [%u9]; add.u32 %r, %r, %u4;\n"
           "add.u32 %u2, %u2, 1; setp.lt.u32 %q2, %u2, 4; @!%q2 bra E; bar.arrive 2, 64; bra C;\nE:",
           Words(64), Block(64));
  for (uint32_t t = 32; t < 64; t++) EXPECT_EQ(got[t], 6000 + 4 * (t - 32));
}

TEST_P(Group, LetsThreadsEndBeforeABarrier) {
  std::vector<uint32_t> got =
      Each("setp.ge.u32 %q0, %t, 64; @%q0 ret; bar.sync 0; mov.u32 %r, 1;", Words(96), Block(96));
  EXPECT_EQ(got[63], 1u);
  EXPECT_EQ(got[64], Words(96)[64]);
}

TEST_P(Group, WaitsAtABarrierThatIsNotAlignedInDivergentCode) {
  std::vector<uint32_t> got = Each("setp.lt.u32 %q0, %t, 5; @%q0 bra L; barrier.sync 0; mov.u32 %r, 1; bra E;\n"
                                   "L: barrier.sync 0; mov.u32 %r, 2; E:",
                                   Words(64), Block(64));
  EXPECT_EQ(got[4], 2u);
  EXPECT_EQ(got[5], 1u);
}

// --- atomics in shared memory ---

TEST_P(Group, AddsUpInSharedMemory) {
  const std::string start = ".shared .align 8 .b8 s[64]; setp.eq.u32 %q0, %t, 0; mov.u64 %a3, ",
                    then = "; @%q0 st.shared.u64 [s], %a3; bar.sync 0;\n", end = "\nbar.sync 0; ld.shared.u32 %r, [s];";
  auto all = [&](const std::string &first, const std::string &op) {
    return Each(start + first + then + op + end, Words(96), Block(96))[7];
  };
  std::vector<uint32_t> x = Words(96);
  uint32_t sum = 0, most = 0, least = ~0u, ands = ~0u, ors = 0, xors = 0;
  int32_t low = INT32_MAX, high = INT32_MIN;
  for (uint32_t v : x) {
    sum += v, most = std::max(most, v), least = std::min(least, v), ands &= v | 3, ors |= v & 0xf0f0, xors ^= v;
    low = std::min(low, int32_t(v)), high = std::max(high, int32_t(v));
  }
  EXPECT_EQ(all("0", "atom.shared.add.u32 %u0, [s], %x;"), sum);
  EXPECT_EQ(all("0", "red.shared.add.s32 [s], %x;"), sum);
  EXPECT_EQ(all("0", "atom.shared.max.u32 %u0, [s], %x;"), most);
  EXPECT_EQ(all("-1", "atom.shared.min.u32 %u0, [s], %x;"), least);
  EXPECT_EQ(all("0x7fffffff", "red.shared.min.s32 [s], %x;"), uint32_t(low));
  EXPECT_EQ(all("0x80000000", "red.shared.max.s32 [s], %x;"), uint32_t(high));
  EXPECT_EQ(all("-1", "or.b32 %u1, %x, 3; atom.shared.and.b32 %u0, [s], %u1;"), ands);
  EXPECT_EQ(all("0", "and.b32 %u1, %x, 0xf0f0; atom.shared.or.b32 %u0, [s], %u1;"), ors);
  EXPECT_EQ(all("0", "red.relaxed.cta.shared::cta.xor.b32 [s], %x;"), xors);
  EXPECT_EQ(all("0", "atom.shared.inc.u32 %u0, [s], 9;"), 96u % 10);
  EXPECT_EQ(all("5", "atom.shared.dec.u32 %u0, [s], 9;"), (5u + 960 - 96) % 10);
  EXPECT_EQ(all("0", "cvt.rn.f32.u32 %f0, %t; atom.shared.add.f32 %f1, [s], %f0;"), 0x458e8000u) << "4560 as a float";
  EXPECT_EQ(all("0", "cvt.u64.u32 %a4, %x; atom.shared.add.u64 %a5, [s], %a4;"), sum);
}

TEST_P(Group, ReturnsWhatWasThereBeforeAnAtomic) {
  std::vector<uint32_t> got =
      Each(".shared .align 4 .b8 s[4]; setp.eq.u32 %q0, %t, 0; @%q0 st.shared.u32 [s], 0; bar.sync 0;\n"
           "atom.shared.add.u32 %r, [s], 1;",
           Words(64), Block(64));
  std::sort(got.begin(), got.end());
  for (uint32_t i = 0; i < 64; i++) EXPECT_EQ(got[i], i) << "each number once";
}

TEST_P(Group, TakesTurnsInALock) {
  std::vector<uint32_t> got =
      Each(".shared .align 4 .b8 s[8]; setp.eq.u32 %q0, %t, 0; @%q0 st.shared.v2.u32 [s], {0, 0}; bar.sync 0;\n"
           "L: atom.acquire.cta.shared.cas.b32 %u0, [s], 0, 1; setp.ne.u32 %q1, %u0, 0; @%q1 bra L;\n"
           "ld.volatile.shared.u32 %u1, [s+4]; add.u32 %u1, %u1, %t; st.volatile.shared.u32 [s+4], %u1;\n"
           "membar.cta; atom.release.cta.shared.exch.b32 %u0, [s], 0; bar.sync 0; ld.shared.u32 %r, [s+4];",
           Words(64), Block(64));
  EXPECT_EQ(got, std::vector<uint32_t>(64, 63 * 32));
}

// --- text ---

TEST_P(Group, PrintsWithArgumentsAsTheAbiLaysThemOut) {
  Way w = Block(2);
  w.schedule = GetParam();
  w.globals =
      ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
      ".global .align 1 .b8 text[24] = {37,100,32,37,46,50,102,32,37,108,108,117,32,37,99,37,37,10};\n"; // %d %.2f %llu %c%%\n
  std::vector<uint32_t> x(2);
  Result r =
      RunKernel(".reg .b32 %t, %n; .reg .b64 %a<8>; .reg .f64 %d; .local .align 8 .b8 args[32]; .reg .pred %q;\n"
                "mov.u32 %t, %tid.x; setp.ne.u32 %q, %t, 1; @%q ret;\n"
                "st.local.u32 [args], -5; mov.f64 %d, 0d3FF4000000000000; st.local.f64 [args+8], %d;\n"
                "mov.u64 %a1, 12345678901; st.local.u64 [args+16], %a1; st.local.u32 [args+24], 122;\n"
                "mov.u64 %a2, args; cvta.local.u64 %a2, %a2; mov.u64 %a3, text; cvta.global.u64 %a3, %a3;\n"
                "{ .param .b64 p0; .param .b64 p1; .param .b32 back; st.param.b64 [p0], %a3; st.param.b64 [p1], %a2;\n"
                "call.uni (back), vprintf, (p0, p1); ld.param.b32 %n, [back]; }\n"
                "ld.param.u64 %a4, [p]; st.global.u32 [%a4], %n; ret;",
                &x, w);
  EXPECT_EQ(r.text, "");
  EXPECT_EQ(r.printed, "-5 1.25 12345678901 z%\n");
  EXPECT_EQ(x[0], 4u) << "it returns the number of arguments";
}

// --- used wrongly: what, where, and which number of the driver it is ---

Way Steps(uint64_t most) {
  Way w;
  w.max_steps = most;
  return w;
}

class Wrong : public testing::TestWithParam<PtxSchedule> {
protected:
  void Says(const std::string &body, int code, const std::string &what, uint32_t line, Way way = {}) const {
    std::vector<uint32_t> x(64);
    way.schedule = GetParam();
    Result r = RunKernel(
        ".reg .pred %q<8>; .reg .b32 %t, %r<8>; .reg .b64 %a<8>; ld.param.u64 %a0, [p]; mov.u32 %t, %tid.x;\n" + body,
        &x, way);
    EXPECT_EQ(r.err.code, code) << body;
    EXPECT_NE(r.text.find(what), std::string::npos) << body << " gives: " << r.text;
    EXPECT_EQ(r.err.line, line + 6) << r.text;
    EXPECT_STREQ(r.err.kernel, "k");
  }
};

TEST_P(Wrong, ABarrierThatSomeThreadsNeverReach) {
  Says("setp.lt.u32 %q0, %t, 32;\n@%q0 bar.sync 1, 64;\nret;", PTX_TIMEOUT, "waits for ever at barrier 1", 2,
       Block(64));
}
TEST_P(Wrong, AnAlignedBarrierInDivergentCode) {
  Says("setp.lt.u32 %q0, %t, 5; @%q0 bra L;\nbar.sync 0;\nret;\nL: bar.sync 0; ret;", PTX_TRAP,
       "barrier in divergent code", 2);
}
TEST_P(Wrong, BarriersOfDifferentNumber) {
  Says("setp.lt.u32 %q0, %t, 32; @%q0 bra L;\nbar.sync 0;\nret;\nL: bar.sync 1; ret;", PTX_TIMEOUT,
       "waits for ever at barrier", 4, Block(64));
}
TEST_P(Wrong, ALaneOutsideItsOwnMask) {
  Says("mov.u32 %r1, 0xfffffffe;\nshfl.sync.idx.b32 %r0, %t, 0, 31, %r1;\nret;", PTX_TRAP,
       "its own mask 0xfffffffe leaves out", 2);
}
TEST_P(Wrong, ALaneThatIsNamedAndNeverComes) {
  Says("setp.eq.u32 %q0, %t, 9; @%q0 bra L;\nvote.sync.ballot.b32 %r0, 1, -1;\nret;\nL: bar.warp.sync 0x200; bra L;",
       PTX_TIMEOUT, "", 0, Steps(100000));
}
TEST_P(Wrong, LanesThatWaitForEachOtherAtDifferentPlaces) {
  Says("setp.eq.u32 %q0, %t, 9; @%q0 bra L;\nvote.sync.ballot.b32 %r0, 1, -1;\nret;\nL: barrier.sync 0; ret;",
       PTX_TIMEOUT, "waits for ever for lanes 0xffffffff, of which some never come", 2);
}
TEST_P(Wrong, AShuffleFromALaneThatTakesNoPart) {
  Says("setp.lt.u32 %q0, %t, 16; @!%q0 bra L;\nshfl.sync.bfly.b32 %r0, %t, 16, 31, 0xffff;\nL: bar.warp.sync -1; ret;",
       PTX_TRAP, "which does not take part", 2);
}
TEST_P(Wrong, AccessesBehindSharedMemory) {
  Way w;
  w.exact_shared = true;
  Says(".shared .align 4 .b8 s[100]; shl.b32 %r0, %t, 2; mov.u32 %r1, s; add.u32 %r1, %r1, %r0;\nst.shared.u32 [%r1], "
       "%t;\nret;",
       PTX_ILLEGAL_ADDRESS, "which has 100 bytes", 2, w);
  Says("mov.u32 %r1, 4096;\natom.shared.add.u32 %r0, [%r1], 1;\nret;", PTX_ILLEGAL_ADDRESS,
       "shared address 4096, which has 0 bytes", 2);
  Says(".shared .align 4 .b8 s[8]; mov.u32 %r1, s;\nld.shared.u32 %r0, [%r1+2];\nret;", PTX_MISALIGNED,
       "no multiple of 4", 2);
}
TEST_P(Wrong, TrapsAndBreakpoints) {
  Says("setp.eq.u32 %q0, %t, 7;\n@%q0 trap;\nret;", PTX_TRAP, "thread (7,0,0): trap", 2);
  Says("brkpt;\nret;", PTX_TRAP, "a breakpoint", 1);
}
TEST_P(Wrong, ABarrierWithAStrangeCount) {
  Says("bar.sync 0, 33;\nret;", PTX_ILLEGAL_INSTRUCTION, "no whole warps", 1);
  Says("mov.u32 %r0, 16;\nbar.sync %r0;\nret;", PTX_ILLEGAL_INSTRUCTION, "barrier 16 of 16", 2);
}
TEST_P(Wrong, AnAssertionThatFails) {
  Way w;
  w.schedule = GetParam();
  w.globals = ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s) "
              ".noreturn;\n"
              ".global .b8 what[6] = {120,32,62,32,48,0}; .global .b8 file[5] = {97,46,104,100,0}; .global .b8 fn[2] = "
              "{107,0};\n";
  std::vector<uint32_t> x(8);
  Result r = RunKernel(
      ".reg .pred %q; .reg .b32 %t; .reg .b64 %a<4>; mov.u32 %t, %tid.x; setp.ne.u32 %q, %t, 3; @%q ret;\n"
      "mov.u64 %a0, what; cvta.global.u64 %a0, %a0; mov.u64 %a1, file; cvta.global.u64 %a1, %a1; mov.u64 %a2, fn;\n"
      "cvta.global.u64 %a2, %a2; { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;\n"
      "st.param.b64 [p0], %a0; st.param.b64 [p1], %a1; st.param.b32 [p2], 42; st.param.b64 [p3], %a2; st.param.b64 "
      "[p4], 1;\n"
      "call.uni __assertfail, (p0, p1, p2, p3, p4); }\nret;",
      &x, w);
  EXPECT_EQ(r.err.code, PTX_ASSERT);
  EXPECT_EQ(r.printed, "a.hd:42: k: block: [0,0,0], thread: [3,0,0] Assertion `x > 0` failed.\n");
}

std::string NameOf(const testing::TestParamInfo<PtxSchedule> &i) {
  return i.param == PTX_LOCKSTEP ? "Lockstep" : i.param == PTX_THREADS ? "Threads" : "Random";
}
INSTANTIATE_TEST_SUITE_P(Schedules, Group, testing::ValuesIn(kSchedules), NameOf);
INSTANTIATE_TEST_SUITE_P(Schedules, Wrong, testing::ValuesIn(kSchedules), NameOf);

// --- schedules find what lockstep hides ---

TEST(Schedule, FindsAMissingBarrier) {
  // Each thread reads its neighbour's word without a barrier between: right in lockstep within a warp.
  const std::string body =
      ".reg .b32 %t, %r<8>; .reg .b64 %a<4>; .shared .align 4 .b8 s[256]; ld.param.u64 %a0, [p];\n"
      "mov.u32 %t, %tid.x; shl.b32 %r0, %t, 2; mov.u32 %r1, s; add.u32 %r2, %r1, %r0; st.shared.u32 [%r2], %t;\n"
      "xor.b32 %r3, %r0, 4; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3];\n"
      "mul.wide.u32 %a1, %t, 4; add.s64 %a2, %a0, %a1; st.global.u32 [%a2], %r4; ret;";
  std::vector<uint32_t> want(32);
  for (uint32_t i = 0; i < 32; i++) want[i] = i ^ 1;
  std::vector<uint32_t> x(32);
  EXPECT_EQ(RunPtx(body, &x, 32, 1, PTX_LOCKSTEP), "");
  EXPECT_EQ(x, want);
  EXPECT_EQ(RunPtx(body, &x, 32, 1, PTX_THREADS), "");
  EXPECT_NE(x, want);
  EXPECT_EQ(RunPtx(body, &x, 32, 1, PTX_RANDOM), "");
  EXPECT_NE(x, want);
}

TEST(Schedule, WaitsForOtherBlocks) {
  // The first block waits for a flag that the last one sets.
  const std::string body =
      ".reg .pred %q<2>; .reg .b32 %t, %r<8>; .reg .b64 %a<4>; ld.param.u64 %a0, [p]; mov.u32 %r0, %ctaid.x;\n"
      "setp.eq.u32 %q0, %r0, 3; @%q0 bra S; L: ld.volatile.global.u32 %r1, [%a0]; setp.eq.u32 %q1, %r1, 0;\n"
      "@%q1 bra L; ret; S: st.volatile.global.u32 [%a0], 1; ret;";
  std::vector<uint32_t> x(1);
  for (PtxSchedule s : kSchedules) {
    x[0] = 0;
    EXPECT_EQ(RunPtx(body, &x, 32, 4, s), "") << s;
  }
}

} // namespace
} // namespace ptx
