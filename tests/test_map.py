"""The map in CONTRIBUTING.md, README.md and docs is the code's: rooms, import rules, examples, names of files."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from several import Said, several

from gdamn.system.moved import MOVED
from gdamn.system.reading import read_toml

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gdamn"
MAP = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
HELP, BAD = "gdamn --help", "gdamn inspect bad.jsonl"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def linter() -> dict[str, dict[str, Any]]:
    """The import rules by name."""
    rules = read_toml(ROOT / "pyproject.toml")["tool"]["importlinter"]["contracts"]
    return {rule["name"]: rule for rule in rules}


def table(text: str, head: str) -> list[list[str]]:
    """The cells below the head of a table."""
    lines = text[text.index(head) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


ROOMS = {row[0].strip("`"): row for row in table(MAP, "| room |")}


def forbidden(room: str) -> set[str]:
    """What the map says that a room must not import."""
    named = re.findall(r"`(\w+)`( and all below)?", ROOMS[room][2])
    order = list(ROOMS)
    return {other for name, below in named for other in (order[order.index(name) :] if below else [name])}


def ruled(room: str) -> set[str]:
    """What the linter forbids a room."""
    rules = linter()
    layers = [
        [name.strip() for name in layer.split("|")]
        for layer in rules["Rooms import only what lies below them"]["layers"]
    ]
    at = next(at for at, layer in enumerate(layers) if room in layer)
    above = {name for layer in layers[:at] for name in layer} | set(layers[at]) - {room}
    data = rules["Methods and training know nothing of data sets"]
    if f"gdamn.{room}" in data["source_modules"]:
        above |= {name.removeprefix("gdamn.") for name in data["forbidden_modules"]}
    return above


def test_the_map_has_every_room() -> None:
    assert set(ROOMS) == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


@pytest.mark.parametrize("room", ROOMS)
def test_the_map_forbids_what_the_linter_forbids(room: str) -> None:
    assert forbidden(room) == ruled(room)


def test_only_the_command_line_may_import_typer_and_rich() -> None:
    rule = linter()["Only the command line knows typer and rich"]
    assert set(rule["source_modules"]) == {f"gdamn.{room}" for room in ROOMS if room != "cli"}
    assert rule["forbidden_modules"] == ["typer", "rich"]


def blocks(kind: str) -> list[str]:
    """The examples of a kind."""
    return [text for name, text in BLOCK.findall(MAP) if name == kind]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with all examples where they say, and a folder to work in."""
    base = tmp_path_factory.mktemp("extended")
    shutil.copytree(SOURCE, base / "src" / "gdamn", ignore=shutil.ignore_patterns("__pycache__"))
    for block in blocks("python"):
        first, rest = block.split("\n", 1)
        path, _, name = first.removeprefix("# ").partition(", in ")
        target = base / path
        if not name:
            assert not target.exists()
            target.write_text(rest, encoding="utf-8")
            continue
        text = target.read_text(encoding="utf-8")
        begins = re.search(rf"^{name}\b.*[\[({{]\n", text, re.MULTILINE)
        assert begins is not None, f"{path} has no list {name}"
        target.write_text(text[: begins.end()] + rest + text[begins.end() :], encoding="utf-8")
    (base / "work").mkdir()
    return base


def commands(about: str) -> list[str]:
    """The commands of the example that has a word."""
    return next(block for block in blocks("sh") if about in block).splitlines()


@pytest.fixture(scope="module")
def said(extended: Path) -> dict[str, Said]:
    """What the commands of the extended package say, each as the map has it."""
    nodes = [
        {"id": f"n{i}", "label": "ab"[i % 2] if i < 20 else None, "features": [i % 2, 1], "links": [f"n{(i + 2) % 24}"]}
        for i in range(24)
    ]
    (extended / "work/friends.jsonl").write_text("\n".join(map(json.dumps, nodes)))
    (extended / "work/bad.jsonl").write_text('{"id": "a"}')
    lines = [line for about in ("majority,", "friends.jsonl", "gdamn size", "degrees") for line in commands(about)]
    lines += [HELP, BAD]
    words = [line.split()[1:] for line in lines]
    found = several(words, cwd=extended / "work", PYTHONPATH=str(extended / "src"), COLUMNS="200")
    for line, each in zip(lines, found, strict=True):
        assert each.code == (2 if line == BAD else 0), each.err
    return dict(zip(lines, found, strict=True))


def test_the_examples_are_as_the_linter_wants_them(extended: Path) -> None:
    files = [extended / block.split("\n", 1)[0].removeprefix("# ").partition(", in ")[0] for block in blocks("python")]
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--config", str(ROOT / "pyproject.toml"), *map(str, files)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.usefixtures("said")
def test_the_new_method(extended: Path) -> None:
    found = json.loads((extended / "work/runs/majority/compare.json").read_text())
    first, second = (row["test_accuracy"]["per_seed"] for row in found["results"])
    assert first == second
    assert len(first) == 2


def test_the_new_format(extended: Path, said: dict[str, Said]) -> None:
    inspect, _ = commands("friends.jsonl")
    assert re.search(r"edges\W+24 undirected", said[inspect].out)
    assert len((extended / "work/runs/friends/seed-0/predictions.csv").read_text().splitlines()) == 25
    assert "isn't a graph of JSON lines" in said[BAD].err


def test_the_new_command(said: dict[str, Said]) -> None:
    (command,) = commands("gdamn size")
    assert said[command].out == "karate: 34 nodes, 78 edges\n"
    assert "Tell how large a data set is." in said[HELP].out


def test_the_new_experiment(extended: Path, said: dict[str, Said]) -> None:
    (command,) = commands("degrees")
    assert "nodes have neighbours. Our numbers agree: at least 4.6." in said[command].out
    found = json.loads((extended / "work/runs/degrees/degrees.json").read_text())
    assert found["numbers"] == {"karate": pytest.approx(2 * 78 / 34)}


PAGES = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
DOCS = {path.relative_to(ROOT).as_posix().removeprefix("docs/"): path.read_text(encoding="utf-8") for path in PAGES}
DOCS["CONTRIBUTING.md"] = MAP
BASES = (ROOT, ROOT / "src", SOURCE, ROOT / "tests")
LOOSE = "evidence/reliability.md"
"""A list of old defects: files may be named without their folder, modules as they were called then."""


def written(text: str) -> set[str]:
    """The files that the examples of a page write."""
    return set(re.findall(r"(?:^# |cat > )([\w/]+\.py)", text, re.MULTILINE))


def test_files_that_the_docs_name_exist() -> None:
    checked = 0
    for doc, text in DOCS.items():
        for name in set(re.findall(r"(?<![\w/.-])[\w/]+\.py\b", text)) - written(text):
            known = any((base / name).is_file() for base in BASES)
            known = known or (doc == LOOSE and any(SOURCE.rglob(name)))
            assert known, f"{doc} names {name}"
            checked += 1
    assert checked > 80


def test_modules_and_names_in_them_that_the_docs_name_exist() -> None:
    checked = 0
    for doc, text in DOCS.items():
        made = {name.removeprefix("src/").removesuffix(".py").replace("/", ".") for name in written(text)}
        for dotted in set(re.findall(r"(?<![\w./-])gdamn(?:\.[A-Za-z_]\w*)+", text)) - made:
            words = dotted.split(".")
            modules = [at for at in range(len(words), 0, -1) if is_module(words[:at])]
            rest = words[modules[0] :]
            known = hasattr(importlib.import_module(".".join(words[: modules[0]])), rest[0]) if rest else True
            assert known or (doc == LOOSE and dotted in MOVED), f"{doc} names {dotted}"
            checked += 1
    assert checked >= 5


def is_module(words: list[str]) -> bool:
    """Whether the words between dots name a module."""
    path = ROOT.joinpath("src", *words)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def names_in(path: Path) -> set[str]:
    """The functions, classes, methods and variables of a file."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
            found |= {f"{node.name}.{inner.name}" for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef)}
    return found


@pytest.mark.parametrize("doc", DOCS)
def test_names_beside_a_file_are_in_it(doc: str) -> None:
    for path, names in re.findall(r"`([\w/]+\.py)`:((?:[\s,]+`[\w.]+`)+)", DOCS[doc]):
        file = next(base / path for base in BASES if (base / path).is_file())
        assert set(re.findall(r"`([\w.]+)`", names)) <= names_in(file), path


@pytest.mark.parametrize(("doc", "head"), [("CONTRIBUTING.md", "| what | where |"), ("method.md", "| paper | code")])
def test_every_row_of_the_tables_of_places_names_a_file_and_what_is_in_it(doc: str, head: str) -> None:
    rows = table(DOCS[doc], head)
    assert len(rows) >= 10
    assert all(re.search(r"`[\w/]+\.py`: `\w+", row[1]) for row in rows)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_belongs_there_and_gives_the_names_it_lists(room: str) -> None:
    package = importlib.import_module(f"gdamn.{room}")
    assert "Belongs here: " in (package.__doc__ or "")
    for name in getattr(package, "__all__", ()):
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="nowhere"):
        _ = package.nowhere


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_imported_alone_and_loads_neither_torch_nor_sklearn(room: str) -> None:
    heavy = "('torch', 'sklearn', 'numba', 'matplotlib')"
    code = f"import sys, gdamn.{room}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
