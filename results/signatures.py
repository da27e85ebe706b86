"""What a run has been through, as a set of state signatures: the measure of an exploration."""

from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

from rumpus.checker.history import History, Op
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.timeline import Timeline

_SESSION: Final = {
    "connected": "connected",
    "suspended": "suspended",
    "lost": "lost",
    "paused": "frozen",
    "resumed": "running",
    "exited": "dead",
    "started": "started",
}
"""Event of a session -> the state that begins with it."""


def signatures(timeline: Timeline) -> frozenset[int]:
    """The transitions of clients that a run has seen, each as a 32-bit number.

    A transition is a client's state before, what happened, and the kinds of fault in force. The
    state is that of the session, the operation in progress, and whether the client believes that
    it holds. How often a transition occurred does not count, nor which client it was.
    """
    history, faults = timeline.history, _Faults(timeline.faults)
    states: dict[int, dict[str, str]] = {}
    found = set()
    for op in history:
        for client, part, value in _changes(history, op):
            state = states.setdefault(client, {"session": "new", "operation": "", "belief": ""})
            if state[part] != value:
                kinds = faults.at(op.time)
                found.add(crc32("|".join([*state.values(), part, value, *kinds]).encode()))
                state[part] = value
    return frozenset(found)


def _changes(history: History, op: Op) -> Iterator[tuple[int, str, str]]:
    """The client, the part of its state and the new value that a record tells."""
    if isinstance(op.process, int):
        client = history.client_of(op.process)
        if op.type == "invoke":
            yield client, "operation", op.f
        else:
            yield client, "operation", f"after {op.f}: {op.type}"
    elif op.process == "session":
        client = op.value.get("client")
        if op.f in ("believes", "doubts"):
            yield client, "belief", op.f
        elif op.f in _SESSION:
            yield client, "session", _SESSION[op.f]


class _Faults:
    """Which kinds of fault are in force; asked for times in ascending order."""

    def __init__(self, faults: Sequence[FaultWindow]) -> None:
        edges: list[tuple[int, int, str]] = []
        for window in faults:
            edges.append((window.in_force or window.begun, 1, window.kind))
            if window.ended is not None:
                edges.append((window.ended, -1, window.kind))
        self._edges = sorted(edges, reverse=True)
        self._counts: dict[str, int] = {}
        self._kinds: list[str] = []

    def at(self, time: int) -> list[str]:
        """The kinds in force, sorted."""
        changed = False
        while self._edges and self._edges[-1][0] <= time:
            _, step, kind = self._edges.pop()
            self._counts[kind] = self._counts.get(kind, 0) + step
            changed = True
        if changed:
            self._kinds = sorted(kind for kind, count in self._counts.items() if count > 0)
        return self._kinds
