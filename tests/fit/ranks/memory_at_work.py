"""Fits on a partitioned graph by ranks whose memory is limited, for test_memory_of_ranks.py.

    python memory_at_work.py FOLDER

One rank without a limit tells how much memory M the fit takes beyond what the process had before. Then the same fit
runs on one rank with 0.6 M, on two with 0.6 M each and on four with 0.4 M each. Rank 0 writes its losses, or what it
was told.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist

from gdamn import GDAMN, Graph
from gdamn.data.partition.layout import Layout
from gdamn.data.partition.write import write_parts
from gdamn.errors import GdamnError
from gdamn.fit.domains.ranks.group import current
from gdamn.fit.domains.ranks.parts import fit_parts
from gdamn.fit.training import Watch
from gdamn.graph.parts import read_parts

NODES, DEGREE, PARTS = 40_000, 20, 8
SETTINGS = {"hidden": 8, "projection": 8, "start": "graph", "em_iterations": 1, "epochs": 2, "pretrain_epochs": 2}
SETTINGS |= {"dropout_input": 0.0, "dropout_attention": 0.0, "annotate_epochs": 1, "threads": 1, "normalize": "none"}
WORLDS = ((1, None), (1, 0.6), (2, 0.6), (4, 0.4))


def make_parts(folder: Path) -> None:
    """A graph whose neighbours are near each other, in parts of equal size."""
    luck = np.random.default_rng(0)
    source = luck.integers(0, NODES, NODES * DEGREE)
    target = (source + luck.integers(1, 200, len(source))) % NODES
    labels = np.arange(NODES) // 100 % 3
    x = luck.normal(size=(NODES, 8)).astype(np.float32) + labels[:, None]
    masks = {"train_mask": np.arange(0, NODES, 50), "val_mask": np.arange(1, NODES, 50)}
    graph = Graph.build(np.stack([source, target]), x, labels, **masks)
    layout = Layout.make((np.arange(NODES) * PARTS // NODES).astype(np.int32), None, PARTS, "order")
    write_parts(graph, folder, lambda: layout)


def data_bytes() -> int:
    """What RLIMIT_DATA counts of this process."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmData"):
            return 1024 * int(line.split()[1])
    raise AssertionError("the system doesn't tell VmData")


class Peak(threading.Thread):
    """The most that :func:`data_bytes` was while it ran."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            self.most = max(self.most, data_bytes())
            time.sleep(0.001)


def fit(parts: Path) -> list[float]:
    """The losses of one fit."""
    watch = Watch(None)
    with fit_parts(read_parts(parts), GDAMN(**SETTINGS).settings, watch, current()) as fitted:
        fitted.edge_weights()
    return [record["loss"] for record in watch.history]


def work(size: int, share: float | None, folder: Path, rank: int) -> None:
    """One rank's part of a world."""
    if size > 1:
        store = dist.FileStore(str(folder / f"store-{size}"), size)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=120))
    peak = Peak()
    peak.start()
    before = data_bytes()
    result: dict[str, Any] = {}
    if share is not None:
        more = int(json.loads((folder / "1-None.json").read_text())["M"] * share)
        resource.setrlimit(resource.RLIMIT_DATA, (before + more, before + more))
        result["limit"] = more
    try:
        result["losses"] = fit(folder / "parts")
    except GdamnError as problem:
        result["told"] = str(problem)
    peak.over.set()
    peak.join()
    if rank == 0:
        (folder / f"{size}-{share}.json").write_text(json.dumps({**result, "M": peak.most - before}))


def main() -> None:
    """The worlds one after the other, each rank a process of its own."""
    folder = Path(sys.argv[1])
    make_parts(folder / "parts")
    for size, share in WORLDS:
        ranks = [start(size, share, folder, rank) for rank in range(size)]
        ends = [os.waitstatus_to_exitcode(os.waitpid(rank, 0)[1]) for rank in ranks]
        if any(ends):
            sys.exit(f"The {size} ranks with {share} ended with {ends}.")


def start(size: int, share: float | None, folder: Path, rank: int) -> int:
    """The process of a rank."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work(size, share, folder, rank)
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    return process


if __name__ == "__main__":
    main()
