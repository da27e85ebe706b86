"""What rumpus has, from where it is declared. All of it is imported, so this takes long.

Faults are available in docker if a host can allow them; whether this one does, a run or `rumpus
doctor` finds out.
"""

from typing import Any

from rumpus.checker.deciders.registry import MODELS
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.probe import CAPABILITIES
from rumpus.harness.ensemble import Availability
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.registry import FAULTS, availability
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS


def declared() -> dict[str, Any]:
    """The contents of ``index.json``."""
    real = DockerEnsemble("index").offered(dict.fromkeys(CAPABILITIES, Availability(True)))
    worlds = {"docker": availability(real, "docker"), "sim": availability(OFFERED, "sim")}
    return {
        "workloads": [_workload(workload) for workload in WORKLOADS.values()],
        "faults": [
            {
                "name": name,
                "summary": fault.summary,
                "works_on": fault.works_on,
                "available": {world: found[name].available for world, found in worlds.items()},
                "why": {world: found[name].why for world, found in worlds.items()},
            }
            for name, fault in FAULTS.items()
        ],
        "server_mutants": [
            {
                "name": mutant.name,
                "mistake": mutant.mistake,
                "source": mutant.source,
                "workload": mutant.workload,
                "recipe": mutant.recipe,
                "expected": sorted(mutant.expected),
                "gap": mutant.gap,
            }
            for mutant in SERVER_MUTANTS.values()
        ],
        "models": {name: MODELS[name].summary for name in sorted(MODELS)},
    }


def _workload(workload: Workload) -> dict[str, Any]:
    return {
        "name": workload.name,
        "summary": workload.summary,
        "page": f"docs/recipes/{workload.name}.md",
        "recipes": [
            {
                "name": name,
                "faulty": entry.faulty,
                "mistake": entry.mistake,
                "expected": sorted(entry.expected),
                "promises": {
                    **vars(entry.recipe.promises),
                    "prevents": sorted(entry.recipe.promises.prevents),
                },
            }
            for name, entry in workload.catalogue.items()
        ],
        "of_kazoo": [*workload.of_kazoo],
        "other_systems": [
            {
                "name": name,
                "system": entry.system,
                "client_image": entry.client_image,
                "faulty": entry.faulty,
                "mistake": entry.mistake,
                "expected": sorted(entry.expected),
                "weakness": entry.weakness,
                "library": entry.library,
                "extra": entry.extra,
            }
            for name, entry in workload.elsewhere.items()
        ],
    }
