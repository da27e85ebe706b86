"""What a decider answers, and how much it may spend on the answer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from rumpus.checker.verdict import Valid


class Witness(msgspec.Struct, kw_only=True):
    """Why a history is refused: the few operations that contradict each other.

    **Minimal** means: forget any one of the operations, and what is left is acceptable. An
    operation is forgotten by taking it for one that may have happened at any time, or never;
    all operations outside the witness are. (To strike an operation out would be something
    else: without its write every read is wrong.)

    Attributes:
        operations: rows of the table, in order of call.
        description: the contradiction in words, with processes, values and times.
        minimal: whether that is known of them (always, up to 1,000 operations).
        prefix: rows in an order in which they can have taken effect, as far as any search got;
            None where the algorithm does not search.
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

    ``valid`` is True, False (then there is a witness), or "unknown" (then ``unknown`` says in
    words what stays open). ``operations`` is how many were judged.
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
    """The history does not, and these rows show it."""
    rows = sorted({int(row) for row in operations})
    return Decision(
        valid=False,
        witness=Witness(operations=rows, description=description, minimal=minimal),
    )


def undecided(*why: str) -> Decision:
    """Nobody knows, for these reasons."""
    return Decision(valid="unknown", unknown=list(why))


@dataclass(frozen=True)
class Budget:
    """How much a decision may cost; what is not spent by then stays unknown.

    Attributes:
        seconds: of the clock, from ``started`` on; None for no limit.
        bytes: of memory for what a search remembers; None for no limit.
        clock: seconds, monotonic.
    """

    seconds: float | None = None
    bytes: int | None = 2 << 30
    clock: Callable[[], float] = time.monotonic
    started: float = field(default=-1.0)

    def __post_init__(self) -> None:
        if self.started < 0:
            object.__setattr__(self, "started", self.clock())

    @property
    def deadline(self) -> float:
        """When the time is up, on the clock; infinite without a limit."""
        return float("inf") if self.seconds is None else self.started + self.seconds

    @property
    def spent(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.deadline
