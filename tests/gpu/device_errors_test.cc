// tests/gpu/device_errors_test.cc -- mistakes and refusals on a simulated GPU: what is said, and that the device is well afterwards.
#include <fstream>
#include <iterator>

#include "device_fixture.h"

namespace {

class Errors : public Gpu {
protected:
  void Expect(HdStatus want, HdStatus got, const std::vector<const char *> &parts) {
    EXPECT_EQ(got, want) << Why();
    for (const char *part : parts) EXPECT_NE(Why().find(part), std::string::npos) << part << "\n" << Why();
    ExpectWell();
  }
  void ExpectWell() {
    HdArray x = New(gpu, {64});
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(7)}), HD_OK) << Why();
    EXPECT_EQ(Fetch(x), std::vector<int32_t>(64, 7));
  }
};

TEST_F(Errors, ArraysOfOtherPlacesAreNotTaken) {
  Open("devices=2,sm=90/80");
  HdDevice second;
  ASSERT_EQ(hd_device_find(ctx, "cuda:1", &second), HD_OK);
  HdArray there = New(second, {64}), host = New(cpu, {64}), gone = New(gpu, {64});
  Expect(HD_ERR_DEVICE, Launch("add", {64}, {hd_arg_array(&there), hd_arg_i32(1)}),
         {"args[0] 'x'", "wanted an array on device 'cuda:0', got one on 'cuda:1'"});
  Expect(HD_ERR_DEVICE, Launch("add", {64}, {hd_arg_array(&host), hd_arg_i32(1)}), {"got one on 'cpu'"});
  HdArray freed = gone;
  hd_array_free(ctx, &arrays[2]);
  freed = arrays[2];
  Expect(HD_ERR_TYPE, Launch("add", {64}, {hd_arg_array(&freed), hd_arg_i32(1)}),
         {"an array that was freed or never made"});
  Expect(HD_ERR_ARG, hd_array_copy(stream, freed, host), {"from: it is no array"});
  HdArray null = there;
  null.device = gpu;
  null.data = nullptr;
  Expect(HD_ERR_ARG, Launch("add", {64}, {hd_arg_array(&null), hd_arg_i32(1)}), {"args[0] 'x'"});
}

TEST_F(Errors, ThingsOfAnotherContextAreNotTaken) {
  Open("sm=90");
  HdContext *other;
  HdStream *stranger;
  HdEvent *event;
  HdGraph *graph;
  HdArray x = New(gpu, {64}), a;
  const int64_t n = 64;
  ASSERT_EQ(hd_context_new(&options, &other), HD_OK);
  HdDevice same;
  ASSERT_EQ(hd_device_find(other, "cuda:0", &same), HD_OK);
  ASSERT_EQ(hd_stream_new(other, same, HD_STREAM_ASYNC, &stranger), HD_OK);
  ASSERT_EQ(hd_event_new(other, same, &event), HD_OK);
  Expect(HD_ERR_DEVICE, Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}, stranger),
         {"stream: it belongs to another context"});
  Expect(HD_ERR_DEVICE, hd_stream_wait_event(stream, event), {"event: it belongs to another context"});
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(hd_graph_end(stream, &graph), HD_OK);
  Expect(HD_ERR_DEVICE, hd_graph_launch(graph, stranger), {"another context"});
  hd_graph_free(graph);
  // The device is one, so what is there may be copied; and it goes back to whoever it came from.
  ASSERT_EQ(hd_array_new(other, same, x.type, 1, &n, &a), HD_OK);
  HdDeviceMemory before, after;
  ASSERT_EQ(hd_device_memory(ctx, gpu, &before), HD_OK);
  ASSERT_EQ(hd_array_copy(stream, a, x), HD_OK) << Why();
  ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  hd_array_free(ctx, &a);
  ASSERT_EQ(hd_device_memory(ctx, gpu, &after), HD_OK);
  EXPECT_EQ(before.used, after.used);
  ASSERT_EQ(hd_device_memory(other, same, &after), HD_OK);
  EXPECT_EQ(after.used, 0u);
  ASSERT_EQ(hd_array_new(other, same, x.type, 1, &n, &a), HD_OK);
  ASSERT_EQ(hd_array_clear(stream, a), HD_OK) << Why();
  ASSERT_EQ(hd_array_free_on(stream, &a), HD_OK) << Why();
  ASSERT_EQ(hd_device_memory(other, same, &after), HD_OK);
  EXPECT_EQ(after.used, 0u);
  hd_event_free(event);
  hd_stream_free(stranger);
  hd_context_free(other);
  ExpectWell();
}

TEST_F(Errors, LaunchesThatAreTooLargeAreRefused) {
  Open("sm=90,cuLaunchKernel@1=701,cuLaunchKernel@1=1");
  HdArray x = New(gpu, {64});
  EXPECT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}), HD_ERR_CUDA);
  EXPECT_NE(
      Why().find("wants more registers or shared memory than a block can have; kernel 'add', 64 threads in blocks of"),
      std::string::npos)
      << Why();
  Expect(HD_ERR_CUDA, Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(1)}),
         {"cuLaunchKernel gave 1", "kernel 'add'"});
  Expect(HD_ERR_DIM, Launch("add", {INT64_C(1) << 31}, {hd_arg_array(&x), hd_arg_i32(1)}), {"dim[0]", "2147483647"});
  Expect(HD_ERR_DIM, Launch("add", {-1}, {hd_arg_array(&x), hd_arg_i32(1)}), {"dim[0]"});
  Expect(HD_ERR_DIM, Launch("add", {8, 8}, {hd_arg_array(&x), hd_arg_i32(1)}), {"uses 1 axes of the launch, got 2"});
}

// Kernels do nothing here; what is looked at is how a launch is cut.
TEST_F(Errors, MoreThreadsThanOneCallHoldsAreCut) {
  Open("sm=90,null=1,mem=64M");
  HdArray a = New(gpu, {8}), big, bigger;
  const int64_t shape[2] = {100000, 70000};
  ASSERT_EQ(hd_array_borrow(ctx, gpu, a.type, 2, shape, nullptr, a.data, &big), HD_OK) << Why();
  ASSERT_EQ(hd_array_borrow(ctx, gpu, a.type, 2, shape, nullptr, a.data, &bigger), HD_OK);
  uint64_t before = Calls("cuLaunchKernel"), modules = Calls("cuModuleLoadDataEx");
  ASSERT_EQ(Launch("transpose", {70000, 70000}, {hd_arg_array(&big), hd_arg_array(&bigger)}), HD_OK) << Why();
  EXPECT_EQ(Calls("cuLaunchKernel") - before, 4u) << "4,900 million threads";
  // An array of 7,000 million elements is not for code that counts in 32 bits.
  HdArray small = New(gpu, {4, 4});
  ASSERT_EQ(Launch("transpose", {4, 4}, {hd_arg_array(&small), hd_arg_array(&small)}), HD_OK) << Why();
  EXPECT_EQ(Calls("cuModuleLoadDataEx") - modules, 2u) << "two variants of the kernel";
  // In between is what leaves no room for the constants that code of 32 bits takes out of an index.
  modules = Calls("cuModuleLoadDataEx");
  const int64_t most = INT32_MAX - (1 << 20);
  HdArray row;
  for (int64_t n : {most, most + 1}) {
    ASSERT_EQ(hd_array_borrow(ctx, gpu, a.type, 1, &n, nullptr, a.data, &row), HD_OK) << Why();
    ASSERT_EQ(Launch("fill", {1}, {hd_arg_array(&row)}), HD_OK) << Why();
    EXPECT_EQ(Calls("cuModuleLoadDataEx") - modules, n == most ? 1u : 2u);
  }
  EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
}

TEST_F(Errors, NamesOfDevicesThatAreHiddenSaySo) {
  setenv("CUDA_VISIBLE_DEVICES", "0,7", 1);
  Open("sm=90");
  HdDevice d;
  Expect(HD_ERR_NOT_FOUND, hd_device_find(ctx, "cuda:1", &d),
         {"'cuda:1' is no device; there are 'cpu', 'interp', 'cuda:0', as CUDA_VISIBLE_DEVICES='0,7' allows"});
  unsetenv("CUDA_VISIBLE_DEVICES");
}

// Elements beyond 4 GiB are really reached. Without a look for races, which keeps a mark for each byte.
TEST_F(Errors, ElementsBeyondFourGiBAreReached) {
  Open("sm=90,mem=16G,race=0");
  const int64_t shape[2] = {3, INT64_C(1) << 31};
  HdArray big;
  ASSERT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_I8), 2, shape, &big), HD_OK) << Why();
  arrays.push_back(big);
  HdKernel *k = nullptr;
  HdModule *m = nullptr;
  const char text[] = "kernel mark(i8 x[,], i64 at) { x[2, at + i64(tid())] = i8(tid() + 3); }\n"
                      "kernel take(i8 x[,], i64 at, i32 y[]) { y[tid()] = i32(x[2, at + i64(tid())]); }\n";
  ASSERT_EQ(hd_module_load_source(ctx, "big.hd", text, strlen(text), nullptr, &m), HD_OK) << Why();
  const int64_t at = (INT64_C(1) << 31) - 16, n = 16;
  HdArg mark[] = {hd_arg_array(&big), hd_arg_i64(at)};
  ASSERT_EQ(hd_module_kernel(m, "mark", gpu, &k), HD_OK) << Why();
  ASSERT_EQ(hd_launch(k, stream, 1, &n, 2, mark), HD_OK) << Why();
  HdArray y = New(gpu, {16});
  HdArg take[] = {hd_arg_array(&big), hd_arg_i64(at), hd_arg_array(&y)};
  ASSERT_EQ(hd_module_kernel(m, "take", gpu, &k), HD_OK) << Why();
  ASSERT_EQ(hd_launch(k, stream, 1, &n, 3, take), HD_OK) << Why();
  std::vector<int32_t> got = Fetch(y);
  for (int32_t i = 0; i < 16; i++) EXPECT_EQ(got[static_cast<size_t>(i)], i + 3);
  hd_module_free(m);
  ExpectWell();
}

TEST_F(Errors, DevicesOlderThanAllTargetsAreNamed) {
  Open("devices=2,sm=61/90");
  HdKernel *k;
  EXPECT_EQ(hd_module_kernel(module, "add", gpu, &k), HD_ERR_TARGET);
  EXPECT_NE(Why().find("cuda:0 is sm_61; sm_70 and newer are supported"), std::string::npos) << Why();
  hd_stream_free(stream);
  ASSERT_EQ(hd_device_find(ctx, "cuda:1", &gpu), HD_OK);
  ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &stream), HD_OK);
  ExpectWell();
}

TEST_F(Errors, DevicesNewerThanAllTargetsRunPtxOfTheNewest) {
  Open("sm=130,driver=13000");
  ExpectWell();
}

// A cache of a folder of the test's own, or none.
TEST_F(Errors, PtxThatIsRefusedCanBeSeen) {
  HdKernel *k;
  Open("sm=90,cuModuleLoadDataEx@1=218");
  EXPECT_EQ(hd_module_kernel(module, "add", gpu, &k), HD_ERR_CUDA);
  EXPECT_NE(
      Why().find("kernel 'add' in PTX 7.8, which 'heddle compile --emit=ptx --target=sm_90 --kernel=add FILE' prints; "
                 "the driver is of CUDA "),
      std::string::npos)
      << Why();
  ExpectWell();
  Close();
  Cache();
  Open("sm=90,cuModuleLoadDataEx@1=218");
  EXPECT_EQ(hd_module_kernel(module, "add", gpu, &k), HD_ERR_CUDA);
  const std::string said = Why(), before = "which is left in '";
  size_t from = said.find(before) + before.size();
  ASSERT_GT(from, before.size()) << said;
  const std::string path = said.substr(from, said.find('\'', from) - from);
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find(".entry hd_add("), std::string::npos) << path;
  EXPECT_EQ(text.find('\0'), std::string::npos);
  int64_t whole = -1;
  auto none = [](void *, const char *, const char *) { return ADD_FAILURE(), true; };
  EXPECT_EQ(hd_cache_verify(ctx, none, nullptr, &whole), HD_OK); // it is no entry of the cache
  EXPECT_EQ(whole, 1) << "the source";
  ASSERT_EQ(hd_cache_clear(ctx, &whole), HD_OK);
  EXPECT_FALSE(std::filesystem::exists(path)) << "cleared with the cache";
  ExpectWell();
}

TEST_F(Errors, CodeThatIsRefusedLeavesTheDeviceWell) {
  Open("sm=90,cuModuleLoadDataEx@1=218,cuModuleGetFunction@1=500,cuOccupancyMaxPotentialBlockSize@1=1");
  HdKernel *k;
  for (const char *what :
       {"cuModuleLoadDataEx gave 218", "cuModuleGetFunction gave 500", "cuOccupancyMaxPotentialBlockSize gave 1"}) {
    EXPECT_EQ(hd_module_kernel(module, "add", gpu, &k), HD_ERR_CUDA);
    EXPECT_NE(Why().find(what), std::string::npos) << Why();
    EXPECT_NE(Why().find("kernel 'add'"), std::string::npos) << Why();
    EXPECT_EQ(live_("modules"), 0u) << "what was loaded is unloaded";
  }
  ExpectWell();
}

} // namespace
