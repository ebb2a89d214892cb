// tests/api/kernel_launch_test.cc -- launches: right ones give the right numbers on both devices, wrong ones say what is wrong.
#include "api_fixture.h"

namespace {

const char *const kernels = R"(
struct Body { vec3 x; f32 m; }
kernel saxpy(f32 a, f32 x[], f32 y[]) { let i = tid(); y[i] = a * x[i] + y[i]; }
kernel grid(i32 out[,,,]) { out[tid(0), tid(1), tid(2), tid(3)] = ((tid(0) * 10 + tid(1)) * 10 + tid(2)) * 10 + tid(3); }
kernel plane(i32 out[,]) { out[tid(0), tid(1)] = tid(0) * dim(1) + tid(1); }
kernel empty() { }
kernel count(i32 n[]) { atomic_add(n[0], 1); }
kernel values(bool b, i8 i, u16 u, i64 l, f16 h, f64 d, vec3 v, mat22 m, quat q, Body body, f64 out[]) {
  if (tid() == 0) {
    out[0] = b ? f64(1) : f64(0); out[1] = f64(i); out[2] = f64(u); out[3] = f64(l); out[4] = f64(h); out[5] = d;
    out[6] = f64(v.z); out[7] = f64(m[1][0]); out[8] = f64(q.w); out[9] = f64(body.x.y) + f64(body.m);
  }
}
kernel checked(i32 n, i32 out[]) { let i = tid(); assert(i < n, "too far along"); out[i] = i; }
)";

class Launch : public Api, public testing::WithParamInterface<HdDeviceKind> {
protected:
  void SetUp() override {
    Api::SetUp();
    device = GetParam() == HD_DEVICE_CPU ? cpu : interp;
    module = source(kernels);
    s = stream(device);
  }
  HdDevice device;
  HdModule *module = nullptr;
  HdStream *s = nullptr;
  HdType f32 = hd_type_scalar(HD_F32), i32 = hd_type_scalar(HD_I32);
};

INSTANTIATE_TEST_SUITE_P(Devices, Launch, testing::Values(HD_DEVICE_CPU, HD_DEVICE_INTERP),
                         [](const auto &i) { return i.param == HD_DEVICE_CPU ? "cpu" : "interp"; });

TEST_P(Launch, RunsForAllSizes) {
  HdKernel *k = kernel(module, "saxpy", device);
  for (int64_t n : {0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 1000, 5001}) {
    HdArray x = zeros(device, f32, {n}), y = zeros(device, f32, {n + 1});
    for (int64_t i = 0; i < n; i++) {
      data<float>(x)[i] = static_cast<float>(i);
      data<float>(y)[i] = 1;
    }
    HdArg args[] = {hd_arg_f32(2), hd_arg_array(&x), hd_arg_array(&y)};
    ASSERT_EQ(hd_launch(k, s, 1, &n, 3, args), HD_OK) << error();
    for (int64_t i = 0; i < n; i++) ASSERT_EQ(data<float>(y)[i], 2.0f * static_cast<float>(i) + 1) << n;
    EXPECT_EQ(data<float>(y)[n], 0) << "behind the last thread";
  }
}

TEST_P(Launch, RunsOnStridedArrays) {
  HdKernel *k = kernel(module, "saxpy", device);
  HdArray x = zeros(device, f32, {100}), y = zeros(device, f32, {100}), xv, yv;
  for (int i = 0; i < 100; i++) data<float>(x)[i] = static_cast<float>(i);
  ASSERT_EQ(hd_array_slice(ctx, x, 0, 99, -1, -3, &xv), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, y, 0, 0, 100, 3, &yv), HD_OK);
  int64_t n = 34;
  HdArg args[] = {hd_arg_f32(1), hd_arg_array(&xv), hd_arg_array(&yv)};
  ASSERT_EQ(hd_launch(k, s, 1, &n, 3, args), HD_OK) << error();
  for (int i = 0; i < 100; i++) EXPECT_EQ(data<float>(y)[i], i % 3 ? 0 : 99 - i) << i;
}

TEST_P(Launch, HasFourAxes) {
  HdKernel *k = kernel(module, "grid", device);
  HdArray a = zeros(device, i32, {3, 4, 5, 9});
  HdArg args[] = {hd_arg_array(&a)};
  ASSERT_EQ(hd_launch(k, s, 4, a.length, 1, args), HD_OK) << error();
  int32_t *p = data<int32_t>(a);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++)
      for (int l = 0; l < 5; l++)
        for (int m = 0; m < 9; m++) ASSERT_EQ(*p++, i * 1000 + j * 100 + l * 10 + m);
  int64_t zero[4] = {3, 0, 5, 9};
  EXPECT_EQ(hd_launch(k, s, 4, zero, 1, args), HD_OK) << "a dimension of 0 runs nothing";
}

TEST_P(Launch, TransposedArraysKeepTheirMeaning) {
  HdKernel *k = kernel(module, "plane", device);
  HdArray a = zeros(device, i32, {20, 30}), t;
  int32_t swap[2] = {1, 0};
  ASSERT_EQ(hd_array_transpose(ctx, a, swap, &t), HD_OK);
  HdArg args[] = {hd_arg_array(&t)};
  ASSERT_EQ(hd_launch(k, s, 2, t.length, 1, args), HD_OK) << error();
  for (int r = 0; r < 30; r++)
    for (int c = 0; c < 20; c++) ASSERT_EQ(data<int32_t>(a)[c * 30 + r], r * 20 + c);
}

TEST_P(Launch, TakesAnyDimensionsIfTheKernelNeverAsks) {
  HdKernel *k = kernel(module, "count", device);
  HdArray n = zeros(device, i32, {1});
  HdArg args[] = {hd_arg_array(&n)};
  int64_t dim[4] = {3, 4, 5, 6};
  int total = 0, product = 1;
  for (int ndim = 1; ndim <= 4; ndim++) {
    product *= static_cast<int>(dim[ndim - 1]);
    total += product;
    ASSERT_EQ(hd_launch(k, s, ndim, dim, 1, args), HD_OK) << error();
    EXPECT_EQ(*data<int32_t>(n), total);
  }
  HdKernel *e = kernel(module, "empty", device);
  EXPECT_EQ(hd_launch(e, s, 1, dim, 0, nullptr), HD_OK);
}

TEST_P(Launch, PassesValuesOfAllKinds) {
  struct Body {
    float x[3], m;
  } body = {{1, 2, 3}, 40};
  HdType body_type;
  ASSERT_EQ(hd_module_struct(module, "Body", &body_type), HD_OK) << error();
  EXPECT_EQ(body_type.size, sizeof body);
  HdKernel *k = kernel(module, "values", device);
  HdArray out = zeros(device, hd_type_scalar(HD_F64), {10});
  int8_t i = -5;
  uint16_t u = 65535, half = 0x3e00; // 1.5
  float v[3] = {1, 2, 3}, m[4] = {1, 2, 3, 4}, q[4] = {0, 0, 0, 1};
  HdArg args[] = {hd_arg_bool(true),
                  hd_arg_value(hd_type_scalar(HD_I8), &i),
                  hd_arg_value(hd_type_scalar(HD_U16), &u),
                  hd_arg_i64(-(1LL << 40)),
                  hd_arg_value(hd_type_scalar(HD_F16), &half),
                  hd_arg_f64(0.1),
                  hd_arg_value(hd_type_vec(HD_F32, 3), v),
                  hd_arg_value(hd_type_mat(HD_F32, 2, 2), m),
                  hd_arg_value(hd_type_quat(HD_F32), q),
                  hd_arg_value(body_type, &body),
                  hd_arg_array(&out)};
  int64_t n = 1;
  ASSERT_EQ(hd_launch(k, s, 1, &n, 11, args), HD_OK) << error();
  const double want[] = {1, -5, 65535, -1099511627776.0, 1.5, 0.1, 3, 3, 1, 42};
  for (int j = 0; j < 10; j++) EXPECT_EQ(data<double>(out)[j], want[j]) << j;
}

TEST_P(Launch, TellsWhatAKernelWants) {
  HdKernel *k = kernel(module, "saxpy", device);
  EXPECT_STREQ(hd_kernel_name(k), "saxpy");
  ASSERT_EQ(hd_kernel_param_count(k), 3);
  HdParam a = hd_kernel_param(k, 0), x = hd_kernel_param(k, 1), y = hd_kernel_param(k, 2), none = hd_kernel_param(k, 3);
  EXPECT_STREQ(a.name, "a");
  EXPECT_EQ(a.ndim, 0);
  EXPECT_TRUE(hd_type_equal(a.type, f32));
  EXPECT_EQ(x.ndim, 1);
  EXPECT_FALSE(x.writes);
  EXPECT_TRUE(y.writes);
  EXPECT_EQ(none.name, nullptr);
  EXPECT_GE(hd_kernel_width(k), 1);
  EXPECT_EQ(hd_kernel_param_count(nullptr), 0);
  HdKernel *same = kernel(module, "saxpy", device);
  EXPECT_EQ(k, same);
  EXPECT_TRUE(hd_kernel_param(kernel(module, "count", device), 0).writes) << "atomics write";
}

TEST_P(Launch, NamesTheArgumentThatIsWrong) {
  HdKernel *k = kernel(module, "saxpy", device);
  HdArray x = zeros(device, f32, {8}), y = zeros(device, f32, {8}), d = zeros(device, hd_type_scalar(HD_F64), {8, 3});
  HdArray flat = zeros(device, f32, {2, 4}), none = {};
  HdDevice away = device.kind == HD_DEVICE_CPU ? interp : cpu;
  HdArray there = zeros(away, f32, {8});
  int64_t n = 8;
  HdArg good[] = {hd_arg_f32(2), hd_arg_array(&x), hd_arg_array(&y)}, bad[3];
  auto reset = [&] { memcpy(bad, good, sizeof bad); };
  auto run = [&] { return hd_launch(k, s, 1, &n, 3, bad); };
  const char *call = "hd_launch";
  ASSERT_EQ(hd_launch(k, s, 1, &n, 3, good), HD_OK) << error();

  expect_error(HD_ERR_COUNT, hd_launch(k, s, 1, &n, 2, good), call, "nargs", "kernel 'saxpy' wants 3 (a, x, y), got 2");
  expect_error(HD_ERR_COUNT, hd_launch(k, s, 1, &n, 4, good), call, "nargs", "got 4");
  expect_error(HD_ERR_COUNT, hd_launch(k, s, 1, &n, -1, good), call, "nargs", "got -1");
  expect_error(HD_ERR_ARG, hd_launch(k, s, 1, &n, 3, nullptr), call, "args", "NULL");
  reset(), bad[0] = hd_arg_f64(2);
  expect_error(HD_ERR_TYPE, run(), call, "args[0] 'a'", "wanted a value of type f32, got a value of type f64");
  reset(), bad[0] = hd_arg_array(&x);
  expect_error(HD_ERR_TYPE, run(), call, "args[0] 'a'", "wanted a value of type f32, got f32[8]");
  reset(), bad[1] = hd_arg_f32(1);
  expect_error(HD_ERR_TYPE, run(), call, "args[1] 'x'", "wanted an array f32[], got a value of type f32");
  reset(), bad[1] = hd_arg_array(&d);
  expect_error(HD_ERR_TYPE, run(), call, "args[1] 'x'", "wanted an array f32[], got f64[8, 3]");
  reset(), bad[2] = hd_arg_array(&flat);
  expect_error(HD_ERR_SHAPE, run(), call, "args[2] 'y'", "wanted an array f32[], got f32[2, 4]");
  reset(), bad[2] = hd_arg_array(&none);
  expect_error(HD_ERR_TYPE, run(), call, "args[2] 'y'", "freed or never made");
  HdArray hand = x;
  hand.length[0] = -8;
  reset(), bad[2] = hd_arg_array(&hand);
  expect_error(HD_ERR_SHAPE, run(), call, "args[2] 'y'", "got f32[-8]");
  hand = x, hand.data = nullptr;
  expect_error(HD_ERR_ARG, run(), call, "args[2] 'y'", "");
  reset(), bad[2] = hd_arg_array(&there);
  expect_error(HD_ERR_DEVICE, run(), call, "args[2] 'y'",
               std::string("wanted an array on device '") + (device.kind == HD_DEVICE_CPU ? "cpu" : "interp"));
  expect_error(HD_ERR_DEVICE, hd_launch(k, stream(away), 1, &n, 3, good), call, "stream",
               "kernel 'saxpy' was made for");
  expect_error(HD_ERR_ARG, hd_launch(k, nullptr, 1, &n, 3, good), call, "stream", "NULL");
  EXPECT_EQ(hd_launch(nullptr, s, 1, &n, 3, good), HD_ERR_ARG);
  for (int i = 0; i < 8; i++) EXPECT_EQ(data<float>(y)[i], 0) << "nothing ran";
}

TEST_P(Launch, NamesTheDimensionThatIsWrong) {
  HdKernel *k = kernel(module, "plane", device), *e = kernel(module, "empty", device);
  HdArray a = zeros(device, i32, {4, 4});
  HdArg args[] = {hd_arg_array(&a)};
  int64_t dim[4] = {4, 4, 1, 1}, bad[4] = {4, -1, 1, 1}, big[4] = {1LL << 31, 1, 1, 1};
  int64_t huge[4] = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
  const char *call = "hd_launch";
  expect_error(HD_ERR_DIM, hd_launch(k, s, 0, dim, 1, args), call, "ndim", "1 to 4 dimensions, got 0");
  expect_error(HD_ERR_DIM, hd_launch(k, s, 5, dim, 1, args), call, "ndim", "got 5");
  expect_error(HD_ERR_DIM, hd_launch(k, s, 1, dim, 1, args), call, "ndim",
               "kernel 'plane' uses 2 axes of the launch, got 1");
  expect_error(HD_ERR_DIM, hd_launch(k, s, 3, dim, 1, args), call, "ndim", "uses 2 axes of the launch, got 3");
  expect_error(HD_ERR_DIM, hd_launch(k, s, 2, bad, 1, args), call, "dim[1]", "wanted 0 to 2147483647, got -1");
  expect_error(HD_ERR_DIM, hd_launch(k, s, 2, big, 1, args), call, "dim[0]", "got 2147483648");
  expect_error(HD_ERR_DIM, hd_launch(e, s, 4, huge, 0, nullptr), call, "dim", "2^63");
  expect_error(HD_ERR_ARG, hd_launch(k, s, 2, nullptr, 1, args), call, "dim", "NULL");
}

TEST_P(Launch, IsOfWholeGroups) {
  HdModule *m = source("@group(64) kernel turn(i32 x[,]) {\n"
                       "  shared i32 t[64];\n"
                       "  t[group_tid()] = x[tid(0), tid(1)];\n"
                       "  barrier();\n"
                       "  x[tid(0), tid(1)] = t[63 - group_tid()];\n"
                       "}\n");
  HdKernel *k = kernel(m, "turn", device);
  HdArray a = zeros(device, i32, {3, 128});
  for (int i = 0; i < 3 * 128; i++) data<int32_t>(a)[i] = i;
  HdArg args[] = {hd_arg_array(&a)};
  int64_t dim[2] = {3, 128}, odd[2] = {3, 100}, none[2] = {3, 0};
  expect_error(HD_ERR_DIM, hd_launch(k, s, 2, odd, 1, args), "hd_launch", "dim[1]",
               "kernel 'turn' runs in groups of 64 threads: wanted a multiple, got 100");
  expect_error(HD_ERR_DIM, hd_launch(k, s, 1, dim, 1, args), "hd_launch", "ndim", "uses 2 axes of the launch, got 1");
  EXPECT_EQ(hd_launch(k, s, 2, none, 1, args), HD_OK) << "nothing to do";
  ASSERT_EQ(hd_launch(k, s, 2, dim, 1, args), HD_OK);
  ASSERT_EQ(hd_stream_wait(s), HD_OK);
  for (int i = 0; i < 3 * 128; i++) ASSERT_EQ(data<int32_t>(a)[i], (i & ~63) + 63 - (i & 63));
}

TEST_P(Launch, ReportsAFailedAssertWithItsPlace) {
  HdKernel *k = kernel(module, "checked", device);
  HdArray a = zeros(device, i32, {100});
  int64_t n = 100;
  HdArg args[] = {hd_arg_i32(70), hd_arg_array(&a)};
  HdStatus status = hd_launch(k, s, 1, &n, 2, args);
  expect_error(HD_ERR_FAULT, status, "hd_launch", "", "kernel 'checked', thread (7");
  const HdError *e = hd_context_error(ctx);
  EXPECT_NE(std::string(e->detail).find("too far along"), std::string::npos) << e->detail;
  EXPECT_STREQ(e->where.file, "test.hd");
  EXPECT_EQ(e->where.line, 14);
  EXPECT_GT(e->where.column, 0);
  for (int i = 0; i < 100; i++) EXPECT_EQ(data<int32_t>(a)[i], i) << "the threads go on";
  EXPECT_EQ(hd_stream_wait(s), HD_OK) << "it was reported";
  args[0] = hd_arg_i32(100);
  EXPECT_EQ(hd_launch(k, s, 1, &n, 2, args), HD_OK);

  HdStream *async = stream(device, HD_STREAM_ASYNC);
  args[0] = hd_arg_i32(50);
  EXPECT_EQ(hd_launch(k, async, 1, &n, 2, args), HD_OK) << "it is told later";
  args[0] = hd_arg_i32(100);
  EXPECT_EQ(hd_launch(k, async, 1, &n, 2, args), HD_OK);
  expect_error(HD_ERR_FAULT, hd_stream_wait(async), "hd_stream_wait", "", "kernel 'checked', thread (");
  EXPECT_EQ(hd_stream_wait(async), HD_OK);
}

TEST_P(Launch, ChecksBoundsWhenAsked) {
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.bounds = true;
  HdModule *m = source("kernel k(i32 at, i32 x[], i32 out[]) { if (tid() == 0) out[0] = x[at]; }", &o);
  HdKernel *k = kernel(m, "k", device);
  HdArray x = zeros(device, i32, {10}), out = zeros(device, i32, {1});
  int64_t n = 3;
  HdArg args[] = {hd_arg_i32(9), hd_arg_array(&x), hd_arg_array(&out)};
  EXPECT_EQ(hd_launch(k, s, 1, &n, 3, args), HD_OK) << error();
  args[0] = hd_arg_i32(10);
  expect_error(HD_ERR_FAULT, hd_launch(k, s, 1, &n, 3, args), "hd_launch", "", "index 10, length 10");
  args[0] = hd_arg_i32(-1);
  expect_error(HD_ERR_FAULT, hd_launch(k, s, 1, &n, 3, args), "hd_launch", "", "index -1, length 10");
}

TEST_P(Launch, RunsInOrderOnAsynchronousStreams) {
  HdStream *async = stream(device, HD_STREAM_ASYNC);
  HdKernel *k = kernel(module, "saxpy", device);
  HdArray x = zeros(device, f32, {300}), y = zeros(device, f32, {300});
  int64_t n = 300;
  for (int i = 0; i < 300; i++) data<float>(x)[i] = 1;
  for (int round = 1; round <= 100; round++) {
    HdArg args[] = {hd_arg_f32(static_cast<float>(round)), hd_arg_array(&x), hd_arg_array(&y)};
    ASSERT_EQ(hd_launch(k, async, 1, &n, 3, args), HD_OK);
    if (round == 50) { ASSERT_EQ(hd_array_clear(async, y), HD_OK); }
  }
  ASSERT_EQ(hd_stream_wait(async), HD_OK);
  for (int i = 0; i < 300; i++) EXPECT_EQ(data<float>(y)[i], 3775); // 51 + .. + 100
}

TEST_P(Launch, ArraysInStructParametersAreArgumentsOfTheirOwn) {
  HdModule *m = source("struct Field { f32 v[]; i32 n; }\n"
                       "kernel k(Field a, f32 b[]) { let i = tid(); if (i < a.n) b[i] = a.v[i] * 2.0; }");
  HdKernel *k = kernel(m, "k", device);
  ASSERT_EQ(hd_kernel_param_count(k), 3);
  EXPECT_STREQ(hd_kernel_param(k, 0).name, "a.v");
  EXPECT_STREQ(hd_kernel_param(k, 1).name, "a.n");
  EXPECT_FALSE(hd_kernel_param(k, 0).writes);
  EXPECT_TRUE(hd_kernel_param(k, 2).writes);
  HdArray v = zeros(device, f32, {10}), b = zeros(device, f32, {10});
  for (int i = 0; i < 10; i++) data<float>(v)[i] = static_cast<float>(i);
  HdArg args[] = {hd_arg_array(&v), hd_arg_i32(5), hd_arg_array(&b)};
  int64_t n = 10;
  ASSERT_EQ(hd_launch(k, s, 1, &n, 3, args), HD_OK) << error();
  for (int i = 0; i < 10; i++) EXPECT_EQ(data<float>(b)[i], i < 5 ? 2 * i : 0);
}

TEST_P(Launch, WritesAreSeenThroughFunctions) {
  HdModule *m = source("fn put(f32 x[], i32 i) { x[i] = 1.0; }\n"
                       "fn outer(f32 a[], f32 b[], i32 i) { put(b, i); }\n"
                       "kernel k(f32 a[], f32 b[], f32 c[]) { let i = tid(); outer(a, c, i); b[i] = a[i]; }");
  HdKernel *k = kernel(m, "k", device);
  EXPECT_FALSE(hd_kernel_param(k, 0).writes);
  EXPECT_TRUE(hd_kernel_param(k, 1).writes);
  EXPECT_TRUE(hd_kernel_param(k, 2).writes);
}

} // namespace
