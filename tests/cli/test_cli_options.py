"""Options of every command: given once, of the right type, and never without effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gdamn.cli import root as cli
from gdamn.errors import ConfigError
from gdamn.estimators.gdamn import GDAMN
from gdamn.model.settings import Settings
from gdamn.runs.spec import RunSpec

NODES = "id,label,x\n" + "".join(f"n{i},{'ab'[i % 2]},{i}\n" for i in range(20))
EDGES = "source,target\n" + "".join(f"n{i},n{(i + 1) % 20}\n" for i in range(20))


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, each in inner.items():
        yield from leaves(each, (*words, name))


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))
OPTIONS = [
    (words, param)
    for words, command in COMMANDS.items()
    for param in command.params
    if param.param_type_name == "option" and not param.is_eager
]


def invoked(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.exit_code, done.stderr


def refused(*words: str) -> str:
    code, said = invoked(*words)
    assert code == 2, said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def test_all_commands_are_looked_at() -> None:
    assert len(COMMANDS) >= 16
    assert len(OPTIONS) >= 100


@pytest.mark.parametrize(("words", "param"), OPTIONS, ids=lambda value: getattr(value, "name", None))
def test_an_option_adds_up_or_is_given_once(words: tuple[str, ...], param: Any) -> None:
    if param.multiple:
        return  # "may be repeated"; what has a key is tested below
    name = max(param.opts, key=len)
    for first in param.opts:
        twice = [first, name] if param.is_flag else [first, "1", name, "2"]
        said = refused(*words, *twice)
        values = "" if param.is_flag else " ('1', '2')"
        assert said.startswith(f"error: {name} is given twice{values}; give it once")


def test_the_edges_of_two_files_belong_into_one() -> None:
    said = refused("data", "convert", "n.csv", "o.graph", "--edges", "a.parquet", "--edges=b.parquet")
    assert said == (
        "error: --edges is given twice ('a.parquet', 'b.parquet'); give it once: "
        "put the edges of all files into one file.\n"
    )
    assert "3 times ('1', '2', '3')" in refused("train", "--seeds", "1", "--seeds", "2", "--seeds", "3")


@pytest.mark.parametrize("command", ["train karate", "compare karate --methods gcn --out o", "reproduce fig1a"])
def test_a_key_is_given_once(command: str) -> None:
    said = refused(*command.split(), "--set", "beta=1", "--set", " beta=2")
    assert "--set beta is given twice ('1', '2'); give it once" in said
    if "reproduce" not in command:
        assert "--option k is given twice" in refused(*command.split(), "--option", "k=1", "--option", "k=1")


@pytest.mark.parametrize(
    "command",
    [
        "train karate --set seed=5",
        "compare karate --methods gcn --out o --set seed=5",
        "compare karate --methods gcn --out o --set gcn.seed=5",
        "reproduce fig1a --out o --set seed=5",
        "reproduce table2 --out o --set seed=5",
        "train --config c.toml",
    ],
)
def test_a_seed_is_no_setting(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text('dataset = "karate"\n[settings]\nseed = 5\n')
    assert "--first-seed 5" in refused(*command.split())
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


def test_a_seed_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("seed = [1, 2]\n")
    said = refused("tune", "karate", "--space", str(tmp_path / "space.toml"), "--out", str(tmp_path / "o"))
    assert "--seeds N" in said


@pytest.mark.parametrize(
    "line",
    [
        "sha256 = 7",
        "sha256 = 'x'",
        "sha256 = [1]",
        "sha256 = {nodes = 3}",
        "edges = 3",
        "id = []",
        "label = true",
        "features = 1",
        "features = [1]",
        "text = 2020-01-01",
        "weight = 1.5",
        "source = {}",
        "split_column = 1",
        "val_share = 'x'",
        "val_share = nan",
        "test_share = true",
        "directed = 'yes'",
        "split = 'x'",
        "split = 1.5",
        "split = inf",
        "split = [0]",
        "seed = 1",
        "noise = 1",
        "name = 'x'",
        "path = 'x'",
        "data_root = 'x'",
    ],
)
@pytest.mark.parametrize("dataset", ["nodes.csv", "karate"])
def test_options_of_a_wrong_type(dataset: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "edges.csv").write_text(EDGES)
    edges = "" if line.startswith("edges") or dataset == "karate" else 'edges = "edges.csv"\n'
    Path("c.toml").write_text(f'dataset = "{dataset}"\nmethod = "mlp"\n[options]\n{edges}{line}\n')
    before = sorted(path.name for path in tmp_path.iterdir())
    refused("train", "--config", "c.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("dataset", "line"),
    [
        ("digits", "k='x'"),
        ("digits", "k=true"),
        ("digits", "k=[1]"),
        ("sbm", "num_nodes='x'"),
        ("sbm", "num_nodes=1.5"),
        ("sbm", "num_classes=[2]"),
        ("sbm", "degree='x'"),
        ("sbm", "degree=nan"),
        ("sbm", "homophily={}"),
        ("sbm", "train_per_class='x'"),
        ("arxiv-2023", "test=3"),
    ],
)
def test_options_of_named_data_sets(dataset: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused("train", dataset, "--method", "mlp", "--set", "epochs=1", "--option", line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("device", ["meta", "meta:0", "nosuch", "cuda:99", "xla", ""])
def test_a_device_that_trains_nothing(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("train karate --out o", "compare karate --methods mlp --out o"):
        said = refused(*command.split(), "--set", f"device='{device}'")
        assert "choose cpu or auto" in said
    assert list(tmp_path.iterdir()) == []


def test_meta_in_python() -> None:
    with pytest.raises(ConfigError, match="choose cpu or auto"):
        GDAMN(device="meta")
    with pytest.raises(ConfigError, match="choose cpu or auto"):
        Settings.make(device="meta:1")
    assert GDAMN(device="cuda:7").settings.device == "cuda:7"  # a model of another machine opens


def test_values_that_never_end(tmp_path: Path) -> None:
    for value in ("[" * 5000, "{" + "a." * 5000 + "a=1}"):
        refused("train", "karate", "--out", str(tmp_path / "o"), "--set", f"beta={value}")


def test_a_spec_has_no_seed() -> None:
    with pytest.raises(ConfigError, match="first-seed 3"):
        RunSpec("karate", settings={"seed": 3})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train cora --threads 0", "--threads must be 1 or more; got 0."),
        ("train cora --split -1", "--split must be 0 or more; got -1."),
        ("train cora --noise nan", "--noise must be 0 or more; got nan."),
        ("train nodes.csv --edges edges.csv --val-share 1.5", "--val-share must be from 0 to 1; got 1.5."),
        ("tune cora --trials 0", "--trials must be 1 or more; got 0."),
        ("replicate result.json --jobs 0", "--jobs must be 1 or more; got 0."),
        ("reproduce table2 --coauthor-seeds 0", "--coauthor-seeds must be 1 or more; got 0."),
        ("data convert graph.npz new.graph --seed -1", "--seed must be 0 or more; got -1."),
    ],
)
def test_a_number_out_of_range_is_one_sentence(words: str, said: str) -> None:
    assert refused(*words.split()) == f"error: {said}\n"
