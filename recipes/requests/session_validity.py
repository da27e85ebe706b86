"""How much longer the client's session is certain to live, by its own monotonic clock.

The rule is that of leases (Gray and Cheriton, Leases, SOSP 1989): who counts from when a heartbeat
was *sent*, and not from its answer, gives up before the one who counts from when it was received.
On ZooKeeper it must be asked whose receipt that is. The **leader** expires sessions, but a client
talks to any server, and a follower answers pings and reads by itself: one that is cut off from its
leader goes on doing so for ``syncLimit`` ticks, longer than a short session lives. And even a
write, which does go through the leader, renews nothing there. A follower only notes whom it has
heard of, and hands the list over with its answer to the leader's next ping, every half tick.

So a beat (a write of no effect, sent at ``s``) counts once it is *confirmed*:

1. the beat is answered: the follower had it by then, and has noted us;
2. half a tick later another write is sent and answered. Its commit came from the leader behind a
   ping that was sent after the beat's answer, on one connection and so in order: the follower has
   handed its list over;
3. one more write is answered. It reached the leader behind that list, in order again: the leader
   had heard of us, later than ``s``.

All three are writes, because only these need a quorum, so that their leader has not been deposed;
a later leader gives every session its whole time again. A client that has been handed to another
server meanwhile was announced to the leader by that, which counts as well. From then on the
session lives until ``s`` and its timeout, less what clocks may differ. The last write is the next
beat: two writes for each round of half a tick.

**Assumed:** clocks run at rates that differ by less than ``DRIFT``; a leader that runs pings its
followers every half tick; a session lives two ticks at least, which is ZooKeeper's own bound
unless it was configured away (``minSessionTimeout``).
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
"""Part of the session's timeout that is given away for clocks of different rates."""


class SessionValidity:
    """Beats while somebody needs it, and for one session's timeout after that.

    Args:
        client: a started client with kazoo's threading handler.
        path: below it nodes are deleted that nobody has created.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        # kazoo keeps what it asked for, and forgets what the servers granted.
        self.session_timeout: float = client._session_timeout / 1000  # noqa: SLF001
        """Seconds that the servers grant. Set it where they grant less than was asked for."""
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
        """Beat from now on; to be followed by ``let_go``."""
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
                self._until = -inf  # what was left was the last session's
                self._session = session
            try:
                self._beat(session)
            except ConnectionClosedError:  # a SessionExpiredError too, so it comes first
                with self._lock:
                    self._beating = False
                return
            except SessionExpiredError:
                time.sleep(PAUSE)  # a new one
            else:
                return  # nobody needed it; who needs it since has begun anew
            finally:
                session.close()
                with self._lock:
                    if self._session is session:
                        self._session = None

    def _needed(self) -> bool:
        """Whether to go on; noted, under the lock, so that the next user begins anew."""
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
                time.sleep(self.session_timeout / 4)  # half a tick at least
                self._write(session)
                following = self._write(session)
            except Unanswered:
                beat = None
                time.sleep(PAUSE)
                continue
            self._count_from(beat)
            beat = following

    def _count_from(self, sent: float) -> None:
        """A beat that was sent then is confirmed."""
        self._until = sent + self.session_timeout * (1 - DRIFT)
        self._confirmed.set()

    def _write(self, session: Session) -> float:
        """A write of no effect, answered; when it was about to be sent.

        Raises what ``Session.ask`` does.
        """
        sent = time.monotonic()
        session.catch_up(Deadline(self.session_timeout), self._nowhere)
        return sent
