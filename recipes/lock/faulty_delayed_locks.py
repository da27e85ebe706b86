"""Locks whose lock-delay comes at the wrong time."""

import time

from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.lock.delayed_lock import DelayedContest
from rumpus.recipes.requests.deadline import Deadline


class AfterRelease(DelayedContest):
    """Everybody waits for the delay."""

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        return super(DelayedContest, self)._take_out(entry, deadline)


class SinceTaken(DelayedContest):
    """The delay is over before its holder fails."""

    def _to_wait(self, stat: ZnodeStat) -> float:
        taken_for = time.time() - float(stat.mtime) / 1000
        return self.delay - taken_for
