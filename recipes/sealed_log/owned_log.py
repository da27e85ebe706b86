"""What logs with one owner have in common: the lock, the store's replicas, and their callers.

A log is kept by a store of a few replicas, and written by its owner, the holder of a lock. Whoever
acquires the lock takes the log over. A former owner may not know that it was replaced: it goes on
writing to the replicas, which need no ZooKeeper for that, and no lock can stop it. The replicas
have to refuse it; how they do is left to subclasses.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.failover.database import Files
from rumpus.recipes.failover.replicated_log import ReplicatedLog
from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.sealed_log.log_directory import LogDirectory
from rumpus.recipes.sealed_log.replica_calls import ReplicaCalls
from rumpus.recipes.sealed_log.replica_server import ReplicaServer
from rumpus.recipes.sealed_log.store_replica import StoreReplica

LOOK_S: Final = 0.3
"""Seconds that a reader waits for the replicas to agree before it looks at the directory again."""


class Writer(Protocol):
    """Writes to the log as one owner."""

    def append(self, value: Any, deadline: Deadline) -> int:
        """Append a value; its position in the log.

        Raises:
            NotDone: it was not appended, and will not be.
            OutcomeUnknown: it may have been appended, or may be yet.
        """


class Place(NamedTuple):
    """The fencing token of an owner, and a position in the log."""

    epoch: int
    at: int


class OwnedLog(ABC):
    """One client of a log, and perhaps one of the store's replicas.

    A client that has released the log, or lost its lock, goes on writing until the replicas refuse
    it, as one that does not know of its loss.

    Args:
        client: a client with kazoo's threading handler; may be started later.
        path: the log's znode, used by nothing else.
        name: the client's unique name.
        replicas: the names of the store's replicas; never change. If ``name`` is one of them, this
            client's process is that replica, from now on.
        host: the address at which the replica listens.
        files: the replica's disk.
    """

    promises: ClassVar[Promises]
    _lock_class: ClassVar[type[FairLock]] = FairLock
    _replica_class: ClassVar[type[StoreReplica]] = StoreReplica
    _log_class: ClassVar[type[ReplicatedLog]] = ReplicatedLog

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        name: str,
        replicas: tuple[str, ...],
        host: str,
        files: Files,
    ) -> None:
        self.name = name
        self._directory = LogDirectory(client, path)
        self._lock = self._lock_class(client, f"{path}/owners", name=name)
        self._calls = ReplicaCalls(name, replicas, self._directory)
        self._owned: tuple[int, Writer] | None = None
        self.replica: ReplicaServer | None = None
        if name in replicas:
            self.replica = ReplicaServer(
                name, host, files, self._directory, self._replica_class, self._log_class
            )

    @classmethod
    def line(cls, path: str) -> Line | None:
        """The queue for the lock."""
        return cls._lock_class.line(f"{path}/owners")

    @property
    def owning(self) -> bool:
        """Whether the client believes that it owns the log. Does not block."""
        return self._lock.held

    def take_over(self, timeout: float) -> Place:
        """Become the owner; the log's length at that time.

        Raises:
            NotDone: somebody else owns it, or no majority of the replicas answered in time.
            OutcomeUnknown: no answer in time; the log may have been taken over.
        """
        deadline = Deadline(timeout)
        with suppress(NotHeld):
            self._lock.release()
        if not self._lock.acquire(deadline.left()):
            raise NotDone("somebody else owns the log")
        try:
            epoch = self._token()
            writer, at = self._begin(epoch, deadline)
        except BaseException:
            with suppress(NotHeld, LockUnknown, KazooException):
                self._lock.release()
            raise
        self._owned = (epoch, writer)
        return Place(epoch, at)

    def _token(self) -> int:
        token = self._lock.token
        if token is None or not self._lock.held:
            raise NotDone("the lock is lost already")
        return token

    def release(self) -> None:
        """Release the lock. Raises what a lock's ``release`` does."""
        self._lock.release()

    def append(self, value: Any, timeout: float) -> Place:
        """Append a value (of JSON) as the owner that this client was last.

        Raises:
            NotDone: it was not appended, and will not be.
            OutcomeUnknown: it may have been appended, or may be yet.
        """
        if self._owned is None:
            raise NotDone("never the owner")
        epoch, writer = self._owned
        return Place(epoch, writer.append(value, Deadline(timeout)))

    def read(self, timeout: float) -> list[Any]:
        """All values in order, no older than this call.

        Raises:
            NotDone: no majority of the replicas agrees in time.
        """
        return self._read(Deadline(timeout))

    def close(self) -> None:
        """Stop the replica; nothing is written to its disk once this returns."""
        if self.replica is not None:
            self.replica.close()

    @abstractmethod
    def _begin(self, epoch: int, deadline: Deadline) -> tuple[Writer, int]:
        """As the holder of the lock with this token: a writer, and the log's length.

        Raises what ``take_over`` does.
        """

    @abstractmethod
    def _read(self, deadline: Deadline) -> list[Any]:
        """All values. Raises what ``read`` does."""

    @abstractmethod
    def repair(self, timeout: float) -> None:
        """Copy what this client's replica lacks from the others.

        Raises:
            NotDone, OutcomeUnknown: no answer in time.
        """

    @abstractmethod
    def on_disk(self, timeout: float) -> list[Any]:
        """All values on the disk of this client's replica.

        Raises:
            NotDone, OutcomeUnknown: no answer from ZooKeeper in time.
        """
