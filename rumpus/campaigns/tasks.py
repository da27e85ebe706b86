"""Performs tasks by an executor; what cannot be performed is told, not raised.

Any ``concurrent.futures.Executor`` will do: threads of this process (`processes`), those of Dask's
workers (``rumpus.campaigns.dask_cluster``), and others. Each of its threads performs its runs in a
process of its own (``rumpus.campaigns.run_process``).
"""

import functools
import math
import os
import platform
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
)
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.util import Finalize
from typing import Final, Generic, Literal, NamedTuple, ParamSpec, TypeVar

from rumpus.campaigns.run_process import (
    OutOfTimeError,
    ProcessEndedError,
    ProcessGroup,
    Surroundings,
    surroundings,
)
from rumpus.campaigns.source_digest import source_digest
from rumpus.campaigns.trial_task import TrialOutcome, TrialTask, perform
from rumpus.exit_codes import DEFECT, ENVIRONMENT, UNDECIDED, USAGE, exit_code, in_words
from rumpus.harness.clients.workers import WorkerCrash
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.run_limits import RUN_S, RunTooLong
from rumpus.usage_error import UsageError

P = ParamSpec("P")
R = TypeVar("R")

GRACE_S: Final = 10.0
"""How much longer than a budget a run may take that has begun before its end."""

PATIENCE_S: Final = 60.0
"""How long a run on docker may take to remove what it has made, if it has to end early."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A task that was performed, or could not be.

    Attributes:
        outcome: what the run showed; None if it could not be performed.
        error: why it could not be, in words.
        exit_code: what ``rumpus run`` would have exited with because of that error; 0 without one.
        trace: the error's traceback, if it is a defect of rumpus; of a run that has ended its
            process what Python has said about that, if anything.
        death: how the run has ended its process: ``SIGSEGV``, say; empty if it has not.
        bound: what of that the run was given it has used up; to try it again is no use.
    """

    outcome: TrialOutcome | None = None
    error: str = ""
    exit_code: int = 0
    trace: str = ""
    death: str = ""
    bound: Literal["", "time", "memory"] = ""

    def performed(self) -> TrialOutcome:
        """What the run showed.

        Raises:
            UsageError, EnvironmentRefusal, WorkerCrash, RunTooLong, RuntimeError: see
                `raise_error`.
        """
        self.raise_error()
        assert self.outcome is not None, "an attempt without an error has an outcome"
        return self.outcome

    def raise_error(self) -> None:
        """Raise the error again, as far as its kind is known here.

        Raises:
            UsageError: something asked for does not exist or cannot be done.
            EnvironmentRefusal: the host does not allow it.
            WorkerCrash: the run has ended its process.
            RunTooLong: there was no more time for it.
            RuntimeError: a defect of rumpus.
        """
        if self.death:
            raise WorkerCrash(self.error)
        if self.bound == "time":
            raise RunTooLong(self.error)
        if self.exit_code == USAGE:
            raise UsageError(self.error)
        if self.exit_code == ENVIRONMENT:
            raise EnvironmentRefusal(self.error)
        if self.error:
            raise RuntimeError(f"{self.error}\n{self.trace}".rstrip())


def attempt(task: TrialTask) -> Attempt:
    """Perform a task in this process, which it may end.

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
    words = f"{type(error).__name__}: {error}" if code == DEFECT else in_words(error)
    trace = "".join(traceback.format_exception(error)) if code == DEFECT else ""
    bound: Literal["", "memory"] = "memory" if isinstance(error, MemoryError) else ""
    return Attempt(error=words, exit_code=code, trace=trace, bound=bound)


def out_of_time(error: OutOfTimeError) -> Attempt:
    """The attempt that was ended since it took too long."""
    return Attempt(error=str(error), exit_code=UNDECIDED, bound="time")


class Performers(NamedTuple):
    """Those who perform runs.

    Attributes:
        executor: takes tasks.
        threads: how many it performs at once.
    """

    executor: Executor
    threads: int


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Who gives a task: it has to be performed by the same software.

    Attributes:
        surroundings: where modules and files are found.
        software: name -> version.
    """

    surroundings: Surroundings
    software: Mapping[str, str]

    def other_software(self) -> str:
        """What differs here, in words; empty if all is the same."""
        here = software()
        return ", ".join(
            f"{name} {here[name]} instead of {wanted}"
            for name, wanted in self.software.items()
            if here[name] != wanted
        )


@functools.cache
def software() -> Mapping[str, str]:
    """Versions of the software that decides what a simulated run does."""
    return {
        "rumpus": f"{version('rumpus')} ({source_digest()})",
        "python": platform.python_version(),
        "kazoo": version("kazoo"),
        "greenlet": version("greenlet"),
    }


def origin(seconds: float = math.inf) -> Origin:
    """This process, which waits so long for what it gives."""
    return Origin(surroundings=surroundings(seconds), software=software())


class _Own(threading.local):
    """What belongs to a thread of an executor."""

    group: ProcessGroup | None = None


_own = _Own()

_elsewhere = ProcessGroup()
"""The processes of threads that are not of `processes`: those of a Dask worker, say."""

# Is done at the end of this process also where that was started by multiprocessing.
Finalize(None, _elsewhere.end, exitpriority=0)


def call_apart(
    where: Surroundings, function: Callable[P, R], /, *arguments: P.args, **named: P.kwargs
) -> R:
    """Call a function in this thread's process, which is started if need be; what it returns.

    Args:
        where: where its modules and files are found.
        function: of a module.
        arguments: its arguments.
        named: likewise.

    Raises:
        ProcessEndedError: the call has ended the process.
        OutOfTimeError: it took too long, and was ended with the process.
        EnvironmentRefusal: the process cannot be started.
    """
    process = (_own.group or _elsewhere).of_thread(_scratch())
    return process.call(where, 0.0, function, *arguments, **named)


def perform_apart(task: TrialTask, origin: Origin) -> Attempt:
    """Perform a task in this thread's process.

    A run that ends its process is performed once more, in a new process: it may have been somebody
    else who has ended the first one, or runs before it that have taken the memory.
    """
    if other := origin.other_software():
        return Attempt(error=f"{platform.node()} has {other}", exit_code=ENVIRONMENT)
    group = _own.group or _elsewhere
    simulated = task.settings.ensemble == "sim"
    try:
        for patience in (0.0 if simulated else PATIENCE_S,) * 2:
            try:
                return group.of_thread(_scratch()).call(
                    origin.surroundings, patience, attempt, task
                )
            except OutOfTimeError as error:
                group.drop()
                return out_of_time(error)
            except ProcessEndedError as error:
                if group.ended:
                    return Attempt(error="interrupted", exit_code=UNDECIDED)
                group.drop()
                ended = error
    except EnvironmentRefusal as refusal:
        return Attempt(error=str(refusal), exit_code=ENVIRONMENT)
    return _death(ended, simulated=simulated)


def _scratch() -> str | None:
    """In a Dask worker its directory: it is removed also if the worker is killed."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:  # this is no worker
        return None


def _death(ended: ProcessEndedError, *, simulated: bool) -> Attempt:
    words = f"the run ends its process: {ended.how}"
    if ended.how == "SIGKILL":
        words += "; there may not be enough memory"
    if not simulated:
        words += "; `rumpus clean` removes what it has left"
    return Attempt(error=words, exit_code=DEFECT, trace="\n".join(ended.trace), death=ended.how)


class Underway(Generic[R]):
    """A call that an executor has been given: it is made in a process of a thread of the executor.

    Args:
        executor: makes it.
        function: of a module.
        arguments: its arguments.

    Attributes:
        future: of the call; its result is that of ``result`` unless the executor has lost it.
    """

    def __init__(
        self, executor: Executor, function: Callable[..., R], /, *arguments: object
    ) -> None:
        self._function, self._arguments = function, arguments
        self.future: Future[R] = executor.submit(function, *arguments)

    def result(self) -> R:
        """What it returns; waits for that.

        If the executor has lost the process in which the call was to be made, and gives it up, it
        is made here.

        Raises:
            EnvironmentRefusal: the executor has given up, or has been lost.
        """
        try:
            return self.future.result()
        except CancelledError as error:
            raise EnvironmentRefusal(
                "whoever performs the runs has gone: is the cluster still there?"
            ) from error
        except Exception as error:
            if not _is_loss(error):
                raise EnvironmentRefusal(f"a run could not be passed on: {error}") from error
        with processes(1) as executor:
            return executor.submit(self._function, *self._arguments).result()

    def done(self) -> bool:
        """Whether nobody has to wait for it."""
        return self.future.done()

    def cancel(self) -> None:
        """Do not make it, if it has not begun."""
        self.future.cancel()


def _is_loss(error: Exception) -> bool:
    """Whether an executor gives a task up because processes ended that were to perform it."""
    distributed = sys.modules.get("distributed")
    killed = distributed is not None and isinstance(error, distributed.KilledWorker)
    return killed or isinstance(error, BrokenExecutor)


def submit(executor: Executor, task: TrialTask, seconds: float = RUN_S) -> Underway[Attempt]:
    """Let an executor perform a task.

    A simulated run is ended if it takes longer than so many seconds; one on real servers takes as
    long as its load.
    """
    given = seconds if task.repeatable else math.inf
    return Underway(executor, perform_apart, task, origin(given))


def attempts(
    executor: Executor, tasks: Iterable[TrialTask], seconds: float = RUN_S
) -> Iterator[Attempt]:
    """Perform tasks side by side; what became of each, in their order.

    Args:
        executor: performs them.
        tasks: what is to be performed.
        seconds: how long a simulated run may take (`submit`).
    """
    underway = [submit(executor, task, seconds) for task in tasks]
    try:
        for each in underway:
            yield each.result()
    finally:
        for each in underway:
            each.cancel()


@contextmanager
def processes(jobs: int | None = None, memory: int | None = None) -> Iterator[Executor]:
    """An executor with so many processes, one for each processor by default.

    At the end of the block runs that are under way are ended, too.

    Args:
        jobs: how many.
        memory: bytes that each may take, and each process that it starts; None: as this one.
    """
    group = ProcessGroup(memory)

    def begin() -> None:
        _own.group = group

    count = jobs or os.cpu_count() or 1
    pool = ThreadPoolExecutor(count, thread_name_prefix="runs", initializer=begin)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        group.end()
        pool.shutdown(wait=True)
