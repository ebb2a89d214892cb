# Makes volume.nvdb and the .npy files beside it, which tests/geometry/volume_test.cc reads: four sparse grids by NVIDIA Warp, and what
# Warp finds in them. Names and checksums are put in here: Warp writes none. Nothing in the build runs it.
#
#     python3 volume.py          (warp-lang 1.19, on a machine without a GPU)
import os
import struct
import tempfile
import zlib

import numpy as np
import warp as wp

wp.config.quiet = True
rng = np.random.default_rng(5)
TILES = [(0, 0, 0), (8, 0, 0), (8, 8, 0), (8, 8, 8), (0, 0, 8), (-8, 0, 0), (-8, -8, -8), (120, 0, 0), (128, 0, 0), (4088, 0, 0),
         (4096, 0, 0), (-4096, -8, 16)]
TURN = np.array([[0.3, -0.1, 0.05], [0.1, 0.25, 0.0], [0.0, 0.1, 0.5]])
MOVE = (1.0, -2.0, 3.0)


@wp.kernel
def fill_f(v: wp.uint64, at: wp.array(dtype=wp.vec3i), x: wp.array(dtype=wp.vec3f)):
    i = wp.tid()
    wp.volume_store_f(v, at[i][0], at[i][1], at[i][2], x[i][0])


@wp.kernel
def fill_i(v: wp.uint64, at: wp.array(dtype=wp.vec3i), x: wp.array(dtype=wp.vec3f)):
    i = wp.tid()
    wp.volume_store_i(v, at[i][0], at[i][1], at[i][2], wp.int32(x[i][0] * 64.0))


@wp.kernel
def fill_v(v: wp.uint64, at: wp.array(dtype=wp.vec3i), x: wp.array(dtype=wp.vec3f)):
    i = wp.tid()
    wp.volume_store_v(v, at[i][0], at[i][1], at[i][2], x[i])


@wp.kernel
def ask(f: wp.uint64, n: wp.uint64, v: wp.uint64, at: wp.array(dtype=wp.vec3i), p: wp.array(dtype=wp.vec3f),
        out: wp.array2d(dtype=float)):
    i = wp.tid()
    a = at[i]
    out[i, 0] = wp.volume_lookup_f(f, a[0], a[1], a[2])
    out[i, 1] = float(wp.volume_lookup_i(n, a[0], a[1], a[2]))
    x = wp.volume_lookup_v(v, a[0], a[1], a[2])
    u = wp.volume_world_to_index(f, p[i])
    out[i, 2] = x[0]
    out[i, 3] = x[1]
    out[i, 4] = x[2]
    out[i, 5] = wp.volume_sample_f(f, u, wp.Volume.LINEAR)
    y = wp.volume_sample_v(v, u, wp.Volume.LINEAR)
    out[i, 6] = y[0]
    out[i, 7] = y[1]
    out[i, 8] = y[2]
    g = wp.vec3()
    h = wp.volume_sample_grad_f(f, u, wp.Volume.LINEAR, g)
    out[i, 9] = g[0]
    out[i, 10] = g[1]
    out[i, 11] = g[2]
    out[i, 12] = u[0]
    out[i, 13] = u[1]
    out[i, 14] = u[2]


@wp.kernel
def number(v: wp.uint64, at: wp.array(dtype=wp.vec3i), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = wp.volume_lookup_index(v, at[i][0], at[i][1], at[i][2]) + 1


def bytes_of(volume):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "x.nvdb")
        volume.save_to_nvdb(path)
        return open(path, "rb").read()


def crcs(pieces):
    return zlib.crc32(b"".join(struct.pack("<I", zlib.crc32(p)) for p in pieces))


def grid_of(file, name, checksum):
    """The head that a file has for the grid, and the grid, which gets a name and a checksum ("old" as up to 32.6.0)."""
    meta, length = bytearray(file[16 : 16 + 176]), struct.unpack_from("<I", file, 16 + 136)[0]
    grid = bytearray(file[16 + 176 + length :])
    grid[40 : 40 + len(name)] = name.encode()
    version = 32 << 21 | (3 << 10 | 3 if checksum == "old" else 8 << 10)
    struct.pack_into("<I", grid, 16, version)
    offsets, counts = struct.unpack_from("<4q", grid, 672), struct.unpack_from("<3I", grid, 704)
    begin = [672 + o for o in offsets]
    if checksum == "old":
        size = [(begin[0] - begin[1]) // counts[1], (begin[1] - begin[2]) // counts[2]]
        leaf = (len(grid) - begin[0]) // counts[0]
        tail = [grid[begin[2] + i * size[1] :][: size[1]] for i in range(counts[2])]
        tail += [grid[begin[1] + i * size[0] :][: size[0]] for i in range(counts[1])]
        tail += [grid[begin[0] + i * leaf :][:leaf] for i in range(counts[0])]
        struct.pack_into("<2I", grid, 8, zlib.crc32(grid[16 : begin[2]]), crcs(tail))
    elif checksum == "new":
        rest = grid[736:]
        blocks = [rest[i : i + 4096] for i in range(0, len(rest) // 4096 * 4096, 4096)]
        blocks[-1] = rest[4096 * (len(blocks) - 1) :]
        struct.pack_into("<2I", grid, 8, zlib.crc32(grid[16:736]), crcs(blocks))
    packed = zlib.compress(bytes(grid), 9)
    packed = struct.pack("<Q", len(packed)) + packed
    struct.pack_into("<Q", meta, 8, len(packed))
    struct.pack_into("<I", meta, 136, len(name) + 1)
    struct.pack_into("<H", meta, 168, 1)
    struct.pack_into("<I", meta, 172, version)
    return bytes(meta) + name.encode() + b"\0", packed


def segment(*grids):
    head = b"NanoVDB0" + struct.pack("<IHH", 32 << 21 | 8 << 10, len(grids), 1)
    return head + b"".join(m for m, _ in grids) + b"".join(g for _, g in grids)


voxels = np.array([np.array(t) + (i >> 6, i >> 3 & 7, i & 7) for t in TILES for i in range(512)], dtype=np.int32)
with wp.ScopedDevice("cpu"):
    tiles = wp.array(np.array(TILES, dtype=np.int32), dtype=wp.vec3i)
    values = np.sin(voxels @ np.array([[0.31, 0.2, 0.1], [0.3, 0.4, 0.2], [0.15, 0.3, 0.45]]))
    values = wp.array(np.round(values * 64) / 64, dtype=wp.vec3f)
    at = wp.array(voxels, dtype=wp.vec3i)
    made = []
    for background, fill in ((1.5, fill_f), (-7, fill_i), (wp.vec3(1.0, 2.0, 3.0), fill_v)):
        v = wp.Volume.allocate_by_tiles(tiles, bg_value=background, translation=MOVE, transform=TURN)
        wp.launch(fill, dim=len(voxels), inputs=[v.id, at, values])
        made.append(v)
    n = 700
    near = np.concatenate([voxels[rng.integers(0, len(voxels), n - 100)], rng.integers(-5000, 5000, (100, 3))])
    near = (near + rng.integers(-2, 3, near.shape)).astype(np.int32)
    points = ((near + rng.uniform(-0.5, 0.5, near.shape)) @ TURN.T + MOVE).astype(np.float32)
    out = wp.zeros((n, 15), dtype=float)
    wp.launch(ask, dim=n, inputs=[v.id for v in made] + [wp.array(near, dtype=wp.vec3i), wp.array(points, dtype=wp.vec3f), out])
    files = [bytes_of(v) for v in made]
    some = np.unique(np.concatenate([voxels[rng.integers(0, len(voxels), 600)], near[:200]]), axis=0).astype(np.int32)
    numbered = wp.Volume.allocate_by_voxels(wp.array(some, dtype=wp.vec3i), voxel_size=1.0)
    numbers = wp.zeros(n, dtype=int)
    wp.launch(number, dim=n, inputs=[numbered.id, wp.array(near, dtype=wp.vec3i), numbers])
    files.append(bytes_of(numbered))
np.save("volume_indices.npy", near)
np.save("volume_points.npy", points)
np.save("volume_values.npy", out.numpy())
np.save("volume_numbers.npy", numbers.numpy())
with open("volume.nvdb", "wb") as f:
    f.write(segment(grid_of(files[0], "density", "new"), grid_of(files[1], "ids", "old")))
    f.write(segment(grid_of(files[2], "flow", None), grid_of(files[3], "numbers", None)))
