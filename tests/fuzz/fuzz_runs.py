"""Fuzz targets for what gdamn itself writes and reads again: models, checkpoints, configurations, results, records."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fuzz_kinds import Target
from fuzz_own import NODES

from gdamn.cli.parsing import parse_pairs
from gdamn.data import load
from gdamn.data.encode import Encoder
from gdamn.data.files.table import Table
from gdamn.estimators.weighted_edges import attention
from gdamn.experiments import published as results
from gdamn.experiments.units import Unit, find_unit
from gdamn.fit import checkpoint_file
from gdamn.graph.decided import decided
from gdamn.graph.decisions import Decisions
from gdamn.model.temperature import Temperature
from gdamn.report import overview, sections
from gdamn.runs import replicate, seed_records
from gdamn.runs import tune as tuning
from gdamn.runs.compare.fits import check_data, fit_work
from gdamn.runs.spec import RunSpec
from gdamn.runs.store import FOLDER, Store
from gdamn.using.new_files import read_encoder
from gdamn.using.run_folder import RunFolder

SPEC = RunSpec("karate", "gdamn", (0, 1), settings={"epochs": 2})


@cache
def model() -> bytes:
    """A model of four nodes that was never trained."""
    from safetensors.numpy import save

    nodes, classes, entries = 4, 2, 3
    header = {
        "format": 1,
        "method": "gdamn",
        "settings": {"epochs": 2, "seed": 0},
        "class_names": ["a", "b"],
        "node_ids": ["w", "x", "y", "z"],
        "best_epoch": {"epoch": 1, "phase": "E-step"},
        "protocol": {"seed": 0, "split": "given"},
        "history": [{"epoch": 0, "loss": 0.5}],
        "num_features": 3,
        "temperature": asdict(Temperature(1.5, True, "fitted", 4)),
        "graph": {"name": "g", "directed": True, "sparse": True, "encoder": {"kind": "given"}, "reading": {}},
    }
    tables = dict.fromkeys(("probabilities", "pseudo_labels", "p_probabilities"), (nodes, classes))
    edges = {f"edge.{name}": (entries,) for name in ("hard", "soft", "stable", "used")}
    loops = {f"loop.{name}": (nodes,) for name in ("hard", "soft", "stable", "used")}
    arrays: dict[str, Any] = {
        name: np.full(shape, 0.5, np.float32) for name, shape in {**tables, **edges, **loops}.items()
    }
    arrays["edge.index"] = np.array([[0, 1, 2], [1, 2, 3]], np.int32)
    arrays["split"] = np.array([1, 2, 3, 0], np.uint8)
    arrays |= {"graph.columns": np.array([0, 2, 1, 0], np.uint8), "graph.counts": np.array([2, 0, 1, 1], np.uint8)}
    arrays["graph.features"] = np.array([1, 2, 3, 4], np.float16)
    return save(arrays, metadata={"gdamn": json.dumps(header)})


def read_model(folder: Path, content: bytes) -> None:
    seed = folder / "seed-0"
    seed.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(SPEC.to_toml(), encoding="utf-8")
    (seed / "model.gdamn").write_bytes(content)
    found = RunFolder(folder).model(0)
    assert len(found.predict()) == len(found.predict_proba()) == len(found.node_ids_)
    attention(found, "look at")
    assert len(found.predict_frame()) == len(found.node_ids_)
    assert found.kept_graph_ is None or found.kept_graph_.features.shape == (len(found.node_ids_), found.n_features_in_)


def header_of(content: bytes) -> bytes:
    """The JSON in the header's metadata: what a model says of itself."""
    size = struct.unpack("<Q", content[:8])[0]
    text: str = json.loads(content[8 : 8 + size])["__metadata__"]["gdamn"]
    return text.encode()


def read_model_header(folder: Path, content: bytes) -> None:
    """The words of a model in a file whose lengths are right."""
    good = model()
    size = struct.unpack("<Q", good[:8])[0]
    header = json.loads(good[8 : 8 + size])
    header["__metadata__"]["gdamn"] = content.decode("utf-8", "replace")
    text = json.dumps(header).encode()
    read_model(folder, struct.pack("<Q", len(text)) + text + good[8 + size :])


@cache
def checkpoint_payload() -> bytes:
    import torch

    loop = {"key": "x", "done": 3, "adam": [torch.ones(2, 2)], "part": {"at": torch.arange(3)}}
    return checkpoint_file.to_bytes({"parts": {"one": torch.zeros(2)}, "loop": loop, "identity": {"a": 1}})


def whole_checkpoint(payload: bytes) -> bytes:
    head = f"gdamn checkpoint {checkpoint_file.FORMAT} {hashlib.sha256(payload).hexdigest()}\n"
    return head.encode() + payload


def read_checkpoint(folder: Path, content: bytes) -> None:
    path = folder / "000001.checkpoint"
    path.write_bytes(content)
    checkpoint_file.read_tree(path)


def read_config(folder: Path, content: bytes) -> None:
    path = folder / "config.toml"
    path.write_bytes(content)
    spec = RunSpec.from_toml(path)
    if ":" not in spec.method:  # a module of the user's own is imported, which is what it is for
        RunSpec.from_dict(spec.resolved().as_dict(), "itself")


def read_space(folder: Path, content: bytes) -> None:
    path = folder / "space.toml"
    path.write_bytes(content)
    tuning.read_space(path)


@cache
def summary() -> dict[str, Any]:
    accuracy = {"mean": 0.5, "std": 0.1, "per_seed": [0.4, 0.6]}
    return {
        "dataset": "karate",
        "method": "gdamn",
        "config": SPEC.as_dict(),
        "protocol": {"seeds": [0, 1], "split": "random", "selection": "best validation accuracy"},
        "test_accuracy": accuracy,
        "val_accuracy": accuracy,
        "seconds_per_seed": [1.0, 2.0],
        "epochs_per_seed": [2, 3],
        "versions": {"gdamn": "0.1.0", "torch": "2"},
    }


def result_seeds() -> list[bytes]:
    other = {**summary(), "method": "gcn"}
    compared = {"kind": "comparison", "results": [summary(), other]}
    table = {"kind": "table", "comparisons": {"karate": compared}}
    return [json.dumps(each).encode() for each in (summary(), compared, table)]


def read_results(folder: Path, content: bytes) -> None:
    """What ``gdamn results`` and ``gdamn replicate`` read."""
    path = folder / "karate.json"
    path.write_bytes(content)
    results.table_rows(results.read_results(folder), results.read_peers(folder))
    found = replicate.read_results_of(path)
    one = replicate.read_result(path, *([] if len(found) == 1 else [found[0]["method"]] if found else []))
    RunSpec.from_dict(one["config"], str(path))


def read_summary(folder: Path, content: bytes) -> None:
    (folder / "config.toml").write_text(SPEC.to_toml(), encoding="utf-8")
    (folder / "summary.json").write_bytes(content)
    run = RunFolder(folder)
    run.best_seed()
    sections.seeds(run)
    overview.settings(run)


def read_document(folder: Path, content: bytes) -> None:
    (folder / "README.md").write_bytes(content)
    results.write_into(folder / "README.md", "| a |")


def table() -> Table:
    rows = [line.split(",") for line in NODES.splitlines()]
    return Table(pa.table({name: [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}), "nodes.csv", 2)


def encoder_seeds() -> list[bytes]:
    columns = Encoder.fit(table(), ["x", "label"], "text", ())
    made = [columns, Encoder.of_matrix(3), columns.fit_structure(np.array([[0, 1, 2], [1, 2, 3]]), 4)[0]]
    return [json.dumps({**each.as_dict(), "class_names": ["a", "b"]}).encode() for each in made]


def read_encoder_file(folder: Path, content: bytes) -> None:
    (folder / "encoder.json").write_bytes(content)
    encoder, classes = read_encoder(folder)
    assert all(isinstance(name, str) for name in classes)
    encoder.describe()
    if encoder.kind == "columns":
        encoder.transform(table())
    if encoder.kind == "structural":
        width = 0 if encoder.structural is None else len(encoder.structural["values"])
        encoder.structural_features(np.array([[0, 1], [1, 2]]), 3, np.zeros((3, width), np.float32))


def fit_seeds() -> list[bytes]:
    spec = RunSpec("sbm", "gcn", (0,))
    record = {"config": spec.as_dict(), "versions": {"gdamn": "0.1.0"}, "result": {"test_accuracy": 0.5}}
    return [json.dumps(record).encode()]


def read_fit(folder: Path, content: bytes) -> None:
    spec = RunSpec("sbm", "gcn", (0,))
    store, work = Store(folder), fit_work(spec, 0)
    (folder / work.path).parent.mkdir(parents=True, exist_ok=True)
    (folder / work.path).write_bytes(content)
    check_data(store, spec)
    store.find(work)


def unit() -> Unit:
    return Unit("sbm, S = 3", 0, RunSpec("sbm", "gcn", (0,)), {"removed": [1, 2]})


def unit_seeds() -> list[bytes]:
    return [json.dumps({"config": unit().config, "versions": {}, "result": {"accuracy": 0.5}}).encode()]


def read_unit(folder: Path, content: bytes) -> None:
    path = folder / unit().work.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    find_unit(Store(folder), unit())


def read_record(folder: Path, content: bytes) -> None:
    path = folder / FOLDER / "seed-0.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    found = seed_records.find_seed(folder, 0, {"config": "x"})
    assert found is None or isinstance(found, dict)


def read_decisions(folder: Path, content: bytes) -> None:
    path = folder / "decisions.csv"
    path.write_bytes(content)
    decided(load("karate"), Decisions.read(path))


def read_pairs(folder: Path, content: bytes) -> None:
    parse_pairs("--set", content.decode("utf-8", "replace").split("\0"))


def one(content: bytes | Callable[[], bytes]) -> Callable[[], Sequence[bytes]]:
    return lambda: [content if isinstance(content, bytes) else content()]


CONFIG_WORDS = ("dataset", "method", "seeds", "noise", "options", "settings", "inf", "nan", "true", "[[", "1979-05-27")
JSON_WORDS = ("null", "true", "1e999", "NaN", "[]", "{}", '"per_seed"', '"mean"', '"kind"', '"table"', "-1")
RECORD = json.dumps({"identity": {"config": "x"}, "files": {}, "result": {"test_accuracy": 0.5}}).encode()
DECISIONS = b"time,kind,node,other,verdict,label\nt,edge,0,1,wrong,\nt,node,5,,right,2\nt,edge,0,2,right,\n"
DOCUMENT = f"# Title\n{results.BEGIN}\nold\n{results.END}\nrest\n".encode()

TARGETS = [
    Target("model", read_model, one(model), ("F32", "BF16", "shape", "data_offsets", "__metadata__")),
    Target("model-header", read_model_header, one(lambda: header_of(model())), JSON_WORDS),
    Target("checkpoint", read_checkpoint, one(lambda: whole_checkpoint(checkpoint_payload()))),
    Target(
        "checkpoint-content",
        lambda folder, content: read_checkpoint(folder, whole_checkpoint(content)),
        one(checkpoint_payload),
        ("__tensor__", "F32", "BF16", "I64", "shape", "data_offsets", "__metadata__", "tree"),
    ),
    Target("config", read_config, one(lambda: SPEC.to_toml().encode()), CONFIG_WORDS),
    Target("search-space", read_space, one(b'beta = [0.2, 0.4]\ninit = ["xavier"]\n'), CONFIG_WORDS),
    Target("results", read_results, result_seeds, JSON_WORDS),
    Target("summary", read_summary, one(lambda: json.dumps(summary()).encode()), JSON_WORDS),
    Target("document", read_document, one(DOCUMENT), (results.BEGIN, results.END)),
    Target("encoder", read_encoder_file, encoder_seeds, JSON_WORDS),
    Target("fit-record", read_fit, fit_seeds, JSON_WORDS),
    Target("unit-record", read_unit, unit_seeds, JSON_WORDS),
    Target("seed-record", read_record, one(RECORD), JSON_WORDS),
    Target(
        "decisions", read_decisions, one(DECISIONS), ("edge", "label", "node", "right", "wrong", "undo", '"', "0,1")
    ),
    Target("settings", read_pairs, one(b"beta=0.6\0name='x'\0n=[1, 2]"), CONFIG_WORDS),
]
