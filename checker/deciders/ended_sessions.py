"""Sessions that ended at some time, by what the records of a history say besides its operations."""

from collections.abc import Hashable, Iterable

from rumpus.checker.deciders.values import freeze
from rumpus.checker.history import Op

_ENDS = frozenset({"lost", "closed", "exited"})
"""Records of the process ``session`` after which the client's session ends, or has ended."""


class EndedSessions:
    """Collects ended sessions from the records of the process ``session``, in their order.

    A client has one session at a time. So a session has ended when its client lost or closed it,
    when its client's process was killed, and when the client is connected with another session.

    Attributes:
        sessions: the sessions that ended, and the time of the last record that says so, in ns.
    """

    def __init__(self) -> None:
        self.sessions: dict[Hashable, int] = {}
        self._current: dict[Hashable, Hashable] = {}

    def add(self, records: Iterable[Op]) -> None:
        """Read the next records of a history.

        Raises:
            WrongOperations: a value is nested too deeply, or too large.
        """
        for op in records:
            if op.process == "session" and isinstance(op.value, dict):
                client, session = (freeze(op.value.get(name)) for name in ("client", "session"))
                self._add(op.f, op.time, client, session)

    def _add(self, f: str, time: int, client: Hashable, session: Hashable) -> None:
        if f == "connected":
            before = self._current.get(client)
            if before is not None and before != session:
                self._end(before, time)
            self._current[client] = session
        elif f in _ENDS:
            current = self._current.pop(client, None)
            ended = current if session is None else session
            if ended is not None:
                self._end(ended, time)

    def _end(self, session: Hashable, time: int) -> None:
        self.sessions[session] = max(time, self.sessions.get(session, time))
