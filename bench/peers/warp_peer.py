"""bench/peers/warp_peer.py -- the workloads in Warp, on its CPU device: one thread, whatever it may use."""
import numpy as np
import warp as wp

wp.config.quiet = True
wp.config.enable_backward = False
wp.init()
wp.set_device("cpu")
wp.set_module_options({"fast_math": True})

VERSION = f"warp {wp.__version__}"
CANNOT = {}

kernel = wp.kernel(module="unique", module_options={"fast_math": True})
floats, floats2, floats3 = wp.array(dtype=float), wp.array2d(dtype=float), wp.array3d(dtype=float)
ints, ints2, points = wp.array(dtype=int), wp.array2d(dtype=int), wp.array(dtype=wp.vec3)


def launches(*steps, result):
    """Launches one after the other; `result` is read back."""
    def run():
        for k, dim, args in steps:
            wp.launch(k, dim=dim, inputs=args)
    return run, lambda: tuple(a.numpy() for a in result)


def vec3s(a):
    return wp.array(a, dtype=wp.vec3)


@kernel
def k_saxpy(a: float, x: floats, y: floats):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def saxpy(a, x, y):
    x, y = wp.array(x), wp.array(y)
    return launches((k_saxpy, len(x), [a, x, y]), result=[y])


@wp.func
def normal(x: float):
    k = 1.0 / (1.0 + 0.2316419 * wp.abs(x))
    p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    upper = 0.398942280 * wp.exp(-0.5 * x * x) * p
    return wp.where(x < 0.0, upper, 1.0 - upper)


@kernel
def k_black_scholes(s: floats, k: floats, t: floats, r: float, v: float, call: floats, put: floats):
    i = wp.tid()
    vt = v * wp.sqrt(t[i])
    d1 = (wp.log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / vt
    discounted = k[i] * wp.exp(-r * t[i])
    c = s[i] * normal(d1) - discounted * normal(d1 - vt)
    call[i] = c
    put[i] = c + discounted - s[i]


def black_scholes(s, k, t, r, v):
    s, k, t = wp.array(s), wp.array(k), wp.array(t)
    call, put = wp.zeros_like(s), wp.zeros_like(s)
    return launches((k_black_scholes, len(s), [s, k, t, r, v, call, put]), result=[call, put])


@kernel
def k_mandelbrot(n: float, limit: int, out: ints2):
    r, c = wp.tid()
    cx = -2.0 + 3.0 * float(c) / n
    cy = -1.5 + 3.0 * float(r) / n
    x = float(0.0)
    y = float(0.0)
    i = int(0)
    while i < limit and x * x + y * y < 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        i += 1
    out[r, c] = i


def mandelbrot(n, limit):
    out = wp.zeros((int(n), int(n)), dtype=int)
    return launches((k_mandelbrot, out.shape, [n, int(limit), out]), result=[out])


@kernel
def k_nbody(x: points, softening: float, a: points):
    i = wp.tid()
    p = x[i]
    sum = wp.vec3()
    for j in range(x.shape[0]):
        d = x[j] - p
        s = 1.0 / wp.sqrt(wp.dot(d, d) + softening)
        sum += d * (s * s * s)
    a[i] = sum


def nbody(x, softening):
    x = vec3s(x)
    a = wp.zeros_like(x)
    return launches((k_nbody, len(x), [x, softening, a]), result=[a])


@kernel
def k_jacobi(u: floats2, v: floats2):
    r, c = wp.tid()
    r += 1
    c += 1
    v[r, c] = 0.25 * (u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1])


def jacobi(u, sweeps):
    dim = (u.shape[0] - 2, u.shape[1] - 2)
    pair = [wp.array(u), wp.array(u)]
    return launches(*((k_jacobi, dim, [pair[k % 2], pair[1 - k % 2]]) for k in range(int(sweeps))), result=[pair[0]])


@kernel
def k_move(x: points, v: points, dt: float, x2: points):
    i = wp.tid()
    p = x[i] + dt * v[i]
    for k in range(3):
        if p[k] < 0.0:
            p[k] = -p[k]
        if p[k] > 1.0:
            p[k] = 2.0 - p[k]
    x2[i] = p


@kernel
def k_density(grid: wp.uint64, x: points, h: float, rho: floats):
    i = wp.hash_grid_point_id(grid, wp.tid())
    p = x[i]
    ih2 = 1.0 / (h * h)
    s = float(0.0)
    for j in wp.hash_grid_query(grid, p, h):
        d = x[j] - p
        q = wp.max(1.0 - wp.dot(d, d) * ih2, 0.0)
        s += q * q * q
    rho[i] = s


def particles(x, v, dt, res, h):
    x, v, n = vec3s(x), vec3s(v), int(res)
    x2, rho, grid = wp.zeros_like(x), wp.zeros(len(x), dtype=float), wp.HashGrid(n, n, n)

    def run():
        wp.launch(k_move, dim=len(x), inputs=[x, v, dt, x2])
        grid.build(x2, 1.0 / n)
        wp.launch(k_density, dim=len(x), inputs=[grid.id, x2, h, rho])
    return run, rho.numpy


@wp.func
def box(p: wp.vec3, half: wp.vec3):
    x = wp.abs(p[0]) - half[0]
    y = wp.abs(p[1]) - half[1]
    z = wp.abs(p[2]) - half[2]
    out = wp.vec3(wp.max(x, 0.0), wp.max(y, 0.0), wp.max(z, 0.0))
    return wp.length(out) + wp.min(wp.max(x, wp.max(y, z)), 0.0)


@wp.func
def torus(p: wp.vec3, ring: float, tube: float):
    q = wp.sqrt(p[0] * p[0] + p[2] * p[2]) - ring
    return wp.sqrt(q * q + p[1] * p[1]) - tube


@wp.func
def blend(a: float, b: float, k: float):
    h = wp.max(k - wp.abs(a - b), 0.0) / k
    return wp.min(a, b) - 0.25 * h * h * k


@wp.func
def scene(p: wp.vec3):
    d = p[1] + 1.0
    d = blend(d, box(p + wp.vec3(0.0, 0.25, 0.0), wp.vec3(0.6, 0.5, 0.4)) - 0.08, 0.25)
    for i in range(4):
        c = wp.vec3(-1.4 + 0.95 * float(i), 0.35, 0.7 - 0.45 * float(i))
        d = blend(d, wp.length(p - c) - 0.33, 0.3)
    return wp.min(d, torus(p - wp.vec3(0.0, 0.85, 0.0), 0.75, 0.14))


@wp.func
def shadow(p: wp.vec3, light: wp.vec3):
    r = float(1.0)
    t = float(0.05)
    for i in range(48):
        d = scene(p + light * t)
        if d < 1.0e-3:
            r = 0.0
            break
        r = wp.min(r, 8.0 * d / t)
        t += d
        if t > 6.0:
            break
    return r


@kernel
def k_sdf(n: float, image: floats2):
    r, c = wp.tid()
    eye = wp.vec3(0.0, 0.7, 4.0)
    ray = wp.normalize(wp.vec3((2.0 * float(c) - n) / n, (n - 2.0 * float(r)) / n - 0.2, -1.5))
    t = float(0.0)
    hit = bool(False)
    for i in range(96):
        d = scene(eye + ray * t)
        if d < 1.0e-3:
            hit = True
            break
        t += d
        if t > 20.0:
            break
    grey = float(0.1)
    if hit:
        p = eye + ray * t
        e = 1.0e-2
        a = scene(p + wp.vec3(e, -e, -e))
        b = scene(p + wp.vec3(-e, -e, e))
        f = scene(p + wp.vec3(-e, e, -e))
        g = scene(p + wp.vec3(e, e, e))
        n3 = wp.normalize(wp.vec3(a - b - f + g, f + g - a - b, b - a - f + g))
        light = wp.vec3(0.57735, 0.57735, 0.57735)
        lit = wp.dot(n3, light)
        if lit > 0.0:
            grey += 0.9 * lit * shadow(p, light)
    image[r, c] = grey


def sdf(n):
    image = wp.zeros((int(n), int(n)), dtype=float)
    return launches((k_sdf, image.shape, [n, image]), result=[image])


@kernel
def k_transforms(pose: wp.array(dtype=wp.transform), body: ints, x: points, out: points):
    i = wp.tid()
    out[i] = wp.transform_point(pose[body[i]], x[i])


def transforms(pose, body, x):
    pose, body, x = wp.array(pose, dtype=wp.transform), wp.array(body), vec3s(x)
    out = wp.zeros_like(x)
    return launches((k_transforms, len(x), [pose, body, x, out]), result=[out])


@kernel
def k_histogram(key: ints, bin: ints):
    wp.atomic_add(bin, key[wp.tid()], 1)


def histogram(key, bins):
    key, bin = wp.array(key), wp.zeros(int(bins), dtype=int)

    def run():
        bin.zero_()
        wp.launch(k_histogram, dim=len(key), inputs=[key, bin])
    return run, bin.numpy


@kernel
def k_sum(x: floats, s: floats):
    wp.atomic_add(s, 0, x[wp.tid()])


def sum(x):  # warp.utils.array_sum takes four times as long
    x, s = wp.array(x), wp.zeros(1, dtype=float)

    def run():
        s.zero_()
        wp.launch(k_sum, dim=len(x), inputs=[x, s])
    return run, s.numpy


def cholesky_of(m):
    mat, vec, M = wp.types.matrix((m, m), float), wp.types.vector(m, float), wp.constant(m)

    @wp.kernel(module="unique", module_options={"fast_math": True, "max_unroll": 4})
    def k(a: floats3, b: floats2, x: floats2):
        t = wp.tid()
        l = mat()
        y = vec()
        z = vec()
        for r in range(M):
            d = a[t, r, r]
            for c in range(r):
                s = a[t, r, c]
                for q in range(c):
                    s -= l[r, q] * l[c, q]
                s *= y[c]
                l[r, c] = s
                d -= s * s
            y[r] = 1.0 / wp.sqrt(d)
        for r in range(M):
            s = b[t, r]
            for q in range(r):
                s -= l[r, q] * z[q]
            z[r] = s * y[r]
        for p in range(M):
            r = M - 1 - p
            s = z[r]
            for q in range(r + 1, M):
                s -= l[q, r] * z[q]
            z[r] = s * y[r]
        for r in range(M):
            x[t, r] = z[r]
    return k


def cholesky(a, b):
    k, a, b = cholesky_of(a.shape[1]), wp.array(a), wp.array(b)
    x = wp.zeros_like(b)
    return launches((k, len(b), [a, b, x]), result=[x])


@kernel
def k_mesh_rays(mesh: wp.uint64, o: points, d: points, t: floats):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, o[i], d[i], 1.0e20)
    t[i] = wp.where(q.result, q.t, -1.0)


def mesh_rays(points, faces, o, d):
    mesh, o, d = wp.Mesh(points=vec3s(points), indices=wp.array(faces.reshape(-1))), vec3s(o), vec3s(d)
    t = wp.zeros(len(o), dtype=float)
    return lambda: wp.launch(k_mesh_rays, dim=len(o), inputs=[mesh.id, o, d, t]), t.numpy


@kernel
def k_mesh_distances(mesh: wp.uint64, p: points, distance: floats):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, p[i], 1.0e6)
    distance[i] = wp.length(wp.mesh_eval_position(mesh, q.face, q.u, q.v) - p[i])


def mesh_distances(points, faces, p):
    mesh, p = wp.Mesh(points=vec3s(points), indices=wp.array(faces.reshape(-1))), vec3s(p)
    distance = wp.zeros(len(p), dtype=float)
    return lambda: wp.launch(k_mesh_distances, dim=len(p), inputs=[mesh.id, p, distance]), distance.numpy


@kernel
def k_densities(grid: wp.uint64, p: points, radius: float, density: floats):
    i = wp.hash_grid_point_id(grid, wp.tid())
    x = p[i]
    limit = radius * radius
    sum = float(0.0)
    for j in wp.hash_grid_query(grid, x, radius):
        d = x - p[j]
        w = limit - wp.dot(d, d)
        if w >= 0.0:
            sum += w * w * w
    density[i] = sum


def densities(p, radius, cells):
    p, n = vec3s(p), int(cells)
    density, grid = wp.zeros(len(p), dtype=float), wp.HashGrid(n, n, n)

    def run():
        grid.build(p, radius)
        wp.launch(k_densities, dim=len(p), inputs=[grid.id, p, radius, density])
    return run, density.numpy
