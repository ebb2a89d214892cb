// tests/algorithms/solve_test.cc -- CG, BiCGSTAB and GMRES against SciPy's direct solutions, and where they cannot succeed.
#include <cmath>
#include <limits>

#include "tests/algorithms/algorithms_fixture.h"
#include "tests/algorithms/sparse_testing.h"

namespace {

using Method = HdStatus (*)(HdAlgorithms *, HdOperator, HdArray, HdArray, const HdSolveOptions *, HdSolveReport *);
struct Named {
  const char *name;
  Method solve;
};
const Named cg = {"CG", hd_solve_cg}, bicgstab = {"BiCGSTAB", hd_solve_bicgstab}, gmres = {"GMRES", hd_solve_gmres};
const Named all[] = {cg, bicgstab, gmres};

template <class T> struct Result {
  std::vector<T> x;
  HdSolveReport report;
};

template <class T>
Result<T> Solve(Machine &m, Method solve, HdOperator a, const std::vector<T> &b, const HdSolveOptions &o,
                std::vector<T> start = {}) {
  start.resize(b.size());
  HdArray rhs = m.Of(b), x = m.Of(start);
  Result<T> r = {};
  EXPECT_EQ(solve(m.algorithms, a, rhs, x, &o, &r.report), HD_OK) << m.Why();
  r.x = m.Fetch<T>(x);
  return r;
}

template <class T> std::vector<T> As(const std::vector<double> &x) { return std::vector<T>(x.begin(), x.end()); }

HdSolveOptions To(double relative) {
  HdSolveOptions o = HD_SOLVE_OPTIONS_INIT;
  o.relative = relative;
  return o;
}

template <class T> HdSparse *System(Machine &m, const std::string &name) {
  return New(m, 24, 24, 2, Npy<int32_t>(name + "_row"), Npy<int32_t>(name + "_col"),
             As<T>(Npy<double>(name + "_values")));
}

template <class T> void ExpectSolves(Machine &m, const std::string &name, Named method, double relative) {
  HdSparse *a = System<T>(m, name), *jacobi;
  OK(m, hd_sparse_jacobi(a, &jacobi));
  auto b = As<T>(Npy<double>(name + "_rhs")), want = As<T>(Npy<double>(name + "_solution"));
  HdSolveOptions plain = To(relative), preconditioned = To(relative);
  preconditioned.precondition = hd_sparse_operator(jacobi);
  for (auto &o : {plain, preconditioned}) {
    auto r = Solve<T>(m, method.solve, hd_sparse_operator(a), b, o);
    EXPECT_EQ(r.report.stop, HD_SOLVE_CONVERGED) << method.name << " on " << name;
    EXPECT_LE(r.report.residual, 1.5 * relative * r.report.rhs);
    EXPECT_LE(r.report.iterations, 48);
    EXPECT_GE(r.report.iterations, 5);
    double norm = 0;
    for (T v : b) norm += double(v) * double(v);
    EXPECT_NEAR(r.report.rhs, std::sqrt(norm), 1e-5 * std::sqrt(norm));
    for (size_t i = 0; i < want.size(); i++) EXPECT_NEAR(double(r.x[i]), double(want[i]), 10 * relative) << method.name;
  }
  hd_sparse_free(a);
  hd_sparse_free(jacobi);
}

TEST(Solve, FindsWhatScipyFinds) {
  Machine m;
  for (auto &method : all) {
    ExpectSolves<double>(m, "positive", method, 1e-12);
    ExpectSolves<float>(m, "positive", method, 1e-5);
  }
  ExpectSolves<double>(m, "skew", bicgstab, 1e-12);
  ExpectSolves<double>(m, "skew", gmres, 1e-12);
  ExpectSolves<float>(m, "skew", gmres, 1e-5);
}

class SolveWays : public testing::TestWithParam<Way> {};

TEST_P(SolveWays, GivesTheSameBits) {
  Machine m(GetParam());
  static Machine plain;
  for (auto &method : all) {
    // Of a size that needs blocks: the system of SciPy's, many times over, with scales apart.
    HdSolveOptions o = To(1e-6);
    o.check = GetParam().threads; // how often the host looks changes nothing
    o.restart = 7;
    o.iterations = 12;
    Result<double> r[2];
    for (int k = 0; k < 2; k++) {
      Machine &each = k ? plain : m;
      std::vector<int32_t> row, col;
      std::vector<double> values, b;
      for (int32_t i = 0; i < 700; i++) {
        for (int32_t j : {i - 1, i, i + 1})
          if (j >= 0 && j < 700)
            row.push_back(i), col.push_back(j), values.push_back(i == j ? 2.1 + 0.01 * (i % 10) : -1);
        b.push_back(std::sin(0.1 * i));
      }
      HdSparse *a = New(each, 700, 700, 1, row, col, values), *jacobi;
      OK(each, hd_sparse_jacobi(a, &jacobi));
      o.precondition = hd_sparse_operator(jacobi);
      r[k] = Solve<double>(each, method.solve, hd_sparse_operator(a), b, o);
      hd_sparse_free(a);
      hd_sparse_free(jacobi);
    }
    EXPECT_TRUE(SameBits(r[0].x, r[1].x)) << method.name;
    EXPECT_EQ(r[0].report.iterations, r[1].report.iterations) << method.name;
    EXPECT_EQ(r[0].report.residual, r[1].report.residual) << method.name;
    EXPECT_EQ(r[0].report.stop, r[1].report.stop) << method.name;
    EXPECT_EQ(r[0].report.iterations, 12);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SolveWays, testing::ValuesIn(Ways()), WayName);

double Scale(int32_t i) { return std::pow(10.0, i * 37 % 200 / 80.0); }

TEST(Solve, PreconditioningSavesIterations) {
  Machine m;
  std::vector<int32_t> row, col;
  std::vector<double> values, b;
  const int32_t n = 200;
  for (int32_t i = 0; i < n; i++) {
    double scale = Scale(i);
    for (int32_t j : {i - 1, i, i + 1})
      if (j >= 0 && j < n)
        row.push_back(i), col.push_back(j), values.push_back(i == j ? 2.5 * scale * scale : -scale * Scale(j));
    b.push_back(1);
  }
  HdSparse *a = New(m, n, n, 1, row, col, values), *jacobi;
  OK(m, hd_sparse_jacobi(a, &jacobi));
  for (auto &method : all) {
    HdSolveOptions o = To(1e-8), with = o;
    o.iterations = with.iterations = 5000;
    with.precondition = hd_sparse_operator(jacobi);
    auto r = Solve<double>(m, method.solve, hd_sparse_operator(a), b, o);
    auto p = Solve<double>(m, method.solve, hd_sparse_operator(a), b, with);
    EXPECT_EQ(p.report.stop, HD_SOLVE_CONVERGED) << method.name;
    EXPECT_LT(p.report.iterations, 60) << method.name;
    EXPECT_GT(r.report.iterations, 2 * p.report.iterations) << method.name;
  }
  hd_sparse_free(a);
  hd_sparse_free(jacobi);
}

TEST(Solve, StopsAtTheLimitAndSaysSo) {
  Machine m;
  HdSparse *a = System<double>(m, "positive");
  auto b = Npy<double>("positive_rhs");
  for (auto &method : all)
    for (int32_t limit : {0, 1, 4})
      for (int32_t check : {1, 3}) {
        HdSolveOptions o = To(1e-12);
        o.iterations = limit;
        o.check = check;
        o.restart = 3;
        auto r = Solve<double>(m, method.solve, hd_sparse_operator(a), b, o);
        EXPECT_EQ(r.report.stop, HD_SOLVE_LIMIT) << method.name;
        EXPECT_EQ(r.report.iterations, limit) << method.name;
        if (limit == 0) { EXPECT_EQ(r.report.residual, r.report.rhs); }
        if (limit == 4) { EXPECT_LT(r.report.residual, r.report.rhs) << method.name; }
      }
  hd_sparse_free(a);
}

TEST(Solve, BeginsFromTheXThatIsGiven) {
  Machine m;
  HdSparse *a = System<double>(m, "positive");
  auto b = Npy<double>("positive_rhs"), x = Npy<double>("positive_solution");
  for (auto &method : all) {
    auto r = Solve<double>(m, method.solve, hd_sparse_operator(a), b, To(1e-10), x);
    EXPECT_EQ(r.report.stop, HD_SOLVE_CONVERGED);
    EXPECT_EQ(r.report.iterations, 0) << method.name;
    EXPECT_EQ(r.x, x);
    // b = 0 has the solution 0; an absolute limit stops elsewhere.
    std::vector<double> zero(48);
    EXPECT_EQ(Solve<double>(m, method.solve, hd_sparse_operator(a), zero, To(1e-10)).report.iterations, 0);
    HdSolveOptions o = To(0);
    o.absolute = 1e-3;
    auto near = Solve<double>(m, method.solve, hd_sparse_operator(a), zero, o, x);
    EXPECT_EQ(near.report.stop, HD_SOLVE_CONVERGED) << method.name;
    EXPECT_LE(near.report.residual, 1e-3);
    EXPECT_GT(near.report.residual, 1e-8);
  }
  HdSparse *nothing = New<double>(m, 0, 0, 1, {}, {}, {});
  for (auto &method : all)
    EXPECT_EQ(Solve<double>(m, method.solve, hd_sparse_operator(nothing), {}, To(0)).report.stop, HD_SOLVE_CONVERGED);
  hd_sparse_free(a);
  hd_sparse_free(nothing);
}

TEST(Solve, EndsOnMatricesThatItCannotSolve) {
  Machine m;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // All zero; singular with b outside of the range; indefinite; skew, which CG must not try; with a NaN.
  HdSparse *zero = New<double>(m, 3, 3, 1, {}, {}, {});
  HdSparse *singular = New<double>(m, 3, 3, 1, {0, 1}, {0, 1}, {1, 2});
  HdSparse *indefinite = New<double>(m, 3, 3, 1, {0, 1, 2}, {0, 1, 2}, {1, -2, 3});
  HdSparse *skew = New<double>(m, 2, 2, 1, {0, 1}, {1, 0}, {1, -1});
  HdSparse *broken = New<double>(m, 3, 3, 1, {0, 1, 2}, {0, 1, 2}, {1, nan, 3});
  const std::vector<double> b = {1, 1, 1};
  for (auto &method : all) {
    auto r = Solve<double>(m, method.solve, hd_sparse_operator(zero), b, To(1e-9));
    EXPECT_EQ(r.report.stop, HD_SOLVE_BREAKDOWN) << method.name;
    EXPECT_EQ(r.x, std::vector<double>(3)) << method.name;
    EXPECT_EQ(r.report.residual, r.report.rhs);
    r = Solve<double>(m, method.solve, hd_sparse_operator(singular), b, To(1e-9));
    EXPECT_NE(r.report.stop, HD_SOLVE_CONVERGED) << method.name;
    EXPECT_LE(r.report.iterations, 1000);
    EXPECT_GE(r.report.residual, 0.999) << "no x does better than 1";
    for (double x : r.x) EXPECT_TRUE(std::isfinite(x) || r.report.stop == HD_SOLVE_NOT_FINITE) << method.name;
    r = Solve<double>(m, method.solve, hd_sparse_operator(broken), b, To(1e-9));
    EXPECT_EQ(r.report.stop, HD_SOLVE_NOT_FINITE) << method.name;
    r = Solve<double>(m, method.solve, hd_sparse_operator(indefinite), {1, nan, 1}, To(1e-9));
    EXPECT_EQ(r.report.stop, HD_SOLVE_NOT_FINITE) << method.name;
  }
  EXPECT_EQ(Solve<double>(m, hd_solve_cg, hd_sparse_operator(indefinite), {0, 1, 0}, To(1e-9)).report.stop,
            HD_SOLVE_BREAKDOWN);
  EXPECT_EQ(Solve<double>(m, hd_solve_gmres, hd_sparse_operator(indefinite), b, To(1e-9)).report.stop,
            HD_SOLVE_CONVERGED);
  EXPECT_EQ(Solve<double>(m, hd_solve_cg, hd_sparse_operator(skew), {1, 2}, To(1e-9)).report.stop, HD_SOLVE_BREAKDOWN);
  EXPECT_EQ(Solve<double>(m, hd_solve_bicgstab, hd_sparse_operator(skew), {1, 2}, To(1e-9)).report.stop,
            HD_SOLVE_BREAKDOWN);
  auto r = Solve<double>(m, hd_solve_gmres, hd_sparse_operator(skew), {1, 2}, To(1e-9));
  EXPECT_EQ(r.report.stop, HD_SOLVE_CONVERGED);
  EXPECT_NEAR(r.x[0], -2, 1e-9);
  EXPECT_NEAR(r.x[1], 1, 1e-9);
  for (HdSparse *s : {zero, singular, indefinite, skew, broken}) hd_sparse_free(s);
}

// y = 2 x, by a matrix that the caller has; counts its calls, and fails at the one that it is told.
struct Doubler {
  const HdSparse *two;
  int calls = 0, fail_at = -1;
  static HdStatus Apply(void *user, HdArray x, HdArray y) {
    Doubler *d = static_cast<Doubler *>(user);
    return d->calls++ == d->fail_at ? HD_ERR_BUSY : hd_sparse_apply(1, d->two, x, 0, y);
  }
};

TEST(Solve, TakesOperatorsOfTheCaller) {
  Machine m;
  HdSparse *two = New<float>(m, 3, 3, 1, {0, 1, 2}, {0, 1, 2}, {2, 2, 2});
  for (auto &method : all) {
    Doubler d = {two};
    auto r = Solve<float>(m, method.solve, {Doubler::Apply, &d}, {2, 4, 6}, To(1e-6));
    EXPECT_EQ(r.report.stop, HD_SOLVE_CONVERGED) << method.name;
    EXPECT_EQ(r.report.iterations, 1) << method.name;
    EXPECT_NEAR(r.x[2], 3, 1e-5);
    EXPECT_GE(d.calls, 3);
    HdArray b = m.Of<float>({1, 2, 3}), x = m.New<float>(3);
    HdSolveReport untouched = {HD_SOLVE_LIMIT, 77, 0, 0};
    d.calls = 0;
    d.fail_at = 1;
    EXPECT_EQ(method.solve(m.algorithms, {Doubler::Apply, &d}, b, x, nullptr, &untouched), HD_ERR_BUSY) << method.name;
    EXPECT_EQ(untouched.iterations, 77);
  }
  hd_sparse_free(two);
}

TEST(Solve, RefusesWhatDoesNotFit) {
  Machine m;
  HdSparse *s = New<float>(m, 2, 2, 1, {0, 1}, {0, 1}, {1, 1});
  HdOperator a = hd_sparse_operator(s);
  HdArray f2 = m.New<float>(2), f3 = m.New<float>(3), d2 = m.New<double>(2), i2 = m.New<int32_t>(2),
          f4 = m.New<float>(4), gaps;
  OK(m, hd_array_slice(m.ctx, f4, 0, 0, 4, 2, &gaps));
  EXPECT_EQ(hd_solve_cg(m.algorithms, a, f3, f2, nullptr, nullptr), HD_ERR_SHAPE);
  EXPECT_EQ(hd_solve_cg(m.algorithms, a, d2, f2, nullptr, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(hd_solve_gmres(m.algorithms, a, i2, i2, nullptr, nullptr), HD_ERR_TYPE);
  EXPECT_EQ(hd_solve_gmres(m.algorithms, a, f2, gaps, nullptr, nullptr), HD_ERR_SHAPE);
  EXPECT_EQ(hd_solve_cg(m.algorithms, a, f3, m.New<float>(3), nullptr, nullptr), HD_ERR_SHAPE) << "from the matrix";
  EXPECT_EQ(hd_solve_cg(m.algorithms, {nullptr, nullptr}, f2, f2, nullptr, nullptr), HD_ERR_ARG);
  HdSolveOptions bad[5] = {To(-1), To(std::numeric_limits<double>::quiet_NaN()), To(1), To(1), To(1)};
  bad[2].restart = 0;
  bad[3].iterations = -1;
  bad[4].absolute = -1;
  for (auto &o : bad) EXPECT_EQ(hd_solve_gmres(m.algorithms, a, f2, m.New<float>(2), &o, nullptr), HD_ERR_OPTION);
  hd_sparse_free(s);
}

TEST(Solve, CannotWaitWhileAGraphIsRecorded) {
  Machine m;
  HdSparse *s = New<float>(m, 2, 2, 1, {0, 1}, {0, 1}, {2, 2}), *other = nullptr;
  HdArray b = m.Of<float>({2, 4}), x = m.New<float>(2), i = m.Of<int32_t>({0, 1});
  HdGraph *graph = nullptr;
  OK(m, hd_graph_begin(m.stream));
  EXPECT_EQ(hd_solve_cg(m.algorithms, hd_sparse_operator(s), b, x, nullptr, nullptr), HD_ERR_BUSY);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 2, 1, i, i, b, &other), HD_ERR_BUSY);
  OK(m, hd_sparse_apply(1, s, b, 0, x)); // does not wait
  OK(m, hd_graph_end(m.stream, &graph));
  hd_graph_free(graph);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(Solve<float>(m, hd_solve_cg, hd_sparse_operator(s), {2, 4}, To(1e-6)).x, (std::vector<float>{1, 2}));
  hd_sparse_free(s);
}

} // namespace
