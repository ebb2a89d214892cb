// tests/api/array_test.cc -- arrays, views and copies, against element by element.
#include "api_fixture.h"

namespace {

class ArrayApi : public Api {
protected:
  HdType f32 = hd_type_scalar(HD_F32);
  // An array whose elements are their own numbers.
  HdArray numbered(std::vector<int64_t> length) {
    HdArray a = zeros(cpu, f32, length);
    for (int64_t i = 0; i < hd_array_count(a); i++) data<float>(a)[i] = static_cast<float>(i);
    return a;
  }
  static float at(const HdArray &a, std::vector<int64_t> index) {
    const float *p = data<float>(a);
    for (size_t k = 0; k < index.size(); k++) p += index[k] * a.stride[k];
    return *p;
  }
};

TEST_F(ArrayApi, AreMadeZeroedAndDense) {
  for (HdDevice d : {cpu, interp}) {
    HdArray a = zeros(d, hd_type_vec(HD_F32, 3), {4, 5});
    EXPECT_EQ(a.ndim, 2);
    EXPECT_EQ(a.stride[0], 5);
    EXPECT_EQ(a.stride[1], 1);
    EXPECT_EQ(a.device.kind, d.kind);
    EXPECT_NE(a.owner, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data) % 64, 0u);
    EXPECT_EQ(hd_array_count(a), 20);
    EXPECT_TRUE(hd_array_is_dense(a));
    for (int i = 0; i < 60; i++) EXPECT_EQ(data<float>(a)[i], 0);
  }
}

TEST_F(ArrayApi, LiveInTheOrderOfAStream) {
  const char text[] = "kernel spin(f32 x[], i32 n) { let i = tid(); for (var k = 0; k < n; k += 1) { x[i] += 1.0; } }";
  HdKernel *k = kernel(source(text), "spin", cpu);
  HdArray sum = zeros(cpu, f32, {4});
  for (HdStreamMode mode : {HD_STREAM_SYNC, HD_STREAM_ASYNC}) {
    HdStream *s = stream(cpu, mode);
    std::vector<HdArray> made(20);
    const int64_t n = 4;
    for (HdArray &a : made) {
      ASSERT_EQ(hd_array_new_on(s, f32, 1, &n, &a), HD_OK) << error();
      EXPECT_EQ(a.device.kind, HD_DEVICE_CPU);
      ASSERT_EQ(hd_array_clear(s, a), HD_OK);
      HdArg args[] = {hd_arg_array(&a), hd_arg_i32(100000)};
      ASSERT_EQ(hd_launch(k, s, 1, &n, 2, args), HD_OK) << error();
      if (&a == &made.back()) { ASSERT_EQ(hd_array_copy(s, a, sum), HD_OK); }
      ASSERT_EQ(hd_array_free_on(s, &a), HD_OK) << error();
      EXPECT_EQ(a.owner, nullptr);
    }
    ASSERT_EQ(hd_stream_wait(s), HD_OK) << error();
    for (int i = 0; i < 4; i++) EXPECT_EQ(data<float>(sum)[i], 100000) << "nobody wrote to it meanwhile";
    HdDeviceMemory m;
    ASSERT_EQ(hd_device_memory(ctx, cpu, &m), HD_OK);
    EXPECT_EQ(m.used, 64u) << "what was waited for is back";
    EXPECT_GE(m.kept, 64u);
    ASSERT_EQ(hd_device_trim(ctx, cpu, 0), HD_OK);
    ASSERT_EQ(hd_device_memory(ctx, cpu, &m), HD_OK);
    EXPECT_EQ(m.kept, 0u);
    EXPECT_EQ(m.total + m.free, 0u);
  }
  HdArray a, other = zeros(interp, f32, {4});
  int64_t bad = -1;
  HdStream *s = streams[0];
  expect_error(HD_ERR_SHAPE, hd_array_new_on(s, f32, 1, &bad, &a), "hd_array_new_on", "length[0]", "-1");
  expect_error(HD_ERR_DEVICE, hd_array_free_on(s, &other), "hd_array_free_on", "array",
               "it is on device 'interp', the stream was made for 'cpu'");
  EXPECT_NE(other.owner, nullptr) << "it is still the caller's";
  ASSERT_EQ(hd_graph_begin(s), HD_OK);
  expect_error(HD_ERR_BUSY, hd_array_new_on(s, f32, 1, other.length, &a), "hd_array_new_on", "stream", "keeping");
}

TEST_F(ArrayApi, MayBeEmpty) {
  HdArray a = zeros(cpu, f32, {3, 0, 2});
  EXPECT_EQ(hd_array_count(a), 0);
  EXPECT_TRUE(hd_array_is_dense(a));
  HdArray v;
  EXPECT_EQ(hd_array_slice(ctx, a, 0, 1, 3, 1, &v), HD_OK);
  EXPECT_EQ(hd_array_count(v), 0);
  int64_t flat = 0;
  EXPECT_EQ(hd_array_reshape(ctx, a, 1, &flat, &v), HD_OK);
  HdStream *s = stream(cpu);
  EXPECT_EQ(hd_array_clear(s, a), HD_OK);
  EXPECT_EQ(hd_array_copy(s, a, a), HD_OK);
}

TEST_F(ArrayApi, AreRefusedWithTheReason) {
  HdArray a;
  int64_t n[5] = {3, -1, 1, 1, 1}, big[3] = {1LL << 40, 1LL << 20, 1LL << 10}, ok = 4;
  const char *call = "hd_array_new";
  expect_error(HD_ERR_SHAPE, hd_array_new(ctx, cpu, f32, 2, n, &a), call, "length[1]", "length -1");
  expect_error(HD_ERR_SHAPE, hd_array_new(ctx, cpu, f32, 3, big, &a), call, "length[2]", "2^63");
  expect_error(HD_ERR_SHAPE, hd_array_new(ctx, cpu, f32, 0, n, &a), call, "ndim", "got 0");
  expect_error(HD_ERR_SHAPE, hd_array_new(ctx, cpu, f32, 5, n, &a), call, "ndim", "got 5");
  expect_error(HD_ERR_ARG, hd_array_new(ctx, cpu, f32, 1, nullptr, &a), call, "length", "NULL");
  expect_error(HD_ERR_ARG, hd_array_new(ctx, cpu, f32, 1, &ok, nullptr), call, "out", "NULL");
  HdType bad = f32;
  bad.size = 5;
  expect_error(HD_ERR_TYPE, hd_array_new(ctx, cpu, bad, 1, &ok, &a), call, "type", "no element type");
  HdDevice none = {static_cast<HdDeviceKind>(0), 0};
  expect_error(HD_ERR_DEVICE, hd_array_new(ctx, none, f32, 1, &ok, &a), call, "device", "no device");
  int64_t huge = 1LL << 50;
  expect_error(HD_ERR_NOMEM, hd_array_new(ctx, cpu, f32, 1, &huge, &a), call, "", "4503599627370496 bytes");
  EXPECT_EQ(hd_array_new(nullptr, cpu, f32, 1, &ok, &a), HD_ERR_ARG);
}

TEST_F(ArrayApi, RefuseStridesThatReachTooFar) {
  float here[4] = {};
  HdArray a;
  int64_t most = INT64_MAX, least = INT64_MIN;
  const char *call = "hd_array_borrow";
  for (int64_t stride : {most, least, most / 4, -most / 4, most / 8}) {
    int64_t length[2] = {3, 2}, strides[2] = {1, stride};
    if (stride == most / 8) length[1] = 9;
    expect_error(HD_ERR_SHAPE, hd_array_borrow(ctx, cpu, f32, 2, length, strides, here, &a), call, "stride", "axis 1");
  }
  int64_t together[2] = {2, 2}, each_fits[2] = {1LL << 60, 1LL << 60};
  expect_error(HD_ERR_SHAPE, hd_array_borrow(ctx, cpu, f32, 2, together, each_fits, here, &a), call, "stride",
               "axis 1");
  int64_t one[2] = {1, 4}, empty[2] = {0, 4}, wild[2] = {most, 1};
  EXPECT_EQ(hd_array_borrow(ctx, cpu, f32, 2, one, wild, here, &a), HD_OK) << "of one element the stride means nothing";
  EXPECT_EQ(hd_array_borrow(ctx, cpu, f32, 2, empty, wild, here, &a), HD_OK);
  // A description that was written by hand is checked like one of ours.
  int64_t four = 4;
  ASSERT_EQ(hd_array_borrow(ctx, cpu, f32, 1, &four, nullptr, here, &a), HD_OK);
  HdArray bad = a, out;
  bad.stride[0] = least;
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, bad, 0, 1, 3, 1, &out), "hd_array_slice", "a", "2^63");
  bad = a, bad.length[0] = -4;
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, bad, 0, 0, 0, 1, &out), "hd_array_slice", "length[0]", "-4");
  bad = a, bad.ndim = 5;
  expect_error(HD_ERR_ARG, hd_array_reshape(ctx, bad, 1, &four, &out), "hd_array_reshape", "a", "5 axes");
  bad = a, bad.type.kind = 99;
  expect_error(HD_ERR_ARG, hd_array_expand(ctx, bad, 0, 1, &out), "hd_array_expand", "a", "no array");
  bad = a, bad.device.index = 7;
  expect_error(HD_ERR_DEVICE, hd_array_slice(ctx, bad, 0, 0, 1, 1, &out), "hd_array_slice", "a", "index 7");
  bad = a, bad.data = nullptr;
  expect_error(HD_ERR_ARG, hd_array_slice(ctx, bad, 0, 0, 1, 1, &out), "hd_array_slice", "a", "NULL");
}

TEST_F(ArrayApi, FreeIsSafeToRepeat) {
  int64_t n = 10;
  HdArray a;
  ASSERT_EQ(hd_array_new(ctx, cpu, f32, 1, &n, &a), HD_OK);
  hd_array_free(ctx, &a);
  EXPECT_EQ(a.data, nullptr);
  hd_array_free(ctx, &a);
  hd_array_free(ctx, nullptr);
  HdArray v;
  expect_error(HD_ERR_ARG, hd_array_slice(ctx, a, 0, 0, 1, 1, &v), "hd_array_slice", "a", "freed");
}

TEST_F(ArrayApi, BorrowMemory) {
  float x[12];
  int64_t n[2] = {3, 2}, step[2] = {4, 2};
  HdArray a;
  ASSERT_EQ(hd_array_borrow(ctx, cpu, f32, 2, n, step, x, &a), HD_OK);
  EXPECT_EQ(a.owner, nullptr);
  EXPECT_EQ(a.data, x);
  EXPECT_FALSE(hd_array_is_dense(a));
  ASSERT_EQ(hd_array_borrow(ctx, cpu, f32, 2, n, nullptr, x, &a), HD_OK);
  EXPECT_TRUE(hd_array_is_dense(a));
  hd_array_free(ctx, &a);
  expect_error(HD_ERR_ARG, hd_array_borrow(ctx, cpu, f32, 2, n, nullptr, nullptr, &a), "hd_array_borrow", "data",
               "NULL");
  expect_error(HD_ERR_ARG, hd_array_borrow(ctx, cpu, f32, 2, n, nullptr, reinterpret_cast<char *>(x) + 1, &a),
               "hd_array_borrow", "data", "not aligned");
  int64_t none = 0;
  EXPECT_EQ(hd_array_borrow(ctx, cpu, f32, 1, &none, nullptr, nullptr, &a), HD_OK);
}

TEST_F(ArrayApi, SliceForwardAndBackward) {
  HdArray a = numbered({4, 10}), v;
  ASSERT_EQ(hd_array_slice(ctx, a, 1, 1, 9, 3, &v), HD_OK);
  EXPECT_EQ(v.length[1], 3);
  EXPECT_EQ(v.owner, nullptr);
  for (int r = 0; r < 4; r++)
    for (int c = 0; c < 3; c++) EXPECT_EQ(at(v, {r, c}), r * 10 + 1 + 3 * c);
  ASSERT_EQ(hd_array_slice(ctx, a, 1, 8, -1, -2, &v), HD_OK);
  EXPECT_EQ(v.length[1], 5);
  for (int c = 0; c < 5; c++) EXPECT_EQ(at(v, {2, c}), 28 - 2 * c);
  ASSERT_EQ(hd_array_slice(ctx, v, 1, 1, 5, 2, &v), HD_OK) << "a slice of a slice";
  EXPECT_EQ(at(v, {0, 0}), 6);
  EXPECT_EQ(at(v, {0, 1}), 2);
  ASSERT_EQ(hd_array_slice(ctx, a, 0, 4, 4, 1, &v), HD_OK);
  EXPECT_EQ(hd_array_count(v), 0);
  ASSERT_EQ(hd_array_slice(ctx, a, 0, 0, 4, INT64_MAX, &v), HD_OK);
  EXPECT_EQ(v.length[0], 1);
  ASSERT_EQ(hd_array_slice(ctx, a, 0, 3, -1, INT64_MIN, &v), HD_OK);
  EXPECT_EQ(v.length[0], 1);
  EXPECT_EQ(at(v, {0, 0}), 30);
  const char *call = "hd_array_slice";
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, a, 2, 0, 1, 1, &v), call, "axis", "0 to 1, got 2");
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, a, 1, 0, 11, 1, &v), call, "begin, end", "axis 1 of length 10");
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, a, 1, -1, 5, 1, &v), call, "begin, end", "-1 to 5");
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, a, 1, 5, 2, 1, &v), call, "begin, end", "5 to 2 by 1");
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, a, 1, 10, 2, -1, &v), call, "begin, end", "10 to 2 by -1");
  expect_error(HD_ERR_SHAPE, hd_array_slice(ctx, a, 1, 0, 2, 0, &v), call, "step", "0");
  expect_error(HD_ERR_ARG, hd_array_slice(ctx, a, 1, 0, 2, 1, nullptr), call, "out", "NULL");
}

TEST_F(ArrayApi, Transpose) {
  HdArray a = numbered({2, 3, 4}), v;
  int32_t order[3] = {2, 0, 1};
  ASSERT_EQ(hd_array_transpose(ctx, a, order, &v), HD_OK);
  EXPECT_EQ(v.length[0], 4);
  EXPECT_EQ(v.length[1], 2);
  EXPECT_EQ(v.length[2], 3);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 4; k++) EXPECT_EQ(at(v, {k, i, j}), at(a, {i, j, k}));
  int32_t twice[3] = {0, 0, 1}, outside[3] = {0, 1, 3};
  expect_error(HD_ERR_SHAPE, hd_array_transpose(ctx, a, twice, &v), "hd_array_transpose", "order[1]", "axis 0");
  expect_error(HD_ERR_SHAPE, hd_array_transpose(ctx, a, outside, &v), "hd_array_transpose", "order[2]", "axis 3");
  expect_error(HD_ERR_ARG, hd_array_transpose(ctx, a, nullptr, &v), "hd_array_transpose", "order", "NULL");
}

TEST_F(ArrayApi, ReshapeWhatItCan) {
  HdArray a = numbered({4, 6}), v, w;
  int64_t three[3] = {2, 2, 6}, flat[1] = {24}, other[2] = {8, 3}, ones[4] = {1, 24, 1, 1}, wrong[2] = {5, 5};
  ASSERT_EQ(hd_array_reshape(ctx, a, 3, three, &v), HD_OK);
  EXPECT_EQ(at(v, {1, 1, 5}), 23);
  ASSERT_EQ(hd_array_reshape(ctx, a, 2, other, &v), HD_OK);
  EXPECT_EQ(at(v, {7, 2}), 23);
  ASSERT_EQ(hd_array_reshape(ctx, a, 4, ones, &v), HD_OK);
  EXPECT_EQ(at(v, {0, 20, 0, 0}), 20);
  // Gaps at the ends of rows: rows can be split, not joined.
  ASSERT_EQ(hd_array_slice(ctx, a, 1, 0, 4, 1, &v), HD_OK);
  int64_t split[3] = {4, 2, 2}, pairs[3] = {2, 2, 4};
  ASSERT_EQ(hd_array_reshape(ctx, v, 3, split, &w), HD_OK);
  EXPECT_EQ(at(w, {3, 1, 1}), 21);
  ASSERT_EQ(hd_array_reshape(ctx, v, 3, pairs, &w), HD_OK);
  EXPECT_EQ(at(w, {1, 0, 3}), 15);
  int64_t sixteen = 16;
  expect_error(HD_ERR_SHAPE, hd_array_reshape(ctx, v, 1, &sixteen, &w), "hd_array_reshape", "a", "gaps");
  EXPECT_NE(std::string(hd_context_error(ctx)->remedy).find("hd_array_copy"), std::string::npos);
  expect_error(HD_ERR_SHAPE, hd_array_reshape(ctx, a, 2, wrong, &v), "hd_array_reshape", "length",
               "f32[4, 6] has 24 elements, f32[5, 5] has 25");
  ASSERT_EQ(hd_array_reshape(ctx, a, 1, flat, &v), HD_OK);
}

TEST_F(ArrayApi, ExpandRepeats) {
  HdArray a = numbered({3, 1}), v;
  ASSERT_EQ(hd_array_expand(ctx, a, 1, 4, &v), HD_OK);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) EXPECT_EQ(at(v, {r, c}), r);
  expect_error(HD_ERR_SHAPE, hd_array_expand(ctx, a, 0, 4, &v), "hd_array_expand", "axis", "length 3");
  expect_error(HD_ERR_SHAPE, hd_array_expand(ctx, a, 1, -4, &v), "hd_array_expand", "length[1]", "-4");
}

TEST_F(ArrayApi, CopyBetweenStridesAndDevices) {
  for (HdStreamMode mode : {HD_STREAM_SYNC, HD_STREAM_ASYNC}) {
    HdStream *s = stream(cpu, mode);
    HdArray a = numbered({6, 8}), b = zeros(interp, f32, {4, 3}), v, t;
    int32_t swap[2] = {1, 0};
    ASSERT_EQ(hd_array_slice(ctx, a, 0, 5, 2, -1, &v), HD_OK);
    ASSERT_EQ(hd_array_slice(ctx, v, 1, 0, 8, 2, &v), HD_OK);
    ASSERT_EQ(hd_array_transpose(ctx, b, swap, &t), HD_OK);
    ASSERT_EQ(hd_array_copy(s, v, t), HD_OK) << error();
    ASSERT_EQ(hd_stream_wait(s), HD_OK);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) EXPECT_EQ(at(b, {c, r}), (5 - r) * 8 + 2 * c);
    ASSERT_EQ(hd_array_clear(s, v), HD_OK);
    ASSERT_EQ(hd_stream_wait(s), HD_OK);
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 8; c++) EXPECT_EQ(at(a, {r, c}), r >= 3 && c % 2 == 0 ? 0 : r * 8 + c);
  }
}

TEST_F(ArrayApi, CopyNamesWhatDoesNotFit) {
  HdStream *s = stream(cpu);
  HdArray a = zeros(cpu, f32, {4, 3}), b = zeros(cpu, f32, {3, 4}), c = zeros(cpu, hd_type_scalar(HD_I32), {4, 3});
  expect_error(HD_ERR_SHAPE, hd_array_copy(s, a, b), "hd_array_copy", "to",
               "wanted f32[4, 3] as 'from' is, got f32[3, 4]");
  expect_error(HD_ERR_TYPE, hd_array_copy(s, a, c), "hd_array_copy", "to", "got i32[4, 3]");
  HdArray none = {};
  expect_error(HD_ERR_ARG, hd_array_copy(s, none, a), "hd_array_copy", "from", "no array");
  expect_error(HD_ERR_ARG, hd_array_clear(s, none), "hd_array_clear", "a", "no array");
  EXPECT_EQ(hd_array_copy(nullptr, a, a), HD_ERR_ARG);
}

TEST_F(ArrayApi, TellDenseFromGaps) {
  float x[64];
  HdArray a;
  struct {
    int64_t n[3], s[3];
    bool dense;
  } cases[] = {{{2, 3, 4}, {12, 4, 1}, true},   {{2, 3, 4}, {12, 4, 2}, false}, {{2, 3, 4}, {13, 4, 1}, false},
               {{1, 3, 4}, {99, 4, 1}, true},   {{2, 1, 4}, {4, 99, 1}, true},  {{2, 3, 1}, {3, 1, 99}, true},
               {{2, 0, 4}, {99, 99, 99}, true}, {{2, 2, 2}, {0, 2, 1}, false},  {{2, 2, 2}, {-4, 2, 1}, false}};
  for (auto &c : cases) {
    ASSERT_EQ(hd_array_borrow(ctx, cpu, f32, 3, c.n, c.s, x, &a), HD_OK);
    EXPECT_EQ(hd_array_is_dense(a), c.dense);
  }
}

} // namespace
