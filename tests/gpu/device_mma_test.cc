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

} // namespace
