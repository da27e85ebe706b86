"""How witnesses speak of operations and times: the same words in all deciders."""

from rumpus.checker.deciders.operation_table import NEVER, OperationTable

POSITIONS_BELOW = 10**6
"""Times that are all below are no nanoseconds of a run, but positions in a file without times."""


def who(table: OperationTable, row: int) -> str:
    """Who called a row: ``process 3``."""
    return f"process {int(table.process[row])}"


def at(table: OperationTable, time: int, *others: int) -> str:
    """A time in words: ``12.031 s`` after the first call, or ``position 17`` of the file.

    Args:
        table: the whole history.
        time: as in the table; `NEVER` reads as ``never``.
        others: times named beside this one: as many decimals are given as tell them apart.
    """
    if time == NEVER:
        return "never"
    if counts_positions(table):
        return f"position {time}"
    gaps = [abs(time - other) for other in others if other not in (time, NEVER)]
    closest = min(gaps, default=10**9)
    decimals = 3 if closest >= 10**6 else 6 if closest >= 10**3 else 9
    return f"{(time - table.start) / 1e9:.{decimals}f} s"


def between(table: OperationTable, start: int, end: int) -> str:
    """A span in words: ``between 12.031 s and 12.480 s``."""
    return f"between {at(table, start, end)} and {at(table, end, start)}"


def counts_positions(table: OperationTable) -> bool:
    """Whether the table's times are positions in a file that has no times."""
    if not len(table):
        return False
    returned = table.returned[table.returned != NEVER]
    latest = max(int(table.call[-1]), int(returned.max()) if len(returned) else 0)
    return latest < POSITIONS_BELOW
