// tests/api/graph_test.cc -- graphs keep work, do it again, and take other arguments.
#include "tests/api/api_fixture.h"

namespace {

const char steps[] = "kernel add(f32 x[], f32 a) { x[tid()] += a; }\n"
                     "kernel scale(f32 x[], f32 y[], f32 a) { y[tid()] = x[tid()] * a; }\n"
                     "kernel only_positive(f32 x[]) { assert(x[tid()] > 0); }\n";

class Graphs : public Api {
protected:
  void SetUp() override {
    Api::SetUp();
    m = source(steps);
    x = zeros(cpu, hd_type_scalar(HD_F32), {100});
    y = zeros(cpu, hd_type_scalar(HD_F32), {100});
  }
  void add(HdStream *s, float a) {
    HdArg args[] = {hd_arg_array(&x), hd_arg_f32(a)};
    int64_t n = 100;
    ASSERT_EQ(hd_launch(kernel(m, "add", cpu), s, 1, &n, 2, args), HD_OK) << error();
  }
  void scale(HdStream *s, float a) {
    HdArg args[] = {hd_arg_array(&x), hd_arg_array(&y), hd_arg_f32(a)};
    int64_t n = 100;
    ASSERT_EQ(hd_launch(kernel(m, "scale", cpu), s, 1, &n, 3, args), HD_OK) << error();
  }
  HdModule *m = nullptr;
  HdArray x, y;
};

TEST_F(Graphs, DoKeptWorkAgainAndAgain) {
  for (HdStreamMode mode : {HD_STREAM_SYNC, HD_STREAM_ASYNC}) {
    HdStream *s = stream(cpu, mode);
    HdGraph *g = nullptr;
    ASSERT_EQ(hd_graph_begin(s), HD_OK);
    ASSERT_EQ(hd_array_clear(s, y), HD_OK);
    add(s, 1);
    scale(s, 10);
    ASSERT_EQ(hd_array_copy(s, y, x), HD_OK);
    ASSERT_EQ(hd_graph_end(s, &g), HD_OK) << error();
    EXPECT_EQ(hd_graph_count(g), 4);
    EXPECT_EQ(data<float>(x)[7], 0) << "nothing was done yet";
    for (int k = 0; k < 3; k++) ASSERT_EQ(hd_graph_launch(g, s), HD_OK) << error();
    ASSERT_EQ(hd_stream_wait(s), HD_OK);
    for (int i = 0; i < 100; i++) ASSERT_EQ(data<float>(x)[i], 1110.0f);
    hd_graph_free(g);
    ASSERT_EQ(hd_array_clear(s, x), HD_OK);
    ASSERT_EQ(hd_stream_wait(s), HD_OK);
  }
}

TEST_F(Graphs, FollowOneAnotherOnWhateverStreams) {
  HdStream *streams[] = {stream(cpu, HD_STREAM_ASYNC), stream(cpu, HD_STREAM_ASYNC), stream(cpu)};
  HdArray many = zeros(cpu, hd_type_scalar(HD_F32), {100000});
  HdArg args[] = {hd_arg_array(&many), hd_arg_f32(1)};
  HdGraph *g = nullptr;
  ASSERT_EQ(hd_graph_begin(streams[0]), HD_OK);
  for (int i = 0; i < 3; i++)
    ASSERT_EQ(hd_launch(kernel(m, "add", cpu), streams[0], 1, many.length, 2, args), HD_OK) << error();
  ASSERT_EQ(hd_graph_end(streams[0], &g), HD_OK);
  for (int k = 0; k < 99; k++) ASSERT_EQ(hd_graph_launch(g, streams[k % 3]), HD_OK) << error();
  for (HdStream *s : streams) ASSERT_EQ(hd_stream_wait(s), HD_OK);
  for (int i = 0; i < 100000; i++) ASSERT_EQ(data<float>(many)[i], 3 * 99.0f) << i;
  hd_graph_free(g);
}

TEST_F(Graphs, TakeOtherArguments) {
  HdStream *s = stream(cpu, HD_STREAM_ASYNC);
  HdGraph *g = nullptr;
  ASSERT_EQ(hd_graph_begin(s), HD_OK);
  add(s, 1);
  ASSERT_EQ(hd_graph_end(s, &g), HD_OK);
  ASSERT_EQ(hd_graph_launch(g, s), HD_OK);
  HdArg other[] = {hd_arg_array(&y), hd_arg_f32(5)};
  ASSERT_EQ(hd_graph_set_args(g, 0, 2, other), HD_OK) << error();
  ASSERT_EQ(hd_graph_launch(g, s), HD_OK);
  ASSERT_EQ(hd_stream_wait(s), HD_OK);
  EXPECT_EQ(data<float>(x)[3], 1);
  EXPECT_EQ(data<float>(y)[3], 5);

  // An array with gaps wants another variant of the code.
  HdArray wide = zeros(cpu, hd_type_scalar(HD_F32), {200}), every_second;
  ASSERT_EQ(hd_array_slice(ctx, wide, 0, 0, 200, 2, &every_second), HD_OK);
  HdArg gaps[] = {hd_arg_array(&every_second), hd_arg_f32(2)};
  ASSERT_EQ(hd_graph_set_args(g, 0, 2, gaps), HD_OK) << error();
  ASSERT_EQ(hd_graph_launch(g, s), HD_OK);
  ASSERT_EQ(hd_stream_wait(s), HD_OK);
  EXPECT_EQ(data<float>(wide)[198], 2);
  EXPECT_EQ(data<float>(wide)[199], 0);

  HdArg wrong[] = {hd_arg_array(&y), hd_arg_i32(5)};
  expect_error(HD_ERR_TYPE, hd_graph_set_args(g, 0, 2, wrong), "hd_graph_set_args", "args[1] 'a'", "f32");
  expect_error(HD_ERR_COUNT, hd_graph_set_args(g, 0, 1, wrong), "hd_graph_set_args", "nargs", "got 1");
  expect_error(HD_ERR_ARG, hd_graph_set_args(g, 1, 2, other), "hd_graph_set_args", "i", "got 1");
  hd_graph_free(g);
}

TEST_F(Graphs, ReportTheFaultsOfTheirKernels) {
  for (HdStreamMode mode : {HD_STREAM_SYNC, HD_STREAM_ASYNC}) {
    HdStream *s = stream(cpu, mode);
    HdGraph *g = nullptr;
    HdArg args[] = {hd_arg_array(&x)};
    int64_t n = 100;
    ASSERT_EQ(hd_graph_begin(s), HD_OK);
    ASSERT_EQ(hd_launch(kernel(m, "only_positive", cpu), s, 1, &n, 1, args), HD_OK);
    ASSERT_EQ(hd_graph_end(s, &g), HD_OK);
    HdStatus status = hd_graph_launch(g, s);
    if (mode == HD_STREAM_ASYNC) {
      EXPECT_EQ(status, HD_OK);
      status = hd_stream_wait(s);
    }
    EXPECT_EQ(status, HD_ERR_FAULT);
    EXPECT_NE(error().find("only_positive"), std::string::npos) << error();
    hd_graph_free(g);
  }
}

TEST_F(Graphs, RefuseWhatHasNoPlaceInThem) {
  HdStream *s = stream(cpu), *t = stream(interp);
  HdGraph *g = nullptr, *h = nullptr;
  HdEvent *e = nullptr;
  ASSERT_EQ(hd_event_new(ctx, cpu, &e), HD_OK);
  expect_error(HD_ERR_ARG, hd_graph_end(s, &g), "hd_graph_end", "stream", "hd_graph_begin");
  ASSERT_EQ(hd_graph_begin(s), HD_OK);
  expect_error(HD_ERR_BUSY, hd_graph_begin(s), "hd_graph_begin", "stream", "keeping");
  expect_error(HD_ERR_BUSY, hd_stream_wait(s), "hd_stream_wait", "stream", "keeping");
  expect_error(HD_ERR_BUSY, hd_event_record(e, s), "hd_event_record", "stream", "keeping");
  expect_error(HD_ERR_BUSY, hd_stream_wait_event(s, e), "hd_stream_wait_event", "stream", "keeping");
  ASSERT_EQ(hd_graph_end(s, &g), HD_OK);
  EXPECT_EQ(hd_graph_count(g), 0);
  EXPECT_EQ(hd_graph_launch(g, s), HD_OK) << "an empty one is fine";
  expect_error(HD_ERR_DEVICE, hd_graph_launch(g, t), "hd_graph_launch", "stream", "'interp'");
  ASSERT_EQ(hd_graph_begin(s), HD_OK);
  expect_error(HD_ERR_UNSUPPORTED, hd_graph_launch(g, s), "hd_graph_launch", "stream", "graph");
  ASSERT_EQ(hd_graph_end(s, &h), HD_OK);
  hd_graph_free(g);
  hd_graph_free(h);
  hd_graph_free(nullptr);
  hd_event_free(e);
  ASSERT_EQ(hd_graph_begin(s), HD_OK); // a stream that is freed meanwhile loses nothing
  add(stream(cpu), 1);
}

} // namespace
