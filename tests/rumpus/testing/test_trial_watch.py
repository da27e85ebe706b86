import io
import re

import pytest

from rumpus.harness.driver import Progress
from rumpus.harness.run import Status
from rumpus.runs.onlookers import FOLLOWING, TOLD, telling
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
    head, *told = screen.getvalue().splitlines()
    assert head == "test_mine.py::test_my_lock "
    runs = [line.partition(": ")[0] for line in told if " ok " in line]
    assert list(dict.fromkeys(runs)) == ["lock, run 1", "lock, run 2"]
    assert all(line.startswith("lock") for line in told)
    assert "\x1b" not in screen.getvalue()


def test_a_short_trial_says_nothing_and_nobody_follows_the_next():
    screen = io.StringIO()
    with TrialWatch(screen, 1000, "lock").watching(), following(Status()):
        pass
    assert screen.getvalue() == ""
    assert FOLLOWING.get() is None
    assert TOLD.get() is None


def test_what_is_done_before_and_after_a_run_is_told(eventually):
    screen, said = io.StringIO(), []

    def shows(line):
        eventually(lambda: re.search(f"^{line}$", screen.getvalue(), re.MULTILINE))

    with TrialWatch(screen, 0.001, "lock").watching():
        shows(r"lock: +[0-9.]+ s  begins")
        say = telling(said.append)
        say("waiting for another process that builds an image")
        shows(r"lock: +[0-9.]+ s  waiting for another process that builds an image")
        say("load for 1 s")
        with following(Status(progress=Progress(ok=7))):
            shows(r"lock, run 1: .* ok 7 .*\(load for 1 s\)")
        say("judging")
        shows(r"lock, run 1: +[0-9.]+ s  judging")
    assert said == ["waiting for another process that builds an image", "load for 1 s", "judging"]
    telling(said.append)("nobody looks on")
    assert said[-1] == "nobody looks on"
