"""Build the wheel and the sdist, check both, and try the wheel in an empty environment; what make release does.

Nothing is uploaded: ``twine upload dist/*`` is for a person to decide.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST, ENVIRONMENT = ROOT / "dist", ROOT / "build" / "release"

SMOKE = """
import tempfile, pathlib, gdamn
graph = gdamn.load("digits", noise=1.0)
model = gdamn.GDAMN(pretrain_epochs=20, epochs=5, em_iterations=1).fit(graph)
assert model.predict().shape == (graph.num_nodes,)
assert model.score("test") > 0.5, model.score("test")
assert model.refine().num_edges > 0
with tempfile.TemporaryDirectory() as folder:
    path = model.save(pathlib.Path(folder) / "model.gdamn")
    assert (gdamn.GDAMN.load(path).predict() == model.predict()).all()
print(gdamn.__version__)
"""

FOOTPRINT = """
import importlib.metadata, json, os
sizes = {}
for package in importlib.metadata.distributions():
    paths = [package.locate_file(each) for each in package.files or ()]
    sizes[package.metadata["Name"]] = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
print(json.dumps(sizes))
"""


def main() -> None:
    """All steps; the first that fails ends it."""
    wheel, sdist = build()
    run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    check_sdist(sdist)
    check_wheel(wheel)
    python = install(wheel)
    run([str(python.parent / "gdamn"), "demo"])
    version = run([str(python), "-c", SMOKE]).split()[-1]
    if f"gdamn-{version}-" not in wheel.name:
        sys.exit(f"{wheel.name} holds gdamn {version}.")
    print(f"\ngdamn {version}: {wheel.name} and {sdist.name} are in {DIST}. An installation has {footprint(python)}.")


def build() -> tuple[Path, Path]:
    """Both files, in dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], quiet=True)
    return next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))


def check_sdist(sdist: Path) -> None:
    """Every file that git knows must be in the sdist: whoever has it can test and build."""
    tracked = set(run(["git", "ls-files"], quiet=True).splitlines())
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    if missing := sorted(tracked - names):
        sys.exit(f"The sdist lacks {len(missing)} files, such as {missing[0]}; add them to MANIFEST.in.")


def check_wheel(wheel: Path) -> None:
    """Every file of src/gdamn that git knows must be in the wheel, and nothing of the tests."""
    tracked = {name[4:] for name in run(["git", "ls-files", "src/gdamn"], quiet=True).splitlines()}
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    if missing := sorted(tracked - names):
        sys.exit(f"The wheel lacks {missing[0]}; add it to package-data in pyproject.toml.")
    if foreign := sorted(name for name in names if not name.startswith("gdamn")):
        sys.exit(f"The wheel has {foreign[0]}, which isn't gdamn's.")


def install(wheel: Path) -> Path:
    """An empty environment with the wheel alone, in the versions that are tested; returns its interpreter."""
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(ENVIRONMENT)])
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    limits = ["--constraint", str(ROOT / "constraints.txt")] if sys.version_info[:2] == (3, 11) else []
    run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *limits, str(wheel)])
    return python


def footprint(python: Path) -> str:
    """How many packages an environment has beside pip, and how large they are."""
    sizes = json.loads(run([str(python), "-c", FOOTPRINT], quiet=True))
    sizes = {name: size for name, size in sizes.items() if name not in ("pip", "setuptools")}
    torch = sum(
        size for name, size in sizes.items() if name == "torch" or name.startswith(("nvidia", "cuda", "triton"))
    )
    return f"{len(sizes)} packages, {sum(sizes.values()) / 1e6:,.0f} MB, of which torch has {torch / 1e6:,.0f} MB"


def run(command: Sequence[str], *, quiet: bool = False) -> str:
    """Run a command outside of the checkout's modules, show what it says, and return that; end where it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if not quiet:
        print(ended.stdout, end="", flush=True)
    if ended.returncode:
        sys.exit(f"failed: {' '.join(command)}")
    return ended.stdout


if __name__ == "__main__":
    main()
