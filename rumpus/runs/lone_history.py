"""A history that came alone, without the rest of its run: which promises it is held to, and how.

A history that a run wrote says in its first record what was run. Of others the user says it, or
their operations do where these are the operations of one workload only.
"""

from datetime import UTC, datetime
from pathlib import Path

from rumpus.checker.history import History
from rumpus.checker.verdict import Verdict
from rumpus.recipes.promises import Promises
from rumpus.results.first_record import MOST_CLIENTS, FirstRecord, first_record
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import held_to, judge_evidence, questions_of_end
from rumpus.usage_error import UsageError
from rumpus.version import __version__
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS, fitting_workloads

ANY = "any"
"""What stands for a recipe's name where a history is held to the promises of all of a family."""

SESSION_TIMEOUT_S = 2.0
"""That of clients whose history does not say it: the default of ``rumpus run``."""


def judge_history(
    run: RunDirectory, workload: str | None = None, recipe: str | None = None
) -> tuple[RunRecord, History, Verdict]:
    """Judge a history without the servers' logs.

    Args:
        run: where it lies.
        workload: which workload made it; None if the history says it.
        recipe: whose promises it is held to; None for those that it names itself, or else for all
            that any sound recipe of the workload makes.

    Returns:
        A record that says of it what can be said, the history, the verdict.

    Raises:
        UnreadableRun: it is malformed, or not that workload's.
        UsageError: nobody says which workload made it, or two say different things.
    """
    history = run.read_history()
    test = _test(run, history, workload, recipe)
    history = History(history, clients=test.clients, truncated=history.truncated)
    family = WORKLOADS[test.workload]
    promises, differing = held_to(family, test.recipe, test.promises)
    evidence = Evidence(
        history=history,
        promises=promises,
        kinds=test.nemesis,
        directed=test.directed,
        strict=test.strict,
        path=family.path,
        session_timeout=test.session_timeout,
    )
    # Only rumpus itself ends a history by a record; one that it wrote says what was run.
    ending = questions_of_end(history) if first_record(history) is not None else []
    verdict = judge_evidence(run.history, family, test.recipe, evidence, [*differing, *ending])
    return _record_of(run.history, test, history, workload, recipe), history, verdict


def _test(
    run: RunDirectory, history: History, workload: str | None, recipe: str | None
) -> FirstRecord:
    """What was run: in the history's own words, or in the user's."""
    test = first_record(history)
    if test is None:
        if history.clients > MOST_CLIENTS:
            raise UsageError(
                f"{run.history}: its processes are those of {history.clients} clients, and more "
                f"than {MOST_CLIENTS} cannot be judged"
            )
        family = _family(run.history, history, workload)
        return FirstRecord(
            workload=family.name,
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
    if test.workload not in WORKLOADS:
        raise UsageError(
            f"{run.history}: its workload {test.workload!r} is unknown here; known are "
            f"{', '.join(WORKLOADS)}"
        )
    return test


def _family(path: Path, history: History, named: str | None) -> Workload:
    """The workload that made a history which does not say it."""
    if named is not None:
        if named not in WORKLOADS:
            raise UsageError(
                f"--workload: unknown workload {named!r}; there are {', '.join(WORKLOADS)}"
            )
        return WORKLOADS[named]
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
    """A recipe's promises, or what any of the family's sound recipes promises."""
    if recipe is not None:
        if recipe not in family.recipes:
            raise UsageError(
                f"--recipe: unknown recipe {recipe!r} of workload {family.name}; there are "
                f"{', '.join(family.recipes)}"
            )
        return family.recipes[recipe].promises
    made = [each.recipe.promises for each in family.catalogue.values() if not each.faulty]
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
