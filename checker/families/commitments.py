"""Transactions of a two-phase commit: at most one decision, a valid one, and an end for all.

Operations: ``begin`` {key, participants}, called by the coordinator; ``vote`` {key, value: yes or
no} by a participant, whose name is ``c<client>``; ``decide`` {key} -> {key, value: commit or
abort} by any client; and, once every fault is healed, ``outcomes`` -> {outcomes: {key: decision},
blocked: [key]} by every client. The model ``atomic-commitment`` judges the same votes and
decisions. This module also says what went wrong, knows which participants had to vote, and checks
that every transaction ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import msgspec

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import Least, check
from rumpus.checker.every_run.final_phase import healed_phase
from rumpus.checker.every_run.model_check import NOT_LINEARIZABLE, check_model
from rumpus.checker.history import History, Operation, session_hex
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

TWO_DECISIONS = Kind("two-decisions", "one transaction was both committed and aborted")
INVALID_COMMIT = Kind(
    "invalid-commit", "a transaction was committed without a yes of every participant"
)
LOST_VOTE = Kind(
    "lost-vote", "an acknowledged vote is missing, or another one is in its place", logs=True
)
BLOCKED_TRANSACTION = Kind(
    "blocked-transaction", "a transaction was not decided although nothing prevented it", timed=True
)


@dataclass
class _Transaction:
    """A transaction in a history; ``decided``: decision -> the operations that returned it."""

    key: str
    begun: Operation | None = None
    votes: list[Operation] = field(default_factory=list)
    decided: dict[str, list[Operation]] = field(default_factory=dict)


class Standing(NamedTuple):
    """A vote as it is at the end of the servers' logs, with its author; both empty if deleted."""

    ballot: str
    author: str


class Decided(NamedTuple):
    """A decision in the servers' logs: ``commit`` or ``abort``, and the session that wrote it."""

    decision: str
    session: str


UNREADABLE: Final = "?"
"""The ballot of a vote whose data is none."""


class _Ballot(msgspec.Struct):
    """The data of a vote's node."""

    ballot: Literal["yes", "no"]
    author: str


def decisions_in_logs(timeline: Timeline) -> dict[str, list[Decided]] | None:
    """Key -> the different decisions that the servers committed for it, in their order.

    They are the data of ``<path>/<key>/decision...``. None without the servers' logs.
    """
    truth, path = timeline.truth, timeline.path
    if truth is None:
        return None
    found: dict[str, list[Decided]] = {}
    for txn in truth.committed:
        for effect in txn.effects:
            below = (effect.path or "").removeprefix(f"{path}/")
            key, _, node = below.partition("/")
            if below == effect.path or not node.startswith("decision"):
                continue
            decision = (effect.data or b"").decode(errors="replace")
            earlier = found.setdefault(key, [])
            if decision in ("commit", "abort") and all(e.decision != decision for e in earlier):
                earlier.append(Decided(decision, session_hex(txn.session)))
    return found


def votes_in_logs(timeline: Timeline) -> dict[tuple[str, str], Standing] | None:
    """Key and site -> the vote at the end of the logs; without nodes whose fate is uncertain.

    A site is the client that votes. Votes are the data of ``<path>/<key>/vote-<site>``.
    None without the servers' logs.
    """
    truth, path = timeline.truth, timeline.path
    if truth is None:
        return None
    contested = truth.contested()
    found: dict[tuple[str, str], Standing] = {}
    for txn in truth.committed:
        for effect in txn.effects:
            below = (effect.path or "").removeprefix(f"{path}/")
            key, _, node = below.partition("/")
            if not node.startswith("vote-") or effect.path in contested:
                continue
            vote = key, node.removeprefix("vote-")
            if effect.name == "delete":
                found[vote] = Standing("", "")
            elif effect.data is not None:
                found[vote] = _standing(effect.data)
    return found


def _standing(data: bytes) -> Standing:
    try:
        cast = msgspec.json.decode(data, type=_Ballot)
    except msgspec.DecodeError:
        return Standing(UNREADABLE, "")
    return Standing(cast.ballot, cast.author)


ORPHANS: Final = "coordinators dead to the end"
BY_OTHERS: Final = "decided without the coordinator"


@check(
    "commitments",
    finds=[TWO_DECISIONS, INVALID_COMMIT],
    least=[
        Least(5, "commits", "commits"),
        Least(5, "aborts", "aborts"),
        Least(1, ORPHANS, ORPHANS),
        Least(1, BY_OTHERS, BY_OTHERS),
    ],
)
def check_commitments(timeline: Timeline) -> CheckResult:
    """Judge agreement and validity; without logs it is not known which client decided."""
    history, on_servers = timeline.history, timeline.part(decisions_in_logs)
    result = CheckResult(name="commitments")
    transactions = _transactions(history)
    for transaction in transactions.values():
        commits = transaction.decided.get("commit", [])
        if len(transaction.decided) > 1:
            _two_decisions(history, transaction, result)
        if commits:
            _validity(history, transaction, commits, result)
    for key, decisions in (on_servers or {}).items():
        several = [each.decision for each in decisions]
        if len(several) > 1:
            result.anomalies.append(
                Anomaly(
                    kind="two-decisions",
                    description=f"{key}: by the servers' logs it was {', then '.join(several)}",
                    start=history.start,
                    end=history.end,
                )
            )
    if on_servers is None:
        result.unknown.append("without the servers' logs it is unknown who decided")
    outcomes = [tuple(transaction.decided) for transaction in transactions.values()]
    result.stats = {
        "transactions": sum(t.begun is not None for t in transactions.values()),
        "commits": outcomes.count(("commit",)),
        "aborts": outcomes.count(("abort",)),
        ORPHANS: sum(map(_orphaned, transactions.values())),
        BY_OTHERS: None
        if on_servers is None
        else _without_coordinator(history, transactions, on_servers),
    }
    return result


@check("atomic-commitment", finds=[NOT_LINEARIZABLE], unless=["commitments"])
def check_commitment_by_model(timeline: Timeline) -> CheckResult:
    """Judge all operations once more, by the model of atomic commitment."""
    calls = [each.invoke for each in timeline.history.operations() if each.invoke.f == "begin"]
    parties = max((len(call.value["participants"]) for call in calls), default=None)
    return check_model(timeline, "atomic-commitment", "not-linearizable", initial=parties)


@check("votes", finds=[LOST_VOTE])
def check_votes(timeline: Timeline) -> CheckResult:
    """Judge that every acknowledged vote is still there at the end of the servers' logs."""
    history, standing = timeline.history, timeline.part(votes_in_logs)
    result = CheckResult(name="votes")
    compared = 0
    for operation, _ in history.answered("vote"):
        call = operation.invoke
        site = f"c{history.caller(call)}"
        found = (standing or {}).get((call.value["key"], site))
        if found is None:
            continue
        if found.ballot == UNREADABLE:
            result.unknown.append(f"{call.value['key']}: what {site} has voted is no ballot")
            continue
        compared += 1
        if found.ballot == call.value["value"]:
            continue
        instead = f"there is {found.author}'s {found.ballot}" if found.ballot else "there is none"
        what = f"{call.value['key']}: the {call.value['value']} of {site} was acknowledged"
        result.anomalies.append(
            anomaly_of(history, "lost-vote", f"{what}, but at the end {instead}", operation)
        )
    result.stats = {"votes compared": None if standing is None else compared}
    return result


@check("ends", finds=[BLOCKED_TRANSACTION])
def check_ends(timeline: Timeline) -> CheckResult:
    """Judge the final phase: every transaction has an end, and every client learns it."""
    history = timeline.history
    result = CheckResult(name="ends")
    phase = healed_phase(history, result)
    if phase is None:
        return result
    begun = {str(o.invoke.value["key"]): o for o, _ in history.answered("begin")}
    for client, own in phase.tries("outcomes").items():
        told = [o.completion for o in own if o.outcome == "ok" and o.completion is not None]
        if not told and not phase.ended:
            result.unknown.append(f"the final phase was cut short before c{client} had an answer")
            continue
        outcomes = told[-1].value["outcomes"] if told else {}
        blocked = set(begun) - set(outcomes) if told else {"every transaction"}
        blocked |= set(told[-1].value["blocked"]) if told else set()
        result.anomalies += [
            Anomaly(
                kind="blocked-transaction",
                description=f"{key}: c{client} could not learn its end with every fault healed",
                ops=[index for o in own for index in o.indices],
                clients=[client],
                start=own[0].invoke.time,
                end=history.end,
            )
            for key in sorted(blocked)
        ]
    return result


def _transactions(history: History) -> dict[str, _Transaction]:
    found: dict[str, _Transaction] = {}

    def of(key: str) -> _Transaction:
        return found.setdefault(key, _Transaction(key))

    for operation in history.operations():
        call, done = operation
        if call.f == "begin":
            of(call.value["key"]).begun = operation
        elif call.f == "vote":
            of(call.value["key"]).votes.append(operation)
        elif call.f == "decide" and operation.outcome == "ok" and done is not None:
            of(call.value["key"]).decided.setdefault(done.value["value"], []).append(operation)
        elif call.f == "outcomes" and operation.outcome == "ok" and done is not None:
            for key, decision in done.value["outcomes"].items():
                of(key).decided.setdefault(decision, []).append(operation)
    return found


def _two_decisions(history: History, transaction: _Transaction, result: CheckResult) -> None:
    firsts = [operations[0] for operations in transaction.decided.values()]
    words = [
        f"c{history.caller(first)} learned {decision}"
        for decision, first in zip(transaction.decided, firsts, strict=True)
    ]
    result.anomalies.append(
        anomaly_of(history, "two-decisions", f"{transaction.key}: {' and '.join(words)}", *firsts)
    )


def _validity(
    history: History, transaction: _Transaction, commits: list[Operation], result: CheckResult
) -> None:
    """All participants had called ``vote`` yes before the first commit returned; none voted no."""
    begun = transaction.begun
    if begun is None:
        result.unknown.append(f"{transaction.key}: it was committed, but no client began it")
        return
    first = min(commits, key=_returned)
    yes: set[int] = set()
    refusals: list[Operation] = []
    for vote in transaction.votes:
        client = history.caller(vote)
        ballot = vote.invoke.value["value"]
        if ballot == "no" and vote.outcome == "ok":
            refusals.append(vote)
        in_time = vote.invoke.time <= _returned(first)
        if ballot == "yes" and vote.outcome != "fail" and in_time:
            yes.add(client)
    agreed = {f"c{client}" for client in yes}
    missing = [name for name in begun.invoke.value["participants"] if name not in agreed]
    if not missing and not refusals:
        return
    without = ", ".join(missing)
    if refusals:
        without = f"c{history.caller(refusals[0])}, which voted no"
    result.anomalies.append(
        anomaly_of(
            history,
            "invalid-commit",
            f"{transaction.key}: committed without a yes of {without}",
            begun,
            *refusals[:1],
            first,
        )
    )


def _orphaned(transaction: _Transaction) -> bool:
    """Whether it was begun for certain by a site that died: not the ``coordinator`` itself."""
    begun = transaction.begun
    if begun is None or begun.outcome != "ok":
        return False
    coordinator = begun.invoke.value.get("coordinator")
    return bool(begun.invoke.value.get("site", coordinator) != coordinator)


def _without_coordinator(
    history: History,
    transactions: Mapping[str, _Transaction],
    on_servers: Mapping[str, Iterable[Decided]],
) -> int:
    """The number of transactions whose decision was not written by the client that began them."""
    clients = {
        op.value["session"]: op.value["client"]
        for op in history.events("session", "connected")
        if op.value.get("session")
    }
    count = 0
    for key, decisions in on_servers.items():
        begun = transactions[key].begun if key in transactions else None
        writers = {clients.get(each.session) for each in decisions} - {None}
        if begun is not None and writers:
            count += history.caller(begun) not in writers
    return count


def _returned(operation: Operation) -> int:
    return (operation.completion or operation.invoke).time
