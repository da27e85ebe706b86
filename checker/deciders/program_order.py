"""The order of a process's own operations, where the times of a history do not show it.

Operations of different processes are concurrent if one returns at the very time at which the other
is called. A process is sequential, though: what it calls at the time of its last return comes after
it. All deciders compare times alone, so here **ticks** are put into the times: at such a *moment*
everything from the process's call on is one nanosecond later, and so is all that follows.

- At a moment at which one process goes on, ticks say exactly what is known: calls of the others
  stay before the first tick, and their returns after the last one.
- Where several processes go on at once no times can say what is known (two chains of which neither
  precedes the other are no interval order). Such moments are **contested**. The records' order is
  one that may have been there: with it, a history that is accepted is valid. The order of one
  process alone is less than what is known: with it, one that is refused is a violation.
"""

from dataclasses import dataclass, replace

import numpy as np

from rumpus.checker.deciders.decision import Decision
from rumpus.checker.deciders.operation_table import NEVER, OperationTable
from rumpus.checker.deciders.values import Flags, Ints


@dataclass(frozen=True)
class ProgramOrder:
    """A table in whose times the order of each process can be seen.

    Attributes:
        table: its times have ticks; its rows are in order of call.
        rows: the row of the original table, for each row.
        contested: the moments at which several processes go on, in the times of the original.
    """

    table: OperationTable
    rows: Ints
    contested: Ints

    def of_original(self, decision: Decision) -> Decision:
        """A decision about `table`, with its rows turned into rows of the original."""
        if witness := decision.witness:
            witness.operations = sorted(int(self.rows[row]) for row in witness.operations)
            if witness.prefix is not None:
                witness.prefix = [int(self.rows[row]) for row in witness.prefix]
            if witness.stuck is not None:
                witness.stuck = int(self.rows[witness.stuck])
        return decision


def program_order(table: OperationTable, alone: int | None = None) -> ProgramOrder | None:
    """Put ticks into the times of a table; None if no process goes on at the time of its return.

    Args:
        table: the operations.
        alone: the process whose order alone counts at contested moments; by default that of the
            records does.
    """
    by_process = np.argsort(table.process, kind="stable")
    before, after = by_process[:-1], by_process[1:]
    same = table.process[before] == table.process[after]
    ties = same & (table.returned[before] == table.call[after])
    if not ties.any():
        return None
    leads, follows = before[ties], after[ties]
    moments, contested = _moments(table, follows)
    if alone is not None:
        kept = ~np.isin(table.call[follows], contested) | (table.process[follows] == alone)
        leads, follows = leads[kept], follows[kept]
        if not len(follows):
            return ProgramOrder(table, np.arange(len(table)), contested)
        moments, _ = _moments(table, follows)
    events = _events(table, moments, leads, follows)
    levels = _levels_of_one(events, len(moments))
    if alone is None:
        several = np.isin(moments, contested)[events.moment]
        levels = np.where(several, _levels_of_records(events), levels)
    counts = np.zeros(len(moments), dtype=np.int64)
    np.maximum.at(counts, events.moment, levels)
    passed = np.concatenate(([0], np.cumsum(counts)))
    call = table.call + passed[np.searchsorted(moments, table.call)]
    known = table.returned != NEVER
    returned = table.returned + np.where(known, passed[np.searchsorted(moments, table.returned)], 0)
    back = events.returns
    call[events.row[~back]] += levels[~back]
    returned[events.row[back]] += levels[back]
    first = np.repeat(moments + passed[:-1], counts)
    ticks = first + 1 + np.arange(len(first)) - np.repeat(passed[:-1], counts)
    rows = np.argsort(call, kind="stable")
    ticked = replace(table, call=call, returned=returned, ticks=ticks).take(rows)
    return ProgramOrder(ticked, rows, contested)


def _moments(table: OperationTable, following: Ints) -> tuple[Ints, Ints]:
    """The moments at which processes go on, and those at which several do; both ascending."""
    pairs = np.unique(np.stack((table.call[following], table.process[following])), axis=1)
    moments, processes = np.unique(pairs[0], return_counts=True)
    return moments, moments[processes > 1]


@dataclass(frozen=True)
class _Events:
    """The calls and returns at some moments, by moment, then in order of the records.

    Attributes:
        row: of the table.
        moment: its number.
        returns: whether the event is the row's return.
        goes_on: for a return, whether its process calls again at the moment; for a call, whether
            its process has returned at the moment.
    """

    row: Ints
    moment: Ints
    returns: Flags
    goes_on: Flags


def _events(table: OperationTable, moments: Ints, leads: Ints, follows: Ints) -> _Events:
    """What happens at moments at which some rows lead to others of their process."""
    calls = np.flatnonzero(np.isin(table.call, moments))
    backs = np.flatnonzero(np.isin(table.returned, moments))
    row = np.concatenate((calls, backs))
    returns = np.arange(len(row)) >= len(calls)
    time = np.where(returns, table.returned[row], table.call[row])
    recorded = bool((table.completion[backs] >= 0).all())
    place = np.where(returns, table.completion[row], table.index[row]) if recorded else row
    order = np.lexsort((returns, place, time))
    row, returns = row[order], returns[order]
    goes_on = np.where(returns, np.isin(row, leads), np.isin(row, follows))
    return _Events(row, np.searchsorted(moments, time[order]), returns, goes_on)


def _levels_of_records(events: _Events) -> Ints:
    """Ticks before each event: one wherever a call follows a return."""
    first = np.concatenate(([True], events.moment[1:] != events.moment[:-1]))
    turns = np.concatenate(([False], events.returns[:-1])) & ~events.returns & ~first
    return _counted(turns, first, events.moment)


def _levels_of_one(events: _Events, moments: int) -> Ints:
    """Ticks before each event, where one process goes on: one before each of its further calls."""
    first = np.concatenate(([True], events.moment[1:] != events.moment[:-1]))
    again = events.goes_on & ~events.returns
    last = np.bincount(events.moment, weights=again, minlength=moments).astype(np.int64)
    levels = np.where(events.goes_on, _counted(again, first, events.moment), 0)
    return np.where(events.returns & ~events.goes_on, last[events.moment], levels)


def _counted(flags: Flags, first: Flags, moment: Ints) -> Ints:
    """How many flags there are up to each event since its moment's first event."""
    total = np.cumsum(flags)
    return total - (total - flags)[np.flatnonzero(first)][moment]
