"""What a night notes of its runs, cases and canaries while it is performed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from rumpus.campaigns.case import Case
from rumpus.campaigns.pieces import Performed
from rumpus.checker.verdict import Outcome
from rumpus.exit_codes import UNDECIDED, VALID, VIOLATION
from rumpus.nights.canaries import Canary
from rumpus.nights.kept_cases import State
from rumpus.nights.pieces import Piece
from rumpus.nights.records import RunRow, Trouble

_CODES: Final[Mapping[str, int]] = {"valid": VALID, "violation": VIOLATION}


def code_of(outcome: Outcome) -> int:
    """The exit code of a run that was performed, by its outcome."""
    return _CODES.get(outcome, UNDECIDED)


@dataclass
class CaseNote:
    """What is known of a case this night.

    Attributes:
        state: see ``kept_cases``.
        why: in words.
        again: the command that repeats it.
        near: how many runs near its plan were tried.
        moved: a case that shows its failure anew.
    """

    state: State
    why: str
    again: str
    near: int = 0
    moved: Case | None = None


@dataclass
class CanaryNote:
    """What is known of a canary: how many runs it had, whether one found it, or none could be."""

    canary: Canary
    runs: int = 0
    found: bool = False
    given_up: bool = False
    why: str = ""


@dataclass
class NightNotes:
    """What a night has seen so far.

    Attributes:
        runs: each run.
        cases: by name.
        canaries: likewise.
        troubles: what kept it from looking.
        moved: cases that are to take the place of stale ones, by the name of these.
        interrupted: whether somebody has ended it early.
    """

    runs: list[RunRow] = field(default_factory=list)
    cases: dict[str, CaseNote] = field(default_factory=dict)
    canaries: dict[str, CanaryNote] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    interrupted: bool = False

    def rename(self, old: str, new: str) -> None:
        """Let runs that showed a failure name it by the identifier that it has now."""
        for number, run in enumerate(self.runs):
            if old != new and old in run.failures:
                names = dict.fromkeys(new if each == old else each for each in run.failures)
                self.runs[number] = msgspec.structs.replace(run, failures=tuple(names))


def row_of(
    piece: Piece,
    performed: Performed,
    *,
    seconds: float,
    at: float,
    failures: tuple[str, ...],
    found: str,
) -> RunRow:
    """The row of a run.

    Args:
        piece: of which it was a part.
        performed: what became of it.
        seconds: how long it took, by the clock.
        at: when it ended, in seconds since the epoch.
        failures: identifiers of the failures that it showed.
        found: see ``RunRow``.
    """
    attempt, outcome = performed.attempt, performed.attempt.outcome
    row = RunRow(
        role=piece.role,
        subject=piece.subject,
        name=piece.name,
        kind=performed.kind or piece.kind,
        seed=piece.seed,
        at=at,
        seconds=round(seconds, 3),
        failures=failures,
        found=found,
    )
    if outcome is None:
        return msgspec.structs.replace(row, why=attempt.error, exit_code=attempt.exit_code)
    why = outcome.reasons[0] if outcome.outcome != "valid" and outcome.reasons else ""
    return msgspec.structs.replace(
        row,
        outcome=outcome.outcome,
        why=why,
        exit_code=code_of(outcome.outcome),
        cpu_seconds=round(outcome.cpu_seconds, 3),
        virtual_seconds=round(outcome.virtual_seconds, 3),
        operations=outcome.operations,
        digest=outcome.digest,
        versions=outcome.versions,
        figures=outcome.figures,
        faults=outcome.plan.kinds,
    )
