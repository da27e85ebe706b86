"""A register each of whose values is written once, so that each read names its write.

**Decided**: linearizability of reads and writes of one register, if every value that some read
returned was written at most once, the initial value counting as a write at the beginning of time.
(Values that no read returned may be written several times.)

**Algorithm.** A write and the reads of its value form a cluster. In a linearization the operations
of a cluster are contiguous, with the write first, and any order of the clusters that the times
allow is legal (`checker.deciders.registers.zones`). Within a cluster the write can be first if no
read returned before it was called, and the reads can have any order that the times allow. So there
are three reasons to refuse a history: a value was read that was never written; a read returned
before the write of its value was called; two clusters contradict each other.

*Unknown outcomes*: an unknown read is ignored. An unknown write whose value some read returned did
take effect: it belongs to its cluster with its call, and never returned. One whose value no read
returned is left out: no other operation depends on it.

**Cost**: O(n log n) for sorting zones; values that are no integers are hashed.

Source: Gibbons and Korach, Testing shared memories, SIAM J. Comput. 26(4), 1997, section 4
(reads mapped to writes). `checker.deciders.registers.zones` orders the clusters.
"""

from collections.abc import Callable, Hashable

import numpy as np

from rumpus.checker.deciders.decide import (
    Algorithm,
    Decider,
    ModelEntry,
    decided_key_by_key,
    searched,
)
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OK, OperationTable
from rumpus.checker.deciders.registers.value_numbers import one_numbering
from rumpus.checker.deciders.registers.zones import contradicting_clusters
from rumpus.checker.deciders.values import MISSING, Ints, Values
from rumpus.checker.deciders.wording import at, before, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.model import Model
from rumpus.checker.models.register import CasRegister, Register

_ZONES = Algorithm(
    name="zones",
    when="each value that is read was written once, and nothing compares and sets",
    cost="O(n log n)",
    source="Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997",
)
_SEARCH = searched("otherwise")


def decide_unique_writes(table: OperationTable, initial: Hashable = None) -> Decision | None:
    """Whether the reads and writes of one register are linearizable.

    Args:
        table: operations ``read`` and ``write``; others are ignored.
        initial: what reads return before anything is written.

    Returns:
        None if a value was read that was written more than once: another algorithm must decide.
    """
    happened = table.outcome == OK
    writes = np.flatnonzero(table.is_f("write") & (table.outcome != FAIL))
    reads = np.flatnonzero(table.is_f("read") & happened)
    (written, read, first), count = one_numbering(
        (table.argument[writes], table.result[reads], Values.of([initial]))
    )
    seen = np.zeros(count, dtype=np.bool_)
    seen[read] = True
    born = np.bincount(written, minlength=count)
    born[first] += 1
    if bool((born[seen] > 1).any()):
        return None
    unborn = np.flatnonzero(born[read] == 0)
    if len(unborn):
        row = int(reads[unborn[0]])
        return refused([row], f"{_told(table, row)}, and nobody ever wrote that")

    begins = np.full(count, MISSING)
    ends = np.full(count, NEVER)
    known = seen[written]
    begins[written[known]] = table.call[writes[known]]
    ends[written[known]] = table.returned[writes[known]]
    called, returned = table.call[reads], table.returned[reads]
    early = np.flatnonzero(returned < begins[read])
    if len(early):
        row = int(reads[early[0]])
        return _read_before_written(table, row, int(writes[written == read[early[0]]][0]))

    np.maximum.at(begins, read, called)
    np.minimum.at(ends, read, returned)
    ends[first] = MISSING
    values = np.flatnonzero(seen)
    unread = writes[~known & happened[writes]]
    pair = contradicting_clusters(
        np.concatenate((ends[values], table.returned[unread])),
        np.concatenate((begins[values], table.call[unread])),
    )
    if pair is None:
        return accepted()

    def cluster(place: int) -> Ints:
        if place >= len(values):
            lone: Ints = unread[place - len(values) :][:1]
            return lone
        value = values[place]
        rows: Ints = np.concatenate((writes[written == value], reads[read == value]))
        return rows

    is_first = [place < len(values) and values[place] == int(first[0]) for place in pair]
    one, other = (cluster(place) for place in pair)
    if is_first[1]:
        one, other = other, one
    return _interleaved(table, one, other, from_the_start=any(is_first), initial=initial)


def _told(table: OperationTable, row: int) -> str:
    """An operation in words: ``read() -> 3 of process 1``."""
    words = Register().describe(table.function(row), table.argument[row], table.result[row])
    return f"{words} of {who(table, row)}"


def _read_before_written(table: OperationTable, read: int, write: int) -> Decision:
    returned, call = int(table.returned[read]), int(table.call[write])
    return refused(
        [read, write],
        f"{_told(table, read)} returned at {at(table, returned, call)}, before the only write "
        f"of that value was called: {_told(table, write)} at {at(table, call, returned)}",
    )


def _interleaved(
    table: OperationTable, one: Ints, other: Ints, *, from_the_start: bool, initial: Hashable
) -> Decision:
    """The refusal of two clusters each of which must precede the other.

    Args:
        table: the operations.
        one: rows of a cluster.
        other: rows of another.
        from_the_start: whether the first is the cluster of the initial value.
        initial: the initial value.
    """

    def ends(rows: list[int]) -> tuple[int, int]:
        """Who returned first, and who was called last."""
        return min(rows, key=lambda row: int(table.returned[row])), max(
            rows, key=lambda row: int(table.call[row])
        )

    def contradict(rows: list[int], others: list[int]) -> bool:
        # An unknown write is known to have happened by the reads of its value only.
        if any(not (table.outcome[each] == OK).any() for each in (rows, others)):
            return False
        (first, last), (first_other, last_other) = ends(rows), ends(others)
        precedes = from_the_start or table.returned[first] < table.call[last_other]
        return bool(precedes and table.returned[first_other] < table.call[last])

    kept = [sorted(set(ends(rows.tolist()))) for rows in (one, other)]
    for part in kept:
        for row in list(part):
            part.remove(row)
            if not all(kept) or not contradict(*kept):
                part.append(row)
    (first, last), (first_other, last_other) = map(ends, kept)

    def then(row: int, later: int) -> str:
        return before(table, row, later, _told(table, row), _told(table, later))

    if from_the_start:
        description = (
            f"{then(first_other, last)}; but {initial!r} was only there at the beginning, and "
            "nobody wrote it"
        )
    else:
        description = (
            f"{then(first, last_other)}; but {then(first_other, last)}; and each of the two "
            "values was written only once"
        )
    return refused([*kept[0], *kept[1]], description)


def _decider(model: Callable[[Hashable], Model]) -> Decider:
    """Zones where they apply, else the search over a model."""

    def decide_part(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
        compared = table.is_f("cas") & ((table.outcome != FAIL) | table.refused)
        decision = None if compared.any() else decide_unique_writes(table, initial)
        return decision or check_linearizable(model(initial), table, budget)

    return decided_key_by_key(decide_part, _ZONES)


_VOCABULARY = {"read": "() -> value", "write": "(value)"}
_INITIAL = "the value before anything is written (null)"

REGISTER = ModelEntry(
    name="register",
    summary="one value that is read and written",
    runs="none: registers of runs answer with versions, and `versioned-register` says more",
    functions=_VOCABULARY,
    initial=_INITIAL,
    algorithms=(_ZONES, _SEARCH),
    decide=_decider(Register),
    values=True,
)
CAS_REGISTER = ModelEntry(
    name="cas-register",
    summary="a register with compare-and-set",
    runs="none: registers of runs answer with versions, and `versioned-register` says more",
    functions={
        **_VOCABULARY,
        "cas": "([old, new]); failed without an error: the value was not the old one",
    },
    initial=_INITIAL,
    algorithms=(_ZONES, _SEARCH),
    decide=_decider(CasRegister),
    values=True,
)
