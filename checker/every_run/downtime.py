"""When no leader was seen, and when clients were not connected."""

from collections import defaultdict

from rumpus.checker.history import History

Span = tuple[int, int]
"""From when to when, in nanoseconds on the run's clock."""


def leaderless(history: History) -> list[Span]:
    """The times in which the control process saw no leader."""
    found = []
    since: int | None = None
    for op in history.events("control", "leader"):
        if op.value["leader"] is None:
            since = op.time if since is None else since
        elif since is not None:
            found.append((since, op.time))
            since = None
    return found if since is None else [*found, (since, history.end)]


def disconnected(history: History) -> dict[int, list[Span]]:
    """Client -> when it was not connected, including the time before it first was."""
    found: dict[int, list[Span]] = defaultdict(list)
    down: dict[int, int] = {}
    for op in history.events("session"):
        client = op.value["client"]
        if op.f == "connected":
            since = down.pop(client, None if client in found else history.start)
            if since is not None:
                found[client].append((since, op.time))
        elif op.f in ("suspended", "lost", "exited", "closed"):
            down.setdefault(client, op.time)
    for client, since in down.items():
        found[client].append((since, history.end))
    return found
