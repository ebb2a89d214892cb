// tests/fakecuda/fake_texture_test.cc -- arrays and texture objects of the simulated driver: what it takes, what is alive.
#include "tests/fakecuda/fake_testing.h"

namespace fake {
namespace {

enum { kU8 = 1, kF16 = 0x10, kF32 = 0x20 };

CuResource Of(void *mip) {
  CuResource r = {};
  r.type = 1;
  r.of.handle = mip;
  return r;
}
CuTextureShape Shape() {
  CuTextureShape s = {};
  s.flags = 2;
  s.most = 10;
  return s;
}
// Four texels of one f32, in an array that lies at `mip`.
void *FourTexels(void **mip, unsigned levels = 1) {
  CuArrayShape s = {4, 0, 0, kF32, 1, 0};
  void *level = nullptr;
  EXPECT_EQ(cuMipmappedArrayCreate(mip, &s, levels), 0);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, *mip, 0), 0);
  return level;
}
int CopyTo(void *array, CuPtr from, size_t bytes, void *stream = nullptr) {
  CuCopy3D c = {};
  c.from_kind = 2, c.from_device = from, c.from_pitch = bytes, c.from_height = 1;
  c.to_kind = 3, c.to_array = array;
  c.width = bytes, c.height = c.depth = 1;
  return cuMemcpy3DAsync_v2(&c, stream);
}

TEST_F(Driver, MakesArraysWithLevels) {
  Open("mem=1M");
  void *mip = nullptr, *level = nullptr;
  CuArrayShape s = {9, 4, 0, kU8, 2, 0}, got = {};
  ASSERT_EQ(cuMipmappedArrayCreate(&mip, &s, 99), 0);
  const size_t width[] = {9, 4, 2, 1}, height[] = {4, 2, 1, 1};
  for (unsigned k = 0; k < 4; k++) {
    ASSERT_EQ(cuMipmappedArrayGetLevel(&level, mip, k), 0) << k;
    EXPECT_EQ(cuArray3DGetDescriptor_v2(&got, level), 0);
    EXPECT_EQ(got.width, width[k]);
    EXPECT_EQ(got.height, height[k]);
    EXPECT_EQ(got.depth, 0u);
  }
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mip, 4), kInvalidValue) << "there are no more than can be";
  EXPECT_EQ(fakecuda_live("arrays"), 1u);
  EXPECT_EQ(fakecuda_live("blocks"), 0u) << "an array is no memory with an address";
  EXPECT_EQ(cuMipmappedArrayDestroy(mip), 0);
  EXPECT_EQ(cuMipmappedArrayDestroy(mip), kInvalidHandle);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mip, 0), kInvalidHandle);
  EXPECT_EQ(fakecuda_live("arrays"), 0u);
  size_t left = 0;
  EXPECT_EQ(cuMemGetInfo_v2(&left, nullptr), 0);
  EXPECT_EQ(left, 1u << 20);
}

TEST_F(Driver, RefusesArraysThatThereCannotBe) {
  Open("mem=1M");
  void *mip = nullptr;
  const CuArrayShape bad[] = {{0, 0, 0, kF32, 1, 0},     {4, 0, 2, kF32, 1, 0},     {4, 0, 0, 7, 1, 0},
                              {4, 0, 0, kF32, 3, 0},     {4, 0, 0, kF32, 1, 1},     {32769, 0, 0, kF32, 1, 0},
                              {32769, 1, 0, kF32, 1, 0}, {1, 32769, 0, kF32, 1, 0}, {16385, 1, 1, kU8, 1, 0}};
  for (const CuArrayShape &s : bad) EXPECT_EQ(cuMipmappedArrayCreate(&mip, &s, 1), kInvalidValue) << s.width;
  const CuArrayShape large = {1024, 1024, 0, kF32, 1, 0};
  EXPECT_EQ(cuMipmappedArrayCreate(&mip, &large, 1), kNoMemory);
  EXPECT_EQ(mip, nullptr);
}

TEST_F(Driver, CopiesToAndFromArrays) {
  Open();
  void *mip = nullptr, *array = FourTexels(&mip);
  CuPtr p = Words(4, 0x40400000), q = Words(4);
  EXPECT_EQ(CopyTo(array, p, 16), 0);
  CuCopy3D back = {};
  back.from_kind = 3, back.from_array = array, back.from_x = 8;
  back.to_kind = 2, back.to_device = q, back.width = 8, back.height = back.depth = 1;
  EXPECT_EQ(cuMemcpy3DAsync_v2(&back, nullptr), 0);
  EXPECT_EQ(Fetch(q, 4), (std::vector<uint32_t>{0x40400000, 0x40400000, 0, 0}));
  EXPECT_EQ(CopyTo(array, p, 20), kInvalidValue) << "more than there is";
  EXPECT_EQ(CopyTo(array, p, 6), kInvalidValue) << "a part of a texel";
  EXPECT_EQ(CopyTo(mip, p, 16), kInvalidHandle) << "a level is wanted";
  back.from_level = 1;
  EXPECT_EQ(cuMemcpy3DAsync_v2(&back, nullptr), kInvalidValue);
}

TEST_F(Driver, MakesTextureObjects) {
  Open();
  void *mip = nullptr;
  FourTexels(&mip);
  uint64_t object = 0;
  CuResource r = Of(mip);
  CuTextureShape s = Shape();
  ASSERT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), 0);
  EXPECT_NE(object, 0u);
  EXPECT_EQ(fakecuda_live("textures"), 1u);
  EXPECT_EQ(cuMipmappedArrayDestroy(mip), kInvalidValue) << "an object names it";
  EXPECT_EQ(cuTexObjectDestroy(object), 0);
  EXPECT_EQ(cuTexObjectDestroy(object), kInvalidValue);
  s.flags = 0;
  EXPECT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), kInvalidValue) << "with levels places are normalised";
  s = Shape(), s.wrap[1] = 4;
  EXPECT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), kInvalidValue);
  s = Shape(), s.filter = 2;
  EXPECT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), kInvalidValue);
  s = Shape(), s.reserved[3] = 1;
  EXPECT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), kInvalidValue);
  s = Shape();
  r.of.handle = &s;
  EXPECT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), kInvalidValue);
  EXPECT_EQ(cuMipmappedArrayDestroy(mip), 0);
}

// A kernel that asks object t for texel 1.5 of 4, in the order of streams.
constexpr char kAsk[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry ask(.param .u64 t, .param .u64 p)\n{\n"
    ".reg .b64 %a<2>; .reg .f32 %f<4>; ld.param.u64 %a0, [t]; ld.param.u64 %a1, [p]; mov.f32 %f0, 0f3F000000;\n"
    "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%a0, {%f0}]; st.global.f32 [%a1], %f0; ret;\n}\n";

TEST_F(Driver, KernelsAskTextureObjects) {
  Open();
  void *mip = nullptr, *array = FourTexels(&mip), *stream = Stream();
  uint64_t object = 0;
  CuResource r = Of(mip);
  CuTextureShape s = Shape();
  s.filter = 1;
  ASSERT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), 0);
  ASSERT_EQ(cuModuleLoadData(&module, kAsk), 0);
  uint32_t *texels = Pinned(4);
  const float values[] = {1, 2, 4, 8};
  memcpy(texels, values, sizeof values);
  CuPtr p = Words(4), q = Words(1);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(p, texels, 16, stream), 0);
  EXPECT_EQ(CopyTo(array, p, 16, stream), 0);
  void *args[] = {&object, &q};
  EXPECT_EQ(cuLaunchKernel(Function("ask"), 1, 1, 1, 1, 1, 1, 0, stream, args, nullptr), 0);
  EXPECT_EQ(cuStreamSynchronize(stream), 0);
  EXPECT_EQ(Fetch(q, 1), std::vector<uint32_t>{0x40400000}); // 3
  // What nothing orders is a race of streams, as with other memory.
  EXPECT_EQ(CopyTo(array, p, 16, stream), 0);
  EXPECT_EQ(cuLaunchKernel(Function("ask"), 1, 1, 1, 1, 1, 1, 0, Stream(), args, nullptr), 0);
  EXPECT_EQ(cuCtxSynchronize(), kLaunchFailed);
  EXPECT_NE(std::string(fakecuda_fault()).find("race"), std::string::npos);
}

TEST_F(Driver, AskingAnObjectThatIsGoneLosesTheContext) {
  Open();
  void *mip = nullptr;
  FourTexels(&mip);
  uint64_t object = 0;
  CuResource r = Of(mip);
  CuTextureShape s = Shape();
  ASSERT_EQ(cuTexObjectCreate(&object, &r, &s, nullptr), 0);
  ASSERT_EQ(cuModuleLoadData(&module, kAsk), 0);
  ASSERT_EQ(cuTexObjectDestroy(object), 0);
  CuPtr q = Words(1);
  void *args[] = {&object, &q};
  EXPECT_EQ(cuLaunchKernel(Function("ask"), 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), 0);
  EXPECT_EQ(cuCtxSynchronize(), kIllegalAddress);
  EXPECT_NE(std::string(fakecuda_fault()).find("is no texture of 1 dimensions"), std::string::npos);
}

TEST_F(Driver, CopiesToArraysInGraphs) {
  Open();
  void *mip = nullptr, *array = FourTexels(&mip), *stream = Stream(), *graph = nullptr, *exec = nullptr;
  CuPtr p = Words(4, 7), q = Words(4);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, 1), 0);
  EXPECT_EQ(CopyTo(array, p, 16, stream), 0);
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), 0);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  EXPECT_EQ(cuGraphLaunch(exec, stream), 0);
  CuCopy3D back = {};
  back.from_kind = 3, back.from_array = array;
  back.to_kind = 2, back.to_device = q, back.width = 16, back.height = back.depth = 1;
  EXPECT_EQ(cuMemcpy3DAsync_v2(&back, stream), 0);
  EXPECT_EQ(cuStreamSynchronize(stream), 0);
  EXPECT_EQ(Fetch(q, 4), std::vector<uint32_t>(4, 7));
}

} // namespace
} // namespace fake
