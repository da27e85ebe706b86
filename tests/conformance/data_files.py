"""Transaction logs and snapshots taken apart byte by byte, for the checks alone."""

import struct
from typing import NamedTuple
from zlib import adler32

from rumpus.conformance.jute import Reader

LOG_HEADER = bytes.fromhex("5A4B4C47 00000002 00000000 00000000")


class Record(NamedTuple):
    """A record of a log: where it begins in the file, and its payload."""

    at: int
    payload: bytes

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.at + 12 + len(self.payload) + 1

    @property
    def zxid(self) -> int:
        return int(struct.unpack(">q", self.payload[12:20])[0])

    @property
    def type(self) -> int:
        return int(struct.unpack(">i", self.payload[28:32])[0])

    @property
    def session(self) -> int:
        return int(struct.unpack(">q", self.payload[:8])[0])

    @property
    def cxid(self) -> int:
        return int(struct.unpack(">i", self.payload[8:12])[0])


def records(log: bytes) -> list[Record]:
    """The records up to the padding, or the end of the file.

    Raises:
        AssertionError: the header, a checksum or an end mark is not what it must be.
    """
    assert log[:16] == LOG_HEADER, log[:16]
    at, found = 16, []
    while at < len(log):
        checksum, length = struct.unpack_from(">qi", log, at)
        if (checksum, length) == (0, 0):
            assert not any(log[at:]), "something follows the end of the log"
            break
        record = Record(at, log[at + 12 : at + 12 + length])
        assert adler32(record.payload) == checksum, f"checksum of the record at {at}"
        assert log[record.end - 1 : record.end] == b"B", f"end mark of the record at {at}"
        found.append(record)
        at = record.end
    return found


def log_names(files: dict[str, bytes]) -> list[str]:
    """The names of the logs, oldest first."""
    return sorted((n for n in files if n.startswith("log.")), key=_zxid_of)


def snapshot_names(files: dict[str, bytes]) -> list[str]:
    """The names of the snapshots, oldest first."""
    return sorted((n for n in files if n.startswith("snapshot.")), key=_zxid_of)


def all_records(files: dict[str, bytes]) -> list[Record]:
    """Of all logs, oldest first."""
    return [record for name in log_names(files) for record in records(files[name])]


def _zxid_of(name: str) -> int:
    return int(name.rpartition(".")[2], 16)


class SnapshotNode(NamedTuple):
    """A znode in a snapshot."""

    data: bytes | None
    acl: int
    stat: bytes


class Snapshot(NamedTuple):
    """What a snapshot holds: timeouts by session, ACLs by key, znodes by path in their order."""

    sessions: dict[int, int]
    acls: dict[int, list[tuple[int, str | None, str | None]] | None]
    nodes: dict[str, SnapshotNode]
    digest_zxid: int


def read_snapshot(content: bytes) -> Snapshot:
    """Take a snapshot apart.

    Raises:
        AssertionError: header, seals or closing strings are not what they must be.
    """
    reader = Reader(content)
    assert reader.take(4) == b"ZKSN"
    assert (reader.int32(), reader.int64()) == (2, -1), "version and dbid"
    sessions = {}
    for _ in range(reader.int32()):
        session = reader.int64()
        sessions[session] = reader.int32()
    acls = {}
    for _ in range(reader.int32()):
        key = reader.int64()
        acls[key] = reader.vector(lambda: (reader.int32(), reader.ustring(), reader.ustring()))
    nodes = {}
    while (path := reader.ustring()) != "/":
        assert path is not None
        nodes[path] = SnapshotNode(reader.buffer(), reader.int64(), reader.take(60))
    _seal(reader)
    zxid = reader.int64()
    assert reader.int32() == 2, "version of the digest"
    reader.int64()
    _seal(reader)
    assert reader.at == len(content), "something follows"
    return Snapshot(sessions, acls, nodes, zxid)


def _seal(reader: Reader) -> None:
    checksum = adler32(reader.data[: reader.at])
    assert reader.int64() == checksum, f"seal at {reader.at}"
    assert reader.ustring() == "/"
