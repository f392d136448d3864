"""A graph whose fit takes M on one rank trains on two with 0.6 M each and four with 0.4 M each; one with 0.6 M can't.

    python benchmarks/limits.py --edges 50000000 --mode full --work FOLDER

M is the most that RLIMIT_DATA counts of a process (VmData) in a fit by one rank; the limits are set with ulimit -d, for
the whole process, libraries included. The graph is that of ranks.py with locality. ``memory`` is set so that a run is
tried whatever the estimate of gdamn.fit.domains.ranks.part_memory says. limits.json keeps the results.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ranks as ranks_benchmark

WORLDS = ((1, None), (1, 0.6), (2, 0.6), (4, 0.4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--mode", default="full", help="full or fused")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True, help="folder for graphs and runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "limits.json")
    arguments = parser.parse_args()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    of_size = kept.setdefault(f"{arguments.edges} {arguments.mode}", {})
    parts = ranks_benchmark.make("local", arguments.edges, arguments.work)
    for count, share in WORLDS:
        name = f"{count} ranks" if share is None else f"{count} ranks, {share} M"
        if name not in of_size:
            limit = None if share is None else int(share * 1e9 * of_size["1 ranks"]["most_gb"])
            of_size[name] = limited(parts, count, limit, arguments.mode, arguments.epochs, arguments.work / "run")
            arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
        print(name, of_size[name], flush=True)


def limited(parts: Path, ranks: int, limit: int | None, mode: str, epochs: int, out: Path) -> dict[str, Any]:
    """One run as a command, each of its processes with this limit: its losses, or what it said; and the most memory."""
    chosen = {**ranks_benchmark.SETTINGS, "batch": mode, "epochs": epochs, "pretrain_epochs": epochs, "memory": 64}
    settings = [word for name, value in chosen.items() for word in ("--set", f"{name}={str(value).lower()}")]
    command = ["train", str(parts), "--workers", str(ranks), "--threads", "1", "--timeout", "900", "--force"]

    def set_limit() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    started = [sys.executable, "-m", "gdamn", *command, "--out", str(out), *settings, "--json"]
    with subprocess.Popen(
        started, preexec_fn=set_limit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        most = 0
        while process.poll() is None:
            most = max([most, *(data_bytes(each) for each in family(process.pid))])
            time.sleep(0.05)
        assert process.stderr is not None
        said = process.stderr.read()
    result: dict[str, Any] = {"most_gb": most / 1e9, "exit": process.returncode}
    if limit is not None:
        result["limit_gb"] = limit / 1e9
    if process.returncode:
        return {**result, "said": said.strip().splitlines()[-3:]}
    history = (out / "seed-0" / "history.jsonl").read_text().splitlines()
    return {**result, "losses": [json.loads(line)["loss"] for line in history]}


def family(process: int) -> list[int]:
    """A process and those below it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(each for child in children for each in family(int(child)))]


def data_bytes(process: int) -> int:
    """What RLIMIT_DATA counts of it."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmData")), 0)


if __name__ == "__main__":
    main()
