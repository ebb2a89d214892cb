// tests/api/event_test.cc -- events order streams, are waited for, and measure.
#include "tests/api/api_fixture.h"

namespace {

const char spin[] = "kernel spin(u32 x[], i32 n) {\n"
                    "  var h = u32(tid());\n"
                    "  for (i in 0..n) h = h * 747796405u + 2891336453u;\n"
                    "  x[tid()] = h;\n"
                    "}\n"
                    "kernel move(u32 from[], u32 to[]) { to[tid()] = from[tid()] + 1u; }\n";

class Events : public Api {
protected:
  HdEvent *event(HdDevice device) {
    HdEvent *e = nullptr;
    EXPECT_EQ(hd_event_new(ctx, device, &e), HD_OK) << error();
    return e;
  }
  void launch(HdKernel *k, HdStream *s, int64_t n, std::vector<HdArg> args) {
    ASSERT_EQ(hd_launch(k, s, 1, &n, static_cast<int32_t>(args.size()), args.data()), HD_OK) << error();
  }
};

TEST_F(Events, OrderTwoStreams) {
  HdModule *m = source(spin);
  HdKernel *slow = kernel(m, "spin", cpu), *quick = kernel(m, "move", cpu);
  HdStream *a = stream(cpu, HD_STREAM_ASYNC), *b = stream(cpu, HD_STREAM_ASYNC);
  HdArray x = zeros(cpu, hd_type_scalar(HD_U32), {1000}), y = zeros(cpu, hd_type_scalar(HD_U32), {1000});
  HdEvent *ready = event(cpu);
  for (int round = 0; round < 20; round++) {
    ASSERT_EQ(hd_array_clear(a, x), HD_OK);
    launch(slow, a, 1000, {hd_arg_array(&x), hd_arg_i32(3000)});
    ASSERT_EQ(hd_event_record(ready, a), HD_OK) << error();
    ASSERT_EQ(hd_stream_wait_event(b, ready), HD_OK) << error();
    launch(quick, b, 1000, {hd_arg_array(&x), hd_arg_array(&y)});
    ASSERT_EQ(hd_stream_wait(b), HD_OK) << error();
    for (int i = 0; i < 1000; i++) ASSERT_EQ(data<uint32_t>(y)[i], data<uint32_t>(x)[i] + 1) << round << " " << i;
    ASSERT_NE(data<uint32_t>(x)[999], 0u);
  }
  hd_event_free(ready);
}

TEST_F(Events, MeasureAndAreWaitedFor) {
  HdModule *m = source(spin);
  HdKernel *slow = kernel(m, "spin", cpu);
  HdArray x = zeros(cpu, hd_type_scalar(HD_U32), {1000});
  for (HdStreamMode mode : {HD_STREAM_SYNC, HD_STREAM_ASYNC}) {
    HdStream *s = stream(cpu, mode);
    HdEvent *from = event(cpu), *to = event(cpu);
    double ms = -1;
    expect_error(HD_ERR_BUSY, hd_event_elapsed(from, to, &ms), "hd_event_elapsed", "from", "not happened");
    ASSERT_EQ(hd_event_record(from, s), HD_OK);
    launch(slow, s, 1000, {hd_arg_array(&x), hd_arg_i32(20000)});
    ASSERT_EQ(hd_event_record(to, s), HD_OK);
    ASSERT_EQ(hd_event_wait(to), HD_OK);
    ASSERT_EQ(hd_event_elapsed(from, to, &ms), HD_OK) << error();
    EXPECT_GT(ms, 0.01);
    EXPECT_LT(ms, 60000);
    hd_event_free(from);
    hd_event_free(to);
  }
}

TEST_F(Events, NeverRecordedHasHappened) {
  HdEvent *e = event(cpu);
  EXPECT_EQ(hd_event_wait(e), HD_OK);
  EXPECT_EQ(hd_stream_wait_event(stream(cpu, HD_STREAM_ASYNC), e), HD_OK);
  EXPECT_EQ(hd_stream_wait_event(stream(interp), e), HD_OK);
  hd_event_free(e);
  hd_event_free(nullptr);
}

TEST_F(Events, CanBeFreedWhileAStreamNeedsThem) {
  HdModule *m = source(spin);
  HdKernel *slow = kernel(m, "spin", cpu);
  HdArray x = zeros(cpu, hd_type_scalar(HD_U32), {1000});
  HdStream *a = stream(cpu, HD_STREAM_ASYNC), *b = stream(cpu, HD_STREAM_ASYNC);
  for (int round = 0; round < 50; round++) {
    HdEvent *e = event(cpu);
    launch(slow, a, 1000, {hd_arg_array(&x), hd_arg_i32(500)});
    ASSERT_EQ(hd_event_record(e, a), HD_OK);
    ASSERT_EQ(hd_stream_wait_event(b, e), HD_OK);
    hd_event_free(e);
  }
}

TEST_F(Events, RefuseWhatDoesNotBelongTogether) {
  HdEvent *e = event(interp), *f = event(cpu);
  double ms;
  expect_error(HD_ERR_DEVICE, hd_event_record(e, stream(cpu)), "hd_event_record", "event", "'interp'");
  expect_error(HD_ERR_ARG, hd_event_record(nullptr, stream(cpu)), "hd_event_record", "event", "NULL");
  expect_error(HD_ERR_ARG, hd_event_new(ctx, cpu, nullptr), "hd_event_new", "out", "NULL");
  expect_error(HD_ERR_DEVICE, hd_event_elapsed(e, f, &ms), "hd_event_elapsed", "to", "'cpu'");
  expect_error(HD_ERR_ARG, hd_event_elapsed(e, nullptr, &ms), "hd_event_elapsed", "to", "NULL");
  EXPECT_EQ(hd_event_wait(nullptr), HD_ERR_ARG);
  EXPECT_EQ(hd_event_record(e, nullptr), HD_ERR_ARG);
  hd_event_free(e);
  hd_event_free(f);
}

} // namespace
