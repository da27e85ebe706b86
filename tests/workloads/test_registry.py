import importlib

import pytest

from checker.verdict import ANOMALIES
from harness.combinators import on_clients
from harness.rehearsal import rehearse
from harness.seed import Seed
from workloads.registry import WORKLOADS

RECIPES = [
    pytest.param(workload, name, recipe, id=f"{workload.name}-{name}")
    for workload in WORKLOADS.values()
    for name, recipe in workload.recipes.items()
]


@pytest.mark.parametrize(("workload", "name", "recipe"), RECIPES)
def test_promises_are_of_known_anomalies(workload, name, recipe):
    assert recipe.promises.prevents <= ANOMALIES.keys()
    assert recipe.promises.prevents, f"{workload.name} / {name} promises nothing"


@pytest.mark.parametrize(("workload", "name", "recipe"), RECIPES)
def test_what_gives_a_faulty_recipe_away_breaks_a_promise_of_it(workload, name, recipe):
    if recipe.faulty:
        assert recipe.expected <= recipe.promises.prevents
        assert recipe.expected
        assert recipe.mistake
    else:
        assert (recipe.expected, recipe.mistake) == (frozenset(), ""), f"{workload.name} / {name}"


@pytest.mark.parametrize(("workload", "name", "recipe"), RECIPES)
def test_the_clients_side_can_be_built_by_name(workload, name, recipe):
    module, _, function = workload.build.partition(":")
    build = getattr(importlib.import_module(module), function)
    assert callable(build(**workload.options(name, 3)))
    assert recipe.line(workload.path).path == workload.path


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_load_and_final_phase_speak_the_workloads_words(workload):
    words = workload.words
    recipe = next(iter(workload.recipes.values()))
    generators = (workload.load(Seed(1), recipe, 10**9), workload.final(2.0))
    spoken = {
        what.f
        for generator in generators
        for _, what, _ in rehearse(on_clients(generator), clients=3, nemesis=False).dispatches
    }
    assert spoken == {words.acquire, words.work, words.release, "inspect"}
    assert workload.cleanup == {words.acquire: words.release}


def test_names_are_those_of_the_command_line():
    assert {name: workload.name for name, workload in WORKLOADS.items()} == {
        "lock": "lock",
        "election": "election",
    }
