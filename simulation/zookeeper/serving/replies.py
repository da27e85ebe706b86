"""Replies to requests, after their transactions have been applied.

Source: ``FinalRequestProcessor`` of ZooKeeper 3.8.0.
"""

from typing import Protocol

from rumpus.simulation.zookeeper.serving.reads import Reads
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.tree.data_tree import DataTree, Part, Result
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.error_codes import MARSHALLING_ERROR, SESSION_MOVED
from rumpus.simulation.zookeeper.wire.jute import write_buffer, write_string
from rumpus.simulation.zookeeper.wire.multi_records import END, error_result, result_header
from rumpus.simulation.zookeeper.wire.paths import CONFIG
from rumpus.simulation.zookeeper.wire.request import Request


class Database(Protocol):
    """Holds the current tree, which may be replaced."""

    @property
    def tree(self) -> DataTree:
        """The tree, with all transactions applied so far."""


class Server(Protocol):
    """What answering a request needs of a server."""

    @property
    def database(self) -> Database:
        """The database of the server."""

    @property
    def watches(self) -> WatchManager:
        """The watches of the server's connections."""

    @property
    def settings(self) -> Settings:
        """The settings of the server."""


class Responder:
    """Makes replies to requests, except for handshakes, pings and auth packets."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._reads = server.settings.part(Reads)(skip_acl=server.settings.skip_acl)

    def respond(
        self, request: Request, entry: Entry | None, result: Result | None
    ) -> tuple[int, bytes]:
        """Error code and body of the reply to a request.

        For SESSION_MOVED the caller sends no reply, but closes the connection.

        Args:
            request: a write whose entry has just been applied, or a read or sync to answer.
            entry: of a write, else None.
            result: of applying the entry.
        """
        tree = self._server.database.tree
        if entry is None:
            return self._reads.read(request, tree, self._server.watches)
        assert result is not None
        return reply_to_write(request, entry, result, tree)


def reply_to_write(
    request: Request, entry: Entry, result: Result, tree: DataTree
) -> tuple[int, bytes]:
    """Error code and body of the reply to a write that has just been applied."""
    kind = request.type
    if kind == opcodes.MULTI and entry.header.type == opcodes.MULTI:
        return _reply_to_multi(result)
    if result.error:
        return result.error, b""
    # A client that numbers its requests anew on each connection may have two of one number under
    # way. Then the transaction may be the other one's, and the reply is made of it all the same.
    path = getattr(entry.transaction, "path", None)
    if kind == opcodes.CREATE:
        return 0, write_string(path)
    if kind == opcodes.RECONFIG:
        node = tree.nodes[CONFIG]
        return 0, write_buffer(node.data) + node.stat()
    if kind in opcodes.CREATES or kind in (opcodes.SET_DATA, opcodes.SET_ACL):
        changed = tree.nodes.get(path or "")
        if changed is None:
            return MARSHALLING_ERROR, b""
        head = write_string(path) if kind in opcodes.CREATES else b""
        return 0, head + changed.stat()
    return (MARSHALLING_ERROR if kind == opcodes.MULTI else 0), b""


def _reply_to_multi(result: Result) -> tuple[int, bytes]:
    """The reply to a failed multi has error code 0; its parts have the errors."""
    parts: list[bytes] = []
    for part in result.parts:
        if part.error == SESSION_MOVED:
            return part.error, b""
        parts.append(_part(part))
    parts.append(END)
    return 0, b"".join(parts)


def _part(part: Part) -> bytes:
    kind, error, path, stat = part
    if kind == opcodes.ERROR or error:
        return error_result(error)
    if kind in opcodes.CREATES and kind != opcodes.CREATE:
        kind = opcodes.CREATE2
    head = result_header(kind)
    if path is not None:
        head += write_string(path)
    return head if stat is None else head + stat
