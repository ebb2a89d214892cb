// tests/texture/texture_test.cc -- textures: SciPy's values between texels, formats, levels, slopes, any place, and what is refused.
#include "texture_fixture.h"

namespace {

using namespace tex;

const std::vector<int64_t> kSizes[] = {{7}, {6, 5}, {5, 3, 4}};
const int kWraps[] = {HD_TEXTURE_REPEAT, HD_TEXTURE_CLAMP, HD_TEXTURE_MIRROR, HD_TEXTURE_BORDER};

TEST(Texture, BetweenTexelsIsWhatSciPyFinds) {
  const std::vector<float> places = Npy("places");
  const size_t n = places.size() / 3;
  for (int axes = 1; axes <= 3; axes++) {
    const std::vector<float> field = Npy("field" + std::to_string(axes)), want = Npy("linear" + std::to_string(axes));
    const std::string text =
        "kernel k(" + Types(axes) + "f32 r[]) { r[tid()] = texture_sample<f32>(t, " + At(axes) + "); }";
    for (int wrap : kWraps) {
      HdTextureOptions o = Options(HD_TEXTURE_F32, 1, wrap, HD_TEXTURE_LINEAR);
      o.border[0] = -0.75f;
      std::vector<float> got = Everywhere::It().Ask(text, o, kSizes[axes - 1], field.data(), places, 1);
      for (size_t i = 0; i < n; i++)
        ASSERT_NEAR(got[i], want[wrap * n + i], 2e-6) << axes << " axes, wrap " << wrap << ", place " << i;
    }
  }
}

TEST(Texture, SlopesAreWhatSciPyFinds) {
  const std::vector<float> places = Npy("places");
  const size_t n = places.size() / 3;
  const char *body[] = {
      "var dx = 0.0; r[2 * tid()] = texture_gradient<f32>(t, p[tid()].x, dx); r[2 * tid() + 1] = dx;",
      "let i = 3 * tid(); var dx = 0.0; var dy = 0.0; r[i] = texture_gradient<f32>(t, p[tid()].xy, dx, dy);"
      " r[i + 1] = dx; r[i + 2] = dy;",
      "let i = 4 * tid(); var dx = 0.0; var dy = 0.0; var dz = 0.0;"
      " r[i] = texture_gradient<f32>(t, p[tid()], dx, dy, dz); r[i + 1] = dx; r[i + 2] = dy; r[i + 3] = dz;"};
  for (int axes = 1; axes <= 3; axes++) {
    const std::string number = std::to_string(axes),
                      text = "kernel k(" + Types(axes) + "f32 r[]) { " + body[axes - 1] + " }";
    const std::vector<float> field = Npy("field" + number), value = Npy("linear" + number),
                             slope = Npy("slope" + number);
    for (int wrap : kWraps) {
      HdTextureOptions o = Options(HD_TEXTURE_F32, 1, wrap, HD_TEXTURE_LINEAR);
      o.border[0] = -0.75f;
      std::vector<float> got = Everywhere::It().Ask(text, o, kSizes[axes - 1], field.data(), places, 1 + axes);
      for (size_t i = 0; i < n; i++) {
        ASSERT_NEAR(got[i * (1 + axes)], value[wrap * n + i], 2e-6);
        for (int x = 0; x < axes; x++)
          ASSERT_NEAR(got[i * (1 + axes) + 1 + x], slope[(wrap * axes + x) * n + i], 2e-5)
              << axes << " axes, wrap " << wrap << ", place " << i << ", along " << x;
      }
    }
    HdTextureOptions o = Options(HD_TEXTURE_F32, 1, HD_TEXTURE_CLAMP, HD_TEXTURE_NEAREST);
    std::vector<float> flat = Everywhere::It().Ask(text, o, kSizes[axes - 1], field.data(), places, 1 + axes);
    for (size_t i = 0; i < n; i++)
      for (int x = 0; x < axes; x++) ASSERT_EQ(flat[i * (1 + axes) + 1 + x], 0);
  }
}

TEST(Texture, OfARampHasItsSlope) {
  // 2 x + 3 y - 1 at the centres, in two channels.
  std::vector<float> texels;
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 8; x++)
      for (int c = 0; c < 2; c++)
        texels.push_back((c ? -1.0f : 1.0f) * (2 * (float(x) + 0.5f) / 8 + 3 * (float(y) + 0.5f) / 4 - 1));
  const std::vector<float> places = {0.3f, 0.4f, 0, 0.71f, 0.66f, 0, 1.5f, 0.5f, 0, 1.7f, 1.4f, 0};
  HdTextureOptions o = Options(HD_TEXTURE_F32, 2, HD_TEXTURE_MIRROR, HD_TEXTURE_LINEAR);
  const std::string text =
      "kernel k(Texture2D t, vec3 p[], f32 r[]) { let i = 6 * tid(); var dx = vec2(0); var dy = vec2(0);"
      " let v = texture_gradient<vec2>(t, p[tid()].xy, dx, dy); r[i] = v.x; r[i + 1] = v.y;"
      " r[i + 2] = dx.x; r[i + 3] = dx.y; r[i + 4] = dy.x; r[i + 5] = dy.y; }";
  std::vector<float> got = Everywhere::It().Ask(text, o, {8, 4}, texels.data(), places, 6);
  const float at[4][2] = {{0.3f, 0.4f}, {0.71f, 0.66f}, {0.5f, 0.5f}, {0.3f, 0.6f}}; // mirrored back
  const float sign[4][2] = {{1, 1}, {1, 1}, {-1, 1}, {-1, -1}};
  for (int i = 0; i < 4; i++)
    for (int c = 0; c < 2; c++) {
      float s = c ? -1.0f : 1.0f;
      EXPECT_NEAR(got[i * 6 + c], s * (2 * at[i][0] + 3 * at[i][1] - 1), 1e-6);
      EXPECT_NEAR(got[i * 6 + 2 + c], s * 2 * sign[i][0], 1e-5);
      EXPECT_NEAR(got[i * 6 + 4 + c], s * 3 * sign[i][1], 1e-5);
    }
}

// --- formats ---

uint16_t HalfOf(int k) {
  return uint16_t((k % 2 ? 0x8000 : 0) | (0x3000 + k * 37 % 0x1000));
} // 0.125 to 2, of both signs
float FromHalf(uint16_t h) {
  int e = (h >> 10 & 31) - 15;
  float v = std::ldexp(1.0f + float(h & 1023) / 1024.0f, e);
  return h & 0x8000 ? -v : v;
}

// Of 6 x 5 texels the bytes and the numbers.
std::vector<uint8_t> Texels(HdTextureFormat format, int channels, std::vector<float> *numbers) {
  std::vector<uint8_t> bytes;
  auto put = [&](const void *p, size_t n) {
    bytes.insert(bytes.end(), static_cast<const uint8_t *>(p), static_cast<const uint8_t *>(p) + n);
  };
  for (int k = 0; k < 30 * channels; k++) {
    float f = float(k * 53 % 97) / 31 - 1;
    uint16_t h = HalfOf(k);
    uint8_t b = uint8_t(k * 91);
    if (format == HD_TEXTURE_F32) put(&f, 4), numbers->push_back(f);
    if (format == HD_TEXTURE_F16) put(&h, 2), numbers->push_back(FromHalf(h));
    if (format == HD_TEXTURE_U8) put(&b, 1), numbers->push_back(float(b) / 255.0f);
  }
  return bytes;
}

TEST(Texture, HasTheNumbersOfItsFormatAndChannels) {
  std::vector<float> places;
  for (int y = -1; y <= 5; y++)
    for (int x = -1; x <= 6; x++) places.insert(places.end(), {(float(x) + 0.5f) / 6, (float(y) + 0.5f) / 5, 0});
  for (HdTextureFormat format : {HD_TEXTURE_F32, HD_TEXTURE_F16, HD_TEXTURE_U8})
    for (int channels : {1, 2, 4}) {
      std::vector<float> numbers;
      std::vector<uint8_t> bytes = Texels(format, channels, &numbers);
      HdTextureOptions o = Options(format, channels, HD_TEXTURE_BORDER, HD_TEXTURE_NEAREST);
      const float border[4] = {7, 8, 9, 10};
      memcpy(o.border, border, sizeof border);
      // vec3, vec4 and vec2 of one place, by the filter and by the texel's number
      const std::string text =
          "kernel k(Texture2D t, vec3 p[], f32 r[]) { let i = 10 * tid(); let at = p[tid()].xy;"
          " let a = texture_sample<vec4>(t, at); let b = texture_sample<vec3>(t, at);"
          " let c = texture_fetch<vec2>(t, vec2i(floor(at * vec2(6, 5))), 0); r[i + 9] = texture_sample<f32>(t, at);"
          " static for (k in 0..4) { r[i + k] = a[k]; } static for (k in 0..3) { r[i + 4 + k] = b[k]; }"
          " r[i + 7] = c.x; r[i + 8] = c.y; }";
      std::vector<float> got = Everywhere::It().Ask(text, o, {6, 5}, bytes.data(), places, 10);
      for (int k = 0; k < 56; k++) {
        const int x = k % 8 - 1, y = k / 8 - 1;
        for (int c = 0; c < 4; c++) {
          const bool in = x >= 0 && x < 6 && y >= 0 && y < 5;
          const float want = c >= channels ? (c == 3 ? 1.0f : 0.0f)
                             : in          ? numbers[(y * 6 + x) * channels + c]
                                           : border[c];
          ASSERT_EQ(got[k * 10 + c], want)
              << "format " << format << " channels " << channels << " texel " << x << " " << y << " " << c;
          ASSERT_TRUE(c > 2 || got[k * 10 + 4 + c] == want) << c;
          ASSERT_TRUE(c > 1 || got[k * 10 + 7 + c] == want) << "fetched texel " << x << " " << y << " " << c;
          ASSERT_TRUE(c > 0 || got[k * 10 + 9] == want);
        }
      }
    }
}

TEST(Texture, FiltersEachFormatAlike) {
  const std::vector<float> places = Npy("places");
  const std::string text = "kernel k(Texture2D t, vec3 p[], f32 r[]) { let v = texture_sample<vec4>(t, p[tid()].xy);"
                           " static for (k in 0..4) { r[4 * tid() + k] = v[k]; } }";
  for (HdTextureFormat format : {HD_TEXTURE_F16, HD_TEXTURE_U8})
    for (int channels : {1, 2, 4}) {
      std::vector<float> numbers;
      std::vector<uint8_t> bytes = Texels(format, channels, &numbers);
      HdTextureOptions o = Options(format, channels, HD_TEXTURE_REPEAT, HD_TEXTURE_LINEAR);
      std::vector<float> got = Everywhere::It().Ask(text, o, {6, 5}, bytes.data(), places, 4);
      HdTextureOptions plain = Options(HD_TEXTURE_F32, channels, HD_TEXTURE_REPEAT, HD_TEXTURE_LINEAR);
      HdTexture *t = Everywhere::It().First().Texture(plain, {6, 5}, numbers.data());
      EXPECT_EQ(got, Everywhere::It().First().Ask(text, t, places, 4));
      hd_texture_free(t);
    }
}

TEST(Texture, HasEachByteRoundedOnce) {
  std::vector<uint8_t> bytes(256);
  std::vector<float> places;
  for (int b = 0; b < 256; b++) bytes[b] = uint8_t(b), places.insert(places.end(), {float(b), 0, 0});
  HdTextureOptions o = Options(HD_TEXTURE_U8, 1, HD_TEXTURE_CLAMP, HD_TEXTURE_NEAREST);
  std::vector<float> got = Everywhere::It().Ask(
      "kernel k(Texture1D t, vec3 p[], f32 r[]) { r[tid()] = texture_fetch<f32>(t, i32(p[tid()].x), 0); }", o, {256},
      bytes.data(), places, 1);
  for (int b = 0; b < 256; b++) EXPECT_EQ(got[b], float(b) / 255.0f) << b;
}

// --- levels ---

TEST(Texture, LevelsAreMeansOverBoxesOfAnySize) {
  const std::pair<const char *, std::vector<int64_t>> chains[] = {
      {"chain_even", {8, 8}}, {"chain_odd", {13, 7}}, {"chain_thin", {9, 1}}, {"chain_solid", {5, 4, 3}}};
  for (auto &[name, size] : chains) {
    std::vector<float> want = Npy(name);
    HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
    o.levels = 0;
    std::vector<float> got = Everywhere::It().Levels<float>(o, size, want.data());
    ASSERT_EQ(got.size(), want.size()) << name;
    for (size_t i = 0; i < want.size(); i++) EXPECT_NEAR(got[i], want[i], 5e-7) << name << " " << i;
    // In bytes and halves, each level is of the rounded one below.
    std::vector<uint8_t> bytes;
    std::vector<uint16_t> halves;
    size_t texels = 1;
    for (int64_t n : size) texels *= size_t(n);
    for (size_t i = 0; i < 2 * texels; i++) bytes.push_back(uint8_t(i * 73 + i / 7)), halves.push_back(HalfOf(int(i)));
    o.format = HD_TEXTURE_U8;
    o.channels = 2;
    std::vector<uint8_t> b = Everywhere::It().Levels<uint8_t>(o, size, bytes.data());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), b.begin()));
    ASSERT_EQ(b.size(), 2 * want.size());
    o.format = HD_TEXTURE_F16;
    std::vector<uint16_t> h = Everywhere::It().Levels<uint16_t>(o, size, halves.data());
    ASSERT_EQ(h.size(), 2 * want.size());
  }
}

TEST(Texture, LevelsOfBytesRoundTiesToEven) {
  const uint8_t bytes[2][8] = {{0, 1, 1, 2, 254, 255, 255, 255}, {0, 1, 1, 2, 254, 255, 255, 255}};
  HdTextureOptions o = Options(HD_TEXTURE_U8, 1, HD_TEXTURE_CLAMP, HD_TEXTURE_NEAREST);
  o.levels = 2;
  std::vector<uint8_t> all = Everywhere::It().Levels<uint8_t>(o, {8, 2}, bytes);
  EXPECT_EQ(std::vector<uint8_t>(all.begin() + 16, all.end()), (std::vector<uint8_t>{0, 2, 254, 255}));
}

TEST(Texture, GivenLevelsStayAndOthersAreMade) {
  const float texels[4 + 2] = {1, 2, 3, 4, 100, 200};
  HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
  o.levels = 0;
  o.given = 2;
  EXPECT_EQ(Everywhere::It().Levels<float>(o, {4}, texels), (std::vector<float>{1, 2, 3, 4, 100, 200, 150}));
  o.given = 0;
  EXPECT_EQ(Everywhere::It().Levels<float>(o, {4}, nullptr), std::vector<float>(7));
  Place &gpu = Everywhere::It().Gpu();
  o.given = 2;
  HdTexture *t = gpu.Texture(o, {4}, texels);
  const float other[4] = {5, 7, 9, 13};
  float got[2] = {};
  EXPECT_EQ(hd_texture_write(t, 0, other), HD_OK);
  EXPECT_EQ(hd_texture_read(t, 1, got), HD_OK);
  EXPECT_EQ(got[1], 200);
  EXPECT_EQ(hd_texture_make_levels(t), HD_OK) << gpu.Why();
  EXPECT_EQ(hd_texture_read(t, 1, got), HD_OK);
  EXPECT_EQ(got[0], 6);
  EXPECT_EQ(got[1], 11);
  EXPECT_EQ(hd_texture_read(t, 2, got), HD_OK);
  EXPECT_EQ(got[0], 8.5f);
  hd_texture_free(t);
}

TEST(Texture, LevelOfDetailChoosesLevels) {
  // Each level is of one number: 1, 10, 100, 1000.
  std::vector<float> texels(64, 1);
  texels.insert(texels.end(), 16, 10);
  texels.insert(texels.end(), 4, 100);
  texels.push_back(1000);
  HdTextureOptions o = Options(HD_TEXTURE_F32, 1, HD_TEXTURE_REPEAT, HD_TEXTURE_LINEAR);
  o.levels = 0;
  o.given = 4;
  std::vector<float> places;
  const float lods[] = {-3, 0, 0.25f, 0.49f, 0.5f, 1, 1.5f, 1.75f, 2.5f, 3, 9, kInf, -kInf, NAN};
  const float nearest[] = {1, 1, 1, 1, 10, 10, 100, 100, 1000, 1000, 1000, 1000, 1, 1};
  const float linear[] = {1, 1, 3.25f, 5.41f, 5.5f, 10, 55, 77.5f, 550, 1000, 1000, 1000, 1, 1};
  for (float lod : lods) places.insert(places.end(), {0.3f, 0.7f, lod});
  const std::string text =
      "kernel k(Texture2D t, vec3 p[], f32 r[]) { r[tid()] = texture_sample_lod<f32>(t, p[tid()].xy, p[tid()].z); }";
  std::vector<float> got = Everywhere::It().Ask(text, o, {8, 8}, texels.data(), places, 1);
  for (size_t i = 0; i < got.size(); i++) EXPECT_EQ(got[i], nearest[i]) << lods[i];
  o.mip_filter = HD_TEXTURE_LINEAR;
  got = Everywhere::It().Ask(text, o, {8, 8}, texels.data(), places, 1);
  for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], linear[i], 1e-4) << lods[i];
}

TEST(Texture, LevelOfDetailIsThatOfTheLongerStep) {
  std::vector<float> texels(16 * 8, 0);
  for (int l = 1; l < 5; l++) texels.insert(texels.end(), size_t((16 >> l) * std::max(1, 8 >> l)), float(l));
  HdTextureOptions o = Options(HD_TEXTURE_F32, 1, HD_TEXTURE_REPEAT, HD_TEXTURE_LINEAR);
  o.levels = 0;
  o.given = 5;
  o.mip_filter = HD_TEXTURE_LINEAR;
  // (p.x, 0) and (0, p.y): in texels 16 x and 8 y
  const std::string text = "kernel k(Texture2D t, vec3 p[], f32 r[]) { let s = p[tid()];"
                           " r[tid()] = texture_sample_grad<f32>(t, vec2(0.4), vec2(s.x, 0), vec2(0, s.y)); }";
  const std::vector<float> steps = {1 / 16.0f, 0,   0,         2 / 16.0f, 0,     0, 0, 4 / 8.0f, 0, 4 / 16.0f,
                                    3 / 8.0f,  0,   3 / 16.0f, 1 / 8.0f,  0,     0, 0, 0,        9, 9,
                                    0,         NAN, 0,         0,         1e30f, 0, 0, -0.5f,    0, 0};
  const float want[] = {0, 1, 2, 2, std::log2(3.0f), 0, 4, 0, 4, 3};
  std::vector<float> got = Everywhere::It().Ask(text, o, {16, 8}, texels.data(), steps, 1);
  for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}

TEST(Texture, BetweenLevelsIsBetweenTheirSamples) {
  std::vector<float> texels = Npy("chain_odd"), places = Npy("places");
  for (size_t i = 2; i < places.size(); i += 3) places[i] = std::fabs(places[i]);
  HdTextureOptions o = Options(HD_TEXTURE_F32, 1, HD_TEXTURE_MIRROR, HD_TEXTURE_LINEAR);
  o.levels = 0;
  o.mip_filter = HD_TEXTURE_LINEAR;
  const std::string text =
      "kernel k(Texture2D t, vec3 p[], f32 r[]) { let i = 3 * tid(); let l = p[tid()].z; let at = p[tid()].xy;"
      " r[i] = texture_sample_lod<f32>(t, at, l); r[i + 1] = texture_sample_lod<f32>(t, at, floor(l));"
      " r[i + 2] = texture_sample_lod<f32>(t, at, floor(l) + 1); }";
  std::vector<float> got = Everywhere::It().Ask(text, o, {13, 7}, texels.data(), places, 3);
  for (size_t i = 0; i < places.size() / 3; i++) {
    float t = places[3 * i + 2] - std::floor(places[3 * i + 2]);
    EXPECT_NEAR(got[3 * i], got[3 * i + 1] * (1 - t) + got[3 * i + 2] * t, 1e-6) << i;
  }
}

TEST(Texture, SaysHowLargeItIs) {
  HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
  o.levels = 0;
  const std::string text =
      "kernel k(Texture3D t, vec3 p[], f32 r[]) { let i = 4 * tid(); let n = texture_size(t, i32(p[tid()].x));"
      " r[i] = f32(n.x); r[i + 1] = f32(n.y); r[i + 2] = f32(n.z); r[i + 3] = f32(texture_levels(t)); }";
  std::vector<float> texels(9 * 2 * 5), places = {0, 0, 0, 1, 0, 0, 3, 0, 0, 4, 0, 0, -1, 0, 0};
  std::vector<float> got = Everywhere::It().Ask(text, o, {9, 2, 5}, texels.data(), places, 4);
  EXPECT_EQ(got, (std::vector<float>{9, 2, 5, 4, 4, 1, 2, 4, 1, 1, 1, 4, 0, 0, 0, 4, 0, 0, 0, 4}));
  HdTexture *t = Everywhere::It().Cpu().Texture(o, {9, 2, 5}, texels.data());
  int32_t size[3];
  EXPECT_EQ(hd_texture_levels(t), 4);
  EXPECT_EQ(hd_texture_size(t, 1, size), 4 * 1 * 2 * 4);
  EXPECT_EQ(size[0] * 100 + size[1] * 10 + size[2], 412);
  EXPECT_EQ(hd_texture_size(t, 4, size), 0);
  EXPECT_EQ(size[2], 0);
  hd_texture_free(t);
}

// --- any place ---

TEST(Texture, HasAValueAtAnyPlace) {
  const std::vector<float> field = Npy("field3");
  const float odd[] = {NAN, kInf, -kInf, 3e38f, -3e38f, 1e-45f, -1e-45f, -1e-9f, 0.99999994f, 0, 0.5f};
  std::vector<float> places;
  for (float x : odd)
    for (float y : odd) places.insert(places.end(), {x, y, 0.3f});
  for (int filter : {HD_TEXTURE_NEAREST, HD_TEXTURE_LINEAR})
    for (int wrap : kWraps) {
      HdTextureOptions o = Options(HD_TEXTURE_F32, 1, wrap, filter);
      o.border[0] = 5;
      std::vector<float> got = Everywhere::It().Ask(
          "kernel k(Texture3D t, vec3 p[], f32 r[]) { r[tid()] = texture_sample<f32>(t, p[tid()]); }", o, kSizes[2],
          field.data(), places, 1);
      for (size_t i = 0; i < got.size(); i++) {
        const float x = places[3 * i], y = places[3 * i + 1];
        const bool out = wrap == HD_TEXTURE_BORDER && (std::fabs(x) > 2 || std::fabs(y) > 2);
        if (out)
          EXPECT_EQ(got[i], 5) << x << " " << y;
        else
          EXPECT_LE(std::fabs(got[i]), wrap == HD_TEXTURE_BORDER ? 5 : 1) << wrap << " at " << x << " " << y;
      }
      for (size_t i = 0; i < 11; i++) EXPECT_EQ(got[i], got[9 * 11 + i]); // a NaN along x is a 0
    }
}

TEST(Texture, WithoutTexelsIsItsBorder) {
  for (std::vector<int64_t> size : {std::vector<int64_t>{0, 4}, {3, 0}}) {
    HdTextureOptions o = Options(HD_TEXTURE_U8, 2, HD_TEXTURE_CLAMP, HD_TEXTURE_LINEAR);
    const float border[4] = {2, 3, 4, 5};
    memcpy(o.border, border, sizeof border);
    const std::string text =
        "kernel k(Texture2D t, vec3 p[], f32 r[]) { let i = 8 * tid(); let a = texture_sample<vec4>(t, p[tid()].xy);"
        " static for (k in 0..4) { r[i + k] = a[k]; } r[i + 4] = texture_sample_lod<f32>(t, p[tid()].xy, 1);"
        " r[i + 5] = texture_fetch<f32>(t, vec2i(0), 0); var dx = 1.0; var dy = 1.0;"
        " r[i + 6] = texture_gradient<f32>(t, vec2(0), dx, dy); r[i + 7] = dx + dy + f32(texture_size(t, 0).x); }";
    EXPECT_EQ(Everywhere::It().Ask(text, o, size, nullptr, {0.5f, 0.5f, 0}, 8),
              (std::vector<float>{2, 3, 0, 1, 2, 2, 2, 0}));
  }
}

// --- what is refused ---

struct Counting {
  int64_t left = -1, held = 0;
};
void *Resize(void *user, void *p, size_t old, size_t size) {
  auto *c = static_cast<Counting *>(user);
  if (size > 0 && c->left == 0) return nullptr;
  if (size > 0 && c->left > 0) c->left--;
  c->held += int64_t(size) - int64_t(old);
  if (size > 0) return realloc(p, size);
  free(p);
  return nullptr;
}

TEST(Texture, OfWrongOptionsIsRefused) {
  Place &p = Everywhere::It().Cpu();
  const float texels[16] = {};
  auto why = [&](HdStatus want, const std::function<void(HdTextureOptions *, std::vector<int64_t> *)> &spoil,
                 const void *data) {
    HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
    std::vector<int64_t> size = {4, 4};
    HdTexture *t = nullptr;
    spoil(&o, &size);
    EXPECT_EQ(hd_texture_new(p.ctx, p.stream, &o, int32_t(size.size()), size.data(), data, &t), want);
    EXPECT_EQ(t, nullptr);
    return p.Why();
  };
  using O = HdTextureOptions *;
  using S = std::vector<int64_t> *;
  EXPECT_NE(why(HD_ERR_ARG, [](O o, S) { o->format = HdTextureFormat(3); }, texels).find("format"), std::string::npos);
  EXPECT_NE(
      why(HD_ERR_ARG, [](O o, S) { o->channels = 3; }, texels).find("wanted 1, 2 or 4, got 3"), std::string::npos);
  EXPECT_NE(why(HD_ERR_ARG, [](O o, S) { o->wrap[1] = HdTextureWrap(4); }, texels).find("wrap"), std::string::npos);
  EXPECT_NE(why(HD_ERR_ARG, [](O o, S) { o->filter = HdTextureFilter(2); }, texels).find("filter"), std::string::npos);
  EXPECT_NE(why(
                HD_ERR_ARG, [](O o, S) { o->mip_filter = HdTextureFilter(2); }, texels)
                .find("mip_filter"),
            std::string::npos);
  EXPECT_NE(
      why(HD_ERR_ARG, [](O o, S) { o->levels = 4; }, texels).find("wanted 0 to 3 levels, got 4"), std::string::npos);
  EXPECT_NE(why(HD_ERR_ARG, [](O o, S) { o->levels = -1; }, texels).find("levels"), std::string::npos);
  EXPECT_NE(why(HD_ERR_ARG, [](O o, S) { o->given = 2; }, texels).find("given"), std::string::npos);
  EXPECT_NE(why(HD_ERR_ARG, [](O, S) {}, nullptr).find("texels"), std::string::npos);
  EXPECT_NE(
      why(HD_ERR_SHAPE, [](O, S s) { s->assign(4, 1); }, texels).find("wanted 1, 2 or 3 axes"), std::string::npos);
  EXPECT_NE(why(HD_ERR_SHAPE, [](O, S s) { s->clear(); }, texels).find("axes"), std::string::npos);
  EXPECT_NE(why(HD_ERR_SHAPE, [](O, S s) { (*s)[1] = -1; }, texels).find("axis 1, got -1"), std::string::npos);
  EXPECT_NE(why(HD_ERR_SHAPE, [](O, S s) { (*s)[0] = (1 << 24) + 1; }, texels).find("axis 0"), std::string::npos);
  EXPECT_NE(why(HD_ERR_SHAPE, [](O, S s) { s->assign(2, 1 << 16); }, texels).find("2^31"), std::string::npos);
  EXPECT_NE(why(HD_ERR_SHAPE, [](O, S s) { s->assign(3, 1 << 24); }, texels).find("2^31"), std::string::npos);
  HdTexture *t = p.Texture(HD_TEXTURE_OPTIONS_INIT, {4, 4}, texels);
  float one[16];
  EXPECT_EQ(hd_texture_read(t, 1, one), HD_ERR_ARG);
  EXPECT_NE(p.Why().find("wanted a level below 1, got 1"), std::string::npos);
  EXPECT_EQ(hd_texture_write(t, -1, one), HD_ERR_ARG);
  EXPECT_EQ(hd_texture_write(t, 0, nullptr), HD_ERR_ARG);
  hd_texture_free(t);
}

TEST(Texture, WithoutMemoryLeavesNothingBehind) {
  Counting count;
  HdAllocator mem = {Resize, &count};
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  o.no_cache = true;
  o.threads = 1;
  o.allocator = &mem;
  HdContext *ctx = nullptr;
  HdDevice interp;
  HdStream *stream = nullptr;
  ASSERT_EQ(hd_context_new(&o, &ctx), HD_OK);
  ASSERT_EQ(hd_device_find(ctx, "interp", &interp), HD_OK);
  ASSERT_EQ(hd_stream_new(ctx, interp, HD_STREAM_SYNC, &stream), HD_OK);
  const float texels[4] = {1, 2, 3, 4};
  const int64_t size = 4;
  HdTextureOptions options = HD_TEXTURE_OPTIONS_INIT;
  int failed = 0;
  HdTexture *t = nullptr;
  for (int64_t n = 0; n < 400 && !t; n++) {
    count.left = n;
    HdStatus s = hd_texture_new(ctx, stream, &options, 1, &size, texels, &t);
    count.left = -1;
    if (s == HD_OK) break;
    EXPECT_EQ(s, HD_ERR_NOMEM) << n;
    failed++;
  }
  EXPECT_GE(failed, 3);
  EXPECT_NE(t, nullptr);
  hd_texture_free(t);
  hd_stream_free(stream);
  hd_context_free(ctx);
  EXPECT_EQ(count.held, 0);
}

} // namespace
