// tests/base/types_test.cc -- the public descriptions of element types.
#include "heddle/types.h"

#include <gtest/gtest.h>

#include <string>

namespace {

std::string name(HdType t) {
  char out[64];
  return hd_type_name(t, out);
}

TEST(Types, ScalarsHaveTheirSizes) {
  const struct {
    HdScalar scalar;
    const char *name;
    uint32_t size;
  } all[] = {{HD_BOOL, "bool", 1}, {HD_I8, "i8", 1},   {HD_I16, "i16", 2}, {HD_I32, "i32", 4}, {HD_I64, "i64", 8},
             {HD_U8, "u8", 1},     {HD_U16, "u16", 2}, {HD_U32, "u32", 4}, {HD_U64, "u64", 8}, {HD_F16, "f16", 2},
             {HD_BF16, "bf16", 2}, {HD_F32, "f32", 4}, {HD_F64, "f64", 8}};
  for (const auto &row : all) {
    HdType t = hd_type_scalar(row.scalar);
    EXPECT_EQ(name(t), row.name);
    EXPECT_EQ(t.size, row.size);
    EXPECT_EQ(t.rows, 1);
    EXPECT_EQ(t.cols, 1);
  }
}

TEST(Types, CompositesArePacked) {
  EXPECT_EQ(hd_type_vec(HD_F32, 3).size, 12u);
  EXPECT_EQ(name(hd_type_vec(HD_F32, 3)), "vec<f32, 3>");
  EXPECT_EQ(hd_type_mat(HD_F64, 3, 4).size, 96u);
  EXPECT_EQ(name(hd_type_mat(HD_F64, 3, 4)), "mat<f64, 3, 4>");
  EXPECT_EQ(hd_type_quat(HD_F32).size, 16u);
  EXPECT_EQ(name(hd_type_quat(HD_F32)), "quat<f32>");
  EXPECT_EQ(hd_type_transform(HD_F32).size, 28u);
  EXPECT_EQ(name(hd_type_transform(HD_F32)), "transform<f32>");
  EXPECT_EQ(hd_type_spatial(HD_F64).size, 48u);
  EXPECT_EQ(name(hd_type_spatial(HD_F64)), "spatial<f64>");
  EXPECT_EQ(name(hd_type_struct(40)), "struct of 40 bytes");
}

TEST(Types, EqualityLooksAtEverything) {
  EXPECT_TRUE(hd_type_equal(hd_type_vec(HD_F32, 4), hd_type_vec(HD_F32, 4)));
  EXPECT_FALSE(hd_type_equal(hd_type_vec(HD_F32, 4), hd_type_quat(HD_F32)));
  EXPECT_FALSE(hd_type_equal(hd_type_vec(HD_F32, 4), hd_type_vec(HD_I32, 4)));
  EXPECT_FALSE(hd_type_equal(hd_type_mat(HD_F32, 2, 3), hd_type_mat(HD_F32, 3, 2)));
  EXPECT_FALSE(hd_type_equal(hd_type_struct(8), hd_type_struct(16)));
  EXPECT_TRUE(hd_type_equal(hd_type_struct(8), hd_type_struct(8)));
}

TEST(Types, ImpossibleOnesHaveNoSize) {
  EXPECT_EQ(hd_type_vec(HD_F32, 0).size, 0u);
  EXPECT_EQ(hd_type_vec(HD_F32, -1).size, 0u);
  EXPECT_EQ(hd_type_mat(HD_F32, 2, 1000).size, 0u);
  EXPECT_EQ(hd_type_scalar((HdScalar)99).size, 0u);
  EXPECT_EQ(name(hd_type_vec(HD_F32, 0)), "no type");
}

} // namespace
