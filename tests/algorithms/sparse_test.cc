// tests/algorithms/sparse_test.cc -- sparse matrices against SciPy and against plain loops over dense ones.
#include <cmath>
#include <limits>
#include <map>

#include "tests/algorithms/algorithms_fixture.h"
#include "tests/algorithms/sparse_testing.h"

namespace {

// --- what a matrix holds ---

template <class T> std::vector<T> Dense(Machine &m, const HdSparse *s) {
  auto offsets = m.Fetch<int32_t>(hd_sparse_offsets(s)), columns = m.Fetch<int32_t>(hd_sparse_columns(s));
  auto values = m.Fetch<T>(hd_sparse_values(s));
  int64_t b = hd_sparse_block(s), width = hd_sparse_cols(s) * b;
  std::vector<T> dense(size_t(hd_sparse_rows(s) * b * width));
  for (int64_t r = 0; r < hd_sparse_rows(s); r++)
    for (int64_t e = offsets[size_t(r)]; e < offsets[size_t(r + 1)]; e++)
      for (int64_t i = 0; i < b; i++)
        for (int64_t j = 0; j < b; j++)
          dense[size_t((r * b + i) * width + columns[size_t(e)] * b + j)] = values[size_t((e * b + i) * b + j)];
  return dense;
}

void ExpectIsScipys(Machine &m, const HdSparse *s, const std::string &name) {
  EXPECT_EQ(m.Fetch<int32_t>(hd_sparse_offsets(s)), Npy<int32_t>(name + "_offsets")) << name;
  EXPECT_EQ(m.Fetch<int32_t>(hd_sparse_columns(s)), Npy<int32_t>(name + "_columns")) << name;
  EXPECT_EQ(Dense<double>(m, s), Npy<double>(name + "_dense")) << name;
}

// --- SciPy ---

class SparseWays : public testing::TestWithParam<Way> {};

TEST_P(SparseWays, MakesWhatScipyMakes) {
  Machine m(GetParam());
  for (int32_t b : {1, 3}) {
    std::string n = std::to_string(b);
    HdSparse *x = FromNpy(m, "x" + n, 8, 6, b), *y = FromNpy(m, "y" + n, 6, 7, b), *z = FromNpy(m, "z" + n, 8, 6, b);
    HdSparse *transposed, *product, *sum;
    OK(m, hd_sparse_transpose(x, &transposed));
    OK(m, hd_sparse_multiply(x, y, &product));
    OK(m, hd_sparse_add(0.5, x, -2, z, &sum));
    ExpectIsScipys(m, x, "x" + n);
    ExpectIsScipys(m, transposed, "transposed" + n);
    ExpectIsScipys(m, product, "product" + n);
    ExpectIsScipys(m, sum, "sum" + n);
    for (HdSparse *s : {x, y, z, transposed, product, sum}) hd_sparse_free(s);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SparseWays, testing::ValuesIn(Ways()), WayName);

// --- plain loops ---

template <class T> void ExpectAllCalls(Machine &m, int32_t b) {
  const int rows = 37, cols = 29;
  std::mt19937 random{uint32_t(b)};
  std::vector<int32_t> row, col;
  std::vector<T> values;
  const int64_t width = cols * b;
  std::vector<T> dense(size_t(rows * b * width));
  for (int k = 0; k < 150; k++) {
    row.push_back(int32_t(random() % rows));
    col.push_back(int32_t(random() % cols));
    for (int i = 0; i < b; i++)
      for (int j = 0; j < b; j++) {
        values.push_back(T(int(random() % 65) - 32) / 8);
        dense[size_t((row.back() * b + i) * width + col.back() * b + j)] += values.back();
      }
  }
  HdSparse *s = New(m, rows, cols, b, row, col, values), *csr;
  EXPECT_EQ(Dense<T>(m, s), dense);
  OK(m, hd_sparse_to_csr(s, &csr));
  EXPECT_EQ(hd_sparse_block(csr), 1);
  EXPECT_EQ(Dense<T>(m, csr), dense);
  auto columns = m.Fetch<int32_t>(hd_sparse_columns(csr)), offsets = m.Fetch<int32_t>(hd_sparse_offsets(csr));
  for (size_t r = 0; r + 1 < offsets.size(); r++)
    for (int32_t e = offsets[r] + 1; e < offsets[r + 1]; e++) EXPECT_LT(columns[size_t(e - 1)], columns[size_t(e)]);

  std::vector<T> x, y, want;
  for (int64_t i = 0; i < width; i++) x.push_back(T(i % 7) - 3);
  for (int64_t i = 0; i < rows * b; i++) {
    T sum = 0;
    for (int64_t j = 0; j < width; j++) sum += dense[size_t(i * width + j)] * x[size_t(j)];
    y.push_back(T(i % 5));
    want.push_back(2 * sum - 3 * y.back());
  }
  for (HdSparse *each : {s, csr}) {
    HdArray in = m.Of(x), out = m.Of(y);
    OK(m, hd_sparse_apply(2, each, in, -3, out));
    EXPECT_EQ(m.Fetch<T>(out), want) << b;
    HdArray rubbish = m.Of(std::vector<T>(y.size(), std::numeric_limits<T>::quiet_NaN())), zero = m.Of(y);
    OK(m, hd_sparse_apply(1, each, in, 0, rubbish));
    OK(m, hd_sparse_apply(1, each, in, 1, zero));
    auto a = m.Fetch<T>(rubbish), c = m.Fetch<T>(zero);
    for (size_t i = 0; i < a.size(); i++) EXPECT_EQ(a[i] + y[i], c[i]);
  }
  hd_sparse_free(s);
  hd_sparse_free(csr);
}

TEST(Sparse, AgreesWithDenseLoopsForAllBlocks) {
  Machine m({"cpu", 2, 0, false});
  for (int32_t b = 1; b <= HD_SPARSE_MAX_BLOCK; b++) ExpectAllCalls<float>(m, b);
  for (int32_t b : {1, 2}) ExpectAllCalls<double>(m, b);
}

TEST(Sparse, SumsTripletsInTheirOrder) {
  Machine m;
  std::mt19937 random{3};
  std::vector<int32_t> row, col;
  std::vector<float> values;
  std::map<std::pair<int32_t, int32_t>, float> want;
  for (int k = 0; k < 5000; k++) {
    row.push_back(int32_t(random() % 4));
    col.push_back(int32_t(random() % 5));
    values.push_back(std::ldexp(float(int(random() % 2000) - 1000), int(random() % 40)));
    auto [at, first] = want.insert({{row.back(), col.back()}, values.back()});
    if (!first) at->second += values.back();
  }
  HdSparse *s = New(m, 4, 5, 1, row, col, values);
  auto got = m.Fetch<float>(hd_sparse_values(s));
  ASSERT_EQ(got.size(), want.size());
  size_t i = 0;
  for (auto &[place, sum] : want) EXPECT_EQ(got[i++], sum) << place.first << ", " << place.second;
  hd_sparse_free(s);
}

TEST(Sparse, TakesMatricesOfNothing) {
  Machine m({"cpu", 2, 0, true});
  for (auto [rows, cols] : {std::pair(0, 0), {0, 3}, {3, 0}, {3, 3}}) {
    HdSparse *s = New<float>(m, rows, cols, 2, {}, {}, {}), *t, *sum, *product, *csr;
    OK(m, hd_sparse_transpose(s, &t));
    OK(m, hd_sparse_add(1, s, 1, s, &sum));
    OK(m, hd_sparse_multiply(s, t, &product));
    OK(m, hd_sparse_to_csr(s, &csr));
    EXPECT_EQ(hd_sparse_count(product) + hd_sparse_count(sum) + hd_sparse_count(csr), 0);
    EXPECT_EQ(m.Fetch<int32_t>(hd_sparse_offsets(t)), std::vector<int32_t>(size_t(cols + 1)));
    EXPECT_EQ(m.Fetch<int32_t>(hd_sparse_offsets(csr)), std::vector<int32_t>(size_t(2 * rows + 1)));
    HdArray x = m.Of(std::vector<float>(size_t(2 * cols), 1)), y = m.Of(std::vector<float>(size_t(2 * rows), 4));
    OK(m, hd_sparse_apply(1, s, x, 0.5, y));
    EXPECT_EQ(m.Fetch<float>(y), std::vector<float>(size_t(2 * rows), 2));
    for (HdSparse *each : {s, t, sum, product, csr}) hd_sparse_free(each);
  }
}

TEST(Sparse, KeepsElementsThatAreZero) {
  Machine m;
  HdSparse *s = New<double>(m, 2, 2, 1, {0, 0, 1}, {1, 1, 0}, {1, -1, 0}), *product;
  EXPECT_EQ(hd_sparse_count(s), 2);
  OK(m, hd_sparse_multiply(s, s, &product));
  EXPECT_EQ(hd_sparse_count(product), 2);
  EXPECT_EQ(Dense<double>(m, product), std::vector<double>(4));
  hd_sparse_free(s);
  hd_sparse_free(product);
}

// A matrix of floats, some rows empty; from `full` on every element is there.
HdSparse *Sprinkled(Machine &m, int32_t rows, int32_t cols, int32_t full) {
  std::mt19937 random{uint32_t(rows * 100 + cols)};
  std::vector<int32_t> row, col;
  std::vector<float> values;
  for (int32_t r = 0; r < rows; r++)
    for (int32_t c = 0; c < cols; c++) {
      float value = std::ldexp(float(int(random() % 2000) - 1000), -int(random() % 20));
      if (r < full && (r % 5 == 3 || random() % 8 != 0)) continue;
      row.push_back(r);
      col.push_back(c);
      values.push_back(value);
    }
  return New(m, rows, cols, 1, row, col, values);
}

TEST(Sparse, MultipliesRowsOfAnyLengthInOneOrder) {
  Machine m({"cpu", 2, 0, true});
  HdSparse *y = Sprinkled(m, 200, 40, 200), *x = Sprinkled(m, 60, 200, 60), *longer = Sprinkled(m, 60, 200, 58);
  HdSparse *product, *with_long_rows;
  OK(m, hd_sparse_multiply(x, y, &product));
  OK(m, hd_sparse_multiply(longer, y, &with_long_rows));
  auto dx = Dense<float>(m, x), dl = Dense<float>(m, longer), dy = Dense<float>(m, y);
  auto got = Dense<float>(m, product), got_long = Dense<float>(m, with_long_rows);
  for (size_t r = 0; r < 60; r++)
    for (size_t c = 0; c < 40; c++)
      for (auto &[left, result] : {std::pair(&dx, &got), {&dl, &got_long}}) {
        float want = 0; // terms in the order of the left matrix's columns, each rounded once
        for (size_t k = 0; k < 200; k++) want = std::fma((*left)[r * 200 + k], dy[k * 40 + c], want);
        ASSERT_EQ((*result)[r * 40 + c], want) << r << ", " << c;
      }
  HdSparse *sum, *transposed;
  OK(m, hd_sparse_add(3, x, -0.5, longer, &sum));
  OK(m, hd_sparse_transpose(longer, &transposed));
  auto got_sum = Dense<float>(m, sum), got_transposed = Dense<float>(m, transposed);
  for (size_t r = 0; r < 60; r++)
    for (size_t c = 0; c < 200; c++) {
      float a = dx[r * 200 + c], b = dl[r * 200 + c];
      ASSERT_EQ(got_sum[r * 200 + c], std::fma(-0.5f, b, 3 * a));
      ASSERT_EQ(got_transposed[c * 60 + r], b);
    }
  for (HdSparse *s : {x, y, longer, product, with_long_rows, sum, transposed}) hd_sparse_free(s);
}

// --- Jacobi ---

template <class T> void ExpectInverses(Machine &m, int32_t b) {
  // Block 0 wants its rows exchanged, 1 is any, 2 is singular, 3 is not there, 4 has a NaN.
  std::mt19937 random{uint32_t(b)};
  std::vector<int32_t> row = {0, 1, 1, 2, 3, 4}, col = {0, 1, 0, 2, 1, 4};
  std::vector<T> values(6 * size_t(b * b));
  auto block = [&](int k, int i, int j) -> T & { return values[size_t((k * b + i) * b + j)]; };
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) {
      block(0, i, j) = i + j == b - 1 ? T(i + 2) : T(0);
      block(1, i, j) = T(int(random() % 100) - 50) / 10 + (i == j ? 8 : 0);
      block(2, i, j) = b == 1 ? T(0) : T(j + 1); // equal rows
      block(5, i, j) = i == j ? std::numeric_limits<T>::quiet_NaN() : T(0);
    }
  HdSparse *s = New(m, 5, 5, b, row, col, values), *inverse;
  OK(m, hd_sparse_jacobi(s, &inverse));
  ASSERT_EQ(hd_sparse_count(inverse), 5);
  EXPECT_EQ(m.Fetch<int32_t>(hd_sparse_columns(inverse)), (std::vector<int32_t>{0, 1, 2, 3, 4}));
  auto got = m.Fetch<T>(hd_sparse_values(inverse));
  for (int k = 0; k < 5; k++)
    for (int i = 0; i < b; i++)
      for (int j = 0; j < b; j++) {
        T x = 0;
        for (int n = 0; n < b; n++) x += got[size_t((k * b + i) * b + n)] * (k < 2 ? block(k, n, j) : T(n == j));
        EXPECT_NEAR(double(x), i == j, k < 2 ? 20 * double(std::numeric_limits<T>::epsilon()) : 0)
            << b << " block " << k;
      }
  hd_sparse_free(s);
  hd_sparse_free(inverse);
}

TEST(Sparse, InvertsTheBlocksOfTheDiagonal) {
  Machine m;
  for (int32_t b = 1; b <= HD_SPARSE_MAX_BLOCK; b++) ExpectInverses<double>(m, b);
  for (int32_t b : {1, 3}) ExpectInverses<float>(m, b);
}

TEST(Sparse, RefusesWhatDoesNotFit) {
  Machine m;
  HdSparse *out = nullptr, *s = New<float>(m, 3, 2, 2, {0}, {1}, {1, 2, 3, 4});
  HdSparse *csr = New<float>(m, 2, 3, 1, {0}, {1}, {1}), *wide = New<double>(m, 2, 3, 2, {0}, {1}, {1, 2, 3, 4});
  HdArray i2 = m.Of<int32_t>({0, 1}), far = m.Of<int32_t>({0, 2}), f2 = m.New<float>(2), f8 = m.New<float>(8);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 2, 7, i2, i2, f2, &out), HD_ERR_ARG);
  EXPECT_EQ(hd_sparse_new(m.algorithms, -1, 2, 1, i2, i2, f2, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 1ll << 40, 1, i2, i2, f2, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 2, 2, i2, i2, f2, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 2, 1, i2, i2, i2, &out), HD_ERR_TYPE);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 2, 1, f2, i2, f2, &out), HD_ERR_TYPE);
  EXPECT_EQ(hd_sparse_new(m.algorithms, 2, 2, 2, i2, far, f8, &out), HD_ERR_ARG);
  EXPECT_STREQ(hd_context_error(m.ctx)->detail, "triplet 1 lies outside of 2 x 2 blocks");
  EXPECT_EQ(hd_sparse_multiply(s, csr, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_multiply(s, wide, &out), HD_ERR_TYPE);
  EXPECT_EQ(hd_sparse_multiply(s, s, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_add(1, s, 1, csr, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_jacobi(s, &out), HD_ERR_SHAPE);
  EXPECT_EQ(hd_sparse_apply(1, s, f8, 0, f8), HD_ERR_SHAPE);
  EXPECT_EQ(out, nullptr);
  for (HdSparse *each : {s, csr, wide}) hd_sparse_free(each);
}

} // namespace
