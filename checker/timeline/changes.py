"""Who changed which znode, and in which call; by the servers' logs."""

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from rumpus.checker.history import History, Operation, session_hex
from rumpus.checker.servers.server_truth import Ending, ServerTruth
from rumpus.checker.timeline.clock import WallClock

SLACK_NS = 1_000_000
"""Servers stamp whole milliseconds: a change happened up to this long after its time."""


BY_SERVERS: Final = frozenset({"expired", "reaped", "unlogged"})
"""How znodes change by what servers do of themselves, and no client asked for."""

_TOUCHING = 4
"""How many operations of one client may touch a millisecond."""

_NEXT = 8


class Change(NamedTuple):
    """One change of a znode.

    ``how``: ``created``, ``written`` (its data were), or how it ended. ``client`` is whose session
    asked for it, or whose session's end caused it; None if the history does not tell. ``call`` is
    that client's operation in which it happened; None if there was none. ``owner`` is the session
    of an ephemeral znode.
    """

    time: int
    zxid: int
    how: Literal["created", "written"] | Ending
    path: str
    session: str
    client: int | None = None
    call: Operation | None = None
    data: bytes | None = None
    owner: str | None = None


class Calls:
    """The operations of each client; a query takes logarithmic time."""

    def __init__(self, history: History) -> None:
        self._calls: dict[int, list[Operation]] = defaultdict(list)
        for operation in history.operations():
            self._calls[history.caller(operation)].append(operation)

    def about(self, client: int, time: int, within: int = 0) -> Sequence[Operation]:
        """The operations that a client had open at a time, or at some moment soon after it.

        Args:
            client: its number.
            time: in ns on the run's clock.
            within: how long after it (ns).
        """
        calls = self._calls.get(client, [])
        place = bisect_right(calls, time + within, key=lambda call: call.invoke.time)
        return [
            call for call in calls[max(0, place - _TOUCHING) : place] if _returned(call) >= time
        ]

    def before(self, client: int, time: int) -> Operation | None:
        """The last operation that a client had called before a time."""
        calls = self._calls.get(client, [])
        place = bisect_right(calls, time, key=lambda call: call.invoke.time)
        return calls[place - 1] if place else None

    def after(self, client: int, time: int) -> Sequence[Operation]:
        """The next operations that a client called after a time."""
        calls = self._calls.get(client, [])
        place = bisect_right(calls, time, key=lambda call: call.invoke.time)
        return calls[place : place + _NEXT]


def _returned(call: Operation) -> int:
    return 1 << 62 if call.completion is None else call.completion.time


def changes_of(
    history: History, truth: ServerTruth, clock: WallClock, calls: Calls
) -> Mapping[str, Sequence[Change]]:
    """Path -> what happened to the znode, in the order of the servers. O(n log n)."""
    clients = history.clients_of_sessions()
    found: dict[str, list[Change]] = defaultdict(list)
    candidates: list[tuple[Change, tuple[Operation, ...]]] = []
    usual: Counter[tuple[str, str]] = Counter()
    for each in heapq.merge(_lives(truth), _writes(truth), key=lambda each: each.zxid):
        time, client = clock.monotonic(each.time), clients.get(each.session)
        change = each._replace(time=time, client=client)
        open_then: tuple[Operation, ...] = ()
        if client is not None and each.how not in BY_SERVERS:
            open_then = tuple(calls.about(client, time, SLACK_NS))
            if len(open_then) == 1:
                usual[each.how, open_then[0].invoke.f] += 1
        candidates.append((change, open_then))
    for change, open_then in candidates:
        # Of two operations in one millisecond, the one that most often makes such changes.
        call = max(open_then, key=lambda call: usual[change.how, call.invoke.f], default=None)
        # A time in ms may lie before the call.
        time = change.time if call is None else max(change.time, call.invoke.time)
        found[change.path].append(change._replace(time=time, call=call))
    return found


def _lives(truth: ServerTruth) -> Sequence[Change]:
    """Beginnings and ends of znodes, with the servers' times in ms, in the order of the servers."""
    found = []
    for life in truth.znodes():
        path, owner = life.path, life.owner
        made = Change(life.created_ms, life.czxid, "created", path, life.created_by)
        found.append(made._replace(data=life.data, owner=owner))
        if life.deleted_ms is not None and life.deleted_zxid is not None and life.how is not None:
            by = life.deleted_by or owner or ""
            gone = Change(life.deleted_ms, life.deleted_zxid, life.how, path, by, owner=owner)
            found.append(gone)
    return sorted(found, key=lambda each: each.zxid)


def _writes(truth: ServerTruth) -> Iterator[Change]:
    """New data of znodes, with the servers' times in ms."""
    for txn in truth.committed:
        for effect in txn.effects:
            if effect.name == "setData" and effect.path is not None:
                session = session_hex(effect.session)
                change = Change(effect.time_ms, effect.zxid, "written", effect.path, session)
                yield change._replace(data=effect.data)
