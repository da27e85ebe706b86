"""Appends to one value: each read shows which pieces were appended, and in which order.

**Decided**: linearizability of ``append(piece)``, ``read() -> whole`` (or ``get``) and, for
strings, ``put(whole)`` (or ``write``), which replaces the value. The value is a string (as in
Porcupine's key-value logs) or a list; None is the empty one. It is decided here if every put and
every piece that a read shows was written once, and the reads can be split into pieces in one way
only (`checker.deciders.registers.pieces`); otherwise by search
(`checker.deciders.registers.append_search`).

**Algorithm.** A read shows the last put before it (or that there was none), and the pieces appended
since, in order. A put with all that reads show after it is an *era*. In a linearization the
operations of an era are contiguous: the put, then append 1, the reads that end with it, append 2,
and so on. So

1. every read must consist of a put (or the initial value) and pieces that were appended, none of
   them twice; of two reads of an era one must be a prefix of the other; and no append may be in
   two eras;
2. within an era, the times must allow the order (`checker.deciders.registers.version_order`);
3. the times must allow an order of the eras (`checker.deciders.registers.zones`) in which the era
   of the initial value is first. This includes acknowledged puts and appends that no read shows,
   each as an era of its own: such an append must be last in some era, as otherwise a later read of
   that era would show it.

If all this holds, the eras in the order of their zones, each in its own order, are a
linearization.

*Unknown outcomes*: a put or append of unknown outcome that is shown did take effect, and its
return bounds nothing. One that no read shows is left out.

**Cost**: near-linear in the total length of the texts.

Source: eras are the clusters of Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997;
that appends show their order: Kingsbury and Alvaro, Elle, VLDB 2020, section 3.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rumpus.checker.deciders import wording
from rumpus.checker.deciders.decision import Decision, accepted
from rumpus.checker.deciders.forgetting import Contradiction, contradicting, refusal
from rumpus.checker.deciders.operation_table import FAIL, OK, OperationTable
from rumpus.checker.deciders.registers.pieces import ListPieces, StringPieces, TooLong
from rumpus.checker.deciders.registers.zones import contradicting_clusters
from rumpus.checker.deciders.values import MISSING, freeze
from rumpus.checker.deciders.wording import who

READS, PUTS, APPENDS = ("read", "get"), ("write", "put"), ("append",)
BEGINNING = -1
"""In place of the row of a put: the initial value."""
MOST_SHOWN = 40
"""The most characters of a value in a description."""


class Undecidable(ValueError):  # noqa: N818 - reads as the state it names
    """The history cannot be decided by this algorithm."""


@dataclass
class Era:
    """A put and all that is shown after it.

    Attributes:
        put: its row, or `BEGINNING`.
        appends: rows of the appends that are shown, in their order.
        reads: rows of the reads, and how many appends each shows.
        longest: row of a read that shows them all.
    """

    put: int
    appends: list[int]
    reads: list[tuple[int, int]]
    longest: int

    def rows(self) -> list[int]:
        """All of them."""
        put = [] if self.put == BEGINNING else [self.put]
        return [*put, *self.appends, *(row for row, _ in self.reads)]

    def out_of_order(self, call: list[int], returned: list[int]) -> tuple[int, int] | None:
        """Two rows in the wrong order: the first must precede the other, but was called too late.

        As `checker.deciders.registers.version_order`, but fast for many short eras.
        """
        reads: list[list[int]] = [[] for _ in range(len(self.appends) + 1)]
        for row, shown in self.reads:
            reads[shown].append(row)
        writes = [[] if self.put == BEGINNING else [self.put], *([row] for row in self.appends)]
        latest = None
        for ranks in zip(writes, reads, strict=True):
            for rows in ranks:
                for row in rows:
                    if latest is not None and call[latest] > returned[row]:
                        return latest, row
                if rows:
                    last = max(rows, key=call.__getitem__)
                    latest = last if latest is None or call[last] > call[latest] else latest
        return None


def decide_appends(table: OperationTable, initial: Hashable = None) -> Decision | None:
    """Whether appends to one value are linearizable, if each piece was written once.

    Args:
        table: operations ``append``, ``read``/``get`` and ``put``/``write``.
        initial: the value before everything; None if it is empty.

    Returns:
        None if the history is not one that can be decided here.
    """
    try:
        find = partial(contradiction, initial=freeze(initial), kind=kind_of(table, initial))
        found = find(table)
        return accepted() if found is None else refusal(table, found, find)
    except (Undecidable, TooLong):
        return None


def kind_of(table: OperationTable, initial: Hashable) -> type[str] | type[tuple[Any, ...]]:
    """What kind of texts there are: strings, or lists.

    Raises:
        Undecidable: both, or others.
    """
    read = table.result[table.is_f(*READS) & (table.outcome == OK)]
    put = table.argument[table.is_f(*PUTS) & (table.outcome != FAIL)]
    kinds = {
        type(text) for text in (freeze(initial), *read.tolist(), *put.tolist()) if text is not None
    }
    if kinds <= {tuple}:
        return tuple
    if kinds == {str}:
        return str
    raise Undecidable


def contradiction(
    table: OperationTable, initial: Hashable, kind: type[str] | type[tuple[Any, ...]]
) -> Contradiction | None:
    """What cannot be, if anything.

    Args:
        table: the operations, in any order.
        initial: the value before everything; None if it is empty.
        kind: of the texts.

    Raises:
        Undecidable: the history is not one that can be decided here.
        TooLong: to take its texts apart would take too long.
    """
    value = AppendedValue(table, kind() if initial is None else initial)
    eras = value.eras()
    if isinstance(eras, Contradiction):
        return eras
    call, returned = table.call.tolist(), table.returned.tolist()
    for era in eras:
        if pair := era.out_of_order(call, returned):
            return out_of_order(*pair, era.longest)
    return _out_of_place(eras, value.unseen(eras), call, returned)


def told(table: OperationTable, row: int) -> str:
    """An operation in words: ``read() -> 'ab' of process 3``."""
    f, argument = table.function(row), table.argument[row]
    call = f"{f}({'' if argument is None else short(argument)})"
    shown = f"{call} -> {short(table.result[row])}" if f in READS else call
    return f"{shown} of {who(table, row)}"


def short(value: Hashable) -> str:
    """A value in words; of a long one only the end, which was appended last."""
    words = repr(list(value) if isinstance(value, tuple) else value)
    return words if len(words) <= MOST_SHOWN else f"...{words[-MOST_SHOWN:]}"


class AppendedValue:
    """What was written to one value, and what was read of it."""

    def __init__(self, table: OperationTable, initial: Any) -> None:
        self.table = table
        self.initial = initial
        possible = table.outcome != FAIL
        puts = np.flatnonzero(table.is_f(*PUTS) & possible).tolist()
        appends = np.flatnonzero(table.is_f(*APPENDS) & possible).tolist()
        self.puts = dict(zip(puts, table.argument[puts].tolist(), strict=True))
        self.appends = dict(zip(appends, table.argument[appends].tolist(), strict=True))
        if isinstance(initial, str):
            self._of_strings()
        else:
            self._of_lists()
        self.read: dict[Any, list[int]] = defaultdict(list)
        reads = np.flatnonzero(table.is_f(*READS) & (table.outcome == OK)).tolist()
        for row, text in zip(reads, table.result[reads].tolist(), strict=True):
            self.read[type(initial)() if text is None else text].append(row)
        written = Counter([*self.puts.values(), *self.appends.values(), self.initial])
        self.repeated = {text for text, times in written.items() if times > 1}
        self.put_of = {text: row for row, text in self.puts.items()}
        self.append_of = {piece: row for row, piece in self.appends.items()}

    def _of_strings(self) -> None:
        # Appending "" changes nothing; putting "" looks like the initial value.
        self.appends = {row: piece for row, piece in self.appends.items() if piece != ""}
        pieces = [*self.puts.values(), *self.appends.values()]
        if not all(isinstance(piece, str) and piece for piece in pieces):
            raise Undecidable
        try:
            self.pieces: Any = StringPieces([*pieces, *filter(None, [self.initial])])
        except ValueError:
            raise Undecidable from None

    def _of_lists(self) -> None:
        # The elements of a list that was put cannot be distinguished from appended ones.
        if self.puts or {None, ""} & set(self.appends.values()):
            raise Undecidable
        self.pieces = ListPieces(self.appends.values())

    def eras(self) -> list[Era] | Contradiction:
        """The eras of all reads.

        Raises:
            Undecidable: a read shows a piece that was written more than once.
        """
        by_put: dict[int, list[Any]] = defaultdict(list)
        for text in self.read:
            put = self._put_before(text)
            if put is None:
                return self.alone(text, f"nobody put that, and it began with {self.initial!r}")
            by_put[put].append(text)
        eras: list[Era] = []
        era_of: dict[int, Era] = {}
        disagree: Contradiction | None = None
        for put, texts in by_put.items():
            texts.sort(key=len, reverse=True)
            longest = texts[0]
            shown = self._shown(put, longest)
            if isinstance(shown, Contradiction):
                return shown
            places = {end: place for place, end in enumerate(shown)}
            era = Era(put, list(shown.values())[1:], [], self.read[longest][0])
            for text in texts:
                if len(text) in places and longest[: len(text)] == text:
                    era.reads += [(row, places[len(text)]) for row in self.read[text]]
                    continue
                other = self._shown(put, text)
                if isinstance(other, Contradiction):
                    return other
                disagree = disagree or two_orders(era.longest, self.read[text][0])
            for row in era.appends:
                if era_of.setdefault(row, era) is not era:
                    disagree = disagree or contradicting(
                        [era_of[row].longest, era.longest],
                        told,
                        f"they show {short(self.table.argument[row])} after different beginnings, "
                        "and it was appended once",
                    )
            eras.append(era)
        return disagree or eras

    def unseen(self, eras: Sequence[Era]) -> list[int]:
        """Rows of acknowledged puts and appends that no read shows."""
        seen = {row for era in eras for row in (era.put, *era.appends)}
        unseen = (row for row in (*self.puts, *self.appends) if row not in seen)
        return [row for row in unseen if self.table.outcome[row] == OK]

    def _put_before(self, text: Any) -> int | None:
        """Of what was read, the row of the put that it begins with; None if it cannot be."""
        if self.puts and text:
            first = self.pieces.first(text)
            if first in self.put_of:
                return self.put_of[first]
        return BEGINNING if text[: len(self.initial)] == self.initial else None

    def _shown(self, put: int, text: Any) -> dict[int, int] | Contradiction:
        """A text taken apart: where it ends after the put and after each append, and their rows."""
        whole = self.initial if put == BEGINNING else self.puts[put]
        apart = self.pieces.apart(text, len(whole))
        if apart.left is not None:
            rest = short(text[apart.left : apart.left + MOST_SHOWN - 10])
            return self.alone(text, f"nobody wrote what stands there at {apart.left}, {rest}")
        heads = [] if put == BEGINNING else [whole]
        if not self.repeated.isdisjoint([*heads, *apart.pieces]):
            raise Undecidable
        for piece in apart.pieces:
            if piece not in self.append_of:
                return self.alone(text, f"{short(piece)} was put, and cannot follow anything")
        times = Counter(apart.pieces)
        if len(times) < len(apart.pieces):
            piece = times.most_common(1)[0][0]
            return self.alone(text, f"{short(piece)} stands there twice, and was appended once")
        rows = (self.append_of[piece] for piece in apart.pieces)
        return {len(whole): put, **dict(zip(apart.ends, rows, strict=True))}

    def alone(self, text: Any, why: str) -> Contradiction:
        """A read that is impossible whatever the others are."""
        return contradicting(self.read[text][:1], told, why)


def two_orders(one: int, other: int) -> Contradiction:
    """Two reads of one era, neither of which begins the other."""
    why = "neither is the beginning of the other, though nothing was put in between"
    return contradicting([one, other], told, why)


def out_of_order(late: int, early: int, longest: int) -> Contradiction:
    """Two operations of an era whose times forbid its order, and a read that shows all of it."""

    def words(table: OperationTable) -> str:
        early_reads, late_reads = (table.function(row) in READS for row in (early, late))
        if early_reads and late_reads:
            reason = "which shows less"
        elif late_reads:
            reason = "which does not show it"
        elif early_reads:
            reason = "which it shows"
        else:
            reason = f"which comes first in {told(table, longest)}"
        return f"{before(table, early, late)}, {reason}"

    return Contradiction([late, early, longest], words)


def before(table: OperationTable, row: int, later: int) -> str:
    """In words: an operation returned before another was called."""
    return wording.before(table, row, later, told(table, row), told(table, later))


def overlapping_eras(
    table: OperationTable,
    first: tuple[int, int],
    second: tuple[int, int],
    lone: int | None,
    *,
    from_beginning: bool,
) -> str:
    """In words: two eras (or an era and an operation that no read shows) that overlap.

    Args:
        table: the operations.
        first: of one era, the row that returned first and the row that was called last.
        second: the same of the other era.
        lone: the row of the operation that no read shows, if there is one.
        from_beginning: whether the first era is that of the initial value.
    """
    again = before(table, second[0], first[1])
    if lone is not None and table.function(lone) in APPENDS:
        reason = "and no read shows it"
    else:
        reason = "and what was replaced by a put does not come back"
    if from_beginning:
        return f"{again}; {reason}"
    return f"{before(table, first[0], second[1])}; but {again}; {reason}"


def _out_of_place(
    eras: Sequence[Era], unseen: Sequence[int], call: list[int], returned: list[int]
) -> Contradiction | None:
    """Two eras that overlap, or an era and an operation that no read shows."""
    parts = [*(era.rows() for era in eras), *([row] for row in unseen)]
    ends = [min(rows, key=returned.__getitem__) for rows in parts]
    begins = [max(rows, key=call.__getitem__) for rows in parts]
    first_return = [returned[row] for row in ends]
    for place, era in enumerate(eras):
        if era.put == BEGINNING:
            first_return[place] = MISSING
    last_call = [call[row] for row in begins]
    pair = contradicting_clusters(
        np.array(first_return, dtype=np.int64), np.array(last_call, dtype=np.int64)
    )
    if pair is None:
        return None
    one, other = sorted(pair, key=lambda place: first_return[place])
    shown = [eras[place].longest for place in pair if place < len(eras)]

    words = partial(
        overlapping_eras,
        first=(ends[one], begins[one]),
        second=(ends[other], begins[other]),
        lone=next((parts[place][0] for place in pair if place >= len(eras)), None),
        from_beginning=first_return[one] == MISSING,
    )
    rows = [ends[one], begins[one], ends[other], begins[other], *shown]
    return Contradiction(list(dict.fromkeys(rows)), words)
