"""Holds that no operation asked for, from the records of the clients' workers.

A member of a replicated database becomes the primary without a call by a client. Its worker records
``believes`` when it comes to believe that it is, and ``doubts`` when it no longer does. A
``believes`` may carry ``until``: then the belief ends at that time, unless another ``believes``
renews it. Each belief is a hold. It counts as released if its session was connected again after
it: then the belief ended before the session did.
"""

from rumpus.checker.history import History
from rumpus.checker.timeline.holds import Hold, pauses


def unasked_holds(history: History) -> list[Hold]:
    """All beliefs in order of their beginning, each as a hold whose process is its client.

    A belief that is still open at the end of the history lasts until then.
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
