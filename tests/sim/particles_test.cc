// Particles: what must hold, and what two spheres do by hand.
#include "tests/sim/sim_fixture.h"

class Particles : public Sim {
protected:
  HdSimParticlesOptions Options() {
    HdSimParticlesOptions o = HD_SIM_PARTICLES_OPTIONS_INIT;
    o.radius = 0.05f;
    return o;
  }
};

TEST_F(Particles, FallFreelyAsTheSchemeSays) {
  HdSimParticlesOptions o = Options();
  const float x[3] = {0, 1.5f, 0};
  HdSimParticles *p;
  SIM_OK(hd_sim_particles_new(ctx, stream, &o, 1, x, &p));
  const float dt = 1e-4f;
  SIM_OK(hd_sim_particles_step(p, dt, 1000));
  // Semi-implicit Euler from rest: y = y0 - g dt^2 n (n + 1) / 2.
  double want = 1.5 - 9.81 * 1e-8 * 1000 * 1001 / 2;
  EXPECT_NEAR(Floats(hd_sim_particles_x(p), 3)[1], want, 1e-4);
  EXPECT_NEAR(Floats(hd_sim_particles_v(p), 3)[1], -9.81 * 0.1, 1e-3);
  hd_sim_particles_free(p);
}

TEST_F(Particles, TwoSpheresKeepMomentumAndLoseEnergyByRestitution) {
  HdSimParticlesOptions o = Options();
  o.gravity[1] = 0;
  o.restitution = 0.5f;
  o.friction = 0;
  const float x[6] = {-0.06f, 1, 0, 0.06f, 1, 0};
  HdSimParticles *p;
  SIM_OK(hd_sim_particles_new(ctx, stream, &o, 2, x, &p));
  float *v = static_cast<float *>(hd_sim_particles_v(p).data);
  v[0] = 0.2f;
  v[3] = -0.2f;
  SIM_OK(hd_sim_particles_step(p, 2e-5f, 10000));
  std::vector<float> u = Floats(hd_sim_particles_v(p), 3);
  EXPECT_NEAR(u[0] + u[3], 0, 1e-5);
  // Cut off where the spring would pull, a dashpot rebounds a little faster than e; the sign and size are sure.
  EXPECT_LT(std::fabs(u[0]), 0.2f * 0.62f);
  EXPECT_GT(std::fabs(u[0]), 0.2f * 0.45f);
  hd_sim_particles_free(p);
}

TEST_F(Particles, ComeToRestInsideTheBox) {
  HdSimParticlesOptions o = Options();
  std::vector<float> x;
  for (int i = 0; i < 500; i++) {
    x.push_back(-0.5f + 0.11f * float(i % 9) + 0.003f * float(i % 7));
    x.push_back(0.1f + 0.11f * float(i / 81));
    x.push_back(-0.5f + 0.11f * float(i / 9 % 9) + 0.002f * float(i % 5));
  }
  HdSimParticles *p;
  SIM_OK(hd_sim_particles_new(ctx, stream, &o, 500, x.data(), &p));
  float dt = hd_sim_particles_max_dt(p) * 0.5f;
  int steps = int(3.0f / dt);
  SIM_OK(hd_sim_particles_step(p, dt, steps));
  double energy = 0;
  SIM_OK(hd_sim_particles_energy(p, &energy));
  double mass = 2500 * 4.18879 * 0.05 * 0.05 * 0.05;
  EXPECT_LT(energy, 500 * 0.5 * mass * 0.05 * 0.05) << "faster than 5 cm/s on average";
  std::vector<float> y = Floats(hd_sim_particles_x(p), 3);
  for (int i = 0; i < 500; i++)
    for (int a = 0; a < 3; a++) {
      EXPECT_GT(y[3 * i + a], o.lo[a] + 0.8f * o.radius);
      EXPECT_LT(y[3 * i + a], o.hi[a] - 0.8f * o.radius);
    }
  hd_sim_particles_free(p);
}

// Potential and kinetic energy [J] of spheres of mass m.
double MechanicalEnergy(const std::vector<float> &x, const std::vector<float> &v, double m) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); i += 3)
    sum += m * (9.81 * x[i + 1] + 0.5 * (v[i] * v[i] + v[i + 1] * v[i + 1] + v[i + 2] * v[i + 2]));
  return sum;
}

TEST_F(Particles, GainNoEnergyAtTheLongestStepHoweverClosePacked) {
  for (float restitution : {0.05f, 0.4f, 0.9f}) {
    HdSimParticlesOptions o = Options();
    o.restitution = restitution;
    o.stiffness = 20000;
    std::vector<float> x;
    for (int layer = 0; layer < 16; layer++) // face-centred cubic, just touching
      for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
          x.push_back(-0.5f + 0.1f * float(a) + 0.05f * float(layer % 2));
          x.push_back(0.05f + 0.0708f * float(layer));
          x.push_back(-0.5f + 0.1f * float(b) + 0.05f * float(layer % 2));
        }
    int64_t n = int64_t(x.size() / 3);
    HdSimParticles *p;
    SIM_OK(hd_sim_particles_new(ctx, stream, &o, n, x.data(), &p));
    double mass = 2500 * 4.18879 * 0.05 * 0.05 * 0.05;
    const double first = MechanicalEnergy(x, std::vector<float>(x.size()), mass);
    float dt = hd_sim_particles_max_dt(p);
    for (int k = 0; k < 10; k++) {
      SIM_OK(hd_sim_particles_step(p, dt, int(0.05f / dt)));
      double now = MechanicalEnergy(Floats(hd_sim_particles_x(p), 3), Floats(hd_sim_particles_v(p), 3), mass);
      // not less than the time before: what the springs hold comes back
      EXPECT_LT(now, 1.001 * first) << "restitution " << restitution << ", time " << 0.05 * (k + 1);
    }
    hd_sim_particles_free(p);
  }
}

TEST_F(Particles, RunsRepeatBitForBitOnAnyNumberOfThreads) {
  HdSimParticlesOptions o = Options();
  std::vector<float> x;
  for (int i = 0; i < 3000; i++) {
    x.push_back(-0.9f + 0.101f * float(i % 18));
    x.push_back(0.06f + 0.101f * float(i / 324));
    x.push_back(-0.9f + 0.1005f * float(i / 18 % 18));
  }
  std::vector<float> first;
  for (int threads : {1, 2, 2}) {
    Close();
    Open(threads);
    HdSimParticles *p;
    SIM_OK(hd_sim_particles_new(ctx, stream, &o, 3000, x.data(), &p));
    SIM_OK(hd_sim_particles_step(p, hd_sim_particles_max_dt(p), 60));
    std::vector<float> got = Floats(hd_sim_particles_x(p), 3);
    hd_sim_particles_free(p);
    if (first.empty())
      first = got;
    else
      EXPECT_EQ(first, got) << threads << " threads";
  }
}

TEST_F(Particles, NoneIsFine) {
  HdSimParticles *p;
  SIM_OK(hd_sim_particles_new(ctx, stream, nullptr, 0, nullptr, &p));
  SIM_OK(hd_sim_particles_step(p, 1e-5f, 3));
  double energy = 1;
  SIM_OK(hd_sim_particles_energy(p, &energy));
  EXPECT_EQ(energy, 0);
  hd_sim_particles_free(p);
}

TEST_F(Particles, RefuseOptionsOutOfRange) {
  HdSimParticlesOptions o = Options();
  o.radius = -1;
  HdSimParticles *p = nullptr;
  const float x[3] = {0, 1, 0};
  EXPECT_EQ(hd_sim_particles_new(ctx, stream, &o, 1, x, &p), HD_ERR_ARG);
  EXPECT_NE(Why().find("options.radius"), std::string::npos) << Why();
  EXPECT_EQ(p, nullptr);
  SIM_OK(hd_sim_particles_new(ctx, stream, nullptr, 1, x, &p));
  EXPECT_EQ(hd_sim_particles_step(p, 1.0f, 1), HD_ERR_ARG);
  EXPECT_EQ(hd_sim_particles_step(p, NAN, 1), HD_ERR_ARG);
  hd_sim_particles_free(p);
}
