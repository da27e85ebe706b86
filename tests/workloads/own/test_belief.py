"""From when to when a client believes: in whatever session the answer came, until it is told."""

import pytest

import rumpus
from tests.workloads.own import restarting_locks as recipes

CALM = {"seeds": 1, "clients": 3, "time_limit": 2.0, "session_timeout": 1.0, "nemesis": []}


def trial(family, recipe, runs, **options):
    return rumpus.run(family, recipe, runs=runs, **{**CALM, **options})


def kinds(anomalies):
    return {anomaly.kind for anomaly in anomalies}


@pytest.mark.parametrize(
    ("family", "recipe"),
    [
        ("lock", recipes.RestartingQueuer),
        ("election", recipes.RestartingRunningElection),
    ],
)
def test_a_recipe_may_restart_its_client_before_it_wins(family, recipe, tmp_path):
    result = trial(family, recipe, tmp_path, promises=["belief", "fifo"], time_limit=4.0)
    assert result.outcome == "valid", str(result)
    assert not kinds(result.hazards) & {"unbelieving-holder", "unaware-holder"}


@pytest.mark.parametrize(
    ("family", "recipe"),
    [
        ("lock", recipes.KeepingQueuer),
        ("semaphore", recipes.KeepingSemaphore),
        ("election", recipes.KeepingRunningElection),
        ("read-write", recipes.KeepingReadWrite),
    ],
)
def test_what_a_former_session_won_is_not_held_in_the_next(family, recipe, tmp_path):
    result = trial(family, recipe, tmp_path)
    assert result.outcome == "violation", str(result)
    assert "split-brain" in kinds(result.anomalies)
