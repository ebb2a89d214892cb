// tests/lib/accuracy_test.cc -- every function of lib/math against MPFR, within the ulps of its row in ir/builtins.def.
//
// Inputs are every exponent with a few mantissas, ranges in which a function is interesting, the neighbours of its
// critical points, and special values. MPFR computes with 120 bits. f32 functions of one argument are also run over a
// stride of all 2^32 arguments, judged by the f64 function first, in the kernel, and by MPFR where that finds a new worst
// one. HEDDLE_EXHAUSTIVE=1 makes the stride 1 and the other inputs many more, and prints the worst of each: the numbers
// that the rows hold, rounded up.
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>

#include "api/library.h"
#include "library_testing.h"

namespace {

struct Row {
  const char *name, *arguments, *result;
  double f32, f64;
  template <typename T> double ulps() const { return sizeof(T) == 4 ? f32 : f64; }
};

const Row rows[] = {
#define IR_BUILTIN(name, arguments, result, f32, f64, meaning) {#name, arguments, result, f32, f64},
#include "ir/builtins.def"
};

const Row *Find(const std::string &name) {
  for (const Row &r : rows)
    if (name == r.name) return &r;
  return nullptr;
}

const bool exhaustive = [] {
  const char *s = getenv("HEDDLE_EXHAUSTIVE");
  return s && *s && strcmp(s, "0") != 0;
}();

constexpr double kInf = std::numeric_limits<double>::infinity();

// --- how far off ---

// In ulps of `want`, where want is beyond the largest number as if that were followed by 2^emax. Infinite if one of
// the two is NaN, or the signs differ, also of zeros.
template <typename T> double UlpsOff(mpfr_srcptr want, T got) {
  using Limits = std::numeric_limits<T>;
  static thread_local struct Scratch {
    Scratch() { mpfr_init2(x, 400); }
    ~Scratch() { mpfr_clear(x); }
    mpfr_t x;
  } scratch;
  if (mpfr_nan_p(want) || std::isnan(got)) return mpfr_nan_p(want) && std::isnan(got) ? 0 : kInf;
  if ((mpfr_signbit(want) != 0) != std::signbit(got)) return kInf;
  mpfr_ptr d = scratch.x;
  mpfr_exp_t e = Limits::max_exponent;
  if (mpfr_zero_p(want)) e = Limits::min_exponent - 1;
  if (mpfr_regular_p(want)) e = std::min<mpfr_exp_t>(e, mpfr_get_exp(want));
  mpfr_exp_t ulp = std::max<mpfr_exp_t>(e, Limits::min_exponent) - Limits::digits;
  mpfr_abs(d, want, MPFR_RNDN);
  mpfr_t top;
  mpfr_init2(top, 64);
  mpfr_set_ui_2exp(top, 1, Limits::max_exponent, MPFR_RNDN);
  if (mpfr_cmp(d, top) > 0) mpfr_set(d, top, MPFR_RNDN);
  if (!std::isinf(got)) mpfr_set_d(top, std::abs(static_cast<double>(got)), MPFR_RNDN);
  mpfr_sub(d, d, top, MPFR_RNDN);
  mpfr_clear(top);
  mpfr_mul_2si(d, d, -ulp, MPFR_RNDN);
  return std::abs(mpfr_get_d(d, MPFR_RNDA));
}

// --- the functions ---

struct Unary {
  const char *name;
  int (*exact)(mpfr_ptr y, mpfr_srcptr x);
  double low, high;         // where it is interesting
  std::vector<double> near; // and near what
};

#define MPFR(f) [](mpfr_ptr y, mpfr_srcptr x) { return mpfr_##f(y, x, MPFR_RNDN); }
#define NAMED(f) #f, MPFR(f)

int Lgamma(mpfr_ptr y, mpfr_srcptr x) {
  int sign;
  return mpfr_lgamma(y, &sign, x, MPFR_RNDN);
}

// z with erf(z) = x, or erfc(z) = y for the smaller of y and 1 - |x|, by Newton's method. It begins where erfc is known to doubles, and
// ends when a step has changed less than half of the bits that are wanted: the next would change none.
int ErrorRoot(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, bool negative) {
  mpfr_t z, f, d;
  mpfr_inits2(200, z, f, d, static_cast<mpfr_ptr>(nullptr));
  double near = mpfr_get_d(x, MPFR_RNDN), far = mpfr_get_d(y, MPFR_RNDN);
  bool tail = near > 0.5;
  double l = tail ? -std::log(far) : 0,
         guess = tail ? std::sqrt(std::max(l - std::log(2 * std::sqrt(l)), 0.2)) : near * 0.886;
  mpfr_set_d(z, guess, MPFR_RNDN);
  if (!tail && near < 1e-290) mpfr_mul_d(z, x, 0.886226925452758, MPFR_RNDN);
  for (int i = 0; i < 100; i++) {
    // the step: (erf(z) - x) / erf'(z), or of logarithms
    mpfr_sqr(d, z, MPFR_RNDN);
    mpfr_neg(d, d, MPFR_RNDN);
    mpfr_exp(d, d, MPFR_RNDN);
    mpfr_mul_2ui(d, d, 1, MPFR_RNDN);
    mpfr_const_pi(f, MPFR_RNDN);
    mpfr_rec_sqrt(f, f, MPFR_RNDN);
    mpfr_mul(d, d, f, MPFR_RNDN);
    if (tail) {
      mpfr_erfc(f, z, MPFR_RNDN);
      mpfr_div(d, d, f, MPFR_RNDN);
      mpfr_div(f, y, f, MPFR_RNDN);
      mpfr_log(f, f, MPFR_RNDN);
    } else {
      mpfr_erf(f, z, MPFR_RNDN);
      mpfr_sub(f, f, x, MPFR_RNDN);
    }
    mpfr_div(d, f, d, MPFR_RNDN);
    mpfr_sub(z, z, d, MPFR_RNDN);
    if (mpfr_zero_p(d) || mpfr_get_exp(d) < mpfr_get_exp(z) - 70) break;
  }
  int r = negative ? mpfr_neg(out, z, MPFR_RNDN) : mpfr_set(out, z, MPFR_RNDN);
  mpfr_clears(z, f, d, static_cast<mpfr_ptr>(nullptr));
  return r;
}
int Erfinv(mpfr_ptr z, mpfr_srcptr x) {
  if (mpfr_nan_p(x) || mpfr_zero_p(x)) return mpfr_set(z, x, MPFR_RNDN);
  if (mpfr_cmpabs_ui(x, 1) >= 0) {
    if (mpfr_cmpabs_ui(x, 1) > 0) return mpfr_set_nan(z), 0;
    return mpfr_set_inf(z, mpfr_sgn(x)), 0;
  }
  mpfr_t a, y;
  mpfr_init2(a, 120);
  mpfr_init2(y, 1300);
  mpfr_abs(a, x, MPFR_RNDN);
  mpfr_ui_sub(y, 1, a, MPFR_RNDN);
  int r = ErrorRoot(z, a, y, mpfr_sgn(x) < 0);
  mpfr_clear(a);
  mpfr_clear(y);
  return r;
}
int Erfcinv(mpfr_ptr z, mpfr_srcptr y) {
  if (mpfr_nan_p(y) || mpfr_sgn(y) < 0 || mpfr_cmp_ui(y, 2) > 0) return mpfr_set_nan(z), 0;
  if (mpfr_zero_p(y) || mpfr_cmp_ui(y, 2) == 0) return mpfr_set_inf(z, mpfr_zero_p(y) ? 1 : -1), 0;
  if (mpfr_cmp_ui(y, 1) == 0) return mpfr_set_zero(z, 1), 0;
  mpfr_t x, least;
  mpfr_inits2(1300, x, least, static_cast<mpfr_ptr>(nullptr));
  bool negative = mpfr_cmp_ui(y, 1) > 0;
  if (negative)
    mpfr_ui_sub(least, 2, y, MPFR_RNDN);
  else
    mpfr_set(least, y, MPFR_RNDN);
  mpfr_ui_sub(x, 1, least, MPFR_RNDN);
  int r = ErrorRoot(z, x, least, negative);
  mpfr_clears(x, least, static_cast<mpfr_ptr>(nullptr));
  return r;
}
int Frac(mpfr_ptr y, mpfr_srcptr x) {
  mpfr_t f;
  mpfr_init2(f, 2400);
  mpfr_floor(f, x);
  int r = mpfr_sub(y, x, f, MPFR_RNDN);
  mpfr_clear(f);
  return r;
}
int TimesPi(mpfr_ptr y, mpfr_srcptr x, bool up) {
  mpfr_t pi;
  mpfr_init2(pi, 200);
  mpfr_const_pi(pi, MPFR_RNDN);
  mpfr_div_ui(pi, pi, 180, MPFR_RNDN);
  int r = up ? mpfr_mul(y, x, pi, MPFR_RNDN) : mpfr_div(y, x, pi, MPFR_RNDN);
  mpfr_clear(pi);
  return r;
}
int Radians(mpfr_ptr y, mpfr_srcptr x) { return TimesPi(y, x, true); }
int Degrees(mpfr_ptr y, mpfr_srcptr x) { return TimesPi(y, x, false); }
// As IEEE 754 has it: infinite with the sign of x at zero.
int Rsqrt(mpfr_ptr y, mpfr_srcptr x) {
  return mpfr_zero_p(x) ? mpfr_ui_div(y, 1, x, MPFR_RNDN) : mpfr_rec_sqrt(y, x, MPFR_RNDN);
}
int Sign(mpfr_ptr y, mpfr_srcptr x) {
  return mpfr_nan_p(x) || mpfr_zero_p(x) ? mpfr_set(y, x, MPFR_RNDN) : mpfr_set_si(y, mpfr_sgn(x), MPFR_RNDN);
}
int Saturate(mpfr_ptr y, mpfr_srcptr x) {
  if (mpfr_nan_p(x)) return mpfr_set(y, x, MPFR_RNDN);
  if (mpfr_sgn(x) < 0) return mpfr_set_ui(y, 0, MPFR_RNDN);
  if (mpfr_zero_p(x)) return mpfr_set(y, x, MPFR_RNDN);
  return mpfr_set_d(y, std::min(1.0, mpfr_get_d(x, MPFR_RNDN)), MPFR_RNDN);
}

const std::vector<double> halves = {0.5, 1.5, 2.5, 3.5, 8388607.5, 8388608, 4503599627370495.5, 4503599627370496.0};

const Unary unary[] = {
    {NAMED(sin), -100, 100, {}},
    {NAMED(cos), -100, 100, {}},
    {NAMED(tan), -100, 100, {}},
    {NAMED(asin), -1.01, 1.01, {0.5, 1}},
    {NAMED(acos), -1.01, 1.01, {0.5, 1}},
    {NAMED(atan), -8, 8, {1}},
    {"radians", Radians, -360, 360, {180}},
    {"degrees", Degrees, -7, 7, {}},
    {NAMED(exp), -750, 720, {88.72283, -103.97, -87.33, 709.782712893384, -745.13, -708.396}},
    {NAMED(exp2), -1080, 1030, {128, -126, -149, -150, 1024, -1022, -1074, -1075}},
    {NAMED(exp10), -326, 310, {38.53184, -37.93, -45.15, 308.2547155599167, -307.65, -323.6}},
    {NAMED(expm1), -60, 720, {88.72283, 709.782712893384, -17.3, -37.4, 0.34657, 0.6931}},
    {NAMED(log), 0, 4, {1, 0.7071067811865476, 1.4142135623730951}},
    {NAMED(log2), 0, 4, {1, 2, 0.7071067811865476, 1.4142135623730951}},
    {NAMED(log10), 0, 4, {1, 10, 0.7071067811865476, 1.4142135623730951}},
    {NAMED(log1p), -1, 4, {-1, 0.4142135623730951, -0.2928932188134524}},
    {NAMED(sqrt), 0, 4, {1}},
    {"rsqrt", Rsqrt, 0, 4, {1}},
    {NAMED(cbrt), -8, 8, {1, 8, 27}},
    {NAMED(sinh), -720, 720, {0.34657, 89.41598, 710.4758600739439}},
    {NAMED(cosh), -720, 720, {0.34657, 89.41598, 710.4758600739439}},
    {NAMED(tanh), -25, 25, {0.8, 9.01, 19.06}},
    {NAMED(asinh), -10, 10, {0.0002, 1e-8, 268435456}},
    {NAMED(acosh), 1, 10, {1, 268435456}},
    {NAMED(atanh), -1, 1, {1, 0.0002, 1e-8, 0.3333333333333333}},
    {NAMED(erf), -6.5, 6.5, {1, 4, 5.86}},
    {NAMED(erfc), -6.5, 28, {1, 10.05, 26.54, 27.23}},
    {"erfinv", Erfinv, -1, 1, {0.75, 1}},
    {"erfcinv", Erfcinv, 0, 2, {0.25, 1, 1.75, 2, 1.3887943864964021e-11}},
    {"lgamma",
     Lgamma,
     -50,
     50,
     {1,
      2,
      0.5,
      1.25,
      1.5,
      2.5,
      3,
      4,
      5,
      6,
      7,
      8,
      9,
      10,
      11,
      12,
      13,
      14,
      15,
      16,
      17,
      18,
      2.4570247382208006,
      2.747682646727413}},
    {"tgamma", MPFR(gamma), -190, 175, {1, 2, 0.5, 1.5, 2.5, 8, 35.04, 171.624376956302}},
    {"floor", [](mpfr_ptr y, mpfr_srcptr x) { return mpfr_floor(y, x); }, -10, 10, halves},
    {"ceil", [](mpfr_ptr y, mpfr_srcptr x) { return mpfr_ceil(y, x); }, -10, 10, halves},
    {"trunc", [](mpfr_ptr y, mpfr_srcptr x) { return mpfr_trunc(y, x); }, -10, 10, halves},
    {"round", [](mpfr_ptr y, mpfr_srcptr x) { return mpfr_round(y, x); }, -10, 10, halves},
    {"rint", [](mpfr_ptr y, mpfr_srcptr x) { return mpfr_roundeven(y, x); }, -10, 10, halves},
    {"frac", Frac, -10, 10, {1, 0.5}},
    {"abs", MPFR(abs), -2, 2, {}},
    {"sign", Sign, -2, 2, {}},
    {"saturate", Saturate, -2, 2, {1}},
};

struct Binary {
  const char *name;
  int (*exact)(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y);
};
#define MPFR2(f) [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) { return mpfr_##f(z, x, y, MPFR_RNDN); }

const Binary binary[] = {{"atan2", MPFR2(atan2)}, {"pow", MPFR2(pow)}, {"hypot", MPFR2(hypot)}, {"fmod", MPFR2(fmod)}};

// --- inputs ---

using Random = std::mt19937_64;

template <typename T> T AnyBits(Random &rng) { return FromBits<T>(static_cast<typename HdScalarOf<T>::Bits>(rng())); }
double Uniform(Random &rng, double low, double high) {
  return low + (high - low) * (static_cast<double>(rng() >> 11) * 0x1p-53);
}

template <typename T> const std::vector<T> &Specials() {
  using L = std::numeric_limits<T>;
  static const std::vector<T> v = [] {
    std::vector<T> r;
    for (T x : {T(0),
                L::denorm_min(),
                3 * L::denorm_min(),
                L::min() / 2,
                L::min(),
                L::min() * 2,
                L::epsilon(),
                T(0.25),
                T(0.5),
                1 - L::epsilon() / 2,
                T(1),
                1 + L::epsilon(),
                T(1.5),
                T(2),
                T(2.5),
                T(3),
                T(4),
                T(7),
                T(10),
                1 / L::epsilon() - 1,
                1 / L::epsilon(),
                2 / L::epsilon(),
                4 / L::epsilon(),
                L::max() / 2,
                L::max(),
                L::infinity(),
                L::quiet_NaN()}) {
      r.push_back(x);
      r.push_back(-x);
    }
    return r;
  }();
  return v;
}

template <typename T> void PushAround(std::vector<T> &v, T x, int reach) {
  T up = x, down = x;
  v.push_back(x);
  for (int i = 0; i < reach; i++) {
    v.push_back(up = std::nextafter(up, std::numeric_limits<T>::infinity()));
    v.push_back(down = std::nextafter(down, -std::numeric_limits<T>::infinity()));
  }
}

// Multiples of pi/4: few, huge, and between.
template <typename T> void PushQuarterTurns(std::vector<T> &v, Random &rng, int n) {
  mpfr_t x, k;
  mpfr_init2(x, 1300);
  mpfr_init2(k, 64);
  for (int i = 0; i < n; i++) {
    uint64_t m = i < 64 ? static_cast<uint64_t>(i) : rng() >> (rng() % 64);
    int up =
        i % 4 == 3 ? static_cast<int>(rng() % static_cast<uint64_t>(std::numeric_limits<T>::max_exponent - 65)) : 0;
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_set_ui(k, m, MPFR_RNDN);
    mpfr_mul(x, x, k, MPFR_RNDN);
    mpfr_mul_2si(x, x, up - 2, MPFR_RNDN);
    T t = sizeof(T) == 4 ? static_cast<T>(mpfr_get_flt(x, MPFR_RNDN)) : static_cast<T>(mpfr_get_d(x, MPFR_RNDN));
    PushAround(v, i % 2 ? t : -t, 1);
  }
  mpfr_clear(x);
  mpfr_clear(k);
}

template <typename T> std::vector<T> InputsOf(const Unary &f, size_t scale) {
  using L = std::numeric_limits<T>;
  using Bits = typename HdScalarOf<T>::Bits;
  Random rng(2024);
  std::vector<T> v = Specials<T>();
  for (double x : f.near) {
    PushAround(v, static_cast<T>(x), static_cast<int>(20 * scale));
    PushAround(v, static_cast<T>(-x), static_cast<int>(20 * scale));
  }
  // every exponent: the least, the largest and a random mantissa
  constexpr Bits one = static_cast<Bits>(1) << (L::digits - 1);
  for (Bits e = 0; e < static_cast<Bits>(2 * L::max_exponent - 1); e++) {
    for (size_t i = 0; i < scale; i++) {
      for (Bits m : {static_cast<Bits>(0), static_cast<Bits>(one - 1), static_cast<Bits>(rng() % one)}) {
        T x = FromBits<T>(e * one + m);
        v.push_back(rng() % 2 ? x : -x);
        if (i + 1 < scale && m + 1 == one) break;
      }
    }
  }
  double high = std::max(std::abs(f.low), std::abs(f.high));
  for (size_t i = 0; i < 4000 * scale; i++) {
    v.push_back(static_cast<T>(Uniform(rng, f.low, f.high)));
    double x = std::exp2(Uniform(rng, -30, std::log2(high)));
    v.push_back(static_cast<T>(rng() % 2 || f.low >= 0 ? x : -x));
    if (f.low == 1) v.push_back(static_cast<T>(1 + x));
    if (f.high == 1) v.push_back(static_cast<T>(rng() % 2 ? 1 - x : -1 + x));
  }
  if (f.low == -100) PushQuarterTurns(v, rng, static_cast<int>(1000 * scale));
  // the f64 nearest to a multiple of pi/2, and the one of f32
  PushAround(v, static_cast<T>(0x1.6ac5b262ca1ffp+849), 1);
  PushAround(v, static_cast<T>(16367173.0 * 0x1p72), 1);
  return v;
}

// Pairs that say something about the function, and any two.
template <typename T> void PairsOf(const std::string &name, size_t scale, std::vector<T> &x, std::vector<T> &y) {
  using L = std::numeric_limits<T>;
  Random rng(7);
  auto push = [&](T a, T b) {
    x.push_back(a);
    y.push_back(b);
  };
  auto random_sign = [&](double a) { return rng() % 2 ? a : -a; };
  for (T a : Specials<T>())
    for (T b : Specials<T>()) push(a, b);
  for (size_t i = 0; i < 4000 * scale; i++) {
    push(AnyBits<T>(rng), AnyBits<T>(rng));
    // near in size
    double a = std::exp2(Uniform(rng, L::min_exponent - L::digits, L::max_exponent));
    double b = a * std::exp2(Uniform(rng, -30, 30));
    push(static_cast<T>(random_sign(a)), static_cast<T>(random_sign(b)));
    push(static_cast<T>(Uniform(rng, -10, 10)), static_cast<T>(Uniform(rng, -10, 10)));
    if (name == "pow") {
      // a result from below the smallest number to beyond the largest; and a base near 1
      double l = Uniform(rng, L::min_exponent - L::digits - 2, L::max_exponent + 1);
      push(static_cast<T>(a), static_cast<T>(l / std::log2(a)));
      double c = 1 + random_sign(std::exp2(Uniform(rng, -L::digits, -1)));
      push(static_cast<T>(c), static_cast<T>(l / std::log2(static_cast<T>(c))));
      push(static_cast<T>(random_sign(Uniform(rng, 0, 20))), static_cast<T>(static_cast<int>(rng() % 41) - 20));
      double limit = rng() % 2 ? L::max_exponent : rng() % 2 ? L::min_exponent - 1 : L::min_exponent - L::digits - 1;
      push(static_cast<T>(a), static_cast<T>(limit / std::log2(static_cast<T>(a))));
    }
    if (name == "fmod") {
      // many multiples, and a multiple itself
      T q = static_cast<T>(std::floor(std::exp2(Uniform(rng, 0, L::digits + 4))));
      T d = static_cast<T>(Uniform(rng, 0.5, 1));
      push(q * d, d);
      push(std::nextafter(q * d, T(0)), d);
      push(q * static_cast<T>(rng() % 1024), static_cast<T>(rng() % 4096 + 1));
    }
  }
}

// --- running and judging ---

template <typename T> std::string Source(const std::string &name, int arguments) {
  std::string t = HdScalarOf<T>::name, head = "kernel run(", call;
  for (int i = 0; i < arguments; i++) {
    std::string a(1, static_cast<char>('a' + i));
    head += t + " " + a + "[], ";
    call += (i ? ", " : "") + a + "[i]";
  }
  return head + t + " out[]) { let i = tid(); out[i] = " + name + "(" + call + "); }\n";
}

// As UlpsOff with the f64 function in place of the true value; a little less than that is no reason to ask MPFR.
std::string Screen(const std::string &name) {
  return R"(
fn ulps(f64 want, f32 got) -> f32 {
  let w = min(abs(want), 3.402823669209385e+38);
  let g = min(f64(abs(got)), 3.402823669209385e+38);
  let e = max(-126, min(127, i32(bitcast<i64>(w) >> 52i64) - 1023));
  let off = abs(w - g) * bitcast<f64>(i64(23 - e + 1023) << 52i64) - 1e-6;
  let same = copysign(1.0f64, want) == f64(copysign(1.0f32, got));
  return want != want || got != got ? (want != want && got != got ? 0.0f32 : inf<f32>()) : (same ? f32(off) : inf<f32>());
}
kernel run(u32 x[], f32 y[], f32 off[]) {
  let i = tid();
  let a = bitcast<f32>(x[i]);
  y[i] = )" +
         name + "(a);\n  off[i] = ulps(" + name + "(f64(a)), y[i]);\n}\n";
}

template <typename T> struct Worst {
  double ulps = 0;
  T x = 0, y = 0, got = 0;
  void Take(double u, T a, T b, T g) {
    if (u > ulps) *this = {u, a, b, g};
  }
  void Take(const Worst &w) {
    if (w.ulps > ulps) *this = w;
  }
};

struct Precise {
  Precise() { mpfr_inits2(120, x, y, z, static_cast<mpfr_ptr>(nullptr)); }
  ~Precise() { mpfr_clears(x, y, z, static_cast<mpfr_ptr>(nullptr)); }
  Precise(const Precise &) = delete;
  Precise &operator=(const Precise &) = delete;
  mpfr_t x, y, z;
};

// body(from, to, worst) over [0, n) on all cores.
template <typename T, typename F> Worst<T> OnAllCores(size_t n, F body) {
  size_t k = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst<T>> worst(k);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < k; i++)
    threads.emplace_back([&, i] {
      body(n * i / k, n * (i + 1) / k, worst[i]);
      mpfr_free_cache();
    });
  Worst<T> all;
  for (size_t i = 0; i < k; i++) {
    threads[i].join();
    all.Take(worst[i]);
  }
  return all;
}

// The error that the row is about. Below zero lgamma is a difference, and is judged by the larger part of it.
template <typename T> double Off(const std::string &name, mpfr_ptr want, T x, T got) {
  double ulps = UlpsOff(want, got);
  if (name == "lgamma" && x < 0 && std::isfinite(got)) {
    double size = std::max({1.0, std::abs(static_cast<double>(got)), std::lgamma(static_cast<double>(-x))});
    mpfr_sub_d(want, want, static_cast<double>(got), MPFR_RNDN);
    ulps = std::abs(mpfr_get_d(want, MPFR_RNDA)) / std::ldexp(std::numeric_limits<T>::epsilon(), std::ilogb(size));
  }
  return ulps;
}

template <typename T> void Expect(const Row *row, const Worst<T> &w, bool two) {
  if (exhaustive)
    printf("  %-10s %s  %.4f  at %.17g", row->name, HdScalarOf<T>::name, w.ulps, static_cast<double>(w.x));
  if (exhaustive && two) printf(", %.17g", static_cast<double>(w.y));
  if (exhaustive) printf("\n"), fflush(stdout);
  EXPECT_LE(w.ulps, row->ulps<T>()) << row->name << "(" << HdScalarOf<T>::name << " " << testing::PrintToString(w.x)
                                    << (two ? ", " + testing::PrintToString(w.y) : "") << ") gave "
                                    << testing::PrintToString(w.got);
}

class UnaryFunctions : public testing::TestWithParam<Unary> {
protected:
  template <typename T> Worst<T> AgainstMpfr(Program &p) {
    const Unary &f = GetParam();
    std::vector<T> x = InputsOf<T>(f, exhaustive ? 100 : 1), y(x.size());
    p.Run(static_cast<int64_t>(x.size()), x, y);
    return OnAllCores<T>(x.size(), [&](size_t from, size_t to, Worst<T> &worst) {
      Precise v;
      for (size_t i = from; i < to; i++) Judge(v, x[i], y[i], worst);
    });
  }

  // All f32 numbers, or every 4099th.
  Worst<float> AlongAStride(Machine &m) {
    const Unary &f = GetParam();
    const uint64_t stride = exhaustive ? 1 : 4099, block = 1u << 20;
    Program p(m, Screen(f.name), m.cpu);
    Worst<float> all;
    std::vector<float> y(block), off(block);
    std::vector<uint32_t> at(block);
    for (uint64_t base = 0; base < 1ull << 32; base += block * stride) {
      for (size_t i = 0; i < block; i++) at[i] = static_cast<uint32_t>(base + i * stride);
      p.Run(block, at, y, off);
      if (*std::max_element(off.begin(), off.end()) <= all.ulps) continue;
      all.Take(OnAllCores<float>(block, [&](size_t from, size_t to, Worst<float> &worst) {
        Precise v;
        worst.ulps = all.ulps;
        for (size_t i = from; i < to; i++)
          if (static_cast<double>(off[i]) > worst.ulps) Judge(v, FromBits<float>(at[i]), y[i], worst);
      }));
    }
    return all;
  }

  template <typename T> static void Judge(Precise &v, T x, T y, Worst<T> &worst) {
    mpfr_set_d(v.x, static_cast<double>(x), MPFR_RNDN);
    GetParam().exact(v.y, v.x);
    worst.Take(Off(GetParam().name, v.y, x, y), x, T(0), y);
  }
};

INSTANTIATE_TEST_SUITE_P(Library, UnaryFunctions, testing::ValuesIn(unary),
                         [](const auto &i) { return std::string(i.param.name); });

TEST_P(UnaryFunctions, AreAsAccurateAsTheirRowsSayInF32) {
  const Row *row = Find(GetParam().name);
  ASSERT_TRUE(row);
  Machine m;
  Program p(m, Source<float>(row->name, 1), m.cpu);
  Expect(row, AgainstMpfr<float>(p), false);
  Expect(row, AlongAStride(m), false);
}

TEST_P(UnaryFunctions, AreAsAccurateAsTheirRowsSayInF64) {
  const Row *row = Find(GetParam().name);
  ASSERT_TRUE(row);
  Machine m;
  Program p(m, Source<double>(row->name, 1), m.cpu);
  Expect(row, AgainstMpfr<double>(p), false);
}

class BinaryFunctions : public testing::TestWithParam<Binary> {
protected:
  template <typename T> void Check() {
    const Binary &f = GetParam();
    const Row *row = Find(f.name);
    ASSERT_TRUE(row);
    Machine m;
    Program p(m, Source<T>(f.name, 2), m.cpu);
    std::vector<T> x, y;
    PairsOf<T>(f.name, exhaustive ? 200 : 1, x, y);
    std::vector<T> z(x.size());
    p.Run(static_cast<int64_t>(x.size()), x, y, z);
    Expect(row,
           OnAllCores<T>(x.size(),
                         [&](size_t from, size_t to, Worst<T> &worst) {
                           Precise v;
                           for (size_t i = from; i < to; i++) {
                             mpfr_set_d(v.x, static_cast<double>(x[i]), MPFR_RNDN);
                             mpfr_set_d(v.y, static_cast<double>(y[i]), MPFR_RNDN);
                             f.exact(v.z, v.x, v.y);
                             worst.Take(UlpsOff(v.z, z[i]), x[i], y[i], z[i]);
                           }
                         }),
           true);
  }
};

INSTANTIATE_TEST_SUITE_P(Library, BinaryFunctions, testing::ValuesIn(binary),
                         [](const auto &i) { return std::string(i.param.name); });

TEST_P(BinaryFunctions, AreAsAccurateAsTheirRowsSayInF32) { Check<float>(); }
TEST_P(BinaryFunctions, AreAsAccurateAsTheirRowsSayInF64) { Check<double>(); }

// --- functions that are formulas: each step rounded once ---

template <typename T> T Clamp(T x, T low, T high) {
  T m = high < x ? high : x;
  return low > m ? low : m;
}

template <typename T> struct Formula {
  const char *name;
  int arguments;
  T (*value)(T, T, T);
};

template <typename T> std::vector<Formula<T>> Formulas() {
  return {
      {"copysign", 2, [](T a, T b, T) { return std::copysign(a, b); }},
      {"min", 2, [](T a, T b, T) { return a < b ? a : b; }},
      {"max", 2, [](T a, T b, T) { return a > b ? a : b; }},
      {"fma", 3, [](T a, T b, T c) { return std::fma(a, b, c); }},
      {"clamp", 3, [](T a, T b, T c) { return b <= c ? Clamp(a, b, c) : T(0); }},
      {"step", 2, [](T a, T b, T) { return b < a ? T(0) : T(1); }},
      {"lerp", 3, [](T a, T b, T c) { return std::fma(b - a, c, a); }},
      {"mix", 3, [](T a, T b, T c) { return std::fma(b - a, c, a); }},
      {"isnan", 1, [](T a, T, T) { return T(std::isnan(a)); }},
      {"isinf", 1, [](T a, T, T) { return T(std::isinf(a)); }},
      {"isfinite", 1, [](T a, T, T) { return T(std::isfinite(a)); }},
  };
}

template <typename T> void ExpectFormulas() {
  Machine m;
  for (const Formula<T> &f : Formulas<T>()) {
    std::string call = std::string(f.name) + (f.arguments == 1 ? "(a)" : f.arguments == 2 ? "(a, b)" : "(a, b, c)");
    if (call == "clamp(a, b, c)") call = "b <= c ? clamp(a, b, c) : 0";
    if (call[0] == 'i') call += " ? 1 : 0";
    std::string t = HdScalarOf<T>::name;
    Program p(m,
              "kernel run(" + t + " x[], " + t + " y[], " + t + " z[], " + t + " out[]) { let i = tid(); let " + t +
                  " a = x[i]; let " + t + " b = y[i]; let " + t + " c = z[i]; out[i] = " + call + "; }\n",
              m.cpu);
    std::vector<T> a, b, c;
    Random rng(5);
    for (T x : Specials<T>())
      for (T y : Specials<T>()) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(Specials<T>()[rng() % Specials<T>().size()]);
      }
    for (int i = 0; i < 20000; i++) {
      bool any = i % 2;
      a.push_back(any ? AnyBits<T>(rng) : static_cast<T>(Uniform(rng, -4, 4)));
      b.push_back(any ? AnyBits<T>(rng) : static_cast<T>(Uniform(rng, -4, 4)));
      c.push_back(any ? AnyBits<T>(rng) : static_cast<T>(Uniform(rng, -4, 4)));
    }
    std::vector<T> out(a.size());
    p.Run(static_cast<int64_t>(a.size()), a, b, c, out);
    for (size_t i = 0; i < a.size(); i++)
      ASSERT_TRUE(Same(out[i], f.value(a[i], b[i], c[i])))
          << call << ": " << a[i] << ", " << b[i] << ", " << c[i] << " gave " << out[i];
  }
}

TEST(Formulas, AreExactlyWhatTheirRowsSayInF32) { ExpectFormulas<float>(); }
TEST(Formulas, AreExactlyWhatTheirRowsSayInF64) { ExpectFormulas<double>(); }

template <typename T> void ExpectSmoothstep() {
  Machine m;
  Program p(m, Source<T>("smoothstep", 3), m.cpu);
  std::vector<T> a, b, x;
  Random rng(6);
  for (int i = 0; i < 20000; i++) {
    double low = Uniform(rng, -8, 8) * std::exp2(Uniform(rng, -20, 20)), width = std::exp2(Uniform(rng, -20, 20));
    a.push_back(static_cast<T>(low));
    b.push_back(std::nextafter(static_cast<T>(low + width), std::numeric_limits<T>::infinity()));
    x.push_back(static_cast<T>(low + width * (i % 3 ? Uniform(rng, -0.1, 1.1) : 1 - std::exp2(Uniform(rng, -40, 0)))));
  }
  std::vector<T> y(a.size());
  p.Run(static_cast<int64_t>(a.size()), a, b, x, y);
  Worst<T> worst;
  Precise v;
  for (size_t i = 0; i < a.size(); i++) {
    mpfr_set_d(v.x, static_cast<double>(x[i]), MPFR_RNDN);
    mpfr_sub_d(v.x, v.x, static_cast<double>(a[i]), MPFR_RNDN);
    mpfr_set_d(v.y, static_cast<double>(b[i]), MPFR_RNDN);
    mpfr_sub_d(v.y, v.y, static_cast<double>(a[i]), MPFR_RNDN);
    mpfr_div(v.x, v.x, v.y, MPFR_RNDN);
    if (mpfr_sgn(v.x) < 0) mpfr_set_ui(v.x, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(v.x, 1) > 0) mpfr_set_ui(v.x, 1, MPFR_RNDN);
    mpfr_mul_si(v.y, v.x, -2, MPFR_RNDN);
    mpfr_add_ui(v.y, v.y, 3, MPFR_RNDN);
    mpfr_sqr(v.x, v.x, MPFR_RNDN);
    mpfr_mul(v.y, v.y, v.x, MPFR_RNDN);
    worst.Take(UlpsOff(v.y, y[i]), x[i], a[i], y[i]);
  }
  Expect(Find("smoothstep"), worst, true);
}

TEST(Smoothstep, IsAsAccurateAsItsRowSaysInF32) { ExpectSmoothstep<float>(); }
TEST(Smoothstep, IsAsAccurateAsItsRowSaysInF64) { ExpectSmoothstep<double>(); }

template <typename T> void ExpectSincos() {
  Machine m;
  std::string t = HdScalarOf<T>::name;
  Program p(m,
            "kernel run(" + t + " x[], " + t + " s[], " + t + " c[], " + t + " s1[], " + t +
                " c1[]) { let i = tid(); var " + t + " s0 = 0; var " + t +
                " c0 = 0; sincos(x[i], s0, c0); s[i] = s0; c[i] = c0; s1[i] = sin(x[i]); c1[i] = cos(x[i]); }\n",
            m.cpu);
  std::vector<T> x = InputsOf<T>(unary[0], 1), s(x.size()), c(x.size()), s1(x.size()), c1(x.size());
  p.Run(static_cast<int64_t>(x.size()), x, s, c, s1, c1);
  for (size_t i = 0; i < x.size(); i++) ASSERT_TRUE(Same(s[i], s1[i]) && Same(c[i], c1[i])) << x[i];
}

TEST(Sincos, HasTheBitsOfSinAndCosInF32) { ExpectSincos<float>(); }
TEST(Sincos, HasTheBitsOfSinAndCosInF64) { ExpectSincos<double>(); }

// --- the table ---

TEST(Builtins, AreAllTestedHere) {
  std::vector<std::string> tested = {"sincos", "smoothstep"};
  for (const Unary &f : unary) tested.push_back(f.name);
  for (const Binary &f : binary) tested.push_back(f.name);
  for (const Formula<float> &f : Formulas<float>()) tested.push_back(f.name);
  for (const Row &r : rows) EXPECT_EQ(std::count(tested.begin(), tested.end(), r.name), 1) << r.name;
  EXPECT_EQ(tested.size(), std::size(rows));
}

TEST(Builtins, AreTheFunctionsOfTheLibraryAndTheFloatOps) {
  std::vector<std::string> ops;
#define IR_OP(name, operands, result, effect, imm, laws, meaning) ops.push_back(#name);
#include "ir/ops.def"
  for (const Row &r : rows) {
    const char *module = hdapi_library_index(nullptr, r.name);
    bool op = std::count(ops.begin(), ops.end(), r.name) != 0;
    EXPECT_TRUE(op || (module && strncmp(module, "math/", 5) == 0)) << r.name << " is no function";
  }
  for (uint32_t i = 0; i < hd_lib_index_count; i++) {
    const char *module = hd_lib_index[i].module; // these are exact, or formulas
    if (strstr(" math/integer math/interp math/packing math/search", module)) continue;
    if (strstr(module, "math/")) {
      EXPECT_TRUE(Find(hd_lib_index[i].name)) << hd_lib_index[i].name << " of " << module << " has no row";
    }
  }
}

} // namespace
