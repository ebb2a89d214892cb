"""bench/peers/numba_peer.py -- the workloads in Numba, with its fast math; its loops in parallel where it may use threads."""
import math
import os

THREADS = int(os.environ["PEER_THREADS"])
os.environ.update(NUMBA_NUM_THREADS=str(THREADS), KMP_BLOCKTIME="0", OMP_WAIT_POLICY="passive")

import numba
import numpy as np
from numba import njit, prange

VERSION = f"numba {numba.__version__}"
CANNOT = {
    "mesh_rays": "no mesh queries",
    "mesh_distances": "no mesh queries",
    "densities": "no hash grid",
}

options = dict(fastmath=True, error_model="numpy")
fast = njit(parallel=THREADS > 1, **options)
func = njit(**options)
f4 = np.float32


def calls(kernel, *args, result):
    return lambda: kernel(*args), lambda: result


@fast
def k_saxpy(a, x, y):
    for i in prange(x.size):
        y[i] = a * x[i] + y[i]


def saxpy(a, x, y):
    return calls(k_saxpy, f4(a), x, y, result=y)


@func
def normal(x):
    k = f4(1) / (f4(1) + f4(0.2316419) * abs(x))
    p = k * (f4(0.31938153) + k * (f4(-0.356563782) + k * (f4(1.781477937)
                                                           + k * (f4(-1.821255978) + k * f4(1.330274429)))))
    upper = f4(0.398942280) * math.exp(f4(-0.5) * x * x) * p
    return upper if x < 0 else f4(1) - upper


@fast
def k_black_scholes(s, k, t, r, v, call, put):
    for i in prange(s.size):
        vt = v * math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (r + f4(0.5) * v * v) * t[i]) / vt
        discounted = k[i] * math.exp(-r * t[i])
        c = s[i] * normal(d1) - discounted * normal(d1 - vt)
        call[i] = c
        put[i] = c + discounted - s[i]


def black_scholes(s, k, t, r, v):
    call, put = np.zeros_like(s), np.zeros_like(s)
    return calls(k_black_scholes, s, k, t, f4(r), f4(v), call, put, result=(call, put))


@fast
def k_mandelbrot(limit, out):
    n = out.shape[0]
    for r in prange(n):
        for c in range(n):
            cx = f4(-2) + f4(3) * f4(c) / f4(n)
            cy = f4(-1.5) + f4(3) * f4(r) / f4(n)
            x = f4(0)
            y = f4(0)
            i = 0
            while i < limit and x * x + y * y < f4(4):
                x, y = x * x - y * y + cx, f4(2) * x * y + cy
                i += 1
            out[r, c] = i


def mandelbrot(n, limit):
    out = np.zeros((int(n), int(n)), np.int32)
    return calls(k_mandelbrot, int(limit), out, result=out)


@fast
def k_nbody(x, softening, a):
    n = x.shape[0]
    for i in prange(n):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        ax = f4(0)
        ay = f4(0)
        az = f4(0)
        for j in range(n):
            dx, dy, dz = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz
            s = f4(1) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            s = s * s * s
            ax += dx * s
            ay += dy * s
            az += dz * s
        a[i, 0], a[i, 1], a[i, 2] = ax, ay, az


def nbody(x, softening):
    a = np.zeros_like(x)
    return calls(k_nbody, x, f4(softening), a, result=a)


@fast
def k_jacobi(u, v):
    for r in prange(1, u.shape[0] - 1):
        for c in range(1, u.shape[1] - 1):
            v[r, c] = f4(0.25) * (u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1])


def jacobi(u, sweeps):
    pair = [u, u.copy()]

    def run():
        for k in range(int(sweeps)):
            k_jacobi(pair[k % 2], pair[1 - k % 2])
    return run, lambda: pair[0]


@fast
def k_particles(x, v, dt, res, h, x2, cell, first, at, order, ids, rho):
    n = x.shape[0]
    cells = res * res * res
    for i in prange(n):
        c = 0
        for k in range(2, -1, -1):
            p = x[i, k] + dt * v[i, k]
            p = -p if p < f4(0) else p
            p = f4(2) - p if p > f4(1) else p
            x2[i, k] = p
            c = c * res + min(max(int(p * f4(res)), 0), res - 1)
        cell[i] = c
    first[:] = 0
    for i in range(n):
        first[cell[i] + 1] += 1
    for c in range(cells):
        at[c] = first[c]
        first[c + 1] += first[c]
    for i in range(n):
        k = at[cell[i]]
        at[cell[i]] = k + 1
        ids[k] = i
        order[k, 0], order[k, 1], order[k, 2] = x2[i, 0], x2[i, 1], x2[i, 2]
    ih2 = f4(1) / (h * h)
    for k in prange(n):
        px, py, pz = order[k, 0], order[k, 1], order[k, 2]
        c = cell[ids[k]]
        cx, cy, cz = c % res, c // res % res, c // (res * res)
        x0, x1 = max(cx - 1, 0), min(cx + 1, res - 1)
        s = f4(0)
        for z in range(max(cz - 1, 0), min(cz + 2, res)):
            for y in range(max(cy - 1, 0), min(cy + 2, res)):
                row = (z * res + y) * res
                for j in range(first[row + x0], first[row + x1 + 1]):
                    dx, dy, dz = order[j, 0] - px, order[j, 1] - py, order[j, 2] - pz
                    q = max(f4(1) - (dx * dx + dy * dy + dz * dz) * ih2, f4(0))
                    s += q * q * q
        rho[ids[k]] = s


def particles(x, v, dt, res, h):
    n, res = len(x), int(res)
    cell, first, at, ids = (np.zeros(m, np.int32) for m in (n, res**3 + 1, res**3, n))
    rho = np.zeros(n, f4)
    return calls(k_particles, x, v, f4(dt), res, f4(h), np.zeros_like(x), cell, first, at, np.zeros_like(x), ids, rho,
                 result=rho)


@func
def length(x, y, z):
    return math.sqrt(x * x + y * y + z * z)


@func
def blend(a, b, k):
    h = max(k - abs(a - b), f4(0)) / k
    return min(a, b) - f4(0.25) * h * h * k


@func
def box(x, y, z):
    qx, qy, qz = abs(x) - f4(0.6), abs(y) - f4(0.5), abs(z) - f4(0.4)
    return length(max(qx, f4(0)), max(qy, f4(0)), max(qz, f4(0))) + min(max(qx, max(qy, qz)), f4(0))


@func
def scene(x, y, z):
    d = y + f4(1)
    d = blend(d, box(x, y + f4(0.25), z) - f4(0.08), f4(0.25))
    for i in range(4):
        cx, cz = f4(-1.4) + f4(0.95) * f4(i), f4(0.7) - f4(0.45) * f4(i)
        d = blend(d, length(x - cx, y - f4(0.35), z - cz) - f4(0.33), f4(0.3))
    q, h = math.sqrt(x * x + z * z) - f4(0.75), y - f4(0.85)
    return min(d, math.sqrt(q * q + h * h) - f4(0.14))


@func
def shadow(x, y, z, light):
    r = f4(1)
    t = f4(0.05)
    for i in range(48):
        d = scene(x + light * t, y + light * t, z + light * t)
        if d < f4(1e-3):
            return f4(0)
        r = min(r, f4(8) * d / t)
        t += d
        if t > f4(6):
            break
    return r


@fast
def k_sdf(image):
    n = image.shape[0]
    size = f4(n)
    for r in prange(n):
        for c in range(n):
            dx, dy, dz = (f4(2) * f4(c) - size) / size, (size - f4(2) * f4(r)) / size - f4(0.2), f4(-1.5)
            il = f4(1) / length(dx, dy, dz)
            dx, dy, dz = dx * il, dy * il, dz * il
            t = f4(0)
            hit = False
            for i in range(96):
                d = scene(dx * t, f4(0.7) + dy * t, f4(4) + dz * t)
                if d < f4(1e-3):
                    hit = True
                    break
                t += d
                if t > f4(20):
                    break
            grey = f4(0.1)
            if hit:
                px, py, pz, e, light = dx * t, f4(0.7) + dy * t, f4(4) + dz * t, f4(1e-2), f4(0.57735)
                a, b = scene(px + e, py - e, pz - e), scene(px - e, py - e, pz + e)
                g, d = scene(px - e, py + e, pz - e), scene(px + e, py + e, pz + e)
                nx, ny, nz = a - b - g + d, g + d - a - b, b - a - g + d
                lit = light * (nx + ny + nz) / length(nx, ny, nz)
                if lit > f4(0):
                    grey += f4(0.9) * lit * shadow(px, py, pz, light)
            image[r, c] = grey


def sdf(n):
    image = np.zeros((int(n), int(n)), f4)
    return calls(k_sdf, image, result=image)


@fast
def k_transforms(pose, body, x, out):
    for i in prange(x.shape[0]):
        b = body[i]
        vx, vy, vz = x[i, 0], x[i, 1], x[i, 2]
        qx, qy, qz, qw = pose[b, 3], pose[b, 4], pose[b, 5], pose[b, 6]
        tx, ty, tz = f4(2) * (qy * vz - qz * vy), f4(2) * (qz * vx - qx * vz), f4(2) * (qx * vy - qy * vx)
        out[i, 0] = pose[b, 0] + vx + qw * tx + (qy * tz - qz * ty)
        out[i, 1] = pose[b, 1] + vy + qw * ty + (qz * tx - qx * tz)
        out[i, 2] = pose[b, 2] + vz + qw * tz + (qx * ty - qy * tx)


def transforms(pose, body, x):
    out = np.zeros_like(x)
    return calls(k_transforms, pose, body, x, out, result=out)


@fast
def k_histogram(key, mine, bin):  # bins of its own for each thread
    parts, n = mine.shape[0], key.size
    for p in prange(parts):
        mine[p] = 0
        for i in range(n * p // parts, n * (p + 1) // parts):
            mine[p, key[i]] += 1
    for b in range(bin.size):
        bin[b] = 0
        for p in range(parts):
            bin[b] += mine[p, b]


def histogram(key, bins):
    bin = np.zeros(int(bins), np.int32)
    return calls(k_histogram, key, np.zeros((THREADS, int(bins)), np.int32), bin, result=bin)


@fast
def k_sum(x):
    s = f4(0)
    for i in prange(x.size):
        s += x[i]
    return s


def sum(x):
    s = np.zeros(1, f4)

    def run():
        s[0] = k_sum(x)
    return run, lambda: s


@fast
def k_cholesky(a, b, x):
    m = a.shape[1]
    for i in prange(a.shape[0]):
        l, y, z = np.empty((m, m), f4), np.empty(m, f4), np.empty(m, f4)
        for r in range(m):
            d = a[i, r, r]
            for c in range(r):
                s = a[i, r, c]
                for k in range(c):
                    s -= l[r, k] * l[c, k]
                s *= y[c]
                l[r, c] = s
                d -= s * s
            y[r] = f4(1) / math.sqrt(d)
        for r in range(m):
            s = b[i, r]
            for k in range(r):
                s -= l[r, k] * z[k]
            z[r] = s * y[r]
        for r in range(m - 1, -1, -1):
            s = z[r]
            for k in range(r + 1, m):
                s -= l[k, r] * z[k]
            z[r] = s * y[r]
            x[i, r] = z[r]


def cholesky(a, b):
    x = np.zeros_like(b)
    return calls(k_cholesky, a, b, x, result=x)
