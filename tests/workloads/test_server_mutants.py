"""The catalogue of mutant servers fits the workloads that are to show the mistakes."""

import pytest

from rumpus.checker.check import all_kinds
from rumpus.simulation.zookeeper.bugs import BUGS
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.workloads.framework.judgement import OF_SERVERS
from rumpus.workloads.registry import WORKLOADS


@pytest.mark.parametrize("mutant", SERVER_MUTANTS.values(), ids=list(SERVER_MUTANTS))
def test_a_sound_recipe_on_plain_znodes_promises_what_the_mutant_breaks(mutant):
    workload = WORKLOADS[mutant.workload]
    recipe = workload.recipes[mutant.recipe]
    assert workload.plain
    assert not workload.catalogue[mutant.recipe].faulty
    assert mutant.expected <= recipe.promises.prevents | OF_SERVERS
    assert mutant.expected <= set(all_kinds())


@pytest.mark.parametrize("mutant", SERVER_MUTANTS.values(), ids=list(SERVER_MUTANTS))
def test_a_mutant_is_shown_or_is_a_bug_that_needs_a_plan_or_says_why_nothing_shows_it(mutant):
    assert [bool(mutant.expected), bool(mutant.bugs), bool(mutant.gap)].count(True) == 1


@pytest.mark.parametrize("mutant", SERVER_MUTANTS.values(), ids=list(SERVER_MUTANTS))
def test_a_mutant_changes_something_and_says_what(mutant):
    assert mutant.parts or mutant.bugs
    assert all(issubclass(new, old) for old, new in mutant.parts.items())
    assert mutant.bugs <= set(BUGS)
    assert mutant.mistake
    assert mutant.source
