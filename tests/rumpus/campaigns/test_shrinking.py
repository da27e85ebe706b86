from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import count

import msgspec
import pytest

from rumpus.campaigns import shrinking
from rumpus.campaigns.case import decode_case
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import Attempt
from rumpus.campaigns.trial_task import Seen, perform
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.targets import Targets
from rumpus.results.fingerprint import Fingerprint
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


def seen_at(began, ended, *clients):
    fingerprint = Fingerprint(kind="deadlock", operations=("acquire",))
    span = (began, ended)
    return Seen(fingerprint=fingerprint, promised=True, story=(), span=span, clients=clients)


NOWHEN = msgspec.structs.replace(seen_at(0, 0), span=None)


def nowhen(each):
    """A pass of an anomaly of which nobody knows when it was."""
    return lambda task: each(task, NOWHEN)


def tried(task, passes, seen=NOWHEN):
    """The runs that are tried of a task of which no smaller one fails."""
    return [smaller for each in passes for smaller in each(task, seen)]


def kinds_and_limits(tasks):
    return [
        ([entry.kind for entry in each.plan.entries], each.settings.time_limit) for each in tasks
    ]


@pytest.fixture
def long_task(failed):
    """A run of 20 s with a fault every five seconds."""
    task, _ = failed
    entries = (
        entry(1, "pause", 1.0, 1.0, role="leader"),
        entry(2, "kill", 5.0, 1.0, role="leader"),
        entry(3, "client-pause", 10.0, 1.0, names=("c4", "c1")),
        entry(4, "partition", 15.0, 1.0, shape="halves"),
    )
    plan = msgspec.structs.replace(task.plan, entries=entries)
    settings = replace(task.settings, clients=5, time_limit=20.0, usage="")
    return replace(task, settings=settings, plan=plan)


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
    passes = [shrinking._possible(task, nowhen(each)) for each in shrinking.PASSES]
    smaller = [each for possible in passes for each in possible(task)]
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
    few = nowhen(shrinking._few_faults)
    assert shrinking._possible(task, few) is few


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


def test_a_run_tells_when_its_anomalies_were_and_whose(failed):
    task, outcome = failed
    seen = deadlock_of(outcome)
    began, ended = seen.span
    assert task.settings.time_limit < began < ended, "the final phase shows it"
    assert set(seen.clients) <= set(range(task.settings.clients))
    assert seen.clients


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
    first = [shrinking._until_seen, shrinking._fewer_faults]
    assert list(shrinking._passes(task)[:2]) == first
    assert sorted(map(repr, shrinking._passes(task))) == sorted(map(repr, shrinking.PASSES))
    settings = replace(task.settings, time_limit=15.0)
    assert shrinking._passes(replace(task, settings=settings)) is shrinking.PASSES


def test_of_two_equal_runs_one_is_performed(deadlock, inline):
    task = deadlock.task()
    outcome = perform(task)
    made = Shrinking(outcome, deadlock_of(outcome), inline)
    assert made._fail([task, task]) == [True, True]
    assert made.runs == 1


def test_the_load_is_first_cut_where_the_anomaly_was_seen(long_task):
    """Without the faults that were still to come."""
    cut = tried(long_task, [shrinking._until_seen], seen_at(9.0, 11.3))
    assert kinds_and_limits(cut) == [
        (["pause", "kill"], 9.1),
        (["pause", "kill", "client-pause"], 11.4),
    ]
    late = seen_at(19.7, 31.0)
    assert not tried(long_task, [shrinking._until_seen], late)
    assert not tried(long_task, [shrinking._until_seen])


def test_the_load_is_not_cut_before_the_anomaly_began_if_the_load_showed_it(long_task):
    def shortest(seen):
        first = replace(
            long_task,
            plan=msgspec.structs.replace(long_task.plan, entries=long_task.plan.entries[:1]),
        )
        return min(
            each.settings.time_limit for each in tried(first, [shrinking._shorter_load], seen)
        )

    assert shortest(seen_at(9.0, 12.0)) == 3.0, "soon after the fault is tried all the same"
    lengths = [each.settings.time_limit for each in tried(long_task, [shrinking._shorter_load])]
    assert min(lengths) == 15.1
    assert shortest(seen_at(9.0, 31.0)) == 1.1
    assert shortest(seen_at(20.0, 31.0)) == 1.1
    assert shortest(NOWHEN) == 1.1


def test_faults_far_from_the_anomaly_are_left_out_first(long_task):
    near = kinds_and_limits(tried(long_task, [shrinking._near_faults], seen_at(5.5, 9.5)))
    assert near == [
        (["kill"], 3.0),
        (["kill", "client-pause"], 8.0),
        (["pause", "kill", "client-pause"], 12.0),
        (["kill"], 20.0),
        (["kill", "client-pause"], 20.0),
        (["pause", "kill", "client-pause"], 20.0),
    ]
    at_the_end = kinds_and_limits(tried(long_task, [shrinking._near_faults], seen_at(20.0, 30.0)))
    assert at_the_end[0] == (["partition"], 3.0)
    assert all(limit < 20 for _, limit in at_the_end)
    assert not tried(long_task, [shrinking._near_faults])
    pairs = tried(long_task, [shrinking._few_faults], seen_at(11.0, 11.5))
    singles = [each for each in pairs if len(each.plan.entries) == 1]
    assert [each.plan.entries[0].kind for each in singles[:2]] == ["client-pause", "partition"]


def test_clients_that_the_anomaly_names_stay(long_task):
    smaller = tried(long_task, [shrinking._fewer_clients], seen_at(1.0, 2.0, 1, 3, 4))
    first = smaller[0]
    assert first.settings.clients == 3
    assert first.plan.entries[2].targets.names == ("c2", "c0")
    assert [each.settings.clients for each in smaller[::4]] == [3, 2, 4]
    of_two = next(each for each in smaller if each.settings.clients == 2)
    assert of_two.plan.entries[2].targets.names == ("c0",)


def test_clients_rest_only_where_nothing_is_said_of_how_they_use_it(long_task):
    rested = tried(long_task, [shrinking._fewer_operations])
    assert [each.settings.usage for each in rested] == ["think=1.0", "think=0.3", "think=0.1"]
    for each in rested:
        assert not [
            other for other in tried(each, [shrinking._usual_settings]) if not other.settings.usage
        ]
    special = replace(long_task, settings=replace(long_task.settings, usage="objects=2"))
    assert not tried(special, [shrinking._fewer_operations])


class Pretended(Executor):
    """Says of runs with a fault of some kind that they show a deadlock soon after it."""

    def __init__(self, outcome, kind):
        self.outcome, self.kind = outcome, kind

    def submit(self, _function, /, task, *_origin):
        hit = [entry for entry in task.plan.entries if entry.kind == self.kind]
        seen = [seen_at(each.at, each.at + 2.0, 0, 3) for each in hit]
        outcome = msgspec.structs.replace(
            self.outcome, seen=tuple(seen), plan=task.plan, settings=task.settings
        )
        future = Future()
        future.set_result(Attempt(outcome=outcome))
        return future


@pytest.mark.parametrize("number", range(4))
def test_a_big_case_is_small_after_few_tries(failed, long_task, number):
    _, outcome = failed
    kind = long_task.plan.entries[number].kind
    executor = Pretended(outcome, kind)
    big = executor.submit(None, long_task).result().outcome
    case = Shrinking(big, big.seen[0], executor, tries=25).shrink()
    assert [each.kind for each in case.plan.entries] == [kind]
    assert case.settings["clients"] == 2
    assert case.settings["time_limit"] < 5
    assert case.settings["usage"] == "think=1.0"
