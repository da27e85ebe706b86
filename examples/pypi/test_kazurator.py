"""kazurator 0.2.0: Curator's mutex in Python.

Fails: docs/track-record/findings.md, "Flaws of other programs".
"""

from kazurator import Mutex


class TimedMutex(Mutex):
    def acquire(self, timeout):
        self.timeout = timeout
        return super().acquire()


def test_mutex(rumpus):
    rumpus.run("lock", recipe=TimedMutex, nemesis=["kill"], seeds=3).assert_valid()
