#!/usr/bin/env python3
"""bench/table.py -- the tables of docs/performance.md from what ./dev bench --json=FILE wrote.

    bench/table.py [--least] FILE.json

A cell is how many times as fast as the peer Heddle's `fast` mode is, and half the distance of the quartiles; bold where that is
below the goal, - where the peer has no such row. With --least it is the quotient of the least times instead, which says more
where the machine was busy.
"""
import json
import re
import sys


def cell(figure, text):
    good = figure.get("reached", figure.get("met", True))
    return text if good else f"**{text}**"


def median(f):
    return f"{f['median']:.3g} ±{50 * (f['high'] - f['low']) / f['median']:.0f}%"


NAMES = {"numba": "Numba", "warp": "Warp", "jax": "JAX", "drjit": "Dr.Jit", "taichi": "Taichi", "quadrants": "Quadrants"}


def label(peer):
    return NAMES.get(peer, peer)


def row(cells):
    print("| " + " | ".join(cells) + " |")


def workloads(figures, least):
    found = [re.fullmatch(r"(.+), (\d+) threads?, fast: times (.+)", name) for name in figures]
    found = [m.groups() for m in found if m]
    peers = list(dict.fromkeys(p for _, _, p in found))
    row(["", "threads", "default, ms", "fast, ms"] + [label(p) for p in peers])
    row(["---", "---:", "---:", "---:"] + ["---:"] * len(peers))
    before = None
    for work, threads in dict.fromkeys((w, t) for w, t, _ in found):
        name = f"{work}, {threads} thread" + ("s" if threads != "1" else "")
        which = "best" if least else "median"
        cells = ["" if work == before else work, threads]
        cells += [f"{figures[name + mode][which]:.3g}" for mode in ("", ", fast")]
        for p in peers:
            f = figures.get(f"{name}, fast: times {p}")
            if f is None:
                cells.append("-")
            elif not least:
                cells.append(cell(f, median(f)))
            elif f"{name}, {p}" in figures:
                ratio = figures[f"{name}, {p}"]["best"] / figures[f"{name}, fast"]["best"]
                cells.append(f"{ratio:.3g}" if ratio >= f.get("goal", 0) else f"**{ratio:.3g}**")
            else:
                cells.append("-")
        row(cells)
        before = work


def geometry(figures):
    over = {}
    for name in figures:
        m = re.fullmatch(r"geometry: (.+), over (.+)", name)
        if m:
            over.setdefault(m[1], []).append(m[2])
    if not over:
        return
    print()
    row(["one thread", "million a second", "times as fast as"])
    row(["---", "---:", "---"])
    for name, peers in over.items():
        texts = [f"{label(p)} " + cell(f, median(f)) for p in peers for f in [figures[f"geometry: {name}, over {p}"]]]
        row([name, f"{figures['geometry: ' + name]['median']:.3g}", "; ".join(texts)])


def main():
    args = [a for a in sys.argv[1:] if a != "--least"]
    with open(args[0]) as f:
        figures = {figure["name"]: figure for figure in json.load(f)}
    workloads(figures, len(args) + 1 < len(sys.argv))
    geometry(figures)


main()
