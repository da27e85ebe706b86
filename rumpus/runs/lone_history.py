"""Judging a history alone, without the rest of its run: by which promises, and how.

A history that a run wrote says in its first record what was run. For any other history the user
names the workload, or its operations show it, if only one workload has such operations.
"""

from datetime import UTC, datetime
from pathlib import Path

from rumpus.checker.history import History
from rumpus.project_names import names_here
from rumpus.recipes.promises import Promises
from rumpus.results.first_record import MOST_CLIENTS, FirstRecord, first_record
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import Judgement, judge_files
from rumpus.runs.run_files import RunFiles
from rumpus.usage_error import UsageError
from rumpus.version import __version__
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound, is_reference, unknown_recipe
from rumpus.workloads.registry import WORKLOADS, find_workload, fitting_workloads

ANY = "any"
"""Stands in place of a recipe's name where all recipes' promises of a workload are checked."""

SESSION_TIMEOUT_S = 2.0
"""The session timeout where the history does not say it: the default of ``rumpus run``."""


def judge_history(
    run: RunDirectory, workload: str | None = None, recipe: str | None = None
) -> Judgement:
    """Judge a history without the servers' logs.

    Args:
        run: where the history is.
        workload: the workload that made it; None if the history says it.
        recipe: the recipe whose promises are checked; None for the recipe that the history names,
            or, if it names none, for the promises of all sound recipes of the workload.

    Returns:
        The judgement, with a record of what is known of the run.

    Raises:
        UnreadableRun: the history is malformed, or not of that workload.
        UsageError: the workload is unknown, or the history names another than the user.
    """
    history = run.read_history()
    test = _test(run, history, workload, recipe)
    history = History(history, clients=test.clients, truncated=history.truncated)
    family = WORKLOADS.get(test.workload) or trusted_workload(test.workload)
    record = _record_of(run.history, test, history, workload, recipe)
    # The history's own word for the promises of a recipe that is not known here is on trust.
    known = None if first_record(history) is not None else record.promises
    return judge_files(RunFiles(run, record, history, changed=[]), family, known)


def _test(
    run: RunDirectory, history: History, workload: str | None, recipe: str | None
) -> FirstRecord:
    """What was run, as the history's first record says it, or else as the user says it."""
    test = first_record(history)
    if test is None:
        if history.clients > MOST_CLIENTS:
            raise UsageError(
                f"{run.history}: its processes are those of {history.clients} clients, and more "
                f"than {MOST_CLIENTS} cannot be judged"
            )
        family = _family(run.history, history, workload)
        return FirstRecord(
            workload=workload or family.name,
            recipe=recipe or ANY,
            promises=_promises(family, recipe),
            clients=history.clients,
            session_timeout=SESSION_TIMEOUT_S,
        )
    for option, asked, said in (
        ("workload", workload, test.workload),
        ("recipe", recipe, test.recipe),
    ):
        if asked is not None and asked != said:
            raise UsageError(
                f"--{option} {asked}: {run.history} says in its first record that its {option} is "
                f"{said}; leave --{option} out"
            )
    if is_reference(test.workload) and workload is None:
        raise UsageError(
            f"{run.history}: its workload is {test.workload}, code of another repository, which "
            "is not imported just because a file names it; if you trust that code, give "
            f"--workload {test.workload}"
        )
    if test.workload not in WORKLOADS and not is_reference(test.workload):
        raise UsageError(
            f"{run.history}: its workload {test.workload!r} is unknown here; known are "
            f"{', '.join(WORKLOADS)}"
        )
    return test


def trusted_workload(name: str) -> Workload:
    """The workload of this name or reference, whose code the user trusts: it is imported.

    Raises:
        UsageError: there is none.
    """
    names_here().find_modules([name])
    try:
        return find_workload(name)
    except NotFound as error:
        raise UsageError(f"--workload: {error}") from error


def _family(path: Path, history: History, named: str | None) -> Workload:
    """The workload of a history that does not name it."""
    if named is not None:
        return trusted_workload(named)
    fitting = fitting_workloads(history)
    if len(fitting) == 1:
        return WORKLOADS[fitting[0]]
    functions = sorted({call.f for call, _ in history.operations()})
    if not functions:
        raise UsageError(f"{path}: it has no operations of clients, so there is nothing to judge")
    calls = ", ".join(functions)
    if not fitting:
        raise UsageError(
            f"{path}: no workload has its operations ({calls}) with such values; --workload NAME "
            "says what is wrong with them, or judge it by a model (--model, see `rumpus list`)"
        )
    raise UsageError(
        f"{path}: it does not say which workload made it, and its operations ({calls}) are those "
        f"of several; name one with --workload {'|'.join(fitting)}"
    )


def _promises(family: Workload, recipe: str | None) -> Promises:
    """A recipe's promises, or without a recipe all that any sound recipe of the family makes."""
    if recipe is not None:
        if recipe not in family.recipes:
            raise UsageError(f"--recipe: {unknown_recipe(recipe, family.name, family.catalogue)}")
        return family.recipes[recipe].promises
    made = [
        kind.promises
        for name, kind in family.recipes.items()
        if not getattr(family.catalogue[name], "faulty", False)
    ]
    return Promises(
        prevents=frozenset().union(*(promises.prevents for promises in made)),
        wakeups=min((p.wakeups for p in made if p.wakeups is not None), default=None),
        tokens=any(promises.tokens for promises in made),
        reentrant=any(promises.reentrant for promises in made),
        fenced=any(promises.fenced for promises in made),
    )


def _record_of(
    path: Path, test: FirstRecord, history: History, workload: str | None, recipe: str | None
) -> RunRecord:
    argv = ["rumpus", "check", str(path)]
    for option, value in (("--workload", workload), ("--recipe", recipe)):
        argv += [option, value] if value is not None else []
    return RunRecord(
        run=path.name,
        rumpus=__version__,
        started=datetime.fromtimestamp(path.stat().st_mtime, UTC),
        argv=argv,
        workload=test.workload,
        recipe=test.recipe,
        promises=test.promises,
        ensemble="unknown",
        nodes=0,
        clients=history.clients,
        time_limit=(history.end - history.start) / 1e9,
        nemesis=test.nemesis,
        nemesis_interval=0,
        seed=0,
        strict=test.strict,
        session_timeout=test.session_timeout,
        tick_ms=0,
        options={"directed": test.directed},
    )
