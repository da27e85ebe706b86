"""``_thread``: threads are tasks of the simulated process."""

from _thread import _ExceptHookArgs  # a record, nothing more
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from rumpus.simulation.kernel.errors import ProcessKilled, WorldEnded
from rumpus.simulation.kernel.synchronization import TIMEOUT_MAX, Lock
from rumpus.simulation.loader.runtime import Runtime

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task

MAIN_IDENT = 1 << 32
"""Identifier of every process's main thread; those of tasks are smaller."""


def build(runtime: Runtime) -> ModuleType:
    """The ``_thread`` of a process.

    ``_local`` is left out, so that ``threading`` takes its pure Python one.
    """
    simulator = runtime.simulator
    process = runtime.process
    sentinels: dict[Task | None, Lock] = {}

    def get_ident() -> int:
        task = simulator.current
        return MAIN_IDENT if task is None or task is runtime.main_task else task.identity

    def start_new_thread(
        function: Callable[..., object],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        /,
    ) -> int:
        if process.dead:
            raise ProcessKilled

        def run() -> None:
            try:
                function(*args, **(kwargs or {}))
            except SystemExit:
                pass
            finally:
                sentinel = sentinels.pop(task, None)
                if sentinel is not None and sentinel.locked():
                    sentinel.release()

        owner = getattr(function, "__self__", None)
        task = process.spawn(run, getattr(owner, "name", "") or getattr(function, "__name__", ""))
        return task.identity

    def set_sentinel() -> Lock:
        """A lock that is released when the calling thread ends."""
        task = simulator.current
        lock = runtime.locks.lock()
        sentinels[None if task is runtime.main_task else task] = lock
        return lock

    def excepthook(args: Any) -> None:
        """Instead of printing: an exception that ends a thread is a failure of the world."""
        if issubclass(args.exc_type, (KeyboardInterrupt, WorldEnded)):
            raise args.exc_value  # meant for the real program
        if not process.dead and not issubclass(args.exc_type, SystemExit | ProcessKilled):
            runtime.report(f"{process.name}/{getattr(args.thread, 'name', '?')}", args.exc_value)

    def leave() -> NoReturn:
        raise SystemExit

    module = ModuleType("_thread")
    module.__dict__.update(
        LockType=Lock,
        RLock=runtime.locks.rlock,
        TIMEOUT_MAX=TIMEOUT_MAX,
        _ExceptHookArgs=_ExceptHookArgs,
        _excepthook=excepthook,
        _set_sentinel=set_sentinel,
        allocate=runtime.locks.lock,
        allocate_lock=runtime.locks.lock,
        daemon_threads_allowed=lambda: True,
        error=RuntimeError,
        exit=leave,
        get_ident=get_ident,
        get_native_id=get_ident,
        stack_size=lambda _=0: 0,
        start_new=start_new_thread,
        start_new_thread=start_new_thread,
    )
    return module
