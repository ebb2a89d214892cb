# Makes the .npy files beside it, which tests/algorithms/sparse_test.cc reads: block matrices from triplets, and what SciPy
# makes of them in f64. Numbers are multiples of 1/8, so that sums and products are exact in any order. Nothing in the build
# runs it.
#
#     python3 make.py
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl

rng = np.random.default_rng(6)


def save(name, a, dtype):
    np.save(name + ".npy", np.ascontiguousarray(a, dtype=dtype))


def triplets(name, rows, cols, block, n):
    """n triplets, some at one place; the matrix of scalars, and the pattern of the blocks."""
    row, col = rng.integers(0, rows, n), rng.integers(0, cols, n)
    row[row == 2] = 3  # an empty row
    values = rng.integers(-16, 17, (n, block, block)) / 8
    r = (row[:, None, None] * block + np.arange(block)[:, None] + 0 * values).astype(int)
    c = (col[:, None, None] * block + np.arange(block) + 0 * values).astype(int)
    m = sp.coo_array((values.ravel(), (r.ravel(), c.ravel())), (rows * block, cols * block)).tocsr()
    save(name + "_row", row, np.int32)
    save(name + "_col", col, np.int32)
    save(name + "_values", values, np.float64)
    return m, sp.coo_array((np.ones(n), (row, col)), (rows, cols)).tocsr()


def save_matrix(name, m, pattern):
    pattern.sort_indices()
    save(name + "_offsets", pattern.indptr, np.int32)
    save(name + "_columns", pattern.indices, np.int32)
    save(name + "_dense", m.toarray(), np.float64)


for block in (1, 3):
    b = str(block)
    x, px = triplets("x" + b, 8, 6, block, 25)
    y, py = triplets("y" + b, 6, 7, block, 20)
    z, pz = triplets("z" + b, 8, 6, block, 18)
    save_matrix("x" + b, x, px)
    save_matrix("transposed" + b, x.T, px.T.tocsr())
    save_matrix("product" + b, x @ y, px @ py)
    save_matrix("sum" + b, 0.5 * x - 2 * z, px + pz)

# Systems: a positive definite one of blocks of 2, and one that is not symmetric.
n = 24
for name, skew in (("positive", 0.0), ("skew", 0.75)):
    row, col, values = [], [], []
    for i in range(n):
        for j in (i - 5, i - 1, i, i + 1, i + 5):
            if 0 <= j < n:
                row.append(i)
                col.append(j)
                d = 4.5 + i % 3 if i == j else -1.0 + skew * np.sign(j - i)
                values.append([[d, 0.25 * (i == j)], [0.25 * (i == j), d + 0.5 * (i == j)]])
    values = np.array(values)
    r = (np.array(row)[:, None, None] * 2 + np.arange(2)[:, None] + 0 * values).astype(int)
    c = (np.array(col)[:, None, None] * 2 + np.arange(2) + 0 * values).astype(int)
    m = sp.coo_array((values.ravel(), (r.ravel(), c.ravel())), (2 * n, 2 * n)).tocsc()
    rhs = rng.integers(-16, 17, 2 * n) / 8
    save(name + "_row", row, np.int32)
    save(name + "_col", col, np.int32)
    save(name + "_values", values, np.float64)
    save(name + "_rhs", rhs, np.float64)
    save(name + "_solution", sl.spsolve(m, rhs), np.float64)
