// Values as text, and how .npy items stand for elements.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "tools/heddle/value.h"

namespace {

template <class T>::testing::AssertionResult Parses(HdType t, const char *text, std::initializer_list<T> want) {
  char why[256] = "";
  unsigned char bytes[512] = {0};
  if (!value_parse(t, text, bytes, why, sizeof why)) return ::testing::AssertionFailure() << text << ": " << why;
  if (t.size != want.size() * sizeof(T)) return ::testing::AssertionFailure() << "size " << t.size;
  if (memcmp(bytes, want.begin(), t.size) != 0) return ::testing::AssertionFailure() << text << " gives other bits";
  return ::testing::AssertionSuccess();
}

std::string Refused(HdType t, const char *text) {
  char why[256] = "";
  unsigned char bytes[512];
  return value_parse(t, text, bytes, why, sizeof why) ? "accepted" : why;
}

HdType S(HdScalar s) { return hd_type_scalar(s); }

TEST(Value, ParsesIntegersToTheirLimits) {
  EXPECT_TRUE(Parses<int8_t>(S(HD_I8), "-128", {-128}));
  EXPECT_TRUE(Parses<int32_t>(S(HD_I32), "0x7fffffff", {INT32_MAX}));
  EXPECT_TRUE(Parses<int32_t>(S(HD_I32), "-0x10", {-16}));
  EXPECT_TRUE(Parses<int64_t>(S(HD_I64), "-9223372036854775808", {INT64_MIN}));
  EXPECT_TRUE(Parses<uint64_t>(S(HD_U64), "18446744073709551615", {UINT64_MAX}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_U16), "65535", {65535}));
  EXPECT_TRUE(Parses<int32_t>(S(HD_I32), "010", {10})) << "no octal";
  for (const char *bad : {"-129", "128", "", "1.5", "x", "1x", " ", "99999999999999999999"})
    EXPECT_NE(Refused(S(HD_I8), bad), "accepted") << bad;
  EXPECT_EQ(Refused(S(HD_U8), "-1"), "wanted u8, got '-1', which is no u8");
  EXPECT_NE(Refused(S(HD_U64), "18446744073709551616"), "accepted");
}

TEST(Value, ParsesFloats) {
  EXPECT_TRUE(Parses<float>(S(HD_F32), "0.1", {0.1f}));
  EXPECT_TRUE(Parses<double>(S(HD_F64), "-1e-3", {-1e-3}));
  EXPECT_TRUE(Parses<float>(S(HD_F32), "inf", {INFINITY}));
  // 1 + 2^-24 + 2^-60 is above the middle of two floats: rounding by way of double would fall to even.
  EXPECT_TRUE(Parses<float>(S(HD_F32), "1.00000005960464477626", {std::nextafterf(1, 2)}));
  EXPECT_EQ(Refused(S(HD_F32), "1,2"), "wanted f32 as 1 number, got 2 in '1,2'");
}

TEST(Value, RoundsHalvesToEven) {
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "1", {0x3c00}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "-2", {0xc000}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "65504", {0x7bff}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "65520", {0x7c00}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "6e-8", {0x0001}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "0.00006103515625", {0x0400})) << "the smallest normal";
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "1.00048828125", {0x3c00})) << "a tie, down to even";
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "1.00146484375", {0x3c02})) << "a tie, up to even";
  EXPECT_TRUE(Parses<uint16_t>(S(HD_F16), "-0", {0x8000}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_BF16), "1", {0x3f80}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_BF16), "3.3895314e38", {0x7f7f}));
  EXPECT_TRUE(Parses<uint16_t>(S(HD_BF16), "3.4e38", {0x7f80}));
}

// Every f16 and bf16 that is a number survives printing and parsing.
TEST(Value, ParsesEverySmallFloatBack) {
  for (int bits = 0; bits < 0x10000; bits++) {
    for (bool brain : {false, true}) {
      int mant = brain ? 7 : 10, e = (bits & 0x7fff) >> mant, emin = brain ? -126 : -14;
      if (e == (0x7fff >> mant)) continue;
      int m = bits & ((1 << mant) - 1);
      double x = e ? std::ldexp(m + (1 << mant), emin + e - 1 - mant) : std::ldexp(m, emin - mant);
      char text[64];
      snprintf(text, sizeof text, "%.17g", bits & 0x8000 ? -x : x);
      ASSERT_TRUE(Parses<uint16_t>(S(brain ? HD_BF16 : HD_F16), text, {uint16_t(bits)})) << text;
    }
  }
}

TEST(Value, ParsesComposites) {
  EXPECT_TRUE(Parses<float>(hd_type_vec(HD_F32, 3), "1,2,3", {1, 2, 3}));
  EXPECT_TRUE(Parses<float>(hd_type_vec(HD_F32, 3), "( 1 , -2,3 )", {1, -2, 3}));
  EXPECT_TRUE(Parses<double>(hd_type_mat(HD_F64, 2, 2), "[1,2,3,4]", {1, 2, 3, 4}));
  EXPECT_TRUE(Parses<float>(hd_type_transform(HD_F32), "1,2,3,0,0,0,1", {1, 2, 3, 0, 0, 0, 1}));
  EXPECT_TRUE(Parses<bool>(hd_type_vec(HD_BOOL, 2), "true,0", {true, false}));
  EXPECT_EQ(Refused(hd_type_vec(HD_F32, 3), "1,2"), "wanted vec<f32, 3> as 3 numbers, got 2 in '1,2'");
  EXPECT_EQ(Refused(hd_type_vec(HD_F32, 3), "1,2,3,4"), "wanted vec<f32, 3> as 3 numbers, got 4 in '1,2,3,4'");
  EXPECT_EQ(Refused(hd_type_vec(HD_F32, 2), "1,,2"), "wanted vec<f32, 2>, got '1,,2', which is no f32");
  EXPECT_EQ(Refused(hd_type_struct(12), "1,2"), "wanted struct of 12 bytes, which only @FILE.npy can give");
}

TEST(Value, MapsShapes) {
  int64_t shape[] = {5, 4, 3}, out[4] = {0};
  EXPECT_TRUE(value_fits(hd_type_vec(HD_F32, 3), 2, {'f', 4}, 3, shape, out));
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[1], 4);
  EXPECT_TRUE(value_fits(hd_type_mat(HD_F32, 4, 3), 1, {'f', 4}, 3, shape, out));
  EXPECT_FALSE(value_fits(hd_type_mat(HD_F32, 3, 4), 1, {'f', 4}, 3, shape, out));
  EXPECT_FALSE(value_fits(hd_type_vec(HD_F32, 3), 2, {'f', 8}, 3, shape, out));
  EXPECT_FALSE(value_fits(hd_type_vec(HD_F32, 3), 1, {'f', 4}, 3, shape, out));
  EXPECT_TRUE(value_fits(hd_type_struct(12), 2, {'f', 4}, 3, shape, out)) << "3 floats are 12 bytes";
  EXPECT_TRUE(value_fits(hd_type_struct(12), 3, {'V', 12}, 3, shape, out));
  EXPECT_FALSE(value_fits(hd_type_struct(16), 3, {'V', 12}, 3, shape, out));
  EXPECT_TRUE(value_fits(S(HD_BF16), 3, {'u', 2}, 3, shape, out));
  EXPECT_FALSE(value_fits(S(HD_BF16), 3, {'f', 2}, 3, shape, out));
  char text[96];
  EXPECT_STREQ(value_wanted(hd_type_vec(HD_F32, 3), 2, text), "f32[n, m, 3]");
  EXPECT_STREQ(value_wanted(hd_type_struct(12), 1, text), "records of 12 bytes [n]");
}

} // namespace
