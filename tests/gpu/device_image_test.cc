// tests/gpu/device_image_test.cc -- images on a simulated GPU: made, written, asked, refused; and nothing is left behind.
#include "device_fixture.h"
#include "heddle/texture.h"

namespace {

constexpr char kAsk[] =
    "@fast kernel ask(u64 image, f32 place[], f32 level, f32 r[]) {\n"
    "  let i = tid(); let v = texture_unit(image, place[i], level); r[2 * i] = v.x; r[2 * i + 1] = v.y; }\n"
    "kernel slow(u64 image, f32 r[]) { r[tid()] = has_tex() ? -1.0 : texture_unit(image, 0.5, 0.0).x + 1; }\n";

HdImageOptions Line(int32_t n, int32_t levels = 1) {
  HdImageOptions o = {};
  o.scalar = HD_F32;
  o.channels = 2;
  o.ndim = 1;
  o.levels = levels;
  o.size[0] = n;
  o.wrap[0] = 1;
  return o;
}

class Images : public Gpu {
protected:
  HdImage *Make(const HdImageOptions &o) {
    HdImage *image = nullptr;
    EXPECT_EQ(hd_image_new(ctx, gpu, &o, &image), HD_OK) << Why();
    EXPECT_NE(image, nullptr);
    return image;
  }
  HdArray Floats(const std::vector<float> &v) {
    HdArray here, there;
    const int64_t n = int64_t(v.size());
    EXPECT_EQ(hd_array_new(ctx, gpu, hd_type_scalar(HD_F32), 1, &n, &there), HD_OK) << Why();
    EXPECT_EQ(hd_array_borrow(ctx, cpu, hd_type_scalar(HD_F32), 1, &n, nullptr, const_cast<float *>(v.data()), &here),
              HD_OK);
    EXPECT_EQ(hd_array_copy(stream, here, there), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    arrays.push_back(there);
    return there;
  }
  std::vector<float> Back(const HdArray &a) {
    HdArray here;
    std::vector<float> v(size_t(hd_array_count(a)));
    EXPECT_EQ(hd_array_borrow(ctx, cpu, a.type, 1, a.length, nullptr, v.data(), &here), HD_OK);
    EXPECT_EQ(hd_array_copy(stream, a, here), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    return v;
  }
  void Load() {
    hd_module_free(module);
    module = nullptr;
    ASSERT_EQ(hd_module_load_source(ctx, "ask.hd", kAsk, strlen(kAsk), nullptr, &module), HD_OK) << Why();
  }
};

TEST_F(Images, AreAskedByFastKernels) {
  Open("sm=90");
  Load();
  HdImage *image = Make(Line(4, 2));
  EXPECT_NE(hd_image_object(image), 0u);
  EXPECT_EQ(live_("textures"), 1u);
  HdArray first = Floats({1, 10, 2, 20, 3, 30, 4, 40}), second = Floats({7, 8, 9, 10, 0}); // a larger one is fine
  ASSERT_EQ(hd_image_write(stream, image, 0, first), HD_OK) << Why();
  ASSERT_EQ(hd_image_write(stream, image, 1, second), HD_OK) << Why();
  HdArray at = Floats({0.1f, 0.6f, 5}), r = Floats(std::vector<float>(6));
  auto ask = [&](uint64_t object, float level) {
    EXPECT_EQ(Launch("ask", {3}, {hd_arg_u64(object), hd_arg_array(&at), hd_arg_f32(level), hd_arg_array(&r)}), HD_OK)
        << Why();
    return Back(r);
  };
  EXPECT_EQ(ask(hd_image_object(image), 0), (std::vector<float>{1, 10, 3, 30, 4, 40}));
  EXPECT_EQ(ask(hd_image_object(image), 1), (std::vector<float>{7, 8, 9, 10, 9, 10}));
  EXPECT_EQ(ask(0, 0), std::vector<float>(6)) << "of no object";
  // A kernel that is not fast is the same everywhere.
  HdArray one = Floats({5});
  EXPECT_EQ(Launch("slow", {1}, {hd_arg_u64(hd_image_object(image)), hd_arg_array(&one)}), HD_OK) << Why();
  EXPECT_EQ(Back(one), std::vector<float>{1});
  hd_image_free(image);
  EXPECT_EQ(live_("textures"), 0u);
  EXPECT_EQ(live_("arrays"), 0u);
}

TEST_F(Images, AreNoneWhereThereAreNoUnits) {
  Open("sm=90,missing=cuTexObjectCreate");
  HdImage *image = reinterpret_cast<HdImage *>(this);
  HdImageOptions o = Line(4);
  EXPECT_EQ(hd_image_new(ctx, cpu, &o, &image), HD_OK);
  EXPECT_EQ(image, nullptr);
  image = reinterpret_cast<HdImage *>(this);
  EXPECT_EQ(hd_image_new(ctx, gpu, &o, &image), HD_OK) << "a driver without them";
  EXPECT_EQ(image, nullptr);
  EXPECT_NE(log.find("no image for the texture units of cuda:0: the driver has no textures"), std::string::npos) << log;
  EXPECT_EQ(hd_image_object(nullptr), 0u);
  hd_image_free(nullptr);
}

TEST_F(Images, BeyondTheDevicesSizesAreNone) {
  Open("sm=90");
  for (int32_t n : {32768, 32769}) {
    HdImageOptions o = Line(n);
    HdImage *image = nullptr;
    EXPECT_EQ(hd_image_new(ctx, gpu, &o, &image), HD_OK) << Why();
    EXPECT_EQ(image != nullptr, n == 32768);
    EXPECT_EQ(log.find("it is larger than the device's units take") == std::string::npos, n == 32768) << log;
    hd_image_free(image);
    o.ndim = 3, o.size[0] = n - 16384, o.size[1] = o.size[2] = 1;
    EXPECT_EQ(hd_image_new(ctx, gpu, &o, &image), HD_OK) << Why();
    EXPECT_EQ(image != nullptr, n == 32768);
    hd_image_free(image);
  }
}

TEST_F(Images, OfWrongOptionsAreRefused) {
  Open("sm=90");
  const std::pair<void (*)(HdImageOptions *), const char *> bad[] = {
      {[](HdImageOptions *o) { o->scalar = HD_I32; }, "scalar"},
      {[](HdImageOptions *o) { o->channels = 3; }, "wanted 1, 2 or 4, got 3"},
      {[](HdImageOptions *o) { o->ndim = 4; }, "ndim"},
      {[](HdImageOptions *o) { o->size[0] = 0; }, "size"},
      {[](HdImageOptions *o) { o->wrap[0] = 4; }, "wrap"},
      {[](HdImageOptions *o) { o->levels = 4; }, "levels"},
      {[](HdImageOptions *o) { o->levels = 0; }, "levels"}};
  for (auto &[spoil, why] : bad) {
    HdImageOptions o = Line(4);
    HdImage *image = nullptr;
    spoil(&o);
    EXPECT_EQ(hd_image_new(ctx, gpu, &o, &image), HD_ERR_ARG) << why;
    EXPECT_NE(Why().find(why), std::string::npos) << Why();
  }
  HdImage *image = Make(Line(4));
  HdArray small = Floats(std::vector<float>(7)), right = Floats(std::vector<float>(8)), apart;
  HdArray host = New(cpu, {8});
  EXPECT_EQ(hd_image_write(stream, image, 1, right), HD_ERR_ARG);
  EXPECT_NE(Why().find("wanted a level below 1, got 1"), std::string::npos) << Why();
  EXPECT_EQ(hd_image_write(stream, image, 0, small), HD_ERR_SHAPE);
  EXPECT_NE(Why().find("32 bytes"), std::string::npos) << Why();
  ASSERT_EQ(hd_array_slice(ctx, Floats(std::vector<float>(32)), 0, 0, 32, 2, &apart), HD_OK);
  EXPECT_EQ(hd_image_write(stream, image, 0, apart), HD_ERR_SHAPE);
  EXPECT_EQ(hd_image_write(stream, image, 0, host), HD_ERR_DEVICE);
  EXPECT_EQ(hd_image_write(stream, image, 0, right), HD_OK) << Why();
  EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  hd_image_free(image);
}

TEST_F(Images, FailuresAreNamedAndLeaveNothingBehind) {
  struct {
    const char *rule;
    HdStatus want;
    const char *call;
  } const cases[] = {{"cuMipmappedArrayCreate=2", HD_ERR_NOMEM, "cuMipmappedArrayCreate"},
                     {"cuMipmappedArrayGetLevel@2=1", HD_ERR_CUDA, "cuMipmappedArrayGetLevel"},
                     {"cuTexObjectCreate=1", HD_ERR_CUDA, "cuTexObjectCreate"}};
  for (auto &c : cases) {
    Open((std::string("sm=90,") + c.rule).c_str());
    HdImageOptions o = Line(4, 2);
    HdImage *image = nullptr;
    EXPECT_EQ(hd_image_new(ctx, gpu, &o, &image), c.want) << c.rule;
    EXPECT_NE(Why().find(c.call), std::string::npos) << Why();
    EXPECT_EQ(image, nullptr);
    EXPECT_EQ(live_("arrays") + live_("textures"), 0u) << c.rule;
    Close();
  }
  Open("sm=90,cuMemcpy3DAsync_v2=1");
  HdImage *image = Make(Line(4));
  EXPECT_EQ(hd_image_write(stream, image, 0, Floats(std::vector<float>(8))), HD_ERR_CUDA);
  EXPECT_NE(Why().find("cuMemcpy3DAsync"), std::string::npos) << Why();
  hd_image_free(image);
}

// A texture without its image is whole; what else goes wrong is said.
TEST_F(Images, OfTexturesAreLeftOutForWantOfMemory) {
  const float texels[4] = {1, 2, 3, 4};
  const int64_t size = 4;
  for (const char *rule : {"cuMipmappedArrayCreate=2", "cuTexObjectCreate=1", "cuMemcpy3DAsync_v2=1", ""}) {
    Open((std::string("sm=90,") + rule).c_str());
    HdTexture *t = nullptr;
    const HdStatus got = hd_texture_new(ctx, stream, nullptr, 1, &size, texels, &t);
    const bool memory = strstr(rule, "=2"), well = memory || !*rule;
    EXPECT_EQ(got, well ? HD_OK : HD_ERR_CUDA) << rule << Why();
    EXPECT_EQ(t != nullptr, well);
    if (!well) { EXPECT_NE(Why().find(std::string(rule).substr(0, 12)), std::string::npos) << Why(); }
    HdArg args[HD_TEXTURE_ARGS];
    if (t) {
      ASSERT_EQ(hd_texture_args(t, args), HD_TEXTURE_ARGS);
      EXPECT_EQ(args[10].inl.u != 0, !memory) << rule;
    }
    hd_texture_free(t);
    Close();
  }
}

} // namespace
