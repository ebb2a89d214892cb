"""bench/peers/taichi_peer.py -- the workloads in Taichi, on fields; and in Quadrants, which has the same language."""
import importlib
import os

import numpy as np

NAME = os.environ.get("PEER_LANGUAGE", "taichi")
ti = importlib.import_module(NAME)
ti.init(arch=ti.cpu, cpu_max_num_threads=int(os.environ["PEER_THREADS"]), fast_math=True, offline_cache=False,
        log_level=ti.ERROR)

VERSION = f"{NAME} {'.'.join(map(str, ti.__version__))}" if isinstance(ti.__version__, tuple) else f"{NAME} {ti.__version__}"
CANNOT = {
    "mesh_rays": "no mesh queries",
    "mesh_distances": "no mesh queries",
    "densities": "no hash grid",
}

vec3 = ti.types.vector(3, ti.f32)


def field(a):
    f = ti.field(ti.i32 if a.dtype == np.int32 else ti.f32, shape=a.shape)
    f.from_numpy(a)
    return f


def vec3s(a):
    f = ti.Vector.field(3, ti.f32, shape=len(a))
    f.from_numpy(np.ascontiguousarray(a))
    return f


def calls(k, *args, result):
    def run():
        k(*args)
        ti.sync()
    return run, lambda: tuple(f.to_numpy() for f in result)


def saxpy(a, x, y):
    x, y = field(x), field(y)

    @ti.kernel
    def k(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]
    return calls(k, a, result=[y])


@ti.func
def normal(x):
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    upper = 0.398942280 * ti.exp(-0.5 * x * x) * p
    return ti.select(x < 0, upper, 1.0 - upper)


def black_scholes(s, k, t, r, v):
    s, strike, t = field(s), field(k), field(t)
    call, put = ti.field(ti.f32, shape=s.shape), ti.field(ti.f32, shape=s.shape)

    @ti.kernel
    def k(r: ti.f32, v: ti.f32):
        for i in s:
            vt = v * ti.sqrt(t[i])
            d1 = (ti.log(s[i] / strike[i]) + (r + 0.5 * v * v) * t[i]) / vt
            discounted = strike[i] * ti.exp(-r * t[i])
            c = s[i] * normal(d1) - discounted * normal(d1 - vt)
            call[i] = c
            put[i] = c + discounted - s[i]
    return calls(k, r, v, result=[call, put])


def mandelbrot(n, limit):
    n = int(n)
    out = ti.field(ti.i32, shape=(n, n))

    @ti.kernel
    def k(limit: ti.i32):
        for r, c in out:
            cx = -2.0 + 3.0 * c / n
            cy = -1.5 + 3.0 * r / n
            x = 0.0
            y = 0.0
            i = 0
            while i < limit and x * x + y * y < 4.0:
                t = x * x - y * y + cx
                y = 2.0 * x * y + cy
                x = t
                i += 1
            out[r, c] = i
    return calls(k, int(limit), result=[out])


def nbody(x, softening):
    n = len(x)
    x, a = vec3s(x), ti.Vector.field(3, ti.f32, shape=n)

    @ti.kernel
    def k(softening: ti.f32):
        for i in x:
            p = x[i]
            acc = vec3(0.0, 0.0, 0.0)
            for j in range(n):
                d = x[j] - p
                s = 1.0 / ti.sqrt(d.dot(d) + softening)
                acc += d * (s * s * s)
            a[i] = acc
    return calls(k, softening, result=[a])


def jacobi(u, sweeps):
    n, pair = len(u), [field(u), field(u)]

    @ti.kernel
    def k(u: ti.template(), v: ti.template()):
        for r, c in ti.ndrange((1, n - 1), (1, n - 1)):
            v[r, c] = 0.25 * (u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1])

    def run():
        for i in range(int(sweeps)):
            k(pair[i % 2], pair[1 - i % 2])
        ti.sync()
    return run, pair[0].to_numpy


def particles(x, v, dt, res, h):
    n, res = len(x), int(res)
    x, v = vec3s(x), vec3s(v)
    x2, order = ti.Vector.field(3, ti.f32, shape=n), ti.Vector.field(3, ti.f32, shape=n)
    rho, cell, ids = ti.field(ti.f32, shape=n), ti.field(ti.i32, shape=n), ti.field(ti.i32, shape=n)
    first, at = ti.field(ti.i32, shape=res**3 + 1), ti.field(ti.i32, shape=res**3)

    @ti.func
    def cell_of(p):
        return ti.max(ti.min(ti.cast(p * res, ti.i32), res - 1), 0)

    @ti.kernel
    def k(dt: ti.f32, h: ti.f32):
        for c in at:
            at[c] = 0
        for i in x:
            p = x[i] + dt * v[i]
            for q in ti.static(range(3)):
                if p[q] < 0:
                    p[q] = -p[q]
                if p[q] > 1:
                    p[q] = 2 - p[q]
            x2[i] = p
            c = cell_of(p)
            cell[i] = (c[2] * res + c[1]) * res + c[0]
            ti.atomic_add(at[cell[i]], 1)
        ti.loop_config(serialize=True)
        for c in range(res**3):
            first[c + 1] = first[c] + at[c]
            at[c] = first[c]
        for i in x:
            s = ti.atomic_add(at[cell[i]], 1)
            order[s] = x2[i]
            ids[s] = i
        ih2 = 1.0 / (h * h)
        for s in order:
            p = order[s]
            c = cell_of(p)
            x0 = ti.max(c[0] - 1, 0)
            x1 = ti.min(c[0] + 1, res - 1)
            acc = 0.0
            for z in range(ti.max(c[2] - 1, 0), ti.min(c[2] + 2, res)):
                for y in range(ti.max(c[1] - 1, 0), ti.min(c[1] + 2, res)):
                    row = (z * res + y) * res
                    for j in range(first[row + x0], first[row + x1 + 1]):
                        d = order[j] - p
                        q = ti.max(1.0 - d.dot(d) * ih2, 0.0)
                        acc += q * q * q
            rho[ids[s]] = acc
    return calls(k, dt, h, result=[rho])


@ti.func
def blend(a, b, k):
    h = ti.max(k - abs(a - b), 0.0) / k
    return ti.min(a, b) - 0.25 * h * h * k


@ti.func
def box(p, half):
    q = abs(p) - half
    return ti.max(q, 0.0).norm() + ti.min(ti.max(q[0], q[1], q[2]), 0.0)


@ti.func
def torus(p, ring, tube):
    q = ti.sqrt(p[0] * p[0] + p[2] * p[2]) - ring
    return ti.sqrt(q * q + p[1] * p[1]) - tube


@ti.func
def scene(p):
    d = blend(p[1] + 1.0, box(p + vec3(0.0, 0.25, 0.0), vec3(0.6, 0.5, 0.4)) - 0.08, 0.25)
    for i in range(4):
        d = blend(d, (p - vec3(-1.4 + 0.95 * i, 0.35, 0.7 - 0.45 * i)).norm() - 0.33, 0.3)
    return ti.min(d, torus(p - vec3(0.0, 0.85, 0.0), 0.75, 0.14))


@ti.func
def shadow(p, light):
    r = 1.0
    t = 0.05
    for i in range(48):
        d = scene(p + light * t)
        if d < 1e-3:
            r = 0.0
            break
        r = ti.min(r, 8.0 * d / t)
        t += d
        if t > 6.0:
            break
    return r


def sdf(n):
    n = int(n)
    image = ti.field(ti.f32, shape=(n, n))

    @ti.kernel
    def k():
        for r, c in image:
            eye = vec3(0.0, 0.7, 4.0)
            ray = vec3((2.0 * c - n) / n, (n - 2.0 * r) / n - 0.2, -1.5).normalized()
            t = 0.0
            hit = False
            for i in range(96):
                d = scene(eye + ray * t)
                if d < 1e-3:
                    hit = True
                    break
                t += d
                if t > 20.0:
                    break
            grey = 0.1
            if hit:
                p = eye + ray * t
                e = 1e-2
                a = scene(p + vec3(e, -e, -e))
                b = scene(p + vec3(-e, -e, e))
                g = scene(p + vec3(-e, e, -e))
                d = scene(p + vec3(e, e, e))
                light = vec3(0.57735, 0.57735, 0.57735)
                lit = vec3(a - b - g + d, g + d - a - b, b - a - g + d).normalized().dot(light)
                if lit > 0:
                    grey += 0.9 * lit * shadow(p, light)
            image[r, c] = grey
    return calls(k, result=[image])


def transforms(pose, body, x):
    bodies = ti.types.struct(p=vec3, q=ti.types.vector(4, ti.f32)).field(shape=len(pose))
    bodies.from_numpy(dict(p=np.ascontiguousarray(pose[:, :3]), q=np.ascontiguousarray(pose[:, 3:])))
    body, x, out = field(body), vec3s(x), ti.Vector.field(3, ti.f32, shape=len(x))

    @ti.kernel
    def k():
        for i in x:
            b = bodies[body[i]]
            u = vec3(b.q[0], b.q[1], b.q[2])
            t = 2.0 * u.cross(x[i])
            out[i] = b.p + x[i] + b.q[3] * t + u.cross(t)
    return calls(k, result=[out])


def histogram(key, bins):
    key, bin = field(key), ti.field(ti.i32, shape=int(bins))

    @ti.kernel
    def k():
        for b in bin:
            bin[b] = 0
        for i in key:
            bin[key[i]] += 1
    return calls(k, result=[bin])


def sum(x):
    x, s = field(x), ti.field(ti.f32, shape=())

    @ti.kernel
    def k():
        s[None] = 0.0
        for i in x:
            s[None] += x[i]
    return calls(k, result=[s])


def cholesky(a, b):
    n, m = b.shape
    a, b, x = field(a), field(b), ti.field(ti.f32, shape=(n, m))

    @ti.kernel
    def k():
        for i in range(n):
            l = ti.Matrix.zero(ti.f32, m, m)
            y = ti.Vector.zero(ti.f32, m)
            z = ti.Vector.zero(ti.f32, m)
            for r in range(m):
                d = a[i, r, r]
                for c in range(r):
                    s = a[i, r, c]
                    for q in range(c):
                        s -= l[r, q] * l[c, q]
                    s *= y[c]
                    l[r, c] = s
                    d -= s * s
                y[r] = 1.0 / ti.sqrt(d)
            for r in range(m):
                s = b[i, r]
                for q in range(r):
                    s -= l[r, q] * z[q]
                z[r] = s * y[r]
            for p in range(m):
                r = m - 1 - p
                s = z[r]
                for q in range(r + 1, m):
                    s -= l[q, r] * z[q]
                z[r] = s * y[r]
                x[i, r] = z[r]
    return calls(k, result=[x])
