"""Anomalies of operations: which records they are made of, of whom, and from when to when."""

from rumpus.checker.history import History, Operation
from rumpus.checker.holds import Hold
from rumpus.checker.verdict import Anomaly


def seconds_waited(operation: Operation) -> float:
    """How long an operation that has returned took."""
    assert operation.completion is not None
    return (operation.completion.time - operation.invoke.time) / 1e9


def anomaly_of(history: History, kind: str, description: str, *operations: Operation) -> Anomaly:
    """What is wrong with some operations, from the first one's call to the last one's return.

    An operation that is still open ends with its call.
    """
    return Anomaly(
        kind=kind,
        description=description,
        ops=sorted({index for operation in operations for index in operation.indices}),
        clients=sorted({history.caller(each) for each in operations}),
        start=min(each.invoke.time for each in operations),
        end=max((each.completion or each.invoke).time for each in operations),
    )


def anomaly_of_grants(kind: str, description: str, one: Hold, other: Hold) -> Anomaly:
    """What is wrong with two holds, from the first one's grant to the second one's."""
    return Anomaly(
        kind=kind,
        description=description,
        ops=sorted({*one.ops, *other.ops}),
        clients=sorted({one.client, other.client}),
        start=one.granted,
        end=other.granted,
    )
