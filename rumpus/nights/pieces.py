"""Pieces of a night, and why each is performed."""

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from rumpus.campaigns.pieces import Performed, RunKind, Task, submit_task, task_of
from rumpus.campaigns.tasks import Underway
from rumpus.campaigns.trial_task import TrialTask
from rumpus.nights.records import Ensemble, Role
from rumpus.nights.subjects import OnTrial


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """One piece.

    Attributes:
        role: why it is performed.
        subject: what is on trial, in words (``Subject.key``).
        world: where.
        task: what to perform.
        kind: what kind of runs these are.
        seed: of its first run.
        name: of the case or the canary.
        digest: of a run that is performed again: what it must be.
    """

    role: Role
    subject: str
    world: Ensemble
    task: Task
    kind: str = "usual"
    seed: int = 0
    name: str = ""
    digest: str | None = None


def trial_piece(on: OnTrial, kind: RunKind, seed: int) -> Piece:
    """A piece that puts a subject on trial.

    Args:
        on: the subject.
        kind: of its runs.
        seed: decides all that is random; of systematic runs: which corners.
    """
    settings = on.settings if kind == "systematic" else replace(on.settings, seed=seed)
    task = task_of(kind, settings, on.profile, number=seed)
    subject = on.subject
    return Piece(
        role="run", subject=subject.key, world=subject.world, task=task, kind=kind, seed=seed
    )


def submit_piece(
    executor: Executor, piece: Piece, keep: Path | None = None, seconds: float = math.inf
) -> Underway[Sequence[Performed]]:
    """Let an executor perform a piece.

    Args:
        executor: performs it.
        piece: the piece.
        keep: where files of runs on real servers stay (``TrialTask.keep``).
        seconds: after so long it is ended.
    """
    task = piece.task
    if piece.world == "docker" and piece.role == "run" and isinstance(task, TrialTask):
        task = replace(task, keep=keep)
    return submit_task(executor, task, seconds)
