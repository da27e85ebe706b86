"""How much of a run's load a quorum served, and each client was connected: a measure, not judged.

A run in which nothing works most of the time shows little about a recipe.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from rumpus.checker.history import final_phase
from rumpus.checker.timeline.calm import Span
from rumpus.checker.timeline.timeline import Timeline


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the load's time, from 0 to 1.

    ``quorum``: a leader was seen to serve (it is looked for every half second); None if nobody
    looked. ``clients``: by number, the share in which each client was connected, as far as it had
    been told. ``answered``, ``failed``: how many operations of the whole run ended ok, and failed.
    """

    quorum: float | None
    clients: list[float]
    answered: int = 0
    failed: int = 0


def availability(timeline: Timeline) -> Availability | None:
    """The shares of a run; None if its load has no duration, or no client ever told its state."""
    history = timeline.history
    final = final_phase(history)
    end = final.time if final is not None else history.end
    began = history.start
    if end <= began or not history.events("session", "connected"):
        return None
    down = timeline.disconnected
    outcomes = Counter(operation.outcome for operation in history.operations())
    watched = bool(history.events("control", "leader"))
    return Availability(
        quorum=_share_without(timeline.leaderless, began, end) if watched else None,
        clients=[
            _share_without(down.get(client, [(began, end)]), began, end)
            for client in range(history.clients)
        ],
        answered=outcomes["ok"],
        failed=outcomes["fail"],
    )


def _share_without(spans: Sequence[Span], began: int, end: int) -> float:
    """What share of the time lies in none of the spans, which do not overlap."""
    lost = sum(max(0, min(stop, end) - max(start, began)) for start, stop in spans)
    return round(1 - lost / (end - began), 4)
