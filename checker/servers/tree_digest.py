"""The digest of a server's tree, as ZooKeeper 3.6 and later log it with every transaction.

The digest is the sum, modulo 2**64, of the CRC-32 of each znode's path, data and persisted stat
(``DigestCalculator`` version 2). A leader computes it from its own tree and sends it with the
proposal, so every server's log has it. So each record identifies the whole tree of the leader that
proposed it. Two histories that differ in a change of a znode have different digests, except with a
probability of about 2**-32 (the sum is no cryptographic hash).

Paths under ``/zookeeper/`` do not count, because each server changes them by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from zlib import crc32

import msgspec
from msgspec.structs import astuple, replace

from rumpus.checker.servers.txnlog import Txn

_STAT = Struct(">5q3iq")
_MODULUS = 1 << 64
_CONTAINER = -(1 << 63)
_TTL = -(1 << 56)


class Znode(msgspec.Struct, frozen=True, gc=False):
    """A znode's data and persisted stat; ``cversion`` counts the creations of children."""

    data: bytes | None = b""
    czxid: int = 0
    mzxid: int = 0
    pzxid: int = 0
    ctime: int = 0
    mtime: int = 0
    version: int = 0
    cversion: int = 0
    aversion: int = 0
    owner: int = 0


_NEW = {path: Znode() for path in ("", "/zookeeper", "/zookeeper/quota", "/zookeeper/config")}
_OWN = "/zookeeper/"

Changes = list[tuple[str, Znode | None, int]]
"""What a transaction replaced, in the order of its changes: path, the znode before (None: there was
none), and that znode's part of the digest."""


class DigestedTree:
    """A tree of znodes with its digest, to which transactions can be applied and reverted.

    It begins as the tree of a new server, or with the given znodes (path -> znode; the root's path
    is empty). A change that does not fit the tree (creating a znode that exists, changing one that
    does not) is ignored, as a server does when it replays its log.

    Attributes:
        digest: of the current tree, from 0 to 2**64 - 1.
    """

    def __init__(self, znodes: Mapping[str, Znode] | None = None) -> None:
        self._znodes: dict[str, Znode] = {}
        self._shares: dict[str, int] = {}
        self.digest = 0
        for path, znode in (_NEW if znodes is None else znodes).items():
            self._set(path, znode, [])

    def differences(self, other: "DigestedTree") -> Iterator[str]:
        """Paths of the znodes in which two trees differ, except those that servers change alone."""
        for path in self._znodes.keys() | other._znodes.keys():  # noqa: SLF001 - its own class
            if (
                self._znodes.get(path) != other._znodes.get(path)  # noqa: SLF001 - its own class
                and not f"{path}/".startswith(_OWN)
            ):
                yield path or "/"

    def copy(self) -> "DigestedTree":
        """An independent copy of the tree."""
        other = DigestedTree()
        other._znodes = self._znodes.copy()
        other._shares = self._shares.copy()
        other.digest = self.digest
        return other

    def equals(self, other: "DigestedTree") -> bool:
        """Whether all znodes are equal, so that they stay equal under the same transactions."""
        return self.digest == other.digest and self._znodes == other._znodes  # noqa: SLF001 - its own class

    def apply(self, txn: Txn) -> Changes:
        """Apply a transaction; `revert` of the result undoes it."""
        changes: Changes = []
        for effect in txn.effects:
            self._apply(effect, changes)
        return changes

    def revert(self, changes: Changes) -> Changes:
        """Undo the last transaction that was applied; `revert` of the result applies it again."""
        return [(path, *self._put(path, znode, share)) for path, znode, share in reversed(changes)]

    def leads_to(self, txn: Txn) -> bool:
        """Whether a leader with this tree can have proposed a transaction with its digest.

        The versions in the transaction must also be the next ones in this tree. If a znode is set
        repeatedly they tell more than the digest, which does not depend on the data that a
        ``setData`` replaces.
        """
        changes: Changes = []
        numbered = True
        for effect in txn.effects:
            numbered = numbered and self._numbers(effect)
            self._apply(effect, changes)
        found = self.digest
        self.revert(changes)
        return numbered and found == txn.digest

    def _numbers(self, txn: Txn) -> bool:
        """Whether the version that a transaction gives a znode is the next one here."""
        znode = self._znodes.get("" if txn.path == "/" else txn.path or "")
        if znode is None or txn.name not in ("setData", "setACL"):
            return True
        before = znode.version if txn.name == "setData" else znode.aversion
        return txn.version == before + 1

    def _put(self, path: str, znode: Znode | None, share: int) -> tuple[Znode | None, int]:
        """Set or remove a znode; returns what was there before."""
        before, had = self._znodes.pop(path, None), self._shares.pop(path, 0)
        if znode is not None:
            self._znodes[path], self._shares[path] = znode, share
        self.digest = (self.digest + share - had) % _MODULUS
        return before, had

    def _set(self, path: str, znode: Znode | None, changes: Changes) -> None:
        share = 0 if znode is None else _digest(path, znode)
        changes.append((path, *self._put(path, znode, share)))

    def _apply(self, txn: Txn, changes: Changes) -> None:
        match txn.name:
            case "create" | "create2":
                self._create(txn, txn.session if txn.ephemeral else 0, changes)
            case "createContainer":
                self._create(txn, _CONTAINER, changes)
            case "createTTL":
                self._create(txn, _TTL | (txn.ttl_ms or 0), changes)
            case "delete" | "deleteContainer":
                self._delete(txn.path or "", txn.zxid, changes)
            case "closeSession":
                for path in self._owned(txn.session) if txn.paths is None else txn.paths:
                    self._delete(path, txn.zxid, changes)
            case "setData" | "reconfig" | "setACL":
                self._change(txn, changes)

    def _create(self, txn: Txn, owner: int, changes: Changes) -> None:
        path = txn.path or ""
        above = _parent(path)
        parent = self._znodes.get(above)
        if parent is None:
            return
        cversion = txn.parent_cversion
        if cversion is None or cversion == -1:
            cversion = parent.cversion + 1
        if cversion > parent.cversion:
            self._set(above, replace(parent, cversion=cversion, pzxid=txn.zxid), changes)
        if path not in self._znodes:
            zxid, time = txn.zxid, txn.time_ms
            znode = Znode(txn.data, zxid, zxid, zxid, time, time, owner=owner)
            self._set(path, znode, changes)

    def _delete(self, path: str, zxid: int, changes: Changes) -> None:
        if path in self._znodes:
            self._set(path, None, changes)
        # Also if the znode is gone already, as in the replay of a log on a fuzzy snapshot.
        above = _parent(path)
        parent = self._znodes.get(above)
        if parent is not None and zxid > parent.pzxid:
            self._set(above, replace(parent, pzxid=zxid), changes)

    def _change(self, txn: Txn, changes: Changes) -> None:
        path = "" if txn.path == "/" else txn.path or ""
        znode = self._znodes.get(path)
        if znode is None:
            return
        version = txn.version or 0
        if txn.name == "setACL":
            znode = replace(znode, aversion=version)
        else:
            znode = replace(
                znode, data=txn.data, mzxid=txn.zxid, mtime=txn.time_ms, version=version
            )
        self._set(path, znode, changes)

    def _owned(self, session: int) -> Iterable[str]:
        return [path for path, znode in self._znodes.items() if znode.owner == session]


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _digest(path: str, znode: Znode) -> int:
    if path.startswith(_OWN):
        return 0
    stat = _STAT.pack(*astuple(znode)[1:])
    return crc32(stat, crc32(znode.data or b"", crc32(path.encode())))
