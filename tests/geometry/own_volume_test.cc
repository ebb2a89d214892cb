// tests/geometry/own_volume_test.cc -- examples/own_volume: trees of other bounding volumes give the hits of the library's mesh.
#include "geometry_fixture.h"
#include "heddle/algorithms.h"

namespace {

using namespace geo;

struct Hit {
  float t;
  int32_t face;
  float weights[3];
};

// The example's tree of one of its volumes, "ball" or "slab", made as its program makes it.
class Tree {
public:
  Tree(Place &p, const Shape &s, const std::string &volume) : p_(p), volume_(volume) {
    HdModuleOptions options = HD_MODULE_OPTIONS_INIT;
    options.width = p.width();
    EXPECT_EQ(hd_module_load_file(p.ctx, "examples/own_volume/own_volume.hd", &options, &module_), HD_OK) << p.Why();
    HdType node = {};
    EXPECT_EQ(hd_module_struct(module_, volume == "ball" ? "Ball" : "Slabs", &node), HD_OK) << p.Why();
    int64_t n = int64_t(s.faces.size()), leaves = 1;
    while (leaves < n) leaves *= 2;
    points_ = p.New(s.points), faces_ = p.New(s.faces);
    HdArray code = p.New(hd_type_scalar(HD_U32), n);
    order_ = p.New(hd_type_scalar(HD_I32), n), node_ = p.New(node, 2 * leaves);
    V low = {-2, -2, -2}, high = {2, 2, 2};
    HdType vec3 = hd_type_vec(HD_F32, 3);
    Run("codes", n,
        {hd_arg_array(&points_), hd_arg_array(&faces_), hd_arg_value(vec3, &low), hd_arg_value(vec3, &high),
         hd_arg_array(&code), hd_arg_array(&order_)});
    HdAlgorithms *algorithms;
    EXPECT_EQ(hd_algorithms_new(p.ctx, p.stream, nullptr, &algorithms), HD_OK) << p.Why();
    EXPECT_EQ(hd_sort_pairs(algorithms, code, order_, nullptr), HD_OK) << p.Why();
    hd_algorithms_free(algorithms);
    Run(volume + "_leaves", leaves,
        {hd_arg_array(&points_), hd_arg_array(&faces_), hd_arg_array(&order_), hd_arg_array(&node_)});
    for (int64_t level = leaves / 2; level > 0; level /= 2) Run(volume + "_level", level, {hd_arg_array(&node_)});
  }
  ~Tree() { hd_module_free(module_); }
  Tree(const Tree &) = delete;

  std::vector<Hit> Rays(const std::vector<V> &o, const std::vector<V> &d) {
    HdArray from = p_.New(o), along = p_.New(d), hit = p_.New(hd_type_struct(sizeof(Hit)), int64_t(o.size()));
    Run(volume_ + "_rays", int64_t(o.size()),
        {hd_arg_array(&points_), hd_arg_array(&faces_), hd_arg_array(&order_), hd_arg_array(&node_),
         hd_arg_array(&from), hd_arg_array(&along), hd_arg_array(&hit)});
    return p_.Get<Hit>(hit);
  }

private:
  void Run(const std::string &kernel, int64_t n, const std::vector<HdArg> &args) {
    HdKernel *k = nullptr;
    ASSERT_EQ(hd_module_kernel(module_, kernel.c_str(), p_.device, &k), HD_OK) << p_.Why();
    p_.Run(k, n, args);
  }

  Place &p_;
  std::string volume_;
  HdModule *module_ = nullptr;
  HdArray points_, faces_, order_, node_;
};

const char kMeshRay[] = "struct Hit { f32 t; i32 face; vec3 weights; }\n"
                        "kernel k(Mesh m, vec3 o[], vec3 d[], Hit hit[]) { let i = tid();\n"
                        "  let h = mesh_ray(m, o[i], d[i], inf<f32>()); hit[i] = Hit(h.t, h.face, h.weights); }";

std::vector<Hit> MeshRays(Place &p, const Shape &s, const std::vector<V> &o, const std::vector<V> &d) {
  HdMesh *m = p.Mesh(s, false);
  HdArray from = p.New(o), along = p.New(d), hit = p.New(hd_type_struct(sizeof(Hit)), int64_t(o.size()));
  p.Run(p.Kernel(kMeshRay), int64_t(o.size()),
        p.Args(m, {hd_arg_array(&from), hd_arg_array(&along), hd_arg_array(&hit)}));
  hd_mesh_free(m);
  return p.Get<Hit>(hit);
}

struct OwnVolume : testing::TestWithParam<const char *> {
  std::mt19937 gen{11};
  float Number(float lo, float hi) { return std::uniform_real_distribution<float>(lo, hi)(gen); }
  V Point(float r) { return {Number(-r, r), Number(-r, r), Number(-r, r)}; }

  // From all around to all parts, along the axes and diagonals, and with lengths of all sizes.
  void Rays(const Shape &s, int n, std::vector<V> *o, std::vector<V> *d) {
    for (int k = 0; k < n; k++) {
      V from = Point(k % 3 == 0 ? 30 : 3), to = Point(1), way = to - from;
      if (k % 4 == 1 && !s.points.empty()) way = s.points[gen() % s.points.size()] - from; // through a corner
      if (k % 5 == 2) way = {float(k % 2), float(k / 5 % 2) * 1, -1};
      if (k % 7 == 3) way = {0, 0, Number(-1, 1) < 0 ? -1.0f : 1.0f};
      if (k % 4 == 3) way = way * std::pow(10.0f, Number(-6, 6));
      o->push_back(from);
      d->push_back(way);
    }
    o->push_back({0, 0, 0}), d->push_back({0, 0, 0});
  }

  void Agree(Place &p, const Shape &s, int n) {
    std::vector<V> o, d;
    Rays(s, n, &o, &d);
    Tree tree(p, s, GetParam());
    std::vector<Hit> want = MeshRays(p, s, o, d), got = tree.Rays(o, d);
    size_t hits = 0;
    for (size_t k = 0; k < want.size(); k++) {
      hits += want[k].face >= 0;
      ASSERT_EQ(memcmp(&want[k], &got[k], sizeof(Hit)), 0)
          << "ray " << k << " from " << o[k].x << " " << o[k].y << " " << o[k].z << " along " << d[k].x << " " << d[k].y
          << " " << d[k].z << ": the mesh has face " << want[k].face << " at " << want[k].t << ", the tree "
          << got[k].face << " at " << got[k].t;
    }
    if (s.faces.size() > 10) { EXPECT_GT(hits, want.size() / 10); }
  }
};

TEST_P(OwnVolume, GivesTheHitsOfTheMesh) {
  Place p("cpu");
  Agree(p, Torus(90, 60), 20000);
  Agree(p, Sphere(40, 60, 0.2f), 20000);
  Agree(p, Cube(), 5000);
}

TEST_P(OwnVolume, GivesTheHitsOfTheMeshWhateverTheTriangles) {
  Place p("cpu");
  Shape soup;
  for (int k = 0; k < 900; k++) soup.points.push_back(k % 90 == 0 ? V{kNan, 0, 0} : Point(k % 5 ? 1 : 0.1f));
  for (int k = 0; k < 700; k++) {
    auto any = [&] { return int32_t(gen() % soup.points.size()); };
    Face f = {any(), any(), any()};
    if (k % 13 == 0) f.c = f.b; // without area
    soup.faces.push_back(f);
    if (k % 17 == 0) soup.faces.push_back(f); // twice
  }
  Agree(p, soup, 10000);
  for (size_t n : {0, 1, 2, 3}) {
    Shape few = soup;
    few.faces.resize(n + 20);
    few.faces.erase(few.faces.begin(), few.faces.begin() + 20);
    Agree(p, few, 500);
  }
}

TEST_P(OwnVolume, GivesThemOnEveryDeviceAndWidth) {
  Shape s = Torus(12, 9);
  SameEverywhere([&](Place &p) {
    gen.seed(5);
    std::vector<V> o, d;
    Rays(s, 60, &o, &d);
    std::vector<Hit> hits = Tree(p, s, GetParam()).Rays(o, d);
    std::vector<int32_t> bits(hits.size() * sizeof(Hit) / 4);
    memcpy(bits.data(), hits.data(), bits.size() * 4);
    return bits;
  });
}

TEST(OwnVolumeProgram, SaysThatAllRaysAgree) {
  std::string command =
      "HEDDLE_CACHE=\"$TEST_TMPDIR/own\" examples/own_volume/own_volume examples/own_volume/own_volume.hd";
  FILE *f = popen(command.c_str(), "r");
  ASSERT_NE(f, nullptr);
  char line[200];
  int lines = 0, rays, faces, met, same;
  while (fgets(line, sizeof line, f)) {
    char volume[20];
    ASSERT_EQ(sscanf(line, "%19[^:]: %d rays through %d triangles, %d met one, %d", volume, &rays, &faces, &met, &same),
              5)
        << line;
    EXPECT_EQ(same, rays) << line;
    EXPECT_GT(met, rays / 10);
    EXPECT_LT(met, rays);
    lines++;
  }
  EXPECT_EQ(pclose(f), 0);
  EXPECT_EQ(lines, 2);
}

INSTANTIATE_TEST_SUITE_P(All, OwnVolume, testing::Values("ball", "slab"),
                         [](const testing::TestParamInfo<const char *> &i) { return std::string(i.param); });

} // namespace
