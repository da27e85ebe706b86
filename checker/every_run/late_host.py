"""Promises about time that failed while the host itself was late: they are undecided.

On docker the control process records each second how late it was woken from short sleeps, and how
many tasks waited for each processor (``harness.host_meter``). A client, a link and a server wait as
well, at each of the ten or so steps of a request. At a load of 33 on two processors, for example, a
call that may run over its timeout by 0.8 s does so with nothing wrong in the recipe.

The rule: an anomaly of a kind that is ``timed`` is undecided if the host was late for a fifth of
the time that it lasted, the second before included, and it lasted 20 s at most. Late is all of a
second in which tasks crowd the processors (``checker.timeline.host.CROWDED``), else what a wake-up
was delayed by.
No host is so busy that it explains a longer wait.
"""

from collections.abc import Collection, Iterable
from typing import Final

from rumpus.checker.timeline.host import Window
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

SHARE: Final = 0.2
"""In what part of an anomaly's time the host must have been late to leave it undecided."""

LONGEST_NS: Final = 20_000_000_000
BEFORE_NS: Final = 1_000_000_000


def leave_undecided(
    timeline: Timeline, checks: Iterable[CheckResult], promised: Collection[str]
) -> None:
    """Take the anomalies that a late host explains out of the checks, and say so in ``unknown``.

    Args:
        timeline: the run.
        checks: what was found; changed.
        promised: kinds that the recipe promises to prevent. Hazards stay what they are, unless they
            are violations, too (``Timeline.strict``).
    """
    late = [each for each in timeline.host if each.late]
    if not late:
        return
    for check in checks:
        kept: list[Anomaly] = []
        taken: dict[str, list[Anomaly]] = {}
        for anomaly in check.anomalies:
            kind = check.kinds.get(anomaly.kind)
            counts = kind is not None and kind.timed and (timeline.strict or kind.name in promised)
            undecided = counts and _explained(anomaly, late)
            (taken.setdefault(anomaly.kind, []) if undecided else kept).append(anomaly)
        check.anomalies = kept
        check.unknown += [
            f"{len(found)} {kind} while the host was too busy, which may be the cause: run it "
            f"again on a quieter host; the first: {found[0].description}"
            for kind, found in taken.items()
        ]


def _explained(anomaly: Anomaly, late: Iterable[Window]) -> bool:
    """Whether the host was late for so much of an anomaly's time that this may be its cause."""
    lasted = anomaly.end - anomaly.start
    if anomaly.length_ms is not None:
        lasted = round(anomaly.length_ms * 1e6)
    begin = anomaly.end - lasted - BEFORE_NS
    met = sum(_delay(each, begin, anomaly.end) for each in late)
    return lasted <= LONGEST_NS and met >= SHARE * (anomaly.end - begin)


def _delay(window: Window, begin: int, end: int) -> int:
    """For how long (ns) the host was late in the part of a window that lies in a time.

    Where tasks crowd it is all of that part; else it is the delay that was measured.
    """
    part = max(0, min(window.end, end) - max(window.start, begin))
    return part if window.crowded else min(part, round(window.late_ms * 1e6))
