"""bench/peers/jax_peer.py -- the workloads in JAX, compiled by XLA for the CPU with its fast math.

It has no number of threads: with one, the process is bound to one CPU.
"""
import os

os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_cpu_enable_fast_math=true")
if os.environ["PEER_THREADS"] == "1":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

VERSION = f"jax {jax.__version__}"
CANNOT = {
    "particles": "not expressible: loops of other lengths for each element over a sorted grid",
    "mesh_rays": "no mesh queries",
    "mesh_distances": "no mesh queries",
    "densities": "no hash grid",
}

f4 = np.float32


def calls(f, *args):
    """A compiled function of arrays that are on the device."""
    g, args, kept = jax.jit(f), [jnp.asarray(a) for a in args], []

    def run():
        kept[:] = [jax.block_until_ready(g(*args))]
    return run, lambda: kept[0]


def saxpy(a, x, y):
    g, x, kept = jax.jit(lambda x, y: f4(a) * x + y, donate_argnums=1), jnp.asarray(x), [jnp.asarray(y)]

    def run():
        kept[0] = jax.block_until_ready(g(x, kept[0]))
    return run, lambda: kept[0]


def normal(x):
    k = 1 / (1 + f4(0.2316419) * jnp.abs(x))
    p = k * (f4(0.31938153) + k * (f4(-0.356563782) + k * (f4(1.781477937)
                                                           + k * (f4(-1.821255978) + k * f4(1.330274429)))))
    upper = f4(0.398942280) * jnp.exp(f4(-0.5) * x * x) * p
    return jnp.where(x < 0, upper, 1 - upper)


def black_scholes(s, k, t, r, v):
    r, v = f4(r), f4(v)

    def f(s, k, t):
        vt = v * jnp.sqrt(t)
        d1 = (jnp.log(s / k) + (r + f4(0.5) * v * v) * t) / vt
        discounted = k * jnp.exp(-r * t)
        c = s * normal(d1) - discounted * normal(d1 - vt)
        return c, c + discounted - s
    return calls(f, s, k, t)


def mandelbrot(n, limit):
    def pixel(cy, cx):
        def more(state):
            x, y, i = state
            return (i < int(limit)) & (x * x + y * y < 4)

        def step(state):
            x, y, i = state
            return x * x - y * y + cx, 2 * x * y + cy, i + 1
        return lax.while_loop(more, step, (f4(0), f4(0), 0))[2]

    k = np.arange(int(n), dtype=f4)
    image = jax.vmap(jax.vmap(pixel, (None, 0)), (0, None))
    return calls(image, f4(-1.5) + f4(3) * k / f4(n), f4(-2) + f4(3) * k / f4(n))


def nbody(x, softening):
    def f(x):
        d = x[None, :, :] - x[:, None, :]
        s = lax.rsqrt(jnp.sum(d * d, -1) + f4(softening))
        return jnp.sum(d * (s * s * s)[..., None], 1)
    return calls(f, x)


def jacobi(u, sweeps):
    def sweep(_, u):
        return u.at[1:-1, 1:-1].set(f4(0.25) * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))
    return calls(lambda u: lax.fori_loop(0, int(sweeps), sweep, u), u)


def length(v):
    return jnp.sqrt(jnp.sum(v * v))


def blend(a, b, k):
    h = jnp.maximum(k - jnp.abs(a - b), 0) / k
    return jnp.minimum(a, b) - f4(0.25) * h * h * k


def scene(p):
    q = jnp.abs(p + np.array([0, 0.25, 0], f4)) - np.array([0.6, 0.5, 0.4], f4)
    box = length(jnp.maximum(q, 0)) + jnp.minimum(jnp.max(q), 0)
    d = blend(p[1] + 1, box - f4(0.08), f4(0.25))
    for i in range(4):
        d = blend(d, length(p - np.array([-1.4 + 0.95 * i, 0.35, 0.7 - 0.45 * i], f4)) - f4(0.33), f4(0.3))
    q = jnp.sqrt(p[0] * p[0] + p[2] * p[2]) - f4(0.75)
    return jnp.minimum(d, jnp.sqrt(q * q + (p[1] - f4(0.85)) ** 2) - f4(0.14))


def sdf(n):
    light, eye = np.full(3, 0.57735, f4), np.array([0, 0.7, 4], f4)
    corners = np.array([[1, -1, -1], [-1, -1, 1], [-1, 1, -1], [1, 1, 1]], f4)

    def pixel(r, c):
        ray = jnp.stack([(2 * c - f4(n)) / f4(n), (f4(n) - 2 * r) / f4(n) - f4(0.2), f4(-1.5)])
        ray = ray / length(ray)

        def march(state):
            t, _, i, _ = state
            d = scene(eye + ray * t)
            hit = d < 1e-3
            t = jnp.where(hit, t, t + d)
            return t, hit, i + 1, hit | (t > 20)
        t, hit, _, _ = lax.while_loop(lambda s: (s[2] < 96) & ~s[3], march, (f4(0), False, 0, False))
        p = eye + ray * t
        normal = sum_of(k * scene(p + k * f4(1e-2)) for k in corners)
        lit = jnp.sum(normal * light) / length(normal)

        def shade(state):
            t, s, i, _ = state
            d = scene(p + light * t)
            dark = d < 1e-3
            s = jnp.where(dark, 0, jnp.minimum(s, 8 * d / t))
            t = t + d
            return t, s, i + 1, dark | (t > 6)
        lights = hit & (lit > 0)
        s = lax.while_loop(lambda s: (s[2] < 48) & ~s[3], shade, (f4(0.05), f4(1), 0, ~lights))[1]
        return jnp.where(lights, f4(0.1) + f4(0.9) * lit * s, f4(0.1))

    k = np.arange(int(n), dtype=f4)
    return calls(jax.vmap(jax.vmap(pixel, (None, 0)), (0, None)), k, k)


def sum_of(terms):
    total = 0
    for t in terms:
        total = total + t
    return total


def transforms(pose, body, x):
    def f(pose, body, x):
        b = pose[body]
        u = b[:, 3:6]
        t = 2 * jnp.cross(u, x)
        return b[:, :3] + x + b[:, 6:] * t + jnp.cross(u, t)
    return calls(f, pose, body, x)


def histogram(key, bins):
    return calls(lambda key: jnp.bincount(key, length=int(bins)), key)


def sum(x):
    return calls(jnp.sum, x)


def cholesky(a, b):
    def f(a, b):
        l = jnp.linalg.cholesky(a)
        return jax.scipy.linalg.cho_solve((l, True), b[..., None])[..., 0]
    return calls(f, a, b)
