import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rumpus.harness import scratch
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.owners import Owner

HOLDER = """
import time
from rumpus.harness.scratch import make_scratch
print(make_scratch("run"), flush=True)
time.sleep(600)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(place):
    """A process that has a directory there."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env={**os.environ, "TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.place = process.stdout.readline().strip()
        yield process
        process.kill()


def found():
    return [str(path) for path in scratch.find_abandoned()]


def test_what_a_killed_process_has_left_is_found_and_what_a_living_one_uses_is_not(holder):
    assert Path(holder.place).is_dir()
    assert found() == []
    holder.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    (path,) = scratch.find_abandoned()
    assert str(path) == holder.place
    assert scratch.remove_abandoned(path) is None
    assert scratch.remove_abandoned(path) is None  # somebody else was faster
    assert found() == []


def test_the_next_process_removes_it_before_it_makes_its_own(holder, place):
    holder.kill()
    holder.wait()
    scratch._remove_abandoned_once.cache_clear()
    with scratch.scratch("run") as own:
        assert list(place.iterdir()) == [own]
    assert list(place.iterdir()) == []


@pytest.fixture
def dead():
    with subprocess.Popen(["sleep", "60"]) as process:
        boot, *rest = Owner.of(process.pid)
        process.kill()
    return "-".join(map(str, ("rumpus-run", boot[:8], *rest)))


def test_what_is_not_known_to_be_ours_is_left_alone(place, dead, monkeypatch):
    target = place / "target"
    target.mkdir()
    (place / f"{dead}-aaaaaaaa").symlink_to(target)
    (place / f"{dead}-bbbbbbbb").touch()
    other_boot = dead.replace(dead.split("-")[2], "00000000")
    for name in (f"{other_boot}-cccccccc", f"{dead}", "rumpus-x7y8z9aa", "rumpus-run-1-2-3-4-x"):
        (place / name).mkdir()
    assert found() == []
    (place / f"{dead}-dddddddd").mkdir()
    assert found() == [str(place / f"{dead}-dddddddd")]
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert found() == []


def test_one_in_which_something_is_mounted_stays(place, dead, monkeypatch):
    path = place / f"{dead}-aaaaaaaa"
    (path / "a b").mkdir(parents=True)
    shown = str(path / "a b").replace(" ", "\\040")
    mounts = f"36 35 98:0 / {shown} rw,noatime - proc proc rw\n"
    read = scratch.Path.read_text
    monkeypatch.setattr(
        scratch.Path,
        "read_text",
        lambda self: mounts if self.name == "mountinfo" else read(self),
    )
    assert scratch.remove_abandoned(path) == f"{path / 'a b'} is mounted: unmount it"
    assert path.is_dir()


def test_a_copy_of_a_process_does_not_remove_its_directory(place):
    context = scratch.scratch("run")
    own = context.__enter__()
    copy = os.fork()
    if not copy:
        context.__exit__(None, None, None)
        os._exit(0)
    assert os.waitpid(copy, 0)[1] == 0
    assert own.is_dir()
    context.__exit__(None, None, None)
    assert list(place.iterdir()) == []


def test_a_directory_that_vanishes_or_cannot_be_made_is_told(place, monkeypatch):
    def use(remove):
        with scratch.scratch("run") as own:
            if remove:
                own.rmdir()
            (own / "file").read_bytes()

    with pytest.raises(EnvironmentRefusal, match=r"see what cleans up .* or set TMPDIR"):
        use(remove=True)
    with pytest.raises(FileNotFoundError):
        use(remove=False)
    monkeypatch.setattr(tempfile, "tempdir", str(place / "missing"))
    with pytest.raises(EnvironmentRefusal, match="no temporary directory can be made"):
        scratch.make_scratch("run")
