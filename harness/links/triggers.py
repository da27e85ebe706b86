"""What can be done at one request or one frame of a client, wherever its links are.

A trigger is armed on a client's links (``TriggerLinks``) and acts once what it waits for comes.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from rumpus.harness.links.zookeeper_frames import REQUESTS

RequestAction = Literal["drop-reply", "hold-reply", "cut-before", "cut-after"]
"""What is done about a request. ``drop-reply``: its reply is swallowed and the connection reset.
``hold-reply``: its reply, and all after it, is held back for a while. ``cut-before`` and
``cut-after``: the connection is reset before the request passes, or just after."""


class RequestTrigger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action to take on one request of a client.

    Args:
        action: what is done.
        request: kind of request, a name of ``harness.links.zookeeper_frames.REQUESTS``.
        number: which one of that kind, counted over all of a client's links from now on; 1: the
            next.
        milliseconds: for how long ``hold-reply`` holds; healing ends it, too.
    """

    action: RequestAction
    request: str = "create"
    number: int = 1
    milliseconds: float = 1000.0


SWITCH: Final = "switch"
"""What stands in place of a frame's name for a thread that was to run."""


def refuse_wrong(trigger: RequestTrigger) -> None:
    """Refuse a trigger for what cannot come.

    Raises:
        ValueError: no such kind of request, or a number below 1.
    """
    if trigger.request not in REQUESTS:
        known = ", ".join(REQUESTS)
        raise ValueError(f"no request is called {trigger.request!r}; there are {known}")
    refuse_below_one("requests", trigger.number)


def refuse_below_one(what: str, number: int) -> None:
    """Refuse to wait for one that is before the next; raises as ``refuse_wrong``."""
    if number < 1:
        raise ValueError(f"{what} are counted from 1, not {number}")


class FrameSeen(NamedTuple):
    """A frame that has come to a client's links.

    Attributes:
        time: monotonic nanoseconds.
        client: whose.
        what: the name of a request (``create``), ``reply`` or ``event``; ``SWITCH`` for a thread
            that was to run (``ClientMachines.switches``).
    """

    time: int
    client: int
    what: str


class ArmedTrigger(Protocol):
    """A trigger that waits for its request."""

    acted: int | None
    """When it acted, in monotonic nanoseconds; None: not yet."""

    def withdraw(self) -> None:
        """Disarm the trigger, whether it has acted or not."""


class TriggerLinks(Protocol):
    """Links on which triggers can be armed."""

    def arm(
        self, client: int, trigger: RequestTrigger, nodes: Iterable[str] | None = None
    ) -> ArmedTrigger:
        """Arm a trigger for a client, on its links to some servers (all by default).

        Raises:
            ValueError: no such kind of request, or a number below 1.
        """

    def arm_frame(
        self,
        client: int,
        number: int,
        then: Callable[[], object],
        *,
        passes: bool = True,
        resets: bool = False,
    ) -> ArmedTrigger:
        """Arm a trigger for a client's n-th frame from now on, in either direction.

        Heartbeats, and what opens sessions, do not count.

        Args:
            client: its number.
            number: which frame; 1: the next.
            then: called when it has come; must not block.
            passes: whether it passes.
            resets: whether its connection is reset after it.

        Raises:
            ValueError: a number below 1.
        """

    def frames(self) -> list[FrameSeen]:
        """The frames that count which have come since this was first called."""
