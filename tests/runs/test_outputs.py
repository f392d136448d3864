"""Files that commands write: never over what they read, nor over a file that stands there without ``--force``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gdamn.cli import root as cli

pytestmark = pytest.mark.usefixtures("one_thread")
NODES = "id,label,x\n" + "".join(f"n{i},{'ab'[i % 2]},{i}\n" for i in range(20))
EDGES = "source,target\n" + "".join(f"n{i},n{(i + 1) % 20}\n" for i in range(20))
NEW = ("predict", "run", "--nodes", "new.csv", "--edges", "new-edges.csv")


def invoked(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli.app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.exit_code, done.stdout, done.stderr


def refused(*words: str) -> str:
    code, out, said = invoked(*words)
    assert (code, out) == (2, ""), said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with own files and a run on them."""
    folder = tmp_path_factory.mktemp("outputs")
    for name, text in (("nodes.csv", NODES), ("edges.csv", EDGES), ("new.csv", NODES), ("new-edges.csv", EDGES)):
        (folder / name).write_text(text)
    args = ["train", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv"), "--out", str(folder / "run")]
    small = ["--set", "pretrain_epochs=2", "--set", "epochs=2", "--set", "em_iterations=1", "--no-reference"]
    done = CliRunner().invoke(cli.app, [*args, *small])
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


OF_RUN = ("run/seed-0/predictions.csv", "run/./seed-0/../seed-0/edges.csv", "run/.unfinished/x.csv")


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize(
    "words",
    [
        *(("predict", "run", "-o", name) for name in ("nodes.csv", "edges.csv", "run/../nodes.csv", *OF_RUN)),
        *((*NEW, "-o", name) for name in ("new.csv", "new-edges.csv", "nodes.csv")),
        *(("refine", "run", "-o", name) for name in ("nodes.csv", "edges.csv", *OF_RUN)),
        *(("edges", "run", "-o", name) for name in ("nodes.csv", "edges.csv", *OF_RUN)),
        *(("report", "run", "-o", name) for name in ("nodes.csv", "run/config.toml", "run/seed-0/model.gdamn")),
        ("report", "run", "-o", "run/summary.json"),
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(words: tuple[str, ...], force: tuple[str, ...], place: Path) -> None:
    before = content(place)
    said = refused(*words, *force)
    assert "choose another name" in said
    assert "reads" in said or "file of the run" in said
    assert content(place) == before


def test_a_link_to_an_input(place: Path) -> None:
    (place / "link.csv").symlink_to("nodes.csv")
    try:
        assert "reads" in refused("predict", "run", "-o", "link.csv", "--force")
    finally:
        (place / "link.csv").unlink()


def test_other_files_beside_the_run_can_be_written(place: Path) -> None:
    for words in (
        ("predict", "run", "-o", "run/mine.csv"),
        ("predict", "run", "-o", "run/mine.csv", "--force"),
        ("edges", "run", "-o", "predictions.csv"),
        ("report", "run"),
        ("report", "run", "-o", "run/report.html"),
        ("report", "run", "-o", "page.html"),
        ("report", "run", "-o", "page.html"),  # a page of ours may be made again
    ):
        code, _, said = invoked(*words)
        assert code == 0, said


def test_a_report_over_a_foreign_page(place: Path) -> None:
    (place / "index.html").write_text("mine")
    assert "'index.html' exists; pass --force" in refused("report", "run", "-o", "index.html")
    assert (place / "index.html").read_text() == "mine"
    assert invoked("report", "run", "-o", "index.html", "--force")[0] == 0


@pytest.mark.parametrize("args", [("--plot", "mine.png"), ("--out", "."), ("--out", "seen")])
def test_inspect_replaces_nothing_unasked(
    args: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen").mkdir()
    for name in ("mine.png", "inspect.json", "seen/inspect.png"):
        (tmp_path / name).write_text("mine")
    before = content(tmp_path)
    assert "exists; pass --force" in refused("inspect", "karate", *args)
    assert content(tmp_path) == before
    code, _, said = invoked("inspect", "karate", *args, "--force")
    assert code == 0, said
    assert content(tmp_path) != before


def test_a_graph_is_not_converted_onto_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoked("data", "convert", "karate", "k.graph")[0] == 0
    before = content(tmp_path)
    for target in ("k.graph", "../" + tmp_path.name + "/k.graph", "k.graph/inner.graph"):
        assert "the command reads 'k.graph'" in refused("data", "convert", "k.graph", target, "--half")
        assert content(tmp_path) == before
    assert invoked("data", "convert", "k.graph", "other.graph", "--half")[0] == 0
