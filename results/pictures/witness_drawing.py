"""A witness (operations that contradict a model) as SVG: lanes of processes, bars of operations."""

import textwrap
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from markupsafe import Markup

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.results.escapes import escaped
from rumpus.results.pictures.svg import WIDTH, document, line, path, picture, rect, text
from rumpus.results.pictures.witness_layout import (
    Bar,
    Panel,
    Span,
    WitnessLayout,
    fitting,
    panels,
    spans_of,
    width,
    witness_layout,
)

MOST_OPERATIONS = 200
"""How many operations are drawn at most; of more the last ones are."""

_LEFT = 108.0
_RIGHT = WIDTH - 14.0
_LETTER = 6.1  # width of a letter of a label, which is monospaced
_TICK_LETTER = 5.4
_AXIS_LINES, _AXIS_LINE = 2, 11
_LANE = 24
_BAR = 17
_GAP = 16.0
_LONGEST_LABEL = 60
_LINE = 15
_WORDS_COLUMNS = 140
_REMARK_COLUMNS = 190


class _Drawing(NamedTuple):
    svg: Markup
    height: float


def draw_witness(table: OperationTable, witness: Witness) -> Markup:
    """The picture of a witness, for a page that includes the style sheet ``witness.css``.

    Args:
        table: the operations; the witness consists of rows of it.
        witness: the witness of a decision about the table.
    """
    return _draw(table, witness, []).svg


def witness_document(table: OperationTable, witness: Witness) -> str:
    """The picture of a witness as an SVG file, with the contradiction in words above it."""
    words = textwrap.wrap(escaped(witness.description), _WORDS_COLUMNS)
    drawing = _draw(table, witness, words)
    return document(drawing.svg, (WIDTH, drawing.height), _style())


@cache
def _style() -> str:
    return (files("rumpus.results.pictures") / "witness.css").read_text(encoding="utf-8")


def _draw(table: OperationTable, witness: Witness, heading: list[str]) -> _Drawing:
    layout = witness_layout(table, witness, MOST_OPERATIONS)
    parts: list[str] = []
    y = 4.0
    for words in heading:
        y += _LINE
        parts.append(text(8, y, words, "w-words"))
    y += 10 if heading else 0
    if layout.left_out:
        y += _LINE
        parts.append(
            text(8, y, f"{layout.left_out:,} earlier operations are not drawn", "w-remark")
        )
    drawn = panels(layout, _label_width, _GAP, _RIGHT - _LEFT)
    for panel, spans in zip(drawn, spans_of(layout, drawn, _label_width), strict=True):
        y, marks = _panel(layout, panel, spans, y)
        parts += marks
    for remark in layout.remarks:
        for words in textwrap.wrap(remark, _REMARK_COLUMNS):
            y += _LINE
            parts.append(text(8, y, words, "w-remark"))
    height = y + 8
    if heading:
        parts.insert(0, rect(0, 0, WIDTH, height, "w-paper"))
    return _Drawing(picture(height, parts, escaped(witness.description)), height)


def _panel(
    layout: WitnessLayout, panel: Panel, spans: list[Span], y: float
) -> tuple[float, list[str]]:
    """The y coordinate at which the next panel begins, and the SVG elements of this one."""
    lanes = sorted({span.bar.lane for span in spans})
    top = {lane: y + 8 + _LANE * number for number, lane in enumerate(lanes)}
    bottom = y + 8 + _LANE * len(lanes)
    below, parts = _axis(layout, panel, y + 4, bottom)
    parts += [text(8, top[lane] + 12, layout.lanes[lane], "w-lane") for lane in lanes]
    for hold in layout.holds:
        stretch = panel.stretch(hold.first, hold.last)
        if stretch and hold.lane in top:
            middle = top[hold.lane] + _BAR / 2
            parts.append(line(_LEFT + stretch[0], middle, _LEFT + stretch[1], middle, "w-hold"))
    for span in spans:
        parts += _bar(span, top[span.bar.lane])
    if panel.last < len(layout.times):
        parts.append(line(8, below + 8, _RIGHT, below + 8, "w-grid"))
    return below + 12, parts


def _bar(span: Span, y: float) -> list[str]:
    """An operation's bar; where it continues in another panel it reaches a little over the edge."""
    bar = span.bar
    left = _LEFT + span.left - (0 if span.begins else _GAP / 2)
    right = _LEFT + span.right + (0 if span.ends else _GAP / 2)
    style = "w-stuck" if bar.stuck else "w-against" if bar.against else "w-context"
    if bar.unknown:
        style += " w-unknown"
    title = f"process {bar.process}: {bar.label}"
    parts = [rect(left, y, max(right - left, 1), _BAR, style, title)]
    if span.labelled:
        label = fitting(bar.label, int((right - left - 6) / _LETTER))
        parts.append(text(left + 4, y + 12, label, "w-label"))
    if bar.unknown and span.ends:
        parts.append(path(f"M{right:.1f} {y + 4.5:.1f}l7 4l-7 4z", f"{style} w-arrow"))
    return parts


def _axis(
    layout: WitnessLayout, panel: Panel, top: float, bottom: float
) -> tuple[float, list[str]]:
    """The axis's lower end, and a fine line at each column, with its time if there is room."""
    parts = []
    free = [0.0] * _AXIS_LINES
    for place, words in zip(panel.places, layout.times[panel.first :], strict=False):
        x = _LEFT + place
        parts.append(line(x, top, x, bottom, "w-grid"))
        half = len(words) * _TICK_LETTER / 2
        row = next((n for n, taken in enumerate(free) if x - half >= taken), None)
        if row is not None and x + half <= WIDTH:
            parts.append(text(x, bottom + _AXIS_LINE * (row + 1), words, "w-tick", anchor="middle"))
            free[row] = x + half + 6
    used = sum(taken > 0 for taken in free)
    return bottom + _AXIS_LINE * used, parts


def _label_width(bar: Bar) -> float:
    return min(width(bar.label), _LONGEST_LABEL) * _LETTER + 8
