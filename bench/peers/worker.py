"""bench/peers/worker.py -- one peer's side of a workload; bench/worker.cc asks, this answers.

    PYTHON bench/peers/worker.py NAME THREADS HOME

NAME_peer.py beside this file has VERSION and, for each workload that the peer can express, a function of the workload's name
in bench/workloads. It takes the arrays and numbers of bench/workloads.cc by name, and gives (run, result): run() does one whole
repetition and is done when it returns; result() gives the arrays to compare, in the order of bench/workloads.cc. CANNOT says
why another workload has no function. PEER_THREADS is the number of threads that it may use, when the module is imported.

    prepare WORKLOAD FOLDER    inputs are FOLDER/*.npy; does the first repetition; answers its CPU seconds
    run                        warms up, and does one repetition; answers its seconds, CPU and wall
    result FILE                writes the results as f32; answers how many
"""
import glob
import importlib.util
import os
import sys
import time
import traceback

import numpy as np


def load(folder):
    """The arrays by name; what has no axis is a number."""
    arrays = {os.path.basename(f)[:-4]: np.load(f) for f in glob.glob(folder + "/*.npy")}
    return {name: a if a.ndim else float(a) for name, a in arrays.items()}


class Server:
    ENOUGH = 0.02  # seconds to warm up, as bench/measure.cc has
    LONG = 0.2  # of a repetition that needs no warming up

    def __init__(self, peer):
        self.peer, self.once, self.outcome, self.took = peer, None, None, 0

    def prepare(self, workload, folder):
        self.once = self.outcome = None  # frees what was before
        make = getattr(self.peer, workload, None)
        if make is None:
            raise NotImplementedError(self.peer.CANNOT[workload])
        self.once, self.outcome = make(**load(folder))
        return f"{self.timed()[0]:.9f}"

    def timed(self):
        cpu, wall = time.process_time(), time.perf_counter()
        self.once()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        self.took = wall
        return cpu, wall

    def run(self):
        begin = time.perf_counter()
        while self.took < self.LONG and time.perf_counter() - begin < self.ENOUGH:
            self.once()
        return "{:.9f} {:.9f}".format(*self.timed())

    def result(self, path):
        r = self.outcome()
        arrays = r if isinstance(r, tuple) else (r,)
        flat = np.concatenate([np.asarray(a).reshape(-1).astype(np.float32) for a in arrays])
        flat.tofile(path)
        return str(flat.size)


def main():
    name, threads, home = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints must not look like an answer
    os.environ.update(PEER_THREADS=threads, OMP_NUM_THREADS=threads, HOME=home, XDG_CACHE_HOME=home)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

    def answer(f, *args):
        try:
            print("ok", f(*args), file=answers)
            return True
        except NotImplementedError as e:
            print("no", e, file=answers)
        except Exception as e:
            traceback.print_exc()
            print("no", f"{type(e).__name__}:", (str(e).splitlines() or [""])[0][:200], file=answers)

    peer = None

    def start():
        nonlocal peer
        # Under this name because Dr.Jit does not compile functions of a module that is called after it.
        spec = importlib.util.spec_from_file_location("peer", f"{sys.path[0]}/{name}_peer.py")
        sys.modules["peer"] = peer = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(peer)
        return peer.VERSION

    if not answer(start):
        return
    server = Server(peer)
    for line in sys.stdin:
        request, *args = line.split()
        answer(getattr(server, request), *args)


main()
