"""Every block of code in README.md and docs runs: Python as it stands, commands of gdamn in a sandbox.

The sandbox has tiny graphs under the names of the benchmarks, fits of a few epochs, and the files of docs/own-graph.md.
A page's blocks run in their order, in one folder and one namespace. Blocks of other kinds, such as console output, are
not run. docs/own-graph.md and CONTRIBUTING.md have tests of their own, which run them whole (test_own_tutorial.py,
test_map.py).
"""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import Block, blocks, called, in_a_shell, steps

from gdamn import Graph
from gdamn.data.named import registry, synthetic
from gdamn.estimators.base import NodeClassifier

pytestmark = [
    pytest.mark.usefixtures("one_thread", "without_pages"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for bash"),
]

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"own-graph.md": "tests/data/files/test_own_tutorial.py"}
RUN = ("python", "sh")
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if page.name not in ELSEWHERE and any(block.kind in RUN for block in blocks(page))
]

TOO_LONG = {
    "pip install": "installs packages; make release and make matrix do it",
    "make run": "sets up an environment, which takes minutes",
    "gdamn replicate results/cora-gdamn.json": "fits Cora 20 times; test_tuning.py replicates a small run",
    "gdamn reproduce": "many fits; tests/experiments runs every target on a small graph",
    "gdamn train cora --workers 2": "starts processes without the sandbox; tests/fit/ranks trains with several",
    "gdamn review": "serves a page until Ctrl-C; tests/review runs it, in a browser, too",
    "gdamn train --config runs/nodes-gdamn/config.toml --decisions": "needs what a person decided; tests/review has it",
    "torchrun": "needs two machines; tests/fit/ranks/test_hosts.py has two on one",
    "import torch.distributed as dist": "a script for torchrun; tests/fit/ranks runs one",
    "gdamn report runs/arxiv --node 1017": "needs a graph of more than 1,017 nodes; tests/report asks for a node",
}
"""How a block, or a line of one, begins that is not run, and why not."""

SHORTER = {"--trials": "2", "--seeds": "2", "--time-budget": "60"}
"""Options whose numbers are made small."""
LEFT_OUT = ("--jobs",)
"""Options that are left out with their value: other processes would not be in the sandbox, and results don't change."""
FEW = {"pretrain_epochs": 3, "epochs": 3, "em_iterations": 1, "max_epochs": 3, "batches": 2}

AT_HAND = ("karate", "sbm", "digits")
"""Data sets that need no file of a benchmark."""

PREPARED = {
    "report.md": [
        "gdamn train cora --seeds 4",
        "gdamn train nodes.csv --edges edges.csv --label topic --no-reference",
    ],
    "label-next.md": ["gdamn train nodes.csv --edges edges.csv --label topic --no-reference"],
    "wrong-labels.md": ["gdamn train nodes.csv --edges edges.csv --label topic --no-reference"],
}
"""Runs that a page speaks of and doesn't make."""


def tiny(name: str, *, seed: int, **_: Any) -> Graph:
    """A graph of 60 nodes in the place of a benchmark."""
    sizes = {"num_nodes": 60, "num_classes": 3, "num_features": 8, "train_per_class": 6, "val_per_class": 6}
    return replace(synthetic.load_sbm(name, seed=seed, split=0, **sizes), name=name)


@pytest.fixture(scope="module", autouse=True)
def sandbox() -> Iterator[None]:
    """Tiny graphs under the benchmarks' names, and fits of a few epochs."""
    fit = NodeClassifier.fit

    def short_fit(self: NodeClassifier, *args: Any, **kwargs: Any) -> Any:
        known = {each.name for each in fields(self.settings)}
        fewer = {name: min(count, getattr(self.settings, name)) for name, count in FEW.items() if name in known}
        self.settings = replace(self.settings, **fewer)
        return fit(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "tiny", tiny, raising=False)
        for name, info in registry.DATASETS.items():
            if name not in AT_HAND:
                patch.setitem(registry.DATASETS, name, replace(info, loader="synthetic:tiny"))
        patch.setattr(NodeClassifier, "fit", short_fit)
        patch.setenv("COLUMNS", "100")
        patch.setenv("NO_COLOR", "1")
        yield


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """nodes.csv and edges.csv, as docs/own-graph.md makes them."""
    folder = tmp_path_factory.mktemp("library")
    in_a_shell(blocks(ROOT / "docs" / "own-graph.md")[0].text, folder)
    return folder


def small(words: list[str]) -> list[str]:
    """A command with small numbers, in this process."""
    kept: list[str] = []
    for before, word in itertools.pairwise(["", *words]):
        if word not in LEFT_OUT and before not in LEFT_OUT:
            kept.append(SHORTER.get(before, word))
    return [*kept, "--seeds", "2"] if "compare" in words and "--seeds" not in words else kept


def too_long(text: str) -> bool:
    """Whether a reason is given for not running it."""
    return any(text.lstrip().startswith(begin) for begin in TOO_LONG)


def run_python(block: Block, names: dict[str, Any], page: str) -> None:
    """The block, in the names of those before it; one that says which file it is, as that module."""
    if block.file:
        module = importlib.import_module(Path(block.file).stem)
        names.update({name: value for name, value in vars(module).items() if not name.startswith("_")})
        return
    exec(compile("\n" * block.line + block.text, page, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_runs(
    page: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = blocks(page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shutil.copytree(library, tmp_path, dirs_exist_ok=True)
    for block in found:
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
    for line in PREPARED.get(page.name, []):
        called(line, monkeypatch, list)
    names: dict[str, Any] = {"__name__": "docs"}
    for block in found:
        if block.kind == "python" and not too_long(block.text):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of libraries; ours are tested where they are raised
                run_python(block, names, page.name)
        for step in steps(block.text) if block.kind == "sh" else ():
            if too_long(step):
                continue
            if step.startswith("gdamn "):
                called(step, monkeypatch, small)
            else:
                in_a_shell(step, tmp_path)
    for block in found:
        sys.modules.pop(Path(block.file).stem, None)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err


def test_every_reason_is_needed_and_every_kind_is_known() -> None:
    """A reason for what no page has any more would hide the next one that begins so."""
    pieces = [block for page in PAGES for block in blocks(page)]
    texts = [block.text for block in pieces if block.kind == "python"]
    texts += [step.lstrip() for block in pieces if block.kind == "sh" for step in steps(block.text)]
    assert [begin for begin in TOO_LONG if not any(text.lstrip().startswith(begin) for text in texts)] == []
    assert {block.kind for block in pieces} <= {*RUN, "toml", "console", "text", ""}
    assert sum(not too_long(text) for text in texts) > 40
    pages = {page.name for page in PAGES} | set(ELSEWHERE)
    assert set(PREPARED) <= pages
    assert all((ROOT / where).is_file() for where in ELSEWHERE.values())
