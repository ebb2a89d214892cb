// bench/textures.cc -- samples of textures beside the same in plain C.
//
// Times are CPU time of one thread; a ratio is plain C's over ours, above 1 where Heddle is faster.
#include "heddle/texture.h"

#include <cmath>
#include <cstdio>
#include <random>

#include "bench/bench.h"

namespace bench {
namespace {

class Rows {
public:
  Rows(const Options &options, std::vector<Figure> *out)
      : options_(options), engine_(1, false, options.target, options.width), out_(out) {
    engine_.Load(options.folder + "/workloads/textures.hd");
  }

  // 1024 x 1024 numbers, at places in the order of a turned image, or anywhere.
  void Image(const char *name, bool anywhere) {
    constexpr int W = 1024;
    Memory<float> texels(W * W), places(2 * N);
    Fill(&texels, 0, 1);
    Fill(&places, -1, 2);
    for (int i = 0; i < N && !anywhere; i++) {
      float x = float(i % W) / W - 0.5f, y = float(i / W) / W - 0.5f;
      places[2 * i] = 0.9f * x - 0.3f * y;
      places[2 * i + 1] = 0.3f * x + 0.9f * y;
    }
    auto c = reinterpret_cast<void (*)(const float *, int32_t, int32_t, int64_t, const float *, float *)>(
        Peer("peer_sample_image"));
    Ask(name, "sample_image", HD_TEXTURE_F32, 1, 1, {W, W}, texels.data(), hd_type_vec(HD_F32, 2), places.data(), 1,
        c ? [&](HdTexture *, float *r) { c(texels.data(), W, W, N, places.data(), r); } : Native());
  }

  void Field() {
    constexpr int W = 128;
    Memory<float> texels(W * W * W), places(3 * N);
    Fill(&texels, 0, 1);
    Fill(&places, -1, 2);
    auto c = reinterpret_cast<void (*)(const float *, int32_t, int32_t, int32_t, int64_t, const float *, float *)>(
        Peer("peer_sample_field"));
    Ask("linear in a field of 128 x 128 x 128 numbers, anywhere", "sample_field", HD_TEXTURE_F32, 1, 1, {W, W, W},
        texels.data(), hd_type_vec(HD_F32, 3), places.data(), 1,
        c ? [&](HdTexture *, float *r) { c(texels.data(), W, W, W, N, places.data(), r); } : Native());
  }

  void Levels() {
    constexpr int W = 1024, L = 11;
    Memory<uint8_t> texels(4 * W * W);
    Memory<float> places(3 * N);
    std::mt19937 random(3);
    for (size_t i = 0; i < texels.size(); i++) texels[i] = uint8_t(random());
    Fill(&places, -1, 2);
    for (int i = 0; i < N; i++) places[3 * i + 2] = 1.5f * (places[3 * i + 2] + 1);
    auto c =
        reinterpret_cast<void (*)(const uint8_t *, const int64_t *, int32_t, int32_t, int64_t, const float *, float *)>(
            Peer("peer_sample_levels"));
    std::vector<uint8_t> all;
    std::vector<int64_t> first;
    auto run = [&](HdTexture *t, float *r) {
      for (int l = 0; first.size() < L; l++) { // the levels that Heddle made
        first.push_back(int64_t(all.size()));
        all.resize(all.size() + size_t(hd_texture_size(t, l, nullptr)));
        engine_.Check(hd_texture_read(t, l, all.data() + first.back()));
      }
      c(all.data(), first.data(), L, W, N, places.data(), r);
    };
    Ask("linear between levels of 1024 x 1024 texels of 4 bytes, anywhere", "sample_levels", HD_TEXTURE_U8, 4, 0,
        {W, W}, texels.data(), hd_type_vec(HD_F32, 3), places.data(), 4, c ? Native(run) : Native());
  }

private:
  using Native = std::function<void(HdTexture *, float *)>;
  static constexpr int64_t N = 1024 * 1024;

  static void Fill(Memory<float> *m, float low, float high) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> any(low, high);
    for (size_t i = 0; i < m->size(); i++) (*m)[i] = any(random);
  }

  void Ask(const std::string &name, const char *kernel, HdTextureFormat format, int channels, int levels,
           const std::vector<int64_t> &size, const void *texels, HdType place, float *places, int numbers,
           const Native &native) {
    if (name.find(options_.only) == std::string::npos) return;
    HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
    o.format = format;
    o.channels = channels;
    o.levels = levels;
    o.mip_filter = HD_TEXTURE_LINEAR;
    for (HdTextureWrap &w : o.wrap) w = HD_TEXTURE_REPEAT;
    HdTexture *t = nullptr;
    engine_.Check(hd_texture_new(engine_.ctx(), engine_.stream(), &o, int32_t(size.size()), size.data(), texels, &t));
    Memory<float> ours(size_t(N * numbers)), theirs(size_t(N * numbers));
    HdArray p = engine_.Lend(place, {N}, places);
    HdArray r = engine_.Lend(numbers == 1 ? hd_type_scalar(HD_F32) : hd_type_vec(HD_F32, numbers), {N}, ours.data());
    std::vector<HdArg> args(HD_TEXTURE_ARGS);
    hd_texture_args(t, args.data());
    args.push_back(hd_arg_array(&p));
    args.push_back(hd_arg_array(&r));
    auto run = [&] { engine_.Run(kernel, {N}, args); };
    std::vector<std::function<void()>> runs = {run};
    run();
    if (native) {
      native(t, theirs.data());
      for (size_t i = 0; i < ours.size(); i++)
        if (!(std::fabs(ours[i] - theirs[i]) <= 1e-3f)) Die(name + ": result " + std::to_string(i) + " differs");
      runs.push_back([&] { native(t, theirs.data()); });
    }
    auto times = Alternate(options_.rounds, runs, CpuTime);
    Show(name, times);
    hd_texture_free(t);
  }

  void Show(const std::string &name, const std::vector<std::vector<double>> &times) {
    std::vector<double> rates;
    for (double t : times[0]) rates.push_back(1e-6 * double(N) / t);
    out_->push_back({"textures: " + name, "million a second", Of(rates), 0, 0, true});
    printf("%-76s %8.1f M/s", name.c_str(), Of(rates).median);
    if (times.size() > 1) {
      Figure f{"textures: " + name + ", over plain C", "x", Of(Ratios(times[1], times[0])), 0, 0, true};
      printf("   over plain C %5.2f (%.2f .. %.2f)", f.value.median, f.value.low, f.value.high);
      out_->push_back(f);
    }
    printf("\n");
    fflush(stdout);
  }

  const Options &options_;
  Engine engine_;
  std::vector<Figure> *out_;
};

} // namespace

void TextureRows(const Options &options, std::vector<Figure> *out) {
  printf("textures: samples on one thread, CPU time\n");
  Rows rows(options, out);
  rows.Image("linear in 1024 x 1024 numbers, in order", false);
  rows.Image("linear in 1024 x 1024 numbers, anywhere", true);
  rows.Field();
  rows.Levels();
}

} // namespace bench
