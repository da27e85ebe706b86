"""The role of a standalone server."""

from rumpus.simulation.zookeeper.serving.containers import ContainerManager
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.role import Handshake, Mode
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.serving.sync_processor import SyncProcessor
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.wire.error_codes import UNKNOWN_SESSION
from rumpus.simulation.zookeeper.wire.opcodes import CLOSE_SESSION, CREATE_SESSION, WRITES
from rumpus.simulation.zookeeper.wire.request import Request

MILLISECOND = 1_000_000


class Standalone:
    """A chain of PrepRequestProcessor, SyncRequestProcessor and FinalRequestProcessor.

    Args:
        server: its database is loaded; it serves clients when the constructor returns.
    """

    mode: Mode = "standalone"

    def __init__(self, server: ZooKeeperServer) -> None:
        self._server = server
        settings = server.settings
        process = server.process
        database = server.database
        self.sessions = settings.part(SessionTracker)(
            process, settings.tick_time, server.close_session, UNKNOWN_SESSION
        )
        self.sessions.track_all(database.sessions)
        self._zxid = database.last_processed
        self._preparer = settings.part(Preparer)(
            database.tree, self.sessions.check, self._wall_clock, settings, self._next_zxid
        )
        self._sync: SyncProcessor[tuple[Request, Entry | None]] = SyncProcessor(
            process,
            database,
            self._finish,
            lambda error: server.exit_process(f"the log cannot be written: {error}"),
            snap_count=settings.snap_count,
            random=server.simulator.random(f"snapshots of {process.name}"),
        )
        database.begin_serving()
        server.start_serving(self)
        ContainerManager(server)

    def submit(self, request: Request) -> None:
        """Prepare a write, and pass the request to the sync processor."""
        kind = request.type
        session = request.session
        if kind == CREATE_SESSION:
            self.sessions.track(session, int.from_bytes(request.body[:4], "big", signed=True))
            self.sessions.set_owner(session, request.owner)
        elif kind == CLOSE_SESSION:
            self.sessions.set_closing(session)
        entry = self._preparer.prepare(request) if kind in WRITES else None
        if entry is not None and self._server.process.clock.wrong:
            self._server.note_true_time(entry)
        self._sync.append(entry, (request, entry))

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:
        """Resume a session if it is tracked and not closing."""
        connection.answer_handshake(valid=self.sessions.touch(session, timeout))

    def statistics(self) -> dict[str, int | str]:
        """None."""
        return {}

    def _finish(self, item: tuple[Request, Entry | None]) -> None:
        request, entry = item
        self._server.finish(request, entry)
        if entry is not None:
            self._preparer.committed(entry.header.zxid)

    def _next_zxid(self) -> int:
        self._zxid += 1
        return self._zxid

    def _wall_clock(self) -> int:
        return self._server.process.clock.wall() // MILLISECOND
