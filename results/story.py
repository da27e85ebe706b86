"""A violation told in a few lines: what its clients did and what befell them, in order of time."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rumpus.checker.history import History, Op, Operation
from rumpus.checker.servers.server_truth import ServerTruth, SessionLife, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.faults import fault_windows
from rumpus.checker.verdict import Anomaly, Verdict

BEFORE_NS: Final = 3_000_000_000
"""How long before an anomaly, and before its znodes were made, the story begins."""

MOST_LINES: Final = 20
LONGEST_VALUE: Final = 200
"""Letters of a record's value."""

MOST_ZNODES: Final = 4
MOST_CALLS: Final = 4
"""Of more calls that an anomaly cites only the first and the last are told."""

_SAID_OF_SESSIONS: Final = {
    "suspended": "loses its connection",
    "lost": "learns that its session has ended",
    "connected": "is connected",
    "paused": "is frozen",
    "resumed": "runs again",
    "exited": "is killed",
    "started": "is started again",
    "believes": "believes that it holds",
    "doubts": "no longer believes that it holds",
    "closed": "closes its session",
}

_ENDINGS: Final = {
    "deleted": "is deleted by {by}",
    "multi": "is deleted by {by}, in a multi",
    "closed": "is deleted: {by} closes its session",
    "expired": "is deleted: the session of {by} has expired",
    "reaped": "is deleted by the servers",
    "unlogged": "has been deleted, and is created again",
}

_PATH: Final = re.compile(r"/[^\s,;:'\"()\[\]]+")
_SEQUENCE: Final = re.compile(r"(\d{10})$")


class ServerSide(NamedTuple):
    """What the servers' logs say, and the map from their clocks to the run's."""

    truth: ServerTruth
    clock: WallClock


class _Event(NamedTuple):
    time: int
    words: str


def story(history: History, verdict: Verdict, servers: ServerSide | None = None) -> list[str]:
    """What led to the first broken promise, or to the first hazard if none was broken.

    Args:
        history: what happened.
        verdict: what is wrong with it.
        servers: what the servers' logs say, if they are at hand.

    Returns:
        Lines, each with a time in seconds since the run began; the last one says what is wrong.
        Empty if there is no anomaly.
    """
    anomaly = next(iter(verdict.anomalies), None)
    return [] if anomaly is None else story_of(history, anomaly, servers)


def story_of(history: History, anomaly: Anomaly, servers: ServerSide | None = None) -> list[str]:
    """What led to an anomaly, in at most ``MOST_LINES`` lines and one that says what is wrong."""
    told = sorted(set(_Teller(history, anomaly, servers).events()))
    lines = [f"{(time - history.start) / 1e9:9.3f} s  {words}" for time, words in told]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        left_out = f"{'':11}  ... {len(lines) - MOST_LINES} more"
        lines = [*lines[:half], left_out, *lines[-half:]]
    return [*lines, f"so: {anomaly.kind}: {anomaly.description}"]


class _Teller:
    """Finds what belongs to one anomaly."""

    def __init__(self, history: History, anomaly: Anomaly, servers: ServerSide | None) -> None:
        self._history = history
        self._anomaly = anomaly
        self._servers = servers
        self._owners = history.clients_of_sessions()
        self._until = max(anomaly.start, anomaly.end)
        cited = set(anomaly.ops)
        operations = history.operations()
        self._calls = [each for each in operations if not cited.isdisjoint(each.indices)]
        self._znodes = [] if servers is None else self._find_znodes(servers)
        self._clients = set(anomaly.clients)
        for life in self._znodes:
            if life.created_by in self._owners:
                self._clients.add(self._owners[life.created_by])
        begun = [anomaly.start, *(self._time(life.created_ms) for life in self._znodes)]
        self._since = min(begun) - BEFORE_NS

    def events(self) -> Iterator[_Event]:
        """Time and words of everything that belongs to the anomaly, in any order."""
        yield from self._of_faults()
        calls = self._calls
        if len(calls) > MOST_CALLS:
            calls = [calls[0], calls[-1]]
        for operation in [*calls, *self._calls_of_znodes()]:
            yield from self._of_call(operation)
        yield from self._of_clients()
        for life in self._znodes:
            yield from self._of_znode(life)
        if self._servers is not None:
            for session in self._servers.truth.sessions().values():
                yield from self._of_session(session)

    def _time(self, wall_ms: int) -> int:
        assert self._servers is not None
        return self._servers.clock.monotonic(wall_ms)

    def _find_znodes(self, servers: ServerSide) -> list[ZnodeLife]:
        """The znodes that the anomaly names; if none, those of its clients that were there then.

        Where clients wait in vain that includes the oldest of all: they may wait for it.
        """
        anomaly, lives = self._anomaly, servers.truth.znodes()
        named = set(_PATH.findall(anomaly.description))
        for operation in self._calls:
            if operation.completion is not None:
                named.update(_PATH.findall(str(operation.completion.value)))
        if found := [life for life in lives if life.path in named]:
            return found[:MOST_ZNODES]
        there = [
            life
            for life in lives
            if life.owner is not None
            and self._time(life.created_ms) <= anomaly.start
            and (life.deleted_ms is None or self._time(life.deleted_ms) >= anomaly.start)
        ]
        concerned = [
            life for life in there if self._owners.get(life.owner or "") in anomaly.clients
        ]
        chosen = {life.czxid: life for life in [*there[:1], *concerned]}
        return sorted(chosen.values(), key=lambda life: life.czxid)[:MOST_ZNODES]

    def _calls_of_znodes(self) -> Sequence[Operation]:
        """The calls during which the znodes were created."""
        found = []
        for life in self._znodes:
            client, created = self._owners.get(life.created_by), self._time(life.created_ms)
            for operation in self._history.operations():
                call, done = operation
                if call.time > created + 1_000_000:
                    break
                ended = done is None or done.time >= created - 1_000_000
                if ended and self._history.caller(operation) == client:
                    found.append(operation)
        return found

    def _of_faults(self) -> Iterator[_Event]:
        for window in fault_windows(self._history):
            if (window.ended is None or window.ended >= self._since) and (
                window.begun <= self._until
            ):
                name = f"{window.kind} {', '.join(window.targets)}".strip()
                how = f" ({window.how})" if window.how else ""
                yield _Event(window.in_force or window.begun, f"fault: {name}{how}")
                if window.ended is not None and window.ended <= self._until:
                    yield _Event(window.ended, f"healed: {name}")

    def _of_call(self, operation: Operation) -> Iterator[_Event]:
        call, done = operation
        who = f"c{self._history.caller(operation)}"
        yield _Event(call.time, f"{who} calls {call.f}{_value(call)}")
        if done is not None:
            error = f" ({done.error})" if done.error else ""
            yield _Event(done.time, f"{who} {call.f}: {done.type}{_value(done)}{error}")

    def _of_clients(self) -> Iterator[_Event]:
        cited = set(self._anomaly.ops)
        for op in self._history:
            if op.process == "session" and self._since <= op.time <= self._until:
                client = op.value.get("client")
                if client in self._clients and op.f in _SAID_OF_SESSIONS:
                    yield _Event(op.time, f"c{client} {_SAID_OF_SESSIONS[op.f]}")
            elif op.process == "witness" and op.index in cited:
                yield _Event(op.time, f"c{op.value['client']} acts on the resource")

    def _of_znode(self, life: ZnodeLife) -> Iterator[_Event]:
        name = _short(life.path)
        kind = "ephemeral node" if life.owner is not None else "node"
        yield _Event(
            self._time(life.created_ms),
            f"servers: {self._who(life.created_by)} creates {kind} {name}",
        )
        if life.deleted_ms is not None and life.how is not None:
            by = self._who(life.deleted_by or life.owner or "")
            words = _ENDINGS[life.how].format(by=by)
            yield _Event(self._time(life.deleted_ms), f"servers: node {name} {words}")

    def _of_session(self, session: SessionLife) -> Iterator[_Event]:
        client = self._owners.get(session.session)
        if client in self._clients and session.closed_ms is not None:
            time = self._time(session.closed_ms)
            if self._since <= time <= self._until and session.expired:
                yield _Event(time, f"servers: the session of c{client} expires")

    def _who(self, session: str) -> str:
        client = self._owners.get(session)
        return f"session {session}" if client is None else f"c{client}"


def _short(path: str) -> str:
    """A znode's name in a story: its sequence number, or the last part of its path."""
    last = path.rpartition("/")[2] or path
    sequence = _SEQUENCE.search(last)
    return str(int(sequence[1])) if sequence else last


def _value(op: Op) -> str:
    """The value of a record, as short as it can be said."""
    if op.value is None:
        return ""
    if isinstance(op.value, dict):
        told = [f"{name}={value!r}" for name, value in op.value.items() if value is not None]
        words = ", ".join(told)
    else:
        words = repr(op.value)
    if len(words) > LONGEST_VALUE:
        words = f"{words[:LONGEST_VALUE]} ..."
    return f" {words}" if words else ""
