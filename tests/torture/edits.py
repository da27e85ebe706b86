"""What a forger does to a run that shows a violation, so that it shows none any more.

``EDITS`` has the forgeries, and further ones that are no contradiction by themselves in every run:
a cut of what convicts the recipe, a part of another run, other names. Each takes the run and the
directory of another run of the same family, and says whether it found anything to change.
"""

import json
import shutil
from collections.abc import Callable

from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.judging import judge_run
from rumpus.workloads.registry import WORKLOADS
from tests.torture.forgeries import (
    FORGERIES,
    Forgery,
    Record,
    kept,
    told,
    wire_of,
    write_wire,
)
from tests.torture.histories_changed import (
    both,
    changed,
    operations,
    records,
    spliced,
    without_operations,
    written,
)

MOST_ROUNDS = 8

EDITS: dict[str, Forgery] = dict(FORGERIES)


def edit(change: Forgery) -> Forgery:
    EDITS[change.__name__.replace("_", " ")] = change
    return change


def convicting(run: RunDirectory) -> set[int]:
    """The indices of the records that show the violation, by the run's own verdict."""
    document = json.loads(run.results.read_text())
    return {index for anomaly in document["anomalies"] for index in anomaly.get("ops", ())}


@edit
def the_convicting_operations_dropped(run: RunDirectory, _: RunDirectory) -> bool:
    shown = convicting(run)
    return without_operations(run, lambda each: any(r["index"] in shown for r in each))


@edit
def all_that_convicts_dropped(run: RunDirectory, _: RunDirectory) -> bool:
    """Again and again, until the run shows no violation any more."""
    found = False
    for _round in range(MOST_ROUNDS):
        run.seal()
        try:
            verdict = judge_run(run).verdict
        except UnreadableRun:
            break
        shown = {index for anomaly in verdict.anomalies for index in anomaly.ops}
        if not without_operations(run, lambda each: _shown(each, shown)):  # noqa: B023 - used now
            break
        found = True
    return found


@edit
def the_convicting_records_dropped(run: RunDirectory, _: RunDirectory) -> bool:
    shown = convicting(run)
    return kept(run, lambda record: record["index"] not in shown)


@edit
def the_convicting_answers_unknown(run: RunDirectory, _: RunDirectory) -> bool:
    return _answered(run, convicting(run), "info")


@edit
def the_convicting_answers_failures(run: RunDirectory, _: RunDirectory) -> bool:
    return _answered(run, convicting(run), "fail")


def _answered(run: RunDirectory, shown: set[int], kind: str) -> bool:
    """Say that operations ended otherwise."""
    ends = {each[1]["index"] for each in operations(run) if len(each) == 2 and _shown(each, shown)}

    def change(record: Record) -> Record:
        if record["index"] in ends:
            record |= {"type": kind, "value": None, "error": "no answer in time"}
        return record

    return changed(run, change)


def _shown(each: list[Record], shown: set[int]) -> bool:
    return any(record["index"] in shown for record in each)


@edit
def no_answer_of_any_operation(run: RunDirectory, _: RunDirectory) -> bool:
    return _answered(run, {record["index"] for record in records(run)}, "info")


@edit
def operations_of_a_client_dropped(run: RunDirectory, _: RunDirectory) -> bool:
    clients = json.loads(run.record.read_text())["clients"]
    return without_operations(run, lambda each: each[0]["process"] % clients == 1)


@edit
def no_operations(run: RunDirectory, _: RunDirectory) -> bool:
    return without_operations(run, bool)


@edit
def the_first_half_cut(run: RunDirectory, _: RunDirectory) -> bool:
    return _cut(run, lambda at, number: at > number // 2)


@edit
def the_second_half_cut(run: RunDirectory, _: RunDirectory) -> bool:
    return _cut(run, lambda at, number: at < number // 2)


def _cut(run: RunDirectory, keep: Callable[[int, int], bool]) -> bool:
    """Cut operations, actions, watch events; what stands at both ends of a history stays."""
    found = records(run)

    def of_load(record: Record) -> bool:
        told_once = record["process"] in ("control", "session", "nemesis")
        return not told_once and record["f"] != "requests"

    kept_ones = {at for at in range(len(found)) if keep(at, len(found))}
    return written(run, [r for at, r in enumerate(found) if at in kept_ones or not of_load(r)])


@edit
def all_backwards(run: RunDirectory, _: RunDirectory) -> bool:
    first, *rest, last = records(run)
    times = sorted(record["time"] for record in rest)
    back = [{**r, "time": time} for r, time in zip(reversed(rest), times, strict=True)]
    return written(run, [first, *back, last])


@edit
def one_after_the_other(run: RunDirectory, _: RunDirectory) -> bool:
    """No operation overlaps another: each completion follows its call at once."""
    completions = {each[0]["index"]: each[1] for each in operations(run) if len(each) == 2}
    moved = {record["index"] for record in completions.values()}
    left = []
    for record in records(run):
        if record["index"] in moved:
            continue
        left.append(record)
        if record["index"] in completions:
            left.append({**completions[record["index"]], "time": record["time"]})
    return written(run, left)


@edit
def the_operations_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    return spliced(run, other, lambda process: isinstance(process, int))


@edit
def the_operations_and_actions_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    return spliced(run, other, lambda process: isinstance(process, int) or process == "witness")


@edit
def the_actions_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    return spliced(run, other, lambda process: process == "witness")


@edit
def the_sessions_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    return spliced(run, other, lambda process: process == "session")


@edit
def the_links_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    return spliced(run, other, lambda process: process == "link")


@edit
def the_faults_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    told(run, plan=json.loads(other.record.read_text())["plan"])
    return spliced(run, other, lambda process: process == "nemesis")


@edit
def the_history_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    return written(run, [records(run)[0], *records(other)[1:]])


@edit
def the_logs_of_one_server_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    shutil.rmtree(run.nodes / "n1", ignore_errors=True)
    shutil.copytree(other.nodes / "n1", run.nodes / "n1")
    return True


@edit
def no_logs_of_one_server(run: RunDirectory, _: RunDirectory) -> bool:
    shutil.rmtree(run.nodes / "n1", ignore_errors=True)
    return True


@edit
def no_wire(run: RunDirectory, _: RunDirectory) -> bool:
    if not run.wire.exists():
        return False
    run.wire.unlink()
    return True


@edit
def the_wire_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    if not other.wire.exists():
        return False
    shutil.copyfile(other.wire, run.wire)
    return True


@edit
def deletes_refused_by_the_wire(run: RunDirectory, _: RunDirectory) -> bool:
    """All of them: no node is there."""
    wire = wire_of(run)
    done = [r for r in wire if r.get("name") == "delete" and r.get("error") == 0]
    for record in done:
        record["error"] = -101
    write_wire(run, wire)
    return bool(done)


@edit
def named_as_another_recipe(run: RunDirectory, _: RunDirectory) -> bool:
    """One that keeps its promises; the history says so, too."""
    document = json.loads(run.record.read_text())
    catalogue = WORKLOADS[document["workload"]].catalogue
    sound = next(name for name, recipe in catalogue.items() if not recipe.faulty)
    return both(run, recipe=sound)


@edit
def named_as_another_workload(run: RunDirectory, _: RunDirectory) -> bool:
    workload = json.loads(run.record.read_text())["workload"]
    names = [*WORKLOADS]
    return both(run, workload=names[names.index(workload) - 1])


@edit
def no_promises_to_both(run: RunDirectory, _: RunDirectory) -> bool:
    promises = json.loads(run.record.read_text())["promises"]
    return both(run, promises={**promises, "prevents": []})


@edit
def lying_disks(run: RunDirectory, _: RunDirectory) -> bool:
    """Blame the disks: servers whose disks lie may lack what they acknowledged."""
    kinds = json.loads(run.record.read_text())["nemesis"]
    return both(run, nemesis=[*kinds, "file-lie"])


@edit
def wrong_servers(run: RunDirectory, _: RunDirectory) -> bool:
    """Blame the servers: those with a known mistake are not held to what they acknowledged."""
    options = json.loads(run.record.read_text())["options"]
    return told(run, options={**options, "server_mutant": "no-sync"})


@edit
def servers_of_another_system(run: RunDirectory, _: RunDirectory) -> bool:
    options = json.loads(run.record.read_text())["options"]
    return told(run, options={**options, "system": "etcd"})


@edit
def long_sessions(run: RunDirectory, _: RunDirectory) -> bool:
    return both(run, session_timeout=600.0)


@edit
def interrupted(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, interrupted=True)


@edit
def no_clocks(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, clock_anchors=[])


@edit
def slow_clocks(run: RunDirectory, _: RunDirectory) -> bool:
    """The servers' clocks go half as fast."""
    anchors = json.loads(run.record.read_text())["clock_anchors"]
    if not anchors:
        return False
    start = anchors[0]["wall"]
    for anchor in anchors:
        anchor["wall"] = start + (anchor["wall"] - start) // 2
    return told(run, clock_anchors=anchors)


@edit
def an_older_format(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, format=0)
