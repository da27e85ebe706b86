"""How all deciders name operations and times in the descriptions of witnesses."""

from rumpus.checker.deciders.operation_table import NEVER, OperationTable

POSITIONS_BELOW = 10**6
"""If all times are below this they are positions in a file, not nanoseconds."""


def who(table: OperationTable, row: int) -> str:
    """The process that called an operation: ``process 3``."""
    return f"process {int(table.process[row])}"


def at(table: OperationTable, time: int, *others: int) -> str:
    """A time in words: ``12.031 s`` after the first call, or ``position 17`` of the file.

    Args:
        table: the whole history.
        time: as in the table; `NEVER` reads as ``never``.
        others: times in the same sentence; there are enough decimals to tell them apart.
    """
    if time == NEVER:
        return "never"
    time, others = table.clock(time), tuple(table.clock(o) for o in others if o != NEVER)
    if counts_positions(table):
        return f"position {time}"
    gaps = [abs(time - other) for other in others if other != time]
    closest = min(gaps, default=10**9)
    decimals = 3 if closest >= 10**6 else 6 if closest >= 10**3 else 9
    return f"{(time - table.start) / 1e9:.{decimals}f} s"


def between(table: OperationTable, start: int, end: int) -> str:
    """An interval in words: ``between 12.031 s and 12.480 s``."""
    return f"between {at(table, start, end)} and {at(table, end, start)}"


def before(table: OperationTable, row: int, later: int, first: str, second: str) -> str:
    """That a row returned before another was called, with the words for both operations.

    ``<first> returned at 1.000 s, before <second> was called at 2.000 s``. One process may do both
    at the same time of the clock.
    """
    returned, call = int(table.returned[row]), int(table.call[later])
    if table.clock(returned) == table.clock(call):
        return f"{first} returned before {second} was called, both at {at(table, call)}"
    return (
        f"{first} returned at {at(table, returned, call)}, before {second} was called at "
        f"{at(table, call, returned)}"
    )


def counts_positions(table: OperationTable) -> bool:
    """Whether the times are positions in a file that has no times."""
    if not len(table):
        return False
    returned = table.returned[table.returned != NEVER]
    latest = max(int(table.call[-1]), int(returned.max()) if len(returned) else 0)
    return table.clock(latest) < POSITIONS_BELOW
