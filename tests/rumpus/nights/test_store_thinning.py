import math
from collections import Counter
from itertools import pairwise

from rumpus.nights.memory.store import Store
from rumpus.nights.records import NightRow
from tests.rumpus.nights.conftest import DAY, FAIR, failure, night, run

OTHER = "lock / other, sim"


def filled(store, name):
    """A night with 60 runs: 40 of them nothing is wrong with."""
    shown = (failure().id,)
    store.note_failure(failure())
    for seed in range(50):
        subject = FAIR.key if seed % 2 else OTHER
        figures = {"latency": 1.0 + seed % 7, "fairness": 0.0}
        outcome = "valid" if seed % 5 else "unknown"
        store.note_run(name, run(seed, subject=subject, figures=figures, outcome=outcome))
    for seed in range(50, 58):
        store.note_run(name, run(seed, outcome="violation", failures=shown))
    store.note_run(name, run(58, outcome="unknown", failures=shown))
    store.note_run(name, run(59, outcome=None))


def everything(store):
    known = store.failures()
    return (
        store.rates(),
        known,
        [store.sightings(each.id) for each in known],
        store.subjects_last(),
        store.canary_past(),
        store.nights(),
    )


def test_counts_figures_and_failures_are_the_same_after_thinning(store):
    for number in range(1, 5):
        store.begin_night(night(number))
        filled(store, night(number).name)
    before = everything(store)
    store.thin(keep=2)
    assert everything(store) == before
    assert len(store.runs(night(4).name)) == len(store.runs(night(3).name)) == 60
    for number in (1, 2):
        kept = store.runs(night(number).name)
        wrong = [each.seed for each in kept if each.failures or each.outcome is None]
        assert wrong == list(range(50, 60))
        usual = [each for each in kept if each.seed < 50]
        assert Counter(each.subject for each in usual) == {FAIR.key: 10, OTHER: 10}
        # Taken evenly from the first to the last.
        fair = [each.seed for each in usual if each.subject == FAIR.key]
        assert max(b - a for a, b in pairwise(fair)) <= 6
    again = [store.runs(each.name) for each in store.nights()]
    store.thin(keep=2)
    assert [store.runs(each.name) for each in store.nights()] == again


def test_of_a_night_of_last_year_only_counts_stay(store):
    store.begin_night(NightRow(name="old", began=0.0))
    filled(store, "old")
    store.begin_night(NightRow(name="new", began=366 * DAY))
    filled(store, "new")
    before = everything(store)
    store.thin(keep=30)
    assert everything(store) == before
    assert store.runs("old") == []
    assert len(store.runs("new")) == 60


def test_thinning_gives_space_back(path):
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1))
        store.begin_night(night(2))
        for seed in range(500):
            store.note_run(night(1).name, run(seed, why="x" * 1000))
    before = path.stat().st_size
    with Store.opened(path, write=True) as store:
        store.thin(keep=1)
    assert path.stat().st_size < before / 5


def test_figures_are_summed_as_logarithms_of_what_is_positive(store):
    store.begin_night(night(1))
    filled(store, night(1).name)
    (fair,) = [each for each in store.rates([night(1).name]) if each.subject == FAIR.key]
    logs = [math.log(1.0 + seed % 7) for seed in range(1, 50, 2)]
    assert fair.figures.keys() == {"latency"}
    assert fair.figures["latency"].count == len(logs)
    assert math.isclose(fair.figures["latency"].mean, sum(logs) / len(logs))
    assert (fair.runs, fair.performed) == (35, 34)
    assert fair.outcomes == {"valid": 20, "unknown": 6, "violation": 8, "none": 1}
    assert fair.shown == {failure().id: 9}
    assert store.rates([]) == []
