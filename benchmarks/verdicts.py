"""Whether a change keeps the verdicts: some hundred runs, judged again, anomaly by anomaly.

``python -m benchmarks.verdicts make DIR`` performs the runs that are missing in a directory: all
cases in ``cases/``, a run of each sound recipe in the simulation, and some on real servers, other
systems among them (``--docker``; simulated ones are left out then). ``record DIR`` writes how they
are judged to ``verdicts.jsonl`` beside this file. ``compare DIR`` judges them again and prints what
differs; it exits with 1 if anything does.

The runs are kept out of the repository. A simulated run that is missing can be made again: it is
the same run if its digest is. A run on real servers cannot, so ``compare`` says how many lines of
``verdicts.jsonl`` it found no run for.
"""

import argparse
import hashlib
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from rumpus.campaigns.case import load_case
from rumpus.campaigns.trial_task import TrialTask
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judged_run import judged_run
from rumpus.runs.judging import collector_at_rest, judge_run
from rumpus.runs.run_settings import RunSettings
from rumpus.workloads.registry import WORKLOADS

KEPT = Path(__file__).with_name("verdicts.jsonl")
CASES = Path(__file__).parents[1] / "cases"
PROCESSES = 2
SIM_S, DOCKER_S = 20.0, 20.0

# One of each kind of judgement: families on real servers, then other systems and clients.
ON_DOCKER = """
    lock fair unfair validity fenced lock-delay sequencer kazoo no-recheck watch-first
    read-write fair revocable
    semaphore fair
    queue fifo kazoo-locking
    priority-queue priority
    election fair unfair
    barrier rechecking
    double-barrier roll kazoo
    counter receipts
    latch tally
    breaking blacklist by-identity
    view data
    registry registry
    partitioner partitioner
    two-phase-commit coordinated
    jobs fenced
    register linearizable local
    append by-version
    watch looks-again
    ephemeral ephemeral
    sequence sequential
    multi multi
    znode guarded
    failover quorum
    sealed-log seal
    chubby library
    lock redis redlock-fenced etcd curator-mutex
    election etcd
    register etcd-caches-reads
    watch etcd
"""


class Judged(msgspec.Struct, kw_only=True):
    """How a run was judged. ``anomalies``: kind -> how many, and a digest of all they say."""

    name: str
    digest: str | None
    outcome: str
    blamed: str
    reasons: list[str]
    anomalies: dict[str, tuple[int, str]]
    stats: str


def tasks(*, docker: bool) -> Iterator[tuple[str, TrialTask]]:
    """Names and runs."""
    if docker:
        for family, *recipes in map(str.split, ON_DOCKER.strip().splitlines()):
            for number, recipe in enumerate(recipes):
                usual = {"nemesis_interval": 5.0, "time_limit": DOCKER_S, "seed": number}
                yield f"docker/{family}/{recipe}", _run(family, recipe, "docker", **usual)
        return
    for path in sorted(CASES.rglob("*.case.json")):
        name = path.relative_to(CASES).as_posix().removesuffix(".case.json")
        yield f"cases/{name}", load_case(path).task()
    for family, workload in WORKLOADS.items():
        for recipe, entry in workload.catalogue.items():
            if not entry.faulty:
                usual = {"time_limit": SIM_S, "seed": 1}
                yield f"sound/{family}/{recipe}", _run(family, recipe, "sim", **usual)


def _run(workload: str, recipe: str, ensemble: str, **more: Any) -> TrialTask:
    given = {"workload": workload, "recipe": recipe, "ensemble": ensemble, **more}
    return TrialTask(settings=RunSettings(argv=[], **given))


def perform(place: Path, named: tuple[str, TrialTask]) -> str:
    """Perform a run unless it is there; what went wrong, or nothing."""
    name, task = named
    kept = place / name
    if kept.exists():
        return ""
    try:
        with judged_run(task.settings, lambda _: None, plan=task.plan) as judged:
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(judged.directory.path, kept)
    except Exception:
        return f"{name}\n{traceback.format_exc()}"
    return ""


def judge(place: Path, name: str) -> tuple[Judged, dict[str, list[dict[str, Any]]]]:
    """Judge a run; and all of its anomalies by kind."""
    with collector_at_rest():
        judgement = judge_run(RunDirectory(place / name))
    return judged(name, judgement.record.digest, judgement.verdict)


def judged(
    name: str, digest: str | None, verdict: Verdict
) -> tuple[Judged, dict[str, list[dict[str, Any]]]]:
    """What is compared of a verdict, and all anomalies by kind."""
    found: dict[str, list[Anomaly]] = {}
    for each in verdict.anomalies:
        found.setdefault(each.kind, []).append(each)
    stats = {check.name: check.stats for check in verdict.checks if check.stats}
    return Judged(
        name=name,
        digest=digest,
        outcome=verdict.outcome,
        blamed=verdict.blamed,
        reasons=verdict.reasons,
        anomalies={kind: (len(all_), _digest(all_)) for kind, all_ in sorted(found.items())},
        stats=_digest(stats),
    ), {kind: [msgspec.to_builtins(each) for each in all_] for kind, all_ in found.items()}


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]


def made(place: Path) -> list[str]:
    """Names of the runs that are in a directory."""
    return sorted(each.parent.relative_to(place).as_posix() for each in place.rglob("test.json"))


def make(place: Path, *, docker: bool) -> int:
    """Perform the runs that are missing."""
    failed = 0
    with ProcessPoolExecutor(1 if docker else PROCESSES) as pool:
        for wrong in pool.map(partial(perform, place.absolute()), tasks(docker=docker)):
            if wrong:
                failed += 1
                print(wrong, file=sys.stderr)
    print(f"{len(made(place))} runs, {failed} failed")
    return 1 if failed else 0


def each_judged(
    place: Path, use: Callable[[Judged, Mapping[str, list[dict[str, Any]]]], None]
) -> None:
    """Judge every run."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        for told, anomalies in pool.map(partial(judge, place), made(place)):
            use(told, anomalies)


def record(place: Path) -> int:
    """Write how the runs are judged; all anomalies beside each run."""
    lines = []

    def use(told: Judged, anomalies: Mapping[str, list[dict[str, Any]]]) -> None:
        lines.append(msgspec.json.encode(told))
        (place / f"{told.name}.anomalies.json").write_bytes(msgspec.json.encode(anomalies))

    each_judged(place, use)
    KEPT.write_bytes(b"\n".join([*lines, b""]))
    print(f"{len(lines)} verdicts")
    return 0


def compare(place: Path) -> int:
    """Judge the runs again and print what differs from what is recorded."""
    kept = {
        each.name: each for each in msgspec.json.Decoder(Judged).decode_lines(KEPT.read_bytes())
    }
    seen: set[str] = set()
    differing = 0

    def use(told: Judged, anomalies: Mapping[str, list[dict[str, Any]]]) -> None:
        nonlocal differing
        before = kept.get(told.name)
        if before is None:
            return
        seen.add(told.name)
        if told == before:
            return
        differing += 1
        print(told.name)
        for field in Judged.__struct_fields__:
            old, new = getattr(before, field), getattr(told, field)
            if old != new and field != "anomalies":
                print(f"  {field}: {old} -> {new}")
        beside = place / f"{told.name}.anomalies.json"
        full = msgspec.json.decode(beside.read_bytes()) if beside.exists() else {}
        for kind in sorted({*before.anomalies, *told.anomalies}):
            old, new = before.anomalies.get(kind), told.anomalies.get(kind)
            if old == new:
                continue
            print(f"  {kind}: {old and old[0]} -> {new and new[0]}")
            for sign, those, others in (
                ("-", full.get(kind, []), anomalies.get(kind, [])),
                ("+", anomalies.get(kind, []), full.get(kind, [])),
            ):
                for each in [each for each in those if each not in others][:2]:
                    print(f"    {sign} {each}")

    each_judged(place, use)
    print(f"{len(seen)} verdicts compared, {differing} differ, {len(kept) - len(seen)} have no run")
    return 1 if differing else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["make", "record", "compare"])
    parser.add_argument("place", type=Path, help="the directory of the runs")
    parser.add_argument("--docker", action="store_true", help="make those on real servers")
    given = parser.parse_args()
    if given.what == "make":
        return make(given.place, docker=given.docker)
    return {"record": record, "compare": compare}[given.what](given.place)


if __name__ == "__main__":
    sys.exit(main())
