"""Read-write locks: many read, or one writes, in the order of the queue.

The algorithm is ZooKeeper's published recipe for shared locks ("ZooKeeper Recipes and Solutions,
Shared Locks"): one queue, in which each node's name says whether it is a reader's or a writer's. A
reader watches the nearest writer before it, a writer the nearest node of any kind; when the watch
fires, they look again. Nobody overtakes: readers that come after a waiting writer wait for it, so a
stream of readers does not keep writers out. Lost replies and stale lists are handled as in every
fair contest (``recipes.contests.fair_contest``).
"""

from typing import ClassVar, Final, Literal

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Contest
from rumpus.recipes.contests.fair_contest import MARK, FairContest
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import ANSWERS, EXCLUSION, HOLDING, LIVENESS, Line, Promises

Mode = Literal["read", "write"]

READ: Final = "-read" + MARK
WRITE: Final = "-write" + MARK

PROMISES: Final = Promises(
    prevents=EXCLUSION
    | HOLDING
    | ANSWERS
    | LIVENESS
    | {"unaware-holder", "disconnected-belief", "token-regression", "unfair-grant", "herd"},
    wakeups=1,
    notes=(
        "Only writers have tokens, and they only grow; a fence must let readers pass. Not "
        "re-entrant, and a reader cannot become a writer: it would wait for itself. A holder "
        "that was paused, or whose action takes longer than its session lives, can act after "
        "the lock has passed on."
    ),
)


class ReadContest(FairContest):
    """A reader's contest: only writers ahead block it."""

    mark: ClassVar[str] = READ

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that carry the mark; readers own at the same time."""
        return Line(kind="sequential", path=path, mark=MARK, shared=READ)

    def _blocking(self, ahead: list[str]) -> list[str]:
        return [node for node in ahead if WRITE in node]


class WriteContest(FairContest):
    """A writer's contest: every node ahead blocks it."""

    mark: ClassVar[str] = WRITE

    @classmethod
    def line(cls, path: str) -> Line:
        """The same as a reader's."""
        return ReadContest.line(path)


class ReadLock(ContestLock):
    """The readers' side of the lock: any number of readers hold it together."""

    contest: ClassVar[type[Contest]] = ReadContest
    promises: ClassVar[Promises] = PROMISES

    @property
    def token(self) -> int | None:
        """Always None: readers hold together, so none of them makes another one stale."""
        return None


class WriteLock(ContestLock):
    """The writers' side of the lock: a writer holds it alone."""

    contest = WriteContest
    promises: ClassVar[Promises] = PROMISES


class ReadWriteLock:
    """Both sides of one lock. An object holds one side at a time.

    If several threads of a client read at once, each of them needs a lock object of its own.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
    """

    reader: ClassVar[type[ContestLock]] = ReadLock
    writer: ClassVar[type[ContestLock]] = WriteLock
    promises: ClassVar[Promises] = PROMISES
    revocable: ClassVar[bool] = False
    """Whether holders can be asked to release (``recipes.read_write.revocable_lock``)."""

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        self._sides: dict[Mode, ContestLock] = {
            "read": self.reader(client, path, name=name, grace=grace),
            "write": self.writer(client, path, name=name, grace=grace),
        }
        self._latest = self._sides["write"]
        self._client = client
        self._path = path

    @classmethod
    def line(cls, path: str) -> Line:
        """Which znodes represent readers and writers on the server."""
        return cls.writer.line(path)

    def acquire(self, mode: Mode, timeout: float | None = None) -> bool:
        """Wait for one side of the lock. Outcomes and errors are those of ``ContestLock``."""
        self._latest = self._sides[mode]
        return self._latest.acquire(timeout)

    def release(self) -> None:
        """Release the side acquired last. Errors are those of ``ContestLock.release``."""
        self._latest.release()

    @property
    def held(self) -> bool:
        """Whether this client may rely, right now, on holding it; see ``ContestLock.held``."""
        return self._latest.held

    @property
    def token(self) -> int | None:
        """A writer's fencing token; None for readers and while there is no grant."""
        return self._latest.token

    @property
    def node(self) -> str | None:
        """Full path of our own node; None while there is no grant."""
        return self._latest.node

    @property
    def session(self) -> int | None:
        """Session id (signed 64 bits) of the grant; None while there is no grant."""
        return self._latest.session
