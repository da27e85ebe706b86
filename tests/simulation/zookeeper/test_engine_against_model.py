"""Random requests, prepared ahead of being applied, against a slow model of tree and watches."""

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumpus.simulation.zookeeper.storage.log_records import parse
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import Reader
from rumpus.simulation.zookeeper.wire.request import Request
from tests.simulation.zookeeper.engine import (
    Engine,
    check_op,
    create_body,
    delete_op,
    multi_body,
    read_results,
    read_stat,
    set_op,
)
from tests.simulation.zookeeper.slow_model import Model, Operation, WatchModel

NAMES = st.sampled_from(["a", "b", "n0000000000", "n0000000001"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
SEQUENCES = st.sampled_from(["/", "/a/", "/a/b/"]).map(lambda parent: parent + "n")
DATA = st.sampled_from([b"", b"x", b"yyy", None])
VERSIONS = st.sampled_from([-1, 0, 1, 2])

CREATES = st.tuples(st.just("create"), PATHS, DATA, st.sampled_from([0, 0, 1])) | st.tuples(
    st.just("create"), SEQUENCES, DATA, st.sampled_from([2, 3])
)
DELETES = st.tuples(st.just("delete"), PATHS, VERSIONS)
SETS = st.tuples(st.just("set"), PATHS, DATA, VERSIONS)
CHECKS = st.tuples(st.just("check"), PATHS, VERSIONS)
MULTIS = st.tuples(
    st.just("multi"), st.lists(CREATES | CREATES | DELETES | SETS | CHECKS, max_size=4)
)
OPERATIONS = CREATES | CREATES | DELETES | SETS | MULTIS | st.just(("close",))
CLIENTS = st.integers(0, 2)


def encoded(operation: Operation) -> tuple[int, bytes]:
    kind, *fields = operation
    if kind == "create":
        path, data, flags = fields
        return opcodes.CREATE, create_body(path, data, flags=flags)
    if kind == "close":
        return opcodes.CLOSE_SESSION, b""
    if kind == "multi":
        return opcodes.MULTI, multi_body(*map(encoded, fields[0]))
    return {"delete": delete_op, "set": set_op, "check": check_op}[kind](*fields)


def shown(value: Any) -> Any:
    """A reply's value in terms of the model, which knows no times."""
    if isinstance(value, dict):
        return {name: value[name] for name in value if name not in ("ctime", "mtime")}
    return value


def decoded(kind: str, error: int, body: bytes) -> Any:
    if error:
        return error
    reader = Reader(body)
    if kind == "create":
        return reader.read_text()
    if kind == "set":
        return shown(read_stat(reader))
    if kind == "multi":
        return [
            error if kind == opcodes.ERROR else shown(value) or 0
            for kind, error, value in read_results(reader)
        ]
    return 0


class EngineMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.engine = Engine()
        self.clients = [self.engine.connect() for _ in range(3)]
        self.model = Model()
        self.watches = WatchModel()
        self.waiting: list[Any] = []
        """Prepared and not applied: (operation, request, entry, expected result, what happens)."""

    @rule(client=CLIENTS, operation=OPERATIONS)
    def submit(self, client: int, operation: Operation) -> None:
        connection = self.clients[client]
        kind, body = encoded(operation)
        request = Request(connection.session, 7, kind, body, connection.identities, connection)
        entry = self.engine.preparer.prepare(request)
        assert entry is not None
        zxid = entry.header.zxid
        expected = self.model.perform(zxid, connection.session, operation)
        self.waiting.append((operation, request, entry, expected, self.model.happened))
        assert self.engine.zxid == zxid

    @precondition(lambda self: self.waiting)
    @rule()
    def apply(self) -> None:
        operation, request, entry, expected, happened = self.waiting.pop(0)
        self.engine.entries.append(entry)
        result = self.engine.tree.apply(entry, self.engine.watches)
        self.engine.preparer.committed(entry.header.zxid)
        error, body = self.engine.responder.respond(request, entry, result)
        assert decoded(operation[0], error, body) == expected
        if entry.digest is None:
            assert entry.header.type == opcodes.ERROR
        else:
            assert entry.digest == self.engine.tree.digest()
        self._check_events(operation, happened)

    def _check_events(self, operation: Operation, happened: list[tuple[str, str]]) -> None:
        told: list[list[tuple[int, str]]] = [[], [], []]
        sent = [connection.taken() for connection in self.clients]
        if operation[0] == "close":
            # The nodes go in an order that is not the model's: in that of the events, then.
            seen = [path for events in sent for kind, path in events if kind == 2]
            rank = {path: place for place, path in reversed(list(enumerate(seen)))}
            happened = sorted(happened, key=lambda change: rank.get(change[1], -1))
        for what, path in happened:
            for connection, kind, where in self.watches.happens(what, path):
                told[connection].append((kind, where))
        if operation[0] == "close":
            assert [sorted(events) for events in sent] == [sorted(events) for events in told]
        else:
            assert sent == told

    @precondition(lambda self: not self.waiting)
    @rule(client=CLIENTS, path=PATHS)
    def read(self, client: int, path: str) -> None:
        stat = self.clients[client].exists(path)
        assert shown(stat) == (self.model.stat(path) if path in self.model.nodes else -101)
        data = self.clients[client].get(path)
        assert data == (self.model.nodes[path]["data"] if path in self.model.nodes else -101)

    @precondition(lambda self: not self.waiting)
    @rule(client=CLIENTS, path=PATHS, how=st.sampled_from(["get", "exists", "children"]))
    def watch(self, client: int, path: str, how: str) -> None:
        getattr(self.clients[client], how)(path, watch=True)
        if path in self.model.nodes or how == "exists":
            table = "child" if how == "children" else "data"
            self.watches.register(table, client, path, "once")

    @rule(client=CLIENTS, path=PATHS | st.just("/"), mode=st.sampled_from([0, 1]))
    def add_watch(self, client: int, path: str, mode: int) -> None:
        assert self.clients[client].add_watch(path, mode) == 0
        for table in ("data", "child"):
            self.watches.register(table, client, path, ["persistent", "recursive"][mode])

    @rule(client=CLIENTS, path=PATHS, kind=st.sampled_from([1, 2, 3]))
    def remove_watches(self, client: int, path: str, kind: int) -> None:
        tables = [["child"], ["data"], ["child", "data"]][kind - 1]
        keys = [(table, client, path) for table in tables]
        present = [key for key in keys if self.watches.registrations.pop(key, None)]
        assert self.clients[client].remove_watches(path, kind) == (0 if present else -121)

    @precondition(lambda self: not self.waiting)
    @rule()
    def lead_anew(self) -> None:
        self.engine.preparer = self.engine.new_preparer()

    @invariant()
    def trees_are_equal_once_all_is_applied(self) -> None:
        if self.waiting:
            return
        tree = self.engine.tree
        assert self.engine.preparer.changes.digest == tree.digest()
        paths = {path for path in tree.nodes if path and not path.startswith("/zookeeper/")}
        assert paths == set(self.model.nodes)
        for path in paths - {"/zookeeper"}:
            stat = shown(read_stat(Reader(tree.nodes[path].stat())))
            assert stat == self.model.stat(path)
            # Numbers of sequences.
            assert tree.nodes[path].cversion == self.model.nodes[path]["made"]
        assert self.engine.watches.count() == len(self.watches.registrations)

    def teardown(self) -> None:
        while self.waiting:
            self.apply()
        self.trees_are_equal_once_all_is_applied()
        replayed = DataTree()
        for entry in self.engine.entries:
            assert parse(entry.payload) == entry
            replayed.apply(parse(entry.payload))
        assert replayed.digest() == self.engine.tree.digest()
        assert replayed.ephemerals == self.engine.tree.ephemerals


class Walk:
    """Draws long runs from a seed, where the machine above looks for short ones."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._machine = EngineMachine()

    def run(self, steps: int) -> None:
        machine, draw = self._machine, self._random
        for _ in range(steps):
            client = draw.randrange(3)
            step = draw.random()
            if step < 0.35:
                machine.submit(client, self._operation(draw.random()))
            elif step < 0.75:
                if machine.waiting:
                    machine.apply()
            elif step < 0.9:
                if not machine.waiting:
                    machine.watch(client, self._path(), draw.choice(["get", "exists", "children"]))
            elif step < 0.96:
                machine.add_watch(client, draw.choice(["/", self._path()]), draw.randrange(2))
            elif step < 0.98:
                machine.remove_watches(client, self._path(), draw.randrange(1, 4))
            elif not machine.waiting:
                machine.lead_anew()
            machine.trees_are_equal_once_all_is_applied()
        machine.teardown()

    def _path(self) -> str:
        return self._random.choice(["/a", "/b", "/a/a", "/a/b", "/a/a/a", "/a/n0000000001"])

    def _operation(self, kind: float) -> Operation:
        draw = self._random
        data = draw.choice([b"", b"x", b"yyy", None])
        if kind < 0.3:
            return ("create", self._path(), data, draw.choice([0, 0, 1]))
        if kind < 0.4:
            return ("create", draw.choice(["/n", "/a/n"]), data, draw.choice([2, 3]))
        version = draw.choice([-1, -1, 0, 1])
        if kind < 0.65:
            return ("delete", self._path(), version)
        if kind < 0.8:
            return ("set", draw.choice([self._path(), "/"]), data, version)
        if kind < 0.85:
            return ("close",)
        parts = [self._operation(draw.random() * 0.8) for _ in range(draw.randrange(5))]
        checks = [("check", self._path(), version)] if draw.random() < 0.3 else []
        return ("multi", parts + checks)


@pytest.mark.parametrize("seed", range(12))
def test_long_runs(seed):
    Walk(seed).run(600)


TestEngine = EngineMachine.TestCase
TestEngine.settings = settings(max_examples=30, stateful_step_count=40)
