import importlib

import pytest

from rumpus.checker.check import all_kinds
from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.workloads.registry import WORKLOADS
from tests.harness.generators.dry_run import dry_run
from tests.sampling import sampled

RECIPES = [
    pytest.param(workload, name, recipe, id=f"{workload.name}-{name}")
    for workload in WORKLOADS.values()
    for name, recipe in workload.recipes.items()
]


@pytest.mark.parametrize(("workload", "name", "recipe"), RECIPES)
def test_promises_are_of_known_anomalies(workload, name, recipe):
    assert recipe.promises.prevents <= all_kinds().keys()
    assert recipe.promises.prevents, f"{workload.name} / {name} promises nothing"


@pytest.mark.parametrize(("workload", "name", "recipe"), RECIPES)
def test_what_gives_a_faulty_recipe_away_breaks_a_promise_of_it(workload, name, recipe):
    entry = workload.catalogue[name]
    assert entry.faulty == bool(entry.mistake) == bool(entry.expected)
    assert entry.expected <= recipe.promises.prevents


@pytest.mark.parametrize(("workload", "name", "recipe"), RECIPES)
def test_the_clients_side_can_be_built_by_name(workload, name, recipe):
    module, _, function = workload.build.partition(":")
    made = getattr(importlib.import_module(module), function)
    build = getattr(made, "builder", made)
    assert callable(build(**workload.options(name, 3)))
    line = recipe.line(workload.path)
    assert line is None or line.path.startswith(workload.path)


@sampled("workload", WORKLOADS.values(), of=5, ids=WORKLOADS)
def test_load_and_final_phase_are_of_operations_that_the_workload_names(workload):
    recipe = next(iter(workload.recipes.values()))
    setting = WorkloadContext(
        seed=Seed(1), recipe=recipe, clients=3, session_timeout=2.0, until=5_000_000_000
    )
    spoken = [
        {
            what.f
            for _, what, _ in dry_run(on_clients(generator), clients=3, nemesis=False).dispatches
        }
        for generator in (workload.load_of(setting), workload.final_of(setting))
    ]
    assert all(spoken), "both phases have operations"
    asked = workload.words.acquire
    assert not asked or asked in spoken[0], "faults find out at whom to aim"
    assert workload.cleanup.keys() <= spoken[0]


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_sound_recipes_come_first_and_every_family_has_two_that_must_be_caught(workload):
    faulty = [recipe.faulty for recipe in workload.catalogue.values()]
    assert faulty == sorted(faulty)
    assert not faulty[0]
    if workload.name != "election":
        assert sum(faulty) >= 2


def test_names_are_those_of_the_command_line():
    assert all(name == workload.name for name, workload in WORKLOADS.items())
