"""``rumpus list``: workloads, recipes with their promises, faults and where they work, models.

What rumpus has is read from an index; what a project names is imported.
"""

import argparse
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from rumpus.catalogue.index import index
from rumpus.catalogue.page import Page, Piece
from rumpus.consoles import answers, print_document
from rumpus.harness.docker.engine_place import reach
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.project_names import Names, names_here
from rumpus.recipes.other_systems import OtherSystemEntry

_YES, _NO = ("yes", "green"), ("no ", "red")


def list_command(arguments: argparse.Namespace) -> int:
    """Print what there is; the exit code.

    Raises:
        UsageError: the project's file has an unknown key or a wrong value.
    """
    names = names_here()
    document = catalogue() | {"own": _own(names), "warnings": list(names.warnings)}
    if arguments.json:
        print_document(document)
        return 0
    answers().print(_page(document), end="", soft_wrap=True)
    return 0


def catalogue() -> dict[str, Any]:
    """What there is, as ``rumpus list --json`` prints it."""
    known = index()
    return {
        "workloads": [_workload(each) for each in known["workloads"]],
        "faults": _faults(known["faults"]),
        "server_mutants": known["server_mutants"],
        "models": [*known["models"]],
    }


def _workload(known: Mapping[str, Any]) -> dict[str, Any]:
    """A workload of the index, with what this host lacks for its recipes on other systems."""
    elsewhere = []
    for recipe in known["other_systems"]:
        said = dict(recipe)
        library, extra = said.pop("library"), said.pop("extra")
        entry = OtherSystemEntry("", recipe["system"], library, extra=extra)
        elsewhere.append(said | {"missing": entry.missing})
    return {**known, "other_systems": elsewhere}


def _faults(known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The faults of the index; without an engine none can be injected with Docker, and why."""
    try:
        reach()  # even faults of clients need servers, and so the engine
    except EnvironmentRefusal as refusal:
        return [
            {
                **each,
                "available": {**each["available"], "docker": False},
                "why": {**each["why"], "docker": str(refusal)},
            }
            for each in known
        ]
    return [*known]


def _own(names: Names) -> list[dict[str, Any]]:
    """What the project and libraries name."""
    if not names.named:
        return []
    from rumpus.catalogue.own_names import own_names  # noqa: PLC0415 - slow to import

    return own_names(names)


def _page(document: Mapping[str, Any]) -> Page:
    """The document for people: sound recipes first, those with a known mistake after them."""
    page = Page()
    for workload in document["workloads"]:
        _add_workload(page, workload)
    _add_faults(page, document["faults"])
    page.say(0, ("mutant servers", "bold"), ", for rumpus run --ensemble sim --server-mutant")
    for mutant in document["server_mutants"]:
        page.say(2, (mutant["name"], "bold"), ": ", (f"they {mutant['mistake']}", "red"))
        if mutant["expected"]:
            shown = f"{mutant['workload']} / {mutant['recipe']}"
            page.say(6, f"shown by {shown}: {', '.join(mutant['expected'])}")
        if mutant["gap"]:
            page.say(6, (f"a gap, shown by nothing: {mutant['gap']}", "yellow"))
    page.say(0, ("models", "bold"), ", for rumpus check --model")
    for name, summary in index()["models"].items():
        page.say(2, f"{name}: {summary}")
    _add_own(page, document["own"])
    for warning in document["warnings"]:
        page.say(0, (f"warning: {warning}", "yellow"))
    return page


def _add_workload(page: Page, workload: Mapping[str, Any]) -> None:
    page.say(0, (workload["name"], "bold"))
    page.say(2, workload["summary"])
    for recipe in sorted(workload["recipes"], key=itemgetter("faulty")):
        promises = recipe["promises"]
        page.say(2, (recipe["name"], "bold"), *_faulty(recipe))
        page.say(6, f"prevents {', '.join(promises['prevents'])}")
        if promises["wakeups"] is not None:
            page.say(6, f"wakes at most {promises['wakeups']} per release")
        if promises["notes"]:
            page.say(6, (promises["notes"], "dim"))
    for reference in workload["of_kazoo"]:
        page.say(2, (reference, "bold"), ", kazoo's class as it is")
    for recipe in sorted(workload["other_systems"], key=itemgetter("faulty")):
        how = f", on docker with {recipe['system']}"
        if recipe["client_image"]:
            how += f", by clients in containers of {recipe['client_image']}"
        page.say(2, (recipe["name"], "bold"), how, *_faulty(recipe))
        if recipe["weakness"]:
            page.say(6, (f"cannot keep what it promises: {recipe['weakness']}", "dim"))
        if recipe["missing"]:
            page.say(6, (recipe["missing"], "red"))


def _faulty(recipe: Mapping[str, Any]) -> list[Piece]:
    return [" ", (f"faulty: {recipe['mistake']}", "red")] if recipe["faulty"] else []


def _add_faults(page: Page, faults: Sequence[Mapping[str, Any]]) -> None:
    page.say(0, ("faults", "bold"))
    # Each reason is printed once; one for all faults, such as a missing engine, at the end.
    reasons = {fault["why"]["docker"] for fault in faults} - {""}
    told = {""}
    for fault in faults:
        marks: list[Piece] = []
        for world in ("docker", "sim"):
            marks += [f"{world} ", _YES if fault["available"][world] else _NO, "  "]
        page.say(2, *marks, (fault["name"], "bold"), f": {fault['summary']}")
        why = fault["why"]["docker"]
        if len(reasons) > 1 and why not in told:
            page.say(6, (why, "dim"))
            told.add(why)
    if len(reasons) == 1:
        page.say(6, (reasons.pop(), "red"))
    else:
        page.say(2, "`rumpus doctor` tries which of them Docker allows on this host")


def _add_own(page: Page, named: Sequence[Mapping[str, Any]]) -> None:
    if named:
        page.say(0, ("not of rumpus", "bold"), ": names of this project and of libraries")
    for own in named:
        of_what = f" of {own['workload']}" if own["workload"] else ""
        reference = f"{of_what}: {own['reference']} ({own['source']})"
        page.say(2, f"{own['kind'][:-1]} ", (own["name"], "bold"), reference)
        if own["problem"]:
            page.say(6, (f"cannot be used: {own['problem']}", "red"))
        else:
            page.say(6, own["summary"])
