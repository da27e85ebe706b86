"""The tree of znodes, to which transactions are applied.

Source: ``DataTree`` of ZooKeeper 3.8.0.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rumpus.simulation.zookeeper.tree.java_sets import copied_capacity, in_hash_order
from rumpus.simulation.zookeeper.tree.quotas import LIMITS, STATISTICS, Quotas
from rumpus.simulation.zookeeper.tree.transactions import (
    CreateContainerTxn,
    CreateTtlTxn,
    CreateTxn,
    Entry,
    Header,
    MultiTxn,
    SetAclTxn,
    SetDataTxn,
)
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.tree.znode import CONTAINER_OWNER, Znode, digest, ttl_of, ttl_owner
from rumpus.simulation.zookeeper.wire.error_codes import (
    NO_NODE,
    NODE_EXISTS,
    OK,
    RUNTIME_INCONSISTENCY,
)
from rumpus.simulation.zookeeper.wire.opcodes import (
    CHECK,
    CLOSE_SESSION,
    CREATE,
    CREATE2,
    CREATE_CONTAINER,
    CREATE_SESSION,
    CREATE_TTL,
    DELETE,
    DELETE_CONTAINER,
    ERROR,
    MULTI,
    RECONFIG,
    SET_ACL,
    SET_DATA,
)
from rumpus.simulation.zookeeper.wire.paths import CONFIG, QUOTA, SYSTEM
from rumpus.simulation.zookeeper.wire.permissions import OPEN, READ_ONLY


class Part(NamedTuple):
    """The result of one operation of a multi.

    ``path`` is that of a created node, ``stat`` the Stat record right after the operation; either
    is None if the operation has no such result.
    """

    type: int
    error: int
    path: str | None
    stat: bytes | None


class Result(NamedTuple):
    """The result of a transaction: an error code, and the parts of a multi."""

    error: int
    parts: tuple[Part, ...] = ()


DONE = Result(OK)

_PLAIN_CREATES = frozenset({CREATE, CREATE2})
_DELETES = frozenset({DELETE, DELETE_CONTAINER})
_DATA_CHANGES = frozenset({SET_DATA, RECONFIG})


class DataTree:
    """All znodes of one server.

    ``nodes`` contains the root twice: as "/", and as "", the parent path of its children.
    """

    def __init__(self) -> None:
        root = Znode(b"", OPEN)
        self.nodes: dict[str, Znode] = {
            "": root,
            "/": root,
            SYSTEM: Znode(b"", OPEN),
            QUOTA: Znode(b"", OPEN),
            CONFIG: Znode(b"", READ_ONLY),
        }
        self.nodes[CONFIG].aversion = -1
        root.add_child("zookeeper")
        self.nodes[SYSTEM].add_child("config")
        self.nodes[SYSTEM].add_child("quota")
        self.ephemerals: dict[int, dict[str, None]] = {}
        """Session to the paths of its ephemeral nodes; no session without any."""
        self.containers: dict[str, None] = {}
        self.ttls: dict[str, None] = {}
        self.quotas = Quotas(self.nodes)

    # -- applying ---------------------------------------------------------------------------

    def apply(self, entry: Entry, watches: WatchManager | None = None) -> Result:
        """Apply a transaction and trigger watches.

        Applying a transaction again, as in a replay onto a fuzzy snapshot, changes nothing; the
        result has an error then. Sessions are not part of the tree; closeSession deletes the
        session's ephemeral nodes.
        """
        header, transaction = entry[0], entry[1]
        kind = header[4]
        if kind == MULTI:
            assert isinstance(transaction, MultiTxn)
            return self._apply_multi(header, transaction.operations, watches)
        error = self._apply_one(kind, transaction, header, watches)
        return Result(error) if error else DONE

    def _apply_one(self, kind: int, txn: Any, header: Header, watches: WatchManager | None) -> int:
        """Apply a transaction that is not a multi; ``kind`` decides the class of ``txn``.

        Returns:
            An error code.
        """
        if kind in _PLAIN_CREATES:  # the most frequent ones first
            return self._create(txn, header[0] if txn[3] else 0, header, watches)
        if kind in _DELETES:
            return self._delete(txn[0], header[2], watches)
        if kind in _DATA_CHANGES:
            return self._set_data(txn, header, watches)
        if kind == SET_ACL:
            return self._set_acl(txn)
        if kind == CREATE_CONTAINER:
            return self._create(txn, CONTAINER_OWNER, header, watches)
        if kind == CREATE_TTL:
            return self._create(txn, ttl_owner(txn.ttl), header, watches)
        if kind == CLOSE_SESSION:
            self._close_session(header.session, txn.paths, header.zxid, watches)
            return OK
        if kind == ERROR:
            return txn.error  # type: ignore[no-any-return]
        if kind in (CHECK, CREATE_SESSION):
            return OK
        raise ValueError(f"there are no transactions of type {kind}")

    def _apply_multi(
        self,
        header: Header,
        operations: tuple[tuple[int, Any], ...],
        watches: WatchManager | None,
    ) -> Result:
        for kind, _ in operations:
            if kind == ERROR:
                return self._failed_multi(operations)
        parts: list[Part] = []
        first_error = OK
        for kind, txn in operations:
            error = self._apply_one(kind, txn, header, watches)
            first_error = first_error or error
            path = None if kind in (DELETE, CHECK, SET_DATA) else txn.path
            stat = None
            if error == OK and kind not in (DELETE, CHECK, CREATE):
                stat = self.nodes[txn.path].stat()
            parts.append(Part(kind, error, path, stat))
        return Result(first_error, tuple(parts))

    @staticmethod
    def _failed_multi(operations: tuple[tuple[int, Any], ...]) -> Result:
        """Nothing is applied; the results of operations before the failed one are OK."""
        parts = []
        failed = OK
        for kind, txn in operations:
            error = failed and RUNTIME_INCONSISTENCY
            if kind == ERROR:
                error = txn.error
                failed = failed or error
            parts.append(Part(ERROR, error, None, None))
        return Result(failed, tuple(parts))

    def _create(
        self,
        txn: CreateTxn | CreateContainerTxn | CreateTtlTxn,
        owner: int,
        header: Header,
        watches: WatchManager | None,
    ) -> int:
        path, data, acl, parent_cversion = txn[0], txn[1], txn[2], txn.parent_cversion
        nodes = self.nodes
        parent_path, _, name = path.rpartition("/")
        parent = nodes.get(parent_path)
        if parent is None:
            return NO_NODE
        _, _, zxid, time, _ = header
        if parent_cversion == -1:  # old versions do not log it
            parent_cversion = parent.cversion + 1
        if parent_cversion > parent.cversion:
            parent.cversion = parent_cversion
            parent.pzxid = zxid
        if path in nodes:
            return NODE_EXISTS
        node = Znode(data, acl, zxid, zxid, time, time, 0, 0, 0, owner, zxid)
        parent.add_child(name)
        nodes[path] = node
        session = node.session
        if session:
            paths = self.ephemerals.get(session)
            if paths is None:
                self.ephemerals[session] = {path: None}
            else:
                paths[path] = None
        elif owner:
            self._note_owner(path, node)
        if parent_path.startswith(QUOTA):
            self.quotas.created(parent_path, name)
        if self.quotas.limited:
            self.quotas.count(path, 1, len(data) if data else 0)
        if watches is not None and (watches.data.by_path or watches.children.by_path):
            watches.created(path, parent_path, acl, parent.acl)
        return OK

    def _note_owner(self, path: str, node: Znode) -> None:
        if node.session:
            self.ephemerals.setdefault(node.session, {})[path] = None
        elif node.owner == CONTAINER_OWNER:
            self.containers[path] = None
        elif node.owner:
            self.ttls[path] = None

    def _delete(self, path: str, zxid: int, watches: WatchManager | None) -> int:
        nodes = self.nodes
        parent_path, _, name = path.rpartition("/")
        parent = nodes.get(parent_path)
        if parent is None:
            return NO_NODE
        parent.remove_child(name)
        parent.pzxid = max(parent.pzxid, zxid)
        node = nodes.pop(path, None)
        if node is None:
            return NO_NODE
        session = node.session
        if session:
            paths = self.ephemerals.get(session)
            if paths is not None:
                paths.pop(path, None)
                if not paths:
                    del self.ephemerals[session]
        elif node.owner:
            self.containers.pop(path, None)
            self.ttls.pop(path, None)
        if name == LIMITS and parent_path.startswith(QUOTA):
            self.quotas.lifted(parent_path)
        if self.quotas.limited:
            self.quotas.count(path, -1, -len(node.data) if node.data else 0)
        if watches is not None and (watches.data.by_path or watches.children.by_path):
            watches.deleted(path, parent_path, node.acl, parent.acl)
        return OK

    def _set_data(self, txn: SetDataTxn, header: Header, watches: WatchManager | None) -> int:
        path, data, version = txn
        node = self.nodes.get(path)
        if node is None:
            return NO_NODE
        if self.quotas.limited:
            grown = (len(data) if data else 0) - (len(node.data) if node.data else 0)
            self.quotas.count(path, 0, grown)
        node.data = data
        node.mtime = header.time
        node.mzxid = header.zxid
        node.version = version
        if watches is not None:
            watches.changed(path, node.acl)
        return OK

    def _set_acl(self, txn: SetAclTxn) -> int:
        node = self.nodes.get(txn.path)
        if node is None:
            return NO_NODE
        node.acl = txn.acl
        node.aversion = txn.version
        return OK

    def _close_session(
        self, session: int, paths: Iterable[str], zxid: int, watches: WatchManager | None
    ) -> None:
        for path in paths:
            self._delete(path, zxid, watches)
        # Normally there are none left: the transaction lists all.
        for path in self.ephemerals_of(session):
            self._delete(path, zxid, watches)

    # -- questions --------------------------------------------------------------------------

    def ephemerals_of(self, session: int) -> list[str]:
        """Paths of a session's ephemeral nodes, in the order of a real server."""
        paths = self.ephemerals.get(session)
        return in_hash_order(paths, copied_capacity(len(paths))) if paths else []

    def count_below(self, path: str) -> int:
        """How many descendants a node has; those of the root include /zookeeper."""
        if path in {"", "/"}:
            return len(self.nodes) - 2
        below = path + "/"
        return sum(1 for other in self.nodes if other.startswith(below))

    def expired(self, now: int, never_used: int = 0) -> Iterator[str]:
        """Paths of the container and TTL nodes to delete (``ContainerManager.getCandidates``).

        Args:
            now: wall clock, milliseconds.
            never_used: delete containers that never had a child after this time (ms); 0: never.
        """
        nodes = self.nodes
        for path in list(self.containers):
            node = nodes[path]
            if not node.children and (
                node.cversion > 0 or (never_used > 0 and now - node.mtime > never_used)
            ):
                yield path
        for path in list(self.ttls):
            node = nodes[path]
            ttl = ttl_of(node.owner)
            if not node.children and ttl is not None and now - node.mtime > ttl:
                yield path

    def digest(self) -> int:
        """The digest of the whole tree, computed from scratch; 64 bits, unsigned."""
        total = 0
        for path, node in self.nodes.items():
            if path != "/":
                total += digest(path, node)
        return total & 0xFFFFFFFFFFFFFFFF

    def approximate_data_size(self) -> int:
        """Characters of all paths plus bytes of all data."""
        return sum(len(path) + len(node.data or b"") for path, node in self.nodes.items())

    def ephemerals_count(self) -> int:
        """How many ephemeral nodes there are."""
        return sum(map(len, self.ephemerals.values()))

    # -- whole trees ------------------------------------------------------------------------

    def set_configuration(
        self, text: bytes, time: int, version: int = 0, watches: WatchManager | None = None
    ) -> None:
        """Write an ensemble's members to /zookeeper/config, without a transaction.

        Args:
            text: of the configuration.
            time: milliseconds since 1970.
            version: of the configuration, which is a zxid.
            watches: of the server, to trigger those on the node.
        """
        node = self.nodes[CONFIG]
        node.data = text
        node.version = -1
        node.mzxid = version
        node.mtime = time
        if watches is not None:
            watches.changed(CONFIG, node.acl)

    def walk(self) -> Iterator[tuple[str, Znode]]:
        """All nodes, depth first, parents before children; the root's path is ""."""
        stack = [""]
        while stack:
            path = stack.pop()
            node = self.nodes[path]
            yield path, node
            stack += [f"{path}/{name}" for name in reversed(node.children)]

    @classmethod
    def restore(cls, nodes: Iterable[tuple[str, Znode]]) -> "DataTree":
        """The tree with these nodes, in the order of ``walk``, without the names of children.

        Raises:
            ValueError: a node comes before its parent, or there is no root.
        """
        tree = cls()
        tree.nodes.clear()
        for path, node in nodes:
            tree.nodes[path] = node
            if path == "":
                tree.nodes["/"] = node
                continue
            parent_path, _, name = path.rpartition("/")
            parent = tree.nodes.get(parent_path)
            if parent is None:
                raise ValueError(f"{path!r} has no parent")
            parent.add_child(name)
            tree._note_owner(path, node)
        if "" not in tree.nodes:
            raise ValueError("a tree without a root")
        for path in (SYSTEM, QUOTA, CONFIG):
            if path not in tree.nodes:
                raise ValueError(f"a tree without {path}")
        for path in list(tree.nodes):
            if path.startswith(QUOTA) and path.rpartition("/")[2] in {LIMITS, STATISTICS}:
                tree.quotas.created(*path.rsplit("/", 1))
        return tree
