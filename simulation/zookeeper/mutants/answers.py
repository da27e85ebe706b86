"""Connections that answer a write with something else than what has been done."""

from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE, NODE_EXISTS, OK
from rumpus.simulation.zookeeper.wire.jute import Reader, write_string
from rumpus.simulation.zookeeper.wire.opcodes import CREATE, CREATES, DELETE
from rumpus.simulation.zookeeper.wire.request import Request

SHARE = 0.05
"""The share of sequential creates that are answered with a wrong number, and of refused ones that
are answered with a wrong error."""


class SometimesWrong(ClientConnection):
    """A connection whose ``_spoilt`` is true for one answer in twenty, by the world's seed."""

    def __init__(self, server: ZooKeeperServer, transport: Transport) -> None:
        super().__init__(server, transport)
        host, port = transport.remote
        self._random = server.simulator.random(f"spoilt answers to {host}:{port}").random

    def _spoilt(self) -> bool:
        return self._random() < SHARE


class TellsNextNumber(SometimesWrong):
    """One sequential create in twenty returns the path that the next one will get."""

    def reply(self, request: Request, xid: int, zxid: int, error: int, body: bytes = b"") -> None:
        """Answer a request; a create with another path, at times."""
        if request.type == CREATE and error == OK:
            asked, path = Reader(request.body).read_string(), Reader(body).read_text()
            if path != asked and self._spoilt():
                body = write_string(f"{path[:-10]}{int(path[-10:]) + 1:010d}")
        super().reply(request, xid, zxid, error, body)


class MistakesRefusals(SometimesWrong):
    """One create in twenty of a node that exists is answered that its parent does not."""

    def reply(self, request: Request, xid: int, zxid: int, error: int, body: bytes = b"") -> None:
        """Answer a request; a refused create with another error, at times."""
        if error == NODE_EXISTS and request.type in CREATES and self._spoilt():
            error = NO_NODE
        super().reply(request, xid, zxid, error, body)


class ForgivesDeletes(ClientConnection):
    """A delete of a missing node is answered as if it had deleted one."""

    def reply(self, request: Request, xid: int, zxid: int, error: int, body: bytes = b"") -> None:
        """Answer a request."""
        if request.type == DELETE and error == NO_NODE:
            error = OK
        super().reply(request, xid, zxid, error, body)


MUTANTS = (
    ServerMutant(
        "wrong-sequence-path",
        "answer one sequential create in twenty with the path of the next one",
        GUIDE + "Sequence Nodes; create of the API: returns the actual path of the created node",
        "sequence",
        "sequential",
        frozenset({"wrong-answer"}),
        {ClientConnection: TellsNextNumber},
    ),
    ServerMutant(
        "wrong-create-error",
        "answer one create in twenty of a znode that exists with NoNode",
        "create of the API: KeeperException.NodeExists if the node exists",
        "ephemeral",
        "ephemeral",
        frozenset({"wrong-answer"}),
        {ClientConnection: MistakesRefusals},
    ),
    ServerMutant(
        "forgiving-delete",
        "answer a delete of a missing znode with success",
        "delete of the API: KeeperException.NoNode if the node does not exist",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {ClientConnection: ForgivesDeletes},
    ),
)
