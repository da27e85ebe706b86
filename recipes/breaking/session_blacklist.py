"""A blacklist of sessions, and a guard by which each client ends its own session once it is listed.

This takes a lock from a holder that hangs. Deleting the holder's node would not be safe: the holder
would still believe that it holds the lock, and by then the node may be another client's. Instead,
the holder's *session* is put on a blacklist. The holder's own client reads the list: it tells the
application to stop, and then ends its session, which releases all its locks. A client that cannot
read the list cannot renew its session either, so the session expires.

The entries are persistent nodes named after the session. Session ids are unique, so an entry that
is left over does no harm; remove it when the session has ended.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.protocol.states import KeeperState

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE, started_again
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import LONGEST_REQUEST, Session, Unanswered, Watcher


class SessionBlacklist:
    """The blacklist: the children of ``path``.

    Args:
        client: a started client with kazoo's threading handler.
        path: the list's znode, created when first needed.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path

    def entry(self, session: int) -> str:
        """The path of a session's entry (signed 64 bits)."""
        return f"{self._path}/0x{session & 0xFFFFFFFFFFFFFFFF:x}"

    def add(self, session: int, timeout: float | None = 5.0) -> None:
        """List a session; does nothing if it is listed already.

        Raises:
            Unanswered: no answer in time; the session may be listed, or may be yet.
        """
        deadline = Deadline(timeout)

        def ask(present: Session) -> None:
            try:
                present.ask(deadline, self._client.create_async, self.entry(session))
            except NodeExistsError:
                return
            except NoNodeError:
                present.ask(deadline, self._client.ensure_path_async, self.entry(session))

        until_answered(self._client, deadline, ask)

    def remove(self, session: int, timeout: float | None = 5.0) -> None:
        """Remove a session's entry, once the session has ended.

        Raises:
            Unanswered: no answer in time.
        """
        deadline = Deadline(timeout)

        def ask(present: Session) -> None:
            with suppress(NoNodeError):
                present.ask(deadline, self._client.delete_async, self.entry(session))

        until_answered(self._client, deadline, ask)

    def names(self, session: int, present: Session, deadline: Deadline, news: Watcher) -> bool:
        """Whether a session is listed; sets the watch ``news`` for changes of that.

        Raises what ``Session.ask`` does.
        """
        entry = self.entry(session)
        return present.ask(deadline, self._client.exists_async, entry, news) is not None


class BlacklistGuard:
    """Ends the client's session once it is listed, on a thread of its own.

    The thread reads the list when a session begins, when its watch fires, and whenever the
    connection has changed, so that it misses no entry.

    Args:
        client: the client to guard. It is stopped and started again, so its other users see their
            session end as if it had expired.
        blacklist: the list.
        condemned: called on the guard's thread when the present session is listed, before it is
            ended: the application must stop acting as holder.
    """

    def __init__(
        self, client: KazooClient, blacklist: SessionBlacklist, condemned: Callable[[], None]
    ) -> None:
        self._client = client
        self._blacklist = blacklist
        self._tell = condemned
        self._condemned: set[int] = set()
        self._starting = threading.Lock()
        self._running = False
        self.endings = 0
        """The number of sessions that were ended or are being ended."""
        self.idle = threading.Event()
        """Cleared while a session is being ended."""
        self.idle.set()

    def start(self) -> None:
        """Guard the client until it is stopped for good; nothing if the guard runs already."""
        with self._starting:
            if not self._running:
                self._running = True
                self._client.handler.spawn(self._run)

    def condemned(self, session: int | None) -> bool:
        """Whether this session was found on the list."""
        return session in self._condemned

    def _run(self) -> None:
        try:
            while self._guard_session():
                pass
        finally:
            with self._starting:
                self._running = False

    def _guard_session(self) -> bool:
        """Guard one session until it has ended; False when the client was stopped for good.

        A client that is started again goes on with the calls that were under way, and is granted
        locks in a session that nobody else would guard.
        """
        session = Session(self._client)
        try:
            while session.reconnected(Deadline(None)):
                if self._is_named(session):
                    return True
        except ConnectionClosedError:
            return started_again(self._client)
        except SessionExpiredError:
            return True
        finally:
            session.close()
        return started_again(self._client)

    def _is_named(self, session: Session) -> bool:
        """Read the list; end the session if it is listed (True), else wait for events.

        Raises:
            SessionExpiredError: the session has ended.
        """
        present = session.id
        if present is None:
            return False
        session.wake.clear()
        try:
            named = self._blacklist.names(present, session, Deadline(None), session.watcher())
        except Unanswered:
            session.wake.wait(PAUSE)
            return False
        if named:
            self._end(present)
        else:
            session.wake.wait()
        return named

    def _end(self, session: int) -> None:
        self._condemned.add(session)
        self._tell()
        self.idle.clear()
        self.endings += 1
        try:
            self._client.stop()
            begun = self._client.start_async()
            starting = Deadline(LONGEST_REQUEST)
            while self._client.client_state == KeeperState.CLOSED and not starting.passed:
                begun.wait(PAUSE)  # kazoo refuses requests until its thread has begun
        finally:
            self.idle.set()
