"""Few labels, no validation nodes, nothing tuned for the graph: our default against its rivals on the same labels.

python benchmarks/few_labels.py                                  all that is missing, with GDAMN_DATA set to the data
python benchmarks/few_labels.py --graphs cora,actor --labels 5 --seeds 3 --methods sgc,gcn   a part of it
python benchmarks/few_labels.py --again --methods gdamn          these once more, after a change of the code
python benchmarks/few_labels.py --table                          the table of what is there

The labels are drawn at random, k of each class; a class of fewer than 2k nodes gives half of its nodes, at least one. A
method gets a graph that holds these labels and no others, and is scored on all other labelled nodes. Ours and the
baselines have their defaults without a preset, but for CHANGED; scikit-network's have its own. Every fit is kept in
few_labels.json with its settings, and run again where those have changed; a setting that has come since counts as its
default. Needs the extra ``bench`` (scikit-network).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import few_labels_table
import machine
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gdamn import Graph, load
from gdamn.estimators.base import NodeClassifier
from gdamn.estimators.registry import make
from gdamn.system.io import write_text

HERE = Path(__file__).resolve().parent

GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "cora": ("cora", {}),
    "citeseer": ("citeseer", {}),
    "actor": ("actor", {}),
    "chameleon": ("chameleon", {}),
    "digits + noise": ("digits", {"noise": 1.0}),
    "cora + noise": ("cora", {"noise": 0.4}),
    "pubmed": ("pubmed", {}),
    "coauthor-cs": ("coauthor-cs", {}),
    "arxiv-2023": ("arxiv-2023", {}),
}
"""Name in the table: data set and its options. Planted edges are those of the seed."""

LABELS = (5, 10, 20)
OURS = ("gdamn", "gdamn-plus")
BASELINES = ("logreg", "lpa", "sgc", "gcn", "appnp", "grand")
STRANGERS = {"pagerank": "PageRankClassifier", "diffusion": "DiffusionClassifier"}
METHODS = ("majority", "pagerank", "diffusion", *BASELINES, *OURS)
CHANGED: dict[str, dict[str, Any]] = {"gcn": {"normalize": "unit", "weight_decay": 5e-3}}
"""A rival's settings that were better than its defaults on labels of other seeds (docs/evidence/baselines.md)."""

SAME = ("seed", "device", "threads")
"""Settings that don't tell two sets of defaults apart."""

PROTOCOL = (
    "k labels of each class drawn at random (seed), half of a class with fewer than 2k nodes, at least one; no "
    "validation nodes; scored on all other labelled nodes; the settings below; seconds of one processor"
)

Key = tuple[str, int, int, str]
"""Graph, labels a class, seed, method."""


def main() -> None:
    arguments = parse()
    kept = read(arguments.out)
    if not arguments.table:
        for key in keys(arguments):
            run(key, kept, arguments)
    print(few_labels_table.table(list(kept["fits"].values()), list(GRAPHS), METHODS, OURS))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=names(GRAPHS), default=list(GRAPHS), help="names, separated by commas")
    parser.add_argument("--labels", type=numbers, default=list(LABELS), help="labels a class, separated by commas")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed; other than 0 needs another --out")
    parser.add_argument("--methods", type=names(METHODS), default=list(METHODS), help="names, separated by commas")
    parser.add_argument("--again", action="store_true", help="run also what is there already")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    parser.add_argument("--out", type=Path, default=HERE / "few_labels.json")
    arguments = parser.parse_args()
    if arguments.first and arguments.out == HERE / "few_labels.json":
        parser.error("the published seeds begin at 0; give --out for others")
    return arguments


def names(known: Any) -> Callable[[str], list[str]]:
    """Reads a list of names, each of which must be known."""

    def read_names(text: str) -> list[str]:
        wanted = text.split(",")
        if wrong := [name for name in wanted if name not in known]:
            raise argparse.ArgumentTypeError(f"there is no {wrong[0]!r}; choose from {', '.join(known)}")
        return wanted

    return read_names


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def keys(arguments: argparse.Namespace) -> Iterator[Key]:
    """What is asked for, method by method as they are named, then graph by graph."""
    for method in arguments.methods:
        for graph in arguments.graphs:
            for labels in arguments.labels:
                for seed in range(arguments.first, arguments.first + arguments.seeds):
                    yield graph, labels, seed, method


def run(key: Key, kept: dict[str, Any], arguments: argparse.Namespace) -> None:
    """One fit, unless it is there with today's settings; kept at once."""
    name, labels, seed, method = key
    settings = settings_of(method)
    number = hash_of(settings)
    before = kept["settings"].get(kept["fits"].get(key, {}).get("settings"))
    if not arguments.again and before is not None and {**defaults_of(method), **before} == settings:
        return
    warm_up(method)
    accuracy, seconds = fit(graph_of(name, seed), labels, seed, method)
    kept["settings"][number] = settings
    kept["fits"][key] = {
        **dict(zip(("graph", "labels", "seed", "method"), key, strict=True)),
        "accuracy": round(accuracy, 4),
        "seconds": round(seconds, 2),
        "settings": number,
    }
    write(arguments.out, kept)
    print(*key, f"{100 * accuracy:.1f} % in {seconds:.1f} s", flush=True)


def graph_of(name: str, seed: int) -> Graph:
    """The graph of a seed; only planted edges depend on it."""
    return loaded(name, seed if GRAPHS[name][1] else 0)


@cache
def loaded(name: str, seed: int) -> Graph:
    dataset, options = GRAPHS[name]
    return load(dataset, seed=seed, **options)


def draw(labels: NDArray[np.int64], count: int, seed: int) -> NDArray[np.bool_]:
    """[N] which nodes show their label: ``count`` of each class, of a small class half of it, at least one."""
    random = np.random.default_rng([seed, count])
    chosen = np.zeros(len(labels), bool)
    for number in np.unique(labels[labels >= 0]):
        nodes = np.flatnonzero(labels == number)
        most = count if len(nodes) >= 2 * count else max(1, len(nodes) // 2)
        chosen[random.permutation(nodes)[:most]] = True
    return chosen


def fit(graph: Graph, count: int, seed: int, method: str) -> tuple[float, float]:
    """Accuracy on the nodes whose label is hidden, and the processor's seconds for fit and prediction."""
    train = draw(graph.labels, count, seed)
    none = np.zeros_like(train)
    shown = graph.with_masks(train, none, none).with_labels(np.where(train, graph.labels, -1))
    start = time.process_time()
    predicted = predict(shown, seed, method)
    seconds = time.process_time() - start
    test = (graph.labels >= 0) & ~train
    return float((predicted[test] == graph.labels[test]).mean()), seconds


def predict(graph: Graph, seed: int, method: str) -> NDArray[np.int64]:
    """[N] classes; the graph holds the labels of the training nodes alone."""
    majority = int(np.bincount(graph.labels[graph.train_mask]).argmax())
    if method == "majority":
        return np.full(graph.num_nodes, majority)
    if method in STRANGERS:
        from sknetwork import classification

        adjacency = sp.csr_matrix(graph.to_scipy())  # it refuses sparse arrays
        classes = getattr(classification, STRANGERS[method])().fit_predict(adjacency, graph.labels)
        return np.where(classes < 0, majority, classes)  # -1: no label has reached the node
    return classifier(method, seed).fit(graph).predict(names=False)


def classifier(method: str, seed: int) -> NodeClassifier:
    """The estimator as it takes part, on one thread."""
    return make(method, None, seed=seed, overrides={**CHANGED.get(method, {}), "threads": 1})


@cache
def warm_up(method: str) -> None:
    """A fit on a small graph first, so that no seconds of imports and compilation count."""
    predict(load("karate"), 0, method)


@cache
def settings_of(method: str) -> dict[str, Any]:
    """All that decides a method's result beside graph, labels and seed."""
    if method == "majority":
        return {"method": method}
    if method in STRANGERS:
        return {"method": method, "class": STRANGERS[method], "scikit-network": metadata.version("scikit-network")}
    params = classifier(method, 0).get_params()
    return {
        "method": method,
        **{key: params[key] for key in sorted(params) if key not in SAME},
    }


@cache
def defaults_of(method: str) -> dict[str, Any]:
    """What a method's settings are where nothing is said, for fits from before a setting was there."""
    if method not in (*OURS, *BASELINES):
        return {}
    params = type(classifier(method, 0))().get_params()
    return {key: params[key] for key in sorted(params) if key not in SAME}


def hash_of(settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def read(path: Path) -> dict[str, Any]:
    """What was run before: every fit by its key, and the settings by their hash."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"settings": {}, "fits": []}
    fits = {(one["graph"], one["labels"], one["seed"], one["method"]): one for one in content["fits"]}
    return {"settings": content["settings"], "fits": fits}


@cache
def described() -> dict[str, Any]:
    """The machine, asked once: it starts a process."""
    return machine.describe()


def write(path: Path, kept: dict[str, Any]) -> None:
    """The whole file or none of it; a line for each fit, in one order whichever was run first."""
    order = {name: at for at, name in enumerate((*GRAPHS, *METHODS))}
    fits = sorted(
        kept["fits"].values(), key=lambda one: (order[one["graph"]], one["labels"], order[one["method"]], one["seed"])
    )
    used = {one["settings"] for one in fits}
    head = {
        "protocol": PROTOCOL,
        "machine": described(),
        "versions": machine.versions(),
        "settings": {number: settings for number, settings in sorted(kept["settings"].items()) if number in used},
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in head.items()]
    text = ",\n".join(f"  {json.dumps(one)}" for one in fits)
    write_text(path, "{\n" + "".join(lines) + f' "fits": [\n{text}\n ]\n' + "}\n")


if __name__ == "__main__":
    main()
