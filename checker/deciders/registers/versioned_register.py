"""A register whose answers carry versions: a znode with its `version`, or with a `zxid`.

**Decided**: linearizability of

- ``write(value) -> {version}``: the version becomes one more, and is returned;
- ``read() -> {value, version}``;
- ``cas([expected version, value]) -> {version}``: a write if the version is the expected one;
  failed without an error (`OperationTable.refused`), it was another.

An answer may have both: then each version has one zxid, and no later one has a smaller zxid. (Two
writes in one transaction have the same.)

With the field ``zxid`` (if no operation has a ``version``) the same, except that a write's number
only has to be larger than all before, and that there is no cas.

**Algorithm.** Versions give the order: write k before the reads of version k before write k + 1.
It remains to check (1) that no version is written twice, that all results agree on the value of a
version, and that each version that was returned is possible; (2) that the times allow the order
(`checker.deciders.registers.version_order`); (3) that the *gaps*, versions up to the highest known
one that no acknowledged write returned, can have been made by writes of unknown outcome.

*Gaps.* `checker.deciders.registers.version_gaps` assigns the writes of unknown outcome to them. By
zxid only numbers that were read can be gaps.

*A refused cas* is placed like a read, at the least version at which it can have been; see
`checker.deciders.registers.refused_comparisons`.

*Unknown outcomes*: unknown reads are ignored; unknown writes fill gaps or never took effect.

**Cost**: O(n), and sorts of what is unknown or was refused; by zxid O(n log n).

Source: Gibbons and Korach, Testing shared memories, SIAM J. Comput. 26(4), 1997, where the order
of the writes is given.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key
from rumpus.checker.deciders.decision import Decision, accepted
from rumpus.checker.deciders.forgetting import Contradiction, contradicting, refusal
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OperationTable
from rumpus.checker.deciders.registers.refused_comparisons import Placed, place_refused
from rumpus.checker.deciders.registers.version_gaps import ANY, unfilled_gap
from rumpus.checker.deciders.registers.version_order import out_of_order
from rumpus.checker.deciders.registers.versioned_answers import (
    VERSION,
    ZXID,
    Answers,
    Beginning,
    answers_of,
)
from rumpus.checker.deciders.values import MISSING, Ints
from rumpus.checker.deciders.wording import at, before

_ALGORITHM = Algorithm(
    name="version order",
    when="always",
    cost="O(n), by zxid O(n log n)",
    source="Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997",
)


def decide_versions(table: OperationTable, initial: Hashable = None) -> Decision:
    """Whether the reads and writes of one register follow the versions that they returned.

    Args:
        table: operations ``read``, ``write`` and ``cas``.
        initial: the value at version 0, or an object of ``value`` and ``version`` (or ``zxid``)
            to begin with. If it is None the initial value is unknown: all reads of it must agree.

    Raises:
        WrongOperations: an answer lacks its version, a version is no integer, the argument of a
            cas is no pair of a version and a value, or there is a cas and no version.
    """
    kind = VERSION if ZXID not in table.fields or table.field(VERSION).present.any() else ZXID
    find = partial(contradiction, beginning=Beginning.of(initial, kind), kind=kind)
    found = find(table)
    return accepted() if found is None else refusal(table, found, find)


def contradiction(table: OperationTable, beginning: Beginning, kind: str) -> Contradiction | None:
    """A contradiction, if there is one.

    Args:
        table: the operations, in any order.
        beginning: the initial value and version.
        kind: `VERSION` or `ZXID`.
    """
    answers = answers_of(table, beginning, kind)
    return impossible_alone(answers) or _impossible_together(answers)


def impossible_alone(answers: Answers) -> Contradiction | None:
    """An operation that is impossible whatever the times of the others are."""
    of_reads, of_writes = answers.number[answers.reads], answers.number[answers.writes]
    start, kind = answers.beginning.number, answers.kind
    differs = answers.read != answers.first

    def alone(rows: Ints, why: str) -> Contradiction | None:
        if not len(rows):
            return None
        return contradicting([int(rows[0])], answers.told, why, surely=True)

    if start is not None:
        below = np.concatenate(
            (answers.writes[of_writes <= start], answers.reads[of_reads < start])
        )
        if found := alone(below, f"the register began with {kind} {start}"):
            return found
        if answers.beginning.known:
            wrong = answers.reads[(of_reads == start) & differs]
            if found := alone(wrong, f"it began with {answers.beginning.value!r}"):
                return found
    expected = answers.expected[answers.writes]
    wrong = answers.writes[(expected != MISSING) & (of_writes != expected + 1)]
    if found := alone(wrong, "a cas makes the version after the one that it expects"):
        return found
    if kind == VERSION:
        assert start is not None
        most = start + len(answers.writes) + len(answers.lost)
        for above in (answers.writes[of_writes > most], answers.reads[of_reads > most]):
            if found := alone(above, f"all writes together lead to version {most} at most"):
                return found
    unwritten = np.ones(answers.values, dtype=np.bool_)
    unwritten[answers.written] = False
    unwritten[answers.lost_value] = False
    unborn = unwritten[answers.read]
    if start is not None:
        unborn &= of_reads != start
    elif answers.beginning.known:
        unborn &= differs
    else:
        return None
    return alone(answers.reads[unborn], "nobody ever wrote that value")


def _impossible_together(answers: Answers) -> Contradiction | None:
    of_writes, of_reads = answers.counted()
    size = 1 + max((int(each.max()) for each in (of_writes, of_reads) if len(each)), default=0)
    if found := _written_twice(answers, of_writes) or _other_zxids(answers):
        return found
    # The last assignment counts: the first read of a version, and a write before any read.
    known_by = np.full(size, -1)
    value_of = np.full(size, ANY)
    known_by[of_reads[::-1]], value_of[of_reads[::-1]] = answers.reads[::-1], answers.read[::-1]
    known_by[of_writes], value_of[of_writes] = answers.writes, answers.written
    other = value_of[of_reads] != answers.read
    if other.any():
        place = int(np.argmax(other))
        pair = [int(known_by[of_reads[place]]), int(answers.reads[place])]
        return _pair(answers, pair, f"a {answers.kind} has one value")

    rows = np.concatenate((answers.writes, answers.reads))
    versions = np.concatenate((of_writes, of_reads))
    placed = None
    if len(answers.refused):
        placed = _place_refused(answers, rows, versions, size)
        rows = np.concatenate((rows, answers.refused))
        versions = np.concatenate((versions, placed.version))
    order = _Order(answers, rows, versions, placed)
    return order.out_of_order() or order.unfilled_gap(value_of)


def _written_twice(answers: Answers, of_writes: Ints) -> Contradiction | None:
    twice = np.flatnonzero(np.bincount(of_writes) > 1) if len(of_writes) else of_writes
    if not len(twice):
        return None
    pair = answers.writes[of_writes == twice[0]][:2].tolist()
    return _pair(answers, pair, f"no two writes make the same {answers.kind}")


def _other_zxids(answers: Answers) -> Contradiction | None:
    """Two answers with versions whose zxids contradict them."""
    if answers.kind != VERSION or ZXID not in answers.table.fields:
        return None
    zxids = answers.table.field(ZXID).ints("the zxids of a versioned-register")
    rows = np.concatenate((answers.writes, answers.reads))
    rows = rows[zxids[rows] != MISSING]
    rows = rows[np.lexsort((zxids[rows], answers.number[rows]))]
    apart, after = np.diff(answers.number[rows]) > 0, np.diff(zxids[rows])
    wrong = np.flatnonzero(np.where(apart, after < 0, after != 0))
    if not len(wrong):
        return None
    pair = rows[wrong[0] : wrong[0] + 2].tolist()
    one, other = (f"0x{zxids[row]:x}" for row in pair)
    why = "a later version has no smaller zxid" if apart[wrong[0]] else "a version has one zxid"
    return contradicting(
        pair, answers.told, f"{why}, and these have {one} and {other}", surely=True
    )


def _pair(answers: Answers, rows: list[int], why: str) -> Contradiction:
    return contradicting(rows, answers.told, why, surely=not answers.comparing)


def _place_refused(answers: Answers, rows: Ints, versions: Ints, size: int) -> Placed:
    assert answers.beginning.number is not None
    table = answers.table
    return place_refused(
        table.call[answers.refused],
        table.returned[answers.refused],
        answers.expected[answers.refused] - answers.beginning.number,
        _first_return_from(versions, table.returned[rows], size),
    )


def _first_return_from(versions: Ints, returned: Ints, size: int) -> Ints:
    """Of each version the first return of anything of that version or a later one."""
    first = np.full(size, NEVER)
    np.minimum.at(first, versions, returned)
    from_here: Ints = np.minimum.accumulate(first[::-1])[::-1]
    return from_here


@dataclass(frozen=True)
class _Order:
    """The operations in the order of their versions.

    Attributes:
        answers: theirs.
        rows: acknowledged writes, then reads, then refused cas.
        versions: of each, counted from the beginning.
        placed: how the refused were placed; None if there are none.
    """

    answers: Answers
    rows: Ints
    versions: Ints
    placed: Placed | None

    def out_of_order(self) -> Contradiction | None:
        """Two operations whose times contradict the order of their versions."""
        table, answers = self.answers.table, self.answers
        rank = 2 * self.versions
        rank[len(answers.writes) :] += 1
        pair = out_of_order(rank, table.call[self.rows], table.returned[self.rows])
        if pair is None:
            return None
        late, early = (int(self.rows[place]) for place in pair)

        def words(table: OperationTable) -> str:
            first, second = self._told(table, pair[1]), answers.told(table, late)
            return before(table, early, late, first, second)

        reason = [late, *self._held_by(early)]
        return Contradiction(reason, words, surely=not answers.comparing)

    def unfilled_gap(self, value_of: Ints) -> Contradiction | None:
        """A version that no write can have made.

        Args:
            value_of: the value of each version that some operation returned, or `ANY`.
        """
        answers, table = self.answers, self.answers.table
        size = max(len(value_of), 1 + int(self.versions.max(initial=0)))
        made = np.zeros(size, dtype=np.bool_)
        made[0] = True
        made[self.versions[: len(answers.writes)]] = True
        gaps = np.flatnonzero(~made)
        if not len(gaps):
            return None
        values = np.full(size, ANY)
        values[: len(value_of)] = value_of
        deadlines = _first_return_from(self.versions, table.returned[self.rows], size)
        expected = answers.expected[answers.lost]
        start = answers.beginning.number or 0
        lost = zip(
            table.call[answers.lost].tolist(),
            answers.lost_value.tolist(),
            np.where(expected == MISSING, MISSING, expected - start).tolist(),
            strict=True,
        )
        place = unfilled_gap(
            gaps.tolist(), values[gaps].tolist(), deadlines[gaps].tolist(), list(lost)
        )
        return None if place is None else self._no_write_for(int(gaps[place]), values)

    def _no_write_for(self, gap: int, values: Ints) -> Contradiction:
        answers, table = self.answers, self.answers.table
        above = np.flatnonzero(self.versions >= gap)
        first = int(above[np.argmin(table.returned[self.rows[above]])])
        knows = int(self.rows[first])
        writes, lost, reads = answers.writes, answers.lost, self.rows[:0]
        name, value = f"version {gap + (answers.beginning.number or 0)}", ""
        if values[gap] != ANY:
            writes = writes[answers.written == values[gap]]
            lost = lost[answers.lost_value == values[gap]]
            readers = np.flatnonzero(self.versions[: len(self.rows) - len(answers.refused)] == gap)
            reads = self.rows[readers]
            name = f"{answers.kind} {int(answers.number[reads[0]])}"
            value = f" of {table.result[int(reads[0])]!r}"

        def words(table: OperationTable) -> str:
            return (
                f"{self._told(table, first)} returned at "
                f"{at(table, int(table.returned[knows]))}, and no write{value} can have made "
                f"{name} by then"
            )

        reason = [*writes, *lost, *reads, *self._held_by(knows)]
        return Contradiction(list(dict.fromkeys(map(int, reason))), words)

    def _told(self, table: OperationTable, place: int) -> str:
        """An operation in words, with the version at which it was placed if it was refused."""
        row = int(self.rows[place])
        words = self.answers.told(table, row)
        if table.outcome[row] != FAIL:
            return words
        least = int(self.versions[place]) + (self.answers.beginning.number or 0)
        return f"{words} was at version {least} or later; it"

    def _held_by(self, row: int) -> list[int]:
        """A row and, if it was refused, the rows that bound its version from below."""
        table, refused_rows = self.answers.table, self.answers.refused
        held = [row]
        while table.outcome[row] == FAIL:
            assert self.placed is not None
            place = int(np.searchsorted(refused_rows, row))
            holder = int(self.placed.holder[place])
            if holder < 0:
                known = len(self.rows) - len(refused_rows)
                earlier = np.flatnonzero(table.returned[self.rows[:known]] < table.call[row])
                if len(earlier):
                    held.append(int(self.rows[earlier[np.argmax(self.versions[earlier])]]))
                break
            row = int(refused_rows[holder])
            held.append(row)
        return held


VERSIONED_REGISTER = ModelEntry(
    name="versioned-register",
    summary="a register whose answers carry versions, or zxids: the data of a znode",
    runs="`register` key by key, and `multi`, whose transactions write all registers",
    functions={
        "read": "() -> {value, version} or {value, zxid}",
        "write": "(value) -> {version} or {zxid}",
        "cas": (
            "([expected version, value]) -> {version}; failed without an error: the version was "
            "another"
        ),
    },
    initial=(
        "the value at version 0, or {value, version} or {value, zxid} to begin with (whatever "
        "was read first)"
    ),
    algorithms=(_ALGORITHM,),
    decide=decided_key_by_key(lambda part, initial, _: decide_versions(part, initial), _ALGORITHM),
)
