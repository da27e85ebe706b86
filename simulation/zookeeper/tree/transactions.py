"""Transactions: the records of the log and of proposals. They are immutable.

The leader validates a request and makes it into a transaction, which states the resulting change
(a new version, for example, not the expected one), so that applying it cannot fail.
"""

from typing import Any, NamedTuple

from rumpus.simulation.zookeeper.wire.permissions import Acl


class Header(NamedTuple):
    """``TxnHeader``: session, the client's xid, zxid, the leader's wall clock (ms), type."""

    session: int
    cxid: int
    zxid: int
    time: int
    type: int


class CreateTxn(NamedTuple):
    """Types 1 (create) and 15 (create2)."""

    path: str
    data: bytes | None
    acl: Acl
    ephemeral: bool
    parent_cversion: int


class CreateContainerTxn(NamedTuple):
    """Type 19."""

    path: str
    data: bytes | None
    acl: Acl
    parent_cversion: int


class CreateTtlTxn(NamedTuple):
    """Type 21; ``ttl`` in milliseconds."""

    path: str
    data: bytes | None
    acl: Acl
    parent_cversion: int
    ttl: int


class DeleteTxn(NamedTuple):
    """Types 2 (delete) and 20 (deleteContainer)."""

    path: str


class SetDataTxn(NamedTuple):
    """Types 5 (setData) and 16 (reconfig); ``version`` is the new one."""

    path: str
    data: bytes | None
    version: int


class SetAclTxn(NamedTuple):
    """Type 7; ``version`` is the new aversion."""

    path: str
    acl: Acl
    version: int


class CheckTxn(NamedTuple):
    """Type 13, inside a multi only; ``version`` is the current one + 1."""

    path: str
    version: int


class CreateSessionTxn(NamedTuple):
    """Type -10; ``timeout`` in milliseconds."""

    timeout: int


class CloseSessionTxn(NamedTuple):
    """Type -11: the paths of the session's ephemeral nodes, which it deletes."""

    paths: tuple[str, ...]


class ErrorTxn(NamedTuple):
    """Type -1: a write that failed validation; it has a zxid and is logged."""

    error: int


class MultiTxn(NamedTuple):
    """Type 14: (type, transaction) of each operation; if one is an error, none is applied."""

    operations: tuple[tuple[int, Any], ...]


Transaction = (
    CreateTxn
    | CreateContainerTxn
    | CreateTtlTxn
    | DeleteTxn
    | SetDataTxn
    | SetAclTxn
    | CheckTxn
    | CreateSessionTxn
    | CloseSessionTxn
    | ErrorTxn
    | MultiTxn
)


class Entry(NamedTuple):
    """One record of the log.

    ``digest`` is that of the whole tree after it, None for error transactions. ``payload`` is the
    serialized record (header, transaction, digest), made once by the leader and shared by all
    servers.
    """

    header: Header
    transaction: Transaction
    digest: int | None
    payload: bytes
