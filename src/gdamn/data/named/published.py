"""What the loaders of published files share: archives that must be whole, and one sentence where files disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, GdamnError, in_short
from ...graph.graph import Graph
from ...system.reading import check_file
from ..files.npz import Archive, ArchiveError, open_archive


def open_published(path: Path, names: Sequence[str]) -> Archive:
    """An npz archive with all arrays of these names; others in it (some pickled) are never opened."""
    check_file(path, empty=True)
    try:
        archive = open_archive(path, names)
    except ArchiveError as problem:
        raise DataError(f"The file {path} can't be read: {problem.reason}; replace it by the published one.") from None
    missing = next((name for name in names if name not in archive.arrays), None)
    if missing is not None:
        raise DataError(f"The file {path} lacks an array that it should have: {missing}.")
    return archive


def published_graph(
    archive: Archive, masks: Iterable[NDArray[np.bool_]], *, name: str, meta: dict[str, Any], features: Any = None
) -> Graph:
    """The graph of an archive with these training, validation and test nodes; features in place of its own."""
    train, val, test = masks
    return Graph.build(
        archive.edges()[0],
        archive.features() if features is None else features,
        archive.arrays["labels"],
        train_mask=train,
        val_mask=val,
        test_mask=test,
        name=name,
        meta=meta,
    )


@contextmanager
def consistent(name: str, where: Path) -> Iterator[None]:
    """Say in one sentence that files don't make a graph together, whatever NumPy says of them."""
    try:
        yield
    except (GdamnError, ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
        raise DataError(f"The files of {name} in {where} don't fit together: {in_short(error)}.") from None
