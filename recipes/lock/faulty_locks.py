"""Faulty parts, with one known mistake each, that replace parts of sound locks.

``recipes.lock.catalogue`` describes the mistakes.
"""

import threading
import time
from typing import Final

from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import MARK
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.lock.delayed_lock import DelayedContest
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.fencing import StaleToken, ZooKeeperFence
from rumpus.recipes.lock.sequencer import Sequencer, Verifier
from rumpus.recipes.mistake import given, made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session
from rumpus.recipes.requests.session_validity import SessionValidity


class ByClient(ContestLock):
    """Asks whether this client holds, and not which of its threads."""

    def acquire(self, timeout: float | None = None) -> bool:
        self._take_over()
        return super().acquire(timeout)

    def release(self) -> None:
        self._take_over()
        super().release()

    def _take_over(self) -> None:
        me = threading.get_ident()
        if self._grant is not None and self._owner != me:
            made(self._grant.node)
            self._owner = me


class AfterRelease(DelayedContest):
    def leave(self, entry: Entry) -> None:
        made(entry.node)
        super().leave(entry)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        return super(DelayedContest, self)._take_out(entry, deadline)


class SinceTaken(DelayedContest):
    def _to_wait(self, stat: ZnodeStat) -> float:
        taken_for = time.time() - float(stat.mtime) / 1000
        wait = self.delay - taken_for
        sound = super()._to_wait
        made(stat.mzxid, lasting=True, unless=lambda: (wait > 0) == (sound(stat) > 0))
        return wait


class MemoryOfOne(ZooKeeperFence):
    _highest = 0

    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        session.ask(deadline, self._client.ensure_path_async, self._path)
        if token is None or token < self._highest:
            raise StaleToken(f"{self._path}: token {token}, and {self._highest} has been seen")
        self._highest = token
        made(token)
        return -1


class LookThenWrite(ZooKeeperFence):
    _admitted: int | None = None

    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        if token is None or token != self._admitted:
            super()._admit(session, token, deadline)
            self._admitted = token
        made(token)
        return -1


class AlsoEqual(ZooKeeperFence):
    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        try:
            return super()._admit(session, None if token is None else token - 1, deadline)
        except StaleToken:
            made()
            raise


class LocalCounterLock(FencedLock):
    _grants = 0

    @property
    def token(self) -> int | None:
        return self._grants if self._grant else None

    def acquire(self, timeout: float | None = None) -> bool:
        granted = super().acquire(timeout)
        self._grants += granted
        if granted:
            made(self.node)
        return granted


class ByPath(Verifier):
    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        self._catch_up(session, claim, deadline)
        lock = claim.node.rpartition("/")[0]
        children = session.ask(deadline, self._client.get_children_async, lock)
        held = any(MARK in child for child in children)
        return given(held, claim.node.rpartition("/")[2] in children)


class Remembering(Verifier):
    _known: dict[Sequencer, bool] | None = None

    def _stands(self, session: Session, claim: Sequencer, deadline: Deadline) -> bool:
        known = self._known = {} if self._known is None else self._known
        if claim not in known:
            known[claim] = super()._stands(session, claim, deadline)
        elif known[claim]:
            made()
        return known[claim]


TICK: Final = 0.05
"""Seconds by which ``Countdown`` counts down at a time."""


class WhileConnected(SessionValidity):
    def remaining(self) -> float:
        session = self._session
        connected = session is not None and session.connected
        if self._until > 0:
            sound = super().remaining
            made(self._until, lasting=True, unless=lambda: connected == (sound() > 0))
        return self.session_timeout if connected else 0.0


class Countdown(SessionValidity):
    _left = 0.0

    def remaining(self) -> float:
        session = self._session
        left = 0.0 if session is None or session.lost else max(0.0, self._left)
        if self._until > 0:
            sound = super().remaining
            made(self._until, lasting=True, unless=lambda: (left > 0) == (sound() > 0))
        return left

    def _count_from(self, sent: float) -> None:
        super()._count_from(sent)
        self._left = self._until - time.monotonic()

    def _run(self) -> None:
        self._client.handler.spawn(self._count_down)
        super()._run()

    def _count_down(self) -> None:
        while self._beating:
            time.sleep(TICK)
            self._left -= TICK


class WaitsForItself(ContestLock):
    """A thread that holds the lock and acquires again waits for its own release."""

    def acquire(self, timeout: float | None = None) -> bool:
        owner, self._owner = self._owner, None
        if owner == threading.get_ident():
            made(own=True)
        granted = False
        try:
            granted = super().acquire(timeout)
        finally:
            if not granted:
                self._owner = owner
        return granted
