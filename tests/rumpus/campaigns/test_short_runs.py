from dataclasses import replace

import msgspec
import pytest

from rumpus.campaigns.short_runs import ShortRunsTask, draw, perform
from rumpus.campaigns.tasks import attempt
from rumpus.nemesis.plan import validate
from tests.rumpus.campaigns.running import double_barrier


@pytest.fixture
def task():
    settings = double_barrier(
        seed=2, time_limit=3.0, nemesis=("kill", "client-kill", "client-partition")
    )
    return ShortRunsTask(settings=settings, profile="normal", count=4)


def test_a_short_run_is_the_very_run_that_its_plan_makes_from_the_beginning(task):
    told = perform(task)
    assert len(told) == 4
    digests = [run.attempt.outcome.digest for run in told]
    assert len(set(digests)) == 4
    assert [attempt(run.task).outcome.digest for run in told] == digests


def test_the_seed_decides_sizes_usage_and_plans(task):
    drawn = draw(task)
    assert drawn == draw(task)
    others = [
        draw(replace(task, settings=replace(task.settings, seed=seed))) for seed in range(10, 40)
    ]
    for runs in (drawn, *others):
        settings = runs[0].settings
        assert all(run.settings == settings for run in runs)
        assert (settings.swarm, settings.nemesis, settings.time_limit) == (None, None, 3.0)
        for run in runs:
            limits = {"nodes": settings.nodes, "clients": settings.clients}
            validate(run.plan, time_limit=settings.time_limit, **limits)
            assert set(run.plan.kinds) <= set(task.settings.nemesis)
    assert sum(bool(run.plan.entries) for runs in others for run in runs) > 100
    for name in ("clients", "nodes", "session_timeout", "usage"):
        assert len({getattr(runs[0].settings, name) for runs in others}) > 1
    plans = [run.plan for runs in others for run in runs]
    assert len({msgspec.json.encode(plan) for plan in plans}) > 100


def test_what_is_given_is_not_drawn(task):
    given = replace(
        task.settings,
        clients=4,
        nodes=3,
        usage="think=0.3",
        fixed=("clients", "nodes", "usage", "time_limit"),
    )
    for seed in range(10):
        (first, *_) = draw(replace(task, settings=replace(given, seed=seed)))
        settings = first.settings
        assert (settings.clients, settings.nodes, settings.usage) == (4, 3, "think=0.3")


def test_one_server_is_not_drawn_if_no_fault_can_occur_with_it(task):
    alone = replace(task.settings, nemesis=("partition",))
    for seed in range(10):
        (first, *_) = draw(replace(task, settings=replace(alone, seed=seed)))
        assert first.settings.nodes > 1


def test_what_cannot_be_performed_is_told_as_one_run(task):
    for settings, words in (
        (replace(task.settings, workload="none"), "unknown workload"),
        (replace(task.settings, nemesis=("bogus",)), "unknown fault 'bogus'"),
    ):
        (run,) = perform(replace(task, settings=settings))
        assert run.attempt.exit_code == 2
        assert words in run.attempt.error
