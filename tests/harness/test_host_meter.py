"""What is recorded of a host that wakes a thread late, and of its tasks."""

import os

import pytest

from rumpus.harness.host_meter import HostMeter, runnable_tasks

S, MS = 10**9, 10**6


def records(lateness, tasks):
    """Sleep 50 ms and wake, late by so many ms each time, with so many tasks."""
    waiting = iter(tasks)
    found, now = [], 0
    meter = HostMeter(0, lambda: next(waiting))
    for late in lateness:
        due = now + 50 * MS
        now = due + late * MS
        if (record := meter.woken(due, now)) is not None:
            found.append((record["since"], now, record["late_ms"], record["queue"]))
    return found


def test_each_second_has_its_worst_delay_and_its_mean_queue(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    lateness = [0] * 20 + [0, 150, *[0] * 15] + [3] * 19
    found = records(lateness, [4] * 20 + [8] * 8 + [0] * 9 + [None] * 30)
    assert found == [
        (0, S, 0.0, 2.0),
        (S, 2 * S, 150.0, pytest.approx(8 * 8 / 17 / 2, abs=0.05)),
        (2 * S, 2 * S + 19 * 53 * MS, 3.0, None),
    ]


def test_the_tasks_that_run_without_the_one_that_asks(tmp_path):
    (tmp_path / "loadavg").write_text("0.10 0.20 0.30 4/512 4711\n")
    assert runnable_tasks(tmp_path / "loadavg") == 3
    assert runnable_tasks(tmp_path / "none") is None
