"""bench/peers/numba_peer.py -- some of the workloads in Numba beside the same in C, in turn, on the same memory.

    clang-22 -O3 -march=native -ffast-math -fveclib=libmvec -fopenmp -shared -fPIC -o peers.so bench/peers.c -lmvec -lm
    PYTHON bench/peers/numba_peer.py peers.so [ROUNDS]

PYTHON needs numba and numpy. One thread, CPU time. Results must agree. `clang / numba` compares with `clang / default` of
./dev bench: both are taken against the same library.
"""
import ctypes
import math
import os
import sys
import time

import numba
import numpy as np
from numba import njit

fast = njit(fastmath=True, error_model="numpy")


@fast
def saxpy(a, x, y):
    for i in range(x.size):
        y[i] = a * x[i] + y[i]


@fast
def normal(x):
    one = np.float32(1)
    k = one / (one + np.float32(0.2316419) * abs(x))
    p = np.float32(-1.821255978) + k * np.float32(1.330274429)
    p = k * (np.float32(0.31938153) + k * (np.float32(-0.356563782) + k * (np.float32(1.781477937) + k * p)))
    upper = np.float32(0.398942280) * math.exp(np.float32(-0.5) * x * x) * p
    return upper if x < 0 else one - upper


@fast
def black_scholes(s, k, t, r, v, call, put):
    for i in range(s.size):
        vt = v * math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (r + np.float32(0.5) * v * v) * t[i]) / vt
        discounted = k[i] * math.exp(-r * t[i])
        c = s[i] * normal(d1) - discounted * normal(d1 - vt)
        call[i] = c
        put[i] = c + discounted - s[i]


@fast
def mandelbrot(n, limit, out):
    for r in range(n):
        for c in range(n):
            cx = np.float32(-2) + np.float32(3) * np.float32(c) / np.float32(n)
            cy = np.float32(-1.5) + np.float32(3) * np.float32(r) / np.float32(n)
            x = y = np.float32(0)
            i = 0
            while i < limit and x * x + y * y < np.float32(4):
                x, y = x * x - y * y + cx, np.float32(2) * x * y + cy
                i += 1
            out[r, c] = i


@fast
def nbody(x, softening, a):
    n = x.shape[0]
    for i in range(n):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        ax = ay = az = np.float32(0)
        for j in range(n):
            dx, dy, dz = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz
            s = np.float32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            s = s * s * s
            ax += dx * s
            ay += dy * s
            az += dz * s
        a[i, 0], a[i, 1], a[i, 2] = ax, ay, az


@fast
def jacobi(u, v):
    for r in range(1, u.shape[0] - 1):
        for c in range(1, u.shape[1] - 1):
            v[r, c] = np.float32(0.25) * (u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1])


@fast
def histogram(key, bins):
    for i in range(key.size):
        bins[key[i]] += 1


@fast
def total(x):
    s = np.float32(0)
    for i in range(x.size):
        s += x[i]
    return s


def workloads(lib, rng):
    """name, Numba's turn, C's turn, the result, the difference allowed."""
    f, i32, i64 = ctypes.c_float, ctypes.c_int32, ctypes.c_int64

    def at(a):
        return ctypes.c_void_p(a.ctypes.data)

    def uniform(low, high, *shape):
        return rng.uniform(low, high, shape).astype(np.float32)

    n = 10_000_000
    x, y = uniform(0, 1, n), uniform(0, 1, n)
    a = np.float32(0)  # so that y stays what it is, and can be compared
    yield ("saxpy", lambda: saxpy(a, x, y), lambda: lib.peer_saxpy(i64(n), f(0), at(x), at(y)), lambda: y, 1e-5)

    m = 4_000_000
    s, k, t = uniform(5, 30, m), uniform(1, 100, m), uniform(0.25, 10, m)
    call, put = np.zeros(m, np.float32), np.zeros(m, np.float32)
    rate, vol = np.float32(0.02), np.float32(0.3)
    yield ("Black-Scholes", lambda: black_scholes(s, k, t, rate, vol, call, put),
           lambda: lib.peer_black_scholes(i64(m), at(s), at(k), at(t), f(rate), f(vol), at(call), at(put)),
           lambda: call, 1e-3)

    image = np.zeros((1024, 1024), np.int32)
    yield ("mandelbrot", lambda: mandelbrot(1024, 256, image),
           lambda: lib.peer_mandelbrot(i32(1024), i32(1024), i32(256), at(image)), lambda: image, None)

    body, acc, soft = uniform(-1, 1, 4096, 3), np.zeros((4096, 3), np.float32), np.float32(1e-3)
    yield ("n-body", lambda: nbody(body, soft, acc), lambda: lib.peer_nbody(i32(4096), at(body), f(soft), at(acc)),
           lambda: acc, 1e-3)

    u = uniform(0, 1, 2048, 2048)
    v = u.copy()

    def sweeps(one):
        for _ in range(10):
            one(u, v)

    yield ("Jacobi stencil", lambda: sweeps(jacobi),
           lambda: sweeps(lambda p, q: lib.peer_jacobi(i32(2048), i32(2048), at(p), at(q))), lambda: v, 1e-5)

    key, bins = rng.integers(0, 256, n, dtype=np.int32), np.zeros(256, np.int32)

    def count(one):
        bins[:] = 0
        one()

    yield ("histogram", lambda: count(lambda: histogram(key, bins)),
           lambda: count(lambda: lib.peer_histogram(i64(n), at(key), i32(256), at(bins))), lambda: bins, 0)

    lib.peer_sum.restype = f
    sums = np.zeros(1)

    def add(one):
        sums[0] = one()

    yield ("sum", lambda: add(lambda: total(x)), lambda: add(lambda: lib.peer_sum(i64(n), at(x))), lambda: sums, 1e-3)


def check(name, ours, theirs, result, eps):
    ours()
    got = result().astype(np.float64).copy()
    theirs()
    want = result().astype(np.float64)
    if eps is None:
        off, eps = np.mean(got != want), 1e-2
    else:
        off = np.max(np.abs(got - want) / (np.abs(want) + np.mean(np.abs(want))))
    if not off <= eps:
        sys.exit(f"{name}: results differ by {off}")


def main():
    lib, rounds = ctypes.CDLL(os.path.abspath(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else 11
    lib.peer_threads(1)
    print(f"numba {numba.__version__}, numpy {np.__version__}; milliseconds, one thread")
    for name, ours, theirs, result, eps in workloads(lib, np.random.default_rng(1)):
        check(name, ours, theirs, result, eps)
        runs, took = (ours, theirs), ([], [])
        for r in range(rounds + 1):
            for k in (0, 1) if r % 2 else (1, 0):
                start = time.process_time()
                runs[k]()
                if r:
                    took[k].append(1e3 * (time.process_time() - start))
        ratio = np.quantile(np.array(took[1]) / np.array(took[0]), (0.5, 0.25, 0.75))
        print(f"{name:16} numba {np.median(took[0]):8.2f}  clang {np.median(took[1]):8.2f}  "
              f"clang / numba {ratio[0]:5.2f} ({ratio[1]:.2f} .. {ratio[2]:.2f})")


main()
