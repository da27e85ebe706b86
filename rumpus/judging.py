"""From a run's directory to its verdict: reads everything back from disk."""

from pathlib import Path

import msgspec

from checker.history import History, final_phase
from checker.measures import measure
from checker.node_files import NodeFiles, read_node_directory
from checker.server_truth import TRUE_TIMES, ServerTruth, merge
from checker.verdict import TOLD_BY_LOGS, CheckResult, Requirement, Verdict, judge
from results.first_record import first_record
from results.record import RunRecord
from results.run_directory import RunDirectory
from results.store_error import UnreadableRun
from workloads.judgement import Evidence
from workloads.operation_values import check_operations
from workloads.registry import WORKLOADS
from workloads.workload import Workload


def judge_run(run: RunDirectory) -> tuple[RunRecord, History, Verdict]:
    """Judge a run from its directory.

    Raises:
        UnreadableRun: something is missing or malformed.
    """
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
    truth, problems = server_truth(run, record.nodes)
    verdict = judge_evidence(
        run.history,
        workload,
        record.recipe,
        Evidence(
            history=history,
            promises=record.promises,
            truth=truth,
            clock=record.wall_clock() if record.clock_anchors else None,
            line=record.line,
            kinds=record.nemesis,
            directed=bool(record.options.get("directed")),
            strict=record.strict,
            path=workload.path,
            session_timeout=record.session_timeout,
        ),
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


def judge_evidence(path: Path, workload: Workload, recipe: str, evidence: Evidence) -> Verdict:
    """Have a workload judge what there is, and leave open what that cannot tell.

    Args:
        path: the history's file, for errors.
        workload: which family it is.
        recipe: whose promises they are; need not be one that is known here.
        evidence: what there is.

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
    if open_questions:
        verdict = judge([*verdict.checks, *open_questions], promised, strict=evidence.strict)
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
