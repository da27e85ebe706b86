"""A space-time diagram: who called what, and which messages went between clients and servers.

Each client, the servers and the protected resource have a line, along which time goes from left to
right, but not to scale: each event is as far from the one before as its words need. An arrow is a
message: a request that changed a znode (it arrives when the servers' logs say), a watch event on
its way back (as it passed the client's link), an action on the resource.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from rumpus.checker.timeline.changes import BY_SERVERS, Change
from rumpus.checker.timeline.timeline import Timeline
from rumpus.results.pictures.story_marks import Mark
from rumpus.results.pictures.svg import WIDTH, circle, line, link, path, picture, text
from rumpus.results.wording import znode_name

MOST_EVENTS: Final = 48
SERVERS: Final = "servers"
RESOURCE: Final = "resource"

_LEFT, _RIGHT = 74.0, WIDTH - 8.0
_LANE, _GAP, _LETTER = 36, 18.0, 5.5
_LONGEST = 22
_SLANT = 13  # how far to the left of its arrival a message is sent
_ENDS: Final = {"created": "creates", "written": "writes", "multi": "deletes"}
_SESSIONS: Final = frozenset({"connected", "suspended", "lost", "paused", "resumed", "exited"})


class Event(NamedTuple):
    """Something that happened on a lane.

    Attributes:
        time: in nanoseconds.
        lane: a client's name (``c0``), ``SERVERS`` or ``RESOURCE``.
        words: what happened, in short.
        sender: the lane from which a message came; empty if none did.
        begins: the call that begins here, or ends, by its process; None if none does.
        ends: as ``begins``.
    """

    time: int
    lane: str
    words: str
    sender: str = ""
    begins: int | None = None
    ends: int | None = None


def events_between(
    timeline: Timeline, clients: Collection[int], start: int, end: int, middle: int
) -> list[Event]:
    """What clients did and were sent in a stretch: of many events those nearest to a moment.

    Empty if none of them is a message.
    """
    found = events_in(timeline, clients, start, end)
    found.sort(key=lambda each: (abs(each.time - middle), *each[:4]))
    nearest = sorted(found[:MOST_EVENTS], key=lambda each: each.time)
    return nearest if any(each.sender for each in nearest) else []


def events_in(timeline: Timeline, clients: Collection[int], start: int, end: int) -> list[Event]:
    """All that clients did and were sent in a stretch, and what servers did to their znodes."""
    return [
        *_recorded(timeline, clients, start, end),
        *(
            Event(each.time, SERVERS, _changed(each), _sender(each))
            for changes in timeline.znodes.values()
            for each in changes
            if each.client in clients and start <= each.time <= end
        ),
    ]


def draw_space_time(events: Sequence[Event], marks: Sequence[Mark], description: str) -> Markup:
    """Draw events in order of time, in as many panels as their words need.

    Args:
        events: what happened.
        marks: the story's numbers; an event at the time of one carries it.
        description: for screen readers.
    """
    seen = {each.lane for each in events} | {each.sender for each in events if each.sender}
    clients = sorted((lane for lane in seen if lane[0] == "c"), key=lambda lane: int(lane[1:]))
    lanes = [*clients, *(lane for lane in (SERVERS, RESOURCE) if lane in seen)]
    numbers = _numbered(events, marks)
    parts: list[str] = []
    y = 12.0
    for panel in _panels(events):
        parts += _panel(panel, lanes, numbers, y)
        y += _LANE * len(lanes) + 12
    return picture(y, parts, description, role="group")


def _numbered(events: Sequence[Event], marks: Sequence[Mark]) -> Mapping[Event, int]:
    """The numbers of events; of several at the time of a mark that of a change, else the first."""
    found: dict[Event, int] = {}
    for mark in marks:
        there = [each for each in events if each.time == mark.time and each not in found]
        name = f"c{mark.client}"
        own = [each for each in there if name in (each.lane, each.sender) or _unasked(each)]
        if own:
            found[min(own, key=lambda each: each.lane != SERVERS)] = mark.number
    return found


def _unasked(event: Event) -> bool:
    """Whether servers did it of themselves."""
    return event.lane == SERVERS and not event.sender


def _recorded(
    timeline: Timeline, clients: Collection[int], start: int, end: int
) -> Iterator[Event]:
    history = timeline.history
    for op in history:
        if not start <= op.time <= end:
            continue
        if isinstance(op.process, int):
            client = history.client_of(op.process)
            if client in clients and op.type == "invoke":
                yield Event(op.time, f"c{client}", op.f, begins=op.process)
            elif client in clients:
                yield Event(op.time, f"c{client}", op.type, ends=op.process)
            continue
        value = op.value if isinstance(op.value, dict) else {}
        if value.get("client") not in clients:
            continue
        lane = f"c{value['client']}"
        if op.process == "session" and op.f in _SESSIONS:
            yield Event(op.time, lane, op.f)
        elif op.process == "link" and op.f == "watch":
            yield Event(op.time, lane, f"{znode_name(value['path'])} {value['event']}", SERVERS)
        elif op.process == "witness" and op.f == "act":
            yield Event(op.time, RESOURCE, "act" if value["accepted"] else "refused", lane)


def _sender(change: Change) -> str:
    """The client that asked for a change; none asked for what servers do of themselves."""
    return "" if change.how in BY_SERVERS else f"c{change.client}"


def _changed(change: Change) -> str:
    return f"{_ENDS.get(change.how, 'deletes')} {znode_name(change.path)}"


def _panels(events: Sequence[Event]) -> Iterator[list[tuple[float, Event]]]:
    """The events with their places, as many at a time as fit side by side."""
    panel: list[tuple[float, Event]] = []
    free: dict[str, float] = {}
    x = _LEFT
    for event in events:
        width = len(_words(event)) * _LETTER + 10
        place = max(x + _GAP, free.get(event.lane, 0.0))
        if panel and place + width > _RIGHT:
            yield panel
            panel, free = [], {}
            place = _LEFT + _GAP
        panel.append((place, event))
        x = place
        free[event.lane] = place + width
    if panel:
        yield panel


def _words(event: Event) -> str:
    return event.words if len(event.words) <= _LONGEST else f"{event.words[: _LONGEST - 1]}…"


def _panel(
    panel: Sequence[tuple[float, Event]],
    lanes: Sequence[str],
    numbers: Mapping[Event, int],
    y: float,
) -> list[str]:
    at = {lane: y + _LANE * number + 10 for number, lane in enumerate(lanes)}
    parts = []
    for lane, middle in at.items():
        parts.append(text(4, middle + 3.5, lane, "client"))
        parts.append(line(_LEFT, middle, _RIGHT, middle, "grid"))
    open_calls: dict[int, float] = {}
    for x, event in panel:
        if event.begins is not None:
            open_calls[event.begins] = x
        elif event.ends is not None:
            parts.append(_call(open_calls.pop(event.ends, _LEFT), x, at[event.lane]))
    began = {event.begins: event.lane for _, event in panel}
    parts += [_call(x, _RIGHT, at[began[process]]) for process, x in open_calls.items()]
    for x, event in panel:
        parts += _event(x, event, at, numbers)
    return parts


def _call(left: float, right: float, y: float) -> str:
    return line(left, y, right, y, "call")


def _event(
    x: float,
    event: Event,
    at: dict[str, float],
    numbers: Mapping[Event, int],
) -> list[str]:
    y = at[event.lane]
    parts = []
    if event.sender:
        from_y = at[event.sender]
        near = y - 4 if from_y < y else y + 4
        style = "message told" if event.sender == SERVERS else "message"
        parts.append(line(x - _SLANT, from_y, x, near, style))
        back = -5 if from_y < y else 5
        parts.append(path(f"M{x:.1f} {near:.1f}l-5.5 {back}h7z", f"{style} tip"))
    parts.append(text(x + 5, y - 5, _words(event), "tick"))
    number = numbers.get(event)
    if number is None:
        return [*parts, circle(x, y, 2.6, "event", event.words)]
    words = f"{number}: {event.words}"
    named = [
        circle(x, y, 6.5, "mark", words),
        text(x, y + 3.2, str(number), "number", anchor="middle"),
    ]
    return [*parts, link(named, f"line-{number}")]
