# Makes the .npy files beside it, which tests/lib/library_decompose_test.cc reads: matrices of all conditions, and what
# NumPy (LAPACK) makes of them in f64. Nothing in the build runs it.
#
#     python3 make.py
import numpy as np

rng = np.random.default_rng(20)
N = 40


def orthogonal(n):
    q, r = np.linalg.qr(rng.standard_normal((n, n)))
    return q * np.sign(np.diag(r))


def matrices(n):
    """Random ones, then ones with singular values spread over up to nine powers of ten."""
    out = [rng.uniform(-2, 2, (n, n)) for _ in range(N // 2)]
    for k in range(N - N // 2):
        s = 10.0 ** rng.uniform(-9 * k / (N // 2), 0, n)
        out.append(orthogonal(n) @ np.diag(s) @ orthogonal(n))
    return np.array(out)


def save(name, a):
    np.save(name + ".npy", np.ascontiguousarray(a, dtype=np.float64))


for n in (2, 3, 6):
    a = matrices(n)
    save(f"general{n}", a)
    save(f"singular_values{n}", [np.linalg.svd(m, compute_uv=False) for m in a])
    save(f"determinant{n}", [np.linalg.det(m) for m in a])
    b = a[: N // 2]
    save(f"solve{n}", [np.linalg.solve(m, np.arange(1.0, n + 1)) for m in b])
    s = np.array([m @ m.T + (0 if k % 2 else 1) * np.eye(n) for k, m in enumerate(b)])
    save(f"positive{n}", s)
    save(f"cholesky{n}", [np.linalg.cholesky(m) for m in s])
    t = np.array([m + m.T for m in a])
    save(f"symmetric{n}", t)
    save(f"eigenvalues{n}", [np.linalg.eigvalsh(m) for m in t])
    q, r = zip(*(np.linalg.qr(m) for m in b))
    sign = [np.sign(np.diag(x)) for x in r]
    save(f"qr{n}", [np.hstack((x * s, (y.T * s).T)) for x, y, s in zip(q, r, sign)])
