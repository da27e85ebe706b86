"""What ``rumpus check --model`` found, as a document and in words."""

from pathlib import Path

import msgspec

from rumpus.checker.deciders.decision import Decision
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.valid import Valid
from rumpus.results.escapes import escaped

_HEADLINES = {
    True: "✔ Valid: the operations follow the model",
    False: "✘ Violation: the operations contradict the model",
    "unknown": "? Unknown: the history does not settle the question",
}


class DecisionDocument(msgspec.Struct, kw_only=True):
    """The answer, as ``rumpus check --model M --json`` prints it.

    Operations are named by the index of the record of their call. ``seconds`` is the time that the
    decision took, ``read_seconds`` the time that reading the file took. The other fields are those
    of `checker.deciders.decision`.
    """

    file: str
    format: str
    model: str
    valid: Valid
    exit_code: int
    algorithm: str
    operations: int
    seconds: float
    read_seconds: float
    witness: list[int]
    description: str | None
    minimal: bool | None
    prefix: list[int] | None
    stuck: int | None
    states: list[str]
    unknown: list[str]

    def to_json(self) -> bytes:
        """As JSON in UTF-8, indented so that people can read it."""
        return msgspec.json.format(msgspec.json.encode(self)) + b"\n"

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        return _HEADLINES[self.valid]

    def remarks(self) -> list[str]:
        """Why it is not valid, in words; control characters from the history are escaped."""
        return self.unknown if self.description is None else [escaped(self.description)]

    def facts(self) -> list[str]:
        """What was decided, how, and in what time."""
        return [
            f"model:      {self.model}",
            f"algorithm:  {self.algorithm}",
            f"operations: {self.operations:,}, of {self.file} ({self.format})",
            f"time:       {self.seconds:.3f} s, and {self.read_seconds:.3f} s for reading",
        ]


def decision_document(
    file: Path,
    name: str,
    table: OperationTable,
    decision: Decision,
    *,
    seconds: float,
    read_seconds: float,
) -> DecisionDocument:
    """The document of a decision.

    Args:
        file: the history that was judged.
        name: its format.
        table: its operations.
        decision: what was found; its rows are the table's.
        seconds: how long the decision took.
        read_seconds: how long reading took.
    """
    witness = decision.witness

    def indices(rows: list[int]) -> list[int]:
        return [int(table.index[row]) for row in rows]

    return DecisionDocument(
        file=str(file),
        format=name,
        model=decision.model,
        valid=decision.valid,
        exit_code={True: 0, False: 1, "unknown": 3}[decision.valid],
        algorithm=decision.algorithm,
        operations=decision.operations,
        seconds=round(seconds, 6),
        read_seconds=round(read_seconds, 6),
        witness=indices(witness.operations) if witness else [],
        description=witness.description if witness else None,
        minimal=witness.minimal if witness else None,
        prefix=indices(witness.prefix) if witness and witness.prefix is not None else None,
        stuck=int(table.index[witness.stuck]) if witness and witness.stuck is not None else None,
        states=witness.states if witness else [],
        unknown=decision.unknown,
    )
