// tests/fakecuda/fake_launch_test.cc -- modules, functions and launches of the simulated driver, and the limits of each.
#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

// --- modules ---

TEST_F(Driver, LoadsModulesAndFindsWhatIsInThem) {
  Open();
  Load();
  void *f = nullptr, *g = nullptr, *m = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&f, module, "add"), 0);
  EXPECT_EQ(cuModuleGetFunction(&g, module, "add"), 0);
  EXPECT_EQ(f, g);
  EXPECT_EQ(cuModuleGetFunction(&g, module, "none"), kNotFound);
  EXPECT_EQ(cuModuleGetFunction(&g, module, nullptr), kInvalidValue);
  EXPECT_EQ(cuModuleGetFunction(&g, &f, "add"), kInvalidHandle);
  EXPECT_EQ(cuFuncGetModule(&m, f), 0);
  EXPECT_EQ(m, module);
  CuPtr at = 0;
  size_t size = 0;
  int mode = 0;
  EXPECT_EQ(cuModuleGetGlobal_v2(&at, &size, module, "counter"), 0);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(Fetch(at, 1)[0], 5u);
  EXPECT_EQ(cuModuleGetGlobal_v2(&at, &size, module, "none"), kNotFound);
  EXPECT_EQ(cuModuleGetGlobal_v2(&at, &size, module, nullptr), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(at), kInvalidValue) << "it is the module's";
  EXPECT_EQ(cuModuleGetLoadingMode(&mode), 0);
  EXPECT_EQ(cuModuleUnload(module), 0);
  EXPECT_EQ(cuModuleUnload(module), kInvalidHandle);
  EXPECT_EQ(cuFuncGetModule(&m, f), kInvalidHandle);
}

TEST_F(Driver, RefusesCodeForOthers) {
  Open("sm=75,driver=12020");
  auto load = [&](const std::string &text) {
    void *m = nullptr;
    return cuModuleLoadData(&m, text.c_str());
  };
  EXPECT_EQ(load(".version 8.2\n.target sm_75\n.address_size 64\n"), 0);
  EXPECT_EQ(load(".version 8.3\n.target sm_75\n.address_size 64\n"), kPtxTooNew);
  EXPECT_EQ(load(".version 8.2\n.target sm_80\n.address_size 64\n"), kNoBinary);
  EXPECT_EQ(load("\x7f"
                 "ELF and so on"),
            kNoBinary);
  EXPECT_EQ(load("hello"), kInvalidPtx);
  EXPECT_EQ(load(""), kInvalidPtx);
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), kInvalidValue);
  EXPECT_EQ(fakecuda_live("modules"), 1u);
}

TEST_F(Driver, WritesTheCompilersLogs) {
  Open();
  enum { kWallTime = 2, kInfo = 3, kInfoSize = 4, kError = 5, kErrorSize = 6 };
  char info[64] = "", error[40] = "";
  int options[] = {kInfo, kInfoSize, kError, kErrorSize, kWallTime};
  void *values[] = {info, reinterpret_cast<void *>(sizeof info), error, reinterpret_cast<void *>(sizeof error),
                    nullptr};
  EXPECT_EQ(cuModuleLoadDataEx(&module, kKernels, 5, options, values), 0);
  EXPECT_NE(std::string(info).find("3 entry functions"), std::string::npos) << info;
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(info) + 1);
  const char bad[] = ".version 7.0\n.target sm_70\n.address_size 64\n.entry k()\n{\nnonsense.b32 %r1;\n}\n";
  EXPECT_EQ(cuModuleLoadDataEx(&module, bad, 5, options, values), kInvalidPtx);
  EXPECT_NE(std::string(error).find("line 6"), std::string::npos) << error;
  EXPECT_EQ(strlen(error), sizeof error - 1) << "cut to the buffer";
  EXPECT_EQ(reinterpret_cast<size_t>(values[3]), sizeof error);
  EXPECT_EQ(cuModuleLoadDataEx(&module, kKernels, 5, nullptr, values), kInvalidValue);
  EXPECT_EQ(cuModuleLoadDataEx(&module, kKernels, 5, options, nullptr), kInvalidValue);
  options[4] = 1000;
  EXPECT_EQ(cuModuleLoadDataEx(&module, kKernels, 5, options, values), kInvalidValue);
}

// --- functions and occupancy ---

TEST_F(Driver, DescribesFunctions) {
  Open("registers=40");
  Load();
  enum { kMostThreads = 0, kShared = 1, kRegisters = 4, kPtx = 5, kMostDynamic = 8 };
  void *f = Function("fill");
  int x = 0;
  EXPECT_EQ(cuFuncGetAttribute(&x, kMostThreads, f), 0);
  EXPECT_EQ(x, 256);
  EXPECT_EQ(cuFuncGetAttribute(&x, kShared, f), 0);
  EXPECT_EQ(x, 1024);
  EXPECT_EQ(cuFuncGetAttribute(&x, kRegisters, f), 0);
  EXPECT_EQ(x, 40);
  EXPECT_EQ(cuFuncGetAttribute(&x, kPtx, f), 0);
  EXPECT_EQ(x, 70);
  EXPECT_EQ(cuFuncGetAttribute(&x, 99, f), kInvalidValue);
  EXPECT_EQ(cuFuncGetAttribute(nullptr, kPtx, f), kInvalidValue);
  EXPECT_EQ(cuFuncGetAttribute(&x, kPtx, &x), kInvalidHandle);
  EXPECT_EQ(cuFuncSetAttribute(f, kMostDynamic, 100 << 10), 0);
  EXPECT_EQ(cuFuncGetAttribute(&x, kMostDynamic, f), 0);
  EXPECT_EQ(x, 100 << 10);
  EXPECT_EQ(cuFuncSetAttribute(f, kMostDynamic, 163 << 10), kInvalidValue) << "with the static ones it is too much";
  EXPECT_EQ(cuFuncSetAttribute(f, kPtx, 1), kInvalidValue);
  EXPECT_EQ(cuFuncSetAttribute(f, 9, 50), 0);
  EXPECT_EQ(cuFuncSetAttribute(f, 9, 101), kInvalidValue);
  EXPECT_EQ(cuFuncSetCacheConfig(f, 1), 0);
  EXPECT_EQ(cuFuncSetCacheConfig(f, 4), kInvalidValue);
}

// The numbers are those of the occupancy calculator in the CUDA toolkit.
TEST_F(Driver, CountsResidentBlocksAsTheToolkitDoes) {
  const struct {
    int sm, registers, threads, shared, blocks;
  } rows[] = {
      {80, 56, 192, 0, 6},     {80, 56, 256, 0, 4},    {80, 56, 256, 49152, 3}, {80, 16, 32, 0, 32},
      {80, 168, 1024, 0, 0},   {80, 168, 320, 100, 1}, {80, 255, 64, 8192, 4},  {86, 32, 128, 0, 12},
      {86, 32, 128, 8192, 11}, {75, 64, 1024, 0, 1},   {75, 32, 128, 8192, 8},  {90, 40, 192, 1000, 8},
      {90, 96, 96, 8192, 6},   {120, 128, 96, 0, 5},   {120, 16, 32, 1000, 24},
  };
  for (const auto &r : rows) {
    Open(("sm=" + std::to_string(r.sm) + ",registers=" + std::to_string(r.registers)).c_str());
    Load();
    int n = -1;
    EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, Function("add"), r.threads, r.shared), 0);
    EXPECT_EQ(n, r.blocks) << "sm_" << r.sm << ", " << r.registers << " registers, " << r.threads << " threads, "
                           << r.shared << " bytes";
  }
}

TEST_F(Driver, SuggestsTheBlockThatFillsTheDevice) {
  Open("registers=56");
  Load();
  int grid = 0, block = 0;
  void *f = Function("add");
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 256), 0);
  EXPECT_EQ(block, 192);
  EXPECT_EQ(grid, 6 * 4);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0), 0);
  EXPECT_EQ(block, 576);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, [](int t) { return size_t(t) * 512; }, 0, 0), 0);
  EXPECT_EQ(grid * block / 4, 10 * 32) << "shared memory for 10 warps";
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, f, nullptr, 0, 0, 2), kInvalidValue);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(nullptr, &block, f, nullptr, 0, 0), kInvalidValue);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&grid, f, 0, 0), kInvalidValue);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&grid, f, 32, 0, 5), kInvalidValue);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&grid, Function("fill"), 512, 0), 0);
  EXPECT_EQ(grid, 0) << "it takes blocks of 256";
}

// --- launches ---

TEST_F(Driver, LaunchesWithParametersEitherWay) {
  Open();
  Load();
  CuPtr p = Words(100);
  EXPECT_EQ(Add(p, 100, 3), 0);
  struct {
    CuPtr p;
    uint32_t n, k;
  } packed = {p, 50, 10};
  size_t size = sizeof packed;
  void *extra[] = {reinterpret_cast<void *>(1), &packed, reinterpret_cast<void *>(2), &size, nullptr};
  void *f = Function("add");
  EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra), 0);
  std::vector<uint32_t> got = Fetch(p, 100);
  EXPECT_EQ(got[49], 13u);
  EXPECT_EQ(got[50], 3u);
  size = 12;
  EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra), kInvalidValue);
  size = sizeof packed;
  void *args[] = {&packed.p, &packed.n, &packed.k};
  EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, nullptr, args, extra), kInvalidValue) << "both";
  EXPECT_EQ(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), kInvalidValue) << "none";
}

TEST_F(Driver, TakesParametersWhenTheCallIsMade) {
  Open();
  Load();
  CuPtr p = Words(1);
  uint32_t n = 1, k = 5;
  void *args[] = {&p, &n, &k};
  EXPECT_EQ(cuLaunchKernel(Function("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), 0);
  k = 100;
  EXPECT_EQ(Fetch(p, 1)[0], 5u);
}

TEST_F(Driver, LimitsALaunch) {
  Open();
  Load();
  CuPtr p = Words(1024);
  uint32_t n = 1, k = 0;
  void *args[] = {&p, &n, &k}, *f = Function("add");
  auto with = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared) {
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, nullptr, args, nullptr);
  };
  EXPECT_EQ(with(1, 1, 1, 1024, 1, 1, 0), 0);
  EXPECT_EQ(with(1, 1, 1, 1025, 1, 1, 0), kInvalidValue);
  EXPECT_EQ(with(1, 1, 1, 32, 33, 1, 0), kInvalidValue);
  EXPECT_EQ(with(1, 1, 1, 1, 1, 65, 0), kInvalidValue);
  EXPECT_EQ(with(0, 1, 1, 32, 1, 1, 0), kInvalidValue);
  EXPECT_EQ(with(1, 65536, 1, 32, 1, 1, 0), kInvalidValue);
  EXPECT_EQ(with(1, 1, 1, 32, 1, 1, 48 << 10), 0);
  EXPECT_EQ(with(1, 1, 1, 32, 1, 1, (48 << 10) + 1), kInvalidValue) << "only after opting in";
  EXPECT_EQ(cuFuncSetAttribute(f, 8, 100 << 10), 0);
  EXPECT_EQ(with(1, 1, 1, 32, 1, 1, 100 << 10), 0);
  EXPECT_EQ(with(1, 1, 1, 32, 1, 1, (100 << 10) + 1), kInvalidValue);
  EXPECT_EQ(Fill(p, 257, 1), kInvalidValue) << ".maxntid 256";
  EXPECT_EQ(cuLaunchKernel(&n, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), kInvalidHandle);
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, &n, args, nullptr), kInvalidHandle);
}

TEST_F(Driver, LimitsRegistersOfABlock) {
  Open("registers=96");
  Load();
  CuPtr p = Words(1024);
  uint32_t n = 1, k = 0;
  void *args[] = {&p, &n, &k}, *f = Function("add");
  int most = 0;
  EXPECT_EQ(cuFuncGetAttribute(&most, 0, f), 0);
  EXPECT_EQ(most, 640);
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 640, 1, 1, 0, nullptr, args, nullptr), 0);
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 672, 1, 1, 0, nullptr, args, nullptr), kOutOfResources);
}

TEST_F(Driver, LaunchesTogetherWhatFits) {
  Open("registers=32");
  Load();
  CuPtr p = Words(1);
  uint32_t n = 1, k = 1;
  void *args[] = {&p, &n, &k}, *f = Function("add");
  EXPECT_EQ(cuLaunchCooperativeKernel(f, 8, 1, 1, 1024, 1, 1, 0, nullptr, args), 0);
  EXPECT_EQ(cuLaunchCooperativeKernel(f, 9, 1, 1, 1024, 1, 1, 0, nullptr, args), kTooLarge);
  CuAttribute together = {};
  together.id = 2, together.value.on = 1;
  CuLaunchConfig c = {9, 1, 1, 1024, 1, 1, 0, nullptr, &together, 1};
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), kTooLarge);
  c.gx = 8;
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), 0);
  together.id = 4; // a cluster
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), kNotSupported);
  c.attributes = nullptr;
  EXPECT_EQ(cuLaunchKernelEx(&c, f, args, nullptr), kInvalidValue);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, f, args, nullptr), kInvalidValue);
  EXPECT_EQ(Fetch(p, 1)[0], 2u);
}

TEST_F(Driver, ReportsAFaultAtTheNextWaitAndForEver) {
  Open();
  Load();
  CuPtr p = Words(1);
  void *s = Stream();
  EXPECT_EQ(cuLaunchKernel(Function("broken"), 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr), 0);
  EXPECT_EQ(Add(p, 1, 1, s), 0) << "nobody knows yet";
  EXPECT_EQ(cuStreamSynchronize(s), kIllegalAddress);
  EXPECT_EQ(cuStreamSynchronize(s), kIllegalAddress);
  EXPECT_EQ(cuMemFree_v2(p), kIllegalAddress);
  EXPECT_NE(std::string(fakecuda_fault()).find("kernel 'broken'"), std::string::npos);
}

TEST_F(Driver, LaunchesIntoNothingWhereItIsToldSo) {
  Open("null=1");
  Load();
  CuPtr p = Words(1, 3);
  EXPECT_EQ(Add(p, 1, 1), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 3u);
  EXPECT_EQ(fakecuda_threads(), 0u);
  EXPECT_EQ(fakecuda_calls("cuLaunchKernel"), 1u);
}

} // namespace
} // namespace fake
