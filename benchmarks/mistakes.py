"""Failures with a known cause: who made which mistake when, as the mutants tell it themselves.

A mutant calls ``rumpus.recipes.mistake.made`` where it makes its mistake. Its kept case is
performed while somebody listens, so that the client and the moment of each mistake are known, on
the run's clock. The failure is the first broken promise of the kind that the case expects.

Most mutants make their mistake many times in a run, and mostly without harm. The **decisive**
mistake is found by this rule. It reads the history and the anomaly, and no story:

1. A lasting mistake (a wrong belief) counts once for each client and each thing that it is about,
   at the first time.
2. A mistake that can only harm the client that makes it counts only if that client is one of the
   anomaly's, or its operation is cited by the anomaly.
3. Mistakes after the anomaly's end do not count, nor those in a cited operation that was called no
   earlier than that. If there is none before it, the first one after it is decisive: a client that
   was frozen was asked late for what it wrongly believed. An anomaly without a time has that of the
   first transaction that its description names, or that of the run's end.
4. Of the others the decisive one is the last of the best kind. These are better, in this order:

   - mistakes that are *connected* with the anomaly: made in an operation that the anomaly cites, or
     about something that its description names;
   - mistakes about something that the records name which it cites;
   - mistakes in operations that overlap in time with an operation that it cites;
   - mistakes before its end to the nanosecond: times from servers' logs have milliseconds only, so
     "before" means less than one later everywhere else;
   - mistakes before its start: later ones that are not connected can hardly be its cause.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rumpus.campaigns.case import Case
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Logs
from rumpus.checker.verdict import Anomaly
from rumpus.recipes.mistake import Mistake, Unless, heard
from rumpus.results.story import story_of
from rumpus.runs.judged_run import judged_run
from rumpus.simulation.loader.runtime import Runtime, runtime_of

if TYPE_CHECKING:
    from types import FrameType

MS = 1_000_000
"""Nanoseconds."""

TOUCHING = 4
"""How many operations of one client may touch at one moment."""

LONG = 16
"""Characters of a word that is unique enough to be the beginning of a longer one."""


class Told(NamedTuple):
    """A mistake as it was told: by which client, and when, in ns on the run's clock."""

    client: int
    time: int
    mistake: Mistake


class Act(NamedTuple):
    """A mistake and the operation that its client had open; None if it had none."""

    client: int
    time: int
    mistake: Mistake
    operation: Operation | None

    @property
    def lasted(self) -> tuple[int, int | None]:
        """When its operation was called and returned (None: never), or twice its moment."""
        if self.operation is None:
            return self.time, self.time
        ended = self.operation.completion
        return self.operation.invoke.time, None if ended is None else ended.time


class Failure(NamedTuple):
    """A failure with its story. ``act`` is the decisive mistake; None if none was told."""

    history: History
    anomaly: Anomaly
    story: list[str]
    act: Act | None


@contextmanager
def mistakes_told() -> Iterator[list[Told]]:
    """The mistakes that simulated clients make during the block, in the order of their times."""
    told: list[Told] = []

    def listen(mistake: Mistake, unless: Unless | None) -> None:
        process = _caller().process
        now = process.simulator.now
        sound = unless is not None and unless()
        process.simulator.now = now  # to read a clock has taken time
        if not sound:
            told.append(Told(int(process.name.removeprefix("c")), now, mistake))

    with heard(listen):
        yield told


def _caller() -> Runtime:
    """The runtime of the simulated process that calls this, by way of shared modules."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - there is no other way
    while frame is not None:
        if (runtime := runtime_of(frame)) is not None:
            return runtime
        frame = frame.f_back
    raise RuntimeError("mistakes are listened to in simulated runs only")


def failure_of(case: Case) -> Failure | None:
    """Perform a case; None if it does not show its failure any more."""
    task = case.task()
    with mistakes_told() as told, judged_run(task.settings, lambda _: None, plan=task.plan) as run:
        _, timeline, verdict = run.judgement
        history, servers = timeline.history, timeline.logs
        kind = case.expects.kind
        shown = (each for each in verdict.anomalies if each.promised and each.kind == kind)
        anomaly = next(shown, None)
        if anomaly is None:
            return None
        act = decisive(told, history, _timed(anomaly, servers))
        return Failure(history, anomaly, story_of(timeline, anomaly), act)


def _timed(anomaly: Anomaly, servers: Logs | None) -> Anomaly:
    """The anomaly; if it has no time, with that of the first transaction that it names."""
    named = re.search(r"zxid 0x([0-9a-f]+)", anomaly.description)
    if anomaly.start or anomaly.end or named is None or servers is None:
        return anomaly
    committed = {txn.zxid: txn.time_ms for txn in servers.truth.committed}
    committed_ms = committed.get(int(named[1], 16))
    if committed_ms is None:
        return anomaly
    moment = servers.clock.monotonic(committed_ms)
    return msgspec.structs.replace(anomaly, start=moment, end=moment)


def decisive(told: Sequence[Told], history: History, anomaly: Anomaly) -> Act | None:
    """The mistake that led to an anomaly, by the rule of this module; None if none was told."""
    timeless = not anomaly.start and not anomaly.end
    start, end = (history.end,) * 2 if timeless else (anomaly.start, anomaly.end)
    cited = set(anomaly.ops)
    records = " ".join(f"{op.value} {op.error}" for op in history if op.index in cited)
    calls = [each for each in history.operations() if not cited.isdisjoint(each.indices)]
    open_calls = _Calls(history, cited)
    acts = [
        Act(each.client, each.time, each.mistake, open_calls.open_at(each.client, each.time))
        for each in _first_of_lasting(told)
    ]

    def rank(act: Act) -> tuple[bool, bool, bool, bool, bool, int]:
        connected = act.operation in calls or _names(anomaly.description, act.mistake.about)
        recorded = _names(records, act.mistake.about, numbers=False)
        overlaps = any(_overlap(act, each) for each in calls)
        early = connected or act.time < start + MS
        return connected, recorded, overlaps, act.time <= end, early, act.time

    def harms(act: Act) -> bool:
        alone = act.mistake.own and anomaly.clients and act.client not in anomaly.clients
        return not alone or act.operation in calls

    def is_before(act: Act) -> bool:
        too_late = act.operation in calls and act.operation.invoke.time >= end
        return act.time < end + MS and not too_late

    acts = list(filter(harms, acts))
    return max(filter(is_before, acts), key=rank, default=None) or next(iter(acts), None)


def _first_of_lasting(told: Sequence[Told]) -> Iterator[Told]:
    known = set()
    for each in told:
        what = each.client, each.mistake.about
        if not each.mistake.lasting or what not in known:
            yield each
        if each.mistake.lasting:
            known.add(what)


class _Calls:
    """The operations of each client, in the order of their calls."""

    def __init__(self, history: History, cited: set[int]) -> None:
        self._cited = cited
        self._of: dict[int, list[Operation]] = {}
        for each in history.operations():
            self._of.setdefault(history.caller(each), []).append(each)

    def open_at(self, client: int, time: int) -> Operation | None:
        """The client's operation at a time; of some that touch there a cited one, or the last."""
        calls = self._of.get(client, [])
        last = bisect_right(calls, time, key=lambda each: each.invoke.time)
        found = [
            each
            for each in calls[max(0, last - TOUCHING) : last]
            if (each.completion is None and each is calls[last - 1])
            or (each.completion is not None and time <= each.completion.time)
        ]
        return max(
            found,
            key=lambda each: (not self._cited.isdisjoint(each.indices), each.invoke.time),
            default=None,
        )


def _overlap(act: Act, call: Operation) -> bool:
    begun, ended = act.lasted
    returned = call.completion
    return (returned is None or begun <= returned.time) and (
        ended is None or call.invoke.time <= ended
    )


def _names(text: str, about: Sequence[object], *, numbers: bool = True) -> bool:
    """Whether a text names something: as a word, a path also by its last part.

    Of a long word the beginning is enough. Words that look like numbers must be quoted. The name of
    a client says nothing: texts name clients for other reasons.
    """
    for part in about:
        if isinstance(part, int) and not isinstance(part, bool):
            if numbers and re.search(rf"(?<![\w.-]){part}(?![\w.])", text):
                return True
        elif isinstance(part, str) and (_has(text, part) or _has(text, part.rpartition("/")[2])):
            return True
    return False


def _has(text: str, word: str) -> bool:
    if len(word) >= LONG:
        return word in text
    if not word or re.fullmatch(r"c\d+", word):
        return False
    if re.fullmatch(r"-?[\d.]+", word):
        return f"'{word}'" in text
    return word in text and bool(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text))
