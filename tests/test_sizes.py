"""No file, function or list of parameters grows beyond what is read at a glance (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "gdamn"
LINES_OF_FILE, LINES_OF_FUNCTION, PARAMETERS = 350, 60, 8

MORE_PARAMETERS = {
    "graph/graph.py": {"build", "from_tables"},  # public, all but the first by name
    "studies.py": {"compare", "tune"},  # the same
    "kernels/numba/sparse.py": {"_add64", "_add16", "_add_last"},  # inlined loops; tuples made them 5 to 30 % slower
}
"""Functions outside of cli/, where a parameter is an option, that have more parameters, and why."""


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls", "ctx")]


def test_every_file_is_read_at_a_glance() -> None:
    long_files, long_functions, more_parameters = [], [], {}
    for path in SOURCES.rglob("*.py"):
        name, defined = path.relative_to(SOURCES).as_posix(), functions(path)
        if len(path.read_text().splitlines()) > LINES_OF_FILE:
            long_files.append(name)
        for function in defined:
            if (function.end_lineno or function.lineno) - function.lineno >= LINES_OF_FUNCTION:
                long_functions.append(f"{name}: {function.name}")
        many = {function.name for function in defined if len(parameters(function)) > PARAMETERS}
        if many and not name.startswith("cli/"):
            more_parameters[name] = many
    assert not long_files
    assert not long_functions
    assert more_parameters == MORE_PARAMETERS
