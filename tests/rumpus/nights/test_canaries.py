"""Known mistakes that a night must find; those put into recipes of a project are found by runs."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.trial_task import perform
from rumpus.nights.canaries import known_mistakes, own_canary, rotated
from rumpus.workloads.own.references import referred
from rumpus.workloads.registry import WORKLOADS
from tests.distribution import ROOT
from tests.rumpus.nights.made import canary_of, on, outcome_of, seen_of
from tests.sampling import sampled

GRANT = seen_of("double-grant")

LOCKS = """
from warehouse.lock import AisleLock


class WithMethod(AisleLock):
    mine = False

    def held(self):
        return self.mine

    def acquire(self, timeout=10.0):
        self.mine = super().acquire(timeout)
        return self.mine

    def release(self):
        self.mine = False
        super().release()


class WithProperty(WithMethod):
    @property
    def held(self):
        return self.mine


class Nothing:
    def __init__(self, client, path):
        pass


class Half(Nothing):
    def acquire(self):
        return True


def function(client, path):
    return AisleLock(client, path)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where modules are found: recipes of a project, and canaries made of them."""
    (tmp_path / "night_canary_locks.py").write_text(LOCKS)
    monkeypatch.syspath_prepend(ROOT / "examples" / "own_lock")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@sampled(
    "reference",
    [
        "warehouse.lock:AisleLock",
        "night_canary_locks:WithMethod",
        "night_canary_locks:WithProperty",
    ],
    of=3,
)
def test_a_mistake_put_into_an_own_lock_is_found_by_a_run(place, reference):
    canary = own_canary(on(reference), place)
    assert canary is not None
    assert canary.name == f"lock / {reference} that grants without asking"
    task = canary.piece(3).task
    short = replace(task, settings=replace(task.settings, time_limit=3.0, nemesis=()))
    assert canary.found(perform(short))


@pytest.mark.parametrize(("name", "is_property"), [("WithMethod", False), ("WithProperty", True)])
def test_the_belief_is_told_as_the_recipe_tells_it(place, name, is_property):
    canary = own_canary(on(f"night_canary_locks:{name}"), place)
    kind = referred(canary.settings.recipe)
    assert isinstance(vars(kind)["held"], property) == is_property


@pytest.mark.parametrize(
    "trial",
    [
        on("night_canary_locks:Nothing"),
        on("night_canary_locks:Half"),
        on("night_canary_locks:function"),
        on("night_canary_locks:Missing"),
        on("no_such_module_here:Lock"),
        on("warehouse.lock:AisleLock", workload="queue"),
        on("warehouse.lock:AisleLock", world="docker"),
        on("fair"),
    ],
    ids=lambda trial: trial.subject.key,
)
def test_there_is_none_of_what_cannot_have_the_mistake(place, trial):
    assert own_canary(trial, place) is None
    assert list(place.glob("canary_*")) == []


@pytest.mark.parametrize(
    ("outcome", "found"),
    [
        (outcome_of(GRANT), True),
        (outcome_of(GRANT, seen_of("deadlock")), True),
        (outcome_of(seen_of("deadlock")), False),
        (outcome_of(GRANT, blamed="servers"), False),
        (outcome_of(GRANT, outcome="unknown"), False),
        (outcome_of(seen_of("double-grant", promised=False)), False),
        (outcome_of(), False),
    ],
)
def test_it_is_found_by_what_is_expected_of_whom_it_is(outcome, found):
    assert canary_of().found(outcome) == found


def test_any_broken_promise_will_do_where_nothing_is_expected():
    canary = canary_of(expected=frozenset())
    assert canary.found(outcome_of(seen_of("deadlock")))
    assert not canary.found(outcome_of())


@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers())
def test_each_family_comes_before_one_comes_again(families, seed):
    canaries = [canary_of(str(number), family=each) for number, each in enumerate(families)]
    order = rotated(canaries, Random(seed))
    assert sorted(each.name for each in order) == sorted(each.name for each in canaries)
    counts = dict.fromkeys(families, 0)
    for each in order:
        rest = [families.count(family) - counts[family] for family in counts if counts[family] <
                counts[each.family]]  # fmt: skip
        assert not any(rest)
        counts[each.family] += 1


def test_known_mistakes_are_of_the_families_that_are_asked_for():
    every = known_mistakes(WORKLOADS.keys())
    assert known_mistakes(()) == []
    for family in {each.family for each in every}:
        of_family = known_mistakes([family])
        assert of_family == [each for each in every if each.family == family]
        assert all(0 < each.rate <= 1 and each.mistake for each in of_family)
