"""The answer of a decider, and the budget of time and memory that it may use."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from rumpus.checker.valid import Valid


class Witness(msgspec.Struct, kw_only=True):
    """Why a history is refused: a few operations that contradict each other.

    An operation is **forgotten** by treating it as one that may have taken effect at any time, or
    never. All operations outside the witness are forgotten. (To remove an operation would be
    something else: without the write of a value every read of it is wrong.) A witness is
    **minimal** if the history becomes acceptable when any one of its operations is forgotten too.

    Attributes:
        operations: rows of the table, in order of call.
        description: the contradiction in words, with processes, values and times.
        minimal: whether the witness is known to be minimal (always, up to 1,000 operations).
        prefix: rows in an order in which they can have taken effect, the longest that the search
            found; None where the algorithm does not search.
        stuck: the row that cannot follow the prefix.
        states: the states that were possible after the prefix, in words.
    """

    operations: list[int]
    description: str
    minimal: bool = True
    prefix: list[int] | None = None
    stuck: int | None = None
    states: list[str] = msgspec.field(default_factory=list)


class Decision(msgspec.Struct, kw_only=True):
    """The answer to "does this history follow that model?".

    ``valid`` is True, False (then there is a witness), or "unknown" (then ``unknown`` lists the
    reasons). ``operations`` is the number of operations that were judged.
    """

    valid: Valid
    model: str = ""
    algorithm: str = ""
    operations: int = 0
    witness: Witness | None = None
    unknown: list[str] = msgspec.field(default_factory=list)


def accepted() -> Decision:
    """The history follows the model."""
    return Decision(valid=True)


def refused(operations: Sequence[int], description: str, *, minimal: bool = True) -> Decision:
    """The history does not follow the model, and these rows show it."""
    rows = sorted({int(row) for row in operations})
    return Decision(
        valid=False,
        witness=Witness(operations=rows, description=description, minimal=minimal),
    )


def undecided(*why: str) -> Decision:
    """Whether the history follows the model is unknown, for these reasons."""
    return Decision(valid="unknown", unknown=list(why))


BYTES = 640 << 20
"""Memory that the visited configurations of a search may take by default. With a history of a
megabyte, its table and the program itself, that stays below a gigabyte."""


@dataclass(frozen=True)
class Budget:
    """How much a decision may cost. What is not decided within it stays unknown.

    Attributes:
        seconds: time from ``started`` on; None for no limit.
        bytes: memory for the visited configurations of a search; None for no limit.
        clock: returns seconds, monotonic.
    """

    seconds: float | None = None
    bytes: int | None = BYTES
    clock: Callable[[], float] = time.monotonic
    started: float = field(default=-1.0)

    def __post_init__(self) -> None:
        if self.started < 0:
            object.__setattr__(self, "started", self.clock())

    @property
    def deadline(self) -> float:
        """The time of ``clock`` at which the budget ends; infinite without a limit."""
        return float("inf") if self.seconds is None else self.started + self.seconds

    @property
    def spent(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.deadline
