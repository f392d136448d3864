"""What the package never does with a stranger's data: run it, hand it to a shell, unpickle it, draw scripts from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gdamn
from gdamn.report.svg import cleaned

PACKAGE = Path(gdamn.__file__).parent

MAY_IMPORT = {
    "subprocess": {"runs/ranks/launch.py", "kernels/first_use.py"},  # gdamn itself; never a shell
    "pickle": {"data/named/safe_pickle.py"},  # behind a reader that admits nine names
    "pickletools": {"data/files/torch_file.py"},  # lists what a pickle would do
    "http.server": {"review/server.py"},  # on loopback, behind a token
    **{name: set() for name in ("marshal", "shelve", "dill", "cloudpickle", "joblib", "pty", "commands")},
}
NEVER = {"eval", "exec", "compile", "__import__", "system", "popen", "execv", "execve", "spawnl", "unsafe_load"}


@cache
def modules() -> list[tuple[str, ast.Module]]:
    return [
        (path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def calls(tree: ast.Module) -> Iterator[tuple[str, str, ast.Call]]:
    """Every call with its name and what it is called on, such as ("load", "torch")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, ast.unparse(node.func.value), node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, "", node


def test_the_scan_sees_the_package() -> None:
    found = {name for _, tree in modules() for name in imported(tree)}
    assert {"pickle", "subprocess", "numpy"} <= found


def test_only_named_modules_can_start_processes_or_unpickle() -> None:
    for file, tree in modules():
        for name in imported(tree):
            assert name not in MAY_IMPORT or file in MAY_IMPORT[name], f"{file} imports {name}"


def test_nothing_is_evaluated_and_no_shell_is_asked() -> None:
    for file, tree in modules():
        for name, on, call in calls(tree):
            if name in NEVER and on in ("", "os", "builtins", "yaml"):
                raise AssertionError(f"{file} line {call.lineno} calls {on}.{name}")
            for word in call.keywords:
                shell = word.arg == "shell" and not (isinstance(word.value, ast.Constant) and word.value.value is False)
                assert not shell, f"{file} line {call.lineno} asks for a shell"


def test_numpy_and_torch_load_no_objects() -> None:
    for file, tree in modules():
        for name, on, call in calls(tree):
            given = {word.arg: ast.unparse(word.value) for word in call.keywords}
            where = f"{file} line {call.lineno}"
            assert given.get("allow_pickle", "False") == "False", where
            if name == "load" and on == "torch":
                assert given.get("weights_only") == "True", where
            if name == "load" and on in ("np", "numpy"):
                assert given.get("allow_pickle") == "False", where


NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


@pytest.mark.parametrize(
    "part",
    [
        "<script>window.broken=1</script>",
        '<g onload="window.broken=1"/>',
        '<g><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>broken</script></body></foreignObject></g>',
        '<a xlink:href="javascript:broken()"><text>broken</text></a>',
        '<use xlink:href="https://example.org/broken.svg#x"/>',
        '<image xlink:href="data:text/html,broken"/>',
        "<style>broken</style>",
        '<script xmlns="">broken</script>',
        '<animate attributeName="href" values="broken"/>',
    ],
)
def test_a_drawing_is_all_that_a_chart_can_be(part: str) -> None:
    content = f'<svg {NAMESPACES}><g id="kept"><path d="M 0 0"/></g>{part}</svg>'
    made = cleaned(content.encode(), "chart", "a label")
    assert "broken" not in made
    assert 'id="chart-kept"' in made


def test_the_text_of_a_chart_stays_text() -> None:
    content = f"<svg {NAMESPACES}><text>&lt;script&gt;alert(1)&lt;/script&gt;</text></svg>"
    made = cleaned(content.encode(), "chart", '"><script>')
    assert "<script>" not in made
    assert "&lt;script&gt;alert(1)" in made
