"""Recipes whose program restarts its kazoo client inside a call: the answer comes in a new session.

``Restarting...`` are sound: they restart before they contend. ``Keeping...`` have a mistake: they
restart once they have won, and take what the former session won for theirs.
"""

import time

from tests.workloads.own import outsiders

EVERY = 3
"""One call in so many restarts the client."""

WARM_UP_S = 1.2
"""Seconds that the program takes after it has restarted its client: long enough for nobody to take
the end of the former session for a reason not to believe in the grant."""


class Restarts:
    """Counts the calls of one object."""

    calls = 0

    def is_due(self):
        self.calls += 1
        return self.calls % EVERY == 0


class RestartingQueuer(Restarts, outsiders.Queuer):
    """It tells its znode, so the servers' logs show that its grant lasts."""

    @property
    def node(self):
        return self.mine

    def acquire(self, timeout):
        if self.is_due():
            self.client.restart()
            time.sleep(WARM_UP_S)
        return super().acquire(timeout)


class KeepingQueuer(Restarts, outsiders.Queuer):
    def acquire(self, timeout):
        won = super().acquire(timeout)
        if won and self.is_due():
            self.client.restart()
        return won


class KeepingSemaphore(Restarts, outsiders.Semaphore):
    def acquire(self, timeout):
        won = super().acquire(timeout)
        if won and self.is_due():
            self.client.restart()
        return won


class RestartingRunningElection(outsiders.RunningElection):
    queuer = RestartingQueuer

    def __init__(self, client, path):
        super().__init__(client, path)
        self.queue = self.queuer(client, path)


class KeepingRunningElection(RestartingRunningElection):
    queuer = KeepingQueuer


class KeepingReadWrite(Restarts, outsiders.ReadWrite):
    def acquire(self, mode, timeout):
        won = super().acquire(mode, timeout)
        if won and self.is_due():
            self.client.restart()
        return won


class TrustingQueuer(outsiders.Queuer):
    """Mistake: it waits until those ahead of it have gone, and trusts that its own node stays."""

    def acquire(self, timeout):
        deadline = time.monotonic() + timeout
        self.client.ensure_path(self.top)
        self.mine = self.client.create(f"{self.top}/n-", ephemeral=True, sequence=True)
        while any(name[-10:] < self.mine[-10:] for name in self.waiting()):
            if time.monotonic() >= deadline:
                self.release()
                return False
            time.sleep(0.02)
        return True

    def waiting(self):
        return self.client.retry(self.client.get_children, self.top)
