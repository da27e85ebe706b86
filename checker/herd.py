"""The herd effect: how many waiting clients one release wakes.

Wake-ups are counted on the wire: each watch event that a server sent to a client is in the
history (process ``link``). A fair line's nodes have unique names, so all events for the
deletion of one node belong to one release.

Not every wake-up is the recipe's fault now: a client that had watched the node in an earlier
attempt, timed out and came back, is still told, because a watch cannot be taken back. So a
client counts only when all its attempts that ended after the node was made are its present
one; and when the node was made is bounded from below by the call of its owner's acquire.

Waiters who share what they wait for (readers) are let in together: they count as one.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from checker.history import History, Op
from checker.holds import Hold, Words, shares
from checker.verdict import Anomaly, CheckResult


def check_herd(
    history: History, holds: Sequence[Hold], words: Words, wakeups: int | None
) -> CheckResult:
    """Judge wake-ups for each release of a hold; ``wakeups`` None counts without judging.

    O(n log n): a client's attempts follow one another, so both their calls and their returns
    are in order of time.
    """
    result = CheckResult(name="herd")
    attempts: dict[int, _Attempts] = defaultdict(_Attempts)
    for call, completion in history.operations():
        if call.f == words.acquire:
            of_client = attempts[history.client_of(int(call.process))]
            of_client.called.append(call.time)
            of_client.returned.append(completion.time if completion else history.end)
            of_client.shared.append(shares(call))
    events: dict[str, list[Op]] = defaultdict(list)
    for op in history.events("link", "watch"):
        if op.value["event"] == "deleted":
            events[op.value["path"]].append(op)
    largest = 0
    woken_in_all = 0
    nodes = {hold.node: hold for hold in holds if hold.node is not None}
    for path, seen in events.items():
        hold = nodes.get(path)
        if hold is None:
            continue
        woken = {
            op.value["client"]: op
            for op in seen
            if attempts[op.value["client"]].only_one(hold.called, op.time)
        }
        sharing = sum(attempts[client].shares_at(op.time) for client, op in woken.items())
        count = len(woken) - max(0, sharing - 1)
        largest = max(largest, count)
        woken_in_all += len(woken)
        if wakeups is not None and count > wakeups:
            ops = list(woken.values())
            names = ", ".join(f"c{client}" for client in sorted(woken))
            result.anomalies.append(
                Anomaly(
                    kind="herd",
                    description=(
                        f"the end of c{hold.client}'s node {path} woke {len(woken)} waiting "
                        f"clients ({names}) at {(ops[0].time - history.start) / 1e9:.3f} s; "
                        f"at most {wakeups} was promised"
                    ),
                    ops=[*hold.ops, *(op.index for op in ops)],
                    clients=sorted(woken),
                    start=ops[0].time,
                    end=ops[-1].time,
                )
            )
    result.stats = {
        "wakeups": woken_in_all,
        "largest": largest,
        "per_release": round(woken_in_all / len(holds), 3) if holds else None,
    }
    return result


class _Attempts:
    """One client's attempts: when each was called, and when it returned."""

    def __init__(self) -> None:
        self.called: list[int] = []
        self.returned: list[int] = []
        self.shared: list[bool] = []

    def only_one(self, start: int, end: int) -> bool:
        """Whether one is open at the end, and no other was since the start."""
        first = bisect_left(self.returned, start)
        last = bisect_right(self.called, end) - 1
        return first == last and self.returned[last] >= end

    def shares_at(self, time: int) -> bool:
        """Whether the last that was called by then is for something shared."""
        return self.shared[bisect_right(self.called, time) - 1]
