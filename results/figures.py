"""The figures of a run in a flat form: name -> number, to be kept and compared over many runs."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from rumpus.checker.history import History, final_phase
from rumpus.checker.measures import Measures
from rumpus.checker.timeline.timeline import Timeline
from rumpus.results.operation_statistics import by_function

DIGITS: Final = 6
"""Significant digits that are kept."""


class Figure(NamedTuple):
    """What a figure says.

    Attributes:
        words: what it is.
        unit: of its values; empty for counts and shares.
        better: which values are better; None if none are.
    """

    words: str
    unit: str = ""
    better: Literal["lower", "higher"] | None = None


FIGURES: Final[Mapping[str, Figure]] = {
    "throughput": Figure("operations that ended ok, each second of load", "1/s", "higher"),
    "latency": Figure("the main operation, median of those that ended ok", "ms", "lower"),
    "latency-p99": Figure("the main operation, 99th percentile", "ms", "lower"),
    "handover": Figure("from a release to the next grant, median", "ms", "lower"),
    "switching": Figure(
        "from a holder's death, or the loss of its grant, to the next one, median",
        "ms",
        "lower",
    ),
    "recovery": Figure("from the end of the faults to the first success after", "ms", "lower"),
    "grants": Figure("grants during the load", "", None),
    "fairness": Figure("Jain's index of the grants over the clients", "", "higher"),
    "wakeups": Figure("watch events for each grant", "", "lower"),
    "messages": Figure("messages for each grant", "", "lower"),
    "quorum": Figure("the share of the load in which a leader served", "", None),
    "connected": Figure("the share of the load in which clients were connected, mean", "", None),
}
"""The figures that there are. Some make no sense for some runs, which then lack them."""


def figures(timeline: Timeline, measures: Measures | None) -> dict[str, float]:
    """The figures of a run; those that it has.

    Args:
        timeline: the run.
        measures: what was measured; None: nothing.
    """
    history = timeline.history
    found: dict[str, float | None] = _of_operations(history, timeline.words.acquire)
    if measures is not None:
        handovers = {each.after: each for each in measures.handovers}
        release = handovers.pop("release", None)
        found["handover"] = None if release is None else release.median
        found["switching"] = max((each.median for each in handovers.values()), default=None)
        if measures.spread is not None:
            found["grants"], found["fairness"] = measures.spread.grants, measures.spread.jain
        if measures.wakeups is not None:
            found["wakeups"] = measures.wakeups.per_grant
        if measures.messages is not None:
            found["messages"] = measures.messages.per_grant
        if (available := measures.availability) is not None:
            found["quorum"] = available.quorum
            shares = available.clients
            found["connected"] = sum(shares) / len(shares) if shares else None
    return {
        name: float(f"{value:.{DIGITS}g}") for name, value in found.items() if value is not None
    }


def _of_operations(history: History, main: str) -> dict[str, float | None]:
    """Those that are made of operations and their times."""
    final = final_phase(history)
    end = final.time if final is not None else history.end
    seconds = (end - history.start) / 1e9
    load = [each for each in history.operations() if each.invoke.time < end]
    done = [each for each in history.operations() if each.outcome == "ok"]
    ok = sum(each.outcome == "ok" for each in load)
    found: dict[str, float | None] = {"throughput": ok / seconds if seconds > 0 else None}
    for each in by_function(load):
        if each.name == main:
            found |= {"latency": each.median, "latency-p99": each.p99}
    after = [
        each.completion.time
        for each in done
        if each.completion is not None and each.invoke.time >= end
    ]
    if after:
        found["recovery"] = (min(after) - end) / 1e6
    return found
