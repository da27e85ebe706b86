"""A node of the tree: data, ACL and stat (``DataNode`` and ``StatPersisted``)."""

from operator import attrgetter
from struct import Struct
from zlib import crc32

from rumpus.simulation.zookeeper.tree.java_sets import grown_capacity, in_hash_order
from rumpus.simulation.zookeeper.wire.jute import write_strings
from rumpus.simulation.zookeeper.wire.paths import BELOW_SYSTEM
from rumpus.simulation.zookeeper.wire.permissions import Acl

CONTAINER_OWNER = -(1 << 63)
"""The ``ephemeralOwner`` that marks container nodes."""

_TTL_OWNER = 0xFF << 56
_LONGEST_TTL = (1 << 40) - 1

pack_stat = Struct(">qqqqiiiqiiq").pack
_pack_block = Struct(">qqqqqiiiq").pack


def ttl_owner(ttl: int) -> int:
    """The ``ephemeralOwner`` that marks a TTL node; ``ttl`` in milliseconds."""
    return (_TTL_OWNER | ttl) - (1 << 64)


def ttl_of(owner: int) -> int | None:
    """The time to live (ms) of a node with this ``ephemeralOwner``; None if it is no TTL node.

    Server ids are below 255, so no session id is in the range of these markers.
    """
    return owner & _LONGEST_TTL if -(1 << 56) <= owner < 0 else None


def session_of(owner: int) -> int:
    """The session that an ephemeral node belongs to; 0 for all other nodes."""
    return 0 if owner == CONTAINER_OWNER or -(1 << 56) <= owner < 0 else owner


persisted_stat = attrgetter(
    "czxid", "mzxid", "ctime", "mtime", "version", "cversion", "aversion", "owner", "pzxid"
)
"""The fields of ``StatPersisted``, in the order of the record and of ``Persisted``."""


class Persisted:
    """What snapshots and digests contain of a node: data, ACL, and ``StatPersisted``.

    Times are milliseconds since 1970 on the leader's wall clock. ``cversion`` is the persisted
    one, which counts only creations of children. ``owner`` is the persisted ``ephemeralOwner``: a
    session, a marker for container and TTL nodes, or 0.
    """

    __slots__ = (
        "acl",
        "aversion",
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
        """The ``ephemeralOwner`` that a Stat shows: the session of an ephemeral node, else 0."""


class Znode(Persisted):
    """One node of the tree.

    Args:
        data: None if the client has sent null.
        acl: as stored.
        stat: as ``persisted_stat`` returns it; by default all 0.
    """

    __slots__ = ("_listing", "_most_children", "children")

    def __init__(self, data: bytes | None, acl: Acl, *stat: int) -> None:
        super().__init__(data, acl, *stat)
        self.children: dict[str, None] = {}
        """Names, in the order of their creation."""
        self._most_children = 0
        self._listing: bytes | None = None

    def add_child(self, name: str) -> None:
        """Add the name of a child."""
        children = self.children
        children[name] = None
        self._listing = None
        self._most_children = max(self._most_children, len(children))

    def remove_child(self, name: str) -> None:
        """Remove the name of a child, if present."""
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
            # As a Java int has it.
            (2 * self.cversion - children + 0x80000000 & 0xFFFFFFFF) - 0x80000000,
            self.aversion,
            self.session,
            len(data) if data else 0,
            children,
            self.pzxid,
        )


def digest(path: str, node: Persisted) -> int:
    """What one node contributes to the digest of the tree; the root's path is "".

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
