"""The herd effect: how many waiting clients one release wakes.

**Definition.** A *release* is the end of a holder's node: deleted by its client, or gone with its
session. It *wakes* a client if a server sends the client a watch event because of it while the
client waits, with an acquire open: ``deleted`` for the node itself, or ``child`` for the parent of
the line. A release counts once for each client that it wakes, and not for the releasing client.
``per_release`` is the number of wake-ups of all releases, divided by the number of releases.

Events are counted on the wire (records of process ``link``). To which release an event belongs:

- Nodes of a sequential line have unique names.
- Where all contenders make the same path, the event belongs to the latest deletion of that path
  before it. Its time is in the servers' logs; without them the call of the release is used.
- An event of the parent belongs to the latest change of the line before it, and counts if that was
  a release. Without the servers' logs such events are left out.

Where the servers' clocks were set during the run, their times are not those of the run, and it is
judged as without the logs.

Not every wake-up breaks a promise. A client that gave up an earlier attempt while the node existed
may have left a watch behind, which cannot be removed. The same goes for a client whose attempt has
used up its timeout and is about to fail: the client behind it already watches the same node. Where
several may hold at once, an attempt that was granted may have left a watch too. Such wake-ups are
counted (``left_over``), but not judged. Waiters for a shared lock (readers) are let in together:
they count as one.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.holds import Hold, patience, shares
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, NodesOfHolds, ServerView
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

HERD = Kind("herd", "one release woke more waiting clients than promised", lesser=True)


@dataclass(eq=False, slots=True)
class _Release:
    """The end of a hold's node: when the node was created, when it was gone, and the events sent.

    ``woken``: watch events that reached waiting clients, in order of time.
    """

    hold: Hold
    made: int
    gone: int
    woken: list[Op] = field(default_factory=list)


@check("herd", finds=[HERD])
def check_herd(timeline: Timeline) -> CheckResult:
    """Judge the wake-ups of each release; see the module. O(n log n).

    Where the recipe promises no bound they are only counted.
    """
    promised = timeline.promises.wakeups
    wakeups = None if promised is None else promised * timeline.permits
    history = timeline.history
    result = CheckResult(name="herd")
    attempts = _attempts(timeline)
    servers = timeline.servers
    releases = _releases(timeline.holds, servers)
    by_leavers = _collect_woken(history, releases, attempts, servers)
    in_all = left_over = largest = 0
    for release in releases:
        woken: dict[int, Op] = {}
        for op in release.woken:
            woken.setdefault(op.value["client"], op)
        sure = {
            client: op
            for client, op in woken.items()
            if not attempts[client].gave_up_since(release.made, op.time)
        }
        sharing = sum(attempts[client].shares_at(op.time) for client, op in sure.items())
        count = len(sure) - max(0, sharing - 1)
        largest = max(largest, count)
        in_all += len(woken)
        left_over += len(woken) - len(sure)
        if wakeups is not None and count > wakeups:
            result.anomalies.append(_anomaly(history, release.hold, sure, wakeups))
    result.stats = {
        "releases": len(releases),
        "wakeups": in_all,
        "per_release": round(in_all / len(releases), 3) if releases else None,
        "largest": largest,
        "left_over": left_over,
        "by_waiters_that_left": by_leavers,
    }
    return result


def _attempts(timeline: Timeline) -> dict[int, "_Attempts"]:
    """Client -> its attempts; one without any for every other client."""
    attempts: dict[int, _Attempts] = defaultdict(_Attempts)
    history = timeline.history
    for operation in history.operations():
        if operation.invoke.f == timeline.words.acquire:
            of_client = attempts[history.caller(operation)]
            end = operation.completion.time if operation.completion else history.end
            # An attempt that was granted leaves no watch on what another holds.
            gave_up = operation.outcome != "ok" or timeline.permits > 1
            of_client.add(operation.invoke, end, gave_up=gave_up)
            limit = patience(operation.invoke)
            if operation.outcome != "ok" and limit is not None:
                of_client.give_up(operation.invoke.time + round(limit * 1e9))
    return attempts


def _collect_woken(
    history: History,
    releases: Sequence[_Release],
    attempts: Mapping[int, "_Attempts"],
    server: ServerView | None,
) -> int:
    """Enter the watch events that reached waiting clients with the releases that caused them.

    Returns how many were caused by waiters that left the line.
    """
    changes = _Changes(server, releases)
    folders = {_folder(release) for release in releases}
    by_leavers = 0
    for op in history.events("link", "watch"):
        value = op.value
        event, path, client = value["event"], value["path"], value["client"]
        if not attempts[client].waits(op.time):
            continue
        known, release = changes.latest(event, path, op.time + CLOCK_SLACK_NS)
        if not known:
            by_leavers += event == "deleted" and path.rpartition("/")[0] in folders
        elif release is not None and client != release.hold.client:
            release.woken.append(op)
    return by_leavers


def _anomaly(history: History, hold: Hold, woken: dict[int, Op], promised: int) -> Anomaly:
    ops = list(woken.values())
    names = ", ".join(f"c{client}" for client in sorted(woken))
    return Anomaly(
        kind="herd",
        description=(
            f"the end of c{hold.client}'s node {hold.node} woke {len(woken)} waiting clients "
            f"({names}) at {at(history, ops[0].time)}; at most {promised} was "
            "promised"
        ),
        ops=[*hold.ops, *(op.index for op in ops)],
        clients=sorted(woken),
        start=ops[0].time,
        end=ops[-1].time,
    )


def _releases(holds: Sequence[Hold], server: ServerView | None) -> list[_Release]:
    """The end of each hold's node. Without the servers' logs the hold's own times are used."""
    nodes = NodesOfHolds(server) if server is not None else None
    found = []
    for hold in holds:
        if hold.node is None:
            continue
        owner = nodes.node_of(hold) if nodes is not None else None
        made = hold.called if owner is None else owner.created - CLOCK_SLACK_NS
        gone = hold.granted if hold.release_called is None else hold.release_called
        if owner is not None and owner.end is not None:
            gone = owner.end
        found.append(_Release(hold, made, gone))
    return found


class _Changes:
    """The ends of nodes, and the changes of lines, that can have caused watch events."""

    def __init__(self, server: ServerView | None, releases: Sequence[_Release]) -> None:
        self._server = server
        self._releases = releases
        self._ends = sorted(releases, key=_end)
        self._lines: dict[str, list[tuple[int, _Release | None]]] | None = None

    def latest(self, event: str, path: str, time: int) -> tuple[bool, _Release | None]:
        """Whether a known change can have caused an event, and the release that the change was.

        The change is the last one by ``time`` (ns), or the first if there is none before; None
        if it was not a release.
        """
        if event == "deleted":
            ends = self._ends
            place = bisect_right(ends, (path, time), key=_end)
            for near in (place - 1, place):
                if 0 <= near < len(ends) and ends[near].hold.node == path:
                    return True, ends[near]
        elif event == "child" and self._server is not None:
            changes = self._of_lines(self._server).get(path)
            if changes is not None:
                last = bisect_right(changes, time, key=lambda change: change[0]) - 1
                return True, changes[max(0, last)][1]
        return False, None

    def _of_lines(self, server: ServerView) -> dict[str, list[tuple[int, _Release | None]]]:
        """Parent of a line -> the line's changes in order of time."""
        if self._lines is None:
            found: dict[str, list[tuple[int, _Release | None]]] = defaultdict(list)
            for owner in server.owners:
                found[owner.path.rpartition("/")[0]].append((owner.created, None))
            for release in self._releases:
                found[_folder(release)].append((release.gone, release))
            for changes in found.values():
                changes.sort(key=lambda change: change[0])
            self._lines = found
        return self._lines


def _end(release: _Release) -> tuple[str, int]:
    return release.hold.node or "", release.gone


def _folder(release: _Release) -> str:
    return (release.hold.node or "").rpartition("/")[0]


class _Attempts:
    """One client's attempts, which follow one another: when each was called, and returned."""

    def __init__(self) -> None:
        self._called: list[int] = []
        self._returned: list[int] = []
        self._shared: list[bool] = []
        self._given_up: list[int] = []  # by number
        self._gives_up: dict[int, int] = {}  # by number

    def add(self, call: Op, returned: int, *, gave_up: bool) -> None:
        """Add an attempt; ``gave_up``: it may have left a watch on a node that outlived it."""
        self._called.append(call.time)
        self._returned.append(returned)
        self._shared.append(shares(call))
        if gave_up:
            self._given_up.append(len(self._called) - 1)

    def give_up(self, time: int) -> None:
        """Note that the attempt added last gives up at that time, though it may return later."""
        self._gives_up[len(self._called) - 1] = time

    def waits(self, time: int) -> bool:
        """Whether an attempt is open."""
        last = bisect_right(self._called, time) - 1
        return last >= 0 and self._returned[last] >= time

    def gave_up_since(self, start: int, time: int) -> bool:
        """Whether an attempt was given up after ``start`` and before ``time``."""
        present = bisect_right(self._called, time) - 1
        if self._gives_up.get(present, time) < time:
            return True
        before = bisect_left(self._given_up, present) - 1
        return before >= 0 and self._returned[self._given_up[before]] >= start

    def shares_at(self, time: int) -> bool:
        """Whether the last attempt that was called by then is for a shared lock."""
        return self._shared[bisect_right(self._called, time) - 1]
