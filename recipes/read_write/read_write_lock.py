"""Read-write locks: many read, or one writes, in the order of the queue.

The algorithm is ZooKeeper's published recipe for shared locks ("ZooKeeper Recipes and Solutions,
Shared Locks"): one queue, in which each node's name says what it is for. A reader waits for the
nearest writer before it; a writer for the nearest node of any kind; and, when told anything, they
look again. Nobody overtakes: readers that come after a waiting writer wait for it, so a stream
of readers does not keep writers out. Lost replies and stale lists are dealt with as in every
fair contest (``recipes.contests.fair_contest``).
"""

from typing import ClassVar, Final, Literal

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Contest
from rumpus.recipes.contests.fair_contest import MARK, FairContest
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import EXCLUSION, HOLDING, LIVENESS, Line, Promises

Mode = Literal["read", "write"]

READ: Final = "-read" + MARK
WRITE: Final = "-write" + MARK

PROMISES: Final = Promises(
    prevents=EXCLUSION
    | HOLDING
    | LIVENESS
    | {"unaware-holder", "token-regression", "unfair-grant", "herd"},
    wakeups=1,
    notes=(
        "Only writers have tokens, and they only grow; a fence must let readers pass. Not "
        "re-entrant, and a reader cannot become a writer: it would wait for itself. A holder "
        "that was paused, or whose action takes longer than its session lives, can act after "
        "the lock has passed on."
    ),
)


class ReadContest(FairContest):
    """A reader's: only writers stand in its way."""

    mark: ClassVar[str] = READ

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that carry the mark; readers own beside each other."""
        return Line(kind="sequential", path=path, mark=MARK, shared=READ)

    def _blocking(self, ahead: list[str]) -> list[str]:
        return [node for node in ahead if WRITE in node]


class WriteContest(FairContest):
    """A writer's: everybody ahead stands in its way."""

    mark: ClassVar[str] = WRITE

    @classmethod
    def line(cls, path: str) -> Line:
        """The same as a reader's."""
        return ReadContest.line(path)


class ReadLock(ContestLock):
    """The side of readers, who hold it together."""

    contest: ClassVar[type[Contest]] = ReadContest
    promises: ClassVar[Promises] = PROMISES

    @property
    def token(self) -> int | None:
        """None: of readers who hold together, none is later than another."""
        return None


class WriteLock(ContestLock):
    """The side of writers, each of whom holds it alone."""

    contest = WriteContest
    promises: ClassVar[Promises] = PROMISES


class ReadWriteLock:
    """Both sides of one lock, of which a client holds one at a time.

    Where several threads of a client read at once each needs a lock object of its own.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
    """

    reader: ClassVar[type[ContestLock]] = ReadLock
    writer: ClassVar[type[ContestLock]] = WriteLock
    promises: ClassVar[Promises] = PROMISES
    revocable: ClassVar[bool] = False
    """Whether holders can be asked to let go (``recipes.read_write.revocable_lock``)."""

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
        """Where readers and writers stand on the server."""
        return cls.writer.line(path)

    def acquire(self, mode: Mode, timeout: float | None = None) -> bool:
        """Wait for one side of the lock. Outcomes and errors are those of ``ContestLock``."""
        self._latest = self._sides[mode]
        return self._latest.acquire(timeout)

    def release(self) -> None:
        """Let go of the side acquired last. Errors are those of ``ContestLock.release``."""
        self._latest.release()

    @property
    def held(self) -> bool:
        """Whether this client may believe, right now, that it holds; see ``ContestLock.held``."""
        return self._latest.held

    @property
    def token(self) -> int | None:
        """A writer's fencing token; None for readers and while there is no grant."""
        return self._latest.token

    @property
    def node(self) -> str | None:
        """Full path of the own node; None while there is no grant."""
        return self._latest.node

    @property
    def session(self) -> int | None:
        """Session id (signed 64 bits) of the grant; None while there is no grant."""
        return self._latest.session
