"""Validation of writes: makes requests into transactions, in the order of their zxids.

A request is validated against the tree after all earlier requests. Those that are not applied yet
are taken into account by their outstanding changes (``outstanding_changes``). A request that fails
validation becomes an error transaction.

Source: ``PrepRequestProcessor`` of ZooKeeper 3.8.0. Two requests that break a real server are
refused with BAD_ARGUMENTS here: a check outside of a multi that succeeds (a real server logs a
record that it cannot read), and createTTL with flags that are not for TTL nodes and a time to
live of -1 (a real server exits).
"""

from collections.abc import Callable
from typing import Any, Protocol

from rumpus.simulation.zookeeper.serving.outstanding_changes import OutstandingChanges, Record
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.storage.log_records import serialize
from rumpus.simulation.zookeeper.tree import access_control
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.java_sets import copied_capacity, in_hash_order
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
from rumpus.simulation.zookeeper.tree.znode import CONTAINER_OWNER, ttl_owner
from rumpus.simulation.zookeeper.wire import opcodes, permissions, request_records
from rumpus.simulation.zookeeper.wire.error_codes import (
    BAD_ARGUMENTS,
    BAD_VERSION,
    MARSHALLING_ERROR,
    NO_CHILDREN_FOR_EPHEMERALS,
    NO_NODE,
    NODE_EXISTS,
    NOT_EMPTY,
    RECONFIG_DISABLED,
    RUNTIME_INCONSISTENCY,
    UNIMPLEMENTED,
    Refusal,
)
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord, Reader
from rumpus.simulation.zookeeper.wire.paths import CONFIG, UNDELETABLE, is_valid
from rumpus.simulation.zookeeper.wire.permissions import Acl, AskedAcl
from rumpus.simulation.zookeeper.wire.request import Identities, Request

LONGEST_TTL = (1 << 40) - 1


class Reconfigure(Protocol):
    """Validates a reconfig on a leader, and proposes the new configuration."""

    def __call__(
        self, joining: str | None, leaving: str | None, new: str | None, version: int, zxid: int
    ) -> bytes:
        """The text of /zookeeper/config with the new members; its version is ``zxid``.

        Args:
            joining: lines ``server.N=...``, separated by commas.
            leaving: ids, separated by commas.
            new: lines of all members, separated by commas or newlines, instead of the two above.
            version: the expected version of the current configuration; -1: any.
            zxid: of the transaction.

        Raises:
            Refusal: RECONFIG_IN_PROGRESS, BAD_VERSION, BAD_ARGUMENTS, NEW_CONFIG_NO_QUORUM.
        """


class Preparer:
    """Prepares the requests of a standalone server, or of a leader during one epoch.

    Args:
        tree: all transactions of earlier epochs have been applied to it.
        check_session: returns an error code, or 0, for a session and the owner of its connection.
        wall_clock: returns milliseconds since 1970.
        settings: of the server.
        next_zxid: returns the next zxid; each write gets one, even if it fails validation.
        reconfigure: of a leader; without it reconfig is UNIMPLEMENTED.
    """

    def __init__(
        self,
        tree: DataTree,
        check_session: Callable[[int, object], int],
        wall_clock: Callable[[], int],
        settings: Settings,
        next_zxid: Callable[[], int],
        reconfigure: Reconfigure | None = None,
    ) -> None:
        self.changes = OutstandingChanges(tree)
        self._tree = tree
        self._check_session = check_session
        self._wall_clock = wall_clock
        self._next_zxid = next_zxid
        self._settings = settings
        self._reconfigure = reconfigure
        self._request = Request(0, 0, 0, b"")
        self._identities: Identities = ()
        self._zxid = 0
        self._time = 0
        self._preparations: dict[int, Callable[[bytes], Transaction]] = {
            opcodes.CREATE: self._prepare_create,
            opcodes.CREATE2: self._prepare_create,
            opcodes.CREATE_CONTAINER: self._prepare_create,
            opcodes.CREATE_TTL: self._prepare_create_ttl,
            opcodes.DELETE: self._prepare_delete,
            opcodes.DELETE_CONTAINER: self._prepare_delete_container,
            opcodes.SET_DATA: self._prepare_set_data,
            opcodes.SET_ACL: self._prepare_set_acl,
            opcodes.CHECK: self._prepare_check,
            opcodes.MULTI: self._prepare_multi,
            opcodes.RECONFIG: self._prepare_reconfig,
            opcodes.CREATE_SESSION: self._prepare_create_session,
            opcodes.CLOSE_SESSION: self._prepare_close_session,
        }
        self._operations: dict[int, Callable[..., Transaction]] = {
            opcodes.CREATE: self._create,
            opcodes.CREATE_CONTAINER: self._create_container,
            opcodes.CREATE_TTL: self._create_ttl,
            opcodes.DELETE: self._delete,
            opcodes.SET_DATA: self._set_data,
            opcodes.CHECK: self._check,
        }

    def prepare(self, request: Request) -> Entry | None:
        """Validate a write. Returns its entry for the log; None if the request is no write.

        The caller must track a session before its createSession is prepared, and mark it as
        closing before its closeSession is prepared: neither is checked here.
        """
        preparation = self._preparations.get(request.type)
        if preparation is None:
            return None
        self._request = request
        self._identities = request.identities
        self._zxid = zxid = self._next_zxid()
        self._time = time = self._wall_clock()
        changes = self.changes
        kind = request.type
        changes.begin(zxid, undoable=kind == opcodes.MULTI)
        transaction: Transaction
        digest: int | None
        try:
            transaction = preparation(request.body)
            digest = changes.digest & 0xFFFFFFFFFFFFFFFF
        except Refusal as refusal:
            kind, transaction, digest = opcodes.ERROR, ErrorTxn(refusal.code), None
        except MalformedRecord:
            changes.roll_back()
            kind, transaction, digest = opcodes.ERROR, ErrorTxn(MARSHALLING_ERROR), None
        header = Header(request.session, request.cxid, zxid, time, kind)
        return Entry(header, transaction, digest, serialize(header, transaction, digest))

    def committed(self, zxid: int) -> None:
        """All transactions up to this zxid have been applied to the tree."""
        self.changes.forget(zxid)

    # -- creation ---------------------------------------------------------------------------

    def _prepare_create(self, body: bytes) -> Transaction:
        path, data, acl, flags = request_records.read_create(body)
        if self._request.type == opcodes.CREATE_CONTAINER:
            return self._create_container(path, data, acl, flags)
        return self._create(path, data, acl, flags)

    def _prepare_create_ttl(self, body: bytes) -> Transaction:
        return self._create_ttl(*request_records.read_create_ttl(body))

    def _create(
        self, path: str, data: bytes | None, acl: AskedAcl | None, flags: int
    ) -> Transaction:
        self._check_flags(flags, ttl=-1)
        ephemeral = flags == 1 or flags == 3  # noqa: PLR1714 - the fastest
        owner = self._request.session if ephemeral else 0
        path, resolved, cversion = self._add_node(path, data, acl, flags, owner)
        return CreateTxn(path, data, resolved, ephemeral, cversion)

    def _create_container(
        self, path: str, data: bytes | None, acl: AskedAcl | None, flags: int
    ) -> Transaction:
        self._check_flags(flags, ttl=-1)
        path, resolved, cversion = self._add_node(path, data, acl, flags, CONTAINER_OWNER)
        return CreateContainerTxn(path, data, resolved, cversion)

    def _create_ttl(
        self, path: str, data: bytes | None, acl: AskedAcl | None, flags: int, ttl: int | None
    ) -> Transaction:
        if ttl is None:
            # As in 3.8.0, the whole multi fails when this operation is reached.
            raise MalformedRecord("a create with the flags of createTTL")
        self._check_flags(flags, ttl)
        if flags < 5:
            raise Refusal(BAD_ARGUMENTS)
        path, resolved, cversion = self._add_node(path, data, acl, flags, ttl_owner(ttl))
        return CreateTtlTxn(path, data, resolved, cversion, ttl)

    def _check_flags(self, flags: int, ttl: int) -> None:
        if flags < 0 or flags > 6:
            raise Refusal(BAD_ARGUMENTS)
        if flags >= 5:
            if not self._settings.extended_types:
                raise Refusal(UNIMPLEMENTED)
            if not 0 < ttl <= LONGEST_TTL:
                raise Refusal(BAD_ARGUMENTS)
        elif ttl >= 0:
            raise Refusal(BAD_ARGUMENTS)

    def _add_node(
        self, path: str, data: bytes | None, acl: AskedAcl | None, flags: int, owner: int
    ) -> tuple[str, Acl, int]:
        """The common part of all creates, after the check of their flags.

        Returns:
            the path with the sequence number, the resolved ACL, the parent's new cversion.
        """
        self._check_owner()
        slash = path.rfind("/")
        if slash == -1 or "\0" in path:
            raise Refusal(BAD_ARGUMENTS)
        resolved = access_control.resolve(acl, self._identities)
        changes = self.changes
        parent_path = path[:slash]
        parent = changes.record(parent_path)
        if parent is None:
            raise Refusal(NO_NODE)
        self._check_permission(parent, permissions.CREATE)
        cversion = parent.cversion
        if flags == 2 or flags == 3 or flags == 6:  # noqa: PLR1714 - the fastest
            path = f"{path}{self._next_number(parent):010d}"
        if not is_valid(path):
            raise Refusal(BAD_ARGUMENTS)
        if changes.record(path) is not None:
            raise Refusal(NODE_EXISTS)
        self._check_may_have_children(parent)
        cversion = _next_int(cversion)
        changes.create(path, data, resolved, owner, self._time, parent_path, parent, cversion)
        return path, resolved, cversion

    def _next_number(self, parent: Record) -> int:
        """The sequence number of a new child: how many children were ever created."""
        return parent.cversion

    # -- deletion ---------------------------------------------------------------------------

    def _prepare_delete(self, body: bytes) -> Transaction:
        self._check_owner()
        return self._delete(*request_records.read_path_and_int(body))

    def _delete(self, path: str, version: int) -> Transaction:
        parent_path = _parent_of_deletable(path)
        parent = self._existing(parent_path)
        self._check_permission(parent, permissions.DELETE)
        node = self._existing(path)
        self._check_version(node.version, version)
        self._check_no_children(node)
        self.changes.delete(path, node, parent_path, parent)
        return DeleteTxn(path)

    def _prepare_delete_container(self, body: bytes) -> Transaction:
        path = body.decode("utf-8", "replace")
        parent_path = _parent_of_deletable(path)
        node = self._existing(path)
        self._check_no_children(node)
        if node.session:
            raise Refusal(BAD_VERSION)
        self.changes.delete(path, node, parent_path, self._existing(parent_path))
        return DeleteTxn(path)

    # -- data and ACLs ----------------------------------------------------------------------

    def _prepare_set_data(self, body: bytes) -> Transaction:
        self._check_owner()
        return self._set_data(*request_records.read_set_data(body))

    def _set_data(self, path: str, data: bytes | None, version: int) -> Transaction:
        node = self._existing_at_valid(path)
        self._check_permission(node, permissions.WRITE)
        self._check_version(node.version, version)
        version = _next_int(node.version)
        self.changes.set_data(path, node, data, version, self._time)
        return SetDataTxn(path, data, version)

    def _prepare_set_acl(self, body: bytes) -> Transaction:
        self._check_owner()
        path, acl, version = request_records.read_set_acl(body)
        if not is_valid(path):
            raise Refusal(BAD_ARGUMENTS)
        resolved = access_control.resolve(acl, self._identities)
        node = self._existing(path)
        self._check_permission(node, permissions.ADMIN)
        self._check_version(node.aversion, version)
        version = _next_int(node.aversion)
        self.changes.set_acl(path, node, resolved, version)
        return SetAclTxn(path, resolved, version)

    def _prepare_check(self, body: bytes) -> Transaction:
        self._check_owner()
        self._check(*request_records.read_path_and_int(body))
        raise Refusal(BAD_ARGUMENTS)

    def _check(self, path: str, version: int) -> Transaction:
        node = self._existing_at_valid(path)
        self._check_permission(node, permissions.READ)
        self._check_version(node.version, version)
        return CheckTxn(path, _next_int(node.version))

    # -- others -----------------------------------------------------------------------------

    def _prepare_multi(self, body: bytes) -> Transaction:
        transactions: list[tuple[int, Any]] = []
        code = 0
        for kind, fields in request_records.read_multi(body):
            if code:
                transactions.append((opcodes.ERROR, ErrorTxn(RUNTIME_INCONSISTENCY)))
                continue
            try:
                if kind not in opcodes.CREATES:  # creates check it in _add_node
                    self._check_owner()
                transactions.append((kind, self._operations[kind](*fields)))
            except Refusal as refusal:
                code = refusal.code
                transactions.append((opcodes.ERROR, ErrorTxn(code)))
                self.changes.roll_back()
        return MultiTxn(tuple(transactions))

    def _prepare_reconfig(self, body: bytes) -> Transaction:
        if not self._may_reconfigure():
            raise Refusal(RECONFIG_DISABLED)
        self._check_owner()
        if self._reconfigure is None:
            raise Refusal(UNIMPLEMENTED)
        joining, leaving, new, version = request_records.read_reconfig(body)
        text = self._reconfigure(joining, leaving, new, version, self._zxid)
        node = self._existing(CONFIG)
        self._check_permission(node, permissions.WRITE)
        self.changes.set_data(CONFIG, node, text, -1, self._time)
        return SetDataTxn(CONFIG, text, -1)

    def _may_reconfigure(self) -> bool:
        """Whether requests may change the ensemble's members."""
        return self._settings.reconfig

    def _prepare_create_session(self, body: bytes) -> Transaction:
        return CreateSessionTxn(Reader(body).read_int())

    def _prepare_close_session(self, _body: bytes) -> Transaction:
        session = self._request.session
        changes = self.changes
        paths = changes.ephemerals_of(session)
        ordered = in_hash_order(paths, copied_capacity(len(paths))) if paths else []
        for path in ordered:
            parent_path = path[: path.rfind("/")]
            changes.delete(path, self._existing(path), parent_path, self._existing(parent_path))
        return CloseSessionTxn(tuple(ordered))

    # -- checks -----------------------------------------------------------------------------

    def _check_owner(self) -> None:
        code = self._check_session(self._request.session, self._request.owner)
        if code:
            raise Refusal(code)

    def _existing(self, path: str) -> Record:
        node = self.changes.record(path)
        if node is None:
            raise Refusal(NO_NODE)
        return node

    def _existing_at_valid(self, path: str) -> Record:
        if not is_valid(path):
            raise Refusal(BAD_ARGUMENTS)
        return self._existing(path)

    def _check_may_have_children(self, node: Record) -> None:
        if node.session:
            raise Refusal(NO_CHILDREN_FOR_EPHEMERALS)

    def _check_no_children(self, node: Record) -> None:
        if node.child_count > 0:
            raise Refusal(NOT_EMPTY)

    def _check_version(self, present: int, wanted: int) -> None:
        if wanted not in (-1, present):
            raise Refusal(BAD_VERSION)

    def _check_permission(self, node: Record, wanted: int) -> None:
        if not self._settings.skip_acl:
            access_control.check(node.acl, wanted, self._identities)


def _parent_of_deletable(path: str) -> str:
    slash = path.rfind("/")
    if slash == -1 or "\0" in path or path in UNDELETABLE:
        raise Refusal(BAD_ARGUMENTS)
    return path[:slash]


def _next_int(value: int) -> int:
    """``value + 1``, with the overflow of a Java int."""
    return value + 1 if value != 0x7FFFFFFF else -0x80000000
