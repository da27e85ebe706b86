"""``rumpus list``: workloads, recipes with their promises, faults and where they work, models."""

import argparse
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from rumpus.checker.deciders.registry import MODELS
from rumpus.consoles import answers, print_document
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.ensemble import Availability, EnvironmentRefusal
from rumpus.harness.simulated.ensemble import SimEnsemble
from rumpus.harness.simulated.waiting import sleeper
from rumpus.model_choice import model_class
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.registry import FAULTS, probe, register
from rumpus.project_names import Named, Names, load, names_here
from rumpus.runs.performing import find_in_working_directory
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_recipe import NotFound
from rumpus.workloads.registry import WORKLOADS, find_workload

_Say = Callable[[str, int], None]
"""Prints words, so many columns from the left."""

_YES, _NO = "[green]yes[/]", "[red]no [/]"


def list_command(arguments: argparse.Namespace) -> int:
    """Print what there is; the exit code.

    Raises:
        UsageError: the project's file has an unknown key or a wrong value.
    """
    names = names_here()
    document = catalogue() | {"own": own_names(names), "warnings": list(names.warnings)}
    if arguments.json:
        print_document(document)
        return 0
    _print(document, answers())
    return 0


def catalogue() -> dict[str, Any]:
    """What there is, as ``rumpus list --json`` prints it."""
    docker, simulated = docker_faults(), simulated_faults()
    return {
        "workloads": [_workload(workload) for workload in WORKLOADS.values()],
        "faults": [
            {
                "name": name,
                "summary": fault.summary,
                "works_on": fault.works_on,
                "available": {
                    "docker": docker[name].available,
                    "sim": simulated[name].available,
                },
                "why": {"docker": docker[name].why, "sim": simulated[name].why},
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
            }
            for mutant in SERVER_MUTANTS.values()
        ],
        "models": sorted(MODELS),
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
        "other_systems": [
            {
                "name": name,
                "system": entry.system,
                "client_image": entry.client_image,
                "faulty": entry.faulty,
                "mistake": entry.mistake,
                "expected": sorted(entry.expected),
                "weakness": entry.weakness,
                "missing": entry.missing,
            }
            for name, entry in workload.elsewhere.items()
        ],
    }


def own_names(names: Names) -> list[dict[str, Any]]:
    """What the project and libraries name. One that cannot be used has a ``problem``."""
    find_in_working_directory()
    names.find_modules()
    found = []
    for each in names.named:
        summary, problem = "", ""
        try:
            summary = _summary(names, each)
        except (UsageError, NotFound, PlanError, ValueError) as error:
            problem = str(error)
        found.append(
            {
                "kind": each.kind,
                "name": each.name,
                "reference": each.reference,
                "source": each.source,
                "workload": each.workload or None,
                "summary": summary,
                "problem": problem or None,
            }
        )
    return found


def _summary(names: Names, named: Named) -> str:
    """What something is, in a line; for a recipe, what it promises."""
    found = load(named)
    if named.kind == "workloads":
        return _workload_summary(find_workload(named.reference))
    if named.kind == "faults":
        return str(register(found, named.reference).summary)
    if named.kind == "models":
        model_class(found, named.reference)
        return (inspect.getdoc(found) or "").partition("\n")[0]
    workload = find_workload(names.workload(named.workload))
    recipe = workload.recipe_of(named.reference, named.promises)
    return f"prevents {', '.join(sorted(recipe.promises.prevents))}"


def _workload_summary(workload: Workload) -> str:
    """What its clients do, and the kinds of anomaly that its own checks report."""
    kinds = [f"{kind} ({meaning})" for kind, meaning in workload.anomalies.items()]
    reports = f"; reports {', '.join(kinds)}" if kinds else ""
    hazards = ", ".join(sorted(workload.hazards))
    return workload.summary + reports + (f"; hazards unless promised: {hazards}" if hazards else "")


def docker_faults() -> dict[str, Availability]:
    """Which faults can be injected with Docker here; without an engine, none and why."""
    ensemble = DockerEnsemble("probe")
    try:
        connect().close()  # even faults of clients need servers, and so the engine
        return probe(ensemble)
    except EnvironmentRefusal as refusal:
        return {name: Availability(available=False, why=str(refusal)) for name in FAULTS}
    finally:
        ensemble.tear_down()


def simulated_faults() -> dict[str, Availability]:
    """Which faults can be injected with simulated servers: the same on every host."""
    simulator = Simulator(0)
    network = Network(simulator)
    return probe(SimEnsemble(Cluster(simulator, network, 1), network, sleep=sleeper(simulator)))


def _print(document: dict[str, Any], console: Console) -> None:
    def say(words: str, indent: int) -> None:
        console.print(Padding(Text.from_markup(words), (0, 0, 0, indent), expand=False))

    for workload in document["workloads"]:
        _print_workload(workload, say)
    _print_faults(document["faults"], say)
    say("[bold]mutant servers[/], for rumpus run --ensemble sim --server-mutant", 0)
    for mutant in document["server_mutants"]:
        say(f"[bold]{escape(mutant['name'])}[/]: [red]they {escape(mutant['mistake'])}[/]", 2)
        if mutant["expected"]:
            shown = f"{mutant['workload']} / {mutant['recipe']}"
            say(f"shown by {shown}: {', '.join(mutant['expected'])}", 6)
    say("[bold]models[/], for rumpus check --model", 0)
    for name in document["models"]:
        say(f"{name}: {escape(MODELS[name].summary)}", 2)
    if document["own"]:
        say("[bold]not of rumpus[/]: names of this project and of libraries", 0)
    for own in document["own"]:
        of_what = f" of {own['workload']}" if own["workload"] else ""
        say(
            f"{own['kind'][:-1]} [bold]{escape(own['name'])}[/]{escape(of_what)}: "
            f"{escape(own['reference'])} ({escape(own['source'])})",
            2,
        )
        if own["problem"]:
            say(f"[red]cannot be used: {escape(own['problem'])}[/]", 6)
        else:
            say(escape(own["summary"]), 6)
    for warning in document["warnings"]:
        say(f"[yellow]warning: {escape(warning)}[/]", 0)


def _print_workload(workload: dict[str, Any], say: _Say) -> None:
    say(f"[bold]{escape(workload['name'])}[/]", 0)
    say(escape(workload["summary"]), 2)
    for recipe in workload["recipes"]:
        promises = recipe["promises"]
        say(f"[bold]{escape(recipe['name'])}[/]{_faulty(recipe)}", 2)
        say(f"prevents {', '.join(promises['prevents'])}", 6)
        if promises["wakeups"] is not None:
            say(f"wakes at most {promises['wakeups']} per release", 6)
        if promises["notes"]:
            say(f"[dim]{escape(promises['notes'])}[/]", 6)
    for recipe in workload["other_systems"]:
        how = f"on docker with {recipe['system']}"
        if recipe["client_image"]:
            how += f", by clients in containers of {recipe['client_image']}"
        say(f"[bold]{escape(recipe['name'])}[/], {how}{_faulty(recipe)}", 2)
        if recipe["weakness"]:
            say(f"[dim]cannot keep what it promises: {escape(recipe['weakness'])}[/]", 6)
        if recipe["missing"]:
            say(f"[red]{escape(recipe['missing'])}[/]", 6)


def _faulty(recipe: dict[str, Any]) -> str:
    return f" [red]faulty: {escape(recipe['mistake'])}[/]" if recipe["faulty"] else ""


def _print_faults(faults: Sequence[dict[str, Any]], say: _Say) -> None:
    say("[bold]faults[/]", 0)
    # A reason that is the same for all faults, such as a missing engine, is printed once.
    reasons = {fault["why"]["docker"] for fault in faults} - {""}
    for fault in faults:
        there = fault["available"]
        marks = "  ".join(f"{kind} {_YES if there[kind] else _NO}" for kind in ("docker", "sim"))
        why = fault["why"]["docker"] if len(reasons) > 1 else ""
        say(f"{marks}  [bold]{fault['name']}[/]: {escape(fault['summary'])}", 2)
        if why:
            say(f"[dim]{escape(why)}[/]", 6)
    if len(reasons) == 1:
        say(f"[red]{escape(reasons.pop())}[/]", 6)
