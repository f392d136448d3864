"""A run on small tables of one's own, some of whose labels and edges are wrong; each test begins with no decision."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdamn.data.files import prepare
from gdamn.review.session import Session, open_session
from gdamn.runs.run import run
from gdamn.runs.spec import RunSpec

FEW = {"pretrain_epochs": 8, "epochs": 4, "em_iterations": 1, "hidden": 8, "projection": 8}
CLASSES = ("cats", "dogs", "<b>birds</b>")
NODES, LABELLED, WRONG = 48, 30, 3


def tables(folder: Path) -> tuple[Path, Path]:
    """Classes that hang together, with a few labels of another class; the first 30 nodes are labelled."""
    draw = np.random.default_rng(0)
    true = np.arange(NODES) % 3
    told = np.where(np.arange(NODES) < WRONG, (true + 1) % 3, true)
    near = draw.random((NODES, NODES)) < np.where(true[:, None] == true, 0.35, 0.04)
    x = np.eye(3)[true] + draw.normal(0, 0.4, (NODES, 3))
    ids = [f"n{at}" if at % 7 else f"<i>n{at}</i>" for at in range(NODES)]
    nodes, edges = folder / "nodes.csv", folder / "edges.csv"
    rows = [
        f"{ids[at]},{CLASSES[told[at]] if at < LABELLED else ''},{','.join(f'{v:.3f}' for v in x[at])}"
        for at in range(NODES)
    ]
    nodes.write_text("id,label,weight,height,age\n" + "\n".join(rows) + "\n")
    pairs = np.argwhere(np.triu(near, 1))
    edges.write_text("source,target\n" + "\n".join(f"{ids[a]},{ids[b]}" for a, b in pairs) + "\n")
    return nodes, edges


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("review")
    nodes, edges = tables(folder)
    dataset, options = prepare(str(nodes), {"edges": str(edges), "val_share": 0.2}, fresh=True)
    run(RunSpec(dataset, options=options, settings=FEW), folder / "run")
    return folder / "run"


@pytest.fixture
def copied(trained: Path) -> Path:
    """The run, about which nothing is decided."""
    (trained / "decisions.csv").unlink(missing_ok=True)
    shutil.rmtree(trained.with_name("run-reviewed"), ignore_errors=True)
    return trained


@pytest.fixture(scope="session")
def opened(trained: Path) -> Session:
    return open_session(trained, None, None, 20)


@pytest.fixture
def session(copied: Path, opened: Session) -> Session:
    """The same queues for all tests; the log begins anew."""
    return opened


@pytest.fixture
def serving() -> Iterator[Callable[..., Any]]:
    """Starts a server for a session in a thread."""
    import threading

    from gdamn.review.server import ReviewServer

    servers = []

    def start(session: Session) -> ReviewServer:
        server = ReviewServer(session)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
