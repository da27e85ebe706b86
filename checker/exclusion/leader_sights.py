"""Whether observers were told who led at some moment of their call, by the servers' logs.

An observation must see everything that was committed before its call. So if one node was first in
line from before the call until after the return, its client is the leader that must be named. And
whoever is named must have been first at some moment between call and return. The same goes for the
acknowledgement. Servers stamp whole milliseconds, so a beginning or end that is nearer than that
to the call or the return is not judged. O(n log n).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.exclusion.acknowledgements import acknowledgements_of
from rumpus.checker.history import History, Op
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, Ownership
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

FALSE_OBSERVATION = Kind(
    "false-observation",
    "an observer was told about the leader what was not true during its call",
    logs=True,
)


@check("sights", finds=[FALSE_OBSERVATION])
def check_leader_sights(
    timeline: Timeline, below: Callable[[str], str], *, observe: str
) -> CheckResult | None:
    """Judge what observers saw: ``false-observation``.

    Args:
        timeline: the run.
        below: the line's parent -> that of the nodes by which leaders acknowledge, whose data
            begins with the epoch (the czxid of the leader's node in the line).
        observe: the operation whose ok has ``epoch``, ``name`` and ``acknowledged``, or null.
    """
    logs, view, line = timeline.logs, timeline.servers, timeline.line
    if logs is None or view is None or line is None:
        return None
    history, (truth, clock) = timeline.history, logs
    result = CheckResult(name="sights")
    acknowledgements = acknowledgements_of(truth, below(line.path))
    known = _Known(history, truth, clock, view.owners, acknowledgements)
    judged = 0
    for operation, done in history.answered(observe):
        call = operation.invoke
        judged += 1
        wrong = known.contradiction(call, done)
        if wrong is None:
            continue
        client = history.caller(call)
        what = f"c{client} asked at {at(history, call.time)} and was told {wrong.words}"
        if not wrong.certain or truth.reasons:
            result.unknown.append(f"{what}; the servers' logs do not prove it")
            continue
        result.anomalies.append(anomaly_of(history, "false-observation", what, operation))
    result.stats = {"looks": judged}
    return result


@dataclass(frozen=True)
class _Wrong:
    """A wrong answer, in words, and whether it is wrong for certain by the logs."""

    words: str
    certain: bool


class _Known:
    """Who led when, and when that was acknowledged."""

    def __init__(
        self,
        history: History,
        truth: ServerTruth,
        clock: WallClock,
        owners: Sequence[Ownership],
        acknowledgements: Sequence[tuple[int, ZnodeLife]],
    ) -> None:
        self._clients = history.clients_of_sessions()
        self._reigns = sorted(owners, key=lambda owner: owner.start)
        self._starts = [owner.start for owner in self._reigns]
        self._by_epoch = {owner.czxid: owner for owner in owners}
        self._contested = truth.contested()
        self._said: dict[int, list[_Said]] = defaultdict(list)
        for epoch, life in acknowledgements:
            gone = None if life.deleted_ms is None else clock.monotonic(life.deleted_ms)
            made = clock.monotonic(life.created_ms)
            self._said[epoch].append(_Said(made, gone, life.path in self._contested))

    def contradiction(self, call: Op, done: Op) -> _Wrong | None:
        """What in the answer was true at no moment from the call to the return; None if nothing."""
        told: dict[str, Any] | None = done.value
        stood = self._led_throughout(call.time, done.time)
        if stood is not None and (told is None or told["epoch"] != stood.czxid):
            what = "that there was no leader" if told is None else f"of epoch {told['epoch']}"
            words = f"{what}, although {self._who(stood)} led all the time"
            return _Wrong(words, stood.path not in self._contested)
        if told is None:
            return None
        epoch = told["epoch"]
        reign = self._by_epoch.get(epoch)
        if reign is None or reign.start - CLOCK_SLACK_NS > done.time:
            # Its node, or the end of one before it, may be in a transaction of uncertain fate.
            return _Wrong(f"of epoch {epoch}, which did not lead yet", not self._contested)
        if reign.end is not None and reign.end + CLOCK_SLACK_NS < call.time:
            return _Wrong(f"of epoch {epoch}, which had ended before", certain=True)
        client = self._clients.get(reign.session)
        if client is not None and told["name"] != f"c{client}":
            return _Wrong(f"that {told['name']} led, but it was {self._who(reign)}", certain=True)
        return self._misjudged(epoch, bool(told["acknowledged"]), call.time, done.time)

    def _led_throughout(self, called: int, returned: int) -> Ownership | None:
        place = bisect_left(self._starts, called - CLOCK_SLACK_NS)
        reign = self._reigns[place - 1] if place else None
        return None if reign is None or _ended(reign.end, returned) else reign

    def _misjudged(self, epoch: int, told: bool, called: int, returned: int) -> _Wrong | None:
        said = self._said[epoch]
        throughout = [
            each
            for each in said
            if each.made < called - CLOCK_SLACK_NS and not _ended(each.gone, returned)
        ]
        if not told and throughout:
            words = f"that epoch {epoch} was not acknowledged, although it was all the time"
            return _Wrong(words, not any(each.contested for each in throughout))
        if told and not any(
            each.made - CLOCK_SLACK_NS <= returned
            and (each.gone is None or each.gone + CLOCK_SLACK_NS >= called)
            for each in said
        ):
            words = f"that epoch {epoch} was acknowledged, but it was not"
            return _Wrong(words, not self._contested)
        return None

    def _who(self, reign: Ownership) -> str:
        client = self._clients.get(reign.session)
        name = reign.session if client is None else f"c{client}"
        return f"{name} (epoch {reign.czxid})"


@dataclass(frozen=True)
class _Said:
    """An acknowledgement: when it was made and gone, and whether its fate is uncertain."""

    made: int
    gone: int | None
    contested: bool


def _ended(end: int | None, time: int) -> bool:
    """Whether something that ended at ``end`` may have ended by ``time``, within the slack."""
    return end is not None and end - CLOCK_SLACK_NS <= time
