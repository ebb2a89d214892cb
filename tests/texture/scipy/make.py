# Makes the .npy files beside it, which tests/texture/texture_test.cc reads: a field, places, and what SciPy finds there between its
# samples; and means over boxes of any size. Nothing in the build runs it.
#
#     python3 make.py
import numpy as np
from scipy import ndimage

rng = np.random.default_rng(5)
MODES = ["grid-wrap", "nearest", "reflect", "grid-constant"]  # repeat, clamp, mirror, border
N = 160


def save(name, a):
    np.save(name + ".npy", np.ascontiguousarray(a, dtype=np.float32))


places = rng.uniform(-2, 3, (N, 3)).astype(np.float32)  # x, y, z
save("places", places)
for axes, shape in ((1, (7,)), (2, (5, 6)), (3, (4, 3, 5))):  # x is the last one
    field = rng.uniform(-1, 1, shape).astype(np.float32)
    at = [places[:, axes - 1 - a].astype(np.float64) * shape[a] - 0.5 for a in range(axes)]
    save(f"field{axes}", field)
    values, slopes = [], []
    for mode in MODES:
        sample = lambda *at: ndimage.map_coordinates(field.astype(np.float64), at, order=1, mode=mode, cval=-0.75)
        values.append(sample(*at))
        # Between samples it is linear along each axis, so that the difference of the ends of a cell is the derivative.
        for x in range(axes):
            a = axes - 1 - x
            low, high = [np.floor(c) if k == a else c for k, c in enumerate(at)], list(at)
            high[a] = low[a] + 1
            slopes.append((sample(*high) - sample(*low)) * shape[a])
    save(f"linear{axes}", values)  # (modes, places)
    save(f"slope{axes}", np.reshape(slopes, (4, axes, N)))


def means(a, axis):
    """Along an axis of n samples max(1, n // 2) means of n / max(1, n // 2) of them, parts of samples counted as such."""
    n = a.shape[axis]
    m = max(1, n // 2)
    edges = np.arange(m + 1) * n / m
    w = np.clip(np.minimum(edges[1:, None], np.arange(n) + 1) - np.maximum(edges[:-1, None], np.arange(n)), 0, 1) * m / n
    return np.moveaxis(np.tensordot(w, a, (1, axis)), 0, axis)


for name, shape in (("even", (8, 8)), ("odd", (7, 13)), ("thin", (1, 9)), ("solid", (3, 4, 5))):
    a = rng.uniform(-1, 1, shape).astype(np.float32)
    chain = [a]
    while chain[-1].size > 1:
        a = chain[-1].astype(np.float64)
        for axis in range(a.ndim):
            a = means(a, axis)
        chain.append(a)
    save(f"chain_{name}", np.concatenate([c.ravel() for c in chain]))
