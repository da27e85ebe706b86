"""Trees whose nodes have wrong fields in their Stat."""

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import Header, SetAclTxn, SetDataTxn
from rumpus.simulation.zookeeper.tree.watches import WatchManager


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
