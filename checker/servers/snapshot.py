"""Reading a snapshot: the znodes of a server's tree, as the server would load them.

Layout (``FileSnap``, ``SerializeUtils``, ``zookeeper.jute``), all numbers big-endian: a header
(``ZKSN``, int 2, long dbid), the sessions (int count, each long id and int timeout), the access
control lists (int count, each long key and a vector of int, string, string), and the znodes,
parents first: string path ("" for the root), buffer data, long key of the list, and the persisted
stat. The path "/" ends them. Checksums and the digest follow, which `checker.servers.node_files`
reads.

A snapshot is *fuzzy*: it is written while transactions are applied. So it may already contain
effects of transactions after the zxid in its name. A server that loads it replays its log from that
zxid on, and the replay leads to the right tree all the same.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct, error

from rumpus.checker.servers.tree_digest import Znode
from rumpus.checker.untrusted_file import read_regular

LARGEST_SNAPSHOT = 64 << 20
"""Bytes of a snapshot that is read: at least three hundred thousand znodes."""

_HEADER = Struct(">4siq")
_INT = Struct(">i")
_LONG = Struct(">q")
_SESSION = Struct(">qi")
_STAT = Struct(">qqqqiiiqq")
_END = "/"


class UnreadableSnapshot(ValueError):  # noqa: N818 - says what the file is
    """Bytes that are no snapshot of a known layout."""


def read_snapshot(path: Path) -> dict[str, Znode]:
    """Path -> znode, of an uncompressed snapshot; the root's path is empty.

    Raises:
        UnreadableSnapshot: it is no snapshot, compressed, too large, or cannot be read.
    """
    if path.suffix in {".gz", ".snappy"}:
        raise UnreadableSnapshot(f"{path.name} is compressed")
    try:
        return dict(_znodes(read_regular(path, LARGEST_SNAPSHOT)))
    except (error, OSError, ValueError) as problem:
        raise UnreadableSnapshot(f"{path.name} cannot be read: {problem}") from problem


def _znodes(data: bytes) -> Iterator[tuple[str, Znode]]:
    magic, version, _ = _HEADER.unpack_from(data)
    if (magic, version) != (b"ZKSN", 2):
        raise ValueError(f"it begins with {magic!r}, format {version}")
    at = _HEADER.size
    at += _INT.size + _count(data, at, _SESSION.size) * _SESSION.size
    lists = _count(data, at, _LONG.size + _INT.size)
    at += _INT.size
    for _ in range(lists):
        at = _skip_list(data, at + _LONG.size)
    while True:
        path, at = _buffer(data, at)
        if path is None:
            raise ValueError("a null path")
        name = path.decode()
        if name == _END:
            return
        content, at = _buffer(data, at)
        at += _LONG.size
        czxid, mzxid, ctime, mtime, version, cversion, aversion, owner, pzxid = _STAT.unpack_from(
            data, at
        )
        at += _STAT.size
        yield (
            name,
            Znode(content, czxid, mzxid, pzxid, ctime, mtime, version, cversion, aversion, owner),
        )


def _skip_list(data: bytes, at: int) -> int:
    entries = _count(data, at, _INT.size)
    at += _INT.size
    for _ in range(entries):
        _, at = _buffer(data, at + _INT.size)
        _, at = _buffer(data, at)
    return at


def _count(data: bytes, at: int, size: int) -> int:
    """A number of items, each of at least ``size`` bytes."""
    count = int(_INT.unpack_from(data, at)[0])
    if count == -1:
        return 0
    if not 0 <= count <= (len(data) - at) // size:
        raise ValueError(f"{count} items in {len(data) - at} bytes")
    return count


def _buffer(data: bytes, at: int) -> tuple[bytes | None, int]:
    length = _INT.unpack_from(data, at)[0]
    at += _INT.size
    if length == -1:
        return None, at
    if not 0 <= length <= len(data) - at:
        raise ValueError(f"a string or buffer of {length} bytes in {len(data) - at}")
    return data[at : at + length], at + length
