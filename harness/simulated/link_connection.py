"""One client's connection through a gate of the simulated network, and its faults."""

from collections import deque
from collections.abc import Callable

from rumpus.harness.links import zookeeper_frames
from rumpus.harness.links.links import Cut, WatchLeft, WatchSeen
from rumpus.harness.links.tally import (
    LOSES_TO_CLIENT,
    LOSES_TO_SERVER,
    ConnectionTally,
    Tally,
)
from rumpus.harness.links.zookeeper_frames import FrameReader
from rumpus.harness.simulated_faults import FrameSeen, RequestTrigger
from rumpus.simulation.kernel.clock import BOOT
from rumpus.simulation.kernel.simulator import MILLISECOND, Simulator
from rumpus.simulation.network.gate import Link as Passage


class ArmedTrigger:
    """A trigger, the links it is armed on, and the connection whose reply it awaits.

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
        self.connection: LinkConnection | None = None
        self.acted: int | None = None
        """When it acted, in monotonic nanoseconds; None: not yet."""

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


class Link:
    """The way from one client to one server, with the cut and the triggers that it has now."""

    __slots__ = (
        "armed_triggers",
        "connections",
        "cut",
        "frames",
        "lost_reply",
        "node",
        "refused",
        "simulator",
        "tally",
        "watch_events",
    )

    def __init__(
        self,
        node: str,
        tally: Tally,
        watch_events: deque[WatchSeen | WatchLeft],
        frames: Frames,
        simulator: Simulator,
    ) -> None:
        self.node = node
        self.frames = frames
        self.tally = tally
        self.watch_events = watch_events
        self.simulator = simulator
        self.cut: Cut | None = None
        self.lost_reply: ArmedTrigger | None = None
        """The trigger of a ``lost-reply`` cut."""
        self.armed_triggers: list[ArmedTrigger] = []
        self.connections: dict[Passage, LinkConnection] = {}
        self.refused: set[int] = set()
        """Sessions that the service refuses here."""

    def monotonic(self) -> int:
        """Nanoseconds on the monotonic clock of the control process."""
        return BOOT + self.simulator.now


class LinkConnection:
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
        "client_ended",
        "link",
        "passage",
        "server_ended",
        "spoilt",
        "tally",
    )

    def __init__(self, link: Link, passage: Passage) -> None:
        self.link = link
        self.passage = passage
        self.spoilt = False
        self.client_ended = False
        self.server_ended = False
        self.tally = ConnectionTally(link.tally, link.watch_events, link.node)
        self._from_client = FrameReader()
        self._from_server = FrameReader()
        self._trigger: ArmedTrigger | None = None
        self._awaited: int | None = None  # xid of the reply that the trigger is about
        self._held = b""  # bytes from the server that are held back
        self._holding: ArmedTrigger | None = None  # the trigger for which all of them are held back

    @property
    def open(self) -> bool:
        """Whether neither side has hung up."""
        return not (self.client_ended or self.server_ended)

    # -- what passes ------------------------------------------------------------------------

    def to_server(self, chunk: bytes) -> bytes:
        """What reaches the server of bytes that have come from the client."""
        link = self.link
        if link.cut in LOSES_TO_SERVER:
            self._swallow(len(chunk))
            return b""
        frames = self._from_client.feed(chunk)
        if link.frames.wanted():
            first = 0 if self.tally.asked else 1
            chunk, passing = self._look_at_frames(chunk, frames, first, self._from_client.pending)
            frames = frames[:passing]
        requests = self.tally.requests(frames)
        if self.tally.wanted in link.refused:
            self._turn_away()
            return b""
        if link.armed_triggers:
            chunk, stopped = self._look_at_requests(chunk, requests)
            frames = frames[: len(frames) - stopped]
        self.tally.passed(frames, link.monotonic())
        return chunk

    def to_client(self, chunk: bytes) -> bytes:
        """What reaches the client of bytes that have come from the server."""
        link = self.link
        frames = self._from_server.feed(chunk)
        self.tally.answered(frames, link.monotonic())
        if link.cut in LOSES_TO_CLIENT:
            self._swallow(len(chunk))
            return b""
        if link.frames.wanted():
            first = 0 if self.tally.welcomed else 1
            chunk, passing = self._look_at_frames(
                chunk, frames, first, self._from_server.pending, from_server=True
            )
            frames = frames[:passing]
        number, answers = self.tally.replies(frames, self._awaited, link.monotonic())
        if number is not None:
            chunk, self._held = self._held + chunk, b""
            passing = len(chunk) - sum(map(len, frames[number:])) - self._from_server.pending
            if self._trigger is not None and self._trigger.trigger.action == "hold-reply":
                for held in frames[number:]:
                    self.tally.reply(held, link.monotonic())
            return self._meet(chunk[:passing], chunk[passing:], frames[number])
        if self._holding is not None:
            self._held += chunk
            return b""
        if answers:
            link.tally.last_answer = link.monotonic()
        if self._awaited is not None:
            # Only whole frames pass, so that not even the first byte of the awaited one does.
            chunk = self._held + chunk
            passing = len(chunk) - self._from_server.pending
            chunk, self._held = chunk[:passing], chunk[passing:]
        return chunk

    def kept(self, *, to_server: bool) -> int:
        """The bytes of one direction that are kept here: to see whole frames, or held back."""
        if to_server:
            return self._from_client.pending
        return self._from_server.pending + len(self._held)

    def hung_up(self, *, by_client: bool) -> bool:
        """Whether the other side learns that one side has hung up, or reset the connection."""
        cut = self.link.cut
        if by_client:
            self.client_ended = True
            lost = cut in LOSES_TO_SERVER
        else:
            self.server_ended = True
            lost = cut in LOSES_TO_CLIENT
        if lost:
            self.spoilt = True
        elif not self.spoilt and self.client_ended and self.server_ended:
            self._forget()
        return not lost

    # -- what is done to it -----------------------------------------------------------------

    def apply_cut(self) -> None:
        """Apply the link's cut to this connection; a ``reset`` ends it."""
        if self.link.cut == "reset":
            self._swallow(1)
            self.abort()
        elif self.link.cut == "half-open":
            self.spoilt = self.server_ended = True
            self.passage.close_server_side()

    def mend(self) -> None:
        """Pass on what was held back; if the connection is spoilt, reset it instead."""
        if self.spoilt:
            self.abort()
        else:
            self.release()

    def release(self) -> None:
        """Pass on what was held back, and await no reply any more."""
        self._holding = None
        self._awaited = None
        self._drop_trigger()
        held, self._held = self._held, b""
        if held and not self.spoilt:
            self.link.tally.last_answer = self.link.monotonic()
            self.passage.pass_to_client(held)

    def end_hold(self, armed: ArmedTrigger) -> None:
        """Pass on what is held back for a trigger, if that is not over already."""
        if self._holding is armed:
            self.release()

    def abort(self) -> None:
        """Reset both ends."""
        self._forget()
        self.passage.reset()

    # -- within -----------------------------------------------------------------------------

    def _look_at_requests(self, chunk: bytes, frames: list[bytes]) -> tuple[bytes, int]:
        """Let armed triggers count these requests and act.

        Returns:
            What passes of ``chunk``, and how many of the requests do not.
        """
        passed = 0
        for number, frame in enumerate(frames):
            for armed in list(self.link.armed_triggers):
                if armed.connection is not None or not armed.meant(frame, self.tally.session):
                    continue
                action = armed.trigger.action
                if action in ("drop-reply", "hold-reply"):
                    armed.connection = self
                    self._trigger = armed
                    self._awaited = zookeeper_frames.xid(frame)
                    continue
                stopped = frames[number + (action == "cut-after") :]
                behind = sum(map(len, stopped))
                passed = len(chunk) - behind - self._from_client.pending
                armed.act(self.link.monotonic())
                self._swallow(behind)
                self.abort()
                return chunk[:passed] if passed > 0 else b"", len(stopped)
        return chunk, 0

    def _look_at_frames(
        self,
        chunk: bytes,
        frames: list[bytes],
        first: int,
        pending: int,
        *,
        from_server: bool = False,
    ) -> tuple[bytes, int]:
        """Note frames, and let armed triggers count them and act.

        Args:
            chunk: the bytes that have come.
            frames: what is whole with them.
            first: the first frame that counts.
            pending: bytes at the end of the chunk that belong to the next frame.
            from_server: whether they come from the server.

        Returns:
            What passes of the chunk, and how many of the frames.
        """
        link = self.link
        passing, resets = len(frames), False
        lossy = LOSES_TO_CLIENT if from_server else LOSES_TO_SERVER
        for number, frame in enumerate(frames[first:], first):
            if zookeeper_frames.is_ping(frame):
                continue
            now = link.monotonic()
            if link.frames.log is not None:
                what = _name(frame, from_server=from_server)
                link.frames.log.append(FrameSeen(now, link.tally.client, what))
            for trigger in [each for each in link.frames.triggers if each.meant()]:
                trigger.act(now)
                passing = min(passing, number + trigger.passes)
                resets = resets or trigger.resets
            if passing < len(frames) or resets or link.cut in lossy:
                passing = min(passing, number + 1)
                behind = sum(map(len, frames[passing:])) + pending
                self._swallow(behind)
                if resets:
                    self.abort()
                return chunk[: max(0, len(chunk) - behind)], passing
        return chunk, len(frames)

    def _meet(self, before: bytes, behind: bytes, frame: bytes) -> bytes:
        """Act on the awaited reply, which ``behind`` begins with; what comes before it may pass."""
        armed, self._trigger = self._trigger, None
        self._awaited = None
        if armed is None or armed.acted is not None:
            return before + behind
        armed.act(self.link.monotonic())
        if armed.trigger.action == "hold-reply":
            self._holding = armed
            self._held = behind
            wait = round(armed.trigger.milliseconds * MILLISECOND)
            self.link.simulator.call_after(wait, self.end_hold, armed)
        else:
            self._swallow(len(frame))
            self.abort()
        return before

    def _turn_away(self) -> None:
        """Tell a client that its session has expired, as a server does; the client hangs up."""
        if self.server_ended:
            return
        self.server_ended = True
        if self.link.cut in LOSES_TO_CLIENT:
            self._swallow(len(zookeeper_frames.EXPIRED))
        else:
            self.passage.pass_to_client(zookeeper_frames.EXPIRED)
        self.passage.close_server_side()

    def _swallow(self, amount: int) -> None:
        self.spoilt = True
        self.link.tally.swallowed += amount

    def _forget(self) -> None:
        self.tally.ended()
        self.link.connections.pop(self.passage, None)
        self._drop_trigger()

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
