// tests/fakecuda/ptx_tex_test.cc -- tex: places, weights of 8 bits, wrapping, formats, levels; and what is said of mistakes.
#include <cmath>
#include <cstring>

#include "tests/fakecuda/ptx_testing.h"

namespace ptx {
namespace {

PtxTexture Texture(int dims, std::vector<uint32_t> size, bool linear) {
  PtxTexture t = {};
  t.dims = dims;
  for (int a = 0; a < 3; a++) t.size[a] = a < dims ? size[a] : 1, t.wrap[a] = PTX_TEX_CLAMP;
  t.channels = t.levels = 1;
  t.format = PTX_TEX_F32;
  t.normalized = true;
  t.linear = linear;
  t.most = 100;
  return t;
}

enum { kTexels = 512 }; // bytes in front of the places and results

struct Texel {
  float v[4];
};

// What the unit gives at places of x, y, z and a level.
std::vector<Texel> Ask(PtxTexture t, const void *texels, size_t bytes, const std::vector<Texel> &places,
                       bool level = true, bool adversary = false) {
  std::vector<uint8_t> data(kTexels + places.size() * sizeof(Texel));
  memcpy(data.data(), texels, bytes);
  memcpy(data.data() + kTexels, places.data(), places.size() * sizeof(Texel));
  const char *at[] = {"{%f0}", "{%f0, %f1}", "{%f0, %f1, %f2, %f2}"};
  const std::string body =
      ".reg .b32 %r; .reg .b64 %a<4>; .reg .f32 %f<8>; ld.param.u64 %a0, [p]; mov.u32 %r, %tid.x;\n"
      "mul.wide.u32 %a1, %r, 16; add.s64 %a2, %a0, %a1; mov.b64 %a3, 7;\n"
      "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%a2 + 512];\n tex" +
      std::string(level ? ".level." : ".") + std::to_string(t.dims) + "d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%a3, " +
      at[t.dims - 1] + "]" + (level ? ", %f3" : "") + ";\n st.global.v4.f32 [%a2 + 512], {%f4, %f5, %f6, %f7}; ret;";
  Way way;
  way.block = unsigned(places.size());
  way.texture = &t;
  way.adversary = adversary;
  EXPECT_EQ(RunKernel(body, &data, way).text, "");
  std::vector<Texel> r(places.size());
  memcpy(r.data(), data.data() + kTexels, r.size() * sizeof(Texel));
  return r;
}

const float kRamp[4] = {0, 256, 512, 768};

TEST(PtxTex, WeighsWithEightBits) {
  std::vector<Texel> places;
  for (int k = 0; k <= 64; k++) places.push_back({{(1.5f + float(k) / 96) / 4, 0, 0, 0}});
  std::vector<Texel> r = Ask(Texture(1, {4}, true), kRamp, sizeof kRamp, places);
  for (int k = 0; k <= 64; k++) {
    const float exact = 256 + 256 * float(k) / 96;
    EXPECT_EQ(r[k].v[0], std::floor(exact + 0.5f)) << k; // 1 / 256 of the step of 256
  }
  bool low = false, high = false;
  r = Ask(Texture(1, {4}, true), kRamp, sizeof kRamp, places, true, true);
  for (int k = 0; k <= 64; k++) {
    const float exact = 256 + 256 * float(k) / 96;
    EXPECT_LT(std::fabs(r[k].v[0] - exact), 1) << k;
    low |= r[k].v[0]<exact - 0.5f, high |= r[k].v[0]> exact + 0.5f;
  }
  EXPECT_TRUE(low && high) << "the adversary cuts off and rounds up";
}

TEST(PtxTex, WrapsEachWay) {
  // Texels -3 to 6 of four.
  const int want[4][10] = {{1, 2, 3, 0, 1, 2, 3, 0, 1, 2},
                           {0, 0, 0, 0, 1, 2, 3, 3, 3, 3},
                           {2, 1, 0, 0, 1, 2, 3, 3, 2, 1},
                           {9, 9, 9, 0, 1, 2, 3, 9, 9, 9}};
  std::vector<Texel> places;
  for (int k = -3; k <= 6; k++) places.push_back({{(float(k) + 0.5f) / 4, 0, 0, 0}});
  for (int wrap = 0; wrap < 4; wrap++)
    for (bool linear : {false, true}) { // on a centre the filter does not matter
      PtxTexture t = Texture(1, {4}, linear);
      t.wrap[0] = PtxTexWrap(wrap);
      t.border[0] = 9 * 256;
      std::vector<Texel> r = Ask(t, kRamp, sizeof kRamp, places);
      for (int k = 0; k < 10; k++) EXPECT_EQ(r[k].v[0], 256 * float(want[wrap][k])) << wrap << linear << k;
    }
  PtxTexture t = Texture(1, {4}, true);
  const float half[] = {384, 0, 0, 1000}; // at the lower edge: between the last texel, the first, itself and the border
  for (int wrap = 0; wrap < 4; wrap++) {
    t.wrap[0] = PtxTexWrap(wrap);
    t.border[0] = 2000;
    EXPECT_EQ(Ask(t, kRamp, sizeof kRamp, {{{0, 0, 0, 0}}})[0].v[0], half[wrap]);
  }
}

TEST(PtxTex, HasOneToThreeDimensions) {
  float texels[2 * 3 * 4];
  for (int k = 0; k < 24; k++) texels[k] = float(k % 4 + 16 * (k / 4 % 3) + 256 * (k / 12));
  const std::vector<Texel> places = {{{0.5f, 0.5f, 0.5f, 0}}, {{0.5f, 1 / 3.0f, 0.5f, 0}}, {{0.25f, 0.5f, 0.375f, 0}}};
  const float one[] = {1.5f, 1.5f, 0.5f}, two[] = {17.5f, 9.5f, 16.5f}, three[] = {145.5f, 137.5f, 80.5f};
  const float *want[] = {one, two, three};
  for (int dims = 1; dims <= 3; dims++) {
    std::vector<Texel> r = Ask(Texture(dims, {4, 3, 2}, true), texels, sizeof texels, places);
    for (int k = 0; k < 3; k++) EXPECT_NEAR(r[k].v[0], want[dims - 1][k], 1e-4) << dims << " " << k;
    std::vector<Texel> base = Ask(Texture(dims, {4, 3, 2}, true), texels, sizeof texels, places, false);
    for (int k = 0; k < 3; k++) EXPECT_EQ(base[k].v[0], r[k].v[0]);
  }
}

TEST(PtxTex, ReadsEachFormat) {
  const uint8_t bytes[4] = {255, 51, 0, 102};
  const uint16_t halves[4] = {0x3c00, 0xc000, 0x0001, 0x7bff};
  const std::vector<Texel> first = {{{0.1f, 0, 0, 0}}};
  PtxTexture t = Texture(1, {2}, false);
  t.channels = 2;
  t.format = PTX_TEX_U8;
  EXPECT_EQ(Ask(t, bytes, sizeof bytes, first)[0].v[1], 51.0f / 255);
  EXPECT_TRUE(std::isnan(Ask(t, bytes, sizeof bytes, first)[0].v[2]))
      << "nobody says what a channel is that is not there";
  t.channels = 4;
  t.size[0] = 1;
  EXPECT_EQ(Ask(t, bytes, sizeof bytes, first)[0].v[3], 0.4f);
  t.format = PTX_TEX_F16;
  Texel r = Ask(t, halves, sizeof halves, first)[0];
  EXPECT_EQ(r.v[0], 1);
  EXPECT_EQ(r.v[1], -2);
  EXPECT_EQ(r.v[2], std::ldexp(1.0f, -24));
  EXPECT_EQ(r.v[3], 65504);
}

TEST(PtxTex, TakesLevels) {
  const float texels[4 + 2 + 1] = {1, 1, 1, 1, 10, 10, 100};
  PtxTexture t = Texture(1, {4}, true);
  t.levels = 3, t.level[1] = 16, t.level[2] = 24;
  const float lods[] = {-1, 0, 0.4f, 0.5f, 1.5f, 1.75f, 2, 9};
  const float nearest[] = {1, 1, 1, 10, 100, 100, 100, 100}, linear[] = {1, 1, 4.6f, 5.5f, 55, 77.5f, 100, 100};
  for (int k = 0; k < 8; k++) {
    t.linear_levels = false;
    EXPECT_EQ(Ask(t, texels, sizeof texels, {{{0.3f, 0, 0, lods[k]}}})[0].v[0], nearest[k]) << lods[k];
    t.linear_levels = true;
    EXPECT_NEAR(Ask(t, texels, sizeof texels, {{{0.3f, 0, 0, lods[k]}}})[0].v[0], linear[k], 90.0f / 512) << lods[k];
  }
  t.bias = 1, t.most = 1.25f;
  EXPECT_EQ(Ask(t, texels, sizeof texels, {{{0.3f, 0, 0, 0}}})[0].v[0], 10);
  EXPECT_EQ(Ask(t, texels, sizeof texels, {{{0.3f, 0, 0, 1}}})[0].v[0], 32.5f);
}

TEST(PtxTex, OfNoTextureIsAFault) {
  const char *body = ".reg .b64 %a; .reg .f32 %f<4>; mov.b64 %a, OBJECT; mov.f32 %f0, 0f00000000;\n"
                     "tex.DIMSd.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a, AT]; ret;";
  auto run = [&](const std::string &object, int dims, const std::string &at) {
    std::string text = body;
    text.replace(text.find("OBJECT"), 6, object);
    text.replace(text.find("DIMS"), 4, std::to_string(dims));
    text.replace(text.find("AT]"), 2, at);
    PtxTexture t = Texture(1, {4}, false);
    Way way;
    way.texture = &t;
    std::vector<float> data(kRamp, kRamp + 4);
    return RunKernel(text, &data, way);
  };
  EXPECT_EQ(run("7", 1, "{%f0}").text, "");
  EXPECT_EQ(run("8", 1, "{%f0}").err.code, PTX_ILLEGAL_ADDRESS);
  EXPECT_NE(run("0", 1, "{%f0}").text.find("0x0 is no texture of 1 dimensions"), std::string::npos);
  EXPECT_NE(run("7", 2, "{%f0, %f0}").text.find("0x7 is no texture of 2 dimensions"), std::string::npos);
}

TEST(PtxTex, OfAnotherFormIsRefused) {
  const std::pair<const char *, const char *> bad[] = {
      {"tex.4d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0}]", ".1d, .2d or .3d is missing"},
      {"tex.1d.f32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0}]", "it gives a .v4"},
      {"tex.1d.v4.s32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0}]", "only .f32.f32"},
      {"tex.1d.v4.f32.f32 {%f0, %f1, %f2}, [%a, {%f0}]", "the number of registers"},
      {"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0}]", "the number of registers"},
      {"tex.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0, %f0, %f0}]", "the number of registers"},
      {"tex.level.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0}]", ""},
      {"tex.grad.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a, {%f0}]", "grad"},
      {"tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%r, {%f0}]", ""}};
  for (const auto &[text, why] : bad) {
    std::vector<float> data(4);
    Result r = RunKernel(".reg .b64 %a; .reg .b32 %r; .reg .f32 %f<4>; " + std::string(text) + "; ret;", &data, Way());
    EXPECT_EQ(r.err.code, PTX_BAD_TEXT) << text;
    EXPECT_NE(r.text.find(why), std::string::npos) << text << ": " << r.text;
  }
}

} // namespace
} // namespace ptx
