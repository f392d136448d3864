"""Kill ``gdamn train`` at random moments, start it again, and compare what it leaves with an undisturbed run.

    python tests/chaos.py --kills 100 --seed 0

Every round is a run of two seeds in a folder of its own that is killed (SIGKILL) and started again until it ends; its
files must then be those of the undisturbed run, byte for byte, but for times and memory. Checkpoints are written every
two epochs, not every half minute, so that many kills fall into the writing of one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

OFTEN = (
    "from gdamn import checkpoint, cli; "
    "checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS = 2, 0.0, 0.0; "
    "cli.main()"
)
FIT = [*("pretrain_epochs=60", "epochs=25", "em_iterations=2", "start=auto", "restart_q=true", "average=0.9")]
GRAPH = [*("num_nodes=90", "num_classes=3", "train_per_class=5", "val_per_class=5")]
TRAIN = ["train", "sbm", "--seeds", "2"]
TRAIN += [word for pair in GRAPH for word in ("--option", pair)] + [word for pair in FIT for word in ("--set", pair)]
TIMES = ("seconds_per_seed", "peak_rss_mb")


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    rounds: int = 0
    where: dict[str, int] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)

    def count(self, what: str) -> None:
        self.where[what] = self.where.get(what, 0) + 1


def start(out: Path, jobs: int) -> subprocess.Popen[str]:
    """The command as a process that leads a group of its own."""
    args = [sys.executable, "-c", OFTEN, *TRAIN, "--jobs", str(jobs), "--out", str(out)]
    quiet = {**os.environ, "NO_COLOR": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    return subprocess.Popen(
        args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=quiet, start_new_session=True
    )


def content(out: Path) -> dict[str, str]:
    """A hash of every file of a run; of the summary and the page without times and memory."""
    return {str(path.relative_to(out)): _hash(path) for path in sorted(out.rglob("*")) if path.is_file()}


def _hash(path: Path) -> str:
    told = path.read_bytes()
    if path.name == "summary.json":
        kept = {name: value for name, value in json.loads(told).items() if name not in TIMES}
        told = json.dumps(kept).encode()
    if path.name == "report.html":
        told = b"a page" if len(told) > 1000 and told.rstrip().endswith(b"</html>") else b"no page"
    return hashlib.sha256(told).hexdigest()


def run_until_killed(out: Path, luck: random.Random, seconds: float | None, tally: Tally) -> int | None:
    """Start the command and kill it at a random moment; its exit code where it was done before, else None.

    One kill in four may fall anywhere, also before the training; the others come after its first sign of life.
    Without ``seconds`` it is not killed.
    """
    jobs = luck.choice([1, 1, 2])
    process = start(out, jobs)
    assert process.stderr is not None
    anywhere = luck.random() < 0.25
    if not anywhere:
        process.stderr.readline()
    try:
        share = luck.random() ** 2 * (2 if anywhere else 1)  # more of them early, within the training
        patience = None if seconds is None else share * seconds
        code: int | None = process.wait(patience)
    except subprocess.TimeoutExpired:
        code = None
        if jobs == 1 or luck.random() < 0.5:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()  # the workers are left to end by themselves
        process.wait()
    told = process.stderr.read()  # ends when the last worker has
    process.stderr.close()
    if code is None:
        tally.count(moment(out))
    if code:
        raise SystemExit(f"The command failed with code {code}:\n{told}")
    return code


def moment(out: Path) -> str:
    """Roughly where a run is, by what its folder holds."""
    names = [path.name for path in out.rglob("*")] if out.exists() else []
    if any(re.fullmatch(r"\.[^.]+-[a-z0-9_]{8}\.\w+", name) for name in names):
        return "while a file was written"
    if "summary.json" in names:
        return "after the last seed"
    if "seed-0.json" in names or "seed-1.json" in names:
        return "with one seed finished"
    return "within the first seed" if any(name.endswith(".checkpoint") for name in names) else "before any checkpoint"


def chaos(kills: int, seed: int, folder: Path) -> Iterator[Tally]:
    """Kill so many times; gives the tally after every kill and every round."""
    luck, tally = random.Random(seed), Tally()
    first = start(folder / "undisturbed", 1)
    assert first.stderr is not None
    first.stderr.readline()
    trained = time.monotonic()
    told = first.communicate()[1]
    if first.returncode:
        raise SystemExit(f"The undisturbed run failed:\n{told}")
    expected, seconds = content(folder / "undisturbed"), time.monotonic() - trained
    while tally.kills < kills:
        out = folder / f"round-{tally.rounds}"
        while (code := run_until_killed(out, luck, seconds if tally.kills < kills else None, tally)) is None:
            tally.kills += 1
            yield tally
        assert code == 0
        found = content(out)
        tally.different += [
            f"{out.name}/{name}" for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)
        ]
        tally.rounds += 1
        yield tally


def main() -> int:
    """Entry of ``make chaos``."""
    reader = argparse.ArgumentParser(description="Kill gdamn train at random moments and compare what it leaves.")
    reader.add_argument("--kills", type=int, default=100)
    reader.add_argument("--seed", type=int, default=0)
    asked = reader.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for tally in chaos(asked.kills, asked.seed, Path(folder)):
            print(f"\r{tally.kills} kills, {tally.rounds} rounds", end="", flush=True)
    print(f"\n{tally.kills} kills in {tally.rounds} runs, {time.monotonic() - begun:.0f} s")
    for where, count in sorted(tally.where.items()):
        print(f"  {count:4} {where}")
    print("different: " + ", ".join(tally.different) if tally.different else "every file as in the undisturbed run")
    return 1 if tally.different else 0


if __name__ == "__main__":
    sys.exit(main())
