"""Requests and what their replies hold: one function an operation of the client protocol."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from rumpus.conformance.jute import Reader, boolean, buffer, int32, int64, ustring, vector

READ, WRITE, CREATE, DELETE, ADMIN, ALL = 1, 2, 4, 8, 16, 31

PERSISTENT, EPHEMERAL, SEQUENTIAL, EPHEMERAL_SEQUENTIAL, CONTAINER, TTL, TTL_SEQUENTIAL = range(7)

ANY_VERSION = -1


class Acl(NamedTuple):
    """One entry of an access control list."""

    permissions: int
    scheme: str | None
    identity: str | None


OPEN = (Acl(ALL, "world", "anyone"),)


class Stat(NamedTuple):
    """What the server tells of a znode, in the order of the wire."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


STAT_BYTES = 68


class Operation(NamedTuple):
    """A request: its code, its body, and how the body of its reply is read."""

    code: int
    body: bytes
    decode: Callable[[Reader], Any]


class SubResult(NamedTuple):
    """The result of one operation of a multi: type and error of its header, and what follows."""

    type: int
    error: int
    value: Any


def _nothing(_: Reader) -> None:
    return None


def read_stat(reader: Reader) -> Stat:
    """Read a Stat."""
    long, integer = reader.int64, reader.int32
    return Stat(
        long(), long(), long(), long(), integer(), integer(), integer(), long(), integer(),
        integer(), long(),
    )  # fmt: skip


def _read_acl(reader: Reader) -> list[Acl] | None:
    return reader.vector(
        lambda: Acl(reader.int32(), reader.ustring() or "", reader.ustring() or "")
    )


def _paths(reader: Reader) -> list[str | None] | None:
    return reader.vector(reader.ustring)


def _acl(entries: Iterable[Acl] | None) -> bytes:
    if entries is None:
        return vector(None)
    return vector(int32(e.permissions) + ustring(e.scheme) + ustring(e.identity) for e in entries)


def create(
    path: str | None,
    data: bytes | None = b"",
    *,
    acl: Iterable[Acl] | None = OPEN,
    flags: int = PERSISTENT,
    code: int = 1,
) -> Operation:
    """``create``, or by ``code`` a variant with the same body, whose reply has a Stat."""
    body = ustring(path) + buffer(data) + _acl(acl) + int32(flags)
    if code == 1:
        return Operation(1, body, Reader.ustring)
    return Operation(code, body, lambda r: (r.ustring(), read_stat(r)))


def create2(path: str | None, data: bytes | None = b"", **how: Any) -> Operation:
    """``create2``: the reply has a Stat."""
    return create(path, data, code=15, **how)


def create_container(path: str, data: bytes | None = b"", *, flags: int = CONTAINER) -> Operation:
    """``createContainer``."""
    return create(path, data, flags=flags, code=19)


def create_ttl(path: str, ttl_ms: int, *, flags: int = TTL, data: bytes | None = b"") -> Operation:
    """Never with other flags and a ttl of -1: a real 3.8.0 server does not survive that."""
    if ttl_ms == -1 and flags not in (TTL, TTL_SEQUENTIAL):
        raise ValueError("createTTL without a TTL breaks a real server and its log for ever")
    request = create(path, data, flags=flags, code=21)
    return request._replace(body=request.body + int64(ttl_ms))


def delete(path: str | None, version: int = ANY_VERSION) -> Operation:
    """``delete``."""
    return Operation(2, ustring(path) + int32(version), _nothing)


def exists(path: str | None, *, watch: bool = False) -> Operation:
    """``exists``."""
    return Operation(3, ustring(path) + boolean(watch), read_stat)


def get_data(path: str | None, *, watch: bool = False) -> Operation:
    """``getData``."""
    return Operation(4, ustring(path) + boolean(watch), lambda r: (r.buffer(), read_stat(r)))


def set_data(path: str | None, data: bytes | None, version: int = ANY_VERSION) -> Operation:
    """``setData``."""
    return Operation(5, ustring(path) + buffer(data) + int32(version), read_stat)


def get_acl(path: str | None) -> Operation:
    """``getACL``."""
    return Operation(6, ustring(path), lambda r: (_read_acl(r), read_stat(r)))


def set_acl(path: str | None, acl: Iterable[Acl] | None, version: int = ANY_VERSION) -> Operation:
    """``setACL``."""
    return Operation(7, ustring(path) + _acl(acl) + int32(version), read_stat)


def get_children(path: str | None, *, watch: bool = False) -> Operation:
    """``getChildren``."""
    return Operation(8, ustring(path) + boolean(watch), _paths)


def get_children2(path: str | None, *, watch: bool = False) -> Operation:
    """``getChildren2``: the reply has a Stat."""
    return Operation(12, ustring(path) + boolean(watch), lambda r: (_paths(r), read_stat(r)))


def sync(path: str | None) -> Operation:
    """``sync``."""
    return Operation(9, ustring(path), Reader.ustring)


def ping() -> Operation:
    """``ping``."""
    return Operation(11, b"", _nothing)


def check(path: str, version: int) -> Operation:
    """Only inside a multi: one that succeeds by itself makes a real server's log unreadable."""
    return Operation(13, ustring(path) + int32(version), _nothing)


def multi(operations: Sequence[Operation], *, code: int = 14) -> Operation:
    """``multi``, a transaction of these operations."""
    body = b"".join(
        int32(each.code) + boolean(False) + int32(-1) + each.body for each in operations
    )
    return Operation(code, body + int32(-1) + boolean(True) + int32(-1), _read_multi)


def multi_read(operations: Sequence[Operation]) -> Operation:
    """``multiRead``: reads of one moment."""
    return multi(operations, code=22)


def _read_multi(reader: Reader) -> list[SubResult]:
    results: list[SubResult] = []
    while True:
        kind, done, error = reader.int32(), reader.boolean(), reader.int32()
        if done:
            if (kind, error) != (-1, -1):
                raise ValueError(f"a multi's end is ({kind}, True, {error})")
            return results
        results.append(SubResult(kind, error, _SUB_RESULTS[kind](reader)))


_SUB_RESULTS: dict[int, Callable[[Reader], Any]] = {
    -1: Reader.int32,
    1: Reader.ustring,
    2: _nothing,
    4: lambda r: (r.buffer(), read_stat(r)),
    5: read_stat,
    8: _paths,
    13: _nothing,
    15: lambda r: (r.ustring(), read_stat(r)),
}


def reconfig(
    joining: str | None = None,
    leaving: str | None = None,
    new_members: str | None = None,
    version: int = -1,
) -> Operation:
    """``reconfig``."""
    body = ustring(joining) + ustring(leaving) + ustring(new_members) + int64(version)
    return Operation(16, body, lambda r: (r.buffer(), read_stat(r)))


def check_watches(path: str, kind: int) -> Operation:
    """``checkWatches``."""
    return Operation(17, ustring(path) + int32(kind), _nothing)


def remove_watches(path: str, kind: int) -> Operation:
    """``removeWatches``."""
    return Operation(18, ustring(path) + int32(kind), _nothing)


def add_watch(path: str, mode: int) -> Operation:
    """``addWatch``."""
    return Operation(106, ustring(path) + int32(mode), Reader.int32)


def set_watches(
    relative_zxid: int,
    data: Sequence[str] = (),
    exist: Sequence[str] = (),
    child: Sequence[str] = (),
    more: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Operation:
    """``setWatches``; with ``more`` (persistent, recursive) it is ``setWatches2``."""
    lists = (data, exist, child, *(more or ()))
    body = int64(relative_zxid) + b"".join(vector(map(ustring, each)) for each in lists)
    return Operation(101 if more is None else 105, body, _nothing)


def auth(scheme: str, credentials: bytes) -> Operation:
    """``auth``."""
    return Operation(100, int32(0) + ustring(scheme) + buffer(credentials), _nothing)


def who_am_i() -> Operation:
    """``whoAmI``."""
    return Operation(107, b"", lambda r: r.vector(lambda: (r.ustring(), r.ustring())))


def get_ephemerals(prefix: str | None) -> Operation:
    """``getEphemerals``."""
    return Operation(103, ustring(prefix), _paths)


def get_all_children_number(path: str) -> Operation:
    """``getAllChildrenNumber``."""
    return Operation(104, ustring(path), Reader.int32)


def close_session() -> Operation:
    """``closeSession``."""
    return Operation(-11, b"", _nothing)
