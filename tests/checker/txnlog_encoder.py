"""Write transaction logs, byte for byte as ZooKeeper does; the opposite of ``servers.txnlog``."""

import struct
from zlib import adler32

from msgspec.structs import replace

from rumpus.checker.servers.txnlog import Txn

HEADER = b"ZKLG" + struct.pack(">iq", 2, 0)
OPEN_ACL = ((31, "world", "anyone"),)
TYPES = {
    "createSession": -10,
    "closeSession": -11,
    "error": -1,
    "create": 1,
    "delete": 2,
    "setData": 5,
    "setACL": 7,
    "check": 13,
    "multi": 14,
    "create2": 15,
    "reconfig": 16,
    "createContainer": 19,
    "deleteContainer": 20,
    "createTTL": 21,
}


def buffer(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def text(value: str) -> bytes:
    return buffer(value.encode())


def acl(entries=OPEN_ACL) -> bytes:
    packed = [struct.pack(">i", perms) + text(scheme) + text(id_) for perms, scheme, id_ in entries]
    return struct.pack(">i", len(packed)) + b"".join(packed)


def as_read(txn: Txn, entries=OPEN_ACL) -> Txn:
    """The transaction that reading the record of one gives, with its access control list."""
    ops = tuple(as_read(each, entries) for each in txn.ops)
    guarded = txn.name.startswith("create") and txn.name != "createSession"
    listed = tuple(map(tuple, entries)) if guarded or txn.name == "setACL" else None
    return replace(txn, ops=ops, acl=listed)


def body(txn: Txn, entries=OPEN_ACL) -> bytes:
    match txn.name:
        case "create" | "create2":
            end = struct.pack(">?i", txn.ephemeral, txn.parent_cversion)
            return text(txn.path) + buffer(txn.data) + acl(entries) + end
        case "createContainer":
            end = struct.pack(">i", txn.parent_cversion)
            return text(txn.path) + buffer(txn.data) + acl(entries) + end
        case "createTTL":
            end = struct.pack(">iq", txn.parent_cversion, txn.ttl_ms)
            return text(txn.path) + buffer(txn.data) + acl(entries) + end
        case "delete" | "deleteContainer":
            return text(txn.path)
        case "setData" | "reconfig":
            return text(txn.path) + buffer(txn.data) + struct.pack(">i", txn.version)
        case "setACL":
            return text(txn.path) + acl(entries) + struct.pack(">i", txn.version)
        case "check":
            return text(txn.path) + struct.pack(">i", txn.version)
        case "createSession":
            return struct.pack(">i", txn.timeout)
        case "closeSession" if txn.paths is None:
            return b""
        case "closeSession":
            return struct.pack(">i", len(txn.paths)) + b"".join(map(text, txn.paths))
        case "error":
            return struct.pack(">i", txn.error)
        case "multi":
            parts = [struct.pack(">i", op.type) + buffer(body(op, entries)) for op in txn.ops]
            return struct.pack(">i", len(parts)) + b"".join(parts)
        case name:
            raise ValueError(name)


def payload(txn: Txn, entries=OPEN_ACL) -> bytes:
    head = struct.pack(">qiqqi", txn.session, txn.cxid, txn.zxid, txn.time_ms, txn.type)
    tail = b"" if txn.digest is None else struct.pack(">iQ", 2, txn.digest)
    return head + body(txn, entries) + tail


def frame(data: bytes) -> bytes:
    return struct.pack(">qi", adler32(data), len(data)) + data + b"B"


def record(txn: Txn, entries=OPEN_ACL) -> bytes:
    return frame(payload(txn, entries))


def log(*txns: Txn) -> bytes:
    return HEADER + b"".join(map(record, txns))


def txn(name: str, zxid: int, session: int = 7, cxid: int = 1, time_ms: int = 1000, **rest) -> Txn:
    return Txn(zxid, session, cxid, time_ms, TYPES[name], name, **rest)


def create(zxid: int, path: str, session: int = 7, *, ephemeral: bool = False, **rest) -> Txn:
    return txn(
        "create",
        zxid,
        session,
        path=path,
        **{"data": b"", "parent_cversion": 1, "ephemeral": ephemeral, **rest},
    )
