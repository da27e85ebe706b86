"""A list of sessions that have to end, and the guard by which a client obeys it.

How to take a lock from a holder that hangs. Its node must not be deleted: by then it may be
somebody else's, and the holder would go on believing. Instead its *session* is named on a list,
and it is the holder's own client that obeys: it tells the application to stop, then it ends its
session, and with the session go all its locks. A client that cannot read the list cannot renew
its session either, which expires.

The entries are persistent nodes named after the session. Sessions have unique numbers, so an
entry that is left does no harm; remove it when the session has ended.
"""

import threading
from collections.abc import Callable

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.protocol.states import KeeperState, WatchedEvent

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import LONGEST_REQUEST, Session, Unanswered


class SessionBlacklist:
    """The list: the children of ``path``.

    Args:
        client: a started client with kazoo's threading handler.
        path: its znode, made when first needed.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path

    def entry(self, session: int) -> str:
        """The node that names a session (signed 64 bits)."""
        return f"{self._path}/0x{session & 0xFFFFFFFFFFFFFFFF:x}"

    def add(self, session: int, timeout: float | None = 5.0) -> None:
        """Name a session; nothing happens if it is named already.

        Raises:
            Unanswered: no answer in time; it may be named, or may yet be.
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
        """Forget a session, once it has ended.

        Raises:
            Unanswered: no answer in time.
        """
        deadline = Deadline(timeout)

        def ask(present: Session) -> None:
            try:
                present.ask(deadline, self._client.delete_async, self.entry(session))
            except NoNodeError:
                return

        until_answered(self._client, deadline, ask)

    def names(
        self,
        session: int,
        present: Session,
        deadline: Deadline,
        news: Callable[[WatchedEvent], None],
    ) -> bool:
        """Whether a session is named; ``news`` is told when that may have changed.

        Raises what ``Session.ask`` does.
        """
        entry = self.entry(session)
        return present.ask(deadline, self._client.exists_async, entry, news) is not None


class BlacklistGuard:
    """Ends the client's session once the list names it, on a thread of its own.

    The thread looks at the list when a session begins, when the watch fires and whenever the
    connection has changed, so that what was written meanwhile is not missed.

    Args:
        client: the client whose sessions are guarded. It is stopped and started again, so its
            other users see their session end as if it had expired.
        blacklist: the list.
        condemned: called on the guard's thread when the list names the present session, before
            the session is ended: whoever acts under it must stop now.
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
        """How many sessions were ended, counted before they are."""
        self.idle = threading.Event()
        """Set but for while a session is being ended."""
        self.idle.set()

    def start(self) -> None:
        """Guard from now on, until the client is stopped; nothing happens if it does already."""
        with self._starting:
            if not self._running:
                self._running = True
                self._client.handler.spawn(self._run)

    def condemned(self, session: int | None) -> bool:
        """Whether this session was found on the list: nobody may act under it any more."""
        return session in self._condemned

    def _run(self) -> None:
        try:
            while self._guard_session():
                pass
        finally:
            with self._starting:
                self._running = False

    def _guard_session(self) -> bool:
        """Guard one session until it has ended; False when the client was stopped."""
        session = Session(self._client)
        try:
            while session.reconnected(Deadline(None)):
                if self._is_named(session):
                    return True
        except ConnectionClosedError:
            return False
        except SessionExpiredError:
            return True
        finally:
            session.close()
        return bool(self._client.client_state != KeeperState.CLOSED)

    def _is_named(self, session: Session) -> bool:
        """Look at the list; end the session if it is named (True), else wait for news.

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
