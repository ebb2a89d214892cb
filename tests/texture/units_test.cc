// tests/texture/units_test.cc -- fast kernels on a simulated GPU: its texture units give what is stated, within 8 bits of a weight.
#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "texture_fixture.h"

namespace {

using namespace tex;

const std::vector<int64_t> kSizes[] = {{7}, {6, 5}, {5, 3, 4}};
const HdTextureWrap kWraps[] = {HD_TEXTURE_REPEAT, HD_TEXTURE_CLAMP, HD_TEXTURE_MIRROR, HD_TEXTURE_BORDER};

// The interpreter, and a GPU whose units cut their weights off or round them up, as may be, and where races are looked for.
class Units : public testing::Test {
protected:
  static Place &Gpu() {
    setenv("HEDDLE_FAKECUDA", "sm=90,mem=64M,adversary=1,race=1", 1);
    static Place gpu("cuda:0", 0, 1);
    return gpu;
  }
  static Place &Interp() {
    static Place interp("interp", 0, 1);
    return interp;
  }
  static uint64_t Live(const char *what) {
    Gpu();
    void *library = dlopen("tests/fakecuda/libfakecuda.so", RTLD_NOW | RTLD_NOLOAD);
    void *live = library ? dlsym(library, "fakecuda_live") : nullptr;
    EXPECT_NE(live, nullptr);
    return live ? reinterpret_cast<uint64_t (*)(const char *)>(live)(what) : 0;
  }

  // Three numbers for each of many places; of every fourth number inside of the texture, of every fifth far outside.
  static std::vector<float> Places(bool levels) {
    std::mt19937 rng(7);
    std::uniform_real_distribution<float> in(0, 1), out(-3, 4);
    std::vector<float> p;
    for (int i = 0; i < 300; i++)
      for (int a = 0; a < 3; a++) p.push_back(a == 2 && levels ? 4 * in(rng)-0.5f : (i + a) % 4 ? out(rng) : in(rng));
    return p;
  }

  struct Case {
    HdTextureOptions o;
    std::vector<int64_t> size;
    std::string text;
    int out;
  };
  // In default mode the GPU gives the interpreter's bits; in fast mode what is within `bound`. Returns how far it is.
  static float Compare(const Case &c, const void *texels, const std::vector<float> &places, float bound) {
    HdTexture *here = Interp().Texture(c.o, c.size, texels), *there = Gpu().Texture(c.o, c.size, texels);
    const std::vector<float> want = Interp().Ask(c.text, here, places, c.out);
    const std::vector<float> plain = Gpu().Ask(c.text, there, places, c.out);
    const std::vector<float> got = Gpu().Ask(c.text, there, places, c.out, true);
    float most = 0;
    for (size_t i = 0; i < want.size(); i++) {
      EXPECT_TRUE(Same(plain[i], want[i])) << c.text;
      const float off = std::fabs(got[i] - want[i]);
      if (!(off <= bound)) {
        ADD_FAILURE() << got[i] << " is not within " << bound << " of " << want[i] << ", number " << i << " of "
                      << c.text;
        break;
      }
      most = std::max(most, off);
    }
    hd_texture_free(here);
    hd_texture_free(there);
    return most;
  }
};

std::string Sample(int axes) {
  return "kernel k(" + Types(axes) + "f32 r[]) { let v = texture_sample<vec4>(t, " + At(axes) +
         "); static for (k in 0..4) { r[4 * tid() + k] = v[k]; } }";
}

// Numbers of a format, from 0 to 1 in steps of its own.
std::vector<uint8_t> Texels(HdTextureFormat format, size_t n) {
  std::vector<uint8_t> bytes;
  for (size_t k = 0; k < n; k++) {
    const uint8_t b = uint8_t(k * 91 + k / 5);
    const uint16_t h = uint16_t(0x3000 + k * 1237 % 0x0c00); // 0.125 to 1
    const float f = float(k * 53 % 97) / 96;
    const void *from = format == HD_TEXTURE_U8    ? static_cast<const void *>(&b)
                       : format == HD_TEXTURE_F16 ? &h
                                                  : static_cast<const void *>(&f);
    const size_t size = format == HD_TEXTURE_U8 ? 1 : format == HD_TEXTURE_F16 ? 2 : 4;
    bytes.insert(bytes.end(), static_cast<const uint8_t *>(from), static_cast<const uint8_t *>(from) + size);
  }
  return bytes;
}

TEST_F(Units, SampleEachFormatAndWrapWithinEightBits) {
  const std::vector<float> places = Places(false);
  for (int axes = 1; axes <= 3; axes++)
    for (HdTextureFormat format : {HD_TEXTURE_F32, HD_TEXTURE_F16, HD_TEXTURE_U8})
      for (HdTextureWrap wrap : kWraps) {
        const int channels = wrap == HD_TEXTURE_REPEAT ? 1 : wrap == HD_TEXTURE_CLAMP ? 2 : 4;
        size_t n = size_t(channels);
        for (int64_t s : kSizes[axes - 1]) n *= size_t(s);
        const std::vector<uint8_t> texels = Texels(format, n);
        HdTextureOptions o = Options(format, channels, wrap, HD_TEXTURE_LINEAR);
        o.wrap[1] = kWraps[(wrap + 1) % 4]; // each axis its own
        o.border[0] = o.border[2] = 1;
        const float most = Compare({o, kSizes[axes - 1], Sample(axes), 4}, texels.data(), places, float(axes) / 256);
        EXPECT_GT(most, 1.0f / 2048) << "the units were not asked: " << axes << format << wrap;
      }
}

TEST_F(Units, NearestIsTheSameTexel) {
  std::vector<float> places; // not on an edge
  for (int k = -20; k < 40; k++)
    places.insert(places.end(), {(float(k) + 0.3f) / 7, (float(k) + 0.8f) / 5, (float(k) + 0.4f) / 4});
  for (int axes = 1; axes <= 3; axes++)
    for (HdTextureWrap wrap : kWraps) {
      std::vector<int64_t> size(kSizes[axes - 1]);
      size[0] = 7;
      const std::vector<uint8_t> texels = Texels(HD_TEXTURE_F32, 7 * 5 * 4 * 2);
      EXPECT_EQ(Compare({Options(HD_TEXTURE_F32, 2, wrap, HD_TEXTURE_NEAREST), size, Sample(axes), 4}, texels.data(),
                        places, 0),
                0);
    }
}

TEST_F(Units, TakeLevels) {
  const std::vector<float> places = Places(true);
  const std::vector<uint8_t> texels = Texels(HD_TEXTURE_F16, 13 * 7 * 2);
  for (HdTextureFilter filter : {HD_TEXTURE_NEAREST, HD_TEXTURE_LINEAR})
    for (HdTextureFilter mip : {HD_TEXTURE_NEAREST, HD_TEXTURE_LINEAR}) {
      HdTextureOptions o = Options(HD_TEXTURE_F16, 2, HD_TEXTURE_REPEAT, filter);
      o.levels = 0;
      o.mip_filter = mip;
      const Case lod = {o,
                        {13, 7},
                        "kernel k(Texture2D t, vec3 p[], f32 r[]) { let i = tid();"
                        " r[i] = texture_sample_lod<f32>(t, p[i].xy, p[i].z); }",
                        1};
      const Case grad = {
          o,
          {13, 7},
          "kernel k(Texture2D t, vec3 p[], f32 r[]) { let i = tid();"
          " r[i] = texture_sample_grad<vec2>(t, p[i].xy, vec2(p[i].z * 0.3, 0), vec2(0.1, p[i].x * 0.2)).y; }",
          1};
      const float bound = (filter == HD_TEXTURE_LINEAR ? 2.0f / 256 : 0) + (mip == HD_TEXTURE_LINEAR ? 1.0f / 256 : 0);
      const float most = Compare(lod, texels.data(), places, bound);
      EXPECT_EQ(most > 1.0f / 2048, bound > 0);
      Compare(grad, texels.data(), places, bound + 1e-4f); // log2 in fast mode has an error of its own
    }
}

TEST_F(Units, TakeAnyPlace) {
  const float odd[] = {NAN, kInf, -kInf, 3e38f, -3e38f, 1e-45f, -1e-9f, 0.99999994f, 0, 0.5f, 1e6f + 0.5f};
  std::vector<float> places;
  for (float x : odd)
    for (float y : odd) places.insert(places.end(), {x, y, 0.3f});
  const std::vector<uint8_t> texels = Texels(HD_TEXTURE_F32, 60);
  for (HdTextureWrap wrap : kWraps) {
    HdTextureOptions o = Options(HD_TEXTURE_F32, 1, wrap, HD_TEXTURE_LINEAR);
    o.border[0] = 1;
    Compare({o, kSizes[2], Sample(3), 4}, texels.data(), places, 3.0f / 256);
  }
}

TEST_F(Units, FollowWhatIsWritten) {
  const float texels[6] = {1, 2, 3, 4, 10, 20}, other[4] = {8, 6, 4, 2};
  HdTextureOptions o = Options(HD_TEXTURE_F32, 1, HD_TEXTURE_CLAMP, HD_TEXTURE_NEAREST);
  o.levels = 0;
  o.given = 2;
  HdTexture *t = Gpu().Texture(o, {4}, texels);
  const std::string text =
      "kernel k(Texture1D t, vec3 p[], f32 r[]) { r[tid()] = texture_sample_lod<f32>(t, 0.1, p[tid()].x); }";
  const std::vector<float> levels = {0, 0, 0, 1, 0, 0, 2, 0, 0};
  EXPECT_EQ(Gpu().Ask(text, t, levels, 1, true), (std::vector<float>{1, 10, 15}));
  EXPECT_EQ(hd_texture_write(t, 0, other), HD_OK);
  EXPECT_EQ(Gpu().Ask(text, t, levels, 1, true), (std::vector<float>{8, 10, 15}));
  // The levels are made in a graph, too, and their images with them.
  HdGraph *graph = nullptr;
  const float last[4] = {1, 1, 5, 5};
  EXPECT_EQ(hd_texture_make_levels(t), HD_OK); // compiled
  ASSERT_EQ(hd_graph_begin(Gpu().stream), HD_OK);
  EXPECT_EQ(hd_texture_make_levels(t), HD_OK) << Gpu().Why();
  ASSERT_EQ(hd_graph_end(Gpu().stream, &graph), HD_OK);
  EXPECT_EQ(hd_texture_write(t, 0, last), HD_OK);
  for (int turn = 0; turn < 2; turn++) EXPECT_EQ(hd_graph_launch(graph, Gpu().stream), HD_OK) << Gpu().Why();
  EXPECT_EQ(Gpu().Ask(text, t, levels, 1, true), (std::vector<float>{1, 1, 3}));
  hd_graph_free(graph);
  hd_texture_free(t);
}

// What units cannot have they are not asked for: the results are those of the default mode.
TEST_F(Units, AreLeftOutWhereTheyCannot) {
  const std::vector<float> places = Places(false);
  const std::vector<uint8_t> texels = Texels(HD_TEXTURE_U8, 33000);
  const std::string text = Sample(1);
  HdTextureOptions o = Options(HD_TEXTURE_U8, 1, HD_TEXTURE_BORDER, HD_TEXTURE_LINEAR);
  o.border[0] = 2;
  EXPECT_EQ(Compare({o, {7}, text, 4}, texels.data(), places, 0), 0) << "a border beyond the format";
  o.border[0] = 0;
  EXPECT_GT(Compare({o, {7}, text, 4}, texels.data(), places, 1.0f / 256), 0);
  EXPECT_EQ(Compare({o, {33000}, text, 4}, texels.data(), places, 0), 0) << "a size beyond the limit";
  o.no_units = true;
  EXPECT_EQ(Compare({o, {7}, text, 4}, texels.data(), places, 0), 0) << "units that are not wanted";
  const std::vector<uint8_t> halves = Texels(HD_TEXTURE_F16, 7);
  o = Options(HD_TEXTURE_F16, 1, HD_TEXTURE_BORDER, HD_TEXTURE_LINEAR);
  o.border[0] = 0.1f;
  EXPECT_EQ(Compare({o, {7}, text, 4}, halves.data(), places, 0), 0) << "a border that is no half";
}

// The PTX of the module's kernels for a target.
std::string Ptx(HdContext *ctx, const std::string &text, const char *target, bool fast) {
  HdModule *m = nullptr;
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  const char *ptx = nullptr;
  size_t size = 0;
  o.fast = fast;
  EXPECT_EQ(hd_module_load_source(ctx, "test.hd", text.data(), text.size(), &o, &m), HD_OK);
  EXPECT_EQ(hd_module_emit(m, nullptr, HD_EMIT_PTX, target, &ptx, &size), HD_OK);
  const std::string r(ptx ? ptx : "");
  hd_module_free(m);
  return r;
}

TEST_F(Units, AreInTheCodeOfFastKernelsAlone) {
  const std::string ptxas = "/usr/local/cuda/bin/ptxas", file = testing::TempDir() + "/units.ptx";
  for (int axes = 1; axes <= 3; axes++)
    for (const char *target : {"sm_75", "sm_90", "sm_120"}) {
      EXPECT_EQ(Ptx(Interp().ctx, Sample(axes), target, false).find("tex."), std::string::npos) << target;
      const std::string ptx = Ptx(Interp().ctx, Sample(axes), target, true);
      const std::string name = "tex.level." + std::to_string(axes) + "d.v4.f32.f32";
      const size_t at = ptx.find(name);
      EXPECT_NE(at, std::string::npos) << target;
      EXPECT_EQ(ptx.find("tex.", at + 1), std::string::npos) << "one fetch for four numbers";
      std::ofstream(file) << ptx;
      if (std::ifstream(ptxas).good()) {
        EXPECT_EQ(system((ptxas + " -arch=" + target + " -o /dev/null " + file).c_str()), 0) << target;
      }
    }
}

TEST_F(Units, LeaveNoArraysAndObjects) {
  const float texels[4] = {1, 2, 3, 4};
  const uint64_t arrays = Live("arrays"), objects = Live("textures");
  HdTexture *t = Gpu().Texture(HD_TEXTURE_OPTIONS_INIT, {4}, texels);
  EXPECT_EQ(Live("arrays"), arrays + 1);
  EXPECT_EQ(Live("textures"), objects + 1);
  hd_texture_free(t);
  EXPECT_EQ(Live("arrays"), arrays);
  EXPECT_EQ(Live("textures"), objects);
  EXPECT_EQ(objects, 0u);
}

} // namespace
