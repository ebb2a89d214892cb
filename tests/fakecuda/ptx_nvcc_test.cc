// tests/fakecuda/ptx_nvcc_test.cc -- kernels that nvcc compiled from data/*.cu, against the same in C++, in every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fakecuda/ptx.h"

namespace {

std::string ReadFile(const std::string &name) {
  std::ifstream f("tests/fakecuda/data/" + name);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

void Collect(void *user, const char *text, size_t n) { static_cast<std::string *>(user)->append(text, n); }

class PtxNvcc : public testing::TestWithParam<PtxSchedule> {
protected:
  void SetUp() override { space_ = ptx_space_new(); }
  void TearDown() override {
    ptx_module_free(module_);
    ptx_space_free(space_);
  }

  void Load(const std::string &name) {
    const std::string text = ReadFile(name + ".ptx");
    ASSERT_FALSE(text.empty());
    PtxError err = {};
    module_ = ptx_parse(text.c_str(), text.size(), &err);
    ASSERT_TRUE(module_) << err.text;
    ASSERT_EQ(ptx_link(module_, space_, nullptr, nullptr, &err), 0) << err.text;
    entry_ = name;
  }
  template <typename T> uint64_t Give(std::vector<T> *v) {
    uint64_t at = reinterpret_cast<uintptr_t>(v->data());
    bool known = ptx_space_at(space_, at, 1);
    EXPECT_TRUE(known || ptx_space_add(space_, at, v->size() * sizeof(T), v->data(), 0, "an array") == 0);
    return at;
  }
  // The arguments as 64-bit words, of which each parameter takes what it needs.
  void Run(std::vector<unsigned> grid, std::vector<unsigned> block, const std::vector<uint64_t> &args, int code = 0) {
    const PtxEntry *e = ptx_entry(module_, entry_.c_str());
    ASSERT_TRUE(e);
    ASSERT_EQ(e->nparams, args.size());
    std::vector<uint8_t> params(e->param_bytes);
    for (uint32_t k = 0; k < e->nparams; k++) memcpy(&params[e->params[k].offset], &args[k], e->params[k].size);
    PtxLaunch l = {};
    l.entry = entry_.c_str();
    for (size_t k = 0; k < 3; k++) {
      l.grid[k] = k < grid.size() ? grid[k] : 1;
      l.block[k] = k < block.size() ? block[k] : 1;
    }
    l.params = params.data();
    l.param_bytes = params.size();
    l.schedule = GetParam();
    l.seed = 7;
    l.shared_bytes = shared;
    l.print = Collect;
    l.user = &printed;
    PtxError err = {};
    ASSERT_EQ(ptx_run(module_, &l, nullptr, &err), code) << err.text;
  }

  std::string printed;
  uint32_t shared = 0;

private:
  PtxSpace *space_ = nullptr;
  PtxModule *module_ = nullptr;
  std::string entry_;
};

TEST_P(PtxNvcc, ReducesByShufflesAndSharedMemory) {
  Load("reduce");
  std::vector<float> in(2500), sums(3);
  for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<float>(i % 97) - 30;
  Run({3}, {256}, {Give(&in), Give(&sums), in.size()});
  for (size_t b = 0; b < 3; b++) {
    float want = 0; // small integers: any order is exact
    for (size_t i = 0; i < in.size(); i++) want += i / 256 % 3 == b ? in[i] : 0;
    EXPECT_EQ(sums[b], want);
  }
}

TEST_P(PtxNvcc, CountsInSharedMemory) {
  Load("histogram");
  std::vector<uint8_t> in(3000);
  std::vector<uint32_t> counts(256), want(256);
  for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<uint8_t>(i * i + i / 7), want[in[i]]++;
  Run({4}, {96}, {Give(&in), Give(&counts), in.size()});
  EXPECT_EQ(counts, want);
}

TEST_P(PtxNvcc, MultipliesByTiles) {
  Load("matmul");
  const size_t n = 20;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (size_t i = 0; i < n * n; i++) a[i] = std::sin(float(i)), b[i] = std::cos(float(3 * i));
  Run({3, 3}, {8, 8}, {Give(&a), Give(&b), Give(&c), n});
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      float want = 0; // nvcc contracts the sum, so it is exactly this; beyond the matrices, zeros are added
      for (size_t k = 0; k < n; k++) want = std::fma(a[i * n + k], b[k * n + j], want);
      ASSERT_EQ(c[i * n + j], want) << i << ", " << j;
    }
}

uint32_t Ackermann(uint32_t m, uint32_t n) {
  if (m == 0) return n + 1;
  return n == 0 ? Ackermann(m - 1, 1) : Ackermann(m - 1, Ackermann(m, n - 1));
}

TEST_P(PtxNvcc, CallsRecursesAndPrints) {
  Load("calls");
  std::vector<uint32_t> out(64);
  Run({1}, {64}, {Give(&out)});
  for (uint32_t i = 0; i < 64; i++) {
    uint32_t sorted[8], r = 77;
    for (uint32_t k = 0; k < 8; k++) sorted[k] = (i * 7 + k * 5) % 11;
    std::sort(sorted, sorted + 8);
    switch (i % 7) {
    case 0: r = Ackermann(2, i % 4); break;
    case 1: r = i * i; break;
    case 2: r = sorted[i % 8]; break;
    case 3: r = ~i; break;
    case 4: r = i << 5; break;
    case 5: r = i / 3; break;
    default: break;
    }
    EXPECT_EQ(out[i], r * 100 + sorted[(i + 3) % 8]) << i;
  }
  EXPECT_EQ(printed, "thread 5 of 64: text 1.500 z 123456789ab%\n");
}

TEST_P(PtxNvcc, MeetsInEveryWay) {
  Load("groups");
  const uint32_t n = 96;
  std::vector<uint32_t> in(n), out(n);
  for (uint32_t i = 0; i < n; i++) in[i] = i * i * 31 % 997;
  shared = 4 * n;
  Run({1}, {n}, {Give(&in), Give(&out), 1000});
  uint32_t sum = 0, least = ~0u, odd = 0;
  for (uint32_t x : in) sum += x, least = std::min(least, x), odd += x & 1;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t *w = &in[i / 32 * 32], lane = i % 32, x = in[i];
    uint32_t prefix = 0, votes = 0, same = 0, most = 0, few = 0, any7 = 0;
    for (uint32_t k = 0; k < 32; k++) {
      prefix += k <= lane ? w[k] : 0;
      votes |= uint32_t{(w[k] & 2) != 0} << k;
      same |= uint32_t{w[k] % 3 == x % 3} << k;
      most = std::max(most, w[k]);
      few |= uint32_t{k < 10 && (w[k] & 4)} << k;
      any7 |= w[k] == 7;
    }
    if (lane < 10) votes ^= few;
    EXPECT_EQ(out[i], prefix + 3 * votes + 5 * same + 7 * most + 11 * w[lane ^ 3] + 13 * w[lane / 8 * 8 + 5] +
                          17 * in[(i + 1) % n] + 19 * sum + 23 * least + 29 * odd + 37 + 41 * any7 + 43 * !any7)
        << i;
  }
  in[40] = 1001;
  Run({1}, {n}, {Give(&in), Give(&out), 1000}, PTX_ASSERT);
  EXPECT_NE(printed.find("block: [0,0,0], thread: [40,0,0] Assertion `x < limit` failed."), std::string::npos)
      << printed;
}

INSTANTIATE_TEST_SUITE_P(Schedules, PtxNvcc, testing::Values(PTX_LOCKSTEP, PTX_THREADS, PTX_RANDOM),
                         [](const testing::TestParamInfo<PtxSchedule> &i) {
                           return std::string(i.param == PTX_LOCKSTEP  ? "Lockstep"
                                              : i.param == PTX_THREADS ? "Threads"
                                                                       : "Random");
                         });

} // namespace
