// tests/api/builder_groups_test.cc -- kernels with groups from a program, and the mistakes that it can make with them.
#include "api_fixture.h"

namespace {

struct BuilderGroups : Api {
  HdBuilder *b = nullptr;
  const HdIrType *i32 = nullptr, *list = nullptr;

  void Begin() {
    ASSERT_EQ(hd_builder_new(ctx, "built", &b), HD_OK);
    i32 = hd_build_type(b, hd_type_scalar(HD_I32));
    list = hd_build_array(b, i32, 1);
    hd_build_kernel(b, "k", 1, &list, nullptr);
  }
  HdIrValue *Element(HdIrValue *i) { return hd_build_index(b, hd_build_param(b, 0), 1, &i); }
  void End() {
    hd_build_return(b, 0, nullptr);
    hd_build_end(b);
  }
  void Wrong(const char *what) {
    HdModule *m = nullptr;
    HdStatus status = hd_builder_finish(b, nullptr, &m);
    EXPECT_NE(status, HD_OK);
    EXPECT_NE(std::string(hd_context_error(ctx)->detail).find(what), std::string::npos)
        << hd_context_error(ctx)->detail;
    hd_builder_free(b);
  }
};

// x[i] becomes x of the mirrored place in the group, plus the least bit of the left neighbour's, plus the count of odd ones.
TEST_F(BuilderGroups, RunOnEveryHostDevice) {
  HdModule *m;
  Begin();
  hd_build_group(b, 64);
  HdIrValue *row = hd_build_shared(b, hd_build_fixed(b, i32, 64)), *me = hd_build_group_tid(b);
  HdIrValue *at = Element(hd_build_tid(b, 0)), *x = hd_build_load(b, at), *one = hd_build_int(b, HD_I32, 1);
  hd_build_store(b, hd_build_elem(b, row, me), x);
  hd_build_barrier(b);
  HdIrValue *last = hd_build_op2(b, HD_OP_SUB, hd_build_group_size(b), one);
  HdIrValue *mirrored = hd_build_load(b, hd_build_elem(b, row, hd_build_op2(b, HD_OP_SUB, last, me)));
  HdIrValue *low = hd_build_op2(b, HD_OP_AND, x, one);
  HdIrValue *left = hd_build_shuffle(b, low, hd_build_op2(b, HD_OP_SUB, me, one));
  HdIrValue *odd = hd_build_op1(b, HD_OP_POPCOUNT, hd_build_ballot(b, hd_build_op2(b, HD_OP_EQ, low, one)));
  HdIrValue *sum =
      hd_build_op2(b, HD_OP_ADD, hd_build_op2(b, HD_OP_ADD, mirrored, left), hd_build_convert(b, i32, odd));
  hd_build_store(b, at, hd_build_op2(b, HD_OP_ADD, sum, hd_build_group_id(b)));
  End();
  ASSERT_EQ(hd_builder_finish(b, nullptr, &m), HD_OK) << hd_context_error(ctx)->detail;
  modules.push_back(m);
  hd_builder_free(b);
  for (HdDevice device : {cpu, interp}) {
    HdArray a = zeros(device, hd_type_scalar(HD_I32), {128});
    std::vector<int32_t> x0(128);
    for (int i = 0; i < 128; i++) x0[i] = data<int32_t>(a)[i] = i * i / 3;
    HdArg arg = hd_arg_array(&a);
    int64_t n = 128;
    ASSERT_EQ(hd_launch(kernel(m, "k", device), stream(device), 1, &n, 1, &arg), HD_OK);
    for (int i = 0; i < 128; i++) {
      int count = 0, left = (i & ~31) + ((i + 31) & 31);
      for (int k = i & ~31; k < (i & ~31) + 32; k++) count += x0[k] & 1;
      ASSERT_EQ(data<int32_t>(a)[i], x0[(i & ~63) + 63 - (i & 63)] + (x0[left] & 1) + count + i / 64) << i;
    }
  }
}

// c = a b + c of whole numbers, 8 x 4 by 4 x 8, in the layout of docs/language.md.
TEST_F(BuilderGroups, MultiplyMatrices) {
  HdModule *m;
  ASSERT_EQ(hd_builder_new(ctx, "built", &b), HD_OK);
  const HdIrType *f64 = hd_build_type(b, hd_type_scalar(HD_F64)), *pair = hd_build_type(b, hd_type_vec(HD_F64, 2));
  const HdIrType *params[] = {hd_build_array(b, f64, 1), hd_build_array(b, f64, 1), hd_build_array(b, pair, 1)};
  hd_build_kernel(b, "k", 3, params, nullptr);
  hd_build_group(b, 32);
  HdIrValue *t = hd_build_tid(b, 0), *at[3];
  for (int k = 0; k < 3; k++) at[k] = hd_build_index(b, hd_build_param(b, k), 1, &t);
  HdIrValue *x = hd_build_load(b, at[0]), *y = hd_build_load(b, at[1]), *z = hd_build_load(b, at[2]);
  hd_build_store(b, at[2], hd_build_mma(b, x, y, z));
  End();
  ASSERT_EQ(hd_builder_finish(b, nullptr, &m), HD_OK) << hd_context_error(ctx)->detail;
  modules.push_back(m);
  hd_builder_free(b);
  for (HdDevice device : {cpu, interp}) {
    HdArray a[3] = {zeros(device, hd_type_scalar(HD_F64), {32}), zeros(device, hd_type_scalar(HD_F64), {32}),
                    zeros(device, hd_type_vec(HD_F64, 2), {32})};
    double row[8][4], column[8][4];
    for (int i = 0; i < 32; i++) {
      row[i / 4][i % 4] = data<double>(a[0])[i] = i * i % 13 - 6;
      column[i / 4][i % 4] = data<double>(a[1])[i] = i * 7 % 11 - 5;
      data<double>(a[2])[2 * i] = data<double>(a[2])[2 * i + 1] = i;
    }
    HdArg args[] = {hd_arg_array(&a[0]), hd_arg_array(&a[1]), hd_arg_array(&a[2])};
    int64_t n = 32;
    ASSERT_EQ(hd_launch(kernel(m, "k", device), stream(device), 1, &n, 3, args), HD_OK);
    for (int i = 0; i < 64; i++) {
      double want = i / 2; // of row i / 8, column i % 8
      for (int k = 0; k < 4; k++) want += row[i / 8][k] * column[i % 8][k];
      ASSERT_EQ(data<double>(a[2])[i], want) << i;
    }
  }
}

TEST_F(BuilderGroups, MultiplyMatricesOfTheTypesThereAre) {
  Begin();
  hd_build_group(b, 32);
  HdIrValue *one = hd_build_float(b, HD_F32, 1);
  hd_build_mma(b, one, one, one);
  End();
  Wrong("no matrices of f32, f32 and f32 are known");
}

TEST_F(BuilderGroups, AreAskedForFirst) {
  Begin();
  hd_build_barrier(b);
  End();
  Wrong("the kernel has no groups");
  Begin();
  hd_build_store(b, Element(hd_build_tid(b, 0)), hd_build_group_tid(b));
  End();
  Wrong("the kernel has no groups");
}

TEST_F(BuilderGroups, HaveTheSizesThereAre) {
  for (int32_t threads : {0, -32, 48, 2048}) {
    Begin();
    hd_build_group(b, threads);
    End();
    Wrong("a group has 32, 64, .. 1024 threads");
  }
  ASSERT_EQ(hd_builder_new(ctx, "built", &b), HD_OK);
  hd_build_function(b, "f", 0, nullptr, nullptr, 0, nullptr);
  hd_build_group(b, 32);
  End();
  Wrong("a function has no groups of its own");
}

TEST_F(BuilderGroups, ShuffleScalarsOnly) {
  Begin();
  hd_build_group(b, 32);
  HdIrValue *one = hd_build_float(b, HD_F32, 1), *pair[] = {one, one};
  HdIrValue *v = hd_build_make(b, hd_build_type(b, hd_type_vec(HD_F32, 2)), 2, pair);
  hd_build_shuffle(b, v, hd_build_int(b, HD_I32, 0));
  End();
  Wrong("operand 1 must be a scalar");
  Begin();
  hd_build_group(b, 32);
  hd_build_shared(b, nullptr);
  End();
  Wrong("there is no type");
}

} // namespace
