"""The registry of named data sets, and the one function that loads any of them."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, DataError
from ..files import is_path
from ..noise.kinds import add_noise
from ..progress import Progress, silent

if TYPE_CHECKING:
    from ...graph.graph import Graph

PUBLIC, RANDOM, TEN = "public", "random", "ten public"
"""Kinds of split: one fixed split, a new random one for each split number, or one of ten fixed ones."""


@dataclass(frozen=True)
class DataInfo:
    """What is known of a data set before it is loaded.

    Attributes:
        name: what :func:`load` knows it by.
        description: one line for people.
        split: how nodes are split: ``public``, ``random`` or ``ten public``.
        source: where the data come from.
        nodes, edges, features, classes: published counts (undirected edges, classes that have nodes); None where
            the options decide.
        loader: ``module:function`` inside :mod:`gdamn.data`, imported on first use.
        options: names of the options that the loader takes.
        splits: names of splits beside that one, as ``split`` of :func:`load` takes them.
    """

    name: str
    description: str
    split: str
    source: str
    nodes: int | None
    edges: int | None
    features: int | None
    classes: int | None
    loader: str
    options: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()


_SKLEARN = "bundled with scikit-learn"
_PLANETOID = "kimiyoung/planetoid"
_SHCHUR = "shchur/gnn-benchmark"
_YANDEX = "yandex-research/heterophilous-graphs"
_METATTACK = "ChandlerBang/Pro-GNN"
_SBM_OPTIONS = (
    "num_nodes",
    "num_classes",
    "degree",
    "homophily",
    "num_features",
    "feature_signal",
    "train_per_class",
    "val_per_class",
)

_ALL = (
    DataInfo(
        "digits",
        "8x8 images of handwritten digits, joined to their 10 nearest neighbours",
        *(RANDOM, _SKLEARN, 1797, 12339, 64, 10, "sklearn_graphs:load_neighbours", ("k",)),
    ),
    DataInfo(
        "wine",
        "chemical analyses of wines of three cultivars, joined to their 10 nearest neighbours",
        *(RANDOM, _SKLEARN, 178, 1231, 13, 3, "sklearn_graphs:load_neighbours", ("k",)),
    ),
    DataInfo(
        "cancer",
        "breast tumours, benign or malignant, joined to their 10 nearest neighbours",
        *(RANDOM, _SKLEARN, 569, 4277, 30, 2, "sklearn_graphs:load_neighbours", ("k",)),
    ),
    DataInfo(
        "karate",
        "Zachary's karate club: friendships in four communities, one training node each",
        *(RANDOM, "bundled with PyTorch Geometric", 34, 78, 34, 4, "karate:load_karate"),
    ),
    DataInfo(
        "cora",
        "citations of machine learning papers, bags of words",
        *(PUBLIC, _PLANETOID, 2708, 5278, 1433, 7, "planetoid:load_planetoid"),
        splits=("dgl",),
    ),
    DataInfo(
        "citeseer",
        "citations of computer science papers, bags of words",
        *(PUBLIC, _PLANETOID, 3327, 4552, 3703, 6, "planetoid:load_planetoid"),
    ),
    DataInfo(
        "pubmed",
        "citations of papers on diabetes, TF-IDF of words",
        *(PUBLIC, _PLANETOID, 19717, 44324, 500, 3, "planetoid:load_planetoid"),
    ),
    DataInfo(
        "coauthor-cs",
        "co-authors in computer science, key words of their papers",
        *(RANDOM, _SHCHUR, 18333, 81894, 6805, 15, "coauthor:load_coauthor"),
    ),
    DataInfo(
        "coauthor-physics",
        "co-authors in physics, key words of their papers",
        *(RANDOM, _SHCHUR, 34493, 247962, 8415, 5, "coauthor:load_coauthor"),
    ),
    DataInfo(
        "ogbn-arxiv",
        "citations of arXiv papers in computer science, split by year",
        *(PUBLIC, "Open Graph Benchmark", 169343, 1157799, 128, 40, "arxiv:load_ogbn_arxiv"),
    ),
    DataInfo(
        "arxiv-2023",
        "citations of newer arXiv papers, bags of title words, split by year",
        *(PUBLIC, "TRAIS-Lab/LLM-Structured-Data", 33868, 303379, 4264, 39, "arxiv:load_arxiv_2023", ("test",)),
    ),
    DataInfo(
        "chameleon",
        "links between Wikipedia pages without duplicates, many between classes",
        *(TEN, _YANDEX, 890, 8854, 2325, 5, "heterophily:load_heterophily"),
    ),
    DataInfo(
        "actor",
        "actors who stand on the same Wikipedia page, most edges between classes",
        *(TEN, _YANDEX, 7600, 26659, 932, 5, "heterophily:load_heterophily"),
    ),
    DataInfo(
        "cora-meta",
        "Cora's largest component, a share of whose edges an adversary has changed (metattack)",
        *(PUBLIC, _METATTACK, 2485, 5069, 1433, 7, "poisoned:load_poisoned", ("rate",)),
    ),
    DataInfo(
        "sbm",
        "a made-up graph with planted classes, of any size",
        *(RANDOM, "generated", None, None, None, None, "synthetic:load_sbm", _SBM_OPTIONS),
    ),
)

DATASETS: dict[str, DataInfo] = {info.name: info for info in _ALL}
"""Every data set that :func:`load` knows, by name."""


def load(
    name: str,
    *,
    data_root: str | PathLike[str] | None = None,
    seed: int = 0,
    split: int | str | None = None,
    noise: float | str = 0.0,
    progress: Progress = silent,
    **options: Any,
) -> Graph:
    """Load a data set by name.

    Args:
        name: one of :data:`DATASETS` (upper case and underscores are forgiven), or the path of files
            (:mod:`gdamn.data.files`).
        data_root: folder to look into first; then the one in ``GDAMN_DATA``, then the user's cache folder.
        seed: seed of everything random: the split, planted noise, synthetic graphs.
        split: number of the split where there are several, the seed when left out; or the name of another split of
            the data set (``DATASETS[name].splits``).
        noise: plant this many random inter-class edges per edge, or ``KIND:RATE``, such as ``remove:0.2``
            (:data:`gdamn.data.noise.KINDS`); ``KIND:RATE:SEED`` has a seed of its own.
        progress: called as ``progress(what, done, total)`` while files are downloaded and read.
        **options: what this data set's loader takes beyond that (``DATASETS[name].options``).
    """
    if is_path(str(name)):
        graph = _from_files(str(name), seed, split, options, progress)
        return add_noise(graph, noise, seed)
    info = _info(name)
    unknown = sorted(set(options) - set(info.options))
    if unknown:
        takes = f"it takes {', '.join(info.options)}" if info.options else "it takes none"
        raise ConfigError(f"The data set {info.name} has no option '{unknown[0]}'; {takes}.")
    _check_options(options)
    named = isinstance(split, str) and split in info.splits
    _check_numbers(seed, None if named else split, info.splits)
    if split is not None and not named and info.split == PUBLIC:
        raise ConfigError(f"The data set {info.name} has one public split; leave the split number out.")
    module, function = info.loader.split(":")
    loader = getattr(importlib.import_module(f".{module}", __package__), function)
    chosen = split if named else int(seed if split is None else split)
    graph = loader(info.name, data_root=data_root, seed=int(seed), split=chosen, progress=progress, **options)
    graph = replace(graph, meta={**graph.meta, "dataset": info.name, "seed": int(seed)})
    return add_noise(graph, noise, seed)


def _from_files(path: str, seed: int, split: Any, options: dict[str, Any], progress: Progress) -> Graph:
    """The graph of a person's files."""
    from ..files import load as read

    _check_numbers(seed, split)
    graph = read(path, seed=int(seed), split=split, progress=progress, **options)
    return replace(graph, meta={**graph.meta, "dataset": path, "seed": int(seed)})


def _check_numbers(seed: Any, split: Any, names: tuple[str, ...] = ()) -> None:
    """Seeds and numbers of splits are whole and not negative."""
    if names and isinstance(split, str):
        raise ConfigError(f"There is no split '{split}' of this data set; leave it out, or name {' or '.join(names)}.")
    for what, number in (("seed", seed), ("split", split)):
        if number is not None and (not _is_whole(number) or number < 0):
            raise ConfigError(f"The {what} must be a whole number that isn't negative, not {number!r}.")


KINDS: dict[str, type] = {"degree": float, "homophily": float, "feature_signal": float, "rate": float, "test": str}
"""Options of data sets that aren't whole numbers."""


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options of a wrong type; their ranges are the loaders' business."""
    for key, value in options.items():
        kind = KINDS.get(key, int)
        number = isinstance(value, Real) and not isinstance(value, bool)
        right = isinstance(value, str) if kind is str else number and (kind is float or _is_whole(value))
        if not right:
            expected = {str: "a text", float: "a number", int: "a whole number"}[kind]
            raise ConfigError(f"The option '{key}' must be {expected}, not {value!r}.")


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number, of whichever type."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and math.isfinite(value) and int(value) == value


def _info(name: str) -> DataInfo:
    """The entry of a name, or an error that names the likely ones."""
    key = str(name).strip().lower().replace("_", "-")
    if key in DATASETS:
        return DATASETS[key]
    close = difflib.get_close_matches(key, DATASETS, n=3, cutoff=0.5)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    raise DataError(f"There is no data set '{name}'{hint}; the data sets are {', '.join(DATASETS)}.")
