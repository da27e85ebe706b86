"""Judges a run from its directory: everything is read back from disk."""

import contextlib
import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.every_run.errors import unimplemented
from rumpus.checker.history import History
from rumpus.checker.servers.node_files import MOST_LOGGED, NodeFiles, read_node_directory
from rumpus.checker.servers.server_truth import TRUE_TIMES, ServerTruth, merge
from rumpus.checker.servers.txnlog import Known
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.coherence import Contradictions, contradictions
from rumpus.checker.timeline.timeline import Asked, Effect, Timeline
from rumpus.checker.untrusted_file import in_utf8
from rumpus.checker.verdict import CheckResult, Verdict
from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.results.first_record import FirstRecord, first_record
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import read_regular
from rumpus.runs.server_leases import impossible_effects, server_leases
from rumpus.usage_error import UsageError
from rumpus.version import __version__
from rumpus.workloads.framework.judgement import OF_SERVERS, judge_timeline
from rumpus.workloads.framework.operation_values import check_operations
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_recipe import is_reference
from rumpus.workloads.registry import WORKLOADS

MOST_TOLD = 5
"""How many items of a list a reason names; of the rest it gives the number."""

_LYING_DISK = "file-lie"
"""The only fault after which ZooKeeper may lack what it acknowledged."""

_LARGEST_TIMES = 64 << 20  # bytes: more than a million transactions
_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


@contextlib.contextmanager
def collector_at_rest() -> Iterator[None]:
    """Disable the cyclic garbage collector in the block.

    A run is read into millions of objects without cycles. Scanning them again and again would take
    a fifth of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Judgement(NamedTuple):
    """A run that was judged."""

    record: RunRecord
    timeline: Timeline
    verdict: Verdict


def judge_run(run: RunDirectory, workload: Workload | None = None) -> Judgement:
    """Judge a run from its directory.

    Args:
        run: the directory.
        workload: what made the run, if it is a class of another repository. Code that only the
            files of a run name is never imported: they may be a stranger's.

    Raises:
        UnreadableRun: something is missing or malformed, or the run is one of another workload.
    """
    changed = run.changes()
    record = run.read_record()
    # Without an intact seal the logs may be another run's, and are not read. Sealed ones are read
    # before the history: the memory that this takes, beside the result, is free again by then.
    truth, view = None, None
    unread: list[str] = []
    if changed == [] and record.system == ZOOKEEPER:
        truth, unread = server_truth(run, record.nodes)
    elif changed == []:
        view, unread = server_leases(run, record)
    history = run.read_history()
    workload = _workload_of(run, record, workload)
    said = first_record(history)
    if said is not None and (said.workload, said.recipe) != (record.workload, record.recipe):
        raise UnreadableRun(
            run.history,
            f"a history of {said.workload} / {said.recipe}, in the directory of a run of "
            f"{record.workload} / {record.recipe}",
            "check the history alone, by another name than history.jsonl",
        )
    promises, differing = held_to(workload, record.recipe, record.promises)
    clock = record.wall_clock() if record.clock_anchors else None
    found = _contradictions(run, record, history, said, truth, clock)
    damaged = bool(changed or found.history)
    clock = None if found.clock else clock
    timeline = Timeline(
        history=history,
        promises=Promises(prevents=frozenset()) if damaged else promises,
        truth=None if found.logs else truth,
        clock=clock,
        leases=None if found.clock else view,
        line=record.line,
        path=workload.path,
        session_timeout=record.session_timeout,
        asked=Asked(
            kinds=record.nemesis,
            effects=_own_effects(run, record),
            directed=bool(record.options.get("directed")),
            punctual=isinstance(record.plan, dict) and record.plan.get("punctual") is True,
            impossible=impossible_effects(record.system, holding=workload.holding is not None),
        ),
        strict=record.strict and not damaged,
        lossy=_LYING_DISK in record.nemesis,
        damaged=damaged,
        foreign=record.system != ZOOKEEPER,
    )
    questions = [
        *_of_evidence(changed, unread, found),
        *differing,
        *questions_of_end(history),
    ]
    timeline, verdict = judge_laid_out(run.history, workload, record.recipe, timeline, questions)
    verdict.notes = _of_logs(truth)
    if _LYING_DISK in record.nemesis:
        verdict.notes.append(
            f"the servers are not held to {' and '.join(sorted(OF_SERVERS))}: their disks lied "
            f"({_LYING_DISK})"
        )
    if truth is None and view is None and changed == []:
        verdict.notes.append("no transaction logs of the servers are at hand")
    if record.interrupted:
        weigh_interruption(verdict)
    return Judgement(record, timeline, verdict)


def _workload_of(run: RunDirectory, record: RunRecord, given: Workload | None) -> Workload:
    """The workload that made a run: one of rumpus, or the given one."""
    if given is not None:
        return given
    if record.workload in WORKLOADS:
        return WORKLOADS[record.workload]
    if is_reference(record.workload):
        raise UnreadableRun(
            run.record,
            f"its workload is {record.workload}, code of another repository, which is not "
            "imported just because a file names it",
            f"if you trust that code, give --workload {record.workload}",
        )
    raise UnreadableRun(
        run.record,
        f"its workload {record.workload!r} is unknown here",
        f"there are {', '.join(WORKLOADS)}",
    )


def _own_effects(run: RunDirectory, record: RunRecord) -> set[Effect]:
    """What the faults of other repositories that a run had must have caused."""
    try:
        told = msgspec.convert(record.options.get("own_faults", {}), dict[str, Effect | None])
    except msgspec.ValidationError as error:
        raise UnreadableRun(
            run.record, f"no effects of its own faults ({error})", "restore what the run wrote"
        ) from error
    return {effect for effect in told.values() if effect is not None}


def held_to(
    workload: Workload, recipe: str, promises: Promises
) -> tuple[Promises, list[CheckResult]]:
    """The promises that a run is held to, and a check that is undecided where they are in doubt.

    A run's record names its recipe's promises. They may differ from those that the recipe makes in
    this version. Then only those made in both can be broken, and whether the rest was kept is open.

    Args:
        workload: the family.
        recipe: the recipe's name; where this version has none of it, the run's promises count.
        promises: the recipe's, by the run's own record.
    """
    kind = workload.recipes.get(recipe)
    if kind is None or kind.promises == promises:
        return promises, []
    here, told = kind.promises.prevents, promises.prevents
    if workload.is_own and here <= told:
        return promises, []  # the run may have been told to hold it to more (`--promise`)
    words = [
        *(f"{name} is missing" for name in sorted(here - told)),
        *(f"{name} is added" for name in sorted(told - here)),
    ]
    what = (
        f"the run names others than {workload.name} / {recipe} makes in rumpus {__version__} "
        f"({', '.join(words) or 'the same anomalies, but other further promises'}): check it "
        "with the rumpus that made it"
    )
    both = replace(promises, prevents=here & told)
    return both, [CheckResult(name="promises", unknown=[what])]


def _contradictions(
    run: RunDirectory,
    record: RunRecord,
    history: History,
    said: FirstRecord | None,
    truth: ServerTruth | None,
    clock: WallClock | None,
) -> Contradictions:
    """Where the parts of a run's record contradict each other."""
    found = contradictions(
        history,
        plan=record.planned(),
        truth=truth,
        clock=clock,
        lossy=_LYING_DISK in record.nemesis or record.options.get("server_mutant") is not None,
        sessions=record.system == ZOOKEEPER,
    )
    if said is not None:
        found.history += [
            f"{field} is not in {run.record.name} what it is in the history's first record"
            for field in record.differences(said)
        ]
    servers = sum(directory.is_dir() for directory in run.nodes.glob("*/"))
    if servers > record.nodes:
        found.logs.append(
            f"the run had {record.nodes} servers by {run.record.name}, and there are logs of "
            f"{servers}"
        )
    return found


def questions_of_end(history: History) -> list[CheckResult]:
    """The undecided check for a history that breaks off; none if it does not."""
    if not history.truncated:
        return []
    what = "it has no end, so it is unknown what came after its last record"
    return [CheckResult(name="history", unknown=[what])]


def _of_evidence(
    changed: list[str] | None, unread: list[str], found: Contradictions
) -> list[CheckResult]:
    """The undecided check for a missing seal, and for changed, unreadable or contradictory files.

    Without a seal the history may still show a violation. Files that were changed show nothing.
    """
    unknown = []
    if changed is None:
        unknown.append("the run has no seal, so it did not come to its end, or somebody removed it")
    elif changed:
        unknown.append(
            f"since the run was sealed {_few(changed)}; run it again, or restore what it wrote"
        )
    unknown += unread
    if words := list(found):
        unknown.append(f"the parts of the record contradict each other: {_few(words)}")
    return [CheckResult(name="evidence", unknown=unknown)] if unknown else []


def _of_logs(truth: ServerTruth | None) -> list[str]:
    """What the servers' logs leave open, in words."""
    if truth is None:
        return []
    found = [
        *truth.reasons,
        *truth.notes,
        *(
            f"the tree of {each.name} was not compared with the others ({each.unread})"
            for each in truth.replicas
            if each.differing is None
        ),
        *(
            f"threads of {each.name} ended with an exception, {each.own_words.severe} in all"
            for each in truth.replicas
            if each.own_words.severe
        ),
    ]
    more = [f"and {len(found) - MOST_TOLD} more"] * (len(found) > MOST_TOLD)
    return [f"the servers' logs: {what}" for what in [*found[:MOST_TOLD], *more]]


def _few(words: list[str]) -> str:
    more = words[MOST_TOLD:]
    rest = [f"and {len(more)} more"] if more else []
    return ", ".join([*words[:MOST_TOLD], *rest])


def judge_laid_out(
    path: Path,
    workload: Workload,
    recipe: str,
    timeline: Timeline,
    questions: Sequence[CheckResult] = (),
) -> tuple[Timeline, Verdict]:
    """Have a workload judge a timeline, once it is known that it can.

    Args:
        path: the history's file, for errors.
        workload: which family it is.
        recipe: whose promises they are; this version need not know it.
        timeline: the run.
        questions: checks that are undecided already.

    Returns:
        The timeline as it was judged, and the verdict.

    Raises:
        UnreadableRun: the history has operations or values that the workload does not have; the
            message names the record.
    """
    try:
        check_operations(timeline.history, workload.name, workload.shapes)
    except ValueError as error:
        raise _foreign(path, workload, error) from error
    if lacking := unimplemented(timeline.history):
        timeline = replace(timeline, promises=Promises(prevents=frozenset()), strict=False)
        questions = [*questions, CheckResult(name="requests", unknown=[lacking])]
    timeline = workload.lay_out(timeline)
    try:
        return timeline, judge_timeline(timeline, workload, recipe, questions)
    except WrongOperations as error:  # each value is right, but they do not fit together
        raise _foreign(path, workload, error) from error
    except Exception as error:
        if WORKLOADS.get(workload.name) is workload:
            raise
        raise UsageError(
            f"{workload.build}: its checks fail ({type(error).__name__}: {error}); -v shows where"
        ) from error


def _foreign(path: Path, workload: Workload, error: Exception) -> UnreadableRun:
    return UnreadableRun(
        path, f"no history of {workload.name} ({error})", "see docs/history-format.md"
    )


def weigh_interruption(verdict: Verdict) -> None:
    """Let only a violation stand: an interrupted run that shows none is inconclusive."""
    if verdict.outcome == "violation":
        return
    if verdict.outcome == "valid":
        verdict.valid, verdict.outcome = "unknown", "inconclusive"
    verdict.reasons.insert(0, "the run was interrupted")


def server_truth(run: RunDirectory, nodes: int) -> tuple[ServerTruth | None, list[str]]:
    """What the gathered logs of the servers say, and in words what could not be read.

    Raises:
        UnreadableRun: the true times of the transactions cannot be read.
    """
    files: dict[str, NodeFiles] = {}
    unread = []
    known = Known()
    room = MOST_LOGGED
    for directory in sorted(run.nodes.glob("*/")):
        name = in_utf8(Path(directory.name))
        try:
            files[name] = read_node_directory(directory, known, room)
        except (ValueError, OSError) as error:
            unread.append(f"the logs of {name} cannot be read: {error}")
        else:
            room -= sum(log.offset for log in files[name].logs)
    del known  # only needed while reading; it takes much memory
    if not any(node.logs for node in files.values()):
        return None, unread
    return merge(files, nodes, _true_times(run.nodes / TRUE_TIMES)), unread


def _true_times(path: Path) -> dict[int, int] | None:
    """The true times of transactions, where the servers' clocks were set wrong on purpose.

    Raises:
        UnreadableRun: they cannot be read.
    """
    if not path.exists():
        return None
    document = read_regular(path, "read the true times", _LARGEST_TIMES)
    try:
        return msgspec.json.decode(document, type=dict[int, _Milliseconds])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRun(
            path, f"no times of transactions ({error})", "restore what the run wrote"
        ) from error
