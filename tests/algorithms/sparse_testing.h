// tests/algorithms/sparse_testing.h -- sparse matrices from vectors and from SciPy's files.
#ifndef TESTS_ALGORITHMS_SPARSE_TESTING_H
#define TESTS_ALGORITHMS_SPARSE_TESTING_H

#include "heddle/sparse.h"
#include "tests/algorithms/algorithms_fixture.h"
#include "tools/npy/npy.h"

template <class T> std::vector<T> Npy(const std::string &name) {
  NpyReader r;
  char why[OUT_WHY];
  std::string path = "tests/algorithms/scipy/" + name + ".npy";
  EXPECT_EQ(npy_open(path.c_str(), &r, why), HD_OK) << why;
  EXPECT_EQ(r.type.size, sizeof(T)) << path;
  std::vector<T> all(r.size / sizeof(T));
  EXPECT_EQ(npy_read(&r, path.c_str(), all.data(), why), HD_OK) << why;
  npy_close(&r);
  return all;
}

template <class T>
HdSparse *New(Machine &m, int64_t rows, int64_t cols, int32_t block, const std::vector<int32_t> &row,
              const std::vector<int32_t> &col, const std::vector<T> &values) {
  HdSparse *s = nullptr;
  EXPECT_EQ(hd_sparse_new(m.algorithms, rows, cols, block, m.Of(row), m.Of(col), m.Of(values), &s), HD_OK) << m.Why();
  return s;
}

inline HdSparse *FromNpy(Machine &m, const std::string &name, int64_t rows, int64_t cols, int32_t block) {
  return New(m, rows, cols, block, Npy<int32_t>(name + "_row"), Npy<int32_t>(name + "_col"), Npy<double>(name + "_values"));
}

#endif
