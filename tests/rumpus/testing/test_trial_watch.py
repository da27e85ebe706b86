import io

import pytest

from rumpus.harness.driver import Progress
from rumpus.harness.run import Status
from rumpus.runs.judged_run import FOLLOWING
from rumpus.testing import trial_watch
from rumpus.testing.trial_watch import TrialWatch


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(trial_watch, "LOOK_S", 0.001)


def following(status):
    return FOLLOWING.get()(status)


def test_each_run_is_told_below_the_unfinished_line_of_pytest(eventually):
    screen = io.StringIO()
    screen.write("test_mine.py::test_my_lock ")
    with TrialWatch(screen, 0.001, "lock").watching():
        with following(Status(progress=Progress(ok=7))):
            eventually(lambda: "ok 7" in screen.getvalue())
        with following(Status(progress=Progress(ok=8))):
            eventually(lambda: "ok 8" in screen.getvalue())
    head, first, *_, last = screen.getvalue().splitlines()
    assert head == "test_mine.py::test_my_lock "
    assert first.startswith("lock, run 1: ")
    assert last.startswith("lock, run 2: ")
    assert "\x1b" not in screen.getvalue()


def test_a_short_trial_says_nothing_and_nobody_follows_the_next():
    screen = io.StringIO()
    with TrialWatch(screen, 1000, "lock").watching(), following(Status()):
        pass
    assert screen.getvalue() == ""
    assert FOLLOWING.get() is None
