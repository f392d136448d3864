"""One run at a time in a folder: also for threads, and where the file system has no locks."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from gdamn.errors import OutputError
from gdamn.system import lock

pytestmark = pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")


def test_a_second_thread_is_refused(tmp_path: Path) -> None:
    said: list[str] = []

    def second() -> None:
        with pytest.raises(OutputError) as problem, lock.alone_in(tmp_path / "out", "run"):
            pass
        said.append(str(problem.value))

    with lock.alone_in(tmp_path / "out", "run"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert said[0].startswith("Another run is writing to ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The run goes without one: a lock file that outlives its process would refuse the next run."""
    import fcntl

    def missing(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", missing)
    out = tmp_path / "out"
    with lock.alone_in(out, "run") as outermost:
        assert outermost
        (out / "x").write_text("x")
        with lock.alone_in(out, "run") as inner:
            assert not inner
    assert f"can't be locked ({os.strerror(number)})" in caplog.text
    assert not (out / lock.NAME).exists()


def test_a_lock_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out" / lock.NAME).mkdir(parents=True)
    with pytest.raises(OutputError, match=r"Can't write '.*gdamn.lock'"), lock.alone_in(tmp_path / "out", "run"):
        pytest.fail("locked a folder")
