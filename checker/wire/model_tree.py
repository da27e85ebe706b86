"""The tree of znodes that committed transactions lead to, one after the other.

It is kept by ZooKeeper's own rules (``DataTree`` and ``DataNode.copyStat`` of 3.8), from the
transactions alone. So it says what a server that has applied all up to some zxid must answer, and
whether a transaction may follow the ones before it.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

from rumpus.checker.servers.txnlog import OPEN_ACL, AccessList, Txn
from rumpus.checker.wire.quotas import Quotas
from rumpus.checker.wire.records import StatFields, sum_of

_LARGEST = 0x7FFFFFFF

OWN = "/zookeeper"
"""Servers change what is below by themselves, without transactions."""


CONTAINER = -1
"""In place of a time to live: a znode that goes when its last child has gone."""

RACE_MS = 10_000
"""For how long a server may go by what it has seen of a znode before it asks for its removal."""

_FOR_EVER = 1 << 62


class View(NamedTuple):
    """What a server tells of a znode: Stat, data and children as sums, access control list."""

    stat: StatFields
    data: tuple[int, int]
    children: tuple[int, int]
    acl: AccessList


class Node:
    """A znode as it is now.

    ``creations`` counts the children ever made, as servers store it. ``former`` is its access
    control list before the last change of that, and until when (ns) a leader may still go by it:
    ``PrepRequestProcessor`` does while any change of the znode is under way. ``ttl_ms`` is for how
    long it lasts without a child or a change of its data: ``CONTAINER`` for a container, None for
    other znodes.
    """

    __slots__ = (
        "acl",
        "aversion",
        "children",
        "creations",
        "ctime",
        "czxid",
        "data",
        "former",
        "mtime",
        "mzxid",
        "names",
        "owner",
        "pzxid",
        "ttl_ms",
        "version",
    )

    def __init__(
        self,
        zxid: int,
        time: int,
        data: tuple[int, int],
        owner: int,
        acl: AccessList,
        ttl_ms: int | None = None,
    ) -> None:
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime = self.mtime = time
        self.version = self.creations = self.aversion = 0
        self.owner = owner
        self.data = data
        self.acl = acl
        self.former: tuple[AccessList, int] | None = None
        self.children = self.names = 0
        self.ttl_ms = ttl_ms

    def view(self) -> View:
        """What a server tells of it now."""
        stat = StatFields(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            _as_int(2 * self.creations - self.children),
            self.aversion,
            self.owner,
            self.data[0],
            self.children,
            self.pzxid,
        )
        return View(stat, self.data, (self.children, self.names), self.acl)


class ModelTree:
    """The tree, which transactions move forward.

    Attributes:
        nodes: path -> the znode, for all that exist now; the root's path is ``/``.
        ended: session -> zxid of its closeSession.
        relisted: whether any access control list was changed.
        quotas: which znodes are counted for quotas.
        overflown: znodes whose count of children ever made is beyond what an int holds. There a
            leader goes on with negative numbers while such creations are under way, and otherwise
            from 2147483647 again: ``DataTree.createNode`` stores no smaller count than there is.

    Args:
        times: whether servers' clocks agree, so that lives of mortal znodes can be measured.
        unused_stay: whether servers leave containers alone that never had a child, as they do by
            default (``znode.container.maxNeverUsedIntervalMs``).
    """

    def __init__(self, *, times: bool = True, unused_stay: bool = True) -> None:
        root = Node(0, 0, (0, 0), 0, OPEN_ACL)
        root.children, root.names = 1, crc32(OWN[1:].encode())
        self.nodes: dict[str, Node] = {"/": root}
        self.ended: dict[int, int] = {}
        self.relisted = False
        self.overflown: set[str] = set()
        self.quotas = Quotas()
        self._times = times
        self._unused_stay = unused_stay
        self._removed: set[str] = set()
        self._owned: dict[int, dict[str, None]] = {}

    def owned(self, session: int) -> set[str]:
        """The ephemeral znodes of a session."""
        return set(self._owned.get(session, ()))

    def view(self, path: str) -> View | None:
        """What a server tells of a znode now; None if it is not there."""
        node = self.nodes.get(path)
        return None if node is None else node.view()

    def below(self, prefix: str) -> Iterator[tuple[str, Node]]:
        """The znodes whose path begins so. Cost: O(n) in all znodes."""
        return ((path, node) for path, node in self.nodes.items() if path.startswith(prefix))

    def apply(self, txn: Txn) -> list[str]:
        """Apply a transaction.

        Returns:
            What ZooKeeper's rules have against it, in words. Whatever they have, it is applied as
            far as that can be.
        """
        broken = [words for effect in txn.effects if (words := self._apply(effect))]
        if txn.name == "createSession":
            self.ended.pop(txn.session, None)
        elif txn.name == "closeSession":
            self.ended.setdefault(txn.session, txn.zxid)
        return broken

    def settle(self, paths: Iterable[str], sent: int, done: int) -> None:
        """Note until when leaders may have gone by the former lists of znodes.

        Args:
            paths: znodes that a change touched, or whose children it did.
            sent: when the change was asked for (ns).
            done: when it was surely carried out.
        """
        for path in paths:
            node = self.nodes.get(path)
            if node is not None and node.former is not None:
                acl, until = node.former
                if until == _FOR_EVER:
                    node.former = (acl, done)
                elif sent <= until:
                    node.former = (acl, max(until, done))

    def _apply(self, txn: Txn) -> str:
        """Apply one effect; returns what forbids it, or nothing."""
        path = txn.path or "/"
        if is_servers_own(path):
            self.quotas.apply(txn, self.nodes)
            return ""
        match txn.name:
            case "create" | "create2" | "createContainer" | "createTTL":
                return self._create(txn, path)
            case "delete":
                return self._delete(txn, path)
            case "deleteContainer":
                return self._expire(txn, path)
            case "setData" | "setACL":
                return self._set(txn, path)
            case "closeSession":
                return self._close(txn)
        return ""

    def _create(self, txn: Txn, path: str) -> str:
        above = parent_of(path)
        parent = self.nodes.get(above)
        broken = ""
        if path in self.nodes:
            self._remove(path, txn.zxid)
            broken = f"{path} is created, but it exists"
        if parent is None:
            return f"{path} is created, but {above} does not exist"
        if parent.owner:
            broken = f"{path} is created below {above}, which is ephemeral"
        owner = txn.session if txn.ephemeral else 0
        ttl_ms = CONTAINER if txn.name == "createContainer" else txn.ttl_ms
        self.nodes[path] = Node(txn.zxid, txn.stamp, sum_of(txn.data), owner, txn.acl or (), ttl_ms)
        if owner:
            self._owned.setdefault(owner, {})[path] = None
        made = txn.parent_cversion
        if made is None or made == -1:
            made = following(parent.creations)
        if made > parent.creations:
            parent.creations, parent.pzxid = made, txn.zxid
        elif parent.creations == _LARGEST:
            self.overflown.add(above)
        parent.children += 1
        parent.names += crc32(name_of(path))
        return broken

    def _delete(self, txn: Txn, path: str) -> str:
        node = self.nodes.get(path)
        if node is None:
            return f"{path} is deleted, but it does not exist"
        children = node.children
        self._remove(path, txn.zxid)
        if children:
            return f"{path} is deleted, but is not empty ({children} below)"
        return ""

    def _expire(self, txn: Txn, path: str) -> str:
        """Apply a removal that servers decided on by themselves (``ContainerManager``).

        They look for what may go some time before, and then check only whether it is empty. So a
        znode may be taken for a former one of its path, and its data may just have been set.
        """
        node, before = self.nodes.get(path), path in self._removed
        broken = self._delete(txn, path)
        if broken or node is None or before:
            return broken
        if node.ttl_ms is None:
            return f"{path} is removed by the servers, and is neither a container nor mortal"
        if node.ttl_ms == CONTAINER:
            never = f"{path} is removed by the servers, a container that never had a child"
            return never if self._unused_stay and not node.creations else ""
        since = node.mtime
        if node.version and txn.stamp - since <= RACE_MS:
            since = node.ctime
        if self._times and txn.stamp - since <= node.ttl_ms:
            lived = f"{txn.stamp - since} ms after it was made or set"
            return f"{path} is removed by the servers {lived}, and may stay for {node.ttl_ms} ms"
        return ""

    def _remove(self, path: str, zxid: int) -> None:
        node = self.nodes.pop(path)
        self.overflown.discard(path)
        if node.ttl_ms is not None:
            self._removed.add(path)
        if node.owner:
            self._owned.get(node.owner, {}).pop(path, None)
        above = parent_of(path)
        parent = self.nodes.get(above)
        if parent is not None:
            parent.children -= 1
            parent.names -= crc32(name_of(path))
            parent.pzxid = max(parent.pzxid, zxid)

    def _set(self, txn: Txn, path: str) -> str:
        node = self.nodes.get(path)
        if node is None:
            return f"{path} is changed, but it does not exist"
        version = txn.version or 0
        if txn.name == "setACL":
            self.relisted = True
            node.former = (node.acl, _FOR_EVER)
            before, node.aversion, node.acl = node.aversion, version, txn.acl or ()
        else:
            before, node.version, node.data = node.version, version, sum_of(txn.data)
            node.mzxid, node.mtime = txn.zxid, txn.stamp
        if version != following(before):
            return f"{path} gets version {version}, but had {before}"
        return ""

    def _close(self, txn: Txn) -> str:
        owned = self.owned(txn.session)
        for path in owned:
            self._remove(path, txn.zxid)
        self._owned.pop(txn.session, None)
        left = owned - set(txn.paths) if txn.paths is not None else set()
        strange = [path for path in txn.paths or () if path not in owned and path in self.nodes]
        for path in strange:
            self._remove(path, txn.zxid)
        if left:
            return f"its session ends, but leaves its ephemeral {min(left)}"
        if strange:
            return f"its session ends, and {strange[0]} goes, which is not its ephemeral"
        return ""


def is_servers_own(path: str) -> bool:
    """Whether a path is below ``/zookeeper``, or that."""
    return f"{path}/".startswith(f"{OWN}/")


def parent_of(path: str) -> str:
    """The path of the znode above."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> bytes:
    """The last part of a path."""
    return path.rpartition("/")[2].encode()


def following(version: int) -> int:
    """The next version, with the overflow of a Java int."""
    return version + 1 if version != _LARGEST else -0x80000000


def _as_int(value: int) -> int:
    """A number as a Java int has it."""
    return (value + 0x80000000) % (1 << 32) - 0x80000000
