"""From a run's directory to its verdict: reads everything back from disk."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from checker.history import History, final_phase
from checker.measures import measure
from checker.node_files import NodeFiles, read_node_directory
from checker.server_truth import TRUE_TIMES, ServerTruth, merge
from checker.verdict import TOLD_BY_LOGS, CheckResult, Requirement, Verdict, judge
from recipes.promises import Promises
from results.first_record import first_record
from results.record import RunRecord
from results.run_directory import RunDirectory
from results.store_error import UnreadableRun
from rumpus.version import __version__
from workloads.judgement import Evidence
from workloads.operation_values import check_operations
from workloads.registry import WORKLOADS
from workloads.workload import Workload


def judge_run(run: RunDirectory) -> tuple[RunRecord, History, Verdict]:
    """Judge a run from its directory.

    Raises:
        UnreadableRun: something is missing or malformed.
    """
    changed = run.changes()
    record = run.read_record()
    history = run.read_history()
    workload = WORKLOADS.get(record.workload)
    if workload is None:
        raise UnreadableRun(
            run.record,
            f"its workload {record.workload!r} is unknown here",
            f"known are {', '.join(WORKLOADS)}",
        )
    said = first_record(history)
    if said is not None and (said.workload, said.recipe) != (record.workload, record.recipe):
        raise UnreadableRun(
            run.history,
            f"a history of {said.workload} / {said.recipe}, in the directory of a run of "
            f"{record.workload} / {record.recipe}",
            "check the history alone, by another name than history.jsonl",
        )
    promises, differing = held_to(workload, record.recipe, record.promises)
    # Logs that nobody can vouch for may be another run's.
    truth, problems = server_truth(run, record.nodes) if changed == [] else (None, [])
    verdict = judge_evidence(
        run.history,
        workload,
        record.recipe,
        Evidence(
            history=history,
            promises=Promises(prevents=frozenset()) if changed else promises,
            truth=truth,
            clock=record.wall_clock() if record.clock_anchors else None,
            line=record.line,
            kinds=record.nemesis,
            directed=bool(record.options.get("directed")),
            strict=record.strict and not changed,
            path=workload.path,
            session_timeout=record.session_timeout,
        ),
        questions=[*_of_seal(changed), *differing, *questions_of_end(history)],
    )
    if verdict.outcome in ("unknown", "inconclusive"):
        verdict.reasons += problems
        if truth is not None:
            verdict.reasons += [
                f"the servers' logs: {what}" for what in truth.reasons + truth.notes
            ]
    if record.interrupted:
        weigh_interruption(verdict)
    return record, history, verdict


def held_to(
    workload: Workload, recipe: str, promises: Promises
) -> tuple[Promises, list[CheckResult]]:
    """The promises that a run is held to, and what they leave open.

    Promises are the recipe's. Where those that the run names and those of the recipe as it is known
    here differ, only what both prevent can be broken, and nobody can say that the rest was kept.

    Args:
        workload: the family.
        recipe: the recipe's name; where it is not known here, the run's promises count.
        promises: what the recipe promised by the run's own record.
    """
    kind = workload.recipes.get(recipe)
    if kind is None or kind.promises == promises:
        return promises, []
    here, told = kind.promises.prevents, promises.prevents
    words = [
        *(f"{name} is missing" for name in sorted(here - told)),
        *(f"{name} is one more" for name in sorted(told - here)),
    ]
    what = (
        f"the run names others than {workload.name} / {recipe} makes in rumpus {__version__} "
        f"({', '.join(words) or 'not what it prevents, the rest'}): check it with the rumpus that "
        "it was made by"
    )
    both = replace(promises, prevents=here & told)
    return both, [CheckResult(name="promises", unknown=[what])]


def questions_of_end(history: History) -> list[CheckResult]:
    """What is open where a run's history breaks off."""
    if not history.truncated:
        return []
    what = "it has no end, so nobody can tell what came after its last record"
    return [CheckResult(name="history", unknown=[what])]


def _of_seal(changed: list[str] | None) -> list[CheckResult]:
    """What a run's seal leaves open.

    Of a run without one its history may still show a violation. What was changed shows nothing.
    """
    if changed is None:
        what = "the run has no seal, so it did not come to its end, or somebody removed it"
    elif changed:
        what = f"since the run was sealed {_few(changed)}; run it again, or restore what it wrote"
    else:
        return []
    return [CheckResult(name="evidence", unknown=[what])]


def _few(changed: list[str]) -> str:
    most = 5
    rest = [f"{len(changed) - most} more things happened to it"] if len(changed) > most else []
    return ", ".join([*changed[:most], *rest])


def judge_evidence(
    path: Path,
    workload: Workload,
    recipe: str,
    evidence: Evidence,
    questions: Sequence[CheckResult] = (),
) -> Verdict:
    """Have a workload judge what there is, and leave open what that cannot tell.

    Args:
        path: the history's file, for errors.
        workload: which family it is.
        recipe: whose promises they are; need not be one that is known here.
        evidence: what there is.
        questions: what is open already.

    Raises:
        UnreadableRun: the history has operations or values that the workload has not; the message
            names the record.
    """
    try:
        check_operations(evidence.history, workload.name)
    except ValueError as error:
        raise UnreadableRun(
            path, f"no history of {workload.name} ({error})", "see docs/history-format.md"
        ) from error
    verdict = workload.judge(evidence)
    promised = evidence.promises.prevents
    open_questions = []
    untold = sorted(promised & TOLD_BY_LOGS)
    if untold and (evidence.truth is None or evidence.clock is None):
        what = f"without these nobody can rule out {', '.join(untold)}"
        open_questions.append(CheckResult(name="the servers' logs", unknown=[what]))
    if final_phase(evidence.history) is None:
        asked = Requirement(name="final phase, to ask who can proceed", needed=1, observed=0)
        open_questions.append(CheckResult(name="final phase", requirements=[asked]))
    if questions or open_questions:
        checks = [*questions, *verdict.checks, *open_questions]
        verdict = judge(checks, promised, strict=evidence.strict)
    made = workload.recipes.get(recipe)
    if workload.plain and made is not None and not made.faulty:
        verdict.blamed = "servers"
    verdict.measures = measure(
        evidence.history,
        workload.words,
        contended=workload.contended,
        per_release=verdict.stats("herd").get("per_release"),
    )
    return verdict


def weigh_interruption(verdict: Verdict) -> None:
    """What an interrupted run did not show it did not show: only a violation stands."""
    if verdict.outcome == "violation":
        return
    if verdict.outcome == "valid":
        verdict.valid, verdict.outcome = "unknown", "inconclusive"
    verdict.reasons.insert(0, "the run was interrupted")


def server_truth(run: RunDirectory, nodes: int) -> tuple[ServerTruth | None, list[str]]:
    """What the gathered logs of the servers say, and in words what could not be read."""
    files: dict[str, NodeFiles] = {}
    problems = []
    for directory in sorted(run.nodes.glob("*/")):
        try:
            files[directory.name] = read_node_directory(directory)
        except (ValueError, OSError) as error:
            problems.append(f"the logs of {directory.name} cannot be read: {error}")
    if not any(node.logs for node in files.values()):
        return None, [*problems, "no transaction logs of the servers are at hand"]
    times = run.nodes / TRUE_TIMES
    true_times = (
        msgspec.json.decode(times.read_bytes(), type=dict[int, int]) if times.exists() else None
    )
    return merge(files, nodes, true_times), problems
