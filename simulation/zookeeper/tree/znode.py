"""A node of the tree: data, access control list, and what its Stat is made of."""

from struct import Struct
from typing import Protocol
from zlib import crc32

from rumpus.simulation.zookeeper.tree.java_sets import grown_capacity, in_hash_order
from rumpus.simulation.zookeeper.wire.jute import write_strings
from rumpus.simulation.zookeeper.wire.paths import BELOW_SYSTEM
from rumpus.simulation.zookeeper.wire.permissions import Acl

CONTAINER_OWNER = -(1 << 63)
"""Stored owner of container nodes."""

_TTL_OWNER = 0xFF << 56
_LONGEST_TTL = (1 << 40) - 1

pack_stat = Struct(">qqqqiiiqiiq").pack
_pack_block = Struct(">qqqqqiiiq").pack


def ttl_owner(ttl: int) -> int:
    """The stored owner of a node that lives so long (ms) without children or changes."""
    return (_TTL_OWNER | ttl) - (1 << 64)


def ttl_of(owner: int) -> int | None:
    """How long (ms) a node of this stored owner lives; None: it is no TTL node.

    Server ids end at 254, so that no session's id looks like this.
    """
    return owner & _LONGEST_TTL if -(1 << 56) <= owner < 0 else None


def session_of(owner: int) -> int:
    """The session that an ephemeral node belongs to; 0 for all other nodes."""
    return 0 if owner == CONTAINER_OWNER or -(1 << 56) <= owner < 0 else owner


class Znode:
    """One node; times in milliseconds since 1970, as the leader's wall clock had them.

    ``cversion`` is the persisted one: it counts creations of children only. ``owner`` is the
    persisted ``ephemeralOwner``: a session, or a marker for container and TTL nodes, or 0.
    """

    __slots__ = (
        "_listing",
        "_most_children",
        "acl",
        "aversion",
        "children",
        "ctime",
        "cversion",
        "czxid",
        "data",
        "mtime",
        "mzxid",
        "owner",
        "pzxid",
        "session",
        "version",
    )

    def __init__(
        self,
        data: bytes | None,
        acl: Acl,
        czxid: int = 0,
        mzxid: int = 0,
        ctime: int = 0,
        mtime: int = 0,
        version: int = 0,
        cversion: int = 0,
        aversion: int = 0,
        owner: int = 0,
        pzxid: int = 0,
    ) -> None:
        self.data = data
        self.acl = acl
        self.czxid = czxid
        self.mzxid = mzxid
        self.ctime = ctime
        self.mtime = mtime
        self.version = version
        self.cversion = cversion
        self.aversion = aversion
        self.owner = owner
        self.pzxid = pzxid
        self.session = session_of(owner) if owner else 0
        """Owner of an ephemeral node, else 0: what a Stat shows."""
        self.children: dict[str, None] = {}
        """Names, in the order of their creation."""
        self._most_children = 0
        self._listing: bytes | None = None

    def add_child(self, name: str) -> None:
        """Note a child's name."""
        children = self.children
        children[name] = None
        self._listing = None
        self._most_children = max(self._most_children, len(children))

    def remove_child(self, name: str) -> None:
        """Forget a child's name, if it is there."""
        if name in self.children:
            del self.children[name]
            self._listing = None

    @property
    def child_count(self) -> int:
        """How many children it has."""
        return len(self.children)

    def listing(self) -> bytes:
        """The names of the children as a vector of strings, in a real server's order."""
        listing = self._listing
        if listing is None:
            capacity = grown_capacity(self._most_children, 8)
            listing = self._listing = write_strings(in_hash_order(self.children, capacity))
        return listing

    def stat(self) -> bytes:
        """The Stat record, 68 bytes."""
        children = len(self.children)
        data = self.data
        return pack_stat(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            2 * self.cversion - children,
            self.aversion,
            self.session,
            len(data) if data else 0,
            children,
            self.pzxid,
        )


class Persisted(Protocol):
    """What of a node is persisted and counts for the digest of the tree; see ``Znode``."""

    data: bytes | None
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    owner: int


def digest(path: str, node: Persisted) -> int:
    """What one node adds to the digest of the tree; the root's path is "".

    Source: ``DigestCalculator`` of ZooKeeper 3.8.0, version 2.
    """
    if path.startswith(BELOW_SYSTEM):
        return 0
    value = crc32(path.encode())
    data = node.data
    if data:
        value = crc32(data, value)
    block = _pack_block(
        node.czxid,
        node.mzxid,
        node.pzxid,
        node.ctime,
        node.mtime,
        node.version,
        node.cversion,
        node.aversion,
        node.owner,
    )
    return crc32(block, value)
