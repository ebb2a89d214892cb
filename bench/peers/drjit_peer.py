"""bench/peers/drjit_peer.py -- the workloads in Dr.Jit, by its LLVM backend, on the flat arrays that the others have.

LLVM's library is that of DRJIT_LIBLLVM_PATH, else the newest of Debian's.
"""
import glob
import os

if "DRJIT_LIBLLVM_PATH" not in os.environ:
    found = sorted(glob.glob("/usr/lib/llvm-*/lib/libLLVM.so.1")) or sorted(glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*"))
    if found:
        os.environ["DRJIT_LIBLLVM_PATH"] = found[-1]

import drjit as dr
import numpy as np
from drjit.llvm import Array3f, Array4f, Bool, Float, Int, UInt

THREADS = int(os.environ["PEER_THREADS"])
dr.set_thread_count(THREADS)

VERSION = f"drjit {dr.__version__}, {os.path.basename(os.path.realpath(os.environ.get('DRJIT_LIBLLVM_PATH', 'no LLVM')))}"
CANNOT = {
    "mesh_rays": "no mesh queries on the CPU",
    "mesh_distances": "no mesh queries",
    "densities": "no hash grid",
}


def flat(a):
    """A copy: an array of NumPy's would be borrowed, and written to."""
    return (UInt if a.dtype == np.int32 else Float)(a.reshape(-1).copy().astype(np.uint32 if a.dtype == np.int32 else np.float32))


def calls(f):
    """f gives arrays that are not evaluated yet."""
    kept = []

    def run():
        r = f()
        dr.eval(r)
        dr.sync_thread()
        kept[:] = r if isinstance(r, tuple) else (r,)
    return run, lambda: tuple(a.numpy() for a in kept)


def saxpy(a, x, y):
    a, x, y = dr.opaque(Float, a), flat(x), [flat(y)]

    def run():
        y[0] = a * x + y[0]
        dr.eval(y[0])
        dr.sync_thread()
    return run, lambda: y[0].numpy()


def normal(x):
    k = 1 / (1 + 0.2316419 * abs(x))
    p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    upper = 0.398942280 * dr.exp(-0.5 * x * x) * p
    return dr.select(x < 0, upper, 1 - upper)


def black_scholes(s, k, t, r, v):
    s, k, t = flat(s), flat(k), flat(t)

    def f():
        vt = v * dr.sqrt(t)
        d1 = (dr.log(s / k) + (r + 0.5 * v * v) * t) / vt
        discounted = k * dr.exp(-r * t)
        c = s * normal(d1) - discounted * normal(d1 - vt)
        return c, c + discounted - s
    return calls(f)


@dr.syntax
def k_mandelbrot(n, limit):
    k = dr.arange(UInt, n * n)
    cx = -2 + 3 * Float(k % n) / n
    cy = -1.5 + 3 * Float(k // n) / n
    x = Float(0)
    y = Float(0)
    i = Int(0)
    while (i < limit) & (x * x + y * y < 4):
        t = x * x - y * y + cx
        y = 2 * x * y + cy
        x = t
        i += 1
    return i


def mandelbrot(n, limit):
    return calls(lambda: k_mandelbrot(int(n), int(limit)))


@dr.syntax
def k_nbody(x, n, softening):
    p = dr.gather(Array3f, x, dr.arange(UInt, n))
    acc = dr.zeros(Array3f, n)
    j = UInt(0)
    while j < n:
        d = dr.gather(Array3f, x, j) - p
        s = dr.rsqrt(dr.squared_norm(d) + softening)
        acc += d * (s * s * s)
        j += 1
    return acc


def into(target, n, value):
    """Stores a vector for each element, as three floats in a row."""
    dr.scatter(target, value, dr.arange(UInt, n))
    return target


def nbody(x, softening):
    n, x, a = len(x), flat(x), dr.zeros(Float, x.size)
    dr.make_opaque(a)
    return calls(lambda: into(a, n, k_nbody(x, n, softening)))


def jacobi(u, sweeps):
    n = len(u)
    pair, m = [flat(u), flat(u)], n - 2

    def sweep(u, v):
        k = dr.arange(UInt, m * m)
        at = (k // m + 1) * n + k % m + 1
        near = [dr.gather(Float, u, at + d) for d in (UInt(2**32 - n), n, UInt(2**32 - 1), 1)]
        dr.scatter(v, 0.25 * (near[0] + near[1] + near[2] + near[3]), at)
        dr.eval(v)

    def run():
        for k in range(int(sweeps)):
            sweep(pair[k % 2], pair[1 - k % 2])
        dr.sync_thread()
    return run, lambda: pair[0].numpy()


def cell_of(p, res):
    return [dr.clip(Int(p[k] * res), 0, res - 1) for k in range(3)]


@dr.syntax
def k_density(order, first, n, res, ih2):
    p = dr.gather(Array3f, order, dr.arange(UInt, n))
    cx, cy, cz = cell_of(p, res)
    x0, x1 = dr.maximum(cx - 1, 0), dr.minimum(cx + 1, res - 1)
    s = Float(0)
    z = dr.maximum(cz - 1, 0)
    while z < dr.minimum(cz + 2, res):
        y = dr.maximum(cy - 1, 0)
        while y < dr.minimum(cy + 2, res):
            row = (z * res + y) * res
            j = dr.gather(UInt, first, row + x0)
            end = dr.gather(UInt, first, row + x1 + 1)
            while j < end:
                q = dr.maximum(1 - dr.squared_norm(dr.gather(Array3f, order, j) - p) * ih2, 0)
                s += q * q * q
                j += 1
            y += 1
        z += 1
    return s


def particles(x, v, dt, res, h):
    n, res = len(x), int(res)
    x, v = flat(x), flat(v)

    def f():
        k = dr.arange(UInt, n)
        p = dr.gather(Array3f, x, k) + dt * dr.gather(Array3f, v, k)
        p = dr.select(p < 0, -p, p)
        p = dr.select(p > 1, 2 - p, p)
        cx, cy, cz = cell_of(p, res)
        cell, count = UInt((cz * res + cy) * res + cx), dr.zeros(UInt, res**3 + 1)
        slot = dr.scatter_inc(count, cell)
        dr.eval(p, cell, slot, count)
        first = dr.prefix_sum(count)
        at = dr.gather(UInt, first, cell) + slot
        order, ids = dr.zeros(Float, 3 * n), dr.zeros(UInt, n)
        dr.scatter(order, p, at)
        dr.scatter(ids, k, at)
        dr.eval(order, ids)
        rho = dr.zeros(Float, n)
        dr.scatter(rho, k_density(order, first, n, res, 1 / (h * h)), ids)
        return rho
    return calls(f)


def blend(a, b, k):
    h = dr.maximum(k - abs(a - b), 0) / k
    return dr.minimum(a, b) - 0.25 * h * h * k


def scene(p):
    q = abs(p + Array3f(0, 0.25, 0)) - Array3f(0.6, 0.5, 0.4)
    box = dr.norm(dr.maximum(q, 0)) + dr.minimum(dr.maximum(q.x, dr.maximum(q.y, q.z)), 0)
    d = blend(p.y + 1, box - 0.08, 0.25)
    for i in range(4):
        d = blend(d, dr.norm(p - Array3f(-1.4 + 0.95 * i, 0.35, 0.7 - 0.45 * i)) - 0.33, 0.3)
    ring, y = dr.sqrt(p.x * p.x + p.z * p.z) - 0.75, p.y - 0.85
    return dr.minimum(d, dr.sqrt(ring * ring + y * y) - 0.14)


@dr.syntax
def k_sdf(n):
    k = dr.arange(UInt, n * n)
    r, c = Float(k // n), Float(k % n)
    eye = Array3f(0, 0.7, 4)
    ray = dr.normalize(Array3f((2 * c - n) / n, (n - 2 * r) / n - 0.2, -1.5))
    t = Float(0)
    hit = Bool(False)
    go = Bool(True)
    i = Int(0)
    while go & (i < 96):
        d = scene(eye + ray * t)
        hit = d < 1e-3
        t = dr.select(hit, t, t + d)
        go = ~hit & (t <= 20)
        i += 1
    grey = Float(0.1)
    if hit:
        p = eye + ray * t
        e = 1e-2
        a = scene(p + Array3f(e, -e, -e))
        b = scene(p + Array3f(-e, -e, e))
        g = scene(p + Array3f(-e, e, -e))
        d = scene(p + Array3f(e, e, e))
        light = Array3f(0.57735)
        lit = dr.dot(dr.normalize(Array3f(a - b - g + d, g + d - a - b, b - a - g + d)), light)
        s = Float(1)
        t = Float(0.05)
        go = lit > 0
        i = Int(0)
        while go & (i < 48):
            d = scene(p + light * t)
            dark = d < 1e-3
            s = dr.select(dark, 0, dr.minimum(s, 8 * d / t))
            t += d
            go = ~dark & (t <= 6)
            i += 1
        grey = 0.1 + 0.9 * dr.maximum(lit, 0) * s
    return grey


def sdf(n):
    return calls(lambda: k_sdf(int(n)))


def transforms(pose, body, x):
    n, body, x, out = len(x), flat(body), flat(x), dr.zeros(Float, x.size)
    pose = flat(pose)
    dr.make_opaque(out)

    def f():
        b = [dr.gather(Float, pose, body * 7 + k) for k in range(7)]
        p, v, u = Array3f(b[0], b[1], b[2]), dr.gather(Array3f, x, dr.arange(UInt, n)), Array3f(b[3], b[4], b[5])
        t = 2 * dr.cross(u, v)
        return into(out, n, p + v + b[6] * t + dr.cross(u, t))
    return calls(f)


def histogram(key, bins):
    key = flat(key)

    def f():
        bin = dr.zeros(UInt, int(bins))
        dr.scatter_add(bin, UInt(1), key)
        return bin
    return calls(f)


def sum(x):
    x = flat(x)
    return calls(lambda: dr.sum(x))


def cholesky(a, b):
    n, m = b.shape
    a, b, x = flat(a), flat(b), dr.zeros(Float, n * m)
    dr.make_opaque(x)

    def f():
        i, four = dr.arange(UInt, n), m * m // 4  # the matrix as packets of four
        A = [e for k in range(four) for e in dr.gather(Array4f, a, i * four + k)]
        l, y, z = [[None] * m for _ in range(m)], [None] * m, [None] * m
        for r in range(m):
            d = A[r * (m + 1)]
            for c in range(r):
                s = A[r * m + c]
                for k in range(c):
                    s = dr.fma(-l[r][k], l[c][k], s)
                l[r][c] = s * y[c]
                d = dr.fma(-l[r][c], l[r][c], d)
            y[r] = dr.rsqrt(d)
        for r in range(m):
            s = dr.gather(Float, b, i * m + r)
            for k in range(r):
                s = dr.fma(-l[r][k], z[k], s)
            z[r] = s * y[r]
        for r in reversed(range(m)):
            s = z[r]
            for k in range(r + 1, m):
                s = dr.fma(-l[k][r], z[k], s)
            z[r] = s * y[r]
        dr.eval(z)  # else the kernel that makes them runs once for each scatter
        for r in range(m):
            dr.scatter(x, z[r], i * m + r)
        return x
    return calls(f)
