#!/usr/bin/env python3
"""bench/ptx/compare.py -- registers and SASS instructions of the workloads' kernels beside the same kernels in CUDA C.

    compare.py HEDDLE [--json=FILE] [SM..]      sm_75, sm_90 and sm_120 if none is named

Both go through the toolkit's ptxas, by the same rules of arithmetic: our default against `nvcc -O3`, both of which fuse
multiplications and additions and divide exactly, and --fast against `nvcc -O3 --use_fast_math`. HEDDLE is the tool. nvcc and ptxas are taken from PATH, CUDA_HOME/bin or
/usr/local/cuda*/bin; where there is none, that is said and the status is 0.

An instruction is 16 bytes of the kernel's section and of the functions that it calls there; NOPs, which fill it up, are
not counted. A ratio above GOAL is marked with *.
"""
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

GOAL = 1.15
HERE = os.path.dirname(os.path.abspath(__file__))
# name: file, kernel, defines
KERNELS = {
    "saxpy": ("saxpy", "saxpy", []),
    "sum": ("sum", "sum_blocks", []),
    "black_scholes": ("black_scholes", "black_scholes", []),
    "mandelbrot": ("mandelbrot", "mandelbrot", []),
    "nbody": ("nbody", "nbody", []),
    "jacobi": ("jacobi", "jacobi", []),
    "transforms": ("transforms", "transforms", []),
    "histogram": ("histogram", "histogram", []),
    "sdf": ("sdf", "sdf", []),
    "particles": ("particles", "density", []),
    "cholesky6": ("cholesky", "cholesky", ["-DN=6"]),
    "cholesky12": ("cholesky", "cholesky", ["-DN=12"]),
    "tile_product": ("tile_product", "tile_product", []),
}
RULES = {"default": ([], []), "fast": (["--fast"], ["--use_fast_math", "-DFAST"])}
NOP = 0x918


def find(tool):
    folders = [os.environ.get("PATH", ""), os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")]
    return shutil.which(tool, path=":".join(folders + sorted(glob.glob("/usr/local/cuda*/bin"), reverse=True)))


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"compare.py: {' '.join(args)}:\n{r.stderr or r.stdout}")
    return r.stderr


def instructions(cubin):
    """Of each section with code: how many instructions, without NOPs."""
    with open(cubin, "rb") as f:
        data = f.read()
    at, size, count, names = struct.unpack_from("<Q10xHHH", data, 40)
    headers = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]
    found = {}
    for name, _, _, _, offset, length in headers:
        start = headers[names][4] + name
        text = data[start : data.index(b"\0", start)].decode()
        if text.startswith(".text."):
            codes = [struct.unpack_from("<Q", data, p)[0] & 0xFFF for p in range(offset, offset + length, 16)]
            found[text[6:]] = sum(c != NOP for c in codes)
    return found


def registers(said):
    """Of each entry, from what ptxas -v said."""
    found, entry = {}, None
    for line in said.splitlines():
        if m := re.search(r"Compiling entry function '(\w+)'", line):
            entry = m[1]
        elif m := re.search(r"Used (\d+) registers", line):
            found[entry] = int(m[1])
    return found


def kernel(heddle, ptxas, sm, name, options, folder):
    file, entry, defines = KERNELS[name]
    ptx, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    source = os.path.join(HERE, "..", "workloads", file + ".hd")
    run(heddle, "compile", source, "--kernel=" + entry, "--emit=ptx", "--target=" + sm, "-o", ptx, *defines, *options)
    said = run(ptxas, "-v", "-arch=" + sm, ptx, "-o", cubin)
    return registers(said)["hd_" + entry], sum(instructions(cubin).values())


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    keep = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--json=")]
    if not names:
        sys.exit(__doc__)
    nvcc, ptxas = find("nvcc"), find("ptxas")
    if not nvcc or not ptxas:
        print("compare.py: skipped: there is no nvcc or no ptxas, which come with the CUDA toolkit")
        return
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for sm in names[1:] or ["sm_75", "sm_90", "sm_120"]:
            for rule, (ours, theirs) in RULES.items():
                cubin = os.path.join(folder, "twins.cubin")
                twins = os.path.join(HERE, "twins.cu")
                regs = registers(run(nvcc, "-O3", "-arch=" + sm, "-cubin", "-Xptxas", "-v", *theirs, "-o", cubin, twins))
                counts = instructions(cubin)
                head = f"{'registers':>9} {'nvcc':>6} {'ratio':>6}   {'instructions':>12} {'nvcc':>6} {'ratio':>6}"
                print(f"{sm + ', ' + rule:<18} {head}")
                met = 0
                for name in KERNELS:
                    twin = name if name in regs else KERNELS[name][1]
                    r, n = kernel(names[0], ptxas, sm, name, ours, folder)
                    x, y = r / regs[twin], n / counts[twin]
                    met += x <= GOAL and y <= GOAL
                    marks = ["*" if v > GOAL else " " for v in (x, y)]
                    print(f"{name:<18} {r:>9} {regs[twin]:>6} {x:>6.2f}{marks[0]}  {n:>12} {counts[twin]:>6} {y:>6.2f}{marks[1]}")
                    figure = {"sm": sm, "rule": rule, "kernel": name, "registers": r, "instructions": n}
                    figures.append({**figure, "nvcc_registers": regs[twin], "nvcc_instructions": counts[twin]})
                print(f"within {GOAL} in both: {met} of {len(KERNELS)}\n", flush=True)
    for path in keep:
        with open(path, "w") as f:
            json.dump(figures, f, indent=1)


if __name__ == "__main__":
    main()
