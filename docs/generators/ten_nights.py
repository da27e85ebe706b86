"""Ten nights that nobody performed, with all that can come of a night: for pictures and for tests.

Their cases and stories are those of cases/; which runs showed them when is made up here.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

import msgspec

from rumpus.campaigns.case import Case, load_case
from rumpus.nights.documents.document import (
    CanaryResult,
    CaseResult,
    FailureResult,
    NightDocument,
    for_store,
)
from rumpus.nights.documents.summary import headed
from rumpus.nights.memory.store import Store
from rumpus.nights.records import FailureRow, NightRow, RunRow, Subject, Trouble

CASES: Final = Path(__file__).resolve().parents[2] / "cases"
FIRST: Final = dt.datetime(2026, 11, 17, 2, tzinfo=dt.UTC)
FAULTS: Final = ("client-pause", "kill", "partition", "pause", "clock-skew", "drop-reply")
RUNS: Final = 40
"""Runs of a simulated subject in a night."""


class Flaw(NamedTuple):
    """A failure: its case, whose recipe it is, and the share of runs that show it, by night."""

    case: str
    workload: str
    recipe: str
    rates: Sequence[float]
    state: Literal["known", "expected"] = "known"
    why: str = ""


FLAWS: Final = (
    Flaw("mutants/lock/no-recheck", "lock", "orders", (0,) * 9 + (0.15,)),
    Flaw(
        "findings/11-semaphore-inner-lock",
        "semaphore",
        "kazoo",
        (0,) * 4 + (0.07,) * 3 + (0.6,) * 3,
    ),
    Flaw("findings/08-queue-loses-element", "queue", "jobs", (0,) * 2 + (0.4,) * 4 + (0,) * 4),
    Flaw("findings/13-party-dead-session", "party", "kazoo", (0, 0, 0, 0.05, 0, 0.05) + (0,) * 4),
    Flaw(
        "findings/02-double-barrier-enter",
        "double-barrier",
        "kazoo",
        (0.3,) * 10,
        "expected",
        "case findings/02-double-barrier-enter",
    ),
)
SUBJECTS: Final = (
    Subject(workload="lock", recipe="orders"),
    Subject(workload="lock", recipe="orders", world="docker"),
    Subject(workload="lock", recipe="fair"),
    Subject(workload="election", recipe="leader"),
    Subject(workload="election", recipe="leader", world="docker"),
    Subject(workload="semaphore", recipe="kazoo"),
    Subject(workload="queue", recipe="jobs"),
    Subject(workload="party", recipe="kazoo"),
    Subject(workload="double-barrier", recipe="kazoo"),
    Subject(workload="counter", recipe="kazoo"),
    Subject(workload="lease", recipe="kazoo", kazoo="2.10.0"),
)


def make_nights(store: Store, nights: int = 10) -> None:
    """Put the nights into a store.

    A lost engine in the fourth, a blind canary in the fifth, a case that is back in the sixth, a
    mended failure in the seventh, a rate that rises in the eighth and a stale case from then on, a
    latency that rises and a new failure in the tenth.
    """
    rows = {flaw: _row(flaw) for flaw in FLAWS}
    for number in range(nights):
        night = _night(number)
        store.begin_night(night)
        seen: dict[str, int] = {}
        runs = list(_runs(number, rows))
        for flaw, row in rows.items():
            shown = sum(row.id in run.failures for run in runs)
            if shown:
                seen[row.id] = shown
                first = row.first_night or night.name
                rows[flaw] = msgspec.structs.replace(row, first_night=first, last_night=night.name)
                store.note_failure(row)
        for run in runs:
            store.note_run(night.name, run)
        document = _document(number, night, runs, rows, seen)
        store.update_night(document.night)
        store.note_document(night.name, for_store(document))


def _night(number: int) -> NightRow:
    began = FIRST + dt.timedelta(days=number)
    lost = "real servers cannot be had: the Docker engine does not answer (10 s)"
    return NightRow(
        name=began.date().isoformat(),
        began=began.timestamp(),
        ended=began.timestamp() + 1790,
        budget=1800.0,
        seconds=1790.0,
        seed=number,
        branch="main",
        commit=f"{number * 7919 + 0xA41C09:07x}",
        versions={"kazoo": "2.11.0", "zookeeper": "3.9.3", "python": "3.11.2", "rumpus": "0.1.0"},
        troubles=(Trouble(kind="world", what=lost, runs=6),) if number == 3 else (),
    )


def _row(flaw: Flaw) -> FailureRow:
    case = _case(flaw.case)
    settings = {**case.settings, "workload": flaw.workload}
    case = msgspec.structs.replace(case, settings=settings, finding=None, mutant=False)
    return FailureRow(
        workload=flaw.workload,
        recipe=flaw.recipe,
        fingerprint=case.expects,
        case=case,
        shrunk=True,
    )


def _case(name: str) -> Case:
    return load_case(CASES / f"{name}.case.json")


def _runs(number: int, rows: dict[Flaw, FailureRow]) -> Iterator[RunRow]:
    """All runs of a night."""
    source = Random(number)
    began = (FIRST + dt.timedelta(days=number)).timestamp()
    for subject in SUBJECTS:
        real = subject.world == "docker"
        flaw = next((e for e in FLAWS if (e.workload, e.recipe) == _of(subject)), None)
        for turn in range(3 if real else RUNS):
            if real and number == 3:
                why = "the Docker engine does not answer (10 s)"
                yield RunRow(role="run", subject=subject.key, kind="usual", why=why, exit_code=4)
                continue
            broken = flaw is not None and not real and source.random() < flaw.rates[number]
            slow = 1.6 if subject.recipe == "fair" and number >= 9 else 1.0
            yield RunRow(
                role="run",
                subject=subject.key,
                kind="usual" if real else ("usual", "swarm")[turn % 2],
                seed=source.getrandbits(31),
                outcome="violation" if broken else "valid",
                why="a promise is broken" if broken else "",
                exit_code=int(broken),
                at=began + turn,
                seconds=1.2,
                cpu_seconds=1.0,
                virtual_seconds=0.0 if real else 21.0,
                operations=120,
                versions={"kazoo": "2.11.0", "zookeeper": "3.9.3"},
                figures={
                    "throughput": source.gauss(30, 2) / slow,
                    "latency": source.lognormvariate(2.2, 0.1) * slow,
                    "latency-p99": source.lognormvariate(4.2, 0.2) * slow,
                    "quorum": min(1.0, source.gauss(0.86, 0.03)),
                },
                failures=(rows[flaw].id,) if broken and flaw is not None else (),
                faults=tuple(sorted(source.sample(FAULTS, 3))),
            )


def _of(subject: Subject) -> tuple[str, str]:
    return subject.workload, subject.recipe


def _document(
    number: int,
    night: NightRow,
    runs: Sequence[RunRow],
    rows: dict[Flaw, FailureRow],
    seen: dict[str, int],
) -> NightDocument:
    """What the night says of itself."""
    failures = []
    for flaw, row in rows.items():
        if row.id in seen:
            new = row.first_night == night.name and flaw.state != "expected"
            failures.append(
                FailureResult(
                    failure=row,
                    state="new" if new else flaw.state,
                    runs=seen[row.id],
                    owner="@orders-team" if row.recipe == "orders" else "",
                    why=flaw.why,
                )
            )
    canaries = [
        CanaryResult(name=name, state="found", runs=1, rate=0.95, expected=("double-grant",))
        for name in ("lock / no-recheck", "lock / orders that grants without asking")
    ]
    blind = number == 4
    canaries.append(
        CanaryResult(
            name="election / untied-acknowledgement",
            state="blind" if blind else "found",
            runs=5 if blind else 1,
            rate=0.82,
            expected=("split-brain",),
        )
    )
    document = NightDocument(
        night=night,
        failures=tuple(failures),
        cases=tuple(_cases(number)),
        canaries=tuple(canaries),
        runs=tuple(runs),
    )
    return headed(document)


def _cases(number: int) -> Iterator[CaseResult]:
    """What came of the kept cases: one is back in the sixth, one is stale from the eighth."""
    for path in sorted((CASES / "findings").glob("*.case.json"))[:20]:
        name = f"findings/{path.name.removesuffix('.case.json')}"
        again = f"rumpus replay cases/{name}.case.json"
        if number == 5 and name.startswith("findings/10"):
            yield CaseResult(name=name, state="regression", why="orphan is there", again=again)
        elif number >= 7 and name.startswith("findings/19"):
            why = "valid: the anomaly is not there"
            yield CaseResult(name=name, state="stale", why=why, again=again, near=30)
        else:
            yield CaseResult(name=name, state="shown", again=again)
