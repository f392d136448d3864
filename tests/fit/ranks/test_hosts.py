"""Two hosts, each a network namespace of the test's own: one is cut off or killed in the midst of a phase."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import content
from commands import OFTEN, ended, ranks_of, start, wait_for_checkpoint

PORT = "29400"


class Hosts:
    """Two namespaces with a cable between them: 10.213.0.1 and 10.213.0.2."""

    def __init__(self) -> None:
        self.names = [f"gdamn-{os.getpid()}-{side}" for side in (0, 1)]

    def make(self) -> None:
        for name in self.names:
            ip("netns", "add", name)
        ip("-n", self.names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.names[1])
        for side, name in enumerate(self.names):
            ip("-n", name, "addr", "add", f"10.213.0.{side + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")

    def remove(self) -> None:
        for name in self.names:
            told = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
            for process in map(int, told.split()):  # all of them are the test's own
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def cable(self, state: str) -> None:
        """Up or down."""
        ip("-n", self.names[1], "link", "set", "eth0", state)

    def program(self, side: int, *command: str) -> list[str]:
        """A command on one of the hosts."""
        return ["ip", "netns", "exec", self.names[side], *command]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, check=True, text=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if shutil.which("ip") is None:
        pytest.skip("no network namespaces here: iproute2's command ip is missing")
    made = Hosts()
    try:
        made.make()
    except subprocess.CalledProcessError as problem:
        made.remove()
        pytest.skip(f"no network namespaces here: {problem.stderr.strip()}")
    yield made
    made.remove()


def train(
    hosts: Hosts, folder: Path, parts: Path | None = None, leader: int = 0, timeout: str = "4"
) -> list[subprocess.Popen[str]]:
    """A rank on each host, with a folder of its own, in the order of the ranks; the host ``leader`` has rank 0."""
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0", "GLOO_SOCKET_IFNAME": "eth0"}
    shared |= {"MASTER_ADDR": f"10.213.0.{leader + 1}", "MASTER_PORT": PORT}
    return [
        start(
            folder / f"host-{side}",
            *("--timeout", timeout, "--threads", "1"),
            program=hosts.program(side, sys.executable, "-c", OFTEN),
            parts=parts,
            RANK=str(rank),
            **shared,
        )
        for rank, side in enumerate((leader, 1 - leader))
    ]


def test_a_host_that_is_cut_off_ends_the_run_and_it_goes_on(hosts: Hosts, undisturbed: Path, tmp_path: Path) -> None:
    ranks = train(hosts, tmp_path)
    wait_for_checkpoint(tmp_path / "host-0", ranks[0])
    hosts.cable("down")
    began = time.monotonic()
    for rank, process in enumerate(ranks):
        code, told = ended(process)
        assert code == 2
        assert told.startswith(f"error: Another process of this run did not answer in time, so that rank {rank} can't")
        assert len(told.splitlines()) == 1
    assert time.monotonic() - began < 30
    assert {path.name for path in (tmp_path / "host-0").iterdir()} == {".gdamn.json", ".unfinished"}
    hosts.cable("up")
    for process in train(hosts, tmp_path):
        assert ended(process) == (0, "")
    assert content(tmp_path / "host-0") == content(undisturbed)
    assert not (tmp_path / "host-1").exists()  # only rank 0 writes


def test_hosts_with_parts_go_on_from_shards_on_either_disk(hosts: Hosts, parts: Path, tmp_path: Path) -> None:
    """One is cut off, then one is killed; each time they go on, the last time with the other one as rank 0."""
    whole = start(tmp_path / "whole", "--workers", "2", parts=parts)
    assert ended(whole, within=600) == (0, "")
    ranks = train(hosts, tmp_path, parts)
    wait_for_checkpoint(tmp_path / "host-0", ranks[0], 4)
    hosts.cable("down")
    for rank, process in enumerate(ranks):
        code, told = ended(process)
        assert (code, len(told.splitlines())) == (2, 1)
        assert told.startswith(f"error: Another process of this run did not answer in time, so that rank {rank} can't")
    hosts.cable("up")
    reached = last_checkpoint(tmp_path / "host-0")
    assert last_checkpoint(tmp_path / "host-1") in (reached, reached - 1)
    ranks = train(hosts, tmp_path, parts)
    wait_for_checkpoint(tmp_path / "host-0", ranks[0], reached + 4)
    os.killpg(ranks[1].pid, signal.SIGKILL)
    code, told = ended(ranks[0])
    assert (code, len(told.splitlines())) == (2, 1)
    assert last_checkpoint(tmp_path / "host-0") >= reached + 4  # it went on where it was cut off
    for process in train(hosts, tmp_path, parts, leader=1, timeout="20"):
        assert ended(process) == (0, "")
    tables = {name: told for side in (0, 1) for name, told in content(tmp_path / f"host-{side}").items()}
    alone = content(tmp_path / "whole")
    assert tables.keys() == alone.keys()
    assert all(tables[name] == alone[name] for name in alone if name.endswith((".parquet", ".jsonl", ".safetensors")))
    assert not list(tmp_path.glob("host-*/.unfinished"))


def last_checkpoint(out: Path) -> int:
    """The number of the newest checkpoint."""
    return max(int(path.stem) for path in out.glob(".unfinished/*/*/[0-9]*.checkpoint"))


def test_torchrun_starts_a_killed_host_again(hosts: Hosts, undisturbed: Path, tmp_path: Path) -> None:
    """``torchrun --max-restarts``: a rank is killed within a phase, all are started again and go on."""
    program = tmp_path / "often.py"
    program.write_text(OFTEN)
    agents = [
        start(
            tmp_path / f"host-{side}",
            *("--timeout", "20", "--threads", "1"),
            program=hosts.program(
                side,
                *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"),
                *("--max-restarts", "1", "--monitor-interval", "0.1", "--rdzv-backend", "c10d", "--rdzv-id", "test"),
                *("--rdzv-endpoint", f"10.213.0.1:{PORT}", "--local-addr", f"10.213.0.{side + 1}"),
                *("--rdzv-conf", f"is_host={1 - side}", str(program)),
            ),
            told=tmp_path / f"told-{side}",
            GLOO_SOCKET_IFNAME="eth0",
        )
        for side in (0, 1)
    ]
    leader = wait_for_either(tmp_path)
    wait_for_checkpoint(tmp_path / f"host-{leader}", agents[leader])
    os.kill(ranks_of(agents[1 - leader])[0], signal.SIGKILL)
    assert [agent.wait(120) for agent in agents] == [0, 0]
    finished = [side for side in (0, 1) if (tmp_path / f"host-{side}" / "summary.json").exists()]
    assert len(finished) == 1
    assert content(tmp_path / f"host-{finished[0]}") == content(undisturbed)


def wait_for_either(folder: Path) -> int:
    """The host that has rank 0: torchrun decides it."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        for side in (0, 1):
            if (folder / f"host-{side}").exists():
                return side
        time.sleep(0.05)
    raise AssertionError("no rank has begun in time")
