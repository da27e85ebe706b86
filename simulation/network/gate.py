"""A gate in the middle of connections: it sees all that is sent, and decides what passes."""

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rumpus.simulation.network.segments import FIN, HELLO, Mark, Segment

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import World


class End(Protocol):
    """One end of a connection, as a gate uses it."""

    def take_in(self, segment: Segment) -> None:
        """Give a segment to the program, or keep it until the program wants it."""

    def is_over(self) -> bool:
        """Whether this end is gone for its kernel (reset, failed or vanished)."""

    def break_off(self, error: int) -> None:
        """End the connection with an error number (``errno``), which the program is told."""


def _pass(_: "Link", chunk: bytes) -> bytes:
    return chunk


def _admit(_: "Link") -> bool:
    return True


def _let_hang_up(_: "Link", *, by_client: bool) -> bool:  # noqa: ARG001 - the callback's form
    return True


def _ignore(_: "Link") -> None:
    return None


def _keep_nothing(_: "Link", *, to_server: bool) -> int:  # noqa: ARG001 - the callback's form
    return 0


class Gate:
    """Stands in every connection that is opened from a host to an address from now on.

    The attributes are callbacks, which a test may replace; at first everything passes. They are
    called in the main loop, when something arrives; bytes of one direction come in order. Bytes
    that a gate withholds are acknowledged to their sender.
    """

    __slots__ = ("admit", "hung_up", "kept", "links", "opened", "to_client", "to_server")

    def __init__(self) -> None:
        self.admit: Callable[[Link], bool] = _admit
        """Whether a new connection reaches the server. If not, it is established for the client,
        but silent. Called even if no server listens."""
        self.opened: Callable[[Link], None] = _ignore
        """Called when a connection has been opened, before anything passes."""
        self.to_server: Callable[[Link, bytes], bytes] = _pass
        """Returns what passes of a chunk to the server; ``Link.pass_to_server`` can send more."""
        self.to_client: Callable[[Link, bytes], bytes] = _pass
        """The same for the other direction."""
        self.hung_up: Callable[..., bool] = _let_hang_up
        """``hung_up(link, by_client=...)``: whether the other side learns of a FIN or reset."""
        self.kept: Callable[..., int] = _keep_nothing
        """``kept(link, to_server=...)``: the bytes that the other callbacks keep."""
        self.links: dict[Link, None] = {}
        """Connections that are still open on at least one side."""


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
        self._left: dict[End, None] = {}  # ends whose programs have closed them
        self.admitted = True
        self.server_closed = False

    def pass_segment(self, end: End, segment: Segment) -> Segment | None:
        """The part of a segment that reaches an end; called by the connection."""
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
        if not to_server:  # the server writes although it was told that the client has gone
            self._later(self.server.break_off, errno.ECONNRESET)
        return None

    def pass_reset(self, end: End) -> bool:
        """Whether a reset reaches an end; called by the connection."""
        to_server = end is self.server
        return bool(self.gate.hung_up(self, by_client=to_server)) and self._reaches(
            to_server=to_server
        )

    def kept(self, end: End) -> int:
        """The bytes that are kept here of what was sent to an end."""
        return self.gate.kept(self, to_server=end is self.server)

    def left(self, end: End) -> None:
        """The program at one end has closed the connection, or was told that it is lost."""
        self._left[end] = None
        if self.client in self._left and (self.server in self._left or not self.admitted):
            self.gate.links.pop(self, None)

    def pass_to_client(self, chunk: bytes) -> None:
        """Send bytes to the client, after those that it has got already."""
        self._later(self._give, (self.client, chunk))

    def pass_to_server(self, chunk: bytes) -> None:
        """Send bytes to the server, after those that it has got already."""
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
