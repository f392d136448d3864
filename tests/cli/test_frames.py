"""How deep the sparse product lies below the command: frames of this package between them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gdamn
from gdamn.cli.root import main
from gdamn.kernels.numba import sparse

ROOT = str(Path(gdamn.__file__).parent)
PROPAGATION, LONGEST = 16, 18
"""From ``main`` to a product with A, and to any sparse product (the features under p's soft attention)."""


def own_frames() -> list[str]:
    """The functions of this package that are running, the outermost first."""
    frame, names = sys._getframe(2), []
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT):
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back  # type: ignore[assignment]
    return names[::-1]


@pytest.mark.parametrize("method", ["gdamn", "gcn"])
@pytest.mark.parametrize("dataset", ["digits", "karate"])  # dense features and sparse ones
def test_few_frames_lie_between_the_command_and_the_sparse_product(
    dataset: str, method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chains: dict[tuple[str, ...], None] = {}

    def counted(product: Callable[..., None]) -> Callable[..., None]:
        def call(*arrays: Any) -> None:
            chains[tuple(own_frames())] = None
            product(*arrays)

        return call

    for name in ("spmm", "spmm_permuted"):
        monkeypatch.setattr(sparse, name, counted(getattr(sparse, name)))
    few = ("epochs=1", *(("pretrain_epochs=1", "em_iterations=1", "start=graph") if method == "gdamn" else ()))
    options = [f"--method={method}", *(f"--set={setting}" for setting in few), "--json", f"--out={tmp_path / 'run'}"]
    monkeypatch.setattr(sys, "argv", ["gdamn", "train", dataset, *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    of_fit = [chain for chain in chains if chain[0] == "main" and "run_epochs" in chain]
    assert len(of_fit) > 2
    longest = max(of_fit, key=len)
    assert len(longest) <= LONGEST, longest
    propagation = max((chain for chain in of_fit if "Adjacency.propagate" in chain), key=len)
    assert len(propagation) <= PROPAGATION, propagation
