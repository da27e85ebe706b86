"""Programs that make kazoo clients of their own, as those that nobody wrote for a trial."""

from kazoo.client import KazooClient
from kazoo.recipe.election import Election

from tests.workloads.own import outsiders


class Program:
    """Contends with a client that it makes at its first call, and keeps."""

    queue = outsiders.Queuer

    def __init__(self, _client, path, hosts):
        self.hosts, self.path = hosts, path
        self.own = None

    def acquire(self, timeout):
        if self.own is None:
            self.own = KazooClient(self.hosts, timeout=1.0)
            self.own.start()
            self.contender = self.queue(self.own, self.path)
        return self.contender.acquire(timeout)

    def release(self):
        if self.own is not None:
            self.contender.release()


class ShortSightedProgram(Program):
    queue = outsiders.ShortSightedQueuer


class ProgramInLine(Program):
    """Says where its contenders are, and not which znode is whose."""

    promises = ("fifo", "belief")

    @staticmethod
    def line(path):
        import rumpus  # noqa: PLC0415 - programs on trial do not know it

        return rumpus.Line("sequential", path)


class ClientForEachCall(Program):
    """Makes a client for each grant, and stops it after the release."""

    def acquire(self, timeout):
        won = super().acquire(timeout)
        if not won:
            self.stop()
        return won

    def release(self):
        super().release()
        self.stop()

    def stop(self):
        if self.own is not None:
            self.own.stop()
            self.own.close()
            self.own = None


class BothClients(Program):
    """Contends with its own client, and asks the given one besides."""

    def __init__(self, client, path, hosts):
        super().__init__(client, path, hosts)
        self.given = client

    def acquire(self, timeout):
        won = super().acquire(timeout)
        self.given.exists("/")
        return won


class StolenProgram(Program):
    """Mistake: restarts its client once it has won, and takes what was won for its own."""

    calls = 0

    def acquire(self, timeout):
        won = super().acquire(timeout)
        self.calls += 1
        if won and self.calls % 3 == 0:
            self.own.restart()
        return won


class Decorated:
    """An election with a client for each candidacy."""

    def __init__(self, _client, path, hosts):
        self.hosts, self.path = hosts, path

    def run(self, function):
        own = KazooClient(self.hosts, timeout=1.0)
        own.start()
        try:
            Election(own, self.path).run(function)
        finally:
            own.stop()
            own.close()
