import contextlib
import os
import signal
import uuid
from pathlib import Path

import pytest

from rumpus.harness.docker import guard
from rumpus.harness.docker.leftovers import RUN_LABEL, labels, remove_run


def guards_of(run):
    """Guards of a run, by process id."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if run in (place / "cmdline").read_bytes().decode().split("\0"):
                found.append(int(place.name))
    return found


def ignores(pid, number):
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)


@pytest.fixture
def run():
    return f"guarded-{uuid.uuid4().hex[:12]}"


def test_a_guard_outlives_the_signals_that_end_a_group_and_ends_with_its_block(run, eventually):
    with guard.guarded(run):
        (pid,) = eventually(lambda: guards_of(run))
        eventually(lambda: ignores(pid, signal.SIGTERM))
        for number in signal.SIGINT, signal.SIGHUP, signal.SIGTERM:
            os.kill(pid, number)
        assert os.getsid(pid) == pid
        assert guards_of(run) == [pid]
    assert not guards_of(run)


@pytest.mark.docker
def test_a_guard_stays_if_an_interruption_has_cut_the_removal_short(run, engine):
    def hold(number):
        with guard.guarded(run):
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        hold(signal.SIGINT)
    assert not guards_of(run)  # nothing was left
    left = engine.networks.create(run, labels=labels(run))
    try:
        with pytest.raises(KeyboardInterrupt):
            hold(signal.SIGINT)
        assert guards_of(run)
    finally:
        left.remove()
        for kept in guard._kept:
            guard._dismiss(kept)
        guard._kept.clear()


@pytest.mark.docker
def test_what_the_engine_makes_after_its_owner_has_ended_is_removed(run, engine, monkeypatch):
    looks = []

    def look(client, run_id):
        looks.append(run_id)
        remove_run(client, run_id)
        if len(looks) == 1:
            engine.networks.create(run, labels=labels(run))

    monkeypatch.setattr(guard, "remove_run", look)
    monkeypatch.setattr(guard, "LOOK_S", 0.1)
    guard.main(run)
    assert looks == [run] * guard.LOOKS
    assert not engine.networks.list(filters={"label": f"{RUN_LABEL}={run}"})
