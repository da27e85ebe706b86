"""kazoo's own Lock behind the interface of the locks here.

A thin adapter: kazoo contends, waits and releases. It adds what kazoo tells its users to add, and
what is needed to report correctly how a call ended:

- the state listener that kazoo's documentation recommends: ``held`` becomes false on SUSPENDED and
  LOST (kazoo's ``is_acquired`` stays true after either);
- a fresh ``kazoo.recipe.lock.Lock`` for every acquire, because one that has failed half-way
  keeps its unique prefix and its flags;
- after a failed acquire, a read that shows whether a node is left, because kazoo swallows the
  errors of its clean-up;
- after a grant, one request for the node's czxid, the token. If it gets no answer, there is no
  token.

kazoo's requests have no timeout of their own: with no server in reach ``acquire`` and ``release``
block until one is, whatever their timeout.
"""

from typing import Any, ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, SessionExpiredError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

KAZOO_NOTES: Final = (
    "kazoo promises neither order nor a bound on wake-ups, although its algorithm queues. Timeouts "
    "do not hold while no server is in reach. "
)
"""What none of kazoo's locks promises."""


class KazooEntry(Entry):
    """The entry of one kazoo object, a lock or a semaphore.

    It is made once kazoo has answered. Kazoo goes through as many sessions as it takes until then,
    and its users believe what it answers, so the entry's session is that of the answer. ``mark`` is
    the prefix of kazoo's node names.
    """

    def __init__(self, client: KazooClient, lock: Any, mark: str) -> None:
        super().__init__(client, mark=mark)
        self.lock = lock
        self.tried = True

    @property
    def reliable(self) -> bool:
        """As long as kazoo says that it is connected: nobody else tells kazoo's users."""
        return self.session.connected


class KazooContest(FairContest):
    """kazoo contends; nodes it leaves are found and removed as those of a fair contest are."""

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that kazoo's lock makes."""
        return Line(kind="sequential", path=path, mark="__lock__")

    def win(self, timeout: float | None) -> KazooEntry | None:
        """Let kazoo contend; None when it failed and nothing is left, even before the timeout.

        Raises:
            LockUnknown: nobody can say whether its node is left.
            KazooException: any error of kazoo's but a timeout.
        """
        lock = self._new_lock()
        try:
            granted = lock.acquire(timeout=timeout)
        except LockTimeout:
            granted = False
        except BaseException:
            self._leave_in_background(self._entry_of(lock))
            raise
        entry = self._entry_of(lock)
        if granted and self._confirmed(entry):
            return entry
        self._abandon(entry)
        return None

    def _new_lock(self) -> Any:
        """The kazoo object that contends; it has ``acquire`` and ``release``."""
        return self._client.Lock(self._path, self._name)

    def _entry_of(self, lock: Any) -> KazooEntry:
        return KazooEntry(self._client, lock, lock.prefix)

    def _node_of(self, entry: KazooEntry) -> str:
        return f"{self._path}/{entry.lock.node}"

    def leave(self, entry: Entry) -> None:
        """Let kazoo release; blocks until it has.

        Raises:
            NotHeld: the session that held it has ended; kazoo does not report this.
        """
        assert isinstance(entry, KazooEntry)
        try:
            entry.lock.release()
            if entry.session.lost:
                raise NotHeld(f"{self._path}: the session that held it has ended")
        finally:
            self._strike(entry)

    def _confirmed(self, entry: KazooEntry) -> bool:
        """Read the token of a grant; False if the grant is gone or its session has ended."""
        node = self._node_of(entry)
        try:
            stat = entry.session.ask(Deadline(self._grace), self._client.exists_async, node)
            if stat is None or not entry.session.owns(stat):
                return False
        except SessionExpiredError:
            return False
        except Unanswered:
            stat = None
        entry.node = node
        if stat is not None:
            entry.token, entry.session_id = stat.czxid, stat.ephemeralOwner
        return True

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.session.lost:  # kazoo goes on in the next session, with the same prefix
            entry.session = Session(self._client)
        return super()._take_out(entry, deadline)


class KazooLock(ContestLock):
    """``kazoo.recipe.lock.Lock``; see the module."""

    contest = KazooContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"unaware-holder", "token-regression", "overdue-call"},
        tokens=True,
        notes=KAZOO_NOTES + "The adapter removes nodes that a failed acquire leaves, and reads the "
        "token: kazoo does neither.",
    )
