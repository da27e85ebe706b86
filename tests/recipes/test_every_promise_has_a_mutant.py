"""Every promise is broken by some mutant: else no run has shown that anything judges it."""

from dataclasses import replace

import pytest

from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.workloads.registry import WORKLOADS


def unbroken(family):
    """Sound recipe -> the anomalies that it promises to prevent and no mutant has for its own."""
    recipes = WORKLOADS[family].catalogue
    broken = {kind for each in recipes.values() if each.faulty for kind in each.expected}
    for mutant in SERVER_MUTANTS.values():
        if mutant.workload == family:
            broken |= mutant.expected
    missing = {
        name: sorted(entry.recipe.promises.prevents - broken)
        for name, entry in recipes.items()
        if not entry.faulty
    }
    return {name: kinds for name, kinds in missing.items() if kinds}


@pytest.mark.parametrize("family", WORKLOADS)
def test_every_promise_has_a_mutant(family):
    assert unbroken(family) == {}


def test_a_promise_without_a_mutant_is_seen(monkeypatch):
    recipes = WORKLOADS["counter"].catalogue
    for name, entry in [*recipes.items()]:
        if entry.faulty:
            monkeypatch.setitem(recipes, name, replace(entry, expected=frozenset()))
    assert unbroken("counter") == {
        name: sorted(entry.recipe.promises.prevents)
        for name, entry in recipes.items()
        if not entry.faulty
    }
