// tests/interp/interp_ops_test.cc -- one op at a time, against values worked out by hand.
#include <cmath>
#include <limits>

#include "interp_kernel.h"

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInf64 = std::numeric_limits<double>::infinity();

// Runs "%r: R = line", where the line's operands are %a, %b, %c.
template <class R, class... A> R Op(const std::string &line, A... a) {
  std::string text = "kernel @k(%o: array<" + std::string(IrName<R>::name) + ", 1>";
  const char *type[] = {IrName<A>::name...};
  for (size_t k = 0; k < sizeof...(A); k++) text += std::string(", %") + char('a' + k) + ": " + type[k];
  text += ") {\n  %r: " + std::string(IrName<R>::name) + " = " + line + "\n  %p: ptr<" + IrName<R>::name +
          "> = index %o, 0i32\n  store %p, %r\n  return\n}\n";
  InterpKernel k(text);
  R out[1];
  memset(out, 0xAA, sizeof out);
  k.Array(out, {1}, {1});
  (k.Value(a), ...);
  EXPECT_EQ(k.Run({1}), HD_OK) << k.error.detail;
  return out[0];
}

bool SameBits(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }
bool SameBits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

TEST(InterpOps, IntegersWrap) {
  EXPECT_EQ(Op<int32_t>("add %a, %b", INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(Op<int8_t>("add %a, %b", int8_t(127), int8_t(2)), -127);
  EXPECT_EQ(Op<uint8_t>("sub %a, %b", uint8_t(3), uint8_t(5)), 254);
  EXPECT_EQ(Op<int16_t>("mul %a, %b", int16_t(300), int16_t(300)), int16_t(24464));
  EXPECT_EQ(Op<uint64_t>("mul %a, %b", uint64_t(1) << 63, uint64_t(3)), uint64_t(1) << 63);
  EXPECT_EQ(Op<int64_t>("neg %a", INT64_MIN), INT64_MIN);
  EXPECT_EQ(Op<int32_t>("abs %a", -7), 7);
  EXPECT_EQ(Op<int8_t>("abs %a", int8_t(-128)), -128);
}

TEST(InterpOps, DivisionIsTotal) {
  EXPECT_EQ(Op<int32_t>("div %a, %b", -7, 2), -3);
  EXPECT_EQ(Op<int32_t>("div %a, %b", 5, 0), 0);
  EXPECT_EQ(Op<int32_t>("div %a, %b", INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(Op<int64_t>("div %a, %b", INT64_MIN, int64_t(-1)), INT64_MIN);
  EXPECT_EQ(Op<int8_t>("div %a, %b", int8_t(-128), int8_t(-1)), -128);
  EXPECT_EQ(Op<uint32_t>("div %a, %b", 0xFFFFFFFFu, 2u), 0x7FFFFFFFu);
  EXPECT_EQ(Op<int32_t>("rem %a, %b", -7, 2), -1);
  EXPECT_EQ(Op<int32_t>("rem %a, %b", -7, 0), -7);
  EXPECT_EQ(Op<int32_t>("rem %a, %b", INT32_MIN, -1), 0);
  EXPECT_EQ(Op<uint16_t>("rem %a, %b", uint16_t(65535), uint16_t(10)), 5);
}

TEST(InterpOps, MinAndMaxTakeTheSecondWhenUnordered) {
  EXPECT_EQ(Op<float>("min %a, %b", kNan, 2.0f), 2.0f);
  EXPECT_TRUE(std::isnan(Op<float>("min %a, %b", 2.0f, kNan)));
  EXPECT_TRUE(SameBits(Op<float>("min %a, %b", 0.0f, -0.0f), -0.0f));
  EXPECT_TRUE(SameBits(Op<float>("max %a, %b", -0.0f, 0.0f), 0.0f));
  EXPECT_TRUE(SameBits(Op<float>("max %a, %b", 0.0f, -0.0f), -0.0f));
  EXPECT_EQ(Op<int8_t>("max %a, %b", int8_t(-1), int8_t(1)), 1);
  EXPECT_EQ(Op<uint8_t>("max %a, %b", uint8_t(255), uint8_t(1)), 255);
}

TEST(InterpOps, UpperHalfOfProducts) {
  EXPECT_EQ(Op<int32_t>("mulhi %a, %b", -1, 1), -1);
  EXPECT_EQ(Op<uint32_t>("mulhi %a, %b", 0xFFFFFFFFu, 0xFFFFFFFFu), 0xFFFFFFFEu);
  EXPECT_EQ(Op<int64_t>("mulhi %a, %b", INT64_MIN, int64_t(2)), -1);
  EXPECT_EQ(Op<uint64_t>("mulhi %a, %b", UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(Op<int8_t>("mulhi %a, %b", int8_t(100), int8_t(100)), 39);
}

TEST(InterpOps, FloatsRoundOnce) {
  EXPECT_EQ(Op<float>("add %a, %b", 16777216.0f, 1.0f), 16777216.0f);
  EXPECT_EQ(Op<float>("fma %a, %b, %c", 16777217.0f / 16777216.0f, 1.0f, -1.0f), 0.0f);
  EXPECT_EQ(Op<float>("fma %a, %b, %c", 1.00000011920929f, 1.00000011920929f, -1.00000023841858f),
            std::ldexp(1.0f, -46));
  EXPECT_EQ(Op<double>("fma %a, %b, %c", 1.0 + std::ldexp(1.0, -52), 1.0 + std::ldexp(1.0, -52),
                       -(1.0 + std::ldexp(1.0, -51))),
            std::ldexp(1.0, -104));
  EXPECT_EQ(Op<float>("div %a, %b", 1.0f, 3.0f), 0.333333343f);
  EXPECT_EQ(Op<float>("div %a, %b", 1.0f, 0.0f), kInf);
  EXPECT_EQ(Op<float>("sqrt %a", 2.0f), 1.41421354f);
  EXPECT_TRUE(std::isnan(Op<float>("sqrt %a", -1.0f)));
  EXPECT_TRUE(SameBits(Op<float>("sqrt %a", -0.0f), -0.0f));
  EXPECT_EQ(Op<float>("mul %a, %b", std::ldexp(1.0f, -100), std::ldexp(1.0f, -49)), std::ldexp(1.0f, -149));
}

TEST(InterpOps, HalvesAreComputedInSingleAndRounded) {
  EXPECT_EQ((Op<F16, F16, F16>("add %a, %b", {0x3C00}, {0x1000}).bits), 0x3C00);    // 1 + 2^-11: a tie, to even
  EXPECT_EQ((Op<F16, F16, F16>("mul %a, %b", {0x7BFF}, {0x4000}).bits), 0x7C00);    // 65504 * 2 is infinite
  EXPECT_EQ((Op<BF16, BF16, BF16>("add %a, %b", {0x3F80}, {0x3B80}).bits), 0x3F80); // 1 + 2^-8: a tie, to even
  EXPECT_EQ((Op<BF16, BF16, BF16>("sub %a, %b", {0x4000}, {0x3F80}).bits), 0x3F80);
}

TEST(InterpOps, SignsAreBits) {
  EXPECT_TRUE(SameBits(Op<float>("neg %a", 0.0f), -0.0f));
  EXPECT_TRUE(std::signbit(Op<float>("neg %a", kNan)));
  EXPECT_TRUE(SameBits(Op<double>("abs %a", -0.0), 0.0));
  EXPECT_EQ(Op<float>("copysign %a, %b", 3.0f, -0.0f), -3.0f);
  EXPECT_EQ((Op<F16, F16, F16>("copysign %a, %b", {0xBC00}, {0x0000}).bits), 0x3C00);
}

TEST(InterpOps, RoundingToIntegers) {
  EXPECT_EQ(Op<float>("floor %a", -1.5f), -2.0f);
  EXPECT_EQ(Op<float>("ceil %a", -1.5f), -1.0f);
  EXPECT_EQ(Op<float>("trunc %a", -1.5f), -1.0f);
  EXPECT_EQ(Op<float>("rint %a", 2.5f), 2.0f);
  EXPECT_EQ(Op<double>("rint %a", 3.5), 4.0);
  EXPECT_TRUE(SameBits(Op<float>("ceil %a", -0.5f), -0.0f));
  EXPECT_EQ(Op<float>("floor %a", 1e30f), 1e30f);
}

TEST(InterpOps, Bits) {
  EXPECT_EQ(Op<uint8_t>("and %a, %b", uint8_t(0xF0), uint8_t(0x3C)), 0x30);
  EXPECT_EQ(Op<int32_t>("or %a, %b", -256, 1), -255);
  EXPECT_EQ(Op<uint16_t>("xor %a, %b", uint16_t(0xFFFF), uint16_t(0x0F0F)), 0xF0F0);
  EXPECT_EQ(Op<int8_t>("not %a", int8_t(0)), -1);
  EXPECT_EQ(Op<bool>("not %a", true), false);
  EXPECT_EQ(Op<bool>("xor %a, %b", true, true), false);
  EXPECT_EQ(Op<int32_t>("shl %a, %b", 1, 33), 2);
  EXPECT_EQ(Op<int32_t>("shr %a, %b", -8, 1), -4);
  EXPECT_EQ(Op<uint32_t>("shr %a, %b", 0x80000000u, 31u), 1u);
  EXPECT_EQ(Op<int8_t>("shr %a, %b", int8_t(-128), int8_t(15)), -1); // 15 mod 8 = 7
  EXPECT_EQ(Op<uint8_t>("shl %a, %b", uint8_t(0x81), uint8_t(1)), 2);
  EXPECT_EQ(Op<uint64_t>("popcount %a", ~uint64_t(0)), 64u);
  EXPECT_EQ(Op<int8_t>("popcount %a", int8_t(-1)), 8);
  EXPECT_EQ(Op<uint16_t>("clz %a", uint16_t(1)), 15);
  EXPECT_EQ(Op<uint16_t>("clz %a", uint16_t(0)), 16);
  EXPECT_EQ(Op<int32_t>("ctz %a", 8), 3);
  EXPECT_EQ(Op<int8_t>("ctz %a", int8_t(0)), 8);
}

TEST(InterpOps, ComparisonsOfNanAreFalse) {
  for (const char *op : {"eq", "lt", "le", "gt", "ge"})
    EXPECT_FALSE(Op<bool>(std::string(op) + " %a, %b", kNan, kNan)) << op;
  EXPECT_TRUE(Op<bool>("ne %a, %b", kNan, kNan));
  EXPECT_TRUE(Op<bool>("eq %a, %b", 0.0f, -0.0f));
  EXPECT_TRUE(Op<bool>("lt %a, %b", false, true));
  EXPECT_TRUE(Op<bool>("lt %a, %b", -1, 1));
  EXPECT_FALSE(Op<bool>("lt %a, %b", 0xFFFFFFFFu, 1u));
  EXPECT_TRUE(Op<bool>("ge %a, %b", int8_t(-128), int8_t(-128)));
}

TEST(InterpOps, Selects) {
  EXPECT_EQ(Op<int32_t>("select %a, %b, %c", true, 3, 4), 3);
  EXPECT_EQ(Op<int32_t>("select %a, %b, %c", false, 3, 4), 4);
}

TEST(InterpOps, ConversionsWrapRoundAndSaturate) {
  EXPECT_EQ(Op<int8_t>("cvt %a", 300), 44);
  EXPECT_EQ(Op<uint64_t>("cvt %a", int8_t(-1)), UINT64_MAX);
  EXPECT_EQ(Op<int64_t>("cvt %a", 0xFFFFFFFFu), 4294967295);
  EXPECT_EQ(Op<int32_t>("cvt %a", 3e9f), INT32_MAX);
  EXPECT_EQ(Op<int32_t>("cvt %a", -3e9f), INT32_MIN);
  EXPECT_EQ(Op<int32_t>("cvt %a", kNan), 0);
  EXPECT_EQ(Op<uint32_t>("cvt %a", -1.5f), 0u);
  EXPECT_EQ(Op<uint8_t>("cvt %a", 255.9f), 255);
  EXPECT_EQ(Op<uint64_t>("cvt %a", kInf64), UINT64_MAX);
  EXPECT_EQ(Op<int8_t>("cvt %a", -129.0), -128);
  EXPECT_EQ(Op<float>("cvt %a", 16777217), 16777216.0f);
  EXPECT_EQ(Op<float>("cvt %a", UINT64_MAX), 18446744073709551616.0f);
  EXPECT_EQ(Op<double>("cvt %a", 0.1f), double(0.1f));
  EXPECT_EQ(Op<float>("cvt %a", 1e300), kInf);
  EXPECT_EQ((Op<F16>("cvt %a", 65520.0f).bits), 0x7C00);
  EXPECT_EQ((Op<F16>("cvt %a", std::ldexp(1.0f, -24)).bits), 0x0001);
  EXPECT_EQ((Op<F16>("cvt %a", 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)).bits), 0x3C00); // by way of f32
  EXPECT_EQ((Op<BF16>("cvt %a", 3.0e38f).bits), 0x7F62);
  EXPECT_EQ((Op<float, F16>("cvt %a", {0x0001})), std::ldexp(1.0f, -24));
  EXPECT_EQ((Op<float, BF16>("cvt %a", {0xC040})), -3.0f);
  EXPECT_EQ(Op<bool>("cvt %a", 256), true);
  EXPECT_EQ(Op<bool>("cvt %a", -0.0f), false);
  EXPECT_EQ(Op<bool>("cvt %a", kNan), true);
  EXPECT_EQ(Op<float>("cvt %a", true), 1.0f);
}

TEST(InterpOps, BitcastsKeepBits) {
  EXPECT_EQ(Op<uint32_t>("bitcast %a", -0.0f), 0x80000000u);
  EXPECT_EQ(Op<double>("bitcast %a", int64_t(0x3FF0000000000000)), 1.0);
  EXPECT_EQ((Op<uint16_t, BF16>("bitcast %a", {0x7FC1})), 0x7FC1);
  EXPECT_EQ((Op<F16>("bitcast %a", int16_t(-1)).bits), 0xFFFF);
}

} // namespace
