"""Which transaction in the servers' logs is which request on the wire.

A transaction has its session and the request's number. Clients such as kazoo count requests anew
on each connection, so one session may have a number several times. But a server answers a write
after it has applied it, and the reply's header has the last zxid applied; so the transaction is the
newest one of that number up to there, and newer than what the connection had been shown before.

A server finds the request of a transaction by session and number, too. Where two of one number are
under way (the first was sent on a connection that broke), it may answer the second one when the
first one is carried out. That is the client's doing: such answers are not held against servers.
"""

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.wire.access import Identity
from rumpus.checker.wire.records import (
    READS,
    SET_WATCHES,
    WRITES,
    Handshake,
    Request,
    WireRecords,
)

LONG = 0x40000
"""From how many bytes of data on a ``setData`` may come near what servers read."""

Connection = tuple[int, int]
"""Client, and the number of the connection among its."""


@dataclass
class Heard:
    """What passed in a session; times in ns, not in order.

    Attributes:
        proofs: when something was sent that was answered.
        timeouts: the timeout (ms) that the connection of each has.
        signs: when anything was sent, or answered, that a server may have heard of.
    """

    proofs: "array[int]" = field(default_factory=lambda: array("q"))
    timeouts: "array[int]" = field(default_factory=lambda: array("q"))
    signs: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, sent: int, answered: int | None, timeout: int) -> None:
        """Take something that was sent, and maybe answered, on a connection of the session."""
        self.signs.append(sent)
        if answered is not None:
            self.signs.append(answered)
            self.proofs.append(sent)
            self.timeouts.append(timeout)


@dataclass
class Conversations:
    """The wire, by connection. Requests are named by their places in the record of the wire.

    Attributes:
        clients: how many clients the workload has.
        handshakes: connection -> how it began.
        transactions: zxid -> the request that asked for it, where that is certain.
        reads: the zxid in the answer to each read, and ``set-watches``, and its place.
        written: connection -> when each write was sent that was carried out, and its place.
        heard: session -> what passed in it.
        closes: requests to end a session.
        back: answers that show less than their connection had been shown before, and what that was.
        overtaken: requests that were answered after a later one of their connection.
        missing: writes that were answered without an error and are in no server's log.
        proofs: the ``auth`` requests of a connection.
        mistaken: writes that got the answer to an earlier request of the same session and number.
        long: each ``setData`` with at least ``LONG`` bytes of data.
        reconfigs: requests to change the ensemble's members.
    """

    clients: int = 0
    handshakes: dict[Connection, Handshake] = field(default_factory=dict)
    transactions: dict[int, int] = field(default_factory=dict)
    reads: list[tuple[int, int]] = field(default_factory=list)
    written: dict[Connection, list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    heard: dict[int, Heard] = field(default_factory=lambda: defaultdict(Heard))
    closes: list[Request] = field(default_factory=list)
    back: list[tuple[Request, int]] = field(default_factory=list)
    overtaken: list[Request] = field(default_factory=list)
    missing: list[Request] = field(default_factory=list)
    mistaken: list[Request] = field(default_factory=list)
    long: list[Request] = field(default_factory=list)
    reconfigs: list[Request] = field(default_factory=list)
    proofs: dict[Connection, list[Request]] = field(default_factory=lambda: defaultdict(list))

    def identities_of(self, request: Request) -> list[Identity] | None:
        """Whom its client had proved to be on the connection; None if that is not known."""
        found: list[Identity] = []
        for proof in self.proofs.get((request.client, request.connection), ()):
            if proof.sent > request.sent:
                continue
            if proof.who is None:
                return None
            scheme, name = proof.who
            if scheme != "digest" or name.startswith("super:") or proof.answered is None:
                return None
            if proof.error == 0:
                found.append((scheme, name))
        return found

    def who(self, client: int) -> str:
        """A client in words; the one beyond the workload's is the harness's own."""
        return f"c{client}" if client < self.clients else "the auditor"

    def named(self, client: int) -> list[int]:
        """A client as anomalies name it; the harness's own is none of the run's."""
        return [client] if client < self.clients else []

    def session_of(self, request: Request) -> int:
        """The session on whose connection a request was sent; 0 if none was granted."""
        shake = self.handshakes.get((request.client, request.connection))
        return shake.session if shake is not None else 0

    def node_of(self, request: Request) -> str:
        """The server to which a request was sent."""
        shake = self.handshakes.get((request.client, request.connection))
        return shake.node if shake is not None else "a server"


def match(
    wire: WireRecords, committed: Sequence[Txn], others: Iterable[Txn], clients: int
) -> Conversations:
    """Find the requests' transactions.

    Args:
        wire: what passed on the links.
        committed: the ensemble's history.
        others: transactions that are in some log, but not in the history, or not surely.
        clients: how many clients the workload has.
    """
    matching = _Matching(committed, others, clients)
    for place, record in wire.located():
        if isinstance(record, Handshake):
            matching.handshake(record)
        elif isinstance(record, Request):
            matching.request(place, record)
    return matching.end(wire)


Key = tuple[int, int]
"""Session, and the number of a request."""


class _Matching:
    """Takes records in the order in which servers answered."""

    def __init__(self, committed: Sequence[Txn], others: Iterable[Txn], clients: int) -> None:
        self._found = Conversations(clients)
        self._logged = _by_number(committed)
        self._txns = {txn.zxid: txn for txn in committed}
        self._astray = _by_number(others).keys()
        self._shown: dict[Connection, int] = {}
        self._answered: dict[Connection, int] = {}
        self._odd: list[tuple[int, int, Request]] = []
        self._unanswered: dict[Key, list[tuple[int, Request]]] = defaultdict(list)

    def handshake(self, shake: Handshake) -> None:
        """Take a handshake; it comes before the requests on its connection."""
        found = self._found
        connection = (shake.client, shake.connection)
        found.handshakes[connection] = shake
        if shake.session:
            found.heard[shake.session].add(shake.sent, shake.answered, shake.timeout)
            self._shown[connection] = shake.seen
        if shake.asked and shake.asked != shake.session:
            found.heard[shake.asked].signs += array("q", [shake.sent, shake.answered or shake.sent])

    def request(self, place: int, request: Request) -> None:
        """Take a request, answered or not."""
        found, connection = self._found, (request.client, request.connection)
        shake = found.handshakes.get(connection)
        if request.name in ("auth", "sasl"):
            found.proofs[connection].append(request)
        if shake is None or not shake.session:
            return
        found.heard[shake.session].add(request.sent, request.answered, shake.timeout)
        if request.name == "set-data" and request.data is not None and request.data[0] >= LONG:
            found.long.append(request)
        elif request.name == "reconfig":
            found.reconfigs.append(request)
        key = (shake.session, request.xid)
        if request.answered is None:
            if request.name in WRITES:
                self._unanswered[key].append((place, request))
            return
        last = self._answered.get(connection, 0)
        if 0 < request.xid < last:  # others (heartbeats, proofs) have numbers below 0
            found.overtaken.append(request)
        self._answered[connection] = max(last, request.xid)
        before = self._shown.get(connection, 0)
        if request.zxid > before:
            self._shown[connection] = request.zxid
        elif 0 < request.zxid < before:
            found.back.append((request, before))
        if request.name in WRITES:
            self._write(place, request, key, before)
        elif request.name in READS or request.name in SET_WATCHES:
            found.reads.append((request.zxid, place))
        elif request.name == "close":
            found.closes.append(request)

    def _write(self, place: int, request: Request, key: Key, before: int) -> None:
        """Take a write that was answered; ``before``: what had been shown until then."""
        found, zxids = self._found, self._logged.get(key, ())
        at = bisect_right(zxids, request.zxid)
        if at and zxids[at - 1] > before:
            zxid = zxids[at - 1]
            if _fits(self._txns[zxid], request):
                found.transactions[zxid] = place
            else:
                self._odd.append((zxid, place, request))
                return
        elif request.error == 0 and key not in self._astray:
            found.missing.append(request)
        if request.error == 0 and not any(part.error for part in request.parts):
            found.written[request.client, request.connection].append((request.sent, place))

    def end(self, wire: WireRecords) -> Conversations:
        """Match what could not be matched before all was known."""
        found = self._found
        if self._odd:
            numbers = Counter(
                (found.session_of(each), each.xid)
                for each in wire
                if isinstance(each, Request) and each.name in WRITES
            )
            for zxid, place, request in self._odd:
                if numbers[found.session_of(request), request.xid] > 1:
                    found.mistaken.append(request)
                else:
                    found.transactions[zxid] = place
        # What was never answered can be matched where only one transaction can be its.
        for key, requests in self._unanswered.items():
            left = [zxid for zxid in self._logged.get(key, ()) if zxid not in found.transactions]
            if len(requests) == len(left) == 1 and _fits(self._txns[left[0]], requests[0][1]):
                found.transactions[left[0]] = requests[0][0]
        return found


_MADE_BY = {
    "create": {"create", "create2"},
    "create2": {"create", "create2"},
    "create-container": {"createContainer", "create", "create2"},
    "create-ttl": {"createTTL"},
    "delete": {"delete"},
    "set-data": {"setData"},
    "set-acl": {"setACL"},
    "multi": {"multi"},
    "reconfig": {"reconfig"},
}


def _fits(txn: Txn, request: Request) -> bool:
    """Whether a transaction can be a request's, by its kind and path."""
    if txn.name == "error":
        return True
    if txn.name not in _MADE_BY.get(request.name, ()):
        return False
    parts = request.parts or [request]
    effects = txn.effects or txn.ops
    return len(parts) == len(effects) and all(
        effect.path in (None, part.path) or (part.flags and effect.path.startswith(part.path))
        for part, effect in zip(parts, effects, strict=True)
    )


def _by_number(txns: Iterable[Txn]) -> dict[tuple[int, int], list[int]]:
    """(session, request's number) -> zxids."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for txn in txns:
        found[txn.session, txn.cxid].append(txn.zxid)
    return found
