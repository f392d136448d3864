"""The poisoned graphs: one file per rate, the same nodes and split in all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from gdamn.data import load
from gdamn.data.named.poisoned import RATES
from gdamn.errors import ConfigError, DataError


def write(path, edges, **changes):
    """Six nodes with these edges in the layout of the published files."""
    rows, columns = np.array([*edges, *[(j, i) for i, j in edges]]).T
    adjacency = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(6, 6))
    words = sp.csr_array(np.eye(6, 4, dtype=np.float32))
    parts = {
        f"{name}_{key}": value
        for name, matrix in (("adj", adjacency), ("attr", words))
        for key, value in (
            *((key, getattr(matrix, key)) for key in ("data", "indices", "indptr")),
            ("shape", np.array(matrix.shape)),
        )
    }
    masks = {f"{name}_mask": np.arange(6) // 2 == at for at, name in enumerate(("train", "val", "test"))}
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **{**parts, "labels": np.array([0, 1, 0, 1, 0, 1]), **masks, **changes})


def test_a_file_per_rate(tmp_path, monkeypatch):
    monkeypatch.delenv("GDAMN_DATA", raising=False)
    write(tmp_path / "poisoned" / "cora-meta-0.00.npz", [(0, 1), (2, 3)])
    write(tmp_path / "poisoned" / "cora-meta-0.25.npz", [(0, 1), (2, 3), (0, 5)])
    clean, changed = load("cora-meta", data_root=tmp_path), load("cora-meta", data_root=tmp_path, rate=0.25)
    assert (clean.num_edges, changed.num_edges) == (2, 3)
    assert changed.to_scipy().toarray()[5, 0] == 1
    assert clean.test_mask.tolist() == changed.test_mask.tolist() == [False] * 4 + [True] * 2
    assert changed.meta["rate"] == 0.25
    with pytest.raises(DataError, match=r"put cora-meta-0\.10\.npz into .*poisoned"):
        load("cora-meta", data_root=tmp_path, rate=0.1)
    for rate in (0.3, -0.05, 1):
        with pytest.raises(ConfigError, match=r"rate of cora-meta is one of 0, 0\.05, 0\.1, 0\.15, 0\.2, 0\.25, not"):
            load("cora-meta", data_root=tmp_path, rate=rate)
    with pytest.raises(ConfigError, match="'rate' must be a number"):
        load("cora-meta", data_root=tmp_path, rate="much")
    with pytest.raises(ConfigError, match="one public split"):
        load("cora-meta", data_root=tmp_path, split=1)


def test_a_damaged_file(tmp_path, monkeypatch):
    monkeypatch.delenv("GDAMN_DATA", raising=False)
    write(tmp_path / "poisoned" / "cora-meta-0.00.npz", [(0, 1)], labels=np.zeros(5, np.int64))
    with pytest.raises(DataError, match=r"cora-meta in .* don't fit together"):
        load("cora-meta", data_root=tmp_path)


@pytest.mark.data
def test_published_files(data_root):
    graphs = [load("cora-meta", data_root=data_root, rate=rate) for rate in RATES]
    assert [graph.num_edges for graph in graphs] == sorted({graph.num_edges for graph in graphs})
    assert graphs[-1].num_edges == 6246
    assert all((graph.labels == graphs[0].labels).all() for graph in graphs)
    assert all((graph.features != graphs[0].features).nnz == 0 for graph in graphs)
    assert graphs[-1].inter_class_share() > graphs[0].inter_class_share()
