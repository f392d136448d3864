"""A graph is immutable: nobody writes to its arrays, and whoever gave them still can."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numba.core.dispatcher import Dispatcher

from gdamn import GDAMN, Graph, load
from gdamn.estimators import registry as methods
from gdamn.graph.read_only import as_tensor, sealed, unsealed

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 3, "epochs": 2, "em_iterations": 1, "threads": 1}


def make(sparse: bool = False, **options: Any) -> Graph:
    x = np.random.default_rng(0).random((12, 5), np.float32) * (np.arange(60).reshape(12, 5) % 9 == 0 if sparse else 1)
    edges = np.stack([np.arange(12), (np.arange(12) * 5 + 1) % 12])
    weights = np.arange(12) / 3 + 1
    masks = {"train_mask": np.arange(12) < 6, "val_mask": np.arange(12) == 7, "test_mask": np.arange(12) > 8}
    return Graph.build(edges, x, np.arange(12) % 2, weights=weights, **masks, **options)


def arrays_of(value: Any, name: str = "graph", depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Every array that can be reached."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif sp.issparse(value):
        for part in ("data", "indices", "indptr"):
            yield f"{name}.{part}", getattr(value, part)
    elif dataclasses.is_dataclass(value) and depth < 4:
        cached = [n for n in dir(type(value)) if isinstance(getattr(type(value), n, None), type(Graph.rows))]
        for part in [*(f.name for f in dataclasses.fields(value)), *cached]:
            if part not in ("_tensors", "transposed"):
                yield from arrays_of(getattr(value, part), f"{name}.{part}", depth + 1)
    elif hasattr(value, "items"):
        for key, item in value.items():
            yield from arrays_of(item, f"{name}[{key}]", depth + 1)


def check_sealed(graph: Graph) -> None:
    found = dict(arrays_of(graph))
    assert {"graph.indices", "graph.rows", "graph.structure.pattern.t_perm", "graph.structure.free"} <= set(found)
    for name, array in found.items():
        assert not array.flags.writeable, name
    with pytest.raises(ValueError, match="read-only"):
        graph.indices[0] = 10**9
    with pytest.raises(ValueError, match="read-only"):
        graph.structure.pattern.indices[0] = 10**9
    with pytest.raises(TypeError):
        graph.meta["split"] = 3  # type: ignore[index]


@pytest.mark.parametrize("sparse", [False, True])
def test_no_array_can_be_written_to(sparse: bool) -> None:
    graph = make(sparse, meta={"planted": np.zeros(24, bool)})
    assert graph.is_sparse == sparse
    for each in (
        graph,
        graph.with_labels(graph.labels),
        graph.with_masks([0, 1], [2], [3]),
        dataclasses.replace(graph, labels=graph.labels.copy(), node_ids=np.arange(12) * 2),
        pickle.loads(pickle.dumps(graph)),
        copy.deepcopy(graph),
        copy.copy(graph),
    ):
        check_sealed(each)
        assert np.array_equal(each.structure.pattern.indices, graph.structure.pattern.indices)
        assert each.structure.pattern.symmetric
    assert pickle.loads(pickle.dumps(graph)).meta.keys() == graph.meta.keys()


def test_graphs_of_every_source_are_sealed(tmp_path: Path) -> None:
    from gdamn.data.files.folder import read_folder, write_folder

    graph = make()
    mapped = read_folder(write_folder(graph, tmp_path / "g.graph"))
    assert isinstance(mapped.features.base, np.memmap | np.ndarray)
    assert mapped.features.base is not None  # still the file, not a copy of it
    for each in (mapped, Graph.from_pyg(graph.to_pyg()), Graph.from_scipy(graph.to_scipy()), load("karate")):
        check_sealed(each)


def test_what_was_given_can_still_be_written_to() -> None:
    graph = make()
    names = [f.name for f in dataclasses.fields(Graph) if isinstance(getattr(graph, f.name), np.ndarray)]
    given = {name: getattr(graph, name).copy() for name in names}
    again = dataclasses.replace(graph, **given)
    check_sealed(again)
    for name, array in given.items():
        assert array.flags.writeable, name
        assert np.shares_memory(array, getattr(again, name))  # no copy of what may be large
    x = np.ones((3, 4), np.float32)
    Graph.build([[0], [1]], x)
    x[:] = 2


def test_a_sparse_matrix_stays_as_it_is() -> None:
    """Zeros and duplicates were taken out of the caller's own matrix."""
    x = sp.csr_matrix((np.array([1, 0, 2, 3], np.float32), [4, 1, 4, 4], [0, 2, 4, 4]), shape=(3, 9))
    before = [x.data.copy(), x.indices.copy(), x.indptr.copy()]
    graph = Graph.build([[0], [1]], x)
    assert graph.is_sparse
    assert graph.features.toarray().tolist() == x.toarray().tolist()
    assert all(np.array_equal(a, b) for a, b in zip(before, (x.data, x.indices, x.indptr), strict=True))
    clean = sp.csr_array(x.toarray())
    held = Graph.build([[0], [1]], clean).features
    clean.indices[:] = 8
    assert held.indices.tolist() == [4, 4]


def test_opening_for_those_who_read() -> None:
    mine = np.arange(4)
    view = unsealed(sealed(mine))
    assert view.flags.writeable
    assert np.shares_memory(view, mine)
    never = np.frombuffer(b"12345678", np.int64)  # read-only by nature
    assert not unsealed(never).flags.writeable
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_tensor(never).numpy()[0] == never[0]
        assert np.shares_memory(as_tensor(sealed(mine)).numpy(), mine)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", ["gdamn", "gdamn-plus", "gcn", "gat", "grand", "lpa", "alagcn"])
def test_torch_has_nothing_to_warn_of(method: str, sparse: bool) -> None:
    graph = make(sparse)
    settings = SHORT if method.startswith("gdamn") else {} if method == "lpa" else {"epochs": 2}
    torch.set_warn_always(True)  # else only the first warning of a process is given
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*not writable.*")
            for normalize in ("auto", "none"):
                more = {} if method == "lpa" else {"normalize": normalize}
                model = methods.method(method).estimator()(**settings, **more).fit(graph)
                model.predict()
            if isinstance(model, GDAMN):
                model.refine()
                model.refine(graph.to_pyg())
    finally:
        torch.set_warn_always(False)


def test_loops_are_compiled_once() -> None:
    """A loop that sees an array read-only here and writable there is compiled twice; each sees it one way."""
    import importlib
    import pkgutil

    import gdamn

    for sparse in (False, True):
        for batch in ("full", "fused", "partition", "neighbour"):
            GDAMN(**SHORT, beta=0.5, batch=batch).fit(make(sparse))
    seen = 0
    for found in pkgutil.walk_packages(gdamn.__path__, "gdamn."):
        if not found.name.startswith(("gdamn.kernels.", "gdamn.fit.domains.")):
            continue
        for each in vars(importlib.import_module(found.name)).values():
            signatures = each.signatures if isinstance(each, Dispatcher) else []
            seen += len(signatures)
            assert len({tuple(map(without_mutability, kinds)) for kinds in signatures}) == len(signatures), each
    assert seen > 5


def without_mutability(kind: Any) -> Any:
    return (kind.dtype, kind.ndim, kind.layout) if isinstance(kind, numba.types.Array) else kind
