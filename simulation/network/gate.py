"""A gate in the middle of connections: it sees what passes, and decides what may."""

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rumpus.simulation.network.segments import FIN, HELLO, Mark, Segment

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import World


class End(Protocol):
    """What a gate asks of either end of a connection."""

    def take_in(self, segment: Segment) -> None:
        """Give a segment to the program, or keep it until the program wants it."""

    def is_over(self) -> bool:
        """Whether the kernel knows nothing of this end any more."""

    def break_off(self, error: int) -> None:
        """End the connection with an error number, which the program is told."""


def _pass(_: "Link", chunk: bytes) -> bytes:
    return chunk


def _admit(_: "Link") -> bool:
    return True


def _let_hang_up(_: "Link", *, by_client: bool) -> bool:  # noqa: ARG001 - the callback's form
    return True


def _ignore(_: "Link") -> None:
    return None


class Gate:
    """Stands in every connection that is opened from a host to an address from now on.

    The attributes are callbacks, to be replaced by whoever wants to decide; at first all passes.
    They are called in the main loop, when something arrives; one gate sees a direction's bytes
    in order. What a gate keeps is acknowledged to its sender.
    """

    __slots__ = ("admit", "hung_up", "links", "opened", "to_client", "to_server")

    def __init__(self) -> None:
        self.admit: Callable[[Link], bool] = _admit
        """Whether a new connection reaches the server. If not, it is there for the client, as
        long as anything is, but silent; asked even if no server listens."""
        self.opened: Callable[[Link], None] = _ignore
        """A connection has been opened, before anything passes."""
        self.to_server: Callable[[Link, bytes], bytes] = _pass
        """What passes of a chunk that goes to the server; the rest can be passed later."""
        self.to_client: Callable[[Link, bytes], bytes] = _pass
        """The same for the other direction."""
        self.hung_up: Callable[..., bool] = _let_hang_up
        """``hung_up(link, by_client=...)``: whether the other side learns of an end or reset."""
        self.links: dict[Link, None] = {}
        """Connections that a program holds open on either side."""


class Link:
    """A connection that goes through a gate. Its methods may be called from anywhere."""

    __slots__ = (
        "_left",
        "_simulator",
        "admitted",
        "client",
        "gate",
        "server",
        "server_closed",
    )

    def __init__(self, simulator: "World", gate: Gate, client: End, server: End) -> None:
        self._simulator = simulator
        self.gate = gate
        self.client = client
        """The client's end."""
        self.server = server
        """The server's end."""
        self._left: dict[End, None] = {}  # ends that their programs have closed
        self.admitted = True
        self.server_closed = False

    def pass_segment(self, end: End, segment: Segment) -> Segment | None:
        """What of a segment reaches an end; called by the connection."""
        to_server = end is self.server
        if segment is HELLO:
            return segment if self.admitted else None
        if isinstance(segment, Mark):
            learns = self.gate.hung_up(self, by_client=to_server)
            return segment if learns and self._reaches(to_server=to_server) else None
        assert isinstance(segment, bytes)
        chunk = (self.gate.to_server if to_server else self.gate.to_client)(self, segment)
        if self._reaches(to_server=to_server):
            return chunk or None
        if not to_server:  # the server writes into what it has been told is closed
            self._later(self.server.break_off, errno.ECONNRESET)
        return None

    def pass_reset(self, end: End) -> bool:
        """Whether a reset reaches an end; called by the connection."""
        to_server = end is self.server
        return bool(self.gate.hung_up(self, by_client=to_server)) and self._reaches(
            to_server=to_server
        )

    def left(self, end: End) -> None:
        """The program at one end has closed it, or knows that it is lost."""
        self._left[end] = None
        if self.client in self._left and (self.server in self._left or not self.admitted):
            self.gate.links.pop(self, None)

    def pass_to_client(self, chunk: bytes) -> None:
        """Give bytes to the client, after what it has been given."""
        self._later(self._give, (self.client, chunk))

    def pass_to_server(self, chunk: bytes) -> None:
        """Give bytes to the server, after what it has been given."""
        self._later(self._give, (self.server, chunk))

    def reset(self) -> None:
        """Reset the connection on both sides."""
        self._later(self.client.break_off, errno.ECONNRESET)
        self._later(self.server.break_off, errno.ECONNRESET)

    def close_server_side(self) -> None:
        """Let the server see the end of the stream; the client's side stays open and silent."""
        if not self.server_closed:
            self.server_closed = True
            self._later(self._give, (self.server, FIN))

    def _reaches(self, *, to_server: bool) -> bool:
        return not self.server_closed and (self.admitted or not to_server)

    def _give(self, what: tuple[End, Segment]) -> None:
        end, segment = what
        if not end.is_over():
            end.take_in(segment)

    def _later(self, callback: Callable[..., object], argument: object) -> None:
        self._simulator.call_after(0, callback, argument)
