"""One measurement in a process of its own: ``worker.py KIND '{"json": "parameters"}'``; the last line is JSON.

run.py starts it; a fresh process for each measurement keeps memory peaks and thread pools apart.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

KINDS = {
    "warm": ("ours", "warm"),
    "fit": ("ours", "fit"),
    "steps": ("theirs", "steps"),
    "kernels": ("products", "products"),
    "density": ("density", "density"),
    "startup": ("startup", "startup"),
}

OURS = ("warm", "fit", "kernels", "density")


def peak_rss() -> int:
    """Most bytes of memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def threads() -> dict[str, Any]:
    """Threads as they are at the end of the measurement; only of libraries that it loaded."""
    found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None}
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_num_threads()
    if "numba" in sys.modules:
        found["numba"] = sys.modules["numba"].config.NUMBA_NUM_THREADS
    return found


def expendable() -> None:
    """Where memory runs out, the system shall end this process and no other (Linux)."""
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text("1000")


def main() -> None:
    kind, parameters = sys.argv[1], json.loads(sys.argv[2])
    module, function = KINDS[kind]
    expendable()
    if kind in OURS:
        importlib.import_module("gdamn")  # before torch, as users have it: it chooses how OpenMP's threads wait
    policy = os.environ.get("OMP_WAIT_POLICY", "default")  # as it is when torch is loaded
    result = getattr(importlib.import_module(module), function)(**parameters)
    result = {"threads": threads(), "omp_wait_policy": policy, "peak_rss": peak_rss(), **result}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
