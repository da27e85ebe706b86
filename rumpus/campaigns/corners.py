"""Exhaustive corners: in a small run, one fault or two at every frame of every client.

A run of a few clients and operations has some dozens of requests, replies and watch events. A fault
can begin before or after each of them, and nowhere else, as far as the clients' connections are
concerned. All these runs begin alike, so they are branches of one run.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

import msgspec

from rumpus.campaigns.branch_task import BranchOutcome, BranchTask, submit_branches
from rumpus.harness.simulated_faults import FrameSeen
from rumpus.nemesis.client_frame import FRAME_MODES
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.targets import Targets
from rumpus.runs.forks import Branch
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

AT_ONCE: Final = 16
"""Branches in one task."""

MOST_FRAMES: Final = 40
"""How many frames of each client are looked at after a first fault."""

EMPTY: Final = FaultPlan(version=1)


@dataclass(frozen=True)
class Place:
    """A fault at a frame.

    Attributes:
        client: whose frame.
        number: which of the client's frames, counted from 1.
        what: what the frame is: the name of a request, ``reply`` or ``event``.
        mode: what happens at it, a name of ``FRAME_MODES``.
    """

    client: int
    number: int
    what: str
    mode: str

    def __str__(self) -> str:
        """As in ``drops at c1's frame 7 (delete)``."""
        return f"{self.mode} at c{self.client}'s frame {self.number} ({self.what})"

    def entries(self, duration: float) -> Iterator[Entry]:
        """The fault as entries of a plan."""
        for action, earlier in FRAME_MODES[self.mode]:
            yield Entry(
                id=0,
                at=0.0,
                kind="client-frame",
                targets=Targets(names=(f"c{self.client}",)),
                duration=duration - earlier,
                options={"how": action, "number": self.number},
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
        return len(self.branch.struck) == sum(len(FRAME_MODES[place.mode]) for place in self.places)


class Corners:
    """All corners of a small run of a recipe.

    Args:
        settings: what to run (``SCOPE``).
        modes: names of ``FRAME_MODES``.
        executor: performs tasks.
        jobs: how many tasks at once.
        operations: how many operations of each client are covered.

    Attributes:
        base: the run without faults, once ``walk`` has begun.
        frames: how many frames that run has had.
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
        self.frames = len(base.branch.frames)
        singles = [(place,) for place in self._places(base.branch.frames)]
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

    def _places(self, frames: Sequence[FrameSeen]) -> Iterator[Place]:
        counts: dict[int, int] = {}
        for frame in frames:
            counts[frame.client] = number = counts.get(frame.client, 0) + 1
            for mode in self._modes:
                yield Place(frame.client, number, frame.what, mode)

    def _after(self, corner: Corner) -> Iterator[Place]:
        """Places after the one of a corner, in its own run."""
        (first,) = corner.places
        counts: dict[int, int] = {}
        seen: dict[int, int] = {}
        struck = False
        for place in self._places(corner.branch.frames):
            counts[place.client] = place.number
            if struck and place != first:
                seen[place.client] = seen.get(place.client, 0) + 1
                if seen[place.client] <= MOST_FRAMES * len(self._modes):
                    yield place
            struck = struck or (place.client, place.number) == (first.client, first.number)

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


def _plan(places: Sequence[Place], duration: float) -> FaultPlan:
    entries = [entry for place in places for entry in place.entries(duration)]
    numbered = [msgspec.structs.replace(e, id=number) for number, e in enumerate(entries, 1)]
    return FaultPlan(version=1, entries=tuple(numbered))


def small_settings(settings: RunSettings) -> RunSettings:
    """Settings with ``SCOPE`` in place of what was not given (``RunSettings.fixed``)."""
    changes = {name: value for name, value in SCOPE.items() if name not in settings.fixed}
    return replace(settings, ensemble="sim", **changes)
