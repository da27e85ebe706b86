"""A witness (operations that contradict a model) drawn in characters, for the terminal.

Heavy bars are operations that contradict each other, light bars are operations before them. A bar
that ends in an arrow is an operation of unknown outcome.
"""

import textwrap

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.wording import at, who
from rumpus.results.pictures.witness_layout import (
    Bar,
    Panel,
    Span,
    WitnessLayout,
    fitting,
    folded,
    panels,
    spans_of,
    width,
    witness_layout,
)

MOST_OPERATIONS = 60
"""How many operations are drawn at most; of more the last ones are."""

_HEAVY, _LIGHT = ("┣", "━", "┫", "▶"), ("├", "─", "┤", "▷")
_HOLD = "═"
_AXIS_LINES = 3
_LINES_IN_FULL = 4
_LONGEST_LABEL = 32


def witness_text(table: OperationTable, witness: Witness, columns: int = 100) -> str:
    """The picture of a witness, in lines of limited width.

    Control sequences from the history are escaped.

    Args:
        table: the operations; the witness consists of rows of it.
        witness: the witness of a decision about the table.
        columns: the width of a line, at least 40.
    """
    layout = witness_layout(table, witness, MOST_OPERATIONS)
    left = max(map(width, layout.lanes)) + 2
    lines = []
    if layout.left_out:
        lines.append(f"({layout.left_out:,} earlier operations are not drawn)")
    drawn = panels(layout, _label_width, 1, columns - left - 1)
    cut = []
    for panel, spans in zip(drawn, spans_of(layout, drawn, _label_width), strict=True):
        lines += [*_panel(layout, panel, spans, left), ""]
        cut += [span.bar for span in spans if span.labelled and _room(span) < width(span.bar.label)]
    if cut:
        for bar in cut:
            lines += folded(_in_full(table, bar), columns, _LINES_IN_FULL)
        lines.append("")
    for remark in layout.remarks:
        lines += textwrap.wrap(remark, columns)
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _panel(layout: WitnessLayout, panel: Panel, spans: list[Span], left: int) -> list[str]:
    """A line for each lane that has operations in the panel, and the lines of the time axis."""
    size = int(panel.places[-1]) + 1
    rows = {lane: [" "] * size for lane in sorted({span.bar.lane for span in spans})}
    for hold in layout.holds:
        stretch = panel.stretch(hold.first, hold.last)
        if stretch and hold.lane in rows:
            for place in range(int(stretch[0]), int(stretch[1]) + 1):
                rows[hold.lane][place] = _HOLD
    for span in spans:
        _put_bar(rows[span.bar.lane], span)
    lines = [f"{layout.lanes[lane]:<{left}}{''.join(cells)}" for lane, cells in rows.items()]
    return [*lines, *(" " * left + words for words in _axis(layout, panel, size))]


def _put_bar(cells: list[str], span: Span) -> None:
    bar = span.bar
    call, middle, back, on = _HEAVY if bar.against else _LIGHT
    left, right = int(span.left), int(span.right)
    cells[left : right + 1] = [middle] * (right + 1 - left)
    if span.begins:
        cells[left] = call
    if span.ends:
        cells[right] = on if bar.unknown else back
    if span.labelled:
        label = fitting(bar.label, _room(span))
        if label and width(label) + 2 <= right - left - 1:
            label = f" {label} "
        _put(cells, left + 1, label)


def _put(cells: list[str], place: int, words: str) -> None:
    """Write words into cells; a character may be two cells wide, or none (a combining one)."""
    for letter in words:
        taken = width(letter)
        if taken == 0:
            cells[place - 1] += letter
            continue
        cells[place : place + taken] = [letter, *[""] * (taken - 1)]
        place += taken


def _axis(layout: WitnessLayout, panel: Panel, size: int) -> list[str]:
    """The times of the columns, as many as there is room for in a few lines."""
    lines = [[" "] * size for _ in range(_AXIS_LINES)]
    free = [0] * _AXIS_LINES
    for place, words in zip(map(int, panel.places), layout.times[panel.first :], strict=False):
        beyond = place + 1 + len(words) > size
        start = place - len(words) if beyond else place
        line = next((n for n, taken in enumerate(free) if start >= taken), None)
        if line is not None:
            _put(lines[line], start, f"{words}╵" if beyond else f"╵{words}")
            free[line] = start + len(words) + 2
    return ["".join(cells) for cells in lines if any(cell != " " for cell in cells)]


def _room(span: Span) -> int:
    """Columns between the ends of a bar."""
    return max(int(span.right) - int(span.left) - 1, 0)


def _label_width(bar: Bar) -> float:
    return min(width(bar.label), _LONGEST_LABEL) + 3


def _in_full(table: OperationTable, bar: Bar) -> str:
    call, returned = int(table.call[bar.row]), int(table.returned[bar.row])
    back = "" if bar.unknown else f", returned {at(table, returned, call)}"
    return f"{who(table, bar.row)}: {bar.label} (called {at(table, call, returned)}{back})"
