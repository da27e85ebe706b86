"""Waiters whose node has come to own on the server, but whose acquire does not return for long.

A waiter that misses that its turn has come sleeps on, until a later event or its own timeout wakes
it and so hides the mistake. The servers' logs show from when on its node owned. After that, and
after the last fault is over, its client is connected and its process runs, its acquire may take
only a bounded time to return.
"""

from collections import defaultdict

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import STUCK_WAITER
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

BOUND_NS = 2_500_000_000
"""How long an acquire may go on after its turn has come: a waiter needs a few milliseconds."""


@check("overdue", finds=[STUCK_WAITER])
def check_overdue(timeline: Timeline, bound: int = BOUND_NS) -> CheckResult:
    """Judge waiters whose turn had come. Without complete logs nothing is judged.

    O(n log n), and as much again for each fault that a wait runs into.
    """
    history, server, words = timeline.history, timeline.servers, timeline.words
    result = CheckResult(name="overdue")
    if server is None:
        return result
    clients = history.clients_of_sessions()
    connections: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for op in history.events("session"):
        client = op.value["client"]
        if op.f in ("connected", "suspended", "lost", "exited", "closed"):
            connections[client].append((op.time, op.f == "connected"))
    turns = defaultdict(list)
    for owner in server.owners:
        if owner.path in server.turns and owner.session in clients:
            turns[clients[owner.session]].append(owner)
    windows = [(fault.begun, timeline.end_of(fault)) for fault in timeline.faults]
    frozen = timeline.pauses
    longest = 0
    for operation in history.operations():
        call, done = operation
        if call.f != words.acquire:
            continue
        client = history.caller(call)
        returned = done.time if done is not None else history.end
        for owner in turns[client]:
            if not call.time - CLOCK_SLACK_NS <= owner.created <= returned:
                continue
            end = min(returned, owner.end if owner.end is not None else returned)
            since = max(owner.start, call.time)
            for start, over in sorted([*windows, *frozen.get(client, ())]):
                if start < end and over > since:
                    since = over
            before = [change for change in connections[client] if change[0] <= end]
            if not before or not before[-1][1]:
                continue
            since = max(since, before[-1][0])
            longest = max(longest, end - since)
            if end - since > bound:
                result.anomalies.append(
                    Anomaly(
                        kind="stuck-waiter",
                        description=(
                            f"c{client}'s node {owner.path} owned the {words.thing} from "
                            f"{at(history, owner.start)} on, but its acquire "
                            f"had not returned at "
                            f"{at(history, end)}; for the last "
                            f"{(end - since) / 1e9:.1f} s it was connected and there was no fault"
                        ),
                        ops=operation.indices,
                        clients=[client],
                        start=since,
                        end=end,
                        length_ms=(end - since) / 1e6,
                    )
                )
    result.stats = {"longest_wait_in_turn_ms": longest / 1e6}
    return result
