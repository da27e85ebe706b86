from dataclasses import replace
from itertools import count

import msgspec
import pytest

from rumpus.campaigns import shrinking
from rumpus.campaigns.case import decode_case
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.trial_task import perform
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.targets import Targets
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import one_in


def entry(number, kind, at, duration, **targets):
    return Entry(id=number, kind=kind, at=at, targets=Targets(**targets), duration=duration)


@pytest.fixture(scope="module")
def failed():
    """A run with three faults, one of which makes kazoo's lock fail, and what it showed."""
    case = decode_case(DEADLOCK.encode(), "it")
    plan = msgspec.structs.replace(
        case.plan,
        entries=(
            entry(1, "pause", 1.0, 1.7, role="leader"),
            entry(2, "client-pause", 3.5, 0.3, names=("c1",)),
            entry(3, "client-partition", 4.0, 0.3, names=("c0",)),
        ),
    )
    task = msgspec.structs.replace(case, plan=plan).task(time_limit=4.2)
    return task, perform(task)


def tried(task, passes):
    """The runs that are tried of a task of which no smaller one fails."""
    return [smaller for each in passes for smaller in each(task)]


def test_no_try_is_spent_on_a_run_that_cannot_be_performed(failed):
    """Faults that name a client that is gone, or refer to a fault that is."""
    entries = (
        entry(1, "client-pause", 1.0, 0.5, names=("c1", "c2")),
        entry(2, "client-kill", 1.6, 0.5, of=1),
        entry(3, "pause", 2.0, 1.0, names=("n3",)),
    )
    task, _ = failed
    plan = msgspec.structs.replace(task.plan, entries=entries)
    task = replace(task, settings=replace(task.settings, clients=3, nodes=3), plan=plan)
    assert not all(map(shrinking._is_possible, tried(task, shrinking.PASSES)))
    smaller = tried(task, [shrinking._possible(task, each) for each in shrinking.PASSES])
    assert smaller
    assert all(map(shrinking._is_possible, smaller))
    named = {
        e.targets.names for each in smaller if each.settings.clients == 2 for e in each.plan.entries
    }
    assert named <= {("c1", "c0"), ("n3",), None}


def test_a_plan_that_is_not_known_here_is_made_smaller_all_the_same(failed):
    task, _ = failed
    plan = msgspec.structs.replace(
        task.plan, entries=(entry(1, "of-others", 1.0, 1.0, role="all"),)
    )
    task = replace(task, plan=plan)
    assert shrinking._possible(task, shrinking._few_faults) is shrinking._few_faults


def deadlock_of(outcome):
    return next(each for each in outcome.seen if each.fingerprint.kind == "deadlock")


@one_in(3)
def test_what_does_not_matter_goes(failed, inline):
    task, outcome = failed
    ticks = count()
    made = Shrinking(outcome, deadlock_of(outcome), inline, budget=20, clock=lambda: next(ticks))
    case = made.shrink()
    assert [each.kind for each in case.plan.entries] == ["pause"]
    assert case.expects.kind == "deadlock"
    assert case.expects.faults == ("pause",)
    assert case.settings["clients"] <= 3
    assert case.settings["time_limit"] < task.settings.time_limit
    again = perform(case.task())
    assert again.digest == case.digest
    assert again.find(case.expects, promised=True)


def test_without_time_the_case_is_the_run_itself(failed, inline):
    _, outcome = failed
    ticks = count()
    made = Shrinking(outcome, deadlock_of(outcome), inline, budget=0.5, clock=lambda: next(ticks))
    case = made.shrink()
    assert len(case.plan.entries) == 3
    assert case.expects.faults == ("client-partition", "client-pause", "pause")
    assert made.runs == 1
    assert perform(case.task()).find(case.expects, promised=True)


def test_a_short_run_leaves_out_faults_first_and_a_long_one_tries_few(failed):
    task, _ = failed
    assert shrinking._passes(task)[0] is shrinking._fewer_faults
    assert sorted(map(repr, shrinking._passes(task))) == sorted(map(repr, shrinking.PASSES))
    settings = replace(task.settings, time_limit=15.0)
    assert shrinking._passes(replace(task, settings=settings)) is shrinking.PASSES


def test_of_two_equal_runs_one_is_performed(deadlock, inline):
    task = deadlock.task()
    outcome = perform(task)
    made = Shrinking(outcome, deadlock_of(outcome), inline)
    assert made._fail([task, task]) == [True, True]
    assert made.runs == 1
