from dataclasses import replace
from itertools import islice

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.lifting import LiftedRun
from rumpus.campaigns.reproducing import reproduce, runs_around
from rumpus.campaigns.trial_task import Seen
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan, validate
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import SIMULATED
from rumpus.nemesis.swarm import swarm_plan
from rumpus.nemesis.targets import Targets
from rumpus.results.fingerprint import Fingerprint
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

LIMIT_S = 30.0


def lifted(plan, *, moment=LIMIT_S, **settings):
    usual = {"recipe": "kazoo-bare", "clients": 3, "time_limit": LIMIT_S, "seed": 0}
    return LiftedRun(
        settings=RunSettings(argv=(), workload="lock", ensemble="sim", **{**usual, **settings}),
        plan=plan,
        seen=Seen(
            fingerprint=Fingerprint(kind="deadlock", operations=("acquire",)),
            promised=True,
            story=(),
        ),
        moment=moment,
        ensemble="docker",
    )


def entry(number, kind, at, duration, **targets):
    return Entry(id=number, kind=kind, at=at, targets=Targets(**targets), duration=duration)


PLAN = FaultPlan(
    version=1,
    entries=(
        entry(1, "client-pause", 6.0, 3.0, role="one"),
        entry(2, "pause", 12.0, 2.0, role="leader"),
        entry(3, "kill", 18.0, 4.0, role="leader"),
        entry(4, "client-kill", 25.0, 1.0, role="one"),
    ),
)


def test_the_run_itself_is_tried_first_then_the_last_faults_before_the_anomaly():
    tasks = list(islice(runs_around(lifted(PLAN, moment=20.0)), 6))
    kinds = [[each.kind for each in task.plan.entries] for task in tasks]
    assert kinds == [
        ["client-pause", "pause", "kill", "client-kill"],
        ["kill"],
        ["pause"],
        ["client-pause"],
        ["pause", "kill"],
        ["client-pause", "pause"],
    ]
    alone = tasks[1]
    assert (alone.plan.entries[0].at, alone.plan.entries[0].duration) == (1.0, 4.0)
    assert alone.settings.time_limit == 6.0
    assert (alone.settings.seed, alone.settings.clients) == (0, 3)


def test_a_run_without_faults_is_tried_without_faults():
    tasks = list(islice(runs_around(lifted(FaultPlan(version=1))), 4))
    assert all(task.plan.entries == () for task in tasks)
    assert len({task.settings.seed for task in tasks}) > 1


def test_a_fault_that_takes_the_targets_of_another_is_tried_with_that():
    entries = (*PLAN.entries[:2], entry(3, "client-partition", 13.0, 2.0, of=2))
    tasks = islice(runs_around(lifted(msgspec.structs.replace(PLAN, entries=entries))), 1, 20)
    for task in tasks:
        kinds = [each.kind for each in task.plan.entries]
        assert "client-partition" not in kinds or "pause" in kinds


@given(
    seed=st.integers(0, 1 << 30),
    punctual=st.booleans(),
    moment=st.floats(0, LIMIT_S),
    clients=st.integers(1, 6),
    named=st.booleans(),
)
def test_every_run_around_a_run_is_possible(seed, punctual, moment, clients, named):
    drawn = {"seed": seed, "time_limit": LIMIT_S, "nodes": 3, "clients": clients}
    if punctual:
        plan = swarm_plan(SIMULATED, profile="brutal", session_timeout=2.0, **drawn)
    else:
        plan = random_plan(SIMULATED, interval=4.0, session_timeout=2.0, **drawn)
    if named:
        last = entry(99, "client-pause", LIMIT_S - 0.2, 0.1, names=(f"c{clients - 1}",))
        plan = msgspec.structs.replace(plan, entries=(*plan.entries, last))
    around = runs_around(lifted(plan, moment=moment, clients=clients))
    for task in islice(around, 40):
        limit = task.settings.time_limit
        validate(task.plan, nodes=3, clients=task.settings.clients, time_limit=limit)


def test_a_failure_is_reproduced(inline):
    plan = FaultPlan(version=1, entries=(entry(1, "pause", 3.0, 1.7, role="leader"),))
    run = lifted(plan, moment=4.0, time_limit=6.0, preemption="blocking")
    made = reproduce(run, inline, tries=20)
    outcome, seen = made.found
    assert seen.fingerprint.kind == "deadlock"
    assert outcome.outcome == "violation"
    assert 1 <= made.runs <= 20


def test_a_sound_recipe_does_not_show_it(inline):
    plan = FaultPlan(version=1, entries=(entry(1, "pause", 1.0, 1.7, role="leader"),))
    made = reproduce(lifted(plan, recipe="fair", time_limit=3.0), inline, tries=3)
    assert made.found is None
    assert made.runs == 3
    assert not made.of_the_kind + made.others + made.errors


def test_what_was_seen_instead_is_told(inline):
    plan = FaultPlan(version=1, entries=(entry(1, "pause", 1.0, 1.7, role="leader"),))
    wanted = lifted(plan, time_limit=1.1, preemption="blocking")
    another = Fingerprint(kind="deadlock", operations=("release",))
    made = reproduce(
        replace(wanted, seen=msgspec.structs.replace(wanted.seen, fingerprint=another)),
        inline,
        tries=2,
    )
    assert made.found is None
    assert made.of_the_kind["deadlock of acquire"] >= 1


def test_nothing_is_tried_once_the_time_is_over(inline):
    ticks = iter([0.0, 0.0, 11.0, 12.0])
    plan = FaultPlan(version=1, entries=(entry(1, "pause", 1.0, 1.7, role="leader"),))
    made = reproduce(
        lifted(plan, recipe="fair", time_limit=3.0),
        inline,
        tries=50,
        budget=10.0,
        clock=lambda: next(ticks),
    )
    assert made.runs == 1


def test_what_cannot_be_performed_is_refused(inline):
    with pytest.raises(UsageError, match="unknown recipe 'none'"):
        reproduce(lifted(FaultPlan(version=1), recipe="none"), inline, tries=2)
