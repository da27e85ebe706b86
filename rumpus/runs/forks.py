"""Branches of a simulated run: a process for each goes on from one moment with another plan.

A simulated run has one real thread, so a copy of its process (``os.fork``) is a copy of its world.
The run up to there is performed once, whatever the number of branches.
"""

import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from rumpus.exit_codes import DEFECT
from rumpus.harness.driver import LONGEST_WAIT_NS
from rumpus.harness.links.triggers import FrameSeen, TriggerLinks
from rumpus.harness.simulated.run import ORIGIN
from rumpus.nemesis.plan import FaultPlan, dump_plan
from rumpus.nemesis.runner import Nemesis
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory

if TYPE_CHECKING:
    from rumpus.harness.simulated_faults import ClientMachines

T = TypeVar("T")

LEAD_NS: Final = 2 * LONGEST_WAIT_NS + 10_000_000
"""How long before a branch's first action the run is forked, in nanoseconds of load.

The driver waits at most half as long at once. What it waits for before that moment is the same with
both plans, so that a branch is the very run that its plan makes from the beginning."""


@dataclass(frozen=True)
class Branch:
    """A plan with which a run goes on.

    Attributes:
        at: from when it may differ from the run's first plan, in seconds of load. All actions
            before are the same, and its first one from then on is not later than that of the first
            plan.
        plan: the whole plan.
    """

    at: float
    plan: FaultPlan


class Forks(Generic[T]):
    """Forks the process of a run for each branch but the last one, which it becomes itself.

    One branch after the other is performed, in the run's directory. What a branch has written
    there is removed when it is over.

    Args:
        plan: with which the run begins.
        branches: what it becomes.
        lost: what takes the place of the result of a branch whose process dies; called with the
            reason.
        frames: whether clients' frames are noted.

    Attributes:
        results: number of the branch -> what was told of it.

    Raises:
        ValueError: a branch differs from the plan before its time.
    """

    def __init__(
        self,
        plan: FaultPlan,
        branches: Sequence[Branch],
        lost: Callable[[str], T],
        *,
        frames: bool = False,
    ) -> None:
        for branch in branches:
            _check(plan, branch)
        self.results: dict[int, T] = {}
        self._branches = branches
        self._left = sorted(range(len(branches)), key=lambda number: branches[number].at)
        self._lost = lost
        self._number: int | None = None
        """The branch that this process has become."""
        self._keep_frames = frames
        self._links: TriggerLinks | None = None
        self._machines: ClientMachines | None = None
        self._maker = os.getpid()
        self._pipe: int | None = None
        """Where a child tells its result."""

    def look(self, directory: RunDirectory, record: RunRecord, time: int, nemesis: Nemesis) -> bool:
        """Fork if a branch is due; whether this process is a branch from now on.

        Args:
            directory: the run's.
            record: the run's; a branch changes it.
            time: nanoseconds since the load began.
            nemesis: gets the plan of the branch.
        """
        if self._keep_frames and self._links is None:
            self._links, self._machines = nemesis.trigger_links, nemesis.client_machines
            self._links.frames()
            self._machines.switches()
        while self._left and self._number is None:
            branch = self._branches[self._left[0]]
            if time < branch.at * 1e9 - LEAD_NS:
                return False
            number = self._left.pop(0)
            if not self._left or self._forked(number, directory.path):
                self._number = number
                self._left.clear()
                record.plan = msgspec.to_builtins(branch.plan)
                record.nemesis = list(branch.plan.kinds)
                dump_plan(branch.plan, directory.plan)
                nemesis.replan(branch.plan)
                return True
        return False

    def told(self, result: T) -> None:
        """Take the result of the run that this process has performed; a child ends here."""
        if self._number is not None:
            self.results[self._number] = result
        if self._pipe is None:
            return
        said = pickle.dumps(result)
        with os.fdopen(self._pipe, "wb") as pipe:
            pipe.write(said)
        os._exit(0)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """End a child at the end of the block, whatever has happened: the rest is its parent's."""
        try:
            yield
        finally:
            if self.is_child:
                os._exit(DEFECT)

    def frames(self) -> list[FrameSeen]:
        """The clients' frames and switches since the load began, with times on the run's clock."""
        if self._links is None or self._machines is None:
            return []
        seen = [*self._links.frames(), *self._machines.switches()]
        return [
            each._replace(time=each.time - ORIGIN)
            for each in sorted(seen, key=lambda each: each.time)
        ]

    @property
    def is_child(self) -> bool:
        """Whether this process is a child, which must end by ``told``."""
        return os.getpid() != self._maker

    def _forked(self, number: int, directory: Path) -> bool:
        """Fork. In the child, whether it is one: true. The parent waits for its end."""
        with _restored(directory):
            source, target = os.pipe()
            pid = os.fork()
            if not pid:
                os.close(source)
                self._pipe = target
                self.results.clear()
                return True
            os.close(target)
            try:
                with os.fdopen(source, "rb") as pipe:
                    said = pipe.read()
                _, status = os.waitpid(pid, 0)
                pid = 0
            finally:
                if pid:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status):
            code = os.waitstatus_to_exitcode(status)
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            self.results[number] = self._lost(f"the run's process ended {how}")
        else:
            self.results[number] = pickle.loads(said)  # noqa: S301 - from this program's child
        return False


def _check(plan: FaultPlan, branch: Branch) -> None:
    """Raise ValueError if a branch differs from the plan before its time."""
    actions = [_actions(each) for each in (plan, branch.plan)]
    past = [[action for action in each if action[0] < branch.at] for each in actions]
    if past[0] != past[1] or plan.punctual != branch.plan.punctual:
        raise ValueError(f"the plan of a branch differs before {branch.at:g} s")
    nexts = [min((at for at, _ in each if at >= branch.at), default=None) for each in actions]
    if nexts[0] is not None and (nexts[1] is None or nexts[1] > nexts[0]):
        raise ValueError(f"a branch at {branch.at:g} s has its next action later than the plan")


def _actions(plan: FaultPlan) -> list[tuple[float, Any]]:
    """Beginnings and ends of faults, with what they are."""
    return sorted(
        ((at, (entry, at == entry.end)) for entry in plan.entries for at in (entry.at, entry.end)),
        key=lambda action: (action[0], action[1][0].id, action[1][1]),
    )


@contextmanager
def _restored(directory: Path) -> Iterator[None]:
    """Restore the files of a directory after the block."""
    before = {path: path.read_bytes() if path.is_file() else None for path in _under(directory)}
    yield
    for path in reversed(_under(directory)):
        if path not in before:
            path.rmdir() if path.is_dir() else path.unlink()
    for path, content in before.items():
        if content is not None and path.read_bytes() != content:
            with path.open("r+b") as file:  # other descriptors of it stay good
                file.write(content)
                file.truncate()


def _under(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))
