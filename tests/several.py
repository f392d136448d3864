"""Several commands in one process, one after the other: what they say, without a start of Python and torch for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

END = "<the end of a command>"
PROGRAM = f"""
import json, sys
from gdamn.cli import root as cli
for words in json.loads(sys.argv[1]):
    sys.argv = ["gdamn", *words]
    try:
        cli.main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    print(code, "{END}", sep="", flush=True)
    print("{END}", end="", file=sys.stderr, flush=True)
"""


class Said(NamedTuple):
    code: int
    out: str
    err: str


def several(commands: list[list[str]], cwd: Path | None = None, **env: str) -> list[Said]:
    """Exit code, output and errors of each command; its words reach Python as those of a command line do."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands, ensure_ascii=False)],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=300,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **env},
    )
    outs, errs = done.stdout.split(f"{END}\n"), done.stderr.split(END)
    assert len(outs) == len(errs) == len(commands) + 1, done.stdout + done.stderr
    ends = [out.rpartition("\n") for out in outs[:-1]]
    return [Said(int(code), out + line, err) for (out, line, code), err in zip(ends, errs, strict=False)]
