"""A table's operations on znodes, sorted by what they say about the order of zxids."""

from collections.abc import Collection, Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.operation_table import (
    FAIL,
    INFO,
    MISSING,
    NEVER,
    Ints,
    OperationTable,
    Values,
    WrongOperations,
)

WRITES = ("write", "create")
READS = ("read", "watch")
EARLIEST = -(2**63) + 1
"""Before every call: when an operation is forgotten, it may have been called at any time."""


class Sight(NamedTuple):
    """Evidence that a znode had some content at some zxid.

    Attributes:
        row: of the table: an acknowledged write, or a read.
        key: of the znode.
        zxid: the transaction that wrote it (`NOTHING` for a read that found no node).
        version: the znode's, from 0; None if it was not recorded.
        value: what was written or read.
        kind: ``write`` or ``read``.
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
"""The zxid of what was never there."""


class ZnodeOperations:
    """What a table says about znodes.

    Args:
        table: the operations.
        kept: rows that count; the others are forgotten: they may have happened at any time, or
            never. None for all.

    Attributes:
        table: the operations.
        writes: acknowledged writes.
        reads: acknowledged reads, those that found no node and those with a watch included.
        unknown: writes that may have taken effect.
        syncs: rows of acknowledged syncs on a live quorum.
        watches: rows of reads that leave a watch, or of unknown outcome may have left one.
        events: rows of events, of unknown outcome included, with their zxid if it is recorded.
        key: the znode of each row.
        session: whose view each row is; None where that was not recorded.
        call: when it was called, each row.
        returned: when it returned, each row; `NEVER` where that is not known.

    Raises:
        WrongOperations: something acknowledged lacks its zxid, or a number is none.
    """

    def __init__(self, table: OperationTable, kept: Collection[int] | None = None) -> None:
        self.table = table
        self.writes: list[Sight] = []
        self.reads: list[Sight] = []
        self.unknown: list[Unknown] = []
        self.syncs: list[int] = []
        self.watches: list[int] = []
        self.events: list[tuple[int, int | None]] = []
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
            elif f == "sync" and known and result[row] is not False:
                self.syncs.append(row)
            elif f == "event":
                self.events.append((row, zxid if zxid > 0 else None))
            if f == "watch":
                self.watches.append(row)


def explaining(
    table: OperationTable, kept: Collection[int]
) -> tuple[OperationTable, dict[int, int]]:
    """A part of a table that says as much of some rows as the whole, all others forgotten.

    Returns:
        The part, and the places of the rows in it.
    """
    rows = _relevant(table, frozenset(kept))
    place = {row: number for number, row in enumerate(rows.tolist())}
    return table.take(rows), {row: place[row] for row in kept}


def _relevant(table: OperationTable, kept: frozenset[int]) -> Ints:
    """The rows that are kept, and of all others as many as might explain them.

    Others may have happened at any time or never. So they explain what was read of a znode,
    one write each, or one version each that is missing; and of events and watches one of each
    session and znode does as well as many, but nobody counts them.
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
            f"record {int(table.index[row])}, an acknowledged {table.function(row)}, says {says}; "
            "ZooKeeper's promises are about the order of zxids"
        )
