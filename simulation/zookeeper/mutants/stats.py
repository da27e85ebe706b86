"""Trees that keep a wrong Stat of their nodes."""

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import Header, SetAclTxn
from rumpus.simulation.zookeeper.tree.watches import WatchManager


class PzxidWithoutDeletions(DataTree):
    """``pzxid`` tells of children that were created only."""

    def _delete(self, path: str, zxid: int, watches: WatchManager | None) -> int:
        parent = self.nodes.get(path.rpartition("/")[0])
        before = None if parent is None else parent.pzxid
        error = super()._delete(path, zxid, watches)
        if parent is not None and before is not None:
            parent.pzxid = before
        return error


class MtimeOfCreation(DataTree):
    """``mtime`` stays what it was at the creation."""

    def _set_data(
        self,
        path: str,
        data: bytes | None,
        version: int,
        header: Header,
        watches: WatchManager | None,
    ) -> int:
        error = super()._set_data(path, data, version, header, watches)
        if path in self.nodes:
            self.nodes[path].mtime = self.nodes[path].ctime
        return error


class AversionUncounted(DataTree):
    """``aversion`` does not count the changes of a list."""

    def _set_acl(self, txn: SetAclTxn) -> int:
        return super()._set_acl(txn._replace(version=0))
