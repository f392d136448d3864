"""Which parts are chosen, and the command ``gdamn data partition``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from partitioned import GRAPHS, together
from typer.testing import CliRunner

from gdamn.cli import app
from gdamn.data.files.folder import read_folder, write_folder
from gdamn.data.partition.choose import choose
from gdamn.errors import ConfigError
from gdamn.graph import partition as cutting
from gdamn.graph.order import renumbered
from gdamn.graph.parts import read_parts


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["data", "partition", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("how", ["metis", "order", "rcm", "stream"])
@pytest.mark.parametrize("name", ["karate", "weighted", "directed"])
def test_every_partitioner_renumbers_the_graph(name: str, how: str, tmp_path: Path) -> None:
    folder = write_folder(GRAPHS[name], tmp_path / "g.graph")
    if how == "metis":
        pytest.importorskip("pymetis")
        if name == "directed":
            with pytest.raises(ConfigError, match="undirected graphs alone"):
                choose(GRAPHS[name], 3, how)
            return
    run(folder, tmp_path / "parts", "--parts", 3, "--partitioner", how)
    read = read_parts(tmp_path / "parts")
    whole = together(read)
    moved, _ = renumbered(read_folder(folder), whole["nodes"])
    np.testing.assert_array_equal(whole["indices"], moved.indices)
    np.testing.assert_array_equal(whole["pair"], moved.structure.pair[moved.structure.off_loop])
    assert (read.partitioner, len(read.parts)) == (how, 3)


@pytest.mark.parametrize("with_metis", [True, False])
def test_auto_takes_the_smallest_cut(with_metis: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "metis_fits", lambda graph: with_metis)
    if with_metis:
        pytest.importorskip("pymetis")
    layout, tried = choose(GRAPHS["digits"], 8)
    assert {name for name, _ in tried} == ({"order", "metis"} if with_metis else {"order", "rcm", "stream"})
    assert layout.partitioner == min(tried, key=lambda each: each[1].cut)[0]
    if not with_metis:
        cuts = {name: measured.cut for name, measured in tried}
        assert cuts["stream"] <= min(cuts["order"], cuts["rcm"])


def test_the_command_shows_what_it_tried_and_resumes(tmp_path: Path) -> None:
    out = run("digits", tmp_path / "parts", "--parts", 4, "--half")
    read = read_parts(tmp_path / "parts")
    assert "largest halo" in out
    assert "order" in out
    assert f"1,797 nodes, 12,339 edges in 4 parts by {read.partitioner}" in " ".join(out.split())
    assert read.parts[0].array("features").dtype == np.float16
    assert read.meta["dataset"] == "digits"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("karate", "parts", "--parts", "9"), "1 to 8 parts"),
        (("karate", "parts", "--parts", "2", "--partitioner", "luck"), "no partitioner 'luck'"),
        (("nodes.csv", "parts", "--parts", "2"), "is a table"),
        (("karate", "parts.graph", "--parts", "2"), "for whole graphs"),
    ],
)
def test_what_can_not_be_is_refused_in_one_sentence(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["data", "partition", *arguments])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())
