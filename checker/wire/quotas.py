"""What servers must have counted for quotas: znodes, and the bytes of their data.

The count is of the znode with a quota and of all below it. A quota on ``/a`` is a pair of znodes,
``/zookeeper/quota/a/zookeeper_limits`` and ``/zookeeper/quota/a/zookeeper_stats``. Servers write
the count into the latter by themselves, while they apply a transaction
(``DataTree.updateQuotaStat`` and ``StatsTrack`` of 3.8). So an answer that reads it at some zxid
must have what the tree then was. Left out are quotas of which the count has another beginning: one
above or below another, and one whose count a client wrote.
"""

from collections.abc import Mapping
from typing import Protocol

from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.wire.records import Part, sum_of

QUOTA = "/zookeeper/quota"
_LIMITS, _STATISTICS = "zookeeper_limits", "zookeeper_stats"


class Counted(Protocol):
    """A znode that counts."""

    data: tuple[int, int]
    """Length and CRC-32 of its data."""


class Quotas:
    """The paths whose znodes are counted, as transactions below ``/zookeeper/quota`` set them."""

    def __init__(self) -> None:
        self._limited: set[str] = set()
        self._counted: set[str] = set()

    def apply(self, txn: Txn, nodes: Mapping[str, Counted]) -> None:
        """Apply a transaction, or a part of one.

        Args:
            txn: whatever it does.
            nodes: path -> the znode, for all that exist.
        """
        parent, _, name = (txn.path or "").rpartition("/")
        path = parent.removeprefix(QUOTA)
        if path in (parent, "") or name not in (_LIMITS, _STATISTICS):
            return
        if txn.name in ("create", "create2") and name == _LIMITS:
            self._counted = {each for each in self._counted if not _nested(each, path)}
            self._limited.add(path)
        elif txn.name in ("create", "create2"):
            alone = [path] == [each for each in self._limited if _nested(each, path)]
            if alone and path in nodes:
                self._counted.add(path)
        else:
            self._counted.discard(path)
            if txn.name == "delete" and name == _LIMITS:
                self._limited.discard(path)

    def wrong_count(self, part: Part, nodes: Mapping[str, Counted]) -> str:
        """What is wrong with a count that a server told, in words.

        Empty if nothing is, if it is not known what it must be, or if something else was asked for.
        """
        path = part.path.removeprefix(QUOTA).removesuffix(f"/{_STATISTICS}")
        if part.name != "get-data" or part.error or path not in self._counted:
            return ""
        below = f"{path}/"
        sizes = [
            node.data[0] for each, node in nodes.items() if each == path or each.startswith(below)
        ]
        right = f"count={len(sizes)},bytes={sum(sizes)}"
        return "" if part.told == sum_of(right.encode()) else f"another count than {right}"


def _nested(one: str, other: str) -> bool:
    """Whether one path is the other, or below it, or above it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
