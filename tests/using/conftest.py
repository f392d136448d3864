"""A noisy graph, a model of it and a run, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from after_helpers import CUTTING, SCHEDULE, named

from gdamn import GDAMN, Graph, load


@pytest.fixture(scope="session")
def noisy() -> Graph:
    return named(load("sbm", num_nodes=300, num_classes=3, feature_signal=2.0, noise=0.5, seed=1))


@pytest.fixture(scope="session")
def model(noisy: Graph) -> GDAMN:
    return GDAMN(**SCHEDULE, **CUTTING, seed=0).fit(noisy)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two seeds on a fixed split."""
    from gdamn.runs.run import run as train
    from gdamn.runs.spec import RunSpec

    out = tmp_path_factory.mktemp("after") / "run"
    options = {"num_nodes": 300, "num_classes": 3, "feature_signal": 2.0, "split": 0}
    settings = {**SCHEDULE, **CUTTING}
    train(RunSpec("sbm", "gdamn", (0, 1), 0.5, options, settings), out)
    return out
