"""Promises about time that failed while the host itself was late: they are undecided.

On docker the control process measures how late it is woken from short sleeps
(``harness.host_meter``), and records the worst of each second in which it was late. A client, a
link or a server waits for a processor as long, at each of the ten or so steps of a request. At a
load of 33 on two processors, for example, the sleeps are up to 180 ms late, and a call that may run
over its timeout by 0.8 s does so with nothing wrong in the recipe.

The rule: an anomaly of a kind in ``TIMED`` is undecided if the host was late in a fifth of the time
that it lasted, the second before included, and it lasted 20 s at most. No host is so busy that it
explains a longer wait.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from rumpus.checker.history import History
from rumpus.checker.host import LATE_MS, Window, windows
from rumpus.checker.verdict import Anomaly, CheckResult

SHARE: Final = 0.2
"""In what part of an anomaly's time the host must have been late to leave it undecided."""

LONGEST_NS: Final = 20_000_000_000
BEFORE_NS: Final = 1_000_000_000

TIMED: Final[frozenset[str]] = frozenset(
    {
        "overdue-call",
        "stuck-waiter",
        "unaware-holder",
        "missed-event",
        "missed-revocation",
        "stale-view",
        "blocked-transaction",
        "unnotified-submitter",
        "unowned-partition",
        "lingering-session",
        "lingering-ephemeral",
    }
)
"""Anomalies that say that something did not happen within a bounded time."""


def leave_undecided(
    history: History, checks: Iterable[CheckResult], kinds: Collection[str]
) -> None:
    """Take the anomalies that a late host explains out of the checks, and say so in ``unknown``.

    Args:
        history: the run.
        checks: what was found; changed.
        kinds: those of ``TIMED`` that would make the run a violation. Hazards stay what they are.
    """
    late = [each for each in windows(history) if each.late_ms >= LATE_MS]
    if not late:
        return
    for check in checks:
        kept: list[Anomaly] = []
        taken: Counter[str] = Counter()
        first: dict[str, tuple[Anomaly, float]] = {}
        for anomaly in check.anomalies:
            worst = _explained(anomaly, late) if anomaly.kind in kinds else None
            if worst is None:
                kept.append(anomaly)
                continue
            taken[anomaly.kind] += 1
            first.setdefault(anomaly.kind, (anomaly, worst))
        check.anomalies = kept
        for kind, count in taken.items():
            anomaly, worst = first[kind]
            check.unknown.append(
                f"{count} {kind} while the host was late (by up to {worst:.0f} ms), which may be "
                f"the cause: run it again on a less busy host; the first: {anomaly.description}"
            )


def _explained(anomaly: Anomaly, late: Iterable[Window]) -> float | None:
    """By how many ms the host was late, if that explains an anomaly; else None."""
    lasted = anomaly.end - anomaly.start
    if anomaly.length_ms is not None:
        lasted = round(anomaly.length_ms * 1e6)
    if lasted > LONGEST_NS:
        return None
    begin = anomaly.end - lasted - BEFORE_NS
    met = [
        (min(each.end, anomaly.end) - max(each.start, begin), each.late_ms)
        for each in late
        if each.start < anomaly.end and each.end > begin
    ]
    if not met or sum(length for length, _ in met) < SHARE * (anomaly.end - begin):
        return None
    return max(worst for _, worst in met)
