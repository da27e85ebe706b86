"""Shrinks a failing run: fewer faults, clients, servers and seconds, with the same anomaly."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import combinations, product
from typing import Any, Final

import msgspec

from rumpus.campaigns.case import Case, case_of
from rumpus.campaigns.delta_debugging import Pass, minimise, numbers_below, parts_removed
from rumpus.campaigns.tasks import Attempt, attempts
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.plan import VERSION, FaultPlan, validate
from rumpus.nemesis.targets import Targets
from rumpus.runs.run_settings import OPTIONS
from rumpus.runs.swarm_settings import SHORT_LOADS

FIRST_S: Final = 1.0
"""When the first fault of a shrunk plan begins, in seconds of load, if it need not be later."""

SHORTEST_FAULT_S: Final = 0.1
SHORTEST_LOAD_S: Final = 1.0
STEP_S: Final = 0.1
"""To what durations and times are rounded."""

LEAST_CLIENTS: Final = 2

SEEDS: Final = (0, 1, 2)
"""Seeds that are tried besides the run's own, where a change makes another run anyway."""

SPARE_S: Final = 1.0
"""Seconds of load after the last fault, to begin with."""


class Shrinking:
    """Shrinks one failure.

    Args:
        outcome: what the run that failed showed.
        seen: the anomaly that is to remain.
        executor: performs runs.
        jobs: how many at once.
        budget: seconds after which no further run begins.
        tries: how many smaller runs are tried at most; None: as many as the budget allows. Only
            with tries the result does not depend on how fast runs are performed.
        clock: seconds, monotonic.
        notify: called after each run that was tried.

    Attributes:
        runs: how many runs were tried.
        errors: how many of them could not be performed; the case may be larger for that.
        why: why the last of these could not.
        task: the smallest run that shows the anomaly, at the end.
        smallest: the last run that has shown it so far.
        outcome: what it showed.
        seen: the anomaly, as that run shows it.
        reproduced: whether the run showed the anomaly when it was performed again.
        cut_off: whether it ended because the budget was spent: the case could be smaller.
    """

    def __init__(
        self,
        outcome: TrialOutcome,
        seen: Seen,
        executor: Executor,
        *,
        jobs: int = 1,
        budget: float = math.inf,
        tries: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        notify: Callable[["Shrinking"], None] = lambda _: None,
    ) -> None:
        plan = msgspec.structs.replace(outcome.plan, seed=None, notes=())
        self.task = self.smallest = TrialTask(settings=outcome.settings, plan=plan)
        self.outcome, self.seen = outcome, seen
        self.runs = 0
        self.errors = 0
        self.reproduced = self.cut_off = False
        self.why = ""
        self._wanted = seen.fingerprint
        self._promised = seen.promised
        self._executor, self._jobs = executor, jobs
        self._clock, self._notify = clock, notify
        self._end = clock() + budget
        self._tries = tries
        self._tried: dict[bytes, bool] = {}
        self._found: dict[bytes, tuple[TrialOutcome, Seen]] = {}

    def shrink(self) -> Case:
        """Shrink as far as the budget allows; the case of the smallest run.

        If the run does not show the anomaly when it is performed again with its plan given, the
        case is that of the run as it was.
        """
        self.reproduced = any(self._fail([self.task]))
        if self.reproduced:
            self.task = minimise(
                self.task,
                [_possible(self.task, each) for each in _passes(self.task)],
                self._fail,
                at_once=self._jobs,
                tries=self._tries,
                over=self._is_over,
            )
            self.outcome, self.seen = self._found[_key(self.task)]
        return case_of(self.outcome, self.seen)

    def _is_over(self) -> bool:
        self.cut_off = self._clock() >= self._end
        return self.cut_off

    def _fail(self, tasks: Sequence[TrialTask]) -> list[bool]:
        """Whether each run shows the anomaly; a run that cannot be performed does not."""
        new = {key: task for task in tasks if (key := _key(task)) not in self._tried}
        for task, attempt in zip(new.values(), attempts(self._executor, new.values()), strict=True):
            self.runs += 1
            self._note(task, attempt)
            self._notify(self)
        return [self._tried[_key(task)] for task in tasks]

    def _note(self, task: TrialTask, attempt: Attempt) -> None:
        key, outcome = _key(task), attempt.outcome
        seen = None
        if outcome is not None:
            seen = outcome.find(self._wanted, promised=self._promised)
        else:
            self.errors += 1
            self.why = attempt.error
        self._tried[key] = seen is not None
        if outcome is not None and seen is not None:
            self._found[key] = (outcome, seen)
            self.smallest = task


def _key(task: TrialTask) -> bytes:
    settings = {name: str(value) for name, value in vars(task.settings).items()}
    return msgspec.json.encode([sorted(settings.items()), task.plan])


def _with(task: TrialTask, **changes: Any) -> TrialTask:
    return replace(task, settings=replace(task.settings, **changes))


def _planned(task: TrialTask, entries: Sequence[Entry]) -> TrialTask:
    assert task.plan is not None
    return replace(task, plan=msgspec.structs.replace(task.plan, entries=tuple(entries)))


def _entries(task: TrialTask) -> tuple[Entry, ...]:
    return () if task.plan is None else task.plan.entries


def _with_clients(task: TrialTask, clients: int, **changes: Any) -> TrialTask:
    """The task with fewer clients: a fault that names one that is gone hits another instead."""
    smaller = _with(task, clients=clients, **changes)
    return smaller if task.plan is None else _planned(smaller, _among(_entries(task), clients))


def _among(entries: Sequence[Entry], clients: int) -> list[Entry]:
    def left(name: str | int) -> str | int:
        number = str(name).removeprefix("c")
        gone = str(name).startswith("c") and number.isdigit() and int(number) >= clients
        return f"c{int(number) % clients}" if gone else name

    moved = []
    for entry in entries:
        names = entry.targets.names
        if names is not None:
            targets = Targets(names=tuple(dict.fromkeys(map(left, names))))
            entry = msgspec.structs.replace(entry, targets=targets)  # noqa: PLW2901 - the same one
        moved.append(entry)
    return moved


def _is_possible(task: TrialTask) -> bool:
    """Whether the plan can be performed: what it names is there, and no two faults conflict."""
    settings = task.settings
    try:
        validate(
            FaultPlan(version=VERSION) if task.plan is None else task.plan,
            nodes=settings.nodes,
            clients=settings.clients,
            time_limit=settings.time_limit,
        )
    except PlanError:
        return False
    return True


def _few_faults(task: TrialTask) -> Iterator[TrialTask]:
    """No fault, one of them, or two, in short runs of their own.

    A plan without one fault makes another run, in which the other faults strike at other moments.
    So it is seldom enough to leave out one after the other; but what made a run fail often does so
    alone, too.
    """
    entries = _entries(task)
    seeds = dict.fromkeys((task.settings.seed, *SEEDS))
    crowds = dict.fromkeys(
        min(clients, task.settings.clients) for clients in (3, 2, task.settings.clients)
    )
    for size in range(min(3, len(entries))):
        for seed, clients in product(seeds, crowds if size else [task.settings.clients]):
            for chosen in combinations(entries, size):
                by = chosen[0].at - FIRST_S if chosen else 0.0
                moved = [msgspec.structs.replace(e, at=round(e.at - by, 3)) for e in chosen]
                end = max((entry.end for entry in moved), default=FIRST_S)
                seconds = min(task.settings.time_limit, round(end + SPARE_S, 3))
                smaller = _with(task, clients=clients, seed=seed, time_limit=seconds)
                yield _planned(smaller, _among(moved, clients))


def _fewer_faults(task: TrialTask) -> Iterator[TrialTask]:
    for entries in parts_removed(_entries(task)):
        yield _planned(task, entries)


def _shorter_load(task: TrialTask) -> Iterator[TrialTask]:
    """The load ends soon after the last fault, or later."""
    ends = [entry.end for entry in _entries(task)]
    starts = [entry.at for entry in _entries(task)]
    least = max([SHORTEST_LOAD_S, *(at + STEP_S for at in starts)])
    limit = task.settings.time_limit
    after = round(max([SHORTEST_LOAD_S, *ends]) + SPARE_S, 3)
    if after < limit:
        yield _with(task, time_limit=after)
    for seconds in numbers_below(limit, least, step=0.5):
        yield _with(task, time_limit=round(seconds, 3))


def _fewer_clients(task: TrialTask) -> Iterator[TrialTask]:
    """Fewer clients, with this seed or, as that changes who does what, another."""
    for clients in range(LEAST_CLIENTS, task.settings.clients):
        for seed in dict.fromkeys((task.settings.seed, *SEEDS)):
            yield _with_clients(task, clients, seed=seed)


def _fewer_servers(task: TrialTask) -> Iterator[TrialTask]:
    for nodes in (1, 3, 5):
        if nodes < task.settings.nodes and not task.settings.service:
            yield _with(task, nodes=nodes)


def _earlier_faults(task: TrialTask) -> Iterator[TrialTask]:
    """All faults begin earlier by the same time; then each with those after it."""
    entries = _entries(task)
    for number, entry in enumerate(entries):
        earliest = FIRST_S if number == 0 else entries[number - 1].at
        for at in numbers_below(entry.at, min(earliest, entry.at), step=STEP_S):
            by = entry.at - at
            moved = [
                msgspec.structs.replace(each, at=round(each.at - by, 3))
                for each in entries[number:]
            ]
            yield _planned(task, [*entries[:number], *moved])


def _shorter_faults(task: TrialTask) -> Iterator[TrialTask]:
    entries = _entries(task)
    for number, entry in enumerate(entries):
        for seconds in numbers_below(entry.duration, SHORTEST_FAULT_S, step=STEP_S):
            shorter = msgspec.structs.replace(entry, duration=round(seconds, 3))
            yield _planned(task, [*entries[:number], shorter, *entries[number + 1 :]])


def _usual_settings(task: TrialTask) -> Iterator[TrialTask]:
    """Each setting that makes a run special has its default value, or its simplest one."""
    for option in OPTIONS.values():
        if option.option.special and option.is_given(task.settings):
            yield _with(task, **{option.name: option.default})
    modes = ("none", "blocking", "primitives", "lines")
    mode = task.settings.preemption
    for simpler in modes[: modes.index(mode)] if mode in modes else ():
        yield _with(task, preemption=simpler)


PASSES: Final[Sequence[Pass[TrialTask]]] = (
    _few_faults,
    _fewer_faults,
    _shorter_load,
    _fewer_clients,
    _earlier_faults,
    _shorter_faults,
    _usual_settings,
    _fewer_servers,
)
"""Passes with the largest effect on what a run costs come first."""


def _passes(task: TrialTask) -> Sequence[Pass[TrialTask]]:
    """The passes for a run: short ones leave out faults first.

    In a short run few things are drawn at random, so that it is often much the same run without
    some of its faults, and to try that costs little.
    """
    if task.settings.time_limit > max(SHORT_LOADS):
        return PASSES
    return sorted(PASSES, key=lambda each: each is not _fewer_faults)


def _possible(start: TrialTask, each: Pass[TrialTask]) -> Pass[TrialTask]:
    """A pass without the runs that cannot be performed: they would use up the tries.

    If the run to begin with is one of these, its faults are not known here: then with all of them.
    """
    return (lambda task: filter(_is_possible, each(task))) if _is_possible(start) else each
