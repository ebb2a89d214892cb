// Pictures: a sphere covers the pixels that geometry says, and the same scene gives the same bytes.
#include "tests/sim/sim_fixture.h"

class Render : public Sim {
protected:
  static std::vector<uint8_t> Bytes(HdArray rgb) {
    const uint8_t *p = static_cast<const uint8_t *>(rgb.data);
    return std::vector<uint8_t>(p, p + hd_array_count(rgb) * 3);
  }
};

TEST_F(Render, SphereCoversItsDisc) {
  HdSimRender *r;
  SIM_OK(hd_sim_render_new(ctx, stream, 200, 200, &r));
  HdSimCamera camera = {{0, 1, 4}, {0, 1, 0}, 40};
  HdSimParticlesOptions o = HD_SIM_PARTICLES_OPTIONS_INIT;
  o.radius = 0.4f;
  const float x[3] = {0, 1, 0};
  HdSimParticles *none, *one;
  SIM_OK(hd_sim_particles_new(ctx, stream, &o, 0, nullptr, &none));
  SIM_OK(hd_sim_particles_new(ctx, stream, &o, 1, x, &one));
  HdArray rgb;
  SIM_OK(hd_sim_render_particles(r, &camera, none));
  SIM_OK(hd_sim_render_picture(r, &rgb));
  std::vector<uint8_t> empty = Bytes(rgb);
  SIM_OK(hd_sim_render_particles(r, &camera, one));
  SIM_OK(hd_sim_render_picture(r, &rgb));
  std::vector<uint8_t> full = Bytes(rgb);
  int differ = 0;
  for (size_t i = 0; i < full.size(); i += 3)
    differ += full[i] != empty[i] || full[i + 1] != empty[i + 1] || full[i + 2] != empty[i + 2];
  // A sphere of radius R at distance D on the axis is a disc of radius f R / sqrt(D^2 - R^2).
  double f = 100 / std::tan(20 * M_PI / 180);
  double disc = f * 0.4 / std::sqrt(16 - 0.16);
  EXPECT_NEAR(differ, M_PI * disc * disc, 2 * M_PI * disc * 0.75);
  hd_sim_particles_free(none);
  hd_sim_particles_free(one);
  hd_sim_render_free(r);
}

TEST_F(Render, SceneHasTheSameBytesOnAnyNumberOfThreads) {
  std::vector<uint8_t> first;
  for (int threads : {1, 2}) {
    Close();
    Open(threads);
    HdSimRender *r;
    SIM_OK(hd_sim_render_new(ctx, stream, 67, 91, &r));
    HdSimCamera camera = {{1.4f, 1.7f, 3.3f}, {0, 0.75f, 0}, 42};
    SIM_OK(hd_sim_render_scene(r, &camera, 1.5f, 2));
    HdArray rgb;
    SIM_OK(hd_sim_render_picture(r, &rgb));
    if (first.empty())
      first = Bytes(rgb);
    else
      EXPECT_EQ(first, Bytes(rgb));
    hd_sim_render_free(r);
  }
  int bright = 0;
  for (uint8_t b : first) bright += b > 40;
  EXPECT_GT(bright, int(first.size() / 2)) << "the picture is not black";
}
