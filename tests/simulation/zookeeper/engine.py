"""Preparation, tree and replies without network, log or time: each request is answered at once."""

import struct
from collections.abc import Iterable
from typing import Any

from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.serving.replies import Responder
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import Entry
from rumpus.simulation.zookeeper.tree.watches import WatchManager
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import (
    Reader,
    write_acl,
    write_boolean,
    write_buffer,
    write_int,
    write_long,
    write_string,
    write_strings,
)
from rumpus.simulation.zookeeper.wire.permissions import OPEN, Acl
from rumpus.simulation.zookeeper.wire.request import Request

MULTI_HEADER = struct.Struct(">i?i")
STAT = struct.Struct(">qqqqiiiqiiq")
STAT_FIELDS = [
    "czxid",
    "mzxid",
    "ctime",
    "mtime",
    "version",
    "cversion",
    "aversion",
    "owner",
    "length",
    "children",
    "pzxid",
]


class Stat(dict):
    """By ZooKeeper's names, some of them shortened."""

    __getattr__ = dict.__getitem__


def read_stat(reader: Reader) -> Stat:
    fields = STAT.unpack_from(reader.data, reader.position)
    reader.position += STAT.size
    return Stat(zip(STAT_FIELDS, fields, strict=True))


class Connection:
    """A client; ``events`` are the watch events it was sent, in order."""

    def __init__(self, engine: "Engine", session: int, identities: Any) -> None:
        self.engine = engine
        self.session = session
        self.identities = identities
        self.events: list[tuple[int, str]] = []
        self.error = 0
        self.zxid = 0

    def send_event(self, kind: int, path: str) -> None:
        self.events.append((kind, path))

    def taken(self) -> list[tuple[int, str]]:
        events, self.events = self.events, []
        return events

    def ask(self, kind: int, body: bytes) -> Reader:
        """Process one request; sets ``error`` and ``zxid``, and returns the body of the reply."""
        request = Request(self.session, 7, kind, body, self.identities, self, self)
        self.error, reply = self.engine.do(request)
        self.zxid = self.engine.zxid
        return Reader(reply)

    def create(
        self,
        path: str | None,
        data: bytes | None = b"",
        acl: Acl | None = OPEN,
        flags: int = 0,
        kind: int = opcodes.CREATE,
        ttl: int | None = None,
    ) -> str | int:
        """The path, or the error."""
        reader = self.ask(kind, create_body(path, data, acl, flags, ttl))
        return self.error or reader.read_text()

    def delete(self, path: str, version: int = -1) -> int:
        self.ask(opcodes.DELETE, write_string(path) + write_int(version))
        return self.error

    def set(self, path: str, data: bytes | None = b"", version: int = -1) -> Stat | int:
        reader = self.ask(
            opcodes.SET_DATA, write_string(path) + write_buffer(data) + write_int(version)
        )
        return self.error or read_stat(reader)

    def set_acl(self, path: str, acl: Acl | None, version: int = -1) -> Stat | int:
        reader = self.ask(opcodes.SET_ACL, write_string(path) + write_acl(acl) + write_int(version))
        return self.error or read_stat(reader)

    def exists(self, path: str | None, watch: bool = False) -> Stat | int:
        reader = self.ask(opcodes.EXISTS, write_string(path) + write_boolean(watch))
        return self.error or read_stat(reader)

    def get(self, path: str, watch: bool = False) -> bytes | int | None:
        reader = self.ask(opcodes.GET_DATA, write_string(path) + write_boolean(watch))
        return self.error or reader.read_buffer()

    def children(self, path: str, watch: bool = False) -> list[str] | int:
        """Sorted."""
        reader = self.ask(opcodes.GET_CHILDREN, write_string(path) + write_boolean(watch))
        return self.error or sorted(reader.read_strings() or ())

    def acl(self, path: str) -> Acl | int | None:
        reader = self.ask(opcodes.GET_ACL, write_string(path))
        return self.error or reader.read_acl()

    def add_watch(self, path: str, mode: int) -> int:
        self.ask(opcodes.ADD_WATCH, write_string(path) + write_int(mode))
        return self.error

    def remove_watches(self, path: str, kind: int) -> int:
        self.ask(opcodes.REMOVE_WATCHES, write_string(path) + write_int(kind))
        return self.error

    def set_watches(self, since: int, *tables: Iterable[str]) -> int:
        kind = opcodes.SET_WATCHES if len(tables) == 3 else opcodes.SET_WATCHES2
        self.ask(kind, write_long(since) + b"".join(map(write_strings, tables)))
        return self.error

    def multi(self, *operations: tuple[int, bytes], kind: int = opcodes.MULTI) -> list[Any]:
        """Per operation: (type, error, path or Stat or data or names or None)."""
        reader = self.ask(kind, multi_body(*operations))
        if not reader.data:
            return []
        return read_results(reader)

    def close(self) -> None:
        self.engine.watches.remove_connection(self)
        self.ask(opcodes.CLOSE_SESSION, b"")


class Engine:
    """The request processors of a standalone server."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self.tree = DataTree()
        self.watches = WatchManager()
        self.database = self
        self.entries: list[Entry] = []
        self.zxid = 0
        self.now = 1_000
        self.refused: dict[int, int] = {}
        """Sessions of which requests are refused, and with what."""
        self.preparer = self.new_preparer()
        self.responder = Responder(self)
        self._sessions = 0x100000000000000

    def new_preparer(self) -> Preparer:
        return Preparer(
            self.tree,
            lambda session, _owner: self.refused.get(session, 0),
            lambda: self.now,
            self.settings,
            self.next_zxid,
        )

    def next_zxid(self) -> int:
        self.zxid += 1
        return self.zxid

    def connect(self, *identities: tuple[str, str], timeout: int = 4000) -> Connection:
        connection = Connection(self, self._sessions, (("ip", "10.0.0.1"), *identities))
        self._sessions += 1
        connection.ask(opcodes.CREATE_SESSION, write_int(timeout))
        return connection

    def do(self, request: Request) -> tuple[int, bytes]:
        self.now += 1
        entry = self.preparer.prepare(request)
        return self.finish(request, entry)

    def finish(self, request: Request, entry: Entry | None) -> tuple[int, bytes]:
        result = None
        if entry is not None:
            self.entries.append(entry)
            result = self.tree.apply(entry, self.watches)
            self.preparer.committed(entry.header.zxid)
            assert entry.digest is None or entry.digest == self.tree.digest()
        return self.responder.respond(request, entry, result)


def create_body(
    path: str | None,
    data: bytes | None = b"",
    acl: Acl | None = OPEN,
    flags: int = 0,
    ttl: int | None = None,
) -> bytes:
    body = write_string(path) + write_buffer(data) + write_acl(acl) + write_int(flags)
    return body if ttl is None else body + write_long(ttl)


def create_op(path: str, flags: int = 0, kind: int = opcodes.CREATE) -> tuple[int, bytes]:
    return kind, create_body(path, flags=flags)


def delete_op(path: str, version: int = -1) -> tuple[int, bytes]:
    return opcodes.DELETE, write_string(path) + write_int(version)


def set_op(path: str, data: bytes = b"", version: int = -1) -> tuple[int, bytes]:
    return opcodes.SET_DATA, write_string(path) + write_buffer(data) + write_int(version)


def check_op(path: str, version: int = -1) -> tuple[int, bytes]:
    return opcodes.CHECK, write_string(path) + write_int(version)


def get_op(path: str, kind: int = opcodes.GET_DATA) -> tuple[int, bytes]:
    return kind, write_string(path) + write_boolean(False)


def multi_body(*operations: tuple[int, bytes]) -> bytes:
    body = b"".join(MULTI_HEADER.pack(op, False, -1) + record for op, record in operations)
    return body + MULTI_HEADER.pack(-1, True, -1)


def read_results(reader: Reader) -> list[Any]:
    results: list[Any] = []
    while True:
        kind, done, error = MULTI_HEADER.unpack_from(reader.data, reader.position)
        reader.position += MULTI_HEADER.size
        if done:
            assert (kind, error) == (-1, -1)
            assert not reader.rest()
            return results
        value: Any = None
        if kind == opcodes.ERROR:
            assert reader.read_int() == error
        elif kind == opcodes.CREATE:
            value = reader.read_text()
        elif kind == opcodes.CREATE2:
            value = (reader.read_text(), read_stat(reader))
        elif kind == opcodes.SET_DATA:
            value = read_stat(reader)
        elif kind == opcodes.GET_DATA:
            value = (reader.read_buffer(), read_stat(reader))
        elif kind == opcodes.GET_CHILDREN:
            value = sorted(reader.read_strings() or ())
        results.append((kind, error, value))
