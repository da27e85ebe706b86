"""A fair lock that forgets what its watch has told while the watch was set: a lost wake-up."""

from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock.contest_lock import FairLock


class _Deaf(FairContest):
    def _await(self, nodes, entry, deadline):
        for node in nodes:
            entry.session.ask(deadline, self._client.get_async, node, entry.session.watcher())
        entry.session.wake.clear()
        return entry.session.wake.wait(deadline.left())


class SleepyLock(FairLock):
    """Its waiter sleeps until its timeout if its turn comes between the watch and the clear."""

    contest = _Deaf
