"""Locks whose lock-delay comes at the wrong time."""

import time
from typing import ClassVar

from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.lock.delayed_lock import DelayedContest, DelayedLock
from rumpus.recipes.requests.deadline import Deadline


class _AfterRelease(DelayedContest):
    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        return super(DelayedContest, self)._take_out(entry, deadline)


class _SinceTaken(DelayedContest):
    def _to_wait(self, stat: ZnodeStat) -> float:
        taken_for = time.time() - float(stat.mtime) / 1000
        return self.delay - taken_for


class DelayAfterReleaseLock(DelayedLock):
    """Everybody waits for the delay."""

    contest = _AfterRelease
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "release removes its node and leaves the mark: every release looks like a failure"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class DelaySinceTakenLock(DelayedLock):
    """The delay is over before its holder fails."""

    contest = _SinceTaken
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "counts the delay from when the lock was taken, as if it were a lease, not from when its "
        "holder was seen to have failed"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"early-grant"})
