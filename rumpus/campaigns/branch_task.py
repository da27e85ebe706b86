"""Several branches of one run as a task for any executor: data in, data out."""

import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import msgspec

from rumpus.campaigns.run_process import ProcessEndedError, Surroundings, surroundings
from rumpus.campaigns.tasks import Attempt, attempt_of_error, call_apart
from rumpus.campaigns.trial_task import TrialOutcome, outcome_of
from rumpus.checker.history import History
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.links.triggers import FrameSeen
from rumpus.nemesis.plan import FaultPlan
from rumpus.runs.branched_run import branched_run
from rumpus.runs.forks import Branch
from rumpus.runs.judged_run import JudgedRun
from rumpus.runs.run_settings import RunSettings


@dataclass(frozen=True, kw_only=True)
class BranchTask:
    """A run that is performed up to some moments once, and from there in branches.

    Attributes:
        settings: what to run, in the simulation.
        plan: with which the run begins.
        branches: at least one.
        operations: how many operations of each client the frames cover that are told; 0: none are.
    """

    settings: RunSettings
    plan: FaultPlan
    branches: tuple[Branch, ...]
    operations: int = 0


class BranchOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a branch.

    Attributes:
        attempt: the run.
        struck: entries of its plan that had something to act on.
        frames: of each client, up to the end of its last operation that counts.
    """

    attempt: Attempt
    struck: frozenset[int] = frozenset()
    frames: tuple[FrameSeen, ...] = ()

    @property
    def outcome(self) -> TrialOutcome | None:
        """What the run showed; None if it could not be performed."""
        return self.attempt.outcome


def perform_branches(task: BranchTask) -> list[BranchOutcome]:
    """Perform the branches and judge each, in this process.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    process, began = os.getpid(), time.process_time()

    def spent() -> float:
        return time.process_time() - (began if os.getpid() == process else 0.0)

    def examine(judged: JudgedRun, frames: Sequence[FrameSeen]) -> BranchOutcome:
        outcome = outcome_of(judged.judgement, task.settings, cpu_seconds=spent)
        history = judged.judgement.timeline.history
        return BranchOutcome(
            attempt=Attempt(outcome=outcome),
            struck=_struck(history),
            frames=tuple(_covered(frames, history, task.operations)),
        )

    def failed(error: BaseException | str) -> BranchOutcome:
        return BranchOutcome(attempt=attempt_of_error(error))

    try:
        return branched_run(
            task.settings,
            task.plan,
            task.branches,
            examine,
            failed,
            frames=task.operations > 0,
        )
    except Exception as error:  # told to whoever gave the task
        return [failed(error)] * len(task.branches)


def submit_branches(
    executor: Executor, task: BranchTask, seconds: float = math.inf
) -> Future[list[BranchOutcome]]:
    """Let an executor perform branches, in a process of their own, which may take so long."""
    return executor.submit(_perform_apart, task, surroundings(seconds))


def _perform_apart(task: BranchTask, where: Surroundings) -> list[BranchOutcome]:
    try:
        return call_apart(where, perform_branches, task)
    except ProcessEndedError as error:
        words = f"the run ends its process: {error.how}"
    except EnvironmentRefusal as refusal:
        return [BranchOutcome(attempt=attempt_of_error(refusal))] * len(task.branches)
    return [BranchOutcome(attempt=attempt_of_error(words))] * len(task.branches)


def _struck(history: History) -> frozenset[int]:
    """The entries whose triggers have acted."""
    struck = set()
    for op in history:
        if op.process == "nemesis" and op.type == "info":
            for told in (op.value, *op.value.get("healed", ())):
                if told.get("struck"):
                    struck.add(told["id"])
    return frozenset(struck)


def _covered(frames: Sequence[FrameSeen], history: History, operations: int) -> Sequence[FrameSeen]:
    """The frames of each client until it has completed so many operations."""
    done: dict[int, list[int]] = {}
    for operation in history.operations():
        process = operation.invoke.process
        if operation.completion is not None and isinstance(process, int):
            client = history.client_of(process)
            done.setdefault(client, []).append(operation.completion.time)
    ends = {
        client: sorted(times)[operations - 1]
        for client, times in done.items()
        if len(times) >= operations > 0
    }
    return [
        each
        for each in frames
        if each.client < history.clients  # the walks of the servers' trees are no client's
        and each.time <= ends.get(each.client, each.time)
    ]
