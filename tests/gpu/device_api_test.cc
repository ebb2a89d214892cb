// tests/gpu/device_api_test.cc -- the public functions on a simulated GPU: arrays, copies, streams, events, graphs, simulations,
// and what is left when the device is lost.
#include <sys/wait.h>
#include <unistd.h>

#include "device_fixture.h"

namespace {

TEST_F(Gpu, CopiesViewsOfAnyShape) {
  Open("sm=90");
  HdArray from = Numbers({6, 7, 8}), there = New(gpu, {6, 7, 8});
  ASSERT_EQ(hd_array_copy(stream, from, there), HD_OK) << Why();
  // Every second of one axis, one axis backwards, the axes in another order: to the host, from the host, on the device.
  for (int which = 0; which < 6; which++) {
    HdArray a, b, back = New(gpu, {6, 7, 8}), bb;
    auto view = [&](HdArray x, HdArray *out) {
      const int32_t order[] = {2, 0, 1};
      switch (which) {
      case 0: *out = x; return HD_OK;
      case 1: return hd_array_slice(ctx, x, 0, 0, 6, 2, out);
      case 2: return hd_array_slice(ctx, x, 2, 1, 7, 2, out);
      case 3: return hd_array_slice(ctx, x, 1, 6, -1, -1, out);
      case 4: return hd_array_transpose(ctx, x, order, out);
      default: return hd_array_slice(ctx, x, 2, 3, 4, 1, out);
      }
    };
    ASSERT_EQ(view(from, &a), HD_OK);
    ASSERT_EQ(view(there, &b), HD_OK);
    ASSERT_EQ(view(back, &bb), HD_OK);
    HdArray want = New(cpu, std::vector<int64_t>(a.length, a.length + 3));
    HdStream *host;
    ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &host), HD_OK);
    ASSERT_EQ(hd_array_copy(host, a, want), HD_OK);
    hd_stream_free(host);
    std::vector<int32_t> expected(Of(want), Of(want) + hd_array_count(want));
    EXPECT_EQ(Fetch(b), expected) << which;
    ASSERT_EQ(hd_array_copy(stream, a, bb), HD_OK) << Why(); // strided from the host
    EXPECT_EQ(Fetch(bb), expected) << which;
    ASSERT_EQ(hd_array_clear(stream, bb), HD_OK) << Why();
    EXPECT_EQ(Fetch(bb), std::vector<int32_t>(expected.size(), 0)) << which;
    ASSERT_EQ(hd_array_copy(stream, b, bb), HD_OK) << Why(); // on the device
    EXPECT_EQ(Fetch(bb), expected) << which;
  }
}

TEST_F(Gpu, LeavesWhatIsBesideAViewAlone) {
  Open("sm=90");
  HdArray a = New(gpu, {4, 5}), inner, one = Numbers({2, 2});
  HdArray rows;
  ASSERT_EQ(hd_array_slice(ctx, a, 0, 1, 3, 1, &rows), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, rows, 1, 1, 4, 2, &inner), HD_OK);
  ASSERT_EQ(hd_array_copy(stream, one, inner), HD_OK) << Why();
  EXPECT_EQ(Fetch(a), (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0}));
}

// Four numbers at once where they lie on 16 bytes, else one by one: the device refuses what is not aligned.
TEST_F(Gpu, TakesElementsWhereverTheyLie) {
  Open("sm=75");
  HdArray numbers = Numbers({42}), from = New(gpu, {42}), to = New(gpu, {42});
  for (int i = 0; i < 42; i++) {
    float x = static_cast<float>(i);
    memcpy(Of(numbers) + i, &x, sizeof x);
  }
  ASSERT_EQ(hd_array_copy(stream, numbers, from), HD_OK);
  for (int skip : {0, 1, 2}) {
    HdArray a, b;
    const int64_t n = 10;
    ASSERT_EQ(hd_array_borrow(ctx, gpu, hd_type_vec(HD_F32, 4), 1, &n, nullptr, Of(from) + skip, &a), HD_OK) << Why();
    ASSERT_EQ(hd_array_borrow(ctx, gpu, hd_type_vec(HD_F32, 4), 1, &n, nullptr, Of(to) + 2 - skip, &b), HD_OK) << Why();
    ASSERT_EQ(Launch("twice", {n}, {hd_arg_array(&a), hd_arg_array(&b)}), HD_OK) << Why();
    std::vector<int32_t> got = Fetch(to);
    for (int i = 0; i < 40; i++) {
      float x;
      memcpy(&x, &got[static_cast<size_t>(i + 2 - skip)], sizeof x);
      ASSERT_EQ(x, static_cast<float>(2 * (i + skip))) << "number " << i << " behind " << skip;
    }
  }
}

TEST_F(Gpu, RunsKernelsOfOneAndTwoAxes) {
  Open("sm=75,schedule=random");
  HdArray x = New(gpu, {1000}), a = New(gpu, {33, 20}), b = New(gpu, {20, 33}), n = Numbers({33, 20}),
          f = New(gpu, {5});
  ASSERT_EQ(Launch("add", {1000}, {hd_arg_array(&x), hd_arg_i32(7)}), HD_OK) << Why();
  EXPECT_EQ(Fetch(x), std::vector<int32_t>(1000, 7));
  ASSERT_EQ(hd_array_copy(stream, n, a), HD_OK);
  ASSERT_EQ(Launch("transpose", {33, 20}, {hd_arg_array(&a), hd_arg_array(&b)}), HD_OK) << Why();
  std::vector<int32_t> t = Fetch(b);
  for (int i = 0; i < 20; i++)
    for (int k = 0; k < 33; k++) ASSERT_EQ(t[static_cast<size_t>(i * 33 + k)], k * 20 + i);
  ASSERT_EQ(Launch("fill", {9}, {hd_arg_array(&f)}), HD_OK) << Why();
  EXPECT_EQ(Fetch(f)[3], 9);
  EXPECT_EQ(Launch("add", {0}, {hd_arg_array(&x), hd_arg_i32(7)}), HD_OK) << "no thread is fine";
}

TEST_F(Gpu, NamesTheKernelAndThePlaceOfAFault) {
  Open("sm=90");
  HdArray x = Numbers({8}), there = New(gpu, {8});
  ASSERT_EQ(hd_array_copy(stream, x, there), HD_OK);
  ASSERT_EQ(Launch("add", {8}, {hd_arg_array(&there), hd_arg_i32(0)}), HD_OK);
  ASSERT_EQ(Launch("positive", {8}, {hd_arg_array(&there)}), HD_OK);
  EXPECT_EQ(hd_stream_wait(stream), HD_ERR_FAULT);
  EXPECT_NE(Why().find("kernel 'positive', thread (0): not positive (t.hd:3:"), std::string::npos) << Why();
  EXPECT_EQ(hd_stream_wait(stream), HD_OK) << "it is reported once, and the device is well";
}

TEST_F(Gpu, OrdersStreamsByEvents) {
  for (const char *config : {"sm=90,seed=1", "sm=90,seed=2", "sm=90,seed=3"}) {
    Open(config);
    HdStream *other;
    HdEvent *ready;
    HdArray x = New(gpu, {64}), y = New(gpu, {64});
    double ms;
    ASSERT_EQ(hd_stream_new(ctx, gpu, HD_STREAM_ASYNC, &other), HD_OK);
    ASSERT_EQ(hd_event_new(ctx, gpu, &ready), HD_OK) << Why();
    EXPECT_EQ(hd_event_elapsed(ready, ready, &ms), HD_ERR_BUSY);
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(5)}), HD_OK);
    ASSERT_EQ(hd_event_record(ready, stream), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait_event(other, ready), HD_OK) << Why();
    ASSERT_EQ(hd_array_copy(other, x, y), HD_OK);
    ASSERT_EQ(hd_stream_wait(other), HD_OK) << Why();
    EXPECT_EQ(Fetch(y), std::vector<int32_t>(64, 5));
    EXPECT_EQ(hd_event_elapsed(ready, ready, &ms), HD_OK) << Why();
    hd_event_free(ready);
    hd_stream_free(other);
    Close();
  }
}

TEST_F(Gpu, DoesGraphs) {
  Open("sm=90");
  HdArray x = New(gpu, {64}), y = New(gpu, {64});
  HdGraph *g = nullptr;
  ASSERT_EQ(hd_graph_begin(stream), HD_OK);
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(2)}), HD_OK) << Why();
  ASSERT_EQ(hd_array_copy(stream, x, y), HD_OK);
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&y), hd_arg_i32(100)}), HD_OK);
  ASSERT_EQ(hd_graph_end(stream, &g), HD_OK) << Why();
  for (int k = 0; k < 3; k++) ASSERT_EQ(hd_graph_launch(g, stream), HD_OK) << Why();
  EXPECT_EQ(Fetch(y), std::vector<int32_t>(64, 106));
  HdArg other[] = {hd_arg_array(&x), hd_arg_i32(-6)};
  ASSERT_EQ(hd_graph_set_args(g, 0, 2, other), HD_OK) << Why();
  ASSERT_EQ(hd_graph_launch(g, stream), HD_OK);
  EXPECT_EQ(Fetch(y), std::vector<int32_t>(64, 100));
  hd_graph_free(g);
}

TEST_F(Gpu, GivesBackWhatItKeepsBeforeItIsFull) {
  Open("sm=90,mem=1M");
  int64_t n = 150 << 10; // 600 KiB
  HdArray a, b;
  ASSERT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_I32), 1, &n, &a), HD_OK) << Why();
  EXPECT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_I32), 1, &n, &b), HD_ERR_NOMEM);
  EXPECT_NE(Why().find("asked for 600 KiB"), std::string::npos) << Why();
  hd_array_free(ctx, &a);
  n = 140 << 10; // of another class: what was kept has to go
  ASSERT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_I32), 1, &n, &b), HD_OK) << Why();
  hd_array_free(ctx, &b);
  int64_t huge = INT64_C(1) << 60;
  EXPECT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_U8), 1, &huge, &a), HD_ERR_NOMEM);
}

TEST_F(Gpu, IsFoundByItsUuidAndItsAddress) {
  Open("devices=2,sm=90");
  HdDevice second, found;
  HdDeviceInfo info;
  ASSERT_EQ(hd_device_find(ctx, "cuda:1", &second), HD_OK);
  ASSERT_EQ(hd_device_info(ctx, second, &info), HD_OK);
  std::string lower = info.uuid;
  for (char &c : lower) c = char(tolower(c));
  for (const std::string &name : {std::string(info.uuid), lower, std::string(info.pci)}) {
    ASSERT_EQ(hd_device_find(ctx, name.c_str(), &found), HD_OK) << Why();
    EXPECT_EQ(found.index, second.index) << name;
    EXPECT_EQ(found.kind, second.kind) << name;
  }
  EXPECT_EQ(hd_device_find(ctx, "GPU-0", &found), HD_ERR_NOT_FOUND) << "a part of one";
}

TEST_F(Gpu, WithoutUuidIsNotFoundByNoName) {
  Open("cuDeviceGetUuid_v2@1=801;cuDeviceGetPCIBusId@1=801");
  HdDeviceInfo info;
  HdDevice found;
  ASSERT_EQ(hd_device_info(ctx, gpu, &info), HD_OK);
  ASSERT_STREQ(info.uuid, "");
  EXPECT_EQ(hd_device_find(ctx, "", &found), HD_ERR_NOT_FOUND);
}

TEST_F(Gpu, CopiesBetweenTwoDevices) {
  for (const char *config : {"devices=2,sm=90,peer=all", "devices=2,sm=90,peer=none"}) {
    Open(config);
    HdDevice second;
    ASSERT_EQ(hd_device_find(ctx, "cuda:1", &second), HD_OK);
    HdArray x = Numbers({5, 4}), a = New(gpu, {5, 4}), b = New(second, {5, 4}), column, other;
    ASSERT_EQ(hd_array_copy(stream, x, a), HD_OK);
    ASSERT_EQ(hd_array_copy(stream, a, b), HD_OK) << Why();
    ASSERT_EQ(hd_array_slice(ctx, a, 1, 1, 2, 1, &column), HD_OK);
    ASSERT_EQ(hd_array_slice(ctx, b, 1, 0, 1, 1, &other), HD_OK);
    ASSERT_EQ(hd_array_copy(stream, column, other), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    HdStream *there;
    HdArray host = New(cpu, {5, 4});
    ASSERT_EQ(hd_stream_new(ctx, second, HD_STREAM_SYNC, &there), HD_OK);
    ASSERT_EQ(hd_array_copy(there, b, host), HD_OK) << Why();
    for (int i = 0; i < 5; i++)
      for (int k = 0; k < 4; k++) EXPECT_EQ(Of(host)[4 * i + k], k == 0 ? 4 * i + 1 : 4 * i + k);
    HdStream *on_cpu;
    ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &on_cpu), HD_OK);
    EXPECT_EQ(hd_array_copy(on_cpu, a, host), HD_ERR_DEVICE) << "a stream of the host does not reach there";
    EXPECT_EQ(hd_array_copy(there, a, host), HD_ERR_DEVICE) << "nor one of another GPU";
    EXPECT_EQ(Launch("add", {20}, {hd_arg_array(&b), hd_arg_i32(1)}), HD_ERR_SHAPE);
    HdArray flat;
    const int64_t twenty = 20;
    ASSERT_EQ(hd_array_reshape(ctx, b, 1, &twenty, &flat), HD_OK);
    EXPECT_EQ(Launch("add", {20}, {hd_arg_array(&flat), hd_arg_i32(1)}), HD_ERR_DEVICE);
    EXPECT_NE(Why().find("'cuda:1'"), std::string::npos) << Why();
    hd_stream_free(there);
    hd_stream_free(on_cpu);
    Close();
  }
}

TEST_F(Gpu, SaysTheFirstFailureAgainOnceItIsLost) {
  Open("sm=90,cuLaunchKernel@2=700!");
  HdArray x = New(gpu, {64});
  ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(5)}), HD_OK);
  ASSERT_EQ(Launch("fill", {64}, {hd_arg_array(&x)}), HD_OK);
  EXPECT_EQ(hd_stream_wait(stream), HD_ERR_CUDA);
  EXPECT_NE(Why().find("'fill', 'add'"), std::string::npos) << Why();
  std::string first = hd_context_error(ctx)->detail;
  EXPECT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(5)}), HD_ERR_CUDA);
  EXPECT_EQ(first, hd_context_error(ctx)->detail);
  HdArray y;
  int64_t n = 4;
  EXPECT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_I32), 1, &n, &y), HD_ERR_CUDA);
  EXPECT_EQ(first, hd_context_error(ctx)->detail);
  // The test's own check that nothing is left does not hold for a device that was lost: its memory went with it.
  live_ = [](const char *) -> uint64_t { return 0; };
}

TEST_F(Gpu, CannotBeUsedAfterAFork) {
  Open("sm=90");
  HdArray x = New(gpu, {64});
  HdKernel *add = Kernel("add");
  HdArg args[] = {hd_arg_array(&x), hd_arg_i32(5)};
  int64_t n = 64;
  pid_t child = fork();
  if (child == 0) {
    bool good =
        hd_launch(add, stream, 1, &n, 2, args) == HD_ERR_CUDA && Why().find("before it forked") != std::string::npos;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Gpu, SimulatesParticlesAsTheCpuDoes) {
  Open("sm=90,adversary=1");
  HdStream *host;
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &host), HD_OK);
  std::vector<float> x;
  for (int i = 0; i < 150; i++) {
    x.push_back(-0.2f + 0.041f * static_cast<float>(i % 6) + 0.003f * static_cast<float>(i % 7));
    x.push_back(0.03f + 0.041f * static_cast<float>(i / 36));
    x.push_back(-0.2f + 0.0405f * static_cast<float>(i / 6 % 6));
  }
  std::vector<uint8_t> bits[2];
  double energy[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    HdStream *s = k ? stream : host;
    HdSimParticles *p;
    ASSERT_EQ(hd_sim_particles_new(ctx, s, nullptr, 150, x.data(), &p), HD_OK) << Why();
    ASSERT_EQ(hd_sim_particles_step(p, hd_sim_particles_max_dt(p), 20), HD_OK) << Why();
    ASSERT_EQ(hd_sim_particles_energy(p, &energy[k]), HD_OK) << Why();
    HdArray there = hd_sim_particles_x(p), here;
    ASSERT_EQ(hd_array_new(ctx, cpu, there.type, 1, there.length, &here), HD_OK);
    ASSERT_EQ(hd_array_copy(s, there, here), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait(s), HD_OK);
    const uint8_t *b = static_cast<const uint8_t *>(here.data);
    bits[k].assign(b, b + 150 * 12);
    hd_array_free(ctx, &here);
    hd_sim_particles_free(p);
  }
  EXPECT_EQ(bits[0], bits[1]);
  EXPECT_EQ(energy[0], energy[1]);
  EXPECT_GT(energy[0], 0);
  hd_stream_free(host);
}

TEST_F(Gpu, SimulatesClothAsTheCpuDoes) {
  Open("sm=80");
  HdStream *host;
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &host), HD_OK);
  HdSimClothOptions o = HD_SIM_CLOTH_OPTIONS_INIT;
  o.rows = o.cols = 9;
  o.substeps = 4;
  float stretch[2];
  for (int k = 0; k < 2; k++) {
    HdSimCloth *c;
    ASSERT_EQ(hd_sim_cloth_new(ctx, k ? stream : host, &o, &c), HD_OK) << Why();
    ASSERT_EQ(hd_sim_cloth_pin(c, 0, 0, true), HD_OK) << Why();
    for (int i = 0; i < 3; i++) ASSERT_EQ(hd_sim_cloth_step(c, 0.02f), HD_OK) << Why();
    ASSERT_EQ(hd_sim_cloth_max_stretch(c, &stretch[k]), HD_OK) << Why();
    hd_sim_cloth_free(c);
  }
  EXPECT_EQ(stretch[0], stretch[1]);
  EXPECT_GT(stretch[0], 0);
  hd_stream_free(host);
}

} // namespace
