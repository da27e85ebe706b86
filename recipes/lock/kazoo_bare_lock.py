"""kazoo's own Lock as most users call it; only the state listener that kazoo recommends is added.

``recipes.lock.kazoo_lock`` looks after each failed acquire whether a node is left, and removes it.
Most users do not: they make a lock where they need it, acquire it with a timeout or without
blocking, and go on if they do not get it. This adapter does what they do.
"""

from typing import ClassVar, Final

from kazoo.exceptions import KazooException, LockTimeout

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.lock.kazoo_lock import KAZOO_NOTES, KazooContest, KazooEntry
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Promises

TRY: Final = 0.1
"""Timeouts below this many seconds become a non-blocking try (``blocking=False``)."""


class KazooBareContest(KazooContest):
    """kazoo contends; nodes that a failed acquire leaves behind are not removed."""

    def win(self, timeout: float | None) -> KazooEntry | None:
        """Let kazoo contend; None when it says that it failed.

        Raises:
            LockUnknown: kazoo raised an error, which does not say whether a node is left.
        """
        lock = self._new_lock()
        blocking = timeout is None or timeout >= TRY
        try:
            granted = lock.acquire(blocking=blocking, timeout=timeout if blocking else None)
        except LockTimeout:
            return None
        except KazooException as error:
            raise LockUnknown(f"{type(error).__name__}: {error}") from error
        if not granted:
            return None
        entry = self._entry_of(lock)
        entry.node, entry.session_id = self._node_of(entry), entry.session.begun_in
        return entry

    def leave(self, entry: Entry) -> None:
        """Let kazoo release; blocks until it has."""
        assert isinstance(entry, KazooEntry)
        try:
            entry.lock.release()
        except KazooException as error:
            raise LockUnknown(f"{type(error).__name__}: {error}") from error
        finally:
            lost = entry.session.lost
            self._strike(entry)
        if lost:
            raise NotHeld(f"{self._path}: the session that held it has ended")


class KazooBareLock(ContestLock):
    """``kazoo.recipe.lock.Lock``, a new one each time; see the module."""

    contest = KazooBareContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"unaware-holder", "overdue-call"},
        notes=KAZOO_NOTES + "kazoo gives no tokens.",
    )
