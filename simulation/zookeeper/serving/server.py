"""The part of a server that is the same in all roles: connections and final processing.

A connection reads a request and submits it to the server's role, which orders it (logs, proposes
and commits writes) and passes it to ``ZooKeeperServer.finish``, which applies transactions, answers
reads, and sends replies (``FinalRequestProcessor``). Everything runs in callbacks of one process
and never blocks.
"""

from collections.abc import Callable, Mapping

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.network.network import Network
from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.serving.client_connection import (
    HANDSHAKE_TIMEOUT,
    ClientConnection,
)
from rumpus.simulation.zookeeper.serving.owed_answers import OwedAnswers
from rumpus.simulation.zookeeper.serving.reads import AnswerTooLong
from rumpus.simulation.zookeeper.serving.replies import Responder
from rumpus.simulation.zookeeper.serving.role import Mode, Role
from rumpus.simulation.zookeeper.serving.server_statistics import ServerStatistics
from rumpus.simulation.zookeeper.serving.session_ids import first_session_id
from rumpus.simulation.zookeeper.serving.session_tracker import ExpiryQueue
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.data_tree import Result
from rumpus.simulation.zookeeper.tree.transactions import CreateSessionTxn, Entry
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire import error_codes
from rumpus.simulation.zookeeper.wire.jute import write_int
from rumpus.simulation.zookeeper.wire.opcodes import CLOSE_SESSION, CREATE_SESSION, PING
from rumpus.simulation.zookeeper.wire.request import Request

MILLISECOND = 1_000_000


class ZooKeeperServer:
    """One server: its connections, its database, and its current role.

    It listens from the start. While it has no role, it accepts connections, answers four-letter
    words, and closes connections that send a ConnectRequest.

    Args:
        process: that it runs in.
        network: on which it listens, at ``settings.client_port`` of the process's host.
        settings: of this server.
        database: loaded already.
        exit_process: ends the process, with a reason; called after errors that are fatal.
        words: each four-letter word, and the function that answers it
            (``four_letter_words.WORDS``).
        true_times: filled by ``note_true_time``: zxid to true time in ms since 1970, for entries
            made while the clock was wrong.
    """

    def __init__(
        self,
        process: Process,
        network: Network,
        settings: Settings,
        database: Database,
        exit_process: Callable[[str], None],
        words: "Mapping[bytes, Callable[[ZooKeeperServer], str]]",
        true_times: dict[int, int] | None = None,
    ) -> None:
        self.process = process
        self.simulator = process.simulator
        self.settings = settings
        self.database = database
        self.exit_process = exit_process
        self._true_times = {} if true_times is None else true_times
        self.role: Role | None = None
        """None while it does not serve."""
        self.watches = settings.part(WatchManager)()
        self.statistics = ServerStatistics()
        self.connections: dict[ClientConnection, None] = {}
        """All open connections, oldest first."""
        self.connection_of: dict[int, ClientConnection] = {}
        """Session to the connection that has it, or asks to resume it."""
        self.in_process = 0
        """Submitted requests of clients that are not finished yet ("outstanding")."""
        most = settings.most_owed_in_all
        self.owed = None if most is None else OwedAnswers(process, most)
        self.outstanding_limit = settings.global_outstanding_limit
        voters = sum(member.role == "participant" for member in settings.members)
        if voters > 2:
            self.outstanding_limit //= voters - 1
        self.idle: ExpiryQueue[ClientConnection] = ExpiryQueue(
            process, HANDSHAKE_TIMEOUT, ClientConnection.close
        )
        self._responder = Responder(self)
        self._connection_class = settings.part(ClientConnection)
        self.words = words
        self._next_session = 0
        self._per_host: dict[str, int] = {}
        self._network = network
        self.client_port = settings.client_port
        """Where clients connect; a reconfiguration may change it."""
        self._listener = network.listen(process, self.client_port, self._accept)

    def listen(self, port: int) -> None:
        """Accept clients at this port from now on; existing connections stay."""
        if port != self.client_port:
            self.client_port = port
            self._listener.close()
            self._listener = self._network.listen(self.process, port, self._accept)

    # -- roles ----------------------------------------------------------------------------

    @property
    def mode(self) -> Mode | None:
        """The mode that ``srvr`` shows; None while the server does not serve."""
        return None if self.role is None else self.role.mode

    def start_serving(self, role: Role) -> None:
        """Serve clients from now on, in this role."""
        now = self.process.clock.monotonic() // MILLISECOND
        self._next_session = first_session_id(self.settings.server_id, now)
        self.statistics = ServerStatistics()
        self.in_process = 0
        self.role = role
        self.simulator.trace.append(("serve", self.process.name, role.mode))

    def stop_serving(self) -> None:
        """Close all connections; no client is served until the next role starts."""
        if self.role is not None:
            self.simulator.trace.append(("stop serving", self.process.name))
        self.role = None
        for connection in list(self.connections):
            connection.close()
        self.in_process = 0

    # -- sessions -------------------------------------------------------------------------

    def open_session(self, connection: ClientConnection, timeout: int) -> None:
        """Create a session for a connection; ``timeout`` in milliseconds, already clamped."""
        role = self.role
        assert role is not None
        session = self._next_session
        self._next_session += 1
        connection.session = session
        self.connection_of[session] = connection
        self.in_process += 1
        role.submit(
            Request(
                session,
                0,
                CREATE_SESSION,
                write_int(timeout),
                connection.identities,
                connection,
                self,
                self.simulator.now,
            )
        )

    def close_session(self, session: int) -> None:
        """Submit a closeSession for a session that has expired."""
        role = self.role
        if role is not None:
            self.simulator.trace.append(("expire", self.process.name, session))
            role.submit(Request(session, 0, CLOSE_SESSION, b""))

    # -- final processing -----------------------------------------------------------------

    def apply(self, entry: Entry, request: Request | None = None) -> Result:
        """Apply a committed transaction; watch events go out before this returns.

        Args:
            entry: the next one in the order of zxids.
            request: the request of this server's client; None if it came to another server.

        Returns:
            the result, for the reply.
        """
        kind = entry[0][4]
        if kind >= 0:  # neither createSession nor closeSession
            return self.database.apply(entry, self.watches)
        if kind == CLOSE_SESSION:
            return self._apply_close_session(entry, request)
        result = self.database.apply(entry, self.watches)
        if kind == CREATE_SESSION and self.role is not None:
            transaction = entry.transaction
            assert isinstance(transaction, CreateSessionTxn)
            self.role.sessions.committed(entry.header.session, transaction.timeout)
        return result

    def note_true_time(self, entry: Entry) -> None:
        """Record the true time of an entry, for checks of the log: this host's clock is wrong."""
        self._true_times[entry.header.zxid] = self.process.clock.true_wall() // 1_000_000

    def finish(self, request: Request, entry: Entry | None) -> None:
        """Final processing: apply the entry, if there is one, and answer the client.

        Args:
            request: as it was submitted.
            entry: its committed entry; None for reads, syncs and pings.
        """
        result = None if entry is None else self.apply(entry, request)
        connection = self._awaiting(request)
        if connection is None:
            return
        kind = request.type
        if kind == PING:
            connection.reply(request, -2, self.database.last_processed, 0)
        elif kind == CREATE_SESSION:
            connection.session_opened(request, self.database.last_processed)
        else:
            try:
                error, body = self._responder.respond(request, entry, result)
            except AnswerTooLong:  # closed as after a request that is too long
                connection.close()
                return
            if error == error_codes.SESSION_MOVED:
                connection.close()
                return
            connection.reply(request, request.cxid, self.database.last_processed, error, body)
            if kind == CLOSE_SESSION:
                connection.close()

    def refuse(self, request: Request, error: int) -> None:
        """Answer a request with an error without a transaction (a refused read)."""
        connection = self._awaiting(request)
        if connection is None:
            return
        if error == error_codes.SESSION_MOVED:
            connection.close()
            return
        connection.reply(request, request.cxid, self.database.last_processed, error)

    def _awaiting(self, request: Request) -> ClientConnection | None:
        """The open connection for the reply, if any; the request is no longer in process."""
        connection: ClientConnection | None = request.connection
        if connection is None:
            return None
        self.in_process -= 1
        return None if connection.closed else connection

    def _apply_close_session(self, entry: Entry, request: Request | None) -> Result:
        session = entry.header.session
        own = None if request is None else request.connection
        result = self.database.apply(entry, self.watches)
        if self.role is not None:
            self.role.sessions.removed(session)
        if own is None:
            connection = self.connection_of.get(session)
            if connection is not None:
                connection.close()
        return result

    # -- connections ----------------------------------------------------------------------

    def _accept(self, transport: Transport) -> ClientConnection:
        connection = self._connection_class(self, transport)
        host = transport.remote[0]
        count = self._per_host.get(host, 0)
        limit = self.settings.max_client_connections
        if 0 < limit <= count:
            connection.closed = True
            transport.close()
            return connection
        self._per_host[host] = count + 1
        self.connections[connection] = None
        self.idle.update(connection, HANDSHAKE_TIMEOUT)
        return connection

    def answer_word(self, word: bytes) -> str:
        """The answer to one of the four-letter words that this server knows."""
        return self.words[word](self)

    def forget(self, connection: ClientConnection) -> None:
        """A connection has been closed, by either side: remove it and its watches."""
        self.connections.pop(connection, None)
        self.idle.remove(connection)
        self.watches.remove_connection(connection)
        if self.connection_of.get(connection.session) is connection:
            del self.connection_of[connection.session]
        host = connection.transport.remote[0]
        left = self._per_host[host] - 1
        if left:
            self._per_host[host] = left
        else:
            del self._per_host[host]
