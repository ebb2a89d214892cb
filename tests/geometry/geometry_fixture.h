// tests/geometry/geometry_fixture.h -- a place that runs kernels (a device, the lanes of its gangs), its arrays, and shapes.
#ifndef TESTS_GEOMETRY_FIXTURE_H
#define TESTS_GEOMETRY_FIXTURE_H

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "heddle/geometry.h"

namespace geo {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct V {
  float x, y, z;
};
inline V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline V operator-(V a, V b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline V operator*(V a, float s) { return {a.x * s, a.y * s, a.z * s}; }
inline double Dot(V a, V b) { return double(a.x) * b.x + double(a.y) * b.y + double(a.z) * b.z; }
inline double Length(V a) { return std::sqrt(Dot(a, a)); }

struct Face {
  int32_t a, b, c;
};

struct Shape {
  std::vector<V> points;
  std::vector<Face> faces;
  void Quad(int a, int b, int c, int d) {
    faces.push_back({a, b, c});
    faces.push_back({a, c, d});
  }
};

// 2 rows cols faces about the z axis. Faces of all shapes look outward.
inline Shape Torus(int rows, int cols, float big = 0.7f, float small = 0.25f) {
  Shape s;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      double u = 2 * M_PI * i / rows, v = 2 * M_PI * j / cols, r = big + small * std::cos(v);
      s.points.push_back({float(r * std::cos(u)), float(r * std::sin(u)), float(small * std::sin(v))});
    }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      int k = (i + 1) % rows, l = (j + 1) % cols;
      s.Quad(i * cols + j, k * cols + j, k * cols + l, i * cols + l);
    }
  return s;
}

// A sphere about 0 with bumps of height `bumps`: 2 (rows - 1) cols faces.
inline Shape Sphere(int rows, int cols, float bumps = 0) {
  Shape s;
  s.points.push_back({0, 0, 1});
  for (int i = 1; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      double u = M_PI * i / rows, v = 2 * M_PI * j / cols;
      double r = 1 + bumps * std::sin(7 * u) * std::cos(5 * v) * std::sin(u);
      s.points.push_back({float(r * std::sin(u) * std::cos(v)), float(r * std::sin(u) * std::sin(v)), float(r * std::cos(u))});
    }
  int last = int(s.points.size());
  s.points.push_back({0, 0, -1});
  for (int j = 0; j < cols; j++) {
    int k = (j + 1) % cols;
    s.faces.push_back({0, 1 + j, 1 + k});
    for (int i = 0; i + 2 < rows; i++) s.Quad(1 + i * cols + j, 1 + (i + 1) * cols + j, 1 + (i + 1) * cols + k, 1 + i * cols + k);
    s.faces.push_back({1 + (rows - 2) * cols + j, last, 1 + (rows - 2) * cols + k});
  }
  return s;
}

// The cube from -1 to 1; each face with four points of its own.
inline Shape Cube() {
  Shape s;
  for (int axis = 0; axis < 3; axis++)
    for (int side = -1; side <= 1; side += 2) {
      int n = int(s.points.size());
      const float corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
      for (int k = 0; k < 4; k++) {
        float p[3];
        p[axis] = float(side);
        p[(axis + 1) % 3] = corner[side > 0 ? k : 3 - k][0];
        p[(axis + 2) % 3] = corner[side > 0 ? k : 3 - k][1];
        s.points.push_back({p[0], p[1], p[2]});
      }
      s.Quad(n, n + 1, n + 2, n + 3);
    }
  return s;
}

class Place {
 public:
  // device: "cpu", "interp", or "cuda:0", which is the simulated one.
  explicit Place(const char *device, int width = 0) : width_(width) {
    setenv("HEDDLE_LIBCUDA", "tests/fakecuda/libfakecuda.so", 1);
    setenv("HEDDLE_FAKECUDA", "sm=90,mem=1G", 1);
    static const std::string cache = Cache(); // of this run: a kernel is compiled once
    HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
    o.cache_dir = cache.c_str();
    EXPECT_EQ(hd_context_new(&o, &ctx), HD_OK);
    EXPECT_EQ(hd_device_find(ctx, device, &this->device), HD_OK) << device << ": " << Why();
    EXPECT_EQ(hd_stream_new(ctx, this->device, HD_STREAM_SYNC, &stream), HD_OK) << Why();
  }
  ~Place() {
    for (HdArray &a : arrays_) hd_array_free(ctx, &a);
    for (HdModule *m : modules_) hd_module_free(m);
    hd_stream_free(stream);
    hd_context_free(ctx);
  }
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;

  std::string Why() const {
    char line[1024];
    return std::string(hd_error_format(hd_context_error(ctx), line, sizeof line)) + "\n" + hd_context_diagnostics(ctx);
  }

  // Arrays end with the place.
  HdArray New(HdType type, int64_t n) {
    HdArray a = {};
    EXPECT_EQ(hd_array_zeros(ctx, device, type, 1, &n, &a), HD_OK) << Why();
    arrays_.push_back(a);
    return a;
  }
  template <class T>
  HdArray New(HdType type, const std::vector<T> &v) {
    HdArray a = New(type, int64_t(v.size() * sizeof(T) / type.size));
    Set(a, v);
    return a;
  }
  HdArray New(const std::vector<V> &v) { return New(hd_type_vec(HD_F32, 3), v); }
  HdArray New(const std::vector<Face> &v) { return New(hd_type_vec(HD_I32, 3), v); }
  template <class T>
  void Set(HdArray a, const std::vector<T> &v) {
    if (!v.empty()) Copy(a, const_cast<T *>(v.data()), false);
  }
  template <class T>
  std::vector<T> Get(HdArray a) {
    std::vector<T> v(size_t(hd_array_count(a)) * a.type.size / sizeof(T));
    if (!v.empty()) Copy(a, v.data(), true);
    return v;
  }

  // The arguments for a tree, and others behind them.
  static std::vector<HdArg> Args(const HdBvh *b, const std::vector<HdArg> &more) {
    std::vector<HdArg> all(HD_BVH_ARGS);
    hd_bvh_args(b, all.data());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static std::vector<HdArg> Args(const HdMesh *m, const std::vector<HdArg> &more) {
    std::vector<HdArg> all(HD_MESH_ARGS);
    hd_mesh_args(m, all.data());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  HdMesh *Mesh(const Shape &s, bool signs = true) {
    HdMeshOptions o = HD_MESH_OPTIONS_INIT;
    o.signs = signs;
    HdMesh *m = nullptr;
    EXPECT_EQ(hd_mesh_new(ctx, stream, &o, New(s.points), New(s.faces), &m), HD_OK) << Why();
    return m;
  }

  // The kernel `k` of a text.
  HdKernel *Kernel(const std::string &text) {
    HdKernel *&k = kernels_[text];
    if (k) return k;
    HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
    o.width = width_;
    HdModule *m = nullptr;
    EXPECT_EQ(hd_module_load_source(ctx, "test.hd", text.data(), text.size(), &o, &m), HD_OK) << Why();
    if (!m) return nullptr;
    modules_.push_back(m);
    EXPECT_EQ(hd_module_kernel(m, "k", device, &k), HD_OK) << Why();
    return k;
  }
  void Run(HdKernel *k, int64_t n, const std::vector<HdArg> &args) {
    if (!k) return;
    ASSERT_EQ(hd_launch(k, stream, 1, &n, int32_t(args.size()), args.data()), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  }

  int width() const { return width_; } // 0: as each kernel chooses

  HdContext *ctx = nullptr;
  HdStream *stream = nullptr;
  HdDevice device;

 private:
  static std::string Cache() {
    const char *tmp = getenv("TEST_TMPDIR");
    std::string name = std::string(tmp ? tmp : "/tmp") + "/geometry-XXXXXX";
    EXPECT_NE(mkdtemp(&name[0]), nullptr);
    return name;
  }
  void Copy(HdArray a, void *host, bool out) {
    HdDevice cpu;
    HdArray here;
    ASSERT_EQ(hd_device_find(ctx, "cpu", &cpu), HD_OK);
    ASSERT_EQ(hd_array_borrow(ctx, cpu, a.type, a.ndim, a.length, nullptr, host, &here), HD_OK) << Why();
    ASSERT_EQ(hd_array_copy(stream, out ? a : here, out ? here : a), HD_OK) << Why();
    ASSERT_EQ(hd_stream_wait(stream), HD_OK) << Why();
  }

  int width_;
  std::vector<HdArray> arrays_;
  std::vector<HdModule *> modules_;
  std::map<std::string, HdKernel *> kernels_;
};

#define GEO_OK(place, call) ASSERT_EQ((call), HD_OK) << (place).Why()

// What `f` gives is the same everywhere, bit for bit.
inline void SameEverywhere(const std::function<std::vector<int32_t>(Place &)> &f) {
  struct {
    const char *device;
    int width;
  } const places[] = {{"interp", 0}, {"cpu", 0}, {"cpu", 4}, {"cpu", 8}, {"cpu", 1}, {"cuda:0", 0}};
  std::vector<int32_t> want;
  for (auto &p : places) {
    Place place(p.device, p.width);
    std::vector<int32_t> got = f(place);
    if (want.empty()) want = got;
    EXPECT_FALSE(got.empty());
    EXPECT_EQ(want, got) << p.device << ", " << p.width << " lanes";
  }
}

class Geometry : public testing::Test {
 protected:
  float U() { return u_(gen_); } // -1 to 1
  V Point(float size = 1) { return V{U(), U(), U()} * size; }
  std::vector<V> Points(int n, float size = 1) {
    std::vector<V> v;
    for (int i = 0; i < n; i++) v.push_back(Point(size));
    return v;
  }

  std::mt19937 gen_{11};
  std::uniform_real_distribution<float> u_{-1, 1};
};

} // namespace geo

#endif
