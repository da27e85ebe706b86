import contextlib
import os
import signal
import threading
import uuid
from pathlib import Path

import pytest

from rumpus.harness.docker import guard
from rumpus.harness.docker.leftovers import RUN_LABEL, labels


def guards_of(run):
    """Guards of a run, by process id."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if run in (place / "cmdline").read_bytes().decode().split("\0"):
                found.append(int(place.name))
    return found


@pytest.fixture
def run():
    return f"guarded-{uuid.uuid4().hex[:12]}"


def test_a_guard_outlives_the_signals_that_end_a_group_and_ends_with_its_block(run, eventually):
    with guard.guarded(run):
        (pid,) = eventually(lambda: guards_of(run))
        ignored = f"/proc/{pid}/status"
        eventually(lambda: "SigIgn:\t0000000000000000" not in Path(ignored).read_text())
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            os.kill(pid, number)
        assert os.getsid(pid) == pid
        assert guards_of(run) == [pid]
    assert not guards_of(run)


@pytest.mark.docker
def test_what_the_engine_makes_after_its_owner_has_ended_is_removed(run, engine, monkeypatch):
    monkeypatch.setattr(guard, "LOOK_S", 0.1)
    late = threading.Timer(0.5, engine.networks.create, [run], {"labels": labels(run)})
    late.start()
    guard.main(run)
    late.join()
    assert not engine.networks.list(filters={"label": f"{RUN_LABEL}={run}"})
