"""Waiters whose node has come to own on the server, but whose acquire does not return for long.

A waiter that misses that its turn has come sleeps on, until a later event or its own timeout wakes
it and so hides the mistake. The servers' logs show from when on its node owned. After that, and
after the last fault is over, its client is connected and its process runs, its acquire may take
only a bounded time to return: ``BOUND_NS``, and the recipe's lock-delay if it has one.
"""

from collections import defaultdict

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import STUCK_WAITER
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.calm import connections, unbroken_since
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, Ownership, ServerView
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

BOUND_NS = 2_500_000_000
"""How long an acquire may go on after its turn has come: a waiter needs a few milliseconds."""


@check("overdue", finds=[STUCK_WAITER])
def check_overdue(timeline: Timeline, bound: int = BOUND_NS) -> CheckResult:
    """Judge waiters whose turn had come. Without complete logs nothing is judged.

    O(n log n), and as much again for each fault that a wait runs into.
    """
    history, server = timeline.history, timeline.servers
    bound += round(timeline.promises.lock_delay * 1e9)
    result = CheckResult(name="overdue")
    if server is None:
        return result
    connected = connections(history)
    turns = _turns(history, server)
    windows = [(fault.begun, timeline.end_of(fault)) for fault in timeline.faults]
    longest = 0
    for operation in history.operations():
        call, done = operation
        if call.f != timeline.words.acquire:
            continue
        client = history.caller(call)
        returned = done.time if done is not None else history.end
        for owner in turns[client]:
            if not call.time - CLOCK_SLACK_NS <= owner.created <= returned:
                continue
            end = min(returned, owner.end if owner.end is not None else returned)
            since = max(owner.start, call.time)
            for start, over in sorted([*windows, *timeline.pauses.get(client, ())]):
                if start < end and over > since:
                    since = over
            unbroken = unbroken_since(connected[client], end)
            if unbroken is None:
                continue
            since = max(since, unbroken)
            longest = max(longest, end - since)
            if end - since > bound:
                result.anomalies.append(_stuck(timeline, operation, owner, since, end))
    result.stats = {"longest_wait_in_turn_ms": longest / 1e6}
    return result


def _turns(history: History, server: ServerView) -> dict[int, list[Ownership]]:
    """Client -> the nodes of its sessions that came to own."""
    clients = history.clients_of_sessions()
    turns = defaultdict(list)
    for owner in server.owners:
        if owner.path in server.turns and owner.session in clients:
            turns[clients[owner.session]].append(owner)
    return turns


def _stuck(
    timeline: Timeline, operation: Operation, owner: Ownership, since: int, end: int
) -> Anomaly:
    """An acquire that went on though its node owned, with nothing in its way from ``since`` on."""
    history = timeline.history
    client = history.caller(operation)
    return Anomaly(
        kind="stuck-waiter",
        description=(
            f"c{client}'s node {owner.path} owned the {timeline.words.thing} from "
            f"{at(history, owner.start)} on, but its acquire had not returned at "
            f"{at(history, end)}; for the last {(end - since) / 1e9:.1f} s it was connected and "
            "there was no fault"
        ),
        ops=operation.indices,
        clients=[client],
        start=since,
        end=end,
        length_ms=(end - since) / 1e6,
    )
