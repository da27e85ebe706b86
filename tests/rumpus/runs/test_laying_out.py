"""What a run is held to, and what of its files is believed."""

from dataclasses import replace

import pytest

from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.runs import laying_out
from rumpus.workloads.contests.lock import LOCK
from rumpus.workloads.framework.judgement import judge_timeline
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"wakeups": None}, {"wakeups": None}),
        ({"wakeups": 3}, {"wakeups": 3}),
        ({"lock_delay": 2.0}, {"lock_delay": 0.0}),
        ({"time_boundary": 2.0}, {"time_boundary": 0.0}),
        ({"tokens": False}, {"tokens": False}),
        ({"fenced": True}, {"fenced": False}),
    ],
)
def test_of_two_versions_promises_the_weaker_one_counts(told, kept):
    promises, (doubt,) = laying_out._held_to(LOCK, "fair", replace(FairLock.promises, **told), None)
    assert promises == replace(FairLock.promises, **kept)
    assert doubt.name == "promises"


def test_the_promises_of_this_version_leave_no_doubt():
    assert laying_out._held_to(LOCK, "fair", FairLock.promises, None) == (FairLock.promises, [])


def test_a_catalogue_of_plain_classes_is_of_sound_recipes(monkeypatch):
    monkeypatch.setattr(type(LOCK), "catalogue", {"fair": FairLock})
    monkeypatch.setattr(type(LOCK), "plain", True)
    timeline = LOCK.lay_out(laid_out(Recorded().end(100).history()))
    assert judge_timeline(timeline, LOCK, "fair").blamed == "servers"
