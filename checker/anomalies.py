"""Building anomalies from operations or holds, and times in their descriptions."""

from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.verdict import Anomaly


def at(history: History, time: int) -> str:
    """A time (ns on the run's clock) in words: ``12.031 s`` after the first record."""
    return f"{(time - history.start) / 1e9:.3f} s"


def seconds_waited(operation: Operation) -> float:
    """How long an operation that has returned took."""
    return (operation.done.time - operation.invoke.time) / 1e9


def anomaly_of(history: History, kind: str, description: str, *operations: Operation) -> Anomaly:
    """An anomaly of some operations, from the first call to the last return.

    An operation without completion counts as returning at its call.
    """
    return Anomaly(
        kind=kind,
        description=description,
        ops=sorted({index for operation in operations for index in operation.indices}),
        clients=sorted({history.caller(each) for each in operations}),
        start=min(each.invoke.time for each in operations),
        end=max((each.completion or each.invoke).time for each in operations),
    )


def anomaly_of_hold(kind: str, description: str, hold: Hold, end: int) -> Anomaly:
    """An anomaly of one hold, from its grant to ``end``."""
    return Anomaly(
        kind=kind,
        description=description,
        ops=list(hold.ops),
        clients=[hold.client],
        start=hold.granted,
        end=end,
    )


def anomaly_of_grants(kind: str, description: str, one: Hold, other: Hold) -> Anomaly:
    """An anomaly of two holds, from the grant of ``one`` to the grant of ``other``."""
    return Anomaly(
        kind=kind,
        description=description,
        ops=sorted({*one.ops, *other.ops}),
        clients=sorted({one.client, other.client}),
        start=one.granted,
        end=other.granted,
    )
