// Cloth: free fall, holding its length, lying on a ball and the ground.
#include "tests/sim/sim_fixture.h"

class Cloth : public Sim {
protected:
  HdSimClothOptions Options(int rows, int cols) {
    HdSimClothOptions o = HD_SIM_CLOTH_OPTIONS_INIT;
    o.rows = rows;
    o.cols = cols;
    return o;
  }
};

TEST_F(Cloth, FallsWithoutBending) {
  HdSimClothOptions o = Options(9, 13);
  o.damping = 0;
  HdSimCloth *c;
  SIM_OK(hd_sim_cloth_new(ctx, stream, &o, &c));
  for (int i = 0; i < 10; i++) SIM_OK(hd_sim_cloth_step(c, 0.01f));
  std::vector<float> x = Floats(hd_sim_cloth_x(c), 3);
  // 200 substeps of 0.5 ms from rest: y0 - g dt^2 n (n + 1) / 2.
  double want = 1 - 9.81 * 2.5e-7 * 200 * 201 / 2;
  for (size_t i = 0; i < x.size(); i += 3) EXPECT_NEAR(x[i + 1], want, 2e-4);
  hd_sim_cloth_free(c);
}

TEST_F(Cloth, HangsFromItsCornersAndKeepsItsLength) {
  HdSimClothOptions o = Options(21, 21);
  o.origin[1] = 2;
  HdSimCloth *c;
  SIM_OK(hd_sim_cloth_new(ctx, stream, &o, &c));
  SIM_OK(hd_sim_cloth_pin(c, 0, 0, true));
  SIM_OK(hd_sim_cloth_pin(c, 0, 20, true));
  std::vector<float> before = Floats(hd_sim_cloth_x(c), 3);
  for (int i = 0; i < 300; i++) SIM_OK(hd_sim_cloth_step(c, 0.01f));
  std::vector<float> x = Floats(hd_sim_cloth_x(c), 3);
  for (int a = 0; a < 3; a++) {
    EXPECT_EQ(x[a], before[a]);
    EXPECT_EQ(x[20 * 3 + a], before[20 * 3 + a]);
  }
  EXPECT_LT(x[20 * 21 * 3 + 1], 1.8f) << "the free edge hangs";
  float stretch = 0;
  SIM_OK(hd_sim_cloth_max_stretch(c, &stretch));
  EXPECT_LT(stretch, 0.05f);
  hd_sim_cloth_free(c);
}

TEST_F(Cloth, StaysOutsideBallAndGround) {
  HdSimClothOptions o = Options(41, 41);
  o.origin[0] = o.origin[2] = -0.6f;
  o.origin[1] = 0.8f;
  o.ball[1] = 0.35f;
  o.ball[3] = 0.3f;
  HdSimCloth *c;
  SIM_OK(hd_sim_cloth_new(ctx, stream, &o, &c));
  for (int i = 0; i < 100; i++) SIM_OK(hd_sim_cloth_step(c, 0.01f));
  std::vector<float> x = Floats(hd_sim_cloth_x(c), 3);
  for (size_t i = 0; i < x.size(); i += 3) {
    EXPECT_GE(x[i + 1], o.thickness * 0.999f);
    double r = std::sqrt(x[i] * x[i] + (x[i + 1] - 0.35f) * (x[i + 1] - 0.35f) + x[i + 2] * x[i + 2]);
    EXPECT_GE(r, 0.3 + 0.9 * o.thickness);
  }
  hd_sim_cloth_free(c);
}

TEST_F(Cloth, RefusesWhatIsOutOfRange) {
  HdSimClothOptions o = Options(1, 5);
  HdSimCloth *c = nullptr;
  EXPECT_EQ(hd_sim_cloth_new(ctx, stream, &o, &c), HD_ERR_ARG);
  EXPECT_NE(Why().find("options.rows"), std::string::npos) << Why();
  o.rows = 5;
  SIM_OK(hd_sim_cloth_new(ctx, stream, &o, &c));
  EXPECT_EQ(hd_sim_cloth_pin(c, 5, 0, true), HD_ERR_ARG);
  EXPECT_EQ(hd_sim_cloth_step(c, 0), HD_ERR_ARG);
  hd_sim_cloth_free(c);
}
