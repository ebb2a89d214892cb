// tests/gpu/device_mma_test.cc -- products of tiles on the simulated driver: by chains of fma, and in fast code by matrix
// units, whose order of adding the driver's adversary moves about.
#include <cmath>
#include <random>

#include "tests/gpu/device_fixture.h"

namespace {

struct Product {
  const char *type; // of a and b
  int m, n, k, group;
};

// Whole blocks, blocks that reach over every edge, fewer threads than blocks and more, and tiles too small for a unit.
const Product kProducts[] = {
    {"f16", 64, 64, 32, 128}, {"f16", 16, 8, 16, 32},   {"f16", 37, 29, 23, 64}, {"f16", 5, 70, 7, 96},
    {"f16", 3, 40, 16, 32},   {"bf16", 32, 32, 48, 64}, {"bf16", 17, 9, 33, 32}, {"f64", 32, 32, 16, 128},
    {"f64", 19, 27, 13, 64},  {"f64", 4, 4, 3, 32},     {"f64", 50, 11, 1, 256}, {"bf16", 33, 40, 64, 64},
    {"f64", 9, 20, 8, 32},
};

// Numbers of the type, as they are stored.
uint64_t Stored(const std::string &type, double x) {
  uint64_t bits = 0;
  if (type == "f64") {
    memcpy(&bits, &x, 8);
  } else if (type == "bf16") {
    float f = static_cast<float>(x);
    uint32_t w;
    memcpy(&w, &f, 4);
    bits = w >> 16;
  } else if (x != 0) {
    int e;
    double m = std::frexp(std::fabs(x), &e);
    bits = (x < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(e + 14) << 10 | (static_cast<uint32_t>(m * 2048) & 1023);
  }
  return bits;
}

class GpuMma : public Gpu {
protected:
  static std::string Source(const Product &p) {
    const std::string t = p.type, sum = t == "f64" ? "f64" : "f32", m = std::to_string(p.m), n = std::to_string(p.n),
                      k = std::to_string(p.k);
    return "@group(" + std::to_string(p.group) + ") kernel product(" + t + " a[,], " + t + " b[,], " + sum +
           " c[,]) {\n  shared " + t + " x[" + m + "][" + k + "];\n  shared " + t + " y[" + k + "][" + n +
           "];\n  shared " + sum + " z[" + m + "][" + n +
           "];\n  tile_load(x, a, 0, 0);\n  tile_load(y, b, 0, 0);\n  tile_load(z, c, 0, 0);\n"
           "  tile_matmul(z, x, y);\n  tile_store(z, c, 0, 0);\n}\n";
  }
  void Load(const Product &p, bool fast) {
    HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
    o.fast = fast;
    hd_module_free(module);
    module = nullptr;
    const std::string text = Source(p);
    ASSERT_EQ(hd_module_load_source(ctx, "product.hd", text.c_str(), text.size(), &o, &module), HD_OK) << Why();
  }
  HdArray Put(const std::string &type, std::vector<int64_t> n, const std::vector<double> &x) {
    HdScalar s = type == "f64" ? HD_F64 : type == "f32" ? HD_F32 : type == "f16" ? HD_F16 : HD_BF16;
    size_t size = s == HD_F64 ? 8 : s == HD_F32 ? 4 : 2;
    HdArray host, there;
    EXPECT_EQ(hd_array_zeros(ctx, cpu, hd_type_scalar(s), 2, n.data(), &host), HD_OK) << Why();
    EXPECT_EQ(hd_array_zeros(ctx, gpu, hd_type_scalar(s), 2, n.data(), &there), HD_OK) << Why();
    for (size_t i = 0; i < x.size(); i++) {
      uint64_t bits = Stored(type, x[i]);
      float f = static_cast<float>(x[i]);
      memcpy(static_cast<char *>(host.data) + i * size, s == HD_F32 ? static_cast<const void *>(&f) : &bits, size);
    }
    EXPECT_EQ(hd_array_copy(stream, host, there), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    hd_array_free(ctx, &host);
    arrays.push_back(there);
    return there;
  }
  std::vector<double> Take(const HdArray &a, bool real) {
    HdArray host;
    EXPECT_EQ(hd_array_zeros(ctx, cpu, a.type, 2, a.length, &host), HD_OK) << Why();
    EXPECT_EQ(hd_array_copy(stream, a, host), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    std::vector<double> x(static_cast<size_t>(hd_array_count(host)));
    for (size_t i = 0; i < x.size(); i++)
      x[i] = real ? static_cast<const double *>(host.data)[i] : static_cast<const float *>(host.data)[i];
    hd_array_free(ctx, &host);
    return x;
  }

  // What comes out, beside the chain for each element and the sum of all magnitudes.
  struct Outcome {
    std::vector<double> got, chain, size;
  };
  Outcome Multiply(const Product &p, bool fast, bool whole) {
    Load(p, fast);
    const bool real = !strcmp(p.type, "f64");
    std::mt19937 g(static_cast<unsigned>(p.m * 1000 + p.n));
    auto draw = [&](int n) {
      std::vector<double> x(static_cast<size_t>(n));
      for (double &v : x)
        v = whole ? static_cast<int>(g() % 15) - 7
                  : std::ldexp(static_cast<int>(g() % 256) - 128, static_cast<int>(g() % 9) - 11);
      return x;
    };
    std::vector<double> a = draw(p.m * p.k), b = draw(p.k * p.n), c = draw(p.m * p.n);
    HdArray x = Put(p.type, {p.m, p.k}, a), y = Put(p.type, {p.k, p.n}, b),
            z = Put(real ? "f64" : "f32", {p.m, p.n}, c);
    EXPECT_EQ(Launch("product", {p.group}, {hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&z)}), HD_OK) << Why();
    Outcome r = {Take(z, real), c, {}};
    for (int i = 0; i < p.m; i++)
      for (int j = 0; j < p.n; j++) {
        double &sum = r.chain[i * p.n + j], size = std::fabs(sum);
        for (int k = 0; k < p.k; k++) {
          double u = a[i * p.k + k], v = b[k * p.n + j];
          size += std::fabs(u * v);
          sum = real ? std::fma(u, v, sum)
                     : static_cast<double>(
                           std::fma(static_cast<float>(u), static_cast<float>(v), static_cast<float>(sum)));
        }
        r.size.push_back(size);
      }
    return r;
  }
};

std::string NameOf(const Product &p) {
  return std::string(p.type) + " " + std::to_string(p.m) + " x " + std::to_string(p.k) + " x " + std::to_string(p.n);
}

TEST_F(GpuMma, IsTheChainBitForBitUnlessTheCodeIsFast) {
  for (const char *config : {"sm=70,adversary=1", "sm=90,adversary=1"}) {
    Open(config);
    for (const Product &p : kProducts) {
      Outcome r = Multiply(p, false, false);
      EXPECT_EQ(r.got, r.chain) << NameOf(p) << " on " << config;
    }
    Close();
  }
}

TEST_F(GpuMma, OfWholeNumbersIsExactInFastCode) {
  for (const char *config :
       {"sm=70,adversary=1", "sm=75,adversary=1", "sm=80,adversary=1", "sm=120,driver=13000,adversary=1,seed=5"}) {
    Open(config);
    for (const Product &p : kProducts) {
      Outcome r = Multiply(p, true, true);
      EXPECT_EQ(r.got, r.chain) << NameOf(p) << " on " << config;
    }
    Close();
  }
}

// As the docstring says; and units are really used, since an adversary moves something.
TEST_F(GpuMma, StaysWithinTheErrorOfUnitsInFastCode) {
  for (const char *config : {"sm=75,adversary=1,seed=2", "sm=80,adversary=1,seed=3", "sm=90,adversary=1,seed=4"}) {
    Open(config);
    for (const Product &p : kProducts) {
      Outcome r = Multiply(p, true, false);
      const bool real = !strcmp(p.type, "f64");
      size_t moved = 0;
      for (size_t i = 0; i < r.got.size(); i++) {
        ASSERT_LE(std::fabs(r.got[i] - r.chain[i]), (2 * p.k + 4) * r.size[i] * (real ? 0x1p-52 : 0x1p-23))
            << NameOf(p) << " on " << config;
        moved += r.got[i] != r.chain[i];
      }
      const bool by_unit = p.m >= 4 && (!strcmp(p.type, "f16") || strncmp(config, "sm=75", 5));
      if (by_unit && !real && p.k > 16) { EXPECT_GT(moved, 0u) << NameOf(p) << " on " << config; }
      if (!by_unit) { EXPECT_EQ(moved, 0u) << NameOf(p) << " on " << config; }
    }
    Close();
  }
}

// Products in loops and conditions that all threads share, of one another, of parameters, and some whose results go nowhere.
const char kTwisted[] = "fn held<T: float>(i32 x, i32 k) -> T { return T((x * (2 * k + 3) + k) % 7 - 3); }\n"
                        "fn twisted<T: float>(i32 x, i32 rounds, vec<f32, 4> p) -> f32 {\n"
                        "  vec<T, 8> a;\n"
                        "  vec<T, 4> b;\n"
                        "  static for (k in 0..8) a[k] = held<T>(x, k);\n"
                        "  static for (k in 0..4) b[k] = held<T>(x + 1, k);\n"
                        "  var c = p;\n"
                        "  for (n in 0..rounds) {\n"
                        "    c = mma(a, b, c);\n"
                        "    if (n == 1) c = mma(a, vec<T, 4>(b[1], b[0], b[3], b[2]), mma(a, b, p));\n"
                        "    a[n] = a[n + 2];\n"
                        "  }\n"
                        "  let lost = mma(a, b, p);\n"
                        "  let kept = mma(a, b, vec<f32, 4>(c[3], c[2], lost[1], c[0]));\n"
                        "  return x > 3 ? kept[0] - 2 * kept[1] : kept[2] + 3 * kept[3];\n"
                        "}\n"
                        "@group(64) kernel twist(i32 x[], f32 h[], f32 b[], f64 d[], vec<f32, 4> p) {\n"
                        "  let t = tid();\n"
                        "  let v = x[t];\n"
                        "  h[t] = twisted<f16>(v, len(p), p);\n"
                        "  b[t] = twisted<bf16>(v, dim() > 64 ? 2 : 3, p.wzyx);\n"
                        "  let r = mma(held<f64>(v, 1), held<f64>(v, 2), vec<f64, 2>(f64(p.x), 1));\n"
                        "  let s = mma(r[1], r[0], vec<f64, 2>(r[1], r[0]));\n"
                        "  d[t] = s[0] - 3 * s[1];\n"
                        "}\n";

TEST_F(GpuMma, MeansTheSameByUnitsAndByEveryDevice) {
  const int64_t n = 128;
  std::vector<std::vector<double>> first;
  for (const char *config :
       {"sm=70", "sm=75,adversary=1", "sm=80,adversary=1", "sm=90,adversary=1,seed=9", "cpu", "interp"}) {
    const bool on_host = !strncmp(config, "cpu", 3) || !strncmp(config, "interp", 6);
    Open(on_host ? "sm=90" : config);
    HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
    HdDevice device = gpu;
    HdStream *s = stream;
    o.fast = !on_host;
    hd_module_free(module);
    module = nullptr;
    ASSERT_EQ(hd_module_load_source(ctx, "twist.hd", kTwisted, strlen(kTwisted), &o, &module), HD_OK) << Why();
    if (on_host) {
      ASSERT_EQ(hd_device_find(ctx, config, &device), HD_OK);
      ASSERT_EQ(hd_stream_new(ctx, device, HD_STREAM_SYNC, &s), HD_OK) << Why();
    }
    HdArray x = New(cpu, {n}), there[4];
    for (int i = 0; i < n; i++) Of(x)[i] = i * i % 29 - 9;
    const HdScalar types[] = {HD_I32, HD_F32, HD_F32, HD_F64};
    for (int k = 0; k < 4; k++) {
      ASSERT_EQ(hd_array_zeros(ctx, device, hd_type_scalar(types[k]), 1, &n, &there[k]), HD_OK) << Why();
      arrays.push_back(there[k]);
    }
    ASSERT_EQ(hd_array_copy(s, x, there[0]), HD_OK) << Why();
    const float p[] = {1, -2, 3, 5};
    HdArg args[] = {hd_arg_array(&there[0]), hd_arg_array(&there[1]), hd_arg_array(&there[2]), hd_arg_array(&there[3]),
                    hd_arg_value(hd_type_vec(HD_F32, 4), p)};
    HdKernel *k;
    ASSERT_EQ(hd_module_kernel(module, "twist", device, &k), HD_OK) << Why();
    ASSERT_EQ(hd_launch(k, s, 1, &n, 5, args), HD_OK) << Why();
    std::vector<std::vector<double>> got;
    for (int a = 1; a < 4; a++) {
      HdArray host;
      ASSERT_EQ(hd_array_zeros(ctx, cpu, there[a].type, 1, &n, &host), HD_OK);
      ASSERT_EQ(hd_array_copy(s, there[a], host), HD_OK) << Why();
      ASSERT_EQ(hd_stream_wait(s), HD_OK) << Why();
      got.emplace_back();
      for (int i = 0; i < n; i++)
        got.back().push_back(a == 3 ? static_cast<const double *>(host.data)[i]
                                    : static_cast<const float *>(host.data)[i]);
      hd_array_free(ctx, &host);
    }
    if (first.empty()) first = got;
    for (int a = 0; a < 3; a++) EXPECT_EQ(got[a], first[a]) << config << ", array " << a;
    if (on_host) hd_stream_free(s);
    Close();
  }
  EXPECT_NE(first[0][5], 0);
}

} // namespace
