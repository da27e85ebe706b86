"""Shares that a member was given although the members had not been the same for long enough.

A partitioner may promise a *time boundary*: it completes a share only when the members have not
changed for that long, so that members who start one after the other do not share out the set each
time. kazoo's ``SetPartitioner`` documents it: "How long the party members must be stable before
allocation can complete."

A member cannot keep that for changes of which it has not heard: a watch event takes time. So a
share comes too soon only after a change that the member knew:

- **it joined itself**, by the servers' logs, and was told that its share was complete sooner;
- **it was sent a watch event** for the list of members, then took the lock of a part of the share,
  and was told that the share was complete sooner. What the servers send comes in order, so the
  answer to the lock's creation came after the event. This is not judged if anything was in the
  member's way meanwhile.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import Op, Operation
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind
from rumpus.checker.wire.records import Event

HASTY_SHARE = Kind(
    "hasty-share",
    "a member was told that its share was complete although the members had changed just before, "
    "as it knew",
    logs=True,
)


@dataclass(frozen=True)
class _Changes:
    """What members knew of changes, and when their locks were made; times in ns.

    Attributes:
        joined: session -> when it created entries of its own, in order.
        told: client -> when it was sent an event for the list of members, in order.
        locked: (path, czxid) of a lock's node -> when it was created.
    """

    joined: Mapping[str | None, Sequence[int]]
    told: Mapping[int, Sequence[int]]
    locked: Mapping[tuple[str, int], int]


def changes_of_members(timeline: Timeline) -> _Changes | None:
    """What members knew; None if the logs do not tell.

    Members are the ephemeral nodes below the group's znode, except those in the lines for parts.
    """
    line, path = timeline.line, timeline.path
    if line is None or line.kind == "unknown" or timeline.logs is None:
        return None  # where the locks' nodes are not known, they cannot be told from members'
    lines, (truth, clock) = f"{line.path}/", timeline.logs
    if truth.reasons:
        return None
    joined: dict[str | None, list[int]] = defaultdict(list)
    locked = {}
    lists = set()
    for life in truth.znodes(path):
        made = clock.monotonic(life.created_ms)
        if life.path.startswith(lines):
            locked[life.path, life.czxid] = made
        elif life.owner is not None:
            joined[life.owner].append(made)
            lists.add(life.path.rpartition("/")[0])
    told: dict[int, list[int]] = defaultdict(list)
    for record in timeline.wire:
        if isinstance(record, Event) and record.what == "child" and record.path in lists:
            told[record.client].append(record.sent)
    return _Changes(
        {session: sorted(times) for session, times in joined.items()},
        {client: sorted(times) for client, times in told.items()},
        locked,
    )


@check("stability", finds=[HASTY_SHARE])
def check_stability(timeline: Timeline) -> CheckResult | None:
    """Judge the shares of a recipe that promises a time boundary: ``hasty-share``."""
    boundary = round(timeline.promises.time_boundary * 1e9)
    if not boundary:
        return None
    result = CheckResult(name="stability")
    known = changes_of_members(timeline)
    if known is None:
        if timeline.logs is not None:
            result.unjudged.append(
                "whether shares came before the members were stable (hasty-share): the servers' "
                "logs have gaps, or nobody says which znodes are the parts' locks (`line`)"
            )
        return result
    for operation, done in timeline.history.answered(timeline.words.acquire):
        since, what = max(_known(timeline, known, operation, done), default=(None, ""))
        if since is not None and done.time - since < boundary - CLOCK_SLACK_NS:
            result.anomalies.append(_hasty(timeline, operation, done, since, what))
    return result


def _known(
    timeline: Timeline, known: _Changes, operation: Operation, done: Op
) -> Iterator[tuple[int, str]]:
    """The last changes that a member knew before it completed a share: when, and what."""
    value, client = done.value, timeline.history.caller(operation)
    joins = known.joined.get(value.get("session"), ())
    if joined := bisect_right(joins, done.time):
        yield joins[joined - 1], "it had joined"
    locks = [
        known.locked.get((grant["node"] or "", grant["token"] or 0), 0)
        for grant in (value.get("parts") or {}).values()
    ]
    told = known.told.get(client, ())
    before = bisect_left(told, max(locks, default=0) - CLOCK_SLACK_NS)
    if before and not _disturbed(timeline, client, told[before - 1], done.time):
        yield told[before - 1], "it was told that the members had changed"


def _disturbed(timeline: Timeline, client: int, start: int, end: int) -> bool:
    spans = timeline.disturbances.get(client, ())
    return any(begun < end and start < over for begun, over in spans)


def _hasty(timeline: Timeline, operation: Operation, done: Op, since: int, what: str) -> Anomaly:
    history = timeline.history
    client = history.caller(operation)
    return anomaly_of(
        history,
        HASTY_SHARE.name,
        f"c{client} was told at {at(history, done.time)} that its share was complete, "
        f"{(done.time - since) / 1e6:.0f} ms after {what}; the members have to be stable for "
        f"{timeline.promises.time_boundary:g} s",
        operation,
    )
