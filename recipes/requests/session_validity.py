"""How much longer the client's session is certain to live, by its own monotonic clock.

The rule is that of leases (Gray and Cheriton, Leases, SOSP 1989): the client counts its timeout
from when it *sent* a heartbeat, the server from when it *received* it. So the client gives up
first. On ZooKeeper the server that counts is the **leader**, because the leader expires sessions.
But a client may be connected to a follower, and a follower answers pings and reads by itself. A
follower that is cut off from the leader goes on doing so for ``syncLimit`` ticks, longer than a
short session lives. Even a write, which does go through the leader, does not renew the session
there. A follower only keeps a list of the sessions that it has heard from, and sends that list to
the leader in its answer to the leader's next ping, every half tick.

So a beat (a write without effect, sent at time ``s``) counts only once it is *confirmed*:

1. The beat is answered. So the follower has received it, and has put our session on its list.
2. Half a tick later a second write is sent and answered. The leader pinged the follower between
   the two answers. Ping and commit use one connection, so the ping came before the second write's
   commit: the follower has sent its list.
3. A third write is answered. It reached the leader after that list, by the same order: the leader
   has renewed our session, later than ``s``.

All three are writes, because only a write needs a quorum, which a deposed leader does not have. A
new leader gives every session its full timeout again. If the client has moved to another server
meanwhile, that server has announced the session to the leader, which renews it as well. Once a beat
is confirmed, the session lives until ``s`` plus its timeout, less an allowance for clock drift. The
third write is the next beat, so each round of half a tick costs two writes.

**Assumed:** clock rates differ by less than ``DRIFT``; a running leader pings its followers every
half tick; a session's timeout is at least two ticks, which is ZooKeeper's default bound
(``minSessionTimeout``).
"""

import threading
import time
import uuid
from math import inf
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, SessionExpiredError

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.session import Session, Unanswered

DRIFT: Final = 0.05
"""Fraction of the session's timeout that is subtracted, as clocks may run at different rates."""


class SessionValidity:
    """Beats while somebody needs it, and for one session's timeout after that.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of the nodes that beats delete; these never exist.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        # kazoo keeps the timeout that it asked for, not the one that the servers granted.
        self.session_timeout: float = client._session_timeout / 1000  # noqa: SLF001
        """The session's timeout in seconds. Set it if the servers grant less than was asked for."""
        self._client = client
        self._nowhere = f"{path}/{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._confirmed = threading.Event()
        self._users = 0
        self._idle_since = -inf
        self._beating = False
        self._session: Session | None = None
        self._until = -inf

    def remaining(self) -> float:
        """Seconds that the session is still certain to live; 0 if it is not known to."""
        session = self._session
        if session is None or session.lost:
            return 0.0
        return max(0.0, self._until - time.monotonic())

    def keep(self) -> None:
        """Beat from now on, for one more user; each call has to be followed by ``let_go``."""
        with self._lock:
            self._users += 1
            if not self._beating:
                self._beating = True
                self._client.handler.spawn(self._run)

    def let_go(self) -> None:
        """One user less."""
        with self._lock:
            self._users -= 1
            self._idle_since = time.monotonic()

    def wait(self, session: Session, deadline: Deadline) -> bool:
        """Wait until the session is known to live on; False if it is lost, or time is over."""
        while not session.lost:
            self._confirmed.clear()
            if self.remaining() > 0:
                return True
            if deadline.passed:
                return False
            left = deadline.left()
            self._confirmed.wait(PAUSE if left is None else min(PAUSE, left))
        return False

    def _run(self) -> None:
        while self._needed():
            session = Session(self._client)
            with self._lock:
                self._until = -inf  # the old value was the last session's
                self._session = session
            try:
                self._beat(session)
            except ConnectionClosedError:  # a SessionExpiredError too, so it comes first
                with self._lock:
                    self._beating = False
                return
            except SessionExpiredError:
                time.sleep(PAUSE)  # go on in a new session
            else:
                return  # nobody needed it; a later user has started a thread of its own
            finally:
                session.close()
                with self._lock:
                    if self._session is session:
                        self._session = None

    def _needed(self) -> bool:
        """Whether to go on beating; if not, ``keep`` starts a new thread for the next user."""
        with self._lock:
            idle = time.monotonic() - self._idle_since
            self._beating = self._users > 0 or idle < self.session_timeout
            return self._beating

    def _beat(self, session: Session) -> None:
        """Beat in one session until it is lost or nobody needs it.

        Raises:
            SessionExpiredError, ConnectionClosedError: as ``Session.ask``.
        """
        beat: float | None = None
        while self._needed():
            try:
                if beat is None:
                    beat = self._write(session)
                time.sleep(self.session_timeout / 4)  # at least half a tick
                self._write(session)
                following = self._write(session)
            except Unanswered:
                beat = None
                time.sleep(PAUSE)
                continue
            self._count_from(beat)
            beat = following

    def _count_from(self, sent: float) -> None:
        """Note that the beat that was sent at this time is confirmed."""
        self._until = sent + self.session_timeout * (1 - DRIFT)
        self._confirmed.set()

    def _write(self, session: Session) -> float:
        """Make a write without effect; returns the time just before it was sent.

        Raises what ``Session.ask`` does.
        """
        sent = time.monotonic()
        session.catch_up(Deadline(self.session_timeout), self._nowhere)
        return sent
