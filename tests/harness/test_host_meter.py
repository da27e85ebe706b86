"""What is recorded of a host that wakes a thread late."""

import time

from rumpus.harness.host_meter import HostMeter, stalled_us

S, MS = 10**9, 10**6


def meter(stalled=lambda: None):
    return HostMeter(0, stalled)


def records(lateness, step=50 * MS, stalled=lambda: None):
    """Sleep and wake, late by so many ms each time; the records and their times."""
    found, now = [], 0
    watched = meter(stalled)
    for late in lateness:
        due = now + step
        now = due + late * MS
        record = watched.woken(due, now)
        if record is not None:
            found.append((record["since"] / S, now / S, record["late_ms"]))
    return found


def test_a_calm_host_is_recorded_every_ten_seconds():
    found = records([0] * 450)
    assert [(round(since), round(end), late) for since, end, late in found] == [
        (0, 10, 0.0),
        (10, 20, 0.0),
    ]


def test_a_second_in_which_it_was_late_is_recorded_at_its_end():
    found = records([0] * 30 + [150] + [0] * 400)
    assert found[0] == (0.0, 1.7, 150.0)
    assert all(late == 0 for _, _, late in found[1:])


def test_the_pressure_is_the_share_of_the_window_in_which_a_task_waited():
    waited = iter([0, 250_000, 250_000])
    watched = meter(lambda: next(waited))
    record = watched.woken(800 * MS, 1000 * MS)
    assert (record["late_ms"], record["pressure"]) == (200.0, 0.25)


def test_a_kernel_that_does_not_count_stalls(tmp_path):
    assert stalled_us(tmp_path / "none") is None
    (tmp_path / "cpu").write_text("some avg10=1.0 avg60=2.0 avg300=3.0 total=4711\nfull total=5\n")
    assert stalled_us(tmp_path / "cpu") == 4711
    assert meter().close(time.monotonic_ns())["pressure"] is None
