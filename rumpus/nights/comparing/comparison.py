"""What is different between two sides: what ``rumpus.nights.comparing.comparing`` finds."""

from typing import Final, Literal

import msgspec

from rumpus.exit_codes import UNDECIDED, VALID, VIOLATION
from rumpus.nights.memory.evidence import Estimate

RATE: Final = "failure rate"
"""The name of the comparison of how many runs were violations."""

State = Literal["new", "known", "gone", "flaky"]
"""What has become of a failure; ``rumpus.nights.comparing.comparing`` says what the words mean."""

Judged = Literal["better", "worse", "changed", "no evidence of change"]

NONE: Final = "no evidence of change"


class FailureChange(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of a failure.

    Attributes:
        id: its identifier on side B, or where it was seen.
        failure: the failure in words.
        state: what has become of it.
        a: how many runs of side A showed it, and how many could have; likewise ``b``. Runs of
            cases are not among them.
        missed: how probable it is that B does not see it at A's rates; None if B saw it, or A
            did not.
        by_case: whether only the run of a kept case showed it.
    """

    id: str
    failure: str
    state: State
    a: tuple[int, int]
    b: tuple[int, int]
    missed: float | None = None
    by_case: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A rate, or a figure, on both sides.

    Attributes:
        what: ``failure rate``, or the name of a figure.
        subject: of which subject; empty: of all that both sides have.
        a: the rate with its interval; or the geometric mean of the figure. Likewise ``b``.
        runs: how many runs each side had.
        change: by how much the rate is higher on side B; or by what factor the figure is larger.
        probability: of such a difference by chance.
        adjusted: the same, corrected for the number of comparisons (Holm).
        verdict: whether there is evidence of a change, and whether for the better.
        regression: whether it is worse, and a figure by more than 10 %.
    """

    what: str
    subject: str
    a: Estimate
    b: Estimate
    runs: tuple[int, int]
    change: Estimate
    probability: float
    adjusted: float = 1.0
    verdict: Judged = NONE
    regression: bool = False


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What is different between two sides.

    Attributes:
        a: the word that named side A; likewise ``b``.
        nights: the names of the nights of each side.
        runs: how many runs each side had that could be compared.
        subjects: what both sides ran.
        only: what only one side ran; it was not compared.
        failures: those that the compared runs showed; new ones first.
        changes: what was compared, regressions first.
    """

    a: str
    b: str
    nights: tuple[tuple[str, ...], tuple[str, ...]]
    runs: tuple[int, int]
    subjects: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    failures: tuple[FailureChange, ...]
    changes: tuple[Change, ...]

    @property
    def regressions(self) -> int:
        """How many failures are new, and how many rates and figures are worse."""
        new = sum(each.state == "new" for each in self.failures)
        return new + sum(each.regression for each in self.changes)

    @property
    def exit_code(self) -> int:
        """1 if something is worse; 3 if the sides have nothing in common; else 0."""
        if not self.subjects:
            return UNDECIDED
        return VIOLATION if self.regressions else VALID
