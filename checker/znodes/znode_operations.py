"""A table's operations on znodes, sorted into writes, reads, syncs, watches and events."""

from collections.abc import Collection, Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.typed_values import FALSE
from rumpus.checker.deciders.values import MISSING, Ints, Values, WrongOperations

WRITES = ("write", "create")
READS = ("read", "watch")
EARLIEST = -(2**63) + 1
"""A time before every call: the call of an operation that does not count (see ``kept``)."""


class Sight(NamedTuple):
    """Evidence that a znode had some content at some zxid.

    Attributes:
        row: the row of the table: an acknowledged write, a read, or an event.
        key: the znode.
        zxid: the transaction that wrote it (`NOTHING` for a read that found no node), or of which
            an event was.
        version: the znode's version, from 0; None if it was not recorded.
        value: what was written or read.
        kind: ``write``, ``read`` or ``event``.
    """

    row: int
    key: Hashable
    zxid: int
    version: int | None
    value: Hashable
    kind: str


class Unknown(NamedTuple):
    """A write of unknown outcome: it may have taken effect after its call, or never."""

    row: int
    key: Hashable
    value: Hashable
    call: int


NOTHING = -1
"""The zxid of a read that found no node."""


class ZnodeOperations:
    """The operations of a table, sorted by their kind.

    Args:
        table: the operations.
        kept: the rows that count; None for all. The other rows are forgotten: such an operation
            may have happened at any time, or never.

    Attributes:
        table: the operations.
        writes: acknowledged writes.
        reads: acknowledged reads, including those that found no node and those that set a watch.
        unknown: writes that may have taken effect.
        syncs: rows of acknowledged syncs on a live quorum.
        watches: rows of reads that set a watch, or may have set one (unknown outcome).
        events: rows of events, also of unknown outcome, with their zxid if it is recorded.
        announced: those of them that are known to have arrived, with their zxid.
        key: the znode of each row.
        session: the session of each row; None if it was not recorded.
        call: when each row was called.
        returned: when each row returned; `NEVER` if that is not known.

    Raises:
        WrongOperations: an acknowledged operation has no zxid, or a zxid or version is not a
            number.
    """

    def __init__(self, table: OperationTable, kept: Collection[int] | None = None) -> None:
        self.table = table
        self.writes: list[Sight] = []
        self.reads: list[Sight] = []
        self.unknown: list[Unknown] = []
        self.syncs: list[int] = []
        self.watches: list[int] = []
        self.events: list[tuple[int, int | None]] = []
        self.announced: list[Sight] = []
        self.key = table.field("key").tolist()
        self.session = (
            table.field("session").tolist()
            if "session" in table.fields
            else [f"process {process}" for process in table.process.tolist()]
        )
        self.call: list[int] = table.call.tolist()
        self.returned: list[int] = np.where(table.outcome == INFO, NEVER, table.returned).tolist()
        keep = frozenset(range(len(table)) if kept is None else kept)
        rows = np.flatnonzero(table.outcome != FAIL) if kept is None else _relevant(table, keep)
        for row in rows.tolist():
            if row not in keep:
                self.call[row], self.returned[row] = EARLIEST, NEVER
        self._sort(rows)

    def _sort(self, rows: Ints) -> None:
        table = self.table
        argument, result = table.argument.tolist(), table.result.tolist()
        zxids = table.field("zxid").ints("zxids").tolist()
        versions = table.field("version").ints("versions").tolist()
        for row, number in zip(rows.tolist(), table.f[rows].tolist(), strict=True):
            f, key, zxid = table.functions[number], self.key[row], zxids[row]
            version = None if versions[row] == MISSING else versions[row]
            known = self.returned[row] != NEVER
            if known and f in READS + WRITES and (f in WRITES or result[row] is not None):
                _need_zxid(table, row, zxid)
            if f in WRITES and known:
                version = 0 if f == "create" and version is None else version
                self.writes.append(Sight(row, key, zxid, version, argument[row], "write"))
            elif f in WRITES:
                self.unknown.append(Unknown(row, key, argument[row], self.call[row]))
            elif f in READS and known:
                seen = NOTHING if zxid == MISSING else zxid
                self.reads.append(Sight(row, key, seen, version, result[row], "read"))
            elif f == "sync" and known and result[row] is not FALSE:
                self.syncs.append(row)
            elif f == "event":
                self.events.append((row, zxid if zxid > 0 else None))
                if known and zxid > 0:
                    self.announced.append(Sight(row, key, zxid, None, None, "event"))
            if f == "watch":
                self.watches.append(row)


def explaining(
    table: OperationTable, kept: Collection[int]
) -> tuple[OperationTable, dict[int, int]]:
    """A part of a table that suffices to judge some rows when all others are forgotten.

    Returns:
        The part of the table, and row -> its position in the part.
    """
    rows = _relevant(table, frozenset(kept))
    place = {row: number for number, row in enumerate(rows.tolist())}
    return table.take(rows), {row: place[row] for row in kept}


def _relevant(table: OperationTable, kept: frozenset[int]) -> Ints:
    """The rows that are kept, and enough of the others to explain them.

    The others may have happened at any time or never. So each write may explain one read of its
    znode, or one missing version, and no more writes are needed than that. All events and watches
    of these znodes are taken: one of each session and znode would do, but they are few.
    """
    rows = np.array(sorted(kept), dtype=np.int64)
    others = table.outcome != FAIL
    others[rows] = False
    keys = table.field("key").numbers
    chosen = [rows[table.outcome[rows] != FAIL]]
    chosen.append(np.flatnonzero(others & table.is_f("watch", "event") & np.isin(keys, keys[rows])))
    writes = others & table.is_f("write")
    versions = table.field("version")
    for key in np.unique(keys[rows]).tolist():
        own = rows[keys[rows] == key]
        known = versions.numbers[own][versions.present[own]]
        most = len(own) + (int(known.max() - known.min()) if len(known) else 0)
        of_key = np.flatnonzero(writes & (keys == key))
        chosen.append(of_key[:most])
        values = {table.result[row] for row in own.tolist()}
        chosen += [of_key[_equal(table.argument[of_key], value)][:most] for value in values]
    found: Ints = np.unique(np.concatenate(chosen))
    return found


def _equal(values: Values, value: Hashable) -> NDArray[np.bool_]:
    """Where a column has a value."""
    if value is None:
        return ~values.present
    if values.objects is None:
        return np.isin(values.numbers, [value] if type(value) is int else [])
    same = [number for number, each in enumerate(values.objects) if each == value]
    return np.isin(values.numbers, same)


def _need_zxid(table: OperationTable, row: int, zxid: int) -> None:
    if zxid < 0:
        says = "no zxid" if zxid == MISSING else f"the negative zxid {zxid}"
        raise WrongOperations(
            f"record {int(table.index[row])}, an acknowledged {table.function(row)}, has {says}; "
            "ZooKeeper's guarantees are judged by the order of zxids"
        )
