"""Whether another thread of a holder's program is granted what that program's thread holds.

A lock that is re-entrant by thread, as Java's and Curator's ``InterProcessMutex`` are, excludes the
threads of one client from each other. A recipe that asks only whether *this client* holds lets any
of them in. Operation: ``trespass`` -> {granted}: while one thread holds, another one tries with the
same object, and releases again if it was granted. The servers see nothing of it: the client has one
node, whoever of its threads goes in.
"""

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.exclusion.mutual_exclusion import SPLIT_BRAIN
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

TRESPASS = "trespass"
"""The operation's name."""


@check("trespass", finds=[SPLIT_BRAIN])
def check_trespass(timeline: Timeline) -> CheckResult | None:
    """Judge the tries of other threads; see the module. None if there were none. O(n log n)."""
    history, words = timeline.history, timeline.words
    result = CheckResult(name="trespass")
    holds = {op: hold for hold in timeline.holds for op in hold.ops}
    latest: dict[int, int] = {}
    tried = False
    for operation in history.operations():
        call, done = operation
        client = history.caller(call)
        if call.f == words.acquire and done is not None and done.type == "ok":
            latest[client] = done.index
        if call.f != TRESPASS or done is None or done.type != "ok":
            continue
        hold = holds.get(latest.get(client, -1))
        # A thread that has lost its hold meanwhile excludes nobody.
        if hold is None or not any(
            start <= call.time and done.time <= end for start, end in hold.beliefs
        ):
            continue
        tried = True
        if done.value["granted"]:
            result.anomalies.append(
                Anomaly(
                    kind=SPLIT_BRAIN.name,
                    description=(
                        f"a thread of c{client} had held the {words.thing} since "
                        f"{at(history, hold.granted)}, and another thread of c{client} was granted "
                        f"it by {at(history, done.time)}"
                    ),
                    ops=sorted({*hold.ops, *operation.indices}),
                    clients=[client],
                    start=call.time,
                    end=done.time,
                )
            )
    return result if tried else None
