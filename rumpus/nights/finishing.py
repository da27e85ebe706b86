"""Makes a night's document of what it has noted."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from rumpus.campaigns.looks import Failure, explains
from rumpus.nights.documents.document import (
    CanaryResult,
    CaseResult,
    CommandResult,
    FailureResult,
    NightDocument,
)
from rumpus.nights.expected import Expected
from rumpus.nights.failure_book import FailureBook
from rumpus.nights.kept_cases import Kept
from rumpus.nights.night_notes import CanaryNote, NightNotes
from rumpus.nights.planning import NightPlan
from rumpus.nights.records import FailureRow, NightRow
from rumpus.nights.schedule import Schedule


def finished(
    plan: NightPlan,
    night: NightRow,
    notes: NightNotes,
    book: FailureBook,
    schedule: Schedule,
    *,
    today: dt.date,
    commands: Sequence[CommandResult] = (),
    not_worse: frozenset[str] = frozenset(),
) -> NightDocument:
    """The document of a night that is over.

    Args:
        plan: what it was to do.
        night: the night as a whole, without its troubles.
        notes: what it has seen.
        book: its failures.
        schedule: what had no turn.
        today: for the dates of expected failures.
        commands: what came of the file's commands.
        not_worse: names of cases, and ids of failures, that are as they are without the change.
    """
    failures = [_failure(plan, book, id_, today, not_worse) for id_ in book.tonight]
    had_turn = {run.subject for run in notes.runs if run.role == "run"}
    cases = [
        CaseResult(
            name=name,
            state="shown" if note.state == "regression" and name in not_worse else note.state,
            why=note.why,
            again=note.again,
            near=note.near,
            moved=f"cases/moved/{name}.case.json" if note.moved is not None else "",
        )
        for name, note in notes.cases.items()
    ]
    return NightDocument(
        night=msgspec.structs.replace(
            night,
            interrupted=notes.interrupted,
            troubles=(*plan.troubles, *notes.troubles),
        ),
        failures=tuple(failures),
        cases=tuple(cases),
        canaries=tuple(_canary(note) for note in notes.canaries.values()),
        commands=tuple(commands),
        runs=tuple(notes.runs),
        waiting=tuple(key for key in schedule.turns if key not in had_turn),
        cases_left=schedule.cases_left,
        expired=tuple(str(each) for each in plan.expected if each.until < today),
        gone=tuple(_gone(plan.expected, book, had_turn)),
        notes=(*plan.notes, *plan.left_out),
        idle=plan.idle,
    )


def _failure(
    plan: NightPlan,
    book: FailureBook,
    id_: str,
    today: dt.date,
    not_worse: frozenset[str],
) -> FailureResult:
    row = book.failures[id_]
    thing = f"{row.workload} / {row.recipe}"
    owners = plan.file.owners
    result = FailureResult(
        failure=row,
        state="new" if book.is_new(row) else "known",
        runs=book.tonight[id_],
        owner=owners.get(thing, owners.get(row.recipe, "")),
        file=f"cases/{case_file(row)}" if row.case is not None else "",
    )
    if id_ in not_worse:
        return msgspec.structs.replace(result, state="base")
    for each in plan.expected:
        if each.covers(id_, today):
            return msgspec.structs.replace(result, state="expected", why=each.reason)
    for kept in plan.to_show:
        if _shows(kept, row, plan):
            why = f"case {kept.name}"
            return msgspec.structs.replace(result, state="expected", why=why)
    return result


def case_file(row: FailureRow) -> str:
    """The name of the file of a failure's case."""
    name = row.case.name() if row.case is not None else "case"
    return f"{name}-{row.id}.case.json"


def _shows(kept: Kept, row: FailureRow, plan: NightPlan) -> bool:
    """Whether a failure is the one that a kept case is to show."""
    settings = kept.case.task().settings
    things = {
        (on.settings.workload, on.settings.recipe)
        for on in plan.subjects
        if (on.subject.workload, on.subject.recipe) == (row.workload, row.recipe)
    }
    if (settings.workload, settings.recipe) not in things:
        return False
    kinds = row.fingerprint.faults
    if not row.shrunk and row.case is not None:
        kinds = row.case.plan.kinds
    return explains(kept.case.expects, Failure(seed=0, fingerprint=row.fingerprint, kinds=kinds))


def _canary(note: CanaryNote) -> CanaryResult:
    canary = note.canary
    if note.found:
        state = "found"
    elif note.given_up:
        state = "blind"
    else:
        state = "open" if note.runs else "unperformed"
    return CanaryResult(
        name=canary.name,
        state=state,  # type: ignore[arg-type]  # one of these four
        runs=note.runs,
        rate=canary.rate,
        expected=tuple(sorted(canary.expected)),
        why=note.why,
    )


def _gone(expected: Sequence[Expected], book: FailureBook, had_turn: set[str]) -> list[str]:
    """The expectations that were not met though their recipes had runs."""
    told = []
    for each in expected:
        rows = [row for id_, row in book.failures.items() if id_.startswith(each.failure)]
        if not rows:
            told.append(f"{each}, which no night has seen,")
            continue
        ran = any(
            subject.startswith(f"{row.workload} / {row.recipe},")
            for row in rows
            for subject in had_turn
        )
        if ran and not any(row.id in book.tonight for row in rows):
            told.append(str(each))
    return told
