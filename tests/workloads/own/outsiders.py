"""Recipes as others write them: plain kazoo, nothing of rumpus. Each sound one, and a mistake."""

import threading
import time
import uuid
from contextlib import suppress
from functools import partial

from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
)
from kazoo.recipe.partitioner import SetPartitioner

from rumpus.recipes.chubby.faulty_chubby import ByLockName
from rumpus.recipes.chubby.library import Chubby


class ServersThatAskNobody(Chubby):
    """Its storage servers accept any sequencer that names their lock."""

    storage_class = ByLockName


def removed(client, node):
    """Delete a node that may be gone; whether it was there."""
    try:
        client.retry(client.delete, node)
    except NoNodeError:
        return False
    return True


def notify(event, _):
    event.set()


class Queuer:
    """Contenders queue by sequential nodes; each waits until few enough are before it."""

    permits = 1
    folder = ""

    def __init__(self, client, path):
        self.client = client
        self.top = path + self.folder
        self.mine = None

    def acquire(self, timeout):
        me = uuid.uuid4().hex
        deadline = time.monotonic() + timeout
        self.client.ensure_path(self.top)
        with suppress(ConnectionLoss):  # it may be there: see below
            self.client.create(f"{self.top}/{self.kind()}-{me}-", ephemeral=True, sequence=True)
        while True:
            changed = threading.Event()
            names = self.client.retry(
                self.client.get_children, self.top, watch=partial(notify, changed)
            )
            names.sort(key=lambda name: name[-10:])
            mine = [name for name in names if me in name]
            if not mine:
                return False
            self.mine = f"{self.top}/{mine[0]}"
            if self.may_enter(names, mine[0]):
                return True
            if not changed.wait(min(0.5, max(0.0, deadline - time.monotonic()))) and (
                time.monotonic() >= deadline
            ):
                self.release()
                return False

    def kind(self):
        return "n"

    def may_enter(self, names, mine):
        return names.index(mine) < self.permits

    def release(self):
        if self.mine is not None:
            removed(self.client, self.mine)
            self.mine = None


class ShortSightedQueuer(Queuer):
    """Mistake: enters as soon as all but one before it have gone."""

    def may_enter(self, names, mine):
        return names.index(mine) <= self.permits


class QueuerElsewhere(Queuer):
    folder = "/deep/queue"


class Barger:
    """Not in order: whoever comes when the one node is gone gets it."""

    def __init__(self, client, path):
        self.client, self.path, self.ticket = client, path, None

    def acquire(self, timeout):
        self.client.ensure_path(self.path)
        self.ticket = self.client.create(f"{self.path}/ticket-", ephemeral=True, sequence=True)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                self.client.create(f"{self.path}/holder", ephemeral=True)
            except NodeExistsError:
                time.sleep(0.02)
                continue
            return True
        removed(self.client, self.ticket)
        return False

    def release(self):
        removed(self.client, f"{self.path}/holder")
        removed(self.client, self.ticket)


class Semaphore(Queuer):
    def __init__(self, client, path, limit):
        super().__init__(client, path)
        self.permits = limit


class GenerousSemaphore(Semaphore):
    """Off by one."""

    def may_enter(self, names, mine):
        return names.index(mine) <= self.permits


class UncheckedLeases:
    """A lease is a child. Mistake: clients that look at the same time all make the last one."""

    def __init__(self, client, path, limit):
        self.client, self.path, self.limit = client, path, limit
        self.lease = None

    def acquire(self, timeout):
        self.client.ensure_path(self.path)
        deadline = time.monotonic() + timeout
        while len(self.client.get_children(self.path)) >= self.limit:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        self.lease = f"{self.path}/{uuid.uuid4().hex}"
        self.client.create(self.lease, ephemeral=True)
        return True

    def release(self):
        removed(self.client, self.lease)


class Election:
    def __init__(self, client, path):
        self.queue = Queuer(client, path)

    def campaign(self, timeout):
        return self.queue.acquire(timeout)

    def resign(self):
        self.queue.release()


class HastyElection(Election):
    """Leads from its candidacy on, whoever leads already."""

    def campaign(self, timeout):
        self.queue.permits = 100
        return super().campaign(timeout)


class RunningElection:
    """Leads as long as a function runs."""

    permits = 1

    def __init__(self, client, path):
        self.queue = Queuer(client, path)
        self.queue.permits = self.permits
        self.cancelled = False

    def run(self, function):
        self.cancelled = False
        while not self.queue.acquire(0.5):
            if self.cancelled:
                return
        try:
            function()
        finally:
            self.queue.release()

    def cancel(self):
        self.cancelled = True


class HastyRunningElection(RunningElection):
    """Mistake: runs from its candidacy on."""

    permits = 100


class ReadWrite(Queuer):
    """A reader waits for the writers before it, a writer for all."""

    mode = "write"

    def acquire(self, mode, timeout):
        self.mode = mode
        return super().acquire(timeout)

    def kind(self):
        return self.mode

    def may_enter(self, names, mine):
        before = names[: names.index(mine)]
        return not any(self.mode == "write" or name.startswith("write") for name in before)


class RudeReadWrite(ReadWrite):
    """Writers wait for writers only."""

    def may_enter(self, names, mine):
        return not any(name.startswith("write") for name in names[: names.index(mine)])


class Side:
    def __init__(self, lock, mode):
        self.lock, self.mode = lock, mode

    def acquire(self, timeout):
        return self.lock.acquire(self.mode, timeout)

    def release(self):
        self.lock.release()


class SidedReadWrite:
    """The same, with a lock for each side."""

    def __init__(self, client, path):
        self.lock = ReadWrite(client, path)
        self.write_lock = Side(self.lock, "write")

    def read_lock(self):
        return Side(self.lock, "read")


class RudeSidedReadWrite(SidedReadWrite):
    """Mistake: both sides are locked as by readers."""

    def __init__(self, client, path):
        super().__init__(client, path)
        self.write_lock = self.read_lock()


class Barrier:
    """Polls with writes, so that no server that lags lets anybody in."""

    def __init__(self, client, path):
        self.client, self.path = client, path

    def create(self):
        self.client.retry(self.client.ensure_path, self.path)

    def remove(self):
        removed(self.client, self.path)

    def is_up(self):
        removed(self.client, f"{self.path}-none")
        return self.client.retry(self.client.exists, self.path) is not None

    def wait(self, timeout=None):
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_up():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True


class LeakyBarrier(Barrier):
    """Goes on after a second, up or not."""

    def wait(self, timeout=None):
        return super().wait(1.0 if timeout is None else min(timeout, 1.0)) or (timeout or 9) > 1.0


class DoubleBarrier:
    """A round's members stand in the data of the barrier's znode: one write opens the round.

    Who comes, or goes without having been in, does so by a write that no round's opening overlaps.
    """

    def __init__(self, client, path, parties):
        self.client, self.path, self.parties = client, path, parties
        self.mine = self.round = None

    def enter(self, timeout):
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        self.client.ensure_path(self.path)
        if self.mine is not None:
            removed(self.client, f"{self.path}/{self.mine}")
        self.mine = uuid.uuid4().hex
        with suppress(NodeExistsError):
            self.client.retry(self.client.create, f"{self.path}/{self.mine}", ephemeral=True)
        while True:
            self.round, members, version = self.opened()
            if self.mine in members:
                return True
            here = set(self.client.retry(self.client.get_children, self.path))
            if self.mine not in here:
                return False
            waiting = sorted(here - members)
            if len(waiting) >= self.parties and not here & members:
                self.open(waiting[: self.parties], version)
            elif time.monotonic() >= deadline:
                if self.withdrawn(version):
                    return False
            else:
                time.sleep(0.03)

    def leave(self, timeout):
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        removed(self.client, f"{self.path}/{self.mine}")
        while True:
            number, members, _ = self.opened()
            here = set(self.client.retry(self.client.get_children, self.path))
            if number != self.round or not here & members:
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.03)

    def opened(self):
        data, stat = self.client.retry(self.client.get, self.path)
        number, *members = data.decode().split() or ["0"]
        return int(number), set(members), stat.version

    def open(self, members, version):
        transaction = self.client.transaction()
        for member in members:
            transaction.check(f"{self.path}/{member}", -1)
        document = " ".join([str(self.round + 1), *members])
        transaction.set_data(self.path, document.encode(), version)
        transaction.commit()

    def withdrawn(self, version):
        transaction = self.client.transaction()
        transaction.check(self.path, version)
        transaction.delete(f"{self.path}/{self.mine}")
        return not any(isinstance(each, Exception) for each in transaction.commit())


class EagerDoubleBarrier:
    """Mistake: goes in as soon as anybody else has come."""

    def __init__(self, client, path, parties):
        self.client, self.path, self.parties = client, path, parties
        self.mine = f"{path}/{uuid.uuid4().hex}"

    def enter(self, timeout):
        self.client.ensure_path(self.path)
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        with suppress(NodeExistsError):
            self.client.create(self.mine, ephemeral=True)
        while len(self.client.get_children(self.path)) < min(2, self.parties):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def leave(self):
        removed(self.client, self.mine)


class Queue:
    """Takes the oldest element; its delete decides who has it."""

    def __init__(self, client, path):
        self.client, self.path = client, path

    def put(self, value):
        self.client.ensure_path(self.path)
        self.client.create(f"{self.path}/e-", value, sequence=True)

    def take(self, timeout):
        self.client.ensure_path(self.path)
        deadline = time.monotonic() + timeout
        while True:
            for name in sorted(self.client.get_children(self.path)):
                value = self.taken(f"{self.path}/{name}")
                if value is not None:
                    return value
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.05)

    def taken(self, node):
        try:
            value, _ = self.client.get(node)
            self.client.delete(node)
        except NoNodeError:
            return None
        return value


class GreedyQueue(Queue):
    """Who has read an element has it, whoever deletes it."""

    def taken(self, node):
        try:
            value, _ = self.client.get(node)
        except NoNodeError:
            return None
        removed(self.client, node)
        return value


class PriorityQueue(Queue):
    """Takes what is first after a sync, and looks anew if somebody else was faster."""

    def put(self, value, priority):
        self.client.ensure_path(self.path)
        self.client.create(f"{self.path}/{self.mark(priority)}-", value, sequence=True)

    def mark(self, priority):
        return f"{priority:010d}"

    def take(self, timeout):
        self.client.ensure_path(self.path)
        deadline = time.monotonic() + timeout
        while True:
            self.client.sync(self.path)
            names = sorted(self.client.get_children(self.path))
            value = self.taken(f"{self.path}/{names[0]}") if names else None
            if value is not None:
                return value
            if time.monotonic() >= deadline:
                return None
            if not names:
                time.sleep(0.05)


class TextPriorityQueue(PriorityQueue):
    """Mistake: priorities are compared as text."""

    def mark(self, priority):
        return str(priority)


class ClaimingQueue(Queue):
    """Elements are locked by ephemeral nodes, and deleted when they are done."""

    def __init__(self, client, path):
        super().__init__(client, f"{path}/elements")
        self.locks = f"{path}/locks"
        self.current = None

    def take(self, timeout):
        self.client.ensure_path(self.locks)
        return super().take(timeout)

    def taken(self, node):
        name = node.rpartition("/")[2]
        lock = f"{self.locks}/{name}"
        try:
            self.client.create(lock, ephemeral=True)
        except NodeExistsError:
            return None
        try:
            value, _ = self.client.get(node)
        except NoNodeError:
            removed(self.client, lock)
            return None
        self.current = node, lock
        return value

    def consume(self):
        node, lock = self.current
        session = self.client.client_id[0]
        stat = self.client.exists(lock)
        if stat is None or stat.ephemeralOwner != session:
            return False
        with self.client.transaction() as transaction:
            transaction.delete(node)
            transaction.delete(lock)
        return True

    def release(self):
        removed(self.client, self.current[1])


class CarelessClaimingQueue(ClaimingQueue):
    """Mistake: an element is deleted when it is claimed."""

    def taken(self, node):
        value = super().taken(node)
        if value is not None:
            removed(self.client, node)
        return value

    def consume(self):
        removed(self.client, self.current[1])
        return True


class Counter:
    def __init__(self, client, path):
        self.client, self.path = client, path

    def increment(self, amount):
        self.client.ensure_path(self.path)
        while True:
            data, stat = self.client.get(self.path)
            total = int(data or b"0") + amount
            try:
                self.client.set(self.path, str(total).encode(), self.version(stat))
            except BadVersionError:
                continue
            return total

    def version(self, stat):
        return stat.version

    def read(self):
        self.client.ensure_path(self.path)
        return int(self.client.get(self.path)[0] or b"0")


class BlindCounter(Counter):
    """Whatever was written meanwhile is overwritten."""

    def version(self, _):
        return -1


class SilentCounter(Counter):
    """Its additions tell no total."""

    def increment(self, amount):
        super().increment(amount)


class Latch:
    def __init__(self, client, path, count, name):
        self.client, self.path, self.count, self.name = client, path, count, name

    def count_down(self):
        self.client.ensure_path(self.path)
        with suppress(NodeExistsError):
            self.client.retry(self.client.create, f"{self.path}/{self.name}")

    def wait(self, timeout):
        deadline = time.monotonic() + timeout
        while not self.is_open():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True

    def is_open(self):
        self.client.ensure_path(self.path)
        return len(self.client.retry(self.client.get_children, self.path)) >= self.count


class EarlyLatch(Latch):
    def is_open(self):
        self.count -= self.count > 2
        return super().is_open()


class Registry:
    def __init__(self, client, path):
        self.client, self.path, self.mine = client, path, None

    def register(self, address):
        self.client.ensure_path(self.path)
        self.mine = f"{self.path}/{address}"
        session = self.client.client_id[0]
        try:
            self.client.retry(self.client.create, self.mine, address.encode(), ephemeral=True)
        except NodeExistsError:
            stat = self.client.exists(self.mine)
            if stat is not None and stat.ephemeralOwner != session:
                removed(self.client, self.mine)
                self.register(address)

    def deregister(self):
        if self.mine is not None:
            removed(self.client, self.mine)

    def discover(self):
        try:
            removed(self.client, f"{self.path}/none")
            return self.client.retry(self.client.get_children, self.path)
        except NoNodeError:
            return []


class LastingRegistry(Registry):
    """Entries outlive their sessions."""

    def register(self, address):
        self.client.ensure_path(self.path)
        self.mine = f"{self.path}/{address}"
        with suppress(NodeExistsError):
            self.client.retry(self.client.create, self.mine, address.encode())


class Group:
    """Members join and leave; an object for each."""

    ephemeral = True

    def __init__(self, client, path, name=""):
        self.client, self.path, self.name = client, path, name

    def join(self):
        self.client.ensure_path(self.path)
        node = f"{self.path}/{self.name}"
        removed(self.client, node)  # of a session before this one
        with suppress(NodeExistsError):
            data = self.name.encode()
            self.client.retry(self.client.create, node, data, ephemeral=self.ephemeral)

    def leave(self):
        removed(self.client, f"{self.path}/{self.name}")

    def __iter__(self):
        self.client.ensure_path(self.path)
        removed(self.client, f"{self.path}/none")
        return iter(self.client.retry(self.client.get_children, self.path))


class LastingGroup(Group):
    """Mistake: entries outlive their sessions."""

    ephemeral = False


class Partitioner:
    """Everybody takes the locks of the parts that are free, and shares none: one owner each."""

    exclusive = True

    def __init__(self, client, path, parts):
        self.client, self.path, self.all = client, path, parts
        self.parts = []
        self.node = None

    def members(self):
        return sorted(self.client.retry(self.client.get_children, f"{self.path}/members"))

    def acquire(self, timeout):
        deadline = time.monotonic() + timeout
        self.client.ensure_path(f"{self.path}/members")
        self.client.ensure_path(f"{self.path}/locks")
        self.release()
        session = self.client.client_id[0]
        self.node = f"{session & (2**64 - 1):016x}"
        node = f"{self.path}/members/{self.node}"
        with suppress(NodeExistsError):
            self.client.retry(self.client.create, node, ephemeral=True)
        while time.monotonic() < deadline:
            self.seen = self.members()
            share = [
                part
                for number, part in enumerate(self.all)
                if self.seen and self.seen[number % len(self.seen)] == self.node
            ]
            if all(self.locked(part) for part in share) and self.members() == self.seen:
                self.parts = share
                return True
            self.unlock(self.all)
            time.sleep(0.05)
        return False

    def locked(self, part):
        if not self.exclusive:
            return True
        lock = f"{self.path}/locks/{part}"
        self.client.ensure_path(lock)
        try:
            self.client.create(f"{lock}/owner", self.node.encode(), ephemeral=True)
        except NodeExistsError:
            stat = self.client.exists(f"{lock}/owner")
            return stat is not None and stat.ephemeralOwner == self.client.client_id[0]
        return True

    def unlock(self, parts):
        for part in parts:
            owner = f"{self.path}/locks/{part}/owner"
            stat = self.client.exists(owner)
            if stat is not None and stat.ephemeralOwner == self.client.client_id[0]:
                removed(self.client, owner)

    @property
    def changed(self):
        try:
            return self.members() != self.seen
        except KazooException:
            return True

    def release(self):
        self.parts = []
        self.unlock(self.all)

    def leave(self):
        self.release()
        removed(self.client, f"{self.path}/members/{self.node}")


class SelfishPartitioner(Partitioner):
    """Takes its share without a lock."""

    exclusive = False


def everything(_identifier, _members, parts):
    return list(parts)


class GreedySetPartitioner(SetPartitioner):
    """Mistake: every member wants the whole set, so all but one wait for good."""

    def __init__(self, client, path, parts, identifier, time_boundary):
        super().__init__(client, path, parts, everything, identifier, time_boundary)


class Forgetful:
    """Has nothing that any family needs."""

    def __init__(self, client, path):
        self.client, self.path = client, path


class Hanging:
    """Its acquire never returns."""

    def __init__(self, client, path):
        self.client, self.path = client, path

    def acquire(self):
        threading.Event().wait()

    def release(self):
        pass


def make_queuer(client, path):
    return Queuer(client, path)


def make_forgetful(client, path):
    return Forgetful(client, path)
