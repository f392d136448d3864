"""The memory that a process may take: the tightest limit of its own control groups, and what is left of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdamn.fit.domains import memory as scale_memory
from gdamn.system import memory, reading

GB = 1 << 30


def write(root: Path, **files: str) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="ascii")


def version_2(root: Path, group: str = "/user/job", mounted: str = "/") -> Path:
    """A version 2 hierarchy; returns its mount point."""
    mount = root / "sys/fs/cgroup"
    write(root, **{"proc/self/cgroup": f"0::{group}\n"})
    write(root, **{"proc/self/mountinfo": f"31 23 0:28 {mounted} /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"})
    mount.mkdir(parents=True, exist_ok=True)
    return mount


def test_the_limit_of_the_own_group_counts_and_not_that_of_the_root_alone(tmp_path: Path) -> None:
    mount = version_2(tmp_path)
    write(mount, **{"user/job/memory.max": f"{2 * GB}\n", "user/job/memory.current": f"{GB}\n"})
    assert memory.limited_bytes(tmp_path) == [(2 * GB, GB)]


def test_a_group_above_may_be_tighter(tmp_path: Path) -> None:
    mount = version_2(tmp_path)
    write(mount, **{"user/job/memory.max": f"{8 * GB}\n", "user/job/memory.current": "0\n"})
    write(mount, **{"user/memory.max": f"{4 * GB}\n", "user/memory.current": f"{3 * GB}\n"})
    assert min(left for _, left in memory.limited_bytes(tmp_path)) == GB


def test_cache_that_can_be_given_back_is_left(tmp_path: Path) -> None:
    mount = version_2(tmp_path)
    write(mount, **{"user/job/memory.max": f"{2 * GB}\n", "user/job/memory.current": f"{2 * GB}\n"})
    write(mount, **{"user/job/memory.stat": f"anon 5\ninactive_file {GB}\n"})
    assert memory.limited_bytes(tmp_path) == [(2 * GB, GB)]


def test_max_is_no_limit(tmp_path: Path) -> None:
    mount = version_2(tmp_path)
    write(mount, **{"user/job/memory.max": "max\n", "user/job/memory.current": "5\n"})
    assert memory.limited_bytes(tmp_path) == []


def test_a_container_sees_its_own_part_of_the_hierarchy_as_the_root(tmp_path: Path) -> None:
    mount = version_2(tmp_path, "/docker/abc", mounted="/docker/abc")
    write(mount, **{"memory.max": f"{GB}\n", "memory.current": "0\n"})
    assert memory.limited_bytes(tmp_path) == [(GB, GB)]


def test_version_1_beside_version_2(tmp_path: Path) -> None:
    write(tmp_path, **{"proc/self/cgroup": "4:memory:/jobs/one\n1:cpu:/\n0::/\n"})
    lines = (
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
    )
    write(tmp_path, **{"proc/self/mountinfo": lines})
    group = "sys/fs/cgroup/memory/jobs/one"
    write(tmp_path, **{f"{group}/memory.limit_in_bytes": f"{3 * GB}", f"{group}/memory.usage_in_bytes": f"{2 * GB}"})
    write(tmp_path, **{f"{group}/memory.stat": f"total_inactive_file {GB}\n"})
    assert memory.limited_bytes(tmp_path) == [(3 * GB, 2 * GB)]


@pytest.mark.parametrize("content", ["", "nonsense", "0::\n::\n", "4:memory\n"])
def test_what_cannot_be_read_sets_no_limit(content: str, tmp_path: Path) -> None:
    write(tmp_path, **{"proc/self/cgroup": content, "proc/self/mountinfo": content})
    assert memory.limited_bytes(tmp_path) == []
    assert memory.limited_bytes(tmp_path / "nothing") == []


def test_a_fit_and_a_reader_keep_to_the_tightest_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    tight = [(4 * GB, 3 * GB), (2 * GB, GB)]
    monkeypatch.setattr(scale_memory, "limited_bytes", lambda: tight)
    monkeypatch.setattr(scale_memory, "system_bytes", lambda: {"MemAvailable": 64 * GB})
    monkeypatch.setattr(reading, "limited_bytes", lambda: tight)
    assert scale_memory.free_bytes() == GB
    assert reading.most_bytes() == GB
    monkeypatch.setattr(scale_memory, "limited_bytes", list)
    assert scale_memory.free_bytes() == 64 * GB
