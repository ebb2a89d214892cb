// tests/geometry/volume_test.cc -- sparse volumes against what NVIDIA Warp finds in them, and files that are not what they should be.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "geometry_fixture.h"
#include "tools/npy/npy.h"

namespace {

using namespace geo;

struct I3 {
  int32_t x, y, z;
};

std::string Bytes(const std::string &path) {
  std::ifstream f(path, std::ios::binary);
  EXPECT_TRUE(f.good()) << path;
  return std::string(std::istreambuf_iterator<char>(f), {});
}

template <class T> std::vector<T> Load(const char *name) {
  NpyReader r;
  char why[OUT_WHY];
  std::string path = std::string("tests/geometry/data/volume_") + name + ".npy";
  EXPECT_EQ(npy_open(path.c_str(), &r, why), HD_OK) << why;
  std::vector<T> v(r.size / sizeof(T));
  EXPECT_EQ(npy_read(&r, path.c_str(), v.data(), why), HD_OK) << why;
  npy_close(&r);
  return v;
}

template <class T> T At(const std::string &s, size_t at) {
  T x;
  memcpy(&x, s.data() + at, sizeof x);
  return x;
}
template <class T> void Put(std::string *s, size_t at, T x) { memcpy(&(*s)[at], &x, sizeof x); }

// Where things are in a grid.
enum { kChecksum = 8, kVersion = 16, kSize = 32, kType = 636, kTree = 672, kNodes = 704 };

const char kPath[] = "tests/geometry/data/volume.nvdb";

const char kFloats[] = "kernel k(Volume v, vec3i at[], vec3 p[], f32 out[]) { let i = tid(); var s = 0.0;\n"
                       "  out[8 * i] = volume_value<f32>(v, at[i]); out[8 * i + 1] = volume_linear<f32>(v, p[i]);\n"
                       "  let g = volume_gradient(v, p[i], s); out[8 * i + 2] = s; out[8 * i + 3] = g.x;\n"
                       "  out[8 * i + 4] = g.y; out[8 * i + 5] = g.z; out[8 * i + 6] = volume_nearest<f32>(v, p[i]);\n"
                       "  out[8 * i + 7] = f32(volume_active<f32>(v, at[i])); }";
const char kInts[] = "kernel k(Volume v, vec3i at[], vec3 p[], f32 out[]) { let i = tid();\n"
                     "  out[i] = f32(volume_value<i32>(v, at[i])) + 1e4 * f32(volume_nearest<i32>(v, p[i])); }";
const char kVectors[] =
    "kernel k(Volume v, vec3i at[], vec3 p[], f32 out[]) { let i = tid();\n"
    "  let a = volume_value<vec3>(v, at[i]); let b = volume_linear<vec3>(v, p[i]); static for (k in 0..3) {\n"
    "  out[6 * i + k] = a[k]; out[6 * i + 3 + k] = b[k]; } }";

class VolumeTest : public Geometry {
protected:
  static std::vector<float> Ask(Place &p, const HdVolume *v, const char *text, const std::vector<I3> &at,
                                const std::vector<V> &points, int each, HdKernel *kernel = nullptr) {
    std::vector<HdArg> args(HD_VOLUME_ARGS);
    EXPECT_EQ(hd_volume_args(v, args.data()), HD_VOLUME_ARGS);
    HdArray i = p.New(hd_type_vec(HD_I32, 3), at), x = p.New(points);
    HdArray out = p.New(hd_type_scalar(HD_F32), each * int64_t(at.size()));
    args.insert(args.end(), {hd_arg_array(&i), hd_arg_array(&x), hd_arg_array(&out)});
    p.Run(kernel ? kernel : p.Kernel(text), int64_t(at.size()), args);
    return p.Get<float>(out);
  }
  static HdVolume *Open(Place &p, const char *name, const std::string &path = kPath) {
    HdVolume *v = nullptr;
    EXPECT_EQ(hd_volume_load(p.ctx, p.stream, path.c_str(), name, &v), HD_OK) << p.Why();
    return v;
  }
  static HdStatus Read(Place &p, const std::string &file, const char *name, HdVolume **v) {
    std::vector<char> copy(file.begin(), file.end()); // ends where it ends
    return hd_volume_read(p.ctx, p.stream, copy.data(), int64_t(copy.size()), name, v);
  }
  // The file is refused, and the record says this.
  static void Refused(Place &p, const std::string &file, HdStatus status, const std::string &what,
                      const char *name = nullptr) {
    HdVolume *v = nullptr;
    EXPECT_EQ(Read(p, file, name, &v), status) << what << ": " << p.Why();
    EXPECT_EQ(v, nullptr);
    EXPECT_NE(p.Why().find(what), std::string::npos) << p.Why();
    hd_volume_free(v);
  }
  // The grid itself, without a checksum.
  static std::string Grid(Place &p, const char *name) {
    HdVolume *v = Open(p, name);
    std::string path = testing::TempDir() + "grid.nvdb";
    EXPECT_EQ(hd_volume_save(v, path.c_str(), false), HD_OK) << p.Why();
    hd_volume_free(v);
    std::string file = Bytes(path), grid = file.substr(16 + 176 + At<uint32_t>(file, 16 + 136));
    Put(&grid, 0, uint64_t(0x314244566f6e614e)); // without a file's head
    Put(&grid, kChecksum, ~uint64_t(0));
    return grid;
  }
};

TEST_F(VolumeTest, HasWhatWarpFindsInIt) {
  Place p("cpu");
  std::vector<I3> at = Load<I3>("indices");
  std::vector<V> points = Load<V>("points");
  std::vector<float> want = Load<float>("values");
  HdVolume *density = Open(p, nullptr), *ids = Open(p, "ids"), *flow = Open(p, "flow");
  std::vector<float> f = Ask(p, density, kFloats, at, points, 8), n = Ask(p, ids, kInts, at, points, 1),
                     v = Ask(p, flow, kVectors, at, points, 6);
  const double turn[3][3] = {{0.3, -0.1, 0.05}, {0.1, 0.25, 0}, {0, 0.1, 0.5}}; // of the file
  for (size_t i = 0; i < at.size(); i++) {
    const float *w = &want[15 * i];
    EXPECT_EQ(f[8 * i], w[0]);
    EXPECT_EQ(v[6 * i], w[2]);
    EXPECT_EQ(v[6 * i + 1], w[3]);
    EXPECT_EQ(v[6 * i + 2], w[4]);
    double far = 1e-5 + 4e-7 * (std::fabs(w[12]) + std::fabs(w[13]) + std::fabs(w[14])); // what indices are rounded by
    EXPECT_NEAR(f[8 * i + 1], w[5], 3 * far) << i;
    EXPECT_EQ(f[8 * i + 2], f[8 * i + 1]);
    for (int k = 0; k < 3; k++) EXPECT_NEAR(v[6 * i + 3 + k], w[6 + k], 6 * far) << i;
    for (int k = 0; k < 3; k++) { // Warp's slope is by the index
      double g = f[8 * i + 3] * turn[0][k] + f[8 * i + 4] * turn[1][k] + f[8 * i + 5] * turn[2][k];
      EXPECT_NEAR(g, w[9 + k], 1e-4 + 10 * far) << i << " " << k;
    }
    EXPECT_EQ(std::fmod(n[i], 1e4f), w[1]) << i;
  }
  HdVolumeInfo info = hd_volume_info(density);
  EXPECT_EQ(info.type, HD_VOLUME_F32);
  EXPECT_STREQ(info.name, "density");
  EXPECT_EQ(info.leaves, 12);
  EXPECT_EQ(info.active, 12 * 512);
  EXPECT_EQ(info.low[0], -4096);
  EXPECT_EQ(info.high[0], 4103);
  EXPECT_NEAR(info.to_world[1], -0.1, 1e-6);
  EXPECT_EQ(info.origin[1], -2);
  EXPECT_EQ(hd_volume_info(ids).type, HD_VOLUME_I32);
  EXPECT_EQ(hd_volume_info(flow).type, HD_VOLUME_VEC3);
  for (HdVolume *each : {density, ids, flow}) hd_volume_free(each);
}

const char kNumbers[] =
    "kernel k(Volume v, vec3i at[], vec3 p[], f32 out[]) { let i = tid();\n"
    "  out[2 * i] = f32(volume_number(v, at[i])); out[2 * i + 1] = f32(volume_active<u64>(v, at[i])); }";

TEST_F(VolumeTest, NumbersItsVoxelsAsWarpDoes) {
  Place p("cpu");
  std::vector<I3> at = Load<I3>("indices");
  std::vector<int32_t> want = Load<int32_t>("numbers");
  HdVolume *v = Open(p, "numbers");
  std::vector<float> got = Ask(p, v, kNumbers, at, std::vector<V>(at.size()), 2);
  for (size_t i = 0; i < at.size(); i++) {
    EXPECT_EQ(got[2 * i], float(want[i])) << i;
    EXPECT_EQ(got[2 * i + 1], want[i] > 0) << i;
  }
  EXPECT_EQ(hd_volume_info(v).type, HD_VOLUME_NUMBERS);
  EXPECT_EQ(hd_volume_info(v).numbers, hd_volume_info(v).active + 1);
  std::vector<float> none = Ask(p, v, kFloats, at, std::vector<V>(at.size()), 8); // it has no other values
  for (size_t i = 0; i < at.size(); i++) EXPECT_EQ(none[8 * i + 7], 0);
  hd_volume_free(v);
  std::string grid = Grid(p, "numbers"), s = grid;
  size_t leaf = kTree + At<uint64_t>(grid, kTree);
  Put(&s, leaf + 80, uint64_t(700));
  Refused(p, s, HD_ERR_FORMAT, "leaf 0 has numbers 700 and on, of 752");
  Put(&s, leaf + 80, ~uint64_t(0));
  Refused(p, s, HD_ERR_FORMAT, "and on, of 752");
  s = grid;
  s[leaf + 88] ^= 1;
  Refused(p, s, HD_ERR_FORMAT, "the sums of leaf 0");
  s = grid;
  s[leaf + 20] ^= 2;
  Refused(p, s, HD_ERR_FORMAT, "the sums of leaf 0");
  Put(&s, 656, uint64_t(1) << 40);
  Refused(p, s, HD_ERR_FORMAT, "the sums of leaf 0");
}

TEST_F(VolumeTest, IsReadTheSameWayOnEveryDeviceAndWidth) {
  std::vector<I3> at = Load<I3>("indices");
  std::vector<V> points = Load<V>("points");
  at.resize(203);
  points.resize(203);
  points[7] = {kNan, kInf, -kInf};
  SameEverywhere([&](Place &p) {
    std::vector<int32_t> all;
    auto add = [&](const char *name, const char *text, int each) {
      HdVolume *v = Open(p, name);
      std::vector<float> got = Ask(p, v, text, at, points, each);
      for (float x : got) {
        int32_t b;
        memcpy(&b, &x, 4);
        all.push_back(x == x ? b : -1);
      }
      hd_volume_free(v);
    };
    add("density", kFloats, 8);
    add("ids", kInts, 1);
    add("flow", kVectors, 6);
    add("numbers", kNumbers, 2);
    return all;
  });
}

TEST_F(VolumeTest, SurvivesBeingSaved) {
  Place p("cpu");
  std::vector<I3> at = Load<I3>("indices");
  std::vector<V> points = Load<V>("points");
  const struct {
    const char *name, *text;
    int each;
  } all[] = {{"density", kFloats, 8}, {"ids", kInts, 1}, {"flow", kVectors, 6}};
  std::string path = testing::TempDir() + "saved.nvdb";
  for (auto &a : all)
    for (bool zip : {false, true}) {
      HdVolume *v = Open(p, a.name);
      std::vector<float> want = Ask(p, v, a.text, at, points, a.each);
      GEO_OK(p, hd_volume_save(v, path.c_str(), zip));
      EXPECT_EQ(Bytes(path).size() < 100000, zip);
      HdVolume *again = Open(p, a.name, path);
      EXPECT_EQ(Ask(p, again, a.text, at, points, a.each), want);
      hd_volume_free(v);
      hd_volume_free(again);
      std::string file = Bytes(path); // its checksum is one
      if (!zip) {
        file[file.size() - 100] ^= 1;
        Refused(p, file, HD_ERR_FORMAT, "checksum of the nodes");
        file = Bytes(path);
        file[16 + 176 + strlen(a.name) + 1 + 300] ^= 1;
        Refused(p, file, HD_ERR_FORMAT, "checksum of the head");
      }
    }
  HdVolume *v = Open(p, "ids");
  EXPECT_EQ(hd_volume_save(v, "/nowhere/x.nvdb", false), HD_ERR_IO);
  EXPECT_NE(p.Why().find("hd_volume_save: path: '/nowhere/x.nvdb': No such file"), std::string::npos) << p.Why();
  hd_volume_free(v);
  EXPECT_EQ(hd_volume_load(p.ctx, p.stream, "/nowhere/x.nvdb", nullptr, &v), HD_ERR_IO);
  EXPECT_EQ(hd_volume_load(p.ctx, p.stream, "/", nullptr, &v), HD_ERR_IO) << "a folder";
}

TEST_F(VolumeTest, KeepsWhatKernelsStoreInLeaves) {
  Place p("cpu");
  HdVolume *v = Open(p, "flow");
  std::vector<HdArg> args(HD_VOLUME_ARGS);
  hd_volume_args(v, args.data());
  std::vector<I3> at = {{3, 4, 5}, {-1, -1, -1}, {300, 0, 0}, {4100, 7, 7}};
  HdArray i = p.New(hd_type_vec(HD_I32, 3), at), done = p.New(hd_type_scalar(HD_I32), 4);
  args.insert(args.end(), {hd_arg_array(&i), hd_arg_array(&done)});
  p.Run(p.Kernel("kernel k(Volume v, vec3i at[], i32 done[]) { let i = tid();\n"
                 "  done[i] = i32(volume_store<vec3>(v, at[i], vec3(f32(i), 20, 30)));\n"
                 "  if (volume_store<f32>(v, at[i], 5)) done[i] += 2; }"),
        4, args);
  EXPECT_EQ(p.Get<int32_t>(done), (std::vector<int32_t>{1, 1, 0, 1}));
  std::string path = testing::TempDir() + "stored.nvdb";
  GEO_OK(p, hd_volume_save(v, path.c_str(), true));
  hd_volume_free(v);
  v = Open(p, nullptr, path);
  std::vector<float> got = Ask(p, v, kVectors, at, std::vector<V>(4), 6);
  for (int k : {0, 1, 3})
    EXPECT_EQ((std::vector<float>(&got[6 * k], &got[6 * k + 3])), (std::vector<float>{float(k), 20, 30}));
  EXPECT_EQ(got[12], 1); // the background
  hd_volume_free(v);
}

TEST_F(VolumeTest, OfAnotherTypeHasNoLeaves) {
  Place p("cpu");
  HdVolume *v = Open(p, "flow");
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.bounds = true;
  HdModule *m = nullptr;
  HdKernel *k = nullptr;
  GEO_OK(p, hd_module_load_source(p.ctx, "t.hd", kFloats, strlen(kFloats), &o, &m));
  GEO_OK(p, hd_module_kernel(m, "k", p.device, &k));
  std::vector<float> got = Ask(p, v, kFloats, Load<I3>("indices"), Load<V>("points"), 8, k);
  for (size_t i = 0; i < got.size(); i += 8) EXPECT_EQ(got[i + 7], 0);
  hd_volume_free(v);
  hd_module_free(m);
}

// --- made about voxels ---

std::vector<uint32_t> Words(Place &p, const HdVolume *v) {
  std::vector<HdArg> args(HD_VOLUME_ARGS);
  hd_volume_args(v, args.data());
  return p.Get<uint32_t>(*args[0].array);
}

HdVolume *Make(Place &p, const std::vector<I3> &voxels, const HdVolumeOptions &o = HD_VOLUME_OPTIONS_INIT) {
  HdVolume *v = nullptr;
  EXPECT_EQ(hd_volume_new(p.ctx, p.stream, &o, p.New(hd_type_vec(HD_I32, 3), voxels), &v), HD_OK) << p.Why();
  return v;
}

TEST_F(VolumeTest, IsMadeAboutVoxels) {
  Place p("cpu");
  std::vector<I3> voxels, at;
  std::set<std::array<int, 3>> active, leaves;
  for (int i = 0; i < 900; i++) {
    int size = i % 3 == 0 ? 4500 : i % 3 == 1 ? 60 : 8;
    voxels.push_back({int(U() * float(size)), int(U() * float(size)), int(U() * float(size))});
  }
  voxels.insert(voxels.end(), {{8388607, -8388608, 0}, {-1, -8, 8}, {4095, 4096, -4096}, {-4097, 127, 128}});
  for (I3 a : voxels) {
    active.insert({a.x, a.y, a.z});
    leaves.insert({a.x >> 3, a.y >> 3, a.z >> 3});
    at.push_back(a);
    at.push_back({a.x + 1, a.y, a.z});
    at.push_back({a.x, a.y - 9, a.z});
  }
  const char text[] =
      "kernel k(Volume v, vec3i at[], vec3 p[], f32 out[]) { let i = tid();\n"
      "  out[3 * i] = f32(volume_active<T>(v, at[i])); out[3 * i + 1] = f32(volume_value<T>(v, at[i])B);\n"
      "  out[3 * i + 2] = f32(volume_store<T>(v, at[i], T(1))); }";
  const struct {
    HdVolumeType type;
    const char *name, *part;
  } all[] = {{HD_VOLUME_F32, "f32", ""}, {HD_VOLUME_I32, "i32", ""}, {HD_VOLUME_VEC3, "vec3", ".y"}};
  for (auto &a : all)
    for (bool whole : {false, true}) {
      if (whole && a.type != HD_VOLUME_F32) continue;
      std::string source = text;
      for (size_t k; (k = source.find('T')) != std::string::npos;) source.replace(k, 1, a.name);
      source.replace(source.find('B'), 1, a.part);
      HdVolumeOptions o = HD_VOLUME_OPTIONS_INIT;
      o.type = a.type;
      o.whole = whole;
      o.background[0] = o.background[1] = 7;
      o.name = "made";
      HdVolume *v = Make(p, voxels, o);
      std::vector<float> got = Ask(p, v, source.c_str(), at, std::vector<V>(at.size()), 3);
      for (size_t i = 0; i < at.size(); i++) {
        bool in_leaf = leaves.count({at[i].x >> 3, at[i].y >> 3, at[i].z >> 3});
        EXPECT_EQ(got[3 * i], whole ? in_leaf : active.count({at[i].x, at[i].y, at[i].z})) << i;
        EXPECT_TRUE(got[3 * i + 1] == 7 || (got[3 * i + 1] == 1 && in_leaf)) << i; // another thread may have been first
        EXPECT_EQ(got[3 * i + 2], in_leaf) << i;
      }
      HdVolumeInfo info = hd_volume_info(v);
      EXPECT_EQ(info.type, a.type);
      EXPECT_STREQ(info.name, "made");
      EXPECT_EQ(info.leaves, int64_t(leaves.size()));
      EXPECT_EQ(info.active, whole ? 512 * int64_t(leaves.size()) : int64_t(active.size()));
      EXPECT_EQ(info.low[1], -8388608);
      EXPECT_EQ(info.high[0], 8388607);
      std::string path = testing::TempDir() + "made.nvdb";
      GEO_OK(p, hd_volume_save(v, path.c_str(), whole)); // and is right when it is read
      HdVolume *again = Open(p, "made", path);
      EXPECT_EQ(hd_volume_info(again).active, info.active);
      std::vector<uint32_t> had = Words(p, v), has = Words(p, again);
      had[2] = has[2], had[3] = has[3]; // the checksums
      EXPECT_EQ(had, has);
      hd_volume_free(v);
      hd_volume_free(again);
    }
}

TEST_F(VolumeTest, IsMadeTheSameOnEveryDeviceAndWidth) {
  std::vector<I3> voxels;
  for (int i = 0; i < 40; i++) voxels.push_back({int(U() * 50), int(U() * 50), int(U() * 6)});
  SameEverywhere([&](Place &p) {
    HdVolumeOptions o = HD_VOLUME_OPTIONS_INIT;
    o.background[0] = 0.25;
    HdVolume *v = Make(p, voxels, o);
    std::vector<uint32_t> words = Words(p, v);
    hd_volume_free(v);
    return std::vector<int32_t>(words.begin(), words.end());
  });
}

TEST_F(VolumeTest, IsMadeAsWarpMakesIt) {
  Place p("cpu");
  HdVolume *theirs = Open(p, "density");
  HdVolumeInfo info = hd_volume_info(theirs);
  const I3 tiles[] = {{0, 0, 0},    {8, 0, 0},   {8, 8, 0},   {8, 8, 8},    {0, 0, 8},    {-8, 0, 0},
                      {-8, -8, -8}, {120, 0, 0}, {128, 0, 0}, {4088, 0, 0}, {4096, 0, 0}, {-4096, -8, 16}};
  HdVolumeOptions o = HD_VOLUME_OPTIONS_INIT;
  o.whole = true;
  o.background[0] = 1.5;
  for (int i = 0; i < 9; i++) o.to_world[i] = info.to_world[i];
  for (int i = 0; i < 3; i++) o.origin[i] = info.origin[i];
  HdVolume *ours = Make(p, {tiles, tiles + 12}, o);
  std::vector<HdArg> args(2 * HD_VOLUME_ARGS);
  hd_volume_args(theirs, args.data());
  hd_volume_args(ours, args.data() + HD_VOLUME_ARGS);
  std::vector<I3> all;
  for (I3 t : tiles)
    for (int i = 0; i < 512; i++) all.push_back({t.x + (i >> 6), t.y + (i >> 3 & 7), t.z + (i & 7)});
  HdArray at = p.New(hd_type_vec(HD_I32, 3), all);
  args.push_back(hd_arg_array(&at));
  p.Run(p.Kernel("kernel k(Volume a, Volume b, vec3i at[]) {\n"
                 "  let i = at[tid()]; volume_store<f32>(b, i, volume_value<f32>(a, i)); }"),
        int64_t(all.size()), args);
  std::vector<I3> indices = Load<I3>("indices");
  std::vector<V> points = Load<V>("points");
  std::vector<float> want = Ask(p, theirs, kFloats, indices, points, 8),
                     got = Ask(p, ours, kFloats, indices, points, 8);
  for (size_t i = 0; i < want.size(); i++)
    EXPECT_NEAR(got[i], want[i], i % 8 == 6 ? 2 : 1e-3) << i; // nearest may be another
  EXPECT_EQ(hd_volume_info(ours).active, info.active);
  EXPECT_EQ(memcmp(hd_volume_info(ours).low, info.low, 24), 0);
  hd_volume_free(theirs);
  hd_volume_free(ours);
}

TEST_F(VolumeTest, IsMadeAboutPointsInSpace) {
  Place p("cpu");
  HdVolumeOptions o = HD_VOLUME_OPTIONS_INIT;
  for (int i = 0; i < 3; i++) o.to_world[4 * i] = 0.1;
  o.origin[0] = 5;
  HdVolume *v = nullptr;
  GEO_OK(p, hd_volume_new(p.ctx, p.stream, &o,
                          p.New(std::vector<V>{{5, 0.14f, -0.26f}, {5.01f, 0.11f, -0.31f}, {4, 0, 0}}), &v));
  EXPECT_EQ(hd_volume_info(v).active, 2);
  std::vector<float> got = Ask(p, v, kFloats, {{0, 1, -3}, {-10, 0, 0}, {0, 0, 0}}, std::vector<V>(3), 8);
  EXPECT_EQ(got[7] + 2 * got[15] + 4 * got[23], 3);
  hd_volume_free(v);
  for (V bad : {V{kNan, 0, 0}, V{0, kInf, 0}, V{0, 0, 9e5f}}) {
    v = nullptr;
    EXPECT_EQ(hd_volume_new(p.ctx, p.stream, &o, p.New(std::vector<V>{{0, 0, 0}, bad}), &v), HD_ERR_ARG);
    EXPECT_NE(p.Why().find("hd_volume_new: voxels: a point is not finite, or"), std::string::npos) << p.Why();
    EXPECT_EQ(v, nullptr);
  }
}

TEST_F(VolumeTest, MayBeMadeOfNothing) {
  Place p("cpu");
  HdVolumeOptions o = HD_VOLUME_OPTIONS_INIT;
  o.background[0] = 3;
  HdVolume *v = Make(p, {}, o);
  std::vector<float> got = Ask(p, v, kFloats, {{0, 0, 0}}, {{1, 2, 3}}, 8);
  EXPECT_EQ(got, (std::vector<float>{3, 3, 3, 0, 0, 0, 3, 0}));
  std::string path = testing::TempDir() + "nothing.nvdb";
  GEO_OK(p, hd_volume_save(v, path.c_str(), false));
  hd_volume_free(v);
  v = Open(p, "", path);
  EXPECT_EQ(hd_volume_info(v).leaves, 0);
  hd_volume_free(v);
}

TEST_F(VolumeTest, RefusesVoxelsAndOptionsOutOfRange) {
  Place p("cpu");
  HdVolumeOptions o = HD_VOLUME_OPTIONS_INIT;
  HdArray voxels = p.New(hd_type_vec(HD_I32, 3), std::vector<I3>{{0, 0, 0}, {0, 8388608, 0}, {1, 1, 1}});
  HdVolume *v = nullptr;
  EXPECT_EQ(hd_volume_new(p.ctx, p.stream, &o, voxels, &v), HD_ERR_ARG);
  EXPECT_NE(p.Why().find("an index is not from -2^23 to 2^23 - 1"), std::string::npos) << p.Why();
  p.Set(voxels, std::vector<I3>{{0, 0, 0}, {0, 0, 0}, {0, 0, -8388609}});
  EXPECT_EQ(hd_volume_new(p.ctx, p.stream, &o, voxels, &v), HD_ERR_ARG);
  p.Set(voxels, std::vector<I3>(3));
  auto refused = [&](const char *what) {
    EXPECT_EQ(hd_volume_new(p.ctx, p.stream, &o, voxels, &v), HD_ERR_ARG);
    EXPECT_NE(p.Why().find(what), std::string::npos) << p.Why();
    o = HD_VOLUME_OPTIONS_INIT;
  };
  o.to_world[4] = 0;
  refused("options.to_world");
  o.to_world[3] = kNan;
  refused("options.to_world");
  o.origin[2] = kInf;
  refused("options.origin");
  o.type = static_cast<HdVolumeType>(0);
  refused("options.type");
  EXPECT_EQ(hd_volume_new(p.ctx, p.stream, &o, p.New(hd_type_scalar(HD_I32), 3), &v), HD_ERR_TYPE);
  EXPECT_EQ(v, nullptr);
}

// --- files that are not what they should be ---

TEST_F(VolumeTest, IsRefusedIfTruncated) {
  Place p("cpu");
  std::string file = Bytes(kPath);
  for (size_t n = 0; n < file.size(); n += n < 700 ? 1 : 977) {
    HdVolume *v = nullptr;
    HdStatus s = Read(p, file.substr(0, n), "flow", &v);
    EXPECT_TRUE(s == HD_ERR_FORMAT || (s == HD_ERR_NOT_FOUND && n > 700)) << n << ": " << p.Why();
    EXPECT_EQ(v, nullptr);
  }
  std::string grid = Grid(p, "density");
  for (size_t n : {size_t(0), size_t(100), size_t(735), size_t(736), size_t(5000), grid.size() - 1})
    Refused(p, grid.substr(0, n), HD_ERR_FORMAT, n < 16 ? "no NanoVDB file" : n < 736 ? "no grid" : "truncated");
}

TEST_F(VolumeTest, IsRefusedIfItsHeadsAreWrong) {
  Place p("cpu");
  const std::string file = Bytes(kPath);
  const size_t meta = 16;
  auto with = [&](size_t at, auto x) {
    std::string s = file;
    Put(&s, at, x);
    return s;
  };
  Refused(p, "", HD_ERR_FORMAT, "0 bytes are no NanoVDB file");
  Refused(p, with(0, 'n'), HD_ERR_FORMAT, "it is no NanoVDB file");
  Refused(p, with(7, '7'), HD_ERR_FORMAT, "it is no NanoVDB file");
  Refused(p, with(8, uint32_t(29 << 21)), HD_ERR_UNSUPPORTED, "version 29.0.0");
  Refused(p, with(8, uint32_t(32 << 21 | 2 << 10)), HD_ERR_UNSUPPORTED, "version 32.2.0");
  Refused(p, with(12, uint16_t(0)), HD_ERR_FORMAT, "no segment at byte 16");
  Refused(p, with(12, uint16_t(60000)), HD_ERR_FORMAT, "truncated");
  Refused(p, with(meta, ~uint64_t(0)), HD_ERR_FORMAT, "cannot be in");
  Refused(p, with(meta, uint64_t(12)), HD_ERR_FORMAT, "a grid of 12 bytes");
  Refused(p, with(meta, At<uint64_t>(file, meta) + 32), HD_ERR_FORMAT, "bytes, not the");
  Refused(p, with(meta, At<uint64_t>(file, meta) - 32), HD_ERR_FORMAT, "zlib could not unpack the grid");
  Refused(p, with(meta + 8, ~uint64_t(0)), HD_ERR_FORMAT, "truncated");
  Refused(p, with(meta + 136, ~uint32_t(0)), HD_ERR_FORMAT, "truncated");
  Refused(p, with(meta + 168, uint16_t(2)), HD_ERR_UNSUPPORTED, "packed by blosc");
  Refused(p, with(meta + 168, uint16_t(3)), HD_ERR_FORMAT, "codec 3");
  Refused(p, file, HD_ERR_NOT_FOUND, "no grid is named 'dens'; the file has 'density', 'ids'", "dens");
  Refused(p, file, HD_ERR_NOT_FOUND, "no grid is named ''", "");
  size_t packed = meta + 2 * 176 + sizeof "density" + sizeof "ids"; // the first grid
  Refused(p, with(packed, ~uint64_t(0)), HD_ERR_FORMAT, "truncated");
  Refused(p, with(packed + 200, char(file[packed + 200] ^ 4)), HD_ERR_FORMAT, "");
  EXPECT_EQ(hd_volume_read(p.ctx, p.stream, nullptr, 5, nullptr, nullptr), HD_ERR_ARG);
}

TEST_F(VolumeTest, IsRefusedIfItsGridIsWrong) {
  Place p("cpu");
  const std::string grid = Grid(p, "flow");
  HdVolume *v = nullptr;
  GEO_OK(p, Read(p, grid, "flow", &v)); // as it is
  hd_volume_free(v);
  auto with = [&](size_t at, auto x) {
    std::string s = grid;
    Put(&s, at, x);
    return s;
  };
  size_t root = kTree + At<uint64_t>(grid, kTree + 24), upper = kTree + At<uint64_t>(grid, kTree + 16),
         lower = kTree + At<uint64_t>(grid, kTree + 8), leaf = kTree + At<uint64_t>(grid, kTree);
  Refused(p, with(kVersion, uint32_t(31 << 21)), HD_ERR_UNSUPPORTED, "version 31.0.0");
  Refused(p, with(kSize, At<uint64_t>(grid, kSize) + 32), HD_ERR_FORMAT, "truncated");
  Refused(p, with(kSize, uint64_t(32)), HD_ERR_FORMAT, "truncated");
  Refused(p, with(kType, uint32_t(15)), HD_ERR_UNSUPPORTED, "values of type 15");
  for (int t = 0; t < 4; t++)
    for (uint64_t at :
         {uint64_t(0), ~uint64_t(0), uint64_t(1) << 63, uint64_t(grid.size()), ~uint64_t(700), uint64_t(100)})
      Refused(p, with(kTree + 8 * t, at), HD_ERR_FORMAT, "would begin");
  for (int t = 0; t < 3; t++) Refused(p, with(kNodes + 4 * t, ~uint32_t(0)), HD_ERR_FORMAT, "do not fit");
  Refused(p, with(kNodes, uint32_t(3)), HD_ERR_FORMAT, "leads to none of the leaves");
  Refused(p, with(kTree, uint64_t(lower - kTree)), HD_ERR_FORMAT, "overlap");
  Refused(p, with(root + 24, ~uint32_t(0)), HD_ERR_FORMAT, "1 root of");
  size_t tiles = root + 96;
  for (uint64_t offset : {uint64_t(32), ~uint64_t(0), uint64_t(leaf - root)})
    Refused(p, with(tiles + 8, offset), HD_ERR_FORMAT, "in the root an offset of");
  Refused(p, with(tiles + 32, At<uint64_t>(grid, tiles)), HD_ERR_FORMAT, "two tiles of the root");
  for (size_t bit : {size_t(5), size_t(7000)}) { // a child that nobody set
    std::string s = grid;
    s[upper + 32 + 4096 + bit / 8] |= char(1 << bit % 8);
    Refused(p, s, HD_ERR_FORMAT, "in the upper nodes an offset of");
  }
  std::string s = grid;
  s[lower + 32 + 512 + 100] |= 8;
  Refused(p, s, HD_ERR_FORMAT, "in the lower nodes an offset of");
}

TEST_F(VolumeTest, OfDamagedBytesIsRefusedOrHarmless) {
  Place p("cpu");
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.bounds = true; // an index outside fails the launch
  HdModule *m = nullptr;
  HdKernel *k = nullptr;
  GEO_OK(p, hd_module_load_source(p.ctx, "t.hd", kFloats, strlen(kFloats), &o, &m));
  GEO_OK(p, hd_module_kernel(m, "k", p.device, &k));
  std::vector<I3> at = Load<I3>("indices");
  std::vector<V> points = Load<V>("points");
  const std::string grid = Grid(p, "density");
  size_t root = kTree + At<uint64_t>(grid, kTree + 24), upper = kTree + At<uint64_t>(grid, kTree + 16);
  int read = 0, refused = 0;
  for (int round = 0; round < 60; round++) {
    std::string s = grid;
    size_t from = round % 3 == 0   ? size_t(kTree)
                  : round % 3 == 1 ? root
                                   : upper,
           to = round % 3 == 2 ? grid.size() : upper;
    for (int i = 0; i < 1 + round / 15; i++) s[from + gen_() % (to - from)] ^= char(1 << gen_() % 8);
    HdVolume *v = nullptr;
    HdStatus status = Read(p, s, nullptr, &v);
    if (status == HD_OK) {
      Ask(p, v, kFloats, at, points, 8, k);
      hd_volume_free(v);
      read++;
    } else {
      EXPECT_EQ(status, HD_ERR_FORMAT) << p.Why();
      refused++;
    }
  }
  EXPECT_GT(read, 5);
  EXPECT_GT(refused, 5);
  hd_module_free(m);
}

} // namespace
