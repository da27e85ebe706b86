"""Parsing ZooKeeper's transaction logs.

The layout of a log file (``version-2/log.<first zxid in hex>``); all integers are big-endian::

    "ZKLG"  int version (2)  long dbid                       the file header, 16 bytes
    long Adler-32 of payload  int length  payload  0x42 'B'  a record, repeated
    zeros                                                    preallocated space

A payload is the transaction's header (long session, int cxid, long zxid, long time, int type),
its body by type, and since 3.6 an optional digest of the tree (int version, long digest). Strings
and buffers are an int length and their bytes, -1 for null; a vector is an int count and its
elements, -1 for null. The layout is ZooKeeper 3.8's
(``FileTxnLog``, ``SerializeUtils``, ``zookeeper.jute``); older layouts that 3.8 still reads are
read here too.

Damage is treated as the server treats it. A partial last record, left by a crash, is ignored. A
complete record that is wrong prevents the server from starting, and raises `CorruptLog` here.

A log holds *proposals*, not commits: see `checker.servers.commitment`.
"""

from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from struct import Struct, error
from sys import intern
from typing import BinaryIO, Literal, TypeVar
from zlib import adler32

import msgspec

T = TypeVar("T")
End = Literal["padding", "end of file", "torn record", "bad end-of-record mark"]

_MAGIC = b"ZKLG"
_HEADER = Struct(">4siq")
_FRAME = Struct(">qi")
_TXN = Struct(">qiqqi")
_INT = Struct(">i")
_LONG = Struct(">q")
_OP = Struct(">ii")
_CREATE_END = Struct(">?i")
_DIGEST = Struct(">iQ")
_END_OF_RECORD = 0x42
_LONGEST_RECORD = 2 * 0xFFFFF
"""Bytes: twice the default jute.maxbuffer. The server refuses a longer record."""
_DIGEST_VERSION = 2
_OPEN_ACL = bytes.fromhex("00000001 0000001f 00000005") + b"world\0\0\0\x06anyone"
"""The ACL of nearly every znode: one entry, all permissions, world:anyone."""

AccessList = tuple[tuple[int, str, str], ...]
"""An access control list: permissions, scheme and id of each entry."""

OPEN_ACL: AccessList = ((31, "world", "anyone"),)


class CorruptLog(ValueError):  # noqa: N818 - says what the file is
    """A log on which the server itself would refuse to start.

    Attributes:
        name: the file, as given to `parse_log`.
        offset: where in the file the wrong record (or header) begins, in bytes.
        txns: the records before it.
    """

    def __init__(self, name: str, offset: int, problem: str, txns: "tuple[Txn, ...]" = ()) -> None:
        super().__init__(f"transaction log {name or '(unnamed)'}, byte {offset}: {problem}")
        self.name = name
        self.offset = offset
        self.txns = txns


class Txn(msgspec.Struct, frozen=True, gc=False):
    """One transaction as proposed by a leader.

    ``session`` is ZooKeeper's signed 64-bit id (`history.session_hex` formats it), and ``cxid`` the
    client's request number; either is 0 if a server acted by itself. ``time_ms`` is the
    leader's wall clock in milliseconds since 1970. ``name`` is the type in words: create,
    create2, createContainer, createTTL, delete, deleteContainer, setData, reconfig, setACL,
    check, createSession, closeSession, multi, error.

    The other fields are set for the types that have them: ``path``; ``data``; ``ephemeral`` (a
    create whose znode the session owns); ``parent_cversion`` (number of children ever created in
    the parent, this one included; -1 in logs from before 3.5); ``version`` (the new one);
    ``ttl_ms``; ``timeout`` (createSession, ms); ``paths`` (closeSession: the ephemerals it
    removes, None in logs from before 3.6, where it removes what the session owns);
    ``ops`` (multi: its parts, each with the header of the whole); ``error`` (a negative code
    of ``KeeperException``: a request that was refused but got a zxid; in a failed multi,
    the part that failed and each part after it); ``digest`` (of the leader's tree after the
    transaction, as `checker.servers.tree_digest` computes it; None if the record has none);
    ``acl`` (the access control list in the record); ``stamp_ms`` (what the record has for its
    time, where ``time_ms`` was set right).
    """

    zxid: int
    session: int
    cxid: int
    time_ms: int
    type: int
    name: str
    path: str | None = None
    data: bytes | None = None
    ephemeral: bool = False
    parent_cversion: int | None = None
    version: int | None = None
    ttl_ms: int | None = None
    timeout: int | None = None
    paths: tuple[str, ...] | None = None
    ops: "tuple[Txn, ...]" = ()
    error: int | None = None
    digest: int | None = None
    acl: AccessList | None = None
    stamp_ms: int | None = None

    @property
    def stamp(self) -> int:
        """What the record has for its time, in ms since 1970: znodes' Stats show that."""
        return self.time_ms if self.stamp_ms is None else self.stamp_ms

    @property
    def effects(self) -> "tuple[Txn, ...]":
        """The transactions that it applies: itself, a multi's parts, or none if it was refused."""
        if self.name == "error":
            return ()
        if self.name != "multi":
            return (self,)
        return () if self.refused_multi else self.ops

    @property
    def refused_multi(self) -> bool:
        """Whether it is a multi that failed, so that none of its parts took effect."""
        return self.name == "multi" and any(op.name == "error" for op in self.ops)

    def is_same_record(self, other: "Txn") -> bool:
        """Whether two servers' records can be of the same proposal.

        When ZooKeeper 3.8 applies a refused multi, it turns the parts before the failing one into
        errors (``DataTree.processTxn``), in the same object that another thread is about to log.
        So some servers log these parts as they were proposed, others as errors whose code is the
        part's first bytes. The parts take no effect either way.
        """
        if self == other:
            return True
        plain = [msgspec.structs.replace(txn, ops=()) for txn in (self, other)]
        return (
            self.refused_multi
            and other.refused_multi
            and plain[0] == plain[1]
            and len(self.ops) == len(other.ops)
        )


Known = dict[bytes, Txn]
"""Payload -> its transaction. All servers log the same payloads, so each is parsed only once."""


_PIECE = 1 << 20
_MOST_BEHIND = 64 << 20
"""Bytes behind a log's end that are looked at: servers take room for 64 MB at a time."""


class LogFile(msgspec.Struct, frozen=True):
    """The transactions of one file in file order, why reading stopped, and at which byte."""

    name: str
    txns: tuple[Txn, ...]
    end: End
    offset: int


def parse_log(data: bytes, name: str = "", known: Known | None = None) -> LogFile:
    """Read one log file as the server would on start.

    Args:
        data: the whole file.
        name: what to call it in errors.
        known: payloads of logs that were read before; new ones are added.

    Raises:
        CorruptLog: as `read_log`.
    """
    return read_log(BytesIO(data), name, known)


def read_log(
    file: BinaryIO, name: str, known: Known | None = None, most: int | None = None
) -> LogFile:
    """Read one log file as the server would on start, up to the end of its last record.

    Args:
        file: at its beginning.
        name: what to call it in errors.
        known: payloads of logs that were read before; new ones are added.
        most: how far into the file its records may reach, in bytes; None for no limit.

    Raises:
        CorruptLog: the file is shorter than a header, or has another magic or version; a record's
            length is negative or above 2 x 1048575; its checksum is wrong although its end mark
            is in place; its type is unknown; its body is not that of its type; or a
            record reaches beyond ``most``.
    """
    _check_header(file, name)
    txns: list[Txn] = []
    known = {} if known is None else known
    at = _HEADER.size

    def stop(end: End) -> LogFile:
        return LogFile(name, tuple(txns), end, at)

    while frame := file.read(_FRAME.size):
        if len(frame) < _FRAME.size:
            return stop("torn record")
        checksum, length = _FRAME.unpack(frame)
        if length == 0:
            return stop("padding")
        if why := _unfit(length, at, most):
            raise CorruptLog(name, at, why, tuple(txns))
        payload, mark = file.read(length), file.read(1)
        if not mark:
            return stop("torn record")
        if mark[0] != _END_OF_RECORD:
            return stop("bad end-of-record mark")
        if adler32(payload) != checksum:
            raise CorruptLog(name, at, "checksum mismatch in a complete record", tuple(txns))
        txn = known.get(payload)
        if txn is None:
            try:
                txn = known[payload] = _parse_txn(payload)
            except (error, IndexError, UnicodeDecodeError, ValueError) as problem:
                why = f"unreadable record: {problem}"
                raise CorruptLog(name, at, why, tuple(txns)) from problem
        txns.append(txn)
        at += _FRAME.size + length + 1
    return stop("end of file")


def written_behind(file: BinaryIO, log: LogFile) -> int:
    """How many bytes stand behind the end of a log, where no server will read them.

    A server that crashes leaves padding behind its last record, whole or torn, and begins a new
    file when it is back. One that goes on after a write has failed, on a full disk say, writes
    behind the torn record: all of that is lost with its next restart (ZOOKEEPER-4882).

    Args:
        file: the log's.
        log: what was read of it.
    """
    file.seek(log.offset)
    frame = file.read(_FRAME.size)
    if len(frame) == _FRAME.size and log.end != "padding":
        _, length = _FRAME.unpack(frame)
        file.seek(log.offset + _FRAME.size + min(max(length, 0), _LONGEST_RECORD) + 1)
    elif log.end == "padding":
        file.seek(log.offset)
    first = last = None
    for piece in range(_MOST_BEHIND // _PIECE):
        data = file.read(_PIECE)
        if not data:
            break
        kept = data.rstrip(b"\0")
        if kept:
            start = len(data) - len(data.lstrip(b"\0"))
            first = piece * _PIECE + start if first is None else first
            last = piece * _PIECE + len(kept)
    return 0 if first is None or last is None else last - first


def _check_header(file: BinaryIO, name: str) -> None:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise CorruptLog(name, 0, f"{len(header)} bytes, too short for a file header (16 bytes)")
    magic, version, _ = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise CorruptLog(name, 0, f"not a transaction log: it begins with {magic!r}, not 'ZKLG'")
    if version != 2:
        raise CorruptLog(name, 0, f"format version {version}; only version 2 is known")


def _unfit(length: int, at: int, most: int | None) -> str:
    """Why a record of that length, from ``at`` on, is not read; empty if it is."""
    if not 0 < length <= _LONGEST_RECORD:
        return f"unreasonable record length {length}"
    if most is not None and at + _FRAME.size + length > most:
        return f"its records take more than {most:,} bytes, which is all that is read"
    return ""


def _parse_txn(payload: bytes) -> Txn:
    session, cxid, zxid, time_ms, kind = _TXN.unpack_from(payload)
    session = _interned(session)
    parse = _BODIES.get(kind)
    if parse is None:
        raise ValueError(f"unsupported transaction type {kind}")
    return parse((zxid, session, cxid, time_ms, kind), payload, _TXN.size)


Head = tuple[int, int, int, int, int]
"""zxid, session, cxid, time, type: what every transaction begins with."""


def _buffer(body: bytes, at: int) -> tuple[bytes | None, int]:
    length = _INT.unpack_from(body, at)[0]
    at += 4
    if length == -1:
        return None, at
    if length < 0 or at + length > len(body):
        raise ValueError(f"a string or buffer of {length} bytes in {len(body) - at}")
    return body[at : at + length], at + length


@lru_cache(1024)
def _interned(value: T) -> T:
    """One object for equal values: session ids and znodes' data often repeat."""
    return value


def _string(body: bytes, at: int) -> tuple[str, int]:
    text, at = _buffer(body, at)
    if text is None:
        raise ValueError("a null path")
    # The same path occurs in several records, and in several servers' logs.
    return intern(text.decode()), at


def _acl(body: bytes, at: int) -> tuple[AccessList, int]:
    """An access control list, and where it ends."""
    if body.startswith(_OPEN_ACL, at):
        return OPEN_ACL, at + len(_OPEN_ACL)
    count = _INT.unpack_from(body, at)[0]
    at += 4
    entries = []
    for _ in range(count):
        permissions = _INT.unpack_from(body, at)[0]
        scheme, at = _buffer(body, at + 4)
        name, at = _buffer(body, at)
        entries.append((permissions, (scheme or b"").decode(), (name or b"").decode()))
    return _interned(tuple(entries)), at


def _digest(body: bytes, at: int) -> int | None:
    """The tree's digest after the body; None if there is none, or one of another version."""
    if len(body) - at != _DIGEST.size:
        return None
    version, digest = _DIGEST.unpack_from(body, at)
    return digest if version == _DIGEST_VERSION else None


def _create(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    data, at = _buffer(body, at)
    acl, at = _acl(body, at)
    if len(body) < at + _CREATE_END.size:  # written before parents' cversion was logged
        ephemeral, parent_cversion = body[at] != 0, -1
    else:
        ephemeral, parent_cversion = _CREATE_END.unpack_from(body, at)
    name = "create" if head[4] == 1 else "create2"
    digest = _digest(body, at + _CREATE_END.size)
    return Txn(
        *head, name, path, _interned(data), ephemeral, parent_cversion, digest=digest, acl=acl
    )


def _create_container(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    data, at = _buffer(body, at)
    acl, at = _acl(body, at)
    cversion = _INT.unpack_from(body, at)[0]
    digest = _digest(body, at + 4)
    return Txn(
        *head, "createContainer", path, data, parent_cversion=cversion, digest=digest, acl=acl
    )


def _create_ttl(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    data, at = _buffer(body, at)
    acl, at = _acl(body, at)
    cversion = _INT.unpack_from(body, at)[0]
    ttl = _LONG.unpack_from(body, at + 4)[0]
    digest = _digest(body, at + 12)
    return Txn(
        *head,
        "createTTL",
        path,
        data,
        parent_cversion=cversion,
        ttl_ms=ttl,
        digest=digest,
        acl=acl,
    )


def _delete(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    name = "delete" if head[4] == 2 else "deleteContainer"
    return Txn(*head, name, path, digest=_digest(body, at))


def _set_data(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    data, at = _buffer(body, at)
    version = _INT.unpack_from(body, at)[0]
    name = "setData" if head[4] == 5 else "reconfig"
    return Txn(*head, name, path, data, version=version, digest=_digest(body, at + 4))


def _set_acl(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    acl, at = _acl(body, at)
    version = _INT.unpack_from(body, at)[0]
    return Txn(*head, "setACL", path, version=version, digest=_digest(body, at + 4), acl=acl)


def _check(head: Head, body: bytes, at: int) -> Txn:
    path, at = _string(body, at)
    return Txn(*head, "check", path, version=_INT.unpack_from(body, at)[0])


def _create_session(head: Head, body: bytes, at: int) -> Txn:
    timeout = _INT.unpack_from(body, at)[0]
    return Txn(*head, "createSession", timeout=timeout, digest=_digest(body, at + 4))


def _close_session(head: Head, body: bytes, at: int) -> Txn:
    left = len(body) - at
    # Before 3.6 the body was empty. A digest alone is as long as a vector of one four-byte path,
    # but begins with its version, 2, where the vector begins with its count, 1.
    if left == 0 or (left == _DIGEST.size and _INT.unpack_from(body, at)[0] == _DIGEST_VERSION):
        return Txn(*head, "closeSession", digest=_digest(body, at))
    count = _INT.unpack_from(body, at)[0]
    at += 4
    paths = []
    for _ in range(count):
        path, at = _string(body, at)
        paths.append(path)
    return Txn(*head, "closeSession", paths=tuple(paths), digest=_digest(body, at))


def _error(head: Head, body: bytes, at: int) -> Txn:
    error = _INT.unpack_from(body, at)[0]
    return Txn(*head, "error", error=error, digest=_digest(body, at + 4))


def _multi(head: Head, body: bytes, at: int) -> Txn:
    count = _INT.unpack_from(body, at)[0]
    at += 4
    ops = []
    for _ in range(count):
        kind, length = _OP.unpack_from(body, at)
        parse = _PARTS.get(kind)
        if parse is None:
            raise ValueError(f"a multi with a part of unsupported type {kind}")
        at += _OP.size
        if length < 0 or at + length > len(body):
            raise ValueError(f"a part of {length} bytes in {len(body) - at}")
        ops.append(parse((*head[:4], kind), body[at : at + length], 0))
        at += length
    return Txn(*head, "multi", ops=tuple(ops), digest=_digest(body, at))


_Parse = Callable[[Head, bytes, int], Txn]
_PARTS: dict[int, _Parse] = {
    -1: _error,
    1: _create,
    2: _delete,
    5: _set_data,
    13: _check,
    15: _create,
    19: _create_container,
    20: _delete,
    21: _create_ttl,
}
_BODIES: dict[int, _Parse] = {
    **{kind: parse for kind, parse in _PARTS.items() if kind != 13},
    -11: _close_session,
    -10: _create_session,
    7: _set_acl,
    14: _multi,
    16: _set_data,
}
