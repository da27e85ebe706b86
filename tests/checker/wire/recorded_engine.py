"""A server without network, and what its links would have recorded: the checks' whole input."""

import struct
from base64 import b64encode
from hashlib import sha1

from rumpus.checker.servers.node_files import NodeFiles
from rumpus.checker.servers.server_truth import merge
from rumpus.checker.servers.txnlog import parse_log
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.wire.records import WireRecords
from rumpus.checker.wire.settings import ServerSettings
from rumpus.harness.links.wire_tap import WireLog
from rumpus.simulation.zookeeper.wire.jute import Reader, write_int
from rumpus.simulation.zookeeper.wire.request import Request
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded
from tests.checker.txnlog_encoder import HEADER, frame
from tests.simulation.zookeeper.engine import Connection, Engine

MS = 1_000_000
PASSWORD = bytes(range(16))


def packet(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def asking(session=0, password=bytes(16), timeout=4000, seen=0) -> bytes:
    """A ConnectRequest."""
    head = struct.pack(">iqiq", 0, seen, timeout, session)
    return packet(head + struct.pack(">i", 16) + password + b"\0")


def granting(session, password=PASSWORD, timeout=4000) -> bytes:
    """A ConnectResponse."""
    head = struct.pack(">iiq", 0, timeout, session)
    return packet(head + struct.pack(">i", 16) + password + b"\0")


def proven(proof: str) -> str:
    """The id that a list has for somebody who proves to be ``user:password``."""
    hashed = b64encode(sha1(proof.encode(), usedforsecurity=False).digest()).decode()
    return f"{proof.partition(':')[0]}:{hashed}"


class Recording(Connection):
    """A client whose frames pass a link.

    ``spoil`` changes replies: (kind, error, body); ``spoil_event`` makes of an event those sent.
    """

    def __init__(self, engine, session, identities):
        super().__init__(engine, session, identities)
        self.xid = 0
        self.spoil = lambda _kind, error, body: (error, body)
        self.spoil_event = lambda event: [event]
        self.answered = True
        self.tap = None

    def ask(self, kind, body):
        engine = self.engine
        if self.tap is None:  # its createSession
            return self.reader(self.request(kind, body)[1])
        self.xid += 1
        engine.tick()
        ask = packet(struct.pack(">ii", self.xid, kind) + body)
        self.tap.to_server(ask, engine.time)
        self.error, reply = self.spoil(kind, *self.request(kind, body))
        self.zxid = engine.applied
        engine.tick()
        if self.answered:
            head = struct.pack(">iqi", self.xid, self.zxid, self.error)
            self.tap.from_server(packet(head + reply), engine.time)
        return self.reader(reply)

    def prove(self, proof):
        """Authenticate on this connection, as ``user:password``."""
        self.identities = (*self.identities, ("digest", proven(proof)))
        raw = proof.encode()
        scheme = struct.pack(">i", 6) + b"digest"
        body = struct.pack(">i", 0) + scheme + struct.pack(">i", len(raw)) + raw
        self.tap.to_server(packet(struct.pack(">ii", -4, 100) + body), self.engine.time)
        self.tap.from_server(packet(struct.pack(">iqi", -4, 0, 0)), self.engine.time)

    def send_event(self, kind, path):
        super().send_event(kind, path)
        for spoilt in self.spoil_event((kind, path)):
            self.emit(*spoilt)

    def emit(self, kind, path):
        """Send an event through the link."""
        name = path.encode()
        body = struct.pack(">iii", kind, 3, len(name)) + name
        self.tap.from_server(packet(struct.pack(">iqi", -1, -1, 0) + body), self.engine.time)

    def request(self, kind, body):
        request = Request(self.session, self.xid, kind, body, self.identities, self, self)
        return self.engine.do(request)

    @staticmethod
    def reader(body):
        return Reader(body)


class RecordedEngine(Engine):
    """The engine; its times are milliseconds, on all clocks."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.log = WireLog(0)
        self.connections = 0

    @property
    def time(self):
        return self.now * MS

    @property
    def applied(self):
        return self.entries[-1].header.zxid if self.entries else 0

    def next_zxid(self):
        self.zxid += 1
        return 1 << 32 | self.zxid

    def tick(self, milliseconds=1):
        self.now += milliseconds

    def connect(self, *identities, timeout=4000):
        """A new session."""
        connection = Recording(self, self._sessions, (("ip", "10.0.0.1"), *identities))
        self._sessions += 1
        connection.ask(-10, write_int(timeout))
        self.attach(connection, asking(timeout=timeout), granting(connection.session))
        return connection

    def attach(self, connection, ask, answer, node="n1"):
        """Begin another connection of a session, or of none."""
        self.connections += 1
        connection.tap = self.log.tap(0, self.connections, node)
        connection.xid = 0
        self.tick()
        connection.tap.to_server(ask, self.time)
        self.tick()
        connection.tap.from_server(answer, self.time)

    def log_file(self):
        return parse_log(HEADER + b"".join(frame(each.payload) for each in self.entries), "log.1")

    def timeline(self, **given):
        """The run, laid out."""
        files = NodeFiles((self.log_file(),), frozenset({0}), 1)
        wire = WireRecords(self.log.finish())
        given.setdefault("history", Recorded(1).end(self.now + 1).history())
        return laid_out(
            truth=merge({"n1": files}, 1),
            clock=WallClock([(0, 0)]),
            wire=wire,
            **{"tick_ms": 1000, "settings": ServerSettings.usual(1000), **given},
        )
