"""``threading.Condition`` and ``Event`` straight on tasks.

The standard library's allocate and acquire two locks for every wait. These do the same with a
list of tasks: waiters are notified in the order in which they came, and compete for the lock.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rumpus.simulation.kernel.errors import ProcessKilled, SimulationError
from rumpus.simulation.loader.runtime import Runtime

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task


class SimulatedCondition:
    """``threading.Condition`` of a process, which is that of its class."""

    _runtime: Runtime

    def __init__(self, lock: Any = None) -> None:
        if lock is None:
            lock = self._runtime.locks.rlock()
        self._lock = lock
        self.acquire: Callable[..., bool] = lock.acquire
        self.release: Callable[[], None] = lock.release
        # Those of a re-entrant lock; a plain one has neither.
        self._lock_is_owned: Callable[[], bool] | None = getattr(lock, "_is_owned", None)
        self._save: Callable[[], Any] | None = getattr(lock, "_release_save", None)
        self._waiters: list[Task] = []

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<Condition({self._lock!r}, {len(self._waiters)})>"

    def _is_owned(self) -> bool:
        owned = self._lock_is_owned
        if owned is not None:
            return owned()
        if self._lock.acquire(False):
            self._lock.release()
            return False
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """As ``threading.Condition.wait``."""
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        task = self._runtime.simulator.current
        if task is None:
            raise SimulationError("a callback of the main loop would wait for a condition")
        waiters = self._waiters
        waiters.append(task)
        lock = self._lock
        save = self._save
        state = self.release() if save is None else save()
        # As the library: with no time left it is not waited, but others get the lock.
        nanoseconds = None if timeout is None else max(0, int(timeout * 1e9))
        try:
            notified = task.park(nanoseconds, "a condition")
        except ProcessKilled:
            if task in waiters:
                waiters.remove(task)
            raise
        if not notified:
            # Notified in the meantime, if it is not there any more.
            if task in waiters:
                waiters.remove(task)
            else:
                notified = True
        if save is None:
            self.acquire()
        else:
            lock._acquire_restore(state)  # noqa: SLF001 - made for conditions
        return notified

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """As ``threading.Condition.wait_for``."""
        clock = self._runtime.process.clock
        end = None if timeout is None else clock.monotonic() + int(timeout * 1e9)
        result = predicate()
        while not result:
            left = None if end is None else (end - clock.monotonic()) / 1e9
            if left is not None and left <= 0:
                break
            self.wait(left)
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        """As ``threading.Condition.notify``."""
        owned = self._lock_is_owned
        if not (self._is_owned() if owned is None else owned()):
            raise RuntimeError("cannot notify on un-acquired lock")
        waiters = self._waiters
        if waiters:
            woken = waiters[:n]
            del waiters[:n]
            for task in woken:
                task.wake()

    def notify_all(self) -> None:
        """As ``threading.Condition.notify_all``."""
        self.notify(len(self._waiters))

    notifyAll = notify_all  # noqa: N815 - the old name


class SimulatedEvent:
    """``threading.Event`` of a process, which is that of its class."""

    _runtime: Runtime

    def __init__(self) -> None:
        self._flag = False
        self._waiters: list[Task] = []

    def __repr__(self) -> str:
        return f"<Event: {'set' if self._flag else 'unset'}>"

    def is_set(self) -> bool:
        """As ``threading.Event.is_set``."""
        return self._flag

    isSet = is_set  # noqa: N815 - the old name

    def set(self) -> None:
        """As ``threading.Event.set``."""
        simulator = self._runtime.simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        self._flag = True
        if self._waiters:
            woken, self._waiters = self._waiters, []
            for task in woken:
                task.wake()

    def clear(self) -> None:
        """As ``threading.Event.clear``."""
        self._flag = False

    def wait(self, timeout: float | None = None) -> bool:
        """As ``threading.Event.wait``."""
        simulator = self._runtime.simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if self._flag:
            return True
        task = simulator.current
        if task is None:
            raise SimulationError("a callback of the main loop would wait for an event")
        self._waiters.append(task)
        try:
            woken = task.park(None if timeout is None else max(0, int(timeout * 1e9)), "an event")
        except ProcessKilled:
            if task in self._waiters:
                self._waiters.remove(task)
            raise
        if not woken and task in self._waiters:
            self._waiters.remove(task)
        return woken or self._flag


def install(runtime: Runtime, threading: Any) -> None:
    """Have a private copy of ``threading`` use these."""
    threading.Condition = type(
        "Condition", (SimulatedCondition,), {"_runtime": runtime, "__module__": "threading"}
    )
    threading.Event = type(
        "Event", (SimulatedEvent,), {"_runtime": runtime, "__module__": "threading"}
    )
