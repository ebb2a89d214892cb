// tests/geometry/mesh_distance_test.cc -- distances of a grid's samples from meshes, against formulas and all faces in turn.
#include "geometry_fixture.h"

namespace {

using namespace geo;

class MeshDistance : public Geometry {
protected:
  HdDenseGrid Grid(Place &p, V low, V high, std::array<int64_t, 3> n) {
    HdDenseGrid g = {};
    const float origin[3] = {low.x, low.y, low.z};
    const float spacing[3] = {(high.x - low.x) / float(n[0] - 1), (high.y - low.y) / float(n[1] - 1),
                              (high.z - low.z) / float(n[2] - 1)};
    EXPECT_EQ(hd_dense_grid_new(p.ctx, p.device, n.data(), origin, spacing, &g), HD_OK) << p.Why();
    return g;
  }
  static std::vector<float> Distances(Place &p, HdMesh *m, const HdDenseGrid &g, HdMeshSign sign, float band = 0) {
    HdMeshDistanceOptions o = HD_MESH_DISTANCE_OPTIONS_INIT;
    o.sign = sign;
    o.band = band;
    EXPECT_EQ(hd_mesh_distances(m, &o, &g), HD_OK) << p.Why();
    return p.Get<float>(g.values);
  }
};

double SdCube(V p) {
  V q = {std::fabs(p.x) - 1, std::fabs(p.y) - 1, std::fabs(p.z) - 1};
  V o = {std::max(q.x, 0.0f), std::max(q.y, 0.0f), std::max(q.z, 0.0f)};
  return Length(o) + std::min(std::max({q.x, q.y, q.z}), 0.0f);
}

const HdMeshSign kSigns[] = {HD_MESH_SIGN_NORMAL, HD_MESH_SIGN_WINDING, HD_MESH_SIGN_PARITY};

TEST_F(MeshDistance, OfACubeIsWhatTheFormulaGives) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Cube());
  const std::array<int64_t, 3> n = {13, 11, 12};
  HdDenseGrid g = Grid(p, {-1.7f, -1.8f, -1.9f}, {1.6f, 1.5f, 1.4f}, n);
  for (HdMeshSign sign : {HD_MESH_SIGN_NONE, HD_MESH_SIGN_NORMAL, HD_MESH_SIGN_WINDING, HD_MESH_SIGN_PARITY})
    for (float band : {0.0f, 0.35f}) {
      std::vector<float> got = Distances(p, m, g, sign, band);
      size_t at = 0;
      for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[1]; j++)
          for (int k = 0; k < n[2]; k++) {
            V q = {g.origin[0] + g.spacing[0] * i, g.origin[1] + g.spacing[1] * j, g.origin[2] + g.spacing[2] * k};
            double want = SdCube(q);
            if (band != 0) want = std::min(std::max(want, -double(band)), double(band));
            if (sign == HD_MESH_SIGN_NONE) want = std::fabs(want);
            ASSERT_NEAR(got[at++], want, 1e-6) << sign << ", band " << band << ": " << i << " " << j << " " << k;
          }
    }
  hd_dense_grid_free(p.ctx, &g);
  hd_mesh_free(m);
}

TEST_F(MeshDistance, WithinABandIsThatOfTheWholeGrid) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Torus(24, 12));
  HdDenseGrid g = Grid(p, {-1.1f, -1.1f, -0.4f}, {1.1f, 1.1f, 0.4f}, {40, 41, 17});
  for (HdMeshSign sign : kSigns) {
    std::vector<float> all = Distances(p, m, g, sign), band = Distances(p, m, g, sign, 0.09f);
    int inside = 0, near = 0;
    for (size_t i = 0; i < all.size(); i++) {
      ASSERT_EQ(band[i], std::min(std::max(all[i], -0.09f), 0.09f)) << sign << " " << i;
      inside += all[i] < 0;
      near += std::fabs(all[i]) < 0.09f;
    }
    EXPECT_GT(inside, 1000);
    EXPECT_GT(near, 1000);
  }
  hd_dense_grid_free(p.ctx, &g);
  hd_mesh_free(m);
}

TEST_F(MeshDistance, HasASignWhereTheBandDoesNotReach) {
  Place p("cpu");
  HdMesh *m = p.Mesh(Cube());
  HdDenseGrid in = Grid(p, {-0.3f, -0.3f, -0.3f}, {0.3f, 0.3f, 0.3f}, {4, 4, 4});
  HdDenseGrid out = Grid(p, {5, 5, 5}, {6, 6, 6}, {4, 4, 4});
  for (HdMeshSign sign : kSigns) {
    EXPECT_EQ(Distances(p, m, in, sign, 0.25f), std::vector<float>(64, -0.25f));
    EXPECT_EQ(Distances(p, m, out, sign, 0.5f), std::vector<float>(64, 0.5f));
  }
  hd_dense_grid_free(p.ctx, &in);
  hd_dense_grid_free(p.ctx, &out);
  hd_mesh_free(m);
}

TEST_F(MeshDistance, IsTheSameOnEveryDeviceAndWidth) {
  Shape s = Sphere(10, 14, 0.15f);
  for (V &v : s.points) v = v + Point(0.01f);
  for (float band : {0.0f, 0.3f})
    SameEverywhere([&](Place &p) {
      HdMesh *m = p.Mesh(s);
      HdDenseGrid g = Grid(p, {-1.2f, -1.2f, -1.2f}, {1.2f, 1.2f, 1.2f}, {9, 8, 11});
      std::vector<int32_t> all;
      for (HdMeshSign sign : kSigns) {
        std::vector<float> got = Distances(p, m, g, sign, band);
        for (float x : got) {
          int32_t bits;
          memcpy(&bits, &x, 4);
          all.push_back(bits);
        }
      }
      hd_dense_grid_free(p.ctx, &g);
      hd_mesh_free(m);
      return all;
    });
}

TEST_F(MeshDistance, FromNoFacesIsInfinite) {
  Place p("cpu");
  Shape none, nan;
  nan.points = {{0, 0, 0}, {1, 0, 0}, {0, kNan, 0}};
  nan.faces = {{0, 1, 2}};
  for (const Shape &s : {none, nan}) {
    HdMesh *m = p.Mesh(s);
    HdDenseGrid g = Grid(p, {0, 0, 0}, {1, 1, 1}, {2, 2, 2});
    for (HdMeshSign sign : {HD_MESH_SIGN_NONE, HD_MESH_SIGN_NORMAL, HD_MESH_SIGN_WINDING, HD_MESH_SIGN_PARITY}) {
      EXPECT_EQ(Distances(p, m, g, sign), std::vector<float>(8, kInf));
      EXPECT_EQ(Distances(p, m, g, sign, 2), std::vector<float>(8, 2));
    }
    hd_dense_grid_free(p.ctx, &g);
    hd_mesh_free(m);
  }
}

TEST_F(MeshDistance, RefusesWhatItCannotDo) {
  Place p("cpu");
  HdMesh *plain = p.Mesh(Cube(), false), *m = p.Mesh(Cube());
  HdDenseGrid g = Grid(p, {0, 0, 0}, {1, 1, 1}, {3, 3, 3});
  HdMeshDistanceOptions o = HD_MESH_DISTANCE_OPTIONS_INIT;
  auto refused = [&](HdMesh *mesh, const HdDenseGrid &grid, const char *what) {
    EXPECT_EQ(hd_mesh_distances(mesh, &o, &grid), HD_ERR_ARG) << what;
    EXPECT_NE(p.Why().find(std::string("hd_mesh_distances: ") + what), std::string::npos) << p.Why();
  };
  refused(plain, g, "options.sign: the mesh was made without signs");
  o.sign = HD_MESH_SIGN_PARITY;
  GEO_OK(p, hd_mesh_distances(plain, &o, &g));
  for (float band : {-1.0f, kNan, 0.5f, 0.1f}) {
    o.band = band;
    refused(m, g, "options.band: wanted 0 or more than the spacing along z, 0.5");
  }
  o.band = 0.51f;
  GEO_OK(p, hd_mesh_distances(m, &o, &g));
  HdDenseGrid flat = g;
  flat.spacing[1] = 0;
  refused(m, flat, "spacing");
  o.sign = static_cast<HdMeshSign>(9);
  refused(m, g, "options.sign");
  HdDenseGrid line = g;
  line.values.ndim = 1;
  EXPECT_EQ(hd_mesh_distances(m, &o, &line), HD_ERR_SHAPE);
  HdDenseGrid ints = g;
  ints.values.type = hd_type_scalar(HD_I32);
  EXPECT_EQ(hd_mesh_distances(m, &o, &ints), HD_ERR_TYPE);
  HdDenseGrid elsewhere = g;
  GEO_OK(p, hd_device_find(p.ctx, "interp", &elsewhere.values.device));
  EXPECT_EQ(hd_mesh_distances(m, &o, &elsewhere), HD_ERR_DEVICE);
  hd_dense_grid_free(p.ctx, &g);
  hd_mesh_free(plain);
  hd_mesh_free(m);
}

} // namespace
