"""What recipes tell of themselves, and calls that most clients do without, on trial."""

import rumpus
from tests.sampling import sampled
from tests.workloads.own import asked_recipes

BUSY = {"clients": 3, "time_limit": 4.0, "session_timeout": 1.0, "nemesis": ["client-pause"]}

CUT_OFF = {
    "clients": 4,
    "time_limit": 12.0,
    "nemesis_interval": 2.5,
    "nemesis": ["client-partition"],
}
"""Connections that break within calls of several requests."""

SOUND = [
    ("queue", "kazoo.recipe.queue:Queue", {"usage": "asks=0.3"}),
    ("queue", "kazoo.recipe.queue:LockingQueue", {"usage": "asks=0.3,batches=0.6"}),
]
WRONG = [
    ("queue", asked_recipes.FirstLengthQueue, "false-census", {"usage": "asks=0.3"}),
    (
        "queue",
        asked_recipes.OneByOneQueue,
        "lost-element",
        {**CUT_OFF, "usage": "batches=1.0"},
    ),
]
SEEDS = 4


def kinds_of(family, recipe, seed, tmp_path, more):
    options = {**BUSY, **more}
    result = rumpus.run(family, recipe, seed=seed, ensemble="sim", runs=tmp_path, **options)
    return {anomaly.kind for anomaly in result.anomalies}


@sampled(("family", "recipe", "more"), SOUND, of=3)
def test_what_they_say_of_themselves_is_not_called_false(family, recipe, more, tmp_path):
    for seed in range(SEEDS):
        assert "false-census" not in kinds_of(family, recipe, seed, tmp_path, more)


@sampled(("family", "recipe", "kind", "more"), WRONG, of=3)
def test_each_mistake_is_found(family, recipe, kind, more, tmp_path):
    seeds = range(5 * SEEDS)
    assert any(kind in kinds_of(family, recipe, seed, tmp_path, more) for seed in seeds)
