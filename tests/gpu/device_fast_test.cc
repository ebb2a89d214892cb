// tests/gpu/device_fast_test.cc -- fast code on the simulated driver, whose adversary moves approximations to their bounds.
#include <cmath>

#include "tests/gpu/device_fixture.h"

namespace {

// Every function at once, one array each.
const char kFast[] = "@fast kernel all(f32 x[], f32 y[,]) {\n"
                     "  let i = tid();\n"
                     "  let v = x[i];\n"
                     "  var f32 s = 0; var f32 c = 0;\n"
                     "  sincos(v, s, c);\n"
                     "  y[0, i] = exp(v);   y[1, i] = exp2(v);  y[2, i] = exp10(v);\n"
                     "  y[3, i] = log(v);   y[4, i] = log2(v);  y[5, i] = log10(v);\n"
                     "  y[6, i] = sin(v);   y[7, i] = cos(v);   y[8, i] = tan(v);\n"
                     "  y[9, i] = tanh(v);  y[10, i] = rsqrt(v); y[11, i] = sqrt(v);\n"
                     "  y[12, i] = 1 / v;   y[13, i] = 3 / v;   y[14, i] = pow(v, 2.5);\n"
                     "  y[15, i] = s;       y[16, i] = c;       y[17, i] = v / sqrt(v);\n"
                     "}\n"
                     "@fast kernel powers(f32 x[], f32 y[], f32 out[]) { out[tid()] = pow(x[tid()], y[tid()]); }\n"
                     "kernel exact(f32 x[], f32 y[]) { y[tid()] = exp(x[tid()]) + log(x[tid()]) * sin(x[tid()]); }\n";

class GpuFast : public Gpu {
protected:
  void OpenFast(const char *config) {
    Open(config);
    hd_module_free(module);
    ASSERT_EQ(hd_module_load_source(ctx, "fast.hd", kFast, strlen(kFast), nullptr, &module), HD_OK) << Why();
  }
  HdArray Floats(HdDevice d, std::vector<int64_t> n) { return New(d, n, HD_F32); }
  HdArray Upload(const std::vector<float> &x) {
    HdArray host = Floats(cpu, {static_cast<int64_t>(x.size())}), there = Floats(gpu, {static_cast<int64_t>(x.size())});
    memcpy(host.data, x.data(), x.size() * sizeof(float));
    EXPECT_EQ(hd_array_copy(stream, host, there), HD_OK) << Why();
    return there;
  }
  std::vector<float> Download(const HdArray &a) {
    HdArray host = Floats(cpu, std::vector<int64_t>(a.length, a.length + a.ndim));
    EXPECT_EQ(hd_array_copy(stream, a, host), HD_OK) << Why();
    EXPECT_EQ(hd_stream_wait(stream), HD_OK) << Why();
    const float *p = static_cast<const float *>(host.data);
    return std::vector<float>(p, p + hd_array_count(host));
  }
};

struct Function {
  const char *name;
  double (*exact)(double);
  double (*allowed)(double x, double y); // the table in docs/gpu.md
};

double Relative(double y, double r) { return std::fabs(y) * r; }

const Function kFunctions[] = {
    {"exp", exp, [](double x, double y) { return Relative(y, 0x1p-22 + 0x1p-24 * std::fabs(1.5 * x) + 0x1p-24); }},
    {"exp2", exp2, [](double, double y) { return Relative(y, 0x1p-22 + 0x1p-24); }},
    {"exp10", [](double x) { return std::pow(10, x); },
     [](double x, double y) { return Relative(y, 0x1p-22 + 0x1p-24 * std::fabs(3.4 * x) * 2 + 0x1p-24); }},
    {"log", log, [](double, double y) { return std::fmax(0x1p-22, Relative(y, 0x1p-21)); }},
    {"log2", log2, [](double, double y) { return std::fmax(0x1p-22, Relative(y, 0x1p-22)); }},
    {"log10", log10, [](double, double y) { return std::fmax(0x1p-22, Relative(y, 0x1p-21)); }},
    {"sin", sin, [](double, double) { return 0x1p-20; }},
    {"cos", cos, [](double, double) { return 0x1p-20; }},
    {"tan", tan,
     [](double x, double y) { return (1 + std::fabs(y)) * 0x1p-20 / std::fabs(std::cos(x)) + Relative(y, 0x1p-22); }},
    {"tanh", tanh, [](double, double y) { return Relative(y, 0x1p-11); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, [](double, double y) { return Relative(y, 0x1p-22); }},
    {"sqrt", sqrt, [](double, double y) { return Relative(y, 0x1p-22); }},
    {"1 / x", [](double x) { return 1 / x; }, [](double, double y) { return Relative(y, 0x1p-22); }},
    {"3 / x", [](double x) { return 3 / x; }, [](double, double y) { return Relative(y, 0x1p-21); }},
    {"pow", [](double x) { return std::pow(x, 2.5); },
     [](double x, double y) { return Relative(y, 0x1p-21 + 2.5 * std::fmax(1, std::fabs(std::log2(x))) * 0x1p-22); }},
    {"sincos", sin, [](double, double) { return 0x1p-20; }},
    {"sincos", cos, [](double, double) { return 0x1p-20; }},
    {"x / sqrt(x)", sqrt, [](double, double y) { return Relative(y, 0x1p-21); }},
};

TEST_F(GpuFast, KeepsToTheErrorsThatThePageStates) {
  for (const char *config : {"sm=90,adversary=1", "sm=75,adversary=1,seed=7", "sm=70,adversary=1,seed=3"}) {
    OpenFast(config);
    std::vector<float> x;
    for (int i = 0; i < 480; i++) x.push_back(0.0125f * static_cast<float>(i + 1));
    const int64_t n = static_cast<int64_t>(x.size());
    HdArray in = Upload(x), out = Floats(gpu, {static_cast<int64_t>(std::size(kFunctions)), n});
    ASSERT_EQ(Launch("all", {n}, {hd_arg_array(&in), hd_arg_array(&out)}), HD_OK) << Why();
    std::vector<float> y = Download(out);
    for (size_t f = 0; f < std::size(kFunctions); f++) {
      double worst = 0;
      for (size_t i = 0; i < x.size(); i++) {
        double v = static_cast<double>(x[i]), want = kFunctions[f].exact(v),
               got = static_cast<double>(y[f * x.size() + i]);
        worst = std::fmax(worst, std::fabs(got - want) / kFunctions[f].allowed(v, want));
      }
      EXPECT_LE(worst, 1) << kFunctions[f].name << " on " << config;
    }
    Close();
  }
}

TEST_F(GpuFast, GivesPowersOfNegativeNumbersTheirSign) {
  OpenFast("sm=90");
  HdArray x = Upload({-2, -2, -2, 0, 0, 3, -1}), y = Upload({3, 2, 0.5f, 0, 2, 0, -3}), out = Floats(gpu, {7});
  ASSERT_EQ(Launch("powers", {7}, {hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&out)}), HD_OK) << Why();
  std::vector<float> got = Download(out);
  EXPECT_NEAR(got[0], -8, 1e-5);
  EXPECT_NEAR(got[1], 4, 1e-5);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 1);
  EXPECT_EQ(got[4], 0);
  EXPECT_EQ(got[5], 1);
  EXPECT_NEAR(got[6], -1, 1e-5);
}

TEST_F(GpuFast, LeavesOtherKernelsOfTheFileExact) {
  OpenFast("sm=90,adversary=1");
  std::vector<float> x;
  for (int i = 0; i < 64; i++) x.push_back(0.1f * static_cast<float>(i + 1));
  HdArray in = Upload(x), out = Floats(gpu, {64}), host_in = Floats(cpu, {64}), host_out = Floats(cpu, {64});
  ASSERT_EQ(Launch("exact", {64}, {hd_arg_array(&in), hd_arg_array(&out)}), HD_OK) << Why();
  HdKernel *k;
  HdStream *s;
  int64_t n = 64;
  memcpy(host_in.data, x.data(), 64 * sizeof(float));
  HdArg args[] = {hd_arg_array(&host_in), hd_arg_array(&host_out)};
  ASSERT_EQ(hd_module_kernel(module, "exact", cpu, &k), HD_OK) << Why();
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &s), HD_OK) << Why();
  ASSERT_EQ(hd_launch(k, s, 1, &n, 2, args), HD_OK) << Why();
  const float *want = static_cast<const float *>(host_out.data);
  EXPECT_EQ(Download(out), std::vector<float>(want, want + 64));
  hd_stream_free(s);
}

} // namespace
