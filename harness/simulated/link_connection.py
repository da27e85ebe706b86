"""One client's connection through a gate of the simulated network, and its faults."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from rumpus.harness.links import filtered_connection, zookeeper_frames
from rumpus.harness.links.filtered_connection import FilteredConnection, Frames
from rumpus.harness.links.links import WatchLeft, WatchSeen
from rumpus.harness.links.tally import LOSES_TO_CLIENT, LOSES_TO_SERVER, Tally
from rumpus.simulation.kernel.clock import BOOT
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.gate import Link as Passage

T = TypeVar("T")


class Link(filtered_connection.Link):
    """The way from one client to one server."""

    __slots__ = ("connections", "simulator")

    def __init__(
        self,
        node: str,
        tally: Tally,
        watch_events: deque[WatchSeen | WatchLeft],
        frames: Frames,
        simulator: Simulator,
    ) -> None:
        super().__init__(node, tally, watch_events, frames)
        self.simulator = simulator
        self.connections: dict[Passage, LinkConnection] = {}

    def monotonic(self) -> int:
        """Nanoseconds on the monotonic clock of the control process."""
        return BOOT + self.simulator.now

    def later(self, nanoseconds: int, function: Callable[[T], object], argument: T) -> None:
        """Call a function once so much virtual time has passed."""
        self.simulator.call_after(nanoseconds, function, argument)


class LinkConnection(FilteredConnection):
    """A connection from its opening to its end, whatever cuts come in between."""

    __slots__ = ("client_ended", "passage", "server_ended")

    link: Link

    def __init__(self, link: Link, passage: Passage) -> None:
        super().__init__(link)
        self.passage = passage
        self.client_ended = False
        self.server_ended = False

    @property
    def open(self) -> bool:
        """Whether neither side has hung up."""
        return not (self.client_ended or self.server_ended)

    # -- what passes ------------------------------------------------------------------------

    def reaches_client(self, chunk: bytes) -> bytes:
        """What reaches the client of bytes that have come from the server."""
        chunk, answers = self.to_client(chunk)
        if answers:
            self.link.tally.last_answer = self.link.monotonic()
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

    def abort(self) -> None:
        """Reset both ends."""
        self._forget()
        self.passage.reset()

    # -- within -----------------------------------------------------------------------------

    def _end_behind(self) -> None:
        """What is under way in the network still arrives before a reset."""
        self.abort()

    def _pass_held(self, held: bytes) -> None:
        self.link.tally.last_answer = self.link.monotonic()
        self.passage.pass_to_client(held)

    def _turn_away(self) -> None:
        """The client hangs up."""
        if self.server_ended:
            return
        self.server_ended = True
        if self.link.cut in LOSES_TO_CLIENT:
            self._swallow(len(zookeeper_frames.EXPIRED))
        else:
            self.passage.pass_to_client(zookeeper_frames.EXPIRED)
        self.passage.close_server_side()

    def _forget(self) -> None:
        self.tally.ended()
        self.link.connections.pop(self.passage, None)
        self._drop_trigger()
