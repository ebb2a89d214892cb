// tests/fakecuda/fake_driver_test.cc -- the simulated driver: starting, devices, contexts, looking functions up, asked-for faults.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

// --- every function, before there is a driver or a context ---

enum Needs { kNothing, kInit, kContext };
struct Row {
  const char *name;
  Needs needs;
};
constexpr Row kRows[] = {
    {"cuDeviceGetCount", kInit},
    {"cuDeviceGet", kInit},
    {"cuDeviceGetName", kInit},
    {"cuDeviceTotalMem_v2", kInit},
    {"cuDeviceGetUuid", kInit},
    {"cuDeviceGetUuid_v2", kInit},
    {"cuDeviceGetPCIBusId", kInit},
    {"cuDeviceGetByPCIBusId", kInit},
    {"cuDeviceComputeCapability", kInit},
    {"cuDeviceGetAttribute", kInit},
    {"cuDeviceCanAccessPeer", kInit},
    {"cuDeviceGetP2PAttribute", kInit},
    {"cuDevicePrimaryCtxRetain", kInit},
    {"cuDevicePrimaryCtxRelease", kInit},
    {"cuDevicePrimaryCtxRelease_v2", kInit},
    {"cuDevicePrimaryCtxGetState", kInit},
    {"cuCtxCreate_v2", kInit},
    {"cuCtxDestroy_v2", kInit},
    {"cuCtxGetCurrent", kInit},
    {"cuCtxPushCurrent_v2", kInit},
    {"cuCtxPopCurrent_v2", kInit},
    {"cuDeviceGetDefaultMemPool", kInit},
    {"cuDeviceGetMemPool", kInit},
    {"cuDeviceSetMemPool", kInit},
    {"cuModuleGetLoadingMode", kInit},
    {"cuEventDestroy_v2", kInit},
    {"cuGraphCreate", kInit},
    {"cuGraphDestroy", kInit},
    {"cuGraphClone", kInit},
    {"cuGraphNodeFindInClone", kInit},
    {"cuGraphGetNodes", kInit},
    {"cuGraphGetEdges", kInit},
    {"cuGraphGetRootNodes", kInit},
    {"cuGraphNodeGetType", kInit},
    {"cuGraphNodeGetDependencies", kInit},
    {"cuGraphNodeGetDependentNodes", kInit},
    {"cuGraphAddDependencies", kInit},
    {"cuGraphRemoveDependencies", kInit},
    {"cuGraphDestroyNode", kInit},
    {"cuGraphDebugDotPrint", kInit},
    {"cuThreadExchangeStreamCaptureMode", kInit},
    {"cuCtxGetDevice", kContext},
    {"cuCtxGetFlags", kContext},
    {"cuCtxSynchronize", kContext},
    {"cuCtxGetLimit", kContext},
    {"cuCtxSetLimit", kContext},
    {"cuCtxGetCacheConfig", kContext},
    {"cuCtxSetCacheConfig", kContext},
    {"cuCtxGetStreamPriorityRange", kContext},
    {"cuCtxEnablePeerAccess", kContext},
    {"cuCtxDisablePeerAccess", kContext},
    {"cuMemGetInfo_v2", kContext},
    {"cuMemAlloc_v2", kContext},
    {"cuMemAllocPitch_v2", kContext},
    {"cuMemFree_v2", kContext},
    {"cuMemAllocHost_v2", kContext},
    {"cuMemHostAlloc", kContext},
    {"cuMemFreeHost", kContext},
    {"cuMemHostRegister_v2", kContext},
    {"cuMemHostUnregister", kContext},
    {"cuMemHostGetDevicePointer_v2", kContext},
    {"cuMemHostGetFlags", kContext},
    {"cuMemAllocManaged", kContext},
    {"cuMemAdvise", kContext},
    {"cuMemPrefetchAsync", kContext},
    {"cuMemGetAddressRange_v2", kContext},
    {"cuPointerGetAttribute", kContext},
    {"cuPointerGetAttributes", kContext},
    {"cuMemAllocAsync", kContext},
    {"cuMemAllocFromPoolAsync", kContext},
    {"cuMemFreeAsync", kContext},
    {"cuMemPoolCreate", kContext},
    {"cuMemPoolDestroy", kContext},
    {"cuMemPoolTrimTo", kContext},
    {"cuMemPoolSetAttribute", kContext},
    {"cuMemPoolGetAttribute", kContext},
    {"cuMemPoolSetAccess", kContext},
    {"cuMemPoolGetAccess", kContext},
    {"cuMemcpy", kContext},
    {"cuMemcpyAsync", kContext},
    {"cuMemcpyHtoD_v2", kContext},
    {"cuMemcpyHtoDAsync_v2", kContext},
    {"cuMemcpyDtoH_v2", kContext},
    {"cuMemcpyDtoHAsync_v2", kContext},
    {"cuMemcpyDtoD_v2", kContext},
    {"cuMemcpyDtoDAsync_v2", kContext},
    {"cuMemcpyPeer", kContext},
    {"cuMemcpyPeerAsync", kContext},
    {"cuMemcpy2D_v2", kContext},
    {"cuMemcpy2DUnaligned_v2", kContext},
    {"cuMemcpy2DAsync_v2", kContext},
    {"cuMemcpy3D_v2", kContext},
    {"cuMemcpy3DAsync_v2", kContext},
    {"cuMemsetD8_v2", kContext},
    {"cuMemsetD8Async", kContext},
    {"cuMemsetD16_v2", kContext},
    {"cuMemsetD16Async", kContext},
    {"cuMemsetD32_v2", kContext},
    {"cuMemsetD32Async", kContext},
    {"cuMemsetD2D8_v2", kContext},
    {"cuMemsetD2D8Async", kContext},
    {"cuMemsetD2D16_v2", kContext},
    {"cuMemsetD2D16Async", kContext},
    {"cuMemsetD2D32_v2", kContext},
    {"cuMemsetD2D32Async", kContext},
    {"cuStreamCreate", kContext},
    {"cuStreamCreateWithPriority", kContext},
    {"cuStreamDestroy_v2", kContext},
    {"cuStreamSynchronize", kContext},
    {"cuStreamQuery", kContext},
    {"cuStreamWaitEvent", kContext},
    {"cuStreamWaitEvent_ptsz", kContext},
    {"cuStreamGetPriority", kContext},
    {"cuStreamGetFlags", kContext},
    {"cuStreamGetCtx", kContext},
    {"cuStreamGetId", kContext},
    {"cuStreamGetDevice", kContext},
    {"cuStreamIsCapturing", kContext},
    {"cuLaunchHostFunc", kContext},
    {"cuEventCreate", kContext},
    {"cuEventRecord", kContext},
    {"cuEventRecordWithFlags", kContext},
    {"cuEventQuery", kContext},
    {"cuEventSynchronize", kContext},
    {"cuEventElapsedTime", kContext},
    {"cuEventElapsedTime_v2", kContext},
    {"cuModuleLoadData", kContext},
    {"cuModuleLoadDataEx", kContext},
    {"cuModuleUnload", kContext},
    {"cuModuleGetFunction", kContext},
    {"cuModuleGetGlobal_v2", kContext},
    {"cuFuncGetAttribute", kContext},
    {"cuFuncSetAttribute", kContext},
    {"cuFuncSetCacheConfig", kContext},
    {"cuFuncGetModule", kContext},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", kContext},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", kContext},
    {"cuOccupancyMaxPotentialBlockSize", kContext},
    {"cuOccupancyMaxPotentialBlockSizeWithFlags", kContext},
    {"cuLaunchKernel", kContext},
    {"cuLaunchKernelEx", kContext},
    {"cuLaunchCooperativeKernel", kContext},
    {"cuGraphAddKernelNode", kContext},
    {"cuGraphAddKernelNode_v2", kContext},
    {"cuGraphAddMemcpyNode", kContext},
    {"cuGraphAddMemsetNode", kContext},
    {"cuGraphAddHostNode", kContext},
    {"cuGraphAddEmptyNode", kContext},
    {"cuGraphAddChildGraphNode", kContext},
    {"cuGraphAddEventRecordNode", kContext},
    {"cuGraphAddEventWaitNode", kContext},
    {"cuGraphInstantiate", kContext},
    {"cuGraphInstantiate_v2", kContext},
    {"cuGraphInstantiateWithFlags", kContext},
    {"cuGraphInstantiateWithParams", kContext},
    {"cuGraphLaunch", kContext},
    {"cuGraphUpload", kContext},
    {"cuGraphExecDestroy", kContext},
    {"cuGraphExecUpdate", kContext},
    {"cuGraphExecUpdate_v2", kContext},
    {"cuGraphExecKernelNodeSetParams", kContext},
    {"cuGraphExecKernelNodeSetParams_v2", kContext},
    {"cuGraphExecMemcpyNodeSetParams", kContext},
    {"cuGraphExecMemsetNodeSetParams", kContext},
    {"cuGraphExecHostNodeSetParams", kContext},
    {"cuGraphNodeSetEnabled", kContext},
    {"cuGraphNodeGetEnabled", kContext},
    {"cuStreamBeginCapture", kContext},
    {"cuStreamBeginCapture_v2", kContext},
    {"cuStreamBeginCaptureToGraph", kContext},
    {"cuStreamEndCapture", kContext},
    {"cuStreamGetCaptureInfo", kContext},
    {"cuStreamGetCaptureInfo_v2", kContext},
    {"cuStreamGetCaptureInfo_v3", kContext},
    {"cuStreamUpdateCaptureDependencies", kContext},
};

// Any function with nothing but zeros; all of them return an int, and none takes more than eleven arguments.
int CallWithZeros(const char *name) {
  using Any = int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t, uint64_t);
  void *symbol = dlsym(RTLD_DEFAULT, name);
  EXPECT_TRUE(symbol) << name;
  if (!symbol) return -1;
  Any f;
  memcpy(&f, &symbol, sizeof f);
  return f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

TEST_F(Driver, RefusesEveryCallBeforeItIsInitialised) {
  fakecuda_configure("");
  for (const Row &r : kRows) EXPECT_EQ(CallWithZeros(r.name), kNotInitialized) << r.name;
}

TEST_F(Driver, RefusesCallsWithoutAContext) {
  fakecuda_configure("");
  ASSERT_EQ(cuInit(0), 0);
  for (const Row &r : kRows) {
    int code = CallWithZeros(r.name);
    EXPECT_TRUE(r.needs != kContext || code == kInvalidContext) << r.name << " gives " << code;
  }
}

// What zeros are fine for: a range that may be left out, the default stream, nothing to free, nothing to copy.
TEST_F(Driver, SurvivesZerosInEveryCall) {
  for (const Row &r : kRows) {
    Open();
    int code = CallWithZeros(r.name);
    EXPECT_TRUE(code == 0 || code == kInvalidValue || code == kInvalidHandle || code == kInvalidContext ||
                code == kNotFound || code == kHostOff || code == 401 || code == 900)
        << r.name << " gives " << code;
  }
}

TEST_F(Driver, HasTheNamesThatItDoesNotSimulate) {
  Open();
  EXPECT_EQ(CallWithZeros("cuTexRefCreate"), kNotSupported);
  EXPECT_EQ(CallWithZeros("cuMulticastCreate"), kNotSupported);
  EXPECT_EQ(fakecuda_calls("cuTex*"), 1u);
}

// --- starting ---

TEST_F(Driver, StartsAsItIsTold) {
  fakecuda_configure("devices=3,driver=12020");
  int version = 0, n = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), 0);
  EXPECT_EQ(version, 12020);
  EXPECT_EQ(cuDriverGetVersion(nullptr), kInvalidValue);
  EXPECT_EQ(cuInit(1), kInvalidValue);
  EXPECT_EQ(cuDeviceGetCount(&n), kNotInitialized);
  EXPECT_EQ(cuInit(0), 0);
  EXPECT_EQ(cuDeviceGetCount(&n), 0);
  EXPECT_EQ(n, 3);
  fakecuda_configure("devices=0");
  EXPECT_EQ(cuInit(0), kNoDevice);
  fakecuda_configure("init=802");
  EXPECT_EQ(cuInit(0), 802);
}

TEST_F(Driver, IsOfNoUseInAForkedChild) {
  Open();
  pid_t child = fork();
  if (child == 0) _exit(cuCtxSynchronize() == kNotInitialized ? 7 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(cuCtxSynchronize(), 0);
}

TEST_F(Driver, NamesItsErrors) {
  const char *text = nullptr;
  EXPECT_EQ(cuGetErrorName(700, &text), 0);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(2, &text), 0);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(12345, &text), kInvalidValue);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(cuGetErrorName(0, nullptr), kInvalidValue);
}

// --- devices ---

TEST_F(Driver, DescribesItsDevices) {
  Open("devices=2,sm=75/90,mem=64M/1G");
  CuDevice d = -1;
  EXPECT_EQ(cuDeviceGet(&d, 1), 0);
  EXPECT_EQ(d, 1);
  EXPECT_EQ(cuDeviceGet(&d, 2), kInvalidDevice);
  EXPECT_EQ(cuDeviceGet(&d, -1), kInvalidDevice);
  char name[64], id[16];
  EXPECT_EQ(cuDeviceGetName(name, sizeof name, 1), 0);
  EXPECT_STREQ(name, "Simulated GPU sm_90");
  EXPECT_EQ(cuDeviceGetName(name, 10, 0), 0);
  EXPECT_STREQ(name, "Simulated");
  EXPECT_EQ(cuDeviceGetName(name, 0, 0), kInvalidValue);
  size_t bytes = 0;
  EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, 0), 0);
  EXPECT_EQ(bytes, 64u << 20);
  int major = 0, minor = 0, value = 0;
  EXPECT_EQ(cuDeviceComputeCapability(&major, &minor, 0), 0);
  EXPECT_EQ(major * 10 + minor, 75);
  EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 1), 0);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cuDeviceGetAttribute(&value, 97, 1), 0);
  EXPECT_EQ(value, 227 << 10);
  EXPECT_EQ(cuDeviceGetAttribute(&value, 0, 1), kInvalidValue);
  EXPECT_EQ(cuDeviceGetAttribute(&value, 1, 2), kInvalidDevice);
  CuUuid a, b;
  EXPECT_EQ(cuDeviceGetUuid_v2(&a, 0), 0);
  EXPECT_EQ(cuDeviceGetUuid_v2(&b, 1), 0);
  EXPECT_NE(memcmp(&a, &b, sizeof a), 0);
  EXPECT_EQ(cuDeviceGetPCIBusId(id, sizeof id, 1), 0);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&d, id), 0);
  EXPECT_EQ(d, 1);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&d, "0000:77:00.0"), kInvalidDevice);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&d, "what"), kInvalidValue);
}

// --- contexts ---

TEST_F(Driver, CountsTheUsersOfAPrimaryContext) {
  Open();
  void *again = nullptr;
  unsigned flags = 7;
  int active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), 0);
  EXPECT_EQ(again, ctx);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), 0);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), 0);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), 0);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), 0);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), kInvalidContext);
  EXPECT_EQ(cuCtxSynchronize(), kInvalidContext);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 1), kInvalidDevice);
}

TEST_F(Driver, KeepsAStackOfContexts) {
  Open("devices=2");
  void *own = nullptr, *c = nullptr;
  CuDevice d = -1;
  unsigned version = 0;
  EXPECT_EQ(cuCtxCreate_v2(&own, 0, 1), 0);
  EXPECT_EQ(cuCtxGetCurrent(&c), 0);
  EXPECT_EQ(c, own);
  EXPECT_EQ(cuCtxGetDevice(&d), 0);
  EXPECT_EQ(d, 1);
  EXPECT_EQ(cuCtxPushCurrent_v2(ctx), 0);
  EXPECT_EQ(cuCtxGetDevice(&d), 0);
  EXPECT_EQ(d, 0);
  EXPECT_EQ(cuCtxPopCurrent_v2(&c), 0);
  EXPECT_EQ(c, ctx);
  EXPECT_EQ(cuCtxGetApiVersion(own, &version), 0);
  EXPECT_GE(version, 3020u);
  EXPECT_EQ(cuCtxDestroy_v2(own), 0);
  EXPECT_EQ(cuCtxGetCurrent(&c), 0);
  EXPECT_EQ(c, ctx);
  EXPECT_EQ(cuCtxDestroy_v2(own), kInvalidContext);
  EXPECT_EQ(cuCtxPushCurrent_v2(own), kInvalidContext);
  EXPECT_EQ(cuCtxSetCurrent(own), kInvalidContext);
  EXPECT_EQ(cuCtxDestroy_v2(ctx), kInvalidContext); // a primary one is released
  EXPECT_EQ(cuCtxSetCurrent(nullptr), 0);
  EXPECT_EQ(cuCtxPopCurrent_v2(&c), kInvalidContext);
}

TEST_F(Driver, HasLimitsAndPriorities) {
  Open();
  size_t bytes = 0;
  EXPECT_EQ(cuCtxSetLimit(0, 4096), 0);
  EXPECT_EQ(cuCtxGetLimit(&bytes, 0), 0);
  EXPECT_EQ(bytes, 4096u);
  EXPECT_EQ(cuCtxGetLimit(&bytes, 99), kInvalidValue);
  EXPECT_EQ(cuCtxSetLimit(99, 1), kInvalidValue);
  int least = 1, greatest = 1, priority = 0;
  EXPECT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), 0);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  void *s = nullptr;
  EXPECT_EQ(cuStreamCreateWithPriority(&s, 1, -100), 0);
  EXPECT_EQ(cuStreamGetPriority(s, &priority), 0);
  EXPECT_EQ(priority, greatest);
  int cache = -1;
  EXPECT_EQ(cuCtxSetCacheConfig(4), kInvalidValue);
  EXPECT_EQ(cuCtxGetCacheConfig(&cache), 0);
}

TEST_F(Driver, OpensPeersOnce) {
  Open("devices=2");
  void *other = nullptr;
  int can = 0;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), 0);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 0), 0);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuCtxDisablePeerAccess(other), kPeerOff);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 1), kInvalidValue);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), 0);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), kPeerOn);
  EXPECT_EQ(cuCtxEnablePeerAccess(ctx, 0), kPeerUnsupported);
  EXPECT_EQ(cuCtxDisablePeerAccess(other), 0);
  Open("devices=2,peer=none");
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), 0);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), kPeerUnsupported);
}

// --- looking up ---

TEST_F(Driver, FindsFunctionsOfTheVersionThatIsAskedFor) {
  fakecuda_configure("driver=12080,missing=cuMemAdvise");
  void *p = nullptr, *q = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2("cuDeviceGetUuid", &p, 11000, 0, &status), 0);
  EXPECT_EQ(cuGetProcAddress_v2("cuDeviceGetUuid", &q, 11040, 0, &status), 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(p, q);
  EXPECT_EQ(q, dlsym(RTLD_DEFAULT, "cuDeviceGetUuid_v2"));
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAllocAsync", &p, 11010, 0, &status), kNotFound);
  EXPECT_EQ(status, 2) << "the version is not sufficient";
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAllocAsync", &p, 11020, 0, nullptr), 0);
  EXPECT_EQ(cuGetProcAddress_v2("cuNoSuchThing", &p, 12000, 0, &status), kNotFound);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAdvise", &p, 12000, 0, &status), kNotFound);
  EXPECT_EQ(cuGetProcAddress_v2("cuInit", &p, 13000, 0, &status), kInvalidValue) << "newer than the driver";
  EXPECT_EQ(cuGetProcAddress_v2("cuInit", &p, 12000, 9, &status), kInvalidValue);
  EXPECT_EQ(cuGetProcAddress_v2("cuInit", nullptr, 12000, 0, &status), kInvalidValue);
  EXPECT_EQ(cuGetProcAddress_v2(nullptr, &p, 12000, 0, &status), kInvalidValue);
  EXPECT_EQ(cuGetProcAddress("cuMemAlloc", &p, 12000, 0), 0);
  EXPECT_EQ(p, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
}

// --- faults by rule ---

TEST_F(Driver, FailsTheCallsThatARuleNames) {
  Open("cuMemAlloc_v2@2=2; cuEvent*@2+=999; cuStreamCreate@%3=400");
  CuPtr p;
  void *h;
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), 0);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), kNoMemory);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), 0);
  EXPECT_EQ(cuEventCreate(&h, 0), 0);
  EXPECT_EQ(cuEventQuery(h), 999);
  EXPECT_EQ(cuEventCreate(&h, 0), 999);
  std::vector<int> codes;
  for (int k = 0; k < 6; k++) codes.push_back(cuStreamCreate(&h, 0));
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 400, 0, 0, 400}));
}

TEST_F(Driver, LooksAtSizesDevicesAndKernelsWhereARuleDoes) {
  Open("devices=2; cuMemAlloc_v2:size>1K=2; cuLaunchKernel:kernel=fill=701; cuMemAllocAsync:device=1=801");
  CuPtr p = 0;
  EXPECT_EQ(cuMemAlloc_v2(&p, 1025), kNoMemory);
  EXPECT_EQ(cuMemAlloc_v2(&p, 1024), 0);
  Load();
  EXPECT_EQ(Add(p, 4, 1), 0);
  EXPECT_EQ(Fill(p, 4, 1), kOutOfResources);
  EXPECT_EQ(cuMemAllocAsync(&p, 8, nullptr), 0);
  void *other;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  EXPECT_EQ(cuMemAllocAsync(&p, 8, nullptr), kNotSupported);
}

TEST_F(Driver, LosesTheContextLaterWhereARuleSaysSo) {
  Open("cuLaunchKernel@1=716!");
  Load();
  CuPtr p = Words(4);
  EXPECT_EQ(Add(p, 4, 1), 0);
  EXPECT_EQ(cuCtxSynchronize(), 716);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), 716);
  EXPECT_EQ(cuMemcpyDtoD_v2(p, p, 4), 716) << "it stays lost";
  EXPECT_STREQ(fakecuda_fault(), "as a rule asked for");
  ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), 0);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
  ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0);
}

} // namespace
} // namespace fake
