"""Leaders that count versions wrongly, or do not check those that one kind of request expects."""

from typing import Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import SetDataTxn, Transaction
from rumpus.simulation.zookeeper.wire.opcodes import SET_ACL

ANY = -1
SKIPPING = 20
"""Each 20th setData skips a version."""


class DeletesAnyVersion(Preparer):
    """The version of a delete is not checked."""

    def _delete(self, path: str, version: int) -> Transaction:  # noqa: ARG002 - ignored
        return super()._delete(path, ANY)


class SetsAclOfAnyVersion(Preparer):
    """The version of a setACL, which is an aversion, is not checked."""

    def _check_version(self, present: int, wanted: int) -> None:
        if self._request.type != SET_ACL:
            super()._check_version(present, wanted)


class ChecksExistenceOnly(Preparer):
    """A check in a multi succeeds if the node exists."""

    def _check(self, path: str, version: int) -> Transaction:  # noqa: ARG002 - ignored
        return super()._check(path, ANY)


class ComparesAppliedVersions(Preparer):
    """A setData is compared with the applied tree, without the writes that are under way."""

    def _set_data(self, path: str, data: bytes | None, version: int) -> Transaction:
        applied = self._tree.nodes.get(path)
        if applied is not None and applied.version == version:
            version = ANY
        return super()._set_data(path, data, version)


class SkipsVersions(Preparer):
    """Each 20th setData adds two to the version of its node."""

    def __init__(self, tree: DataTree, *args: Any) -> None:
        super().__init__(tree, *args)
        self._sets = 0

    def _set_data(self, path: str, data: bytes | None, version: int) -> Transaction:
        txn = super()._set_data(path, data, version)
        self._sets += 1
        if self._sets % SKIPPING or not isinstance(txn, SetDataTxn):
            return txn
        skipped = txn.version + 1
        self.changes.set_data(path, self._existing(path), data, skipped, self._time)
        return txn._replace(version=skipped)


MUTANTS = (
    ServerMutant(
        "unversioned-delete",
        "delete a znode without checking the version that the request expects",
        GUIDE + "ZNodes: if the version does not match, the update will fail; delete of the API",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {Preparer: DeletesAnyVersion},
    ),
    ServerMutant(
        "unversioned-acl",
        "set an access control list without checking the aversion that the request expects",
        GUIDE + "ZooKeeper Stat Structure: aversion; setACL of the API",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {Preparer: SetsAclOfAnyVersion},
    ),
    ServerMutant(
        "unversioned-check",
        "let a check in a multi succeed whatever the version of the znode",
        "Op.check of the API; ZOOKEEPER-965 (multi)",
        "multi",
        "multi",
        frozenset({"illegal-change"}),
        {Preparer: ChecksExistenceOnly},
    ),
    ServerMutant(
        "versions-of-applied",
        "compare the version that a setData expects with a tree that lacks the writes under way",
        "setData of the API; ZooKeeper Internals: the leader makes transactions of requests",
        "register",
        "linearizable",
        frozenset({"illegal-change"}),
        {Preparer: ComparesAppliedVersions},
    ),
    ServerMutant(
        "skipped-versions",
        "add two to the version of a znode at each 20th setData",
        GUIDE + "ZooKeeper Stat Structure: version: the number of changes to the data",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {Preparer: SkipsVersions},
    ),
)
