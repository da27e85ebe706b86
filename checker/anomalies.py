"""Anomalies of operations: which records they are made of, of whom, and from when to when."""

from rumpus.checker.history import History, Operation
from rumpus.checker.verdict import Anomaly


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
