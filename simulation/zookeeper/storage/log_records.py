"""The records of the transaction log: entries to bytes and back.

A payload is ``TxnHeader`` (long session, int cxid, long zxid, long time in ms, int type), the
transaction's record by type, and, unless it has none, the digest of the tree after it (int
version 2, long digest). It is what servers write to their logs and what a leader proposes
(``zookeeper.jute`` and ``SerializeUtils`` of ZooKeeper 3.8.0).
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct, error
from typing import Any

from rumpus.simulation.zookeeper.tree.transactions import (
    CheckTxn,
    CloseSessionTxn,
    CreateContainerTxn,
    CreateSessionTxn,
    CreateTtlTxn,
    CreateTxn,
    DeleteTxn,
    Entry,
    ErrorTxn,
    Header,
    MultiTxn,
    SetAclTxn,
    SetDataTxn,
    Transaction,
)
from rumpus.simulation.zookeeper.wire import jute
from rumpus.simulation.zookeeper.wire.jute import (
    MalformedRecord,
    Reader,
    write_buffer,
    write_int,
    write_string,
)
from rumpus.simulation.zookeeper.wire.permissions import Acl

_HEADER = Struct(">qiqqi")
_OPERATION = Struct(">ii")
_CREATE_END = Struct(">?i")
_TTL_END = Struct(">iq")
_DIGEST = Struct(">iQ")
_DIGEST_VERSION = 2

_pack_header = _HEADER.pack
_pack_digest = _DIGEST.pack


class UnreadableRecord(ValueError):  # noqa: N818 - says what the record is
    """Bytes that are no payload of a record."""


def serialize(header: Header, transaction: Transaction, digest: int | None) -> bytes:
    """The payload of a record, as logged and proposed.

    Args:
        header: its ``type`` says how the transaction is written.
        transaction: of the kind that belongs to the type.
        digest: of the tree after it, 0 to 2**64 - 1; None for errors found in validation.

    Raises:
        KeyError: there are no records of such a type.
    """
    body = _pack_header(*header) + _WRITERS[header[4]](transaction)
    return body if digest is None else body + _pack_digest(_DIGEST_VERSION, digest)


def parse(payload: bytes) -> Entry:
    """The entry that ``serialize`` made into these bytes.

    Raises:
        UnreadableRecord: unknown type, or not the record of its type.
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


# -- writing ----------------------------------------------------------------------------------

# Nearly all znodes of a world share a few lists.
write_acl = lru_cache(maxsize=256)(jute.write_acl)


def _write_create(txn: CreateTxn) -> bytes:
    path, data, acl, ephemeral, cversion = txn
    end = _CREATE_END.pack(ephemeral, cversion)
    return write_string(path) + write_buffer(data) + write_acl(acl) + end


def _write_create_container(txn: CreateContainerTxn) -> bytes:
    path, data, acl, cversion = txn
    return write_string(path) + write_buffer(data) + write_acl(acl) + write_int(cversion)


def _write_create_ttl(txn: CreateTtlTxn) -> bytes:
    path, data, acl, cversion, ttl = txn
    end = _TTL_END.pack(cversion, ttl)
    return write_string(path) + write_buffer(data) + write_acl(acl) + end


def _write_delete(txn: DeleteTxn) -> bytes:
    return write_string(txn.path)


def _write_set_data(txn: SetDataTxn) -> bytes:
    path, data, version = txn
    return write_string(path) + write_buffer(data) + write_int(version)


def _write_set_acl(txn: SetAclTxn) -> bytes:
    path, acl, version = txn
    return write_string(path) + write_acl(acl) + write_int(version)


def _write_check(txn: CheckTxn) -> bytes:
    return write_string(txn.path) + write_int(txn.version)


def _write_only_int(txn: CreateSessionTxn | ErrorTxn) -> bytes:
    return write_int(txn[0])


def _write_close_session(txn: CloseSessionTxn) -> bytes:
    return jute.write_strings(txn.paths)


def _write_multi(txn: MultiTxn) -> bytes:
    parts = [write_int(len(txn.operations))]
    for kind, operation in txn.operations:
        body = _WRITERS[kind](operation)
        parts.append(_OPERATION.pack(kind, len(body)))
        parts.append(body)
    return b"".join(parts)


_WRITERS: dict[int, Callable[[Any], bytes]] = {
    -11: _write_close_session,
    -10: _write_only_int,
    -1: _write_only_int,
    1: _write_create,
    2: _write_delete,
    5: _write_set_data,
    7: _write_set_acl,
    13: _write_check,
    14: _write_multi,
    15: _write_create,
    16: _write_set_data,
    19: _write_create_container,
    20: _write_delete,
    21: _write_create_ttl,
}


# -- reading ----------------------------------------------------------------------------------


def _read(kind: int, reader: Reader) -> Transaction:
    read = _READERS.get(kind)
    if read is None:
        raise UnreadableRecord(f"unsupported transaction type {kind}")
    return read(reader)


def _read_acl(reader: Reader) -> Acl:
    acl = reader.read_acl()
    if acl is None:
        raise UnreadableRecord("no ACL")
    return acl


def _read_create(reader: Reader) -> CreateTxn:
    path, data, acl = reader.read_text(), reader.read_buffer(), _read_acl(reader)
    return CreateTxn(path, data, acl, reader.read_boolean(), reader.read_int())


def _read_create_container(reader: Reader) -> CreateContainerTxn:
    path, data, acl = reader.read_text(), reader.read_buffer(), _read_acl(reader)
    return CreateContainerTxn(path, data, acl, reader.read_int())


def _read_create_ttl(reader: Reader) -> CreateTtlTxn:
    path, data, acl = reader.read_text(), reader.read_buffer(), _read_acl(reader)
    return CreateTtlTxn(path, data, acl, reader.read_int(), reader.read_long())


def _read_delete(reader: Reader) -> DeleteTxn:
    return DeleteTxn(reader.read_text())


def _read_set_data(reader: Reader) -> SetDataTxn:
    return SetDataTxn(reader.read_text(), reader.read_buffer(), reader.read_int())


def _read_set_acl(reader: Reader) -> SetAclTxn:
    return SetAclTxn(reader.read_text(), _read_acl(reader), reader.read_int())


def _read_check(reader: Reader) -> CheckTxn:
    return CheckTxn(reader.read_text(), reader.read_int())


def _read_create_session(reader: Reader) -> CreateSessionTxn:
    return CreateSessionTxn(reader.read_int())


def _read_close_session(reader: Reader) -> CloseSessionTxn:
    paths = reader.read_strings()
    if paths is None:
        raise UnreadableRecord("closeSession without paths")  # no server writes them so any more
    return CloseSessionTxn(tuple(paths))


def _read_error(reader: Reader) -> ErrorTxn:
    return ErrorTxn(reader.read_int())


def _read_multi(reader: Reader) -> MultiTxn:
    operations = []
    for _ in range(reader.read_int()):
        kind, part = reader.read_int(), reader.read_buffer()
        part_reader = Reader(part or b"")
        operations.append((kind, _read(kind, part_reader)))
        if part_reader.rest():
            raise UnreadableRecord(f"{len(part_reader.rest())} bytes are left in a part of a multi")
    return MultiTxn(tuple(operations))


_READERS: dict[int, Callable[[Reader], Transaction]] = {
    -11: _read_close_session,
    -10: _read_create_session,
    -1: _read_error,
    1: _read_create,
    2: _read_delete,
    5: _read_set_data,
    7: _read_set_acl,
    13: _read_check,
    14: _read_multi,
    15: _read_create,
    16: _read_set_data,
    19: _read_create_container,
    20: _read_delete,
    21: _read_create_ttl,
}
