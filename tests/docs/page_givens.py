"""What the code on pages takes for granted: a started client, a lock that it names, others who act.

Each function makes the names for the blocks of one page. Whoever else has a part in the code is a
thread with a client of its own, which waits until the code has got there.
"""

import threading

from kazoo.client import KazooClient

from rumpus.recipes.barrier import Barrier
from rumpus.recipes.breaking import BlacklistLock
from rumpus.recipes.chubby import Chubby
from rumpus.recipes.double_barrier import DoubleBarrier
from rumpus.recipes.latch import Latch
from rumpus.recipes.lock import SequencerLock
from rumpus.recipes.partitioner import Partitioner
from rumpus.recipes.read_write import RevocableReadWriteLock
from rumpus.recipes.two_phase_commit import CoordinatedCommit
from rumpus.recipes.znodes.watched_znode import WatchedZnode

PATIENCE = 10.0
"""Seconds that somebody waits for the code of a page."""


class Surroundings:
    """Simulated servers with clients and others for one block; ``end`` joins and closes them."""

    def __init__(self, zk):
        self.zk = zk
        self.names = {}
        self._clients = []
        self._others = []
        self._over = threading.Event()
        self.errors = []

    def client(self):
        client = KazooClient(self.zk.hosts)
        client.start()
        self._clients.append(client)
        return client

    def meanwhile(self, do):
        """Run ``do`` beside the code of the page; what it raises is noted."""

        def guarded():
            try:
                do()
            except Exception as error:
                self.errors.append(error)

        self._others.append(threading.Thread(target=guarded))
        self._others[-1].start()

    def wait_for(self, happened):
        for _ in range(int(PATIENCE / 0.01)):
            if happened():
                return
            self._over.wait(0.01)
        raise TimeoutError("the code of the page did not get there")

    def end(self):
        for thread in self._others:
            thread.join(PATIENCE)
        for client in {*self._clients, self.names["client"]}:  # perhaps one that the page made
            client.stop()
            client.close()
        if self.errors:
            raise self.errors[0]


def barrier(here):
    other = here.client()

    def remove():
        here.wait_for(lambda: other.exists("/barriers/maintenance"))
        Barrier(other, "/barriers/maintenance").remove()

    here.meanwhile(remove)
    return {}


def breaking(here):
    condemned = here.names["client"]
    former = condemned.client_id

    class OperatorLock(BlacklistLock):
        def blacklist(self, stand, **options):
            super().blacklist(stand, **options)
            here.wait_for(here.names["stop_acting"].is_set)
            here.wait_for(lambda: condemned.connected and condemned.client_id != former)

    operator_lock = OperatorLock(here.client(), "/locks/printer", name="operator")
    return {"operator_lock": operator_lock, "identity_of_the_dead": "nobody"}


def double_barrier(here):
    def take_part(barrier):
        assert barrier.enter(timeout=PATIENCE)
        assert barrier.leave(timeout=PATIENCE)

    for _ in range(4):
        member = DoubleBarrier(here.client(), "/barriers/step", parties=5)
        here.meanwhile(lambda member=member: take_part(member))
    return {}


def election(here):
    def lose(epoch):
        assert epoch == here.names["election"].token
        here.zk.expire(here.names["client"])
        here.wait_for(lambda: not here.names["election"].leading)

    return {"act": lose, "stopping": lambda: False}


def chubby(here):
    Chubby(here.client(), "/cell", name="host-1").open("service", contents=b"", timeout=PATIENCE)
    return {}


def jobs(here):
    here.client().ensure_path("/app/done")
    return {}


def latch(here):
    for name in ("worker-2", "worker-3"):
        Latch(here.client(), "/jobs/42/ready", 3, name=name).count_down(timeout=PATIENCE)
    return {}


def lock(here):
    here.client().ensure_path("/printer/page")
    held = SequencerLock(here.client(), "/locks/plotter")
    held.acquire()
    return {"lock": held, "another_client": here.client(), "print_page": lambda: None}


def partitioner(here):
    rounds = []

    def work_on(parts):
        assert parts
        if not rounds:
            rounds.append(parts)
            second = Partitioner(here.client(), "/workers", ["queue-1", "queue-2", "queue-3"])
            here.meanwhile(lambda: (second.acquire(timeout=PATIENCE), second.leave()))

    return {"stopping": lambda: bool(rounds), "work_on": work_on}


def read_write(here):
    writer = RevocableReadWriteLock(here.client(), "/locks/catalogue", name="they")

    def ask():
        here.wait_for(lambda: here.names.get("mine") and here.names["mine"].held)
        assert not writer.acquire("write", timeout=0.2)
        writer.revoke()

    here.meanwhile(ask)
    return {"other": here.client()}


def two_phase_commit(here):
    def take_part(site):
        here.wait_for(site.transactions)
        site.vote(site.transactions()[0], True)

    for name in ("site-2", "site-3"):
        site = CoordinatedCommit(here.client(), "/app/transactions", name=name)
        here.meanwhile(lambda site=site: take_part(site))
    return {}


def view(here):
    here.client().create("/config/limits", b"17", makepath=True)
    return {}


def watch(here):
    znode = WatchedZnode(here.client(), "/settings")

    def change():
        here.wait_for(lambda: "seen" in here.names)
        znode.write("colour", "red")

    here.meanwhile(change)
    return {}


GIVENS = {
    "recipes/barrier.md": barrier,
    "recipes/breaking.md": breaking,
    "recipes/chubby.md": chubby,
    "recipes/double-barrier.md": double_barrier,
    "recipes/election.md": election,
    "recipes/jobs.md": jobs,
    "recipes/latch.md": latch,
    "recipes/lock.md": lock,
    "recipes/partitioner.md": partitioner,
    "recipes/read-write.md": read_write,
    "recipes/two-phase-commit.md": two_phase_commit,
    "recipes/view.md": view,
    "recipes/watch.md": watch,
}
