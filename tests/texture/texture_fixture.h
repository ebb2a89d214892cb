// tests/texture/texture_fixture.h -- one texture on each device, at several widths, and one kernel that asks all of them.
#ifndef TESTS_TEXTURE_FIXTURE_H
#define TESTS_TEXTURE_FIXTURE_H

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "heddle/texture.h"
#include "tools/npy/npy.h"

namespace tex {

constexpr float kInf = std::numeric_limits<float>::infinity();

inline std::vector<float> Npy(const std::string &name) {
  std::string path = "tests/texture/scipy/" + name + ".npy";
  char why[OUT_WHY] = "";
  NpyReader r;
  std::vector<float> v;
  EXPECT_EQ(npy_open(path.c_str(), &r, why), HD_OK) << why;
  if (testing::Test::HasFailure()) return v;
  v.resize(size_t(r.count));
  EXPECT_EQ(npy_read(&r, path.c_str(), v.data(), why), HD_OK) << why;
  npy_close(&r);
  return v;
}

inline bool Same(float a, float b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

class Place {
 public:
  Place(const char *device, int width, int threads) : width_(width) {
    setenv("HEDDLE_LIBCUDA", "tests/fakecuda/libfakecuda.so", 1);
    setenv("HEDDLE_FAKECUDA", "sm=90,mem=1G", 0);
    HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
    o.no_cache = true;
    o.threads = threads;
    EXPECT_EQ(hd_context_new(&o, &ctx), HD_OK);
    EXPECT_EQ(hd_device_find(ctx, device, &this->device), HD_OK) << device << ": " << Why();
    EXPECT_EQ(hd_device_find(ctx, "cpu", &host_), HD_OK);
    EXPECT_EQ(hd_stream_new(ctx, this->device, HD_STREAM_SYNC, &stream), HD_OK) << Why();
  }
  ~Place() {
    hd_module_free(module_);
    hd_stream_free(stream);
    hd_context_free(ctx);
  }
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;

  std::string Why() const {
    char line[1024];
    return std::string(hd_error_format(hd_context_error(ctx), line, sizeof line)) + "\n" + hd_context_diagnostics(ctx);
  }

  HdTexture *Texture(const HdTextureOptions &o, const std::vector<int64_t> &size, const void *texels) {
    HdTexture *t = nullptr;
    EXPECT_EQ(hd_texture_new(ctx, stream, &o, int32_t(size.size()), size.data(), texels, &t), HD_OK) << Why();
    return t;
  }

  // The only kernel of a text: of a texture, places (vec3) and results, `out` numbers for each place.
  std::vector<float> Ask(const std::string &text, HdTexture *t, const std::vector<float> &places, int out, bool fast = false) {
    const int64_t n = int64_t(places.size()) / 3, numbers = n * out;
    std::vector<float> r(static_cast<size_t>(numbers));
    HdArray p = New(hd_type_vec(HD_F32, 3), n), x = New(hd_type_scalar(HD_F32), numbers);
    Copy(p, const_cast<float *>(places.data()), false);
    if (text != text_ || fast != fast_) {
      HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
      o.width = width_;
      o.fast = fast;
      hd_module_free(module_);
      module_ = nullptr;
      kernel_ = nullptr;
      text_ = text;
      fast_ = fast;
      EXPECT_EQ(hd_module_load_source(ctx, "test.hd", text.data(), text.size(), &o, &module_), HD_OK) << Why();
      EXPECT_TRUE(module_ && hd_module_kernel(module_, "k", device, &kernel_) == HD_OK) << Why();
    }
    if (!kernel_ || !t) return r;
    std::vector<HdArg> args(HD_TEXTURE_ARGS);
    EXPECT_EQ(hd_texture_args(t, args.data()), HD_TEXTURE_ARGS);
    args.push_back(hd_arg_array(&p));
    args.push_back(hd_arg_array(&x));
    EXPECT_EQ(hd_launch(kernel_, stream, 1, &n, int32_t(args.size()), args.data()), HD_OK) << Why();
    Copy(x, r.data(), true);
    hd_array_free(ctx, &p);
    hd_array_free(ctx, &x);
    return r;
  }

  HdContext *ctx = nullptr;
  HdDevice device;
  HdStream *stream = nullptr;

 private:
  HdArray New(HdType type, int64_t n) {
    HdArray a = {};
    EXPECT_EQ(hd_array_zeros(ctx, device, type, 1, &n, &a), HD_OK) << Why();
    return a;
  }
  void Copy(HdArray a, float *data, bool out) {
    HdArray here;
    ASSERT_EQ(hd_array_borrow(ctx, host_, a.type, 1, a.length, nullptr, data, &here), HD_OK) << Why();
    ASSERT_EQ(out ? hd_array_copy(stream, a, here) : hd_array_copy(stream, here, a), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  }

  HdDevice host_;
  HdModule *module_ = nullptr;
  HdKernel *kernel_ = nullptr;
  std::string text_;
  bool fast_ = false;
  int width_;
};

// The interpreter is the first.
class Everywhere {
 public:
  Everywhere() {
    places_.push_back(std::make_unique<Place>("interp", 0, 1));
    places_.push_back(std::make_unique<Place>("cpu", 4, 1));
    places_.push_back(std::make_unique<Place>("cpu", 8, 3));
    places_.push_back(std::make_unique<Place>("cpu", 16, 2));
    places_.push_back(std::make_unique<Place>("cuda:0", 0, 1));
  }
  static Everywhere &It() {
    static Everywhere it;
    return it;
  }

  Place &First() { return *places_[0]; }
  Place &Cpu() { return *places_[1]; }
  Place &Gpu() { return *places_[4]; }

  // What the interpreter gives; the others have to give the same bits.
  std::vector<float> Ask(const std::string &text, const HdTextureOptions &o, const std::vector<int64_t> &size,
                         const void *texels, const std::vector<float> &places, int out) {
    std::vector<float> want;
    for (size_t p = 0; p < places_.size(); p++) {
      HdTexture *t = places_[p]->Texture(o, size, texels);
      std::vector<float> got = places_[p]->Ask(text, t, places, out);
      hd_texture_free(t);
      if (p == 0) want = got;
      for (size_t i = 0; i < want.size(); i++)
        if (!Same(want[i], got[i])) {
          ADD_FAILURE() << want[i] << " but " << got[i] << " in place " << p << ", number " << i << " of " << text;
          return want;
        }
    }
    return want;
  }
  // The texels of all levels as they are read back.
  template <class T>
  std::vector<T> Levels(const HdTextureOptions &o, const std::vector<int64_t> &size, const void *texels) {
    std::vector<T> want;
    for (auto &place : places_) {
      HdTexture *t = place->Texture(o, size, texels);
      std::vector<T> all;
      for (int l = 0; t && l < hd_texture_levels(t); l++) {
        std::vector<T> one(size_t(hd_texture_size(t, l, nullptr)) / sizeof(T));
        EXPECT_EQ(hd_texture_read(t, l, one.data()), HD_OK) << place->Why();
        all.insert(all.end(), one.begin(), one.end());
      }
      hd_texture_free(t);
      if (place == places_[0]) want = all;
      EXPECT_TRUE(want.size() == all.size() && memcmp(want.data(), all.data(), all.size() * sizeof(T)) == 0);
    }
    return want;
  }

 private:
  std::vector<std::unique_ptr<Place>> places_;
};

inline std::string Types(int axes) { return "Texture" + std::to_string(axes) + "D t, vec3 p[], "; }
inline const char *At(int axes) { return axes == 1 ? "p[tid()].x" : axes == 2 ? "p[tid()].xy" : "p[tid()]"; }

inline HdTextureOptions Options(HdTextureFormat format, int channels, int wrap, int filter) {
  HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
  o.format = format;
  o.channels = channels;
  for (auto &w : o.wrap) w = HdTextureWrap(wrap);
  o.filter = HdTextureFilter(filter);
  return o;
}

} // namespace tex

#endif
