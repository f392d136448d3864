"""The fast tests on every Python that is here, with the oldest and the newest packages that gdamn admits.

    python .ci/matrix.py                          # make matrix: all, then docs/tested.json and its table
    python .ci/matrix.py --pythons 3.12 --sets oldest
    python .ci/matrix.py --table                  # the table again, from docs/tested.json

Each pair has an environment of its own: the wheel of this checkout with its extra ``test``, constrained by
constraints-oldest.txt or by nothing. On Linux torch comes with several gigabytes for GPUs unless pip knows of a CPU
build (PIP_EXTRA_INDEX_URL), so an environment is removed after its tests, unless --keep is given.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT, PAGE = ROOT / "docs" / "tested.json", ROOT / "docs" / "evidence" / "install.md"
BEGIN, END = "<!-- tested:begin -->", "<!-- tested:end -->"
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
SETS = ("oldest", "newest")
ROOMS = ("graph", "kernels", "model", "fit", "estimators", "data", "system", "inspect", "using")
TESTS = [f"tests/{room}" for room in ROOMS]
"""Where the fast tests are: what other rooms test mostly starts processes, which takes long."""
SHOWN = ("torch", "torch-geometric", "numpy", "scipy", "scikit-learn", "numba", "networkx", "pyarrow")
"""Packages whose versions are kept."""
COLUMNS = {"torch": "torch", "torch-geometric": "PyG", "numpy": "NumPy", "scipy": "SciPy", "numba": "numba"}
"""Those that the table has."""

Cell = dict[str, Any]


def main() -> int:
    """Test the pairs that were asked for, and write what came out; 1 where a test failed."""
    asked, cells = arguments(), []
    if not asked.table:
        wheel = build_wheel(asked.where)
        pairs = [(python, packages) for python in asked.pythons for packages in asked.sets]
        cells = [keep(test(*pair, wheel, asked)) for pair in pairs]
    write_table(json.loads(RESULT.read_text(encoding="utf-8")))
    return int(any(cell.get("failed") or "not installed" in cell.get("not_tested", "") for cell in cells))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", nargs="+", choices=PYTHONS, default=PYTHONS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--where", type=Path, default=ROOT / "build" / "matrix", help="folder of the environments")
    parser.add_argument("--jobs", default="auto", help="processes of pytest")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files or folders of tests")
    parser.add_argument("--keep", action="store_true", help="keep the environments, and use those that are there")
    parser.add_argument("--table", action="store_true", help="only write the table")
    return parser.parse_args()


def build_wheel(where: Path) -> Path:
    """The wheel of this checkout."""
    folder = where / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    return next(folder.glob("gdamn-*.whl"))


def find_python(version: str) -> str | None:
    """An interpreter of this version: on the path, or one of pyenv's; None where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))]
    for place in places:
        code = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
        try:
            said = run([place, "-c", code]).stdout.split(maxsplit=1)
        except (OSError, subprocess.CalledProcessError):  # none, or a shim of pyenv that leads nowhere
            continue
        if said[0] == version:
            return said[1].strip()
    return None


def test(python: str, packages: str, wheel: Path, asked: argparse.Namespace) -> Cell:
    """Make the environment of a pair, run the demo and the tests in it, and tell what came out."""
    cell: Cell = {"python": python, "packages": packages, "date": f"{datetime.now(timezone.utc):%Y-%m-%d}"}
    interpreter = find_python(python)
    if interpreter is None:
        return {**cell, "not_tested": f"there is no Python {python} here"}
    folder, started = asked.where / f"{python}-{packages}", time.monotonic()
    print(f"Python {python}, {packages} packages, in {folder}", flush=True)
    try:
        there = install(interpreter, packages, wheel, folder, fresh=not asked.keep)
        cell |= describe(there)
        cell["demo"] = call([str(there.parent / "gdamn"), "demo"]).returncode == 0
        cell |= counts(call([str(there), "-m", "pytest", "-q", "-m", "not slow", "-n", asked.jobs, *asked.tests]))
    except subprocess.CalledProcessError as problem:
        lines = (problem.stderr or problem.stdout or str(problem)).strip().splitlines()
        return {**cell, "not_tested": f"not installed: {lines[-1] if lines else problem}"}
    finally:
        if not asked.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return {**cell, "minutes": round((time.monotonic() - started) / 60, 1)}


def install(interpreter: str, packages: str, wheel: Path, folder: Path, *, fresh: bool) -> Path:
    """An environment with the wheel, its extras and pytest, made by uv where there is one; returns its interpreter."""
    there = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    uv = shutil.which("uv")
    if fresh or not there.exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([*([uv, "venv", "--python", interpreter] if uv else [interpreter, "-m", "venv"]), str(folder)])
    pip = [uv, "pip", "install", "--python", str(there)] if uv else [str(there), "-m", "pip", "install"]
    limits = ["--constraint", str(ROOT / "constraints-oldest.txt")] if packages == "oldest" else ["--upgrade"]
    run([*pip, "--quiet", *limits, f"{wheel}[test]"])
    run([*pip, "--quiet", "--no-deps", "--force-reinstall", str(wheel)])
    return there


def describe(python: Path) -> Cell:
    """The versions in an environment."""
    code = f"""
import json, platform, importlib.metadata as m
print(json.dumps({{"python_version": platform.python_version(), "versions": {{n: m.version(n) for n in {SHOWN!r}}}}}))
"""
    described: Cell = json.loads(run([str(python), "-c", code]).stdout)
    return {**described, "platform": f"{platform.system()} {platform.machine()}"}


def counts(ended: subprocess.CompletedProcess[str]) -> Cell:
    """What pytest counted, and the names of what failed."""
    last = ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else ""
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
    failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    failed = found.get("failed", 0) + found.get("error", 0)
    if "passed" not in found:  # pytest didn't come to its end
        failed, failures = failed or 1, [*failures, *ended.stderr.strip().splitlines()[-1:]]
    cell = {"passed": found.get("passed", 0), "failed": failed, "skipped": found.get("skipped", 0)}
    return {**cell, "failures": failures} if failures else cell


def call(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command from the checkout, without what this process adds to the path of modules."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """The same for one that must end well."""
    ended = call(command)
    ended.check_returncode()
    return ended


def keep(cell: Cell) -> Cell:
    """Put a cell into docs/tested.json, in place of an older one of the same pair, and return it."""
    cells = json.loads(RESULT.read_text(encoding="utf-8"))["cells"] if RESULT.exists() else []
    pair = (cell["python"], cell["packages"])
    others = [each for each in cells if (each["python"], each["packages"]) != pair]
    cells = sorted([*others, cell], key=lambda each: (PYTHONS.index(each["python"]), SETS.index(each["packages"])))
    content = {"tests": f"pytest -m 'not slow' {' '.join(TESTS)}", "cells": cells}
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(cell), flush=True)
    return cell


def table(content: Mapping[str, Any]) -> str:
    """The table of docs/evidence/install.md: a row per Python and set of packages."""
    head = ["Python", "packages", *COLUMNS.values(), "tests", "tested"]
    rows = [head, ["---"] * len(head)]
    for cell in content["cells"]:
        known = cell.get("versions", {})
        versions = [known.get(name, "–").partition("+")[0] for name in COLUMNS]
        rows.append(
            [cell.get("python_version", cell["python"]), cell["packages"], *versions, outcome(cell), cell["date"]]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def outcome(cell: Cell) -> str:
    """How the tests of a cell ended, in few words."""
    if "not_tested" in cell:
        return f"not tested: {cell['not_tested']}"
    failed = f"**{cell['failed']:,} failed**, " if cell["failed"] else ""
    return f"{failed}{cell['passed']:,} passed" + ("" if cell["demo"] else ", **the demo fails**")


def write_table(content: Mapping[str, Any]) -> None:
    """Put the table into its page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(content)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
