"""Which member owns which part of a shared set: each part is like a lock of its own.

An ``acquire`` that is ok has ``parts``: name -> {node, token, session}. It is a hold of each of
these parts. ``shared-partition`` is what ``checker.exclusion.mutual_exclusion`` calls split-brain
or double grant, for one part. In the final phase every member is asked in rounds ``own`` {round} ->
{parts}, when every member has had time to take its share and none joins or leaves. In each round
the answers together must be the whole set, and no part may be in two of them. Between two rounds
some members leave.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import Least, check
from rumpus.checker.deciders.locks.mutex import MUTEX
from rumpus.checker.every_run.final_phase import healed_phase
from rumpus.checker.exclusion.grants import TOKEN_REGRESSION, judge_tokens
from rumpus.checker.exclusion.holds_by_model import judge_holds_by_model
from rumpus.checker.exclusion.mutual_exclusion import KINDS, expired_while_holding, judge_exclusion
from rumpus.checker.history import History, Operation
from rumpus.checker.servers.server_truth import touched
from rumpus.checker.timeline.holds import Hold, Words, extract_holds
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.session_proofs import lives_by_grants
from rumpus.checker.timeline.timeline import Place, Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

SHARED_PARTITION = Kind("shared-partition", "two members owned one partition at once")
UNOWNED_PARTITION = Kind(
    "unowned-partition", "no member owned a partition although there were members", timed=True
)
PARTIAL_SHARE = Kind(
    "partial-share",
    "a member was told that its share was complete, but partitions were missing",
    logs=True,
)


LISTS_STALE = 2
"""For how many session timeouts a member list may be out of date when it is used."""


def holds_of_parts(history: History, words: Words) -> dict[str, list[Hold]]:
    """Part -> its holds, in order of grant; without the actions, for these do not name a part.

    A member that takes a share anew gives up what is not in it at some moment of that call, and the
    history does not say when. So its old hold counts only until the call.
    """
    records = {op.index: op for op in history}
    asked: dict[int, list[int]] = defaultdict(list)
    for operation in history.operations():
        if operation.invoke.f == words.acquire:
            asked[history.caller(operation)].append(operation.invoke.time)
    found: dict[str, list[Hold]] = defaultdict(list)
    for whole in extract_holds(history, words):
        again = asked[whole.client]
        after = bisect_right(again, whole.granted)
        hold = _until(again[after], whole) if after < len(again) else whole
        parts = records[hold.ops[1]].value.get("parts") or {}
        for part, grant in parts.items():
            session = grant["session"] or hold.session
            found[part].append(
                replace(hold, session=session, token=grant["token"], node=grant["node"], acts=[])
            )
    return dict(found)


def _until(time: int, hold: Hold) -> Hold:
    """A hold that is not believed in after a time, in ns."""
    beliefs = [(start, min(end, time)) for start, end in hold.beliefs if start < time]
    return replace(hold, beliefs=beliefs or [(hold.granted, hold.granted)])


@check(
    "shares",
    finds=[SHARED_PARTITION, TOKEN_REGRESSION, *KINDS],
    least=[Least(10, "handovers", "parts that got another owner")],
)
def check_shares(timeline: Timeline, parts: Sequence[str]) -> CheckResult:
    """Judge every part of the whole set by itself."""
    history, words, line = timeline.history, timeline.words, timeline.line
    every = holds_of_parts(history, words)
    handovers = expiries = tokens = 0
    shares = CheckResult(name="shares")
    for part in parts:
        holds = every.get(part, [])
        its = line and Place(line.kind, f"{line.path}/{part}", line.mark, line.shared)
        view = timeline.owners_in(its)
        named = Words(words.acquire, words.work, words.release, f"part {part}")
        result = judge_exclusion(
            history,
            holds,
            view or lives_by_grants(holds),
            named,
            lateness_matters="unaware-holder" in timeline.promises.prevents,
        )
        if not result.anomalies:
            result.anomalies += judge_holds_by_model(history, holds, MUTEX).anomalies
        for anomaly in result.anomalies:
            if anomaly.kind in ("split-brain", "double-grant"):
                anomaly.kind = "shared-partition"
        shares.anomalies += result.anomalies
        shares.unknown += result.unknown
        handovers += sum(later.client != earlier.client for earlier, later in pairwise(holds))
        if view is not None:
            expiries += len(expired_while_holding(holds, view))
        if timeline.promises.tokens:
            judged = judge_tokens(history, holds)
            shares.anomalies += judged.anomalies
            tokens += judged.stats["tokens"]
    shares.stats = {
        "holds": sum(map(len, every.values())),
        "handovers": handovers,
        "expiries_while_holding": expiries,
        "tokens": tokens,
    }
    return shares


def members_at_once(timeline: Timeline) -> Callable[[int, int], int] | None:
    """An upper bound of how many members a client may have read while it chose its share.

    Members are the ephemeral nodes below the group's znode, except those in the lines for parts.

    Returns:
        A function (start, end in ns) -> the upper bound; None if the logs do not tell. A call
        costs O(k log n), with n members ever and k of them that came in the span.
    """
    line, path = timeline.line, timeline.path
    if line is None or line.kind == "unknown" or timeline.logs is None:
        return None  # where the locks' nodes are not known, they cannot be told from members'
    lines, (truth, clock) = line.path, timeline.logs
    if truth.reasons:
        return None
    stale = int(LISTS_STALE * timeline.session_timeout * 1e9)

    def named(node: str) -> bool:
        return node.startswith(f"{path}/") and not node.startswith(f"{lines}/")

    spans = [
        (
            clock.monotonic(life.created_ms),
            inf if life.deleted_ms is None else clock.monotonic(life.deleted_ms),
        )
        for life in truth.znodes(path)
        if life.owner is not None and named(life.path)
    ]
    # Nodes of transactions of uncertain fate may exist on some server for good.
    spans += [
        (clock.monotonic(txn.time_ms), inf)
        for txn in truth.uncertain + truth.forked
        for node in sorted(touched(txn.effects))
        if named(node)
    ]

    births = sorted(born for born, _ in spans)
    deaths = sorted(gone for _, gone in spans)

    def members(begun: int, ended: int) -> int:
        since, until = begun - stale - CLOCK_SLACK_NS, ended + CLOCK_SLACK_NS
        came = births[bisect_right(births, since) : bisect_right(births, until)]
        return max(bisect_right(births, at) - bisect_left(deaths, at) for at in (since, *came))

    return members


def removals_of_parts(timeline: Timeline) -> dict[str, float]:
    """Path of a part's node -> when it was removed, in ns; of those that were, once, for good."""
    if timeline.logs is None or timeline.line is None:
        return {}
    truth, clock = timeline.logs
    if truth.reasons:
        return {}
    ends: dict[str, float] = {}
    for life in truth.znodes(timeline.path):
        if life.path.startswith(f"{timeline.line.path}/"):
            ended = inf if life.deleted_ms is None else clock.monotonic(life.deleted_ms)
            ends[life.path] = max(ended, ends.get(life.path, -inf))
    return ends


@check("sizes", finds=[PARTIAL_SHARE])
def check_sizes(timeline: Timeline, parts: Sequence[str]) -> CheckResult:
    """Judge that no share that was called complete lacks something: ``partial-share``.

    With n members, the i-th gets the i-th, (i+n)-th, ... part. So with at most n members every
    share has at least the number of parts divided by n, rounded down. And each part in it was the
    member's at some moment of the call: its node, if it is named, was there.

    Args:
        timeline: the run.
        parts: the whole set.
    """
    history, words, members = timeline.history, timeline.words, timeline.part(members_at_once)
    result = CheckResult(name="sizes")
    if members is None and timeline.logs is not None:
        result.unjudged.append(
            "whether a share was too small (partial-share): the servers' logs have gaps, or nobody "
            "says which znodes are the parts' locks (`line`)"
        )
    sizes = []
    gone = timeline.part(removals_of_parts)
    for operation, done in history.answered(words.acquire):
        call = operation.invoke
        named = done.value.get("parts") or {}
        own = len(named)
        sizes.append(own)
        for part, grant in sorted(named.items()):
            removed = gone.get((grant or {}).get("node") or "", inf)
            if removed < call.time - CLOCK_SLACK_NS:
                result.anomalies.append(
                    anomaly_of(
                        history,
                        "partial-share",
                        f"c{history.caller(call)} was told that it owns {part}, though its node "
                        f"was removed {(call.time - removed) / 1e6:.0f} ms before it asked",
                        operation,
                    )
                )
        if members is None:
            continue
        at_most = members(_informed(timeline, history.caller(call), call.time), done.time)
        least = len(parts) // max(1, at_most)
        if own >= least:
            continue
        client = history.caller(call)
        result.anomalies.append(
            anomaly_of(
                history,
                "partial-share",
                f"c{client} was told that its share was complete with {own} of {len(parts)} "
                f"parts, although with at most {at_most} members it is at least {least}",
                operation,
            )
        )
    result.stats = {"shares": len(sizes), "empty shares": sizes.count(0)}
    return result


def _informed(timeline: Timeline, client: int, called: int) -> int:
    """When a client's list of members was last sure to be up to date; ``called`` if it may be now.

    Who is frozen or cut off learns of nothing, and acts by what it knew before.
    """
    stale = int(LISTS_STALE * timeline.session_timeout * 1e9)
    spans = timeline.disturbances.get(client, ())
    return min([called, *(start for start, end in spans if start < called <= end + stale)])


@check("ownership", finds=[UNOWNED_PARTITION, SHARED_PARTITION])
def check_ownership(timeline: Timeline, parts: Sequence[str]) -> CheckResult:
    """Judge the final phase: ``unowned-partition``, ``shared-partition``; see the module.

    The members are asked in rounds what they own, and some leave before the second round and the
    third. A round is not judged if one of these could not leave.
    """
    history = timeline.history
    result = CheckResult(name="ownership")
    asked = "members asked what they own once every fault was healed"
    phase = healed_phase(history, result, asked)
    if phase is None:
        return result
    answers: dict[int, dict[int, Operation]] = defaultdict(dict)
    leaving: dict[int, bool] = {}
    for operation in phase.operations:
        call = operation.invoke
        client = history.caller(call)
        if call.f == "leave":
            leaving[client] = leaving.get(client, False) or operation.outcome == "ok"
        elif call.f == "own" and operation.outcome == "ok":
            number = (call.value or {}).get("round", 0)
            if not number:
                leaving.clear()  # they have come back since
            if number and not all(leaving.values()):
                who = ", ".join(f"c{one}" for one, left in sorted(leaving.items()) if not left)
                result.unknown.append(
                    f"{who} could not leave, so others may have to wait for its share"
                )
                break
            answers[number][client] = operation
    phase.asked.observed = min((len(own) for own in answers.values()), default=0)
    for own in answers.values():
        if len(own) == history.clients:
            result.anomalies += _dealt_wrongly(own, parts)
    result.stats = {"members": len(answers[0])}
    return result


def _dealt_wrongly(answers: Mapping[int, Operation], parts: Sequence[str]) -> Iterator[Anomaly]:
    """Parts that have no owner, or several, by the answers of every client."""
    for part in parts:
        owners = {
            client: op
            for client, op in answers.items()
            if op.completion is not None and part in op.completion.value["parts"]
        }
        if len(owners) == 1:
            continue
        told = list((owners or answers).values())
        who = ", ".join(f"c{client}" for client in sorted(owners))
        yield Anomaly(
            kind="shared-partition" if owners else "unowned-partition",
            description=(
                f"{who} all said that they own part {part}"
                if owners
                else f"every member had time to take its share, but none owned part {part}"
            ),
            ops=[index for op in told for index in op.indices],
            clients=sorted(owners or answers),
            start=min(op.invoke.time for op in told),
            end=max((op.completion or op.invoke).time for op in told),
        )
