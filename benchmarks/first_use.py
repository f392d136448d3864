"""Seconds of a first fit with an empty cache of kernels: compiled side by side, and one after the other.

python benchmarks/first_use.py --rounds 2

Both sides take turns, each in a process of its own with a new cache; karate, three epochs a phase. Prints a row.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

FIT = """
import time
start = time.perf_counter()
from gdamn import GDAMN, load
from gdamn.kernels import first_use
if {serial}: first_use.prepare = lambda limit: None
GDAMN(pretrain_epochs=3, epochs=3).fit(load("karate"))
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    rounds = range(parser.parse_args().rounds)
    seconds = [[first_fit(serial) for serial in (False, True)] for _ in rounds]
    beside, after = map(min, zip(*seconds, strict=True))
    print(f"| {len(os.sched_getaffinity(0))} cores | {beside:.1f} s | {after:.1f} s | {after / beside:.2f}× faster |")


def first_fit(serial: bool) -> float:
    """Seconds from the start of the imports to the end of the fit."""
    with tempfile.TemporaryDirectory() as cache:
        script = FIT.format(serial=serial)
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
