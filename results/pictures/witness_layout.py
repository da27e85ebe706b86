"""A witness (operations that contradict a model) laid out for drawing, in columns and lanes.

The time axis is not to scale: operations of microseconds may contradict each other over minutes,
and what matters is which came before which. So every moment at which an operation was called or
returned is a column, and columns are placed so that each operation has room for its words. A call
and a return at the same moment are concurrent, so the call's column is the first, if they are not
of one process. Columns that do not fit into the width go on in further panels. Lanes are rows, one
or more for each process.

The *prefix* of a witness is an order in which operations can have taken effect, as far as a search
found one.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

import numpy as np

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.locks.granted_tokens import GRANTS
from rumpus.checker.deciders.locks.holds_table import RELEASES
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.program_order import program_order
from rumpus.checker.deciders.wording import at
from rumpus.results.escapes import escaped

MOST_CONTEXT = 6
"""How many of the last operations of the prefix are shown besides those of the witness."""

_ASKED = {"priority": "priority ", "permits": "permits "}
_ANSWERED = {"token": "token ", "epoch": "epoch ", "version": "v", "zxid": "zxid ", "node": ""}


class Bar(NamedTuple):
    """An operation from its call to its return.

    Attributes:
        row: the operation's row in the table.
        process: the process that called it.
        lane: position in `WitnessLayout.lanes`.
        first: column of its call.
        last: column of its return; the number of columns if no return is known.
        words: its function, argument and result.
        order: its place in the prefix, from 1; None if it is not in it.
        against: whether it is one of those that contradict each other.
        stuck: whether it is the one that cannot follow the prefix.
        unknown: whether its outcome is unknown.
    """

    row: int
    process: int
    lane: int
    first: int
    last: int
    words: str
    order: int | None
    against: bool
    stuck: bool
    unknown: bool

    @property
    def label(self) -> str:
        """Its words, with its place in the prefix."""
        order = "" if self.order is None else f"{self.order}. "
        return f"{'✘ ' if self.stuck else order}{self.words}"


class Hold(NamedTuple):
    """The time from the return of a grant to the call of its release, in columns of a lane."""

    lane: int
    first: int
    last: int


@dataclass(frozen=True)
class WitnessLayout:
    """What is drawn.

    Attributes:
        bars: operations in order of call.
        holds: times in which a process held a lock (or the like) between two operations.
        lanes: names of lanes; a process whose operations overlap has several of the same name.
        times: the time of each column, in words.
        left_out: how many earlier operations of the witness are not drawn.
        remarks: what else is known, in words.
    """

    bars: list[Bar]
    holds: list[Hold]
    lanes: list[str]
    times: list[str]
    left_out: int
    remarks: list[str]


def witness_layout(table: OperationTable, witness: Witness, most: int) -> WitnessLayout:
    """Lay a witness out.

    Args:
        table: the operations; the witness consists of rows of it.
        witness: the operations to draw, and those of its prefix, of which only the last are drawn.
        most: how many operations are drawn at most; of more the last ones are.
    """
    against = {*witness.operations, *([] if witness.stuck is None else [witness.stuck])}
    prefix = witness.prefix or []
    order = {row: number for number, row in enumerate(prefix, 1)}
    context = [row for row in prefix[-MOST_CONTEXT:] if row not in against]
    wanted = sorted({*against, *context}, key=lambda row: (table.call[row], row))
    rows = wanted[-most:]
    drawn = _in_order(table, rows)
    times = [*zip(drawn.call.tolist(), drawn.returned.tolist(), strict=True)]
    calls = {(call, 0) for call, _ in times}
    returns = {(returned, 1) for _, returned in times if returned != NEVER}
    moments = sorted(calls | returns)
    column = {moment: number for number, moment in enumerate(moments)}
    spans = [(column[call, 0], column.get((returned, 1), len(moments))) for call, returned in times]
    processes = [int(table.process[row]) for row in rows]
    lanes, lane_of = _lanes(processes, spans)
    answering = _answering(table, rows)
    several = len({table.field("key")[row] for row in rows}) > 1
    bars = [
        Bar(
            row=row,
            process=process,
            lane=lane,
            first=first,
            last=last,
            words=operation_words(
                table, row, answers=table.function(row) in answering, names_key=several
            ),
            order=order.get(row),
            against=row in against,
            stuck=row == witness.stuck,
            unknown=bool(table.outcome[row] == INFO),
        )
        for row, process, lane, (first, last) in zip(rows, processes, lane_of, spans, strict=True)
    ]
    return WitnessLayout(
        bars=bars,
        holds=_holds(table, bars, len(moments)),
        lanes=lanes,
        times=_times(table, [drawn.clock(time) for time, _ in moments]),
        left_out=len(wanted) - len(rows),
        remarks=_remarks(witness),
    )


def _in_order(table: OperationTable, rows: Sequence[int]) -> OperationTable:
    """The table of some rows, which shows what each process did first (`program_order`)."""
    part = table.take(np.array(rows, dtype=np.int64))
    ordered = program_order(part)
    return part if ordered is None else ordered.table.take(np.argsort(ordered.rows))


def _lanes(
    processes: Sequence[int], spans: Sequence[tuple[int, int]]
) -> tuple[list[str], list[int]]:
    """Names of the lanes, and the lane of each operation: the first free one of its process."""
    ends: dict[int, list[int]] = {process: [] for process in sorted(set(processes))}
    places: list[tuple[int, int]] = []
    for process, (first, last) in zip(processes, spans, strict=True):
        taken = ends[process]
        free = next((n for n, end in enumerate(taken) if end < first), len(taken))
        taken[free : free + 1] = [last]
        places.append((process, free))
    numbered = [(process, n) for process, taken in ends.items() for n in range(len(taken))]
    lane = {place: number for number, place in enumerate(numbered)}
    return [f"process {process}" for process, _ in numbered], [lane[place] for place in places]


def _holds(table: OperationTable, bars: Sequence[Bar], columns: int) -> list[Hold]:
    """Holds whose grant and release are both drawn, or whose grant has no release at all."""
    holds = []
    drawn = {bar.row: bar for bar in bars}
    ends = np.flatnonzero(table.is_f(*RELEASES) & (table.outcome != FAIL))
    for bar in bars:
        if table.function(bar.row) not in GRANTS or table.outcome[bar.row] != OK:
            continue
        own = ends[table.process[ends] == bar.process]
        place = bisect_left(own.tolist(), bar.row)
        if place == len(own):
            holds.append(Hold(bar.lane, bar.last, columns))
        elif (release := drawn.get(int(own[place]))) is not None:
            holds.append(Hold(bar.lane, bar.last, release.first))
    return holds


def _times(table: OperationTable, times: Sequence[int]) -> list[str]:
    """Times in words, with enough decimals to differ from their neighbours."""
    words = []
    for number, time in enumerate(times):
        neighbours = [*times[max(number - 1, 0) : number], *times[number + 1 : number + 2]]
        words.append(at(table, time, *neighbours).removeprefix("position "))
    return words


def _remarks(witness: Witness) -> list[str]:
    remarks = []
    if witness.prefix is not None and witness.stuck is not None:
        remarks.append(
            "Numbers: an order in which they can have taken effect, as far as there is one; "
            "✘ cannot follow."
        )
    if witness.states:
        shown = [fitting(escaped(state), 60) for state in witness.states[:8]]
        more = "" if len(witness.states) <= 8 else f" and {len(witness.states) - 8} more"
        remarks.append(f"Possible before ✘: {'; '.join(shown)}{more}.")
    return remarks


def _answering(table: OperationTable, rows: Sequence[int]) -> frozenset[str]:
    """Functions that return a result at least once, so that None is a result of theirs, too."""
    numbers = table.f[table.result.present & (table.outcome == OK)]
    used = {table.function(row) for row in rows}
    return frozenset(table.functions[number] for number in np.unique(numbers).tolist()) & used


def operation_words(
    table: OperationTable, row: int, *, answers: bool = True, names_key: bool = True
) -> str:
    """What an operation did: ``write(3)``, ``read() -> 3``, ``'x': acquire() -> token 7``.

    Args:
        table: the operations.
        row: the operation's row.
        answers: whether a result of None is shown.
        names_key: whether to begin with the key of the object that it worked on.
    """
    argument, result = table.argument[row], table.result[row]
    asked, answered = _fields(table, row, _ASKED), _fields(table, row, _ANSWERED)
    if argument is not None:
        asked = [_value(argument), *asked]
    elif result is not None:  # a dequeue's priority is part of its result
        asked, answered = [], [*asked, *answered]
    call = f"{escaped(table.function(row))}({', '.join(asked)})"
    key = table.field("key")[row]
    words = call if key is None or not names_key else f"{_value(key)}: {call}"
    if table.outcome[row] == INFO:
        return f"{words} -> ?"
    if table.outcome[row] == FAIL:
        return f"{words} -> {'refused' if table.refused[row] else 'failed'}"
    if type(result) is type(argument) and result == argument and not answered:
        result, answers = None, answers and argument is None
    if result is not None or (answers and argument is None and not answered):
        answered = [_value(result), *answered]
    return f"{words} -> {', '.join(answered)}" if answered else words


def _fields(table: OperationTable, row: int, names: Mapping[str, str]) -> list[str]:
    columns = ((words, table.field(name)[row]) for name, words in names.items())
    return [f"{words}{_value(value)}" for words, value in columns if value is not None]


def _value(value: Any) -> str:
    return escaped(repr(value))


def width(words: str) -> int:
    """How many columns words take in a monospaced font."""
    if words.isascii():
        return len(words)
    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in words)


def fitting(words: str, columns: int) -> str:
    """Words, cut to a number of columns."""
    if width(words) <= columns:
        return words
    while words and width(words) > columns - 1:
        words = words[:-1]
    return f"{words}…" if columns > 0 else ""


def folded(words: str, columns: int, most: int) -> list[str]:
    """Words in at most ``most`` lines of ``columns`` each; an ellipsis replaces what is cut off."""
    lines: list[str] = []
    indent = ""
    while words:
        piece = words
        while width(indent) + width(piece) > columns:
            piece = piece[:-1]
        if len(lines) == most - 1:
            piece = fitting(words, columns - width(indent))
            words = piece
        lines.append(indent + piece)
        words = words[len(piece) :]
        indent = "    "
    return lines


class Span(NamedTuple):
    """The part of an operation that lies in a panel.

    Attributes:
        bar: the operation.
        left: where it begins, or the panel's left edge.
        right: where it ends, or the panel's right edge.
        begins: whether its call is in this panel.
        ends: whether its return is in this panel.
        labelled: whether its words are in this part: the first with room for them, else the widest.
    """

    bar: Bar
    left: float
    right: float
    begins: bool
    ends: bool
    labelled: bool


class Panel(NamedTuple):
    """Some columns that are drawn side by side, from number ``first``, and the place of each."""

    first: int
    places: list[float]

    @property
    def last(self) -> int:
        """Its last column."""
        return self.first + len(self.places) - 1

    def stretch(self, first: int, last: int) -> tuple[float, float] | None:
        """The places of the left and right end of columns first to last here; None if outside."""
        if first > self.last or last < self.first:
            return None
        return (
            self.places[max(first - self.first, 0)],
            self.places[min(last - self.first, len(self.places) - 1)],
        )


def panels(
    layout: WitnessLayout, width_of: Callable[[Bar], float], gap: float, width: float
) -> list[Panel]:
    """Divide the columns among panels and place them; one more column is the open end on the right.

    Each operation is as wide as its words (up to half of the width) in one of the panels, and no
    two columns are closer than a gap. Each column is as far left as that allows (a longest path).
    A single panel is stretched to the whole width. Several are divided where the fewest operations
    are cut, in the second half of the columns that would fit.

    Args:
        layout: what is drawn.
        width_of: how much room the words of an operation need.
        gap: the least distance of neighbouring columns.
        width: the width of a panel.
    """
    ending: list[list[Bar]] = [[] for _ in range(len(layout.times) + 1)]
    for bar in layout.bars:
        ending[bar.last].append(bar)
    room = {bar.row: min(width_of(bar), width / 2) for bar in layout.bars}
    found: list[Panel] = []
    first = 0
    while first < len(ending):
        places = [0.0]
        for ends in ending[first + 1 :]:
            reach = (places[max(bar.first - first, 0)] + room[bar.row] for bar in ends)
            place = max([places[-1] + gap, *reach])
            if place > width:
                break
            places.append(place)
        if first + len(places) < len(ending):
            half = first + len(places) // 2
            last = _break(layout.bars, range(half, first + len(places)))
            del places[last + 1 - first :]
        panel = Panel(first, places)
        for bar in layout.bars:
            stretch = panel.stretch(bar.first, bar.last)
            if stretch and stretch[1] - stretch[0] >= room[bar.row]:
                room[bar.row] = 0  # its words stand here
        found.append(panel)
        first = panel.last + 1
    if len(found) == 1 and found[0].places[-1] > 0:
        scale = width / found[0].places[-1]
        return [Panel(0, [place * scale for place in found[0].places])]
    return found


def _break(bars: Iterable[Bar], columns: Sequence[int]) -> int:
    """The column after which the fewest operations go on; of several the last.

    One of unknown outcome goes on to the end anyway; only its first column is no place to break.
    """
    ends = [(bar.first, bar.first + 1 if bar.unknown else bar.last) for bar in bars]
    return min(reversed(columns), key=lambda column: sum(a <= column < b for a, b in ends))


def spans_of(
    layout: WitnessLayout, drawn: Sequence[Panel], width_of: Callable[[Bar], float]
) -> list[list[Span]]:
    """The parts of operations in each panel."""
    found: list[list[Span]] = [[] for _ in drawn]
    for bar in layout.bars:
        parts: list[tuple[int, float, float]] = []
        for number, panel in enumerate(drawn):
            if stretch := panel.stretch(bar.first, bar.last):
                parts.append((number, *stretch))
        needed = width_of(bar)
        home = max(parts, key=lambda part: min(part[2] - part[1], needed))[0]
        for number, left, right in parts:
            begins = bar.first >= drawn[number].first
            ends = bar.last <= drawn[number].last
            found[number].append(Span(bar, left, right, begins, ends, number == home))
    return found
