"""Holds of those who come to hold outside of operations: from what their processes recorded.

A database's member becomes the primary without anybody asking. Its worker records ``believes``
when it comes to believe so, and ``doubts`` when it does not any more; or ``until`` when it
believes so unless that is renewed by another ``believes``. Each belief is a hold, and counts as
released where its session was seen to be connected again afterwards: then it was not too late.
"""

from rumpus.checker.history import History
from rumpus.checker.holds import Hold, pauses


def unasked_holds(history: History) -> list[Hold]:
    """All beliefs in order of their beginning; their processes are named by their clients.

    One that is still open at the end lasts until then.
    """
    holds: list[Hold] = []
    believing: dict[int, Hold] = {}

    until: dict[int, int] = {}

    def stop(client: int, time: int) -> None:
        hold = believing.pop(client, None)
        if hold is not None:
            end = min(time, until.pop(client, time))
            hold.beliefs.append((hold.granted, max(hold.granted, end)))

    for op in history.events("session"):
        client = op.value["client"]
        if client in believing and (
            op.f in ("doubts", "exited") or until.get(client, op.time) < op.time
        ):
            believing[client].ops += (op.index,)
            stop(client, op.time)
        if op.f == "believes":
            if client not in believing:
                hold = believing[client] = Hold(
                    client, client, op.time, op.time, session=op.value.get("session")
                )
                hold.ops += (op.index,)
                holds.append(hold)
            if "until" in op.value:
                until[client] = op.value["until"]
    for client in list(believing):
        stop(client, history.end)
    frozen = pauses(history)
    connected = {op.value.get("session"): op.time for op in history.events("session", "connected")}
    for hold in holds:
        hold.released = connected.get(hold.session, -1) >= hold.believed_until
        hold.pauses = [
            (start, end)
            for start, end in frozen.get(hold.client, [])
            if start < hold.believed_until and end > hold.granted
        ]
    return holds
