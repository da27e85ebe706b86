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
        apply_again: with the bug "sync-taken-for-write": applies a transaction once more and
            answers the sync that was taken for its request. None: without that bug.
    """

    __slots__ = ("_apply", "_apply_again", "_pending", "_read", "_taken", "_waits", "_writes")

    def __init__(
        self,
        read: Callable[[Request], object],
        apply: Callable[[Entry, Request | None], object],
        waits: frozenset[int] = WRITES,
        apply_again: Callable[[Entry, Request], object] | None = None,
    ) -> None:
        self._read = read
        self._apply = apply
        self._waits = waits
        self._apply_again = apply_again
        self._taken: dict[Request, Entry] = {}
        """Syncs that were taken for the requests of transactions, until the leader answers."""
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
            if (
                first.session == header.session
                and first.cxid == header.cxid
                and (first.type != SYNC or self._is_taken(first, entry))
            ):
                writes.popleft()
                self._apply(entry, first)
                self._answer_next(first)
                return
        self._apply(entry, None)

    def _is_taken(self, sync: Request, entry: Entry) -> bool:
        """Whether a sync is taken for the request of a transaction: both have the same number.

        A session that has moved may have sent the one through this server and the other through
        another one, if its client numbers its requests anew on each connection.
        """
        if self._apply_again is None:
            return False
        self._taken[sync] = entry
        return True

    def synced(self, sync: Request) -> None:
        """Answer a sync that has come back from the leader, after all writes before it."""
        entry = self._taken.pop(sync, None)
        if entry is not None:
            assert self._apply_again is not None
            self._apply_again(entry, sync)
            return
        first = self._writes.popleft()
        assert first is sync, "a sync comes back after all writes before it"
        self._read(sync)
        self._answer_next(sync)

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
