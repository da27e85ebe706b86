"""kazoo's watches as decorators, and what a listener of its TreeCache is told, as views.

The same objects as in ``recipes.view.kazoo_views``, by their other calls: ``DataWatch`` and
``ChildrenWatch`` given their function later, with the event that called it, and ``TreeCache`` by
``listen``, ``listen_fault`` and ``close``. Calls that kazoo documents to be refused are made, too:
a second function for one watch, a cache that is started twice or after its end.

What is not as documented is raised when the view is looked at next (``complain``).
"""

import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final, Literal

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.recipe.cache import NodeData, TreeCache, TreeEvent
from kazoo.recipe.watchers import ChildrenWatch, DataWatch

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.promises import Promises
from rumpus.recipes.view.follower_view import Children, Data
from rumpus.recipes.view.kazoo_views import PROMISES

CALLED_PROMISES: Final = Promises(
    prevents=PROMISES.prevents | {"unexpected-error"},
    notes=PROMISES.notes + " Calls that are documented to be refused are, and nothing is told "
    "after the end.",
)

CLOSING_S: Final = 1.0
"""For how many seconds after ``close`` a listener may still be told what had happened before."""


def refused(call: Callable[..., Any], *arguments: Any) -> None:
    """Make a call that kazoo documents to be refused.

    Raises:
        AssertionError: it is not refused.
    """
    try:
        call(*arguments)
    except KazooException:
        return
    raise AssertionError(f"{getattr(call, '__qualname__', call)} was not refused")


class _CalledView(Recipe):
    """What these views share; ``lasts``: for how many looks and changes, on average."""

    promises: ClassVar[Promises] = CALLED_PROMISES
    lasts: ClassVar[int] = 60

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path
        self._closed_at: float | None = None
        self._fault: Exception | None = None

    def open(self) -> None:
        """Begin; kazoo blocks until the servers answer, so that is done on a thread."""
        self._client.handler.spawn(self._begin)

    def _begin(self) -> None:
        try:
            self._call()
        except KazooException:
            return  # the client was stopped: nothing is shown
        except AssertionError as error:
            self._fault = error

    def _call(self) -> None:
        raise NotImplementedError

    @property
    def connected(self) -> bool:
        """Whether the client is connected, so that events can come."""
        return bool(self._client.connected)

    def complain(self) -> None:
        """Raise what was not as documented, if anything was; also when it has been closed."""
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault


class _DecoratorView(_CalledView):
    _watch_class: ClassVar[type[Any]]
    _options: ClassVar[dict[str, Any]] = {}
    _told: Callable[..., bool]

    def _call(self) -> None:
        watch = self._watch_class(self._client, self._path, **self._options)
        watch(self._told)
        refused(watch, self._told)

    def close(self) -> None:
        """End the watch at its next call."""
        self._closed_at = time.monotonic()


class KazooDataDecoratorView(_DecoratorView):
    """``@client.DataWatch(path)``, of a function that takes the event."""

    follows: ClassVar[Literal["data"]] = "data"
    _watch_class = DataWatch
    value: Data | None = None

    def _told(
        self,
        data: bytes | None,
        stat: ZnodeStat | None,
        event: WatchedEvent | None,  # noqa: ARG002 - by its presence kazoo gives it
    ) -> bool:
        self.value = None if stat is None else Data(data or b"", stat.mzxid, stat.version)
        return self._closed_at is None


class KazooChildrenDecoratorView(_DecoratorView):
    """``@client.ChildrenWatch(path, send_event=True)``; the node must exist before."""

    follows: ClassVar[Literal["children"]] = "children"
    _watch_class = ChildrenWatch
    _options: ClassVar[dict[str, Any]] = {"send_event": True}
    value: Children | None = None

    def _told(self, names: list[str], event: WatchedEvent | None) -> bool:  # noqa: ARG002 - kazoo's
        self.value = Children(frozenset(names), 0)
        return self._closed_at is None


class KazooTreeListenerView(_CalledView):
    """``kazoo.recipe.cache.TreeCache`` by its events: the names and data of a node's children."""

    follows: ClassVar[Literal["tree"]] = "tree"

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._cache = TreeCache(client, path)
        self._nodes: dict[str, NodeData] = {}
        self._starting = threading.Lock()
        self._begun = False
        self._cache.listen(self._told)
        self._cache.listen_fault(self._failed)

    def _call(self) -> None:
        with self._starting:
            if self._closed_at is not None:
                return
            self._begun = True
        self._cache.start()
        refused(self._cache.start)

    def close(self) -> None:
        """Close the cache; it can be neither started nor closed again."""
        with self._starting:
            self._closed_at = time.monotonic()
            if not self._begun:
                return
        self._cache.close()
        self._closed_at = time.monotonic()
        self._cache.close()
        refused(self._cache.start)

    def _told(self, event: TreeEvent) -> None:
        if self._closed_at is not None and time.monotonic() > self._closed_at + CLOSING_S:
            raise AssertionError(f"event {event.event_type} after the end of the cache")
        self._apply(event)

    def _apply(self, event: TreeEvent) -> None:
        """Change what is shown by an event."""
        if event.event_type in (TreeEvent.NODE_ADDED, TreeEvent.NODE_UPDATED):
            self._nodes = {**self._nodes, event.event_data.path: event.event_data}
        elif event.event_type == TreeEvent.NODE_REMOVED:
            gone = event.event_data.path
            self._nodes = {path: node for path, node in self._nodes.items() if path != gone}

    def _failed(self, error: Exception) -> None:
        """An error of kazoo's may come of a lost connection; no other is to be expected."""
        if not isinstance(error, KazooException):
            self._fault = error

    @property
    def value(self) -> dict[str, Data] | None:
        """Name -> data of each child; None if the node is missing."""
        nodes = self._nodes
        if self._path not in nodes:
            return None
        return {
            path.rpartition("/")[2]: Data(node.data or b"", node.stat.mzxid, node.stat.version)
            for path, node in nodes.items()
            if path != self._path
        }
