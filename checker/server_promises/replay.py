"""Replays the committed transactions, and compares requests and answers with the tree on the way.

Reads are judged when the tree is what it was at the zxid in their answer, so nothing of its past
has to be kept. Cost: O(n log n) in transactions and requests; memory O(n) for their numbers alone.
"""

from dataclasses import dataclass, field
from functools import partial

from rumpus.checker.server_promises.writes import Ground, asked, judged
from rumpus.checker.servers.node_files import counter
from rumpus.checker.servers.server_truth import ServerTruth, touched
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import ANYTHING, Anomaly, Kind
from rumpus.checker.wire.matching import Conversations, match
from rumpus.checker.wire.model_tree import ModelTree, is_servers_own, parent_of
from rumpus.checker.wire.reads import wrong_answer
from rumpus.checker.wire.records import SET_WATCHES, Request
from rumpus.checker.wire.watch_model import Replayed, replayed

ILLEGAL_CHANGE = Kind(
    "illegal-change",
    "the servers made a change that ZooKeeper's rules forbid, or not the one asked for",
    about="servers",
    explains=ANYTHING,
)
WRONG_ANSWER = Kind(
    "wrong-answer",
    "a server's answer contradicts the tree that the ensemble had, or the servers' settings",
    about="servers",
    explains=ANYTHING,
)

MOST = 1000
"""How many anomalies of a kind are told; more of the same say nothing new."""

CLOCKS_SET_WRONG = frozenset({"clock-skew", "clock-jump"})
"""Kinds of fault after which servers' wall clocks differ."""


@dataclass
class Replay:
    """What came of replaying the transactions.

    Attributes:
        ground: what writes are judged by; its tree is that after all transactions.
        broken: what breaks a rule.
        answers: reads whose answers are wrong.
        reads: how many were compared.
        replayed: place of a ``set-watches`` -> the events that it must be answered with, and the
            watches that it leaves.
    """

    ground: Ground
    broken: list[Anomaly] = field(default_factory=list)
    answers: list[Anomaly] = field(default_factory=list)
    reads: int = 0
    replayed: dict[int, Replayed] = field(default_factory=dict)


def conversations(timeline: Timeline) -> Conversations:
    """What passed on the links, joined with the servers' logs."""
    truth, clients = timeline.truth, timeline.history.clients
    if truth is None:
        return match(timeline.wire, (), (), clients)
    others = (*truth.uncertain, *truth.forked, *truth.discarded)
    return match(timeline.wire, truth.committed, others, clients)


def incomplete(truth: ServerTruth) -> str:
    """Why the logs do not tell the whole history, in words; empty if they do."""
    if truth.reasons:
        return truth.reasons[0]
    if not truth.committed or counter(truth.committed[0].zxid) != 1:
        return "the logs do not begin with the first transaction"
    return ""


def replay(timeline: Timeline) -> Replay | None:
    """Replay the committed transactions; None if the logs do not tell all of them."""
    truth = timeline.truth
    if truth is None or incomplete(truth):
        return None
    unsure = touched(txn for each in (*truth.uncertain, *truth.forked) for txn in each.effects)
    talk = timeline.part(conversations)
    clocks_differ = not CLOCKS_SET_WRONG.isdisjoint(timeline.asked.kinds)
    contested = unsure | {parent_of(path) for path in unsure}
    tree = ModelTree(times=not clocks_differ, unused_stay=timeline.settings is not None)
    ground = Ground(tree, talk, partial(_proposed, timeline), contested)
    found = Replay(ground)
    told: dict[str, int] = {}
    wire, reads = timeline.wire, iter(sorted(talk.reads))
    following = next(reads, None)
    for txn in truth.committed:
        while following is not None and following[0] < txn.zxid:
            _read(wire.request_at(following[1]), following[1], found)
            following = next(reads, None)
        place = talk.transactions.get(txn.zxid)
        request = None if place is None else wire.request_at(place)
        for kind, words in judged(txn, request, ground):
            told[kind] = told.get(kind, 0) + 1
            if told[kind] <= MOST:
                found.broken.append(_anomaly(kind, words, txn, request, ground))
    while following is not None:
        _read(wire.request_at(following[1]), following[1], found)
        following = next(reads, None)
    return found


def _read(request: Request, place: int, found: Replay) -> None:
    """Compare the answer to a read with the tree as it is now."""
    tree, talk, contested = found.ground.tree, found.ground.talk, found.ground.contested
    if request.name in SET_WATCHES:
        if (missed := replayed(request, tree)) is not None:
            found.replayed[place] = missed
        return
    for part in request.parts if request.name == "multi-read" else [request]:
        if part.error is None:
            continue
        if is_servers_own(part.path):
            words = "" if contested else tree.quotas.wrong_count(part, tree.nodes)
        elif _is_unsure(part.path, contested):
            continue
        else:
            found.reads += 1
            words = wrong_answer(part, request, talk, tree)
        if words and len(found.answers) < MOST:
            who, node = talk.who(request.client), talk.node_of(request)
            words = (
                f"{who} asked {node} for {asked(part)} and was told {words} (at 0x{request.zxid:x})"
            )
            found.answers.append(anomaly_of_request(WRONG_ANSWER, words, request, talk))


def _is_unsure(path: str, contested: frozenset[str]) -> bool:
    """Whether it is not sure what a znode, its parent or what is below it was."""
    return bool(contested) and (
        path in contested
        or parent_of(path) in contested
        or any(each.startswith(f"{path}/") for each in contested)
    )


def anomaly_of_request(kind: Kind, words: str, request: Request, talk: Conversations) -> Anomaly:
    """An anomaly of one request, from when it was sent to its answer."""
    return Anomaly(
        kind=kind.name,
        description=words,
        clients=talk.named(request.client),
        start=request.sent,
        end=request.sent if request.answered is None else request.answered,
    )


def _proposed(timeline: Timeline, txn: Txn) -> int:
    if timeline.clock is None:
        return timeline.history.start
    return timeline.clock.monotonic(txn.time_ms)


def _anomaly(kind: str, words: str, txn: Txn, request: Request | None, found: Ground) -> Anomaly:
    start = found.clock(txn)
    when = f"{words} (0x{txn.zxid:x})"
    clients = [] if request is None else found.talk.named(request.client)
    return Anomaly(kind=kind, description=when, clients=clients, start=start, end=start)
