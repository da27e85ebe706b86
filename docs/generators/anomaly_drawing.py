"""Draws the scene of an anomaly as an SVG file: a space-time diagram, time downwards.

Each client, the servers and the protected resource have a lane. Each line of the story has a row:
its number on the lane where it happened, and beside it what happened. Rows are in order of time,
but not to scale.

A picture is as wide as a telephone, so that its words can be read there. It brings its own
background, and follows the reader's choice of light or dark where the browser tells it.
"""

import re
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from docs.generators.anomaly_wire import AUDITOR
from docs.generators.scene import CALL, HOLD, LEADS, STOPPED, Row, Scene, Stretch
from rumpus.results.pictures.space_time import RESOURCE, SERVERS
from rumpus.results.pictures.svg import circle, document, line, path, picture, rect, text

WIDTH: Final = 380
"""Of a picture, in SVG user units."""

SHOWN_WIDTH: Final = 500
"""Of a picture where there is room, in pixels."""

_STYLE: Final = Path(__file__).with_name("anomaly_drawing.css")
_EDGE: Final = 8.0
_TIMES: Final = 50.0
_LANES: Final = {SERVERS: 54.0, RESOURCE: 60.0, AUDITOR: 54.0}
_SERVER: Final = re.compile(r"n\d+")
_CLIENT: Final = 25.0
_LETTER: Final = 6.7
_HEAD: Final = 26.0
_LINE: Final = 14.0
_GAP: Final = 8.0
_RADIUS: Final = 7.0
_SLANT: Final = 9.0
_MOST_LINES: Final = 4
_VALUES: Final = re.compile(
    r",? ?(?:session|node|path|sequencer|writes|until)=(?:'[^']*'?|\[\[.*?\]\]|\d+)(?:\.\.\.)?"
)
_LONG_NAME: Final = re.compile(r"\b([0-9a-f]{6})[0-9a-f]{10,}")
_LONG_NUMBER: Final = re.compile(r"\b\d+\.\d{4,}\b")
_PADDING: Final = re.compile(r"\b0{6,}(?=[1-9a-f])")
_KEYS: Final = {
    CALL: "wide grey: a call",
    HOLD: "blue: the client believes that it holds it",
    LEADS: "blue: the server leads",
    STOPPED: "broken: the process does not run",
}


def words_of(row: Row) -> str:
    """What happened, without values that are long and say little."""
    words = _PADDING.sub("", _VALUES.sub("", row.words)).replace("ok, ", "ok ")
    words = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.3f}", words)
    words = _LONG_NAME.sub(lambda name: f"{name[1]}…", words)
    return re.sub(r" +(?=[:,)]|$)", "", words)


class _Placed(NamedTuple):
    """A row with its place: the middle of its first line of words."""

    row: Row
    y: float
    lines: Sequence[str]


class _Layout:
    """Where everything is.

    Args:
        scene: what is drawn.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        widths = [_LANES.get(lane, _CLIENT) for lane in scene.lanes]
        left = _EDGE + _TIMES
        ends = list(accumulate(widths, initial=left))
        self.x = {
            lane: begin + width / 2
            for lane, begin, width in zip(scene.lanes, ends, widths, strict=False)
        }
        self.words = ends[-1] + 8
        letters = int((WIDTH - _EDGE - self.words) / _LETTER)
        self.rows: list[_Placed] = []
        y = _HEAD + 18.0
        for row in scene.rows:
            lines = textwrap.wrap(words_of(row), letters, max_lines=_MOST_LINES, placeholder=" …")
            self.rows.append(_Placed(row, y, lines))
            y += max(len(lines), 1) * _LINE + _GAP
        self.bottom = y - _GAP + 2
        self._times = [row.time for row in scene.rows]

    def y(self, time: int, *, late: bool = False) -> float:
        """The height of a time; of rows at that very time the first, or the last if ``late``."""
        first, after = bisect_left(self._times, time), bisect_right(self._times, time)
        if first < after:
            return self.rows[after - 1 if late else first].y
        if first == 0:
            return self.rows[0].y - 10
        above = self.rows[first - 1]
        if first == len(self.rows):
            return self.bottom
        below = self.rows[first]
        share = (time - above.row.time) / (below.row.time - above.row.time)
        return above.y + 5 + share * (below.y - above.y - 10)


def draw(scene: Scene, title: str, description: str) -> str:
    """The SVG file of a scene.

    Args:
        scene: what is drawn; it has a row at least.
        title: what the picture shows.
        description: what happens in it.
    """
    layout = _Layout(scene)
    keys = textwrap.wrap("; ".join(_keys(scene)), int((WIDTH - 2 * _EDGE) / 5.2))
    height = layout.bottom + 14 + 13 * len(keys)
    parts = [rect(0.5, 0.5, WIDTH - 1, height - 1, "paper")]
    parts += _lanes(layout)
    for each in sorted(scene.stretches, key=lambda each: _ORDER.index(each.state)):
        parts += _stretch(layout, each)
    for number, placed in enumerate(layout.rows, 1):
        parts += _row(layout, number, placed)
    for number, words in enumerate(keys):
        parts.append(text(_EDGE, layout.bottom + 16 + 13 * number, words, "key"))
    drawn = picture(height, parts, title, width=WIDTH)
    style = _STYLE.read_text(encoding="utf-8")
    shown = SHOWN_WIDTH, SHOWN_WIDTH * height / WIDTH
    return document(drawn, shown, style, title=title, description=description)


_ORDER: Final = (CALL, HOLD, LEADS, STOPPED)


def _lanes(layout: _Layout) -> Iterator[str]:
    scene = layout.scene
    if scene.anomaly is not None:
        top = layout.y(scene.anomaly[0]) - 10
        end = min(layout.y(scene.anomaly[1], late=True) + 10, layout.bottom)
        for lane in scene.concerned:
            if lane in layout.x:
                yield rect(layout.x[lane] - 12, top, 24, end - top, "band")
    for lane, x in layout.x.items():
        yield text(x, _HEAD - 8, lane, "lane", anchor="middle")
        yield line(x, _HEAD, x, layout.bottom, "line")


def _stretch(layout: _Layout, each: Stretch) -> Iterator[str]:
    top, end = layout.y(each.start), layout.y(each.end, late=True)
    if each.lane in layout.x and end > top:
        x = layout.x[each.lane]
        yield line(x, top, x, end, each.state)


def _row(layout: _Layout, number: int, placed: _Placed) -> Iterator[str]:
    row, y, lines = placed
    yield text(_EDGE + _TIMES - 6, y + 3.5, f"{row.time / 1e9:.3f} s", "time", anchor="end")
    marked = [layout.x[lane] for lane in row.lanes]
    yield line(max(marked) + _RADIUS + 2, y, layout.words - 3, y, "guide")
    if row.sender:
        yield from _message(layout, row, y)
    style = "mark fault" if row.fault else "mark"
    for x in marked:
        if row.fault:
            yield rect(x - 6.5, y - 6.5, 13, 13, style)
        else:
            yield circle(x, y, _RADIUS, style)
        yield text(x, y + 3.2, str(number), "number", anchor="middle")
    for place, words in enumerate(lines):
        yield text(layout.words, y + 4 + _LINE * place, words)


def _message(layout: _Layout, row: Row, y: float) -> Iterator[str]:
    """The arrow of a message that arrives at the row's mark; it was sent a little before."""
    start, end = layout.x[row.sender], layout.x[row.lanes[0]]
    back = 1 if end < start else -1
    tip = end + back * (_RADIUS + 1)
    told = "sent told" if row.sender == SERVERS else "sent"
    yield line(start, y - _SLANT, tip + back * 4, y - 1, told)
    yield path(f"M{tip:.1f} {y:.1f}l{back * 6} -4.5l{back} 6z", "tip")


def _keys(scene: Scene) -> Iterator[str]:
    """What the marks mean that are in the picture."""
    states = {each.state for each in scene.stretches}
    yield from (words for state, words in _KEYS.items() if state in states)
    senders = {row.sender for row in scene.rows if row.sender}
    if any(_SERVER.fullmatch(sender) for sender in senders):
        yield "arrow: a request, an answer or a watch event"
    elif senders - {SERVERS}:
        yield "arrow: a request that has its effect"
    if SERVERS in senders:
        yield "broken arrow: a watch event"
    if any(row.fault for row in scene.rows):
        yield "square: a fault"
    if scene.anomaly is not None:
        yield "shaded: the anomaly"
