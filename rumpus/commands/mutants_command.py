"""``rumpus mutants``: whether every mutant (recipe or server with a known mistake) is caught."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rumpus.campaigns.case import Case, check_place_of_cases
from rumpus.campaigns.mutant_cases import SMALL_CROWD, MutantCase, case_path, make_case
from rumpus.campaigns.mutant_hunt import Hunt, Mutant, Told, hunt, survey
from rumpus.campaigns.run_process import program_for
from rumpus.campaigns.tasks import processes
from rumpus.consoles import answers, notices, print_document
from rumpus.exit_codes import ENVIRONMENT, campaign_exit_code, ending
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.scratch import scratch
from rumpus.project_names import Names, names_here
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.results.escapes import escaped
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound
from rumpus.workloads.registry import WORKLOADS, find_workload

_Found = TypeVar("_Found", Hunt, MutantCase)

LAST_WORDS = 2000
SMALL_PLAN = 2
"""Number of faults of a small case."""

_STYLES = {
    "caught": "green",
    "kept": "green",
    "made": "green",
    "weak": "yellow",
    "missed": "bold red",
    "failed": "bold red",
}


def mutants_command(arguments: argparse.Namespace) -> int:
    """Hunt all mutants, or those of one family (workload); the exit code.

    1 if one is not caught, else the gravest exit code of a run that could not be performed, but at
    least 3 if not all were hunted; else 0. With ``--cases`` make the case of each instead, and 1 if
    one has none.

    Raises:
        UsageError: there is no such family, or it has no mutants.
        StoreError: cases cannot be written.
    """
    mutants = chosen(arguments.family, servers=arguments.servers)
    if arguments.cases is not None:
        check_place_of_cases(arguments.cases)
        return _make_cases(mutants, arguments)
    runs = _Runs()

    def hunted(mutant: Mutant) -> Hunt:
        first = arguments.seed
        if arguments.seeds is not None:
            return survey(mutant, runs.perform, seeds=arguments.seeds, first_seed=first)
        return hunt(mutant, runs.perform, budget=arguments.budget, first_seed=first)

    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:

        def end() -> None:
            pool.shutdown(wait=False, cancel_futures=True)
            runs.end()

        hunts = [pool.submit(hunted, mutant) for mutant in mutants]
        found, interrupted = _told(hunts, _progress, end)
    end_of_all = _ending(mutants, found, {"weak", "missed"}, interrupted=interrupted)
    left_out = gaps(arguments.family) if arguments.servers else []
    if arguments.json:
        print_document(document(found) | _gaps_document(left_out) | end_of_all)
    else:
        _print(found, answers())
        _print_gaps(left_out, answers())
    return int(end_of_all["exit_code"])


def _told(
    making: Sequence[Future[_Found]],
    progress: Callable[[_Found, int, int], Text],
    end: Callable[[], None],
) -> tuple[list[_Found], bool]:
    """What is found of each mutant, told as it comes; and whether that was interrupted.

    ``end`` makes the rest end.
    """
    found: list[_Found] = []
    try:
        for number, each in enumerate(as_completed(making), 1):
            found.append(each.result())
            notices().print(progress(found[-1], number, len(making)), soft_wrap=True)
    except BaseException as error:
        end()
        if not _is_interruption(error, found, len(making)):
            raise
        return found, True
    return found, False


def _ending(
    mutants: Sequence[Mutant], found: list[_Found], failed: Collection[str], *, interrupted: bool
) -> dict[str, Any]:
    """Put what was found into the mutants' order; the end of the document, with the exit code.

    ``failed``: the outcomes that fail.
    """
    found.sort(key=lambda each: mutants.index(each.mutant))
    code = campaign_exit_code(
        failed=any(each.outcome in failed for each in found),
        errors=[each.exit_code for each in found if each.outcome == "failed"],
        undecided=interrupted,
    )
    return {"unfinished": _unfinished(mutants, found), **ending(code, interrupted=interrupted)}


def _is_interruption(error: BaseException, found: Sequence[object], of: int) -> bool:
    """Whether a command was interrupted that has something to tell; if so, says it."""
    if not isinstance(error, KeyboardInterrupt) or not found:
        return False
    notices().print(Text(f"interrupted, after {len(found)} of {of} mutants"), soft_wrap=True)
    return True


def _unfinished(
    mutants: Sequence[Mutant], found: Sequence[Hunt | MutantCase]
) -> list[dict[str, str]]:
    """The mutants of which nothing is known, as the command was interrupted."""
    known = [each.mutant for each in found]
    left = [each for each in mutants if each not in known]
    return [{"family": each.family, "mutant": each.name} for each in left]


def chosen(family: str | None, *, servers: bool = False) -> list[Mutant]:
    """All mutants, or those of one family, in the order of ``rumpus list``.

    Args:
        family: its name, or ``package.module:Class`` or a project's name for a workload of another
            repository; None for all that are here.
        servers: whether to return mutant servers instead of mutant recipes.

    Raises:
        UsageError: there is no such family, or it has no mutants.
    """
    names = names_here()
    name = None if family is None else names.workload(family)
    if servers:
        mutants = [
            Mutant(each.workload, each.name, each.expected, each.recipe, each.options)
            for each in SERVER_MUTANTS.values()
            if name in (None, each.workload) and each.expected
        ]
        if not mutants:
            raise UsageError(f"there are no mutant servers that the workload {family} shows")
        return mutants
    families = {name: _found(names, name)} if name else WORKLOADS
    mutants = [
        Mutant(known_as, recipe, entry.expected, options=entry.options)
        for known_as, workload in families.items()
        for recipe, entry in workload.catalogue.items()
        if isinstance(entry, CatalogueEntry) and entry.faulty
    ]
    if not mutants:
        raise UsageError(
            f"the workload {family} has no mutants: enter them in its catalogue, as "
            "rumpus.mutant(recipe, mistake, expected), with the anomalies that must be found"
        )
    return mutants


def gaps(family: str | None) -> list[ServerMutant]:
    """The mutant servers of a family, or of all, that no workload shows: they are not hunted.

    Raises:
        UsageError: there is no such family.
    """
    name = None if family is None else names_here().workload(family)
    return [each for each in SERVER_MUTANTS.values() if each.gap and name in (None, each.workload)]


def _gaps_document(left_out: Sequence[ServerMutant]) -> dict[str, Any]:
    """The gaps as ``rumpus mutants --servers --json`` prints them."""
    return {
        "gaps": [
            {"family": each.workload, "mutant": each.name, "why": each.gap} for each in left_out
        ]
    }


def _print_gaps(left_out: Sequence[ServerMutant], console: Console) -> None:
    if left_out:
        console.print(f"not hunted, as no workload shows them: {len(left_out)}", style="yellow")
    for each in left_out:
        console.print(Text(f"{each.workload} / {each.name}: {each.gap}"), soft_wrap=True)


def _found(names: Names, name: str) -> Workload:
    names.find_modules([name])
    try:
        return find_workload(name)
    except NotFound as error:
        raise UsageError(str(error)) from error


def document(found: Sequence[Hunt]) -> dict[str, Any]:
    """The hunts as ``rumpus mutants --json`` prints them. Times are seconds."""
    return {
        "caught": sum(each.outcome == "caught" for each in found),
        "mutants": [
            {
                "family": each.mutant.family,
                "mutant": each.mutant.name,
                "outcome": each.outcome,
                "anomalies": dict(sorted(each.anomalies.items())),
                "expected": sorted(each.mutant.expected),
                "unseen": sorted(each.unseen),
                "runs": each.runs,
                "caught_in": each.caught,
                "seconds": round(each.seconds, 1),
                "command": each.command or None,
                "why": each.words or None,
            }
            for each in found
        ],
    }


def _make_cases(mutants: Sequence[Mutant], arguments: argparse.Namespace) -> int:
    """Make the cases of mutants; the exit code.

    Raises:
        UsageError: a number of seeds was asked for, or a file in the directory is no case.
    """
    if arguments.seeds is not None:
        raise UsageError("--cases and --seeds exclude each other: one run is enough for a case")
    # Each thread makes a case; its runs are performed by a process.
    with processes(arguments.jobs) as executor, ThreadPoolExecutor(arguments.jobs) as threads:
        making = [
            threads.submit(
                make_case,
                mutant,
                case_path(arguments.cases, mutant),
                executor,
                budget=arguments.budget,
                shrink_budget=arguments.shrink,
                first_seed=arguments.seed,
            )
            for mutant in mutants
        ]

        def end() -> None:
            threads.shutdown(wait=False, cancel_futures=True)
            executor.shutdown(wait=False, cancel_futures=True)

        found, interrupted = _told(making, _case_progress, end)
    end_of_all = _ending(mutants, found, {"missed"}, interrupted=interrupted)
    if arguments.json:
        print_document(_cases_document(found) | end_of_all)
    else:
        have = [each.case for each in found if each.case is not None]
        small = sum(map(_is_small, have))
        answers().print(
            f"{len(have)} of {len(found)} have a case; {small} of these have at most "
            f"{SMALL_PLAN} faults and {SMALL_CROWD} clients",
            style="green" if len(have) == len(found) else "bold red",
        )
    return int(end_of_all["exit_code"])


def _is_small(case: Case) -> bool:
    clients = case.task().settings.clients
    return len(case.plan.entries) <= SMALL_PLAN and clients <= SMALL_CROWD


def _cases_document(found: Sequence[MutantCase]) -> dict[str, Any]:
    """The cases as ``rumpus mutants --cases --json`` prints them. Times are seconds."""
    return {
        "cases": sum(each.case is not None for each in found),
        "mutants": [
            {
                "family": each.mutant.family,
                "mutant": each.mutant.name,
                "outcome": each.outcome,
                "case": None if each.case is None else str(each.path),
                "anomaly": None if each.case is None else str(each.case.expects),
                "faults": None if each.case is None else [e.kind for e in each.case.plan.entries],
                "clients": None if each.case is None else each.case.task().settings.clients,
                "runs": each.runs,
                "seconds": round(each.seconds, 1),
                "why": each.words or None,
            }
            for each in found
        ],
    }


def _case_progress(each: MutantCase, number: int, of: int) -> Text:
    words = Text(f"{number:3}/{of}  {each.mutant.family} / {each.mutant.name}: ")
    words.append(each.outcome, style=_STYLES[each.outcome])
    words.append(f", after {each.runs} runs, {each.seconds:.1f} s")
    if each.case is not None:
        faults, clients = len(each.case.plan.entries), each.case.task().settings.clients
        words.append(f": {each.case.expects} ({faults} faults, {clients} clients)")
    elif each.words:
        words.append(f": {each.words}")
    return words


class _Runs:
    """Performs runs, each in a process of its own."""

    def __init__(self) -> None:
        self._going: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._over = False

    def end(self) -> None:
        """Kill the runs that are still going on; from now on no run begins."""
        with self._lock:
            self._over = True
            going = list(self._going)
        for process in going:
            process.kill()  # it has no children, and its files are in a temporary directory
        for process in going:
            process.wait()

    def perform(self, mutant: Mutant, seed: int, kinds: str) -> Told:
        """Perform one run; its result. A run that `end` stopped has a signal's exit code."""
        command = [sys.executable, "-P", "-c", program_for(os.getpid()), *mutant.words(seed, kinds)]
        try:
            with scratch("mutants") as directory:
                return self._perform([*command, "--runs", str(directory), "--json"])
        except EnvironmentRefusal as refusal:
            return Told(ENVIRONMENT, words=str(refusal))
        except OSError as error:
            return Told(ENVIRONMENT, words=f"no process for a run: {error}")

    def _perform(self, command: Sequence[str]) -> Told:
        with self._lock:
            if self._over:
                return Told(-signal.SIGKILL)
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
            )
            self._going.add(process)
        answer, said = process.communicate()
        with self._lock:
            self._going.discard(process)
        return told(process.returncode, answer, said)


def told(exit_code: int, answer: bytes, said: bytes) -> Told:
    """The result of a run, from its exit code, its JSON document and its error output."""
    if exit_code not in (0, 1, 3):
        return Told(exit_code, words=said.decode(errors="replace")[-LAST_WORDS:].strip())
    document = json.loads(answer)
    broken = {each["kind"] for each in document["anomalies"] if each["promised"]}
    return Told(exit_code, frozenset(broken), document["blamed"])


def _progress(each: Hunt, number: int, of: int) -> Text:
    name = f"{each.mutant.family} / {each.mutant.name}"
    words = Text(f"{number:3}/{of}  {name}: ")
    words.append(each.outcome, style=_STYLES[each.outcome])
    words.append(f", in {_share(each)} runs, {each.seconds:.1f} s")
    if each.anomalies:
        words.append(f", by {_counted(each)}")
    if each.outcome == "failed":
        words.append(f"; a run could not be performed: {each.words}")
    elif each.unseen:
        words.append(f"; never seen: {', '.join(sorted(each.unseen))}")
    return words


def _never_seen(each: Hunt) -> str:
    return "" if each.outcome == "failed" else ", ".join(sorted(each.unseen))


def _share(each: Hunt) -> str:
    return f"{each.caught} of {each.runs}"


def _counted(each: Hunt) -> str:
    """The broken promises, expected ones first, each with the number of its runs."""
    foreign = set(each.anomalies) - each.mutant.expected
    ordered = sorted(each.anomalies, key=lambda kind: (kind in foreign, kind))
    return ", ".join(f"{kind} {each.anomalies[kind]}" for kind in ordered)


def _print(found: Sequence[Hunt], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for heading, justify in (("family", "left"), ("mutant", "left"), ("outcome", "left")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type] # a literal
    table.add_column("caught in", justify="right", no_wrap=True)
    table.add_column("by", min_width=20)
    some_unseen = any(each.unseen and each.outcome != "failed" for each in found)
    if some_unseen:
        table.add_column("never seen")
    table.add_column("seconds", justify="right", no_wrap=True)
    for each in found:
        table.add_row(
            Text(escaped(each.mutant.family)),
            Text(escaped(each.mutant.name)),
            Text(each.outcome, style=_STYLES[each.outcome]),
            _share(each),
            Text(escaped(_counted(each))),
            *([Text(escaped(_never_seen(each)))] if some_unseen else []),
            f"{each.seconds:.1f}",
        )
    console.print(table)
    for each in found:
        if each.outcome == "failed":
            console.print(
                Text(f"{each.mutant.family} / {each.mutant.name}: {each.words}"), soft_wrap=True
            )
    missed = [each for each in found if each.outcome != "caught"]
    caught = len(found) - len(missed)
    console.print(f"{caught} of {len(found)} caught", style="bold red" if missed else "green")
