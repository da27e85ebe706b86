"""Whether watch events came before the data, judged without the servers' logs."""

from collections.abc import Collection
from dataclasses import replace

from rumpus.checker.check import check
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.checker.znodes.watch_delivery import LATE_EVENT
from rumpus.checker.znodes.znode_history import watches_by_connection


@check("late events", finds=[LATE_EVENT])
def check_late_events(timeline: Timeline, keys: Collection[str]) -> CheckResult | None:
    """Check reads and events of some znodes by ``session-guarantees``, where there are no logs.

    Args:
        timeline: the run.
        keys: the znodes; only these operations may set watches on them.
    """
    if timeline.truth is not None or timeline.foreign:
        return None
    reads = replace(timeline, history=watches_by_connection(timeline.history, keys))
    return check_model(reads, "session-guarantees", "late-event")
