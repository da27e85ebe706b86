"""A scene: lanes, rows and states between them. Plain data, so that it can be kept."""

from typing import Final

import msgspec

CALL: Final = "call"
HOLD: Final = "hold"
STOPPED: Final = "stopped"
LEADS: Final = "leads"


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A line of the story.

    Attributes:
        time: when it happened.
        words: what.
        lanes: on which it is marked.
        sender: the lane from which a message came; empty if none did.
        fault: whether it is a fault, or the end of one.
    """

    time: int
    words: str
    lanes: tuple[str, ...]
    sender: str = ""
    fault: bool = False


class Stretch(msgspec.Struct, frozen=True, array_like=True):
    """A state of a lane (``CALL``, ``HOLD``, ``STOPPED``, ``LEADS``) from one time to another."""

    lane: str
    state: str
    start: int
    end: int


class Scene(msgspec.Struct, frozen=True):
    """What is drawn.

    Attributes:
        lanes: their names, from left to right.
        rows: in order of time.
        stretches: states of lanes.
        anomaly: when the anomaly began and was over; None if it has no time of its own.
        concerned: the lanes that it is about.
    """

    lanes: tuple[str, ...]
    rows: tuple[Row, ...]
    stretches: tuple[Stretch, ...] = ()
    anomaly: tuple[int, int] | None = None
    concerned: tuple[str, ...] = ()
