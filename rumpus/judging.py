"""From a run's directory to its verdict: reads everything back from disk."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from checker.history import History
from checker.node_files import NodeFiles, read_node_directory
from checker.server_truth import TRUE_TIMES, ServerTruth, merge
from checker.verdict import Verdict
from recipes.promises import EXCLUSION, Promises
from results.record import RunRecord
from results.run_directory import RunDirectory
from results.store_error import UnreadableRun
from rumpus.version import __version__
from workloads.judgement import Evidence
from workloads.registry import WORKLOADS


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
    truth, problems = server_truth(run, record.nodes)
    verdict = workload.judge(
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
        )
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


def weigh_interruption(verdict: Verdict) -> None:
    """What an interrupted run did not show it did not show: only a violation stands."""
    if verdict.outcome == "violation":
        return
    if verdict.outcome == "valid":
        verdict.valid, verdict.outcome = "unknown", "inconclusive"
    verdict.reasons.insert(0, "the run was interrupted")


def judge_history(run: RunDirectory) -> tuple[RunRecord, History, Verdict]:
    """Judge a history that came alone: by exclusion, tokens and order, without server logs.

    Returns:
        A record that says of it what can be said, the history, the verdict.

    Raises:
        UnreadableRun: it is malformed, or its operations are no workload's.
    """
    history = run.read_history()
    functions = {op.f for op in history if isinstance(op.process, int)}
    for workload in WORKLOADS.values():
        if workload.words.acquire in functions:
            promises = Promises(prevents=EXCLUSION | {"token-regression"}, tokens=True)
            evidence = Evidence(history=history, promises=promises, whole=False)
            return (
                _record_of(run.history, workload.name, promises, history),
                history,
                workload.judge(evidence),
            )
    known = ", ".join(workload.words.acquire for workload in WORKLOADS.values())
    raise UnreadableRun(
        run.history, "none of its operations is known", f"histories with one of {known} are"
    )


def _record_of(path: Path, workload: str, promises: Promises, history: History) -> RunRecord:
    return RunRecord(
        run=path.name,
        rumpus=__version__,
        started=datetime.fromtimestamp(path.stat().st_mtime, UTC),
        argv=["rumpus", "check", str(path)],
        workload=workload,
        recipe="unknown",
        promises=promises,
        ensemble="unknown",
        nodes=0,
        clients=history.clients,
        time_limit=(history.end - history.start) / 1e9,
        nemesis=[],
        nemesis_interval=0,
        seed=0,
        session_timeout=0,
        tick_ms=0,
    )


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
