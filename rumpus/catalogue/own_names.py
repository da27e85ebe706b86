"""What the names of a project and of libraries stand for: the modules are imported to see it."""

import inspect
from typing import Any

from rumpus.model_choice import model_class
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.registry import register
from rumpus.project_names import Named, Names, load
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound
from rumpus.workloads.registry import find_workload


def own_names(names: Names) -> list[dict[str, Any]]:
    """What the project and libraries name. One that cannot be used has a ``problem``."""
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
