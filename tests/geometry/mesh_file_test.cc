// tests/geometry/mesh_file_test.cc -- files of meshes, written here, as they are read.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "geometry_fixture.h"

static bool no_assimp = false;

// Opens what libdl opens, but assimp where a test says that there is none.
extern "C" void *dlopen(const char *name, int flags) {
  using Open = void *(const char *, int);
  static Open *const real = reinterpret_cast<Open *>(dlsym(RTLD_NEXT, "dlopen"));
  if (no_assimp && name && strstr(name, "assimp")) name = "libassimp-that-is-not-there.so";
  return real(name, flags);
}

// Assimp loses buffers of its own where it gives up on a damaged file.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions();
extern "C" const char *__lsan_default_suppressions() { return "leak:libassimp"; }

namespace {

using namespace geo;
using Triangle = std::array<std::array<float, 3>, 3>;

std::string Bytes(const void *p, size_t n) { return std::string(static_cast<const char *>(p), n); }
template <class T> std::string Bytes(const std::vector<T> &v) { return Bytes(v.data(), v.size() * sizeof(T)); }
template <class T> std::string Bytes(T x) { return Bytes(&x, sizeof x); }

std::string Base64(const std::string &s) {
  const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < s.size(); i += 3) {
    uint32_t w = 0;
    for (size_t k = 0; k < 3; k++) w = w << 8 | (i + k < s.size() ? uint8_t(s[i + k]) : 0);
    for (size_t k = 0; k < 4; k++) out += i + k <= s.size() ? digits[w >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

class MeshFile : public Geometry {
protected:
  ~MeshFile() override {
    no_assimp = false;
    for (auto &f : files_) unlink(f.c_str());
  }
  std::string Path(const std::string &name) {
    const char *tmp = getenv("TEST_TMPDIR");
    std::string path = std::string(tmp ? tmp : "/tmp") + "/" + std::to_string(getpid()) + "-" + name;
    files_.push_back(path);
    return path;
  }
  std::string File(const std::string &name, const std::string &bytes) {
    std::string path = Path(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  HdStatus Load(const std::string &path, HdMeshData *out, const HdMeshFileOptions *o = nullptr) {
    return hd_mesh_data_load(place_.ctx, path.c_str(), o, out);
  }
  // The triangles of a file, each from its least corner on, sorted.
  std::vector<Triangle> Triangles(const std::string &path, const HdMeshFileOptions *o = nullptr) {
    HdMeshData d = {};
    EXPECT_EQ(Load(path, &d, o), HD_OK) << path << ": " << place_.Why();
    std::vector<Triangle> all = Triangles(d);
    points_ = d.npoints;
    hd_mesh_data_free(place_.ctx, &d);
    return all;
  }
  static std::vector<Triangle> Triangles(const HdMeshData &d) {
    std::vector<Triangle> all;
    for (int64_t i = 0; i < d.nfaces; i++) {
      Triangle t;
      for (int k = 0; k < 3; k++)
        for (int a = 0; a < 3; a++) t[k][a] = d.points[3 * d.faces[3 * i + k] + a];
      all.push_back(t);
    }
    return Sorted(all);
  }
  static std::vector<Triangle> Triangles(const Shape &s) {
    std::vector<Triangle> all;
    for (auto f : s.faces) {
      Triangle t;
      int32_t at[] = {f.a, f.b, f.c};
      for (int k = 0; k < 3; k++) t[k] = {s.points[at[k]].x, s.points[at[k]].y, s.points[at[k]].z};
      all.push_back(t);
    }
    return Sorted(all);
  }
  static std::vector<Triangle> Sorted(std::vector<Triangle> all) {
    for (auto &t : all) std::rotate(t.begin(), std::min_element(t.begin(), t.end()), t.end());
    std::sort(all.begin(), all.end());
    return all;
  }
  void Fails(const std::string &path, HdStatus status, const char *with) {
    HdMeshData d = {};
    EXPECT_EQ(Load(path, &d), status) << path << " " << place_.Why();
    EXPECT_EQ(d.points, nullptr);
    EXPECT_NE(place_.Why().find(with), std::string::npos) << path << " " << place_.Why();
    hd_mesh_data_free(place_.ctx, &d);
  }

  Place place_{"cpu"};
  int64_t points_ = 0;
  std::vector<std::string> files_;
};

// A tetrahedron in each format.
const std::vector<V> kCorner = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3.5f}};
const std::vector<Face> kFace = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
const char kObj[] = "o tetra\nv 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3.5\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf -4 -1 -2\n";
const char kPly[] = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
                    "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
                    "0 0 0\n1 0 0\n0 2 0\n0 0 3.5\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";

std::string Stl() {
  std::string s(80, ' ');
  s += Bytes(uint32_t(kFace.size()));
  for (auto f : kFace) {
    s += std::string(12, '\0');
    for (int32_t k : {f.a, f.b, f.c}) s += Bytes(kCorner[size_t(k)]);
    s += std::string(2, '\0');
  }
  return s;
}

std::string TextStl() {
  std::string s = "solid tetra\n";
  for (auto f : kFace) {
    s += "facet normal 0 0 0\nouter loop\n";
    for (int32_t k : {f.a, f.b, f.c}) {
      char line[80];
      V p = kCorner[size_t(k)];
      snprintf(line, sizeof line, "vertex %g %g %g\n", p.x, p.y, p.z);
      s += line;
    }
    s += "endloop\nendfacet\n";
  }
  return s + "endsolid tetra\n";
}

// glTF's json: `nodes` and `scene` as given; mesh 0 is the tetrahedron, mesh 1 its points.
std::string Gltf(const std::string &nodes, const std::string &scene, const std::string &uri, size_t size,
                 int last = 3) {
  std::string index = std::to_string(kCorner.size() * 12), count = std::to_string(kFace.size() * 3);
  return R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":)" + scene + R"(}],"nodes":)" + nodes +
         R"(,"meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]},)"
         R"({"primitives":[{"attributes":{"POSITION":0},"mode":0}]}],)"
         R"("accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3","min":[0,0,0],"max":[1,2,)" +
         std::to_string(last) + R"(.5]},{"bufferView":1,"componentType":5125,"count":)" + count +
         R"(,"type":"SCALAR"}],)" + R"("bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":)" + index +
         R"(},{"buffer":0,"byteOffset":)" + index + R"(,"byteLength":48}],"buffers":[{)" + uri + R"("byteLength":)" +
         std::to_string(size) + "}]}";
}
std::string GltfFile(const std::string &nodes, const std::string &scene, std::string data) {
  return Gltf(nodes, scene, "\"uri\":\"data:application/octet-stream;base64," + Base64(data) + "\",", data.size());
}
std::string Glb(const std::string &nodes, const std::string &scene, const std::string &data) {
  std::string json = Gltf(nodes, scene, "", data.size());
  json.resize((json.size() + 3) / 4 * 4, ' ');
  std::string s = Bytes(uint32_t(0x46546C67)) + Bytes(uint32_t(2)) + Bytes(uint32_t(28 + json.size() + data.size()));
  s += Bytes(uint32_t(json.size())) + "JSON" + json;
  return s + Bytes(uint32_t(data.size())) + std::string("BIN\0", 4) + data;
}

TEST_F(MeshFile, OfEachFormatIsTheSameTetrahedron) {
  std::vector<Triangle> want = Triangles(Shape{kCorner, kFace});
  std::string data = Bytes(kCorner) + Bytes(kFace), node = R"([{"mesh":0}])";
  for (auto &path : {File("a.obj", kObj), File("a.ply", kPly), File("a.stl", Stl()), File("b.stl", TextStl()),
                     File("a.gltf", GltfFile(node, "[0]", data)), File("a.glb", Glb(node, "[0]", data))}) {
    EXPECT_EQ(Triangles(path), want) << path;
    EXPECT_EQ(points_, 4) << path; // those of an STL, too
  }
}

TEST_F(MeshFile, IsReadFromMemory) {
  HdMeshData d = {};
  std::string stl = Stl();
  GEO_OK(place_, hd_mesh_data_read(place_.ctx, stl.data(), int64_t(stl.size()), "stl", nullptr, &d));
  EXPECT_EQ(Triangles(d), Triangles(Shape{kCorner, kFace}));
  hd_mesh_data_free(place_.ctx, &d);
  EXPECT_EQ(hd_mesh_data_read(place_.ctx, "", 0, "stl", nullptr, &d), HD_ERR_FORMAT);
  EXPECT_EQ(hd_mesh_data_read(place_.ctx, stl.data(), 50, "stl", nullptr, &d), HD_ERR_FORMAT);
}

TEST_F(MeshFile, HasItsPartsWhereTheSceneHasThem) {
  std::string data = Bytes(kCorner) + Bytes(kFace);
  // a turned and scaled parent, a moved child, and the same mesh again, mirrored by its own matrix; a part of points only
  std::string nodes = R"([{"children":[1,2,3],"rotation":[0,0,0.70710678,0.70710678],"scale":[2,2,2]},)"
                      R"({"mesh":0,"translation":[10,0,0]},)"
                      R"({"mesh":0,"matrix":[-1,0,0,0,0,1,0,0,0,0,1,0,0,0,-7,1]},{"mesh":1}])";
  HdMeshData d = {};
  GEO_OK(place_, Load(File("scene.glb", Glb(nodes, "[0]", data)), &d));
  ASSERT_EQ(d.nfaces, 8);
  double low[3] = {1e9, 1e9, 1e9}, high[3] = {-1e9, -1e9, -1e9}, volume[2] = {0, 0};
  for (int64_t i = 0; i < d.npoints; i++)
    for (int a = 0; a < 3; a++) {
      low[a] = std::min<double>(low[a], d.points[3 * i + a]);
      high[a] = std::max<double>(high[a], d.points[3 * i + a]);
    }
  // x, y, z of the parent is (-2 y, 2 x, 2 z)
  const double want_low[] = {-4, -2, -14}, want_high[] = {0, 22, 7};
  for (int a = 0; a < 3; a++) {
    EXPECT_NEAR(low[a], want_low[a], 1e-5) << a;
    EXPECT_NEAR(high[a], want_high[a], 1e-5) << a;
  }
  for (int64_t i = 0; i < d.nfaces; i++) {
    double p[3][3];
    for (int k = 0; k < 3; k++)
      for (int a = 0; a < 3; a++) p[k][a] = d.points[3 * d.faces[3 * i + k] + a];
    for (int a = 0; a < 3; a++) {
      int b = (a + 1) % 3, c = (a + 2) % 3;
      volume[i / 4] += p[0][a] * (p[1][b] * p[2][c] - p[1][c] * p[2][b]) / 6;
    }
  }
  for (double v : volume) EXPECT_NEAR(v, 8 * 1 * 2 * 3.5 / 6, 1e-4); // outward both: the mirrored one was turned round
  hd_mesh_data_free(place_.ctx, &d);
}

TEST_F(MeshFile, IsScaled) {
  HdMeshFileOptions o = {{0.5f, 2, -1}, false};
  Shape s = {kCorner, kFace};
  for (auto &p : s.points) p = {p.x * 0.5f, p.y * 2, -p.z};
  for (auto &f : s.faces) std::swap(f.b, f.c); // mirrored
  EXPECT_EQ(Triangles(File("a.obj", kObj), &o), Triangles(s));
  HdMeshData d;
  for (float bad : {0.f, kNan, kInf}) {
    o.scale[1] = bad;
    EXPECT_EQ(Load(File("a.obj", kObj), &d, &o), HD_ERR_ARG);
  }
}

TEST_F(MeshFile, HasItsPolygonsCutIntoTriangles) {
  // a pentagon that is not convex, a quadrilateral, a line
  HdMeshData d = {};
  GEO_OK(place_,
         Load(File("p.obj",
                   "v 0 0 0\nv 4 0 0\nv 4 4 0\nv 2 1 0\nv 0 4 0\nv 0 0 1\nv 4 0 1\nf 1 2 3 4 5\nf 1 6 7 2\nl 1 7\n"),
              &d));
  EXPECT_EQ(d.nfaces, 5);
  EXPECT_EQ(d.npoints, 7);
  double area = 0;
  for (int64_t i = 0; i < d.nfaces; i++) {
    const float *p = d.points + 3 * d.faces[3 * i], *q = d.points + 3 * d.faces[3 * i + 1],
                *r = d.points + 3 * d.faces[3 * i + 2];
    area += ((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])) / 2;
  }
  EXPECT_DOUBLE_EQ(area, 16 - 6); // of the pentagon; the other stands on edge
  hd_mesh_data_free(place_.ctx, &d);
}

TEST_F(MeshFile, HasNormalsWhereTheyAreWanted) {
  const char text[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 5\nvn 1 0 0\nf 1//1 2//1 3//1\nf 1//2 3//2 4//2\n";
  HdMeshFileOptions o = HD_MESH_FILE_OPTIONS_INIT;
  HdMeshData d = {};
  GEO_OK(place_, Load(File("n.obj", text), &d, &o));
  EXPECT_EQ(d.normals, nullptr);
  EXPECT_EQ(d.npoints, 4);
  hd_mesh_data_free(place_.ctx, &d);
  o.normals = true;
  o.scale[0] = 2;
  GEO_OK(place_, Load(File("n.obj", text), &d, &o));
  ASSERT_NE(d.normals, nullptr);
  ASSERT_EQ(d.npoints, 6); // two points have two normals
  for (int k = 0; k < 3; k++) {
    EXPECT_EQ(d.normals[3 * d.faces[k] + 2], 1);
    EXPECT_EQ(d.normals[3 * d.faces[3 + k]], 1);
  }
  hd_mesh_data_free(place_.ctx, &d);
  GEO_OK(place_, Load(File("m.obj", kObj), &d, &o)); // none in the file
  EXPECT_EQ(d.normals, nullptr);
  hd_mesh_data_free(place_.ctx, &d);
}

TEST_F(MeshFile, ComesBackAsItWasSaved) {
  Shape s = Torus(7, 9);
  s.points[0].x += 1.2345678e-3f;
  HdMeshData d = {int64_t(s.points.size()), int64_t(s.faces.size()), &s.points[0].x, nullptr, &s.faces[0].a};
  for (const char *name : {"s.obj", "s.ply", "s.STL"}) {
    std::string path = Path(name);
    GEO_OK(place_, hd_mesh_data_save(place_.ctx, path.c_str(), &d));
    EXPECT_EQ(Triangles(path), Triangles(s)) << name;
    EXPECT_EQ(points_, d.npoints) << name;
  }
  std::vector<V> normals(s.points.size(), {0, 1, 0});
  d.normals = &normals[0].x;
  HdMeshFileOptions o = HD_MESH_FILE_OPTIONS_INIT;
  o.normals = true;
  for (const char *name : {"n.obj", "n.ply"}) {
    std::string path = Path(name);
    HdMeshData e = {};
    GEO_OK(place_, hd_mesh_data_save(place_.ctx, path.c_str(), &d));
    GEO_OK(place_, Load(path, &e, &o));
    ASSERT_NE(e.normals, nullptr) << name;
    for (int64_t i = 0; i < e.npoints; i++) EXPECT_EQ(e.normals[3 * i + 1], 1);
    hd_mesh_data_free(place_.ctx, &e);
  }
}

TEST_F(MeshFile, IsNotSavedIfItCannotBe) {
  float p[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  int32_t f[3] = {0, 1, 3};
  HdMeshData d = {3, 1, p, nullptr, f};
  EXPECT_EQ(hd_mesh_data_save(place_.ctx, Path("x.obj").c_str(), &d), HD_ERR_ARG);
  EXPECT_NE(place_.Why().find("face 0"), std::string::npos);
  f[2] = 2;
  EXPECT_EQ(hd_mesh_data_save(place_.ctx, Path("x.glb").c_str(), &d), HD_ERR_UNSUPPORTED);
  EXPECT_EQ(hd_mesh_data_save(place_.ctx, "no-dot", &d), HD_ERR_UNSUPPORTED);
  EXPECT_EQ(hd_mesh_data_save(place_.ctx, "/no/such/folder/x.obj", &d), HD_ERR_IO);
}

TEST_F(MeshFile, ThatIsWrongSaysSo) {
  std::string data = Bytes(kCorner) + Bytes(kFace), glb = Glb(R"([{"mesh":0}])", "[0]", data), stl = Stl();
  Fails("/no/such/file.obj", HD_ERR_IO, "No such file");
  Fails("/tmp", HD_ERR_IO, "directory");
  for (const char *name : {"e.obj", "e.stl", "e.ply", "e.glb", "e.gltf"}) Fails(File(name, ""), HD_ERR_FORMAT, "empty");
  for (const char *name : {"g.obj", "g.stl", "g.ply", "g.glb", "g.gltf"})
    Fails(File(name, "Lorem ipsum dolor sit amet"), HD_ERR_FORMAT, name);
  std::string long_part = glb;
  long_part[15] = 'f';
  Fails(File("w.glb", long_part), HD_ERR_FORMAT, "longer than the file");
  // cut off
  Fails(File("t.stl", stl.substr(0, stl.size() - 30)), HD_ERR_FORMAT, "t.stl");
  Fails(File("t.glb", glb.substr(0, glb.size() - 30)), HD_ERR_FORMAT, "GLB");
  Fails(File("u.glb", glb.substr(0, 40)), HD_ERR_FORMAT, "GLB");
  std::string head = kPly;
  Fails(File("h.ply", head.replace(head.find("end_header\n"), 11, "end_header0\n")), HD_ERR_FORMAT, "no end");
  // without triangles
  Fails(File("v.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n"), HD_ERR_FORMAT, "v.obj");
  Fails(File("l.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1 2 3\n"), HD_ERR_FORMAT, "no triangles");
  Fails(File("p.glb", Glb(R"([{"mesh":1}])", "[0]", data)), HD_ERR_FORMAT, "no triangles");
  Fails(File("z.stl", std::string(84, '\0')), HD_ERR_FORMAT, "z.stl");
  // corners that are not numbers, or not there
  std::string bad = stl;
  memcpy(&bad[84 + 50 + 12], &kNan, 4);
  Fails(File("nan.stl", bad), HD_ERR_FORMAT, "not finite");
  Fails(File("inf.obj", "v 0 0 0\nv 1e39 0 0\nv 0 1 0\nf 1 2 3\n"), HD_ERR_FORMAT, "inf.obj");
  Fails(File("i.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"), HD_ERR_FORMAT, "i.obj");
  std::string ply = kPly;
  ply.replace(ply.find("3 0 1 3"), 7, "3 0 1 9");
  Fails(File("i.ply", ply), HD_ERR_FORMAT, "i.ply");
}

TEST_F(MeshFile, OfGltfLosesAFaceWhosePointIsNotThere) {
  std::vector<Face> beyond = kFace;
  beyond[1].c = 77;
  HdMeshData d = {};
  GEO_OK(place_, Load(File("i.glb", Glb(R"([{"mesh":0}])", "[0]", Bytes(kCorner) + Bytes(beyond))), &d));
  EXPECT_EQ(d.nfaces, 3);
  hd_mesh_data_free(place_.ctx, &d);
}

TEST_F(MeshFile, WithoutAssimpSaysWhatIsMissing) {
  std::string path = File("a.obj", kObj);
  no_assimp = true;
  Fails(path, HD_ERR_UNSUPPORTED, "assimp");
}

TEST_F(MeshFile, CutAnywhereIsAnErrorOrAMesh) {
  std::string data = Bytes(kCorner) + Bytes(kFace), node = R"([{"mesh":0}])";
  const std::pair<const char *, std::string> files[] = {{"c.obj", kObj},
                                                        {"c.ply", kPly},
                                                        {"c.stl", Stl()},
                                                        {"d.stl", TextStl()},
                                                        {"c.glb", Glb(node, "[0]", data)},
                                                        {"c.gltf", GltfFile(node, "[0]", data)}};
  int good = 0, bad = 0;
  for (auto &f : files)
    for (size_t n = 1; n < f.second.size(); n += 1 + f.second.size() / 40) {
      HdMeshData d = {};
      HdStatus status = Load(File(f.first, f.second.substr(0, n)), &d);
      (status == HD_OK ? good : bad)++;
      EXPECT_TRUE(status == HD_OK || status == HD_ERR_FORMAT) << f.first << " " << n;
      for (int64_t e = 0; e < 3 * d.nfaces; e++) ASSERT_LT(uint32_t(d.faces[e]), uint64_t(d.npoints));
      hd_mesh_data_free(place_.ctx, &d);
    }
  EXPECT_GT(bad, 100);
  EXPECT_GT(good, 0);
}

TEST_F(MeshFile, BecomesAMesh) {
  Shape s = Sphere(16, 24);
  HdMeshData d = {int64_t(s.points.size()), int64_t(s.faces.size()), &s.points[0].x, nullptr, &s.faces[0].a}, e = {};
  std::string path = Path("sphere.stl");
  GEO_OK(place_, hd_mesh_data_save(place_.ctx, path.c_str(), &d));
  GEO_OK(place_, Load(path, &e));
  HdArray points =
      place_.New(std::vector<V>(reinterpret_cast<V *>(e.points), reinterpret_cast<V *>(e.points) + e.npoints));
  HdArray faces =
      place_.New(std::vector<Face>(reinterpret_cast<Face *>(e.faces), reinterpret_cast<Face *>(e.faces) + e.nfaces));
  HdMesh *m = nullptr;
  GEO_OK(place_, hd_mesh_new(place_.ctx, place_.stream, nullptr, points, faces, &m));
  HdMeshReport r = hd_mesh_report(m);
  EXPECT_EQ(r.open_edges + r.shared_edges + r.turned_edges + r.no_area, 0);
  hd_mesh_free(m);
  hd_mesh_data_free(place_.ctx, &e);
}

} // namespace
