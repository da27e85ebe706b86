"""What passes on one client's connection, frame by frame, whatever carries its bytes.

The two worlds differ in how bytes move and in their clocks. What a cut, a trigger at a request or a
trigger at a frame does about them is told here, once.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rumpus.harness.links import zookeeper_frames
from rumpus.harness.links.links import Cut, WatchLeft, WatchSeen
from rumpus.harness.links.tally import (
    LOSES_TO_CLIENT,
    LOSES_TO_SERVER,
    ConnectionTally,
    Tally,
)
from rumpus.harness.links.triggers import FrameSeen, RequestTrigger
from rumpus.harness.links.zookeeper_frames import FrameReader

T = TypeVar("T")


class ArmedRequest:
    """A trigger at a request, the links it is armed on, and the connection whose reply it awaits.

    Args:
        trigger: what is done about which request.
        session: only requests of this session count; None: all.
    """

    __slots__ = ("acted", "connection", "left", "links", "session", "trigger")

    def __init__(self, trigger: RequestTrigger, session: int | None = None) -> None:
        self.trigger = trigger
        self.session = session
        self.left = trigger.number
        self.links: list[Link] = []
        self.connection: FilteredConnection | None = None
        self.acted: int | None = None
        """When it acted, in monotonic nanoseconds; None: not yet."""

    def arm(self, link: "Link") -> None:
        """Arm it on one more link."""
        link.armed_triggers.append(self)
        self.links.append(link)

    def meant(self, frame: bytes, session: int) -> bool:
        """Count a session's request if the trigger is about such; whether it is to be acted on."""
        if self.session not in (None, session):
            return False
        if not zookeeper_frames.asks_for(self.trigger.request, frame):
            return False
        self.left -= 1
        return self.left == 0

    def act(self, now: int) -> None:
        """Note that the trigger has acted, and take it off all its links."""
        self.acted = now
        self._take_off()

    def withdraw(self) -> None:
        """Take the trigger off all its links, and pass on what is held back for it."""
        self._take_off()
        if self.connection is not None:
            self.connection.end_hold(self)

    def _take_off(self) -> None:
        for link in self.links:
            link.armed_triggers.remove(self)
            if link.lost_reply is self:
                link.cut = link.lost_reply = None
        self.links.clear()


class FrameTrigger:
    """A trigger for a client's n-th frame.

    Args:
        number: which frame; 1: the next.
        then: called when it has come.
        passes: whether it passes.
        resets: whether its connection is reset after it.
        frames: where it is armed.
    """

    __slots__ = ("_frames", "_left", "_then", "acted", "passes", "resets")

    def __init__(
        self,
        number: int,
        then: Callable[[], object],
        *,
        passes: bool,
        resets: bool,
        frames: "Frames",
    ) -> None:
        self.passes = passes
        self.resets = resets
        self.acted: int | None = None
        """When it acted, in monotonic nanoseconds; None: not yet."""
        self._left = number
        self._then = then
        self._frames = frames
        frames.triggers.append(self)

    def meant(self) -> bool:
        """Count a frame; whether it is the one."""
        self._left -= 1
        return self._left == 0

    def act(self, now: int) -> None:
        """Note that it has acted, and do what concerns more than the connection."""
        self.acted = now
        self.withdraw()
        self._then()

    def withdraw(self) -> None:
        """Disarm the trigger, whether it has acted or not."""
        if self in self._frames.triggers:
            self._frames.triggers.remove(self)


class Frames:
    """What is done at frames of one client, on all its links.

    Attributes:
        triggers: those that wait.
        log: where frames are noted; None: nowhere.
    """

    __slots__ = ("log", "triggers")

    def __init__(self) -> None:
        self.triggers: list[FrameTrigger] = []
        self.log: list[FrameSeen] | None = None

    def wanted(self) -> bool:
        """Whether anybody wants to know of frames."""
        return bool(self.triggers) or self.log is not None


class Link(ABC):
    """The way from one client to one server, with the cut and the triggers that it has now.

    Args:
        node: the server.
        tally: what has been seen of the client.
        watch_events: where watches that are seen are appended.
        frames: what is done at the client's frames.
    """

    __slots__ = (
        "armed_triggers",
        "cut",
        "frames",
        "lost_reply",
        "node",
        "refused",
        "tally",
        "watch_events",
    )

    def __init__(
        self,
        node: str,
        tally: Tally,
        watch_events: deque[WatchSeen | WatchLeft],
        frames: Frames,
    ) -> None:
        self.node = node
        self.frames = frames
        self.tally = tally
        self.watch_events = watch_events
        self.cut: Cut | None = None
        self.lost_reply: ArmedRequest | None = None
        """The trigger of a ``lost-reply`` cut."""
        self.armed_triggers: list[ArmedRequest] = []
        self.refused: set[int] = set()
        """Sessions that the service refuses here."""

    @abstractmethod
    def monotonic(self) -> int:
        """Nanoseconds on the monotonic clock of the control process."""

    @abstractmethod
    def later(self, nanoseconds: int, function: Callable[[T], object], argument: T) -> None:
        """Call a function with an argument once so much time has passed."""

    def mend(self) -> None:
        """End the cut; what is to be done about connections is up to them."""
        self.cut = None
        if self.lost_reply is not None:
            armed, self.lost_reply = self.lost_reply, None
            armed.links.remove(self)
            self.armed_triggers.remove(armed)


class Piece(NamedTuple):
    """Bytes that have come in one direction, and the frames that end in them.

    ``pending`` bytes at the end belong to a frame that is not whole yet. What of the first frame
    came earlier has been let pass already.
    """

    chunk: bytes
    frames: list[bytes]
    pending: int

    def up_to(self, number: int) -> "Piece":
        """What comes before a frame."""
        return Piece(self.chunk[: self._start(number)], self.frames[:number], 0)

    def behind(self, number: int) -> "Piece":
        """A frame and what comes behind it, or what is pending."""
        return Piece(self.chunk[self._start(number) :], self.frames[number:], self.pending)

    def _start(self, number: int) -> int:
        return max(0, len(self.chunk) - sum(map(len, self.frames[number:])) - self.pending)


class FilteredConnection(ABC):
    """A connection from its opening to its end, whatever cuts come in between.

    Attributes:
        tally: what has passed on it.
        spoilt: bytes or an end of stream were lost, so that it can never be used again.
    """

    __slots__ = (
        "_awaited",
        "_from_client",
        "_from_server",
        "_held",
        "_holding",
        "_trigger",
        "link",
        "spoilt",
        "tally",
    )

    def __init__(self, link: Link) -> None:
        self.link = link
        self.spoilt = False
        self.tally = ConnectionTally(link.tally, link.watch_events, link.node)
        self._from_client = FrameReader()
        self._from_server = FrameReader()
        self._trigger: ArmedRequest | None = None
        self._awaited: int | None = None  # xid of the reply that the trigger is about
        self._held = b""  # bytes from the server that are held back
        self._holding: ArmedRequest | None = None  # the trigger for which all of them are held back

    @abstractmethod
    def abort(self) -> None:
        """Reset both ends."""

    # -- what passes ------------------------------------------------------------------------

    def to_server(self, chunk: bytes) -> bytes:
        """What reaches the server of bytes that have come from the client."""
        if self.link.cut in LOSES_TO_SERVER:
            self._swallow(len(chunk))
            return b""
        frames = self._from_client.feed(chunk)
        piece = Piece(chunk, frames, self._from_client.pending)
        if self.link.frames.wanted():
            first = 0 if self.tally.asked else 1
            piece = self._look_at_frames(piece, first, from_server=False)
        return self._requests_passing(piece)

    def to_client(self, chunk: bytes) -> tuple[bytes, bool]:
        """What reaches the client of bytes that have come from the server.

        Returns:
            These bytes, and whether a reply is among them, or a granted session.
        """
        frames = self._from_server.feed(chunk)
        self.tally.answered(frames, self.link.monotonic())
        if self.link.cut in LOSES_TO_CLIENT:
            self._swallow(len(chunk))
            return b"", False
        piece = Piece(chunk, frames, self._from_server.pending)
        if self.link.frames.wanted():
            first = 0 if self.tally.welcomed else 1
            piece = self._look_at_frames(piece, first, from_server=True)
        return self._replies_passing(piece)

    # -- what is done to it -----------------------------------------------------------------

    def release(self) -> None:
        """Pass on what was held back, and await no reply any more."""
        self._holding = None
        self._awaited = None
        self._drop_trigger()
        held, self._held = self._held, b""
        if held and not self.spoilt:
            self._pass_held(held)

    def end_hold(self, armed: ArmedRequest) -> None:
        """Pass on what is held back for a trigger, if that is not over already."""
        if self._holding is armed:
            self.release()

    # -- within -----------------------------------------------------------------------------

    @abstractmethod
    def _pass_held(self, held: bytes) -> None:
        """Pass on to the client what was held back."""

    @abstractmethod
    def _turn_away(self) -> None:
        """Tell a client that its session has expired, as a server does, and hang up."""

    @abstractmethod
    def _end_behind(self) -> None:
        """Reset both ends once what is let pass now has passed."""

    def _halt(self, triggers: list[FrameTrigger], rest: Piece, *, from_server: bool) -> bool:
        """Whether the rest waits until somebody has done what is to be done at its first frame.

        Args:
            triggers: those that have acted on that frame.
            rest: the frame, and what is behind it.
            from_server: whether it comes from the server.
        """
        del triggers, rest, from_server
        return False

    def _requests_passing(self, piece: Piece) -> bytes:
        requests = self.tally.requests(piece.frames)
        if self.tally.wanted in self.link.refused:
            self._turn_away()
            return b""
        if self.link.armed_triggers:
            handshakes = len(piece.frames) - len(requests)
            piece = self._look_at_requests(piece, handshakes)
        self.tally.passed(piece.frames, self.link.monotonic())
        return piece.chunk

    def _replies_passing(self, piece: Piece) -> tuple[bytes, bool]:
        now = self.link.monotonic()
        number, answers = self.tally.replies(piece.frames, self._awaited, now)
        chunk = piece.chunk
        if number is not None:
            whole = piece._replace(chunk=self._held + chunk)
            self._held = b""
            if self._trigger is not None and self._trigger.trigger.action == "hold-reply":
                for held in piece.frames[number:]:
                    self.tally.reply(held, now)
            return self._meet(whole.up_to(number).chunk, whole.behind(number)), False
        if self._holding is not None:
            self._held += chunk
            return b"", False
        if self._awaited is not None:
            # Only whole frames pass, so that not even the first byte of the awaited one does.
            chunk = self._held + chunk
            passing = max(0, len(chunk) - piece.pending)
            chunk, self._held = chunk[:passing], chunk[passing:]
        return chunk, answers

    def _look_at_requests(self, piece: Piece, handshakes: int) -> Piece:
        """Let armed triggers count these requests and act; what passes."""
        for number, frame in enumerate(piece.frames[handshakes:], handshakes):
            for armed in list(self.link.armed_triggers):
                if armed.connection is not None or not armed.meant(frame, self.tally.session):
                    continue
                action = armed.trigger.action
                if action in ("drop-reply", "hold-reply"):
                    armed.connection = self
                    self._trigger = armed
                    self._awaited = zookeeper_frames.xid(frame)
                    continue
                last = number + (action == "cut-after")
                armed.act(self.link.monotonic())
                self._swallow(sum(map(len, piece.frames[last:])))
                self._end_behind()
                return piece.up_to(last)
        return piece

    def _look_at_frames(self, piece: Piece, first: int, *, from_server: bool) -> Piece:
        """Note frames, and let armed triggers count them and act; what passes.

        Args:
            piece: what has come.
            first: the first frame that counts.
            from_server: whether it comes from the server.
        """
        link = self.link
        lossy = LOSES_TO_CLIENT if from_server else LOSES_TO_SERVER
        for number, frame in enumerate(piece.frames[first:], first):
            if zookeeper_frames.is_ping(frame):
                continue
            now = link.monotonic()
            if link.frames.log is not None:
                what = _name(frame, from_server=from_server)
                link.frames.log.append(FrameSeen(now, link.tally.client, what))
            due = [each for each in link.frames.triggers if each.meant()]
            for trigger in due:
                trigger.act(now)
            if due and self._halt(due, piece.behind(number), from_server=from_server):
                return piece.up_to(number)
            passes = all(trigger.passes for trigger in due)
            resets = any(trigger.resets for trigger in due)
            if resets or not passes or link.cut in lossy:
                passing = number + passes
                self._swallow(sum(map(len, piece.frames[passing:])) + piece.pending)
                if resets:
                    self._end_behind()
                return piece.up_to(passing)
        return piece

    def _meet(self, before: bytes, behind: Piece) -> bytes:
        """Act on the awaited reply, which ``behind`` begins with; what comes before it may pass."""
        armed, self._trigger = self._trigger, None
        self._awaited = None
        if armed is None or armed.acted is not None:
            return before + behind.chunk
        armed.act(self.link.monotonic())
        if armed.trigger.action == "hold-reply":
            self._holding = armed
            self._held = behind.chunk
            self.link.later(round(armed.trigger.milliseconds * 1e6), self.end_hold, armed)
        else:
            self._swallow(len(behind.frames[0]))
            self._end_behind()
        return before

    def _swallow(self, amount: int) -> None:
        self.spoilt = True
        self.link.tally.swallowed += amount

    def _drop_trigger(self) -> None:
        """No reply will come on this connection: let the trigger wait for the next such request."""
        armed, self._trigger = self._trigger, None
        if armed is not None and armed.acted is None:
            armed.connection = None
            armed.left = 1


def _name(frame: bytes, *, from_server: bool) -> str:
    """What a frame is, in a word."""
    if not from_server:
        return zookeeper_frames.request_name(zookeeper_frames.opcode(frame))
    return "event" if zookeeper_frames.xid(frame) == zookeeper_frames.WATCH_XID else "reply"
