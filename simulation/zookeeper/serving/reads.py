"""Reads: requests that a server answers from its own tree, and the watches that they set.

Source: ``FinalRequestProcessor`` of ZooKeeper 3.8.0.
"""

from collections.abc import Callable

from rumpus.simulation.zookeeper.tree import access_control
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.watches import (
    ANY,
    CHILDREN,
    DATA,
    PERSISTENT_RECURSIVE,
    WatchManager,
    WatchTable,
)
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire import opcodes, permissions, request_records
from rumpus.simulation.zookeeper.wire.error_codes import (
    BAD_ARGUMENTS,
    MARSHALLING_ERROR,
    NO_AUTH,
    NO_NODE,
    NO_WATCHER,
    OK,
    UNIMPLEMENTED,
    Refusal,
)
from rumpus.simulation.zookeeper.wire.jute import (
    MalformedRecord,
    Reader,
    write_acl,
    write_buffer,
    write_int,
    write_string,
    write_strings,
)
from rumpus.simulation.zookeeper.wire.multi_records import END, error_result, result_header
from rumpus.simulation.zookeeper.wire.request import Request

Read = Callable[[Request, DataTree, WatchManager], bytes]

MAX_ANSWER = 64 << 20
"""Bytes that the results of a multiRead may have: its megabyte of a request could ask for 30 GB.

ZooKeeper has no such bound, and runs out of memory.
"""

NO_ERROR_RESPONSE = write_int(OK)
"""The reply to a successful addWatch: an ``ErrorResponse``."""


class AnswerTooLong(Exception):  # noqa: N818 - says what it is
    """The answer would have more than `MAX_ANSWER` bytes."""


class Reads:
    """Answers reads, syncs, and requests about watches.

    Args:
        skip_acl: ``zookeeper.skipACL``: do not check ACLs.
    """

    def __init__(self, *, skip_acl: bool = False) -> None:
        self._skip_acl = skip_acl
        self._reads: dict[int, Read] = {
            opcodes.EXISTS: self._exists,
            opcodes.GET_DATA: self._get_data,
            opcodes.GET_ACL: self._get_acl,
            opcodes.GET_CHILDREN: self._get_children,
            opcodes.GET_CHILDREN2: self._get_children2,
            opcodes.SYNC: self._sync,
            opcodes.GET_EPHEMERALS: self._get_ephemerals,
            opcodes.GET_ALL_CHILDREN_NUMBER: self._get_all_children_number,
            opcodes.WHO_AM_I: self._who_am_i,
            opcodes.ADD_WATCH: self._add_watch,
            opcodes.CHECK_WATCHES: self._check_watches,
            opcodes.REMOVE_WATCHES: self._remove_watches,
            opcodes.SET_WATCHES: self._set_watches,
            opcodes.SET_WATCHES2: self._set_watches,
        }

    def read(self, request: Request, tree: DataTree, watches: WatchManager) -> tuple[int, bytes]:
        """Error code and body of the reply.

        Raises:
            AnswerTooLong: of a multiRead.
        """
        if request.type == opcodes.MULTI_READ:
            return self._multi_read(request, tree)
        read = self._reads.get(request.type)
        if read is None:
            return UNIMPLEMENTED, b""
        try:
            return OK, read(request, tree, watches)
        except Refusal as refusal:
            return refusal.code, b""
        except MalformedRecord:
            return MARSHALLING_ERROR, b""

    def _readable(self, request: Request, tree: DataTree, path: str) -> Znode:
        node = tree.nodes.get(path)
        if node is None:
            raise Refusal(NO_NODE)
        if not self._skip_acl:
            access_control.check(node.acl, permissions.READ, request.identities)
        return node

    def _read_and_watch(self, request: Request, tree: DataTree, table: WatchTable) -> Znode:
        """The node that a getData or getChildren asks for; its watch is registered."""
        path, watch = request_records.read_path_and_watch(request.body)
        node = self._readable(request, tree, path)
        if watch:
            table.add(path, request.connection)
        return node

    # -- nodes ------------------------------------------------------------------------------

    def _exists(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        path, watch = request_records.read_path_and_watch(request.body)
        if "\0" in path:
            raise Refusal(BAD_ARGUMENTS)
        if watch:
            watches.data.add(path, request.connection)
        node = tree.nodes.get(path)
        if node is None:
            raise Refusal(NO_NODE)
        return node.stat()

    def _get_data(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        node = self._read_and_watch(request, tree, watches.data)
        return write_buffer(node.data) + node.stat()

    def _get_children(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        return self._read_and_watch(request, tree, watches.children).listing()

    def _get_children2(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        node = self._read_and_watch(request, tree, watches.children)
        return node.listing() + node.stat()

    def _get_acl(self, request: Request, tree: DataTree, _watches: WatchManager) -> bytes:
        path = request_records.read_path(request.body)
        node = tree.nodes.get(path)
        if node is None:
            raise Refusal(NO_NODE)
        acl = node.acl
        permits, identities = access_control.permits, request.identities
        if not self._skip_acl and not permits(acl, permissions.ADMIN, identities):
            if not permits(acl, permissions.READ, identities):
                raise Refusal(NO_AUTH)
            acl = access_control.masked(acl)
        return write_acl(acl) + node.stat()

    def _get_all_children_number(
        self, request: Request, tree: DataTree, _watches: WatchManager
    ) -> bytes:
        path = request_records.read_path(request.body)
        self._readable(request, tree, path)
        return write_int(tree.count_below(path))

    def _multi_read(self, request: Request, tree: DataTree) -> tuple[int, bytes]:
        """Each operation has its own result; the reply to an invalid body has none."""
        try:
            operations = request_records.read_multi_read(request.body)
        except MalformedRecord:
            return MARSHALLING_ERROR, END
        results = []
        left = MAX_ANSWER
        for kind, path in operations:
            if left < 0:
                raise AnswerTooLong
            try:
                node = self._readable(request, tree, path)
            except Refusal as refusal:
                results.append(error_result(refusal.code))
                continue
            results.append(result_header(kind))
            if kind == opcodes.GET_DATA:
                answer = write_buffer(node.data) + node.stat()
            else:
                answer = node.listing()
            results.append(answer)
            left -= len(answer)
        return OK, b"".join(results) + END

    # -- others -----------------------------------------------------------------------------

    def _sync(self, request: Request, _tree: DataTree, _watches: WatchManager) -> bytes:
        return write_string(Reader(request.body).read_string())

    def _get_ephemerals(self, request: Request, tree: DataTree, _watches: WatchManager) -> bytes:
        prefix = Reader(request.body).read_string()
        paths = tree.ephemerals_of(request.session)
        if prefix is not None and prefix.strip() not in ("", "/"):
            paths = [path for path in paths if path.startswith(prefix)]
        return write_strings(paths)

    def _who_am_i(self, request: Request, _tree: DataTree, _watches: WatchManager) -> bytes:
        shown = dict.fromkeys(
            (scheme, access_control.user_of(scheme, name)) for scheme, name in request.identities
        )
        return write_int(len(shown)) + b"".join(
            [write_string(scheme) + write_string(user) for scheme, user in shown]
        )

    # -- watches ----------------------------------------------------------------------------

    def _add_watch(self, request: Request, _tree: DataTree, watches: WatchManager) -> bytes:
        # A real server accepts a null path, for which there are no events; here it is answered -5.
        path, mode = request_records.read_path_and_int(request.body)
        if not 0 <= mode <= PERSISTENT_RECURSIVE:
            raise MalformedRecord(f"no such mode of watches: {mode}")
        watches.add_persistent(path, request.connection, mode)
        return NO_ERROR_RESPONSE

    def _check_watches(self, request: Request, _tree: DataTree, watches: WatchManager) -> bytes:
        path, kind = _path_and_table(request.body)
        if path is None:
            raise MalformedRecord("a string is null")
        if not watches.contains(path, kind):
            raise Refusal(NO_WATCHER)
        return b""

    def _remove_watches(self, request: Request, _tree: DataTree, watches: WatchManager) -> bytes:
        path, kind = _path_and_table(request.body)
        if path is None or not watches.remove(path, kind, request.connection):
            raise Refusal(NO_WATCHER)
        return b""

    def _set_watches(self, request: Request, tree: DataTree, watches: WatchManager) -> bytes:
        tables = 3 if request.type == opcodes.SET_WATCHES else 5
        since, paths = request_records.read_set_watches(request.body, tables)
        watches.replay(tree.nodes, request.connection, since, *paths)
        return b""


def _path_and_table(body: bytes) -> tuple[str | None, int]:
    reader = Reader(body)
    path, kind = reader.read_string(), reader.read_int()
    if kind not in (CHILDREN, DATA, ANY):
        raise MalformedRecord(f"no such kind of watches: {kind}")
    return path, kind
