"""Shrinks a failing run: fewer faults, clients, servers and seconds, with the same anomaly."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any, Final

import msgspec

from rumpus.campaigns.case import Case, case_of
from rumpus.campaigns.delta_debugging import Pass, minimise, numbers_below, parts_removed
from rumpus.campaigns.tasks import GRACE_S, Attempt, attempts
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.harness.generators.usage import Usage, parse_usage, usage_words
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

LEAST_CUT_S: Final = 0.5
"""By how much the load is cut after the anomaly, at least: each cut is a try."""

RESTS_S: Final = (1.0, 0.3, 0.1)
"""How long clients may rest before an operation, so that there are fewer of them."""

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
        budget: seconds after which no further run begins; one under way is ended soon after.
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
        self._left = budget
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
                [_possible(self.task, self._pass(each)) for each in _passes(self.task)],
                self._fail,
                key=_key,
                at_once=self._jobs,
                tries=self._tries,
                over=self._is_over,
            )
            self.outcome, self.seen = self._found[_key(self.task)]
        return case_of(self.outcome, self.seen)

    def _pass(self, each: "TrialPass") -> Pass[TrialTask]:
        """A pass that looks at the anomaly, as the run to make smaller shows it."""
        return lambda task: each(task, self._found[_key(task)][1])

    def _is_over(self) -> bool:
        self._left = self._end - self._clock()
        self.cut_off = self._left <= 0
        return self.cut_off

    def _fail(self, tasks: Sequence[TrialTask]) -> list[bool]:
        """Whether each run shows the anomaly; a run that cannot be performed does not."""
        new = {key: task for task in tasks if (key := _key(task)) not in self._tried}
        done = attempts(self._executor, new.values(), max(0.0, self._left) + GRACE_S)
        for task, attempt in zip(new.values(), done, strict=True):
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


def _with_clients(task: TrialTask, clients: int, seen: Seen, **changes: Any) -> TrialTask:
    """The task with fewer clients: those that the anomaly names stay, before any others.

    They get the first numbers. A fault that names a client that is gone hits another instead.
    """
    smaller = _with(task, clients=clients, **changes)
    if task.plan is None or clients >= task.settings.clients:
        return smaller
    order = dict.fromkeys((*seen.clients, *range(task.settings.clients)))
    left = {client: number for number, client in enumerate(sorted(list(order)[:clients]))}
    return _planned(smaller, [_among(entry, left) for entry in _entries(task)])


def _among(entry: Entry, left: Mapping[int, int]) -> Entry:
    """A fault of some clients among fewer: ``left`` has the new numbers of those that are left."""

    def renamed(name: str | int) -> str | int:
        number = str(name).removeprefix("c")
        if not (str(name).startswith("c") and number.isdigit()):
            return name
        return f"c{left.get(int(number), int(number) % len(left))}"

    names = entry.targets.names
    if names is None:
        return entry
    targets = Targets(names=tuple(dict.fromkeys(map(renamed, names))))
    return msgspec.structs.replace(entry, targets=targets)


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


def _until_seen(task: TrialTask, seen: Seen) -> Iterator[TrialTask]:
    """The load ends soon after the anomaly, without the faults that were still to come.

    Until then nothing changes, as the end of the load decides nothing before it.
    """
    for moment in seen.span or ():
        limit = round(max(SHORTEST_LOAD_S, moment + STEP_S), 3)
        if limit <= task.settings.time_limit - LEAST_CUT_S:
            before = [entry for entry in _entries(task) if entry.at + STEP_S <= limit]
            yield _planned(_with(task, time_limit=limit), before)


def _near_faults(task: TrialTask, seen: Seen) -> Iterator[TrialTask]:
    """Only the faults nearest to the anomaly, first few of them and then more.

    In a short run of their own, then at their own times; those only if the load shows the anomaly,
    as otherwise nobody knows which faults were near, and long runs are dear.
    """
    if seen.span is None:
        return
    entries = _entries(task)
    nearest = sorted(entries, key=lambda entry: _distance(entry, seen))
    sizes = [int(size) for size in numbers_below(len(entries), 1, step=1)]
    nearer = [[e for e in entries if e in nearest[:size]] for size in sizes]
    for chosen in nearer:
        yield _alone(task, chosen, seen, clients=task.settings.clients, seed=task.settings.seed)
    if seen.span[0] < task.settings.time_limit:
        for chosen in nearer:
            yield _planned(task, chosen)


def _furthest(entries: Sequence[Entry], seen: Seen) -> float:
    return max((_distance(entry, seen) for entry in entries), default=0.0)


def _distance(entry: Entry, seen: Seen) -> float:
    """Seconds between a fault and the anomaly; 0 if it was in force then, or that is not known."""
    if seen.span is None:
        return 0.0
    began, ended = seen.span
    return max(0.0, began - entry.end, entry.at - ended)


def _alone(
    task: TrialTask, chosen: Sequence[Entry], seen: Seen, *, clients: int, seed: int | None
) -> TrialTask:
    """A short run with some of the faults: the first one soon, the end soon after the last one."""
    by = chosen[0].at - FIRST_S if chosen else 0.0
    moved = [msgspec.structs.replace(e, at=round(e.at - by, 3)) for e in chosen]
    end = max((entry.end for entry in moved), default=FIRST_S)
    seconds = min(task.settings.time_limit, round(end + SPARE_S, 3))
    return _with_clients(_planned(task, moved), clients, seen, seed=seed, time_limit=seconds)


def _seeds(task: TrialTask) -> Sequence[int | None]:
    return list(dict.fromkeys((task.settings.seed, *SEEDS)))


def _few_faults(task: TrialTask, seen: Seen) -> Iterator[TrialTask]:
    """No fault, one of them, or two, in short runs of their own; those near the anomaly first.

    Also all of them, if they are so few and begin late: what came before may not matter.

    A plan without one fault makes another run, in which the other faults strike at other moments.
    So it is seldom enough to leave out one after the other; but what made a run fail often does so
    alone, too.
    """
    entries = _entries(task)
    crowd = task.settings.clients
    crowds = dict.fromkeys(min(clients, crowd) for clients in (3, 2, crowd))
    late = bool(entries) and entries[0].at - FIRST_S >= LEAST_CUT_S
    for size in range(min(2, len(entries) if late else len(entries) - 1) + 1):
        groups = sorted(combinations(entries, size), key=partial(_furthest, seen=seen))
        some = 0 < size < len(entries)
        for seed, clients in product(_seeds(task), crowds if some else [crowd]):
            for chosen in groups:
                yield _alone(task, chosen, seen, clients=clients, seed=seed)


def _fewer_faults(task: TrialTask, _: Seen) -> Iterator[TrialTask]:
    for entries in parts_removed(_entries(task)):
        yield _planned(task, entries)


def _shorter_load(task: TrialTask, seen: Seen) -> Iterator[TrialTask]:
    """The load ends soon after the last fault, or later.

    If the load showed the anomaly, it does not end before that began. What only shows when the load
    is over, such as a call that waits for good, may as well have begun in a shorter one.
    """
    ends = [entry.end for entry in _entries(task)]
    starts = [entry.at for entry in _entries(task)]
    limit = task.settings.time_limit
    began, ended = seen.span or (0.0, limit)
    needed = began if ended < limit else 0.0
    least = max([SHORTEST_LOAD_S, needed, *(at + STEP_S for at in starts)])
    after = round(max([SHORTEST_LOAD_S, *ends]) + SPARE_S, 3)
    if after < limit:
        yield _with(task, time_limit=after)
    for seconds in numbers_below(limit, least, step=0.5):
        yield _with(task, time_limit=round(seconds, 3))


def _fewer_clients(task: TrialTask, seen: Seen) -> Iterator[TrialTask]:
    """Fewer clients, with this seed or, as that changes who does what, another.

    First as many as the anomaly names.
    """
    most = task.settings.clients
    named = min(most, max(LEAST_CLIENTS, len(seen.clients)))
    for clients in dict.fromkeys((named, *range(LEAST_CLIENTS, most))):
        if clients < most:
            for seed in _seeds(task):
                yield _with_clients(task, clients, seen, seed=seed)


def _fewer_servers(task: TrialTask, _: Seen) -> Iterator[TrialTask]:
    for nodes in (1, 3, 5):
        if nodes < task.settings.nodes and not task.settings.service:
            yield _with(task, nodes=nodes)


def _earlier_faults(task: TrialTask, _: Seen) -> Iterator[TrialTask]:
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


def _shorter_faults(task: TrialTask, _: Seen) -> Iterator[TrialTask]:
    entries = _entries(task)
    for number, entry in enumerate(entries):
        for seconds in numbers_below(entry.duration, SHORTEST_FAULT_S, step=STEP_S):
            shorter = msgspec.structs.replace(entry, duration=round(seconds, 3))
            yield _planned(task, [*entries[:number], shorter, *entries[number + 1 :]])


def _usual_settings(task: TrialTask, _: Seen) -> Iterator[TrialTask]:
    """Each setting that makes a run special has its default value, or its simplest one."""
    rested = [usage_words(Usage(think=rest)) for rest in RESTS_S]
    for option in OPTIONS.values():
        special = option.option.special and option.is_given(task.settings)
        if special and not (option.name == "usage" and task.settings.usage in rested):
            yield _with(task, **{option.name: option.default})
    modes = ("none", "blocking", "primitives", "lines")
    mode = task.settings.preemption
    for simpler in modes[: modes.index(mode)] if mode in modes else ():
        yield _with(task, preemption=simpler)


def _fewer_operations(task: TrialTask, _: Seen) -> Iterator[TrialTask]:
    """Clients rest before their operations, if nothing else is said of how they use the recipe."""
    usage = task.settings.usage
    given = parse_usage(usage).think
    if usage in ("", usage_words(Usage(think=given))):
        for rest in RESTS_S:
            if rest > given:
                yield _with(task, usage=usage_words(Usage(think=rest)))


TrialPass = Callable[[TrialTask, Seen], Iterator[TrialTask]]
"""Given a failing run and its anomaly, smaller runs in the order in which they are to be tried."""

PASSES: Final[Sequence[TrialPass]] = (
    _until_seen,
    _near_faults,
    _few_faults,
    _fewer_faults,
    _shorter_load,
    _fewer_clients,
    _earlier_faults,
    _shorter_faults,
    _usual_settings,
    _fewer_servers,
    _fewer_operations,
)
"""Passes with the largest effect on what a run costs come first."""

FAULTS_FIRST: Final[Sequence[TrialPass]] = (_until_seen, _fewer_faults)
"""What comes first in short runs."""


def _passes(task: TrialTask) -> Sequence[TrialPass]:
    """The passes for a run: short ones leave out faults first.

    In a short run few things are drawn at random, so that it is often much the same run without
    some of its faults, and to try that costs little.
    """
    if task.settings.time_limit > max(SHORT_LOADS):
        return PASSES
    return sorted(PASSES, key=lambda each: each not in FAULTS_FIRST)


def _possible(start: TrialTask, each: Pass[TrialTask]) -> Pass[TrialTask]:
    """A pass without the runs that cannot be performed: they would use up the tries.

    If the run to begin with is one of these, its faults are not known here: then with all of them.
    """
    return (lambda task: filter(_is_possible, each(task))) if _is_possible(start) else each
