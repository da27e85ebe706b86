"""Whether the servers kept ZooKeeper's rules in every change that they made or refused.

The committed transactions are replayed (`checker.wire.model_tree`). Where the links saw the request
of a transaction, the tree before it decides what must become of it (`checker.wire.rules`). Of the
others the transaction alone must fit the tree. This holds whatever the workload and the recipe.

``illegal-change``
    A change that must be refused, or one that is not what was asked for: an expected version that
    the znode does not have, a deletion of a znode with children, a child below an ephemeral znode,
    a sequence number that is not the next one.
``wrong-answer``
    A refusal that the tree contradicts, or an answer that does not say what the logs do.
``lost-transaction``
    A write was acknowledged, and no server has it.
``lingering-ephemeral``, ``revived-session``
    A session ended, and its znodes stayed; or it made a change after its end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.history import session_hex
from rumpus.checker.server_promises.state import LOST_TRANSACTION
from rumpus.checker.servers.node_files import counter
from rumpus.checker.servers.server_truth import ServerTruth, touched
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import ANYTHING, Anomaly, CheckResult, Kind
from rumpus.checker.wire.matching import Conversations, match
from rumpus.checker.wire.model_tree import ModelTree, parent_of
from rumpus.checker.wire.records import Part, Request, StatFields, sum_of
from rumpus.checker.wire.rules import DECIDED, ERRORS, OK, Expected, expected
from rumpus.checker.wording import counted
from rumpus.checker.znodes.ephemeral_lives import LINGERING_EPHEMERAL, REVIVED_SESSION
from rumpus.checker.znodes.stat_laws import CLOCKS_SET_WRONG

ILLEGAL_CHANGE = Kind(
    "illegal-change",
    "the servers made a change that ZooKeeper's rules forbid, or not the one asked for",
    about="servers",
    explains=ANYTHING,
)
WRONG_ANSWER = Kind(
    "wrong-answer",
    "a server's answer contradicts the tree that the ensemble had",
    about="servers",
    explains=ANYTHING,
)

LAG_NS = 2_000_000_000
"""After what time a transaction of which no answer is known was surely carried out (ns)."""

SLACK_NS = 100_000_000
"""How much later than a server answers its leader may carry a transaction out (ns)."""

MOST = 1000
"""How many anomalies of a kind are told; more of the same say nothing new."""


@dataclass
class Replay:
    """What came of replaying the transactions.

    Attributes:
        tree: after all of them, with its past.
        talk: what passed on the links.
        times: whether the times in logs are those that servers put into a Stat.
        clock: when a transaction was proposed, on the run's clock (ns).
        contested: znodes of which it is not sure what happened to them; they are not judged.
        broken: what breaks a rule.
        writes: how many requests were compared with their transactions.
    """

    tree: ModelTree
    talk: Conversations
    times: bool
    clock: Callable[[Txn], int]
    contested: frozenset[str]
    broken: list[Anomaly] = field(default_factory=list)
    writes: int = 0


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
    times = CLOCKS_SET_WRONG not in timeline.asked.kinds
    contested = unsure | {parent_of(path) for path in unsure}
    found = Replay(ModelTree(), talk, times, partial(_proposed, timeline), contested)
    told: dict[str, int] = {}
    for txn in truth.committed:
        request = talk.transactions.get(txn.zxid)
        for kind, words in _judged(txn, request, found):
            told[kind] = told.get(kind, 0) + 1
            if told[kind] <= MOST:
                found.broken.append(_anomaly(timeline, kind, words, txn, request, found))
    return found


@check(
    "server rules",
    finds=[ILLEGAL_CHANGE, WRONG_ANSWER, LOST_TRANSACTION, LINGERING_EPHEMERAL, REVIVED_SESSION],
)
def check_server_rules(timeline: Timeline) -> CheckResult | None:
    """Judge every committed transaction by the tree before it, and by the request for it.

    None without the servers' logs. Cost: O(n) for transactions and requests.
    """
    truth = timeline.truth
    if truth is None:
        return None
    result = CheckResult(name="server rules", stats={"transactions": len(truth.committed)})
    found = timeline.part(replay)
    if found is None:
        result.unjudged = [f"whether servers kept ZooKeeper's rules: {incomplete(truth)}"]
        return result
    result.anomalies = list(found.broken)
    result.stats["writes"] = found.writes
    talk = timeline.part(conversations)
    result.stats["mistaken"] = len(talk.mistaken)
    if talk.mistaken:
        first = talk.mistaken[0]
        result.unjudged.append(
            f"{counted(len(talk.mistaken), 'answer')} to an earlier request of the same number, "
            f"which a client counted anew on another connection: the first to {asked(first)} of "
            f"{talk.who(first.client)}"
        )
    for request in talk.missing[:MOST]:
        words = (
            f"{talk.who(request.client)} was told that {asked(request)} was done, and no server "
            "has it in its log"
        )
        result.anomalies.append(anomaly_of_request(LOST_TRANSACTION, words, request, talk))
    return result


def _judged(txn: Txn, request: Request | None, found: Replay) -> Iterator[tuple[str, str]]:
    """What is wrong with a transaction: kind and words. It is applied to the tree."""
    tree = found.tree
    ended = tree.ended.get(txn.session)
    parts = [] if request is None else (request.parts or [request])
    unsure = any(
        path in found.contested or parent_of(path) in found.contested
        for path in (*(part.path for part in parts), *touched(txn.effects))
    )
    must = None
    if request is not None and not unsure:
        must = expected(tree, parts, found.talk.identities_of(request), request.sent)
    broken = tree.apply(txn)
    _settle(txn, request, found)
    if unsure:
        return
    if txn.name == "closeSession":
        yield from (("lingering-ephemeral", f"{_who(txn)}: {words}") for words in broken)
        return
    if ended is not None and txn.effects and txn.name != "createSession":
        yield (
            "revived-session",
            f"{_who(txn)} made a change at 0x{txn.zxid:x}, after its end at 0x{ended:x}",
        )
    wrong = []
    if request is not None and must is not None:
        found.writes += 1
        wrong = list(_against_request(txn, request, must, found))
        yield from wrong
    if not wrong:
        yield from (("illegal-change", f"{words} (0x{txn.zxid:x})") for words in broken)


def _settle(txn: Txn, request: Request | None, found: Replay) -> None:
    """Say of a transaction that it was carried out before later requests came, if that is sure."""
    paths = touched(txn.effects)
    logged = found.clock(txn)
    sent = done = logged + LAG_NS
    if request is not None:
        sent = request.sent
        done = done if request.answered is None else request.answered + SLACK_NS
    found.tree.settle(paths | {parent_of(path) for path in paths}, min(sent, logged), done)


def _against_request(
    txn: Txn, request: Request, must: Expected, found: Replay
) -> Iterator[tuple[str, str]]:
    """Where a transaction, or its answer, is not what the request must lead to."""
    outcome = _outcome(txn, request)
    if outcome is None:
        return
    error, number = outcome
    who = found.talk.who(request.client)
    part = (request.parts or [request])[number]
    if error in DECIDED and (error, number) != (must.error, must.part):
        kind = "illegal-change" if error == OK else "wrong-answer"
        due = (request.parts or [request])[must.part]
        it_must = (
            f"must get {ERRORS[must.error]}{_of_part(request, must.part, due)}"
            if must.error
            else "must be done"
        )
        got = f"got {ERRORS[error]}{_of_part(request, number, part)}" if error else "was done"
        yield kind, f"{asked(request)} of {who} {got}, and {it_must}"
        return
    told = request.error
    if request.answered is not None and told != error and txn.name != "multi":
        words = f"{asked(request)} of {who} was answered with {_name(told)}"
        yield "wrong-answer", f"{words}, and got {_name(error)} in the servers' logs"
        return
    if error == OK:
        yield from _against_change(txn, request, must, found)


def _outcome(txn: Txn, request: Request) -> tuple[int, int] | None:
    """What became of a write: its error, and the part that got it; None if that is not known.

    Servers log the parts of a refused multi in different ways, so its answer must tell.
    """
    if txn.name != "multi":
        return (txn.error or 0 if txn.name == "error" else OK), 0
    if not txn.refused_multi:
        return OK, 0
    for number, part in enumerate(request.parts):
        if part.error:
            return part.error, number
    return None


def _against_change(
    txn: Txn, request: Request, must: Expected, found: Replay
) -> Iterator[tuple[str, str]]:
    """Where a change that had to be done is not the one asked for, or is answered wrongly."""
    parts, who = request.parts or [request], found.talk.who(request.client)
    for number, (part, effect) in enumerate(zip(parts, txn.effects, strict=False)):
        path = must.made.get(number, part.path)
        if effect.path != path:
            yield (
                "illegal-change",
                f"{asked(part)} of {who} made {effect.path}, and must make {path}",
            )
        elif part.data is not None and sum_of(effect.data) != part.data:
            yield (
                "illegal-change",
                f"{asked(part)} of {who}: other data were stored than sent",
            )
        if part.made and part.made != effect.path:
            yield (
                "wrong-answer",
                f"{who} was told that it made {part.made}, and it is {effect.path}",
            )
    if request.answered is None:
        return
    if request.stat is not None and txn.path is not None:
        view = found.tree.view(txn.path, txn.zxid)
        if view is not None and (words := differing(request.stat, view.stat, times=found.times)):
            yield "wrong-answer", f"{asked(request)} of {who} was told {words}"


def differing(told: tuple[int, ...], right: StatFields, *, times: bool) -> str:
    """Which fields of a Stat are not what they must be, in words; empty if all are."""
    return ", ".join(
        f"{name} {value} where it is {due}"
        for name, value, due in zip(StatFields._fields, told, right, strict=True)
        if value != due and (times or name not in ("ctime", "mtime"))
    )


def asked(part: Part) -> str:
    """A request in words."""
    if isinstance(part, Request) and part.parts:
        return f"a {part.name} of {len(part.parts)} ({', '.join(map(asked, part.parts[:3]))} ...)"
    version = "" if part.version in (None, -1) else f" at version {part.version}"
    return f"{part.name} {part.path}{version}"


def _name(error: int | None) -> str:
    return ERRORS.get(error or 0, f"error {error}")


def _of_part(request: Request, number: int, part: Part) -> str:
    return f" for its part {number + 1}, {asked(part)}" if request.parts else ""


def _who(txn: Txn) -> str:
    return f"session {session_hex(txn.session)}"


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


def _anomaly(
    timeline: Timeline, kind: str, words: str, txn: Txn, request: Request | None, found: Replay
) -> Anomaly:
    start = found.clock(txn)
    when = f"{words}, at {at(timeline.history, start)}"
    clients = [] if request is None else found.talk.named(request.client)
    return Anomaly(kind=kind, description=when, clients=clients, start=start, end=start)
