// tests/lib/library_math_test.cc -- integers, packing, search, curves: against plain loops and known answers, everywhere with the
// same bits.
#include <algorithm>
#include <bitset>
#include <cmath>
#include <numeric>
#include <random>

#include "library_testing.h"

namespace {

std::mt19937_64 rng(3);

std::vector<int32_t> Ints(int n, int32_t low, int32_t high) {
  std::vector<int32_t> v(static_cast<size_t>(n));
  for (int32_t &x : v) x = std::uniform_int_distribution<int32_t>(low, high)(rng);
  return v;
}
std::vector<uint32_t> Words(int n) {
  std::vector<uint32_t> v(static_cast<size_t>(n));
  for (uint32_t &x : v) x = static_cast<uint32_t>(rng());
  return v;
}

TEST(Integer, DivisionRoundsDownAndUp) {
  auto a = Ints(500, -50, 50), b = Ints(500, -7, 7);
  a.insert(a.end(), {INT32_MIN, INT32_MIN, INT32_MAX, 0});
  b.insert(b.end(), {-1, 1, -2, -3});
  std::vector<int32_t> q(a.size()), r(a.size()), up(a.size());
  std::vector<float> f(a.size());
  Everywhere::It().Run("kernel k(i32 a[], i32 b[], i32 q[], i32 r[], i32 up[], f32 f[]) { let i = tid(); q[i] = "
                       "floor_div(a[i], b[i]); r[i] = floor_mod(a[i], b[i]); up[i] = ceil_div(abs(a[i]), abs(b[i])); "
                       "f[i] = floor_mod(f32(a[i]) / 4, f32(b[i])) + 100 * floor_div(f32(a[i]) / 4, f32(b[i])); }",
                       static_cast<int64_t>(a.size()), a, b, q, r, up, f);
  for (size_t i = 0; i < 500; i++) {
    if (b[i] == 0) {
      EXPECT_EQ(q[i], 0);
      EXPECT_EQ(r[i], a[i]);
      continue;
    }
    EXPECT_EQ(q[i], static_cast<int32_t>(std::floor(static_cast<double>(a[i]) / b[i])));
    EXPECT_EQ(r[i], a[i] - q[i] * b[i]);
    EXPECT_EQ(up[i], static_cast<int32_t>(std::ceil(std::fabs(static_cast<double>(a[i]) / b[i]))));
    double x = a[i] / 4.0, d = std::floor(x / b[i]);
    EXPECT_NEAR(f[i], x - d * b[i] + 100 * d, 1e-3);
  }
  EXPECT_EQ(q[500], INT32_MIN) << "as MIN / -1";
  EXPECT_EQ(r[500], 0);
  EXPECT_EQ(q[502], -1073741824);
  EXPECT_EQ(r[502], -1);
}

TEST(Integer, PowersOfTwoAndDivisors) {
  std::vector<int32_t> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1023, 1024, 1025, 1 << 30, (1 << 30) - 1, 0, -4}, y = x;
  std::vector<int32_t> next(x.size()), log(x.size()), is(x.size()), g(x.size());
  for (size_t i = 0; i < y.size(); i++) y[i] = static_cast<int32_t>(12 * (i + 1));
  Everywhere::It().Run(
      "kernel k(i32 x[], i32 y[], i32 n[], i32 l[], i32 p[], i32 g[]) { let i = tid(); n[i] = next_pow2(x[i]); "
      "l[i] = floor_log2(x[i]); p[i] = is_pow2(x[i]) ? 1 : 0; g[i] = gcd(x[i], y[i]); }",
      static_cast<int64_t>(x.size()), x, y, next, log, is, g);
  for (size_t i = 0; i < x.size(); i++) {
    EXPECT_EQ(is[i], x[i] > 0 && std::bitset<32>(static_cast<uint32_t>(x[i])).count() == 1);
    EXPECT_EQ(g[i], std::gcd(x[i], y[i]));
    if (x[i] <= 0) continue;
    EXPECT_EQ(log[i], static_cast<int32_t>(std::log2(x[i])));
    EXPECT_GE(next[i], x[i]);
    EXPECT_LT(next[i] / 2, x[i]);
    EXPECT_EQ(next[i] & (next[i] - 1), 0);
  }
}

TEST(Integer, OrdersOfBitsAndBytes) {
  auto x = Words(200), y = Words(200);
  std::vector<uint32_t> r(200), s(200), t(200), u(400);
  Everywhere::It().Run(
      "kernel k(u32 x[], u32 y[], u32 r[], u32 s[], u32 t[], vec<u32, 2> u[]) { let i = tid(); r[i] = "
      "reverse_bits(x[i]); s[i] = swap_bytes(x[i]); t[i] = rotate_left(x[i], y[i]) ^ rotate_right(x[i], 0);"
      " let w = u64(x[i]) << 32u64 | u64(y[i]); let v = reverse_bits(w) ^ swap_bytes(rotate_right(w, 9u64)); "
      "u[i] = vec<u32, 2>(u32(v), u32(v >> 32u64)); }",
      200, x, y, r, s, t, u);
  auto reverse = [](uint64_t v, int bits) {
    uint64_t z = 0;
    for (int b = 0; b < bits; b++) z |= (v >> b & 1) << (bits - 1 - b);
    return z;
  };
  for (size_t i = 0; i < 200; i++) {
    EXPECT_EQ(r[i], reverse(x[i], 32));
    EXPECT_EQ(s[i], __builtin_bswap32(x[i]));
    unsigned n = y[i] % 32;
    EXPECT_EQ(t[i], (n ? x[i] << n | x[i] >> (32 - n) : x[i]) ^ x[i]);
    uint64_t w = static_cast<uint64_t>(x[i]) << 32 | y[i], v = reverse(w, 64) ^ __builtin_bswap64(w >> 9 | w << 55);
    EXPECT_EQ(u[2 * i] | static_cast<uint64_t>(u[2 * i + 1]) << 32, v);
  }
}

TEST(Integer, MortonCodesTakeBitsInTurnAndComeBack) {
  auto p = Words(3 * 200);
  std::vector<uint32_t> c2(200), c3(200), c64(400), back2(400), back3(600), back64(600);
  Everywhere::It().Run(
      "kernel k(vec<u32, 3> p[], u32 c2[], u32 c3[], vec<u32, 2> c64[], vec<u32, 2> b2[], vec<u32, 3> b3[], vec<u32, "
      "3> b64[]) { "
      "let i = tid(); c2[i] = morton_encode(p[i].xy); c3[i] = morton_encode(p[i]); let c = morton_encode64(p[i]); "
      "c64[i] = vec<u32, 2>(u32(c), u32(c >> 32u64)); b2[i] = morton_decode2(c2[i]); b3[i] = morton_decode3(c3[i]); "
      "b64[i] = "
      "morton_decode3(c); }",
      200, p, c2, c3, c64, back2, back3, back64);
  for (size_t i = 0; i < 200; i++) {
    uint64_t want2 = 0, want3 = 0, want64 = 0;
    for (size_t b = 0; b < 21; b++)
      for (size_t k = 0; k < 3; k++) {
        uint64_t bit = p[3 * i + k] >> b & 1;
        if (b < 16 && k < 2) want2 |= bit << (2 * b + k);
        if (b < 10) want3 |= bit << (3 * b + k);
        want64 |= bit << (3 * b + k);
      }
    EXPECT_EQ(c2[i], want2);
    EXPECT_EQ(c3[i], want3);
    EXPECT_EQ(c64[2 * i] | static_cast<uint64_t>(c64[2 * i + 1]) << 32, want64);
    for (size_t k = 0; k < 3; k++) {
      if (k < 2) { EXPECT_EQ(back2[2 * i + k], p[3 * i + k] & 0xffff); }
      EXPECT_EQ(back3[3 * i + k], p[3 * i + k] & 0x3ff);
      EXPECT_EQ(back64[3 * i + k], p[3 * i + k] & 0x1fffff);
    }
  }
}

TEST(Packing, RoundsToTheNearestStepAndComesBackExactly) {
  std::vector<float> v = {0, 1, 0.5f, 0.25f, -1, 2, NAN, 1e-3f, 0.1f, 0.9999f, -0.5f, -0.3f};
  for (int i = 0; i < 400; i++) v.push_back(static_cast<float>(static_cast<double>(rng() % 30000) / 10000 - 1.5));
  size_t n = v.size() / 4;
  std::vector<uint32_t> u4(n), s4(n), u2(n), s2(n), h(n), b(n), again(6 * n);
  std::vector<float> fu4(4 * n), fs4(4 * n), fu2(2 * n), fs2(2 * n), fh(2 * n), fb(2 * n);
  Everywhere::It().Run(
      "kernel k(vec4 v[], u32 u4[], u32 s4[], u32 u2[], u32 s2[], u32 h[], u32 b[], vec4 fu4[], vec4 fs4[], vec2 "
      "fu2[], vec2 "
      "fs2[], vec2 fh[], vec2 fb[], vec<u32, 6> again[]) { let i = tid(); let w = v[i].xy; u4[i] = pack_unorm4(v[i]); "
      "s4[i] = "
      "pack_snorm4(v[i]); u2[i] = pack_unorm2(w); s2[i] = pack_snorm2(w); h[i] = pack_half2(w); b[i] = "
      "pack_bfloat2(w); "
      "fu4[i] = unpack_unorm4(u4[i]); fs4[i] = unpack_snorm4(s4[i]); fu2[i] = unpack_unorm2(u2[i]); fs2[i] = "
      "unpack_snorm2(s2[i]); fh[i] = unpack_half2(h[i]); fb[i] = unpack_bfloat2(b[i]); again[i] = vec<u32, "
      "6>(pack_unorm4(fu4[i]), pack_snorm4(fs4[i]), pack_unorm2(fu2[i]), pack_snorm2(fs2[i]), pack_half2(fh[i]), "
      "pack_bfloat2(fb[i])); }",
      static_cast<int64_t>(n), v, u4, s4, u2, s2, h, b, fu4, fs4, fu2, fs2, fh, fb, again);
  auto near = [](float x, float got, double low, double step) {
    double want = std::isnan(x) ? 0 : std::min(1.0, std::max(low, static_cast<double>(x)));
    EXPECT_NEAR(got, want, 0.5001 * step) << x;
  };
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < 4; k++) {
      near(v[4 * i + k], fu4[4 * i + k], 0, 1 / 255.0);
      near(v[4 * i + k], fs4[4 * i + k], -1, 1 / 127.0);
      if (k >= 2) continue;
      near(v[4 * i + k], fu2[2 * i + k], 0, 1 / 65535.0);
      near(v[4 * i + k], fs2[2 * i + k], -1, 1 / 32767.0);
      if (std::isnan(v[4 * i + k])) continue;
      EXPECT_NEAR(fh[2 * i + k], v[4 * i + k], std::fabs(v[4 * i + k]) * 0x1p-11 + 0x1p-25);
      EXPECT_NEAR(fb[2 * i + k], v[4 * i + k], std::fabs(v[4 * i + k]) * 0x1p-8);
    }
    EXPECT_EQ(again[6 * i], u4[i]);
    EXPECT_EQ(again[6 * i + 1], s4[i]);
    EXPECT_EQ(again[6 * i + 2], u2[i]);
    EXPECT_EQ(again[6 * i + 3], s2[i]);
  }
  EXPECT_EQ(u4[0], 0x4080ff00u) << "the first is lowest; halves go to the even step";
  EXPECT_EQ(s4[1] & 0xffff, 0x7f81u);
}

TEST(Search, FindsTheFirstAndTheLastPlace) {
  for (int n : {0, 1, 2, 7, 64, 1000}) {
    SCOPED_TRACE(n);
    auto a = Ints(n, 0, n), x = Ints(300, -2, n + 2);
    std::sort(a.begin(), a.end());
    if (a.empty()) a.push_back(5), x.assign(300, 5); // an array of one, and an empty range of it below
    std::vector<int32_t> low(300), high(300), found(300), part(300);
    Everywhere::It().Run(
        "kernel k(i32 a[], i32 x[], i32 low[], i32 high[], i32 found[], i32 part[]) { let i = tid(); low[i] = "
        "lower_bound(a, x[i]); high[i] = upper_bound(a, x[i]); found[i] = binary_search(a, x[i]); part[i] = "
        "lower_bound(a, 1, a.length, x[i]); }",
        300, a, x, low, high, found, part);
    for (size_t i = 0; i < 300; i++) {
      auto l = std::lower_bound(a.begin(), a.end(), x[i]), h = std::upper_bound(a.begin(), a.end(), x[i]);
      EXPECT_EQ(low[i], l - a.begin());
      EXPECT_EQ(high[i], h - a.begin());
      EXPECT_EQ(found[i], l != a.end() && *l == x[i] ? l - a.begin() : -1);
      EXPECT_EQ(part[i], std::lower_bound(a.begin() + 1, a.end(), x[i]) - a.begin());
    }
  }
}

TEST(Interp, CurvesMeetTheirPointsAndSlopes) {
  std::vector<double> p(4 * 100), t(100), out(6 * 100), ends(8 * 100);
  for (double &x : p) x = static_cast<double>(rng() % 1000) / 100 - 5;
  for (double &x : t) x = static_cast<double>(rng() % 1000) / 999;
  Everywhere::It().Run("kernel k(vec<f64, 4> p[], f64 t[], vec<f64, 6> out[], vec<f64, 8> ends[]) { let i = tid(); let "
                       "a = p[i].x; let b = "
                       "p[i].y; let c = p[i].z; let d = p[i].w; let s = t[i]; out[i] = vec<f64, 6>(hermite(a, b, c, d, "
                       "s), catmull_rom(a, b, c, "
                       "d, s), bezier(a, b, c, d, s), smootherstep(0f64, 1f64, s), bilinear(a, b, c, d, vec<f64, 2>(s, "
                       "0.25)), remap(s, a, a + "
                       "3, c, d)); let h = 1e-6f64; ends[i] = vec<f64, 8>(hermite(a, b, c, d, 0f64), hermite(a, b, c, "
                       "d, 1f64), catmull_rom(a, b, "
                       "c, d, 0f64), catmull_rom(a, b, c, d, 1f64), bezier(a, b, c, d, 0f64), bezier(a, b, c, d, "
                       "1f64), (hermite(a, b, c, d, h) - a) "
                       "/ h, (c - hermite(a, b, c, d, 1 - h)) / h); }",
                       100, p, t, out, ends);
  for (size_t i = 0; i < 100; i++) {
    double a = p[4 * i], b = p[4 * i + 1], c = p[4 * i + 2], d = p[4 * i + 3], s = t[i], r = 1 - s;
    const double *e = &ends[8 * i], *o = &out[6 * i];
    EXPECT_NEAR(o[0],
                (2 * s * s * s - 3 * s * s + 1) * a + (s * s * s - 2 * s * s + s) * b +
                    (3 * s * s - 2 * s * s * s) * c + (s * s * s - s * s) * d,
                1e-13);
    EXPECT_NEAR(o[1],
                0.5 * (2 * b + (c - a) * s + (2 * a - 5 * b + 4 * c - d) * s * s + (3 * b - a - 3 * c + d) * s * s * s),
                1e-13);
    EXPECT_NEAR(o[2], r * r * r * a + 3 * r * r * s * b + 3 * r * s * s * c + s * s * s * d, 1e-13);
    EXPECT_NEAR(o[3], s * s * s * (s * (6 * s - 15) + 10), 1e-14);
    EXPECT_NEAR(o[4], 0.75 * (r * a + s * b) + 0.25 * (r * c + s * d), 1e-13);
    EXPECT_NEAR(o[5], c + (d - c) * (s - a) / 3, 1e-12);
    const double want[] = {a, c, b, c, a, d};
    for (int k = 0; k < 6; k++) EXPECT_NEAR(e[k], want[k], 1e-13);
    EXPECT_NEAR(e[6], b, 1e-4);
    EXPECT_NEAR(e[7], d, 1e-4);
  }
}

} // namespace
