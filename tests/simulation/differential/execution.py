"""Sends a sequence of steps to a server and writes down, comparably, all that comes back.

What must differ between two servers is normalised: zxids count from the server's first, session
ids become numbers in order of appearance, lists that come in hash order are sorted. Times are
left out, but must fit: one zxid has one time.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rumpus.conformance import operations as op
from rumpus.conformance.operations import Stat, SubResult
from rumpus.conformance.raw_client import Closed, RawClient, Reply
from rumpus.conformance.visit import Visit
from tests.conformance.deployment import Deployment
from tests.simulation.differential.steps import SESSIONS, Step, operation

_UNSORTED = frozenset({8, 12, 103, 107})


class Outcome(NamedTuple):
    """What came of one step: of every reply its error, zxid, value and the events before it.

    ``others`` are the events that other sessions were told after a step that ends a session,
    in an order that the server draws from a hash.
    """

    replies: tuple[Any, ...]
    others: tuple[Any, ...] = ()


class Execution:
    """One run of a sequence against a fresh standalone server.

    Attributes:
        outcomes: one a step.
        wrong_times: zxids that were seen with two different times.
    """

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._visit = Visit(deployment)
        self._clients: list[RawClient] = []
        self._sessions: dict[int, str] = {}
        self._times: dict[int, int] = {}
        self._base = 0
        self.outcomes: list[Outcome] = []
        self.wrong_times: list[tuple[int, int, int]] = []

    def run(self, steps: Sequence[Step]) -> list[Outcome]:
        """Send all steps to the server, which is started here."""
        self._deployment.start()
        self._visit.await_service()
        first = self._session()
        self._base = first.call(op.ping()).zxid - 1
        self._clients = [first, *(self._session() for _ in range(SESSIONS - 1))]
        try:
            for step in steps:
                self.outcomes.append(self._perform(step))
        finally:
            self._visit.end()
        return self.outcomes

    def _session(self) -> RawClient:
        client = self._visit.session()
        self._sessions[client.session] = f"session {len(self._sessions)}"
        return client

    def _perform(self, step: Step) -> Outcome:
        client = self._clients[step.session]
        if step.action == "batch":
            for name, arguments in step.arguments:
                client.send(operation(name, arguments, client.last_zxid))
            return Outcome(tuple(self._reply(client, name) for name, _ in step.arguments))
        special = getattr(self, f"_{step.action}", None)
        if special is not None:
            return special(step, client)
        client.send(operation(step.action, step.arguments, client.last_zxid))
        return Outcome((self._reply(client, step.action),))

    def _reply(self, client: RawClient, action: str) -> tuple[Any, ...]:
        try:
            reply = client.receive()
        except Closed:
            return ("closed", action)
        return self._comparable(reply, op_code(action))

    def _comparable(self, reply: Reply, code: int) -> tuple[Any, ...]:
        zxid = reply.zxid - self._base if reply.zxid > 0 else reply.zxid
        value = self._value(reply.value)
        if code in _UNSORTED:
            value = _sorted(value)
        if code == 107 and value is not None:
            value = [(scheme, "address" if scheme == "ip" else user) for scheme, user in value]
        body = reply.body if reply.error else b""
        return (reply.error, zxid, value, body, tuple(reply.events))

    def _value(self, value: Any) -> Any:
        if isinstance(value, Stat):
            return self._stat(value)
        if isinstance(value, SubResult):
            inner = self._value(value.value)
            return (value.type, value.error, _sorted(inner) if value.type == 8 else inner)
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(self._value(each) for each in value)
        return value

    def _stat(self, stat: Stat) -> Stat:
        for zxid, time in ((stat.czxid, stat.ctime), (stat.mzxid, stat.mtime)):
            if zxid > 0 and self._times.setdefault(zxid, time) != time:
                self.wrong_times.append((zxid, self._times[zxid], time))
        owner = stat.ephemeral_owner
        return stat._replace(
            czxid=self._offset(stat.czxid),
            mzxid=self._offset(stat.mzxid),
            pzxid=self._offset(stat.pzxid),
            ctime=0,
            mtime=0,
            ephemeral_owner=self._sessions.get(owner, owner),
        )

    def _offset(self, zxid: int) -> int:
        return zxid - self._base if zxid > 0 else zxid

    def _barrier(self) -> tuple[Any, ...]:
        """The events that every session has been told by now, sorted."""
        return tuple(tuple(sorted(client.call(op.ping()).events)) for client in self._clients)

    def _replace(self, step: Step, new: RawClient) -> None:
        self._clients[step.session] = new

    def _reconnect(self, step: Step, client: RawClient) -> Outcome:
        before = self._comparable(client.call(op.ping()), 11)
        client.hang_up()
        return self._attached(step, before)

    def _move(self, step: Step, client: RawClient) -> Outcome:
        before = self._comparable(client.call(op.ping()), 11)
        outcome = self._attached(step, before)
        return outcome._replace(replies=(*outcome.replies, client.last_words()))

    def _attached(self, step: Step, *before: Any) -> Outcome:
        client = self._clients[step.session]
        self._replace(step, self._visit.reattach(client))
        after = self._clients[step.session]
        # A connection dies with all that the server had for it: what was not read is not missed.
        return Outcome((*before, after.timeout_ms, after.password == client.password))

    def _close(self, step: Step, client: RawClient) -> Outcome:
        reply = client.close_session()
        # The session's own nodes go in the order of a hash as well.
        reply = reply._replace(events=sorted(reply.events))
        ended = client.closed_silently()
        self._replace(step, self._session())
        return Outcome((self._comparable(reply, -11), ended), self._barrier())

    def _unknown_operation(self, step: Step, client: RawClient) -> Outcome:
        reply = client.call(op.Operation(step.arguments[0], b"", lambda _: None))
        return self._attached(step, self._comparable(reply, 0), client.closed_silently())

    def _refused_auth(self, step: Step, client: RawClient) -> Outcome:
        reply = client.call(op.auth(step.arguments[0], b"u:p"))
        return self._attached(step, self._comparable(reply, 100), client.closed_silently())

    def _wrong_password(self, step: Step, client: RawClient) -> Outcome:
        before = self._comparable(client.call(op.ping()), 11)
        answer = self._visit.connect().handshake(session=client.session, password=b"wrong" * 3)
        return self._attached(step, before, tuple(answer), client.closed_silently())

    def _restart(self, _: Step, __: RawClient) -> Outcome:
        events = self._barrier()
        self._deployment.kill("n1")
        self._deployment.start()
        self._visit.await_service()
        self._clients = [self._visit.reattach(client) for client in self._clients]
        return Outcome(("restarted",), events)


def op_code(action: str) -> int:
    """Which operation's reply needs sorting."""
    return {"get_children": 8, "get_children2": 12, "get_ephemerals": 103, "who_am_i": 107}.get(
        action, 0
    )


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(value)
    if isinstance(value, tuple) and value and isinstance(value[0], list):
        return (sorted(value[0]), *value[1:])
    return value
