"""Performs tasks by an executor; what cannot be performed is told, not raised."""

import os
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from rumpus.campaigns.trial_task import TrialOutcome, TrialTask, perform
from rumpus.exit_codes import DEFECT, ENVIRONMENT, USAGE, exit_code
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.usage_error import UsageError


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A task that was performed, or could not be.

    Attributes:
        outcome: what the run showed; None if it could not be performed.
        error: why it could not be, in words.
        exit_code: what ``rumpus run`` would have exited with because of that error; 0 without one.
        trace: the error's traceback, if it is a defect of rumpus.
    """

    outcome: TrialOutcome | None = None
    error: str = ""
    exit_code: int = 0
    trace: str = ""

    def raise_error(self) -> None:
        """Raise the error again, as far as its kind is known here.

        Raises:
            UsageError: something asked for does not exist or cannot be done.
            EnvironmentRefusal: the host does not allow it.
            RuntimeError: a defect of rumpus.
        """
        if self.exit_code == USAGE:
            raise UsageError(self.error)
        if self.exit_code == ENVIRONMENT:
            raise EnvironmentRefusal(self.error)
        if self.error:
            raise RuntimeError(f"{self.error}\n{self.trace}".rstrip())


def attempt(task: TrialTask) -> Attempt:
    """Perform a task; called in a process of the executor.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    try:
        return Attempt(outcome=perform(task))
    except Exception as error:  # told to whoever gave the task
        return attempt_of_error(error)


def attempt_of_error(error: BaseException | str) -> Attempt:
    """The attempt that an error has ended; in words if its process ended by itself."""
    if isinstance(error, str):
        return Attempt(error=error, exit_code=DEFECT)
    code = exit_code(error)
    words = f"{type(error).__name__}: {error}" if code == DEFECT else str(error)
    trace = "".join(traceback.format_exception(error)) if code == DEFECT else ""
    return Attempt(error=words, exit_code=code, trace=trace)


def submit(executor: Executor, task: TrialTask) -> Future[Attempt]:
    """Let an executor perform a task; `attempt_of` waits for what becomes of it."""
    return executor.submit(attempt, task)


def attempt_of(future: Future[Attempt]) -> Attempt:
    """What became of a task."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        return Attempt(error=f"its process ended by itself: {error}", exit_code=DEFECT)


def attempts(executor: Executor, tasks: Iterable[TrialTask]) -> Iterator[Attempt]:
    """Perform tasks side by side; what became of each, in their order."""
    futures = [submit(executor, task) for task in tasks]
    try:
        for future in futures:
            yield attempt_of(future)
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def processes(jobs: int | None = None) -> Iterator[Executor]:
    """An executor with so many processes, one for each processor by default."""
    count = jobs or os.cpu_count() or 1
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
