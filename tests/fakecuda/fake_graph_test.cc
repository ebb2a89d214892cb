// tests/fakecuda/fake_graph_test.cc -- graphs of the simulated driver: captured and made by hand, launched, changed, misused.
#include <dlfcn.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

enum { kGlobal, kThread, kRelaxed };
enum { kNone, kActive, kInvalid };
enum { kKernelNode, kCopyNode, kSetNode, kHostNode, kGraphNode, kEmptyNode, kWaitNode, kRecordNode };
enum {
  kIllegalState = 401,
  kUnsupported = 900,
  kInvalidated = 901,
  kMerge = 902,
  kUnmatched = 903,
  kUnjoined = 904,
  kIsolation = 905,
  kImplicit = 906,
  kCapturedEvent = 907,
  kWrongThread = 908,
  kUpdateFailure = 910,
};

class Graphs : public Driver {
protected:
  void Begin(void *s, int mode = kGlobal) { ASSERT_EQ(cuStreamBeginCapture_v2(s, mode), 0); }
  static void *End(void *s, int code = 0) {
    void *g = nullptr;
    EXPECT_EQ(cuStreamEndCapture(s, &g), code);
    EXPECT_EQ(g == nullptr, code != 0);
    return g;
  }
  static void *Make(void *g) {
    void *e = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&e, g, 0), 0);
    return e;
  }
  static int Status(void *s) {
    int x = -1;
    EXPECT_EQ(cuStreamIsCapturing(s, &x), 0);
    return x;
  }
  static std::vector<void *> Nodes(void *g) {
    size_t n = 0;
    EXPECT_EQ(cuGraphGetNodes(g, nullptr, &n), 0);
    std::vector<void *> v(n);
    EXPECT_EQ(cuGraphGetNodes(g, v.data(), &n), 0);
    return v;
  }
  static int Type(void *node) {
    int t = -1;
    EXPECT_EQ(cuGraphNodeGetType(node, &t), 0);
    return t;
  }
  CuKernelNode AddNode(CuPtr *p, uint32_t *n, uint32_t *k, void **args) {
    args[0] = p, args[1] = n, args[2] = k;
    CuKernelNode node = {};
    node.function = Function("add");
    node.gx = (*n + 63) / 64, node.gy = node.gz = 1, node.bx = 64, node.by = node.bz = 1;
    node.params = args;
    return node;
  }
};

// --- capture ---

TEST_F(Graphs, RecordTheWorkOfAStreamAndDoNotDoIt) {
  Open();
  Load();
  void *s = Stream();
  CuPtr p = Words(100), q = Words(100);
  uint32_t *out = Pinned(100);
  Begin(s);
  EXPECT_EQ(Status(s), kActive);
  EXPECT_EQ(Add(p, 100, 2, s), 0);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(q, p, 400, s), 0);
  EXPECT_EQ(cuMemsetD32Async(q, 9, 1, s), 0);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(out, q, 400, s), 0);
  bool called = false;
  EXPECT_EQ(cuLaunchHostFunc(s, [](void *x) { *static_cast<bool *>(x) = true; }, &called), 0);
  void *g = End(s);
  EXPECT_EQ(Status(s), kNone);
  EXPECT_EQ(Fetch(p, 1)[0], 0u);
  std::vector<void *> nodes = Nodes(g);
  ASSERT_EQ(nodes.size(), 5u);
  std::vector<int> types;
  for (void *n : nodes) types.push_back(Type(n));
  EXPECT_EQ(types, (std::vector<int>{kKernelNode, kCopyNode, kSetNode, kCopyNode, kHostNode}));
  void *e = Make(g);
  EXPECT_EQ(cuGraphLaunch(e, s), 0);
  EXPECT_EQ(cuGraphLaunch(e, s), 0);
  EXPECT_FALSE(called);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_TRUE(called);
  EXPECT_EQ(out[0], 9u);
  EXPECT_EQ(out[99], 4u);
  EXPECT_EQ(cuGraphDestroy(g), 0);
  EXPECT_EQ(cuGraphLaunch(e, s), 0) << "it does not need the graph";
  EXPECT_EQ(cuGraphExecDestroy(e), 0);
  EXPECT_EQ(cuStreamSynchronize(s), 0) << "nor does a launch need what was launched";
  EXPECT_EQ(out[99], 6u);
  EXPECT_EQ(cuGraphLaunch(e, s), kInvalidValue);
  EXPECT_EQ(cuGraphExecDestroy(e), kInvalidValue);
  EXPECT_EQ(cuGraphDestroy(g), kInvalidValue);
  EXPECT_EQ(fakecuda_live("graphs") + fakecuda_live("execs"), 0u);
}

TEST_F(Graphs, ForkAndJoinByEvents) {
  for (int seed = 1; seed < 12; seed++) {
    Open(("seed=" + std::to_string(seed)).c_str());
    Load();
    void *a = Stream(), *b = Stream(), *fork = Event(), *join = Event();
    CuPtr p = Words(2), q = Words(1), r = Words(1);
    Begin(a);
    EXPECT_EQ(Add(p, 1, 1, a), 0);
    EXPECT_EQ(cuEventRecord(fork, a), 0);
    EXPECT_EQ(cuStreamWaitEvent(b, fork, 0), 0);
    EXPECT_EQ(Status(b), kActive) << "it joined";
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(q, p, 4, b), 0);
    EXPECT_EQ(Add(q, 1, 10, b), 0);
    EXPECT_EQ(cuEventRecord(join, b), 0);
    EXPECT_EQ(Add(p + 4, 1, 5, a), 0);
    EXPECT_EQ(cuStreamWaitEvent(a, join, 0), 0);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(r, q, 4, a), 0);
    void *g = End(a);
    EXPECT_EQ(Status(b), kNone);
    size_t edges = 0, roots = 0;
    EXPECT_EQ(cuGraphGetEdges(g, nullptr, nullptr, &edges), 0);
    EXPECT_EQ(edges, 5u);
    EXPECT_EQ(cuGraphGetRootNodes(g, nullptr, &roots), 0);
    EXPECT_EQ(roots, 1u);
    void *e = Make(g);
    EXPECT_EQ(cuGraphLaunch(e, b), 0);
    EXPECT_EQ(cuStreamSynchronize(b), 0);
    EXPECT_EQ(Fetch(r, 1)[0], 11u);
    EXPECT_EQ(Fetch(p, 2)[1], 5u);
    EXPECT_EQ(cuEventQuery(fork), kCapturedEvent);
    EXPECT_EQ(cuEventSynchronize(join), kCapturedEvent);
    float ms;
    EXPECT_EQ(cuEventElapsedTime(&ms, fork, join), kCapturedEvent);
  }
}

TEST_F(Graphs, TellWhatACaptureIsAt) {
  Open();
  Load();
  void *s = Stream(), *g = nullptr, *g2 = nullptr, **deps = nullptr;
  int status = -1;
  uint64_t id = 0, id2 = 0;
  size_t n = 9;
  const CuEdge *edges = nullptr;
  CuPtr p = Words(1);
  EXPECT_EQ(cuStreamGetCaptureInfo_v2(s, &status, &id, &g, &deps, &n), 0);
  EXPECT_EQ(status, kNone);
  Begin(s);
  EXPECT_EQ(cuStreamGetCaptureInfo_v2(s, &status, &id, &g, &deps, &n), 0);
  EXPECT_EQ(status, kActive);
  EXPECT_EQ(n, 0u);
  EXPECT_EQ(Add(p, 1, 1, s), 0);
  EXPECT_EQ(cuStreamGetCaptureInfo_v3(s, &status, &id2, &g2, &deps, &edges, &n), 0);
  EXPECT_EQ(id, id2);
  EXPECT_EQ(g, g2);
  ASSERT_EQ(n, 1u);
  EXPECT_EQ(deps[0], Nodes(g)[0]);
  EXPECT_EQ(edges[0].type, 0);
  EXPECT_EQ(cuStreamGetCaptureInfo(s, &status, nullptr), 0);
  EXPECT_EQ(cuStreamGetCaptureInfo(s, nullptr, &id), kInvalidValue);
  // A node put in by hand, on which the stream goes on.
  void *node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, g, deps, 1), 0);
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(s, &node, 1, 1), 0);
  EXPECT_EQ(Add(p, 1, 1, s), 0);
  EXPECT_EQ(cuGraphDestroy(g), kInvalidValue) << "while it is made";
  EXPECT_EQ(End(s), g);
  void *before = nullptr;
  n = 1;
  EXPECT_EQ(cuGraphNodeGetDependencies(Nodes(g)[2], &before, &n), 0);
  EXPECT_EQ(before, node);
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(s, &node, 1, 1), kIllegalState);
}

TEST_F(Graphs, GrowIntoAGraphThatIsThere) {
  Open();
  Load();
  void *s = Stream(), *g = nullptr, *first = nullptr, *same = nullptr;
  CuPtr p = Words(1);
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  EXPECT_EQ(cuGraphAddEmptyNode(&first, g, nullptr, 0), 0);
  EXPECT_EQ(cuStreamBeginCaptureToGraph(s, g, &first, nullptr, 1, kGlobal), 0);
  EXPECT_EQ(Add(p, 1, 1, s), 0);
  EXPECT_EQ(cuStreamEndCapture(s, &same), 0);
  EXPECT_EQ(same, g);
  EXPECT_EQ(Nodes(g).size(), 2u);
  EXPECT_EQ(cuStreamBeginCaptureToGraph(s, &p, nullptr, nullptr, 0, kGlobal), kInvalidValue);
}

// --- capture, misused ---

TEST_F(Graphs, BeginAndEndWhereTheyMay) {
  Open();
  void *s = Stream(), *t = Stream(), *g = nullptr, *e = Event();
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, kGlobal), kUnsupported);
  EXPECT_EQ(cuStreamBeginCapture_v2(s, 3), kInvalidValue);
  EXPECT_EQ(cuStreamEndCapture(s, &g), kIllegalState);
  Begin(s);
  EXPECT_EQ(cuStreamBeginCapture_v2(s, kGlobal), kIllegalState);
  EXPECT_EQ(cuEventRecord(e, s), 0);
  EXPECT_EQ(cuStreamWaitEvent(t, e, 0), 0);
  EXPECT_EQ(cuStreamEndCapture(t, &g), kUnmatched);
  EXPECT_EQ(Status(s), kInvalid);
  End(s, kInvalidated);
  EXPECT_EQ(Status(s), kNone);
  EXPECT_EQ(Status(t), kNone);
}

TEST_F(Graphs, MustBeJoined) {
  Open();
  Load();
  CuPtr p = Words(1);
  void *a = Stream(), *b = Stream(), *e = Event();
  Begin(a);
  EXPECT_EQ(cuEventRecord(e, a), 0);
  EXPECT_EQ(cuStreamWaitEvent(b, e, 0), 0);
  EXPECT_EQ(Add(p, 1, 1, b), 0);
  End(a, kUnjoined);
  EXPECT_EQ(cuStreamSynchronize(b), 0);
  EXPECT_EQ(cuStreamWaitEvent(b, e, 0), kCapturedEvent) << "of a capture that is over";
}

TEST_F(Graphs, MayNotWaitForWhatIsOutside) {
  Open();
  void *a = Stream(), *b = Stream(), *outside = Event(), *never = Event(), *inside = Event();
  EXPECT_EQ(cuEventRecord(outside, b), 0);
  Begin(a);
  EXPECT_EQ(cuStreamWaitEvent(a, never, 0), 0) << "an event that was never recorded is nothing";
  EXPECT_EQ(cuStreamWaitEvent(a, outside, 0), kIsolation);
  EXPECT_EQ(cuEventRecord(inside, a), kInvalidated);
  End(a, kInvalidated);
  Begin(a);
  Begin(b);
  EXPECT_EQ(cuEventRecord(inside, a), 0);
  EXPECT_EQ(cuStreamWaitEvent(b, inside, 0), kMerge);
  End(a, kInvalidated);
  End(b, kInvalidated);
}

TEST_F(Graphs, MayNotBeWaitedFor) {
  Open();
  void *s = Stream();
  for (auto call : {cuStreamSynchronize, cuStreamQuery}) {
    Begin(s);
    EXPECT_EQ(call(s), kUnsupported);
    EXPECT_EQ(Status(s), kInvalid);
    EXPECT_EQ(call(s), kInvalidated);
    End(s, kInvalidated);
  }
  Begin(s);
  EXPECT_EQ(cuCtxSynchronize(), kUnsupported);
  End(s, kInvalidated);
}

TEST_F(Graphs, ForbidUnsafeCallsByTheirMode) {
  Open();
  Load();
  CuPtr p;
  void *s = Stream();
  uint32_t word;
  CuPtr there = Words(1);
  Begin(s, kGlobal);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), kUnsupported);
  End(s, kInvalidated);
  Begin(s, kGlobal);
  EXPECT_EQ(cuMemcpyDtoH_v2(&word, there, 4), kUnsupported);
  End(s, kInvalidated);
  Begin(s, kRelaxed);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), 0);
  EXPECT_EQ(cuGraphDestroy(End(s)), 0);
  auto elsewhere = [&] {
    int code = -1;
    std::thread([&] {
      CuPtr q;
      cuCtxSetCurrent(ctx);
      code = cuMemAlloc_v2(&q, 4);
    }).join();
    return code;
  };
  Begin(s, kThread);
  EXPECT_EQ(elsewhere(), 0) << "only its own thread";
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), kUnsupported);
  End(s, kInvalidated);
  Begin(s, kGlobal);
  EXPECT_EQ(elsewhere(), kUnsupported);
  End(s, kInvalidated);
  int mode = kRelaxed;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), 0);
  EXPECT_EQ(mode, kGlobal);
  Begin(s, kGlobal);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), 0) << "the thread says that it knows what it does";
  EXPECT_EQ(cuGraphDestroy(End(s)), 0);
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), 0);
  EXPECT_EQ(mode, kRelaxed);
  mode = 7;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), kInvalidValue);
}

TEST_F(Graphs, EndInTheThreadThatBegan) {
  Open();
  void *s = Stream();
  auto end = [&] {
    int code = -1;
    std::thread([&] {
      void *g;
      cuCtxSetCurrent(ctx);
      code = cuStreamEndCapture(s, &g);
    }).join();
    return code;
  };
  Begin(s);
  EXPECT_EQ(end(), kWrongThread);
  End(s, kInvalidated);
  Begin(s, kRelaxed);
  EXPECT_EQ(end(), 0);
}

TEST_F(Graphs, KeepTheDefaultStreamOut) {
  Open();
  Load();
  CuPtr p = Words(1);
  void *blocking = Stream(0), *free = Stream(1);
  int status;
  Begin(free, kRelaxed);
  EXPECT_EQ(Add(p, 1, 1, nullptr), 0);
  EXPECT_EQ(cuGraphDestroy(End(free)), 0);
  Begin(blocking, kRelaxed);
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), kImplicit);
  EXPECT_EQ(Status(blocking), kActive) << "asking does no harm";
  EXPECT_EQ(Add(p, 1, 1, nullptr), kImplicit);
  EXPECT_EQ(Status(blocking), kInvalid);
  End(blocking, kInvalidated);
  EXPECT_EQ(Fetch(p, 1)[0], 1u);
}

TEST_F(Graphs, EndWithTheirStream) {
  Open();
  void *s = Stream();
  Begin(s);
  EXPECT_EQ(cuStreamDestroy_v2(s), 0);
  CuPtr p;
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), 0) << "nobody captures any more";
}

// --- made by hand ---

TEST_F(Graphs, AreMadeOfNodesAndEdges) {
  Open();
  Load();
  CuPtr p = Words(64);
  uint32_t n = 64, k = 3, *out = Pinned(64);
  void *g = nullptr, *set, *add, *get, *call, *nothing, *args[3];
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  EXPECT_EQ(cuGraphCreate(&g, 1), kInvalidValue);
  CuSetNode zero = {p, 0, 7, 4, 64, 1};
  EXPECT_EQ(cuGraphAddMemsetNode(&set, g, nullptr, 0, &zero, ctx), 0);
  CuKernelNode kernel = AddNode(&p, &n, &k, args);
  EXPECT_EQ(cuGraphAddKernelNode_v2(&add, g, &set, 1, &kernel), 0);
  CuCopy3D copy = {};
  copy.from_kind = CU_DEVICE_SIDE, copy.from_device = p, copy.to_kind = CU_HOST_SIDE, copy.to_host = out;
  copy.width = 256, copy.height = copy.depth = 1;
  EXPECT_EQ(cuGraphAddMemcpyNode(&get, g, &add, 1, &copy, ctx), 0);
  CuHostNode host = {[](void *x) { ++*static_cast<uint32_t *>(x); }, out};
  EXPECT_EQ(cuGraphAddHostNode(&call, g, nullptr, 0, &host), 0);
  EXPECT_EQ(cuGraphAddDependencies(g, &get, &call, 1), 0);
  EXPECT_EQ(cuGraphAddEmptyNode(&nothing, g, nullptr, 0), 0);
  void *e = Make(g);
  EXPECT_EQ(cuGraphUpload(e, nullptr), 0);
  EXPECT_EQ(cuGraphLaunch(e, nullptr), 0);
  EXPECT_EQ(cuCtxSynchronize(), 0);
  EXPECT_EQ(out[0], 11u);
  EXPECT_EQ(out[63], 10u);
  // Questions.
  size_t many = 8;
  void *list[8];
  EXPECT_EQ(cuGraphGetNodes(g, list, &many), 0);
  EXPECT_EQ(many, 5u);
  EXPECT_EQ(list[5], nullptr) << "the rest is empty";
  many = 1;
  EXPECT_EQ(cuGraphGetRootNodes(g, list, &many), 0);
  EXPECT_EQ(many, 1u);
  EXPECT_EQ(list[0], set);
  many = 4;
  EXPECT_EQ(cuGraphNodeGetDependentNodes(add, list, &many), 0);
  EXPECT_EQ(many, 1u);
  EXPECT_EQ(list[0], get);
  void *from[8], *to[8];
  CuEdge data[8];
  many = 8;
  EXPECT_EQ(cuGraphGetEdges_v2(g, from, to, data, &many), 0);
  EXPECT_EQ(many, 3u);
  EXPECT_EQ(from[2], get);
  EXPECT_EQ(to[2], call);
  // Mistakes.
  EXPECT_EQ(cuGraphAddDependencies(g, &get, &call, 1), kInvalidValue) << "it is there";
  EXPECT_EQ(cuGraphAddDependencies(g, &call, &set, 1), kInvalidValue) << "a circle";
  EXPECT_EQ(cuGraphAddDependencies(g, &call, &call, 1), kInvalidValue);
  EXPECT_EQ(cuGraphRemoveDependencies(g, &set, &call, 1), kInvalidValue) << "it is not there";
  EXPECT_EQ(cuGraphRemoveDependencies(g, &get, &call, 1), 0);
  void *twice[2] = {set, set};
  EXPECT_EQ(cuGraphAddEmptyNode(&nothing, g, twice, 2), kInvalidValue);
  EXPECT_EQ(cuGraphAddEmptyNode(&nothing, g, nullptr, 2), kInvalidValue);
  EXPECT_EQ(cuGraphAddEmptyNode(&nothing, &g, nullptr, 0), kInvalidValue);
  kernel.bx = 2000;
  EXPECT_EQ(cuGraphAddKernelNode_v2(&add, g, nullptr, 0, &kernel), kInvalidValue);
  kernel.function = &n;
  EXPECT_EQ(cuGraphAddKernelNode_v2(&add, g, nullptr, 0, &kernel), kInvalidValue);
  EXPECT_EQ(cuGraphAddKernelNode_v2(&add, g, nullptr, 0, nullptr), kInvalidValue);
  zero.bytes = 3;
  EXPECT_EQ(cuGraphAddMemsetNode(&set, g, nullptr, 0, &zero, ctx), kInvalidValue);
  EXPECT_EQ(cuGraphAddMemcpyNode(&get, g, nullptr, 0, &copy, &n), kInvalidContext);
  copy.width = 260;
  EXPECT_EQ(cuGraphAddMemcpyNode(&get, g, nullptr, 0, &copy, ctx), kInvalidValue) << "past the end";
  EXPECT_EQ(cuGraphDestroyNode(list[0]), 0);
  EXPECT_EQ(Nodes(g).size(), 4u);
  EXPECT_EQ(cuGraphDestroyNode(list[0]), kInvalidValue);
}

TEST_F(Graphs, RunNodesInAnyOrderThatEdgesAllow) {
  std::set<uint32_t> seen;
  for (int seed = 1; seed < 40; seed++) {
    Open(("race=0,seed=" + std::to_string(seed)).c_str());
    CuPtr p = Words(1);
    void *g = nullptr, *node;
    ASSERT_EQ(cuGraphCreate(&g, 0), 0);
    for (unsigned v = 1; v <= 3; v++) {
      CuSetNode set = {p, 0, v, 4, 1, 1};
      EXPECT_EQ(cuGraphAddMemsetNode(&node, g, nullptr, 0, &set, ctx), 0);
    }
    EXPECT_EQ(cuGraphLaunch(Make(g), nullptr), 0);
    seen.insert(Fetch(p, 1)[0]);
  }
  EXPECT_EQ(seen, (std::set<uint32_t>{1, 2, 3}));
}

TEST_F(Graphs, HoldGraphsAndEvents) {
  Open();
  Load();
  CuPtr p = Words(1);
  uint32_t n = 1, k = 5;
  void *inner = nullptr, *outer = nullptr, *node, *child, *other, *args[3], *e = Event(), *s = Stream(),
       *found = nullptr;
  ASSERT_EQ(cuGraphCreate(&inner, 0), 0);
  ASSERT_EQ(cuGraphCreate(&outer, 0), 0);
  CuKernelNode kernel = AddNode(&p, &n, &k, args);
  EXPECT_EQ(cuGraphAddKernelNode_v2(&node, inner, nullptr, 0, &kernel), 0);
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), 0);
  EXPECT_EQ(cuGraphAddChildGraphNode(&other, outer, &child, 1, inner), 0);
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, outer, &other, 1, e), 0);
  EXPECT_EQ(cuGraphEventRecordNodeGetEvent(node, &found), 0);
  EXPECT_EQ(found, e);
  EXPECT_EQ(cuGraphDestroy(inner), 0);
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(child, &inner), 0);
  EXPECT_EQ(Nodes(inner).size(), 1u);
  EXPECT_EQ(cuGraphDestroy(inner), kInvalidValue) << "it is the node's";
  EXPECT_EQ(cuGraphLaunch(Make(outer), s), 0);
  EXPECT_EQ(cuEventQuery(e), kNotReady);
  EXPECT_EQ(cuEventSynchronize(e), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 10u);
  EXPECT_EQ(cuGraphAddEventWaitNode(&node, outer, nullptr, 0, &n), kInvalidValue);
  EXPECT_EQ(cuEventDestroy_v2(e), 0);
  EXPECT_EQ(cuGraphLaunch(Make(outer), s), kInvalidValue) << "its event is gone";
}

TEST_F(Graphs, WaitForEventsOfOtherStreams) {
  for (int seed = 1; seed < 12; seed++) {
    Open(("seed=" + std::to_string(seed)).c_str());
    Load();
    CuPtr p = Words(1), q = Words(1);
    void *s = Stream(), *t = Stream(), *e = Event();
    Begin(s);
    EXPECT_EQ(cuStreamWaitEvent(s, e, 1), 0);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(q, p, 4, s), 0);
    void *x = Make(End(s));
    EXPECT_EQ(Add(p, 1, 4, t), 0);
    EXPECT_EQ(cuEventRecord(e, t), 0);
    EXPECT_EQ(cuGraphLaunch(x, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    EXPECT_EQ(Fetch(q, 1)[0], 4u);
  }
}

TEST_F(Graphs, AreCopied) {
  Open();
  Load();
  CuPtr p = Words(1);
  uint32_t n = 1, k = 5;
  void *g = nullptr, *clone = nullptr, *node, *same = nullptr, *args[3];
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  CuKernelNode kernel = AddNode(&p, &n, &k, args);
  EXPECT_EQ(cuGraphAddKernelNode_v2(&node, g, nullptr, 0, &kernel), 0);
  EXPECT_EQ(cuGraphClone(&clone, g), 0);
  EXPECT_EQ(cuGraphNodeFindInClone(&same, node, clone), 0);
  EXPECT_EQ(same, Nodes(clone)[0]);
  k = 100;
  EXPECT_EQ(cuGraphKernelNodeSetParams_v2(node, &kernel), 0);
  EXPECT_EQ(cuGraphLaunch(Make(clone), nullptr), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 5u) << "the copy is as it was";
  EXPECT_EQ(cuGraphNodeFindInClone(&same, node, g), kInvalidValue);
}

// --- parameters ---

TEST_F(Graphs, ShowAndChangeWhatNodesDo) {
  Open();
  Load();
  CuPtr p = Words(8), q = Words(8);
  uint32_t n = 8, k = 5;
  void *g = nullptr, *add, *set, *copy, *host, *args[3];
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  CuKernelNode kernel = AddNode(&p, &n, &k, args), back = {};
  EXPECT_EQ(cuGraphAddKernelNode_v2(&add, g, nullptr, 0, &kernel), 0);
  EXPECT_EQ(cuGraphKernelNodeGetParams_v2(add, &back), 0);
  EXPECT_EQ(back.function, kernel.function);
  EXPECT_EQ(back.bx, 64u);
  EXPECT_EQ(*static_cast<uint32_t *>(back.params[2]), 5u);
  k = 6;
  EXPECT_EQ(cuGraphKernelNodeSetParams_v2(add, &kernel), 0);
  CuKernelNodeV1 old = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams(add, &old), 0);
  EXPECT_EQ(*static_cast<uint32_t *>(old.params[2]), 6u);
  CuSetNode s = {q, 0, 1, 4, 8, 1}, s2 = {};
  EXPECT_EQ(cuGraphAddMemsetNode(&set, g, nullptr, 0, &s, ctx), 0);
  s.value = 2;
  EXPECT_EQ(cuGraphMemsetNodeSetParams(set, &s), 0);
  EXPECT_EQ(cuGraphMemsetNodeGetParams(set, &s2), 0);
  EXPECT_EQ(s2.value, 2u);
  EXPECT_EQ(s2.to, q);
  CuCopy3D c = {}, c2 = {};
  c.from_kind = c.to_kind = CU_DEVICE_SIDE, c.from_device = p, c.to_device = q, c.width = 16, c.height = c.depth = 1;
  void *both[2] = {add, set};
  EXPECT_EQ(cuGraphAddMemcpyNode(&copy, g, both, 2, &c, ctx), 0);
  EXPECT_EQ(cuGraphMemcpyNodeGetParams(copy, &c2), 0);
  EXPECT_EQ(c2.from_device, p);
  EXPECT_EQ(c2.width, 16u);
  c.width = 8;
  EXPECT_EQ(cuGraphMemcpyNodeSetParams(copy, &c), 0);
  CuHostNode h = {[](void *) {}, &n}, h2 = {};
  EXPECT_EQ(cuGraphAddHostNode(&host, g, nullptr, 0, &h), 0);
  EXPECT_EQ(cuGraphHostNodeGetParams(host, &h2), 0);
  EXPECT_EQ(h2.user, &n);
  h.call = nullptr;
  EXPECT_EQ(cuGraphHostNodeSetParams(host, &h), kInvalidValue);
  EXPECT_EQ(cuGraphKernelNodeGetParams_v2(set, &back), kInvalidValue) << "another kind of node";
  EXPECT_EQ(cuGraphLaunch(Make(g), nullptr), 0);
  EXPECT_EQ(Fetch(q, 8), (std::vector<uint32_t>{6, 6, 2, 2, 2, 2, 2, 2}));
}

// --- what was made may be changed ---

TEST_F(Graphs, ChangeForLaterLaunches) {
  Open();
  Load();
  CuPtr p = Words(8), q = Words(8);
  uint32_t n = 1, k = 1;
  void *g = nullptr, *add, *set, *args[3];
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  CuKernelNode kernel = AddNode(&p, &n, &k, args);
  CuSetNode s = {q, 0, 1, 4, 1, 1};
  EXPECT_EQ(cuGraphAddKernelNode_v2(&add, g, nullptr, 0, &kernel), 0);
  EXPECT_EQ(cuGraphAddMemsetNode(&set, g, nullptr, 0, &s, ctx), 0);
  void *e = Make(g);
  EXPECT_EQ(cuGraphLaunch(e, nullptr), 0);
  k = 10;
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(e, add, &kernel), 0);
  s.value = 8, s.width = 2;
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(e, set, &s, ctx), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 1u) << "what was launched before is as it was";
  EXPECT_EQ(cuGraphLaunch(e, nullptr), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 11u);
  EXPECT_EQ(Fetch(q, 2)[1], 8u);
  unsigned on = 9;
  EXPECT_EQ(cuGraphNodeSetEnabled(e, add, 0), 0);
  EXPECT_EQ(cuGraphNodeGetEnabled(e, add, &on), 0);
  EXPECT_EQ(on, 0u);
  EXPECT_EQ(cuGraphLaunch(e, nullptr), 0);
  EXPECT_EQ(Fetch(p, 1)[0], 11u);
  s.height = 2, s.pitch = 8;
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(e, set, &s, ctx), kInvalidValue) << "a change of height";
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(e, set, &kernel), kInvalidValue);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(e, add, nullptr), kInvalidValue);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(g, add, &kernel), kInvalidValue);
  void *clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, g), 0);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(e, Nodes(clone)[0], &kernel), kInvalidValue) << "of another graph";
}

TEST_F(Graphs, ChangeCopiesWithinOneDevice) {
  Open("devices=2");
  CuPtr p = Words(8, 1), q = Words(8), r = Words(8, 5);
  void *other = nullptr, *g = nullptr, *node;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
  ASSERT_EQ(cuCtxSetCurrent(other), 0);
  CuPtr far = Words(8);
  ASSERT_EQ(cuCtxSetCurrent(ctx), 0);
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  CuCopy3D c = {};
  c.from_kind = c.to_kind = CU_DEVICE_SIDE, c.from_device = p, c.to_device = q, c.width = 16, c.height = c.depth = 1;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, g, nullptr, 0, &c, ctx), 0);
  void *e = Make(g);
  c.from_device = r, c.width = 32;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(e, node, &c, ctx), 0);
  c.from_device = far;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(e, node, &c, ctx), kInvalidValue);
  EXPECT_EQ(cuGraphLaunch(e, nullptr), 0);
  EXPECT_EQ(Fetch(q, 8)[7], 5u);
}

TEST_F(Graphs, ChangeAsAWhole) {
  Open();
  Load();
  CuPtr p = Words(8), q = Words(8);
  void *s = Stream();
  enum { kUpdated = 0, kTopology = 2, kType = 3, kParameters = 5 };
  auto capture = [&](uint32_t k, CuPtr to, int extra) {
    Begin(s);
    EXPECT_EQ(Add(p, 8, k, s), 0);
    EXPECT_EQ(extra == 2 ? cuMemsetD32Async(to, 0, 8, s) : cuMemcpyDtoDAsync_v2(to, p, 32, s), 0);
    EXPECT_EQ(extra == 1 ? Add(to, 8, 1, s) : 0, 0);
    return End(s);
  };
  void *e = Make(capture(1, q, 0));
  CuUpdateResult r = {};
  void *next = capture(10, q + 0, 0);
  EXPECT_EQ(cuGraphExecUpdate_v2(e, next, &r), 0);
  EXPECT_EQ(r.result, kUpdated);
  EXPECT_EQ(cuGraphLaunch(e, s), 0);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(Fetch(q, 8)[7], 10u);
  EXPECT_EQ(cuGraphExecUpdate_v2(e, capture(1, q, 1), &r), kUpdateFailure);
  EXPECT_EQ(r.result, kTopology);
  EXPECT_EQ(r.node, nullptr);
  void *changed = capture(1, q, 2);
  EXPECT_EQ(cuGraphExecUpdate_v2(e, changed, &r), kUpdateFailure);
  EXPECT_EQ(r.result, kType);
  EXPECT_EQ(r.node, Nodes(changed)[1]);
  uint32_t *host = Pinned(8);
  Begin(s);
  EXPECT_EQ(Add(p, 8, 1, s), 0);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, p, 32, s), 0);
  void *to_host = End(s), *node = nullptr;
  int result = -1;
  EXPECT_EQ(cuGraphExecUpdate(e, to_host, &node, &result), kUpdateFailure);
  EXPECT_EQ(result, kParameters) << "another kind of memory";
  EXPECT_EQ(node, Nodes(to_host)[1]);
  EXPECT_EQ(cuGraphExecUpdate_v2(e, nullptr, &r), kInvalidValue);
  EXPECT_EQ(cuGraphExecUpdate_v2(e, next, nullptr), kInvalidValue);
  EXPECT_EQ(cuGraphLaunch(e, s), 0);
  EXPECT_EQ(cuStreamSynchronize(s), 0);
  EXPECT_EQ(Fetch(q, 8)[7], 20u) << "what was refused changed nothing";
}

TEST_F(Graphs, AreMadeInEveryWay) {
  Open();
  void *g = nullptr, *e = nullptr, *wrong = &g;
  char log[8] = "x";
  uint64_t flags = 0;
  ASSERT_EQ(cuGraphCreate(&g, 0), 0);
  EXPECT_EQ(cuGraphInstantiate(&e, g, &wrong, log, sizeof log), 0);
  EXPECT_EQ(wrong, nullptr);
  EXPECT_STREQ(log, "");
  EXPECT_EQ(cuGraphInstantiate_v2(&e, g, nullptr, nullptr, 0), 0);
  CuInstantiate p = {2, nullptr, nullptr, 9};
  EXPECT_EQ(cuGraphInstantiateWithParams(&e, g, &p), 0);
  EXPECT_EQ(p.result, 0);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&e, g, 8), 0);
  EXPECT_EQ(cuGraphExecGetFlags(e, &flags), 0);
  EXPECT_EQ(flags, 8u);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&e, g, 64), kInvalidValue);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&e, &g, 0), kInvalidValue);
  EXPECT_EQ(cuGraphLaunch(e, nullptr), 0) << "nothing is fine to launch";
  EXPECT_EQ(cuCtxSynchronize(), 0);
  EXPECT_EQ(cuGraphLaunch(g, nullptr), kInvalidValue);
}

TEST_F(Graphs, ReportAFaultWhenSomebodyWaits) {
  Open();
  Load();
  void *s = Stream();
  Begin(s);
  EXPECT_EQ(cuLaunchKernel(Function("broken"), 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr), 0);
  void *e = Make(End(s));
  EXPECT_EQ(cuGraphLaunch(e, s), 0);
  EXPECT_EQ(cuStreamSynchronize(s), kIllegalAddress);
}

TEST_F(Graphs, DoNotOutliveTheirCode) {
  Open();
  Load();
  void *s = Stream();
  CuPtr p = Words(1);
  Begin(s);
  EXPECT_EQ(Add(p, 1, 1, s), 0);
  void *e = Make(End(s));
  EXPECT_EQ(cuModuleUnload(module), 0);
  EXPECT_EQ(cuGraphLaunch(e, s), kInvalidValue);
}

TEST_F(Graphs, AreFoundByVersion) {
  fakecuda_configure("driver=12080");
  void *p = nullptr, *q = nullptr;
  EXPECT_EQ(cuGetProcAddress_v2("cuGraphInstantiate", &p, 11040, 0, nullptr), 0);
  EXPECT_EQ(p, dlsym(RTLD_DEFAULT, "cuGraphInstantiate_v2"));
  EXPECT_EQ(cuGetProcAddress_v2("cuGraphInstantiate", &q, 12000, 0, nullptr), 0);
  EXPECT_EQ(q, dlsym(RTLD_DEFAULT, "cuGraphInstantiateWithFlags"));
  EXPECT_EQ(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &q, 12030, 0, nullptr), 0);
  EXPECT_EQ(q, dlsym(RTLD_DEFAULT, "cuStreamGetCaptureInfo_v3"));
  EXPECT_EQ(cuGetProcAddress_v2("cuGraphExecUpdate", &q, 11040, 0, nullptr), 0);
  EXPECT_EQ(q, dlsym(RTLD_DEFAULT, "cuGraphExecUpdate"));
}

} // namespace
} // namespace fake
