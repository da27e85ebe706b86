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

HELD_LONG = {
    "clients": 7,
    "time_limit": 14.0,
    "usage": "cancels=0.4,holding=14,patience=8",
}
"""Waiters that are cancelled while those before them hold on."""

SOUND = [
    ("queue", "kazoo.recipe.queue:Queue", {"usage": "asks=0.3"}),
    ("queue", asked_recipes.HeedfulLockingQueue, {"usage": "asks=0.3,batches=0.6"}),
    ("lock", "kazoo.recipe.lock:Lock", {"usage": "asks=0.3"}),
    ("semaphore", "kazoo.recipe.lock:Semaphore", {"usage": "asks=0.3"}),
    ("election", "kazoo.recipe.election:Election", {"usage": "asks=0.3"}),
    ("lock", asked_recipes.HeedfulLock, {"usage": "asks=0.3,cancels=0.4,patience=0.5"}),
]
WRONG = [
    ("queue", asked_recipes.FirstLengthQueue, "false-census", {"usage": "asks=0.3"}),
    (
        "queue",
        asked_recipes.OneByOneQueue,
        "lost-element",
        {**CUT_OFF, "usage": "batches=1.0"},
    ),
    ("lock", asked_recipes.ReversedLock, "false-census", {"usage": "asks=0.3"}),
    ("semaphore", asked_recipes.FormerHoldersSemaphore, "false-census", {"usage": "asks=0.3"}),
    ("election", asked_recipes.LonelyElection, "false-census", {"usage": "asks=0.3"}),
    ("lock", asked_recipes.PatientLock, "overdue-call", {"usage": "cancels=0.9,patience=0.3"}),
    ("lock", asked_recipes.ForgetfulLock, "unexpected-error", {"usage": "cancels=0.4"}),
    # Flaws of kazoo's own.
    ("lock", "kazoo.recipe.lock:Lock", "unexpected-error", {"usage": "cancels=0.4"}),
    ("election", "kazoo.recipe.election:Election", "early-timeout", {"usage": "cancels=0.4"}),
    ("semaphore", "kazoo.recipe.lock:Semaphore", "overdue-call", HELD_LONG),
]
SEEDS = 4
FALSE = {"false-census", "unexpected-error", "early-timeout", "overdue-call"}


def kinds_of(family, recipe, seed, tmp_path, more):
    options = {**BUSY, **more}
    result = rumpus.run(family, recipe, seed=seed, ensemble="sim", runs=tmp_path, **options)
    return {anomaly.kind for anomaly in result.anomalies}


@sampled(("family", "recipe", "more"), SOUND, of=3)
def test_calls_that_keep_their_word_are_not_accused(family, recipe, more, tmp_path):
    for seed in range(SEEDS):
        assert not kinds_of(family, recipe, seed, tmp_path, more) & FALSE


@sampled(("family", "recipe", "kind", "more"), WRONG, of=3)
def test_each_mistake_is_found(family, recipe, kind, more, tmp_path):
    seeds = range(5 * SEEDS)
    assert any(kind in kinds_of(family, recipe, seed, tmp_path, more) for seed in seeds)
