"""The records of a run that may branch: they are held in memory until the run is over."""

import msgspec

from rumpus.checker.history import Op
from rumpus.harness.driver import Sink
from rumpus.results.record import RunRecord


class HeldRecords:
    """Keeps the records of a run, and writes them when it is over.

    What a run was asked to do stands in the first record, and a branch is another run.

    Args:
        sink: takes the records at the end.
        record: of the run; a branch changes it.
    """

    def __init__(self, sink: Sink, record: RunRecord) -> None:
        self._sink = sink
        self._record = record
        self._held: list[Op] = []

    def append(self, op: Op) -> Op:
        """Take one record; returns it with its index."""
        op = msgspec.structs.replace(op, index=len(self._held))
        self._held.append(op)
        return op

    def flush(self) -> None:
        """Write what is held."""
        if not self._held:
            return
        first = msgspec.structs.replace(self._held[0], value=self._record.first_record().value())
        for op in (first, *self._held[1:]):
            self._sink.append(op)
        self._held.clear()
        self._sink.flush()
