import json

import pytest

from rumpus.checker.check import all_kinds
from rumpus.checker.deciders.registry import MODELS
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.registry import FAULTS, availability
from rumpus.workloads.registry import WORKLOADS


def listed(rumpus):
    answer = rumpus("list", "--json")
    assert (answer.code, answer.err) == (0, "")
    return json.loads(answer.out)


@pytest.mark.usefixtures("no_engine")
def test_the_document_has_every_workload_with_recipes_and_promises(rumpus):
    document = listed(rumpus)
    assert [workload["name"] for workload in document["workloads"]] == list(WORKLOADS)
    for workload in document["workloads"]:
        recipes = WORKLOADS[workload["name"]].catalogue
        assert [(recipe["name"], recipe["faulty"]) for recipe in workload["recipes"]] == [
            (name, recipe.faulty) for name, recipe in recipes.items()
        ]
        for recipe in workload["recipes"]:
            assert set(recipe["promises"]["prevents"]) <= all_kinds().keys()
            assert isinstance(recipe["promises"]["tokens"], bool)
    assert document["models"] == sorted(MODELS)


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_faults_are_simulated_and_it_says_why(rumpus):
    faults = listed(rumpus)["faults"]
    offered = availability(OFFERED, "sim")
    assert [fault["name"] for fault in faults] == list(FAULTS)
    for fault in faults:
        simulated = offered[fault["name"]].available
        assert fault["available"] == {"docker": False, "sim": simulated}
        assert "no Docker engine answers" in fault["why"]["docker"]
        assert bool(fault["why"]["sim"]) != simulated


@pytest.mark.usefixtures("no_engine")
def test_people_read_the_reason_once_and_lines_keep_their_indent(rumpus):
    answer = rumpus("list")
    assert answer.code == 0
    assert " ".join(answer.out.split()).count("no Docker engine answers") == 1
    assert all(line.startswith(" ") for line in answer.out.splitlines() if "prevents" in line)
    unindented = {line.split(":")[0].strip() for line in answer.out.splitlines() if line[0] != " "}
    assert unindented == {
        *WORKLOADS,
        "faults",
        "models, for rumpus check --model",
        "mutant servers, for rumpus run --ensemble sim --server-mutant",
    }
    for name, entry in MODELS.items():
        assert f"{name}: {' '.join(entry.summary.split())}" in " ".join(answer.out.split())
    for workload in WORKLOADS.values():
        for recipe in workload.catalogue.values():
            assert " ".join(recipe.mistake.split()) in " ".join(answer.out.split())


@pytest.mark.docker
def test_with_an_engine_faults_are_available_or_it_says_why_not(rumpus):
    faults = {fault["name"]: fault for fault in listed(rumpus)["faults"]}
    for name in ("client-pause", "client-kill", "client-partition"):
        assert faults[name]["available"]["docker"]
    assert all(fault["available"]["docker"] or fault["why"]["docker"] for fault in faults.values())
