"""The records of requests, read from what clients send.

All functions raise ``MalformedRecord``, and no other exception, for invalid bodies, and also for
null paths: a real server answers both with -5. Bytes after a record are ignored.

Source: ``zookeeper.jute`` and ``MultiOperationRecord`` of ZooKeeper 3.8.0.
"""

from collections.abc import Iterator
from typing import Any

from rumpus.simulation.zookeeper.wire.jute import MalformedRecord, Reader, write_acl
from rumpus.simulation.zookeeper.wire.opcodes import (
    CHECK,
    CREATE,
    CREATE2,
    CREATE_CONTAINER,
    CREATE_TTL,
    DELETE,
    GET_CHILDREN,
    GET_DATA,
    SET_DATA,
)
from rumpus.simulation.zookeeper.wire.permissions import OPEN, AskedAcl

_OPEN = write_acl(OPEN)

Create = tuple[str, bytes | None, AskedAcl | None, int]
"""Path, data, ACL, flags."""


def read_create(body: bytes) -> Create:
    """``CreateRequest``."""
    return _create(Reader(body))


def read_create_ttl(body: bytes) -> tuple[str, bytes | None, AskedAcl | None, int, int]:
    """``CreateTTLRequest``: as create, and the time to live in milliseconds."""
    reader = Reader(body)
    return (*_create(reader), reader.read_long())


def read_path_and_int(body: bytes) -> tuple[str, int]:
    """``DeleteRequest``, ``CheckVersionRequest``, ``AddWatchRequest``, ``RemoveWatchesRequest``."""
    reader = Reader(body)
    return reader.read_text(), reader.read_int()


def read_set_data(body: bytes) -> tuple[str, bytes | None, int]:
    """``SetDataRequest``: path, data, version."""
    reader = Reader(body)
    return reader.read_text(), reader.read_buffer(), reader.read_int()


def read_set_acl(body: bytes) -> tuple[str, AskedAcl | None, int]:
    """``SetACLRequest``: path, ACL, version."""
    reader = Reader(body)
    return reader.read_text(), _acl(reader), reader.read_int()


def read_path(body: bytes) -> str:
    """``SyncRequest`` and other records that consist of a path."""
    return Reader(body).read_text()


def read_path_and_watch(body: bytes) -> tuple[str, bool]:
    """``GetDataRequest``, ``ExistsRequest``, ``GetChildrenRequest``."""
    length = int.from_bytes(body[:4], "big")
    end = 4 + length
    if end >= len(body):
        raise MalformedRecord("no path, or it is cut off")
    return body[4:end].decode("utf-8", "replace"), body[end] != 0


def read_reconfig(body: bytes) -> tuple[str | None, str | None, str | None, int]:
    """``ReconfigRequest``: joining, leaving, new members, version (-1: any)."""
    reader = Reader(body)
    string = reader.read_string
    return string(), string(), string(), reader.read_long()


def read_set_watches(body: bytes, tables: int) -> tuple[int, list[list[str]]]:
    """``SetWatches`` with 3 lists of paths, ``SetWatches2`` with 5: zxid and the lists."""
    reader = Reader(body)
    since = reader.read_long()
    paths = [reader.read_strings() for _ in range(tables)]
    if None in paths:
        raise MalformedRecord("a vector is null")
    return since, [table for table in paths if table is not None]


def read_multi(body: bytes) -> list[tuple[int, tuple[Any, ...]]]:
    """The operations of a multi: type and fields of each.

    The flags decide the type of a create. The fields of CREATE and CREATE_CONTAINER are those of
    ``read_create``, of CREATE_TTL those of ``read_create_ttl`` (time to live None if none was
    sent), of DELETE and CHECK those of ``read_path_and_int``, of SET_DATA those of
    ``read_set_data``.
    """
    reader = Reader(body)
    operations: list[tuple[int, tuple[Any, ...]]] = []
    for kind in _types_of_operations(reader):
        if kind == SET_DATA:
            operations.append((kind, (reader.read_text(), reader.read_buffer(), reader.read_int())))
        elif kind in (DELETE, CHECK):
            operations.append((kind, (reader.read_text(), reader.read_int())))
        elif kind in (CREATE, CREATE2, CREATE_CONTAINER):
            operations.append(_by_flags(_create(reader), None))
        elif kind == CREATE_TTL:
            operations.append(_by_flags(_create(reader), reader.read_long()))
        else:
            raise MalformedRecord(f"no such operation in a multi: {kind}")
    return operations


def read_multi_read(body: bytes) -> list[tuple[int, str]]:
    """The operations of a multiRead: GET_DATA or GET_CHILDREN, and path; watches are ignored.

    Raises:
        MalformedRecord: also for operations that write.
    """
    reader = Reader(body)
    operations: list[tuple[int, str]] = []
    for kind in _types_of_operations(reader):
        if kind not in (GET_DATA, GET_CHILDREN):
            raise MalformedRecord(f"no such operation in a multiRead: {kind}")
        operations.append((kind, reader.read_text()))
        reader.read_boolean()
    return operations


def _types_of_operations(reader: Reader) -> Iterator[int]:
    """The type in each ``MultiHeader``, before its operation is read; up to the one marked done."""
    while True:
        kind = reader.read_int()
        done = reader.read_boolean()
        reader.read_int()
        if done:
            return
        yield kind


def _create(reader: Reader) -> Create:
    return reader.read_text(), reader.read_buffer(), _acl(reader), reader.read_int()


def _acl(reader: Reader) -> AskedAcl | None:
    """Read an ACL; that of nearly all creates, the open one, is recognised by its bytes."""
    if reader.data.startswith(_OPEN, reader.position):
        reader.position += len(_OPEN)
        return OPEN
    count = reader.read_int()
    if count == -1:
        return None
    integer, string = reader.read_int, reader.read_string
    return tuple([(integer(), string(), string()) for _ in range(count)])


def _by_flags(create: Create, ttl: int | None) -> tuple[int, tuple[Any, ...]]:
    flags = create[3]
    if flags == 4:
        return CREATE_CONTAINER, create
    if flags in (5, 6):
        return CREATE_TTL, (*create, ttl)
    return CREATE, create
