"""Whether a recipe that was asked about itself told what was true during the call.

Operations: ``contenders`` -> {what, names}, ``size`` -> a number. Whoever asks has had a write
answered before, in the same call, so that its reads show all that was committed before the call.

``contenders``: the znodes below the recipe's path stand for contenders by the data that they were
made with. If ``what`` is ``contenders``, they have sequence numbers and are told in that order; if
``holders``, all of them count, in any order. Each name must be that of a znode that was there at
some moment of the call, of each znode once; and a znode that was there from the call to the return
must be among them. For example, with c1 there all the time and c2 gone before the return::

    c0 asks     |--------------------|    ["c1"] and ["c1", "c2"] are true
    c1     |---------------------------|  ["c2"] is not: c1 is missing
    c2       |------------|               ["c2", "c1"] is not, if c1 came before c2

``size``: the number of persistent znodes with data below the path must have been that number at
some moment of the call.

Servers stamp whole milliseconds, so a beginning or end that is nearer than that to the call or the
return counts as either. O(n) for each question, n being the znodes that there ever were.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import Operation
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, sequence_number
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

FALSE_CENSUS = Kind(
    "false-census",
    "a recipe told of contenders, holders or elements what was true at no moment of the call",
    logs=True,
)

QUESTIONS: Final = ("contenders", "size")


class _Stay(NamedTuple):
    """A contender's znode: its name, its number, and when it came and went (ns)."""

    name: str
    place: int
    came: int
    went: int | None

    def may_be_there(self, called: int, returned: int) -> bool:
        """Whether it may have been there at some moment of a call."""
        return self.came - CLOCK_SLACK_NS <= returned and (
            self.went is None or self.went + CLOCK_SLACK_NS >= called
        )

    def stands(self, called: int, returned: int) -> bool:
        """Whether it was there for certain, all the time from call to return."""
        return self.came + CLOCK_SLACK_NS < called and (
            self.went is None or self.went - CLOCK_SLACK_NS > returned
        )


class _Change(NamedTuple):
    """A transaction that made the elements one more, or one less; ``time`` in ns."""

    zxid: int
    time: int
    more: int


@check("censuses", finds=[FALSE_CENSUS])
def check_censuses(timeline: Timeline) -> CheckResult | None:
    """Judge what recipes told of themselves; None without questions or without logs."""
    logs = timeline.logs
    asked = [*timeline.history.answered(*QUESTIONS)]
    if logs is None or not asked:
        return None
    history, (truth, clock) = timeline.history, logs
    lives = truth.znodes(f"{timeline.path}/")
    elements = _changes(lives, clock)
    sure = not truth.reasons and not any(map(_below(timeline.path), truth.contested()))
    result = CheckResult(name="censuses")
    for operation, done in asked:
        if operation.invoke.f == "size":
            wrong = _wrong_size(operation, done.value, elements)
        else:
            ordered = done.value["what"] == "contenders"
            stays = _contenders(lives, clock, timeline.path, ordered=ordered)
            wrong = _wrong_names(operation, done.value["names"], stays, ordered=ordered)
        if not wrong:
            continue
        client = history.caller(operation)
        what = f"c{client} asked at {at(history, operation.invoke.time)} and was told {wrong}"
        if sure:
            result.anomalies.append(anomaly_of(history, FALSE_CENSUS.name, what, operation))
        else:
            result.unknown.append(f"{what}; the servers' logs do not prove it")
    result.stats = {"asked": len(asked)}
    return result


def _below(path: str) -> Callable[[str], bool]:
    return lambda each: each.startswith(f"{path}/")


def _contenders(
    lives: Sequence[ZnodeLife], clock: WallClock, path: str, *, ordered: bool
) -> list[_Stay]:
    """The znodes that stand for contenders; if ``ordered``, in order of their numbers."""
    stays = [
        _Stay(
            (life.data or b"").decode(errors="replace"),
            sequence_number(life.path),
            clock.monotonic(life.created_ms),
            None if life.deleted_ms is None else clock.monotonic(life.deleted_ms),
        )
        for life in lives
        if life.path.rpartition("/")[0] == path
    ]
    if ordered:
        return sorted((stay for stay in stays if stay.place >= 0), key=lambda stay: stay.place)
    return stays


def _wrong_names(
    operation: Operation, names: Sequence[str], stays: Sequence[_Stay], *, ordered: bool
) -> str:
    """What is wrong with the names that were told, in words; empty if nothing is."""
    call, returned = operation.invoke.time, operation.done.time
    possible = [stay for stay in stays if stay.may_be_there(call, returned)]
    standing = Counter(stay.name for stay in possible if stay.stands(call, returned))
    told, most = Counter(names), Counter(stay.name for stay in possible)
    if missing := standing - told:
        return f"{list(names)}, without {', '.join(sorted(missing))}, who was there all the time"
    if false := told - most:
        return f"{list(names)}, with {', '.join(sorted(false))} more often than it was there"
    if ordered and not _in_order(names, possible, call, returned):
        before = [stay.name for stay in possible]
        return f"{list(names)}, which is not their order: {before}"
    return ""


def _in_order(names: Sequence[str], possible: Sequence[_Stay], call: int, returned: int) -> bool:
    """Whether the names are those of znodes in their order, with all that stood there."""
    told = {0}  # how many names may have been told by the znodes so far
    for stay in possible:
        after = {n + 1 for n in told if n < len(names) and names[n] == stay.name}
        told = after if stay.stands(call, returned) else told | after
    return len(names) in told


def _changes(lives: Sequence[ZnodeLife], clock: WallClock) -> list[_Change]:
    """How the number of elements changed, in order of zxid."""
    found = []
    for life in lives:
        if life.owner is None and life.data:
            found.append(_Change(life.czxid, clock.monotonic(life.created_ms), 1))
            if life.deleted_zxid is not None and life.deleted_ms is not None:
                gone = clock.monotonic(life.deleted_ms)
                found.append(_Change(life.deleted_zxid, gone, -1))
    return sorted(found)


def _wrong_size(operation: Operation, size: int, changes: Sequence[_Change]) -> str:
    """What is wrong with a number of elements, in words; empty if nothing is."""
    call, returned = operation.invoke.time, operation.done.time
    counts = []
    count = 0
    for _, together in groupby(changes, key=lambda change: change.zxid):
        times, more = zip(*((change.time, change.more) for change in together), strict=True)
        if max(times) - CLOCK_SLACK_NS > returned:
            break
        if min(times) + CLOCK_SLACK_NS >= call:
            counts.append(count)
        count += sum(more)
    counts.append(count)
    if size in counts:
        return ""
    true = " or ".join(map(str, dict.fromkeys(counts)))
    return f"that there were {size} elements, but there were {true}"
