// tests/lib/library_random_test.cc -- random numbers against published answers, their moments and their distributions; noise
// by what must hold.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "library_testing.h"

namespace {

std::mt19937 gen(5);
std::uniform_real_distribution<double> u(-2, 2);

// The answers of Random123's own tests for Philox 4x32 with 10 rounds.
TEST(Random, PhiloxGivesThePublishedAnswers) {
  Program p(Everywhere::It().machine,
            "kernel k(vec<u32, 4> c[], vec<u32, 2> k[], vec<u32, 4> r[]) { let i = tid(); r[i] = philox(c[i], k[i]); }",
            Everywhere::It().machine.cpu);
  std::vector<uint32_t> c = {0, 0, 0, 0, ~0u, ~0u, ~0u, ~0u, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  std::vector<uint32_t> k = {0, 0, ~0u, ~0u, 0xa4093822, 0x299f31d0}, r(12);
  p.Run(3, c, k, r);
  EXPECT_EQ(r, (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x408f276d, 0x41c83b0e,
                                      0xa20bc7c6, 0x6d5451fd, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, RandomNumbersHaveTheirMoments) {
  constexpr int n = 1 << 18;
  Program p(Everywhere::It().machine,
            "kernel k(f32 u[], f32 g[], vec3 s[], i32 bin[]) { let i = tid(); var r = rand_init(7, i); u[i] = "
            "randf(r); g[i] = randn(r);"
            " s[i] = rand_on_sphere(r); atomic_add(bin[randi(r, 0, 64)], 1); }",
            Everywhere::It().machine.cpu);
  std::vector<float> u(n), g(n), s(3 * n);
  std::vector<int32_t> bin(64);
  p.Run(n, u, g, s, bin);
  double mean = 0, square = 0, gm = 0, gv = 0, g4 = 0, z = 0, zz = 0, chi = 0;
  for (int i = 0; i < n; i++) {
    ASSERT_TRUE(u[i] >= 0 && u[i] < 1);
    mean += u[i], square += double(u[i]) * u[i];
    gm += g[i], gv += double(g[i]) * g[i], g4 += std::pow(double(g[i]), 4);
    ASSERT_NEAR(s[3 * i] * s[3 * i] + s[3 * i + 1] * s[3 * i + 1] + s[3 * i + 2] * s[3 * i + 2], 1, 1e-5);
    z += s[3 * i + 2], zz += double(s[3 * i + 2]) * s[3 * i + 2];
  }
  for (int b : bin) chi += (b - n / 64.0) * (b - n / 64.0) / (n / 64.0);
  EXPECT_NEAR(mean / n, 0.5, 4 * 0.2887 / 512);
  EXPECT_NEAR(square / n, 1.0 / 3, 4 * 0.298 / 512);
  EXPECT_NEAR(gm / n, 0, 4.0 / 512);
  EXPECT_NEAR(gv / n, 1, 4 * 1.4142 / 512);
  EXPECT_NEAR(g4 / n, 3, 4 * 9.8 / 512);
  EXPECT_NEAR(z / n, 0, 4 * 0.577 / 512);
  EXPECT_NEAR(zz / n, 1.0 / 3, 4 * 0.298 / 512);
  EXPECT_LT(chi, 63 + 5 * std::sqrt(2 * 63.0));
}

// Pearson's statistic of counts against expected shares; of k - 1 degrees of freedom.
void ExpectShares(const std::vector<int32_t> &count, const std::vector<double> &share) {
  double n = 0, chi = 0, rest = 1, others = 0;
  for (int32_t c : count) n += c;
  int k = 0;
  for (size_t i = 0; i < count.size(); i++) {
    if (n * share[i] < 10) {
      others += count[i];
      continue;
    }
    rest -= share[i];
    chi += (count[i] - n * share[i]) * (count[i] - n * share[i]) / (n * share[i]);
    k++;
  }
  EXPECT_NEAR(others / n, rest, 5 * std::sqrt((rest + 1e-9) / n) + 1e-5);
  EXPECT_LT(chi, k + 5 * std::sqrt(2.0 * k));
}

constexpr int kMany = 1 << 16;

std::vector<int32_t> Counts(const std::string &draw, size_t bins) {
  std::vector<int32_t> bin(bins);
  Program p(Everywhere::It().machine,
            "kernel k(i32 bin[]) { var r = rand_init(11, tid()); let x = " + draw +
                "; atomic_add(bin[max(0, min(bin.length - 1, x))], 1); }",
            Everywhere::It().machine.cpu);
  p.Run(kMany, bin);
  return bin;
}

TEST(Random, PoissonCountsHaveTheirShares) {
  for (double mean : {0.25, 3.0, 9.5, 12.0, 40.0, 900.0}) {
    SCOPED_TRACE(mean);
    std::vector<double> share(1024);
    double rest = 1;
    for (size_t k = 0; k + 1 < share.size(); k++)
      rest -= share[k] =
          std::exp(static_cast<double>(k) * std::log(mean) - mean - std::lgamma(static_cast<double>(k) + 1));
    share.back() = std::max(rest, 0.0);
    ExpectShares(Counts("rand_poisson(r, " + std::to_string(mean) + ")", share.size()), share);
  }
  EXPECT_EQ(Counts("rand_poisson(r, 0.0)", 2)[0], kMany);
  EXPECT_EQ(Counts("rand_poisson(r, -3.0)", 2)[0], kMany);
  EXPECT_EQ(Counts("rand_poisson(r, nan<f32>())", 2)[0], kMany);
}

TEST(Random, ExponentialWaitingTimesHaveTheirShares) {
  std::vector<double> share(40);
  for (size_t k = 0; k < share.size(); k++)
    share[k] = std::exp(-0.25 * static_cast<double>(k)) * (k + 1 < share.size() ? 1 - std::exp(-0.25) : 1);
  ExpectShares(Counts("i32(4 * rand_exponential(r))", share.size()), share);
}

// A point's height in its shape is distributed as its cross-sections are.
TEST(Random, PointsAreUniformInTheirShapes) {
  std::vector<double> flat(16, 1.0 / 16), ball(16), half(16), cosine(16), corner(16);
  for (size_t i = 0; i < 16; i++) {
    double a = static_cast<double>(i) / 16, b = static_cast<double>(i + 1) / 16;
    auto in_ball = [](double z) { return 0.75 * (z - z * z * z / 3); };
    ball[i] = in_ball(2 * b - 1) - in_ball(2 * a - 1);
    half[i] = 2 * (in_ball(b) - in_ball(a));
    cosine[i] = b * b - a * a;
    corner[i] = (1 - a) * (1 - a) - (1 - b) * (1 - b);
  }
  ExpectShares(Counts("i32(8 * (1 + rand_on_sphere(r).x))", 16), flat);
  ExpectShares(Counts("i32(8 * (1 + rand_in_ball(r).y))", 16), ball);
  ExpectShares(Counts("i32(16 * rand_on_hemisphere(r).z)", 16), flat);
  ExpectShares(Counts("i32(16 * rand_in_hemisphere(r).z)", 16), half);
  ExpectShares(Counts("i32(16 * rand_cosine_hemisphere(r).z)", 16), cosine);
  ExpectShares(Counts("i32(16 * length_sq(rand_in_disk(r)))", 16), flat);
  ExpectShares(Counts("i32(32 * (rand_in_cone(r, 0.5).z - 0.5))", 16), flat);
  for (const char *k : {"x", "y", "z"})
    ExpectShares(Counts("i32(16 * rand_in_triangle(r)." + std::string(k) + ")", 16), corner);
  for (const char *k : {"x", "y", "z"})
    ExpectShares(Counts("i32(16 * (0.5 + rand_in_cube(r)." + std::string(k) + "))", 16), flat);
  ExpectShares(Counts("i32(randu(r, 3, 19)) - 3", 16), flat);
}

TEST(Random, PlacesInADistributionHaveTheirShares) {
  std::vector<float> cdf = {0.1f, 0.1f, 0.6f, 1.0f};
  std::vector<int32_t> bin(4);
  Program p(Everywhere::It().machine,
            "kernel k(f32 cdf[], i32 bin[]) { var r = rand_init(3, tid()); atomic_add(bin[rand_cdf(r, cdf)], 1); }",
            Everywhere::It().machine.cpu);
  p.Run(kMany, cdf, bin);
  ExpectShares(bin, {0.1, 0, 0.5, 0.4});
  EXPECT_EQ(bin[1], 0) << "an empty share";
}

TEST(Random, PermutationsHaveEachNumberOnce) {
  for (int n : {1, 2, 5, 64, 1000}) {
    SCOPED_TRACE(n);
    std::vector<uint32_t> p(static_cast<size_t>(n)), q(p.size());
    std::string s = std::to_string(n);
    Everywhere::It().Run("kernel k(u32 p[], u32 q[]) { let i = tid(); p[i] = rand_permutation(7, " + s +
                             ", u32(i)); q[i] = "
                             "rand_permutation(8, " +
                             s + ", u32(i)); }",
                         n, p, q);
    std::set<uint32_t> all(p.begin(), p.end());
    EXPECT_EQ(all.size(), p.size());
    EXPECT_LT(*all.rbegin(), p.size());
    if (n > 5) { EXPECT_NE(p, q); }
  }
  std::vector<double> share(24, 1.0 / 24);
  ExpectShares(Counts("i32(rand_permutation(randu(r), 24, 5))", 24), share);
}

TEST(Random, PermutationOfNothingOrBeyondTheEndEnds) {
  std::vector<uint32_t> p(3);
  Everywhere::It().Run("kernel k(u32 p[]) { p[0] = rand_permutation(7, 0, 3); p[1] = rand_permutation(7, 5, 8); p[2] = "
                       "rand_permutation(7, 5, 3); }",
                       1, p);
  EXPECT_EQ(p[0], 0u);
  EXPECT_EQ(p[1], p[2]);
}

TEST(Random, DrawsAreTheSameEverywhere) {
  std::vector<float> out(12 * 200);
  Everywhere::It().Run(
      "kernel k(vec<f32, 12> o[]) { let i = tid(); var r = rand_init(5, i); f32 a[3] = {1, 2, 3}; rand_shuffle(r, a); "
      "o[i] = vec<f32, 12>(rand_in_cone(r, 0.2), rand_cosine_hemisphere(r), rand_in_triangle(r), "
      "f32(rand_poisson(r, f32(i))), rand_exponential(r), a[0] + 10 * a[1]); }",
      200, out);
  int ordered = 0;
  for (size_t i = 0; i < 200; i++) ordered += out[12 * i + 11] == 21;
  EXPECT_NEAR(ordered, 200 / 6.0, 25) << "each of the six orders";
}

TEST(Noise, IsZeroAtTheLatticeAndSmoothBetween) {
  constexpr int n = 4096;
  Program p(Everywhere::It().machine,
            "kernel k(vec3 x[], f32 at[], f32 v[], f32 near[]) { let i = tid(); at[i] = noise(3u, floor(x[i])); v[i] = "
            "noise(3u, x[i]);"
            " near[i] = noise(3u, x[i] + vec3(1e-3, 0, 0)); }",
            Everywhere::It().machine.cpu);
  std::vector<float> x, at(n), v(n), near(n);
  for (int i = 0; i < 3 * n; i++) x.push_back(static_cast<float>(10 * u(gen)));
  p.Run(n, x, at, v, near);
  double square = 0;
  for (int i = 0; i < n; i++) {
    EXPECT_EQ(at[i], 0);
    EXPECT_LE(std::fabs(v[i]), 1.0f);
    EXPECT_LT(std::fabs(v[i] - near[i]), 5e-3);
    square += v[i] * v[i];
  }
  EXPECT_GT(square / n, 0.02) << "it is not flat";
}

TEST(Noise, RepeatsWithItsPeriod) {
  std::vector<float> x, d(4 * 500), other(500);
  for (int i = 0; i < 4 * 500; i++) x.push_back(static_cast<float>(5 * u(gen)));
  Everywhere::It().Run(
      "kernel k(vec4 x[], vec4 d[], f32 o[]) { let i = tid(); let p = x[i]; d[i] = vec4("
      "pnoise(3u, p.x, 5) - pnoise(3u, p.x + 15, 5), pnoise(3u, p.xy, vec2i(4, 3)) - pnoise(3u, p.xy + vec2(-8, 9), "
      "vec2i(4, 3)), pnoise(3u, p.xyz, vec3i(2, 4, 0)) - pnoise(3u, p.xyz + vec3(4, -4, 0), vec3i(2, 4, 0)), "
      "pnoise(3u, p, vec<i32, 4>(4)) - pnoise(3u, p + 4, vec<i32, 4>(4))); o[i] = noise(3u, p.xyz) - "
      "pnoise(3u, p.xyz, vec3i(0)); }",
      500, x, d, other);
  for (float e : d) EXPECT_NEAR(e, 0, 2e-5);
  for (float e : other) EXPECT_EQ(e, 0) << "no period";
}

TEST(Noise, GradientsAreItsSlopesAndFlowsHaveNoSources) {
  std::vector<float> x;
  std::vector<double> off(300), divergence(300);
  for (int i = 0; i < 4 * 300; i++) x.push_back(static_cast<float>(2 * u(gen)));
  std::vector<float> g(300), div(300), size(300);
  Everywhere::It().RunOnce(
      "fn slope(vec4 p, i32 k) -> f32 { var a = p; var b = p; a[k] += 0.01; b[k] -= 0.01; return (noise(3u, a) - "
      "noise(3u, b)) / (a[k] - b[k]); }"
      "fn part(vec3 p, i32 k) -> f32 { var a = p; var b = p; a[k] += 0.01; b[k] -= 0.01; return (curl_noise(3u, a)[k] "
      "- curl_noise(3u, b)[k]) / (a[k] - b[k]); }"
      "kernel k(vec4 x[], f32 g[], f32 div[], f32 size[]) { let i = tid(); let p = x[i]; g[i] = "
      "length(noise_gradient(3u, p) - vec4(slope(p, 0), "
      "slope(p, 1), slope(p, 2), slope(p, 3))); div[i] = part(p.xyz, 0) + part(p.xyz, 1) + part(p.xyz, 2); size[i] = "
      "length(curl_noise(3u, p.xyz)) + length(curl_noise(3u, p.xy)) + length(curl_noise(3u, p)); }",
      300, x, g, div, size);
  double mean = 0;
  for (size_t i = 0; i < 300; i++) {
    EXPECT_NEAR(g[i], 0, 0.01);
    EXPECT_NEAR(div[i], 0, 0.02);
    mean += size[i] / 300;
  }
  EXPECT_GT(mean, 1);
}

TEST(Noise, SimplexNoiseIsSmoothAndFillsItsRange) {
  constexpr int n = 20000;
  std::vector<float> x, a(2 * n), b(2 * n);
  for (int i = 0; i < 3 * n; i++) x.push_back(static_cast<float>(20 * u(gen)));
  Program p(
      Everywhere::It().machine,
      "kernel k(vec3 x[], vec2 a[], vec2 b[]) { let i = tid(); let p = x[i]; let q = p + vec3(1e-3, 1e-3, 0); a[i] = "
      "vec2(simplex_noise(3u, p.xy), simplex_noise(3u, p)); b[i] = vec2(simplex_noise(3u, q.xy), simplex_noise(3u, "
      "q)); }",
      Everywhere::It().machine.cpu);
  p.Run(n, x, a, b);
  for (size_t k = 0; k < 2; k++) {
    double low = 0, high = 0, mean = 0, step = 0;
    for (size_t i = k; i < 2 * n; i += 2) {
      low = std::min<double>(low, a[i]), high = std::max<double>(high, a[i]), mean += a[i] / n;
      step = std::max<double>(step, std::fabs(a[i] - b[i]));
    }
    EXPECT_LE(high, 1) << k;
    EXPECT_GE(low, -1);
    EXPECT_GT(high, 0.85);
    EXPECT_LT(low, -0.85);
    EXPECT_NEAR(mean, 0, 0.02);
    EXPECT_LT(step, 0.02) << "no jump between cells";
  }
}

} // namespace
