"""What locks and elections share: the current grant, whether to rely on it, and giving it up."""

from typing import ClassVar, TypedDict

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Contest, Entry
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Unanswered


class ContenderOptions(TypedDict, total=False):
    """The keyword arguments of every ``Contender``."""

    name: str
    grace: float


class Contender:
    """One client's side of a contest.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that the contest is about; it belongs to this recipe alone.
        name: who we are, written into our own node for people to read.
        grace: seconds by which a call may exceed its timeout, to await late answers and to
            remove our own node. Also the longest time that a release may take.
    """

    promises: ClassVar[Promises]
    contest: ClassVar[type[Contest]]

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        self._client = client
        self._path = path
        self._name = name
        self._grace = grace
        self._contest = self._make_contest()
        self._grant: Entry | None = None

    def _make_contest(self) -> Contest:
        return self.contest(self._client, self._path, self._name, self._grace)

    @classmethod
    def line(cls, path: str) -> Line:
        """Where the contenders for ``path`` stand on the server."""
        return cls.contest.line(path)

    @property
    def token(self) -> int | None:
        """Fencing token: the czxid of our own node; None while there is no grant."""
        return self._grant.token if self._grant else None

    @property
    def node(self) -> str | None:
        """Full path of our own node; None while there is no grant."""
        return self._grant.node if self._grant else None

    @property
    def session(self) -> int | None:
        """Session id (signed 64 bits) of the grant; None while there is no grant."""
        return self._grant.session_id if self._grant else None

    @property
    def _believes(self) -> bool:
        """Whether the grant, if any, can be relied on now.

        False while the connection is lost, because the session may expire meanwhile. True again
        if the same session reconnects; False for good once that session is lost.
        """
        return self._grant is not None and self._grant.reliable

    def _still_ours(self, grant: Entry, deadline: Deadline) -> bool:
        """Whether an earlier grant is still valid; waits while its connection is lost.

        Raises:
            LockUnknown: the connection did not come back in time.
        """
        try:
            return grant.session.reconnected(deadline)
        except Unanswered as error:
            raise LockUnknown(
                f"{self._path}: disconnected, cannot tell whether it is still ours"
            ) from error

    def _let_go(self) -> None:
        """Give up the grant; without one, wait until nodes left by unknown outcomes are gone."""
        grant, self._grant = self._grant, None
        if grant is not None:
            self._contest.leave(grant)
        elif self._contest.unsettled:
            self._contest.settle()
        else:
            raise NotHeld(f"{self._path}: not held by this client")
