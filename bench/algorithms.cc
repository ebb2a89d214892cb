// bench/algorithms.cc -- the algorithms for arrays beside what the C++ library and plain loops do on one thread.
//
// Both sides begin with the same numbers, and their results must agree. A ratio is the time of the plain way over ours, in wall
// time, above 1 where Heddle is faster.
#include "heddle/algorithms.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>

#include "bench/bench.h"
#include "heddle/sparse.h"

namespace bench {
namespace {

class Rows {
public:
  Rows(const Options &options, int threads, std::vector<Figure> *out)
      : options_(options), threads_(threads), engine_(threads), out_(out) {
    engine_.Check(hd_algorithms_new(engine_.ctx(), engine_.stream(), nullptr, &algorithms_));
  }
  ~Rows() { hd_algorithms_free(algorithms_); }

  void Sort() {
    const char *name = "radix sort of 10 million pairs of u32, over std::sort";
    if (!Wanted(name)) return;
    struct Pair {
      uint32_t key, value;
    };
    const size_t n = 10000000;
    Memory<uint32_t> random(n), keys(n), values(n);
    std::vector<Pair> pairs(n);
    std::mt19937 numbers(1);
    for (size_t i = 0; i < n; i++) random[i] = uint32_t(numbers());
    HdArray k = Lend(&keys, HD_U32), v = Lend(&values, HD_U32);
    Report(
        name, [&] { engine_.Check(hd_sort_pairs(algorithms_, k, v, nullptr)); },
        [&] { std::sort(pairs.begin(), pairs.end(), [](const Pair &a, const Pair &b) { return a.key < b.key; }); },
        [&] {
          for (size_t i = 0; i < n; i++) {
            keys[i] = random[i];
            values[i] = uint32_t(i);
            pairs[i] = {random[i], uint32_t(i)};
          }
        },
        [&] {
          for (size_t i = 0; i < n; i++)
            if (keys[i] != pairs[i].key || random[values[i]] != keys[i]) return false;
          return true;
        },
        threads_ > 1 ? 5 : 0);
  }

  void Scan() {
    const char *name = "inclusive scan of 10 million f32, over std::partial_sum";
    if (!Wanted(name)) return;
    const size_t n = 10000000;
    Memory<float> x(n), ours(n), plain(n);
    for (size_t i = 0; i < n; i++) x[i] = float(i % 17) - 8; // sums stay exact
    HdArray in = Lend(&x, HD_F32), out = Lend(&ours, HD_F32);
    Report(
        name, [&] { engine_.Check(hd_scan(algorithms_, HD_SCAN_INCLUSIVE, in, out)); },
        [&] { std::partial_sum(x.data(), x.data() + n, plain.data()); }, [] {},
        [&] { return memcmp(ours.data(), plain.data(), n * sizeof(float)) == 0; });
  }

  void Reduce() {
    const char *name = "index of the least of 10 million f32, over std::min_element";
    if (!Wanted(name)) return;
    const size_t n = 10000000;
    Memory<float> x(n);
    Memory<int32_t> ours(1);
    int64_t plain = 0;
    std::mt19937 numbers(2);
    for (size_t i = 0; i < n; i++) x[i] = float(numbers());
    HdArray in = Lend(&x, HD_F32), out = Lend(&ours, HD_I32);
    Report(
        name, [&] { engine_.Check(hd_reduce(algorithms_, HD_REDUCE_ARGMIN, in, out)); },
        [&] { plain = std::min_element(x.data(), x.data() + n) - x.data(); }, [] {}, [&] { return ours[0] == plain; });
  }

  // Whole numbers, whose sums are exact.
  void Product() {
    const char *name = "product of two matrices of 1024 x 1024 f32, over plain loops by rows";
    if (!Wanted(name)) return;
    const int64_t n = 1024;
    Memory<float> x(n * n), y(n * n), ours(n * n), plain(n * n);
    for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 7) - 3, y[i] = float(i % 11) - 5;
    auto matrix = [&](Memory<float> &m) { return engine_.Lend(hd_type_scalar(HD_F32), {n, n}, m.data()); };
    HdArray a = matrix(x), b = matrix(y), out = matrix(ours);
    Report(
        name, [&] { engine_.Check(hd_matmul(algorithms_, a, b, out)); },
        [&] {
          const float *p = x.data(), *q = y.data();
          for (int64_t i = 0; i < n; i++) {
            float *__restrict row = plain.data() + i * n;
            for (int64_t j = 0; j < n; j++) row[j] = 0;
            for (int64_t k = 0; k < n; k++)
              for (int64_t j = 0; j < n; j++) row[j] += p[i * n + k] * q[k * n + j];
          }
        },
        [] {}, [&] { return memcmp(ours.data(), plain.data(), ours.size() * sizeof(float)) == 0; });
  }

  // The five-point stencil on a square, in blocks of edge x edge.
  template <int32_t edge> void Multiply(int32_t side) {
    std::string b = std::to_string(edge);
    std::string name = "sparse matrix in blocks of " + b + " x " + b + " times vector, over a plain loop";
    if (!Wanted(name)) return;
    const int32_t rows = side * side, size = edge * edge;
    std::vector<int32_t> row, col;
    std::vector<float> value;
    for (int32_t r = 0; r < rows; r++)
      for (int32_t c : {r - side, r - 1, r, r + 1, r + side}) {
        if (c < 0 || c >= rows) continue;
        row.push_back(r);
        col.push_back(c);
        for (int32_t i = 0; i < size; i++) value.push_back(float((r + i) % 7) - 3);
      }
    HdSparse *m = nullptr;
    engine_.Check(hd_sparse_new(algorithms_, rows, rows, edge, Borrow(row, HD_I32), Borrow(col, HD_I32),
                                Borrow(value, HD_F32), &m));
    Memory<float> x(size_t(rows * edge)), ours(x.size()), plain(x.size());
    for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 5) - 2;
    HdArray in = Lend(&x, HD_F32), out = Lend(&ours, HD_F32);
    auto *offsets = static_cast<const int32_t *>(hd_sparse_offsets(m).data);
    auto *columns = static_cast<const int32_t *>(hd_sparse_columns(m).data);
    auto *values = static_cast<const float *>(hd_sparse_values(m).data);
    Report(
        name, [&] { engine_.Check(hd_sparse_apply(1, m, in, 0, out)); },
        [&] {
          for (int32_t r = 0; r < rows; r++) {
            float sum[edge] = {};
            for (int32_t e = offsets[r]; e < offsets[r + 1]; e++)
              for (int32_t i = 0; i < edge; i++)
                for (int32_t j = 0; j < edge; j++)
                  sum[i] += values[(e * edge + i) * edge + j] * x[size_t(columns[e] * edge + j)];
            for (int32_t i = 0; i < edge; i++) plain[size_t(r * edge + i)] = sum[i];
          }
        },
        [] {}, [&] { return memcmp(ours.data(), plain.data(), ours.size() * sizeof(float)) == 0; });
    hd_sparse_free(m);
  }

private:
  bool Wanted(const std::string &name) const { return name.find(options_.only) != std::string::npos; }
  template <class T> HdArray Lend(Memory<T> *m, HdScalar scalar) const {
    return engine_.Lend(hd_type_scalar(scalar), {int64_t(m->size())}, m->data());
  }
  template <class T> HdArray Borrow(std::vector<T> &x, HdScalar scalar) const {
    return engine_.Lend(hd_type_scalar(scalar), {int64_t(x.size())}, x.data());
  }

  // Rounds of both in turn, each after `prepare`, which is not timed.
  void Report(const std::string &name, const std::function<void()> &ours, const std::function<void()> &plain,
              const std::function<void()> &prepare, const std::function<bool()> &same, double limit = 0) {
    std::vector<double> mine, theirs;
    for (int i = 0; i <= options_.rounds; i++) {
      double t[2];
      prepare();
      for (int k = 0; k < 2; k++) {
        bool first = (k + i) % 2 == 0;
        double start = Now();
        first ? ours() : plain();
        t[first] = Now() - start;
      }
      if (i == 0 && !same()) Die(name + ": the results differ");
      if (i > 0) mine.push_back(t[1]), theirs.push_back(t[0]);
    }
    Figure f{name + ", " + std::to_string(threads_) + " threads", "x", Of(Ratios(theirs, mine)), limit, 0, true};
    printf("%-92s %6.2f (%.2f .. %.2f)  %9.3f ms, %9.3f ms  %s\n", f.name.c_str(), f.value.median, f.value.low,
           f.value.high, 1e3 * Of(mine).median, 1e3 * Of(theirs).median, f.Reaches(limit) ? "" : "MISSED");
    fflush(stdout);
    out_->push_back(f);
  }

  const Options &options_;
  int threads_;
  Engine engine_;
  HdAlgorithms *algorithms_ = nullptr;
  std::vector<Figure> *out_;
};

} // namespace

void Algorithms(const Options &options, std::vector<Figure> *out) {
  printf("%-92s %6s (quartiles)    ours, the plain way\n", "algorithms: the plain way over ours", "median");
  for (int threads : options.threads) {
    Rows rows(options, threads, out);
    rows.Sort();
    rows.Scan();
    rows.Reduce();
    rows.Product();
    rows.Multiply<1>(1000);
    rows.Multiply<3>(300);
  }
}

} // namespace bench
