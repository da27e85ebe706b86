"""Snapshots: a tree and its sessions as bytes, in a file or sent to a learner (``FileSnap``).

A file is a header (magic "ZKSN", int version 2, long dbid -1), the database, a seal (long
Adler-32 of all bytes before it, string "/"), the digest (long zxid, int version 2, long digest)
and another seal. The database is the sessions (int count, each long id, int timeout in ms), the
access control lists (int count, each long key and vector), and the nodes, parents before
children: string path ("" for the root), buffer data, long key of the list, and the persisted
stat; the string "/" ends them. Key -1 is the list of nodes that came with the tree, which gives
everyone all permissions.
"""

from collections.abc import Iterator, Mapping
from struct import Struct
from struct import error as StructError  # noqa: N812 - the name of a class
from zlib import adler32

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire.jute import (
    MalformedRecord,
    Reader,
    write_acl,
    write_buffer,
    write_int,
    write_string,
)
from rumpus.simulation.zookeeper.wire.permissions import Acl

MAGIC = b"ZKSN"
HEADER = MAGIC + b"\0\0\0\x02" + b"\xff" * 8
END = b"\0\0\0\x01/"
"""The string "/"; what does not end in it is not taken for a snapshot."""
SHORTEST = 10

_OPEN_ACL: Acl = ((31, "world", "anyone"),)
_OPEN_KEY = -1
_SESSION = Struct(">qi")
_KEY_AND_STAT = Struct(">qqqqqiiiqq")
_LONG = Struct(">q")
_DIGEST = Struct(">qiQ")
_DIGEST_VERSION = 2


class InvalidSnapshot(ValueError):  # noqa: N818 - says what the file is
    """No snapshot, or one that was cut short or changed."""


def serialize(tree: DataTree, sessions: Mapping[int, int]) -> bytes:
    """The database, as a leader sends it (without header and seals).

    Args:
        tree: all nodes go into it.
        sessions: timeouts in milliseconds.
    """
    keys: dict[Acl, int] = {}
    nodes = []
    for path, node in tree.walk():
        acl = node.acl
        if acl == _OPEN_ACL and not node.czxid:
            key = _OPEN_KEY
        else:
            key = keys.setdefault(acl, len(keys) + 1)
        nodes.append(write_string(path))
        nodes.append(write_buffer(node.data))
        nodes.append(
            _KEY_AND_STAT.pack(
                key,
                node.czxid,
                node.mzxid,
                node.ctime,
                node.mtime,
                node.version,
                node.cversion,
                node.aversion,
                node.owner,
                node.pzxid,
            )
        )
    parts = [write_int(len(sessions))]
    parts += [_SESSION.pack(*session) for session in sessions.items()]
    parts.append(write_int(len(keys)))
    parts += [_LONG.pack(key) + write_acl(acl) for acl, key in keys.items()]
    return b"".join([*parts, *nodes, END])


def deserialize(data: bytes, kind: type[DataTree] = DataTree) -> tuple[DataTree, dict[int, int]]:
    """The tree, of that class, and the sessions that ``serialize`` wrote.

    Raises:
        InvalidSnapshot: it is nothing that ``serialize`` writes.
    """
    reader = Reader(data)
    tree, sessions = _read_database(reader, kind)
    if reader.rest():
        raise InvalidSnapshot(f"{len(reader.rest())} bytes are left after the nodes")
    return tree, sessions


def write_file(tree: DataTree, sessions: Mapping[int, int], digest_zxid: int) -> bytes:
    """The bytes of a snapshot file.

    Args:
        tree: all of it.
        sessions: timeouts in milliseconds.
        digest_zxid: of the last transaction that the server has applied to this tree since it
            read it or got it from its leader: the digest is told with it. 0 if there was none:
            no digest is told then.
    """
    body = HEADER + serialize(tree, sessions)
    body += _seal(body)
    body += _DIGEST.pack(digest_zxid, _DIGEST_VERSION, tree.digest() if digest_zxid else 0)
    return body + _seal(body)


def read_file(data: bytes, kind: type[DataTree] = DataTree) -> tuple[DataTree, dict[int, int]]:
    """The tree, of that class, and the sessions in the bytes of a snapshot file.

    Raises:
        InvalidSnapshot: a wrong header, a seal that does not fit, or no database in between.
    """
    if not data.startswith(HEADER[:8]):
        raise InvalidSnapshot(f"it begins with {data[:8]!r}")
    reader = Reader(data, len(HEADER))
    try:
        found = _read_database(reader, kind)
        _check_seal(reader)
        if reader.position < len(data):  # written by a server that knows digests
            reader.position += _DIGEST.size
            _check_seal(reader)
    except MalformedRecord as problem:
        raise InvalidSnapshot(str(problem)) from problem
    return found


def is_whole(data: bytes) -> bool:
    """ZooKeeper's quick test before it loads a file: long enough, and "/" at its end."""
    return len(data) >= SHORTEST and data.endswith(END)


def _seal(body: bytes) -> bytes:
    return _LONG.pack(adler32(body)) + END


def _check_seal(reader: Reader) -> None:
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
        key, czxid, mzxid, ctime, mtime, version, cversion, aversion, owner, pzxid = (
            _KEY_AND_STAT.unpack_from(reader.data, reader.position)
        )
        reader.position += _KEY_AND_STAT.size
        yield (
            path,
            Znode(
                data,
                lists[key],
                czxid,
                mzxid,
                ctime,
                mtime,
                version,
                cversion,
                aversion,
                owner,
                pzxid,
            ),
        )
