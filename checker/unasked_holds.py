"""Holds of those who come to hold outside of operations: from what their processes recorded.

A database's member becomes the primary without anybody asking. Its worker records ``believes``
when it comes to believe so, and ``doubts`` when it does not any more. Each belief is a hold.
"""

from checker.history import History, Op
from checker.holds import Hold, pauses


def unasked_holds(history: History) -> list[Hold]:
    """All beliefs in order of their beginning; their processes are named by their clients.

    One that is still open at the end lasts until then.
    """
    holds: list[Hold] = []
    believing: dict[int, Hold] = {}

    def stop(client: int, op: Op) -> None:
        hold = believing.pop(client, None)
        if hold is not None:
            hold.beliefs.append((hold.granted, op.time))
            hold.ops.append(op.index)

    for op in history.events("session"):
        client = op.value["client"]
        if op.f in ("doubts", "exited"):
            stop(client, op)
        elif op.f == "believes" and client not in believing:
            hold = Hold(
                client, client, op.time, op.time, session=op.value.get("session"), ops=[op.index]
            )
            believing[client] = hold
            holds.append(hold)
    for hold in believing.values():
        hold.beliefs.append((hold.granted, history.end))
    frozen = pauses(history)
    for hold in holds:
        hold.pauses = [
            (start, end)
            for start, end in frozen.get(hold.client, [])
            if start < hold.believed_until and end > hold.granted
        ]
    return holds
