"""Laws of a znode's Stat: what its fields say must fit together, and fit what was done.

"ZooKeeper Programmer's Guide, ZooKeeper Stat Structure". ``version`` counts changes of the data
since the creation, ``cversion`` children that came and went, ``aversion`` changes of the list.
``czxid``, ``mzxid`` and ``pzxid`` are the transactions of the creation, of the last change of the
data, and of the last child that came or went. ``ctime`` and ``mtime`` are the times of the first
two.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.history import History, Operation
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.verdict import Anomaly, CheckResult

Numbers = Mapping[str, int]
"""A Stat's fields."""


class Stat(TypedDict):
    """What a Stat consists of."""

    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeralOwner: int
    dataLength: int
    numChildren: int


Name = TypeVar("Name", bound=str)


class Told(TypedDict, Generic[Name]):
    """The answer of an operation on a node: the node as it found or left it."""

    name: Name
    stat: NotRequired[Stat]
    data: NotRequired[str]
    children: NotRequired[list[str]]


class Sight(NamedTuple):
    """An answered operation that came with a Stat of a node."""

    pair: Operation
    name: str
    stat: Numbers


def check_stats(history: History, times: Mapping[int, int] | None = None) -> CheckResult:
    """Hold all Stats against the laws, each by itself and with others of its node.

    Operations have a ``name``; what is answered with a ``stat`` may have ``data`` and ``children``,
    too. Names are used once. ``set`` changes the data, ``grow`` and ``prune`` the children, and
    ``allow`` the list, once at most.

    Args:
        history: of the run.
        times: zxid -> time of the transaction in the servers' logs, ms since 1970; None where
            they are not known, or clocks were set wrong.

    Cost: O(n log n).
    """
    result = CheckResult(name="stats")
    sights: dict[str, list[Sight]] = defaultdict(list)
    called: dict[str, Counter[str]] = defaultdict(Counter)
    for op in history:
        if isinstance(op.process, int) and op.type == "invoke" and isinstance(op.value, dict):
            called[op.value.get("name", "")][op.f] += 1
    for pair in history.operations():
        done = pair.completion
        if done is not None and done.type == "ok" and "stat" in (done.value or {}):
            sights[done.value["name"]].append(Sight(pair, done.value["name"], done.value["stat"]))
    for name, own in sights.items():
        for sight in own:
            for law in _broken(sight, called[name], times or {}):
                result.anomalies.append(_anomaly(history, [sight], law))
        result.anomalies += _contradictions(history, own)
    result.stats = {"stats": sum(map(len, sights.values()))}
    return result


CLOCKS_SET_WRONG = "clock-skew"
"""The kind of fault after which the times in logs, and in Stats, may be anything."""


def logged_times(truth: ServerTruth | None, faults: Collection[str]) -> dict[int, int] | None:
    """When each transaction was made, by the servers' logs, where that can be relied on.

    Args:
        truth: what the logs say; None when they are not at hand.
        faults: kinds that there were in the run.

    Returns:
        zxid -> ms since 1970; or None.
    """
    if truth is None or CLOCKS_SET_WRONG in faults:
        return None
    return {txn.zxid: txn.time_ms for txn in truth.committed}


def _broken(sight: Sight, called: Counter[str], times: Mapping[int, int]) -> Iterator[str]:
    """The laws that one Stat breaks by itself, in words."""
    stat, f = sight.stat, sight.pair.invoke.f
    assert sight.pair.completion is not None
    value: Mapping[str, Any] = sight.pair.completion.value
    children = stat["numChildren"]
    if min(stat["mzxid"], stat["pzxid"]) < stat["czxid"]:
        yield "a change comes before the creation"
    if (stat["version"] == 0) != (stat["mzxid"] == stat["czxid"]):
        yield "version and mzxid do not agree on whether the data were changed"
    if (stat["cversion"] == 0) != (stat["pzxid"] == stat["czxid"]):
        yield "cversion and pzxid do not agree on whether children came or went"
    if stat["cversion"] < children or (stat["cversion"] - children) % 2:
        yield "numChildren cannot come of as many arrivals and departures as cversion counts"
    if stat["version"] > called["set"]:
        yield f"version counts more changes than the {called['set']} that were asked for"
    if stat["cversion"] > called["grow"] + called["prune"]:
        yield "cversion counts more children than were to come and go"
    if not (f == "allow") <= stat["aversion"] <= called["allow"]:
        yield f"aversion does not count the {called['allow']} changes of the list"
    if stat["ephemeralOwner"]:
        yield "a persistent node has an owner"
    if "data" in value and stat["dataLength"] != len(value["data"].encode()):
        yield f"dataLength is not that of the data, {len(value['data'].encode())}"
    if "children" in value and children != len(value["children"]):
        yield f"numChildren is not that of the list, {len(value['children'])}"
    for zxid, time in (("czxid", "ctime"), ("mzxid", "mtime")):
        logged = times.get(stat[zxid])
        if logged is not None and logged != stat[time]:
            yield f"{time} is not the time of the transaction {zxid} in the servers' logs, {logged}"


def _contradictions(history: History, sights: list[Sight]) -> Iterator[Anomaly]:
    """Stats of one node that cannot both be right."""
    for place, fields in (
        ("czxid", ("ctime",)),
        ("mzxid", ("version", "mtime", "dataLength")),
        ("pzxid", ("cversion", "numChildren")),
    ):
        first: dict[int, Sight] = {}
        for sight in sights:
            other = first.setdefault(sight.stat[place], sight)
            differ = [each for each in fields if other.stat[each] != sight.stat[each]]
            if differ:
                yield _anomaly(
                    history, [other, sight], f"of one {place} there are two {differ[0]}s"
                )
        if fields == ("ctime",):
            continue
        before: Sight | None = None
        for _, sight in sorted(first.items()):
            if before is not None and before.stat[fields[0]] >= sight.stat[fields[0]]:
                yield _anomaly(history, [before, sight], f"{fields[0]} does not grow with {place}")
            before = sight
    if len({sight.stat["czxid"] for sight in sights}) > 1:
        yield _anomaly(history, [sights[0], sights[-1]], "created once, and with two czxids")


def _anomaly(history: History, sights: list[Sight], law: str) -> Anomaly:
    last = sights[-1]
    shown = "; ".join(", ".join(f"{k} {v}" for k, v in each.stat.items()) for each in sights)
    assert last.pair.completion is not None
    return anomaly_of(
        history, "wrong-stat", f"{last.name}: {law} ({shown})", *(each.pair for each in sights)
    )
