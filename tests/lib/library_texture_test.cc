// tests/lib/library_texture_test.cc -- textures against the infinite field of texels that they stand for, in doubles.
#include <cmath>
#include <limits>

#include "library_testing.h"

namespace {

const char kSource[] = "kernel k(f32 a[,,], vec3 p[], i32 wrap, f32 nearest[], f32 linear[]) {"
                       " let i = tid(); nearest[i] = texture_nearest(a, p[i], wrap, -5.0); linear[i] = "
                       "texture_linear(a, p[i], wrap, -5.0); }"
                       "kernel k2(f32 a[,], vec2 p[], i32 wrap, f32 nearest[], f32 linear[]) {"
                       " let i = tid(); nearest[i] = texture_nearest(a, p[i], wrap, -5.0); linear[i] = "
                       "texture_linear(a, p[i], wrap, -5.0); }"
                       "kernel k1(f32 a[], f32 p[], i32 wrap, f32 nearest[], f32 linear[]) {"
                       " let i = tid(); nearest[i] = texture_nearest(a, p[i], wrap, -5.0); linear[i] = "
                       "texture_linear(a, p[i], wrap, -5.0); }";

struct Sampled {
  std::vector<float> nearest, linear;
};

// `axes` numbers a place, x first; `shape` is an array's, x last.
Sampled Sample(Machine &m, HdDevice device, std::vector<int64_t> shape, std::vector<float> texels,
               std::vector<float> places, int wrap) {
  const int axes = static_cast<int>(shape.size());
  const int64_t n = static_cast<int64_t>(places.size()) / axes;
  Sampled s = {std::vector<float>(n), std::vector<float>(n)};
  HdModuleOptions options = HD_MODULE_OPTIONS_INIT;
  HdModule *module = nullptr;
  HdKernel *kernel = nullptr;
  HdStream *stream = nullptr;
  EXPECT_EQ(hd_module_load_source(m.ctx, "t.hd", kSource, strlen(kSource), &options, &module), HD_OK) << m.Why();
  const char *names[] = {"k1", "k2", "k"};
  if (!module || hd_module_kernel(module, names[axes - 1], device, &kernel) != HD_OK ||
      hd_stream_new(m.ctx, device, HD_STREAM_SYNC, &stream) != HD_OK) {
    ADD_FAILURE() << m.Why();
    hd_module_free(module);
    return s;
  }
  if (texels.empty()) texels.resize(1); // memory to borrow
  HdArray a[4];
  float *data[] = {texels.data(), places.data(), s.nearest.data(), s.linear.data()};
  const int params[] = {0, 1, 3, 4};
  for (int i = 0; i < 4; i++)
    EXPECT_EQ(hd_array_borrow(m.ctx, device, hd_kernel_param(kernel, params[i]).type, i ? 1 : axes,
                              i ? &n : shape.data(), nullptr, data[i], &a[i]),
              HD_OK)
        << m.Why();
  int32_t w = wrap;
  HdArg args[] = {hd_arg_array(&a[0]), hd_arg_array(&a[1]), hd_arg_i32(w), hd_arg_array(&a[2]), hd_arg_array(&a[3])};
  EXPECT_EQ(hd_launch(kernel, stream, 1, &n, 5, args), HD_OK) << m.Why();
  hd_stream_free(stream);
  hd_module_free(module);
  return s;
}

int Wrapped(long i, int n, int wrap) {
  if (i >= 0 && i < n) return static_cast<int>(i);
  long r = (i % (2L * n) + 2L * n) % (2L * n);
  if (wrap == 0) return static_cast<int>(r % n);
  if (wrap == 2) return static_cast<int>(r < n ? r : 2L * n - 1 - r);
  return wrap == 3 ? -1 : i < 0 ? 0 : n - 1;
}

// The sum of all texels around a place, each by its hat; axis by axis from z, with the texel's number so far.
double Hats(const std::vector<int64_t> &shape, const std::vector<float> &texels, const float *p, int wrap, size_t axis,
            long at) {
  if (axis == shape.size()) return at < 0 ? -5.0 : texels[at];
  const int n = static_cast<int>(shape[axis]);
  const double x = p[shape.size() - 1 - axis] * static_cast<double>(n) - 0.5;
  double sum = 0;
  for (long i = std::lround(std::floor(x)) - 2; i < x + 3; i++) {
    double hat = 1 - std::fabs(x - static_cast<double>(i));
    if (hat <= 0) continue;
    int w = Wrapped(i, n, wrap);
    sum += hat * Hats(shape, texels, p, wrap, axis + 1, at < 0 || w < 0 ? -1 : at * n + w);
  }
  return sum;
}

TEST(Textures, AreSumsOfHatsOverTheInfiniteField) {
  Machine m(1);
  const std::vector<std::vector<int64_t>> shapes = {{1}, {7}, {1, 1}, {3, 5}, {4, 1}, {1, 1, 1}, {2, 3, 4}};
  for (const auto &shape : shapes)
    for (int wrap = 0; wrap < 4; wrap++) {
      int64_t count = 1;
      for (int64_t n : shape) count *= n;
      std::vector<float> texels(count), places;
      for (int64_t i = 0; i < count; i++) texels[i] = static_cast<float>(i * 37 % 11) - 3;
      const size_t n = 300;
      for (size_t i = 0; i < n * shape.size(); i++)
        places.push_back(static_cast<float>(i * 7919 % 10007) / 10007 * 5 - 2);
      Sampled want = Sample(m, m.interp, shape, texels, places, wrap),
              got = Sample(m, m.cpu, shape, texels, places, wrap);
      for (size_t i = 0; i < n; i++) {
        const float *p = &places[i * shape.size()];
        ASSERT_NEAR(want.linear[i], Hats(shape, texels, p, wrap, 0, 0), 5e-5) << "wrap " << wrap << " place " << p[0];
        long at = 0;
        for (size_t axis = 0; axis < shape.size(); axis++) {
          int size = static_cast<int>(shape[axis]);
          int w = Wrapped(std::lround(std::floor(p[shape.size() - 1 - axis] * static_cast<double>(size))), size, wrap);
          at = at < 0 || w < 0 ? -1 : at * size + w;
        }
        ASSERT_EQ(want.nearest[i], at < 0 ? -5.0f : texels[at]) << "wrap " << wrap << " place " << p[0];
        ASSERT_TRUE(Same(want.linear[i], got.linear[i]) && Same(want.nearest[i], got.nearest[i])) << i;
      }
    }
}

TEST(Textures, HaveAValueAtAnyPlace) {
  Machine m(1);
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> places = {NAN, inf, -inf, 3e38f, -3e38f, 1e-45f, -1e-45f, -1e-9f};
  for (int wrap = -1; wrap < 5; wrap++)
    for (HdDevice device : {m.interp, m.cpu}) {
      Sampled s = Sample(m, device, {3}, {1, 2, 4}, places, wrap), zero = Sample(m, device, {3}, {1, 2, 4}, {0}, wrap);
      for (size_t i = 0; i < places.size(); i++) {
        EXPECT_TRUE((s.linear[i] >= 1 && s.linear[i] <= 4) || wrap == 3)
            << wrap << " " << places[i] << " " << s.linear[i];
        if (i == 0 || (i < 3 && (wrap == 0 || wrap == 2))) { // no place in the texture
          EXPECT_EQ(s.linear[i], zero.linear[0]) << wrap << " " << places[i];
          EXPECT_EQ(s.nearest[i], zero.nearest[0]) << wrap << " " << places[i];
        }
      }
      if (wrap == 3) {
        EXPECT_EQ(s.linear[1], -5);
        EXPECT_EQ(s.linear[3], -5);
        EXPECT_EQ(s.nearest[4], -5);
      }
      if (wrap == 1) {
        EXPECT_EQ(s.nearest[1], 4);
        EXPECT_EQ(s.linear[2], 1);
      }
      Sampled none = Sample(m, device, {0}, {}, {0.5f}, wrap);
      EXPECT_EQ(none.linear[0], -5);
      EXPECT_EQ(none.nearest[0], -5);
    }
}

TEST(Textures, MayBeOfVectors) {
  std::vector<float> a = {1, 10, 3, 30}, r(2);
  Everywhere::It().Run("kernel k(vec2 a[], vec2 r[]) { r[0] = texture_linear(a, 0.5, 1, vec2(0)); }", 1, a, r);
  EXPECT_EQ(r[0], 2);
  EXPECT_EQ(r[1], 20);
}

} // namespace
