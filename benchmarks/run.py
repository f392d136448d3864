"""Run the benchmarks, one process per measurement, and write results.json, docs/evidence/performance.md and its plot.

python benchmarks/run.py                       everything, with GDAMN_DATA set to the data
python benchmarks/run.py --only cora kernels   these; the other results stay as they are
python benchmarks/run.py --quick               a dry run on little work, written to a temporary folder
python benchmarks/run.py --only                nothing measured: the page and the plot from results.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import machine
from plan import STRANGERS, Benchmark, Job, benchmarks

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TIMEOUT = 3600


def main() -> int:
    arguments = parse()
    plan = benchmarks(arguments.quick)
    chosen = plan if arguments.only is None else [b for b in plan if b.name in arguments.only]
    results = read(arguments.out)
    failed = 0
    if chosen:
        print("compiling and loading the kernels once ...", flush=True)
        show(run_job(Job("warm", "warm"), 0, None))
    for benchmark in chosen:
        found = run_benchmark(benchmark, arguments)
        failed += sum("error" in run for run in found["runs"])
        merged = {**results["benchmarks"], benchmark.name: found}
        results["benchmarks"] = {b.name: merged[b.name] for b in plan if b.name in merged}
        write(arguments.out, json.dumps(results, indent=1) + "\n")
    document(results, arguments.docs)
    print(f"results: {arguments.out}\npage and plot: {arguments.docs}")
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    names = [b.name for b in benchmarks(False)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=names, metavar="NAME", help=f"some of: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="little work, for a look whether everything runs")
    parser.add_argument("--repeats", type=int, help="processes per measurement, in place of each benchmark's own")
    parser.add_argument("--data-root", default=os.environ.get("GDAMN_DATA"), help="folder of the data sets")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results.json")
    parser.add_argument("--docs", type=Path, help="folder of performance.md and its plot; default: docs/evidence")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="gdamn-bench-")) if arguments.quick else None
    arguments.out = arguments.out or (scratch / "results.json" if scratch else HERE / "results.json")
    arguments.docs = arguments.docs or (scratch or ROOT / "docs" / "evidence")
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error("--repeats must be at least 1")
    return arguments


def run_benchmark(benchmark: Benchmark, arguments: argparse.Namespace) -> dict[str, Any]:
    """All jobs in turn, as often as asked."""
    repeats = arguments.repeats or benchmark.repeats
    start = time.perf_counter()
    found: dict[str, Any] = {
        "quick": arguments.quick,
        "repeats": repeats,
        "date": now(),
        "machine": machine.describe(),
        "versions": machine.versions(),
        "commit": machine.commit(ROOT),
        "runs": [],
    }
    for repeat in range(repeats):
        for job in benchmark.jobs:
            print(f"{benchmark.name}: {job.label} ({repeat + 1}/{repeats}) ...", flush=True)
            found["runs"].append(run_job(job, repeat, arguments.data_root))
            show(found["runs"][-1])
    found["seconds"] = time.perf_counter() - start
    return found


def run_job(job: Job, repeat: int, data_root: str | None) -> dict[str, Any]:
    """One process; what it prints last is its result, and a failure is a result too."""
    parameters = {**job.parameters, "data_root": data_root} if job.data else job.parameters
    command = [sys.executable, str(HERE / "worker.py"), job.kind, json.dumps(parameters)]
    record = {"label": job.label, "kind": job.kind, "repeat": repeat, "parameters": job.parameters, "date": now()}
    others, start = machine.Others(), time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, env=environment(job, repeat), check=False
        )
    except subprocess.TimeoutExpired:
        return {**record, "error": f"not done after {TIMEOUT} s"}
    record.update(wall_seconds=time.perf_counter() - start, **others.cores())
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        reason = "killed, most likely because memory ran out" if done.returncode == -9 else lines[-1]
        return {**record, "error": f"exit code {done.returncode}: {reason}"}
    return {**record, **json.loads(done.stdout.strip().splitlines()[-1])}


def environment(job: Job, repeat: int) -> dict[str, str]:
    """The environment of a job.

    OpenMP threads that spin while they wait were seen to be several times slower on a busy machine. gdamn makes
    them sleep; PyTorch Geometric's runs get both in turn, and its best counts, so that it is not at a disadvantage.
    """
    chosen = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    if job.kind in STRANGERS and repeat % 2 == 0:
        chosen["OMP_WAIT_POLICY"] = "PASSIVE"
    return chosen


def show(run: dict[str, Any]) -> None:
    if "error" in run:
        print(f"  FAILED: {run['error']}", flush=True)
        return
    busy = run.get("others_cores")
    peak = f"peak {run['peak_rss'] / 1e9:.2f} GB"
    print(f"  {run['wall_seconds']:.1f} s, {peak}" + (f", others {busy:.1f} cores" if busy else ""), flush=True)


def document(results: dict[str, Any], folder: Path) -> None:
    """The page and the plot; imported only now, because a child's memory peak starts from its parent's size."""
    import plot
    import report

    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "performance.md"
    write(page, report.page(page.read_text() if page.exists() else "", results["benchmarks"]))
    plot.draw(results["benchmarks"], folder / "performance.png")


def read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"format": 1, "benchmarks": {}}
    return json.loads(path.read_text())


def write(path: Path, text: str) -> None:
    """The file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


if __name__ == "__main__":
    sys.exit(main())
