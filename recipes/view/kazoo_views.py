"""kazoo's DataWatch, ChildrenWatch and TreeCache behind the interface of the views here.

Thin adapters that repair nothing, so there are no bare variants: each creates kazoo's object when
it is opened, and keeps what kazoo reports. kazoo asks the servers when its object is created and
blocks until they answer, so this is done on a thread.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from kazoo.client import KazooClient
from kazoo.protocol.states import ZnodeStat
from kazoo.recipe.cache import TreeCache
from kazoo.recipe.watchers import ChildrenWatch, DataWatch

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.promises import Promises
from rumpus.recipes.view.follower_view import VIEW_PROMISES, Children, Data

PROMISES = Promises(
    prevents=VIEW_PROMISES.prevents,
    notes="As documented: called after each change, over lost connections and sessions.",
)


class _KazooView(Recipe):
    promises: ClassVar[Promises] = PROMISES
    _watch_class: ClassVar[type[Any]]
    _told: Callable[..., bool]

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path
        self._closed = False

    def open(self) -> None:
        """Create the watch."""
        self._client.handler.spawn(self._watch_class, self._client, self._path, self._told)

    def close(self) -> None:
        """End the watch at its next call."""
        self._closed = True

    @property
    def connected(self) -> bool:
        """Whether the client is connected, so that events can come."""
        return bool(self._client.connected)


class KazooDataView(_KazooView):
    """``kazoo.recipe.watchers.DataWatch``."""

    follows: ClassVar[Literal["data"]] = "data"
    _watch_class = DataWatch
    value: Data | None = None

    def _told(self, data: bytes | None, stat: ZnodeStat | None) -> bool:
        self.value = None if stat is None else Data(data or b"", stat.mzxid, stat.version)
        return not self._closed


class KazooChildrenView(_KazooView):
    """``kazoo.recipe.watchers.ChildrenWatch``; the node must exist before."""

    follows: ClassVar[Literal["children"]] = "children"
    _watch_class = ChildrenWatch
    value: Children | None = None

    def _told(self, names: list[str]) -> bool:
        self.value = Children(frozenset(names), 0)
        return not self._closed


class KazooTreeView(_KazooView):
    """``kazoo.recipe.cache.TreeCache``: the names and data of a node's children."""

    follows: ClassVar[Literal["tree"]] = "tree"

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._cache = TreeCache(client, path)

    def open(self) -> None:
        """Start the cache."""
        self._client.handler.spawn(self._cache.start)

    def close(self) -> None:
        """Close the cache."""
        self._client.handler.spawn(self._cache.close)

    @property
    def value(self) -> dict[str, Data] | None:
        """Name -> data of each child; None if the node is missing."""
        names = self._cache.get_children(self._path)
        if names is None:
            return None
        nodes = {name: self._cache.get_data(f"{self._path}/{name}") for name in names}
        return {
            name: Data(node.data, node.stat.mzxid, node.stat.version)
            for name, node in nodes.items()
            if node is not None
        }
