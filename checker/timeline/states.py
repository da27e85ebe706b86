"""The states of sessions, client processes and the leader over time, as a history records them."""

from collections.abc import Iterable

import msgspec

from rumpus.checker.history import History


class Interval(msgspec.Struct, kw_only=True, gc=False):
    """A bar of a timeline, from ``start`` to ``end`` in nanoseconds.

    ``kind`` is ``belief`` (the client believes that it holds), ``grant`` (it owns the lock on the
    servers; ``label``: the node's path),
    ``session`` (``label``: connected, suspended or lost), ``fault`` (``label``: its kind and
    targets; ``client`` is None), ``paused`` or ``dead`` (the client's process), ``leader``
    (``label``: which server leads). ``token`` is the fencing token of the grant, if it has one.
    """

    kind: str
    start: int
    end: int
    client: int | None = None
    label: str = ""
    token: int | None = None


_SESSION = ("connected", "suspended", "lost")
_PROCESS = {"paused": "paused", "exited": "dead", "resumed": "", "started": ""}


def state_intervals(history: History) -> list[Interval]:
    """Intervals of the kinds ``session``, ``paused``, ``dead`` and ``leader``.

    A state lasts until the next record of the same sort, or to the history's end. A client whose
    process exits has no session state until its next process connects.
    """
    changes: dict[tuple[str, int | None], list[tuple[int, str]]] = {}
    for op in history.events("session"):
        client = op.value["client"]
        if op.f in _SESSION or op.f == "exited":
            state = op.f if op.f in _SESSION else ""
            changes.setdefault(("session", client), []).append((op.time, state))
        if op.f in _PROCESS:
            changes.setdefault(("process", client), []).append((op.time, _PROCESS[op.f]))
    for op in history.events("control", "leader"):
        changes.setdefault(("leader", None), []).append((op.time, str(op.value["leader"] or "")))
    return [
        Interval(
            kind=state if sort == "process" else sort,
            start=start,
            end=end,
            client=client,
            label=state,
        )
        for (sort, client), states in changes.items()
        for start, end, state in _stretches(states, history.end)
        if state
    ]


def _stretches(changes: list[tuple[int, str]], end: int) -> Iterable[tuple[int, int, str]]:
    """Each state with its start and end; repeated records of a state are one stretch."""
    since, state = changes[0]
    for time, following in changes[1:]:
        if following != state:
            yield since, time, state
            since, state = time, following
    yield since, end, state
