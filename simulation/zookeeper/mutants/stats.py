"""Servers that give wrong fields in a Stat, or a Stat that is not that of the data."""

from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import Header, SetAclTxn, SetDataTxn
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire import opcodes, request_records
from rumpus.simulation.zookeeper.wire.error_codes import OK
from rumpus.simulation.zookeeper.wire.jute import write_buffer
from rumpus.simulation.zookeeper.wire.request import Request

OUTDATED = 50
"""Each 50th getData of a changed node has old data."""


class PzxidWithoutDeletions(DataTree):
    """Deleting a child does not change ``pzxid``."""

    def _delete(self, path: str, zxid: int, watches: WatchManager | None) -> int:
        parent = self.nodes.get(path.rpartition("/")[0])
        before = None if parent is None else parent.pzxid
        error = super()._delete(path, zxid, watches)
        if parent is not None and before is not None:
            parent.pzxid = before
        return error


class MtimeOfCreation(DataTree):
    """Setting data does not change ``mtime``."""

    def _set_data(self, txn: SetDataTxn, header: Header, watches: WatchManager | None) -> int:
        error = super()._set_data(txn, header, watches)
        node = self.nodes.get(txn.path)
        if node is not None:
            node.mtime = node.ctime
        return error


class AversionUncounted(DataTree):
    """Setting the ACL does not change ``aversion``."""

    def _set_acl(self, txn: SetAclTxn) -> int:
        return super()._set_acl(txn._replace(version=0))


class MzxidOfAcl(DataTree):
    """Setting the ACL changes ``mzxid``, which is that of the last change of the data."""

    def _apply_one(self, kind: int, txn: Any, header: Header, watches: WatchManager | None) -> int:
        error = super()._apply_one(kind, txn, header, watches)
        if kind == opcodes.SET_ACL and error == OK:
            self.nodes[txn.path].mzxid = header.zxid
        return error


class RemembersData(DataTree):
    """Keeps the data that each node had before."""

    def __init__(self) -> None:
        super().__init__()
        self.former: dict[str, bytes | None] = {}

    def _set_data(self, txn: SetDataTxn, header: Header, watches: WatchManager | None) -> int:
        node = self.nodes.get(txn.path)
        if node is not None:
            self.former[txn.path] = node.data
        return super()._set_data(txn, header, watches)

    def _delete(self, path: str, zxid: int, watches: WatchManager | None) -> int:
        self.former.pop(path, None)
        return super()._delete(path, zxid, watches)


class ReadsFormerData(Reads):
    """Each 50th getData of a changed node has the data before the last change, and its Stat."""

    def __init__(self, *, skip_acl: bool = False) -> None:
        super().__init__(skip_acl=skip_acl)
        self._read = 0

    def _get_data(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        assert isinstance(tree, RemembersData)
        node = self._read_and_watch(request, tree, watches.data)
        data = node.data
        path, _ = request_records.read_path_and_watch(request.body)
        if path in tree.former:
            self._read += 1
            if self._read % OUTDATED == 0:
                data = tree.former[path]
        return write_buffer(data) + node.stat()


MUTANTS = (
    ServerMutant(
        "pzxid-without-deletions",
        "leave pzxid as it is when a child is deleted",
        GUIDE + "ZooKeeper Stat Structure: pzxid; ZOOKEEPER-3125 (pzxid after a deletion)",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: PzxidWithoutDeletions},
    ),
    ServerMutant(
        "mtime-of-creation",
        "leave mtime as it is when data are set",
        GUIDE + "ZooKeeper Stat Structure",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: MtimeOfCreation},
    ),
    ServerMutant(
        "aversion-uncounted",
        "do not count changes of an access control list in aversion",
        GUIDE + "ZooKeeper Stat Structure",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: AversionUncounted},
    ),
    ServerMutant(
        "mzxid-of-acl",
        "change mzxid when an access control list is set",
        GUIDE
        + "ZooKeeper Stat Structure: mzxid is that of the change that last modified the znode",
        "znode",
        "guarded",
        frozenset({"wrong-stat"}),
        {DataTree: MzxidOfAcl},
    ),
    ServerMutant(
        "former-data",
        "answer each 50th getData with the data before the last change and the Stat after it",
        GUIDE + "Data Access: the data are read and written atomically",
        "register",
        "linearizable",
        frozenset({"wrong-answer"}),
        {DataTree: RemembersData, Reads: ReadsFormerData},
    ),
)
