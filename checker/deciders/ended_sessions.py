"""What the records of a history say of sessions besides its operations: they ended, or lived on."""

from collections.abc import Hashable, Iterable

from rumpus.checker.deciders.values import freeze
from rumpus.checker.history import Op

_ENDS = frozenset({"lost", "closed", "exited"})
"""Records of the process ``session`` after which the client's session ends, or has ended."""


class SessionRecords:
    """Reads the records of the process ``session``, in their order.

    A client has one session at a time. So a session has ended when its client lost or closed it,
    when its client's process was killed, and when the client is connected with another session.
    A client that is connected again in its session shows that it lived after the client's record
    before that.

    Attributes:
        ended: the sessions that ended; of each the clients whose records say so, and the time of
            their last one, in ns.
        lived: the sessions that were resumed, and after when (ns) they certainly lived still.
        clients: one more than the highest number of a client.
    """

    def __init__(self) -> None:
        self.ended: dict[Hashable, dict[Hashable, int]] = {}
        self.lived: dict[Hashable, int] = {}
        self.clients = 0
        self._current: dict[Hashable, Hashable] = {}
        self._before: dict[Hashable, int] = {}
        self._owners: dict[Hashable, set[Hashable]] = {}

    def add(self, records: Iterable[Op]) -> None:
        """Read the next records of a history.

        Raises:
            WrongOperations: a value is nested too deeply, or too large.
        """
        for op in records:
            if op.process == "session" and isinstance(op.value, dict):
                client, session = (freeze(op.value.get(name)) for name in ("client", "session"))
                if type(client) is int:
                    self.clients = max(self.clients, client + 1)
                self._add(op.f, op.time, client, session)
                self._before[client] = op.time

    def ends_of(self, session: Hashable, processes: Iterable[int]) -> int | None:
        """When (ns) the last record says that a session has ended; None if none does.

        The end of a session is told by a client that was connected in it, or else by one that may
        have worked in it: others cannot know.

        Args:
            session: its name.
            processes: those that have worked in it. Those with a client's number are that client.
        """
        owners = self._owners.get(session)
        users = set(processes)
        if owners is None and all(process < self.clients for process in users):
            owners = set(users)
        told = self.ended.get(session, {}).items()
        times = [time for client, time in told if not owners or client in owners]
        return max(times, default=None)

    def _add(self, f: str, time: int, client: Hashable, session: Hashable) -> None:
        if f == "connected":
            before = self._current.get(client)
            if before is not None and before != session:
                self._end(before, client, time)
            if session is not None:
                self._owners.setdefault(session, set()).add(client)
                if client in self._before:
                    after = self._before[client]
                    self.lived[session] = max(after, self.lived.get(session, after))
            self._current[client] = session
        elif f in _ENDS:
            current = self._current.pop(client, None)
            ended = current if session is None else session
            if ended is not None:
                self._end(ended, client, time)

    def _end(self, session: Hashable, client: Hashable, time: int) -> None:
        told = self.ended.setdefault(session, {})
        told[client] = max(time, told.get(client, time))
