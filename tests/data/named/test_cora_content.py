"""Cora in the order of its first files (split=dgl), from files of the same form that are made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gdamn.data import load
from gdamn.errors import ConfigError, DataError
from gdamn.runs.compare.fits import data_name
from gdamn.runs.run import split_text

NODES, CLASSES = 1510, ("Theory", "Case_Based")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A ring of papers whose ids fall while their rows rise; every third has the first class."""
    folder = tmp_path / "cora"
    folder.mkdir()
    ids = [9000 - at for at in range(NODES)]
    content = [f"{paper}\t1\t{at % 2}\t0\t{CLASSES[at % 3 > 0]}" for at, paper in enumerate(ids)]
    (folder / "cora.content").write_text("\n".join(content) + "\n")
    (folder / "cora.cites").write_text("".join(f"{a}\t{b}\n" for a, b in zip(ids, ids[1:] + ids[:1], strict=True)))
    return tmp_path


def test_nodes_stand_and_are_split_in_the_order_of_the_file(root: Path) -> None:
    graph = load("cora", split="dgl", data_root=root)
    assert graph.node_ids[:3].tolist() == ["9000", "8999", "8998"]
    assert [np.flatnonzero(graph.mask(which))[[0, -1]].tolist() for which in ("train", "val", "test")] == [
        [0, 139],
        [200, 499],
        [500, 1499],
    ]
    assert (graph.num_edges, graph.num_features) == (NODES, 3)
    assert set(graph.indices[graph.indptr[5] : graph.indptr[6]].tolist()) == {4, 6}
    assert [graph.class_names[c] for c in graph.labels[:4]] == ["Theory", "Case_Based", "Case_Based", "Theory"]
    assert split_text("cora", [graph.meta["split"]]) == "dgl"


def test_a_name_of_no_split_and_missing_or_broken_files_are_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no split 'xie' of this data set; leave it out, or name dgl"):
        load("cora", split="xie", data_root=root)
    with pytest.raises(ConfigError, match="whole number"):
        load("karate", split="dgl")
    cites = root / "cora" / "cora.cites"
    cites.write_text("1 2\n")
    with pytest.raises(DataError, match="don't fit together"):
        load("cora", split="dgl", data_root=root)
    cites.unlink()
    monkeypatch.setenv("GDAMN_DATA", str(root))
    with pytest.raises(DataError, match=r"put cora\.content and cora\.cites into"):
        load("cora", split="dgl", data_root=root)


def test_the_command_of_a_fit_names_the_split_as_an_option() -> None:
    assert data_name({"dataset": "cora", "options": {"split": "dgl"}}) == "cora --option split=dgl"
    assert data_name({"dataset": "digits", "options": {"split": 3}}) == "digits --split 3"
