"""Whether a client goes on believing that it holds although it knows that it is not connected.

``disconnected-belief``: kazoo told SUSPENDED or LOST, and for a second after that, while the
connection did not come back, the recipe still said that it holds. The session may end at any
moment then, and nobody can tell the client. So kazoo's documentation and Curator's
(``ConnectionStateListener``) ask to treat a suspended connection as a hold in doubt.

Nobody else need have been granted it meanwhile, so this is seen before harm is done. A recipe that
counts the time for which its session is certain to live (``until``) may believe while it is cut
off, and does not promise this.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from rumpus.checker.anomalies import anomaly_of_hold, at
from rumpus.checker.check import check
from rumpus.checker.timeline.calm import Span, disconnected
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

DISCONNECTED_BELIEF = Kind(
    "disconnected-belief", "a holder believed that it held it while it knew of no connection"
)

NOTICE_NS: Final = 1_000_000_000
"""How long (ns) after it was told a client may believe: its threads take turns, on busy hosts."""


@check("disconnection", finds=[DISCONNECTED_BELIEF])
def check_disconnection(timeline: Timeline) -> CheckResult:
    """Judge beliefs that last over a loss of the connection; see the module. O(n log n)."""
    history, words = timeline.history, timeline.words
    result = CheckResult(name="disconnection")
    losses = {} if timeline.unseen else disconnected(history)
    for hold in timeline.holds:
        for start, end in hold.beliefs:
            for since, until in _within(losses.get(hold.client, []), start, end):
                first, last = max(start, since), min(end, until)
                frozen = sum(
                    min(last, resumed) - max(first, paused)
                    for paused, resumed in _within(
                        timeline.pauses.get(hold.client, []), first, last
                    )
                )
                if last - first - frozen > NOTICE_NS:
                    found = anomaly_of_hold(
                        "disconnected-belief",
                        f"c{hold.client} believed that it held the {words.thing} until "
                        f"{at(history, last)}, although it knew since {at(history, first)} that "
                        "it was not connected",
                        hold,
                        last,
                    )
                    found.start = first
                    result.anomalies.append(found)
    return result


def _within(spans: Sequence[Span], start: int, end: int) -> Sequence[Span]:
    """Those of spans in order and without overlap that meet another one."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    return spans[first : bisect_left(spans, end, key=lambda span: span[0])]
