"""``rumpus.check``: decides whether the operations of any history follow a model."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from rumpus.checker.deciders.assumed_ends import without_assumed_ends
from rumpus.checker.deciders.decide import ModelEntry, count_answered, decide
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.operation_table import OperationTable, check_names
from rumpus.checker.deciders.table_builder import TableBuilder
from rumpus.checker.deciders.vacuous import could_be_wrong
from rumpus.checker.deciders.values import WrongOperations, freeze
from rumpus.checker.history import Op
from rumpus.checker.linearizability.own_model import ModelFailed, entry_of
from rumpus.checker.models.model import Model
from rumpus.checker.valid import Valid
from rumpus.model_choice import chosen_model, model_class, which_model
from rumpus.results.formats.history_formats import FORMATS, detect_format, read_table
from rumpus.results.run_directory import open_run
from rumpus.results.store_error import UnreadableRun
from rumpus.trial_failed import TrialFailed
from rumpus.usage_error import UsageError

BUDGET = 60.0
"""Seconds that a search may take by default."""

Format = Literal["auto", "jsonl", "edn", "porcupine-etcd", "porcupine-kv"]

_COLUMNS = 100
_OUTCOMES: dict[Valid, Literal["valid", "violation", "unknown"]] = {
    True: "valid",
    False: "violation",
    "unknown": "unknown",
}


@dataclass(frozen=True, kw_only=True)
class CheckedHistory:
    """Whether a history follows a model, and why not.

    Attributes:
        outcome: ``valid``, ``violation``, or ``unknown`` if the history does not settle it.
        reasons: why it is not valid, in words.
        model: the model's name.
        algorithm: what decided it.
        operations: how many operations there are.
        witness: the indices of the records of calls that contradict each other; a minimal set.
        drawing: these operations, drawn as lines of text; empty if there are none.
    """

    outcome: Literal["valid", "violation", "unknown"]
    reasons: Sequence[str]
    model: str
    algorithm: str
    operations: int
    witness: Sequence[int] = ()
    drawing: str = ""

    @property
    def valid(self) -> Valid:
        """True, False, or ``"unknown"``."""
        return next(valid for valid, outcome in _OUTCOMES.items() if outcome == self.outcome)

    def assert_valid(self) -> None:
        """Do nothing if the history follows the model.

        Raises:
            TrialFailed: it does not, or nobody can say; the message says why.
        """
        __tracebackhide__ = True
        if self.outcome != "valid":
            raise TrialFailed(str(self))

    def __str__(self) -> str:
        """The answer with its reasons, and the drawing."""
        lines = [f"{self.outcome}: {self.operations} operations, model {self.model}"]
        lines += [f"  {reason}" for reason in self.reasons]
        return "\n".join([*lines, "", self.drawing] if self.drawing else lines)


def check(
    history: str | Path | Iterable[Mapping[str, Any] | Op],
    model: str | type[Model],
    *,
    initial: Any = None,
    budget: float = BUDGET,
    format: Format = "auto",  # noqa: A002 - the word of the command line
) -> CheckedHistory:
    """Decide whether the operations of a history follow a model. No server is needed.

    Args:
        history: a file, or a run's directory, in any format of docs/reference/history-format.md;
            or records, each a mapping with ``process``, ``type`` (invoke, ok, fail or info),
            ``f``, ``value``, ``error`` and ``time`` in nanoseconds. If no record has a time, each
            happened after the one before.
        model: a model's name (docs/reference/models.md), ``package.module:Class``, or a subclass of
            ``rumpus.Model``.
        initial: the object's initial value; None for the model's own.
        budget: seconds that a search may take; what is open then is unknown.
        format: the file's format; ``auto``: found from its content.

    Raises:
        UsageError: there is no such model, it does not know an operation or value, or it fails;
            or a record is malformed.
        UnreadableRun: the file cannot be read.
    """
    if isinstance(model, str):
        entry = chosen_model(model)
    else:
        entry = entry_of(model.__qualname__, model_class(model, repr(model)))
    table = _table_of_file(Path(history), format) if isinstance(history, str | Path) else None
    if table is None:
        table = _table_of(history)
    try:
        decision = decided(entry, table, freeze(initial), budget)
    except WrongOperations as error:
        raise UsageError(f"not decided ({error}); {which_model(table)}") from error
    drawing, witness = "", decision.witness
    if witness is not None:
        from rumpus.results.pictures.witness_text import witness_text  # noqa: PLC0415 - slow to import

        drawing = witness_text(table, witness, _COLUMNS)
    return CheckedHistory(
        outcome=_OUTCOMES[decision.valid],
        reasons=decision.unknown if witness is None else [witness.description],
        model=entry.name,
        algorithm=decision.algorithm,
        operations=len(table),
        witness=[] if witness is None else [int(table.index[row]) for row in witness.operations],
        drawing=drawing,
    )


def decided(
    entry: ModelEntry, table: OperationTable, initial: Hashable, seconds: float
) -> Decision:
    """Decide a history; one in which no answer could have been wrong decides nothing.

    Nor does one that is valid only if sessions ended of whose end nothing is known.

    Raises:
        WrongOperations: the model does not know an operation or value.
        UsageError: it is a model of another repository, and fails.
    """
    budget = Budget(seconds=seconds)

    def decide_whole(table: OperationTable) -> Decision:
        decision = decide(entry, table, initial, budget)
        return without_assumed_ends(entry, table, initial, budget, decision)

    try:
        decision = decide_whole(table)
    except ModelFailed as error:
        raise UsageError(f"--model: {error}; -v shows where") from error
    if decision.valid is True and not count_answered(entry, table):
        decision.valid = "unknown"
        decision.unknown.append(
            f"no operation of {entry.name} was answered, so nothing could contradict it"
        )

    def decide_changed(table: OperationTable) -> Decision:
        try:
            return decide_whole(table)
        except ModelFailed as error:  # it need not know the values that were put in
            raise WrongOperations(str(error)) from error

    if decision.valid is True and not could_be_wrong(entry, table, decide_changed, budget):
        decision.valid = "unknown"
        decision.unknown.append(
            f"whatever had been answered, {entry.name} would have found nothing wrong with these "
            "operations: there are too few that could contradict each other"
        )
    return decision


def _table_of_file(path: Path, name: str) -> OperationTable:
    file = open_run(path).history
    found = detect_format(file) if name == "auto" else name
    if found is None or found not in FORMATS:
        raise UnreadableRun(
            file,
            "no history: it begins like none of the formats that are known",
            f"name its format: {', '.join(FORMATS)}",
        )
    return read_table(file, found)


def _table_of(records: Any) -> OperationTable:
    """The operations of records in memory."""
    ops: list[Op] = []
    given = list(records)
    for index, each in enumerate(given):
        if not isinstance(each, Op | Mapping):
            raise UsageError(
                f"record {index} of the history is a {type(each).__name__}; it must be a rumpus.Op "
                "or a mapping with process, type, f and value"
            )
    timed = any(isinstance(each, Op) or "time" in each for each in given)
    for index, record in enumerate(given):
        try:
            if isinstance(record, Op):
                op = record
            else:
                more = {} if timed else {"time": index}
                op = msgspec.json.decode(msgspec.json.encode({**record, **more}), type=Op)
        except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as error:
            raise UsageError(f"record {index} of the history: {error}") from error
        ops.append(msgspec.structs.replace(op, index=index))
    builder = TableBuilder()
    try:
        builder.add(ops)
        table = builder.build()
        check_names(table)
    except ValueError as error:
        raise UsageError(f"no history ({error}); see docs/reference/history-format.md") from error
    if not len(table):
        raise UsageError("there are no operations of clients in the history")
    return table
