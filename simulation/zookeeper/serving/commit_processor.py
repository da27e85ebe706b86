"""Keeps each session's requests in order while its writes wait to be committed.

ZooKeeper's ``CommitProcessor`` with one thread: every read sees the tree after some transaction,
and a read after a write of its own session sees at least that write.
"""

from collections import deque
from collections.abc import Callable

from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire.request import Request

SYNC = 9
WRITES = frozenset({1, 2, 5, 7, 13, 14, 15, 16, 19, 20, 21, -10, -11})
"""create, delete, setData, setACL, check, multi, create2, reconfig, createContainer,
deleteContainer, createTTL, createSession, closeSession."""


class CommitProcessor:
    """Passes on the requests of a server's clients, reads at once and writes when committed.

    Args:
        read: answers a read, or a sync that the leader has answered.
        apply: applies a transaction and answers its request; the request is None if another
            server has received it.
        waits: types of requests that wait until they are committed.
    """

    __slots__ = ("_apply", "_pending", "_read", "_waits", "_writes")

    def __init__(
        self,
        read: Callable[[Request], object],
        apply: Callable[[Entry, Request | None], object],
        waits: frozenset[int] = WRITES,
    ) -> None:
        self._read = read
        self._apply = apply
        self._waits = waits
        self._pending: dict[int, deque[Request]] = {}
        self._writes: deque[Request] = deque()

    def submit(self, request: Request) -> None:
        """Process a request after all earlier requests of its session."""
        waiting = self._pending.get(request.session)
        if request.type in self._waits:
            self._writes.append(request)
            if waiting is None:
                self._pending[request.session] = deque((request,))
            else:
                waiting.append(request)
        elif waiting is None:
            self._read(request)
        else:
            waiting.append(request)

    def commit(self, entry: Entry) -> None:
        """Apply a committed transaction, then answer the reads that waited for it."""
        writes = self._writes
        if writes:
            first = writes[0]
            header = entry.header
            if first.session == header.session and first.cxid == header.cxid:
                writes.popleft()
                self._apply(entry, first)
                self._answer_next(first)
                return
        self._apply(entry, None)

    def synced(self, session: int, cxid: int) -> bool:
        """Answer a sync that has come back from the leader. False if it does not wait here."""
        writes = self._writes
        if not writes or writes[0].session != session or writes[0].cxid != cxid:
            return False
        first = writes.popleft()
        self._read(first)
        self._answer_next(first)
        return True

    def _answer_next(self, done: Request) -> None:
        """Answer the session's next reads, up to its next write."""
        waiting = self._pending[done.session]
        assert waiting[0] is done, "a session's writes are committed in order"
        waiting.popleft()
        waits = self._waits
        while waiting:
            if waiting[0].type in waits:
                return
            self._read(waiting.popleft())
        del self._pending[done.session]

    def outstanding(self) -> int:
        """How many writes wait to be committed."""
        return len(self._writes)
