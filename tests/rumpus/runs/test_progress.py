import io
import re

import pytest
from rich.console import Console

from rumpus.harness.driver import Progress
from rumpus.harness.run import Status
from rumpus.runs import progress
from rumpus.runs.progress import ProgressDisplay

BUSY = Status(
    progress=Progress(ok=12, fail=3, info=1, faults={"1": "kill n2"}),
    leader="n3",
    holder=lambda: 2,
)
TEXT = "ok 12  fail 3  info 1  leader n3  holder c2"


@pytest.fixture
def display(monkeypatch):
    monkeypatch.setattr(progress, "PERIOD_S", 0.01)
    monkeypatch.setattr(progress, "PLAIN_PERIOD_S", 0.01)

    def make(*, terminal):
        screen = io.StringIO()
        console = Console(file=screen, force_terminal=terminal, width=90, color_system=None)
        return ProgressDisplay(console), screen

    return make


def test_a_step_has_its_time_and_stays_in_one_line(display):
    shown, screen = display(terminal=False)
    shown.step("run /a/long/path/[bracketed]/" + "x" * 80)
    line = r" +\d+\.\d s  run /a/long/path/\[bracketed\]/x{80}\n"
    assert re.fullmatch(line, screen.getvalue())


def test_where_lines_stay_the_status_is_told_again_and_again(display, eventually):
    shown, screen = display(terminal=False)
    with shown.following(BUSY):
        eventually(lambda: screen.getvalue().count(f"{TEXT}  faults: kill n2\n") > 2)
    assert "\x1b" not in screen.getvalue()


def test_on_a_terminal_the_status_is_a_view_that_goes_away(display, eventually):
    shown, screen = display(terminal=True)
    with shown.following(BUSY):
        eventually(lambda: screen.getvalue().count(TEXT) > 2)
    assert "fault: kill n2, for 0 s" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")
