"""Whether a holder goes on believing that it holds, and may acquire again (re-entrance).

- ``unbelieving-holder``: a client was granted the lock and stopped believing that it holds,
  without a reason.
- ``refused-reentry``: a holder that called acquire again was refused, or was given another grant
  instead of its own.

A holder has a reason to stop believing if one of these happened between shortly before its grant
and shortly after its doubt: its connection was lost; its process was frozen or ended; its grant
ran out (``until``); it called something other than acquire, work and release (``die``, say); or
the servers' logs show that its node or its session had ended by then. A client that closes its
session by itself may stop believing some time before the session ends. A fault that is in force on
the client when it doubts is a reason, too, if it began within the hold.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from rumpus.checker.anomalies import anomaly_of_hold, at
from rumpus.checker.check import check
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.holds import Hold, Words
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, NodesOfHolds, ServerView
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

UNBELIEVING_HOLDER = Kind(
    "unbelieving-holder", "a holder stopped believing that it held it, without a reason"
)
REFUSED_REENTRY = Kind("refused-reentry", "a holder asked for it again and did not get it")

NOTICE_NS = 1_000_000_000
"""How far (ns) from a grant or a doubt its reason may be recorded: the order of records varies."""

CLOSING_NS = 5_000_000_000
"""How long (ns) a client that closes its session by itself may take for that."""

REASONS = frozenset({"suspended", "lost", "exited", "closed", "paused", "resumed"})


@check("entitlement", finds=[UNBELIEVING_HOLDER, REFUSED_REENTRY])
def check_entitlement(
    timeline: Timeline, dismissed: Callable[[Timeline], Collection[str]] = lambda _: ()
) -> CheckResult:
    """Judge doubts and re-entrant acquires; see the module. O(n log n).

    Args:
        timeline: the run.
        dismissed: finds the sessions whose clients were asked to release; they have a reason.
    """
    history, words = timeline.history, timeline.words
    result = CheckResult(name="entitlement")
    if timeline.unseen:  # nobody knows whether a holder was connected, and had no reason
        return result
    released = dismissed(timeline)
    held = [hold for hold in timeline.holds if hold.session not in released]
    known = _Known(history, held, timeline.servers, words)
    for op in history.events("session", "doubts"):
        hold = known.hold_at(op.value["client"], op.time)
        if hold is None or op.index not in hold.ops or known.reason(hold, op.time):
            continue
        if _cut_off(timeline, hold, op.time):
            continue
        result.anomalies.append(_unbelieving(history, hold, op, words))
    again = 0
    for operation in history.operations():
        call, done = operation
        if call.f != words.acquire or done is None:
            continue
        hold = known.hold_at(history.caller(call), call.time)
        if hold is None or not any(start <= call.time < end for start, end in hold.beliefs):
            continue
        again += 1
        # A hold that begins with this very call is a new grant, not the re-entrance of the old.
        same = done.type == "ok" and known.hold_at(hold.client, done.time) is hold
        if not same and not known.reason(hold, done.time):
            result.anomalies.append(_refused(history, hold, operation, words))
    result.stats = {"entered_again": again}
    return result


def _cut_off(timeline: Timeline, hold: Hold, time: int) -> bool:
    """Whether a fault was in force on the holder itself when it doubted, begun within the hold.

    A client that sends requests all the time is not told by kazoo that no answer comes
    (finding 21). A recipe that counts the time since the last answer notices it.
    """
    return any(
        f"c{hold.client}" in window.targets and hold.granted <= window.begun <= time
        for window in timeline.faults
        if timeline.end_of(window) >= time
    )


class _Known:
    """Each client's holds, and its possible reasons to stop believing in them."""

    def __init__(
        self, history: History, holds: Sequence[Hold], server: ServerView | None, words: Words
    ) -> None:
        self._server = server
        self._nodes = NodesOfHolds(server) if server is not None else None
        self._holds: dict[int, list[Hold]] = defaultdict(list)
        for hold in holds:
            self._holds[hold.client].append(hold)
        self._reasons: dict[int, list[int]] = defaultdict(list)
        self._ends: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for op in history:
            if isinstance(op.process, int):
                client = history.client_of(op.process)
                if op.f == words.acquire and op.type == "ok":
                    self._note_end(client, op)
                elif op.type == "invoke" and op.f not in (words.acquire, words.work, words.release):
                    self._reasons[client].append(op.time)
            elif op.process == "session":
                client = op.value["client"]
                self._note_end(client, op)
                if op.f in REASONS:
                    self._reasons[client].append(op.time)

    def _note_end(self, client: int, op: Op) -> None:
        until = op.value.get("until") if isinstance(op.value, dict) else None
        if until is not None:
            self._ends[client].append((op.time, until))

    def hold_at(self, client: int, time: int) -> Hold | None:
        """The client's latest hold that had been granted by then, if it had not released it."""
        holds = self._holds[client]
        place = bisect_right(holds, time, key=lambda hold: hold.granted) - 1
        if place < 0:
            return None
        hold = holds[place]
        return hold if hold.release_called is None or hold.release_called > time else None

    def reason(self, hold: Hold, time: int) -> bool:
        """Whether the holder had a reason not to believe at that time."""
        happened = self._reasons[hold.client]
        first = bisect_left(happened, hold.granted - NOTICE_NS)
        if first < len(happened) and happened[first] <= time + NOTICE_NS:
            return True
        ends = self._ends[hold.client]
        last = bisect_right(ends, (time, time)) - 1
        if last >= 0 and ends[last][0] >= hold.granted and ends[last][1] <= time:
            return True
        return self._server is not None and self._ended(hold, time)

    def _ended(self, hold: Hold, time: int) -> bool:
        """Whether its session or node had ended on the servers; true too if the logs do not say."""
        assert self._server is not None
        assert self._nodes is not None
        if not self._server.tells(hold.session, time):
            return True
        end = self._server.ended(hold.session)
        if end is not None and end.time <= time + (NOTICE_NS if end.expired else CLOSING_NS):
            return True
        node = self._nodes.node_of(hold)
        if node is None or node.end is None or node.end > time + CLOCK_SLACK_NS:
            return False
        if hold.release_called is None:
            return True
        # If its own release removed the node, that is no reason; servers stamp whole milliseconds.
        slack = CLOCK_SLACK_NS if node.deleted else 0
        return node.end < hold.release_called - slack


def _unbelieving(history: History, hold: Hold, doubt: Op, words: Words) -> Anomaly:
    return anomaly_of_hold(
        "unbelieving-holder",
        f"c{hold.client} was granted the {words.thing} at {at(history, hold.granted)} but at "
        f"{at(history, doubt.time)} no longer believed that it held it, although it had been "
        "connected all the time and had not released it",
        hold,
        doubt.time,
    )


def _refused(history: History, hold: Hold, operation: Operation, words: Words) -> Anomaly:
    call, done = operation.invoke, operation.done
    what = "was given another grant" if done.type == "ok" else f"got {done.type} ({done.error})"
    return Anomaly(
        kind="refused-reentry",
        description=(
            f"c{hold.client} held the {words.thing} since {at(history, hold.granted)}, asked for "
            f"it again at {at(history, call.time)} and {what} at {at(history, done.time)}, "
            "although it had been connected all the time and had not released it"
        ),
        ops=sorted({*hold.ops, *operation.indices}),
        clients=[hold.client],
        start=call.time,
        end=done.time,
    )
