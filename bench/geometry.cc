// bench/geometry.cc -- rays and nearest points on a mesh of 80,000 triangles beside plain C on the same tree, Embree's single rays
// and the queries of other compilers; trees and hash grids that are made on the device.
//
// Times are CPU time of one thread; a ratio is the peer's over ours, above 1 where Heddle is faster.
#include "heddle/geometry.h"

#include <cmath>
#include <cstdio>
#include <random>

#include "bench/bench.h"
#include "bench/worker.h"

namespace bench {
namespace {

const HdType F32 = hd_type_scalar(HD_F32), VEC3 = hd_type_vec(HD_F32, 3), VEC3I = hd_type_vec(HD_I32, 3);

template <class F> F *Find(const char *name) { return reinterpret_cast<F *>(Peer(name)); }

struct Rays {
  explicit Rays(size_t n) : n(int64_t(n)), o(3 * n), d(3 * n), ours(n), theirs(n) {}
  int64_t n;
  Memory<float> o, d, ours, theirs;
};

// Another program in this process that answers the same questions.
struct Native {
  std::string name;
  std::function<void()> run;
  double limit;
};

// A sphere with bumps, 2 * 200 * 200 triangles.
struct Bumps {
  static constexpr int N = 200;
  Bumps() : points(3 * (N * N + 2)), faces(6 * N * N) {
    auto put = [&](int i, double u, double v) {
      double r = 1 + 0.1 * std::sin(7 * u) * std::cos(5 * v) * std::sin(u);
      points[3 * i] = float(r * std::sin(u) * std::cos(v));
      points[3 * i + 1] = float(r * std::sin(u) * std::sin(v));
      points[3 * i + 2] = float(r * std::cos(u));
    };
    size_t at = 0;
    auto face = [&](int a, int b, int c) { faces[at++] = a, faces[at++] = b, faces[at++] = c; };
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) put(i * N + j, M_PI * (i + 1) / (N + 1), 2 * M_PI * j / N);
    put(N * N, 0, 0);
    put(N * N + 1, M_PI, 0);
    for (int j = 0; j < N; j++) {
      int k = (j + 1) % N;
      face(N * N, j, k);
      for (int i = 0; i + 1 < N; i++) {
        face(i * N + j, (i + 1) * N + j, (i + 1) * N + k);
        face(i * N + j, (i + 1) * N + k, i * N + k);
      }
      face((N - 1) * N + j, N * N + 1, (N - 1) * N + k);
    }
  }
  Memory<float> points;
  Memory<int32_t> faces;
};

class Rows {
public:
  Rows(const Options &options, std::vector<Figure> *out)
      : options_(options), engine_(1, false, options.target, options.width), workers_(options), out_(out) {
    engine_.Load(options.folder + "/workloads/mesh.hd");
    points_ = engine_.Lend(VEC3, {int64_t(bumps_.points.size() / 3)}, bumps_.points.data());
    faces_ = engine_.Lend(VEC3I, {int64_t(bumps_.faces.size() / 3)}, bumps_.faces.data());
    engine_.Check(hd_mesh_new(engine_.ctx(), engine_.stream(), nullptr, points_, faces_, &mesh_));
    args_.resize(HD_MESH_ARGS);
    hd_mesh_args(mesh_, args_.data());
  }
  ~Rows() { hd_mesh_free(mesh_); }

  void Coherent() {
    Rays r(512 * 512);
    for (int i = 0; i < 512 * 512; i++) {
      const float o[3] = {0, 0, 3}, d[3] = {(float(i % 512) - 255.5f) / 569, (float(i / 512) - 255.5f) / 569, -1};
      for (int a = 0; a < 3; a++) r.o[3 * i + a] = o[a], r.d[3 * i + a] = d[a];
    }
    Shoot("coherent rays", &r, 0.5);
  }
  void Random() {
    Rays r(200000);
    std::mt19937 random(3);
    std::uniform_real_distribution<float> in(-1, 1);
    for (size_t i = 0; i < r.o.size(); i++) {
      r.o[i] = 1.5f * in(random);
      r.d[i] = in(random)-r.o[i];
    }
    Shoot("random rays", &r, 0);
  }
  void Nearest() {
    auto peer = Find<void(const void *, const void *, int64_t, const float *, float *)>("peer_mesh_distances");
    Rays r(50000);
    std::mt19937 random(3);
    std::uniform_real_distribution<float> in(-1.2f, 1.2f);
    for (size_t i = 0; i < r.o.size(); i++) r.o[i] = in(random);
    HdArray p = engine_.Lend(VEC3, {r.n}, r.o.data()), d = engine_.Lend(F32, {r.n}, r.ours.data());
    std::vector<Native> natives;
    if (peer)
      natives.push_back(
          {"plain C", [&] { peer(args_[0].array->data, args_[4].array->data, r.n, r.o.data(), r.theirs.data()); }, 0});
    auto give = [&](Inputs *in) {
      GiveMesh(in);
      in->Array("p", {r.n, 3}, r.o);
    };
    Ask(
        "nearest points of random ones", "mesh_distances", give, r.ours, r.theirs,
        [&] { Run("mesh_distances", r.n, {hd_arg_array(&p), hd_arg_array(&d)}); }, natives, 0);
  }
  void Trees() {
    const char *name = "boxes of a tree made on the device, 10 million";
    if (!Wanted(name)) return;
    const int64_t n = 10000000;
    Memory<float> low(size_t(3 * n)), high(size_t(3 * n));
    std::mt19937 random(5);
    std::uniform_real_distribution<float> in(0, 1);
    for (size_t i = 0; i < low.size(); i++) {
      low[i] = in(random);
      high[i] = low[i] + 0.003f;
    }
    HdArray lo = engine_.Lend(VEC3, {n}, low.data()), hi = engine_.Lend(VEC3, {n}, high.data());
    HdBvhOptions o = HD_BVH_OPTIONS_INIT;
    o.builder = HD_BVH_MORTON;
    HdBvh *b = nullptr;
    engine_.Check(hd_bvh_new(engine_.ctx(), engine_.stream(), &o, lo, hi, &b));
    Rate(name, double(n) / 1e6, 5, [&] { engine_.Check(hd_bvh_rebuild(b, lo, hi)); }); // the floor: two threads, 10
    hd_bvh_free(b);
  }
  void Particles() {
    const int64_t n = 100000;
    const int32_t cells = 32;
    const float radius = 2 / 46.4f;
    Memory<float> x(size_t(3 * n)), out { size_t(n) };
    std::mt19937 random(5);
    std::uniform_real_distribution<float> in(0, 1);
    for (size_t i = 0; i < x.size(); i++) x[i] = in(random);
    HdArray p = engine_.Lend(VEC3, {n}, x.data()), density = engine_.Lend(F32, {n}, out.data());
    HdHashGridOptions o = {radius, {cells, cells, cells}, {0, 0, 0}};
    HdHashGrid *g = nullptr;
    engine_.Check(hd_hash_grid_new(engine_.ctx(), engine_.stream(), &o, &g));
    auto give = [&](Inputs *inputs) {
      inputs->Array("p", {n, 3}, x);
      inputs->Number("radius", radius);
      inputs->Number("cells", cells);
    };
    auto run = [&] {
      engine_.Check(hd_hash_grid_build(g, p));
      std::vector<HdArg> args(HD_HASH_GRID_ARGS);
      hd_hash_grid_args(g, args.data());
      args.insert(args.end(), {hd_arg_f32(radius), hd_arg_array(&density)});
      engine_.Run("densities", {n}, args);
    };
    Ask("points of a hash grid made and all 33 neighbours of each visited, 100,000", "densities", give, out, out, run,
        {}, 4);
    hd_hash_grid_free(g);
  }

private:
  bool Wanted(const std::string &name) const { return name.find(options_.only) != std::string::npos; }

  void Run(const char *kernel, int64_t n, const std::vector<HdArg> &more) const {
    std::vector<HdArg> args = args_;
    args.insert(args.end(), more.begin(), more.end());
    engine_.Run(kernel, {n}, args);
  }

  void GiveMesh(Inputs *in) const {
    in->Array("points", {points_.length[0], 3}, bumps_.points);
    in->Array("faces", {faces_.length[0], 3}, bumps_.faces);
  }

  void Shoot(const std::string &name, Rays *r, double embree) {
    auto plain =
        Find<void(const void *, const void *, int64_t, const float *, const float *, float *)>("peer_mesh_rays");
    auto open = Find<int(int64_t, const float *, int64_t, const int32_t *)>("peer_embree_open");
    auto rays = Find<void(int64_t, const float *, const float *, float *)>("peer_embree_rays");
    HdArray o = engine_.Lend(VEC3, {r->n}, r->o.data()), d = engine_.Lend(VEC3, {r->n}, r->d.data());
    HdArray t = engine_.Lend(F32, {r->n}, r->ours.data());
    std::vector<Native> natives;
    if (plain)
      natives.push_back(
          {"plain C",
           [&] { plain(args_[0].array->data, args_[4].array->data, r->n, r->o.data(), r->d.data(), r->theirs.data()); },
           0});
    if (open && open(points_.length[0], bumps_.points.data(), faces_.length[0], bumps_.faces.data()))
      natives.push_back(
          {"Embree's single rays", [&] { rays(r->n, r->o.data(), r->d.data(), r->theirs.data()); }, embree});
    auto give = [&](Inputs *in) {
      GiveMesh(in);
      in->Array("o", {r->n, 3}, r->o);
      in->Array("d", {r->n, 3}, r->d);
    };
    Ask(
        name, "mesh_rays", give, r->ours, r->theirs,
        [&] { Run("mesh_rays", r->n, {hd_arg_array(&o), hd_arg_array(&d), hd_arg_array(&t)}); }, natives, 3);
  }

  // Why theirs is no answer to what ours is, or nothing.
  static std::string Differ(const Memory<float> &ours, const float *theirs) {
    size_t off = 0;
    for (size_t i = 0; i < ours.size(); i++) off += !(std::fabs(ours[i] - theirs[i]) <= 1e-4f * (1 + theirs[i]));
    if (off <= ours.size() / 2000) return ""; // at edges some see through
    return std::to_string(off) + " of " + std::to_string(ours.size()) + " results differ";
  }

  // One row, and a line below it for each that answers the same. `theirs` is where the natives write; `warp` is how many times as
  // fast as it we are to be.
  void Ask(const std::string &name, const char *workload, const std::function<void(Inputs *)> &give,
           const Memory<float> &ours, const Memory<float> &theirs, const std::function<void()> &run,
           const std::vector<Native> &natives, double warp) {
    if (!Wanted(name)) return;
    run();
    bool warm = !options_.peers.empty();
    std::vector<std::function<double()>> turns = {Timed(run, CpuTime, warm)};
    for (const Native &native : natives) {
      native.run();
      std::string why = Differ(ours, theirs.data());
      if (!why.empty()) Die(name + ", " + native.name + ": " + why);
      turns.push_back(Timed(native.run, CpuTime, warm));
    }
    std::vector<Guest> guests;
    if (!options_.peers.empty()) {
      Inputs inputs;
      give(&inputs);
      auto same = [&](const std::vector<float> &r) {
        return r.size() == ours.size() ? Differ(ours, r.data()) : std::string("its result has another size");
      };
      for (Worker *w : workers_.With(1)) guests.emplace_back(w, workload, inputs, same);
    }
    for (Guest &g : guests) turns.push_back([&] { return g.Turn(); });
    auto times = Turns(options_.rounds, turns);
    double millions = 1e-6 * double(ours.size());
    std::vector<double> rates;
    for (double t : times[0]) rates.push_back(millions / t);
    Add({"geometry: " + name, "million a second", Of(rates), 0, 0, true});
    printf("%-92s %8.3f M/s\n", name.c_str(), Of(rates).median);
    for (size_t i = 1; i < times.size(); i++) {
      bool native = i <= natives.size();
      const Guest *g = native ? nullptr : &guests[i - 1 - natives.size()];
      std::string peer = native ? natives[i - 1].name : g->worker()->name();
      if (g && !g->why().empty()) {
        printf("  over %-70s      -   %s\n", peer.c_str(), g->why().c_str());
        continue;
      }
      double limit = native ? natives[i - 1].limit : peer == "warp" ? warp : 0;
      Figure f{"geometry: " + name + ", over " + peer, "x", Of(Ratios(times[i], times[0])), limit, 0, true};
      printf("  over %-70s %6.2f (%.2f .. %.2f)  %8.3f M/s  %s\n", peer.c_str(), f.value.median, f.value.low,
             f.value.high, millions / Of(times[i]).median, f.Reaches(limit) ? "" : "MISSED");
      Add(f);
    }
    fflush(stdout);
  }

  void Add(const Figure &f) { out_->push_back(f); }

  void Rate(const std::string &name, double millions, double limit, const std::function<void()> &run) {
    auto times = Alternate(std::min(options_.rounds, 7), {run}, CpuTime);
    std::vector<double> rates;
    for (double t : times[0]) rates.push_back(millions / t);
    Figure f{"geometry: " + name, "million a second", Of(rates), limit, 0, true};
    printf("%-92s %8.3f M/s (%.2f .. %.2f)  %s\n", name.c_str(), f.value.median, f.value.low, f.value.high,
           f.Reaches(limit) ? "" : "MISSED");
    fflush(stdout);
    Add(f);
  }

  const Options &options_;
  Engine engine_;
  Workers workers_;
  std::vector<Figure> *out_;
  Bumps bumps_;
  HdArray points_, faces_;
  HdMesh *mesh_ = nullptr;
  std::vector<HdArg> args_;
};

} // namespace

void GeometryRows(const Options &options, std::vector<Figure> *out) {
  printf("%-77s %6s (quartiles)\n", "geometry: one thread, CPU time; a ratio is theirs over ours", "median");
  Rows rows(options, out);
  rows.Coherent();
  rows.Random();
  rows.Nearest();
  rows.Trees();
  rows.Particles();
}

} // namespace bench
