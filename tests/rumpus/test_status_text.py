"""What is told of a run that goes on, with a clock of its own."""

import io

import pytest
from rich.console import Console

from rumpus import status_text
from rumpus.harness.driver import Progress
from rumpus.harness.run import Status
from rumpus.status_text import S, StatusText


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(status_text, "time", found)
    return found


def loaded(*, virtual, **more):
    progress = Progress(time=5 * S, **more)
    return Status(progress=progress, load=(5 * S, 65 * S), virtual=virtual, leader="n1")


def after(clock, status, *, seconds, of_run, ok=0):
    clock.now += seconds
    status.progress.time += of_run * S
    status.progress.ok += ok


def drawn(renderable):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def test_before_the_load_there_is_only_the_time(clock):
    told = StatusText(clock.now - 2)
    line = told.line(Status()).plain
    assert line == "   2.0 s  ok 0  fail 0  info 0  leader -  holder -  faults: none"


def test_a_simulated_run_tells_its_own_time_and_what_is_left(clock):
    told, status = StatusText(clock.now), loaded(virtual=True)
    assert "   0.0 s  0 of 60 virtual s  ok 0" in told.line(status).plain
    after(clock, status, seconds=4, of_run=20)
    assert "   4.0 s  20 of 60 virtual s, some 8 s left  ok 0" in told.line(status).plain
    after(clock, status, seconds=8, of_run=45)
    assert "  12.0 s  after the load  ok 0" in told.line(status).plain


def test_a_real_run_tells_how_much_of_its_load_is_over(clock):
    told, status = StatusText(clock.now), loaded(virtual=False)
    told.line(status)
    after(clock, status, seconds=20, of_run=20)
    assert "  20.0 s  20 of 60 s  ok 0" in told.line(status).plain


def test_the_rate_is_that_of_the_last_seconds_on_the_run_s_clock(clock):
    told, status = StatusText(clock.now), loaded(virtual=True)
    assert "(" not in told.line(status).plain
    for _ in range(10):
        after(clock, status, seconds=0.1, of_run=1, ok=30)
        told.line(status)
    assert "ok 300 (30/virtual s)" in told.line(status).plain
    for _ in range(10):
        after(clock, status, seconds=0.1, of_run=1)
        told.line(status)
    assert "ok 300 (0/virtual s)" in told.line(status).plain


def test_the_view_tells_each_fault_and_since_when(clock):
    told = StatusText(clock.now)
    status = loaded(virtual=False, faults={"1": "kill n2"})
    told.view(status)
    after(clock, status, seconds=3, of_run=3)
    status.progress.faults["2"] = "partition n1"
    lines = drawn(told.view(status)).splitlines()
    assert lines[0].startswith("   3.0 s  3 of 60 s  ━")
    assert lines[1].strip() == "ok 0 (0/s)  fail 0  info 0  leader n1  holder -"
    assert [line.strip() for line in lines[2:]] == [
        "fault: kill n2, for 3 s",
        "fault: partition n1, for 0 s",
    ]


def test_of_many_faults_the_view_tells_some(clock):
    faults = {str(number): f"kill n{number}" for number in range(9)}
    lines = drawn(StatusText(clock.now).view(loaded(virtual=False, faults=faults))).splitlines()
    assert len(lines) == 9
    assert lines[-1].strip() == "and 3 more"
