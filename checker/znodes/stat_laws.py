"""Whether the fields of a znode's Stat agree with each other and with the operations.

"ZooKeeper Programmer's Guide, ZooKeeper Stat Structure". ``version`` counts changes of the data
since the creation, ``cversion`` children created and deleted, ``aversion`` changes of the ACL.
``czxid``, ``mzxid`` and ``pzxid`` are the zxids of the creation, of the last change of the data,
and of the last creation or deletion of a child. ``ctime`` and ``mtime`` are the times of the first
two.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

WRONG_STAT = Kind("wrong-stat", "a znode's Stat contradicts the operations on it")

Numbers = Mapping[str, int]
"""A Stat's fields."""


class Stat(TypedDict):
    """All fields of a Stat, under ZooKeeper's names."""

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
    """The result of an operation on a node: the node as the operation found or left it."""

    name: Name
    stat: NotRequired[Stat]
    data: NotRequired[str]
    children: NotRequired[list[str]]


class Sight(NamedTuple):
    """A successful operation that returned a Stat of a node."""

    pair: Operation
    name: str
    stat: Numbers


@check("stats", finds=[WRONG_STAT])
def check_stats(timeline: Timeline) -> CheckResult:
    """Check every Stat by itself, and against the other Stats of its node.

    Operations have a ``name``; results with a ``stat`` may also have ``data`` and ``children``.
    Every name is created once. ``set`` changes the data, ``grow`` and ``prune`` create and delete
    children, and ``allow`` changes the ACL, at most once.

    Cost: O(n log n).
    """
    history = timeline.history
    times = timeline.part(logged_times)
    result = CheckResult(name="stats")
    sights: dict[str, list[Sight]] = defaultdict(list)
    called: dict[str, Counter[str]] = defaultdict(Counter)
    for op in history:
        if isinstance(op.process, int) and op.type == "invoke" and isinstance(op.value, dict):
            called[op.value.get("name", "")][op.f] += 1
    for pair, done in history.answered():
        if "stat" in (done.value or {}):
            sights[done.value["name"]].append(Sight(pair, done.value["name"], done.value["stat"]))
    for name, own in sights.items():
        for sight in own:
            for law in _broken(sight, called[name], times or {}):
                result.anomalies.append(_anomaly(history, [sight], law))
        result.anomalies += _contradictions(history, own)
    result.stats = {"stats": sum(map(len, sights.values()))}
    return result


def logged_times(timeline: Timeline) -> dict[int, int] | None:
    """The time that each committed transaction has in the servers' logs, right or wrong.

    Returns:
        zxid -> ms since 1970; None if there are no logs.
    """
    if timeline.truth is None:
        return None
    return {txn.zxid: txn.stamp for txn in timeline.truth.committed}


def _broken(sight: Sight, called: Counter[str], times: Mapping[int, int]) -> Iterator[str]:
    """What is wrong with one Stat by itself, in words."""
    stat, f = sight.stat, sight.pair.invoke.f
    value: Mapping[str, Any] = sight.pair.done.value
    children = stat["numChildren"]
    if min(stat["mzxid"], stat["pzxid"]) < stat["czxid"]:
        yield "mzxid or pzxid is lower than czxid"
    if (stat["version"] == 0) != (stat["mzxid"] == stat["czxid"]):
        yield "version and mzxid disagree on whether the data were changed"
    if (stat["cversion"] == 0) != (stat["pzxid"] == stat["czxid"]):
        yield "cversion and pzxid disagree on whether children were created or deleted"
    if stat["cversion"] < children or (stat["cversion"] - children) % 2:
        yield "numChildren cannot result from the creations and deletions that cversion counts"
    if stat["version"] > called["set"]:
        yield f"version is higher than the number of sets called, {called['set']}"
    if stat["cversion"] > called["grow"] + called["prune"]:
        yield "cversion is higher than the number of creations and deletions of children called"
    if not (f == "allow") <= stat["aversion"] <= called["allow"]:
        yield f"aversion does not fit the number of ACL changes called, {called['allow']}"
    if stat["ephemeralOwner"]:
        yield "a persistent node has an ephemeralOwner"
    if "data" in value and stat["dataLength"] != len(value["data"].encode()):
        yield f"dataLength is not the length of the data, {len(value['data'].encode())}"
    if "children" in value and children != len(value["children"]):
        yield f"numChildren is not the number of children listed, {len(value['children'])}"
    for zxid, time in (("czxid", "ctime"), ("mzxid", "mtime")):
        logged = times.get(stat[zxid])
        if logged is not None and logged != stat[time]:
            yield f"{time} is not the time of its transaction in the servers' logs, {logged}"


def _contradictions(history: History, sights: list[Sight]) -> Iterator[Anomaly]:
    """Stats of one node that contradict each other."""
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
                    history, [other, sight], f"two Stats with one {place} differ in {differ[0]}"
                )
        if fields == ("ctime",):
            continue
        before: Sight | None = None
        for _, sight in sorted(first.items()):
            if before is not None and before.stat[fields[0]] >= sight.stat[fields[0]]:
                yield _anomaly(history, [before, sight], f"{fields[0]} does not grow with {place}")
            before = sight
    if len({sight.stat["czxid"] for sight in sights}) > 1:
        yield _anomaly(history, [sights[0], sights[-1]], "created once, but has two czxids")


def _anomaly(history: History, sights: list[Sight], law: str) -> Anomaly:
    last = sights[-1]
    shown = "; ".join(", ".join(f"{k} {v}" for k, v in each.stat.items()) for each in sights)
    return anomaly_of(
        history, "wrong-stat", f"{last.name}: {law} ({shown})", *(each.pair for each in sights)
    )
