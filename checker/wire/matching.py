"""Which transaction in the servers' logs is which request on the wire.

A transaction has its session and the request's number. Clients such as kazoo count requests anew
on each connection, so one session may have a number several times. But a server answers a write
after it has applied it, and the reply's header has the last zxid applied; so the transaction is the
newest one of that number up to there, and newer than what the connection had been shown before.

A server finds the request of a transaction by session and number, too. Where two of one number are
under way (the first was sent on a connection that broke), it may answer the second one when the
first one is carried out. That is the client's doing: such answers are not held against servers.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.wire.access import Identity
from rumpus.checker.wire.records import WRITES, Handshake, Request, Wire

Connection = tuple[int, int]
"""Client, and the number of the connection among its."""


@dataclass
class Conversations:
    """The wire, by connection.

    Attributes:
        clients: how many clients the workload has.
        handshakes: connection -> how it began.
        requests: all requests, in the order in which they were sent.
        transactions: zxid -> the request that asked for it, where that is certain.
        missing: writes that were answered without an error and are in no server's log.
        proofs: the ``auth`` requests of a connection.
        mistaken: writes that got the answer to an earlier request of the same session and number.
    """

    clients: int = 0
    handshakes: dict[Connection, Handshake] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    transactions: dict[int, Request] = field(default_factory=dict)
    missing: list[Request] = field(default_factory=list)
    mistaken: list[Request] = field(default_factory=list)
    proofs: dict[Connection, list[Request]] = field(default_factory=dict)

    def identities_of(self, request: Request) -> list[Identity] | None:
        """Whom its client had proved to be on the connection; None if that is not known."""
        found = []
        for proof in self.proofs.get((request.client, request.connection), ()):
            if proof.sent > request.sent or proof.who is None:
                continue
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
    wire: Iterable[Wire], committed: Sequence[Txn], others: Iterable[Txn], clients: int
) -> Conversations:
    """Find the requests' transactions.

    Args:
        wire: what passed on the links.
        committed: the ensemble's history.
        others: transactions that are in some log, but not in the history, or not surely.
        clients: how many clients the workload has.
    """
    found = Conversations(clients)
    for record in wire:
        if isinstance(record, Handshake):
            found.handshakes[record.client, record.connection] = record
        elif isinstance(record, Request):
            found.requests.append(record)
            if record.name in ("auth", "sasl"):
                found.proofs.setdefault((record.client, record.connection), []).append(record)
    found.requests.sort(key=lambda each: each.sent)
    logged = _by_number(committed)
    transactions = {txn.zxid: txn for txn in committed}
    numbers = Counter(
        (found.session_of(each), each.xid) for each in found.requests if each.name in WRITES
    )
    astray = _by_number(others).keys()
    shown: dict[Connection, int] = defaultdict(int)
    unanswered: dict[tuple[int, int], list[Request]] = defaultdict(list)
    for request in found.requests:
        connection = (request.client, request.connection)
        key = (found.session_of(request), request.xid)
        if request.name in WRITES and not key[0]:
            continue
        if request.answered is None:
            if request.name in WRITES:
                unanswered[key].append(request)
            continue
        before, shown[connection] = shown[connection], max(shown[connection], request.zxid)
        if request.name not in WRITES:
            continue
        zxids = logged.get(key, ())
        at = bisect_right(zxids, request.zxid)
        if at and zxids[at - 1] > before:
            if numbers[key] > 1 and not _fits(transactions[zxids[at - 1]], request):
                found.mistaken.append(request)
            else:
                found.transactions[zxids[at - 1]] = request
        elif request.error == 0 and key not in astray:
            found.missing.append(request)
    # What was never answered can be matched where only one transaction can be its.
    for key, requests in unanswered.items():
        left = [zxid for zxid in logged.get(key, ()) if zxid not in found.transactions]
        if len(requests) == len(left) == 1 and _fits(transactions[left[0]], requests[0]):
            found.transactions[left[0]] = requests[0]
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
