#!/usr/bin/env python3
"""tests/fakecuda/drjit_client.py -- programs of Dr.Jit's CUDA backend on the simulated driver.

Dr.Jit writes its PTX itself and calls the driver itself, so that what it meets here was not written for us. Each program is
run in a process of its own and compared with NumPy; `./dev drjit_client` runs this file with the packages and the driver that it
wants. The status is 1 if any program fails.

    drjit_client.py              all programs
    drjit_client.py NAME         that one, in this process
"""
import os
import subprocess
import sys

import numpy as np

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def near(a, b, tolerance=1e-5):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.allclose(a, b, rtol=tolerance, atol=tolerance), f"{a[:4]} for {b[:4]}"


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and np.array_equal(a, b), f"{a.ravel()[:8]} for {b.ravel()[:8]}"


@program
def arithmetic(dr, t):
    x = dr.linspace(t.Float, 0.5, 4, 1000)
    n = np.linspace(0.5, 4, 1000, dtype=np.float32)
    same(dr.fma(x, x, 1) > 2, n * n + 1 > 2)
    near(x * x - 3 / x + dr.sqrt(x), n * n - 3 / n + np.sqrt(n))
    near(dr.minimum(x, 2) + dr.floor(x) + dr.abs(x - 2), np.minimum(n, 2) + np.floor(n) + np.abs(n - 2))


@program
def functions(dr, t):
    x = dr.linspace(t.Float, 0.1, 3, 500)
    n = np.linspace(0.1, 3, 500, dtype=np.float32)
    near(dr.sin(x) + dr.cos(x), np.sin(n) + np.cos(n))
    near(dr.exp(x) + dr.log(x), np.exp(n) + np.log(n))
    near(dr.tanh(x) + dr.atan2(x, 2 - x), np.tanh(n) + np.arctan2(n, 2 - n))
    near(dr.power(x, 1.7) + dr.rsqrt(x), n**1.7 + 1 / np.sqrt(n), 1e-4)


@program
def doubles(dr, t):
    x = dr.linspace(t.Float64, 0.5, 4, 300)
    n = np.linspace(0.5, 4, 300)
    near(x / 3 + dr.sqrt(x) / (x + 1), n / 3 + np.sqrt(n) / (n + 1), 1e-12)
    near(dr.rcp(x), 1 / n)  # it is rcp.approx.ftz.f64 and no more, good to 20 bits
    near(dr.sin(x), np.sin(n), 1e-12)


@program
def halves(dr, t):
    x = t.Float16(dr.linspace(t.Float, 0.5, 4, 300))
    n = np.linspace(0.5, 4, 300, dtype=np.float32).astype(np.float16)
    near(t.Float(x * x + x), (n * n + n).astype(np.float32), 1e-2)


@program
def integers(dr, t):
    i = dr.arange(t.UInt32, 1000)
    n = np.arange(1000, dtype=np.uint32)
    same((i * 2654435761 >> 7) ^ (i << 3), (n * np.uint32(2654435761) >> 7) ^ (n << 3))
    same(i // 7 + i % 13, n // 7 + n % 13)
    same(dr.popcnt(i), [bin(v).count("1") for v in range(1000)])
    same(dr.lzcnt(i), [32 - v.bit_length() for v in range(1000)])
    j = t.Int64(i) - 500
    same(j * j * 1000003, (n.astype(np.int64) - 500) ** 2 * 1000003)
    same(dr.mul_hi(i * 7919999, t.UInt32(123456789)), (n * np.uint32(7919999)).astype(np.uint64) * np.uint64(123456789) >> np.uint64(32))


@program
def conversions(dr, t):
    n = np.linspace(-50, 50, 777, dtype=np.float32)
    x = t.Float(n)
    same(t.Int(x), n.astype(np.int32))
    near(t.Float64(t.Float(t.Int(x))), n.astype(np.int32).astype(np.float64))
    same(dr.reinterpret_array(t.UInt, x), n.view(np.uint32))
    same(dr.round(x), np.round(n))


@program
def selects(dr, t):
    i = dr.arange(t.Int, 400)
    n = np.arange(400)
    same(dr.select((i % 3 == 0) & ~(i % 2 == 0) | (i > 390), i, -i), np.where((n % 3 == 0) & ~(n % 2 == 0) | (n > 390), n, -n))
    assert dr.any(i == 399) and dr.all(i < 400) and dr.none(i > 399) and dr.count(i < 10)[0] == 10


@program
def gathers(dr, t):
    i = dr.arange(t.UInt32, 1000)
    n = np.arange(1000)
    x = dr.sqrt(t.Float(i))
    dr.eval(x)
    near(dr.gather(t.Float, x, 999 - i, i % 2 == 0), np.where(n % 2 == 0, np.sqrt(999 - n), 0))
    y = dr.zeros(t.Float, 2000)
    dr.scatter(y, x, 2 * i)
    want = np.zeros(2000)
    want[::2] = np.sqrt(n)
    near(y, want)
    v = dr.gather(t.Array4f, x, i % 250)
    near(v[0] + v[3], np.sqrt(4 * (n % 250)) + np.sqrt(4 * (n % 250) + 3))


@program
def atomics(dr, t):
    i = dr.arange(t.UInt32, 5000)
    bins = dr.zeros(t.UInt32, 17)
    dr.scatter_reduce(dr.ReduceOp.Add, bins, t.UInt32(1), i % 17)
    same(bins, np.bincount(np.arange(5000) % 17))
    most = dr.zeros(t.UInt32, 17)
    dr.scatter_reduce(dr.ReduceOp.Max, most, i, i % 17)
    same(most, [max(range(k, 5000, 17)) for k in range(17)])
    sums = dr.zeros(t.Float, 17)
    dr.scatter_reduce(dr.ReduceOp.Add, sums, t.Float(i), i % 17, mode=dr.ReduceMode.Direct)
    near(sums, [sum(range(k, 5000, 17)) for k in range(17)])
    count = t.UInt32(0)
    place = dr.scatter_inc(count, t.UInt32(0), dr.arange(t.UInt32, 100) < 60)
    dr.eval(place)
    assert count[0] == 60
    same(np.sort(np.asarray(place)[:60]), np.arange(60))


@program
def reductions(dr, t):
    x = dr.linspace(t.Float, 0, 1, 10000)
    n = np.linspace(0, 1, 10000, dtype=np.float32)
    near(dr.sum(x), [n.sum()], 1e-4)
    same(dr.max(x), [n.max()])
    same(dr.min(x), [n.min()])
    near(dr.prod(x[:3] + 1), [np.prod(n[:3] + 1)])
    i = dr.arange(t.UInt32, 10000)
    same(dr.sum(i), [np.arange(10000).sum()])
    same(dr.block_sum(i, 100), np.arange(10000).reshape(100, 100).sum(1))
    near(dr.dot(x, x), [np.dot(n, n)], 1e-3)


@program
def scans(dr, t):
    i = dr.arange(t.UInt32, 10000)
    n = np.arange(10000)
    same(dr.cumsum(i), np.cumsum(n))
    same(dr.prefix_sum(i), np.cumsum(n) - n)
    same(dr.compress(i % 7 == 3), n[n % 7 == 3])


@program
def loops(dr, t):
    def collatz(i):
        return dr.while_loop(
            (i, t.Int(0)), lambda i, steps: i > 1, lambda i, steps: (dr.select(i % 2 == 0, i // 2, 3 * i + 1), steps + 1)
        )[1]

    def reference(i):
        s = 0
        while i > 1:
            i, s = (i // 2 if i % 2 == 0 else 3 * i + 1), s + 1
        return s

    same(collatz(dr.arange(t.Int, 300) + 1), [reference(i + 1) for i in range(300)])


@program
def branches(dr, t):
    x = dr.linspace(t.Float, -2, 2, 400)
    n = np.linspace(-2, 2, 400, dtype=np.float32)
    near(dr.if_stmt((x,), x > 0, dr.sqrt, lambda x: x * x), np.where(n > 0, np.sqrt(np.maximum(n, 0)), n * n))


@program
def calls(dr, t):
    i = dr.arange(t.UInt32, 300)
    x = t.Float(i)
    y = dr.switch(i % 3, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x)
    n = np.arange(300)
    near(y, np.choose(n % 3, [n + 1, n * 2, -n]))


@program
def random_numbers(dr, t):
    a = t.PCG32(size=1000)
    x, y = a.next_float32(), a.next_uint32()
    x, y = np.asarray(x), np.asarray(y)
    assert (0 <= x).all() and (x < 1).all() and 0.4 < x.mean() < 0.6 and len(set(y.tolist())) > 990
    # the generator as its authors give it: stream k, first state
    state, inc, mask = 0, ((0xDA3E39CB94B95BDB + 5) << 1 | 1), (1 << 64) - 1
    inc &= mask
    def step(s):
        return (s * 0x5851F42D4C957F2D + inc) & mask
    def out(s):
        v, r = ((s >> 18 ^ s) >> 27) & 0xFFFFFFFF, s >> 59
        return (v >> r | v << (-r & 31)) & 0xFFFFFFFF
    state = step((step(state) + 0x853C49E6748FEA9B + 5) & mask)
    first = out(state)
    assert y[5] == out(step(state)) or y[5] == first, "the second number of generator 5"


@program
def matrices(dr, t):
    x = dr.linspace(t.Float, 0, 1, 100)
    m = t.Matrix3f(x + 2, 1, 0, 0, x + 3, x, 1, 0, 4)
    one = m @ dr.rcp(m)
    for r in range(3):
        for c in range(3):
            near(one[r, c] + 0 * x, np.full(100, float(r == c)), 1e-4)
    near(dr.det(m), np.linalg.det(np.moveaxis(np.asarray(m), -1, 0)), 1e-3)
    v = m @ t.Array3f(x, 1, 2)
    n = np.linspace(0, 1, 100)
    near(v[1], n + 3 + 2 * n)


@program
def derivatives(dr, t):
    from drjit.cuda import ad
    x = dr.linspace(ad.Float, 0.1, 2, 200)
    dr.enable_grad(x)
    dr.backward(dr.sum(dr.sin(x) * x))
    n = np.linspace(0.1, 2, 200)
    near(dr.grad(x), np.cos(n) * n + np.sin(n))


@program
def tensors(dr, t):
    a = t.TensorXf(dr.arange(t.Float, 24), shape=(2, 3, 4))
    n = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    near(dr.sum(a, axis=1), n.sum(1))
    near(a[:, 1, ::2] * 2, n[:, 1, ::2] * 2)
    near(dr.sum(a), n.sum())


@program
def freezing(dr, t):
    @dr.freeze
    def f(x):
        return x * 2 + 1
    for k in (100, 100, 200):
        near(f(dr.arange(t.Float, k)), np.arange(k) * 2 + 1)


def main():
    if len(sys.argv) > 1:
        import drjit
        import drjit.cuda
        PROGRAMS[sys.argv[1]](drjit, drjit.cuda)
        return 0
    failed = 0
    for name in PROGRAMS:
        try:
            r = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=120)
            why = "" if r.returncode == 0 else (r.stderr or r.stdout).strip().splitlines()[-1:] or [f"status {r.returncode}"]
        except subprocess.TimeoutExpired:
            why = ["not done after 120 s"]
        failed += bool(why)
        print(f"{name:<16} {'ok' if not why else 'FAILED: ' + why[0][:150]}", flush=True)
    print(f"{len(PROGRAMS) - failed} of {len(PROGRAMS)} programs pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
