"""Views: a client's copy of a node, kept up to date; see ``requests.follower``.

A view lags, as every read of ZooKeeper may, but it never goes back to an older state, and while the
client is connected it catches up with the servers. It does not show what is true *now*.
"""

import threading
from collections.abc import Callable
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.follower import Follower
from rumpus.recipes.requests.session import Session

Value = TypeVar("Value")

VIEW_PROMISES = Promises(
    prevents=frozenset({"stale-view", "session-order"}),
    notes=(
        "A view lags behind the servers, without a bound while the connection is lost, and may "
        "skip states that were soon replaced. In the end it shows what the servers hold."
    ),
)


class Data(NamedTuple):
    """A node's data and version. ``zxid`` is that of its last change (mzxid)."""

    data: bytes
    zxid: int
    version: int


class Children(NamedTuple):
    """A node's children. ``zxid`` is that of the last creation or deletion of one (pzxid)."""

    names: frozenset[str]
    zxid: int


class View(Follower, Recipe, Generic[Value]):
    """A copy of the node ``path``, kept up to date between ``open`` and ``close``.

    Args:
        client: a started client with kazoo's threading handler.
        path: the node to follow; it may be missing, created and deleted.
    """

    promises: ClassVar[Promises] = VIEW_PROMISES
    follows: ClassVar[Literal["data", "children", "tree"]]

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client)
        self._path = path
        self._value: Value | None = None
        self._change = threading.Condition()

    @property
    def value(self) -> Value | None:
        """What the last read found; None if the node was missing, or before the first read."""
        return self._value

    def wait_until(
        self, condition: Callable[[Value | None], bool], timeout: float | None = None
    ) -> bool:
        """Wait until the view meets a condition; False if it timed out (seconds)."""
        with self._change:
            return self._change.wait_for(lambda: condition(self._value), timeout)

    def _show(self, value: Value | None) -> None:
        with self._change:
            self._value = value
            self._change.notify_all()

    def _missing(self, session: Session, deadline: Deadline) -> None:
        """The node is missing: watch for its creation; read again if it was created meanwhile."""
        stat = session.ask(deadline, self._client.exists_async, self._path, self._news(session))
        if stat is None:
            self._show(None)
        else:
            session.wake.set()


class DataView(View[Data]):
    """The data of one node."""

    follows = "data"

    def _look(self, session: Session, deadline: Deadline) -> None:
        try:
            data, stat = session.ask(
                deadline, self._client.get_async, self._path, self._news(session)
            )
        except NoNodeError:
            self._missing(session, deadline)
        else:
            self._show(Data(data, stat.mzxid, stat.version))


class ChildrenView(View[Children]):
    """The names of one node's children."""

    follows = "children"

    def _look(self, session: Session, deadline: Deadline) -> None:
        try:
            names, stat = session.ask(
                deadline,
                self._client.get_children_async,
                self._path,
                self._news(session),
                include_data=True,
            )
        except NoNodeError:
            self._missing(session, deadline)
        else:
            self._found(session, deadline, Children(frozenset(names), stat.pzxid))

    def _found(self, session: Session, deadline: Deadline, children: Children) -> None:  # noqa: ARG002
        self._show(children)
