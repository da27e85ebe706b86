"""Which events a server owes to one connection, by its watches and the committed transactions.

After ``DataTree`` and ``WatchManager`` of ZooKeeper 3.8. A server keeps two tables, for data and
for children. A watch that a read leaves fires once; those of ``addWatch`` stay, and recursive ones
hear of all that is below, but of no lists of children. An event is sent while its transaction is
applied, so before any answer that names this zxid or a later one.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.wire.model_tree import ModelTree, parent_of
from rumpus.checker.wire.records import Request

Happened = tuple[str, str]
"""What happened (``created``, ``deleted``, ``changed``, ``child``), and to which znode."""

_PERSISTENT, _RECURSIVE = 0, 1
_CHILDREN, _DATA, _BOTH = 1, 2, 3
_NO_NODE = -101


class Changes:
    """The committed transactions, by the znodes that their events name."""

    def __init__(self, committed: Sequence[Txn]) -> None:
        self._zxids = [txn.zxid for txn in committed]
        self._effects = [list(_happenings(txn)) for txn in committed]
        self._of: dict[str, list[int]] = defaultdict(list)
        for at, effects in enumerate(self._effects):
            named = {path for _, path in effects}
            for path in named | {parent_of(each) for each in named}:
                self._of[path].append(at)

    def between(
        self, low: int, high: int, paths: Iterable[str], *, everything: bool
    ) -> Iterator[list[Happened]]:
        """What each transaction did after one zxid and up to another, in order.

        Args:
            low: the one before the first.
            high: the last.
            paths: only transactions that concern these znodes, or children of them.
            everything: all transactions instead.
        """
        first, last = bisect_right(self._zxids, low), bisect_right(self._zxids, high)
        if everything:
            chosen: Iterable[int] = range(first, last)
        else:
            found: set[int] = set()
            for path in paths:
                places = self._of.get(path, ())
                start = bisect_right(places, first - 1)
                found.update(places[start : bisect_right(places, last - 1)])
            chosen = sorted(found)
        for at in chosen:
            yield self._effects[at]


def _happenings(txn: Txn) -> Iterator[Happened]:
    for effect in txn.effects:
        path = effect.path or "/"
        if effect.name.startswith("create") and effect.name != "createSession":
            yield "created", path
        elif effect.name in ("delete", "deleteContainer"):
            yield "deleted", path
        elif effect.name == "setData":
            yield "changed", path
        elif effect.name == "closeSession":
            yield from (("deleted", each) for each in effect.paths or ())


class Replayed(NamedTuple):
    """What a ``set-watches`` comes to.

    Attributes:
        events: what its client has missed.
        left: the watches that it leaves: path, table and mode (None: it fires once).
    """

    events: list[Happened]
    left: list[tuple[str, str, int | None]]


class Watches:
    """The watches of one connection.

    Attributes:
        mixed: paths that were watched in different ways, where servers differ; not judged.
    """

    def __init__(self) -> None:
        self._data: set[str] = set()
        self._child: set[str] = set()
        self._lasting: dict[str, int] = {}
        self.mixed: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._data or self._child)

    def paths(self) -> set[str]:
        """The znodes that are watched."""
        return self._data | self._child

    @property
    def recursive(self) -> bool:
        """Whether any watch hears of what is below."""
        return _RECURSIVE in self._lasting.values()

    def fire(self, happened: Iterable[Happened]) -> list[Happened]:
        """The events of one transaction; watches that fire once are gone then."""
        events: list[Happened] = []
        for what, path in happened:
            told = self._trigger(self._data, what, path)
            events += [(what, path)] * told
            if what == "deleted" and self._trigger(self._child, what, path) and not told:
                events.append((what, path))
            above = parent_of(path)
            if what != "changed" and self._trigger(self._child, "child", above):
                events.append(("child", above))
        return events

    def _trigger(self, table: set[str], what: str, path: str) -> bool:
        """Whether an event goes out for what happened, by one table."""
        found = False
        if path in table:
            mode = self._lasting.get(path)
            found = mode != _RECURSIVE or what != "child"
            if mode is None:
                table.discard(path)
        if what == "child" or not self.recursive:
            return found
        above = path
        while above != "/" and not found:
            above = parent_of(above)
            found = above in table and self._lasting.get(above) == _RECURSIVE
        return found

    def answered(self, request: Request, missed: Replayed | None) -> Sequence[Happened]:
        """Take the answer to a request that may change watches.

        Args:
            request: what was answered.
            missed: what a ``set-watches`` must come to.

        Returns:
            Events that a server sends just before: what a ``set-watches`` has missed.
        """
        name, path, error = request.name, request.path, request.error
        if missed is not None:
            for path, table, mode in missed.left:
                self._add(path, self._data if table == "data" else self._child, mode)
                if mode is not None:
                    self._child.add(path)
            return missed.events
        if name == "add-watch" and not error:
            self._add(path, self._data, request.mode)
            self._child.add(path)
        elif name == "remove-watches" and not error:
            if request.mode in (_DATA, _BOTH):
                self._data.discard(path)
            if request.mode in (_CHILDREN, _BOTH):
                self._child.discard(path)
            if path not in self._data | self._child:
                self._lasting.pop(path, None)
        elif request.watch:
            self._read(name, path, error)
        return ()

    def _read(self, name: str, path: str, error: int | None) -> None:
        """A read that asks to leave a watch was answered."""
        if (name == "exists" and error in (0, _NO_NODE)) or (name == "get-data" and not error):
            self._add(path, self._data)
        elif name in ("get-children", "get-children2") and not error:
            self._add(path, self._child)

    def _add(self, path: str, table: set[str], mode: int | None = None) -> None:
        if path in self._data | self._child and self._lasting.get(path) != mode:
            self.mixed.add(path)
        if mode is not None:
            self._lasting[path] = mode
        table.add(path)


def replayed(request: Request, tree: ModelTree) -> Replayed | None:
    """What ``DataTree.setWatches`` does, with the tree as it is then; None if it was refused."""
    if request.error:
        return None
    # The older of the two requests knows three kinds of watches; what is left out is none.
    data, exists, child, *lasting = [*request.watches, *[[]] * 3][: max(3, len(request.watches))]
    events: list[Happened] = []
    left: list[tuple[str, str, int | None]] = []
    for path, table, news in (
        *((path, "data", "changed") for path in data),
        *((path, "child", "child") for path in child),
    ):
        node = tree.nodes.get(path)
        if node is None:
            events.append(("deleted", path))
        elif (node.mzxid if table == "data" else node.pzxid) > request.since:
            events.append((news, path))
        else:
            left.append((path, table, None))
    for path in exists:
        if path in tree.nodes:
            events.append(("created", path))
        else:
            left.append((path, "data", None))
    for mode, paths in enumerate(lasting):
        left += [(path, "data", mode) for path in paths]
    return Replayed(events, left)
