"""Snapshots: a tree and its sessions as bytes, in a file or sent to a learner (``FileSnap``).

A file is a header (magic "ZKSN", int version 2, long dbid -1), the database, a checksum (long
Adler-32 of all bytes before it, string "/"), the digest (long zxid, int version 2, long digest)
and another checksum. The database is the sessions (int count, each long id, int timeout in ms),
the access control lists (int count, each long key and vector), and the nodes, parents before
children: string path ("" for the root), buffer data, long key of the list, and the persisted
stat; the string "/" ends them. Key -1 is the list of the nodes that a new tree contains, which
gives everyone all permissions.
"""

from collections.abc import Iterator, Mapping
from struct import Struct
from struct import error as StructError  # noqa: N812 - the name of a class
from zlib import adler32

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Znode, persisted_stat
from rumpus.simulation.zookeeper.wire import jute
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord, Reader
from rumpus.simulation.zookeeper.wire.permissions import Acl

MAGIC = b"ZKSN"
HEADER = MAGIC + b"\0\0\0\x02" + b"\xff" * 8
END = b"\0\0\0\x01/"
"""The string "/". ZooKeeper ignores files that do not end in it."""
SHORTEST = 10
"""Bytes. ZooKeeper ignores shorter files."""

_OPEN_ACL: Acl = ((31, "world", "anyone"),)
_OPEN_KEY = -1
_SESSION = Struct(">qi")
_KEY_AND_STAT = Struct(">qqqqqiiiqq")
_LONG = Struct(">q")
_DIGEST = Struct(">qiQ")
_DIGEST_VERSION = 2


class InvalidSnapshot(ValueError):  # noqa: N818 - says what the file is
    """Bytes that are not a snapshot, or a truncated or corrupted one."""


def serialize(tree: DataTree, sessions: Mapping[int, int]) -> bytes:
    """The database, as a leader sends it (without header and checksums).

    Args:
        tree: whose nodes are serialized.
        sessions: session to timeout in milliseconds.
    """
    keys: dict[Acl, int] = {}
    nodes = []
    for path, node in tree.walk():
        acl = node.acl
        if acl == _OPEN_ACL and not node.czxid:
            key = _OPEN_KEY
        else:
            key = keys.setdefault(acl, len(keys) + 1)
        nodes.append(jute.write_string(path))
        nodes.append(jute.write_buffer(node.data))
        nodes.append(_KEY_AND_STAT.pack(key, *persisted_stat(node)))
    parts = [jute.write_int(len(sessions))]
    parts += [_SESSION.pack(*session) for session in sessions.items()]
    parts.append(jute.write_int(len(keys)))
    parts += [_LONG.pack(key) + jute.write_acl(acl) for acl, key in keys.items()]
    return b"".join([*parts, *nodes, END])


def deserialize(data: bytes, kind: type[DataTree] = DataTree) -> tuple[DataTree, dict[int, int]]:
    """The tree, of class ``kind``, and the sessions that ``serialize`` wrote.

    Raises:
        InvalidSnapshot: ``serialize`` does not write such bytes.
    """
    reader = Reader(data)
    tree, sessions = _read_database(reader, kind)
    if reader.rest():
        raise InvalidSnapshot(f"{len(reader.rest())} bytes are left after the nodes")
    return tree, sessions


def write_file(tree: DataTree, sessions: Mapping[int, int], digest_zxid: int) -> bytes:
    """The bytes of a snapshot file.

    Args:
        tree: whose nodes are serialized.
        sessions: session to timeout in milliseconds.
        digest_zxid: zxid of the last transaction that the server has applied since it loaded the
            tree or received it from its leader; it is written together with the digest. 0 if
            there was none: then the digest is written as 0.
    """
    body = HEADER + serialize(tree, sessions)
    body += _checksum(body)
    body += _DIGEST.pack(digest_zxid, _DIGEST_VERSION, tree.digest() if digest_zxid else 0)
    return body + _checksum(body)


def read_file(data: bytes, kind: type[DataTree] = DataTree) -> tuple[DataTree, dict[int, int]]:
    """The tree, of class ``kind``, and the sessions in the bytes of a snapshot file.

    Raises:
        InvalidSnapshot: the header, a checksum or the database is wrong.
    """
    if not data.startswith(HEADER[:8]):
        raise InvalidSnapshot(f"it begins with {data[:8]!r}")
    reader = Reader(data, len(HEADER))
    try:
        found = _read_database(reader, kind)
        _check_checksum(reader)
        if reader.position < len(data):  # old versions write no digest
            reader.position += _DIGEST.size
            _check_checksum(reader)
    except MalformedRecord as problem:
        raise InvalidSnapshot(str(problem)) from problem
    return found


def is_whole(data: bytes) -> bool:
    """ZooKeeper's test before it loads a file: long enough, and "/" at its end."""
    return len(data) >= SHORTEST and data.endswith(END)


def _checksum(body: bytes) -> bytes:
    return _LONG.pack(adler32(body)) + END


def _check_checksum(reader: Reader) -> None:
    found = adler32(memoryview(reader.data)[: reader.position])
    if reader.read_long() != found or reader.read_string() != "/":
        raise InvalidSnapshot(f"the checksum before byte {reader.position} does not fit")


def _read_database(reader: Reader, kind: type[DataTree]) -> tuple[DataTree, dict[int, int]]:
    try:
        sessions = {reader.read_long(): reader.read_int() for _ in range(reader.read_int())}
        lists = {_OPEN_KEY: _OPEN_ACL}
        for _ in range(reader.read_int()):
            key = reader.read_long()
            lists[key] = reader.read_acl() or ()
        tree = kind.restore(_read_nodes(reader, lists))
    except (MalformedRecord, StructError, KeyError, ValueError) as problem:
        raise InvalidSnapshot(f"byte {reader.position}: {problem!r}") from problem
    return tree, sessions


def _read_nodes(reader: Reader, lists: Mapping[int, Acl]) -> Iterator[tuple[str, Znode]]:
    while (path := reader.read_text()) != "/":
        data = reader.read_buffer()
        key, *stat = _KEY_AND_STAT.unpack_from(reader.data, reader.position)
        reader.position += _KEY_AND_STAT.size
        yield path, Znode(data, lists[key], *stat)
