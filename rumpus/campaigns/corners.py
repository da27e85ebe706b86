"""Exhaustive corners: in a small run, a fault or two at every frame and switch of each client.

A run of a few clients and operations has some dozens of requests, replies and watch events. A fault
can begin before or after each of them, and nowhere else, as far as the clients' connections are
concerned. All these runs begin alike, so they are branches of one run.
"""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

import msgspec

from rumpus.campaigns.branch_task import (
    BranchOutcome,
    BranchTask,
    perform_branches,
    submit_branches,
)
from rumpus.harness.links.triggers import SWITCH, FrameSeen
from rumpus.nemesis.client_frame import FRAME_MODES
from rumpus.nemesis.client_switch import CORNER_MODES, SWITCHES
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.targets import Targets
from rumpus.runs.forks import Branch
from rumpus.runs.performing import known_workload
from rumpus.runs.run_settings import RunSettings

SPARE_S: Final = 0.5
"""Seconds of load after all faults are healed."""

SCOPE: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "clients": 2,
        "nodes": 1,
        "session_timeout": 1.0,
        "time_limit": 3.0,
        "preemption": "none",
        "usage": "think=0.5",
        "seed": 0,
    }
)
"""The settings of a small run. Its servers end a session within 1.5 s."""

WIDE_CLIENTS: Final = 3
"""Clients of a wider run, beside one for each permit but the first."""

WIDE_THINK: Final = "think=1.5"
"""How clients of a wider run call: so seldom that some come while others hold."""

HELD_BACK_MS: Final = 900.0
"""For how long a thread is held back at a switch.

Longer than a waiter of a small run has to wait for its turn, so that what it waits for comes
meanwhile (a wake-up that gets lost, say); shorter than a session lives.
"""

AT_ONCE: Final = 16
"""Branches in one task."""

MOST_FRAMES: Final = 40
"""How many frames of each client are looked at after a first fault."""

EMPTY: Final = FaultPlan(version=1)


@dataclass(frozen=True)
class Place:
    """A fault at a frame, or at a switch to a thread.

    Attributes:
        client: whose frame or switch.
        number: which of the client's frames, or of its switches, counted from 1.
        what: what the frame is: the name of a request, ``reply`` or ``event``; or ``SWITCH``.
        mode: what happens at it, one of ``CORNER_MODES``.
    """

    client: int
    number: int
    what: str
    mode: str

    def __str__(self) -> str:
        """As in ``drops at c1's frame 7 (delete)``, or ``c1's switch 7 held back``."""
        if self.what == SWITCH:
            return f"c{self.client}'s switch {self.number} held back"
        return f"{self.mode} at c{self.client}'s frame {self.number} ({self.what})"

    @property
    def where(self) -> tuple[int, int, bool]:
        """Client and number of the frame, or of the switch."""
        return self.client, self.number, self.what == SWITCH

    def entries(self, duration: float) -> Iterator[Entry]:
        """The fault as entries of a plan."""
        if self.what == SWITCH:
            yield self._entry("client-switch", duration, {"hold": HELD_BACK_MS})
            return
        for action, earlier in FRAME_MODES[self.mode]:
            yield self._entry("client-frame", duration - earlier, {"how": action})

    def _entry(self, kind: str, duration: float, options: Mapping[str, Any]) -> Entry:
        return Entry(
            id=0,
            at=0.0,
            kind=kind,
            targets=Targets(names=(f"c{self.client}",)),
            duration=duration,
            options={**options, "number": self.number},
        )


@dataclass(frozen=True)
class Corner:
    """A run with faults at certain frames.

    Attributes:
        places: the faults.
        branch: what became of the run.
    """

    places: tuple[Place, ...]
    branch: BranchOutcome

    @property
    def modes(self) -> tuple[str, ...]:
        """What happens in it."""
        return tuple(place.mode for place in self.places)

    @property
    def reached(self) -> bool:
        """Whether all of its frames came."""
        placed = (entry for place in self.places for entry in place.entries(1.0))
        return len(self.branch.struck) == sum(1 for _ in placed)


class Corners:
    """All corners of a small run of a recipe.

    Args:
        settings: what to run (``SCOPE``).
        modes: some of ``CORNER_MODES``.
        executor: performs tasks.
        jobs: how many tasks at once.
        operations: how many operations of each client are covered.

    Attributes:
        base: the run without faults, once ``walk`` has begun.
        frames: how many frames that run has had.
        switches: how often one of its threads was to run; 0 if nothing is placed there.
        total: how many corners there are, as far as known.
        cpu_seconds: processor time of all runs.
    """

    def __init__(
        self,
        settings: RunSettings,
        modes: Sequence[str],
        executor: Executor,
        *,
        jobs: int = 1,
        operations: int = 3,
    ) -> None:
        self.base: BranchOutcome | None = None
        self.frames = 0
        self.switches = 0
        self.total = 0
        self.cpu_seconds = 0.0
        self._settings = settings
        self._modes = modes
        self._executor, self._jobs = executor, jobs
        self._operations = operations

    def walk(self, faults: int = 1) -> Generator[Corner]:
        """Perform the run without faults, all corners with one fault, then those with two.

        The second fault of a pair begins at a frame that comes after the first one in the very run
        with that first fault.

        Args:
            faults: at most so many, 1 or 2.

        Raises:
            UsageError, EnvironmentRefusal: the run without faults cannot be performed.
        """
        (base,) = next(self._performed([()]))
        base.branch.attempt.raise_error()
        self.base = base.branch
        self.switches = sum(each.what == SWITCH for each in base.branch.frames)
        self.frames = len(base.branch.frames) - self.switches
        if SWITCHES not in self._modes:
            self.switches = 0
        singles = [(place,) for place in places(base.branch.frames, self._modes)]
        self.total = 1 + len(singles)
        yield base
        reached = []
        for corners in self._performed(singles):
            for corner in corners:
                if corner.reached and faults > 1:
                    reached.append(corner)
                yield corner
        pairs = [(*corner.places, second) for corner in reached for second in self._after(corner)]
        self.total += len(pairs)
        for corners in self._performed(pairs):
            yield from corners

    def _after(self, corner: Corner) -> Iterator[Place]:
        """Places after the one of a corner, in its own run."""
        (first,) = corner.places
        seen: dict[int, int] = {}
        struck = False
        for place in places(corner.branch.frames, self._modes):
            if struck and place != first:
                seen[place.client] = seen.get(place.client, 0) + 1
                if seen[place.client] <= MOST_FRAMES * len(self._modes):
                    yield place
            struck = struck or place.where == first.where

    def _performed(self, wanted: Sequence[tuple[Place, ...]]) -> Iterator[list[Corner]]:
        """Perform corners, some at once; in their order."""
        duration = self._settings.time_limit - SPARE_S
        pieces = [wanted[n : n + AT_ONCE] for n in range(0, len(wanted), AT_ONCE)]
        left = iter(pieces)
        going: list[tuple[Sequence[tuple[Place, ...]], Future[list[BranchOutcome]]]] = []
        try:
            while True:
                for piece in islice(left, self._jobs + 1 - len(going)):
                    plans = [_plan(places, duration) for places in piece]
                    task = BranchTask(
                        settings=self._settings,
                        plan=EMPTY,
                        branches=tuple(Branch(0.0, plan) for plan in plans),
                        operations=self._operations,
                    )
                    going.append((piece, submit_branches(self._executor, task)))
                if not going:
                    return
                piece, future = going.pop(0)
                told = [
                    Corner(places, branch)
                    for places, branch in zip(piece, future.result(), strict=True)
                ]
                for corner in told:
                    outcome = corner.branch.outcome
                    self.cpu_seconds += 0.0 if outcome is None else outcome.cpu_seconds
                yield told
        finally:
            for _, future in going:
                future.cancel()


def places(frames: Sequence[FrameSeen], modes: Sequence[str]) -> Iterator[Place]:
    """The places at which a fault can begin in a run with these frames."""
    counts: Counter[tuple[int, bool]] = Counter()
    for frame in frames:
        switch = frame.what == SWITCH
        counts[frame.client, switch] += 1
        for mode in modes:
            if (mode == SWITCHES) == switch:
                yield Place(frame.client, counts[frame.client, switch], frame.what, mode)


def _plan(places: Sequence[Place], duration: float) -> FaultPlan:
    entries = [entry for place in places for entry in place.entries(duration)]
    numbered = [msgspec.structs.replace(e, id=number) for number, e in enumerate(entries, 1)]
    return FaultPlan(version=1, entries=tuple(numbered))


@dataclass(frozen=True, kw_only=True)
class CornersTask:
    """Some corners of a small run.

    Attributes:
        settings: what to run; what was not given of them becomes that of the scopes.
        number: which corners: some of the first scope for 0, others for 1, and so on until it has
            had all, then those of the next scope. Then come the corners of the operations after the
            first ones, in each scope, and then all begins anew.
        modes: some of ``CORNER_MODES``.
        operations: how many operations of each client are covered at first, and as many after them:
            in some workloads a client has seldom waited in vain in its first three.
    """

    settings: RunSettings
    number: int
    modes: Sequence[str] = CORNER_MODES
    operations: int = 3


def perform_corners(task: CornersTask) -> list[BranchOutcome]:
    """Perform the runs without faults, to see where their corners are, and then some of these.

    The first that is told is the run without faults of the scope in which the others are.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    scopes = [_Looked.at(settings, task) for settings in scopes_of(task.settings)]
    turn = task.number
    if turn >= sum(scope.pieces for scope in scopes):
        scopes += [first.further(task) for first in scopes]
        turn %= sum(scope.pieces for scope in scopes) or 1
    for scope in scopes:
        if turn < scope.pieces:
            return scope.perform(turn)
        turn -= scope.pieces
    return scopes[0].base


@dataclass(frozen=True)
class _Looked:
    """A small run, and where its corners are."""

    together: BranchTask
    base: list[BranchOutcome]
    found: Sequence[Place]

    @classmethod
    def at(cls, settings: RunSettings, task: CornersTask) -> "_Looked":
        together = BranchTask(
            settings=settings,
            plan=EMPTY,
            branches=(Branch(0.0, EMPTY),),
            operations=task.operations,
        )
        base = perform_branches(together)
        return cls(together, base, list(places(base[0].frames, task.modes)))

    def further(self, task: CornersTask) -> "_Looked":
        """The corners of as many operations after those of this one."""
        more = replace(task, operations=2 * task.operations)
        longer = self.at(self.together.settings, more)
        known = set(self.found)
        return replace(longer, found=[place for place in longer.found if place not in known])

    @property
    def pieces(self) -> int:
        return math.ceil(len(self.found) / AT_ONCE)

    def perform(self, piece: int) -> list[BranchOutcome]:
        some = self.found[piece :: self.pieces]  # of the whole run, not of its beginning
        duration = self.together.settings.time_limit - SPARE_S
        branches = tuple(Branch(0.0, _plan([place], duration)) for place in some)
        return self.base + perform_branches(replace(self.together, branches=branches))


def small_settings(settings: RunSettings) -> RunSettings:
    """Settings with ``SCOPE`` in place of what was not given (``RunSettings.fixed``)."""
    changes = {name: value for name, value in SCOPE.items() if name not in settings.fixed}
    return replace(settings, ensemble="sim", **changes)


def scopes_of(settings: RunSettings) -> Sequence[RunSettings]:
    """A small run, and then a wider one, where more clients than permits come now and then.

    What takes three to show is not in the corners of two clients that hold by turns.
    """
    small = small_settings(settings)
    permits = getattr(known_workload(settings.workload), "permits", 1)
    wide: dict[str, Any] = {"clients": WIDE_CLIENTS + permits - 1, "usage": WIDE_THINK}
    wider = replace(small, **{name: wide[name] for name in wide if name not in settings.fixed})
    return [small] if wider == small else [small, wider]
