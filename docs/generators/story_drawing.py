"""Draws the story of an anomaly as text: a line for each client, time downwards.

For example::

      time     c0  c1
      1.001 s  ●   │   c0 acquire: ok
      1.009 s  ┃   ●   c1 acquire: ok
      1.012 s  ●   ┃   c0 calls release

A heavy line is a hold: from the success of what begins it to what ends it. A dotted line is a
process that does not run.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

LONGEST: Final = 84
"""Letters of what happened; more are left out."""

_LINE: Final = re.compile(r"^\s*(\d+\.\d+) s  (.*)$")
_CLIENT: Final = re.compile(r"\bc\d+\b")
_VALUES: Final = re.compile(
    r",? ?(?:session|node|path|sequencer|writes|until)=(?:'[^']*'?|\[\[.*?\]\]|\d+)(?:\.\.\.)?"
)
_BEGINS: Final = re.compile(r"(?:acquire|campaign)\b.*: ok")
_ENDS: Final = re.compile(
    r"no longer believes|learns that its session has ended|calls (?:release|resign)|"
    r"(?:release|resign): ok|process is killed|exits"
)
_STOPS: Final = re.compile(r"is frozen")
_BY_SERVERS: Final = re.compile(r"has no session any more")


def drawing(story: Sequence[str]) -> str:
    """The drawing of all lines but the last, which names the anomaly."""
    events = [(match[1], match[2]) for line in story if (match := _LINE.match(line))]
    clients = sorted({name for _, what in events for name in _CLIENT.findall(what)}, key=_number)
    return "\n".join(_rows(events, clients))


def conclusion(story: Sequence[str]) -> str:
    """The last line, in words."""
    return story[-1].removeprefix("so: ")


def _number(client: str) -> int:
    return int(client[1:])


def _rows(events: Sequence[tuple[str, str]], clients: Sequence[str]) -> Iterator[str]:
    width = max((len(time) for time, _ in events), default=4)
    yield f"{'time':>{width}}    {'  '.join(clients)}"
    lines = dict.fromkeys(clients, "│")
    for time, what in events:
        by, mark = _actor(what)
        shown = {**lines, **dict.fromkeys(by, mark)}
        lanes = "  ".join(shown[client].ljust(len(client)) for client in clients)
        yield f"{time:>{width}} s  {lanes}  {_short(what)}"
        for client in by:
            lines[client] = _line_after(lines[client], what)


def _actor(what: str) -> tuple[list[str], str]:
    """The clients in whose lines an event is marked, and by what."""
    named = _CLIENT.findall(what)
    if what.startswith("fault:"):
        return named, "!"
    if what.startswith("servers:") or _BY_SERVERS.search(what):
        return named[:1], "○"
    begins = _CLIENT.match(what)
    return ([begins[0]], "●") if begins else (named[:1], "○")


def _line_after(line: str, what: str) -> str:
    if _STOPS.search(what):
        return "┊"
    if not _CLIENT.match(what) or _BY_SERVERS.search(what):
        return line
    if _ENDS.search(what):
        return "│"
    if _BEGINS.search(what):
        return "┃"
    return "│" if line == "┊" else line


def _short(what: str) -> str:
    words = _VALUES.sub("", what).replace("ok, ", "ok ").strip()
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 4].rstrip()} ..."
