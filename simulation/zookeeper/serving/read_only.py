"""Read-only mode: serving reads while a server looks for a leader (``ReadOnlyZooKeeperServer``)."""

from typing import TYPE_CHECKING

from rumpus.simulation.zookeeper.serving.role import Handshake, Mode
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.serving.session_tracker import LearnerSessionTracker
from rumpus.simulation.zookeeper.wire import error_codes, opcodes
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Timer

MILLISECOND = 1_000_000
SHORTEST_WAIT = 2_000
"""Milliseconds for which a server looks for a leader, at least, before it serves reads."""

REFUSED = frozenset(
    {
        opcodes.SYNC,
        opcodes.CREATE,
        opcodes.CREATE2,
        opcodes.CREATE_TTL,
        opcodes.CREATE_CONTAINER,
        opcodes.DELETE,
        opcodes.DELETE_CONTAINER,
        opcodes.SET_DATA,
        opcodes.RECONFIG,
        opcodes.SET_ACL,
        opcodes.MULTI,
        opcodes.CHECK,
    }
)


class ReadOnly:
    """The role of a server that has not found a leader for some time.

    Sessions opened here are not known to other servers, and end with this role.

    Args:
        server: that looks for a leader.
    """

    mode: Mode = "read-only"

    def __init__(self, server: ZooKeeperServer) -> None:
        self._server = server
        self._local: dict[int, int] = {}
        self.sessions = LearnerSessionTracker(self._timeouts)
        self._timer: Timer | None = None
        self._serving = False

    def _timeouts(self) -> dict[int, int]:
        return self._local

    def start(self) -> None:
        """Serve after ``max(2000, tickTime)`` milliseconds, unless stopped before."""
        wait = max(SHORTEST_WAIT, self._server.settings.tick_time) * MILLISECOND
        self._timer = self._server.process.call_later(wait, self._serve)

    def _serve(self) -> None:
        self._serving = True
        self._server.start_serving(self)

    def stop(self) -> None:
        """A leader has been found."""
        if self._timer is not None:
            self._timer.cancel()
        if self._serving:
            self._serving = False
            self._server.stop_serving()

    def submit(self, request: Request) -> None:
        """Answer a read; refuse syncs and writes."""
        server = self._server
        if request.type == opcodes.CREATE_SESSION:
            self._local[request.session] = int.from_bytes(request.body, "big", signed=True)
            server.finish(request, None)
        elif request.type == opcodes.CLOSE_SESSION:
            self._local.pop(request.session, None)
            server.finish(request, None)
        elif request.type in REFUSED:
            server.refuse(request, error_codes.NOT_READ_ONLY)
        else:
            server.finish(request, None)

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:
        """Resume a session of this role; close the connection of one of the ensemble's sessions."""
        if session in self._local:
            self._local[session] = timeout
            connection.answer_handshake(valid=True)
        elif session in self._server.database.sessions:
            connection.close()
        else:
            connection.answer_handshake(valid=False)

    def statistics(self) -> dict[str, int | str]:
        """None."""
        return {}
