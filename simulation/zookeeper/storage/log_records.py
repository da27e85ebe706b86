"""The records of the transaction log: serialization and parsing of entries.

A payload is ``TxnHeader`` (long session, int cxid, long zxid, long time in ms, int type), the
transaction's record by type, and, except for error transactions, the digest of the tree after it
(int version 2, long digest). Servers write payloads to their logs, and leaders propose them
(``zookeeper.jute`` and ``SerializeUtils`` of ZooKeeper 3.8.0).
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct, error
from typing import Any, NamedTuple

from rumpus.simulation.zookeeper.tree import transactions
from rumpus.simulation.zookeeper.tree.transactions import Entry, Header, Transaction
from rumpus.simulation.zookeeper.wire import jute, opcodes
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord, Reader
from rumpus.simulation.zookeeper.wire.permissions import Acl

_HEADER = Struct(">qiqqi")
_OPERATION = Struct(">ii")
_DIGEST = Struct(">iQ")
_DIGEST_VERSION = 2

_pack_header = _HEADER.pack
_pack_digest = _DIGEST.pack


class UnreadableRecord(ValueError):  # noqa: N818 - says what the record is
    """Bytes that are not the payload of a record."""


def serialize(header: Header, transaction: Transaction, digest: int | None) -> bytes:
    """The payload of a record, as logged and proposed.

    Args:
        header: its ``type`` decides the format of the transaction's record.
        transaction: of the class that belongs to the type.
        digest: of the tree after it, 0 to 2**64 - 1; None for errors found in validation.

    Raises:
        KeyError: the type is unknown.
    """
    body = _pack_header(*header) + _write(header[4], transaction)
    return body if digest is None else body + _pack_digest(_DIGEST_VERSION, digest)


def parse(payload: bytes) -> Entry:
    """The entry that ``serialize`` wrote; the inverse of it.

    Raises:
        UnreadableRecord: the type is unknown, or the bytes are not a record of that type.
    """
    try:
        header = Header(*_HEADER.unpack_from(payload))
        reader = Reader(payload, _HEADER.size)
        transaction = _read(header.type, reader)
        digest = None
        at = reader.position
        if at != len(payload):
            if len(payload) - at != _DIGEST.size:
                raise UnreadableRecord(f"{len(payload) - at} bytes are left after the transaction")
            version, digest = _DIGEST.unpack_from(payload, at)
            if version != _DIGEST_VERSION:
                raise UnreadableRecord(f"a digest of version {version}, not {_DIGEST_VERSION}")
    except (error, MalformedRecord) as problem:
        raise UnreadableRecord(str(problem)) from problem
    return Entry(header, transaction, digest, payload)


# -- the records of transactions --------------------------------------------------------------


class _Field(NamedTuple):
    """How a field of a record is written and read."""

    write: Callable[[Any], bytes]
    read: Callable[[Reader], Any]


def _write(kind: int, transaction: Any) -> bytes:
    fields = _RECORDS[kind][1]
    return b"".join([write(value) for (write, _), value in zip(fields, transaction, strict=True)])


def _read(kind: int, reader: Reader) -> Transaction:
    if kind not in _RECORDS:
        raise UnreadableRecord(f"unsupported transaction type {kind}")
    record, fields = _RECORDS[kind]
    return record(*[field.read(reader) for field in fields])


def _read_acl(reader: Reader) -> Acl:
    acl = reader.read_acl()
    if acl is None:
        raise UnreadableRecord("no ACL")
    return acl


def _read_paths(reader: Reader) -> tuple[str, ...]:
    paths = reader.read_strings()
    if paths is None:
        raise UnreadableRecord("closeSession without paths")  # written by old versions only
    return tuple(paths)


def _write_operations(operations: tuple[tuple[int, Any], ...]) -> bytes:
    parts = [jute.write_int(len(operations))]
    for kind, operation in operations:
        body = _write(kind, operation)
        parts.append(_OPERATION.pack(kind, len(body)))
        parts.append(body)
    return b"".join(parts)


def _read_operations(reader: Reader) -> tuple[tuple[int, Transaction], ...]:
    operations = []
    for _ in range(reader.read_int()):
        kind, part = reader.read_int(), reader.read_buffer()
        part_reader = Reader(part or b"")
        operations.append((kind, _read(kind, part_reader)))
        if part_reader.rest():
            raise UnreadableRecord(f"{len(part_reader.rest())} bytes are left in a part of a multi")
    return tuple(operations)


_PATH = _Field(jute.write_string, Reader.read_text)
_DATA = _Field(jute.write_buffer, Reader.read_buffer)
_BOOLEAN = _Field(jute.write_boolean, Reader.read_boolean)
_INT = _Field(jute.write_int, Reader.read_int)
_LONG = _Field(jute.write_long, Reader.read_long)
# Nearly all znodes have one of a few lists, so that caching their bytes pays.
_ACL = _Field(lru_cache(maxsize=256)(jute.write_acl), _read_acl)
_PATHS = _Field(jute.write_strings, _read_paths)
_OPERATIONS = _Field(_write_operations, _read_operations)

_CREATE = (transactions.CreateTxn, (_PATH, _DATA, _ACL, _BOOLEAN, _INT))
_DELETE = (transactions.DeleteTxn, (_PATH,))
_SET_DATA = (transactions.SetDataTxn, (_PATH, _DATA, _INT))

_RECORDS: dict[int, tuple[Callable[..., Transaction], tuple[_Field, ...]]] = {
    opcodes.CREATE: _CREATE,
    opcodes.CREATE2: _CREATE,
    opcodes.CREATE_CONTAINER: (transactions.CreateContainerTxn, (_PATH, _DATA, _ACL, _INT)),
    opcodes.CREATE_TTL: (transactions.CreateTtlTxn, (_PATH, _DATA, _ACL, _INT, _LONG)),
    opcodes.DELETE: _DELETE,
    opcodes.DELETE_CONTAINER: _DELETE,
    opcodes.SET_DATA: _SET_DATA,
    opcodes.RECONFIG: _SET_DATA,
    opcodes.SET_ACL: (transactions.SetAclTxn, (_PATH, _ACL, _INT)),
    opcodes.CHECK: (transactions.CheckTxn, (_PATH, _INT)),
    opcodes.MULTI: (transactions.MultiTxn, (_OPERATIONS,)),
    opcodes.CREATE_SESSION: (transactions.CreateSessionTxn, (_INT,)),
    opcodes.CLOSE_SESSION: (transactions.CloseSessionTxn, (_PATHS,)),
    opcodes.ERROR: (transactions.ErrorTxn, (_INT,)),
}
"""Transaction type to its class and the fields of its record (``zookeeper.jute``)."""
